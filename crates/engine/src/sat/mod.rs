//! Room `engine/sat`: proofs and runs by satisfiability.
//!
//! # Idea
//!
//! Decision diagrams and enumeration compute all that a program can do, one valuation or one set of valuations at a time.
//! This engine asks a SAT solver. It has three modes:
//!
//! * `pdr`: lemmas about procedures, driven by what is to be shown. Where there are many variables and the reason why a property holds
//!   needs few of them, nothing else is looked at. A solver is asked about one piece of a procedure at a time ([`regions`], [`execute`],
//!   [`prover`], [`pdr`], [`conjecture`]), or about whole runs ([`unfold`], [`coarse`]). It is the mode unless another one is asked for: no other one can leave out what does not matter.
//! * `qbf`: all that a program can do, forward, as functions of choices; formulas with quantifiers show that nothing new
//!   is found ([`entry`], [`world`], [`covered`], [`worklist`]).
//! * `universal`: the same, but a procedure without recursion is executed once, from any valuation, with its loops unrolled as
//!   often as can make a difference; then few formulas with quantifiers are left ([`universal`]).
//!
//! Runs come from models ([`trace`], [`explain`]), proofs from lemmas ([`proof`]), or from functions of which the choices were projected away ([`projected`]).
//!
//! # Paper
//!
//! \[sat-summaries\] for sets of valuations as functions of choices, and for the modes `qbf` and `universal`; \[recmc\], \[gpdr\], \[ic3\] for `pdr`.

mod coarse;
mod conjecture;
mod covered;
mod entry;
mod execute;
mod explain;
mod knowledge;
mod lemmas;
mod path;
mod pdr;
mod probe;
mod projected;
mod proof;
mod prover;
mod regions;
mod slice;
mod step;
mod trace;
mod unfold;
mod universal;
mod worklist;
mod world;

use crate::budget::{Budget, Meter, Stopwatch};
use crate::encode::prepared::Prepared;
use crate::encode::targets::TargetTracker;
use crate::engine::{Cycles, Engine, Listener, Unsupported, Wants, may_tell};
use crate::evidence::is_wanted;
use crate::pulse::Pulse;
use crate::verdict::{Stats, Why};
use coarse::Found;
use knowledge::Fact;
use pdr::Search;
use postbop_ir::{LocId, Proof, Proofs, Task, Trace};
use regions::Regions;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use worklist::Worklist;
use world::World;

/// How the engine works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Lemmas, driven by what is to be shown.
    Pdr,
    /// The same, but coarse programs come first, until there is nothing more to be learnt from them.
    Coarse,
    /// Summaries, forward, until nothing new is found.
    Qbf,
    /// Summaries from any valuation, with loops unrolled, wherever that is possible.
    Universal,
}

/// Lemmas that are only for a proof may take so many times the work of the search, and this much.
const TIMES_FOR_LEMMAS: u64 = 16;
const LEAST_FOR_LEMMAS: u64 = 1 << 20;

