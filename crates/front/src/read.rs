//! Room `front`: from files to a program, whatever their format.
//!
//! A source is one file, or several that belong together: the rules of a pushdown system, where it starts, and what is
//! bad. Which format it has is seen from how its first file begins and from the ending of its name.

use crate::diagnostic::{Code, Diagnostic, Sink};
use crate::{Options, bp, horn, moped, pds, source};
use postbop_ir::{FileId, Id, Program, Span, text};

/// The largest file that is read, in bytes.
pub const LARGEST: usize = 100_000_000;

/// The most threads that are there from the beginning: what can be asked of them grows with the square of their number.
pub const MOST_THREADS: usize = 256;

/// A file: its name, which may be empty, and what is in it.
#[derive(Clone, Copy, Debug)]
pub struct File<'s> {
    /// What users call it. Its ending says which format it has, or which of several files it is.
    pub name: &'s str,
    /// Its contents.
    pub bytes: &'s [u8],
}

impl File<'_> {
    fn has_ending(&self, ending: &str) -> bool {
        self.name.rsplit_once('.').is_some_and(|(_, found)| found == ending)
    }
}

/// The files of one program. Plain bytes are one file without a name.
#[derive(Clone, Debug)]
pub struct Source<'s>(Vec<File<'s>>);

impl<'s> From<&'s [u8]> for Source<'s> {
    fn from(bytes: &'s [u8]) -> Self {
        Source(vec![File { name: "", bytes }])
    }
}

impl<'s, const N: usize> From<&'s [u8; N]> for Source<'s> {
    fn from(bytes: &'s [u8; N]) -> Self {
        Source::from(&bytes[..])
    }
}

impl<'s> From<&'s Vec<u8>> for Source<'s> {
    fn from(bytes: &'s Vec<u8>) -> Self {
        Source::from(&bytes[..])
    }
}

impl<'s> From<&[File<'s>]> for Source<'s> {
    fn from(files: &[File<'s>]) -> Self {
        Source(files.to_vec())
    }
}

impl<'s, const N: usize> From<[File<'s>; N]> for Source<'s> {
    fn from(files: [File<'s>; N]) -> Self {
        Source(files.to_vec())
    }
}

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A Boolean program.
    Program,
    /// A program graph.
    Graph,
    /// A concurrent pushdown system.
    Pushdown,
    /// A pushdown system with variables.
    Symbolic,
    /// Constrained Horn clauses.
    Clauses,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 5] =
        [Format::Program, Format::Graph, Format::Pushdown, Format::Symbolic, Format::Clauses];

    /// What a file is, by how it begins and by the ending of its name.
    pub fn of(file: &File) -> Self {
        match file {
            file if file.bytes.starts_with(b"postbop-ir") => Format::Graph,
            file if file.has_ending(Format::Clauses.ending()) => Format::Clauses,
            file if !file.has_ending(Format::Pushdown.ending()) => match horn::is_horn(&head(file.bytes)) {
                true => Format::Clauses,
                false => Format::Program,
            },
            file if moped::is_moped(&source::decode(file.bytes)) => Format::Symbolic,
            _ => Format::Pushdown,
        }
    }

    /// The format with its article.
    pub fn name(self) -> &'static str {
        match self {
            Format::Program => "a Boolean program",
            Format::Graph => "a program graph",
            Format::Pushdown => "a pushdown system",
            Format::Symbolic => "a pushdown system with variables",
            Format::Clauses => "a system of Horn clauses",
        }
    }

    /// The ending of the (first) file, by custom.
    pub fn ending(self) -> &'static str {
        match self {
            Format::Program => "bp",
            Format::Graph => "ir",
            Format::Pushdown | Format::Symbolic => "pds",
            Format::Clauses => "smt2",
        }
    }

    /// The endings of the files that may stand beside the first one.
    pub fn beside(self) -> &'static [&'static str] {
        if self == Format::Pushdown { &["init", "spec"] } else { &[] }
    }
}

/// What was read.
#[derive(Debug)]
pub struct Reading {
    /// What it was taken for.
    pub format: Format,
    /// The first file as text, with the same byte offsets as the input. Empty for a program graph without mistakes, whose spans
    /// point into the source that it was made from, and for what is no text.
    pub text: String,
    /// The other files as text, in the order in which they were given.
    pub beside: Vec<String>,
    /// The program, if there is no error.
    pub program: Option<Program>,
    /// The first construct that makes it a program of several threads, if it is a Boolean program with threads.
    pub concurrent: Option<Span>,
    /// If the program starts threads as it runs: how many of them it was given room for, those included that are there
    /// from the beginning. A run that needs more ends where [`postbop_ir::Program::no_room`] says.
    pub thread_bound: Option<usize>,
    /// What is wrong or doubtful, by file and then in the order of the source.
    pub diagnostics: Vec<Diagnostic>,
}

impl Reading {
    /// The text of a file.
    pub fn text_of(&self, file: FileId) -> &str {
        match file.index().checked_sub(1) {
            None => &self.text,
            Some(at) => self.beside.get(at).map_or("", String::as_str),
        }
    }

