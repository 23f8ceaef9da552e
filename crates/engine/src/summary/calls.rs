//! Room `engine/summary`: entering procedures, and coming back by their summaries. The idea is in [`super::solve`].

use super::relation::{CallRelations, Gate};
use super::solve::{Cause, Solver};
use crate::encode::wiring::Role;
use postbop_ir::{EdgeId, Length, ProcId};
use postbop_kit::bdd::{Interrupted, Ref};
use std::rc::Rc;

/// A part of a summary, as a call sees it.
#[derive(Clone, Debug)]
pub struct Lift {
    /// Before and after, in the caller's terms.
    pub relation: Ref,
    /// The part of the summary, without what the call has no use for.
    pub summary: Ref,
    /// How many steps it takes, if that is of interest.
    steps: Length,
}

/// A call that was reached.
pub struct CallSite {
    /// The edge.
    pub edge: EdgeId,
    /// Who is called.
    pub callee: ProcId,
    /// Its relations.
    pub site: Rc<CallRelations>,
    /// The lifts so far, and their union.
    pub lifts: Vec<Lift>,
    pub(super) lift: Ref,
}

impl Solver<'_, '_, '_, '_> {
    /// A call that is reached for the first time takes over what is known of its callee.
    pub(super) fn catch_up(&mut self, number: u32) -> Result<(), Interrupted> {
        let callee = self.sites[number as usize].callee;
        if !self.task.shortest() {
            let place = self.places[self.task.program.procs()[callee].exit];
            let settled = self.encoder.bdd.and(place.reach, !place.fresh)?;
            return self.lift(number, settled, &Length::ZERO);
        }
        for at in 0..self.parts[callee].len() {
            let (steps, set) = self.parts[callee][at].clone();
            self.lift(number, set, &steps)?;
        }
        Ok(())
    }

    /// A set calls.
    pub(super) fn call(&mut self, number: u32, set: Ref, time: &Length) -> Result<(), Interrupted> {
        let CallSite { callee, edge, ref site, .. } = self.sites[number as usize];
        let (enter, back) = (site.enter, site.back);
        let image = self.image(set, enter)?;
        let gate = self.gate(callee)?;
        if self.task.shortest() {
            self.enter(callee, &gate, image, time.clone() + 1)?;
        }
        let start = self.encoder.bdd.and(image, gate.diagonal)?;
        let entry = self.task.program.procs()[callee].entry;
        self.arrive(entry, start, Cause::Enter(number, set), &(time.clone() + 1))?;
        let to = self.task.program.edges()[edge].to;
        if !self.task.shortest() {
            let CallSite { lift, ref lifts, .. } = self.sites[number as usize];
            let count = lifts.len() as u32;
            let image = self.image(set, (lift, back))?;
            return self.arrive(to, image, Cause::Return(number, set, 0, count), &Length::ZERO);
        }
        self.pushed[number as usize].push((time.clone(), set));
        for at in 0..self.sites[number as usize].lifts.len() {
            let Lift { relation, steps, .. } = self.sites[number as usize].lifts[at].clone();
            let image = self.image(set, (relation, back))?;
            let cause = Cause::Return(number, set, at as u32, at as u32 + 1);
            self.arrive(to, image, cause, &(time.clone() + 1 + &steps))?;
        }
        Ok(())
    }

    /// Notes with which values a procedure is entered for the first time now.
    fn enter(&mut self, callee: ProcId, gate: &Gate, image: Ref, time: Length) -> Result<(), Interrupted> {
        let moved = gate.links.iter().filter(|link| link.role == Role::Entry);
        let pairs = |field| {
            let now = self.encoder.levels(callee, field, Role::Now);
            now.zip(self.encoder.levels(callee, field, Role::Entry))
        };
        let renamed: Vec<(u32, u32)> = moved.flat_map(|link| pairs(link.field)).collect();
        let plan = self.encoder.bdd.plan([], renamed);
        let mut new = self.encoder.bdd.project(image, plan)?;
        for at in 0..self.entered[callee].len() {
            new = self.encoder.bdd.and(new, !self.entered[callee][at].1)?;
        }
        if new != Ref::FALSE {
            self.entered[callee].push((time, new));
        }
        Ok(())
    }

    /// New path edges at an exit become lifts at all calls.
    pub(super) fn summarise(&mut self, proc: ProcId, set: Ref, time: &Length) -> Result<(), Interrupted> {
        if proc == self.task.program.main() {
            return Ok(());
        }
        if !self.task.shortest() {
            for at in 0..self.callers[proc].len() {
                self.lift(self.callers[proc][at], set, &Length::ZERO)?;
            }
            return Ok(());
        }
        for at in 0..self.entered[proc].len() {
            let (start, entered) = self.entered[proc][at].clone();
            let part = self.encoder.bdd.and(set, entered)?;
            if part == Ref::FALSE {
                continue;
            }
            let steps = time.clone() - &start;
            self.parts[proc].push((steps.clone(), part));
            for at in 0..self.callers[proc].len() {
                self.lift(self.callers[proc][at], part, &steps)?;
            }
        }
        Ok(())
    }

    /// Lifts path edges at a callee's exit to a call, and takes what waits in front of it over the call.
    fn lift(&mut self, number: u32, set: Ref, steps: &Length) -> Result<(), Interrupted> {
        let CallSite { callee, edge, ref site, .. } = self.sites[number as usize];
        let (trim, pass, back) = (site.trim, site.pass, site.back);
        let gate = self.gate(callee)?;
        let bdd = &mut self.encoder.bdd;
        let summary = bdd.project(set, gate.summary)?;
        let summary = bdd.project(summary, trim)?;
        let relation = bdd.image(summary, pass.0, pass.1)?;
        let call = &mut self.sites[number as usize];
        // The same pair of valuations may come again with fewer steps, by another choice of arguments.
        let new = if self.task.shortest() { relation } else { bdd.and(relation, !call.lift)? };
        if new == Ref::FALSE {
            return Ok(());
        }
        call.lift = bdd.or(call.lift, new)?;
        let at = call.lifts.len() as u32;
        call.lifts.push(Lift { relation, summary, steps: steps.clone() });
        let (from, to) = (self.task.program.edges()[edge].from, self.task.program.edges()[edge].to);
        if !self.task.shortest() {
            let place = self.places[from];
            let settled = self.encoder.bdd.and(place.reach, !place.fresh)?;
            let image = self.image(settled, (new, back))?;
            return self.arrive(to, image, Cause::Return(number, settled, at, at + 1), &Length::ZERO);
        }
        for turn in 0..self.pushed[number as usize].len() {
            let (time, waiting) = self.pushed[number as usize][turn].clone();
            let image = self.image(waiting, (relation, back))?;
            let cause = Cause::Return(number, waiting, at, at + 1);
            self.arrive(to, image, cause, &(time + 1 + steps))?;
        }
        Ok(())
    }
}
