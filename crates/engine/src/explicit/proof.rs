//! Room `engine/explicit`: what a search has seen, as a proof.
//!
//! # Idea
//!
//! When nothing is left to look at, the contexts are closed: every edge from a context leads to others. A context is a cube, the valuations that agree with the
//! fields of its row that are not open; so is an entry. With C(E, l) for the union of the contexts of an entry E at a location l, the set there is
//!
//! ```text
//! e in some entry, and for each entry E with e in E: c in C(E, l)
//! ```
//!
//! The implication, not a union of products: an activation whose valuation at entry is in two entries at once was followed from both, so its valuation is
//! among the contexts of both, and what is said of its calls and returns is said for each. Entries of a procedure that leave the same fields open have no
//! valuation in common; then the union of products is the same set, and smaller: pairs of an entry and a context are cubes, and many cubes one
//! diagram ([`super::union`]). Its levels are the bits of all fields, the most significant ones of all of them first, and what a field was at
//! entry beside what it is now.

use super::store::Store;
use super::union::{Cube, union};
use crate::budget::Budget;
use crate::encode::machine::code::Machine;
use crate::verdict::Why;
use postbop_ir::proof::{Maker, Place, Ref};
use postbop_ir::{LocId, ProcId, Proof, Proofs, Table, Type};
use std::cmp::Reverse;

/// How many rows are written between two looks at the budget.
const PATIENCE: usize = 1 << 10;

/// An entry: its number, and which valuations at entry it has.
type Entered = (u32, Ref);

/// A context: its location, the number of its entry, and its row.
type Context = (LocId, u32, u32);

/// Unless proofs are asked for, one may have so many conjuncts for each row of the store: entries that overlap are named at every location.
const TIMES: usize = 4;

/// A diagram takes the place of cubes if it has fewer vertices than there are cubes, by this factor.
const SHRINKS: usize = 2;

/// So many rows are many for a proof whose sets are lists of cubes.
const MANY: usize = 1 << 11;

/// What a complete search has seen, as a proof.
pub fn proof(machine: &Machine, store: &Store, proofs: Proofs, budget: &Budget) -> Result<Proof, Why> {
    let program = machine.program;
    let (entries, mut contexts) = seen(store, budget)?;
    contexts.sort_unstable();
    let overlap = overlap(machine, store, &entries);
    let mut numbers: Table<ProcId, Vec<u32>> = Table::filled(program.procs().len(), Vec::new());
    store.entries.iter().zip(0..).for_each(|(entry, number)| numbers[entry.proc].push(number));
    let mut writer = Writer { machine, store, entries, maker: Maker::default(), lists: false, budget };
    let mut sets = Table::filled(program.locs().len(), Some(Ref::FALSE));
    let mut conjuncts = 0;
    let procs = contexts.chunk_by(|a, b| program.locs()[a.0].proc == program.locs()[b.0].proc);
    for of_proc in procs {
        let proc = program.locs()[of_proc[0].0].proc;
        let entered = if overlap[proc] { writer.entered(proc, &numbers[proc])? } else { Vec::new() };
        let levels = writer.levels(proc);
        for here in of_proc.chunk_by(|a, b| a.0 == b.0) {
            budget.check_writing()?;
            conjuncts += entered.len();
            if proofs == Proofs::Cheap && conjuncts > TIMES * store.len() {
                return Err(Why::Effort);
            }
            sets[here[0].0] = Some(match overlap[proc] {
                true => writer.implications(proc, &entered, here),
                false => writer.products(proc, &levels, here)?,
            });
        }
    }
    let proof = writer.maker.finish(sets);
    // Where some sets are lists of cubes, a checker has to go from one list to another: what is now comes first.
    Ok(match writer.lists {
        true => proof.with_bits_by(|place, bit| Reverse((is_now(place), order(place, bit)))),
        false => proof.with_bits_by(order),
    })
}

/// Whether the proof would take a checker long: entries that overlap are named at every location. Another engine may have one that does not.
pub fn is_hard(machine: &Machine, store: &Store) -> bool {
    if store.len() <= MANY {
        return false;
    }
    let mut entries = vec![0; store.entries.len()];
    let rows = (0..store.len() as u32).filter_map(|row| Some((store.entry_row(row)?.0, row)));
    rows.for_each(|(number, row)| entries[number as usize] = row);
    overlap(machine, store, &entries).iter().any(|&overlaps| overlaps)
}

