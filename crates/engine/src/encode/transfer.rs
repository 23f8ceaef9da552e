//! Room `engine/encode`: the transfer functions of liveness: what edges read and store, by fields.
//!
//! # Idea
//!
//! Liveness passes an edge several times, in an order of its own. An action is a list of expressions, each in a piece of memory of its
//! own, and most of the time would go to fetching them. So they are read once, in the order in which they lie, and what
//! matters of them is noted in one list of numbers.
//!
//! The code of an edge is: the fields whose new value is looked at; then for each value that is stored, or passed to a callee, the
//! field that gets it and the fields that it reads; then the fields that are read in any case. A list begins with its length, the last
//! one ends where the code of the edge ends.
//!
//! # Cost
//!
//! As many numbers as the program has operands, and a few for each edge.

use super::scope::Scopes;
use postbop_ir::{Action, Edge, EdgeId, Expr, LocId, Op, ProcId, Program, VarId};
use postbop_kit::bits;
use smallvec::SmallVec;

/// In place of a callee.
const NONE: u32 = u32::MAX;

/// What every edge does to the set of live fields.
pub struct Transfers {
    arrows: Vec<Arrow>,
    code: Vec<u32>,
}

/// An edge, without its action.
#[derive(Clone, Copy)]
struct Arrow {
    from: LocId,
    to: LocId,
    callee: u32,
    /// Where its code begins.
    first: u32,
}

impl Transfers {
    /// Reads the actions of all edges.
    pub fn new(program: &Program, scopes: &Scopes) -> Self {
        let mut transfers = Transfers { arrows: Vec::with_capacity(program.edges().len()), code: Vec::new() };
        for edge in program.edges().iter() {
            transfers.arrows.push(Arrow {
                from: edge.from,
                to: edge.to,
                callee: edge.action.callee().map_or(NONE, |callee| callee.0),
                first: transfers.code.len() as u32,
            });
            let proc = program.locs()[edge.from].proc;
            let field = |var| scopes.field(program, proc, var).expect("it is touched") as u32;
            let results = scopes.first_result(program, proc) as u32;
            Writer { code: &mut transfers.code, field }.write(edge, results);
        }
        transfers
    }

    /// Where an edge starts.
    pub fn from(&self, edge: EdgeId) -> LocId {
        self.arrows[edge.0 as usize].from
    }

    /// Where an edge leads.
    pub fn to(&self, edge: EdgeId) -> LocId {
        self.arrows[edge.0 as usize].to
    }

    /// The procedure that an edge calls.
    pub fn callee(&self, edge: EdgeId) -> Option<ProcId> {
        let callee = self.arrows[edge.0 as usize].callee;
        (callee != NONE).then_some(ProcId(callee))
    }

    /// Makes of the fields that are live after an edge those that are live before it.
    pub fn back(&self, edge: EdgeId, set: &mut [u64]) {
        let mut code = self.code(edge);
        insert(set, code.list());
        let mut needed: SmallVec<[&[u32]; 8]> = SmallVec::new();
        for _ in 0..code.number() {
            let (field, reads) = (code.number() as usize, code.list());
            if bits::contains(set, field) {
                bits::remove(set, field);
                needed.push(reads);
            }
        }
        // What is stored is computed before anything is stored.
        needed.into_iter().for_each(|reads| insert(set, reads));
        insert(set, code.0);
    }

    /// As [`Transfers::back`] for a call. `entry` is what is live where the callee starts: first the globals that it touches, which are
    /// the caller's fields in `shared`, then from `first` on its parameters.
    pub fn back_call(&self, edge: EdgeId, set: &mut [u64], entry: &[u64], shared: &[u64], first: usize) {
        let mut code = self.code(edge);
        code.list().iter().for_each(|&field| bits::remove(set, field as usize));
        bits::scatter(set, entry, shared);
        for _ in 0..code.number() {
            let (param, reads) = (code.number() as usize, code.list());
            if bits::contains(entry, first + param) {
                insert(set, reads);
            }
        }
    }

    fn code(&self, edge: EdgeId) -> Code<'_> {
        let first = self.arrows[edge.0 as usize].first as usize;
        let end = self.arrows.get(edge.0 as usize + 1).map_or(self.code.len(), |next| next.first as usize);
        Code(&self.code[first..end])
    }
}

fn insert(set: &mut [u64], fields: &[u32]) {
    for &field in fields {
        bits::insert(set, field as usize);
    }
}

/// The rest of the code of an edge.
struct Code<'c>(&'c [u32]);

impl<'c> Code<'c> {
    fn number(&mut self) -> u32 {
        let (&number, rest) = self.0.split_first().expect("it was written");
        self.0 = rest;
        number
    }

    fn list(&mut self) -> &'c [u32] {
        let length = self.number() as usize;
        let (list, rest) = self.0.split_at(length);
        self.0 = rest;
        list
    }
}

/// Writes the code of an edge. For a call, the first list has the fields that receive results, and values go to
/// parameters by their numbers.
struct Writer<'w, F> {
    code: &'w mut Vec<u32>,
    field: F,
}

impl<F: Fn(VarId) -> u32> Writer<'_, F> {
    fn write(&mut self, edge: &Edge, results: u32) {
        match &edge.action {
            Action::Assume(condition) => {
                self.code.extend([0, 0]);
                self.reads(condition);
            }
            Action::Havoc(vars) => {
                self.code.extend([0, vars.len() as u32]);
                for &var in vars {
                    let field = (self.field)(var);
                    self.code.extend([field, 0]);
                }
            }
            Action::Assign { targets, values, constraint } => {
                let constrained = constraint.iter().flat_map(|constraint| &constraint.code);
                let next = |op: &Op| if let Op::Next(var) = *op { Some((self.field)(var)) } else { None };
                self.list(constrained.filter_map(next).collect::<SmallVec<[u32; 8]>>());
                self.code.push(targets.len() as u32);
                for (&target, value) in targets.iter().zip(values) {
                    self.code.push((self.field)(target));
                    self.value(value);
                }
                constraint.iter().for_each(|constraint| self.reads(constraint));
            }
            Action::Return(values) => {
                self.code.extend([0, values.len() as u32]);
                self.values(results, values);
            }
            Action::Call { args, results, .. } => {
                let received = results.iter().flatten().map(|&var| (self.field)(var));
                self.list(received.collect::<SmallVec<[u32; 8]>>());
                self.code.push(args.len() as u32);
                self.values(0, args);
            }
        }
    }

    /// Values that go to places one after the other.
    fn values(&mut self, first: u32, values: &[Expr]) {
        for (at, value) in (first..).zip(values) {
            self.code.push(at);
            self.value(value);
        }
    }

    fn list(&mut self, fields: SmallVec<[u32; 8]>) {
        self.code.push(fields.len() as u32);
        self.code.extend(fields);
    }

    /// What a value reads, after how much that is.
    fn value(&mut self, value: &Expr) {
        let length = self.code.len();
        self.code.push(0);
        self.reads(value);
        self.code[length] = (self.code.len() - length - 1) as u32;
    }

    fn reads(&mut self, expr: &Expr) {
        self.code.extend(expr.reads().map(&self.field));
    }
}
