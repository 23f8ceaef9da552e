//! Room `engine/summary`: proofs that no run visits locations again and again.
//!
//! # Idea
//!
//! Path edges are the vertices of a graph: an edge leads from path edges to path edges, so does a call that returns, by its effects, and a call
//! leads to the path edges at the entry of its callee. A run goes on for ever exactly if it follows a cycle of this graph: a cycle
//! that enters a callee leaves an activation on the stack in every round. It visits the locations again and again if the cycle is *fair*: it passes
//! through one of them, or over a call whose callee passed through one. Such calls have effects of their own: those from path edges at
//! the callee's exit that come after one of the locations.
//!
//! When everything that can be reached is known, path edges are dropped that are on no fair cycle, until none can be: those that do not come after
//! a visit, and those to which none leads of what is left. If something is left, there is a fair cycle: going back from it one never has to stop, and
//! comes to a visit again and again. If nothing is left, no run visits the locations again and again.
//!
//! # Paper
//!
//! \[owcty\]: one way, catch them young. Only images are taken, no pre-images. \[repeating-heads\] for calls. # Departures: dropping stops when it has taken
//! much more work than the search for what can be reached. A fair cycle that is left is not made a trace: the question is then translated
//! ([`crate::temporal`]), and the translation finds one.
//!
//! # Cost
//!
//! As many images as there are path edges on the longest way that is no cycle, in the worst case: a loop that counts down is dropped one
//! value at a time.

use super::calls::CallSite;
use super::solve::{Ready, Solver};
use crate::budget::{Budget, Meter};
use crate::engine::{Finding, Listener, may_tell};
use crate::verdict::{Stats, Why};
use postbop_ir::{LocId, Table};
use postbop_kit::bdd::{Interrupted, Ref};
use rustc_hash::FxHashMap as HashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How much work dropping may take: so many times that of the search for what can be reached, and this much at least.
const TIMES: u64 = 2;
const LEAST: u64 = 1 << 20;
/// How much work an image is, besides that of the diagrams it makes.
const IMAGE: u64 = 64;

/// A set of path edges for each location.
type Sets = Table<LocId, Ref>;

/// The sets that are needed while cycles are ruled out; see [`Solver::roots`].
#[derive(Default)]
pub(super) struct Cycles {
    /// Path edges that may be on a fair cycle.
    left: Sets,
    /// What was found so far of those that come after a visit, and of it, what was not looked at yet.
    found: Sets,
    fresh: Sets,
    /// For each call that was reached, its effects by which it passes through one of the locations.
    fair: Vec<Ref>,
    agenda: BinaryHeap<Reverse<(u32, u32, LocId)>>,
}

impl Cycles {
    /// All diagrams that are needed.
    pub fn roots(&self) -> impl Iterator<Item = Ref> + '_ {
        [&self.left, &self.found, &self.fresh]
            .into_iter()
            .flat_map(|sets| sets.iter())
            .chain(&self.fair)
            .copied()
    }
}

/// Which path edges a search goes on to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Search {
    /// Those of the same activation, and of its callers by their calls.
    Activation,
    /// Those that are left, callees included.
    Left,
}

/// Why there is no answer.
enum Stop {
    /// A limit was reached; the meter knows which, unless it is given here.
    Limit(Option<Why>),
    TooLong,
}

impl From<Interrupted> for Stop {
    fn from(_: Interrupted) -> Self {
        Stop::Limit(None)
    }
}

impl Solver<'_, '_, '_, '_> {
    /// Tells of each query whether fair cycles are ruled out.
    pub(super) fn rule_out(
        mut self,
        mut stopped: Option<Why>,
        meter: &Meter,
        budget: &Budget,
        listener: &mut dyn Listener,
    ) -> Stats {
        let mut ruled_out = vec![false; self.task.queries.len()];
        let most = (meter.work() * TIMES).max(LEAST) + meter.work();
        for (query, is_out) in self.task.queries.iter().zip(&mut ruled_out) {
            if stopped.is_some() {
                break;
            }
            match self.has_fair_cycle(query.locs(), meter, most) {
                Ok(cycle) => *is_out = !cycle,
                Err(Stop::TooLong) => {}
                Err(Stop::Limit(why)) => stopped = Some(why.unwrap_or_else(|| meter.why())),
            }
        }
        let stats = self.stats(meter);
        if may_tell(stopped.as_ref(), false, meter.work(), budget) {
            for (query, is_out) in ruled_out.into_iter().enumerate() {
                listener.settle(
                    query,
                    match (is_out, &stopped) {
                        (true, _) => Finding::Holds { guarded: None },
                        (false, Some(why)) => Finding::Unknown(why.clone()),
                        (false, None) => Finding::Unknown(Why::Effort),
                    },
                );
            }
        }
        stats
    }

