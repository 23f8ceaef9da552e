//! Room `ir`: proofs that a location is never reached.
//!
//! # Idea
//!
//! A proof is about a sequential program as written. It gives locations *sets*. A member of the set at a location l of procedure p is a pair
//! of valuations: the one with which an activation of p was entered, and one that it may have at l; at the exit of p the results are part
//! of it too, so that the set there is the summary of p. A proof shows that targets are not reached if its sets are *closed* and the sets at
//! the targets are empty:
//!
//! * the set at the entry of `main` has every pair (e, e);
//! * if (e, c) is in the set at l, and an edge leads from there to l' and turns c into c', then (e, c') is in the set at l';
//! * if (e, c) is in the set at l, and an edge calls q there, then (a, a) is in the set at the entry of q, where a has the globals of c, the
//!   arguments, and anything in the other locals of q;
//! * and if (a, x) is in the set at the exit of q, then (e, c') is in the set where the call leads, where c' is c with the globals and the
//!   results of x.
//!
//! A set may speak, besides, of the valuation x with which the activation is going to end: then its members are triples (e, c, x). The activation keeps its x as it keeps its e.
//! At the exit x is c. Where a procedure is entered, x may be anything. So a set can say of a valuation *what comes of it*, "if the activation ends like this, it was
//! entered like that", as well as where it comes from: lemmas about the rest of a procedure are sets as they are.
//!
//! [docs/proofs.md](../../../docs/proofs.md) has the argument. Three rules make proofs small. A location *without* a set is run through: the edges that enter it and those
//! that leave it count as one. A variable that a procedure never writes, nor anything that it calls, has its entry value all the time, and a call
//! keeps what the callee does not write, whether sets say so or not. And sets speak only of what they like: a variable that a set does not
//! mention may have any value in it.
//!
//! # Form
//!
//! Sets are Boolean functions of the bits of variables, in one table of nodes that all sets share: vertices of decision diagrams (`Ite`), lists of
//! conjuncts (`And`), and bits. A node refers to earlier nodes only, and each reference may be complemented. So diagrams, cubes and clauses have the
//! size here that they have in an engine.
//!
//! Numbers are two's complement: bit 0 is the least significant one. An unbounded integer has no bits; of these there are linear constraints (`Sum`).
//!
//! The order of bits in the table is a hint: whoever builds decision diagrams of the sets does well to test first the bits that come last.

mod text;

pub use text::{Certificate, parse, print};

use crate::ids::{LocId, Table, VarId};
use crate::program::Program;
use crate::types::Type;
use crate::value::Value;
use rustc_hash::FxHashMap as HashMap;
use std::cmp::Reverse;
use std::ops::Not;

/// A value that a set can speak of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Place {
    /// The value of a variable when the procedure was entered.
    Entry(VarId),
    /// Its value now.
    Now(VarId),
    /// Its value when the procedure returns, if it does; at the exit its value now.
    Exit(VarId),
    /// A result of the procedure, by its position: what it returns, if it does.
    Result(u32),
}

/// A node of a proof, or its complement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ref(u32);

impl Ref {
    /// Everything.
    pub const TRUE: Ref = Ref(0);
    /// Nothing.
    pub const FALSE: Ref = Ref(1);

    /// The node of this number.
    pub fn node(number: u32) -> Self {
        assert!(number < 1 << 31, "a reference has one bit for the complement");
        Ref(number << 1)
    }

    /// The number of the node: 0 is the constant, and the node of number n stands at n - 1 of the table.
    pub fn number(self) -> u32 {
        self.0 >> 1
    }

    /// Whether the complement is meant.
    pub fn is_complement(self) -> bool {
        self.0 & 1 != 0
    }

    /// The complement if `flip`.
    pub fn flip(self, flip: bool) -> Ref {
        Ref(self.0 ^ flip as u32)
    }
}

impl Not for Ref {
    type Output = Ref;
    fn not(self) -> Ref {
        self.flip(true)
    }
}

/// What a sum is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compare {
    /// At most this number.
    AtMost(i64),
    /// Exactly this number.
    Equal(i64),
    /// This number, or one that differs from it by a multiple of the second, which is positive.
    Congruent(i64, i64),
}

/// A Boolean function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// A bit of a value.
    Bit(Place, u8),
    /// Whether the sum of unbounded integers, each times a factor, compares so.
    Sum(Box<[(i64, Place)]>, Compare),
    /// The second where the first is true, the third where it is false.
    Ite([Ref; 3]),
    /// The conjunction of all.
    And(Box<[Ref]>),
}

/// What shows that locations are not reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    nodes: Vec<Node>,
    /// For each location of the program its set, if it has one.
    pub sets: Table<LocId, Option<Ref>>,
}

impl Proof {
    /// A proof of these nodes and sets, as they are.
    pub fn new(nodes: Vec<Node>, sets: Table<LocId, Option<Ref>>) -> Self {
        Proof { nodes, sets }
    }

    /// The nodes. That of number n, as references count them, stands at n - 1.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The proof that nothing is to be shown: every set has everything.
    pub fn trivial(program: &Program) -> Self {
        Proof { nodes: Vec::new(), sets: Table::filled(program.locs().len(), Some(Ref::TRUE)) }
    }

