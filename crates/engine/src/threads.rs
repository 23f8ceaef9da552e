//! Room `engine`: programs with threads.
//!
//! # Idea
//!
//! What threads can do together is decided within a *schedule*, a bound on context switches or on rounds. There are three
//! ways, and each judges the others:
//!
//! * by a formula ([`crate::fixpoint::switches`]), which takes recursion and keeps to what is reached;
//! * as a sequential program that guesses what threads do to each other ([`crate::reduce::sequential`]), which any engine
//!   takes;
//! * as one procedure, for threads without recursion ([`crate::reduce::product`]), with or without a bound.
//!
//! Where no bound is given, threads without recursion are decided once and for all by the last, if time permits; and
//! threads with recursion, if it is enough to look at the tops of their stacks. Otherwise the number of switches grows from
//! 0 until the time is up, so the first run that is found has the fewest. A verdict `holds` says so much: within the bound
//! of the report. It has no bound only where all runs were looked at.

use crate::budget::{Budget, Observer};
use crate::door::{Choice, Unsupported, places, verify};
use crate::encode::bounded;
use crate::fixpoint::representable;
use crate::fixpoint::switches::{self, Scripted};
use crate::reduce::interleaved::interleaving;
use crate::reduce::product::{Stacks, product};
use crate::reduce::sequential::{Script, Sequential, sequentialise};
use crate::verdict::{Outcome, Report, Verdict, Why};
use postbop_ir::interleave::Schedule;
use postbop_ir::replay::complete_interleaving;
use postbop_ir::{Interleaving, Target, Task};
use std::time::Duration;

/// How long the number of switches may grow where nobody set a limit.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much work `explicit` may put into all runs of threads without recursion before the formula gets its turn.
const TRIAL: u64 = 3_000_000;

/// How deep the stacks of threads that call themselves are told, one after the other.
const DEPTHS: [usize; 2] = [1, 2];

