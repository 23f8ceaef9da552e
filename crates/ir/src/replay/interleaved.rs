//! Room `ir`: when an interleaved trace is believed.
//!
//! # Idea
//!
//! Each thread is a stack of frames that are run as those of a sequential trace are: see [`super`]. Globals go from the
//! frame that runs to the one that runs next, be it by a call, by a return, or because another thread goes on. A global
//! that no step has changed is what it was at the start of the run, in every frame. A thread is left only where that is
//! allowed, and whether it is must not depend on a value that the trace leaves open.

use super::cells::Cells;
use super::run::{Effect, Run};
use super::{Change, Completed, Rejected, at, ends_as_said, say_ends};
use crate::eval::Cell;
use crate::expr::Expr;
use crate::ids::{EdgeId, LocId, ProcId, SegmentId, Table, VarId};
use crate::program::{Action, Program};
use crate::trace::{Frame, Interleaving, Step};

/// What each step of an interleaved trace changes. A call that enters a procedure gives its locals what is known of them,
/// and a return changes what the caller receives.
pub struct InterleavedChanges<'a> {
    /// Of the steps of segments, when asked.
    pub segments: Completed<'a>,
    /// Of the steps of the prologue.
    pub prologue: Vec<Change>,
    /// Of the steps of each context.
    pub contexts: Vec<Vec<Change>>,
}

/// Runs the trace on the program; `Ok` if it is a run from the start to one of the targets.
pub fn replay_interleaving(
    program: &Program,
    trace: &Interleaving,
    targets: &[LocId],
) -> Result<(), Rejected> {
    let played = play(program, trace, Some(targets))?;
    ends_as_said(&trace.segments, &played.segments.effects)
}

/// Runs a trace of which nobody has said yet how its segments end, and says it. What it accepts,
/// [`replay_interleaving`] accepts.
pub fn complete_interleaving(
    program: &Program,
    trace: &mut Interleaving,
    targets: &[LocId],
) -> Result<(), Rejected> {
    let effects = play(program, trace, Some(targets))?.segments.effects;
    say_ends(&mut trace.segments, &effects);
    Ok(())
}

/// What each step changes.
pub fn interleaved_changes<'a>(
    program: &'a Program,
    trace: &'a Interleaving,
) -> Result<InterleavedChanges<'a>, Rejected> {
    play(program, trace, None)
}

/// One thread: its pending frames, each but the innermost with the call that is open.
struct Stack<'a> {
    frames: Vec<Run<'a>>,
    calls: Vec<EdgeId>,
    ended: bool,
}

/// All threads, and what the globals are while none runs.
struct Player<'a> {
    program: &'a Program,
    effects: &'a Table<SegmentId, Effect>,
    trace: &'a Interleaving,
    globals: Cells,
}

fn play<'a>(
    program: &'a Program,
    trace: &'a Interleaving,
    targets: Option<&[LocId]>,
) -> Result<InterleavedChanges<'a>, Rejected> {
    let segments = Completed::new(program, &trace.segments)?;
    let (mut in_prologue, mut contexts) = (Vec::new(), Vec::new());
    let mut player = Player { program, effects: &segments.effects, trace, globals: Cells::default() };
    player.initial().map_err(at("initial", 0))?;
    let mut last = None;
    match program.prologue {
        None if !trace.prologue.is_empty() => return Err(at("prologue", 0)("there is none".into())),
        None => {}
        Some(prologue) => {
            let mut stack = player.begin(prologue).map_err(at("prologue", 0))?;
            in_prologue = player.context(&mut stack, &trace.prologue, "prologue")?;
            if !stack.ended && !trace.contexts.is_empty() {
                let reason = "a thread runs before it has ended".into();
                return Err(at("prologue", trace.prologue.len())(reason));
            }
            last = stack.frames.last().map(|run| run.loc);
        }
    }
    let mut stacks: Vec<Option<Stack>> = program.threads.iter().map(|_| None).collect();
    for (number, context) in trace.contexts.iter().enumerate() {
        let place = format!("context {number}");
        let thread =
            program.threads.get(context.thread).ok_or_else(|| at(&place, 0)("no such thread".into()))?;
        let before = number.checked_sub(1).map(|before| trace.contexts[before].thread);
        if before == Some(context.thread) {
            return Err(at(&place, 0)("the same thread goes on".into()));
        }
        let slot = &mut stacks[context.thread.0 as usize];
        let mut stack = match slot.take() {
            Some(stack) => stack,
            None => player.begin(thread.main).map_err(at(&place, 0))?,
        };
        contexts.push(player.context(&mut stack, &context.steps, &place)?);
        if number + 1 < trace.contexts.len() {
            player.may_leave(&stack).map_err(at(&place, context.steps.len()))?;
        }
        last = stack.frames.last().map(|run| run.loc);
        *slot = Some(stack);
    }
    match (last, targets) {
        (None, _) => Err(at("trace", 0)("has no context".into())),
        (Some(loc), Some(targets)) if !targets.contains(&loc) => {
            Err(at("trace", 0)(format!("ends at {loc}, which is no target")))
        }
        _ => Ok(InterleavedChanges { segments, prologue: in_prologue, contexts }),
    }
}

