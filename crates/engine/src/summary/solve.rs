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

use super::order::Order;
use super::past::Memory;
use super::relation::{Encoder, Frame, Site};
use crate::budget::{Budget, Observer, Progress};
use crate::encode::machine::code::{Code, Machine};
use crate::encode::machine::retrace::Retracer;
use crate::encode::wiring::Copy;
use crate::verdict::{Outcome, Stopwatch, Verdict, Why};
use postbop_ir::{Action, EdgeId, LocId, ProcId, Table, Task};
use postbop_kit::bdd::{Bdd, Interrupted, Plan, Ref};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

/// After a violation the search goes on for this many times the images so far, and this many more.
const FAIR_SHARE: (u64, u64) = (4, 100_000);

/// Where a set came from.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// The start of the program.
    Start,
    /// From this set along an edge.
    Edge(EdgeId, Ref),
    /// Called from this set.
    Enter(u32, Ref),
    /// From this set over a call, by lifts of these numbers.
    Return(u32, Ref, u32, u32),
}

/// A set of path edges that was new when it arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Where.
    pub loc: LocId,
    /// When: a sequence number, or the distance.
    pub time: u64,
    /// What.
    pub set: Ref,
    /// Whence.
    pub source: Source,
}

/// A part of a summary, as a call sees it.
#[derive(Clone, Copy, Debug)]
pub struct Lift {
    /// Before and after, in the caller's terms.
    pub relation: Ref,
    /// The part of the summary, without what the call has no use for.
    pub summary: Ref,
    /// How many steps it takes, if that is of interest.
    steps: u64,
}

/// A call that was reached.
pub struct CallSite {
    /// Its relations.
    pub site: Site,
    /// The lifts so far, and their union.
    pub lifts: Vec<Lift>,
    lift: Ref,
}

/// What an edge does, once it was looked at.
#[derive(Clone, Copy)]
enum Known {
    Nothing,
    Update(Ref, Plan),
    Call(u32),
}

#[derive(Clone, Copy)]
struct Place {
    reach: Ref,
    /// Of `reach`, what was not pushed on yet.
    fresh: Ref,
}

/// The fixpoint under way.
pub struct Solver<'m, 'a, 'w, 't> {
    /// Makes relations.
    pub encoder: Encoder<'m, 'a, 'w>,
    task: &'t Task<'t>,
    places: Table<LocId, Place>,
    /// Everything that arrived.
    pub arrivals: Vec<Arrival>,
    frames: Table<ProcId, Option<Rc<Frame>>>,
    edges: Table<EdgeId, Known>,
    /// The calls that were reached.
    pub sites: Vec<CallSite>,
    callers: Table<ProcId, Vec<u32>>,
    /// Locations with something fresh, the next one last.
    agenda: BinaryHeap<Reverse<(u32, u32, LocId)>>,
    order: Order,
    /// By shortest search: what arrives when; and for each procedure with which values it was entered when.
    schedule: BTreeMap<(u64, LocId), Ref>,
    entered: Table<ProcId, Vec<(u64, Ref)>>,
    /// By shortest search: what came out of each procedure, in how many steps.
    parts: Table<ProcId, Vec<(u64, Ref)>>,
    /// By shortest search, for each call: what was pushed over it when.
    pushed: Vec<Vec<(u64, Ref)>>,
    targets: Vec<(LocId, usize)>,
    reached: Vec<Option<LocId>>,
    missing: usize,
    images: u64,
    stop_at: u64,
}

/// Answers a task.
pub fn check(task: &Task, budget: &Budget, observer: &mut dyn Observer) -> Outcome {
    if let Err(why) = budget.check() {
        return Outcome::unknown(task.targets.len(), &why);
    }
    let mut stopwatch = Stopwatch::start();
    let machine = Machine::new(task.program);
    let bdd = Bdd::new(|| budget.check().is_ok());
    let mut solver = Solver::new(task, Encoder::new(&machine, bdd));
    stopwatch.lap("prepare_us");
    let end = solver.run(budget, observer);
    stopwatch.lap("search_us");
    let mut outcome = solver.outcome(end.err());
    stopwatch.lap("trace_us");
    outcome.stats.extend(stopwatch.laps());
    outcome
}

