//! Room `engine/sat`: what is known of regions: lemmas and facts.
//!
//! # Idea
//!
//! For each region there are two questions. Does it *return*: can the procedure, started in this region with these inputs,
//! end with these outputs? Does it *fail*: can it, started with these inputs, reach a target, in this procedure or in one that it
//! calls? Each is a relation over the bits of the region's interface, its inputs and then its outputs.
//!
//! A *lemma* is a cube of that interface that the relation has nothing in common with. It has a *level*: it is
//! known of runs in which at most so many calls within its component of the call graph are open, or of all runs. A *fact*
//! is a run: from all inputs in a cube, to these outputs.

use postbop_ir::{EdgeId, LocId, Value};

/// A bit of an interface with a value: a literal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Bit(u32);

impl Bit {
    /// The bit of this number, with this value.
    pub fn new(number: usize, value: bool) -> Bit {
        Bit((number as u32) << 1 | u32::from(value))
    }

    /// Its number.
    pub fn number(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Its value.
    pub fn value(self) -> bool {
        self.0 & 1 != 0
    }
}

/// Bits that hold together, in the order of their numbers.
pub type Cube = Vec<Bit>;

/// Whether all bits of a cube are among those of another.
pub fn is_subset(cube: &[Bit], of: &[Bit]) -> bool {
    let mut rest = of.iter();
    cube.iter()
        .all(|bit| rest.by_ref().take_while(|other| other.number() <= bit.number()).any(|other| other == bit))
}

/// The level of what is known of all runs.
pub const ALL: u32 = u32::MAX;

/// What can be asked about a region.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Does it return?
    Return,
    /// Does it fail?
    Fail,
}

/// A relation: a region, and what is asked about it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Relation(u32);

impl Relation {
    /// What is asked about a region.
    pub fn new(region: u32, kind: Kind) -> Self {
        Relation(region << 1 | u32::from(kind == Kind::Fail))
    }

    /// The relation of this number.
    pub fn from_index(index: u32) -> Self {
        Relation(index)
    }

    /// The region.
    pub fn region(self) -> u32 {
        self.0 >> 1
    }

    /// What is asked.
    pub fn kind(self) -> Kind {
        if self.0 & 1 != 0 { Kind::Fail } else { Kind::Return }
    }

    /// Its number among all relations.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A cube that a relation has nothing in common with.
#[derive(Clone, Debug)]
pub struct Lemma {
    /// The cube.
    pub cube: Cube,
    /// Of which runs this is known.
    pub level: u32,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Fact {
    /// The region in which it starts.
    pub region: u32,
    /// The inputs from which it starts.
    pub inputs: Cube,
    /// The outputs with which it ends; none if it fails.
    pub outputs: Vec<bool>,
    /// For each output the input that it is a copy of, whatever its value; the others have the value above.
    pub copies: Vec<Option<u32>>,
    /// What locals start with, if this is where the procedure is entered.
    pub free: Vec<bool>,
    /// The edges, each with the outcomes of its choices and, for a call that returns, how that goes.
    pub steps: Vec<(EdgeId, Vec<Option<Value>>, Option<u32>)>,
    /// How it goes on after the last edge: in the region that is called in tail position, or in the procedure that is called
    /// and does not return.
    pub next: Option<u32>,
    /// The target that it reaches.
    pub target: Option<LocId>,
}

impl Fact {
    /// The outputs, each with its value or the input of which it is a copy.
    pub fn each_output(&self) -> impl Iterator<Item = Result<bool, usize>> + '_ {
        let each = self.outputs.iter().zip(&self.copies);
        each.map(|(&value, copy)| copy.map_or(Ok(value), |input| Err(input as usize)))
    }
}

/// What is known of one relation.
#[derive(Default)]
pub struct Known {
    /// The lemmas; those that a stronger one has replaced stay in their places.
    pub lemmas: Vec<Lemma>,
    /// Which lemmas were added, or got another level, in order, with the level.
    pub log: Vec<(u32, u32)>,
    /// The numbers of the facts.
    pub facts: Vec<u32>,
}

impl Known {
    /// Whether a lemma of at least this level excludes a cube.
    pub fn excludes(&self, cube: &[Bit], level: u32) -> bool {
        self.lemmas.iter().any(|lemma| lemma.level >= level && is_subset(&lemma.cube, cube))
    }

    /// Adds a lemma.
    pub fn learn(&mut self, cube: Cube, level: u32) {
        self.log.push((self.lemmas.len() as u32, level));
        self.lemmas.push(Lemma { cube, level });
    }

    /// Gives a lemma a higher level.
    pub fn raise(&mut self, lemma: usize, level: u32) {
        self.lemmas[lemma].level = level;
        self.log.push((lemma as u32, level));
    }
}
