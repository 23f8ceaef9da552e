//! Room `kit`: satisfiability, asked again and again.
//!
//! # Idea
//!
//! A solver is given clauses and asked whether they can hold together with some literals that are *assumed* for this
//! question only. The answer is a model, or a *core*: assumptions that cannot all hold. What the solver learned stays for the
//! next question. A clause that is to be dropped later has a literal of its own that is assumed as long as it counts.
//!
//! The solver behind it is `batsat`, a descendant of MiniSat written in Rust; nothing outside this file knows that.

mod cnf;

pub use cnf::Cnf;

use batsat::{Callbacks, SolverInterface, lbool};
use std::cell::Cell;
use std::ops::Not;
use std::rc::Rc;

/// A variable of a solver, or its negation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Literal(batsat::Lit);

impl Not for Literal {
    type Output = Literal;
    fn not(self) -> Literal {
        Literal(!self.0)
    }
}

/// What a solver says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// There is a model.
    Sat,
    /// There is none.
    Unsat,
    /// The interrupt said no before that was known.
    Stopped,
}

/// Asked now and then whether the work may go on, with how much was done since it was last asked.
pub type Interrupt<'i> = Rc<dyn Fn(u64) -> bool + 'i>;

/// How many steps of a search there are between two questions to the interrupt.
const PATIENCE: u64 = 256;

struct Watch<'i> {
    interrupt: Interrupt<'i>,
    steps: Cell<u64>,
    stopped: Cell<bool>,
}

impl Callbacks for Watch<'_> {
    fn stop(&self) -> bool {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        if steps.is_multiple_of(PATIENCE) && !(self.interrupt)(PATIENCE) {
            self.stopped.set(true);
        }
        self.stopped.get()
    }
}

/// About how many bytes a solver takes that knows little: it begins with room for a million literals.
pub const LEAST_BYTES: u64 = 4 << 20;

/// A solver.
pub struct Solver<'i> {
    inner: batsat::Solver<Watch<'i>>,
    clause: Vec<batsat::Lit>,
    assumed: Vec<batsat::Lit>,
    /// How often it was asked.
    pub calls: u64,
}

impl<'i> Solver<'i> {
    /// A solver without clauses.
    pub fn new(interrupt: Interrupt<'i>) -> Self {
        let watch = Watch { interrupt, steps: Cell::new(0), stopped: Cell::new(false) };
        let inner = batsat::Solver::new(batsat::SolverOpts::default(), watch);
        Solver { inner, clause: Vec::new(), assumed: Vec::new(), calls: 0 }
    }

    /// A new variable.
    pub fn fresh(&mut self) -> Literal {
        Literal(batsat::Lit::new(self.inner.new_var_default(), true))
    }

    /// Adds a clause.
    pub fn clause(&mut self, literals: impl IntoIterator<Item = Literal>) {
        self.clause.clear();
        self.clause.extend(literals.into_iter().map(|literal| literal.0));
        self.inner.add_clause_reuse(&mut self.clause);
    }

    /// Whether the clauses can hold together with these literals.
    pub fn solve(&mut self, assumed: impl IntoIterator<Item = Literal>) -> Answer {
        self.calls += 1;
        self.assumed.clear();
        self.assumed.extend(assumed.into_iter().map(|literal| literal.0));
        let watch = self.inner.cb();
        // A question costs something even if it is answered at once.
        if !(watch.interrupt)(1) {
            return Answer::Stopped;
        }
        watch.stopped.set(false);
        match self.inner.solve_limited(&self.assumed) {
            answer if answer == lbool::TRUE => Answer::Sat,
            answer if answer == lbool::FALSE => Answer::Unsat,
            _ => Answer::Stopped,
        }
    }

    /// The value of a literal in the model that was found; a literal that does not matter is false.
    pub fn value(&self, literal: Literal) -> bool {
        self.inner.value_lit(literal.0) == lbool::TRUE
    }

    /// Whether an assumption is in the core that was found.
    pub fn in_core(&self, literal: Literal) -> bool {
        // The solver lists the negations of the assumptions in its final conflict.
        self.inner.unsat_core_contains_lit(!literal.0)
    }
}

#[cfg(test)]
mod tests;
