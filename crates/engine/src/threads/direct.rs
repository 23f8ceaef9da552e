//! Room `engine/threads`: a search over whole configurations.
//!
//! # Idea
//!
//! A *configuration* is all there is at one moment of a run: the globals, each thread's stack with its locals, and
//! which thread runs. If recursion does not grow stacks without end there are finitely many, often few, and once
//! all are seen the answer covers all runs. They are explored in the order of the context switches (or rounds)
//! needed to reach them, so a target is first reached with the fewest.
//!
//! Stacks are stored once, as chains of frames, and valuations may leave values open, as in engine `explicit`.
//!
//! A step that no other thread can notice commutes with the steps of other threads. So a thread is left only right
//! after an edge that others can notice; the unnoticed steps that follow are taken when it runs again.
//!
//! # Paper
//!
//! \[iterative-bounding\]. # Departures: recursion, open values, and all switches count.
//!
//! # Cost
//!
//! The number of configurations, times the edges that leave a location and the threads to switch to. It works
//! within a share of the budget, since with recursion that never ends it would never end either.

use super::configurations::{Frame, Store, Via};
use super::direct_trace;
use super::persistent::Persistent;
use super::resume_points::shared;
use crate::budget::{Budget, Course, Tick};
use crate::encode::machine::code::{Code, Machine};
use crate::encode::machine::expand::{Expander, Next, Site};
use crate::encode::machine::layout::Row;
use crate::encode::prepared::Prepared;
use crate::encode::targets::TargetTracker;
use crate::engine::has_integers;
use crate::evidence::Evidence;
use crate::verdict::Stats;
use crate::verify::Board;
use postbop_ir::{Action, Bound, EdgeId, LocId, ProcId, Program, Schedule, Table, Task, ThreadId};
use postbop_kit::rows::Full;
use std::collections::VecDeque;

/// Programs that are larger than this, as locations times globals, are left to the others.
const LARGEST: usize = 20_000_000;

/// How much work is done between two looks at the budget.
const PATIENCE: u64 = 1 << 14;

struct Search<'m, 'a> {
    program: &'a Program,
    machine: &'m Machine<'a>,
    expander: Expander<'m, 'a>,
    store: Store,
    /// The locations right after something that other threads can notice.
    noticed: Table<LocId, bool>,
    rounds: bool,
    level: u32,
    /// Configurations to look at on this level, and on the next. One may stand in both: what was found by a switch may be
    /// found again without it, and then that counts.
    now: VecDeque<u32>,
    next: VecDeque<u32>,
    /// For each configuration the least level on which it was found, and whether it was looked at.
    due: Vec<(u32, bool)>,
    targets: TargetTracker<u32>,
    /// Which threads have to go on, if not all.
    persistent: Option<Persistent<'m, 'a>>,
}

/// Searches as far as the budget allows: settles the queries whose targets it reaches within the bound, and all if it comes
/// to the end. Returns the greatest number of switches, or rounds, within which everything was looked at.
pub fn search(task: &Task, prepared: &Prepared, budget: &Budget, board: &mut Board) -> Option<u32> {
    if !is_small(task.program, budget) {
        return None;
    }
    searched(Search::new(prepared.threads(), task), task, budget, board)
}

/// Searches for configurations in which no thread can move, and leaves out orders of steps that lead to the same ones. Unless it comes to the end, or reaches
/// one within the bound, nothing is settled.
pub fn search_stuck(task: &Task, prepared: &Prepared, budget: &Budget, board: &mut Board) {
    if !is_small(task.program, budget) {
        return;
    }
    let mut search = Search::new(prepared.threads(), task);
    search.persistent = Persistent::new(search.machine, &search.noticed);
    if search.persistent.is_some() {
        searched(search, task, budget, board);
    }
}

/// Whether a program is searched at all.
fn is_small(program: &Program, budget: &Budget) -> bool {
    budget.check().is_ok()
        && !has_integers(program)
        && program.locs().len() * (1 + program.globals().count()) <= LARGEST
}

