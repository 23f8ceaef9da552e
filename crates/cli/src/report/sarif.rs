//! Room `cli/report`: the report as a log in the Static Analysis Results Interchange Format, SARIF 2.1.0.
//!
//! Each property is a result: `fail` with a code flow, `pass`, or `open`. The run is one code flow with a thread flow for each
//! thread; the nesting level of a step is how many calls are open, and its execution order its place among the steps that are
//! told. A short run is told with everything inside completed calls; of a long one a completed call is one step, and the first
//! and the last steps are told.

use super::json;
use super::plain::visible;
use super::text::says;
use super::words::Words;
use crate::input::Input;
use postbop_engine::{Answer, Verdict};
use postbop_ir::replay::{Change, Changes, Completed};
use postbop_ir::{Action, Id, Length, Span, Step, Trace};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The longest run that is told in full, and how many of the first and of the last steps of a longer one.
const SHORT: u64 = 2_000;
const ENDS: usize = 1_000;

/// The log of one run of the tool.
pub fn log(results: Vec<Value>, notifications: Vec<Value>, successful: bool) -> String {
    let mut invocation = json!({ "executionSuccessful": successful });
    if !notifications.is_empty() {
        invocation["toolExecutionNotifications"] = Value::Array(notifications);
    }
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "postbop", "version": env!("CARGO_PKG_VERSION") } },
            "columnKind": "unicodeCodePoints",
            "invocations": [invocation],
            "results": results,
        }],
    });
    format!("{log}\n")
}

/// A problem of the source, as [`super::diagnostics`] writes it in JSON.
pub fn notification(diagnostic: &Value) -> Value {
    let text = diagnostic["message"].as_str().unwrap_or_default();
    let level = diagnostic["severity"].as_str().unwrap_or("error");
    let mut out = json!({ "level": level, "message": message(text) });
    if let Some(code) = diagnostic.get("code") {
        out["descriptor"] = json!({ "id": code });
    }
    if let (Some(file), Some(line)) = (diagnostic["file"].as_str(), diagnostic.get("line")) {
        let region = json!({ "startLine": line, "startColumn": diagnostic["column"] });
        out["locations"] =
            json!([{ "physicalLocation": { "artifactLocation": { "uri": uri(file) }, "region": region } }]);
    }
    out
}

/// The result for one property.
pub fn result(answer: &Answer, words: Option<&Words>) -> Value {
    let (kind, level) = match answer.verdict {
        Verdict::Violated(_) => ("fail", "error"),
        Verdict::Holds { .. } => ("pass", "none"),
        Verdict::Unknown(_) => ("open", "none"),
    };
    let rule = answer.query.split_once(':').map_or("label", |(rule, _)| rule);
    let mut facts = json::facts(answer);
    facts.as_object_mut().map(|facts| facts.remove("status"));
    let text = format!("{}: {}", answer.query, says(answer));
    let mut out = json!({ "ruleId": rule, "kind": kind, "level": level, "message": message(&text), "properties": facts });
    let (Verdict::Violated(trace), Some(words)) = (&answer.verdict, words) else { return out };
    out["properties"]["length"] = json!(trace.length().to_string());
    let last = trace.contexts.iter().rev().find_map(|context| context.steps.last());
    if let Some(step) = last {
        out["locations"] = json!([location(words.input, words.program.edges()[step.edge].span)]);
    }
    let flows = flows(words, trace, &answer.changes);
    if !flows.is_empty() {
        out["codeFlows"] = json!([{ "threadFlows": flows }]);
    }
    out
}

