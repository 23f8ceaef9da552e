//! Room `engine/weighted`: expressions as sets.
//!
//! # Idea
//!
//! A Boolean expression is the set of the valuations in which it is true. A bounded integer is such a set for each of its bits, and its
//! operators are circuits. An unbounded integer is an affine function of the columns it
//! mentions, or several, each where a condition holds: `ite` and array accesses make several. Comparisons of affine functions are linear constraints.
//!
//! A choice in an expression is a column of its own, behind all others.

use super::registers::{Register, Registers, Time, column};
use super::sets::Sets;
use crate::encode::gates::{self, Logic};
use postbop_ir::{Expr, Op, Type};
use postbop_kit::ndd::{Column, Compare, Interrupted};
use rustc_hash::FxHashMap as HashMap;
use std::ops::Not;

/// A sum of columns, each times a factor, and of a constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Affine {
    pub terms: Vec<(i64, Column)>,
    pub constant: i64,
}

/// Why an expression has no set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The work was stopped.
    Interrupted,
    /// A constant or a factor does not fit 64 bits.
    TooLarge,
}

impl From<Interrupted> for Refused {
    fn from(_: Interrupted) -> Self {
        Refused::Interrupted
    }
}

impl Affine {
    fn new(constant: i64) -> Self {
        Affine { terms: Vec::new(), constant }
    }

    /// The sum of this function and of another one times a factor.
    fn plus(&self, other: &Affine, factor: i64) -> Option<Affine> {
        let mut terms = self.terms.clone();
        for &(more, column) in &other.terms {
            let more = more.checked_mul(factor)?;
            match terms.iter_mut().find(|(_, known)| *known == column) {
                Some((sum, _)) => *sum = sum.checked_add(more)?,
                None => terms.push((more, column)),
            }
        }
        terms.retain(|&(factor, _)| factor != 0);
        terms.sort_unstable_by_key(|&(_, column)| column);
        let constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        // A constant is negated when constraints are written.
        (constant != i64::MIN).then_some(Affine { terms, constant })
    }
}

/// The value of an expression.
#[derive(Clone)]
pub enum Meaning<T> {
    /// Bits, the least significant first.
    Bits(Vec<Bit>),
    /// Affine functions, each where its condition holds; exactly one condition holds.
    Number(Vec<(T, Affine)>),
}

/// A set in a table, or its complement: a bit that circuits can be made of.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bit(u32, bool);

impl Not for Bit {
    type Output = Bit;
    fn not(self) -> Bit {
        Bit(self.0, !self.1)
    }
}

/// Turns the expressions of one action into sets.
pub struct Formulas<'f, S: Sets> {
    pub store: &'f S,
    registers: &'f Registers,
    sets: Vec<S::Set>,
    complements: HashMap<u32, S::Set>,
    /// For each choice so far its type and its first column.
    pub choices: Vec<(Type, Column)>,
    free: Column,
}

impl<S: Sets> Logic for Formulas<'_, S> {
    type Bit = Bit;
    type Stop = Interrupted;

    fn constant(value: bool) -> Bit {
        Bit(0, !value)
    }
    fn and(&mut self, a: Bit, b: Bit) -> Result<Bit, Interrupted> {
        let set = self.store.and(&self.set(a)?, &self.set(b)?)?;
        Ok(self.bit(set))
    }
    fn or(&mut self, a: Bit, b: Bit) -> Result<Bit, Interrupted> {
        let set = self.store.or(&self.set(a)?, &self.set(b)?)?;
        Ok(self.bit(set))
    }
    fn xor(&mut self, a: Bit, b: Bit) -> Result<Bit, Interrupted> {
        let set = self.store.xor(&self.set(a)?, &self.set(b)?)?;
        Ok(self.bit(set))
    }
    fn ite(&mut self, c: Bit, a: Bit, b: Bit) -> Result<Bit, Interrupted> {
        let (then, other) = (self.and(c, a)?, self.and(!c, b)?);
        self.or(then, other)
    }
}

impl<'f, S: Sets> Formulas<'f, S> {
    /// Formulas over the columns of registers.
    pub fn new(store: &'f S, registers: &'f Registers) -> Self {
        let free = column(registers.slots(), Time::Old);
        let sets = vec![store.constant(true)];
        Formulas { store, registers, sets, complements: HashMap::default(), choices: Vec::new(), free }
    }

