//! Room `engine/deadlock`: from *can a run get stuck* to *is it reached*.
//!
//! # Idea
//!
//! A run is stuck where no thread can move although one waits; [`postbop_ir::blocked`] says when a thread waits, and [`waits`] under which condition it does at
//! each location. In a sequential program an edge with this condition leads from there to a location that was added, and that is asked about.
//!
//! With several threads, the one that runs has to know that all others wait as well. So each thread keeps a hidden
//! global that says whether it is somewhere where it may wait, and where; whether it has ended, or was not started yet; or neither. It is set when the thread comes to
//! such a location, with copies of the locals that the condition there mentions, and cleared along the edge that leaves it. A thread that waits, or that
//! ends, may ask all others: it calls a procedure that goes through them, one after the other, and gets to its last location if none of
//! them can move. Nothing is asked of the scheduler, so a run to a deadlock has as many switches as in the program as written.
//!
//! While a thread cannot be left, in an atomic section or in the prologue, the others do not matter. A thread that has not run yet can move, by beginning.
//!
//! # Cost
//!
//! For each thread one number, and copies of what conditions mention of its locals; for each thread and each location of another one at which that may wait, an edge.

mod waits;

use crate::engine::Unsupported;
use crate::temporal::wrap::{Draft, Wrapped};
use crate::threads::build::{Assign, both, constant, equals, number};
use postbop_ir::{
    Action, Builder, Expr, Id, LocId, Op, ProcId, Program, Query, Span, Table, ThreadId, Type, VarId,
};
use rustc_hash::FxHashMap as HashMap;
use waits::{substituted, waits};

/// What users call the property that no run gets stuck.
pub const DEADLOCK: &str = "deadlock";

/// Where a thread is: somewhere where it can move; ended, or not started yet; or from this number on where it may wait.
const MOVES: u32 = 0;
const NOT_THERE: u32 = 1;
const FIRST_PLACE: u32 = 2;

/// The most edges by which threads ask about each other.
const MOST: usize = 2_000_000;

/// Where a thread may wait.
struct Place {
    loc: LocId,
    /// When it does, in its own words.
    condition: Expr,
    /// What says so; and when it does, in terms of globals. None of a thread that was not started yet.
    number: u32,
    copies: Vec<(VarId, VarId)>,
}

struct Translator<'a> {
    draft: Draft<'a>,
    program: &'a Program,
    /// For each thread where it is, and where it may wait.
    at: Vec<(VarId, Type)>,
    places: Vec<Vec<Place>>,
    /// For each thread the procedure that asks about the others.
    asks: Vec<ProcId>,
    /// Where edges to a location lead instead.
    arrival: Table<LocId, LocId>,
    /// The threads of the locations at which they may wait.
    waits: HashMap<LocId, usize>,
    dead: Vec<LocId>,
}

/// The question whether a run gets stuck.
pub fn deadlock(program: &Program) -> Result<Wrapped<'_>, Unsupported> {
    let mut draft = Draft::with_threads(program);
    let thread = program.thread_of();
    let threads = program.threads().len();
    let mut dead = Vec::new();
    let mut places: Vec<Vec<Place>> = (0..threads).map(|_| Vec::new()).collect();
    for (loc, condition) in waits(program)? {
        let proc = program.locs()[loc].proc;
        match thread[proc].filter(|_| !program.is_sequential()) {
            None => {
                let stuck = draft.loc(proc);
                draft.add(loc, stuck, Action::Assume(condition));
                dead.push(stuck);
            }
            Some(thread) => {
                let Some(main) = program.threads().get(thread) else { continue };
                let is_first = main.later && program.procs()[main.main].entry == loc;
                let places = &mut places[thread.index()];
                let number = if is_first { NOT_THERE } else { FIRST_PLACE + places.len() as u32 };
                places.push(Place { loc, condition, number, copies: Vec::new() });
            }
        }
    }
    let arrival = program.locs().ids().collect();
    if program.is_sequential() {
        program.edges().pairs().for_each(|(id, edge)| draft.keep(id, edge.from, edge.to));
        return Ok(draft.finish_threads(Query::reach(DEADLOCK, dead)));
    }
    if threads * places.iter().map(Vec::len).sum::<usize>() > MOST {
        return Err(Unsupported(format!("deadlocks of threads that ask more than {MOST} questions")));
    }
    let (at, asks) = (Vec::new(), Vec::new());
    let waits = HashMap::default();
    let mut translator = Translator { draft, program, at, places, asks, arrival, waits, dead };
    translator.translate();
    let Translator { draft, dead, .. } = translator;
    Ok(draft.finish_threads(Query::reach(DEADLOCK, dead)))
}

