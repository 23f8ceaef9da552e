//! Room `ir`: a program under construction.
//!
//! A builder takes rows in any order and hands over a [`Program`] only as a whole. A translation that builds one promises that it
//! is well formed, which [`Builder::finish`] and [`Builder::finish_threads`] test where debug assertions are on: a flaw is a bug. What
//! comes from outside goes through [`Builder::validated`], where a flaw is the user's.

use super::{Action, Check, CheckKind, Edge, Label, Loc, Proc, Program, Scope, Span, Thread, Var};
use crate::ids::{EdgeId, Id, LocId, ProcId, Table, ThreadId, VarId};
use crate::types::Type;
use crate::validate::{Flaw, validate};

/// A program under construction.
#[derive(Debug)]
pub struct Builder {
    program: Program,
}

impl Default for Builder {
    fn default() -> Self {
        Builder::with_room(0, 0)
    }
}

impl Builder {
    /// An empty program with room for so many locations and edges.
    pub fn with_room(locs: usize, edges: usize) -> Self {
        Builder {
            program: Program {
                vars: Table::new(),
                procs: Table::new(),
                locs: Table::with_room(locs),
                edges: Table::with_room(edges),
                labels: Vec::new(),
                checks: Vec::new(),
                threads: Table::new(),
                prologue: None,
                atomic: None,
                no_room: Vec::new(),
                control: Vec::new(),
                leaving: Vec::new(),
                first: Vec::new(),
            },
        }
    }

    /// The variables, procedures and locations of a program, with the same ids and without an edge: where a translation into a
    /// sequential program begins. No location is inner, since no other thread can run.
    pub fn without_edges(program: &Program) -> Self {
        let mut builder = Builder::default();
        builder.program.vars = program.vars.clone();
        builder.program.procs = program.procs.clone();
        builder.program.locs = program.locs.iter().map(|loc| Loc { inner: false, ..*loc }).collect();
        builder
    }

    /// The variables, procedures, locations, threads and what belongs to them, with the same ids and without an edge: where a translation
    /// into a program with the same threads begins.
    pub fn with_threads(program: &Program) -> Self {
        let mut builder = Builder::default();
        let Program { vars, procs, locs, threads, no_room, .. } = program.clone();
        let Program { prologue, atomic, .. } = *program;
        builder.program =
            Program { vars, procs, locs, threads, prologue, atomic, no_room, ..builder.program };
        builder
    }

    /// The variables so far.
    pub fn vars(&self) -> &Table<VarId, Var> {
        &self.program.vars
    }

    /// The procedures so far.
    pub fn procs(&self) -> &Table<ProcId, Proc> {
        &self.program.procs
    }

    /// The locations so far.
    pub fn locs(&self) -> &Table<LocId, Loc> {
        &self.program.locs
    }

    /// The edges so far.
    pub fn edges(&self) -> &Table<EdgeId, Edge> {
        &self.program.edges
    }

    /// The labels so far.
    pub fn labels(&self) -> &[Label] {
        &self.program.labels
    }

    /// The threads so far.
    pub fn threads(&self) -> &Table<ThreadId, Thread> {
        &self.program.threads
    }

    /// Adds a variable as it stands. The row of a procedure that owns it lists it already.
    pub fn push_var(&mut self, var: Var) -> VarId {
        self.program.vars.push(var)
    }

    /// Adds a procedure as it stands, whose locations and locals are there or will be.
    pub fn push_proc(&mut self, proc: Proc) -> ProcId {
        self.program.procs.push(proc)
    }

    /// Adds a location as it stands.
    pub fn push_loc(&mut self, loc: Loc) -> LocId {
        self.program.locs.push(loc)
    }

    /// Adds a global variable.
    pub fn global(&mut self, name: &str, ty: Type) -> VarId {
        self.push_var(Var { name: name.to_owned(), ty, scope: Scope::Global })
    }

    /// Adds a local variable to a procedure.
    pub fn local(&mut self, proc: ProcId, name: &str, ty: Type) -> VarId {
        let var = self.push_var(Var { name: name.to_owned(), ty, scope: Scope::Local(proc) });
        self.program.procs[proc].locals.push(var);
        var
    }

