//! Room `cli/report/html`: the report as a page that can be clicked through (`check --report`).
//!
//! # Idea
//!
//! One file that needs nothing else: the style, the data and the script are in it, and a policy in its head keeps the browser
//! from fetching anything. The data are `<script type="application/json">` elements: one for each trace, written as soon as
//! the trace is found, so that thousands of them need no memory, and last what `--format json` says of the properties. The
//! page reads a trace when its property is chosen, and builds only the lines that are seen.
//!
//! Equal answers give equal files: there is nothing in them of the time of day, or of how long the work took.
//!
//! # Text of the program
//!
//! Names and source text come from strangers. In the data every `<` is written as `\u003c`, so no text can end its element; the
//! script puts text into the page as text only, never as markup.
//!
//! The script is a few modules (`*.js`) beside this file. An inline script cannot import another, so they are put one after
//! the other, without their `import` lines, in the order of [`MODULES`]: a name is defined in one of them only.

pub mod pack;

use super::course::Courses;
use super::words::Words;
use super::{json, overall, summaries, text};
use crate::args::Check;
use crate::input::Input;
use postbop_engine::{Answer, Budget, Report, Verdict};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

const STYLE: &str = include_str!("style.css");
const BODY: &str = include_str!("body.html");
/// The modules, each after those that it imports.
const MODULES: [&str; 12] = [
    include_str!("dom.js"),
    include_str!("trace.js"),
    include_str!("state.js"),
    include_str!("rows.js"),
    include_str!("tree.js"),
    include_str!("source.js"),
    include_str!("values.js"),
    include_str!("lanes.js"),
    include_str!("summaries.js"),
    include_str!("chart.js"),
    include_str!("explore.js"),
    include_str!("main.js"),
];

/// The largest source that is put into the page, in bytes.
const LARGEST_SOURCE: usize = 8_000_000;

/// What a page says besides the answers.
pub struct More<'a> {
    /// What was asked for.
    pub args: &'a Check,
    /// What may be spent on telling what procedures do.
    pub budget: &'a Budget,
    /// The courses of the searches, if they are to be drawn.
    pub courses: Option<&'a Courses>,
}

/// A page while it is written.
pub struct Page {
    out: BufWriter<File>,
    /// For each property, by its name, the numbers of its traces and what is said of them.
    traces: HashMap<String, VecDeque<(usize, String)>>,
    count: usize,
    failed: Option<io::Error>,
}

impl Page {
    /// A page in a new file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut out = BufWriter::new(File::create(path)?);
        out.write_all(head(ALONE).as_bytes())?;
        out.flush()?;
        Ok(Page { out, traces: HashMap::new(), count: 0, failed: None })
    }

    /// Writes the trace of a violation. What goes wrong is told at the end.
    pub fn answer(&mut self, answer: &Answer, words: &Words) {
        let Verdict::Violated(trace) = &answer.verdict else { return };
        if self.failed.is_some() {
            return;
        }
        let says = format!("by a run {}", text::run(words, trace));
        self.traces.entry(answer.query.clone()).or_default().push_back((self.count, says));
        let id = format!("trace-{}", self.count);
        self.count += 1;
        let written = self.element(&id, |out| pack::write(out, words, &answer.query, trace, &answer.changes));
        self.failed = written.err();
    }

    /// Writes the rest.
    pub fn finish(mut self, report: &Report, input: &Input, more: &More) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut traces = std::mem::take(&mut self.traces);
        let properties: Vec<Value> = report
            .answers
            .iter()
            .map(|answer| {
                let mut property = json::facts(answer);
                property["says"] = json!(text::says(answer));
                property["advice"] = json!(text::advice(answer, &more.args.engine, &input.program).trim());
                if let Some((trace, says)) = traces.get_mut(&answer.query).and_then(VecDeque::pop_front) {
                    (property["trace"], property["says"]) = (json!(trace), json!(says));
                }
                property
            })
            .collect();
        let holds = |answer: &Answer| matches!(answer.verdict, Verdict::Holds { .. });
        let summaries = match report.answers.iter().any(holds) {
            true => summaries::tables(&input.program, more.budget),
            false => Vec::new(),
        };
        let data = json!({
            "schema": "postbop-page/1",
            "version": env!("CARGO_PKG_VERSION"),
            "file": input.name(),
            "format": input.format.name(),
            "verdict": overall(report.answers.iter().map(|answer| &answer.verdict)),
            "says": text::verdict(&report.answers).lines().last().unwrap_or_default(),
            "engine": report.engine,
            "properties": properties,
            "blocked": json::blocked(&report.blocked, input),
            "summaries": summaries,
            "asked": asked(more.args),
            "courses": more.courses.map(|courses| courses.of(report)),
            "sources": sources(input),
        });
        self.element("report", |out| write!(out, "{data}"))?;
        self.out.write_all(tail().as_bytes())?;
        self.out.flush()
    }

    /// Writes an element with data.
    fn element(&mut self, id: &str, data: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        element(&mut self.out, id, data)
    }
}

