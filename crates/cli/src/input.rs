//! Room `cli`: from a path to a program.

use crate::args::{Dialect, Source};
use crate::guard::Guard;
use crate::report::diagnostics::{Shown, render, underlined};
use crate::{Output, Status};
use postbop_front::plain::{Plain, Symbolic, plain, symbolic};
use postbop_front::{File, Format, LineIndex, Options, read::too_large};
use postbop_ir::{EdgeId, Id, Program, Span, text};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A program and the files it came from.
pub struct Input {
    /// The program.
    pub program: Program,
    /// What its first file is.
    pub format: Format,
    /// The files, as the spans of the program name them; at least one.
    files: Vec<SourceText>,
}

/// A file that was read.
struct SourceText {
    /// What users call it.
    name: String,
    text: String,
    /// Its lines, once a place in it is shown.
    lines: OnceLock<LineIndex>,
}

impl SourceText {
    fn lines(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(&self.text))
    }

    fn shown(&self) -> Shown<'_> {
        Shown { name: &self.name, text: &self.text, lines: self.lines() }
    }
}

impl Input {
    /// What users call the first file.
    pub fn name(&self) -> &str {
        &self.files[0].name
    }

    /// The text of the first file; empty if the program was read as a graph.
    pub fn text(&self) -> &str {
        &self.files[0].text
    }

    /// The names and the texts of its files.
    pub fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|file| (file.name.as_str(), file.text.as_str()))
    }

    /// The file and the line of a span, and from where to where it goes on that line, counted from 0 in units of UTF-16, as
    /// browsers count. The line is 0 if there is no text.
    pub fn marked(&self, span: Span) -> (usize, usize, usize, usize) {
        let file = self.file(span);
        if file.text.is_empty() {
            return (0, 0, 0, 0);
        }
        let (line, _) = file.lines().line_column(&file.text, span.start);
        let (start, whole) = (file.lines().start(line), file.lines().line(&file.text, line));
        let units = |offset: u32| {
            let upto = whole.get(..(offset as usize).saturating_sub(start)).unwrap_or(whole);
            upto.encode_utf16().count()
        };
        (span.file.index().min(self.files.len() - 1), line, units(span.start), units(span.end))
    }

    /// The line and column of a span's start.
    pub fn position(&self, span: Span) -> (usize, usize) {
        let file = self.file(span);
        file.lines().line_column(&file.text, span.start)
    }

    /// The ending of the name of a span's file, if that is not the first.
    pub fn beside(&self, span: Span) -> Option<&str> {
        let file = self.files.get(span.file.index()).filter(|_| span.file.index() > 0)?;
        Path::new(&file.name).extension()?.to_str()
    }

    /// The statement of an edge on one line; for a program that was read as a graph, its action.
    pub fn statement(&self, program: &Program, edge: EdgeId) -> String {
        match self.text().is_empty() {
            true => text::print_action(&program.edges()[edge].action),
            false => self.excerpt(program.edges()[edge].span),
        }
    }

    /// A piece of the source, underlined, with a title and a few words beside it; nothing if there is no source.
    pub fn underlined(&self, span: Span, title: &str, label: &str) -> String {
        if self.file(span).text.is_empty() {
            return String::new();
        }
        let files: Vec<Shown> = self.files.iter().map(SourceText::shown).collect();
        underlined(&files, span, title, label)
    }

    /// The text of a span on one line.
    fn excerpt(&self, span: Span) -> String {
        const MOST: usize = 60;
        let text = self.file(span).text.get(span.start as usize..span.end as usize).unwrap_or("");
        let words = text.split_whitespace().take(MOST).collect::<Vec<_>>().join(" ");
        match words.char_indices().nth(MOST) {
            Some((end, _)) => format!("{}…", &words[..end]),
            None => words,
        }
    }

    /// The file of a span. A graph was read without the files that it was made from.
    fn file(&self, span: Span) -> &SourceText {
        self.files.get(span.file.index()).unwrap_or(&self.files[0])
    }
}

