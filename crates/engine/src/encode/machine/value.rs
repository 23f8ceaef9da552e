//! Room `engine/encode`: values of which only a range may be known.
//!
//! # Idea
//!
//! An expression over open variables and choices, the *holes*, has a range of values. If the range is enough to
//! decide a condition, no hole needs a value; if not, the value names a hole on which it depends, and the search
//! splits that one. A value that depends on no hole is *settled*. A range may decide what replay, which knows a
//! value or nothing, cannot: `x <= 7` is true of every `uint<3>` but not settled while x is open. The search goes
//! by the range; traces are written with settled values.

use postbop_ir::{Op, Type};

/// No hole.
pub const NONE: u32 = u32::MAX;

/// What is known of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Val {
    /// The least it can be.
    pub lo: i64,
    /// The greatest it can be.
    pub hi: i64,
    /// A hole it depends on, or [`NONE`] if it is settled.
    pub hole: u32,
    /// Whether it is that hole itself, with its whole type as range.
    pub whole: bool,
}

impl Val {
    /// A settled value.
    pub fn known(value: i64) -> Val {
        Val { lo: value, hi: value, hole: NONE, whole: false }
    }

    /// Whether it depends on no hole.
    pub fn settled(self) -> bool {
        self.hole == NONE
    }

    /// Whether it is a choice, or a hole made of choices, of which nothing is decided; holes from this number on are choices.
    pub fn is_choice(self, first: usize) -> bool {
        self.whole && self.hole as usize >= first
    }

    /// Whether it can be only one number.
    pub fn single(self) -> bool {
        self.lo == self.hi
    }

    fn depends(lo: i64, hi: i64, on: [Val; 2]) -> Val {
        let [a, b] = on;
        // Prefer a hole whose splitting narrows the range.
        let hole = if !a.settled() && (!a.single() || b.settled() || b.single()) { a.hole } else { b.hole };
        Val { lo, hi, hole, whole: false }
    }
}

/// The value of an operator with two operands.
pub fn binary(op: Op, a: Val, b: Val) -> Val {
    if a.settled() && b.settled() {
        return Val::known(number(op, a.lo, b.lo));
    }
    let (lo, hi) = match op {
        Op::And => match (a, b) {
            (Val { lo: 0, hi: 0, hole: NONE, .. }, _) | (_, Val { lo: 0, hi: 0, hole: NONE, .. }) => {
                return Val::known(0);
            }
            (Val { hole: NONE, .. }, other) | (other, Val { hole: NONE, .. }) => return other,
            _ => (a.lo & b.lo, a.hi & b.hi),
        },
        Op::Or => match (a, b) {
            (Val { lo: 1, hi: 1, hole: NONE, .. }, _) | (_, Val { lo: 1, hi: 1, hole: NONE, .. }) => {
                return Val::known(1);
            }
            (Val { hole: NONE, .. }, other) | (other, Val { hole: NONE, .. }) => return other,
            _ => (a.lo | b.lo, a.hi | b.hi),
        },
        Op::Lt => ((a.hi < b.lo) as i64, (a.lo < b.hi) as i64),
        Op::Le => ((a.hi <= b.lo) as i64, (a.lo <= b.hi) as i64),
        Op::Eq => ((a.single() && b.single() && a.lo == b.lo) as i64, (a.lo <= b.hi && b.lo <= a.hi) as i64),
        Op::Xor => {
            (!(a.lo <= b.hi && b.lo <= a.hi) as i64, !(a.single() && b.single() && a.lo == b.lo) as i64)
        }
        Op::Add(ty) => within(ty, a.lo as i128 + b.lo as i128, a.hi as i128 + b.hi as i128),
        Op::Sub(ty) => within(ty, a.lo as i128 - b.hi as i128, a.hi as i128 - b.lo as i128),
        Op::Mul(ty) => {
            let ends =
                [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)].map(|(a, b)| a as i128 * b as i128);
            within(ty, ends.into_iter().min().unwrap_or(0), ends.into_iter().max().unwrap_or(0))
        }
        _ => unreachable!("{op:?} does not take two operands"),
    };
    Val::depends(lo, hi, [a, b])
}

/// The value of an operator with one operand.
pub fn unary(op: Op, a: Val) -> Val {
    let (lo, hi) = match op {
        Op::Not => (1 - a.hi, 1 - a.lo),
        Op::Neg(ty) if a.settled() => return Val::known(wrapped(ty, -(a.lo as i128))),
        Op::Neg(ty) => within(ty, -(a.hi as i128), -(a.lo as i128)),
        _ => unreachable!("{op:?} does not take one operand"),
    };
    Val { lo, hi, hole: a.hole, whole: false }
}

/// One of two values, as a condition says.
pub fn ite(c: Val, a: Val, b: Val) -> Val {
    match (c.settled(), c.lo) {
        (true, 0) => b,
        (true, _) => a,
        _ if a == b && a.settled() => a,
        _ => {
            let (lo, hi) = match (c.lo, c.hi) {
                (1, _) => (a.lo, a.hi),
                (_, 0) => (b.lo, b.hi),
                _ => (a.lo.min(b.lo), a.hi.max(b.hi)),
            };
            Val { lo, hi, hole: c.hole, whole: false }
        }
    }
}

/// The value of an operator on the numbers on top of a stack, which are taken from it.
#[inline]
pub fn apply(op: Op, stack: &mut Vec<i64>) -> i64 {
    let mut pop = || stack.pop().expect("an operator has operands");
    match op {
        Op::Not => 1 - pop(),
        Op::Neg(ty) => wrapped(ty, -(pop() as i128)),
        Op::Ite => {
            let (no, yes, condition) = (pop(), pop(), pop());
            if condition == 0 { no } else { yes }
        }
        _ => {
            let (b, a) = (pop(), pop());
            number(op, a, b)
        }
    }
}

