//! Room `engine/encode`: which level of a decision diagram stands for which bit. Read [`super::columns`] and [`super::arrangement`] first.
//!
//! # Idea
//!
//! A decision diagram tests *levels*, one bit each, in an order that [`super::arrangement`] chooses and this file turns into numbers; `summary` may change it later,
//! moving whole slots ([`Wiring::permute`]). Each bit of each field (a global that the procedure touches, a local, or a result: [`super::scope`]) has a *slot*: four neighbouring levels, for the value at the entry of the
//! procedure, the present value, the value after an edge, and one more, mainly for parameters and results in summaries ([`Role`]). (`fixpoint` uses only the order of
//! slots and numbers its levels itself.)
//!
//! **Procedures share slots.** A diagram of `summary` speaks of one procedure. The values of another one come in only at calls and returns. In a summary, parameters and
//! results use the levels of [`Role::Pass`]. In the diagram of a call's entry, callee parameters are on [`Role::Next`] levels and caller variables on [`Role::Now`]
//! levels. So locals of caller and callee never meet on one level, and locals of different procedures can have the same slots. Globals have the same slots in all
//! procedures. Procedures whose fields have the same meanings form a *class* ([`super::machine::classes`]). Procedures of one class whose locals and results are in the
//! same columns form a *placement*; they have the same slots.
//!
//! **The order of slots.** The [arrangement](super::arrangement) says for each result, and for each variable that is not control, where it stands. This file counts the slots out:
//!
//! ```text
//! control │ 1 empty slot │ locals and results behind no column │ column 0, locals and results behind it │ column 1, … │ … │ integers
//! ```
//!
//! First come the globals that a translation declared as control: they say where a run is. Then come the Booleans. The first of them are the locals and results that
//! found no column to stand behind. The empty slot stands for the missing column. These locals are often flags and bits of counters. A diagram is smaller if the bits
//! that many others depend on are tested first ([`super::affinity`]). Columns are Boolean or integer ([`super::columns`]). Each Boolean column has one slot, and behind
//! it slots for the locals and results that have most to do with it. Integers come last, interleaved: the highest bits of all integers, then the next bits, and so on.
//! Integers that an edge chooses freely have the last places of each weight. A Boolean choice has no slot. Only where an operator on integers has a
//! Boolean operand that contains choices does this operand get a level, behind all slots, while the expression is encoded ([`super::chance`]).
//!
//! # Invariant
//!
//! Two fields of one procedure never have the same slot. A control variable has slots of its own, any other global a column of its own; a column has at most one member
//! in each procedure; and the locals and results of one procedure that stand behind the same Boolean column are counted, from one on, since the column itself has the
//! first slot. An integer column has one place; integers without a column have the places after all columns; choices have the last places. Caller and callee may have the
//! same slot: where both are in one diagram, they are in different roles; in `fixpoint`, in different copies of the valuation.
//!
//! # Paper
//!
//! \[bebop\] section 4 says that renaming costs time in the number of all variables; sharing levels between procedures is ours.
//!
//! # Cost
//!
//! Apart from the arrangement, [`Wiring::new`] is linear in the program plus the fields of one procedure per class ([`super::machine::classes`]). The slots of a
//! placement are computed when first asked for, in time linear in the bits of its fields. [`Wiring::permute`] passes over all slots, and over those of each placement
//! that was asked for.
//!
//! The number of slots is the sum of: the control bits; for each Boolean column 1 + the largest number of fields that one procedure has behind it; the same for the
//! fields behind no column (there the 1 is the empty slot); integer places × bits of the widest integer. A slot is four levels. (Two columns never share slots, even if
//! no procedure has both: that would take fewer levels.)

use super::arrangement::{Arrangement, Spot};
use super::machine::code::Machine;

use postbop_ir::{Action, Expr, ProcId, Program, Table, Type, VarId};
use rustc_hash::FxHashMap as HashMap;
use std::cell::OnceCell;
use std::iter;
use std::ops::Index;