fn searched(mut search: Search, task: &Task, budget: &Budget, board: &mut Board) -> Option<u32> {
    board.engine = "direct";
    let explored = search.run(task, budget, board);
    let stats = [
        ("configurations", search.store.sizes().0 as u64),
        ("frames", search.store.sizes().1 as u64),
        ("evaluations", search.expander.evaluations),
    ];
    board.stats = Stats::from(stats);
    explored
}

impl<'m, 'a> Search<'m, 'a> {
    fn new(machine: &'m Machine<'a>, task: &Task) -> Self {
        let program = machine.program;
        let rounds = matches!(task.bound.schedule, Some(Schedule::Rounds(_)));
        Search {
            program,
            machine,
            expander: Expander::new(machine),
            store: Store::new(machine, program.threads().len()),
            noticed: noticed(program),
            rounds,
            level: rounds as u32,
            now: VecDeque::new(),
            next: VecDeque::new(),
            due: Vec::new(),
            targets: TargetTracker::new(task),
            persistent: None,
        }
    }

    fn run(&mut self, task: &Task, budget: &Budget, board: &mut Board) -> Option<u32> {
        let most = match task.bound.schedule {
            None => u32::MAX,
            Some(Schedule::Switches(most) | Schedule::Rounds(most)) => most,
        };
        let mut explored = None;
        if self.start().is_err() {
            return explored;
        }
        let mut asked = 0;
        loop {
            while let Some(id) = self.now.pop_front() {
                if std::mem::replace(&mut self.due[id as usize].1, true) {
                    continue;
                }
                let work = self.expander.work + 8 * self.store.sizes().0 as u64;
                if work > asked + PATIENCE {
                    asked = work;
                    let schedule = if self.rounds { Bound::rounds } else { Bound::switches };
                    let done = self.store.sizes().0 as u64;
                    let course = Course { work, kept: done, waiting: 0 };
                    board.progress(schedule(self.level), Tick { unit: "configurations", done, course });
                    if budget.after(work).is_err() {
                        return explored;
                    }
                }
                self.reach(id, self.level <= most, budget, board);
                let over = !self.targets.has_open() || board.is_over();
                if over || self.follow(id, budget).is_err() {
                    return explored;
                }
            }
            explored = Some(self.level);
            let bound = if self.rounds { Bound::rounds(self.level) } else { Bound::switches(self.level) };
            // With some orders of steps left out, nothing is known of a single bound.
            let within = self.level <= most && self.persistent.is_none();
            self.targets
                .open()
                .filter(|_| within)
                .for_each(|query| board.explored(query, bound, Evidence::default()));
            if self.next.is_empty() {
                let open = self.targets.open();
                open.for_each(|query| board.holds(query, Bound::NONE, self.targets.guarded(query)));
                return explored;
            }
            std::mem::swap(&mut self.now, &mut self.next);
            self.level += 1;
        }
    }

    /// The configurations in which a run starts.
    fn start(&mut self) -> Result<(), Full> {
        let threads = self.program.threads().len();
        match self.program.prologue() {
            Some(prologue) => self.begin(None, threads, prologue, Via::Start),
            None => (0..threads).try_for_each(|thread| {
                let main = self.program.threads()[ThreadId(thread as u32)].main;
                self.begin(None, thread, main, Via::Start)
            }),
        }
    }

    /// A thread begins to run, after a configuration or at the start.
    fn begin(&mut self, from: Option<u32>, thread: usize, main: ProcId, via: Via) -> Result<(), Full> {
        let mut row = self.machine.layout(main).open.clone();
        if let Some(from) = from {
            for ((word, mask), globals) in row.iter_mut().zip(&self.store.masks).zip(self.store.globals(from))
            {
                *word = *word & !mask | globals;
            }
        }
        let stack = self.store.add_frame(None, self.program.procs()[main].entry, &row)?;
        self.add(from, thread, stack, &row, via, 0)
    }

