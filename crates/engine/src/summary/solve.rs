//! Room `engine/summary`: the fixpoint.
//!
//! # Idea
//!
//! What is new at a location is pushed along its edges; what comes out and is new at the other end waits there. At an
//! exit, what is new becomes a *lift* at every call of the procedure: a relation between the caller's valuations before
//! and after the call, applied at once to all that waits in front of the call already, and to whatever comes later.
//!
//! Which location is next? By default the one of the innermost procedure that comes first in its reverse post-order.
//! With `shortest`, the one with the least number of steps from the start of the run: a set that arrives knows its
//! distance, one step more than where it came from, and a completed call counts the steps inside, which are the
//! distance of the exit less the distance at which the procedure was first entered with these values. No arrival is
//! nearer than what it is derived from, so the sets are the rings of \[bebop\] section 3.2, except that calls count all
//! their steps.

use super::calls::CallSite;
use super::leap::{self, Head, Loop};
use super::order::Order;
use super::past::{Point, Recall};
use super::relation::{CallRelations, Encoder, Gate};
use super::room::Reordering;
use crate::budget::{Budget, Meter, Stopwatch, Tick};
use crate::encode::machine::code::Code;
use crate::encode::machine::retrace::Retracer;
use crate::encode::prepared::Prepared;
use crate::encode::targets::TargetTracker;
use crate::engine::{Listener, may_tell};
use crate::verdict::{Stats, Why};
use postbop_ir::{Action, EdgeId, Length, LocId, ProcId, Table, Task};
use postbop_kit::bdd::{Bdd, Interrupted, Plan, Ref};
use rustc_hash::FxHashMap as HashMap;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

/// How much work a round is, besides that of the diagrams it makes.
const ROUND: u64 = 64;

/// Where a set came from.
#[derive(Clone, Copy, Debug)]
pub enum Cause {
    /// The start of the program.
    Start,
    /// From this set along an edge.
    Edge(EdgeId, Ref),
    /// Called from this set.
    Enter(u32, Ref),
    /// From this set over a call, by lifts of these numbers.
    Return(u32, Ref, u32, u32),
    /// From this set by 2^i rounds of a loop; given are the loop and i.
    Leap(u32, u32, Ref),
}

/// A set of path edges that was new when it arrived.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// Where.
    pub loc: LocId,
    /// When: a sequence number, or the distance.
    pub time: Length,
    /// What.
    pub set: Ref,
    /// Whence.
    pub cause: Cause,
}

/// What an edge does, once it was looked at.
#[derive(Clone, Copy)]
pub(super) enum Ready {
    Nothing,
    Update(Ref, Plan),
    /// In parts, one after the other: the list of this number.
    Parts(u32),
    Call(u32),
}

#[derive(Clone, Copy)]
pub(super) struct Place {
    pub reach: Ref,
    /// Of `reach`, what was not pushed on yet.
    pub fresh: Ref,
    /// How often something was pushed on from here.
    pub turns: u32,
}

/// The fixpoint under way.
pub struct Solver<'m, 'a, 'w, 't> {
    /// Makes relations.
    pub encoder: Encoder<'m, 'a, 'w>,
    pub(super) task: &'t Task<'t>,
    pub(super) places: Table<LocId, Place>,
    /// Everything that arrived.
    pub arrivals: Vec<Arrival>,
    pub(super) gates: Table<ProcId, Option<Rc<Gate>>>,
    pub(super) edges: Table<EdgeId, Ready>,
    /// The relations of edges, by what those have in common; those of calls also by their callees.
    updates: HashMap<(u32, u32), Ready>,
    pub(super) split: Vec<Rc<[(Ref, Plan)]>>,
    calls: HashMap<((u32, u32), u32), Rc<CallRelations>>,
    pub(super) shared_gates: HashMap<u32, Rc<Gate>>,
    /// The calls that were reached.
    pub sites: Vec<CallSite>,
    pub(super) callers: Table<ProcId, Vec<u32>>,
    /// Locations with something fresh, by rank and order.
    agenda: BinaryHeap<Reverse<(u32, u32, LocId)>>,
    pub(super) order: Order,
    /// Loops that are taken many rounds at a time, by their heads; and after how many turns that is tried.
    pub(super) loops: Vec<Loop>,
    pub(super) heads: HashMap<LocId, Head>,
    patience: u32,
    /// By shortest search: what arrives when; and for each procedure with which values it was entered when.
    pub(super) schedule: BTreeMap<(Length, LocId), Ref>,
    pub(super) entered: Table<ProcId, Vec<(Length, Ref)>>,
    /// By shortest search: what came out of each procedure, in how many steps.
    pub(super) parts: Table<ProcId, Vec<(Length, Ref)>>,
    /// By shortest search, for each call: what was pushed over it when.
    pub(super) pushed: Vec<Vec<(Length, Ref)>>,
    targets: TargetTracker<LocId>,
    pub(super) images: u64,
    pub(super) reordering: Reordering,
}

