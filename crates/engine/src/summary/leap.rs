//! Room `engine/summary`: many rounds of a loop at once.
//!
//! # Idea
//!
//! A loop that counts to a million has a million rounds, and pushing one round after the other takes as many images. But
//! the relation of two rounds is that of one round composed with itself, and that of 2^i rounds takes i such
//! *squarings*. From a set X the loop reaches in at most one round X together with the image of X under one round; in
//! at most three that, together with its own image under two; and so on, until nothing is new. So the work grows
//! with the logarithm of the number of rounds, as long as the relations stay small.
//!
//! A *leap* is the image of a set at the head of a loop under 2^i rounds. It arrives at the head like any other set, so
//! leaps add nothing that is not reached without them, and may leave out what they like: everything is still pushed along
//! every edge. A round here is a way from the head back to it along edges that go forward in the reverse post-order,
//! call nothing and choose nothing; where two edges could be taken, the first one is. So a round is a partial function,
//! and given where a leap starts, a trace of it is found by running the program.
//!
//! The relation of a round is found by the same images as everything else: the sets that are pushed around the loop start
//! as the identity between the present values and a copy of them at the `Pass` levels, which no edge touches.
//!
//! # Paper
//!
//! Iterative squaring is in \[burch\]. # Departures: for one loop at a time, when it is seen to be long.
//!
//! # Cost
//!
//! Relations of many rounds may be large where those of one round are small. So leaps are tried only at locations that had
//! many turns, with an allowance in proportion to the work that was done so far, and dropped if they bring nothing.

use super::history::{CERTAIN, Point, Recorded, Valued};
use super::solve::{Cause, Ready, Solver};
use crate::encode::gates::equal;
use crate::encode::machine::code::Code;
use crate::encode::machine::expand::{Expander, Next, Site};
use crate::encode::machine::layout::Row;
use crate::encode::wiring::Role;
use postbop_ir::{Action, EdgeId, Length, LocId, ProcId};
use postbop_kit::bdd::{Interrupted, Plan, Ref};
use rustc_hash::FxHashMap as HashMap;

/// How many turns a location has before leaps are tried, and by how much longer it takes until they are tried again.
const TURNS: u32 = 256;
const LATER: u32 = 4;

/// Part of the work done so far that may go into leaps at a time; and so much anyway, in results of diagrams.
const PART: u64 = 32;
const LEAST: u64 = 1 << 15;

/// How many rounds of a loop are run between two looks at the budget.
const PATIENCE: u64 = 1 << 10;

/// A loop may have so many locations.
const MOST: usize = 1 << 10;

/// How often leaps may bring nothing, more than twice as often as something.
const VAIN: u32 = 64;

/// Whether to leap at a location that had many turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Head {
    /// Leaps are not tried before so many turns, of this loop if it was looked at already.
    Waits(u32, Option<u32>),
    /// The head of this loop.
    Leaps(u32),
    /// Leaps are of no use.
    Never,
}

/// A loop, and relations of its rounds.
pub(super) struct Loop {
    /// Its edges, by the location they leave, those that come first are taken first.
    pub edges: HashMap<LocId, Vec<EdgeId>>,
    /// The fields that a round can change, of those that matter at the head.
    pub changed: Vec<usize>,
    /// For each i, the relation of 2^i rounds.
    pub powers: Vec<Ref>,
    /// A set at the head that rounds do not lead out of.
    pub closed: Ref,
    plans: Plans,
    /// How often leaps brought something, and how often nothing.
    useful: u32,
    vain: u32,
}

/// How diagrams of rounds are put together.
struct Plans {
    /// The image of a set.
    image: Plan,
    /// The new values become those in the middle of two rounds; so do the old ones; those in the middle are forgotten.
    new: Plan,
    old: Plan,
    middle: Plan,
}

/// How many turns a location has before leaps are tried; after the first, for tests.
pub(super) fn patience(forced: bool) -> u32 {
    if forced { 1 } else { TURNS }
}

