//! Room `ir/horn`: a trace as a derivation of false.
//!
//! # Idea
//!
//! The run of a trace is made concrete: what a trace leaves open may be anything, so it is 0. Each step is then an instance of the clause of its edge: the clause with values for its variables, all of which follow from it. The file
//! declares the relations and asserts these instances. Each fact that an instance assumes is what another one says, down to the entries of procedures, and the last of
//! them says false. So a solver answers `unsat`, by evaluating ground terms alone, and since the instances follow from the clauses, those have no model.
//!
//! A completed call that several steps name is told once for each valuation with which it is entered.

use super::clause::{Clause, Slot};
use super::interface::{Extra, Interfaces};
use super::make::Maker;
use super::{Failure, declare};
use crate::eval::{Cell, Env, eval};
use crate::expr::Expr;
use crate::ids::{EdgeId, LocId, ProcId, SegmentId, VarId};
use crate::program::{Action, Program};
use crate::step::{Places, Valuation};
use crate::trace::{Step, Trace};
use crate::types::Type;
use crate::value::Value;
use std::collections::HashMap;
use std::fmt::Write;

/// The most instances that are written.
const MOST: usize = 1_000_000;

/// Writes why false can be derived: the clauses' instances along a trace to one of the targets.
pub fn write(
    program: &Program,
    trace: &Trace,
    targets: &[LocId],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let [context] = &trace.contexts[..] else {
        return Err(Failure::Unfit("the run is not that of a sequential program".into()));
    };
    if !program.is_sequential() || trace.repeats.is_some() {
        return Err(Failure::Unfit("the run is not one of a sequential program to a location".into()));
    }
    let extra = Extra::default();
    let interfaces = Interfaces::new(program, targets, &extra);
    writeln!(out, "(set-logic {})", logic(program))?;
    declare(&interfaces, out)?;
    let whole = |_: LocId| true;
    let maker = Maker { program, interfaces: &interfaces, targets, is_cut: &whole };
    let places = Places::new(program);
    let mut teller = Teller { program, maker, places, trace, known: HashMap::new(), count: 0, out };
    teller.run(&context.steps, targets)?;
    writeln!(out, "(set-info :status unsat)\n(check-sat)")?;
    Ok(())
}

/// The logic of ground clauses about the types of a program.
fn logic(program: &Program) -> &'static str {
    let is = |wanted: fn(&Type) -> bool| program.vars().iter().any(|var| wanted(&var.ty));
    match (is(|ty| *ty == Type::Integer), is(|ty| matches!(ty, Type::Uint(_) | Type::Int(_)))) {
        (false, _) => "QF_UFBV",
        (true, false) => "QF_UFLIA",
        (true, true) => "ALL",
    }
}

/// An activation.
struct Frame {
    proc: ProcId,
    entry: Valuation,
    now: Valuation,
    loc: LocId,
    /// The call that is under way, with its choices.
    called: Option<EdgeId>,
    choices: Vec<Value>,
    /// The completed call that this is, and what is known by it.
    segment: Option<(SegmentId, Vec<Value>)>,
}

/// What a completed call leaves: globals and results.
type Left = (Vec<(VarId, Value)>, Vec<Value>);

struct Teller<'a, 'o> {
    program: &'a Program,
    maker: Maker<'a>,
    places: Places,
    trace: &'a Trace,
    known: HashMap<(SegmentId, Vec<Value>), Left>,
    count: usize,
    out: &'o mut dyn Write,
}

/// Values before and after an assignment.
struct Two<'a, 'o> {
    teller: &'a Teller<'a, 'o>,
    old: &'a Valuation,
    new: &'a Valuation,
}

impl Env for Two<'_, '_> {
    fn current(&self, var: VarId) -> Cell {
        Cell::Known(self.teller.places.read(self.teller.program, self.old, var))
    }
    fn next(&self, var: VarId) -> Cell {
        Cell::Known(self.teller.places.read(self.teller.program, self.new, var))
    }
}

