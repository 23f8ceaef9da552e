//! Room `engine/explicit`: search on the fly, one valuation at a time.
//!
//! # Idea
//!
//! A *context* is a location and a valuation together with the valuation its procedure was entered with. Contexts
//! are explored depth first, successors made only when they are needed, and the search ends as soon as every target
//! is reached. A call looks up whether its callee was entered with these values before. If so, the call uses the
//! summaries found so far, and gets those found later when they are found; if not, the callee is explored now.
//!
//! A valuation may leave a variable *open*: it stands for all values at once. Variables start open, `x := *` opens
//! x and forgetting a value that no longer matters opens it too. An open variable is split into values only by an
//! edge that reads it, and then by halving its range, so that parts in which a condition fails are dropped unseen.
//!
//! # Paper
//!
//! \[vera\] Fig. 2. # Departures: the recursion is a stack of our own; open values, live ranges and touched globals
//! keep apart only what can make a difference, where VERA enumerates all initial valuations; with `shortest` the
//! contexts are taken in the order of their distance from the start ([`shortest`]), which the paper does not do.
//!
//! # Cost
//!
//! \[vera\] Theorem 2, over contexts with open values. Sets of values that are neither one value nor all of them
//! are enumerated: arithmetic over wide integers is for other engines.

mod any;
mod around;
mod cycles;
mod fair;
mod history;
mod proof;
mod search;
mod shortest;
mod store;
mod union;

use crate::budget::Budget;
use crate::encode::prepared::Prepared;
use crate::engine::{Cycles, Engine, Listener, Unsupported, Wants};
use crate::verdict::Stats;
use postbop_ir::Task;

/// The engine.
pub struct Explicit;

impl Engine for Explicit {
    fn name(&self) -> &'static str {
        "explicit"
    }

    fn wants(&self) -> Wants {
        Wants { reduced: true, threads: false, integers: false, cycles: Cycles::Found }
    }

    fn supports(&self, _: &Task) -> Result<(), Unsupported> {
        Ok(())
    }

    fn check(&self, task: &Task, prepared: &Prepared, budget: &Budget, listener: &mut dyn Listener) -> Stats {
        match task.shortest() {
            _ if task.recurs() => cycles::check(task, prepared, budget, listener),
            true => search::check::<shortest::Nearest>(task, prepared, budget, listener),
            false => search::check::<any::DepthFirst>(task, prepared, budget, listener),
        }
    }
}