impl<'m, 'a, 'w, 't> Solver<'m, 'a, 'w, 't> {
    fn new(task: &'t Task<'t>, encoder: Encoder<'m, 'a, 'w>) -> Self {
        let program = task.program;
        let of =
            |(at, target): (usize, &'t postbop_ir::Target)| target.locs.iter().map(move |&loc| (loc, at));
        let mut targets: Vec<(LocId, usize)> = task.targets.iter().enumerate().flat_map(of).collect();
        targets.sort_unstable();
        Solver {
            encoder,
            task,
            places: Table::filled(program.locs.len(), Place { reach: Ref::FALSE, fresh: Ref::FALSE }),
            arrivals: Vec::new(),
            frames: Table::filled(program.procs.len(), None),
            edges: Table::filled(program.edges.len(), Known::Nothing),
            sites: Vec::new(),
            callers: Table::filled(program.procs.len(), Vec::new()),
            agenda: BinaryHeap::new(),
            order: Order::new(program),
            schedule: BTreeMap::new(),
            entered: Table::filled(program.procs.len(), Vec::new()),
            parts: Table::filled(program.procs.len(), Vec::new()),
            pushed: Vec::new(),
            targets,
            reached: vec![None; task.targets.len()],
            missing: task.targets.len(),
            images: 0,
            stop_at: u64::MAX,
        }
    }

    fn run(&mut self, budget: &Budget, observer: &mut dyn Observer) -> Result<(), Why> {
        let interrupted = |_: Interrupted| budget.check().err().unwrap_or(Why::Memory(u32::MAX as u64 * 12));
        let main = self.task.program.main;
        self.frame(main).map_err(interrupted)?;
        let entry = self.task.program.procs[main].entry;
        self.arrive(entry, Ref::TRUE, Source::Start, 0).map_err(interrupted)?;
        let mut rounds = 0u64;
        while self.missing > 0 {
            let more = if self.task.shortest { self.nearest() } else { self.next() };
            if !more.map_err(interrupted)? {
                return Ok(());
            }
            rounds += 1;
            if rounds.is_multiple_of(256) {
                budget.check()?;
                observer.progress(Progress { unit: "vertices", done: self.encoder.bdd.len() as u64 });
            }
            if self.images > self.stop_at {
                return Err(Why::Stopped);
            }
            if self.encoder.bdd.wants_collection() {
                self.collect();
            }
        }
        Ok(())
    }

    /// Pushes on what is fresh at the next location; false if there is none.
    fn next(&mut self) -> Result<bool, Interrupted> {
        let Some(Reverse((_, _, loc))) = self.agenda.pop() else { return Ok(false) };
        let fresh = std::mem::replace(&mut self.places[loc].fresh, Ref::FALSE);
        self.push(loc, fresh, 0)?;
        Ok(true)
    }

    /// Pushes on what is nearest; false if there is nothing.
    fn nearest(&mut self) -> Result<bool, Interrupted> {
        let Some(((time, loc), set)) = self.schedule.pop_first() else { return Ok(false) };
        let place = self.places[loc];
        let new = self.encoder.bdd.and(set, !place.reach)?;
        if new != Ref::FALSE {
            self.places[loc].reach = self.encoder.bdd.or(place.reach, new)?;
            self.reach(loc);
            self.push(loc, new, time)?;
        }
        Ok(true)
    }

    fn arrive(&mut self, loc: LocId, set: Ref, source: Source, time: u64) -> Result<(), Interrupted> {
        let place = self.places[loc];
        let new = self.encoder.bdd.and(set, !place.reach)?;
        if new == Ref::FALSE {
            return Ok(());
        }
        if self.task.shortest {
            self.arrivals.push(Arrival { loc, time, set: new, source });
            let waiting = self.schedule.get(&(time, loc)).copied().unwrap_or(Ref::FALSE);
            let all = self.encoder.bdd.or(waiting, new)?;
            self.schedule.insert((time, loc), all);
            return Ok(());
        }
        self.arrivals.push(Arrival { loc, time: self.arrivals.len() as u64, set: new, source });
        let reach = self.encoder.bdd.or(place.reach, new)?;
        let fresh = self.encoder.bdd.or(place.fresh, new)?;
        self.places[loc] = Place { reach, fresh };
        self.reach(loc);
        if place.fresh == Ref::FALSE {
            let rank = self.encoder.machine.scopes.rank(self.task.program.locs[loc].proc);
            self.agenda.push(Reverse((rank, self.order.of(loc), loc)));
        }
        Ok(())
    }

    /// Notes which targets are at a location that is reached.
    fn reach(&mut self, loc: LocId) {
        let first = self.targets.partition_point(|&(other, _)| other < loc);
        for &(_, target) in self.targets[first..].iter().take_while(|&&(other, _)| other == loc) {
            if self.reached[target].is_none() {
                self.reached[target] = Some(loc);
                self.missing -= 1;
                let (times, more) = FAIR_SHARE;
                self.stop_at = self.stop_at.min(self.images * (times + 1) + more);
            }
        }
    }

    fn image(&mut self, set: Ref, (relation, plan): (Ref, Plan)) -> Result<Ref, Interrupted> {
        self.images += 1;
        self.encoder.bdd.image(set, relation, plan)
    }

    /// What is known of a procedure.
    fn frame(&mut self, proc: ProcId) -> Result<Rc<Frame>, Interrupted> {
        if let Some(frame) = &self.frames[proc] {
            return Ok(Rc::clone(frame));
        }
        self.order.number(self.task.program, proc);
        let mut frame = self.encoder.frame(proc)?;
        if proc == self.task.program.main {
            // Nobody asks how main was entered.
            (frame.links, frame.link_levels, frame.diagonal) = (Vec::new(), Vec::new(), Ref::TRUE);
        }
        let frame = Rc::new(frame);
        self.frames[proc] = Some(Rc::clone(&frame));
        Ok(frame)
    }

    fn push(&mut self, loc: LocId, set: Ref, time: u64) -> Result<(), Interrupted> {
        let program = self.task.program;
        let proc = program.locs[loc].proc;
        if program.procs[proc].exit == loc {
            return self.summarise(proc, set, time);
        }
        for &edge in program.leaving(loc) {
            match self.known(edge)? {
                Known::Update(relation, plan) => {
                    let image = self.image(set, (relation, plan))?;
                    self.arrive(program.edges[edge].to, image, Source::Edge(edge, set), time + 1)?;
                }
                Known::Call(site) => self.call(site, set, time)?,
                Known::Nothing => unreachable!("it was just looked at"),
            }
        }
        Ok(())
    }

    fn known(&mut self, edge: EdgeId) -> Result<Known, Interrupted> {
        if let known @ (Known::Update(..) | Known::Call(_)) = self.edges[edge] {
            return Ok(known);
        }
        let program = self.task.program;
        let frame = self.frame(program.locs[program.edges[edge].from].proc)?;
        let known = match program.edges[edge].action {
            Action::Call { callee, .. } => {
                let inside = self.frame(callee)?;
                let site = self.encoder.site(&frame, &inside, edge)?;
                let number = self.sites.len() as u32;
                self.sites.push(CallSite { site, lifts: Vec::new(), lift: Ref::FALSE });
                self.pushed.push(Vec::new());
                self.callers[callee].push(number);
                self.catch_up(number)?;
                Known::Call(number)
            }
            _ => {
                let (relation, plan) = self.encoder.update(&frame, edge)?;
                Known::Update(relation, plan)
            }
        };
        self.edges[edge] = known;
        Ok(known)
    }

    /// A call that is reached for the first time takes over what is known of its callee.
    fn catch_up(&mut self, number: u32) -> Result<(), Interrupted> {
        let callee = self.sites[number as usize].site.callee;
        if !self.task.shortest {
            let place = self.places[self.task.program.procs[callee].exit];
            let settled = self.encoder.bdd.and(place.reach, !place.fresh)?;
            return self.lift(number, settled, 0);
        }
        for at in 0..self.parts[callee].len() {
            let (steps, set) = self.parts[callee][at];
            self.lift(number, set, steps)?;
        }
        Ok(())
    }

    /// A set calls.
    fn call(&mut self, number: u32, set: Ref, time: u64) -> Result<(), Interrupted> {
        let site = &self.sites[number as usize].site;
        let (callee, enter, back, edge) = (site.callee, site.enter, site.back, site.edge);
        let image = self.image(set, enter)?;
        let frame = self.frame(callee)?;
        if self.task.shortest {
            self.enter(callee, &frame, image, time + 1)?;
        }
        let start = self.encoder.bdd.and(image, frame.diagonal)?;
        let entry = self.task.program.procs[callee].entry;
        self.arrive(entry, start, Source::Enter(number, set), time + 1)?;
        let to = self.task.program.edges[edge].to;
        if !self.task.shortest {
            let CallSite { lift, ref lifts, .. } = self.sites[number as usize];
            let count = lifts.len() as u32;
            let image = self.image(set, (lift, back))?;
            return self.arrive(to, image, Source::Return(number, set, 0, count), 0);
        }
        self.pushed[number as usize].push((time, set));
        for at in 0..self.sites[number as usize].lifts.len() {
            let Lift { relation, steps, .. } = self.sites[number as usize].lifts[at];
            let image = self.image(set, (relation, back))?;
            let source = Source::Return(number, set, at as u32, at as u32 + 1);
            self.arrive(to, image, source, time.saturating_add(1).saturating_add(steps))?;
        }
        Ok(())
    }

    /// Notes with which values a procedure is entered for the first time now.
    fn enter(&mut self, callee: ProcId, frame: &Frame, image: Ref, time: u64) -> Result<(), Interrupted> {
        let moved = frame.links.iter().filter(|link| link.copy == Copy::Entry);
        let pairs = |field| {
            let now = self.encoder.levels(callee, field, Copy::Now);
            now.zip(self.encoder.levels(callee, field, Copy::Entry))
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
    fn summarise(&mut self, proc: ProcId, set: Ref, time: u64) -> Result<(), Interrupted> {
        if proc == self.task.program.main {
            return Ok(());
        }
        if !self.task.shortest {
            for at in 0..self.callers[proc].len() {
                self.lift(self.callers[proc][at], set, 0)?;
            }
            return Ok(());
        }
        for at in 0..self.entered[proc].len() {
            let (start, entered) = self.entered[proc][at];
            let part = self.encoder.bdd.and(set, entered)?;
            if part == Ref::FALSE {
                continue;
            }
            self.parts[proc].push((time - start, part));
            for at in 0..self.callers[proc].len() {
                self.lift(self.callers[proc][at], part, time - start)?;
            }
        }
        Ok(())
    }

    /// Lifts path edges at a callee's exit to a call, and takes what waits in front of it over the call.
    fn lift(&mut self, number: u32, set: Ref, steps: u64) -> Result<(), Interrupted> {
        let site = &self.sites[number as usize].site;
        let (callee, trim, pass, back, edge) = (site.callee, site.trim, site.pass, site.back, site.edge);
        let frame = self.frame(callee)?;
        let bdd = &mut self.encoder.bdd;
        let summary = bdd.project(set, frame.summary)?;
        let summary = bdd.project(summary, trim)?;
        let relation = bdd.image(summary, pass.0, pass.1)?;
        let call = &mut self.sites[number as usize];
        // The same pair of valuations may come again with fewer steps, by another choice of arguments.
        let new = if self.task.shortest { relation } else { bdd.and(relation, !call.lift)? };
        if new == Ref::FALSE {
            return Ok(());
        }
        call.lift = bdd.or(call.lift, new)?;
        let at = call.lifts.len() as u32;
        call.lifts.push(Lift { relation, summary, steps });
        let (from, to) = (self.task.program.edges[edge].from, self.task.program.edges[edge].to);
        if !self.task.shortest {
            let place = self.places[from];
            let settled = self.encoder.bdd.and(place.reach, !place.fresh)?;
            let image = self.image(settled, (new, back))?;
            return self.arrive(to, image, Source::Return(number, settled, at, at + 1), 0);
        }
        for turn in 0..self.pushed[number as usize].len() {
            let (time, waiting) = self.pushed[number as usize][turn];
            let image = self.image(waiting, (relation, back))?;
            let source = Source::Return(number, waiting, at, at + 1);
            self.arrive(to, image, source, time.saturating_add(1).saturating_add(steps))?;
        }
        Ok(())
    }

    /// Forgets the diagrams that nobody needs.
    fn collect(&mut self) {
        let mut roots: Vec<Ref> = Vec::new();
        roots.extend(self.places.iter().flat_map(|place| [place.reach, place.fresh]));
        for arrival in &self.arrivals {
            roots.push(arrival.set);
            match arrival.source {
                Source::Start => {}
                Source::Edge(_, set) | Source::Enter(_, set) | Source::Return(_, set, ..) => roots.push(set),
            }
        }
        roots.extend(self.frames.iter().flatten().map(|frame| frame.diagonal));
        roots.extend(self.edges.iter().filter_map(|edge| match edge {
            Known::Update(relation, _) => Some(*relation),
            _ => None,
        }));
        for call in &self.sites {
            roots.extend([call.site.enter.0, call.site.pass.0, call.lift]);
            roots.extend(call.lifts.iter().flat_map(|lift| [lift.relation, lift.summary]));
        }
        roots.extend(self.schedule.values());
        let timed = self.entered.iter().chain(self.parts.iter()).chain(&self.pushed);
        roots.extend(timed.flatten().map(|&(_, set)| set));
        self.encoder.bdd.collect(roots);
    }

    /// What is known of a procedure that was entered.
    pub fn known_frame(&self, proc: ProcId) -> &Frame {
        self.frames[proc].as_ref().expect("it was entered")
    }

    /// The relation of an edge that was pushed along.
    pub fn relation(&self, edge: EdgeId) -> Ref {
        match self.edges[edge] {
            Known::Update(relation, _) => relation,
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

    fn outcome(mut self, stopped: Option<Why>) -> Outcome {
        let lifts = self.sites.iter().map(|call| call.lifts.len() as u64).sum();
        let stats = vec![
            ("vertices", self.encoder.bdd.peak() as u64),
            ("images", self.images),
            ("arrivals", self.arrivals.len() as u64),
            ("summaries", lifts),
        ];
        let machine = self.encoder.machine;
        self.encoder.bdd.dismiss_watchman();
        let reached = std::mem::take(&mut self.reached);
        let mut memory = Memory::new(self);
        let mut retracer = Retracer::new(machine, &mut memory);
        let verdict = |loc: Option<LocId>| match (loc, &stopped) {
            (Some(loc), _) => {
                let open = machine.layout(machine.program.locs[loc].proc).open.clone();
                Verdict::Violated(retracer.trace((loc, Vec::new()), open))
            }
            (None, Some(why)) => Verdict::Unknown(why.clone()),
            (None, None) => Verdict::Holds,
        };
        Outcome { verdicts: reached.into_iter().map(verdict).collect(), stats }
    }
}
