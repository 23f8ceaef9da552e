//! Room `kit`: generalised automata, and alternating automata as such.
//!
//! # Idea
//!
//! A generalised automaton has several sets of edges, and a run is accepted if it takes edges of each set again and
//! again. A state of it stands for a set of formulas that must hold together; its edges are the combinations of what they
//! demand. There is one set for each until: the edges that do not put it off.
//!
//! # Paper
//!
//! \[ltl2ba\], its second step; also that states with equal edges become one.
//!
//! # Departures
//!
//! An edge lists the sets that it is *not* in. There may be thousands of sets, but an edge misses only a few.
//!
//! States with equal edges are often seen to be equal before their edges are made. If a formula demands what another one
//! demands already, as `G F a` with `F a`, then a set with both has the edges of the set without the other.
//!
//! # Cost
//!
//! Exponential in the length of the formula, in the worst case.

use super::Meter;
use super::alternating::{Alternating, Term, product};
use super::cube::{Cube, is_subset, outside};
use crate::bdd::Interrupted;
use crate::scc::components;
use rustc_hash::FxHashMap as HashMap;

/// An automaton with several sets of accepting edges.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Generalised {
    /// How many states there are.
    pub states: usize,
    /// Where runs begin.
    pub initial: Vec<u32>,
    /// The edges, in any order.
    pub edges: Vec<GeneralisedEdge>,
}

/// An edge of a generalised automaton.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GeneralisedEdge {
    /// Where it begins.
    pub from: u32,
    /// The letters it is for.
    pub guard: Cube,
    /// Where it ends.
    pub to: u32,
    /// The sets of accepting edges that it is not in, in increasing order. Any numbers will do.
    pub missing: Vec<u32>,
}

/// The generalised automaton of an alternating one.
pub(super) fn generalised(from: &Alternating, meter: &mut Meter<'_>) -> Result<Generalised, Interrupted> {
    let mut numbers: HashMap<Vec<u32>, u32> = HashMap::default();
    let mut sets: Vec<Vec<u32>> = Vec::new();
    let mut number = |set: &Vec<u32>, sets: &mut Vec<Vec<u32>>| {
        *numbers.entry(set.clone()).or_insert_with(|| {
            sets.push(set.clone());
            sets.len() as u32 - 1
        })
    };
    let mut demanded = Demanded { from, by: HashMap::default() };
    let mut initial = Vec::new();
    for set in &from.initial {
        let mut set = set.clone();
        demanded.drop_from(&mut set, meter)?;
        initial.push(number(&set, &mut sets));
    }
    let mut edges = Vec::new();
    let mut at = 0;
    while at < sets.len() {
        let mut members = sets[at].clone();
        members.sort_by_key(|&id| from.demands[id as usize].len());
        let mut terms = vec![Term::default()];
        for id in members {
            terms = product(&terms, &from.demands[id as usize], meter)?;
        }
        for Term { guard, mut then, missing } in terms {
            demanded.drop_from(&mut then, meter)?;
            meter.grow(8 * (guard.len() + then.len() + missing.len() + 8));
            let to = number(&then, &mut sets);
            edges.push(GeneralisedEdge { from: at as u32, guard, to, missing });
        }
        at += 1;
    }
    let mut automaton = Generalised { states: sets.len(), initial, edges };
    automaton.simplify(meter)?;
    automaton.drop_weaker(meter)?;
    Ok(automaton)
}

/// For formulas that were asked about: the others that they demand already.
struct Demanded<'a> {
    from: &'a Alternating,
    by: HashMap<u32, Vec<u32>>,
}