/// The rows of all entries, by their numbers, and all contexts.
fn seen(store: &Store, budget: &Budget) -> Result<(Vec<u32>, Vec<Context>), Why> {
    let mut entries = vec![0; store.entries.len()];
    let mut contexts = Vec::new();
    for row in 0..store.len() as u32 {
        if (row as usize).is_multiple_of(PATIENCE) {
            budget.check_writing()?;
        }
        if let Some((number, _)) = store.entry_row(row) {
            entries[number as usize] = row;
        } else if let Some(loc) = store.context_loc(row) {
            contexts.push((loc, store.entry_of(row), row));
        }
    }
    Ok((entries, contexts))
}

/// Of each procedure, whether a valuation may be in several of its entries.
fn overlap(machine: &Machine, store: &Store, entries: &[u32]) -> Table<ProcId, bool> {
    let mut masks: Table<ProcId, Option<Vec<u64>>> = Table::filled(machine.program.procs().len(), None);
    let mut overlap = Table::filled(masks.len(), false);
    for (entry, &row) in store.entries.iter().zip(entries) {
        let mask = open(machine, entry.proc, store.valuation(row));
        overlap[entry.proc] |= *masks[entry.proc].get_or_insert_with(|| mask.clone()) != mask;
    }
    overlap
}

fn is_now(place: Place) -> bool {
    !matches!(place, Place::Entry(_))
}

/// By what the bits of diagrams are ordered.
fn order(place: Place, bit: u8) -> (Reverse<u8>, bool, u32, bool) {
    let (is_result, number) = match place {
        Place::Entry(var) | Place::Now(var) | Place::Exit(var) => (false, var.0),
        Place::Result(at) => (true, at),
    };
    (Reverse(bit), is_result, number, is_now(place))
}

/// The levels of the diagrams of a procedure: for each the bit of the proof, and for each bit of each field, at entry and now, its level.
struct Levels {
    bits: Vec<Ref>,
    fields: [Vec<Vec<usize>>; 2],
}

/// Writes a proof.
struct Writer<'a> {
    machine: &'a Machine<'a>,
    store: &'a Store,
    /// The row of each entry.
    entries: Vec<u32>,
    maker: Maker,
    /// Whether some set is a list of cubes.
    lists: bool,
    budget: &'a Budget,
}

