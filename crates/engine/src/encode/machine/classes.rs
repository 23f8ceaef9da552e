//! Room `engine/encode`: equivalence classes of procedures and of edges.
//!
//! # Idea
//!
//! Large programs repeat themselves: the same assignment in a thousand procedures that are copies but for names.
//! A result that is computed for one such edge (its code on packed valuations, its relation as a decision diagram, a
//! step of a trace along it) can often serve for all of them. So procedures and edges are sorted into *classes*.
//! Code is kept once for each class; diagrams and steps of traces are kept by class together with what else they depend on (see *Invariant*).
//!
//! The fields of a procedure are the globals that it can touch, its locals, and its results
//! ([`crate::encode::scope`]). A valuation is a *row*: its fields packed into machine words ([`super::layout`]).
//!
//! * Two procedures are in the same class only if a row means the same in both: they touch and write the same globals, have as many
//!   parameters and locals, and fields of the same types in the same order; the same fields are live at both entries, and
//!   the same at both exits.
//! * Two edges are in the same class only if their procedures are, the same fields are live before both, and the same after both (code and
//!   relations say nothing of fields that are not live), and their actions are the same when locals are named by their place in the procedure; instead of the same
//!   callee, calls need only callees of one class.
//!
//! The converse holds up to the limits under *Cost*.
//!
//! # Invariant
//!
//! Two edges of one class that are no calls relate each row to the same set of rows. From the same row, calls of one class enter their
//! callees with the same rows; if the callees then return the same row, both go on with the same row. But callees may have
//! different bodies. A class of procedures is represented by its first member ([`Classes::models`]). Decision diagrams also depend on
//! slots, on which parameters are written, and on whether the procedure is `main`: see *placement* in [`crate::encode::arrangement`] and *encoding class* in [`crate::encode::relation`].
//! A class consists of one or more placements, a placement of one or more encoding classes.
//!
//! # Cost
//!
//! The properties above of each procedure, and of each edge, are written as words, its *key*. Members with equal keys form a class. Once the table of keys is full, a
//! member with a new key is a class of its own. Time is linear in the size of the edges and in the fields of each procedure; each edge adds the live fields of two
//! locations, at most [`MOST_WORDS`] words each. Where a procedure has more fields than [`MOST_WORDS`] words have bits, keys would be long and seldom equal: there the
//! procedure and each of its edges are classes of their own.

use crate::encode::live::Live;
use crate::encode::scope::Scopes;
use postbop_ir::{Action, Edge, EdgeId, Expr, LocId, Op, ProcId, Program, Scope, Table, Type, VarId};
use postbop_kit::rows::Rows;

/// Procedures with more fields than this many words have bits are not compared, nor are their edges.
const MOST_WORDS: usize = 4;

/// The classes of procedures and of edges.
pub struct Classes {
    /// The class of each procedure.
    pub procs: Table<ProcId, u32>,
    /// How many classes of procedures there are.
    pub proc_classes: usize,
    /// The class of each edge.
    pub edges: Table<EdgeId, u32>,
    /// How many classes of edges there are.
    pub edge_classes: usize,
}

/// Finds classes.
struct Sorter<'a> {
    program: &'a Program,
    scopes: &'a Scopes,
    live: &'a Live,
    /// The key being written.
    key: Vec<u64>,
    keys: Rows,
    /// For each key its class. (Members that are not compared have a class and no key.)
    class_of_key: Vec<u32>,
    /// How many classes there are.
    count: u32,
}

impl Classes {
    /// The classes of a program's procedures and edges.
    pub fn new(program: &Program, scopes: &Scopes, live: &Live) -> Self {
        let mut sorter = Sorter::new(program, scopes, live);
        let procs: Table<ProcId, u32> = program.procs().ids().map(|proc| sorter.proc(proc)).collect();
        let proc_classes = sorter.count as usize;
        let mut sorter = Sorter::new(program, scopes, live);
        let edges = program.edges().iter().map(|edge| sorter.edge(&procs, edge)).collect();
        Classes { procs, proc_classes, edges, edge_classes: sorter.count as usize }
    }

    /// For each class of procedures its first member.
    pub fn models(&self) -> Vec<ProcId> {
        let mut models = vec![ProcId(0); self.proc_classes];
        for (proc, &class) in self.procs.pairs().rev() {
            models[class as usize] = proc;
        }
        models
    }

    /// Whether a class has more than two edges on average, so that it is worth while to remember results by class.
    pub fn is_repetitive(&self) -> bool {
        self.edge_classes * 2 < self.edges.len()
    }
}

impl<'a> Sorter<'a> {
    fn new(program: &'a Program, scopes: &'a Scopes, live: &'a Live) -> Self {
        let (key, keys, class_of_key) = Default::default();
        Sorter { program, scopes, live, key, keys, class_of_key, count: 0 }
    }

