//! Room `ir`: when a program graph is well formed.
//!
//! A front end or a reduction that breaks one of these has a bug; engines rely on all of them.
//!
//! * I1  Every id is in range, and every location, edge and local belongs to one procedure.
//! * I2  An edge stays inside its procedure.
//! * I3  Nothing leaves an exit, and exactly the return edges lead to it.
//! * I4  An expression is one expression: its postfix code leaves one value.
//! * I5  Operands have the types their operator takes; constants are values of their type.
//! * I6  A variable is used only where it is in scope.
//! * I7  New values (`Next`) occur only in the constraint of the assignment that makes them.
//! * I8  The targets of an assignment, a call or a havoc are distinct, and their types are the values' types.
//! * I9  A call passes what the procedure takes and receives what it returns; nothing calls where a thread or the
//!   prologue starts.
//! * I10 A return gives what the procedure returns.
//! * I11 Labels and checks name locations; nothing leaves the location of a check.
//! * I12 Widths are 1 to 63.
//! * I13 There is a thread, and no two start in the same procedure, nor in the prologue.
//! * I14 A procedure is reached by calls from one thread at most, or from the prologue.
//! * I15 The prologue takes no parameters.
//! * I16 `atomic` is a global Boolean.
//! * I17 Neither the entry of a thread's first procedure nor any exit is inner; in a program of one thread the entry may be.

use crate::expr::{Expr, Op};
use crate::ids::{EdgeId, Id, LocId, ProcId, Table, VarId};
use crate::program::{Action, Program, Scope};
use crate::types::{MAX_WIDTH, Type};
use std::collections::HashSet;
use std::fmt;

/// A breach of an invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flaw {
    /// The number of the invariant.
    pub invariant: u8,
    /// What is wrong where.
    pub message: String,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "I{}: {}", self.invariant, self.message)
    }
}

fn flaw<T>(invariant: u8, message: impl Into<String>) -> Result<T, Flaw> {
    Err(Flaw { invariant, message: message.into() })
}

/// All flaws of a program, at most one per item; empty if it is well formed.
pub fn validate(program: &Program) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let mut note = |result: Result<(), Flaw>| flaws.extend(result.err());
    note(starts(program));
    program.vars().ids().for_each(|var| note(variable(program, var)));
    program.procs().ids().for_each(|proc| note(procedure(program, proc)));
    for (id, loc) in program.locs().pairs() {
        if loc.proc.index() >= program.procs().len() {
            note(flaw(1, format!("{id} belongs to no procedure")));
        }
    }
    if !flaws.is_empty() {
        return flaws;
    }
    let mut note = |result: Result<(), Flaw>| flaws.extend(result.err());
    program.edges().ids().for_each(|id| note(edge(program, id)));
    note(owners(program));
    for label in program.labels() {
        note(marked(program, label.loc, &label.name));
    }
    for &loc in program.no_room() {
        note(marked(program, loc, "where there is no room for a thread"));
    }
    for check in program.checks() {
        note(marked(program, check.loc, "a check").and_then(|()| {
            if program.leaving(check.loc).is_empty() { Ok(()) } else { flaw(11, "an edge leaves a check") }
        }));
    }
    flaws
}

/// Where a run and its threads start: I1, I13, I15 and I16.
fn starts(program: &Program) -> Result<(), Flaw> {
    if program.threads().is_empty() {
        return flaw(13, "there is no thread");
    }
    let mut seen = HashSet::new();
    for proc in program.threads().iter().map(|thread| thread.main).chain(program.prologue()) {
        if proc.index() >= program.procs().len() {
            return flaw(1, format!("{proc}, where a thread or the prologue starts, does not exist"));
        }
        if !seen.insert(proc) {
            return flaw(13, format!("{proc} starts twice"));
        }
    }
    if program.prologue().is_some_and(|prologue| program.procs()[prologue].params > 0) {
        return flaw(15, "the prologue takes parameters");
    }
    match program.atomic().map(|atomic| program.vars().get(atomic)) {
        Some(None) => flaw(1, "atomic does not exist"),
        Some(Some(var)) if var.scope != Scope::Global || var.ty != Type::Bool => {
            flaw(16, "atomic is not a global Boolean")
        }
        _ => Ok(()),
    }
}

