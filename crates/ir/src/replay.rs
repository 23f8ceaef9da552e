//! Room `ir`: when a trace is believed.
//!
//! # Idea
//!
//! Replay runs every segment and every context of a [`Trace`] on the program as written and accepts only if each
//! step is a step of the program and the run ends in the target. It computes with cells (see [`crate::eval`]):
//! what the trace leaves open stays open, and as soon as a condition depends on it, the trace is rejected. So an
//! accepted trace is a run *for every* way to fill its gaps.
//!
//! A segment is run once, from an entry in which every global and parameter is known or stands for "what it was
//! at entry". The effect of the segment is kept in those terms, and a caller puts its own cells in their place.
//!
//! Each thread is a frame that runs and a stack of the locals of its callers (`player`). Globals go from the frame that runs to
//! the one that runs next, be it by a call, by a return, or because another thread goes on. A thread is left only where that is allowed, and whether it
//! is must not depend on a value that the trace leaves open.
//!
//! A run that goes on for ever ends where it repeats itself (`lasso`); one that gets stuck, where no thread can move (`deadlock`).
//!
//! # Cost
//!
//! Linear in the size of the trace: a variable that a segment does not touch costs nothing there.

mod cells;
mod changes;
mod deadlock;
mod lasso;
mod player;
mod run;
#[cfg(test)]
mod tests;

pub use changes::{Change, Changes};
pub use deadlock::{Waiting, deadlock};

use crate::ids::{SegmentId, Table};
use crate::program::Program;
use crate::task::Ask;
use crate::trace::{Known, Segment, Trace};
use player::Player;
use run::{Effect, Run};
use std::fmt;

/// Why a trace was not believed, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejected {
    /// The segment or context, as in `segment s3` or `context 0`.
    pub place: String,
    /// The step in it, counted from 0.
    pub step: usize,
    /// What is wrong.
    pub reason: String,
}

impl Rejected {
    /// Whether the trace may be right, and only has numbers with which replay does not compute.
    pub fn is_too_large(&self) -> bool {
        self.reason == TOO_LARGE
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, step {}: {}", self.place, self.step, self.reason)
    }
}

impl std::error::Error for Rejected {}

/// Runs the trace on the program; `Ok` if it is a run as was asked for, from the start to one of the targets, or one that
/// visits them for ever.
pub fn replay(program: &Program, trace: &Trace, ask: &Ask) -> Result<(), Rejected> {
    let played = play(program, trace, Some(ask), &mut || true)?;
    for ((id, segment), effect) in trace.segments.pairs().zip(played.segments.effects.iter()) {
        if segment.exit != effect.exit() || segment.results != effect.results() {
            let place = format!("segment {id}");
            return Err(at(&place, segment.steps.len())("does not end as the run does".into()));
        }
    }
    Ok(())
}

/// Runs a trace in which it is not said yet how its segments end, and says it: engines may have forgotten values that
/// no longer matter. What it accepts, [`replay`] accepts. Returns what the steps of each context change. It is rejected
/// as well when `goes_on`, which is asked now and then, says no.
pub fn complete(
    program: &Program,
    trace: &mut Trace,
    ask: &Ask,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Vec<Changes>, Rejected> {
    let Played { segments: Completed { effects, .. }, contexts } = play(program, trace, Some(ask), goes_on)?;
    let ends: Vec<_> = effects.iter().map(|effect| (effect.exit(), effect.results())).collect();
    for (id, (exit, results)) in trace.segments.ids().zip(ends) {
        let segment = &mut trace.segments[id];
        (segment.exit, segment.results) = (exit, results);
    }
    Ok(contexts)
}

/// A trace that was run: what its steps change. A call that enters a procedure gives its locals what is known of them,
/// and a return changes what the caller receives.
pub struct Played<'a> {
    /// The completed calls; what their steps change is computed when asked for.
    pub segments: Completed<'a>,
    /// What the steps of each context change.
    pub contexts: Vec<Changes>,
}

/// Runs a trace to wherever it leads.
pub fn changes<'a>(program: &'a Program, trace: &'a Trace) -> Result<Played<'a>, Rejected> {
    play(program, trace, None, &mut || true)
}

