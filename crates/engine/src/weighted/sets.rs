//! Room `engine/weighted`: sets of valuations, as diagrams of two kinds.
//!
//! # Idea
//!
//! What a program does is told by sets over columns, whatever represents them. Unbounded integers need number decision diagrams. Where every value
//! is made of bits, binary decision diagrams say the same with less: a column is a level, complements are free, and one relation after
//! another is a single pass. Everything else in this room is written once, for both.
//!
//! # Paper
//!
//! \[schwoon\] for binary diagrams, which \[ndd-moped\] replaces by the others.

use crate::budget::Budget;
use crate::encode::written::Writer;
use postbop_ir::proof::{self, Maker};
use postbop_kit::bdd::{self, Assignment, Bdd, Ref};
use postbop_kit::ndd::{Column, Compare, Interrupted, Member, Ndd, Ndds, Term};
use rustc_hash::FxHashSet as HashSet;
use std::cell::RefCell;
use std::fmt::Debug;

/// Columns that get other columns in their place, in order. Together with those that stay they keep their order.
pub type Moves = [(Column, Column)];

/// Where sets are made. A column holds a number or a bit; a bit that is set counts as a number below zero.
pub trait Sets {
    /// A set.
    type Set: Clone + PartialEq + Debug;
    /// Everything, or nothing.
    fn constant(&self, value: bool) -> Self::Set;
    /// Where a bit is set.
    fn bit(&self, column: Column) -> Result<Self::Set, Interrupted>;
    /// Where a linear constraint on numbers holds.
    fn linear(&self, terms: &[Term], compare: Compare) -> Result<Self::Set, Interrupted>;
    /// Both.
    fn and(&self, one: &Self::Set, other: &Self::Set) -> Result<Self::Set, Interrupted>;
    /// At least one.
    fn or(&self, one: &Self::Set, other: &Self::Set) -> Result<Self::Set, Interrupted>;
    /// Exactly one.
    fn xor(&self, one: &Self::Set, other: &Self::Set) -> Result<Self::Set, Interrupted>;
    /// The first and not the second.
    fn minus(&self, one: &Self::Set, other: &Self::Set) -> Result<Self::Set, Interrupted>;
    /// The complement.
    fn not(&self, set: &Self::Set) -> Result<Self::Set, Interrupted>;
    /// Whether nothing is in a set.
    fn is_empty(&self, set: &Self::Set) -> bool;
    /// Whether all of the first is in the second.
    fn is_subset(&self, one: &Self::Set, other: &Self::Set) -> Result<bool, Interrupted>;
    /// The columns on which membership depends, in order.
    fn support(&self, set: &Self::Set) -> Vec<Column>;
    /// The set, whatever is in some columns.
    fn project(&self, set: &Self::Set, forgets: impl Fn(Column) -> bool) -> Result<Self::Set, Interrupted>;
    /// The set with other columns in place of its own.
    fn relabel(&self, set: &Self::Set, moves: &Moves) -> Result<Self::Set, Interrupted>;
    /// What two sets have in common, whatever is in some columns, given in order; then with other columns.
    fn product(
        &self,
        one: &Self::Set,
        other: &Self::Set,
        gone: &[Column],
        moves: &Moves,
    ) -> Result<Self::Set, Interrupted>;
    /// A member of several sets that has given bits in some columns and given numbers in others.
    fn common(&self, sets: &[&Self::Set], fixed: &Fixed) -> Result<Option<Member>, Interrupted>;
    /// A member.
    fn member(&self, set: &Self::Set) -> Option<Member>;
    /// A measure of the size of a set.
    fn size(&self, set: &Self::Set) -> usize;
    /// Whether there are so many sets that are not needed any more that it pays to drop them.
    fn is_full(&self) -> bool;
    /// Drops every set but these.
    fn keep<'k>(&self, sets: impl Iterator<Item = &'k Self::Set>)
    where
        Self::Set: 'k;
}

/// What columns hold: bits, and numbers.
#[derive(Clone, Default, Debug)]
pub struct Fixed {
    /// Bits.
    pub bits: Vec<(Column, bool)>,
    /// Unbounded numbers.
    pub numbers: Vec<(Column, i64)>,
}