    /// The bit that is set exactly in the members of a set.
    fn bit(&mut self, set: S::Set) -> Bit {
        self.sets.push(set);
        Bit(self.sets.len() as u32 - 1, false)
    }

    /// The valuations in which a bit is set.
    pub fn set(&mut self, bit: Bit) -> Result<S::Set, Interrupted> {
        if !bit.1 {
            return Ok(self.sets[bit.0 as usize].clone());
        }
        if let Some(known) = self.complements.get(&bit.0) {
            return Ok(known.clone());
        }
        let set = self.store.not(&self.sets[bit.0 as usize])?;
        self.complements.insert(bit.0, set.clone());
        Ok(set)
    }

    /// A register at some time.
    pub fn register(&mut self, register: Register, time: Time) -> Result<Meaning<S::Set>, Interrupted> {
        let columns = self.registers.slots_of(register).iter().map(|&slot| column(slot, time));
        self.at(self.registers.ty(register), columns.collect())
    }

    fn at(&mut self, ty: Type, columns: Vec<Column>) -> Result<Meaning<S::Set>, Interrupted> {
        if ty == Type::Integer {
            let number = Affine { terms: vec![(1, columns[0])], constant: 0 };
            return Ok(Meaning::Number(vec![(self.store.constant(true), number)]));
        }
        let bits = columns.iter().map(|&column| {
            let set = self.store.bit(column)?;
            Ok(self.bit(set))
        });
        Ok(Meaning::Bits(bits.collect::<Result<_, _>>()?))
    }

    fn choice(&mut self, ty: Type) -> Result<Meaning<S::Set>, Interrupted> {
        let count = ty.bits().map_or(1, u32::from);
        self.choices.push((ty, self.free));
        let columns = (self.free..self.free + count).collect();
        self.free += count;
        self.at(ty, columns)
    }

    /// The valuations in which a condition is true.
    pub fn condition(&mut self, expr: &Expr) -> Result<S::Set, Refused> {
        match self.value(expr)? {
            Meaning::Bits(bits) => Ok(self.set(bits[0])?),
            Meaning::Number(_) => unreachable!("a condition is Boolean"),
        }
    }

    /// The value of an expression. Variables have their old values, and new ones where the expression says so.
    pub fn value(&mut self, expr: &Expr) -> Result<Meaning<S::Set>, Refused> {
        let mut stack: Vec<(Type, Meaning<S::Set>)> = Vec::new();
        for &op in &expr.code {
            let item = match op {
                Op::Const(Type::Integer, value) => {
                    let constant = Affine::new(value.get());
                    (Type::Integer, Meaning::Number(vec![(self.store.constant(true), constant)]))
                }
                Op::Const(ty, value) => (ty, Meaning::Bits(gates::constant::<Self>(ty, value.get()))),
                Op::Var(var) => (self.registers.ty(var.0), self.register(var.0, Time::Old)?),
                Op::Next(var) => (self.registers.ty(var.0), self.register(var.0, Time::New)?),
                Op::Choice(ty) => (ty, self.choice(ty)?),
                _ => {
                    let operands = stack.split_off(stack.len() - op.arity());
                    self.apply(op, operands)?
                }
            };
            stack.push(item);
        }
        Ok(stack.pop().expect("an expression has a value").1)
    }

    fn apply(
        &mut self,
        op: Op,
        operands: Vec<(Type, Meaning<S::Set>)>,
    ) -> Result<(Type, Meaning<S::Set>), Refused> {
        let integers = operands.last().is_some_and(|(ty, _)| *ty == Type::Integer);
        if integers {
            return self.apply_to_numbers(op, operands);
        }
        let bits = |(ty, meaning): (Type, Meaning<S::Set>)| match meaning {
            Meaning::Bits(bits) => (ty, bits),
            Meaning::Number(_) => unreachable!("operands are of one type"),
        };
        let operands: Vec<(Type, Vec<Bit>)> = operands.into_iter().map(bits).collect();
        let (ty, bits) = gates::apply(self, op, &operands)?;
        Ok((ty, Meaning::Bits(bits)))
    }

