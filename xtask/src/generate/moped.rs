//! Room `xtask`: random pushdown systems with variables in Moped's format.
//!
//! # Idea
//! One to three control states, few symbols, and so few bits that every rule can be tried on all values: at most three bits of
//! global variables and two of local ones. Formulas are mostly conjunctions of equations for new values, as people write them, with
//! conditions among them that relate old and new values in any way. Everything that the format has comes up: constants, arrays with
//! and without ranges, quantifiers, conditions on the initial configuration, propositions, labels and comments.

use crate::rng::Rng;

/// A variable: its name, its bits if it is an integer, the first and the last index if it is an array.
#[derive(Clone)]
struct Var {
    name: &'static str,
    bits: Option<u32>,
    dim: Option<(i64, i64)>,
}

/// The variables that a formula may mention, each with its primes.
type Scope = Vec<(Var, &'static str)>;

struct Maker<'r> {
    rng: &'r mut Rng,
    /// The variables of quantifiers around the formula at hand.
    bound: Vec<&'static str>,
}

/// The system of this seed.
pub fn moped(seed: u64) -> String {
    let rng = &mut Rng::new(seed);
    let choices: [&[&str]; 4] = [&["q"], &["q"], &["q", "r"], &["q", "r", "s"]];
    let states = *rng.pick(&choices);
    let symbols = ["a", "b", "c", "d"][..rng.range(2, 4)].to_vec();
    let globals = variables(rng, ["x", "y", "z"], 3);
    let mut text = String::from("define N 2 # bits\ndefine M (1<<N)-1\n");
    text += &declared("global ", &globals);
    // The locals of each symbol; symbols may share a list.
    let mut locals: Vec<Vec<Var>> = vec![Vec::new(); symbols.len()];
    let cut = rng.range(0, symbols.len());
    for (from, to, name) in [(0, cut, ""), (cut, symbols.len(), "proc ")] {
        let own = variables(rng, ["u", "v", "x"], 2);
        if from < to && !own.is_empty() && rng.chance(0.7) {
            text += &declared(&format!("local {name}({}) ", symbols[from..to].join(", ")), &own);
            locals[from..to].fill(own);
        }
    }
    let mut maker = Maker { rng, bound: Vec::new() };
    text += &maker.start(&symbols, &globals, &locals);
    if maker.rng.chance(0.4) {
        text += &format!("atoms {} p, t\n", maker.rng.pick(&symbols));
    }
    for _ in 0..maker.rng.range(2, 9) {
        text += &maker.rule(states, &symbols, &globals, &locals);
    }
    text
}

