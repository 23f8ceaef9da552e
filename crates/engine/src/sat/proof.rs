//! Room `engine/sat`: the lemmas of a search as a proof, or its facts.
//!
//! # Idea
//!
//! A lemma looks ahead, at the rest of a procedure: with such values here the procedure does not end like that, or no target is reached. A proof looks back, at
//! the entry of the procedure. But its sets may also speak of how the activation ends. Let R(c, x) be what the lemmas about the region at a location leave open: that with
//! the valuation c the procedure ends with x. Let E(e, x) be the same for the region at the entry, and F(c) that lemmas do not exclude a failure. The set at the location is
//!
//! ```text
//! no F(c), and if R(c, x) then E(e, x)
//! ```
//!
//! and the one at the exit is E(e, x), where x is the present valuation. That these sets are closed is what was shown of the lemmas: if c leads to c', and the
//! lemmas at c' leave an ending open, so do those at c. There are sets where regions start and end; within a region whoever checks the proof runs through.
//!
//! If facts are closed ([`super::closing`]), R(c, x) is that they are like a loose fact, and F(c) that c is like one that fails.
//!
//! Lemmas of all runs rest on lemmas of all runs. A proof that no run fails which came from unfolding ([`super::unfold`]) rests on none; then there is no
//! proof in this form, unless goals find one later ([`Search::shown`]).
//!
//! # Cost
//!
//! The lemmas of all runs that no other one replaces, each once; or the facts.

use super::closing::Closing;
use super::gather::Gathering;
use super::knowledge::{ALL, Bit, Cube, Kind, Relation, is_subset};
use super::pdr::Search;
use postbop_ir::proof::{Maker, Place, Proof, Ref};
use postbop_ir::{LocId, ProcId, Table, VarId};

impl Search<'_, '_> {
    /// How many bits the lemmas of all runs have.
    pub fn size(&self) -> usize {
        let lemmas = self.known.iter().flat_map(|known| &known.lemmas);
        let lemmas = lemmas.filter(|lemma| lemma.level == ALL).map(|lemma| lemma.cube.len() + 1);
        let facts = self.facts.iter().map(|fact| fact.inputs.len() + 2 * fact.outputs.len() + 1);
        if self.is_closed().is_some() { facts.sum() } else { lemmas.sum() }
    }

    /// The facts, if they are the proof.
    fn is_closed(&self) -> Option<(&Gathering, &Closing)> {
        let gathering = self.gathering.as_deref().filter(|gathering| gathering.over)?;
        Some((gathering, gathering.closing.as_ref()?))
    }

    /// The lemmas, as a proof that no target is reached that counts, if that is what they show.
    pub fn proof(&self) -> Option<Proof> {
        let (regions, program) = (self.regions, self.regions.program);
        let main = Relation::new(regions.entry(program.main()), Kind::Fail);
        if self.shown.is_some() && !self.lemmas_wanted {
            return None;
        }
        if self.can_fail(main.region()) && !self.known[main.index()].excludes(&[], ALL) {
            return None;
        }
        let mut maker = Maker::default();
        let relations: Vec<Ref> = (0..self.known.len() as u32)
            .map(|at| self.open(Relation::from_index(at), Place::Now, &mut maker))
            .collect();
        let of = |region: u32, kind: Kind| relations[Relation::new(region, kind).index()];
        let entered: Table<ProcId, Ref> = program
            .procs()
            .ids()
            .map(|proc| {
                let relation = Relation::new(regions.entry(proc), Kind::Return);
                self.open(relation, Place::Entry, &mut maker)
            })
            .collect();
        let mut set_at = |loc: LocId| {
            let ends = entered[program.locs()[loc].proc];
            if self.counts(loc) || !(regions.is_reached(loc) || program.is_exit(loc)) {
                return Some(Ref::FALSE);
            }
            if program.is_exit(loc) {
                return Some(ends);
            }
            let region = regions.starts(loc)?;
            let so_far = maker.or(vec![!of(region, Kind::Return), ends]);
            Some(maker.and(vec![!of(region, Kind::Fail), so_far]))
        };
        let sets: Table<LocId, Option<Ref>> = program.locs().ids().map(&mut set_at).collect();
        Some(maker.finish(sets))
    }

    /// What lemmas, or facts, leave open of a relation, which starts with the values of these places.
    fn open(&self, relation: Relation, start: fn(VarId) -> Place, maker: &mut Maker) -> Ref {
        if relation.kind() == Kind::Fail && !self.can_fail(relation.region()) {
            return Ref::FALSE;
        }
        if let Some((gathering, closing)) = self.is_closed() {
            let Some(facts) = gathering.of(relation) else { return Ref::TRUE };
            let like = |&fact: &u32| self.like(relation, fact, closing, start, maker);
            let all = facts.iter().map(like).collect();
            return maker.or(all);
        }
        let lemmas = self.known[relation.index()].lemmas.iter().filter(|lemma| lemma.level == ALL);
        let mut cubes: Vec<&Cube> = lemmas.map(|lemma| &lemma.cube).collect();
        cubes.sort_unstable_by_key(|cube| cube.len());
        let mut least: Vec<&Cube> = Vec::new();
        for cube in cubes {
            if !least.iter().any(|other| is_subset(other, cube)) {
                least.push(cube);
            }
        }
        let clauses = least.into_iter().map(|cube| !self.cube(relation, cube, start, maker)).collect();
        maker.and(clauses)
    }

    /// What is like a loose fact of a relation.
    fn like(
        &self,
        relation: Relation,
        fact: u32,
        closing: &Closing,
        start: fn(VarId) -> Place,
        maker: &mut Maker,
    ) -> Ref {
        let fact = &self.facts[fact as usize];
        let inputs = self.regions.all[relation.region() as usize].inputs.len();
        let counts = |bit: usize| closing.counts(relation, bit);
        let fixed: Cube = fact.fixed(inputs).into_iter().filter(|bit| counts(bit.number())).collect();
        let mut all = vec![self.cube(relation, &fixed, start, maker)];
        let copies = fact.copies.iter().enumerate().filter(|(at, _)| counts(inputs + at));
        for (at, input) in copies.filter_map(|(at, input)| Some((at, (*input)?))) {
            let output = self.bit(relation, Bit::new(inputs + at, true), start, maker);
            let input = self.bit(relation, Bit::new(input as usize, true), start, maker);
            all.extend([maker.or(vec![!output, input]), maker.or(vec![output, !input])]);
        }
        maker.and(all)
    }

    /// A cube of the interface of a relation.
    fn cube(&self, relation: Relation, cube: &[Bit], start: fn(VarId) -> Place, maker: &mut Maker) -> Ref {
        let bits = cube.iter().map(|&bit| self.bit(relation, bit, start, maker)).collect();
        maker.and(bits)
    }

    /// A bit of the interface of a relation.
    fn bit(&self, relation: Relation, bit: Bit, start: fn(VarId) -> Place, maker: &mut Maker) -> Ref {
        let (regions, program) = (self.regions, self.regions.program);
        let region = &regions.all[relation.region() as usize];
        let first = regions.scopes.first_result(program, region.proc);
        let (at, after) = match bit.number().checked_sub(region.inputs.len()) {
            None => (region.inputs[bit.number()], false),
            Some(output) => (regions.outputs[region.proc][output], true),
        };
        let (field, nth) = regions.layouts[region.proc].field(at);
        let place = match regions.var(region.proc, field) {
            Some(var) if after => Place::Exit(var),
            Some(var) => start(var),
            None => Place::Result((field - first) as u32),
        };
        maker.bit(place, nth as u8).flip(!bit.value())
    }
}
