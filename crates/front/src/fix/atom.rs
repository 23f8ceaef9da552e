//! Room `front/fix`: relations applied, and comparisons.

use super::check::{Checked, Checker, MOST_NODES, Reported};
use super::sort::{Piece, Sort};
use super::tree::{Atom, Head, Order, Step, Term};
use crate::diagnostic::{Code, Diagnostic};
use postbop_ir::Span;
use postbop_kit::calculus::{Node, NodeId, Slice, VarId};

/// The widest piece whose values are enumerated.
const WIDEST: usize = 8;

const SUM: &str = "only to numbers something can be added";

/// What a term stands for.
enum Value {
    /// A value of some type, by its leaves, plus something.
    Whole(Sort, Vec<VarId>, i64),
    /// Some bits of a variable.
    Piece(VarId, Piece),
    /// A number.
    Number(i64),
    /// A name of some domain's values.
    Text(String),
}

impl Checker<'_> {
    /// A formula without connectives. An index that is not a number is expanded first.
    // Bounded depth: the parser allows 200 formulas and types inside each other.
    pub(super) fn atom(&mut self, atom: &Atom, span: Span) -> Checked<NodeId> {
        if self.system.nodes.len() > MOST_NODES {
            return self.too_many(span);
        }
        if let Some(index) = first_index(atom) {
            let (low, high, leaves, plus) = match self.value(&index)? {
                Value::Whole(Sort::Range(low, high), leaves, plus) => (low, high, leaves, plus),
                Value::Number(number) => {
                    let mut fixed = atom.clone();
                    replace_index(&mut fixed, number);
                    return self.atom(&fixed, span);
                }
                _ => return self.complain(Code::TypeMismatch, index.span, "an index is a number"),
            };
            let mut cases = Vec::new();
            for value in low..=high {
                let slice = self.system.whole(leaves[0]);
                let here = self.node(Node::Among(slice, vec![(value - low) as u64]));
                let mut fixed = atom.clone();
                let element = replace_index(&mut fixed, value + plus);
                if !self.exists(&element) {
                    continue;
                }
                let then = self.atom(&fixed, span)?;
                cases.push(self.node(Node::And(vec![here, then])));
            }
            return Ok(self.node(Node::Or(cases)));
        }
        match atom {
            Atom::Apply(name, args) => self.apply(name, args),
            Atom::Compare(order, left, right) => self.compare(*order, left, right, span),
            Atom::Truth(term) => match self.value(term)? {
                Value::Whole(Sort::BIT, leaves, 0) => {
                    let slice = self.system.whole(leaves[0]);
                    Ok(self.node(Node::Among(slice, vec![1])))
                }
                Value::Piece(var, piece) if piece.bits.len() == 1 => {
                    Ok(self.node(Node::Among(Slice { var, bits: piece.bits }, vec![1])))
                }
                _ => self.complain(Code::TypeMismatch, span, "this is neither true nor false"),
            },
        }
    }

    /// Whether an element of an array exists: a case in which it does not is no case.
    fn exists(&self, term: &Term) -> bool {
        let Head::Path(name, steps) = &term.head else { return true };
        let Some(bound) = self.scope.iter().rev().find(|bound| bound.name == name.text) else { return true };
        let mut sort = &bound.sort;
        for (at, step) in steps.iter().enumerate() {
            sort = match (step, sort) {
                (Step::Field(field), Sort::Record(fields)) => {
                    match fields.iter().find(|(name, _)| *name == field.text) {
                        Some((_, sort)) => sort,
                        None => return true,
                    }
                }
                (Step::Index(Term { head: Head::Number(at), .. }), Sort::Array(sort, length)) => {
                    if !(0..*length as i64).contains(at) {
                        return false;
                    }
                    sort
                }
                (Step::Field(_), Sort::Domain(domain)) => {
                    // An array of the program: it has a first element, but not this one.
                    let has = |name: &str| self.signature.pieces.contains_key(&(*domain, name.to_owned()));
                    let name = piece_name(&steps[at..]);
                    let array = name.rfind('[').map_or("", |end| &name[..end]);
                    return has(&name) || !has(&format!("{array}[0]"));
                }
                _ => return true,
            };
        }
        true
    }

    fn value(&mut self, term: &Term) -> Checked<Value> {
        let (name, steps) = match &term.head {
            Head::Number(number) => return Ok(Value::Number(*number)),
            Head::Text(text) if term.plus == 0 => return Ok(Value::Text(text.clone())),
            Head::Text(_) => return self.complain(Code::TypeMismatch, term.span, SUM),
            Head::Path(name, steps) => (name, steps),
        };
        let constant = self.signature.constants.iter().find(|(known, _)| *known == name.text);
        let Some(bound) = self.scope.iter().rev().find(|bound| bound.name == name.text).cloned() else {
            if let Some((_, value)) = constant {
                return Ok(Value::Number(value + term.plus));
            }
            let known: Vec<&str> = self.scope.iter().map(|bound| bound.name.as_str()).collect();
            let hint = match known.is_empty() {
                true => "bind it, as in `exists x: State. …`".to_owned(),
                false => format!("in scope here: {}", known.join(", ")),
            };
            let message = format!("the variable `{}` is not bound", name.text);
            self.sink.push(Diagnostic::new(Code::UnknownVariable, name.span, message).hint(hint));
            return Err(Reported);
        };
        let (mut sort, mut leaves) = (bound.sort, &bound.leaves[..]);
        for (at, step) in steps.iter().enumerate() {
            (sort, leaves) = match (step, sort) {
                (Step::Field(field), Sort::Record(fields)) => {
                    let Some(place) = fields.iter().position(|(name, _)| *name == field.text) else {
                        let known: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
                        let message =
                            format!("there is no field `{}`; there are: {}", field.text, known.join(", "));
                        return self.complain(Code::UnknownField, field.span, message);
                    };
                    let before: usize = fields[..place].iter().map(|(_, sort)| sort.leaves()).sum();
                    let sort = fields[place].1.clone();
                    let count = sort.leaves();
                    (sort, &leaves[before..before + count])
                }
                (Step::Index(Term { head: Head::Number(index), span, .. }), Sort::Array(sort, length)) => {
                    let Some(place) = usize::try_from(*index).ok().filter(|place| *place < length) else {
                        let message = format!("the index is {index}, the array has {length} elements");
                        return self.complain(Code::IndexOutOfRange, *span, message);
                    };
                    let count = sort.leaves();
                    (*sort, &leaves[place * count..(place + 1) * count])
                }
                (Step::Field(_), Sort::Domain(domain)) => {
                    let name = piece_name(&steps[at..]);
                    let message = format!("the program has no variable `{name}` here");
                    let Some(piece) = self.signature.pieces.get(&(domain, name)) else {
                        return self.complain(Code::UnknownField, term.span, message);
                    };
                    if term.plus != 0 {
                        return self.complain(Code::TypeMismatch, term.span, SUM);
                    }
                    return Ok(Value::Piece(leaves[0], piece.clone()));
                }
                _ => return self.complain(Code::TypeMismatch, term.span, "this value has no such part"),
            };
        }
        if term.plus != 0 && !matches!(sort, Sort::Range(..)) {
            return self.complain(Code::TypeMismatch, term.span, SUM);
        }
        Ok(Value::Whole(sort, leaves.to_vec(), term.plus))
    }

    fn compare(&mut self, order: Order, left: &Term, right: &Term, span: Span) -> Checked<NodeId> {
        let (a, b) = (self.value(left)?, self.value(right)?);
        let positive = match order {
            Order::Ne => Order::Eq,
            order => order,
        };
        let node = match (a, b) {
            (Value::Whole(Sort::Range(low, high), leaves, plus), Value::Number(number)) => {
                self.bounded(positive, (low, high, plus), leaves[0], number)
            }
            (Value::Number(number), Value::Whole(Sort::Range(low, high), leaves, plus)) => {
                self.bounded(mirrored(positive), (low, high, plus), leaves[0], number)
            }
            (
                Value::Whole(Sort::Range(low, high), leaves, plus),
                Value::Whole(Sort::Range(low2, high2), leaves2, plus2),
            ) => {
                if leaves[0] == leaves2[0] {
                    return Ok(self.node(Node::Const(order.holds(plus, plus2))));
                }
                let pair = |a: i64, b: i64| {
                    positive.holds(a + plus, b + plus2).then_some(((a - low) as u64, (b - low2) as u64))
                };
                let pairs =
                    (low..=high).flat_map(|a| (low2..=high2).filter_map(move |b| pair(a, b))).collect();
                self.node(Node::Pairs(leaves[0], leaves2[0], pairs))
            }
            (Value::Whole(sort, leaves, 0), Value::Whole(sort2, leaves2, 0))
                if positive == Order::Eq && sort == sort2 =>
            {
                let pairs = leaves.iter().zip(&leaves2);
                let mut parts = Vec::new();
                for (&a, &b) in pairs.filter(|(a, b)| a != b) {
                    let (a, b) = (self.system.whole(a), self.system.whole(b));
                    parts.push(self.node(Node::Equal(a, b)));
                }
                self.node(Node::And(parts))
            }
            (Value::Piece(var, piece), Value::Piece(var2, piece2))
                if positive == Order::Eq && piece.like(&piece2) =>
            {
                let (a, b) = (Slice { var, bits: piece.bits }, Slice { var: var2, bits: piece2.bits });
                self.node(Node::Equal(a, b))
            }
            (Value::Piece(var, piece), Value::Whole(Sort::BIT, leaves, 0))
            | (Value::Whole(Sort::BIT, leaves, 0), Value::Piece(var, piece))
                if positive == Order::Eq && piece.bits.len() == 1 =>
            {
                let whole = self.system.whole(leaves[0]);
                self.node(Node::Equal(Slice { var, bits: piece.bits }, whole))
            }
            (Value::Piece(var, piece), Value::Number(number)) => {
                self.piece(positive, var, piece, number, span)?
            }
            (Value::Number(number), Value::Piece(var, piece)) => {
                self.piece(mirrored(positive), var, piece, number, span)?
            }
            (Value::Whole(Sort::Domain(domain), leaves, 0), Value::Text(text)) if positive == Order::Eq => {
                let Some(values) = self.signature.names.get(&(domain, text.clone())).cloned() else {
                    return self.complain(
                        Code::UnknownLabel,
                        right.span,
                        format!("the program has no label `{text}`"),
                    );
                };
                let slice = self.system.whole(leaves[0]);
                self.node(Node::Among(slice, values))
            }
            _ => return self.complain(Code::TypeMismatch, span, "these two cannot be compared so"),
        };
        Ok(self.unless(order == Order::Ne, node))
    }

    /// The formula, or its negation.
    fn unless(&mut self, negated: bool, node: NodeId) -> NodeId {
        if negated { self.node(Node::Not(node)) } else { node }
    }

    /// A number of a range, plus something, compared with a constant.
    fn bounded(
        &mut self,
        order: Order,
        (low, high, plus): (i64, i64, i64),
        var: VarId,
        number: i64,
    ) -> NodeId {
        let values = (low..=high).filter(|value| order.holds(value + plus, number));
        let values = values.map(|value| (value - low) as u64).collect();
        let slice = self.system.whole(var);
        self.node(Node::Among(slice, values))
    }

    /// A program's variable compared with a constant.
    fn piece(&mut self, order: Order, var: VarId, piece: Piece, number: i64, span: Span) -> Checked<NodeId> {
        let width = piece.bits.len();
        let (least, count) = match piece.signed {
            true => (-(1i64 << (width - 1)), 1u128 << width),
            false => (0, 1u128 << width),
        };
        let mask = ((1u128 << width) - 1) as i64;
        let values = if order == Order::Eq {
            let offset = number as i128 - least as i128;
            if offset < 0 || offset as u128 >= count {
                return self.complain(Code::OutOfRange, span, format!("the variable is never {number}"));
            }
            vec![(number & mask) as u64]
        } else if width <= WIDEST {
            let all = (0..count as i64).map(|at| least + at);
            all.filter(|value| order.holds(*value, number)).map(|value| (value & mask) as u64).collect()
        } else {
            return self.complain(
                Code::TypeMismatch,
                span,
                format!("values wider than {WIDEST} bits have no order here"),
            );
        };
        Ok(self.node(Node::Among(Slice { var, bits: piece.bits }, values)))
    }

    /// A relation applied. What is no fresh variable becomes one.
    fn apply(&mut self, name: &super::tree::Name, args: &[Term]) -> Checked<NodeId> {
        let Some(known) = self.relations.get(&name.text) else {
            let mut all: Vec<&String> = self.relations.keys().collect();
            all.sort_unstable();
            let like = all.iter().find(|other| other.eq_ignore_ascii_case(&name.text));
            let message = format!("there is no relation `{}`", name.text);
            let diagnostic = Diagnostic::new(Code::UnknownRelation, name.span, message);
            let hint = match like {
                Some(like) => format!("did you mean `{like}`?"),
                None => {
                    let all: Vec<&str> = all.iter().map(|name| name.as_str()).collect();
                    format!("there are: {}", all.join(", "))
                }
            };
            self.sink.push(diagnostic.hint(hint));
            return Err(Reported);
        };
        let (id, sorts) = (known.id, known.sorts.clone());
        if sorts.len() != args.len() {
            let message = format!("`{}` takes {} arguments, here are {}", name.text, sorts.len(), args.len());
            return self.complain(Code::WrongArguments, name.span, message);
        }
        let (mut vars, mut fresh, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for (term, sort) in args.iter().zip(&sorts) {
            self.argument(term, sort, &mut vars, &mut fresh, &mut parts)?;
        }
        let applied = self.node(Node::Apply(id, vars));
        if fresh.is_empty() {
            return Ok(applied);
        }
        parts.push(applied);
        let both = self.node(Node::And(parts));
        Ok(self.node(Node::Exists(fresh, both)))
    }

    fn argument(
        &mut self,
        term: &Term,
        sort: &Sort,
        vars: &mut Vec<VarId>,
        fresh: &mut Vec<VarId>,
        parts: &mut Vec<NodeId>,
    ) -> Checked<()> {
        let mut invent = |checker: &mut Self, condition: &dyn Fn(&mut Self, VarId) -> NodeId| {
            let domain = checker.domains(sort)[0];
            let var = checker.system.var(domain);
            parts.push(condition(checker, var));
            fresh.push(var);
            var
        };
        match (self.value(term)?, sort) {
            (Value::Whole(found, leaves, 0), sort) if found == *sort => {
                let domains = self.domains(sort);
                for (leaf, domain) in leaves.into_iter().zip(domains) {
                    if !vars.contains(&leaf) {
                        vars.push(leaf);
                        continue;
                    }
                    let twin = self.system.var(domain);
                    let (a, b) = (self.system.whole(leaf), self.system.whole(twin));
                    parts.push(self.node(Node::Equal(a, b)));
                    fresh.push(twin);
                    vars.push(twin);
                }
            }
            (Value::Number(number), Sort::Range(low, high)) if (*low..=*high).contains(&number) => {
                let pinned = |checker: &mut Self, var| {
                    let slice = checker.system.whole(var);
                    checker.node(Node::Among(slice, vec![(number - low) as u64]))
                };
                vars.push(invent(self, &pinned));
            }
            (Value::Whole(Sort::Range(from, to), leaves, plus), Sort::Range(low, high)) => {
                let pairs: Vec<(u64, u64)> = (from..=to)
                    .filter(|value| (*low..=*high).contains(&(value + plus)))
                    .map(|value| ((value - from) as u64, (value + plus - low) as u64))
                    .collect();
                let tied = |checker: &mut Self, var| checker.node(Node::Pairs(leaves[0], var, pairs.clone()));
                vars.push(invent(self, &tied));
            }
            (Value::Piece(var, piece), Sort::Range(0, 1)) if piece.bits.len() == 1 => {
                let same = |checker: &mut Self, twin| {
                    let whole = checker.system.whole(twin);
                    checker.node(Node::Equal(Slice { var, bits: piece.bits.clone() }, whole))
                };
                vars.push(invent(self, &same));
            }
            _ => {
                return self.complain(
                    Code::TypeMismatch,
                    term.span,
                    "this argument has another type than the relation expects",
                );
            }
        }
        Ok(())
    }
}

