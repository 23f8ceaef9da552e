//! Room `engine/sat`: proofs and runs by satisfiability.
//!
//! # Idea
//!
//! Decision diagrams and enumeration compute all that a program can do. Where there are many variables and the reason why a
//! property holds needs few of them, that is too much. This engine asks a SAT solver about one piece of a procedure at
//! a time ([`regions`], [`execute`], [`prover`]), driven by what it wants to show ([`pdr`]). Its proof are lemmas about
//! procedures; its runs come from models ([`trace`]).
//!
//! # Paper
//!
//! \[sat-summaries\] for sets of valuations as functions of choices; \[recmc\], \[gpdr\], \[ic3\] for the search.

mod execute;
mod knowledge;
mod lemmas;
mod path;
mod pdr;
mod prover;
mod regions;
mod slice;
mod step;
mod trace;

use crate::budget::{Budget, Meter, Stopwatch, Tick};
use crate::encode::prepared::Prepared;
use crate::encode::targets::TargetTracker;
use crate::engine::{Engine, Listener, Unsupported, Wants, may_tell};
use crate::verdict::{Stats, Why};
use pdr::Search;
use postbop_ir::{LocId, Task};
use regions::Regions;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The engine.
pub struct Sat;

impl Engine for Sat {
    fn name(&self) -> &'static str {
        "sat"
    }

    fn wants(&self) -> Wants {
        Wants { reduced: true, threads: false, integers: false }
    }

    fn supports(&self, task: &Task) -> Result<(), Unsupported> {
        match task.shortest() {
            true => Err(Unsupported("shortest traces with `sat`; `summary` and `explicit` give them".into())),
            false => Ok(()),
        }
    }

    fn check(&self, task: &Task, _: &Prepared, budget: &Budget, listener: &mut dyn Listener) -> Stats {
        let mut stopwatch = Stopwatch::start();
        let meter = Meter::new(budget);
        let regions = Regions::new(task.program);
        stopwatch.lap("prepare_us");
        let mut open = Open::new(task);
        let mut tracker = TargetTracker::without_guards(task);
        let mut search = Search::new(&regions, open.targets(), &meter);
        let mut found = 0;
        let stopped = loop {
            listener.progress(Tick { unit: "runs", done: found });
            match search.run() {
                Err(why) => break Some(why),
                Ok(None) => break None,
                Ok(Some(fact)) => {
                    let target = search.facts[fact as usize].target.expect("a failure has a target");
                    tracker.reach(target, &fact);
                    found += 1;
                    if tracker.is_over() {
                        break None;
                    }
                    open.reach(target).into_iter().for_each(|target| search.ignore(target));
                }
            }
        };
        stopwatch.lap("search_us");
        if may_tell(stopped.as_ref(), meter.work(), budget) {
            let write = |fact: u32| -> Result<_, Why> {
                budget.check_writing()?;
                Ok(trace::trace(&regions, &search.facts, fact))
            };
            tracker.tell(stopped, write, listener);
        }
        stopwatch.lap("trace_us");
        let mut stats = Stats::from([
            ("regions", regions.all.len() as u64),
            ("questions", search.calls()),
            ("goals", search.counts.goals),
            ("lemmas", search.counts.lemmas),
            ("facts", search.facts.len() as u64),
            ("levels", search.counts.levels),
            ("work", meter.work()),
        ]);
        stats.extend(stopwatch.laps());
        stats
    }
}

/// Which targets are asked for by queries that are still open.
struct Open<'a> {
    task: &'a Task<'a>,
    queries: HashMap<LocId, Vec<usize>>,
    reached: Vec<bool>,
}

impl<'a> Open<'a> {
    fn new(task: &'a Task<'a>) -> Self {
        let mut queries: HashMap<LocId, Vec<usize>> = HashMap::default();
        for (number, query) in task.queries.iter().enumerate() {
            query.locs().iter().for_each(|&loc| queries.entry(loc).or_default().push(number));
        }
        Open { task, queries, reached: vec![false; task.queries.len()] }
    }

    fn targets(&self) -> HashSet<LocId> {
        self.queries.keys().copied().collect()
    }

    /// Notes that a target was reached; returns those that nothing asks for any more.
    fn reach(&mut self, target: LocId) -> Vec<LocId> {
        let mut done = Vec::new();
        for &query in &self.queries[&target] {
            if !std::mem::replace(&mut self.reached[query], true) {
                done.extend_from_slice(self.task.queries[query].locs());
            }
        }
        done.retain(|loc| self.queries[loc].iter().all(|&query| self.reached[query]));
        done.sort_unstable();
        done.dedup();
        done
    }
}
