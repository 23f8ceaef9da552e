//! Room `front/horn`: constrained Horn clauses, in SMT-LIB, to program graphs.
//!
//! A system of clauses declares relations and says which tuples are in them, perhaps because others are. It has a model exactly if false cannot be derived, and
//! the program here reaches the label `ERROR` exactly if it can: `sat` is `holds`, and `unsat` is `violated`. What is read, and what is not, is in
//! the manual.
//!
//! ```
//! use postbop_front::horn;
//!
//! let system = "(set-logic HORN)
//!     (declare-fun even (Int) Bool)
//!     (assert (even 0))
//!     (assert (forall ((n Int)) (=> (even n) (even (+ n 2)))))
//!     (assert (forall ((n Int)) (=> (and (even n) (= n 7)) false)))";
//! let (program, diagnostics) = horn::read(system);
//! assert!(diagnostics.is_empty());
//! assert_eq!(program.unwrap().labels()[0].name, "ERROR");
//! ```
//!
//! | step | file |
//! |---|---|
//! | text to s-expressions | `sexp` |
//! | commands | `script` |
//! | s-expressions to terms | `parse`, `functions`, `term` |
//! | formulas to clauses | `clause` |
//! | which procedures there are, and the argument that they are right | `walk` |
//! | procedures and clauses to the graph | `lower`, `solve`, `emit` |

mod clause;
mod emit;
mod functions;
mod lower;
mod parse;
mod script;
mod sexp;
mod solve;
mod term;
mod vectors;
mod walk;

pub use lower::ERROR;

use crate::diagnostic::{Diagnostic, Sink};
use postbop_ir::Program;

/// Reads a system of clauses. Without errors there is a program.
pub fn read(text: &str) -> (Option<Program>, Vec<Diagnostic>) {
    let mut sink = Sink::default();
    let tree = sexp::read(text, &mut sink);
    if sink.has_errors() {
        return (None, sink.finish());
    }
    let mut system = script::read(&tree, &mut sink);
    drop(tree);
    if sink.has_errors() {
        return (None, sink.finish());
    }
    let walks = walk::walks(&system);
    let program = lower::lower(&mut system, &walks);
    (Some(program), sink.finish())
}

/// Whether a text is in this format: its first expression is a command.
pub fn is_horn(text: &str) -> bool {
    let mut rest = text.trim_start_matches('\u{FEFF}').trim_start();
    while let Some(comment) = rest.strip_prefix(';') {
        rest = comment.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
    }
    let Some(rest) = rest.strip_prefix('(') else { return false };
    let word = rest.trim_start().split(|c: char| c.is_whitespace() || matches!(c, '(' | ')')).next();
    let commands = [
        "set-logic",
        "set-info",
        "set-option",
        "declare-fun",
        "declare-rel",
        "declare-var",
        "define-fun",
        "assert",
    ];
    word.is_some_and(|word| commands.contains(&word))
}
