//! Room `kit`: number decision diagrams.
//!
//! # Idea
//!
//! A set of vectors of unbounded integers is a language: a vector is written in two's complement, most significant digits
//! first, one *digit* holding one bit of every number. The first digit holds the signs, and repeating it changes
//! nothing. The sets whose languages are regular and that Presburger arithmetic can define have small automata as long as their
//! definitions are simple; Boolean operations are products, and a quantifier is a projection.
//!
//! Within a digit the bits are read one after the other by a decision diagram whose leaves are states. A diagram tests a
//! *column*, a plain number that stands for one of the integers, only where the answer matters: a column that a set says nothing
//! about costs nothing, and sets over different columns can be combined as they are. So the signature of
//! a set is its [`Ndd::support`], and nothing has to be declared.
//!
//! A column may also hold a single bit instead of a number. Such a column is tested in the first digit alone. A set that mentions
//! only bits is a binary decision diagram, and bits mix freely with numbers.
//!
//! # Paper
//!
//! \[wolper-boigelot\] for the automata of linear constraints, \[ndd-moped\] for signatures, \[mona\] for decision diagrams
//! as the transitions of a state. # Departures: from \[ndd-moped\], states exist only between digits, and the diagrams
//! below them skip columns.
//!
//! # Canonicity
//!
//! Every automaton is minimal, its states are numbered in the order in which a fixed traversal meets them, and equal
//! automata are one object. So two sets are equal exactly if they are the same object.
//!
//! # Cost
//!
//! A product costs the pairs of states that it meets, times their diagrams. A projection makes an automaton deterministic, which can be
//! exponential; for linear constraints it rarely is. Every operation asks the caller's callback now and then whether it may go on.

mod apply;
mod common;
mod dot;
mod draft;
mod linear;
mod member;
mod minimal;
mod project;
#[cfg(test)]
mod tests;

pub use crate::bdd::Interrupted;
pub use linear::{Compare, Term};
pub use member::Member;

use rustc_hash::FxHashSet as HashSet;
use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// A number that stands for one of the integers, or bits, of the vectors. Columns are read in their order.
pub type Column = u32;

/// The root of a diagram within an automaton: a vertex that tests a column, or a state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Link(u32);

impl Link {
    const STATE: u32 = 1 << 31;

    fn to_state(state: u32) -> Self {
        Link(state | Self::STATE)
    }

    /// The state, if the digit is over.
    fn state(self) -> Option<u32> {
        (self.0 & Self::STATE != 0).then_some(self.0 & !Self::STATE)
    }
}

/// The state from which nothing is accepted, and the one from which everything is.
const NOTHING: u32 = 0;
const ALL: u32 = 1;

/// Tests a column, and goes on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Vertex {
    column: Column,
    /// Where a bit 0 leads, and a bit 1.
    next: [Link; 2],
}

/// Of two links the column that one of them tests first, and where both lead by a bit 0 there and by a bit 1. Given are the vertices
/// of the links, of which one at least leads to one.
fn first_test(links: [Link; 2], tests: [Option<Vertex>; 2]) -> (Column, [[Link; 2]; 2]) {
    let column = tests.iter().flatten().map(|test| test.column).min().expect("one of them tests");
    let follow = |bit: usize| {
        [0, 1].map(|side: usize| match tests[side] {
            Some(test) if test.column == column => test.next[bit],
            _ => links[side],
        })
    };
    (column, [follow(0), follow(1)])
}

/// A point between two digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct State {
    /// The diagram that reads the next digit.
    root: Link,
    /// Whether the number may end here.
    accepts: bool,
}

/// A minimal deterministic automaton. The successors of a vertex stand before it.
#[derive(PartialEq, Eq, Hash, Debug)]
struct Automaton {
    vertices: Box<[Vertex]>,
    states: Box<[State]>,
    /// The diagram that reads the first digit.
    first: Link,
}

/// A set of vectors of integers and bits.
#[derive(Clone, Debug)]
pub struct Ndd(Rc<Automaton>);

impl PartialEq for Ndd {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Ndd {}

impl Hash for Ndd {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Rc::as_ptr(&self.0).hash(state);
    }
}

