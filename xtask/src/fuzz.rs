//! Room `xtask`: random programs against the judge.
//!
//! # Idea
//!
//! Each random program goes through everything we have: the front end must read it, its graph must be well formed and
//! print back, its canonical form must mean the same, the judge decides it by brute force, a walk with the whole call
//! stack judges the judge, and every engine, asked for any trace and for a shortest one, must agree with the judge; the
//! door replays each trace. Whatever disagrees is shrunk to a small program that disagrees in the same way.
//!
//! Programs with threads have a judge and questions of their own: see [`threads`].

mod score;
mod threads;

pub use score::Score;

use crate::generate::{self, Features};
use crate::shrink::shrink;
use postbop_engine::{Answer, Budget, EngineChoice, Reordered, Silent, Verdict, engines, verify};
use postbop_front::{Options, Severity};
use postbop_ir::oracle::judge;
use postbop_ir::walk::{Walked, walk};
use postbop_ir::{Length, LocId, Prefer, Program, Query, Task, text, validate};
use std::time::{Duration, Instant};

/// The most facts the judge may derive, and configurations the walk may visit.
const JUDGE_LIMIT: usize = 60_000;
const WALK_LIMIT: usize = 1_500;
/// How long an engine may take for one question about a program with threads, unless another time is asked for.
pub const PATIENCE: Duration = Duration::from_millis(40);

/// Which programs to try.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Sequential ones with these features.
    Sequential(Features),
    /// Programs with threads, and how long an engine may take for one question about one.
    Threads(Duration),
}

impl Kind {
    fn program(self, seed: u64) -> String {
        match self {
            Kind::Sequential(features) => generate::program(seed, features),
            Kind::Threads(_) => generate::threads(seed),
        }
    }

    fn examine(self, source: &str) -> Finding {
        match self {
            Kind::Sequential(_) => examine(source),
            Kind::Threads(patience) => threads::examine(source, patience),
        }
    }
}

/// What came of one program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// Nobody contradicts anybody.
    Agreed(Score),
    /// Somebody is wrong. The first word says who, so that a smaller program can be seen to fail in the same way.
    Wrong(String),
}

/// What came of many programs.
#[derive(Default, Debug)]
pub struct Tally {
    /// Programs on which all agreed.
    pub agreed: usize,
    /// Programs the judge found too large.
    pub too_large: usize,
    /// What was said about all of them.
    pub score: Score,
    /// The first disagreement: its seed, what is wrong, and the shrunk program.
    pub wrong: Option<(u64, String, String)>,
}

impl Tally {
    /// What was counted, on one line or more.
    pub fn lines(&self) -> Vec<String> {
        let Tally { agreed, too_large, score, .. } = self;
        let Score { reachable, unreachable, .. } = score;
        let first = format!(
            "{agreed} programs agreed on ({reachable} targets reachable, {unreachable} not), {too_large} too large to judge"
        );
        [first].into_iter().chain(score.lines()).collect()
    }
}

