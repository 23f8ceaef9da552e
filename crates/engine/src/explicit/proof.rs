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
//! valuation in common; then the union of products is the same set, and smaller.

use super::store::Store;
use crate::budget::Budget;
use crate::encode::machine::code::Machine;
use crate::verdict::Why;
use postbop_ir::proof::{Maker, Place, Ref};
use postbop_ir::{LocId, ProcId, Proof, Proofs, Table};

/// How many rows are written between two looks at the budget.
const PATIENCE: usize = 1 << 10;

/// An entry: its number, and which valuations at entry it has.
type Entered = (u32, Ref);

/// Unless proofs are asked for, one may have so many conjuncts for each row of the store: entries that overlap are named at every location.
const TIMES: usize = 4;

/// What a complete search has seen, as a proof.
pub fn proof(machine: &Machine, store: &Store, proofs: Proofs, budget: &Budget) -> Result<Proof, Why> {
    let program = machine.program;
    let mut maker = Maker::default();
    let mut entries: Table<ProcId, Vec<Entered>> = Table::filled(program.procs().len(), Vec::new());
    let mut overlap = Table::filled(program.procs().len(), false);
    let mut masks: Table<ProcId, Option<Vec<u64>>> = Table::filled(program.procs().len(), None);
    let mut contexts: Vec<(LocId, u32, Ref)> = Vec::new();
    for row in 0..store.len() as u32 {
        if (row as usize).is_multiple_of(PATIENCE) {
            budget.check_writing()?;
        }
        if let Some((number, values)) = store.entry_row(row) {
            let proc = store.entries[number as usize].proc;
            let guard = cube(machine, proc, values, true, &mut maker);
            entries[proc].push((number, guard));
            let mask = open(machine, proc, values);
            let first = masks[proc].get_or_insert_with(|| mask.clone());
            overlap[proc] |= *first != mask;
        } else if let Some(loc) = store.context_loc(row) {
            let proc = program.locs()[loc].proc;
            let values = cube(machine, proc, store.valuation(row), false, &mut maker);
            contexts.push((loc, store.entry_of(row), values));
        }
    }
    contexts.sort_unstable_by_key(|&(loc, entry, _)| (loc, entry));
    let mut sets = Table::filled(program.locs().len(), Some(Ref::FALSE));
    let mut conjuncts = 0;
    for here in contexts.chunk_by(|a, b| a.0 == b.0) {
        budget.check_writing()?;
        let (loc, proc) = (here[0].0, program.locs()[here[0].0].proc);
        conjuncts += if overlap[proc] { entries[proc].len() } else { 0 };
        if proofs == Proofs::Cheap && conjuncts > TIMES * store.len() {
            return Err(Why::Effort);
        }
        sets[loc] = Some(match overlap[proc] {
            true => implications(&entries[proc], here, &mut maker),
            false => products(&entries[proc], here, &mut maker),
        });
    }
    Ok(maker.finish(sets))
}

/// The union of products of entries and their contexts at a location.
fn products(entries: &[Entered], here: &[(LocId, u32, Ref)], maker: &mut Maker) -> Ref {
    let guard = |entry: u32| {
        entries[entries.binary_search_by_key(&entry, |&(number, _)| number).expect("it was entered")].1
    };
    let mut all = Vec::new();
    for of_entry in here.chunk_by(|a, b| a.1 == b.1) {
        let contexts = maker.or(of_entry.iter().map(|&(.., values)| values).collect());
        all.push(maker.and(vec![guard(of_entry[0].1), contexts]));
    }
    maker.or(all)
}

/// That the valuation at entry is in some entry, and for each in which it is, the present one is among its contexts at a location.
fn implications(entries: &[Entered], here: &[(LocId, u32, Ref)], maker: &mut Maker) -> Ref {
    let mut groups = here.chunk_by(|a, b| a.1 == b.1).peekable();
    let mut all = Vec::with_capacity(entries.len() + 1);
    for &(number, guard) in entries {
        let contexts = match groups.next_if(|group| group[0].1 == number) {
            Some(group) => maker.or(group.iter().map(|&(.., values)| values).collect()),
            None => Ref::FALSE,
        };
        all.push(maker.or(vec![!guard, contexts]));
    }
    all.push(maker.or(entries.iter().map(|&(_, guard)| guard).collect()));
    maker.and(all)
}

/// That the fields of a row that are not open have these values, at entry or now.
fn cube(machine: &Machine, proc: ProcId, row: &[u64], entry: bool, maker: &mut Maker) -> Ref {
    let (program, scopes) = (machine.program, &machine.scopes);
    let first = scopes.first_result(program, proc);
    let mut all = Vec::new();
    let fields = machine.layout(proc).fields.iter().zip(scopes.types(program, proc)).enumerate();
    for (at, (field, ty)) in fields {
        let (Some(value), Some(width)) = (field.value(row), ty.bits()) else { continue };
        let place = match scopes.var(program, proc, at) {
            Some(var) if entry => Place::Entry(var),
            Some(var) => Place::Now(var),
            None => Place::Result((at - first) as u32),
        };
        all.push(maker.equals(place, width, value));
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
