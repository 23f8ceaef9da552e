//! Room `engine/sat`: property-directed search over procedures.
//!
//! # Idea
//!
//! A *goal* asks whether a relation ([`super::knowledge`]) has something in common with a cube. The first goal is whether the
//! program fails at all. A goal is put to the solver of its region, which knows of callees only what lemmas say:
//!
//! * *No*: the cube becomes a lemma, after as many of its bits as possible were dropped. Nothing else was looked at,
//!   so the proof mentions what it needs, and nothing else.
//! * *Yes*, along some path: the first call on the path that no fact explains becomes a goal of its own. Its inputs are
//!   those that the callee really gets on this path; of its outputs only those bits are asked for that the path needs. If
//!   all calls are explained by facts, the path is a new fact.
//!
//! Either way something new is known when the goal is gone, and the one before it is asked again.
//!
//! # Levels
//!
//! Where the call graph has no cycle a lemma holds of all runs at once, since the lemmas it rests on do. Within a
//! *component* of relations that need each other, a lemma of level k is about runs with at most k open calls in the
//! component: it rests on lemmas of level k - 1, and at level 0 nothing returns or fails. Whoever asks from outside the
//! component wants to know about all runs: then levels grow, lemmas are carried to higher levels where they hold, and when all
//! lemmas of a level were carried to the next one, they hold of all runs. A loop is recursion ([`super::regions`]).
//!
//! # Paper
//!
//! \[ic3\] for lemmas, levels and generalisation; \[gpdr\] for several relations; \[recmc\] for lemmas and facts of procedures
//! side by side. # Departures: levels count calls within one component, not all calls, so programs without recursion need none;
//! a goal's inputs are those of a real path, by facts for the calls before.
//!
//! # Cost
//!
//! Finite, since cubes are; in the worst case exponential in the bits of interfaces. In practice it follows the size of the proof.

use super::execute::{Execution, Passed, Role, Site, execute};
use super::knowledge::{ALL, Bit, Cube, Fact, Kind, Known, Relation};
use super::prover::{Prover, Question, at_site, does};
use super::regions::Regions;
use super::slice::Slice;
use crate::budget::Meter;
use crate::verdict::Why;
use postbop_ir::{LocId, Program, VarId};
use postbop_kit::aig::{Lit, Values};
use postbop_kit::sat::{Answer, Interrupt, Literal};
use postbop_kit::scc;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::cmp::Reverse;
use std::rc::Rc;

/// Whether a relation has something in common with a cube, in runs of a level.
#[derive(Clone)]
struct Goal {
    relation: Relation,
    cube: Cube,
    level: u32,
}

/// What came of asking a solver.
enum Asked {
    /// Something was learnt about the goal itself.
    Learnt,
    /// A path was found, with these calls that no fact explains.
    Suspected(Suspicion),
}

/// A path that may not be one.
struct Suspicion {
    /// Goals for the calls on it that no fact explains, in their order.
    calls: Vec<Goal>,
    /// The one that says least besides what is needed, and how much that is.
    first: Goal,
    added: usize,
}

/// A path of a model.
#[derive(Clone, Copy)]
struct Path<'p> {
    execution: &'p Execution,
    goal: &'p Goal,
    values: &'p Values,
    end: &'p End,
    /// The calls on it, in order.
    calls: &'p [(u32, Kind)],
    /// The facts that explain them.
    explained: &'p HashMap<u32, Option<u32>>,
}

/// A search.
pub struct Search<'i, 'a> {
    regions: &'i Regions<'a>,
    meter: &'i Meter<'i>,
    interrupt: Interrupt<'i>,
    provers: Vec<Option<Box<Prover<'i>>>>,
    known: Vec<Known>,
    /// All runs that were found.
    pub facts: Vec<Fact>,
    /// The component of each relation, the members of each component, whether they need each other, and the level reached.
    component: Vec<u32>,
    members: Vec<Vec<u32>>,
    recursive: Vec<bool>,
    reached: Vec<u32>,
    /// Which regions can fail.
    fails: Vec<bool>,
    /// Lemmas of higher levels about globals alone, whatever the relation: how many relations have each.
    shapes: HashMap<Shape, u32>,
    /// The targets that still count.
    targets: HashSet<LocId>,
    off: HashSet<LocId>,
    /// What happened how often.
    pub counts: Counts,
}

