//! Room `cli/report`: answers written as they are found, and how far the work is.

use super::course::Courses;
use super::html::{More, Page};
use super::plain::visible;
use super::text::Manner;
use super::trace_json::Writer;
use super::words::Words;
use super::{json, junit, overall, sarif, text};
use crate::args::{Check, Detail, Format, Stats};
use crate::commands::certificate::is_smt;
use crate::input::Input;
use crate::output::Output;
use indicatif::{ProgressBar, ProgressStyle};
use postbop_engine::{Answer, Budget, Observer, Progress, Report, Verdict};
use postbop_ir::text::fingerprint;
use postbop_ir::{Schedule, Trace};
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// The report of a check while it is written.
pub struct Sheet<'a> {
    args: &'a Check,
    output: &'a mut Output,
    /// How wide the names of properties are.
    width: usize,
    begun: bool,
    bar: Option<ProgressBar>,
    /// Whether the next trace is kept, for a certificate.
    keeps: bool,
    /// The page that is written beside it.
    page: Option<Page>,
    /// The courses of the searches, if they are to be drawn.
    courses: Option<Courses>,
    /// How far the work was when it was told last.
    far: String,
    /// Of a form that is one document: what it says of each property so far.
    results: Vec<serde_json::Value>,
    cases: String,
}

impl<'a> Sheet<'a> {
    /// An empty report on these properties.
    pub fn new<'n>(
        names: impl Iterator<Item = &'n str>,
        args: &'a Check,
        page: Option<Page>,
        output: &'a mut Output,
    ) -> Self {
        let width = names.map(|name| name.chars().count()).max().unwrap_or(0).min(40);
        output.speak();
        let bar = if output.quiet { None } else { bar() };
        let keeps = args.certificate.as_deref().is_some_and(is_smt);
        let courses = (args.question.stats == Some(Stats::Chart)).then(Courses::default);
        let (far, results, cases) = (String::new(), Vec::new(), String::new());
        Sheet { args, output, width, begun: false, bar, keeps, page, courses, far, results, cases }
    }

    /// Writes one answer; a violation needs a printer that knows its program.
    fn tell(&mut self, answer: &Answer, input: &Input, printer: Option<&Source>) {
        let begin = !std::mem::replace(&mut self.begun, true);
        if let (Some(page), Some(source)) = (&mut self.page, printer) {
            page.answer(answer, &source.words);
        }
        let Sheet { args, output, width, far, .. } = self;
        let words = printer.map(|source| &source.words);
        let (detail, shortest, validate) = (args.trace, args.shortest, args.validate);
        let manner = Manner { words, detail, shortest, width: *width, validate };
        let told = || {
            let advice = text::advice(answer, &args.engine, &input.program);
            format!("{}{}{advice}", text::answer(answer, &manner), text::far(answer, far))
        };
        let written = match args.format {
            Format::Human => output.out.write_all(visible(&told()).as_bytes()),
            Format::Github => output.out.write_all(junit::annotation(answer, input, words).as_bytes()),
            Format::Sarif => {
                self.results.push(sarif::result(answer, words));
                Ok(())
            }
            Format::Junit => {
                self.cases.push_str(&junit::case(answer, input.name(), &told()));
                Ok(())
            }
            Format::Json => {
                let begin = if begin { json::BEGIN } else { "," };
                let writer = printer.filter(|_| args.trace != Detail::None);
                let writer =
                    writer.map(|source| Writer { words: &source.words, fingerprint: &source.fingerprint });
                let out = &mut output.out;
                out.write_all(begin.as_bytes()).and_then(|()| json::property(out, answer, writer.as_ref()))
            }
        };
        self.output.out.note(written);
        self.output.out.flush_soon();
    }

    /// Writes the answers that are unknown, and the verdict on all. The result is that of the page.
    pub fn finish(mut self, report: &Report, input: &Input, budget: &Budget) -> io::Result<()> {
        let Report { answers, engine, stats, blocked } = report;
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        let unknown = answers.iter().filter(|answer| !answer.verdict.is_known());
        unknown.for_each(|answer| self.tell(answer, input, None));
        let last = match self.args.format {
            Format::Sarif => sarif::log(std::mem::take(&mut self.results), Vec::new(), true),
            Format::Junit => junit::document(input.name(), &self.cases),
            Format::Github => text::verdict(answers),
            Format::Human => {
                let stats = match self.args.question.stats {
                    Some(Stats::Counters) => format!("\n{}\n", text::stats(engine, stats)),
                    Some(Stats::Chart) | None => String::new(),
                };
                let blocked = text::blocked(blocked, input);
                let answer = match input.format {
                    postbop_front::Format::Clauses => text::satisfiable(answers),
                    _ => "",
                };
                format!("{stats}{}{answer}{}", visible(&blocked), text::verdict(answers))
            }
            Format::Json => {
                let begin = if self.begun { "" } else { json::BEGIN };
                let word = overall(answers.iter().map(|answer| &answer.verdict));
                format!("{begin}{}", json::end(answers, word, json::blocked(blocked, input), stats))
            }
        };
        self.output.out.push_str(&last);
        self.page.map_or(Ok(()), |page| {
            let more = More { args: self.args, budget, courses: self.courses.as_ref() };
            page.finish(report, input, &more)
        })
    }
}

