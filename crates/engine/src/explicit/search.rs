//! Room `engine/explicit`: how contexts lead to others.
//!
//! A context has edges to follow, a context at an exit has callers to tell, and a call has the exits that were found before to
//! go on from. Each of these is a [`WorkItem`] on a stack. In which order contexts are looked at is decided by the
//! [`Order`] of the search: [`super::any`] or [`super::shortest`].

use super::history::Recorded;
use super::proof::{is_hard, proof};
use super::store::{NO_ROW, Parent, Store};
use crate::budget::{Budget, Course, Stopwatch, Tick};
use crate::encode::machine::code::{Code, Machine};
use crate::encode::machine::expand::{Expander, Next, Site};
use crate::encode::machine::retrace::Retracer;
use crate::encode::prepared::Prepared;
use crate::encode::targets::TargetTracker;
use crate::engine::{Listener, may_tell};
use crate::evidence::is_wanted;
use crate::verdict::{Stats, Why};
use postbop_ir::{EdgeId, Length, LocId, Proofs, Task};
use postbop_kit::chunked::Chunked;
use postbop_kit::rows::Full;

/// How much work is done between two looks at the budget.
pub(super) const PATIENCE: u64 = 1 << 14;

/// Work that is not finished.
pub(super) enum WorkItem {
    /// Follow the edges of a context, from this one on.
    Edges { context: u32, at: usize, mark: usize, first: bool },
    /// Tell these of the callers of its entry that this exit was reached.
    Callers { exit: u32, next: usize, end: usize },
    /// Go on from a call with these of the exits of what it entered.
    Exits { suspension: u32, next: usize, end: usize },
}

/// What an expansion found. The valuation is in the expander's rows.
#[derive(Clone, Copy)]
pub(super) enum Found {
    Context(EdgeId),
    Call(EdgeId),
    Nothing,
    Paused,
}

/// The order in which contexts are looked at.
pub(super) trait Order: Sized {
    /// Nothing was looked at yet.
    fn new(task: &Task) -> Self;

    /// A row was added to the store. If it is no context, it was reached in so many steps from its entry.
    fn added(&mut self, rows: usize, steps: Option<Length>);

    /// The number of steps from its entry in which a row was reached, if this order counts them.
    fn steps_to(&self, row: u32) -> Length;

    /// A context was found, perhaps again, in so many steps from its entry.
    fn found(search: &mut Search<Self>, context: u32, new: bool, parent: Parent, steps: Length);

    /// A context called an entry by an edge and is suspended, for the first time if `waits`.
    fn called(&mut self, context: u32, edge: EdgeId, suspension: u32, entry: u32, waits: bool);

    /// How many bytes more may be needed than there are now.
    fn room(&self) -> u64;

    /// Does a piece of work; false if none is left.
    fn advance(search: &mut Search<Self>) -> Result<bool, Full>;

    /// Whether nothing is left to look for.
    fn is_over(search: &mut Search<Self>) -> bool;
}

/// A search in some order.
pub(super) struct Search<'m, 'a, O> {
    pub machine: &'m Machine<'a>,
    pub expander: Expander<'m, 'a>,
    pub store: Store,
    pub work: Chunked<WorkItem>,
    pub targets: TargetTracker<u32>,
    pub order: O,
    proofs: Proofs,
    resumed: Vec<u64>,
}

/// Answers a task by a search in some order.
pub fn check<O: Order>(
    task: &Task,
    prepared: &Prepared,
    budget: &Budget,
    listener: &mut dyn Listener,
) -> Stats {
    let mut stopwatch = Stopwatch::start();
    let mut search: Search<O> = Search::new(prepared.machine(), task);
    stopwatch.lap("prepare_us");
    let end = search.run(budget, listener);
    stopwatch.lap("search_us");
    let mut stats = search.tell(end.err(), budget, listener);
    stopwatch.lap("trace_us");
    stats.extend(stopwatch.laps());
    stats
}

impl<'m, 'a, O: Order> Search<'m, 'a, O> {
    pub fn new(machine: &'m Machine<'a>, task: &Task) -> Self {
        Search {
            machine,
            expander: Expander::new(machine),
            store: Store::default(),
            work: Chunked::default(),
            targets: TargetTracker::new(task),
            order: O::new(task),
            proofs: task.proofs,
            resumed: Vec::new(),
        }
    }

