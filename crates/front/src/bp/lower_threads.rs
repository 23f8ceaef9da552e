//! Room `front`: programs with threads to program graphs.
//!
//! # Idea
//! Each thread gets a copy of every procedure that it can call, and of every variable that is local to a thread. The
//! prologue gives globals their initial values, then does what `init` does. A procedure that no thread can call is there once.
//!
//! `atomic_begin` and `atomic_end` assign to a hidden variable, unless the program has one of its own for that;
//! `end_thread` also ends an atomic section.
//!
//! A program that starts threads as it runs gets as many threads as there is room for. One that is not there from the
//! beginning has a hidden global that says which statement has started it, 0 as long as none has. A start takes the first
//! thread that is not started; where none is left the run ends, at a location of `no_room`. To start at a label with the
//! starter's locals is to start a copy of the starter's procedure that begins there: the values that are live there
//! (`lower_live`) go through hidden globals, one for each local of each thread. To start a procedure passes its
//! arguments in the same way. If all starts are jumps within one procedure, the thread is its copy; otherwise it is a
//! hidden procedure that calls what was started.

use super::check::Meaning;
use super::concurrent::Concurrent;
use super::lower::{Copy, Lowering, Opening, Role};
use super::lower_live::{Move, live};
use super::tree::*;
use postbop_ir::{Action, EdgeId, Expr, Id, LocId, Op, ProcId, Program, Span, Type, Value, VarId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// What is special about a program with threads.
pub struct Threads<'a> {
    from: &'a Concurrent,
    /// How many there are, those included that are started later.
    count: u32,
    /// What brackets atomic sections, and whether we invented it.
    atomic: Option<(VarId, bool)>,
    /// For each thread that is started later, the number of the statement that has started it.
    started: Vec<VarId>,
    /// Hidden variables that start with 0, and the edge that sees to it.
    hidden: Vec<VarId>,
    clears: Option<EdgeId>,
    starts: Vec<Start>,
    /// Where the copies of procedures that are started go on, by the number of the starting statement.
    landings: Vec<(ProcId, Value, LocId)>,
    /// The hidden variable by which a thread gets a local of a procedure, by its place among the locals.
    mail: FxHashMap<(u32, u32, usize), VarId>,
}

/// A statement of some copy that starts a thread.
struct Start {
    site: Value,
    proc: ProcId,
    owner: u32,
    from: LocId,
    to: LocId,
    span: Span,
    /// The values of the parameters, if it starts a procedure ...
    args: Vec<Expr>,
    /// ... and where it leads in its own copy, if it is a jump.
    landing: Option<LocId>,
}

/// The program of a tree that has no errors and several threads, with room for `count` of them.
pub fn lower(
    tree: &Tree,
    meaning: &Meaning,
    names: &[&str],
    concurrent: &Concurrent,
    count: usize,
) -> Program {
    let mut lowering = Lowering::new(tree, meaning, names);
    lowering.declare_globals(count);
    lowering.prepare(concurrent, count as u32);
    let prologue = concurrent.init.map(|def| {
        let copy = Copy { owner: count as u32, def, role: Role::Opening };
        lowering.declare_all(copy);
        lowering.proc_of[&copy]
    });
    let mut mains: Vec<ProcId> = Vec::new();
    for (owner, (_, def)) in concurrent.threads.iter().enumerate() {
        let recursive = lowering.callees(*def).contains(def);
        let copy = Copy { owner: owner as u32, def: *def, role: Role::Called };
        lowering.declare_all(copy);
        mains.push(if recursive { lowering.declare_start(copy) } else { lowering.proc_of[&copy] });
    }
    let dynamic = lowering.declare_started();
    lowering.declare_rest();
    lowering.procedures();
    let prologue = prologue.or_else(|| lowering.prologue());
    lowering.finish_starts();
    mains.extend(dynamic.into_iter().enumerate().map(|(at, main)| match main {
        Some(main) => main,
        None => lowering.dispatcher((concurrent.threads.len() + at) as u32),
    }));
    lowering.clear();
    let mut out = lowering.out;
    let name = |at: usize| match concurrent.threads.get(at) {
        Some((name, _)) => name.clone(),
        None => format!("thread {at}"),
    };
    for (at, main) in mains.into_iter().enumerate() {
        let thread = out.thread(name(at), main);
        if at >= concurrent.threads.len() {
            out.set_later(thread);
        }
    }
    out.set_prologue(prologue);
    out.set_atomic(lowering.threads.and_then(|threads| threads.atomic).map(|(var, _)| var));
    out.finish_threads()
}

