//! Room `ir/horn`: expressions as terms of SMT-LIB.

use super::clause::{Clause, Slot};
use super::symbol::Constant;
use crate::expr::{Expr, Op, Visit};
use crate::ids::VarId;
use crate::program::Program;
use crate::types::Type;

/// The type of each operator's value.
fn types(program: &Program, expr: &Expr) -> Vec<Type> {
    let mut types: Vec<Type> = Vec::with_capacity(expr.code.len());
    // The last operand of an operator stands before it.
    for (at, op) in expr.code.iter().enumerate() {
        types.push(match *op {
            Op::Const(ty, _) | Op::Choice(ty) => ty,
            Op::Neg(ty) | Op::Add(ty) | Op::Sub(ty) | Op::Mul(ty) => ty,
            Op::Var(var) | Op::Next(var) => program.vars()[var].ty,
            Op::Ite => types[at - 1],
            Op::Not | Op::And | Op::Or | Op::Xor | Op::Eq | Op::Lt | Op::Le => Type::Bool,
        });
    }
    types
}

/// Writes an expression at the end of a text. `now` and `next` say which variable of the clause has a value; choices are numbered on.
pub fn term(
    program: &Program,
    expr: &Expr,
    clause: &mut Clause,
    place: &dyn Fn(VarId, bool) -> Slot,
    choices: &mut u32,
    out: &mut String,
) {
    let types = types(program, expr);
    // Choices are numbered in the order of evaluation, which is that of the postfix code.
    let mut number = *choices;
    let numbers: Vec<u32> = expr
        .code
        .iter()
        .map(|op| {
            let own = number;
            number += u32::from(matches!(op, Op::Choice(_)));
            own
        })
        .collect();
    *choices = number;
    let mut fresh = true;
    let visited: Result<(), ()> = expr.prefix(|visit| {
        let Visit::Begin(at) = visit else {
            out.push(')');
            return Ok(());
        };
        if !std::mem::take(&mut fresh) {
            out.push(' ');
        }
        let op = expr.code[at];
        if op.arity() > 0 {
            out.push('(');
        }
        let operand = at.checked_sub(1).map_or(Type::Bool, |last| types[last]);
        match op {
            Op::Const(ty, value) => out.push_str(&Constant(ty, value.get()).to_string()),
            Op::Var(var) => clause.mention(program, place(var, false), types[at], out),
            Op::Next(var) => clause.mention(program, place(var, true), types[at], out),
            Op::Choice(ty) => clause.mention(program, Slot::Choice(numbers[at]), ty, out),
            _ => out.push_str(operator(op, operand)),
        }
        Ok(())
    });
    debug_assert_eq!(visited, Ok(()));
}

/// The symbol of an operator whose last operand has this type.
fn operator(op: Op, ty: Type) -> &'static str {
    let of = |unbounded, signed, unsigned| match ty {
        Type::Integer => unbounded,
        Type::Int(_) => signed,
        Type::Uint(_) | Type::Bool => unsigned,
    };
    match op {
        Op::Not => "not",
        Op::And => "and",
        Op::Or => "or",
        Op::Xor => "xor",
        Op::Eq => "=",
        Op::Lt => of("<", "bvslt", "bvult"),
        Op::Le => of("<=", "bvsle", "bvule"),
        Op::Neg(_) => of("-", "bvneg", "bvneg"),
        Op::Add(_) => of("+", "bvadd", "bvadd"),
        Op::Sub(_) => of("-", "bvsub", "bvsub"),
        Op::Mul(_) => of("*", "bvmul", "bvmul"),
        Op::Ite => "ite",
        Op::Const(..) | Op::Var(_) | Op::Next(_) | Op::Choice(_) => "",
    }
}
