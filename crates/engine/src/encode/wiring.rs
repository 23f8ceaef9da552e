//! Room `engine/encode`: which level of a decision diagram stands for which bit.
//!
//! # Idea
//!
//! A decision diagram tests *levels*, one bit each, in a fixed order. The wiring assigns to each bit of each variable a *slot*: four
//! neighbouring levels, which hold the value at the entry of the procedure, the present value, the value after an edge, and a value on
//! its way between caller and callee ([`Role`]).
//!
//! **Procedures share slots.** Only one procedure runs at a time, so locals of different procedures can use the same slots. A
//! program with a thousand procedures needs hardly more levels than its largest procedure. The slots are
//!
//! * for each global, slots of its own;
//! * for each *column*, that is, for variables of different procedures that calls copy into each other ([`super::columns`]),
//!   one place, so that passing an argument does not move it in the order;
//! * for the other locals and results, places behind the column with which they have most to do.
//!
//! **The order of slots.** Diagrams are small if variables that depend on each other are close. So columns are ordered by their
//! affinity ([`super::affinity`]), and within each procedure the locals behind a column are too. First of all come the variables that
//! a translation of threads declared as control: they say where a run is. Then come the Booleans. Integers come last, interleaved: the
//! highest bits of all integers, then the next bits, and so on; integers that an edge chooses freely have places among
//! them.
//!
//! Procedures of one class ([`super::machine::classes`]) whose columns are the same get the same slots, so that their relations can
//! be shared.
//!
//! # Paper
//!
//! \[bebop\] section 4 names the cost of having all variables; sharing levels between procedures is ours.

use super::affinity::{Affinities, Tie, order};
use super::columns::{NONE, Node, Nodes, columns};
use super::machine::code::Machine;
use postbop_ir::{Action, Expr, ProcId, Table, Type, VarId};
use postbop_kit::rows::Rows;
use rustc_hash::FxHashMap as HashMap;
use std::cell::OnceCell;
use std::cmp::Reverse;
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
    /// An argument or a result on its way.
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
    /// Where those of each field end.
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
    /// The first slot of each global that comes before everything else.
    control: HashMap<VarId, u32>,
    /// The place of each other global.
    global: HashMap<VarId, Spot>,
    /// For each Boolean column its slot, and one more: behind it stand the locals that belong to it.
    base: Vec<u32>,
    /// The class of each procedure: those with the same spots.
    class: Table<ProcId, u32>,
    /// For each class where its locals and results stand.
    spots: Vec<Box<[Spot]>>,
    ints: Integers,
    slots: Vec<OnceCell<Slots>>,
    /// Where each slot stands now, if slots have changed their places.
    moved: Option<Vec<u32>>,
}

/// Where integers stand.
#[derive(Clone, Copy, Default)]
struct Integers {
    /// The first slot.
    first: u32,
    /// How many places there are for columns, for others, and for choices.
    columns: u32,
    others: u32,
    choices: u32,
    /// The greatest width.
    widest: u32,
}

impl Integers {
    /// The slots of an integer: those of one bit stand together, the most significant first.
    fn slots(self, ty: Type, place: u32) -> Box<[u32]> {
        (0..width(ty)).map(|bit| self.first + (self.widest - 1 - bit) * self.places() + place).collect()
    }

    fn places(self) -> u32 {
        self.columns + self.others + self.choices
    }
}

/// Where a Boolean stands: in or behind which column, and at which place there. Of an integer, `INTEGER` and its place.
type Spot = (u32, u32);

const INTEGER: u32 = u32::MAX;

