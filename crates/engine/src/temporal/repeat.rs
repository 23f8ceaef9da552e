//! Room `engine/temporal`: from *is it visited again and again* to *is it reached*.
//!
//! # Idea
//!
//! A run that goes on for ever comes to some location with the same values again and again, each time in an activation that
//! never returns. So the program is given a memory. At a *head*, once in a run, it may save the location and the values of the
//! variables; from then on the activation that saved may not return; and when a later activation, or the same one, is at the
//! same location with the same values, and a location that is asked about was visited in between, the run has *closed*: what
//! lies between can be repeated for ever. Whether a run closes is a question of reachability, which every engine answers;
//! and the run to that point, without what was added, is a lasso.
//!
//! Heads are the targets of the back edges of a depth-first search, in the control flow and among calls, where the entry of the
//! callee is taken: one on every cycle. Only values that matter at the head are saved.
//!
//! # Paper
//!
//! \[biere-liveness\] for finite systems, \[schuppan-liveness\] for pushdown systems. # Departures: the paper guesses heads
//! anywhere, and keeps the bit *may not return* on the stack; here it is a local variable.
//!
//! # Cost
//!
//! For each type as many copies as variables of it matter at one head, and a flag in each procedure with a head.

use super::wrap::{Draft, Wrapped};
use crate::encode::live::Live;
use crate::encode::scope::Scopes;
use crate::threads::build::{both, constant, equals, number, same};
use crate::verdict::Why;
use postbop_ir::replay::ending;
use postbop_ir::{
    Action, Builder, EdgeId, Expr, LocId, Position, ProcId, Program, Query, Repeat, Step, Table, Task, Trace,
    Type, VarId,
};
use postbop_kit::bits;

/// A program that reaches one of some locations exactly if the one it was made from visits some locations again and again.
pub struct Repeating<'a> {
    /// The program, and what is asked of it.
    pub wrapped: Wrapped<'a>,
    /// The edges that save, and the heads at which they do.
    saves: Vec<(EdgeId, LocId)>,
    scopes: Scopes,
    live: Live,
}

/// The variables that are added.
struct Memory {
    saved: VarId,
    visited: VarId,
    place: VarId,
    place_type: Type,
    /// For each procedure with a head, a local: whether this activation has saved.
    mine: Table<ProcId, Option<VarId>>,
    /// Copies of variables, by type.
    slots: Vec<(Type, Vec<VarId>)>,
}

struct Translator<'a> {
    draft: Draft<'a>,
    memory: Memory,
    heads: Vec<LocId>,
    /// For each head the variables whose values matter there.
    matters: Vec<Vec<VarId>>,
    /// For each location whether visiting it counts.
    counts: Table<LocId, bool>,
    /// Where edges to a location lead instead.
    arrival: Table<LocId, LocId>,
    closed: Vec<LocId>,
    saves: Vec<(EdgeId, LocId)>,
}

/// Translates a query of a task about a sequential program.
pub fn translate<'a>(task: &Task<'a>, query: &Query) -> Repeating<'a> {
    let source = task.program;
    let scopes = Scopes::new(source);
    let live = Live::new(source, &scopes);
    let heads = heads(source);
    let matters: Vec<Vec<VarId>> = heads.iter().map(|&head| matters(source, &scopes, &live, head)).collect();
    let mut counts = Table::filled(source.locs().len(), false);
    // The exit of a procedure that was called is never visited, that of main once.
    query.locs().iter().filter(|loc| !source.is_exit(**loc)).for_each(|&loc| counts[loc] = true);
    if heads.iter().all(|&head| counts[head]) {
        // Coming back to the head is visit enough.
        counts = Table::filled(source.locs().len(), false);
        heads.iter().for_each(|&head| counts[head] = true);
    }
    let mut draft = Draft::new(source);
    let memory = Memory::new(source, &mut draft.out, &heads, &matters);
    let arrival = source.locs().ids().collect();
    let (closed, saves) = (Vec::new(), Vec::new());
    let mut translator = Translator { draft, memory, heads, matters, counts, arrival, closed, saves };
    translator.translate();
    let Translator { mut draft, memory, closed, saves, .. } = translator;
    let (start, over) = draft.start(&[vec![(memory.saved, Expr::bool(false))]]);
    let exit = draft.out.procs()[start].exit;
    draft.add(over, exit, Action::Return(Vec::new()));
    let query = Query::reach(&query.name, closed);
    Repeating { wrapped: draft.finish(start, query), saves, scopes, live }
}

