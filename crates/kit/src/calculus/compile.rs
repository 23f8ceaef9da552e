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
use super::{DomainId, Node, NodeId, RelationId, Slice, System, VarId};
use rustc_hash::FxHashMap as HashMap;
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
    fn conjunction(
        &mut self,
        system: &System,
        mut bound: Vec<VarId>,
        node: NodeId,
        wanted: &Places,
    ) -> usize {
        let mut parts = conjuncts(system, node, &mut bound);
        let twins = Twins::find(system, &mut parts, &bound);
        bound.retain(|var| twins.first(*var) == *var);
        let anchor = anchor(system, &parts);
        let all: BTreeSet<VarId> = parts.iter().flat_map(|&part| system.free(part)).collect();
        let mut local = match anchor {
            Some(anchor) if !bound.is_empty() || !twins.is_empty() => {
                let Node::Apply(_, args) = system.get(parts[anchor]) else {
                    unreachable!("anchors are relations")
                };
                let args: Vec<VarId> = args.iter().map(|&arg| twins.first(arg)).collect();
                Places::of_params(system, &args)
            }
            _ => wanted.clone(),
        };
        let free: BTreeSet<VarId> = all.iter().map(|&var| twins.first(var)).collect();
        for &var in free.iter().filter(|&&var| wanted.knows(var)) {
            local.settle(system, var, Some(wanted.copy(var)));
        }
        free.iter().for_each(|&var| local.settle(system, var, None));
        all.iter().for_each(|&var| local.join(var, twins.first(var)));
        self.copies = self.copies.max(local.most());
        if let Some(anchor) = anchor {
            parts[..=anchor].rotate_right(1);
        }
        let mut list: Vec<Part<usize>> = Vec::new();
        for &part in &parts {
            let recipe = self.formula(system, part, &local);
            let vars = system.free(part).into_iter().map(|var| twins.first(var)).collect();
            list.push(Part { recipe, vars, heavy: !self.reads[recipe].is_empty() });
        }
        for &var in bound.iter().filter(|var| free.contains(var) && system.domain(**var).size.is_some()) {
            let has = |arg: &VarId| twins.first(*arg) == var;
            let certain =
                |&part: &NodeId| matches!(system.get(part), Node::Apply(_, args) if args.iter().any(has));
            if !parts.iter().any(certain) {
                let recipe = self.push(Recipe::Valid(copy(system, var, &local)));
                list.push(Part { recipe, vars: [var].into(), heavy: false });
            }
        }
        if list.is_empty() {
            let nothing = self.push(Recipe::Or(Vec::new()));
            return self.push(Recipe::Not(nothing));
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
        let moved: Vec<(Copy, u32)> = away.map(|&var| (copy(system, var, local), wanted.copy(var))).collect();
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
}

fn copy(system: &System, var: VarId, places: &Places) -> Copy {
    (system.vars[var.0 as usize], places.copy(var))
}

/// The defined relation of most arguments, which is used as it is kept; the first of several.
fn anchor(system: &System, parts: &[NodeId]) -> Option<usize> {
    let arity = |at: &usize| match system.get(parts[*at]) {
        Node::Apply(relation, args) if system.relation(*relation).equation.is_some() => args.len(),
        _ => 0,
    };
    (0..parts.len()).rev().filter(|at| arity(at) > 0).max_by_key(arity)
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

/// Variables that are equal by a condition of the conjunction they are bound in. They share one place, which saves the
/// condition.
struct Twins(HashMap<VarId, VarId>);

impl Twins {
    /// Takes from a conjunction the equations that say that a bound variable equals another one.
    fn find(system: &System, parts: &mut Vec<NodeId>, bound: &[VarId]) -> Twins {
        let mut twins = Twins(HashMap::default());
        let all = parts.clone();
        parts.retain(|&part| {
            let Node::Equal(a, b) = system.get(part) else { return true };
            let whole = |slice: &Slice| *slice == system.whole(slice.var);
            if !whole(a) || !whole(b) || system.vars[a.var.0 as usize] != system.vars[b.var.0 as usize] {
                return true;
            }
            let (a, b) = (twins.first(a.var), twins.first(b.var));
            let (from, to) = if bound.contains(&a) { (a, b) } else { (b, a) };
            let class = |first: VarId, var: &VarId| twins.first(*var) == first;
            let together = |args: &[VarId]| {
                args.iter().any(|arg| class(from, arg)) && args.iter().any(|arg| class(to, arg))
            };
            if from == to
                || !bound.contains(&from)
                || all.iter().any(|&other| applies(system, other, &together))
            {
                return true;
            }
            twins.0.values_mut().filter(|first| **first == from).for_each(|first| *first = to);
            twins.0.insert(from, to);
            false
        });
        twins
    }

    /// The variable that stands for all that are equal to this one.
    fn first(&self, var: VarId) -> VarId {
        self.0.get(&var).copied().unwrap_or(var)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether some relation in a formula is applied to such arguments.
fn applies(system: &System, node: NodeId, such: &dyn Fn(&[VarId]) -> bool) -> bool {
    match system.get(node) {
        Node::And(parts) | Node::Or(parts) => parts.iter().any(|&part| applies(system, part, such)),
        Node::Not(part) | Node::Exists(_, part) => applies(system, *part, such),
        Node::Apply(_, args) => such(args),
        _ => false,
    }
}

/// Whether a formula is one relation and conditions on single values.
fn is_simple(system: &System, node: NodeId) -> bool {
    let Node::And(parts) = system.get(node) else { return false };
    let relations = parts.iter().filter(|&&part| matches!(system.get(part), Node::Apply(..))).count();
    let is_atom =
        |part: &NodeId| matches!(system.get(*part), Node::Equal(..) | Node::Among(..) | Node::Pairs(..));
    relations == 1 && parts.iter().filter(|part| is_atom(part)).count() == parts.len() - 1
}
