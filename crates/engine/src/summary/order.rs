//! Room `engine/summary`: in which order locations are looked at: in reverse post-order, procedure by procedure.
//!
//! In that order a location comes after all that lead to it, but for the heads of loops. So a set that is pushed on has
//! grown as much as it can before.

use postbop_ir::{LocId, ProcId, Program, Table};

/// The place of each location in its procedure's reverse post-order, for procedures that were numbered.
pub struct Order {
    place: Table<LocId, u32>,
}

impl Order {
    /// No procedure is numbered yet.
    pub fn new(program: &Program) -> Self {
        Order { place: Table::filled(program.locs().len(), u32::MAX) }
    }

    /// The place of a location.
    pub fn of(&self, loc: LocId) -> u32 {
        self.place[loc]
    }

    /// Numbers the locations of a procedure: the last to be left by a depth-first search comes first. The edge that leaves a
    /// loop is followed before its body, so that the body comes before the locations behind the loop.
    pub fn number(&mut self, program: &Program, proc: ProcId) {
        const SEEN: u32 = u32::MAX - 1;
        let entry = program.procs()[proc].entry;
        if self.place[entry] != u32::MAX {
            return;
        }
        let mut left = Vec::new();
        let mut path = vec![(entry, 0)];
        self.place[entry] = SEEN;
        while let Some((loc, next)) = path.last_mut() {
            let edges = program.leaving(*loc);
            if *next == edges.len() {
                left.push(*loc);
                path.pop();
                continue;
            }
            *next += 1;
            let to = program.edges()[edges[edges.len() - *next]].to;
            if self.place[to] == u32::MAX {
                self.place[to] = SEEN;
                path.push((to, 0));
            }
        }
        for (place, loc) in left.into_iter().rev().enumerate() {
            self.place[loc] = place as u32;
        }
    }
}
