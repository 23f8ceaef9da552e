//! Room `kit`: formulas in negation normal form, simplified as they are made.
//!
//! # Idea
//!
//! Negation is only left at atoms, and of the temporal operators only next, until and release: `F a` is `true U a`,
//! `G a` is `false R a`, `a W b` is `b R (a | b)` and `a M b` is `b U (a & b)`. Nodes are made once, with operands that have smaller
//! numbers, so that passes over all nodes need no recursion. A node is made by a function that first looks for a simpler formula
//! with the same meaning: constants; what one operand says already because it implies the other; `X` in front of what it
//! commutes with; and formulas such as `G F a`, for which it does not matter when they are asked.
//!
//! # Paper
//!
//! \[somenzi-bloem\] and \[ltl2ba\], which simplify formulas before they translate them.
//!
//! # Departures
//!
//! Implication is decided by the form of the formulas, and only a few operators deep, so that its cost is bounded.

use super::formula::{Formula, Node as Source};
use rustc_hash::FxHashMap as HashMap;

/// The number of a node.
pub(super) type Id = u32;

/// True, always the first node.
pub(super) const TRUE: Id = 0;
/// False, always the second.
pub(super) const FALSE: Id = 1;

/// How deep implication looks into formulas.
const DEPTH: u32 = 4;

/// A formula in negation normal form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Node {
    True,
    False,
    Literal(u32, bool),
    And(Id, Id),
    Or(Id, Id),
    Next(Id),
    Until(Id, Id),
    Release(Id, Id),
}

/// Formulas, each stored once.
pub(super) struct Arena {
    pub nodes: Vec<Node>,
    ids: HashMap<Node, Id>,
}

/// The normal form of a formula.
pub(super) fn normal(formula: &Formula) -> (Arena, Id) {
    let nodes = formula.nodes();
    // Which nodes are needed, as they are and negated.
    let mut needed = vec![[false; 2]; nodes.len()];
    if let Some(last) = needed.last_mut() {
        last[0] = true;
    }
    for at in (0..nodes.len()).rev() {
        let [plain, negated] = needed[at];
        let mut need = |id: Id, plain: bool, negated: bool| {
            let known = &mut needed[id as usize];
            *known = [known[0] | plain, known[1] | negated];
        };
        match nodes[at] {
            Source::Not(a) => need(a, negated, plain),
            Source::Implies(a, b) => {
                need(a, negated, plain);
                need(b, plain, negated);
            }
            Source::Iff(a, b) if plain || negated => {
                need(a, true, true);
                need(b, true, true);
            }
            node => node.operands().for_each(|operand| need(operand, plain, negated)),
        }
    }
    let mut arena = Arena { nodes: Vec::new(), ids: HashMap::default() };
    arena.node(Node::True);
    arena.node(Node::False);
    let mut made = vec![[TRUE; 2]; nodes.len()];
    for (at, &node) in nodes.iter().enumerate() {
        for negated in [false, true] {
            if needed[at][negated as usize] {
                made[at][negated as usize] = arena.convert(node, negated, &made);
            }
        }
    }
    let whole = made.last().map_or(TRUE, |made| made[0]);
    (arena, whole)
}

