//! Room `engine/reduce`: what can be on no run to a target is left out.
//!
//! # Idea
//!
//! Forwards: a location is reachable if control can get there, whatever the values; a call goes on only if its callee can
//! return. Backwards: a location is relevant if it is a target, or control can get from there to a relevant one. Across
//! calls: the exit of a procedure is relevant if one of its calls leads to a relevant location, and a call is relevant if
//! the entry of its callee is. An edge stays if it starts where control can be and leads to where it matters.

use super::draft::Draft;
use postbop_ir::{Action, EdgeId, Expr, Id, LocId, Op, Program};

/// Drops the arcs that are on no run to a target.
pub fn prune(draft: &mut Draft) {
    let program = draft.task.program;
    let reachable = reachable(program);
    let relevant = relevant(draft, &reachable);
    for (id, edge) in program.edges.pairs() {
        let to = match edge.action {
            Action::Call { callee, .. } => program.procs[callee].entry,
            _ => edge.to,
        };
        draft.arcs[id.index()].live =
            reachable[edge.from.index()] && relevant[to.index()] && reachable[to.index()];
    }
}

/// Whether nobody gets past an action.
fn blocks(action: &Action) -> bool {
    matches!(action, Action::Assume(Expr { code }) if matches!(**code, [Op::Const(_, 0)]))
}

/// The locations to which control can get.
fn reachable(program: &Program) -> Vec<bool> {
    let mut reachable = vec![false; program.locs.len()];
    // Calls that wait for their callee to return.
    let mut waiting: Vec<Vec<LocId>> = vec![Vec::new(); program.procs.len()];
    let mut work = vec![program.procs[program.main].entry];
    while let Some(loc) = work.pop() {
        if std::mem::replace(&mut reachable[loc.index()], true) {
            continue;
        }
        let proc = program.locs[loc].proc;
        if program.procs[proc].exit == loc {
            work.append(&mut waiting[proc.index()]);
        }
        for &edge in program.leaving(loc) {
            let edge = &program.edges[edge];
            let Action::Call { callee, .. } = edge.action else {
                if !blocks(&edge.action) && !reachable[edge.to.index()] {
                    work.push(edge.to);
                }
                continue;
            };
            let called = &program.procs[callee];
            if !reachable[called.entry.index()] {
                work.push(called.entry);
            }
            match reachable[called.exit.index()] {
                true => work.push(edge.to),
                false => waiting[callee.index()].push(edge.to),
            }
        }
    }
    reachable
}

/// The locations from which control can get to a target.
fn relevant(draft: &Draft, reachable: &[bool]) -> Vec<bool> {
    let program = draft.task.program;
    let called = |edge: &postbop_ir::Edge| match edge.action {
        Action::Call { callee, .. } => Some(callee),
        _ => None,
    };
    let ends = program.edges.iter().map(|edge| edge.to.index());
    let (entering, first) = group(program.locs.len(), ends);
    // The calls of a procedure: behind those of the one before. Edges that are no calls come last.
    let callees = program.edges.iter().map(|edge| called(edge).map_or(program.procs.len(), Id::index));
    let (calls, first_call) = group(program.procs.len() + 1, callees);
    let mut relevant = vec![false; program.locs.len()];
    let mut work: Vec<LocId> = draft.task.targets.iter().flat_map(|target| target.locs.clone()).collect();
    while let Some(loc) = work.pop() {
        if !reachable[loc.index()] || std::mem::replace(&mut relevant[loc.index()], true) {
            continue;
        }
        let proc = program.locs[loc].proc;
        if program.procs[proc].entry == loc {
            let calls = &calls[first_call[proc.index()] as usize..first_call[proc.index() + 1] as usize];
            work.extend(calls.iter().map(|&id| program.edges[id].from));
        }
        for &id in &entering[first[loc.index()] as usize..first[loc.index() + 1] as usize] {
            let edge = &program.edges[id];
            work.push(called(edge).map_or(edge.from, |callee| program.procs[callee].exit));
        }
    }
    relevant
}

/// The edges sorted by a key below `count`, and where each key begins.
fn group(count: usize, keys: impl Iterator<Item = usize> + Clone) -> (Vec<EdgeId>, Vec<u32>) {
    let mut first = vec![0u32; count + 1];
    keys.clone().for_each(|key| first[key + 1] += 1);
    (0..count).for_each(|key| first[key + 1] += first[key]);
    let mut next = first.clone();
    let mut sorted = vec![EdgeId(0); first[count] as usize];
    for (at, key) in keys.enumerate() {
        sorted[next[key] as usize] = EdgeId(at as u32);
        next[key] += 1;
    }
    (sorted, first)
}
