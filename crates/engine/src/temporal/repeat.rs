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
//! Heads are the locations at which loops are entered, and the entries of recursive procedures: one on every cycle of the
//! control flow, and one on every cycle of calls. Only values that matter at the head are saved.
//!
//! # Paper
//!
//! \[biere-liveness\] for finite systems, \[schuppan-liveness\] for pushdown systems. # Departures: the paper guesses heads
//! anywhere, and keeps the bit *may not return* on the stack; here it is a local variable.
//!
//! # Cost
//!
//! One copy of the globals, and of the locals of the procedure that has most.

use crate::encode::live::Live;
use crate::encode::scope::Scopes;
use crate::threads::build::{both, equals, number, same};
use crate::verdict::Why;
use postbop_ir::replay::ending;
use postbop_ir::trace::Known;
use postbop_ir::{
    Action, Builder, EdgeId, Expr, Id, LocId, Op, Position, ProcId, Program, Query, Repeat, Segment, Span,
    Step, Table, Task, Trace, Type, VarId,
};
use postbop_kit::bits;

/// What an edge of the translation stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meaning {
    /// An edge of the program.
    Edge(EdgeId),
    /// The location and the values are saved.
    Saves(LocId),
    /// Something else that was added.
    Added,
}

/// A program that reaches a location exactly if the one it was made from visits some locations again and again.
pub struct Repeating<'a> {
    source: &'a Program,
    /// The program.
    pub program: Program,
    /// What is asked of it.
    pub query: Query,
    meanings: Table<EdgeId, Meaning>,
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
    source: &'a Program,
    out: Builder,
    meanings: Table<EdgeId, Meaning>,
    memory: Memory,
    heads: Vec<LocId>,
    /// For each head the variables whose values matter there.
    matters: Vec<Vec<VarId>>,
    /// For each location whether visiting it counts.
    counts: Table<LocId, bool>,
    /// Where edges to a location lead instead.
    arrival: Table<LocId, LocId>,
    closed: Vec<LocId>,
}

/// Translates a query of a task about a sequential program.
pub fn translate<'a>(task: &Task<'a>, query: &Query) -> Repeating<'a> {
    let source = task.program;
    let scopes = Scopes::new(source);
    let live = Live::new(source, &scopes);
    let heads = heads(source);
    let matters: Vec<Vec<VarId>> = heads.iter().map(|&head| matters(source, &scopes, &live, head)).collect();
    let mut counts = Table::filled(source.locs().len(), false);
    // An exit is visited at most once, at the end of a run.
    query.locs().iter().filter(|loc| !source.is_exit(**loc)).for_each(|&loc| counts[loc] = true);
    if heads.iter().all(|&head| counts[head]) {
        // Coming back to the head is visit enough.
        counts = Table::filled(source.locs().len(), false);
        heads.iter().for_each(|&head| counts[head] = true);
    }
    let mut out = Builder::without_edges(source);
    let memory = Memory::new(source, &mut out, &heads, &matters);
    let arrival = source.locs().ids().collect();
    let (meanings, closed) = (Table::new(), Vec::new());
    let translator = Translator { source, out, meanings, memory, heads, matters, counts, arrival, closed };
    let (program, meanings, closed) = translator.translate();
    let query = Query::reach(&query.name, closed);
    Repeating { source, program, query, meanings, scopes, live }
}

