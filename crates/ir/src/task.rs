//! Room `ir`: a question about a program.
//!
//! There are two kinds of question, *can a run reach one of these locations* and *can a run visit one of them again and
//! again*. Everything else that users ask (assertions, labels, threads within a bound, temporal properties) is translated
//! into a program and one of these.

use crate::ids::LocId;
use crate::program::Program;

/// What is asked of some locations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ask {
    /// Whether a run reaches one of them, which violates the property.
    Reach(Vec<LocId>),
    /// Whether a run visits them infinitely often, which violates the property.
    Recur(Vec<LocId>),
}

/// A property of the program, by what would violate it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query {
    /// What users call it.
    pub name: String,
    /// What is asked.
    pub ask: Ask,
    /// The locations at which the condition of the property is tested, if it has one. A property that holds because no run
    /// reaches its guard is *vacuous*.
    pub guard: Vec<LocId>,
}

impl Query {
    /// The property that none of these locations is ever reached.
    pub fn reach(name: impl Into<String>, locs: Vec<LocId>) -> Self {
        Query { name: name.into(), ask: Ask::Reach(locs), guard: Vec::new() }
    }

    /// The property that none of these locations is visited again and again.
    pub fn recur(name: impl Into<String>, locs: Vec<LocId>) -> Self {
        Query { name: name.into(), ask: Ask::Recur(locs), guard: Vec::new() }
    }

    /// The locations that the question is about.
    pub fn locs(&self) -> &[LocId] {
        match &self.ask {
            Ask::Reach(locs) | Ask::Recur(locs) => locs,
        }
    }

    /// Whether there is something to reach. A query without target asks only whether its guard is reached, if that comes to
    /// light while others are answered.
    pub fn has_target(&self) -> bool {
        !self.locs().is_empty()
    }
}

/// In which order threads run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Schedule {
    /// Any order, with at most so many switches from one thread to another.
    Switches(u32),
    /// So many times each thread once, in the order of their ids.
    Rounds(u32),
}

/// Which runs an answer covers: all of them, or those within limits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Bound {
    /// Only runs within this schedule.
    pub schedule: Option<Schedule>,
    /// Only runs that start no more than so many threads.
    pub threads: Option<u32>,
}

impl Bound {
    /// All runs.
    pub const NONE: Bound = Bound { schedule: None, threads: None };

    /// The runs with at most so many context switches.
    pub fn switches(most: u32) -> Self {
        Bound { schedule: Some(Schedule::Switches(most)), threads: None }
    }

    /// The runs of so many rounds.
    pub fn rounds(count: u32) -> Self {
        Bound { schedule: Some(Schedule::Rounds(count)), threads: None }
    }
}

/// Which trace is wanted where there are several.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Prefer {
    /// Whichever is found first.
    #[default]
    Any,
    /// One with the least number of steps.
    FewestSteps,
    /// One with the least number of context switches, or of rounds if the bound is on rounds.
    FewestSwitches,
}

/// Whether a property that holds comes with a proof.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Proofs {
    /// It does not.
    #[default]
    Unwanted,
    /// If that costs little compared with finding it, it is made and checked. It is not kept.
    Cheap,
    /// It is made, checked and kept, by engines that can.
    Kept,
}

/// A program and what is asked of it.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The program.
    pub program: &'a Program,
    /// The properties, each with a verdict of its own.
    pub queries: &'a [Query],
    /// Which runs count. Room for started threads is part of the program: see [`Program::no_room`].
    pub bound: Bound,
    /// Which traces are wanted.
    pub prefer: Prefer,
    /// Whether the first violation ends the work.
    pub first: bool,
    /// Whether the targets are reached only where no thread can move, as `engine/deadlock` sees to it. A search may then leave out orders of
    /// steps that lead to the same such places.
    pub stuck: bool,
    /// Whether proofs are wanted.
    pub proofs: Proofs,
}

impl<'a> Task<'a> {
    /// A question about all runs of a program; any trace will do.
    pub fn new(program: &'a Program, queries: &'a [Query]) -> Self {
        let (bound, prefer, proofs) = (Bound::NONE, Prefer::Any, Proofs::Unwanted);
        Task { program, queries, bound, prefer, first: false, stuck: false, proofs }
    }

    /// Whether it is asked which locations a run visits again and again, of all queries alike.
    pub fn recurs(&self) -> bool {
        self.queries.first().is_some_and(|query| matches!(query.ask, Ask::Recur(_)))
    }

    /// Whether traces must have the least number of steps.
    pub fn shortest(&self) -> bool {
        self.prefer == Prefer::FewestSteps
    }
}
