//! Room `engine/weighted`: what saturation has found, as a proof.
//!
//! A transition that reads a location leads to the activation in which that is, and carries the relation between the values with which the activation was entered and the present ones.
//! A transition that reads nothing carries the same for an activation that has returned. So these are sets of a proof, once they say of each global that the procedure can write, and
//! this relation does not, that it is as it was. Saturated, they are closed, also those that were guessed.
//!
//! A binary decision diagram is part of a proof as it is. A number decision diagram becomes one of its bits, whose leaves are sets of numbers; each of these
//! is described by a few conjunctions of linear constraints ([`super::cases`]). If one needs more, there is no proof.

use super::cases::{Constraint, Cover};
use super::registers::{Registers, Time, column, shown};
use super::sets::{Bdds, Sets};
use super::weight::{Relations, Weight};
use super::{Model, Search, relations};
use crate::budget::Budget;
use crate::encode::written::{Meanings, Writer};
use crate::evidence::is_wanted;
use postbop_ir::proof::{self, Maker, Place};
use postbop_ir::{LocId, ProcId, Proof, Table, Type};
use postbop_kit::ndd::{self, Column, Interrupted, Ndd, Ndds};
use postbop_kit::pushdown::Transition;
use rustc_hash::FxHashMap as HashMap;

/// More conjunctions than these are not written for one set of numbers.
const MOST_CASES: usize = 512;
/// Nor are sums and differences of more numbers than these.
const MOST_PAIRED: usize = 20;

impl<'w> Search<'_, Bdds<'w>> {
    /// What was found, when nothing else is to be found; none if that is not wanted, or takes too much.
    pub fn proof(&self, budget: &Budget) -> Option<Proof> {
        let mut writers: HashMap<ProcId, Writer> = HashMap::default();
        self.proof_by(&mut |set, proc, meanings, maker| {
            let writer = writers.entry(proc).or_insert_with(|| Writer::new(meanings.clone()));
            self.model.store().written(*set, writer, maker, budget)
        })
    }
}

impl<'a> Search<'_, Ndds<'a>> {
    /// What was found, or guessed, when nothing else is to be found; none if that is not wanted, takes too much, or cannot be described.
    pub fn proof(&self) -> Option<Proof> {
        let mut numerals = Numerals {
            store: self.model.store(),
            registers: &self.model.registers,
            everything: self.model.store().constant(true),
            known: HashMap::default(),
        };
        self.proof_by(&mut |set, _, meanings, maker| numerals.set(set, meanings, maker).ok().flatten())
    }
}

/// Writes a set of a procedure, given what its columns stand for.
type Write<'f, T> = &'f mut dyn FnMut(&T, ProcId, &Meanings, &mut Maker) -> Option<proof::Ref>;

impl<S: Sets> Search<'_, S> {
    /// What was found, each set as `write` writes it.
    fn proof_by(&self, write: Write<S::Set>) -> Option<Proof> {
        let (model, program) = (self.model, self.model.program);
        let saturation = self.guessed.as_ref().unwrap_or(&self.exact);
        let found = saturation.automaton.transitions();
        let size = found.map(|(_, weight)| model.store().size(&weight.set)).sum();
        if !is_wanted(self.task.proofs, program, size) {
            return None;
        }
        let entering: HashMap<u32, ProcId> =
            program.procs().ids().map(|proc| (model.entering(proc), proc)).collect();
        let activations = saturation.activations();
        let mut procs: HashMap<u32, ProcId> =
            activations.map(|(state, (_, symbol))| (state, entering[&symbol])).collect();
        procs.insert(1, program.main());
        let relations = relations(model, &self.scopes);
        let mut maker = Maker::default();
        let mut sets = Table::filled(program.locs().len(), Some(proof::Ref::FALSE));
        let mut levels: HashMap<(Place, u8), u32> = HashMap::default();
        for (Transition { from, symbol, to }, weight) in saturation.automaton.transitions() {
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
            let set = write(&set, proc, &meanings, &mut maker)?;
            // A location of a procedure that is entered in two ways has two transitions.
            sets[loc] = sets[loc].map(|other| maker.or(vec![other, set]));
        }
        Some(maker.finish(sets).with_bits_by(|place, bit| levels.get(&(place, bit))))
    }
}

