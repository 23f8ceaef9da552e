//! Room `kit/ndd`: the solutions of linear constraints.
//!
//! # Idea
//!
//! A reader of digits that has read the vector p knows the sum s = a·p; after one more digit d it is 2s + a·d, and the
//! constraint is about the sum at the end. For `a·x <= c` only the order of s and finitely many *thresholds* matters: from c on
//! backwards, the sum before a digit d may be at most ⌊(c − a·d) / 2⌋. So all sums between two thresholds are one state, named by
//! the threshold above them. For `a·x = c` the sum before must be exactly half of c − a·d, so only the
//! thresholds themselves are states. For a congruence the sum matters modulo m.
//!
//! # Paper
//!
//! \[wolper-boigelot\]. # Departures: the automaton is built forwards from the thresholds, and is deterministic at once.
//!
//! # Cost
//!
//! The thresholds: a few for each bit of c, and about the sum of the coefficients; times the columns.

use super::draft::Draft;
use super::{Column, Interrupted, Link, NOTHING, Ndd, Ndds};
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeSet;

/// A coefficient and the column it is multiplied with.
pub type Term = (i64, Column);

/// What a sum is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compare {
    /// At most this number.
    AtMost(i64),
    /// Exactly this number.
    Equal(i64),
    /// This number, or one that differs from it by a multiple of the second, which is positive.
    Congruent(i64, i64),
}

impl Ndds<'_> {
    /// The vectors for which a sum of terms compares as said.
    pub fn linear(&self, terms: &[Term], compare: Compare) -> Result<Ndd, Interrupted> {
        let terms = gathered(terms);
        let divisor = terms.iter().fold(0, |gcd, &(factor, _)| greatest_divisor(gcd, factor));
        if divisor == 0 {
            return Ok(self.constant(match compare {
                Compare::AtMost(most) => 0 <= most,
                Compare::Equal(value) => value == 0,
                Compare::Congruent(value, modulus) => value.rem_euclid(modulus) == 0,
            }));
        }
        match compare {
            Compare::AtMost(most) => {
                let (terms, most) = (divided(&terms, divisor), i128::from(most).div_euclid(divisor));
                let thresholds = self.thresholds(&terms, most, |sum| Some(sum.div_euclid(2)))?;
                let above = |sum| thresholds.range(sum..).next().copied();
                self.sums(&terms, &above, &|sum| sum <= most)
            }
            Compare::Equal(value) if i128::from(value) % divisor != 0 => Ok(self.constant(false)),
            Compare::Equal(value) => {
                let (terms, value) = (divided(&terms, divisor), i128::from(value) / divisor);
                let half = |sum: i128| (sum % 2 == 0).then_some(sum / 2);
                let thresholds = self.thresholds(&terms, value, half)?;
                let same = |sum| thresholds.contains(&sum).then_some(sum);
                self.sums(&terms, &same, &|sum| sum == value)
            }
            Compare::Congruent(value, modulus) => {
                let [value, modulus] = [value, modulus].map(i128::from);
                let rest = |sum: i128| Some(sum.rem_euclid(modulus));
                self.sums(&terms, &rest, &|sum| sum == value.rem_euclid(modulus))
            }
        }
    }

    /// All sums before a digit, or several, that make a difference for the sum at the end.
    fn thresholds(
        &self,
        terms: &[(i128, Column)],
        end: i128,
        before: impl Fn(i128) -> Option<i128>,
    ) -> Result<BTreeSet<i128>, Interrupted> {
        let mut digits = BTreeSet::from([0]);
        for &(factor, _) in terms {
            let with: Vec<i128> = digits.iter().map(|sum| sum + factor).collect();
            self.spend(with.len() as u64)?;
            digits.extend(with);
        }
        let mut found = BTreeSet::from([end]);
        let mut work = vec![end];
        while let Some(sum) = work.pop() {
            self.spend(digits.len() as u64)?;
            let earlier = digits.iter().filter_map(|digit| before(sum - digit));
            work.extend(earlier.filter(|&sum| found.insert(sum)));
        }
        Ok(found)
    }

    /// The automaton whose states are sums, as far as they make a difference.
    fn sums(
        &self,
        terms: &[(i128, Column)],
        state: &dyn Fn(i128) -> Option<i128>,
        accepts: &dyn Fn(i128) -> bool,
    ) -> Result<Ndd, Interrupted> {
        let mut sums = Sums {
            terms,
            state,
            accepts,
            store: self,
            draft: Draft::new(),
            states: HashMap::default(),
            order: Vec::new(),
            done: HashMap::default(),
        };
        sums.draft.first = sums.digit(0, 0, -1)?;
        let mut next = 0;
        while let Some(&(state, sum)) = sums.order.get(next) {
            sums.draft.states[state as usize].root = sums.digit(0, 2 * sum, 1)?;
            next += 1;
        }
        self.finish(sums.draft)
    }
}

struct Sums<'s, 'a> {
    terms: &'s [(i128, Column)],
    state: &'s dyn Fn(i128) -> Option<i128>,
    accepts: &'s dyn Fn(i128) -> bool,
    store: &'s Ndds<'a>,
    draft: Draft,
    states: HashMap<i128, u32>,
    order: Vec<(u32, i128)>,
    done: HashMap<(usize, i128, i128), Link>,
}

impl Sums<'_, '_> {
    /// The diagram that adds the rest of a digit to a sum. Bits of the first digit are signs, and count negative.
    // Bounded depth: one call for each term.
    fn digit(&mut self, at: usize, sum: i128, sign: i128) -> Result<Link, Interrupted> {
        let Some(&(factor, column)) = self.terms.get(at) else {
            return Ok(self.between(sum));
        };
        if let Some(&known) = self.done.get(&(at, sum, sign)) {
            return Ok(known);
        }
        self.store.spend(1)?;
        let next = [self.digit(at + 1, sum, sign)?, self.digit(at + 1, sum + sign * factor, sign)?];
        let link = self.draft.vertices.test(column, next);
        self.done.insert((at, sum, sign), link);
        Ok(link)
    }

    fn between(&mut self, sum: i128) -> Link {
        let Some(sum) = (self.state)(sum) else {
            return Link::to_state(NOTHING);
        };
        if let Some(&known) = self.states.get(&sum) {
            return Link::to_state(known);
        }
        let new = self.draft.state((self.accepts)(sum));
        self.states.insert(sum, new);
        self.order.push((new, sum));
        Link::to_state(new)
    }
}

/// The terms in the order of their columns, each column once.
fn gathered(terms: &[Term]) -> Vec<(i128, Column)> {
    let mut sorted: Vec<(i128, Column)> =
        terms.iter().map(|&(factor, column)| (factor.into(), column)).collect();
    sorted.sort_unstable_by_key(|&(_, column)| column);
    sorted.dedup_by(|next, kept| {
        let same = next.1 == kept.1;
        kept.0 += if same { next.0 } else { 0 };
        same
    });
    sorted.retain(|&(factor, _)| factor != 0);
    sorted
}

fn divided(terms: &[(i128, Column)], divisor: i128) -> Vec<(i128, Column)> {
    terms.iter().map(|&(factor, column)| (factor / divisor, column)).collect()
}

fn greatest_divisor(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.abs()
}