impl<'a> Teller<'a, '_> {
    fn run(&mut self, steps: &'a [Step], targets: &[LocId]) -> Result<(), Failure> {
        let main = self.program.main();
        let globals = vec![Value::ZERO; self.program.globals().count()];
        let locals = vec![Value::ZERO; self.program.procs()[main].locals.len()];
        let mut entry = Valuation { globals, locals };
        for &(var, value) in &self.trace.initial {
            self.places.write(self.program, &mut entry, var, value);
        }
        let mut frames = vec![self.enter(main, entry, None)?];
        // The steps of the context, and of completed calls within it.
        let mut cursors = vec![steps.iter()];
        let mut ended: Option<Frame> = None;
        while let Some(cursor) = cursors.last_mut() {
            let Some(step) = cursor.next() else {
                if cursors.len() > 1 {
                    return Err(Failure::Unfit("a completed call does not return".into()));
                }
                break;
            };
            let Some(frame) = frames.last_mut() else {
                return Err(Failure::Unfit("the run goes on behind its end".into()));
            };
            frame.choices = step.choices().iter().map(|choice| choice.unwrap_or(Value::ZERO)).collect();
            match &self.program.edges()[step.edge].action {
                Action::Call { callee, args, .. } => {
                    let (callee, frame) = (*callee, frames.last().expect("it runs"));
                    let entry = self.passed(callee, args, frame, step)?;
                    frames.last_mut().expect("it runs").called = Some(step.edge);
                    let Some(segment) = step.call else {
                        let next = self.enter(callee, entry, None)?;
                        frames.push(next);
                        continue;
                    };
                    let key = (segment, self.key(callee, &entry));
                    match self.known.get(&key).cloned() {
                        Some(left) => self.resume(frames.last_mut().expect("it runs"), left)?,
                        None => {
                            let next = self.enter(callee, entry, Some(key))?;
                            frames.push(next);
                            cursors.push(self.trace.segments[segment].steps.iter());
                        }
                    }
                }
                Action::Return(values) => {
                    let mut frame = frames.pop().expect("it runs");
                    let left = self.give_back(&mut frame, step.edge, values)?;
                    if let Some(key) = frame.segment.take() {
                        cursors.pop();
                        self.known.insert(key, left.clone());
                    }
                    match frames.last_mut() {
                        Some(caller) => self.resume(caller, left)?,
                        None => ended = Some(frame),
                    }
                }
                _ => self.step(frames.last_mut().expect("it runs"), step.edge)?,
            }
        }
        frames.extend(ended);
        self.fail(&frames, targets)
    }

    /// What a segment counts on: the globals that its procedure mentions, and its parameters.
    fn key(&self, proc: ProcId, entry: &Valuation) -> Vec<Value> {
        let inputs = self.maker.interfaces.scope(proc);
        inputs.map(|var| self.places.read(self.program, entry, var)).collect()
    }

    fn enter(
        &mut self,
        proc: ProcId,
        entry: Valuation,
        segment: Option<(SegmentId, Vec<Value>)>,
    ) -> Result<Frame, Failure> {
        let (loc, now) = (self.program.procs()[proc].entry, entry.clone());
        let frame = Frame { proc, entry, now, loc, called: None, choices: Vec::new(), segment };
        let clause = self.maker.entry(proc);
        self.tell(&clause, &frame, &frame.now, &[])?;
        Ok(frame)
    }

    /// The valuation with which a call enters its callee.
    fn passed(
        &self,
        callee: ProcId,
        args: &[Expr],
        frame: &Frame,
        step: &Step,
    ) -> Result<Valuation, Failure> {
        let mut choices = frame.choices.iter().copied();
        let mut locals = Vec::new();
        for arg in args {
            locals.push(self.value(arg, frame, &frame.now, &mut choices)?);
        }
        locals.resize(self.program.procs()[callee].locals.len(), Value::ZERO);
        let mut entry = Valuation { globals: frame.now.globals.clone(), locals };
        let inside = step.call.map_or(step.locals(), |segment| &self.trace.segments[segment].entry);
        let params = self.program.procs()[callee].params();
        for &(var, value) in inside {
            if !self.program.is_global(var) && !params.contains(&var) {
                self.places.write(self.program, &mut entry, var, value);
            }
        }
        Ok(entry)
    }

    fn value(
        &self,
        expr: &Expr,
        frame: &Frame,
        new: &Valuation,
        choices: &mut dyn Iterator<Item = Value>,
    ) -> Result<Value, Failure> {
        let env = Two { teller: self, old: &frame.now, new };
        // A trace of which a choice does not matter may leave it out.
        let mut cells = std::iter::from_fn(|| Some(Cell::Known(choices.next().unwrap_or(Value::ZERO))));
        let cell = eval(expr, &env, &mut cells);
        let value = cell.ok().and_then(Cell::known);
        value.ok_or_else(|| Failure::Unfit("a number of the run is too large".into()))
    }

    /// A step that is neither a call nor a return.
    fn step(&mut self, frame: &mut Frame, edge: EdgeId) -> Result<(), Failure> {
        let mut new = frame.now.clone();
        let mut choices = frame.choices.clone().into_iter();
        match &self.program.edges()[edge].action {
            Action::Assign { targets, values, .. } => {
                for (&target, value) in targets.iter().zip(values) {
                    let value = self.value(value, frame, &frame.now, &mut choices)?;
                    self.places.write(self.program, &mut new, target, value);
                }
            }
            Action::Havoc(vars) => {
                for &var in vars {
                    let value = choices.next().unwrap_or(Value::ZERO);
                    self.places.write(self.program, &mut new, var, value);
                }
            }
            _ => {}
        }
        self.arrive(frame, edge, new, &[])
    }

    /// Tells that a location is reached along an edge, and goes there.
    fn arrive(
        &mut self,
        frame: &mut Frame,
        edge: EdgeId,
        new: Valuation,
        results: &[Value],
    ) -> Result<(), Failure> {
        let to = self.program.edges()[edge].to;
        let run = self.maker.take(edge, self.maker.start(frame.loc), &mut |_| Ok(()))?;
        let clause = self.maker.arrived(to, run.expect("only returns end a run"));
        self.tell(&clause, frame, &new, results)?;
        (frame.now, frame.loc) = (new, to);
        Ok(())
    }

    /// A return, and what it leaves.
    fn give_back(&mut self, frame: &mut Frame, edge: EdgeId, values: &[Expr]) -> Result<Left, Failure> {
        let mut choices = frame.choices.clone().into_iter();
        let mut results = Vec::new();
        for value in values {
            results.push(self.value(value, frame, &frame.now, &mut choices)?);
        }
        let clause = self.only(edge, frame.loc)?;
        self.tell(&clause, frame, &frame.now, &results)?;
        frame.loc = self.program.edges()[edge].to;
        frame.choices = results.clone();
        let outputs = self.maker.interfaces.outputs(frame.proc);
        let left = outputs.map(|var| (var, self.places.read(self.program, &frame.now, var)));
        Ok((left.collect(), results))
    }

    /// The clause that an edge hands over: of a return the summary, of a call that it fails.
    fn only(&self, edge: EdgeId, from: LocId) -> Result<Clause, Failure> {
        let mut found = None;
        self.maker.take(edge, self.maker.start(from), &mut |clause| {
            found = Some(clause.clone());
            Ok(())
        })?;
        found.ok_or_else(|| Failure::Unfit("the run does not end at a target".into()))
    }

    /// A caller goes on after its call.
    fn resume(&mut self, caller: &mut Frame, (globals, results): Left) -> Result<(), Failure> {
        let edge = caller.called.take().expect("a call is under way");
        let mut new = caller.now.clone();
        for (var, value) in globals {
            self.places.write(self.program, &mut new, var, value);
        }
        let Action::Call { results: targets, .. } = &self.program.edges()[edge].action else {
            return Err(Failure::Unfit("a return without a call".into()));
        };
        // The clause speaks of what the callee leaves, and of results before they are stored.
        let left = new.clone();
        for (target, &value) in targets.iter().zip(&results) {
            if let Some(var) = *target {
                self.places.write(self.program, &mut new, var, value);
            }
        }
        self.arrive(caller, edge, left, &results)?;
        caller.now = new;
        Ok(())
    }

    /// From the target up to false.
    fn fail(&mut self, frames: &[Frame], targets: &[LocId]) -> Result<(), Failure> {
        let last = frames.last().expect("a run has an activation");
        let clause = targets.contains(&last.loc).then(|| self.maker.target(last.loc)).flatten();
        let clause = clause.ok_or_else(|| Failure::Unfit("the run does not end at a target".into()))?;
        self.tell(&clause, last, &last.now, &last.choices)?;
        for frame in frames[..frames.len() - 1].iter().rev() {
            let edge = frame.called.ok_or_else(|| Failure::Unfit("the run is not one".into()))?;
            let clause = self.only(edge, frame.loc)?;
            self.tell(&clause, frame, &frame.now, &[])?;
        }
        let clause = self.maker.query();
        let first = &frames[0];
        let begun = Frame {
            entry: first.entry.clone(),
            now: first.entry.clone(),
            choices: Vec::new(),
            segment: None,
            ..*first
        };
        self.tell(&clause, &begun, &begun.now, &[])
    }

    /// Writes an instance of a clause about an activation, with its valuation after the step.
    fn tell(
        &mut self,
        clause: &Clause,
        frame: &Frame,
        new: &Valuation,
        results: &[Value],
    ) -> Result<(), Failure> {
        self.count += 1;
        if self.count > MOST {
            return Err(Failure::Unfit(format!("the derivation has more than {MOST} steps")));
        }
        let read = |valuation: &Valuation, var: VarId| self.places.read(self.program, valuation, var);
        let value = |slot: Slot| match slot {
            Slot::Entry(var) => read(&frame.entry, var),
            Slot::Now(var) => read(&frame.now, var),
            Slot::Next(var, _) => read(new, var),
            Slot::Choice(at) => frame.choices.get(at as usize).copied().unwrap_or(Value::ZERO),
            Slot::Result(at, _) => results.get(at as usize).copied().unwrap_or(Value::ZERO),
            Slot::Inside(..) => Value::ZERO,
        };
        Ok(clause.instance(self.program, value, self.out)?)
    }
}
