//! Room `engine/encode`: what is computed from a program once, for all engines that use it.
//!
//! Engines may be asked one after the other, several times, or at the same time. What they compute from the program before
//! they search does not depend on the queries, so it is made when the first engine asks for it, and kept. (`sat` has no use
//! for packed valuations, and computes what it needs itself.)

use super::machine::code::Machine;
use postbop_ir::Program;
use std::sync::OnceLock;

/// A program, and what engines have computed from it.
pub struct Prepared<'a> {
    program: &'a Program,
    machine: OnceLock<Machine<'a>>,
    threads: OnceLock<Machine<'a>>,
}

impl<'a> Prepared<'a> {
    /// Nothing is computed yet.
    pub fn new(program: &'a Program) -> Self {
        Prepared { program, machine: OnceLock::new(), threads: OnceLock::new() }
    }

    /// The machine of a sequential program: see [`Machine::new`].
    pub(crate) fn machine(&self) -> &Machine<'a> {
        self.machine.get_or_init(|| Machine::new(self.program))
    }

    /// The machine of a program with threads: see [`Machine::threads`].
    pub(crate) fn threads(&self) -> &Machine<'a> {
        self.threads.get_or_init(|| Machine::threads(self.program))
    }
}
