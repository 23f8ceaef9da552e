//! Room `engine`: what comes out of [`crate::verify`].

use postbop_ir::replay::Changes;
use postbop_ir::{Bound, EdgeId, Proof, Trace};
use rustc_hash::FxHashMap as HashMap;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The answer to one query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// No run violates the property.
    Holds {
        /// Which runs were looked at.
        within: Bound,
        /// What shows it, if proofs are kept. Several properties may share it.
        proof: Option<Arc<Proof>>,
    },
    /// This run does.
    Violated(Trace),
    /// It is not known, and this is why.
    Unknown(Why),
}

impl Verdict {
    /// That no run violates the property.
    pub fn holds() -> Self {
        Verdict::Holds { within: Bound::NONE, proof: None }
    }

    /// Whether it is an answer.
    pub fn is_known(&self) -> bool {
        !matches!(self, Verdict::Unknown(_))
    }
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// The time was up.
    Time(Duration),
    /// The memory limit, in bytes, was reached.
    Memory(u64),
    /// The work was called off.
    Cancelled,
    /// The engine used up its share of work, or lost a race: another one may know.
    Effort,
    /// Another property was found violated, and the first violation was to end the work.
    First,
    /// No engine takes such a program.
    Unsupported(String),
    /// The engine panicked, or gave a trace that does not replay, or a proof that is none.
    EngineBug(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Time(limit) => write!(f, "time limit of {} s", limit.as_secs_f64()),
            Why::Memory(limit) => write!(f, "memory limit of {} MB", limit / 1_000_000),
            Why::Cancelled => write!(f, "interrupted"),
            Why::Effort => write!(f, "not done within its trial"),
            Why::First => write!(f, "stopped at the first violation"),
            Why::Unsupported(what) => write!(f, "unsupported: {what}"),
            Why::EngineBug(what) => write!(f, "a bug in postbop: {what}"),
        }
    }
}

/// What one query got.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The name of the query.
    pub query: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The engine that gave it.
    pub engine: &'static str,
    /// Of a violation: what the steps of the trace's contexts change.
    pub changes: Vec<Changes>,
    /// Of an unknown: the bound up to which all runs were explored, without a violation.
    pub explored: Option<Bound>,
    /// Of a property that holds: whether no run reaches its guard. None if that is not known.
    pub vacuous: Option<bool>,
    /// Of a property that holds: whether its proof was checked.
    pub checked: bool,
    /// Whether instead the proof of its translation was checked: of threads, or of runs that go on for ever, as a question about what a sequential program reaches. Nobody has
    /// checked that the translation is right.
    pub checked_translation: bool,
}

impl Answer {
    /// A verdict with nothing more to say about it.
    pub fn new(query: impl Into<String>, engine: &'static str, verdict: Verdict) -> Self {
        let query = query.into();
        Answer {
            query,
            verdict,
            engine,
            changes: Vec::new(),
            explored: None,
            vacuous: None,
            checked: false,
            checked_translation: false,
        }
    }
}

/// What comes out of [`crate::verify`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// One for each query, in their order.
    pub answers: Vec<Answer>,
    /// The engine that had the last word, and whose counters these are.
    pub engine: &'static str,
    /// What the engine counted.
    pub stats: Stats,
    /// The assumptions that no run gets past, if that came to light and some property is vacuous.
    pub blocked: Vec<Blocked>,
}

/// An assumption that no run gets past.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocked {
    /// The assumption.
    pub edge: EdgeId,
    /// Whether a run comes to it. None if that is not known.
    pub reached: Option<bool>,
}

impl Report {
    /// The verdicts, in the order of the queries.
    pub fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        self.answers.iter().map(|answer| &answer.verdict)
    }
}

/// Counters of one run, each under a name of its own, in the order in which they are shown.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    rows: Vec<(Cow<'static, str>, u64)>,
    /// The row of each name: formula files have counters for every relation.
    known: HashMap<Cow<'static, str>, usize>,
}

impl Stats {
    /// Counts so much more under a name.
    pub fn add(&mut self, name: impl Into<Cow<'static, str>>, value: u64) {
        let name = name.into();
        match self.known.get(&name) {
            Some(&row) => self.rows[row].1 += value,
            None => {
                self.known.insert(name.clone(), self.rows.len());
                self.rows.push((name, value));
            }
        }
    }

    /// Adds all counters of another run.
    pub fn extend(&mut self, others: Stats) {
        others.rows.into_iter().for_each(|(name, value)| self.add(name, value));
    }

    /// The counters.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.rows.iter().map(|(name, value)| (&**name, *value))
    }

    /// A counter, if it was counted.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.known.get(name).map(|&row| self.rows[row].1)
    }
}

impl<const N: usize> From<[(&'static str, u64); N]> for Stats {
    fn from(rows: [(&'static str, u64); N]) -> Self {
        let mut stats = Stats::default();
        rows.into_iter().for_each(|(name, value)| stats.add(name, value));
        stats
    }
}