/// The engine: its name, and how it works.
pub struct Sat(pub &'static str, pub Mode);

/// The engine with the mode that it chooses itself.
pub const SAT: Sat = Sat("sat", Mode::Pdr);

/// The engine with coarse programs first, which otherwise wait until the rest had some time: for tests.
pub const COARSE: Sat = Sat("coarse", Mode::Coarse);

impl Engine for Sat {
    fn name(&self) -> &'static str {
        self.0
    }

    fn wants(&self) -> Wants {
        Wants { reduced: true, threads: false, integers: false, cycles: Cycles::Translated }
    }

    fn supports(&self, task: &Task) -> Result<(), Unsupported> {
        match task.shortest() {
            true => Err(Unsupported("shortest traces with `sat`; `summary` and `explicit` give them".into())),
            false => Ok(()),
        }
    }

    fn check(&self, task: &Task, _: &Prepared, budget: &Budget, listener: &mut dyn Listener) -> Stats {
        let mut stopwatch = Stopwatch::start();
        let pulse = Pulse::new(listener);
        let beat = |work| pulse.beat(work);
        let meter = Meter::new(budget, &beat);
        let regions = Regions::new(task.program);
        stopwatch.lap("prepare_us");
        let mut open = Open::new(task);
        let targets = open.targets();
        let mut finder: Box<dyn Finder> = match self.1 {
            Mode::Pdr | Mode::Coarse => {
                let mut search = Search::new(&regions, targets, &meter);
                search.coarse_first = self.1 == Mode::Coarse;
                search.lemmas_wanted = task.proofs == Proofs::Kept;
                search.proofs = task.proofs;
                Box::new(Directed { search, runs: Vec::new() })
            }
            Mode::Qbf => Box::new(Forward::new(World::new(&regions, targets, &meter), false)),
            Mode::Universal => Box::new(Forward::new(World::new(&regions, targets, &meter), true)),
        };
        let mut tracker = TargetTracker::without_guards(task);
        let stopped = loop {
            match finder.find() {
                Err(why) => break Some(why),
                Ok(None) => break None,
                Ok(Some((run, target))) => {
                    tracker.reach(target, &run);
                    if tracker.is_over() {
                        break None;
                    }
                    open.reach(target).into_iter().for_each(|target| finder.ignore(target));
                }
            }
        };
        stopwatch.lap("search_us");
        let holds = tracker.has_seen_all(stopped.as_ref());
        let own = if holds { finder.proof(task, budget) } else { None };
        let lacks_proof = holds && own.is_none() && task.proofs == Proofs::Kept;
        if lacks_proof && budget.defers(meter.work()) {
            budget.gives_up();
        } else if may_tell(stopped.as_ref(), tracker.found(), meter.work(), budget) {
            let is_forward = matches!(self.1, Mode::Qbf | Mode::Universal);
            let is_wanted = holds && own.is_none() && is_forward;
            let others = is_wanted.then(|| lemmas(&open, &regions, budget, meter.work()));
            let proof = own.or(others.flatten());
            proof.into_iter().for_each(|proof| Listener::proof(&mut &pulse, proof));
            let write = |run: u32| -> Result<_, Why> {
                budget.check_writing()?;
                finder.trace(run, budget)
            };
            tracker.tell(stopped, write, &mut &pulse);
        }
        stopwatch.lap("trace_us");
        let mut stats = Stats::from([("regions", regions.all.len() as u64)]);
        stats.extend(finder.counts());
        stats.add("work", meter.work());
        stats.extend(stopwatch.laps());
        stats
    }
}

/// What a mode has found may have no form as a proof: a universal summary has none, and large functions of choices have none that is small. Then lemmas may show that nothing else is to be found, if proofs
/// are asked for, and the work stays within some times that of the search.
fn lemmas(open: &Open, regions: &Regions, budget: &Budget, work: u64) -> Option<Proof> {
    if open.task.proofs != Proofs::Kept {
        return None;
    }
    let budget = budget.alone().with_effort(LEAST_FOR_LEMMAS.max(work.saturating_mul(TIMES_FOR_LEMMAS)));
    let meter = Meter::new(&budget, &|_| {});
    let mut search = Search::new(regions, open.unreached(), &meter);
    (search.lemmas_wanted, search.proofs) = (true, Proofs::Kept);
    match search.run() {
        Ok(None) => search.proof(),
        Ok(Some(_)) | Err(_) => None,
    }
}

/// A search that finds one run to a target after the other.
trait Finder {
    /// A run to a target that counts: its number, and the target. None if there is no other one.
    fn find(&mut self) -> Result<Option<(u32, LocId)>, Why>;
    /// A run that was found.
    fn trace(&self, run: u32, budget: &Budget) -> Result<Trace, Why>;
    /// A target counts no longer.
    fn ignore(&mut self, target: LocId);
    /// What was counted.
    fn counts(&self) -> Stats;
    /// When there is no other run: a proof of that, if there is one and the task wants it.
    fn proof(&mut self, task: &Task, budget: &Budget) -> Option<Proof>;
}

/// A search driven by what is to be shown, and the runs that it found.
struct Directed<'i, 'a> {
    search: Search<'i, 'a>,
    runs: Vec<Found>,
}

impl Finder for Directed<'_, '_> {
    fn find(&mut self) -> Result<Option<(u32, LocId)>, Why> {
        let Some(found) = self.search.run()? else { return Ok(None) };
        let target = match &found {
            Found::Fact(fact) => self.search.facts[*fact as usize].target.expect("a failure has a target"),
            Found::Along(_, target) => *target,
        };
        self.runs.push(found);
        Ok(Some((self.runs.len() as u32 - 1, target)))
    }

