//! Room `front/pds`: concurrent pushdown systems, in the format of CUBA, to program graphs.
//!
//! A system is a number of shared states and, for each thread, rules that rewrite the shared state and the top of the
//! thread's stack. Beside it stand two other files: where it starts, and which configurations are bad. The format is
//! described in the manual; [`read`] takes all three.
//!
//! ```
//! use postbop_ir::FileId;
//!
//! let system = b"2\nPDA 1 2\n0 1 -> 1 2\nPDA 3 3\n1 3 -> 1 -\n";
//! let reading = postbop_front::pds::read(system, Some((FileId(1), b"0|1,3")), Some((FileId(2), b"1|2,-")));
//! let program = reading.program.unwrap();
//! assert_eq!(program.threads().len(), 2);
//! assert!(program.labels().iter().any(|label| label.name == "ERROR"));
//! ```

mod lexer;
mod lower;
mod parse;

use crate::diagnostic::{Code, Diagnostic, Sink};
use crate::plain::{Draft, Plain};
use postbop_ir::{FileId, Program, Span};

/// What was read.
#[derive(Debug)]
pub struct Reading {
    /// The program, if no file has an error. It gets to the label `ERROR` where a configuration is bad.
    pub program: Option<Program>,
    /// The rules.
    pub system: SourceFile,
    /// The initial configuration.
    pub init: Option<SourceFile>,
    /// The bad configurations.
    pub spec: Option<SourceFile>,
}

/// One of the files that make a system, and what is wrong or doubtful there.
#[derive(Debug)]
pub struct SourceFile {
    /// The file, as the spans of the program and of diagnostics name it.
    pub file: FileId,
    /// The source as text, with the same byte offsets as the input.
    pub text: String,
    /// In the order of the source.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a concurrent pushdown system, which is the first file, its initial configuration and its bad ones.
pub fn read(pds: &[u8], init: Option<(FileId, &[u8])>, spec: Option<(FileId, &[u8])>) -> Reading {
    let text = crate::source::decode(pds);
    let mut sink = Sink::default();
    let system = parse::system(&text, &mut sink);
    let mut start = None;
    let init = init.map(|(file, bytes)| {
        let parse = |text: &str, sink: &mut Sink| parse::start(file, text, system.as_ref()?, sink);
        source_file(file, bytes, |text, sink| start = parse(text, sink))
    });
    let mut bad = Vec::new();
    let spec = spec.map(|(file, bytes)| {
        let parse = |text: &str, sink: &mut Sink| Some(parse::bad(file, text, system.as_ref()?, sink));
        source_file(file, bytes, |text, sink| bad = parse(text, sink).unwrap_or_default())
    });
    if init.is_none() && system.is_some() {
        let message = "where does it start? There is no initial configuration";
        let hint = "write it to a file with the same name and the ending `.init`, such as `0|1,2`";
        sink.push(Diagnostic::new(Code::NoStart, Span::default(), message).hint(hint));
    }
    let others = [init.as_ref(), spec.as_ref()];
    let failed = sink.has_errors() || others.into_iter().flatten().any(SourceFile::has_errors);
    let program = match (system, start) {
        (Some(system), Some(start)) if !failed => lower::lower(&system, &start, &bad, &mut sink),
        _ => None,
    };
    let system = SourceFile { file: FileId(0), text, diagnostics: sink.finish() };
    Reading { program, system, init, spec }
}

/// The system as it was written, if it has one stack and no error.
pub fn plain(pds: &str, init: &str) -> Result<Plain, &'static str> {
    let sink = &mut Sink::default();
    let system = parse::system(pds, sink).ok_or("the system has an error")?;
    let [thread] = &system.threads[..] else { return Err("the system has more than one stack") };
    let start =
        parse::start(FileId(1), init, &system, sink).ok_or("the system has no initial configuration")?;
    let mut draft = Draft::new(Box::new(|number: i64| number.to_string()));
    draft.start(start.shared, start.stacks[0].iter().rev().copied());
    for rule in &thread.rules {
        let stack = match rule.change {
            parse::Change::Pop => vec![],
            parse::Change::Overwrite(symbol) => vec![symbol],
            parse::Change::Push(top, below) => vec![top, below],
        };
        draft.rule((rule.from, rule.top), rule.to, &stack);
    }
    Ok(draft.plain)
}

fn source_file(file: FileId, bytes: &[u8], parse: impl FnOnce(&str, &mut Sink)) -> SourceFile {
    let text = crate::source::decode(bytes);
    let mut sink = Sink::default();
    parse(&text, &mut sink);
    SourceFile { file, diagnostics: sink.finish(), text }
}

impl SourceFile {
    fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}
