//! Room `engine/threads`: the outline of a run: which thread runs in which slot, and with which values.
//!
//! An engine that takes threads as they are may find that a violation exists, and a script of it, but not the run itself.
//! [`super::follow`] finds the run: the sequentialisation with these threads and values in place of its guesses.

use postbop_ir::{ThreadId, Value, VarId};

/// The thread of each slot of a schedule, and the values of shared variables with which slots begin.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Script {
    /// The threads of the slots. If there are none, the run stays in the prologue.
    pub owners: Vec<ThreadId>,
    /// For each slot known values at its beginning.
    pub begins: Vec<Vec<(VarId, Value)>>,
}
