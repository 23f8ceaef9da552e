//! Room `engine/threads`: from a configuration that was reached back to the start, as a trace.
//!
//! # Idea
//!
//! As in [`crate::encode::machine::retrace`], the walk back carries a *goal*: the values that the run needs from
//! there on. Here it is a goal for the globals, and for each thread a goal for each frame of its stack. An edge
//! turns the goal after it into the goal before it; a switch hands the globals to the thread that ran before.

use super::configurations::{Store, Via};
use crate::budget::Budget;
use crate::encode::machine::code::Machine;
use crate::encode::machine::expand::{Expander, Goal, Site};
use crate::encode::machine::explain::Explanation;
use crate::encode::machine::layout::Row;
use crate::verdict::Why;
use postbop_ir::trace::Known;
use postbop_ir::{Action, Context, EdgeId, ProcId, Program, Step, ThreadId, Trace};

struct Walk<'m, 'a, 's> {
    machine: &'m Machine<'a>,
    program: &'a Program,
    store: &'s Store,
    budget: &'s Budget,
    expander: Expander<'m, 'a>,
    /// The goal for the globals, as the first words of a row.
    globals: Row,
    /// For each thread, and the prologue, the goals for the locals of its frames, innermost last.
    locals: Vec<Vec<Row>>,
    initial: Known,
}

/// A trace to a configuration.
pub fn trace(machine: &Machine, store: &Store, end: u32, budget: &Budget) -> Result<Trace, Why> {
    let program = machine.program;
    let open = &machine.layout(program.threads()[ThreadId(0)].main).open;
    let globals = store.masks.iter().zip(open.iter()).map(|(mask, word)| mask & word).collect();
    let mut walk = Walk {
        machine,
        program,
        store,
        budget,
        expander: Expander::new(machine),
        globals,
        locals: vec![Vec::new(); program.threads().len() + 1],
        initial: Known::new(),
    };
    for thread in 0..=program.threads().len() {
        let mut frame = store.stack(end, thread);
        while let Some(id) = frame {
            let proc = program.locs()[store.frame(id).loc].proc;
            walk.locals[thread].insert(0, machine.layout(proc).open.clone());
            frame = store.frame(id).caller.map(|(caller, _)| caller);
        }
    }
    walk.back(end)
}

