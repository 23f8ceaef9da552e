//! Room `engine/threads`: a program with threads as a sequential one.
//!
//! # Idea
//!
//! A run within a schedule is a row of *slots*. What a thread does in its slots depends on the other threads only
//! through the values of the shared variables at the *seams* between slots. So these values are guessed, and the
//! threads run one after the other, each through all its slots. Wherever a thread may be left it can go on in a
//! later slot, with the values guessed for the beginning of that slot, or quit for good, which unwinds its calls. A
//! run to a target is then a run of the sequential program to the end of its main procedure, where a flag tells
//! which target it was.
//!
//! With a bound on *switches* a slot is one context. The thread that owns it is guessed too, and when the slot is
//! left, the shared variables must have the values guessed for the beginning of the next one; every slot before the
//! last must have been left. With *rounds* a slot is one round: each thread leaves the shared variables to the next
//! thread of the same round, and in the end every round must leave them as guessed for the next.
//!
//! Steps that touch no shared variable commute with the steps of other threads. So a thread goes on in a later slot
//! only in front of an edge that mentions a shared variable.
//!
//! # Paper
//!
//! \[lal-reps\], the eager translation. # Departures: context switches in any order besides rounds; one working
//! copy of the shared variables, so that edges stay as they are; quitting instead of a jump over the stack.
//!
//! # Cost
//!
//! The program, and for each location in front of a shared variable an edge per slot. For k switches k + 2 copies
//! of the shared variables, for r rounds 2 r.

use super::build::{Assign, both, constant, either, equals, number, same};
use super::resume_points::{resume_points, shared};
use super::script::Script;
use super::translation::{EdgeMeaning, Translation};
use crate::budget::Budget;
use crate::reduce::bytes;
use crate::verdict::Why;
use postbop_ir::{
    Action, Builder, Edge, EdgeId, Expr, LocId, Op, ProcId, Query, Schedule, Span, Table, Task, ThreadId,
    Type, Value, VarId,
};
use rustc_hash::FxHashMap as HashMap;

/// Variables of the translation.
struct Vars {
    shared: Vec<VarId>,
    /// For each slot copies of the shared variables: as they are guessed at its beginning ...
    begin: Vec<Vec<VarId>>,
    /// ... and with rounds, as the threads have left them so far.
    far: Vec<Vec<VarId>>,
    slot: VarId,
    slot_type: Type,
    /// The slot in which the target is reached.
    end: VarId,
    quit: VarId,
    /// With switches: whose context each slot is, and whether it was left.
    owners: Vec<VarId>,
    left: Vec<VarId>,
    owner_type: Type,
    /// Whether a target was reached, and for each target whether it was that one.
    over: VarId,
    bad: Vec<VarId>,
}

struct Translator<'a> {
    task: &'a Task<'a>,
    slots: u32,
    rounds: bool,
    script: Option<&'a Script>,
    thread: Table<ProcId, Option<ThreadId>>,
    vars: Vars,
    out: Builder,
    origins: Table<EdgeId, EdgeMeaning>,
    /// For each procedure where it unwinds.
    unwind: Table<ProcId, LocId>,
}

/// The sequential program of a task within a schedule; of those runs only that follow a script, if there is one. An error if
/// there is no room for it.
pub fn sequentialise(
    task: &Task,
    schedule: Schedule,
    script: Option<&Script>,
    budget: &Budget,
) -> Result<Translation, Why> {
    let (slots, rounds) = match schedule {
        Schedule::Switches(most) => (most + 1, false),
        Schedule::Rounds(count) => (count, true),
    };
    let program = task.program;
    let thread = program.thread_of();
    let mut out = Builder::without_edges(program);
    let vars = Vars::new(task, &mut out, shared(program, &thread), slots, rounds);
    let resume_points = resume_points(program, &vars.shared, &thread);
    budget.allows(vars.room(program.locs().len(), resume_points.len()))?;
    let unwind = program.procs().pairs().map(|(id, proc)| out.loc(id, proc.span)).collect();
    let origins = Table::new();
    let mut translator = Translator { task, slots, rounds, script, thread, vars, out, origins, unwind };
    translator.procedures(&resume_points);
    Ok(translator.main())
}

