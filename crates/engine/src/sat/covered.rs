//! Room `engine/sat`: whether a path edge says something new.
//!
//! # Idea
//!
//! A path edge is a set of pairs: the inputs with which its procedure was entered, and the bits that are live where control is now. A
//! pair may come about by many choices, so whether all pairs of one path edge are among those of others is a question with
//! quantifiers: for all inputs and choices of the one there are choices of one of the others with the same bits. Before
//! it is asked, cheap tests are made, in this order: whether one of the others has the same functions; whether valuations that
//! were picked without thinking show a bit that is constant in all others, and differs; whether the same choices will do, which a
//! solver can tell.
//!
//! # Paper
//!
//! \[sat-summaries\] equation 8. # Departures: compared with all others at once, since what is new may be covered by several of
//! them together.

use super::entry::Entry;
use super::world::World;
use crate::verdict::Why;
use postbop_ir::LocId;
use postbop_kit::aig::{Aig, Images, Lit, Node};
use postbop_kit::qbf::{Shadow, Truth};

/// So many of the path edges found last are compared by a solver, before quantifiers.
const RECENT: usize = 4;

/// Where path edges are compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// At the head of a loop.
    Head(LocId),
    /// At the exit.
    Exit,
    /// Failures at a target: nothing matters there but the inputs.
    Target(LocId),
}

/// The path edges at one place: guards and bits.
#[derive(Default)]
pub struct Known {
    all: Vec<(Lit, Vec<Lit>)>,
    pairs: Option<Pairs>,
}

/// The pairs that path edges stand for.
struct Pairs {
    shadow: Shadow,
    /// The nodes of the entry's inputs, if it matters how it was entered, and what stands for them.
    inputs: Images,
    /// What stands for the bits.
    bits: Vec<Lit>,
    /// How many path edges are in it.
    count: usize,
}

impl Pairs {
    fn new(entry: &Entry, bits: usize) -> Self {
        let mut aig = Aig::default();
        let shared = entry.inputs.iter().filter(|lit| entry.is_called && !lit.is_constant());
        let shared: Vec<(usize, Lit)> = shared.map(|lit| (lit.node(), aig.input())).collect();
        let bits: Vec<Lit> = (0..bits).map(|_| aig.input()).collect();
        let points = shared.iter().map(|(_, lit)| *lit).chain(bits.iter().copied()).collect();
        let shadow = Shadow::new(aig, points);
        Pairs { shadow, inputs: shared.into_iter().collect(), bits, count: 0 }
    }

    /// A path edge as a function of pairs and choices, and these choices.
    fn import(&mut self, entry: &Entry, guard: Lit, bits: &[Lit]) -> (Lit, Vec<Lit>) {
        let mut map = self.inputs.clone();
        let cone = entry.aig.cone(bits.iter().copied().chain([guard]));
        let is_choice = |at: &&usize| entry.aig.node(**at) == Node::Input && !self.inputs.has(**at);
        let choices: Vec<Lit> = cone.iter().filter(is_choice).map(|&at| Lit::positive(at)).collect();
        let aig = &mut self.shadow.aig;
        aig.import(&entry.aig, &cone, &mut map);
        let mut set = map.of(guard);
        for (&own, &bit) in self.bits.iter().zip(bits) {
            let same = aig.iff(own, map.of(bit));
            set = aig.and(set, same);
        }
        (set, choices.into_iter().map(|choice| map.of(choice)).collect())
    }
}

impl World<'_, '_> {
    /// Whether a path edge has a pair that those before, at the same place, have not; if so it is noted.
    pub fn is_new(&mut self, entry: u32, place: Place, guard: Lit, bits: &[Lit]) -> Result<bool, Why> {
        let mut known = self.known.remove(&(entry, place)).unwrap_or_default();
        let is_new = self.compare(entry, &mut known, guard, bits);
        if let Ok(true) = is_new {
            known.all.push((guard, bits.to_vec()));
        } else {
            self.counts.subsumed += 1;
        }
        self.known.insert((entry, place), known);
        is_new
    }

    /// Forgets what is known of an entry that was given up.
    pub fn forget(&mut self, entry: u32) {
        self.known.retain(|(other, _), _| *other != entry);
    }

    fn compare(&mut self, entry: u32, known: &mut Known, guard: Lit, bits: &[Lit]) -> Result<bool, Why> {
        if known.all.is_empty() {
            return Ok(true);
        }
        if known.all.iter().any(|other| other.0 == guard && other.1 == bits) {
            return Ok(false);
        }
        if self.differs_from_constants(entry, known, guard, bits) {
            return Ok(true);
        }
        let aig = &mut self.entries[entry as usize].aig;
        let before = aig.len();
        let mut claims = vec![guard];
        for (other, theirs) in known.all.iter().rev().take(RECENT) {
            let same = theirs.iter().zip(bits).fold(*other, |all, (&a, &b)| {
                let same = aig.iff(a, b);
                aig.and(all, same)
            });
            claims.push(!same);
        }
        let made = aig.len() - before;
        self.made(made)?;
        if !self.can_hold(entry, &claims)? {
            return Ok(false);
        }
        let own = &self.entries[entry as usize];
        let pairs = known.pairs.get_or_insert_with(|| Pairs::new(own, bits.len()));
        let before = pairs.shadow.aig.len();
        for (guard, bits) in &known.all[pairs.count..] {
            let (set, choices) = pairs.import(own, *guard, bits);
            pairs.shadow.add(set, choices);
        }
        pairs.count = known.all.len();
        let (set, choices) = pairs.import(own, guard, bits);
        let made = pairs.shadow.aig.len() - before;
        self.made(made)?;
        match pairs.shadow.covers(set, &self.interrupt, &mut self.counts.qbf) {
            Truth::True => Ok(false),
            Truth::False(_) => {
                pairs.shadow.add(set, choices);
                pairs.count += 1;
                Ok(true)
            }
            Truth::Stopped => Err(self.why()),
        }
    }

    /// Whether a valuation shows that a path edge has bits that are constant, and different, in all others.
    fn differs_from_constants(&mut self, entry: u32, known: &Known, guard: Lit, bits: &[Lit]) -> bool {
        let Entry { aig, probe, .. } = &mut self.entries[entry as usize];
        let mut new = probe.word(aig, guard);
        for other in &known.all {
            let constant = other.1.iter().zip(bits).filter(|(other, _)| other.is_constant());
            new &= constant.fold(0, |word, (&other, &own)| {
                word | (probe.word(aig, own) ^ if other == Lit::TRUE { !0 } else { 0 })
            });
        }
        new != 0
    }
}
