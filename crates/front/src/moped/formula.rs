//! Room `front/moped`: formulas without quantifiers, indices and products.
//!
//! # Idea
//! A comparison is a sum of variables, each times a number, and a number: `a*x + b*y + c = 0`, or `<= 0`. Sums are over the
//! integers and do not wrap. Formulas are nodes of one list, operands before what uses them; what is constant is folded as it is
//! made. A sum that is never, or always, zero or negative for values of its variables is constant too.

use super::tree::Time;
use rustc_hash::FxHashSet;

/// A value that formulas speak of: of one variable, or of one element of an array.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Slot {
    /// Before or after the rule.
    pub time: Time,
    /// The variable or element, by its number in the table of elements.
    pub element: u32,
}

/// A formula, by its place in the list.
pub type FormulaId = u32;

/// A sum, by its place in the list.
pub type SumId = u32;

/// A sum of values times numbers, and a number. The values are different ones, in order; no factor is 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sum {
    /// Factors and values.
    pub terms: Vec<(i64, Slot)>,
    /// The number.
    pub constant: i64,
}

/// A formula.
#[derive(Clone, Debug)]
pub enum Formula {
    /// True or false.
    Const(bool),
    /// A Boolean.
    Value(Slot),
    /// The sum is zero.
    Zero(SumId),
    /// The sum is zero or less.
    AtMostZero(SumId),
    /// Negation.
    Not(FormulaId),
    /// Conjunction.
    And(FormulaId, FormulaId),
    /// Disjunction.
    Or(FormulaId, FormulaId),
    /// Exclusive or.
    Xor(FormulaId, FormulaId),
    /// In one of several cases, what holds in it. Their conditions speak of old values only or exclude each other.
    Cases(Vec<(FormulaId, FormulaId)>),
}

/// The most bits of a sum.
pub const MOST_BITS: u8 = 60;

/// A sum has more bits than that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooWide;

/// Formulas and sums.
#[derive(Default, Debug)]
pub struct Formulas {
    nodes: Vec<Formula>,
    /// Whether a formula mentions a value after the rule.
    later: Vec<bool>,
    sums: Vec<Sum>,
}

/// The formula that is always true.
pub const TRUE: FormulaId = 1;
/// The formula that is always false.
pub const FALSE: FormulaId = 0;

impl Sum {
    /// A number.
    pub fn constant(constant: i64) -> Self {
        Sum { terms: Vec::new(), constant }
    }

    /// A value.
    pub fn value(slot: Slot) -> Self {
        Sum { terms: vec![(1, slot)], constant: 0 }
    }

    /// The number, if it is nothing else.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// This sum and the other one times a factor.
    pub fn plus(&self, factor: i64, other: &Sum) -> Result<Sum, TooWide> {
        let times = |number: i64| number.checked_mul(factor).ok_or(TooWide);
        let mut terms: Vec<(i64, Slot)> = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut mine, mut others) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let slot = match (mine.peek(), others.peek()) {
                (Some((_, a)), Some((_, b))) => *a.min(b),
                (Some((_, slot)), None) | (None, Some((_, slot))) => *slot,
                (None, None) => break,
            };
            let own = mine.next_if(|(_, other)| *other == slot).map_or(0, |(factor, _)| *factor);
            let added = others.next_if(|(_, other)| *other == slot).map_or(0, |(factor, _)| *factor);
            let sum = own.checked_add(times(added)?).ok_or(TooWide)?;
            if sum != 0 {
                terms.push((sum, slot));
            }
        }
        let constant = self.constant.checked_add(times(other.constant)?).ok_or(TooWide)?;
        Ok(Sum { terms, constant })
    }

    /// The least and the greatest value, where a slot has so many bits.
    pub fn range(&self, bits: &dyn Fn(Slot) -> u8) -> (i128, i128) {
        let (mut low, mut high) = (i128::from(self.constant), i128::from(self.constant));
        for &(factor, slot) in &self.terms {
            let most = i128::from(factor) * ((1i128 << bits(slot)) - 1);
            if factor < 0 { low += most } else { high += most }
        }
        (low, high)
    }

    /// Whether it can be compared with zero by comparing two values: x - y, or x - y + 1 where `<=` is asked.
    pub fn as_difference(&self, bits: &dyn Fn(Slot) -> u8) -> Option<(Slot, Slot)> {
        match self.terms[..] {
            [(1, x), (-1, y)] | [(-1, y), (1, x)] if bits(x) == bits(y) => Some((x, y)),
            _ => None,
        }
    }
}

impl Formulas {
    /// No formulas but the constant ones.
    pub fn new() -> Self {
        let mut all = Formulas::default();
        all.push(Formula::Const(false), false);
        all.push(Formula::Const(true), false);
        all
    }

    fn push(&mut self, node: Formula, later: bool) -> FormulaId {
        self.nodes.push(node);
        self.later.push(later);
        self.nodes.len() as FormulaId - 1
    }