/// What is known at the end of a run: of globals, and of the locals of the activation that runs there. The trace need not say
/// how its segments end.
pub fn ending(program: &Program, trace: &Trace) -> Result<Known, Rejected> {
    let mut segments = Completed { program, segments: &trace.segments, effects: Table::new() };
    let goes_on: &mut dyn FnMut() -> bool = &mut || true;
    segments.run_all(goes_on)?;
    let mut player = Player::new(program, &segments.effects, &trace.initial, None, goes_on)?;
    player.play(&trace.contexts)?;
    Ok(player.known())
}

/// Runs a trace as was asked for, or if nothing was, to wherever it leads.
fn play<'a>(
    program: &'a Program,
    trace: &'a Trace,
    ask: Option<&Ask>,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Played<'a>, Rejected> {
    let wrong = |reason: String| at("trace", 0)(reason);
    let repeat = match (ask, &trace.repeats) {
        (Some(Ask::Reach(_)), Some(_)) => return Err(wrong("goes on for ever".into())),
        (Some(Ask::Reach(_)) | None, None) => None,
        (Some(Ask::Recur(_)), _) | (None, Some(_)) => Some(lasso::repeat(trace).map_err(wrong)?),
    };
    let mut segments = Completed { program, segments: &trace.segments, effects: Table::new() };
    segments.run_all(goes_on)?;
    let mut player = Player::new(program, &segments.effects, &trace.initial, repeat, goes_on)?;
    let contexts = player.play(&trace.contexts)?;
    match (player.end(), ask, repeat) {
        (None, ..) => Err(wrong("has no context".into())),
        (Some(loc), Some(Ask::Reach(targets)), _) if !targets.contains(&loc) => {
            Err(wrong(format!("ends at {loc}, which is not a target")))
        }
        (_, Some(Ask::Recur(locs)), Some(repeat)) if !lasso::visits(program, trace, repeat, locs) => {
            Err(wrong("repeats steps that visit none of the locations asked about".into()))
        }
        _ => Ok(Played { segments, contexts }),
    }
}

/// The completed calls of a trace, each run once.
pub struct Completed<'a> {
    program: &'a Program,
    segments: &'a Table<SegmentId, Segment>,
    effects: Table<SegmentId, Effect<'a>>,
}

impl<'a> Completed<'a> {
    /// Runs the completed calls.
    pub fn new(program: &'a Program, segments: &'a Table<SegmentId, Segment>) -> Result<Self, Rejected> {
        let mut completed = Completed { program, segments, effects: Table::new() };
        completed.run_all(&mut || true)?;
        Ok(completed)
    }

    fn run_all(&mut self, goes_on: &mut dyn FnMut() -> bool) -> Result<(), Rejected> {
        for (id, segment) in self.segments.pairs() {
            let rejected = |(step, reason)| at(&format!("segment {id}"), step)(reason);
            if id.0.is_multiple_of(PATIENCE) && !goes_on() {
                return Err(rejected((0, INTERRUPTED.into())));
            }
            let run = self.run(segment, None).map_err(rejected)?;
            let effect =
                run.leave(&segment.entry).map_err(|reason| rejected((segment.steps.len(), reason)))?;
            self.effects.push(effect);
        }
        Ok(())
    }

    /// Runs one of them, after those that it names, and notes what its steps change.
    fn run(&self, segment: &Segment, mut notes: Option<&mut Changes>) -> Result<Run<'_>, (usize, String)> {
        let entered = Run::enter(self.program, &self.effects, segment.proc, &segment.entry);
        let mut run = entered.map_err(|reason| (0, reason))?;
        run.notes = notes.is_some();
        for (number, step) in segment.steps.iter().enumerate() {
            run.step(step).map_err(|reason| (number, reason))?;
            if let Some(notes) = &mut notes {
                notes.push(run.noted.drain(..));
            }
        }
        Ok(run)
    }

    /// What each step of a segment changes.
    pub fn changes(&self, id: SegmentId) -> Changes {
        let mut changes = Changes::default();
        self.run(&self.segments[id], Some(&mut changes)).expect("it ran before");
        changes
    }
}

/// After so many segments, or steps, it is asked whether to go on.
pub const PATIENCE: u32 = 1 << 12;

const INTERRUPTED: &str = "interrupted";

/// What is said of a run that is none of those that traces can tell.
const TOO_LARGE: &str = "an integer does not fit in 64 bits";

fn at(place: &str, step: usize) -> impl Fn(String) -> Rejected + '_ {
    move |reason| Rejected { place: place.to_owned(), step, reason }
}
