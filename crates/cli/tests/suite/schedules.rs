//! One question about a program with threads, put to the judge of all interleavings and to every engine.
//!
//! A violation that takes so many switches, or rounds, must be found within just that many and must not be found within
//! fewer; asked for a shortest trace within more, an engine must give one with the least number.

use crate::question::{Bound, Expectation};
use crate::runner::{PATIENCE, Tally};
use postbop_engine::{Budget, Choice, Silent, Verdict, Why, engines, verify_threads};
use postbop_ir::interleave::{Answer, Limits, Schedule, interleave};
use postbop_ir::replay::replay_interleaving;
use postbop_ir::{Interleaving, LocId, Program, Target, Task};

/// How far the judge looks.
const LIMITS: Limits = Limits { configurations: 300_000, depth: 6 };

/// How many switches the judge tries where there is no bound.
const FAR: u32 = 5;

impl Bound {
    /// The schedule with another number, if there is one.
    fn schedule(self, number: u32) -> Option<Schedule> {
        match self {
            Bound::Switches(_) => Some(Schedule::Switches(number)),
            Bound::Rounds(_) => (number > 0).then_some(Schedule::Rounds(number)),
        }
    }

    fn number(self) -> u32 {
        let (Bound::Switches(number) | Bound::Rounds(number)) = self;
        number
    }

    fn cost(self, run: &Interleaving) -> u32 {
        let cost = match self {
            Bound::Switches(_) => run.switches(),
            Bound::Rounds(_) => run.rounds(),
        };
        cost as u32
    }
}

impl Tally {
    /// Puts a question within a bound to everybody.
    pub fn ask_within(&mut self, place: &str, program: &Program, expected: &Expectation, bound: Bound) {
        let asked = expected.label.as_deref().unwrap_or("(default)");
        let place = format!("{place}: {asked} {bound:?}");
        let Some(targets) = self.targets(&place, program, expected) else { return };
        let number = bound.number();
        let right = if expected.violated { Answer::Reached(number) } else { Answer::Never };
        let all: Vec<LocId> = targets.iter().flat_map(|target| target.locs.iter().copied()).collect();
        let schedule = bound.schedule(number).expect("a bound is a schedule");
        let judged = interleave(program, schedule, LIMITS).at(&all);
        self.judged += usize::from(judged != Answer::Unknown);
        if judged != right && judged != Answer::Unknown {
            self.failures.push(format!("{place}: the judge says {judged:?}"));
        }
        let mut questions = vec![(schedule, false, expected.violated)];
        let wider = bound
            .schedule(number + u32::from(expected.violated))
            .map(|wider| (wider, true, expected.violated));
        let fewer =
            number.checked_sub(1).and_then(|fewer| bound.schedule(fewer)).map(|fewer| (fewer, false, false));
        questions.extend(wider.into_iter().chain(fewer));
        if expected.violated
            && let Err(problem) = self.violated_without_bound(program, &targets)
        {
            self.failures.push(format!("{place}: without a bound: {problem}"));
        }
        for engine in engines() {
            for &(schedule, shortest, violated) in &questions {
                let task = Task { program, targets: &targets, shortest };
                let least = violated.then_some(number);
                if let Err(problem) = self.answer_within(&task, engine.name(), schedule, bound, least) {
                    self.failures.push(format!("{place}: {} within {schedule:?}: {problem}", engine.name()));
                }
            }
        }
    }

    /// What is violated within a bound is so without one.
    fn violated_without_bound(&mut self, program: &Program, targets: &[Target]) -> Result<(), String> {
        let task = Task { program, targets, shortest: false };
        let budget = Budget::unlimited().with_time(PATIENCE);
        let report = verify_threads(&task, None, Choice::Auto, &budget, &mut Silent);
        let mut found = report.verdicts.iter().zip(targets).filter_map(|(verdict, target)| match verdict {
            Verdict::Interleaved(run) => Some(replays(program, run, target)),
            _ => None,
        });
        self.answers += 1;
        found.next().unwrap_or_else(|| Err(format!("{:?} within {:?}", report.verdicts, report.bound)))
    }

    /// Puts a question whose answer must not depend on a bound. The judge looks as far as it can.
    pub fn ask_without_bound(&mut self, place: &str, program: &Program, expected: &Expectation) {
        let Some(targets) = self.targets(place, program, expected) else { return };
        let all: Vec<LocId> = targets.iter().flat_map(|target| target.locs.iter().copied()).collect();
        let judged = interleave(program, Schedule::Switches(FAR), LIMITS).at(&all);
        self.judged += usize::from(judged != Answer::Unknown);
        if matches!(judged, Answer::Reached(_)) {
            self.failures.push(format!("{place}: the judge says {judged:?}"));
        }
        let task = Task { program, targets: &targets, shortest: false };
        let budget = Budget::unlimited().with_time(PATIENCE);
        let report = verify_threads(&task, None, Choice::Auto, &budget, &mut Silent);
        self.answers += 1;
        if report.bound.is_some() || report.verdicts.iter().any(|verdict| *verdict != Verdict::Holds) {
            self.failures.push(format!("{place}: {:?} within {:?}", report.verdicts, report.bound));
        }
    }

    /// Asks one engine, and looks at what it says.
    fn answer_within(
        &mut self,
        task: &Task,
        engine: &'static str,
        schedule: Schedule,
        bound: Bound,
        least: Option<u32>,
    ) -> Result<(), String> {
        let budget = Budget::unlimited().with_time(PATIENCE);
        let report = verify_threads(task, Some(schedule), Choice::Named(engine), &budget, &mut Silent);
        let mut found = Vec::new();
        for (target, verdict) in task.targets.iter().zip(&report.verdicts) {
            match verdict {
                Verdict::Holds => {}
                Verdict::Interleaved(run) => {
                    replays(task.program, run, target)?;
                    self.traces += 1;
                    found.push(bound.cost(run));
                }
                Verdict::Violated(_) => return Err("a trace of one thread".into()),
                Verdict::Unknown(Why::Unsupported(why)) => {
                    *self.refused.entry((engine, why.clone())).or_default() += 1;
                    return Ok(());
                }
                Verdict::Unknown(why) => return Err(format!("unknown ({why})")),
            }
        }
        let found = found.into_iter().min();
        if found.is_none() && report.bound.is_some_and(|within| within != schedule) {
            return Err(format!("only within {:?}", report.bound));
        }
        if found != least {
            return Err(format!("a run that takes {found:?}, expected {least:?}"));
        }
        self.answers += 1;
        Ok(())
    }
}

fn replays(program: &Program, run: &Interleaving, target: &Target) -> Result<(), String> {
    replay_interleaving(program, run, &target.locs).map_err(|rejected| rejected.to_string())
}
