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
//! * A trace is found by walking back through the parts as they arrived ([`past`]); a shortest one by letting them
//!   arrive in the order of their distance ([`solve`]).
//!
//! # Cost
//!
//! \[bebop\]: O(E · 2^k) for E edges and k variables in scope in the worst case; in practice the sizes of the diagrams.

mod calls;
mod order;
mod past;
mod relation;
mod solve;

use crate::budget::Budget;
use crate::engine::{Engine, Listener, Unsupported, Wants};
use crate::verdict::Stats;
use postbop_ir::{Edge, Expr, Proc, Task, Type, VarId};

/// Diagrams are walked as deep as they have levels, four for each bit.
const MOST_BITS: usize = 10_000;

/// The engine.
pub struct Summary;

impl Engine for Summary {
    fn name(&self) -> &'static str {
        "summary"
    }

    fn wants(&self) -> Wants {
        Wants { reduced: true, threads: false, integers: false }
    }

    fn supports(&self, task: &Task) -> Result<(), Unsupported> {
        let width = |&var: &VarId| task.program.vars[var].ty.bits().map_or(0, usize::from);
        let locals = |proc: &Proc| proc.locals.iter().map(width).sum::<usize>();
        let globals: usize = task.program.globals().map(|var| width(&var)).sum();
        let results =
            |proc: &Proc| proc.results.iter().map(|ty| ty.bits().map_or(0, usize::from)).sum::<usize>();
        let locals = task.program.procs.iter().map(|proc| locals(proc) + results(proc)).max();
        let choices = |edge: &Edge| {
            edge.action.exprs().flat_map(Expr::choices).filter_map(Type::bits).map(usize::from).sum()
        };
        let choices: Option<usize> = task.program.edges.iter().map(choices).max();
        let bits = globals + locals.unwrap_or(0) + choices.unwrap_or(0);
        if bits > MOST_BITS {
            return Err(Unsupported(format!(
                "{bits} bits in scope at once; `summary` takes up to {MOST_BITS}"
            )));
        }
        Ok(())
    }

    fn check(&self, task: &Task, budget: &Budget, listener: &mut dyn Listener) -> Stats {
        solve::check(task, budget, listener)
    }
}