    fn new(format: Format, text: String) -> Self {
        let (beside, diagnostics) = (Vec::new(), Vec::new());
        Reading { format, text, beside, program: None, concurrent: None, thread_bound: None, diagnostics }
    }

    fn complaint(format: Format, diagnostic: Diagnostic) -> Self {
        Reading { diagnostics: vec![diagnostic], ..Reading::new(format, String::new()) }
    }
}

/// Reads a program: the bytes of a Boolean program or of a program graph, or all files of a program in any format.
pub fn read<'s>(source: impl Into<Source<'s>>, options: Options) -> Reading {
    let Source(files) = source.into();
    let Some(first) = files.first() else { return program(b"", options) };
    let format = Format::of(first);
    if let Some(at) = files.iter().position(|file| file.bytes.len() > LARGEST) {
        return Reading::complaint(format, too_large(LARGEST).in_file(FileId::new(at)));
    }
    let belongs = |file: &File| format.beside().iter().any(|ending| file.has_ending(ending));
    if let Some(at) = files.iter().skip(1).position(|file| !belongs(file)) {
        let message = format!("this file does not belong to {}", format.name());
        let foreign = Diagnostic::new(Code::Unsupported, Span::default(), message);
        return Reading::complaint(format, foreign.in_file(FileId::new(at + 1)));
    }
    let mut flaws =
        files.iter().enumerate().filter_map(|(at, file)| Some((at, source::not_text(file.bytes)?)));
    if let Some((at, flaw)) = flaws.next() {
        return Reading::complaint(format, flaw.in_file(FileId::new(at)));
    }
    match format {
        Format::Program => program(first.bytes, options),
        Format::Graph => graph(first.bytes),
        Format::Pushdown => pushdown(&files),
        Format::Symbolic => by_text(first.bytes, format, moped::read),
        Format::Clauses => by_text(first.bytes, format, horn::read),
    }
}

/// The diagnostic for a file of more than so many bytes.
pub fn too_large(limit: usize) -> Diagnostic {
    let message = format!("the file is larger than {} MB and is not read", limit as f64 / 1e6);
    Diagnostic::new(Code::TooMany, Span::default(), message)
}

/// The diagnostic for a program with more threads than that.
pub fn too_many_threads(span: Span) -> Diagnostic {
    Diagnostic::new(Code::TooMany, span, format!("a program has at most {MOST_THREADS} threads"))
}

fn program(bytes: &[u8], options: Options) -> Reading {
    let text = source::decode(bytes);
    let mut sink = Sink::default();
    let bp::Read { program, concurrent, thread_bound } = bp::read(&text, options, &mut sink);
    let diagnostics = sink.finish();
    Reading { program, concurrent, thread_bound, diagnostics, ..Reading::new(Format::Program, text) }
}

fn graph(bytes: &[u8]) -> Reading {
    let decoded = source::decode(bytes);
    let text::ParseError { line, message } = match text::parse(&decoded) {
        Err(error) => error,
        Ok(program) => {
            let limited = !program.no_room().is_empty();
            let thread_bound = limited.then_some(program.threads().len());
            let empty = Reading::new(Format::Graph, String::new());
            return Reading { program: Some(program), thread_bound, ..empty };
        }
    };
    let lines = source::LineIndex::new(&decoded);
    let start = lines.start(line);
    let span = Span::new(start, start + lines.line(&decoded, line).len());
    let diagnostics = vec![Diagnostic::new(Code::BadGraph, span, message)];
    Reading { diagnostics, ..Reading::new(Format::Graph, decoded) }
}

fn by_text(bytes: &[u8], format: Format, reader: fn(&str) -> (Option<Program>, Vec<Diagnostic>)) -> Reading {
    let text = source::decode(bytes);
    let (program, diagnostics) = reader(&text);
    Reading { program, diagnostics, ..Reading::new(format, text) }
}

/// The beginning of a file, as text.
fn head(bytes: &[u8]) -> String {
    const ENOUGH: usize = 1 << 16;
    source::decode(&bytes[..bytes.len().min(ENOUGH)])
}

fn pushdown(files: &[File]) -> Reading {
    let find = |ending: &str| {
        let at = files.iter().skip(1).position(|file| file.has_ending(ending))? + 1;
        Some((FileId::new(at), files[at].bytes))
    };
    let reading = pds::read(files[0].bytes, find("init"), find("spec"));
    let mut all = Reading::new(Format::Pushdown, String::new());
    all.program = reading.program;
    all.beside = vec![String::new(); files.len() - 1];
    let files = [Some(reading.system), reading.init, reading.spec];
    for pds::SourceFile { file, text, diagnostics } in files.into_iter().flatten() {
        all.diagnostics.extend(diagnostics);
        match file.index().checked_sub(1) {
            None => all.text = text,
            Some(at) => all.beside[at] = text,
        }
    }
    all
}
