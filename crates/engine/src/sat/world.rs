//! Room `engine/sat`: all entries, and what their path edges have to do with each other.
//!
//! # Idea
//!
//! A call is a path edge in front of a call edge. A summary edge of the callee is *applied* to it: its functions are copied into the
//! graph of the caller, with what the callee is called with in place of the callee's inputs, and with choices of their own. A
//! failure is applied in the same way.
//!
//! # Paper
//!
//! \[sat-summaries\] equations 6 and 7.

use super::entry::{Call, Entry, FailedBy, Failure, Origin, Summary, Symbolic};
use super::regions::Regions;
use crate::budget::Meter;
use crate::verdict::Why;
use postbop_ir::{Action, EdgeId, LocId, ProcId, VarId};
use postbop_kit::aig::{Images, Lit, Node};
use postbop_kit::bits;
use postbop_kit::nest::{Nest, nest};
use postbop_kit::qbf;
use postbop_kit::sat::{Answer, Interrupt, LEAST_BYTES};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::cell::Cell;
use std::collections::hash_map::Entry::Vacant;
use std::rc::Rc;

/// So many nodes of functions are made with the work of one step of a solver.
const NODES: usize = 64;

/// In which order the locations of a procedure are passed, loops included.
pub struct Order {
    /// The locations in a row, with their loops.
    pub nest: Nest,
    /// Their places.
    pub place: HashMap<LocId, u32>,
}

/// All entries.
pub struct World<'i, 'a> {
    /// The program.
    pub regions: &'i Regions<'a>,
    meter: &'i Meter<'i>,
    pub(super) interrupt: Interrupt<'i>,
    /// How much work is allowed until something is given up.
    ration: Rc<Cell<u64>>,
    /// The entries.
    pub entries: Vec<Entry<'i>>,
    orders: HashMap<ProcId, Rc<Order>>,
    /// The procedures that something calls.
    called: HashSet<ProcId>,
    /// All targets, and those that count no longer.
    targets: HashSet<LocId>,
    off: HashSet<LocId>,
    /// How many solvers were made since all were dropped, and how many there may be.
    built: u64,
    most_built: u64,
    /// What happened how often.
    pub counts: Counts,
}

/// About how many bytes a node takes in a solver.
const NODE_BYTES: usize = 200;

/// What happened how often.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    /// Formulas with quantifiers.
    pub qbf: qbf::Counts,
    /// Path edges that said nothing new.
    pub subsumed: u64,
    /// Procedures that got a universal summary.
    pub universal: u64,
    /// Rounds of loops in universal summaries.
    pub rounds: u64,
}