fn width(ty: Type) -> u32 {
    ty.bits().map_or(64, u32::from)
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
        let mut planner = Planner::new(machine, &globals);
        let spots: Vec<Box<[Spot]>> = (0..planner.reps.len()).map(|class| planner.spots(class)).collect();
        let mut base = Vec::with_capacity(planner.room.len());
        for &more in &planner.room {
            base.push(next);
            next += 1 + more;
        }
        let global = globals.iter().map(|&var| (var, planner.place[planner.column[var.0 as usize] as usize]));
        let global = global.collect();
        let mut ints = Integers { first: next, ..planner.ints };
        let types = machine.classes.models().into_iter().flat_map(|proc| machine.scopes.types(program, proc));
        ints.widest = types.filter(|ty| ty.is_integer()).map(width).max().unwrap_or(0);
        for edge in program.edges().iter() {
            let mut chosen = 0;
            let mut choose = |ty: Type| {
                chosen += 1;
                ints.widest = ints.widest.max(width(ty));
            };
            let of_exprs = edge.action.exprs().flat_map(Expr::choices);
            let havocked: &[VarId] = if let Action::Havoc(vars) = &edge.action { vars } else { &[] };
            let types = of_exprs.chain(havocked.iter().map(|&var| program.vars()[var].ty));
            types.filter(|ty| ty.is_integer()).for_each(&mut choose);
            ints.choices = ints.choices.max(chosen);
        }
        let slots = spots.iter().map(|_| OnceCell::new()).collect();
        Wiring { control, global, base, class: planner.class, spots, ints, slots, moved: None }
    }

    /// One more than the greatest level.
    pub fn levels(&self) -> u32 {
        level(self.ints.first + self.ints.places() * self.ints.widest, Role::Entry)
    }

    /// A number that is the same for procedures that have the same slots.
    pub fn class(&self, proc: ProcId) -> u32 {
        self.class[proc]
    }

    /// The slots of a procedure's fields.
    pub fn slots(&self, machine: &Machine, proc: ProcId) -> &Slots {
        let (program, scopes) = (machine.program, &machine.scopes);
        let class = self.class[proc] as usize;
        self.slots[class].get_or_init(|| {
            let at = |(column, place): Spot, ty: Type| match column {
                INTEGER => self.ints.slots(ty, place),
                _ => [self.base[column as usize] + place].into(),
            };
            let now = |slots: Box<[u32]>| self.now(slots);
            let of_global = |var: &VarId| match (program.vars()[*var].ty, self.control.get(var)) {
                (ty, Some(&first)) => (0..width(ty)).rev().map(|bit| first + bit).collect(),
                (ty, None) => at(self.global[var], ty),
            };
            let globals = scopes.globals(proc).iter().map(of_global);
            let types = scopes.types(program, proc).skip(scopes.globals(proc).len());
            let others = self.spots[class].iter().zip(types).map(|(&spot, ty)| at(spot, ty));
            Slots::new(globals.chain(others).map(now))
        })
    }

    /// The slots of an integer that an edge chooses, given how many it chooses before.
    pub fn choice(&self, ty: Type, before: usize) -> Box<[u32]> {
        match ty.is_integer() {
            true => self.now(self.ints.slots(ty, self.ints.columns + self.ints.others + before as u32)),
            false => [].into(),
        }
    }

    /// Where slots stand that may have changed their places.
    fn now(&self, mut slots: Box<[u32]>) -> Box<[u32]> {
        if let Some(moved) = &self.moved {
            slots.iter_mut().for_each(|slot| *slot = moved[*slot as usize]);
        }
        slots
    }

    /// The slots change their places; given is the new one of each.
    pub fn permute(&mut self, to: &[u32]) {
        let moved = self.moved.get_or_insert_with(|| (0..to.len() as u32).collect());
        let slots = self.slots.iter_mut().filter_map(OnceCell::get_mut);
        let slots = slots.flat_map(|slots| slots.slots.iter_mut()).chain(moved);
        slots.for_each(|slot| *slot = to[*slot as usize]);
    }
}

/// Finds a place for everything.
struct Planner<'m, 'a> {
    machine: &'m Machine<'a>,
    nodes: Nodes,
    models: Vec<ProcId>,
    affinities: Affinities,
    /// The column of each variable and result that is in one.
    column: Vec<u32>,
    /// Where each column stands.
    place: Vec<Spot>,
    class: Table<ProcId, u32>,
    /// For each class its first member.
    reps: Vec<ProcId>,
    /// How many places there are behind each Boolean column, and behind all.
    room: Vec<u32>,
    ints: Integers,
}

impl<'m, 'a> Planner<'m, 'a> {
    fn new(machine: &'m Machine<'a>, globals: &[VarId]) -> Self {
        let program = machine.program;
        let nodes = Nodes::new(program);
        let models = machine.classes.models();
        let (column, columns) = columns(machine, &nodes, globals);
        let affinities = Affinities::new(machine, &nodes, &models);
        let (mut rows, mut row, mut reps) = (Rows::default(), Vec::new(), Vec::new());
        let mut class = |proc: ProcId| {
            row.clear();
            row.push(machine.classes.procs[proc] as u64);
            row.extend(nodes.of(program, proc).map(|node| column[node as usize] as u64));
            let (class, new) = rows.intern(&row).unwrap_or_else(|_| panic!("too many procedures"));
            if new {
                reps.push(proc);
            }
            class
        };
        let class: Table<ProcId, u32> = program.procs().ids().map(&mut class).collect();
        let (place, room, ints) = (vec![(INTEGER, 0); columns], Vec::new(), Integers::default());
        let mut planner =
            Planner { machine, nodes, models, affinities, column, place, class, reps, room, ints };
        planner.place_columns();
        planner
    }

    /// The counterpart, in the model of a procedure, of its local or result at this place.
    fn counterparts(&self, proc: ProcId) -> (Vec<Node>, Vec<Node>) {
        let model = self.models[self.machine.classes.procs[proc] as usize];
        let of = |proc| self.nodes.of(self.machine.program, proc).collect();
        (of(proc), of(model))
    }

