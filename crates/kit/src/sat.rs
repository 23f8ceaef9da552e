//! Room `kit`: satisfiability, asked again and again.
//!
//! # Idea
//!
//! A solver is given clauses and asked whether they can hold together with some literals that are *assumed* for this
//! question only. The answer is a model, or a *core*: assumptions that cannot all hold. What the solver learned stays for the
//! next question. A clause that is to be dropped later has a literal of its own that is assumed as long as it counts.
//!
//! The solver behind it is `batsat`. With the feature `cadical` there is another one, for hard questions. Nothing outside this room knows that.

#[cfg(feature = "cadical")]
mod cadical;
mod cnf;
mod pure;

pub use cnf::Cnf;

use std::ops::Not;
use std::rc::Rc;

/// A variable of a solver, or its negation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Literal(u32);

impl Literal {
    fn var(self) -> usize {
        (self.0 >> 1) as usize
    }

    fn is_negated(self) -> bool {
        self.0 & 1 != 0
    }
}

impl Not for Literal {
    type Output = Literal;
    fn not(self) -> Literal {
        Literal(self.0 ^ 1)
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

/// About how many bytes a solver takes that knows little: it begins with room for a million literals.
pub const LEAST_BYTES: u64 = 4 << 20;

/// What a solver has to do.
trait Backend {
    /// Adds a variable. They are numbered from 0 on.
    fn add_var(&mut self) -> usize;
    /// Adds a clause.
    fn clause(&mut self, literals: &mut dyn Iterator<Item = Literal>);
    /// Whether the clauses can hold together with these literals. Asks the interrupt now and then.
    fn solve(&mut self, assumed: &mut dyn Iterator<Item = Literal>) -> Answer;
    /// The value of a literal in the last model, whatever was added since.
    fn value(&self, literal: Literal) -> bool;
    /// Whether an assumption is in the last core.
    fn in_core(&self, literal: Literal) -> bool;
}

/// A solver.
pub struct Solver<'i> {
    backend: Box<dyn Backend + 'i>,
    interrupt: Interrupt<'i>,
    /// How often it was asked.
    pub calls: u64,
}

impl<'i> Solver<'i> {
    /// A solver without clauses, for many questions.
    pub fn new(interrupt: Interrupt<'i>) -> Self {
        let backend = Box::new(pure::Batsat::new(Rc::clone(&interrupt)));
        Solver { backend, interrupt, calls: 0 }
    }

    /// A solver without clauses, for hard questions.
    #[cfg(feature = "cadical")]
    pub fn for_hard_questions(interrupt: Interrupt<'i>) -> Self {
        let backend = Box::new(cadical::Cadical::new(Rc::clone(&interrupt)));
        Solver { backend, interrupt, calls: 0 }
    }

    /// A solver without clauses, for hard questions: the same as for others, without the feature `cadical`.
    #[cfg(not(feature = "cadical"))]
    pub fn for_hard_questions(interrupt: Interrupt<'i>) -> Self {
        Solver::new(interrupt)
    }

    /// A new variable.
    pub fn fresh(&mut self) -> Literal {
        let number = u32::try_from(self.backend.add_var()).ok().filter(|&number| number < u32::MAX >> 1);
        Literal(number.expect("fewer than 2^31 variables") << 1)
    }

    /// Adds a clause.
    pub fn clause(&mut self, literals: impl IntoIterator<Item = Literal>) {
        self.backend.clause(&mut literals.into_iter());
    }

    /// Whether the clauses can hold together with these literals.
    pub fn solve(&mut self, assumed: impl IntoIterator<Item = Literal>) -> Answer {
        self.calls += 1;
        // A question costs something even if it is answered at once.
        if !(self.interrupt)(1) {
            return Answer::Stopped;
        }
        self.backend.solve(&mut assumed.into_iter())
    }

    /// The value of a literal in the model that was found; a literal that does not matter is false.
    pub fn value(&self, literal: Literal) -> bool {
        self.backend.value(literal)
    }

    /// Whether an assumption is in the core that was found.
    pub fn in_core(&self, literal: Literal) -> bool {
        self.backend.in_core(literal)
    }
}

#[cfg(test)]
mod tests;