#[inline]
fn number(op: Op, a: i64, b: i64) -> i64 {
    match op {
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => (a != b) as i64,
        Op::Eq => (a == b) as i64,
        Op::Lt => (a < b) as i64,
        Op::Le => (a <= b) as i64,
        Op::Add(ty) => wrapped(ty, a as i128 + b as i128),
        Op::Sub(ty) => wrapped(ty, a as i128 - b as i128),
        Op::Mul(ty) => wrapped(ty, a as i128 * b as i128),
        _ => unreachable!("{op:?} does not take two operands"),
    }
}

/// Keeps the low bits. This engine has its own arithmetic: it is judged against that of `ir`. Who computes with unbounded integers
/// has seen before that they fit.
pub fn wrapped(ty: Type, value: i128) -> i64 {
    let Some(bits) = ty.bits() else {
        return i64::try_from(value).expect("an unbounded integer that fits");
    };
    let above = 64 - u32::from(bits);
    let low = (value as u64).checked_shl(above).unwrap_or(0);
    let number = if ty.min().get() < 0 {
        (low as i64).checked_shr(above)
    } else {
        low.checked_shr(above).map(|low| low as i64)
    };
    number.unwrap_or(0)
}

/// The range, if it does not wrap; else all of the type.
fn within(ty: Type, lo: i128, hi: i128) -> (i64, i64) {
    if lo >= ty.min().get() as i128 && hi <= ty.max().get() as i128 {
        (lo as i64, hi as i64)
    } else {
        (ty.min().get(), ty.max().get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postbop_ir::Value;

    /// Every operator, on every pair of ranges of a small type: the range of the result covers all results.
    #[test]
    fn ranges_cover_what_they_stand_for() {
        for ty in [Type::Uint(2), Type::Int(3)] {
            let ops = [Op::Add(ty), Op::Sub(ty), Op::Mul(ty), Op::Eq, Op::Lt, Op::Le];
            let (min, max) = (ty.min().get(), ty.max().get());
            let all: Vec<(i64, i64)> =
                (min..=max).flat_map(|lo| (lo..=max).map(move |hi| (lo, hi))).collect();
            for op in ops {
                for (&(alo, ahi), &(blo, bhi)) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
                    let hole =
                        |lo, hi, hole| Val { lo, hi, hole: if lo == hi { NONE } else { hole }, whole: false };
                    let result = binary(op, hole(alo, ahi, 1), hole(blo, bhi, 2));
                    for (a, b) in (alo..=ahi).flat_map(|a| (blo..=bhi).map(move |b| (a, b))) {
                        let exact = number(op, a, b);
                        assert!(result.lo <= exact && exact <= result.hi, "{op:?} {a} {b}: {result:?}");
                    }
                    assert_eq!(result.settled(), alo == ahi && blo == bhi);
                }
            }
        }
    }

    /// On numbers every operator does what it does on settled values.
    #[test]
    fn numbers_are_settled_values() {
        let ty = Type::Int(3);
        let all = || ty.min().get()..=ty.max().get();
        for op in [Op::Add(ty), Op::Sub(ty), Op::Mul(ty), Op::Eq, Op::Lt, Op::Le] {
            for (a, b) in all().flat_map(|a| all().map(move |b| (a, b))) {
                assert_eq!(Val::known(apply(op, &mut vec![a, b])), binary(op, Val::known(a), Val::known(b)));
            }
        }
        for a in all() {
            assert_eq!(Val::known(apply(Op::Neg(ty), &mut vec![a])), unary(Op::Neg(ty), Val::known(a)));
        }
        for (c, a) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            for op in [Op::And, Op::Or, Op::Xor] {
                assert_eq!(Val::known(apply(op, &mut vec![c, a])), binary(op, Val::known(c), Val::known(a)));
            }
            assert_eq!(Val::known(apply(Op::Not, &mut vec![c])), unary(Op::Not, Val::known(c)));
            let values = [c, a, 5].map(Val::known);
            assert_eq!(Val::known(apply(Op::Ite, &mut vec![c, a, 5])), ite(values[0], values[1], values[2]));
        }
    }

    #[test]
    fn numbers_wrap_around() {
        for ty in [
            Type::Bool,
            Type::Uint(1),
            Type::Uint(3),
            Type::Uint(63),
            Type::Int(1),
            Type::Int(3),
            Type::Int(63),
        ] {
            let size = 1i128 << ty.bits().unwrap();
            for value in
                [0, 1, -1, 5, -5, size / 2, size / 2 - 1, size - 1, size, -size, 3 * size + 1, 1 << 100]
            {
                let number = wrapped(ty, value);
                assert!(ty.contains(Value::new(number)), "{number} is not in {ty}");
                assert_eq!((value - number as i128) % size, 0, "{ty} {value}");
            }
        }
    }

    #[test]
    fn a_hole_is_named_only_where_it_matters() {
        let x = Val { lo: 0, hi: 1, hole: 7, whole: true };
        assert_eq!(binary(Op::And, Val::known(0), x), Val::known(0));
        assert_eq!(binary(Op::And, Val::known(1), x), x);
        assert_eq!(binary(Op::Or, x, Val::known(1)), Val::known(1));
        assert_eq!(ite(x, Val::known(3), Val::known(3)), Val::known(3));
        assert_eq!(unary(Op::Not, x).hole, 7);
        let wide = Val { lo: 0, hi: 7, hole: 9, whole: true };
        let certain = binary(Op::Le, wide, Val::known(7));
        assert_eq!((certain.lo, certain.hi, certain.hole), (1, 1, 9));
        // The hole that decides is the one to split.
        assert_eq!(binary(Op::And, certain, x).hole, 7);
    }
}
