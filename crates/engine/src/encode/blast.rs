//! Room `engine/encode`: expressions as decision diagrams, bit by bit.
//!
//! An expression over fields becomes one diagram per bit of its value, by the circuits of [`super::gates`].

use super::gates::{apply, constant};
use super::machine::code::Ins;
use postbop_ir::Type;
use postbop_kit::bdd::{Bdd, Interrupted, Ref};

/// The bits of a value, least significant first.
pub type Bits = Vec<Ref>;

/// Where an expression finds the bits of what it mentions.
pub trait Wires {
    /// The type and current bits of a field.
    fn field(&self, bdd: &mut Bdd, field: usize) -> Result<(Type, Bits), Interrupted>;
    /// The bits of the new value that an assignment computes.
    fn next(&self, set: usize) -> Bits;
    /// The type and bits of a choice.
    fn choice(&self, bdd: &mut Bdd, choice: usize) -> Result<(Type, Bits), Interrupted>;
}

/// The bits of an expression.
pub fn blast(bdd: &mut Bdd, code: &[Ins], source: &impl Wires) -> Result<Bits, Interrupted> {
    let mut stack: Vec<(Type, Bits)> = Vec::new();
    for &ins in code {
        let value = match ins {
            Ins::Apply(op) => {
                let operands = stack.split_off(stack.len() - op.arity());
                apply(bdd, op, &operands)?
            }
            ins => leaf(bdd, ins, source)?,
        };
        stack.push(value);
    }
    Ok(stack.pop().expect("a formula is not empty").1)
}

/// The bits of what has no operands.
pub(super) fn leaf(bdd: &mut Bdd, ins: Ins, source: &impl Wires) -> Result<(Type, Bits), Interrupted> {
    Ok(match ins {
        Ins::Const(ty, value) => (ty, constant::<Bdd>(ty, value)),
        Ins::Field(field) => source.field(bdd, field as usize)?,
        Ins::Next(set, ty) => (ty, source.next(set as usize)),
        Ins::Choice(choice) => source.choice(bdd, choice as usize)?,
        Ins::Apply(op) => unreachable!("{op:?} has operands"),
    })
}
