//! Room `front/moped`: what a formula says outright about values after a rule.
//!
//! # Idea
//! A formula is a relation between values before and after a rule, and engines could pick new values and test it. But most formulas
//! are conjunctions of equations such as `x' = x + 1`, and then there is nothing to pick. So each part of the conjunction is looked at: if it is
//! an equation for one new value over old ones, that is the value, and the part is done. If it says that only under a condition
//! on old values, as in `a'[i] = a[i] | i = n`, the value is picked by the condition, and the part is still tested.
//!
//! Every value that satisfies the formula is the one that is picked, whatever else the formula says; so nothing is lost.

use super::expand::Expansion;
use super::formula::{Formula, FormulaId, MOST_BITS, Slot, Sum, SumId, TRUE};
use super::tree::Time;
use rustc_hash::{FxHashMap, FxHashSet};

/// A value over old ones.
#[derive(Clone, Copy, Debug)]
pub enum Term {
    /// Of a Boolean.
    Formula(FormulaId),
    /// Of an integer.
    Sum(SumId),
}

/// What is known of a value after a rule.
#[derive(Clone, Debug)]
pub enum Value {
    /// It is this.
    Fixed(Term),
    /// It is the first of these whose condition, on old values, holds; if none does, it is arbitrary.
    Guarded(Vec<(FormulaId, Term)>),
}

/// A formula, solved as far as it is easy. A value that is not there is arbitrary.
#[derive(Debug)]
pub struct Effect {
    /// Values after the rule.
    pub values: FxHashMap<Slot, Value>,
    /// What remains to be tested.
    pub rest: FormulaId,
    /// The values that the test mentions.
    pub tested: FxHashSet<Slot>,
}

/// An equation for a new value, where a condition on old values holds.
type Equation = (FormulaId, Slot, Term);

/// What a formula says outright.
pub fn solve(expansion: &mut Expansion, formula: FormulaId) -> Effect {
    let mut values: FxHashMap<Slot, Value> = FxHashMap::default();
    let mut rest = TRUE;
    for part in conjunction(expansion, formula) {
        if let Some((slot, term)) = equation(expansion, part)
            && !matches!(values.get(&slot), Some(Value::Fixed(_)))
        {
            values.insert(slot, Value::Fixed(term));
            let fits = fits(expansion, slot, term);
            rest = expansion.formulas.and(rest, fits);
            continue;
        }
        for (guard, slot, term) in guarded(expansion, part) {
            match values.entry(slot).or_insert_with(|| Value::Guarded(Vec::new())) {
                Value::Fixed(_) => {}
                Value::Guarded(all) => all.push((guard, term)),
            }
        }
        rest = expansion.formulas.and(rest, part);
    }
    let tested = expansion.formulas.mentions(rest);
    Effect { values, rest, tested }
}

/// The parts of a conjunction, in order.
fn conjunction(expansion: &Expansion, formula: FormulaId) -> Vec<FormulaId> {
    let mut parts = Vec::new();
    let mut open = vec![formula];
    while let Some(id) = open.pop() {
        match *expansion.formulas.get(id) {
            Formula::And(left, right) => open.extend([right, left]),
            _ => parts.push(id),
        }
    }
    parts
}

/// The parts of a disjunction.
fn disjunction(expansion: &Expansion, formula: FormulaId) -> Vec<FormulaId> {
    let mut parts = Vec::new();
    let mut open = vec![formula];
    while let Some(id) = open.pop() {
        match *expansion.formulas.get(id) {
            Formula::Or(left, right) => open.extend([right, left]),
            _ => parts.push(id),
        }
    }
    parts
}

/// The equation for a new value over old ones that a formula is.
fn equation(expansion: &mut Expansion, formula: FormulaId) -> Option<(Slot, Term)> {
    let formulas = &mut expansion.formulas;
    let (inner, negated) = match *formulas.get(formula) {
        Formula::Not(inner) => (inner, true),
        _ => (formula, false),
    };
    match *formulas.get(inner) {
        Formula::Value(slot) if slot.time != Time::Old => {
            Some((slot, Term::Formula(formulas.bool(!negated))))
        }
        Formula::Xor(left, right) => {
            let new = |id: FormulaId| match *formulas.get(id) {
                Formula::Value(slot) if slot.time != Time::Old => Some(slot),
                _ => None,
            };
            let (slot, other) = match (new(left), new(right)) {
                (Some(slot), _) if !formulas.is_later(right) => (slot, right),
                (_, Some(slot)) if !formulas.is_later(left) => (slot, left),
                _ => return None,
            };
            let value = if negated { other } else { formulas.not(other) };
            Some((slot, Term::Formula(value)))
        }
        Formula::Zero(sum) if !negated => {
            let sum = formulas.sum(sum).clone();
            let mut new = sum.terms.iter().filter(|(_, slot)| slot.time != Time::Old);
            let (Some(&(factor @ (1 | -1), slot)), None) = (new.next(), new.next()) else { return None };
            let others = sum.terms.iter().filter(|(_, other)| *other != slot);
            // factor * value + others = 0.
            let terms = others.map(|&(other, slot)| Some((other.checked_mul(-factor)?, slot)));
            let terms = terms.collect::<Option<Vec<_>>>()?;
            let constant = sum.constant.checked_mul(-factor)?;
            Some((slot, Term::Sum(formulas.keep(Sum { terms, constant }))))
        }
        _ => None,
    }
}

/// The equations that a part of a conjunction says under conditions on old values.
fn guarded(expansion: &mut Expansion, part: FormulaId) -> Vec<Equation> {
    let parts = disjunction(expansion, part);
    let mut later = parts.iter().copied().filter(|part| expansion.formulas.is_later(*part));
    let (Some(only), None) = (later.next(), later.next()) else { return Vec::new() };
    let mut otherwise = TRUE;
    for other in parts.into_iter().filter(|part| *part != only) {
        let not = expansion.formulas.not(other);
        otherwise = expansion.formulas.and(otherwise, not);
    }
    let cases = match expansion.formulas.get(only) {
        Formula::Cases(cases) => cases.clone(),
        _ => vec![(TRUE, only)],
    };
    let mut equations = Vec::new();
    for (guard, body) in cases {
        if expansion.formulas.is_later(guard) {
            return Vec::new();
        }
        if let Some((slot, term)) = equation(expansion, body) {
            equations.push((expansion.formulas.and(otherwise, guard), slot, term));
        }
    }
    equations
}

/// That a value is one of its variable's.
fn fits(expansion: &mut Expansion, slot: Slot, term: Term) -> FormulaId {
    let Term::Sum(sum) = term else { return TRUE };
    let sum = expansion.formulas.sum(sum).clone();
    let most = ((1u64 << expansion.bits(slot)) - 1) as i64;
    let below = Sum::constant(0).plus(-1, &sum);
    let above = sum.plus(-1, &Sum::constant(most));
    let (system, elements) = (expansion.system, expansion.elements);
    let bits = |slot: Slot| system.vars[elements.variable[slot.element as usize] as usize].bits.unwrap_or(1);
    let mut all = TRUE;
    for bound in [below, above] {
        let within = bound.and_then(|sum| expansion.formulas.compare(sum, false, &bits, MOST_BITS + 1));
        all = expansion.formulas.and(all, within.expect("a part of a comparison is no wider than it"));
    }
    all
}