impl Walk<'_, '_, '_> {
    fn back(mut self, end: u32) -> Result<Trace, Why> {
        let mut contexts = vec![self.context(end)];
        let mut at = end;
        loop {
            let (before, via) = self.store.origin(at);
            match via {
                Via::Start => break,
                Via::Switch => {
                    self.switch(before, at);
                    contexts.push(self.context(before));
                }
                Via::Edge(edge) => {
                    let step = self.edge(before, at, edge)?;
                    contexts.last_mut().expect("there is a last one").steps.push(step);
                }
            }
            at = before;
        }
        let running = self.store.running(at);
        self.begun(running);
        let globals = self.program.globals().enumerate();
        let fields = &self.machine.layout(self.program.threads()[ThreadId(0)].main).fields;
        let known = globals.filter_map(|(at, var)| Some((var, fields[at].value(&self.globals)?)));
        self.initial.extend(known);
        self.initial.sort_unstable();
        contexts.iter_mut().for_each(|context| context.steps.reverse());
        contexts.reverse();
        Ok(Trace { initial: self.initial, contexts, ..Trace::default() })
    }

    /// The context of the thread that runs.
    fn context(&self, id: u32) -> Context {
        let running = self.store.running(id);
        let thread = (running < self.program.threads().len()).then_some(ThreadId(running as u32));
        Context { thread, steps: Vec::new() }
    }

    /// A thread has not run before: what is needed of its first locals is so from the start.
    fn begun(&mut self, thread: usize) {
        let main = match self.program.threads().get(ThreadId(thread as u32)) {
            Some(thread) => thread.main,
            None => self.program.prologue().expect("it ran"),
        };
        let goal = self.locals[thread].pop().expect("it has a frame");
        let known = self.known_locals(main, &goal, 0);
        self.initial.extend(known);
    }

    /// The known locals of a procedure, from this one on.
    fn known_locals(&self, proc: ProcId, goal: &[u64], from: usize) -> Known {
        let globals = self.machine.scopes.globals(proc).len();
        let fields = &self.machine.layout(proc).fields[globals..];
        let locals = self.program.procs()[proc].locals.iter().zip(fields).skip(from);
        let mut known: Known = locals.filter_map(|(&var, field)| Some((var, field.value(goal)?))).collect();
        known.sort_unstable();
        known
    }

    fn switch(&mut self, before: u32, after: u32) {
        let (thread, other) = (self.store.running(before), self.store.running(after));
        if self.store.stack(before, other).is_none() {
            self.begun(other);
        }
        let top = self.store.stack(before, thread).expect("it ran");
        let frame = self.store.frame(top);
        let ended = self.program.is_exit(frame.loc) && frame.caller.is_none();
        if let Some(atomic) = self.program.atomic().filter(|_| !ended) {
            let proc = self.program.locs()[frame.loc].proc;
            let field = self.machine.scopes.field(self.program, proc, atomic).expect("all globals are there");
            self.machine.layout(proc).fields[field].set(&mut self.globals, Some(0));
        }
    }

    /// The goal for a frame: globals and locals.
    fn goal(&self, locals: &[u64]) -> Row {
        let mut goal = Row::from_slice(locals);
        for ((word, mask), globals) in goal.iter_mut().zip(&self.store.masks).zip(&self.globals) {
            *word = *word & !mask | globals;
        }
        goal
    }

    /// Takes the goal for a frame apart.
    fn put(&mut self, thread: usize, goal: Row) {
        for ((globals, mask), word) in self.globals.iter_mut().zip(&self.store.masks).zip(&goal) {
            *globals = word & mask;
        }
        self.locals[thread].push(goal);
    }

    fn explain(&mut self, before: u32, frame: u32, edge: EdgeId, goal: Goal) -> Result<Explanation, Why> {
        let row = self.store.row(before, frame);
        let to = self.program.edges()[edge].to;
        let fields = &self.machine.layout(self.program.locs()[to].proc).fields;
        let site = Site { edge: self.machine.edge(edge), to, fields, row: &row };
        let found = self.expander.explain(site, goal, self.budget)?;
        Ok(found.expect("what was found can be explained"))
    }

    fn edge(&mut self, before: u32, after: u32, edge: EdgeId) -> Result<Step, Why> {
        let thread = self.store.running(after);
        let frame = self.store.stack(before, thread).expect("it ran");
        let locals = self.locals[thread].pop().expect("it has a frame");
        let goal = self.goal(&locals);
        if let Action::Call { callee, .. } = self.program.edges()[edge].action {
            let kept = self.locals[thread].pop().expect("the caller waits");
            let (choices, row) = self.explain(before, frame, edge, Goal::Call(&goal, &kept))?;
            self.put(thread, row);
            let params = self.program.procs()[callee].params;
            return Ok(Step::new(edge, choices).entering(self.known_locals(callee, &goal, params)));
        }
        let returned = self.program.is_exit(self.program.edges()[edge].to);
        let call = self.store.frame(frame).caller.filter(|_| returned);
        let goal = match call {
            None => goal,
            Some((_, call)) => self.inside(thread, call, &goal),
        };
        let (choices, row) = self.explain(before, frame, edge, Goal::Row(&goal))?;
        self.put(thread, row);
        Ok(Step::new(edge, choices))
    }

    /// What the goal after a call asks of the callee's exit; the rest is asked of what waits.
    fn inside(&mut self, thread: usize, call: EdgeId, goal: &[u64]) -> Row {
        let compiled = self.machine.call(call);
        let here = self.machine.layout(self.program.locs()[self.program.edges()[call].to].proc);
        let there = self.machine.layout(self.machine.callee(call));
        let mut inside = there.open.clone();
        for (field, from) in compiled.back() {
            there.fields[from].set(&mut inside, here.fields[field].get(goal));
        }
        let mut kept = here.open.clone();
        for &field in &compiled.kept {
            here.fields[field].set(&mut kept, here.fields[field].get(goal));
        }
        self.locals[thread].push(kept);
        inside
    }
}
