//! Room `cli/report`: a trace told to people.
//!
//! One line a step, in the order of the run, indented by call depth, with the variables that changed. What does not
//! matter is not shown: open values are left out, a completed call is one line with what it changed. In full, the
//! calls are unfolded and every value that matters is shown on every line. An unfolded run can be longer than any
//! patience: after many lines the rest is only counted.

use crate::args::Detail;
use crate::input::Input;
use postbop_ir::replay::{Change, Completed, FrameChanges};
use postbop_ir::{Action, EdgeId, Frame, ProcId, Program, SegmentId, Step, Trace, VarId};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How many lines to print.
pub const MOST_LINES: usize = 4_000;
/// How many levels of indentation to print.
pub const DEEPEST: usize = 20;

/// The values known at some point.
pub type Values = BTreeMap<VarId, i64>;

/// How steps and values are put into words.
pub struct Words<'a> {
    /// The source.
    pub input: &'a Input,
    /// The program.
    pub program: &'a Program,
}

/// A stretch of steps being told: of a pending frame, or of a segment.
struct Stretch<'t> {
    proc: ProcId,
    steps: &'t [Step],
    changes: Cow<'t, [Change]>,
    next: usize,
    depth: usize,
    values: Values,
}

struct Teller<'a> {
    words: Words<'a>,
    program: &'a Program,
    trace: &'a Trace,
    /// What completed calls do, if they are told.
    segments: Option<Completed<'a>>,
    lines: usize,
    out: String,
}

/// Tells a trace that was replayed, given what the steps of its frames change.
pub fn tell(
    input: &Input,
    program: &Program,
    trace: &Trace,
    changes: &FrameChanges,
    detail: Detail,
) -> String {
    let segments = match detail == Detail::Full {
        true => Some(Completed::new(program, &trace.segments).expect("the trace was replayed")),
        false => None,
    };
    let words = Words { input, program };
    let mut teller = Teller { words, program, trace, segments, lines: 0, out: String::new() };
    let mut globals = Values::new();
    for (depth, frame) in trace.frames.iter().enumerate() {
        if teller.lines >= MOST_LINES {
            break;
        }
        let values = teller.enter(frame, depth, globals);
        let stretch = Stretch {
            proc: frame.proc,
            steps: &frame.steps,
            changes: Cow::Borrowed(&changes[depth]),
            next: 0,
            depth,
            values,
        };
        let values = teller.steps(stretch);
        globals = values.into_iter().filter(|(var, _)| program.is_global(*var)).collect();
    }
    if teller.lines >= MOST_LINES {
        let _ = writeln!(teller.out, "       … {} steps in all", trace.length());
    }
    teller.out
}

impl Words<'_> {
    /// The line and the statement of a step.
    pub fn step(&self, edge: EdgeId) -> (Option<usize>, String) {
        let (line, _) = self.input.position(self.program.edges[edge].span);
        let text = format!("{}{}", self.input.statement(self.program, edge), self.branch(edge));
        ((!self.input.text.is_empty()).then_some(line), text)
    }

    /// Values by name.
    pub fn list(&self, values: impl Iterator<Item = (VarId, Option<i64>)>) -> String {
        let shown = values.filter(|(var, _)| !self.program.vars[*var].is_hidden());
        let item =
            |(var, value): (VarId, Option<i64>)| Some(format!("{}={}", self.program.vars[var].name, value?));
        shown.filter_map(item).collect::<Vec<_>>().join(", ")
    }

    /// Which way a condition went: of two assumptions for one piece of text, the first is where it is true.
    fn branch(&self, edge: EdgeId) -> &'static str {
        let data = &self.program.edges[edge];
        let siblings: Vec<EdgeId> = self.program.leaving(data.from).to_vec();
        let alike = |&other: &EdgeId| {
            let other = &self.program.edges[other];
            other.span == data.span && matches!(other.action, Action::Assume(_))
        };
        if siblings.len() != 2 || !siblings.iter().all(alike) || siblings[0] == siblings[1] {
            return "";
        }
        let fails = self.program.checks.iter().any(|check| check.loc == self.program.edges[siblings[1]].to);
        match (edge == siblings[0], fails) {
            (true, false) => "  [yes]",
            (false, false) => "  [no]",
            (true, true) => "  [holds]",
            (false, true) => "  [fails]",
        }
    }
}

