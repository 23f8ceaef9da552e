//! Room `front/moped`: symbolic pushdown systems, in the format of Moped, to program graphs.
//!
//! A system rewrites a control state and the top of a stack, where global variables go with the control state and each stack symbol has
//! local variables of its own. A formula for each rule relates their values before and after. The format is described in the manual.
//!
//! ```
//! use postbop_front::moped;
//!
//! let system = "global int x(2); (q (x = 0) <a>) q <a> --> q <b a> (x' = x + 1) q <b> --> q <>";
//! let (program, diagnostics) = moped::read(system);
//! assert!(diagnostics.is_empty());
//! assert!(program.unwrap().labels().iter().any(|label| label.name == "b"));
//! ```
//!
//! | step | file |
//! |---|---|
//! | text to tokens | `lexer` |
//! | tokens to a flat tree | `parser`, `parse_expr`, `tree` |
//! | names to variables, and types | `check` |
//! | formulas without quantifiers and indices | `expand`, `formula` |
//! | formulas to values and what is left to test | `solve` |
//! | formulas to expressions | `emit` |
//! | heads to procedures | `frames` |
//! | procedures and rules to the graph | `lower`, `edges` |
//! | rules as they are, for commands that print configurations | `symbolic` |

mod check;
mod edges;
mod emit;
mod expand;
mod formula;
mod frames;
mod lexer;
mod lower;
mod parse_expr;
mod parser;
mod solve;
pub mod symbolic;
mod tree;

use crate::diagnostic::{Diagnostic, Sink};
use crate::plain::{Draft, Plain};
use postbop_ir::Program;

/// Reads a symbolic pushdown system. Without errors there is a program.
pub fn read(text: &str) -> (Option<Program>, Vec<Diagnostic>) {
    let mut sink = Sink::default();
    let lexed = lexer::lex(text, &mut sink);
    if sink.has_errors() {
        return (None, sink.finish());
    }
    let mut system = parser::parse(text, text.len(), &lexed, &mut sink);
    let scopes = check::check(&mut system, &lexed.names, &mut sink);
    let found = match sink.has_errors() {
        true => None,
        false => lower::lower(&system, &scopes, &lexed.names, &mut sink),
    };
    (found, sink.finish())
}

/// The system as it was written, if it has no variables and no error.
pub fn plain(text: &str) -> Result<Plain, &'static str> {
    let mut sink = Sink::default();
    let lexed = lexer::lex(text, &mut sink);
    let system = parser::parse(text, text.len(), &lexed, &mut sink);
    let has_formulas = system.rules.iter().any(|rule| rule.formula.is_some());
    if !system.vars.is_empty() || has_formulas {
        return Err("the system has variables or formulas");
    }
    let Some(start) = &system.start else { return Err("the system has no initial configuration") };
    let names: Vec<String> = lexed.names.iter().map(|&name| name.to_owned()).collect();
    let mut draft = Draft::new(Box::new(move |sym: lexer::Sym| names[sym as usize].clone()));
    draft.start(start.state, [start.symbol()].into_iter());
    system.rules.iter().for_each(|rule| draft.rule(rule.from, rule.state, &rule.stack));
    Ok(draft.plain)
}

/// Whether a text is in this format, and not in that of CUBA, which has the same ending. It begins with declarations or with the initial
/// configuration in parentheses, and its rules have longer arrows.
pub fn is_moped(text: &str) -> bool {
    let mut first = true;
    for line in text.lines() {
        let content = line.split(['#', '%', '{', '}']).next().unwrap_or_default();
        let word = content.split_whitespace().next().unwrap_or_default();
        let opens =
            word.starts_with('(') || ["define", "global", "local"].iter().any(|key| word.starts_with(key));
        if first && opens || content.contains("-->") {
            return true;
        }
        first &= word.is_empty();
    }
    false
}
