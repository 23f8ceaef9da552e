//! Room `cli/report/html`: a trace, packed for the page.
//!
//! # Idea
//!
//! The page needs what [`crate::report::trace_json`] writes, but a JSON trace names every variable at every step: a loop
//! of a million steps takes a hundred megabytes. Here a trace is tables of what it mentions (procedures, variables, edges)
//! and of its *moves*. A move is everything that one step does: its edge, the segment that it names, and how much each
//! variable that it changes grows against the last value that the same list of steps gave it. Relative numbers make steps
//! alike: the million steps of a counting loop are two moves. A list of steps is then a list of moves, and a round that comes
//! again is written as `-period, times`: the last `period` moves, so many times more. Segments stay shared, as they are
//! in the trace; a segment is named by its distance, so that the members of a chain of procedures have the same moves.
//!
//! Numbers that a script would round are written as text.
//!
//! # Cost
//!
//! Linear in the trace; its moves are in memory until the trace is written.

use crate::report::trace_json::Writer;
use crate::report::words::Words;
use postbop_ir::replay::{Changes, Completed, ending};
use postbop_ir::{Action, EdgeId, Id, ProcId, Scope, SegmentId, Step, Trace, Value, VarId};
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::hash::Hash;
use std::io::{self, Write};

/// The most steps, in segments and contexts, that a page is given.
const LONGEST: usize = 4_000_000;
/// The longest round that is looked for.
const ROUND: usize = 64;
/// The largest number that a script takes for what it is.
const EXACT: u64 = 1 << 53;

/// Things numbered in the order in which they are met.
struct Numbered<T> {
    known: HashMap<T, u32>,
    all: Vec<T>,
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    fn new() -> Self {
        Numbered { known: HashMap::new(), all: Vec::new() }
    }

    fn number(&mut self, thing: T) -> u32 {
        let Numbered { known, all } = self;
        *known.entry(thing).or_insert_with_key(|thing| {
            all.push(thing.clone());
            all.len() as u32 - 1
        })
    }
}

/// What one step does.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Move {
    edge: u32,
    /// How far back the segment stands that it names; 0 if it names none.
    call: u32,
    /// How much each variable grows; none if it becomes open.
    changes: Vec<(u32, Option<i64>)>,
}

/// The tables of one trace.
struct Tables<'a> {
    words: &'a Words<'a>,
    procs: Numbered<ProcId>,
    vars: Numbered<VarId>,
    edges: Numbered<EdgeId>,
    moves: Numbered<Move>,
}

/// Writes a trace that was replayed, given what the steps of its contexts change.
pub fn write(
    out: &mut dyn Write,
    words: &Words,
    target: &str,
    trace: &Trace,
    changes: &[Changes],
) -> io::Result<()> {
    let stored = trace.segments.iter().map(|segment| segment.steps.len()).sum::<usize>()
        + trace.contexts.iter().map(|context| context.steps.len()).sum::<usize>();
    let mut head = json!({ "length": trace.length().to_string(), "switches": trace.switches() });
    if stored > LONGEST {
        head["too_long"] = json!(stored);
        return write!(out, "{head}");
    }
    let (procs, vars, edges, moves) = (Numbered::new(), Numbered::new(), Numbered::new(), Numbered::new());
    let mut tables = Tables { words, procs, vars, edges, moves };
    if let Some(waiting) = words.waiting(target, trace) {
        let writer = Writer { words, fingerprint: "" };
        head["waiting"] = waiting.iter().map(|at| writer.waiting(at)).collect();
    }
    if let Some(outcome) = outcome(words, trace) {
        head["outcome"] = json!(outcome);
    }
    head["initial"] = tables.values(&trace.initial);
    if let Some(repeat) = &trace.repeats {
        let (context, step) = (repeat.from.context, repeat.from.step);
        head["repeats"] = json!({ "context": context, "step": step, "head": tables.values(&repeat.head) });
    }
    let head = head.to_string();
    out.write_all(&head.as_bytes()[..head.len() - 1])?;
    tables.segments(out, trace)?;
    tables.contexts(out, trace, changes)?;
    tables.write(out)
}

