//! Room `engine/reduce`: a program with threads as a sequential one.
//!
//! # Idea
//!
//! A run within a schedule is a row of *slots*, and only the values of the shared variables at their seams matter to a
//! thread. So the threads can run one after the other, each through all its slots: every shared variable has a copy for
//! each slot, the values with which slots begin are guessed, and at the end the guesses are compared with how the slots
//! before them ended. Wherever it may be left, a thread can go on in a later slot, or quit for good, which unwinds its calls.
//! A run to a target is then a run of the sequential program to the end of its main procedure, where a flag tells which.
//!
//! With a bound on switches a slot is one context, and who owns it is guessed too. With rounds a slot is one round, in which
//! each thread has one context after the thread before it.
//!
//! A thread that does nothing shared next need not be left there: what it does commutes with what others do. So it goes
//! on in a later slot only in front of an edge that mentions a shared variable.
//!
//! # Paper
//!
//! \[lal-reps\], the eager translation. # Departures: context switches in any order besides rounds; quitting instead of a
//! jump over the stack; no switch where nothing shared is next.
//!
//! # Cost
//!
//! An edge that mentions shared variables is there once for each slot.

use postbop_ir::interleave::Schedule;
use postbop_ir::{
    Action, Builder, Edge, EdgeId, Expr, LocId, Op, ProcId, Program, Span, Table, Target, Task, ThreadId,
    Type, VarId,
};

/// What an edge of the sequential program stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// An edge of the program as written.
    Step(EdgeId),
    /// Nothing that happens in a run.
    Nothing,
    /// A thread begins, in this slot.
    Begin(ThreadId, u32),
    /// The thread goes on in this slot.
    Slot(u32),
    /// The run is at a target.
    Bad,
}

/// A sequential program that stands for one with threads.
pub struct Sequential {
    /// The program.
    pub program: Program,
    /// The targets, in the order of the task's.
    pub targets: Vec<Target>,
    /// What its edges stand for.
    pub origins: Table<EdgeId, Origin>,
}

/// Variables of the translation.
struct Vars {
    /// For each shared variable and each slot a copy; the variable itself is the first.
    copies: Vec<(VarId, Vec<VarId>)>,
    /// For each copy but the first the guess of how the slot begins.
    guesses: Vec<Vec<VarId>>,
    slot: VarId,
    slot_type: Type,
    quit: VarId,
    /// With switches: whose context each slot is.
    owners: Vec<VarId>,
    owner_type: Type,
    /// For each target whether it was reached.
    bad: Vec<VarId>,
}

struct Translator<'a> {
    task: &'a Task<'a>,
    slots: u32,
    rounds: bool,
    thread: Table<ProcId, Option<ThreadId>>,
    vars: Vars,
    out: Builder,
    origins: Table<EdgeId, Origin>,
    /// For each procedure where it unwinds.
    unwind: Table<ProcId, LocId>,
}

/// The bits of numbers up to this one.
fn number(most: u32) -> Type {
    Type::Uint((32 - most.leading_zeros()).max(1) as u8)
}

/// Which thread runs a procedure: none for the prologue, and for what nobody calls.
pub fn thread_of(program: &Program) -> Table<ProcId, Option<ThreadId>> {
    let mut thread = Table::filled(program.procs.len(), None);
    let mut callees: Table<ProcId, Vec<ProcId>> = Table::filled(program.procs.len(), Vec::new());
    for edge in program.edges.iter() {
        if let Action::Call { callee, .. } = edge.action {
            callees[program.locs[edge.from].proc].push(callee);
        }
    }
    for (id, data) in program.threads.pairs() {
        let mut work = vec![data.main];
        while let Some(proc) = work.pop() {
            if thread[proc].replace(id).is_none() {
                work.extend(&callees[proc]);
            }
        }
    }
    thread
}

/// The variables that an action mentions.
fn mentioned(action: &Action) -> Vec<VarId> {
    let mut vars: Vec<VarId> = action.exprs().flat_map(|expr| expr.reads()).collect();
    match action {
        Action::Assign { targets, .. } | Action::Havoc(targets) => vars.extend(targets),
        Action::Call { results, .. } => vars.extend(results.iter().flatten()),
        Action::Assume(_) | Action::Return(_) => {}
    }
    vars
}

