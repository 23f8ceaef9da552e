//! Room `engine/fixpoint`: which levels of a state stand for what an edge mentions.

use super::template::{State, Template};
use crate::encode::gates::width;
use crate::encode::mentions::Levels;
use postbop_ir::{ProcId, Type};

/// A state of a program, and behind all states the choices.
pub struct InState<'t, 'm, 'a> {
    /// The program.
    pub template: &'t Template<'m, 'a>,
    /// The levels of the state.
    pub state: State<'t>,
}

impl Levels for InState<'_, '_, '_> {
    fn field(&self, proc: ProcId, field: usize) -> Vec<u32> {
        self.template.levels(proc, field, self.state)
    }

    fn choice(&self, choices: &[Type], at: usize) -> Vec<u32> {
        let before: usize = choices[..at].iter().map(|&ty| width(ty)).sum();
        let first = self.template.bottom + before as u32;
        (first..first + width(choices[at]) as u32).collect()
    }
}
