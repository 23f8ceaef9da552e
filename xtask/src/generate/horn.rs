//! Room `xtask`: random systems of Horn clauses.
//!
//! # Idea
//! One to four relations over Booleans and vectors of up to three bits, and clauses with up to three premises whose variables have so few bits that all values can
//! be tried. Clauses are written in all the ways that tools write them: as implications, as disjunctions with negations, with quantifiers inside, with `let`, with
//! definitions, as rules; with repeated variables and terms as arguments, and with variables that occur in a constraint alone.

use crate::rng::Rng;

/// The bits of a sort; none for a Boolean.
type Sort = Option<u32>;

struct Maker<'r> {
    rng: &'r mut Rng,
    relations: Vec<Vec<Sort>>,
    /// The variables of the clause at hand, with a name and a sort.
    vars: Vec<(String, Sort)>,
    has_definition: bool,
}

/// The most bits that the variables of one clause have together.
const BITS: u32 = 8;

/// The system of this seed.
pub fn horn(seed: u64) -> String {
    let rng = &mut Rng::new(seed);
    let sort = |rng: &mut Rng| [None, None, Some(1), Some(2), Some(2), Some(3)][rng.below(6)];
    let mut relations = Vec::new();
    for _ in 0..rng.range(1, 4) {
        let arity = rng.weighted(&[1, 3, 4, 2]);
        relations.push((0..arity).map(|_| sort(rng)).collect::<Vec<Sort>>());
    }
    let rules = rng.chance(0.15);
    let mut text = if rules { String::new() } else { "(set-logic HORN)\n".to_owned() };
    for (at, sorts) in relations.iter().enumerate() {
        let sorts: Vec<String> = sorts.iter().map(|&sort| sort_name(sort)).collect();
        let sorts = sorts.join(" ");
        text += &match rules {
            true => format!("(declare-rel {} ({sorts}))\n", name(at)),
            false => format!("(declare-fun {} ({sorts}) Bool)\n", name(at)),
        };
    }
    let has_definition = rng.chance(0.3);
    let mut maker = Maker { rng, relations, vars: Vec::new(), has_definition: false };
    if has_definition {
        maker.vars = vec![("x".into(), Some(2)), ("y".into(), Some(2))];
        let body = maker.formula(2);
        maker.has_definition = true;
        text += &format!("(define-fun near ((x (_ BitVec 2)) (y (_ BitVec 2))) Bool {body})\n");
    }
    for _ in 0..maker.rng.range(2, 9) {
        let head = Some(maker.rng.below(maker.relations.len()));
        let clause = maker.clause(head);
        text += &format!("({} {clause})\n", if rules { "rule" } else { "assert" });
    }
    for _ in 0..maker.rng.weighted(&[0, 4, 1]) {
        let clause = maker.clause(None);
        text += &format!("(assert {clause})\n");
    }
    text + "(check-sat)\n"
}

fn name(relation: usize) -> String {
    ["P", "Q", "|R r|", "S.0"][relation].to_owned()
}

fn sort_name(sort: Sort) -> String {
    sort.map_or("Bool".to_owned(), |bits| format!("(_ BitVec {bits})"))
}