/// Answers a task about a program with threads, within a schedule or within ever more switches. With `shortest`, each
/// trace has the fewest switches, or rounds, that there are.
pub fn verify_threads(
    task: &Task,
    schedule: Option<Schedule>,
    choice: Choice,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Report {
    let targets = places(task);
    let task = &Task { targets: &targets, ..*task };
    // A formula with few copies of the shared variables is so much faster than one with many that it pays to begin small.
    let grow = task.shortest || by_itself(choice);
    match schedule {
        Some(schedule) if !grow => within(task, schedule, choice, budget, observer),
        Some(Schedule::Switches(most)) => {
            growing(task, (0..=most).map(Schedule::Switches), choice, budget, observer)
        }
        Some(Schedule::Rounds(most)) => {
            growing(task, (1..=most).map(Schedule::Rounds), choice, budget, observer)
        }
        None => {
            let budget = budget.clone().or_time(PATIENCE);
            if choice == Choice::Auto
                && let Some(report) = without_bound(task, &budget, observer)
            {
                return report;
            }
            growing(task, (0..).map(Schedule::Switches), choice, &budget, observer)
        }
    }
}

/// Answers once and for all, if the threads do not call themselves, or can be shown to be harmless whatever is below the
/// top of their stacks.
fn without_bound(task: &Task, budget: &Budget, observer: &mut dyn Observer) -> Option<Report> {
    if let Ok(product) = product(task, None, Stacks::Exact) {
        let report = ask(task, &product, false, Choice::Auto, &budget.share(2), observer);
        return Some(report).filter(|report| is_answered(report) || is_broken(report));
    }
    // This shows soon that all is well, or not at all.
    let budget = budget.share(10);
    for depth in DEPTHS {
        let Ok(loose) = product(task, None, Stacks::Upto(depth)) else { break };
        let asked = Task { program: &loose.program, targets: &loose.targets, shortest: false };
        let report = verify(&asked, Choice::Auto, &budget.share(2), observer);
        if report.verdicts.iter().all(|verdict| *verdict == Verdict::Holds) || is_broken(&report) {
            return Some(report);
        }
    }
    None
}

/// Whether threads are left to the formula.
fn by_itself(choice: Choice) -> bool {
    matches!(choice, Choice::Auto | Choice::Named("fixpoint"))
}

/// Answers within one schedule after the other, until all is answered or the budget is used up.
fn growing(
    task: &Task,
    schedules: impl Iterator<Item = Schedule>,
    choice: Choice,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Report {
    let mut known: Option<Report> = None;
    for schedule in schedules {
        let open: Vec<usize> = match &known {
            None => (0..task.targets.len()).collect(),
            Some(report) => {
                let holds = |at: &usize| report.verdicts[*at] == Verdict::Holds;
                (0..task.targets.len()).filter(holds).collect()
            }
        };
        if open.is_empty() && known.is_some() {
            break;
        }
        let targets: Vec<Target> = open.iter().map(|&at| task.targets[at].clone()).collect();
        let next = Task { targets: &targets, ..*task };
        let report = within(&next, schedule, choice, budget, observer);
        match &mut known {
            None => known = Some(report),
            Some(known) => {
                // Out of time: what held within the last bound stands.
                if report.verdicts.iter().any(is_out_of_means) {
                    break;
                }
                for ((at, verdict), by) in open.into_iter().zip(report.verdicts).zip(report.by) {
                    (known.verdicts[at], known.by[at]) = (verdict, by);
                }
                (known.bound, known.engine, known.stats) = (report.bound, report.engine, report.stats);
            }
        }
        let settled = |verdict: &Verdict| !matches!(verdict, Verdict::Holds);
        if known.as_ref().is_some_and(|report| report.verdicts.iter().all(settled)) {
            break;
        }
    }
    known.expect("there is a first schedule")
}

fn is_out_of_means(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Unknown(Why::Time(_) | Why::Memory(_) | Why::Cancelled))
}

/// Answers within a schedule.
fn within(
    task: &Task,
    schedule: Schedule,
    choice: Choice,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Report {
    let bound = Some(schedule);
    if choice == Choice::Auto
        && let Ok(product) = product(task, bound, Stacks::Exact)
    {
        let trial = budget.clone().with_effort(TRIAL);
        let report = ask(task, &product, false, Choice::Named("explicit"), &trial, observer);
        if is_answered(&report) {
            return Report { bound, ..report };
        }
    }
    let report = match by_itself(choice) {
        true => by_formula(task, schedule, budget, observer),
        false => by_sequence(task, schedule, None, choice, budget, observer),
    };
    Report { bound, ..report }
}

fn is_answered(report: &Report) -> bool {
    !report.verdicts.iter().any(|verdict| matches!(verdict, Verdict::Unknown(_)))
}

/// Whether a mistake of ours came to light, which must not be passed over.
fn is_broken(report: &Report) -> bool {
    report.verdicts.iter().any(|verdict| matches!(verdict, Verdict::Unknown(Why::EngineBug(_))))
}

/// As a sequential program.
fn by_sequence(
    task: &Task,
    schedule: Schedule,
    script: Option<&Script>,
    choice: Choice,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Report {
    let sequential = sequentialise(task, schedule, script);
    let rounds = matches!(schedule, Schedule::Rounds(_));
    ask(task, &sequential, rounds, choice, budget, observer)
}

/// Asks an engine about a sequential program that stands for one with threads.
fn ask(
    task: &Task,
    sequential: &Sequential,
    rounds: bool,
    choice: Choice,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Report {
    let asked = Task { program: &sequential.program, targets: &sequential.targets, shortest: false };
    let mut report = verify(&asked, choice, budget, observer);
    for (verdict, target) in report.verdicts.iter_mut().zip(task.targets) {
        if let Verdict::Violated(trace) = verdict {
            let run = interleaving(task.program, sequential, rounds, trace);
            *verdict = run.map_or_else(Verdict::Unknown, |run| believe(task, target, run));
        }
    }
    report
}

/// Lets a violation through only if its interleaving replays.
fn believe(task: &Task, target: &Target, mut run: Interleaving) -> Verdict {
    match complete_interleaving(task.program, &mut run, &target.locs) {
        Ok(()) => Verdict::Interleaved(run),
        Err(rejected) => {
            Verdict::Unknown(Why::EngineBug(format!("an interleaving does not replay: {rejected}")))
        }
    }
}

/// By a formula, which tells the script of a run; the run itself is found as that of a sequential program.
fn by_formula(task: &Task, schedule: Schedule, budget: &Budget, observer: &mut dyn Observer) -> Report {
    if let Err(Unsupported(what)) = bounded(task).and_then(|()| representable(task.program)) {
        return Report::new("none", Outcome::unknown(task.targets.len(), &Why::Unsupported(what)));
    }
    let (answers, stats) = switches::check(task, schedule, budget);
    let mut verdict = |(answer, target): (Result<Scripted, Why>, &Target)| match answer {
        Err(why) => Verdict::Unknown(why),
        Ok(Scripted::Never) => Verdict::Holds,
        Ok(Scripted::Reached(script)) => {
            let one = Task { targets: std::slice::from_ref(target), ..*task };
            let slots = Schedule::Switches(script.owners.len().saturating_sub(1) as u32);
            let script = (!script.owners.is_empty()).then_some(&script);
            let report = by_sequence(&one, slots, script, Choice::Auto, budget, observer);
            match report.verdicts.into_iter().next() {
                Some(Verdict::Holds) | None => {
                    Verdict::Unknown(Why::EngineBug("no run follows the script of a violation".into()))
                }
                Some(verdict) => verdict,
            }
        }
    };
    let verdicts: Vec<Verdict> = answers.into_iter().zip(task.targets).map(&mut verdict).collect();
    Report::new("fixpoint", Outcome { verdicts, stats })
}
