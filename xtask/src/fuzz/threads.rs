//! Room `xtask`: random programs with threads against the oracle of all interleavings.
//!
//! # Idea
//!
//! Within each of a row of schedules, every engine that takes threads must say of each target what the oracle says, as far
//! as that can tell. An interleaving must keep to the schedule, and where shortest ones are asked for it must have the
//! least number of switches, or rounds, that the oracle found. Where the oracle cannot tell, the engines are compared with
//! each other: the formula and the sequential program have little in common.
//!
//! What is said to hold without any bound must hold within the widest.

use super::{Finding, Score, said};
use postbop_engine::{Budget, EngineChoice, Silent, Verdict, Why, Wrapped, deadlock, engines, verify};
use postbop_ir::oracle_threads::{Answer, Limits, interleave};
use postbop_ir::{Bound, Prefer, Program, Query, Schedule, Task, Trace};
use std::time::Duration;

/// How far the oracle looks.
const LIMITS: Limits = Limits { configurations: 60_000, depth: 5 };
/// The most switches, and the most rounds, that are asked about.
const SWITCHES: u32 = 4;
const ROUNDS: u32 = 3;
/// How much work an engine may put into a question for each millisecond that it may take, in its own units. Sequential
/// programs that stand for threads are hard for an engine that looks at one valuation after another.
const EFFORT: u64 = 8_000;

/// The name under which `auto` is asked without a schedule.
const UNBOUNDED: &str = "unbounded";

/// What is asked: within which schedule, and what the oracle says of each target.
struct Question<'a> {
    subject: &'a Subject<'a>,
    schedule: Schedule,
    shortest: bool,
    answers: Vec<Answer>,
}

/// A program, and the properties that engines are asked about: of the program, or of a translation of it.
struct Subject<'a> {
    program: &'a Program,
    queries: &'a [Query],
    translation: Option<&'a Wrapped<'a>>,
}

/// Asks every engine these questions about a program with threads. An engine may take so long for each.
pub fn examine(program: &Program, queries: &[Query], patience: Duration) -> Finding {
    ask_all(&Subject { program, queries, translation: None }, patience, None)
}

/// Asks every engine, or only one, whether a program with threads gets stuck.
pub fn examine_deadlock(program: &Program, patience: Duration, only: Option<&str>) -> Finding {
    match deadlock(program) {
        Ok(wrapped) => {
            let queries = [wrapped.query.clone()];
            ask_all(&Subject { program, queries: &queries, translation: Some(&wrapped) }, patience, only)
        }
        Err(_) => Finding::Agreed(Score::default()),
    }
}

fn ask_all(subject: &Subject, patience: Duration, only: Option<&str>) -> Finding {
    let queries = subject.queries;
    let mut score = Score::default();
    // An engine that was late within a schedule is not asked about a wider one.
    let mut slow: Vec<(&str, bool)> = Vec::new();
    for question in questions(subject) {
        let mut said: Vec<(&str, Vec<Answer>)> = vec![("oracle", question.answers.clone())];
        let widest = question.schedule == Schedule::Switches(SWITCHES) && !question.shortest;
        // The variants of `fixpoint` do the same with threads.
        let names = engines().iter().map(|engine| engine.name()).filter(|name| !name.contains(':'));
        let names = names.chain(["auto"]);
        let asked_for = |name: &&str| only.is_none_or(|only| only == *name || *name == UNBOUNDED);
        for engine in names.chain(widest.then_some(UNBOUNDED)).filter(asked_for) {
            let kind = (engine, matches!(question.schedule, Schedule::Rounds(_)));
            if slow.contains(&kind) {
                score.note(engine, 0, queries.len());
                continue;
            }
            match asked(&question, engine, patience).and_then(|answers| heard(&question, &said, answers)) {
                Ok(answers) => {
                    let late = count(&answers, |answer| answer == Answer::Unknown);
                    score.note(engine, answers.len() - late, late);
                    slow.extend((late > 0 && engine != UNBOUNDED).then_some(kind));
                    said.push((engine, answers));
                }
                Err(what) => {
                    let schedule = question.schedule;
                    let mode = if question.shortest { ", shortest" } else { "" };
                    return Finding::Wrong(format!("engine {engine}: {schedule:?}{mode}: {what}"));
                }
            }
        }
        score.add(decided(&said));
    }
    Finding::Agreed(score)
}

