//! Room `kit`: the solver of the calculus.
//!
//! # Cost
//!
//! The rounds of the algorithm, and in each the diagrams whose ingredients changed since they were last made: a recipe
//! remembers the values it was made from, and a relation those under which it was evaluated. Of what did not change not
//! even the part below some bits is looked at twice, thanks to the computed table.

use super::compile::{Copy, Move, Recipe, Recipes};
use super::place::Places;
use super::{DomainId, Node, NodeId, RelationId, Slice, System};
use crate::bdd::{Bdd, Interrupted, Plan, Ref};
use std::time::{Duration, Instant};

/// Makes the relations that are not defined by equations.
pub trait Supply {
    /// The diagram of a relation, given for each argument the levels of its bits.
    fn relation(
        &mut self,
        bdd: &mut Bdd,
        relation: RelationId,
        levels: &[Vec<u32>],
    ) -> Result<Ref, Interrupted>;
}

/// Why there is no value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The watchman said stop.
    Interrupted,
    /// The values of a relation go round in circles.
    Unstable {
        /// Which.
        relation: RelationId,
        /// After how many rounds that was clear.
        rounds: u64,
        /// How many values the circle has.
        period: u64,
    },
}

impl From<Interrupted> for Stop {
    fn from(_: Interrupted) -> Self {
        Stop::Interrupted
    }
}

/// A value that a relation had at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The relation.
    pub relation: RelationId,
    /// The value.
    pub value: Ref,
}

/// What was counted of a relation.
#[derive(Clone, Default, Debug)]
pub struct Tally {
    /// How often it was evaluated.
    pub evaluations: u64,
    /// In how many rounds in all.
    pub rounds: u64,
    /// How many vertices its last value has.
    pub vertices: u64,
    /// How long that took, without what was evaluated for it.
    pub time: Duration,
}

/// A value, and the values of other relations under which it was computed.
type Memo = Option<(Vec<(RelationId, Ref)>, Ref)>;

/// A system being solved.
pub struct Solver<'s, 'w, S> {
    system: &'s System,
    /// The diagrams.
    pub bdd: Bdd<'w>,
    /// The supply.
    pub supply: S,
    recipes: Recipes,
    /// For each recipe its plan, and the value it had last, with what it was made from.
    plans: Vec<Option<Plan>>,
    made: Vec<Option<(Vec<Ref>, Ref)>>,
    /// For each defined relation its recipe, and whether it starts from everything.
    equations: Vec<Option<(usize, bool)>>,
    /// For each defined relation the others that its formula mentions.
    mentions: Vec<Vec<RelationId>>,
    value: Vec<Ref>,
    fixed: Vec<bool>,
    memo: Vec<Memo>,
    /// Values that are needed further up.
    held: Vec<Ref>,
    /// The relations whose values are written down.
    watched: Vec<RelationId>,
    /// Their values, in the order of time.
    pub journal: Vec<Entry>,
    /// What was counted, by relation.
    pub tallies: Vec<Tally>,
}

impl<'s, 'w, S: Supply> Solver<'s, 'w, S> {
    /// A solver that writes down the values of some relations.
    pub fn new(system: &'s System, bdd: Bdd<'w>, supply: S, watched: Vec<RelationId>) -> Self {
        let mut recipes = Recipes::default();
        let ids = || (0..system.relations.len() as u32).map(RelationId);
        let equation = |id: RelationId| {
            let greatest = system.relation(id).equation.as_ref()?.greatest;
            Some((recipes.equation(system, id), greatest))
        };
        let equations: Vec<_> = ids().map(equation).collect();
        let mentioned = |id: RelationId| {
            let body = system.relation(id).equation.as_ref().map(|equation| equation.body);
            body.map(|body| system.mentions(body)).unwrap_or_default()
        };
        let count = system.relations.len();
        Solver {
            bdd,
            supply,
            plans: vec![None; recipes.list.len()],
            made: vec![None; recipes.list.len()],
            recipes,
            equations,
            mentions: ids().map(mentioned).collect(),
            value: vec![Ref::FALSE; count],
            fixed: vec![false; count],
            memo: vec![None; count],
            held: Vec::new(),
            watched,
            journal: Vec::new(),
            tallies: vec![Tally::default(); count],
            system,
        }
    }

