//! Room `ir`: runs that go on for ever. Why a run that comes back to its head can be repeated is argued in `docs/ir.md`.

use super::player::Player;
use super::run::Run;
use crate::ids::{LocId, SegmentId, Table};
use crate::program::{Action, Program};
use crate::trace::{Repeat, Step, Trace};
use std::collections::HashSet;

/// Where the run was at the head, and how many activations were on the stack.
pub(super) struct Head {
    loc: LocId,
    depth: usize,
}

/// The point from which on a trace repeats itself, if it is within its last context and a step follows.
pub(super) fn repeat(trace: &Trace) -> Result<&Repeat, String> {
    let repeat = trace.repeats.as_ref().ok_or("does not go on for ever")?;
    let last = trace.contexts.len().checked_sub(1).ok_or("has no context")?;
    if repeat.from.context as usize != last {
        return Err("repeats more than its last context".into());
    }
    match (repeat.from.step as usize) < trace.contexts[last].steps.len() {
        true => Ok(repeat),
        false => Err("repeats no step".into()),
    }
}

/// Whether the steps that a trace repeats visit one of the locations, be it inside completed calls.
pub(super) fn visits(program: &Program, trace: &Trace, repeat: &Repeat, locs: &[LocId]) -> bool {
    let locs: HashSet<LocId> = locs.iter().copied().collect();
    let mut inside: Table<SegmentId, bool> = Table::new();
    let along = |steps: &[Step], inside: &Table<SegmentId, bool>| {
        // The calls that were entered, and may return later.
        let mut open: Vec<LocId> = Vec::new();
        steps.iter().any(|step| {
            let edge = &program.edges()[step.edge];
            match (&edge.action, step.call) {
                (Action::Call { callee, .. }, None) => {
                    open.push(edge.to);
                    locs.contains(&program.procs()[*callee].entry)
                }
                (Action::Call { callee, .. }, Some(call)) => {
                    inside[call] || locs.contains(&edge.to) || locs.contains(&program.procs()[*callee].entry)
                }
                // The run goes on behind the call, and is never at the exit.
                (Action::Return(_), _) => open.pop().is_some_and(|loc| locs.contains(&loc)),
                _ => locs.contains(&edge.to),
            }
        })
    };
    for segment in trace.segments.iter() {
        let visited = along(&segment.steps, &inside);
        inside.push(visited);
    }
    let steps = &trace.contexts[repeat.from.context as usize].steps[repeat.from.step as usize..];
    along(steps, &inside)
}

impl Player<'_, '_> {
    /// The run is at the head. From here on nothing is known but what the trace says.
    pub(super) fn reach_head(&mut self, repeat: &Repeat, top: &mut Run, depth: usize) -> Result<(), String> {
        known_again(repeat, top)?;
        top.forget_all_but(&repeat.head);
        self.head = Some(Head { loc: top.loc, depth });
        Ok(())
    }

    /// Whether an activation may return while so many are on the stack.
    pub(super) fn may_return(&self, depth: usize) -> Result<(), String> {
        match &self.head {
            Some(head) if depth <= head.depth => {
                Err("returns from the activation in which it repeats itself".into())
            }
            _ => Ok(()),
        }
    }

    /// The run is at the end: it must be as at the head, perhaps deeper in the stack.
    pub(super) fn close(&self, repeat: &Repeat, top: &Run) -> Result<(), String> {
        let head = self.head.as_ref().ok_or("never comes to where it repeats itself")?;
        if head.loc != top.loc {
            return Err(format!("repeats itself from {}, but ends at {}", head.loc, top.loc));
        }
        known_again(repeat, top)
    }
}

/// Every value that the steps of the loop count on must be known.
fn known_again(repeat: &Repeat, top: &Run) -> Result<(), String> {
    for &(var, value) in &repeat.head {
        top.in_scope(var)?;
        if top.known(var) != Some(value) {
            return Err(format!("repeats itself with {var} = {value}, which is not known there"));
        }
    }
    Ok(())
}