/// What is special about the last step: an index out of range.
fn outcome(words: &Words, trace: &Trace) -> Option<String> {
    let last = trace.contexts.last()?.steps.last()?;
    let known = || ending(words.program, trace).unwrap_or_default().into_iter().collect();
    words.out_of_range(last.edge, known)
}

impl Tables<'_> {
    fn segments(&mut self, out: &mut dyn Write, trace: &Trace) -> io::Result<()> {
        let completed = Completed::new(self.words.program, &trace.segments)
            .map_err(|rejected| io::Error::other(rejected.to_string()))?;
        out.write_all(b",\"segments\":[")?;
        for (id, segment) in trace.segments.pairs() {
            let comma = if id.index() == 0 { "" } else { "," };
            let proc = self.procs.number(segment.proc);
            let entry = self.values(&segment.entry);
            let moves = self.moves(&segment.steps, &completed.changes(id), id.index());
            write!(out, "{comma}[{proc},{entry},{}]", rounds(&moves))?;
        }
        out.write_all(b"]")
    }

    fn contexts(&mut self, out: &mut dyn Write, trace: &Trace, changes: &[Changes]) -> io::Result<()> {
        out.write_all(b",\"contexts\":[")?;
        for (at, (context, changes)) in trace.contexts.iter().zip(changes).enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let thread = context.thread.map_or(-1, |thread| i64::from(thread.0));
            let moves = self.moves(&context.steps, changes, trace.segments.len());
            write!(out, "{comma}[{thread},{}]", rounds(&moves))?;
        }
        out.write_all(b"]")
    }

    /// The moves of a list of steps, which stands behind so many segments.
    fn moves(&mut self, steps: &[Step], changes: &Changes, behind: usize) -> Vec<u32> {
        let mut last: HashMap<VarId, Value> = HashMap::new();
        let mut all = Vec::with_capacity(steps.len());
        for (at, step) in steps.iter().enumerate() {
            let grown = |&(var, value): &(VarId, Option<Value>)| {
                let grows = value.map(|value| {
                    let before = last.insert(var, value).unwrap_or(Value::ZERO);
                    value.get().wrapping_sub(before.get())
                });
                (self.vars.number(var), grows)
            };
            let changes = changes.of(at).iter().map(grown).collect();
            let edge = self.edges.number(step.edge);
            let call = step.call.map_or(0, |call: SegmentId| (behind - call.index()) as u32);
            all.push(self.moves.number(Move { edge, call, changes }));
        }
        all
    }

    /// Values as variable, value, variable, value.
    fn values(&mut self, values: &[(VarId, Value)]) -> Json {
        let pair = |&(var, value): &(VarId, Value)| [json!(self.vars.number(var)), number(value.get())];
        Json::Array(values.iter().flat_map(pair).collect())
    }

    /// Writes the tables.
    fn write(mut self, out: &mut dyn Write) -> io::Result<()> {
        let program = self.words.program;
        let row = |thing: &Move| {
            let pair = |&(var, grows): &(u32, Option<i64>)| [json!(var), grows.map_or(Json::Null, number)];
            let first = [json!(thing.edge), json!(thing.call)];
            Json::Array(first.into_iter().chain(thing.changes.iter().flat_map(pair)).collect())
        };
        list(out, "moves", self.moves.all.iter().map(row))?;
        let edges = std::mem::replace(&mut self.edges, Numbered::new()).all;
        list(out, "edges", edges.into_iter().map(|edge| self.edge(edge)))?;
        let threads = program.threads().iter();
        list(out, "threads", threads.map(|thread| json!([thread.name, self.procs.number(thread.main)])))?;
        let prologue = program.prologue().map(|proc| self.procs.number(proc));
        write!(out, ",\"prologue\":{},\"sequential\":{}", json!(prologue), program.is_sequential())?;
        let vars = std::mem::replace(&mut self.vars, Numbered::new()).all;
        list(out, "vars", vars.into_iter().map(|var| self.var(var)))?;
        list(out, "procs", self.procs.all.iter().map(|proc| json!(program.procs()[*proc].name)))?;
        out.write_all(b"}")
    }

    /// An edge: its file, its line, from where to where on it, its text, which way it goes, what it is (0, 1 for a call, 2 for a
    /// return), and the procedure that it calls.
    fn edge(&mut self, id: EdgeId) -> Json {
        let Words { input, program, .. } = *self.words;
        let edge = &program.edges()[id];
        let (file, line, from, to) = input.marked(edge.span);
        let text = input.statement(program, id);
        let branch = self.words.branch(id);
        let branch = branch.trim().trim_start_matches('[').trim_end_matches(']');
        let (kind, callee) = match edge.action {
            Action::Call { callee, .. } => (1, i64::from(self.procs.number(callee))),
            Action::Return(_) => (2, -1),
            _ => (0, -1),
        };
        json!([file, line, from, to, text, branch, kind, callee])
    }

    /// A variable: its name, the procedure to which it is local or -1, its type, and whether it is shown.
    fn var(&mut self, id: VarId) -> Json {
        let var = &self.words.program.vars()[id];
        let scope = match var.scope {
            Scope::Global => -1,
            Scope::Local(proc) => i64::from(self.procs.number(proc)),
        };
        json!([var.name, scope, var.ty.to_string(), u8::from(!var.is_hidden())])
    }
}