/// The order seen from the other side.
fn mirrored(order: Order) -> Order {
    match order {
        Order::Lt => Order::Gt,
        Order::Le => Order::Ge,
        Order::Gt => Order::Lt,
        Order::Ge => Order::Le,
        same => same,
    }
}

/// What a program calls the variable to which steps lead: `x`, `main.x`, `flags[2]`.
fn piece_name(steps: &[Step]) -> String {
    let mut name = String::new();
    for step in steps {
        match step {
            Step::Field(field) if name.is_empty() => name.push_str(&field.text),
            Step::Field(field) => name.extend([".", &field.text]),
            Step::Index(Term { head: Head::Number(index), .. }) => name.push_str(&format!("[{index}]")),
            Step::Index(_) => name.push_str("[…]"),
        }
    }
    name
}

fn terms(atom: &Atom) -> Vec<&Term> {
    match atom {
        Atom::Apply(_, args) => args.iter().collect(),
        Atom::Compare(_, a, b) => vec![a, b],
        Atom::Truth(term) => vec![term],
    }
}

/// The first index that is not a number, innermost first.
fn first_index(atom: &Atom) -> Option<Term> {
    let mut work = terms(atom);
    work.reverse();
    let mut found = None;
    while let Some(term) = work.pop() {
        let Head::Path(_, steps) = &term.head else { continue };
        for step in steps {
            if let Step::Index(index) = step
                && !matches!(index.head, Head::Number(_))
            {
                found = Some(index.clone());
                work = vec![index];
                break;
            }
        }
    }
    found
}

/// Puts a number in the place of the first index that is not one; the term it is an index of.
fn replace_index(atom: &mut Atom, number: i64) -> Term {
    let tops: Vec<&mut Term> = match atom {
        Atom::Apply(_, args) => args.iter_mut().collect(),
        Atom::Compare(_, a, b) => vec![a, b],
        Atom::Truth(term) => vec![term],
    };
    for term in tops {
        if let Some(whole) = replace_in(term, number) {
            return whole;
        }
    }
    unreachable!("there is an index")
}

/// As [`replace_index`], in one term. Recursion goes as deep as indices are nested, which the parser limits.
// Bounded depth: the parser allows 200 formulas and types inside each other.
fn replace_in(term: &mut Term, number: i64) -> Option<Term> {
    let Head::Path(_, steps) = &mut term.head else { return None };
    let mut replaced = false;
    for step in steps.iter_mut() {
        let Step::Index(index) = step else { continue };
        if matches!(index.head, Head::Number(_)) {
            continue;
        }
        if let Some(inner) = replace_in(index, number) {
            return Some(inner);
        }
        *index = Term { head: Head::Number(number), plus: 0, span: index.span };
        replaced = true;
        break;
    }
    replaced.then(|| term.clone())
}
