//! Room `engine/sat`: lemmas: made small, carried to higher levels, and guessed.
//!
//! # Idea
//!
//! A cube that cannot be reached is made smaller by leaving out one bit after the other, as long as it cannot be reached; the
//! solver may suppose the same of calls of the relation itself, by induction over the number of open calls.
//!
//! What is true of one procedure is often true of its neighbours: that a lock is released as often as it is taken, that two flags
//! are never equal. The *shape* of a lemma is what it says of globals. Goals that have the shape of known lemmas
//! come first. And when a component needs another level, the shapes that several of its relations have are
//! *conjectured* of all: those that hold together, by induction, are lemmas of all runs, and no level is needed for them.
//!
//! # Paper
//!
//! \[ic3\] for generalisation and propagation; \[houdini\] for conjectures.

use super::knowledge::{ALL, Bit, Cube, Kind, Relation};
use super::pdr::{Goal, Search};
use super::prover::{Prover, Question};
use crate::verdict::Why;
use postbop_ir::VarId;
use postbop_kit::sat::{Answer, Literal};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::cmp::Reverse;

/// Bits of globals: which, which of its bits, whether afterwards, and the value.
pub type Shape = Vec<(VarId, u32, bool, bool)>;

/// So many shapes are conjectured at a time, at most.
const CONJECTURES: usize = 64;

impl<'i> Search<'i, '_> {
    /// Makes a cube that cannot be reached as small as possible, and notes it.
    pub fn learn(&mut self, prover: &mut Prover<'i>, goal: &Goal, core: Cube) -> Result<(), Why> {
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
    pub fn familiar(&self, goal: &Goal) -> u32 {
        let region = &self.regions.all[goal.relation.region() as usize];
        let globals = self.regions.scopes.globals(region.proc).len();
        let fields = self.fields(goal.relation);
        let own: Cube = goal.cube.iter().filter(|bit| fields[bit.number()] < globals).copied().collect();
        let own: HashSet<_> = self.shape(goal.relation, &own).into_iter().flatten().collect();
        let matching = self.shapes.iter().filter(|(shape, _)| shape.iter().all(|bit| own.contains(bit)));
        matching.map(|(_, &count)| count).max().unwrap_or(0)
    }

    /// The core of a cube that cannot be reached, if it holds for fewer calls that it cannot.
    pub fn refute(
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
    pub fn propagate(&mut self, component: usize) -> Result<bool, Why> {
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
                    let refuted = self.with_prover(relation.region(), |search, prover| {
                        let limits = search.limits(prover, &goal);
                        search.refute(prover, relation, &goal.cube, level + 1, &limits)
                    });
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

    /// Guesses lemmas for a component and those it calls from those that are known, and keeps those that hold together; whether there are new ones.
    pub fn conjecture(&mut self, component: usize) -> Result<bool, Why> {
        let mut shapes: Vec<(&Shape, u32)> = self
            .shapes
            .iter()
            .filter(|(_, count)| **count > 1)
            .map(|(shape, &count)| (shape, count))
            .collect();
        shapes.sort_unstable_by_key(|&(shape, count)| (Reverse(count), shape));
        shapes.truncate(CONJECTURES);
        let mut guesses: Vec<(Relation, Cube)> = Vec::new();
        // What the component calls has to keep to a lemma as well; components are numbered callees first.
        for &member in self.members[..=component].iter().flatten() {
            let relation = Relation::from_index(member);
            let cubes = shapes.iter().filter_map(|(shape, _)| self.express(relation, shape));
            let cubes = cubes.filter(|cube| !self.known[member as usize].excludes(cube, ALL));
            guesses.extend(cubes.map(|cube| (relation, cube)));
        }
        guesses.sort_unstable_by_key(|(relation, _)| relation.index());
        guesses.retain(|(relation, cube)| {
            !self.known[relation.index()].facts.iter().any(|&fact| self.has_in_common(fact, *relation, cube))
        });
        loop {
            let before = guesses.len();
            guesses = self.hold_together(guesses)?;
            if guesses.len() == before {
                break;
            }
        }
        let some = !guesses.is_empty();
        self.counts.lemmas += guesses.len() as u64;
        guesses.into_iter().for_each(|(relation, cube)| self.known[relation.index()].learn(cube, ALL));
        Ok(some)
    }

    /// The guesses that follow from all of them, supposed of calls.
    fn hold_together(&mut self, guesses: Vec<(Relation, Cube)>) -> Result<Vec<(Relation, Cube)>, Why> {
        let mut of: HashMap<Relation, Vec<&Cube>> = HashMap::default();
        guesses.iter().for_each(|(relation, cube)| of.entry(*relation).or_default().push(cube));
        let mut kept = Vec::new();
        let mut rest = &guesses[..];
        while let Some((relation, _)) = rest.first() {
            let same = rest.partition_point(|(other, _)| other.index() <= relation.index());
            let (own, others) = rest.split_at(same);
            rest = others;
            let region = relation.region();
            let checked = self.with_prover(region, |search, prover| search.check_guesses(prover, own, &of));
            kept.extend(checked?);
        }
        Ok(kept)
    }

    fn check_guesses(
        &self,
        prover: &mut Prover<'i>,
        own: &[(Relation, Cube)],
        of: &HashMap<Relation, Vec<&Cube>>,
    ) -> Result<Vec<(Relation, Cube)>, Why> {
        let supposed = prover.suppose_all(of);
        let mut kept = Vec::new();
        for (relation, cube) in own {
            let goal = Goal { relation: *relation, cube: Cube::new(), level: ALL };
            let also: Vec<Literal> = self.limits(prover, &goal).into_iter().chain([supposed]).collect();
            match prover.ask(&Question { kind: relation.kind(), cube, level: ALL, also: &also }) {
                Answer::Stopped => return Err(self.meter.why()),
                Answer::Unsat => kept.push((*relation, cube.clone())),
                Answer::Sat => {}
            }
        }
        prover.drop(Some(supposed));
        Ok(kept)
    }

    /// A shape as a cube of a relation; none if the relation does not know the globals, or cannot have it anyway.
    fn express(&self, relation: Relation, shape: &Shape) -> Option<Cube> {
        let region = &self.regions.all[relation.region() as usize];
        let layout = &self.regions.layouts[region.proc];
        let mut cube = Cube::new();
        for &(var, nth, after, value) in shape {
            let field = self.regions.scopes.field(self.regions.program, region.proc, var)?;
            let place = layout.first[field] + nth;
            let output = self.regions.outputs[region.proc].binary_search(&place).ok();
            let output = output.filter(|_| after && relation.kind() == Kind::Return);
            cube.push(match output {
                Some(at) => Bit::new(region.inputs.len() + at, value),
                // What is not written is as it was.
                None => Bit::new(region.inputs.binary_search(&place).ok()?, value),
            });
        }
        cube.sort_unstable();
        cube.dedup();
        cube.windows(2).all(|pair| pair[0].number() != pair[1].number()).then_some(cube)
    }
}