/// Writes an element with data.
fn element(
    out: &mut dyn Write,
    id: &str,
    data: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    write!(out, "<script type=\"application/json\" id=\"{id}\">")?;
    data(&mut Inert(&mut *out))?;
    out.write_all(b"</script>\n")
}

/// Which runs were asked for, in words; nothing if all of them were, and any would do.
fn asked(args: &Check) -> String {
    let count = |number: Option<u32>, one: &str, many: &str| {
        number.map(|number| format!("at most {number} {}", if number == 1 { one } else { many }))
    };
    let parts = [
        args.shortest.then(|| "the shortest".to_owned()),
        count(args.switches, "context switch", "context switches"),
        count(args.rounds, "round", "rounds"),
        count(args.source.threads, "thread", "threads"),
        args.first.then(|| "the first violation".to_owned()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The names and the texts of the files of a program, as far as they are not too large.
fn sources(input: &Input) -> Vec<Value> {
    let small = |text: &str| (text.len() <= LARGEST_SOURCE).then(|| text.to_owned());
    input.sources().map(|(name, text)| json!({ "name": name, "text": small(text) })).collect()
}

/// The page of the explorer, which shows a run that is made step by step.
pub fn explorer(input: &Input, shown: &Value) -> String {
    let data = json!({
        "schema": "postbop-page/1",
        "version": env!("CARGO_PKG_VERSION"),
        "file": input.name(),
        "format": input.format.name(),
        "verdict": "explore",
        "properties": [],
        "blocked": [],
        "sources": sources(input),
        "explore": shown,
    });
    let mut out = head(SERVED).into_bytes();
    let written = element(&mut out, "report", |out| write!(out, "{data}"));
    written.expect("memory can be written to");
    out.extend_from_slice(tail().as_bytes());
    String::from_utf8(out).expect("it is made of text")
}

/// What a page may fetch: nothing, or what is beside it.
const ALONE: &str = "";
const SERVED: &str = "; connect-src 'self'";

/// The document up to the data. The policy allows what is in the file, and what is named besides.
fn head(besides: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:{besides}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>postbop</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{BODY}"
    )
}

/// The document from the data on.
fn tail() -> String {
    format!("<script type=\"module\">\n{}</script>\n</body>\n</html>\n", script())
}

/// All modules as one.
fn script() -> String {
    let mut script = String::new();
    for line in MODULES.iter().flat_map(|module| module.lines()) {
        if line.starts_with("import ") {
            continue;
        }
        script.push_str(line.strip_prefix("export ").unwrap_or(line));
        script.push('\n');
    }
    script
}

/// Writes JSON that no element can be ended by.
struct Inert<W>(W);

impl<W: Write> Write for Inert<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for (at, piece) in bytes.split(|byte| *byte == b'<').enumerate() {
            if at > 0 {
                self.0.write_all(b"\\u003c")?;
            }
            self.0.write_all(piece)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_element() {
        let mut out = Vec::new();
        write!(Inert(&mut out), "{}", json!(["</script><script>", "<!--"])).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains('<'), "{text}");
        let back: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back, json!(["</script><script>", "<!--"]));
    }

    /// The name that a line of a module defines for the whole module, and whether others may import it.
    fn defined(line: &str) -> Option<(&str, bool)> {
        let rest = line.strip_prefix("export ");
        let (kind, definition) = rest.unwrap_or(line).split_once(' ')?;
        let name = definition.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        ["const", "let", "function", "class"].contains(&kind).then_some((name, rest.is_some()))
    }

    #[test]
    fn modules_fit_together_as_one() {
        let mut names: Vec<(&str, bool)> = Vec::new();
        for module in MODULES {
            for line in module.lines().filter(|line| line.starts_with("import ")) {
                let list = line.split_once('{').and_then(|(_, rest)| rest.split_once('}')).expect("names").0;
                for name in list.split(',').map(str::trim) {
                    assert!(names.contains(&(name, true)), "no module before exports `{name}`");
                }
            }
            for (name, exported) in module.lines().filter_map(defined) {
                assert!(names.iter().all(|(other, _)| *other != name), "`{name}` is defined twice");
                names.push((name, exported));
            }
        }
        assert!(names.len() > 20, "{names:?}");
        let script = script();
        assert!(
            !script.contains("\nimport ") && !script.contains("\nexport ") && !script.contains("</script")
        );
    }
}