/// The globals that two threads mention.
pub fn shared(program: &Program, thread: &Table<ProcId, Option<ThreadId>>) -> Vec<VarId> {
    let mut by: Table<VarId, Option<ThreadId>> = Table::filled(program.vars.len(), None);
    let mut shared = Vec::new();
    for edge in program.edges.iter() {
        let Some(thread) = thread[program.locs[edge.from].proc] else { continue };
        for var in mentioned(&edge.action).into_iter().filter(|&var| program.is_global(var)) {
            match by[var] {
                None => by[var] = Some(thread),
                Some(other) if other != thread => shared.push(var),
                Some(_) => {}
            }
        }
    }
    shared.sort_unstable();
    shared.dedup();
    shared
}

/// The sequential program of a task within a schedule.
pub fn sequentialise(task: &Task, schedule: Schedule) -> Sequential {
    let (slots, rounds) = match schedule {
        Schedule::Switches(most) => (most + 1, false),
        Schedule::Rounds(count) => (count, true),
    };
    let program = task.program;
    let thread = thread_of(program);
    let mut out = Builder {
        vars: program.vars.clone(),
        procs: program.procs.clone(),
        locs: program.locs.clone(),
        ..Builder::default()
    };
    for loc in program.locs.ids() {
        out.locs[loc].inner = false;
    }
    let vars = Vars::new(task, &mut out, &shared(program, &thread), slots, rounds);
    let unwind = program.procs.pairs().map(|(id, proc)| out.loc(id, proc.span)).collect();
    let origins = Table::new();
    let mut translator = Translator { task, slots, rounds, thread, vars, out, origins, unwind };
    translator.procedures();
    translator.main()
}

impl Vars {
    fn new(task: &Task, out: &mut Builder, shared: &[VarId], slots: u32, rounds: bool) -> Self {
        let program = task.program;
        let several = |out: &mut Builder, var: VarId, what: &str| -> Vec<VarId> {
            let data = &program.vars[var];
            (1..slots).map(|slot| out.global(&format!("%{what} {} {slot}", data.name), data.ty)).collect()
        };
        let copies = shared
            .iter()
            .map(|&var| (var, std::iter::once(var).chain(several(out, var, "copy")).collect()))
            .collect();
        let guesses = shared.iter().map(|&var| several(out, var, "guess")).collect();
        let (slot_type, owner_type) =
            (number(slots.saturating_sub(1)), number(program.threads.len() as u32 - 1));
        let owner = |slot: u32| out.global(&format!("%owner {slot}"), owner_type);
        let owners = (0..if rounds { 0 } else { slots }).map(owner).collect();
        let bad = (0..task.targets.len()).map(|at| out.global(&format!("%bad {at}"), Type::Bool)).collect();
        let slot = out.global("%slot", slot_type);
        let quit = out.global("%quit", Type::Bool);
        Vars { copies, guesses, slot, slot_type, quit, owners, owner_type, bad }
    }

    fn copy(&self, var: VarId, slot: u32) -> VarId {
        let found = self.copies.binary_search_by_key(&var, |&(var, _)| var);
        found.map_or(var, |at| self.copies[at].1[slot as usize])
    }

    fn is_shared(&self, var: VarId) -> bool {
        self.copies.binary_search_by_key(&var, |&(var, _)| var).is_ok()
    }

    /// An expression in terms of a slot's copies.
    fn expr(&self, expr: &Expr, slot: u32) -> Expr {
        let op = |op: &Op| match *op {
            Op::Var(var) => Op::Var(self.copy(var, slot)),
            Op::Next(var) => Op::Next(self.copy(var, slot)),
            op => op,
        };
        Expr::new(expr.code.iter().map(op).collect::<Vec<_>>())
    }

    fn exprs(&self, exprs: &[Expr], slot: u32) -> Vec<Expr> {
        exprs.iter().map(|expr| self.expr(expr, slot)).collect()
    }

    /// That this is the slot.
    fn in_slot(&self, slot: u32) -> Expr {
        equals(self.slot, self.slot_type, slot)
    }
}

