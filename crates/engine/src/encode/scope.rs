//! Room `engine/encode`: which variables a procedure can touch.
//!
//! # Idea
//!
//! A global that neither a procedure nor anything it calls reads or writes passes through it untouched, so it has no
//! place in the procedure's valuations and summaries. The other variables are the procedure's *fields*,
//! numbered from 0: the globals it can touch, its locals, its results.
//!
//! # Paper
//!
//! \[bebop\] section 3.3, MOD/REF sets. # Cost: the call graph's components once, callees first; each procedure costs
//! the size of its body and of its callees' sets.

use postbop_ir::{Action, Id, ProcId, Program, Scope, Table, Type, VarId};
use postbop_kit::scc;
use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};
use smallvec::SmallVec;
use std::hash::BuildHasher;

/// The fields of all procedures.
pub struct Scopes {
    /// The globals that procedures touch, and those they write, in order; each list once.
    touched: Vec<Vec<VarId>>,
    written: Vec<Vec<VarId>>,
    /// The number of each procedure's component of the call graph, callees first; and for each component its two lists.
    rank: Table<ProcId, u32>,
    lists: Vec<[u32; 2]>,
    /// The position of each local among its procedure's.
    place: Table<VarId, u32>,
}

impl Scopes {
    /// The fields of the program's procedures.
    pub fn new(program: &Program) -> Self {
        let place = places(program);
        let Direct { mut touched, mut written, callees } = direct(program);
        let components = scc::components(program.procs().len(), |proc| &callees[proc]);
        let mut rank = Table::filled(program.procs().len(), u32::MAX);
        for (number, component) in components.iter().enumerate() {
            component.iter().for_each(|&member| rank[ProcId(member)] = number as u32);
        }
        let join = |own: &mut Vec<Vec<VarId>>| {
            let mut joined = Lists::default();
            for component in &components {
                let mut all = Vec::new();
                for &member in component {
                    all.append(&mut own[member as usize]);
                    let ranks = callees[member as usize].iter().map(|&callee| rank[ProcId(callee)] as usize);
                    // Those of the component itself have no list yet.
                    let mut known: SmallVec<[u32; 4]> =
                        ranks.filter_map(|rank| joined.numbers.get(rank).copied()).collect();
                    known.sort_unstable();
                    known.dedup();
                    known.iter().for_each(|&list| all.extend_from_slice(&joined.lists[list as usize]));
                }
                all.sort_unstable();
                all.dedup();
                joined.push(all);
            }
            joined
        };
        let (touched, written) = (join(&mut touched), join(&mut written));
        let lists = touched.numbers.iter().zip(&written.numbers).map(|(&one, &other)| [one, other]).collect();
        Scopes { touched: touched.lists, written: written.lists, rank, lists, place }
    }

    /// The fields when every procedure is said to touch, and to write, every global.
    pub fn full(program: &Program) -> Self {
        let globals: Vec<VarId> = program.globals().collect();
        let rank = Table::filled(program.procs().len(), 0);
        let (touched, written, lists) = (vec![globals.clone()], vec![globals], vec![[0, 0]]);
        Scopes { touched, written, rank, lists, place: places(program) }
    }

    /// The globals that the procedure, or what it calls, writes; in order.
    pub fn written(&self, proc: ProcId) -> &[VarId] {
        &self.written[self.lists[self.rank[proc] as usize][1] as usize]
    }

    /// A number that is smaller for callees than for callers, and equal for mutually recursive procedures.
    pub fn rank(&self, proc: ProcId) -> u32 {
        self.rank[proc]
    }

    /// A number that is equal for procedures that touch the same globals.
    pub fn list(&self, proc: ProcId) -> u32 {
        self.lists[self.rank[proc] as usize][0]
    }

    /// The globals that the procedure, or what it calls, reads or writes; in order.
    pub fn globals(&self, proc: ProcId) -> &[VarId] {
        &self.touched[self.list(proc) as usize]
    }

    /// The field of a variable; none for a global the procedure does not touch.
    pub fn field(&self, program: &Program, proc: ProcId, var: VarId) -> Option<usize> {
        let globals = self.globals(proc);
        match program.vars()[var].scope {
            Scope::Global => globals.binary_search(&var).ok(),
            Scope::Local(_) => Some(globals.len() + self.place[var] as usize),
        }
    }

