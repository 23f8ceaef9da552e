//! A second opinion on traces: follows one on plain numbers.
//!
//! Replay computes with open values and looks at each segment once. This does neither: it unfolds every call and fills
//! every gap with a random value, as if the trace were a list of instructions. A trace that replay accepts must be
//! followed to its end whatever the gaps are filled with.

use postbop_ir::eval::{Cell, Env, eval};
use postbop_ir::{
    Action, EdgeId, Expr, LocId, ProcId, Program, Segment, SegmentId, Step, ThreadId, Trace, Type, Value,
    VarId,
};
use std::collections::BTreeMap;
use xtask::rng::Rng;

type Values = BTreeMap<VarId, Value>;

/// An activation that is being followed: of a completed call, or one whose steps are those of the context.
struct Active<'t> {
    segment: Option<(SegmentId, &'t Segment, usize)>,
    loc: LocId,
    locals: Values,
    /// The call that is open.
    call: Option<EdgeId>,
}

struct Follower<'t> {
    program: &'t Program,
    trace: &'t Trace,
    rng: &'t mut Rng,
    globals: Values,
    stack: Vec<Active<'t>>,
    steps: &'t [Step],
    /// The next step of the context.
    next: usize,
}

struct Pair<'a> {
    old: [&'a Values; 2],
    new: &'a [(VarId, Value)],
}

impl Env for Pair<'_> {
    fn current(&self, var: VarId) -> Cell {
        Cell::Known(*self.old[0].get(&var).or(self.old[1].get(&var)).expect("variables in scope have values"))
    }
    fn next(&self, var: VarId) -> Cell {
        let new = self.new.iter().find(|(target, _)| *target == var);
        new.map_or_else(|| self.current(var), |&(_, value)| Cell::Known(value))
    }
}

/// Follows the trace of a sequential program to its end with random values in its gaps.
pub fn follow(program: &Program, trace: &Trace, targets: &[LocId], rng: &mut Rng) -> Result<(), String> {
    let [context] = &trace.contexts[..] else { return Err("not one context".into()) };
    if context.thread != Some(ThreadId(0)) {
        return Err("another thread".into());
    }
    let mut follower = Follower {
        program,
        trace,
        rng,
        globals: Values::new(),
        stack: Vec::new(),
        steps: &context.steps,
        next: 0,
    };
    for var in program.globals() {
        let value = follower.given(&trace.initial, var)?;
        follower.globals.insert(var, value);
    }
    let main = &program.procs()[program.main()];
    if trace.initial.iter().any(|(var, _)| {
        !main.locals.contains(var) && !program.vars().get(*var).is_some_and(|_| program.is_global(*var))
    }) {
        return Err("a start that is not so".into());
    }
    let args = main
        .params()
        .iter()
        .map(|&var| follower.given(&trace.initial, var))
        .collect::<Result<Vec<_>, _>>()?;
    let locals: Vec<(VarId, Value)> =
        trace.initial.iter().copied().filter(|(var, _)| main.locals[main.params..].contains(var)).collect();
    follower.enter(program.main(), &locals, None, &args)?;
    let end = follower.run()?;
    if targets.contains(&end) { Ok(()) } else { Err("does not end in a target".into()) }
}

impl<'t> Follower<'t> {
    fn random(&mut self, ty: Type) -> Value {
        let width = (ty.max().get() as i128 - ty.min().get() as i128 + 1) as u128;
        Value::new((ty.min().get() as i128 + (u128::from(self.rng.bits()) % width) as i128) as i64)
    }

    /// The value that a list gives a variable; any, if none.
    fn given(&mut self, list: &[(VarId, Value)], var: VarId) -> Result<Value, String> {
        let ty = self.program.vars()[var].ty;
        match list.iter().find(|(other, _)| *other == var) {
            Some(&(_, value)) if !ty.contains(value) => Err("a value outside its type".into()),
            Some(&(_, value)) => Ok(value),
            None => Ok(self.random(ty)),
        }
    }

