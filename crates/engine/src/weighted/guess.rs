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
//! are read off the exact diagram ([`super::hull`]).
//!
//! Extrapolation happens where cycles of dependencies pass: at heads of loops, where procedures start, and where they end.
//!
//! # Paper
//!
//! \[cousot-widening\] for widening with thresholds.
//!
//! # Cost
//!
//! A bound is dropped at most once for each threshold, an equality at most once, a modulus is divided at most as often as it has divisors: so
//! saturation ends.

use super::hull::{congruence, equalities, forms, values};
use super::registers::{Time, column, shown};
use super::weight::{Relations, Stop, Weight};
use postbop_ir::{Op, Program, Type};
use postbop_kit::ndd::{Column, Compare, Interrupted, Ndd, Ndds, Term};
use postbop_kit::pushdown::{Domain, Grown, Origin, Symbol, Transition};
use std::rc::Rc;

/// More numbers than these have no constraints on sums and differences.
const MOST_PAIRED: usize = 6;

/// More valuations of bits than these are not told apart.
const MOST_CUBES: usize = 8;

/// Part of a weight that came by one way.
#[derive(Clone, Debug)]
pub struct Piece<T> {
    way: u32,
    set: T,
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

/// Relations between valuations with sums that are extrapolated, as a domain of weights.
pub struct Guessing<'r, 'a> {
    pub relations: Relations<'r, Ndds<'a>>,
    pub guess: Guess<'r>,
}

impl Domain for Guessing<'_, '_> {
    type Weight = Weight<Ndd>;
    type Stop = Stop;

    fn one(&mut self) -> Weight<Ndd> {
        self.relations.one()
    }
    fn extend(&mut self, first: &Weight<Ndd>, then: &Weight<Ndd>) -> Result<Option<Weight<Ndd>>, Stop> {
        self.relations.extend(first, then)
    }
    fn add(&mut self, one: &Weight<Ndd>, other: &Weight<Ndd>) -> Result<Weight<Ndd>, Stop> {
        self.relations.add(one, other)
    }
    fn combine(
        &mut self,
        known: Option<&Weight<Ndd>>,
        new: Weight<Ndd>,
        origin: Origin,
    ) -> Result<Option<Grown<Weight<Ndd>>>, Stop> {
        match self.guess.extrapolates(origin.transition) {
            true => Ok(self.guess.combine(&self.relations, known, new, origin.way)?),
            false => self.relations.combine(known, new, origin),
        }
    }
    fn enter(&mut self, caller: &Weight<Ndd>, symbol: Symbol) -> Result<Weight<Ndd>, Stop> {
        self.relations.enter(caller, symbol)
    }
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
    fn extrapolates(&self, transition: Transition) -> bool {
        transition.symbol.is_none_or(|symbol| self.symbols.get(symbol as usize).is_some_and(|&yes| yes))
    }

    /// The sum of what is known and of a new weight, extrapolated if it came by this way a few times.
    fn combine(
        &self,
        relations: &Relations<Ndds>,
        known: Option<&Weight<Ndd>>,
        new: Weight<Ndd>,
        way: u32,
    ) -> Result<Option<Grown<Weight<Ndd>>>, Interrupted> {
        let store = relations.store;
        let Some(known) = known else {
            let pieces = [Piece { way, set: new.set.clone(), grown: 0 }].into();
            let sum = Weight { pieces, ..new.clone() };
            return Ok((!new.set.is_empty()).then_some(Grown { sum, difference: new }));
        };
        let writes = Relations::<Ndds>::union(&known.writes, &new.writes);
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
    fn widened(&self, relations: &Relations<Ndds>, old: &Ndd, both: &Ndd) -> Result<Ndd, Interrupted> {
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
        for forms in forms(numbers, MOST_PAIRED) {
            let [old, both] = [old, both].map(|set| forms.shadow(store, set));
            let (old, both) = (old?, both?);
            for form in &forms.sums {
                let minus: Vec<Term> = form.iter().map(|&(factor, column)| (-factor, column)).collect();
                let [before, now] = [&old, &both].map(|set| values(store, set, form, value));
                let (before, now) = (before?, now?);
                let (Some((old_least, old_most)), Some((least, most))) = (before.extremes(), now.extremes())
                else {
                    continue;
                };
                if let Some(most) = most.and_then(|most| self.bound(old_most, most)) {
                    hull = store.and(&hull, &store.linear(form, Compare::AtMost(most))?)?;
                }
                let old_least = old_least.map(|least| -least);
                if let Some(most) = least.and_then(|least| self.bound(old_least, -least)) {
                    hull = store.and(&hull, &store.linear(&minus, Compare::AtMost(most))?)?;
                }
                if let Some((rest, modulus)) = congruence(store, &now, value)? {
                    hull = store.and(&hull, &store.linear(form, Compare::Congruent(rest, modulus))?)?;
                }
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
