//! Room `engine/explicit`: the order in which contexts are explored.
//!
//! # Idea
//!
//! Depth first, the search keeps a stack of unfinished work ([`Business`]): a context with edges left to follow, a
//! summary with callers left to tell, a call with summaries left to use. A new context goes on top.
//!
//! With `shortest`, contexts are taken from a heap instead, by the number of steps from the start of the run to
//! them. That number is the distance of their entry plus the steps inside the procedure, where a completed call
//! counts all its steps; no derivation leads to a smaller number than those it starts from, so the first time a
//! context is taken its number is final. This is Dijkstra's algorithm as Knuth generalised it to derivations
//! \[knuth-dijkstra\].

use super::past::Recall;
use super::store::{NOBODY, Parent, Store};
use crate::budget::{Budget, Stopwatch, Tick};
use crate::encode::machine::code::{Code, Machine};
use crate::encode::machine::expand::{Expander, Next, Site};
use crate::encode::machine::retrace::Retracer;
use crate::encode::targets::TargetTracker;
use crate::engine::{Listener, may_tell};
use crate::verdict::{Stats, Why};
use postbop_ir::{EdgeId, Length, LocId, Task};
use postbop_kit::rows::Full;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How much work is done between two looks at the budget.
const PATIENCE: u64 = 1 << 14;

/// Unfinished business.
enum Business {
    /// Follow the edges of a context, from this one on.
    Edges { context: u32, at: usize, mark: usize, first: bool },
    /// Tell these of the callers of its entry that this exit was reached.
    Callers { exit: u32, next: usize, end: usize },
    /// Go on from a call with these of the exits of what it entered.
    Exits { suspension: u32, next: usize, end: usize },
}

/// What an expansion found, in the expander's rows.
#[derive(Clone, Copy)]
enum Found {
    Context(EdgeId),
    Call(EdgeId),
    Nothing,
    Paused,
}

struct Search<'m, 'a, 't> {
    machine: &'m Machine<'a>,
    task: &'t Task<'t>,
    expander: Expander<'m, 'a>,
    store: Store,
    business: Vec<Business>,
    /// By shortest search: contexts by number of steps, and for every row its steps inside the procedure.
    heap: BinaryHeap<Reverse<(Length, u32)>>,
    steps: Vec<Option<Length>>,
    taken: Vec<bool>,
    /// By shortest search: the context whose edges are followed, and how far.
    current: Option<(u32, usize, bool)>,
    targets: TargetTracker<u32>,
    resumed: Vec<u64>,
}

/// Answers a task.
pub fn check(task: &Task, budget: &Budget, listener: &mut dyn Listener) -> Stats {
    let mut stopwatch = Stopwatch::start();
    let machine = Machine::new(task.program);
    let mut search = Search::new(&machine, task);
    stopwatch.lap("prepare_us");
    let end = search.run(budget, listener);
    stopwatch.lap("search_us");
    let mut stats = search.tell(end.err(), budget, listener);
    stopwatch.lap("trace_us");
    stats.extend(stopwatch.laps());
    stats
}

impl<'m, 'a, 't> Search<'m, 'a, 't> {
    fn new(machine: &'m Machine<'a>, task: &'t Task<'t>) -> Self {
        Search {
            machine,
            task,
            expander: Expander::new(machine),
            store: Store::default(),
            business: Vec::new(),
            heap: BinaryHeap::new(),
            steps: Vec::new(),
            taken: Vec::new(),
            current: None,
            targets: TargetTracker::new(task),
            resumed: Vec::new(),
        }
    }

    fn run(&mut self, budget: &Budget, listener: &mut dyn Listener) -> Result<(), Why> {
        budget.check()?;
        let full = |_| Why::Memory(budget.memory());
        self.start().map_err(full)?;
        self.expander.pause_at = PATIENCE;
        while !self.targets.is_over() {
            // A shortest search follows up what it took before it takes the next.
            let take = self.task.shortest() && self.business.is_empty();
            let more = if take { self.take() } else { self.work() };
            if !more.map_err(full)? {
                return Ok(());
            }
            if self.expander.work >= self.expander.pause_at {
                self.expander.pause_at = self.expander.work + PATIENCE;
                budget.after(self.expander.work)?;
                listener.progress(Tick { unit: "contexts", done: self.store.contexts });
            }
        }
        Ok(())
    }

