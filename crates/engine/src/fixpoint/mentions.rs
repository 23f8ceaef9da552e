//! Room `engine/fixpoint`: what the formulas of an edge mention, as levels of a state.

use super::template::{State, Template};
use crate::encode::blast::{Bits, Wires, blast};
use crate::encode::gates::width;
use crate::encode::machine::code::{Compiled, Set};
use postbop_ir::{ProcId, Type};
use postbop_kit::bdd::{Bdd, Interrupted};

/// What the formulas of one edge mention.
pub struct Mentions<'t, 'm, 'a> {
    /// The program.
    pub template: &'t Template<'m, 'a>,
    /// The procedure of the edge.
    pub proc: ProcId,
    /// The state before it.
    pub state: State<'t>,
    /// The edge.
    pub compiled: &'t Compiled,
    /// The bits of the new values so far.
    pub nexts: Vec<Bits>,
}

impl Mentions<'_, '_, '_> {
    /// The bits of the value of a set; none if it is not live.
    pub fn value(&self, bdd: &mut Bdd, set: &Set) -> Result<Bits, Interrupted> {
        match set.value.is_empty() {
            true => Ok(Bits::new()),
            false => blast(bdd, &set.value, self),
        }
    }
}

impl Wires for Mentions<'_, '_, '_> {
    fn field(&self, bdd: &mut Bdd, at: usize) -> Result<(Type, Bits), Interrupted> {
        let machine = self.template.machine;
        let var = machine.scopes.var(machine.program, self.proc, at).expect("results are not read");
        let levels = self.template.levels(self.proc, at, self.state);
        Ok((machine.program.vars()[var].ty, self.template.vars(bdd, &levels)?))
    }

    fn next(&self, set: usize) -> Bits {
        self.nexts[set].clone()
    }

    fn choice(&self, bdd: &mut Bdd, at: usize) -> Result<(Type, Bits), Interrupted> {
        let choices = &self.compiled.choices;
        let before: usize = choices[..at].iter().map(|&ty| width(ty)).sum();
        let first = self.template.bottom + before as u32;
        let levels: Vec<u32> = (first..first + width(choices[at]) as u32).collect();
        Ok((choices[at], self.template.vars(bdd, &levels)?))
    }
}
