//! Replay must reject what is no run.
//!
//! Every trace of every case is changed in every way of [`crate::mutants`]. A mutant is rejected; or, if replay accepts
//! it, the interpreter must be able to follow it whatever its gaps are filled with: then it is a run indeed, and what
//! was changed did not matter. Mutants that cannot be runs whatever their values must be rejected in any case.

use crate::common::{all_good, bytes, cases, say};
use crate::interpreter::follow;
use crate::mutants::mutants;
use crate::runner::violations;
use postbop_engine::{Budget, Skeleton};
use postbop_front::{Options, read};
use postbop_ir::replay::complete;
use postbop_ir::{Ask, Length, LocId, Program, Query, Trace, replay};
use xtask::rng::Rng;

/// How often the gaps of a trace are filled.
const FILLINGS: u64 = 12;
/// The longest run to follow.
const LONGEST: u64 = 5_000;

/// Whether the trace is a run for all that was tried in its gaps.
fn is_run(program: &Program, trace: &Trace, locs: &[LocId]) -> Result<(), String> {
    (0..FILLINGS).try_for_each(|seed| follow(program, trace, locs, &mut Rng::new(seed)))
}

/// The traces of a case: to each label and to each check that can be reached.
pub fn traces(program: &Program) -> Vec<(Query, Trace)> {
    let labels = program.labels().iter().map(|label| Query::reach(&label.name, vec![label.loc]));
    let checks = program.checks().iter().map(|check| Query::reach("check", vec![check.loc]));
    let found = violations(program, &labels.chain(checks).collect::<Vec<_>>());
    found.into_iter().filter(|(_, trace)| trace.length() <= Length::from(LONGEST)).collect()
}

#[derive(Default)]
struct Tally {
    traces: usize,
    rejected: usize,
    accepted: usize,
    strict: usize,
    failures: Vec<String>,
}

impl Tally {
    fn examine(&mut self, place: &str, program: &Program, query: &Query, trace: &Trace) {
        self.traces += 1;
        if let Err(problem) = is_run(program, trace, query.locs()) {
            self.failures.push(format!("{place}: the interpreter cannot follow the trace itself: {problem}"));
        }
        for mutant in mutants(program, trace) {
            let what = || format!("{place}: {}: {}", query.name, mutant.what);
            let run = is_run(program, &mutant.trace, query.locs());
            match (replay(program, &mutant.trace, &query.ask), run) {
                (Ok(()), _) if mutant.fatal => self.failures.push(format!("{}: accepted", what())),
                (Ok(()), Err(problem)) => self.failures.push(format!("{}: accepted, but {problem}", what())),
                (Ok(()), Ok(())) => self.accepted += 1,
                (Err(_), Err(_)) => self.rejected += 1,
                (Err(_), Ok(())) => self.strict += 1,
            }
        }
        for loc in program.locs().ids().filter(|loc| !query.locs().contains(loc)) {
            match replay(program, trace, &Ask::Reach(vec![loc])) {
                Ok(()) => self.failures.push(format!("{place}: accepted as a run to {loc}")),
                Err(_) => self.rejected += 1,
            }
        }
    }
}

#[test]
fn what_is_no_run_is_rejected() {
    let mut tally = Tally::default();
    for case in cases() {
        let Some(program) = read(&bytes(&case), Options::default()).program else { continue };
        for (query, trace) in traces(&program) {
            tally.examine(&case.display().to_string(), &program, &query, &trace);
        }
    }
    let Tally { traces, rejected, accepted, strict, failures } = tally;
    say(&format!(
        "traces: {traces}; mutants: {rejected} rejected, {strict} rejected though they say nothing wrong about a run, \
         {accepted} accepted and followed, {} failures",
        failures.len()
    ));
    all_good(&failures);
    assert!(traces > 50 && rejected > 20 * accepted, "the mutants hardly matter");
}

/// The edges of each trace are enough to find values for them again.
#[test]
fn edges_alone_become_a_trace() {
    let mut count = 0;
    for case in cases() {
        let Some(program) = read(&bytes(&case), Options::default()).program else { continue };
        for (query, trace) in traces(&program) {
            let skeleton = Skeleton::of(&trace);
            let mut again = match skeleton.trace(&program, &Budget::unlimited()) {
                Ok(again) => again,
                Err(why) => panic!("{}: {}: {why}", case.display(), query.name),
            };
            let place = case.display();
            if let Err(rejected) = complete(&program, &mut again, &query.ask, &mut || true) {
                panic!("{place}: {}: {rejected}", query.name);
            }
            assert_eq!(trace.length(), again.length(), "{place}: {}", query.name);
            count += 1;
        }
    }
    assert!(count > 50, "{count} traces");
}