    /// The formula of an id.
    pub fn get(&self, id: FormulaId) -> &Formula {
        &self.nodes[id as usize]
    }

    /// The sum of an id.
    pub fn sum(&self, id: SumId) -> &Sum {
        &self.sums[id as usize]
    }

    /// Whether a formula mentions a value after the rule.
    pub fn is_later(&self, id: FormulaId) -> bool {
        self.later[id as usize]
    }

    /// A truth value.
    pub fn bool(&self, value: bool) -> FormulaId {
        if value { TRUE } else { FALSE }
    }

    /// A Boolean variable.
    pub fn value(&mut self, slot: Slot) -> FormulaId {
        self.push(Formula::Value(slot), slot.time != Time::Old)
    }

    /// The negation.
    pub fn not(&mut self, operand: FormulaId) -> FormulaId {
        match *self.get(operand) {
            Formula::Const(value) => self.bool(!value),
            Formula::Not(inner) => inner,
            _ => self.push(Formula::Not(operand), self.is_later(operand)),
        }
    }

    /// The conjunction.
    pub fn and(&mut self, left: FormulaId, right: FormulaId) -> FormulaId {
        match (left, right) {
            (FALSE, _) | (_, FALSE) => FALSE,
            (TRUE, other) | (other, TRUE) => other,
            _ => self.push(Formula::And(left, right), self.is_later(left) || self.is_later(right)),
        }
    }

    /// The disjunction.
    pub fn or(&mut self, left: FormulaId, right: FormulaId) -> FormulaId {
        match (left, right) {
            (TRUE, _) | (_, TRUE) => TRUE,
            (FALSE, other) | (other, FALSE) => other,
            _ => self.push(Formula::Or(left, right), self.is_later(left) || self.is_later(right)),
        }
    }

    /// The exclusive or.
    pub fn xor(&mut self, left: FormulaId, right: FormulaId) -> FormulaId {
        match (left, right) {
            (FALSE, other) | (other, FALSE) => other,
            (TRUE, other) | (other, TRUE) => self.not(other),
            _ => self.push(Formula::Xor(left, right), self.is_later(left) || self.is_later(right)),
        }
    }

    /// One of several cases that exclude each other.
    pub fn cases(&mut self, mut cases: Vec<(FormulaId, FormulaId)>) -> FormulaId {
        cases.retain(|(guard, body)| *guard != FALSE && *body != FALSE);
        match cases[..] {
            [] => FALSE,
            [(guard, body)] => self.and(guard, body),
            _ => {
                let later = cases.iter().any(|(guard, body)| self.is_later(*guard) || self.is_later(*body));
                self.push(Formula::Cases(cases), later)
            }
        }
    }

    /// A sum, kept.
    pub fn keep(&mut self, sum: Sum) -> SumId {
        self.sums.push(sum);
        self.sums.len() as SumId - 1
    }

    /// That a sum is zero, or that it is at most zero. Where it is calculated, it must have no more than so many bits.
    pub fn compare(
        &mut self,
        sum: Sum,
        zero: bool,
        bits: &dyn Fn(Slot) -> u8,
        most: u8,
    ) -> Result<FormulaId, TooWide> {
        let (low, high) = sum.range(bits);
        if high <= 0 && !zero || (low, high) == (0, 0) {
            return Ok(TRUE);
        }
        if low > 0 || zero && high < 0 {
            return Ok(FALSE);
        }
        if let [(factor, _)] = sum.terms[..]
            && zero
            && sum.constant % factor != 0
        {
            return Ok(FALSE);
        }
        let compared = sum.constant == 0 || sum.constant == 1 && !zero;
        let simple = sum.terms.len() == 1 || compared && sum.as_difference(bits).is_some();
        if !simple && (high - low) >> most != 0 {
            return Err(TooWide);
        }
        let later = sum.terms.iter().any(|(_, slot)| slot.time != Time::Old);
        let sum = self.keep(sum);
        let node = if zero { Formula::Zero(sum) } else { Formula::AtMostZero(sum) };
        Ok(self.push(node, later))
    }

    /// The values that a formula mentions.
    pub fn mentions(&self, id: FormulaId) -> FxHashSet<Slot> {
        let mut found = FxHashSet::default();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            match self.get(id) {
                Formula::Const(_) => {}
                Formula::Value(slot) => {
                    found.insert(*slot);
                }
                Formula::Zero(sum) | Formula::AtMostZero(sum) => {
                    found.extend(self.sum(*sum).terms.iter().map(|(_, slot)| *slot));
                }
                Formula::Not(operand) => open.push(*operand),
                Formula::And(left, right) | Formula::Or(left, right) | Formula::Xor(left, right) => {
                    open.extend([*left, *right]);
                }
                Formula::Cases(cases) => open.extend(cases.iter().flat_map(|(guard, body)| [*guard, *body])),
            }
        }
        found
    }
}
