//! Room `kit`: and-inverter graphs.
//!
//! # Idea
//!
//! A Boolean function is a node of a graph whose nodes are inputs and conjunctions of two literals; a literal is a node,
//! or its negation. Equal conjunctions are one node (structural hashing), constants are propagated as nodes are made,
//! and conjunctions that contradict or repeat what is below them are not made at all. A node has a greater number than
//! the nodes below it, so every walk over the graph is a loop over numbers.
//!
//! # Paper
//!
//! \[aig\] for the representation and the rules that look two nodes down.
//!
//! # Cost
//!
//! A conjunction is a look into a hash table. Evaluating, and finding reasons, is linear in the graph.

use crate::bits;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::ops::Not;

/// A node or its negation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Lit(u32);

impl Lit {
    /// The constant false.
    pub const FALSE: Lit = Lit(0);
    /// The constant true.
    pub const TRUE: Lit = Lit(1);

    /// The constant.
    pub fn constant(value: bool) -> Lit {
        if value { Lit::TRUE } else { Lit::FALSE }
    }

    /// The node of this number.
    pub fn positive(node: usize) -> Lit {
        Lit((node as u32) << 1)
    }

    /// The number of its node.
    pub fn node(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Whether it is a negation.
    pub fn is_negated(self) -> bool {
        self.0 & 1 != 0
    }

    /// Whether it is a constant.
    pub fn is_constant(self) -> bool {
        self.0 < 2
    }
}

impl Not for Lit {
    type Output = Lit;
    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    /// The constant false.
    False,
    /// Anything.
    Input,
    /// The conjunction of two.
    And(Lit, Lit),
}

/// A graph. Node 0 is the constant.
pub struct Aig {
    nodes: Vec<Node>,
    known: HashTable<u32>,
}

impl Default for Aig {
    fn default() -> Self {
        Aig { nodes: vec![Node::False], known: HashTable::new() }
    }
}

fn hash(pair: (Lit, Lit)) -> u64 {
    let mut hasher = FxHasher::default();
    pair.hash(&mut hasher);
    hasher.finish()
}

impl Aig {
    /// The number of nodes.
    #[allow(clippy::len_without_is_empty, reason = "the constant is always there")]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// What a node is.
    pub fn node(&self, at: usize) -> Node {
        self.nodes[at]
    }

    /// A new input.
    pub fn input(&mut self) -> Lit {
        self.push(Node::Input)
    }

    fn push(&mut self, node: Node) -> Lit {
        let at = u32::try_from(self.nodes.len()).ok().filter(|&at| at < u32::MAX >> 1);
        self.nodes.push(node);
        Lit(at.expect("fewer than 2^31 nodes") << 1)
    }

    /// The conjunction.
    pub fn and(&mut self, a: Lit, b: Lit) -> Lit {
        let (a, b) = if a < b { (a, b) } else { (b, a) };
        if a == Lit::FALSE || a == !b {
            return Lit::FALSE;
        }
        if a == Lit::TRUE || a == b {
            return b;
        }
        if let Some(known) = self.below(a, b).or_else(|| self.below(b, a)) {
            return known;
        }
        if let (Some([c, d]), Some(other)) = (self.parts(a), self.parts(b))
            && (other.contains(&!c) || other.contains(&!d))
        {
            return Lit::FALSE;
        }
        let is_it = |&at: &u32| self.nodes[at as usize] == Node::And(a, b);
        if let Some(&at) = self.known.find(hash((a, b)), is_it) {
            return Lit(at << 1);
        }
        let made = self.push(Node::And(a, b));
        let nodes = &self.nodes;
        let again = |&at: &u32| match nodes[at as usize] {
            Node::And(a, b) => hash((a, b)),
            _ => unreachable!("only conjunctions are in the table"),
        };
        self.known.insert_unique(hash((a, b)), made.node() as u32, again);
        made
    }

