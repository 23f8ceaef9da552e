//! Room `xtask`: random programs against the oracle.
//!
//! # Idea
//!
//! Each random program goes through everything we have: the front end must read it, its graph must be well formed and
//! print back, its canonical form must mean the same, the oracle decides it by brute force, a breadth-first search with the whole call
//! stack checks the oracle, and every engine, asked for any trace and for a shortest one, must agree with the oracle; the
//! way to an answer replays each trace. Whatever disagrees is shrunk to a small program that disagrees in the same way.
//!
//! Programs with threads have an oracle and questions of their own: see `threads`. Programs with very long runs and those
//! with many properties take some engines too long; an answer that is not awaited is counted, and counts for nothing.

mod cycles;
mod horn;
mod integers;
mod moped;
mod pushdown;
mod ranged;
mod score;
mod summaries;
mod temporal;
mod threads;

pub use score::Score;

use crate::generate::{self, Features};
use crate::shrink::shrink;
use postbop_engine::{
    Answer, Blocked, Budget, COARSE, Engine, EngineChoice, PROVERS, Reordered, Silent, Verdict, Why, engines,
    verify,
};
use postbop_front::{Options, Severity};
use postbop_ir::bfs::{Found, bfs};
use postbop_ir::oracle::oracle;
use postbop_ir::{Edge, Length, LocId, Prefer, Program, Proofs, Query, Task, text};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// The most facts the oracle may derive, and configurations the breadth-first search may visit.
const ORACLE_LIMIT: usize = 60_000;
const BFS_LIMIT: usize = 1_500;
/// How long an engine may take for one question about a program with threads, unless another time is asked for.
pub const PATIENCE: Duration = Duration::from_millis(40);
/// How long for all questions at once about a program with long runs or many properties, and how many facts the oracle may
/// derive of one.
pub const LONG_PATIENCE: Duration = Duration::from_millis(400);
const LONG_JUDGE_LIMIT: usize = 400_000;
/// Modes of `sat` that keep all choices of a run as inputs of functions, which may grow very large on a small program, and
/// how long one of them may take for it.
const GROWING: [&str; 2] = ["sat:qbf", "sat:universal"];
const PATIENCE_WHILE_GROWING: Duration = Duration::from_secs(10);
/// How long a failing program is made smaller.
const SHRINK_TIME: Duration = Duration::from_secs(120);
/// What the name of an engine is followed by when it was asked for shortest traces.
const SHORTEST: &str = ", shortest";

/// Which programs to try.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Sequential ones with these features.
    Sequential(Features),
    /// Programs with threads, and how long an engine may take for one question about one.
    Threads(Duration),
    /// Programs whose shortest runs are astronomically long, and how long an engine may take for one.
    Long(Duration),
    /// Programs with many properties, and how long an engine may take for one.
    Many(Duration),
    /// Sequential ones with these features, and runs that go on for ever.
    Cycles(Features),
    /// Sequential ones with these features, and formulas and monitors about their runs.
    Temporal(Features),
    /// Sequential ones with these features and, as many, programs with threads; whether a run gets stuck.
    Deadlock(Features, Duration),
    /// Concurrent pushdown systems, and how long an engine may take for one question about one.
    Pushdown(Duration),
    /// Pushdown systems with variables, and how long an engine may take for one question about one.
    Moped(Duration),
    /// Systems of Horn clauses, and how long an engine may take for one.
    Horn(Duration),
    /// Sequential ones with unbounded integers, and how long an engine may take for one.
    Integers(Duration),
    /// Sequential ones, half of them with unbounded integers; what procedures do, and how long it may take to find that out.
    Summaries(Duration),
}

impl Kind {
    /// The program of a seed.
    pub fn program(self, seed: u64) -> String {
        match self {
            Kind::Sequential(features) | Kind::Cycles(features) => generate::program(seed, features),
            Kind::Temporal(features) => generate::temporal(seed, features),
            Kind::Deadlock(features, _) if seed.is_multiple_of(2) => generate::program(seed, features),
            Kind::Threads(_) | Kind::Deadlock(..) => generate::threads(seed),
            Kind::Long(_) => generate::long(seed),
            Kind::Many(_) => generate::many(seed),
            Kind::Pushdown(_) => generate::pushdown(seed),
            Kind::Moped(_) => generate::moped(seed),
            Kind::Horn(_) => generate::horn(seed),
            Kind::Summaries(_) if seed.is_multiple_of(2) => generate::program(seed, Features::all()),
            Kind::Integers(_) | Kind::Summaries(_) => generate::program(seed, Features::with_integers()),
        }
    }

