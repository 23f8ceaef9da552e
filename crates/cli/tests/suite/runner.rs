//! One question put to the oracle and to every engine, for any trace and for a shortest one.

use crate::question::{Expectation, queries};
use postbop_engine::{Budget, Engine, EngineChoice, Silent, Verdict, Why, engines, verify};
use postbop_ir::oracle::{oracle, recur};
use postbop_ir::{Length, LocId, Prefer, Program, Query, Task, VarId, replay};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long an engine may take for one question. All take much less; this is for a hang to become a failure.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How many facts the oracle may derive.
const ORACLE_LIMIT: usize = 200_000;

/// The most bits that the locals of a procedure may have: the oracle tries all values with which they can begin.
const LOCAL_BITS: u32 = 12;

fn has_few_locals(program: &Program) -> bool {
    let bits = |var: &VarId| u32::from(program.vars()[*var].ty.bits().unwrap_or(0));
    program.procs().iter().all(|proc| proc.locals.iter().map(bits).sum::<u32>() <= LOCAL_BITS)
}

/// What was counted.
#[derive(Default)]
pub struct Tally {
    /// Questions asked.
    pub questions: usize,
    /// Questions the oracle answered; the others were too large for it.
    pub decided: usize,
    /// Answers of engines that were as expected.
    pub answers: usize,
    /// Traces replayed.
    pub traces: usize,
    /// Refusals, by engine and reason. They are no answers.
    pub refused: BTreeMap<(&'static str, String), usize>,
    /// What went wrong.
    pub failures: Vec<String>,
}

impl Tally {
    /// The line that says what was done.
    pub fn line(&self, part: &str) -> String {
        let refused: usize = self.refused.values().sum();
        let mut line = format!(
            "{part}: {} questions, {} decided, {} answers of {} engines as expected, {} traces replayed, \
             {refused} refused, {} failures",
            self.questions,
            self.decided,
            self.answers,
            engines().len(),
            self.traces,
            self.failures.len()
        );
        for ((engine, why), count) in &self.refused {
            line.push_str(&format!("\n{part}: {engine} refused {count} questions: {why}"));
        }
        line
    }

    /// Counts a question; what it asks, or a failure if it asks nothing.
    pub fn queries(&mut self, place: &str, program: &Program, expected: &Expectation) -> Option<Vec<Query>> {
        self.questions += 1;
        let queries = queries(program, expected.label.as_deref());
        queries.map_err(|problem| self.failures.push(format!("{place}: {problem}"))).ok()
    }

    /// Puts a question to everybody. `place` is where it comes from, for failures.
    pub fn ask(&mut self, place: &str, program: &Program, expected: &Expectation) {
        match (expected.bound, program.is_sequential()) {
            (Some(bound), false) => return self.ask_within(place, program, expected, bound),
            (None, true) => {}
            (None, false) if !expected.violated => return self.ask_without_bound(place, program, expected),
            _ => {
                return self
                    .failures
                    .push(format!("{place}: programs with threads, and no others, have bounds"));
            }
        }
        let asked = expected.label.as_deref().unwrap_or("(default)");
        let place = format!("{place}: {asked}");
        let Some(queries) = self.queries(&place, program, expected) else { return };
        if Task::new(program, &queries).recurs() {
            return self.ask_for_ever(&place, program, &queries, expected);
        }
        let all: Vec<LocId> = queries.iter().flat_map(|query| query.locs().to_vec()).collect();
        let asked = || oracle(program, &[&all], ORACLE_LIMIT).ok().map(|mut least| least.remove(0));
        let decided = if has_few_locals(program) { asked() } else { None };
        let steps = expected.steps.map(Length::from);
        if let Some(least) = &decided {
            self.decided += 1;
            let agrees = least.is_some() == expected.violated && (steps.is_none() || steps == *least);
            if !agrees {
                self.failures.push(format!("{place}: the oracle says {least:?}, expected {expected:?}"));
            }
        }
        let least = steps.or(decided.flatten());
        for &engine in engines() {
            for prefer in [Prefer::Any, Prefer::FewestSteps] {
                let task = Task { prefer, ..Task::new(program, &queries) };
                if let Err(problem) = self.answer(&task, engine, expected, least.as_ref()) {
                    self.failures.push(format!("{place}: {} ({prefer:?}): {problem}", engine.name()));
                }
            }
        }
    }

    /// Puts a question about runs that go on for ever to everybody.
    fn ask_for_ever(&mut self, place: &str, program: &Program, queries: &[Query], expected: &Expectation) {
        let locs: Vec<&[LocId]> = queries.iter().map(|query| query.locs()).collect();
        if let Ok(recurs) = recur(program, &locs, ORACLE_LIMIT) {
            self.decided += 1;
            if recurs.contains(&true) != expected.violated {
                self.failures.push(format!("{place}: the oracle says {recurs:?}, expected {expected:?}"));
            }
        }
        for &engine in engines() {
            if let Err(problem) = self.answer(&Task::new(program, queries), engine, expected, None) {
                self.failures.push(format!("{place}: {}: {problem}", engine.name()));
            }
        }
    }

    /// Asks one engine, and looks at what it says.
    fn answer(
        &mut self,
        task: &Task,
        engine: &'static dyn Engine,
        expected: &Expectation,
        least: Option<&Length>,
    ) -> Result<(), String> {
        let report =
            verify(task, EngineChoice::Only(engine), &Budget::unlimited().with_time(PATIENCE), &mut Silent);
        let mut lengths = Vec::new();
        for (query, verdict) in task.queries.iter().zip(report.verdicts()) {
            match verdict {
                Verdict::Holds { .. } => {}
                Verdict::Violated(trace) => {
                    replay(task.program, trace, &query.ask).map_err(|rejected| rejected.to_string())?;
                    self.traces += 1;
                    lengths.push(trace.length());
                }
                Verdict::Unknown(Why::Unsupported(why)) => {
                    *self.refused.entry((engine.name(), why.clone())).or_default() += 1;
                    return Ok(());
                }
                Verdict::Unknown(why) => return Err(format!("unknown ({why})")),
            }
        }
        let found = lengths.iter().min();
        match (found, expected.violated, least) {
            (None, false, _) | (Some(_), true, None) => {}
            (Some(found), true, Some(least)) if found == least => {}
            (Some(found), true, Some(least)) if !task.shortest() && found > least => {}
            _ => return Err(format!("a trace of {found:?} steps, least {least:?}, expected {expected:?}")),
        }
        self.answers += 1;
        Ok(())
    }
}

/// A question about one location with one name, as used where files name their property in a table.
pub fn about(label: Option<&str>, violated: bool) -> Expectation {
    Expectation { label: label.map(str::to_owned), violated, steps: None, bound: None }
}

/// The targets of a program that can be reached, each with a trace: whatever engine answers first.
pub fn violations(program: &Program, queries: &[Query]) -> Vec<(Query, postbop_ir::Trace)> {
    let task = Task { prefer: Prefer::FewestSteps, ..Task::new(program, queries) };
    let report = verify(&task, EngineChoice::Auto, &Budget::unlimited().with_time(PATIENCE), &mut Silent);
    let pairs = queries.iter().zip(report.answers);
    pairs
        .filter_map(|(query, answer)| match answer.verdict {
            Verdict::Violated(trace) => Some((query.clone(), trace)),
            _ => None,
        })
        .collect()
}