impl Maker<'_> {
    /// A clause, for a relation or for false.
    fn clause(&mut self, head: Option<usize>) -> String {
        self.vars.clear();
        let mut room = BITS;
        for at in 0..self.rng.range(1, 5) {
            let sort = [None, Some(1), Some(2), Some(2), Some(3)][self.rng.below(5)];
            let bits = sort.unwrap_or(1);
            if bits <= room {
                room -= bits;
                self.vars.push((["x", "y", "z", "u", "v"][at].to_owned(), sort));
            }
        }
        let fewest = usize::from(head.is_none());
        let mut body: Vec<String> = (0..self.rng.weighted(&[2, 5, 4, 1]).max(fewest))
            .map(|_| {
                let relation = self.rng.below(self.relations.len());
                self.atom(relation)
            })
            .collect();
        if self.rng.chance(0.1) && !body.is_empty() {
            let (one, other) = (body.pop().unwrap_or_default(), self.atom(0));
            body.push(format!("(or {one} {other})"));
        }
        for _ in 0..self.rng.weighted(&[2, 4, 2]) {
            let formula = self.formula(2);
            body.push(formula);
        }
        self.rng.shuffle(&mut body);
        // The last variable may be quantified where it is used: in the body, if it is not in the head.
        let inner = if self.rng.chance(0.2) { self.vars.pop() } else { None };
        let head = head.map_or("false".to_owned(), |head| self.atom(head));
        let mut premise = match &body[..] {
            [] => "true".to_owned(),
            [only] => only.clone(),
            all => format!("(and {})", all.join(" ")),
        };
        if let Some((name, sort)) = inner {
            premise = format!("(exists (({name} {})) {premise})", sort_name(sort));
        }
        let mut clause = match self.rng.below(5) {
            0 => format!("(or (not {premise}) {head})"),
            1 if head == "false" => format!("(not {premise})"),
            2 => format!("(let ((b {premise})) (=> b {head}))"),
            _ => format!("(=> {premise} {head})"),
        };
        let mut vars = self.vars.clone();
        while !vars.is_empty() {
            let rest =
                if self.rng.chance(0.2) { vars.split_off(vars.len() / 2) } else { std::mem::take(&mut vars) };
            let rest: Vec<String> =
                rest.iter().map(|(name, sort)| format!("({name} {})", sort_name(*sort))).collect();
            if !rest.is_empty() {
                clause = format!("(forall ({}) {clause})", rest.join(" "));
            }
        }
        clause
    }

    fn atom(&mut self, relation: usize) -> String {
        let sorts = self.relations[relation].clone();
        let terms: Vec<String> = sorts.into_iter().map(|sort| self.argument(sort)).collect();
        if terms.is_empty() { name(relation) } else { format!("({} {})", name(relation), terms.join(" ")) }
    }

    /// Mostly a variable.
    fn argument(&mut self, sort: Sort) -> String {
        let depth = usize::from(self.rng.chance(0.25));
        self.term(sort, depth)
    }

    fn formula(&mut self, depth: usize) -> String {
        self.term(None, depth)
    }

    /// A term of a sort.
    // Bounded depth: it gets less with each call.
    fn term(&mut self, sort: Sort, depth: usize) -> String {
        if depth == 0 {
            return self.leaf(sort);
        }
        let depth = depth - 1;
        let Some(bits) = sort else {
            let other = Some(self.rng.range(1, 3) as u32);
            return match self.rng.below(9) {
                0 => format!("(not {})", self.term(None, depth)),
                1 => format!("(and {} {})", self.term(None, depth), self.term(None, depth)),
                2 => format!(
                    "(or {} {} {})",
                    self.term(None, depth),
                    self.term(None, depth),
                    self.term(None, depth)
                ),
                3 => format!("(xor {} {})", self.term(None, depth), self.term(None, depth)),
                4 => format!(
                    "(ite {} {} {})",
                    self.term(None, depth),
                    self.term(None, depth),
                    self.term(None, depth)
                ),
                5 if self.has_definition => {
                    format!("(near {} {})", self.term(Some(2), depth), self.term(Some(2), depth))
                }
                6 => {
                    format!("({} {} {})", self.comparison(), self.term(other, depth), self.term(other, depth))
                }
                7 => {
                    let other = if self.rng.chance(0.3) { None } else { other };
                    format!("(distinct {} {})", self.term(other, depth), self.term(other, depth))
                }
                _ => {
                    let other = if self.rng.chance(0.3) { None } else { other };
                    format!("(= {} {})", self.term(other, depth), self.term(other, depth))
                }
            };
        };
        match self.rng.below(9) {
            0 | 1 => {
                let fun = *self.rng.pick(&["bvadd", "bvsub", "bvmul", "bvand", "bvor", "bvxor"]);
                format!("({fun} {} {})", self.term(sort, depth), self.term(sort, depth))
            }
            2 => format!("({} {})", self.rng.pick(&["bvneg", "bvnot"]), self.term(sort, depth)),
            3 => format!(
                "(ite {} {} {})",
                self.term(None, depth),
                self.term(sort, depth),
                self.term(sort, depth)
            ),
            4 if bits > 1 => {
                format!("(concat {} {})", self.term(Some(1), depth), self.term(Some(bits - 1), depth))
            }
            5 if bits < 3 => {
                let low = self.rng.below(4 - bits as usize);
                format!("((_ extract {} {low}) {})", low + bits as usize - 1, self.term(Some(3), depth))
            }
            6 if bits > 1 => {
                let fun = *self.rng.pick(&["zero_extend", "sign_extend"]);
                format!("((_ {fun} 1) {})", self.term(Some(bits - 1), depth))
            }
            7 => {
                let fun = *self.rng.pick(&["bvshl", "bvlshr", "bvashr"]);
                let by = self.rng.below(1 << bits);
                format!("({fun} {} (_ bv{by} {bits}))", self.term(sort, depth))
            }
            _ => self.leaf(sort),
        }
    }

    fn comparison(&mut self) -> &'static str {
        self.rng.pick::<&str>(&["bvult", "bvule", "bvugt", "bvuge", "bvslt", "bvsle", "bvsgt", "bvsge"])
    }

    fn leaf(&mut self, sort: Sort) -> String {
        let fitting: Vec<&String> =
            self.vars.iter().filter(|(_, own)| *own == sort).map(|(name, _)| name).collect();
        if !fitting.is_empty() && self.rng.chance(0.85) {
            return (*self.rng.pick(&fitting)).clone();
        }
        match sort {
            None => self.rng.chance(0.5).to_string(),
            Some(bits) => {
                let number = self.rng.below(1 << bits);
                if self.rng.chance(0.5) {
                    format!("(_ bv{number} {bits})")
                } else {
                    format!("#b{number:0width$b}", width = bits as usize)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_have_all_forms() {
        let all: String = (0..300).map(horn).collect();
        for word in [
            "(or (not",
            "(exists",
            "(let",
            "(rule",
            "(near",
            "|R r|",
            "concat",
            "extract",
            "sign_extend",
            "bvashr",
            "bvsge",
        ] {
            assert!(all.contains(word), "{word}");
        }
        assert_eq!(horn(7), horn(7));
    }
}
