//! Room `ir`: a run that is made by hand, one step after the other, on plain numbers.
//!
//! # Idea
//!
//! A walk begins with a value for every variable that is there at the start. A step is a thread, an edge, a value for each
//! choice that the edge makes, and for a call one for each local of the procedure that is no parameter. Nothing is left open, so
//! a walk is one run, and [`Walk::trace`] is that run: replay accepts it.
//!
//! Activations are kept in one list, each with the number of its caller; a step that gives an activation other values adds a
//! new one. To undo a step is to forget what it added, and to give the globals that it changed their values back.
//!
//! # Cost
//!
//! A step costs what its edge does. The walk grows by the locals of one activation and the globals that change.

use crate::ids::{EdgeId, Id, LocId, ProcId, ThreadId, VarId};
use crate::program::{Action, Program};
use crate::step::{Places, Successor, Valuation, all_values, outcome, resume};
use crate::trace::{Context, Known, Step, Trace};
use crate::types::Type;
use crate::value::Value;

/// One step, with everything that it chooses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chosen {
    /// The thread; none for the prologue.
    pub thread: Option<ThreadId>,
    /// The edge.
    pub edge: EdgeId,
    /// The outcomes of its choices, in their order.
    pub choices: Vec<Value>,
    /// For a call: what the locals that are no parameters start with, in their order.
    pub locals: Vec<Value>,
}

/// A step that can be taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Way {
    /// The thread; none for the prologue.
    pub thread: Option<ThreadId>,
    /// The edge.
    pub edge: EdgeId,
    /// The outcomes of its choices; none if there are too many to list, so that they have to be named.
    pub choices: Option<Vec<Value>>,
}

/// An activation.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Where it is; for one that waits for a call, where the call stands.
    pub loc: LocId,
    /// Its locals, in the order of [`crate::Proc::locals`].
    pub locals: Vec<Value>,
    /// The call that it is, and the number of the caller.
    caller: Option<(EdgeId, usize)>,
}

/// A thread, or the prologue.
#[derive(Clone, Copy, Debug)]
struct Stack {
    top: usize,
    ended: bool,
}

/// What a step changed.
#[derive(Debug)]
struct Taken {
    step: Chosen,
    globals: Vec<(usize, Value)>,
    slot: usize,
    stack: Stack,
    running: Option<usize>,
    frames: usize,
}

/// A run so far.
#[derive(Debug)]
pub struct Walk<'a> {
    program: &'a Program,
    places: Places,
    initial: Known,
    globals: Vec<Value>,
    frames: Vec<Frame>,
    /// The prologue, then the threads.
    stacks: Vec<Option<Stack>>,
    running: Option<usize>,
    taken: Vec<Taken>,
}

/// Where the stack of a thread stands, or of the prologue.
fn slot(thread: Option<ThreadId>) -> usize {
    thread.map_or(0, |thread| thread.index() + 1)
}

impl<'a> Walk<'a> {
    /// The variables that have a value at the start, in the order of their ids: globals, and the locals of the procedures in which
    /// the prologue and the threads start.
    pub fn starting(program: &Program) -> Vec<VarId> {
        let starts = starts(program).into_iter().flatten();
        let locals = starts.flat_map(|proc| program.procs()[proc].locals.iter().copied());
        let mut all: Vec<VarId> = program.globals().chain(locals).collect();
        all.sort_unstable();
        all
    }

    /// A walk that has not begun. Variables that are not named start with 0.
    pub fn new(program: &'a Program, values: &[(VarId, Value)]) -> Result<Self, String> {
        let mut initial: Known = Walk::starting(program).into_iter().map(|var| (var, Value::ZERO)).collect();
        for &(var, value) in values {
            let at = initial.binary_search_by_key(&var, |(var, _)| *var);
            let at = at.map_err(|_| format!("{var} is not there at the start"))?;
            fits(program.vars()[var].ty, value)?;
            initial[at].1 = value;
        }
        let of = |var: &VarId| {
            let at = initial.binary_search_by_key(var, |(var, _)| *var);
            at.map_or(Value::ZERO, |at| initial[at].1)
        };
        let globals = program.globals().map(|var| of(&var)).collect();
        let mut frames = Vec::new();
        let mut stacks = Vec::new();
        for start in starts(program) {
            stacks.push(start.map(|proc| {
                let data = &program.procs()[proc];
                let locals = data.locals.iter().map(of).collect();
                frames.push(Frame { loc: data.entry, locals, caller: None });
                Stack { top: frames.len() - 1, ended: false }
            }));
        }
        let running = program.prologue().map(|_| 0);
        let places = Places::new(program);
        Ok(Walk { program, places, initial, globals, frames, stacks, running, taken: Vec::new() })
    }

