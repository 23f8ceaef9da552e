//! Room `kit`: a first-order fixed-point calculus over finite domains, and its solver.
//!
//! # Idea
//!
//! A *system* is a list of equations `R(x, y, …) = formula`, in which relations may be defined by each other and by
//! themselves. Its variables range over finite *domains*, whose values are vectors of bits. Other relations, the
//! *supply*, come from outside. The solver computes relations as decision diagrams, by an algorithm that is part of the
//! meaning of a system: equations are a program.
//!
//! # Meaning
//!
//! \[getafix\] section 3. To evaluate `R`: start with the empty relation (a greatest fixed point with the full one); in
//! each round evaluate afresh, with the present value of `R` held fixed, all relations that the formula of `R` mentions,
//! then the formula; stop when the value does not change. Where formulas use relations without negation this is the
//! least solution. Where they do not, it is whatever this algorithm says, and the values may go round in circles for ever,
//! which is reported ([`Stop::Unstable`]).
//!
//! # Rooms
//!
//! Recipes (`compile`) say in which order diagrams are combined, and which copy of a domain's levels stands
//! for which variable; [`Solver`] follows them.

mod compile;
mod equal;
mod make;
mod place;
mod schedule;
mod solve;
#[cfg(test)]
mod tests;

pub use make::{Supply, literals};
pub use solve::{Entry, Solver, Stop, Tally};

use rustc_hash::FxHashSet as HashSet;

/// A domain of a system.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DomainId(pub u32);

/// A variable of a system.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VarId(pub u32);

/// A relation of a system.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RelationId(pub u32);

/// A formula of a system.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// A finite set of values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Domain {
    /// Where its bits stand among those of all domains, the most significant first. Domains may not share positions.
    pub positions: Vec<u32>,
    /// How many values there are, if not all vectors of bits are values: those that read as smaller numbers.
    pub size: Option<u64>,
}

/// A variable, or some bits of its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slice {
    /// The variable.
    pub var: VarId,
    /// The bits, as indices into the positions of its domain.
    pub bits: Vec<u32>,
}

/// A formula.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node {
    /// True or false.
    Const(bool),
    /// All of these.
    And(Vec<NodeId>),
    /// One of these.
    Or(Vec<NodeId>),
    /// Not this.
    Not(NodeId),
    /// For some values of these variables.
    Exists(Vec<VarId>, NodeId),
    /// A relation holds between these variables, which are distinct.
    Apply(RelationId, Vec<VarId>),
    /// Two slices of the same length are equal, bit by bit.
    Equal(Slice, Slice),
    /// A slice, read as a number with its first bit the most significant, is among these.
    Among(Slice, Vec<u64>),
    /// Two variables, read as numbers, are one of these pairs.
    Pairs(VarId, VarId, Vec<(u64, u64)>),
}

/// A relation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relation {
    /// Its name.
    pub name: String,
    /// What it relates.
    pub domains: Vec<DomainId>,
    /// How it is defined; none for one of the supply.
    pub equation: Option<Equation>,
}

/// How a relation is defined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Equation {
    /// Its arguments.
    pub params: Vec<VarId>,
    /// When they are related.
    pub body: NodeId,
    /// Whether the iteration starts from everything rather than from nothing.
    pub greatest: bool,
}

/// Domains, relations and formulas.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct System {
    /// The domains.
    pub domains: Vec<Domain>,
    /// The domain of each variable. No variable is bound twice.
    pub vars: Vec<DomainId>,
    /// The formulas, each after its parts.
    pub nodes: Vec<Node>,
    /// The relations.
    pub relations: Vec<Relation>,
}

impl System {
    /// Adds a formula.
    pub fn node(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds a variable.
    pub fn var(&mut self, domain: DomainId) -> VarId {
        self.vars.push(domain);
        VarId(self.vars.len() as u32 - 1)
    }

    /// The whole value of a variable.
    pub fn whole(&self, var: VarId) -> Slice {
        Slice { var, bits: (0..self.domain(var).positions.len() as u32).collect() }
    }

    fn domain(&self, var: VarId) -> &Domain {
        &self.domains[self.vars[var.0 as usize].0 as usize]
    }

    fn get(&self, node: NodeId) -> &Node {
        &self.nodes[node.0 as usize]
    }

    fn relation(&self, relation: RelationId) -> &Relation {
        &self.relations[relation.0 as usize]
    }

    /// The free variables of each formula, in order.
    fn free(&self) -> Vec<Box<[VarId]>> {
        let mut all: Vec<Box<[VarId]>> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            // Parts come before what they are parts of.
            let of = |part: &NodeId| all[part.0 as usize].iter().copied();
            let mut found: Vec<VarId> = match node {
                Node::Const(_) => Vec::new(),
                Node::And(parts) | Node::Or(parts) => parts.iter().flat_map(of).collect(),
                Node::Not(part) => of(part).collect(),
                Node::Exists(bound, part) => {
                    let bound: HashSet<VarId> = bound.iter().copied().collect();
                    of(part).filter(|var| !bound.contains(var)).collect()
                }
                Node::Apply(_, args) => args.clone(),
                Node::Equal(a, b) => vec![a.var, b.var],
                Node::Among(slice, _) => vec![slice.var],
                Node::Pairs(a, b, _) => vec![*a, *b],
            };
            found.sort_unstable();
            found.dedup();
            all.push(found.into());
        }
        all
    }

    /// The defined relations that a formula mentions, in order.
    pub fn mentions(&self, node: NodeId) -> Vec<RelationId> {
        let mut found = Vec::new();
        let mut work = vec![node];
        while let Some(node) = work.pop() {
            match self.get(node) {
                Node::And(parts) | Node::Or(parts) => work.extend(parts),
                Node::Not(part) | Node::Exists(_, part) => work.push(*part),
                Node::Apply(relation, _) if self.relation(*relation).equation.is_some() => {
                    found.push(*relation);
                }
                _ => {}
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