    fn has_fair_cycle(&mut self, locs: &[LocId], meter: &Meter, most: u64) -> Result<bool, Stop> {
        let program = self.task.program;
        let none = || Table::filled(program.locs().len(), Ref::FALSE);
        let left = self.places.iter().map(|place| place.reach).collect();
        let fair = vec![Ref::FALSE; self.sites.len()];
        self.cycles = Cycles { left, found: none(), fresh: none(), fair, agenda: BinaryHeap::new() };
        // The exit of a procedure that was called is never visited, that of main once.
        let mut visited: Vec<LocId> = locs.iter().copied().filter(|&loc| !program.is_exit(loc)).collect();
        visited.sort_unstable();
        visited.dedup();
        self.find(Search::Activation, &visited, meter, most)?;
        loop {
            (self.cycles.found, self.cycles.fresh) = (none(), none());
            self.pass_over_calls()?;
            self.find(Search::Left, &visited, meter, most)?;
            let mut drops = self.cycles.left != self.cycles.found;
            self.cycles.left = self.cycles.found.clone();
            while self.drop_beginnings(meter, most)? {
                drops = true;
            }
            if self.cycles.left.iter().all(|&set| set == Ref::FALSE) {
                return Ok(false);
            }
            if !drops {
                return Ok(true);
            }
        }
    }

    /// Finds all that comes after visits to locations, and after what is fresh already.
    fn find(&mut self, search: Search, visited: &[LocId], meter: &Meter, most: u64) -> Result<(), Stop> {
        for &loc in visited {
            self.add(loc, self.cycles.left[loc])?;
        }
        while let Some(Reverse((_, _, loc))) = self.cycles.agenda.pop() {
            self.spend(meter, most)?;
            let set = std::mem::replace(&mut self.cycles.fresh[loc], Ref::FALSE);
            for (to, image) in self.after(loc, set, search == Search::Left)? {
                self.add(to, image)?;
            }
            if search == Search::Activation && self.task.program.is_exit(loc) {
                self.pass_on(loc, set)?;
            }
        }
        Ok(())
    }

    /// Adds path edges to those that were found, as far as they are left.
    fn add(&mut self, loc: LocId, set: Ref) -> Result<(), Interrupted> {
        let bdd = &mut self.encoder.bdd;
        let set = bdd.and(set, self.cycles.left[loc])?;
        let new = bdd.and(set, !self.cycles.found[loc])?;
        if new == Ref::FALSE {
            return Ok(());
        }
        self.cycles.found[loc] = bdd.or(self.cycles.found[loc], new)?;
        let waits = self.cycles.fresh[loc] != Ref::FALSE;
        self.cycles.fresh[loc] = bdd.or(self.cycles.fresh[loc], new)?;
        if !waits {
            let rank = self.encoder.machine.scopes.rank(self.task.program.locs()[loc].proc);
            self.cycles.agenda.push(Reverse((rank, self.order.of(loc), loc)));
        }
        Ok(())
    }

    /// Where path edges at a location lead.
    fn after(&mut self, loc: LocId, set: Ref, enters: bool) -> Result<Vec<(LocId, Ref)>, Interrupted> {
        let program = self.task.program;
        let mut images = Vec::new();
        if program.is_exit(loc) || set == Ref::FALSE {
            return Ok(images);
        }
        for &edge in program.leaving(loc) {
            let to = program.edges()[edge].to;
            match self.known(edge)? {
                Ready::Call(number) => {
                    let CallSite { callee, effect, ref site, .. } = self.sites[number as usize];
                    let (enter, back) = (site.enter, site.back);
                    if enters {
                        let entered = self.image(set, enter)?;
                        let diagonal = self.interface(callee)?.diagonal;
                        let start = self.encoder.bdd.and(entered, diagonal)?;
                        images.push((program.procs()[callee].entry, start));
                    }
                    images.push((to, self.image(set, (effect, back))?));
                }
                known => images.push((to, self.along(known, set)?)),
            }
        }
        Ok(images)
    }

    /// Path edges at an exit that come after a visit become fair effects at all calls.
    fn pass_on(&mut self, exit: LocId, set: Ref) -> Result<(), Interrupted> {
        let program = self.task.program;
        let proc = program.locs()[exit].proc;
        for at in 0..self.callers[proc].len() {
            let number = self.callers[proc][at];
            let (relation, _) = self.lifted(number, set)?;
            let fair = self.encoder.bdd.or(self.cycles.fair[number as usize], relation)?;
            self.cycles.fair[number as usize] = fair;
            let CallSite { edge, ref site, .. } = self.sites[number as usize];
            let back = site.back;
            let image = self.image(self.places[program.edges()[edge].from].reach, (relation, back))?;
            self.add(program.edges()[edge].to, image)?;
        }
        Ok(())
    }

