//! One question about a program with threads, put to the oracle of all interleavings and to every engine.
//!
//! A violation that takes so many switches, or rounds, must be found within just that many and must not be found within
//! fewer; asked for a shortest trace within more, an engine must give one with the least number.

use crate::question::{Bound, Expectation};
use crate::runner::{PATIENCE, Tally};
use postbop_engine::{Budget, Engine, EngineChoice, Report, Silent, Verdict, Why, engines, verify};
use postbop_ir::oracle_threads::{Answer, Limits, interleave};
use postbop_ir::{LocId, Prefer, Program, Query, Schedule, Task, Trace, replay};

/// How far the oracle looks.
const LIMITS: Limits = Limits { configurations: 300_000, depth: 6 };

/// How many switches the oracle tries where there is no bound.
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

    fn cost(self, run: &Trace) -> u32 {
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
        let Some(queries) = self.queries(&place, program, expected) else { return };
        let number = bound.number();
        let right = if expected.violated { Answer::Reached(number) } else { Answer::Never };
        let all: Vec<LocId> = queries.iter().flat_map(|query| query.locs().to_vec()).collect();
        let schedule = bound.schedule(number).expect("a bound is a schedule");
        let decided = interleave(program, schedule, LIMITS).at(&all);
        self.decided += usize::from(decided != Answer::Unknown);
        if decided != right && decided != Answer::Unknown {
            self.failures.push(format!("{place}: the oracle says {decided:?}"));
        }
        let mut questions = vec![(schedule, false, expected.violated)];
        let wider = bound
            .schedule(number + u32::from(expected.violated))
            .map(|wider| (wider, true, expected.violated));
        let fewer =
            number.checked_sub(1).and_then(|fewer| bound.schedule(fewer)).map(|fewer| (fewer, false, false));
        questions.extend(wider.into_iter().chain(fewer));
        if expected.violated
            && let Err(problem) = self.violated_without_bound(program, &queries)
        {
            self.failures.push(format!("{place}: without a bound: {problem}"));
        }
        // The variants of `fixpoint` do the same with threads. What `sat` says of threads is compared by the fuzzer, as far as it
        // answers soon: guesses at switches are many bits, and its proofs need them all.
        let asked = |engine: &&&dyn Engine| !engine.name().contains(':') && engine.name() != "sat";
        for &engine in engines().iter().filter(asked) {
            for &(schedule, shortest, violated) in &questions {
                let prefer = if shortest { Prefer::FewestSwitches } else { Prefer::Any };
                let within = postbop_ir::Bound { schedule: Some(schedule), threads: None };
                let task = Task { bound: within, prefer, ..Task::new(program, &queries) };
                let least = violated.then_some(number);
                if let Err(problem) = self.answer_within(&task, engine, bound, least) {
                    self.failures.push(format!("{place}: {} within {schedule:?}: {problem}", engine.name()));
                }
            }
        }
    }

    /// What is violated within a bound is so without one.
    fn violated_without_bound(&mut self, program: &Program, queries: &[Query]) -> Result<(), String> {
        let report = unbounded(&Task::new(program, queries));
        let mut found = report.verdicts().zip(queries).filter_map(|(verdict, query)| match verdict {
            Verdict::Violated(run) => Some(replays(program, run, query)),
            _ => None,
        });
        self.answers += 1;
        found.next().unwrap_or_else(|| Err(format!("{:?}", report.answers)))
    }

    /// Puts a question whose answer must not depend on a bound. The oracle looks as far as it can.
    pub fn ask_without_bound(&mut self, place: &str, program: &Program, expected: &Expectation) {
        let Some(queries) = self.queries(place, program, expected) else { return };
        let all: Vec<LocId> = queries.iter().flat_map(|query| query.locs().to_vec()).collect();
        let decided = interleave(program, Schedule::Switches(FAR), LIMITS).at(&all);
        self.decided += usize::from(decided != Answer::Unknown);
        if matches!(decided, Answer::Reached(_)) {
            self.failures.push(format!("{place}: the oracle says {decided:?}"));
        }
        let report = unbounded(&Task::new(program, &queries));
        self.answers += 1;
        let all = |verdict: &Verdict| matches!(verdict, Verdict::Holds { within, .. } if *within == postbop_ir::Bound::NONE);
        if !report.verdicts().all(all) {
            self.failures.push(format!("{place}: {:?}", report.answers));
        }
    }

    /// Asks one engine, and looks at what it says.
    fn answer_within(
        &mut self,
        task: &Task,
        engine: &'static dyn Engine,
        bound: Bound,
        least: Option<u32>,
    ) -> Result<(), String> {
        let budget = Budget::unlimited().with_time(PATIENCE);
        let report = verify(task, EngineChoice::Only(engine), &budget, &mut Silent);
        let mut found = Vec::new();
        for (query, verdict) in task.queries.iter().zip(report.verdicts()) {
            match verdict {
                Verdict::Holds { within, .. }
                    if within.schedule.is_none_or(|s| Some(s) == task.bound.schedule) => {}
                Verdict::Holds { within, .. } => return Err(format!("only within {within:?}")),
                Verdict::Violated(run) => {
                    replays(task.program, run, query)?;
                    self.traces += 1;
                    found.push(bound.cost(run));
                }
                Verdict::Unknown(Why::Unsupported(why)) => {
                    *self.refused.entry((engine.name(), why.clone())).or_default() += 1;
                    return Ok(());
                }
                Verdict::Unknown(why) => return Err(format!("unknown ({why})")),
            }
        }
        let found = found.into_iter().min();
        if found != least {
            return Err(format!("a run that takes {found:?}, expected {least:?}"));
        }
        self.answers += 1;
        Ok(())
    }
}

fn unbounded(task: &Task) -> Report {
    verify(task, EngineChoice::Auto, &Budget::unlimited().with_time(PATIENCE), &mut Silent)
}

fn replays(program: &Program, run: &Trace, query: &Query) -> Result<(), String> {
    replay(program, run, &query.ask).map_err(|rejected| rejected.to_string())
}
