//! Room `cli/report`: diagnostics drawn under the source.
//!
//! The drawing is a library's. What we add is a window: of a line of ten megabytes only the neighbourhood of the
//! problem is shown.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use postbop_front::{Diagnostic, LineIndex, Severity};
use postbop_ir::Span;
use std::fmt::Write;
use std::io::IsTerminal;
use std::ops::Range;

/// How many bytes of a line to show on either side of a problem, and how many of the problem itself.
const MARGIN: usize = 60;
const WIDEST: usize = 100;

/// How many diagnostics to show.
const MOST: usize = 110;

/// Draws the diagnostics.
pub fn render(name: &str, text: &str, lines: &LineIndex, diagnostics: &[Diagnostic], out: &mut String) {
    let renderer = if std::io::stderr().is_terminal() { Renderer::styled() } else { Renderer::plain() };
    for diagnostic in diagnostics.iter().take(MOST) {
        draw(&renderer, name, text, lines, diagnostic, out);
    }
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
    if diagnostics.len() > MOST {
        let _ = writeln!(out, "… and {} more", diagnostics.len() - MOST);
    }
    if errors > 0 {
        let s = if errors == 1 { "" } else { "s" };
        let _ = writeln!(out, "{name}: {errors} error{s}");
    }
}

fn draw(
    renderer: &Renderer,
    name: &str,
    text: &str,
    lines: &LineIndex,
    diagnostic: &Diagnostic,
    out: &mut String,
) {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let main = Window::new(text, lines, diagnostic.span);
    let notes: Vec<(Window, &str)> = diagnostic
        .notes
        .iter()
        .map(|(span, note)| (Window::new(text, lines, *span), note.as_str()))
        .collect();
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.text());
    let mark = AnnotationKind::Primary.span(main.mark.clone()).label(diagnostic.label.as_deref());
    let mut group: Group = title.element(main.snippet().path(name).annotation(mark));
    for (window, note) in &notes {
        let mark = AnnotationKind::Context.span(window.mark.clone()).label(*note);
        group = group.element(window.snippet().path(name).annotation(mark));
    }
    if main.cut {
        // The drawing counts columns from where the window begins.
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
    source: &'t str,
    line: usize,
    mark: Range<usize>,
    /// Whether the line begins before the window.
    cut: bool,
}

impl<'t> Window<'t> {
    fn new(text: &'t str, lines: &LineIndex, span: Span) -> Self {
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
        Window { source: &whole[left..right], line, mark, cut: left > 0 }
    }

    fn snippet(&self) -> Snippet<'t, annotate_snippets::Annotation<'t>> {
        Snippet::source(self.source).line_start(self.line)
    }
}

/// The next place at or before `at` where a character begins.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
