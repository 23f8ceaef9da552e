//! Room `kit/ndd`: members of sets, and the extremes of a column.
//!
//! A member is the shortest word that an automaton accepts, or several do: a search through the product of their states, breadth first. Within a digit
//! the roots of their diagrams are followed together.

use super::{Column, Interrupted, Link, NOTHING, Ndd, Ndds, Vertex};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use smallvec::SmallVec;

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
        Common::new(&[self]).member(|| Ok(())).expect("nobody interrupts")
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

impl Ndds<'_> {
    /// A vector that is in all of some sets and can be written with the fewest digits; none if there is none. The intersection is not
    /// made: where one set has few members, few pairs of states are met.
    pub fn common(&self, sets: &[&Ndd]) -> Result<Option<Member>, Interrupted> {
        Common::new(sets).member(|| self.spend(1))
    }
}

/// One state, or one root of a diagram, of each of some automata.
type Tuple<T> = SmallVec<[T; 3]>;

/// The last piece of a word: a bit in a column, or the end of a digit; and the piece before.
struct Piece {
    bit: Option<(Column, usize)>,
    before: Option<u32>,
}

/// A search through the product of some automata, breadth first.
struct Common<'s> {
    sets: &'s [&'s Ndd],
    pieces: Vec<Piece>,
    /// The states that digits lead to, each with the word that does.
    met: Vec<(Tuple<u32>, u32)>,
    /// Roots that were met, in a digit or between two: what they lead to, the first word leads to that met them.
    seen: HashSet<Tuple<Link>>,
}

impl<'s> Common<'s> {
    fn new(sets: &'s [&'s Ndd]) -> Self {
        Common { sets, pieces: Vec::new(), met: Vec::new(), seen: HashSet::default() }
    }

    fn member(
        mut self,
        mut goes_on: impl FnMut() -> Result<(), Interrupted>,
    ) -> Result<Option<Member>, Interrupted> {
        self.follow(self.sets.iter().map(|set| set.0.first).collect(), None, &mut goes_on)?;
        let mut next = 0;
        while let Some((states, word)) = self.met.get(next) {
            let states = || self.sets.iter().zip(states).map(|(set, &state)| &set.0.states[state as usize]);
            if states().all(|state| state.accepts) {
                return Ok(Some(self.spelled(*word)));
            }
            let roots = states().map(|state| state.root).collect();
            self.follow(roots, Some(*word), &mut goes_on)?;
            next += 1;
        }
        Ok(None)
    }

    /// Meets the states to which diagrams lead by one more digit; zeros are preferred.
    fn follow(
        &mut self,
        roots: Tuple<Link>,
        word: Option<u32>,
        goes_on: &mut impl FnMut() -> Result<(), Interrupted>,
    ) -> Result<(), Interrupted> {
        let mut work = Vec::new();
        if self.is_new(&roots) {
            work.push((roots, word));
        }
        while let Some((links, before)) = work.pop() {
            goes_on()?;
            let vertex =
                |(set, link): (&&Ndd, &Link)| link.state().is_none().then(|| set.0.vertices[link.0 as usize]);
            let tests: Tuple<Option<Vertex>> = self.sets.iter().zip(&links).map(vertex).collect();
            let Some(column) = tests.iter().flatten().map(|test| test.column).min() else {
                let word = self.piece(None, before);
                self.met.push((links.iter().filter_map(|link| link.state()).collect(), word));
                continue;
            };
            for bit in [1, 0] {
                let follow = |(test, link): (&Option<Vertex>, &Link)| match test {
                    Some(test) if test.column == column => test.next[bit],
                    _ => *link,
                };
                let next: Tuple<Link> = tests.iter().zip(&links).map(follow).collect();
                if self.is_new(&next) {
                    work.push((next, Some(self.piece(Some((column, bit)), before))));
                }
            }
        }
        Ok(())
    }

    /// Whether roots lead somewhere and were not met before.
    fn is_new(&mut self, links: &Tuple<Link>) -> bool {
        links.iter().all(|link| link.state() != Some(NOTHING)) && self.seen.insert(links.clone())
    }

    /// A word that is longer by a piece.
    fn piece(&mut self, bit: Option<(Column, usize)>, before: Option<u32>) -> u32 {
        self.pieces.push(Piece { bit, before });
        self.pieces.len() as u32 - 1
    }

    /// The numbers that a word spells.
    fn spelled(&self, word: u32) -> Member {
        let before = |piece: &&Piece| piece.before.map(|before| &self.pieces[before as usize]);
        let pieces: Vec<&Piece> = std::iter::successors(Some(&self.pieces[word as usize]), before).collect();
        let digits = pieces.iter().filter(|piece| piece.bit.is_none()).count();
        let mut values: HashMap<Column, i128> = HashMap::default();
        // Pieces are met from the last to the first, and each digit from its end. The first digit is the sign.
        let mut ends = 0;
        for piece in pieces {
            let Some((column, bit)) = piece.bit else {
                ends += 1;
                continue;
            };
            let place: usize = ends - 1;
            // A number that does not fit is no use to anybody; it only has to be seen to be too large.
            let weight = 1i128 << place.min(120);
            let weight = if ends == digits { -weight } else { weight };
            let value: &mut i128 = values.entry(column).or_default();
            *value = value.saturating_add(weight * bit as i128);
        }
        Member { values }
    }
}
