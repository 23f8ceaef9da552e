//! Room `kit`: recipes to diagrams.
//!
//! A recipe is followed by a loop with a stack of its own, since formulas may be as wide as files are long, and products
//! of many parts are chains. Each recipe remembers the diagrams it was last made from: as long as these are the same,
//! so is what it makes.

use super::compile::{Copy, Move, Recipe};
use super::solve::Solver;
use super::{Node, NodeId, RelationId, Slice};
use crate::bdd::{Bdd, Interrupted, Plan, Ref};

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

/// A recipe that is being followed, with what its first ingredients came to.
struct Step {
    recipe: usize,
    from: Vec<Ref>,
}

impl<S: Supply> Solver<'_, '_, S> {
    /// Follows a recipe.
    pub(super) fn make(&mut self, recipe: usize) -> Result<Ref, Interrupted> {
        let mut steps = vec![Step { recipe, from: Vec::new() }];
        let mut count = 0u32;
        loop {
            count = count.wrapping_add(1);
            if count.is_multiple_of(1024) {
                self.bdd.ask()?;
            }
            let step = steps.last().expect("the first is left at the end");
            if let Some(next) = self.ingredient(step) {
                steps.push(Step { recipe: next, from: Vec::new() });
                continue;
            }
            let Step { recipe, from } = steps.pop().expect("it was seen");
            let value = self.finish(recipe, from)?;
            match steps.last_mut() {
                Some(above) => above.from.push(value),
                None => return Ok(value),
            }
        }
    }

    /// The next recipe that must be followed first.
    fn ingredient(&self, step: &Step) -> Option<usize> {
        match (&self.recipes.list[step.recipe], step.from.len()) {
            (Recipe::Or(parts), at) => parts.get(at).copied(),
            (Recipe::Not(part), 0) | (Recipe::Product(part, _, _), 0) => Some(*part),
            (Recipe::Product(_, other, _), 1) if step.from[0] != Ref::FALSE => *other,
            _ => None,
        }
    }

    /// Makes a diagram of its ingredients, unless they are the same as last time.
    fn finish(&mut self, recipe: usize, mut from: Vec<Ref>) -> Result<Ref, Interrupted> {
        if let Recipe::Value(relation, _) = &self.recipes.list[recipe] {
            from.push(self.value[relation.0 as usize]);
        }
        if let Some((before, value)) = &self.made[recipe]
            && *before == from
        {
            return Ok(*value);
        }
        let value = match &self.recipes.list[recipe] {
            Recipe::Atom(node, copies) => {
                let (node, copies) = (*node, copies.clone());
                self.atom(node, &copies)?
            }
            Recipe::Value(..) => {
                let plan = self.plan(recipe);
                self.bdd.project(from[0], plan)?
            }
            Recipe::Or(_) => {
                let mut union = Ref::FALSE;
                for part in &from {
                    union = self.bdd.or(union, *part)?;
                }
                union
            }
            Recipe::Not(_) => !from[0],
            Recipe::Product(..) => {
                let plan = self.plan(recipe);
                self.bdd.image(from[0], from.get(1).copied().unwrap_or(Ref::TRUE), plan)?
            }
            Recipe::Valid((domain, copy)) => {
                let size = self.system.domains[domain.0 as usize].size.expect("only such are asked for");
                let levels = self.levels(*domain, *copy);
                below(&mut self.bdd, &levels, size)?
            }
        };
        self.made[recipe] = Some((from, value));
        Ok(value)
    }

    /// What a recipe does to levels.
    fn plan(&mut self, recipe: usize) -> Plan {
        if let Some(plan) = self.plans[recipe] {
            return plan;
        }
        let (Recipe::Value(_, Move { gone, moved }) | Recipe::Product(_, _, Move { gone, moved })) =
            &self.recipes.list[recipe]
        else {
            unreachable!("others do nothing to levels")
        };
        let gone: Vec<u32> = gone.iter().flat_map(|&copy| self.at(copy)).collect();
        let pairs = |&((domain, from), to): &(Copy, u32)| {
            self.at((domain, from)).into_iter().zip(self.at((domain, to)))
        };
        let moved: Vec<(u32, u32)> = moved.iter().flat_map(pairs).collect();
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
pub(super) fn below(bdd: &mut Bdd, levels: &[u32], size: u64) -> Result<Ref, Interrupted> {
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
