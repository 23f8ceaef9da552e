//! Room `kit`: linear temporal logic, and Büchi automata.
//!
//! # Idea
//!
//! A formula speaks about infinite words, whose letters say which atoms are true. A Büchi automaton accepts a word if it has a
//! run over it that visits accepting states again and again. [`translate`] makes an automaton that accepts exactly the
//! words for which a formula holds, in four steps:
//!
//! | step | |
//! |---|---|
//! | `normal` | the formula in negation normal form, simplified |
//! | `alternating` | an alternating automaton, whose states are subformulas |
//! | `general` | a generalised automaton, whose states are sets of subformulas, and which has one condition for each until |
//! | `degeneral` | an automaton with accepting states |
//!
//! At each step what can be seen to be superfluous is dropped, at last by `simplify`. What a product with a program wants is
//! few states, and few of them for one letter; so simulation is used to make edges disjoint where that is possible.
//!
//! # Paper
//!
//! \[ltl2ba\]; the files say what they take from it.
//!
//! # Cost
//!
//! An automaton may have exponentially many states in the length of the formula. The caller's callback may interrupt the
//! work, as with decision diagrams.

mod alternating;
mod cube;
mod degeneral;
mod formula;
mod general;
mod normal;
mod simplify;
#[cfg(test)]
mod tests;

pub use crate::bdd::Interrupted;
pub use cube::Cube;
pub use formula::{Formula, Node, NodeId, Word};
pub use general::{Generalised, GeneralisedEdge};

use rustc_hash::FxHashSet as HashSet;

/// A Büchi automaton. Its states are numbered from 0; one without states accepts no word.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Automaton {
    /// Where runs begin.
    pub initial: Vec<u32>,
    /// For each state whether it is accepting.
    pub accepting: Vec<bool>,
    /// The edges, sorted by where they begin. A state may have several for a letter, or none: then the run ends, and is
    /// not accepted.
    pub edges: Vec<Edge>,
}

/// An edge of an automaton.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Edge {
    /// Where it begins.
    pub from: u32,
    /// The letters it is for. They are read as the edge is taken: the first letter of a word by an edge of an initial state.
    pub guard: Cube,
    /// Where it ends.
    pub to: u32,
}

/// An automaton that accepts the words for which a formula holds. The callback is asked now and then whether the work may go
/// on, with about how many bytes were used.
pub fn translate(
    formula: &Formula,
    goes_on: &mut dyn FnMut(usize) -> bool,
) -> Result<Automaton, Interrupted> {
    let meter = &mut Meter { goes_on, work: 0, bytes: 0 };
    let (arena, whole) = normal::normal(formula);
    meter.grow(32 * arena.nodes.len());
    let alternating = alternating::alternating(&arena, whole, meter)?;
    let general = general::generalised(&alternating, meter)?;
    finish(&general, meter)
}

/// Cubes for the letters that a formula without temporal operators allows.
pub fn cubes(formula: &Formula, goes_on: &mut dyn FnMut(usize) -> bool) -> Result<Vec<Cube>, Interrupted> {
    let meter = &mut Meter { goes_on, work: 0, bytes: 0 };
    let (arena, whole) = normal::normal(formula);
    Ok(cube::join(alternating::letters(&arena, whole, meter)?))
}

impl Generalised {
    /// An automaton that accepts the same words.
    pub fn degeneralised(&self, goes_on: &mut dyn FnMut(usize) -> bool) -> Result<Automaton, Interrupted> {
        finish(self, &mut Meter { goes_on, work: 0, bytes: 0 })
    }
}

fn finish(general: &Generalised, meter: &mut Meter<'_>) -> Result<Automaton, Interrupted> {
    let mut automaton = degeneral::degeneralised(general, meter)?;
    automaton.simplify(meter)?;
    Ok(automaton)
}

impl Automaton {
    /// Whether it accepts a word: whether an accepting state is on a cycle of the product of both.
    pub fn accepts(&self, word: &Word) -> bool {
        let len = word.letters.len();
        let allows =
            |guard: &Cube, at: usize| guard.iter().all(|&(atom, value)| word.is_true(at, atom) == value);
        let after = |from: usize| {
            let (state, at) = (from / len, from % len);
            let first = self.edges.partition_point(|edge| (edge.from as usize) < state);
            let edges = self.edges[first..].iter().take_while(move |edge| edge.from as usize == state);
            let edges = edges.filter(move |edge| allows(&edge.guard, at));
            edges.map(move |edge| edge.to as usize * len + word.next(at))
        };
        let search = |from: Vec<usize>| {
            let mut seen: HashSet<usize> = from.iter().copied().collect();
            let mut work = from;
            while let Some(pair) = work.pop() {
                work.extend(after(pair).filter(|&to| seen.insert(to)));
            }
            seen
        };
        let reached = search(self.initial.iter().map(|&state| state as usize * len).collect());
        let mut accepting = reached.into_iter().filter(|pair| self.accepting[pair / len]);
        accepting.any(|pair| search(after(pair).collect()).contains(&pair))
    }

    /// Whether no state has two edges for one letter, and there is at most one initial state.
    pub fn is_deterministic(&self) -> bool {
        let disjoint = |edges: &[Edge]| {
            let clash = |(at, edge): (usize, &Edge)| {
                edges[..at].iter().any(|other| cube::meet(&edge.guard, &other.guard).is_some())
            };
            !edges.iter().enumerate().any(clash)
        };
        self.initial.len() <= 1 && self.edges.chunk_by(|a, b| a.from == b.from).all(disjoint)
    }
}

/// Counts work and memory, and asks the caller now and then.
struct Meter<'a> {
    goes_on: &'a mut dyn FnMut(usize) -> bool,
    work: usize,
    bytes: usize,
}

impl Meter<'_> {
    /// How much work there is between two questions.
    const PATIENCE: usize = 4096;

    fn work(&mut self, work: usize) -> Result<(), Interrupted> {
        self.work += work;
        if self.work < Self::PATIENCE {
            return Ok(());
        }
        self.work = 0;
        if (self.goes_on)(self.bytes) { Ok(()) } else { Err(Interrupted) }
    }

    fn grow(&mut self, bytes: usize) {
        self.bytes += bytes;
    }
}
