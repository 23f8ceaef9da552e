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
use postbop_kit::qbf::{Formula, Truth};
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeSet;

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

/// The path edges at one place.
#[derive(Default)]
pub struct Known {
    /// Guards and bits.
    all: Vec<(Lit, Vec<Lit>)>,
    /// Those all of whose bits are constant, by these bits; and the others.
    constant: HashMap<Vec<Lit>, Vec<u32>>,
    other: Vec<u32>,
}

impl Known {
    /// All path edges, with their guards.
    pub fn all(&self) -> &[(Lit, Vec<Lit>)] {
        &self.all
    }

    /// Notes a path edge.
    pub fn insert(&mut self, guard: Lit, bits: &[Lit]) {
        let number = self.all.len() as u32;
        self.all.push((guard, bits.to_vec()));
        match bits.iter().all(|bit| bit.is_constant()) {
            true => self.constant.entry(bits.to_vec()).or_default().push(number),
            false => self.other.push(number),
        }
    }

    /// Those that may have something in common with a path edge.
    fn like(&self, bits: &[Lit]) -> Vec<(Lit, &[Lit])> {
        let path_edge = |&at: &u32| (self.all[at as usize].0, &self.all[at as usize].1[..]);
        match bits.iter().all(|bit| bit.is_constant()) {
            true => {
                let same = self.constant.get(bits).into_iter().flatten();
                self.other.iter().chain(same).map(path_edge).collect()
            }
            false => self.all.iter().map(|(guard, bits)| (*guard, &bits[..])).collect(),
        }
    }
}

impl World<'_, '_> {
    /// Whether a path edge has a pair that those before, at the same place, have not; if so it is noted.
    pub fn is_new(&mut self, entry: u32, place: Place, guard: Lit, bits: &[Lit]) -> Result<bool, Why> {
        let mut known = self.entries[entry as usize].known.remove(&place).unwrap_or_default();
        let is_new = self.differs(entry, &known.like(bits), guard, bits);
        if let Ok(true) = is_new {
            known.insert(guard, bits);
        } else {
            self.counts.subsumed += 1;
        }
        self.entries[entry as usize].known.insert(place, known);
        is_new
    }

    fn differs(
        &mut self,
        entry: u32,
        known: &[(Lit, &[Lit])],
        guard: Lit,
        bits: &[Lit],
    ) -> Result<bool, Why> {
        if known.is_empty() {
            return Ok(true);
        }
        if known.iter().any(|other| other.0 == guard && other.1 == bits) {
            return Ok(false);
        }
        if self.differs_from_constants(entry, known, guard, bits) {
            return Ok(true);
        }
        let aig = &mut self.entries[entry as usize].aig;
        let before = aig.len();
        let mut claims = vec![guard];
        for (other, theirs) in known.iter().rev().take(RECENT) {
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
        let all = known.iter().copied().chain([(guard, bits)]);
        let lits = all.flat_map(|(guard, bits)| bits.iter().copied().chain([guard]));
        let cone = self.entries[entry as usize].aig.cone(lits).len();
        // A copy of the functions, and two solvers.
        self.has_room(cone.saturating_mul(3))?;
        let formula = comparison(&self.entries[entry as usize], guard, bits, known);
        self.made(formula.aig.len())?;
        match formula.decide(&self.interrupt, &mut self.counts.qbf) {
            Truth::True => Ok(false),
            Truth::False(_) => Ok(true),
            Truth::Stopped => Err(self.why()),
        }
    }

    /// Whether a valuation shows that a path edge has bits that are constant, and different, in all others.
    fn differs_from_constants(
        &mut self,
        entry: u32,
        known: &[(Lit, &[Lit])],
        guard: Lit,
        bits: &[Lit],
    ) -> bool {
        let Entry { aig, probe, .. } = &mut self.entries[entry as usize];
        let mut new = probe.word(aig, guard);
        for other in known {
            let constant = other.1.iter().zip(bits).filter(|(other, _)| other.is_constant());
            new &= constant.fold(0, |word, (&other, &own)| {
                word | (probe.word(aig, own) ^ if other == Lit::TRUE { !0 } else { 0 })
            });
        }
        new != 0
    }
}

/// The formula of equation 8: for all inputs and choices for which the guard holds there are other choices such that one
/// of the others has the same bits.
fn comparison(entry: &Entry, guard: Lit, bits: &[Lit], known: &[(Lit, &[Lit])]) -> Formula {
    let mut aig = Aig::default();
    // Where it does not matter how the procedure was entered, its inputs are choices.
    let shared = entry.inputs.iter().filter(|lit| entry.is_called && !lit.is_constant());
    let shared: BTreeSet<usize> = shared.map(|lit| lit.node()).collect();
    let mut one: Images = shared.iter().map(|&at| (at, aig.input())).collect();
    let mut other = one.clone();
    let is_choice = |at: &&usize| entry.aig.node(**at) == Node::Input && !shared.contains(at);
    let cone = entry.aig.cone(bits.iter().copied().chain([guard]));
    aig.import(&entry.aig, &cone, &mut one);
    let mut forall: Vec<Lit> = shared.iter().map(|&at| one.of(Lit::positive(at))).collect();
    forall.extend(cone.iter().filter(is_choice).map(|&at| one.of(Lit::positive(at))));
    let all = known.iter().flat_map(|(guard, bits)| bits.iter().copied().chain([*guard]));
    let cone = entry.aig.cone(all);
    aig.import(&entry.aig, &cone, &mut other);
    let exists: Vec<Lit> = cone.iter().filter(is_choice).map(|&at| other.of(Lit::positive(at))).collect();
    let mut phi = !one.of(guard);
    for (guard, theirs) in known {
        let mut same = other.of(*guard);
        for (&own, &their) in bits.iter().zip(*theirs) {
            let equal = aig.iff(one.of(own), other.of(their));
            same = aig.and(same, equal);
        }
        phi = aig.or(phi, same);
    }
    let inputs = shared.iter().map(|&at| Lit::positive(at));
    let view = inputs.chain(bits.iter().copied()).map(|lit| one.of(lit)).collect();
    Formula { aig, forall, exists, phi, view }
}
