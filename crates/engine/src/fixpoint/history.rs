//! Room `engine/fixpoint`: from the rounds in which pairs were found back to the start of a run.
//!
//! # Idea
//!
//! An algorithm says which of its relations hold *paths*: pairs of a procedure's entry and a state reached from it.
//! The solver wrote down their values in the order of time, so a pair has a time, the first at which one of them
//! has it. It was found because of pairs found before: by a step of the program, across a call, or because the
//! procedure was called. So the walk back computes from the program which pairs can have come before, and looks for
//! them among those found earlier. Nothing of this depends on how the formulas are written.
//!
//! Where an algorithm keeps the *entries* that are reached in a relation of their own, the times of that relation
//! tell which call entered a procedure first.

use super::template::{State, Template};
use crate::budget::Budget;
use crate::encode::literals::{Literal, Literals, decide, row};
use crate::encode::machine::layout::Row;
use crate::encode::machine::retrace::{Caller, History, Predecessor};
use crate::verdict::Why;
use postbop_ir::{Action, EdgeId, LocId, ProcId};
use postbop_kit::bdd::{Assignment, Bdd, Interrupted, Ref};
use rustc_hash::FxHashMap as HashMap;

/// How many copies of a state the search for what came before needs.
pub const COPIES: u32 = 5;

/// A location, and what is known of the entry, as literals of copy 0.
pub type Point = (LocId, Literals);

/// The history of a solved system: the pairs, by the time at which they were found.
pub struct Recorded<'r, 'm, 'a, 'w> {
    /// The diagrams.
    pub bdd: &'r mut Bdd<'w>,
    /// The program.
    pub template: &'r Template<'m, 'a>,
    /// The levels of five copies of a state, and of the same without program counters.
    pub states: Vec<Vec<Vec<u32>>>,
    /// The pairs found up to each time, of copies 0 and 1.
    pub paths: Vec<Ref>,
    /// The entries found up to each time, of copy 0; none if paths are only found from entries that are reached.
    pub entries: Vec<Ref>,
    /// Edges by the location they lead to, calls by their callee.
    pub leading: HashMap<LocId, Vec<EdgeId>>,
    /// See `leading`.
    pub calling: HashMap<ProcId, Vec<EdgeId>>,
    /// Summaries found up to some time, of copies 2 and 3.
    pub moved: HashMap<(usize, ProcId), Ref>,
    /// Relations of edges.
    pub steps: HashMap<EdgeId, Ref>,
    /// Says when to stop.
    pub budget: &'w Budget,
    /// The values that are looked for.
    pub assignment: Assignment,
}

impl Recorded<'_, '_, '_, '_> {
    fn proc(&self, loc: LocId) -> ProcId {
        self.template.machine.program.locs()[loc].proc
    }