/// The bytes of a file, a device or standard input, as far as they are worth reading.
pub fn bytes(path: &Path, output: &mut Output) -> Result<Vec<u8>, Status> {
    let limit = output.limits.largest();
    let result = if path == Path::new("-") {
        at_most(limit, 0, std::io::stdin().lock())
    } else if path.is_dir() {
        Err(std::io::Error::other("is a directory"))
    } else {
        std::fs::File::open(path).and_then(|file| at_most(limit, file.metadata()?.len() as usize, file))
    };
    match result {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => {
            let lines = LineIndex::new("");
            let name = path.display().to_string();
            let hint = "a file of this size needs more than `--memory` allows";
            let flaw = match limit == postbop_front::LARGEST {
                true => too_large(limit),
                false => too_large(limit).hint(hint),
            };
            render(&[Shown { name: &name, text: "", lines: &lines }], &[flaw], output);
            Err(Status::BadInput)
        }
        Err(error) => {
            output.error(&format!("{}: {error}", path.display()));
            Err(Status::BadInput)
        }
    }
}

/// All that there is to read, unless it is more than so many bytes; so many are expected.
fn at_most(limit: usize, expected: usize, from: impl Read) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::with_capacity(expected.min(limit) + 1);
    from.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= limit).then_some(bytes))
}

/// The options of the front end, with room for so many threads.
pub fn options(source: &Source, threads: Option<u32>) -> Options {
    let dialect = match source.dialect {
        Dialect::Auto => postbop_front::Dialect::Auto,
        Dialect::Slam => postbop_front::Dialect::Slam,
        Dialect::Satabs => postbop_front::Dialect::Satabs,
    };
    let threads = threads.map_or(Options::default().threads, |threads| threads as usize);
    Options { dialect, threads }
}

/// The files of one program, each with its name.
pub struct Files(Vec<(String, Vec<u8>)>);

impl Files {
    /// Reads the files.
    pub fn open(source: &Source, output: &mut Output) -> Result<Self, Status> {
        let mut files = vec![named(source.file.clone(), output)?];
        let format = Format::of(&file(&files[0]));
        for path in format.beside().iter().map(|ending| source.file.with_extension(ending)) {
            if path.exists() {
                files.push(named(path, output)?);
            }
        }
        Ok(Files(files))
    }

    /// The pushdown system of one stack and without variables that the files hold, if they have no mistakes.
    pub fn plain(&self) -> Result<Plain, &'static str> {
        plain(&self.0.iter().map(file).collect::<Vec<File>>())
    }

    /// The pushdown system with variables that the files hold, if they have no mistakes, with configurations that are asked about; or what is wrong
    /// with those.
    pub fn symbolic(&self, given: &[String]) -> Option<Result<Symbolic, String>> {
        symbolic(&self.0.iter().map(file).collect::<Vec<File>>(), given)
    }

    /// The program, and what is wrong with it.
    pub fn program(&self, options: Options, output: &mut Output) -> Result<Input, Status> {
        let parts: Vec<File> = self.0.iter().map(file).collect();
        let reading = postbop_front::read(&parts[..], options);
        if output.verbose {
            output.err.push_str(&format!("{}: read as {}\n", self.0[0].0, reading.format.name()));
        }
        let names = self.0.iter().map(|(name, _)| name.clone());
        let texts =
            std::iter::once(reading.text).chain(reading.beside).chain(std::iter::repeat(String::new()));
        let file = |(name, text): (String, String)| SourceText { name, text, lines: OnceLock::new() };
        let files: Vec<SourceText> = names.zip(texts).map(file).collect();
        if !reading.diagnostics.is_empty() {
            render(&files.iter().map(SourceText::shown).collect::<Vec<_>>(), &reading.diagnostics, output);
        }
        let program = reading.program.ok_or(Status::BadInput)?;
        Ok(Input { program, format: reading.format, files })
    }
}

/// Reads a program, with the files beside it that belong to it, and says what is wrong with it.
pub fn read(source: &Source, output: &mut Output) -> Result<Input, Status> {
    let _guard = Guard::new(output.limits);
    Files::open(source, output)?.program(options(source, source.threads), output)
}

fn named(path: PathBuf, output: &mut Output) -> Result<(String, Vec<u8>), Status> {
    let bytes = bytes(&path, output)?;
    Ok((path.display().to_string(), bytes))
}

fn file((name, bytes): &(String, Vec<u8>)) -> File<'_> {
    File { name, bytes }
}