/// Answers a task.
pub fn check(
    task: &Task,
    prepared: &Prepared,
    budget: &Budget,
    listener: &mut dyn Listener,
    reordering: Reordering,
) -> Stats {
    let mut stopwatch = Stopwatch::start();
    let meter = Meter::new(budget);
    let bdd = Bdd::new(|bytes| meter.allows(bytes));
    let mut encoder = Encoder::new(prepared.machine(), bdd);
    if matches!(reordering, Reordering::Every(..)) {
        encoder.take_apart();
    }
    let mut solver = Solver::new(task, encoder, reordering);
    stopwatch.lap("prepare_us");
    let end = solver.run(&meter, budget, listener);
    stopwatch.lap("search_us");
    let mut stats = solver.tell(end.err(), &meter, budget, listener);
    stopwatch.lap("trace_us");
    stats.extend(stopwatch.laps());
    stats
}

impl<'m, 'a, 'w, 't> Solver<'m, 'a, 'w, 't> {
    fn new(task: &'t Task<'t>, encoder: Encoder<'m, 'a, 'w>, reordering: Reordering) -> Self {
        let program = task.program;
        Solver {
            encoder,
            task,
            places: Table::filled(
                program.locs().len(),
                Place { reach: Ref::FALSE, fresh: Ref::FALSE, turns: 0 },
            ),
            arrivals: Vec::with_capacity(2 * program.locs().len()),
            gates: Table::filled(program.procs().len(), None),
            edges: Table::filled(program.edges().len(), Ready::Nothing),
            updates: HashMap::default(),
            split: Vec::new(),
            calls: HashMap::default(),
            shared_gates: HashMap::default(),
            sites: Vec::new(),
            callers: Table::filled(program.procs().len(), Vec::new()),
            agenda: BinaryHeap::new(),
            order: Order::new(program),
            loops: Vec::new(),
            heads: HashMap::default(),
            patience: leap::patience(matches!(reordering, Reordering::Every(..))),
            schedule: BTreeMap::new(),
            entered: Table::filled(program.procs().len(), Vec::new()),
            parts: Table::filled(program.procs().len(), Vec::new()),
            pushed: Vec::new(),
            targets: TargetTracker::new(task),
            images: 0,
            reordering,
        }
    }

    fn run(&mut self, meter: &Meter, budget: &Budget, listener: &mut dyn Listener) -> Result<(), Why> {
        budget.check()?;
        let interrupted = |_: Interrupted| meter.why();
        let main = self.task.program.main();
        self.gate(main).map_err(interrupted)?;
        let entry = self.task.program.procs()[main].entry;
        self.arrive(entry, Ref::TRUE, Cause::Start, &Length::ZERO).map_err(interrupted)?;
        let mut rounds = 0u64;
        while !self.targets.is_over() {
            let more = if self.task.shortest() { self.nearest() } else { self.next() };
            if !more.map_err(interrupted)? {
                return Ok(());
            }
            rounds += 1;
            meter.spend(ROUND);
            if rounds.is_multiple_of(256) {
                budget.after(meter.work())?;
                listener.progress(Tick { unit: "vertices", done: self.encoder.bdd.len() as u64 });
            }
            self.make_room();
        }
        Ok(())
    }

