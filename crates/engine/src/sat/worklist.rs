//! Room `engine/sat`: the mode `qbf`: summaries by symbolic execution, forward, until nothing new is found.
//!
//! # Idea
//!
//! From an entry ([`super::entry`]) path edges are followed, edge by edge. Where several lead to one location they are merged into one
//! before that is followed, so the row of locations is passed in an order in which loops are nested ([`postbop_kit::nest`]). At the
//! head of a loop, and at the exit, a path edge that is covered by earlier ones is dropped: that takes a formula with
//! quantifiers, unless a cheaper test decides ([`super::covered`]). Everywhere else it is followed as it is.
//!
//! A call waits for all summary edges of its procedure, those that are known and those to come, for ever. So does it for failures,
//! which are handed from callee to caller until they arrive in `main`: then the target is reached by a run.
//!
//! # Paper
//!
//! \[sat-summaries\] section 3, Fig. 1 and path merging. # Departures:
//!
//! * Fig. 1 postpones a call only if no summary edge is applicable, and forgets it otherwise. Summary edges that are found later
//!   are then never applied to it, and returns are missed. Here each call waits, whatever is applicable.
//! * An entry is a cube, not a list of functions. Equation 5 then says that a call has the fixed bits of the cube, and
//!   each of these is a question without quantifiers. If a call does not fit, the procedure gets a larger entry, with the bits that
//!   both fix, and is executed from there; the smaller entry is given up. A procedure with n input bits has at most
//!   n + 1 entries, while entries that only grow by what was called last can be as many as there are valuations.
//! * A cube may hold valuations that the procedure is never called with, and path edges from there are in no run. They
//!   do no harm: a summary edge fits a call only where the inputs agree, and a target is reached only when its failure has
//!   come to `main`, through calls that each fit.
//! * Where nothing calls `main`, it does not matter how it was entered: there path edges are compared as sets of valuations, not of
//!   pairs, and one from which everything can come is the last.
//! * Only heads of loops and exits are compared. Every cycle of the control flow has a head, every cycle of calls goes through a
//!   summary edge, and each path edge that is kept there has a pair of valuations that those before have not. So it ends.
//!
//! # Cost
//!
//! An edge costs the bits in scope. A summary edge is copied to each of its calls; so calls of calls multiply, unless
//! constants make the copies small. Loops are as long as the longest way to a new valuation, and each
//! round is compared with all rounds before.

use super::covered::Place;
use super::entry::{FailedBy, Failure, Symbolic};
use super::world::World;
use crate::verdict::Why;
use postbop_ir::{Action, EdgeId, LocId, ProcId};
use postbop_kit::aig::Lit;
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeSet;

/// The search.
pub struct Worklist<'i, 'a> {
    /// The entries.
    pub world: World<'i, 'a>,
    /// The entry of each procedure that covers all its calls so far.
    current: HashMap<ProcId, u32>,
    /// The calls of each procedure: the entry, and which call of it.
    waiting: HashMap<ProcId, Vec<(u32, u32)>>,
    /// Entries with pending path edges, callees first.
    ready: BTreeSet<(u32, u32)>,
    /// Failures that were not handed to callers yet.
    failed: Vec<(u32, u32)>,
}

impl<'i, 'a> Worklist<'i, 'a> {
    /// Nothing was looked at yet.
    pub fn new(world: World<'i, 'a>) -> Self {
        Worklist {
            world,
            current: HashMap::default(),
            waiting: HashMap::default(),
            ready: BTreeSet::new(),
            failed: Vec::new(),
        }
    }

    /// An entry is all there is to know of its procedure.
    pub fn is_all(&mut self, entry: u32) {
        self.current.insert(self.world.entries[entry as usize].proc, entry);
    }

    /// The entries that count, with their procedures.
    pub fn entries(&self) -> impl Iterator<Item = (ProcId, &super::entry::Entry<'i>)> {
        self.current.iter().map(|(&proc, &entry)| (proc, &self.world.entries[entry as usize]))
    }

