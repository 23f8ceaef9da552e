//! Room `engine/summary`: what the fixpoint remembers, for traces.
//!
//! # Idea
//!
//! Every set that arrived at a location is kept, with its *cause*: the set that it is an image of, and along which edge or
//! call. To find how a path edge with given values was reached, take the earliest arrival that contains one. The set in its
//! cause arrived earlier still. Conjoined with the relation of the edge, it shows which values can have been there before;
//! one valuation is picked, and the walk goes on from there. Values that the diagrams do not test stay open.
//!
//! A point of the history is a location and what is known of how its procedure was entered, as literals of its links: all
//! points of one activation must agree on that.

use super::calls::{CallEffect, CallSite};
use super::solve::{Arrival, Cause, Solver};
use crate::budget::Budget;
use crate::encode::literals::{self, Literal, Literals};
use crate::encode::machine::layout::Row;
use crate::encode::machine::retrace::{Caller, History, Predecessor};
use crate::encode::memo::Memo;
use crate::encode::wiring::Role;
use crate::verdict::Why;
use postbop_ir::{EdgeId, Id, Length, LocId, ProcId, Table};
use postbop_kit::bdd::{Assignment, Interrupted, Ref};
use postbop_kit::bits;
use postbop_kit::groups::Groups;
use postbop_kit::rows::Rows;
use rustc_hash::FxHashMap as HashMap;
use std::collections::hash_map::Entry;
use std::iter;
use std::rc::Rc;

/// Literals of the entry, and a valuation.
pub(super) type Valued = (Literals, Row);

/// A location, and what is known of how its procedure was entered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Point {
    pub(super) loc: LocId,
    pub(super) entry: Literals,
    /// It arrived before this time, which narrows the search where many sets arrived.
    before: u64,
}

impl Point {
    /// A point that arrived at any time.
    pub fn new(loc: LocId, entry: Literals) -> Self {
        Point { loc, entry, before: u64::MAX }
    }
}

/// The history of a fixpoint.
pub struct Recorded<'m, 'a, 'w, 't> {
    budget: &'w Budget,
    pub(super) solver: Solver<'m, 'a, 'w, 't>,
    /// The arrivals by location and time.
    arrivals: Vec<Arrival>,
    /// For each location its first arrival.
    first: Table<LocId, u32>,
    /// For locations at which many sets arrived, in all or (if true) by calls: the union of the arrivals up to each one.
    sums: HashMap<(LocId, bool), Vec<(Ref, u32)>>,
    assignment: Assignment,
    /// Locations at which the same sets arrived along edges of the same classes have the same signature.
    signatures: Rows,
    signature: Table<LocId, Option<u32>>,
    /// Memory for the list that a signature stands for.
    words: Vec<u64>,
    /// How points were reached, by signature, entry and goal.
    memo: Memo<Found>,
}

/// How a point was reached, in terms that hold wherever the signature is the same.
struct Found {
    /// Which arrival it was.
    arrival: u32,
    /// The entry and the valuation at the point before.
    before: Valued,
    /// After a call, the same at the callee's exit.
    inside: Valued,
}

impl Clone for Found {
    fn clone(&self) -> Self {
        // As slices: the lists would be cloned element by element.
        let copy = |(entry, row): &Valued| (Literals::from_slice(entry), Row::from_slice(row));
        Found { arrival: self.arrival, before: copy(&self.before), inside: copy(&self.inside) }
    }
}

/// So many arrivals are looked at one by one.
const FEW: usize = 12;

/// The time of an arrival as a sequence number; a distance may be too large to be one, and then none is asked for.
fn number(time: &Length) -> u64 {
    time.small().unwrap_or(u64::MAX)
}

pub(super) const CERTAIN: &str = "what arrived came from somewhere";

