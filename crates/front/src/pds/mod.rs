//! Room `front/pds`: concurrent pushdown systems, in the format of CUBA, to program graphs.
//!
//! A system is a number of shared states and, for each thread, rules that rewrite the shared state and the top of the
//! thread's stack. Beside it stand two other texts: where it starts, and which configurations are bad. The format is
//! described in the manual; [`read`] takes all three.
//!
//! ```
//! let system = b"2\nPDA 1 2\n0 1 -> 1 2\nPDA 3 3\n1 3 -> 1 -\n";
//! let reading = postbop_front::pds::read(system, Some(b"0|1,3"), Some(b"1|2,-"));
//! let program = reading.program.unwrap();
//! assert_eq!(program.threads().len(), 2);
//! assert!(program.labels().iter().any(|label| label.name == "ERROR"));
//! ```

mod lexer;
mod lower;
mod parse;

use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::{Program, Span};

/// What was read.
#[derive(Debug)]
pub struct Reading {
    /// The program, if no text has an error. It gets to the label `ERROR` where a configuration is bad.
    pub program: Option<Program>,
    /// The rules.
    pub system: Part,
    /// The initial configuration.
    pub init: Option<Part>,
    /// The bad configurations.
    pub spec: Option<Part>,
}

/// One of the texts that make a system, and what is wrong or doubtful there.
#[derive(Debug)]
pub struct Part {
    /// The source as text, with the same byte offsets as the input.
    pub text: String,
    /// In the order of the source.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a concurrent pushdown system, its initial configuration and its bad ones.
pub fn read(pds: &[u8], init: Option<&[u8]>, spec: Option<&[u8]>) -> Reading {
    let text = crate::source::decode(pds);
    let mut sink = Sink::default();
    let system = parse::system(&text, &mut sink);
    let mut start = None;
    let init = init.map(|bytes| {
        part(bytes, |text, sink| start = system.as_ref().and_then(|system| parse::start(text, system, sink)))
    });
    let mut bad = Vec::new();
    let spec = spec.map(|bytes| {
        part(bytes, |text, sink| bad = system.as_ref().map_or(Vec::new(), |s| parse::bad(text, s, sink)))
    });
    if init.is_none() && system.is_some() {
        let message = "where does it start? There is no initial configuration";
        let hint = "write it to a file with the same name and the ending `.init`, such as `0|1,2`";
        sink.push(Diagnostic::new(Code::NoStart, Span::default(), message).hint(hint));
    }
    let parts = [init.as_ref(), spec.as_ref()];
    let failed = sink.has_errors() || parts.into_iter().flatten().any(Part::has_errors);
    let program = match (system, start) {
        (Some(system), Some(start)) if !failed => lower::lower(&system, &start, &bad, &mut sink),
        _ => None,
    };
    Reading { program, system: Part { text, diagnostics: sink.finish() }, init, spec }
}

fn part(bytes: &[u8], parse: impl FnOnce(&str, &mut Sink)) -> Part {
    let text = crate::source::decode(bytes);
    let mut sink = Sink::default();
    parse(&text, &mut sink);
    Part { diagnostics: sink.finish(), text }
}

impl Part {
    fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}
