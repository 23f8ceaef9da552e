//! Room `engine/weighted`: summaries and invariants that are guessed, and checked by saturation itself.
//!
//! # Idea
//!
//! Exact saturation goes on for ever where a loop or a recursion has infinitely many rounds of different effect. So sums may be *extrapolated*: when
//! a weight has grown a few times by the same way, its piece is replaced by a larger set, found by *widening*: constraints that have not
//! changed are kept, others are dropped. Everything else is exact: rules are applied to what was
//! guessed, and saturation ends only if nothing leads out of it. So a guess that is not inductive is never believed, it only grows. When saturation has
//! ended, every location that it has not reached cannot be reached; what it has reached, perhaps can.
//!
//! The pieces of a weight are told apart by the rule, or the return, that led there: one disjunct for each way through a procedure. The constraints of a piece
//! are the affine equalities that all members satisfy, and for numbers and for sums and differences of two, the bounds and the
//! congruences. All are read off the exact diagram, by members and projections.
//!
//! Extrapolation happens where cycles of dependencies pass: at heads of loops, where procedures start, and where they end.
//!
//! # Paper
//!
//! \[cousot-widening\] for widening with thresholds, \[mine-octagons\] for sums and differences, \[karr\] for affine equalities.
//!
//! # Cost
//!
//! A bound is dropped at most once for each threshold, an equality at most once, a modulus is divided at most as often as it has divisors: so
//! saturation ends.

use super::registers::{Time, column, shown};
use super::weight::{Relations, Weight};
use postbop_ir::{Op, Program, Type};
use postbop_kit::ndd::{Column, Compare, Interrupted, Member, Ndd, Ndds, Term};
use postbop_kit::pushdown::{Grown, Transition};
use std::rc::Rc;

/// More numbers than these have no constraints on sums and differences.
const MOST_PAIRED: usize = 6;

/// More valuations of bits than these are not told apart.
const MOST_CUBES: usize = 8;

/// Part of a weight that came by one way.
#[derive(Clone, Debug)]
pub struct Piece {
    way: u32,
    set: Ndd,
    grown: u32,
}

/// Where sums are extrapolated, and how.
#[derive(Clone)]
pub struct Guess<'g> {
    /// For each symbol whether sums are extrapolated where it is on top.
    pub symbols: &'g [bool],
    /// Numbers at which a bound stops before it is dropped, in order.
    pub thresholds: &'g [i64],
    /// How often a piece grows before it is extrapolated.
    pub delay: u32,
}

