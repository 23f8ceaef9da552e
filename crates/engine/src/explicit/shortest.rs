//! Room `engine/explicit`: the search for shortest runs.
//!
//! # Idea
//!
//! Contexts are taken from a heap, by the number of steps from the start of the run to them. That number is the distance
//! of their entry plus the steps inside the procedure, where a completed call counts all its steps; no derivation leads
//! to a smaller number than those it starts from, so the first time a context is taken its number is final. This is
//! Dijkstra's algorithm as Knuth generalised it to derivations \[knuth-dijkstra\].

use super::search::{Found, Order, PATIENCE, Search};
use super::store::Parent;
use postbop_ir::{EdgeId, Length, Task};
use postbop_kit::chunked::Chunked;
use postbop_kit::rows::Full;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// By the number of steps.
#[derive(Default)]
pub struct Nearest {
    /// Contexts by the number of steps from the start.
    heap: BinaryHeap<Reverse<(Length, u32)>>,
    /// For each row its steps from its entry.
    steps: Chunked<Option<Length>>,
    taken: Chunked<bool>,
    /// The context whose edges are followed, and how far.
    current: Option<(u32, usize, bool)>,
}

impl Order for Nearest {
    fn new(_: &Task) -> Self {
        Nearest::default()
    }

    fn added(&mut self, rows: usize, steps: Option<Length>) {
        self.steps.extend_to(rows, &steps);
        self.taken.extend_to(rows, &false);
    }

    fn steps_to(&self, row: u32) -> Length {
        self.steps.get(row as usize).and_then(Option::clone).unwrap_or(Length::ZERO)
    }

    fn found(search: &mut Search<Self>, context: u32, _: bool, parent: Parent, steps: Length) {
        search.order.added(search.store.len(), None);
        let known = &mut search.order.steps[context as usize];
        if known.as_ref().is_none_or(|known| steps < *known) {
            let entry = search.store.entry_of(context) as usize;
            let total = search.store.entries[entry].distance.clone() + &steps;
            *known = Some(steps);
            search.store.set_parent(context, parent);
            search.order.heap.push(Reverse((total, context)));
        }
    }

    fn called(&mut self, _: u32, _: EdgeId, _: u32, _: u32, _: bool) {}

    /// The heap moves to a place twice as large when it is full.
    fn room(&self) -> u64 {
        let (len, capacity) = (self.heap.len() as u64, self.heap.capacity() as u64);
        let entry = size_of::<Reverse<(Length, u32)>>() as u64;
        if len + PATIENCE > capacity { 2 * capacity * entry } else { 0 }
    }

    /// Finishes the work that the last context led to, then takes the next context.
    fn advance(search: &mut Search<Self>) -> Result<bool, Full> {
        if !search.work.is_empty() {
            return search.work_on();
        }
        if let Some((context, at, first)) = search.order.current.take() {
            return drain(search, context, at, first).map(|()| true);
        }
        let Some(Reverse((_, context))) = search.order.heap.pop() else { return Ok(false) };
        if std::mem::replace(&mut search.order.taken[context as usize], true) {
            return Ok(true);
        }
        search.targets.reach(search.store.loc(context), &context);
        if search.is_exit(context) {
            search.exit(context);
        } else {
            search.order.current = Some((context, 0, true));
        }
        Ok(true)
    }

    fn is_over(search: &mut Search<Self>) -> bool {
        search.targets.is_over()
    }
}

/// Follows the edges of a context until there are none or it takes long.
fn drain(search: &mut Search<Nearest>, context: u32, mut at: usize, mut first: bool) -> Result<(), Full> {
    loop {
        let found = search.expand(context, &mut at, 0, &mut first);
        if let Found::Paused = found {
            search.order.current = Some((context, at, first));
            return Ok(());
        }
        if !search.follow(context, found)? {
            return Ok(());
        }
    }
}
