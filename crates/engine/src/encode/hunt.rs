//! Room `engine/encode`: which targets were reached, and when to stop looking for the others.
//!
//! Once one target is reached the others get a fair share of further work, a multiple of the work so far; then the hunt
//! ends. What counts as work is the engine's own affair.

use crate::verdict::{Verdict, Why};
use postbop_ir::{LocId, Task, Trace};

/// After a violation the hunt goes on for this many times the work so far ...
const TIMES: u64 = 4;

/// The targets of a task, and for those that were reached, the point at which they were.
#[derive(Clone, Debug)]
pub struct Hunt<P> {
    /// The targets by location.
    targets: Vec<(LocId, usize)>,
    reached: Vec<Option<P>>,
    missing: usize,
    /// ... and this much more.
    more: u64,
    stop_at: u64,
}

impl<P: Clone> Hunt<P> {
    /// Nothing is reached yet. After a violation, `more` units of work are allowed in any case.
    pub fn new(task: &Task, more: u64) -> Self {
        let mut targets = Vec::new();
        for (number, target) in task.targets.iter().enumerate() {
            targets.extend(target.locs.iter().map(|&loc| (loc, number)));
        }
        targets.sort_unstable();
        let count = task.targets.len();
        Hunt { targets, reached: vec![None; count], missing: count, more, stop_at: u64::MAX }
    }

    /// Whether every target was reached.
    pub fn is_over(&self) -> bool {
        self.missing == 0
    }

    /// Notes that a location was reached after so much work.
    pub fn reach(&mut self, loc: LocId, point: P, work: u64) {
        let first = self.targets.partition_point(|&(other, _)| other < loc);
        for &(_, target) in self.targets[first..].iter().take_while(|&&(other, _)| other == loc) {
            if self.reached[target].is_none() {
                self.reached[target] = Some(point.clone());
                self.missing -= 1;
                self.stop_at = self.stop_at.min(work * (TIMES + 1) + self.more);
            }
        }
    }

    /// Whether the hunt may go on after so much work.
    pub fn goes_on(&self, work: u64) -> Result<(), Why> {
        if work > self.stop_at { Err(Why::Stopped) } else { Ok(()) }
    }

    /// The verdicts, given why the hunt ended, if not because nothing was left to do. A target that was reached but for
    /// whose trace there was no time is unknown: no violation without a trace.
    pub fn verdicts(
        self,
        stopped: Option<Why>,
        mut trace: impl FnMut(P) -> Result<Trace, Why>,
    ) -> Vec<Verdict> {
        let verdict = |point: Option<P>| match (point, &stopped) {
            (Some(point), _) => trace(point).map_or_else(Verdict::Unknown, Verdict::Violated),
            (None, Some(why)) => Verdict::Unknown(why.clone()),
            (None, None) => Verdict::Holds,
        };
        self.reached.into_iter().map(verdict).collect()
    }
}
