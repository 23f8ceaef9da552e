//! Room `cli/commands`: `postbop replay`.

use super::watched::named;
use crate::args::Replay;
use crate::guard::Guard;
use crate::report::text::told;
use crate::report::trace_json::{self, Writer};
use crate::report::words::Words;
use crate::{Output, Status, input};
use postbop_engine::DEADLOCK;
use postbop_front::Names;
use postbop_ir::replay::{changes, deadlock};
use postbop_ir::text::fingerprint;
use postbop_ir::{Action, Ask, Program, Rejected, Trace, replay};
use serde_json::Value;

/// Runs the traces of a report, or one trace, on a program. What is found out about one is written before the next is begun: a
/// limit ends the process.
pub fn run(args: &Replay, output: &mut Output) -> Status {
    let input = match input::read(&args.source, output) {
        Ok(input) => input,
        Err(status) => return status,
    };
    let guard = Guard::new(output.limits);
    let bytes = match input::bytes(&args.trace, output) {
        Ok(bytes) => bytes,
        Err(status) => return status,
    };
    let mut bad = |message: String| {
        output.err.push_str(&format!("error: {}: {message}\n", args.trace.display()));
        Status::BadInput
    };
    let names = Names::new(&input.program, input.text());
    let reader = Reader { words: Words::new(&input), names, fingerprint: fingerprint(&input.program) };
    let value: Value = match serde_json::from_slice(&bytes) {
        Ok(value) => value,
        Err(error) => return bad(format!("not JSON: {error}")),
    };
    let traces = traces(&value);
    if traces.is_empty() {
        return bad("there is no trace in it".into());
    }
    drop(guard);
    for trace in traces {
        let name = trace.get("target").and_then(Value::as_str).unwrap_or("trace");
        let guard = Guard::new(output.limits);
        let run = reader.one(trace, output);
        drop(guard);
        match run {
            Ok(run) => output.out.push_str(&format!("{name}  accepted: a run of {run}\n")),
            Err(reason) => {
                output.out.push_str(&format!("{name}  rejected: {reason}\n"));
                output.limits.so_far = Status::Violated;
            }
        }
        output.out.flush_soon();
    }
    output.limits.so_far
}

/// The traces of a report; or the trace itself.
fn traces(value: &Value) -> Vec<&Value> {
    match value.get("properties").and_then(Value::as_array) {
        Some(properties) => properties.iter().filter_map(|property| property.get("trace")).collect(),
        None if value.get("frames").is_some() || value.get("contexts").is_some() => vec![value],
        None => Vec::new(),
    }
}

/// Reads traces about one program.
struct Reader<'a> {
    words: Words<'a>,
    names: Names<'a>,
    fingerprint: String,
}

