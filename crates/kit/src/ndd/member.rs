//! Room `kit/ndd`: members of sets, and the extremes of a column.

use super::common::Common;
use super::{Column, Link, Ndd};
use rustc_hash::FxHashMap as HashMap;

/// How many digits are looked at when the extremes of a column are sought: numbers beyond are as good as unbounded.
const DIGITS: usize = 62;

/// One vector of a set: what it needs in the columns that the set mentions. A column that is left out may hold anything.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Member {
    values: HashMap<Column, i128>,
}

impl Member {
    /// The number in a column.
    pub fn number(&self, column: Column) -> Option<i128> {
        self.values.get(&column).copied()
    }

    /// The columns with their numbers, in any order.
    pub fn numbers(&self) -> impl Iterator<Item = (Column, i128)> + '_ {
        self.values.iter().map(|(&column, &number)| (column, number))
    }

    /// The bit in a column.
    pub fn bit(&self, column: Column) -> Option<bool> {
        self.number(column).map(|number| number < 0)
    }
}

impl FromIterator<(Column, i128)> for Member {
    fn from_iter<I: IntoIterator<Item = (Column, i128)>>(numbers: I) -> Self {
        Member { values: numbers.into_iter().collect() }
    }
}

impl Ndd {
    /// Whether a vector is in the set, given the numbers in its columns. A bit is set if its number is negative.
    pub fn contains(&self, number: impl Fn(Column) -> i64) -> bool {
        let mut root = self.0.first;
        let mut accepts = false;
        for place in (0..i64::BITS).rev() {
            while root.state().is_none() {
                let vertex = self.0.vertices[root.0 as usize];
                root = vertex.next[(number(vertex.column) >> place & 1) as usize];
            }
            let state = self.0.states[root.state().expect("the digit is over") as usize];
            (root, accepts) = (state.root, state.accepts);
        }
        accepts
    }

    /// A member that can be written with the fewest digits; none if the set is empty.
    pub fn member(&self) -> Option<Member> {
        Common::new(&[self], &[]).member(|| Ok(())).expect("nobody interrupts")
    }

    /// The least and the greatest number in the only column of the set, as far as they are bounded; none if the set is empty.
    pub fn extremes(&self) -> Option<(Option<i64>, Option<i64>)> {
        let reach = self.reach();
        let end = |greatest: bool| self.extreme(&reach, greatest);
        let (least, greatest) = (end(false)?, end(true)?);
        let bound = 1i128 << (DIGITS - 3);
        let bounded = |number: i128| (-bound < number && number < bound).then_some(number as i64);
        Some((bounded(least), bounded(greatest)))
    }

    /// For each number of digits, the states from which so many digits lead to acceptance.
    fn reach(&self) -> Vec<Vec<bool>> {
        let states = &self.0.states;
        let mut all = vec![states.iter().map(|state| state.accepts).collect::<Vec<bool>>()];
        for digits in 0..DIGITS {
            let last = &all[digits];
            let leads = |link: Link| last[link.state().expect("one column") as usize];
            let step = |root: Link| match root.state() {
                Some(state) => last[state as usize],
                None => self.0.vertices[root.0 as usize].next.iter().any(|&link| leads(link)),
            };
            all.push(states.iter().map(|state| step(state.root)).collect());
        }
        all
    }

    /// The greatest, or the least, number of the only column that a word of so many digits spells.
    fn extreme(&self, reach: &[Vec<bool>], greatest: bool) -> Option<i128> {
        let follow = |root: Link, bit: usize| match root.state() {
            Some(state) => state,
            None => self.0.vertices[root.0 as usize].next[bit].state().expect("one column"),
        };
        let mut root = self.0.first;
        let mut number = 0i128;
        for digits in (0..DIGITS).rev() {
            // The first digit is the sign, for which 0 is the greater one.
            let sign = digits + 1 == DIGITS;
            let wanted = usize::from(greatest != sign);
            let leads = |&bit: &usize| reach[digits][follow(root, bit) as usize];
            let bit = [wanted, 1 - wanted].into_iter().find(leads)?;
            number = 2 * number + if sign { -(bit as i128) } else { bit as i128 };
            root = self.0.states[follow(root, bit) as usize].root;
        }
        Some(number)
    }
}