impl Vars {
    fn new(task: &Task, out: &mut Builder, shared: Vec<VarId>, slots: u32, rounds: bool) -> Self {
        let program = task.program;
        let copies = |out: &mut Builder, slot: u32, what: &str| -> Vec<VarId> {
            let copy = |&var: &VarId| {
                (format!("%{what} {slot} {}", program.vars()[var].name), program.vars()[var].ty)
            };
            shared.iter().map(copy).map(|(name, ty)| out.global(&name, ty)).collect()
        };
        let begin = (0..slots).map(|slot| copies(out, slot, "begin")).collect();
        let far = (0..if rounds { slots } else { 0 }).map(|slot| copies(out, slot, "far")).collect();
        let (slot_type, owner_type) =
            (number(slots.saturating_sub(1)), number(program.threads().len() as u32 - 1));
        let each = if rounds { 0 } else { slots };
        let owners: Vec<VarId> =
            (0..each).map(|slot| out.global(&format!("%owner {slot}"), owner_type)).collect();
        let left: Vec<VarId> =
            (0..each).map(|slot| out.global(&format!("%left {slot}"), Type::Bool)).collect();
        let bad: Vec<VarId> =
            (0..task.queries.len()).map(|at| out.global(&format!("%bad {at}"), Type::Bool)).collect();
        let slot = out.global("%slot", slot_type);
        let end = out.global("%end", slot_type);
        let quit = out.global("%quit", Type::Bool);
        let over = out.global("%over", Type::Bool);
        let flags = [quit, over].into_iter().chain(bad.iter().copied()).chain(left.iter().copied());
        out.set_control([slot].into_iter().chain(owners.iter().copied()).chain([end]).chain(flags).collect());
        Vars { shared, begin, far, slot, slot_type, end, quit, owners, left, owner_type, over, bad }
    }

    /// About how many bytes the edges take with which so many locations are left for good, and at so many of them a thread
    /// goes on in a later slot.
    fn room(&self, locs: usize, resume_points: usize) -> u64 {
        let (slots, shared) = (self.begin.len(), self.shared.len());
        let edges = locs + resume_points * (slots - 1);
        // What is assigned to shared variables and to their copies, or with switches compared with these.
        let kept = match self.far.is_empty() {
            true => slots as u64 * bytes(3) + bytes(slots * (4 * shared + 5)),
            false => (slots * shared) as u64 * bytes(6),
        };
        edges as u64 * (kept + shared as u64 * bytes(1))
    }

    /// That this is the slot.
    fn in_slot(&self, slot: u32) -> Expr {
        equals(self.slot, self.slot_type, slot)
    }

    /// That the slot at hand is before this one.
    fn before(&self, slot: u32) -> Expr {
        Expr::new([Op::Var(self.slot), Op::Const(self.slot_type, slot.into()), Op::Lt])
    }
}

