//! Room `engine/encode`: expressions that can have any value, because they are made of choices.
//!
//! # Idea
//!
//! A choice is made once, for the one operator that it is an operand of. So two operands choose independently of each other,
//! and `* & *` can be 0 or 1 as freely as `*` can: it is a hole of its own, which is decided as a whole. Without this the
//! search would decide choice by choice, and an exclusive or of n choices has 2^n ways to come to one of two values.
//!
//! An operand is *free* if it is a choice, or a hole that is made of choices, of which nothing is decided yet. An operator on free
//! and settled operands makes a hole if all values of its type can come out:
//!
//! * operators on Booleans, where at least one operand is free and no settled one decides;
//! * sums, differences and negations of integers, since they have one solution for each value of a free operand;
//! * one of two values, if the condition is free and at least one of the two is.
//!
//! Products and comparisons of integers make none: their operands are decided, half by half.
//!
//! What was decided about a hole that is made of choices must be said of the choices when a trace is written
//! ([`parts`]), and of no more of them than replay needs.
//!
//! # Cost
//!
//! Linear in the expression, to see that it makes a hole and to find its choices.

use super::value::{Val, wrapped};
use postbop_ir::Op;
use smallvec::{SmallVec, smallvec};

/// The range of the hole that an operator makes of its operands, if it makes one. `free` says which operands are free.
pub fn hole(op: Op, operands: &[Val], free: impl Fn(Val) -> bool) -> Option<(i64, i64)> {
    let open = |value: &Val| !value.settled();
    let count = operands.iter().filter(|value| open(value)).count();
    if count == 0 || !operands.iter().all(|&value| value.settled() || free(value)) {
        return None;
    }
    let boolean = operands.iter().filter(|value| open(value)).all(|value| (value.lo, value.hi) == (0, 1));
    match op {
        Op::Not | Op::Xor | Op::Eq if boolean => Some((0, 1)),
        // With one settled operand the result is that operand, or the other one.
        Op::And | Op::Or if count == 2 => Some((0, 1)),
        Op::Add(ty) | Op::Sub(ty) | Op::Neg(ty) => Some((ty.min().get(), ty.max().get())),
        Op::Ite if open(&operands[0]) => {
            let branch = operands[1..].iter().find(|value| open(value))?;
            Some((branch.lo, branch.hi))
        }
        _ => None,
    }
}