    /// Makes room for formulas beyond the equations: call it with all of them before anything is evaluated.
    pub fn prepare(&mut self, formulas: &[NodeId]) -> Vec<usize> {
        let nowhere = Places::default();
        let made =
            formulas.iter().map(|&formula| self.recipes.formula(self.system, formula, &nowhere)).collect();
        self.plans.resize(self.recipes.list.len(), None);
        self.made.resize(self.recipes.list.len(), None);
        made
    }

    /// More copies than the formulas need, for whoever works with the values.
    pub fn reserve(&mut self, copies: u32) {
        self.recipes.copies = self.recipes.copies.max(copies);
    }

    /// The levels of a copy of a domain, the most significant bit first.
    pub fn levels(&self, domain: DomainId, copy: u32) -> Vec<u32> {
        let stride = self.recipes.copies;
        self.system.domains[domain.0 as usize].positions.iter().map(|at| at * stride + copy).collect()
    }

    /// One more than the greatest level of any copy of any domain.
    pub fn depth(&self) -> u32 {
        let positions = self.system.domains.iter().flat_map(|domain| &domain.positions);
        (positions.max().map_or(0, |at| at + 1)) * self.recipes.copies
    }

    /// Forgets all that was computed from a relation of the supply, which is another from now on.
    pub fn replace(&mut self, relation: RelationId) {
        let is_it =
            |node: NodeId| matches!(self.system.get(node), Node::Apply(other, _) if *other == relation);
        for (made, recipe) in self.made.iter_mut().zip(&self.recipes.list) {
            let stays = match recipe {
                Recipe::Atom(node, _) => !is_it(*node),
                Recipe::Valid(_) => true,
                _ => false,
            };
            if !stays {
                *made = None;
            }
        }
        self.memo.fill(None);
        self.journal.clear();
    }

    /// The truth of a prepared formula without free variables.
    pub fn decide(&mut self, recipe: usize) -> Result<bool, Stop> {
        let mut values = Vec::new();
        for relation in self.recipes.reads[recipe].clone() {
            let value = self.evaluate(relation)?;
            self.held.push(value);
            values.push((relation, value));
        }
        self.held.truncate(self.held.len() - values.len());
        values.iter().for_each(|&(relation, value)| self.value[relation.0 as usize] = value);
        Ok(self.make(recipe)? == Ref::TRUE)
    }

    /// The value of a defined relation, with its first argument of each domain at copy 0, the second at copy 1, ….
    pub fn evaluate(&mut self, relation: RelationId) -> Result<Ref, Stop> {
        let at = relation.0 as usize;
        let inputs = self.inputs(relation);
        if let Some((known, value)) = &self.memo[at]
            && *known == inputs
        {
            return Ok(*value);
        }
        let (recipe, greatest) = self.equations[at].expect("only defined relations are evaluated");
        self.fixed[at] = true;
        self.tallies[at].evaluations += 1;
        self.value[at] = if greatest { self.everything(relation)? } else { Ref::FALSE };
        // The values follow from each other, so they go in circles as soon as one comes again. We keep one old value, a
        // younger one after twice as many rounds each time.
        let (mut milestone, mut since, mut patience) = (self.value[at], 0, 1);
        for rounds in 1.. {
            self.tidy();
            let next = self.round(relation, recipe)?;
            self.tallies[at].rounds += 1;
            if next == self.value[at] {
                break;
            }
            self.value[at] = next;
            if self.watched.contains(&relation) {
                self.journal.push(Entry { relation, value: next });
            }
            since += 1;
            if next == milestone {
                return Err(Stop::Unstable { relation, rounds, period: since });
            }
            if since == patience {
                (milestone, since, patience) = (next, 0, patience * 2);
            }
        }
        self.fixed[at] = false;
        let value = self.value[at];
        self.memo[at] = Some((inputs, value));
        Ok(value)
    }