impl Writer<'_> {
    /// The entries of these numbers, all of one procedure.
    fn entered(&mut self, proc: ProcId, numbers: &[u32]) -> Result<Vec<Entered>, Why> {
        let mut entered = Vec::new();
        for &number in numbers {
            if entered.len().is_multiple_of(PATIENCE) {
                self.budget.check_writing()?;
            }
            let values = self.store.valuation(self.entries[number as usize]);
            entered.push((number, cube(self.machine, proc, values, true, &mut self.maker)));
        }
        Ok(entered)
    }

    fn levels(&mut self, proc: ProcId) -> Levels {
        let (program, scopes) = (self.machine.program, &self.machine.scopes);
        let types: Vec<Type> = scopes.types(program, proc).collect();
        let mut all = Vec::new();
        for (field, ty) in types.iter().enumerate() {
            for now in [false, true] {
                let place = place(self.machine, proc, field, !now);
                // A result has a value at the exit alone.
                let at_entry = !matches!(place, Place::Result(_));
                let bits = if at_entry || now { ty.bits().unwrap_or(0) } else { 0 };
                all.extend((0..bits).map(|bit| (order(place, bit), place, bit, field, now)));
            }
        }
        all.sort_unstable();
        let none = || types.iter().map(|ty| vec![usize::MAX; ty.bits().unwrap_or(0).into()]).collect();
        let mut levels = Levels { bits: Vec::new(), fields: [none(), none()] };
        for (_, place, bit, field, now) in all {
            levels.fields[now as usize][field][bit as usize] = levels.bits.len();
            levels.bits.push(self.maker.bit(place, bit));
        }
        levels
    }

    /// The union of products of entries and their contexts at a location.
    fn products(&mut self, proc: ProcId, levels: &Levels, here: &[Context]) -> Result<Ref, Why> {
        let fields = &self.machine.layout(proc).fields;
        let mut cubes = Vec::with_capacity(here.len());
        for &(_, entry, row) in here {
            if cubes.len().is_multiple_of(PATIENCE) {
                self.budget.check_writing()?;
            }
            let mut cube = Cube::new(levels.bits.len());
            for (of, row) in levels.fields.iter().zip([self.entries[entry as usize], row]) {
                let values = self.store.valuation(row);
                for (field, levels) in fields.iter().zip(of) {
                    let Some(value) = field.get(values) else { continue };
                    let known = levels.iter().enumerate().filter(|(_, level)| **level != usize::MAX);
                    known.for_each(|(bit, &level)| cube.set(level, value >> bit & 1 != 0));
                }
            }
            cubes.push(cube);
        }
        let (count, before) = (cubes.len(), self.maker.len());
        let set = union(&levels.bits, cubes, &mut self.maker, self.budget)?;
        if self.maker.len() - before <= count / SHRINKS {
            return Ok(set);
        }
        self.maker.truncate(before);
        self.lists = true;
        let mut all = Vec::new();
        for of_entry in here.chunk_by(|a, b| a.1 == b.1) {
            let entry = self.store.valuation(self.entries[of_entry[0].1 as usize]);
            let entry = cube(self.machine, proc, entry, true, &mut self.maker);
            let contexts = self.contexts(proc, of_entry);
            all.push(self.maker.and(vec![entry, contexts]));
        }
        Ok(self.maker.or(all))
    }

    /// That the present valuation is one of these contexts.
    fn contexts(&mut self, proc: ProcId, some: &[Context]) -> Ref {
        let (machine, store, maker) = (self.machine, self.store, &mut self.maker);
        let cubes = some.iter().map(|&(.., row)| cube(machine, proc, store.valuation(row), false, maker));
        let cubes = cubes.collect();
        maker.or(cubes)
    }

    /// That the valuation at entry is in some entry, and for each in which it is, the present one is among its contexts at a location.
    fn implications(&mut self, proc: ProcId, entries: &[Entered], here: &[Context]) -> Ref {
        self.lists = true;
        let mut groups = here.chunk_by(|a, b| a.1 == b.1).peekable();
        let mut all = Vec::with_capacity(entries.len() + 1);
        for &(number, guard) in entries {
            let contexts = match groups.next_if(|group| group[0].1 == number) {
                Some(group) => self.contexts(proc, group),
                None => Ref::FALSE,
            };
            all.push(self.maker.or(vec![!guard, contexts]));
        }
        all.push(self.maker.or(entries.iter().map(|&(_, guard)| guard).collect()));
        self.maker.and(all)
    }
}

/// What a set calls a field, at entry or now.
fn place(machine: &Machine, proc: ProcId, field: usize, entry: bool) -> Place {
    let (program, scopes) = (machine.program, &machine.scopes);
    match scopes.var(program, proc, field) {
        Some(var) if entry => Place::Entry(var),
        Some(var) => Place::Now(var),
        None => Place::Result((field - scopes.first_result(program, proc)) as u32),
    }
}

/// That the fields of a row that are not open have these values, at entry or now.
fn cube(machine: &Machine, proc: ProcId, row: &[u64], entry: bool, maker: &mut Maker) -> Ref {
    let types = machine.scopes.types(machine.program, proc);
    let mut all = Vec::new();
    for (at, (field, ty)) in machine.layout(proc).fields.iter().zip(types).enumerate() {
        let Some(value) = field.value(row) else { continue };
        all.push(maker.equals(place(machine, proc, at, entry), ty, value));
    }
    maker.and(all)
}

/// Which fields of a row are open, as a set of bits.
fn open(machine: &Machine, proc: ProcId, row: &[u64]) -> Vec<u64> {
    let fields = &machine.layout(proc).fields;
    let mut set = vec![0; postbop_kit::bits::words(fields.len())];
    for (at, field) in fields.iter().enumerate() {
        if field.get(row).is_none() {
            postbop_kit::bits::insert(&mut set, at);
        }
    }
    set
}
