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
use crate::value::Value;
use smallvec::SmallVec;

/// What is known of one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell {
    /// This number.
    Known(Value),
    /// What the variable held when the procedure was entered.
    Entry(VarId),
    /// Nothing.
    Any,
}

impl Cell {
    /// The number, if it is known.
    pub fn known(self) -> Option<Value> {
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
pub trait Env {
    /// The current value of a variable.
    fn current(&self, var: VarId) -> Cell;
    /// The value the variable is about to get.
    fn next(&self, var: VarId) -> Cell;
}

/// Evaluates an expression. Each choice in it takes the next cell of `choices`, and is unknown when none is left.
pub fn eval(expr: &Expr, env: &impl Env, choices: &mut impl Iterator<Item = Cell>) -> Result<Cell, Overflow> {
    let mut stack: SmallVec<[Cell; 8]> = SmallVec::new();
    for &op in &expr.code {
        let cell = match op {
            Op::Const(_, value) => Cell::Known(value),
            Op::Var(var) => env.current(var),
            Op::Next(var) => env.next(var),
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
    let truth = |b: bool| Known(b.into());
    Ok(match (op, operands) {
        (Op::Not, [Known(a)]) => truth(!a.is_true()),
        (Op::And, [Known(Value::FALSE), _] | [_, Known(Value::FALSE)]) => truth(false),
        (Op::And, [Known(_), b] | [b, Known(_)]) => *b,
        (Op::Or, [Known(Value::FALSE), b] | [b, Known(Value::FALSE)]) => *b,
        (Op::Or, [Known(_), _] | [_, Known(_)]) => truth(true),
        (Op::Xor, [Known(a), Known(b)]) => truth(a != b),
        (Op::Eq, [Known(a), Known(b)]) => truth(a == b),
        (Op::Lt, [Known(a), Known(b)]) => truth(a < b),
        (Op::Le, [Known(a), Known(b)]) => truth(a <= b),
        (Op::Neg(ty), [Known(a)]) => number(ty, -i128::from(a.get()))?,
        (Op::Add(ty), [Known(a), Known(b)]) => number(ty, i128::from(a.get()) + i128::from(b.get()))?,
        (Op::Sub(ty), [Known(a), Known(b)]) => number(ty, i128::from(a.get()) - i128::from(b.get()))?,
        (Op::Mul(ty), [Known(a), Known(b)]) => number(ty, i128::from(a.get()) * i128::from(b.get()))?,
        (Op::Ite, [Known(c), a, b]) => {
            if c.is_true() {
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
    impl Env for Unknown {
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

    fn number(ty: Type, number: i64) -> Op {
        Op::Const(ty, Value::new(number))
    }

    fn known(number: i64) -> Cell {
        Cell::Known(Value::new(number))
    }

    fn bit(b: i64) -> Op {
        number(Type::Bool, b)
    }

    #[test]
    fn what_is_unknown_decides_only_where_it_must() {
        assert_eq!(value(&[bit(0), X, Op::And]), known(0));
        assert_eq!(value(&[X, bit(1), Op::And]), Cell::Entry(VarId(0)));
        assert_eq!(value(&[X, bit(1), Op::Or]), known(1));
        assert_eq!(value(&[X, Op::Not]), Cell::Any);
        assert_eq!(value(&[X, bit(1), bit(1), Op::Ite]), known(1));
        assert_eq!(value(&[bit(0), X, bit(1), Op::Ite]), known(1));
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
        assert_eq!(value(&[number(ty, 3), number(ty, 1), Op::Add(ty)]), known(-4));
        assert_eq!(value(&[number(ty, -4), Op::Neg(ty)]), known(-4));
        let ty = Type::Uint(2);
        assert_eq!(value(&[number(ty, 0), number(ty, 1), Op::Sub(ty)]), known(3));
        assert_eq!(value(&[number(ty, 3), number(ty, 3), Op::Mul(ty)]), known(1));
    }
}
