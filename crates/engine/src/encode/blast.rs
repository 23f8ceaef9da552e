//! Room `engine/encode`: expressions as decision diagrams, bit by bit.
//!
//! An expression over fields becomes one diagram per bit of its value, the least significant first: adders,
//! comparators, multiplexers. Values are two's complement; a comparison of signed numbers flips the sign bits and
//! compares as unsigned. The semantics is written down here once more, on purpose: engines that count on it are judged
//! against those that do not.

use super::machine::code::Ins;
use postbop_ir::{Op, Type};
use postbop_kit::bdd::{Bdd, Interrupted, Ref};

/// The bits of a value, least significant first.
pub type Bits = Vec<Ref>;

/// Where an expression finds the bits of what it mentions.
pub trait Wires {
    /// The type and current bits of a field.
    fn field(&self, bdd: &mut Bdd, field: usize) -> Result<(Type, Bits), Interrupted>;
    /// The bits of the new value that an assignment computes.
    fn next(&self, set: usize) -> Bits;
    /// The type and bits of a choice.
    fn choice(&self, bdd: &mut Bdd, choice: usize) -> Result<(Type, Bits), Interrupted>;
}

/// The bits of an expression.
pub fn blast(bdd: &mut Bdd, code: &[Ins], source: &impl Wires) -> Result<Bits, Interrupted> {
    let mut stack: Vec<(Type, Bits)> = Vec::new();
    for &ins in code {
        let value = match ins {
            Ins::Apply(op) => {
                let operands = stack.split_off(stack.len() - op.arity());
                apply(bdd, op, &operands)?
            }
            ins => leaf(bdd, ins, source)?,
        };
        stack.push(value);
    }
    Ok(stack.pop().expect("a formula is not empty").1)
}

/// The bits of what has no operands.
pub(super) fn leaf(bdd: &mut Bdd, ins: Ins, source: &impl Wires) -> Result<(Type, Bits), Interrupted> {
    Ok(match ins {
        Ins::Const(ty, value) => (ty, constant(ty, value)),
        Ins::Field(field) => source.field(bdd, field as usize)?,
        Ins::Next(set, ty) => (ty, source.next(set as usize)),
        Ins::Choice(choice) => source.choice(bdd, choice as usize)?,
        Ins::Apply(op) => unreachable!("{op:?} has operands"),
    })
}

/// The number of bits of a type.
pub fn width(ty: Type) -> usize {
    ty.bits().expect("bounded types only") as usize
}

fn constant(ty: Type, value: i64) -> Bits {
    let bit = |at: usize| if value >> at & 1 != 0 { Ref::TRUE } else { Ref::FALSE };
    (0..width(ty)).map(bit).collect()
}

/// The bits of an operator's value.
pub(super) fn apply(bdd: &mut Bdd, op: Op, operands: &[(Type, Bits)]) -> Result<(Type, Bits), Interrupted> {
    let truth = |f: Ref| (Type::Bool, vec![f]);
    Ok(match (op, operands) {
        (Op::Not, [(_, a)]) => truth(!a[0]),
        (Op::And, [(_, a), (_, b)]) => truth(bdd.and(a[0], b[0])?),
        (Op::Or, [(_, a), (_, b)]) => truth(bdd.or(a[0], b[0])?),
        (Op::Xor, [(_, a), (_, b)]) => truth(bdd.xor(a[0], b[0])?),
        (Op::Eq, [(_, a), (_, b)]) => truth(equal(bdd, a, b)?),
        (Op::Lt, [(ty, a), (_, b)]) => truth(less(bdd, *ty, a, b, false)?),
        (Op::Le, [(ty, a), (_, b)]) => truth(less(bdd, *ty, a, b, true)?),
        (Op::Neg(ty), [(_, a)]) => (ty, add(bdd, &constant(ty, 0), &complement(a), Ref::TRUE)?),
        (Op::Add(ty), [(_, a), (_, b)]) => (ty, add(bdd, a, b, Ref::FALSE)?),
        (Op::Sub(ty), [(_, a), (_, b)]) => (ty, add(bdd, a, &complement(b), Ref::TRUE)?),
        (Op::Mul(ty), [(_, a), (_, b)]) => (ty, multiply(bdd, a, b)?),
        (Op::Ite, [(_, c), (ty, a), (_, b)]) => {
            let bit = |(&a, &b)| bdd.ite(c[0], a, b);
            (*ty, a.iter().zip(b).map(bit).collect::<Result<_, _>>()?)
        }
        _ => unreachable!("{op:?} with {} operands", operands.len()),
    })
}

fn complement(a: &Bits) -> Bits {
    a.iter().map(|&bit| !bit).collect()
}

/// Whether two values are equal.
pub fn equal(bdd: &mut Bdd, a: &[Ref], b: &[Ref]) -> Result<Ref, Interrupted> {
    let mut all = Ref::TRUE;
    for (&a, &b) in a.iter().zip(b) {
        let same = bdd.iff(a, b)?;
        all = bdd.and(all, same)?;
    }
    Ok(all)
}

/// Whether `a < b`, or `a <= b` if `or_equal`: from the least significant bit up, a higher difference overrules.
fn less(bdd: &mut Bdd, ty: Type, a: &[Ref], b: &[Ref], or_equal: bool) -> Result<Ref, Interrupted> {
    let mut result = if or_equal { Ref::TRUE } else { Ref::FALSE };
    for (at, (&a, &b)) in a.iter().zip(b).enumerate() {
        let sign = matches!(ty, Type::Int(k) if at + 1 == k as usize);
        let (a, b) = if sign { (b, a) } else { (a, b) };
        let differ = bdd.xor(a, b)?;
        result = bdd.ite(differ, b, result)?;
    }
    Ok(result)
}

fn add(bdd: &mut Bdd, a: &[Ref], b: &[Ref], mut carry: Ref) -> Result<Bits, Interrupted> {
    let mut sum = Vec::with_capacity(a.len());
    for (&a, &b) in a.iter().zip(b) {
        let half = bdd.xor(a, b)?;
        sum.push(bdd.xor(half, carry)?);
        carry = bdd.ite(half, carry, a)?;
    }
    Ok(sum)
}

fn multiply(bdd: &mut Bdd, a: &[Ref], b: &[Ref]) -> Result<Bits, Interrupted> {
    let mut product = vec![Ref::FALSE; a.len()];
    for (at, &bit) in b.iter().enumerate() {
        let mut shifted = vec![Ref::FALSE; a.len()];
        for (place, &digit) in shifted[at..].iter_mut().zip(a) {
            *place = bdd.and(bit, digit)?;
        }
        product = add(bdd, &product, &shifted, Ref::FALSE)?;
    }
    Ok(product)
}
