//! Room `front`: expressions and arrays to postfix code of the program graph.
//!
//! # Idea
//! The tree is postfix, and so is what it becomes: each node adds its operators after what its operands added.
//! Operators the graph does not have are spelled so that this stays true: `a => b` is `!(a & !b)`, `schoose[p, n]` is
//! `p | (!n & *)`, `a > b` is `!(a <= b)`.
//!
//! An array is its elements, variables named `a[0]`, `a[1]`, …. Reading `a[i]` is a chain of choices between them.
//! Before the statement, one edge goes on where i is in range and one leads to a location that must not be reached.
//! All parts of an expression are evaluated, so an index is checked even where its value would not matter. An index
//! that makes a choice, or is long, is first kept in a hidden variable, so that check and use agree.
//!
//! # Departures
//! An index that mentions a primed variable cannot be checked before the statement: out of range it means the last
//! element.

use super::infer::Types;
use super::lower::Lowering;
use super::tree::*;
use postbop_ir::{Action, CheckKind, Expr, Op, Span, Type, Value, VarId};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// The longest code that is worth copying for each element of an array.
const SHORT: usize = 8;

/// An element of an array.
pub enum Element {
    /// The one variable it is.
    Var(VarId),
    /// One of many: the first and how many, and the code and type of the index.
    OneOf(VarId, u32, Vec<Op>, Type),
}

impl Lowering<'_> {
    /// The code of an expression. Adds edges for what must happen before it.
    pub fn expr(&mut self, expr: ExprRef) -> Expr {
        Expr::new(self.code(expr, None))
    }

    /// The code of a constraint on the new values of `assigned`.
    pub fn constraint(&mut self, expr: ExprRef, assigned: &FxHashSet<VarId>) -> Expr {
        Expr::new(self.code(expr, Some(assigned)))
    }

    fn code(&mut self, expr: ExprRef, assigned: Option<&FxHashSet<VarId>>) -> Vec<Op> {
        let (tree, types) = (self.tree, &self.meaning.exprs);
        code(tree, types, expr, |code, at, index| {
            let var = types.vars[at] as usize;
            let read = |primed: bool, var: VarId| match assigned {
                Some(assigned) if primed && assigned.contains(&var) => Op::Next(var),
                _ => Op::Var(var),
            };
            match tree.nodes[at] {
                Node::Index(_, primed) => {
                    match self.element(var, index, types.types[at - 1], tree.spans[at], false) {
                        Element::Var(element) => code.push(read(primed, element)),
                        Element::OneOf(first, len, index, ty) => {
                            chain(code, first, len, &index, ty, |var| read(primed, var));
                        }
                    }
                }
                node => code.push(read(matches!(node, Node::Var(_, true)), self.first[var])),
            }
        })
    }

    /// The element of an array that an index names. With `keep`, an index that is not constant is kept in a hidden
    /// variable, because something else will happen before its last use.
    pub fn element(&mut self, var: usize, index: Vec<Op>, ty: Type, span: Span, keep: bool) -> Element {
        let first = self.first[var];
        let len = self.tree.vars[var].len.unwrap_or(1);
        if let [Op::Const(_, value)] = index[..]
            && (0..i64::from(len)).contains(&value.get())
        {
            return Element::Var(VarId(first.0 + value.get() as u32));
        }
        let has = |wanted: fn(&Op) -> bool| index.iter().any(wanted);
        if has(|op| matches!(op, Op::Next(_))) {
            return Element::OneOf(first, len, index, ty);
        }
        let index = if keep || index.len() > SHORT || has(|op| matches!(op, Op::Choice(_))) {
            vec![Op::Var(self.keep("index", ty, index))]
        } else {
            index
        };
        self.check_bounds(&index, ty, len, span);
        Element::OneOf(first, len, index, ty)
    }

    /// Assigns the value of some code to a hidden variable.
    pub fn keep(&mut self, role: &'static str, ty: Type, code: Vec<Op>) -> VarId {
        let var = self.temp(role, ty);
        let to = self.fresh();
        let (targets, values) = (vec![var], vec![Expr::new(code)]);
        self.edge(Action::Assign { targets, values, constraint: None }, to);
        self.cursor = to;
        var
    }

    fn check_bounds(&mut self, index: &[Op], ty: Type, len: u32, span: Span) {
        let last = Value::from(len - 1);
        let mut inside: Vec<Op> = Vec::new();
        if ty == Type::Bool && last < Value::TRUE {
            inside.extend(index);
            inside.push(Op::Not);
        } else if ty.max() > last {
            inside.extend(index);
            inside.extend([Op::Const(ty, last), Op::Le]);
        }
        if ty.min() < Value::ZERO {
            let both = !inside.is_empty();
            inside.push(Op::Const(ty, Value::ZERO));
            inside.extend(index);
            inside.push(Op::Le);
            inside.extend(both.then_some(Op::And));
        }
        if inside.is_empty() {
            return;
        }
        let inside = Expr::new(inside);
        let on = self.fresh();
        self.edge(Action::Assume(inside.clone()), on);
        let failed = self.fresh();
        self.edge(Action::Assume(inside.negated()), failed);
        self.out.check(CheckKind::Bounds, failed, span);
        self.cursor = on;
    }
}