    /// Searches until nothing is left to do or to look for.
    pub fn run(&mut self, budget: &Budget, listener: &mut dyn Listener) -> Result<(), Why> {
        budget.check()?;
        let full = |_| Why::Memory(budget.memory());
        self.start().map_err(full)?;
        self.expander.pause_at = PATIENCE;
        while !O::is_over(self) {
            if !O::advance(self).map_err(full)? {
                return Ok(());
            }
            if self.expander.work >= self.expander.pause_at {
                self.expander.pause_at = self.expander.work + PATIENCE;
                if budget.ends_lead(self.expander.work) {
                    let Search { machine, store, targets, .. } = self;
                    let mut history = Recorded { machine, store };
                    let mut retracer = Retracer::new(machine, &mut history, budget);
                    targets.tell_found(|at| retracer.trace(at, store.valuation(at).into()), listener);
                }
                budget.after_with(self.expander.work, self.order.room())?;
                let (kept, waiting) = (self.store.contexts, self.work.len() as u64);
                let course = Course { work: self.expander.work, kept, waiting };
                listener.progress(Tick { unit: "contexts", done: kept, course });
            }
        }
        Ok(())
    }

    fn start(&mut self) -> Result<(), Full> {
        let main = self.machine.program.main();
        let row = self.machine.layout(main).open.clone();
        let (entry, _) = self.store.entry(main, &row)?;
        self.order.added(self.store.len(), Some(Length::ZERO));
        self.enter(entry, &row)
    }

    /// The first context of a new entry.
    fn enter(&mut self, entry: u32, row: &[u64]) -> Result<(), Full> {
        let loc = self.machine.program.procs()[self.store.entries[entry as usize].proc].entry;
        self.found(entry, loc, row, Parent { from: NO_ROW, edge: EdgeId(0), exit: NO_ROW }, Length::ZERO)
    }

    /// A context was found, so many steps from its entry.
    fn found(
        &mut self,
        entry: u32,
        loc: LocId,
        row: &[u64],
        parent: Parent,
        steps: Length,
    ) -> Result<(), Full> {
        let (context, new) = self.store.context(entry, loc, row, parent)?;
        O::found(self, context, new, parent, steps);
        Ok(())
    }

    /// The callers of its entry must be told of a context at an exit.
    pub fn exit(&mut self, exit: u32) {
        let entry = self.store.entry_of(exit) as usize;
        let entry = &mut self.store.entries[entry];
        entry.exits.push(exit);
        self.work.push(WorkItem::Callers { exit, next: 0, end: entry.callers.len() });
    }

    pub fn is_exit(&self, context: u32) -> bool {
        self.machine.program.is_exit(self.store.loc(context))
    }

    /// Does a piece of the work on top of the stack; false if there is none.
    pub fn work_on(&mut self) -> Result<bool, Full> {
        let Some(top) = self.work.last_mut() else { return Ok(false) };
        match *top {
            WorkItem::Callers { next, end, .. } | WorkItem::Exits { next, end, .. } if next == end => {
                self.work.pop();
            }
            WorkItem::Callers { exit, ref mut next, .. } => {
                *next += 1;
                let entry = self.store.entry_of(exit);
                let caller = self.store.entries[entry as usize].callers[*next - 1];
                self.come_back(caller, exit)?;
            }
            WorkItem::Exits { suspension, ref mut next, .. } => {
                *next += 1;
                let entry = self.store.awaited(suspension);
                let exit = self.store.entries[entry as usize].exits[*next - 1];
                self.come_back(suspension, exit)?;
            }
            WorkItem::Edges { context, mut at, mark, mut first } => {
                let found = self.expand(context, &mut at, mark, &mut first);
                if let Some(WorkItem::Edges { at: place, first: fresh, .. }) = self.work.last_mut() {
                    (*place, *fresh) = (at, first);
                }
                if !self.follow(context, found)? {
                    self.work.pop();
                }
            }
        }
        Ok(true)
    }

    /// The next successor of a context; `at`, `mark` and `first` say how far the last call came.
    pub fn expand(&mut self, context: u32, at: &mut usize, mark: usize, first: &mut bool) -> Found {
        let program = self.machine.program;
        let loc = self.store.loc(context);
        let fields = &self.machine.layout(program.locs()[loc].proc).fields;
        while let Some(&id) = program.leaving(loc).get(*at) {
            let edge = self.machine.edge(id);
            let to = program.edges()[id].to;
            let site = Site { edge, to, fields, row: self.store.valuation(context) };
            match self.expander.next(site, mark, std::mem::take(first)) {
                Next::Found => {
                    return match edge.code {
                        Code::Update { .. } => Found::Context(id),
                        Code::Call(_) => Found::Call(id),
                    };
                }
                Next::Nothing => *at += 1,
                Next::Paused => {
                    *first = true;
                    return Found::Paused;
                }
            }
            *first = true;
        }
        Found::Nothing
    }

