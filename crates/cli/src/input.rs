//! Room `cli`: from a path to a program.

use crate::args::{Dialect, Source};
use crate::{Said, Status, report};
use postbop_front::pds::Part;
use postbop_front::{LineIndex, Options, Reading};
use postbop_ir::program::THREAD_LIMIT;
use postbop_ir::{EdgeId, Program, Span, text, validate};
use std::io::Read;
use std::path::Path;

/// A program and the text it came from.
pub struct Input {
    /// What users call the file.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Its lines.
    pub lines: LineIndex,
    /// The program.
    pub program: Program,
    /// If the program starts threads as it runs, for how many there is room.
    pub thread_bound: Option<usize>,
}

impl Input {
    /// The line and column of a span's start.
    pub fn position(&self, span: Span) -> (usize, usize) {
        self.lines.line_column(&self.text, span.start)
    }

    /// The statement of an edge on one line; for a program that was read as a graph, its action.
    pub fn statement(&self, program: &Program, edge: EdgeId) -> String {
        match self.text.is_empty() {
            true => text::print_action(&program.edges[edge].action),
            false => self.excerpt(program.edges[edge].span),
        }
    }

    /// The text of a span on one line.
    fn excerpt(&self, span: Span) -> String {
        const MOST: usize = 60;
        let text = self.text.get(span.start as usize..span.end as usize).unwrap_or("");
        let words = text.split_whitespace().take(MOST).collect::<Vec<_>>().join(" ");
        match words.char_indices().nth(MOST) {
            Some((end, _)) => format!("{}…", &words[..end]),
            None => words,
        }
    }
}

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A Boolean program.
    Program,
    /// A program graph.
    Graph,
    /// A concurrent pushdown system.
    Pushdown,
}

impl Kind {
    /// What these bytes of this file are.
    pub fn of(path: &Path, bytes: &[u8]) -> Self {
        match path.extension() {
            _ if bytes.starts_with(b"postbop-ir") => Kind::Graph,
            Some(ending) if ending == "pds" => Kind::Pushdown,
            _ => Kind::Program,
        }
    }
}

/// The bytes of a file, or of standard input.
pub fn bytes(path: &Path, said: &mut Said) -> Result<Vec<u8>, Status> {
    let result = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else if path.is_dir() {
        Err(std::io::Error::other("is a directory"))
    } else {
        std::fs::read(path)
    };
    result.map_err(|error| {
        said.err.push_str(&format!("error: {}: {error}\n", path.display()));
        Status::BadInput
    })
}

/// The options of the front end.
pub fn options(source: &Source) -> Options {
    let dialect = match source.dialect {
        Dialect::Auto => postbop_front::Dialect::Auto,
        Dialect::Slam => postbop_front::Dialect::Slam,
        Dialect::Satabs => postbop_front::Dialect::Satabs,
    };
    Options { dialect, threads: source.threads as usize }
}

/// Reads a program, and says what is wrong with it.
pub fn read(source: &Source, said: &mut Said) -> Result<Input, Status> {
    let bytes = bytes(&source.file, said)?;
    let name = source.file.display().to_string();
    match Kind::of(&source.file, &bytes) {
        Kind::Graph => return graph(name, bytes, said),
        Kind::Pushdown => return pushdown(&source.file, bytes, said),
        Kind::Program => {}
    }
    let Reading { text, program, thread_bound, diagnostics, .. } =
        postbop_front::read(&bytes, options(source));
    let lines = LineIndex::new(&text);
    report::diagnostics::render(&name, &text, &lines, &diagnostics, &mut said.err);
    let program = sound(program.ok_or(Status::BadInput)?);
    Ok(Input { name, text, lines, program, thread_bound })
}

/// Reads a concurrent pushdown system, with the files beside it that say where it starts and what is bad.
fn pushdown(path: &Path, system: Vec<u8>, said: &mut Said) -> Result<Input, Status> {
    let mut beside = |ending: &str| {
        let path = path.with_extension(ending);
        path.exists().then(|| bytes(&path, said)).transpose()
    };
    let (init, spec) = (beside("init")?, beside("spec")?);
    let reading = postbop_front::pds::read(&system, init.as_deref(), spec.as_deref());
    for (ending, part) in
        [("pds", Some(&reading.system)), ("init", reading.init.as_ref()), ("spec", reading.spec.as_ref())]
    {
        if let Some(Part { text, diagnostics }) = part {
            let name = path.with_extension(ending).display().to_string();
            report::diagnostics::render(&name, text, &LineIndex::new(text), diagnostics, &mut said.err);
        }
    }
    let program = sound(reading.program.ok_or(Status::BadInput)?);
    let (name, text) = (path.display().to_string(), reading.system.text);
    Ok(Input { name, lines: LineIndex::new(&text), text, program, thread_bound: None })
}

/// A program that the front end made. One that is not well formed is a bug, which tests look for: it would cost every
/// user time.
fn sound(program: Program) -> Program {
    if cfg!(debug_assertions)
        && let Some(flaw) = validate(&program).into_iter().next()
    {
        panic!("the front end made a program that is not well formed: {flaw}");
    }
    program
}

/// Reads a program graph.
fn graph(name: String, bytes: Vec<u8>, said: &mut Said) -> Result<Input, Status> {
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let parsed = text::parse(&text).map_err(|error| format!("{name}:{}: {}", error.line, error.message));
    let valid = parsed.and_then(|program| match validate(&program).into_iter().next() {
        None => Ok(program),
        Some(flaw) => Err(format!("{name}: not well formed: {flaw}")),
    });
    match valid {
        // Spans of a graph point into the source it was made from, not into its own text.
        Ok(program) => {
            let limited = program.labels.iter().any(|label| label.name == THREAD_LIMIT);
            let thread_bound = limited.then_some(program.threads.len());
            Ok(Input { name, lines: LineIndex::new(""), text: String::new(), program, thread_bound })
        }
        Err(message) => {
            said.err.push_str(&format!("error: {message}\n"));
            Err(Status::BadInput)
        }
    }
}
