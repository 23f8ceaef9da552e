//! Room `engine/reduce`: edges that are on no run to a target are dropped.
//!
//! # Idea
//!
//! Forwards: a location is reachable if control can get there, whatever the values; a call goes on only if its
//! callee can return. Backwards: a location is relevant if it is a target, or control can get from there to a
//! relevant one. Across calls: the exit of a procedure is relevant if one of its calls leads to a relevant
//! location, and a call is relevant if the entry of its callee is. An edge stays if it starts at a reachable
//! location and leads to a relevant one.

use super::draft::Draft;
use postbop_ir::{Action, EdgeId, Id, LocId};
use postbop_kit::groups::Groups;

/// Drops the arcs that are on no run to a target.
pub fn prune(draft: &mut Draft) {
    let program = draft.task.program;
    let reachable = reachable(draft);
    let relevant = relevant(draft, &reachable);
    for (id, edge) in program.edges().pairs() {
        let to = match edge.action {
            Action::Call { callee, .. } => program.procs()[callee].entry,
            _ => edge.to,
        };
        draft.arcs[id.index()].present &=
            reachable[edge.from.index()] && relevant[to.index()] && reachable[to.index()];
    }
    // When edges are pruned a second time, the locations of dropped edges no longer seem reachable: the first result counts,
    // unless all edges on the way to a guard were kept.
    if draft.reachable[0].is_none() {
        let kept = |loc: &LocId| relevant[loc.index()] || !reachable[loc.index()];
        draft.whole = draft.task.queries.iter().map(|query| query.guard.iter().all(kept)).collect();
        draft.reachable[0] = Some(reachable.clone());
        draft.relevant[0] = Some(relevant.clone());
    }
    draft.reachable[1] = Some(reachable);
    draft.relevant[1] = Some(relevant);
}

/// The locations to which control can get.
fn reachable(draft: &Draft) -> Vec<bool> {
    let program = draft.task.program;
    let mut reachable = vec![false; program.locs().len()];
    // Calls that wait for their callee to return.
    let mut waiting: Vec<Vec<LocId>> = vec![Vec::new(); program.procs().len()];
    let mut work = vec![program.procs()[program.main()].entry];
    while let Some(loc) = work.pop() {
        if std::mem::replace(&mut reachable[loc.index()], true) {
            continue;
        }
        let proc = program.locs()[loc].proc;
        if program.procs()[proc].exit == loc {
            work.append(&mut waiting[proc.index()]);
        }
        for &edge in program.leaving(loc) {
            let (arc, edge) = (edge.0, &program.edges()[edge]);
            if !draft.arcs[arc as usize].present {
                continue;
            }
            let Action::Call { callee, .. } = edge.action else {
                if !draft.blocks(arc) && !reachable[edge.to.index()] {
                    work.push(edge.to);
                }
                continue;
            };
            let called = &program.procs()[callee];
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
    let ends = program.edges().pairs().map(|(id, edge)| (edge.to.index(), id.0));
    let entering = Groups::new(program.locs().len(), ends);
    let calls = program.edges().pairs().filter_map(|(id, edge)| Some((called(edge)?.index(), id.0)));
    let calls = Groups::new(program.procs().len(), calls);
    let mut relevant = vec![false; program.locs().len()];
    let mut work: Vec<LocId> = draft.task.queries.iter().flat_map(|query| query.locs().to_vec()).collect();
    while let Some(loc) = work.pop() {
        if !reachable[loc.index()] || std::mem::replace(&mut relevant[loc.index()], true) {
            continue;
        }
        let proc = program.locs()[loc].proc;
        if program.procs()[proc].entry == loc {
            work.extend(calls.of(proc.index()).iter().map(|&id| program.edges()[EdgeId(id)].from));
        }
        for &id in entering.of(loc.index()).iter().filter(|&&id| draft.arcs[id as usize].present) {
            let edge = &program.edges()[EdgeId(id)];
            work.push(called(edge).map_or(edge.from, |callee| program.procs()[callee].exit));
        }
    }
    relevant
}
