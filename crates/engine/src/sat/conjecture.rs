//! Room `engine/sat`: lemmas that are guessed of many procedures at once.
//!
//! # Idea
//!
//! What is true of one procedure is often true of its neighbours: that a lock is released as often as it is taken, that two flags
//! are never equal. The *shape* of a lemma is what it says of globals. A shape is *conjectured* of a region and of all that it
//! calls: those guesses that hold together, by induction, are lemmas of all runs, and no level is needed for them.
//!
//! Two kinds of shapes are conjectured. When a component needs another level, those of lemmas that several relations have. And
//! when several goals ask about the same few globals, their *footprint*, all that can be said of these globals before and after, of all procedures: what is left then
//! is the best that can be said of each procedure without a look at any other variable. Where few variables matter, that is the whole proof, and
//! it is found without a search.
//!
//! Guesses begin with too much, and a model refutes one or more of them; a region is asked again only when a guess about one
//! that it calls is gone. All guesses about a relation are one question: does it have one of these cubes?
//!
//! # Paper
//!
//! \[houdini\]. # Departures: a model of one region refutes guesses of that region only; regions wait in an order in which callees come first.
//!
//! # Cost
//!
//! A question for each refuted guess, and one for each time that a region is asked again. The footprint that most goals have is conjectured
//! next, when the search has asked enough questions otherwise.

use super::knowledge::{ALL, Bit, Cube, Kind, Relation};
use super::pdr::{Goal, Search};
use super::prover::{Prover, Question};
use crate::verdict::Why;
use postbop_ir::VarId;
use postbop_kit::sat::Answer;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Bits of globals: which, which of its bits, whether afterwards, and the value.
pub type Shape = Vec<(VarId, u32, bool, bool)>;

/// Globals that a goal asks about, with the numbers of the bits.
pub type Footprint = Vec<(VarId, u32)>;

/// So many shapes of lemmas are conjectured at a time, at most.
const SHAPES: usize = 64;

/// So many bits a footprint has, at most.
const WIDEST: usize = 3;

/// So many goals ask about a footprint before it is conjectured.
const GOALS: u32 = 3;

/// So many questions are asked for other reasons for each region, and for each question about footprints, before the next one is conjectured.
const SHARE: u64 = 4;
const SHARE_OF_GUESSES: u64 = 2;

/// Guesses about relations.
pub struct Guesses {
    /// Tells them from all that were made before.
    pub number: u64,
    /// By relation.
    pub of: HashMap<Relation, Guessed>,
}

/// Guesses about a relation.
#[derive(Default)]
pub struct Guessed {
    /// The cubes.
    pub cubes: Vec<Cube>,
    /// Which of them are not refuted.
    pub open: Vec<bool>,
}

impl Guesses {
    /// The guesses about a relation that are not refuted, with their numbers.
    pub fn open(&self, relation: Relation) -> impl Iterator<Item = (usize, &Cube)> {
        let all = self.of.get(&relation).into_iter().flat_map(|own| own.cubes.iter().zip(&own.open));
        all.enumerate().filter(|(_, (_, open))| **open).map(|(nth, (cube, _))| (nth, cube))
    }
}

