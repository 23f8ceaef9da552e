//! Room `engine/fixpoint`: the paths that an algorithm found, as a proof.
//!
//! # Idea
//!
//! An algorithm says which of its relations hold *paths*, pairs of a procedure's entry and a state reached from it, and where it keeps the *entries* that are
//! reached, if in a relation of their own. When the iteration has ended and no target is among the paths, all paths from entries that are reached are closed: whatever
//! the formulas look like. The part of them at a location, without the program counters, is the set there. Formulas may say
//! something of bits that are no variable of the procedure, such as that all bits are equal at an entry; these are projected away.
//!
//! # Cost
//!
//! An image for each location, and the vertices of what comes out.

use super::solve::Search;
use super::template::{PC, State};
use crate::encode::written::{Meanings, Writer};
use crate::verdict::Why;
use postbop_ir::proof::{self, Maker, Place};
use postbop_ir::{Id, LocId, ProcId, Proof, Table};
use postbop_kit::bdd::{Interrupted, Ref};
use postbop_kit::calculus::{DomainId, Stop};
use postbop_kit::groups::Groups;
use rustc_hash::FxHashMap as HashMap;

impl Search<'_, '_, '_, '_, '_> {
    /// What was found, when nothing else is to be found.
    pub(super) fn proof(&mut self) -> Result<Proof, Why> {
        let budget = self.budget;
        self.solver.bdd.set_interrupt(move |_| budget.check_writing().is_ok());
        let all = self.all_paths().map_err(|_| self.why(Stop::Interrupted))?;
        let states: Vec<Vec<Vec<u32>>> = (0..2)
            .map(|copy| {
                [PC, DomainId(1), DomainId(2)].map(|domain| self.solver.levels(domain, copy)).to_vec()
            })
            .collect();
        let program = self.task.program;
        let locs = program.locs().pairs().map(|(id, loc)| (loc.proc.index(), id.0));
        let locs = Groups::new(program.procs().len(), locs);
        let mut maker = Maker::default();
        let mut levels: HashMap<(Place, u8), u32> = HashMap::default();
        let mut sets = Table::filled(program.locs().len(), Some(proof::Ref::FALSE));
        for (id, proc) in program.procs().pairs() {
            let meanings = self.meanings(id, &states[0], &states[1]);
            levels.extend(meanings.iter().map(|(&level, &bit)| (bit, level)));
            let all_levels = states.iter().flatten().flatten().copied();
            let others: Vec<u32> = all_levels.filter(|level| !meanings.contains_key(level)).collect();
            let mut writer = Writer::new(meanings);
            let entry = self.solver.supply.pc_literals(proc.entry, &states[0][0]);
            for loc in locs.of(id.index()).iter().map(|&loc| LocId(loc)) {
                let here = [&entry[..], &self.solver.supply.pc_literals(loc, &states[1][0])].concat();
                let here = self.part(all, &here, &others).map_err(|_| self.why(Stop::Interrupted))?;
                sets[loc] = Some(writer.set(&self.solver.bdd, here, &mut maker, budget)?);
            }
        }
        Ok(maker.finish(sets).with_bits_by(|place, bit| levels.get(&(place, bit))))
    }

    /// All paths from entries that are reached.
    fn all_paths(&mut self) -> Result<Ref, Interrupted> {
        let everything = self.solver.everything(self.formulas.paths[0])?;
        let paths = self.growth(&self.formulas.paths, Some(everything))?.pop().unwrap_or(Ref::FALSE);
        match &self.formulas.entries[..] {
            [] => Ok(paths),
            entries => {
                let entries = self.growth(entries, None)?.pop().unwrap_or(Ref::FALSE);
                self.solver.bdd.and(paths, entries)
            }
        }
    }

    /// The part of a set with these literals, without some levels.
    fn part(&mut self, set: Ref, here: &[(u32, bool)], others: &[u32]) -> Result<Ref, Interrupted> {
        let bdd = &mut self.solver.bdd;
        let here = bdd.cube(here)?;
        let plan = bdd.plan(others.iter().copied(), []);
        bdd.image(set, here, plan)
    }

    /// What the levels of an entry and of a state of a procedure stand for.
    fn meanings(&self, proc: ProcId, entry: State, now: State) -> Meanings {
        let (machine, program, template) = (self.machine, self.task.program, &self.solver.supply);
        let first = machine.scopes.first_result(program, proc);
        let mut meanings = Meanings::default();
        for field in 0..machine.scopes.types(program, proc).count() {
            let var = machine.scopes.var(program, proc, field);
            let place = var.map_or_else(|| Place::Result((field - first) as u32), Place::Now);
            meanings.extend(template.levels(proc, field, now).into_iter().zip((0..).map(|bit| (place, bit))));
            if let Some(var) = var {
                let bits = (0..).map(|bit| (Place::Entry(var), bit));
                meanings.extend(template.levels(proc, field, entry).into_iter().zip(bits));
            }
        }
        meanings
    }
}
