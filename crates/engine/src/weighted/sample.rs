//! Room `engine/weighted`: a few runs at random, before anything is saturated.
//!
//! # Idea
//!
//! Saturation takes long in large programs, and many mistakes show in almost every run. So some runs are made with numbers that are drawn: small ones, and those that
//! the program compares with. A run that comes to a target is a trace as it is, with every value known; calls that have returned are its segments. No run is longer than
//! the program has edges, so that a trace that was found by luck is not longer than one that a search would find has to be. The numbers drawn are the same every time.
//!
//! Runs that come to no target show nothing.
//!
//! # Cost
//!
//! A few steps for each edge of the program.

use crate::encode::targets::TargetTracker;
use postbop_ir::trace::Known;
use postbop_ir::{
    Action, EdgeId, Expr, LocId, Op, ProcId, Program, Scope, Segment, SegmentId, Step, Table, Task,
};
use postbop_ir::{Trace, Type, Value, VarId};

/// How many steps are made for each edge of the program.
const STEPS: usize = 4;

/// A run notes the values at the entry of each call; it ends at a call when it has noted so many.
const MOST_VALUES: usize = 1 << 20;

/// A run that comes to a target of each query that has one, or of the first that is found if that is enough. None if there is a query that no run
/// comes to, if the traces are longer than all runs may be, as those of many properties are, or if `spend` says that the work may not go on.
pub fn sample(task: &Task, spend: &dyn Fn(u64) -> bool) -> Option<(TargetTracker<usize>, Vec<Trace>)> {
    let longest = task.program.edges().len();
    let (mut left, mut written) = (STEPS * longest, 0);
    let mut tracker = TargetTracker::without_guards(task);
    let (mut traces, mut draws, place) = (Vec::new(), Draws::new(task.program), places(task.program));
    while left > 0 {
        let mut run = Run::new(task.program, &place, &mut draws);
        let mut steps = 0;
        while steps < longest.min(left) && run.step() {
            steps += 1;
            if !tracker.reach(run.loc(), &traces.len()).is_empty() {
                written += steps;
                if written > STEPS * longest {
                    return None;
                }
                traces.push(run.trace());
            }
            if tracker.is_over() {
                return Some((tracker, traces));
            }
        }
        // A run that is stuck at once counts too.
        left = left.saturating_sub(steps + 1);
        if !spend(steps as u64 + 1) {
            return None;
        }
    }
    None
}

/// The place of each variable among the globals, or among the locals of its procedure.
fn places(program: &Program) -> Table<VarId, usize> {
    let mut place = Table::filled(program.vars().len(), 0);
    program.globals().enumerate().for_each(|(at, var)| place[var] = at);
    for proc in program.procs().iter() {
        proc.locals.iter().enumerate().for_each(|(at, &var)| place[var] = at);
    }
    place
}

/// Numbers at random, the same every time.
struct Draws {
    seed: u64,
    /// The integers of the program.
    integers: Vec<i64>,
}

impl Draws {
    fn new(program: &Program) -> Self {
        let exprs = program.edges().iter().flat_map(|edge| edge.action.exprs());
        let integer = |op: &Op| match op {
            Op::Const(Type::Integer, value) => Some(value.get()),
            _ => None,
        };
        let mut integers: Vec<i64> =
            exprs.flat_map(|expr| expr.code.iter().filter_map(integer)).chain([0, 1]).collect();
        integers.sort_unstable();
        integers.dedup();
        Draws { seed: 1, integers }
    }

    /// A number below a bound.
    fn below(&mut self, bound: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) as usize % bound
    }

    /// A value of a type.
    fn value(&mut self, ty: Type) -> Value {
        let number = match ty {
            Type::Integer => {
                let near = self.below(3) as i64 - 1;
                let at = self.below(self.integers.len());
                self.integers[at].saturating_add(near)
            }
            _ => self.below(1 << 31) as i64,
        };
        ty.wrap(number.into()).expect("it fits 64 bits")
    }
}

/// An activation.
struct Frame {
    proc: ProcId,
    locals: Vec<Value>,
    /// The call that waits below it, and what that chose.
    call: Option<(EdgeId, Vec<Option<Value>>)>,
    /// The values at its entry, and of them those that were drawn for locals.
    entry: Known,
    drawn: Known,
    steps: Vec<Step>,
}

/// A run so far.
struct Run<'r> {
    program: &'r Program,
    draws: &'r mut Draws,
    place: &'r Table<VarId, usize>,
    globals: Vec<Value>,
    frames: Vec<Frame>,
    at: LocId,
    /// How many values are noted.
    noted: usize,
    /// The calls that have returned.
    segments: Table<SegmentId, Segment>,
}

