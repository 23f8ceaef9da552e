//! Room `engine/threads`: the outline of a run: which thread runs in which slot, and with which values.

use postbop_ir::{ThreadId, Value, VarId};

/// The thread of each slot of a schedule, and the values of shared variables with which slots begin.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Script {
    /// The threads of the slots. An empty one stays in the prologue.
    pub owners: Vec<ThreadId>,
    /// For each slot known values at its beginning.
    pub begins: Vec<Vec<(VarId, Value)>>,
}