impl Arena {
    /// A node whose operands are in normal form already, or its negation.
    fn convert(&mut self, node: Source, negated: bool, made: &[[Id; 2]]) -> Id {
        let plain = |id: Id| made[id as usize][negated as usize];
        let other = |id: Id| made[id as usize][!negated as usize];
        match (node, negated) {
            (Source::Const(value), _) => [FALSE, TRUE][(value != negated) as usize],
            (Source::Atom(atom), _) => self.node(Node::Literal(atom, !negated)),
            (Source::Not(a), _) => other(a),
            (Source::And(a, b), false) | (Source::Or(a, b), true) => self.and(plain(a), plain(b)),
            (Source::And(a, b), true) | (Source::Or(a, b), false) => self.or(plain(a), plain(b)),
            (Source::Implies(a, b), false) => self.or(other(a), plain(b)),
            (Source::Implies(a, b), true) => self.and(other(a), plain(b)),
            (Source::Iff(a, b), _) => {
                // Negated, `plain` is the negation: a and not b, or not a and b.
                let one = self.and(made[a as usize][0], plain(b));
                let two = self.and(made[a as usize][1], other(b));
                self.or(one, two)
            }
            (Source::Next(a), _) => self.next(plain(a)),
            (Source::Finally(a), false) | (Source::Globally(a), true) => self.until(TRUE, plain(a)),
            (Source::Finally(a), true) | (Source::Globally(a), false) => self.release(FALSE, plain(a)),
            (Source::Until(a, b), false) | (Source::Release(a, b), true) => self.until(plain(a), plain(b)),
            (Source::Until(a, b), true) | (Source::Release(a, b), false) => self.release(plain(a), plain(b)),
            (Source::WeakUntil(a, b), false) | (Source::StrongRelease(a, b), true) => {
                let either = self.or(plain(a), plain(b));
                self.release(plain(b), either)
            }
            (Source::WeakUntil(a, b), true) | (Source::StrongRelease(a, b), false) => {
                let both = self.and(plain(a), plain(b));
                self.until(plain(b), both)
            }
        }
    }

    fn node(&mut self, node: Node) -> Id {
        let nodes = &mut self.nodes;
        *self.ids.entry(node).or_insert_with(|| {
            nodes.push(node);
            nodes.len() as Id - 1
        })
    }

    fn get(&self, id: Id) -> Node {
        self.nodes[id as usize]
    }

    /// Whether it is `G F a` or `F G a`: the same at every position of a word.
    fn is_timeless(&self, id: Id) -> bool {
        match self.get(id) {
            Node::Release(FALSE, a) => matches!(self.get(a), Node::Until(TRUE, _)),
            Node::Until(TRUE, a) => matches!(self.get(a), Node::Release(FALSE, _)),
            _ => false,
        }
    }

    /// The operands of two formulas `F a` and `F b`, or `G F a` and `G F b`.
    fn both_finally(&self, a: Id, b: Id) -> Option<(Id, Id)> {
        match (self.get(a), self.get(b)) {
            (Node::Until(TRUE, a), Node::Until(TRUE, b)) => Some((a, b)),
            (Node::Release(FALSE, x), Node::Release(FALSE, y))
                if self.is_timeless(a) && self.is_timeless(b) =>
            {
                Some((x, y))
            }
            _ => None,
        }
    }

    /// The operands of two formulas `G a` and `G b`, or `F G a` and `F G b`.
    fn both_globally(&self, a: Id, b: Id) -> Option<(Id, Id)> {
        match (self.get(a), self.get(b)) {
            (Node::Release(FALSE, a), Node::Release(FALSE, b)) => Some((a, b)),
            (Node::Until(TRUE, x), Node::Until(TRUE, y)) if self.is_timeless(a) && self.is_timeless(b) => {
                Some((x, y))
            }
            _ => None,
        }
    }

    /// Takes off the `X` that both formulas begin with, and says how many there were. A constant has as many as one likes.
    fn shifted(&self, mut a: Id, mut b: Id) -> (Id, Id, usize) {
        let mut shift = 0;
        while let Node::Next(inner) = self.get(b) {
            a = match self.get(a) {
                Node::Next(inner) => inner,
                Node::True | Node::False => a,
                _ => break,
            };
            b = inner;
            shift += 1;
        }
        (a, b, shift)
    }

    fn delayed(&mut self, mut id: Id, shift: usize) -> Id {
        for _ in 0..shift {
            id = self.next(id);
        }
        id
    }

    /// `X a`.
    fn next(&mut self, a: Id) -> Id {
        if a <= FALSE || self.is_timeless(a) { a } else { self.node(Node::Next(a)) }
    }

    /// `a & b`.
    // Bounded depth: the operands of `G` and `F G` begin with neither, and `shifted` leaves no `X` on both sides.
    fn and(&mut self, a: Id, b: Id) -> Id {
        let (a, b, shift) = self.shifted(a, b);
        let both = if self.implies(a, b, DEPTH) {
            a
        } else if self.implies(b, a, DEPTH) {
            b
        } else if self.contradict(a, b) {
            FALSE
        } else if let Some((x, y)) = self.both_globally(a, b) {
            let inner = self.and(x, y);
            if matches!(self.get(a), Node::Until(..)) {
                self.until(TRUE, inner)
            } else {
                self.release(FALSE, inner)
            }
        } else {
            self.node(Node::And(a.min(b), a.max(b)))
        };
        self.delayed(both, shift)
    }

