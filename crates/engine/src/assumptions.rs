//! Room `engine`: assumptions that no run gets past.
//!
//! # Idea
//!
//! The usual reason for a vacuous property is an assumption that is never true where it stands. Engines that see all runs
//! also see which guards are reached. So the locations before and behind an assumption go along with the question as
//! guards of queries that have no target: no engine is asked for their sake, and no search goes on for their sake, but
//! where the answer comes to light it is told.
//!
//! # Cost
//!
//! That of guards: edges are not composed past them. A program with more than [`MOST`] assumptions gets no such
//! queries, since one that consists of assumptions would not be reduced any more.

use crate::verdict::{Answer, Blocked};
use postbop_ir::{Action, EdgeId, Expr, Program, Query};

/// The most assumptions that are watched.
const MOST: usize = 16;

/// The assumptions of a program: conditions without an alternative. None if there are many.
pub fn assumptions(program: &Program) -> Vec<EdgeId> {
    let is_assumption = |id: &EdgeId| {
        let edge = &program.edges()[*id];
        matches!(&edge.action, Action::Assume(condition) if *condition != Expr::bool(true))
            && program.leaving(edge.from).len() == 1
    };
    let few: Vec<EdgeId> = program.edges().ids().filter(is_assumption).take(MOST + 1).collect();
    if few.len() > MOST { Vec::new() } else { few }
}

/// Queries that tell whether a run comes to each of these assumptions, and whether one gets past it.
pub fn watch(program: &Program, assumptions: &[EdgeId]) -> Vec<Query> {
    let ends = |id: &EdgeId| [program.edges()[*id].from, program.edges()[*id].to];
    let query = |loc| Query { guard: vec![loc], ..Query::reach("assumption", Vec::new()) };
    assumptions.iter().flat_map(ends).map(query).collect()
}

/// The assumptions that no run gets past, from the answers to those queries.
pub fn blocked(assumptions: &[EdgeId], answers: &[Answer]) -> Vec<Blocked> {
    let ends = assumptions.iter().zip(answers.chunks_exact(2));
    let blocked = |(edge, ends): (&EdgeId, &[Answer])| {
        let blocked = Blocked { edge: *edge, reached: ends[0].vacuous.map(|vacuous| !vacuous) };
        (ends[1].vacuous == Some(true)).then_some(blocked)
    };
    ends.filter_map(blocked).collect()
}