    /// What is left in front of a call comes after a visit when it is taken over the call by a fair effect.
    fn pass_over_calls(&mut self) -> Result<(), Interrupted> {
        let program = self.task.program;
        for number in 0..self.sites.len() {
            let CallSite { edge, ref site, .. } = self.sites[number];
            let back = site.back;
            let (from, fair) = (self.cycles.left[program.edges()[edge].from], self.cycles.fair[number]);
            if from != Ref::FALSE && fair != Ref::FALSE {
                let image = self.image(from, (fair, back))?;
                self.add(program.edges()[edge].to, image)?;
            }
        }
        Ok(())
    }

    /// Drops path edges to which none leads of those that are left. Returns whether there were any.
    fn drop_beginnings(&mut self, meter: &Meter, most: u64) -> Result<bool, Stop> {
        let mut led_to: HashMap<LocId, Ref> = HashMap::default();
        for loc in self.task.program.locs().ids() {
            if self.cycles.left[loc] == Ref::FALSE {
                continue;
            }
            // No collection may happen before all images of the round are put to use.
            meter.spend(IMAGE);
            for (to, image) in self.after(loc, self.cycles.left[loc], true)? {
                let all = led_to.entry(to).or_insert(Ref::FALSE);
                *all = self.encoder.bdd.or(*all, image)?;
            }
        }
        let mut dropped = false;
        for loc in self.task.program.locs().ids() {
            let all = led_to.get(&loc).copied().unwrap_or(Ref::FALSE);
            let kept = self.encoder.bdd.and(self.cycles.left[loc], all)?;
            dropped |= kept != self.cycles.left[loc];
            self.cycles.left[loc] = kept;
        }
        self.spend(meter, most)?;
        Ok(dropped)
    }

    fn spend(&mut self, meter: &Meter, most: u64) -> Result<(), Stop> {
        meter.spend(IMAGE);
        if meter.work() > most {
            return Err(Stop::TooLong);
        }
        meter.check().map_err(|why| Stop::Limit(Some(why)))?;
        self.make_room();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::budget::{Budget, Tick};
    use crate::encode::prepared::Prepared;
    use crate::engine::{Engine, Finding, Listener};
    use crate::summary::{Reordered, Summary};
    use postbop_front::Options;
    use postbop_ir::{Proof, Query, Task};

    /// Which queries are said to hold.
    struct Held(Vec<bool>);

    impl Listener for Held {
        fn guarded(&mut self, _: usize) {}
        fn proof(&mut self, _: Proof) {}
        fn progress(&mut self, _: Tick) {}
        fn settle(&mut self, query: usize, finding: Finding) {
            self.0[query] = matches!(finding, Finding::Holds { .. });
        }
    }

    /// Whether the engine proves by itself, without a translation, that no run visits a label again and again.
    fn is_ruled_out(engine: &dyn Engine, source: &str, label: &str) -> bool {
        let program = postbop_front::read(source.as_bytes(), Options::default()).program.unwrap();
        let locs = program.labels().iter().filter(|found| found.name == label).map(|found| found.loc);
        let queries = [Query::recur(label, locs.collect())];
        let mut held = Held(vec![false]);
        let task = Task::new(&program, &queries);
        engine.check(&task, &Prepared::new(&program), &Budget::unlimited(), &mut held);
        held.0[0]
    }

    #[test]
    fn fair_cycles_are_ruled_out_where_there_are_none() {
        // Each round of the loop visits L inside a completed call, O at least while f never returns; M is visited once, N never.
        let source = "decl g, h;\nvoid main() begin\n  M: h := 0;\n  while (*) do f(); od\n  while (h) do N: skip; od\nend\n\
                      void f() begin g := 1; L: skip; if (*) then g := 0; O: f(); fi end\n";
        for engine in [&Summary as &dyn Engine, &Reordered(3)] {
            for (label, expected) in [("L", false), ("M", true), ("N", true), ("O", false)] {
                assert_eq!(is_ruled_out(engine, source, label), expected, "{label}");
            }
        }
    }

    #[test]
    fn recursion_that_never_returns_is_a_cycle() {
        let down =
            "decl g;\nvoid main() begin g := 1; f(g); end\nvoid f(x) begin L: if (x) then f(X); fi end\n";
        assert!(!is_ruled_out(&Summary, &down.replace('X', "x"), "L"));
        assert!(is_ruled_out(&Summary, &down.replace('X', "0"), "L"));
    }
}
