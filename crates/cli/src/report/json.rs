//! Room `cli/report`: reports and traces as JSON.
//!
//! A trace carries the ids that [`postbop_ir::replay()`] needs, and beside each of them what people and tools want to
//! see: names, lines, source text, changed values. Reading takes the ids alone; whoever reads a trace back compares
//! what is printed again with what was given, so nothing in it can be changed unnoticed.

use crate::input::Input;
use postbop_engine::{Report, Verdict};
use postbop_ir::interleave::Schedule;
use postbop_ir::replay::{Change, changes};
use postbop_ir::{Frame, Id, ProcId, Program, Rejected, Segment, Step, Target, Trace, VarId, text};
use serde_json::{Map, Value, json};

/// The report of a check, with or without its traces.
pub fn report(
    input: &Input,
    program: &Program,
    targets: &[Target],
    report: &Report,
    with_traces: bool,
) -> Value {
    let property = |(target, (verdict, by)): (&Target, (&Verdict, &&str))| {
        let mut object = json!({ "name": target.name, "status": status(verdict), "engine": by });
        match verdict {
            Verdict::Holds => match report.bound {
                Some(Schedule::Switches(count)) => object["bound"] = json!({ "switches": count }),
                Some(Schedule::Rounds(count)) => object["bound"] = json!({ "rounds": count }),
                None => {}
            },
            Verdict::Interleaved(_) => {}
            Verdict::Unknown(why) => object["reason"] = json!(why.to_string()),
            Verdict::Violated(_) if !with_traces => {}
            Verdict::Violated(trace) => match self::trace(input, program, &target.name, trace) {
                Ok(trace) => object["trace"] = trace,
                Err(rejected) => panic!("a trace that was replayed is rejected: {rejected}"),
            },
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
    let segments: Vec<Value> = (trace.segments.iter().zip(changes.segments.iter()))
        .map(|(segment, changes)| {
            let mut object = writer.frame(&segment.frame, changes);
            object["exit"] = writer.known(segment.exit.iter().map(|&(var, value)| (var, Some(value))));
            object["results"] = json!(segment.results);
            object
        })
        .collect();
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
        "segments": segments,
        "frames": frames,
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
    fn frame(&self, frame: &Frame, changes: &[Change]) -> Value {
        let steps: Vec<Value> =
            frame.steps.iter().zip(changes).map(|(step, change)| self.step(step, change)).collect();
        json!({
            "procedure": self.program.procs[frame.proc].name,
            "proc": frame.proc.index(),
            "entry": self.known(frame.entry.iter().map(|&(var, value)| (var, Some(value)))),
            "steps": steps,
        })
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

    fn known(&self, values: impl Iterator<Item = (VarId, Option<i64>)>) -> Value {
        let item = |(var, value): (VarId, Option<i64>)| json!({ "name": self.program.vars[var].name, "var": var.index(), "value": value });
        Value::Array(values.map(item).collect())
    }
}

/// Reads a trace; `None` where the form is not that of a trace.
pub fn parse(value: &Value) -> Option<Trace> {
    let list = |value: &Value, key: &str| value.get(key)?.as_array().cloned();
    let segment = |value: &Value| {
        let exit = pairs(value.get("exit")?)?;
        let results = list(value, "results")?.iter().map(number_or_null).collect::<Option<_>>()?;
        Some(Segment { frame: frame(value)?, exit, results })
    };
    let segments = list(value, "segments")?.iter().map(segment).collect::<Option<Vec<_>>>()?;
    let frames = list(value, "frames")?.iter().map(frame).collect::<Option<_>>()?;
    Some(Trace { segments: segments.into_iter().collect(), frames })
}

fn frame(value: &Value) -> Option<Frame> {
    let steps = value.get("steps")?.as_array()?.iter().map(step).collect::<Option<_>>()?;
    Some(Frame { proc: id::<ProcId>(value.get("proc")?)?, entry: pairs(value.get("entry")?)?, steps })
}

fn step(value: &Value) -> Option<Step> {
    let choices = match value.get("choices") {
        None => Vec::new(),
        Some(choices) => choices.as_array()?.iter().map(number_or_null).collect::<Option<_>>()?,
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
    value.as_array()?.iter().map(|item| Some((id(item.get("var")?)?, item.get("value")?.as_i64()?))).collect()
}
