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
//! A worklist over locations; each set holds one bit per field of its procedure and only grows.

use super::scope::Scopes;
use postbop_ir::{Action, Edge, EdgeId, Expr, Id, Loc, LocId, Op, ProcId, Program, Table, VarId};
use postbop_kit::bits;
use postbop_kit::groups::Groups;
use smallvec::SmallVec;

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

    /// Every variable is live everywhere, and results at exits.
    pub fn full(program: &Program, scopes: &Scopes) -> Self {
        let mut live = Live::nothing(program, scopes);
        for (id, loc) in program.locs.pairs() {
            let exit = program.procs[loc.proc].exit == id;
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
            for (id, loc) in program.locs.pairs() {
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
                program.locs.pairs().any(at)
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
            program.procs.ids().map(|proc| bits::words(scopes.len(program, proc)) as u32).collect();
        let mut end = 0;
        let mut place = |size: u32| {
            let start = end;
            end += size;
            start
        };
        let first = program.locs.iter().map(|loc| place(size[loc.proc])).collect();
        Live { words: vec![0; end as usize], first, size }
    }

    /// The live fields at a location, as a set of bits.
    pub fn at(&self, program: &Program, loc: LocId) -> &[u64] {
        let first = self.first[loc] as usize;
        &self.words[first..first + self.size[program.locs[loc].proc] as usize]
    }

    fn grow(&mut self, program: &Program, loc: LocId, more: &[u64]) -> bool {
        let first = self.first[loc] as usize;
        bits::union(&mut self.words[first..first + self.size[program.locs[loc].proc] as usize], more)
    }
}

struct Solver<'a> {
    program: &'a Program,
    scopes: &'a Scopes,
    live: Live,
    /// Edges by the location they lead to, and calls by the procedure they call.
    entering: Groups,
    calls: Groups,
    work: Vec<LocId>,
    /// All edges are passed once, the last one first; this is how far that is.
    swept: EdgeId,
    scratch: Vec<u64>,
}

impl<'a> Solver<'a> {
    fn new(program: &'a Program, scopes: &'a Scopes, live: Live) -> Self {
        let ends = program.edges.pairs().map(|(id, edge)| (edge.to.index(), id.0));
        let entering = Groups::new(program.locs.len(), ends);
        let called = |(id, edge): (EdgeId, &Edge)| match edge.action {
            Action::Call { callee, .. } => Some((callee.index(), id.0)),
            _ => None,
        };
        let calls = Groups::new(program.procs.len(), program.edges.pairs().filter_map(called));
        Solver {
            program,
            scopes,
            live,
            entering,
            calls,
            work: Vec::new(),
            swept: EdgeId(0),
            scratch: Vec::new(),
        }
    }

    fn solve(mut self) -> Live {
        for id in self.program.edges.ids().rev() {
            self.swept = id;
            self.pass(id);
        }
        self.swept = EdgeId(0);
        while let Some(loc) = self.work.pop() {
            for at in self.entering.range(loc.index()) {
                self.pass(EdgeId(self.entering.member(at)));
            }
            let proc = self.program.locs[loc].proc;
            if self.program.procs[proc].entry == loc {
                for at in self.calls.range(proc.index()) {
                    self.pass(EdgeId(self.calls.member(at)));
                }
            }
        }
        self.live
    }

    /// Makes live before an edge what is live because of it.
    fn pass(&mut self, id: EdgeId) {
        let edge = &self.program.edges[id];
        if let Action::Call { callee, .. } = edge.action {
            self.pass_to_exit(edge, callee);
        }
        let before = self.before(edge);
        self.grow(edge.from, &before);
        self.scratch = before;
    }

