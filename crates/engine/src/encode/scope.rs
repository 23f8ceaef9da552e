//! Room `engine/encode`: which variables a procedure can touch.
//!
//! # Idea
//!
//! A global that neither a procedure nor anything it calls reads or writes passes through it untouched, so it has no
//! place in the procedure's valuations and summaries. What is left are the procedure's *fields*, numbered from 0:
//! the globals it can touch, its locals, its results.
//!
//! # Paper
//!
//! [bebop] section 3.3, MOD/REF sets. # Cost: the call graph's components once, callees first; each procedure costs
//! the size of its body and of its callees' sets.

use postbop_ir::{Action, Id, ProcId, Program, Scope, Table, Type, VarId};
use postbop_kit::scc;

/// The fields of all procedures.
pub struct Scopes {
    /// The globals a procedure touches, in order; mutually recursive procedures share one list.
    touched: Vec<Vec<VarId>>,
    list: Table<ProcId, u32>,
    /// The position of each local among its procedure's.
    place: Table<VarId, u32>,
}

impl Scopes {
    /// The fields of the program's procedures.
    pub fn new(program: &Program) -> Self {
        let mut place = Table::filled(program.vars.len(), 0);
        for proc in program.procs.iter() {
            for (at, &var) in proc.locals.iter().enumerate() {
                place[var] = at as u32;
            }
        }
        let (mut own, callees) = direct(program);
        let components = scc::components(program.procs.len(), |proc| &callees[proc]);
        let mut touched: Vec<Vec<VarId>> = Vec::with_capacity(components.len());
        let mut list = Table::filled(program.procs.len(), u32::MAX);
        for component in components {
            let mut all = Vec::new();
            for &member in &component {
                all.append(&mut own[member as usize]);
                for &callee in &callees[member as usize] {
                    if let Some(known) = touched.get(list[ProcId(callee)] as usize) {
                        all.extend_from_slice(known);
                    }
                }
            }
            all.sort_unstable();
            all.dedup();
            for member in component {
                list[ProcId(member)] = touched.len() as u32;
            }
            touched.push(all);
        }
        Scopes { touched, list, place }
    }

    /// The globals that the procedure, or what it calls, reads or writes; in order.
    pub fn globals(&self, proc: ProcId) -> &[VarId] {
        &self.touched[self.list[proc] as usize]
    }

    /// The field of a variable; none for a global the procedure does not touch.
    pub fn field(&self, program: &Program, proc: ProcId, var: VarId) -> Option<usize> {
        let globals = self.globals(proc);
        match program.vars[var].scope {
            Scope::Global => globals.binary_search(&var).ok(),
            Scope::Local(_) => Some(globals.len() + self.place[var] as usize),
        }
    }

    /// The field of the procedure's first result; the others follow.
    pub fn first_result(&self, program: &Program, proc: ProcId) -> usize {
        self.globals(proc).len() + program.procs[proc].locals.len()
    }

    /// The number of fields of a procedure.
    pub fn len(&self, program: &Program, proc: ProcId) -> usize {
        self.first_result(program, proc) + program.procs[proc].results.len()
    }

    /// The types of a procedure's fields.
    pub fn types<'a>(&'a self, program: &'a Program, proc: ProcId) -> impl Iterator<Item = Type> + 'a {
        let vars = self.globals(proc).iter().chain(&program.procs[proc].locals);
        vars.map(|&var| program.vars[var].ty).chain(program.procs[proc].results.iter().copied())
    }

    /// The variable of a field; none for results.
    pub fn var(&self, program: &Program, proc: ProcId, field: usize) -> Option<VarId> {
        let globals = self.globals(proc);
        let local = || program.procs[proc].locals.get(field - globals.len());
        globals.get(field).or_else(local).copied()
    }
}

/// For each procedure the globals its own edges mention, and the procedures they call.
fn direct(program: &Program) -> (Vec<Vec<VarId>>, Vec<Vec<u32>>) {
    let mut own = vec![Vec::new(); program.procs.len()];
    let mut callees = vec![Vec::new(); program.procs.len()];
    for edge in program.edges.iter() {
        let proc = program.locs[edge.from].proc.index();
        let mentioned = &mut own[proc];
        let mut mention = |var: VarId| {
            if program.is_global(var) {
                mentioned.push(var);
            }
        };
        edge.action.exprs().flat_map(|expr| expr.reads()).for_each(&mut mention);
        match &edge.action {
            Action::Assign { targets: vars, .. } | Action::Havoc(vars) => {
                vars.iter().copied().for_each(&mut mention);
            }
            Action::Call { callee, results, .. } => {
                results.iter().flatten().copied().for_each(&mut mention);
                callees[proc].push(callee.0);
            }
            Action::Assume(_) | Action::Return(_) => {}
        }
    }
    for list in &mut own {
        list.sort_unstable();
        list.dedup();
    }
    for list in &mut callees {
        list.sort_unstable();
        list.dedup();
    }
    (own, callees)
}