/// Where a column goes.
fn moved(moves: &Moves, column: Column) -> Column {
    moves.binary_search_by_key(&column, |&(from, _)| from).map_or(column, |at| moves[at].1)
}

impl Sets for Ndds<'_> {
    type Set = Ndd;

    fn constant(&self, value: bool) -> Ndd {
        Ndds::constant(self, value)
    }
    fn bit(&self, column: Column) -> Result<Ndd, Interrupted> {
        Ok(Ndds::bit(self, column))
    }
    fn linear(&self, terms: &[Term], compare: Compare) -> Result<Ndd, Interrupted> {
        Ndds::linear(self, terms, compare)
    }
    fn and(&self, one: &Ndd, other: &Ndd) -> Result<Ndd, Interrupted> {
        Ndds::and(self, one, other)
    }
    fn or(&self, one: &Ndd, other: &Ndd) -> Result<Ndd, Interrupted> {
        Ndds::or(self, one, other)
    }
    fn xor(&self, one: &Ndd, other: &Ndd) -> Result<Ndd, Interrupted> {
        Ndds::xor(self, one, other)
    }
    fn minus(&self, one: &Ndd, other: &Ndd) -> Result<Ndd, Interrupted> {
        Ndds::minus(self, one, other)
    }
    fn not(&self, set: &Ndd) -> Result<Ndd, Interrupted> {
        Ndds::not(self, set)
    }
    fn is_empty(&self, set: &Ndd) -> bool {
        set.is_empty()
    }
    fn is_subset(&self, one: &Ndd, other: &Ndd) -> Result<bool, Interrupted> {
        Ndds::is_subset(self, one, other)
    }
    fn support(&self, set: &Ndd) -> Vec<Column> {
        set.support()
    }
    fn project(&self, set: &Ndd, forgets: impl Fn(Column) -> bool) -> Result<Ndd, Interrupted> {
        Ndds::project(self, set, forgets)
    }
    fn relabel(&self, set: &Ndd, moves: &Moves) -> Result<Ndd, Interrupted> {
        Ok(Ndds::relabel(self, set, |column| moved(moves, column)))
    }
    fn product(&self, one: &Ndd, other: &Ndd, gone: &[Column], moves: &Moves) -> Result<Ndd, Interrupted> {
        let both = Ndds::and(self, one, other)?;
        let left = Ndds::project(self, &both, |column| gone.binary_search(&column).is_ok())?;
        Ok(Ndds::relabel(self, &left, |column| moved(moves, column)))
    }
    fn common(&self, sets: &[&Ndd], fixed: &Fixed) -> Result<Option<Member>, Interrupted> {
        let bits = fixed.bits.iter().map(|&(column, bit)| (column, -i64::from(bit)));
        let fixed: Vec<(Column, i64)> = bits.chain(fixed.numbers.iter().copied()).collect();
        Ndds::common(self, sets, &fixed)
    }
    fn member(&self, set: &Ndd) -> Option<Member> {
        set.member()
    }
    fn size(&self, set: &Ndd) -> usize {
        set.size()
    }
    fn is_full(&self) -> bool {
        // They are counted, and dropped when nothing refers to them.
        false
    }
    fn keep<'k>(&self, _: impl Iterator<Item = &'k Ndd>)
    where
        Ndd: 'k,
    {
    }
}

/// Where sets are made of binary decision diagrams.
pub struct Bdds<'w> {
    bdd: RefCell<Bdd<'w>>,
    assignment: RefCell<Assignment>,
}

/// The sizes of larger sets are not counted.
const LARGE: usize = 1 << 20;

impl<'w> Bdds<'w> {
    /// No sets yet. The callback is asked now and then whether work may go on, and with so many bytes more.
    pub fn new(goes_on: impl FnMut(usize) -> bool + 'w) -> Self {
        Bdds { bdd: RefCell::new(Bdd::new(goes_on)), assignment: RefCell::default() }
    }

    /// The column that a set depends on first, and the sets with a bit 0 there and a bit 1; or whether it is everything or nothing.
    pub fn test(&self, set: Ref) -> Result<(Column, [Ref; 2]), bool> {
        if set.is_constant() {
            return Err(set == Ref::TRUE);
        }
        let bdd = self.bdd.borrow();
        let (high, low) = bdd.cofactors(set);
        Ok((bdd.level(set), [low, high]))
    }

