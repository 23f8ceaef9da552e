//! Room `xtask`: random systems of Horn clauses, against a naive evaluation of the system itself.
//!
//! # Idea
//! The oracles of `ir` decide the program graph, so they cannot tell whether it is the graph of the system. Here a second reader decides the system by trying all values (`decide`),
//! and every engine must agree with it on the program. The program is written as clauses and read back, and must still have the same verdict. If it has few
//! variables, the oracle is asked too, as for other programs: it tries all values that locals can begin with.

mod decide;

use super::{Effort, Finding, Score, examine_program, printed_flaw, proving};
use crate::peers::clauses;
use postbop_engine::{Budget, EngineChoice, Silent, Verdict, Why, engines, verify};
use postbop_front::{Severity, property};
use postbop_ir::{Proc, Program, Query};
use std::time::Duration;

/// The most bits that the variables of a procedure may have for the oracle.
const FEW: u32 = 8;

/// Puts one system through everything. An engine may take so long for each question.
pub fn examine(source: &str, patience: Duration, only: Option<&str>) -> Finding {
    let (program, query, score) = match agrees(source, patience, only) {
        Err(what) => return Finding::Wrong(what),
        Ok(agreed) => agreed,
    };
    let bits = |proc: &Proc| -> u32 {
        proc.locals.iter().map(|&var| u32::from(program.vars()[var].ty.bits().unwrap_or(0))).sum()
    };
    if program.procs().iter().any(|proc| bits(proc) > FEW) {
        return Finding::Agreed(score);
    }
    match examine_program(&program, &[query], Effort { patience: Some(patience), only, ..Effort::default() })
    {
        Finding::Agreed(judged) if judged.is_judged() => Finding::Agreed(judged),
        Finding::Agreed(_) => Finding::Agreed(score),
        wrong => wrong,
    }
}

/// The program of a system, if all engines agree that it, and the clauses of it, are violated exactly if false can be derived.
fn agrees(source: &str, patience: Duration, only: Option<&str>) -> Result<(Program, Query, Score), String> {
    let (program, query) = read(source)?;
    let Some(unsat) = decide::unsat(source) else { return Err("second reader: cannot read it".into()) };
    let mut score = Score { reachable: unsat.into(), unreachable: (!unsat).into(), ..Score::default() };
    let named = engines().iter().map(|&engine| (engine.name(), EngineChoice::Only(engine)));
    for (name, choice) in named.chain([("auto", EngineChoice::Auto)]) {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        if let Some(given) = said(&format!("engine {name}"), &program, &query, choice, unsat, patience)? {
            score.note(name, given.into(), (!given).into());
        }
    }
    let (back, asked) = read(&clauses(&program, query.locs()))?;
    said("round trip", &back, &asked, EngineChoice::Auto, unsat, patience)?;
    Ok((program, query, score))
}

fn read(source: &str) -> Result<(Program, Query), String> {
    let reading = postbop_front::read(source.as_bytes(), Default::default());
    if let Some(error) = reading.diagnostics.iter().find(|found| found.severity == Severity::Error) {
        return Err(format!("front end {}: {}", error.code, error.message));
    }
    let program = reading.program.ok_or("front end: no program")?;
    if let Some(what) = printed_flaw(&program) {
        return Err(what);
    }
    let query = property(&program, "", "ERROR").map_err(|what| format!("front end: {what}"))?;
    Ok((program, query))
}

/// Whether an answer was given in time, if it is the right one; nothing, if the engine does not take such a program.
fn said(
    what: &str,
    program: &Program,
    query: &Query,
    choice: EngineChoice,
    unsat: bool,
    patience: Duration,
) -> Result<Option<bool>, String> {
    let queries = [query.clone()];
    let budget = Budget::unlimited().with_time(patience);
    let report = verify(&proving(program, &queries), choice, &budget, &mut Silent);
    match &report.answers[0].verdict {
        Verdict::Violated(_) if unsat => Ok(Some(true)),
        Verdict::Holds { .. } if !unsat => Ok(Some(true)),
        Verdict::Unknown(Why::Time(_)) => Ok(Some(false)),
        Verdict::Unknown(Why::Unsupported(_)) => Ok(None),
        Verdict::Violated(_) => Err(format!("{what}: violated, but false cannot be derived")),
        other => Err(format!("{what}: {other:?}, and false can be derived: {unsat}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_agreed_on() {
        let source = "(set-logic HORN)(declare-fun P (Bool Bool) Bool)(assert (P true false))\
                      (assert (forall ((x Bool) (y Bool) (z Bool)) (=> (and (P x y) (P z y)) (P y x))))\
                      (assert (forall ((x Bool)) (=> (P false x) false)))";
        let Finding::Agreed(score) = examine(source, Duration::from_secs(2), None) else {
            panic!("they disagree")
        };
        assert_eq!((score.reachable, score.unreachable), (1, 0));
    }

    #[test]
    fn mistakes_of_the_front_end_are_findings() {
        let what = examine("(set-logic HORN)(assert (P 1))", Duration::from_secs(1), None);
        assert!(matches!(what, Finding::Wrong(what) if what.starts_with("front end")));
    }
}
