//! Room `engine/encode`: in which order variables and results stand in decision diagrams.
//!
//! # Idea
//!
//! Diagrams are small if variables that depend on each other are close. How much two variables have to do with each other
//! is known from the program, as *ties* ([`super::affinity`]). The order is made in two steps.
//!
//! 1. **Columns.** A column is a global, or some locals and results of different procedures, most of which calls copy into each
//!    other ([`super::columns`]). Its members have one place in the order, so passing an argument does not move it. Columns are
//!    ordered by the ties of their members. Locals without a column take part: each lends its ties to the column that it is
//!    tied to most, since it is likely to stand behind it in the end.
//! 2. **Locals and results without a column**, procedure by procedure. Each looks for the partner that it is tied to most
//!    among those that have a place already, and stands behind the Boolean column that the partner is in, or stands behind. Behind one
//!    column, tied ones are close. One that has no such partner stands before all columns, and so do those that join it. Locals of different procedures may stand at the same place.
//!
//! That is for Booleans. Integers have an order of their own: columns first, then the others.
//!
//! **Placements.** Procedures of one class ([`super::machine::classes`]) whose locals and results are in the same columns are a
//! *placement*: they are arranged once, and have everything at the same place, so that their relations can be shared. The first
//! of them stands for all: its locals and results have the ties of theirs.
//!
//! # Cost
//!
//! The number of ties, times its logarithm, once for columns and once for each placement.

use super::affinity::{Affinities, Tie, order};
use super::columns::{Columns, Node, Nodes};
use super::machine::code::Machine;
use postbop_ir::{ProcId, Table, VarId};
use postbop_kit::rows::Rows;
use rustc_hash::FxHashMap as HashMap;
use std::cmp::Reverse;

/// Where a variable or a result stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spot {
    /// A Boolean: at this Boolean column, counted in their order. With offset 0 it is a member; otherwise it stands so far
    /// behind.
    Boolean {
        /// The column; or one more than the last for those that stand behind none, which come before all columns.
        column: u32,
        /// How far behind it.
        offset: u32,
    },
    /// An integer: at this place among integers.
    Integer {
        /// The place.
        place: u32,
    },
}

/// The order of all variables and results.
pub struct Arrangement {
    /// Where each global stands.
    pub globals: HashMap<VarId, Spot>,
    /// The placement of each procedure.
    pub placement: Table<ProcId, u32>,
    /// For each placement where its locals and results stand.
    pub spots: Vec<Box<[Spot]>>,
    /// For each Boolean column, in their order, how many places there are behind it; and one more, how many for those that stand
    /// behind none. (Those stand before all columns.)
    pub behind: Vec<u32>,
    /// How many places there are for integers.
    pub integers: u32,
}

impl Arrangement {
    /// The arrangement of a program. Given are the globals that are part of it.
    pub fn new(machine: &Machine, globals: &[VarId]) -> Self {
        let mut arranger = Arranger::new(machine, globals);
        let spots = (0..arranger.firsts.len()).map(|placement| arranger.spots(placement)).collect();
        let spot = |var: VarId| arranger.column_spot(arranger.nodes.var(var)).expect("globals have columns");
        Arrangement {
            globals: globals.iter().map(|&var| (var, spot(var))).collect(),
            spots,
            integers: arranger.integer_columns + arranger.other_integers,
            placement: arranger.placement,
            behind: arranger.behind,
        }
    }
}

/// Makes an arrangement.
struct Arranger<'m, 'a> {
    machine: &'m Machine<'a>,
    nodes: Nodes,
    columns: Columns,
    affinities: Affinities,
    /// The placement of each procedure.
    placement: Table<ProcId, u32>,
    /// For each placement its first procedure.
    firsts: Vec<ProcId>,
    /// Where each column stands.
    column_spots: Vec<Spot>,
    /// How many columns are of integers.
    integer_columns: u32,
    /// As in [`Arrangement`], so far.
    behind: Vec<u32>,
    /// The most integers without a column that a procedure has, so far.
    other_integers: u32,
}

impl<'m, 'a> Arranger<'m, 'a> {
    /// An arranger that has placed the columns.
    fn new(machine: &'m Machine<'a>, globals: &[VarId]) -> Self {
        let program = machine.program;
        let nodes = Nodes::new(program);
        let columns = Columns::new(machine, &nodes, globals);
        let (mut keys, mut key, mut firsts) = (Rows::default(), Vec::new(), Vec::new());
        let mut placement = |proc: ProcId| {
            key.clear();
            key.push(machine.classes.procs[proc] as u64);
            key.extend(nodes.of(program, proc).map(|node| columns.of(node).map_or(u64::MAX, u64::from)));
            let (placement, new) = keys.intern(&key).unwrap_or_else(|_| panic!("too many procedures"));
            if new {
                firsts.push(proc);
            }
            placement
        };
        let placement: Table<ProcId, u32> = program.procs().ids().map(&mut placement).collect();
        let affinities = Affinities::new(machine, &nodes, &placement, &firsts);
        let mut arranger = Arranger {
            machine,
            nodes,
            columns,
            affinities,
            placement,
            firsts,
            column_spots: Vec::new(),
            integer_columns: 0,
            behind: Vec::new(),
            other_integers: 0,
        };
        arranger.place_columns();
        arranger
    }