    /// Searches on, until a target that counts is reached: the failure of `main`. None if there is no other one.
    pub fn run(&mut self) -> Result<Option<(u32, u32)>, Why> {
        let main = self.world.regions.program.main();
        if !self.current.contains_key(&main) {
            let inputs = &self.world.regions.all[self.world.regions.entry(main) as usize].inputs;
            self.enter(main, vec![None; inputs.len()])?;
        }
        loop {
            while let Some((entry, failure)) = self.failed.pop() {
                let Failure { target, is_part, .. } =
                    self.world.entries[entry as usize].failures[failure as usize];
                if is_part || !self.world.is_target(target) {
                    continue;
                }
                let proc = self.world.entries[entry as usize].proc;
                if proc == main {
                    return Ok(Some((entry, failure)));
                }
                for (caller, call) in self.callers(proc) {
                    self.hand_on(caller, call, entry, failure)?;
                }
            }
            let Some(&(rank, entry)) = self.ready.first() else { return Ok(None) };
            let Some((place, all)) = self.world.entries[entry as usize].pending.pop_first() else {
                self.ready.remove(&(rank, entry));
                continue;
            };
            self.follow(entry, place, all)?;
        }
    }

    /// The calls of a procedure that count.
    fn callers(&self, proc: ProcId) -> Vec<(u32, u32)> {
        let is_alive = |(entry, _): &(u32, u32)| self.is_current(*entry);
        self.waiting.get(&proc).into_iter().flatten().copied().filter(is_alive).collect()
    }

    fn is_current(&self, entry: u32) -> bool {
        self.current.get(&self.world.entries[entry as usize].proc) == Some(&entry)
    }

    /// A procedure is executed from an entry, instead of one that it had before.
    fn enter(&mut self, proc: ProcId, fixed: Vec<Option<bool>>) -> Result<u32, Why> {
        let (entry, start) = self.world.enter(proc, fixed);
        if let Some(before) = self.current.insert(proc, entry) {
            self.world.entries[before as usize].pending.clear();
            self.world.entries[before as usize].known.clear();
        }
        self.arrive(entry, self.world.regions.program.procs()[proc].entry, start)?;
        Ok(entry)
    }

    /// Control comes to a location.
    fn arrive(&mut self, entry: u32, loc: LocId, here: Symbolic) -> Result<(), Why> {
        if !self.is_current(entry) {
            return Ok(());
        }
        let proc = self.world.entries[entry as usize].proc;
        let place = self.world.order(proc)?.place[&loc];
        self.world.entries[entry as usize].pending.entry(place).or_default().push(here);
        self.ready.insert((self.world.regions.scopes.rank(proc), entry));
        Ok(())
    }

    /// Follows path edges that have come to one location.
    fn follow(&mut self, entry: u32, place: u32, all: Vec<Symbolic>) -> Result<(), Why> {
        let (program, proc) = (self.world.regions.program, self.world.entries[entry as usize].proc);
        let before = self.world.entries[entry as usize].aig.len();
        let here = self.world.entries[entry as usize].merge(all);
        let order = self.world.order(proc)?;
        let loc = LocId(order.nest.row[place as usize]);
        if order.nest.end[place as usize].is_some() && !self.is_new(entry, loc, &here)? {
            return Ok(());
        }
        if self.world.is_target(loc) && self.world.can_hold(entry, &[here.guard])? {
            let by = FailedBy::PathEdge(here.number);
            self.fail(entry, Failure { target: loc, guard: here.guard, by, is_part: false })?;
        }
        if loc == program.procs()[proc].exit && self.world.is_called(proc) {
            self.leave(entry, &here)?;
        }
        for &edge in program.leaving(loc) {
            let to = program.edges()[edge].to;
            if matches!(program.edges()[edge].action, Action::Call { .. }) {
                self.call(entry, here.clone(), edge)?;
            } else if let Some(next) = self.world.take(entry, here.clone(), edge) {
                self.arrive(entry, to, next)?;
            }
        }
        self.world.made(self.world.entries[entry as usize].aig.len() - before + 1)
    }