/// The constants of a program, and their neighbours: bounds often end there.
pub fn thresholds(program: &Program) -> Vec<i64> {
    let ops = program.edges().iter().flat_map(|edge| edge.action.exprs()).flat_map(|expr| expr.code.iter());
    let constants = ops.filter_map(|op| match op {
        Op::Const(Type::Integer, value) => Some(value.get()),
        _ => None,
    });
    let mut all: Vec<i64> = constants
        .filter(|value| value.unsigned_abs() < 1 << 40)
        .flat_map(|value| [value - 1, value, value + 1, 1 - value, -value, -value - 1])
        .chain([-1, 0, 1])
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

impl Guess<'_> {
    /// Whether sums of a transition are extrapolated.
    pub fn extrapolates(&self, transition: Transition) -> bool {
        transition.symbol.is_none_or(|symbol| self.symbols.get(symbol as usize).is_some_and(|&yes| yes))
    }

    /// The sum of what is known and of a new weight, extrapolated if it came by this way a few times.
    pub fn combine(
        &self,
        relations: &Relations,
        known: Option<&Weight>,
        new: Weight,
        way: u32,
    ) -> Result<Option<Grown<Weight>>, Interrupted> {
        let store = relations.store;
        let Some(known) = known else {
            let pieces = [Piece { way, set: new.set.clone(), grown: 0 }].into();
            let sum = Weight { pieces, ..new.clone() };
            return Ok((!new.set.is_empty()).then_some(Grown { sum, difference: new }));
        };
        let writes = Relations::union(&known.writes, &new.writes);
        let (old, more) = (relations.padded(known, &writes)?, relations.padded(&new, &writes)?);
        if store.is_subset(&more, &old)? {
            return Ok(None);
        }
        let mut pieces = Vec::new();
        for piece in known.pieces.iter() {
            let weight = Weight::new(piece.set.clone(), Rc::clone(&known.writes));
            pieces.push(Piece { set: relations.padded(&weight, &writes)?, ..piece.clone() });
        }
        let grown = match pieces.iter_mut().find(|piece| piece.way == way) {
            Some(piece) => {
                let both = store.or(&piece.set, &more)?;
                piece.grown += 1;
                piece.set = match piece.grown > self.delay {
                    true => self.widened(relations, &piece.set, &both)?,
                    false => both,
                };
                piece.set.clone()
            }
            None => {
                pieces.push(Piece { way, set: more.clone(), grown: 0 });
                more
            }
        };
        let sum = store.or(&old, &grown)?;
        let difference = Weight::new(store.minus(&sum, &old)?, Rc::clone(&writes));
        Ok(Some(Grown { sum: Weight { pieces: pieces.into(), ..Weight::new(sum, writes) }, difference }))
    }

    /// A set around `both` with the constraints of `old`, as far as they are constraints of both; for each valuation of the bits by itself, if
    /// there are few.
    fn widened(&self, relations: &Relations, old: &Ndd, both: &Ndd) -> Result<Ndd, Interrupted> {
        let store = relations.store;
        let is_number = |column: Column| {
            let register = relations.registers.owner(shown(column).0);
            relations.registers.ty(register) == Type::Integer
        };
        let bits = store.project(both, is_number)?;
        let mut all = store.constant(false);
        let columns: Vec<Column> = both.support().into_iter().filter(|&column| !is_number(column)).collect();
        for cube in cubes(store, &bits, &columns)? {
            let (old, both) = (store.and(old, &cube)?, store.and(both, &cube)?);
            let support = both.support().into_iter();
            let numbers: Vec<Column> = support.filter(|&column| is_number(column)).collect();
            // A column that stands for the value of a sum.
            let value = column(relations.registers.slots(), Time::Old);
            let hull = match old.is_empty() {
                true => both,
                false => store.and(&cube, &self.hull(store, [&old, &both], &numbers, value)?)?,
            };
            all = store.or(&all, &hull)?;
        }
        Ok(all)
    }

    /// The constraints on numbers that are constraints of both sets, the second of which is the larger one.
    fn hull(
        &self,
        store: &Ndds,
        [old, both]: [&Ndd; 2],
        numbers: &[Column],
        value: Column,
    ) -> Result<Ndd, Interrupted> {
        let mut hull = store.constant(true);
        for (terms, value) in equalities(store, both, numbers)? {
            hull = store.and(&hull, &store.linear(&terms, Compare::Equal(value))?)?;
        }
        for form in forms(numbers) {
            let minus: Vec<Term> = form.iter().map(|&(factor, column)| (-factor, column)).collect();
            let [before, now] = [old, both].map(|set| values(store, set, &form, value));
            let (before, now) = (before?, now?);
            let (Some((old_least, old_most)), Some((least, most))) = (before.extremes(), now.extremes())
            else {
                continue;
            };
            if let Some(most) = most.and_then(|most| self.bound(old_most, most)) {
                hull = store.and(&hull, &store.linear(&form, Compare::AtMost(most))?)?;
            }
            if let Some(most) = least.and_then(|least| self.bound(old_least.map(|least| -least), -least)) {
                hull = store.and(&hull, &store.linear(&minus, Compare::AtMost(most))?)?;
            }
            if let Some((rest, modulus)) = congruence(store, &now, value)? {
                hull = store.and(&hull, &store.linear(&form, Compare::Congruent(rest, modulus))?)?;
            }
        }
        Ok(hull)
    }

    /// An upper bound that was `old`, and is not enough for `new` any more or still is.
    fn bound(&self, old: Option<i64>, new: i64) -> Option<i64> {
        let old = old?;
        if new <= old {
            return Some(old);
        }
        let next = self.thresholds.partition_point(|&threshold| threshold < new);
        self.thresholds.get(next).copied()
    }
}

