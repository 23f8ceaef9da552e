//! Room `engine`: how much an engine may use, and the observer of its work.
//!
//! Of the core crates this file alone reads the clock.

use crate::race::Race;
use crate::verdict::{Answer, Stats, Why};
use postbop_ir::Bound;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The time since it was first asked for.
pub fn clock() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Measures the phases of a run, in microseconds.
#[derive(Clone, Debug)]
pub struct Stopwatch {
    last: Instant,
    laps: Stats,
}

impl Stopwatch {
    /// Starts measuring.
    pub fn start() -> Self {
        Stopwatch { last: Instant::now(), laps: Stats::default() }
    }

    /// Ends a phase.
    pub fn lap(&mut self, phase: &'static str) {
        let now = Instant::now();
        self.laps.add(phase, (now - self.last).as_micros() as u64);
        self.last = now;
    }

    /// The phases so far.
    pub fn laps(self) -> Stats {
        self.laps
    }
}

/// A limit of time.
#[derive(Clone, Copy)]
struct Limit {
    start: Instant,
    /// How long the work may take from there on.
    most: Duration,
    /// The whole limit, of which that may be a share: the one to tell users.
    named: Duration,
}

/// Limits of time and memory, and a flag that calls the work off. Engines ask [`Budget::check`] in every loop.
#[derive(Clone)]
pub struct Budget {
    time: Option<Limit>,
    memory: Option<u64>,
    effort: u64,
    used: fn() -> u64,
    cancelled: Arc<AtomicBool>,
    jobs: usize,
    /// If another engine is at the same task.
    runner: Option<Runner>,
    /// If this is work that an engine in a race has handed to another one.
    outer: Option<Runner>,
}

/// An engine in a race: which runner it is, what counts before its first unit of work, and how much a unit counts.
#[derive(Clone)]
struct Runner {
    race: Arc<Race>,
    number: usize,
    before: u64,
    weight: u64,
}

impl Runner {
    /// Work of so many units, as it counts.
    fn work(&self, effort: u64) -> u64 {
        effort.saturating_mul(self.weight).saturating_add(self.before)
    }
}

impl Budget {
    /// No limits.
    pub fn unlimited() -> Self {
        Budget {
            time: None,
            memory: None,
            effort: u64::MAX,
            used: || 0,
            cancelled: Arc::default(),
            jobs: 1,
            runner: None,
            outer: None,
        }
    }

    /// Limits the time from now on.
    pub fn with_time(mut self, limit: Duration) -> Self {
        self.time = Some(Limit { start: Instant::now(), most: limit, named: limit });
        self
    }

    /// Limits the time from now on, unless it is limited already.
    pub fn or_time(self, limit: Duration) -> Self {
        if self.time.is_some() { self } else { self.with_time(limit) }
    }

    /// A budget with one part of so many of the time that is left.
    pub fn share(&self, parts: u32) -> Self {
        let mut share = self.clone();
        if let Some(limit) = &mut share.time {
            let spent = limit.start.elapsed();
            limit.most = spent + limit.most.saturating_sub(spent) / parts;
        }
        share
    }

    /// Limits the memory, in bytes. `used` tells how much the process holds: only the host knows its allocator.
    pub fn with_memory(mut self, limit: u64, used: fn() -> u64) -> Self {
        self.memory = Some(limit);
        self.used = used;
        self
    }

    /// Sets the flag that calls the work off when it becomes true.
    pub fn with_cancel(mut self, flag: Arc<AtomicBool>) -> Self {
        self.cancelled = flag;
        self
    }

    /// Limits the work, in units of the engine's own: a trial before another engine gets its turn.
    pub fn with_effort(mut self, limit: u64) -> Self {
        self.effort = self.effort.min(limit);
        self
    }

    /// The limit of the work.
    pub fn effort(&self) -> u64 {
        self.effort
    }

    /// The limit of memory, in bytes; without one, what our tables can hold.
    pub fn memory(&self) -> u64 {
        self.memory.unwrap_or(u32::MAX as u64 * 8)
    }

    /// Whether the work may go on.
    pub fn check(&self) -> Result<(), Why> {
        self.allows(0)
    }