fn equals(var: VarId, ty: Type, value: u32) -> Expr {
    Expr::new([Op::Var(var), Op::Const(ty, value as i64), Op::Eq])
}

fn both(a: Expr, b: Expr) -> Expr {
    Expr::new([&a.code[..], &b.code[..], &[Op::And]].concat())
}

fn either(a: Expr, b: Expr) -> Expr {
    Expr::new([&a.code[..], &b.code[..], &[Op::Or]].concat())
}

/// Sets variables to constants where a condition holds.
fn set(values: &[(VarId, Type, i64)], constraint: Option<Expr>) -> Action {
    Action::Assign {
        targets: values.iter().map(|&(var, ..)| var).collect(),
        values: values.iter().map(|&(_, ty, value)| Expr::new([Op::Const(ty, value)])).collect(),
        constraint,
    }
}

impl Translator<'_> {
    fn edge(&mut self, from: LocId, to: LocId, action: Action, origin: Origin) {
        let span = self.out.locs[from].span;
        self.out.edge(from, to, action, span);
        self.origins.push(origin);
    }

    fn procedures(&mut self) {
        let program = self.task.program;
        for (id, edge) in program.edges.pairs() {
            self.translate(id, edge);
        }
        for (proc, data) in program.procs.pairs() {
            let arbitrary = data.results.iter().map(|&ty| Expr::choice(ty)).collect();
            self.edge(self.unwind[proc], data.exit, Action::Return(arbitrary), Origin::Nothing);
        }
        for (loc, data) in program.locs.pairs() {
            let Some(thread) = self.thread[data.proc] else { continue };
            if !data.inner && program.procs[data.proc].exit != loc {
                self.leave(loc, data.proc, thread);
            }
        }
        for (at, target) in self.task.targets.iter().enumerate() {
            for &loc in &target.locs {
                let values = [(self.vars.quit, Type::Bool, 1), (self.vars.bad[at], Type::Bool, 1)];
                let unwind = self.unwind[program.locs[loc].proc];
                self.edge(loc, unwind, set(&values, None), Origin::Bad);
            }
        }
    }

    /// The ways to leave a thread at a location.
    fn leave(&mut self, loc: LocId, proc: ProcId, thread: ThreadId) {
        let free = self.may_leave();
        let quit = set(&[(self.vars.quit, Type::Bool, 1)], free.clone());
        self.edge(loc, self.unwind[proc], quit, Origin::Nothing);
        let program = self.task.program;
        let next = program.leaving(loc).iter();
        let touches =
            |id: &EdgeId| mentioned(&program.edges[*id].action).iter().any(|&var| self.vars.is_shared(var));
        if !next.into_iter().any(touches) {
            return;
        }
        for slot in 1..self.slots {
            let mut condition = match self.rounds {
                true => self.vars.in_slot(slot - 1),
                false => {
                    let code = [Op::Var(self.vars.slot), Op::Const(self.vars.slot_type, slot as i64), Op::Lt];
                    both(Expr::new(code), self.owned(slot, thread))
                }
            };
            condition = free.iter().cloned().fold(condition, both);
            let go_on = set(&[(self.vars.slot, self.vars.slot_type, slot as i64)], Some(condition));
            self.edge(loc, loc, go_on, Origin::Slot(slot));
        }
    }

    /// That a slot is a context of a thread.
    fn owned(&self, slot: u32, thread: ThreadId) -> Expr {
        equals(self.vars.owners[slot as usize], self.vars.owner_type, thread.0)
    }

    /// That no atomic section keeps the thread; nothing if none can.
    fn may_leave(&self) -> Option<Expr> {
        let atomic = self.task.program.atomic?;
        if !self.vars.is_shared(atomic) {
            return Some(Expr::var(atomic).negated());
        }
        let free = |slot| both(self.vars.in_slot(slot), Expr::var(self.vars.copy(atomic, slot)).negated());
        (0..self.slots).map(free).reduce(either)
    }

    fn translate(&mut self, id: EdgeId, edge: &Edge) {
        let program = self.task.program;
        let proc = program.locs[edge.from].proc;
        let touches = mentioned(&edge.action).iter().any(|&var| self.vars.is_shared(var));
        // What runs before all threads runs in the first slot.
        let alone = self.thread[proc].is_none() || self.slots == 1 || !touches;
        if let Action::Call { callee, args, results } = &edge.action {
            return self.call(id, edge, (*callee, args, results), alone);
        }
        if alone {
            return self.edge(edge.from, edge.to, edge.action.clone(), Origin::Step(id));
        }
        for slot in 0..self.slots {
            let here = self.vars.in_slot(slot);
            let targets =
                |vars: &[VarId]| vars.iter().map(|&var| self.vars.copy(var, slot)).collect::<Vec<_>>();
            let action = match &edge.action {
                Action::Assume(condition) => Action::Assume(both(self.vars.expr(condition, slot), here)),
                Action::Assign { targets: vars, values, constraint } => Action::Assign {
                    targets: targets(vars),
                    values: self.vars.exprs(values, slot),
                    constraint: Some(match constraint {
                        Some(constraint) => both(self.vars.expr(constraint, slot), here),
                        None => here,
                    }),
                },
                Action::Havoc(vars) => Action::Assign {
                    targets: targets(vars),
                    values: vars.iter().map(|&var| Expr::choice(program.vars[var].ty)).collect(),
                    constraint: Some(here),
                },
                Action::Return(values) => {
                    let values = self.vars.exprs(values, slot);
                    let between = self.out.loc(proc, edge.span);
                    self.edge(edge.from, between, Action::Assume(here), Origin::Nothing);
                    self.edge(between, edge.to, Action::Return(values), Origin::Step(id));
                    continue;
                }
                Action::Call { .. } => unreachable!("calls were translated"),
            };
            self.edge(edge.from, edge.to, action, Origin::Step(id));
        }
    }

    /// A call: afterwards it is asked whether the thread has quit, and results for shared variables go to the slot in which
    /// the call returns.
    fn call(
        &mut self,
        id: EdgeId,
        edge: &Edge,
        (callee, args, results): (ProcId, &[Expr], &[Option<VarId>]),
        alone: bool,
    ) {
        let program = self.task.program;
        let proc = program.locs[edge.from].proc;
        let back = self.out.loc(proc, edge.span);
        let mut received = results.to_vec();
        let mut passed_on: Vec<(VarId, VarId)> = Vec::new();
        if !alone {
            for result in received.iter_mut().flatten().filter(|var| self.vars.is_shared(**var)) {
                let name = format!("%result {}", passed_on.len());
                let local = self.out.local(proc, &name, program.vars[*result].ty);
                passed_on.push((*result, local));
                *result = local;
            }
        }
        let reads = args.iter().flat_map(Expr::reads).any(|var| self.vars.is_shared(var));
        let slots = if alone || !reads { 1 } else { self.slots };
        for slot in 0..slots {
            let from = match slots {
                1 => edge.from,
                _ => {
                    let between = self.out.loc(proc, edge.span);
                    self.edge(edge.from, between, Action::Assume(self.vars.in_slot(slot)), Origin::Nothing);
                    between
                }
            };
            let args = self.vars.exprs(args, slot);
            self.edge(from, back, Action::Call { callee, args, results: received.clone() }, Origin::Step(id));
        }
        let quit = Expr::var(self.vars.quit);
        self.edge(back, self.unwind[proc], Action::Assume(quit.clone()), Origin::Nothing);
        if passed_on.is_empty() {
            return self.edge(back, edge.to, Action::Assume(quit.negated()), Origin::Nothing);
        }
        for slot in 0..self.slots {
            let action = Action::Assign {
                targets: passed_on.iter().map(|&(var, _)| self.vars.copy(var, slot)).collect(),
                values: passed_on.iter().map(|&(_, local)| Expr::var(local)).collect(),
                constraint: Some(both(quit.clone().negated(), self.vars.in_slot(slot))),
            };
            self.edge(back, edge.to, action, Origin::Nothing);
        }
    }

    /// The procedure that runs them all.
    fn main(mut self) -> Sequential {
        let program = self.task.program;
        let main = self.out.proc("%main", 0, Vec::new(), Span::default());
        let (entry, exit) = (self.out.procs[main].entry, self.out.procs[main].exit);
        let mut at = self.out.loc(main, Span::default());
        let last = self.out.loc(main, Span::default());
        let mut values = vec![(self.vars.quit, Type::Bool, 0), (self.vars.slot, self.vars.slot_type, 0)];
        values.extend(self.vars.bad.iter().map(|&bad| (bad, Type::Bool, 0)));
        self.edge(entry, at, set(&values, None), Origin::Nothing);
        if let Some(prologue) = program.prologue {
            let after = self.out.loc(main, Span::default());
            let next = self.out.loc(main, Span::default());
            let call = Action::Call { callee: prologue, args: Vec::new(), results: self.nothing(prologue) };
            self.edge(at, after, call, Origin::Nothing);
            let quit = Expr::var(self.vars.quit);
            self.edge(after, last, Action::Assume(quit.clone()), Origin::Nothing);
            self.edge(after, next, Action::Assume(quit.negated()), Origin::Nothing);
            at = next;
        }
        at = self.begin_slots(main, at);
        for (id, thread) in program.threads.pairs() {
            at = self.run(main, at, id, thread.main);
        }
        self.edge(at, last, Action::Assume(self.seams()), Origin::Nothing);
        let mut targets = Vec::new();
        for (number, target) in self.task.targets.iter().enumerate() {
            let loc = self.out.loc(main, Span::default());
            self.edge(last, loc, Action::Assume(Expr::var(self.vars.bad[number])), Origin::Nothing);
            self.edge(loc, exit, Action::Return(Vec::new()), Origin::Nothing);
            targets.push(Target { name: target.name.clone(), locs: vec![loc] });
        }
        self.edge(last, exit, Action::Return(Vec::new()), Origin::Nothing);
        Sequential { program: self.out.finish(main), targets, origins: self.origins }
    }

    fn nothing(&self, proc: ProcId) -> Vec<Option<VarId>> {
        vec![None; self.task.program.procs[proc].results.len()]
    }

    /// Each slot but the first begins as was guessed.
    fn begin_slots(&mut self, main: ProcId, at: LocId) -> LocId {
        let copies = self.vars.copies.iter().flat_map(|(_, copies)| &copies[1..]);
        let targets: Vec<VarId> = copies.copied().collect();
        if targets.is_empty() {
            return at;
        }
        let values = self.vars.guesses.iter().flatten().map(|&guess| Expr::var(guess)).collect();
        let next = self.out.loc(main, Span::default());
        self.edge(at, next, Action::Assign { targets, values, constraint: None }, Origin::Nothing);
        next
    }

    /// Runs a thread, or does not.
    fn run(&mut self, main: ProcId, at: LocId, thread: ThreadId, proc: ProcId) -> LocId {
        let begun = self.out.loc(main, Span::default());
        let next = self.out.loc(main, Span::default());
        let slots = if self.rounds { 1 } else { self.slots };
        for slot in 0..slots {
            let owned = (!self.rounds).then(|| self.owned(slot, thread));
            let values =
                [(self.vars.slot, self.vars.slot_type, slot as i64), (self.vars.quit, Type::Bool, 0)];
            self.edge(at, begun, set(&values, owned), Origin::Begin(thread, slot));
        }
        self.edge(at, next, Action::skip(), Origin::Nothing);
        // A thread's first procedure may have parameters, which are arbitrary.
        let params = self.task.program.procs[proc].params();
        let args = params.iter().map(|&param| Expr::choice(self.task.program.vars[param].ty)).collect();
        let call = Action::Call { callee: proc, args, results: self.nothing(proc) };
        self.edge(begun, next, call, Origin::Nothing);
        next
    }

    /// That every slot ends as the next one was guessed to begin.
    fn seams(&self) -> Expr {
        let mut all = Expr::bool(true);
        for ((_, copies), guesses) in self.vars.copies.iter().zip(&self.vars.guesses) {
            for (&end, &begin) in copies.iter().zip(guesses) {
                all = both(all, Expr::new([Op::Var(end), Op::Var(begin), Op::Eq]));
            }
        }
        all
    }
}