impl<'a> Player<'a> {
    /// Takes the globals from the values at the start, which must be of variables that are there then.
    fn initial(&mut self) -> Result<(), String> {
        let starts = self.program.threads.iter().map(|thread| thread.main).chain(self.program.prologue);
        let starts: Vec<ProcId> = starts.collect();
        if self.trace.initial.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err("is not in order".into());
        }
        for &(var, value) in &self.trace.initial {
            let data = self.program.vars.get(var).ok_or_else(|| format!("{var} does not exist"))?;
            let local = starts.iter().any(|start| self.program.procs[*start].locals.contains(&var));
            if !data.ty.contains(value) || !local && !self.program.is_global(var) {
                return Err(format!("{var} is not there at the start, or {value} is no {}", data.ty));
            }
            if !local {
                self.globals.insert(var, Cell::Known(value));
            }
        }
        Ok(())
    }

    /// A thread at its start.
    fn begin(&self, proc: ProcId) -> Result<Stack<'a>, String> {
        let locals = &self.program.procs[proc].locals;
        let entry = self.trace.initial.iter().copied().filter(|(var, _)| locals.contains(var)).collect();
        let run = Run::enter(self.program, self.effects, &Frame { proc, entry, steps: Vec::new() }, None)?;
        Ok(Stack { frames: vec![run], calls: Vec::new(), ended: false })
    }

    /// Runs the steps of a context: what each changes.
    fn context(
        &mut self,
        stack: &mut Stack<'a>,
        steps: &[Step],
        place: &str,
    ) -> Result<Vec<Change>, Rejected> {
        let mut changes = Vec::new();
        top(stack).adopt(std::mem::take(&mut self.globals));
        for (number, step) in steps.iter().enumerate() {
            changes.push(self.step(stack, step).map_err(at(place, number))?);
        }
        self.globals = top(stack).globals();
        Ok(changes)
    }

    fn step(&self, stack: &mut Stack<'a>, step: &Step) -> Result<Change, String> {
        if stack.ended {
            return Err("goes on after the thread has ended".into());
        }
        let (step, locals) = self.split(step);
        let run = top(stack);
        run.steps(std::slice::from_ref(&step)).map_err(|(_, reason)| reason)?;
        let change = run.changes.pop().unwrap_or_default();
        if let Some(opened) = &run.opened {
            let entry = self.chosen(opened.callee, &locals);
            let frame = Frame { proc: opened.callee, entry, steps: Vec::new() };
            let inside = Run::enter(self.program, self.effects, &frame, Some(opened))?;
            let known = inside.locals();
            stack.frames.push(inside);
            stack.calls.push(step.edge);
            return Ok(known);
        } else if let Some(returned) = run.returned.clone() {
            let globals = run.globals();
            let Some(call) = stack.calls.pop() else {
                stack.ended = true;
                return Ok(change);
            };
            stack.frames.pop();
            let caller = top(stack);
            caller.resume(call, globals, &returned);
            return Ok(caller.changes.pop().unwrap_or_default());
        }
        Ok(change)
    }

    /// A call that enters may choose locals after its own choices.
    fn split(&self, step: &Step) -> (Step, Vec<Option<i64>>) {
        let mut step = step.clone();
        let mut locals = Vec::new();
        if let (None, Some(edge)) = (step.call, self.program.edges.get(step.edge))
            && let Action::Call { callee, .. } = &edge.action
        {
            let own = edge.action.exprs().flat_map(Expr::choices).count();
            let proc = &self.program.procs[*callee];
            if step.choices.len() == own + proc.locals.len() - proc.params {
                locals = step.choices.split_off(own);
            }
        }
        (step, locals)
    }

    fn chosen(&self, callee: ProcId, locals: &[Option<i64>]) -> Vec<(VarId, i64)> {
        let proc = &self.program.procs[callee];
        let mut entry: Vec<(VarId, i64)> = proc.locals[proc.params..]
            .iter()
            .zip(locals)
            .filter_map(|(var, value)| value.map(|value| (*var, value)))
            .collect();
        entry.sort_unstable();
        entry
    }

    fn may_leave(&self, stack: &Stack) -> Result<(), String> {
        let Some(run) = stack.frames.last() else { return Ok(()) };
        if stack.ended {
            return Ok(());
        }
        if self.program.locs[run.loc].inner {
            return Err("is left within a statement".into());
        }
        match self.program.atomic.map(|atomic| run.known(atomic)) {
            None | Some(Some(0)) => Ok(()),
            Some(Some(_)) => Err("is left in an atomic section".into()),
            Some(None) => Err("is left where an open value says whether it may be".into()),
        }
    }
}

