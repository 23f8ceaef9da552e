//! Room `engine/explicit`: what the search remembers, for traces.
//!
//! Every row of the store says from which row it was found, and along which edge ([`super::store::Parent`]). That is a history of
//! the kind that [`crate::encode::machine::retrace`] walks back.

use super::store::{NO_ROW, Store};
use crate::encode::machine::code::Machine;
use crate::encode::machine::layout::Row;
use crate::encode::machine::retrace::{Caller, History, Predecessor};
use crate::verdict::Why;
use postbop_ir::{EdgeId, LocId};

/// The contexts of a search are the points of its history.
pub struct Recorded<'m, 'a, 's> {
    /// The program.
    pub machine: &'m Machine<'a>,
    /// The rows that were found.
    pub store: &'s Store,
}

impl History for Recorded<'_, '_, '_> {
    type Point = u32;

    fn loc(&self, &context: &u32) -> LocId {
        self.store.loc(context)
    }

    fn predecessor(&mut self, &context: &u32, goal: &[u64]) -> Result<Predecessor<u32>, Why> {
        let origin = self.store.parent(context);
        if origin.from == NO_ROW {
            return Ok(Predecessor::Entry);
        }
        if origin.exit == NO_ROW {
            let row = self.store.valuation(origin.from).into();
            return Ok(Predecessor::Step { from: origin.from, row, edge: origin.edge });
        }
        let from = self.store.parent(origin.from).from;
        let row = self.store.valuation(from).into();
        let inside = inside(self.machine, self.store, origin.edge, origin.exit, goal);
        Ok(Predecessor::Return { from, row, edge: origin.edge, exit: origin.exit, inside })
    }

    fn caller(&mut self, &entry: &u32, _: &[u64]) -> Result<Option<Caller<u32>>, Why> {
        let suspension = self.store.entries[self.store.entry_of(entry) as usize].first;
        if suspension == NO_ROW {
            return Ok(None);
        }
        let origin = self.store.parent(suspension);
        Ok(Some(Caller {
            from: origin.from,
            row: self.store.valuation(origin.from).into(),
            edge: origin.edge,
        }))
    }
}

/// The part of a goal after a call that the callee must end with.
pub fn inside(machine: &Machine, store: &Store, edge: EdgeId, exit: u32, goal: &[u64]) -> Row {
    let call = machine.call(edge);
    let caller = machine.program.locs()[machine.program.edges()[edge].from].proc;
    let here = &machine.layout(caller).fields;
    let there = &machine.layout(machine.callee(edge)).fields;
    let mut inside = Row::from_slice(store.valuation(exit));
    for (field, from) in call.back() {
        there[from].set(&mut inside, here[field].get(goal));
    }
    inside
}
