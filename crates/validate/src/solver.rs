//! Room `validate`: whether gates can be true together.
//!
//! The solver is `batsat`, a descendant of MiniSat. It hears of a gate when a question first needs it \[tseitin\], and keeps what it
//! learned for the next question. One that has heard of many gates is slower than a new one: then a new one is begun.

use crate::gates::{Gate, Gates, Lit};
use batsat::{Callbacks, SolverInterface, lbool};
use std::cell::Cell;

/// Asked now and then, by any of several threads, whether the work may go on, after so much more of it.
pub type GoesOn<'g> = &'g (dyn Fn(u64) -> bool + Sync);

/// How much work a step is, a propagation, a question, and a new solver.
const STEP: u64 = 16;
const PROPAGATION: u64 = 4;
const QUESTION: u64 = 64;
const BEGIN: u64 = 512;

/// A gate of more inputs becomes several.
const WIDE: usize = 32;

/// A new solver is begun when the old one has so many variables, and so many times as many as its first question needed: it decides about all of them,
/// also about those that have nothing to do with the question.
const MANY: usize = 1 << 9;
const TIMES: usize = 4;

struct Watch<'g> {
    goes_on: GoesOn<'g>,
    steps: Cell<u64>,
    /// At how many steps to give up.
    most: Cell<u64>,
    stopped: Cell<bool>,
}

impl Callbacks for Watch<'_> {
    fn stop(&self) -> bool {
        self.steps.set(self.steps.get() + 1);
        // One step may take long: gates of explicit sets have thousands of inputs.
        if !(self.goes_on)(STEP) {
            self.stopped.set(true);
        }
        self.stopped.get() || self.steps.get() > self.most.get()
    }
}

/// A solver for gates.
pub struct Solver<'g> {
    goes_on: GoesOn<'g>,
    inner: batsat::Solver<Watch<'g>>,
    /// The variable of each gate that it knows.
    known: Vec<Option<batsat::Lit>>,
    variables: usize,
    /// A new one is begun when there are more.
    most: usize,
}

/// What the solver says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Together {
    /// They can.
    Possible,
    /// They cannot.
    Impossible,
    /// That takes more steps.
    Unknown,
    /// The work was called off.
    Stopped,
}

fn begin(goes_on: GoesOn) -> batsat::Solver<Watch> {
    let watch = Watch { goes_on, steps: Cell::new(0), most: Cell::new(u64::MAX), stopped: Cell::new(false) };
    batsat::Solver::new(batsat::SolverOpts::default(), watch)
}

impl<'g> Solver<'g> {
    /// A solver that knows nothing.
    pub fn new(goes_on: GoesOn<'g>) -> Self {
        Solver { goes_on, inner: begin(goes_on), known: Vec::new(), variables: 0, most: 0 }
    }

    /// Forgets all gates.
    pub fn reset(&mut self) {
        *self = Solver::new(self.goes_on);
    }

    /// Whether all these can be true together, as far as so many steps tell.
    pub fn together(&mut self, gates: &Gates, all: &[Lit], steps: u64) -> Together {
        let mut work = QUESTION;
        if self.variables > self.most {
            self.reset();
            work += BEGIN;
        }
        let assumed: Vec<batsat::Lit> = all.iter().map(|&lit| self.literal(gates, lit)).collect();
        self.most = self.most.max(MANY).max(if self.most == 0 { TIMES * self.variables } else { 0 });
        let before = self.inner.num_propagations();
        let watch = self.inner.cb();
        watch.most.set(watch.steps.get().saturating_add(steps));
        let answer = self.inner.solve_limited(&assumed);
        let propagations = self.inner.num_propagations() - before;
        if !(self.goes_on)(work + propagations * PROPAGATION) {
            return Together::Stopped;
        }
        match answer {
            answer if answer == lbool::TRUE => Together::Possible,
            answer if answer == lbool::FALSE => Together::Impossible,
            _ if self.inner.cb().stopped.get() => Together::Stopped,
            _ => Together::Unknown,
        }
    }

    /// After [`Together::Possible`]: whether one is true there. What does not matter is false.
    pub fn value(&self, lit: Lit) -> bool {
        if lit.gate() == 0 {
            return lit == Lit::TRUE;
        }
        let known = self.known.get(lit.gate()).copied().flatten();
        known.is_some_and(|known| self.inner.value_lit(known) == lbool::TRUE) != lit.is_negated()
    }

    /// The literal of a gate, which becomes known with all below it.
    fn literal(&mut self, gates: &Gates, lit: Lit) -> batsat::Lit {
        self.known.resize(gates.len().max(self.known.len()), None);
        let mut stack = vec![lit.gate()];
        while let Some(&at) = stack.last() {
            if self.known[at].is_some() {
                stack.pop();
                continue;
            }
            let before = stack.len();
            stack.extend(gates.below(at).iter().map(|lit| lit.gate()).filter(|&to| self.known[to].is_none()));
            if stack.len() == before {
                stack.pop();
                self.define(gates, at);
            }
        }
        self.of(lit)
    }

    fn of(&self, lit: Lit) -> batsat::Lit {
        let known = self.known[lit.gate()].expect("gates below are known first");
        if lit.is_negated() { !known } else { known }
    }

    fn variable(&mut self) -> batsat::Lit {
        self.variables += 1;
        batsat::Lit::new(self.inner.new_var_default(), true)
    }

    /// A variable for the conjunction of some inputs of a gate.
    fn part(&mut self, some: &[batsat::Lit]) -> batsat::Lit {
        let own = self.variable();
        self.conjunction(own, some);
        own
    }

    /// Says that a variable is true exactly if all these are.
    fn conjunction(&mut self, own: batsat::Lit, all: &[batsat::Lit]) {
        all.iter().for_each(|&one| self.clause(vec![!own, one]));
        self.clause(all.iter().map(|&one| !one).chain([own]).collect());
    }

    /// Gives a gate a variable, and says what it computes.
    fn define(&mut self, gates: &Gates, at: usize) {
        let own = self.variable();
        self.known[at] = Some(own);
        match gates.gate(at) {
            Gate::Input(_) if at == 0 => self.clause(vec![own]),
            Gate::Input(_) => {}
            Gate::And(all) => {
                let mut all: Vec<batsat::Lit> = all.iter().map(|&lit| self.of(lit)).collect();
                // The solver looks at a clause from its beginning each time that one of its literals becomes false.
                while all.len() > WIDE {
                    all = all.chunks(WIDE).map(|some| self.part(some)).collect();
                }
                self.conjunction(own, &all);
            }
            Gate::Ite([c, a, b]) => {
                let (c, a, b) = (self.of(c), self.of(a), self.of(b));
                self.clause(vec![!c, !a, own]);
                self.clause(vec![!c, a, !own]);
                self.clause(vec![c, !b, own]);
                self.clause(vec![c, b, !own]);
                // These follow, but the solver sees less without them.
                self.clause(vec![!a, !b, own]);
                self.clause(vec![a, b, !own]);
            }
        }
    }

    fn clause(&mut self, mut literals: Vec<batsat::Lit>) {
        self.inner.add_clause_reuse(&mut literals);
    }
}
