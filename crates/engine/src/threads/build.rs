//! Room `engine/threads`: conditions and parallel assignments, put together by translations.

use postbop_ir::{Action, Expr, Op, Type, Value, VarId};

/// The type of numbers up to this one.
pub fn number(most: u32) -> Type {
    Type::Uint((32 - most.leading_zeros()).max(1) as u8)
}

/// That a variable is a number.
pub fn equals(var: VarId, ty: Type, value: u32) -> Expr {
    Expr::new([Op::Var(var), Op::Const(ty, value.into()), Op::Eq])
}

/// That variables are equal, two by two.
pub fn same(pairs: impl Iterator<Item = (VarId, VarId)>) -> Option<Expr> {
    let mut code = Vec::new();
    for (a, b) in pairs {
        let and = (!code.is_empty()).then_some(Op::And);
        code.extend([Op::Var(a), Op::Var(b), Op::Eq].into_iter().chain(and));
    }
    (!code.is_empty()).then(|| Expr::new(code))
}

/// That two things hold.
pub fn both(a: Expr, b: Expr) -> Expr {
    Expr::new([&a.code[..], &b.code[..], &[Op::And]].concat())
}

/// That one of two things holds.
pub fn either(a: Expr, b: Expr) -> Expr {
    Expr::new([&a.code[..], &b.code[..], &[Op::Or]].concat())
}

/// A number.
pub fn constant(ty: Type, value: impl Into<Value>) -> Expr {
    Expr::new([Op::Const(ty, value.into())])
}

/// Variables get values, if there are any.
pub fn assignment(targets: Vec<VarId>, values: Vec<Expr>) -> Action {
    match targets.is_empty() {
        true => Action::skip(),
        false => Action::Assign { targets, values, constraint: None },
    }
}

/// A parallel assignment under construction.
#[derive(Default)]
pub struct Assign {
    targets: Vec<VarId>,
    values: Vec<Expr>,
    constraint: Option<Expr>,
}

impl Assign {
    /// A variable gets a value.
    pub fn set(mut self, var: VarId, value: Expr) -> Self {
        self.targets.push(var);
        self.values.push(value);
        self
    }

    /// Variables get the values of others.
    pub fn copy(self, to: &[VarId], from: &[VarId]) -> Self {
        to.iter().zip(from).fold(self, |all, (&to, &from)| all.set(to, Expr::var(from)))
    }

    /// Only where a condition holds.
    pub fn when(mut self, condition: impl Into<Option<Expr>>) -> Self {
        self.constraint = match (self.constraint.take(), condition.into()) {
            (Some(a), Some(b)) => Some(both(a, b)),
            (a, b) => a.or(b),
        };
        self
    }

    /// The assignment.
    pub fn action(self) -> Action {
        Action::Assign { targets: self.targets, values: self.values, constraint: self.constraint }
    }
}