    /// `a | b`.
    // Bounded depth: as with `and`.
    fn or(&mut self, a: Id, b: Id) -> Id {
        let (a, b, shift) = self.shifted(a, b);
        let either = if self.implies(a, b, DEPTH) {
            b
        } else if self.implies(b, a, DEPTH) {
            a
        } else if self.contradict(a, b) {
            TRUE
        } else if let Some((x, y)) = self.both_finally(a, b) {
            let inner = self.or(x, y);
            if matches!(self.get(a), Node::Until(..)) {
                self.until(TRUE, inner)
            } else {
                self.release(FALSE, inner)
            }
        } else {
            self.node(Node::Or(a.min(b), a.max(b)))
        };
        self.delayed(either, shift)
    }

    /// Whether they are an atom and its negation.
    fn contradict(&self, a: Id, b: Id) -> bool {
        match (self.get(a), self.get(b)) {
            (Node::Literal(x, plus), Node::Literal(y, minus)) => x == y && plus != minus,
            _ => false,
        }
    }

    /// `a U b`.
    fn until(&mut self, a: Id, b: Id) -> Id {
        let (a, mut b, shift) = self.shifted(a, b);
        while let (TRUE, Node::Until(_, later)) = (a, self.get(b)) {
            // `F (c U d)` is `F d`.
            b = later;
        }
        let nested = matches!(self.get(b), Node::Until(c, _) if self.implies(a, c, DEPTH));
        let id = if self.implies(a, b, DEPTH) || nested || self.is_timeless(b) {
            b
        } else {
            self.node(Node::Until(a, b))
        };
        self.delayed(id, shift)
    }

    /// `a R b`.
    fn release(&mut self, a: Id, b: Id) -> Id {
        let (a, mut b, shift) = self.shifted(a, b);
        while let (FALSE, Node::Release(_, always)) = (a, self.get(b)) {
            // `G (c R d)` is `G d`.
            b = always;
        }
        let nested = matches!(self.get(b), Node::Release(c, _) if self.implies(c, a, DEPTH));
        let id = if self.implies(b, a, DEPTH) || nested || self.is_timeless(b) {
            b
        } else {
            self.node(Node::Release(a, b))
        };
        self.delayed(id, shift)
    }

    /// Whether the form of two formulas shows that `a` implies `b`.
    // Bounded depth: `depth` goes down by one with each call.
    fn implies(&self, a: Id, b: Id, depth: u32) -> bool {
        if a == b || a == FALSE || b == TRUE {
            return true;
        }
        let Some(depth) = depth.checked_sub(1) else { return false };
        let below = |x, y| self.implies(x, y, depth);
        let (left, right) = (self.get(a), self.get(b));
        let by_left = match left {
            Node::And(x, y) => below(x, b) || below(y, b),
            Node::Or(x, y) | Node::Until(x, y) => below(x, b) && below(y, b),
            Node::Release(_, y) => below(y, b),
            _ => false,
        };
        let by_right = || match right {
            Node::And(x, y) | Node::Release(x, y) => below(a, x) && below(a, y),
            Node::Or(x, y) => below(a, x) || below(a, y),
            Node::Until(_, y) => below(a, y),
            _ => false,
        };
        let by_both = || match (left, right) {
            (Node::Until(x, y), Node::Until(v, w)) | (Node::Release(x, y), Node::Release(v, w)) => {
                below(x, v) && below(y, w)
            }
            (Node::Next(x), Node::Next(y)) => below(x, y),
            // What holds for ever holds from the next position on; what holds later holds at last.
            (Node::Release(FALSE, _), Node::Next(y)) => below(a, y),
            (Node::Next(x), Node::Until(TRUE, _)) => below(x, b),
            _ => false,
        };
        by_left || by_right() || by_both()
    }
}
