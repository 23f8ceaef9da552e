//! Room `engine/sat`: from a failure that was found by forward execution to a run.
//!
//! # Idea
//!
//! A failure, or a summary edge, is a set of ways through a procedure. A solver picks one: given the inputs with which the
//! procedure is entered, and the outputs if it returns, a model has a value for each choice, and path edges know their
//! origins. Where the way passes a call, the model says with which inputs and outputs, and the summary edge that was applied is
//! explained for these. Equal explanations are made once, so a run of exponential length is explained by few.
//!
//! # Cost
//!
//! A question to a solver for each different call on the run.

use super::entry::{Call, FailedBy, Origin};
use super::execute::outcomes;
use super::knowledge::{Bit, Fact, Kind};
use super::slice::Slice;
use super::world::World;
use crate::verdict::Why;
use postbop_ir::{EdgeId, LocId, Value};
use postbop_kit::aig::{Lit, Values};
use rustc_hash::FxHashMap as HashMap;

/// What is to be explained.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Job {
    entry: u32,
    way: Way,
    inputs: Vec<bool>,
    outputs: Vec<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Way {
    /// This summary edge.
    Return(u32),
    /// This failure.
    Fail(u32),
}

/// A way through a procedure, whose calls may have to be explained.
struct Path {
    job: Job,
    free: Vec<bool>,
    steps: Vec<(EdgeId, Vec<Option<Value>>, Option<Job>)>,
    /// The call in which it fails.
    next: Option<(EdgeId, Vec<Option<Value>>, Job)>,
    /// The target, if it is reached here.
    target: Option<LocId>,
    /// How many of its calls were looked at.
    seen: usize,
}

/// The runs that explain a failure of `main`; it is the last one.
pub fn explain(world: &mut World, entry: u32, failure: u32) -> Result<Vec<Fact>, Why> {
    let guard = world.entries[entry as usize].failures[failure as usize].guard;
    assert!(world.solve(entry, &[guard])?, "the failure is possible");
    let own = &world.entries[entry as usize];
    let inputs = read(&own.inputs, &own.probe.model(&own.aig));
    let first = Job { entry, way: Way::Fail(failure), inputs, outputs: Vec::new() };
    let mut known: HashMap<Job, u32> = HashMap::default();
    let mut facts = Vec::new();
    let mut stack = vec![find(world, first)?];
    while let Some(path) = stack.last_mut() {
        let calls = path.steps.iter().filter_map(|step| step.2.as_ref());
        let next = calls.chain(path.next.as_ref().map(|next| &next.2)).nth(path.seen);
        match next.cloned() {
            Some(job) => {
                path.seen += 1;
                if !known.contains_key(&job) {
                    stack.push(find(world, job)?);
                }
            }
            None => {
                let path = stack.pop().expect("it is the last");
                facts.push(fact(world, &path, &known, &facts));
                known.insert(path.job, facts.len() as u32 - 1);
            }
        }
    }
    Ok(facts)
}

fn read(lits: &[Lit], values: &Values) -> Vec<bool> {
    lits.iter().map(|&lit| values.get(lit)).collect()
}

/// Finds a way.
fn find(world: &mut World, job: Job) -> Result<Path, Why> {
    let own = &world.entries[job.entry as usize];
    let (guard, outputs): (Lit, &[Lit]) = match job.way {
        Way::Return(at) => (own.summaries[at as usize].guard, &own.summaries[at as usize].outputs),
        Way::Fail(at) => (own.failures[at as usize].guard, &[]),
    };
    let mut claims = vec![guard];
    let pairs = own.inputs.iter().zip(&job.inputs).chain(outputs.iter().zip(&job.outputs));
    claims.extend(pairs.map(|(&lit, &value)| if value { lit } else { !lit }));
    assert!(world.solve(job.entry, &claims)?, "what was applied is possible");
    let own = &world.entries[job.entry as usize];
    let values = own.probe.model(&own.aig);
    let called = |call: u32, callee: u32, way: Way, outputs: &[Lit]| {
        let Call { edge, choices, inputs, .. } = &own.calls[call as usize];
        let (inputs, outputs) = (read(inputs, &values), read(outputs, &values));
        (*edge, outcomes(choices, &values), Job { entry: callee, way, inputs, outputs })
    };
    let (mut next, mut target) = (None, None);
    let mut number = match job.way {
        Way::Return(at) => own.summaries[at as usize].number,
        Way::Fail(at) => match own.failed_by(at, &values) {
            FailedBy::PathEdge(number) => {
                target = Some(own.failures[at as usize].target);
                number
            }
            FailedBy::Call { call, callee, failure } => {
                next = Some(called(call, callee, Way::Fail(failure), &[]));
                own.calls[call as usize].from.number
            }
            FailedBy::Either { .. } => unreachable!("one of them was taken"),
        },
    };
    let mut steps = Vec::new();
    loop {
        number = match &own.origins[number as usize] {
            Origin::Entry => break,
            Origin::Step { from, edge, choices } => {
                steps.push((*edge, outcomes(choices, &values), None));
                *from
            }
            Origin::Call { call, callee, summary, outputs } => {
                let (edge, choices, job) = called(*call, *callee, Way::Return(*summary), outputs);
                steps.push((edge, choices, Some(job)));
                own.calls[*call as usize].from.number
            }
            Origin::Either { select, one, other } => {
                if values.get(*select) {
                    *one
                } else {
                    *other
                }
            }
        };
    }
    steps.reverse();
    let free = read(&own.free, &values);
    Ok(Path { job, free, steps, next, target, seen: 0 })
}

/// The run along a way whose calls are explained.
fn fact(world: &World, path: &Path, known: &HashMap<Job, u32>, facts: &[Fact]) -> Fact {
    let regions = world.regions;
    let proc = world.entries[path.job.entry as usize].proc;
    let region = regions.entry(proc);
    let kind = if matches!(path.job.way, Way::Fail(_)) { Kind::Fail } else { Kind::Return };
    let mut slice = Slice::new(regions, proc, kind);
    let mut target = path.target;
    if let Some((edge, _, job)) = &path.next {
        let inner = &facts[known[job] as usize];
        slice.enter(*edge, inner);
        target = inner.target;
    }
    for (edge, _, job) in path.steps.iter().rev() {
        slice.edge(*edge, job.as_ref().map(|job| &facts[known[job] as usize]));
    }
    slice.start(region);
    let steps = path
        .steps
        .iter()
        .map(|(edge, choices, job)| (*edge, choices.clone(), job.as_ref().map(|job| known[job])));
    let entering = path.next.iter().map(|(edge, choices, _)| (*edge, choices.clone(), None));
    Fact {
        region,
        inputs: slice.inputs(region).into_iter().map(|at| Bit::new(at, path.job.inputs[at])).collect(),
        outputs: path.job.outputs.clone(),
        copies: slice.copies(region),
        free: path.free.clone(),
        steps: steps.chain(entering).collect(),
        next: path.next.as_ref().map(|(_, _, job)| known[job]),
        target,
    }
}
