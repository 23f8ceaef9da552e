//! Room `cli/report`: traces as JSON.
//!
//! A trace carries the ids that [`postbop_ir::replay()`] needs, and beside each of them what people and tools want to
//! see: names, lines, source text, changed values. Reading takes the ids alone; `postbop replay` prints the
//! trace again and compares it with the file, so nothing in it can be changed unnoticed.
//!
//! A trace is written step by step, never as a whole in memory. One with more than [`LONGEST`] steps is *shortened*: it
//! has its first and its last steps, says so, and cannot be replayed.

use super::words::Words;
use postbop_ir::replay::{Change, Changes, Completed, Waiting};
use postbop_ir::{
    Context, Id, Position, Rejected, Repeat, Segment, SegmentId, Step, Table, ThreadId, Trace, Value, VarId,
};
use serde_json::{Value as Json, json};
use std::io::{self, Write};

/// The form of traces.
pub const SCHEMA: &str = "postbop-trace/2";

/// The most steps that are written of one trace, and how many of the first and of the last of a longer one.
pub const LONGEST: usize = 2_000_000;
const ENDS: usize = 1_000;

/// What is written.
pub struct Writer<'a> {
    /// The words for the program.
    pub words: &'a Words<'a>,
    /// The program's fingerprint.
    pub fingerprint: &'a str,
}

impl Writer<'_> {
    /// Writes a trace that was replayed, given what the steps of its contexts change.
    pub fn trace(
        &self,
        out: &mut dyn Write,
        target: &str,
        trace: &Trace,
        changes: &[Changes],
    ) -> io::Result<()> {
        let mut head = json!({
            "schema": SCHEMA,
            "target": target,
            "program": self.fingerprint,
            "length": trace.length().to_string(),
            "switches": trace.switches(),
            "initial": self.values(&trace.initial),
        });
        if let Some(Repeat { from, head: known }) = &trace.repeats {
            head["repeats"] =
                json!({ "context": from.context, "step": from.step, "head": self.values(known) });
        }
        if let Some(waiting) = self.words.waiting(target, trace) {
            head["waiting"] = waiting.iter().map(|at| self.waiting(at)).collect();
        }
        let head = head.to_string();
        out.write_all(&head.as_bytes()[..head.len() - 1])?;
        let steps = trace.contexts.iter().map(|context| context.steps.len()).sum::<usize>()
            + trace.segments.iter().map(|segment| segment.steps.len()).sum::<usize>();
        let shortened = steps > LONGEST;
        if shortened {
            out.write_all(b",\"shortened\":true")?;
        } else {
            out.write_all(b",\"segments\":")?;
            self.segments(out, trace)?;
        }
        out.write_all(b",\"contexts\":[")?;
        for (at, (context, changes)) in trace.contexts.iter().zip(changes).enumerate() {
            out.write_all(if at == 0 { b"{" } else { b",{" })?;
            self.context(out, context, changes, shortened)?;
        }
        out.write_all(b"]}")
    }

    /// A thread that waits.
    pub fn waiting(&self, at: &Waiting) -> Json {
        let (line, text) = self.words.statement(at.loc);
        let mut object = json!({ "name": self.words.name_of(at.thread).unwrap_or("start"), "source": text });
        if let Some(line) = line {
            object["line"] = json!(line);
        }
        object["thread"] = json!(at.thread.map(|thread| thread.index()));
        object
    }

    fn context(
        &self,
        out: &mut dyn Write,
        context: &Context,
        changes: &Changes,
        shortened: bool,
    ) -> io::Result<()> {
        let name = match context.thread {
            Some(thread) => self.words.program.threads()[thread].name.as_str(),
            None => "start",
        };
        write!(
            out,
            "\"name\":{},\"thread\":{},",
            json!(name),
            json!(context.thread.map(|thread| thread.index()))
        )?;
        let count = context.steps.len();
        match shortened && count > 2 * ENDS {
            false => self.steps(out, "steps", &context.steps, 0..count, changes)?,
            true => {
                self.steps(out, "steps", &context.steps, 0..ENDS, changes)?;
                write!(out, ",\"left_out\":{},", count - 2 * ENDS)?;
                self.steps(out, "last_steps", &context.steps, count - ENDS..count, changes)?;
            }
        }
        out.write_all(b"}")
    }

    fn segments(&self, out: &mut dyn Write, trace: &Trace) -> io::Result<()> {
        let completed = Completed::new(self.words.program, &trace.segments).map_err(rejected)?;
        out.write_all(b"[")?;
        for (id, segment) in trace.segments.pairs() {
            let Segment { proc, entry, steps, exit, results } = segment;
            write!(
                out,
                "{}{{\"procedure\":{},\"proc\":{},\"entry\":{},",
                if id.index() == 0 { "" } else { "," },
                json!(self.words.program.procs()[*proc].name),
                proc.index(),
                self.values(entry),
            )?;
            self.steps(out, "steps", steps, 0..steps.len(), &completed.changes(id))?;
            write!(out, ",\"exit\":{},\"results\":{}}}", self.values(exit), numbers(results))?;
        }
        out.write_all(b"]")
    }

    fn steps(
        &self,
        out: &mut dyn Write,
        key: &str,
        steps: &[Step],
        range: std::ops::Range<usize>,
        changes: &Changes,
    ) -> io::Result<()> {
        write!(out, "\"{key}\":[")?;
        for at in range.clone() {
            if at > range.start {
                out.write_all(b",")?;
            }
            self.step(out, &steps[at], changes.of(at))?;
        }
        out.write_all(b"]")
    }

    fn step(&self, out: &mut dyn Write, step: &Step, change: &[Change]) -> io::Result<()> {
        let Words { input, program, .. } = *self.words;
        let (line, column) = input.position(program.edges()[step.edge].span);
        let source = json!(input.statement(program, step.edge));
        let edge = step.edge.index();
        write!(out, "{{\"edge\":{edge},\"line\":{line},\"column\":{column},\"source\":{source}")?;
        if let Some(file) = input.beside(program.edges()[step.edge].span) {
            write!(out, ",\"file\":{}", json!(file))?;
        }
        if !step.choices().is_empty() {
            write!(out, ",\"choices\":{}", numbers(step.choices()))?;
        }
        if let Some(call) = step.call {
            write!(out, ",\"call\":{}", call.index())?;
        }
        if !step.locals().is_empty() {
            write!(out, ",\"locals\":{}", self.values(step.locals()))?;
        }
        if !change.is_empty() {
            write!(out, ",\"changes\":{}", self.known(change.iter().copied()))?;
        }
        out.write_all(b"}")
    }

    fn values(&self, values: &[(VarId, Value)]) -> Json {
        self.known(values.iter().map(|&(var, value)| (var, Some(value))))
    }

    fn known(&self, values: impl Iterator<Item = (VarId, Option<Value>)>) -> Json {
        let vars = self.words.program.vars();
        let item = |(var, value): (VarId, Option<Value>)| json!({ "name": vars[var].name, "var": var.index(), "value": value.map(Value::get) });
        Json::Array(values.map(item).collect())
    }
}

