//! Room `front`: the types of expressions.
//!
//! # Idea
//! Variables have types; `0`, `1`, other numbers and `*` take theirs from where they stand. Two passes over the
//! postfix code suffice. Forwards, each node learns what its operands say: a type, or nothing yet. Backwards, each
//! node is told what is wanted of it and tells its operands. Nothing is converted: where what is said and what is
//! wanted differ, that is an error. A node that is wrong says nothing more, so that one mistake is reported once.
//!
//! Where nothing says anything, numbers and arithmetic are unbounded integers and everything else is Boolean.

use super::scope::{NONE, Scopes};
use super::tree::*;
use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::{Span, Type};

/// What a node says about its type.
#[derive(Clone, Copy, PartialEq)]
enum Says {
    /// Nothing yet, but perhaps that it is a number.
    Open {
        numeric: bool,
    },
    Known(Type),
    /// It is wrong, and that was reported.
    Broken,
}

impl Says {
    fn known(self) -> Option<Type> {
        match self {
            Says::Known(ty) => Some(ty),
            _ => None,
        }
    }

    fn join(self, other: Says) -> Says {
        match (self, other) {
            (Says::Known(ty), _) | (_, Says::Known(ty)) => Says::Known(ty),
            (Says::Broken, _) | (_, Says::Broken) => Says::Broken,
            (Says::Open { numeric: a }, Says::Open { numeric: b }) => Says::Open { numeric: a || b },
        }
    }

    fn or_default(self) -> Option<Type> {
        match self {
            Says::Known(ty) => Some(ty),
            Says::Open { numeric: true } => Some(Type::Integer),
            Says::Open { numeric: false } => Some(Type::Bool),
            Says::Broken => None,
        }
    }
}

#[derive(Clone, Copy)]
struct Fact {
    says: Says,
    /// The first node of the operand this node is the root of.
    start: usize,
    /// Whether it has the same value at each evaluation.
    constant: bool,
    /// What its surroundings want.
    want: Option<Type>,
}

/// What is found out about the nodes of the pool.
#[derive(Debug)]
pub struct Types {
    /// The type of each node.
    pub types: Vec<Type>,
    /// The variable of each node that names one.
    pub vars: Vec<u32>,
}

/// The checker of expressions.
pub struct Infer<'t> {
    tree: &'t Tree,
    /// What was found out so far.
    pub out: Types,
    facts: Vec<Fact>,
}

/// Where an expression stands.
#[derive(Clone, Copy)]
pub struct Site {
    /// The procedure; [`NONE`] outside of all.
    pub proc: u32,
    /// The type that is wanted.
    pub want: Option<Type>,
    /// Whether primed variables have a meaning.
    pub primes: bool,
    /// The length of the array it is an index of, if it is that of a target.
    pub index_of: Option<u32>,
}

impl<'t> Infer<'t> {
    /// A checker for the expressions of a tree.
    pub fn new(tree: &'t Tree) -> Self {
        let len = tree.nodes.len();
        let out = Types { types: vec![Type::Bool; len], vars: vec![NONE; len] };
        Infer { tree, out, facts: Vec::new() }
    }

    /// Checks one expression.
    pub fn check(&mut self, expr: ExprRef, site: Site, scopes: &mut Scopes<'_>, sink: &mut Sink) {
        self.facts.clear();
        for at in expr.range() {
            let fact = self.learn(at, expr.start as usize, site, scopes, sink);
            self.facts.push(fact);
        }
        if let Some(root) = self.facts.last_mut() {
            root.want = site.want;
        }
        if let Some(len) = site.index_of {
            self.index(expr.len() - 1, expr.start as usize, len, sink);
        }
        for at in (0..expr.len()).rev() {
            self.tell(at, expr.start as usize, sink);
        }
    }

    /// What was learned about the `back`th operand from the right of the node under way, and its index.
    fn operand(&self, back: usize) -> (usize, Fact) {
        let mut at = self.facts.len() - 1;
        for _ in 0..back {
            at = self.facts[at].start - 1;
        }
        (at, self.facts[at])
    }