    /// Evaluates what a relation's formula mentions, then the formula.
    fn round(&mut self, relation: RelationId, recipe: usize) -> Result<Ref, Stop> {
        let mut values = Vec::new();
        for other in self.mentions[relation.0 as usize].clone() {
            if !self.fixed[other.0 as usize] {
                let value = self.evaluate(other)?;
                self.held.push(value);
                values.push((other, value));
            }
        }
        // Only now: evaluating one may have changed what another had.
        values.iter().for_each(|&(other, value)| self.value[other.0 as usize] = value);
        self.held.truncate(self.held.len() - values.len());
        let start = Instant::now();
        let value = self.make(recipe)?;
        self.tallies[relation.0 as usize].time += start.elapsed();
        Ok(value)
    }

    /// All values of a defined relation's arguments.
    pub fn everything(&mut self, relation: RelationId) -> Result<Ref, Interrupted> {
        let mut all = Ref::TRUE;
        let mut counts: Vec<u32> = vec![0; self.system.domains.len()];
        for &domain in &self.system.relation(relation).domains {
            let copy = counts[domain.0 as usize];
            counts[domain.0 as usize] += 1;
            if let Some(size) = self.system.domains[domain.0 as usize].size {
                let levels = self.levels(domain, copy);
                let valid = below(&mut self.bdd, &levels, size)?;
                all = self.bdd.and(all, valid)?;
            }
        }
        Ok(all)
    }

    /// The fixed relations on which the value of a relation depends, and their values.
    fn inputs(&self, relation: RelationId) -> Vec<(RelationId, Ref)> {
        let mut seen = vec![false; self.value.len()];
        let mut inputs = Vec::new();
        let mut work = vec![relation];
        seen[relation.0 as usize] = true;
        while let Some(at) = work.pop() {
            for &other in &self.mentions[at.0 as usize] {
                if !std::mem::replace(&mut seen[other.0 as usize], true) {
                    match self.fixed[other.0 as usize] {
                        true => inputs.push((other, self.value[other.0 as usize])),
                        false => work.push(other),
                    }
                }
            }
        }
        inputs.sort_unstable();
        inputs
    }

    /// Follows a recipe, unless nothing changed since it was last followed.
    fn make(&mut self, recipe: usize) -> Result<Ref, Interrupted> {
        let from: Vec<Ref> =
            self.recipes.reads[recipe].iter().map(|relation| self.value[relation.0 as usize]).collect();
        if let Some((before, value)) = &self.made[recipe]
            && *before == from
        {
            return Ok(*value);
        }
        let value = match self.recipes.list[recipe].clone() {
            Recipe::Atom(node, copies) => self.atom(node, &copies)?,
            Recipe::Value(relation, what) => {
                let plan = self.plan(recipe, &what);
                self.bdd.project(self.value[relation.0 as usize], plan)?
            }
            Recipe::Or(parts) => {
                let mut union = Ref::FALSE;
                for part in parts {
                    let part = self.make(part)?;
                    union = self.bdd.or(union, part)?;
                }
                union
            }
            Recipe::Not(part) => !self.make(part)?,
            Recipe::Product(a, b, what) => {
                let a = self.make(a)?;
                let b = match b {
                    Some(b) if a != Ref::FALSE => self.make(b)?,
                    _ => Ref::TRUE,
                };
                let plan = self.plan(recipe, &what);
                self.bdd.image(a, b, plan)?
            }
            Recipe::Valid((domain, copy)) => {
                let size = self.system.domains[domain.0 as usize].size.expect("only such are asked for");
                let levels = self.levels(domain, copy);
                below(&mut self.bdd, &levels, size)?
            }
        };
        self.made[recipe] = Some((from, value));
        Ok(value)
    }

    fn plan(&mut self, recipe: usize, what: &Move) -> Plan {
        if let Some(plan) = self.plans[recipe] {
            return plan;
        }
        let gone: Vec<u32> = what.gone.iter().flat_map(|&copy| self.at(copy)).collect();
        let pairs = |&((domain, from), to): &(Copy, u32)| {
            self.at((domain, from)).into_iter().zip(self.at((domain, to)))
        };
        let moved: Vec<(u32, u32)> = what.moved.iter().flat_map(pairs).collect();
        let plan = self.bdd.plan(gone, moved);
        self.plans[recipe] = Some(plan);
        plan
    }

    fn at(&self, (domain, copy): Copy) -> Vec<u32> {
        self.levels(domain, copy)
    }

