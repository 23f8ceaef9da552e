//! Room `cli/report`: an interleaved trace told to people.
//!
//! One line a step, in the order of the run, as [`super::story`] does it, and a lane for each thread: a thread's steps stand
//! in its lane, and a context begins with the thread's name. Only one thread runs at a time, so its text may cross the lanes to
//! the right of its own. A call that comes back within the context is one line with what it changed; in full it is told
//! step by step, with every value that matters on every line.

use super::story::{DEEPEST, MOST_LINES, Values, Words, update};
use crate::args::Detail;
use crate::input::Input;
use postbop_ir::replay::{Change, Completed, InterleavedChanges, interleaved_changes};
use postbop_ir::{Action, Id, Interleaving, ProcId, Program, SegmentId, Step, VarId};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Where the lanes begin, behind the numbers of lines.
const MARGIN: usize = 8;
/// How wide a lane is at most, and all but the last together.
const WIDEST: usize = 14;
const LANES: usize = 30;
/// Where values stand at the least.
const VALUES: usize = 58;

/// A pending call of a thread: its procedure, and what is known of the locals.
struct Open {
    proc: ProcId,
    locals: Values,
}

/// Steps being told: of a context, or of a segment in it.
struct Stretch<'t> {
    steps: &'t [Step],
    changes: Cow<'t, [Change]>,
    /// For each call that comes back among the steps, the step that returns.
    returns: BTreeMap<usize, usize>,
    next: usize,
}

/// A thread, or the prologue.
#[derive(Default)]
struct Lane {
    /// Which one from the left; none for the prologue.
    at: Option<usize>,
    stack: Vec<Open>,
}

struct Teller<'a> {
    words: Words<'a>,
    program: &'a Program,
    trace: &'a Interleaving,
    segments: Completed<'a>,
    full: bool,
    globals: Values,
    lines: usize,
    out: String,
}

/// Tells an interleaved trace that was replayed.
pub fn tell(input: &Input, program: &Program, trace: &Interleaving, detail: Detail) -> String {
    let InterleavedChanges { segments, prologue, contexts } = match interleaved_changes(program, trace) {
        Ok(changes) => changes,
        Err(rejected) => return format!("  (the trace does not replay: {rejected})\n"),
    };
    let known = |proc: ProcId| -> Values {
        let locals = &program.procs[proc].locals;
        trace.initial.iter().copied().filter(|(var, _)| locals.contains(var)).collect()
    };
    let globals = trace.initial.iter().copied().filter(|(var, _)| program.is_global(*var)).collect();
    let full = detail == Detail::Full;
    let words = Words { input, program };
    let mut teller = Teller { words, program, trace, segments, full, globals, lines: 0, out: String::new() };
    let begin = |at, proc| Lane { at, stack: vec![Open { proc, locals: known(proc) }] };
    let mut start = program.prologue.map_or_else(Lane::default, |proc| begin(None, proc));
    if !trace.prologue.is_empty() || !teller.globals.is_empty() {
        let values = teller.visible(&start);
        teller.line(None, 0, None, "start", &values);
    }
    // That the prologue returns is nothing to tell.
    let told = match trace.prologue.split_last() {
        Some((last, before)) if matches!(program.edges[last.edge].action, Action::Return(_)) => before,
        _ => &trace.prologue,
    };
    teller.steps(&mut start, told, &prologue);
    let mut lanes: Vec<Option<Lane>> = program.threads.iter().map(|_| None).collect();
    for (context, changes) in trace.contexts.iter().zip(&contexts) {
        let thread = &program.threads[context.thread];
        let slot = &mut lanes[context.thread.index()];
        let again = slot.is_some();
        let lane = slot.get_or_insert_with(|| begin(Some(context.thread.index()), thread.main));
        teller.heading(lane, &thread.name, again);
        teller.steps(lane, &context.steps, changes);
    }
    if teller.lines >= MOST_LINES {
        let _ = writeln!(teller.out, "       … {} steps in all", trace.length());
    }
    teller.out
}

/// For each call of a context that comes back within it, the step that returns.
fn returns(program: &Program, steps: &[Step]) -> BTreeMap<usize, usize> {
    let mut open = Vec::new();
    let mut found = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        match program.edges[step.edge].action {
            Action::Call { .. } if step.call.is_none() => open.push(at),
            Action::Return(_) => found.extend(open.pop().map(|call| (call, at))),
            _ => {}
        }
    }
    found
}

impl<'a> Teller<'a> {
    /// The line with which a context begins.
    fn heading(&mut self, lane: &Lane, name: &str, again: bool) {
        let inside = lane.stack.last().filter(|_| lane.stack.len() > 1);
        let inside = inside.map(|open| format!(" in {}", self.program.procs[open.proc].name));
        let text = match again {
            true => format!("{name} goes on{}", inside.unwrap_or_default()),
            false => name.to_owned(),
        };
        let values = match lane.stack.first() {
            Some(first) if !again => self.words.list(some(&first.locals)),
            _ => String::new(),
        };
        self.line(lane.at, 0, None, &text, &values);
    }