    /// Where the column of a variable or a result stands, if it is in one.
    fn column_spot(&self, node: Node) -> Option<Spot> {
        self.columns.of(node).map(|column| self.column_spots[column as usize])
    }

    /// Puts the columns in order.
    fn place_columns(&mut self) {
        let mut booleans = 0;
        self.column_spots = vec![Spot::Integer { place: 0 }; self.columns.len()];
        for column in order(self.columns.len(), &self.column_ties()) {
            let spot = &mut self.column_spots[column as usize];
            if self.columns.is_integer(column) {
                *spot = Spot::Integer { place: self.integer_columns };
                self.integer_columns += 1;
            } else {
                *spot = Spot::Boolean { column: booleans, offset: 0 };
                booleans += 1;
            }
        }
        self.behind = vec![0; booleans as usize + 1];
    }

    /// The ties between columns.
    ///
    /// A tie between two locals, or between two globals, is added from both ends, and so counts twice; one between a local and
    /// a global is added from the local's end only, and one between caller and callee once. Nothing depends on that but the order.
    fn column_ties(&self) -> Vec<Tie> {
        let program = self.machine.program;
        let mut ties: Vec<Tie> = Vec::new();
        if self.columns.len() == 0 {
            return ties;
        }
        let mut tie = |a: Option<u32>, b: Option<u32>, strength| match (a, b) {
            (Some(a), Some(b)) if a != b => ties.push((a, b, strength)),
            _ => {}
        };
        for &(a, b, strength) in &self.affinities.calls {
            tie(self.columns.of(a), self.columns.of(b), strength);
        }
        for &proc in &self.firsts {
            let own: Vec<Node> = self.nodes.of(program, proc).collect();
            // For each of them the column in whose name its ties count.
            let speaks_for = |&node: &Node| self.columns.of(node).or_else(|| self.lends_to(node));
            let speaks_for: Vec<Option<u32>> = own.iter().map(speaks_for).collect();
            for (&node, &column) in own.iter().zip(&speaks_for) {
                for &(partner, strength) in self.affinities.partners(node) {
                    let other = match self.nodes.place(self.machine, partner) {
                        Some(place) => speaks_for[place],
                        None => self.columns.of(partner),
                    };
                    tie(column, other, strength);
                }
            }
        }
        for node in program.globals().map(|var| self.nodes.var(var)) {
            let partners = self.affinities.partners(node).iter();
            for &(partner, strength) in partners.filter(|&&(node, _)| self.nodes.is_global(program, node)) {
                tie(self.columns.of(node), self.columns.of(partner), strength);
            }
        }
        ties
    }

    /// The column to which a local without a column lends its ties: the one that it is tied to most.
    fn lends_to(&self, node: Node) -> Option<u32> {
        let partners = self.affinities.partners(node).iter();
        let column = |node| self.columns.of(node).map(Reverse);
        let tied = partners.filter_map(|&(partner, strength)| Some((strength, column(partner)?)));
        tied.max().map(|(_, Reverse(column))| column)
    }

    /// Where the locals and results of a placement stand.
    fn spots(&mut self, placement: usize) -> Box<[Spot]> {
        let own: Vec<Node> = self.nodes.of(self.machine.program, self.firsts[placement]).collect();
        let mut ties: Vec<Tie> = Vec::new();
        for (at, &node) in own.iter().enumerate() {
            for &(partner, strength) in self.affinities.partners(node) {
                // Each tie once, from its lesser end.
                if let Some(other) = self.nodes.place(self.machine, partner).filter(|&other| other > at) {
                    ties.push((at as Node, other as Node, strength));
                }
            }
        }
        let mut spots: Vec<Option<Spot>> = own.iter().map(|&node| self.column_spot(node)).collect();
        let behind_none = self.behind.len() as u32 - 1;
        // How many stand behind each column, and how many integers have no column.
        let (mut counts, mut integers) = (HashMap::<u32, u32>::default(), 0);
        for at in order(own.len(), &ties).into_iter().map(|at| at as usize) {
            if spots[at].is_some() {
                continue;
            }
            if self.nodes.is_integer(self.machine.program, own[at]) {
                spots[at] = Some(Spot::Integer { place: self.integer_columns + integers });
                integers += 1;
                continue;
            }
            let column = self.closest_column(&spots, own[at]).unwrap_or(behind_none);
            let offset = counts.entry(column).or_default();
            *offset += 1;
            self.behind[column as usize] = self.behind[column as usize].max(*offset);
            spots[at] = Some(Spot::Boolean { column, offset: *offset });
        }
        self.other_integers = self.other_integers.max(integers);
        spots.into_iter().map(|spot| spot.expect("each has got a spot")).collect()
    }

    /// The Boolean column behind which a local or a result is to stand: that of the partner to which it is tied most, of those
    /// that have a spot already. Among equals members of columns come first.
    fn closest_column(&self, spots: &[Option<Spot>], node: Node) -> Option<u32> {
        let spot = |partner: Node| match self.nodes.place(self.machine, partner) {
            Some(place) => spots[place],
            None => self.column_spot(partner),
        };
        let partners = self.affinities.partners(node).iter();
        let placed = partners.filter_map(|&(partner, strength)| match spot(partner)? {
            Spot::Boolean { column, offset } => Some((strength, offset == 0, Reverse(partner), column)),
            Spot::Integer { .. } => None,
        });
        placed.max().map(|(_, _, _, column)| column)
    }
}