impl Reader<'_> {
    /// What a trace must show. Of a formula or a monitor, that it is a run; [`Reader::is_watched`] sees the rest.
    fn ask(&self, name: &str, trace: &Trace) -> Result<Ask, String> {
        let all = || self.words.program.locs().ids().collect();
        match (name.split_once(':'), &trace.repeats) {
            (Some(("ltl" | "monitor", _)), Some(_)) => Ok(Ask::Recur(all())),
            (Some(("ltl" | "monitor", _)), None) => Ok(Ask::Reach(all())),
            (None, None) if self.words.waiting(name, trace).is_some() => Ok(Ask::Reach(all())),
            (None, None) if name == DEADLOCK => Err(deadlock(self.words.program, trace)
                .err()
                .map_or(String::new(), |rejected| rejected.to_string())),
            (Some(("terminates", proc)), Some(_)) => {
                self.never_returns(proc, trace).map(|()| Ask::Recur(all()))
            }
            _ => Ok(self.names.property(name)?.ask),
        }
    }

    /// A run that goes on for ever must leave an activation of the procedure on the stack: the calls that are open at its end never return.
    fn never_returns(&self, proc: &str, trace: &Trace) -> Result<(), String> {
        let program = self.words.program;
        let procs = self.names.procedures(proc)?;
        let mut open = vec![program.main()];
        for step in trace.contexts.iter().flat_map(|context| &context.steps) {
            match program.edges().get(step.edge).map(|edge| &edge.action) {
                Some(Action::Call { callee, .. }) if step.call.is_none() => open.push(*callee),
                Some(Action::Return(_)) => drop(open.pop()),
                _ => {}
            }
        }
        match open.iter().any(|proc| procs.contains(proc)) {
            true => Ok(()),
            false => Err(format!("every activation of {proc} returns")),
        }
    }

    /// A run that is said to violate a formula or a monitor must do so.
    fn is_watched(&self, name: &str, trace: &Trace, output: &mut Output) -> Result<(), String> {
        let Some(watched) = named(name, self.words.input, output) else { return Ok(()) };
        let watched = watched.map_err(|_| format!("it cannot be read what {name} says"))?;
        match watched.is_shown(self.words.input, trace).map_err(|rejected| rejected.to_string())? {
            true => Ok(()),
            false => Err(format!("it is a run of the program, but it does not violate {name}")),
        }
    }

    /// What run it is, if it is one.
    fn one(&self, value: &Value, output: &mut Output) -> Result<String, String> {
        let name = value.get("target").and_then(Value::as_str).ok_or("it names no target")?;
        let trace = trace_json::parse(value).map_err(|problem| format!("this {problem}"))?;
        let ask = self.ask(name, &trace)?;
        if value.get("program").and_then(Value::as_str) != Some(&self.fingerprint) {
            return Err("it was made from another program, or from another version of this file".into());
        }
        let program = self.words.program;
        let told = |rejected: Rejected| rejected.to_string();
        replay(program, &trace, &ask).map_err(told)?;
        self.is_watched(name, &trace, output)?;
        let played = changes(program, &trace).map_err(told)?;
        let writer = Writer { words: &self.words, fingerprint: &self.fingerprint };
        let mut again = Vec::new();
        writer.trace(&mut again, name, &trace, &played.contexts).map_err(|error| error.to_string())?;
        let again: Value = serde_json::from_slice(&again).map_err(|error| error.to_string())?;
        match difference(&again, value) {
            None => Ok(length(program, &trace)),
            Some(Difference { place, is, claimed }) => Err(format!(
                "the trace is a run of the program, but at `{place}` it says {claimed} where the run has {is}"
            )),
        }
    }
}

fn length(program: &Program, trace: &Trace) -> String {
    let steps = told(&trace.length());
    match program.is_sequential() {
        true => format!("{steps} steps"),
        false => format!("{steps} steps in {} contexts", trace.switches() + 1),
    }
}

/// Where two traces differ first, and in what.
struct Difference {
    place: String,
    is: String,
    claimed: String,
}

impl Difference {
    fn inside(mut self, key: &str) -> Self {
        let dot = if self.place.is_empty() { "" } else { "." };
        self.place = format!("{key}{dot}{}", self.place);
        self
    }
}

fn difference(is: &Value, claimed: &Value) -> Option<Difference> {
    match (is, claimed) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.filter_map(|key| {
                let (a, b) = (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
                // A member that says nothing is not the same as no member.
                let missing = is.get(key).is_some() != claimed.get(key).is_some();
                difference(a, b).or(missing.then(|| found(a, b))).map(|found| found.inside(key))
            })
            .next()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(at, (a, b))| difference(a, b).map(|found| found.inside(&at.to_string())))
        }
        _ => (is != claimed).then(|| found(is, claimed)),
    }
}

fn found(is: &Value, claimed: &Value) -> Difference {
    let short = |value: &Value| match value {
        Value::Array(items) => format!("{} items", items.len()),
        Value::Object(_) => "something else".to_owned(),
        Value::Null => "nothing".to_owned(),
        value => format!("`{value}`"),
    };
    Difference { place: String::new(), is: short(is), claimed: short(claimed) }
}
