//! Room `engine/encode`: operators on numbers as Boolean circuits, bit by bit.
//!
//! A value is a list of bits, the least significant first, in two's complement: adders, comparators, multiplexers. A
//! comparison of signed numbers flips the sign bits and compares as unsigned. What a bit is, is up to the logic: a decision
//! diagram, or a node of an and-inverter graph. The semantics is written down here once more, on purpose: engines that
//! count on it are judged against those that do not.

use postbop_ir::{Op, Type};
use postbop_kit::aig::{Aig, Lit};
use postbop_kit::bdd::{Bdd, Interrupted, Ref};
use std::convert::Infallible;
use std::ops::Not;

/// Where Boolean functions are built.
pub trait Logic {
    /// A function.
    type Bit: Copy + Not<Output = Self::Bit>;
    /// Why no more can be built.
    type Stop;
    /// The constant function.
    fn constant(value: bool) -> Self::Bit;
    /// The conjunction.
    fn and(&mut self, a: Self::Bit, b: Self::Bit) -> Result<Self::Bit, Self::Stop>;
    /// The disjunction.
    fn or(&mut self, a: Self::Bit, b: Self::Bit) -> Result<Self::Bit, Self::Stop>;
    /// The exclusive disjunction.
    fn xor(&mut self, a: Self::Bit, b: Self::Bit) -> Result<Self::Bit, Self::Stop>;
    /// `a` where `c` holds, and `b` elsewhere.
    fn ite(&mut self, c: Self::Bit, a: Self::Bit, b: Self::Bit) -> Result<Self::Bit, Self::Stop>;
}

impl Logic for Bdd<'_> {
    type Bit = Ref;
    type Stop = Interrupted;

    fn constant(value: bool) -> Ref {
        if value { Ref::TRUE } else { Ref::FALSE }
    }
    fn and(&mut self, a: Ref, b: Ref) -> Result<Ref, Interrupted> {
        Bdd::and(self, a, b)
    }
    fn or(&mut self, a: Ref, b: Ref) -> Result<Ref, Interrupted> {
        Bdd::or(self, a, b)
    }
    fn xor(&mut self, a: Ref, b: Ref) -> Result<Ref, Interrupted> {
        Bdd::xor(self, a, b)
    }
    fn ite(&mut self, c: Ref, a: Ref, b: Ref) -> Result<Ref, Interrupted> {
        Bdd::ite(self, c, a, b)
    }
}

impl Logic for Aig {
    type Bit = Lit;
    type Stop = Infallible;

    fn constant(value: bool) -> Lit {
        Lit::constant(value)
    }
    fn and(&mut self, a: Lit, b: Lit) -> Result<Lit, Infallible> {
        Ok(Aig::and(self, a, b))
    }
    fn or(&mut self, a: Lit, b: Lit) -> Result<Lit, Infallible> {
        Ok(Aig::or(self, a, b))
    }
    fn xor(&mut self, a: Lit, b: Lit) -> Result<Lit, Infallible> {
        Ok(Aig::xor(self, a, b))
    }
    fn ite(&mut self, c: Lit, a: Lit, b: Lit) -> Result<Lit, Infallible> {
        Ok(Aig::ite(self, c, a, b))
    }
}

/// The number of bits of a type.
pub fn width(ty: Type) -> usize {
    ty.bits().expect("bounded types only") as usize
}

/// The bits of a number.
pub fn constant<L: Logic>(ty: Type, value: i64) -> Vec<L::Bit> {
    let bit = |at: usize| L::constant(value >> at & 1 != 0);
    (0..width(ty)).map(bit).collect()
}

