//! Room `engine/encode`: edges made ready to run.
//!
//! Variables become fields, choices become numbers, and values that are not live afterwards are dropped. An edge is
//! either an update of one valuation (assumptions, assignments, havocs and returns: a return assigns the results)
//! or a call. All of it is computed when it is first needed, once for each class of [`super::classes`].

use super::classes::Classes;
use super::layout::Layout;
use crate::encode::live::Live;
use crate::encode::scope::Scopes;
use postbop_ir::{Action, EdgeId, Expr, LocId, Op, ProcId, Program, Type, VarId};
use postbop_kit::bits;
use std::sync::OnceLock;

/// An operator over fields.
#[derive(Clone, Copy, Debug)]
pub enum Ins {
    /// A constant of a type.
    Const(Type, i64),
    /// The value of a field.
    Field(u32),
    /// The value, of this type, that the set of this number computes.
    Next(u32, Type),
    /// The choice of this number.
    Choice(u32),
    /// An operator on what was computed before.
    Apply(Op),
}

/// Postfix code over fields.
pub type Formula = Box<[Ins]>;

/// One field that gets a new value.
#[derive(Debug)]
pub struct Set {
    /// The field: of the procedure itself, or for an argument, of the callee.
    pub field: usize,
    /// Whether its new value matters after the edge.
    pub live: bool,
    /// The new value; empty if neither the edge nor what follows looks at it.
    pub value: Formula,
}

/// What an edge does.
#[derive(Debug)]
pub enum Code {
    /// It changes fields, where a condition allows it.
    Update {
        /// The fields that change.
        sets: Vec<Set>,
        /// The condition, over old and new values.
        guard: Option<Formula>,
    },
    /// It calls a procedure.
    Call(Call),
}

/// How a call and its return move values; the same for all calls of one class, whatever their callee.
#[derive(Debug)]
pub struct Call {
    /// A procedure like the one that is called: its fields are the callee's.
    pub like: ProcId,
    /// The parameters.
    pub args: Vec<Set>,
    /// As in [`Call::globals`]. There may be thousands of calls, each with thousands of globals.
    globals: Box<[(u32, u32, bool)]>,
    /// The fields that wait here until the call returns.
    pub kept: Vec<usize>,
    back: Box<[(u32, u32)]>,
}

impl Call {
    /// The globals that the callee can touch: here, there, and whether they matter at its entry.
    pub fn globals(&self) -> impl Iterator<Item = (usize, usize, bool)> {
        self.globals.iter().map(|&(here, there, live)| (here as usize, there as usize, live))
    }

    /// What comes back: here and there.
    pub fn back(&self) -> impl ExactSizeIterator<Item = (usize, usize)> {
        self.back.iter().map(|&(here, there)| (here as usize, there as usize))
    }
}

/// An edge with its choices.
#[derive(Debug)]
pub struct Compiled {
    /// What it does.
    pub code: Code,
    /// The types of its choices.
    pub choices: Vec<Type>,
}

/// A program made ready to run, piece by piece. Several engines may use it at once.
pub struct Machine<'a> {
    /// The program.
    pub program: &'a Program,
    /// The fields of its procedures.
    pub scopes: Scopes,
    /// Which of them matter where.
    pub live: Live,
    /// The equivalence classes of procedures and edges.
    pub classes: Classes,
    /// By classes.
    layouts: Vec<OnceLock<Layout>>,
    edges: Vec<OnceLock<Box<Compiled>>>,
}

impl<'a> Machine<'a> {
    /// The machine of a program.
    pub fn new(program: &'a Program) -> Self {
        let scopes = Scopes::new(program);
        let live = Live::new(program, &scopes);
        Machine::with(program, scopes, live)
    }

    /// The machine of a program in which nothing is forgotten: every procedure has all globals, and every variable in
    /// scope matters.
    pub fn full(program: &'a Program) -> Self {
        let scopes = Scopes::full(program);
        let live = Live::full(program, &scopes);
        Machine::with(program, scopes, live)
    }

    /// The machine of a program with threads, in which every procedure has all globals.
    pub fn threads(program: &'a Program) -> Self {
        let scopes = Scopes::full(program);
        let named: Vec<VarId> = program.atomic().into_iter().collect();
        let live = Live::threads(program, &scopes, &named);
        Machine::with(program, scopes, live)
    }

    fn with(program: &'a Program, scopes: Scopes, live: Live) -> Self {
        let classes = Classes::new(program, &scopes, &live);
        let layouts = (0..classes.proc_classes).map(|_| OnceLock::new()).collect();
        let edges = (0..classes.edge_classes).map(|_| OnceLock::new()).collect();
        Machine { program, scopes, live, classes, layouts, edges }
    }

    /// How a procedure's valuations are packed.
    pub fn layout(&self, proc: ProcId) -> &Layout {
        self.layouts[self.classes.procs[proc] as usize]
            .get_or_init(|| Layout::new(self.scopes.types(self.program, proc)))
    }

    /// An edge, ready to run.
    pub fn edge(&self, id: EdgeId) -> &Compiled {
        self.edges[self.classes.edges[id] as usize]
            .get_or_init(|| Box::new(Compiler { machine: self, id, choices: Vec::new() }.compile()))
    }

    /// The call that an edge makes.
    pub fn call(&self, id: EdgeId) -> &Call {
        match &self.edge(id).code {
            Code::Call(call) => call,
            Code::Update { .. } => unreachable!("only calls are suspended"),
        }
    }

    /// Whom an edge calls.
    pub fn callee(&self, id: EdgeId) -> ProcId {
        match self.program.edges()[id].action {
            Action::Call { callee, .. } => callee,
            _ => unreachable!("only calls have callees"),
        }
    }

