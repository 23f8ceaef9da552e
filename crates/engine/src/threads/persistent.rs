//! Room `engine/threads`: which threads have to go on, in a search for deadlocks.
//!
//! # Idea
//!
//! Most orders in which threads take their steps lead to the same deadlocks. A set of threads is *persistent* in a configuration if nothing that the
//! other threads can ever do, while these stand still, has to do with what these do next: no variable that one of them writes is mentioned by the
//! other. Then every run to a deadlock has a step of a thread in the set, and that step could as well have come first. So it is enough to let
//! the threads of one persistent set go on, as long as one of them can move for sure.
//!
//! What a thread does next is what it does until it can be left again. What the others can do meanwhile is read off their control flow from where they are. A
//! variable that none of them may have written yet has the value that it has now, so a thread that has to wait for a thread of the set is known to do so.
//!
//! # Paper
//!
//! \[persistent-sets\], the algorithm of conflicting transitions. # Departures: sets of threads instead of transitions, of which the smallest is taken; a thread
//! that may wait for some values that are left open counts as one that cannot move for sure.
//!
//! # Cost
//!
//! For each configuration, and each thread with which a set may begin, a walk through the code of the others.

use super::configurations::Store;
use super::resume_points::shared;
use crate::encode::machine::code::Machine;
use crate::encode::machine::expand::{Expander, Next, Site};
use postbop_ir::eval::{Cell, Env, eval};
use postbop_ir::{Action, EdgeId, LocId, ProcId, Program, Table, ThreadId, Value, VarId};
use postbop_kit::bits;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Shared variables that are read, and then those that are written.
type Access = Vec<u64>;

/// Which threads have to go on.
pub struct Persistent<'m, 'a> {
    program: &'a Program,
    machine: &'m Machine<'a>,
    expander: Expander<'m, 'a>,
    shared: HashMap<VarId, usize>,
    words: usize,
    /// Where a thread can be left.
    leavable: Table<LocId, bool>,
    /// The procedures by which threads ask about each other: they change nothing.
    asks: Table<ProcId, bool>,
    /// For each edge what it mentions, and whether nothing is left behind it but to ask: the thread waits.
    own: Table<EdgeId, Access>,
    waits: Table<EdgeId, bool>,
    /// For locations what happens next.
    next: HashMap<LocId, Access>,
}

impl<'m, 'a> Persistent<'m, 'a> {
    /// For a program that asks for deadlocks, unless it has atomic sections: there the thread that runs matters.
    pub fn new(machine: &'m Machine<'a>, noticed: &Table<LocId, bool>) -> Option<Self> {
        let program = machine.program;
        if program.atomic().is_some() {
            return None;
        }
        let asks = asks(program);
        let shared = shared(program, &program.thread_of());
        let shared: HashMap<VarId, usize> = shared.into_iter().zip(0..).collect();
        let words = bits::words(shared.len());
        let leavable = program.locs().pairs().map(|(id, loc)| noticed[id] && !loc.inner).collect();
        let (expander, next) = (Expander::new(machine), HashMap::default());
        let (own, waits) = (Table::new(), Table::new());
        let mut persistent =
            Persistent { program, machine, expander, shared, words, leavable, asks, own, waits, next };
        persistent.own = program.edges().ids().map(|id| persistent.mentioned(id)).collect();
        persistent.waits = program.edges().ids().map(|id| persistent.leads_to_ask(id)).collect();
        Some(persistent)
    }

    fn none(&self) -> Access {
        vec![0; 2 * self.words]
    }

    /// What an edge itself mentions. A call that asks about other threads counts for nothing.
    fn mentioned(&self, id: EdgeId) -> Access {
        let mut access = self.none();
        let action = &self.program.edges()[id].action;
        if self.is_ask(id) {
            return access;
        }
        let (read, written) = access.split_at_mut(self.words);
        for var in action.mentions() {
            self.shared.get(&var).map(|&at| bits::insert(read, at));
        }
        for var in action.writes() {
            self.shared.get(&var).map(|&at| bits::insert(written, at));
        }
        access
    }

    /// Whether a thread starts in a procedure. Nothing calls it.
    fn is_main(&self, proc: ProcId) -> bool {
        self.program.threads().iter().any(|thread| thread.main == proc)
    }

    /// Whether an edge calls a procedure that asks about other threads.
    fn is_ask(&self, id: EdgeId) -> bool {
        matches!(self.program.edges()[id].action, Action::Call { callee, .. } if self.asks[callee])
    }

    /// Whether the thread waits if it takes an edge.
    pub fn is_wait(&self, id: EdgeId) -> bool {
        self.waits[id]
    }