    /// A new class.
    fn new_class(&mut self) -> u32 {
        self.count += 1;
        self.count - 1
    }

    /// The class of the key that was written down.
    fn class(&mut self) -> u32 {
        match self.keys.intern(&self.key) {
            Ok((id, false)) => self.class_of_key[id as usize],
            Ok((_, true)) => {
                let class = self.new_class();
                self.class_of_key.push(class);
                class
            }
            // The table is full.
            Err(_) => self.new_class(),
        }
    }

    /// Adds the live fields to the key.
    fn live(&mut self, loc: LocId) {
        self.key.extend_from_slice(self.live.at(self.program, loc));
    }

    /// The class of a procedure.
    fn proc(&mut self, proc: ProcId) -> u32 {
        let data = &self.program.procs()[proc];
        if self.live.at(self.program, data.entry).len() > MOST_WORDS {
            return self.new_class();
        }
        let (globals, written) = (self.scopes.globals(proc), self.scopes.written(proc));
        self.key.clear();
        // The lengths come first, so that lists of different lengths never make the same key. (The number of results follows from the length of the key: each further one makes it longer.)
        self.key.extend([globals.len(), data.locals.len(), data.params, written.len()].map(|n| n as u64));
        self.key.extend(globals.iter().chain(written).map(|var| var.0 as u64));
        self.key.extend(self.scopes.types(self.program, proc).map(number));
        self.live(data.entry);
        self.live(data.exit);
        self.class()
    }

    /// The class of an edge, given the classes of procedures.
    fn edge(&mut self, procs: &Table<ProcId, u32>, edge: &Edge) -> u32 {
        let proc = self.program.locs()[edge.from].proc;
        if self.live.at(self.program, edge.from).len() > MOST_WORDS {
            return self.new_class();
        }
        self.key.clear();
        self.key.push(procs[proc] as u64);
        self.live(edge.from);
        self.live(edge.to);
        match &edge.action {
            Action::Assume(condition) => {
                self.key.push(0);
                self.expr(condition);
            }
            Action::Assign { targets, values, constraint } => {
                self.key.push(1 | (targets.len() as u64) << 8 | (constraint.is_some() as u64) << 4);
                self.vars(targets);
                values.iter().chain(constraint).for_each(|expr| self.expr(expr));
            }
            Action::Havoc(vars) => {
                self.key.push(2);
                self.vars(vars);
            }
            Action::Call { callee, args, results } => {
                self.key.push(3 | (procs[*callee] as u64) << 8);
                args.iter().for_each(|arg| self.expr(arg));
                let result = |var: &Option<VarId>| var.map_or(u64::MAX, |var| self.var(var));
                let results: Vec<u64> = results.iter().map(result).collect();
                self.key.extend(results);
            }
            Action::Return(values) => {
                self.key.push(4);
                values.iter().for_each(|value| self.expr(value));
            }
        }
        self.class()
    }

    /// A number for a variable: that of a global, or the index of a local in its procedure.
    fn var(&self, var: VarId) -> u64 {
        match self.program.vars()[var].scope {
            Scope::Global => (var.0 as u64) << 1,
            Scope::Local(_) => (self.scopes.place(var) as u64) << 1 | 1,
        }
    }

    /// Adds variables to the key.
    fn vars(&mut self, vars: &[VarId]) {
        for &var in vars {
            let var = self.var(var);
            self.key.push(var);
        }
    }

    /// Adds the operators of an expression to the key, each with a number of its own, and a 0 that marks the end.
    fn expr(&mut self, expr: &Expr) {
        for &op in expr.code.iter() {
            let tag = |tag: u64, rest: u64| rest << 8 | tag;
            let word = match op {
                Op::Const(ty, value) => {
                    self.key.push(tag(1, number(ty)));
                    value.get() as u64
                }
                Op::Var(var) => tag(2, self.var(var)),
                Op::Next(var) => tag(3, self.var(var)),
                Op::Choice(ty) => tag(4, number(ty)),
                Op::Not => tag(5, 0),
                Op::And => tag(6, 0),
                Op::Or => tag(7, 0),
                Op::Xor => tag(8, 0),
                Op::Eq => tag(9, 0),
                Op::Lt => tag(10, 0),
                Op::Le => tag(11, 0),
                Op::Ite => tag(12, 0),
                Op::Neg(ty) => tag(13, number(ty)),
                Op::Add(ty) => tag(14, number(ty)),
                Op::Sub(ty) => tag(15, number(ty)),
                Op::Mul(ty) => tag(16, number(ty)),
            };
            self.key.push(word);
        }
        self.key.push(0);
    }
}

/// A number for a type.
fn number(ty: Type) -> u64 {
    match ty {
        Type::Bool => 0,
        Type::Integer => 1,
        Type::Uint(width) => (width as u64) << 2 | 2,
        Type::Int(width) => (width as u64) << 2 | 3,
    }
}
