//! Room `xtask`: a program with unbounded integers, confined to runs on which they stay small.
//!
//! # Idea
//!
//! After every step that gives an integer a value, the *ranged* program assumes that it is between -[`MOST`] and [`MOST`]; so it does
//! where a procedure starts, of everything that is in scope there. The runs of the ranged program are runs of the program.
//!
//! With integers of k bits in place of unbounded ones, and k so large that no expression over small values leaves k bits, nothing wraps: the ranged
//! program has the same runs with either type. So the naive oracle decides it with the one, and engines are asked with the other.
//!
//! # Departures
//!
//! A choice within an expression is one of -1, 0 and 1 in the ranged program, since an arbitrary value would overflow. An
//! expression that is nothing but a choice is left alone: its value is stored, and then it must be small.

use postbop_ir::{Action, Builder, Edge, Expr, Loc, LocId, Op, Proc, Program, Type, Value, Var, VarId};

/// The greatest absolute value of an integer in a ranged program.
pub const MOST: i64 = 2;

/// How many bits hold every value that an expression of the ranged program has on the way; none, if that is more than `most` bits.
pub fn bits(program: &Program, most: u8) -> Option<u8> {
    let exprs = program.edges().iter().flat_map(|edge| edge.action.exprs());
    let greatest = exprs.map(|expr| greatest(&within(expr))).max().unwrap_or(0).max(MOST as u64);
    let bits = u64::BITS - greatest.leading_zeros() + 1;
    u8::try_from(bits).ok().filter(|&bits| bits <= most)
}

/// A bound on the absolute values that parts of an expression have if its variables are small.
fn greatest(expr: &Expr) -> u64 {
    let mut stack: Vec<u64> = Vec::new();
    let mut greatest = 0;
    for &op in &expr.code {
        let operands = stack.split_off(stack.len() - op.arity());
        let sum = operands.iter().fold(0, |sum: u64, &value| sum.saturating_add(value));
        let value = match op {
            Op::Const(_, value) => value.get().unsigned_abs(),
            Op::Var(_) | Op::Next(_) | Op::Choice(_) => MOST as u64,
            Op::Neg(_) | Op::Add(_) | Op::Sub(_) => sum,
            Op::Mul(_) => operands[0].saturating_mul(operands[1]),
            Op::Ite => operands[1].max(operands[2]),
            Op::Not | Op::And | Op::Or | Op::Xor | Op::Eq | Op::Lt | Op::Le => 1,
        };
        greatest = greatest.max(value);
        stack.push(value);
    }
    greatest
}

/// The ranged program, with `ty` in place of the unbounded integers. Locations, variables and procedures keep their ids.
pub fn ranged(program: &Program, ty: Type) -> Program {
    let narrow = |old: Type| if old == Type::Integer { ty } else { old };
    let mut builder = Builder::default();
    for var in program.vars().iter() {
        builder.push_var(Var { ty: narrow(var.ty), ..var.clone() });
    }
    for proc in program.procs().iter() {
        let results = proc.results.iter().map(|&ty| narrow(ty)).collect();
        builder.push_proc(Proc { results, ..proc.clone() });
    }
    for &loc in program.locs().iter() {
        builder.push_loc(loc);
    }
    let integers = |vars: Vec<VarId>| -> Vec<VarId> {
        vars.into_iter().filter(|&var| program.vars()[var].ty == Type::Integer).collect()
    };
    for (id, proc) in program.procs().pairs() {
        let is_main = id == program.main();
        let globals = program.globals().filter(|_| is_main);
        let vars = integers(globals.chain(proc.locals.iter().copied()).collect());
        let before = between(&mut builder, program.locs()[proc.entry]);
        builder.edge(before, proc.entry, Action::Assume(small(&vars, ty)), proc.span);
        builder.set_entry(id, before);
    }
    for edge in program.edges().iter() {
        let vars = integers(edge.action.writes().collect());
        let action = retyped(&edge.action, ty);
        let Edge { from, to, span, .. } = *edge;
        if vars.is_empty() {
            builder.edge(from, to, action, span);
        } else {
            let after = between(&mut builder, program.locs()[from]);
            builder.edge(from, after, action, span);
            builder.edge(after, to, Action::Assume(small(&vars, ty)), span);
        }
    }
    program.labels().iter().for_each(|label| builder.label(&label.name, label.loc));
    program.checks().iter().for_each(|check| builder.check(check.kind, check.loc, check.span));
    builder.finish(program.main())
}

