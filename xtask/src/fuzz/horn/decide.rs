//! Room `xtask`: systems of Horn clauses, read a second time and decided by trying all values.
//!
//! A clause is a formula. Under the relations so far, and all values of its variables, it is true or false; if it is false, the one relation in it that is not negated is made true of
//! its arguments, and if there is none, false is derived. That is repeated until nothing changes. Nothing is shared with the reader in `front`: no clauses, no terms, no simplification.
//!
//! Functions here call themselves: random systems nest a few levels.

use std::collections::{BTreeSet, HashMap};

/// An s-expression.
#[derive(Clone, Debug)]
enum Tree {
    Word(String),
    List(Vec<Tree>),
}

/// A value: of a Boolean with no bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Value {
    bits: u32,
    number: u64,
}

type Tuple = (String, Vec<Value>);

/// A definition: its parameters and its body.
type Definition = (Vec<String>, Tree);

/// What is known while a system is decided.
#[derive(Default)]
struct World {
    relations: BTreeSet<String>,
    definitions: HashMap<String, Definition>,
    facts: BTreeSet<Tuple>,
}

type Scope = HashMap<String, Value>;

/// Whether false can be derived; none if the system cannot be read.
pub fn unsat(source: &str) -> Option<bool> {
    let mut world = World::default();
    let mut clauses = Vec::new();
    for command in trees(source)? {
        let Tree::List(items) = command else { return None };
        match (word(items.first()?)?, &items[1..]) {
            ("declare-fun" | "declare-rel", [name, ..]) => {
                world.relations.insert(word(name)?.to_owned());
            }
            ("define-fun", [name, Tree::List(params), _, body]) => {
                let params = params.iter().map(|param| Some(word(items_of(param).first()?)?.to_owned()));
                world
                    .definitions
                    .insert(word(name)?.to_owned(), (params.collect::<Option<_>>()?, body.clone()));
            }
            ("assert" | "rule", [formula]) => clauses.push(formula.clone()),
            ("set-logic" | "check-sat", _) => {}
            _ => return None,
        }
    }
    loop {
        let before = world.facts.len();
        for clause in &clauses {
            if !world.repair(clause, &Scope::new())? {
                return Some(true);
            }
        }
        if world.facts.len() == before {
            return Some(false);
        }
    }
}

fn word(tree: &Tree) -> Option<&str> {
    if let Tree::Word(word) = tree { Some(word) } else { None }
}

fn items_of(tree: &Tree) -> &[Tree] {
    if let Tree::List(items) = tree { items } else { &[] }
}

fn trees(source: &str) -> Option<Vec<Tree>> {
    let mut stack = vec![Vec::new()];
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '(' => {
                stack.push(Vec::new());
                1
            }
            ')' => {
                let items = stack.pop()?;
                stack.last_mut()?.push(Tree::List(items));
                1
            }
            '|' => {
                let length = rest[1..].find('|')? + 2;
                stack.last_mut()?.push(Tree::Word(rest[1..length - 1].to_owned()));
                length
            }
            c if c.is_whitespace() => 1,
            _ => {
                let length = rest.find(|c: char| c.is_whitespace() || "()".contains(c)).unwrap_or(rest.len());
                stack.last_mut()?.push(Tree::Word(rest[..length].to_owned()));
                length
            }
        };
        rest = &rest[length..];
    }
    if stack.len() == 1 { stack.pop() } else { None }
}

/// All ways to give values to the variables of a quantifier.
fn scopes(vars: &Tree, scope: &Scope) -> Option<Vec<Scope>> {
    let mut all = vec![scope.clone()];
    for var in items_of(vars) {
        let [name, sort] = items_of(var) else { return None };
        let bits = match sort {
            Tree::Word(_) => 0,
            Tree::List(items) => word(items.get(2)?)?.parse().ok()?,
        };
        let name = word(name)?;
        let values = 0..1u64 << bits.max(1);
        let with = |scope: Scope| {
            values.clone().map(move |number| {
                let mut scope = scope.clone();
                scope.insert(name.to_owned(), Value { bits, number });
                scope
            })
        };
        all = all.into_iter().flat_map(with).collect();
    }
    Some(all)
}