fn count(answers: &[Answer], kind: impl Fn(Answer) -> bool) -> usize {
    answers.iter().filter(|answer| kind(**answer)).count()
}

/// What the oracle said, and where the engines had only each other.
fn decided(said: &[(&str, Vec<Answer>)]) -> Score {
    let by = |name: &str, at: usize| {
        said.iter().any(|(who, answers)| {
            *who == name && answers.get(at).is_some_and(|answer| *answer != Answer::Unknown)
        })
    };
    let answers = &said[0].1;
    let open = (0..answers.len()).filter(|at| answers[*at] == Answer::Unknown);
    let both = |at: &usize| by("fixpoint", *at) && (by("summary", *at) || by("explicit", *at));
    Score {
        reachable: count(answers, |answer| matches!(answer, Answer::Reached(_))),
        unreachable: count(answers, |answer| answer == Answer::Never),
        open: open.clone().count(),
        compared: open.filter(both).count(),
        ..Score::default()
    }
}

/// Each schedule for any trace, and the widest ones for shortest traces, for which the others are tried on the way.
fn questions<'a>(subject: &'a Subject<'a>) -> Vec<Question<'a>> {
    let schedules: [(Vec<Schedule>, Schedule); 2] = [
        ((0..=SWITCHES).map(Schedule::Switches).collect(), Schedule::Switches(SWITCHES)),
        ((1..=ROUNDS).map(Schedule::Rounds).collect(), Schedule::Rounds(ROUNDS)),
    ];
    let mut questions = Vec::new();
    for (narrower, widest) in schedules {
        let found = interleave(subject.program, widest, LIMITS);
        let question = |(schedule, shortest)| {
            let of_query = |query: &Query| match subject.translation {
                Some(_) => found.deadlock_within(most(schedule)),
                None => found.within(query.locs(), most(schedule)),
            };
            let answers = subject.queries.iter().map(of_query).collect();
            Question { subject, schedule, shortest, answers }
        };
        let any = narrower.into_iter().map(|schedule| (schedule, false));
        questions.extend(any.chain([(widest, true)]).map(question));
    }
    questions
}

/// The most switches, or rounds, of a schedule.
fn most(schedule: Schedule) -> u32 {
    let (Schedule::Switches(most) | Schedule::Rounds(most)) = schedule;
    most
}

/// The switches, or rounds, that a run takes.
fn cost(run: &Trace, schedule: Schedule) -> u32 {
    let cost = match schedule {
        Schedule::Switches(_) => run.switches(),
        Schedule::Rounds(_) => run.rounds(),
    };
    cost as u32
}

/// What an engine says of each target, in the oracle's words: unknown is what would have taken too long. An engine that
/// takes no threads says nothing at all.
fn asked(question: &Question, engine: &str, patience: Duration) -> Result<Vec<Answer>, String> {
    let Question { subject, schedule, shortest, .. } = *question;
    let Subject { queries, translation, .. } = *subject;
    let program = translation.map_or(subject.program, |wrapped| &wrapped.program);
    let prefer = if shortest { Prefer::FewestSwitches } else { Prefer::Any };
    let choice = EngineChoice::named(engine).unwrap_or_default();
    let effort = EFFORT * patience.as_millis() as u64;
    let budget = Budget::unlimited().with_time(patience).with_effort(effort);
    let within = (engine != UNBOUNDED).then_some(schedule);
    let bound = Bound { schedule: within, threads: None };
    let task = Task { bound, prefer, stuck: translation.is_some(), ..super::proving(program, queries) };
    let report = verify(&task, choice, &budget, &mut Silent);
    let refused = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(Why::Unsupported(_)));
    if report.verdicts().all(refused) {
        return Ok(Vec::new());
    }
    for answer in &report.answers {
        if let (Verdict::Violated(run), Some(wrapped)) = (&answer.verdict, translation) {
            wrapped.back(run).map_err(|why| why.to_string())?;
        }
    }
    let answer = |answer: &postbop_engine::Answer| match &answer.verdict {
        Verdict::Violated(run) if within.is_none() && cost(run, schedule) > most(schedule) => {
            Ok(Answer::Unknown)
        }
        Verdict::Violated(run) => Ok(Answer::Reached(cost(run, schedule))),
        // The oracle looks at the program with room for as many threads, too.
        Verdict::Holds { within: holds, .. } if holds.schedule.is_none() || holds.schedule == within => {
            Ok(Answer::Never)
        }
        Verdict::Unknown(Why::Time(_) | Why::Effort) => Ok(Answer::Unknown),
        _ => Err(said(answer)),
    };
    report.answers.iter().map(answer).collect()
}

