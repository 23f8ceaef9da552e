//! Room `engine/reduce`: expressions in which some variables are constants.
//!
//! Postfix code is read once, and written anew: a constant becomes its number, an operator whose result is known
//! then becomes a number too, and an operator that only passes one operand on is replaced by that operand. A choice
//! that no longer decides anything is left out; the positions of the other choices are noted.

use crate::encode::machine::value::{Val, binary, ite, unary};
use postbop_ir::{Expr, Op, Type, Value, VarId};
use smallvec::SmallVec;

/// In longer code no operand takes the place of its operator: that moves code, which would take quadratic time.
const LONGEST: usize = 4_096;

/// An operand that was written.
#[derive(Clone, Copy)]
struct Operand {
    /// Where it begins, among operators and among choices.
    start: usize,
    choices: usize,
    value: Option<(Type, Value)>,
}

/// Folds the expressions of one action.
pub struct Folder<'a> {
    known: &'a dyn Fn(VarId) -> Option<(Type, Value)>,
    code: Vec<Op>,
    /// Which choices of the action are left in the expression under way.
    choices: Vec<u32>,
    /// How many choices of the action were met, left or not.
    met: u32,
    /// Which choices of the action are left in the expressions that are done.
    pub choices_left: Vec<u32>,
}

impl<'a> Folder<'a> {
    /// A folder for an action, given what is known.
    pub fn new(known: &'a dyn Fn(VarId) -> Option<(Type, Value)>) -> Self {
        Folder { known, code: Vec::new(), choices: Vec::new(), met: 0, choices_left: Vec::new() }
    }

    /// Leaves out the next expression of the action. Its choices are counted.
    pub fn pass_over(&mut self, expr: &Expr) {
        self.met += expr.choices().count() as u32;
    }

    /// Folds the next expression of the action.
    pub fn fold(&mut self, expr: &Expr) -> Expr {
        let mut stack: SmallVec<[Operand; 8]> = SmallVec::new();
        for &op in &expr.code {
            let arity = op.arity();
            let operand = match op {
                Op::Var(var) | Op::Next(var) => self.leaf(op, (self.known)(var)),
                Op::Const(ty, value) => self.leaf(op, Some((ty, value))),
                Op::Choice(_) => self.leaf(op, None),
                _ => {
                    let operands: SmallVec<[Operand; 3]> = stack.drain(stack.len() - arity..).collect();
                    self.apply(op, &operands, expr.code.len() <= LONGEST)
                }
            };
            stack.push(operand);
        }
        self.choices_left.append(&mut self.choices);
        Expr::new(std::mem::take(&mut self.code))
    }

    fn leaf(&mut self, op: Op, value: Option<(Type, Value)>) -> Operand {
        let operand = Operand { start: self.code.len(), choices: self.choices.len(), value };
        self.code.push(value.map_or(op, |(ty, value)| Op::Const(ty, value)));
        if let Op::Choice(_) = op {
            self.choices.push(self.met);
            self.met += 1;
        }
        operand
    }

    fn apply(&mut self, op: Op, operands: &[Operand], moves: bool) -> Operand {
        let first = operands[0];
        // Only whether the result is known is asked, so any range will do for an operand that is not.
        let open = Val { lo: 0, hi: 1, hole: 0, whole: false };
        let value = |operand: &Operand| operand.value.map_or(open, |(_, value)| Val::known(value.get()));
        if overflows(op, operands) {
            self.code.push(op);
            return Operand { value: None, ..first };
        }
        let result = match operands {
            [a] => unary(op, value(a)),
            [a, b] => binary(op, value(a), value(b)),
            [c, a, b] => ite(value(c), value(a), value(b)),
            _ => unreachable!("operators have up to three operands"),
        };
        if result.settled() {
            let known = (type_of(op, operands), Value::new(result.lo));
            self.cut(first.start, first.choices);
            self.code.push(Op::Const(known.0, known.1));
            return Operand { value: Some(known), ..first };
        }
        match passes_on(op, operands).filter(|_| moves) {
            Some(at) => {
                if let Some(next) = operands.get(at + 1) {
                    self.cut(next.start, next.choices);
                }
                self.code.drain(first.start..operands[at].start);
                self.choices.drain(first.choices..operands[at].choices);
            }
            None => self.code.push(op),
        }
        Operand { value: None, ..first }
    }