    /// Puts one program through everything, with every engine or with a single one.
    fn examine(self, source: &str, only: Option<&str>) -> Finding {
        if let Kind::Pushdown(patience) = self {
            return pushdown::examine(source, patience);
        }
        if let Kind::Moped(patience) = self {
            return moped::examine(source, patience, only);
        }
        if let Kind::Horn(patience) = self {
            return horn::examine(source, patience, only);
        }
        let program = match read(source) {
            Ok(program) => program,
            Err(what) => return Finding::Wrong(what),
        };
        let queries = queries(&program);
        match self {
            Kind::Threads(patience) => threads::examine(&program, &queries, patience),
            Kind::Cycles(_) => cycles::examine(&program, only),
            Kind::Temporal(_) => temporal::examine(source, &program, only),
            Kind::Summaries(patience) => summaries::examine(&program, patience),
            Kind::Integers(patience) => integers::examine(&program, &queries, patience, only),
            Kind::Deadlock(_, patience) => match program.is_sequential() {
                true => cycles::examine_stuck(&program, only),
                false => threads::examine_deadlock(&program, patience, only),
            },
            Kind::Long(patience) | Kind::Many(patience) => {
                let effort = Effort { facts: LONG_JUDGE_LIMIT, patience: Some(patience), only };
                examine_program(&program, &queries, effort)
            }
            _ => examine_program(&program, &queries, Effort { only, ..Effort::default() }),
        }
    }

    /// The files that a failing program is kept in, by their endings.
    pub fn files(self, source: &str) -> Vec<(&'static str, &str)> {
        match self {
            Kind::Pushdown(_) => {
                let files = pushdown::files(source).into_iter();
                files.filter_map(|(ending, text)| Some((ending, text?))).collect()
            }
            Kind::Moped(_) => vec![("pds", source)],
            Kind::Horn(_) => vec![("smt2", source)],
            _ => vec![("bp", source)],
        }
    }
}

/// How much is spent on a sequential program: the most facts that the oracle may derive; how long an engine may take, which
/// is for ever if no time is given and it is none of `GROWING`; and the engine, if only one is to be asked.
#[derive(Clone, Copy)]
struct Effort<'a> {
    facts: usize,
    patience: Option<Duration>,
    only: Option<&'a str>,
}

impl Default for Effort<'_> {
    fn default() -> Self {
        Effort { facts: ORACLE_LIMIT, patience: None, only: None }
    }
}

/// What came of one program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// All answers agree.
    Agreed(Score),
    /// An engine or an oracle is wrong. The first word names it, so that a smaller program can be seen to fail in the same way.
    Wrong(String),
}

/// What came of many programs.
#[derive(Default, Debug)]
pub struct Tally {
    /// Programs on which all agreed.
    pub agreed: usize,
    /// Those of them on which not every answer was awaited.
    pub with_gaps: usize,
    /// Programs the oracle found too large.
    pub too_large: usize,
    /// What was said about all of them.
    pub score: Score,
    /// The first disagreement: its seed, what is wrong, and the shrunk program.
    pub wrong: Option<(u64, String, String)>,
}

impl Tally {
    /// What was counted, on one line or more.
    pub fn lines(&self) -> Vec<String> {
        let Tally { agreed, with_gaps, too_large, score, .. } = self;
        let Score { reachable, unreachable, vacuous, .. } = score;
        let mut first = format!(
            "{agreed} programs agreed on ({reachable} targets reachable, {unreachable} not, {vacuous} vacuous), {too_large} too large for the oracle"
        );
        if *with_gaps > 0 {
            first += &format!(", {with_gaps} of them without the answers that were not awaited");
        }
        [first].into_iter().chain(score.lines()).collect()
    }
}