    /// The fields of the globals that a callee touches: in a procedure that calls it, and in the callee.
    pub fn shared(&self, caller: ProcId, callee: ProcId) -> impl Iterator<Item = (usize, usize)> + '_ {
        let here = self.globals(caller);
        let mut at = 0;
        self.globals(callee).iter().enumerate().map(move |(there, var)| {
            // As a rule neighbours in one list are neighbours in the other.
            if here[at] != *var {
                at += here[at..].partition_point(|other| other < var);
            }
            debug_assert_eq!(here[at], *var, "callers touch what callees touch");
            at += 1;
            (at - 1, there)
        })
    }

    /// The position of a local among its procedure's.
    pub fn place(&self, local: VarId) -> u32 {
        self.place[local]
    }

    /// The field of the procedure's first result; the others follow.
    pub fn first_result(&self, program: &Program, proc: ProcId) -> usize {
        self.globals(proc).len() + program.procs()[proc].locals.len()
    }

    /// The number of fields of a procedure.
    pub fn len(&self, program: &Program, proc: ProcId) -> usize {
        self.first_result(program, proc) + program.procs()[proc].results.len()
    }

    /// The types of a procedure's fields.
    pub fn types<'a>(&'a self, program: &'a Program, proc: ProcId) -> impl Iterator<Item = Type> + 'a {
        let vars = self.globals(proc).iter().chain(&program.procs()[proc].locals);
        vars.map(|&var| program.vars()[var].ty).chain(program.procs()[proc].results.iter().copied())
    }

    /// The variable of a field; none for results.
    pub fn var(&self, program: &Program, proc: ProcId, field: usize) -> Option<VarId> {
        let globals = self.globals(proc);
        let local = || program.procs()[proc].locals.get(field - globals.len());
        globals.get(field).or_else(local).copied()
    }
}

/// Lists, each once, and the number of each that was given.
#[derive(Default)]
struct Lists {
    lists: Vec<Vec<VarId>>,
    numbers: Vec<u32>,
    known: HashMap<u64, SmallVec<[u32; 1]>>,
}

impl Lists {
    fn push(&mut self, list: Vec<VarId>) {
        let alike = self.known.entry(FxBuildHasher.hash_one(&list)).or_default();
        let known = alike.iter().copied().find(|&known| self.lists[known as usize] == list);
        self.numbers.push(known.unwrap_or_else(|| {
            alike.push(self.lists.len() as u32);
            self.lists.push(list);
            self.lists.len() as u32 - 1
        }));
    }
}

/// The position of each local among its procedure's.
fn places(program: &Program) -> Table<VarId, u32> {
    let mut place = Table::filled(program.vars().len(), 0);
    for proc in program.procs().iter() {
        for (at, &var) in proc.locals.iter().enumerate() {
            place[var] = at as u32;
        }
    }
    place
}

/// What the edges of each procedure itself mention.
struct Direct {
    touched: Vec<Vec<VarId>>,
    written: Vec<Vec<VarId>>,
    callees: Vec<Vec<u32>>,
}

fn direct(program: &Program) -> Direct {
    let mut touched = vec![Vec::new(); program.procs().len()];
    let mut written = vec![Vec::new(); program.procs().len()];
    let mut callees = vec![Vec::new(); program.procs().len()];
    for edge in program.edges().iter() {
        let proc = program.locs()[edge.from].proc.index();
        let is_global = |var: &VarId| program.is_global(*var);
        touched[proc].extend(edge.action.exprs().flat_map(|expr| expr.reads()).filter(is_global));
        match &edge.action {
            Action::Assign { targets: vars, .. } | Action::Havoc(vars) => {
                written[proc].extend(vars.iter().copied().filter(is_global));
            }
            Action::Call { callee, results, .. } => {
                written[proc].extend(results.iter().flatten().copied().filter(is_global));
                callees[proc].push(callee.0);
            }
            Action::Assume(_) | Action::Return(_) => {}
        }
    }
    for (touched, written) in touched.iter_mut().zip(&mut written) {
        written.sort_unstable();
        written.dedup();
        touched.extend_from_slice(written);
        touched.sort_unstable();
        touched.dedup();
    }
    for list in &mut callees {
        list.sort_unstable();
        list.dedup();
    }
    Direct { touched, written, callees }
}