impl Solver<'_, '_, '_, '_> {
    /// Takes what is fresh at a location that had many turns around its loop, if it is the head of one.
    pub(super) fn leap(&mut self, loc: LocId) -> Result<(), Interrupted> {
        let turns = self.places[loc].turns;
        let number = match *self.heads.entry(loc).or_insert(Head::Waits(0, None)) {
            Head::Leaps(number) => number,
            Head::Waits(until, Some(number)) if turns >= until => number,
            Head::Waits(until, None) if turns >= until => {
                let head = match self.within(|solver| solver.round(loc))? {
                    Some(Some(found)) => {
                        self.loops.push(found);
                        Head::Leaps(self.loops.len() as u32 - 1)
                    }
                    Some(None) => Head::Never,
                    None => Head::Waits(turns.saturating_mul(LATER), None),
                };
                self.heads.insert(loc, head);
                let Head::Leaps(number) = head else { return Ok(()) };
                number
            }
            Head::Waits(..) | Head::Never => return Ok(()),
        };
        let before = self.arrivals.len();
        let done = self.within(|solver| solver.leaps(loc, number))?;
        let this = &mut self.loops[number as usize];
        match self.arrivals.len() > before {
            true => this.useful += 1,
            false => this.vain += (done != Some(false)) as u32,
        }
        let head = match done {
            _ if this.vain > VAIN + 2 * this.useful => Head::Never,
            None => Head::Waits(turns.saturating_mul(LATER), Some(number)),
            Some(_) => Head::Leaps(number),
        };
        self.heads.insert(loc, head);
        Ok(())
    }

