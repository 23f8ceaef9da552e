//! Room `kit/ndd`: what several sets have in common.
//!
//! # Idea
//!
//! A common member is the shortest word that some automata accept: a search through the product of their states, breadth first. Within a
//! digit the roots of their diagrams are followed together. The intersection is not made: where one set has few members, few tuples of states are met.
//!
//! Some columns may be *fixed*, each to a number. All their digits are known then, but not how many there are, since a number may have its
//! sign any number of times before its other digits. So a tuple of states has the number of digits that are *left*. At first there are as many as the longest number has
//! behind its sign; another digit is either one more sign, or the first of these. A vertex that tests a fixed column
//! has one successor, and takes no room in words.
//!
//! # Cost
//!
//! The tuples that are met, times their diagrams.

use super::{Column, Interrupted, Link, Member, NOTHING, Ndd, Ndds, Vertex};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use smallvec::SmallVec;

impl Ndds<'_> {
    /// A vector that is in all of some sets, has given numbers in some columns, and can be written with the fewest digits; none if there is none. A bit
    /// is fixed as the number −1 or 0.
    pub fn common(&self, sets: &[&Ndd], fixed: &[(Column, i64)]) -> Result<Option<Member>, Interrupted> {
        Common::new(sets, fixed).member(|| self.spend(1))
    }
}

/// One state, or one root of a diagram, of each of some automata.
type Tuple<T> = SmallVec<[T; 3]>;

/// The place of every digit that repeats the sign.
const SIGN: u32 = i64::BITS - 1;

/// The last piece of a word: a bit in a column, or the end of a digit; and the piece before.
struct Piece {
    bit: Option<(Column, usize)>,
    before: Option<u32>,
}

/// States that digits lead to.
struct Met {
    states: Tuple<u32>,
    /// How many digits of fixed numbers are left.
    left: u32,
    /// The word that leads there.
    word: u32,
}

/// A search through the product of some automata, breadth first.
pub(super) struct Common<'s> {
    sets: &'s [&'s Ndd],
    /// The columns that are fixed, in order.
    fixed: Vec<(Column, i64)>,
    pieces: Vec<Piece>,
    met: Vec<Met>,
    /// Roots that were met, in a digit or between two, with the digits that are left behind it: what they lead to, the first word leads to that met them.
    seen: HashSet<(Tuple<Link>, u32)>,
}