impl<'a> Teller<'a> {
    /// The heading of a frame; what is known when it starts.
    fn enter(&mut self, frame: &Frame, depth: usize, mut values: Values) -> Values {
        let proc = &self.program.procs[frame.proc];
        values.extend(frame.entry.iter().copied());
        let of = |vars: &mut dyn Iterator<Item = VarId>| {
            let known = vars.filter_map(|var| Some((var, *values.get(&var)?)));
            self.words.list(known.map(|(var, value)| (var, Some(value))))
        };
        let params = of(&mut proc.params().iter().copied());
        let is_new = |&&(var, _): &&(VarId, i64)| depth == 0 && self.program.is_global(var);
        let globals = frame.entry.iter().filter(is_new).map(|&(var, _)| var);
        let locals = proc.locals[proc.params..].iter().copied();
        let start = of(&mut globals.chain(locals));
        let heading = format!("{}({params})", proc.name);
        self.line(depth, None, &heading, &start);
        values
    }

    /// Tells a stretch and, in full, everything inside it; what is known at its end.
    fn steps(&mut self, stretch: Stretch<'a>) -> Values {
        let mut stack = vec![stretch];
        loop {
            let top = stack.last_mut().expect("the first stretch returns from here");
            if top.next == top.steps.len() || self.lines >= MOST_LINES {
                let done = stack.pop().expect("there was a last one");
                let Some(caller) = stack.last_mut() else { return done.values };
                self.after_call(caller);
                continue;
            }
            let step = &top.steps[top.next];
            match (step.call, &self.segments) {
                (Some(segment), Some(segments)) => {
                    let (depth, values) = (top.depth, top.values.clone());
                    let changes = segments.changes(segment);
                    self.step(depth, step.edge, "");
                    stack.push(self.unfold(segment, changes, depth + 1, values));
                }
                _ => {
                    let (depth, change) = (top.depth, &top.changes[top.next]);
                    update(&mut top.values, change);
                    top.next += 1;
                    let shown = self.shown(change, &top.values);
                    let returned = match step.call.is_some() {
                        true if shown.is_empty() => "returns".to_owned(),
                        true => format!("returns: {shown}"),
                        false => shown,
                    };
                    self.step(depth, step.edge, &returned);
                }
            }
        }
    }

    fn unfold(
        &mut self,
        segment: SegmentId,
        changes: Vec<Change>,
        depth: usize,
        values: Values,
    ) -> Stretch<'a> {
        let frame = &self.trace.segments[segment].frame;
        let globals = values.into_iter().filter(|(var, _)| self.program.is_global(*var)).collect();
        let values = self.enter(frame, depth, globals);
        Stretch {
            proc: frame.proc,
            steps: &frame.steps,
            changes: Cow::Owned(changes),
            next: 0,
            depth,
            values,
        }
    }

    /// The caller goes on after a call that was unfolded.
    fn after_call(&mut self, caller: &mut Stretch) {
        let change = &caller.changes[caller.next];
        update(&mut caller.values, change);
        caller.next += 1;
        let shown = self.shown(change, &caller.values);
        let back = format!("back in {}", self.program.procs[caller.proc].name);
        self.line(caller.depth, None, &back, &shown);
    }

    /// The values to show after a step.
    fn shown(&self, change: &Change, values: &Values) -> String {
        if self.segments.is_some() {
            return self.words.list(values.iter().map(|(&var, &value)| (var, Some(value))));
        }
        self.words.list(change.iter().copied())
    }

    fn step(&mut self, depth: usize, edge: EdgeId, values: &str) {
        let (number, text) = self.words.step(edge);
        self.line(depth + 1, number, &text, values);
    }

    fn line(&mut self, depth: usize, number: Option<usize>, text: &str, values: &str) {
        const COLUMN: usize = 46;
        self.lines += 1;
        let number = number.map(|number| number.to_string()).unwrap_or_default();
        let indent = 2 * depth.min(DEEPEST);
        let line = format!("{number:>6}  {:indent$}{text}", "");
        let _ = match values.is_empty() {
            true => writeln!(self.out, "{line}"),
            false => writeln!(self.out, "{line:<COLUMN$}  {values}"),
        };
    }
}

/// What is known after a change.
pub fn update(values: &mut Values, change: &Change) {
    for &(var, value) in change {
        match value {
            Some(value) => values.insert(var, value),
            None => values.remove(&var),
        };
    }
}
