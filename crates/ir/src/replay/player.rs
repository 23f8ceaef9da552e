//! Room `ir`: the contexts of a trace, run one after the other. The idea is in [`super`].

use super::cells::Cells;
use super::lasso::Head;
use super::run::{Effect, Run};
use super::{Changes, INTERRUPTED, PATIENCE, Rejected, at};
use crate::eval::Cell;
use crate::ids::{EdgeId, LocId, ProcId, SegmentId, Table, ThreadId, VarId};
use crate::program::Program;
use crate::trace::{Context, Known, Repeat, Step};
use crate::value::Value;

/// One thread: its innermost activation, and those that wait for a call to return.
struct Stack<'a> {
    run: Run<'a>,
    /// The call that each of the others waits for, and where its locals begin in the list of all that wait.
    waiting: Vec<(EdgeId, usize)>,
    locals: Vec<(VarId, Cell)>,
    ended: bool,
}

impl Stack<'_> {
    fn depth(&self) -> usize {
        self.waiting.len() + 1
    }
}

/// Where the stack of a thread stands, or of the prologue.
fn slot(thread: Option<ThreadId>) -> usize {
    thread.map_or(0, |thread| thread.0 as usize + 1)
}

/// All threads, and what the globals are while none runs.
pub(super) struct Player<'a, 'g> {
    pub(super) program: &'a Program,
    effects: &'a Table<SegmentId, Effect<'a>>,
    initial: &'a [(VarId, Value)],
    globals: Cells,
    /// The prologue, then the threads, as far as they have run.
    stacks: Vec<Option<Stack<'a>>>,
    end: Option<LocId>,
    /// For a run that goes on for ever: from where on it repeats itself, and where that was, once it is reached.
    repeat: Option<&'a Repeat>,
    pub(super) head: Option<Head>,
    steps: u32,
    goes_on: &'g mut dyn FnMut() -> bool,
}

impl<'a, 'g> Player<'a, 'g> {
    /// All threads at the start, with these values.
    pub(super) fn new(
        program: &'a Program,
        effects: &'a Table<SegmentId, Effect<'a>>,
        initial: &'a [(VarId, Value)],
        repeat: Option<&'a Repeat>,
        goes_on: &'g mut dyn FnMut() -> bool,
    ) -> Result<Self, Rejected> {
        let stacks = (0..=program.threads().len()).map(|_| None).collect();
        let globals = Cells::default();
        let (end, head, steps) = (None, None, 0);
        let mut player =
            Player { program, effects, initial, globals, stacks, end, repeat, head, steps, goes_on };
        player.start().map_err(at("initial", 0))?;
        Ok(player)
    }

    /// Where the run is after what was played.
    pub(super) fn end(&self) -> Option<LocId> {
        self.end
    }

    /// What is known where the run is.
    pub(super) fn known(&self) -> Known {
        let mut running = self.stacks.iter().flatten().map(|stack| &stack.run);
        let running = running.find(|run| Some(run.loc) == self.end);
        let locals = running.into_iter().flat_map(|run| run.locals.iter());
        let known = |(var, cell): (VarId, Cell)| Some((var, cell.known()?));
        let mut all: Known = self.globals.iter().chain(locals).filter_map(known).collect();
        all.sort_unstable_by_key(|(var, _)| *var);
        all
    }

    /// Where a thread is, and whether in its first procedure; none if it has not begun. No thread is the prologue.
    pub(super) fn stack(&self, thread: Option<ThreadId>) -> Option<(LocId, bool)> {
        let stack = self.stacks[slot(thread)].as_ref()?;
        Some((stack.run.loc, stack.waiting.is_empty()))
    }

    /// What a thread knows of a variable.
    pub(super) fn cell_of(&self, thread: Option<ThreadId>, var: VarId) -> Cell {
        if self.program.is_global(var) {
            return self.globals.get(var).unwrap_or(Cell::Any);
        }
        let stack = self.stacks[slot(thread)].as_ref();
        stack.and_then(|stack| stack.run.known(var)).map_or(Cell::Any, Cell::Known)
    }

    /// Whether another thread may run after the one that ran last.
    pub(super) fn is_left(&self, last: Option<ThreadId>) -> Result<bool, String> {
        let Some(stack) = &self.stacks[slot(last)] else { return Err("ends before it begins".into()) };
        if stack.ended {
            return Ok(true);
        }
        match self.program.atomic().map(|atomic| self.cell_of(last, atomic)) {
            _ if last.is_none() || self.program.is_sequential() => Ok(false),
            None | Some(Cell::Known(Value::FALSE)) => Ok(true),
            Some(Cell::Known(_)) => Ok(false),
            Some(_) => Err("ends where `atomic` is not known".into()),
        }
    }