    /// Does some work on diagrams. Returns none if that takes more results than leaps are allowed.
    fn within<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Interrupted>,
    ) -> Result<Option<T>, Interrupted> {
        let bdd = &mut self.encoder.bdd;
        bdd.allow((bdd.results() / PART).max(LEAST));
        let outcome = work(self);
        match (outcome, self.encoder.bdd.allow_all()) {
            (Err(Interrupted), true) => Ok(None),
            (outcome, _) => outcome.map(Some),
        }
    }

    /// Leaps from the part of the head's set that is new and not closed yet. Returns whether there is such a part.
    fn leaps(&mut self, loc: LocId, number: u32) -> Result<bool, Interrupted> {
        let Loop { closed, plans: Plans { image, .. }, .. } = self.loops[number as usize];
        let mut set = self.encoder.bdd.and(self.places[loc].fresh, !closed)?;
        if set == Ref::FALSE {
            return Ok(false);
        }
        for power in 0.. {
            let relation = self.power(number, power)?;
            let reached = self.image(set, (relation, image))?;
            let beyond = self.encoder.bdd.and(reached, !closed)?;
            let beyond = self.encoder.bdd.and(beyond, !set)?;
            if beyond == Ref::FALSE {
                break;
            }
            self.arrive(loc, beyond, Cause::Leap(number, power, set), &Length::ZERO)?;
            set = self.encoder.bdd.or(set, beyond)?;
        }
        self.loops[number as usize].closed = self.encoder.bdd.or(closed, set)?;
        Ok(true)
    }

    /// The relation of 2^power rounds; that of half as many is known, or none is asked for.
    fn power(&mut self, number: u32, power: u32) -> Result<Ref, Interrupted> {
        let Loop { ref powers, plans: Plans { new, old, middle, .. }, .. } = self.loops[number as usize];
        if let Some(&known) = powers.get(power as usize) {
            return Ok(known);
        }
        let half = powers[power as usize - 1];
        let bdd = &mut self.encoder.bdd;
        let (first, second) = (bdd.project(half, new)?, bdd.project(half, old)?);
        let relation = bdd.image(first, second, middle)?;
        self.loops[number as usize].powers.push(relation);
        Ok(relation)
    }

    /// The loop of a location, with the relation of one round; nothing if no round leads back.
    fn round(&mut self, head: LocId) -> Result<Option<Loop>, Interrupted> {
        let body = self.body(head);
        let proc = self.task.program.locs()[head].proc;
        let edges: HashMap<LocId, Vec<EdgeId>> = body.iter().cloned().collect();
        let mut changed: Vec<usize> = Vec::new();
        for &edge in body.iter().flat_map(|(_, edges)| edges) {
            if let Code::Update { sets, .. } = &self.encoder.machine.edge(edge).code {
                let fields = sets.iter().map(|set| set.field);
                changed.extend(fields.filter(|&field| self.encoder.machine.is_live(head, field)));
            }
        }
        changed.sort_unstable();
        changed.dedup();
        let mut sets: HashMap<LocId, Ref> = HashMap::default();
        sets.insert(head, self.identity(proc, &changed)?);
        let mut round = Ref::FALSE;
        for (loc, edges) in body {
            let Some(mut set) = sets.remove(&loc) else { continue };
            for (at, &edge) in edges.iter().enumerate() {
                let Ready::Update(relation, plan) = self.known(edge)? else { return Ok(None) };
                let image = self.image(set, (relation, plan))?;
                let to = self.task.program.edges()[edge].to;
                let there = if to == head { &mut round } else { sets.entry(to).or_insert(Ref::FALSE) };
                *there = self.encoder.bdd.or(*there, image)?;
                if at + 1 < edges.len() {
                    let taken = self.guard(edge, relation)?;
                    set = self.encoder.bdd.and(set, !taken)?;
                }
            }
        }
        if round == Ref::FALSE {
            return Ok(None);
        }
        let plans = self.plans(proc, &changed);
        let roles = [(Role::Pass, Role::Now), (Role::Now, Role::Next)];
        let apart = self.renaming(proc, &changed, &roles);
        let powers = vec![self.encoder.bdd.project(round, apart)?];
        Ok(Some(Loop { edges, changed, powers, closed: Ref::FALSE, plans, useful: 0, vain: 0 }))
    }

    fn plans(&mut self, proc: ProcId, changed: &[usize]) -> Plans {
        let new = self.renaming(proc, changed, &[(Role::Next, Role::Pass)]);
        let old = self.renaming(proc, changed, &[(Role::Now, Role::Pass)]);
        let levels = |role| -> Vec<u32> {
            changed.iter().flat_map(|&field| self.encoder.levels(proc, field, role)).collect()
        };
        let (now, next, pass) = (levels(Role::Now), levels(Role::Next), levels(Role::Pass));
        let renamed = next.into_iter().zip(now.iter().copied());
        let image = self.encoder.bdd.plan(now.iter().copied(), renamed);
        Plans { image, new, old, middle: self.encoder.bdd.plan(pass, []) }
    }

    /// The values of fields change their roles.
    fn renaming(&mut self, proc: ProcId, fields: &[usize], roles: &[(Role, Role)]) -> Plan {
        let encoder = &self.encoder;
        let pairs = |&(from, to): &(Role, Role)| {
            fields.iter().flat_map(move |&field| {
                encoder.levels(proc, field, from).zip(encoder.levels(proc, field, to))
            })
        };
        let pairs: Vec<(u32, u32)> = roles.iter().flat_map(pairs).collect();
        self.encoder.bdd.plan([], pairs)
    }

    /// That the values of fields are what they are at the `Pass` levels.
    fn identity(&mut self, proc: ProcId, fields: &[usize]) -> Result<Ref, Interrupted> {
        let mut identity = Ref::TRUE;
        let mut from_below = fields.to_vec();
        from_below
            .sort_by_key(|&field| std::cmp::Reverse(self.encoder.slots(proc)[field].iter().min().copied()));
        for field in from_below {
            let (pass, now) =
                (self.encoder.vars(proc, field, Role::Pass)?, self.encoder.vars(proc, field, Role::Now)?);
            let same = equal(&mut self.encoder.bdd, &pass, &now)?;
            identity = self.encoder.bdd.and(identity, same)?;
        }
        Ok(identity)
    }

    /// The valuations that an edge does not block.
    fn guard(&mut self, edge: EdgeId, relation: Ref) -> Result<Ref, Interrupted> {
        let proc = self.task.program.locs()[self.task.program.edges()[edge].from].proc;
        let Code::Update { sets, .. } = &self.encoder.machine.edge(edge).code else { return Ok(Ref::TRUE) };
        let live = sets.iter().filter(|set| set.live);
        let levels: Vec<u32> =
            live.flat_map(|set| self.encoder.levels(proc, set.field, Role::Next)).collect();
        let plan = self.encoder.bdd.plan(levels, []);
        self.encoder.bdd.project(relation, plan)
    }

    /// The locations on rounds from a head back to it, in their order, each with its edges on rounds.
    fn body(&self, head: LocId) -> Vec<(LocId, Vec<EdgeId>)> {
        let program = self.task.program;
        let place = |loc: LocId| self.order.of(loc);
        let fits = |edge: &EdgeId| {
            let to = program.edges()[*edge].to;
            !matches!(program.edges()[*edge].action, Action::Call { .. })
                && (to == head || place(to) > place(program.edges()[*edge].from))
                && self.encoder.machine.edge(*edge).choices.is_empty()
        };
        let mut body: Vec<(LocId, Vec<EdgeId>)> = Vec::new();
        let mut seen: HashMap<LocId, bool> = HashMap::default();
        let mut work = vec![head];
        seen.insert(head, true);
        while let Some(loc) = work.pop() {
            let edges: Vec<EdgeId> = program.leaving(loc).iter().copied().filter(fits).collect();
            for &edge in &edges {
                let to = program.edges()[edge].to;
                if seen.insert(to, to == head).is_none() {
                    work.push(to);
                }
            }
            body.push((loc, edges));
            if body.len() > MOST {
                return Vec::new();
            }
        }
        body.sort_by_key(|(loc, _)| place(*loc));
        // From the end: what leads to the head, or to something that does.
        for (loc, edges) in body.iter_mut().rev() {
            edges.retain(|&edge| seen[&program.edges()[edge].to]);
            seen.insert(*loc, *loc == head || !edges.is_empty());
        }
        body.retain(|(_, edges)| !edges.is_empty());
        body
    }
}

