//! Room `engine/sat`: what the mode `qbf` has found, as a proof.
//!
//! # Idea
//!
//! Path edges are functions of choices: that a valuation is among them is said with a quantifier, *some choice leads there*, and a set of a proof has none. Decision diagrams
//! get rid of it. A level stands for each bit at entry, each bit now, and each choice; the choices of a path edge are projected away.
//!
//! There are sets at heads of loops, at entries and at exits; whoever checks the proof runs through everything else. At heads and exits they are the path edges that
//! were kept there. A failure is a function of the inputs, and of choices: an entry of which some choice fails is one that no call comes with, as otherwise the failure would have been
//! handed to a caller, and at last to `main`. So with A(e) for *e is in the cube of the entry and no choice fails*, the sets are
//!
//! ```text
//! entry    A(e), and now is as it was at entry
//! head     A(e), and for some choice a path edge leads from e to c
//! exit     A(e), and for some choice a summary edge leads from e to x
//! ```
//!
//! Where nothing calls `main`, path edges of it were compared without their entries, and its sets say nothing of these.
//!
//! A loop in a universal summary has no path edges that were compared, and what comes to its head in all rounds together is not closed in every program; so where there is such a summary there is no proof of this form. Lemmas may be one ([`super`]).
//!
//! # Cost
//!
//! That of projecting, which may be more than all of the search: a diagram of a function can be large where the function is not. Then there is no proof.

use super::covered::Place as At;
use super::entry::Entry;
use super::regions::Regions;
use super::worklist::Worklist;
use crate::budget::Budget;
use crate::encode::written::{Meanings, Writer};
use postbop_ir::proof::{self, Maker, Place};
use postbop_ir::{LocId, ProcId, Proof, Table};
use postbop_kit::aig::{Lit, Node};
use postbop_kit::bdd::{Bdd, Interrupted, Ref};
use rustc_hash::FxHashMap as HashMap;

/// The most vertices of one set that is computed.
const MOST: u64 = 1 << 22;

/// The level of a bit of a procedure at its entry, and now.
fn at_entry(bit: u32) -> u32 {
    2 * bit
}

fn now(bit: u32) -> u32 {
    2 * bit + 1
}

impl Worklist<'_, '_> {
    /// How many nodes the functions have that are looked at.
    pub fn size(&self) -> usize {
        self.entries().map(|(_, entry)| entry.aig.len()).sum()
    }

    /// What was found, when nothing else is to be found; none if that takes too much.
    pub fn proof(&mut self, budget: &Budget) -> Option<Proof> {
        let program = self.world.regions.program;
        let mut maker = Maker::default();
        let mut sets = Table::filled(program.locs().len(), Some(proof::Ref::FALSE));
        let mut levels: HashMap<(Place, u8), u32> = HashMap::default();
        let mut procs: Vec<ProcId> = self.entries().map(|(proc, _)| proc).collect();
        procs.sort_unstable();
        for proc in procs {
            let heads = self.heads(proc, &mut sets)?;
            let entry = self.entries().find(|(other, _)| *other == proc)?.1;
            let meanings = meanings(self.world.regions, proc);
            levels.extend(meanings.iter().map(|(&level, &bit)| (bit, level)));
            let mut writer = Writer::new(meanings);
            let mut diagrams = Diagrams::new(self.world.regions, entry, budget);
            let targets = entry.failures.iter().map(|failure| failure.target);
            let targets: Vec<LocId> = targets.filter(|&target| self.world.is_target(target)).collect();
            let allowed = diagrams.allowed(&targets).ok()?;
            let (first, last) = (program.procs()[proc].entry, program.procs()[proc].exit);
            let mut all =
                vec![(last, diagrams.at_exit(allowed).ok()?), (first, diagrams.begun(allowed).ok()?)];
            for head in heads {
                let bits = self.world.live(proc, head);
                all.push((head, diagrams.at_head(head, &bits, allowed).ok()?));
            }
            for (loc, set) in all {
                sets[loc] = Some(writer.set(&diagrams.bdd, set, &mut maker, budget).ok()?);
            }
        }
        for loc in program.locs().ids().filter(|&loc| self.world.is_target(loc)) {
            sets[loc] = Some(proof::Ref::FALSE);
        }
        Some(maker.finish(sets).with_bits_by(|place, bit| levels.get(&(place, bit))))
    }

    /// The heads of loops of a procedure. Other locations that control can get to have no sets.
    fn heads(&mut self, proc: ProcId, sets: &mut Table<LocId, Option<proof::Ref>>) -> Option<Vec<LocId>> {
        let order = self.world.order(proc).ok()?;
        let mut heads = Vec::new();
        for (&loc, end) in order.nest.row.iter().zip(&order.nest.end) {
            sets[LocId(loc)] = None;
            heads.extend(end.map(|_| LocId(loc)));
        }
        Some(heads)
    }
}

/// What the levels of a procedure stand for.
fn meanings(regions: &Regions, proc: ProcId) -> Meanings {
    let (layout, first) = (&regions.layouts[proc], regions.scopes.first_result(regions.program, proc));
    let mut meanings = Meanings::default();
    for bit in 0..layout.len() as u32 {
        let (field, nth) = layout.field(bit);
        match regions.var(proc, field) {
            Some(var) => {
                meanings.insert(at_entry(bit), (Place::Entry(var), nth as u8));
                meanings.insert(now(bit), (Place::Now(var), nth as u8));
            }
            None => {
                meanings.insert(now(bit), (Place::Result((field - first) as u32), nth as u8));
            }
        }
    }
    meanings
}

