//! Room `engine/reduce`: a smaller program with the same answers.
//!
//! # Idea
//!
//! Engines pay for every location and every edge. Before one is asked, the program is made smaller: edges that are
//! on no run to a target are dropped ([`prune`]), constants are propagated ([`constants`]), and edges that always
//! follow each other become one ([`compose`]). Every edge of the smaller program remembers the run of edges that it
//! stands for, so a trace of the smaller program can be written as a trace of the larger one ([`edge_map`]), on which
//! it is replayed; and what became of every location is remembered too, for proofs ([`loc_map`]).
//!
//! Procedures and variables keep their ids; locations and edges are numbered anew.
//!
//! Conditions that can block and loops that may not end must stay. They do: an edge disappears only together with
//! every run through it, or into an edge that does the same.
//!
//! With `shortest`, steps count: then only reductions are made that leave the length of runs alone.
//!
//! # Cost
//!
//! Linear in the program.

mod action;
mod compose;
mod constants;
mod draft;
mod edge_map;
pub mod fold;
mod loc_map;
mod prune;
#[cfg(test)]
mod tests;

use crate::budget::Stopwatch;
use crate::verdict::Stats;
use constants::Numbers;
use draft::Draft;
use edge_map::EdgeMap;
use loc_map::LocMap;
use postbop_ir::{Expr, Op, Prefer, Program, Proof, Proofs, Query, Scope, Table, Task, Trace};

/// A smaller program, and how its traces are read.
pub struct Reduced {
    program: Program,
    queries: Vec<Query>,
    /// For each query whether it has a guard that no run reaches, whatever its target.
    pub unreachable: Vec<bool>,
    /// What else the task asks for.
    asked: (Prefer, bool, Proofs),
    lift: EdgeMap,
    locs: LocMap,
    numbers: Numbers,
    /// How much smaller it is, and what that took.
    pub stats: Stats,
}

/// About how many bytes it takes to reduce the program of a task, and what engines prepare from it: its expressions are there
/// twice then, once as they are and once compiled, and for each location the variables that are live there.
pub fn room(task: &Task) -> u64 {
    let exprs = task.program.edges().iter().flat_map(|edge| edge.action.exprs());
    let exprs: u64 = exprs.map(|expr| bytes(expr.code.len())).sum();
    (task.program.edges().len() + task.program.locs().len()) as u64 * 400 + 2 * exprs + 2 * live(task.program)
}

/// How many bytes it takes at most to say of each location which variables in scope are live there.
pub fn live(program: &Program) -> u64 {
    let mut globals = 0;
    let mut locals = Table::filled(program.procs().len(), 0u64);
    for var in program.vars().iter() {
        match var.scope {
            Scope::Global => globals += 1,
            Scope::Local(owner) => locals[owner] += 1,
        }
    }
    program.locs().iter().map(|loc| (globals + locals[loc.proc]) / 8).sum()
}

/// About how many bytes an expression of so many operators takes.
pub fn bytes(operators: usize) -> u64 {
    (size_of::<Expr>() + operators * size_of::<Op>()) as u64
}

/// Reduces the program of a task.
pub fn reduce(task: &Task) -> Reduced {
    let mut stopwatch = Stopwatch::start();
    let mut draft = Draft::new(task);
    prune::prune(&mut draft);
    let constants = constants::constants(&mut draft);
    if constants.count > 0 {
        prune::prune(&mut draft);
    }
    draft.chain();
    if !task.shortest() {
        compose::compose(&mut draft);
    }
    let unreachable = draft.unreachable();
    let (program, queries, mut lift, locs) = draft.finish();
    lift.entries = constants.entries;
    let numbers = constants.numbers;
    stopwatch.lap("reduce_us");
    let mut stats = Stats::from([
        ("locations", task.program.locs().len() as u64),
        ("reduced_locations", program.locs().len() as u64),
        ("edges", task.program.edges().len() as u64),
        ("reduced_edges", program.edges().len() as u64),
        ("constants", constants.count as u64),
    ]);
    stats.extend(stopwatch.laps());
    Reduced {
        program,
        queries,
        unreachable,
        asked: (task.prefer, task.first, task.proofs),
        lift,
        locs,
        numbers,
        stats,
    }
}

impl Reduced {
    /// The same questions about the smaller program.
    pub fn task(&self) -> Task<'_> {
        let (prefer, first, proofs) = self.asked;
        Task { prefer, first, proofs, ..Task::new(&self.program, &self.queries) }
    }

    /// A proof about the smaller program as one about the program as written, which is this one.
    pub fn prove(&self, written: &Program, proof: Proof) -> Proof {
        self.locs.proof(written, &self.program, &self.numbers, proof)
    }

    /// A trace of the smaller program as one of the program as written.
    pub fn lift(&self, trace: Trace) -> Trace {
        self.lift.trace(trace)
    }
}