impl Translator<'_> {
    fn translate(&mut self) {
        self.declare();
        for thread in 0..self.places.len() {
            let proc = self.draft.out.proc(&format!("%asks {thread}"), 1, Vec::new(), Span::default());
            self.asks.push(proc);
        }
        (0..self.places.len()).for_each(|thread| self.ask_others(thread));
        (0..self.places.len()).for_each(|thread| self.arrive(thread));
        self.edges();
        self.prologue();
    }

    /// Declares where threads are, and the copies of their locals.
    fn declare(&mut self) {
        for (id, thread) in self.program.threads().pairs() {
            let places = &mut self.places[id.index()];
            let ty = number(FIRST_PLACE + places.len() as u32);
            let at = self.draft.out.global(&format!("%{} is at", thread.name), ty);
            self.at.push((at, ty));
            let mut slots: HashMap<Type, Vec<VarId>> = HashMap::default();
            for place in places {
                self.waits.insert(place.loc, id.index());
                place.copies = copies(self.program, &mut self.draft.out, &place.condition, &mut slots);
            }
        }
        let control = self.at.iter().map(|(var, _)| *var).collect();
        self.draft.out.set_control(control);
    }

    /// That a thread is at a number.
    fn is_at(&self, thread: usize, number: u32) -> Expr {
        let (at, ty) = self.at[thread];
        equals(at, ty, number)
    }

    /// The assignment by which a thread comes to be at a number.
    fn comes_to(&self, thread: usize, number: u32) -> (VarId, Expr) {
        let (at, ty) = self.at[thread];
        (at, constant(ty, number))
    }

    /// A location at which the thread cannot be left.
    fn inner(&mut self, proc: ProcId) -> LocId {
        self.draft.out.inner(proc, Span::default())
    }

    /// The procedure by which a thread asks about the others. Its parameter says whether one waits.
    fn ask_others(&mut self, thread: usize) {
        let proc = self.asks[thread];
        let one_waits = self.draft.out.local(proc, "%one waits", Type::Bool);
        let mut here = self.inner(proc);
        self.draft.out.set_entry(proc, here);
        for other in (0..self.places.len()).filter(|&other| other != thread) {
            let next = self.inner(proc);
            self.draft.add(here, next, Action::Assume(self.is_at(other, NOT_THERE)));
            for at in 0..self.places[other].len() {
                let place = &self.places[other][at];
                if place.number == NOT_THERE {
                    continue;
                }
                let copied: HashMap<VarId, VarId> = place.copies.iter().copied().collect();
                let waits = substituted(&place.condition, |op| match op {
                    Op::Var(var) => copied.get(&var).map(|&copy| Expr::var(copy)),
                    _ => None,
                });
                let waits = both(self.is_at(other, place.number), waits);
                let action = Assign::default().set(one_waits, Expr::bool(true)).when(waits).action();
                self.draft.add(here, next, action);
            }
            here = next;
        }
        let dead = self.inner(proc);
        self.draft.add(here, dead, Action::Assume(Expr::var(one_waits)));
        self.dead.push(dead);
    }

    /// A thread comes to where it may wait, and asks there.
    fn arrive(&mut self, thread: usize) {
        let main = self.program.threads()[ThreadId::new(thread)].main;
        for at in 0..self.places[thread].len() {
            let Place { loc, number, .. } = self.places[thread][at];
            let proc = self.program.locs()[loc].proc;
            let is_entry = self.program.procs()[proc].entry == loc;
            let before = if is_entry && proc == main { self.draft.loc(proc) } else { self.inner(proc) };
            let (var, value) = self.comes_to(thread, number);
            let copies = &self.places[thread][at].copies;
            let (from, to): (Vec<VarId>, Vec<VarId>) = copies.iter().copied().unzip();
            self.draft.add(before, loc, Assign::default().set(var, value).copy(&to, &from).action());
            self.arrival[loc] = before;
            if is_entry {
                self.draft.out.set_entry(proc, before);
            }
            if number == NOT_THERE {
                continue;
            }
            let mut waits = self.places[thread][at].condition.clone();
            if let Some(atomic) = self.program.atomic() {
                let alone = self.inner(proc);
                self.draft.add(loc, alone, Action::Assume(both(waits.clone(), Expr::var(atomic))));
                self.dead.push(alone);
                waits = both(waits, Expr::var(atomic).negated());
            }
            let waiting = self.inner(proc);
            self.draft.add(loc, waiting, Action::Assume(waits));
            self.ask(thread, waiting, true);
        }
    }

    /// A thread asks about the others, here.
    fn ask(&mut self, thread: usize, here: LocId, waits: bool) {
        let proc = self.draft.out.locs()[here].proc;
        let back = self.inner(proc);
        let call =
            Action::Call { callee: self.asks[thread], args: vec![Expr::bool(waits)], results: Vec::new() };
        self.draft.add(here, back, call);
    }

    /// The edges of the program. A thread that goes on from where it may wait, or ends, says so.
    fn edges(&mut self) {
        let mains: HashMap<ProcId, usize> =
            self.program.threads().pairs().map(|(id, thread)| (thread.main, id.index())).collect();
        for (id, edge) in self.program.edges().pairs() {
            let proc = self.program.locs()[edge.from].proc;
            let to = self.arrival[edge.to];
            if let Some(&thread) = self.waits.get(&edge.from) {
                let action = self.going_on(&edge.action, thread);
                self.draft.keep_as(id, edge.from, to, action);
            } else if let (Action::Return(_), Some(&thread)) = (&edge.action, mains.get(&proc)) {
                // The step that ends the thread stands for its return, and makes the same choices.
                let ending = self.inner(proc);
                let (var, value) = self.comes_to(thread, NOT_THERE);
                let ends = Assign::default().set(var, value).when(any_choices(&edge.action)).action();
                self.draft.keep_as(id, edge.from, ending, ends);
                self.draft.add(ending, to, edge.action.clone());
                self.ask(thread, ending, false);
            } else {
                self.draft.keep(id, edge.from, to);
            }
        }
    }

    /// An action after which a thread is no longer where it may wait. It makes the same choices.
    fn going_on(&self, action: &Action, thread: usize) -> Action {
        let (mut targets, mut values, constraint) = match action {
            Action::Assume(condition) => (Vec::new(), Vec::new(), Some(condition.clone())),
            Action::Assign { targets, values, constraint } => {
                (targets.clone(), values.clone(), constraint.clone())
            }
            Action::Havoc(vars) => {
                let any = vars.iter().map(|&var| Expr::choice(self.program.vars()[var].ty));
                (vars.clone(), any.collect(), None)
            }
            Action::Call { .. } | Action::Return(_) => unreachable!("can always be taken"),
        };
        let (var, value) = self.comes_to(thread, MOVES);
        targets.push(var);
        values.push(value);
        Action::Assign { targets, values, constraint }
    }

    /// Before anything else, no thread is where it may wait.
    fn prologue(&mut self) {
        let threads = self.program.threads().pairs();
        let numbers = threads.map(|(id, thread)| (id, if thread.later { NOT_THERE } else { MOVES }));
        let first = numbers.fold(Assign::default(), |all, (id, number)| {
            let (var, value) = self.comes_to(id.index(), number);
            all.set(var, value)
        });
        match self.program.prologue() {
            Some(prologue) => {
                let (begin, entry) = (self.draft.loc(prologue), self.draft.out.procs()[prologue].entry);
                self.draft.add(begin, entry, first.action());
                self.draft.out.set_entry(prologue, begin);
            }
            None => {
                let prologue = self.draft.out.proc("%prologue", 0, Vec::new(), Span::default());
                let (entry, exit) =
                    (self.draft.out.procs()[prologue].entry, self.draft.out.procs()[prologue].exit);
                let over = self.draft.loc(prologue);
                self.draft.add(entry, over, first.action());
                self.draft.add(over, exit, Action::Return(Vec::new()));
                self.draft.out.set_prologue(Some(prologue));
            }
        }
    }
}

