//! Room `kit`: an answer to one candidate, made an answer to many.
//!
//! # Idea
//!
//! φ holds for a candidate and a valuation of Y. Where φ is a conjunction of which one part says `y = f(X)`, the value of y
//! is no choice, whatever the candidate: f is substituted for y. Where it says `g = f(X)`, and g is one of two functions as a third one
//! says, a multiplexer, the inputs of that third function get the values that they have in the answer, so that g becomes one of
//! the two. If neither is possible some of the other inputs get their values, twice as many each time. In the end φ is a
//! function of X alone. It holds for the candidate, and wherever it holds there is an answer.
//!
//! # Cost
//!
//! Each substitution is a copy of what is left of φ.

use super::conjuncts;
use crate::aig::{Aig, Images, Lit, Node, Values};
use crate::bits;
use rustc_hash::FxHashSet as HashSet;

/// Looks for what determines the inputs Y.
pub(super) struct Definitions<'a> {
    aig: &'a mut Aig,
    /// The inputs Y that are left, in the order in which values are picked.
    left: Vec<Lit>,
    values: Values,
}

/// A set of nodes.
struct Nodes(Vec<u64>);

impl Nodes {
    fn new(len: usize) -> Self {
        Nodes(vec![0; bits::words(len)])
    }

    fn insert(&mut self, at: usize) {
        bits::insert(&mut self.0, at);
    }

    fn has(&self, lit: Lit) -> bool {
        bits::contains(&self.0, lit.node())
    }
}

impl<'a> Definitions<'a> {
    /// In a graph in which these inputs are Y, and nodes have these values for a candidate and its answer.
    pub fn new(aig: &'a mut Aig, exists: &[Lit], values: Values) -> Self {
        Definitions { aig, left: exists.to_vec(), values }
    }

    /// A function of X that holds for the candidate, and implies that there is an answer for which `phi` holds. `phi` holds
    /// for the candidate and its answer.
    pub fn answer(mut self, mut phi: Lit) -> Lit {
        let mut count = 1;
        loop {
            let cone = self.aig.cone([phi]);
            let mut inside = Nodes::new(self.aig.len());
            cone.iter().for_each(|&at| inside.insert(at));
            self.left.retain(|&lit| inside.has(lit));
            if self.left.is_empty() {
                return phi;
            }
            let (mut map, known) = self.determined(phi, &cone);
            if !known {
                let picked = self.left.iter().take(count);
                picked.for_each(|lit| map.insert(lit.node(), Lit::constant(self.values.get(*lit))));
                count *= 2;
            }
            self.aig.substitute(&cone, &mut map);
            phi = map.of(phi);
            self.aig.evaluate_more(&mut self.values, |_| false);
        }
    }

    /// Functions of X for inputs Y, as far as equations say them; and whether there are any.
    fn determined(&self, phi: Lit, cone: &[usize]) -> (Images, bool) {
        let (mut left, mut mixed) = (Nodes::new(self.aig.len()), Nodes::new(self.aig.len()));
        self.left.iter().for_each(|lit| left.insert(lit.node()));
        for &at in cone {
            let is_mixed = match self.aig.node(at) {
                Node::And(a, b) => mixed.has(a) || mixed.has(b),
                _ => left.has(Lit::positive(at)),
            };
            if is_mixed {
                mixed.insert(at);
            }
        }
        let equations = self.equations(phi);
        let sides = equations.iter().flat_map(|&(one, other)| [(one, other), (other, one)]);
        let sides: Vec<(Lit, Lit)> = sides.filter(|(y, f)| mixed.has(*y) && !mixed.has(*f)).collect();
        let mut map = Images::default();
        let define = |map: &mut Images, y: Lit, function: Lit| {
            let is_new = left.has(y) && !map.has(y.node());
            if is_new {
                map.insert(y.node(), if y.is_negated() { !function } else { function });
            }
            is_new
        };
        let mut known = false;
        sides.iter().for_each(|&(y, function)| known |= define(&mut map, y, function));
        if known {
            return (map, known);
        }
        let mut controls = Vec::new();
        let real = sides.iter().filter(|(_, function)| *function != Lit::TRUE);
        let leaves: Vec<(Lit, Lit)> =
            real.map(|&(side, function)| (self.leaf(side, &mut controls), function)).collect();
        let mut inside = Nodes::new(self.aig.len());
        self.aig.cone(controls).into_iter().for_each(|at| inside.insert(at));
        for &lit in self.left.iter().filter(|lit| inside.has(**lit)) {
            known |= define(&mut map, lit, Lit::constant(self.values.get(lit)));
        }
        leaves.into_iter().for_each(|(y, function)| known |= define(&mut map, y, function));
        (map, known)
    }

    /// The parts of a conjunction that say that two literals are equal, those that say that one is true among them.
    fn equations(&self, phi: Lit) -> Vec<(Lit, Lit)> {
        let mut equations = Vec::new();
        // An equation is two clauses of two literals each.
        let mut clauses: HashSet<(Lit, Lit)> = HashSet::default();
        for part in conjuncts(self.aig, phi) {
            equations.push((part, Lit::TRUE));
            if let Node::And(a, b) = self.aig.node(part.node())
                && part.is_negated()
            {
                let (a, b) = (!a.min(b), !a.max(b));
                clauses.insert((a, b));
                if clauses.contains(&(!a, !b)) {
                    equations.push((a, !b));
                }
            }
        }
        equations
    }

    /// What a function is after all decisions between two functions that the answer makes; notes what decides.
    fn leaf(&self, mut side: Lit, controls: &mut Vec<Lit>) -> Lit {
        while let Some((control, then, otherwise)) = self.multiplexer(side) {
            controls.push(control);
            side = if self.values.get(control) { then } else { otherwise };
        }
        side
    }

    /// What decides between two functions, and the two, if a function is made so.
    fn multiplexer(&self, lit: Lit) -> Option<(Lit, Lit, Lit)> {
        let Node::And(one, other) = self.aig.node(lit.node()) else { return None };
        let inner = |lit: Lit| match self.aig.node(lit.node()) {
            Node::And(a, b) if lit.is_negated() => Some((a, b)),
            _ => None,
        };
        let ((a, b), (c, d)) = (inner(one)?, inner(other)?);
        let pairs = [(a, b, c, d), (a, b, d, c), (b, a, c, d), (b, a, d, c)];
        let (control, then, _, otherwise) = pairs.into_iter().find(|(one, _, other, _)| *one == !*other)?;
        let signed = |branch: Lit| if lit.is_negated() { branch } else { !branch };
        Some((control, signed(then), signed(otherwise)))
    }
}
