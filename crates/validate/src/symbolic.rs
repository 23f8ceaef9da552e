//! Room `validate`: symbolic values, and operators on them.

use crate::affine::Affine;
use crate::execute::Executor;
use crate::gates::{Bits, Lit};
use postbop_ir::{Op, Type};
use std::rc::Rc;

/// What a variable has: a function for each bit, or, if it is an unbounded integer, a function of others.
#[derive(Clone)]
pub enum Symbolic {
    /// Bits, the least significant first.
    Bits(Bits),
    /// An unbounded integer.
    Number(Rc<Affine>),
}

impl Symbolic {
    /// What is true where a condition is.
    pub fn truth(&self) -> Lit {
        match self {
            Symbolic::Bits(bits) => bits[0],
            Symbolic::Number(_) => unreachable!("a condition is Boolean"),
        }
    }
}

impl Executor<'_> {
    /// One value where a condition is true, another one where it is false.
    pub fn choose(&mut self, condition: Lit, a: &Symbolic, b: &Symbolic) -> Symbolic {
        match (a, b) {
            (Symbolic::Bits(a), Symbolic::Bits(b)) => {
                let bits = a.iter().zip(b.iter()).map(|(&a, &b)| self.gates.ite(condition, a, b));
                Symbolic::Bits(bits.collect())
            }
            (Symbolic::Number(a), Symbolic::Number(b)) => {
                Symbolic::Number(self.numbers.choose(&mut self.gates, condition, a, b).into())
            }
            _ => unreachable!("both are of one type"),
        }
    }

    /// Whether two values are the same.
    pub fn same(&mut self, a: &Symbolic, b: &Symbolic) -> Lit {
        match (a, b) {
            (Symbolic::Bits(a), Symbolic::Bits(b)) => self.gates.same(a, b),
            (Symbolic::Number(a), Symbolic::Number(b)) => {
                let difference = self.numbers.affine(a.plus(b, -1));
                self.numbers.zero(&mut self.gates, &difference)
            }
            _ => unreachable!("both are of one type"),
        }
    }

    /// The value of an operator that has operands, and its type.
    pub fn apply(&mut self, op: Op, operands: &[(Type, Symbolic)]) -> (Type, Symbolic) {
        let truth = |lit: Lit| (Type::Bool, Symbolic::Bits([lit].into()));
        if let (Op::Ite, [(_, c), (ty, a), (_, b)]) = (op, operands) {
            return (*ty, self.choose(c.truth(), a, b));
        }
        let integers: Option<Vec<&Affine>> = operands.iter().map(|(_, value)| number(value)).collect();
        let Some(integers) = integers else {
            let bits = |(ty, value): &(Type, Symbolic)| match value {
                Symbolic::Bits(bits) => (*ty, bits.clone()),
                Symbolic::Number(_) => unreachable!("operands are of one type"),
            };
            let (ty, bits) = self.gates.apply(op, &operands.iter().map(bits).collect::<Vec<_>>());
            return (ty, Symbolic::Bits(bits));
        };
        let (a, b) = (integers[0], integers.get(1).copied().unwrap_or(integers[0]));
        let difference = || a.plus(b, -1);
        let value = match op {
            Op::Eq => return truth(self.same(&operands[0].1, &operands[1].1)),
            Op::Le | Op::Lt => {
                let difference = self.numbers.affine(difference());
                let most = if op == Op::Le { 0 } else { -1 };
                return truth(self.numbers.at_most(&mut self.gates, &difference, most));
            }
            Op::Neg(_) => a.times(-1),
            Op::Add(_) => a.plus(b, 1),
            Op::Sub(_) => difference(),
            Op::Mul(_) if a.terms().is_empty() => b.times(a.rest()),
            Op::Mul(_) if b.terms().is_empty() => a.times(b.rest()),
            // A product of two unknowns.
            _ => None,
        };
        (Type::Integer, Symbolic::Number(self.numbers.affine(value).into()))
    }
}

fn number(value: &Symbolic) -> Option<&Affine> {
    match value {
        Symbolic::Number(number) => Some(number),
        Symbolic::Bits(_) => None,
    }
}