    /// A set of a proof.
    pub fn written(
        &self,
        set: Ref,
        writer: &mut Writer,
        maker: &mut Maker,
        budget: &Budget,
    ) -> Option<proof::Ref> {
        writer.set(&self.bdd.borrow(), set, maker, budget).ok()
    }

    fn make(
        &self,
        operation: impl FnOnce(&mut Bdd<'w>) -> Result<Ref, bdd::Interrupted>,
    ) -> Result<Ref, Interrupted> {
        operation(&mut self.bdd.borrow_mut()).map_err(|bdd::Interrupted| Interrupted)
    }
}

/// The member that literals tell of.
fn told(literals: Vec<(u32, bool)>) -> Member {
    literals.into_iter().map(|(column, bit)| (column, -i128::from(bit))).collect()
}

impl Sets for Bdds<'_> {
    type Set = Ref;

    fn constant(&self, value: bool) -> Ref {
        if value { Ref::TRUE } else { Ref::FALSE }
    }
    fn bit(&self, column: Column) -> Result<Ref, Interrupted> {
        self.make(|bdd| bdd.var(column))
    }
    fn linear(&self, _: &[Term], _: Compare) -> Result<Ref, Interrupted> {
        unreachable!("programs with unbounded integers have number decision diagrams")
    }
    fn and(&self, one: &Ref, other: &Ref) -> Result<Ref, Interrupted> {
        self.make(|bdd| bdd.and(*one, *other))
    }
    fn or(&self, one: &Ref, other: &Ref) -> Result<Ref, Interrupted> {
        self.make(|bdd| bdd.or(*one, *other))
    }
    fn xor(&self, one: &Ref, other: &Ref) -> Result<Ref, Interrupted> {
        self.make(|bdd| bdd.xor(*one, *other))
    }
    fn minus(&self, one: &Ref, other: &Ref) -> Result<Ref, Interrupted> {
        self.make(|bdd| bdd.and(*one, !*other))
    }
    fn not(&self, set: &Ref) -> Result<Ref, Interrupted> {
        Ok(!*set)
    }
    fn is_empty(&self, set: &Ref) -> bool {
        *set == Ref::FALSE
    }
    fn is_subset(&self, one: &Ref, other: &Ref) -> Result<bool, Interrupted> {
        Ok(self.minus(one, other)? == Ref::FALSE)
    }
    fn support(&self, set: &Ref) -> Vec<Column> {
        let bdd = self.bdd.borrow();
        let (mut seen, mut columns) = (HashSet::default(), Vec::new());
        let mut work = vec![*set];
        while let Some(at) = work.pop() {
            if !at.is_constant() && seen.insert(at.number() / 2) {
                columns.push(bdd.level(at));
                let (high, low) = bdd.cofactors(at);
                work.extend([high, low]);
            }
        }
        columns.sort_unstable();
        columns.dedup();
        columns
    }
    fn project(&self, set: &Ref, forgets: impl Fn(Column) -> bool) -> Result<Ref, Interrupted> {
        let gone = self.support(set).into_iter().filter(|&column| forgets(column));
        self.make(|bdd| {
            let plan = bdd.plan(gone, []);
            bdd.project(*set, plan)
        })
    }
    fn relabel(&self, set: &Ref, moves: &Moves) -> Result<Ref, Interrupted> {
        self.make(|bdd| {
            let plan = bdd.plan([], moves.iter().copied());
            bdd.project(*set, plan)
        })
    }
    fn product(&self, one: &Ref, other: &Ref, gone: &[Column], moves: &Moves) -> Result<Ref, Interrupted> {
        self.make(|bdd| {
            let plan = bdd.plan(gone.iter().copied(), moves.iter().copied());
            bdd.image(*one, *other, plan)
        })
    }
    fn common(&self, sets: &[&Ref], fixed: &Fixed) -> Result<Option<Member>, Interrupted> {
        let mut assignment = self.assignment.borrow_mut();
        assignment.clear();
        if !fixed.bits.iter().all(|&(column, value)| assignment.decide(column, value)) {
            return Ok(None);
        }
        let sets: Vec<Ref> = sets.iter().map(|&&set| set).collect();
        let picked = self.bdd.borrow_mut().pick_all(&sets, &assignment);
        Ok(picked.map_err(|bdd::Interrupted| Interrupted)?.map(told))
    }
    fn member(&self, set: &Ref) -> Option<Member> {
        self.bdd.borrow().pick(*set).map(told)
    }
    fn size(&self, set: &Ref) -> usize {
        self.bdd.borrow().size(*set, LARGE)
    }
    fn is_full(&self) -> bool {
        self.bdd.borrow().wants_collection()
    }
    fn keep<'k>(&self, sets: impl Iterator<Item = &'k Ref>) {
        let mut bdd = self.bdd.borrow_mut();
        bdd.collect(sets.copied());
        // A plan is made for each operation, and looked for among those of before.
        bdd.forget_plans();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: Column = 6;

    /// A set that a number describes: conjunctions and disjunctions of bits and complements.
    fn made<S: Sets>(store: &S, mut recipe: u64) -> S::Set {
        let mut set = store.bit((recipe % u64::from(COLUMNS)) as Column).unwrap();
        for _ in 0..6 {
            recipe /= 7;
            let bit = store.bit((recipe % u64::from(COLUMNS)) as Column).unwrap();
            set = match recipe % 5 {
                0 => store.and(&set, &bit),
                1 => store.or(&set, &bit),
                2 => store.xor(&set, &bit),
                3 => store.minus(&set, &bit),
                _ => store.not(&store.and(&set, &bit).unwrap()),
            }
            .unwrap();
        }
        set
    }

    /// For each valuation of the columns whether it is a member.
    fn members<S: Sets>(store: &S, set: &S::Set) -> Vec<bool> {
        let bits = |number: u32| (0..COLUMNS).map(|at| (at, number >> at & 1 == 1)).collect();
        let fixed = |number| Fixed { bits: bits(number), numbers: Vec::new() };
        (0..1 << COLUMNS).map(|number| store.common(&[set], &fixed(number)).unwrap().is_some()).collect()
    }

    /// Everything that is asked of sets, for two sets that numbers describe.
    fn answers<S: Sets>(store: &S, one: u64, other: u64) -> (Vec<Vec<bool>>, Vec<Vec<Column>>, Vec<bool>) {
        let (a, b) = (made(store, one), made(store, other));
        let some = Fixed { bits: vec![(1, true), (4, false)], numbers: Vec::new() };
        let sets = [
            store.project(&a, |column| column % 3 == 1).unwrap(),
            // The odd columns make room, so that the even ones can move there.
            store.relabel(&store.project(&a, |column| column % 2 == 1).unwrap(), &[(0, 1), (4, 5)]).unwrap(),
            store.product(&a, &b, &[1, 5], &[(0, 1), (4, 5)]).unwrap(),
            a.clone(),
        ];
        let truths = vec![
            store.is_empty(&store.and(&a, &b).unwrap()),
            store.is_subset(&a, &b).unwrap(),
            store.common(&[&a, &b], &some).unwrap().is_some(),
            store.member(&a).is_some(),
        ];
        let supports = sets.iter().map(|set| store.support(set)).collect();
        (sets.iter().map(|set| members(store, set)).collect(), supports, truths)
    }

    #[test]
    fn both_kinds_of_diagrams_say_the_same() {
        let numbers = Ndds::new(&|_| true);
        let binary = Bdds::new(|_| true);
        let mut different = HashSet::default();
        for seed in 0..300u64 {
            let [one, other] =
                [seed, seed + 1000].map(|seed| (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20);
            let found = answers(&binary, one, other);
            assert_eq!(found, answers(&numbers, one, other), "{one} and {other}");
            different.insert(found.0);
        }
        assert!(different.len() > 200, "sets are of many kinds: {}", different.len());
    }

    #[test]
    fn what_is_kept_stays_as_it_is() {
        let store = Bdds::new(|_| true);
        let kept = made(&store, 0xdead_beef);
        let before = members(&store, &kept);
        for recipe in 0..2000 {
            made(&store, recipe * 7919);
        }
        store.keep([&kept].into_iter());
        for recipe in 0..500 {
            made(&store, recipe * 104_729);
        }
        assert_eq!(members(&store, &kept), before);
    }
}