fn variables(rng: &mut Rng, names: [&'static str; 3], most: u32) -> Vec<Var> {
    let mut all = Vec::new();
    let mut room = most;
    for name in names {
        let bits = if rng.chance(0.5) { Some(rng.range(1, 2) as u32) } else { None };
        let dim = *rng.pick(&[None, None, None, Some((0, 1)), Some((1, 2)), Some((2, 2))]);
        let size = bits.unwrap_or(1) * dim.map_or(1, |(low, high)| high - low + 1) as u32;
        if size <= room && rng.chance(0.6) {
            room -= size;
            all.push(Var { name, bits, dim });
        }
    }
    all
}

fn declared(head: &str, vars: &[Var]) -> String {
    let one = |var: &Var| {
        let dim = match var.dim {
            None => String::new(),
            Some((0, high)) => format!("[{}]", high + 1),
            Some((low, high)) => format!("[{low}, {high}]"),
        };
        match var.bits {
            None => format!("bool {}{dim};", var.name),
            Some(2) => format!("int {}{dim}(N);", var.name),
            Some(bits) => format!("int {}{dim}({bits});", var.name),
        }
    };
    let all: Vec<String> = vars.iter().map(one).collect();
    if all.is_empty() { String::new() } else { format!("{head}{}\n", all.join(" ")) }
}

fn scope(primes: &'static str, lists: &[&[Var]]) -> Scope {
    let mut all: Scope = Vec::new();
    for var in lists.iter().copied().flatten() {
        // A local hides a global of its name.
        if all.iter().all(|(other, _)| other.name != var.name) {
            all.push((var.clone(), primes));
        }
    }
    all
}

impl Maker<'_> {
    fn start(&mut self, symbols: &[&str], globals: &[Var], locals: &[Vec<Var>]) -> String {
        let mut condition = |scope: Scope| match self.rng.chance(0.6) && !scope.is_empty() {
            true => format!(" ({})", self.formula(&scope, 2)),
            false => String::new(),
        };
        let (first, second) = (condition(scope("", &[globals])), condition(scope("", &[&locals[0]])));
        format!("(q{first} <{}{second}>)\n", symbols[0])
    }

    fn rule(&mut self, states: &[&str], symbols: &[&str], globals: &[Var], locals: &[Vec<Var>]) -> String {
        let rng = &mut self.rng;
        let (from, to) = (*rng.pick(states), *rng.pick(states));
        let mut symbol = || rng.below(symbols.len());
        let (top, one, two) = (symbol(), symbol(), symbol());
        let stack = match rng.below(4) {
            0 => vec![],
            1 => vec![one, two],
            _ => vec![one],
        };
        let names: Vec<&str> = stack.iter().map(|at| symbols[*at]).collect();
        let text = *rng.pick(&["", "", " \"step\"", " # why\n "]);
        let old = scope("", &[&locals[top], globals]);
        let none: &[Var] = &[];
        let new = scope("'", &[stack.first().map_or(none, |at| &locals[*at]), globals]);
        let below = scope("''", &[stack.get(1).map_or(none, |at| &locals[*at])]);
        let head = format!("{from} <{}> --> {to} <{}>{text}", symbols[top], names.join(" "));
        if rng.chance(0.1) {
            return head + "\n";
        }
        let formula = self.change(&old, &[new, below].concat());
        format!("{head} ({formula})\n")
    }

    /// A formula as people write it: an equation for most new values, and conditions.
    fn change(&mut self, old: &Scope, new: &Scope) -> String {
        let mut parts = Vec::new();
        for (var, primes) in new {
            if self.rng.chance(0.2) {
                continue;
            }
            let part = match var.dim {
                None => self.equation(&format!("{}{primes}", var.name), var, old),
                Some((low, high)) if self.rng.chance(0.6) => {
                    let (low, high) = (low - i64::from(low > 0 && self.rng.chance(0.1)), high);
                    self.bound.push("i");
                    let mut body = self.equation(&format!("{}{primes}[i]", var.name), var, old);
                    if self.rng.chance(0.3) {
                        body = format!("({body} | {})", self.comparison(old));
                    }
                    self.bound.pop();
                    format!("A i ({low}, {high}) {body}")
                }
                Some(_) => {
                    let index = self.term(old, 1);
                    self.equation(&format!("{}{primes}[{index}]", var.name), var, old)
                }
            };
            parts.push(if part.starts_with("A ") { format!("({part})") } else { part });
        }
        let all: Scope = old.iter().chain(new).cloned().collect();
        if self.rng.chance(0.5) || parts.is_empty() {
            let formula = self.formula(&all, 2);
            parts.push(format!("({formula})"));
        }
        self.rng.shuffle(&mut parts);
        parts.join(" & ")
    }

    fn equation(&mut self, left: &str, var: &Var, old: &Scope) -> String {
        // Mostly it keeps its value.
        let same =
            old.iter().find(|(other, _)| other.name == var.name && other.dim.is_some() == var.dim.is_some());
        let keeps = same.is_some() && self.rng.chance(0.5);
        let index = if left.ends_with("[i]") {
            "[i]"
        } else if left.ends_with(']') {
            "[1]"
        } else {
            ""
        };
        match (var.bits, keeps) {
            (Some(_), true) if same.is_some_and(|(other, _)| other.bits.is_some()) => {
                format!("{left} = {}{index}", var.name)
            }
            (None, true) if same.is_some_and(|(other, _)| other.bits.is_none()) => {
                format!("({left} == {}{index})", var.name)
            }
            (Some(_), _) => format!("{left} = {}", self.term(old, 2)),
            (None, _) => match self.rng.below(4) {
                0 => left.to_owned(),
                1 => format!("!{left}"),
                2 => format!("({left} ^ {})", self.formula(old, 1)),
                _ => format!("({left} <=> {})", self.formula(old, 1)),
            },
        }
    }

    fn formula(&mut self, scope: &Scope, depth: usize) -> String {
        if depth == 0 {
            return self.atom(scope);
        }
        let next = |maker: &mut Self| maker.formula(scope, depth - 1);
        match self.rng.below(9) {
            0 | 1 => format!("{} & {}", next(self), next(self)),
            2 => format!("{} | {}", next(self), next(self)),
            3 => format!("({} ^ {})", next(self), next(self)),
            4 => format!("{} == {}", next(self), next(self)),
            5 => format!("!({})", next(self)),
            6 if self.bound.is_empty() => {
                self.bound.push("j");
                let body = next(self);
                self.bound.pop();
                let (low, high) = (self.rng.below(3), self.rng.below(3));
                format!("({} j ({low}, {high}) {body})", self.rng.pick(&["A", "E"]))
            }
            _ => self.atom(scope),
        }
    }

    fn atom(&mut self, scope: &Scope) -> String {
        let bools: Vec<&(Var, &str)> = scope.iter().filter(|(var, _)| var.bits.is_none()).collect();
        if bools.is_empty() || self.rng.chance(0.5) {
            return self.comparison(scope);
        }
        let not = if self.rng.chance(0.3) { "!" } else { "" };
        let (var, primes) = (*self.rng.pick(&bools)).clone();
        format!("{not}{}", self.value(&var, primes, scope, 1))
    }

    fn comparison(&mut self, scope: &Scope) -> String {
        let op = *self.rng.pick(&["=", "=", "!=", "<", "<=", ">", ">="]);
        format!("{} {op} {}", self.term(scope, 1), self.term(scope, 2))
    }

    fn value(&mut self, var: &Var, primes: &str, scope: &Scope, depth: usize) -> String {
        match var.dim {
            None => format!("{}{primes}", var.name),
            Some(_) => format!("{}{primes}[{}]", var.name, self.term(scope, depth.saturating_sub(1))),
        }
    }

    fn term(&mut self, scope: &Scope, depth: usize) -> String {
        let ints: Vec<&(Var, &str)> = scope.iter().filter(|(var, _)| var.bits.is_some()).collect();
        if depth > 0 && self.rng.chance(0.4) {
            let op = *self.rng.pick(&["+", "+", "-", "*", "/", "<<"]);
            return format!("{}{op}{}", self.term(scope, depth - 1), self.term(scope, depth - 1));
        }
        match self.bound.last() {
            Some(bound) if self.rng.chance(0.4) => (*bound).to_owned(),
            _ if ints.is_empty() || self.rng.chance(0.3) => match self.rng.below(8) {
                0 => "M".to_owned(),
                1 => "N".to_owned(),
                _ => self.rng.below(4).to_string(),
            },
            _ => {
                let (var, primes) = (*self.rng.pick(&ints)).clone();
                self.value(&var, primes, scope, depth)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_have_all_there_is() {
        let all: String = (0..300).map(moped).collect();
        let wanted = [
            "global ",
            "local (",
            "local proc (",
            "bool x",
            "int y(N)",
            "int x[2]",
            "[1, 2]",
            "(q (",
            "<a (",
            "atoms ",
            "<>",
            "\"step\"",
            "# why",
            "A i (",
            "E j (",
            "''",
            "<=>",
            " == ",
            " ^ ",
            "<<",
            "/",
            "[i] = ",
            "--> r",
            "!=",
            ">=",
        ];
        for wanted in wanted {
            assert!(all.contains(wanted), "{wanted}");
        }
        assert_eq!(moped(7), moped(7));
    }
}
