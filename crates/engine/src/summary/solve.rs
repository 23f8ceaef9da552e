//! Room `engine/summary`: the fixpoint.
//!
//! # Idea
//!
//! Each location has a set of path edges that were reached, and of these a part that is new. The new part is pushed along the edges
//! that leave the location: its image under the relation of an edge, as far as it is not in the set at the other end yet,
//! is new there. At the exit of a procedure the new part becomes a *call effect* at every call of the procedure: a relation
//! between the caller's valuations before and after the call. It is applied at once to the path edges that were reached in front of
//! the call, and later to each that still comes.
//!
//! Which location is next, and when a call uses which summary, depends on the runs that are wanted: [`super::any`] or
//! [`super::shortest`].

use super::calls::CallSite;
use super::cycles::Cycles;
use super::history::{Point, Recorded};
use super::leap::{self, Head, Loop};
use super::order::Order;
use super::room::Reordering;
use super::shortest::Rings;
use crate::budget::{Budget, Meter, Stopwatch};
use crate::encode::machine::code::Code;
use crate::encode::machine::retrace::Retracer;
use crate::encode::prepared::Prepared;
use crate::encode::relation::{CallRelations, Encoder, ProcInterface};
use crate::encode::targets::TargetTracker;
use crate::engine::{Listener, may_tell};
use crate::evidence::is_wanted;
use crate::pulse::Pulse;
use crate::verdict::{Stats, Why};
use postbop_ir::{Action, EdgeId, Length, LocId, ProcId, Table, Task};
use postbop_kit::bdd::{Bdd, Interrupted, Plan, Ref};
use rustc_hash::FxHashMap as HashMap;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
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
    /// From this set over a call, by effects of these numbers.
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
    /// The set that arrived.
    pub set: Ref,
    /// Where it came from.
    pub cause: Cause,
}

