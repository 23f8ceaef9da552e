//! Room `kit`: formulas of linear temporal logic, and what they mean.
//!
//! A formula is a flat list of nodes, operands before operators, so that formulas of any depth are made, walked and
//! dropped without recursion. It speaks about an infinite word; atoms are numbers, and a letter of the word says which of
//! them are true. [`Formula::holds`] is the meaning of formulas on words that end in a loop, operator by operator, with
//! none of the tricks of the translation: tests compare automata with it.

use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeSet;

/// The number of a node in its formula.
pub type NodeId = u32;

/// A formula: an atom, or an operator on nodes with smaller numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// True or false.
    Const(bool),
    /// An atom is true now.
    Atom(u32),
    /// Not.
    Not(NodeId),
    /// And.
    And(NodeId, NodeId),
    /// Or.
    Or(NodeId, NodeId),
    /// If, then.
    Implies(NodeId, NodeId),
    /// If and only if.
    Iff(NodeId, NodeId),
    /// `X a`: at the next position.
    Next(NodeId),
    /// `F a`: now or later.
    Finally(NodeId),
    /// `G a`: now and always.
    Globally(NodeId),
    /// `a U b`: b now or later, and a until then.
    Until(NodeId, NodeId),
    /// `a R b`: b up to and with the first a, or for ever.
    Release(NodeId, NodeId),
    /// `a W b`: a until b, or for ever.
    WeakUntil(NodeId, NodeId),
    /// `a M b`: a now or later, and b up to then and with it.
    StrongRelease(NodeId, NodeId),
}

impl Node {
    /// The operands.
    pub fn operands(self) -> impl Iterator<Item = NodeId> {
        let pair = match self {
            Node::Const(_) | Node::Atom(_) => [None, None],
            Node::Not(a) | Node::Next(a) | Node::Finally(a) | Node::Globally(a) => [Some(a), None],
            Node::And(a, b) | Node::Or(a, b) | Node::Implies(a, b) | Node::Iff(a, b) => [Some(a), Some(b)],
            Node::Until(a, b) | Node::Release(a, b) => [Some(a), Some(b)],
            Node::WeakUntil(a, b) | Node::StrongRelease(a, b) => [Some(a), Some(b)],
        };
        pair.into_iter().flatten()
    }

    /// The same operator on other operands.
    pub fn map(self, other: impl Fn(NodeId) -> NodeId) -> Node {
        match self {
            Node::Const(_) | Node::Atom(_) => self,
            Node::Not(a) => Node::Not(other(a)),
            Node::Next(a) => Node::Next(other(a)),
            Node::Finally(a) => Node::Finally(other(a)),
            Node::Globally(a) => Node::Globally(other(a)),
            Node::And(a, b) => Node::And(other(a), other(b)),
            Node::Or(a, b) => Node::Or(other(a), other(b)),
            Node::Implies(a, b) => Node::Implies(other(a), other(b)),
            Node::Iff(a, b) => Node::Iff(other(a), other(b)),
            Node::Until(a, b) => Node::Until(other(a), other(b)),
            Node::Release(a, b) => Node::Release(other(a), other(b)),
            Node::WeakUntil(a, b) => Node::WeakUntil(other(a), other(b)),
            Node::StrongRelease(a, b) => Node::StrongRelease(other(a), other(b)),
        }
    }
}

/// A formula of linear temporal logic. Its last node is the whole; one without nodes is true.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Formula {
    nodes: Vec<Node>,
}

impl Formula {
    /// Adds a node, and makes it the whole. Its operands must be there.
    pub fn push(&mut self, node: Node) -> NodeId {
        let id = self.nodes.len() as NodeId;
        assert!(node.operands().all(|operand| operand < id), "operands come first");
        self.nodes.push(node);
        id
    }

    /// The nodes, operands before operators.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Adds the nodes of another formula, and makes it the whole.
    pub fn append(&mut self, other: &Formula) -> NodeId {
        let first = self.nodes.len() as NodeId;
        if other.nodes.is_empty() {
            return self.push(Node::Const(true));
        }
        self.nodes.extend(other.nodes.iter().map(|node| node.map(|operand| operand + first)));
        self.nodes.len() as NodeId - 1
    }

