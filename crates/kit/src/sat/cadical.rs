//! Room `kit`: the solver CaDiCaL \[cadical\], with the feature of that name: more time for each question, less for a hard one.
//!
//! It is asked for a number of conflicts and decisions at a time; between two portions the interrupt is asked. Models and cores are
//! copied: the solver forgets them as soon as a clause is added. Its memory is not that of Rust, so limits of memory do not see it.

use super::{Answer, Backend, Interrupt, Literal};
use cadical_sys::{CaDiCal, Status};
use rustc_hash::FxHashSet as HashSet;

/// So many conflicts, and so many decisions, are a portion.
const CONFLICTS: i32 = 256;
const DECISIONS: i32 = 1 << 14;

/// A solver of this kind.
pub struct Cadical<'i> {
    inner: CaDiCal,
    interrupt: Interrupt<'i>,
    vars: usize,
    model: Vec<bool>,
    core: HashSet<Literal>,
}

impl<'i> Cadical<'i> {
    /// A solver without clauses.
    pub fn new(interrupt: Interrupt<'i>) -> Self {
        let mut inner = CaDiCal::new();
        // Variables of its own would have numbers that are ours.
        inner.set("factor", 0);
        Cadical { inner, interrupt, vars: 0, model: Vec::new(), core: HashSet::default() }
    }
}

fn own(literal: Literal) -> i32 {
    let number = i32::try_from(literal.var() + 1).expect("fewer than 2^31 variables");
    if literal.is_negated() { -number } else { number }
}

impl Backend for Cadical<'_> {
    fn add_var(&mut self) -> usize {
        self.vars += 1;
        let number = self.inner.declare_one_more_variable();
        debug_assert_eq!(number as usize, self.vars);
        self.vars - 1
    }

    fn clause(&mut self, literals: &mut dyn Iterator<Item = Literal>) {
        literals.for_each(|literal| self.inner.add(own(literal)));
        self.inner.add(0);
    }

    fn solve(&mut self, assumed: &mut dyn Iterator<Item = Literal>) -> Answer {
        let assumed: Vec<Literal> = assumed.collect();
        let mut before = self.inner.get_statistic_value("decisions");
        loop {
            assumed.iter().for_each(|&literal| self.inner.assume(own(literal)));
            self.inner.limit("conflicts", CONFLICTS);
            self.inner.limit("decisions", DECISIONS);
            let status = self.inner.solve();
            let decisions = self.inner.get_statistic_value("decisions");
            let goes_on = (self.interrupt)(u64::try_from(decisions - before).unwrap_or(0).max(1));
            before = decisions;
            match status {
                Status::SATISFIABLE => {
                    self.model = (1..=self.vars as i32).map(|var| self.inner.val(var) > 0).collect();
                    return Answer::Sat;
                }
                Status::UNSATISFIABLE => {
                    self.core = assumed.into_iter().filter(|&it| self.inner.failed(own(it))).collect();
                    return Answer::Unsat;
                }
                Status::UNKNOWN if goes_on => {}
                Status::UNKNOWN => return Answer::Stopped,
            }
        }
    }

    fn value(&self, literal: Literal) -> bool {
        self.model.get(literal.var()).is_some_and(|&value| value != literal.is_negated())
    }

    fn in_core(&self, literal: Literal) -> bool {
        self.core.contains(&literal)
    }
}
