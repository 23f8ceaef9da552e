//! Room `engine/weighted`: what saturation has found of a bounded program, as a proof.
//!
//! A transition that reads a location leads to the activation in which that is, and carries the relation between the values with which the activation was entered and the present ones.
//! A transition that reads nothing carries the same for an activation that has returned. So these are sets of a proof, once they say of each global that the procedure can write, and
//! this relation does not, that it is as it was. Saturated, they are closed.
//!
//! Of unbounded integers there is no proof: a set of one is a function of bits.

use super::registers::{Time, column};
use super::sets::{Bdds, Sets};
use super::weight::{Relations, Weight};
use super::{Model, Search, relations};
use crate::budget::Budget;
use crate::encode::written::{Meanings, Writer};
use crate::evidence::is_wanted;
use postbop_ir::proof::{self, Maker, Place};
use postbop_ir::{LocId, ProcId, Proof, Table};
use postbop_kit::bdd::Ref;
use postbop_kit::pushdown::Transition;
use rustc_hash::FxHashMap as HashMap;

impl<'w> Search<'_, Bdds<'w>> {
    /// What was found, when nothing else is to be found; none if that is not wanted, or takes too much.
    pub fn proof(&self, budget: &Budget) -> Option<Proof> {
        let (model, program) = (self.model, self.model.program);
        let found = self.exact.automaton.transitions();
        let size = found.map(|(_, weight)| model.store().size(&weight.set)).sum();
        if !is_wanted(self.task.proofs, program, size) {
            return None;
        }
        let entering: HashMap<u32, ProcId> =
            program.procs().ids().map(|proc| (model.entering(proc), proc)).collect();
        let activations = self.exact.activations();
        let mut procs: HashMap<u32, ProcId> =
            activations.map(|(state, (_, symbol))| (state, entering[&symbol])).collect();
        procs.insert(1, program.main());
        let relations = relations(model, &self.scopes);
        let mut maker = Maker::default();
        let mut sets = Table::filled(program.locs().len(), Some(proof::Ref::FALSE));
        let mut writers: HashMap<ProcId, Writer> = HashMap::default();
        let mut levels: HashMap<(Place, u8), u32> = HashMap::default();
        for (Transition { from, symbol, to }, weight) in self.exact.automaton.transitions() {
            let Some(&proc) = procs.get(&to).filter(|_| from == 0) else { continue };
            let loc = match symbol {
                None => program.procs()[proc].exit,
                Some(symbol) => match model.loc(symbol) {
                    Some(loc) => loc,
                    None => continue,
                },
            };
            let meanings = meanings(model, proc);
            let set = told(model, &relations, weight, loc, &meanings)?;
            levels.extend(meanings.iter().map(|(&level, &bit)| (bit, level)));
            let writer = writers.entry(proc).or_insert_with(|| Writer::new(meanings));
            let set = model.store().written(set, writer, &mut maker, budget)?;
            // A location of a procedure that is entered in two ways has two transitions.
            sets[loc] = sets[loc].map(|other| maker.or(vec![other, set]));
        }
        Some(maker.finish(sets).with_bits_by(|place, bit| levels.get(&(place, bit))))
    }
}

/// The relation of a transition, with everything that it leaves as it was, as far as columns have a meaning and matter at a location: what does not, the program before it was reduced
/// may leave open.
fn told<'w>(
    model: &Model<Bdds<'w>>,
    relations: &Relations<Bdds<'w>>,
    weight: &Weight<Ref>,
    loc: LocId,
    meanings: &Meanings,
) -> Option<Ref> {
    let proc = model.program.locs()[loc].proc;
    let written = model.scopes.written(proc).iter().filter(|&&var| model.program.is_global(var));
    let written = written.map(|var| var.0).collect();
    let set = relations.padded(weight, &Relations::<Bdds>::union(&weight.writes, &written)).ok()?;
    let matters = |place: &Place| match *place {
        Place::Now(var) => model.is_live(var, loc),
        // A caller's set says nothing of an argument that does not matter.
        Place::Entry(var) => model.is_live(var, model.program.procs()[proc].entry),
        Place::Result(at) => model.is_live_result(proc, at as usize),
        Place::Exit(_) => true,
    };
    let is_told = |column| meanings.get(&column).is_some_and(|(place, _)| matters(place));
    model.store().project(&set, |column| !is_told(column)).ok()
}

/// What columns stand for in the relations of a procedure.
fn meanings(model: &Model<Bdds>, proc: ProcId) -> Meanings {
    let (program, registers) = (model.program, &model.registers);
    let data = &program.procs()[proc];
    let mut meanings = Meanings::default();
    let mut add = |register: u32, time: Time, place: Place| {
        let slots = registers.slots_of(register).iter().zip(0..);
        meanings.extend(slots.map(|(&slot, bit)| (column(slot, time), (place, bit))));
    };
    for var in program.globals() {
        add(var.0, Time::Old, Place::Entry(var));
    }
    for var in program.globals().chain(data.locals.iter().copied()) {
        add(var.0, Time::New, Place::Now(var));
    }
    for (&arg, &param) in registers.args(proc).iter().zip(data.params()) {
        add(arg, Time::Old, Place::Entry(param));
    }
    for (&result, at) in registers.results(proc).iter().zip(0..) {
        add(result, Time::New, Place::Result(at));
    }
    meanings
}