    /// Orders the columns.
    fn place_columns(&mut self) {
        let mut ties: Vec<Tie> = Vec::new();
        let column = |node: Node| self.column[node as usize];
        let mut tie = |a: u32, b: u32, strength| {
            if a != NONE && b != NONE && a != b {
                ties.push((a, b, strength));
            }
        };
        for &(a, b, strength) in &self.affinities.calls {
            tie(column(a), column(b), strength);
        }
        for &rep in &self.reps {
            let (own, model) = self.counterparts(rep);
            let here: HashMap<Node, u32> =
                model.iter().copied().zip(own.iter().map(|&node| column(node))).collect();
            let of_partner = |node: Node| here.get(&node).copied().unwrap_or_else(|| column(node));
            // What is in no column speaks for the column that it is tied to most, and will stand behind.
            let mut speaks: HashMap<Node, u32> = HashMap::default();
            for (&node, &at) in here.iter().filter(|_| !self.place.is_empty()) {
                let partners = self.affinities.partners(node).into_iter();
                let partners = partners.map(|(partner, strength)| (strength, Reverse(of_partner(partner))));
                let best = partners.filter(|(_, Reverse(partner))| *partner != NONE).max();
                let best = best.map_or(NONE, |(_, Reverse(partner))| partner);
                speaks.insert(node, if at == NONE { best } else { at });
            }
            for &node in &model {
                for (partner, strength) in self.affinities.partners(node) {
                    let other = speaks.get(&partner).copied().unwrap_or_else(|| column(partner));
                    tie(speaks.get(&node).copied().unwrap_or(NONE), other, strength);
                }
            }
        }
        for var in self.machine.program.globals().filter(|var| column(var.0) != NONE) {
            for (partner, strength) in self.affinities.partners(var.0) {
                if (partner as usize) < self.machine.program.vars().len()
                    && self.machine.program.is_global(VarId(partner))
                {
                    tie(column(var.0), column(partner), strength);
                }
            }
        }
        let mut is_integer = vec![false; self.place.len()];
        for (node, &column) in self.column.iter().enumerate().filter(|(_, column)| **column != NONE) {
            is_integer[column as usize] = self.nodes.is_integer(self.machine.program, node as u32);
        }
        let mut booleans = 0;
        for at in order(self.place.len(), &ties) {
            let (kind, count) = match is_integer[at as usize] {
                true => (INTEGER, &mut self.ints.columns),
                false => (booleans, &mut booleans),
            };
            self.place[at as usize] = if kind == INTEGER { (INTEGER, *count) } else { (kind, 0) };
            *count += 1;
        }
        self.room = vec![0; booleans as usize + 1];
    }

    /// Where the locals and results of a class stand. Those without a column stand behind one, in an order in which those
    /// that belong together are close.
    fn spots(&mut self, class: usize) -> Box<[Spot]> {
        let (own, model) = self.counterparts(self.reps[class]);
        let local: HashMap<Node, u32> = model.iter().zip(0..).map(|(&node, at)| (node, at)).collect();
        let mut ties: Vec<Tie> = Vec::new();
        for (at, &twin) in model.iter().enumerate() {
            for (partner, strength) in self.affinities.partners(twin) {
                match local.get(&partner) {
                    Some(&other) if other > at as u32 => ties.push((at as u32, other, strength)),
                    _ => {}
                }
            }
        }
        let mut spots: Vec<Option<Spot>> =
            own.iter().map(|&node| self.place.get(self.column[node as usize] as usize).copied()).collect();
        let (last, mut taken, mut others) = (self.room.len() as u32 - 1, HashMap::<u32, u32>::default(), 0);
        for at in order(own.len(), &ties) {
            let at = at as usize;
            if spots[at].is_some() {
                continue;
            }
            if self.nodes.is_integer(self.machine.program, own[at]) {
                spots[at] = Some((INTEGER, self.ints.columns + others));
                others += 1;
                continue;
            }
            let behind = self.anchor(&spots, &local, model[at]).unwrap_or(last);
            let place = taken.entry(behind).or_default();
            *place += 1;
            self.room[behind as usize] = self.room[behind as usize].max(*place);
            spots[at] = Some((behind, *place));
        }
        self.ints.others = self.ints.others.max(others);
        spots.into_iter().flatten().collect()
    }

    /// The Boolean column behind which a local is to stand: the one, of those with a place, that it is tied to most, or that
    /// of the local that it is tied to most.
    fn anchor(&self, spots: &[Option<Spot>], local: &HashMap<Node, u32>, node: Node) -> Option<u32> {
        let spot = |partner: Node| match local.get(&partner) {
            Some(&at) => spots[at as usize],
            None => self.place.get(self.column[partner as usize] as usize).copied(),
        };
        let placed = self.affinities.partners(node).into_iter().filter_map(|(partner, strength)| {
            let (behind, place) = spot(partner).filter(|&(behind, _)| behind != INTEGER)?;
            Some((strength, place == 0, Reverse(partner), behind))
        });
        placed.max().map(|(_, _, _, behind)| behind)
    }
}