impl<'a> Lowering<'a> {
    fn prepare(&mut self, from: &'a Concurrent, count: u32) {
        let brackets = |stmt: &Stmt| matches!(stmt.act, Act::AtomicBegin | Act::AtomicEnd);
        let mut hidden = Vec::new();
        let atomic = match from.atomic {
            Some(var) => Some((self.first[var as usize], false)),
            None if self.tree.stmts.iter().any(brackets) => {
                let var = self.out.global("%atomic", Type::Bool);
                hidden.push(var);
                Some((var, true))
            }
            None => None,
        };
        let bits = usize::BITS - from.sites.len().leading_zeros();
        let later = from.threads.len() as u32..if from.sites.is_empty() { 0 } else { count };
        let started: Vec<VarId> = later
            .map(|thread| self.out.global(&format!("%start {thread}"), Type::Uint(bits.max(1) as u8)))
            .collect();
        hidden.extend(&started);
        self.threads = Some(Threads {
            from,
            count,
            atomic,
            started,
            hidden,
            clears: None,
            starts: Vec::new(),
            landings: Vec::new(),
            mail: FxHashMap::default(),
        });
    }

    fn special(&mut self) -> &mut Threads<'a> {
        self.threads.as_mut().expect("a program with threads")
    }

    fn sites(&self) -> &'a [u32] {
        self.threads.as_ref().map_or(&[], |threads| &threads.from.sites)
    }

    /// The number of a statement among those that start a thread, counted from 1.
    pub fn site(&self, stmt: usize) -> Option<Value> {
        self.sites().binary_search(&(stmt as u32)).ok().map(|at| Value::from(at as u32 + 1))
    }

    /// Whether a global is in scope of the procedure under way.
    pub fn is_visible(&self, var: usize) -> bool {
        let mine = |item: &Item| match item {
            Item::Decl(vars, _, thread, _) if vars.range().contains(&var) => {
                *thread == 0 || *thread == self.definition().thread
            }
            _ => false,
        };
        self.threads.is_none() || self.tree.items.iter().any(mine)
    }

    /// The procedures that a procedure calls.
    fn callees(&self, def: u32) -> FxHashSet<u32> {
        let calls =
            |at: &usize| matches!(self.tree.stmts[*at].act, Act::Call(..)) && self.site(*at).is_none();
        let body = self.tree.procs[def as usize].body.range();
        body.filter(calls).map(|at| self.meaning.callees[at]).collect()
    }

    /// Adds a copy, and copies of all that it can call, for the same thread.
    fn declare_all(&mut self, copy: Copy) {
        let mut open = vec![copy];
        while let Some(copy) = open.pop() {
            if self.proc_of.contains_key(&copy) {
                continue;
            }
            self.declare(copy);
            let mut callees: Vec<u32> = self.callees(copy.def).into_iter().collect();
            callees.sort_unstable();
            open.extend(callees.into_iter().rev().map(|def| Copy { def, role: Role::Called, ..copy }));
        }
    }

    /// A thread that calls its own first procedure starts in a second copy, which nothing calls.
    fn declare_start(&mut self, copy: Copy) -> ProcId {
        let called = self.proc_of[&copy];
        let start = self.declare(copy);
        self.proc_of.insert(copy, called);
        start
    }

    /// Adds copies of what is started, for each thread that is not there from the beginning. Says which procedure each
    /// is, unless it needs one that chooses.
    fn declare_started(&mut self) -> Vec<Option<ProcId>> {
        let first = self.special().from.threads.len() as u32;
        let defs: BTreeSet<Copy> = self.sites().iter().map(|at| self.started(*at, 0)).collect();
        let mut mains = Vec::new();
        for owner in first..first + self.special().started.len() as u32 {
            let copies: Vec<Copy> = defs.iter().map(|copy| Copy { owner, ..*copy }).collect();
            copies.iter().for_each(|copy| self.declare_all(*copy));
            mains.push(match copies[..] {
                [only] if only.role == Role::Started => Some(self.proc_of[&only]),
                _ => None,
            });
        }
        mains
    }

    /// What a statement starts, as a thread has it.
    fn started(&self, stmt: u32, owner: u32) -> Copy {
        match self.meaning.landings.contains_key(&stmt) {
            false => Copy { owner, def: self.meaning.callees[stmt as usize], role: Role::Called },
            true => {
                let holds = |proc: &ProcDef| proc.body.range().contains(&(stmt as usize));
                let def = self.tree.procs.iter().position(holds).expect("it stands in a procedure");
                Copy { owner, def: def as u32, role: Role::Started }
            }
        }
    }

    /// Adds the procedures that no thread can call, so that their labels are there.
    fn declare_rest(&mut self) {
        let there: FxHashSet<u32> = self.copies.iter().map(|copy| copy.def).collect();
        let owner = self.special().count + 1;
        for def in (0..self.tree.procs.len() as u32).filter(|def| !there.contains(def)) {
            self.declare_all(Copy { owner, def, role: Role::Called });
        }
    }

    /// What happens before everything else.
    pub fn initial_globals(&self) -> Vec<Opening> {
        let hidden = self.threads.as_ref().is_some_and(|threads| !threads.hidden.is_empty());
        let mut openings: Vec<Opening> = hidden.then_some(Opening::Hidden).into_iter().collect();
        for item in &self.tree.items {
            if let Item::Decl(vars, ..) = item {
                let private = self.private.iter().find(|(var, _)| vars.range().contains(var));
                let owners = private.map_or(1, |(_, firsts)| firsts.len() as u32);
                (0..owners).for_each(|owner| self.initials(*vars, owner, &mut openings));
            }
        }
        openings
    }

    /// The prologue of a program without `init`, if there is something to do.
    fn prologue(&mut self) -> Option<ProcId> {
        let openings = self.initial_globals();
        if openings.is_empty() {
            return None;
        }
        self.proc = self.out.proc("%prologue", 0, Vec::new(), Span::default());
        self.cursor = self.out.procs()[self.proc].entry;
        for opening in &openings {
            let to = self.between(opening, opening);
            self.opening(opening, to);
        }
        let exit = self.out.procs()[self.proc].exit;
        self.edge(Action::Return(Vec::new()), exit);
        Some(self.proc)
    }

    /// Adds the edge that will clear the hidden variables, when all are known.
    pub fn clear_hidden(&mut self, to: LocId) {
        let edge = self.out.edge(self.cursor, to, Action::skip(), self.span);
        self.special().clears = Some(edge);
    }

    fn clear(&mut self) {
        let threads = self.special();
        let (clears, targets) = (threads.clears, threads.hidden.clone());
        if let Some(edge) = clears {
            let values = targets.iter().map(|var| zero(self.out.vars()[*var].ty)).collect();
            self.out.set_action(edge, Action::Assign { targets, values, constraint: None });
        }
    }

    /// A bracket of an atomic section.
    pub fn bracket(&mut self, here: usize, begins: bool) {
        let atomic = self.threads.as_ref().and_then(|threads| threads.atomic);
        let action = atomic.map_or_else(Action::skip, |(var, _)| set(var, Expr::bool(begins)));
        self.onward(here, action);
    }

    /// The end of a thread, wherever it stands.
    pub fn end_thread(&mut self) {
        if let Some((atomic, true)) = self.threads.as_ref().and_then(|threads| threads.atomic) {
            let to = self.out.loc(self.proc, self.span);
            self.edge(set(atomic, Expr::bool(false)), to);
        }
    }

    /// A statement that starts a thread. Its edges are added when it is known which values it must pass.
    pub fn start(&mut self, here: usize, args: Slice) {
        let args: Vec<Expr> = args.range().map(|at| self.expr(self.tree.exprs[at])).collect();
        let to = self.after(here);
        let landing = self.meaning.landings.get(&(here as u32)).copied().map(|stmt| self.place(stmt));
        let site = self.site(here).expect("a statement that starts a thread");
        let (proc, owner, from, span) = (self.proc, self.owner, self.cursor, self.span);
        self.special().starts.push(Start { site, proc, owner, from, to, span, args, landing });
    }

    /// Notes where the copy under way can start.
    pub fn land(&mut self) {
        for stmt in self.definition().body.range() {
            if let Some(landing) = self.meaning.landings.get(&(stmt as u32)).copied() {
                let place = self.place(landing);
                let site = self.site(stmt).expect("a statement that starts a thread");
                let proc = self.proc;
                self.special().landings.push((proc, site, place));
            }
        }
    }

    /// Adds the edges of all statements that start threads, and those with which the threads begin.
    fn finish_starts(&mut self) {
        let starts = std::mem::take(&mut self.special().starts);
        let landings = std::mem::take(&mut self.special().landings);
        let first = self.special().from.threads.len() as u32;
        let passed = self.passed(&starts);
        for start in &starts {
            for at in 0..self.special().started.len() {
                let action = self.start_action(start, &passed, at, first);
                self.out.edge(start.from, start.to, action, start.span);
            }
            let limit = self.out.inner(start.proc, start.span);
            let last = self.special().started.last().copied();
            let full = last.map_or(Expr::bool(true), |last| self.equals(last, Value::ZERO).negated());
            self.out.edge(start.from, limit, Action::Assume(full), start.span);
            self.out.no_room(limit);
        }
        for (proc, site, to) in landings {
            let Copy { owner, def, .. } = self.copies[proc.index()];
            let started = self.special().started[(owner - first) as usize];
            let (mut targets, mut values) = (Vec::new(), Vec::new());
            for place in &passed[&site] {
                let mail = self.mail(owner, def, *place, proc);
                targets.extend([self.out.procs()[proc].locals[*place], mail]);
                values.extend([Expr::var(mail), zero(self.out.vars()[mail].ty)]);
            }
            let condition = self.equals(started, site);
            let action = match targets.is_empty() {
                true => Action::Assume(condition),
                false => Action::Assign { targets, values, constraint: Some(condition) },
            };
            let (entry, span) = (self.out.procs()[proc].entry, self.out.procs()[proc].span);
            self.out.edge(entry, to, action, span);
        }
    }

    /// For each starting statement the places of the locals that the new thread needs.
    fn passed(&self, starts: &[Start]) -> FxHashMap<Value, Vec<usize>> {
        let mut passed: FxHashMap<Value, Vec<usize>> = FxHashMap::default();
        let mut moves: FxHashMap<ProcId, Vec<Move>> = FxHashMap::default();
        for start in starts {
            let reads = start.args.iter().flat_map(Expr::reads).collect();
            let also = [start.to].into_iter().chain(start.landing);
            let here = moves.entry(start.proc).or_default();
            here.extend(also.map(|to| Move {
                from: start.from,
                to,
                reads: Vec::clone(&reads),
                writes: Vec::new(),
            }));
        }
        for start in starts.iter().filter(|start| start.landing.is_some()) {
            if let Some(moves) = moves.remove(&start.proc) {
                let live = live(&self.out, start.proc, moves);
                let locals = &self.out.procs()[start.proc].locals;
                for start in starts.iter().filter(|other| other.proc == start.proc) {
                    let Some(landing) = start.landing else { continue };
                    let needed =
                        |place: &usize| live.get(&landing).is_some_and(|live| live.contains(&locals[*place]));
                    let places = (0..locals.len()).filter(needed).collect();
                    passed.entry(start.site).or_insert(places);
                }
            }
        }
        passed
    }

    /// What a start does to one of the threads: if it is the first that is not started, it is.
    fn start_action(
        &mut self,
        start: &Start,
        passed: &FxHashMap<Value, Vec<usize>>,
        at: usize,
        first: u32,
    ) -> Action {
        let owner = first + at as u32;
        let started = self.special().started.clone();
        let ty = self.out.vars()[started[at]].ty;
        let mut targets = vec![started[at]];
        let mut values = vec![Expr::new([Op::Const(ty, start.site)])];
        let stmt = self.sites()[start.site.get() as usize - 1];
        let def = self.started(stmt, owner).def;
        match start.landing {
            Some(_) => {
                for place in &passed[&start.site] {
                    targets.push(self.mail(owner, def, *place, start.proc));
                    values.push(Expr::var(self.out.procs()[start.proc].locals[*place]));
                }
            }
            None => {
                let callee = self.proc_of[&self.started(stmt, owner)];
                for (place, arg) in start.args.iter().enumerate() {
                    targets.push(self.mail(owner, def, place, callee));
                    values.push(arg.clone());
                }
            }
        }
        for (var, firsts) in &self.private {
            let mine = firsts.get(start.owner as usize).unwrap_or(&firsts[0]).0;
            for element in (0..self.tree.vars[*var].len.unwrap_or(1)).filter(|_| start.owner != owner) {
                targets.push(VarId(firsts[owner as usize].0 + element));
                values.push(Expr::var(VarId(mine + element)));
            }
        }
        let mut free = self.equals(started[at], Value::ZERO).code.into_vec();
        if at > 0 {
            free.extend(self.equals(started[at - 1], Value::ZERO).negated().code.iter());
            free.push(Op::And);
        }
        Action::Assign { targets, values, constraint: Some(Expr::new(free)) }
    }

    /// The hidden variable by which a thread gets the local at a place of a procedure.
    fn mail(&mut self, owner: u32, def: u32, place: usize, like: ProcId) -> VarId {
        if let Some(mail) = self.special().mail.get(&(owner, def, place)) {
            return *mail;
        }
        let local = &self.out.vars()[self.out.procs()[like].locals[place]];
        let (name, ty) = (format!("%{} {owner}", local.name), local.ty);
        let mail = self.out.global(&name, ty);
        self.special().mail.insert((owner, def, place), mail);
        self.special().hidden.push(mail);
        mail
    }

    fn equals(&self, var: VarId, value: Value) -> Expr {
        Expr::new([Op::Var(var), Op::Const(self.out.vars()[var].ty, value), Op::Eq])
    }

    /// The hidden procedure that calls what a thread was started to run.
    fn dispatcher(&mut self, owner: u32) -> ProcId {
        let main = self.out.proc("%thread", 0, Vec::new(), Span::default());
        let (entry, exit) = (self.out.procs()[main].entry, self.out.procs()[main].exit);
        let first = self.special().from.threads.len();
        let started = self.special().started[owner as usize - first];
        for (at, stmt) in self.sites().iter().enumerate() {
            let span = self.tree.stmts[*stmt as usize].span;
            let copy = self.started(*stmt, owner);
            let callee = self.proc_of[&copy];
            let args = (0..self.out.procs()[callee].params)
                .map(|place| Expr::var(self.mail(owner, copy.def, place, callee)))
                .collect();
            let results = vec![None; self.out.procs()[callee].results.len()];
            let (chosen, back) = (self.out.inner(main, span), self.out.loc(main, span));
            let condition = self.equals(started, Value::from(at as u32 + 1));
            self.out.edge(entry, chosen, Action::Assume(condition), span);
            self.out.edge(chosen, back, Action::Call { callee, args, results }, span);
            self.out.edge(back, exit, Action::Return(Vec::new()), span);
        }
        main
    }
}

fn set(var: VarId, value: Expr) -> Action {
    Action::Assign { targets: vec![var], values: vec![value], constraint: None }
}

fn zero(ty: Type) -> Expr {
    Expr::new([Op::Const(ty, Value::ZERO)])
}