    fn cut(&mut self, start: usize, choices: usize) {
        self.code.truncate(start);
        self.choices.truncate(choices);
    }
}

/// Whether unbounded integers have a result that does not fit a [`Value`].
fn overflows(op: Op, operands: &[Operand]) -> bool {
    let value =
        |at: usize| operands.get(at).and_then(|operand| operand.value).map(|(_, value)| value.get() as i128);
    let result = match (op, value(0), value(1)) {
        (Op::Neg(Type::Integer), Some(a), _) => -a,
        (Op::Add(Type::Integer), Some(a), Some(b)) => a + b,
        (Op::Sub(Type::Integer), Some(a), Some(b)) => a - b,
        (Op::Mul(Type::Integer), Some(a), Some(b)) => a * b,
        _ => return false,
    };
    i64::try_from(result).is_err()
}

/// The operand that is the operator's result, because of the values of the others.
fn passes_on(op: Op, operands: &[Operand]) -> Option<usize> {
    let value = |at: usize| operands[at].value.map(|(_, value)| value);
    match (op, operands.len()) {
        (Op::And, 2) => (0..2).find(|at| value(1 - at) == Some(Value::TRUE)),
        (Op::Or, 2) => (0..2).find(|at| value(1 - at) == Some(Value::FALSE)),
        (Op::Ite, 3) => value(0).map(|condition| if condition.is_true() { 1 } else { 2 }),
        _ => None,
    }
}

/// The type of a result that is known.
fn type_of(op: Op, operands: &[Operand]) -> Type {
    match op {
        Op::Neg(ty) | Op::Add(ty) | Op::Sub(ty) | Op::Mul(ty) => ty,
        Op::Ite => operands[1..].iter().find_map(|operand| operand.value).map_or(Type::Bool, |(ty, _)| ty),
        _ => Type::Bool,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: Op = Op::Var(VarId(0));
    const C: Op = Op::Var(VarId(1));
    const ANY: Op = Op::Choice(Type::Bool);

    fn folded(code: &[Op]) -> (Vec<Op>, Vec<u32>) {
        let known = |var| (var == VarId(1)).then_some((Type::Bool, Value::TRUE));
        let mut folder = Folder::new(&known);
        let expr = folder.fold(&Expr::new(code));
        (expr.code.to_vec(), folder.choices_left)
    }

    fn bit(value: bool) -> Op {
        Op::Const(Type::Bool, value.into())
    }

    #[test]
    fn what_is_known_is_written_down() {
        assert_eq!(folded(&[C, Op::Not]).0, [bit(false)]);
        assert_eq!(folded(&[X, C, Op::And]).0, [X]);
        assert_eq!(folded(&[C, X, Op::And]).0, [X]);
        assert_eq!(folded(&[X, C, Op::Or]).0, [bit(true)]);
        assert_eq!(folded(&[X, C, Op::Xor]).0, [X, bit(true), Op::Xor]);
        assert_eq!(folded(&[C, X, Op::Not, X, Op::Ite]).0, [X, Op::Not]);
        assert_eq!(folded(&[C, Op::Not, X, X, Op::Not, Op::Ite]).0, [X, Op::Not]);
    }

    #[test]
    fn choices_that_decide_nothing_are_left_out() {
        assert_eq!(folded(&[ANY, C, Op::Or, ANY, Op::And]), (vec![ANY], vec![1]));
        assert_eq!(folded(&[C, ANY, ANY, Op::Ite]), (vec![ANY], vec![0]));
        assert_eq!(folded(&[C, Op::Not, ANY, ANY, Op::Ite]), (vec![ANY], vec![1]));
        let known = |_| None;
        let mut folder = Folder::new(&known);
        folder.pass_over(&Expr::new([ANY]));
        folder.fold(&Expr::new([ANY]));
        assert_eq!(folder.choices_left, [1]);
    }
}