impl<'i, 'a> World<'i, 'a> {
    /// No entries yet.
    pub fn new(regions: &'i Regions<'a>, targets: HashSet<LocId>, meter: &'i Meter<'i>) -> Self {
        let edges = regions.program.edges().iter();
        let called = edges.filter_map(|edge| edge.action.callee()).collect();
        let ration = Rc::new(Cell::new(u64::MAX));
        let left = Rc::clone(&ration);
        let interrupt: Interrupt<'i> = Rc::new(move |work| {
            left.set(left.get().saturating_sub(work));
            left.get() > 0 && meter.goes_on(work)
        });
        World {
            regions,
            meter,
            interrupt,
            ration,
            entries: Vec::new(),
            orders: HashMap::default(),
            called,
            targets,
            off: HashSet::default(),
            built: 0,
            most_built: (meter.memory() / 4 / LEAST_BYTES).max(8),
            counts: Counts::default(),
        }
    }

    /// A target counts no longer.
    pub fn ignore(&mut self, target: LocId) {
        self.off.insert(target);
    }

    /// Whether a location is a target that counts.
    pub fn is_target(&self, loc: LocId) -> bool {
        self.targets.contains(&loc) && !self.off.contains(&loc)
    }

    /// Whether something calls a procedure.
    pub fn is_called(&self, proc: ProcId) -> bool {
        self.called.contains(&proc)
    }

    /// How often solvers were asked, those behind quantifiers included.
    pub fn calls(&self) -> u64 {
        self.counts.qbf.calls + self.entries.iter().map(|entry| entry.probe.calls()).sum::<u64>()
    }

    /// Adds an entry; its number, and control at its start.
    pub fn enter(&mut self, proc: ProcId, fixed: Vec<Option<bool>>) -> (u32, Symbolic) {
        let is_called = self.is_called(proc);
        let (entry, start) = Entry::new(self.regions, proc, fixed, is_called);
        self.entries.push(entry);
        (self.entries.len() as u32 - 1, start)
    }

    /// The order of a procedure's locations.
    pub fn order(&mut self, proc: ProcId) -> Result<Rc<Order>, Why> {
        if let Some(made) = self.orders.get(&proc) {
            return Ok(Rc::clone(made));
        }
        let program = self.regions.program;
        let mut next: HashMap<u32, Vec<u32>> = HashMap::default();
        let mut stack = vec![program.procs()[proc].entry];
        while let Some(loc) = stack.pop() {
            if let Vacant(place) = next.entry(loc.0) {
                let to: Vec<LocId> =
                    program.leaving(loc).iter().map(|&edge| program.edges()[edge].to).collect();
                place.insert(to.iter().map(|to| to.0).collect());
                stack.extend(to);
            }
        }
        let goes_on = |size| self.made(size).is_ok();
        let nest = nest(program.procs()[proc].entry.0, |loc| &next[&loc], goes_on);
        let nest = nest.ok_or_else(|| self.why())?;
        let place = nest.row.iter().map(|&loc| LocId(loc)).zip(0..).collect();
        let made = Rc::new(Order { nest, place });
        self.orders.insert(proc, Rc::clone(&made));
        Ok(made)
    }

    /// The bits of a procedure's fields that matter at a location.
    pub fn live(&self, proc: ProcId, loc: LocId) -> Vec<usize> {
        let layout = &self.regions.layouts[proc];
        let live = self.regions.live.at(self.regions.program, loc);
        let fields = (0..layout.types.len()).filter(|&field| bits::contains(live, field));
        fields.flat_map(|field| layout.bits(field)).collect()
    }

    /// Whether the work may go on after these nodes were made.
    pub fn made(&self, nodes: usize) -> Result<(), Why> {
        if (self.interrupt)((nodes / NODES) as u64 + 1) { Ok(()) } else { Err(self.why()) }
    }

    /// Whether there is room for so many nodes in solvers, where each is a variable and some clauses.
    pub fn has_room(&self, nodes: usize) -> Result<(), Why> {
        self.meter.has_room(nodes.saturating_mul(NODE_BYTES))
    }

    /// Whether functions of an entry can hold at once.
    pub fn can_hold(&mut self, entry: u32, all: &[Lit]) -> Result<bool, Why> {
        self.make_room(entry)?;
        let Entry { aig, probe, .. } = &mut self.entries[entry as usize];
        let answer = probe.can_hold(aig, all, &self.interrupt);
        self.is_sat(answer)
    }

    /// The same, by a solver, with a model if they can.
    pub fn solve(&mut self, entry: u32, all: &[Lit]) -> Result<bool, Why> {
        self.make_room(entry)?;
        let Entry { aig, probe, .. } = &mut self.entries[entry as usize];
        let answer = probe.solve(aig, all, &self.interrupt);
        self.is_sat(answer)
    }

    fn is_sat(&self, answer: Answer) -> Result<bool, Why> {
        match answer {
            Answer::Sat => Ok(true),
            Answer::Unsat => Ok(false),
            Answer::Stopped => Err(self.why()),
        }
    }

    /// Why the work was stopped.
    pub(super) fn why(&self) -> Why {
        if self.ration.get() == 0 { Why::Effort } else { self.meter.why() }
    }

    /// Does something within a ration of work; none if that is not enough.
    pub fn within<T>(
        &mut self,
        ration: u64,
        work: impl FnOnce(&mut Self) -> Result<Option<T>, Why>,
    ) -> Result<Option<T>, Why> {
        self.ration.set(ration);
        let done = work(self);
        match self.ration.replace(u64::MAX) {
            0 if matches!(done, Err(Why::Effort)) => Ok(None),
            _ => done,
        }
    }

    /// Drops all solvers if there would be too many; whether there is room for what is to be asked.
    fn make_room(&mut self, entry: u32) -> Result<(), Why> {
        let Entry { aig, probe, .. } = &self.entries[entry as usize];
        self.has_room(aig.len() - probe.encoded())?;
        if probe.has_solver() {
            return Ok(());
        }
        self.built += 1;
        if self.built > self.most_built {
            self.entries.iter_mut().for_each(|entry| entry.probe.drop_solver());
            self.built = 1;
        }
        Ok(())
    }

    /// Control takes an edge that is no call; none if it cannot, as far as can be seen.
    pub fn take(&mut self, entry: u32, mut from: Symbolic, id: EdgeId) -> Option<Symbolic> {
        let edge = &self.regions.program.edges()[id];
        let own = &mut self.entries[entry as usize];
        let mut choices = Vec::new();
        let mut step = own.step(self.regions, &mut choices);
        step.take(&edge.action, &mut from.guard, &mut from.bits);
        step.forget(edge.to, &mut from.bits);
        if from.guard == Lit::FALSE {
            return None;
        }
        let number = own.number(Origin::Step { from: from.number, edge: id, choices });
        Some(Symbolic { number, ..from })
    }

    /// Control is in front of a call: the number of the call.
    pub fn call(&mut self, entry: u32, from: Symbolic, edge: EdgeId) -> u32 {
        let (callee, args, _) = self.call_of(edge);
        let own = &mut self.entries[entry as usize];
        let mut choices = Vec::new();
        let inputs = own.step(self.regions, &mut choices).inputs(callee, args, &from.bits);
        own.calls.push(Call { edge, from, choices, inputs });
        own.calls.len() as u32 - 1
    }

    /// What an edge calls, with which arguments, and where the results go.
    pub fn call_of(&self, edge: EdgeId) -> (ProcId, &'a [postbop_ir::Expr], &'a [Option<VarId>]) {
        match &self.regions.program.edges()[edge].action {
            Action::Call { callee, args, results } => (*callee, args, results),
            _ => unreachable!("it is a call"),
        }
    }

    /// Copies functions of one entry to where it is called; the guard comes first and says that the entry is the right one, too.
    fn copy(&mut self, callee: u32, roots: &Roots, entry: u32, call: u32) -> Result<Vec<Lit>, Why> {
        let mut aig = std::mem::take(&mut self.entries[entry as usize].aig);
        let actual = &self.entries[entry as usize].calls[call as usize].inputs;
        let there = &self.entries[callee as usize];
        let before = aig.len();
        let roots: Vec<Lit> = match roots {
            Roots::Summary(at) => {
                let summary = &there.summaries[*at as usize];
                [summary.guard].into_iter().chain(summary.outputs.iter().copied()).collect()
            }
            Roots::Failure(at) => vec![there.failures[*at as usize].guard],
        };
        let free = there.inputs.iter().zip(actual).filter(|(input, _)| !input.is_constant());
        let mut map: Images = free.map(|(input, &actual)| (input.node(), actual)).collect();
        if callee == entry {
            let cone = aig.cone(roots.iter().copied());
            let inputs: Vec<usize> =
                cone.iter().copied().filter(|&at| aig.node(at) == Node::Input && !map.has(at)).collect();
            inputs.into_iter().for_each(|at| map.insert(at, aig.input()));
            aig.substitute(&cone, &mut map);
        } else {
            aig.import(&there.aig, &there.aig.cone(roots.iter().copied()), &mut map);
        }
        let mut copied: Vec<Lit> = roots.into_iter().map(|lit| map.of(lit)).collect();
        for (&value, &actual) in there.fixed.iter().zip(actual) {
            let fits = value.map_or(Lit::TRUE, |value| if value { actual } else { !actual });
            copied[0] = aig.and(copied[0], fits);
        }
        let made = aig.len() - before;
        self.entries[entry as usize].aig = aig;
        self.made(made).map(|()| copied)
    }

    /// Control after a call that a summary edge was applied to; none if it does not fit.
    pub fn apply(
        &mut self,
        entry: u32,
        call: u32,
        callee: u32,
        summary: u32,
    ) -> Result<Option<Symbolic>, Why> {
        let mut outputs = self.copy(callee, &Roots::Summary(summary), entry, call)?;
        let fits = outputs.remove(0);
        let own = &mut self.entries[entry as usize];
        let Call { edge, ref from, .. } = own.calls[call as usize];
        let guard = own.aig.and(from.guard, fits);
        let mut bits = from.bits.clone();
        if !self.can_hold(entry, &[guard])? {
            return Ok(None);
        }
        let (proc, _, results) = self.call_of(edge);
        let own = &mut self.entries[entry as usize];
        let mut choices = Vec::new();
        let mut step = own.step(self.regions, &mut choices);
        step.receive(proc, results, &outputs, &mut bits);
        step.forget(self.regions.program.edges()[edge].to, &mut bits);
        let number = own.number(Origin::Call { call, callee, summary, outputs });
        Ok(Some(Symbolic { guard, bits, number }))
    }

    /// The guard under which a call fails in this way; none if it cannot.
    pub fn apply_failure(
        &mut self,
        entry: u32,
        call: u32,
        callee: u32,
        failure: u32,
    ) -> Result<Option<Failure>, Why> {
        let Failure { target, is_part, .. } = self.entries[callee as usize].failures[failure as usize];
        if is_part || !self.is_target(target) {
            return Ok(None);
        }
        let fits = self.copy(callee, &Roots::Failure(failure), entry, call)?[0];
        let own = &mut self.entries[entry as usize];
        let guard = own.aig.and(own.calls[call as usize].from.guard, fits);
        let by = FailedBy::Call { call, callee, failure };
        Ok(self.can_hold(entry, &[guard])?.then_some(Failure { target, guard, by, is_part: false }))
    }

    /// The summary edge of a path edge at the exit.
    pub fn summary(&self, at_exit: &Symbolic, proc: ProcId) -> Summary {
        let outputs = self.regions.outputs[proc].iter().map(|&bit| at_exit.bits[bit as usize]).collect();
        Summary { guard: at_exit.guard, outputs, number: at_exit.number }
    }
}

/// What is copied to a call.
enum Roots {
    /// A summary edge.
    Summary(u32),
    /// A failure.
    Failure(u32),
}
