//! Room `engine/temporal`: from *does a run go on for ever within an activation of this procedure* to *is it visited again and again*.
//!
//! # Idea
//!
//! Whether an activation ever returns is not known when it begins, so the translation guesses. Once in a run, when the procedure is
//! entered, it may be guessed that this activation never returns; from then on it may not, and the run counts. Every
//! run that goes on for ever passes a head of [`super::repeat::heads`] again and again. There it passes through a location that was
//! added, if it counts: what is asked is whether a run visits these locations again and again.
//!
//! # Cost
//!
//! One flag for the run, one in each activation of the procedure, and two locations for each head.

use super::repeat::heads;
use super::wrap::{Draft, Wrapped};
use postbop_ir::{Action, Expr, Id, LocId, ProcId, Program, Query, Type, VarId};

/// The question whether a run of a sequential program goes on for ever while an activation of one of some procedures never returns. Users call
/// the property that none does by `name`.
pub fn within<'a>(program: &'a Program, procs: &[ProcId], name: &str) -> Wrapped<'a> {
    let mut draft = Draft::new(program);
    let counts = draft.out.global("%counts", Type::Bool);
    draft.out.set_control(vec![counts]);
    let mut arrival: Vec<LocId> = program.locs().ids().collect();
    let mut passed = Vec::new();
    for head in heads(program) {
        let proc = program.locs()[head].proc;
        let [before, passes] = [(); 2].map(|()| draft.loc(proc));
        draft.add(before, head, Action::Assume(Expr::var(counts).negated()));
        draft.add(before, passes, Action::Assume(Expr::var(counts)));
        draft.add(passes, head, Action::skip());
        arrival[head.index()] = before;
        passed.push(passes);
    }
    let mut never_returns: Vec<Option<VarId>> = vec![None; program.procs().len()];
    for (id, proc) in program.procs().pairs() {
        let entry = arrival[proc.entry.index()];
        let mut begin = entry;
        if procs.contains(&id) {
            let flag = draft.out.local(id, "%never returns", Type::Bool);
            never_returns[id.index()] = Some(flag);
            begin = draft.loc(id);
            draft.add(begin, entry, guess(&[(flag, false)], None));
            let first = Expr::var(counts).negated();
            draft.add(begin, entry, guess(&[(flag, true), (counts, true)], Some(first)));
        }
        draft.out.set_entry(id, begin);
    }
    for (id, edge) in program.edges().pairs() {
        let proc = program.locs()[edge.from].proc;
        let mut from = edge.from;
        if let (Action::Return(_), Some(flag)) = (&edge.action, never_returns[proc.index()]) {
            from = draft.loc(proc);
            draft.add(edge.from, from, Action::Assume(Expr::var(flag).negated()));
        }
        draft.keep(id, from, arrival[edge.to.index()]);
    }
    let (start, over) = draft.start(&[vec![(counts, Expr::bool(false))]]);
    let exit = draft.out.procs()[start].exit;
    draft.add(over, exit, Action::Return(Vec::new()));
    draft.finish(start, Query::recur(name, passed))
}

/// Sets flags, where a condition holds.
fn guess(flags: &[(VarId, bool)], constraint: Option<Expr>) -> Action {
    let (targets, values) = flags.iter().map(|&(flag, value)| (flag, Expr::bool(value))).unzip();
    Action::Assign { targets, values, constraint }
}
