//! Room `front/moped`: quantifiers written out, indices resolved.
//!
//! # Idea
//! The code of a formula is run once, with a stack of formulas. At the end of a quantifier's body it jumps back to its
//! beginning, with the next value. A comparison is run on sums. Where a sum is not enough (an index, a divisor, a
//! shift or a product that is not constant), a variable that is in the way is given each of its values in turn: each is one
//! case. Of a variable that an index depends on, only values with which the index is one matter, because of the next rule.
//!
//! A comparison in which an index is out of range, a divisor is zero or a shift is negative is false, and so is an element of
//! an array of Booleans that there is not.
//!
//! # Departures
//! Moped gives all variables of a comparison all their values, so what it can read is no more than what is done here. It
//! calculates with 32 bits that wrap; sums here have 60 bits, and what would need more is refused.

use super::formula::{self, FALSE, FormulaId, Formulas, Slot, Sum, TRUE, TooWide};
use super::parse_expr::calculate;
use super::tree::{Arithmetic, Code, Compare, Connective, Op, System, Time};
use crate::diagnostic::LIMIT;
use postbop_ir::{Span, Type};

/// The most bits of a variable that is given all its values.
const MOST_BITS: u8 = 16;

/// Why a formula cannot be written out.
#[derive(Debug)]
pub enum Failure {
    /// A number has more bits than we calculate with.
    TooWide(Span),
    /// It would have too many nodes.
    TooLarge(Span),
}

/// The variables and elements of arrays, one after the other.
pub struct Elements {
    /// For each variable its first element.
    first: Vec<u32>,
    /// For each element its variable.
    pub variable: Vec<u32>,
}

impl Elements {
    /// The elements of a system.
    pub fn of(system: &System) -> Self {
        let mut elements = Elements { first: Vec::new(), variable: Vec::new() };
        for (var, variable) in system.vars.iter().enumerate() {
            elements.first.push(elements.variable.len() as u32);
            let count = variable.dim.map_or(1, |(low, high)| high - low + 1);
            elements.variable.extend(std::iter::repeat_n(var as u32, count as usize));
        }
        elements
    }

    /// The elements of these variables.
    pub fn range(&self, vars: std::ops::Range<usize>) -> std::ops::Range<u32> {
        let first = |var: usize| self.first.get(var).map_or(self.variable.len() as u32, |first| *first);
        first(vars.start)..first(vars.end)
    }

    /// The index of an element, if it is one of an array.
    fn index(&self, system: &System, element: u32) -> Option<i64> {
        let var = self.variable[element as usize] as usize;
        let (low, _) = system.vars[var].dim?;
        Some(low + i64::from(element - self.first[var]))
    }

    /// The name and the type of an element.
    pub fn named(&self, system: &System, names: &[&str], element: u32) -> (String, Type) {
        let var = &system.vars[self.variable[element as usize] as usize];
        let name = names[var.name as usize];
        let name = match self.index(system, element) {
            Some(index) => format!("{name}[{index}]"),
            None => name.to_owned(),
        };
        (name, var.bits.map_or(Type::Bool, Type::Uint))
    }
}

/// What a term is, if some variables have these values.
enum Term {
    Sum(Sum),
    /// Division by zero, or an index out of range.
    Undefined,
    /// Nothing before this variable has a value; with values outside the range it would be undefined.
    Needs(Slot, i64, i64),
}

/// A formula being written out.
pub struct Expansion<'a> {
    pub system: &'a System,
    pub elements: &'a Elements,
    pub formulas: Formulas,
    /// How much may still be done.
    pub room: usize,
    /// The values of the quantifiers' variables.
    bound: Vec<i64>,
    /// Constant indices that are out of range, once each.
    pub outside: Vec<Span>,
}

impl<'a> Expansion<'a> {
    /// Ready for formulas that have no more nodes together than that.
    pub fn new(system: &'a System, elements: &'a Elements, room: usize) -> Self {
        let bound = vec![0; system.quantifiers.len()];
        Expansion { system, elements, formulas: Formulas::new(), room, bound, outside: Vec::new() }
    }

    /// How many bits a value has.
    pub fn bits(&self, slot: Slot) -> u8 {
        let var = self.elements.variable[slot.element as usize];
        self.system.vars[var as usize].bits.unwrap_or(1)
    }

    fn spend(&mut self, work: usize, span: Span) -> Result<(), Failure> {
        self.room = self.room.checked_sub(work).ok_or(Failure::TooLarge(span))?;
        Ok(())
    }