fn truth(truth: bool) -> Value {
    Value { bits: 0, number: truth.into() }
}

impl World {
    /// Makes a clause true by adding facts; false if that cannot be done.
    // Bounded depth: random formulas nest a few levels.
    fn repair(&mut self, formula: &Tree, scope: &Scope) -> Option<bool> {
        if self.value(formula, scope)?.number == 1 {
            return Some(true);
        }
        if let Some(fact) = self.fact(formula, scope)? {
            self.facts.insert(fact);
            return Some(true);
        }
        let items = items_of(formula);
        match (items.first().and_then(word), items) {
            (Some("forall"), [_, vars, body]) => {
                for scope in scopes(vars, scope)? {
                    if !self.repair(body, &scope)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            // The last member of these is the one that is not negated.
            (Some("=>" | "or"), [.., head]) => self.repair(head, scope),
            (Some("let"), [_, bindings, body]) => {
                // A name may stand for a formula with relations: it is written out.
                let [binding] = items_of(bindings) else { return None };
                let [name, value] = items_of(binding) else { return None };
                self.repair(&replaced(body, word(name)?, value), scope)
            }
            _ => Some(false),
        }
    }

    /// The fact that a formula is, if it is a relation.
    fn fact(&self, formula: &Tree, scope: &Scope) -> Option<Option<Tuple>> {
        let (name, arguments) = match formula {
            Tree::Word(name) => (name, &[][..]),
            Tree::List(items) => match items.first() {
                Some(Tree::Word(name)) => (name, &items[1..]),
                _ => return Some(None),
            },
        };
        if !self.relations.contains(name) || scope.contains_key(name) {
            return Some(None);
        }
        let arguments = arguments.iter().map(|argument| self.value(argument, scope));
        Some(Some((name.clone(), arguments.collect::<Option<_>>()?)))
    }

    /// The value of a term under the facts so far.
    // Bounded depth: random formulas nest a few levels.
    fn value(&self, tree: &Tree, scope: &Scope) -> Option<Value> {
        if let Some(fact) = self.fact(tree, scope)? {
            return Some(truth(self.facts.contains(&fact)));
        }
        let items = match tree {
            Tree::Word(word) => return atom(word, scope),
            Tree::List(items) => items,
        };
        match (items.first().and_then(word), &items[..]) {
            (Some("_"), [_, number, bits]) => {
                let number = word(number)?.strip_prefix("bv")?.parse().ok()?;
                Some(Value { bits: word(bits)?.parse().ok()?, number })
            }
            (Some(quantifier @ ("forall" | "exists")), [_, vars, body]) => {
                let all = scopes(vars, scope)?;
                let values = all.iter().map(|scope| Some(self.value(body, scope)?.number == 1));
                let values = values.collect::<Option<Vec<bool>>>()?;
                let some = quantifier == "exists";
                Some(truth(if some { values.contains(&true) } else { !values.contains(&false) }))
            }
            (Some("let"), [_, bindings, body]) => {
                let mut inner = scope.clone();
                for binding in items_of(bindings) {
                    let [name, value] = items_of(binding) else { return None };
                    inner.insert(word(name)?.to_owned(), self.value(value, scope)?);
                }
                self.value(body, &inner)
            }
            (head, [function, operands @ ..]) => {
                let operands = operands.iter().map(|operand| self.value(operand, scope));
                let operands = operands.collect::<Option<Vec<Value>>>()?;
                if let Some((params, body)) = head.and_then(|head| self.definitions.get(head)) {
                    return self.value(body, &params.iter().cloned().zip(operands).collect());
                }
                match function {
                    Tree::Word(name) => apply(name, &operands),
                    Tree::List(index) => indexed(index, operands[0]),
                }
            }
            _ => None,
        }
    }
}

/// A formula with another in place of a name.
// Bounded depth: random formulas nest a few levels.
fn replaced(tree: &Tree, name: &str, by: &Tree) -> Tree {
    match tree {
        Tree::Word(own) if own == name => by.clone(),
        Tree::Word(_) => tree.clone(),
        Tree::List(items) => Tree::List(items.iter().map(|item| replaced(item, name, by)).collect()),
    }
}

fn atom(word: &str, scope: &Scope) -> Option<Value> {
    match word {
        "true" => Some(truth(true)),
        "false" => Some(truth(false)),
        _ => match word.strip_prefix("#b") {
            Some(digits) => {
                Some(Value { bits: digits.len() as u32, number: u64::from_str_radix(digits, 2).ok()? })
            }
            None => scope.get(word).copied(),
        },
    }
}

/// The signed number that a vector stands for.
fn signed(value: Value) -> i64 {
    let sign = 1u64 << (value.bits - 1);
    (value.number as i64) - if value.number & sign != 0 { 1i64 << value.bits } else { 0 }
}

fn apply(name: &str, operands: &[Value]) -> Option<Value> {
    let first = *operands.first()?;
    let vector = |number: u64| Value { bits: first.bits, number: number & ((1 << first.bits) - 1) };
    let all = |wanted: u64| operands.iter().all(|operand| operand.number == wanted);
    if let &[one, other] = operands {
        let (a, b) = (one.number, other.number);
        let found = match name {
            "bvult" => Some(truth(a < b)),
            "bvule" => Some(truth(a <= b)),
            "bvugt" => Some(truth(a > b)),
            "bvuge" => Some(truth(a >= b)),
            "bvslt" => Some(truth(signed(one) < signed(other))),
            "bvsle" => Some(truth(signed(one) <= signed(other))),
            "bvsgt" => Some(truth(signed(one) > signed(other))),
            "bvsge" => Some(truth(signed(one) >= signed(other))),
            "bvadd" => Some(vector(a + b)),
            "bvsub" => Some(vector(a.wrapping_sub(b))),
            "bvmul" => Some(vector(a * b)),
            "bvand" => Some(vector(a & b)),
            "bvor" => Some(vector(a | b)),
            "bvxor" => Some(vector(a ^ b)),
            "bvshl" => Some(vector(a << b)),
            "bvlshr" => Some(vector(a >> b)),
            "bvashr" => Some(vector((signed(one) >> b) as u64)),
            "concat" => Some(Value { bits: one.bits + other.bits, number: a << other.bits | b }),
            "=" => Some(truth(one == other)),
            "distinct" | "xor" => Some(truth(one != other)),
            "=>" => Some(truth(a == 0 || b == 1)),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    match name {
        "not" => Some(truth(first.number == 0)),
        "and" => Some(truth(all(1))),
        "or" => Some(truth(!all(0))),
        "ite" => Some(operands[if first.number == 1 { 1 } else { 2 }]),
        "bvneg" => Some(vector(first.number.wrapping_neg())),
        "bvnot" => Some(vector(!first.number)),
        _ => None,
    }
}

fn indexed(index: &[Tree], operand: Value) -> Option<Value> {
    let number = |at: usize| word(index.get(at)?)?.parse::<u32>().ok();
    match word(index.get(1)?)? {
        "extract" => {
            let (high, low) = (number(2)?, number(3)?);
            let bits = high - low + 1;
            Some(Value { bits, number: operand.number >> low & ((1 << bits) - 1) })
        }
        "zero_extend" => Some(Value { bits: operand.bits + number(2)?, ..operand }),
        "sign_extend" => {
            let bits = operand.bits + number(2)?;
            Some(Value { bits, number: signed(operand) as u64 & ((1 << bits) - 1) })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn false_is_derived_or_not() {
        let system = |last: &str| {
            format!(
                "(set-logic HORN)(declare-fun P ((_ BitVec 2)) Bool)(assert (P #b00))\
                 (assert (forall ((x (_ BitVec 2))) (=> (P x) (P (bvadd x #b10)))))\
                 (assert (forall ((x (_ BitVec 2))) (=> (and (P x) (= x {last})) false)))"
            )
        };
        assert_eq!(unsat(&system("#b10")), Some(true));
        assert_eq!(unsat(&system("#b01")), Some(false));
        assert_eq!(unsat(&system("(bvashr #b10 #b01)")), Some(false));
        assert_eq!(unsat("(declare-fun P () Bool)(assert P)(assert (not P))"), Some(true));
        assert_eq!(unsat("(assert"), None);
    }
}
