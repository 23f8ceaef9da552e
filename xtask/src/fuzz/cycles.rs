//! Room `xtask`: random programs and runs that go on for ever.
//!
//! The oracle says of some sets of locations whether a run visits them again and again, and of each procedure whether a run goes on
//! for ever within an activation of it. Every engine that answers such
//! questions must agree; the way to an answer replays each lasso.

use super::{Finding, Score, proving};
use postbop_engine::{Budget, EngineChoice, Silent, Verdict, Why, deadlock, engines, verify, within};
use postbop_ir::oracle::{endless, recur, stuck};
use postbop_ir::{LocId, ProcId, Program, Query, Task, Trace};
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
    let procs: Vec<[ProcId; 1]> = program.procs().ids().map(|proc| [proc]).collect();
    let sets: Vec<&[ProcId]> = procs.iter().map(|proc| &proc[..]).collect();
    let (Ok(recurs), Ok(endless)) = (recur(program, &locs, FACTS), endless(program, &sets, FACTS)) else {
        return Finding::Agreed(Score::default());
    };
    let mut score = Score::default();
    let all = recurs.iter().chain(&endless);
    score.reachable = all.clone().filter(|violated| **violated).count();
    score.unreachable = all.count() - score.reachable;
    let named = engines().iter().map(|&engine| (engine.name(), EngineChoice::Only(engine)));
    for (name, choice) in named.chain([("auto", EngineChoice::Auto)]) {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let found =
            compare(&Task::new(program, &queries), &recurs, choice, &mut |_| Ok(())).and_then(|late| {
                let of_procs = procs.iter().zip(&endless).map(|(proc, &endless)| {
                    let wrapped =
                        within(program, proc, &format!("terminates:{}", program.procs()[proc[0]].name));
                    let queries = [wrapped.query.clone()];
                    let task = proving(&wrapped.program, &queries);
                    compare(&task, &[endless], choice, &mut |trace| match wrapped.back(trace) {
                        Ok(_) => Ok(()),
                        Err(why) => Err(why.to_string()),
                    })
                });
                of_procs.sum::<Result<usize, String>>().map(|more| late + more)
            });
        match found {
            Ok(late) => score.note(name, recurs.len() + endless.len() - late, late),
            Err(what) => return Finding::Wrong(format!("engine {name}: {what}")),
        }
    }
    Finding::Agreed(score)
}

/// Asks the oracle and the engines whether a run of a sequential program gets stuck.
pub fn examine_stuck(program: &Program, only: Option<&str>) -> Finding {
    let (Ok(stuck), Ok(wrapped)) = (stuck(program, FACTS), deadlock(program)) else {
        return Finding::Agreed(Score::default());
    };
    let mut score = Score { reachable: usize::from(stuck), ..Score::default() };
    score.unreachable = 1 - score.reachable;
    let named = engines().iter().map(|&engine| (engine.name(), EngineChoice::Only(engine)));
    for (name, choice) in named.chain([("auto", EngineChoice::Auto)]) {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let queries = [wrapped.query.clone()];
        let found = compare(&proving(&wrapped.program, &queries), &[stuck], choice, &mut |trace| {
            wrapped.back(trace).map(|_| ()).map_err(|why| why.to_string())
        });
        match found {
            Ok(late) => score.note(name, 1 - late, late),
            Err(what) => return Finding::Wrong(format!("engine {name}: {what}")),
        }
    }
    Finding::Agreed(score)
}

/// Compares the answers to a task with whether each property is violated, and looks at the traces. Returns how many answers would
/// have taken too long, or what is wrong.
pub fn compare(
    task: &Task,
    violated: &[bool],
    choice: EngineChoice,
    look: &mut dyn FnMut(&Trace) -> Result<(), String>,
) -> Result<usize, String> {
    let budget = Budget::unlimited().with_time(PATIENCE);
    let report = verify(task, choice, &budget, &mut Silent);
    let mut late = 0;
    for ((answer, violated), query) in report.answers.iter().zip(violated).zip(task.queries) {
        let agrees = match &answer.verdict {
            Verdict::Holds { .. } => !violated,
            Verdict::Violated(trace) => {
                look(trace).map_err(|why| format!("{why}, of {}", query.name))?;
                *violated
            }
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
            let oracle = if *violated { "violated" } else { "not violated" };
            return Err(format!("{said}, the oracle says {oracle}, of {}", query.name));
        }
    }
    Ok(late)
}

/// Every label, some locations by themselves, and all locations.
fn queries(program: &Program) -> Vec<Query> {
    let labels = program.labels().iter().map(|label| Query::recur(&label.name, vec![label.loc]));
    let every = (program.locs().len() / PLACES).max(1);
    let places = program.locs().ids().step_by(every).map(|loc| Query::recur(loc.to_string(), vec![loc]));
    let all = Query::recur("terminates", program.locs().ids().collect());
    labels.chain(places).chain([all]).collect()
}
