//! Room `cli/report`: a trace told to people.
//!
//! One line a step, in the order of the run, indented by call depth, with the variables that changed. What does not
//! matter is not shown: open values are left out, a completed call is one line with what it changed, and steps that repeat
//! themselves are shown once and counted. In full, calls are unfolded as far as there is room on the page, and every value
//! that matters is shown on every line. Of a program with threads each context begins with the thread's name.

use super::page::{Line, Page};
use super::repeats::repeats;
use super::words::{Values, Words};
use crate::args::Detail;
use postbop_ir::replay::{Change, Changes, Completed};
use postbop_ir::{Action, Context, Id, ProcId, Program, SegmentId, Step, Trace, Value, VarId};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A pending call of a thread: its procedure, and what is known of the locals.
struct Open {
    proc: ProcId,
    locals: Values,
}

/// Steps being told: of a context, or of a segment in it.
struct Cursor<'t> {
    steps: &'t [Step],
    changes: Cow<'t, Changes>,
    /// For each call that comes back among the steps, the step that returns.
    returns: BTreeMap<usize, usize>,
    next: usize,
    /// Whether the line of the step before is left to the next one.
    waits: bool,
    /// Whether they are those of a segment: then its frame stays until the caller goes on.
    inside: bool,
}

/// A thread, or the prologue.
struct Thread {
    lane: Option<usize>,
    stack: Vec<Open>,
}

struct Teller<'a> {
    words: &'a Words<'a>,
    program: &'a Program,
    trace: &'a Trace,
    /// What completed calls do, if they are told.
    segments: Option<Completed<'a>>,
    /// Whether the program is sequential: then a heading shows what a procedure is entered with.
    headings: bool,
    globals: Values,
    page: Page,
}

/// Tells a trace that was replayed, given what the steps of its contexts change.
pub fn tell(words: &Words, trace: &Trace, changes: &[Changes], detail: Detail) -> String {
    let program = words.program;
    let segments = match detail == Detail::Full {
        true => Completed::new(program, &trace.segments).ok(),
        false => None,
    };
    let headings = program.is_sequential();
    let globals = trace.initial.iter().copied().filter(|(var, _)| program.is_global(*var)).collect();
    let page = Page::new(if headings { 0 } else { program.threads().len() });
    let mut teller = Teller { words, program, trace, segments, headings, globals, page };
    let mut threads: Vec<Option<Thread>> = (0..=program.threads().len()).map(|_| None).collect();
    for (context, changes) in trace.contexts.iter().zip(changes) {
        let slot = context.thread.map_or(program.threads().len(), |thread| thread.index());
        let again = threads[slot].is_some();
        let mut thread = threads[slot].take().unwrap_or_else(|| teller.begin(context));
        teller.heading(context, &thread, again);
        teller.steps(&mut thread, teller.told(context), changes);
        threads[slot] = Some(thread);
    }
    teller.page.finish()
}

/// For each call of a context that comes back within it, the step that returns.
fn returns(program: &Program, steps: &[Step]) -> BTreeMap<usize, usize> {
    let mut open = Vec::new();
    let mut found = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        match program.edges()[step.edge].action {
            Action::Call { .. } if step.call.is_none() => open.push(at),
            Action::Return(_) => found.extend(open.pop().map(|call| (call, at))),
            _ => {}
        }
    }
    found
}

impl<'a> Teller<'a> {
    /// A thread at its start.
    fn begin(&self, context: &Context) -> Thread {
        let proc = match context.thread {
            Some(thread) => self.program.threads()[thread].main,
            None => self.program.prologue().expect("a replayed trace has a prologue only if the program has"),
        };
        let locals = &self.program.procs()[proc].locals;
        let known = self.trace.initial.iter().copied().filter(|(var, _)| locals.contains(var)).collect();
        let lane = context.thread.map(|thread| thread.index()).filter(|_| !self.headings);
        Thread { lane, stack: vec![Open { proc, locals: known }] }
    }

