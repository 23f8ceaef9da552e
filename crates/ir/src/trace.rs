//! Room `ir`: counterexamples.
//!
//! # Idea
//!
//! The shortest run of a recursive program to a location can be exponentially long in the program, so a trace is
//! not a flat list. It has an acyclic table of *segments*: completed calls, each a run of one procedure from entry to
//! return. A call step that came back names a segment, and many steps may name the same one. [`crate::replay()`] looks
//! at each segment once; printing unfolds on demand.
//!
//! Around them the run is a row of *contexts*, each of one thread. A call that names no segment enters its procedure, and
//! the steps that follow are inside it, until a return edge leads out or the run ends. A sequential run is one context.
//!
//! Values that do not matter are left out: a valuation lists only what is known, and a choice may be open. A
//! trace with gaps stands for all the runs that fill them.

use crate::ids::{EdgeId, ProcId, SegmentId, Table, ThreadId, VarId};
use crate::length::Length;
use crate::value::Value;

/// The known values of some variables, in the order of their ids.
pub type Known = Vec<(VarId, Value)>;

/// One edge taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The edge.
    pub edge: EdgeId,
    /// For a call that came back: how it went.
    pub call: Option<SegmentId>,
    /// Most steps choose nothing, and a trace may have millions of steps.
    free: Option<Box<Free>>,
}

/// What a step is free to choose.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Free {
    choices: Vec<Option<Value>>,
    locals: Known,
}

impl Step {
    /// A step along an edge, with the outcome of each choice of its action, in order; open where it does not matter. An
    /// edge that makes variables arbitrary chooses once per variable.
    pub fn new(edge: EdgeId, choices: Vec<Option<Value>>) -> Self {
        let free = (!choices.is_empty()).then(|| Box::new(Free { choices, locals: Known::new() }));
        Step { edge, call: None, free }
    }

    /// The same step, as a call that came back.
    pub fn back(mut self, call: SegmentId) -> Self {
        self.call = Some(call);
        self
    }

    /// The same step, as a call that enters its procedure, whose locals that are no parameters start with these values
    /// as far as they matter.
    pub fn entering(mut self, locals: Known) -> Self {
        if !locals.is_empty() {
            self.free.get_or_insert_default().locals = locals;
        }
        self
    }

    /// The same step along another edge.
    pub fn along(&self, edge: EdgeId) -> Self {
        Step { edge, ..self.clone() }
    }

    /// The outcomes of its choices.
    pub fn choices(&self) -> &[Option<Value>] {
        self.free.as_ref().map_or(&[], |free| &free.choices)
    }

    /// For a call that enters its procedure: what the locals that are no parameters start with, as far as it matters.
    pub fn locals(&self) -> &[(VarId, Value)] {
        self.free.as_ref().map_or(&[], |free| &free.locals)
    }
}

/// A completed call: a run of one procedure from its entry to its return.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The procedure.
    pub proc: ProcId,
    /// The values at entry that matter: of globals, of parameters, and what the other locals happen to hold.
    pub entry: Known,
    /// The edges taken; the last one returns.
    pub steps: Vec<Step>,
    /// The globals whose value is known at the end.
    pub exit: Known,
    /// The results, where known.
    pub results: Vec<Option<Value>>,
}

impl Segment {
    /// A completed call of which it is not said yet how it ends.
    pub fn new(proc: ProcId, entry: Known, steps: Vec<Step>) -> Self {
        Segment { proc, entry, steps, exit: Known::new(), results: Vec::new() }
    }
}

/// What one thread does without another running in between.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Context {
    /// The thread; none for the prologue, which runs before all threads.
    pub thread: Option<ThreadId>,
    /// The edges taken, from where the thread was left.
    pub steps: Vec<Step>,
}

/// A point between two steps of a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position {
    /// The context.
    pub context: u32,
    /// How many of its steps come before.
    pub step: u32,
}

/// From where on a run that never ends repeats itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repeat {
    /// The head: the point at which the steps from there to the end are taken again.
    pub from: Position,
    /// The values at the head that these steps count on: of globals, and of locals of the activation that runs there. They
    /// are the same at the end.
    pub head: Known,
}

/// A run of the program from its start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// The completed calls. A segment names only segments before it.
    pub segments: Table<SegmentId, Segment>,
    /// The values at the start that matter: of globals, and of the locals of the procedures in which the prologue and
    /// the threads start.
    pub initial: Known,
    /// The contexts in order. The first is that of the prologue, if the program has one.
    pub contexts: Vec<Context>,
    /// For a run that goes on for ever: from where on it repeats itself.
    pub repeats: Option<Repeat>,
}

impl Trace {
    /// A run of one thread.
    pub fn sequential(segments: Table<SegmentId, Segment>, initial: Known, steps: Vec<Step>) -> Self {
        let contexts = vec![Context { thread: Some(ThreadId(0)), steps }];
        Trace { segments, initial, contexts, repeats: None }
    }

    /// The number of steps of the whole run, those inside completed calls included. Of a run that goes on for ever only the
    /// first round counts.
    pub fn length(&self) -> Length {
        // The length of a segment is forgotten after its last use: long chains have long lengths.
        let mut last: Table<SegmentId, Option<SegmentId>> = Table::filled(self.segments.len(), None);
        for (id, segment) in self.segments.pairs() {
            self.named(&segment.steps).for_each(|call| last[call] = Some(id));
        }
        for context in &self.contexts {
            self.named(&context.steps).for_each(|call| last[call] = None);
        }
        let mut lengths: Table<SegmentId, Length> = Table::new();
        for (id, segment) in self.segments.pairs() {
            let length = unfolded(&segment.steps, &lengths);
            lengths.push(length);
            for call in self.named(&segment.steps) {
                if last[call] == Some(id) {
                    lengths[call] = Length::ZERO;
                }
            }
        }
        self.contexts.iter().fold(Length::ZERO, |sum, context| sum + &unfolded(&context.steps, &lengths))
    }

    /// The segments that steps name, as far as they are there: what replay has not seen yet may name others.
    fn named(&self, steps: &[Step]) -> impl Iterator<Item = SegmentId> {
        steps.iter().filter_map(|step| step.call).filter(|call| self.segments.get(*call).is_some())
    }

    /// How often another thread goes on.
    pub fn switches(&self) -> usize {
        self.threads().count().saturating_sub(1)
    }

    /// In how many rounds the contexts fit, if in each round each thread in turn has one, perhaps an empty one.
    pub fn rounds(&self) -> usize {
        let again = self.threads().zip(self.threads().skip(1)).filter(|(one, next)| next <= one).count();
        again + usize::from(self.threads().next().is_some())
    }

    /// The threads of the contexts, without the prologue.
    fn threads(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.contexts.iter().filter_map(|context| context.thread)
    }
}

/// The number of steps when calls are unfolded. A segment that is not there counts nothing: replay rejects it.
fn unfolded(steps: &[Step], lengths: &Table<SegmentId, Length>) -> Length {
    let inside = steps.iter().filter_map(|step| lengths.get(step.call?));
    inside.sum::<Length>() + steps.len() as u64
}
