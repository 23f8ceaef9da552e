//! Room `engine/sat`: property-directed search over procedures.
//!
//! # Idea
//!
//! A *goal* asks whether a relation ([`super::knowledge`]) has something in common with a cube. The first goal is whether the
//! program fails at all. A goal is put to the solver of its region, which knows of callees only what lemmas say:
//!
//! * *No*: the cube becomes a lemma, after as many of its bits as possible were dropped. Nothing else was looked at,
//!   so the proof mentions what it needs, and nothing else.
//! * *Yes*, along some path ([`super::path`]): if facts explain all calls on the path, it is a new fact. Otherwise each of the
//!   other calls gives a goal, about the variables that the path needs from it. A goal that the callee's solver refutes from
//!   what is known becomes a lemma at once; if there is none, one of the goals is solved first.
//!
//! Either way something new is known when a goal is gone, and the goal before it is asked again.
//!
//! # Levels
//!
//! Where the call graph has no cycle a lemma holds of all runs at once, since the lemmas it rests on do. Within a
//! *component* of relations that need each other, a lemma of level k is about runs with at most k open calls in the
//! component: it rests on lemmas of level k - 1, and at level 0 nothing returns or fails. A goal from outside the
//! component asks about all runs: then levels grow, lemmas are carried to higher levels where they hold, and when all
//! lemmas of a level were carried to the next one, they hold of all runs. A loop is recursion ([`super::regions`]).
//!
//! # Turns
//!
//! Goals look at one procedure at a time. Three other ways look at all of them, and get a share of the work: lemmas that are guessed of
//! all procedures ([`super::conjecture`]), runs of the whole program ([`super::unfold`]), and coarse programs, whose procedures hand over few globals
//! ([`super::coarse`]). Where few variables matter in the same way everywhere the first finds the
//! whole proof; where a run has to meet conditions in many procedures at once the second finds it; where procedures have many variables and each
//! depends on few of what its callers and callees know, the third finds either.
//!
//! # Paper
//!
//! \[ic3\] for lemmas, levels and generalisation; \[gpdr\] for several relations; \[recmc\] for lemmas and facts of procedures
//! side by side. # Departures: levels count calls within one component, not all calls, so programs without recursion need none.
//!
//! # Cost
//!
//! Finite, since cubes are; in the worst case exponential in the bits of interfaces. In practice it follows the size of the proof.

use super::coarse::{Coarse, Coarsened, Found};
use super::conjecture::{Footprint, Shape};
use super::execute::{Execution, execute};
use super::knowledge::{ALL, Cube, Fact, Kind, Known, Relation};
use super::path::Suspicion;
use super::prover::{Prover, Question};
use super::regions::Regions;
use super::unfold::Unfolding;
use crate::budget::Meter;
use crate::verdict::Why;
use postbop_ir::{LocId, Program, Proofs};
use postbop_kit::aig::Lit;
use postbop_kit::sat::{Answer, Interrupt, LEAST_BYTES, Literal};
use postbop_kit::scc;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::rc::Rc;

/// Whether a relation has something in common with a cube, in runs of a level.
#[derive(Clone)]
pub struct Goal {
    /// The relation.
    pub relation: Relation,
    /// The cube.
    pub cube: Cube,
    /// The level.
    pub level: u32,
}

/// So many nodes of functions are made with the work of one step of a solver.
pub(super) const NODES: u64 = 64;

/// So much work is done before whole runs are tried.
const START: u64 = 64;

/// Lemmas that show what is known already are looked for with so many times the work that it took to know it, and so much more.
const LONGER: u64 = 16;
const START_LEMMAS: u64 = 1 << 16;
/// And with so many times all that, while other engines are at the same task, which may find a proof.
const RACED: u64 = 4;

/// What came of asking a solver.
enum Asked {
    /// Something was learnt about the goal itself.
    Learnt,
    /// A path was found, with these calls that no fact explains.
    Suspected(Suspicion),
}

