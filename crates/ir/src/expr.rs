//! Room `ir`: expressions, as postfix code.
//!
//! An expression is a flat list of operators, operands first, as a stack machine runs it. However deeply the
//! source nests, reading, evaluating, printing and dropping an expression is a loop, never a recursion.

use crate::ids::VarId;
use crate::types::Type;
use crate::value::Value;

/// One operator of postfix code. Values are numbers (see [`Value`]), so comparisons carry no type;
/// arithmetic does, because it wraps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// A constant of a type.
    Const(Type, Value),
    /// The current value of a variable.
    Var(VarId),
    /// The value a variable gets by the assignment at hand; only in its constraint.
    Next(VarId),
    /// Any value of the type, chosen afresh at each evaluation.
    Choice(Type),
    /// Boolean negation.
    Not,
    /// Boolean conjunction.
    And,
    /// Boolean disjunction.
    Or,
    /// Boolean exclusive or.
    Xor,
    /// Equality of two values of one type.
    Eq,
    /// Less than, between two integers of one type.
    Lt,
    /// Less than or equal, between two integers of one type.
    Le,
    /// Arithmetic negation.
    Neg(Type),
    /// Sum.
    Add(Type),
    /// Difference.
    Sub(Type),
    /// Product.
    Mul(Type),
    /// `ite(c, a, b)`: pops b, a and c.
    Ite,
}

impl Op {
    /// How many operands the operator takes.
    pub fn arity(self) -> usize {
        match self {
            Op::Const(..) | Op::Var(_) | Op::Next(_) | Op::Choice(_) => 0,
            Op::Not | Op::Neg(_) => 1,
            Op::Ite => 3,
            _ => 2,
        }
    }
}

/// An expression in postfix order; the last operator is its root.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Expr {
    /// The operators, operands before what uses them.
    pub code: Box<[Op]>,
}

/// What is met when an expression is read in prefix order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visit {
    /// The operator at this position; its operands follow.
    Begin(usize),
    /// The end of the operands of the last operator that is still open.
    End,
}

impl Expr {
    /// The expression of this postfix code.
    pub fn new(code: impl Into<Box<[Op]>>) -> Self {
        Expr { code: code.into() }
    }

    /// A Boolean constant.
    pub fn bool(value: bool) -> Self {
        Expr::new([Op::Const(Type::Bool, value.into())])
    }

    /// The current value of a variable.
    pub fn var(var: VarId) -> Self {
        Expr::new([Op::Var(var)])
    }

    /// A fresh choice of a type.
    pub fn choice(ty: Type) -> Self {
        Expr::new([Op::Choice(ty)])
    }

    /// The negation of a Boolean expression.
    pub fn negated(self) -> Self {
        match &*self.code {
            [operand @ .., Op::Not] => Expr::new(operand),
            code => Expr::new([code, &[Op::Not]].concat()),
        }
    }

    /// Visits the operators in prefix order, by their positions, and the end of each that has operands. Postfix code is turned round with an
    /// explicit stack: `first[i]` is where the operands of operator `i` begin, so its last operand ends at `i - 1`, the one before ends where
    /// that begins, and so on.
    pub fn prefix<E>(&self, mut visit: impl FnMut(Visit) -> Result<(), E>) -> Result<(), E> {
        let mut first: Vec<usize> = Vec::with_capacity(self.code.len());
        for (at, op) in self.code.iter().enumerate() {
            first.push(
                (0..op.arity()).fold(at, |start, _| start.checked_sub(1).map_or(0, |last| first[last])),
            );
        }
        let mut work = vec![Visit::Begin(self.code.len() - 1)];
        while let Some(next) = work.pop() {
            visit(next)?;
            let Visit::Begin(at) = next else { continue };
            let arity = self.code[at].arity();
            if arity > 0 {
                work.push(Visit::End);
            }
            let mut end = at;
            for _ in 0..arity {
                let operand = end.saturating_sub(1);
                work.push(Visit::Begin(operand));
                end = first[operand];
            }
        }
        Ok(())
    }

    /// The types of the choices made when the expression is evaluated, in order.
    pub fn choices(&self) -> impl Iterator<Item = Type> + '_ {
        self.code.iter().filter_map(|op| match op {
            Op::Choice(ty) => Some(*ty),
            _ => None,
        })
    }

    /// The variables whose current value the expression mentions, with repetitions.
    pub fn reads(&self) -> impl Iterator<Item = VarId> + '_ {
        self.code.iter().filter_map(|op| match op {
            Op::Var(v) => Some(*v),
            _ => None,
        })
    }
}
