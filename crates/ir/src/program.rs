//! Room `ir`: the program graph.
//!
//! Procedures are control-flow graphs over dense ids. Everything structured is gone: conditions are pairs of
//! assume edges, a failed assertion is a location of its own, arrays are their elements, initialisers are
//! assignments at the head of a procedure. See [`crate::eval`] and [`mod@crate::replay`] for what the actions do.
//!
//! # Threads
//!
//! A program is one or several *threads* over the same globals, each with a procedure to start in and a stack of its
//! own. A *prologue*, if there is one, runs to its end before any of them. Then one thread runs at a time: a
//! *context*. The *switch* to another thread happens where the source allows it: not at a location that is *inner*,
//! since it lies within one statement, and not while the variable *atomic* is 1; a thread that has ended can always
//! be left. A procedure belongs to one thread only, so a procedure that the source uses in two is there twice, and a
//! location says which thread is at it. A global that the procedures of one thread alone mention is private to it.

mod build;

pub use build::Builder;

use crate::expr::Expr;
use crate::ids::{EdgeId, FileId, Id, LocId, ProcId, Table, ThreadId, VarId};
use crate::types::Type;

/// A range of bytes of one of the source's files.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` to `end` of the first file, for many sources the only one.
    pub fn new(start: usize, end: usize) -> Self {
        Span::of(FileId(0), start, end)
    }

    /// The span from `start` to `end` of a file.
    pub fn of(file: FileId, start: usize, end: usize) -> Self {
        let clip = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
        Span { file, start: clip(start), end: clip(end) }
    }

    /// The least span that covers both, which are of one file.
    pub fn to(self, other: Span) -> Span {
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

impl Default for Span {
    fn default() -> Self {
        Span::new(0, 0)
    }
}

/// Where a variable lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    /// One copy, visible everywhere.
    Global,
    /// One copy per activation of the procedure.
    Local(ProcId),
}

/// A variable. Names need not be unique; those that start with `%` were invented by a translation and are not
/// shown to users.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Var {
    /// The name in the source.
    pub name: String,
    /// The values it holds.
    pub ty: Type,
    /// Where it lives.
    pub scope: Scope,
}

impl Var {
    /// Whether the variable was invented by a translation.
    pub fn is_hidden(&self) -> bool {
        self.name.starts_with('%')
    }
}

/// A procedure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proc {
    /// The name in the source.
    pub name: String,
    /// Its local variables, parameters first.
    pub locals: Vec<VarId>,
    /// How many of the locals are parameters.
    pub params: usize,
    /// The types of what it returns.
    pub results: Vec<Type>,
    /// Where it starts.
    pub entry: LocId,
    /// Where its return edges lead; nothing leaves it.
    pub exit: LocId,
    /// Its heading in the source.
    pub span: Span,
}

impl Proc {
    /// Its parameters.
    pub fn params(&self) -> &[VarId] {
        &self.locals[..self.params]
    }
}

/// A location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loc {
    /// The procedure it belongs to.
    pub proc: ProcId,
    /// The statement that starts here.
    pub span: Span,
    /// Whether it lies within one statement, so that no other thread can run while this one is here.
    pub inner: bool,
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// What users call it.
    pub name: String,
    /// Where it starts. Nothing calls it.
    pub main: ProcId,
    /// Whether it is not there from the beginning: it stays at its entry until another thread starts it.
    pub later: bool,
}

/// What happens along an edge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Goes on where some choice makes the condition true.
    Assume(Expr),
    /// All values are computed, then all are stored; no successor where the constraint is false. The constraint
    /// sees old values as [`crate::Op::Var`] and new ones as [`crate::Op::Next`].
    Assign {
        /// The distinct variables that change.
        targets: Vec<VarId>,
        /// Their new values.
        values: Vec<Expr>,
        /// What must hold of old and new values.
        constraint: Option<Expr>,
    },
    /// The variables become arbitrary.
    Havoc(Vec<VarId>),
    /// Runs a procedure; its locals other than parameters start arbitrary. The edge leads to where it returns.
    Call {
        /// The procedure.
        callee: ProcId,
        /// The values of its parameters.
        args: Vec<Expr>,
        /// Where its results go; `None` discards one.
        results: Vec<Option<VarId>>,
    },
    /// Ends the procedure with these results; the edge leads to the procedure's exit. In main it ends the run.
    Return(Vec<Expr>),
}

impl Action {
    /// An action that changes nothing.
    pub fn skip() -> Action {
        Action::Assume(Expr::bool(true))
    }

    /// The procedure that the action calls.
    pub fn callee(&self) -> Option<ProcId> {
        match self {
            Action::Call { callee, .. } => Some(*callee),
            _ => None,
        }
    }

    /// The variables of the procedure at hand, and the globals, that the action itself gives a value.
    pub fn writes(&self) -> impl Iterator<Item = VarId> + '_ {
        let (vars, results): (&[VarId], &[Option<VarId>]) = match self {
            Action::Assign { targets, .. } | Action::Havoc(targets) => (targets, &[]),
            Action::Call { results, .. } => (&[], results),
            Action::Assume(_) | Action::Return(_) => (&[], &[]),
        };
        vars.iter().copied().chain(results.iter().flatten().copied())
    }

    /// The variables that the action mentions, with repetitions.
    pub fn mentions(&self) -> impl Iterator<Item = VarId> + '_ {
        self.exprs().flat_map(Expr::reads).chain(self.writes())
    }

    /// The expressions of the action in the order of their evaluation. Choices are numbered in this order.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let (list, last): (&[Expr], Option<&Expr>) = match self {
            Action::Assume(e) => (std::slice::from_ref(e), None),
            Action::Assign { values, constraint, .. } => (values, constraint.as_ref()),
            Action::Havoc(_) => (&[], None),
            Action::Call { args, .. } => (args, None),
            Action::Return(values) => (values, None),
        };
        list.iter().chain(last)
    }
}

