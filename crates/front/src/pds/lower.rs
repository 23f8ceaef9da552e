//! Room `front/pds`: concurrent pushdown systems to program graphs.
//!
//! # Idea
//! The shared state is a global. A symbol that can be pushed is a procedure, and the locations of the procedure are the
//! symbols that can be on top while what was pushed has not been removed: overwriting goes from one to another, pushing
//! calls the procedure of the new top and comes back to the symbol below, removing the top returns. A thread's first
//! procedure calls those of its initial stack, the top first.
//!
//! A rule is one statement: where it takes two edges, the location between them is inner.
//!
//! A bad configuration speaks of all threads at once. So each thread keeps, for every symbol that a bad configuration
//! wants on its top, a hidden global that says whether it is there, changed along the same edge as the stack. A rule
//! after which the shared state and the thread's own top are those of a bad configuration gets a second edge, to the label
//! `ERROR`, where the other threads' globals say that the rest is true as well. After a return only the caller knows what
//! is on top, so it asks there. No thread watches the others, so no switch is spent on it.
//!
//! # Cost
//! A location for each pushed symbol and each symbol that can take its place: linear for what comes from programs, where
//! symbols of different procedures are different, and quadratic at worst. Each thread asks about the tops of all others,
//! which is quadratic in the number of threads. Both have a limit.

use super::parse::{Change, Configuration, Rule, System};
use crate::diagnostic::{Code, Diagnostic, Sink};
use crate::read::{MOST_THREADS, too_many_threads};
use postbop_ir::{Action, Builder, Expr, LocId, Op, ProcId, Program, Span, Type, VarId};
use rustc_hash::FxHashMap;

/// Where runs end in a bad configuration.
const ERROR: &str = "ERROR";

/// The most edges of a program, and the most questions about tops on them.
const MOST: usize = 5_000_000;

/// What is on top of a stack; nothing, if the thread has ended.
type Top = Option<i64>;

struct Lowering<'a> {
    system: &'a System,
    bad: &'a [Configuration],
    out: Builder,
    /// The shared state.
    shared: VarId,
    /// Whether a thread has this on top, for what the other threads need to know.
    watched: FxHashMap<(usize, Top), VarId>,
    /// How often an edge asks what another thread has on top.
    questions: usize,
    /// The thread at hand: its number, its rules by the top they apply to, and its procedures so far by the symbol with
    /// which they begin.
    thread: usize,
    rules: FxHashMap<i64, Vec<&'a Rule>>,
    procs: FxHashMap<i64, ProcId>,
    open: Vec<i64>,
    /// The procedure at hand, and where it ends in a bad configuration.
    proc: ProcId,
    error: Option<LocId>,
    /// Its locations by what is on top, and where calls come back to with that on top; those whose rules are still to be
    /// added.
    places: FxHashMap<i64, LocId>,
    landings: FxHashMap<i64, LocId>,
    tops: Vec<i64>,
}

/// The program of a system without errors; none if it would be too large.
pub fn lower(
    system: &System,
    start: &Configuration,
    bad: &[Configuration],
    sink: &mut Sink,
) -> Option<Program> {
    if let Some(pda) = system.threads.get(MOST_THREADS) {
        sink.push(too_many_threads(pda.span));
        return None;
    }
    let mut out = Builder::default();
    let rules = system.threads.iter().flat_map(|pda| &pda.rules);
    let states = rules.flat_map(|rule| [rule.from, rule.to]).chain(bad.iter().map(|bad| bad.shared));
    let most = states.chain([start.shared, *system.shared.end()]).max().unwrap_or(0);
    let shared = out.global("q", Type::Uint((i64::BITS - most.leading_zeros()).max(1) as u8));
    let mut lowering = Lowering {
        system,
        bad,
        out,
        shared,
        watched: FxHashMap::default(),
        questions: 0,
        thread: 0,
        rules: FxHashMap::default(),
        procs: FxHashMap::default(),
        open: Vec::new(),
        proc: ProcId(0),
        error: None,
        places: FxHashMap::default(),
        landings: FxHashMap::default(),
        tops: Vec::new(),
    };
    let first = lowering.watch(start);
    if system.threads.len() > 1 {
        lowering.prologue(first.clone(), start.span);
    }
    for (thread, pda) in system.threads.iter().enumerate() {
        let alone = system.threads.len() == 1;
        lowering.thread(thread, &start.stacks[thread], alone.then(|| (first.clone(), start.span)));
        let many = match (lowering.out.edges().len() > MOST, lowering.questions > MOST) {
            (true, _) => Some("edges"),
            (_, true) => Some("questions of threads about the tops of others"),
            _ => None,
        };
        if let Some(what) = many {
            let message = format!("the program of these rules would have more than {MOST} {what}");
            sink.push(Diagnostic::new(Code::TooMany, pda.span, message));
            return None;
        }
    }
    lowering.already(start);
    let program = match lowering.out.threads().iter().next() {
        Some(only) if system.threads.len() == 1 => {
            let main = only.main;
            lowering.out.finish(main)
        }
        _ => lowering.out.finish_threads(),
    };
    Some(program)
}