impl Translator<'_> {
    fn edge(&mut self, from: LocId, to: LocId, action: Action, origin: EdgeMeaning) {
        let span = self.out.locs()[from].span;
        self.out.edge(from, to, action, span);
        self.origins.push(origin);
    }

    fn procedures(&mut self, resume_points: &[LocId]) {
        let program = self.task.program;
        for (id, edge) in program.edges().pairs() {
            match edge.action {
                Action::Call { .. } => self.call(id, edge),
                _ => self.edge(edge.from, edge.to, edge.action.clone(), EdgeMeaning::Step(id)),
            }
        }
        for (proc, data) in program.procs().pairs() {
            let arbitrary = data.results.iter().map(|&ty| Expr::choice(ty)).collect();
            self.edge(self.unwind[proc], data.exit, Action::Return(arbitrary), EdgeMeaning::Nothing);
        }
        for (loc, data) in program.locs().pairs() {
            if self.thread[data.proc].is_some() && !data.inner && program.procs()[data.proc].exit != loc {
                self.quit(loc, data.proc);
            }
        }
        resume_points.iter().for_each(|&loc| self.go_on(loc));
        for (at, target) in self.task.queries.iter().enumerate() {
            // Where a thread ends is seen when its first procedure has returned.
            for &loc in target.locs().iter().filter(|loc| !program.is_exit(**loc)) {
                let reach = self.reach(at).set(self.vars.quit, Expr::bool(true));
                self.edge(loc, self.unwind[program.locs()[loc].proc], reach.action(), EdgeMeaning::Bad);
            }
        }
    }

    /// A target is reached. A run ends at the first one.
    fn reach(&self, target: usize) -> Assign {
        Assign::default()
            .set(self.vars.bad[target], Expr::bool(true))
            .set(self.vars.over, Expr::bool(true))
            .set(self.vars.end, Expr::var(self.vars.slot))
            .when(Expr::var(self.vars.over).negated())
    }

    /// A call: afterwards it is asked whether the thread has quit.
    fn call(&mut self, id: EdgeId, edge: &Edge) {
        let proc = self.task.program.locs()[edge.from].proc;
        let back = self.out.loc(proc, edge.span);
        self.edge(edge.from, back, edge.action.clone(), EdgeMeaning::Step(id));
        let quit = Expr::var(self.vars.quit);
        self.edge(back, self.unwind[proc], Action::Assume(quit.clone()), EdgeMeaning::Nothing);
        self.edge(back, edge.to, Action::Assume(quit.negated()), EdgeMeaning::Nothing);
    }

    /// That no atomic section keeps the thread.
    fn free(&self) -> Option<Expr> {
        self.task.program.atomic().map(|atomic| Expr::var(atomic).negated())
    }

    /// Leaves a thread for good.
    fn quit(&mut self, loc: LocId, proc: ProcId) {
        let quit = self.left().set(self.vars.quit, Expr::bool(true)).when(self.free());
        self.edge(loc, self.unwind[proc], quit.action(), EdgeMeaning::Nothing);
    }

    /// Leaves a thread and goes on in a later slot.
    fn go_on(&mut self, loc: LocId) {
        let thread = self.thread[self.task.program.locs()[loc].proc].expect("a thread comes here");
        for slot in 1..self.slots {
            let go_on = self.left().when(self.free()).when(self.vars.before(slot));
            let go_on = self.enter(go_on, slot, thread);
            self.edge(loc, loc, go_on.action(), EdgeMeaning::Slot(slot));
        }
    }

    /// What happens to the slot at hand when it is left.
    fn left(&self) -> Assign {
        let mut all = Assign::default();
        if self.rounds {
            for (slot, far) in (0..).zip(&self.vars.far) {
                for (&far, &shared) in far.iter().zip(&self.vars.shared) {
                    let here = self.vars.in_slot(slot);
                    let code = [&here.code[..], &[Op::Var(shared), Op::Var(far), Op::Ite]].concat();
                    all = all.set(far, Expr::new(code));
                }
            }
            return all;
        }
        for (slot, &left) in (0u32..).zip(&self.vars.left) {
            all = all.set(left, either(Expr::var(left), self.vars.in_slot(slot)));
        }
        // The last slot may be left anyhow.
        let seam = |slot: u32| {
            let here = self.vars.in_slot(slot);
            let next = self.vars.begin.get(slot as usize + 1);
            let same = next.and_then(|next| same(self.vars.shared.iter().copied().zip(next.iter().copied())));
            same.map_or(here.clone(), |same| both(here, same))
        };
        all.when((0..self.slots).map(seam).reduce(either))
    }

    /// A thread goes on at the beginning of a slot.
    fn enter(&self, all: Assign, slot: u32, thread: ThreadId) -> Assign {
        let from = if self.rounds { &self.vars.far } else { &self.vars.begin };
        let owner =
            (!self.rounds).then(|| equals(self.vars.owners[slot as usize], self.vars.owner_type, thread.0));
        all.copy(&self.vars.shared, &from[slot as usize])
            .set(self.vars.slot, constant(self.vars.slot_type, slot))
            .when(owner)
    }

    /// The procedure that runs them all.
    fn main(mut self) -> Translation {
        let program = self.task.program;
        let main = self.out.proc("%main", 0, Vec::new(), Span::default());
        let (entry, exit) = (self.out.procs()[main].entry, self.out.procs()[main].exit);
        let mut at = self.out.loc(main, Span::default());
        let last = self.out.loc(main, Span::default());
        let flags = self.vars.bad.iter().chain(&self.vars.left).chain([&self.vars.quit, &self.vars.over]);
        let clear = flags.fold(Assign::default(), |all, &flag| all.set(flag, Expr::bool(false)));
        let clear = clear.set(self.vars.slot, constant(self.vars.slot_type, Value::ZERO));
        self.edge(entry, at, clear.action(), EdgeMeaning::Nothing);
        if let Some(prologue) = program.prologue() {
            let after = self.out.loc(main, Span::default());
            let next = self.out.loc(main, Span::default());
            let call = Action::Call { callee: prologue, args: Vec::new(), results: self.nothing(prologue) };
            self.edge(at, after, call, EdgeMeaning::Nothing);
            let quit = Expr::var(self.vars.quit);
            self.edge(after, last, Action::Assume(quit.clone()), EdgeMeaning::Nothing);
            self.edge(after, next, Action::Assume(quit.negated()), EdgeMeaning::Nothing);
            at = next;
        }
        at = self.begin_slots(main, at);
        for (id, thread) in program.threads().pairs() {
            at = self.run(main, at, id, thread.main);
        }
        self.edge(at, last, Action::Assume(self.agreement()), EdgeMeaning::Nothing);
        let mut queries = Vec::new();
        for (number, query) in self.task.queries.iter().enumerate() {
            let loc = self.out.loc(main, Span::default());
            self.edge(last, loc, Action::Assume(Expr::var(self.vars.bad[number])), EdgeMeaning::Nothing);
            self.edge(loc, exit, Action::Return(Vec::new()), EdgeMeaning::Nothing);
            queries.push(Query::reach(&query.name, vec![loc]));
        }
        self.edge(last, exit, Action::Return(Vec::new()), EdgeMeaning::Nothing);
        let firsts = HashMap::default();
        let program = self.out.finish(main);
        Translation { program, queries, meaning: self.origins, firsts, rounds: self.rounds }
    }

    fn nothing(&self, proc: ProcId) -> Vec<Option<VarId>> {
        vec![None; self.task.program.procs()[proc].results.len()]
    }

    /// The first slot begins with what there is, the others as guessed, or as the script says.
    fn begin_slots(&mut self, main: ProcId, at: LocId) -> LocId {
        let next = self.out.loc(main, Span::default());
        let mut all = Assign::default().copy(&self.vars.begin[0], &self.vars.shared);
        if self.rounds {
            all = all.copy(&self.vars.far[0], &self.vars.shared);
            for slot in 1..self.slots as usize {
                all = all.copy(&self.vars.far[slot], &self.vars.begin[slot]);
            }
        }
        if let Some(script) = self.script {
            for (&owner, thread) in self.vars.owners.iter().zip(&script.owners) {
                all = all.set(owner, constant(self.vars.owner_type, thread.0));
            }
            for (copies, known) in self.vars.begin.iter().zip(&script.begins).skip(1) {
                for (var, value) in known {
                    if let Ok(place) = self.vars.shared.binary_search(var) {
                        all = all.set(copies[place], constant(self.task.program.vars()[*var].ty, *value));
                    }
                }
            }
        }
        let threads = self.task.program.threads().len() as u32;
        if self.script.is_none() && threads > 1 {
            // A switch is to another thread, so no two slots in a row are of one.
            let among = |owner| {
                Expr::new([Op::Var(owner), Op::Const(self.vars.owner_type, (threads - 1).into()), Op::Le])
            };
            let differ = |pair: &[VarId]| Expr::new([Op::Var(pair[0]), Op::Var(pair[1]), Op::Eq, Op::Not]);
            all = self.vars.owners.iter().fold(all, |all, &owner| all.when(among(owner)));
            all = self.vars.owners.windows(2).fold(all, |all, pair| all.when(differ(pair)));
        }
        self.edge(at, next, all.action(), EdgeMeaning::Nothing);
        next
    }

    /// Runs a thread, or does not.
    fn run(&mut self, main: ProcId, at: LocId, thread: ThreadId, proc: ProcId) -> LocId {
        let [begun, back, next] = [(); 3].map(|()| self.out.loc(main, Span::default()));
        for slot in 0..self.slots {
            let begin = Assign::default().set(self.vars.quit, Expr::bool(false));
            let begin = self.enter(begin, slot, thread);
            self.edge(at, begun, begin.action(), EdgeMeaning::Begin(thread, slot));
        }
        self.edge(at, next, Action::skip(), EdgeMeaning::Nothing);
        // A thread's first procedure may have parameters, which are arbitrary.
        let params = self.task.program.procs()[proc].params();
        let args = params.iter().map(|&param| Expr::choice(self.task.program.vars()[param].ty)).collect();
        let call = Action::Call { callee: proc, args, results: self.nothing(proc) };
        self.edge(begun, back, call, EdgeMeaning::Nothing);
        let quit = Expr::var(self.vars.quit);
        self.edge(back, next, Action::Assume(quit.clone()), EdgeMeaning::Nothing);
        let ended = self.left().when(quit.clone().negated());
        self.edge(back, next, ended.action(), EdgeMeaning::Nothing);
        let exit = self.task.program.procs()[proc].exit;
        for at in 0..self.task.queries.len() {
            if self.task.queries[at].locs().contains(&exit) {
                let reach = self.reach(at).when(quit.clone().negated());
                self.edge(back, next, reach.action(), EdgeMeaning::Bad);
            }
        }
        next
    }

    /// That what was guessed is what happened.
    fn agreement(&self) -> Expr {
        let mut all = Expr::bool(true);
        if self.rounds {
            for (far, begin) in self.vars.far.iter().zip(&self.vars.begin[1..]) {
                all = same(far.iter().copied().zip(begin.iter().copied())).into_iter().fold(all, both);
            }
            return all;
        }
        for (slot, &left) in (0u32..).zip(&self.vars.left) {
            // A slot before the end was left.
            let after =
                Expr::new([Op::Var(self.vars.end), Op::Const(self.vars.slot_type, slot.into()), Op::Le]);
            all = both(all, either(Expr::var(left), after));
        }
        all
    }
}