    /// Adds a procedure with its entry and exit, without variables and edges. Parameters are the first `params`
    /// locals added later.
    pub fn proc(&mut self, name: &str, params: usize, results: Vec<Type>, span: Span) -> ProcId {
        let proc = ProcId::new(self.program.procs.len());
        let entry = self.loc(proc, span);
        let exit = self.loc(proc, span);
        let (name, locals) = (name.to_owned(), Vec::new());
        self.push_proc(Proc { name, locals, params, results, entry, exit, span })
    }

    /// Adds a location to a procedure.
    pub fn loc(&mut self, proc: ProcId, span: Span) -> LocId {
        self.push_loc(Loc { proc, span, inner: false })
    }

    /// Adds a location within a statement.
    pub fn inner(&mut self, proc: ProcId, span: Span) -> LocId {
        self.push_loc(Loc { proc, span, inner: true })
    }

    /// Lets a procedure begin at another of its locations.
    pub fn set_entry(&mut self, proc: ProcId, entry: LocId) {
        self.program.procs[proc].entry = entry;
    }

    /// Says which statement starts at a location.
    pub fn set_span(&mut self, loc: LocId, span: Span) {
        self.program.locs[loc].span = span;
    }

    /// Adds an edge.
    pub fn edge(&mut self, from: LocId, to: LocId, action: Action, span: Span) -> EdgeId {
        self.program.edges.push(Edge { from, to, action, span })
    }

    /// Gives an edge another action.
    pub fn set_action(&mut self, edge: EdgeId, action: Action) {
        self.program.edges[edge].action = action;
    }

    /// Adds a label.
    pub fn label(&mut self, name: impl Into<String>, loc: LocId) {
        self.program.labels.push(Label { name: name.into(), loc });
    }

    /// Adds a location that must not be reached.
    pub fn check(&mut self, kind: CheckKind, loc: LocId, span: Span) {
        self.program.checks.push(Check { kind, loc, span });
    }

    /// Adds a location where a run ends that finds no room for another thread.
    pub fn no_room(&mut self, loc: LocId) {
        self.program.no_room.push(loc);
    }

    /// Adds a thread.
    pub fn thread(&mut self, name: impl Into<String>, main: ProcId) -> ThreadId {
        self.program.threads.push(Thread { name: name.into(), main, later: false })
    }

    /// Says that a thread is not there from the beginning.
    pub fn set_later(&mut self, thread: ThreadId) {
        self.program.threads[thread].later = true;
    }

    /// Sets the procedure that runs before any thread.
    pub fn set_prologue(&mut self, prologue: Option<ProcId>) {
        self.program.prologue = prologue;
    }

    /// Sets the variable that keeps other threads from running.
    pub fn set_atomic(&mut self, atomic: Option<VarId>) {
        self.program.atomic = atomic;
    }

    /// Sets the variables that say where a run is.
    pub fn set_control(&mut self, control: Vec<VarId>) {
        self.program.control = control;
    }

    /// The finished sequential program. It must be well formed.
    pub fn finish(mut self, main: ProcId) -> Program {
        let name = self.program.procs[main].name.clone();
        self.program.threads = [Thread { name, main, later: false }].into_iter().collect();
        self.finish_threads()
    }

    /// The finished program of the threads that were added. It must be well formed.
    pub fn finish_threads(self) -> Program {
        let program = self.indexed();
        debug_assert_eq!(validate(&program), [], "the program that was built is not well formed");
        program
    }

    /// The finished program of the threads that were added, or everything that is wrong with it.
    pub fn validated(self) -> Result<Program, Vec<Flaw>> {
        let program = self.indexed();
        let flaws = validate(&program);
        if flaws.is_empty() { Ok(program) } else { Err(flaws) }
    }

    /// The program with its edges sorted by the location they leave. Edges from nowhere are left to `validate`.
    fn indexed(self) -> Program {
        let mut program = self.program;
        let mut first = vec![0u32; program.locs.len() + 1];
        for edge in program.edges.iter() {
            if let Some(count) = first.get_mut(edge.from.index() + 1) {
                *count += 1;
            }
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.clone();
        let mut leaving = vec![EdgeId(0); first[program.locs.len()] as usize];
        for (id, edge) in program.edges.pairs() {
            if edge.from.index() < program.locs.len() {
                leaving[next[edge.from.index()] as usize] = id;
                next[edge.from.index()] += 1;
            }
        }
        (program.leaving, program.first) = (leaving, first);
        program
    }
}
