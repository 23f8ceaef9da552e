//! Room `kit`: formulas to recipes.
//!
//! # Idea
//!
//! A conjunction under a quantifier is a chain of relational products. Each such conjunction chooses places for its
//! variables by itself, so that the first defined relation in it is used exactly as it is kept, and its result is moved
//! to where it is wanted by the last product. So `exists x. R(u, x) & Step(x, v)` is one image of `R`: conjoin, quantify,
//! rename in a single pass.
//!
//! # Cost
//!
//! Recursion goes as deep as connectives are nested, which the parser of formulas limits; formulas may be as wide as
//! they like. The caller is asked now and then whether to go on.

use super::equal::EqualVars;
use super::place::Places;
use super::schedule::{Conjunct, GoOn, join_all};
use super::{DomainId, Node, NodeId, RelationId, System, VarId};
use rustc_hash::FxHashSet as HashSet;
use std::collections::BTreeSet;

/// How many quantifiers over single relations a conjunction takes over: each gives it more variables.
const MOST_TAKEN: usize = 64;

/// A copy of a domain.
pub type Copy = (DomainId, u32);

/// What happens to copies of domains in a product: some are quantified, others move.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Move {
    /// Quantified.
    pub gone: Vec<Copy>,
    /// Moved from one copy to another.
    pub moved: Vec<(Copy, u32)>,
}

/// How a diagram is made.
#[derive(Clone, Debug)]
pub enum Recipe {
    /// From a formula that does not depend on defined relations: atoms and relations of the supply.
    Atom(NodeId, Vec<Copy>),
    /// The value of a defined relation, moved.
    Value(RelationId, Move),
    /// The union.
    Or(Vec<usize>),
    /// The complement.
    Not(usize),
    /// The product of two, or one alone, with quantification and renaming.
    Product(usize, Option<usize>, Move),
    /// The values of a copy that are values of its domain.
    Valid(Copy),
}

/// The recipes of a system.
#[derive(Default, Debug)]
pub struct Recipes {
    /// In an order in which each uses only earlier ones.
    pub list: Vec<Recipe>,
    /// For each whether it uses values of defined relations.
    pub heavy: Vec<bool>,
    /// One more than the greatest copy of any domain.
    pub copies: u32,
    /// Whether the work was called off: then the recipes are good for nothing.
    pub stopped: bool,
    /// The free variables of each formula.
    free: Vec<Box<[VarId]>>,
}

impl Recipes {
    /// Compiles the formulas of a system.
    pub fn compiler<'c>(&'c mut self, system: &'c System, go_on: GoOn<'c>) -> Compiler<'c> {
        if self.free.len() < system.nodes.len() {
            self.free = system.free();
        }
        Compiler { system, recipes: self, go_on }
    }

    fn push(&mut self, recipe: Recipe) -> usize {
        let heavy = match &recipe {
            Recipe::Atom(..) | Recipe::Valid(_) => false,
            Recipe::Value(..) => true,
            Recipe::Or(conjuncts) => conjuncts.iter().any(|conjunct| self.heavy[*conjunct]),
            Recipe::Not(conjunct) => self.heavy[*conjunct],
            Recipe::Product(a, b, _) => self.heavy[*a] || b.is_some_and(|b| self.heavy[b]),
        };
        self.heavy.push(heavy);
        self.list.push(recipe);
        self.list.len() - 1
    }
}

/// A system whose formulas are compiled.
pub struct Compiler<'c> {
    system: &'c System,
    recipes: &'c mut Recipes,
    go_on: GoOn<'c>,
}

