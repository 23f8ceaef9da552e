//! Room `engine/threads`: threads as one procedure.
//!
//! # Idea
//!
//! A thread without recursion has finitely many stacks, so its calls can be written out: each call path is an
//! *instance* of a procedure, with variables of its own. The location of the product tells which thread runs and
//! where it is; for each other thread a variable says where it was left. A switch stores the location of the
//! running thread and goes to that of another one. The number of switches is not limited, so a property of the
//! product holds of the threads without any bound; for a bound, a variable counts the switches.
//!
//! As in [`super::sequential`], a switch that the thread comes back from is made only in front of an edge that
//! mentions a shared variable; a thread can be left for good anywhere.
//!
//! # Recursion
//!
//! A recursive thread has no such program, but there is a finite program with at least its runs: where a procedure
//! is on its call path too often, the call enters the innermost instance once more, and a return from there leads
//! to any place from which the instance was called. The variables of the instances in between are forgotten and
//! become arbitrary. So a target that this program does not reach is not reached by the threads; if it does reach a
//! target, that says nothing.
//!
//! # Paper
//!
//! \[cuba\]: such a finite program is what their argument starts from. That observations stop growing from one
//! bound to the next is not used here.
//!
//! # Cost
//!
//! The call trees of all threads; a product of more than [`LARGEST`] locations and edges is refused.

use super::build::{assignment, both, constant, equals, number};
use super::resume_points::{resume_points, shared};
use super::translation::{EdgeMeaning, Translation};
use crate::engine::Unsupported;
use postbop_ir::{
    Action, Builder, EdgeId, Expr, LocId, Op, ProcId, Query, Schedule, Span, Table, Task, ThreadId, Type,
    Value, Var, VarId,
};
use rustc_hash::FxHashMap as HashMap;

/// The most locations and edges of all instances.
const LARGEST: usize = 150_000;

/// The instance that calls, and the call.
type CallPath = (usize, EdgeId);

/// A procedure on one call path.
struct Instance {
    proc: ProcId,
    thread: ThreadId,
    /// Where it returns to.
    caller: Option<CallPath>,
    /// The calls of itself by which it is entered once more.
    again: Vec<CallPath>,
    /// Its locations and variables in the product.
    locs: HashMap<LocId, LocId>,
    vars: HashMap<VarId, VarId>,
}

/// How the stacks of threads are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stacks {
    /// As they are; there is no product where they have no bound.
    Exact,
    /// A procedure is on each call path at most so often; what is below is forgotten.
    Upto(usize),
}

struct Product<'a> {
    task: &'a Task<'a>,
    schedule: Option<Schedule>,
    out: Builder,
    main: ProcId,
    origins: Table<EdgeId, EdgeMeaning>,
    instances: Vec<Instance>,
    /// The instance that a call of an instance enters.
    callees: HashMap<CallPath, usize>,
    /// For each thread where it stands while another runs: 0 before its first step, 1 if it is done, or a place.
    stands: Vec<VarId>,
    place: Type,
    /// For each thread where it is gone on with, and for each of its places the location.
    resume: Vec<LocId>,
    places: Vec<Vec<LocId>>,
    /// What counts switches or rounds.
    count: Option<(VarId, Type, u32)>,
    scratch: HashMap<Type, Vec<VarId>>,
}

/// The product of a task's threads, within a schedule or without bound. Its own main procedure is one of the threads' runs.
pub fn product(task: &Task, schedule: Option<Schedule>, stacks: Stacks) -> Result<Translation, Unsupported> {
    let program = task.program;
    let mut out = Builder::without_edges(program);
    let main = out.proc("%main", 0, Vec::new(), Span::default());
    let mut product = Product {
        task,
        schedule,
        out,
        main,
        origins: Table::new(),
        instances: Vec::new(),
        callees: HashMap::default(),
        stands: Vec::new(),
        place: Type::Uint(1),
        resume: Vec::new(),
        places: vec![Vec::new(); program.threads().len()],
        count: None,
        scratch: HashMap::default(),
    };
    product.unfold(stacks)?;
    product.declare();
    let begin = product.start();
    product.threads(begin);
    Ok(product.finish())
}

