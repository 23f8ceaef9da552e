//! Room `engine/sat`: the path of a model.
//!
//! # Idea
//!
//! A model of a region's functions is a path through it, with values for what its calls return. If facts explain all calls, the
//! path is a run, and becomes a fact. Otherwise one of the calls may be impossible. What each call has to give is found from the
//! end of the path to its start: the outputs that the end, or a later call, is computed from, and of the inputs
//! those of the same variables. So a goal speaks of few variables. If a fact is known that does as much, the goal
//! says more about this path, bit by bit, until it says what sets the path apart.
//!
//! Values come before conditions: a call is first asked for the values that are computed from its outputs, whether or not the
//! conditions on the path can hold. Most properties fail by values, and the conditions are noise.

use super::execute::{Execution, Passed, Role, Site, Way};
use super::knowledge::{Bit, Cube, Fact, Kind, Relation};
use super::pdr::{Goal, Search};
use super::prover::{at_site, does};
use super::slice::Slice;
use postbop_ir::LocId;
use postbop_kit::aig::{Lit, Values};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::cmp::Reverse;

/// A path that may not be one.
pub struct Suspicion {
    /// Goals for the calls on it that no fact explains, in their order.
    pub calls: Vec<Goal>,
    /// The one that says least besides what is needed, and how much that is.
    pub first: Goal,
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

/// The path of a model, with the calls on it.
pub struct Passage {
    end: End,
    passed: Vec<Passed>,
    /// The calls on it, in order.
    pub calls: Vec<(u32, Kind)>,
}

/// Where a path ends.
struct End {
    way: Way,
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

impl Search<'_, '_> {
    /// The path of a model, on which a region returns or fails.
    pub fn passage(&self, execution: &Execution, kind: Kind, values: &Values) -> Passage {
        let end = End::of(execution, kind, values);
        let passed = execution.path(self.regions.program, end.way, values);
        let returning = passed.iter().filter_map(|&passed| execution.site(passed));
        let mut calls: Vec<(u32, Kind)> = returning.map(|site| (site, Kind::Return)).collect();
        calls.extend(end.call.map(|site| (site, Kind::Fail)));
        Passage { end, passed, calls }
    }

    /// The path of a model: a fact, or goals for the calls that no fact explains.
    pub fn follow(&self, execution: &Execution, goal: &Goal, values: &Values) -> Result<Fact, Suspicion> {
        let passage = self.passage(execution, goal.relation.kind(), values);
        let calls = &passage.calls;
        let explained: HashMap<u32, Option<u32>> = calls
            .iter()
            .map(|&(site, kind)| {
                let callee = execution.sites[site as usize].callee;
                let facts = &self.known[Relation::new(callee, kind).index()].facts;
                (site, self.explain(execution, values, site, facts))
            })
            .collect();
        if explained.values().all(Option::is_some) {
            let explained = explained.into_iter().filter_map(|(site, fact)| Some((site, fact?))).collect();
            return Ok(self.fact(execution, goal.relation, values, &passage, &explained));
        }
        let path = Path { execution, goal, values, end: &passage.end, calls, explained: &explained };
        let suspected = self.suspect(&path, false).filter(|suspicion| suspicion.added == 0);
        let suspected = suspected.or_else(|| self.suspect(&path, true));
        Err(suspected.expect("a call is not explained"))
    }

    /// The one of some facts that explains a call.
    pub fn explain(&self, execution: &Execution, values: &Values, site: u32, facts: &[u32]) -> Option<u32> {
        let site = &execution.sites[site as usize];
        let fits = |fact: &u32| {
            let fact = &self.facts[*fact as usize];
            let same = |(own, &lit): (Result<bool, usize>, &Lit)| {
                values.get(lit) == own.unwrap_or_else(|input| values.get(site.inputs[input]))
            };
            fact.inputs.iter().all(|&bit| values.get(at_site(site, bit)))
                && fact.each_output().zip(&site.outputs).all(same)
        };
        facts.iter().copied().find(fits)
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

    /// Whether a run is one of those that a cube asks for.
    pub fn has_in_common(&self, fact: u32, relation: Relation, cube: &[Bit]) -> bool {
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

    /// The run along a path.
    pub fn fact(
        &self,
        execution: &Execution,
        relation: Relation,
        values: &Values,
        passage: &Passage,
        explained: &HashMap<u32, u32>,
    ) -> Fact {
        let Passage { end, passed, .. } = passage;
        let (region, kind) = (relation.region(), relation.kind());
        let proc = self.regions.all[region as usize].proc;
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
        for &passed in passed.iter().rev() {
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
        slice.start(region);
        steps.reverse();
        let value = |&lit: &Lit| values.get(lit);
        let needed = slice.inputs(region).into_iter();
        Fact {
            region,
            inputs: needed.map(|at| Bit::new(at, values.get(execution.inputs[at]))).collect(),
            outputs: if kind == Kind::Return {
                execution.outputs.iter().map(value).collect()
            } else {
                Vec::new()
            },
            copies: slice.copies(region),
            free: execution.free.iter().map(value).collect(),
            steps,
            next,
            target,
        }
    }
}