    /// The steps of a context that are told: that the prologue returns is nothing to tell.
    fn told(&self, context: &'a Context) -> &'a [Step] {
        match context.steps.split_last() {
            Some((last, before))
                if context.thread.is_none()
                    && matches!(self.program.edges()[last.edge].action, Action::Return(_)) =>
            {
                before
            }
            _ => &context.steps,
        }
    }

    /// The line with which a context begins.
    fn heading(&mut self, context: &Context, thread: &Thread, again: bool) {
        let Some(name) = context.thread.map(|thread| &self.program.threads()[thread].name) else {
            if !context.steps.is_empty() || !self.globals.is_empty() {
                let values = self.words.list(some(&self.seen(thread)));
                self.line(thread, 0, None, "start".into(), values);
            }
            return;
        };
        if self.headings {
            return self.enter(thread, Some(&self.globals.clone()));
        }
        let inside = thread.stack.last().filter(|_| thread.stack.len() > 1);
        let inside = inside.map(|open| format!(" in {}", self.program.procs()[open.proc].name));
        let text = match again {
            true => format!("{name} goes on{}", inside.unwrap_or_default()),
            false => name.to_owned(),
        };
        let values = if again { String::new() } else { self.words.list(some(&thread.stack[0].locals)) };
        self.line(thread, 0, None, text, values);
    }

    /// The heading of a procedure that is entered: its parameters, and what else is known of its locals.
    fn enter(&mut self, thread: &Thread, globals: Option<&Values>) {
        let open = thread.stack.last().expect("it was entered");
        let proc = &self.program.procs()[open.proc];
        let of = |vars: &[VarId]| {
            let known = vars.iter().filter_map(|var| Some((*var, *open.locals.get(var)?)));
            known.collect::<Values>()
        };
        let params = self.words.list(some(&of(proc.params())));
        let mut start = of(&proc.locals[proc.params..]);
        start.extend(globals.into_iter().flatten());
        let heading = format!("{}({params})", proc.name);
        let depth = thread.stack.len() - 1;
        self.line(thread, depth, None, heading, self.words.list(some(&start)));
    }

    /// Tells the steps of a context and, in full, everything inside.
    fn steps(&mut self, thread: &mut Thread, steps: &'a [Step], changes: &Changes) {
        let full = self.segments.is_some();
        let returns = if full || self.headings { BTreeMap::new() } else { returns(self.program, steps) };
        let repeated = if full { BTreeMap::new() } else { repeats(steps, &returns) };
        let mut stack = vec![Cursor {
            steps,
            changes: Cow::Borrowed(changes),
            returns,
            next: 0,
            waits: false,
            inside: false,
        }];
        while let Some(top) = stack.last_mut() {
            let Some(step) = top.steps.get(top.next) else {
                stack.pop();
                if let Some(caller) = stack.last_mut() {
                    self.back(thread, caller);
                }
                continue;
            };
            let unfolds = self.segments.as_ref().filter(|_| !self.page.is_full());
            if let (Some(segment), Some(segments)) = (step.call, unfolds) {
                let changes = segments.changes(segment);
                self.told_step(thread, step, String::new());
                stack.push(self.unfold(thread, segment, changes));
            } else if let Some(&(period, times)) = repeated.get(&top.next).filter(|_| stack.len() == 1) {
                let top = stack.last_mut().expect("the context itself");
                self.repeat(thread, top, period, times);
            } else {
                self.step(thread, stack.last_mut().expect("there is one"));
            }
        }
    }

    /// Passes over steps that are those above once more, and says so.
    fn repeat(&mut self, thread: &mut Thread, cursor: &mut Cursor, period: usize, times: usize) {
        for at in cursor.next..cursor.next + period * times {
            self.apply(thread, &cursor.steps[at], cursor.changes.of(at));
        }
        cursor.next += period * times;
        let what = if period == 1 { "step".to_owned() } else { format!("{period} steps") };
        let text = format!("… the {what} above {times} times more …");
        self.line(thread, thread.stack.len(), None, text, String::new());
    }

    /// Enters a segment.
    fn unfold(&mut self, thread: &mut Thread, segment: SegmentId, changes: Changes) -> Cursor<'a> {
        let segment = &self.trace.segments[segment];
        let known = segment.entry.iter().copied().filter(|(var, _)| !self.program.is_global(*var));
        thread.stack.push(Open { proc: segment.proc, locals: known.collect() });
        if self.headings {
            self.enter(thread, None);
        }
        Cursor {
            steps: &segment.steps,
            changes: Cow::Owned(changes),
            returns: BTreeMap::new(),
            next: 0,
            waits: false,
            inside: true,
        }
    }

    /// The caller goes on after a call that was unfolded.
    fn back(&mut self, thread: &mut Thread, caller: &mut Cursor) {
        thread.stack.pop();
        self.update(thread, caller.changes.of(caller.next));
        caller.next += 1;
        if self.headings {
            let open = thread.stack.last().expect("the caller is there");
            let text = format!("back in {}", self.program.procs()[open.proc].name);
            let values = self.words.list(some(&self.seen(thread)));
            self.line(thread, thread.stack.len() - 1, None, text, values);
        }
    }