    /// Adds a configuration, to be looked at on this level or on the next.
    fn add(
        &mut self,
        from: Option<u32>,
        thread: usize,
        stack: u32,
        row: &[u64],
        via: Via,
        cost: u32,
    ) -> Result<(), Full> {
        let words = self.store.with(from, thread, stack, row);
        let (id, new) = self.store.add(&words)?;
        let level = self.level + cost;
        let origin = (from.unwrap_or(0), via);
        if new {
            self.due.push((level, false));
        } else if level < self.due[id as usize].0 {
            self.due[id as usize].0 = level;
        } else {
            return Ok(());
        }
        self.store.note(id, origin);
        if cost == 0 { &mut self.now } else { &mut self.next }.push_back(id);
        Ok(())
    }

    /// Notes the targets and guards at which a configuration is; a target counts as far as the bound goes.
    fn reach(&mut self, id: u32, counts: bool, budget: &Budget, board: &mut Board) {
        let thread = self.store.running(id);
        let loc = self.store.frame(self.store.stack(id, thread).expect("it runs")).loc;
        for query in self.targets.reach(loc, &id) {
            if counts {
                match direct_trace::trace(self.machine, &self.store, id, budget) {
                    Ok(trace) => board.violated(query, trace, budget),
                    Err(why) => board.unknown(query, why),
                }
            }
        }
    }

    /// Everything that one step, or one switch, leads to.
    fn follow(&mut self, id: u32, budget: &Budget) -> Result<(), Full> {
        let thread = self.store.running(id);
        let top = self.store.stack(id, thread).expect("it runs");
        let loc = self.store.frame(top).loc;
        let row = self.store.row(id, top);
        let between = !self.program.locs()[loc].inner && thread < self.program.threads().len();
        let chosen = match &mut self.persistent {
            Some(persistent) if between => persistent.threads(&self.store, id),
            _ => None,
        };
        let is_chosen = |thread: usize| chosen.as_ref().is_none_or(|chosen| chosen[thread]);
        for &edge in self.program.leaving(loc) {
            let asks = self.persistent.as_ref().is_some_and(|persistent| persistent.is_wait(edge));
            if asks || is_chosen(thread) {
                self.take(id, thread, top, &row, edge, budget)?;
            }
        }
        self.leave(id, thread, top, row, &is_chosen)
    }

    /// All successors along an edge.
    fn take(
        &mut self,
        id: u32,
        thread: usize,
        top: u32,
        row: &Row,
        edge: EdgeId,
        budget: &Budget,
    ) -> Result<(), Full> {
        let compiled = self.machine.edge(edge);
        let to = self.program.edges()[edge].to;
        let proc = self.program.locs()[to].proc;
        let fields = &self.machine.layout(proc).fields;
        let mark = self.expander.mark();
        let mut fresh = true;
        loop {
            self.expander.pause_at = self.expander.work + PATIENCE;
            let site = Site { edge: compiled, to, fields, row };
            match self.expander.next(site, mark, std::mem::take(&mut fresh)) {
                Next::Nothing => return Ok(()),
                Next::Paused if budget.after(self.expander.work).is_err() => return Err(Full),
                Next::Paused => fresh = true,
                Next::Found => {
                    let out = std::mem::take(&mut self.expander.out);
                    let found = match compiled.code {
                        Code::Call(_) => self.call(id, thread, top, edge, &out),
                        Code::Update { .. } => self.moved(id, thread, top, edge, &out),
                    };
                    self.expander.out = out;
                    found?;
                }
            }
        }
    }

    fn call(&mut self, id: u32, thread: usize, top: u32, edge: EdgeId, out: &Row) -> Result<(), Full> {
        let callee = self.machine.callee(edge);
        let below = self.store.frame(top).caller;
        let kept = std::mem::take(&mut self.expander.kept);
        let waiting = self.store.add_frame(below, self.program.edges()[edge].to, &kept)?;
        self.expander.kept = kept;
        let entry = self.program.procs()[callee].entry;
        let inside = self.store.add_frame(Some((waiting, edge)), entry, out)?;
        self.add(Some(id), thread, inside, out, Via::Edge(edge), 0)
    }

