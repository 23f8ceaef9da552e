//! Room `cli/report`: reports for build servers: JUnit XML, and annotations of GitHub.

use super::plain::{command, command_property, xml};
use super::text::{run, says};
use super::words::Words;
use crate::input::Input;
use postbop_engine::{Answer, Verdict};
use serde_json::Value;
use std::fmt::Write;

/// A test case for one property; the story of a violation is its text.
pub fn case(answer: &Answer, file: &str, story: &str) -> String {
    let head = format!("    <testcase classname=\"{}\" name=\"{}\"", xml(file), xml(&answer.query));
    let inside = |element: &str, text: &str| {
        let message = xml(&says(answer));
        format!(
            "{head}>\n      <{element} message=\"{message}\">{}</{element}>\n    </testcase>\n",
            xml(text)
        )
    };
    match answer.verdict {
        Verdict::Violated(_) => inside("failure", story),
        Verdict::Unknown(_) => inside("error", ""),
        Verdict::Holds { .. } if answer.vacuous == Some(true) => {
            format!("{head}>\n      <system-out>{}</system-out>\n    </testcase>\n", xml(&says(answer)))
        }
        Verdict::Holds { .. } => format!("{head}/>\n"),
    }
}

/// A test case for a program that could not be read.
pub fn unreadable(diagnostics: &[Value]) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics.iter().filter(|diagnostic| diagnostic["severity"] == "error") {
        let text = |key: &str| diagnostic[key].as_str().map(xml).unwrap_or_default();
        let _ = writeln!(
            out,
            "    <testcase classname=\"{}\" name=\"source\">\n      <error message=\"{}\">{}:{}</error>\n    </testcase>",
            text("file"),
            text("message"),
            text("file"),
            diagnostic["line"].as_u64().unwrap_or(0),
        );
    }
    out
}

/// The document, given its test cases.
pub fn document(file: &str, cases: &str) -> String {
    let count = |what: &str| cases.matches(what).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        count("<testcase "),
        count("<failure "),
        count("<error ")
    );
    let file = xml(file);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite name=\"{file}\" {counts}>\n{cases}  </testsuite>\n</testsuites>\n"
    )
}

/// The annotation for one property; nothing for one that simply holds.
pub fn annotation(answer: &Answer, input: &Input, words: Option<&Words>) -> String {
    let (level, text) = match &answer.verdict {
        Verdict::Violated(trace) => (
            "error",
            words
                .map(|words| format!("violated by a run {}", run(words, trace)))
                .unwrap_or_else(|| says(answer)),
        ),
        Verdict::Holds { .. } if answer.vacuous != Some(true) => return String::new(),
        _ => ("warning", says(answer)),
    };
    let mut place = format!("file={}", command_property(input.name()));
    if let (Verdict::Violated(trace), Some(words)) = (&answer.verdict, words)
        && let Some(step) = trace.contexts.iter().rev().find_map(|context| context.steps.last())
        && !input.text().is_empty()
    {
        let (line, column) = input.position(words.program.edges()[step.edge].span);
        let _ = write!(place, ",line={line},col={column}");
    }
    let title = command_property(&answer.query);
    format!("::{level} {place},title={title}::{}\n", command(&text))
}

/// The annotation for a problem of the source.
pub fn complaint(diagnostic: &Value) -> String {
    let text = |key: &str| diagnostic[key].as_str().unwrap_or_default();
    let mut place = String::new();
    if !text("file").is_empty() {
        let (file, line) = (command_property(text("file")), diagnostic["line"].as_u64().unwrap_or(1));
        let _ = write!(place, " file={file},line={line},col={}", diagnostic["column"].as_u64().unwrap_or(1));
    }
    format!("::{}{place}::{}\n", text("severity"), command(text("message")))
}
