//! Room `engine`: what comes out of the door.

use postbop_ir::interleave::Schedule;
use postbop_ir::replay::FrameChanges;
use postbop_ir::{Interleaving, Trace};
use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, Instant};

/// The answer to one property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// No run violates it.
    Holds,
    /// This run does.
    Violated(Trace),
    /// This run of several threads does.
    Interleaved(Interleaving),
    /// Nobody knows, and this is why.
    Unknown(Why),
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// The time was up.
    Time(Duration),
    /// The memory limit, in bytes, was reached.
    Memory(u64),
    /// Somebody called the work off.
    Cancelled,
    /// An engine on trial was not done soon enough.
    Effort,
    /// Another property was found violated, and this one was not settled soon after.
    Stopped,
    /// No engine takes such a program.
    Unsupported(String),
    /// The engine gave an answer that did not stand, or broke down.
    EngineBug(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Time(limit) => write!(f, "time limit of {} s", limit.as_secs_f64()),
            Why::Memory(limit) => write!(f, "memory limit of {} MB", limit / 1_000_000),
            Why::Cancelled => write!(f, "interrupted"),
            Why::Effort => write!(f, "not done within its trial"),
            Why::Stopped => write!(f, "stopped after another violation"),
            Why::Unsupported(what) => write!(f, "unsupported: {what}"),
            Why::EngineBug(what) => write!(f, "a bug in postbop: {what}"),
        }
    }
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
        Stopwatch { last: Instant::now(), laps: Stats::new() }
    }

    /// Ends a phase.
    pub fn lap(&mut self, phase: &'static str) {
        let now = Instant::now();
        self.laps.push((phase.into(), (now - self.last).as_micros() as u64));
        self.last = now;
    }

    /// The phases so far.
    pub fn laps(self) -> Stats {
        self.laps
    }
}

/// Counters of one run, in the order in which they are shown.
pub type Stats = Vec<(Cow<'static, str>, u64)>;

/// What an engine says: one verdict per target, and what it counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// In the order of the task's targets.
    pub verdicts: Vec<Verdict>,
    /// What it counted.
    pub stats: Stats,
}

impl Outcome {
    /// The same reason for all of `count` targets.
    pub fn unknown(count: usize, why: &Why) -> Self {
        Outcome { verdicts: vec![Verdict::Unknown(why.clone()); count], stats: Vec::new() }
    }
}

impl Report {
    /// The outcome of an engine as a report, with nothing said about changes.
    pub fn new(engine: &'static str, Outcome { verdicts, stats }: Outcome) -> Self {
        let (by, changes) = (vec![engine; verdicts.len()], vec![Vec::new(); verdicts.len()]);
        Report { engine, by, verdicts, changes, bound: None, stats }
    }
}

/// What comes out of the door.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The engine that had the last word, and whose counters these are.
    pub engine: &'static str,
    /// For each verdict, the engine that gave it.
    pub by: Vec<&'static str>,
    /// In the order of the task's targets.
    pub verdicts: Vec<Verdict>,
    /// For each verdict, if it is a violation by one thread, what the steps of its pending frames change.
    pub changes: Vec<FrameChanges>,
    /// For a program with threads: the schedule within which what holds holds; none if it holds within any.
    pub bound: Option<Schedule>,
    /// What the engine counted.
    pub stats: Stats,
}