/// One location on every cycle of the control flow, and the entry of one procedure on every cycle of calls.
fn heads(program: &Program) -> Vec<LocId> {
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
        out.set_control(
            [saved, visited, place].into_iter().chain(memory.mine.iter().flatten().copied()).collect(),
        );
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
    fn translate(mut self) -> (Program, Table<EdgeId, Meaning>, Vec<LocId>) {
        self.visits();
        self.entries();
        self.edges();
        for number in 0..self.heads.len() {
            self.head(number);
        }
        let main = self.main();
        (self.out.finish(main), self.meanings, self.closed)
    }

    fn edge(&mut self, from: LocId, to: LocId, action: Action, meaning: Meaning) {
        let span = match meaning {
            Meaning::Edge(edge) => self.source.edges()[edge].span,
            _ => Span::default(),
        };
        self.out.edge(from, to, action, span);
        self.meanings.push(meaning);
    }

    /// Arriving where it counts is noted.
    fn visits(&mut self) {
        let counting: Vec<LocId> = self.source.locs().ids().filter(|&loc| self.counts[loc]).collect();
        for loc in counting {
            let arrival = self.out.loc(self.source.locs()[loc].proc, Span::default());
            self.edge(arrival, loc, set(self.memory.visited, true), Meaning::Added);
            self.arrival[loc] = arrival;
        }
    }

    /// An activation has not saved when it begins.
    fn entries(&mut self) {
        for (id, proc) in self.source.procs().pairs() {
            let mut entry = self.arrival[proc.entry];
            if let Some(mine) = self.memory.mine[id] {
                let before = self.out.loc(id, Span::default());
                self.edge(before, entry, set(mine, false), Meaning::Added);
                entry = before;
            }
            self.out.set_entry(id, entry);
        }
    }

    fn edges(&mut self) {
        for (id, edge) in self.source.edges().pairs() {
            let to = self.arrival[edge.to];
            let mine = self.memory.mine[self.source.locs()[edge.from].proc];
            match (&edge.action, mine) {
                (Action::Return(_), Some(mine)) => {
                    let between = self.out.loc(self.source.locs()[edge.from].proc, Span::default());
                    let free = Action::Assume(Expr::var(mine).negated());
                    self.edge(edge.from, between, free, Meaning::Added);
                    self.edge(between, edge.to, edge.action.clone(), Meaning::Edge(id));
                }
                (Action::Return(_), None) => {
                    self.edge(edge.from, edge.to, edge.action.clone(), Meaning::Edge(id));
                }
                _ => self.edge(edge.from, to, edge.action.clone(), Meaning::Edge(id)),
            }
        }
    }

    /// Saving at a head, and closing there.
    fn head(&mut self, number: usize) {
        let head = self.heads[number];
        let proc = self.source.locs()[head].proc;
        let vars = self.matters[number].clone();
        let pairs = self.memory.pair(self.source, &mut self.out, &vars);
        let Memory { saved, visited, place, place_type, .. } = self.memory;
        let mine = self.memory.mine[proc].expect("its procedure has a head");
        let may_save = self.out.loc(proc, Span::default());
        self.edge(head, may_save, Action::Assume(Expr::var(saved).negated()), Meaning::Added);
        let here = Expr::new([Op::Const(place_type, (number as u32).into())]);
        let known = [
            (saved, Expr::bool(true)),
            (mine, Expr::bool(true)),
            (visited, Expr::bool(false)),
            (place, here),
        ];
        let copied = pairs.iter().map(|&(var, copy)| (copy, Expr::var(var)));
        let (targets, values) = known.into_iter().chain(copied).unzip();
        let save = Action::Assign { targets, values, constraint: None };
        self.edge(may_save, head, save, Meaning::Saves(head));
        let closed = self.out.loc(proc, Span::default());
        let seen = both(Expr::var(saved), Expr::var(visited));
        let seen = both(seen, equals(place, place_type, number as u32));
        let back = self.out.loc(proc, Span::default());
        self.edge(head, back, Action::Assume(seen), Meaning::Added);
        let equal = same(pairs.into_iter()).unwrap_or_else(|| Expr::bool(true));
        self.edge(back, closed, Action::Assume(equal), Meaning::Added);
        self.closed.push(closed);
    }

    /// The procedure in which a run starts: nothing is saved, and the program is called.
    fn main(&mut self) -> ProcId {
        let program = self.source;
        let proc = &program.procs()[program.main()];
        let start = self.out.proc("%start", proc.params, Vec::new(), Span::default());
        let types = proc.params().iter().map(|&var| program.vars()[var].ty);
        let params: Vec<VarId> = types.map(|ty| self.out.local(start, "%parameter", ty)).collect();
        let (entry, exit) = (self.out.procs()[start].entry, self.out.procs()[start].exit);
        let ready = self.out.loc(start, Span::default());
        self.edge(entry, ready, set(self.memory.saved, false), Meaning::Added);
        let results = vec![None; proc.results.len()];
        let args = params.iter().map(|&var| Expr::var(var)).collect();
        let over = self.out.loc(start, Span::default());
        self.edge(ready, over, Action::Call { callee: program.main(), args, results }, Meaning::Added);
        self.edge(over, exit, Action::Return(Vec::new()), Meaning::Added);
        start
    }
}

fn set(var: VarId, value: bool) -> Action {
    Action::Assign { targets: vec![var], values: vec![Expr::bool(value)], constraint: None }
}

impl Repeating<'_> {
    /// A run that closes, as a run of the program as written that goes on for ever.
    pub fn back(&self, trace: &Trace) -> Result<Trace, Why> {
        let bug = |what: &str| Why::EngineBug(format!("a run that closes {what}"));
        let own = |known: &[(VarId, _)]| -> Known {
            known.iter().copied().filter(|(var, _)| var.index() < self.source.vars().len()).collect()
        };
        let steps = |steps: &[Step]| -> Vec<Step> {
            let own = |step: &Step| match self.meanings[step.edge] {
                Meaning::Edge(edge) => Some(step.along(edge).entering(own(step.locals()))),
                _ => None,
            };
            steps.iter().filter_map(own).collect()
        };
        let segment =
            |segment: &Segment| Segment::new(segment.proc, own(&segment.entry), steps(&segment.steps));
        let segments = trace.segments.iter().map(segment).collect();
        let [context] = &trace.contexts[..] else { return Err(bug("has several contexts")) };
        let saves = |step: &Step| matches!(self.meanings[step.edge], Meaning::Saves(_));
        let at = context.steps.iter().position(saves).ok_or_else(|| bug("never saves"))?;
        let Meaning::Saves(head) = self.meanings[context.steps[at].edge] else { unreachable!("it saves") };
        let called = context.steps.get(1).ok_or_else(|| bug("never starts"))?;
        let mut stem = Trace::sequential(segments, self.initial(trace, called), steps(&context.steps[..at]));
        let known = ending(self.source, &stem).map_err(|rejected| bug(&rejected.to_string()))?;
        let matters = matters(self.source, &self.scopes, &self.live, head);
        let head = known.into_iter().filter(|(var, _)| matters.contains(var)).collect();
        let from = Position { context: 0, step: stem.contexts[0].steps.len() as u32 };
        stem.contexts[0].steps.extend(steps(&context.steps[at..]));
        Ok(Trace { repeats: Some(Repeat { from, head }), ..stem })
    }

    /// The values at the start: of globals, of what main is called with, and of its other locals.
    fn initial(&self, trace: &Trace, called: &Step) -> Known {
        let main = &self.source.procs()[self.source.main()];
        let params = &self.program.procs()[self.program.main()].locals;
        let own = |var: VarId| match params.iter().position(|&param| param == var) {
            Some(at) => Some(main.params()[at]),
            None => (var.index() < self.source.vars().len()).then_some(var),
        };
        let all = trace.initial.iter().chain(called.locals());
        let mut initial: Known = all.filter_map(|&(var, value)| Some((own(var)?, value))).collect();
        initial.sort_unstable();
        initial
    }
}
