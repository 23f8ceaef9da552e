//! Room `engine/reduce`: where a thread that is left is worth coming back to.
//!
//! What a thread does that no other can see commutes with what others do, so it may as well be done before it is left or
//! when it has come back.

use super::sequential::mentioned;
use postbop_ir::{Action, Edge, EdgeId, Loc, LocId, ProcId, Program, Table, ThreadId, VarId};

/// The locations between statements where a thread that is left is worth coming back to: in front of an edge that mentions
/// a shared variable, or from which on the thread cannot be left before it may come to such an edge, for it is within a
/// statement or in an atomic section then. A return counts for what the caller does with its results.
pub fn fronts(program: &Program, shared: &[VarId], thread: &Table<ProcId, Option<ThreadId>>) -> Vec<LocId> {
    let is_seen = |var: &VarId| shared.binary_search(var).is_ok() || program.atomic == Some(*var);
    let is_inner = |loc: LocId| program.locs[loc].inner;
    let mut matters_at_return = Table::filled(program.procs.len(), false);
    for edge in program.edges.iter() {
        if let Action::Call { callee, results, .. } = &edge.action {
            matters_at_return[*callee] |= is_inner(edge.to) || results.iter().flatten().any(is_seen);
        }
    }
    let matters = |id: &EdgeId| {
        let Edge { to, action, .. } = &program.edges[*id];
        let beyond = match action {
            Action::Call { callee, .. } => is_inner(program.procs[*callee].entry),
            Action::Return(_) => matters_at_return[program.locs[*to].proc],
            _ => false,
        };
        beyond || is_inner(*to) || mentioned(action).iter().any(is_seen)
    };
    let fits = |&(id, loc): &(LocId, &Loc)| {
        thread[loc.proc].is_some() && !loc.inner && program.leaving(id).iter().any(matters)
    };
    program.locs.pairs().filter(fits).map(|(id, _)| id).collect()
}