fn list(out: &mut dyn Write, key: &str, rows: impl Iterator<Item = Json>) -> io::Result<()> {
    write!(out, ",\"{key}\":[")?;
    for (at, row) in rows.enumerate() {
        write!(out, "{}{row}", if at == 0 { "" } else { "," })?;
    }
    out.write_all(b"]")
}

/// A number, as text if a script would round it.
fn number(value: i64) -> Json {
    if value.unsigned_abs() <= EXACT { json!(value) } else { json!(value.to_string()) }
}

/// The moves with rounds that come again written once.
fn rounds(moves: &[u32]) -> Json {
    let mut out = Vec::new();
    let mut at = 0;
    while at < moves.len() {
        let rounds = (1..=ROUND.min(at)).find_map(|period| {
            let same = |next: &usize| moves[*next] == moves[next - period];
            let count = (at..moves.len()).take_while(same).count() / period;
            (count * period > 2).then_some((period, count))
        });
        match rounds {
            Some((period, count)) => {
                out.extend([json!(-(period as i64)), json!(count)]);
                at += period * count;
            }
            None => {
                out.push(json!(moves[at]));
                at += 1;
            }
        }
    }
    Json::Array(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the page makes of it.
    fn unpacked(packed: &Json) -> Vec<u32> {
        let mut numbers = packed.as_array().unwrap().iter().map(|number| number.as_i64().unwrap());
        let mut all: Vec<u32> = Vec::new();
        while let Some(number) = numbers.next() {
            match u32::try_from(number) {
                Ok(number) => all.push(number),
                Err(_) => {
                    let times = number.unsigned_abs() as usize * numbers.next().unwrap() as usize;
                    (0..times).for_each(|_| all.push(all[all.len() - number.unsigned_abs() as usize]));
                }
            }
        }
        all
    }

    #[test]
    fn rounds_are_written_once_and_nothing_is_lost() {
        let mut moves = vec![7, 8];
        (0..1000).for_each(|_| moves.extend([1, 2, 3]));
        moves.extend([1, 2, 9, 9, 9, 9, 9]);
        let packed = rounds(&moves);
        assert_eq!(unpacked(&packed), moves);
        assert_eq!(packed, json!([7, 8, 1, 2, 3, -3, 999, 1, 2, 9, -1, 4]));
        for seed in 0..200_u64 {
            let digits = (0..40).map(|at| (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> at & 1) as u32);
            let moves: Vec<u32> = digits.collect();
            assert_eq!(unpacked(&rounds(&moves)), moves);
        }
    }

    #[test]
    fn numbers_that_a_script_would_round_are_text() {
        assert_eq!(number(1 << 53), json!(1_i64 << 53));
        assert_eq!(number(i64::MIN), json!("-9223372036854775808"));
    }
}
