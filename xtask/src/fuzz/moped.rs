//! Room `xtask`: random pushdown systems with variables, against a naive evaluation of the system itself.
//!
//! # Idea
//! The oracles of `ir` decide the program graph, so they cannot tell whether it is the graph of the system. Here a second reader (`read`)
//! and a naive decision on the system (`decide`) say which names and heads are reached, and what runs that go on for ever do; the
//! program must agree. Every engine is asked too, and compared with the oracle as for other programs.
//!
//! The automata of configurations that are printed are compared with runs of the naive system (`stacks`).
//!
//! A temporal formula about the n-th position of a run shows whether configurations and positions are the same.

mod decide;
mod read;
mod stacks;

use super::{Effort, Finding, Score, examine_program, printed_flaw, proving};
use decide::Plain;
use postbop_engine::{Accepts, Budget, EngineChoice, Silent, Verdict, Why, product, verify};
use postbop_front::temporal::ltl;
use postbop_front::{File, Options, Severity, property};
use postbop_ir::{Program, Query};
use std::time::Duration;

/// How long is waited for the answer about a formula.
const FORMULA: Duration = Duration::from_millis(300);

/// Puts one system through everything. An engine may take so long for each question.
pub fn examine(source: &str, patience: Duration, only: Option<&str>) -> Finding {
    let file = File { name: "system.pds", bytes: source.as_bytes() };
    let reading = postbop_front::read([file], Options::default());
    if let Some(error) = reading.diagnostics.iter().find(|found| found.severity == Severity::Error) {
        return Finding::Wrong(format!("front end {}: {}", error.code, error.message));
    }
    let Some(program) = reading.program else { return Finding::Wrong("front end: no program".into()) };
    if let Some(what) = printed_flaw(&program) {
        return Finding::Wrong(what);
    }
    let Some(system) = read::read(source) else {
        return Finding::Wrong("second reader: cannot read it".into());
    };
    let plain = Plain::of(&system);
    let stacks = match stacks::examine(source, &system, &plain, patience) {
        Ok(score) => score,
        Err(what) => return Finding::Wrong(what),
    };
    match agrees(&program, &plain).and_then(|()| temporal(&program, &plain)) {
        Err(what) => Finding::Wrong(what),
        Ok(mut score) => {
            score.add(stacks);
            let effort = Effort { patience: Some(patience), only, ..Effort::default() };
            let queries: Vec<Query> =
                plain.all_names().iter().filter_map(|name| query(&program, name).ok()).collect();
            match examine_program(&program, &queries, effort) {
                Finding::Agreed(mut all) => {
                    all.add(score);
                    Finding::Agreed(all)
                }
                wrong => wrong,
            }
        }
    }
}

fn query(program: &Program, name: &str) -> Result<Query, String> {
    property(program, "", name).map_err(|what| format!("front end: {what}"))
}

/// Asks whether names and heads are reached.
fn agrees(program: &Program, plain: &Plain) -> Result<(), String> {
    let reached = plain.reached();
    let (names, states) = (plain.all_names(), plain.states());
    let heads = states.iter().flat_map(|state| names.iter().map(move |symbol| format!("{state}:{symbol}")));
    for name in names.iter().cloned().chain(heads) {
        let query = query(program, &name)?;
        let wanted = reached.iter().any(|head| match name.split_once(':') {
            Some((state, symbol)) => plain.is_called(head, state) && plain.is_called(head, symbol),
            None => plain.is_called(head, &name),
        });
        let report =
            verify(&proving(program, &[query]), EngineChoice::Auto, &Budget::unlimited(), &mut Silent);
        said(&name, &report.answers[0].verdict, wanted)?;
    }
    Ok(())
}

/// Whether a verdict is the right one; whether there is one.
fn said(what: &str, verdict: &Verdict, violated: bool) -> Result<bool, String> {
    let wanted = if violated { "violated" } else { "holds" };
    match verdict {
        Verdict::Violated(_) if violated => Ok(true),
        Verdict::Holds { .. } if !violated => Ok(true),
        Verdict::Unknown(Why::Time(_)) => Ok(false),
        Verdict::Violated(_) => Err(format!("system: {what} is violated, and should be {wanted}")),
        other => Err(format!("system: {what} is {other:?}, and should be {wanted}")),
    }
}

/// Asks about runs that go on for ever.
fn temporal(program: &Program, plain: &Plain) -> Result<Score, String> {
    let mut score = Score::default();
    for name in plain.all_names() {
        let mut formulas = vec![(format!("G F at {name}"), plain.leaves_for_good(&name))];
        for steps in 0..4 {
            let formula = format!("{} ! at {name}", "X ".repeat(steps));
            formulas.push((formula, plain.at_step(steps, &name)));
        }
        for (formula, violated) in formulas {
            let (read, diagnostics) = ltl(&formula, program);
            let Some(read) = read else { return Err(format!("formula: {formula}: {diagnostics:?}")) };
            let Ok(automaton) = read.violations(&mut |_| true) else { continue };
            let unlimited = Budget::unlimited();
            let product = product(program, &automaton, &read.atoms, Accepts::Always, &formula, &unlimited);
            let product = product.map_err(|why| format!("formula: {formula}: {why}"))?;
            let queries = [product.query.clone()];
            let task = proving(&product.program, &queries);
            let report =
                verify(&task, EngineChoice::Auto, &Budget::unlimited().with_time(FORMULA), &mut Silent);
            let given = said(&formula, &report.answers[0].verdict, violated)?;
            score.note("formulas", usize::from(given), usize::from(!given));
            if let Verdict::Violated(trace) = &report.answers[0].verdict {
                product.back(trace).map_err(|why| format!("formula: {formula}: {why}"))?;
            }
        }
    }
    Ok(score)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_agreed_on() {
        let source = "global int x(2);\nlocal (a) bool u;\n(q (x = 0) <a>)\nq <a> --> q <b a> (x' = x+1 & u'' == u)\n\
                      q <b> --> q <> (x' = x)\nq <a> --> q <c> (x = M & u')\n";
        let source = format!("define M 3\n{}", source.replace(" & u')", " & u)"));
        let Finding::Agreed(score) = examine(&source, Duration::from_secs(2), None) else {
            panic!("they disagree")
        };
        assert!(score.reachable >= 3, "{score:?}");
    }

    #[test]
    fn mistakes_of_the_front_end_are_findings() {
        let what = examine("(q <a>)\nq <a> --> q <b> (x)\n", Duration::from_secs(1), None);
        assert!(matches!(what, Finding::Wrong(what) if what.starts_with("front end")));
    }
}