/// What the four levels of a slot stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The value when the procedure was entered.
    Entry = 0,
    /// The value now.
    Now = 1,
    /// The value after the edge.
    Next = 2,
    /// A parameter or a result in a summary; the value between two rounds where `summary` composes a loop.
    Pass = 3,
}

/// How many levels a slot has.
pub const ROLES: u32 = 4;

/// The level at which a slot plays a role.
pub fn level(slot: u32, role: Role) -> u32 {
    slot * ROLES + role as u32
}

/// For each field of a procedure the slots of its bits, least significant first. There may be many procedures that touch
/// many globals, so all slots are in one list.
pub struct Slots {
    /// For each field where its slots end in the list.
    ends: Box<[u32]>,
    slots: Box<[u32]>,
}

impl Slots {
    fn new(fields: impl Iterator<Item = Box<[u32]>>) -> Self {
        let (mut ends, mut slots) = (Vec::new(), Vec::new());
        for field in fields {
            slots.extend_from_slice(&field);
            ends.push(slots.len() as u32);
        }
        Slots { ends: ends.into(), slots: slots.into() }
    }

    /// Field by field.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> + '_ {
        (0..self.ends.len()).map(|field| &self[field])
    }
}

impl Index<usize> for Slots {
    type Output = [u32];
    fn index(&self, field: usize) -> &[u32] {
        let start = field.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.slots[start as usize..self.ends[field] as usize]
    }
}

/// The slots of all procedures.
pub struct Wiring {
    /// The first slot of each variable that is declared as control.
    control: HashMap<VarId, u32>,
    /// Where each other global stands.
    globals: HashMap<VarId, Spot>,
    /// For each Boolean column its slot. The last element is the empty slot, from which locals and results behind no column are counted. In the order it precedes all
    /// columns.
    columns: Vec<u32>,
    integers: Integers,
    /// The placement of each procedure: procedures of one placement have the same slots.
    placement: Table<ProcId, u32>,
    /// For each placement where the locals and results stand.
    spots: Vec<Box<[Spot]>>,
    /// For each placement its slots, computed when first asked for.
    slots: Vec<OnceCell<Slots>>,
    /// Maps each slot of the arrangement to its current slot; `None` before the first reordering.
    permuted: Option<Vec<u32>>,
}

/// The slots of integers.
#[derive(Clone, Copy)]
struct Integers {
    /// The first slot.
    first: u32,
    /// How many places there are for variables and results.
    fields: u32,
    /// How many places there are for choices, behind those.
    choices: u32,
    /// The greatest width.
    widest: u32,
}

impl Integers {
    /// The integers of an arrangement and the choices of a program, from a slot on.
    fn new(machine: &Machine, arrangement: &Arrangement, first: u32) -> Self {
        let program = machine.program;
        let models = machine.classes.models();
        let types = models.into_iter().flat_map(|proc| machine.scopes.types(program, proc));
        let mut widest = types.filter(|ty| ty.is_integer()).map(width).max().unwrap_or(0);
        let mut choices = 0;
        for edge in program.edges().iter() {
            let mut chosen = 0;
            let mut choose = |ty: Type| {
                chosen += 1;
                widest = widest.max(width(ty));
            };
            let of_exprs = edge.action.exprs().flat_map(Expr::choices);
            let havocked: &[VarId] = if let Action::Havoc(vars) = &edge.action { vars } else { &[] };
            let types = of_exprs.chain(havocked.iter().map(|&var| program.vars()[var].ty));
            types.filter(|ty| ty.is_integer()).for_each(&mut choose);
            choices = choices.max(chosen);
        }
        Integers { first, fields: arrangement.integers, choices, widest }
    }

    /// The slots of the integer at a place, least significant bit first. In the order, the bits of equal weight of all
    /// places are neighbours, and the highest weight comes first.
    fn slots(self, ty: Type, place: u32) -> Box<[u32]> {
        (0..width(ty)).map(|bit| self.first + (self.widest - 1 - bit) * self.places() + place).collect()
    }

    fn places(self) -> u32 {
        self.fields + self.choices
    }