/// Bits of globals: which, which of its bits, whether afterwards, and the value.
type Shape = Vec<(VarId, u32, bool, bool)>;

/// What happened how often.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    /// Goals.
    pub goals: u64,
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
            known: needs.iter().map(|_| Known::default()).collect(),
            facts: Vec::new(),
            component,
            reached: vec![1; members.len()],
            members,
            recursive,
            fails,
            shapes: HashMap::default(),
            targets,
            off: HashSet::default(),
            counts: Counts::default(),
        }
    }

    /// How often solvers were asked.
    pub fn calls(&self) -> u64 {
        self.provers.iter().flatten().map(|prover| prover.calls()).sum()
    }

    /// A run that reaches a target which counts; none if there is no such run.
    pub fn run(&mut self) -> Result<Option<u32>, Why> {
        let main = self.regions.entry(self.regions.program.main);
        if !self.fails[main as usize] {
            return Ok(None);
        }
        let top = Goal { relation: Relation::new(main, Kind::Fail), cube: Cube::new(), level: ALL };
        self.solve(top)
    }

    /// A target counts no longer.
    pub fn ignore(&mut self, target: LocId) {
        self.off.insert(target);
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

    fn solve(&mut self, goal: Goal) -> Result<Option<u32>, Why> {
        let mut goals = vec![goal];
        loop {
            let goal = goals.last().expect("the first goal returns from here").clone();
            let (known, component) =
                (&self.known[goal.relation.index()], self.component(goal.relation) as usize);
            let fact =
                known.facts.iter().copied().find(|&fact| self.has_in_common(fact, goal.relation, &goal.cube));
            if fact.is_some() || known.excludes(&goal.cube, goal.level) {
                goals.pop();
                if goals.is_empty() {
                    return Ok(fact);
                }
                continue;
            }
            if goal.level == ALL && self.recursive[component] {
                if known.excludes(&goal.cube, self.reached[component]) && !self.propagate(component)? {
                    self.reached[component] += 1;
                    self.counts.levels = self.counts.levels.max(self.reached[component] as u64);
                } else {
                    goals.push(Goal { level: self.reached[component], ..goal });
                }
                continue;
            }
            if let Asked::Suspected(Suspicion { calls, first, .. }) = self.ask(&goal)?
                && !self.refute_one(&calls)?
            {
                self.counts.goals += 1;
                goals.push(first);
            }
        }
    }

    fn component(&self, relation: Relation) -> u32 {
        self.component[relation.index()]
    }

    /// Whether a run is one of those that a cube asks for.
    fn has_in_common(&self, fact: u32, relation: Relation, cube: &[Bit]) -> bool {
        let fact = &self.facts[fact as usize];
        let inputs = self.regions.all[relation.region() as usize].inputs.len();
        let mut fixed: HashMap<usize, bool> =
            fact.inputs.iter().map(|bit| (bit.number(), bit.value())).collect();
        cube.iter().all(|bit| {
            let input = match bit.number().checked_sub(inputs) {
                None => bit.number(),
                Some(output) => match fact.copies[output] {
                    Some(input) => input as usize,
                    None => return fact.outputs[output] == bit.value(),
                },
            };
            *fixed.entry(input).or_insert(bit.value()) == bit.value()
        })
    }

    fn prover(&mut self, region: u32) -> Box<Prover<'i>> {
        match self.provers[region as usize].take() {
            Some(prover) => prover,
            None => {
                let is_target = |loc: LocId| self.targets.contains(&loc);
                let execution = execute(self.regions, region, &is_target, &self.fails);
                let components =
                    [Kind::Return, Kind::Fail].map(|kind| self.component(Relation::new(region, kind)));
                Box::new(Prover::new(execution, components, Rc::clone(&self.interrupt)))
            }
        }
    }

    /// Puts a goal to the solver of its region.
    fn ask(&mut self, goal: &Goal) -> Result<Asked, Why> {
        let region = goal.relation.region();
        let mut prover = self.prover(region);
        let asked = self.ask_with(&mut prover, goal);
        self.provers[region as usize] = Some(prover);
        asked
    }

    fn ask_with(&mut self, prover: &mut Prover<'i>, goal: &Goal) -> Result<Asked, Why> {
        let component = |relation: Relation| self.component[relation.index()];
        prover.update(&self.known, component);
        let mut held = prover.hold(&self.known, &self.facts);
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
                self.known[goal.relation.index()].facts.push(self.facts.len() as u32);
                self.facts.push(fact);
                Asked::Learnt
            }
            Err(suspicion) => Asked::Suspected(suspicion),
        })
    }

    /// What is assumed with every question about a goal.
    fn limits(&self, prover: &mut Prover<'i>, goal: &Goal) -> Vec<Literal> {
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

    /// The path of a model: a fact, or goals for the calls that no fact explains.
    fn follow(&self, execution: &Execution, goal: &Goal, values: &Values) -> Result<Fact, Suspicion> {
        let end = End::of(execution, goal.relation.kind(), values);
        let path = execution.path(self.regions.program, end.way, values);
        let mut calls: Vec<(u32, Kind)> = Vec::new();
        for passed in &path {
            calls.extend(execution.site(*passed).map(|site| (site, Kind::Return)));
        }
        calls.extend(end.call.map(|site| (site, Kind::Fail)));
        let explained: HashMap<u32, Option<u32>> =
            calls.iter().map(|&(site, kind)| (site, self.explain(execution, values, site, kind))).collect();
        if explained.values().all(Option::is_some) {
            let explained = explained.into_iter().filter_map(|(site, fact)| Some((site, fact?))).collect();
            return Ok(self.fact(execution, goal, values, &end, &path, &explained));
        }
        let path = Path { execution, goal, values, end: &end, calls: &calls, explained: &explained };
        let suspected = self.suspect(&path, false).filter(|suspicion| suspicion.added == 0);
        let suspected = suspected.or_else(|| self.suspect(&path, true));
        Err(suspected.expect("a call is not explained"))
    }

    /// The fact that explains a call.
    fn explain(&self, execution: &Execution, values: &Values, site: u32, kind: Kind) -> Option<u32> {
        let site = &execution.sites[site as usize];
        let fits = |fact: &u32| {
            let fact = &self.facts[*fact as usize];
            let same = |(own, &lit): (Result<bool, usize>, &Lit)| {
                values.get(lit) == own.unwrap_or_else(|input| values.get(site.inputs[input]))
            };
            fact.inputs.iter().all(|&bit| values.get(at_site(site, bit)))
                && fact.each_output().zip(&site.outputs).all(same)
        };
        self.known[Relation::new(site.callee, kind).index()].facts.iter().copied().find(fits)
    }

    /// Goals for the calls of a path, from the last to the first: each asks for the outputs that the end of the path, or a later
    /// call, needs. If the conditions on the path do not count, that is what the values at its end are computed from.
    fn suspect(&self, path: &Path, with_conditions: bool) -> Option<Suspicion> {
        let Path { execution, goal, values, end, calls, explained } = *path;
        let mut roots: Vec<Lit> =
            calls.iter().map(|&(site, kind)| does(&execution.sites[site as usize], kind)).collect();
        roots.extend(with_conditions.then_some(end.root));
        let own = goal.cube.iter().filter_map(|bit| bit.number().checked_sub(execution.inputs.len()));
        roots.extend(own.map(|output| execution.outputs[output]));
        let kinds: HashMap<u32, Kind> = calls.iter().copied().collect();
        let mut wanted: HashMap<u32, Vec<usize>> = HashMap::default();
        let mut goals: HashMap<u32, (usize, Goal)> = HashMap::default();
        let cost = |node: usize| match execution.roles.get(&node) {
            Some(Role::Output(..)) => Some(1),
            Some(Role::Select) if !with_conditions => None,
            _ => Some(0),
        };
        execution.aig.reason(&roots, values, cost, |node| match execution.roles.get(&node) {
            Some(&Role::Output(site, output)) => {
                wanted.entry(site).or_default().push(output as usize);
                Vec::new()
            }
            Some(Role::Does(site)) if kinds.contains_key(site) => {
                let there = &execution.sites[*site as usize];
                let outputs = wanted.remove(site).unwrap_or_default();
                if outputs.is_empty() && !with_conditions {
                    return Vec::new();
                }
                if let Some(fact) = explained[site] {
                    let fact = &self.facts[fact as usize];
                    let copied = outputs.iter().filter_map(|&output| fact.copies[output]);
                    let copied = copied.map(|input| there.inputs[input as usize]);
                    return fact.inputs.iter().map(|&bit| at_site(there, bit)).chain(copied).collect();
                }
                let relation = Relation::new(there.callee, kinds[site]);
                let level = self.level_of_call(goal, relation);
                let (added, cube) = self.ask_for(there, relation, values, outputs);
                let inputs = cube.iter().filter(|bit| bit.number() < there.inputs.len());
                let inputs = inputs.map(|&bit| at_site(there, bit)).collect();
                goals.insert(*site, (added, Goal { relation, cube, level }));
                inputs
            }
            _ => Vec::new(),
        });
        let calls: Vec<(usize, Goal)> = calls.iter().filter_map(|(site, _)| goals.remove(site)).collect();
        let rank = |(added, goal): &&(usize, Goal)| (*added, Reverse(self.familiar(goal)));
        let (added, first) = calls.iter().min_by_key(rank)?.clone();
        Some(Suspicion { calls: calls.into_iter().map(|(_, goal)| goal).collect(), first, added })
    }

    /// The cube to ask for where a call has to give some outputs: these, the inputs of the same variables, and whatever else it
    /// takes to have nothing in common with the facts that are known. Returns how much that is, too.
    fn ask_for(
        &self,
        site: &Site,
        relation: Relation,
        values: &Values,
        outputs: Vec<usize>,
    ) -> (usize, Cube) {
        let count = site.inputs.len();
        let lits = site.inputs.iter().chain(site.outputs.iter().filter(|_| relation.kind() == Kind::Return));
        let whole: Cube = lits.enumerate().map(|(at, &lit)| Bit::new(at, values.get(lit))).collect();
        let fields = self.fields(relation);
        let wanted: HashSet<usize> = outputs.iter().map(|&output| fields[count + output]).collect();
        let is_wanted = |bit: &Bit| match bit.number().checked_sub(count) {
            Some(output) => outputs.contains(&output),
            None => wanted.contains(&fields[bit.number()]),
        };
        let mut cube: Cube = whole.iter().filter(|bit| is_wanted(bit)).copied().collect();
        let mut added = 0;
        for &fact in &self.known[relation.index()].facts {
            if self.has_in_common(fact, relation, &cube) {
                let fact = &self.facts[fact as usize];
                let output = fact.each_output().zip(count..).find_map(|(own, at)| match own {
                    Ok(value) => (whole[at].value() != value).then_some([Some(at), None]),
                    Err(input) => {
                        (whole[at].value() != whole[input].value()).then_some([Some(at), Some(input)])
                    }
                });
                let differs = output.or_else(|| {
                    let input = fact.inputs.iter().find(|bit| whole[bit.number()] != **bit);
                    input.map(|bit| [Some(bit.number()), None])
                });
                for at in differs.expect("the fact does not explain the call").into_iter().flatten() {
                    if let Err(place) = cube.binary_search(&whole[at]) {
                        cube.insert(place, whole[at]);
                    }
                }
                added += 1;
            }
        }
        (added, cube)
    }

    /// For each bit of a relation's interface the field of the procedure that it is a bit of.
    fn fields(&self, relation: Relation) -> Vec<usize> {
        let region = &self.regions.all[relation.region() as usize];
        let layout = &self.regions.layouts[region.proc];
        let bits = region.inputs.iter().chain(&self.regions.outputs[region.proc]);
        bits.map(|&bit| layout.field(bit).0).collect()
    }

    /// The level of a call that a goal needs.
    fn level_of_call(&self, goal: &Goal, relation: Relation) -> u32 {
        let same = self.component(relation) == self.component(goal.relation);
        if same && goal.level != ALL { goal.level - 1 } else { ALL }
    }

    /// Whether one of several calls can be refuted from what is known, without a closer look at its own calls.
    fn refute_one(&mut self, calls: &[Goal]) -> Result<bool, Why> {
        for call in calls {
            let region = call.relation.region();
            let mut prover = self.prover(region);
            let refuted = self.refute_at_once(&mut prover, call);
            self.provers[region as usize] = Some(prover);
            if refuted? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn refute_at_once(&mut self, prover: &mut Prover<'i>, call: &Goal) -> Result<bool, Why> {
        prover.update(&self.known, |relation| self.component[relation.index()]);
        let limits = self.limits(prover, call);
        let core = self.refute(prover, call.relation, &call.cube, call.level, &limits)?;
        match core {
            Some(core) => self.learn(prover, call, core).map(|()| true),
            None => Ok(false),
        }
    }

    /// The run along a path.
    fn fact(
        &self,
        execution: &Execution,
        goal: &Goal,
        values: &Values,
        end: &End,
        path: &[Passed],
        explained: &HashMap<u32, u32>,
    ) -> Fact {
        let kind = goal.relation.kind();
        let proc = self.regions.all[goal.relation.region() as usize].proc;
        let mut slice = Slice::new(self.regions, proc, kind);
        let (mut steps, mut next, mut target) = (Vec::new(), None, end.target);
        if let Some(site) = end.call {
            let fact = explained[&site];
            let there = &execution.sites[site as usize];
            (next, target) = (Some(fact), self.facts[fact as usize].target);
            match there.edge {
                Some(edge) => {
                    slice.enter(edge, &self.facts[fact as usize]);
                    steps.push((edge, execution.choices(edge, values), None));
                }
                None => slice.tail(&self.facts[fact as usize]),
            }
        }
        for &passed in path.iter().rev() {
            let call = execution.site(passed).map(|site| explained[&site]);
            let run = call.map(|fact| &self.facts[fact as usize]);
            match (passed, run) {
                (Passed::Edge(edge), run) => {
                    slice.edge(edge, run);
                    steps.push((edge, execution.choices(edge, values), call));
                }
                (Passed::Tail(_), run) => {
                    slice.tail(run.expect("a call on a path has a run"));
                    next = call;
                }
            }
        }
        steps.reverse();
        let value = |&lit: &Lit| values.get(lit);
        let needed = slice.inputs(goal.relation.region()).into_iter();
        Fact {
            region: goal.relation.region(),
            inputs: needed.map(|at| Bit::new(at, values.get(execution.inputs[at]))).collect(),
            outputs: if kind == Kind::Return {
                execution.outputs.iter().map(value).collect()
            } else {
                Vec::new()
            },
            copies: slice.copies(goal.relation.region()),
            free: execution.free.iter().map(value).collect(),
            steps,
            next,
            target,
        }
    }

    /// Makes a cube that cannot be reached as small as possible, and notes it.
    fn learn(&mut self, prover: &mut Prover<'i>, goal: &Goal, core: Cube) -> Result<(), Why> {
        let recursive = self.recursive[self.component(goal.relation) as usize];
        let mut level = if recursive { goal.level } else { ALL };
        let limits = self.limits(prover, goal);
        let mut cube = core;
        for bit in cube.clone() {
            let Ok(at) = cube.binary_search(&bit) else { continue };
            let mut less = cube.clone();
            less.remove(at);
            if let Some(core) = self.refute(prover, goal.relation, &less, level, &limits)? {
                cube = core;
            }
        }
        self.counts.lemmas += 1;
        if level != ALL {
            let limits = self.limits(prover, &Goal { level: ALL, ..goal.clone() });
            if let Some(core) = self.refute(prover, goal.relation, &cube, ALL, &limits)? {
                (cube, level) = (core, ALL);
            }
        }
        if level > 1
            && let Some(shape) = self.shape(goal.relation, &cube)
        {
            *self.shapes.entry(shape).or_default() += 1;
        }
        self.known[goal.relation.index()].learn(cube, level);
        Ok(())
    }

    /// A cube as bits of globals, before or after; none if it has others.
    fn shape(&self, relation: Relation, cube: &[Bit]) -> Option<Shape> {
        let region = &self.regions.all[relation.region() as usize];
        let (fields, layout) = (self.fields(relation), &self.regions.layouts[region.proc]);
        let globals = self.regions.scopes.globals(region.proc);
        let bit = |bit: &Bit| {
            let after = bit.number().checked_sub(region.inputs.len());
            let place = match after {
                Some(output) => self.regions.outputs[region.proc][output],
                None => region.inputs[bit.number()],
            };
            let field = fields[bit.number()];
            let nth = place - layout.first[field];
            Some((*globals.get(field)?, nth, after.is_some(), bit.value()))
        };
        cube.iter().map(bit).collect()
    }

    /// How many relations are known to have nothing in common with what a goal asks of globals: then the goal is likely to be
    /// refuted as well.
    fn familiar(&self, goal: &Goal) -> u32 {
        let region = &self.regions.all[goal.relation.region() as usize];
        let globals = self.regions.scopes.globals(region.proc).len();
        let fields = self.fields(goal.relation);
        let own: Cube = goal.cube.iter().filter(|bit| fields[bit.number()] < globals).copied().collect();
        let own: HashSet<_> = self.shape(goal.relation, &own).into_iter().flatten().collect();
        let matching = self.shapes.iter().filter(|(shape, _)| shape.iter().all(|bit| own.contains(bit)));
        matching.map(|(_, &count)| count).max().unwrap_or(0)
    }

    /// The core of a cube that cannot be reached, if it holds for fewer calls that it cannot.
    fn refute(
        &self,
        prover: &mut Prover<'i>,
        relation: Relation,
        cube: &[Bit],
        level: u32,
        limits: &[Literal],
    ) -> Result<Option<Cube>, Why> {
        let supposed = prover.suppose(relation, cube);
        let also: Vec<Literal> = limits.iter().copied().chain(supposed).collect();
        let answer = prover.ask(&Question { kind: relation.kind(), cube, level, also: &also });
        let core = match answer {
            Answer::Stopped => return Err(self.meter.why()),
            Answer::Sat => None,
            // What was supposed of the cube follows from the same of its core.
            Answer::Unsat => Some(prover.core(cube)),
        };
        prover.drop(supposed);
        Ok(core)
    }

    /// Carries the lemmas of a component to higher levels; whether they hold of all runs now.
    fn propagate(&mut self, component: usize) -> Result<bool, Why> {
        for level in 1..=self.reached[component] {
            for member in self.members[component].clone() {
                let relation = Relation::from_index(member);
                let lemmas = &self.known[member as usize].lemmas;
                let here: Vec<usize> = (0..lemmas.len()).filter(|&at| lemmas[at].level == level).collect();
                for at in here {
                    let cube = self.known[member as usize].lemmas[at].cube.clone();
                    if self.known[member as usize].excludes(&cube, level + 1) {
                        self.known[member as usize].raise(at, level + 1);
                        continue;
                    }
                    let goal = Goal { relation, cube, level: level + 1 };
                    let mut prover = self.prover(relation.region());
                    prover.update(&self.known, |relation| self.component[relation.index()]);
                    let limits = self.limits(&mut prover, &goal);
                    let refuted = self.refute(&mut prover, relation, &goal.cube, level + 1, &limits);
                    self.provers[relation.region() as usize] = Some(prover);
                    if refuted?.is_some() {
                        self.known[member as usize].raise(at, level + 1);
                    }
                }
            }
            let members = &self.members[component];
            let lemmas = |&member: &u32| self.known[member as usize].lemmas.iter();
            if !members.iter().flat_map(lemmas).any(|lemma| lemma.level == level) {
                for member in members {
                    let known = &mut self.known[*member as usize];
                    for at in 0..known.lemmas.len() {
                        if known.lemmas[at].level > level && known.lemmas[at].level != ALL {
                            known.raise(at, ALL);
                        }
                    }
                }
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Where a path ends.
struct End {
    way: super::execute::Way,
    /// What holds there.
    root: Lit,
    /// The call that fails.
    call: Option<u32>,
    /// The target that is reached.
    target: Option<LocId>,
}

impl End {
    fn of(execution: &Execution, kind: Kind, values: &Values) -> End {
        if kind == Kind::Return {
            return End { way: execution.end, root: execution.returns, call: None, target: None };
        }
        if let Some(target) = execution.targets.iter().find(|target| values.get(target.failed)) {
            let way = execution.way(target.loc);
            return End { way, root: target.failed, call: None, target: Some(target.loc) };
        }
        let at = execution.sites.iter().position(|site| values.get(site.failed)).expect("something fails");
        let site = &execution.sites[at];
        debug_assert!(values.get(does(site, Kind::Fail)));
        End { way: site.way, root: site.failed, call: Some(at as u32), target: None }
    }
}

/// Whether a region has a target in it.
fn holds_target(regions: &Regions, region: &super::regions::Region, targets: &HashSet<LocId>) -> bool {
    let program: &Program = regions.program;
    let exit = program.procs[region.proc].exit;
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
