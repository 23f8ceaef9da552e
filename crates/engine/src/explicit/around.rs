//! Room `engine/explicit`: the history of a run that follows a cycle for ever.
//!
//! It comes to the cycle as the search did, and goes round it. If the cycle passes through a location that is asked about only
//! inside a completed call, that call is told as it passes through there.

use super::cycles::Link;
use super::fair::{Lasso, Why};
use super::history::inside;
use super::store::{NO_ROW, Parent, Store};
use crate::encode::machine::code::Machine;
use crate::encode::machine::layout::Row;
use crate::encode::machine::retrace::{Caller, History, Predecessor};
use crate::verdict;
use postbop_ir::{EdgeId, LocId};

/// A point of a run that follows a cycle for ever.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Point {
    /// A context, reached as the search first found it.
    Found(u32),
    /// A context, reached through a location that is asked about.
    Passed(u32),
    /// On the cycle, after so many of its transitions.
    On(u32),
}

/// The history of a search, and a cycle in what it found.
pub struct Around<'m, 'a, 's> {
    /// The program.
    pub machine: &'m Machine<'a>,
    /// What was found.
    pub store: &'s Store,
    /// The cycle.
    pub lasso: &'s Lasso,
}

impl Around<'_, '_, '_> {
    /// Where the cycle is entered, where it begins and where it ends, which is all the same context; and the valuation there.
    pub fn ends(&self) -> ([Point; 3], Row) {
        let head = self.lasso.links[0].from;
        let points = [Point::Found(head), Point::On(0), Point::On(self.lasso.links.len() as u32)];
        (points, self.store.valuation(head).into())
    }

    /// The context of a point.
    fn context(&self, point: Point) -> u32 {
        match point {
            Point::Found(context) | Point::Passed(context) => context,
            Point::On(at) => {
                self.lasso.links.get(at as usize).map_or(self.lasso.links[0].from, |link| link.from)
            }
        }
    }

    fn step(&self, from: Point, edge: EdgeId) -> Predecessor<Point> {
        Predecessor::Step { from, row: self.store.valuation(self.context(from)).into(), edge }
    }

    fn back(&self, from: Point, edge: EdgeId, exit: Point, goal: &[u64]) -> Predecessor<Point> {
        let row = self.store.valuation(self.context(from)).into();
        let inside = inside(self.machine, self.store, edge, self.context(exit), goal);
        Predecessor::Return { from, row, edge, exit, inside }
    }

    /// On the cycle: the transition before.
    fn on(&self, at: u32, goal: &[u64]) -> Predecessor<Point> {
        let links = &self.lasso.links;
        let Link { from, edge, exit, .. } = links[at as usize - 1];
        if self.store.context_loc(from).is_some() {
            return self.step(Point::On(at - 1), edge);
        }
        if exit == NO_ROW {
            return Predecessor::Entry;
        }
        let last = at as usize == links.len() && self.lasso.passing.is_some();
        let exit = if last { Point::Passed(exit) } else { Point::Found(exit) };
        self.back(Point::On(at - 2), edge, exit, goal)
    }

    /// After a location that is asked about: how that was.
    fn passed(&self, context: u32, goal: &[u64]) -> Predecessor<Point> {
        let passing = self.lasso.passing.as_ref().expect("only such a cycle has such points");
        match passing.why(context) {
            Why::Not | Why::Here => self.found(context, goal),
            Why::Before(Link { from, edge, exit: NO_ROW, .. }) => self.step(Point::Passed(from), edge),
            Why::Before(Link { from, edge, exit, .. }) => {
                let Why::Before(call) = passing.why(from) else {
                    unreachable!("a suspension is at no location")
                };
                self.back(Point::Passed(call.from), edge, Point::Found(exit), goal)
            }
            Why::Inside(Link { from, edge, exit, .. }) => {
                self.back(Point::Found(self.store.parent(from).from), edge, Point::Passed(exit), goal)
            }
        }
    }

    /// As the search first found it.
    fn found(&self, context: u32, goal: &[u64]) -> Predecessor<Point> {
        let Parent { from, edge, exit } = self.store.parent(context);
        match (from, exit) {
            (NO_ROW, _) => Predecessor::Entry,
            (from, NO_ROW) => self.step(Point::Found(from), edge),
            (from, exit) => {
                self.back(Point::Found(self.store.parent(from).from), edge, Point::Found(exit), goal)
            }
        }
    }
}

impl History for Around<'_, '_, '_> {
    type Point = Point;

    fn loc(&self, &point: &Point) -> LocId {
        self.store.loc(self.context(point))
    }

    fn predecessor(&mut self, &point: &Point, goal: &[u64]) -> Result<Predecessor<Point>, verdict::Why> {
        Ok(match point {
            Point::Found(context) => self.found(context, goal),
            Point::Passed(context) => self.passed(context, goal),
            Point::On(at) => self.on(at, goal),
        })
    }

    fn caller(&mut self, &entry: &Point, _: &[u64]) -> Result<Option<Caller<Point>>, verdict::Why> {
        let (from, edge) = match entry {
            Point::On(at) => (Point::On(at - 2), self.lasso.links[at as usize - 1].edge),
            Point::Found(context) | Point::Passed(context) => {
                let suspension = self.store.entries[self.store.entry_of(context) as usize].first;
                if suspension == NO_ROW {
                    return Ok(None);
                }
                let Parent { from, edge, .. } = self.store.parent(suspension);
                (Point::Found(from), edge)
            }
        };
        Ok(Some(Caller { from, row: self.store.valuation(self.context(from)).into(), edge }))
    }
}
