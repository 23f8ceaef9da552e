//! Room `engine/threads`: a sequential program that stands for one with threads.
//!
//! [`super::product`] and [`super::sequential`] make such programs. Their traces are read by [`super::back`], by what each edge
//! stands for.

use postbop_ir::{EdgeId, Program, Query, Table, Task, ThreadId, VarId};
use rustc_hash::FxHashMap as HashMap;

/// What an edge of a translation stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeMeaning {
    /// An edge of the program as written.
    Step(EdgeId),
    /// No step: the translation keeps its books.
    Nothing,
    /// A thread begins, in this slot.
    Begin(ThreadId, u32),
    /// Another thread goes on.
    Switch(ThreadId),
    /// The thread goes on in this slot.
    Slot(u32),
    /// The run is at a target.
    Bad,
}

/// A sequential program that stands for one with threads.
pub struct Translation {
    /// The program.
    pub program: Program,
    /// The queries, in the order of the task's.
    pub queries: Vec<Query>,
    /// What its edges stand for.
    pub meaning: Table<EdgeId, EdgeMeaning>,
    /// For variables of its main procedure the locals, of procedures in which threads start, that they stand for.
    pub firsts: HashMap<VarId, VarId>,
    /// Whether its slots are rounds.
    pub rounds: bool,
}

impl Translation {
    /// The same questions about the sequential program, with what else the task asks for.
    pub fn task(&self, asked: &Task) -> Task<'_> {
        let Translation { program, queries, .. } = self;
        Task { first: asked.first, proofs: asked.proofs, ..Task::new(program, queries) }
    }
}
