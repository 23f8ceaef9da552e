//! `postbop replay` must notice every change of a trace file.
//!
//! Everything in the file that `check --format json` wrote is changed: each number, text and gap, each element and each
//! member. Only an entry value, a choice or a segment that no step names may turn out not to matter; then the interpreter
//! must follow the trace. All mutants of a trace are put into one report, for `replay` takes reports.

use crate::common::{all_good, bytes, postbop, say, scratch};
use crate::interpreter::follow;
use crate::question;
use postbop_front::{Options, read};
use postbop_ir::{Context, EdgeId, ProcId, Segment, SegmentId, Step, ThreadId, Trace, Value, VarId};
use serde_json::{Value as Json, json};
use std::path::Path;
use xtask::rng::Rng;

/// Cases with calls that came back, pending calls, choices, integers, several procedures.
const CASES: [(&str, &str); 12] = [
    ("basics/bebop_fig1.bp", "R"),
    ("basics/one_label_two_procedures.bp", "g:L"),
    ("basics/return_ends_main.bp", "IN"),
    ("goto/label_before_end.bp", "L"),
    ("goto/several_targets.bp", "B"),
    ("goto/out_of_loop.bp", "OUT"),
    ("traps/dead_integer.bp", "TOP"),
    ("traps/assert_then_known.bp", "A"),
    ("goto/labels_are_local.bp", "f:L"),
    ("goto/into_block.bp", "IN"),
    ("recursion/reached_at_depth.bp", "DEEP"),
    ("arrays/initialiser_choice.bp", "DIFFER"),
];

/// Every value one change away, each with the place of the change.
fn changes(value: &Json, place: &str, all: &mut Vec<(String, Json)>) {
    let mut add = |what: &str, value: Json| all.push((format!("{place} {what}"), value));
    match value {
        Json::Null => add("filled", json!(0)),
        Json::Bool(truth) => add("negated", json!(!truth)),
        Json::Number(number) => {
            let number = number.as_i64().expect("whole numbers");
            [number + 1, number ^ 1, -1].iter().for_each(|other| add("changed", json!(other)));
            add("opened", Json::Null);
        }
        Json::String(text) => add("lengthened", json!(format!("{text}x"))),
        Json::Array(items) => {
            for at in 0..items.len() {
                let without = [&items[..at], &items[at + 1..]].concat();
                add(&format!("without {at}"), Json::Array(without));
                let twice = [&items[..=at], &items[at..]].concat();
                add(&format!("with {at} twice"), Json::Array(twice));
            }
        }
        Json::Object(members) => {
            for key in members.keys() {
                let mut without = members.clone();
                without.remove(key);
                add(&format!("without {key}"), Json::Object(without));
            }
            let mut more = members.clone();
            more.insert("more".into(), json!(1));
            add("with more", Json::Object(more));
        }
    }
    inside(value, place, all);
}

/// The changes of what is inside a value.
fn inside(value: &Json, place: &str, all: &mut Vec<(String, Json)>) {
    let keys: Vec<String> = match value {
        Json::Array(items) => (0..items.len()).map(|at| at.to_string()).collect(),
        Json::Object(members) => members.keys().cloned().collect(),
        _ => return,
    };
    for key in keys {
        let pointer = format!("/{key}");
        let mut found = Vec::new();
        changes(value.pointer(&pointer).expect("it is there"), &format!("{place}/{key}"), &mut found);
        for (place, changed) in found {
            let mut whole = value.clone();
            *whole.pointer_mut(&pointer).expect("it is there") = changed;
            all.push((place, whole));
        }
    }
}

