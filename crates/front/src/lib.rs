//! Room `front`: sources to program graphs.
//!
//! [`read`](read()) takes a source to a [`Program`](postbop_ir::Program): a Boolean program in any dialect of the family
//! (SLAM's Bebop, Moped, Getafix, SatAbs), a pushdown system, a system of Horn clauses, or a program graph. [`properties`](properties()) says what is
//! checked of it by default, [`format`](format()) takes a Boolean program to canonical source. Reading does not fail: what is
//! wrong comes back as [`Diagnostic`]s, as many as one run can find.
//!
//! ```
//! let reading = postbop_front::read(b"decl x; void main() begin assert(x); end", Default::default());
//! assert!(reading.diagnostics.is_empty());
//! let program = reading.program.unwrap();
//! assert_eq!(postbop_front::properties(&program, &reading.text)[0].name, "assert:1");
//! ```

pub mod bp;
pub mod diagnostic;
pub mod fix;
pub mod horn;
pub mod moped;
pub mod pds;
pub mod plain;
pub mod properties;
pub mod read;
pub mod source;
pub mod temporal;

pub use diagnostic::{Code, Diagnostic, Severity};
pub use properties::{Names, properties, property};
pub use read::{File, Format, LARGEST, Reading, Source, read};
pub use source::{LineIndex, line_column};

use diagnostic::Sink;

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

/// The canonical source of a Boolean program: the same program, comments and all, laid out in one way, and with
/// parentheses wherever the dialects would disagree about its meaning. Errors if it cannot be parsed.
pub fn format(bytes: &[u8], options: Options) -> Result<String, Vec<Diagnostic>> {
    if let Some(flaw) = source::not_text(bytes) {
        return Err(vec![flaw]);
    }
    let text = source::decode(bytes);
    let mut sink = Sink::default();
    match bp::format(&text, options.dialect, &mut sink) {
        Some(formatted) => Ok(formatted),
        None => Err(sink.finish()),
    }
}