    /// A formula, written out.
    pub fn expand(&mut self, code: Code) -> Result<FormulaId, Failure> {
        let mut values: Vec<FormulaId> = Vec::new();
        let mut loops: Vec<(FormulaId, usize)> = Vec::new();
        let mut at = code.start;
        while at < code.end {
            let node = self.system.code[at];
            self.spend(1, node.span)?;
            if node.unit != 0 {
                values.push(self.unit(at..node.unit as usize + 1)?);
                at = node.unit as usize + 1;
                continue;
            }
            match node.op {
                Op::Variable(time, var) => {
                    let slot = Slot { time, element: self.elements.first[var as usize] };
                    values.push(self.formulas.value(slot));
                }
                Op::Not => {
                    let operand = values.pop().unwrap_or(TRUE);
                    values.push(self.formulas.not(operand));
                }
                Op::Connective(connective) => {
                    let (right, left) = (values.pop().unwrap_or(TRUE), values.pop().unwrap_or(TRUE));
                    values.push(self.connect(connective, left, right));
                }
                Op::Begin(id) => {
                    let quantifier = &self.system.quantifiers[id as usize];
                    if quantifier.low > quantifier.high {
                        values.push(self.formulas.bool(quantifier.forall));
                        at = quantifier.end as usize;
                    } else {
                        self.bound[id as usize] = quantifier.low;
                        loops.push((self.formulas.bool(quantifier.forall), at));
                    }
                }
                Op::End(id) => {
                    let quantifier = &self.system.quantifiers[id as usize];
                    let body = values.pop().unwrap_or(TRUE);
                    let Some((so_far, begin)) = loops.pop() else { continue };
                    let all = match quantifier.forall {
                        true => self.formulas.and(so_far, body),
                        false => self.formulas.or(so_far, body),
                    };
                    let decided = all == self.formulas.bool(!quantifier.forall);
                    if decided || self.bound[id as usize] == quantifier.high {
                        values.push(all);
                    } else {
                        self.bound[id as usize] += 1;
                        loops.push((all, begin));
                        at = begin;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        Ok(values.pop().unwrap_or(TRUE))
    }

    fn connect(&mut self, connective: Connective, left: FormulaId, right: FormulaId) -> FormulaId {
        match connective {
            Connective::And => self.formulas.and(left, right),
            Connective::Or => self.formulas.or(left, right),
            Connective::Xor => self.formulas.xor(left, right),
            Connective::Same => {
                let differ = self.formulas.xor(left, right);
                self.formulas.not(differ)
            }
        }
    }

    /// A comparison, or an element of an array of Booleans.
    fn unit(&mut self, code: Code) -> Result<FormulaId, Failure> {
        let mut cases = Vec::new();
        let mut open: Vec<Vec<(Slot, i64)>> = vec![Vec::new()];
        let span = self.system.code[code.end - 1].span;
        while let Some(given) = open.pop() {
            self.spend(code.len() + given.len() * given.len(), span)?;
            match self.case(code.clone(), &given)? {
                Ok(body) => {
                    let mut guard = TRUE;
                    for &(slot, value) in given.iter().filter(|_| body != FALSE) {
                        let equal = Sum { terms: vec![(1, slot)], constant: -value };
                        let holds = self.compare(equal, true, span)?;
                        guard = self.formulas.and(guard, holds);
                    }
                    cases.push((guard, body));
                }
                Err((slot, low, high)) => {
                    let bits = self.bits(slot);
                    let (low, high) = (low.max(0), high.min(((1u64 << bits) - 1) as i64));
                    if high - low >= 1 << MOST_BITS {
                        return Err(Failure::TooLarge(span));
                    }
                    for value in (low..=high).rev() {
                        open.push(given.iter().copied().chain([(slot, value)]).collect());
                    }
                }
            }
        }
        Ok(self.formulas.cases(cases))
    }

    fn compare(&mut self, sum: Sum, zero: bool, span: Span) -> Result<FormulaId, Failure> {
        let (system, elements) = (self.system, self.elements);
        let bits =
            |slot: Slot| system.vars[elements.variable[slot.element as usize] as usize].bits.unwrap_or(1);
        self.formulas.compare(sum, zero, &bits, formula::MOST_BITS).map_err(|TooWide| Failure::TooWide(span))
    }

    /// A comparison or an element where some variables have these values, or a variable that needs one too, and its range.
    #[allow(clippy::type_complexity)] // What a case gives is used in one place.
    fn case(
        &mut self,
        code: Code,
        given: &[(Slot, i64)],
    ) -> Result<Result<FormulaId, (Slot, i64, i64)>, Failure> {
        let mut stack: Vec<Sum> = Vec::new();
        for at in code {
            let node = self.system.code[at];
            let wide = |TooWide| Failure::TooWide(node.span);
            let mut pop = || stack.pop().unwrap_or(Sum::constant(0));
            let term = match node.op {
                Op::Number(value) => Term::Sum(Sum::constant(value)),
                Op::Bound(id) => Term::Sum(Sum::constant(self.bound[id as usize])),
                Op::Variable(time, var) => {
                    Term::Sum(known(Slot { time, element: self.elements.first[var as usize] }, given))
                }
                Op::Element(time, var) => {
                    let index = pop();
                    let element = self.element(&index, time, var, given.is_empty().then_some(node.span));
                    if let (Term::Sum(sum), None) = (&element, self.system.vars[var as usize].bits) {
                        let slot = sum.terms[0].1;
                        return Ok(Ok(self.formulas.value(slot)));
                    }
                    match element {
                        Term::Sum(sum) => Term::Sum(known(sum.terms[0].1, given)),
                        other => other,
                    }
                }
                Op::Arithmetic(operation) => {
                    let (right, left) = (pop(), pop());
                    arithmetic(operation, &left, &right).map_err(wide)?
                }
                Op::Compare(compare) => {
                    let (right, left) = (pop(), pop());
                    return self.compared(compare, &left, &right, node.span).map(Ok);
                }
                _ => continue,
            };
            match term {
                Term::Sum(sum) => stack.push(sum),
                Term::Undefined => return Ok(Ok(FALSE)),
                Term::Needs(slot, low, high) => return Ok(Err((slot, low, high))),
            }
        }
        Ok(Ok(FALSE))
    }

    fn compared(
        &mut self,
        compare: Compare,
        left: &Sum,
        right: &Sum,
        span: Span,
    ) -> Result<FormulaId, Failure> {
        let (first, second, more) = match compare {
            Compare::Le | Compare::Eq | Compare::Ne => (left, right, 0),
            Compare::Lt => (left, right, 1),
            Compare::Ge => (right, left, 0),
            Compare::Gt => (right, left, 1),
        };
        let difference = first.plus(-1, second).and_then(|sum| sum.plus(more, &Sum::constant(1)));
        let sum = difference.map_err(|TooWide| Failure::TooWide(span))?;
        let zero = matches!(compare, Compare::Eq | Compare::Ne);
        let holds = self.compare(sum, zero, span)?;
        Ok(if compare == Compare::Ne { self.formulas.not(holds) } else { holds })
    }

    /// The element of an array with this index, as a sum of one value. One that there is not is noted down, if `span` says where.
    fn element(&mut self, index: &Sum, time: Time, var: u32, span: Option<Span>) -> Term {
        let Some((low, high)) = self.system.vars[var as usize].dim else { return Term::Undefined };
        match (index.as_constant(), &index.terms[..]) {
            (Some(at), _) if low <= at && at <= high => {
                let element = self.elements.first[var as usize] + (at - low) as u32;
                Term::Sum(Sum::value(Slot { time, element }))
            }
            (Some(_), _) => {
                let new = span.filter(|span| self.outside.len() < LIMIT && !self.outside.contains(span));
                self.outside.extend(new);
                Term::Undefined
            }
            // low <= factor * value + constant <= high.
            (None, &[(factor, slot)]) => {
                let bound = |limit: i64| i128::from(limit) - i128::from(index.constant);
                let (from, to) = if factor > 0 { (low, high) } else { (high, low) };
                let factor = i128::from(factor);
                let low = bound(from).div_euclid(factor) - 1;
                let high = bound(to).div_euclid(factor) + 1;
                let clip = |value: i128| value.clamp(-1, i128::from(i64::MAX)) as i64;
                Term::Needs(slot, clip(low), clip(high))
            }
            (None, _) => needs(index),
        }
    }
}

/// A value, which may be given.
fn known(slot: Slot, given: &[(Slot, i64)]) -> Sum {
    let found = given.iter().find(|(other, _)| *other == slot);
    found.map_or_else(|| Sum::value(slot), |(_, value)| Sum::constant(*value))
}

/// A variable of the sum must have a value first.
fn needs(sum: &Sum) -> Term {
    sum.terms.first().map_or(Term::Undefined, |(_, slot)| Term::Needs(*slot, 0, i64::MAX))
}

fn arithmetic(operation: Arithmetic, left: &Sum, right: &Sum) -> Result<Term, TooWide> {
    let zero = || Sum::constant(0);
    Ok(match (operation, left.as_constant(), right.as_constant()) {
        (Arithmetic::Add, _, _) => Term::Sum(left.plus(1, right)?),
        (Arithmetic::Sub, _, _) => Term::Sum(left.plus(-1, right)?),
        (Arithmetic::Mul, Some(factor), _) => Term::Sum(zero().plus(factor, right)?),
        (Arithmetic::Mul, _, Some(factor)) => Term::Sum(zero().plus(factor, left)?),
        (Arithmetic::Mul, None, None) => needs(right),
        (Arithmetic::Div, _, Some(0)) => Term::Undefined,
        (Arithmetic::Shl, _, Some(by)) if by < 0 => Term::Undefined,
        (Arithmetic::Shl, _, Some(by)) if left.as_constant().is_none() => match calculate(operation, 1, by) {
            Some(factor) => Term::Sum(zero().plus(factor, left)?),
            None => return Err(TooWide),
        },
        (_, Some(left), Some(right)) => {
            Term::Sum(Sum::constant(calculate(operation, left, right).ok_or(TooWide)?))
        }
        (_, _, None) => needs(right),
        (_, None, _) => needs(left),
    })
}
