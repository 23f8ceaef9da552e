//! Room `front`: Boolean programs and their extensions, in every dialect of the family.
//!
//! `lexer` makes tokens, `parser` a flat `tree`, `check` finds out what names mean and what is wrong, `lower` makes
//! the program graph; `print` writes a tree as canonical source. `dialect` knows where the tools disagree.
//!
//! Nothing here recurses over the source: every step is a loop over a flat list, so that depth costs memory and
//! not stack.

pub mod check;
pub mod concurrent;
pub mod dialect;
pub mod flow;
pub mod infer;
pub mod lexer;
pub mod lower;
pub mod lower_expr;
pub mod lower_stmt;
pub mod parse_block;
pub mod parse_decl;
pub mod parse_expr;
pub mod parse_stmt;
pub mod parser;
pub mod print;
pub mod print_expr;
pub mod scope;
pub mod token;
pub mod tree;

use crate::Dialect;
use crate::diagnostic::{Code, Diagnostic, Sink};
use lexer::Lexed;
use postbop_ir::{Program, Span};
use tree::Tree;

/// A source in its dialect: tokens and tree.
struct Source<'t> {
    lexed: Lexed<'t>,
    tree: Tree,
    satabs: bool,
}

fn source<'t>(text: &'t str, dialect: Dialect, sink: &mut Sink) -> Option<Source<'t>> {
    if u32::try_from(text.len()).is_err() {
        sink.push(Diagnostic::new(Code::TooMany, Span::default(), "a source of 4 GiB or more"));
        return None;
    }
    let mut trial = Sink::default();
    let mut lexed = lexer::lex(text, dialect == Dialect::Satabs, &mut trial);
    let satabs = dialect::is_satabs(text, &lexed, dialect);
    if satabs && dialect == Dialect::Auto {
        trial = Sink::default();
        lexed = lexer::lex(text, true, &mut trial);
    }
    *sink = trial;
    if lexed.bad > lexer::MAX_BAD {
        return None;
    }
    let tree = parser::parse(text, &lexed, satabs, sink);
    Some(Source { lexed, tree, satabs })
}

/// Reads a text: the program, if it is a correct one of one thread, and where threads come in otherwise.
pub fn read(text: &str, dialect: Dialect, sink: &mut Sink) -> (Option<Program>, Option<Span>) {
    let Some(Source { lexed, tree, .. }) = source(text, dialect, sink) else { return (None, None) };
    let concurrent = concurrent::concurrent(&tree, &lexed.names);
    let meaning = check::check(&tree, &lexed.names, concurrent, sink);
    let program = match (meaning.main, concurrent) {
        (Some(main), None) if !sink.has_errors() => Some(lower::lower(&tree, &meaning, &lexed.names, main)),
        _ => None,
    };
    (program, concurrent)
}

/// The canonical source of a text, if it can be parsed.
pub fn format(text: &str, dialect: Dialect, sink: &mut Sink) -> Option<String> {
    let Source { lexed, tree, satabs } = source(text, dialect, sink)?;
    (!sink.has_errors()).then(|| print::print(text, &lexed, &tree, satabs))
}