impl Compiler<'_> {
    /// The recipe for a defined relation's next value.
    pub fn equation(&mut self, relation: RelationId) -> usize {
        let equation = self.system.relation(relation).equation.as_ref().expect("it is defined");
        let places = Places::of_params(self.system, &equation.params);
        let mut recipe = self.formula(equation.body, &places);
        for &var in &equation.params {
            recipe = self.restrict(recipe, var, &places);
        }
        recipe
    }

    fn restrict(&mut self, recipe: usize, var: VarId, places: &Places) -> usize {
        if self.system.domain(var).size.is_none() {
            return recipe;
        }
        let valid = self.recipes.push(Recipe::Valid(self.copy(var, places)));
        self.recipes.push(Recipe::Product(recipe, Some(valid), Move::default()))
    }

    /// The recipe for a formula whose free variables have these places.
    // Bounded depth: the builder of a system keeps formulas shallow; the parser of formula files allows 200.
    pub fn formula(&mut self, node: NodeId, places: &Places) -> usize {
        self.recipes.copies = self.recipes.copies.max(places.most());
        match self.system.get(node) {
            Node::Or(conjuncts) => {
                let conjuncts = conjuncts.iter().map(|&conjunct| self.formula(conjunct, places)).collect();
                self.recipes.push(Recipe::Or(conjuncts))
            }
            Node::Not(conjunct) => {
                let conjunct = self.formula(*conjunct, places);
                self.recipes.push(Recipe::Not(conjunct))
            }
            Node::And(_) => self.conjunction(Vec::new(), node, places),
            Node::Exists(vars, conjunct) => match self.system.get(*conjunct) {
                // The quantifier may go to each conjunct of a disjunction.
                Node::Or(conjuncts) => {
                    let each = |&conjunct| self.conjunction(vars.clone(), conjunct, places);
                    let conjuncts = conjuncts.iter().map(each).collect();
                    self.recipes.push(Recipe::Or(conjuncts))
                }
                _ => self.conjunction(vars.clone(), *conjunct, places),
            },
            Node::Apply(relation, args) => match &self.system.relation(*relation).equation {
                Some(equation) => {
                    let kept = Places::of_params(self.system, &equation.params);
                    let pairs = equation.params.iter().zip(args);
                    let moved = pairs.filter(|(param, arg)| kept.copy(**param) != places.copy(**arg));
                    let moved =
                        moved.map(|(&param, &arg)| (self.copy(param, &kept), places.copy(arg))).collect();
                    self.recipes.push(Recipe::Value(*relation, Move { gone: Vec::new(), moved }))
                }
                None => self.atom(node, args, places),
            },
            Node::Equal(a, b) => self.atom(node, &[a.var, b.var], places),
            Node::Among(slice, _) => self.atom(node, &[slice.var], places),
            Node::Pairs(a, b, _) => self.atom(node, &[*a, *b], places),
            Node::Const(_) => self.atom(node, &[], places),
        }
    }

    fn atom(&mut self, node: NodeId, vars: &[VarId], places: &Places) -> usize {
        let copies = vars.iter().map(|&var| self.copy(var, places)).collect();
        self.recipes.push(Recipe::Atom(node, copies))
    }

    fn copy(&self, var: VarId, places: &Places) -> Copy {
        (self.system.vars[var.0 as usize], places.copy(var))
    }

    /// The recipe for a conjunction under a quantifier, perhaps an empty one.
    // Bounded depth: the builder of a system keeps formulas shallow; the parser of formula files allows 200.
    fn conjunction(&mut self, mut bound: Vec<VarId>, node: NodeId, wanted: &Places) -> usize {
        if !(self.go_on)() {
            self.recipes.stopped = true;
        }
        let Some(mut conjuncts) = conjuncts(self.system, node, &mut bound).filter(|_| !self.recipes.stopped)
        else {
            return self.recipes.push(Recipe::Or(Vec::new()));
        };
        let equal = EqualVars::find(self.system, &mut conjuncts, &bound);
        bound.retain(|var| equal.first(*var) == *var);
        let anchor = anchor(self.system, &conjuncts);
        let all: BTreeSet<VarId> =
            conjuncts.iter().flat_map(|conjunct| self.free(*conjunct)).copied().collect();
        let free: BTreeSet<VarId> = all.iter().map(|&var| equal.first(var)).collect();
        let apart = !bound.is_empty() || !equal.is_empty();
        let mut local = match anchor.filter(|_| apart).map(|at| self.system.get(conjuncts[at])) {
            Some(Node::Apply(_, args)) => {
                let args: Vec<VarId> = args.iter().map(|&arg| equal.first(arg)).collect();
                Places::of_params(self.system, &args)
            }
            _ => wanted.clone(),
        };
        for &var in free.iter().filter(|&&var| wanted.knows(var)) {
            local.settle(self.system, var, Some(wanted.copy(var)));
        }
        free.iter().for_each(|&var| local.settle(self.system, var, None));
        all.iter().for_each(|&var| local.join(var, equal.first(var)));
        self.recipes.copies = self.recipes.copies.max(local.most());
        if let Some(anchor) = anchor {
            conjuncts[..=anchor].rotate_right(1);
        }
        let mut list: Vec<Conjunct<usize>> = Vec::new();
        for &conjunct in &conjuncts {
            let recipe = self.formula(conjunct, &local);
            let vars = self.free(conjunct).iter().map(|&var| equal.first(var)).collect();
            list.push(Conjunct { recipe, vars, heavy: self.recipes.heavy[recipe] });
        }
        let bound: BTreeSet<VarId> = bound.into_iter().collect();
        self.valid(&conjuncts, &equal, bound.intersection(&free), &local, &mut list);
        if list.is_empty() {
            let nothing = self.recipes.push(Recipe::Or(Vec::new()));
            return self.recipes.push(Recipe::Not(nothing));
        }
        self.join(list, &bound, &local, wanted)
    }

    fn free(&self, node: NodeId) -> &[VarId] {
        &self.recipes.free[node.0 as usize]
    }

    /// Adds to a conjunction that bound variables are values of their domains, unless a relation says so.
    fn valid<'v>(
        &mut self,
        conjuncts: &[NodeId],
        equal: &EqualVars,
        vars: impl Iterator<Item = &'v VarId>,
        local: &Places,
        list: &mut Vec<Conjunct<usize>>,
    ) {
        let args = conjuncts.iter().filter_map(|conjunct| match self.system.get(*conjunct) {
            Node::Apply(_, args) => Some(args),
            _ => None,
        });
        let certain: HashSet<VarId> = args.flatten().map(|&arg| equal.first(arg)).collect();
        for &var in vars.filter(|var| self.system.domain(**var).size.is_some() && !certain.contains(var)) {
            let recipe = self.recipes.push(Recipe::Valid(self.copy(var, local)));
            list.push(Conjunct { recipe, vars: [var].into(), heavy: false });
        }
    }

    fn join(
        &mut self,
        list: Vec<Conjunct<usize>>,
        bound: &BTreeSet<VarId>,
        local: &Places,
        wanted: &Places,
    ) -> usize {
        let several = list.len() > 1;
        let (system, recipes) = (self.system, &mut *self.recipes);
        let copy = |var: VarId| (system.vars[var.0 as usize], local.copy(var));
        let joined = join_all(list, bound, self.go_on, |a, b, gone| {
            let gone = gone.iter().map(|&var| copy(var)).collect();
            recipes.push(Recipe::Product(a, Some(b), Move { gone, moved: Vec::new() }))
        });
        let Some(Conjunct { mut recipe, vars, .. }) = joined else {
            recipes.stopped = true;
            return recipes.push(Recipe::Or(Vec::new()));
        };
        let gone: Vec<Copy> = vars.iter().filter(|var| bound.contains(var)).map(|&var| copy(var)).collect();
        let free = vars.iter().filter(|var| !bound.contains(var));
        let away = free.filter(|&&var| local.copy(var) != wanted.copy(var));
        let moved: Vec<(Copy, u32)> = away.map(|&var| (copy(var), wanted.copy(var))).collect();
        if gone.is_empty() && moved.is_empty() {
            return recipe;
        }
        match &mut recipes.list[recipe] {
            // The last product can do it.
            Recipe::Product(_, _, what) if several => {
                what.gone.extend(gone);
                what.moved.extend(moved);
            }
            _ => recipe = recipes.push(Recipe::Product(recipe, None, Move { gone, moved })),
        }
        recipe
    }
}