    fn start(&mut self) -> Result<(), Full> {
        let main = self.machine.program.main();
        let row = self.machine.layout(main).open.clone();
        let (entry, _) = self.store.entry(main, &row)?;
        self.extend_steps(Some(Length::ZERO));
        self.enter(entry, &row)
    }

    /// The first context of a new entry.
    fn enter(&mut self, entry: u32, row: &[u64]) -> Result<(), Full> {
        let loc = self.machine.program.procs()[self.store.entries[entry as usize].proc].entry;
        self.found(entry, loc, row, Parent { from: NOBODY, edge: EdgeId(0), exit: NOBODY }, Length::ZERO)
    }

    /// Rows of all kinds have a place in the tables of the shortest search.
    fn extend_steps(&mut self, steps: Option<Length>) {
        if self.task.shortest() {
            self.steps.resize(self.store.len(), steps);
            self.taken.resize(self.store.len(), false);
        }
    }

    /// By shortest search, the number of steps from its entry in which a row was reached.
    fn steps_to(&self, id: u32) -> Length {
        self.steps.get(id as usize).and_then(Option::clone).unwrap_or(Length::ZERO)
    }

    /// A context was found, so many steps from its entry.
    fn found(
        &mut self,
        entry: u32,
        loc: LocId,
        row: &[u64],
        origin: Parent,
        steps: Length,
    ) -> Result<(), Full> {
        let (context, new) = self.store.context(entry, loc, row, origin)?;
        if self.task.shortest() {
            self.extend_steps(None);
            if self.steps[context as usize].as_ref().is_none_or(|known| steps < *known) {
                let total = self.store.entries[entry as usize].distance.clone() + &steps;
                self.steps[context as usize] = Some(steps);
                self.store.set_origin(context, origin);
                self.heap.push(Reverse((total, context)));
            }
        } else if new {
            self.targets.reach(loc, &context);
            let business = if self.is_exit(context) {
                self.store.entries[entry as usize].exits.push(context);
                let end = self.store.entries[entry as usize].callers.len();
                Business::Callers { exit: context, next: 0, end }
            } else {
                Business::Edges { context, at: 0, mark: self.expander.mark(), first: true }
            };
            self.business.push(business);
        }
        Ok(())
    }

    fn is_exit(&self, context: u32) -> bool {
        self.machine.program.is_exit(self.store.loc(context))
    }

    /// One piece of work of the depth-first search; false if none is left.
    fn work(&mut self) -> Result<bool, Full> {
        let Some(top) = self.business.last_mut() else { return Ok(false) };
        match *top {
            Business::Callers { next, end, .. } | Business::Exits { next, end, .. } if next == end => {
                self.business.pop();
            }
            Business::Callers { exit, ref mut next, .. } => {
                *next += 1;
                let entry = self.store.entry_of(exit);
                let caller = self.store.entries[entry as usize].callers[*next - 1];
                self.come_back(caller, exit)?;
            }
            Business::Exits { suspension, ref mut next, .. } => {
                *next += 1;
                let entry = self.store.awaited(suspension);
                let exit = self.store.entries[entry as usize].exits[*next - 1];
                self.come_back(suspension, exit)?;
            }
            Business::Edges { context, mut at, mark, mut first } => {
                let found = self.expand(context, &mut at, mark, &mut first);
                if let Some(Business::Edges { at: place, first: fresh, .. }) = self.business.last_mut() {
                    (*place, *fresh) = (at, first);
                }
                if !self.follow(context, found)? {
                    self.business.pop();
                }
            }
        }
        Ok(true)
    }