/// Tries programs from `seed` on until `count` are done, the time is up, or one goes wrong.
pub fn fuzz(seed: u64, count: usize, kind: Kind, limit: Option<Duration>) -> Tally {
    let start = Instant::now();
    let mut tally = Tally::default();
    for seed in seed..seed.saturating_add(count as u64) {
        if limit.is_some_and(|limit| start.elapsed() > limit) {
            break;
        }
        let source = kind.program(seed);
        match kind.examine(&source) {
            Finding::Agreed(score) => {
                *(if score.is_judged() { &mut tally.agreed } else { &mut tally.too_large }) += 1;
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

/// A small program that goes wrong as this one does.
fn smallest(kind: Kind, source: &str, what: &str) -> String {
    let who = |what: &str| what.split(':').next().map(str::to_owned);
    let mut fails = |candidate: &str| matches!(kind.examine(candidate), Finding::Wrong(other) if who(&other) == who(what));
    let canonical = postbop_front::format(source.as_bytes(), Options::default());
    let start = match canonical {
        Ok(text) if fails(&text) => text,
        _ => source.to_owned(),
    };
    shrink(&start, &mut fails)
}

/// Puts one program through everything.
pub fn examine(source: &str) -> Finding {
    let program = match read(source) {
        Ok(program) => program,
        Err(what) => return Finding::Wrong(what),
    };
    let queries = queries(&program);
    let targets = queries.iter().map(|query| query.locs());
    let locs: Vec<&[LocId]> = targets.chain(queries.iter().map(|query| &query.guard[..])).collect();
    let Ok(mut least) = judge(&program, &locs, JUDGE_LIMIT) else { return Finding::Agreed(Score::default()) };
    let guards = least.split_off(queries.len());
    if let Some(what) =
        judge_flaw(&program, &queries, &least).or_else(|| engine_flaw(&program, &queries, &least, &guards))
    {
        return Finding::Wrong(what);
    }
    let reachable = least.iter().flatten().count();
    Finding::Agreed(Score { reachable, unreachable: least.len() - reachable, ..Score::default() })
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
    let labels = program.labels.iter().filter(|label| label.name == "ERR");
    let of_label = labels.map(|label| Query::reach("ERR", vec![label.loc]));
    let of_check = program.checks.iter().map(|check| {
        let fails = program.edges.iter().filter(|edge| edge.to == check.loc);
        let guard = fails.map(|edge| edge.from).collect();
        Query { guard, ..Query::reach("check", vec![check.loc]) }
    });
    of_label.chain(of_check).collect()
}

/// The graph is well formed, prints back, and is the graph of the canonical form.
fn graph_flaw(source: &str, program: &Program) -> Option<String> {
    if let Some(flaw) = validate(program).first() {
        return Some(format!("graph: {flaw}"));
    }
    let printed = text::print(program);
    match text::parse(&printed) {
        Err(error) => return Some(format!("text: {error}")),
        Ok(read) if read != *program => return Some("text: reads back as another program".into()),
        Ok(_) => {}
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
        let walked = walk(program, query.locs(), WALK_LIMIT);
        let agrees = match (walked, least) {
            (Walked::Reached(steps), Some(least)) => Length::from(steps) == *least,
            (Walked::NotWithin(steps), Some(least)) => Length::from(steps) < *least,
            (Walked::Never | Walked::NotWithin(_), None) => true,
            (Walked::Never, Some(_)) | (Walked::Reached(_), None) => false,
        };
        if !agrees {
            return Some(format!("judge: {walked:?} by walking, {least:?} by judging {}", query.locs()[0]));
        }
    }
    None
}

fn engine_flaw(
    program: &Program,
    queries: &[Query],
    least: &[Option<Length>],
    guards: &[Option<Length>],
) -> Option<String> {
    let named = engines().iter().map(|&engine| (engine.name(), EngineChoice::Only(engine)));
    let others = [("auto", EngineChoice::Auto), ("reordered", EngineChoice::Only(&REORDERED))];
    for (name, choice) in named.chain(others) {
        for prefer in [Prefer::Any, Prefer::FewestSteps] {
            let task = Task { prefer, ..Task::new(program, queries) };
            let shortest = task.shortest();
            if shortest && name.starts_with("fixpoint") {
                continue;
            }
            let report = verify(&task, choice, &Budget::unlimited(), &mut Silent);
            for ((answer, least), guard) in report.answers.iter().zip(least).zip(guards) {
                let agrees = match (&answer.verdict, least) {
                    (Verdict::Holds { .. }, None) => {
                        answer.vacuous.is_none_or(|vacuous| vacuous == guard.is_none())
                    }
                    (Verdict::Violated(trace), Some(least)) if shortest => trace.length() == *least,
                    (Verdict::Violated(trace), Some(least)) => trace.length() >= *least,
                    _ => false,
                };
                if !agrees {
                    let said = said(answer);
                    return Some(format!(
                        "engine {name}: {said}, shortest {shortest}, but the judge says {least:?}, guard {guard:?}"
                    ));
                }
            }
        }
    }
    None
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
