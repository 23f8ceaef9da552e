//! Room `engine/encode`: which values still matter.
//!
//! # Idea
//!
//! A variable is *live* at a location if on some way from there its value can decide a condition before it is
//! overwritten. Anything else may be forgotten. Liveness here is strong: a value read only to be stored in a variable
//! that is itself not live does not count. It crosses procedures: what is live where a call returns is live at the
//! callee's exit, and what is live at a callee's entry is live where it is called. All calls of a procedure are
//! joined, so the result is a safe over-estimate for each.
//!
//! # Paper
//!
//! \[bebop\] section 3.3, live ranges. # Departures: strong, and across calls.
//!
//! # Cost
//!
//! Each set holds one bit per field of its procedure and only grows. A call moves the bits of the globals that both procedures touch between
//! two sets, by runs of neighbours. All edges are passed once, callees before callers and
//! later locations before earlier ones; then a worklist takes turns: variables that are live at entries go up to the callers, lowest
//! procedures first, and variables that are live at exits go down to the callees, highest procedures first. A chain
//! of calls so takes two turns, however long it is.

use super::scope::Scopes;
use super::transfer::Transfers;
use postbop_ir::{Action, Edge, EdgeId, Id, Loc, LocId, ProcId, Program, Table, VarId};
use postbop_kit::bits;
use postbop_kit::groups::Groups;
use rustc_hash::FxHashMap as HashMap;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// For each location the fields whose values matter there.
pub struct Live {
    words: Vec<u64>,
    first: Table<LocId, u32>,
    size: Table<ProcId, u32>,
}

impl Live {
    /// The live fields of every location.
    pub fn new(program: &Program, scopes: &Scopes) -> Self {
        Solver::new(program, scopes, Live::nothing(program, scopes)).solve()
    }

    /// As [`Live::new`], but the results of a procedure, and the globals that it can touch, matter where it ends.
    pub fn observed(program: &Program, scopes: &Scopes, proc: ProcId) -> Self {
        let mut live = Live::nothing(program, scopes);
        let first = live.first[program.procs()[proc].exit] as usize;
        let results = scopes.first_result(program, proc)..scopes.len(program, proc);
        for field in (0..scopes.globals(proc).len()).chain(results) {
            bits::insert(&mut live.words[first..], field);
        }
        Solver::new(program, scopes, live).solve()
    }

    /// Every variable is live everywhere, and results at exits.
    pub fn full(program: &Program, scopes: &Scopes) -> Self {
        let mut live = Live::nothing(program, scopes);
        for (id, loc) in program.locs().pairs() {
            let exit = program.procs()[loc.proc].exit == id;
            let count =
                if exit { scopes.len(program, loc.proc) } else { scopes.first_result(program, loc.proc) };
            let first = live.first[id] as usize;
            for field in 0..count {
                bits::insert(&mut live.words[first..], field);
            }
        }
        live
    }

    /// As [`Live::new`], but a global that matters anywhere matters everywhere: another thread may look at it. So do those
    /// that are named.
    pub fn threads(program: &Program, scopes: &Scopes, named: &[VarId]) -> Self {
        let mut everywhere = named.to_vec();
        loop {
            let mut live = Live::nothing(program, scopes);
            for (id, loc) in program.locs().pairs() {
                let first = live.first[id] as usize;
                for field in everywhere.iter().filter_map(|&var| scopes.field(program, loc.proc, var)) {
                    bits::insert(&mut live.words[first..], field);
                }
            }
            let live = Solver::new(program, scopes, live).solve();
            let matters = |var: &VarId| {
                let at = |(id, loc): (LocId, &Loc)| {
                    let field = scopes.field(program, loc.proc, *var);
                    field.is_some_and(|field| bits::contains(live.at(program, id), field))
                };
                program.locs().pairs().any(at)
            };
            let more: Vec<VarId> = program.globals().filter(matters).collect();
            if more.len() == everywhere.len() {
                return live;
            }
            everywhere = more;
        }
    }

    fn nothing(program: &Program, scopes: &Scopes) -> Self {
        let size: Table<ProcId, u32> =
            program.procs().ids().map(|proc| bits::words(scopes.len(program, proc)) as u32).collect();
        let mut end = 0;
        let mut place = |size: u32| {
            let start = end;
            end += size;
            start
        };
        let first = program.locs().iter().map(|loc| place(size[loc.proc])).collect();
        Live { words: vec![0; end as usize], first, size }
    }