    /// The thread has moved within its procedure; at the end of a call its caller goes on.
    fn moved(&mut self, id: u32, thread: usize, top: u32, edge: EdgeId, out: &Row) -> Result<(), Full> {
        let to = self.program.edges()[edge].to;
        let caller = self.store.frame(top).caller;
        let Some((waiting, call)) = caller.filter(|_| self.program.is_exit(to)) else {
            let frame = self.store.add_frame(caller, to, out)?;
            return self.add(Some(id), thread, frame, out, Via::Edge(edge), 0);
        };
        let Frame { caller: below, loc, locals } = self.store.frame(waiting);
        let here = self.machine.layout(self.program.locs()[loc].proc);
        let there = self.machine.layout(self.machine.callee(call));
        // A frame that waits has no globals of its own.
        let mut row = here.open.clone();
        for (at, word) in row.iter_mut().enumerate() {
            let mask = self.store.masks.get(at).copied().unwrap_or(0);
            *word = *word & mask | locals[at] & !mask;
        }
        for (field, from) in self.machine.call(call).back() {
            here.fields[field].set(&mut row, there.fields[from].get(out));
        }
        let frame = self.store.add_frame(below, loc, &row)?;
        self.add(Some(id), thread, frame, &row, Via::Edge(edge), 0)
    }

    /// The other threads that may run now, of those that are chosen to.
    fn leave(
        &mut self,
        id: u32,
        thread: usize,
        top: u32,
        mut row: Row,
        is_chosen: &dyn Fn(usize) -> bool,
    ) -> Result<(), Full> {
        let loc = self.store.frame(top).loc;
        let ended = self.program.is_exit(loc) && self.store.frame(top).caller.is_none();
        let threads = self.program.threads().len();
        if thread == threads && !ended {
            return Ok(());
        }
        if !ended {
            if self.program.locs()[loc].inner || !self.noticed[loc] {
                return Ok(());
            }
            if let Some(atomic) = self.program.atomic() {
                let proc = self.program.locs()[loc].proc;
                let field =
                    self.machine.scopes.field(self.program, proc, atomic).expect("all globals are there");
                let field = self.machine.layout(proc).fields[field];
                match field.get(&row) {
                    Some(0) => {}
                    Some(_) => return Ok(()),
                    None => field.set(&mut row, Some(0)),
                }
            }
        }
        for other in (0..threads).filter(|&other| other != thread && is_chosen(other)) {
            let cost = match (thread == threads, self.rounds) {
                (true, _) => 0,
                (false, true) => (other < thread) as u32,
                (false, false) => 1,
            };
            match self.store.stack(id, other) {
                Some(stack) => self.add(Some(id), other, stack, &row, Via::Switch, cost)?,
                None => self.first(id, other, &row, cost)?,
            }
        }
        Ok(())
    }

    /// Another thread runs for the first time.
    fn first(&mut self, id: u32, other: usize, globals: &Row, cost: u32) -> Result<(), Full> {
        let main = self.program.threads()[ThreadId(other as u32)].main;
        let open = &self.machine.layout(main).open;
        let stack = self.store.add_frame(None, self.program.procs()[main].entry, open)?;
        self.add(Some(id), other, stack, globals, Via::Switch, cost)
    }
}

/// The locations to which a thread can come by something that others can notice: by an edge that mentions a shared variable,
/// or out of the inside of a statement.
fn noticed(program: &Program) -> Table<LocId, bool> {
    let thread = program.thread_of();
    let shared = shared(program, &thread);
    let mut noticed = Table::filled(program.locs().len(), false);
    let mut returns: Table<ProcId, bool> = Table::filled(program.procs().len(), false);
    let seen = |edge: &postbop_ir::Edge| {
        let is_seen = |var| shared.binary_search(&var).is_ok() || program.atomic() == Some(var);
        program.locs()[edge.from].inner || edge.action.mentions().any(is_seen)
    };
    for edge in program.edges().iter().filter(|edge| seen(edge)) {
        match edge.action {
            Action::Call { callee, .. } => {
                noticed[program.procs()[callee].entry] = true;
                noticed[edge.to] = true;
            }
            Action::Return(_) => returns[program.locs()[edge.from].proc] = true,
            _ => noticed[edge.to] = true,
        }
    }
    for edge in program.edges().iter() {
        if let Action::Call { callee, .. } = edge.action {
            noticed[edge.to] |= returns[callee];
        }
    }
    noticed
}