/// The valuations of some bits in a set that mentions nothing else, one by one; or all of them together, if they are many.
fn cubes(store: &Ndds, bits: &Ndd, columns: &[Column]) -> Result<Vec<Ndd>, Interrupted> {
    let (mut found, mut left) = (Vec::new(), bits.clone());
    while let Some(member) = left.member() {
        if found.len() == MOST_CUBES {
            return Ok(vec![bits.clone()]);
        }
        let mut cube = store.constant(true);
        for &column in columns {
            let bit = store.bit(column);
            let bit = if member.bit(column) == Some(true) { bit } else { store.not(&bit)? };
            cube = store.and(&cube, &bit)?;
        }
        left = store.minus(&left, &cube)?;
        found.push(cube);
    }
    Ok(found)
}

/// Each number, and the sum and the difference of each pair.
fn forms(numbers: &[Column]) -> Vec<Vec<Term>> {
    let mut all: Vec<Vec<Term>> = numbers.iter().map(|&column| vec![(1, column)]).collect();
    if numbers.len() <= MOST_PAIRED {
        for (at, &one) in numbers.iter().enumerate() {
            for &other in &numbers[at + 1..] {
                all.extend([1, -1].map(|factor| vec![(1, one), (factor, other)]));
            }
        }
    }
    all
}

/// The values that a sum has in a set, in a column of their own.
fn values(store: &Ndds, set: &Ndd, form: &[Term], value: Column) -> Result<Ndd, Interrupted> {
    let kept = |column: Column| form.iter().any(|&(_, mentioned)| mentioned == column);
    let set = store.project(set, |column| !kept(column))?;
    let terms: Vec<Term> = form.iter().copied().chain([(-1, value)]).collect();
    let with = store.and(&set, &store.linear(&terms, Compare::Equal(0))?)?;
    store.project(&with, |column| column != value)
}

/// The rest and the greatest modulus above 1 with which all numbers in the only column of a set are congruent, if there are several.
fn congruence(store: &Ndds, set: &Ndd, value: Column) -> Result<Option<(i64, i64)>, Interrupted> {
    let number = |set: &Ndd| set.member().map(|member| member.number(value).unwrap_or(0));
    let Some(first) = number(set).and_then(|first| i64::try_from(first).ok()) else { return Ok(None) };
    let mut modulus = 0;
    loop {
        let compare = if modulus == 0 { Compare::Equal(first) } else { Compare::Congruent(first, modulus) };
        let others = store.minus(set, &store.linear(&[(1, value)], compare)?)?;
        let Some(other) = number(&others) else { break };
        let Ok(distance) = i64::try_from(other - i128::from(first)) else { return Ok(None) };
        modulus = gcd(modulus.into(), distance.into()) as i64;
        if modulus == 1 {
            break;
        }
    }
    // Great moduli have great automata, and are an accident of few members.
    Ok((2..=1024).contains(&modulus).then(|| (first.rem_euclid(modulus), modulus)))
}

/// The affine equalities that all members of a set satisfy, as sums and their values. Members are collected until the equalities of those that
/// were collected hold for all.
fn equalities(store: &Ndds, set: &Ndd, numbers: &[Column]) -> Result<Vec<(Vec<Term>, i64)>, Interrupted> {
    let vector = |member: Member| -> Option<Vec<i128>> {
        let all = numbers.iter().map(|&column| member.number(column).unwrap_or(0));
        all.map(|number| (number.unsigned_abs() < 1 << 40).then_some(number)).collect()
    };
    let Some(first) = set.member().and_then(vector) else { return Ok(Vec::new()) };
    let mut directions: Vec<Vec<i128>> = Vec::new();
    loop {
        let Some(found) = orthogonal(&directions, numbers.len()) else { return Ok(Vec::new()) };
        let mut sums = Vec::new();
        let mut all = store.constant(true);
        for factors in found {
            let value =
                factors.iter().zip(&first).map(|(factor, number)| *factor as i128 * number).sum::<i128>();
            let Ok(value) = i64::try_from(value) else { continue };
            let terms: Vec<Term> = factors.iter().copied().zip(numbers.iter().copied()).collect();
            all = store.and(&all, &store.linear(&terms, Compare::Equal(value))?)?;
            sums.push((terms, value));
        }
        let others = store.minus(set, &all)?;
        if others.is_empty() {
            return Ok(sums);
        }
        let Some(other) = others.member().and_then(vector) else { return Ok(Vec::new()) };
        directions.push(other.iter().zip(&first).map(|(one, other)| one - other).collect());
    }
}

