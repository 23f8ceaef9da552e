//! Room `ir`: when a thread waits, on plain numbers.
//!
//! # Idea
//!
//! A statement may take several edges, with inner locations between them; for the other threads it is done at once or not at all. So
//! a thread that is between statements *can move* if it can get through the statement that comes next in some way: to a location that is
//! not inner, into a call, out of one, or to where the run ends. Otherwise it *waits*.
//!
//! A run ends where it fails an assertion, and where it finds no room for another thread. That is not waiting. A thread that has
//! ended does not wait either, nor does one that was not started yet.

use crate::ids::{LocId, Table};
use crate::program::Program;
use crate::step::{Places, Successor, Valuation, successors};
use std::collections::HashSet;

/// The locations where a run ends although it is not at an exit: a check, or a location within a statement that no edge leaves.
pub fn ends(program: &Program) -> Table<LocId, bool> {
    let is_end = |(id, loc): (LocId, &crate::program::Loc)| loc.inner && program.leaving(id).is_empty();
    let mut ends: Table<LocId, bool> = program.locs().pairs().map(is_end).collect();
    let named = program.checks().iter().map(|check| check.loc).chain(program.no_room().iter().copied());
    named.for_each(|loc| ends[loc] = true);
    ends
}

/// Whether an activation that is between statements can get through the next one. None if an integer is too large for us.
pub(crate) fn can_move(
    program: &Program,
    places: &Places,
    loc: LocId,
    valuation: &Valuation,
) -> Option<bool> {
    let mut work = vec![(loc, valuation.clone())];
    let mut seen: HashSet<(LocId, Valuation)> = HashSet::new();
    while let Some((loc, valuation)) = work.pop() {
        for &id in program.leaving(loc) {
            let edge = &program.edges()[id];
            for successor in successors(program, places, &edge.action, &valuation).ok()? {
                match successor {
                    Successor::Move(next) if program.locs()[edge.to].inner => {
                        if program.leaving(edge.to).is_empty() {
                            return Some(true);
                        }
                        if seen.insert((edge.to, next.clone())) {
                            work.push((edge.to, next));
                        }
                    }
                    _ => return Some(true),
                }
            }
        }
    }
    Some(false)
}