    /// What the literal is a conjunction of, if it is one.
    fn parts(&self, lit: Lit) -> Option<[Lit; 2]> {
        match self.nodes[lit.node()] {
            Node::And(a, b) if !lit.is_negated() => Some([a, b]),
            _ => None,
        }
    }

    /// The conjunction of `a` and `b` where what `b` is made of decides it.
    fn below(&self, a: Lit, b: Lit) -> Option<Lit> {
        let Node::And(c, d) = self.nodes[b.node()] else { return None };
        match b.is_negated() {
            false if a == !c || a == !d => Some(Lit::FALSE),
            false if a == c || a == d => Some(b),
            true if a == !c || a == !d => Some(a),
            _ => None,
        }
    }

    /// The disjunction.
    pub fn or(&mut self, a: Lit, b: Lit) -> Lit {
        !self.and(!a, !b)
    }

    /// The exclusive disjunction.
    pub fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        let (one, other) = (self.and(a, !b), self.and(!a, b));
        self.or(one, other)
    }

    /// Whether both are the same.
    pub fn iff(&mut self, a: Lit, b: Lit) -> Lit {
        !self.xor(a, b)
    }

    /// `a` where `c` holds, and `b` elsewhere.
    pub fn ite(&mut self, c: Lit, a: Lit, b: Lit) -> Lit {
        if a == b {
            return a;
        }
        let (one, other) = (self.and(c, a), self.and(!c, b));
        self.or(one, other)
    }

    /// The nodes that literals are made of, smaller numbers first; the constant is left out.
    pub fn cone(&self, roots: impl IntoIterator<Item = Lit>) -> Vec<usize> {
        let mut stack: Vec<usize> = roots.into_iter().map(Lit::node).collect();
        let top = stack.iter().max().map_or(0, |top| top + 1);
        let mut seen = vec![0; bits::words(top)];
        let mut count = 0;
        while let Some(at) = stack.pop() {
            if at == 0 || bits::contains(&seen, at) {
                continue;
            }
            bits::insert(&mut seen, at);
            count += 1;
            if let Node::And(a, b) = self.nodes[at] {
                stack.extend([a.node(), b.node()]);
            }
        }
        let mut cone = Vec::with_capacity(count);
        cone.extend(bits::members(&seen));
        cone
    }

    /// Makes nodes of this graph again with other literals below them. `nodes` has greater numbers last. `map` has the literals that stand for
    /// some of them, inputs among them, and is told those that stand for the others.
    pub fn substitute(&mut self, nodes: &[usize], map: &mut Images) {
        for &at in nodes {
            self.make(at, self.nodes[at], map);
        }
    }

    /// Makes nodes of another graph in this one. An input that `map` does not know becomes a new one.
    pub fn import(&mut self, from: &Aig, nodes: &[usize], map: &mut Images) {
        for &at in nodes {
            if from.nodes[at] == Node::Input && !map.has(at) {
                map.insert(at, self.input());
            }
            self.make(at, from.nodes[at], map);
        }
    }

    fn make(&mut self, at: usize, node: Node, map: &mut Images) {
        if map.has(at) {
            return;
        }
        let made = match node {
            Node::And(a, b) => self.and(map.of(a), map.of(b)),
            _ => Lit::positive(at),
        };
        map.insert(at, made);
    }

    /// The values of all nodes, given those of the inputs.
    pub fn evaluate(&self, input: impl FnMut(usize) -> bool) -> Values {
        let mut values = Values(Vec::with_capacity(self.nodes.len()));
        self.evaluate_more(&mut values, input);
        values
    }

    /// The values of the nodes that were made since values were computed, given those of the inputs among them.
    pub fn evaluate_more(&self, values: &mut Values, mut input: impl FnMut(usize) -> bool) {
        for at in values.0.len()..self.nodes.len() {
            let value = match self.nodes[at] {
                Node::False => false,
                Node::Input => input(at),
                Node::And(a, b) => values.get(a) && values.get(b),
            };
            values.0.push(value);
        }
    }