    fn atom(&mut self, node: NodeId, copies: &[Copy]) -> Result<Ref, Interrupted> {
        let levels: Vec<Vec<u32>> = copies.iter().map(|&copy| self.at(copy)).collect();
        let slice = |slice: &Slice, levels: &[u32]| -> Vec<u32> {
            slice.bits.iter().map(|&bit| levels[bit as usize]).collect()
        };
        match self.system.get(node) {
            Node::Const(truth) => Ok(if *truth { Ref::TRUE } else { Ref::FALSE }),
            Node::Apply(relation, _) => self.supply.relation(&mut self.bdd, *relation, &levels),
            Node::Equal(a, b) => equal(&mut self.bdd, &slice(a, &levels[0]), &slice(b, &levels[1])),
            Node::Among(a, values) => {
                let levels = slice(a, &levels[0]);
                union(&mut self.bdd, values.iter().map(|&value| literals(&levels, value)))
            }
            Node::Pairs(_, _, pairs) => {
                let both = |&(a, b): &(u64, u64)| [literals(&levels[0], a), literals(&levels[1], b)].concat();
                union(&mut self.bdd, pairs.iter().map(both))
            }
            _ => unreachable!("only atoms become atoms"),
        }
    }

    /// Forgets diagrams that nobody needs.
    fn tidy(&mut self) {
        if !self.bdd.wants_collection() {
            return;
        }
        // What depends on values of relations can be made again.
        for (recipe, reads) in self.recipes.reads.iter().enumerate() {
            if !reads.is_empty()
                && !matches!(self.recipes.list[recipe], Recipe::Product(_, _, _) | Recipe::Or(_))
            {
                self.made[recipe] = None;
            }
        }
        let made = self.made.iter().flatten().flat_map(|(from, value)| from.iter().chain([value]));
        let memo = self.memo.iter().flatten();
        let memo = memo.flat_map(|(inputs, value)| inputs.iter().map(|(_, input)| input).chain([value]));
        let journal = self.journal.iter().map(|entry| &entry.value);
        let roots: Vec<Ref> =
            self.value.iter().chain(&self.held).chain(made).chain(memo).chain(journal).copied().collect();
        self.bdd.collect(roots);
    }

    /// The number of vertices of each defined relation's last value goes to the tallies.
    pub fn measure(&mut self) {
        for (at, value) in self.value.iter().enumerate() {
            self.tallies[at].vertices = self.bdd.size(*value, 10_000_000) as u64;
        }
    }
}

/// The literals under which levels, the first the most significant, read as a number.
pub fn literals(levels: &[u32], value: u64) -> Vec<(u32, bool)> {
    let bit = |(at, &level): (usize, &u32)| (level, value >> (levels.len() - 1 - at) & 1 != 0);
    levels.iter().enumerate().map(bit).collect()
}

fn union(bdd: &mut Bdd, cubes: impl Iterator<Item = Vec<(u32, bool)>>) -> Result<Ref, Interrupted> {
    let mut union = Ref::FALSE;
    for cube in cubes {
        let cube = bdd.cube(&cube)?;
        union = bdd.or(union, cube)?;
    }
    Ok(union)
}

/// Two vectors of levels are equal.
pub(super) fn equal(bdd: &mut Bdd, a: &[u32], b: &[u32]) -> Result<Ref, Interrupted> {
    let mut all = Ref::TRUE;
    for (&a, &b) in a.iter().zip(b).rev() {
        let (a, b) = (bdd.var(a)?, bdd.var(b)?);
        let same = bdd.iff(a, b)?;
        all = bdd.and(same, all)?;
    }
    Ok(all)
}

/// Levels, the first the most significant, read as a number smaller than `size`.
fn below(bdd: &mut Bdd, levels: &[u32], size: u64) -> Result<Ref, Interrupted> {
    if levels.len() < 64 && size >> levels.len() != 0 {
        return Ok(Ref::TRUE);
    }
    let mut all = Ref::FALSE;
    for (at, &level) in levels.iter().rev().enumerate() {
        let bit = bdd.var(level)?;
        all = match size >> at & 1 != 0 {
            true => bdd.or(!bit, all)?,
            false => bdd.and(!bit, all)?,
        };
    }
    Ok(all)
}