impl<'i> Search<'i, '_> {
    /// A cube as bits of globals, before or after; none if it has others.
    pub fn shape(&self, relation: Relation, cube: &[Bit]) -> Option<Shape> {
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
        let own: HashSet<_> = self.shape_of_globals(goal).into_iter().collect();
        let matching = self.shapes.iter().filter(|(shape, _)| shape.iter().all(|bit| own.contains(bit)));
        matching.map(|(_, &count)| count).max().unwrap_or(0)
    }

    /// Notes what goals ask about, and conjectures what most of them do; whether there are new lemmas.
    pub fn notice(&mut self, goals: &[Goal]) -> Result<bool, Why> {
        for goal in goals {
            let Some(footprint) = self.footprint(goal).filter(|it| !self.conjectured.contains(it)) else {
                continue;
            };
            let count = self.footprints.entry(footprint.clone()).or_insert(0);
            *count = count.saturating_add(1);
            let count = *count;
            if count >= GOALS && self.waiting.as_ref().is_none_or(|(_, most)| count > *most) {
                self.waiting = Some((footprint, count));
            }
        }
        let asked = self.calls();
        let spent = self.counts.conjectures;
        if SHARE * self.regions.all.len() as u64 + SHARE_OF_GUESSES * spent > asked - spent {
            return Ok(false);
        }
        let Some((footprint, _)) = self.waiting.take() else { return Ok(false) };
        let news = self.conjecture(&shapes(&footprint), self.members.len())?;
        self.conjectured.insert(footprint);
        self.counts.conjectures += self.calls() - asked;
        Ok(news)
    }

    /// The globals that a goal asks about, if they are few.
    fn footprint(&self, goal: &Goal) -> Option<Footprint> {
        let shape = self.shape_of_globals(goal);
        let mut footprint: Footprint = shape.into_iter().map(|(var, nth, ..)| (var, nth)).collect();
        footprint.sort_unstable();
        footprint.dedup();
        (1..=WIDEST).contains(&footprint.len()).then_some(footprint)
    }

    /// What a goal asks of globals.
    fn shape_of_globals(&self, goal: &Goal) -> Shape {
        let region = &self.regions.all[goal.relation.region() as usize];
        let globals = self.regions.scopes.globals(region.proc).len();
        let fields = self.fields(goal.relation);
        let own: Cube = goal.cube.iter().filter(|bit| fields[bit.number()] < globals).copied().collect();
        self.shape(goal.relation, &own).unwrap_or_default()
    }

    /// Conjectures the shapes of lemmas that several relations have of a component and of all that it calls; whether there are new lemmas.
    pub fn conjecture_shapes(&mut self, component: usize) -> Result<bool, Why> {
        let several = self.shapes.iter().filter(|(_, count)| **count > 1);
        let mut shapes: Vec<(&Shape, u32)> = several.map(|(shape, &count)| (shape, count)).collect();
        shapes.sort_unstable_by_key(|&(shape, count)| (Reverse(count), shape));
        shapes.truncate(SHAPES);
        let shapes: Vec<Shape> = shapes.into_iter().map(|(shape, _)| shape.clone()).collect();
        self.conjecture(&shapes, component + 1)
    }

    /// Guesses shapes of the first components, which call no others, and keeps those guesses that hold together; whether there are any.
    fn conjecture(&mut self, shapes: &[Shape], components: usize) -> Result<bool, Why> {
        self.counts.guesses += 1;
        let mut guesses = Guesses { number: self.counts.guesses, of: HashMap::default() };
        // Callees first.
        let mut relations: Vec<Relation> = Vec::new();
        for &member in self.members[..components].iter().flatten() {
            let relation = Relation::from_index(member);
            let known = &self.known[relation.index()];
            let mut cubes: Vec<Cube> =
                shapes.iter().filter_map(|shape| self.express(relation, shape)).collect();
            cubes.sort_unstable();
            cubes.dedup();
            let is_fact = |cube: &Cube| known.facts.iter().any(|&at| self.has_in_common(at, relation, cube));
            cubes.retain(|cube| !known.excludes(cube, ALL) && !is_fact(cube));
            if !cubes.is_empty() {
                let open = vec![true; cubes.len()];
                guesses.of.insert(relation, Guessed { cubes, open });
                relations.push(relation);
            }
        }
        self.settle(&relations, &mut guesses)?;
        let mut some = false;
        for relation in relations {
            for (_, cube) in guesses.open(relation) {
                some = true;
                self.counts.lemmas += 1;
                self.known[relation.index()].learn(cube.clone(), ALL);
            }
        }
        Ok(some)
    }

    /// Refutes guesses until those that are left hold together.
    fn settle(&mut self, relations: &[Relation], guesses: &mut Guesses) -> Result<(), Why> {
        let mut callers: HashMap<Relation, Vec<usize>> = HashMap::default();
        for (at, relation) in relations.iter().enumerate() {
            for &to in &self.successors[relation.region() as usize] {
                callers.entry(Relation::new(to, Kind::Return)).or_default().push(at);
                if relation.kind() == Kind::Fail {
                    callers.entry(Relation::new(to, Kind::Fail)).or_default().push(at);
                }
            }
        }
        let mut waiting: BTreeSet<usize> = (0..relations.len()).collect();
        while let Some(at) = waiting.pop_first() {
            let relation = relations[at];
            if guesses.open(relation).next().is_none() {
                continue;
            }
            let region = relation.region();
            if self.with_prover(region, |search, prover| search.check(prover, relation, guesses))? {
                waiting.extend(callers.get(&relation).into_iter().flatten());
            }
        }
        Ok(())
    }

    /// Refutes those guesses about a relation that do not follow from all guesses about callees; whether there were such.
    fn check(&self, prover: &mut Prover<'i>, relation: Relation, guesses: &mut Guesses) -> Result<bool, Why> {
        let goal = Goal { relation, cube: Cube::new(), level: ALL };
        let mut supposed = self.limits(prover, &goal);
        supposed.extend(prover.suppose_guesses(guesses));
        let mut some = false;
        while guesses.open(relation).next().is_some() {
            let also = [&supposed[..], &prover.one_of_guesses(relation, guesses)].concat();
            match prover.ask(&Question { kind: relation.kind(), cube: &[], level: ALL, also: &also }) {
                Answer::Stopped => return Err(self.meter.why()),
                Answer::Unsat => break,
                Answer::Sat => {}
            }
            some = true;
            let own = guesses.of.get_mut(&relation).expect("it has open guesses");
            for (cube, open) in own.cubes.iter().zip(&mut own.open) {
                *open = *open && !prover.has(cube);
            }
        }
        Ok(some)
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

/// All that can be said of globals before and after.
fn shapes(footprint: &Footprint) -> Vec<Shape> {
    let bits = 2 * footprint.len();
    let bit = |row: usize, at: usize| {
        let (var, nth) = footprint[at / 2];
        (var, nth, at % 2 == 1, row >> at & 1 != 0)
    };
    (0..1 << bits).map(|row: usize| (0..bits).map(|at| bit(row, at)).collect()).collect()
}
