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

use crate::expr::Expr;
use crate::ids::{EdgeId, Id, LocId, ProcId, Table, ThreadId, VarId};
use crate::types::Type;

/// A range of bytes of the source file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` to `end`.
    pub fn new(start: usize, end: usize) -> Self {
        let clip = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
        Span { start: clip(start), end: clip(end) }
    }

    /// The least span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
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

/// A program. Made by a [`Builder`]; read-only afterwards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// All variables of all procedures.
    pub vars: Table<VarId, Var>,
    /// All procedures.
    pub procs: Table<ProcId, Proc>,
    /// All locations of all procedures.
    pub locs: Table<LocId, Loc>,
    /// All edges of all procedures.
    pub edges: Table<EdgeId, Edge>,
    /// The labels, in the order of the source.
    pub labels: Vec<Label>,
    /// The locations that must not be reached, in the order of the source.
    pub checks: Vec<Check>,
    /// Where the first thread starts: all there is, if the program is sequential. Nothing calls it.
    pub main: ProcId,
    /// The threads; one, if the program is sequential.
    pub threads: Table<ThreadId, Thread>,
    /// What runs to its end before any thread starts.
    pub prologue: Option<ProcId>,
    /// The global Boolean that keeps other threads from running while it is 1.
    pub atomic: Option<VarId>,
    /// Where a run ends that would start one more thread than there is room for.
    pub no_room: Vec<LocId>,
    /// Globals that say where a run is rather than what it computes, if the program is a translation of another that had no need
    /// of them. They have no special meaning; an engine may put them first in its order of variables. The textual form leaves this out.
    pub control: Vec<VarId>,
    /// Edge ids ordered by the location they leave ...
    leaving: Vec<EdgeId>,
    /// ... and for each location where its own begin; one more at the end.
    first: Vec<u32>,
}

impl Program {
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

/// A program under construction.
#[derive(Default, Debug)]
pub struct Builder {
    /// All variables of all procedures.
    pub vars: Table<VarId, Var>,
    /// All procedures.
    pub procs: Table<ProcId, Proc>,
    /// All locations of all procedures.
    pub locs: Table<LocId, Loc>,
    /// All edges of all procedures.
    pub edges: Table<EdgeId, Edge>,
    /// The labels.
    pub labels: Vec<Label>,
    /// The locations that must not be reached.
    pub checks: Vec<Check>,
    /// The threads.
    pub threads: Table<ThreadId, Thread>,
    /// What runs before any of them.
    pub prologue: Option<ProcId>,
    /// What keeps the others from running.
    pub atomic: Option<VarId>,
    /// Where a run ends that finds no room for another thread.
    pub no_room: Vec<LocId>,
    /// What says where a run is.
    pub control: Vec<VarId>,
}

impl Builder {
    /// An empty program with room for so many locations and edges.
    pub fn with_room(locs: usize, edges: usize) -> Self {
        Builder { locs: Table::with_room(locs), edges: Table::with_room(edges), ..Builder::default() }
    }

    /// Adds a global variable.
    pub fn global(&mut self, name: &str, ty: Type) -> VarId {
        self.vars.push(Var { name: name.to_owned(), ty, scope: Scope::Global })
    }

    /// Adds a local variable to a procedure.
    pub fn local(&mut self, proc: ProcId, name: &str, ty: Type) -> VarId {
        let var = self.vars.push(Var { name: name.to_owned(), ty, scope: Scope::Local(proc) });
        self.procs[proc].locals.push(var);
        var
    }

    /// Adds a procedure with its entry and exit, without variables and edges. Parameters are the first `params`
    /// locals added later.
    pub fn proc(&mut self, name: &str, params: usize, results: Vec<Type>, span: Span) -> ProcId {
        let proc = ProcId::new(self.procs.len());
        let entry = self.loc(proc, span);
        let exit = self.loc(proc, span);
        self.procs.push(Proc {
            name: name.to_owned(),
            locals: Vec::new(),
            params,
            results,
            entry,
            exit,
            span,
        })
    }

    /// Adds a location to a procedure.
    pub fn loc(&mut self, proc: ProcId, span: Span) -> LocId {
        self.locs.push(Loc { proc, span, inner: false })
    }

    /// Adds a location within a statement.
    pub fn inner(&mut self, proc: ProcId, span: Span) -> LocId {
        self.locs.push(Loc { proc, span, inner: true })
    }

    /// Adds an edge.
    pub fn edge(&mut self, from: LocId, to: LocId, action: Action, span: Span) -> EdgeId {
        self.edges.push(Edge { from, to, action, span })
    }

    /// The finished sequential program. It is as well formed as what was put in: see [`crate::validate()`].
    pub fn finish(mut self, main: ProcId) -> Program {
        let name = self.procs.get(main).map_or_else(String::new, |proc| proc.name.clone());
        self.threads = [Thread { name, main }].into_iter().collect();
        self.finish_threads()
    }

    /// The finished program of the threads that were added, at least one.
    pub fn finish_threads(self) -> Program {
        let main = self.threads.iter().next().expect("a program has a thread").main;
        let mut first = vec![0u32; self.locs.len() + 1];
        for edge in self.edges.iter() {
            if let Some(count) = first.get_mut(edge.from.index() + 1) {
                *count += 1;
            }
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.clone();
        let mut leaving = vec![EdgeId(0); first[self.locs.len()] as usize];
        for (id, edge) in self.edges.pairs() {
            if edge.from.index() < self.locs.len() {
                leaving[next[edge.from.index()] as usize] = id;
                next[edge.from.index()] += 1;
            }
        }
        let Builder { vars, procs, locs, edges, labels, checks, threads, prologue, atomic, no_room, control } =
            self;
        Program {
            vars,
            procs,
            locs,
            edges,
            labels,
            checks,
            main,
            threads,
            prologue,
            atomic,
            no_room,
            control,
            leaving,
            first,
        }
    }
}