    /// Makes more live at a location. What leads there is passed again, unless the sweep comes to all of it anyway.
    fn grow(&mut self, loc: LocId, more: &[u64]) {
        if !self.live.grow(self.program, loc, more) {
            return;
        }
        let proc = self.program.locs[loc].proc;
        let called = self.program.procs[proc].entry == loc;
        let calls = if called { self.calls.of(proc.index()) } else { &[] };
        let last = self.entering.of(loc.index()).last().max(calls.last());
        if last.is_some_and(|&last| last >= self.swept.0) {
            self.work.push(loc);
        }
    }

    fn before(&mut self, edge: &Edge) -> Vec<u64> {
        let proc = self.program.locs[edge.from].proc;
        let mut set = std::mem::take(&mut self.scratch);
        set.clear();
        set.extend_from_slice(self.live.at(self.program, edge.to));
        let reads = |set: &mut Vec<u64>, expr: &Expr| {
            for var in expr.reads() {
                let field = self.scopes.field(self.program, proc, var).expect("what is read is touched");
                bits::insert(set, field);
            }
        };
        let field = |var| self.scopes.field(self.program, proc, var).expect("what is written is touched");
        match &edge.action {
            Action::Assume(condition) => reads(&mut set, condition),
            Action::Havoc(vars) => vars.iter().for_each(|&var| bits::remove(&mut set, field(var))),
            Action::Assign { targets, values, constraint } => {
                for op in constraint.iter().flat_map(|constraint| &constraint.code) {
                    if let Op::Next(var) = *op {
                        bits::insert(&mut set, field(var));
                    }
                }
                let needed: SmallVec<[bool; 16]> =
                    targets.iter().map(|&var| bits::contains(&set, field(var))).collect();
                targets.iter().for_each(|&var| bits::remove(&mut set, field(var)));
                values
                    .iter()
                    .zip(needed)
                    .filter(|(_, needed)| *needed)
                    .for_each(|(value, _)| reads(&mut set, value));
                constraint.iter().for_each(|constraint| reads(&mut set, constraint));
            }
            Action::Return(values) => {
                let first = self.scopes.first_result(self.program, proc);
                let needed: SmallVec<[bool; 16]> =
                    (0..values.len()).map(|at| bits::contains(&set, first + at)).collect();
                (0..values.len()).for_each(|at| bits::remove(&mut set, first + at));
                values
                    .iter()
                    .zip(needed)
                    .filter(|(_, needed)| *needed)
                    .for_each(|(value, _)| reads(&mut set, value));
            }
            Action::Call { callee, args, results } => {
                results.iter().flatten().for_each(|&var| bits::remove(&mut set, field(var)));
                let entry = self.live.at(self.program, self.program.procs[*callee].entry);
                let globals = self.scopes.globals(*callee);
                for (at, &var) in globals.iter().enumerate() {
                    match bits::contains(entry, at) {
                        true => drop(bits::insert(&mut set, field(var))),
                        false => bits::remove(&mut set, field(var)),
                    }
                }
                for (at, arg) in args.iter().enumerate() {
                    if bits::contains(entry, globals.len() + at) {
                        reads(&mut set, arg);
                    }
                }
            }
        }
        set
    }

    /// What is live after a call is live at the exit of what it calls.
    fn pass_to_exit(&mut self, edge: &Edge, callee: ProcId) {
        let Action::Call { results, .. } = &edge.action else { return };
        let (program, scopes) = (self.program, self.scopes);
        let proc = program.locs[edge.from].proc;
        let after = self.live.at(program, edge.to);
        let live =
            |var| bits::contains(after, scopes.field(program, proc, var).expect("callers touch it too"));
        let mut set = vec![0; bits::words(scopes.len(program, callee))];
        for (at, &var) in scopes.globals(callee).iter().enumerate() {
            if live(var) && !results.contains(&Some(var)) {
                bits::insert(&mut set, at);
            }
        }
        let first = scopes.first_result(program, callee);
        for (at, result) in results.iter().enumerate() {
            if result.is_some_and(live) {
                bits::insert(&mut set, first + at);
            }
        }
        self.grow(program.procs[callee].exit, &set);
    }
}