fn top<'b, 'a>(stack: &'b mut Stack<'a>) -> &'b mut Run<'a> {
    stack.frames.last_mut().expect("a thread has a frame")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ThreadId;
    use crate::text::parse;
    use crate::trace::{Context, Segment};

    /// Thread a calls f, which stores its parameter in x and gives back its local; then a needs y. Thread b sets y where x
    /// is set, in two steps of one statement. `init` clears x, y and busy.
    const TWO: &str = r#"postbop-ir 1
proc p0 "init" params 0 results ( ) entry l0 exit l1 at 0..0
proc p1 "a" params 0 results ( ) entry l2 exit l3 at 0..0
proc p2 "b" params 0 results ( ) entry l4 exit l5 at 0..0
proc p3 "f" params 1 results ( bool ) entry l6 exit l7 at 0..0
var v0 global bool "x"
var v1 global bool "y"
var v2 global bool "busy"
var v3 p1 bool "l"
var v4 p3 bool "n"
var v5 p3 bool "m"
loc l0 p0 at 0..0
loc l1 p0 at 0..0
loc l2 p1 at 0..0
loc l3 p1 at 0..0
loc l4 p2 at 0..0
loc l5 p2 at 0..0
loc l6 p3 at 0..0
loc l7 p3 at 0..0
loc l8 p0 at 0..0
loc l9 p1 at 0..0
loc l10 p1 at 0..0
loc l11 p2 at 0..0 inner
loc l12 p2 at 0..0
loc l13 p3 at 0..0
edge l0 l8 at 0..0 assign v0 v1 v2 := false false false
edge l8 l1 at 0..0 return
edge l2 l9 at 0..0 call p3 (or v3 *:bool) -> v3
edge l9 l10 at 0..0 assume (and v1 v3)
edge l10 l3 at 0..0 return
edge l4 l11 at 0..0 assume v0
edge l11 l12 at 0..0 assign v1 := true
edge l12 l5 at 0..0 return
edge l6 l13 at 0..0 assign v0 := v4
edge l13 l7 at 0..0 return v5
prologue p0
atomic v2
thread t0 "a" p1
thread t1 "b" p2
"#;

    fn step(edge: u32, choices: &[Option<i64>]) -> Step {
        Step { edge: EdgeId(edge), choices: choices.to_vec(), call: None }
    }

    fn context(thread: u32, steps: Vec<Step>) -> Context {
        Context { thread: ThreadId(thread), steps }
    }

    /// a is left inside f, b runs, a comes back from f and goes on.
    fn trace() -> Interleaving {
        Interleaving {
            segments: Table::new(),
            initial: Vec::new(),
            prologue: vec![step(0, &[]), step(1, &[])],
            contexts: vec![
                context(0, vec![step(2, &[Some(1), Some(1)]), step(8, &[])]),
                context(1, vec![step(5, &[]), step(6, &[])]),
                context(0, vec![step(9, &[]), step(3, &[])]),
            ],
        }
    }

    fn replays(text: &str, trace: &Interleaving) -> Result<(), String> {
        let program = parse(text).unwrap();
        assert_eq!(crate::validate(&program), []);
        replay_interleaving(&program, trace, &[LocId(10)]).map_err(|rejected| rejected.reason)
    }

    fn rejected(change: impl FnOnce(&mut Interleaving)) -> String {
        let mut changed = trace();
        change(&mut changed);
        replays(TWO, &changed).unwrap_err()
    }

    #[test]
    fn a_run_is_accepted() {
        assert_eq!(replays(TWO, &trace()), Ok(()));
        assert_eq!((trace().switches(), trace().rounds()), (2, 2));
        let (program, trace) = (parse(TWO).unwrap(), trace());
        let changes = interleaved_changes(&program, &trace).unwrap();
        assert_eq!(changes.prologue[0].len(), 3);
        let entered = vec![(VarId(4), Some(1)), (VarId(5), Some(1))];
        assert_eq!(changes.contexts[0], [entered, vec![(VarId(0), Some(1))]], "n and m, then x");
        assert_eq!(changes.contexts[2][0], [(VarId(3), Some(1))], "what f gives back");
    }

    #[test]
    fn a_completed_call_may_be_a_segment() {
        let mut trace = trace();
        let frame =
            Frame { proc: ProcId(3), entry: vec![(VarId(5), 1)], steps: vec![step(8, &[]), step(9, &[])] };
        trace.segments.push(Segment { frame, exit: Vec::new(), results: Vec::new() });
        trace.contexts[0].steps =
            vec![Step { edge: EdgeId(2), choices: vec![Some(1)], call: Some(SegmentId(0)) }];
        trace.contexts[2].steps.remove(0);
        assert!(replays(TWO, &trace).unwrap_err().contains("does not end with what it says"));
        complete_interleaving(&parse(TWO).unwrap(), &mut trace, &[LocId(10)]).unwrap();
        assert_eq!(trace.segments[SegmentId(0)].results, [Some(1)]);
        assert_eq!(replays(TWO, &trace), Ok(()));
    }

    #[test]
    fn what_is_no_run_is_rejected() {
        assert!(rejected(|t| drop(t.prologue.pop())).contains("before it has ended"));
        assert!(rejected(|t| drop(t.contexts.remove(1))).contains("the same thread"));
        assert!(rejected(|t| drop(t.contexts.remove(0))).contains("condition is false"), "x is 0");
        assert!(rejected(|t| drop(t.contexts[1].steps.pop())).contains("within a statement"));
        assert!(rejected(|t| drop(t.contexts[2].steps.pop())).contains("no target"));
        assert!(rejected(|t| t.contexts[0].steps[0].choices[1] = None).contains("leaves open"), "m is l");
        assert!(rejected(|t| t.contexts[0].steps[0].choices[1] = Some(0)).contains("is false"));
        assert!(rejected(|t| t.contexts[0].steps[0].choices[0] = None).contains("leaves open"));
        assert!(rejected(|t| t.contexts[0].steps[0].choices[1] = Some(2)).contains("no bool"));
        assert!(rejected(|t| t.contexts[1].thread = ThreadId(7)).contains("no such thread"));
        assert!(rejected(|t| t.initial.push((VarId(4), 1))).contains("not there at the start"));
        assert!(rejected(|t| t.contexts.clear()).contains("no target"));
        assert!(rejected(|t| t.contexts[2].steps.push(step(3, &[]))).contains("leaves l9"));
        let ended = |t: &mut Interleaving| t.contexts[1].steps.extend([step(7, &[]), step(7, &[])]);
        assert!(rejected(ended).contains("ended"));
    }

    #[test]
    fn an_atomic_section_is_not_left_and_an_open_one_neither() {
        let busy = TWO.replace("v0 v1 v2 := false false false", "v0 v1 v2 := false false true");
        assert!(replays(&busy, &trace()).unwrap_err().contains("atomic section"));
        let open = TWO.replace("v0 v1 v2 := false false false", "v0 v1 := false false");
        assert!(replays(&open, &trace()).unwrap_err().contains("open value"));
        let mut known = trace();
        known.initial.push((VarId(2), 0));
        assert_eq!(replays(&open, &known), Ok(()));
        // b may be left when it has ended, whatever else is true.
        let late = open.replace("edge l12 l5", "edge l12 l12 at 0..0 assign v2 := true\nedge l12 l5");
        let mut late_trace = known.clone();
        late_trace.contexts[1].steps.extend([step(7, &[]), step(8, &[])]);
        late_trace.contexts[0].steps[1].edge = EdgeId(9);
        late_trace.contexts[2].steps[0].edge = EdgeId(10);
        assert_eq!(replays(&late, &late_trace), Ok(()));
        late_trace.contexts[1].steps.pop();
        assert!(replays(&late, &late_trace).unwrap_err().contains("atomic section"));
    }
}
