//! Room `kit`: the solver of the calculus.
//!
//! # Cost
//!
//! The rounds of the algorithm, and in each the diagrams whose ingredients changed since they were last made: a recipe
//! remembers the diagrams it was made from, and a relation the values of others under which it was evaluated. Parts of
//! diagrams that did not change are found in the computed table.
//!
//! Relations that are being evaluated lie on a stack of our own: a chain of definitions may be as long as a file.

use super::compile::{Recipe, Recipes};
use super::make::{Supply, below};
use super::place::Places;
use super::{DomainId, Node, NodeId, RelationId, System};
use crate::bdd::{Bdd, Interrupted, Plan, Ref};
use crate::scc::components;
use rustc_hash::FxHashMap as HashMap;
use std::time::Duration;

/// Why there is no value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The caller interrupted the work.
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

/// A relation that is being evaluated.
struct Iteration {
    relation: RelationId,
    recipe: usize,
    inputs: Vec<(RelationId, Ref)>,
    rounds: u64,
    /// The values follow from each other, so they go in circles as soon as one comes again. We keep one old value, how many
    /// rounds ago it was, and after how many a younger one is kept: twice as many each time.
    milestone: Ref,
    since: u64,
    patience: u64,
    /// How many of the relations that its formula mentions were looked at in this round, and the values they have.
    mentioned: usize,
    values: Vec<(RelationId, Ref)>,
}

/// A system being solved.
pub struct Solver<'s, 'w, S> {
    pub(super) system: &'s System,
    /// The diagrams.
    pub bdd: Bdd<'w>,
    /// The supply.
    pub supply: S,
    pub(super) recipes: Recipes,
    /// For each recipe its plan, and the value it had last, with what it was made from.
    pub(super) plans: Vec<Option<Plan>>,
    pub(super) made: Vec<Option<(Vec<Ref>, Ref)>>,
    /// For each prepared formula the defined relations that it mentions, by its recipe.
    asked: HashMap<usize, Vec<RelationId>>,
    /// For each defined relation its recipe, and whether it starts from everything.
    equations: Vec<Option<(usize, bool)>>,
    /// For each defined relation the others that its formula mentions.
    mentions: Vec<Vec<RelationId>>,
    /// For each relation which of those that are defined by each other it is one of, and how many these are.
    together: Vec<(u32, u32)>,
    pub(super) value: Vec<Ref>,
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
    /// What time it is, for the tallies: mathematics has no clock of its own.
    pub clock: fn() -> Duration,
}

impl<'s, 'w, S: Supply> Solver<'s, 'w, S> {
    /// A solver that writes down the values of some relations.
    pub fn new(system: &'s System, mut bdd: Bdd<'w>, supply: S, watched: Vec<RelationId>) -> Self {
        let mut recipes = Recipes::default();
        let ids = || (0..system.relations.len() as u32).map(RelationId);
        let mut go_on = || bdd.ask().is_ok();
        let mut compiler = recipes.compiler(system, &mut go_on);
        let equation = |id: RelationId| {
            let greatest = system.relation(id).equation.as_ref()?.greatest;
            Some((compiler.equation(id), greatest))
        };
        let equations: Vec<_> = ids().map(equation).collect();
        let mentioned = |id: RelationId| {
            let body = system.relation(id).equation.as_ref().map(|equation| equation.body);
            body.map(|body| system.mentions(body)).unwrap_or_default()
        };
        let mentions: Vec<Vec<RelationId>> = ids().map(mentioned).collect();
        let count = system.relations.len();
        Solver {
            bdd,
            supply,
            plans: vec![None; recipes.list.len()],
            made: vec![None; recipes.list.len()],
            recipes,
            asked: HashMap::default(),
            equations,
            together: together(&mentions),
            mentions,
            value: vec![Ref::FALSE; count],
            fixed: vec![false; count],
            memo: vec![None; count],
            held: Vec::new(),
            watched,
            journal: Vec::new(),
            tallies: vec![Tally::default(); count],
            clock: || Duration::ZERO,
            system,
        }
    }

