//! Room `engine`: from a task to a report.
//!
//! # Idea
//!
//! [`verify`] is the only way to an answer, for programs with and without threads. A program with threads is searched
//! directly or translated into sequential ones ([`crate::threads`]); a sequential program goes to engines
//! ([`crate::turns`]), as a rule after it was made smaller ([`crate::reduce`]). Whatever was done to the program, a
//! violation is reported only with a trace that was brought back to the program as written and was replayed there. An
//! engine that panics leaves an `unknown` that says so.
//!
//! The answers stand on a [`Board`], one row for each query. A row is settled once, and the observer is told at once.

use crate::assumptions::{assumptions, blocked, watch};
use crate::budget::{Budget, Course, Observer, Progress, Tick};
use crate::engine::{Engine, Unsupported, engine};
use crate::evidence::Evidence;
use crate::threads;
use crate::turns::{self, Question};
use crate::verdict::{Answer, Report, Stats, Verdict, Why};
use postbop_ir::replay::{PATIENCE, complete};
use postbop_ir::{Ask, Bound, EdgeId, LocId, Program, Query, Task, Trace};

/// Which engine is to answer.
#[derive(Clone, Copy, Default)]
pub enum EngineChoice {
    /// Whichever is likely to answer soonest.
    #[default]
    Auto,
    /// This one.
    Only(&'static dyn Engine),
}

impl EngineChoice {
    /// The engine of this name, or `auto`.
    pub fn named(name: &str) -> Option<Self> {
        if name == "auto" { Some(EngineChoice::Auto) } else { engine(name).map(EngineChoice::Only) }
    }
}

/// Answers a task.
pub fn verify(task: &Task, choice: EngineChoice, budget: &Budget, observer: &mut dyn Observer) -> Report {
    let mut queries: Vec<Query> =
        task.queries.iter().map(|query| reachable_targets(task.program, query)).collect();
    let shown = queries.len();
    let watched = if looks_for_guards(task, choice) { assumptions(task.program) } else { Vec::new() };
    queries.extend(watch(task.program, &watched));
    let task = Task { queries: &queries, ..*task };
    let mut board = Board { shown, ..Board::new(task, observer) };
    if task.program.is_sequential() {
        for (queries, numbers) in by_kind(task.queries) {
            let task = Task { queries: &queries, ..task };
            turns::answer(&Question { numbers, ..Question::plain(task) }, choice, budget, &mut board);
        }
    } else if let Some(Unsupported(what)) = task.queries.iter().find_map(recurs_in_threads) {
        let all = 0..task.queries.len();
        all.for_each(|query| board.unknown(query, Why::Unsupported(what.clone())));
    } else {
        threads::answer(&task, choice, budget, &mut board);
    }
    board.out_of_means(budget);
    board.report(&watched)
}

/// Whether engines say which guards are reached, and one may be vacuous.
fn looks_for_guards(task: &Task, choice: EngineChoice) -> bool {
    let reduced = match choice {
        EngineChoice::Auto => true,
        EngineChoice::Only(engine) => engine.wants().reduced,
    };
    reduced && task.program.is_sequential() && task.queries.iter().any(|query| !query.guard.is_empty())
}

/// The queries that ask for a run to somewhere, and those that ask for a run that goes on for ever, with their numbers.
fn by_kind(queries: &[Query]) -> Vec<(Vec<Query>, Vec<usize>)> {
    let recurs = |query: &Query| matches!(query.ask, Ask::Recur(_));
    let of_kind = |kind: bool| {
        let all = queries.iter().enumerate().filter(move |(_, query)| recurs(query) == kind);
        all.map(|(number, query)| (query.clone(), number)).unzip()
    };
    let kinds = [of_kind(false), of_kind(true)];
    kinds.into_iter().filter(|(queries, _): &(Vec<Query>, Vec<usize>)| !queries.is_empty()).collect()
}

/// Runs of threads that go on for ever are not searched for yet.
fn recurs_in_threads(query: &Query) -> Option<Unsupported> {
    let refusal = || Unsupported("whether a run of several threads visits a location again and again".into());
    matches!(query.ask, Ask::Recur(_)).then(refusal)
}

/// The query without locations that no run is ever at: exits. A return leads straight to where the call goes on; only in a
/// procedure in which a thread starts does it lead to the exit.
fn reachable_targets(program: &Program, query: &Query) -> Query {
    let is_place = |loc: &LocId| {
        let proc = program.locs()[*loc].proc;
        !program.is_exit(*loc) || program.threads().iter().any(|thread| thread.main == proc)
    };
    let kept = |locs: &[LocId]| locs.iter().copied().filter(is_place).collect();
    let ask = match &query.ask {
        Ask::Reach(locs) => Ask::Reach(kept(locs)),
        Ask::Recur(locs) => Ask::Recur(kept(locs)),
    };
    Query { name: query.name.clone(), ask, guard: query.guard.clone() }
}

/// The answers so far.
pub struct Board<'a, 'o> {
    /// The task about the program as written.
    pub task: Task<'a>,
    answers: Vec<Answer>,
    /// How many of the answers are told; the others are about assumptions.
    shown: usize,
    /// For each query whether a run is known to reach its guard.
    guarded: Vec<bool>,
    settled: usize,
    observer: &'o mut dyn Observer,
    /// The engine at work, which the next answer is credited to.
    pub engine: &'static str,
    /// What it counted.
    pub stats: Stats,
    /// Whether the observer is not told yet of properties that hold, since their bound is not known.
    pub waits: bool,
}

impl<'a, 'o> Board<'a, 'o> {
    /// Nothing is answered yet.
    pub fn new(task: Task<'a>, observer: &'o mut dyn Observer) -> Self {
        let open = |query: &Query| Answer::new(&query.name, "none", Verdict::Unknown(Why::Effort));
        let answers = task.queries.iter().map(open).collect();
        let shown = task.queries.len();
        let (guarded, engine, stats) = (vec![false; shown], "none", Stats::default());
        Board { task, answers, shown, guarded, settled: 0, observer, engine, stats, waits: false }
    }