    /// Tells the steps of a context and, in full, everything inside.
    fn steps(&mut self, lane: &mut Lane, steps: &[Step], changes: &[Change]) {
        let returns = if self.full { BTreeMap::new() } else { returns(self.program, steps) };
        let mut stack = vec![Stretch { steps, changes: Cow::Borrowed(changes), returns, next: 0 }];
        while let Some(top) = stack.last_mut()
            && self.lines < MOST_LINES
        {
            let Some(step) = top.steps.get(top.next) else {
                stack.pop();
                // The caller goes on with what came back.
                if let Some(caller) = stack.last_mut() {
                    self.apply(lane, &caller.steps[caller.next], &caller.changes[caller.next]);
                    caller.next += 1;
                }
                continue;
            };
            match step.call.filter(|_| self.full) {
                Some(segment) => {
                    let (number, text) = self.words.step(step.edge);
                    let inside = self.unfold(lane, segment);
                    self.line(lane.at, lane.stack.len() - 1, number, &text, &self.visible(lane));
                    stack.push(inside);
                }
                None => self.step(lane, top),
            }
        }
    }

    /// Enters a segment.
    fn unfold(&self, lane: &mut Lane, segment: SegmentId) -> Stretch<'a> {
        let frame = &self.trace.segments[segment].frame;
        let known = frame.entry.iter().copied().filter(|(var, _)| !self.program.is_global(*var));
        lane.stack.push(Open { proc: frame.proc, locals: known.collect() });
        let changes = Cow::Owned(self.segments.changes(segment));
        Stretch { steps: &frame.steps, changes, returns: BTreeMap::new(), next: 0 }
    }

    /// Tells one step, or a call that comes back as if it were one.
    fn step(&mut self, lane: &mut Lane, stretch: &mut Stretch) {
        let Stretch { steps, changes, returns, next } = stretch;
        let (at, step) = (*next, &steps[*next]);
        let (number, text) = self.words.step(step.edge);
        let depth = lane.stack.len();
        let end = returns.get(&at).copied();
        let changed = match end {
            Some(end) => self.folded(lane, &steps[at..=end], &changes[at..=end]),
            None => {
                self.apply(lane, step, &changes[at]);
                changes[at].clone()
            }
        };
        let shown = match self.full {
            true => self.visible(lane),
            false => self.words.list(changed.into_iter()),
        };
        let shown = match (end.is_some() || step.call.is_some(), shown.is_empty()) {
            (true, true) => "returns".to_owned(),
            (true, false) => format!("returns: {shown}"),
            (false, _) => shown,
        };
        self.line(lane.at, depth, number, &text, &shown);
        *next = end.unwrap_or(at) + 1;
    }

    /// Goes through a call that comes back: what it changed of what its caller sees.
    fn folded(&mut self, lane: &mut Lane, steps: &[Step], changes: &[Change]) -> Change {
        let before = self.seen(lane);
        for (step, change) in steps.iter().zip(changes) {
            self.apply(lane, step, change);
        }
        let after = self.seen(lane);
        after
            .into_iter()
            .filter(|(var, value)| before.get(var) != Some(value))
            .map(|(var, value)| (var, Some(value)))
            .collect()
    }

    /// What a step does to the stack and to what is known.
    fn apply(&mut self, lane: &mut Lane, step: &Step, change: &Change) {
        match self.program.edges[step.edge].action {
            Action::Call { callee, .. } if step.call.is_none() => {
                lane.stack.push(Open { proc: callee, locals: Values::new() });
            }
            Action::Return(_) if lane.stack.len() > 1 => drop(lane.stack.pop()),
            _ => {}
        }
        let (globals, locals): (Change, Change) =
            change.iter().copied().partition(|(var, _)| self.program.is_global(*var));
        update(&mut self.globals, &globals);
        if let Some(open) = lane.stack.last_mut() {
            update(&mut open.locals, &locals);
        }
    }

    /// What a thread sees.
    fn seen(&self, lane: &Lane) -> Values {
        let mut all = self.globals.clone();
        all.extend(lane.stack.last().iter().flat_map(|open| &open.locals).map(|(&var, &value)| (var, value)));
        all
    }

    fn visible(&self, lane: &Lane) -> String {
        self.words.list(some(&self.seen(lane)))
    }

    /// A line in a lane, the bars of the others beside it.
    fn line(&mut self, lane: Option<usize>, depth: usize, number: Option<usize>, text: &str, values: &str) {
        self.lines += 1;
        let threads = self.program.threads.len();
        let stride = (LANES / (threads - 1).max(1)).clamp(2, WIDEST);
        let number = number.map(|number| number.to_string()).unwrap_or_default();
        let mut line: Vec<char> = format!("{number:>6}").chars().collect();
        let mut put = |at: usize, text: &str| {
            line.resize(line.len().max(at + text.chars().count()), ' ');
            text.chars().enumerate().for_each(|(offset, c)| line[at + offset] = c);
        };
        let mut own = MARGIN;
        if let Some(lane) = lane {
            (0..threads).for_each(|other| put(MARGIN + other * stride, "│"));
            own += lane * stride;
            put(own, "┃");
            own += 2;
        }
        put(own + 2 * depth.min(DEEPEST), text);
        if lane.is_some() && !text.is_empty() {
            // Room between the text and a bar that follows it.
            let end = own + 2 * depth.min(DEEPEST) + text.chars().count();
            if line.get(end) == Some(&'│') {
                line[end] = ' ';
            }
        }
        let line: String = line.into_iter().collect();
        let line = line.trim_end();
        let _ = match values.is_empty() {
            true => writeln!(self.out, "{line}"),
            false => writeln!(self.out, "{line:<VALUES$}  {values}"),
        };
    }
}

fn some(values: &Values) -> impl Iterator<Item = (VarId, Option<i64>)> {
    values.iter().map(|(&var, &value)| (var, Some(value)))
}