    /// Whether a field's value matters at a location.
    pub fn is_live(&self, loc: LocId, field: usize) -> bool {
        bits::contains(self.live.at(self.program, loc), field)
    }

    /// Opens the fields that do not matter at a location.
    pub fn forget(&self, loc: LocId, row: &mut [u64]) {
        let layout = self.layout(self.program.locs()[loc].proc);
        let live = self.live.at(self.program, loc);
        for (at, field) in layout.fields.iter().enumerate() {
            if !bits::contains(live, at) {
                field.set(row, None);
            }
        }
    }
}

struct Compiler<'m, 'a> {
    machine: &'m Machine<'a>,
    id: EdgeId,
    choices: Vec<Type>,
}

impl Compiler<'_, '_> {
    fn compile(mut self) -> Compiled {
        let edge = &self.machine.program.edges()[self.id];
        let proc = self.machine.program.locs()[edge.from].proc;
        let code = match &edge.action {
            Action::Assume(condition) => {
                Code::Update { sets: Vec::new(), guard: Some(self.formula(condition, proc, &[])) }
            }
            Action::Havoc(vars) => {
                let any = |&var: &VarId| Expr::choice(self.machine.program.vars()[var].ty);
                let values: Vec<Expr> = vars.iter().map(any).collect();
                self.update(proc, edge.to, vars, &values, None)
            }
            Action::Assign { targets, values, constraint } => {
                self.update(proc, edge.to, targets, values, constraint.as_ref())
            }
            Action::Return(values) => {
                let first = self.machine.scopes.first_result(self.machine.program, proc);
                let set = |(at, value)| {
                    let live = self.machine.is_live(edge.to, first + at);
                    Set { field: first + at, live, value: self.value(value, proc, live) }
                };
                Code::Update { sets: values.iter().enumerate().map(set).collect(), guard: None }
            }
            Action::Call { callee, args, results } => {
                Code::Call(self.call(proc, edge.to, *callee, args, results))
            }
        };
        Compiled { code, choices: self.choices }
    }

    fn field(&self, proc: ProcId, var: VarId) -> usize {
        let field = self.machine.scopes.field(self.machine.program, proc, var);
        field.expect("what an edge mentions is touched")
    }

    fn update(
        &mut self,
        proc: ProcId,
        to: LocId,
        targets: &[VarId],
        values: &[Expr],
        constraint: Option<&Expr>,
    ) -> Code {
        let code = constraint.map_or(&[][..], |constraint| &constraint.code);
        let mut constrained = vec![0; bits::words(self.machine.scopes.len(self.machine.program, proc))];
        for op in code {
            if let Op::Next(var) = *op {
                bits::insert(&mut constrained, self.field(proc, var));
            }
        }
        let mut sets = Vec::with_capacity(targets.len());
        for (&target, value) in targets.iter().zip(values) {
            let field = self.field(proc, target);
            let live = self.machine.is_live(to, field);
            let needed = live || bits::contains(&constrained, field);
            sets.push(Set { field, live, value: self.value(value, proc, needed) });
        }
        let guard = constraint.map(|constraint| self.formula(constraint, proc, targets));
        Code::Update { sets, guard }
    }

    fn call(
        &mut self,
        proc: ProcId,
        to: LocId,
        callee: ProcId,
        args: &[Expr],
        results: &[Option<VarId>],
    ) -> Call {
        let machine = self.machine;
        let entry = machine.program.procs()[callee].entry;
        let touched = machine.scopes.globals(callee);
        let mut passed = Vec::with_capacity(args.len());
        for (at, value) in args.iter().enumerate() {
            let field = touched.len() + at;
            let live = machine.is_live(entry, field);
            passed.push(Set { field, live, value: self.value(value, proc, live) });
        }
        let shared = machine.scopes.shared(proc, callee);
        let globals: Box<[_]> =
            shared.map(|(here, there)| (here as u32, there as u32, machine.is_live(entry, there))).collect();
        let mut kept = machine.live.at(machine.program, to).to_vec();
        let first = machine.scopes.first_result(machine.program, callee);
        let mut back = Vec::new();
        for (at, result) in results.iter().enumerate() {
            if let Some(field) = result.map(|var| self.field(proc, var)) {
                if bits::contains(&kept, field) {
                    back.push((field as u32, (first + at) as u32));
                }
                bits::remove(&mut kept, field);
            }
        }
        for &(here, there, _) in &globals {
            if bits::contains(&kept, here as usize) {
                back.push((here, there));
            }
            bits::remove(&mut kept, here as usize);
        }
        let (kept, back) = (bits::members(&kept).collect(), back.into());
        Call { like: callee, args: passed, globals, kept, back }
    }

    /// The code of a value, or nothing if it is not needed; its choices count all the same.
    fn value(&mut self, expr: &Expr, proc: ProcId, needed: bool) -> Formula {
        if needed {
            return self.formula(expr, proc, &[]);
        }
        self.choices.extend(expr.choices());
        Formula::default()
    }

    fn formula(&mut self, expr: &Expr, proc: ProcId, targets: &[VarId]) -> Formula {
        let next = |var| targets.iter().position(|&target| target == var).expect("new values have targets");
        let mut code = Vec::with_capacity(expr.code.len());
        for &op in &expr.code {
            code.push(match op {
                Op::Const(ty, value) => Ins::Const(ty, value.get()),
                Op::Var(var) => Ins::Field(self.field(proc, var) as u32),
                Op::Next(var) => Ins::Next(next(var) as u32, self.machine.program.vars()[var].ty),
                Op::Choice(ty) => {
                    self.choices.push(ty);
                    Ins::Choice(self.choices.len() as u32 - 1)
                }
                op => Ins::Apply(op),
            });
        }
        code.into()
    }
}