/// Which operands must have which values for a value to come out, by their numbers. Operands that are not settled are free.
pub fn parts(op: Op, value: i64, operands: &[Val]) -> SmallVec<[(usize, i64); 2]> {
    let settled = |at: usize| operands[at].settled().then_some(operands[at].lo);
    let open = |at: &usize| !operands[*at].settled();
    let number = |ty, value: i128| wrapped(ty, value);
    let (due, wide) = (value, value as i128);
    match op {
        Op::Not => smallvec![(0, 1 - due)],
        Op::Neg(ty) => smallvec![(0, number(ty, -wide))],
        Op::And | Op::Or => {
            let decisive = (op == Op::Or) as i64;
            let wanted = (0..2).filter(open).map(|at| (at, due));
            match due == decisive {
                true if (0..2).any(|at| settled(at) == Some(decisive)) => SmallVec::new(),
                true => wanted.take(1).collect(),
                false => wanted.collect(),
            }
        }
        Op::Xor | Op::Eq => {
            let differ = (due == 1) == (op == Op::Xor);
            let beside = |other: i64| if differ { 1 - other } else { other };
            match (settled(0), settled(1)) {
                (Some(a), _) => smallvec![(1, beside(a))],
                (_, Some(b)) => smallvec![(0, beside(b))],
                _ => smallvec![(0, 0), (1, beside(0))],
            }
        }
        Op::Add(ty) => match (settled(0), settled(1)) {
            (Some(a), _) => smallvec![(1, number(ty, wide - a as i128))],
            (_, Some(b)) => smallvec![(0, number(ty, wide - b as i128))],
            _ => smallvec![(0, 0), (1, due)],
        },
        Op::Sub(ty) => match (settled(0), settled(1)) {
            (Some(a), _) => smallvec![(1, number(ty, a as i128 - wide))],
            (_, Some(b)) => smallvec![(0, number(ty, wide + b as i128))],
            _ => smallvec![(0, due), (1, 0)],
        },
        Op::Ite => {
            let can = |at: usize| open(&at) || settled(at) == Some(due);
            let branch = match settled(0) {
                Some(condition) => {
                    if condition != 0 {
                        1
                    } else {
                        2
                    }
                }
                None => {
                    if can(1) {
                        1
                    } else {
                        2
                    }
                }
            };
            let condition = (0, (branch == 1) as i64);
            [condition, (branch, due)].into_iter().filter(|(at, _)| open(at)).collect()
        }
        _ => unreachable!("{op:?} makes no hole"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::{NONE, binary, ite, unary};
    use super::*;
    use postbop_ir::Type;

    const TYPES: [Type; 4] = [Type::Bool, Type::Uint(2), Type::Int(3), Type::Int(1)];

    fn apply(op: Op, operands: &[Val]) -> Val {
        match *operands {
            [a] => unary(op, a),
            [a, b] => binary(op, a, b),
            [c, a, b] => ite(c, a, b),
            _ => unreachable!("operators have up to three operands"),
        }
    }

    /// Each operator, on each combination of free and settled operands: if it makes a hole, then each value in its range
    /// comes out when the operands that must have a value have it, whatever the others are.
    #[test]
    fn every_value_of_a_hole_comes_out() {
        let mut made = 0;
        for ty in TYPES {
            let (min, max) = (ty.min().get(), ty.max().get());
            let boolean = [Op::Not, Op::And, Op::Or, Op::Xor, Op::Eq].map(|op| (op, vec![ty; op.arity()]));
            let numbers = [Op::Add(ty), Op::Sub(ty), Op::Neg(ty), Op::Eq, Op::Xor];
            let numbers = numbers.map(|op| (op, vec![ty; op.arity()]));
            let ops = if ty == Type::Bool { boolean.to_vec() } else { numbers.to_vec() };
            for (op, types) in ops.into_iter().chain([(Op::Ite, vec![Type::Bool, ty, ty])]) {
                let range = |ty: Type| (ty.min().get(), ty.max().get());
                let values = |ty: Type| {
                    let (lo, hi) = range(ty);
                    let free = Val { lo, hi, hole: 0, whole: true };
                    (lo..=hi).map(Val::known).chain([free]).collect::<Vec<_>>()
                };
                let mut all: Vec<Vec<Val>> = vec![Vec::new()];
                for (at, &ty) in types.iter().enumerate() {
                    let with = |before: &Vec<Val>| {
                        let before = before.clone();
                        values(ty).into_iter().map(move |value| {
                            let hole = if value.settled() { NONE } else { at as u32 };
                            before.iter().copied().chain([Val { hole, ..value }]).collect::<Vec<_>>()
                        })
                    };
                    all = all.iter().flat_map(with).collect();
                }
                for operands in all {
                    let Some((lo, hi)) = hole(op, &operands, |value| value.whole) else { continue };
                    made += 1;
                    let result = if matches!(op, Op::Eq | Op::Xor) { (0, 1) } else { (min, max) };
                    assert_eq!((lo, hi), result, "{op:?} {operands:?}");
                    for value in lo..=hi {
                        let mut given = operands.clone();
                        for (at, part) in parts(op, value, &operands) {
                            assert!(
                                range(types[at]).0 <= part && part <= range(types[at]).1,
                                "{op:?} {part}"
                            );
                            given[at] = Val::known(part);
                        }
                        assert_eq!(apply(op, &given), Val::known(value), "{op:?} {operands:?}");
                    }
                }
            }
        }
        assert!(made > 100, "{made}");
    }

    #[test]
    fn what_is_not_free_makes_no_hole() {
        let free = Val { lo: 0, hi: 1, hole: 9, whole: true };
        let field = Val { lo: 0, hi: 1, hole: 2, whole: true };
        let is_free = |value: Val| value.hole >= 5 && value.whole;
        assert_eq!(hole(Op::Xor, &[free, field], is_free), None);
        assert_eq!(hole(Op::And, &[free, Val { whole: false, ..free }], is_free), None);
        assert_eq!(hole(Op::Xor, &[Val::known(1), Val::known(0)], is_free), None);
        let wide = Val { lo: 0, hi: 3, ..free };
        assert_eq!(hole(Op::Eq, &[wide, Val::known(2)], is_free), None);
        assert_eq!(hole(Op::Mul(Type::Uint(2)), &[wide, wide], is_free), None);
        // Whichever it is, it is one of two numbers out of four.
        assert_eq!(hole(Op::Ite, &[free, Val::known(0), Val::known(1)], is_free), None);
    }
}