/// Number decision diagrams as sets of a proof.
struct Numerals<'n, 'a> {
    store: &'n Ndds<'a>,
    registers: &'n Registers,
    everything: Ndd,
    known: HashMap<Ndd, proof::Ref>,
}

impl Numerals<'_, '_> {
    /// A set; none if it cannot be described.
    // Bounded depth: one call for each bit that the set mentions.
    fn set(
        &mut self,
        set: &Ndd,
        meanings: &Meanings,
        maker: &mut Maker,
    ) -> Result<Option<proof::Ref>, Interrupted> {
        if let Some(&known) = self.known.get(set) {
            return Ok(Some(known));
        }
        let is_bit =
            |&column: &Column| self.registers.ty(self.registers.owner(shown(column).0)) != Type::Integer;
        let told = match set.support().into_iter().find(is_bit) {
            None => self.numbers(set, meanings, maker)?,
            Some(column) => {
                let bit = self.store.bit(column);
                let halves = [self.store.and(set, &bit)?, self.store.minus(set, &bit)?];
                let [high, low] = halves.map(|half| self.store.project(&half, |other| other == column));
                let high = self.set(&high?, meanings, maker)?;
                let low = self.set(&low?, meanings, maker)?;
                let (place, bit) = meanings[&column];
                let bit = maker.bit(place, bit);
                high.zip(low).map(|(high, low)| maker.ite(bit, high, low))
            }
        };
        if let Some(told) = told {
            self.known.insert(set.clone(), told);
        }
        Ok(told)
    }

    /// A set of numbers alone.
    fn numbers(
        &self,
        set: &Ndd,
        meanings: &Meanings,
        maker: &mut Maker,
    ) -> Result<Option<proof::Ref>, Interrupted> {
        if set.is_empty() || set.is_all() {
            return Ok(Some(if set.is_all() { proof::Ref::TRUE } else { proof::Ref::FALSE }));
        }
        // What a number is now is told in terms of what numbers were.
        let rank = |column: Column| {
            let (slot, time) = shown(column);
            (time as usize) << 32 | slot as usize
        };
        let free = column(self.registers.slots(), Time::Old);
        let cover = Cover {
            store: self.store,
            universe: &self.everything,
            free,
            rank: &rank,
            most: MOST_CASES,
            most_paired: MOST_PAIRED,
        };
        let Some(parts) = cover.parts(set)? else { return Ok(None) };
        let mut any = Vec::with_capacity(parts.len());
        for (constraints, _) in parts {
            let of = |(factor, column): (i64, Column)| (factor, meanings[&column].0);
            let constraint = |Constraint { terms, compare }: Constraint| {
                let terms: Vec<(i64, Place)> = terms.into_iter().map(of).collect();
                maker.sum(terms, compared(compare))
            };
            let all = constraints.into_iter().map(constraint).collect();
            any.push(maker.and(all));
        }
        Ok(Some(maker.or(any)))
    }
}

fn compared(compare: ndd::Compare) -> proof::Compare {
    match compare {
        ndd::Compare::AtMost(most) => proof::Compare::AtMost(most),
        ndd::Compare::Equal(value) => proof::Compare::Equal(value),
        ndd::Compare::Congruent(rest, modulus) => proof::Compare::Congruent(rest, modulus),
    }
}

/// The relation of a transition, with everything that it leaves as it was, as far as columns have a meaning and matter at a location: what does not, the program before it was reduced
/// may leave open.
fn told<S: Sets>(
    model: &Model<S>,
    relations: &Relations<S>,
    weight: &Weight<S::Set>,
    loc: LocId,
    meanings: &Meanings,
) -> Option<S::Set> {
    let proc = model.program.locs()[loc].proc;
    let written = model.scopes.written(proc).iter().filter(|&&var| model.program.is_global(var));
    let written = written.map(|var| var.0).collect();
    let set = relations.padded(weight, &Relations::<S>::union(&weight.writes, &written)).ok()?;
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
fn meanings<S: Sets>(model: &Model<S>, proc: ProcId) -> Meanings {
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