    /// Takes the globals from the values at the start, which must be of variables that are there then.
    fn start(&mut self) -> Result<(), String> {
        let starts = self.program.threads().iter().map(|thread| thread.main).chain(self.program.prologue());
        let starts: Vec<ProcId> = starts.collect();
        if self.initial.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err("is not in order".into());
        }
        for &(var, value) in self.initial {
            let data = self.program.vars().get(var).ok_or_else(|| format!("{var} does not exist"))?;
            let local = starts.iter().any(|start| self.program.procs()[*start].locals.contains(&var));
            if !data.ty.contains(value) || !local && !self.program.is_global(var) {
                return Err(format!("{var} is not there at the start, or cannot be {value}"));
            }
            if !local {
                self.globals.insert(var, Cell::Known(value));
            }
        }
        Ok(())
    }

    /// Plays all contexts: what the steps of each change.
    pub(super) fn play(&mut self, contexts: &[Context]) -> Result<Vec<Changes>, Rejected> {
        let mut all = Vec::with_capacity(contexts.len());
        for (number, context) in contexts.iter().enumerate() {
            let place = format!("context {number}");
            let before = number.checked_sub(1).map(|before| contexts[before].thread);
            let main = self.may_run(context, before).map_err(at(&place, 0))?;
            let slot = slot(context.thread);
            let mut stack = match self.stacks[slot].take() {
                Some(stack) => stack,
                None => self.begin(main).map_err(at(&place, 0))?,
            };
            let repeat = self.repeat.filter(|repeat| repeat.from.context as usize == number);
            all.push(self.context(&mut stack, &context.steps, repeat, &place)?);
            if number + 1 < contexts.len() {
                self.may_leave(context, &stack).map_err(at(&place, context.steps.len()))?;
            }
            self.end = Some(stack.run.loc);
            self.stacks[slot] = Some(stack);
        }
        Ok(all)
    }

    /// Whether a context may come after the one of another thread: where it starts.
    fn may_run(
        &self,
        context: &Context,
        before: Option<Option<crate::ids::ThreadId>>,
    ) -> Result<ProcId, String> {
        match (context.thread, self.program.prologue(), before) {
            (None, Some(prologue), None) => Ok(prologue),
            (None, None, _) => Err("there is no prologue".into()),
            (None, Some(_), Some(_)) => Err("the prologue runs once, before all threads".into()),
            (Some(_), Some(_), None) => Err("a thread runs before the prologue".into()),
            (Some(thread), _, Some(Some(last))) if thread == last => Err("the same thread goes on".into()),
            (Some(thread), ..) => {
                let thread = self.program.threads().get(thread).ok_or("no such thread")?;
                Ok(thread.main)
            }
        }
    }

    /// A thread at its start.
    fn begin(&self, proc: ProcId) -> Result<Stack<'a>, String> {
        let locals = &self.program.procs()[proc].locals;
        let entry: Vec<_> = self.initial.iter().copied().filter(|(var, _)| locals.contains(var)).collect();
        let run = Run::enter(self.program, self.effects, proc, &entry)?;
        Ok(Stack { run, waiting: Vec::new(), locals: Vec::new(), ended: false })
    }

    /// Runs the steps of a context: what each changes.
    fn context(
        &mut self,
        stack: &mut Stack<'a>,
        steps: &[Step],
        repeat: Option<&Repeat>,
        place: &str,
    ) -> Result<Changes, Rejected> {
        let mut changes = Changes::default();
        stack.run.globals = std::mem::take(&mut self.globals);
        for (number, step) in steps.iter().enumerate() {
            self.steps = self.steps.wrapping_add(1);
            if self.steps.is_multiple_of(PATIENCE) && !(self.goes_on)() {
                return Err(at(place, number)(INTERRUPTED.into()));
            }
            let depth = stack.depth();
            if let Some(repeat) = repeat.filter(|repeat| repeat.from.step as usize == number) {
                self.reach_head(repeat, &mut stack.run, depth).map_err(at(place, number))?;
            }
            self.step(stack, step, &mut changes).map_err(at(place, number))?;
        }
        if let Some(repeat) = repeat {
            self.close(repeat, &stack.run).map_err(at(place, steps.len()))?;
        }
        self.globals = std::mem::take(&mut stack.run.globals);
        Ok(changes)
    }

    fn step(&self, stack: &mut Stack<'a>, step: &Step, changes: &mut Changes) -> Result<(), String> {
        if stack.ended {
            return Err("goes on after the thread has ended".into());
        }
        let Stack { run, waiting, locals, .. } = stack;
        run.step(step)?;
        let first = locals.len();
        if run.follow(step.locals(), locals)? {
            waiting.push((step.edge, first));
            changes.push(run.known_locals());
            return Ok(());
        }
        if let Some(returned) = run.returned.take() {
            self.may_return(stack.depth())?;
            match stack.waiting.pop() {
                Some((call, first)) => stack.run.resume(call, stack.locals.drain(first..), &returned),
                None => stack.ended = true,
            }
        }
        changes.push(stack.run.noted.drain(..));
        Ok(())
    }

    fn may_leave(&self, context: &Context, stack: &Stack) -> Result<(), String> {
        if stack.ended {
            return Ok(());
        }
        if context.thread.is_none() {
            return Err("a thread runs before the prologue has ended".into());
        }
        if self.program.locs()[stack.run.loc].inner {
            return Err("is left within a statement".into());
        }
        match self.program.atomic().map(|atomic| self.cell_of(context.thread, atomic)) {
            None | Some(Cell::Known(Value::FALSE)) => Ok(()),
            Some(Cell::Known(_)) => Err("is left in an atomic section".into()),
            Some(_) => Err("is left where `atomic` is not known to be 0".into()),
        }
    }
}
