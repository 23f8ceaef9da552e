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
use postbop_ir::{Id, LocId};
use postbop_kit::groups::Groups;

/// Drops the arcs that are on no run to a target.
pub fn prune(draft: &mut Draft) {
    let program = draft.task.program;
    let reachable = reachable(draft);
    let relevant = relevant(draft, &reachable);
    for edge in 0..program.edges().len() {
        let entered = draft.callee(edge).map(|callee| program.procs()[callee].entry);
        let arc = &mut draft.arcs[edge];
        let to = entered.unwrap_or(arc.to);
        arc.present &= reachable[arc.from.index()] && relevant[to.index()] && reachable[to.index()];
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
            let arc = draft.arcs[edge.index()];
            if !arc.present {
                continue;
            }
            let Some(callee) = draft.callee(edge.index()) else {
                if !draft.blocks(edge.0) && !reachable[arc.to.index()] {
                    work.push(arc.to);
                }
                continue;
            };
            let called = &program.procs()[callee];
            if !reachable[called.entry.index()] {
                work.push(called.entry);
            }
            match reachable[called.exit.index()] {
                true => work.push(arc.to),
                false => waiting[callee.index()].push(arc.to),
            }
        }
    }
    reachable
}

/// The locations from which control can get to a target.
fn relevant(draft: &Draft, reachable: &[bool]) -> Vec<bool> {
    let program = draft.task.program;
    let edges = 0..program.edges().len();
    let ends = edges.clone().map(|edge| (draft.arcs[edge].to.index(), edge as u32));
    let entering = Groups::new(program.locs().len(), ends);
    let calls = edges.filter_map(|edge| Some((draft.callee(edge)?.index(), edge as u32)));
    let calls = Groups::new(program.procs().len(), calls);
    let mut relevant = vec![false; program.locs().len()];
    let mut work: Vec<LocId> = draft.task.queries.iter().flat_map(|query| query.locs().to_vec()).collect();
    while let Some(loc) = work.pop() {
        if !reachable[loc.index()] || std::mem::replace(&mut relevant[loc.index()], true) {
            continue;
        }
        let proc = program.locs()[loc].proc;
        if program.procs()[proc].entry == loc {
            work.extend(calls.of(proc.index()).iter().map(|&call| draft.arcs[call as usize].from));
        }
        for &edge in entering.of(loc.index()) {
            let arc = draft.arcs[edge as usize];
            if arc.present {
                let callee = draft.callee(edge as usize);
                work.push(callee.map_or(arc.from, |callee| program.procs()[callee].exit));
            }
        }
    }
    relevant
}