/// Diagrams of the functions of an entry.
struct Diagrams<'e, 'i, 'b> {
    regions: &'e Regions<'e>,
    entry: &'e Entry<'i>,
    bdd: Bdd<'b>,
    /// The levels of inputs.
    levels: HashMap<usize, u32>,
    /// The diagram of each node that has one.
    made: HashMap<usize, Ref>,
    /// The levels of choices.
    choices: Vec<u32>,
}

impl<'e, 'i, 'b> Diagrams<'e, 'i, 'b> {
    fn new(regions: &'e Regions<'e>, entry: &'e Entry<'i>, budget: &'b Budget) -> Self {
        let mut bdd = Bdd::new(move |_| budget.check_writing().is_ok());
        bdd.allow(MOST);
        let inputs = &regions.all[regions.entry(entry.proc) as usize].inputs;
        let free = entry.inputs.iter().zip(inputs).filter(|(lit, _)| !lit.is_constant());
        let levels = free.map(|(lit, &bit)| (lit.node(), at_entry(bit))).collect();
        Diagrams { regions, entry, bdd, levels, made: HashMap::default(), choices: Vec::new() }
    }

    /// The bits of the procedure that are inputs.
    fn inputs(&self) -> &'e [u32] {
        &self.regions.all[self.regions.entry(self.entry.proc) as usize].inputs
    }

    /// The diagram of a function.
    fn of(&mut self, lit: Lit) -> Result<Ref, Interrupted> {
        let entry = self.entry;
        for at in entry.aig.cone([lit]) {
            if self.made.contains_key(&at) {
                continue;
            }
            let made = match entry.aig.node(at) {
                Node::False => Ref::FALSE,
                Node::And(a, b) => self.bdd.and(self.known(a), self.known(b))?,
                Node::Input => {
                    let level = self.levels.get(&at).copied();
                    let level = level.unwrap_or_else(|| self.choice());
                    self.bdd.var(level)?
                }
            };
            self.made.insert(at, made);
        }
        Ok(self.known(lit))
    }

    /// The diagram of a function whose node has one.
    fn known(&self, lit: Lit) -> Ref {
        let plain = self.made.get(&lit.node()).copied().unwrap_or(Ref::FALSE);
        if lit.is_negated() { !plain } else { plain }
    }

    /// A level for another choice, below all others.
    fn choice(&mut self) -> u32 {
        let bits = self.regions.layouts[self.entry.proc].len() as u32;
        let level = now(bits) + self.choices.len() as u32;
        self.choices.push(level);
        level
    }

    /// A set without choices, and without entries where these do not matter.
    fn project(&mut self, set: Ref) -> Result<Ref, Interrupted> {
        let entries = if self.entry.is_called { &[] } else { self.inputs() };
        let levels = self.choices.iter().copied().chain(entries.iter().map(|&bit| at_entry(bit)));
        let plan = self.bdd.plan(levels, []);
        self.bdd.project(set, plan)
    }

    /// Which valuations at entry are in the cube, and come to no target.
    fn allowed(&mut self, targets: &[LocId]) -> Result<Ref, Interrupted> {
        let fixed = self.inputs().iter().zip(&self.entry.fixed);
        let fixed: Vec<(u32, bool)> =
            fixed.filter_map(|(&bit, value)| value.map(|value| (at_entry(bit), value))).collect();
        let mut allowed = self.bdd.cube(&fixed)?;
        for failure in &self.entry.failures {
            if targets.contains(&failure.target) {
                let fails = self.of(failure.guard)?;
                let fails = self.project(fails)?;
                allowed = self.bdd.and(allowed, !fails)?;
            }
        }
        Ok(allowed)
    }

    /// What is so when the procedure begins.
    fn begun(&mut self, allowed: Ref) -> Result<Ref, Interrupted> {
        if !self.entry.is_called {
            return Ok(Ref::TRUE);
        }
        let mut all = allowed;
        for &bit in self.inputs() {
            let (before, after) = (self.bdd.var(at_entry(bit))?, self.bdd.var(now(bit))?);
            let same = self.bdd.iff(before, after)?;
            all = self.bdd.and(all, same)?;
        }
        Ok(all)
    }

    /// A path edge as a relation.
    fn relation(&mut self, guard: Lit, bits: &[(u32, Lit)]) -> Result<Ref, Interrupted> {
        let mut all = self.of(guard)?;
        for &(bit, function) in bits {
            let (value, function) = (self.bdd.var(now(bit))?, self.of(function)?);
            let same = self.bdd.iff(value, function)?;
            all = self.bdd.and(all, same)?;
        }
        self.project(all)
    }

    /// The path edges at the head of a loop, which say something of these bits.
    fn at_head(&mut self, head: LocId, bits: &[usize], allowed: Ref) -> Result<Ref, Interrupted> {
        let entry = self.entry;
        let mut any = Ref::FALSE;
        for (guard, functions) in entry.known.get(&At::Head(head)).into_iter().flat_map(|known| known.all()) {
            let functions: Vec<(u32, Lit)> =
                bits.iter().map(|&bit| bit as u32).zip(functions.iter().copied()).collect();
            let one = self.relation(*guard, &functions)?;
            any = self.bdd.or(any, one)?;
        }
        self.bdd.and(any, allowed)
    }

    /// The summary edges. Where nothing calls the procedure there are none, and nobody asks.
    fn at_exit(&mut self, allowed: Ref) -> Result<Ref, Interrupted> {
        let (entry, outputs) = (self.entry, &self.regions.outputs[self.entry.proc]);
        if !entry.is_called {
            return Ok(Ref::TRUE);
        }
        let mut any = Ref::FALSE;
        for summary in &entry.summaries {
            let functions: Vec<(u32, Lit)> =
                outputs.iter().copied().zip(summary.outputs.iter().copied()).collect();
            let one = self.relation(summary.guard, &functions)?;
            any = self.bdd.or(any, one)?;
        }
        self.bdd.and(any, allowed)
    }
}