impl Demanded<'_> {
    /// Drops the formulas of a set that other members demand already.
    fn drop_from(&mut self, set: &mut Vec<u32>, meter: &mut Meter<'_>) -> Result<(), Interrupted> {
        let mut at = set.len();
        while at > 1 {
            at = at.min(set.len()) - 1;
            let id = set[at];
            if !self.by.contains_key(&id) {
                let others = self.others(id, meter)?;
                self.by.insert(id, others);
            }
            // What a formula demands are smaller ones, which stand before it.
            let others = &self.by[&id];
            if !others.is_empty() {
                let before = set.len();
                set.retain(|member| others.binary_search(member).is_err());
                at -= before - set.len();
            }
        }
        Ok(())
    }

    /// The formulas that change nothing when they are demanded together with this one.
    fn others(&self, id: u32, meter: &mut Meter<'_>) -> Result<Vec<u32>, Interrupted> {
        let mut terms = self.from.demands[id as usize].clone();
        terms.sort_unstable();
        let mut mentioned: Vec<u32> = terms.iter().flat_map(|term| &term.then).copied().collect();
        mentioned.sort_unstable();
        mentioned.dedup();
        let mut others = Vec::new();
        for other in mentioned.into_iter().filter(|&other| other != id) {
            let mut both = product(&terms, &self.from.demands[other as usize], meter)?;
            both.sort_unstable();
            if both == terms {
                others.push(other);
            }
        }
        Ok(others)
    }
}

/// Which states are in which strongly connected component, and which components a run can stay in and be accepted.
pub(super) struct Parts {
    /// The component of each state.
    pub of: Vec<u32>,
    /// For each component: the sets that some edge within it misses, if a run can be accepted there.
    pub sets: Vec<Option<Vec<u32>>>,
}

/// The edges of a state: guards, where they end, and what they miss.
type Row<'a> = Vec<(&'a Cube, u32, &'a [u32])>;

impl Generalised {
    /// The components.
    pub(super) fn parts(&self) -> Parts {
        let pairs = self.edges.iter().map(|edge| (edge.from as usize, edge.to));
        let successors = crate::groups::Groups::new(self.states, pairs);
        let found = components(self.states, |state| successors.of(state));
        let mut of = vec![0; self.states];
        for (number, component) in found.iter().enumerate() {
            component.iter().for_each(|&state| of[state as usize] = number as u32);
        }
        let mut within = vec![0u32; found.len()];
        let mut missed: Vec<HashMap<u32, u32>> = vec![HashMap::default(); found.len()];
        for edge in &self.edges {
            let part = of[edge.from as usize];
            if part == of[edge.to as usize] {
                within[part as usize] += 1;
                edge.missing.iter().for_each(|&set| *missed[part as usize].entry(set).or_default() += 1);
            }
        }
        let sets = missed.into_iter().zip(within).map(|(missed, edges)| {
            let can_accept = edges > 0 && missed.values().all(|&count| count < edges);
            let mut sets: Vec<u32> = missed.into_keys().collect();
            sets.sort_unstable();
            can_accept.then_some(sets)
        });
        Parts { of, sets: sets.collect() }
    }

    /// Drops what is on no accepted run, forgets what is missed where it does not matter, and lets states with equal edges
    /// be one, until nothing changes.
    fn simplify(&mut self, meter: &mut Meter<'_>) -> Result<(), Interrupted> {
        loop {
            meter.work(self.edges.len() + self.states)?;
            let parts = self.parts();
            let accepts = |state: usize| parts.sets[parts.of[state] as usize].is_some();
            let pairs = self.edges.iter().map(|edge| (edge.from, edge.to));
            let live = can_reach(self.states, pairs, accepts);
            self.edges.retain(|edge| live[edge.to as usize]);
            for edge in &mut self.edges {
                let part = parts.of[edge.from as usize];
                if part != parts.of[edge.to as usize] || parts.sets[part as usize].is_none() {
                    edge.missing.clear();
                }
                // In a component without accepted runs every edge misses the same set.
                if part == parts.of[edge.to as usize] && parts.sets[part as usize].is_none() {
                    edge.missing.push(0);
                }
            }
            self.initial.retain(|&state| live[state as usize]);
            let before = self.states;
            self.merge();
            if self.states == before {
                return Ok(());
            }
        }
    }

