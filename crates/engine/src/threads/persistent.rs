//! Room `engine/threads`: which threads have to go on, in a search for deadlocks.
//!
//! # Idea
//!
//! Most orders in which threads take their steps lead to the same deadlocks. A set of threads is *persistent* in a configuration if nothing that the
//! other threads can ever do, while these stand still, has to do with what these do next: no variable that one of them writes is mentioned by the
//! other. Then every run to a deadlock has a step of a thread in the set, and that step could as well have come first. So it is enough to let
//! the threads of one persistent set go on, as long as one of them can move for sure.
//!
//! What a thread can ever do is read off the control flow: all that is mentioned from its location on, and from where the calls on its stack return
//! to. What it does next is what it does until it can be left again.
//!
//! # Paper
//!
//! \[persistent-sets\], the algorithm of conflicting transitions. # Departures: sets of threads instead of transitions, of which the smallest is taken; a thread
//! that may wait for some values that are left open counts as one that cannot move for sure.
//!
//! # Cost
//!
//! For each configuration the square of the number of threads, times the words that hold a bit for each shared variable.

use super::configurations::Store;
use super::resume_points::shared;
use crate::encode::machine::code::Machine;
use crate::encode::machine::expand::{Expander, Next, Site};
use postbop_ir::{Action, EdgeId, LocId, ProcId, Program, Table, ThreadId, VarId};
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
    /// For each location what can happen in its procedure from there on, calls included.
    future: Table<LocId, Access>,
    /// For locations what happens next, and whether the procedure may return then.
    next: HashMap<LocId, (Access, bool)>,
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
        let (future, next) = (Table::new(), HashMap::default());
        let expander = Expander::new(machine);
        let mut persistent =
            Persistent { program, machine, expander, shared, words, leavable, asks, future, next };
        persistent.future = persistent.futures();
        Some(persistent)
    }

    fn none(&self) -> Access {
        vec![0; 2 * self.words]
    }

    /// What an edge itself mentions. A call that asks about other threads counts for nothing.
    fn access(&self, id: EdgeId) -> Access {
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

    /// Whether an edge calls a procedure that asks about other threads.
    fn is_ask(&self, id: EdgeId) -> bool {
        matches!(self.program.edges()[id].action, Action::Call { callee, .. } if self.asks[callee])
    }

    /// Whether an edge leads to where nothing is left but to ask: the thread waits.
    pub fn is_wait(&self, id: EdgeId) -> bool {
        let after = self.program.leaving(self.program.edges()[id].to);
        !after.is_empty() && after.iter().all(|&edge| self.is_ask(edge))
    }

    /// What can happen from each location on.
    fn futures(&self) -> Table<LocId, Access> {
        let program = self.program;
        let mut whole: Table<ProcId, Access> = Table::filled(program.procs().len(), self.none());
        let mut future: Table<LocId, Access> = Table::filled(program.locs().len(), self.none());
        let own: Vec<Access> = program.edges().ids().map(|id| self.access(id)).collect();
        loop {
            let mut grew = false;
            for ((id, edge), access) in program.edges().pairs().zip(&own) {
                let mut more = access.clone();
                bits::union(&mut more, &future[edge.to]);
                if let Action::Call { callee, .. } = edge.action
                    && !self.is_ask(id)
                {
                    bits::union(&mut more, &whole[callee]);
                }
                grew |= bits::union(&mut future[edge.from], &more);
            }
            for (id, proc) in program.procs().pairs() {
                grew |= bits::union(&mut whole[id], &future[proc.entry]);
            }
            if !grew {
                return future;
            }
        }
    }

    /// What happens from a location on until the thread can be left again, and whether its procedure may return before.
    fn next(&mut self, loc: LocId) -> &(Access, bool) {
        if !self.next.contains_key(&loc) {
            let (mut access, mut returns) = (self.none(), false);
            let mut seen = HashSet::from_iter([loc]);
            let mut work = vec![loc];
            while let Some(here) = work.pop() {
                for &id in self.program.leaving(here) {
                    bits::union(&mut access, &self.access(id));
                    let edge = &self.program.edges()[id];
                    let to = match edge.action {
                        Action::Call { .. } if self.is_ask(id) => continue,
                        Action::Call { callee, .. } => self.program.procs()[callee].entry,
                        Action::Return(_) => {
                            returns = true;
                            continue;
                        }
                        _ => edge.to,
                    };
                    if !self.leavable[to] && seen.insert(to) {
                        work.push(to);
                    }
                }
            }
            self.next.insert(loc, (access, returns));
        }
        &self.next[&loc]
    }

    /// The location of a thread in a configuration, and what it can ever do from there on.
    fn ahead(&self, store: &Store, id: u32, thread: usize) -> (LocId, Access) {
        let Some(top) = store.stack(id, thread) else {
            let main = self.program.threads()[ThreadId(thread as u32)].main;
            let entry = self.program.procs()[main].entry;
            return (entry, self.future[entry].clone());
        };
        let mut frame = store.frame(top);
        let loc = frame.loc;
        let mut future = self.future[loc].clone();
        while let Some((caller, call)) = frame.caller {
            frame = store.frame(caller);
            bits::union(&mut future, &self.access(call));
            bits::union(&mut future, &self.future[frame.loc]);
        }
        (loc, future)
    }

    /// For each thread whether it has to go on from a configuration; none if all have to.
    pub fn threads(&mut self, store: &Store, id: u32) -> Option<Vec<bool>> {
        let count = self.program.threads().len();
        let ahead: Vec<(LocId, Access)> = (0..count).map(|thread| self.ahead(store, id, thread)).collect();
        let mut next: Vec<Access> = Vec::with_capacity(count);
        for (loc, future) in &ahead {
            let (access, returns) = self.next(*loc);
            next.push(if *returns { future.clone() } else { access.clone() });
        }
        let words = self.words;
        let conflicts = |one: &Access, other: &Access| {
            let (read, written) = one.split_at(words);
            let (others_read, others_written) = other.split_at(words);
            let meet = |a: &[u64], b: &[u64]| a.iter().zip(b).any(|(a, b)| a & b != 0);
            meet(written, others_read) || meet(written, others_written) || meet(read, others_written)
        };
        let mut best: Option<(usize, Vec<bool>)> = None;
        for first in 0..count {
            let mut set = vec![false; count];
            set[first] = true;
            let mut work = vec![first];
            while let Some(one) = work.pop() {
                for other in 0..count {
                    if !set[other] && conflicts(&next[one], &ahead[other].1) {
                        set[other] = true;
                        work.push(other);
                    }
                }
            }
            let size = set.iter().filter(|member| **member).count();
            let better = size < best.as_ref().map_or(count, |(size, _)| *size);
            if better && self.moves_for_sure(store, id, first, ahead[first].0) {
                best = Some((size, set));
            }
        }
        best.map(|(_, set)| set)
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
