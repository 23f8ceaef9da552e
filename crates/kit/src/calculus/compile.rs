//! Room `kit`: formulas to recipes.
//!
//! # Idea
//!
//! A conjunction under a quantifier is a chain of relational products. Each such conjunction chooses places for its
//! variables by itself, so that the first defined relation in it is used exactly as it is kept, and its result is moved
//! to where it is wanted by the last product. So `exists x. R(u, x) & Step(x, v)` is one image of `R`: conjoin, quantify,
//! rename in a single pass.

use super::place::Places;
use super::schedule::{Part, join_all};
use super::{DomainId, Node, NodeId, RelationId, System, VarId};
use std::collections::BTreeSet;

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
    /// For each the defined relations whose values it uses.
    pub reads: Vec<Vec<RelationId>>,
    /// One more than the greatest copy of any domain.
    pub copies: u32,
}

impl Recipes {
    fn push(&mut self, recipe: Recipe) -> usize {
        let mut reads: Vec<RelationId> = match &recipe {
            Recipe::Atom(..) | Recipe::Valid(_) => Vec::new(),
            Recipe::Value(relation, _) => vec![*relation],
            Recipe::Or(parts) => parts.iter().flat_map(|&part| self.reads[part].clone()).collect(),
            Recipe::Not(part) => self.reads[*part].clone(),
            Recipe::Product(a, b, _) => {
                let more = b.iter().flat_map(|&b| self.reads[b].clone());
                self.reads[*a].iter().copied().chain(more).collect()
            }
        };
        reads.sort_unstable();
        reads.dedup();
        self.reads.push(reads);
        self.list.push(recipe);
        self.list.len() - 1
    }

    /// The recipe for a defined relation's next value.
    pub fn equation(&mut self, system: &System, relation: RelationId) -> usize {
        let equation = system.relation(relation).equation.as_ref().expect("it is defined");
        let places = Places::of_params(system, &equation.params);
        let mut recipe = self.formula(system, equation.body, &places);
        for &var in &equation.params {
            recipe = self.restrict(system, recipe, var, &places);
        }
        recipe
    }

    fn restrict(&mut self, system: &System, recipe: usize, var: VarId, places: &Places) -> usize {
        if system.domain(var).size.is_none() {
            return recipe;
        }
        let valid = self.push(Recipe::Valid(copy(system, var, places)));
        self.push(Recipe::Product(recipe, Some(valid), Move::default()))
    }

    /// The recipe for a formula whose free variables have these places.
    pub fn formula(&mut self, system: &System, node: NodeId, places: &Places) -> usize {
        self.copies = self.copies.max(places.most());
        match system.get(node) {
            Node::Or(parts) => {
                let parts = parts.iter().map(|&part| self.formula(system, part, places)).collect();
                self.push(Recipe::Or(parts))
            }
            Node::Not(part) => {
                let part = self.formula(system, *part, places);
                self.push(Recipe::Not(part))
            }
            Node::And(_) => self.conjunction(system, Vec::new(), node, places),
            Node::Exists(vars, part) => match distribute(system, *part) {
                Some(parts) => {
                    let each = |part| self.conjunction(system, vars.clone(), part, places);
                    let parts = parts.into_iter().map(each).collect();
                    self.push(Recipe::Or(parts))
                }
                None => self.conjunction(system, vars.clone(), *part, places),
            },
            Node::Apply(relation, args) if system.relation(*relation).equation.is_some() => {
                let equation = system.relation(*relation).equation.as_ref().expect("it was seen");
                let kept = Places::of_params(system, &equation.params);
                let pairs = equation.params.iter().zip(args);
                let moved = pairs.filter(|(param, arg)| kept.copy(**param) != places.copy(**arg));
                let moved =
                    moved.map(|(&param, &arg)| (copy(system, param, &kept), places.copy(arg))).collect();
                self.push(Recipe::Value(*relation, Move { gone: Vec::new(), moved }))
            }
            Node::Apply(_, args) => {
                let copies = args.iter().map(|&arg| copy(system, arg, places)).collect();
                self.push(Recipe::Atom(node, copies))
            }
            Node::Equal(a, b) => self.atom(system, node, &[a.var, b.var], places),
            Node::Among(slice, _) => self.atom(system, node, &[slice.var], places),
            Node::Pairs(a, b, _) => self.atom(system, node, &[*a, *b], places),
            Node::Const(_) => self.atom(system, node, &[], places),
        }
    }

    fn atom(&mut self, system: &System, node: NodeId, vars: &[VarId], places: &Places) -> usize {
        let copies = vars.iter().map(|&var| copy(system, var, places)).collect();
        self.push(Recipe::Atom(node, copies))
    }

