//! Room `front/fix`: formula files, to systems of equations of the calculus.
//!
//! [`read`] needs to know what the program supplies, its [`Signature`]: the types `State`, `Pc`, `Local`, `Global`, the
//! relations between states, the names of variables and labels. The language is described in the manual.

mod atom;
mod check;
mod lexer;
mod parser;
mod sort;
mod tree;

pub use sort::{Piece, Signature, Sort};

use crate::diagnostic::{Diagnostic, Sink};
use postbop_ir::Span;
use postbop_kit::calculus::{NodeId, RelationId, System};
use rustc_hash::FxHashMap as HashMap;

/// What a formula file says.
#[derive(Debug)]
pub struct Formulas {
    /// The equations.
    pub system: System,
    /// The questions and their names.
    pub queries: Vec<(String, NodeId)>,
    /// The relations between an entry and a state reached from it in the same call.
    pub paths: Vec<RelationId>,
    /// The relations that hold of the entries that are reached.
    pub entries: Vec<RelationId>,
    /// Where each relation is defined.
    pub spans: HashMap<RelationId, Span>,
}

/// Reads a formula file.
pub fn read(bytes: &[u8], signature: &Signature) -> (String, Result<Formulas, Vec<Diagnostic>>) {
    if let Some(flaw) = crate::source::not_text(bytes) {
        return (String::new(), Err(vec![flaw]));
    }
    let text = crate::source::decode(bytes);
    let mut sink = Sink::default();
    let items = parser::parse(&text, &mut sink);
    let formulas = match sink.has_errors() {
        true => None,
        false => check::check(&items, signature, &mut sink),
    };
    (text, formulas.ok_or_else(|| sink.finish()))
}