    /// Whether an edge leads to where nothing is left but to ask.
    fn leads_to_ask(&self, id: EdgeId) -> bool {
        let after = self.program.leaving(self.program.edges()[id].to);
        !after.is_empty() && after.iter().all(|&edge| self.is_ask(edge))
    }

    /// What happens from a location on until the thread can be left again: anything, if its procedure may return before.
    fn next(&mut self, loc: LocId) -> &Access {
        if !self.next.contains_key(&loc) {
            let mut access = self.none();
            let mut seen = HashSet::from_iter([loc]);
            let mut work = vec![loc];
            while let Some(here) = work.pop() {
                for &id in self.program.leaving(here) {
                    bits::union(&mut access, &self.own[id]);
                    let edge = &self.program.edges()[id];
                    let to = match edge.action {
                        Action::Call { .. } if self.is_ask(id) => continue,
                        Action::Call { callee, .. } => self.program.procs()[callee].entry,
                        Action::Return(_) => {
                            if !self.is_main(self.program.locs()[here].proc) {
                                access.fill(u64::MAX);
                            }
                            continue;
                        }
                        _ => edge.to,
                    };
                    if !self.leavable[to] && seen.insert(to) {
                        work.push(to);
                    }
                }
            }
            self.next.insert(loc, access);
        }
        &self.next[&loc]
    }

    /// For each thread whether it has to go on from a configuration; none if all have to.
    pub fn threads(&mut self, store: &Store, id: u32) -> Option<Vec<bool>> {
        let count = self.program.threads().len();
        let locs: Vec<LocId> = (0..count).map(|thread| self.loc(store, id, thread)).collect();
        let next: Vec<Access> = locs.iter().map(|&loc| self.next(loc).clone()).collect();
        let mut best: Option<(usize, Vec<bool>)> = None;
        for first in 0..count {
            let least = best.as_ref().map_or(count, |(size, _)| *size);
            if least == 1 || !self.moves_for_sure(store, id, first, locs[first]) {
                continue;
            }
            let mut set = vec![false; count];
            set[first] = true;
            let mut size = 1;
            while size < least {
                let others = Others::new(self, store, id, &set).run();
                let meets = |other: &usize| {
                    let members = (0..count).filter(|&member| set[member]);
                    !set[*other]
                        && members.into_iter().any(|member| self.conflict(&next[member], &others[*other]))
                };
                let more: Vec<usize> = (0..count).filter(meets).collect();
                if more.is_empty() {
                    best = Some((size, set));
                    break;
                }
                size += more.len();
                more.into_iter().for_each(|other| set[other] = true);
            }
        }
        best.map(|(_, set)| set)
    }

    /// Whether one writes what the other mentions.
    fn conflict(&self, one: &Access, other: &Access) -> bool {
        let (read, written) = one.split_at(self.words);
        let (others_read, others_written) = other.split_at(self.words);
        let meet = |a: &[u64], b: &[u64]| a.iter().zip(b).any(|(a, b)| a & b != 0);
        meet(written, others_read) || meet(read, others_written)
    }

    /// The location of a thread in a configuration.
    fn loc(&self, store: &Store, id: u32, thread: usize) -> LocId {
        match store.stack(id, thread) {
            Some(top) => store.frame(top).loc,
            None => self.program.procs()[self.program.threads()[ThreadId(thread as u32)].main].entry,
        }
    }

    /// Whether a thread can move whatever the values are that are left open.
    fn moves_for_sure(&mut self, store: &Store, id: u32, thread: usize, loc: LocId) -> bool {
        let data = &self.program.threads()[ThreadId(thread as u32)];
        let main = &self.program.procs()[data.main];
        if self.program.leaving(loc).is_empty() || data.later && main.entry == loc {
            return false;
        }
        let waits = self.program.leaving(loc).iter().copied().filter(|&edge| self.is_wait(edge));
        let waits: Vec<EdgeId> = waits.collect();
        let Some(top) = store.stack(id, thread) else { return waits.is_empty() };
        let row = store.row(id, top);
        waits.into_iter().all(|edge| {
            let to = self.program.edges()[edge].to;
            let fields = &self.machine.layout(self.program.locs()[to].proc).fields;
            let site = Site { edge: self.machine.edge(edge), to, fields, row: &row };
            self.expander.pause_at = u64::MAX;
            let mark = self.expander.mark();
            let can = self.expander.next(site, mark, true) == Next::Found;
            while can && self.expander.next(site, mark, false) == Next::Found {}
            !can
        })
    }
}