    /// Tells one step, or a call that comes back as if it were one.
    fn step(&mut self, thread: &mut Thread, cursor: &mut Cursor) {
        let at = cursor.next;
        let step = &cursor.steps[at];
        let depth = thread.stack.len();
        let end = cursor.returns.get(&at).copied();
        cursor.next = end.unwrap_or(at) + 1;
        let out_of_range = self.words.out_of_range(step.edge, || self.seen(thread));
        let enters = end.is_none() && step.call.is_none() && self.is_call(step);
        let changed: Vec<Change> = match end {
            Some(end) => {
                self.folded(thread, &cursor.steps[at..=end], (at..=end).map(|at| cursor.changes.of(at)))
            }
            None => {
                match cursor.inside {
                    true => self.update(thread, cursor.changes.of(at)),
                    false => self.apply(thread, step, cursor.changes.of(at)),
                }
                self.chosen(thread, step, cursor.changes.of(at))
            }
        };
        let shown = match self.segments.is_some() {
            true => self.words.list(some(&self.seen(thread))),
            false => self.words.list(changed.into_iter()),
        };
        let shown = match (end.is_some() || step.call.is_some(), shown.is_empty()) {
            _ if out_of_range.is_some() => out_of_range.unwrap_or_default(),
            _ if enters && self.headings => String::new(),
            (true, true) => "returns".to_owned(),
            (true, false) => format!("returns: {shown}"),
            (false, _) => shown,
        };
        let (number, text) = self.words.step(step.edge);
        // A statement that takes several steps is one line, unless there is something new to show. Steps that show nothing
        // leave the line to the next one.
        let goes_on = at > 0 && !cursor.waits && self.is_same_statement(&cursor.steps[at - 1], step);
        let plain = shown.is_empty() && self.words.branch(step.edge).is_empty();
        let next = cursor.steps.get(cursor.next).filter(|_| plain && !goes_on);
        cursor.waits = next.is_some_and(|next| self.is_same_text(step, next));
        if !cursor.waits && (!shown.is_empty() || !text.is_empty() && !goes_on) {
            self.line(thread, depth, number, text, shown);
        }
        if enters && self.headings {
            self.enter(thread, None);
        }
    }

    /// Whether a step is a further one of the same statement, with nothing to say about which way it went.
    fn is_same_statement(&self, before: &Step, step: &Step) -> bool {
        self.is_same_text(before, step) && self.words.branch(step.edge).is_empty()
    }

    fn is_same_text(&self, before: &Step, step: &Step) -> bool {
        let span = |step: &Step| self.program.edges()[step.edge].span;
        before.edge != step.edge && span(before) == span(step)
    }

    fn is_call(&self, step: &Step) -> bool {
        matches!(self.program.edges()[step.edge].action, Action::Call { .. })
    }

    fn told_step(&mut self, thread: &Thread, step: &Step, values: String) {
        let (number, text) = self.words.step(step.edge);
        self.line(thread, thread.stack.len(), number, text, values);
    }

    /// What a step changes; of one that chooses, also what it chose again.
    fn chosen(&self, thread: &Thread, step: &Step, change: &[Change]) -> Vec<Change> {
        let mut all = change.to_vec();
        let action = &self.program.edges()[step.edge].action;
        if !step.choices().is_empty() && !matches!(action, Action::Call { .. }) {
            let seen = self.seen(thread);
            let again = action.writes().filter(|var| !change.iter().any(|(other, _)| other == var));
            all.extend(again.map(|var| (var, seen.get(&var).copied())));
        }
        all
    }

    /// Goes through a call that comes back: what it changed of what its caller sees.
    fn folded<'c>(
        &mut self,
        thread: &mut Thread,
        steps: &[Step],
        changes: impl Iterator<Item = &'c [Change]>,
    ) -> Vec<Change> {
        let before = self.seen(thread);
        for (step, change) in steps.iter().zip(changes) {
            self.apply(thread, step, change);
        }
        let after = self.seen(thread);
        let changed = after.into_iter().filter(|(var, value)| before.get(var) != Some(value));
        changed.map(|(var, value)| (var, Some(value))).collect()
    }

    /// What a step does to the stack and to what is known.
    fn apply(&mut self, thread: &mut Thread, step: &Step, change: &[Change]) {
        match self.program.edges()[step.edge].action {
            Action::Call { callee, .. } if step.call.is_none() => {
                thread.stack.push(Open { proc: callee, locals: Values::new() });
            }
            Action::Return(_) if thread.stack.len() > 1 => drop(thread.stack.pop()),
            _ => {}
        }
        self.update(thread, change);
    }

    fn update(&mut self, thread: &mut Thread, change: &[Change]) {
        for &(var, value) in change {
            let known = match self.program.is_global(var) {
                true => &mut self.globals,
                false => &mut thread.stack.last_mut().expect("a thread has a frame").locals,
            };
            match value {
                Some(value) => known.insert(var, value),
                None => known.remove(&var),
            };
        }
    }

    /// What a thread sees.
    fn seen(&self, thread: &Thread) -> Values {
        let mut all = self.globals.clone();
        all.extend(
            thread.stack.last().iter().flat_map(|open| &open.locals).map(|(&var, &value)| (var, value)),
        );
        all
    }

    fn line(&mut self, thread: &Thread, depth: usize, number: Option<usize>, text: String, values: String) {
        self.page.line(Line { lane: thread.lane, depth, number, text, values });
    }
}

fn some(values: &Values) -> impl Iterator<Item = (VarId, Option<Value>)> {
    values.iter().map(|(&var, &value)| (var, Some(value)))
}