/// Tries programs from `seed` on, with all engines or only one, until `count` are done, the time is up, or one goes wrong.
pub fn fuzz(seed: u64, count: usize, kind: Kind, only: Option<&str>, limit: Option<Duration>) -> Tally {
    let start = Instant::now();
    let mut tally = Tally::default();
    for seed in seed..seed.saturating_add(count as u64) {
        if limit.is_some_and(|limit| start.elapsed() > limit) {
            break;
        }
        let source = kind.program(seed);
        match kind.examine(&source, only) {
            Finding::Agreed(score) => {
                *(if score.is_judged() { &mut tally.agreed } else { &mut tally.too_large }) += 1;
                tally.with_gaps += usize::from(score.is_judged() && score.has_gaps());
                tally.score.add(score);
            }
            Finding::Wrong(what) => {
                tally.wrong = Some((seed, what.clone(), smallest(kind, &source, &what)));
                break;
            }
        }
    }
    tally
}

/// A small program that goes wrong as this one does. Only the engine that was wrong is asked.
fn smallest(kind: Kind, source: &str, what: &str) -> String {
    let who = |what: &str| what.split(':').next().map(str::to_owned);
    let start = Instant::now();
    let guilty = what.strip_prefix("engine ").and_then(|what| what.split(": ").next());
    let guilty = guilty.map(|name| name.trim_end_matches(SHORTEST));
    let mut fails = |candidate: &str| {
        let in_time = start.elapsed() < SHRINK_TIME;
        // An oracle may break down on a candidate: of an integer that lost its width it cannot try all values.
        let found = || catch_unwind(AssertUnwindSafe(|| kind.examine(candidate, guilty)));
        in_time && matches!(found(), Ok(Finding::Wrong(other)) if who(&other) == who(what))
    };
    let canonical = postbop_front::format(source.as_bytes(), Options::default());
    let mut start = match canonical {
        Ok(text) if fails(&text) => text,
        _ => source.to_owned(),
    };
    if matches!(kind, Kind::Long(_)) {
        start = generate::shorter_chain(&start, &mut fails);
    }
    shrink(&start, &mut fails)
}

/// Asks the oracles and every engine these questions about a sequential program.
fn examine_program(program: &Program, queries: &[Query], effort: Effort) -> Finding {
    let targets = queries.iter().map(|query| query.locs());
    let locs: Vec<&[LocId]> = targets.chain(queries.iter().map(|query| &query.guard[..])).collect();
    let Ok(mut least) = oracle(program, &locs, effort.facts) else {
        return Finding::Agreed(Score::default());
    };
    let guards = least.split_off(queries.len());
    if let Some(what) = judge_flaw(program, queries, &least) {
        return Finding::Wrong(what);
    }
    let decided = Decided { program, queries, least: &least, guards: &guards };
    match engine_answers(&decided, effort) {
        Err(what) => Finding::Wrong(what),
        Ok(mut score) => {
            score.reachable = least.iter().flatten().count();
            score.unreachable = least.len() - score.reachable;
            let checked = |at: &usize| least[*at].is_none() && !queries[*at].guard.is_empty();
            let vacuous = |at: &usize| checked(at) && guards[*at].is_none();
            score.vacuous = (0..least.len()).filter(vacuous).count();
            score.longest = least.into_iter().flatten().max();
            Finding::Agreed(score)
        }
    }
}

/// The program of a source, with a graph as it should be; or what is wrong.
fn read(source: &str) -> Result<Program, String> {
    let reading = postbop_front::read(source.as_bytes(), Options::default());
    if let Some(error) = reading.diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error)
    {
        return Err(format!("front end {}: {}", error.code, error.message));
    }
    let program = reading.program.ok_or("front end: no program")?;
    match graph_flaw(source, &program) {
        Some(what) => Err(what),
        None => Ok(program),
    }
}

/// Every label and every check is asked about.
fn queries(program: &Program) -> Vec<Query> {
    let labels = program.labels().iter().filter(|label| label.name.starts_with("ERR"));
    let of_label = labels.map(|label| Query::reach(&label.name, vec![label.loc]));
    let of_check = program.checks().iter().map(|check| {
        let fails = program.edges().iter().filter(|edge| edge.to == check.loc);
        let guard = fails.map(|edge| edge.from).collect();
        Query { guard, ..Query::reach("check", vec![check.loc]) }
    });
    of_label.chain(of_check).collect()
}

/// The graph is well formed and prints back.
fn printed_flaw(program: &Program) -> Option<String> {
    match text::parse(&text::print(program)) {
        Err(error) => Some(format!("text: {error}")),
        Ok(read) if read != *program => Some("text: reads back as another program".into()),
        Ok(_) => None,
    }
}

