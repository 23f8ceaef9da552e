//! Room `front`: sources to program graphs.
//!
//! [`read`] takes the bytes of a Boolean program in any dialect of the family (SLAM's Bebop, Moped, Getafix,
//! SatAbs) to a [`Program`], [`format`](format()) to canonical source. Neither fails: what is wrong comes back as
//! [`Diagnostic`]s, as many as one run can find.
//!
//! ```
//! let reading = postbop_front::read(b"decl x; void main() begin assert(x); end", Default::default());
//! assert!(reading.diagnostics.is_empty());
//! assert_eq!(reading.program.unwrap().checks.len(), 1);
//! ```

pub mod bp;
pub mod diagnostic;
pub mod fix;
pub mod pds;
pub mod source;

pub use diagnostic::{Code, Diagnostic, Severity};
pub use source::{LineIndex, line_column};

use diagnostic::Sink;
use postbop_ir::{Program, Span};

/// Which tools a Boolean program was written for, where that makes a difference.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Dialect {
    /// What the file looks like.
    #[default]
    Auto,
    /// SLAM's Bebop, Moped, Getafix.
    Slam,
    /// SatAbs, Boppo, Boom.
    Satabs,
}

/// How to read a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Its dialect.
    pub dialect: Dialect,
    /// How many threads there are at most in a program that starts threads as it runs, those included that are there
    /// from the beginning.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { dialect: Dialect::Auto, threads: 3 }
    }
}

/// What was read.
#[derive(Debug)]
pub struct Reading {
    /// The source as text, with the same byte offsets as the input.
    pub text: String,
    /// The program, if there is no error.
    pub program: Option<Program>,
    /// The first construct that makes it a program of several threads, if it is one.
    pub concurrent: Option<Span>,
    /// If the program starts threads as it runs: how many of them it was given room for, those included that are there
    /// from the beginning. A run that needs more gets to the label [`postbop_ir::program::THREAD_LIMIT`].
    pub thread_bound: Option<usize>,
    /// What is wrong or doubtful, in the order of the source.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a Boolean program.
pub fn read(bytes: &[u8], options: Options) -> Reading {
    let text = source::decode(bytes);
    let mut sink = Sink::default();
    let bp::Read { program, concurrent, thread_bound } = bp::read(&text, options, &mut sink);
    Reading { program, concurrent, thread_bound, diagnostics: sink.finish(), text }
}

/// The canonical source of a Boolean program: the same program, comments and all, laid out in one way, and with
/// parentheses wherever the dialects would disagree about its meaning. Errors if it cannot be parsed.
pub fn format(bytes: &[u8], options: Options) -> Result<String, Vec<Diagnostic>> {
    let text = source::decode(bytes);
    let mut sink = Sink::default();
    match bp::format(&text, options.dialect, &mut sink) {
        Some(formatted) => Ok(formatted),
        None => Err(sink.finish()),
    }
}
