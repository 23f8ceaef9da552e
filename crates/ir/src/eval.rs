//! Room `ir`: the meaning of expressions.
//!
//! # Idea
//!
//! An expression is evaluated over *cells*. A cell is a number that is known, or the value some variable had
//! when the procedure was entered, whatever that was, or a number about which nothing is known. An operator
//! whose result does not depend on what is unknown gives a known result (`0 & x` is 0), as in Kleene's strong
//! logic; any other use of the unknown gives the unknown. So a run that goes through on cells goes through for
//! *every* value of what was left unknown, which is how a trace shows that a variable's value does not matter.
//! Where all cells are known this is plain evaluation, and that is how the oracle uses it.

use crate::expr::{Expr, Op};
use crate::ids::VarId;
use crate::types::Type;
use smallvec::SmallVec;

/// What is known of one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell {
    /// This number.
    Known(i64),
    /// What the variable held when the procedure was entered.
    Entry(VarId),
    /// Nothing.
    Any,
}

impl Cell {
    /// The number, if it is known.
    pub fn known(self) -> Option<i64> {
        match self {
            Cell::Known(value) => Some(value),
            _ => None,
        }
    }
}

/// An unbounded integer left the range that can be represented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overflow;

/// Where an expression finds the values it mentions.
pub trait Context {
    /// The current value of a variable.
    fn current(&self, var: VarId) -> Cell;
    /// The value the variable is about to get.
    fn next(&self, var: VarId) -> Cell;
}

/// Evaluates an expression. Each choice in it takes the next cell of `choices`, and is unknown when none is left.
pub fn eval(
    expr: &Expr,
    context: &impl Context,
    choices: &mut impl Iterator<Item = Cell>,
) -> Result<Cell, Overflow> {
    let mut stack: SmallVec<[Cell; 8]> = SmallVec::new();
    for &op in &expr.code {
        let cell = match op {
            Op::Const(_, value) => Cell::Known(value),
            Op::Var(var) => context.current(var),
            Op::Next(var) => context.next(var),
            Op::Choice(_) => choices.next().unwrap_or(Cell::Any),
            _ => {
                let operands = stack.len() - op.arity();
                let cell = apply(op, &stack[operands..])?;
                stack.truncate(operands);
                cell
            }
        };
        stack.push(cell);
    }
    Ok(stack.pop().expect("an expression is not empty"))
}

fn apply(op: Op, operands: &[Cell]) -> Result<Cell, Overflow> {
    use Cell::{Any, Known};
    let truth = |b: bool| Known(b as i64);
    Ok(match (op, operands) {
        (Op::Not, [Known(a)]) => truth(*a == 0),
        (Op::And, [Known(0), _] | [_, Known(0)]) => truth(false),
        (Op::And, [Known(_), b] | [b, Known(_)]) => *b,
        (Op::Or, [Known(0), b] | [b, Known(0)]) => *b,
        (Op::Or, [Known(_), _] | [_, Known(_)]) => truth(true),
        (Op::Xor, [Known(a), Known(b)]) => truth(a != b),
        (Op::Eq, [Known(a), Known(b)]) => truth(a == b),
        (Op::Lt, [Known(a), Known(b)]) => truth(a < b),
        (Op::Le, [Known(a), Known(b)]) => truth(a <= b),
        (Op::Neg(ty), [Known(a)]) => number(ty, -(*a as i128))?,
        (Op::Add(ty), [Known(a), Known(b)]) => number(ty, *a as i128 + *b as i128)?,
        (Op::Sub(ty), [Known(a), Known(b)]) => number(ty, *a as i128 - *b as i128)?,
        (Op::Mul(ty), [Known(a), Known(b)]) => number(ty, *a as i128 * *b as i128)?,
        (Op::Ite, [Known(c), a, b]) => {
            if *c != 0 {
                *a
            } else {
                *b
            }
        }
        (Op::Ite, [_, a, b]) if a == b => *a,
        _ => Any,
    })
}

fn number(ty: Type, value: i128) -> Result<Cell, Overflow> {
    ty.wrap(value).map(Cell::Known).ok_or(Overflow)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Unknown;
    impl Context for Unknown {
        fn current(&self, var: VarId) -> Cell {
            Cell::Entry(var)
        }
        fn next(&self, _: VarId) -> Cell {
            Cell::Any
        }
    }

    fn value(code: &[Op]) -> Cell {
        eval(&Expr::new(code), &Unknown, &mut std::iter::empty()).unwrap()
    }

    const X: Op = Op::Var(VarId(0));

    fn bit(b: i64) -> Op {
        Op::Const(Type::Bool, b)
    }

    #[test]
    fn what_is_unknown_decides_only_where_it_must() {
        assert_eq!(value(&[bit(0), X, Op::And]), Cell::Known(0));
        assert_eq!(value(&[X, bit(1), Op::And]), Cell::Entry(VarId(0)));
        assert_eq!(value(&[X, bit(1), Op::Or]), Cell::Known(1));
        assert_eq!(value(&[X, Op::Not]), Cell::Any);
        assert_eq!(value(&[X, bit(1), bit(1), Op::Ite]), Cell::Known(1));
        assert_eq!(value(&[bit(0), X, bit(1), Op::Ite]), Cell::Known(1));
        // `any = any` compares two values that need not be the same.
        assert_eq!(value(&[Op::Next(VarId(0)), Op::Next(VarId(0)), Op::Eq]), Cell::Any);
    }

    #[test]
    fn an_unknown_condition_between_two_unknowns_is_unknown() {
        let y = Op::Var(VarId(1));
        assert_eq!(value(&[X, Op::Next(VarId(1)), Op::Next(VarId(2)), Op::Ite]), Cell::Any);
        assert_eq!(value(&[X, y, y, Op::Ite]), Cell::Entry(VarId(1)));
    }

    #[test]
    fn arithmetic_wraps() {
        let ty = Type::Int(3);
        assert_eq!(value(&[Op::Const(ty, 3), Op::Const(ty, 1), Op::Add(ty)]), Cell::Known(-4));
        assert_eq!(value(&[Op::Const(ty, -4), Op::Neg(ty)]), Cell::Known(-4));
        let ty = Type::Uint(2);
        assert_eq!(value(&[Op::Const(ty, 0), Op::Const(ty, 1), Op::Sub(ty)]), Cell::Known(3));
        assert_eq!(value(&[Op::Const(ty, 3), Op::Const(ty, 3), Op::Mul(ty)]), Cell::Known(1));
    }
}