impl<'m, 'a, 'w, 't> Recorded<'m, 'a, 'w, 't> {
    /// The history of what a solver did.
    pub fn new(mut solver: Solver<'m, 'a, 'w, 't>, budget: &'w Budget) -> Self {
        let mut arrivals = std::mem::take(&mut solver.arrivals);
        if !arrivals.is_sorted_by(|one, other| one.time <= other.time) {
            arrivals.sort_by(|one, other| one.time.cmp(&other.time));
        }
        let locs = solver.encoder.machine.program.locs();
        let by_loc = arrivals.iter().enumerate().map(|(at, arrival)| (arrival.loc.index(), at as u32));
        let groups = Groups::new(locs.len(), by_loc);
        let first: Table<LocId, u32> = locs.ids().map(|loc| groups.range(loc.index()).start as u32).collect();
        groups.arrange(&mut arrivals);
        let signature = Table::filled(first.len(), None);
        Recorded {
            budget,
            solver,
            arrivals,
            first,
            sums: HashMap::default(),
            assignment: Assignment::default(),
            signatures: Rows::default(),
            signature,
            words: Vec::new(),
            memo: Memo::default(),
        }
    }

    pub(super) fn proc(&self, loc: LocId) -> ProcId {
        self.solver.encoder.machine.program.locs()[loc].proc
    }

    /// Decides the levels of the known fields of a row, and of what is known of the entry.
    pub(super) fn decide(
        &mut self,
        proc: ProcId,
        row: &[u64],
        entry: &[Literal],
        role: impl Fn(usize) -> Role,
    ) {
        self.assignment.clear();
        let encoder = &self.solver.encoder;
        let levels = |at| Some(encoder.levels(proc, at, role(at)));
        literals::decide(&mut self.assignment, encoder.machine.layout(proc), row, levels);
        for &(level, value) in entry {
            self.assignment.decide(level, value);
        }
    }

    /// An arrival with a path edge of these values: the earliest, or else one of the last before the given time.
    fn arrival(&mut self, point: &Point, goal: &[u64]) -> Result<u32, Interrupted> {
        let Point { loc, ref entry, before } = *point;
        let first = self.first[loc];
        let sole = self.arrivals.get(first as usize + 1).is_none_or(|next| next.loc != loc);
        if sole {
            return Ok(first);
        }
        self.decide(self.proc(loc), goal, entry, |_| Role::Now);
        // The set that led on had just arrived, as a rule. A shortest trace needs the earliest.
        if before != u64::MAX && !self.solver.task.shortest() {
            let here = &self.arrivals[first as usize..];
            let end =
                here.partition_point(|arrival| arrival.loc == loc && arrival.time < Length::from(before));
            for at in (0..end).rev().take(FEW) {
                if self.solver.encoder.bdd.meets(here[at].set, &self.assignment)? {
                    return Ok(first + at as u32);
                }
            }
        }
        self.earliest(loc, false)
    }

