//! Room `kit/ndd`: members of sets, and the extremes of a column.

use super::{Column, Link, NOTHING, Ndd};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::collections::VecDeque;

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

/// The bits of one digit that matter.
type Digit = Vec<(Column, usize)>;

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
        let automaton = &*self.0;
        // For each state that was met: the state before, if any, and the digit in between.
        let mut met: HashMap<u32, (Option<u32>, Digit)> = HashMap::default();
        let mut queue = VecDeque::new();
        for (state, digit) in self.digits(automaton.first) {
            met.insert(state, (None, digit));
            queue.push_back(state);
        }
        while let Some(state) = queue.pop_front() {
            if automaton.states[state as usize].accepts {
                return Some(spelled(&met, state));
            }
            for (next, digit) in self.digits(automaton.states[state as usize].root) {
                if let std::collections::hash_map::Entry::Vacant(free) = met.entry(next) {
                    free.insert((Some(state), digit));
                    queue.push_back(next);
                }
            }
        }
        None
    }

    /// The states that a diagram leads to, each with one digit that does; zeros are preferred.
    fn digits(&self, root: Link) -> Vec<(u32, Digit)> {
        let mut found: Vec<(u32, Digit)> = Vec::new();
        let mut seen = HashSet::from_iter([root]);
        let mut work = vec![(root, Digit::new())];
        while let Some((link, digit)) = work.pop() {
            match link.state() {
                Some(NOTHING) => {}
                Some(state) => found.push((state, digit)),
                None => {
                    let vertex = self.0.vertices[link.0 as usize];
                    for bit in [1, 0] {
                        let next = vertex.next[bit];
                        if seen.insert(next) {
                            work.push((next, [&digit[..], &[(vertex.column, bit)]].concat()));
                        }
                    }
                }
            }
        }
        found
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

/// The vector that the digits up to a state spell.
fn spelled(met: &HashMap<u32, (Option<u32>, Digit)>, end: u32) -> Member {
    let mut digits = Vec::new();
    let mut at = Some(end);
    while let Some(state) = at {
        let (before, digit) = &met[&state];
        digits.push(digit);
        at = *before;
    }
    let mut values: HashMap<Column, i128> = HashMap::default();
    for (place, digit) in digits.iter().enumerate() {
        // Digits are met from the last to the first, which is the sign.
        // A number that does not fit is no use to anybody; it only has to be seen to be too large.
        let weight = 1i128 << place.min(120);
        let weight = if place + 1 == digits.len() { -weight } else { weight };
        for &(column, bit) in *digit {
            let value: &mut i128 = values.entry(column).or_default();
            *value = value.saturating_add(weight * bit as i128);
        }
    }
    Member { values }
}
