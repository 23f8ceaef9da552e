//! Room `engine/encode`: which targets and guards a search has reached.
//!
//! Engines report every location that they reach; the tracker notes the first point at which each query's target
//! was reached, says when nothing is left to look for, and in the end tells the listener a finding for each query.

use crate::engine::{Finding, Listener};
use crate::verdict::Why;
use postbop_ir::{LocId, Task, Trace};
use postbop_kit::bits;

/// The queries of a task, and for those whose target was reached, the point at which it was.
#[derive(Clone, Debug)]
pub struct TargetTracker<P> {
    /// The locations that matter here.
    marked: Vec<u64>,
    /// Targets and guards by location: which query, and whether it is its target.
    queries: Vec<(LocId, usize, bool)>,
    reached: Vec<Option<P>>,
    /// Of which queries the listener was told before the end.
    told: Vec<bool>,
    /// For each query that has a guard, whether it was reached.
    guarded: Vec<Option<bool>>,
    /// How many queries have a target, and of how many of them it was not reached yet.
    asked: usize,
    missing: usize,
    first: bool,
}

impl<P: Clone> TargetTracker<P> {
    /// Nothing is reached yet.
    pub fn new(task: &Task) -> Self {
        let mut queries = Vec::new();
        for (number, query) in task.queries.iter().enumerate() {
            queries.extend(query.locs().iter().map(|&loc| (loc, number, true)));
            queries.extend(query.guard.iter().map(|&loc| (loc, number, false)));
        }
        queries.sort_unstable();
        let mut marked = vec![0; bits::words(task.program.locs().len())];
        for (loc, ..) in &queries {
            bits::insert(&mut marked, loc.0 as usize);
        }
        let count = task.queries.len();
        let asked = task.queries.iter().filter(|query| query.has_target()).count();
        TargetTracker {
            marked,
            queries,
            reached: vec![None; count],
            told: vec![false; count],
            guarded: task.queries.iter().map(|query| (!query.guard.is_empty()).then_some(false)).collect(),
            asked,
            missing: asked,
            first: task.first,
        }
    }

    /// Nothing is reached yet, and nothing will be said about guards: the search does not look for them.
    pub fn without_guards(task: &Task) -> Self {
        let mut tracker = TargetTracker::new(task);
        tracker.guarded.fill(None);
        tracker
    }

    /// Whether nothing is left to look for.
    pub fn is_over(&self) -> bool {
        self.missing == 0 || self.first && self.missing < self.asked
    }

    /// Whether a target was reached of which nothing was told yet.
    pub fn found(&self) -> bool {
        let told = self.told.iter().filter(|told| **told).count();
        self.missing + told < self.asked
    }

    /// Whether there is a query whose target was not reached yet.
    pub fn has_open(&self) -> bool {
        self.missing + (self.reached.len() - self.asked) > 0
    }

    /// The queries whose targets were not reached yet.
    pub fn open(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.reached.len()).filter(|&query| self.reached[query].is_none())
    }

    /// Of a query with a guard, whether that was reached.
    pub fn guarded(&self, query: usize) -> Option<bool> {
        self.guarded[query]
    }

    /// Takes back that a guard is not reached, where a search that reaches all that can be reached, and perhaps more, has reached it: this
    /// search has not seen all runs.
    pub fn doubt(&mut self, more: &Self) {
        for (guarded, may) in self.guarded.iter_mut().zip(&more.guarded) {
            *guarded = guarded.filter(|reached| *reached || *may == Some(false));
        }
    }

    /// Notes that a location was reached. Returns the queries whose target it is, and was not reached before.
    #[inline]
    pub fn reach(&mut self, loc: LocId, point: &P) -> Vec<usize> {
        // Asked of every point of a search, and of most the answer is no: then not even an empty list goes through memory.
        match bits::contains(&self.marked, loc.0 as usize) {
            true => self.reach_marked(loc, point),
            false => Vec::new(),
        }
    }

    fn reach_marked(&mut self, loc: LocId, point: &P) -> Vec<usize> {
        let mut new = Vec::new();
        let first = self.queries.partition_point(|&(other, ..)| other < loc);
        for &(_, query, target) in self.queries[first..].iter().take_while(|&&(other, ..)| other == loc) {
            if !target {
                self.guarded[query] = Some(true);
            } else if self.reached[query].is_none() {
                self.reached[query] = Some(point.clone());
                self.missing -= 1;
                new.push(query);
            }
        }
        new
    }

    /// Whether a search that ended for this reason, if not because nothing was left to do or to look for, has seen all that can be reached.
    pub fn has_seen_all(&self, stopped: Option<&Why>) -> bool {
        stopped.is_none() && !self.is_over()
    }

    /// Tells what was found so far, as far as there is a trace, before the search goes on. To be called once.
    pub fn tell_found(
        &mut self,
        mut trace: impl FnMut(P) -> Result<Trace, Why>,
        listener: &mut dyn Listener,
    ) {
        for (query, point) in self.reached.iter().enumerate() {
            match point.clone().map(&mut trace) {
                Some(Ok(trace)) => {
                    listener.settle(query, Finding::Reached(trace));
                    self.told[query] = true;
                }
                None if self.guarded[query] == Some(true) => listener.guarded(query),
                _ => {}
            }
        }
    }

    /// Tells what is known of each query of which nothing was told yet, given why the search ended, if not because nothing was left to do. A target that
    /// was reached but for whose trace there was no time is unknown: no violation without a trace.
    pub fn tell(
        self,
        stopped: Option<Why>,
        mut trace: impl FnMut(P) -> Result<Trace, Why>,
        listener: &mut dyn Listener,
    ) {
        let found = self.missing < self.asked;
        // If all targets were reached, the search ended before it had seen all runs.
        let complete = self.missing > 0;
        let stopped = stopped.or((self.first && found).then_some(Why::First));
        let untold = self.reached.into_iter().enumerate().filter(|(query, _)| !self.told[*query]);
        for (query, point) in untold {
            let finding = match (point, &stopped) {
                (Some(point), _) => trace(point).map_or_else(Finding::Unknown, Finding::Reached),
                (None, Some(why)) => {
                    if self.guarded[query] == Some(true) {
                        listener.guarded(query);
                    }
                    Finding::Unknown(why.clone())
                }
                (None, None) => {
                    Finding::Holds { guarded: self.guarded[query].filter(|reached| *reached || complete) }
                }
            };
            listener.settle(query, finding);
        }
    }
}