    /// Finds inputs whose values alone give these literals the values that they have: a reason, not necessarily the least.
    /// Of two reasons for a node it takes the one that costs less, inputs having the costs given. Each input of the reason is
    /// told, those with greater numbers first; the literals that come back, all of smaller numbers, get reasons too. A
    /// node without a cost needs no reason.
    pub fn reason(
        &self,
        roots: &[Lit],
        values: &Values,
        cost: impl Fn(usize) -> Option<u32>,
        mut tell: impl FnMut(usize) -> Vec<Lit>,
    ) {
        let top = roots.iter().map(|root| root.node() + 1).max().unwrap_or(0);
        let mut costs: Vec<u32> = Vec::with_capacity(top);
        for at in 0..top {
            let own = match self.nodes[at] {
                Node::False => 0,
                Node::Input => cost(at).unwrap_or(0),
                Node::And(..) if cost(at).is_none() => 0,
                Node::And(a, b) => match (values.get(a), values.get(b)) {
                    (true, true) => costs[a.node()].saturating_add(costs[b.node()]),
                    (true, false) => costs[b.node()],
                    (false, true) => costs[a.node()],
                    (false, false) => costs[a.node()].min(costs[b.node()]),
                },
            };
            costs.push(own);
        }
        let mut wanted = vec![false; top];
        roots.iter().for_each(|root| wanted[root.node()] = true);
        for at in (0..top).rev().filter(|&at| self.nodes[at] != Node::False) {
            if !wanted[at] || cost(at).is_none() {
                continue;
            }
            match self.nodes[at] {
                Node::Input => tell(at).into_iter().for_each(|root| wanted[root.node()] = true),
                Node::And(a, b) => match (values.get(a), values.get(b)) {
                    (true, true) => [wanted[a.node()], wanted[b.node()]] = [true, true],
                    (true, false) => wanted[b.node()] = true,
                    (false, true) => wanted[a.node()] = true,
                    _ if wanted[a.node()] || wanted[b.node()] => {
                        // One of them has a reason already.
                    }
                    _ if costs[a.node()] <= costs[b.node()] => wanted[a.node()] = true,
                    _ => wanted[b.node()] = true,
                },
                Node::False => {}
            }
        }
    }
}

/// Which literals stand for nodes of a graph.
#[derive(Clone, Default, Debug)]
pub struct Images {
    /// The literals, `NONE` for nodes that no literal stands for.
    lits: Vec<Lit>,
}

const NONE: Lit = Lit(u32::MAX);

impl Images {
    /// Whether no literal stands for any node.
    pub fn is_empty(&self) -> bool {
        self.lits.is_empty()
    }

    /// Whether a literal stands for a node.
    pub fn has(&self, node: usize) -> bool {
        self.lits.get(node).is_some_and(|&lit| lit != NONE)
    }

    /// A literal stands for a node from now on.
    pub fn insert(&mut self, node: usize, lit: Lit) {
        if self.lits.len() <= node {
            self.lits.resize(node + 1, NONE);
        }
        self.lits[node] = lit;
    }

    /// What stands for a literal; itself if nothing stands for its node.
    pub fn of(&self, lit: Lit) -> Lit {
        match self.lits.get(lit.node()) {
            Some(&own) if own == NONE => lit,
            Some(&own) if lit.is_negated() => !own,
            Some(&own) => own,
            None => lit,
        }
    }
}

impl FromIterator<(usize, Lit)> for Images {
    fn from_iter<I: IntoIterator<Item = (usize, Lit)>>(pairs: I) -> Self {
        let mut images = Images::default();
        pairs.into_iter().for_each(|(node, lit)| images.insert(node, lit));
        images
    }
}

/// The values of the nodes of a graph.
#[derive(Clone, Debug)]
pub struct Values(Vec<bool>);

impl Values {
    /// The value of a literal.
    pub fn get(&self, lit: Lit) -> bool {
        self.0[lit.node()] != lit.is_negated()
    }
}

#[cfg(test)]
pub(crate) mod tests;