    /// Of two edges between the same states, one of which misses more, that one keeps the letters that the other is not
    /// for, if these are few cubes.
    fn drop_weaker(&mut self, meter: &mut Meter<'_>) -> Result<(), Interrupted> {
        const FEW: usize = 4;
        let mut kept: Vec<GeneralisedEdge> = Vec::new();
        for edges in self.edges.chunk_by(|a, b| a.from == b.from) {
            meter.work(edges.len() * edges.len())?;
            for edge in edges {
                let is_better = |other: &&GeneralisedEdge| {
                    other.to == edge.to
                        && other.missing != edge.missing
                        && is_subset(&other.missing, &edge.missing)
                };
                let better = edges.iter().filter(is_better).map(|other| &other.guard);
                let left = outside(&edge.guard, better, FEW).unwrap_or_else(|| vec![edge.guard.clone()]);
                kept.extend(left.into_iter().map(|guard| GeneralisedEdge { guard, ..edge.clone() }));
            }
        }
        self.edges = kept;
        Ok(())
    }

    /// Lets states with equal edges be one, and drops those that are not reached.
    fn merge(&mut self) {
        self.edges.sort_unstable();
        self.edges.dedup();
        let mut first: HashMap<Row<'_>, u32> = HashMap::default();
        let mut same: Vec<u32> = (0..self.states as u32).collect();
        for edges in self.edges.chunk_by(|a, b| a.from == b.from) {
            let row = edges.iter().map(|edge| (&edge.guard, edge.to, &edge.missing[..])).collect();
            same[edges[0].from as usize] = *first.entry(row).or_insert(edges[0].from);
        }
        for edge in &mut self.edges {
            edge.from = same[edge.from as usize];
            edge.to = same[edge.to as usize];
        }
        self.initial.iter_mut().for_each(|state| *state = same[*state as usize]);
        self.edges.sort_unstable();
        self.edges.dedup();
        let pairs = self.edges.iter().map(|edge| (edge.from, edge.to));
        let (count, numbers) = reached(self.states, &self.initial, pairs);
        self.states = count;
        self.edges.retain(|edge| numbers[edge.from as usize].is_some());
        let renumber = |state: &mut u32| *state = numbers[*state as usize].unwrap_or(0);
        for edge in &mut self.edges {
            renumber(&mut edge.from);
            renumber(&mut edge.to);
        }
        self.initial.iter_mut().for_each(renumber);
        self.initial.sort_unstable();
        self.initial.dedup();
    }
}

/// For each state whether it leads to a state with a property, or has it.
pub(super) fn can_reach(
    states: usize,
    edges: impl Iterator<Item = (u32, u32)> + Clone,
    wanted: impl Fn(usize) -> bool,
) -> Vec<bool> {
    let before = crate::groups::Groups::new(states, edges.map(|(from, to)| (to as usize, from)));
    let mut live: Vec<bool> = (0..states).map(wanted).collect();
    let mut work: Vec<u32> = (0..states as u32).filter(|&state| live[state as usize]).collect();
    while let Some(state) = work.pop() {
        for &from in before.of(state as usize) {
            if !std::mem::replace(&mut live[from as usize], true) {
                work.push(from);
            }
        }
    }
    live
}

/// How many states are reached, and their new numbers, in the order of a breadth-first search.
pub(super) fn reached(
    states: usize,
    initial: &[u32],
    edges: impl Iterator<Item = (u32, u32)> + Clone,
) -> (usize, Vec<Option<u32>>) {
    let after = crate::groups::Groups::new(states, edges.map(|(from, to)| (from as usize, to)));
    let mut numbers = vec![None; states];
    let mut order: Vec<u32> = Vec::new();
    let mut next = 0;
    let mut found = initial;
    loop {
        for &state in found {
            if numbers[state as usize].is_none() {
                numbers[state as usize] = Some(order.len() as u32);
                order.push(state);
            }
        }
        let Some(&state) = order.get(next) else { break };
        found = after.of(state as usize);
        next += 1;
    }
    (order.len(), numbers)
}