/// A basis of the vectors that are orthogonal to some directions, with small numbers; none if numbers get too large.
fn orthogonal(directions: &[Vec<i128>], length: usize) -> Option<Vec<Vec<i64>>> {
    // Rows in echelon form, each with the place of its first number that is not zero.
    let mut rows: Vec<(usize, Vec<i128>)> = Vec::new();
    for direction in directions {
        let mut row = direction.clone();
        for (pivot, known) in &rows {
            row = eliminated(&row, known, *pivot)?;
        }
        let Some(pivot) = row.iter().position(|&number| number != 0) else { continue };
        for (other, known) in &mut rows {
            *known = eliminated(known, &row, pivot)?;
            debug_assert!(known[*other] != 0);
        }
        rows.push((pivot, row));
    }
    let is_free = |at: &usize| rows.iter().all(|(pivot, _)| pivot != at);
    let basis = (0..length).filter(is_free).map(|free| {
        // One at the free place; each pivot balances its row. Scaled so that all are whole.
        let scale =
            rows.iter().try_fold(1i128, |scale, (pivot, row)| scale.checked_mul(row[*pivot].abs()))?;
        let mut vector = vec![0i128; length];
        vector[free] = scale;
        for (pivot, row) in &rows {
            vector[*pivot] = -(scale.checked_mul(row[free])?) / row[*pivot];
        }
        let divisor = vector.iter().fold(0i128, |a, &b| gcd(a, b));
        vector
            .iter()
            .map(|number| i64::try_from(number / divisor).ok().filter(|n| n.abs() < 1 << 20))
            .collect()
    });
    basis.collect()
}

/// A row without its number at a pivot, divided by what all its numbers have in common.
fn eliminated(row: &[i128], by: &[i128], pivot: usize) -> Option<Vec<i128>> {
    let (own, other) = (row[pivot], by[pivot]);
    let both = row.iter().zip(by).map(|(a, b)| a.checked_mul(other)?.checked_sub(b.checked_mul(own)?));
    let row: Vec<i128> = both.collect::<Option<_>>()?;
    let divisor = row.iter().fold(0, |a, &b| gcd(a, b)).max(1);
    Some(row.iter().map(|number| number / divisor).collect())
}

fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_orthogonal_to_directions() {
        assert_eq!(orthogonal(&[], 2), Some(vec![vec![1, 0], vec![0, 1]]));
        // (1, 3) and (2, 6) are one direction: 3x - y is the same for all.
        assert_eq!(orthogonal(&[vec![1, 3], vec![2, 6]], 2), Some(vec![vec![-3, 1]]));
        assert_eq!(orthogonal(&[vec![1, 0, 2], vec![0, 1, 1]], 3), Some(vec![vec![-2, -1, 1]]));
        assert_eq!(orthogonal(&[vec![1, 2], vec![2, 1]], 2), Some(Vec::new()));
    }

    #[test]
    fn equalities_and_congruences_are_read_off_members() {
        let store = Ndds::new(&|_| true);
        let linear = |terms: &[Term], compare| store.linear(terms, compare).unwrap();
        // y = 7x and x >= 3, x even.
        let line = linear(&[(7, 0), (-1, 1)], Compare::Equal(0));
        let above = linear(&[(-1, 0)], Compare::AtMost(-3));
        let even = linear(&[(1, 0)], Compare::Congruent(0, 2));
        let set = store.all([&line, &above, &even]).unwrap();
        assert_eq!(equalities(&store, &set, &[0, 1]).unwrap(), [(vec![(-7, 0), (1, 1)], 0)]);
        let of = |form: &[Term]| values(&store, &set, form, 9).unwrap();
        assert_eq!(of(&[(1, 0)]).extremes(), Some((Some(4), None)));
        assert_eq!(congruence(&store, &of(&[(1, 1)]), 9).unwrap(), Some((0, 14)));
        assert_eq!(congruence(&store, &of(&[(1, 0), (1, 1)]), 9).unwrap(), Some((0, 16)));
    }
}
