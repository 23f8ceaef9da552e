//! Room `engine/encode`: expressions with choices as decision diagrams: which values are possible.
//!
//! # Idea
//!
//! A choice is made once, for the one operator that it is an operand of. So two operands choose independently of each
//! other: `a & b` can be 1 exactly where `a` can be 1 and `b` can be 1. For a Boolean with choices two diagrams are
//! enough, where it can be 0 and where it can be 1, and neither tests a level for a choice. Were there such levels, all
//! choices of a parallel assignment would meet in one diagram before they are quantified, and that is exponential.
//!
//! Integers have more than two values, and their bits hang together. An integer with choices is a diagram for each bit
//! over the levels of its choices, and those are quantified as soon as a comparison or an assignment has used it.
//!
//! # Cost
//!
//! Twice the diagrams of an expression without choices.

use super::blast::{Bits, Wires};
use super::gates::{apply, equal};
use super::machine::code::Ins;
use postbop_ir::{Op, Type};
use postbop_kit::bdd::{Bdd, Interrupted, Ref};
use smallvec::SmallVec;

/// The possible values of an expression.
#[derive(Clone, Debug)]
pub enum Chance {
    /// Bits over variables, and over the levels of choices.
    Bits(Type, Bits, SmallVec<[u32; 4]>),
    /// A Boolean: where it can be 0, and where it can be 1.
    Either([Ref; 2]),
}

/// The possible values of an expression. Levels from `spare` on are free: a Boolean with choices that an operator on integers
/// depends on takes one, which is then among the levels of choices of the result.
pub fn chance(
    bdd: &mut Bdd,
    code: &[Ins],
    source: &impl Wires,
    mut spare: u32,
) -> Result<Chance, Interrupted> {
    let mut stack: Vec<Chance> = Vec::new();
    for &ins in code {
        let (ty, bits, levels) = match ins {
            Ins::Choice(at) => match source.choice(bdd, at as usize)? {
                (Type::Bool, _) => {
                    stack.push(Chance::Either([Ref::TRUE; 2]));
                    continue;
                }
                (ty, bits) => {
                    let levels = bits.iter().map(|&bit| bdd.level(bit)).collect();
                    (ty, bits, levels)
                }
            },
            Ins::Apply(op) => {
                let operands = stack.split_off(stack.len() - op.arity());
                stack.push(combine(bdd, op, operands, &mut spare)?);
                continue;
            }
            plain => {
                let (ty, bits) = super::blast::leaf(bdd, plain, source)?;
                (ty, bits, SmallVec::new())
            }
        };
        stack.push(Chance::Bits(ty, bits, levels));
    }
    Ok(stack.pop().expect("a formula is not empty"))
}

impl Chance {
    /// Where it can be 1; it is a Boolean.
    pub fn possible(&self) -> Ref {
        match self {
            Chance::Bits(_, bits, _) => bits[0],
            Chance::Either([_, one]) => *one,
        }
    }

    /// Where a value with these bits is among those it can be.
    pub fn admits(&self, bdd: &mut Bdd, value: &[Ref]) -> Result<Ref, Interrupted> {
        match self {
            Chance::Bits(_, bits, levels) => {
                let same = equal(bdd, value, bits)?;
                quantified(bdd, same, levels)
            }
            &Chance::Either([zero, one]) => bdd.ite(value[0], one, zero),
        }
    }

    /// A Boolean as where it can be 0 and where it can be 1.
    fn pair(&self) -> [Ref; 2] {
        match self {
            Chance::Bits(_, bits, _) => [!bits[0], bits[0]],
            &Chance::Either(pair) => pair,
        }
    }
}

fn quantified(bdd: &mut Bdd, f: Ref, levels: &[u32]) -> Result<Ref, Interrupted> {
    let plan = bdd.plan(levels.iter().copied(), []);
    bdd.project(f, plan)
}

/// An operator on what its operands can be.
fn combine(bdd: &mut Bdd, op: Op, operands: Vec<Chance>, spare: &mut u32) -> Result<Chance, Interrupted> {
    let is_plain = |operand: &Chance| matches!(operand, Chance::Bits(..));
    let is_bool = |operand: &Chance| !matches!(operand, Chance::Bits(ty, ..) if ty.is_integer());
    let logical = matches!(op, Op::Not | Op::And | Op::Or | Op::Xor | Op::Eq | Op::Ite);
    if logical && operands.iter().all(is_bool) && !operands.iter().all(is_plain) {
        let pairs: SmallVec<[[Ref; 2]; 3]> = operands.iter().map(Chance::pair).collect();
        return Ok(Chance::Either(connect(bdd, op, &pairs)?));
    }
    let mut levels = SmallVec::new();
    let mut plain = Vec::with_capacity(operands.len());
    for operand in operands {
        plain.push(match operand {
            Chance::Bits(ty, bits, more) => {
                levels.extend(more);
                (ty, bits)
            }
            Chance::Either([zero, one]) => {
                // A spare level decides, wherever there is something to decide.
                let decides = bdd.var(*spare)?;
                levels.push(*spare);
                *spare += 1;
                (Type::Bool, vec![bdd.ite(decides, one, !zero)?])
            }
        });
    }
    let (ty, bits) = apply(bdd, op, &plain)?;
    if ty == Type::Bool && !levels.is_empty() {
        let (zero, one) = (quantified(bdd, !bits[0], &levels)?, quantified(bdd, bits[0], &levels)?);
        return Ok(Chance::Either([zero, one]));
    }
    Ok(Chance::Bits(ty, bits, levels))
}

/// A connective on Booleans that choose independently of each other.
fn connect(bdd: &mut Bdd, op: Op, operands: &[[Ref; 2]]) -> Result<[Ref; 2], Interrupted> {
    let mut either = |[a, b]: [Ref; 2], [c, d]: [Ref; 2]| {
        let (first, second) = (bdd.and(a, b)?, bdd.and(c, d)?);
        bdd.or(first, second)
    };
    Ok(match (op, operands) {
        (Op::Not, &[[zero, one]]) => [one, zero],
        (Op::And, &[[a0, a1], [b0, b1]]) => [bdd.or(a0, b0)?, bdd.and(a1, b1)?],
        (Op::Or, &[[a0, a1], [b0, b1]]) => [bdd.and(a0, b0)?, bdd.or(a1, b1)?],
        (Op::Xor, &[[a0, a1], [b0, b1]]) => [either([a0, b0], [a1, b1])?, either([a0, b1], [a1, b0])?],
        (Op::Eq, &[[a0, a1], [b0, b1]]) => [either([a0, b1], [a1, b0])?, either([a0, b0], [a1, b1])?],
        (Op::Ite, &[[c0, c1], [a0, a1], [b0, b1]]) => {
            [either([c1, a0], [c0, b0])?, either([c1, a1], [c0, b1])?]
        }
        _ => unreachable!("{op:?} is no connective of {} operands", operands.len()),
    })
}