    /// Makes room for formulas beyond the equations: call it with all of them before anything is evaluated.
    pub fn prepare(&mut self, formulas: &[NodeId]) -> Vec<usize> {
        let nowhere = Places::default();
        let mut go_on = || self.bdd.ask().is_ok();
        let mut compiler = self.recipes.compiler(self.system, &mut go_on);
        let made: Vec<usize> = formulas.iter().map(|&formula| compiler.formula(formula, &nowhere)).collect();
        for (recipe, formula) in made.iter().zip(formulas) {
            self.asked.insert(*recipe, self.system.mentions(*formula));
        }
        self.plans.resize(self.recipes.list.len(), None);
        self.made.resize(self.recipes.list.len(), None);
        made
    }

    /// More copies than the formulas need, for a caller that works with the values.
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
        if self.recipes.stopped {
            return Err(Stop::Interrupted);
        }
        let mut values = Vec::new();
        for relation in self.asked.get(&recipe).cloned().unwrap_or_default() {
            let value = self.evaluate(relation)?;
            self.held.push(value);
            values.push((relation, value));
        }
        self.held.clear();
        values.iter().for_each(|&(relation, value)| self.value[relation.0 as usize] = value);
        Ok(self.make(recipe)? == Ref::TRUE)
    }

    /// The value of a defined relation, with its first argument of each domain at copy 0, the second at copy 1, ….
    ///
    /// An evaluation that was interrupted leaves values that are no fixed points, and they must not be taken for such: from
    /// then on nothing is evaluated any more.
    pub fn evaluate(&mut self, relation: RelationId) -> Result<Ref, Stop> {
        if self.recipes.stopped {
            return Err(Stop::Interrupted);
        }
        let held = self.held.len();
        let value = self.settle(relation);
        if value.is_err() {
            self.recipes.stopped |= matches!(value, Err(Stop::Interrupted));
            self.fixed.fill(false);
        }
        self.held.truncate(held);
        value
    }

    /// Evaluates a relation and all that must be evaluated for it.
    fn settle(&mut self, relation: RelationId) -> Result<Ref, Stop> {
        let mut open: Vec<Iteration> = Vec::new();
        let mut next = Some(relation);
        loop {
            let mut known = None;
            if let Some(relation) = next.take() {
                match self.begin(relation)? {
                    Ok(value) => known = Some((relation, value)),
                    Err(iteration) => open.push(iteration),
                }
            } else if !open.is_empty() {
                self.tidy(&open);
                let last = open.last_mut().expect("it is not empty");
                next = self.unsettled(last);
                if next.is_none() && self.round(last)? {
                    let Iteration { relation, inputs, .. } = open.pop().expect("it was seen");
                    let at = relation.0 as usize;
                    self.fixed[at] = false;
                    self.memo[at] = Some((inputs, self.value[at]));
                    known = Some((relation, self.value[at]));
                }
            }
            if let Some((relation, value)) = known {
                let Some(above) = open.last_mut() else { return Ok(value) };
                above.values.push((relation, value));
                self.held.push(value);
            }
        }
    }

    /// The value of a relation if it is known, or else its first iteration.
    fn begin(&mut self, relation: RelationId) -> Result<Result<Ref, Iteration>, Stop> {
        self.bdd.ask()?;
        let at = relation.0 as usize;
        let inputs = self.inputs(relation);
        if let Some((known, value)) = &self.memo[at]
            && *known == inputs
        {
            return Ok(Ok(*value));
        }
        let (recipe, greatest) = self.equations[at].expect("only defined relations are evaluated");
        self.fixed[at] = true;
        self.tallies[at].evaluations += 1;
        self.value[at] = if greatest { self.everything(relation)? } else { Ref::FALSE };
        let milestone = self.value[at];
        let iteration = Iteration {
            relation,
            recipe,
            inputs,
            rounds: 0,
            milestone,
            since: 0,
            patience: 1,
            mentioned: 0,
            values: Vec::new(),
        };
        Ok(Err(iteration))
    }

    /// The next relation that must be evaluated before the round of an iteration.
    fn unsettled(&mut self, iteration: &mut Iteration) -> Option<RelationId> {
        let mentions = &self.mentions[iteration.relation.0 as usize];
        while let Some(&other) = mentions.get(iteration.mentioned) {
            iteration.mentioned += 1;
            if !self.fixed[other.0 as usize] {
                return Some(other);
            }
        }
        None
    }

    /// One round, after all that it mentions was evaluated. Says whether it was the last.
    fn round(&mut self, iteration: &mut Iteration) -> Result<bool, Stop> {
        let relation = iteration.relation;
        let at = relation.0 as usize;
        // Only now: evaluating one may have changed what another had.
        iteration.values.iter().for_each(|&(other, value)| self.value[other.0 as usize] = value);
        self.held.truncate(self.held.len() - iteration.values.len());
        iteration.values.clear();
        iteration.mentioned = 0;
        iteration.rounds += 1;
        let start = (self.clock)();
        let next = self.make(iteration.recipe)?;
        self.tallies[at].time += (self.clock)() - start;
        self.tallies[at].rounds += 1;
        if next == self.value[at] {
            return Ok(true);
        }
        self.value[at] = next;
        if self.watched.contains(&relation) {
            self.journal.push(Entry { relation, value: next });
        }
        iteration.since += 1;
        if next == iteration.milestone {
            return Err(Stop::Unstable { relation, rounds: iteration.rounds, period: iteration.since });
        }
        if iteration.since == iteration.patience {
            (iteration.milestone, iteration.since, iteration.patience) = (next, 0, iteration.patience * 2);
        }
        Ok(false)
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

    /// The fixed relations on which the value of a relation depends, and their values. A fixed relation is one whose
    /// evaluation led to this one, so the two are defined by each other.
    fn inputs(&self, relation: RelationId) -> Vec<(RelationId, Ref)> {
        let (class, count) = self.together[relation.0 as usize];
        if count == 1 {
            return Vec::new();
        }
        let mut seen = vec![false; self.value.len()];
        let mut inputs = Vec::new();
        let mut work = vec![relation];
        seen[relation.0 as usize] = true;
        while let Some(at) = work.pop() {
            for &other in &self.mentions[at.0 as usize] {
                if self.together[other.0 as usize].0 == class
                    && !std::mem::replace(&mut seen[other.0 as usize], true)
                {
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

    /// Drops diagrams that are not needed.
    fn tidy(&mut self, open: &[Iteration]) {
        if !self.bdd.wants_collection() {
            return;
        }
        // Diagrams that depend on the values of relations can be made again.
        for (recipe, heavy) in self.recipes.heavy.iter().enumerate() {
            if *heavy && !matches!(self.recipes.list[recipe], Recipe::Product(_, _, _) | Recipe::Or(_)) {
                self.made[recipe] = None;
            }
        }
        let made = self.made.iter().flatten().flat_map(|(from, value)| from.iter().chain([value]));
        let memo = self.memo.iter().flatten();
        let memo = memo.flat_map(|(inputs, value)| inputs.iter().map(|(_, input)| input).chain([value]));
        let journal = self.journal.iter().map(|entry| &entry.value);
        let old = open.iter().map(|iteration| &iteration.milestone);
        let values = self.value.iter().chain(&self.held).chain(old);
        let roots: Vec<Ref> = values.chain(made).chain(memo).chain(journal).copied().collect();
        self.bdd.collect(roots);
    }

    /// The number of vertices of each defined relation's last value goes to the tallies.
    pub fn measure(&mut self) {
        // Of many large values only the first are counted.
        let mut left = 10_000_000;
        for (at, value) in self.value.iter().enumerate() {
            let vertices = self.bdd.size(*value, left);
            self.tallies[at].vertices = vertices as u64;
            left = left.saturating_sub(vertices);
        }
    }
}

/// For each relation which of those that are defined by each other it is one of, and how many these are.
fn together(mentions: &[Vec<RelationId>]) -> Vec<(u32, u32)> {
    let graph: Vec<Vec<u32>> =
        mentions.iter().map(|list| list.iter().map(|relation| relation.0).collect()).collect();
    let mut together = vec![(0, 0); graph.len()];
    for (class, members) in components(graph.len(), |at| &graph[at]).into_iter().enumerate() {
        members.iter().for_each(|at| together[*at as usize] = (class as u32, members.len() as u32));
    }
    together
}