/// A search.
pub struct Search<'i, 'a> {
    pub(super) regions: &'i Regions<'a>,
    pub(super) meter: &'i Meter<'i>,
    pub(super) interrupt: Interrupt<'i>,
    pub(super) provers: Vec<Option<Box<Prover<'i>>>>,
    /// How many solvers were made since all were dropped, and how many there may be.
    built: u64,
    most_built: u64,
    pub(super) known: Vec<Known>,
    /// All runs that were found.
    pub facts: Vec<Fact>,
    /// The component of each relation, the members of each component, whether they need each other, and the level reached.
    pub(super) component: Vec<u32>,
    pub(super) members: Vec<Vec<u32>>,
    pub(super) recursive: Vec<bool>,
    pub(super) reached: Vec<u32>,
    /// What each region calls.
    pub(super) successors: Vec<Vec<u32>>,
    /// Which regions can fail.
    pub(super) fails: Vec<bool>,
    /// Lemmas of higher levels about globals alone, whatever the relation: how many relations have each.
    pub(super) shapes: HashMap<Shape, u32>,
    /// How many goals asked about each footprint, the one to be conjectured next, and those that were conjectured.
    pub(super) footprints: HashMap<Footprint, u32>,
    pub(super) waiting: Option<(Footprint, u32)>,
    pub(super) conjectured: HashSet<Footprint>,
    /// All targets, and those that count no longer.
    targets: HashSet<LocId>,
    off: HashSet<LocId>,
    /// Whole runs, once they are tried.
    pub(super) unfolding: Option<Box<Unfolding<'i>>>,
    /// Coarse programs, once they are tried.
    pub(super) coarse: Option<Box<Coarse>>,
    /// Whether they come before anything else.
    pub coarse_first: bool,
    /// Whether proofs are wanted.
    pub proofs: Proofs,
    /// Whether lemmas are wanted that show what holds, even if whole runs show it without them.
    pub lemmas_wanted: bool,
    /// If whole runs have shown that none fails, after how much work.
    pub shown: Option<u64>,
    /// What happened how often.
    pub counts: Counts,
}

/// What happened how often.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    /// Questions to solvers that were dropped.
    pub calls: u64,
    /// Goals.
    pub goals: u64,
    /// How often guesses were made, and questions that were asked about footprints.
    pub guesses: u64,
    pub conjectures: u64,
    /// Lemmas.
    pub lemmas: u64,
    /// The highest level.
    pub levels: u64,
}

impl<'i, 'a> Search<'i, 'a> {
    /// A search that knows nothing, for these targets.
    pub fn new(regions: &'i Regions<'a>, targets: HashSet<LocId>, meter: &'i Meter<'i>) -> Self {
        let successors: Vec<Vec<u32>> = regions.all.iter().map(|region| regions.successors(region)).collect();
        let mut fails: Vec<bool> =
            regions.all.iter().map(|region| holds_target(regions, region, &targets)).collect();
        spread(&successors, &mut fails);
        // What a region needs to return is that others return; to fail, that they return or fail.
        let needs: Vec<Vec<u32>> = (0..2 * successors.len())
            .map(|at| {
                let returns = successors[at / 2].iter().map(|&to| to << 1);
                let fail = successors[at / 2].iter().filter(|_| at % 2 == 1).map(|&to| to << 1 | 1);
                returns.chain(fail).collect()
            })
            .collect();
        let members = scc::components(needs.len(), |at| &needs[at]);
        let mut component = vec![0; needs.len()];
        for (number, members) in members.iter().enumerate() {
            members.iter().for_each(|&member| component[member as usize] = number as u32);
        }
        let recursive = members
            .iter()
            .map(|members| members.len() > 1 || needs[members[0] as usize].contains(&members[0]))
            .collect();
        let interrupt: Interrupt<'i> = Rc::new(|work| meter.goes_on(work));
        Search {
            regions,
            meter,
            interrupt,
            provers: regions.all.iter().map(|_| None).collect(),
            built: 0,
            most_built: (meter.memory() / 4 / LEAST_BYTES).max(8),
            known: needs.iter().map(|_| Known::default()).collect(),
            facts: Vec::new(),
            component,
            reached: vec![1; members.len()],
            members,
            recursive,
            fails,
            shapes: HashMap::default(),
            footprints: HashMap::default(),
            waiting: None,
            conjectured: HashSet::default(),
            successors,
            targets,
            off: HashSet::default(),
            unfolding: None,
            coarse: None,
            coarse_first: false,
            proofs: Proofs::Unwanted,
            lemmas_wanted: false,
            shown: None,
            counts: Counts::default(),
        }
    }

    /// How often solvers were asked.
    pub fn calls(&self) -> u64 {
        self.counts.calls + self.provers.iter().flatten().map(|prover| prover.calls()).sum::<u64>()
    }

    /// A run that reaches a target which counts; none if there is no such run.
    pub fn run(&mut self) -> Result<Option<Found>, Why> {
        let main = self.regions.entry(self.regions.program.main());
        if !self.fails[main as usize] {
            return Ok(None);
        }
        let top = Goal { relation: Relation::new(main, Kind::Fail), cube: Cube::new(), level: ALL };
        match self.solve(top) {
            // That no run fails is known, only lemmas that show it are not.
            Err(_) if self.shown.is_some() => Ok(None),
            found => found,
        }
    }

    /// Whether a region can fail at all, as far as control is concerned.
    pub(super) fn can_fail(&self, region: u32) -> bool {
        self.fails[region as usize]
    }

    /// Whether a location is a target that counts.
    pub(super) fn counts(&self, loc: LocId) -> bool {
        self.targets.contains(&loc) && !self.off.contains(&loc)
    }