/// The graph is as it should be, and it is the graph of the canonical form.
fn graph_flaw(source: &str, program: &Program) -> Option<String> {
    if let Some(what) = printed_flaw(program) {
        return Some(what);
    }
    let canonical = match postbop_front::format(source.as_bytes(), Options::default()) {
        Ok(canonical) => canonical,
        Err(_) => return Some("format: refuses what is read".into()),
    };
    let again = postbop_front::read(canonical.as_bytes(), Options::default());
    if again.program.as_ref().map(spanless) != Some(spanless(program)) {
        return Some("format: the canonical form is another program".into());
    }
    let twice = postbop_front::format(canonical.as_bytes(), Options::default());
    (twice.as_ref() != Ok(&canonical)).then(|| "format: the canonical form is not its own".into())
}

/// The textual form without spans.
pub fn spanless(program: &Program) -> String {
    let printed = text::print(program);
    let lines = printed.lines().map(|line| match line.split_once(" at ") {
        Some((before, after)) => format!("{before}{}\n", after.find(' ').map_or("", |end| &after[end..])),
        None => format!("{line}\n"),
    });
    lines.collect()
}

fn judge_flaw(program: &Program, queries: &[Query], least: &[Option<Length>]) -> Option<String> {
    for (query, least) in queries.iter().zip(least) {
        let found = bfs(program, query.locs(), BFS_LIMIT);
        let agrees = match (found, least) {
            (Found::Reached(steps), Some(least)) => Length::from(steps) == *least,
            (Found::NotWithin(steps), Some(least)) => Length::from(steps) < *least,
            (Found::Never | Found::NotWithin(_), None) => true,
            (Found::Never, Some(_)) | (Found::Reached(_), None) => false,
        };
        if !agrees {
            return Some(format!(
                "oracle: {found:?} by breadth-first search, {least:?} by the oracle {}",
                query.locs()[0]
            ));
        }
    }
    None
}

/// A program and what the oracle says of it: for each query the length of a shortest run to its targets, and of one to where
/// it is checked.
struct Decided<'a> {
    program: &'a Program,
    queries: &'a [Query],
    least: &'a [Option<Length>],
    guards: &'a [Option<Length>],
}

