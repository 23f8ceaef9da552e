//! Room `engine/encode`: the bits of what the formulas of an edge mention: fields, choices and new values.

use super::blast::{Bits, Wires, blast};
use super::machine::code::{Machine, Set};
use postbop_ir::{ProcId, Type};
use postbop_kit::bdd::{Bdd, Interrupted};

/// Which levels of a decision diagram stand for what an edge reads.
pub trait Levels {
    /// The levels of a field's current value, least significant first.
    fn field(&self, proc: ProcId, field: usize) -> Vec<u32>;
    /// The levels of one of the choices of an edge, given the types of all of them.
    fn choice(&self, choices: &[Type], at: usize) -> Vec<u32>;
}

/// What the formulas of one edge mention.
pub struct Mentions<'e, 'a, L> {
    /// The program.
    pub machine: &'e Machine<'a>,
    /// The procedure of the edge.
    pub proc: ProcId,
    /// The types of the edge's choices.
    pub choices: &'e [Type],
    /// Where its fields and choices are.
    pub levels: L,
    /// The bits of the new values so far.
    pub nexts: Vec<Bits>,
}

impl<L: Levels> Mentions<'_, '_, L> {
    /// The bits of the value of a set; none if it is not live.
    pub fn value(&self, bdd: &mut Bdd, set: &Set) -> Result<Bits, Interrupted> {
        match set.value.is_empty() {
            true => Ok(Bits::new()),
            false => blast(bdd, &set.value, self),
        }
    }
}

impl<L: Levels> Wires for Mentions<'_, '_, L> {
    fn field(&self, bdd: &mut Bdd, at: usize) -> Result<(Type, Bits), Interrupted> {
        let program = self.machine.program;
        let var = self.machine.scopes.var(program, self.proc, at).expect("results are not read");
        Ok((program.vars()[var].ty, vars(bdd, self.levels.field(self.proc, at))?))
    }

    fn next(&self, set: usize) -> Bits {
        self.nexts[set].clone()
    }

    fn choice(&self, bdd: &mut Bdd, at: usize) -> Result<(Type, Bits), Interrupted> {
        Ok((self.choices[at], vars(bdd, self.levels.choice(self.choices, at))?))
    }
}

fn vars(bdd: &mut Bdd, levels: Vec<u32>) -> Result<Bits, Interrupted> {
    levels.into_iter().map(|level| bdd.var(level)).collect()
}