    /// The earliest arrival with a path edge that agrees with what is decided; of calls only, if `calls`.
    fn earliest(&mut self, loc: LocId, calls: bool) -> Result<u32, Interrupted> {
        let here = (self.first[loc]..).zip(&self.arrivals[self.first[loc] as usize..]);
        let here = here.take_while(|(_, arrival)| arrival.loc == loc);
        let fits = |(_, arrival): &(u32, &Arrival)| !calls || matches!(arrival.cause, Cause::Enter(..));
        let bdd = &mut self.solver.encoder.bdd;
        for (at, arrival) in here.clone().filter(fits).take(FEW) {
            if bdd.meets(arrival.set, &self.assignment)? {
                return Ok(at);
            }
        }
        // The union of the arrivals up to a time only grows with time, so the first one that fits is found by halving.
        if let Entry::Vacant(vacant) = self.sums.entry((loc, calls)) {
            let mut sums: Vec<(Ref, u32)> = Vec::new();
            for (at, arrival) in here.filter(fits) {
                let before = sums.last().map_or(Ref::FALSE, |&(sum, _)| sum);
                sums.push((bdd.or(before, arrival.set)?, at));
            }
            vacant.insert(sums);
        }
        let sums = &self.sums[&(loc, calls)];
        let (mut low, mut high) = (0, sums.len() - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            match bdd.meets(sums[middle].0, &self.assignment)? {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        Ok(sums[low].1)
    }

    /// Picks literals that satisfy all of these diagrams and agree with what is decided.
    pub(super) fn pick(&mut self, parts: &[Ref]) -> Result<Option<Vec<Literal>>, Interrupted> {
        self.solver.encoder.bdd.pick_all(parts, &self.assignment)
    }

    /// The valuation that literals give to the fields of a procedure in some role.
    fn row(&self, proc: ProcId, picked: &mut Vec<Literal>, role: impl Fn(usize) -> Option<Role>) -> Row {
        let encoder = &self.solver.encoder;
        let levels = |at| role(at).map(|role| encoder.levels(proc, at, role));
        literals::row(encoder.machine.layout(proc), picked, levels)
    }

    /// The literals of a procedure's links among those picked.
    fn entry_literals(&self, proc: ProcId, picked: &[Literal]) -> Literals {
        let levels = &self.solver.known_interface(proc).link_levels;
        let is_link = |(level, _): &Literal| levels.binary_search(level).is_ok();
        picked.iter().copied().filter(is_link).collect()
    }

    /// What is known of the entry, and the valuation, before an edge, given what was picked over its relation.
    pub(super) fn before(&self, loc: LocId, mut picked: Vec<Literal>) -> Valued {
        let proc = self.proc(loc);
        let row = self.row(proc, &mut picked, |_| Some(Role::Now));
        (self.entry_literals(proc, &picked), row)
    }

    /// How a point was reached.
    fn recall(&mut self, point: &Point, goal: &[u64]) -> Result<Found, Interrupted> {
        let Some(signature) = self.signature(point.loc) else { return self.find(point, goal) };
        let entry = &point.entry;
        let mut memo = std::mem::take(&mut self.memo);
        let first = (signature as u64) << 32 | entry.len() as u64;
        let literals = entry.iter().map(|&(level, truth)| (level as u64) << 1 | truth as u64);
        let key = iter::once(first).chain(literals).chain(goal.iter().copied());
        // The key does not say before which time. The earliest arrival serves at any time.
        let found = memo.get(key, || self.find(&Point { before: u64::MAX, ..point.clone() }, goal));
        self.memo = memo;
        found
    }

    /// The number of the list of all arrivals at a location, with their causes. None if that would be a long list, or if no other
    /// location is likely to have the same one.
    fn signature(&mut self, loc: LocId) -> Option<u32> {
        if self.signature[loc].is_none() && self.solver.encoder.machine.classes.is_repetitive() {
            let mut words = std::mem::take(&mut self.words);
            words.clear();
            words.push(self.solver.encoder.encoding_class(self.proc(loc)) as u64);
            if self.list(loc, &mut words).is_some() {
                self.signature[loc] = self.signatures.intern(&words).ok().map(|(id, _)| id);
            }
            self.words = words;
        }
        self.signature[loc]
    }

    /// Lists the arrivals at a location, with their causes; none if that would be a long list.
    fn list(&mut self, loc: LocId, words: &mut Vec<u64>) -> Option<()> {
        let number = |set: Ref| set.number() as u64;
        let first = self.first[loc] as usize;
        let count =
            self.arrivals[first..].iter().take(FEW + 1).take_while(|arrival| arrival.loc == loc).count();
        if count > FEW {
            return None;
        }
        for &Arrival { set, cause, .. } in &self.arrivals[first..first + count] {
            match cause {
                Cause::Start | Cause::Enter(..) => words.extend([0, number(set)]),
                Cause::Edge(edge, before) => {
                    let class = self.solver.encoder.machine.classes.edges[edge] as u64;
                    words.extend([1, number(set), class, number(before)]);
                }
                Cause::Leap(..) => return None,
                Cause::Return(site, before, from, to) => {
                    if to - from > FEW as u32 {
                        return None;
                    }
                    let CallSite { edge, callee, .. } = self.solver.sites[site as usize];
                    let class = self.solver.encoder.machine.classes.edges[edge] as u64;
                    let encoding_class = self.solver.encoder.encoding_class(callee) as u64;
                    words.extend([
                        2 | ((to - from) as u64) << 2,
                        number(set),
                        class,
                        encoding_class,
                        number(before),
                    ]);
                    let effects = &self.solver.sites[site as usize].effects[from as usize..to as usize];
                    words.extend(
                        effects.iter().map(|effect| number(effect.relation) << 32 | number(effect.summary)),
                    );
                }
            }
        }
        Some(())
    }

    /// Finds out how a point was reached.
    fn find(&mut self, point: &Point, goal: &[u64]) -> Result<Found, Interrupted> {
        let at = self.arrival(point, goal)?;
        let (arrival, entry) = (at - self.first[point.loc], &point.entry);
        match self.arrivals[at as usize].cause {
            Cause::Start | Cause::Enter(..) => {
                Ok(Found { arrival, before: Default::default(), inside: Default::default() })
            }
            Cause::Edge(edge, set) => {
                let before = self.stepped(edge, set, entry, goal)?;
                Ok(Found { arrival, before, inside: Default::default() })
            }
            Cause::Leap(number, power, set) => {
                let before = self.leapt(number, power, set, point, goal)?;
                Ok(Found { arrival, before, inside: Default::default() })
            }
            Cause::Return(site, set, from, to) => {
                let (before, inside) = self.returned(site, set, from..to, entry, goal)?;
                Ok(Found { arrival, before, inside })
            }
        }
    }

    /// What was found for the signature, as the predecessor of a point at this very location.
    fn predecessor_of(
        &mut self,
        loc: LocId,
        Found { arrival, before: (entry, row), inside }: Found,
    ) -> Result<Predecessor<Point>, Interrupted> {
        let program = self.solver.encoder.machine.program;
        let Arrival { cause, ref time, .. } = self.arrivals[(self.first[loc] + arrival) as usize];
        let before = number(time);
        Ok(match cause {
            Cause::Start | Cause::Enter(..) => Predecessor::Entry,
            Cause::Leap(number, power, _) => {
                let edges = self.rounds(loc, number, power, &row)?;
                Predecessor::Run { from: Point { loc, entry, before }, row, edges }
            }
            Cause::Edge(edge, _) => Predecessor::Step {
                from: Point { loc: program.edges()[edge].from, entry, before },
                row,
                edge,
            },
            Cause::Return(site, ..) => {
                let CallSite { edge, callee, .. } = self.solver.sites[site as usize];
                let exit = Point::new(program.procs()[callee].exit, inside.0);
                let from = Point { loc: program.edges()[edge].from, entry, before };
                Predecessor::Return { from, row, edge, exit, inside: inside.1 }
            }
        })
    }

    fn stepped(
        &mut self,
        edge: EdgeId,
        set: Ref,
        entry: &[Literal],
        goal: &[u64],
    ) -> Result<Valued, Interrupted> {
        let loc = self.solver.encoder.machine.program.edges()[edge].from;
        let proc = self.proc(loc);
        let changes = self.solver.changes(edge);
        let next = |field| if changes(field) { Role::Next } else { Role::Now };
        self.decide(proc, goal, entry, next);
        let mut operands = self.solver.relation(edge);
        operands.push(set);
        let picked = self.pick(&operands)?.expect(CERTAIN);
        Ok(self.before(loc, picked))
    }

    fn returned(
        &mut self,
        number: u32,
        set: Ref,
        effects: std::ops::Range<u32>,
        entry: &[Literal],
        goal: &[u64],
    ) -> Result<(Valued, Valued), Interrupted> {
        let CallSite { edge, callee, ref site, .. } = self.solver.sites[number as usize];
        let site = Rc::clone(site);
        let (pass, changed) = (site.pass.0, &site.changed);
        let loc = self.solver.encoder.machine.program.edges()[edge].from;
        let mut renewed =
            vec![0; bits::words(self.solver.encoder.machine.layout(self.proc(loc)).fields.len())];
        for &field in changed {
            bits::insert(&mut renewed, field);
        }
        let next = |field| if bits::contains(&renewed, field) { Role::Next } else { Role::Now };
        self.decide(self.proc(loc), goal, entry, next);
        let mut found = None;
        for at in effects {
            let CallEffect { relation, summary, .. } =
                self.solver.sites[number as usize].effects[at as usize];
            found = self.pick(&[relation, set, pass, summary])?;
            if found.is_some() {
                break;
            }
        }
        let mut picked = found.expect(CERTAIN);
        let proc = self.proc(loc);
        let row = self.row(proc, &mut picked, |_| Some(Role::Now));
        let entry = self.entry_literals(proc, &picked);
        let inside = self.exit_row(edge, &mut picked);
        let at_entry = self.entered(callee, &picked);
        Ok(((entry, row), (at_entry, inside)))
    }

    /// The valuation at a callee's exit, as far as the call has a use for it, given what was picked over a summary in
    /// the caller's terms.
    fn exit_row(&self, edge: EdgeId, picked: &mut Vec<Literal>) -> Row {
        let machine = self.solver.encoder.machine;
        let call = machine.call(edge);
        let callee = machine.callee(edge);
        let first = machine.scopes.first_result(machine.program, callee);
        let written = &self.solver.known_interface(callee).written;
        let mut back = vec![0; bits::words(machine.layout(callee).fields.len())];
        for (_, there) in call.back() {
            bits::insert(&mut back, there);
        }
        let role = |field: usize| match field {
            field if !bits::contains(&back, field) => None,
            field if field >= first => Some(Role::Pass),
            field if written.binary_search(&field).is_ok() => Some(Role::Next),
            _ => Some(Role::Now),
        };
        self.row(callee, picked, role)
    }

    /// How a callee was entered, given what was picked over a summary in the caller's terms.
    fn entered(&self, callee: ProcId, picked: &[Literal]) -> Literals {
        let mut literals = Literals::new();
        for link in &self.solver.known_interface(callee).links {
            let here = if link.param { Role::Pass } else { Role::Now };
            let here = self.solver.encoder.levels(callee, link.field, here);
            for (from, to) in here.zip(self.solver.encoder.levels(callee, link.field, link.role)) {
                let found = picked.binary_search_by_key(&from, |&(level, _)| level);
                literals.extend(found.map(|at| (to, picked[at].1)));
            }
        }
        literals.sort_unstable();
        literals
    }
}

impl History for Recorded<'_, '_, '_, '_> {
    type Point = Point;

    fn loc(&self, point: &Point) -> LocId {
        point.loc
    }

    fn predecessor(&mut self, point: &Point, goal: &[u64]) -> Result<Predecessor<Point>, Why> {
        let found = self.recall(point, goal).and_then(|found| self.predecessor_of(point.loc, found));
        found.map_err(|_| self.why())
    }

    fn caller(&mut self, entry: &Point, goal: &[u64]) -> Result<Option<Caller<Point>>, Why> {
        self.entering(entry, goal).map_err(|_| self.why())
    }
}

impl Recorded<'_, '_, '_, '_> {
    /// Why the work was interrupted.
    fn why(&self) -> Why {
        self.budget.check_writing().err().unwrap_or(Why::Memory(self.budget.memory()))
    }

    /// The call that first entered a procedure with these values.
    fn entering(&mut self, point: &Point, goal: &[u64]) -> Result<Option<Caller<Point>>, Interrupted> {
        let Point { loc, entry, .. } = point;
        let callee = self.proc(*loc);
        if callee == self.solver.encoder.machine.program.main() {
            return Ok(None);
        }
        self.decide(callee, goal, entry, |_| Role::Now);
        let arrival = self.earliest(*loc, true)?;
        let Arrival { cause: Cause::Enter(called, set), ref time, .. } = self.arrivals[arrival as usize]
        else {
            unreachable!("only those fit")
        };
        let before = number(time);
        let CallSite { edge, ref site, .. } = self.solver.sites[called as usize];
        let enter = site.enter.0;
        let globals = self.solver.encoder.machine.scopes.globals(callee).len();
        // Before the call, parameters are at their next levels, and other locals are not there yet.
        let params = globals..globals + self.solver.encoder.machine.program.procs()[callee].params;
        let mut goal = goal.to_vec();
        let fields = &self.solver.encoder.machine.layout(callee).fields;
        fields[params.end..].iter().for_each(|field| field.set(&mut goal, None));
        let role = |field| if params.contains(&field) { Role::Next } else { Role::Now };
        self.decide(callee, &goal, &[], role);
        let picked = self.pick(&[enter, set])?.expect(CERTAIN);
        let from = self.solver.encoder.machine.program.edges()[edge].from;
        let (entry, row) = self.before(from, picked);
        Ok(Some(Caller { from: Point { loc: from, entry, before }, row, edge }))
    }
}
