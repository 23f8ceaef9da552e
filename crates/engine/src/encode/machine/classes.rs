//! Room `engine/encode`: equivalence classes of procedures and of edges.
//!
//! # Idea
//!
//! Large programs repeat themselves: the same assignment in a thousand procedures that differ only in their names.
//! A result that is computed for one such edge (its code on packed valuations, its relation as a decision diagram, a
//! step of a trace along it) can serve for all of them. So procedures and edges are sorted into *classes*, and
//! results are kept once for each class.
//!
//! The fields of a procedure are the variables that it can touch: some globals, its locals, its results
//! ([`crate::encode::scope`]). Packed valuations are rows of fields.
//!
//! * Two procedures are in the same class if the same row can hold a valuation of either: they touch and write the
//!   same globals, have as many parameters and locals, their fields have the same types in the same order, and the
//!   same fields are live at entry and exit.
//! * Two edges are in the same class if their procedures are, the same fields are live before and after them, and
//!   their actions are the same when locals are named by their place in the procedure; calls are the same if their
//!   callees are in one class.
//!
//! So an edge of one class turns a row into the same rows as any other edge of the class, and a class can be
//! represented by its first member ([`Classes::models`]). To find the classes, what matters of each procedure and edge
//! is written down as a row of words, and equal rows are equal classes.
//!
//! # Cost
//!
//! Each edge is written down once. Where more fields are in scope than fit in [`MOST_WORDS`] words, rows would be
//! long and seldom equal: there every procedure and edge is a class of its own.

use crate::encode::live::Live;
use crate::encode::scope::Scopes;
use postbop_ir::{Action, Edge, EdgeId, Expr, LocId, Op, ProcId, Program, Scope, Table, Type, VarId};
use postbop_kit::rows::Rows;

/// More live fields than fit in so many words are not compared.
const MOST_WORDS: usize = 4;

/// The classes of procedures and of edges.
pub struct Classes {
    /// The class of each procedure, and how many there are.
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
    row: Vec<u64>,
    rows: Rows,
    /// The classes of rows.
    classes: Vec<u32>,
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

    /// Whether most edges share their class with others, so that it is worth while to remember results by class.
    pub fn repeats(&self) -> bool {
        self.edge_classes * 2 < self.edges.len()
    }
}

impl<'a> Sorter<'a> {
    fn new(program: &'a Program, scopes: &'a Scopes, live: &'a Live) -> Self {
        let (row, rows, classes) = Default::default();
        Sorter { program, scopes, live, row, rows, classes, count: 0 }
    }

    /// A class without members.
    fn fresh(&mut self) -> u32 {
        self.count += 1;
        self.count - 1
    }

    /// The class of the row.
    fn class(&mut self) -> u32 {
        match self.rows.intern(&self.row) {
            Ok((id, false)) => self.classes[id as usize],
            Ok((_, true)) => {
                let class = self.fresh();
                self.classes.push(class);
                class
            }
            Err(_) => self.fresh(),
        }
    }

    fn live(&mut self, loc: LocId) {
        self.row.extend_from_slice(self.live.at(self.program, loc));
    }

    fn proc(&mut self, proc: ProcId) -> u32 {
        let data = &self.program.procs()[proc];
        if self.live.at(self.program, data.entry).len() > MOST_WORDS {
            return self.fresh();
        }
        let (globals, written) = (self.scopes.globals(proc), self.scopes.written(proc));
        self.row.clear();
        self.row.extend([globals.len(), data.locals.len(), data.params, written.len()].map(|n| n as u64));
        self.row.extend(globals.iter().chain(written).map(|var| var.0 as u64));
        self.row.extend(self.scopes.types(self.program, proc).map(number));
        self.live(data.entry);
        self.live(data.exit);
        self.class()
    }

    fn edge(&mut self, procs: &Table<ProcId, u32>, edge: &Edge) -> u32 {
        let proc = self.program.locs()[edge.from].proc;
        if self.live.at(self.program, edge.from).len() > MOST_WORDS {
            return self.fresh();
        }
        self.row.clear();
        self.row.push(procs[proc] as u64);
        self.live(edge.from);
        self.live(edge.to);
        match &edge.action {
            Action::Assume(condition) => {
                self.row.push(0);
                self.expr(condition);
            }
            Action::Assign { targets, values, constraint } => {
                self.row.push(1 | (targets.len() as u64) << 8 | (constraint.is_some() as u64) << 4);
                self.vars(targets);
                values.iter().chain(constraint).for_each(|expr| self.expr(expr));
            }
            Action::Havoc(vars) => {
                self.row.push(2);
                self.vars(vars);
            }
            Action::Call { callee, args, results } => {
                self.row.push(3 | (procs[*callee] as u64) << 8);
                args.iter().for_each(|arg| self.expr(arg));
                let result = |var: &Option<VarId>| var.map_or(u64::MAX, |var| self.var(var));
                let results: Vec<u64> = results.iter().map(result).collect();
                self.row.extend(results);
            }
            Action::Return(values) => {
                self.row.push(4);
                values.iter().for_each(|value| self.expr(value));
            }
        }
        self.class()
    }

    /// A number for a variable: that of a global, or the place of a local among its procedure's.
    fn var(&self, var: VarId) -> u64 {
        match self.program.vars()[var].scope {
            Scope::Global => (var.0 as u64) << 1,
            Scope::Local(_) => (self.scopes.place(var) as u64) << 1 | 1,
        }
    }

    fn vars(&mut self, vars: &[VarId]) {
        for &var in vars {
            let var = self.var(var);
            self.row.push(var);
        }
    }

    /// The operators of an expression, each with a number of its own, and an end.
    fn expr(&mut self, expr: &Expr) {
        for &op in &expr.code {
            let tag = |tag: u64, rest: u64| rest << 8 | tag;
            let word = match op {
                Op::Const(ty, value) => {
                    self.row.push(tag(1, number(ty)));
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
            self.row.push(word);
        }
        self.row.push(0);
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

/// Remembered results: for a question, written as a row of words, its answer.
pub struct Memo<T> {
    question: Vec<u64>,
    questions: Rows,
    answers: Vec<Option<T>>,
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Memo { question: Vec::new(), questions: Rows::default(), answers: Vec::new() }
    }
}

impl<T: Clone> Memo<T> {
    /// Starts a question with this word; the others are to be added.
    pub fn start(&mut self, word: u64) -> &mut Vec<u64> {
        self.question.clear();
        self.question.push(word);
        &mut self.question
    }

    /// The answer to the question that was put, found out if need be.
    pub fn get<E>(&mut self, find: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let Ok((id, new)) = self.questions.intern(&self.question) else { return find() };
        if new {
            self.answers.push(None);
        }
        if let Some(answer) = &self.answers[id as usize] {
            return Ok(answer.clone());
        }
        let answer = find()?;
        self.answers[id as usize] = Some(answer.clone());
        Ok(answer)
    }
}
