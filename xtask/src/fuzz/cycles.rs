//! Room `xtask`: random programs and runs that go on for ever.
//!
//! The oracle says of some sets of locations whether a run visits them again and again, and every engine that answers such
//! questions must agree; the way to an answer replays each lasso.

use super::{Finding, Score};
use postbop_engine::{Budget, EngineChoice, Silent, Verdict, Why, engines, verify};
use postbop_ir::oracle::recur;
use postbop_ir::{LocId, Program, Query, Task};
use std::time::Duration;

/// The most facts that the oracle may derive.
const FACTS: usize = 8_000;
/// How long an engine may take for all questions about one program.
const PATIENCE: Duration = Duration::from_millis(1_000);
/// How many single locations are asked about.
const PLACES: usize = 6;

/// Asks the oracle and the engines.
pub fn examine(program: &Program, only: Option<&str>) -> Finding {
    let queries = queries(program);
    let locs: Vec<&[LocId]> = queries.iter().map(|query| query.locs()).collect();
    let Ok(recurs) = recur(program, &locs, FACTS) else {
        return Finding::Agreed(Score::default());
    };
    let mut score = Score { reachable: recurs.iter().filter(|recurs| **recurs).count(), ..Score::default() };
    score.unreachable = recurs.len() - score.reachable;
    let named = engines().iter().map(|&engine| (engine.name(), EngineChoice::Only(engine)));
    for (name, choice) in named.chain([("auto", EngineChoice::Auto)]) {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let budget = Budget::unlimited().with_time(PATIENCE);
        let report = verify(&Task::new(program, &queries), choice, &budget, &mut Silent);
        let mut late = 0;
        for ((answer, recurs), query) in report.answers.iter().zip(&recurs).zip(&queries) {
            let agrees = match answer.verdict {
                Verdict::Holds { .. } => !recurs,
                Verdict::Violated(_) => *recurs,
                Verdict::Unknown(Why::Time(_)) => {
                    late += 1;
                    true
                }
                Verdict::Unknown(_) => false,
            };
            if !agrees {
                let said = match &answer.verdict {
                    Verdict::Violated(_) => "violated".to_owned(),
                    other => format!("{other:?}"),
                };
                let oracle = if *recurs { "again and again" } else { "not again and again" };
                return Finding::Wrong(format!(
                    "engine {name}: {said}, the oracle says {oracle}, of {}",
                    query.name
                ));
            }
        }
        score.note(name, queries.len() - late, late);
    }
    Finding::Agreed(score)
}

/// Every label, some locations by themselves, and all locations.
fn queries(program: &Program) -> Vec<Query> {
    let labels = program.labels().iter().map(|label| Query::recur(&label.name, vec![label.loc]));
    let every = (program.locs().len() / PLACES).max(1);
    let places = program.locs().ids().step_by(every).map(|loc| Query::recur(loc.to_string(), vec![loc]));
    let all = Query::recur("terminates", program.locs().ids().collect());
    labels.chain(places).chain([all]).collect()
}