/// The answers, if they keep to the schedule and contradict neither the oracle nor an engine.
fn heard(
    question: &Question,
    said: &[(&str, Vec<Answer>)],
    answers: Vec<Answer>,
) -> Result<Vec<Answer>, String> {
    for (at, &answer) in answers.iter().enumerate() {
        if matches!(answer, Answer::Reached(cost) if cost > most(question.schedule)) {
            return Err(format!("{answer:?}, which is beyond the schedule"));
        }
        if let (Answer::Reached(cost), Answer::Reached(least)) = (answer, question.answers[at])
            && cost < least
        {
            return Err(format!("{answer:?}, which is less than the oracle's {least}"));
        }
        for (who, others) in said {
            if let Some(&other) = others.get(at)
                && !agree(answer, other, question.shortest)
            {
                return Err(format!("{answer:?}, but {who} says {other:?}"));
            }
        }
    }
    Ok(answers)
}

/// Whether two answers can both be true. The oracle's numbers are least ones, and those of shortest traces.
fn agree(one: Answer, other: Answer, shortest: bool) -> bool {
    match (one, other) {
        (Answer::Unknown, _) | (_, Answer::Unknown) | (Answer::Never, Answer::Never) => true,
        (Answer::Reached(one), Answer::Reached(other)) => one == other || !shortest,
        (Answer::Reached(_), Answer::Never) | (Answer::Never, Answer::Reached(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_compared_with_all_that_was_said() {
        let program = crate::fuzz::read("decl g; void main() begin ERR: skip; end").unwrap();
        let heard = |answer, said: &[(&str, Vec<Answer>)], shortest| {
            let (schedule, answers) = (Schedule::Switches(2), said[0].1.clone());
            let subject = Subject { program: &program, queries: &[], translation: None };
            let question = Question { subject: &subject, schedule, shortest, answers };
            heard(&question, said, vec![answer])
        };
        let oracle = |answer| vec![("oracle", vec![answer])];
        assert!(heard(Answer::Never, &oracle(Answer::Never), true).is_ok());
        assert!(heard(Answer::Never, &oracle(Answer::Reached(1)), false).unwrap_err().contains("oracle"));
        assert!(heard(Answer::Reached(2), &oracle(Answer::Reached(1)), false).is_ok());
        assert!(heard(Answer::Reached(2), &oracle(Answer::Reached(1)), true).is_err());
        assert!(heard(Answer::Reached(1), &oracle(Answer::Reached(2)), false).unwrap_err().contains("less"));
        assert!(heard(Answer::Reached(3), &oracle(Answer::Unknown), false).unwrap_err().contains("beyond"));
        // Where the oracle says nothing, the engines have each other.
        let open =
            [("oracle", vec![Answer::Unknown]), ("explicit", vec![]), ("summary", vec![Answer::Reached(2)])];
        assert!(heard(Answer::Never, &open, false).unwrap_err().contains("summary"));
        assert!(heard(Answer::Unknown, &open, false).is_ok());
        assert_eq!((decided(&open).open, decided(&open).compared), (1, 0));
        let both = [&open[..], &[("fixpoint", vec![Answer::Reached(2)])]].concat();
        assert_eq!((decided(&both).open, decided(&both).compared), (1, 1));
    }
}
