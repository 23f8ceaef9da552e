//! Room `engine/summary`: entering procedures, and coming back by their summaries. The idea is in [`super::solve`].

use super::solve::{Cause, Solver};
use crate::encode::relation::CallRelations;
use postbop_ir::{EdgeId, Length, ProcId};
use postbop_kit::bdd::{Interrupted, Ref};
use std::rc::Rc;

/// A part of a summary, as a call sees it.
#[derive(Clone, Debug)]
pub struct CallEffect {
    /// Before and after, in the caller's terms.
    pub relation: Ref,
    /// The part of the summary, without what the call has no use for.
    pub summary: Ref,
    /// How many steps it takes, if that is of interest.
    pub(super) steps: Length,
}

/// A call that was reached.
pub struct CallSite {
    /// The edge.
    pub edge: EdgeId,
    /// The procedure that is called.
    pub callee: ProcId,
    /// Its relations.
    pub site: Rc<CallRelations>,
    /// The effects so far, and their union.
    pub effects: Vec<CallEffect>,
    pub(super) effect: Ref,
}

impl Solver<'_, '_, '_, '_> {
    /// A call that is reached for the first time takes over what is known of its callee.
    pub(super) fn catch_up(&mut self, number: u32) -> Result<(), Interrupted> {
        let callee = self.sites[number as usize].callee;
        match self.task.shortest() {
            true => self.catch_up_by_length(number, callee),
            false => self.catch_up_now(number, callee),
        }
    }

    /// A set calls.
    pub(super) fn call(&mut self, number: u32, set: Ref, time: &Length) -> Result<(), Interrupted> {
        let CallSite { callee, edge, ref site, .. } = self.sites[number as usize];
        let enter = site.enter;
        let image = self.image(set, enter)?;
        let interface = self.interface(callee)?;
        if self.task.shortest() {
            self.enter(callee, &interface, image, time.clone() + 1)?;
        }
        let start = self.encoder.bdd.and(image, interface.diagonal)?;
        let entry = self.task.program.procs()[callee].entry;
        self.arrive(entry, start, Cause::Enter(number, set), &(time.clone() + 1))?;
        let to = self.task.program.edges()[edge].to;
        match self.task.shortest() {
            true => self.cross_by_length(number, set, to, time),
            false => self.cross_now(number, set, to),
        }
    }

    /// New path edges at an exit become effects at all calls.
    pub(super) fn summarise(&mut self, proc: ProcId, set: Ref, time: &Length) -> Result<(), Interrupted> {
        if proc == self.task.program.main() {
            return Ok(());
        }
        if self.task.shortest() {
            return self.summarise_by_length(proc, set, time);
        }
        for at in 0..self.callers[proc].len() {
            self.lift(self.callers[proc][at], set, &Length::ZERO)?;
        }
        Ok(())
    }

    /// Lifts path edges at a callee's exit to a call, and takes what waits in front of it over the call.
    pub(super) fn lift(&mut self, number: u32, set: Ref, steps: &Length) -> Result<(), Interrupted> {
        let (relation, summary) = self.lifted(number, set)?;
        let (call, bdd) = (&mut self.sites[number as usize], &mut self.encoder.bdd);
        // The same pair of valuations may come again with fewer steps, by another choice of arguments.
        let new = if self.task.shortest() { relation } else { bdd.and(relation, !call.effect)? };
        if new == Ref::FALSE {
            return Ok(());
        }
        call.effect = bdd.or(call.effect, new)?;
        let at = call.effects.len() as u32;
        call.effects.push(CallEffect { relation, summary, steps: steps.clone() });
        match self.task.shortest() {
            true => self.come_back_by_length(number, at),
            false => self.come_back_now(number, at, new),
        }
    }

    /// Path edges at a callee's exit as a call sees them: before and after in the caller's terms, and the part of the summary.
    pub(super) fn lifted(&mut self, number: u32, set: Ref) -> Result<(Ref, Ref), Interrupted> {
        let CallSite { callee, ref site, .. } = self.sites[number as usize];
        let (trim, pass) = (site.trim, site.pass);
        let interface = self.interface(callee)?;
        let bdd = &mut self.encoder.bdd;
        let summary = bdd.project(set, interface.summary)?;
        let summary = bdd.project(summary, trim)?;
        Ok((bdd.image(summary, pass.0, pass.1)?, summary))
    }
}
