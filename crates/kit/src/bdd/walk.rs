//! Room `kit`: finding members of sets without building diagrams.
//!
//! # Idea
//!
//! To pick a member of a conjunction under which some levels are already decided, one can conjoin everything with a
//! cube and take a path. But the cube and the conjunction are diagrams that are not needed again. So first the operands are
//! walked side by side, trying false before true and turning back at dead ends. That is fast where diagrams are small
//! and may take exponential time where they are not; after a number of dead ends the conjunction is built after all.

use super::table::BOTTOM;
use super::{Bdd, Interrupted, Ref};

/// How many operands can be walked at once.
const MOST: usize = 4;

/// How many dead ends a walk meets before it gives up.
const PATIENCE: usize = 64;

/// Truth values of some levels.
#[derive(Clone, Default, Debug)]
pub struct Assignment {
    /// By level: 0 and 1, or 2 where nothing is decided.
    values: Vec<u8>,
    decided: Vec<u32>,
}

impl Assignment {
    /// Decides a level. A level decided before keeps its value. Returns whether the two agree.
    pub fn decide(&mut self, level: u32, value: bool) -> bool {
        let at = level as usize;
        if self.values.len() <= at {
            self.values.resize(at + 1, 2);
        }
        if self.values[at] == 2 {
            self.values[at] = value as u8;
            self.decided.push(level);
        }
        self.values[at] == value as u8
    }

    /// Forgets all decisions.
    pub fn clear(&mut self) {
        for level in self.decided.drain(..) {
            self.values[level as usize] = 2;
        }
    }

    fn literals(&self) -> impl Iterator<Item = (u32, bool)> + '_ {
        self.decided.iter().map(|&level| (level, self.values[level as usize] == 1))
    }

    fn get(&self, level: u32) -> Option<bool> {
        match self.values.get(level as usize) {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        }
    }
}

/// A level on the way, the operands there, and which way was taken.
pub(super) struct Junction {
    level: u32,
    operands: [Ref; MOST],
    value: bool,
    /// Whether the other way is left to try.
    open: bool,
}

impl Bdd<'_> {
    /// Levels with truth values under which all operands are true, whatever the levels not mentioned are, in the order
    /// of levels. All that the assignment decides is among them. `None` if there is no such thing.
    pub fn pick_all(
        &mut self,
        operands: &[Ref],
        assignment: &Assignment,
    ) -> Result<Option<Vec<(u32, bool)>>, Interrupted> {
        if operands.len() > MOST {
            let all = self.conjoin(operands, assignment)?;
            return Ok(self.pick(all));
        }
        let mut start = [Ref::TRUE; MOST];
        start[..operands.len()].copy_from_slice(operands);
        let mut path = std::mem::take(&mut self.path);
        let found = match self.walk(start, assignment, &mut path) {
            Some(false) => None,
            Some(true) => {
                let mut found: Vec<(u32, bool)> =
                    path.iter().map(|junction| (junction.level, junction.value)).collect();
                // As a rule everything that is decided was met on the way, which goes downwards.
                let walked =
                    |level: u32| path.binary_search_by_key(&level, |junction| junction.level).is_ok();
                let met = found.len();
                found.extend(assignment.literals().filter(|&(level, _)| !walked(level)));
                if found.len() > met {
                    found.sort_unstable();
                }
                Some(found)
            }
            None => {
                let all = self.conjoin(operands, assignment)?;
                self.pick(all)
            }
        };
        self.path = path;
        Ok(found)
    }

    /// Whether some member of a set agrees with an assignment.
    pub fn meets(&mut self, set: Ref, assignment: &Assignment) -> Result<bool, Interrupted> {
        let mut path = std::mem::take(&mut self.path);
        let met = match self.walk([set, Ref::TRUE, Ref::TRUE, Ref::TRUE], assignment, &mut path) {
            Some(met) => met,
            None => self.conjoin(&[set], assignment)? != Ref::FALSE,
        };
        self.path = path;
        Ok(met)
    }

    fn conjoin(&mut self, operands: &[Ref], assignment: &Assignment) -> Result<Ref, Interrupted> {
        let literals: Vec<(u32, bool)> = assignment.literals().collect();
        let mut all = self.cube(&literals)?;
        for &operand in operands {
            all = self.and(all, operand)?;
        }
        Ok(all)
    }

    /// Walks to where all operands are true, and leaves the way in `path`. Returns whether there is such a place. `None` if there
    /// are too many dead ends.
    fn walk(&self, mut at: [Ref; MOST], assignment: &Assignment, path: &mut Vec<Junction>) -> Option<bool> {
        path.clear();
        let mut dead_ends = 0;
        loop {
            if at.contains(&Ref::FALSE) {
                dead_ends += 1;
                if dead_ends > PATIENCE {
                    return None;
                }
                while path.last().is_some_and(|junction| !junction.open) {
                    path.pop();
                }
                let Some(junction) = path.last_mut() else { return Some(false) };
                (junction.open, junction.value) = (false, true);
                at = self.follow(junction.operands, junction.level, true);
                continue;
            }
            let level = at.iter().map(|&operand| self.level(operand)).min().unwrap_or(BOTTOM);
            if level == BOTTOM {
                return Some(true);
            }
            let decided = assignment.get(level);
            let value = decided.unwrap_or(false);
            path.push(Junction { level, operands: at, value, open: decided.is_none() });
            at = self.follow(at, level, value);
        }
    }

    fn follow(&self, mut operands: [Ref; MOST], level: u32, value: bool) -> [Ref; MOST] {
        for operand in &mut operands {
            if self.level(*operand) == level {
                let (high, low) = self.cofactors(*operand);
                *operand = if value { high } else { low };
            }
        }
        operands
    }
}
