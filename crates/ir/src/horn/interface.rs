//! Room `ir/horn`: what the relations of a procedure speak of.

use super::clause::Slot;
use super::symbol::Symbol;
use crate::expr::Op;
use crate::ids::{LocId, ProcId, Table, VarId};
use crate::program::Program;
use crate::types::Type;
use std::collections::BTreeSet;

/// A relation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Relation {
    /// At a location: entry values, values now.
    At(LocId),
    /// The summary of a procedure: entry values, what it leaves behind.
    Returns(ProcId),
    /// The entry values from which a target is reached.
    Fails(ProcId),
}

/// What a proof speaks of besides.
#[derive(Default)]
pub struct Extra {
    /// Globals that sets of a procedure mention.
    pub globals: BTreeSet<(ProcId, VarId)>,
    /// Locals that are no parameters, whose values at the entry matter.
    pub remembered: BTreeSet<VarId>,
    /// Locals whose values at the exit matter.
    pub left: BTreeSet<VarId>,
}

/// The interfaces of all procedures.
pub struct Interfaces<'a> {
    program: &'a Program,
    globals: Vec<VarId>,
    /// For each procedure a bit for each global: whether it or a callee mentions it, and whether they may change it.
    touched: Table<ProcId, Vec<u64>>,
    written: Table<ProcId, Vec<u64>>,
    /// Whether an edge changes a local.
    changed: Table<VarId, bool>,
    /// Whether a procedure, or one that it calls, has a target.
    has_target: Table<ProcId, bool>,
    /// Whether `main` calls it, at last.
    used: Table<ProcId, bool>,
    locs: Table<ProcId, Vec<LocId>>,
    extra: &'a Extra,
}

fn bit(bits: &[u64], at: usize) -> bool {
    bits[at / 64] >> (at % 64) & 1 != 0
}

/// Adds all bits; whether there is a new one.
fn union(to: &mut [u64], from: &[u64]) -> bool {
    to.iter_mut().zip(from).fold(false, |new, (to, from)| {
        let more = *to | *from;
        std::mem::replace(to, more) != more || new
    })
}

impl<'a> Interfaces<'a> {
    /// The interfaces for these targets.
    pub fn new(program: &'a Program, targets: &[LocId], extra: &'a Extra) -> Self {
        let globals: Vec<VarId> = program.globals().collect();
        let mut place = Table::filled(program.vars().len(), 0usize);
        globals.iter().enumerate().for_each(|(at, &var)| place[var] = at);
        let none = vec![0u64; globals.len().div_ceil(64)];
        let count = program.procs().len();
        let mut touched = Table::filled(count, none.clone());
        let mut written = Table::filled(count, none);
        let mut changed = Table::filled(program.vars().len(), false);
        for edge in program.edges().iter() {
            let proc = program.locs()[edge.from].proc;
            let next = |op: &Op| if let Op::Next(var) = op { Some(*var) } else { None };
            let nexts = edge.action.exprs().flat_map(|expr| expr.code.iter()).filter_map(next);
            for var in edge.action.mentions().chain(nexts).filter(|&var| program.is_global(var)) {
                touched[proc][place[var] / 64] |= 1 << (place[var] % 64);
            }
            for var in edge.action.writes() {
                match program.is_global(var) {
                    true => written[proc][place[var] / 64] |= 1 << (place[var] % 64),
                    false => changed[var] = true,
                }
            }
        }
        for &(proc, var) in &extra.globals {
            touched[proc][place[var] / 64] |= 1 << (place[var] % 64);
        }
        let mut has_target = Table::filled(count, false);
        targets.iter().for_each(|&target| has_target[program.locs()[target].proc] = true);
        let mut locs = Table::filled(count, Vec::new());
        program.locs().pairs().for_each(|(id, loc)| locs[loc.proc].push(id));
        let used = program.thread_of().iter().map(Option::is_some).collect();
        let mut all =
            Interfaces { program, globals, touched, written, changed, has_target, used, locs, extra };
        all.close();
        all
    }

    /// What a callee does, its caller does.
    fn close(&mut self) {
        let callees = self.program.callees();
        let mut callers: Table<ProcId, Vec<ProcId>> = Table::filled(callees.len(), Vec::new());
        for (caller, all) in callees.pairs() {
            all.iter().for_each(|&callee| callers[callee].push(caller));
        }
        let mut work: Vec<ProcId> = self.program.procs().ids().collect();
        while let Some(callee) = work.pop() {
            let touched = self.touched[callee].clone();
            let written = self.written[callee].clone();
            let has_target = self.has_target[callee];
            for &caller in &callers[callee] {
                let mut new = union(&mut self.touched[caller], &touched);
                new |= union(&mut self.written[caller], &written);
                new |= has_target && !std::mem::replace(&mut self.has_target[caller], true);
                if new {
                    work.push(caller);
                }
            }
        }
    }

    /// Whether a run can get into the procedure.
    pub fn is_used(&self, proc: ProcId) -> bool {
        self.used[proc]
    }

