//! Room `kit`: smaller automata with the same language.
//!
//! # Idea
//!
//! A state *simulates* another if it is accepting where the other is, and for every letter and every successor of the other
//! has a successor that simulates that one. Whatever the other one accepts, it accepts too. So states that simulate each
//! other become one; and of two edges of a state, the one to the weaker state keeps only the letters that
//! the other one is not for. That makes many automata deterministic without any new state.
//!
//! # Paper
//!
//! \[somenzi-bloem\]: direct simulation, and edges that are not needed. That all such edges may be dropped at once is
//! \[bustan-grumberg\].
//!
//! # Departures
//!
//! A state on no cycle and another with the same edges become one even if only the other is accepting: a run is there once.
//!
//! Edges are cubes, so "for every letter" is: the cube of an edge lies in the union of others. Where that takes too many
//! cubes to see, the answer is no, which costs states and not correctness.
//!
//! # Cost
//!
//! Quadratic in states and edges for each round. Automata with more than [`MANY`] states only merge states with equal edges.

use super::cube::{Cube, join, outside};
use super::general::{can_reach, reached};
use super::{Automaton, Edge, Meter};
use crate::bdd::Interrupted;
use crate::bits;
use crate::groups::Groups;
use crate::scc::components;
use rustc_hash::FxHashMap as HashMap;

/// The most states for which simulation is computed.
const MANY: usize = 256;
/// The most cubes that a cube is cut into to see whether it lies within others.
const PIECES: usize = 64;
/// The most cubes that the guard of an edge becomes when letters are taken from it.
const FEW: usize = 4;

/// The edges of a state: guards, and where they end.
type Row<'a> = Vec<(&'a Cube, u32)>;

impl Automaton {
    /// Makes it smaller until nothing changes.
    pub(super) fn simplify(&mut self, meter: &mut Meter<'_>) -> Result<(), Interrupted> {
        loop {
            let before = (self.accepting.len(), self.edges.len());
            self.trim(meter)?;
            if self.accepting.len() <= MANY {
                let simulated = self.simulation(meter)?;
                self.merge_equivalent(&simulated);
                self.merge_equal();
                self.trim(meter)?;
                let simulated = self.simulation(meter)?;
                self.drop_weaker(&simulated, meter)?;
                self.trim(meter)?;
            } else {
                self.merge_equal();
                self.trim(meter)?;
            }
            self.join_guards();
            self.join_initial();
            if (self.accepting.len(), self.edges.len()) >= before {
                return Ok(());
            }
        }
    }

    fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + Clone + '_ {
        self.edges.iter().map(|edge| (edge.from, edge.to))
    }

    /// Drops states that are on no accepted run, numbers the others anew, and settles which are accepting.
    fn trim(&mut self, meter: &mut Meter<'_>) -> Result<(), Interrupted> {
        meter.work(self.accepting.len() + self.edges.len())?;
        self.settle_acceptance();
        let live = can_reach(self.accepting.len(), self.pairs(), |state| self.accepting[state]);
        self.edges.retain(|edge| live[edge.to as usize]);
        self.initial.retain(|&state| live[state as usize]);
        let (_, numbers) = reached(self.accepting.len(), &self.initial, self.pairs());
        self.renumber(&numbers);
        Ok(())
    }

    /// Gives each state a number of its own, or drops it.
    fn renumber(&mut self, numbers: &[Option<u32>]) {
        let mut accepting = vec![false; numbers.iter().flatten().count()];
        for (state, number) in numbers.iter().enumerate() {
            if let Some(number) = number {
                accepting[*number as usize] = self.accepting[state];
            }
        }
        self.accepting = accepting;
        self.rename(numbers);
    }

    /// Gives states new numbers; those without one are dropped.
    fn rename(&mut self, numbers: &[Option<u32>]) {
        self.edges
            .retain(|edge| numbers[edge.from as usize].is_some() && numbers[edge.to as usize].is_some());
        let renumber = |state: &mut u32| *state = numbers[*state as usize].unwrap_or(0);
        for edge in &mut self.edges {
            renumber(&mut edge.from);
            renumber(&mut edge.to);
        }
        self.initial.iter_mut().for_each(renumber);
        self.initial.sort_unstable();
        self.initial.dedup();
        self.edges.sort_unstable();
        self.edges.dedup();
    }

    /// The strongly connected component of each state.
    fn parts(&self) -> Vec<u32> {
        let len = self.accepting.len();
        let successors = Groups::new(len, self.pairs().map(|(from, to)| (from as usize, to)));
        let mut part = vec![0u32; len];
        for (number, component) in components(len, |state| successors.of(state)).iter().enumerate() {
            component.iter().for_each(|&state| part[state as usize] = number as u32);
        }
        part
    }

    /// For each state whether it is on a cycle.
    fn on_cycles(&self) -> Vec<bool> {
        let part = self.parts();
        let mut cyclic = vec![false; part.len()];
        let within = |&(from, to): &(u32, u32)| part[from as usize] == part[to as usize];
        self.pairs().filter(within).for_each(|(from, _)| cyclic[from as usize] = true);
        cyclic
    }

    /// Only states of components in which runs are accepted are accepting; all of them, if there is no other way round.
    fn settle_acceptance(&mut self) {
        let len = self.accepting.len();
        let part = self.parts();
        let cyclic = self.on_cycles();
        let within = |&(from, to): &(u32, u32)| part[from as usize] == part[to as usize];
        let mut accepts = vec![false; len];
        (0..len).for_each(|state| accepts[part[state] as usize] |= self.accepting[state] && cyclic[state]);
        // Ways round in a component that avoid accepting states.
        let avoids = |pair: &(u32, u32)| {
            within(pair) && !self.accepting[pair.0 as usize] && !self.accepting[pair.1 as usize]
        };
        let avoiding = Groups::new(len, self.pairs().filter(avoids).map(|(from, to)| (from as usize, to)));
        let mut all = accepts.clone();
        for component in components(len, |state| avoiding.of(state)) {
            let first = component[0];
            if component.len() > 1 || avoiding.of(first as usize).contains(&first) {
                all[part[first as usize] as usize] = false;
            }
        }
        for state in 0..len {
            let part = part[state] as usize;
            self.accepting[state] = all[part] || accepts[part] && self.accepting[state];
        }
    }

    /// For each state the set of states that simulate it.
    fn simulation(&self, meter: &mut Meter<'_>) -> Result<Vec<Vec<u64>>, Interrupted> {
        let len = self.accepting.len();
        let edges =
            Groups::new(len, self.edges.iter().enumerate().map(|(at, edge)| (edge.from as usize, at as u32)));
        let of = |state: usize| edges.of(state).iter().map(|&edge| &self.edges[edge as usize]);
        let mut by = vec![vec![0u64; bits::words(len)]; len];
        for (state, row) in by.iter_mut().enumerate() {
            let as_good = |&other: &usize| self.accepting[other] || !self.accepting[state];
            for other in (0..len).filter(as_good) {
                bits::insert(row, other);
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for state in 0..len {
                for other in 0..len {
                    if state == other || !bits::contains(&by[state], other) {
                        continue;
                    }
                    meter.work(1 + edges.of(state).len() * edges.of(other).len())?;
                    let follows = of(state).all(|edge| {
                        let as_good =
                            of(other).filter(|more| bits::contains(&by[edge.to as usize], more.to as usize));
                        outside(&edge.guard, as_good.map(|edge| &edge.guard), PIECES)
                            .is_some_and(|left| left.is_empty())
                    });
                    if !follows {
                        bits::remove(&mut by[state], other);
                        changed = true;
                    }
                }
            }
        }
        // What was not seen for lack of pieces may be seen by way of a third state.
        for middle in 0..len {
            let beyond = by[middle].clone();
            for row in &mut by {
                if bits::contains(row, middle) {
                    bits::union(row, &beyond);
                }
            }
        }
        Ok(by)
    }

    /// Lets states that simulate each other be one.
    fn merge_equivalent(&mut self, by: &[Vec<u64>]) {
        let equivalent = |a: usize, b: usize| bits::contains(&by[a], b) && bits::contains(&by[b], a);
        let first =
            |state: usize| (0..=state).find(|&other| equivalent(state, other)).map(|other| other as u32);
        let numbers: Vec<Option<u32>> = (0..self.accepting.len()).map(first).collect();
        self.rename(&numbers);
    }

    /// Lets states with equal edges be one, if they are both accepting or both not, or if one of them is on no cycle.
    fn merge_equal(&mut self) {
        let cyclic = self.on_cycles();
        let mut rows: Vec<Row<'_>> = vec![Vec::new(); self.accepting.len()];
        self.edges.iter().for_each(|edge| rows[edge.from as usize].push((&edge.guard, edge.to)));
        let mut first: HashMap<(&Row<'_>, bool), u32> = HashMap::default();
        let mut numbers = vec![None; rows.len()];
        for wanted in [true, false] {
            for state in (0..rows.len()).filter(|&state| cyclic[state] == wanted) {
                let row = &rows[state];
                let other = if wanted { None } else { first.get(&(row, true)) };
                let same = match other {
                    Some(other) => *other,
                    None => *first.entry((row, self.accepting[state])).or_insert(state as u32),
                };
                numbers[state] = Some(same);
            }
        }
        self.rename(&numbers);
    }

    /// Takes letters from edges where a better edge is for them, and drops initial states where there is a better one.
    fn drop_weaker(&mut self, by: &[Vec<u64>], meter: &mut Meter<'_>) -> Result<(), Interrupted> {
        let better = |one: u32, other: u32| {
            let (one, other) = (one as usize, other as usize);
            bits::contains(&by[other], one) && !bits::contains(&by[one], other)
        };
        let initial = self.initial.clone();
        self.initial.retain(|&state| !initial.iter().any(|&other| better(other, state)));
        let mut kept: Vec<Edge> = Vec::new();
        for edges in self.edges.chunk_by(|a, b| a.from == b.from) {
            meter.work(edges.len() * edges.len())?;
            for edge in edges {
                let others =
                    || edges.iter().filter(|other| better(other.to, edge.to)).map(|other| &other.guard);
                let left = match outside(&edge.guard, others(), PIECES).map(join) {
                    Some(left) if left.len() <= FEW => left,
                    _ => vec![edge.guard.clone()],
                };
                kept.extend(left.into_iter().map(|guard| Edge { guard, ..edge.clone() }));
            }
        }
        self.edges = kept;
        Ok(())
    }

    /// Lets edges between the same states have few guards, and disjoint ones if these are no more.
    fn join_guards(&mut self) {
        self.edges.sort_unstable_by_key(|edge| (edge.from, edge.to));
        let mut joined: Vec<Edge> = Vec::new();
        for edges in self.edges.chunk_by(|a, b| (a.from, a.to) == (b.from, b.to)) {
            let Edge { from, to, .. } = edges[0];
            let guards = join(edges.iter().map(|edge| edge.guard.clone()).collect());
            let guards = disjoint(&guards).unwrap_or(guards);
            joined.extend(guards.into_iter().map(|guard| Edge { from, guard, to }));
        }
        self.edges = joined;
    }

    /// Lets initial states be one that has the edges of all, if at least two of them are not needed any more then.
    fn join_initial(&mut self) {
        let entered = |state: u32| self.edges.iter().any(|edge| edge.to == state);
        if self.initial.iter().filter(|&&state| !entered(state)).count() < 2 {
            return;
        }
        let new = self.accepting.len() as u32;
        let of_initial = self.edges.iter().filter(|edge| self.initial.contains(&edge.from));
        let more: Vec<Edge> = of_initial.map(|edge| Edge { from: new, ..edge.clone() }).collect();
        self.edges.extend(more);
        self.accepting.push(false);
        self.initial = vec![new];
        let (_, numbers) = reached(self.accepting.len(), &self.initial, self.pairs());
        self.renumber(&numbers);
    }
}

/// Disjoint cubes with the same union, if they are not more.
fn disjoint(cubes: &[Cube]) -> Option<Vec<Cube>> {
    let mut all: Vec<Cube> = Vec::new();
    for cube in cubes {
        all.extend(outside(cube, all.iter(), 1)?);
    }
    Some(all)
}