    /// A target counts no longer.
    pub fn ignore(&mut self, target: LocId) {
        self.off.insert(target);
        if let Some(unfolding) = &mut self.unfolding {
            unfolding.ignore(target);
        }
        let facts = &self.facts;
        let mut gone: Vec<u32> = Vec::new();
        for known in &mut self.known {
            known.facts.retain(|&fact| {
                let keeps = facts[fact as usize].target != Some(target);
                gone.extend((!keeps).then_some(fact));
                keeps
            });
        }
        for prover in self.provers.iter_mut().flatten() {
            gone.iter().for_each(|&fact| prover.retire(fact));
        }
    }

    /// Whether no run fails, and lemmas that show it were sought for long enough.
    fn has_sought_lemmas(&self) -> bool {
        let times = if self.meter.is_raced() { RACED } else { 1 };
        let most =
            |shown: u64| shown.saturating_mul(LONGER).saturating_add(START_LEMMAS).saturating_mul(times);
        self.shown.is_some_and(|shown| self.meter.work() > most(shown))
    }

    fn solve(&mut self, goal: Goal) -> Result<Option<Found>, Why> {
        let main = goal.relation.region();
        let mut goals = vec![goal];
        loop {
            if self.has_sought_lemmas() {
                return Ok(None);
            }
            let goal = goals.last().expect("the first goal returns from here").clone();
            let (known, component) =
                (&self.known[goal.relation.index()], self.component(goal.relation) as usize);
            let fact =
                known.facts.iter().copied().find(|&fact| self.has_in_common(fact, goal.relation, &goal.cube));
            if fact.is_some() || known.excludes(&goal.cube, goal.level) {
                goals.pop();
                if goals.is_empty() {
                    return Ok(fact.map(Found::Fact));
                }
                continue;
            }
            if goal.level == ALL && self.recursive[component] {
                if !known.excludes(&goal.cube, self.reached[component]) {
                    goals.push(Goal { level: self.reached[component], ..goal });
                } else if !self.propagate(component)? && !self.conjecture_shapes(component)? {
                    self.reached[component] += 1;
                    self.counts.levels = self.counts.levels.max(self.reached[component] as u64);
                }
                continue;
            }
            if self.is_turn_of_coarse() {
                match self.coarsen(main)? {
                    Coarsened::Open => {}
                    Coarsened::Holds => goals.truncate(1),
                    Coarsened::Fails(run, target) => return Ok(Some(Found::Along(run, target))),
                }
                continue;
            }
            if self.is_turn_of_runs() {
                if self.unfold(main)? {
                    goals.truncate(1);
                }
                continue;
            }
            let asked =
                self.with_prover(goal.relation.region(), |search, prover| search.ask(prover, &goal))?;
            if let Asked::Suspected(Suspicion { calls, first, .. }) = asked
                && !self.notice(&calls)?
                && !self.refute_one(&calls)?
            {
                self.counts.goals += 1;
                goals.push(first);
            }
        }
    }

    /// Whether a target counts no longer.
    pub(super) fn is_ignored(&self, target: LocId) -> bool {
        self.off.contains(&target)
    }

    /// Whether it is the turn of whole runs, which get a third of the work.
    fn is_turn_of_runs(&self) -> bool {
        if self.shown.is_some() {
            return false;
        }
        let spent = self.unfolding.as_ref().map_or(0, |unfolding| unfolding.work);
        self.meter.work() > spent.saturating_mul(3).saturating_add(START)
    }

    pub(super) fn component(&self, relation: Relation) -> u32 {
        self.component[relation.index()]
    }

    /// Does something with the prover of a region, which has been told all that is known.
    pub(super) fn with_prover<T>(
        &mut self,
        region: u32,
        work: impl FnOnce(&mut Self, &mut Prover<'i>) -> Result<T, Why>,
    ) -> Result<T, Why> {
        let mut prover = match self.provers[region as usize].take() {
            Some(prover) => prover,
            None => Box::new(self.build(region)?),
        };
        prover.update(&self.known, |relation| self.component[relation.index()]);
        let done = work(self, &mut prover);
        self.provers[region as usize] = Some(prover);
        done
    }

    fn build(&mut self, region: u32) -> Result<Prover<'i>, Why> {
        self.make_room();
        let execution = self.execution(region)?;
        let components = [Kind::Return, Kind::Fail].map(|kind| self.component(Relation::new(region, kind)));
        Ok(Prover::new(execution, components, Rc::clone(&self.interrupt)))
    }

    /// The functions of a region.
    pub(super) fn execution(&mut self, region: u32) -> Result<Rc<Execution>, Why> {
        if let Some(prover) = &self.provers[region as usize] {
            return Ok(Rc::clone(&prover.execution));
        }
        let is_target = |loc: LocId| self.targets.contains(&loc);
        let goes_on = |work| self.meter.goes_on(work);
        let execution = execute(self.regions, region, &is_target, &self.fails, &goes_on);
        execution.map(Rc::new).ok_or_else(|| self.meter.why())
    }