    /// The walk along a trace that was replayed, with 0 for what it leaves open. `Err` if that is more than so many steps.
    pub fn along(program: &'a Program, trace: &Trace, most: usize) -> Result<Self, String> {
        if trace.length() > (most as u64).into() {
            return Err(format!("a run of {} steps is too long to be walked", trace.length()));
        }
        let mut walk = Walk::new(program, &trace.initial)?;
        for context in &trace.contexts {
            let mut open = vec![(&context.steps[..], 0)];
            while let Some((steps, at)) = open.pop() {
                let Some(step) = steps.get(at) else { continue };
                open.push((steps, at + 1));
                let segment = step.call.map(|call| &trace.segments[call]);
                walk.take(walk.filled(context.thread, step, segment.map_or(step.locals(), |s| &s.entry)))?;
                open.extend(segment.map(|segment| (&segment.steps[..], 0)));
            }
        }
        Ok(walk)
    }

    /// A step of a trace, with 0 for what it leaves open.
    fn filled(&self, thread: Option<ThreadId>, step: &Step, known: &[(VarId, Value)]) -> Chosen {
        let action = &self.program.edges()[step.edge].action;
        let choices = step.choices().iter().map(|choice| choice.unwrap_or(Value::ZERO)).collect();
        let of =
            |var: &VarId| known.iter().find(|(known, _)| known == var).map_or(Value::ZERO, |known| known.1);
        let locals = match action {
            Action::Call { callee, .. } => self.fresh(*callee).iter().map(of).collect(),
            _ => Vec::new(),
        };
        Chosen { thread, edge: step.edge, choices, locals }
    }