impl Recorded<'_, '_, '_, '_> {
    /// Where a leap came from: a valuation in which nothing that matters is open.
    pub(super) fn leapt(
        &mut self,
        number: u32,
        power: u32,
        set: Ref,
        point: &Point,
        goal: &[u64],
    ) -> Result<Valued, Interrupted> {
        let Loop { changed, powers, .. } = &self.solver.loops[number as usize];
        let (relation, changed) = (powers[power as usize], changed.clone());
        let next = |field| if changed.binary_search(&field).is_ok() { Role::Next } else { Role::Now };
        self.decide(self.proc(point.loc), goal, &point.entry, next);
        let picked = self.pick(&[relation, set])?.expect(CERTAIN);
        let (entry, mut row) = self.before(point.loc, picked);
        let machine = self.solver.encoder.machine;
        for (at, field) in machine.layout(self.proc(point.loc)).fields.iter().enumerate() {
            if field.get(&row).is_none() && machine.is_live(point.loc, at) {
                field.set(&mut row, Some(field.range().0));
            }
        }
        Ok((entry, row))
    }

    /// The edges of 2^power rounds of a loop, from this valuation at its head.
    pub(super) fn rounds(
        &mut self,
        head: LocId,
        number: u32,
        power: u32,
        row: &Row,
    ) -> Result<Vec<EdgeId>, Interrupted> {
        let machine = self.solver.encoder.machine;
        let fields = &machine.layout(self.proc(head)).fields;
        let mut expander = Expander::new(machine);
        let (mut edges, mut row) = (Vec::new(), row.clone());
        for round in 0..1u64 << power.min(63) {
            if round.is_multiple_of(PATIENCE) {
                self.solver.encoder.bdd.ask()?;
            }
            let mut loc = head;
            loop {
                let ways = self.solver.loops[number as usize].edges[&loc].iter().copied();
                let taken = |&id: &EdgeId| {
                    let (edge, to) = (machine.edge(id), machine.program.edges()[id].to);
                    expander.next(Site { edge, to, fields, row: &row }, 0, true) == Next::Found
                };
                let edge = ways.into_iter().find(taken).expect(CERTAIN);
                edges.push(edge);
                std::mem::swap(&mut row, &mut expander.out);
                loc = machine.program.edges()[edge].to;
                if loc == head {
                    break;
                }
            }
        }
        Ok(edges)
    }
}
