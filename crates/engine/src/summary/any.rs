//! Room `engine/summary`: the search for any run.
//!
//! The next location is the one of the innermost procedure that comes first in its reverse post-order. A set that arrives joins all
//! that was not pushed on yet, and the summaries of a procedure are one relation for each call.

use super::calls::CallSite;
use super::solve::{Arrival, Cause, Place, Solver};
use postbop_ir::{Length, LocId, ProcId};
use postbop_kit::bdd::{Interrupted, Ref};
use std::cmp::Reverse;

impl Solver<'_, '_, '_, '_> {
    /// Pushes on what is fresh at the next location; false if there is none.
    pub(super) fn next(&mut self) -> Result<bool, Interrupted> {
        let Some(Reverse((_, _, loc))) = self.agenda.pop() else { return Ok(false) };
        self.places[loc].turns = self.places[loc].turns.saturating_add(1);
        if self.places[loc].turns > self.patience {
            self.leap(loc)?;
        }
        let fresh = std::mem::replace(&mut self.places[loc].fresh, Ref::FALSE);
        self.push(loc, fresh, &Length::ZERO)?;
        Ok(true)
    }

    /// A set that is new at a location waits there until the location is next.
    pub(super) fn arrive_now(&mut self, loc: LocId, new: Ref, cause: Cause) -> Result<(), Interrupted> {
        let place = self.places[loc];
        let time = Length::from(self.arrivals.len() as u64);
        self.encoder.bdd.push(&mut self.arrivals, Arrival { loc, time, set: new, cause })?;
        let reach = self.encoder.bdd.or(place.reach, new)?;
        let fresh = self.encoder.bdd.or(place.fresh, new)?;
        self.places[loc] = Place { reach, fresh, turns: place.turns };
        self.targets.reach(loc, &loc);
        if place.fresh == Ref::FALSE {
            let rank = self.encoder.machine.scopes.rank(self.task.program.locs()[loc].proc);
            self.agenda.push(Reverse((rank, self.order.of(loc), loc)));
        }
        Ok(())
    }

    /// The part of a location's set that was pushed on.
    fn settled(&mut self, loc: LocId) -> Result<Ref, Interrupted> {
        let place = self.places[loc];
        self.encoder.bdd.and(place.reach, !place.fresh)
    }

    /// A call that is reached for the first time takes over all that came out of its callee.
    pub(super) fn catch_up_now(&mut self, number: u32, callee: ProcId) -> Result<(), Interrupted> {
        let settled = self.settled(self.task.program.procs()[callee].exit)?;
        self.lift(number, settled, &Length::ZERO)
    }

    /// Takes a set over a call by all summaries so far at once.
    pub(super) fn cross_now(&mut self, number: u32, set: Ref, to: LocId) -> Result<(), Interrupted> {
        let CallSite { effect, ref effects, ref site, .. } = self.sites[number as usize];
        let (count, back) = (effects.len() as u32, site.back);
        let image = self.image(set, (effect, back))?;
        self.arrive(to, image, Cause::Return(number, set, 0, count), &Length::ZERO)
    }

    /// Takes all that was pushed on from in front of a call over it, by its effect of this number, as far as that is new.
    pub(super) fn come_back_now(&mut self, number: u32, at: u32, new: Ref) -> Result<(), Interrupted> {
        let CallSite { edge, ref site, .. } = self.sites[number as usize];
        let back = site.back;
        let (from, to) = (self.task.program.edges()[edge].from, self.task.program.edges()[edge].to);
        let settled = self.settled(from)?;
        let image = self.image(settled, (new, back))?;
        self.arrive(to, image, Cause::Return(number, settled, at, at + 1), &Length::ZERO)
    }
}
