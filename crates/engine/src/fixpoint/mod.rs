//! Room `engine/fixpoint`: model-checking algorithms written as formulas, and run.
//!
//! # Idea
//!
//! An algorithm is a page of fixed-point equations over the states of a program ([`library`]); the solver of the calculus
//! ([`postbop_kit::calculus`]) evaluates them. The program supplies the relations that the equations start from
//! (`template`). Users run their own formulas ([`run`]) with the same machinery.
//!
//! # Paper
//!
//! \[getafix\]. # Departures: traces, found by the rounds in which pairs appeared (`history`); states in which only what
//! matters is kept.

mod history;
pub mod library;
mod proof;
pub mod run;
mod solve;
mod state;
pub mod switches;
mod template;

use crate::budget::Budget;
use crate::encode::prepared::Prepared;
use crate::engine::{Cycles, Engine, Listener, Unsupported, Wants, finite, has_integers};
use crate::verdict::Stats;
use library::Algorithm;
use postbop_ir::{Action, Program, Task, VarId};

/// Diagrams are walked as deep as they have levels, some for each bit.
const MOST_BITS: usize = 4_000;

/// The engine: its name, and the algorithm it runs. Programs with threads have an algorithm of their own.
pub struct Fixpoint(pub &'static str, pub Algorithm);

impl Engine for Fixpoint {
    fn name(&self) -> &'static str {
        self.0
    }

    fn wants(&self) -> Wants {
        Wants { reduced: false, threads: true, integers: false, cycles: Cycles::Translated }
    }

    fn supports(&self, task: &Task) -> Result<(), Unsupported> {
        if task.shortest() {
            return Err(Unsupported(
                "shortest traces with `fixpoint`; `summary` and `explicit` give them".into(),
            ));
        }
        representable(task.program)
    }

    fn check(&self, task: &Task, prepared: &Prepared, budget: &Budget, listener: &mut dyn Listener) -> Stats {
        match task.bound.schedule {
            Some(schedule) => switches::check(task, prepared, schedule, budget, listener),
            None => solve::check(self.1, task, prepared, budget, listener),
        }
    }
}

/// Whether a program's states have finitely many and few enough bits, and its calls are told apart by where they are.
pub fn representable(program: &Program) -> Result<(), Unsupported> {
    finite(has_integers(program))?;
    let width = |var: &VarId| program.vars()[*var].ty.bits().map_or(0, usize::from);
    let globals: usize = program.globals().map(|var| width(&var)).sum();
    let locals = program.procs().iter().map(|proc| proc.locals.iter().map(width).sum::<usize>());
    let bits = globals + locals.max().unwrap_or(0);
    if bits > MOST_BITS {
        return Err(Unsupported(format!("{bits} bits in scope at once; `fixpoint` takes up to {MOST_BITS}")));
    }
    let mut calls: Vec<_> = program
        .edges()
        .iter()
        .filter(|edge| matches!(edge.action, Action::Call { .. }))
        .map(|edge| edge.from)
        .collect();
    calls.sort_unstable();
    match calls.windows(2).any(|pair| pair[0] == pair[1]) {
        true => Err(Unsupported("two calls that begin at one location".into())),
        false => Ok(()),
    }
}
