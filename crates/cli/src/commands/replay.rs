//! Room `cli/commands`: `postbop replay`.

use crate::args::Replay;
use crate::input::{self, Input};
use crate::report::json;
use crate::{Said, Status, properties};
use postbop_ir::replay::replay_interleaving;
use postbop_ir::{Interleaving, Program, Trace, replay};
use serde_json::Value;

/// Runs the traces of a report, or one trace, on a program.
pub fn run(args: &Replay, said: &mut Said) -> Status {
    let input = match input::read(&args.source, said) {
        Ok(input) => input,
        Err(status) => return status,
    };
    let bytes = match input::bytes(&args.trace, said) {
        Ok(bytes) => bytes,
        Err(status) => return status,
    };
    let mut bad = |message: String| {
        said.err.push_str(&format!("error: {}: {message}\n", args.trace.display()));
        Status::BadInput
    };
    let program = &input.program;
    let value: Value = match serde_json::from_slice(&bytes) {
        Ok(value) => value,
        Err(error) => return bad(format!("not JSON: {error}")),
    };
    let traces = traces(&value);
    if traces.is_empty() {
        return bad("there is no trace in it".into());
    }
    let mut status = Status::Good;
    for trace in traces {
        let name = trace.get("target").and_then(Value::as_str).unwrap_or("trace");
        match one(&input, program, trace) {
            Ok(run) => said.out.push_str(&format!("{name}  accepted: a run of {run}\n")),
            Err(reason) => {
                said.out.push_str(&format!("{name}  rejected: {reason}\n"));
                status = Status::Violated;
            }
        }
    }
    status
}

/// A trace that somebody wrote.
enum Given {
    Sequential(Trace),
    Interleaved(Interleaving),
}

impl Given {
    fn run(&self) -> String {
        match self {
            Given::Sequential(trace) => format!("{} steps", trace.length()),
            Given::Interleaved(trace) => {
                format!("{} steps in {} contexts", trace.length(), trace.contexts.len())
            }
        }
    }
}

fn parse(value: &Value) -> Option<Given> {
    match value.get("contexts") {
        None => json::parse(value).map(Given::Sequential),
        Some(_) => json::parse_interleaving(value).map(Given::Interleaved),
    }
}

/// The traces of a report; or the trace itself.
fn traces(value: &Value) -> Vec<&Value> {
    match value.get("properties").and_then(Value::as_array) {
        Some(properties) => properties.iter().filter_map(|property| property.get("trace")).collect(),
        None if value.get("frames").is_some() || value.get("contexts").is_some() => vec![value],
        None => Vec::new(),
    }
}

/// What run it is, if it is one.
fn one(input: &Input, program: &Program, value: &Value) -> Result<String, String> {
    let name = value.get("target").and_then(Value::as_str).ok_or("it names no target")?;
    let customary = properties::targets(input, program, &[])?;
    let target = match customary.into_iter().find(|target| target.name == name) {
        Some(target) => target,
        None => properties::targets(input, program, &[name.to_owned()])?.remove(0),
    };
    let trace = parse(value).ok_or("it has not the form of a trace")?;
    if value.get("program").and_then(Value::as_str) != Some(&json::fingerprint(program)) {
        return Err("it was made from another program, or from this one before it was changed".into());
    }
    let told = match &trace {
        Given::Sequential(trace) => {
            replay(program, trace, &target.locs).and_then(|()| json::trace(input, program, name, trace))
        }
        Given::Interleaved(trace) => replay_interleaving(program, trace, &target.locs)
            .and_then(|()| json::interleaving(input, program, name, trace)),
    };
    match difference(&told.map_err(|rejected| rejected.to_string())?, value) {
        None => Ok(trace.run()),
        Some(place) => Err(format!("the run is one, but what is said of it at `{place}` is not so")),
    }
}

/// Where two traces differ first.
fn difference(told: &Value, given: &Value) -> Option<String> {
    match (told, given) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.filter_map(|key| {
                let (a, b) = (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
                difference(a, b).map(|rest| format!("{key}{}{rest}", if rest.is_empty() { "" } else { "." }))
            })
            .next()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(at, (a, b))| {
                difference(a, b).map(|rest| format!("{at}{}{rest}", if rest.is_empty() { "" } else { "." }))
            })
        }
        _ => (told != given).then(String::new),
    }
}