    /// The same proof with its bits in front, those with the greatest keys first. A checker that tests bits one after the other begins with the last.
    pub fn with_bits_by<K: Ord>(self, key: impl Fn(Place, u8) -> K) -> Self {
        let is_bit = |&at: &usize| matches!(self.nodes[at], Node::Bit(..));
        let (mut bits, others): (Vec<usize>, Vec<usize>) = (0..self.nodes.len()).partition(is_bit);
        bits.sort_by_cached_key(|&at| match self.nodes[at] {
            Node::Bit(place, bit) => Some(Reverse(key(place, bit))),
            _ => None,
        });
        bits.extend(others);
        let mut moved = vec![Ref::TRUE; bits.len() + 1];
        bits.iter().zip(1..).for_each(|(&at, number)| moved[at + 1] = Ref::node(number));
        let to = |at: &Ref| moved[at.number() as usize].flip(at.is_complement());
        let node = |&at: &usize| match &self.nodes[at] {
            Node::Bit(..) | Node::Sum(..) => self.nodes[at].clone(),
            Node::Ite(three) => Node::Ite(three.map(|at| to(&at))),
            Node::And(all) => Node::And(all.iter().map(to).collect()),
        };
        let nodes = bits.iter().map(node).collect();
        Proof { nodes, sets: self.sets.iter().map(|set| set.as_ref().map(to)).collect() }
    }

    /// What is wrong with its form, if anything: there is a place for each location of the program, and nodes refer to earlier ones.
    pub fn flaw(&self, program: &Program) -> Option<String> {
        if self.sets.len() != program.locs().len() {
            return Some(format!(
                "it has {} locations, the program {}",
                self.sets.len(),
                program.locs().len()
            ));
        }
        for (at, node) in self.nodes.iter().enumerate() {
            let own = at as u32 + 1;
            if matches!(node, Node::Sum(_, Compare::Congruent(_, ..=0))) {
                return Some(format!("node {own} has a modulus that is not positive"));
            }
            let earlier = |refs: &[Ref]| refs.iter().all(|to| to.number() < own);
            let sound = match node {
                Node::Bit(..) | Node::Sum(..) => true,
                Node::Ite(refs) => earlier(refs),
                Node::And(refs) => earlier(refs),
            };
            if !sound {
                return Some(format!("node {own} refers to itself or to a later one"));
            }
        }
        let known = |set: &Ref| set.number() as usize <= self.nodes.len();
        (!self.sets.iter().flatten().all(known)).then(|| "a set is a node that does not exist".into())
    }
}

/// A proof under construction. Equal nodes are made once.
#[derive(Default)]
pub struct Maker {
    nodes: Vec<Node>,
    known: HashMap<Node, Ref>,
}

impl Maker {
    /// A maker that goes on from a proof, with its nodes as they are.
    pub fn of(proof: Proof) -> (Self, Table<LocId, Option<Ref>>) {
        let pairs = proof.nodes.iter().enumerate();
        let known = pairs.map(|(at, node)| (node.clone(), Ref::node(at as u32 + 1))).collect();
        (Maker { nodes: proof.nodes, known }, proof.sets)
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are only constants.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Forgets all nodes but the first ones, of which there are so many.
    pub fn truncate(&mut self, len: usize) {
        for node in self.nodes.drain(len..) {
            self.known.remove(&node);
        }
    }

    fn node(&mut self, node: Node) -> Ref {
        if let Some(&known) = self.known.get(&node) {
            return known;
        }
        let own = Ref::node(self.nodes.len() as u32 + 1);
        self.nodes.push(node.clone());
        self.known.insert(node, own);
        own
    }

    /// A bit of a value.
    pub fn bit(&mut self, place: Place, bit: u8) -> Ref {
        self.node(Node::Bit(place, bit))
    }

    /// `then` where the condition is true, `other` where it is not.
    pub fn ite(&mut self, condition: Ref, then: Ref, other: Ref) -> Ref {
        match (then, other) {
            _ if then == other => then,
            (Ref::TRUE, Ref::FALSE) => condition,
            (Ref::FALSE, Ref::TRUE) => !condition,
            _ => self.node(Node::Ite([condition, then, other])),
        }
    }

    /// The conjunction of all.
    pub fn and(&mut self, mut refs: Vec<Ref>) -> Ref {
        refs.retain(|&to| to != Ref::TRUE);
        refs.sort_unstable();
        refs.dedup();
        // A node and its complement are neighbours.
        if refs.contains(&Ref::FALSE) || refs.windows(2).any(|pair| pair[0] == !pair[1]) {
            return Ref::FALSE;
        }
        match refs[..] {
            [] => Ref::TRUE,
            [only] => only,
            _ => self.node(Node::And(refs.into())),
        }
    }

    /// The disjunction of all.
    pub fn or(&mut self, refs: Vec<Ref>) -> Ref {
        !self.and(refs.into_iter().map(Not::not).collect())
    }

    /// That a sum of unbounded integers, each times a factor, compares so.
    pub fn sum(&mut self, terms: impl Into<Box<[(i64, Place)]>>, compare: Compare) -> Ref {
        self.node(Node::Sum(terms.into(), compare))
    }

    /// That a value of this type is this number.
    pub fn equals(&mut self, place: Place, ty: Type, value: Value) -> Ref {
        let Some(width) = ty.bits() else {
            return self.sum([(1, place)], Compare::Equal(value.get()));
        };
        let bits = (0..width).map(|bit| self.bit(place, bit).flip(value.get() >> bit & 1 == 0)).collect();
        self.and(bits)
    }

    /// That two values of this type are the same.
    pub fn same(&mut self, a: Place, b: Place, ty: Type) -> Ref {
        let Some(width) = ty.bits() else {
            return self.sum([(1, a), (-1, b)], Compare::Equal(0));
        };
        let mut all = Vec::with_capacity(width.into());
        for bit in 0..width {
            let (a, b) = (self.bit(a, bit), self.bit(b, bit));
            all.push(self.ite(a, b, !b));
        }
        self.and(all)
    }

    /// The proof with these sets.
    pub fn finish(self, sets: Table<LocId, Option<Ref>>) -> Proof {
        Proof { nodes: self.nodes, sets }
    }
}
