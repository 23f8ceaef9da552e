//! Room `kit`: an answer to one candidate, made an answer to many.
//!
//! # Idea
//!
//! φ holds for a candidate and a valuation of Y. Where φ is a conjunction of which one part says `y = f(X)`, the value of y
//! is no choice, whatever the candidate: f is substituted for y. It may also say `g = f(X)`, where g is one of two functions as a third
//! one says, its *control*. If the control is a function of X, each of the two functions is f(X) where the control
//! chooses it. If not, φ is restricted to where the control has the value that it has in the answer, so that g becomes one of the two. If
//! there is no such equation some of the inputs get the values that they have in the answer, twice as many each time. In
//! the end φ is a function of X alone. It holds for the candidate, and wherever it holds there is an answer.
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

/// So many functions at the most are looked at for one equation before multiplexers are restricted.
const MOST_VISITS: usize = 64;

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
            let (mut map, controls) = self.determined(phi, &cone);
            if map.is_empty() && controls.is_empty() {
                let picked = self.left.iter().take(count);
                picked.for_each(|lit| map.insert(lit.node(), Lit::constant(self.values.get(*lit))));
                count *= 2;
            }
            phi = self.restrict(phi, &cone, map, &controls);
            self.aig.evaluate_more(&mut self.values, |_| false);
        }
    }

    /// Substitutes for inputs, and for controls their values; which are claimed besides.
    fn restrict(&mut self, phi: Lit, cone: &[usize], mut map: Images, controls: &[usize]) -> Lit {
        let mut claims = Lit::TRUE;
        let mut rest = cone;
        for &control in controls {
            let (now, later) = rest.split_at(rest.partition_point(|&at| at <= control));
            rest = later;
            self.aig.substitute(now, &mut map);
            let (own, value) = (map.of(Lit::positive(control)), self.values.get(Lit::positive(control)));
            claims = self.aig.and(claims, if value { own } else { !own });
            map.insert(control, Lit::constant(value));
        }
        self.aig.substitute(rest, &mut map);
        self.aig.and(map.of(phi), claims)
    }

    /// Functions of X for inputs Y, as far as equations say them; if they do so under conditions only, the controls.
    fn determined(&mut self, phi: Lit, cone: &[usize]) -> (Images, Vec<usize>) {
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
            if left.has(y) && !map.has(y.node()) {
                map.insert(y.node(), if y.is_negated() { !function } else { function });
            }
        };
        sides.iter().for_each(|&(y, function)| define(&mut map, y, function));
        if !map.is_empty() {
            return (map, Vec::new());
        }
        let mut controls = Vec::new();
        for (side, function) in sides.into_iter().filter(|(_, function)| *function != Lit::TRUE) {
            self.follow(side, function, &left, &mixed, &mut map, &mut controls);
        }
        controls.sort_unstable();
        controls.dedup();
        (map, controls)
    }

    /// A function of X is equal to another function: what follows for the inputs that it is one of, as multiplexers choose.
    fn follow(
        &mut self,
        side: Lit,
        function: Lit,
        left: &Nodes,
        mixed: &Nodes,
        map: &mut Images,
        controls: &mut Vec<usize>,
    ) {
        let mut visits = 0;
        let mut stack = vec![(side, Lit::TRUE)];
        while let Some((side, when)) = stack.pop() {
            visits += 1;
            if left.has(side) {
                let answer = Lit::constant(self.values.get(side));
                let otherwise = if map.has(side.node()) { map.of(side) } else { answer };
                let own = self.aig.ite(when, function, otherwise);
                map.insert(side.node(), if side.is_negated() { !own } else { own });
                continue;
            }
            let Some((control, then, otherwise)) = self.multiplexer(side) else { continue };
            if mixed.has(control) || visits > MOST_VISITS {
                controls.push(control.node());
                stack.push((if self.values.get(control) { then } else { otherwise }, when));
            } else {
                stack.push((then, self.aig.and(when, control)));
                stack.push((otherwise, self.aig.and(when, !control)));
            }
        }
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
