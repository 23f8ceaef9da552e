//! Room `engine/sat`: lemmas: made small, and carried to higher levels.
//!
//! # Idea
//!
//! A cube that cannot be reached is made smaller by leaving out one bit after the other, as long as it cannot be reached; the
//! solver may suppose the same of calls of the relation itself, by induction over the number of open calls.
//!
//! # Paper
//!
//! \[ic3\] for generalisation and propagation.

use super::knowledge::{ALL, Bit, Cube, Relation};
use super::pdr::{Goal, Search};
use super::prover::{Prover, Question};
use crate::verdict::Why;
use postbop_kit::sat::{Answer, Literal};

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
}