    fn trace(&self, run: u32, budget: &Budget) -> Result<Trace, Why> {
        let Search { regions, facts, .. } = &self.search;
        match &self.runs[run as usize] {
            Found::Fact(fact) => Ok(trace::trace(regions, facts, *fact)),
            Found::Along(skeleton, _) => skeleton.trace(regions.program, budget),
        }
    }

    fn ignore(&mut self, target: LocId) {
        self.search.ignore(target);
    }

    fn counts(&self) -> Stats {
        let Search { counts, facts, unfolding, coarse, .. } = &self.search;
        Stats::from([
            ("questions", self.search.calls()),
            ("goals", counts.goals),
            ("conjectures", counts.conjectures),
            ("lemmas", counts.lemmas),
            ("facts", facts.len() as u64),
            ("levels", counts.levels),
            ("unfolded", unfolding.as_ref().map_or(0, |unfolding| unfolding.len() as u64)),
            ("coarse", coarse.as_ref().map_or(0, |coarse| coarse.rounds)),
            ("tracked", coarse.as_ref().map_or(0, |coarse| coarse.len() as u64)),
        ])
    }

    fn proof(&mut self, task: &Task, _: &Budget) -> Option<Proof> {
        is_wanted(task.proofs, task.program, self.search.size()).then(|| self.search.proof()).flatten()
    }
}

/// A forward search; universal summaries come first, if they are wanted.
struct Forward<'i, 'a> {
    search: Worklist<'i, 'a>,
    universal: bool,
    runs: Vec<Vec<Fact>>,
}

impl<'i, 'a> Forward<'i, 'a> {
    fn new(world: World<'i, 'a>, universal: bool) -> Self {
        Forward { search: Worklist::new(world), universal, runs: Vec::new() }
    }
}

impl Finder for Forward<'_, '_> {
    fn find(&mut self) -> Result<Option<(u32, LocId)>, Why> {
        if std::mem::take(&mut self.universal) {
            self.search.make_universal()?;
        }
        let Some((entry, failure)) = self.search.run()? else { return Ok(None) };
        let world = &mut self.search.world;
        self.runs.push(explain::explain(world, entry, failure)?);
        let target = world.entries[entry as usize].failures[failure as usize].target;
        Ok(Some((self.runs.len() as u32 - 1, target)))
    }

    fn trace(&self, run: u32, _: &Budget) -> Result<Trace, Why> {
        let facts = &self.runs[run as usize];
        Ok(trace::trace(self.search.world.regions, facts, facts.len() as u32 - 1))
    }

    fn ignore(&mut self, target: LocId) {
        self.search.world.ignore(target);
    }

    fn counts(&self) -> Stats {
        let world = &self.search.world;
        let sum = |count: fn(&entry::Entry) -> u64| world.entries.iter().map(count).sum::<u64>();
        let counts = &world.counts;
        Stats::from([
            ("entries", world.entries.len() as u64),
            ("path_edges", sum(|entry| entry.origins.len() as u64)),
            ("summaries", sum(|entry| entry.summaries.len() as u64)),
            ("failures", sum(|entry| entry.failures.len() as u64)),
            ("merged", sum(|entry| entry.merged)),
            ("subsumed", counts.subsumed),
            ("questions", world.calls()),
            ("qbf", counts.qbf.formulas),
            ("refinements", counts.qbf.rounds),
            ("universal", counts.universal),
            ("unrolled", counts.rounds),
            ("nodes", sum(|entry| entry.aig.len() as u64)),
        ])
    }

    fn proof(&mut self, task: &Task, budget: &Budget) -> Option<Proof> {
        // The heads of loops that a universal summary notes are not closed in every program.
        let is_plain = self.search.world.counts.universal == 0;
        let size = self.search.size();
        (is_plain && is_wanted(task.proofs, task.program, size)).then(|| self.search.proof(budget)).flatten()
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

    /// The targets of queries that are still open.
    fn unreached(&self) -> HashSet<LocId> {
        let open = |queries: &Vec<usize>| queries.iter().any(|&query| !self.reached[query]);
        self.queries.iter().filter(|(_, queries)| open(queries)).map(|(&loc, _)| loc).collect()
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