impl Product<'_> {
    fn edge(&mut self, from: LocId, to: LocId, action: Action, origin: EdgeMeaning) {
        let span = self.out.locs()[from].span;
        self.out.edge(from, to, action, span);
        self.origins.push(origin);
    }

    /// Writes out the call trees.
    fn unfold(&mut self, stacks: Stacks) -> Result<(), Unsupported> {
        let program = self.task.program;
        let mut by_proc: Table<ProcId, Vec<LocId>> = Table::filled(program.procs().len(), Vec::new());
        for (id, loc) in program.locs().pairs() {
            by_proc[loc.proc].push(id);
        }
        let mut work: Vec<(ThreadId, ProcId, Option<CallPath>)> =
            program.threads().pairs().map(|(id, thread)| (id, thread.main, None)).collect();
        let mut size = 0;
        while let Some((thread, proc, caller)) = work.pop() {
            let above = self.path(caller).filter(|&at| self.instances[at].proc == proc);
            let above: Vec<usize> = above.collect();
            match (stacks, above.first()) {
                (Stacks::Exact, Some(_)) => {
                    return Err(Unsupported("threads that call themselves have no product".into()));
                }
                (Stacks::Upto(most), Some(&nearest)) if above.len() >= most => {
                    self.callees.extend(caller.map(|call| (call, nearest)));
                    self.instances[nearest].again.extend(caller);
                    continue;
                }
                _ => {}
            }
            size += by_proc[proc].iter().map(|&loc| 1 + program.leaving(loc).len()).sum::<usize>();
            if size > LARGEST {
                return Err(Unsupported(format!(
                    "call trees of more than {LARGEST} locations and edges have no product"
                )));
            }
            let number = self.instances.len();
            let locs =
                by_proc[proc].iter().map(|&loc| (loc, self.out.loc(self.main, program.locs()[loc].span)));
            let locs: HashMap<LocId, LocId> = locs.collect();
            let own = |out: &mut Builder, var: VarId| {
                let Var { name, ty, .. } = &program.vars()[var];
                out.local(self.main, &format!("%{number} {name}"), *ty)
            };
            let vars =
                program.procs()[proc].locals.iter().map(|&var| (var, own(&mut self.out, var))).collect();
            for &loc in &by_proc[proc] {
                for &id in program.leaving(loc) {
                    if let Action::Call { callee, .. } = program.edges()[id].action {
                        work.push((thread, callee, Some((number, id))));
                    }
                }
            }
            if let Some(call) = caller {
                self.callees.insert(call, number);
            }
            self.instances.push(Instance { proc, thread, caller, again: Vec::new(), locs, vars });
        }
        Ok(())
    }

    /// The instances on a call path, the innermost first.
    fn path(&self, call: Option<CallPath>) -> impl Iterator<Item = usize> + '_ {
        let outwards = |&at: &usize| self.instances[at].caller.map(|(instance, _)| instance);
        std::iter::successors(call.map(|(instance, _)| instance), outwards)
    }

    /// Finds the places where threads are gone on with, and declares where they stand.
    fn declare(&mut self) {
        let program = self.task.program;
        let thread = program.thread_of();
        let resume_points = resume_points(program, &shared(program, &thread), &thread);
        for instance in &self.instances {
            let here = resume_points.iter().filter_map(|loc| instance.locs.get(loc));
            self.places[instance.thread.0 as usize].extend(here.copied());
        }
        self.places.iter_mut().for_each(|places| places.sort_unstable());
        let most = self.places.iter().map(Vec::len).max().unwrap_or(0) as u32 + 1;
        self.place = number(most);
        for (_, thread) in program.threads().pairs() {
            let name = format!("%{} stands", thread.name);
            self.stands.push(self.out.local(self.main, &name, self.place));
            let resume = self.out.loc(self.main, Span::default());
            self.resume.push(resume);
        }
        self.count = self.schedule.map(|schedule| {
            let most = match schedule {
                Schedule::Switches(most) => most,
                Schedule::Rounds(most) => most - 1,
            };
            let ty = number(most);
            (self.out.local(self.main, "%count", ty), ty, most)
        });
    }

    /// Runs the prologue; where the threads begin.
    fn start(&mut self) -> LocId {
        let program = self.task.program;
        let [mut at, begin] = [(); 2].map(|()| self.out.loc(self.main, Span::default()));
        let entry = self.out.procs()[self.main].entry;
        let zero =
            self.stands.iter().map(|&var| (var, self.place)).chain(self.count.map(|(var, ty, _)| (var, ty)));
        let (targets, values): (Vec<VarId>, Vec<Expr>) =
            zero.map(|(var, ty)| (var, constant(ty, Value::ZERO))).unzip();
        self.edge(entry, at, Action::Assign { targets, values, constraint: None }, EdgeMeaning::Nothing);
        // The prologue stays as it is, with its calls.
        let thread = program.thread_of();
        for (id, edge) in program.edges().pairs() {
            if thread[program.locs()[edge.from].proc].is_none() {
                self.edge(edge.from, edge.to, edge.action.clone(), EdgeMeaning::Step(id));
            }
        }
        if let Some(prologue) = program.prologue() {
            let next = self.out.loc(self.main, Span::default());
            let results = vec![None; program.procs()[prologue].results.len()];
            let call = Action::Call { callee: prologue, args: Vec::new(), results };
            self.edge(at, next, call, EdgeMeaning::Nothing);
            at = next;
        }
        self.edge(at, begin, Action::skip(), EdgeMeaning::Nothing);
        begin
    }

    fn threads(&mut self, begin: LocId) {
        let program = self.task.program;
        for (id, _) in program.threads().pairs() {
            self.edge(begin, self.resume[id.0 as usize], Action::skip(), EdgeMeaning::Switch(id));
            self.dispatch(id);
        }
        for number in 0..self.instances.len() {
            let mut locs: Vec<LocId> = self.instances[number].locs.keys().copied().collect();
            locs.sort_unstable();
            for loc in locs {
                program.leaving(loc).iter().for_each(|&id| self.translate(number, id));
                self.leave(number, loc);
            }
        }
    }

    /// From where a thread is gone on with to where it stands.
    fn dispatch(&mut self, thread: ThreadId) {
        let at = thread.0 as usize;
        let program = self.task.program;
        let first = self.instances.iter().position(|i| i.thread == thread && i.caller.is_none());
        let first = first.expect("a thread has an instance");
        let entry = program.procs()[program.threads()[thread].main].entry;
        let to = self.instances[first].locs[&entry];
        self.edge(
            self.resume[at],
            to,
            Action::Assume(equals(self.stands[at], self.place, 0)),
            EdgeMeaning::Nothing,
        );
        for (place, loc) in (2..).zip(self.places[at].clone()) {
            let here = equals(self.stands[at], self.place, place);
            self.edge(self.resume[at], loc, Action::Assume(here), EdgeMeaning::Nothing);
        }
    }

    /// The ways to leave an instance's thread at a location.
    fn leave(&mut self, number: usize, loc: LocId) {
        let program = self.task.program;
        let instance = &self.instances[number];
        let (thread, here) = (instance.thread, instance.locs[&loc]);
        let exit = program.procs()[instance.proc].exit == loc;
        let ended = exit && instance.caller.is_none();
        if !ended && (exit || program.locs()[loc].inner) {
            return;
        }
        let free = program.atomic().filter(|_| !ended).map(|atomic| Expr::var(atomic).negated());
        let place = self.places[thread.0 as usize].binary_search(&here).ok().map(|at| at as u32 + 2);
        for stand in std::iter::once(1).chain(place) {
            for (other, _) in program.threads().pairs().filter(|(other, _)| *other != thread) {
                self.switch(here, stand, thread, other, free.clone());
            }
        }
    }

    fn switch(&mut self, from: LocId, stand: u32, thread: ThreadId, other: ThreadId, free: Option<Expr>) {
        let mut targets = vec![self.stands[thread.0 as usize]];
        let mut values = vec![constant(self.place, stand as i64)];
        let mut constraint = free;
        let counts = !matches!(self.schedule, Some(Schedule::Rounds(_))) || other < thread;
        if let Some((count, ty, most)) = self.count.filter(|_| counts) {
            targets.push(count);
            values.push(Expr::new([Op::Var(count), Op::Const(ty, 1u32.into()), Op::Add(ty)]));
            let room = Expr::new([Op::Var(count), Op::Const(ty, most.into()), Op::Lt]);
            constraint = Some(match constraint {
                Some(free) => both(free, room),
                None => room,
            });
        }
        let action = Action::Assign { targets, values, constraint };
        self.edge(from, self.resume[other.0 as usize], action, EdgeMeaning::Switch(other));
    }

    fn expr(&self, number: usize, expr: &Expr) -> Expr {
        let vars = &self.instances[number].vars;
        let own = |var: VarId| vars.get(&var).copied().unwrap_or(var);
        let op = |op: &Op| match *op {
            Op::Var(var) => Op::Var(own(var)),
            Op::Next(var) => Op::Next(own(var)),
            op => op,
        };
        Expr::new(expr.code.iter().map(op).collect::<Vec<_>>())
    }

    fn own(&self, number: usize, vars: &[VarId]) -> Vec<VarId> {
        vars.iter().map(|var| self.instances[number].vars.get(var).copied().unwrap_or(*var)).collect()
    }

    fn exprs(&self, number: usize, exprs: &[Expr]) -> Vec<Expr> {
        exprs.iter().map(|expr| self.expr(number, expr)).collect()
    }

    /// An edge of an instance.
    fn translate(&mut self, number: usize, id: EdgeId) {
        let program = self.task.program;
        let edge = &program.edges()[id];
        let (from, mut to) = (self.instances[number].locs[&edge.from], self.instances[number].locs[&edge.to]);
        let action = match &edge.action {
            Action::Assume(condition) => Action::Assume(self.expr(number, condition)),
            Action::Assign { targets, values, constraint } => Action::Assign {
                targets: self.own(number, targets),
                values: self.exprs(number, values),
                constraint: constraint.as_ref().map(|constraint| self.expr(number, constraint)),
            },
            Action::Havoc(vars) => Action::Havoc(self.own(number, vars)),
            Action::Call { callee, args, .. } => {
                let inside = self.callees[&(number, id)];
                let proc = &program.procs()[*callee];
                to = self.instances[inside].locs[&proc.entry];
                let fresh =
                    proc.locals[proc.params..].iter().map(|&var| Expr::choice(program.vars()[var].ty));
                let values = self.exprs(number, args).into_iter().chain(fresh).collect();
                Action::Assign { targets: self.own(inside, &proc.locals), values, constraint: None }
            }
            Action::Return(values) => {
                let values = self.exprs(number, values);
                for back in self.instances[number].again.clone() {
                    let (to, action) = self.give_back(number, Some(back), values.clone());
                    let action = self.forget(number, back, action);
                    self.edge(from, to.expect("a call goes on somewhere"), action, EdgeMeaning::Step(id));
                }
                let (back, action) = self.give_back(number, self.instances[number].caller, values);
                to = back.unwrap_or(to);
                action
            }
        };
        self.edge(from, to, action, EdgeMeaning::Step(id));
    }

    /// Where an instance returns to, and how its results get to their targets; those without one go to a scratch
    /// variable: their choices are made all the same.
    fn give_back(
        &mut self,
        number: usize,
        call: Option<CallPath>,
        values: Vec<Expr>,
    ) -> (Option<LocId>, Action) {
        let program = self.task.program;
        let types = &program.procs()[self.instances[number].proc].results;
        let (mut wanted, mut to) = (vec![None; types.len()], None);
        if let Some((caller, call)) = call {
            to = Some(self.instances[caller].locs[&program.edges()[call].to]);
            if let Action::Call { results, .. } = &program.edges()[call].action {
                wanted = results.iter().map(|var| Some(self.own(caller, &[(*var)?])[0])).collect();
            }
        }
        let mut used: HashMap<Type, usize> = HashMap::default();
        let mut targets = Vec::new();
        for (&result, &ty) in wanted.iter().zip(types) {
            let at = used.entry(ty).or_default();
            *at += result.is_none() as usize;
            let at = *at;
            targets.push(result.unwrap_or_else(|| self.scratch(ty, at - 1)));
        }
        (to, assignment(targets, values))
    }

    /// A return to a call of the instance itself, after which nothing is known of the instances from there up to it, except
    /// what it gives back.
    fn forget(&self, number: usize, call: CallPath, action: Action) -> Action {
        let (mut targets, mut values) = match action {
            Action::Assign { targets, values, .. } => (targets, values),
            _ => (Vec::new(), Vec::new()),
        };
        for at in self.path(Some(call)).take_while(|&at| at != number).chain([number]) {
            let locals = self.task.program.procs()[self.instances[at].proc].locals.iter();
            for own in locals.map(|var| self.instances[at].vars[var]) {
                if !targets.contains(&own) {
                    targets.push(own);
                    values.push(Expr::choice(self.out.vars()[own].ty));
                }
            }
        }
        assignment(targets, values)
    }

    fn scratch(&mut self, ty: Type, at: usize) -> VarId {
        let main = self.main;
        let known = self.scratch.entry(ty).or_default();
        while known.len() <= at {
            known.push(self.out.local(main, "%scratch", ty));
        }
        known[at]
    }

    fn finish(self) -> Translation {
        let thread = self.task.program.thread_of();
        let of_query = |query: &Query| {
            let instances = self.instances.iter();
            let mut locs: Vec<LocId> = instances
                .flat_map(|i| query.locs().iter().filter_map(|loc| i.locs.get(loc).copied()))
                .collect();
            locs.extend(
                query.locs().iter().filter(|loc| thread[self.task.program.locs()[**loc].proc].is_none()),
            );
            Query::reach(&query.name, locs)
        };
        let queries = self.task.queries.iter().map(of_query).collect();
        let firsts = self.instances.iter().filter(|instance| instance.caller.is_none());
        let firsts =
            firsts.flat_map(|instance| instance.vars.iter().map(|(&var, &own)| (own, var))).collect();
        let program = self.out.finish(self.main);
        Translation { program, queries, meaning: self.origins, firsts, rounds: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postbop_ir::text;

    /// Two threads, each with two locations and so many edges from one to the other.
    fn two_threads(edges: usize) -> String {
        let wide = |from: usize| format!("edge l{from} l{} at 0..0 assume *:bool\n", from + 1).repeat(edges);
        format!(
            "postbop-ir 1\n\
            proc p0 \"a\" params 0 results ( ) entry l0 exit l2 at 0..0\n\
            proc p1 \"b\" params 0 results ( ) entry l3 exit l5 at 0..0\n\
            loc l0 p0 at 0..0\nloc l1 p0 at 0..0\nloc l2 p0 at 0..0\n\
            loc l3 p1 at 0..0\nloc l4 p1 at 0..0\nloc l5 p1 at 0..0\n\
            {}{}edge l1 l2 at 0..0 return\nedge l4 l5 at 0..0 return\n\
            thread t0 \"a\" p0\nthread t1 \"b\" p1\n",
            wide(0),
            wide(3)
        )
    }

    #[test]
    fn edges_count_as_locations_do() {
        for (edges, fits) in [(LARGEST / 2 - 10, true), (LARGEST / 2, false)] {
            let program = text::parse(&two_threads(edges)).unwrap();
            let queries = [Query::reach("behind", vec![LocId(1)])];
            let made = product(&Task::new(&program, &queries), None, Stacks::Exact);
            assert_eq!(made.is_ok(), fits, "{edges} edges of each thread");
        }
    }
}