impl<'a> Lowering<'a> {
    /// Adds the globals that say what is on top, and the assignment with which all globals start.
    fn watch(&mut self, start: &Configuration) -> Action {
        let constant = Expr::new([self.constant(start.shared)]);
        let (mut targets, mut values) = (vec![self.shared], vec![constant]);
        let several = self.system.threads.len() > 1;
        for (thread, stack) in
            self.bad.iter().filter(|_| several).flat_map(|bad| bad.stacks.iter().enumerate())
        {
            let top = stack.last().copied();
            if self.watched.contains_key(&(thread, top)) {
                continue;
            }
            let name = top.map_or("-".to_owned(), |top| top.to_string());
            let var = self.out.global(&format!("%top {} {name}", thread + 1), Type::Bool);
            self.watched.insert((thread, top), var);
            targets.push(var);
            values.push(Expr::bool(start.stacks[thread].last().copied() == top));
        }
        Action::Assign { targets, values, constraint: None }
    }

    fn prologue(&mut self, first: Action, span: Span) {
        let prologue = self.out.proc("%prologue", 0, Vec::new(), span);
        let (entry, exit) = (self.out.procs()[prologue].entry, self.out.procs()[prologue].exit);
        let end = self.out.loc(prologue, span);
        self.out.edge(entry, end, first, span);
        self.out.edge(end, exit, Action::Return(Vec::new()), span);
        self.out.set_prologue(Some(prologue));
    }

    /// Adds a thread with this stack. One that is alone starts with an assignment.
    fn thread(&mut self, thread: usize, stack: &[i64], first: Option<(Action, Span)>) {
        let pda = &self.system.threads[thread];
        self.thread = thread;
        self.procs.clear();
        self.rules.clear();
        for rule in &pda.rules {
            self.rules.entry(rule.top).or_default().push(rule);
        }
        let main = self.out.proc(&format!("thread{}", thread + 1), 0, Vec::new(), pda.span);
        self.proc = main;
        self.error = None;
        let mut here = self.out.procs()[main].entry;
        if let Some((first, span)) = first {
            let next = self.out.loc(main, pda.span);
            self.out.edge(here, next, first, span);
            here = next;
        }
        for (at, symbol) in stack.iter().enumerate().rev() {
            let below = at.checked_sub(1).map(|at| stack[at]);
            let next = self.out.loc(main, pda.span);
            let landing = self.landing(below, next, pda.span);
            let call = self.call(*symbol);
            self.out.edge(here, landing, call, pda.span);
            here = next;
        }
        let exit = self.out.procs()[main].exit;
        self.out.edge(here, exit, Action::Return(Vec::new()), pda.span);
        self.out.thread(format!("thread {}", thread + 1), main);
        while let Some(symbol) = self.open.pop() {
            if self.out.edges().len() <= MOST {
                self.procedure(symbol);
            }
        }
    }

    /// A call of a symbol's procedure, which is added if it is new.
    fn call(&mut self, symbol: i64) -> Action {
        let callee = *self.procs.entry(symbol).or_insert_with(|| {
            self.open.push(symbol);
            let span = self.system.threads[self.thread].span;
            self.out.proc(&format!("thread{}_{symbol}", self.thread + 1), 0, Vec::new(), span)
        });
        Action::Call { callee, args: Vec::new(), results: Vec::new() }
    }

    /// Adds the locations and edges of a symbol's procedure.
    fn procedure(&mut self, symbol: i64) {
        self.proc = self.procs[&symbol];
        self.error = None;
        self.landings.clear();
        self.places = FxHashMap::from_iter([(symbol, self.out.procs()[self.proc].entry)]);
        self.tops = vec![symbol];
        while let Some(top) = self.tops.pop() {
            let here = self.places[&top];
            self.out.label(format!("{}.{top}", self.thread + 1), here);
            let rules = self.rules.get(&top).cloned().unwrap_or_default();
            if let Some(first) = rules.first() {
                self.out.set_span(here, first.span);
            }
            rules.into_iter().for_each(|rule| self.rule(rule, here));
        }
    }

    /// Adds what a rule does at a location where it may apply.
    fn rule(&mut self, rule: &Rule, here: LocId) {
        match rule.change {
            Change::Overwrite(top) => {
                let place = self.place(top, rule.span);
                self.apply(rule, here, place, Some(top));
            }
            Change::Push(top, below) => {
                let between = self.out.inner(self.proc, rule.span);
                self.apply(rule, here, between, Some(top));
                let landing = match self.landings.get(&below) {
                    Some(landing) => *landing,
                    None => {
                        let place = self.place(below, rule.span);
                        self.landing(Some(below), place, rule.span)
                    }
                };
                self.landings.insert(below, landing);
                let call = self.call(top);
                self.out.edge(between, landing, call, rule.span);
            }
            Change::Pop => {
                let between = self.out.inner(self.proc, rule.span);
                self.apply(rule, here, between, None);
                let exit = self.out.procs()[self.proc].exit;
                self.out.edge(between, exit, Action::Return(Vec::new()), rule.span);
            }
        }
    }