    /// One context of the shortest search; false if none is left.
    fn take(&mut self) -> Result<bool, Full> {
        if let Some((context, at, first)) = self.current.take() {
            return self.drain(context, at, first).map(|()| true);
        }
        let Some(Reverse((_, context))) = self.heap.pop() else { return Ok(false) };
        if std::mem::replace(&mut self.taken[context as usize], true) {
            return Ok(true);
        }
        self.targets.reach(self.store.loc(context), &context);
        if self.is_exit(context) {
            let number = self.store.entry_of(context) as usize;
            let entry = &mut self.store.entries[number];
            entry.exits.push(context);
            let end = entry.callers.len();
            self.business.push(Business::Callers { exit: context, next: 0, end });
            return Ok(true);
        }
        self.current = Some((context, 0, true));
        Ok(true)
    }

    /// Follows the edges of the context at hand, until there are none or it takes long.
    fn drain(&mut self, context: u32, mut at: usize, mut first: bool) -> Result<(), Full> {
        loop {
            let found = self.expand(context, &mut at, 0, &mut first);
            if let Found::Paused = found {
                self.current = Some((context, at, first));
                return Ok(());
            }
            if !self.follow(context, found)? {
                return Ok(());
            }
        }
    }

    /// The next successor of a context; `at`, `mark` and `first` say how far the last call came.
    fn expand(&mut self, context: u32, at: &mut usize, mark: usize, first: &mut bool) -> Found {
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
    fn follow(&mut self, context: u32, found: Found) -> Result<bool, Full> {
        let row = std::mem::take(&mut self.expander.out);
        let steps = self.steps_to(context) + 1;
        match found {
            Found::Nothing | Found::Paused => {}
            Found::Context(edge) => {
                let entry = self.store.entry_of(context);
                let to = self.machine.program.edges()[edge].to;
                self.found(entry, to, &row, Parent { from: context, edge, exit: NOBODY }, steps)?;
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
        self.extend_steps(Some(steps.clone()));
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
        self.business.push(Business::Exits { suspension, next: 0, end });
        Ok(())
    }

    /// A suspended caller goes on after the callee reached an exit.
    fn come_back(&mut self, suspension: u32, exit: u32) -> Result<(), Full> {
        let Parent { edge, .. } = self.store.origin(suspension);
        let call = self.machine.call(edge);
        let to = self.machine.program.edges()[edge].to;
        let here = &self.machine.layout(self.machine.program.locs()[to].proc).fields;
        let there = &self.machine.layout(self.machine.callee(edge)).fields;
        let mut row = std::mem::take(&mut self.resumed);
        row.clear();
        row.extend_from_slice(self.store.kept(suspension));
        self.expander.work += 1 + call.back.len() as u64;
        for &(field, from) in &call.back {
            here[field].set(&mut row, there[from].get(self.store.valuation(exit)));
        }
        let steps = self.steps_to(suspension) + &self.steps_to(exit);
        let origin = Parent { from: suspension, edge, exit };
        self.found(self.store.entry_of(suspension), to, &row, origin, steps)?;
        self.resumed = row;
        Ok(())
    }

    fn tell(self, stopped: Option<Why>, budget: &Budget, listener: &mut dyn Listener) -> Stats {
        let summaries = self.store.entries.iter().map(|entry| entry.exits.len() as u64).sum();
        let stats = Stats::from([
            ("contexts", self.store.contexts),
            ("entries", self.store.entries.len() as u64),
            ("summaries", summaries),
            ("evaluations", self.expander.evaluations),
            ("work", self.expander.work),
        ]);
        if !may_tell(stopped.as_ref(), self.expander.work, budget) {
            return stats;
        }
        let mut memory = Recall { machine: self.machine, store: &self.store };
        let mut retracer = Retracer::new(self.machine, &mut memory, budget);
        let trace = |context: u32| retracer.trace(context, self.store.valuation(context).into());
        self.targets.tell(stopped, trace, listener);
        stats
    }
}
