//! Room `front/temporal`: formulas of linear temporal logic, as `--ltl` takes them.
//!
//! The syntax is in `docs/liveness.md`. `parse` takes a text apart, `atom` finds out what its names
//! mean in a program.

use super::Atom;
use super::atom::resolve;
use super::parse::Parser;
use crate::diagnostic::{Diagnostic, Sink};
use crate::read::too_large;
use postbop_ir::Program;
use postbop_kit::buchi::Formula;

/// The longest text of a formula, in bytes.
const LONGEST: usize = 10_000_000;

/// A formula about the runs of a program.
#[derive(Clone, Debug)]
pub struct Ltl {
    /// The formula. Its atoms are numbers of the list.
    pub formula: Formula,
    /// What the atoms mean.
    pub atoms: Vec<Atom>,
}

/// Reads a formula about a program. Without errors there is a formula.
pub fn ltl(text: &str, program: &Program) -> (Option<Ltl>, Vec<Diagnostic>) {
    if text.len() > LONGEST {
        return (None, vec![too_large(LONGEST)]);
    }
    let mut sink = Sink::default();
    let mut parser = Parser::new(text, program, &mut sink);
    if parser.sink.has_errors() {
        return (None, sink.finish());
    }
    if parser.formula(true).is_ok() && !parser.is_at_end() {
        let _ = parser.expected::<()>("an operator");
    }
    let parsed = parser.finish();
    let found = resolve(parsed, program, &mut sink);
    let ltl = found.and_then(|(mut formulas, atoms)| Some(Ltl { formula: formulas.pop()?, atoms }));
    (ltl, sink.finish())
}
