//! Room `ir`: when a trace is believed.
//!
//! # Idea
//!
//! Replay runs every segment and every frame of a [`Trace`] on the program as written and accepts only if each
//! step is a step of the program and the run ends in the target. It computes with cells (see [`crate::eval`]):
//! what the trace leaves open stays open, and as soon as a condition depends on it, the trace is rejected. So an
//! accepted trace is a run *for every* way to fill its gaps.
//!
//! A segment is run once, from an entry in which every global and parameter is known or stands for "what it was
//! at entry". The effect of the segment is kept in those terms, and a caller puts its own cells in their place.
//!
//! # Cost
//!
//! Linear in the size of the trace: a variable that a segment does not touch costs nothing there.

mod cells;
mod interleaved;
mod run;

pub use interleaved::{InterleavedChanges, complete_interleaving, interleaved_changes, replay_interleaving};

use crate::ids::{LocId, SegmentId, Table, VarId};
use crate::program::Program;
use crate::trace::{Segment, Trace};
use run::{Effect, Opened, Run};
use std::fmt;

/// Why a trace was not believed, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejected {
    /// The segment or frame, as in `segment s3` or `frame 0`.
    pub place: String,
    /// The step in it, counted from 0.
    pub step: usize,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, step {}: {}", self.place, self.step, self.reason)
    }
}

impl std::error::Error for Rejected {}

/// Runs the trace on the program; `Ok` if it is a run from the start of main to one of the targets.
pub fn replay(program: &Program, trace: &Trace, targets: &[LocId]) -> Result<(), Rejected> {
    let played = play(program, trace, Some(targets))?;
    ends_as_said(&trace.segments, &played.segments.effects)
}

/// Runs a trace of which nobody has said yet how its segments end, and says it: engines may have forgotten values that
/// no longer matter. What it accepts, [`replay`] accepts. Tells what the steps of the frames change.
pub fn complete(program: &Program, trace: &mut Trace, targets: &[LocId]) -> Result<FrameChanges, Rejected> {
    let Changes { segments: Completed { effects, .. }, frames } = play(program, trace, Some(targets))?;
    say_ends(&mut trace.segments, &effects);
    Ok(frames)
}

/// The variables of which something else is known after a step: their value, or that it is open.
pub type Change = Vec<(VarId, Option<i64>)>;

/// What the steps of each frame change.
pub type FrameChanges = Vec<Vec<Change>>;

/// What each step of a trace changes.
pub struct Changes<'a> {
    /// Of the steps of segments, when asked.
    pub segments: Completed<'a>,
    /// Of the steps of frames.
    pub frames: FrameChanges,
}

/// What each step of a trace changes.
pub fn changes<'a>(program: &'a Program, trace: &'a Trace) -> Result<Changes<'a>, Rejected> {
    play(program, trace, None)
}

/// Runs a trace to one of the targets, or without targets, to wherever it leads.
fn play<'a>(
    program: &'a Program,
    trace: &'a Trace,
    targets: Option<&[LocId]>,
) -> Result<Changes<'a>, Rejected> {
    if !program.is_sequential() {
        return Err(at("trace", 0)("is a trace of a sequential program, and this has threads".into()));
    }
    let segments = Completed::new(program, &trace.segments)?;
    let mut frames = Vec::new();
    let mut caller: Option<Opened> = None;
    for (depth, frame) in trace.frames.iter().enumerate() {
        let place = format!("frame {depth}");
        if depth == 0 && frame.proc != program.main {
            return Err(at(&place, 0)("a run starts in main".into()));
        }
        let mut run =
            Run::enter(program, &segments.effects, frame, caller.as_ref()).map_err(at(&place, 0))?;
        run.steps(&frame.steps).map_err(|(step, reason)| at(&place, step)(reason))?;
        let innermost = depth + 1 == trace.frames.len();
        ends_well(&run, depth, innermost, targets).map_err(at(&place, frame.steps.len()))?;
        frames.push(std::mem::take(&mut run.changes));
        caller = run.opened;
    }
    match trace.frames.is_empty() {
        true => Err(at("trace", 0)("has no frame".into())),
        false => Ok(Changes { segments, frames }),
    }
}

type Effects = Table<SegmentId, Effect>;

/// The completed calls of a trace, each run once.
pub struct Completed<'a> {
    program: &'a Program,
    segments: &'a Table<SegmentId, Segment>,
    effects: Effects,
}

impl<'a> Completed<'a> {
    /// Runs the completed calls.
    pub fn new(program: &'a Program, segments: &'a Table<SegmentId, Segment>) -> Result<Self, Rejected> {
        let mut completed = Completed { program, segments, effects: Table::new() };
        for (id, segment) in segments.pairs() {
            let rejected = |(step, reason)| at(&format!("segment {id}"), step)(reason);
            let run = completed.run(segment, false).map_err(rejected)?;
            let effect = run.leave().map_err(|reason| rejected((segment.frame.steps.len(), reason)))?;
            completed.effects.push(effect);
        }
        Ok(completed)
    }

    /// Runs one of them, after those that it names.
    fn run(&self, segment: &Segment, notes: bool) -> Result<Run<'_>, (usize, String)> {
        let mut run =
            Run::enter(self.program, &self.effects, &segment.frame, None).map_err(|reason| (0, reason))?;
        run.notes = notes;
        run.steps(&segment.frame.steps)?;
        Ok(run)
    }

    /// What each step of a segment changes.
    pub fn changes(&self, id: SegmentId) -> Vec<Change> {
        self.run(&self.segments[id], true).expect("it ran before").changes
    }
}

/// Segments end with what they say.
fn ends_as_said(segments: &Table<SegmentId, Segment>, effects: &Effects) -> Result<(), Rejected> {
    for ((id, segment), effect) in segments.pairs().zip(effects.iter()) {
        if segment.exit != effect.exit() || segment.results != effect.results() {
            let place = format!("segment {id}");
            return Err(at(&place, segment.frame.steps.len())("does not end with what it says".into()));
        }
    }
    Ok(())
}

/// Says how segments end.
fn say_ends(segments: &mut Table<SegmentId, Segment>, effects: &Effects) {
    for (id, effect) in segments.ids().zip(effects.iter()) {
        segments[id].exit = effect.exit();
        segments[id].results = effect.results();
    }
}

/// A pending frame ends in an open call, the innermost one in a target.
fn ends_well(run: &Run, depth: usize, innermost: bool, targets: Option<&[LocId]>) -> Result<(), String> {
    match (innermost, run.opened.is_some()) {
        (true, true) => Err("the innermost frame ends in a call".into()),
        (false, false) => Err("a frame inside it, but no call open".into()),
        (false, true) => Ok(()),
        (true, false) if run.returned.is_some() && depth > 0 => {
            Err("a frame that returned is not pending".into())
        }
        (true, false) if targets.is_some_and(|targets| !targets.contains(&run.loc)) => {
            Err(format!("ends at {}, which is no target", run.loc))
        }
        (true, false) => Ok(()),
    }
}

fn at(place: &str, step: usize) -> impl Fn(String) -> Rejected + '_ {
    move |reason| Rejected { place: place.to_owned(), step, reason }
}