/// The code of an expression. What a variable or an element adds is up to `read`, which is given the code so far, the
/// node, and the code of its index.
pub fn code(
    tree: &Tree,
    types: &Types,
    expr: ExprRef,
    mut read: impl FnMut(&mut Vec<Op>, usize, Vec<Op>),
) -> Vec<Op> {
    let mut code: Vec<Op> = Vec::with_capacity(expr.len());
    // Where the code of each operand that waits begins.
    let mut starts: SmallVec<[usize; 16]> = SmallVec::new();
    for at in expr.range() {
        let node = tree.nodes[at];
        let start = match node.arity() {
            0 => code.len(),
            arity => {
                starts.truncate(starts.len() + 1 - arity);
                starts.pop().unwrap_or_default()
            }
        };
        starts.push(start);
        match node {
            Node::Var(..) => read(&mut code, at, Vec::new()),
            Node::Index(..) => {
                let index = code.split_off(start);
                read(&mut code, at, index);
            }
            _ => plain(&mut code, node, types.types[at]),
        }
    }
    code
}

/// Adds the code that reads the element an index names.
pub fn chain(code: &mut Vec<Op>, first: VarId, len: u32, index: &[Op], ty: Type, read: impl Fn(VarId) -> Op) {
    let mut choices = 0;
    for element in 0..len - 1 {
        // A number that the index cannot be needs no question.
        if ty.contains(element.into()) {
            code.extend(index);
            code.extend([Op::Const(ty, element.into()), Op::Eq, read(VarId(first.0 + element))]);
            choices += 1;
        }
    }
    code.push(read(VarId(first.0 + len - 1)));
    code.extend((0..choices).map(|_| Op::Ite));
}

/// Adds the operators of a node that names no variable.
fn plain(code: &mut Vec<Op>, node: Node, ty: Type) {
    let ops: &[Op] = match node {
        Node::Truth(value) => &[Op::Const(Type::Bool, value.into())],
        Node::Number(value) => &[Op::Const(ty, value.into())],
        Node::Choice => &[Op::Choice(ty)],
        Node::Not => &[Op::Not],
        Node::Neg => &[Op::Neg(ty)],
        Node::Schoose => &[Op::Not, Op::Choice(Type::Bool), Op::And, Op::Or],
        Node::Ite => &[Op::Ite],
        Node::Binary(op) => match op {
            Binary::Implies => &[Op::Not, Op::And, Op::Not],
            Binary::Or => &[Op::Or],
            Binary::Xor => &[Op::Xor],
            Binary::And => &[Op::And],
            Binary::Eq => &[Op::Eq],
            Binary::Ne => &[Op::Eq, Op::Not],
            Binary::Lt => &[Op::Lt],
            Binary::Le => &[Op::Le],
            Binary::Gt => &[Op::Le, Op::Not],
            Binary::Ge => &[Op::Lt, Op::Not],
            Binary::Add => &[Op::Add(ty)],
            Binary::Sub => &[Op::Sub(ty)],
            Binary::Mul => &[Op::Mul(ty)],
        },
        Node::Var(..) | Node::Index(..) => &[],
    };
    code.extend(ops);
}