/// The bits of an operator's value.
pub fn apply<L: Logic>(
    logic: &mut L,
    op: Op,
    operands: &[(Type, Vec<L::Bit>)],
) -> Result<(Type, Vec<L::Bit>), L::Stop> {
    let truth = |f: L::Bit| (Type::Bool, vec![f]);
    Ok(match (op, operands) {
        (Op::Not, [(_, a)]) => truth(!a[0]),
        (Op::And, [(_, a), (_, b)]) => truth(logic.and(a[0], b[0])?),
        (Op::Or, [(_, a), (_, b)]) => truth(logic.or(a[0], b[0])?),
        (Op::Xor, [(_, a), (_, b)]) => truth(logic.xor(a[0], b[0])?),
        (Op::Eq, [(_, a), (_, b)]) => truth(equal(logic, a, b)?),
        (Op::Lt, [(ty, a), (_, b)]) => truth(less(logic, *ty, a, b, false)?),
        (Op::Le, [(ty, a), (_, b)]) => truth(less(logic, *ty, a, b, true)?),
        (Op::Neg(ty), [(_, a)]) => {
            (ty, add(logic, &constant::<L>(ty, 0), &complement::<L>(a), L::constant(true))?)
        }
        (Op::Add(ty), [(_, a), (_, b)]) => (ty, add(logic, a, b, L::constant(false))?),
        (Op::Sub(ty), [(_, a), (_, b)]) => (ty, add(logic, a, &complement::<L>(b), L::constant(true))?),
        (Op::Mul(ty), [(_, a), (_, b)]) => (ty, multiply(logic, a, b)?),
        (Op::Ite, [(_, c), (ty, a), (_, b)]) => {
            let bit = |(&a, &b): (&L::Bit, &L::Bit)| logic.ite(c[0], a, b);
            (*ty, a.iter().zip(b).map(bit).collect::<Result<_, _>>()?)
        }
        _ => unreachable!("{op:?} with {} operands", operands.len()),
    })
}

fn complement<L: Logic>(a: &[L::Bit]) -> Vec<L::Bit> {
    a.iter().map(|&bit| !bit).collect()
}

/// Whether two values are equal.
pub fn equal<L: Logic>(logic: &mut L, a: &[L::Bit], b: &[L::Bit]) -> Result<L::Bit, L::Stop> {
    let mut all = L::constant(true);
    for (&a, &b) in a.iter().zip(b) {
        let differ = logic.xor(a, b)?;
        all = logic.and(all, !differ)?;
    }
    Ok(all)
}

/// Whether `a < b`, or `a <= b` if `or_equal`: from the least significant bit up, a higher difference overrules.
fn less<L: Logic>(
    logic: &mut L,
    ty: Type,
    a: &[L::Bit],
    b: &[L::Bit],
    or_equal: bool,
) -> Result<L::Bit, L::Stop> {
    let mut result = L::constant(or_equal);
    for (at, (&a, &b)) in a.iter().zip(b).enumerate() {
        let sign = matches!(ty, Type::Int(k) if at + 1 == k as usize);
        let (a, b) = if sign { (b, a) } else { (a, b) };
        let differ = logic.xor(a, b)?;
        result = logic.ite(differ, b, result)?;
    }
    Ok(result)
}

fn add<L: Logic>(
    logic: &mut L,
    a: &[L::Bit],
    b: &[L::Bit],
    mut carry: L::Bit,
) -> Result<Vec<L::Bit>, L::Stop> {
    let mut sum = Vec::with_capacity(a.len());
    for (&a, &b) in a.iter().zip(b) {
        let half = logic.xor(a, b)?;
        sum.push(logic.xor(half, carry)?);
        carry = logic.ite(half, carry, a)?;
    }
    Ok(sum)
}

fn multiply<L: Logic>(logic: &mut L, a: &[L::Bit], b: &[L::Bit]) -> Result<Vec<L::Bit>, L::Stop> {
    let mut product = vec![L::constant(false); a.len()];
    for (at, &bit) in b.iter().enumerate() {
        let mut shifted = vec![L::constant(false); a.len()];
        for (place, &digit) in shifted[at..].iter_mut().zip(a) {
            *place = logic.and(bit, digit)?;
        }
        product = add(logic, &product, &shifted, L::constant(false))?;
    }
    Ok(product)
}