/// A message. Braces and brackets have a meaning of their own in it.
fn message(text: &str) -> Value {
    let mut out = String::new();
    for c in visible(text).chars() {
        match c {
            '{' | '}' => out.extend([c, c]),
            '[' | ']' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    json!({ "text": out })
}

/// A path as a reference of the form that web addresses have.
fn uri(path: &str) -> String {
    let mut out = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                out.push(byte as char)
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn location(input: &Input, span: Span) -> Value {
    let name = input.sources().nth(span.file.index()).map_or(input.name(), |(name, _)| name);
    let mut physical = json!({ "artifactLocation": { "uri": uri(name) } });
    if !input.text().is_empty() {
        let (line, column) = input.position(span);
        let (end_line, end_column) = input.position(Span { start: span.end, ..span });
        physical["region"] =
            json!({ "startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column });
    }
    json!({ "physicalLocation": physical })
}

/// The thread flows of a run.
fn flows(words: &Words, trace: &Trace, changes: &[Changes]) -> Vec<Value> {
    let short = trace.length() <= Length::from(SHORT);
    let segments = if short { Completed::new(words.program, &trace.segments).ok() } else { None };
    let mut flows =
        Flows { words, trace, segments, lists: BTreeMap::new(), depths: BTreeMap::new(), told: 0 };
    let total: usize = trace.contexts.iter().map(|context| context.steps.len()).sum();
    let mut seen = 0;
    for (context, changes) in trace.contexts.iter().zip(changes) {
        let thread = context.thread.map(|thread| thread.index());
        for (at, step) in context.steps.iter().enumerate() {
            seen += 1;
            let left_out = !short && seen > ENDS && seen + ENDS <= total;
            flows.step(thread, step, changes.of(at), !left_out);
        }
    }
    let name = |thread: Option<usize>| match thread {
        Some(thread) => words.program.threads().iter().nth(thread).map_or("", |thread| thread.name.as_str()),
        None => "start",
    };
    let flow =
        |(thread, locations)| json!({ "id": visible(name(thread)), "locations": Value::Array(locations) });
    flows.lists.into_iter().map(flow).collect()
}

/// Thread flows while they are collected.
struct Flows<'a> {
    words: &'a Words<'a>,
    trace: &'a Trace,
    segments: Option<Completed<'a>>,
    lists: BTreeMap<Option<usize>, Vec<Value>>,
    depths: BTreeMap<Option<usize>, usize>,
    told: usize,
}

impl Flows<'_> {
    /// A step of a context, and what is inside if it is a completed call.
    fn step(&mut self, thread: Option<usize>, step: &Step, changes: &[Change], tell: bool) {
        let depth = self.depths.get(&thread).copied().unwrap_or(0);
        if tell {
            self.tell(thread, step, changes, depth);
        } else {
            self.told += 1;
        }
        match self.words.program.edges()[step.edge].action {
            Action::Call { .. } if step.call.is_none() => drop(self.depths.insert(thread, depth + 1)),
            Action::Return(_) => drop(self.depths.insert(thread, depth.saturating_sub(1))),
            _ => {}
        }
        let Some(segments) = &self.segments else { return };
        let opened = |call| (call, segments.changes(call), 0);
        let mut stack: Vec<_> = step.call.into_iter().map(opened).collect();
        let mut inside = Vec::new();
        while let Some((segment, changes, at)) = stack.last_mut() {
            let Some(step) = self.trace.segments[*segment].steps.get(*at) else {
                stack.pop();
                continue;
            };
            let change = changes.of(*at).to_vec();
            *at += 1;
            inside.push((step, change, depth + stack.len()));
            stack.extend(step.call.map(|call| (call, segments.changes(call), 0)));
        }
        for (step, change, depth) in inside {
            self.tell(thread, step, &change, depth);
        }
    }

    fn tell(&mut self, thread: Option<usize>, step: &Step, changes: &[Change], depth: usize) {
        let Words { input, program, .. } = *self.words;
        let mut place = location(input, program.edges()[step.edge].span);
        let text = format!("{}{}", input.statement(program, step.edge), self.words.branch(step.edge));
        place["message"] = message(&text);
        self.told += 1;
        let mut told = json!({ "location": place, "nestingLevel": depth, "executionOrder": self.told });
        let known = changes.iter().filter(|(var, _)| !program.vars()[*var].is_hidden());
        let known = known.filter_map(|(var, value)| {
            Some((program.vars()[*var].name.clone(), message(&value.as_ref()?.to_string())))
        });
        let known: Map<String, Value> = known.collect();
        if !known.is_empty() {
            told["state"] = Value::Object(known);
        }
        self.lists.entry(thread).or_default().push(told);
    }
}
