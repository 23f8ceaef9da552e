//! Room `kit`: functions of an and-inverter graph in a solver.
//!
//! A node gets a variable of the solver, and the clauses that tie it to the nodes below it, when a question first needs it
//! \[tseitin\]. So a solver knows no more of a graph than it was asked about.

use super::{Literal, Solver};
use crate::aig::{Aig, Lit, Node};

/// Which variable of a solver stands for which node of a graph.
#[derive(Default)]
pub struct Cnf {
    known: Vec<Option<Literal>>,
}

impl Cnf {
    /// How many nodes the graph had when it was looked at last.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks whether a graph was never looked at")]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// The literal of the solver for one of the graph.
    pub fn literal(&mut self, aig: &Aig, solver: &mut Solver, lit: Lit) -> Literal {
        self.known.resize(aig.len(), None);
        let mut stack = vec![lit.node()];
        while let Some(&at) = stack.last() {
            if self.known[at].is_some() {
                stack.pop();
                continue;
            }
            let below = match aig.node(at) {
                Node::And(a, b) => [a, b],
                _ => [Lit::FALSE; 2],
            };
            let missing =
                below.iter().map(|lit| lit.node()).filter(|&to| to != 0 && self.known[to].is_none());
            let before = stack.len();
            stack.extend(missing);
            if stack.len() > before {
                continue;
            }
            stack.pop();
            let own = solver.fresh();
            match aig.node(at) {
                Node::False => solver.clause([!own]),
                Node::Input => {}
                Node::And(a, b) => {
                    let (a, b) = (self.made(a), self.made(b));
                    solver.clause([!own, a]);
                    solver.clause([!own, b]);
                    solver.clause([own, !a, !b]);
                }
            }
            self.known[at] = Some(own);
        }
        self.made(lit)
    }

    fn made(&self, lit: Lit) -> Literal {
        self.known(lit).expect("nodes below are made first")
    }

    /// The literal of the solver, if it has one already.
    pub fn known(&self, lit: Lit) -> Option<Literal> {
        let own = self.known.get(lit.node()).copied().flatten()?;
        Some(if lit.is_negated() { !own } else { own })
    }
}
