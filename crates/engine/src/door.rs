//! Room `engine`: the one door.
//!
//! Whatever an engine did, a violation leaves only with a trace that replays on the program as written, and a
//! breakdown leaves as an `unknown` that says so.

use crate::budget::{Budget, Observer};
use crate::explicit::Explicit;
use crate::fixpoint::Fixpoint;
use crate::fixpoint::library::{Algorithm, DEFAULT};
use crate::reduce::{Reduced, reduce};
use crate::summary::Summary;
use crate::verdict::{Outcome, Report, Stopwatch, Verdict, Why};
use postbop_ir::replay::{FrameChanges, complete};
use postbop_ir::{LocId, Target, Task, Trace};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What an engine cannot do, in words a user understands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsupported(pub String);

/// An algorithm that answers tasks.
pub trait Engine {
    /// What users call it.
    fn name(&self) -> &'static str;
    /// Whether it can answer the task at all.
    fn supports(&self, task: &Task) -> Result<(), Unsupported>;
    /// Answers the task: one verdict per target. Returns soon after the budget says so.
    fn check(&self, task: &Task, budget: &Budget, observer: &mut dyn Observer) -> Outcome;
}

/// All engines.
pub fn engines() -> &'static [&'static dyn Engine] {
    &[&Explicit, &Summary, &Fixpoint(DEFAULT)]
}

/// Which engine is to answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Choice<'a> {
    /// Whichever is likely to answer soonest; see [`verify`].
    #[default]
    Auto,
    /// The one of this name.
    Named(&'a str),
    /// `fixpoint`, with this algorithm.
    Algorithm(Algorithm),
}

/// How long an engine that is quick or never done may try first, in its own units: so many, and so many per edge.
const TRIAL: (u64, u64) = (2_000_000, 50);

/// Answers a task.
///
/// `Auto` lets `explicit` try for a moment: it is the fastest where a run can be found or the valuations are few. What
/// it leaves open goes to `summary`, and what that cannot take or hold in memory back to `explicit`.
pub fn verify(task: &Task, choice: Choice, budget: &Budget, observer: &mut dyn Observer) -> Report {
    let targets = places(task);
    let task = &Task { targets: &targets, ..*task };
    let fixpoint;
    let mut turns: Vec<(&dyn Engine, Budget)> = match choice {
        Choice::Algorithm(algorithm) => {
            fixpoint = Fixpoint(algorithm);
            vec![(&fixpoint as &dyn Engine, budget.clone())]
        }
        Choice::Named(name) => engines()
            .iter()
            .filter(|engine| engine.name() == name)
            .map(|&engine| (engine, budget.clone()))
            .collect(),
        Choice::Auto => vec![
            (
                &Explicit as &dyn Engine,
                budget.clone().with_effort(TRIAL.0 + TRIAL.1 * task.program.edges.len() as u64),
            ),
            (&Summary, budget.clone()),
            (&Explicit, budget.clone()),
        ],
    };
    let mut refusals = Vec::new();
    turns.retain(|(engine, _)| match engine.supports(task) {
        Ok(()) => true,
        Err(Unsupported(what)) => {
            refusals.push(what);
            false
        }
    });
    refusals.dedup();
    let mut report = match refusals.is_empty() {
        true => unsupported(task, "there is no such engine".into()),
        false => unsupported(task, refusals.join("; ")),
    };
    if turns.is_empty() {
        return report;
    }
    // Formulas speak of the program as written.
    let as_written = turns.iter().any(|(engine, _)| engine.name() == "fixpoint");
    let reduced = (!as_written).then(|| reduce(task));
    for (engine, budget) in turns {
        if !report.verdicts.iter().any(another_may_know) {
            break;
        }
        report = merge(report, run(engine, task, reduced.as_ref(), &budget, observer));
    }
    report
}

/// The targets without locations at which no run ever is: a return leads straight to where the call goes on, and only from a
/// procedure in which a thread starts to its exit.
pub fn places(task: &Task) -> Vec<Target> {
    let program = task.program;
    let is_place = |loc: &LocId| {
        let proc = program.locs[*loc].proc;
        program.procs[proc].exit != *loc || program.threads.iter().any(|thread| thread.main == proc)
    };
    let target = |target: &Target| Target {
        name: target.name.clone(),
        locs: target.locs.iter().copied().filter(is_place).collect(),
    };
    task.targets.iter().map(target).collect()
}

/// Whether it makes sense to ask another engine.
fn another_may_know(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Unknown(Why::Unsupported(_) | Why::Effort | Why::Memory(_)))
}

/// What is known after another engine had its turn: its answers, and where it has none, the earlier ones.
fn merge(earlier: Report, later: Report) -> Report {
    let mut best = later;
    for (at, verdict) in earlier.verdicts.into_iter().enumerate() {
        if !matches!(verdict, Verdict::Unknown(_)) {
            best.verdicts[at] = verdict;
            best.by[at] = earlier.by[at];
            best.changes[at] = earlier.changes[at].clone();
        }
    }
    best
}

fn unsupported(task: &Task, what: String) -> Report {
    Report::new("none", Outcome::unknown(task.targets.len(), &Why::Unsupported(what)))
}

/// Runs one engine on the reduced program and lets out what stands on the one as written.
fn run(
    engine: &dyn Engine,
    task: &Task,
    reduced: Option<&Reduced>,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Report {
    let asked = reduced.map_or(*task, Reduced::task);
    let answer = catch_unwind(AssertUnwindSafe(|| engine.check(&asked, budget, observer)));
    let mut stopwatch = Stopwatch::start();
    let outcome = answer.unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<&str>().map(|text| text.to_string());
        let message = message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Outcome::unknown(task.targets.len(), &Why::EngineBug(message))
    });
    assert_eq!(outcome.verdicts.len(), task.targets.len(), "an engine answers every target");
    let mut report = Report::new(engine.name(), outcome);
    for (at, target) in task.targets.iter().enumerate() {
        if let Verdict::Violated(trace) = &mut report.verdicts[at] {
            match believe(task, reduced, target, trace) {
                Ok(changes) => report.changes[at] = changes,
                Err(why) => report.verdicts[at] = Verdict::Unknown(why),
            }
        }
    }
    stopwatch.lap("replay_us");
    report.stats.extend(stopwatch.laps());
    report.stats.extend(reduced.iter().flat_map(|reduced| reduced.stats.iter().cloned()));
    report
}

/// Lets a violation through only if its trace, as one of the program as written, replays.
fn believe(
    task: &Task,
    reduced: Option<&Reduced>,
    target: &Target,
    trace: &mut Trace,
) -> Result<FrameChanges, Why> {
    if let Some(reduced) = reduced {
        *trace = reduced.lift(std::mem::take(trace));
    }
    complete(task.program, trace, &target.locs)
        .map_err(|rejected| Why::EngineBug(format!("a trace does not replay: {rejected}")))
}
