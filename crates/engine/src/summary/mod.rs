//! Room `engine/summary`: sets of valuations as decision diagrams, control flow as it is.
//!
//! # Idea
//!
//! For each location the set of *path edges* is kept: pairs of a valuation with which the procedure was entered and
//! one it can have here. A worklist pushes the new part of a set along the edges of its location. A call enters its
//! callee with the values it passes and goes on with the callee's *summary*: the path edges at its exit, which grow as
//! the callee is explored, and are lifted to each call as a relation between the caller's valuations before and after.
//!
//! # Paper
//!
//! \[bebop\] Fig. 3. # Departures:
//!
//! * Procedures share levels ([`crate::encode::wiring`]); a variable that a procedure never writes has one copy, not
//!   two; a global that it does not touch has none; a value that no longer matters is quantified away by the very edge
//!   after which it does not matter.
//! * Only the new part of a set is pushed, callees first, each procedure in reverse post-order, so that loops settle
//!   before what follows them is looked at.
//! * The relation of a parallel assignment stays in parts where it would be large ([`crate::encode::relation`]), and a loop that is seen to
//!   be long is taken many rounds at a time ([`leap`]).
//! * A trace is found by walking back through the parts as they arrived ([`history`]); a shortest one by letting them
//!   arrive in the order of their distance ([`shortest`]).
//! * Of runs that go on for ever it proves that there are none ([`cycles`]).
//! * What was reached is handed over as a proof ([`proof`]).
//!
//! # Cost
//!
//! \[bebop\]: O(E · 2^k) for E edges and k variables in scope in the worst case; in practice the sizes of the diagrams.

mod any;
mod calls;
mod cycles;
mod history;
mod leap;
mod order;
mod proof;
mod room;
mod shortest;
mod solve;

use crate::budget::Budget;
use crate::encode::prepared::Prepared;
use crate::engine::{Cycles, Engine, Listener, Unsupported, Wants};
use crate::verdict::Stats;
use postbop_ir::Task;

/// The engine.
pub struct Summary;

impl Engine for Summary {
    fn name(&self) -> &'static str {
        "summary"
    }

    fn wants(&self) -> Wants {
        Wants { reduced: true, threads: false, integers: false, cycles: Cycles::RuledOut }
    }

    fn supports(&self, _: &Task) -> Result<(), Unsupported> {
        Ok(())
    }

    fn check(&self, task: &Task, prepared: &Prepared, budget: &Budget, listener: &mut dyn Listener) -> Stats {
        solve::check(task, prepared, budget, listener, room::Reordering::when_large())
    }
}

/// The engine with levels reordered after so many images, relations in parts and loops taken many rounds at a time, whether
/// it helps or not: for tests.
pub struct Reordered(pub u64);

impl Engine for Reordered {
    fn name(&self) -> &'static str {
        "reordered"
    }

    fn wants(&self) -> Wants {
        Wants { reduced: false, ..Summary.wants() }
    }

    fn supports(&self, task: &Task) -> Result<(), Unsupported> {
        Summary.supports(task)
    }

    fn check(&self, task: &Task, prepared: &Prepared, budget: &Budget, listener: &mut dyn Listener) -> Stats {
        solve::check(task, prepared, budget, listener, room::Reordering::Every(self.0, 0))
    }
}
