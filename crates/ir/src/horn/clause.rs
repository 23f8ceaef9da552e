//! Room `ir/horn`: one clause, and the three ways to write it.

use super::symbol::{Constant, Sort, Symbol};
use crate::ids::{Id, VarId};
use crate::program::Program;
use crate::types::Type;
use crate::value::Value;
use std::collections::HashSet;
use std::fmt::{self, Write};

/// What a variable of a clause stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Slot {
    /// The value of a variable at the entry of the procedure.
    Entry(VarId),
    /// Its value where the clause begins.
    Now(VarId),
    /// Its n-th new value since.
    Next(VarId, u32),
    /// A choice.
    Choice(u32),
    /// A result of the n-th call, by its position.
    Result(u32, u32),
    /// A local of the procedure that the n-th call enters, at its entry or its exit.
    Inside(VarId, u32),
}

impl Slot {
    /// The variable whose type it has, if it is that of a variable.
    pub fn var(self) -> Option<VarId> {
        match self {
            Slot::Entry(var) | Slot::Now(var) | Slot::Next(var, _) | Slot::Inside(var, _) => Some(var),
            Slot::Choice(_) | Slot::Result(..) => None,
        }
    }

    /// Its number among choices or results.
    pub fn number(self) -> usize {
        match self {
            Slot::Choice(at) | Slot::Result(at, _) => at as usize,
            _ => 0,
        }
    }

    /// Its name. The last part of a name belongs to it alone.
    pub fn write(self, program: &Program, out: &mut dyn Write) -> fmt::Result {
        let name = |var: VarId| program.vars()[var].name.as_str();
        match self {
            Slot::Entry(var) => write!(out, "{}", Symbol(name(var), format_args!(".e{}", var.index()))),
            Slot::Now(var) => write!(out, "{}", Symbol(name(var), format_args!(".v{}", var.index()))),
            Slot::Next(var, 0) => write!(out, "{}", Symbol(name(var), format_args!(".n{}", var.index()))),
            Slot::Next(var, nth) => {
                write!(out, "{}", Symbol(name(var), format_args!(".n{}.{nth}", var.index())))
            }
            Slot::Choice(at) => write!(out, "choice.k{at}"),
            Slot::Result(at, 0) => write!(out, "result.r{at}"),
            Slot::Result(at, nth) => write!(out, "result.r{at}.{nth}"),
            Slot::Inside(var, nth) => {
                write!(out, "{}", Symbol(name(var), format_args!(".i{}.{nth}", var.index())))
            }
        }
    }
}

/// A clause.
#[derive(Clone, Default)]
pub struct Clause {
    vars: Vec<(Slot, Type)>,
    known: HashSet<Slot>,
    /// The premises as text, each after a blank, and how many they are.
    premises: String,
    count: usize,
    head: String,
}

impl Clause {
    /// Mentions a variable at the end of a text.
    pub fn mention(&mut self, program: &Program, slot: Slot, ty: Type, out: &mut String) {
        if self.known.insert(slot) {
            self.vars.push((slot, ty));
        }
        slot.write(program, out).expect("a string takes all text");
    }

    /// Adds a premise.
    pub fn premise(&mut self, text: &str) {
        self.premises.push(' ');
        self.premises.push_str(text);
        self.count += 1;
    }

    /// The same with another head.
    pub fn implies(mut self, head: String) -> Self {
        self.head = head;
        self
    }

    fn body(&self, out: &mut dyn Write) -> fmt::Result {
        match self.count {
            0 => write!(out, "{}", self.head),
            1 => write!(out, "(=>{} {})", self.premises, self.head),
            _ => write!(out, "(=> (and{}) {})", self.premises, self.head),
        }
    }

    /// For all values of its variables.
    pub fn quantified(&self, program: &Program, out: &mut dyn Write) -> fmt::Result {
        out.write_str("(assert ")?;
        for (at, (slot, ty)) in self.vars.iter().enumerate() {
            out.write_str(if at == 0 { "(forall ((" } else { " (" })?;
            slot.write(program, out)?;
            write!(out, " {})", Sort(*ty))?;
        }
        if !self.vars.is_empty() {
            out.write_str(") ")?;
        }
        self.body(out)?;
        out.write_str(if self.vars.is_empty() { ")\n" } else { "))\n" })
    }

    /// For no values false: a question whose answer must be `unsat`.
    pub fn refuted(&self, program: &Program, out: &mut dyn Write) -> fmt::Result {
        out.write_str("(push 1)\n")?;
        for (slot, ty) in &self.vars {
            out.write_str("(declare-const ")?;
            slot.write(program, out)?;
            writeln!(out, " {})", Sort(*ty))?;
        }
        out.write_str("(assert (not ")?;
        self.body(out)?;
        out.write_str("))\n(set-info :status unsat)\n(check-sat)\n(pop 1)\n")
    }

    /// With these values of its variables.
    pub fn instance(
        &self,
        program: &Program,
        value: impl Fn(Slot) -> Value,
        out: &mut dyn Write,
    ) -> fmt::Result {
        out.write_str("(assert ")?;
        for (at, (slot, ty)) in self.vars.iter().enumerate() {
            out.write_str(if at == 0 { "(let ((" } else { " (" })?;
            slot.write(program, out)?;
            write!(out, " {})", Constant(*ty, value(*slot).get()))?;
        }
        if !self.vars.is_empty() {
            out.write_str(") ")?;
        }
        self.body(out)?;
        out.write_str(if self.vars.is_empty() { ")\n" } else { "))\n" })
    }
}
