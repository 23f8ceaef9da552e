//! Room `front`: postfix expressions back to source.
//!
//! Parentheses stand where one of the dialects would group differently without them, and nowhere else. So what is
//! printed means the same to every tool of the family, and printing it again changes nothing.
//!
//! # Departures
//! A name that contains `-` cannot be written for the tools that do not know such names: it stays as it is.

use super::dialect::left_first;
use super::token::Sym;
use super::tree::*;

/// What is left to write, last first.
enum Work {
    Node(usize),
    Text(&'static str),
}

/// Writes expressions.
pub struct ExprPrinter<'t> {
    tree: &'t Tree,
    names: &'t [&'t str],
    /// For each node of the expression at hand, where its operand begins.
    starts: Vec<usize>,
    work: Vec<Work>,
}

/// Whether the meaning hangs on parentheses around an operand of an operator.
fn needs_parens(parent: Node, child: Node, is_left: bool) -> bool {
    match (parent, child) {
        (Node::Binary(parent), Node::Binary(child)) => {
            [false, true].into_iter().any(|satabs| match is_left {
                true => !left_first(child, parent, satabs),
                false => left_first(parent, child, satabs),
            })
        }
        (Node::Not | Node::Neg, Node::Binary(_)) => true,
        // `-5` is one number; the negation of 5 is another thing with the same value.
        (Node::Neg, Node::Number(value)) => value >= 0,
        _ => false,
    }
}

impl<'t> ExprPrinter<'t> {
    /// A printer of the expressions of a tree.
    pub fn new(tree: &'t Tree, names: &'t [&'t str]) -> Self {
        ExprPrinter { tree, names, starts: Vec::new(), work: Vec::new() }
    }

    /// Appends an expression to `out`.
    pub fn print(&mut self, expr: ExprRef, out: &mut String) {
        let base = expr.start as usize;
        self.starts.clear();
        for at in expr.range() {
            let mut start = at;
            for _ in 0..self.tree.nodes[at].arity() {
                start = self.starts[start - 1 - base];
            }
            self.starts.push(start);
        }
        self.work.push(Work::Node(expr.end as usize - 1));
        while let Some(work) = self.work.pop() {
            match work {
                Work::Text(text) => out.push_str(text),
                Work::Node(at) => self.node(at, base, out),
            }
        }
    }

    /// The root of the operand before the one that ends at `at`.
    fn before(&self, at: usize, base: usize) -> usize {
        self.starts[at - base] - 1
    }

    fn node(&mut self, at: usize, base: usize, out: &mut String) {
        let node = self.tree.nodes[at];
        match node {
            Node::Truth(value) => out.push(if value { 'T' } else { 'F' }),
            Node::Number(value) => out.push_str(&value.to_string()),
            Node::Choice => out.push('*'),
            Node::Var(sym, primed) => self.name(sym, primed, out),
            Node::Index(sym, primed) => {
                self.name(sym, primed, out);
                out.push('[');
                self.work.push(Work::Text("]"));
                self.work.push(Work::Node(at - 1));
            }
            Node::Not | Node::Neg => {
                out.push(if node == Node::Not { '!' } else { '-' });
                self.operand(node, at - 1, false);
            }
            Node::Binary(op) => {
                let left = self.before(at - 1, base);
                self.operand(node, at - 1, false);
                self.work.extend([Work::Text(" "), Work::Text(op.text()), Work::Text(" ")]);
                self.operand(node, left, true);
            }
            Node::Schoose => {
                let left = self.before(at - 1, base);
                out.push_str("schoose[");
                let list = [Work::Text("]"), Work::Node(at - 1), Work::Text(", "), Work::Node(left)];
                self.work.extend(list);
            }
            Node::Ite => {
                let then = self.before(at - 1, base);
                let condition = self.before(then, base);
                out.push_str("ite(");
                self.work.extend([Work::Text(")"), Work::Node(at - 1), Work::Text(", "), Work::Node(then)]);
                self.work.extend([Work::Text(", "), Work::Node(condition)]);
            }
        }
    }

    fn name(&self, sym: Sym, primed: bool, out: &mut String) {
        if primed {
            out.push('\'');
        }
        out.push_str(self.names[sym as usize]);
    }

    fn operand(&mut self, parent: Node, child: usize, is_left: bool) {
        if needs_parens(parent, self.tree.nodes[child], is_left) {
            self.work.extend([Work::Text(")"), Work::Node(child), Work::Text("(")]);
        } else {
            self.work.push(Work::Node(child));
        }
    }
}
