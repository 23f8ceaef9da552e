//! Room `engine/summary`: the search for shortest runs.
//!
//! # Idea
//!
//! The next location is the one with the least number of steps from the start of the run: a set that arrives knows its
//! distance, one step more than where it came from, and a completed call counts the steps inside, which are the
//! distance of the exit less the distance at which the procedure was first entered with these values. No arrival is
//! nearer than what it is derived from, so the sets are the rings of \[bebop\] section 3.2, except that calls count all
//! their steps. Summaries of different lengths are kept apart.

use super::calls::{CallEffect, CallSite};
use super::solve::{Arrival, Cause, Solver};
use crate::encode::relation::ProcInterface;
use crate::encode::wiring::Role;
use postbop_ir::{Length, LocId, ProcId, Program, Table};
use postbop_kit::bdd::{Interrupted, Ref};
use std::collections::BTreeMap;

/// Sets by the number of steps to them.
pub struct Rings {
    /// The sets that are to arrive, by the number of steps, and where.
    pub schedule: BTreeMap<(Length, LocId), Ref>,
    /// For each procedure the sets of values with which it was entered, and after how many steps.
    pub entered: Table<ProcId, Vec<(Length, Ref)>>,
    /// For each procedure the sets of path edges at its exit, and in how many steps.
    pub left: Table<ProcId, Vec<(Length, Ref)>>,
    /// For each call the sets that were pushed over it, and after how many steps.
    pub pushed: Vec<Vec<(Length, Ref)>>,
}

impl Rings {
    /// Nothing is known of a program.
    pub fn new(program: &Program) -> Self {
        Rings {
            schedule: BTreeMap::new(),
            entered: Table::filled(program.procs().len(), Vec::new()),
            left: Table::filled(program.procs().len(), Vec::new()),
            pushed: Vec::new(),
        }
    }
}

impl Solver<'_, '_, '_, '_> {
    /// Pushes on what is nearest; false if there is nothing.
    pub(super) fn nearest(&mut self) -> Result<bool, Interrupted> {
        let Some(((time, loc), set)) = self.rings.schedule.pop_first() else { return Ok(false) };
        let place = self.places[loc];
        let new = self.encoder.bdd.and(set, !place.reach)?;
        if new != Ref::FALSE {
            self.places[loc].reach = self.encoder.bdd.or(place.reach, new)?;
            self.targets.reach(loc, &loc);
            self.push(loc, new, &time)?;
        }
        Ok(true)
    }

    /// A set that may be new at a location waits until it is nearest.
    pub(super) fn arrive_later(
        &mut self,
        loc: LocId,
        new: Ref,
        cause: Cause,
        time: &Length,
    ) -> Result<(), Interrupted> {
        let arrival = Arrival { loc, time: time.clone(), set: new, cause };
        self.encoder.bdd.push(&mut self.arrivals, arrival)?;
        let key = (time.clone(), loc);
        let waiting = self.rings.schedule.get(&key).copied().unwrap_or(Ref::FALSE);
        let all = self.encoder.bdd.or(waiting, new)?;
        self.rings.schedule.insert(key, all);
        Ok(())
    }

    /// A call that is reached for the first time takes over what came out of its callee, length by length.
    pub(super) fn catch_up_by_length(&mut self, number: u32, callee: ProcId) -> Result<(), Interrupted> {
        for at in 0..self.rings.left[callee].len() {
            let (steps, set) = self.rings.left[callee][at].clone();
            self.lift(number, set, &steps)?;
        }
        Ok(())
    }

    /// Notes with which values a procedure is entered for the first time now.
    pub(super) fn enter(
        &mut self,
        callee: ProcId,
        interface: &ProcInterface,
        image: Ref,
        time: Length,
    ) -> Result<(), Interrupted> {
        let moved = interface.links.iter().filter(|link| link.role == Role::Entry);
        let pairs = |field| {
            let now = self.encoder.levels(callee, field, Role::Now);
            now.zip(self.encoder.levels(callee, field, Role::Entry))
        };
        let renamed: Vec<(u32, u32)> = moved.flat_map(|link| pairs(link.field)).collect();
        let plan = self.encoder.bdd.plan([], renamed);
        let mut new = self.encoder.bdd.project(image, plan)?;
        for at in 0..self.rings.entered[callee].len() {
            new = self.encoder.bdd.and(new, !self.rings.entered[callee][at].1)?;
        }
        if new != Ref::FALSE {
            self.rings.entered[callee].push((time, new));
        }
        Ok(())
    }

    /// Takes a set over a call by each summary so far, with its steps.
    pub(super) fn cross_by_length(
        &mut self,
        number: u32,
        set: Ref,
        to: LocId,
        time: &Length,
    ) -> Result<(), Interrupted> {
        let back = self.sites[number as usize].site.back;
        self.rings.pushed[number as usize].push((time.clone(), set));
        for at in 0..self.sites[number as usize].effects.len() {
            let CallEffect { relation, steps, .. } = self.sites[number as usize].effects[at].clone();
            let image = self.image(set, (relation, back))?;
            let cause = Cause::Return(number, set, at as u32, at as u32 + 1);
            self.arrive(to, image, cause, &(time.clone() + 1 + &steps))?;
        }
        Ok(())
    }

    /// New path edges at an exit become effects at all calls, sorted by when the procedure was entered for them.
    pub(super) fn summarise_by_length(
        &mut self,
        proc: ProcId,
        set: Ref,
        time: &Length,
    ) -> Result<(), Interrupted> {
        for at in 0..self.rings.entered[proc].len() {
            let (start, entered) = self.rings.entered[proc][at].clone();
            let left = self.encoder.bdd.and(set, entered)?;
            if left == Ref::FALSE {
                continue;
            }
            let steps = time.clone() - &start;
            self.rings.left[proc].push((steps.clone(), left));
            for at in 0..self.callers[proc].len() {
                self.lift(self.callers[proc][at], left, &steps)?;
            }
        }
        Ok(())
    }

    /// Takes each set that was pushed over a call over it by its effect of this number.
    pub(super) fn come_back_by_length(&mut self, number: u32, at: u32) -> Result<(), Interrupted> {
        let CallSite { edge, ref site, ref effects, .. } = self.sites[number as usize];
        let CallEffect { relation, ref steps, .. } = effects[at as usize];
        let (back, steps) = (site.back, steps.clone());
        let to = self.task.program.edges()[edge].to;
        for turn in 0..self.rings.pushed[number as usize].len() {
            let (time, waiting) = self.rings.pushed[number as usize][turn].clone();
            let image = self.image(waiting, (relation, back))?;
            let cause = Cause::Return(number, waiting, at, at + 1);
            self.arrive(to, image, cause, &(time + 1 + &steps))?;
        }
        Ok(())
    }
}