    fn learn(
        &mut self,
        at: usize,
        base: usize,
        site: Site,
        scopes: &mut Scopes<'_>,
        sink: &mut Sink,
    ) -> Fact {
        let node = self.tree.nodes[at];
        let arity = node.arity();
        let mut constant = true;
        let mut start = at - base;
        for back in 0..arity {
            let (_, operand) = self.operand(back);
            constant &= operand.constant;
            start = operand.start;
        }
        let says = match node {
            Node::Truth(_) => Says::Known(Type::Bool),
            Node::Number(value) => Says::Open { numeric: !(0..=1).contains(&value) },
            Node::Choice => {
                constant = false;
                Says::Open { numeric: false }
            }
            Node::Var(sym, primed) | Node::Index(sym, primed) => {
                constant = false;
                let name = Ident { sym, span: self.tree.spans[at] };
                self.variable(at, name, primed, arity == 1, site, scopes, sink)
            }
            Node::Neg => self.operand(0).1.says.join(Says::Open { numeric: true }),
            Node::Binary(Binary::Add | Binary::Sub | Binary::Mul) => {
                let both = self.operand(1).1.says.join(self.operand(0).1.says);
                both.join(Says::Open { numeric: true })
            }
            Node::Ite => self.operand(1).1.says.join(self.operand(0).1.says),
            Node::Not | Node::Schoose | Node::Binary(_) => Says::Known(Type::Bool),
        };
        Fact { says, start, constant, want: None }
    }

    #[allow(clippy::too_many_arguments)]
    fn variable(
        &mut self,
        at: usize,
        name: Ident,
        primed: bool,
        indexed: bool,
        site: Site,
        scopes: &mut Scopes<'_>,
        sink: &mut Sink,
    ) -> Says {
        if primed && !site.primes {
            let message = "a primed variable has a meaning only in `constrain`";
            sink.push(Diagnostic::new(Code::Primed, name.span, message));
        }
        let var = scopes.var(site.proc, name, sink);
        self.out.vars[at] = var;
        match self.tree.vars.get(var as usize) {
            Some(decl) => shape(decl, indexed, name, scopes, sink).map_or(Says::Broken, Says::Known),
            None => Says::Broken,
        }
    }

    /// Settles the type of a node and tells its operands what is wanted of them. `at` is relative to the expression.
    fn tell(&mut self, at: usize, base: usize, sink: &mut Sink) {
        let fact = self.facts[at];
        let node = self.tree.nodes[base + at];
        let span = self.tree.spans[base + at];
        let ty = self.settle(at, base, sink);
        self.out.types[base + at] = ty;
        if node.arity() == 0 {
            if let Node::Number(value) = node
                && !ty.contains(value.into())
            {
                sink.push(Diagnostic::new(
                    Code::OutOfRange,
                    span,
                    format!("`{ty}` has no value {value}; its values are {} to {}", ty.min(), ty.max()),
                ));
            }
            return;
        }
        let right = at - 1;
        let left = |facts: &[Fact]| facts[right].start.wrapping_sub(1);
        match node {
            Node::Not => self.facts[right].want = Some(Type::Bool),
            Node::Neg => self.arithmetic(&[right], fact, ty, span, sink),
            Node::Index(..) => {
                let array = self.tree.vars.get(self.out.vars[base + at] as usize);
                self.index(right, base, array.and_then(|array| array.len).unwrap_or(u32::MAX), sink);
            }
            Node::Ite => {
                let then = left(&self.facts);
                let condition = self.facts[then].start - 1;
                self.facts[condition].want = Some(Type::Bool);
                self.facts[then].want = Some(ty);
                self.facts[right].want = Some(ty);
            }
            Node::Binary(op) => {
                let left = left(&self.facts);
                self.binary(op, left, right, (fact, ty), span, sink);
            }
            _ => {
                let left = left(&self.facts);
                self.facts[left].want = Some(Type::Bool);
                self.facts[right].want = Some(Type::Bool);
            }
        }
    }

    fn settle(&mut self, at: usize, base: usize, sink: &mut Sink) -> Type {
        let fact = self.facts[at];
        match (fact.says, fact.want) {
            // An `ite` has no type of its own: what does not fit is one of its branches.
            (_, Some(want)) if self.tree.nodes[base + at] == Node::Ite => want,
            (Says::Known(ty), Some(want)) if ty != want && !sink.is_full() => {
                let span = self.tree.span_of(Slice::new(base + fact.start, base + at + 1));
                sink.push(mismatch(span, want, ty));
                ty
            }
            (Says::Known(ty), _) => ty,
            (_, Some(want)) => want,
            (says, None) => says.or_default().unwrap_or(Type::Bool),
        }
    }