/// One location on every cycle of the control flow, and the entry of one procedure on every cycle of calls.
pub fn heads(program: &Program) -> Vec<LocId> {
    let after: Vec<Vec<u32>> = program
        .locs()
        .ids()
        .map(|loc| program.leaving(loc).iter().map(|&edge| program.edges()[edge].to.0).collect())
        .collect();
    let entries = program.procs().iter().map(|proc| proc.entry.0);
    let mut found = targets_of_back_edges(&after, entries);
    let calls: Vec<Vec<u32>> =
        program.callees().iter().map(|callees| callees.iter().map(|proc| proc.0).collect()).collect();
    let called = targets_of_back_edges(&calls, [program.main().0]);
    found.extend(called.into_iter().map(|proc| program.procs()[ProcId(proc)].entry.0));
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(LocId).collect()
}

/// Where the edges lead that come back to the path of a depth-first search.
fn targets_of_back_edges(after: &[Vec<u32>], starts: impl IntoIterator<Item = u32>) -> Vec<u32> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        OnPath,
        Done,
    }
    let mut marks = vec![Mark::New; after.len()];
    let mut targets = Vec::new();
    for start in starts {
        let mut path = vec![(start, 0)];
        while let Some((at, next)) = path.last_mut() {
            let vertex = *at as usize;
            if *next == 0 && marks[vertex] != Mark::New {
                path.pop();
                continue;
            }
            marks[vertex] = Mark::OnPath;
            let Some(&to) = after[vertex].get(*next) else {
                marks[vertex] = Mark::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match marks[to as usize] {
                Mark::New => path.push((to, 0)),
                Mark::OnPath => targets.push(to),
                Mark::Done => {}
            }
        }
    }
    targets
}

/// The variables whose values matter at a location.
fn matters(program: &Program, scopes: &Scopes, live: &Live, loc: LocId) -> Vec<VarId> {
    let proc = program.locs()[loc].proc;
    let at = live.at(program, loc);
    let fields = 0..scopes.first_result(program, proc);
    let fields = fields.filter(|&field| bits::contains(at, field));
    fields.filter_map(|field| scopes.var(program, proc, field)).collect()
}

impl Memory {
    fn new(source: &Program, out: &mut Builder, heads: &[LocId], matters: &[Vec<VarId>]) -> Self {
        let saved = out.global("%saved", Type::Bool);
        let visited = out.global("%visited", Type::Bool);
        let place_type = number(heads.len().saturating_sub(1) as u32);
        let place = out.global("%place", place_type);
        let mut mine = Table::filled(source.procs().len(), None);
        for head in heads {
            let proc = source.locs()[*head].proc;
            mine[proc] = mine[proc].or_else(|| Some(out.local(proc, "%mine", Type::Bool)));
        }
        let mut memory = Memory { saved, visited, place, place_type, mine, slots: Vec::new() };
        for vars in matters {
            memory.pair(source, out, vars);
        }
        out.set_control(vec![saved, visited, place]);
        memory
    }

    /// A copy for each of some variables; copies that are not there yet are made.
    fn pair(&mut self, source: &Program, out: &mut Builder, vars: &[VarId]) -> Vec<(VarId, VarId)> {
        let mut used = vec![0; self.slots.len()];
        let mut pairs = Vec::with_capacity(vars.len());
        for &var in vars {
            let ty = source.vars()[var].ty;
            let of_type = self.slots.iter().position(|(other, _)| *other == ty).unwrap_or_else(|| {
                self.slots.push((ty, Vec::new()));
                used.push(0);
                self.slots.len() - 1
            });
            let (_, copies) = &mut self.slots[of_type];
            if used[of_type] == copies.len() {
                copies.push(out.global(&format!("%saved {ty} {}", copies.len()), ty));
            }
            pairs.push((var, copies[used[of_type]]));
            used[of_type] += 1;
        }
        pairs
    }
}

