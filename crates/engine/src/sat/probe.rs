//! Room `engine/sat`: whether functions can hold together.
//!
//! # Idea
//!
//! Most functions that are asked about can hold, and a few valuations that were picked without thinking show it: each node has a word of
//! 64 bits, its values under 64 valuations of the inputs. A solver is asked only where none of the 64 will do; the
//! model that it finds replaces one of them, so that the next question of the same kind needs no solver.
//!
//! # Cost
//!
//! A word for each node, computed once; a model costs a walk through the whole graph, as the question did.

use postbop_kit::aig::{Aig, Lit, Node, Values};
use postbop_kit::sat::{Answer, Cnf, Interrupt, Solver};
use std::rc::Rc;

/// What is known about the functions of a graph.
#[derive(Default)]
pub struct Probe<'i> {
    /// The values of nodes under some valuations.
    words: Vec<u64>,
    /// The valuation that is replaced next.
    next: u32,
    solver: Option<Box<(Solver<'i>, Cnf)>>,
    /// How often solvers were asked that were dropped.
    calls: u64,
}

impl<'i> Probe<'i> {
    /// The values of a function under the valuations that were picked.
    pub fn word(&mut self, aig: &Aig, lit: Lit) -> u64 {
        for at in self.words.len()..aig.len() {
            let word = match aig.node(at) {
                Node::False => 0,
                Node::Input => scatter(at as u64),
                Node::And(a, b) => self.known(a) & self.known(b),
            };
            self.words.push(word);
        }
        self.known(lit)
    }

    fn known(&self, lit: Lit) -> u64 {
        let word = self.words[lit.node()];
        if lit.is_negated() { !word } else { word }
    }

    /// Whether all of these can hold at once. If the answer does not come from a solver there is no model.
    pub fn can_hold(&mut self, aig: &Aig, all: &[Lit], interrupt: &Interrupt<'i>) -> Answer {
        if all.contains(&Lit::FALSE) {
            return Answer::Unsat;
        }
        if all.iter().fold(!0, |word, &lit| word & self.word(aig, lit)) != 0 {
            return Answer::Sat;
        }
        let answer = self.solve(aig, all, interrupt);
        if answer == Answer::Sat {
            self.remember(&self.model(aig));
        }
        answer
    }

    /// Whether all of these can hold at once, by a solver, with a model.
    pub fn solve(&mut self, aig: &Aig, all: &[Lit], interrupt: &Interrupt<'i>) -> Answer {
        let fresh = || Box::new((Solver::new(Rc::clone(interrupt)), Cnf::default()));
        let (solver, cnf) = &mut **self.solver.get_or_insert_with(fresh);
        let assumed: Vec<_> = all.iter().map(|&lit| cnf.literal(aig, solver, lit)).collect();
        solver.solve(assumed)
    }

    /// The values of all nodes in the model that a solver found.
    pub fn model(&self, aig: &Aig) -> Values {
        let value = |at: usize| {
            let (solver, cnf) = &**self.solver.as_ref()?;
            Some(solver.value(cnf.known(Lit::positive(at))?))
        };
        aig.evaluate(|at| value(at).unwrap_or(false))
    }

    fn remember(&mut self, model: &Values) {
        let bit = 1u64 << self.next;
        self.next = (self.next + 1) % u64::BITS;
        for (at, word) in self.words.iter_mut().enumerate() {
            *word = if model.get(Lit::positive(at)) { *word | bit } else { *word & !bit };
        }
    }

    /// How many nodes the graph had when the solver was asked last.
    pub fn encoded(&self) -> usize {
        self.solver.as_ref().map_or(0, |solver| solver.1.len())
    }

    /// Whether there is a solver.
    pub fn has_solver(&self) -> bool {
        self.solver.is_some()
    }

    /// Drops the solver; the next question makes another one.
    pub fn drop_solver(&mut self) {
        self.calls = self.calls();
        self.solver = None;
    }

    /// How often solvers were asked.
    pub fn calls(&self) -> u64 {
        self.calls + self.solver.as_ref().map_or(0, |solver| solver.0.calls)
    }
}

/// Bits without a pattern, the same for the same number: the last rounds of splitmix64 (Steele, Lea, Flood 2014).
fn scatter(number: u64) -> u64 {
    let mut word = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}
