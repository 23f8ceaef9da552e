//! Room `engine/threads`: the locations at which a switch makes a difference.
//!
//! Steps that no other thread can notice commute with the steps of other threads, so they may as well be taken
//! before the thread is left, or after it has come back. Only in front of an edge that others can notice is it
//! worth coming back to a thread.

use postbop_ir::{Action, Edge, EdgeId, Loc, LocId, ProcId, Program, Table, ThreadId, VarId};

/// The locations between statements where a thread that is left is worth coming back to: in front of an edge that mentions
/// a shared variable, or from which on the thread cannot be left before it may come to such an edge, for it is within a
/// statement or in an atomic section then. A return counts for what the caller does with its results.
pub fn resume_points(
    program: &Program,
    shared: &[VarId],
    thread: &Table<ProcId, Option<ThreadId>>,
) -> Vec<LocId> {
    let is_seen = |var: &VarId| shared.binary_search(var).is_ok() || program.atomic() == Some(*var);
    let is_inner = |loc: LocId| program.locs()[loc].inner;
    let mut matters_at_return = Table::filled(program.procs().len(), false);
    for edge in program.edges().iter() {
        if let Action::Call { callee, results, .. } = &edge.action {
            matters_at_return[*callee] |= is_inner(edge.to) || results.iter().flatten().any(is_seen);
        }
    }
    let matters = |id: &EdgeId| {
        let Edge { to, action, .. } = &program.edges()[*id];
        let beyond = match action {
            Action::Call { callee, .. } => is_inner(program.procs()[*callee].entry),
            Action::Return(_) => matters_at_return[program.locs()[*to].proc],
            _ => false,
        };
        beyond || is_inner(*to) || action.mentions().any(|var| is_seen(&var))
    };
    let fits = |&(id, loc): &(LocId, &Loc)| {
        thread[loc.proc].is_some() && !loc.inner && program.leaving(id).iter().any(matters)
    };
    program.locs().pairs().filter(fits).map(|(id, _)| id).collect()
}

/// The globals that two threads mention, in the order of their ids.
pub fn shared(program: &Program, thread: &Table<ProcId, Option<ThreadId>>) -> Vec<VarId> {
    let mut by: Table<VarId, Option<ThreadId>> = Table::filled(program.vars().len(), None);
    let mut shared = Vec::new();
    for edge in program.edges().iter() {
        let Some(thread) = thread[program.locs()[edge.from].proc] else { continue };
        for var in edge.action.mentions().filter(|&var| program.is_global(var)) {
            match by[var] {
                None => by[var] = Some(thread),
                Some(other) if other != thread => shared.push(var),
                Some(_) => {}
            }
        }
    }
    shared.sort_unstable();
    shared.dedup();
    shared
}
