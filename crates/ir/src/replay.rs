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
    ends_as_said(&trace.segments, &played.effects)
}

/// Runs a trace of which nobody has said yet how its segments end, and says it: engines may have forgotten values that
/// no longer matter. What it accepts, [`replay`] accepts.
pub fn complete(program: &Program, trace: &mut Trace, targets: &[LocId]) -> Result<(), Rejected> {
    let played = play(program, trace, Some(targets))?;
    say_ends(&mut trace.segments, &played.effects);
    Ok(())
}

/// The variables of which something else is known after a step: their value, or that it is open.
pub type Change = Vec<(VarId, Option<i64>)>;

/// What each step of a trace changes.
#[derive(Debug)]
pub struct Changes {
    /// Of the steps of each segment.
    pub segments: Table<SegmentId, Vec<Change>>,
    /// Of the steps of each frame.
    pub frames: Vec<Vec<Change>>,
}

/// What each step of a trace changes.
pub fn changes(program: &Program, trace: &Trace) -> Result<Changes, Rejected> {
    play(program, trace, None).map(|played| played.changes)
}

/// What came of running a trace.
struct Played {
    effects: Table<SegmentId, Effect>,
    changes: Changes,
}

/// Runs a trace to one of the targets; without targets, to wherever it leads, and notes what each step changes.
fn play(program: &Program, trace: &Trace, targets: Option<&[LocId]>) -> Result<Played, Rejected> {
    if !program.is_sequential() {
        return Err(at("trace", 0)("is a trace of a sequential program, and this has threads".into()));
    }
    let (effects, segments) = play_segments(program, &trace.segments, targets.is_none())?;
    let mut changes = Changes { segments, frames: Vec::new() };
    let mut caller: Option<Opened> = None;
    for (depth, frame) in trace.frames.iter().enumerate() {
        let place = format!("frame {depth}");
        if depth == 0 && frame.proc != program.main {
            return Err(at(&place, 0)("a run starts in main".into()));
        }
        let mut run = Run::enter(program, &effects, frame, caller.as_ref()).map_err(at(&place, 0))?;
        run.notes = targets.is_none();
        run.steps(&frame.steps).map_err(|(step, reason)| at(&place, step)(reason))?;
        let innermost = depth + 1 == trace.frames.len();
        ends_well(&run, depth, innermost, targets).map_err(at(&place, frame.steps.len()))?;
        changes.frames.push(std::mem::take(&mut run.changes));
        caller = run.opened;
    }
    match trace.frames.is_empty() {
        true => Err(at("trace", 0)("has no frame".into())),
        false => Ok(Played { effects, changes }),
    }
}

type Effects = Table<SegmentId, Effect>;

/// Runs the completed calls: the effect of each, and what its steps change.
fn play_segments(
    program: &Program,
    segments: &Table<SegmentId, Segment>,
    notes: bool,
) -> Result<(Effects, Table<SegmentId, Vec<Change>>), Rejected> {
    let mut effects = Table::new();
    let mut changes = Table::new();
    for (id, segment) in segments.pairs() {
        let place = format!("segment {id}");
        let mut run = Run::enter(program, &effects, &segment.frame, None).map_err(at(&place, 0))?;
        run.notes = notes;
        run.steps(&segment.frame.steps).map_err(|(step, reason)| at(&place, step)(reason))?;
        changes.push(std::mem::take(&mut run.changes));
        let effect = run.leave().map_err(at(&place, segment.frame.steps.len()))?;
        effects.push(effect);
    }
    Ok((effects, changes))
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