    /// Whether a query is worth asking again: it has no answer, and another engine or a larger share may find one.
    pub fn is_open(&self, query: usize) -> bool {
        let why = match &self.answers[query].verdict {
            Verdict::Unknown(why) => why,
            _ => return false,
        };
        matches!(why, Why::Unsupported(_) | Why::Effort | Why::Memory(_))
    }

    /// Whether there is a query to ask again.
    pub fn has_open(&self) -> bool {
        (0..self.answers.len()).any(|query| self.is_open(query))
    }

    /// Whether the first violation was found and ends the work.
    pub fn is_over(&self) -> bool {
        let violated = |answer: &Answer| matches!(answer.verdict, Verdict::Violated(_));
        self.task.first && self.answers.iter().any(violated)
    }

    /// The answer to a query so far.
    pub fn answer(&self, query: usize) -> &Answer {
        &self.answers[query]
    }

    /// Notes an answer to a query that has none.
    pub fn settle(&mut self, query: usize, verdict: Verdict) -> &mut Answer {
        debug_assert!(!self.answers[query].verdict.is_known(), "a query is answered once");
        let known = verdict.is_known();
        let (engine, row) = (self.engine, &mut self.answers[query]);
        let explored = row.explored.filter(|_| !known);
        *row = Answer { explored, ..Answer::new(std::mem::take(&mut row.query), engine, verdict) };
        self.settled += usize::from(known && query < self.shown);
        row
    }

    /// Tells the observer an answer.
    pub fn publish(&mut self, query: usize) {
        if query >= self.shown {
            return;
        }
        self.observer.answer(query, &mut self.answers[query]);
    }

    /// Notes that a property holds within a bound.
    pub fn holds(&mut self, query: usize, within: Bound, guarded: Option<bool>) {
        self.shown(query, within, guarded, Evidence::default());
    }

