//! Room `engine/explicit`: the search for any run, depth first.
//!
//! A new context goes on top of the stack of unfinished work, so its edges are followed before those of the context that led to it. A
//! target counts as soon as it is found.

use super::search::{Order, Search, WorkItem};
use super::store::Parent;
use postbop_ir::{EdgeId, Length, Task};
use postbop_kit::rows::Full;

/// Depth first. Steps are not counted.
pub struct DepthFirst;

impl Order for DepthFirst {
    fn new(_: &Task) -> Self {
        DepthFirst
    }

    fn added(&mut self, _: usize, _: Option<Length>) {}

    fn steps_to(&self, _: u32) -> Length {
        Length::ZERO
    }

    fn found(search: &mut Search<Self>, context: u32, new: bool, _: Parent, _: Length) {
        if !new {
            return;
        }
        search.targets.reach(search.store.loc(context), &context);
        if search.is_exit(context) {
            search.exit(context);
        } else {
            let mark = search.expander.mark();
            search.work.push(WorkItem::Edges { context, at: 0, mark, first: true });
        }
    }

    fn called(&mut self, _: u32, _: EdgeId, _: u32, _: u32, _: bool) {}

    fn room(&self) -> u64 {
        0
    }

    fn advance(search: &mut Search<Self>) -> Result<bool, Full> {
        search.work_on()
    }

    fn is_over(search: &mut Search<Self>) -> bool {
        search.targets.is_over()
    }
}