    /// Pushes on what is fresh at the next location; false if there is none.
    fn next(&mut self) -> Result<bool, Interrupted> {
        let Some(Reverse((_, _, loc))) = self.agenda.pop() else { return Ok(false) };
        self.places[loc].turns = self.places[loc].turns.saturating_add(1);
        if self.places[loc].turns > self.patience {
            self.leap(loc)?;
        }
        let fresh = std::mem::replace(&mut self.places[loc].fresh, Ref::FALSE);
        self.push(loc, fresh, &Length::ZERO)?;
        Ok(true)
    }

    /// Pushes on what is nearest; false if there is nothing.
    fn nearest(&mut self) -> Result<bool, Interrupted> {
        let Some(((time, loc), set)) = self.schedule.pop_first() else { return Ok(false) };
        let place = self.places[loc];
        let new = self.encoder.bdd.and(set, !place.reach)?;
        if new != Ref::FALSE {
            self.places[loc].reach = self.encoder.bdd.or(place.reach, new)?;
            self.targets.reach(loc, &loc);
            self.push(loc, new, &time)?;
        }
        Ok(true)
    }

    pub(super) fn arrive(
        &mut self,
        loc: LocId,
        set: Ref,
        cause: Cause,
        time: &Length,
    ) -> Result<(), Interrupted> {
        let place = self.places[loc];
        let new = self.encoder.bdd.and(set, !place.reach)?;
        if new == Ref::FALSE {
            return Ok(());
        }
        if self.task.shortest() {
            self.arrivals.push(Arrival { loc, time: time.clone(), set: new, cause });
            let key = (time.clone(), loc);
            let waiting = self.schedule.get(&key).copied().unwrap_or(Ref::FALSE);
            let all = self.encoder.bdd.or(waiting, new)?;
            self.schedule.insert(key, all);
            return Ok(());
        }
        let time = Length::from(self.arrivals.len() as u64);
        self.arrivals.push(Arrival { loc, time, set: new, cause });
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

    pub(super) fn image(&mut self, set: Ref, (relation, plan): (Ref, Plan)) -> Result<Ref, Interrupted> {
        self.images += 1;
        self.encoder.bdd.image(set, relation, plan)
    }

    /// What is known of a procedure.
    pub(super) fn gate(&mut self, proc: ProcId) -> Result<Rc<Gate>, Interrupted> {
        if let Some(gate) = &self.gates[proc] {
            return Ok(Rc::clone(gate));
        }
        self.order.number(self.task.program, proc);
        let dress = self.encoder.dress(proc);
        if let Some(gate) = self.shared_gates.get(&dress) {
            self.gates[proc] = Some(Rc::clone(gate));
            return Ok(Rc::clone(gate));
        }
        let mut gate = self.encoder.gate(proc)?;
        if proc == self.task.program.main() {
            // Nobody asks how main was entered.
            (gate.links, gate.link_levels, gate.diagonal) = (Vec::new(), Vec::new(), Ref::TRUE);
        }
        let gate = Rc::new(gate);
        self.gates[proc] = Some(Rc::clone(&gate));
        self.shared_gates.insert(dress, Rc::clone(&gate));
        Ok(gate)
    }

    fn push(&mut self, loc: LocId, set: Ref, time: &Length) -> Result<(), Interrupted> {
        let program = self.task.program;
        let proc = program.locs()[loc].proc;
        if program.procs()[proc].exit == loc {
            return self.summarise(proc, set, time);
        }
        for &edge in program.leaving(loc) {
            let image = match self.known(edge)? {
                Ready::Update(relation, plan) => self.image(set, (relation, plan))?,
                Ready::Parts(number) => {
                    let parts = Rc::clone(&self.split[number as usize]);
                    parts.iter().try_fold(set, |set, &part| self.image(set, part))?
                }
                Ready::Call(site) => {
                    self.call(site, set, time)?;
                    continue;
                }
                Ready::Nothing => unreachable!("it was just looked at"),
            };
            let later = if self.task.shortest() { time.clone() + 1 } else { Length::ZERO };
            self.arrive(program.edges()[edge].to, image, Cause::Edge(edge, set), &later)?;
        }
        Ok(())
    }

    pub(super) fn known(&mut self, edge: EdgeId) -> Result<Ready, Interrupted> {
        match self.edges[edge] {
            Ready::Nothing => {}
            known => return Ok(known),
        }
        let program = self.task.program;
        let gate = self.gate(program.locs()[program.edges()[edge].from].proc)?;
        let known = match program.edges()[edge].action {
            Action::Call { callee, .. } => {
                let inside = self.gate(callee)?;
                let site = self.site(&gate, &inside, edge, callee)?;
                let number = self.sites.len() as u32;
                self.sites.push(CallSite { edge, callee, site, lifts: Vec::new(), lift: Ref::FALSE });
                self.pushed.push(Vec::new());
                self.callers[callee].push(number);
                self.catch_up(number)?;
                Ready::Call(number)
            }
            _ => {
                let key = self.key(edge);
                match self.updates.get(&key) {
                    Some(&known) => known,
                    None => {
                        let known = match self.encoder.update(&gate, edge)?[..] {
                            [(relation, plan)] => Ready::Update(relation, plan),
                            ref parts => {
                                self.split.push(parts.into());
                                Ready::Parts(self.split.len() as u32 - 1)
                            }
                        };
                        self.updates.insert(key, known);
                        known
                    }
                }
            }
        };
        self.edges[edge] = known;
        Ok(known)
    }

    /// What edges that are alike have in common, in procedures that are alike.
    fn key(&mut self, edge: EdgeId) -> (u32, u32) {
        let proc = self.task.program.locs()[self.task.program.edges()[edge].from].proc;
        (self.encoder.machine.kin.edges[edge], self.encoder.dress(proc))
    }

    /// The relations of a call.
    fn site(
        &mut self,
        gate: &Gate,
        inside: &Gate,
        edge: EdgeId,
        callee: ProcId,
    ) -> Result<Rc<CallRelations>, Interrupted> {
        let key = (self.key(edge), self.encoder.dress(callee));
        if let Some(known) = self.calls.get(&key) {
            return Ok(Rc::clone(known));
        }
        let site = Rc::new(self.encoder.site(gate, inside, edge)?);
        self.calls.insert(key, Rc::clone(&site));
        Ok(site)
    }

    /// What is known of a procedure that was entered.
    pub fn known_gate(&self, proc: ProcId) -> &Gate {
        self.gates[proc].as_ref().expect("it was entered")
    }

    /// The relation of an edge that was pushed along, perhaps in parts.
    pub fn relation(&self, edge: EdgeId) -> SmallVec<[Ref; 2]> {
        match self.edges[edge] {
            Ready::Update(relation, _) => SmallVec::from_slice(&[relation]),
            Ready::Parts(number) => self.split[number as usize].iter().map(|&(part, _)| part).collect(),
            _ => unreachable!("it was pushed along"),
        }
    }

    /// Which fields get a new value by an edge that is no call.
    pub fn changes(&self, edge: EdgeId) -> impl Fn(usize) -> bool + 'm {
        let Code::Update { sets, .. } = &self.encoder.machine.edge(edge).code else {
            unreachable!("it is no call")
        };
        |field| sets.iter().any(|set| set.live && set.field == field)
    }

    fn tell(
        mut self,
        stopped: Option<Why>,
        meter: &Meter,
        budget: &'w Budget,
        listener: &mut dyn Listener,
    ) -> Stats {
        let lifts = self.sites.iter().map(|call| call.lifts.len() as u64).sum();
        let stats = Stats::from([
            ("vertices", self.encoder.bdd.peak() as u64),
            ("images", self.images),
            ("arrivals", self.arrivals.len() as u64),
            ("summaries", lifts),
            ("reorderings", self.encoder.bdd.reorderings()),
            ("work", meter.work()),
        ]);
        if !may_tell(stopped.as_ref(), meter.work(), budget) {
            return stats;
        }
        let machine = self.encoder.machine;
        self.encoder.bdd.forget_plans();
        self.encoder.bdd.relieve(|_| budget.check_writing().is_ok());
        let targets = self.targets.clone();
        let mut memory = Recall::new(self, budget);
        let mut retracer = Retracer::new(machine, &mut memory, budget);
        let trace = |loc: LocId| {
            let open = machine.layout(machine.program.locs()[loc].proc).open.clone();
            retracer.trace(Point::new(loc, Default::default()), open)
        };
        targets.tell(stopped, trace, listener);
        stats
    }
}
