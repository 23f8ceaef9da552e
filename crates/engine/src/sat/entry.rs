//! Room `engine/sat`: one procedure, executed from an entry: its path edges and summary edges.
//!
//! # Idea
//!
//! An *entry* is a procedure with a cube of the inputs that it is called with: some bits are fixed, the others are inputs of the
//! functions. A *path edge* is a location that control can get to from there, with a guard and a function for each bit, over the
//! entry's inputs and over choices. All path edges of an entry share its inputs, so each is a relation between how the
//! procedure was entered and what it holds at the location. A path edge at the exit is a *summary edge*. A *failure* is
//! a guard under which a target is reached, in this procedure or in one that it calls.
//!
//! For traces each path edge knows its origin.
//!
//! # Paper
//!
//! \[sat-summaries\] definitions 5 and 6. # Departures: the entry valuation is a cube and not a list of functions, so applying a
//! summary edge substitutes, and whether it is applicable needs no quantifiers; see [`super::worklist`].

use super::covered::{Known, Place};
use super::probe::Probe;
use super::regions::Regions;
use super::step::{Choices, Step, either, merge};
use postbop_ir::{EdgeId, LocId, ProcId};
use postbop_kit::aig::{Aig, Lit, Values};
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeMap;

/// Where control can be: a guard, and functions for all bits of the procedure's fields.
#[derive(Clone)]
pub struct Symbolic {
    /// The guard.
    pub guard: Lit,
    /// The functions.
    pub bits: Vec<Lit>,
    /// The number of the path edge.
    pub number: u32,
}

/// How a path edge came about.
pub enum Origin {
    /// The procedure is entered.
    Entry,
    /// Along an edge from another path edge.
    Step {
        /// The other one.
        from: u32,
        /// The edge.
        edge: EdgeId,
        /// Its choices.
        choices: Choices,
    },
    /// A call came back.
    Call {
        /// The call.
        call: u32,
        /// The entry whose summary edge was applied.
        callee: u32,
        /// Which one it is.
        summary: u32,
        /// The outputs.
        outputs: Vec<Lit>,
    },
    /// Two were merged.
    Either {
        /// If this holds it is the first one.
        select: Lit,
        /// The first one.
        one: u32,
        /// The other one.
        other: u32,
    },
}

/// A call that control gets to.
pub struct Call {
    /// The edge.
    pub edge: EdgeId,
    /// Where control is, and with what values.
    pub from: Symbolic,
    /// The choices in the arguments.
    pub choices: Choices,
    /// The callee's inputs.
    pub inputs: Vec<Lit>,
}

/// A way through the procedure.
pub struct Summary {
    /// The guard.
    pub guard: Lit,
    /// The outputs.
    pub outputs: Vec<Lit>,
    /// The path edge.
    pub number: u32,
}

/// A way to a target.
pub struct Failure {
    /// The target.
    pub target: LocId,
    /// The guard.
    pub guard: Lit,
    /// How.
    pub by: FailedBy,
    /// Whether another failure covers it.
    pub is_part: bool,
}

/// How a target is reached.
#[derive(Clone, Copy)]
pub enum FailedBy {
    /// By this path edge.
    PathEdge(u32),
    /// In a callee.
    Call {
        /// The call.
        call: u32,
        /// The callee's entry.
        callee: u32,
        /// Its failure.
        failure: u32,
    },
    /// By one of two failures.
    Either {
        /// This one if its guard holds ...
        one: u32,
        /// ... and this one otherwise.
        other: u32,
    },
}

/// An entry, with all that was found from there.
pub struct Entry<'i> {
    /// The procedure.
    pub proc: ProcId,
    /// For each input of the procedure its value, if that is fixed.
    pub fixed: Vec<Option<bool>>,
    /// Whether it matters how the procedure was entered: something calls it.
    pub is_called: bool,
    /// The functions.
    pub aig: Aig,
    /// For each input of the procedure what stands for it: an input of the functions, or the fixed value.
    pub inputs: Vec<Lit>,
    /// Locals that have arbitrary values at the start.
    pub free: Vec<Lit>,
    /// What can hold.
    pub probe: Probe<'i>,
    /// The origins of path edges.
    pub origins: Vec<Origin>,
    /// The path edges that were not followed yet, by the places of their locations.
    pub pending: BTreeMap<u32, Vec<Symbolic>>,
    /// The path edges that others are compared with.
    pub known: HashMap<Place, Known>,
    /// The calls.
    pub calls: Vec<Call>,
    /// The summary edges.
    pub summaries: Vec<Summary>,
    /// The failures.
    pub failures: Vec<Failure>,
    /// How often two path edges were merged.
    pub merged: u64,
}

impl Entry<'_> {
    /// An entry of a procedure, with these inputs fixed; and control at its start.
    pub fn new(
        regions: &Regions,
        proc: ProcId,
        fixed: Vec<Option<bool>>,
        is_called: bool,
    ) -> (Self, Symbolic) {
        let region = &regions.all[regions.entry(proc) as usize];
        let mut aig = Aig::default();
        let inputs: Vec<Lit> =
            fixed.iter().map(|value| value.map_or_else(|| aig.input(), Lit::constant)).collect();
        let free: Vec<Lit> = region.free.iter().map(|_| aig.input()).collect();
        let mut bits = vec![Lit::FALSE; regions.layouts[proc].len()];
        let all = region.inputs.iter().zip(&inputs).chain(region.free.iter().zip(&free));
        all.for_each(|(&bit, &input)| bits[bit as usize] = input);
        let entry = Entry {
            proc,
            fixed,
            is_called,
            aig,
            inputs,
            free,
            probe: Probe::default(),
            origins: vec![Origin::Entry],
            pending: BTreeMap::new(),
            known: HashMap::default(),
            calls: Vec::new(),
            summaries: Vec::new(),
            failures: Vec::new(),
            merged: 0,
        };
        (entry, Symbolic { guard: Lit::TRUE, bits, number: 0 })
    }

    /// The number of a new path edge.
    pub fn number(&mut self, origin: Origin) -> u32 {
        self.origins.push(origin);
        self.origins.len() as u32 - 1
    }

    /// How a failure comes about, if functions have these values.
    pub fn failed_by(&self, mut failure: u32, values: &Values) -> FailedBy {
        loop {
            match self.failures[failure as usize].by {
                FailedBy::Either { one, other } => {
                    failure = if values.get(self.failures[one as usize].guard) { one } else { other };
                }
                by => return by,
            }
        }
    }

    /// Executes an edge.
    pub fn step<'s, 'a>(&'s mut self, regions: &'s Regions<'a>, choices: &'s mut Choices) -> Step<'s, 'a> {
        Step { regions, proc: self.proc, aig: &mut self.aig, choices }
    }

    /// One path edge for several that lead to the same location.
    pub fn merge(&mut self, all: Vec<Symbolic>) -> Symbolic {
        merge(all, |one, other| self.either(one, other))
    }

    fn either(&mut self, mut one: Symbolic, other: Symbolic) -> Symbolic {
        if other.guard == Lit::FALSE || (one.guard == other.guard && one.bits == other.bits) {
            return one;
        }
        if one.guard == Lit::FALSE {
            return other;
        }
        self.merged += 1;
        let (select, guard) = either(&mut self.aig, (one.guard, &mut one.bits), (other.guard, &other.bits));
        let number = self.number(Origin::Either { select, one: one.number, other: other.number });
        Symbolic { guard, bits: one.bits, number }
    }
}
