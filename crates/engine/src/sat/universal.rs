//! Room `engine/sat`: the mode `universal`: procedures executed once, from any valuation.
//!
//! # Idea
//!
//! A procedure without recursion whose callees have universal summaries is executed from an entry that fixes nothing. All path edges
//! that come to one location are merged before they are followed, so each location is passed once, but for loops. A loop is
//! passed again and again, one round at a time. The heads that a run passes in successive rounds are functions of the same inputs
//! and choices, so a solver can say whether there is a run of so many rounds in which the head never has the same valuation twice.
//! If there is none, nothing is missed by stopping: a run that comes to the head with the same valuation again
//! can leave out what was in between, and ends in the same way.
//!
//! One path edge arrives at the exit: it is all that the procedure can do, and what is to be known about it, whatever it is called with. No
//! formula with quantifiers is needed. Recursive procedures, those that call them, those whose functions grow too
//! large or whose loops take too many rounds, and `main`, which needs no summary as nothing calls it, are left to
//! [`super::worklist`].
//!
//! # Paper
//!
//! \[sat-summaries\] section 4, Fig. 2 and 3, equation 9. # Departures:
//!
//! * Equation 9 asks whether all path edges at a node can be distinct at once. With loops inside loops a run passes some of
//!   them only, the answer is no too early, and runs are missed. Here the rounds of a loop are counted from when it is
//!   entered, and an inner loop is counted anew in each round of the outer one ([`postbop_kit::nest`]): then a run that makes
//!   another round has made all rounds before.
//! * While rounds are counted, calls are executed by their universal summaries, instead of assigning anything to what they may change:
//!   the functions are there, and the more is known of a call, the fewer rounds there are. The paper then executes the
//!   procedure a second time; here once is enough.
//! * A summary says also how targets are reached, so those in callees need no search of their own.
//!
//! # Cost
//!
//! A loop of k rounds costs k copies of its body and k²/2 comparisons of the valuations at its head; loops inside loops
//! multiply, and so do calls of calls. Hence the limits.

use super::covered::Place;
use super::entry::{FailedBy, Failure, Symbolic};
use super::worklist::Worklist;
use super::world::{Order, World};
use crate::verdict::Why;
use postbop_ir::{Action, LocId, ProcId, Program};
use postbop_kit::aig::Lit;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

/// The most nodes of a procedure's functions, the most rounds of a loop, and the most work for a procedure.
const MOST_NODES: usize = 100_000;
const MOST_ROUNDS: usize = 40;
const RATION: u64 = 20_000;

impl Worklist<'_, '_> {
    /// Makes universal summaries of all procedures that can have one, callees first.
    pub fn make_universal(&mut self) -> Result<(), Why> {
        let regions = self.world.regions;
        let callees = callees(regions.program);
        let mut procs: Vec<ProcId> = callees.keys().copied().collect();
        // A procedure that nothing calls needs no summary.
        procs.retain(|&proc| self.world.is_called(proc));
        procs.sort_unstable_by_key(|&proc| (regions.scopes.rank(proc), proc));
        let mut known: HashMap<ProcId, u32> = HashMap::default();
        for proc in procs {
            let is_known = |callee: &ProcId| known.contains_key(callee);
            if callees[&proc].contains(&proc) || !callees[&proc].iter().all(is_known) {
                continue;
            }
            match self.world.within(RATION, |world| world.unroll(proc, &known))? {
                Some(entry) => {
                    known.insert(proc, entry);
                    self.world.counts.universal += 1;
                    self.is_all(entry);
                }
                None => drop(self.world.entries.pop()),
            }
        }
        Ok(())
    }
}

/// The procedures that can be called from `main`, each with those that it calls.
fn callees(program: &Program) -> HashMap<ProcId, HashSet<ProcId>> {
    let mut direct: HashMap<ProcId, HashSet<ProcId>> = HashMap::default();
    for edge in program.edges().iter() {
        if let Action::Call { callee, .. } = edge.action {
            direct.entry(program.locs()[edge.from].proc).or_default().insert(callee);
        }
    }
    let mut reached: HashMap<ProcId, HashSet<ProcId>> = HashMap::default();
    let mut stack = vec![program.main()];
    while let Some(proc) = stack.pop() {
        if let Entry::Vacant(place) = reached.entry(proc) {
            let own = direct.remove(&proc).unwrap_or_default();
            stack.extend(&own);
            place.insert(own);
        }
    }
    reached
}

/// A loop that is being passed.
struct Loop {
    /// The place of its head, and the place behind its end.
    head: u32,
    end: u32,
    /// The bits at the head in each round so far.
    rounds: Vec<Vec<Lit>>,
    /// That these are all different.
    different: Lit,
}

/// What comes of passing a loop's head.
enum Round {
    /// There is another round.
    Next,
    /// There is none.
    Last,
    /// There are too many.
    Many,
}

/// A procedure that is being executed.
struct Unrolling<'u> {
    entry: u32,
    proc: ProcId,
    order: Rc<Order>,
    loops: Vec<Loop>,
    /// Path edges that were not followed yet, by their places.
    pending: BTreeMap<u32, Vec<Symbolic>>,
    /// The entries of callees.
    known: &'u HashMap<ProcId, u32>,
}

