//! Room `engine/summary`: the sets that were reached, as a proof.
//!
//! When nothing is left to push on, the sets of path edges are closed, and they are pairs of valuations already: at entry and now. So their diagrams
//! are sets of a proof as they are. A link that is never written is tested at its `Now` level alone; that it has its entry value is
//! what whoever checks the proof sees by himself.

use super::solve::Solver;
use crate::budget::Budget;
use crate::encode::wiring::{Role, level};
use crate::encode::written::{Meanings, Writer};
use crate::verdict::Why;
use postbop_ir::proof::{self, Maker, Place};
use postbop_ir::{Id, LocId, ProcId, Proof, Table};
use postbop_kit::groups::Groups;
use rustc_hash::FxHashMap as HashMap;

impl Solver<'_, '_, '_, '_> {
    /// What the search has seen, if it has seen everything.
    pub(super) fn proof(&self, budget: &Budget) -> Result<Proof, Why> {
        let program = self.task.program;
        let mut maker = Maker::default();
        let mut levels: HashMap<(Place, u8), u32> = HashMap::default();
        let mut sets = Table::filled(program.locs().len(), Some(proof::Ref::FALSE));
        let locs = program.locs().pairs().map(|(id, loc)| (loc.proc.index(), id.0));
        let locs = Groups::new(program.procs().len(), locs);
        for proc in program.procs().ids() {
            budget.check_writing()?;
            if self.interfaces[proc].is_none() {
                continue;
            }
            let meanings = self.meanings(proc);
            levels.extend(meanings.iter().map(|(&level, &bit)| (bit, level)));
            let mut writer = Writer::new(meanings);
            for &loc in locs.of(proc.index()) {
                let reach = self.places[LocId(loc)].reach;
                sets[LocId(loc)] = Some(writer.set(&self.encoder.bdd, reach, &mut maker, budget)?);
            }
        }
        Ok(maker.finish(sets).with_bits_by(|place, bit| levels.get(&(place, bit))))
    }

    /// What the levels of a procedure stand for.
    fn meanings(&self, proc: ProcId) -> Meanings {
        let (machine, program) = (self.encoder.machine, self.task.program);
        let first = machine.scopes.first_result(program, proc);
        let mut meanings = Meanings::default();
        for (field, slots) in self.encoder.slots(proc).iter().enumerate() {
            for (&slot, bit) in slots.iter().zip(0..) {
                match machine.scopes.var(program, proc, field) {
                    Some(var) => {
                        meanings.insert(level(slot, Role::Now), (Place::Now(var), bit));
                        meanings.insert(level(slot, Role::Entry), (Place::Entry(var), bit));
                    }
                    None => {
                        let result = Place::Result((field - first) as u32);
                        meanings.insert(level(slot, Role::Now), (result, bit));
                    }
                }
            }
        }
        meanings
    }
}