    fn apply_to_numbers(
        &mut self,
        op: Op,
        operands: Vec<(Type, Meaning<S::Set>)>,
    ) -> Result<(Type, Meaning<S::Set>), Refused> {
        let mut meanings = operands.into_iter().map(|(_, meaning)| meaning);
        let mut next = || meanings.next().expect("as many operands as the operator takes");
        let number = |meaning: Meaning<S::Set>| match meaning {
            Meaning::Number(cases) => cases,
            Meaning::Bits(_) => unreachable!("operands are of one type"),
        };
        if let Op::Ite = op {
            let Meaning::Bits(condition) = next() else { unreachable!("a condition is Boolean") };
            let (then, other) = (self.set(condition[0])?, self.set(!condition[0])?);
            let mut cases = Vec::new();
            for (guard, branch) in [(then, number(next())), (other, number(next()))] {
                for (condition, value) in branch {
                    self.add_case(&mut cases, &guard, &condition, value)?;
                }
            }
            return Ok((Type::Integer, Meaning::Number(cases)));
        }
        let first = number(next());
        let second = match op {
            Op::Neg(_) => vec![(self.store.constant(true), Affine::new(0))],
            _ => number(next()),
        };
        let mut cases = Vec::new();
        let mut truth = self.store.constant(false);
        for (left, a) in &first {
            for (right, b) in &second {
                let sum = |a: &Affine, b: &Affine, factor| a.plus(b, factor).ok_or(Refused::TooLarge);
                let (value, compare) = match op {
                    Op::Eq => (sum(a, b, -1)?, Some(0)),
                    Op::Le => (sum(a, b, -1)?, Some(1)),
                    Op::Lt => (sum(a, &sum(b, &Affine::new(1), -1)?, -1)?, Some(1)),
                    Op::Add(_) => (sum(a, b, 1)?, None),
                    Op::Sub(_) => (sum(a, b, -1)?, None),
                    Op::Neg(_) => (sum(b, a, -1)?, None),
                    Op::Mul(_) if a.terms.is_empty() => (sum(&Affine::new(0), b, a.constant)?, None),
                    Op::Mul(_) if b.terms.is_empty() => (sum(&Affine::new(0), a, b.constant)?, None),
                    _ => return Err(Refused::TooLarge),
                };
                match compare {
                    None => self.add_case(&mut cases, left, right, value)?,
                    Some(order) => {
                        let rest = -value.constant;
                        let compare = if order == 0 { Compare::Equal(rest) } else { Compare::AtMost(rest) };
                        let holds = self.store.linear(&value.terms, compare)?;
                        let here = self.store.and(&self.store.and(left, right)?, &holds)?;
                        truth = self.store.or(&truth, &here)?;
                    }
                }
            }
        }
        Ok(match op {
            Op::Eq | Op::Le | Op::Lt => (Type::Bool, Meaning::Bits(vec![self.bit(truth)])),
            _ => (Type::Integer, Meaning::Number(cases)),
        })
    }

    /// Adds a case where two conditions hold; equal functions are one case.
    fn add_case(
        &mut self,
        cases: &mut Vec<(S::Set, Affine)>,
        one: &S::Set,
        other: &S::Set,
        value: Affine,
    ) -> Result<(), Refused> {
        let guard = self.store.and(one, other)?;
        match cases.iter_mut().find(|(_, known)| *known == value) {
            Some((known, _)) => *known = self.store.or(known, &guard)?,
            None if self.store.is_empty(&guard) => {}
            None => cases.push((guard, value)),
        }
        Ok(())
    }

    /// The valuations in which a register has a value at some time.
    pub fn equals(
        &mut self,
        register: Register,
        time: Time,
        value: &Meaning<S::Set>,
    ) -> Result<S::Set, Refused> {
        match (self.register(register, time)?, value) {
            (Meaning::Bits(own), Meaning::Bits(bits)) => {
                let mut all = self.store.constant(true);
                for (&one, &other) in own.iter().zip(bits) {
                    let differ = self.xor(one, other)?;
                    let same = self.set(!differ)?;
                    all = self.store.and(&all, &same)?;
                }
                Ok(all)
            }
            (Meaning::Number(own), Meaning::Number(cases)) => {
                let own = &own[0].1;
                let mut any = self.store.constant(false);
                for (guard, case) in cases {
                    let difference = own.plus(case, -1).ok_or(Refused::TooLarge)?;
                    let same = self.store.linear(&difference.terms, Compare::Equal(-difference.constant))?;
                    any = self.store.or(&any, &self.store.and(guard, &same)?)?;
                }
                Ok(any)
            }
            _ => unreachable!("a register has one type"),
        }
    }
}
