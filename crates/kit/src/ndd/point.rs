//! Room `kit/ndd`: sets in which some columns hold given values.
//!
//! # Idea
//!
//! Numbers that are written with as few digits as the longest of them needs have first their signs, any number of times, and then the other digits,
//! of which the first differs from the signs. So the automaton is a chain, and is written down as it is: a conjunction of one
//! constraint for each column would be made minimal as many times.

use super::draft::Draft;
use super::{ALL, Column, Interrupted, Link, NOTHING, Ndd, Ndds};

impl Ndds<'_> {
    /// The vectors that have these bits and these numbers; nothing, if a column is to hold two values.
    pub fn point(&self, bits: &[(Column, bool)], numbers: &[(Column, i64)]) -> Result<Ndd, Interrupted> {
        let mut numbers = numbers.to_vec();
        numbers.sort_unstable();
        numbers.dedup();
        let signs = numbers.iter().map(|&(column, number)| (column, number < 0));
        let mut first: Vec<(Column, bool)> = bits.iter().copied().chain(signs).collect();
        first.sort_unstable();
        first.dedup();
        if first.windows(2).any(|two| two[0].0 == two[1].0)
            || numbers.windows(2).any(|two| two[0].0 == two[1].0)
        {
            return Ok(self.constant(false));
        }
        let mut draft = Draft::new();
        // How many digits follow the signs.
        let length = |&(_, number): &(Column, i64)| i64::BITS - (number ^ number >> 63).leading_zeros();
        let more = numbers.iter().map(length).max().unwrap_or(0);
        let mut end = Link::to_state(ALL);
        if !numbers.is_empty() {
            let digit = |place: u32| -> Vec<(Column, bool)> {
                numbers.iter().map(|&(column, number)| (column, number >> place & 1 == 1)).collect()
            };
            self.spend((u64::from(more) + 1) * numbers.len() as u64)?;
            let mut next = None;
            for place in 0..more {
                let state = draft.state(place == 0);
                draft.states[state as usize].root =
                    next.map_or(Link::to_state(NOTHING), |next| reading(&mut draft, &digit(place - 1), next));
                next = Some(Link::to_state(state));
            }
            let sign = draft.state(more == 0);
            end = Link::to_state(sign);
            draft.states[sign as usize].root = match next {
                None => reading(&mut draft, &digit(63), end),
                Some(next) => either(&mut draft, (&digit(63), end), (&digit(more - 1), next)),
            };
        }
        draft.first = reading(&mut draft, &first, end);
        self.finish(draft)
    }
}

/// The diagram that reads a digit and goes on; another digit leads nowhere.
fn reading(draft: &mut Draft, digit: &[(Column, bool)], end: Link) -> Link {
    let nowhere = Link::to_state(NOTHING);
    digit.iter().rev().fold(end, |next, &(column, bit)| {
        draft.vertices.test(column, if bit { [nowhere, next] } else { [next, nowhere] })
    })
}

/// The diagram that reads one of two digits of the same columns, which differ, and goes on.
fn either(draft: &mut Draft, one: (&[(Column, bool)], Link), other: (&[(Column, bool)], Link)) -> Link {
    let equal = one.0.iter().zip(other.0).take_while(|(one, other)| one == other).count();
    let (column, bit) = one.0[equal];
    let [same, differing] = [one, other].map(|(digit, end)| reading(draft, &digit[equal + 1..], end));
    let fork = draft.vertices.test(column, if bit { [differing, same] } else { [same, differing] });
    reading(draft, &one.0[..equal], fork)
}