    /// The slot behind all integers.
    fn end(self) -> u32 {
        self.first + self.places() * self.widest
    }
}

fn width(ty: Type) -> u32 {
    ty.bits().map(u32::from).expect("engines with diagrams refuse unbounded integers")
}

impl Wiring {
    /// The wiring of a program.
    pub fn new(machine: &Machine) -> Self {
        let program = machine.program;
        let mut next = 0;
        let mut control = HashMap::default();
        for &var in program.control() {
            control.insert(var, next);
            next += width(program.vars()[var].ty);
        }
        let globals: Vec<VarId> = program.globals().filter(|var| !control.contains_key(var)).collect();
        let arrangement = Arrangement::new(machine, &globals);
        let mut columns = vec![0; arrangement.behind.len()];
        let behind_none = columns.len() - 1;
        for column in iter::once(behind_none).chain(0..behind_none) {
            columns[column] = next;
            next += 1 + arrangement.behind[column];
        }
        let integers = Integers::new(machine, &arrangement, next);
        let slots = arrangement.spots.iter().map(|_| OnceCell::new()).collect();
        let Arrangement { globals, placement, spots, .. } = arrangement;
        Wiring { control, globals, columns, integers, placement, spots, slots, permuted: None }
    }

    /// One more than the greatest level.
    pub fn levels(&self) -> u32 {
        level(self.integers.end(), Role::Entry)
    }

    /// The placement of a procedure: procedures of one placement have the same slots.
    pub fn placement(&self, proc: ProcId) -> u32 {
        self.placement[proc]
    }

    /// The slots of a procedure's fields.
    pub fn slots(&self, machine: &Machine, proc: ProcId) -> &Slots {
        let (program, scopes) = (machine.program, &machine.scopes);
        let placement = self.placement[proc] as usize;
        // Any procedure of the placement will do, also for the globals: procedures of one placement are of one class, and touch the same globals.
        self.slots[placement].get_or_init(|| {
            let globals = scopes.globals(proc);
            let types = scopes.types(program, proc).skip(globals.len());
            let others = self.spots[placement].iter().zip(types).map(|(&spot, ty)| self.at(spot, ty));
            let globals = globals.iter().map(|&var| self.global(program, var));
            Slots::new(globals.chain(others).map(|slots| self.permuted(slots)))
        })
    }

    /// The slots of a global, as arranged.
    fn global(&self, program: &Program, var: VarId) -> Box<[u32]> {
        let ty = program.vars()[var].ty;
        match self.control.get(&var) {
            Some(&first) => (0..width(ty)).rev().map(|bit| first + bit).collect(),
            None => self.at(self.globals[&var], ty),
        }
    }

    /// The slots of a spot, as arranged.
    fn at(&self, spot: Spot, ty: Type) -> Box<[u32]> {
        match spot {
            Spot::Boolean { column, offset } => [self.columns[column as usize] + offset].into(),
            Spot::Integer { place } => self.integers.slots(ty, place),
        }
    }

    /// The slots of an integer that an edge chooses, given how many integers it chooses before. Empty for a Boolean.
    pub fn choice(&self, ty: Type, before: usize) -> Box<[u32]> {
        match ty.is_integer() {
            true => self.permuted(self.integers.slots(ty, self.integers.fields + before as u32)),
            false => [].into(),
        }
    }

    /// What slots as arranged are now.
    fn permuted(&self, mut slots: Box<[u32]>) -> Box<[u32]> {
        if let Some(permuted) = &self.permuted {
            slots.iter_mut().for_each(|slot| *slot = permuted[*slot as usize]);
        }
        slots
    }

    /// Changes the order: each slot becomes the one that is given for it.
    pub fn permute(&mut self, to: &[u32]) {
        let permuted = self.permuted.get_or_insert_with(|| (0..to.len() as u32).collect());
        let slots = self.slots.iter_mut().filter_map(OnceCell::get_mut);
        let slots = slots.flat_map(|slots| slots.slots.iter_mut()).chain(permuted);
        slots.for_each(|slot| *slot = to[*slot as usize]);
    }
}
