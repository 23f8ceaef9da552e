//! Room `front`: Boolean programs and their extensions, in every dialect of the family.
//!
//! `lexer` makes tokens, `parser` a flat `tree`, `check` finds out what names mean and what is wrong, `lower` makes
//! the program graph; `print` writes a tree as canonical source. `dialect` knows where the tools disagree, `doubt` when
//! that matters.
//!
//! Nothing here recurses over the source: every step is a loop over a flat list, so that depth costs memory and
//! not stack.

pub mod check;
pub mod concurrent;
pub mod dialect;
pub mod doubt;
pub mod flow;
pub mod infer;
pub mod lexer;
pub mod lower;
pub mod lower_expr;
pub mod lower_live;
pub mod lower_stmt;
pub mod lower_threads;
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

use crate::diagnostic::Sink;
use crate::read::{MOST_THREADS, too_large, too_many_threads};
use crate::{Dialect, LARGEST, Options};
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
    if text.len() > LARGEST {
        sink.push(too_large(LARGEST));
        return None;
    }
    let mut trial = Sink::default();
    let mut lexed = lexer::lex(text, (dialect == Dialect::Satabs).then_some(b'-'), &mut trial);
    let satabs = dialect::is_satabs(text, &lexed, dialect);
    if satabs && dialect == Dialect::Auto {
        trial = Sink::default();
        lexed = lexer::lex(text, Some(b'-'), &mut trial);
    }
    *sink = trial;
    if lexed.bad > lexer::MAX_BAD {
        return None;
    }
    let mut tree = parser::parse(text, &lexed, satabs, sink);
    if dialect != Dialect::Auto {
        // A user who names the dialect is in no doubt.
        tree.doubts.clear();
    }
    Some(Source { lexed, tree, satabs })
}

/// What was read of a text.
#[derive(Default)]
pub struct Read {
    /// The program, if the text is one without errors.
    pub program: Option<Program>,
    /// Where threads come in, if there are several.
    pub concurrent: Option<Span>,
    /// How many threads there are at most, if the program starts threads as it runs.
    pub thread_bound: Option<usize>,
}

/// Reads a text.
pub fn read(text: &str, options: Options, sink: &mut Sink) -> Read {
    let Some(Source { mut lexed, tree, satabs }) = source(text, options.dialect, sink) else {
        return Read::default();
    };
    if tree.doubts.is_empty() {
        lexed.tokens = Vec::new();
    }
    let names = &lexed.names;
    let concurrent = concurrent::concurrent(&tree, names);
    if let Some(many) = concurrent.as_ref().filter(|found| found.threads.len() > MOST_THREADS) {
        let last = many.threads[MOST_THREADS].1;
        sink.push(too_many_threads(tree.procs[last as usize].span));
    }
    let meaning = check::check(&tree, names, concurrent.as_ref(), sink);
    if !sink.has_errors() {
        doubt::warn(text, &lexed, satabs, &tree.doubts, sink);
    }
    let starts = concurrent.as_ref().filter(|concurrent| !concurrent.sites.is_empty());
    let thread_bound = starts.map(|concurrent| options.threads.max(concurrent.threads.len()));
    let program = match (meaning.main, &concurrent) {
        _ if sink.has_errors() => None,
        (Some(main), None) => {
            Some(lower::lower(&tree, &meaning, names, main, concurrent::init(&tree, names)))
        }
        (_, Some(concurrent)) => {
            let count = thread_bound.unwrap_or(concurrent.threads.len());
            Some(lower_threads::lower(&tree, &meaning, names, concurrent, count))
        }
        (None, None) => None,
    };
    Read { program, concurrent: concurrent.map(|concurrent| concurrent.span), thread_bound }
}

/// The canonical source of a text, if it can be parsed.
pub fn format(text: &str, dialect: Dialect, sink: &mut Sink) -> Option<String> {
    let Source { lexed, tree, satabs } = source(text, dialect, sink)?;
    (!sink.has_errors()).then(|| print::print(text, &lexed, &tree, satabs))
}
