//! Room `xtask`: random programs with threads against the judge of all interleavings.
//!
//! # Idea
//!
//! Within each of a row of schedules, every engine that takes threads must say of each target what the judge says, as far
//! as that can tell. An interleaving must keep to the schedule, and where shortest ones are asked for it must have the
//! least number of switches, or rounds, that the judge found.

use super::{Finding, read, said, targets};
use postbop_engine::{Budget, Choice, Silent, Verdict, Why, engines, verify_threads};
use postbop_ir::interleave::{Answer, Found, Limits, Schedule, interleave};
use postbop_ir::{Interleaving, Program, Target, Task};
use std::time::Duration;

/// How far the judge looks.
const LIMITS: Limits = Limits { configurations: 60_000, depth: 5 };
/// The most switches, and the most rounds, that are asked about.
const SWITCHES: u32 = 4;
const ROUNDS: u32 = 3;
/// How much work an engine may put into one question, in its own units, and how long it may take. Sequential programs that
/// stand for threads are hard for an engine that looks at one valuation after another.
const EFFORT: u64 = 30_000;
const PATIENCE: Duration = Duration::from_millis(40);

/// What is asked: within which schedule, and what the judge says of each target.
struct Question<'a> {
    program: &'a Program,
    targets: &'a [Target],
    schedule: Schedule,
    shortest: bool,
    answers: Vec<Answer>,
}

/// Puts one program with threads through everything.
pub fn examine(source: &str) -> Finding {
    let program = match read(source) {
        Ok(program) => program,
        Err(what) => return Finding::Wrong(what),
    };
    let targets = targets(&program);
    let (mut reachable, mut unreachable, mut late) = (0, 0, 0);
    // Who was late within a schedule is not asked about a wider one.
    let mut slow: Vec<(&str, bool)> = Vec::new();
    for question in questions(&program, &targets) {
        let count = |kind: fn(&Answer) -> bool| question.answers.iter().filter(|answer| kind(answer)).count();
        reachable += count(|answer| matches!(answer, Answer::Reached(_)));
        unreachable += count(|answer| *answer == Answer::Never);
        for engine in engines().iter().map(|engine| engine.name()).chain(["auto"]) {
            let kind = (engine, matches!(question.schedule, Schedule::Rounds(_)));
            if slow.contains(&kind) {
                late += targets.len();
                continue;
            }
            match unanswered(&question, engine) {
                Ok(0) => {}
                Ok(count) => {
                    late += count;
                    slow.push(kind);
                }
                Err(what) => {
                    let schedule = question.schedule;
                    let mode = if question.shortest { ", shortest" } else { "" };
                    return Finding::Wrong(format!("engine {engine}: {schedule:?}{mode}: {what}"));
                }
            }
        }
    }
    match reachable + unreachable {
        0 => Finding::TooLarge,
        _ => Finding::Agreed { reachable, unreachable, late },
    }
}

/// Each schedule for any trace, and the widest ones for shortest traces, for which the others are tried on the way.
fn questions<'a>(program: &'a Program, targets: &'a [Target]) -> Vec<Question<'a>> {
    let schedules: [(Vec<Schedule>, Schedule); 2] = [
        ((0..=SWITCHES).map(Schedule::Switches).collect(), Schedule::Switches(SWITCHES)),
        ((1..=ROUNDS).map(Schedule::Rounds).collect(), Schedule::Rounds(ROUNDS)),
    ];
    let mut questions = Vec::new();
    for (narrower, widest) in schedules {
        let found = interleave(program, widest, LIMITS);
        let question = |(schedule, shortest)| {
            let answers = targets.iter().map(|target| within(&found, target, schedule)).collect();
            Question { program, targets, schedule, shortest, answers }
        };
        let any = narrower.into_iter().map(|schedule| (schedule, false));
        questions.extend(any.chain([(widest, true)]).map(question));
    }
    questions
}

fn within(found: &Found, target: &Target, schedule: Schedule) -> Answer {
    found.within(&target.locs, most(schedule))
}

/// The most switches, or rounds, of a schedule.
fn most(schedule: Schedule) -> u32 {
    let (Schedule::Switches(most) | Schedule::Rounds(most)) = schedule;
    most
}

/// The switches, or rounds, that a run takes.
fn cost(run: &Interleaving, schedule: Schedule) -> u32 {
    let cost = match schedule {
        Schedule::Switches(_) => run.switches(),
        Schedule::Rounds(_) => run.rounds(),
    };
    cost as u32
}

/// How many targets an engine left open for want of time, or what is wrong with its answers. An engine that takes no
/// threads says nothing wrong.
fn unanswered(question: &Question, engine: &str) -> Result<usize, String> {
    let Question { program, targets, schedule, shortest, .. } = *question;
    let task = Task { program, targets, shortest };
    let choice = if engine == "auto" { Choice::Auto } else { Choice::Named(engine) };
    let budget = Budget::unlimited().with_time(PATIENCE).with_effort(EFFORT);
    let report = verify_threads(&task, Some(schedule), choice, &budget, &mut Silent);
    let refused = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(Why::Unsupported(_)));
    if report.verdicts.iter().all(refused) {
        return Ok(0);
    }
    let mut late = 0;
    for (verdict, &answer) in report.verdicts.iter().zip(&question.answers) {
        let agrees = match (verdict, answer) {
            (Verdict::Interleaved(run), Answer::Reached(least)) if shortest => cost(run, schedule) == least,
            (Verdict::Interleaved(run), Answer::Reached(_) | Answer::Unknown) => {
                cost(run, schedule) <= most(schedule)
            }
            // Within a narrower schedule, if the time was up.
            (Verdict::Holds, _) if report.bound != Some(schedule) => {
                late += 1;
                true
            }
            (Verdict::Holds, Answer::Never | Answer::Unknown) => true,
            (Verdict::Unknown(Why::Time(_) | Why::Effort | Why::Stopped), _) => {
                late += 1;
                true
            }
            _ => false,
        };
        if !agrees {
            return Err(format!("{}, but the judge says {answer:?}", said(verdict)));
        }
    }
    Ok(late)
}