/// An edge of a procedure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Where it starts.
    pub from: LocId,
    /// Where it leads.
    pub to: LocId,
    /// What happens.
    pub action: Action,
    /// The statement it comes from.
    pub span: Span,
}

/// A name for a location. One name may label several locations, and one location have several names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The name.
    pub name: String,
    /// The location.
    pub loc: LocId,
}

/// What a check guards against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckKind {
    /// A failed `assert`.
    Assert,
    /// An array index out of range.
    Bounds,
}

/// A location that must not be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Check {
    /// What reaching it means.
    pub kind: CheckKind,
    /// The location.
    pub loc: LocId,
    /// The assertion, or the array access.
    pub span: Span,
}

/// A program. Made by a [`Builder`], and read-only afterwards: its user can rely on the invariants of
/// [`mod@crate::validate`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    vars: Table<VarId, Var>,
    procs: Table<ProcId, Proc>,
    locs: Table<LocId, Loc>,
    edges: Table<EdgeId, Edge>,
    labels: Vec<Label>,
    checks: Vec<Check>,
    threads: Table<ThreadId, Thread>,
    prologue: Option<ProcId>,
    atomic: Option<VarId>,
    no_room: Vec<LocId>,
    control: Vec<VarId>,
    /// Edge ids ordered by the location they leave ...
    leaving: Vec<EdgeId>,
    /// ... and for each location where its own begin; one more at the end.
    first: Vec<u32>,
}

impl Program {
    /// All variables of all procedures.
    pub fn vars(&self) -> &Table<VarId, Var> {
        &self.vars
    }

    /// All procedures.
    pub fn procs(&self) -> &Table<ProcId, Proc> {
        &self.procs
    }

    /// All locations of all procedures.
    pub fn locs(&self) -> &Table<LocId, Loc> {
        &self.locs
    }

    /// All edges of all procedures.
    pub fn edges(&self) -> &Table<EdgeId, Edge> {
        &self.edges
    }

    /// The labels, in the order of the source.
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// The locations that must not be reached, in the order of the source.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// The threads; one, if the program is sequential.
    pub fn threads(&self) -> &Table<ThreadId, Thread> {
        &self.threads
    }

    /// Where the first thread starts: all there is, if the program is sequential. Nothing calls it.
    pub fn main(&self) -> ProcId {
        self.threads[ThreadId(0)].main
    }

    /// The procedure that runs to its end before any thread starts.
    pub fn prologue(&self) -> Option<ProcId> {
        self.prologue
    }

    /// The global Boolean that keeps other threads from running while it is 1.
    pub fn atomic(&self) -> Option<VarId> {
        self.atomic
    }

    /// Where a run ends that would start one more thread than there is room for.
    pub fn no_room(&self) -> &[LocId] {
        &self.no_room
    }

    /// Globals that say where a run is rather than what it computes, if the program is a translation of another that had no need
    /// of them. They have no special meaning; an engine may put them first in its order of variables. The textual form leaves this out.
    pub fn control(&self) -> &[VarId] {
        &self.control
    }

    /// The edges that leave a location, in the order of their ids.
    pub fn leaving(&self, loc: LocId) -> &[EdgeId] {
        let at = loc.index();
        &self.leaving[self.first[at] as usize..self.first[at + 1] as usize]
    }

    /// The global variables.
    pub fn globals(&self) -> impl Iterator<Item = VarId> + '_ {
        self.vars.pairs().filter(|(_, var)| var.scope == Scope::Global).map(|(id, _)| id)
    }

    /// Whether a run is that of `main` and nothing else.
    pub fn is_sequential(&self) -> bool {
        self.threads.len() == 1 && self.prologue.is_none()
    }

    /// Whether a location is the exit of its procedure.
    pub fn is_exit(&self, loc: LocId) -> bool {
        self.procs[self.locs[loc].proc].exit == loc
    }

    /// The types of the choices that an action makes, in their order. One that makes variables arbitrary chooses once
    /// per variable.
    pub fn choices<'a>(&'a self, action: &'a Action) -> impl Iterator<Item = Type> + 'a {
        let vars: &[VarId] = if let Action::Havoc(vars) = action { vars } else { &[] };
        vars.iter().map(|&var| self.vars[var].ty).chain(action.exprs().flat_map(Expr::choices))
    }

    /// For each procedure those it calls, without repetitions, in the order of their ids.
    pub fn callees(&self) -> Table<ProcId, Vec<ProcId>> {
        let mut callees: Table<ProcId, Vec<ProcId>> = Table::filled(self.procs.len(), Vec::new());
        for edge in self.edges.iter() {
            if let Action::Call { callee, .. } = edge.action {
                callees[self.locs[edge.from].proc].push(callee);
            }
        }
        for proc in self.procs.ids() {
            callees[proc].sort_unstable();
            callees[proc].dedup();
        }
        callees
    }

    /// Which thread runs a procedure: none for those of the prologue, and for those that are never called.
    pub fn thread_of(&self) -> Table<ProcId, Option<ThreadId>> {
        let mut thread = Table::filled(self.procs.len(), None);
        let callees = self.callees();
        for (id, data) in self.threads.pairs() {
            let mut work = vec![data.main];
            while let Some(proc) = work.pop() {
                if thread[proc].replace(id).is_none() {
                    work.extend(&callees[proc]);
                }
            }
        }
        thread
    }

    /// Whether the variable is global.
    pub fn is_global(&self, var: VarId) -> bool {
        self.vars[var].scope == Scope::Global
    }
}