    /// The formula that ends with a node: what the node is made from, and no more.
    pub fn part(&self, whole: NodeId) -> Formula {
        let mut wanted = BTreeSet::from([whole]);
        let mut work = vec![whole];
        while let Some(id) = work.pop() {
            work.extend(self.nodes[id as usize].operands().filter(|&operand| wanted.insert(operand)));
        }
        let numbers: HashMap<NodeId, NodeId> =
            wanted.iter().enumerate().map(|(number, &id)| (id, number as NodeId)).collect();
        let nodes = wanted.iter().map(|&id| self.nodes[id as usize].map(|operand| numbers[&operand]));
        Formula { nodes: nodes.collect() }
    }

    /// The negation.
    pub fn negated(&self) -> Formula {
        let mut formula = self.clone();
        let whole = match formula.nodes.len() {
            0 => formula.push(Node::Const(true)),
            len => len as NodeId - 1,
        };
        formula.push(Node::Not(whole));
        formula
    }

    /// How many atoms there are: more than the greatest number of one.
    pub fn atoms(&self) -> usize {
        let atoms = self.nodes.iter().filter_map(|node| match node {
            Node::Atom(atom) => Some(*atom as usize + 1),
            _ => None,
        });
        atoms.max().unwrap_or(0)
    }

    /// Whether the formula holds at the beginning of a word.
    pub fn holds(&self, word: &Word) -> bool {
        let len = word.letters.len();
        let mut rows: Vec<Vec<bool>> = Vec::with_capacity(self.nodes.len());
        for &node in &self.nodes {
            let row = {
                let at = |id: NodeId, position: usize| rows[id as usize][position];
                let each = |f: &dyn Fn(usize) -> bool| (0..len).map(f).collect::<Vec<bool>>();
                match node {
                    Node::Const(value) => vec![value; len],
                    Node::Atom(atom) => each(&|i| word.is_true(i, atom)),
                    Node::Not(a) => each(&|i| !at(a, i)),
                    Node::And(a, b) => each(&|i| at(a, i) && at(b, i)),
                    Node::Or(a, b) => each(&|i| at(a, i) || at(b, i)),
                    Node::Implies(a, b) => each(&|i| !at(a, i) || at(b, i)),
                    Node::Iff(a, b) => each(&|i| at(a, i) == at(b, i)),
                    Node::Next(a) => each(&|i| at(a, word.next(i))),
                    Node::Finally(a) => word.least(|i, later| at(a, i) || later),
                    Node::Globally(a) => word.greatest(|i, later| at(a, i) && later),
                    Node::Until(a, b) => word.least(|i, later| at(b, i) || at(a, i) && later),
                    Node::Release(a, b) => word.greatest(|i, later| at(b, i) && (at(a, i) || later)),
                    Node::WeakUntil(a, b) => word.greatest(|i, later| at(b, i) || at(a, i) && later),
                    Node::StrongRelease(a, b) => word.least(|i, later| at(b, i) && (at(a, i) || later)),
                }
            };
            rows.push(row);
        }
        rows.last().is_none_or(|row| row[0])
    }
}

/// An infinite word that ends in a loop. It has at least one letter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Word {
    /// For each position, which atoms are true. Those that are not there are false.
    pub letters: Vec<Vec<bool>>,
    /// The position that follows the last one.
    pub repeats_from: usize,
}

impl Word {
    /// Whether an atom is true at a position.
    pub fn is_true(&self, position: usize, atom: u32) -> bool {
        self.letters[position].get(atom as usize).copied().unwrap_or(false)
    }

    /// The next position.
    pub fn next(&self, position: usize) -> usize {
        if position + 1 < self.letters.len() { position + 1 } else { self.repeats_from }
    }

    fn least(&self, now: impl Fn(usize, bool) -> bool) -> Vec<bool> {
        self.fixed_point(false, now)
    }

    fn greatest(&self, now: impl Fn(usize, bool) -> bool) -> Vec<bool> {
        self.fixed_point(true, now)
    }

    /// What is at each position, given what is at the next. Two rounds from the back reach it: the first one settles
    /// the beginning of the loop.
    fn fixed_point(&self, start: bool, now: impl Fn(usize, bool) -> bool) -> Vec<bool> {
        let mut row = vec![start; self.letters.len()];
        for _ in 0..2 {
            for position in (0..row.len()).rev() {
                row[position] = now(position, row[self.next(position)]);
            }
        }
        row
    }
}
