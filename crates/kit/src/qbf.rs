//! Room `kit`: formulas with one alternation of quantifiers.
//!
//! # Idea
//!
//! Does every valuation of X have a valuation of Y such that φ holds? Two solvers play against each other. One proposes a
//! *candidate*: a valuation of X for which no answer is known. The other one looks for an *answer*, a valuation of Y, to this
//! candidate. If there is none, the candidate is a counterexample. If there is one, it is made a function of X that answers
//! many candidates at once (`qbf/answer`), and the first solver looks for candidates that this function does not answer, and in which φ sees something
//! else. When there are none left, every valuation of X has an answer.
//!
//! # Paper
//!
//! \[cegar-2qbf\]. # Departures: an answer is a function, not a valuation, wherever φ itself says which function: where it is a
//! conjunction that has `y = f(X)` among its parts. Formulas that compare two sets of valuations consist of such equations.
//!
//! # Cost
//!
//! In the worst case as many rounds as there are valuations of Y, or of what φ sees of X if these are fewer. A round is two questions to solvers and a few copies of φ.

mod answer;
mod qdimacs;

use crate::aig::{Aig, Lit, Node};
use crate::sat::{Answer, Cnf, Interrupt, Solver};
use answer::Definitions;
use rustc_hash::FxHashSet as HashSet;
use std::rc::Rc;

/// For all values of some inputs there are values of the others such that a function holds.
pub struct Formula {
    /// Where the function is.
    pub aig: Aig,
    /// The inputs X.
    pub forall: Vec<Lit>,
    /// The inputs Y. Values are picked for the first ones first; those that the others determine should be last.
    pub exists: Vec<Lit>,
    /// The function φ, of these inputs and of no others.
    pub phi: Lit,
    /// Functions of X that are all that φ sees of X: what answers one valuation answers all for which these have the same values. They
    /// may be the inputs X themselves.
    pub view: Vec<Lit>,
}

/// What is known of a formula.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Truth {
    /// It is true.
    True,
    /// It is not: for these values of X, in their order, there are no values of Y.
    False(Vec<bool>),
    /// The interrupt said no before that was known.
    Stopped,
}

/// What happened how often.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Formulas that were decided.
    pub formulas: u64,
    /// Answers to candidates.
    pub rounds: u64,
    /// Questions to solvers.
    pub calls: u64,
}

/// So many nodes are made with the work of one step of a solver.
const NODES: usize = 64;

impl Formula {
    /// Decides the formula.
    pub fn decide(mut self, interrupt: &Interrupt, counts: &mut Counts) -> Truth {
        counts.formulas += 1;
        let exists: HashSet<usize> = self.exists.iter().map(|lit| lit.node()).collect();
        let mut candidates = Player::new(interrupt);
        let mut answers = Player::new(interrupt);
        let (closed, open): (Vec<Lit>, Vec<Lit>) = disjuncts(&self.aig, self.phi)
            .into_iter()
            .partition(|&part| self.aig.cone([part]).iter().all(|at| !exists.contains(at)));
        closed.into_iter().for_each(|part| candidates.holds(&self.aig, !part));
        let truth = loop {
            match candidates.solver.solve([]) {
                Answer::Stopped => break Truth::Stopped,
                Answer::Unsat => break Truth::True,
                Answer::Sat => {}
            }
            let candidate: Vec<bool> = self.forall.iter().map(|&lit| candidates.value(lit)).collect();
            match answers.answer(&self, &candidate) {
                Answer::Stopped => break Truth::Stopped,
                Answer::Unsat => break Truth::False(candidate),
                Answer::Sat => {}
            }
            counts.rounds += 1;
            let before = self.aig.len();
            let values = self.aig.evaluate(|at| answers.value(Lit::positive(at)));
            let part = open.iter().copied().find(|&part| values.get(part));
            let part = part.expect("the closed parts do not hold for a candidate");
            let differs = self.view.iter().map(|&lit| if values.get(lit) { !lit } else { lit });
            candidates.one_holds(&self.aig, differs);
            let answered = Definitions::new(&mut self.aig, &self.exists, values).answer(part);
            candidates.holds(&self.aig, !answered);
            if !interrupt(((self.aig.len() - before) / NODES) as u64) {
                break Truth::Stopped;
            }
        };
        counts.calls += candidates.solver.calls + answers.solver.calls;
        truth
    }
}

/// A solver that knows functions.
struct Player<'i> {
    solver: Solver<'i>,
    cnf: Cnf,
}

impl<'i> Player<'i> {
    fn new(interrupt: &Interrupt<'i>) -> Self {
        Player { solver: Solver::for_hard_questions(Rc::clone(interrupt)), cnf: Cnf::default() }
    }

    /// A function holds from now on.
    fn holds(&mut self, aig: &Aig, lit: Lit) {
        self.one_holds(aig, [lit].into_iter());
    }

    /// One of these functions holds from now on.
    fn one_holds(&mut self, aig: &Aig, lits: impl Iterator<Item = Lit>) {
        let literals: Vec<_> = lits.map(|lit| self.cnf.literal(aig, &mut self.solver, lit)).collect();
        self.solver.clause(literals);
    }

    /// Looks for an answer to a candidate.
    fn answer(&mut self, formula: &Formula, candidate: &[bool]) -> Answer {
        let Formula { aig, forall, phi, .. } = formula;
        let fixed = forall.iter().zip(candidate).map(|(&lit, &value)| if value { lit } else { !lit });
        let assumed: Vec<_> =
            fixed.chain([*phi]).map(|lit| self.cnf.literal(aig, &mut self.solver, lit)).collect();
        self.solver.solve(assumed)
    }

    /// The value of a literal in the model; of one that no question was about, false.
    fn value(&self, lit: Lit) -> bool {
        self.cnf.known(lit).is_some_and(|literal| self.solver.value(literal))
    }
}

/// The parts of which a function is a disjunction.
fn disjuncts(aig: &Aig, root: Lit) -> Vec<Lit> {
    conjuncts(aig, !root).into_iter().map(|part| !part).collect()
}

/// The parts of which a function is a conjunction, each once.
fn conjuncts(aig: &Aig, root: Lit) -> Vec<Lit> {
    let (mut parts, mut stack) = (Vec::new(), vec![root]);
    let mut seen: HashSet<Lit> = HashSet::default();
    while let Some(lit) = stack.pop() {
        if !seen.insert(lit) {
            continue;
        }
        match aig.node(lit.node()) {
            Node::And(a, b) if !lit.is_negated() => stack.extend([b, a]),
            _ => parts.push(lit),
        }
    }
    parts
}

#[cfg(test)]
mod tests;