/// Follows the calls of each thread: I14 and I17.
fn owners(program: &Program) -> Result<(), Flaw> {
    let mut callees: Table<ProcId, Vec<ProcId>> = Table::filled(program.procs().len(), Vec::new());
    for edge in program.edges().iter() {
        if let (Action::Call { callee, .. }, Some(from)) = (&edge.action, program.locs().get(edge.from)) {
            callees[from.proc].push(*callee);
        }
    }
    let mut owner: Table<ProcId, Option<ProcId>> = Table::filled(program.procs().len(), None);
    for start in program.threads().iter().map(|thread| thread.main).chain(program.prologue()) {
        if !program.is_sequential() && program.locs()[program.procs()[start].entry].inner {
            return flaw(17, format!("{start} starts within a statement"));
        }
        let mut open = vec![start];
        while let Some(proc) = open.pop() {
            match owner.get(proc) {
                Some(None) => {
                    owner[proc] = Some(start);
                    open.extend(&callees[proc]);
                }
                Some(Some(other)) if *other != start => {
                    return flaw(14, format!("{proc} belongs to two threads"));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn marked(program: &Program, loc: LocId, name: &str) -> Result<(), Flaw> {
    if program.locs().get(loc).is_some() { Ok(()) } else { flaw(11, format!("{name} is at no location")) }
}

fn variable(program: &Program, var: VarId) -> Result<(), Flaw> {
    let data = &program.vars()[var];
    if data.ty.bits().is_some_and(|bits| bits == 0 || bits > MAX_WIDTH) {
        return flaw(12, format!("{var} is a {}", data.ty));
    }
    match data.scope {
        Scope::Local(proc) if program.procs().get(proc).is_none() => {
            flaw(1, format!("{var} belongs to no procedure"))
        }
        _ => Ok(()),
    }
}

fn procedure(program: &Program, id: ProcId) -> Result<(), Flaw> {
    let proc = &program.procs()[id];
    if proc.params > proc.locals.len() {
        return flaw(1, format!("{id} has more parameters than locals"));
    }
    let mut seen = HashSet::new();
    for &var in &proc.locals {
        let mine = program.vars().get(var).is_some_and(|var| var.scope == Scope::Local(id));
        if !mine || !seen.insert(var) {
            return flaw(1, format!("{var} is not a local of {id}, or is listed twice"));
        }
    }
    for loc in [proc.entry, proc.exit] {
        if program.locs().get(loc).is_none_or(|loc| loc.proc != id) {
            return flaw(1, format!("{loc} is not a location of {id}"));
        }
    }
    if program.locs()[proc.exit].inner {
        return flaw(17, format!("the exit of {id} is inner"));
    }
    match program.leaving(proc.exit) {
        [] => Ok(()),
        _ => flaw(3, format!("an edge leaves the exit of {id}")),
    }
}

fn edge(program: &Program, id: EdgeId) -> Result<(), Flaw> {
    let edge = &program.edges()[id];
    let proc_of = |loc: LocId| match program.locs().get(loc) {
        Some(loc) => Ok(loc.proc),
        None => flaw(1, format!("{id} touches {loc}, which does not exist")),
    };
    let proc = proc_of(edge.from)?;
    if proc_of(edge.to)? != proc {
        return flaw(2, format!("{id} leaves its procedure"));
    }
    let returns = matches!(edge.action, Action::Return(_));
    if (edge.to == program.procs()[proc].exit) != returns {
        return flaw(3, format!("{id} is a return that does not end at the exit, or the other way round"));
    }
    let at = At { program, id, proc };
    at.action(&edge.action)
}

/// The edge whose action is looked at.
struct At<'a> {
    program: &'a Program,
    id: EdgeId,
    proc: ProcId,
}

impl At<'_> {
    fn action(&self, action: &Action) -> Result<(), Flaw> {
        match action {
            Action::Assume(condition) => self.typed(condition, Type::Bool, &[]),
            Action::Assign { targets, values, constraint } => {
                self.distinct(targets)?;
                if targets.len() != values.len() {
                    return flaw(
                        8,
                        format!("{} assigns {} values to {}", self.id, values.len(), targets.len()),
                    );
                }
                for (&target, value) in targets.iter().zip(values) {
                    self.typed(value, self.var(target)?, &[])?;
                }
                constraint.as_ref().map_or(Ok(()), |constraint| self.typed(constraint, Type::Bool, targets))
            }
            Action::Havoc(vars) => self.distinct(vars),
            Action::Call { callee, args, results } => self.call(*callee, args, results),
            Action::Return(values) => {
                let types = &self.program.procs()[self.proc].results;
                if types.len() != values.len() {
                    return flaw(10, format!("{} returns {} values", self.id, values.len()));
                }
                values.iter().zip(types).try_for_each(|(value, &ty)| self.typed(value, ty, &[]))
            }
        }
    }

    fn call(&self, callee: ProcId, args: &[Expr], results: &[Option<VarId>]) -> Result<(), Flaw> {
        let Some(proc) = self.program.procs().get(callee) else {
            return flaw(1, format!("{} calls nothing", self.id));
        };
        let starts = self.program.threads().iter().map(|thread| thread.main).chain(self.program.prologue());
        if starts.into_iter().any(|start| start == callee) {
            return flaw(9, format!("{} calls {callee}, where a thread or the prologue starts", self.id));
        }
        if proc.params != args.len() || proc.results.len() != results.len() {
            return flaw(9, format!("{} does not fit {callee}", self.id));
        }
        for (&param, arg) in proc.params().iter().zip(args) {
            self.typed(arg, self.program.vars()[param].ty, &[])?;
        }
        self.distinct(&results.iter().flatten().copied().collect::<Vec<_>>())?;
        for (result, &ty) in results.iter().zip(&proc.results) {
            if let Some(var) = *result
                && self.var(var)? != ty
            {
                return flaw(8, format!("{} stores a {ty} in {var}", self.id));
            }
        }
        Ok(())
    }

    fn var(&self, var: VarId) -> Result<Type, Flaw> {
        match self.program.vars().get(var) {
            Some(data) if data.scope == Scope::Global || data.scope == Scope::Local(self.proc) => Ok(data.ty),
            Some(_) => flaw(6, format!("{} uses {var} out of scope", self.id)),
            None => flaw(1, format!("{} uses {var}, which does not exist", self.id)),
        }
    }

    fn distinct(&self, vars: &[VarId]) -> Result<(), Flaw> {
        let mut seen = HashSet::new();
        for &var in vars {
            self.var(var)?;
            if !seen.insert(var) {
                return flaw(8, format!("{} changes {var} twice", self.id));
            }
        }
        Ok(())
    }

    /// The expression is of this type; its new values are among `new`.
    fn typed(&self, expr: &Expr, expected: Type, new: &[VarId]) -> Result<(), Flaw> {
        let new: HashSet<VarId> = new.iter().copied().collect();
        let mut stack: Vec<Type> = Vec::new();
        for &op in &expr.code {
            let Some(base) = stack.len().checked_sub(op.arity()) else {
                return flaw(4, format!("{}: an operator lacks operands", self.id));
            };
            let ty = self.operator(op, &stack[base..], &new)?;
            stack.truncate(base);
            stack.push(ty);
        }
        match stack[..] {
            [ty] if ty == expected => Ok(()),
            [ty] => flaw(5, format!("{}: a {ty} where a {expected} is due", self.id)),
            _ => flaw(4, format!("{}: {} values instead of one", self.id, stack.len())),
        }
    }

    fn operator(&self, op: Op, operands: &[Type], new: &HashSet<VarId>) -> Result<Type, Flaw> {
        use Type::Bool;
        match (op, operands) {
            (Op::Const(ty, value), _) if ty.contains(value) => Ok(ty),
            (Op::Var(var), _) => self.var(var),
            (Op::Next(var), _) if new.contains(&var) => self.var(var),
            (Op::Next(var), _) => flaw(7, format!("{}: no new value of {var} here", self.id)),
            (Op::Choice(ty), _) => Ok(ty),
            (Op::Not, [Bool]) | (Op::And | Op::Or | Op::Xor, [Bool, Bool]) => Ok(Bool),
            (Op::Eq, [a, b]) if a == b => Ok(Bool),
            (Op::Lt | Op::Le, [a, b]) if a == b && a.is_integer() => Ok(Bool),
            (Op::Neg(ty), [a]) if *a == ty && ty.is_integer() => Ok(ty),
            (Op::Add(ty) | Op::Sub(ty) | Op::Mul(ty), [a, b]) if [*a, *b] == [ty, ty] && ty.is_integer() => {
                Ok(ty)
            }
            (Op::Ite, [Bool, a, b]) if a == b => Ok(*a),
            _ => flaw(5, format!("{}: {op:?} does not take {operands:?}", self.id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::text::{builder, parse};

    const THREADS: &str = r#"postbop-ir 1
proc p0 "init" params 0 results ( ) entry l0 exit l1 at 0..0
proc p1 "a" params 0 results ( ) entry l2 exit l3 at 0..0
proc p2 "f" params 0 results ( ) entry l4 exit l5 at 0..0
proc p3 "b" params 0 results ( ) entry l6 exit l7 at 0..0
var v0 global bool "busy"
var v1 p0 bool "x"
loc l0 p0 at 0..0
loc l1 p0 at 0..0
loc l2 p1 at 0..0
loc l3 p1 at 0..0
loc l4 p2 at 0..0
loc l5 p2 at 0..0
loc l6 p3 at 0..0
loc l7 p3 at 0..0
loc l8 p1 at 0..0 inner
edge l0 l1 at 0..0 return
edge l2 l8 at 0..0 call p2 ->
edge l8 l3 at 0..0 return
edge l4 l5 at 0..0 return
edge l6 l7 at 0..0 return
prologue p0
atomic v0
thread t0 "a" p1
thread t1 "the other" p3
"#;

    fn flaws(from: &str, to: &str) -> Vec<u8> {
        let text = THREADS.replace(from, to);
        assert!(from.is_empty() || text != THREADS);
        let flaws = builder(&text).unwrap().validated().expect_err("a flaw");
        flaws.iter().map(|flaw| flaw.invariant).collect()
    }

    #[test]
    fn threads_are_printed_and_read_back() {
        let program = parse(THREADS).unwrap();
        assert_eq!(crate::text::print(&program), THREADS);
        assert!(!program.is_sequential());
        assert!(parse(&format!("{THREADS}main p1\n")).is_err());
    }

    #[test]
    fn threads_start_apart_and_stay_apart() {
        assert_eq!(flaws("thread t1 \"the other\" p3", "thread t1 \"the other\" p1"), [13]);
        assert_eq!(flaws("prologue p0", "prologue p3"), [13]);
        assert_eq!(flaws("prologue p0", "prologue p9"), [1]);
        assert_eq!(flaws("edge l6 l7 at 0..0 return", "edge l6 l6 at 0..0 call p2 ->"), [14]);
        assert_eq!(flaws("edge l6 l7 at 0..0 return", "edge l6 l6 at 0..0 call p1 ->"), [9, 14]);
        assert_eq!(flaws("proc p0 \"init\" params 0", "proc p0 \"init\" params 1"), [15]);
        assert_eq!(flaws("atomic v0", "atomic v1"), [16]);
        assert_eq!(flaws("var v0 global bool", "var v0 global uint<1>"), [16]);
        assert_eq!(flaws("loc l2 p1 at 0..0", "loc l2 p1 at 0..0 inner"), [17]);
        assert_eq!(flaws("loc l7 p3 at 0..0", "loc l7 p3 at 0..0 inner"), [17]);
    }
}
