//! Room `ir`: what the steps of a trace change.
//!
//! A trace may have millions of steps, so changes are kept in two flat lists.

use crate::ids::VarId;
use crate::value::Value;

/// A variable of which something else is known: its value, or that it is open.
pub type Change = (VarId, Option<Value>);

/// For each of a row of steps the variables of which something else is known afterwards.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Changes {
    ends: Vec<usize>,
    all: Vec<Change>,
}

impl Changes {
    /// Adds the next step.
    pub(super) fn push(&mut self, step: impl IntoIterator<Item = Change>) {
        self.all.extend(step);
        self.ends.push(self.all.len());
    }

    /// What the step of this number changes.
    pub fn of(&self, step: usize) -> &[Change] {
        let start = step.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[start..self.ends[step]]
    }

    /// The number of steps.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no step.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}
