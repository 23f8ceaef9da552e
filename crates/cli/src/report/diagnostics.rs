//! Room `cli/report`: diagnostics drawn under the source, or as JSON.
//!
//! The drawing is a library's. What we add is a window: of a line of ten megabytes only the neighbourhood of the
//! problem is shown.

use crate::output::Output;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use postbop_front::{Diagnostic, LineIndex, Severity};
use postbop_ir::{Id, Span};
use serde_json::{Value, json};
use std::fmt::Write;
use std::ops::Range;

/// How many bytes of a line to show on either side of a problem, and how many of the problem itself.
const MARGIN: usize = 60;
const WIDEST: usize = 100;

/// How wide a terminal is taken to be.
const COLUMNS: usize = 80;

/// How many diagnostics to show.
const MOST: usize = 110;

/// A file that diagnostics are about.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    /// What users call it.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Its lines.
    pub lines: &'a LineIndex,
}

/// Draws diagnostics file by file, as their spans name them; keeps them as data if the report is for programs.
pub fn render(files: &[Shown], diagnostics: &[Diagnostic], output: &mut Output) {
    let renderer = if output.color { Renderer::styled() } else { Renderer::plain() };
    for (at, file) in files.iter().enumerate() {
        let about = diagnostics.iter().filter(|diagnostic| diagnostic.span.file.index() == at);
        let wanted: Vec<&Diagnostic> =
            about.filter(|diagnostic| diagnostic.is_error() || !output.quiet).collect();
        if let Some(list) = &mut output.diagnostics {
            list.extend(wanted.iter().map(|diagnostic| as_json(file, diagnostic)));
        }
        for diagnostic in wanted.iter().take(MOST) {
            draw(&renderer, files, diagnostic, &mut output.err);
        }
        if wanted.len() > MOST {
            let _ = writeln!(output.err, "… and {} more", wanted.len() - MOST);
        }
        let errors = wanted.iter().filter(|diagnostic| diagnostic.is_error()).count();
        if errors > 0 {
            let s = if errors == 1 { "" } else { "s" };
            let _ = writeln!(output.err, "{}: {errors} error{s}", file.name);
        }
    }
}

/// A piece of the source, underlined as compilers do, with a title and a few words beside it.
pub fn underlined(files: &[Shown], span: Span, title: &str, label: &str) -> String {
    let window = Window::new(files, span);
    let label = (!label.is_empty()).then_some(label);
    let mark = AnnotationKind::Primary.span(window.mark.clone()).label(label);
    let group = Level::ERROR.primary_title(title).element(window.snippet().annotation(mark));
    format!("{}\n", Renderer::plain().term_width(COLUMNS).render(&[group]))
}

/// A diagnostic for programs. Lines and columns count from 1.
fn as_json(file: &Shown, diagnostic: &Diagnostic) -> Value {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let place = |at: u32| file.lines.line_column(file.text, at);
    let ((line, column), (end_line, end_column)) = (place(diagnostic.span.start), place(diagnostic.span.end));
    let mut value = json!({
        "code": diagnostic.code.text(),
        "severity": severity,
        "file": file.name,
        "line": line,
        "column": column,
        "end": { "line": end_line, "column": end_column },
        "message": diagnostic.message,
    });
    if let Some(hint) = &diagnostic.hint {
        value["hint"] = hint.as_str().into();
    }
    value
}

fn draw(renderer: &Renderer, files: &[Shown], diagnostic: &Diagnostic, out: &mut String) {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let main = Window::new(files, diagnostic.span);
    let notes: Vec<(Window, &str)> =
        diagnostic.notes.iter().map(|(span, note)| (Window::new(files, *span), note.as_str())).collect();
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.text());
    let mark = AnnotationKind::Primary.span(main.mark.clone()).label(diagnostic.label.as_deref());
    let mut group: Group = title.element(main.snippet().annotation(mark));
    for (window, note) in &notes {
        let mark = AnnotationKind::Context.span(window.mark.clone()).label(*note);
        group = group.element(window.snippet().annotation(mark));
    }
    if main.cut {
        // The drawing counts columns from where the window begins.
        let Shown { text, lines, .. } = files[diagnostic.span.file.index()];
        let (line, column) = lines.line_column(text, diagnostic.span.start);
        group = group.element(Level::NOTE.message(format!("at line {line}, column {column}")));
    }
    if let Some(hint) = &diagnostic.hint {
        group = group.element(Level::HELP.message(hint.as_str()));
    }
    out.push_str(&renderer.render(&[group]));
    out.push('\n');
}

/// The part of a line that is shown.
struct Window<'t> {
    name: &'t str,
    source: &'t str,
    line: usize,
    mark: Range<usize>,
    /// Whether the line begins before the window.
    cut: bool,
}

impl<'t> Window<'t> {
    fn new(files: &[Shown<'t>], span: Span) -> Self {
        let Shown { name, text, lines } = files[span.file.index()];
        let at = (span.start as usize).min(text.len());
        let (line, _) = lines.line_column(text, at as u32);
        let whole = lines.line(text, line);
        let start = lines.start(line);
        let from = (at - start).min(whole.len());
        let to = (span.end as usize).saturating_sub(start).clamp(from, whole.len()).min(from + WIDEST);
        let left = boundary(whole, from.saturating_sub(MARGIN));
        let right = boundary(whole, (to + MARGIN).min(whole.len()));
        let (left, right) = if whole.len() <= WIDEST + 2 * MARGIN { (0, whole.len()) } else { (left, right) };
        let mark = from - left..boundary(whole, to).max(from) - left;
        Window { name, source: &whole[left..right], line, mark, cut: left > 0 }
    }

    fn snippet(&self) -> Snippet<'t, annotate_snippets::Annotation<'t>> {
        Snippet::source(self.source).line_start(self.line).path(self.name)
    }
}

/// The next place at or before `at` where a character begins.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