    fn state(&self, copy: usize) -> State<'_> {
        &self.states[copy]
    }

    /// Decides the program counter of a copy.
    fn pin(&mut self, loc: LocId, copy: usize) {
        for (level, value) in self.template.pc_literals(loc, &self.states[copy][0]) {
            self.assignment.decide(level, value);
        }
    }

    /// Decides the known fields of a row in a copy.
    fn fill(&mut self, loc: LocId, values: &[u64], copy: usize) {
        let proc = self.proc(loc);
        let layout = self.template.machine.layout(proc);
        let (template, states) = (self.template, &self.states);
        let levels = |field| Some(template.levels(proc, field, &states[copy]));
        decide(&mut self.assignment, layout, values, levels);
        self.pin(loc, copy);
    }

    /// Decides what is known of the entry, in a copy.
    fn recall_entry(&mut self, entry: &[Literal], copy: u32) {
        for &(level, value) in entry {
            self.assignment.decide(level + copy, value);
        }
    }

    /// Looks for a state at `from`, in copy 1, before the values of a goal at `to`, in a copy, in a call entered so.
    fn look_for(&mut self, from: LocId, entry: &[Literal], to: LocId, goal: &[u64], copy: usize) {
        self.assignment.clear();
        self.pin(from, 1);
        self.fill(to, goal, copy);
        self.recall_entry(entry, 0);
    }

    /// The first of these growing sets that has what is looked for.
    fn earliest(&mut self, entries: bool) -> Result<usize, Interrupted> {
        let count = if entries { self.entries.len() } else { self.paths.len() };
        let (mut low, mut high) = (0, count - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let set = if entries { self.entries[middle] } else { self.paths[middle] };
            match self.bdd.meets(set, &self.assignment)? {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        Ok(low)
    }

    /// The row and the entry of a copy, given what was picked.
    fn before(&self, loc: LocId, picked: &mut Vec<Literal>) -> (Point, Row) {
        // Relations say nothing of what does not matter, but formulas may: at an entry all bits are equal.
        let row = self.row(loc, picked, 1, |field| self.template.machine.is_live(loc, field));
        ((loc, self.entry_literals(picked, 0)), row)
    }

    fn row(&self, loc: LocId, picked: &mut Vec<Literal>, copy: usize, wanted: impl Fn(usize) -> bool) -> Row {
        let proc = self.proc(loc);
        let layout = self.template.machine.layout(proc);
        row(layout, picked, |field| {
            wanted(field).then(|| self.template.levels(proc, field, self.state(copy)))
        })
    }

    /// What was picked of the values of a copy, as literals of copy 0.
    fn entry_literals(&self, picked: &[Literal], copy: usize) -> Literals {
        let state = self.state(copy);
        let is_value =
            |level: u32| state[1].binary_search(&level).is_ok() || state[2].binary_search(&level).is_ok();
        let found = picked.iter().filter(|(level, _)| is_value(*level));
        found.map(|&(level, value)| (level - copy as u32, value)).collect()
    }

    fn step_relation(&mut self, edge: EdgeId) -> Result<Ref, Interrupted> {
        if let Some(&known) = self.steps.get(&edge) {
            return Ok(known);
        }
        let relation = self.template.step(self.bdd, edge, &self.states[1], &self.states[2])?;
        self.steps.insert(edge, relation);
        Ok(relation)
    }

    /// The summaries of a procedure found up to some time, moved to copies 2 and 3.
    fn summaries(&mut self, time: usize, callee: ProcId) -> Result<Ref, Interrupted> {
        if let Some(&known) = self.moved.get(&(time, callee)) {
            return Ok(known);
        }
        let proc = &self.template.machine.program.procs()[callee];
        let mut pins = self.template.pc_literals(proc.entry, &self.states[0][0]);
        pins.extend(self.template.pc_literals(proc.exit, &self.states[1][0]));
        let here = self.bdd.cube(&pins)?;
        let pairs = |from: usize| {
            let all = self.states[from].iter().zip(&self.states[from + 2]);
            all.flat_map(|(from, to)| from.iter().copied().zip(to.iter().copied())).collect::<Vec<_>>()
        };
        let moves = [pairs(0), pairs(1)].concat();
        let plan = self.bdd.plan([], moves);
        let moved = self.bdd.image(here, self.paths[time], plan)?;
        self.moved.insert((time, callee), moved);
        Ok(moved)
    }

    fn predecessor_of(&mut self, point: &Point, goal: &[u64]) -> Result<Predecessor<Point>, Interrupted> {
        let (loc, entry) = point;
        self.assignment.clear();
        self.fill(*loc, goal, 1);
        self.pin(self.template.machine.program.procs()[self.proc(*loc)].entry, 0);
        self.recall_entry(entry, 0);
        let time = self.earliest(false)?;
        if time == 0 {
            return Ok(Predecessor::Entry);
        }
        for edge in self.leading.get(loc).cloned().unwrap_or_default() {
            let call = matches!(self.template.machine.program.edges()[edge].action, Action::Call { .. });
            let found = match call {
                false => self.stepped(edge, time - 1, entry, goal)?,
                true => self.returned(edge, time - 1, entry, goal)?,
            };
            if let Some(origin) = found {
                return Ok(origin);
            }
        }
        Ok(Predecessor::Entry)
    }

    fn stepped(
        &mut self,
        edge: EdgeId,
        time: usize,
        entry: &[Literal],
        goal: &[u64],
    ) -> Result<Option<Predecessor<Point>>, Interrupted> {
        let (from, to) = self.ends(edge);
        let relation = self.step_relation(edge)?;
        self.look_for(from, entry, to, goal, 2);
        let Some(mut picked) = self.bdd.pick_all(&[self.paths[time], relation], &self.assignment)? else {
            return Ok(None);
        };
        let (from, row) = self.before(from, &mut picked);
        Ok(Some(Predecessor::Step { from, row, edge }))
    }

    fn returned(
        &mut self,
        edge: EdgeId,
        time: usize,
        entry: &[Literal],
        goal: &[u64],
    ) -> Result<Option<Predecessor<Point>>, Interrupted> {
        let (from, to) = self.ends(edge);
        let (call, callee) = (self.template.machine.call(edge), self.template.machine.callee(edge));
        let proc = &self.template.machine.program.procs()[callee];
        let summaries = self.summaries(time, callee)?;
        if summaries == Ref::FALSE {
            return Ok(None);
        }
        let into = self.template.call(self.bdd, edge, &self.states[1], &self.states[2], proc.entry)?;
        let waited = self.template.waited(self.bdd, edge, &self.states[1], &self.states[4])?;
        let brought = self.template.brought(self.bdd, edge, &self.states[3], &self.states[4])?;
        let back = self.bdd.and(waited, brought)?;
        self.look_for(from, entry, to, goal, 4);
        let parts = [self.paths[time], into, summaries, back];
        let Some(mut picked) = self.bdd.pick_all(&parts, &self.assignment)? else { return Ok(None) };
        let inside =
            self.row(proc.exit, &mut picked, 3, |field| call.back().any(|(_, there)| there == field));
        let exit = (proc.exit, self.entry_literals(&picked, 2));
        let (from, row) = self.before(from, &mut picked);
        Ok(Some(Predecessor::Return { from, row, edge, exit, inside }))
    }

    fn ends(&self, edge: EdgeId) -> (LocId, LocId) {
        let edge = &self.template.machine.program.edges()[edge];
        (edge.from, edge.to)
    }

    fn caller_of(&mut self, point: &Point, goal: &[u64]) -> Result<Option<Caller<Point>>, Interrupted> {
        let (loc, entry) = point;
        let callee = self.proc(*loc);
        if callee == self.template.machine.program.main() {
            return Ok(None);
        }
        let apart = !self.entries.is_empty();
        self.assignment.clear();
        self.fill(*loc, goal, 0);
        self.recall_entry(entry, 0);
        if !apart {
            self.fill(*loc, goal, 1);
            self.recall_entry(entry, 1);
        }
        let time = self.earliest(apart)?;
        let before = time.checked_sub(1).expect("nobody but main is there at first");
        let mut parts = match apart {
            true => vec![self.entries[before], *self.paths.last().expect("something was found")],
            false => vec![self.paths[before]],
        };
        parts.push(Ref::TRUE);
        let last = parts.len() - 1;
        for edge in self.calling.get(&callee).cloned().unwrap_or_default() {
            let (from, _) = self.ends(edge);
            parts[last] = self.template.call(self.bdd, edge, &self.states[1], &self.states[2], *loc)?;
            self.assignment.clear();
            self.pin(from, 1);
            self.pin(self.template.machine.program.procs()[self.proc(from)].entry, 0);
            self.fill(*loc, goal, 2);
            self.recall_entry(entry, 2);
            if let Some(mut picked) = self.bdd.pick_all(&parts, &self.assignment)? {
                let (from, row) = self.before(from, &mut picked);
                return Ok(Some(Caller { from, row, edge }));
            }
        }
        unreachable!("what was entered was called")
    }

    fn why(&self) -> Why {
        self.budget.check_writing().err().unwrap_or(Why::Memory(self.budget.memory()))
    }
}

impl History for Recorded<'_, '_, '_, '_> {
    type Point = Point;

    fn loc(&self, point: &Point) -> LocId {
        point.0
    }

    fn predecessor(&mut self, point: &Point, goal: &[u64]) -> Result<Predecessor<Point>, Why> {
        self.predecessor_of(point, goal).map_err(|_| self.why())
    }

    fn caller(&mut self, entry: &Point, goal: &[u64]) -> Result<Option<Caller<Point>>, Why> {
        self.caller_of(entry, goal).map_err(|_| self.why())
    }
}

impl Recorded<'_, '_, '_, '_> {
    /// A location that some run comes to, with an entry from which it does: where entries are kept apart, paths also
    /// begin at entries that no call leads to.
    pub fn reached(&mut self, loc: LocId) -> Result<Option<Point>, Interrupted> {
        self.assignment.clear();
        self.pin(loc, 1);
        self.pin(self.template.machine.program.procs()[self.proc(loc)].entry, 0);
        let Some(&paths) = self.paths.last() else { return Ok(None) };
        let Some(&entries) = self.entries.last() else {
            return Ok(self.bdd.meets(paths, &self.assignment)?.then(|| (loc, Literals::new())));
        };
        let picked = self.bdd.pick_all(&[paths, entries], &self.assignment)?;
        Ok(picked.map(|picked| (loc, self.entry_literals(&picked, 0))))
    }
}