    fn enter(
        &mut self,
        proc: ProcId,
        entry: &[(VarId, Value)],
        segment: Option<(SegmentId, &'t Segment)>,
        args: &[Value],
    ) -> Result<(), String> {
        let proc = self.program.procs().get(proc).ok_or("no such procedure")?;
        let mut locals: Values = proc.params().iter().copied().zip(args.iter().copied()).collect();
        for &var in &proc.locals[proc.params..] {
            let value = self.given(entry, var)?;
            locals.insert(var, value);
        }
        for (var, value) in entry {
            if locals.get(var).or(self.globals.get(var)) != Some(value) {
                return Err("an entry that is not so".into());
            }
        }
        let segment = segment.map(|(id, segment)| (id, segment, 0));
        self.stack.push(Active { segment, loc: proc.entry, locals, call: None });
        Ok(())
    }

    /// The next step of the innermost activation, and whether it is the last of its kind.
    fn step(&mut self) -> Result<Option<(&'t Step, bool)>, String> {
        let top = self.stack.last_mut().expect("main never leaves the stack");
        let (steps, next, what) = match &mut top.segment {
            Some((_, segment, next)) => (&segment.steps[..], next, "a segment that does not return"),
            None => (self.steps, &mut self.next, ""),
        };
        let Some(step) = steps.get(*next) else {
            return if what.is_empty() { Ok(None) } else { Err(what.into()) };
        };
        *next += 1;
        Ok(Some((step, *next == steps.len())))
    }

    /// Runs to the end; where that is.
    fn run(&mut self) -> Result<LocId, String> {
        while let Some((step, last)) = self.step()? {
            let top = self.stack.last_mut().expect("main never leaves the stack");
            let edge = self.program.edges().get(step.edge).ok_or("no such edge")?;
            if edge.from != top.loc {
                return Err("an edge from elsewhere".into());
            }
            if !step.locals().is_empty()
                && (step.call.is_some() || !matches!(edge.action, Action::Call { .. }))
            {
                return Err("locals of no procedure".into());
            }
            match &edge.action {
                Action::Call { args, .. } => self.call(step, args)?,
                Action::Return(values) => {
                    if !last && top.segment.is_some() {
                        return Err("steps after a return".into());
                    }
                    let results = self.values(step, values, &[])?;
                    if self.stack.len() == 1 {
                        return if last { Ok(edge.to) } else { Err("steps after the end".into()) };
                    }
                    self.come_back(&results)?;
                }
                action => {
                    self.act(step, action)?;
                    self.stack.last_mut().expect("it is there").loc = edge.to;
                }
            }
        }
        Ok(self.stack.last().expect("main never leaves the stack").loc)
    }

    /// The choices of a step, gaps filled.
    fn choices(&mut self, step: &Step, types: Vec<Type>) -> Result<Vec<Value>, String> {
        if types.len() != step.choices().len() {
            return Err("a wrong number of choices".into());
        }
        let choose = |(ty, choice): (Type, &Option<Value>)| match *choice {
            Some(value) if ty.contains(value) => Ok(value),
            Some(_) => Err("a choice outside its type".to_owned()),
            None => Ok(self.random(ty)),
        };
        types.into_iter().zip(step.choices()).map(choose).collect()
    }

    fn values(&mut self, step: &Step, exprs: &[Expr], targets: &[VarId]) -> Result<Vec<Value>, String> {
        let choices = self.choices(step, exprs.iter().flat_map(Expr::choices).collect())?;
        let mut choices = choices.into_iter().map(Cell::Known);
        let top = self.stack.last().expect("it is there");
        let mut new: Vec<(VarId, Value)> = Vec::new();
        let mut found = Vec::new();
        for (at, expr) in exprs.iter().enumerate() {
            // Only a constraint, which comes after all values, looks at new ones.
            let seen = if at < targets.len() { &[][..] } else { &new[..] };
            let pair = Pair { old: [&top.locals, &self.globals], new: seen };
            let value = eval(expr, &pair, &mut choices).map_err(|_| "overflow")?;
            let value = value.known().ok_or("plain numbers gave no number")?;
            new.extend(targets.get(at).map(|&target| (target, value)));
            found.push(value);
        }
        Ok(found)
    }

    fn act(&mut self, step: &Step, action: &Action) -> Result<(), String> {
        if step.call.is_some() {
            return Err("no call".into());
        }
        match action {
            Action::Assume(condition) => match self.values(step, std::slice::from_ref(condition), &[])?[0] {
                Value::FALSE => Err("an assumption that fails".into()),
                _ => Ok(()),
            },
            Action::Assign { targets, values, constraint } => {
                let exprs: Vec<Expr> = values.iter().chain(constraint).cloned().collect();
                let found = self.values(step, &exprs, targets)?;
                if found.get(targets.len()) == Some(&Value::FALSE) {
                    return Err("a constraint that fails".into());
                }
                targets.iter().zip(found).for_each(|(&var, value)| self.store(var, value));
                Ok(())
            }
            Action::Havoc(vars) => {
                let types = vars.iter().map(|&var| self.program.vars()[var].ty).collect();
                let found = self.choices(step, types)?;
                vars.iter().zip(found).for_each(|(&var, value)| self.store(var, value));
                Ok(())
            }
            Action::Call { .. } | Action::Return(_) => unreachable!("handled by the caller"),
        }
    }

    fn store(&mut self, var: VarId, value: Value) {
        let top = self.stack.last_mut().expect("it is there");
        let place = if self.program.is_global(var) { &mut self.globals } else { &mut top.locals };
        place.insert(var, value);
    }

    fn call(&mut self, step: &'t Step, args: &[Expr]) -> Result<(), String> {
        let args = self.values(step, args, &[])?;
        let Action::Call { callee, .. } = &self.program.edges()[step.edge].action else {
            unreachable!("a call")
        };
        let trace = self.trace;
        let top = self.stack.last_mut().expect("it is there");
        top.call = Some(step.edge);
        let inside = top.segment.map(|(id, ..)| id);
        match step.call {
            Some(call) if inside.is_some_and(|inside| call >= inside) => Err("a later segment".into()),
            Some(call) => {
                let segment = trace.segments.get(call).ok_or("no such segment")?;
                if segment.proc != *callee {
                    return Err("another procedure".into());
                }
                self.enter(segment.proc, &segment.entry, Some((call, segment)), &args)
            }
            None if inside.is_some() => Err("an open call in a segment".into()),
            None => {
                let proc = &self.program.procs()[*callee];
                if step.locals().iter().any(|(var, _)| !proc.locals[proc.params..].contains(var)) {
                    return Err("locals of another procedure".into());
                }
                self.enter(*callee, step.locals(), None, &args)
            }
        }
    }

    fn come_back(&mut self, returned: &[Value]) -> Result<(), String> {
        let done = self.stack.pop().expect("it is there");
        if let Some((_, segment, _)) = done.segment {
            if segment.exit.iter().any(|(var, value)| self.globals.get(var) != Some(value)) {
                return Err("an exit that is not so".into());
            }
            let told = segment.results.iter().zip(returned);
            let told = told.into_iter().all(|(told, value)| told.is_none_or(|told| told == *value));
            if !told || segment.results.len() != returned.len() {
                return Err("a result that is not so".into());
            }
        }
        let top = self.stack.last_mut().expect("a call has a caller");
        let edge = &self.program.edges()[top.call.take().expect("it called")];
        top.loc = edge.to;
        let Action::Call { results, .. } = &edge.action else { unreachable!("a call") };
        for (result, &value) in results.iter().zip(returned) {
            if let Some(var) = *result {
                self.store(var, value);
            }
        }
        Ok(())
    }
}