/// A new location of the procedure of another one.
fn between(builder: &mut Builder, loc: Loc) -> LocId {
    builder.loc(loc.proc, loc.span)
}

/// That variables have small values.
fn small(vars: &[VarId], ty: Type) -> Expr {
    let constant = |value| Op::Const(ty, Value::new(value));
    let mut code = vec![Op::Const(Type::Bool, true.into())];
    for &var in vars {
        let above = [constant(-MOST), Op::Var(var), Op::Le, Op::And];
        let below = [Op::Var(var), constant(MOST), Op::Le, Op::And];
        code.extend(above.into_iter().chain(below));
    }
    Expr::new(code)
}

/// The action with another type in place of unbounded integers, and without choices of theirs within expressions.
fn retyped(action: &Action, ty: Type) -> Action {
    let one = |expr: &Expr| typed(&within(expr), ty);
    let all = |list: &[Expr]| list.iter().map(one).collect();
    match action {
        Action::Assume(condition) => Action::Assume(one(condition)),
        Action::Assign { targets, values, constraint } => Action::Assign {
            targets: targets.clone(),
            values: all(values),
            constraint: constraint.as_ref().map(one),
        },
        Action::Havoc(vars) => Action::Havoc(vars.clone()),
        Action::Call { callee, args, results } => {
            Action::Call { callee: *callee, args: all(args), results: results.clone() }
        }
        Action::Return(values) => Action::Return(all(values)),
    }
}

/// An expression whose choices of unbounded integers are among -1, 0 and 1, unless it is such a choice and nothing else.
fn within(expr: &Expr) -> Expr {
    if expr.code.len() == 1 {
        return expr.clone();
    }
    let constant = |value| Op::Const(Type::Integer, Value::new(value));
    let choice = Op::Choice(Type::Bool);
    let few = [choice, constant(-1), choice, constant(0), constant(1), Op::Ite, Op::Ite];
    let code = expr.code.iter().flat_map(|&op| match op {
        Op::Choice(Type::Integer) => few.to_vec(),
        _ => vec![op],
    });
    Expr::new(code.collect::<Vec<Op>>())
}

/// An expression with another type in place of unbounded integers.
fn typed(expr: &Expr, ty: Type) -> Expr {
    let op = |&op: &Op| match op {
        Op::Const(Type::Integer, value) => Op::Const(ty, value),
        Op::Choice(Type::Integer) => Op::Choice(ty),
        Op::Neg(Type::Integer) => Op::Neg(ty),
        Op::Add(Type::Integer) => Op::Add(ty),
        Op::Sub(Type::Integer) => Op::Sub(ty),
        Op::Mul(Type::Integer) => Op::Mul(ty),
        _ => op,
    };
    Expr::new(expr.code.iter().map(op).collect::<Vec<Op>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(source: &str) -> Program {
        postbop_front::read(source.as_bytes(), Default::default()).program.expect("the program is read")
    }

    #[test]
    fn bits_hold_what_expressions_come_to() {
        let bits =
            |value: &str| bits(&program(&format!("decl int x, y; void main() begin x := {value}; end")), 8);
        // At most 2 + 2 + 3 = 7, which fits four bits; 8 does not.
        assert_eq!(bits("x + y - 3"), Some(4));
        assert_eq!(bits("x + y - 4"), Some(5));
        assert_eq!(bits("7 * (x + 1)"), Some(6));
        assert_eq!(bits("100 * x"), None);
    }

    #[test]
    fn every_value_is_confined() {
        let source = "decl int g; int f(int p) begin decl int l; l := p; g := *; return l; end
            void main() begin g := f(g); end";
        let ranged = ranged(&program(source), Type::Int(4));
        let confined = ranged
            .edges()
            .iter()
            .filter(|edge| matches!(&edge.action, Action::Assume(expr) if expr.code.contains(&Op::Le)));
        // Where both procedures start, and after two assignments and the call.
        assert_eq!(confined.count(), 5);
        assert!(ranged.vars().iter().all(|var| var.ty == Type::Int(4)));
    }
}