    /// Takes in what an expansion found; false if it was nothing.
    pub fn follow(&mut self, context: u32, found: Found) -> Result<bool, Full> {
        let row = std::mem::take(&mut self.expander.out);
        let steps = self.order.steps_to(context) + 1;
        match found {
            Found::Nothing | Found::Paused => {}
            Found::Context(edge) => {
                let entry = self.store.entry_of(context);
                let to = self.machine.program.edges()[edge].to;
                self.found(entry, to, &row, Parent { from: context, edge, exit: NO_ROW }, steps)?;
            }
            Found::Call(edge) => self.called(context, edge, &row, steps)?,
        }
        self.expander.out = row;
        Ok(!matches!(found, Found::Nothing))
    }

    /// A context calls; `row` is what the callee sees.
    fn called(&mut self, context: u32, edge: EdgeId, row: &[u64], steps: Length) -> Result<(), Full> {
        let entry = self.store.entry_of(context);
        let callee = self.machine.callee(edge);
        let (entered, new) = self.store.entry(callee, row)?;
        let (suspension, waits) =
            self.store.suspension(entry, entered, &self.expander.kept, context, edge)?;
        self.order.added(self.store.len(), Some(steps.clone()));
        self.order.called(context, edge, suspension, entered, waits);
        if !waits {
            return Ok(());
        }
        self.store.entries[entered as usize].callers.push(suspension);
        if new {
            let distance = self.store.entries[entry as usize].distance.clone() + &steps;
            let entry = &mut self.store.entries[entered as usize];
            (entry.first, entry.distance) = (suspension, distance);
            return self.enter(entered, row);
        }
        let end = self.store.entries[entered as usize].exits.len();
        self.work.push(WorkItem::Exits { suspension, next: 0, end });
        Ok(())
    }

    /// A suspended caller goes on after the callee reached an exit.
    fn come_back(&mut self, suspension: u32, exit: u32) -> Result<(), Full> {
        let Parent { edge, .. } = self.store.parent(suspension);
        let call = self.machine.call(edge);
        let to = self.machine.program.edges()[edge].to;
        let here = &self.machine.layout(self.machine.program.locs()[to].proc).fields;
        let there = &self.machine.layout(self.machine.callee(edge)).fields;
        let mut row = std::mem::take(&mut self.resumed);
        row.clear();
        row.extend_from_slice(self.store.kept(suspension));
        self.expander.work += 1 + call.back().len() as u64;
        for (field, from) in call.back() {
            here[field].set(&mut row, there[from].get(self.store.valuation(exit)));
        }
        let steps = self.order.steps_to(suspension) + &self.order.steps_to(exit);
        let parent = Parent { from: suspension, edge, exit };
        self.found(self.store.entry_of(suspension), to, &row, parent, steps)?;
        self.resumed = row;
        Ok(())
    }

    /// What was counted.
    pub fn stats(&self) -> Stats {
        let summaries = self.store.entries.iter().map(|entry| entry.exits.len() as u64).sum();
        Stats::from([
            ("contexts", self.store.contexts),
            ("entries", self.store.entries.len() as u64),
            ("summaries", summaries),
            ("evaluations", self.expander.evaluations),
            ("work", self.expander.work),
        ])
    }

    fn tell(self, stopped: Option<Why>, budget: &Budget, listener: &mut dyn Listener) -> Stats {
        let stats = self.stats();
        let holds = self.targets.has_seen_all(stopped.as_ref());
        let is_late = || is_hard(self.machine, &self.store) && budget.defers(self.expander.work);
        if holds && self.proofs == Proofs::Kept && is_late() {
            budget.gives_up();
            return stats;
        }
        if !may_tell(stopped.as_ref(), self.targets.found(), self.expander.work, budget) {
            return stats;
        }
        if holds
            && is_wanted(self.proofs, self.machine.program, self.store.len())
            && let Ok(proof) = proof(self.machine, &self.store, self.proofs, budget)
        {
            listener.proof(proof);
        }
        let mut history = Recorded { machine: self.machine, store: &self.store };
        let mut retracer = Retracer::new(self.machine, &mut history, budget);
        let trace = |context: u32| retracer.trace(context, self.store.valuation(context).into());
        self.targets.tell(stopped, trace, listener);
        stats
    }
}