/// The trace without what is only there to be looked at.
fn bare(value: &Json) -> Option<Trace> {
    let number = |value: &Json| u32::try_from(value.as_u64()?).ok();
    let told = |json: &Json| json.as_i64().map(Value::new);
    let known = |json: &Json| -> Option<Vec<(VarId, Value)>> {
        let pair = |item: &Json| Some((VarId(number(&item["var"])?), told(&item["value"])?));
        json.as_array()?.iter().map(pair).collect()
    };
    let step = |value: &Json| {
        let choices = value.get("choices").map_or(Some(Vec::new()), |choices| {
            Some(choices.as_array()?.iter().map(told).collect::<Vec<_>>())
        });
        let mut step = Step::new(EdgeId(number(&value["edge"])?), choices?);
        step.call = value.get("call").and_then(number).map(SegmentId);
        Some(step.entering(value.get("locals").map_or(Some(Vec::new()), known)?))
    };
    let steps = |value: &Json| value.as_array()?.iter().map(step).collect::<Option<Vec<Step>>>();
    let segment = |value: &Json| {
        let segment =
            Segment::new(ProcId(number(&value["proc"])?), known(&value["entry"])?, steps(&value["steps"])?);
        let results = value["results"].as_array()?.iter().map(told).collect();
        Some(Segment { exit: known(&value["exit"])?, results, ..segment })
    };
    let context = |value: &Json| {
        let thread = number(&value["thread"]).map(ThreadId);
        Some(Context { thread, steps: steps(&value["steps"])? })
    };
    let segments: Option<Vec<Segment>> = value["segments"].as_array()?.iter().map(segment).collect();
    let contexts: Option<Vec<Context>> = value["contexts"].as_array()?.iter().map(context).collect();
    Some(Trace {
        segments: segments?.into_iter().collect(),
        initial: known(&value["initial"])?,
        contexts: contexts?,
        repeats: None,
    })
}

/// The changes of the trace in a report, each with its place and what `replay` says of it. The first is the trace itself.
pub fn replayed(path: &str, report: &str, name: &str) -> Vec<(String, Json, String)> {
    let report: Json = serde_json::from_str(report).expect("JSON");
    let trace = &report["properties"][0]["trace"];
    let mut mutants = vec![("nothing".to_owned(), trace.clone())];
    changes(trace, "", &mut mutants);
    mutants.retain(|(place, mutant)| mutant != trace || place == "nothing");
    let properties: Vec<Json> = mutants.iter().map(|(_, mutant)| json!({ "trace": mutant })).collect();
    let file = scratch(name, json!({ "properties": properties }).to_string());
    let ran = postbop(&["replay", path, file.to_str().expect("plain names")]).with(1);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), mutants.len(), "one line a trace");
    assert!(lines[0].contains("  accepted: "), "{path}: the trace itself: {}", lines[0]);
    mutants.into_iter().zip(lines).map(|((place, mutant), line)| (place, mutant, line.to_owned())).collect()
}

/// What is wrong with how the mutants of one trace were taken; how many were rejected and accepted.
fn examine(case: &str, label: &str, failures: &mut Vec<String>) -> (usize, usize) {
    let path = format!("tests/cases/{case}");
    let report = postbop(&["check", &path, "--target", label, "--format", "json", "--shortest"]).with(1);
    let mutants = replayed(&path, &report.out, &format!("mutants_of_{}.json", case.replace('/', "_")));
    let program = read(&bytes(Path::new(&path)), Options::default()).program.expect("a program");
    let queries = question::queries(&program, Some(label)).expect("a label");
    let mut accepted = 0;
    for (place, mutant, line) in mutants.iter().skip(1) {
        if line.contains("  rejected: ") {
            continue;
        }
        accepted += 1;
        let run = |trace: Trace| {
            (0..12).try_for_each(|seed| follow(&program, &trace, queries[0].locs(), &mut Rng::new(seed)))
        };
        let may_not_matter = ["/choices", "/entry", "/initial", "/locals", "/segments with "]
            .iter()
            .any(|part| place.contains(part));
        if !may_not_matter || bare(mutant).is_none_or(|trace| run(trace).is_err()) {
            failures.push(format!("{case}: {place}: {line}"));
        }
    }
    (mutants.len() - 1 - accepted, accepted)
}

#[test]
fn every_change_of_a_trace_file_is_noticed() {
    let (mut rejected, mut accepted, mut failures) = (0, 0, Vec::new());
    for (case, label) in CASES {
        let (no, yes) = examine(case, label, &mut failures);
        (rejected, accepted) = (rejected + no, accepted + yes);
    }
    let files = CASES.len();
    say(&format!("trace files: {files}; mutants: {rejected} rejected, {accepted} accepted and followed"));
    all_good(&failures);
    assert!(rejected > 1000 && accepted * 20 < rejected, "the mutants hardly matter");
}
