//! Room `front`: which locals of a procedure can still be read at a location.
//!
//! The usual analysis, backwards from every read to the last assignments before it. Only what is live where a new thread
//! begins is copied from its starter.

use postbop_ir::{Action, Builder, LocId, ProcId, VarId};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// A way from one location to another.
pub struct Move {
    /// Where it starts.
    pub from: LocId,
    /// Where it leads.
    pub to: LocId,
    /// What it reads ...
    pub reads: Vec<VarId>,
    /// ... and then writes.
    pub writes: Vec<VarId>,
}

/// The live variables at each location of a procedure, which has these moves besides its edges.
pub fn live(out: &Builder, proc: ProcId, mut moves: Vec<Move>) -> FxHashMap<LocId, BTreeSet<VarId>> {
    for edge in out.edges().iter().filter(|edge| out.locs()[edge.from].proc == proc) {
        let reads = edge.action.exprs().flat_map(|expr| expr.reads()).collect();
        let writes = match &edge.action {
            Action::Assign { targets, .. } => targets.clone(),
            Action::Havoc(vars) => vars.clone(),
            Action::Call { results, .. } => results.iter().flatten().copied().collect(),
            Action::Assume(_) | Action::Return(_) => Vec::new(),
        };
        moves.push(Move { from: edge.from, to: edge.to, reads, writes });
    }
    let mut into: FxHashMap<LocId, Vec<usize>> = FxHashMap::default();
    for (at, step) in moves.iter().enumerate() {
        into.entry(step.to).or_default().push(at);
    }
    let mut live: FxHashMap<LocId, BTreeSet<VarId>> = FxHashMap::default();
    let mut open: Vec<usize> = (0..moves.len()).collect();
    while let Some(at) = open.pop() {
        let step = &moves[at];
        let after = live.get(&step.to).cloned().unwrap_or_default();
        let kept = after.into_iter().filter(|var| !step.writes.contains(var));
        let before = live.entry(step.from).or_default();
        let size = before.len();
        before.extend(kept.chain(step.reads.iter().copied()));
        if before.len() > size {
            open.extend(into.get(&step.from).into_iter().flatten());
        }
    }
    live
}