    /// The recipe for a conjunction under a quantifier, perhaps an empty one.
    fn conjunction(&mut self, system: &System, mut bound: Vec<VarId>, node: NodeId, wanted: &Places) -> usize {
        let parts = conjuncts(system, node, &mut bound);
        let anchor = parts.iter().position(|&part| is_defined(system, part));
        let free: BTreeSet<VarId> = parts.iter().flat_map(|&part| system.free(part)).collect();
        let local = match (anchor, bound.is_empty()) {
            (Some(anchor), false) => self.local_places(system, parts[anchor], &free, wanted),
            _ => {
                let mut local = wanted.clone();
                free.iter().for_each(|&var| local.settle(system, var, None));
                local
            }
        };
        self.copies = self.copies.max(local.most());
        let mut order: Vec<NodeId> = parts.clone();
        if let Some(anchor) = anchor {
            order[..=anchor].rotate_right(1);
        }
        let mut list: Vec<Part<usize>> = Vec::new();
        for &part in &order {
            let recipe = self.formula(system, part, &local);
            let vars = system.free(part).into_iter().collect();
            list.push(Part { recipe, vars, heavy: !self.reads[recipe].is_empty() });
        }
        for &var in bound.iter().filter(|var| free.contains(var) && system.domain(**var).size.is_some()) {
            let certain = |&part: &NodeId| matches!(system.get(part), Node::Apply(_, args) if args.contains(&var));
            if !parts.iter().any(certain) {
                let recipe = self.push(Recipe::Valid(copy(system, var, &local)));
                list.push(Part { recipe, vars: [var].into(), heavy: false });
            }
        }
        let bound: BTreeSet<VarId> = bound.into_iter().collect();
        self.join(system, list, &bound, &local, wanted)
    }

    fn join(
        &mut self,
        system: &System,
        list: Vec<Part<usize>>,
        bound: &BTreeSet<VarId>,
        local: &Places,
        wanted: &Places,
    ) -> usize {
        let several = list.len() > 1;
        let joined = join_all(list, bound, |a, b, gone| {
            let gone = gone.iter().map(|&var| copy(system, var, local)).collect();
            self.push(Recipe::Product(a, Some(b), Move { gone, moved: Vec::new() }))
        });
        let Part { mut recipe, vars, .. } = joined;
        let gone: Vec<Copy> =
            vars.iter().filter(|var| bound.contains(var)).map(|&var| copy(system, var, local)).collect();
        let free = vars.iter().filter(|var| !bound.contains(var));
        let away = free.filter(|&&var| local.copy(var) != wanted.copy(var));
        let moved: Vec<(Copy, u32)> =
            away.map(|&var| (copy(system, var, local), wanted.copy(var))).collect();
        if gone.is_empty() && moved.is_empty() {
            return recipe;
        }
        match &mut self.list[recipe] {
            // The last product can do it.
            Recipe::Product(_, _, what) if several => {
                what.gone.extend(gone);
                what.moved.extend(moved);
            }
            _ => recipe = self.push(Recipe::Product(recipe, None, Move { gone, moved })),
        }
        recipe
    }

    /// Places such that the anchor is used as it is kept, and free variables are where they are wanted, if possible.
    fn local_places(
        &self,
        system: &System,
        anchor: NodeId,
        free: &BTreeSet<VarId>,
        wanted: &Places,
    ) -> Places {
        let Node::Apply(_, args) = system.get(anchor) else { unreachable!("anchors are relations") };
        let mut local = Places::of_params(system, args);
        for &var in free.iter().filter(|&&var| wanted.knows(var)) {
            local.settle(system, var, Some(wanted.copy(var)));
        }
        free.iter().for_each(|&var| local.settle(system, var, None));
        local
    }
}

fn copy(system: &System, var: VarId, places: &Places) -> Copy {
    (system.vars[var.0 as usize], places.copy(var))
}

fn is_defined(system: &System, node: NodeId) -> bool {
    matches!(system.get(node), Node::Apply(relation, _) if system.relation(*relation).equation.is_some())
}

/// The parts of a disjunction under a quantifier: the quantifier may go to each.
fn distribute(system: &System, node: NodeId) -> Option<Vec<NodeId>> {
    match system.get(node) {
        Node::Or(parts) => Some(parts.clone()),
        _ => None,
    }
}

/// The parts of a conjunction. A quantifier directly below a quantifier is joined with it, and so is one over a single
/// relation, as in `R(1, x)`. Other quantifiers stay as they are: whoever wrote them says what to compute apart.
fn conjuncts(system: &System, node: NodeId, bound: &mut Vec<VarId>) -> Vec<NodeId> {
    let mut parts = Vec::new();
    let mut work = vec![node];
    while let Some(node) = work.pop() {
        match system.get(node) {
            Node::And(list) => work.extend(list.iter().rev()),
            Node::Exists(vars, part) if parts.is_empty() && work.is_empty() || is_simple(system, *part) => {
                bound.extend(vars);
                work.push(*part);
            }
            _ => parts.push(node),
        }
    }
    parts
}

/// Whether a formula is one relation and conditions on single values.
fn is_simple(system: &System, node: NodeId) -> bool {
    let Node::And(parts) = system.get(node) else { return false };
    let relations = parts.iter().filter(|&&part| matches!(system.get(part), Node::Apply(..))).count();
    let is_atom =
        |part: &NodeId| matches!(system.get(*part), Node::Equal(..) | Node::Among(..) | Node::Pairs(..));
    relations == 1 && parts.iter().filter(|part| is_atom(part)).count() == parts.len() - 1
}