/// A program that traces are about.
struct Source<'a> {
    words: Words<'a>,
    fingerprint: String,
}

/// Writes answers about a program as they are found.
pub struct Printer<'i, 's, 'a> {
    source: Source<'i>,
    sheet: &'s mut Sheet<'a>,
    /// Whether a property that holds for a limited number of threads is not told yet.
    pub waits: bool,
}

impl<'i, 's, 'a> Printer<'i, 's, 'a> {
    /// A printer of answers about a program.
    pub fn new(input: &'i Input, sheet: &'s mut Sheet<'a>) -> Self {
        let json = sheet.args.format == Format::Json && sheet.args.trace != Detail::None;
        let fingerprint = if json { fingerprint(&input.program) } else { String::new() };
        Printer { source: Source { words: Words::new(input), fingerprint }, sheet, waits: false }
    }
}

impl Observer for Printer<'_, '_, '_> {
    fn progress(&mut self, progress: &Progress) {
        let Progress { engine, tick, bound, settled, queries } = progress;
        if let Some(courses) = &mut self.sheet.courses {
            courses.note(engine, tick.course);
        }
        self.sheet.far.clear();
        let (done, unit) = (tick.done, tick.unit);
        let _ = write!(self.sheet.far, "{engine} had {done} {unit}");
        let Some(bar) = &self.sheet.bar else { return };
        let bound = match bound.schedule {
            None => String::new(),
            Some(Schedule::Switches(count)) => format!(" · up to {count} switches"),
            Some(Schedule::Rounds(count)) => format!(" · up to {count} rounds"),
        };
        bar.set_message(format!("{engine} · {settled} of {queries} answered{bound} · {done} {unit}"));
    }

    fn answer(&mut self, _: usize, answer: &mut Answer) {
        if self.waits && matches!(answer.verdict, Verdict::Holds { within, .. } if within.threads.is_some()) {
            return;
        }
        let Printer { source, sheet, .. } = self;
        match sheet.bar.clone() {
            Some(bar) => bar.suspend(|| sheet.tell(answer, source.words.input, Some(source))),
            None => sheet.tell(answer, source.words.input, Some(source)),
        }
        // It was told; a report of thousands of violations keeps none of their traces.
        if let Verdict::Violated(trace) = &mut answer.verdict
            && !std::mem::take(&mut sheet.keeps)
        {
            *trace = Trace::default();
            answer.changes = Vec::new();
        }
    }
}

/// Progress on a terminal, and nowhere else.
fn bar() -> Option<ProgressBar> {
    let terminal = io::stderr().is_terminal();
    terminal.then(|| {
        let style = ProgressStyle::with_template("{spinner} {elapsed} {msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::new_spinner().with_style(style);
        // It moves also where an engine is busy with one thing.
        bar.enable_steady_tick(Duration::from_millis(120));
        bar
    })
}
