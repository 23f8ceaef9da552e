//! Room `ir`: counterexamples.
//!
//! # Idea
//!
//! The shortest run of a recursive program to a location can be exponentially long in the program, so a trace is
//! not a flat list. It is the chain of *frames* still pending at the end, outermost first, and an acyclic table
//! of *segments*: completed calls, each a run of one procedure from entry to return. A call step that came back
//! names a segment, and many steps may name the same one. [`crate::replay()`] looks at each segment once;
//! whoever prints unfolds on demand.
//!
//! Values that do not matter are left out: a valuation lists only what is known, and a choice may be open. A
//! trace with gaps stands for all the runs that fill them.

use crate::ids::{EdgeId, ProcId, SegmentId, Table, ThreadId, VarId};
use serde::{Deserialize, Serialize};

/// The known values of some variables, in the order of their ids.
pub type Known = Vec<(VarId, i64)>;

/// One edge taken.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The edge.
    pub edge: EdgeId,
    /// The outcome of each choice of its action, in order; open where it does not matter. An edge that makes
    /// variables arbitrary chooses once per variable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Option<i64>>,
    /// For a call that came back: how it went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<SegmentId>,
}

/// A run of one procedure from its entry, not necessarily to its end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// The procedure.
    pub proc: ProcId,
    /// The values at entry that matter: of globals, of parameters, and what the other locals happen to hold.
    pub entry: Known,
    /// The edges taken. Of a pending frame that is not the innermost, the last is the call still open.
    pub steps: Vec<Step>,
}

/// A completed call: a frame whose last step returns.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// The run.
    pub frame: Frame,
    /// The globals whose value is known at the end.
    pub exit: Known,
    /// The results, where known.
    pub results: Vec<Option<i64>>,
}

/// A run of the program from its start to some location.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The completed calls. A segment names only segments before it.
    pub segments: Table<SegmentId, Segment>,
    /// The pending frames, main's first.
    pub frames: Vec<Frame>,
}

impl Trace {
    /// For each segment the number of steps when all calls in it are unfolded; saturating.
    pub fn segment_lengths(&self) -> Table<SegmentId, u128> {
        segment_lengths(&self.segments)
    }

    /// The number of steps of the whole run; saturating.
    pub fn length(&self) -> u128 {
        let lengths = self.segment_lengths();
        self.frames.iter().fold(0, |sum: u128, frame| sum.saturating_add(unfolded(&frame.steps, &lengths)))
    }
}

/// What one thread does without another running in between.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Context {
    /// The thread.
    pub thread: ThreadId,
    /// The edges taken, from where the thread was left. A call that does not name a segment enters the procedure, and the
    /// steps that follow are inside it until a return edge leads out. Such a call may also choose what the locals that
    /// are no parameters happen to hold: after its own choices follows one for each of them, or none at all.
    pub steps: Vec<Step>,
}

/// A run of a program with threads from its start to some location.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interleaving {
    /// The calls that were completed within one context. A segment names only segments before it.
    pub segments: Table<SegmentId, Segment>,
    /// The values at the start that matter: of globals, and of the locals of the procedures in which the prologue and
    /// the threads start.
    pub initial: Known,
    /// The steps of the prologue, as in a context.
    pub prologue: Vec<Step>,
    /// The contexts in order. There is none if the run ends in the prologue.
    pub contexts: Vec<Context>,
}

impl Interleaving {
    /// The number of steps of the whole run, with those of the prologue; saturating.
    pub fn length(&self) -> u128 {
        let lengths = segment_lengths(&self.segments);
        let stretches = self.contexts.iter().map(|context| &context.steps).chain([&self.prologue]);
        stretches.fold(0, |sum: u128, steps| sum.saturating_add(unfolded(steps, &lengths)))
    }

    /// How often another thread goes on.
    pub fn switches(&self) -> usize {
        self.contexts.len().saturating_sub(1)
    }

    /// In how many rounds the contexts fit, if in each round each thread in turn has one, perhaps an empty one.
    pub fn rounds(&self) -> usize {
        let again = self.contexts.windows(2).filter(|two| two[1].thread <= two[0].thread).count();
        again + usize::from(!self.contexts.is_empty())
    }
}

fn segment_lengths(segments: &Table<SegmentId, Segment>) -> Table<SegmentId, u128> {
    let mut lengths = Table::new();
    for segment in segments.iter() {
        let length = unfolded(&segment.frame.steps, &lengths);
        lengths.push(length);
    }
    lengths
}

/// The number of steps when calls are unfolded. A segment that is not there counts nothing: replay rejects it.
fn unfolded(steps: &[Step], lengths: &Table<SegmentId, u128>) -> u128 {
    steps.iter().fold(0, |sum: u128, step| {
        let inside = step.call.and_then(|call| lengths.get(call).copied()).unwrap_or(0);
        sum.saturating_add(1).saturating_add(inside)
    })
}