    fn binary(
        &mut self,
        op: Binary,
        left: usize,
        right: usize,
        of: (Fact, Type),
        span: Span,
        sink: &mut Sink,
    ) {
        let joined = self.facts[left].says.join(self.facts[right].says);
        let want = match op {
            Binary::Implies | Binary::Or | Binary::Xor | Binary::And => Some(Type::Bool),
            Binary::Eq | Binary::Ne => joined.or_default(),
            Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => {
                if joined == Says::Known(Type::Bool) {
                    let message = format!("`{}` compares integers, not `bool`", op.text());
                    sink.push(Diagnostic::new(Code::TypeMismatch, span, message));
                }
                joined.join(Says::Open { numeric: true }).or_default()
            }
            Binary::Add | Binary::Sub | Binary::Mul => {
                let varying = !self.facts[left].constant && !self.facts[right].constant;
                if op == Binary::Mul && of.1 == Type::Integer && varying {
                    let message = "an unbounded `int` can only be multiplied by a constant";
                    let hint = "declare the variables as `int<k>` or `uint<k>`";
                    sink.push(Diagnostic::new(Code::Nonlinear, span, message).hint(hint));
                }
                return self.arithmetic(&[left, right], of.0, of.1, span, sink);
            }
        };
        self.facts[left].want = want;
        self.facts[right].want = want;
    }

    fn arithmetic(&mut self, operands: &[usize], fact: Fact, ty: Type, span: Span, sink: &mut Sink) {
        let want = match (fact.says, ty) {
            (Says::Broken, _) => None,
            (_, Type::Bool) => {
                let message = "arithmetic is on integers, not on `bool`";
                sink.push(Diagnostic::new(Code::TypeMismatch, span, message));
                None
            }
            _ => Some(ty),
        };
        for operand in operands {
            let known = self.facts[*operand].says.known();
            // After the complaint above, operands are taken as they are.
            self.facts[*operand].want = want.or(known).or(Some(Type::Integer));
        }
    }

    /// Says what is wanted of the index of an array, and reports a constant that is none.
    fn index(&mut self, operand: usize, base: usize, len: u32, sink: &mut Sink) {
        let fact = self.facts[operand];
        if let Says::Open { .. } = fact.says {
            // A choice ranges over the fewest bits that hold every index.
            let bits = (u32::BITS - (len - 1).leading_zeros()).max(1) as u8;
            self.facts[operand].want = Some(if fact.constant { Type::Integer } else { Type::Uint(bits) });
        }
        if let Node::Number(value) = self.tree.nodes[base + operand]
            && !(0..i64::from(len)).contains(&value)
        {
            sink.push(bad_index(self.tree.spans[base + operand], value, len));
        }
    }
}

/// The type of a variable used with or without an index, or `None` if that is wrong.
pub fn shape(
    decl: &VarDecl,
    indexed: bool,
    name: Ident,
    scopes: &Scopes<'_>,
    sink: &mut Sink,
) -> Option<Type> {
    let text = scopes.text(decl.name.sym);
    let wrong = match (decl.len, indexed) {
        (Some(_), true) | (None, false) => return Some(decl.ty),
        (Some(_), false) => {
            let message = format!("`{text}` is an array and needs an index");
            Diagnostic::new(Code::WholeArray, name.span, message).hint(format!("write `{text}[0]`"))
        }
        (None, true) => {
            let message = format!("`{text}` is not an array and takes no index");
            Diagnostic::new(Code::NotAnArray, name.span, message)
        }
    };
    sink.push(wrong.note(decl.name.span, "declared here"));
    None
}

/// The problem of a value of one type where another is wanted.
pub fn mismatch(span: Span, want: Type, found: Type) -> Diagnostic {
    let message = format!("expected a value of type `{want}`, found one of type `{found}`");
    Diagnostic::new(Code::TypeMismatch, span, message).label(format!("this is `{found}`"))
}

/// The problem of a constant index out of range.
fn bad_index(span: Span, value: i64, len: u32) -> Diagnostic {
    let message = format!("index {value} is out of range: the array has {len} elements");
    Diagnostic::new(Code::IndexOutOfRange, span, message).hint(format!("the last index is {}", len - 1))
}