    /// Lets so many engines work at once, each in a thread of its own. One, unless this is said.
    pub fn with_jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs;
        self
    }

    /// How many engines may work at once.
    pub fn jobs(&self) -> usize {
        self.jobs
    }

    /// The same budget for one of several engines that are at the same task: how much a unit of its work counts, and what it
    /// prepares before the first unit.
    pub fn in_race(&self, race: &Arc<Race>, number: usize, weight: u64, before: u64) -> Self {
        let runner = Runner { race: Arc::clone(race), number, before, weight };
        race.goes_on(number, before);
        Budget { runner: Some(runner), ..self.clone() }
    }

    /// The same limits of time and memory for work that belongs to no race and to no trial.
    pub fn alone(&self) -> Self {
        Budget { effort: u64::MAX, jobs: 1, runner: None, outer: None, ..self.clone() }
    }

    /// The same limits for work that an engine hands to another one when it has done so many units itself. Of the other engine's units so many count as one. It
    /// belongs to no race, but ends with the race that this engine is in.
    pub fn inside(&self, effort: u64, parts: u64) -> Self {
        let inner = |runner: &Runner| Runner {
            before: runner.work(effort),
            weight: runner.weight.div_ceil(parts),
            ..runner.clone()
        };
        let left = self.effort.saturating_sub(effort).saturating_mul(parts);
        Budget { effort: left, outer: self.runner.as_ref().map(inner), ..self.alone() }
    }

    /// Whether the work may go on after so many units.
    pub fn after(&self, effort: u64) -> Result<(), Why> {
        self.after_with(effort, 0)
    }

    /// Whether the work may go on after so many units, with so many bytes more.
    pub fn after_with(&self, effort: u64, bytes: u64) -> Result<(), Why> {
        let lost = |runner: &Runner| !runner.race.goes_on(runner.number, runner.work(effort));
        let lost = self.runner.as_ref().or(self.outer.as_ref()).is_some_and(lost);
        if lost || effort > self.effort { Err(Why::Effort) } else { self.allows(bytes) }
    }

    /// The work is done after so many units: whether its answers are wanted. They are, unless another engine was at the
    /// same task and needed less work, or was there first with answers that need no run to show.
    pub fn wins(&self, effort: u64, found: bool) -> bool {
        match &self.runner {
            Some(runner) => {
                let patient = || self.check_time().is_ok();
                let wins = runner.race.wins(runner.number, runner.work(effort), found, patient);
                wins && runner.race.claims()
            }
            None => true,
        }
    }

    /// The work is done after so many units, but the answer lacks a proof: gives other engines at the same task some time to find one. Returns whether
    /// another engine is done then, and should tell.
    pub fn defers(&self, effort: u64) -> bool {
        let patient = || self.check_time().is_ok();
        let defers = |runner: &Runner| runner.race.defers(runner.number, runner.work(effort), patient);
        self.runner.as_ref().is_some_and(defers)
    }

    /// Whether other engines start at the same task when so many units are done, so that what was found until then should be told.
    pub fn ends_lead(&self, effort: u64) -> bool {
        let ends = |runner: &Runner| runner.race.ends_lead(runner.number, runner.work(effort));
        self.runner.as_ref().is_some_and(ends)
    }

    /// Whether this engine is the one to tell what was found when the time is up.
    pub fn claims(&self) -> bool {
        self.runner.as_ref().is_none_or(|runner| runner.race.claims())
    }

    /// Whether another engine is at the same task.
    pub fn is_raced(&self) -> bool {
        self.runner.is_some()
    }

    /// The work will not be done.
    pub fn gives_up(&self) {
        if let Some(runner) = &self.runner {
            runner.race.gives_up(runner.number);
        }
    }

    /// Whether what was found may still be written down: there is time left, and no more memory is used than allowed.
    pub fn check_writing(&self) -> Result<(), Why> {
        self.check_time()?;
        match self.memory {
            Some(limit) if (self.used)() > limit => Err(Why::Memory(limit)),
            _ => Ok(()),
        }
    }

    /// Whether there is time left.
    fn check_time(&self) -> Result<(), Why> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(Why::Cancelled);
        }
        match self.time {
            Some(limit) if limit.start.elapsed() >= limit.most => Err(Why::Time(limit.named)),
            _ => Ok(()),
        }
    }

    /// Whether the work may go on with so many bytes more. A search leaves an eighth of the memory for its traces, and for what
    /// the allocator holds beyond what is in use.
    pub fn allows(&self, bytes: u64) -> Result<(), Why> {
        self.check_time()?;
        match self.memory {
            Some(limit) if (self.used)().saturating_add(bytes) > limit - limit / 8 => Err(Why::Memory(limit)),
            _ => Ok(()),
        }
    }
}

