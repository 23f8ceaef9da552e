//! Room `ir/horn`: a sequential program as constrained Horn clauses, in SMT-LIB.
//!
//! # Idea
//!
//! For each location l of a procedure p there is a relation between the values with which p is entered and the values at l. For each procedure
//! there is a summary, `p.returns`, between the values at its entry and what it leaves behind, and a relation `p.fails` of the entry
//! values from which a run gets to a target before p returns. The clauses:
//!
//! * at the entry of p, the values at the entry are the values now: l(e, e) for every e;
//! * an edge from l to l' that turns c into c': l(e, c) implies l'(e, c'); a return: l(e, c) implies p.returns(e, what it leaves);
//! * a call of q with the values a: l(e, c) and q.returns(a, x) imply l'(e, c'), where c' is c with what x leaves; l(e, c) and q.fails(a) imply p.fails(e);
//! * a target t in p: t(e, c) implies p.fails(e);
//! * the query: main.fails(e) implies false.
//!
//! The clauses have a model exactly if no run reaches a target. *If there is a run*, the facts about it can be derived: by induction over its steps, l(e, c) for
//! each activation on its stack, q.returns(a, x) for each completed call; at the target p.fails(e), and by the clauses on calls the same of each caller up to `main`, so
//! false. *If false can be derived*, the derivation is read as a run: a derivation of l(e, c) is a run of one activation of p from e, with a completed call for each use of
//! q.returns, and a derivation of p.fails(e) is such a run to a target, or to a call followed by a run of the callee to one.
//!
//! A procedure is entered with any values, not with those of some caller: solvers work from the query backwards, and ask for the
//! entries that they need.
//!
//! The same clauses are written in three ways: universally quantified ([`write()`]); negated one by one, after a model of them, so that a
//! solver answers `unsat` to each ([`model`]); and with values for their variables, so that the instances together are `unsat` ([`derivation`]).
//!
//! # Departures
//!
//! A relation speaks of the globals that the procedure or its callees mention, not of all, and of the values at the entry only where a variable may
//! have changed since. Procedures that `main` never calls have no clauses.
//!
//! # Cost
//!
//! Linear in the number of edges times the number of variables in scope, and written clause by clause.

mod clause;
pub mod derivation;
mod interface;
mod make;
pub mod model;
mod symbol;
mod term;

use crate::ids::LocId;
use crate::program::Program;
use clause::Clause;
use interface::{Extra, Interfaces};
use make::Maker;
use std::fmt;

/// Why a file cannot be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The writer has no room.
    Write,
    /// It would not fit the form, and this is why.
    Unfit(String),
}

impl From<fmt::Error> for Failure {
    fn from(_: fmt::Error) -> Self {
        Failure::Write
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Write => write!(f, "it could not be written"),
            Failure::Unfit(why) => f.write_str(why),
        }
    }
}

/// Writes the clauses that have a model exactly if no run of a sequential program reaches one of the locations.
pub fn write(program: &Program, targets: &[LocId], out: &mut dyn fmt::Write) -> Result<(), Failure> {
    assert!(program.is_sequential(), "clauses are made of sequential programs");
    let extra = Extra::default();
    let interfaces = Interfaces::new(program, targets, &extra);
    writeln!(out, "(set-logic HORN)")?;
    declare(&interfaces, out)?;
    let whole = |_: LocId| true;
    Maker { program, interfaces: &interfaces, targets, is_cut: &whole }
        .clauses(&mut |clause: &Clause| Ok(clause.quantified(program, out)?))?;
    writeln!(out, "(check-sat)")?;
    Ok(())
}

/// Declares the relations.
fn declare(interfaces: &Interfaces, out: &mut dyn fmt::Write) -> fmt::Result {
    for relation in interfaces.relations() {
        let sorts = interfaces.arguments(relation);
        write!(out, "(declare-fun {} (", interfaces.name(relation))?;
        for (at, (_, ty)) in sorts.iter().enumerate() {
            write!(out, "{}{}", if at > 0 { " " } else { "" }, symbol::Sort(*ty))?;
        }
        writeln!(out, ") Bool)")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
