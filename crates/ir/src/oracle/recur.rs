//! Room `ir`: the oracle for runs that go on for ever.
//!
//! # Idea
//!
//! The facts of the oracle are the points of a graph. A step within an activation leads from a fact to a fact, a call leads
//! to the facts at the callee's entry, and a completed call leads to the fact after it. A run goes on for ever exactly if it
//! comes to some fact again and again, each time in an activation that never returns from then on; so runs that go on
//! for ever are the cycles of this graph. Such a run visits the locations again and again if a step of the cycle arrives at
//! one, or is a completed call that passes through one.
//!
//! # Cost
//!
//! For every such step a walk through the graph: quadratic in the number of facts.

use super::{Derivation, End, Entry, Fact, TooLarge, derive_all};
use crate::ids::{LocId, ProcId};
use crate::program::{Action, Program};
use crate::step::{Successor, resume, successors};
use std::collections::{HashMap, HashSet};

/// A step of the graph between numbered facts; for a completed call how it went.
struct Arc {
    from: usize,
    to: usize,
    call: Option<(Entry, End)>,
    /// Whether it enters a callee.
    enters: bool,
}

/// The graph.
struct Graph {
    facts: Vec<Fact>,
    arcs: Vec<Arc>,
    /// How a fact returns.
    returns: Vec<(usize, End)>,
}

/// For each set of locations whether a run visits it infinitely often. Unbounded integers are beyond it.
pub fn recur(program: &Program, targets: &[&[LocId]], limit: usize) -> Result<Vec<bool>, TooLarge> {
    let (derivation, _) = derive_all(program, limit)?;
    let graph = graph(program, &derivation)?;
    Ok(targets.iter().map(|locs| graph.recurs(locs)).collect())
}

/// For each set of procedures whether a run goes on for ever while an activation of one of them never returns: whether there
/// is a way without end through the graph from where such an activation begins. No step of the graph returns from it.
pub fn endless(program: &Program, procs: &[&[ProcId]], limit: usize) -> Result<Vec<bool>, TooLarge> {
    let (derivation, _) = derive_all(program, limit)?;
    let graph = graph(program, &derivation)?;
    let after = graph.after();
    let mut goes_on = vec![true; graph.facts.len()];
    loop {
        let ends = |fact: &usize| goes_on[*fact] && !after[*fact].iter().any(|&next| goes_on[next]);
        let ending: Vec<usize> = (0..goes_on.len()).filter(ends).collect();
        if ending.is_empty() {
            break;
        }
        ending.into_iter().for_each(|fact| goes_on[fact] = false);
    }
    let begins = |fact: &Fact, procs: &[ProcId]| procs.contains(&fact.entry.proc) && is_first(program, fact);
    let endless =
        |procs: &&[ProcId]| graph.facts.iter().zip(&goes_on).any(|(fact, on)| *on && begins(fact, procs));
    Ok(procs.iter().map(endless).collect())
}

fn graph(program: &Program, derivation: &Derivation) -> Result<Graph, TooLarge> {
    let facts: Vec<Fact> = derivation.steps.keys().cloned().collect();
    let numbers: HashMap<&Fact, usize> =
        facts.iter().enumerate().map(|(number, fact)| (fact, number)).collect();
    let mut entered: HashMap<&Entry, Vec<usize>> = HashMap::new();
    for (number, fact) in facts.iter().enumerate().filter(|(_, fact)| is_first(program, fact)) {
        entered.entry(&fact.entry).or_default().push(number);
    }
    let (mut arcs, mut returns) = (Vec::new(), Vec::new());
    for (from, fact) in facts.iter().enumerate() {
        for &id in program.leaving(fact.loc) {
            let edge = &program.edges()[id];
            let at = |loc, valuation| numbers[&Fact { entry: fact.entry.clone(), loc, valuation }];
            let all = successors(program, &derivation.places, &edge.action, &fact.valuation);
            for outcome in all.map_err(|_| TooLarge)? {
                match outcome {
                    Successor::Move(valuation) => {
                        arcs.push(Arc { from, to: at(edge.to, valuation), call: None, enters: false });
                    }
                    Successor::Return(results) => {
                        returns.push((from, (fact.valuation.globals.clone(), results)));
                    }
                    Successor::Call(params) => {
                        let Action::Call { callee, .. } = edge.action else {
                            unreachable!("outcome of a call")
                        };
                        let entry = Entry { proc: callee, globals: fact.valuation.globals.clone(), params };
                        let enter = |&to: &usize| Arc { from, to, call: None, enters: true };
                        arcs.extend(entered[&entry].iter().map(enter));
                        for end in derivation.returns.get(&entry).into_iter().flat_map(|ends| ends.keys()) {
                            let (globals, results) = end;
                            let places = &derivation.places;
                            let after =
                                resume(program, places, &edge.action, &fact.valuation, globals, results);
                            let call = Some((entry.clone(), end.clone()));
                            arcs.push(Arc { from, to: at(edge.to, after), call, enters: false });
                        }
                    }
                }
            }
        }
    }
    Ok(Graph { facts, arcs, returns })
}

/// Whether an activation can start like this.
fn is_first(program: &Program, fact: &Fact) -> bool {
    let Entry { proc, globals, params } = &fact.entry;
    fact.loc == program.procs()[*proc].entry
        && fact.valuation.globals == *globals
        && fact.valuation.locals.starts_with(params)
}

impl Graph {
    /// The facts to which steps lead from each fact.
    fn after(&self) -> Vec<Vec<usize>> {
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); self.facts.len()];
        self.arcs.iter().for_each(|arc| after[arc.from].push(arc.to));
        after
    }

    fn recurs(&self, locs: &[LocId]) -> bool {
        let passing = self.passing(locs);
        let after = self.after();
        let visits = |arc: &&Arc| {
            locs.contains(&self.facts[arc.to].loc)
                || arc.call.as_ref().is_some_and(|call| passing.contains(call))
        };
        self.arcs.iter().filter(visits).any(|arc| leads(&after, arc.to, arc.from))
    }

    /// The completed calls that can pass through one of the locations.
    fn passing(&self, locs: &[LocId]) -> HashSet<(Entry, End)> {
        let here = |fact: &Fact| locs.contains(&fact.loc);
        let mut passed: Vec<bool> = self.facts.iter().map(here).collect();
        let mut passing: HashSet<(Entry, End)> = HashSet::new();
        loop {
            let before = (passed.iter().filter(|passed| **passed).count(), passing.len());
            for arc in self.arcs.iter().filter(|arc| !arc.enters) {
                passed[arc.to] |=
                    passed[arc.from] || arc.call.as_ref().is_some_and(|call| passing.contains(call));
            }
            for (fact, end) in self.returns.iter().filter(|(fact, _)| passed[*fact]) {
                passing.insert((self.facts[*fact].entry.clone(), end.clone()));
            }
            if before == (passed.iter().filter(|passed| **passed).count(), passing.len()) {
                return passing;
            }
        }
    }
}

/// Whether there is a way from one fact to another, perhaps of no step.
fn leads(after: &[Vec<usize>], from: usize, to: usize) -> bool {
    let mut seen = HashSet::from([from]);
    let mut work = vec![from];
    while let Some(at) = work.pop() {
        if at == to {
            return true;
        }
        work.extend(after[at].iter().copied().filter(|next| seen.insert(*next)));
    }
    false
}