    /// The location of the procedure at hand where this is on top.
    fn place(&mut self, top: i64, span: Span) -> LocId {
        *self.places.entry(top).or_insert_with(|| {
            self.tops.push(top);
            self.out.loc(self.proc, span)
        })
    }

    /// Adds the edges on which a rule applies. The new top is known unless the old one is removed.
    fn apply(&mut self, rule: &Rule, from: LocId, to: LocId, top: Top) {
        let (mut targets, mut values) = (Vec::new(), Vec::new());
        if rule.from != rule.to {
            targets.push(self.shared);
            values.push(Expr::new([self.constant(rule.to)]));
        }
        if top != Some(rule.top) {
            let left = self.watched.get(&(self.thread, Some(rule.top))).map(|var| (*var, false));
            let arrived =
                top.and_then(|top| self.watched.get(&(self.thread, Some(top)))).map(|var| (*var, true));
            for (var, value) in left.into_iter().chain(arrived) {
                targets.push(var);
                values.push(Expr::bool(value));
            }
        }
        let action = |guard: Expr| match targets.is_empty() {
            true => Action::Assume(guard),
            false => {
                Action::Assign { targets: targets.clone(), values: values.clone(), constraint: Some(guard) }
            }
        };
        let guard = self.is_shared(rule.from);
        self.out.edge(from, to, action(Expr::new(guard.clone())), rule.span);
        if top.is_some() {
            for bad in self.wanting(top).filter(|bad| bad.shared == rule.to).collect::<Vec<_>>() {
                let error = self.error(rule.span);
                let condition = self.others(guard.clone(), bad);
                self.out.edge(from, error, action(condition), rule.span);
            }
        }
    }

    /// Where a call comes back to, if this is on top then: the place itself, or where it is asked whether the
    /// configuration is bad.
    fn landing(&mut self, top: Top, place: LocId, span: Span) -> LocId {
        let wanting: Vec<&Configuration> = self.wanting(top).collect();
        if wanting.is_empty() {
            return place;
        }
        let landing = self.out.inner(self.proc, span);
        for bad in wanting {
            let error = self.error(span);
            let guard = self.is_shared(bad.shared);
            let condition = self.others(guard, bad);
            self.out.edge(landing, error, Action::Assume(condition), span);
        }
        let arrived = self.watched.get(&(self.thread, top)).map(|var| Action::Assign {
            targets: vec![*var],
            values: vec![Expr::bool(true)],
            constraint: None,
        });
        self.out.edge(landing, place, arrived.unwrap_or_else(Action::skip), span);
        landing
    }

    /// The bad configurations that want this on top of the thread at hand.
    fn wanting(&self, top: Top) -> impl Iterator<Item = &'a Configuration> + use<'a> {
        let thread = self.thread;
        self.bad.iter().filter(move |bad| bad.stacks[thread].last().copied() == top)
    }

    /// The condition, and that the other threads are as a bad configuration wants them.
    fn others(&mut self, mut code: Vec<Op>, bad: &Configuration) -> Expr {
        self.questions += bad.stacks.len();
        for (thread, stack) in bad.stacks.iter().enumerate().filter(|(thread, _)| *thread != self.thread) {
            code.extend([Op::Var(self.watched[&(thread, stack.last().copied())]), Op::And]);
        }
        Expr::new(code)
    }

    fn is_shared(&self, value: i64) -> Vec<Op> {
        vec![Op::Var(self.shared), self.constant(value), Op::Eq]
    }

    fn constant(&self, value: i64) -> Op {
        Op::Const(self.out.vars()[self.shared].ty, value.into())
    }

    /// Where the procedure at hand ends in a bad configuration.
    fn error(&mut self, span: Span) -> LocId {
        *self.error.get_or_insert_with(|| {
            let loc = self.out.inner(self.proc, span);
            self.out.label(ERROR, loc);
            loc
        })
    }

    /// If it starts in a bad configuration, that is where the first thread starts. If no rule leads to one, the label is
    /// there all the same.
    fn already(&mut self, start: &Configuration) {
        let Some(main) = self.out.threads().iter().next().map(|thread| thread.main) else { return };
        let tops = |configuration: &Configuration| -> Vec<Top> {
            configuration.stacks.iter().map(|stack| stack.last().copied()).collect()
        };
        let same = |bad: &Configuration| bad.shared == start.shared && tops(bad) == tops(start);
        if self.bad.iter().any(same) {
            let loc = self.out.procs()[main].entry;
            self.out.label(ERROR, loc);
        } else if !self.bad.is_empty() && self.out.labels().iter().all(|label| label.name != ERROR) {
            let loc = self.out.inner(main, Span::default());
            self.out.label(ERROR, loc);
        }
    }
}