    /// The live fields at a location, as a set of bits.
    pub fn at(&self, program: &Program, loc: LocId) -> &[u64] {
        let first = self.first[loc] as usize;
        &self.words[first..first + self.size[program.locs()[loc].proc] as usize]
    }

    fn grow(&mut self, program: &Program, loc: LocId, more: &[u64]) -> bool {
        let first = self.first[loc] as usize;
        bits::union(&mut self.words[first..first + self.size[program.locs()[loc].proc] as usize], more)
    }
}

/// For each call, by the lists of globals of caller and callee, the caller's fields that the callee shares.
fn masks(
    program: &Program,
    scopes: &Scopes,
    transfers: &Transfers,
    calls: &Groups,
) -> HashMap<(u32, u32), Vec<u64>> {
    let mut masks = HashMap::default();
    for callee in program.procs().ids() {
        for &call in calls.of(callee.index()) {
            let caller = program.locs()[transfers.from(EdgeId(call))].proc;
            masks.entry((scopes.list(caller), scopes.list(callee))).or_insert_with(|| {
                let mut mask = vec![0; bits::words(scopes.globals(caller).len())];
                for (here, _) in scopes.shared(caller, callee) {
                    bits::insert(&mut mask, here);
                }
                mask
            });
        }
    }
    masks
}

struct Solver<'a> {
    program: &'a Program,
    scopes: &'a Scopes,
    live: Live,
    transfers: Transfers,
    /// Edges by the location they lead to, and calls by the procedure they call.
    entering: Groups,
    calls: Groups,
    /// Where more became live, and what leads there is to be passed again.
    grown: Vec<u64>,
    /// The same locations, some of them more than once, with the rank of the procedure: least first, and on the way down greatest first.
    up: BinaryHeap<(Reverse<u32>, LocId)>,
    down: BinaryHeap<(u32, LocId)>,
    /// Whether the turn is that of the way down.
    descending: bool,
    /// The locations whose edges were passed at least once.
    passed: Vec<u64>,
    scratch: Vec<u64>,
    /// The caller's fields that are globals which the callee touches too, by the lists of caller and callee. The callee's fields are the
    /// positions in this set, since both have their globals in the same order.
    masks: HashMap<(u32, u32), Vec<u64>>,
}

impl<'a> Solver<'a> {
    fn new(program: &'a Program, scopes: &'a Scopes, live: Live) -> Self {
        let transfers = Transfers::new(program, scopes);
        let ends = program.edges().ids().map(|id| (transfers.to(id).index(), id.0));
        let entering = Groups::new(program.locs().len(), ends);
        let called = |id: EdgeId| Some((transfers.callee(id)?.index(), id.0));
        let calls = Groups::new(program.procs().len(), program.edges().ids().filter_map(called));
        let masks = masks(program, scopes, &transfers, &calls);
        let (up, down, scratch) = Default::default();
        let passed = vec![0; bits::words(program.locs().len())];
        let grown = passed.clone();
        Solver {
            program,
            scopes,
            live,
            transfers,
            entering,
            calls,
            grown,
            up,
            down,
            descending: false,
            passed,
            scratch,
            masks,
        }
    }

    fn solve(mut self) -> Live {
        self.sweep();
        loop {
            let next = match self.descending {
                true => self.down.pop().map(|(_, loc)| loc),
                false => self.up.pop().map(|(_, loc)| loc),
            };
            let Some(loc) = next else {
                if self.up.is_empty() && self.down.is_empty() {
                    return self.live;
                }
                self.descending = !self.descending;
                continue;
            };
            if !bits::contains(&self.grown, loc.index()) {
                continue;
            }
            bits::remove(&mut self.grown, loc.index());
            for at in self.entering.range(loc.index()) {
                self.pass(EdgeId(self.entering.member(at)));
            }
            let proc = self.program.locs()[loc].proc;
            if self.program.procs()[proc].entry == loc {
                for at in self.calls.range(proc.index()) {
                    self.pass_back(EdgeId(self.calls.member(at)));
                }
            }
        }
    }