/// A condition that is always true, and makes the choices of an action; none if that makes none.
fn any_choices(action: &Action) -> Option<Expr> {
    let mut code = vec![Op::Const(Type::Bool, true.into())];
    for ty in action.exprs().flat_map(Expr::choices) {
        code.extend([Op::Choice(ty), Op::Const(ty, ty.min()), Op::Eq, Op::Or]);
    }
    (code.len() > 1).then(|| Expr::new(code))
}

/// The locals that a condition mentions, each with a global that takes its value. Conditions of one thread share these.
fn copies(
    program: &Program,
    out: &mut Builder,
    condition: &Expr,
    slots: &mut HashMap<Type, Vec<VarId>>,
) -> Vec<(VarId, VarId)> {
    let mut locals: Vec<VarId> = condition.reads().filter(|&var| !program.is_global(var)).collect();
    locals.sort_unstable();
    locals.dedup();
    let mut used: HashMap<Type, usize> = HashMap::default();
    let mut pairs = Vec::with_capacity(locals.len());
    for local in locals {
        let ty = program.vars()[local].ty;
        let at = used.entry(ty).or_default();
        let slots = slots.entry(ty).or_default();
        if *at == slots.len() {
            slots.push(out.global("%waits for", ty));
        }
        pairs.push((local, slots[*at]));
        *at += 1;
    }
    pairs
}