impl<'r> Run<'r> {
    fn new(program: &'r Program, place: &'r Table<VarId, usize>, draws: &'r mut Draws) -> Self {
        let globals = program.globals().map(|var| draws.value(program.vars()[var].ty)).collect();
        let main = program.main();
        let at = program.procs()[main].entry;
        let segments = Table::new();
        let mut run = Run { program, draws, place, globals, frames: Vec::new(), at, noted: 0, segments };
        run.enter(main, Vec::new(), None);
        run
    }

    fn loc(&self) -> LocId {
        self.at
    }

    fn trace(&self) -> Trace {
        let mut steps = Vec::new();
        for frame in &self.frames {
            if let Some((edge, choices)) = &frame.call {
                steps.push(Step::new(*edge, choices.clone()).entering(frame.drawn.clone()));
            }
            steps.extend(frame.steps.iter().cloned());
        }
        Trace::sequential(self.segments.clone(), self.frames[0].entry.clone(), steps)
    }

    /// Begins an activation.
    fn enter(&mut self, proc: ProcId, args: Vec<Value>, call: Option<(EdgeId, Vec<Option<Value>>)>) {
        let data = &self.program.procs()[proc];
        let mut locals = args;
        let mut drawn = Known::new();
        for &var in &data.locals[locals.len()..] {
            let value = self.draws.value(self.program.vars()[var].ty);
            locals.push(value);
            drawn.push((var, value));
        }
        drawn.sort_unstable_by_key(|&(var, _)| var);
        let globals = self.program.globals().zip(self.globals.iter().copied());
        let mut entry: Known =
            globals.chain(data.locals.iter().copied().zip(locals.iter().copied())).collect();
        entry.sort_unstable_by_key(|&(var, _)| var);
        self.noted += entry.len();
        self.frames.push(Frame { proc, locals, call, entry, drawn, steps: Vec::new() });
        self.at = data.entry;
    }

    /// Takes an edge that can be taken with what is drawn for it. Returns whether there is one, and the run goes on.
    fn step(&mut self) -> bool {
        let edges = self.program.leaving(self.at);
        if edges.is_empty() {
            return false;
        }
        let first = self.draws.below(edges.len());
        let mut order = edges[first..].iter().chain(&edges[..first]);
        order.any(|&edge| self.take(edge).is_some()) && !self.frames.is_empty()
    }

    fn take(&mut self, id: EdgeId) -> Option<()> {
        let edge = &self.program.edges()[id];
        let mut choices = Vec::new();
        match &edge.action {
            Action::Assume(condition) => {
                self.value(condition, &[], &mut choices)?.is_true().then_some(())?;
            }
            Action::Assign { targets, values, constraint } => {
                let mut new = Vec::with_capacity(targets.len());
                for (&var, value) in targets.iter().zip(values) {
                    new.push((var, self.value(value, &[], &mut choices)?));
                }
                if let Some(constraint) = constraint {
                    self.value(constraint, &new, &mut choices)?.is_true().then_some(())?;
                }
                new.into_iter().for_each(|(var, value)| *self.cell(var) = value);
            }
            Action::Havoc(vars) => {
                for &var in vars {
                    let value = self.draws.value(self.program.vars()[var].ty);
                    choices.push(Some(value));
                    *self.cell(var) = value;
                }
            }
            Action::Call { .. } if self.noted > MOST_VALUES => return None,
            Action::Call { callee, args, .. } => {
                let args =
                    args.iter().map(|arg| self.value(arg, &[], &mut choices)).collect::<Option<_>>()?;
                self.enter(*callee, args, Some((id, choices)));
                return Some(());
            }
            Action::Return(values) => {
                let values: Option<Vec<Value>> =
                    values.iter().map(|value| self.value(value, &[], &mut choices)).collect();
                return self.come_back(Step::new(id, choices), values?);
            }
        }
        self.frames.last_mut()?.steps.push(Step::new(id, choices));
        self.at = edge.to;
        Some(())
    }

    /// Ends an activation: its call becomes a completed one. At the end of `main` there is nothing left.
    fn come_back(&mut self, last: Step, values: Vec<Value>) -> Option<()> {
        let Frame { proc, call, entry, mut steps, .. } = self.frames.pop()?;
        let Some((call, choices)) = call else { return Some(()) };
        steps.push(last);
        let segment = self.segments.push(Segment::new(proc, entry, steps));
        self.frames.last_mut()?.steps.push(Step::new(call, choices).back(segment));
        let edge = &self.program.edges()[call];
        self.at = edge.to;
        let Action::Call { results, .. } = &edge.action else { return None };
        for (&result, value) in results.iter().zip(values) {
            if let Some(var) = result {
                *self.cell(var) = value;
            }
        }
        Some(())
    }