    /// The locals of a procedure that are no parameters.
    pub fn fresh(&self, proc: ProcId) -> &'a [VarId] {
        let proc = &self.program.procs()[proc];
        &proc.locals[proc.params..]
    }

    /// The program.
    pub fn program(&self) -> &'a Program {
        self.program
    }

    /// How many steps were taken.
    pub fn len(&self) -> usize {
        self.taken.len()
    }

    /// Whether no step was taken.
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    /// The values at the start.
    pub fn initial(&self) -> &[(VarId, Value)] {
        &self.initial
    }

    /// The values of the globals, in the order of their ids.
    pub fn globals(&self) -> &[Value] {
        &self.globals
    }

    /// The thread that ran last; none for the prologue. `None` if none has run and the program has no prologue.
    pub fn running(&self) -> Option<Option<ThreadId>> {
        self.running.map(|slot| slot.checked_sub(1).map(ThreadId::new))
    }

    /// Whether a thread, or the prologue, has ended; the prologue also if there is none.
    pub fn has_ended(&self, thread: Option<ThreadId>) -> bool {
        self.stacks[slot(thread)].is_none_or(|stack| stack.ended)
    }

    /// The activations of a thread, the innermost first, each with the call that it is.
    pub fn stack(&self, thread: Option<ThreadId>) -> impl Iterator<Item = (&Frame, Option<EdgeId>)> {
        let mut next = self.stacks[slot(thread)].map(|stack| stack.top);
        std::iter::from_fn(move || {
            let frame = &self.frames[next?];
            next = frame.caller.map(|(_, caller)| caller);
            Some((frame, frame.caller.map(|(call, _)| call)))
        })
    }

    /// Where the thread is that ran last; of a program that has not begun, where its first thread starts.
    pub fn here(&self) -> LocId {
        let stack = self.stacks[self.running.unwrap_or(1)].expect("what runs has a stack");
        self.frames[stack.top].loc
    }

    /// The threads that may take the next step: those that have not ended, unless the one that runs cannot be left.
    pub fn threads(&self) -> Vec<Option<ThreadId>> {
        let all = (0..self.stacks.len()).filter(|&slot| self.may_run(slot));
        all.map(|slot| slot.checked_sub(1).map(ThreadId::new)).collect()
    }

    fn may_run(&self, slot: usize) -> bool {
        if self.stacks[slot].is_none_or(|stack| stack.ended) {
            return false;
        }
        let Some(running) = self.running.filter(|running| *running != slot) else { return true };
        let other = self.stacks[running].expect("what runs has a stack");
        let held = self.program.atomic().is_some_and(|var| {
            self.places.read(self.program, &self.valuation(other.top), var) != Value::FALSE
        });
        other.ended || running != 0 && !held && !self.program.locs()[self.frames[other.top].loc].inner
    }

    fn valuation(&self, frame: usize) -> Valuation {
        Valuation { globals: self.globals.clone(), locals: self.frames[frame].locals.clone() }
    }

    /// The steps that can be taken. Of an edge whose choices have at most `most` outcomes each is one; of another the
    /// choices are left to be named.
    pub fn ways(&self, most: usize) -> Vec<Way> {
        let mut found = Vec::new();
        for thread in self.threads() {
            let top = self.stacks[slot(thread)].expect("it may run").top;
            let valuation = self.valuation(top);
            for &edge in self.program.leaving(self.frames[top].loc) {
                let action = &self.program.edges()[edge].action;
                let types: Vec<Type> = self.program.choices(action).collect();
                if !are_few(&types, most) {
                    found.push(Way { thread, edge, choices: None });
                    continue;
                }
                for choices in all_values(&types) {
                    // One that needs an integer larger than ours is listed: to take it says why it cannot be.
                    let next = outcome(self.program, &self.places, action, &valuation, &choices);
                    if !matches!(next, Ok(None)) {
                        found.push(Way { thread, edge, choices: Some(choices) });
                    }
                }
            }
        }
        found
    }

    /// Takes a step. `Err` says why it cannot be taken; then nothing has changed.
    pub fn take(&mut self, step: Chosen) -> Result<(), String> {
        let at = slot(step.thread);
        if at >= self.stacks.len() || !self.may_run(at) {
            return Err("this thread cannot run now".into());
        }
        let stack = self.stacks[at].expect("it may run");
        let edge = self.program.edges().get(step.edge).ok_or("no such edge")?;
        let frame = self.frames[stack.top].clone();
        if edge.from != frame.loc {
            return Err("the step begins elsewhere".into());
        }
        let types: Vec<Type> = self.program.choices(&edge.action).collect();
        all_fit(&types, &step.choices)?;
        let old = self.valuation(stack.top);
        let next = outcome(self.program, &self.places, &edge.action, &old, &step.choices)
            .map_err(|_| "an integer does not fit in 64 bits")?
            .ok_or("its condition is false")?;
        let (globals, next, ended) = self.after(&step, &frame, stack.top, old, next)?;
        let undone = |(place, (old, new)): (usize, (&Value, &Value))| (old != new).then_some((place, *old));
        let changed = self.globals.iter().zip(&globals).enumerate().filter_map(undone).collect();
        let (running, frames) = (self.running.replace(at), self.frames.len());
        self.taken.push(Taken { step, globals: changed, slot: at, stack, running, frames });
        self.globals = globals;
        self.frames.push(next);
        self.stacks[at] = Some(Stack { top: frames, ended });
        Ok(())
    }

    /// The globals, the activation on top, and whether the thread has ended, after a step with this outcome.
    fn after(
        &self,
        step: &Chosen,
        frame: &Frame,
        number: usize,
        old: Valuation,
        next: Successor,
    ) -> Result<(Vec<Value>, Frame, bool), String> {
        let edge = &self.program.edges()[step.edge];
        Ok(match (next, &edge.action) {
            (Successor::Call(mut params), &Action::Call { callee, .. }) => {
                let fresh = self.fresh(callee).iter().map(|&var| self.program.vars()[var].ty);
                all_fit(&fresh.collect::<Vec<_>>(), &step.locals)?;
                params.extend(&step.locals);
                let loc = self.program.procs()[callee].entry;
                let caller = Some((step.edge, number));
                (old.globals, Frame { loc, locals: params, caller }, false)
            }
            _ if !step.locals.is_empty() => return Err("chooses locals, but enters no procedure".into()),
            (Successor::Move(valuation), _) => {
                let (loc, caller) = (edge.to, frame.caller);
                (valuation.globals, Frame { loc, locals: valuation.locals, caller }, false)
            }
            (Successor::Return(results), _) => match frame.caller {
                None => (old.globals, Frame { loc: edge.to, ..frame.clone() }, true),
                Some((call, caller)) => {
                    let (call, waits) = (&self.program.edges()[call], &self.frames[caller]);
                    let before = Valuation { globals: Vec::new(), locals: waits.locals.clone() };
                    let globals = &old.globals;
                    let after = resume(self.program, &self.places, &call.action, &before, globals, &results);
                    let caller = waits.caller;
                    (after.globals, Frame { loc: call.to, locals: after.locals, caller }, false)
                }
            },
            (Successor::Call(_), _) => unreachable!("only calls call"),
        })
    }

    /// Takes the last step back; whether there was one.
    pub fn undo(&mut self) -> bool {
        let Some(Taken { globals, slot, stack, running, frames, .. }) = self.taken.pop() else {
            return false;
        };
        globals.into_iter().for_each(|(place, value)| self.globals[place] = value);
        self.stacks[slot] = Some(stack);
        self.running = running;
        self.frames.truncate(frames);
        true
    }

    /// The value of a variable for a thread, if it is there.
    pub fn value(&self, thread: Option<ThreadId>, var: VarId) -> Option<Value> {
        let top = self.stacks[slot(thread)]?.top;
        let own = &self.program.procs()[self.program.locs()[self.frames[top].loc].proc].locals;
        let there = self.program.is_global(var) || own.contains(&var);
        there.then(|| self.places.read(self.program, &self.valuation(top), var))
    }

    /// The run, as a trace: every call enters its procedure, and no value is left open.
    pub fn trace(&self) -> Trace {
        let mut contexts: Vec<Context> = Vec::new();
        for Taken { step, .. } in &self.taken {
            let choices = step.choices.iter().map(|value| Some(*value)).collect();
            let locals = match self.program.edges()[step.edge].action {
                Action::Call { callee, .. } => {
                    let mut known: Known =
                        self.fresh(callee).iter().copied().zip(step.locals.iter().copied()).collect();
                    known.sort_unstable();
                    known
                }
                _ => Known::new(),
            };
            let next = Step::new(step.edge, choices).entering(locals);
            match contexts.last_mut() {
                Some(context) if context.thread == step.thread => context.steps.push(next),
                _ => contexts.push(Context { thread: step.thread, steps: vec![next] }),
            }
        }
        if contexts.is_empty() {
            let thread = self.program.prologue().is_none().then_some(ThreadId(0));
            contexts.push(Context { thread, steps: Vec::new() });
        }
        Trace { initial: self.initial.clone(), contexts, ..Trace::default() }
    }
}

/// The procedures in which the prologue and the threads start.
fn starts(program: &Program) -> Vec<Option<ProcId>> {
    let threads = program.threads().iter().map(|thread| Some(thread.main));
    std::iter::once(program.prologue()).chain(threads).collect()
}

/// Whether there are at most so many tuples of values of these types.
fn are_few(types: &[Type], most: usize) -> bool {
    let bits: Option<u32> = types.iter().map(|ty| ty.bits().map(u32::from)).sum();
    bits.is_some_and(|bits| bits < 32 && 1usize << bits <= most)
}

fn fits(ty: Type, value: Value) -> Result<(), String> {
    if ty.contains(value) { Ok(()) } else { Err(format!("{value} is not a value of {ty}")) }
}

fn all_fit(types: &[Type], values: &[Value]) -> Result<(), String> {
    if types.len() != values.len() {
        return Err(format!("{} values are chosen, not {}", types.len(), values.len()));
    }
    types.iter().zip(values).try_for_each(|(ty, value)| fits(*ty, *value))
}