    /// Notes that a property holds within a bound, and what shows it.
    pub fn shown(&mut self, query: usize, within: Bound, guarded: Option<bool>, evidence: Evidence) {
        let Evidence { proof, checked, translation } = evidence;
        let guarded = guarded.or(self.guarded[query].then_some(true));
        let guarded = guarded.filter(|_| !self.task.queries[query].guard.is_empty());
        let row = self.settle(query, Verdict::Holds { within, proof });
        (row.checked, row.checked_translation) = (checked, translation);
        row.vacuous = guarded.map(|guarded| !guarded);
        if !self.waits {
            self.publish(query);
        }
    }

    /// Notes that a run reaches the guard of a query.
    pub fn guarded(&mut self, query: usize) {
        self.guarded[query] = true;
    }

    /// Whether it is settled that a run reaches the guard of a query, if there is a guard.
    pub fn is_guarded(&self, query: usize) -> bool {
        self.guarded[query] || self.task.queries[query].guard.is_empty()
    }

    /// Tells that a property holds within a bound, which is known now.
    pub fn confirm(&mut self, query: usize, bound: Bound) {
        if let Verdict::Holds { within, .. } = &mut self.answers[query].verdict {
            *within = bound;
            self.publish(query);
        }
    }

    /// Notes a violation, if its trace, as one of the program as written, replays.
    pub fn violated(&mut self, query: usize, mut trace: Trace, budget: &Budget) {
        let Task { program, queries, .. } = self.task;
        let mut stopped = None;
        let mut tick = Tick { unit: "steps replayed", done: 0, course: Course::default() };
        let mut goes_on = || {
            self.progress(Bound::NONE, tick);
            tick.done += u64::from(PATIENCE);
            stopped = budget.check_writing().err();
            stopped.is_none()
        };
        match complete(program, &mut trace, &queries[query].ask, &mut goes_on) {
            Ok(changes) => {
                self.settle(query, Verdict::Violated(trace)).changes = changes;
                self.publish(query);
            }
            Err(rejected) => {
                let why = || match rejected.is_too_large() {
                    true => Why::Unsupported("a run with numbers that do not fit 64 bits".into()),
                    false => Why::EngineBug(format!("a trace does not replay: {rejected}")),
                };
                self.unknown(query, stopped.unwrap_or_else(why));
            }
        }
    }

    /// Notes why a query has no answer.
    pub fn unknown(&mut self, query: usize, why: Why) {
        self.settle(query, Verdict::Unknown(why));
    }

    /// Gives each query that was left open, and that nothing else could answer, its reason: the first violation, or a limit.
    pub fn out_of_means(&mut self, budget: &Budget) {
        let why = if self.is_over() { Some(Why::First) } else { budget.check().err() };
        let Some(why) = why else { return };
        for query in 0..self.answers.len() {
            if self.answers[query].verdict == Verdict::Unknown(Why::Effort) {
                self.unknown(query, why.clone());
            }
        }
    }

    /// Notes that no violation was found among the runs within a bound, and what shows it.
    pub fn explored(&mut self, query: usize, bound: Bound, evidence: Evidence) {
        let row = &mut self.answers[query];
        (row.explored, row.checked_translation) = (Some(bound), evidence.translation);
    }

    /// Notes that a property holds within a bound, up to which everything is explored.
    pub fn conclude(&mut self, query: usize, bound: Bound) {
        let row = &self.answers[query];
        let covers = row.explored.is_some_and(|explored| explored.schedule == bound.schedule);
        let translation = covers && row.checked_translation;
        self.shown(query, bound, None, Evidence { translation, ..Evidence::default() });
    }

    /// Tells the observer how far an engine is.
    pub fn progress(&mut self, bound: Bound, tick: Tick) {
        let (settled, queries) = (self.settled, self.shown);
        self.observer.progress(&Progress { engine: self.engine, tick, bound, settled, queries });
    }

    fn report(mut self, watched: &[EdgeId]) -> Report {
        let ends = self.answers.split_off(self.shown);
        let vacuous = self.answers.iter().any(|answer| answer.vacuous == Some(true));
        let blocked = if vacuous { blocked(watched, &ends) } else { Vec::new() };
        Report { answers: self.answers, engine: self.engine, stats: self.stats, blocked }
    }
}