/// The defined relation of most arguments, which is used as it is kept; the first of several.
fn anchor(system: &System, conjuncts: &[NodeId]) -> Option<usize> {
    let arity = |at: &usize| match system.get(conjuncts[*at]) {
        Node::Apply(relation, args) if system.relation(*relation).equation.is_some() => args.len(),
        _ => 0,
    };
    (0..conjuncts.len()).rev().filter(|at| arity(at) > 0).max_by_key(arity)
}

/// The conjuncts of a conjunction, without those that are true; none if one is false. A quantifier directly below a quantifier
/// is joined with it, and so is one over a single relation, as in `R(1, x)`. Other quantifiers stay as they are: the
/// author of the formula says by them what to compute apart.
fn conjuncts(system: &System, node: NodeId, bound: &mut Vec<VarId>) -> Option<Vec<NodeId>> {
    let mut conjuncts = Vec::new();
    let mut work = vec![node];
    let mut taken = 0;
    while let Some(node) = work.pop() {
        match system.get(node) {
            Node::Const(true) => {}
            Node::Const(false) => return None,
            Node::And(list) => work.extend(list.iter().rev()),
            Node::Exists(vars, conjunct)
                if conjuncts.is_empty() && work.is_empty()
                    || taken < MOST_TAKEN && is_simple(system, *conjunct) =>
            {
                taken += 1;
                bound.extend(vars);
                work.push(*conjunct);
            }
            _ => conjuncts.push(node),
        }
    }
    Some(conjuncts)
}

/// Whether a formula is one relation and conditions on single values.
fn is_simple(system: &System, node: NodeId) -> bool {
    let Node::And(conjuncts) = system.get(node) else { return false };
    let relations =
        conjuncts.iter().filter(|&&conjunct| matches!(system.get(conjunct), Node::Apply(..))).count();
    let is_atom = |conjunct: &NodeId| {
        matches!(system.get(*conjunct), Node::Equal(..) | Node::Among(..) | Node::Pairs(..))
    };
    relations == 1 && conjuncts.iter().filter(|conjunct| is_atom(conjunct)).count() == conjuncts.len() - 1
}