impl Ndd {
    /// Whether no vector is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.first.state() == Some(NOTHING)
    }

    /// Whether every vector is in the set.
    pub fn is_all(&self) -> bool {
        self.0.first.state() == Some(ALL)
    }

    /// The number of states and vertices: a measure of its size.
    pub fn size(&self) -> usize {
        self.0.states.len() + self.0.vertices.len()
    }

    /// The number of states, without the two that decide nothing.
    pub fn states(&self) -> usize {
        self.0.states.len() - 2
    }

    /// The columns on which membership depends, in order.
    pub fn support(&self) -> Vec<Column> {
        let mut columns: Vec<Column> = self.0.vertices.iter().map(|vertex| vertex.column).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}

/// Where sets are made, and each is kept once.
pub struct Ndds<'a> {
    known: RefCell<HashSet<Rc<Automaton>>>,
    /// How many automata there may be before those that nobody uses are dropped.
    limit: Cell<usize>,
    /// Asked now and then, with the work done since it was asked last, whether to go on.
    goes_on: &'a dyn Fn(u64) -> bool,
    work: Cell<u64>,
}

/// How much work there is between two questions whether to go on.
const TURN: u64 = 1 << 12;

impl<'a> Ndds<'a> {
    /// No sets yet. `goes_on` is asked now and then, with the work done since it was asked last; if it says no, the operation at
    /// hand is interrupted.
    pub fn new(goes_on: &'a dyn Fn(u64) -> bool) -> Self {
        Ndds { known: RefCell::default(), limit: Cell::new(1 << 10), goes_on, work: Cell::new(0) }
    }

    /// Everything, or nothing.
    pub fn constant(&self, value: bool) -> Ndd {
        self.only(Link::to_state(if value { ALL } else { NOTHING }), Box::new([]))
    }

    /// The vectors in which a bit is set.
    pub fn bit(&self, column: Column) -> Ndd {
        let next = [Link::to_state(NOTHING), Link::to_state(ALL)];
        self.only(Link(0), Box::new([Vertex { column, next }]))
    }

    /// The set whose automaton has no states but those that decide nothing.
    fn only(&self, first: Link, vertices: Box<[Vertex]>) -> Ndd {
        let state = |state: u32| State { root: Link::to_state(state), accepts: state == ALL };
        self.intern(Automaton { vertices, states: Box::new([state(NOTHING), state(ALL)]), first })
    }

    /// The set that has this automaton.
    fn intern(&self, automaton: Automaton) -> Ndd {
        let mut known = self.known.borrow_mut();
        if let Some(old) = known.get(&automaton) {
            return Ndd(Rc::clone(old));
        }
        if known.len() >= self.limit.get() {
            known.retain(|old| Rc::strong_count(old) > 1);
            self.limit.set(2 * known.len().max(1 << 10));
        }
        let new = Rc::new(automaton);
        known.insert(Rc::clone(&new));
        Ndd(new)
    }

    /// Counts work.
    fn spend(&self, work: u64) -> Result<(), Interrupted> {
        let sum = self.work.get() + work;
        if sum < TURN {
            self.work.set(sum);
            return Ok(());
        }
        self.work.set(0);
        if (self.goes_on)(sum) { Ok(()) } else { Err(Interrupted) }
    }

    /// The set with other columns in place of its own. The new columns are in the same order as the old ones.
    pub fn relabel(&self, set: &Ndd, to: impl Fn(Column) -> Column) -> Ndd {
        let mut vertices = set.0.vertices.clone();
        vertices.iter_mut().for_each(|vertex| vertex.column = to(vertex.column));
        debug_assert!(in_order(&vertices), "new columns are in the order of the old ones");
        self.intern(Automaton { vertices, states: set.0.states.clone(), first: set.0.first })
    }
}

/// Whether every vertex tests an earlier column than its successors.
fn in_order(vertices: &[Vertex]) -> bool {
    let later = |vertex: &Vertex, link: Link| {
        link.state().is_some() || vertices[link.0 as usize].column > vertex.column
    };
    vertices.iter().all(|vertex| vertex.next.iter().all(|&link| later(vertex, link)))
}