    /// Drops all solvers if there are too many: what is known is known without them.
    fn make_room(&mut self) {
        self.built += 1;
        if self.built > self.most_built {
            self.counts.calls = self.calls();
            self.provers.iter_mut().for_each(|prover| *prover = None);
            self.built = 1;
        }
    }

    /// Puts a goal to the solver of its region.
    fn ask(&mut self, prover: &mut Prover<'i>, goal: &Goal) -> Result<Asked, Why> {
        let mut held = prover.hold(|relation| &self.known[relation.index()].facts, &self.facts);
        let limits = self.limits(prover, goal);
        loop {
            let also = [&limits[..], &held[..]].concat();
            let question =
                Question { kind: goal.relation.kind(), cube: &goal.cube, level: goal.level, also: &also };
            match prover.ask(&question) {
                Answer::Stopped => return Err(self.meter.why()),
                Answer::Sat => break,
                Answer::Unsat => {
                    let before = held.len();
                    held.retain(|&literal| !prover.in_core(literal));
                    if held.len() == before {
                        let core = prover.core(&goal.cube);
                        self.learn(prover, goal, core)?;
                        return Ok(Asked::Learnt);
                    }
                }
            }
        }
        let values = prover.model();
        Ok(match self.follow(&prover.execution, goal, &values) {
            Ok(fact) => {
                self.note(goal.relation, fact);
                Asked::Learnt
            }
            Err(suspicion) => Asked::Suspected(suspicion),
        })
    }

    /// Notes a fact; its number.
    pub(super) fn note(&mut self, relation: Relation, fact: Fact) -> u32 {
        let number = self.facts.len() as u32;
        self.known[relation.index()].facts.push(number);
        self.facts.push(fact);
        number
    }

    /// What is assumed with every question about a goal.
    pub(super) fn limits(&self, prover: &mut Prover<'i>, goal: &Goal) -> Vec<Literal> {
        let mut limits = match goal.level {
            1 => prover.shut(goal.relation.kind(), |relation| self.component[relation.index()]),
            _ => Vec::new(),
        };
        let off: Vec<Lit> = prover
            .execution
            .targets
            .iter()
            .filter(|target| self.off.contains(&target.loc))
            .map(|target| !target.counts)
            .collect();
        limits.extend(off.into_iter().map(|lit| prover.literal(lit)));
        limits
    }

    /// For each bit of a relation's interface the field of the procedure that it is a bit of.
    pub(super) fn fields(&self, relation: Relation) -> Vec<usize> {
        let region = &self.regions.all[relation.region() as usize];
        let layout = &self.regions.layouts[region.proc];
        let bits = region.inputs.iter().chain(&self.regions.outputs[region.proc]);
        bits.map(|&bit| layout.field(bit).0).collect()
    }

    /// The level of a call that a goal needs.
    pub(super) fn level_of_call(&self, goal: &Goal, relation: Relation) -> u32 {
        let same = self.component(relation) == self.component(goal.relation);
        if same && goal.level != ALL { goal.level - 1 } else { ALL }
    }

    /// Whether one of several calls can be refuted from what is known, without a closer look at its own calls.
    fn refute_one(&mut self, calls: &[Goal]) -> Result<bool, Why> {
        for call in calls {
            let region = call.relation.region();
            if self.with_prover(region, |search, prover| search.refute_at_once(prover, call))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn refute_at_once(&mut self, prover: &mut Prover<'i>, call: &Goal) -> Result<bool, Why> {
        let limits = self.limits(prover, call);
        let core = self.refute(prover, call.relation, &call.cube, call.level, &limits)?;
        match core {
            Some(core) => self.learn(prover, call, core).map(|()| true),
            None => Ok(false),
        }
    }
}

/// Whether a region has a target in it.
fn holds_target(regions: &Regions, region: &super::regions::Region, targets: &HashSet<LocId>) -> bool {
    let program: &Program = regions.program;
    let exit = program.procs()[region.proc].exit;
    region.locs.iter().any(|loc| targets.contains(loc)) || targets.contains(&exit)
}

/// Marks what leads to something marked.
fn spread(successors: &[Vec<u32>], marked: &mut [bool]) {
    let mut before = vec![Vec::new(); successors.len()];
    for (from, all) in successors.iter().enumerate() {
        all.iter().for_each(|&to| before[to as usize].push(from));
    }
    let mut work: Vec<usize> = (0..marked.len()).filter(|&at| marked[at]).collect();
    while let Some(at) = work.pop() {
        for &from in &before[at] {
            if !std::mem::replace(&mut marked[from], true) {
                work.push(from);
            }
        }
    }
}