/// What the threads outside of a set can do while those in it stand still.
struct Others<'p, 'm, 'a> {
    from: &'p Persistent<'m, 'a>,
    /// The values of globals, as long as none of these threads can have changed them.
    values: HashMap<VarId, Value>,
    /// For each thread the locations that it may come to, and where its stack returns to.
    reached: Vec<HashSet<LocId>>,
    callers: Vec<Vec<(LocId, EdgeId)>>,
    found: Vec<Access>,
}

impl Env for Others<'_, '_, '_> {
    fn current(&self, var: VarId) -> Cell {
        self.values.get(&var).map_or(Cell::Any, |&value| Cell::Known(value))
    }
    fn next(&self, _: VarId) -> Cell {
        Cell::Any
    }
}

impl<'p, 'm, 'a> Others<'p, 'm, 'a> {
    fn new(from: &'p Persistent<'m, 'a>, store: &Store, id: u32, set: &[bool]) -> Self {
        let program = from.program;
        let fields = &from.machine.layout(program.threads()[ThreadId(0)].main).fields;
        let known = program.globals().zip(fields).map(|(var, field)| (var, field.value(store.globals(id))));
        let values = known.filter_map(|(var, value)| Some((var, value?))).collect();
        let mut others = Others { from, values, reached: Vec::new(), callers: Vec::new(), found: Vec::new() };
        for (thread, inside) in set.iter().enumerate() {
            let start = (!inside).then(|| from.loc(store, id, thread));
            others.reached.push(start.into_iter().collect());
            let mut callers = Vec::new();
            let mut frame = store.stack(id, thread).map(|top| store.frame(top));
            while let Some((caller, call)) = frame.and_then(|frame| frame.caller) {
                callers.push((store.frame(caller).loc, call));
                frame = Some(store.frame(caller));
            }
            others.callers.push(callers);
            others.found.push(from.none());
        }
        others
    }

    /// What each thread may mention.
    fn run(mut self) -> Vec<Access> {
        let program = self.from.program;
        let mut taken: HashSet<EdgeId> = HashSet::default();
        loop {
            let mut grew = false;
            for thread in 0..self.reached.len() {
                let mut work: Vec<LocId> = self.reached[thread].iter().copied().collect();
                while let Some(loc) = work.pop() {
                    for &id in program.leaving(loc) {
                        let asks = self.from.is_ask(id) || self.from.is_wait(id);
                        if asks || taken.contains(&id) || !self.is_possible(id) {
                            continue;
                        }
                        taken.insert(id);
                        grew = true;
                        self.take(thread, id, &mut work);
                    }
                }
            }
            if !grew {
                return self.found;
            }
        }
    }

    /// Whether the condition of an edge may be true.
    fn is_possible(&self, id: EdgeId) -> bool {
        let action = &self.from.program.edges()[id].action;
        let condition = match action {
            Action::Assume(condition) => Some(condition),
            Action::Assign { constraint, .. } => constraint.as_ref(),
            _ => None,
        };
        let value = condition.map(|condition| eval(condition, self, &mut std::iter::empty()));
        !matches!(value, Some(Ok(Cell::Known(Value::FALSE))))
    }

    /// A thread may take an edge.
    fn take(&mut self, thread: usize, id: EdgeId, work: &mut Vec<LocId>) {
        let program = self.from.program;
        let edge = &program.edges()[id];
        bits::union(&mut self.found[thread], &self.from.own[id]);
        for var in edge.action.writes() {
            self.values.remove(&var);
        }
        let mut next = vec![edge.to];
        match edge.action {
            Action::Call { callee, .. } => next.push(program.procs()[callee].entry),
            Action::Return(_) => {
                for (loc, call) in std::mem::take(&mut self.callers[thread]) {
                    bits::union(&mut self.found[thread], &self.from.own[call]);
                    for var in program.edges()[call].action.writes() {
                        self.values.remove(&var);
                    }
                    next.push(loc);
                }
            }
            _ => {}
        }
        work.extend(next.into_iter().filter(|&loc| self.reached[thread].insert(loc)));
    }
}

/// The procedures that never return and in which no thread can be left.
fn asks(program: &Program) -> Table<ProcId, bool> {
    let mut asks: Table<ProcId, bool> = Table::filled(program.procs().len(), true);
    for (id, loc) in program.locs().pairs() {
        asks[loc.proc] &= loc.inner || program.is_exit(id) || program.leaving(id).is_empty();
    }
    for edge in program.edges().iter().filter(|edge| matches!(edge.action, Action::Return(_))) {
        asks[program.locs()[edge.from].proc] = false;
    }
    asks
}
