//! Room `cli/report`: reports and traces as JSON.
//!
//! A trace carries the ids that [`postbop_ir::replay()`] needs, and beside each of them what people and tools want to
//! see: names, lines, source text, changed values. Reading takes the ids alone; whoever reads a trace back compares
//! what is printed again with what was given, so nothing in it can be changed unnoticed.

use super::Subject;
use crate::input::Input;
use postbop_engine::Verdict;
use postbop_ir::interleave::Schedule;
use postbop_ir::replay::{Change, Completed, changes, interleaved_changes};
use postbop_ir::{
    Context, Frame, Id, Interleaving, ProcId, Program, Rejected, Segment, SegmentId, Step, Table, Target,
    Trace, VarId, text,
};
use serde_json::{Map, Value, json};

/// The report of a check, with or without its traces.
pub fn report(subject: &Subject, with_traces: bool) -> Value {
    let Subject { input, program, targets, report, threads } = *subject;
    let bound = bound(report.bound, threads);
    let replayed = |trace: Result<Value, Rejected>| {
        trace.unwrap_or_else(|rejected| panic!("a trace that was replayed is rejected: {rejected}"))
    };
    let property = |(target, (verdict, by)): (&Target, (&Verdict, &&str))| {
        let mut object = json!({ "name": target.name, "status": status(verdict), "engine": by });
        match verdict {
            Verdict::Holds if bound.is_empty() => {}
            Verdict::Holds => object["bound"] = json!(bound),
            Verdict::Unknown(why) => object["reason"] = json!(why.to_string()),
            Verdict::Violated(_) | Verdict::Interleaved(_) if !with_traces => {}
            Verdict::Violated(trace) => {
                object["trace"] = replayed(self::trace(input, program, &target.name, trace));
            }
            Verdict::Interleaved(run) => {
                object["trace"] = replayed(interleaving(input, program, &target.name, run));
            }
        }
        object
    };
    let properties: Vec<Value> =
        targets.iter().zip(report.verdicts.iter().zip(&report.by)).map(property).collect();
    let stats: Map<String, Value> =
        report.stats.iter().map(|(name, value)| (name.to_string(), json!(value))).collect();
    json!({
        "schema": "postbop/1",
        "verdict": overall(&report.verdicts),
        "properties": properties,
        "stats": stats,
    })
}

/// How far a verdict goes.
fn bound(schedule: Option<Schedule>, threads: Option<usize>) -> Map<String, Value> {
    let schedule = schedule.map(|schedule| match schedule {
        Schedule::Switches(count) => ("switches".to_owned(), json!(count)),
        Schedule::Rounds(count) => ("rounds".to_owned(), json!(count)),
    });
    schedule.into_iter().chain(threads.map(|count| ("threads".to_owned(), json!(count)))).collect()
}

/// The verdict in one word.
pub fn status(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Violated(_) | Verdict::Interleaved(_) => "violated",
        Verdict::Unknown(_) => "unknown",
    }
}

/// The verdict on all properties in one word.
pub fn overall(verdicts: &[Verdict]) -> &'static str {
    let any = |word| verdicts.iter().any(|verdict| status(verdict) == word);
    match (any("violated"), any("unknown")) {
        (true, _) => "violated",
        (_, true) => "unknown",
        _ => "holds",
    }
}

/// A trace, with the target it leads to.
pub fn trace(input: &Input, program: &Program, target: &str, trace: &Trace) -> Result<Value, Rejected> {
    let changes = changes(program, trace)?;
    let writer = Writer { input, program };
    let frames: Vec<Value> = trace
        .frames
        .iter()
        .zip(&changes.frames)
        .map(|(frame, changes)| writer.frame(frame, changes))
        .collect();
    Ok(json!({
        "target": target,
        "program": fingerprint(program),
        "length": trace.length().to_string(),
        "segments": writer.segments(&trace.segments, &changes.segments),
        "frames": frames,
    }))
}

/// An interleaved trace, with the target it leads to.
pub fn interleaving(
    input: &Input,
    program: &Program,
    target: &str,
    trace: &Interleaving,
) -> Result<Value, Rejected> {
    let changes = interleaved_changes(program, trace)?;
    let writer = Writer { input, program };
    let context = |(context, changes): (&Context, &Vec<Change>)| {
        json!({
            "name": program.threads[context.thread].name,
            "thread": context.thread.index(),
            "steps": writer.steps(&context.steps, changes),
        })
    };
    let contexts: Vec<Value> = trace.contexts.iter().zip(&changes.contexts).map(context).collect();
    Ok(json!({
        "target": target,
        "program": fingerprint(program),
        "length": trace.length().to_string(),
        "switches": trace.switches(),
        "segments": writer.segments(&trace.segments, &changes.segments),
        "initial": writer.values(&trace.initial),
        "prologue": writer.steps(&trace.prologue, &changes.prologue),
        "contexts": contexts,
    }))
}