/// An edge that was looked at, ready to be applied to sets.
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
    pub(super) interfaces: Table<ProcId, Option<Rc<ProcInterface>>>,
    pub(super) edges: Table<EdgeId, Ready>,
    /// The relations of edges, by what those have in common; those of calls also by their callees.
    updates: HashMap<(u32, u32), Ready>,
    pub(super) split: Vec<Rc<[(Ref, Plan)]>>,
    calls: HashMap<((u32, u32), u32), Rc<CallRelations>>,
    pub(super) shared_interfaces: HashMap<u32, Rc<ProcInterface>>,
    /// The calls that were reached.
    pub sites: Vec<CallSite>,
    pub(super) callers: Table<ProcId, Vec<u32>>,
    /// Locations with something fresh, by rank and order.
    pub(super) agenda: BinaryHeap<Reverse<(u32, u32, LocId)>>,
    pub(super) order: Order,
    /// Loops that are taken many rounds at a time, by their heads; and after how many turns that is tried.
    pub(super) loops: Vec<Loop>,
    pub(super) heads: HashMap<LocId, Head>,
    pub(super) patience: u32,
    /// For the search for shortest runs.
    pub(super) rings: Rings,
    /// For questions about runs that go on for ever.
    pub(super) cycles: Cycles,
    pub(super) targets: TargetTracker<LocId>,
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
    let pulse = Pulse::new(listener);
    let beat = |work| pulse.beat(work);
    let meter = Meter::new(budget, &beat);
    let bdd = Bdd::new(|bytes| meter.allows(bytes));
    let mut encoder = Encoder::new(prepared.machine(), bdd);
    if matches!(reordering, Reordering::Every(..)) {
        encoder.take_apart();
    }
    let mut solver = Solver::new(task, encoder, reordering);
    stopwatch.lap("prepare_us");
    let end = solver.run(&meter);
    stopwatch.lap("search_us");
    let mut stats = match task.recurs() {
        true => solver.rule_out(end.err(), &meter, budget, &mut &pulse),
        false => solver.tell(end.err(), &meter, budget, &mut &pulse),
    };
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
            interfaces: Table::filled(program.procs().len(), None),
            edges: Table::filled(program.edges().len(), Ready::Nothing),
            updates: HashMap::default(),
            split: Vec::new(),
            calls: HashMap::default(),
            shared_interfaces: HashMap::default(),
            sites: Vec::new(),
            callers: Table::filled(program.procs().len(), Vec::new()),
            agenda: BinaryHeap::new(),
            order: Order::new(program),
            loops: Vec::new(),
            heads: HashMap::default(),
            patience: leap::patience(matches!(reordering, Reordering::Every(..))),
            rings: Rings::new(program),
            cycles: Cycles::default(),
            targets: TargetTracker::new(task),
            images: 0,
            reordering,
        }
    }

    fn run(&mut self, meter: &Meter) -> Result<(), Why> {
        meter.check()?;
        let interrupted = |_: Interrupted| meter.why();
        let main = self.task.program.main();
        self.interface(main).map_err(interrupted)?;
        let entry = self.task.program.procs()[main].entry;
        self.arrive(entry, Ref::TRUE, Cause::Start, &Length::ZERO).map_err(interrupted)?;
        let mut rounds = 0u64;
        // Whether cycles are fair is seen when all that can be reached is known.
        while self.task.recurs() || !self.targets.is_over() {
            let more = if self.task.shortest() { self.nearest() } else { self.next() };
            if !more.map_err(interrupted)? {
                return Ok(());
            }
            rounds += 1;
            meter.spend(ROUND);
            meter.holds(self.encoder.bdd.len() as u64, self.agenda.len() as u64);
            if rounds.is_multiple_of(8) {
                meter.beat();
            }
            if rounds.is_multiple_of(256) {
                meter.check()?;
            }
            self.make_room();
        }
        Ok(())
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
        match self.task.shortest() {
            true => self.arrive_later(loc, new, cause, time),
            false => self.arrive_now(loc, new, cause),
        }
    }

    pub(super) fn image(&mut self, set: Ref, (relation, plan): (Ref, Plan)) -> Result<Ref, Interrupted> {
        self.images += 1;
        self.encoder.bdd.image(set, relation, plan)
    }

    /// The interface of a procedure.
    pub(super) fn interface(&mut self, proc: ProcId) -> Result<Rc<ProcInterface>, Interrupted> {
        if let Some(interface) = &self.interfaces[proc] {
            return Ok(Rc::clone(interface));
        }
        self.order.number(self.task.program, proc);
        let encoding_class = self.encoder.encoding_class(proc);
        if let Some(interface) = self.shared_interfaces.get(&encoding_class) {
            self.interfaces[proc] = Some(Rc::clone(interface));
            return Ok(Rc::clone(interface));
        }
        let mut interface = self.encoder.interface(proc)?;
        if proc == self.task.program.main() {
            // No caller asks how main was entered.
            (interface.links, interface.link_levels, interface.diagonal) =
                (Vec::new(), Vec::new(), Ref::TRUE);
        }
        let interface = Rc::new(interface);
        self.interfaces[proc] = Some(Rc::clone(&interface));
        self.shared_interfaces.insert(encoding_class, Rc::clone(&interface));
        Ok(interface)
    }

    pub(super) fn push(&mut self, loc: LocId, set: Ref, time: &Length) -> Result<(), Interrupted> {
        let program = self.task.program;
        let proc = program.locs()[loc].proc;
        if program.procs()[proc].exit == loc {
            return self.summarise(proc, set, time);
        }
        for &edge in program.leaving(loc) {
            let image = match self.known(edge)? {
                Ready::Call(site) => {
                    self.call(site, set, time)?;
                    continue;
                }
                known => self.along(known, set)?,
            };
            let later = if self.task.shortest() { time.clone() + 1 } else { Length::ZERO };
            self.arrive(program.edges()[edge].to, image, Cause::Edge(edge, set), &later)?;
        }
        Ok(())
    }

    /// The image of a set along an edge that is no call.
    pub(super) fn along(&mut self, edge: Ready, set: Ref) -> Result<Ref, Interrupted> {
        match edge {
            Ready::Update(relation, plan) => self.image(set, (relation, plan)),
            Ready::Parts(number) => {
                let parts = Rc::clone(&self.split[number as usize]);
                parts.iter().try_fold(set, |set, &part| self.image(set, part))
            }
            Ready::Call(_) | Ready::Nothing => unreachable!("it is no call, and was looked at"),
        }
    }

    pub(super) fn known(&mut self, edge: EdgeId) -> Result<Ready, Interrupted> {
        match self.edges[edge] {
            Ready::Nothing => {}
            known => return Ok(known),
        }
        let program = self.task.program;
        let interface = self.interface(program.locs()[program.edges()[edge].from].proc)?;
        let known = match program.edges()[edge].action {
            Action::Call { callee, .. } => {
                let inside = self.interface(callee)?;
                let site = self.site(&interface, &inside, edge, callee)?;
                let number = self.sites.len() as u32;
                self.sites.push(CallSite { edge, callee, site, effects: Vec::new(), effect: Ref::FALSE });
                self.rings.pushed.push(Vec::new());
                self.callers[callee].push(number);
                self.catch_up(number)?;
                Ready::Call(number)
            }
            _ => {
                let key = self.key(edge);
                match self.updates.get(&key) {
                    Some(&known) => known,
                    None => {
                        let known = match self.encoder.update(&interface, edge)?[..] {
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

    /// The key of an edge's relation: edges of one class, in procedures of one encoding class, share it.
    fn key(&mut self, edge: EdgeId) -> (u32, u32) {
        let proc = self.task.program.locs()[self.task.program.edges()[edge].from].proc;
        (self.encoder.machine.classes.edges[edge], self.encoder.encoding_class(proc))
    }

    /// The relations of a call.
    fn site(
        &mut self,
        interface: &ProcInterface,
        inside: &ProcInterface,
        edge: EdgeId,
        callee: ProcId,
    ) -> Result<Rc<CallRelations>, Interrupted> {
        let key = (self.key(edge), self.encoder.encoding_class(callee));
        if let Some(known) = self.calls.get(&key) {
            return Ok(Rc::clone(known));
        }
        let site = Rc::new(self.encoder.site(interface, inside, edge)?);
        self.calls.insert(key, Rc::clone(&site));
        Ok(site)
    }

    /// The interface of a procedure that was entered.
    pub fn known_interface(&self, proc: ProcId) -> &ProcInterface {
        self.interfaces[proc].as_ref().expect("it was entered")
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

    pub(super) fn stats(&self, meter: &Meter) -> Stats {
        let effects = self.sites.iter().map(|call| call.effects.len() as u64).sum();
        Stats::from([
            ("vertices", self.encoder.bdd.peak() as u64),
            ("images", self.images),
            ("arrivals", self.arrivals.len() as u64),
            ("summaries", effects),
            ("reorderings", self.encoder.bdd.reorderings()),
            ("work", meter.work()),
        ])
    }

    fn tell(
        mut self,
        stopped: Option<Why>,
        meter: &Meter,
        budget: &'w Budget,
        listener: &mut dyn Listener,
    ) -> Stats {
        let stats = self.stats(meter);
        if !may_tell(stopped.as_ref(), self.targets.found(), meter.work(), budget) {
            return stats;
        }
        if is_wanted(self.task.proofs, self.task.program, self.encoder.bdd.len())
            && self.targets.has_seen_all(stopped.as_ref())
            && let Ok(proof) = self.proof(budget)
        {
            listener.proof(proof);
        }
        if !self.targets.found() {
            self.targets.tell(stopped, |_| unreachable!("nothing was found"), listener);
            return stats;
        }
        let machine = self.encoder.machine;
        self.encoder.bdd.forget_plans();
        self.encoder.bdd.set_interrupt(|_| budget.check_writing().is_ok());
        let targets = self.targets.clone();
        let mut history = Recorded::new(self, budget);
        let mut retracer = Retracer::new(machine, &mut history, budget);
        let trace = |loc: LocId| {
            let open = machine.layout(machine.program.locs()[loc].proc).open.clone();
            retracer.trace(Point::new(loc, Default::default()), open)
        };
        targets.tell(stopped, trace, listener);
        stats
    }
}
