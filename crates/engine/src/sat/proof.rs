//! Room `engine/sat`: the lemmas of a search as a proof.
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
//! If a coarse program ([`super::coarse`]) does not fail, its proof is a proof of the program.
//!
//! Lemmas of all runs rest on lemmas of all runs. A proof that no run fails which came from unfolding ([`super::unfold`]) rests on none; then there is no
//! proof in this form, unless goals find one later ([`Search::shown`]).
//!
//! # Cost
//!
//! The lemmas of all runs that no other one replaces, each once.

use super::knowledge::{ALL, Bit, Cube, Kind, Relation, is_subset};
use super::pdr::Search;
use postbop_ir::proof::{Maker, Place, Proof, Ref};
use postbop_ir::{LocId, ProcId, Table, VarId};

impl Search<'_, '_> {
    /// How many bits the lemmas of all runs have.
    pub fn size(&self) -> usize {
        if let Some(proof) = self.coarse.as_ref().and_then(|coarse| coarse.proof.as_ref()) {
            return proof.nodes().len();
        }
        let lemmas = self.known.iter().flat_map(|known| &known.lemmas);
        lemmas.filter(|lemma| lemma.level == ALL).map(|lemma| lemma.cube.len() + 1).sum()
    }

    /// The lemmas, as a proof that no target is reached that counts, if that is what they show.
    pub fn proof(&self) -> Option<Proof> {
        let (regions, program) = (self.regions, self.regions.program);
        let main = Relation::new(regions.entry(program.main()), Kind::Fail);
        if let Some(coarse) = self.coarse.as_ref().filter(|coarse| coarse.holds) {
            return coarse.proof.clone();
        }
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

    /// What lemmas leave open of a relation, which starts with the values of these places.
    fn open(&self, relation: Relation, start: fn(VarId) -> Place, maker: &mut Maker) -> Ref {
        if relation.kind() == Kind::Fail && !self.can_fail(relation.region()) {
            return Ref::FALSE;
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