/// A number that tells programs apart.
pub fn fingerprint(program: &Program) -> String {
    // FNV-1a: no protection against malice, only against the wrong file.
    let hash = text::print(program)
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ byte as u64).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}

struct Writer<'a> {
    input: &'a Input,
    program: &'a Program,
}

impl Writer<'_> {
    fn segments(&self, segments: &Table<SegmentId, Segment>, changes: &Completed) -> Vec<Value> {
        let segment = |(id, segment): (SegmentId, &Segment)| {
            let mut object = self.frame(&segment.frame, &changes.changes(id));
            object["exit"] = self.values(&segment.exit);
            object["results"] = json!(segment.results);
            object
        };
        segments.pairs().map(segment).collect()
    }

    fn frame(&self, frame: &Frame, changes: &[Change]) -> Value {
        json!({
            "procedure": self.program.procs[frame.proc].name,
            "proc": frame.proc.index(),
            "entry": self.values(&frame.entry),
            "steps": self.steps(&frame.steps, changes),
        })
    }

    fn steps(&self, steps: &[Step], changes: &[Change]) -> Vec<Value> {
        steps.iter().zip(changes).map(|(step, change)| self.step(step, change)).collect()
    }

    fn step(&self, step: &Step, change: &Change) -> Value {
        let span = self.program.edges[step.edge].span;
        let (line, column) = self.input.position(span);
        let mut object = json!({
            "edge": step.edge.index(),
            "line": line,
            "column": column,
            "source": self.input.statement(self.program, step.edge),
        });
        if !step.choices.is_empty() {
            object["choices"] = json!(step.choices);
        }
        if let Some(call) = step.call {
            object["call"] = json!(call.index());
        }
        if !change.is_empty() {
            object["changes"] = self.known(change.iter().copied());
        }
        object
    }

    fn values(&self, values: &[(VarId, i64)]) -> Value {
        self.known(values.iter().map(|&(var, value)| (var, Some(value))))
    }

    fn known(&self, values: impl Iterator<Item = (VarId, Option<i64>)>) -> Value {
        let item = |(var, value): (VarId, Option<i64>)| json!({ "name": self.program.vars[var].name, "var": var.index(), "value": value });
        Value::Array(values.map(item).collect())
    }
}

/// Reads a trace; `None` where the form is not that of a trace.
pub fn parse(value: &Value) -> Option<Trace> {
    Some(Trace { segments: segments(value)?, frames: list(value.get("frames")?, frame)? })
}

/// Reads an interleaved trace; `None` where the form is not that of one.
pub fn parse_interleaving(value: &Value) -> Option<Interleaving> {
    let context = |value: &Value| {
        Some(Context { thread: id(value.get("thread")?)?, steps: steps(value.get("steps")?)? })
    };
    Some(Interleaving {
        segments: segments(value)?,
        initial: pairs(value.get("initial")?)?,
        prologue: steps(value.get("prologue")?)?,
        contexts: list(value.get("contexts")?, context)?,
    })
}

fn list<T>(value: &Value, item: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    value.as_array()?.iter().map(item).collect()
}

fn segments(value: &Value) -> Option<Table<SegmentId, Segment>> {
    let segment = |value: &Value| {
        let exit = pairs(value.get("exit")?)?;
        Some(Segment { frame: frame(value)?, exit, results: list(value.get("results")?, number_or_null)? })
    };
    Some(list(value.get("segments")?, segment)?.into_iter().collect())
}

fn frame(value: &Value) -> Option<Frame> {
    let (proc, entry) = (id::<ProcId>(value.get("proc")?)?, pairs(value.get("entry")?)?);
    Some(Frame { proc, entry, steps: steps(value.get("steps")?)? })
}

fn steps(value: &Value) -> Option<Vec<Step>> {
    list(value, step)
}

fn step(value: &Value) -> Option<Step> {
    let choices = match value.get("choices") {
        None => Vec::new(),
        Some(choices) => list(choices, number_or_null)?,
    };
    let call = match value.get("call") {
        None => None,
        Some(call) => Some(id(call)?),
    };
    Some(Step { edge: id(value.get("edge")?)?, choices, call })
}

fn id<I: Id>(value: &Value) -> Option<I> {
    u32::try_from(value.as_u64()?).ok().map(|number| I::new(number as usize))
}

fn number_or_null(value: &Value) -> Option<Option<i64>> {
    if value.is_null() { Some(None) } else { value.as_i64().map(Some) }
}

fn pairs(value: &Value) -> Option<Vec<(VarId, i64)>> {
    list(value, |item| Some((id(item.get("var")?)?, item.get("value")?.as_i64()?)))
}
