//! Room `front/horn`: functions on bit-vectors that are made of simpler ones.
//!
//! Shifts by a vector are shifts by powers of two, one for each bit of the vector, that are made or not. Division is that of school, a bit of the dividend after the other: the
//! remainder so far is doubled, the bit is added, and the divisor is taken away if it fits; whether it does is a bit of the quotient. The remainder of k bits may need
//! one more bit when it is doubled: then the divisor fits in any case, and the difference is right without that bit. A divisor of zero always fits and takes nothing away: the quotient has all bits set,
//! and the remainder is the dividend, as SMT-LIB wants it. Signed division is that of absolute values.

use super::term::{Fun, TermId, Terms};
use postbop_ir::Type;

/// All bits set, less the number: the complement.
pub fn complement(terms: &mut Terms, operand: TermId) -> TermId {
    let ty = terms.ty(operand);
    let ones = terms.number(ty, ty.max().get());
    terms.apply(Fun::Sub, vec![ones, operand], ty)
}

/// A function of two vectors by its name.
pub fn of_two(terms: &mut Terms, name: &str, [one, other]: [TermId; 2]) -> TermId {
    let bitwise = match name {
        "bvnand" => Fun::BitAnd,
        "bvnor" => Fun::BitOr,
        "bvxnor" => Fun::BitXor,
        "bvcomp" => return compared(terms, one, other),
        "bvudiv" => return divided(terms, one, other)[0],
        "bvurem" => return divided(terms, one, other)[1],
        _ => return divided_signed(terms, name, one, other),
    };
    let ty = terms.ty(one);
    let all = terms.apply(bitwise, vec![one, other], ty);
    complement(terms, all)
}

/// Whether two vectors are the same, as a vector of one bit.
fn compared(terms: &mut Terms, one: TermId, other: TermId) -> TermId {
    let same = terms.apply(Fun::Eq, vec![one, other], Type::Bool);
    let bit = Type::Uint(1);
    let (yes, no) = (terms.number(bit, 1), terms.number(bit, 0));
    terms.apply(Fun::Ite, vec![same, yes, no], bit)
}

/// A vector rotated to the left by so many bits.
pub fn rotated_left(terms: &mut Terms, operand: TermId, by: u64) -> TermId {
    let ty = terms.ty(operand);
    let bits = ty.bits().unwrap_or(1);
    let by = (by % u64::from(bits)) as u8;
    if by == 0 {
        return operand;
    }
    let low = terms.apply(Fun::Extract(bits - by - 1, 0), vec![operand], Type::Uint(bits - by));
    let high = terms.apply(Fun::Extract(bits - 1, bits - by), vec![operand], Type::Uint(by));
    terms.apply(Fun::Concat, vec![low, high], ty)
}

/// A vector shifted by another one.
pub fn shifted(terms: &mut Terms, fun: fn(u8) -> Fun, operand: TermId, by: TermId) -> TermId {
    let ty = terms.ty(operand);
    let bits = ty.bits().unwrap_or(1);
    let mut so_far = operand;
    let mut step: u8 = 1;
    for at in 0..bits {
        // Where a vector is moved by all its bits, or more, nothing of it is left but the sign.
        let moved = terms.apply(fun(step), vec![so_far], ty);
        let is_moved = bit(terms, by, at);
        so_far = terms.apply(Fun::Ite, vec![is_moved, moved, so_far], ty);
        step = step.saturating_mul(2).min(bits);
    }
    so_far
}

/// Quotient and remainder of unsigned vectors.
fn divided(terms: &mut Terms, dividend: TermId, divisor: TermId) -> [TermId; 2] {
    let ty = terms.ty(dividend);
    let bits = ty.bits().unwrap_or(1);
    let [mut quotient, mut rest] = [terms.number(ty, 0); 2];
    for at in (0..bits).rev() {
        let exceeds = bit(terms, rest, bits - 1);
        let doubled = terms.apply(Fun::Add, vec![rest, rest], ty);
        let next = bit(terms, dividend, at);
        let (one, zero, place) = (terms.number(ty, 1), terms.number(ty, 0), terms.number(ty, 1 << at));
        let digit = terms.apply(Fun::Ite, vec![next, one, zero], ty);
        let larger = terms.apply(Fun::Add, vec![doubled, digit], ty);
        let reaches = terms.apply(Fun::Le, vec![divisor, larger], Type::Bool);
        let fits = terms.apply(Fun::Or, vec![exceeds, reaches], Type::Bool);
        let less = terms.apply(Fun::Sub, vec![larger, divisor], ty);
        rest = terms.apply(Fun::Ite, vec![fits, less, larger], ty);
        let more = terms.apply(Fun::Add, vec![quotient, place], ty);
        quotient = terms.apply(Fun::Ite, vec![fits, more, quotient], ty);
    }
    [quotient, rest]
}

/// Signed division by the name of the function: the quotient is rounded to zero; the remainder has the sign of the dividend, or of the divisor for `bvsmod`.
fn divided_signed(terms: &mut Terms, name: &str, dividend: TermId, divisor: TermId) -> TermId {
    let ty = terms.ty(dividend);
    let bits = ty.bits().unwrap_or(1);
    let [below, under] = [dividend, divisor].map(|operand| bit(terms, operand, bits - 1));
    let negated = |terms: &mut Terms, condition: TermId, operand: TermId| {
        let minus = terms.apply(Fun::Neg, vec![operand], ty);
        terms.apply(Fun::Ite, vec![condition, minus, operand], ty)
    };
    let (one, other) = (negated(terms, below, dividend), negated(terms, under, divisor));
    let [quotient, rest] = divided(terms, one, other);
    let differ = terms.apply(Fun::Xor, vec![below, under], Type::Bool);
    match name {
        "bvsdiv" => negated(terms, differ, quotient),
        "bvsrem" => negated(terms, below, rest),
        _ => {
            // Where the signs differ and something is left, the divisor is added, so that it has its sign.
            let signed = negated(terms, below, rest);
            let sum = terms.apply(Fun::Add, vec![signed, divisor], ty);
            let zero = terms.number(ty, 0);
            let nothing = terms.apply(Fun::Eq, vec![rest, zero], Type::Bool);
            let something = terms.not(nothing);
            let adds = terms.apply(Fun::And, vec![differ, something], Type::Bool);
            terms.apply(Fun::Ite, vec![adds, sum, signed], ty)
        }
    }
}

/// Whether a bit of a vector is set.
fn bit(terms: &mut Terms, operand: TermId, at: u8) -> TermId {
    let (ty, one) = (Type::Uint(1), terms.number(Type::Uint(1), 1));
    let bit = terms.apply(Fun::Extract(at, at), vec![operand], ty);
    terms.apply(Fun::Eq, vec![bit, one], Type::Bool)
}