fn rejected(rejected: Rejected) -> io::Error {
    io::Error::other(rejected.to_string())
}

/// Reads a trace; what is missing in it, or not of the right form.
pub fn parse(value: &Json) -> Result<Trace, String> {
    if value.get("shortened").is_some() {
        return Err("was too long to be written in full, and cannot be replayed".into());
    }
    match value.get("schema").and_then(Json::as_str) {
        Some(SCHEMA) => {}
        Some(other) => return Err(format!("is of schema `{other}`; this version reads `{SCHEMA}`")),
        None if value.get("frames").is_some() => {
            return Err(format!("was written by an older version; this one reads `{SCHEMA}`"));
        }
        None => return Err(format!("has no schema; expected `{SCHEMA}`")),
    }
    Ok(Trace {
        segments: field(value, "segments", |value| {
            Some(list(value, segment)?.into_iter().collect::<Table<_, _>>())
        })?,
        initial: field(value, "initial", pairs)?,
        contexts: field(value, "contexts", |value| list(value, context))?,
        repeats: match value.get("repeats") {
            None => None,
            Some(_) => Some(field(value, "repeats", repeat)?),
        },
    })
}

fn repeat(value: &Json) -> Option<Repeat> {
    let number = |key: &str| u32::try_from(value.get(key)?.as_u64()?).ok();
    let from = Position { context: number("context")?, step: number("step")? };
    Some(Repeat { from, head: pairs(value.get("head")?)? })
}

fn field<T>(value: &Json, key: &str, read: impl Fn(&Json) -> Option<T>) -> Result<T, String> {
    let part = value.get(key).ok_or_else(|| format!("is not a trace: `{key}` is missing"))?;
    read(part).ok_or_else(|| format!("is not a trace: `{key}` does not have the form it should"))
}

fn list<T>(value: &Json, item: impl Fn(&Json) -> Option<T>) -> Option<Vec<T>> {
    value.as_array()?.iter().map(item).collect()
}

fn context(value: &Json) -> Option<Context> {
    let thread = value.get("thread")?;
    let thread = if thread.is_null() { None } else { Some(id::<ThreadId>(thread)?) };
    Some(Context { thread, steps: list(value.get("steps")?, step)? })
}

fn segment(value: &Json) -> Option<Segment> {
    let (proc, entry) = (id(value.get("proc")?)?, pairs(value.get("entry")?)?);
    let (exit, results) = (pairs(value.get("exit")?)?, list(value.get("results")?, number_or_null)?);
    Some(Segment { proc, entry, steps: list(value.get("steps")?, step)?, exit, results })
}

fn step(value: &Json) -> Option<Step> {
    let choices = match value.get("choices") {
        None => Vec::new(),
        Some(choices) => list(choices, number_or_null)?,
    };
    let step = Step::new(id(value.get("edge")?)?, choices);
    let step = match value.get("call") {
        None => step,
        Some(call) => step.back(id::<SegmentId>(call)?),
    };
    match value.get("locals") {
        None => Some(step),
        Some(locals) => Some(step.entering(pairs(locals)?)),
    }
}

fn id<I: Id>(value: &Json) -> Option<I> {
    u32::try_from(value.as_u64()?).ok().map(|number| I::new(number as usize))
}

fn number(value: &Json) -> Option<Value> {
    value.as_i64().map(Value::new)
}

fn numbers(values: &[Option<Value>]) -> Json {
    values.iter().map(|value| value.map(Value::get)).collect()
}

fn number_or_null(value: &Json) -> Option<Option<Value>> {
    if value.is_null() { Some(None) } else { number(value).map(Some) }
}

fn pairs(value: &Json) -> Option<Vec<(VarId, Value)>> {
    list(value, |item| Some((id(item.get("var")?)?, number(item.get("value")?)?)))
}
