//! Room `kit`: the solver `batsat`, a descendant of MiniSat written in Rust: little time for each of many questions.

use super::{Answer, Backend, Interrupt, Literal};
use batsat::intmap::AsIndex;
use batsat::{Callbacks, SolverInterface, lbool};
use std::cell::Cell;

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

/// A solver of this kind.
pub struct Batsat<'i> {
    inner: batsat::Solver<Watch<'i>>,
    clause: Vec<batsat::Lit>,
    assumed: Vec<batsat::Lit>,
}

impl<'i> Batsat<'i> {
    /// A solver without clauses.
    pub fn new(interrupt: Interrupt<'i>) -> Self {
        let watch = Watch { interrupt, steps: Cell::new(0), stopped: Cell::new(false) };
        let inner = batsat::Solver::new(batsat::SolverOpts::default(), watch);
        Batsat { inner, clause: Vec::new(), assumed: Vec::new() }
    }
}

fn own(literal: Literal) -> batsat::Lit {
    batsat::Lit::new(batsat::Var::unsafe_from_idx(literal.var() as u32), !literal.is_negated())
}

impl Backend for Batsat<'_> {
    fn add_var(&mut self) -> usize {
        self.inner.new_var_default().as_index()
    }

    fn clause(&mut self, literals: &mut dyn Iterator<Item = Literal>) {
        self.clause.clear();
        self.clause.extend(literals.map(own));
        self.inner.add_clause_reuse(&mut self.clause);
    }

    fn solve(&mut self, assumed: &mut dyn Iterator<Item = Literal>) -> Answer {
        self.assumed.clear();
        self.assumed.extend(assumed.map(own));
        self.inner.cb().stopped.set(false);
        match self.inner.solve_limited(&self.assumed) {
            answer if answer == lbool::TRUE => Answer::Sat,
            answer if answer == lbool::FALSE => Answer::Unsat,
            _ => Answer::Stopped,
        }
    }

    fn value(&self, literal: Literal) -> bool {
        self.inner.value_lit(own(literal)) == lbool::TRUE
    }

    fn in_core(&self, literal: Literal) -> bool {
        // The solver lists the negations of the assumptions in its final conflict.
        self.inner.unsat_core_contains_lit(!own(literal))
    }
}