impl<'s> Common<'s> {
    pub fn new(sets: &'s [&'s Ndd], fixed: &[(Column, i64)]) -> Self {
        let mut fixed = fixed.to_vec();
        fixed.sort_unstable();
        fixed.dedup();
        Common { sets, fixed, pieces: Vec::new(), met: Vec::new(), seen: HashSet::default() }
    }

    pub fn member(
        mut self,
        mut goes_on: impl FnMut() -> Result<(), Interrupted>,
    ) -> Result<Option<Member>, Interrupted> {
        if self.fixed.windows(2).any(|two| two[0].0 == two[1].0) {
            return Ok(None);
        }
        let length = |&(_, number): &(Column, i64)| i64::BITS - (number ^ number >> SIGN).leading_zeros();
        let longest = self.fixed.iter().map(length).max().unwrap_or(0);
        let roots = self.sets.iter().map(|set| set.0.first).collect();
        self.follow(roots, SIGN, longest, None, &mut goes_on)?;
        let mut next = 0;
        while let Some(&Met { ref states, left, word }) = self.met.get(next) {
            let states = || self.sets.iter().zip(states).map(|(set, &state)| &set.0.states[state as usize]);
            if left == 0 && states().all(|state| state.accepts) {
                return Ok(Some(self.spelled(word)));
            }
            let roots: Tuple<Link> = states().map(|state| state.root).collect();
            if left == longest {
                self.follow(roots.clone(), SIGN, left, Some(word), &mut goes_on)?;
            }
            if let Some(place) = left.checked_sub(1) {
                self.follow(roots, place, place, Some(word), &mut goes_on)?;
            }
            next += 1;
        }
        Ok(None)
    }

    /// Meets the states to which diagrams lead by one more digit, which of fixed numbers is at this place, and behind which so many are left. Zeros
    /// are preferred.
    fn follow(
        &mut self,
        roots: Tuple<Link>,
        place: u32,
        left: u32,
        word: Option<u32>,
        goes_on: &mut impl FnMut() -> Result<(), Interrupted>,
    ) -> Result<(), Interrupted> {
        let mut work: SmallVec<[(Tuple<Link>, Option<u32>); 8]> = SmallVec::new();
        let start = self.free_of_fixed(roots, place);
        work.extend(start.filter(|start| self.is_new(start, left)).map(|start| (start, word)));
        while let Some((links, before)) = work.pop() {
            goes_on()?;
            let Some(column) = self.first_test(&links) else {
                let word = self.piece(None, before);
                let states = links.iter().filter_map(|link| link.state()).collect();
                self.met.push(Met { states, left, word });
                continue;
            };
            for bit in [1, 0] {
                let next = self.free_of_fixed(self.past(&links, column, bit), place);
                if let Some(next) = next.filter(|next| self.is_new(next, left)) {
                    work.push((next, Some(self.piece(Some((column, bit)), before))));
                }
            }
        }
        Ok(())
    }

    /// The roots that are left behind tests of fixed columns, whose digits are at this place; none if one leads nowhere.
    fn free_of_fixed(&self, mut links: Tuple<Link>, place: u32) -> Option<Tuple<Link>> {
        loop {
            if links.iter().any(|link| link.state() == Some(NOTHING)) {
                return None;
            }
            let test = self.first_test(&links).and_then(|column| Some((column, self.number(column)?)));
            let Some((column, number)) = test else { return Some(links) };
            links = self.past(&links, column, (number >> place & 1) as usize);
        }
    }

    fn number(&self, column: Column) -> Option<i64> {
        let at = self.fixed.binary_search_by_key(&column, |&(column, _)| column).ok()?;
        Some(self.fixed[at].1)
    }

    fn vertex(&self, set: usize, link: Link) -> Option<Vertex> {
        link.state().is_none().then(|| self.sets[set].0.vertices[link.0 as usize])
    }

    /// The first column that some roots test.
    fn first_test(&self, links: &Tuple<Link>) -> Option<Column> {
        let tests = links.iter().enumerate().filter_map(|(set, &link)| self.vertex(set, link));
        tests.map(|test| test.column).min()
    }

    /// What follows roots where a column has a bit.
    fn past(&self, links: &Tuple<Link>, column: Column, bit: usize) -> Tuple<Link> {
        let past = |(set, &link): (usize, &Link)| match self.vertex(set, link) {
            Some(test) if test.column == column => test.next[bit],
            _ => link,
        };
        links.iter().enumerate().map(past).collect()
    }

    /// Whether roots were not met before.
    fn is_new(&mut self, links: &Tuple<Link>, left: u32) -> bool {
        self.seen.insert((links.clone(), left))
    }

    /// A word that is longer by a piece.
    fn piece(&mut self, bit: Option<(Column, usize)>, before: Option<u32>) -> u32 {
        self.pieces.push(Piece { bit, before });
        self.pieces.len() as u32 - 1
    }

    /// The numbers that are fixed, and those that a word spells.
    fn spelled(&self, word: u32) -> Member {
        let before = |piece: &&Piece| piece.before.map(|before| &self.pieces[before as usize]);
        let pieces: Vec<&Piece> = std::iter::successors(Some(&self.pieces[word as usize]), before).collect();
        let digits = pieces.iter().filter(|piece| piece.bit.is_none()).count();
        let mut values: HashMap<Column, i128> =
            self.fixed.iter().map(|&(column, number)| (column, i128::from(number))).collect();
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
        values.into_iter().collect()
    }
}