    fn cell(&mut self, var: VarId) -> &mut Value {
        let at = self.place[var];
        match self.program.vars()[var].scope {
            Scope::Global => &mut self.globals[at],
            Scope::Local(_) => &mut self.frames.last_mut().expect("a run has activations").locals[at],
        }
    }

    /// The value of an expression, with `new` for what an assignment gives. None if a number is too large.
    fn value(
        &mut self,
        expr: &Expr,
        new: &[(VarId, Value)],
        choices: &mut Vec<Option<Value>>,
    ) -> Option<Value> {
        let mut stack: Vec<Value> = Vec::new();
        for &op in &expr.code {
            let mut pop = || stack.pop().map(|value| i128::from(value.get()));
            let value = match op {
                Op::Const(_, value) => value,
                Op::Var(var) => *self.cell(var),
                Op::Next(var) => match new.iter().find(|(other, _)| *other == var) {
                    Some(&(_, value)) => value,
                    None => *self.cell(var),
                },
                Op::Choice(ty) => {
                    let value = self.draws.value(ty);
                    choices.push(Some(value));
                    value
                }
                Op::Not => Value::from(pop()? == 0),
                Op::Neg(ty) => ty.wrap(-pop()?)?,
                Op::Ite => {
                    let (other, then, condition) = (stack.pop()?, stack.pop()?, stack.pop()?);
                    if condition.is_true() { then } else { other }
                }
                _ => {
                    let (b, a) = (pop()?, pop()?);
                    match op {
                        Op::And => Value::from(a != 0 && b != 0),
                        Op::Or => Value::from(a != 0 || b != 0),
                        Op::Xor => Value::from((a != 0) != (b != 0)),
                        Op::Eq => Value::from(a == b),
                        Op::Lt => Value::from(a < b),
                        Op::Le => Value::from(a <= b),
                        Op::Add(ty) => ty.wrap(a + b)?,
                        Op::Sub(ty) => ty.wrap(a - b)?,
                        Op::Mul(ty) => ty.wrap(a * b)?,
                        _ => return None,
                    }
                }
            };
            stack.push(value);
        }
        stack.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postbop_ir::replay::complete;
    use postbop_ir::{Ask, Query, text};

    /// A call that adds three to its argument, around which main compares: l4 where it did not, l5 where it did.
    const CALL: &str = r#"postbop-ir 1
proc p0 "main" params 0 results ( ) entry l0 exit l1 at 0..0
proc p1 "f" params 1 results ( int ) entry l2 exit l3 at 0..0
var v0 p0 int "x"
var v1 p0 int "r"
var v2 p1 int "a"
var v3 p1 bool "other"
loc l0 p0 at 0..0
loc l1 p0 at 0..0
loc l2 p1 at 0..0
loc l3 p1 at 0..0
loc l4 p0 at 0..0
loc l5 p0 at 0..0
loc l6 p0 at 0..0
loc l7 p1 at 0..0
edge l0 l6 at 0..0 call p1 v0 -> v1
edge l6 l4 at 0..0 assume (not (eq v1 (add:int v0 3:int)))
edge l6 l5 at 0..0 assume (eq v1 (add:int v0 3:int))
edge l2 l7 at 0..0 assign v2 := (add:int v2 3:int)
edge l7 l3 at 0..0 return v2
edge l5 l1 at 0..0 return
main p0
"#;

    fn asked(program: &Program, loc: u32) -> Option<Trace> {
        let queries = [Query { name: "it".into(), ask: Ask::Reach(vec![LocId(loc)]), guard: Vec::new() }];
        let (_, mut traces) = sample(&Task::new(program, &queries), &|_| true)?;
        let mut trace = traces.pop()?;
        complete(program, &mut trace, &queries[0].ask, &mut || true).unwrap();
        Some(trace)
    }

    #[test]
    fn a_run_to_a_target_is_a_trace_that_replays() {
        let program = text::parse(CALL).unwrap();
        let (behind, inside) = (asked(&program, 5).unwrap(), asked(&program, 7).unwrap());
        assert_eq!((behind.contexts[0].steps.len(), behind.segments.len()), (2, 1));
        assert_eq!((inside.contexts[0].steps.len(), inside.segments.len()), (2, 0));
        assert!(asked(&program, 4).is_none());
    }
}
