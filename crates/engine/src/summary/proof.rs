//! Room `engine/summary`: the sets that were reached, as a proof.
//!
//! When nothing is left to push on, the sets of path edges are closed, and they are pairs of valuations already: at entry and now. So each vertex of their diagrams becomes
//! a node, once for each procedure, since procedures share levels. A link that is never written is tested at its `Now` level alone; that it has its entry value is
//! what whoever checks the proof sees by himself.

use super::solve::Solver;
use crate::budget::Budget;
use crate::encode::wiring::{Role, level};
use crate::verdict::Why;
use postbop_ir::proof::{self, Maker, Place};
use postbop_ir::{Id, LocId, ProcId, Proof, Table};
use postbop_kit::bdd::Ref;
use postbop_kit::groups::Groups;
use rustc_hash::FxHashMap as HashMap;

/// How many vertices are written between two looks at the budget.
const PATIENCE: usize = 1 << 10;

impl Solver<'_, '_, '_, '_> {
    /// What the search has seen, if it has seen everything.
    pub(super) fn proof(&self, budget: &Budget) -> Result<Proof, Why> {
        let program = self.task.program;
        let mut maker = Maker::default();
        let mut sets = Table::filled(program.locs().len(), Some(proof::Ref::FALSE));
        let locs = program.locs().pairs().map(|(id, loc)| (loc.proc.index(), id.0));
        let locs = Groups::new(program.procs().len(), locs);
        for proc in program.procs().ids() {
            budget.check_writing()?;
            if self.interfaces[proc].is_none() {
                continue;
            }
            let mut writer = Writer { solver: self, bits: self.bits(proc), made: HashMap::default() };
            for &loc in locs.of(proc.index()) {
                let reach = self.places[LocId(loc)].reach;
                sets[LocId(loc)] = Some(writer.set(reach, &mut maker, budget)?);
            }
        }
        Ok(maker.finish(sets))
    }

    /// What the levels of a procedure stand for.
    fn bits(&self, proc: ProcId) -> HashMap<u32, (Place, u8)> {
        let (machine, program) = (self.encoder.machine, self.task.program);
        let first = machine.scopes.first_result(program, proc);
        let mut bits = HashMap::default();
        for (field, slots) in self.encoder.slots(proc).iter().enumerate() {
            for (&slot, bit) in slots.iter().zip(0..) {
                match machine.scopes.var(program, proc, field) {
                    Some(var) => {
                        bits.insert(level(slot, Role::Now), (Place::Now(var), bit));
                        bits.insert(level(slot, Role::Entry), (Place::Entry(var), bit));
                    }
                    None => {
                        let result = Place::Result((field - first) as u32);
                        bits.insert(level(slot, Role::Now), (result, bit));
                    }
                }
            }
        }
        bits
    }
}

/// Writes the diagrams of one procedure.
struct Writer<'s, 'm, 'a, 'w, 't> {
    solver: &'s Solver<'m, 'a, 'w, 't>,
    bits: HashMap<u32, (Place, u8)>,
    /// The nodes of diagrams that are not complements.
    made: HashMap<Ref, proof::Ref>,
}

/// A diagram without its complement, and whether it had one.
fn plain(diagram: Ref) -> (Ref, bool) {
    match diagram.number() & 1 {
        0 => (diagram, false),
        _ => (!diagram, true),
    }
}

impl Writer<'_, '_, '_, '_, '_> {
    fn known(&self, diagram: Ref) -> Option<proof::Ref> {
        let (plain, flip) = plain(diagram);
        match plain {
            Ref::TRUE => Some(proof::Ref::TRUE.flip(flip)),
            _ => self.made.get(&plain).map(|known| known.flip(flip)),
        }
    }

    /// The set of a diagram.
    fn set(&mut self, diagram: Ref, maker: &mut Maker, budget: &Budget) -> Result<proof::Ref, Why> {
        let bdd = &self.solver.encoder.bdd;
        let mut stack = vec![plain(diagram).0];
        while let Some(&top) = stack.last() {
            if self.known(top).is_some() {
                stack.pop();
                continue;
            }
            let (high, low) = bdd.cofactors(top);
            match (self.known(high), self.known(low)) {
                (Some(high), Some(low)) => {
                    stack.pop();
                    let (place, bit) = self.bits[&bdd.level(top)];
                    let condition = maker.bit(place, bit);
                    self.made.insert(top, maker.ite(condition, high, low));
                    if self.made.len().is_multiple_of(PATIENCE) {
                        budget.check_writing()?;
                    }
                }
                (high_known, low_known) => {
                    let missing = [(high, high_known), (low, low_known)].into_iter();
                    stack.extend(missing.filter(|(_, known)| known.is_none()).map(|(to, _)| plain(to).0));
                }
            }
        }
        Ok(self.known(diagram).expect("it was made"))
    }
}