impl Translator<'_> {
    fn translate(&mut self) {
        self.visits();
        self.entries();
        self.edges();
        for number in 0..self.heads.len() {
            self.head(number);
        }
    }

    /// Arriving where it counts is noted.
    fn visits(&mut self) {
        let counting = self.counts.pairs().filter(|(_, counts)| **counts).map(|(loc, _)| loc);
        for loc in counting.collect::<Vec<LocId>>() {
            let arrival = self.draft.loc(self.draft.source.locs()[loc].proc);
            self.draft.add(arrival, loc, set(self.memory.visited, true));
            self.arrival[loc] = arrival;
        }
    }

    /// An activation has not saved when it begins.
    fn entries(&mut self) {
        for (id, proc) in self.draft.source.procs().pairs() {
            let mut entry = self.arrival[proc.entry];
            if let Some(mine) = self.memory.mine[id] {
                let before = self.draft.loc(id);
                self.draft.add(before, entry, set(mine, false));
                entry = before;
            }
            self.draft.out.set_entry(id, entry);
        }
    }

    /// An activation that has saved may not return.
    fn edges(&mut self) {
        for (id, edge) in self.draft.source.edges().pairs() {
            let proc = self.draft.source.locs()[edge.from].proc;
            let mut from = edge.from;
            if let (Action::Return(_), Some(mine)) = (&edge.action, self.memory.mine[proc]) {
                from = self.draft.loc(proc);
                self.draft.add(edge.from, from, Action::Assume(Expr::var(mine).negated()));
            }
            self.draft.keep(id, from, self.arrival[edge.to]);
        }
    }

    /// Saving at a head, and closing there.
    fn head(&mut self, number: usize) {
        let head = self.heads[number];
        let proc = self.draft.source.locs()[head].proc;
        let pairs = self.memory.pair(self.draft.source, &mut self.draft.out, &self.matters[number]);
        let Memory { saved, visited, place, place_type, .. } = self.memory;
        let mine = self.memory.mine[proc].expect("its procedure has a head");
        let [may_save, back, closed] = [(); 3].map(|()| self.draft.loc(proc));
        self.draft.add(head, may_save, Action::Assume(Expr::var(saved).negated()));
        let here = constant(place_type, number as u32);
        let flags = [(saved, Expr::bool(true)), (mine, Expr::bool(true)), (visited, Expr::bool(false))];
        let copied = pairs.iter().map(|&(var, copy)| (copy, Expr::var(var)));
        let (targets, values) = flags.into_iter().chain([(place, here)]).chain(copied).unzip();
        let save = self.draft.add(may_save, head, Action::Assign { targets, values, constraint: None });
        self.saves.push((save, head));
        let seen = both(Expr::var(saved), Expr::var(visited));
        let seen = both(seen, equals(place, place_type, number as u32));
        self.draft.add(head, back, Action::Assume(seen));
        let equal = same(pairs.into_iter()).unwrap_or_else(|| Expr::bool(true));
        self.draft.add(back, closed, Action::Assume(equal));
        self.closed.push(closed);
    }
}

fn set(var: VarId, value: bool) -> Action {
    Action::Assign { targets: vec![var], values: vec![Expr::bool(value)], constraint: None }
}

impl Repeating<'_> {
    /// A run that closes, as a run of the program as written that goes on for ever.
    pub fn back(&self, trace: &Trace) -> Result<Trace, Why> {
        let bug = |what: &str| Why::EngineBug(format!("a run that closes {what}"));
        let Wrapped { source, .. } = self.wrapped;
        let [context] = &trace.contexts[..] else { return Err(bug("has several contexts")) };
        let saves = |step: &Step| self.saves.iter().find(|(edge, _)| *edge == step.edge);
        let mut saving = context.steps.iter().enumerate().filter_map(|(at, step)| Some((at, saves(step)?.1)));
        let (at, head) = saving.next().ok_or_else(|| bug("never saves"))?;
        // The first step sets variables, the second calls main.
        let called = context.steps.get(1).ok_or_else(|| bug("never starts"))?;
        let initial = self.wrapped.initial(trace, called.locals());
        let before = self.wrapped.steps(&context.steps[..at]);
        let mut stem = Trace::sequential(self.wrapped.segments(trace), initial, before);
        let known = ending(source, &stem).map_err(|rejected| bug(&rejected.to_string()))?;
        let matters = matters(source, &self.scopes, &self.live, head);
        let head = known.into_iter().filter(|(var, _)| matters.contains(var)).collect();
        let from = Position { context: 0, step: stem.contexts[0].steps.len() as u32 };
        stem.contexts[0].steps.extend(self.wrapped.steps(&context.steps[at..]));
        Ok(Trace { repeats: Some(Repeat { from, head }), ..stem })
    }
}
