//! Room `front/moped`: formulas and sums to expressions of the program graph.
//!
//! # Idea
//! Expressions of the graph wrap, and have no conversions: a variable of three bits can be added to one of three bits, modulo 8. Sums
//! do not wrap. So a comparison of one variable with a number, or of two variables of equal width, is written as it is. Every other
//! sum is calculated in a type that is wide enough, and there a variable is the sum of its bits: bit j of x is the
//! highest bit of x times a power of two, modulo the width of x.
//!
//! A value that is assigned may be calculated modulo the width of its variable, for it is tested elsewhere that it fits.

use super::expand::Expansion;
use super::formula::{Formula, FormulaId, Slot, Sum};
use super::solve::{Term, Value};
use postbop_ir::{Op, Type, Value as Number};

/// An expression being written.
pub struct Emitter<'a, 'e> {
    pub expansion: &'a Expansion<'e>,
    /// Where a value is found.
    pub place: &'a dyn Fn(Slot) -> Op,
    pub out: Vec<Op>,
}

enum Task {
    Visit(FormulaId),
    Emit(Op),
}

fn number(ty: Type, value: i64) -> Op {
    Op::Const(ty, value.into())
}

impl Emitter<'_, '_> {
    fn bits(&self, slot: Slot) -> u8 {
        self.expansion.bits(slot)
    }

    /// Writes a formula.
    pub fn formula(&mut self, id: FormulaId) {
        let mut open = vec![Task::Visit(id)];
        while let Some(task) = open.pop() {
            let id = match task {
                Task::Emit(op) => {
                    self.out.push(op);
                    continue;
                }
                Task::Visit(id) => id,
            };
            match self.expansion.formulas.get(id) {
                Formula::Const(value) => self.out.push(number(Type::Bool, i64::from(*value))),
                Formula::Value(slot) => self.out.push((self.place)(*slot)),
                Formula::Zero(sum) => self.comparison(self.expansion.formulas.sum(*sum), true),
                Formula::AtMostZero(sum) => self.comparison(self.expansion.formulas.sum(*sum), false),
                Formula::Not(operand) => open.extend([Task::Emit(Op::Not), Task::Visit(*operand)]),
                Formula::And(left, right) => binary(Op::And, *left, *right, &mut open),
                Formula::Or(left, right) => binary(Op::Or, *left, *right, &mut open),
                Formula::Xor(left, right) => binary(Op::Xor, *left, *right, &mut open),
                Formula::Cases(cases) => {
                    for (at, (guard, body)) in cases.iter().enumerate() {
                        open.extend((at + 1 < cases.len()).then_some(Task::Emit(Op::Or)));
                        binary(Op::And, *guard, *body, &mut open);
                    }
                }
            }
        }
    }

    /// Writes that a sum is zero, or at most zero.
    fn comparison(&mut self, sum: &Sum, zero: bool) {
        if let [(factor, slot)] = sum.terms[..] {
            return self.one_value(factor, slot, sum.constant, zero);
        }
        let bits = |slot: Slot| self.expansion.bits(slot);
        match (sum.as_difference(&bits), sum.constant) {
            (Some((x, y)), 0) => {
                let op = if zero { Op::Eq } else { Op::Le };
                self.out.extend([(self.place)(x), (self.place)(y), op]);
            }
            (Some((x, y)), 1) if !zero => self.out.extend([(self.place)(x), (self.place)(y), Op::Lt]),
            _ => {
                let (low, high) = sum.range(&bits);
                let most =
                    low.unsigned_abs().max(high.unsigned_abs()).max(sum.constant.unsigned_abs().into());
                let ty = Type::Int((u128::BITS - most.leading_zeros()) as u8 + 1);
                self.sum(sum, ty);
                self.out.extend([number(ty, 0), if zero { Op::Eq } else { Op::Le }]);
            }
        }
    }

    /// Writes factor * value + constant = 0, or <= 0. It is neither always nor never so.
    fn one_value(&mut self, factor: i64, slot: Slot, constant: i64, zero: bool) {
        let ty = Type::Uint(self.bits(slot));
        let (value, constant, factor) = ((self.place)(slot), i128::from(constant), i128::from(factor));
        let bound = |number: i128| number as i64;
        match (zero, factor > 0) {
            (true, _) => self.out.extend([value, number(ty, bound(-constant / factor)), Op::Eq]),
            (false, true) => {
                self.out.extend([value, number(ty, bound((-constant).div_euclid(factor))), Op::Le]);
            }
            (false, false) => {
                let least = -((-constant).div_euclid(-factor));
                self.out.extend([number(ty, bound(least)), value, Op::Le]);
            }
        }
    }

    /// Writes a sum in a type; it wraps there.
    fn sum(&mut self, sum: &Sum, ty: Type) {
        let constant = |value: i128| Op::Const(ty, ty.wrap(value).unwrap_or(Number::new(0)));
        let mut empty = sum.constant == 0 && !sum.terms.is_empty();
        if !empty {
            self.out.push(constant(sum.constant.into()));
        }
        for &(factor, slot) in &sum.terms {
            let value = (self.place)(slot);
            let own = Type::Uint(self.bits(slot));
            if own == ty {
                self.out.push(value);
                if factor != 1 {
                    self.out.extend([constant(factor.into()), Op::Mul(ty)]);
                }
                self.out.extend((!empty).then_some(Op::Add(ty)));
                empty = false;
                continue;
            }
            let width = self.bits(slot).min(ty.bits().unwrap_or(u8::MAX));
            for bit in 0..width {
                self.bit(value, own, bit);
                let weight = i128::from(factor) << bit;
                self.out.extend([constant(weight), constant(0), Op::Ite]);
                self.out.extend((!empty).then_some(Op::Add(ty)));
                empty = false;
            }
        }
    }

    /// Writes whether a bit of a value is set.
    fn bit(&mut self, value: Op, ty: Type, bit: u8) {
        let width = ty.bits().unwrap_or(1);
        self.out.extend([number(ty, 1 << (width - 1)), value]);
        if bit + 1 < width {
            self.out.extend([number(ty, 1 << (width - 1 - bit)), Op::Mul(ty)]);
        }
        self.out.push(Op::Le);
    }

    fn term(&mut self, term: Term, ty: Type) {
        match term {
            Term::Formula(id) => self.formula(id),
            Term::Sum(id) => self.sum(self.expansion.formulas.sum(id), ty),
        }
    }

    /// Writes a value after a rule, which is arbitrary where nothing is known of it.
    pub fn value(&mut self, value: Option<&Value>, ty: Type) {
        match value {
            None => self.out.push(Op::Choice(ty)),
            Some(Value::Fixed(term)) => self.term(*term, ty),
            Some(Value::Guarded(all)) => {
                for (guard, term) in all {
                    self.formula(*guard);
                    self.term(*term, ty);
                }
                self.out.push(Op::Choice(ty));
                self.out.extend(all.iter().map(|_| Op::Ite));
            }
        }
    }
}

fn binary(op: Op, left: FormulaId, right: FormulaId, open: &mut Vec<Task>) {
    open.extend([Task::Emit(op), Task::Visit(right), Task::Visit(left)]);
}
