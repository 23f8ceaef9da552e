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
use crate::aig::{Aig, Lit, Node, Values, image};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Looks for what determines the inputs Y.
pub(super) struct Definitions<'a> {
    aig: &'a mut Aig,
    /// The inputs Y that are left, in the order in which values are picked.
    left: Vec<Lit>,
    values: Values,
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
            let inputs: HashSet<usize> = cone.iter().copied().filter(|&at| self.is_input(at)).collect();
            self.left.retain(|lit| inputs.contains(&lit.node()));
            if self.left.is_empty() {
                return phi;
            }
            let equations = self.equations(phi);
            let mut map = self.determined(&equations, &cone);
            if map.is_empty() {
                let mut picked = self.controls(&equations);
                if picked.is_empty() {
                    picked.extend(self.left.iter().take(count));
                    count *= 2;
                }
                map.extend(picked.into_iter().map(|lit| (lit.node(), Lit::constant(self.values.get(lit)))));
            }
            self.aig.substitute(&cone, &mut map);
            phi = image(&map, phi);
            self.aig.evaluate_more(&mut self.values, |_| false);
        }
    }

    fn is_input(&self, at: usize) -> bool {
        self.aig.node(at) == Node::Input
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

    /// The inputs Y for which equations say which function of X they are.
    fn determined(&self, equations: &[(Lit, Lit)], cone: &[usize]) -> HashMap<usize, Lit> {
        let left: HashSet<usize> = self.left.iter().map(|lit| lit.node()).collect();
        let mut mixed: HashSet<usize> = HashSet::default();
        for &at in cone {
            let is_mixed = match self.aig.node(at) {
                Node::And(a, b) => mixed.contains(&a.node()) || mixed.contains(&b.node()),
                _ => left.contains(&at),
            };
            if is_mixed {
                mixed.insert(at);
            }
        }
        let mut map: HashMap<usize, Lit> = HashMap::default();
        for &(one, other) in equations {
            for (y, function) in [(one, other), (other, one)] {
                if left.contains(&y.node()) && !mixed.contains(&function.node()) {
                    map.entry(y.node()).or_insert(if y.is_negated() { !function } else { function });
                }
            }
        }
        map
    }

    /// The inputs Y on which it depends which function a side of an equation is.
    fn controls(&self, equations: &[(Lit, Lit)]) -> Vec<Lit> {
        let mut controls: Vec<Lit> = Vec::new();
        let mut seen: HashSet<usize> = HashSet::default();
        let sides = equations.iter().filter(|(_, other)| *other != Lit::TRUE).flat_map(|&(a, b)| [a, b]);
        for mut side in sides {
            while seen.insert(side.node())
                && let Some((control, then, otherwise)) = self.multiplexer(side)
            {
                controls.push(control);
                side = if self.values.get(control) { then } else { otherwise };
            }
        }
        let cone: HashSet<usize> = self.aig.cone(controls).into_iter().collect();
        self.left.iter().copied().filter(|lit| cone.contains(&lit.node())).collect()
    }

    /// What decides between two functions, and the two, if a function is made so. Their signs do not matter.
    fn multiplexer(&self, lit: Lit) -> Option<(Lit, Lit, Lit)> {
        let Node::And(one, other) = self.aig.node(lit.node()) else { return None };
        let (Node::And(a, b), Node::And(c, d)) = (self.aig.node(one.node()), self.aig.node(other.node()))
        else {
            return None;
        };
        if !one.is_negated() || !other.is_negated() {
            return None;
        }
        let pairs = [(a, b, c, d), (a, b, d, c), (b, a, c, d), (b, a, d, c)];
        pairs
            .into_iter()
            .find(|(control, _, there, _)| *control == !*there)
            .map(|(control, then, _, otherwise)| (control, then, otherwise))
    }
}
