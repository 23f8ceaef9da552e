//! Room `engine`: progress that is told from inside a search.
//!
//! Diagrams and solvers work for seconds on one operation, and ask meanwhile whether to go on. That is the only moment at which an
//! engine can say that it is still at work, and it comes in a callback, where the listener is not at hand. A pulse holds the
//! listener and can be shared with callbacks.

use crate::budget::{Course, Tick};
use crate::engine::{Finding, Listener};
use postbop_ir::Proof;
use std::cell::{Cell, RefCell};

/// How much work there is between two ticks.
const BEAT: u64 = 1 << 10;

/// A listener that callbacks can tell of work.
pub struct Pulse<'l> {
    listener: RefCell<&'l mut dyn Listener>,
    told: Cell<u64>,
}

impl<'l> Pulse<'l> {
    /// No work was told yet.
    pub fn new(listener: &'l mut dyn Listener) -> Self {
        Pulse { listener: RefCell::new(listener), told: Cell::new(0) }
    }

    /// The work has come so far in all.
    pub fn beat(&self, course: Course) {
        let work = course.work;
        // A listener that is busy with a trace does not hear it.
        if work >= self.told.get() + BEAT
            && let Ok(mut listener) = self.listener.try_borrow_mut()
        {
            self.told.set(work);
            listener.progress(Tick { unit: "units of work", done: work, course });
        }
    }
}

impl Listener for &Pulse<'_> {
    fn progress(&mut self, tick: Tick) {
        self.listener.borrow_mut().progress(tick);
    }

    fn settle(&mut self, query: usize, finding: Finding) {
        self.listener.borrow_mut().settle(query, finding);
    }

    fn guarded(&mut self, query: usize) {
        self.listener.borrow_mut().guarded(query);
    }

    fn proof(&mut self, proof: Proof) {
        self.listener.borrow_mut().proof(proof);
    }
}