impl World<'_, '_> {
    /// Executes a procedure from any valuation; none if that takes too much.
    fn unroll(&mut self, proc: ProcId, known: &HashMap<ProcId, u32>) -> Result<Option<u32>, Why> {
        let inputs = self.regions.all[self.regions.entry(proc) as usize].inputs.len();
        let (entry, start) = self.enter(proc, vec![None; inputs]);
        let order = self.order(proc)?;
        let pending = BTreeMap::from([(0, vec![start])]);
        let mut own = Unrolling { entry, proc, order, loops: Vec::new(), pending, known };
        let mut place = 0;
        loop {
            if own.loops.last().is_some_and(|last| last.end == place) {
                match self.next_round(&mut own)? {
                    Round::Next => place = own.loops[own.loops.len() - 1].head + 1,
                    Round::Last => {
                        own.loops.pop();
                    }
                    Round::Many => return Ok(None),
                }
            } else if place as usize == own.order.nest.row.len() {
                break;
            } else if let Some(end) = own.order.nest.end[place as usize] {
                own.loops.push(Loop { head: place, end, rounds: Vec::new(), different: Lit::TRUE });
                // A loop that is also entered elsewhere than at its head is passed once before the first round.
                let inside = own.pending.range(place + 1..end).next().is_some();
                place = if inside { place + 1 } else { end };
            } else {
                if let Some(all) = own.pending.remove(&place) {
                    let here = self.entries[entry as usize].merge(all);
                    self.pass(&mut own, place, here)?;
                }
                place += 1;
            }
            if self.entries[entry as usize].aig.len() > MOST_NODES {
                return Ok(None);
            }
        }
        self.join_failures(entry);
        Ok(Some(entry))
    }

    /// Control is at the end of a loop, or in front of it: the next round, if there is one in which all heads are different.
    fn next_round(&mut self, own: &mut Unrolling) -> Result<Round, Why> {
        let last = own.loops.len() - 1;
        let head = own.loops[last].head;
        let Some(all) = own.pending.remove(&head) else { return Ok(Round::Last) };
        let entry = &mut self.entries[own.entry as usize];
        let before = entry.aig.len();
        let here = entry.merge(all);
        let Loop { rounds, different, .. } = &mut own.loops[last];
        for other in rounds.iter() {
            let differs = other.iter().zip(&here.bits).fold(Lit::FALSE, |any, (&a, &b)| {
                let differs = entry.aig.xor(a, b);
                entry.aig.or(any, differs)
            });
            *different = entry.aig.and(*different, differs);
        }
        rounds.push(here.bits.clone());
        let (count, claims) = (rounds.len(), [here.guard, *different]);
        let made = entry.aig.len() - before;
        self.made(made)?;
        self.note(own, head, &here);
        if !self.can_hold(own.entry, &claims)? {
            return Ok(Round::Last);
        }
        if count > MOST_ROUNDS {
            return Ok(Round::Many);
        }
        self.counts.rounds += 1;
        self.pass(own, head, here)?;
        Ok(Round::Next)
    }

    /// Notes what comes to the head of a loop, for a proof.
    fn note(&mut self, own: &Unrolling, head: u32, here: &Symbolic) {
        let loc = LocId(own.order.nest.row[head as usize]);
        let bits: Vec<Lit> = self.live(own.proc, loc).into_iter().map(|at| here.bits[at]).collect();
        self.entries[own.entry as usize].known.entry(Place::Head(loc)).or_default().insert(here.guard, &bits);
    }

    /// Follows a path edge.
    fn pass(&mut self, own: &mut Unrolling, place: u32, here: Symbolic) -> Result<(), Why> {
        let (program, entry) = (self.regions.program, own.entry);
        let before = self.entries[entry as usize].aig.len();
        let loc = LocId(own.order.nest.row[place as usize]);
        if self.is_target(loc) && self.can_hold(entry, &[here.guard])? {
            let by = FailedBy::PathEdge(here.number);
            let failure = Failure { target: loc, guard: here.guard, by, is_part: false };
            self.entries[entry as usize].failures.push(failure);
        }
        if loc == program.procs()[own.proc].exit && self.can_hold(entry, &[here.guard])? {
            let summary = self.summary(&here, own.proc);
            self.entries[entry as usize].summaries.push(summary);
        }
        for &edge in program.leaving(loc) {
            let next = match program.edges()[edge].action {
                Action::Call { callee, .. } => {
                    if !self.can_hold(entry, &[here.guard])? {
                        continue;
                    }
                    let there = own.known[&callee];
                    let call = self.call(entry, here.clone(), edge);
                    for failure in 0..self.entries[there as usize].failures.len() as u32 {
                        let failed = self.apply_failure(entry, call, there, failure)?;
                        self.entries[entry as usize].failures.extend(failed);
                    }
                    match self.entries[there as usize].summaries.is_empty() {
                        true => None,
                        false => self.apply(entry, call, there, 0)?,
                    }
                }
                _ => self.take(entry, here.clone(), edge),
            };
            if let Some(next) = next {
                own.pending.entry(own.order.place[&program.edges()[edge].to]).or_default().push(next);
            }
        }
        self.made(self.entries[entry as usize].aig.len() - before + 1)
    }

    /// One failure for each target, of which those that were found are parts.
    fn join_failures(&mut self, entry: u32) {
        let own = &mut self.entries[entry as usize];
        let mut joined: BTreeMap<LocId, u32> = BTreeMap::new();
        for at in 0..own.failures.len() as u32 {
            let Failure { target, guard, .. } = own.failures[at as usize];
            let Some(before) = joined.insert(target, at) else { continue };
            let known = own.failures[before as usize].guard;
            let by = FailedBy::Either { one: before, other: at };
            let guard = own.aig.or(known, guard);
            [before, at].into_iter().for_each(|at| own.failures[at as usize].is_part = true);
            joined.insert(target, own.failures.len() as u32);
            own.failures.push(Failure { target, guard, by, is_part: false });
        }
    }
}
