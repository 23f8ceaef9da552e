//! Room `cli/report`: the report of a check for programs: one JSON object, written as its parts become known.

use super::status;
use super::text::common_bound;
use super::trace_json::Writer;
use crate::input::Input;
use postbop_engine::{Answer, Blocked, Stats, Verdict};
use postbop_ir::{Bound, Id, Schedule};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// How the object begins.
pub const BEGIN: &str = "{\"schema\":\"postbop/1\",\"properties\":[";

/// What is known of one property, but for its trace.
pub fn facts(answer: &Answer) -> Value {
    let verdict = &answer.verdict;
    let mut object = json!({ "name": answer.query, "status": status(verdict), "engine": answer.engine });
    match verdict {
        Verdict::Holds { within, .. } if *within != Bound::NONE => object["bound"] = bound(*within),
        Verdict::Unknown(why) => object["reason"] = json!(why.to_string()),
        _ => {}
    }
    if let Some(explored) = answer.explored.filter(|_| !verdict.is_known()) {
        object["explored"] = bound(explored);
    }
    if matches!(verdict, Verdict::Holds { .. }) {
        object["checked"] = json!(answer.checked);
        if answer.checked_translation {
            object["checked_translation"] = json!(true);
        }
    }
    if let Some(vacuous) = answer.vacuous {
        object["vacuous"] = json!(vacuous);
    }
    object
}

/// Writes one property, with or without its trace.
pub fn property(out: &mut dyn Write, answer: &Answer, writer: Option<&Writer>) -> io::Result<()> {
    let object = facts(answer).to_string();
    match (&answer.verdict, writer) {
        (Verdict::Violated(trace), Some(writer)) => {
            out.write_all(&object.as_bytes()[..object.len() - 1])?;
            out.write_all(b",\"trace\":")?;
            writer.trace(out, &answer.query, trace, &answer.changes)?;
            out.write_all(b"}")
        }
        _ => out.write_all(object.as_bytes()),
    }
}

/// How the object ends: the verdict on all properties, and what was counted.
pub fn end(answers: &[Answer], word: &str, blocked: Vec<Value>, stats: &Stats) -> String {
    let stats: Map<String, Value> =
        stats.iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    let mut rest = json!({ "verdict": word });
    if let Some(common) = common_bound(answers).filter(|common| word == "holds" && *common != Bound::NONE) {
        rest["bound"] = bound(common);
    }
    if !blocked.is_empty() {
        rest["blocked"] = Value::Array(blocked);
    }
    rest["stats"] = Value::Object(stats);
    format!("],{}\n", &rest.to_string()[1..])
}

/// The assumptions that no run gets past.
pub fn blocked(blocked: &[Blocked], input: &Input) -> Vec<Value> {
    let object = |Blocked { edge, reached }: &Blocked| {
        let (line, column) = input.position(input.program.edges()[*edge].span);
        let source = input.statement(&input.program, *edge);
        let mut object = json!({ "edge": edge.index(), "line": line, "column": column, "source": source });
        if let Some(reached) = reached {
            object["reached"] = json!(reached);
        }
        object
    };
    blocked.iter().map(object).collect()
}

/// How far a verdict goes.
fn bound(Bound { schedule, threads }: Bound) -> Value {
    let schedule = schedule.map(|schedule| match schedule {
        Schedule::Switches(count) => ("switches".to_owned(), json!(count)),
        Schedule::Rounds(count) => ("rounds".to_owned(), json!(count)),
    });
    let threads = threads.map(|count| ("threads".to_owned(), json!(count)));
    Value::Object(schedule.into_iter().chain(threads).collect::<Map<_, _>>())
}