    /// Whether a path edge at the head of a loop has a valuation that those before have not.
    fn is_new(&mut self, entry: u32, loc: LocId, here: &Symbolic) -> Result<bool, Why> {
        if !self.world.can_hold(entry, &[here.guard])? {
            return Ok(false);
        }
        let live = self.world.live(self.world.entries[entry as usize].proc, loc);
        let bits: Vec<Lit> = live.into_iter().map(|at| here.bits[at]).collect();
        self.world.is_new(entry, Place::Head(loc), here.guard, &bits)
    }

    /// Control is at the exit: a summary edge, if it says something new, which is applied to all calls.
    fn leave(&mut self, entry: u32, here: &Symbolic) -> Result<(), Why> {
        if !self.world.can_hold(entry, &[here.guard])? {
            return Ok(());
        }
        let proc = self.world.entries[entry as usize].proc;
        let summary = self.world.summary(here, proc);
        if !self.world.is_new(entry, Place::Exit, summary.guard, &summary.outputs)? {
            return Ok(());
        }
        let summaries = &mut self.world.entries[entry as usize].summaries;
        let number = summaries.len() as u32;
        summaries.push(summary);
        for (caller, call) in self.callers(proc) {
            self.come_back(caller, call, entry, number)?;
        }
        Ok(())
    }

    /// Control is in front of a call.
    fn call(&mut self, entry: u32, here: Symbolic, edge: EdgeId) -> Result<(), Why> {
        if !self.world.can_hold(entry, &[here.guard])? {
            return Ok(());
        }
        let callee = self.world.call_of(edge).0;
        let call = self.world.call(entry, here, edge);
        let there = self.entry_for(entry, call, callee)?;
        self.waiting.entry(callee).or_default().push((entry, call));
        for summary in 0..self.world.entries[there as usize].summaries.len() as u32 {
            self.come_back(entry, call, there, summary)?;
        }
        for failure in 0..self.world.entries[there as usize].failures.len() as u32 {
            self.hand_on(entry, call, there, failure)?;
        }
        Ok(())
    }

    /// The entry of a procedure that covers a call, and all before.
    fn entry_for(&mut self, entry: u32, call: u32, callee: ProcId) -> Result<u32, Why> {
        let (guard, inputs) = {
            let call = &self.world.entries[entry as usize].calls[call as usize];
            (call.from.guard, call.inputs.clone())
        };
        let Some(&there) = self.current.get(&callee) else {
            let value = |lit: &Lit| lit.is_constant().then_some(*lit == Lit::TRUE);
            return self.enter(callee, inputs.iter().map(value).collect());
        };
        let mut fixed = self.world.entries[there as usize].fixed.clone();
        let mut covers = true;
        for (value, &input) in fixed.iter_mut().zip(&inputs) {
            let Some(known) = *value else { continue };
            let other = if known { !input } else { input };
            if self.world.can_hold(entry, &[guard, other])? {
                (*value, covers) = (None, false);
            }
        }
        if covers { Ok(there) } else { self.enter(callee, fixed) }
    }

    /// A summary edge is applied to a call.
    fn come_back(&mut self, entry: u32, call: u32, callee: u32, summary: u32) -> Result<(), Why> {
        if let Some(next) = self.world.apply(entry, call, callee, summary)? {
            let edge = self.world.entries[entry as usize].calls[call as usize].edge;
            self.arrive(entry, self.world.regions.program.edges()[edge].to, next)?;
        }
        Ok(())
    }

    /// A failure is applied to a call.
    fn hand_on(&mut self, entry: u32, call: u32, callee: u32, failure: u32) -> Result<(), Why> {
        match self.world.apply_failure(entry, call, callee, failure)? {
            Some(failure) => self.fail(entry, failure),
            None => Ok(()),
        }
    }

    /// A target is reached from an entry: a failure, if it says something new.
    fn fail(&mut self, entry: u32, failure: Failure) -> Result<(), Why> {
        if !self.world.is_new(entry, Place::Target(failure.target), failure.guard, &[])? {
            return Ok(());
        }
        let own = &mut self.world.entries[entry as usize];
        own.failures.push(failure);
        self.failed.push((entry, own.failures.len() as u32 - 1));
        Ok(())
    }
}