/// Watches the work of diagrams for an engine: how much it was, and why it was stopped.
pub struct Meter<'b> {
    budget: &'b Budget,
    work: Cell<u64>,
    why: RefCell<Option<Why>>,
    /// What the engine holds and what waits to be done, as it said last.
    holds: Cell<(u64, u64)>,
    /// Is told of the work whenever it is asked whether to go on.
    pulse: &'b dyn Fn(Course),
}

/// How much work there is between two questions of diagrams.
pub const TURN: u64 = 1 << 13;

impl<'b> Meter<'b> {
    /// No work was done yet; `pulse` is told how much there was, again and again.
    pub fn new(budget: &'b Budget, pulse: &'b dyn Fn(Course)) -> Self {
        let (work, holds) = (Cell::new(0), Cell::new((0, 0)));
        Meter { budget, work, why: RefCell::new(None), holds, pulse }
    }

    /// Whether another engine is at the same task.
    pub fn is_raced(&self) -> bool {
        self.budget.is_raced()
    }

    /// The budget for work that is handed to another engine now, of whose units so many count as one.
    pub fn inside(&self, parts: u64) -> Budget {
        self.budget.inside(self.work(), parts)
    }

    /// The work so far.
    pub fn work(&self) -> u64 {
        self.work.get()
    }

    /// How much memory there is, in bytes.
    pub fn memory(&self) -> u64 {
        self.budget.memory()
    }

    /// Notes how much the engine holds, and how much waits to be done.
    pub fn holds(&self, kept: u64, waiting: u64) {
        self.holds.set((kept, waiting));
    }

    /// Tells how far the work is.
    pub fn beat(&self) {
        let (kept, waiting) = self.holds.get();
        (self.pulse)(Course { work: self.work(), kept, waiting });
    }

    /// Counts work that diagrams do not ask about.
    pub fn spend(&self, work: u64) {
        self.work.set(self.work.get() + work);
    }

    /// Whether the work may go on, and if not, why.
    pub fn check(&self) -> Result<(), Why> {
        self.beat();
        self.budget.after(self.work())
    }

    /// Whether the work may go on after so many more units.
    pub fn goes_on(&self, work: u64) -> bool {
        self.spend(work);
        self.beat();
        let why = self.budget.after(self.work()).err();
        let goes_on = why.is_none();
        *self.why.borrow_mut() = why;
        goes_on
    }

    /// Whether diagrams may go on, with so many bytes more.
    pub fn allows(&self, bytes: usize) -> bool {
        self.spend(TURN);
        self.beat();
        let why = self.budget.after_with(self.work(), bytes as u64).err();
        let goes_on = why.is_none();
        *self.why.borrow_mut() = why;
        goes_on
    }

    /// Whether there is room for so many bytes more.
    pub fn has_room(&self, bytes: usize) -> Result<(), Why> {
        self.budget.allows(bytes as u64)
    }

    /// Why diagrams were stopped.
    pub fn why(&self) -> Why {
        self.why.borrow().clone().unwrap_or(Why::Memory(self.budget.memory()))
    }
}

/// One moment of the course that a search takes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Course {
    /// How much work was done.
    pub work: u64,
    /// How much it holds: vertices of diagrams, contexts, configurations. 0 if the engine does not say.
    pub kept: u64,
    /// How much waits to be done: the length of its worklist.
    pub waiting: u64,
}

/// How far an engine is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tick {
    /// What it counts, as in `contexts`.
    pub unit: &'static str,
    /// How many of these it has.
    pub done: u64,
    /// Where it is on its course.
    pub course: Course,
}

/// How far the work is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The engine at work.
    pub engine: &'static str,
    /// How far it is.
    pub tick: Tick,
    /// Within which bound it searches.
    pub bound: Bound,
    /// How many queries have an answer, and how many there are.
    pub settled: usize,
    /// How many queries there are.
    pub queries: usize,
}

/// Is told how far the work is, and each answer as soon as it is found.
pub trait Observer: Send {
    /// Called now and then, from the thread that works; should return at once.
    fn progress(&mut self, progress: &Progress);
    /// Called once for each query that gets an answer, with its number. The observer may take the trace out of it, which
    /// is then missing in the report.
    fn answer(&mut self, query: usize, answer: &mut Answer);
}

/// An observer that does nothing.
pub struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: &Progress) {}
    fn answer(&mut self, _: usize, _: &mut Answer) {}
}