/// Everything that is asked: the engines, their choice, `summary` with levels that are reordered all the time, and `sat` with coarse programs first.
fn askable() -> impl Iterator<Item = (&'static str, EngineChoice)> {
    let named = engines().iter().map(|&engine| (engine.name(), EngineChoice::Only(engine)));
    let tests: [&'static dyn Engine; 2] = [&REORDERED, &COARSE];
    let tests = tests.map(|engine| (engine.name(), EngineChoice::Only(engine)));
    named.chain([("auto", EngineChoice::Auto)]).chain(tests)
}

/// The name of something that can be asked. With another name nothing would be asked, and everything would agree.
pub fn engine_name(name: &str) -> Result<String, String> {
    let names: Vec<&str> = askable().map(|(name, _)| name).collect();
    if names.contains(&name) { Ok(name.into()) } else { Err(format!("the engines are {}", names.join(", "))) }
}

/// How many answers each engine gave, if they are those of the oracle; or what is wrong.
fn engine_answers(decided: &Decided, effort: Effort) -> Result<Score, String> {
    let mut score = Score::default();
    for (name, choice) in askable().filter(|(name, _)| effort.only.is_none_or(|only| only == *name)) {
        for prefer in [Prefer::Any, Prefer::FewestSteps] {
            let task = Task { prefer, ..proving(decided.program, decided.queries) };
            let by_formula = name.starts_with("fixpoint");
            if let EngineChoice::Only(engine) = choice
                && engine.supports(&task).is_err()
            {
                continue;
            }
            if by_formula && effort.patience.is_some() && score.has_gaps() {
                // What took one algorithm too long takes the others as long.
                score.note(name, 0, decided.queries.len());
                continue;
            }
            let growing = GROWING.contains(&name).then_some(PATIENCE_WHILE_GROWING);
            let patience = effort.patience.or(growing);
            let budget = match patience {
                Some(patience) => Budget::unlimited().with_time(patience),
                None => Budget::unlimited(),
            };
            let report = verify(&task, choice, &budget, &mut Silent);
            let name = if task.shortest() { format!("{name}{SHORTEST}") } else { name.to_owned() };
            let late = |answer: &&Answer| {
                patience.is_some() && matches!(answer.verdict, Verdict::Unknown(Why::Time(_)))
            };
            if patience.is_some() {
                let late = report.answers.iter().filter(late).count();
                score.note(&name, report.answers.len() - late, late);
            }
            let proves = effort.patience.is_none();
            let flaw = |at: usize| {
                let answer = &report.answers[at];
                decided.flaw(at, answer, task.shortest()).or_else(|| unproved(answer).filter(|_| proves))
            };
            let given = (0..report.answers.len()).filter(|&at| !late(&&report.answers[at]));
            if let Some(what) = { given }.find_map(flaw) {
                return Err(format!("engine {name}: {what}"));
            }
            score.proofs += report.answers.iter().filter(|answer| answer.checked).count();
            if let Some(what) = decided.wrongly_blocked(&report.blocked, effort) {
                return Err(format!("engine {name}: {what}"));
            }
        }
    }
    Ok(score)
}

impl Decided<'_> {
    /// What is wrong with the answer to a query.
    fn flaw(&self, at: usize, answer: &Answer, shortest: bool) -> Option<String> {
        let (least, guard) = (&self.least[at], &self.guards[at]);
        let agrees = match (&answer.verdict, least) {
            (Verdict::Holds { .. }, None) => answer.vacuous.is_none_or(|vacuous| vacuous == guard.is_none()),
            (Verdict::Violated(trace), Some(least)) if shortest => trace.length() == *least,
            (Verdict::Violated(trace), Some(least)) => trace.length() >= *least,
            _ => false,
        };
        let query = &self.queries[at].name;
        let said = || said(answer);
        (!agrees).then(|| format!("{query} {}, but the oracle says {least:?}, guard {guard:?}", said()))
    }

    /// What is wrong with assumptions that no run is said to get past.
    fn wrongly_blocked(&self, blocked: &[Blocked], effort: Effort) -> Option<String> {
        if blocked.is_empty() {
            return None;
        }
        let ends = blocked.iter().flat_map(|blocked| {
            let &Edge { from, to, .. } = &self.program.edges()[blocked.edge];
            [[from], [to]]
        });
        let ends: Vec<[LocId; 1]> = ends.collect();
        let locs: Vec<&[LocId]> = ends.iter().map(|loc| &loc[..]).collect();
        let least = oracle(self.program, &locs, effort.facts).ok()?;
        let wrong = |(blocked, ends): (&Blocked, &[Option<Length>])| {
            let agrees =
                ends[1].is_none() && blocked.reached.is_none_or(|reached| reached == ends[0].is_some());
            (!agrees).then(|| format!("{blocked:?}, but the oracle says {ends:?} of both its ends"))
        };
        blocked.iter().zip(least.chunks(2)).find_map(wrong)
    }
}

/// A question whose proofs, if an engine writes some, are checked.
fn proving<'a>(program: &'a Program, queries: &'a [Query]) -> Task<'a> {
    Task { proofs: Proofs::Kept, ..Task::new(program, queries) }
}

/// An engine that writes proofs has one for each property that holds, and it can be checked.
fn unproved(answer: &Answer) -> Option<String> {
    let holds = matches!(answer.verdict, Verdict::Holds { .. });
    let proves =
        PROVERS.contains(&answer.engine) || [REORDERED.name(), COARSE.name()].contains(&answer.engine);
    (holds && proves && !answer.checked).then(|| format!("{} holds without a checked proof", answer.query))
}

/// Engine `summary` on the program as it is, with levels reordered again and again.
static REORDERED: Reordered = Reordered(3);

/// A verdict in short.
fn said(answer: &Answer) -> String {
    match &answer.verdict {
        Verdict::Holds { within, .. } => format!("holds within {within:?}, vacuously {:?}", answer.vacuous),
        Verdict::Violated(trace) => {
            let (steps, switches, rounds) = (trace.length(), trace.switches(), trace.rounds());
            format!("violated in {steps} steps with {switches} switches in {rounds} rounds")
        }
        Verdict::Unknown(why) => format!("unknown ({why})"),
    }
}