    /// Passes all edges once, callees first, those of a procedure in the order in which a depth-first search leaves their
    /// locations.
    fn sweep(&mut self) {
        let mut procs: Vec<ProcId> = self.program.procs().ids().collect();
        procs.sort_by_key(|&proc| self.scopes.rank(proc));
        let entries = procs.iter().map(|&proc| self.program.procs()[proc].entry);
        let mut seen = vec![0; self.passed.len()];
        let mut path: Vec<(LocId, usize)> = Vec::new();
        for root in entries.chain(self.program.locs().ids()) {
            if bits::insert(&mut seen, root.index()) {
                path.push((root, 0));
            }
            while let Some((loc, next)) = path.last_mut() {
                let edges = self.program.leaving(*loc);
                if let Some(&edge) = edges.get(*next) {
                    *next += 1;
                    let to = self.transfers.to(edge);
                    if bits::insert(&mut seen, to.index()) {
                        path.push((to, 0));
                    }
                    continue;
                }
                bits::insert(&mut self.passed, loc.index());
                path.pop();
                edges.iter().for_each(|&edge| self.pass(edge));
            }
        }
    }

    /// Makes live before an edge what is live because of it.
    fn pass(&mut self, id: EdgeId) {
        if let Some(callee) = self.transfers.callee(id) {
            self.pass_to_exit(&self.program.edges()[id], callee);
        }
        self.pass_back(id);
    }

    fn pass_back(&mut self, id: EdgeId) {
        let before = self.before(id);
        self.grow(self.transfers.from(id), &before, self.descending);
        self.scratch = before;
    }

    /// Makes more live at a location. The edges that lead there are passed again, unless the first sweep comes to them anyway.
    fn grow(&mut self, loc: LocId, more: &[u64], down: bool) {
        if !self.live.grow(self.program, loc, more) {
            return;
        }
        let proc = self.program.locs()[loc].proc;
        let called = self.program.procs()[proc].entry == loc;
        let calls = if called { self.calls.of(proc.index()) } else { &[] };
        let mut leading = self.entering.of(loc.index()).iter().chain(calls);
        if leading.any(|&edge| bits::contains(&self.passed, self.transfers.from(EdgeId(edge)).index())) {
            bits::insert(&mut self.grown, loc.index());
            let rank = self.scopes.rank(proc);
            match down {
                true => self.down.push((rank, loc)),
                false => self.up.push((Reverse(rank), loc)),
            }
        }
    }

    /// The caller's fields that the callee shares.
    fn mask(&self, caller: ProcId, callee: ProcId) -> &[u64] {
        &self.masks[&(self.scopes.list(caller), self.scopes.list(callee))]
    }

    /// The fields that are live before an edge because of it.
    fn before(&mut self, id: EdgeId) -> Vec<u64> {
        let mut set = std::mem::take(&mut self.scratch);
        set.clear();
        set.extend_from_slice(self.live.at(self.program, self.transfers.to(id)));
        let Some(callee) = self.transfers.callee(id) else {
            self.transfers.back(id, &mut set);
            return set;
        };
        let caller = self.program.locs()[self.transfers.from(id)].proc;
        let entry = self.live.at(self.program, self.program.procs()[callee].entry);
        let first = self.scopes.globals(callee).len();
        self.transfers.back_call(id, &mut set, entry, self.mask(caller, callee), first);
        set
    }

    /// Makes what is live after a call live at the exit of the callee.
    fn pass_to_exit(&mut self, edge: &Edge, callee: ProcId) {
        let Action::Call { results, .. } = &edge.action else { return };
        let (program, scopes) = (self.program, self.scopes);
        let proc = program.locs()[edge.from].proc;
        let after = self.live.at(program, edge.to);
        let live =
            |var| bits::contains(after, scopes.field(program, proc, var).expect("callers touch it too"));
        let mut set: SmallVec<[u64; 4]> = SmallVec::from_elem(0, bits::words(scopes.len(program, callee)));
        bits::gather(&mut set, after, self.mask(proc, callee));
        // A global that receives a result does not keep the value that the callee leaves in it.
        for field in results.iter().flatten().filter_map(|&var| scopes.field(program, callee, var)) {
            if field < scopes.globals(callee).len() {
                bits::remove(&mut set, field);
            }
        }
        let first = scopes.first_result(program, callee);
        for (at, result) in results.iter().enumerate() {
            if result.is_some_and(live) {
                bits::insert(&mut set, first + at);
            }
        }
        self.grow(program.procs()[callee].exit, &set, true);
    }
}