    /// Whether there is a relation of the entry values from which it fails.
    pub fn can_fail(&self, proc: ProcId) -> bool {
        self.has_target[proc] || proc == self.program.main()
    }

    /// The locations of a procedure.
    pub fn locs(&self, proc: ProcId) -> &[LocId] {
        &self.locs[proc]
    }

    /// The globals that it or its callees mention.
    pub fn globals(&self, proc: ProcId) -> impl Iterator<Item = VarId> + '_ {
        let touched = &self.touched[proc];
        self.globals.iter().enumerate().filter(|(at, _)| bit(touched, *at)).map(|(_, &var)| var)
    }

    /// The variables in scope.
    pub fn scope(&self, proc: ProcId) -> impl Iterator<Item = VarId> + '_ {
        self.globals(proc).chain(self.program.procs()[proc].locals.iter().copied())
    }

    /// Locals that are no parameters, whose values at the entry matter.
    pub fn remembered(&self, proc: ProcId) -> impl Iterator<Item = VarId> + '_ {
        let data = &self.program.procs()[proc];
        data.locals[data.params..].iter().copied().filter(|var| self.extra.remembered.contains(var))
    }

    /// The variables whose entry values relations speak of.
    pub fn inputs(&self, proc: ProcId) -> impl Iterator<Item = VarId> + '_ {
        let params = self.program.procs()[proc].params().iter().copied();
        self.globals(proc).chain(params).chain(self.remembered(proc))
    }

    /// Whether a variable may have another value than at the entry.
    pub fn is_changed(&self, proc: ProcId, var: VarId) -> bool {
        match self.program.is_global(var) {
            true => bit(&self.written[proc], self.globals.binary_search(&var).unwrap_or(0)),
            false => self.changed[var],
        }
    }

    /// The inputs that may have another value than at the entry.
    pub fn kept(&self, proc: ProcId) -> impl Iterator<Item = VarId> + '_ {
        self.inputs(proc).filter(move |&var| self.is_changed(proc, var))
    }

    /// The globals that a caller finds changed.
    pub fn outputs(&self, proc: ProcId) -> impl Iterator<Item = VarId> + '_ {
        self.globals(proc).filter(move |&var| self.is_changed(proc, var))
    }

    /// Locals whose values at the exit matter.
    pub fn left(&self, proc: ProcId) -> impl Iterator<Item = VarId> + '_ {
        self.program.procs()[proc].locals.iter().copied().filter(|var| self.extra.left.contains(var))
    }

    /// The value at the entry of an input, where a procedure is under way.
    pub fn entered(&self, proc: ProcId, var: VarId) -> Slot {
        if self.is_changed(proc, var) { Slot::Entry(var) } else { Slot::Now(var) }
    }

    /// All relations, procedure by procedure.
    pub fn relations(&self) -> impl Iterator<Item = Relation> + '_ {
        let used = self.program.procs().ids().filter(|&proc| self.used[proc]);
        used.flat_map(|proc| {
            let inner = self.locs[proc].iter().copied().filter(|&loc| !self.program.is_exit(loc));
            let fails = self.can_fail(proc).then_some(Relation::Fails(proc));
            inner.map(Relation::At).chain([Relation::Returns(proc)]).chain(fails)
        })
    }

    /// The arguments of a relation, under their names where it is defined, with their types.
    pub fn arguments(&self, relation: Relation) -> Vec<(Slot, Type)> {
        let proc = match relation {
            Relation::At(loc) => self.program.locs()[loc].proc,
            Relation::Returns(proc) | Relation::Fails(proc) => proc,
        };
        let mut slots: Vec<Slot> = match relation {
            Relation::At(_) => self.kept(proc).map(Slot::Entry).collect(),
            Relation::Returns(_) => self.inputs(proc).map(|var| self.entered(proc, var)).collect(),
            Relation::Fails(_) => self.inputs(proc).map(Slot::Now).collect(),
        };
        match relation {
            Relation::At(_) => slots.extend(self.scope(proc).map(Slot::Now)),
            Relation::Returns(_) => {
                slots.extend(self.outputs(proc).chain(self.left(proc)).map(Slot::Now));
                let results = 0..self.program.procs()[proc].results.len() as u32;
                slots.extend(results.map(|at| Slot::Result(at, 0)));
            }
            Relation::Fails(_) => {}
        }
        let ty = |slot: Slot| match slot.var() {
            Some(var) => self.program.vars()[var].ty,
            None => self.program.procs()[proc].results[slot.number()],
        };
        slots.into_iter().map(|slot| (slot, ty(slot))).collect()
    }

    /// The name of a relation.
    pub fn name(&self, relation: Relation) -> String {
        let name = |proc: ProcId| self.program.procs()[proc].name.as_str();
        match relation {
            Relation::At(loc) => {
                Symbol(name(self.program.locs()[loc].proc), format_args!(".{loc}")).to_string()
            }
            Relation::Returns(proc) => Symbol(name(proc), format_args!(".returns.{proc}")).to_string(),
            Relation::Fails(proc) => Symbol(name(proc), format_args!(".fails.{proc}")).to_string(),
        }
    }
}
