//! Room `xtask`: random programs with unbounded integers against the oracle.
//!
//! # Idea
//!
//! The naive oracle enumerates values, so it decides such a program only where integers stay small: the ranged program of [`super::ranged`]. Engines
//! are asked about two programs.
//!
//! * The ranged program with unbounded integers has the same runs as the one that the oracle decides. Answers must agree.
//! * The program itself has these runs and others. A target that the oracle reaches is never said to be unreachable, and neither
//!   is a guard. If an engine finds a violation of which the oracle knows nothing, its trace was replayed.
//!
//! Saturation need not end, so engines are given a time; for the program itself any reason for `unknown` will do but a bug.

use super::ranged::{bits, ranged};
use super::{Decided, Effort, Finding, Score, judge_flaw, proving, said};
use postbop_engine::{Answer, Budget, EngineChoice, Silent, Verdict, Why, engines, verify};
use postbop_ir::oracle::oracle;
use postbop_ir::{LocId, Program, Query, Type};
use std::time::Duration;

/// More bits than these for each integer are too much for the oracle.
const MOST_BITS: u8 = 5;

/// The most facts the oracle may derive.
const FACTS: usize = 100_000;

/// Asks the oracle about the ranged program with bounded integers, and every engine that takes unbounded ones about it and about the program.
pub fn examine(program: &Program, queries: &[Query], patience: Duration, only: Option<&str>) -> Finding {
    let Some(bits) = bits(program, MOST_BITS) else { return Finding::Agreed(Score::default()) };
    let (bounded, unbounded) = (ranged(program, Type::Int(bits)), ranged(program, Type::Integer));
    let targets = queries.iter().map(|query| query.locs());
    let locs: Vec<&[LocId]> = targets.chain(queries.iter().map(|query| &query.guard[..])).collect();
    let Ok(mut least) = oracle(&bounded, &locs, FACTS) else {
        return Finding::Agreed(Score::default());
    };
    let guards = least.split_off(queries.len());
    if let Some(what) = judge_flaw(&bounded, queries, &least) {
        return Finding::Wrong(what);
    }
    let effort = Effort { facts: FACTS, ..Effort::default() };
    let decided = Decided { program: &bounded, queries, least: &least, guards: &guards };
    let mut score = Score { reachable: least.iter().flatten().count(), ..Score::default() };
    score.unreachable = least.len() - score.reachable;
    let named = engines().iter().filter(|engine| engine.wants().integers);
    let named = named.map(|&engine| (engine.name(), EngineChoice::Only(engine)));
    for (name, choice) in named.chain([("auto", EngineChoice::Auto)]) {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        for (program, is_ranged) in [(&unbounded, true), (program, false)] {
            let budget = Budget::unlimited().with_time(patience);
            let report = verify(&proving(program, queries), choice, &budget, &mut Silent);
            let late = |answer: &Answer| matches!(answer.verdict, Verdict::Unknown(Why::Time(_)));
            let count = report.answers.iter().filter(|answer| late(answer)).count();
            let kind = if is_ranged { "ranged" } else { "unconfined" };
            score.note(&format!("{name}, {kind}"), report.answers.len() - count, count);
            let holds = report.answers.iter().filter(|one| matches!(one.verdict, Verdict::Holds { .. }));
            let checked = holds.clone().filter(|answer| answer.checked).count();
            score.note(&format!("{name}, {kind}, proofs"), checked, holds.count() - checked);
            score.proofs += checked;
            let flaw = |(at, answer): (usize, &Answer)| match is_ranged {
                _ if late(answer) => None,
                true => decided.flaw(at, answer, false),
                false => decided.contradiction(at, answer),
            };
            let blocked = if is_ranged { &report.blocked[..] } else { &[] };
            let wrong = report.answers.iter().enumerate().find_map(flaw);
            let wrong = wrong.or_else(|| decided.wrongly_blocked(blocked, effort));
            if let Some(what) = wrong {
                return Finding::Wrong(format!("engine {name}: {what}, {kind}"));
            }
        }
    }
    Finding::Agreed(score)
}

impl Decided<'_> {
    /// What is wrong with the answer to a query about a program of which only some runs were looked at.
    fn contradiction(&self, at: usize, answer: &Answer) -> Option<String> {
        let (least, guard) = (&self.least[at], &self.guards[at]);
        let agrees = match &answer.verdict {
            Verdict::Holds { .. } => least.is_none() && !(answer.vacuous == Some(true) && guard.is_some()),
            Verdict::Violated(_) => true,
            Verdict::Unknown(why) => !matches!(why, Why::EngineBug(_)),
        };
        let (query, said) = (&self.queries[at].name, said(answer));
        (!agrees).then(|| format!("{query} {said}, but the oracle says {least:?}, guard {guard:?}"))
    }
}
