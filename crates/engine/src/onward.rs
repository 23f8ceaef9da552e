//! Room `engine`: what can be reached from the middle of a run.
//!
//! # Idea
//!
//! A question about a program is about its runs from the start. To ask what can be reached from a configuration, a program
//! is made whose runs first build that configuration, and then go on as those of the program do.
//!
//! Each stack is built from the bottom. The first procedure of a thread gets a new entry, from where one edge gives its locals
//! their values; it then calls the procedure of the next activation, and leads on to where that call returns to. A procedure that
//! is to be entered in this way gets a new entry too: there a counter says which activation is wanted, and 0 is an ordinary call.
//! The innermost activation sets the counter to 0 and goes on where the run was left. No body is copied, so the program grows by a few
//! edges for each activation.
//!
//! The locations in between are inner, so a stack is built without a switch. The thread that ran last builds its stack first, and may have to go
//! on where it is; the others wait for a flag, which the prologue clears and that thread sets.
//!
//! # The way back
//!
//! Steps that build a stack stand for nothing. A completed call that began in the middle is not a run of its procedure: its
//! steps go to where it was called, as the steps after a call that the run before had opened.

use crate::temporal::wrap::Draft;
use crate::threads::build::{assignment, constant, equals, number};
use crate::verdict::Why;
use postbop_ir::replay::{Changes, complete};
use postbop_ir::walk::Frame;
use postbop_ir::{
    Action, Ask, Context, EdgeId, Expr, LocId, ProcId, Program, Query, Segment, SegmentId, Span, Step, Table,
    ThreadId, Trace, Type, Value, VarId, Walk,
};
use std::collections::HashSet;

/// The most activations that are built anew.
const DEEPEST: usize = 10_000;

/// A program whose runs go on from a configuration.
pub struct Onward<'a> {
    walk: &'a Walk<'a>,
    /// The program.
    pub program: Program,
    meanings: Table<EdgeId, Option<EdgeId>>,
    /// The edges that call a procedure in order to build a stack.
    builds: HashSet<EdgeId>,
}

/// What is added to the program.
struct Added<'a> {
    walk: &'a Walk<'a>,
    draft: Draft<'a>,
    /// Which activation is to be built, and the type that is wide enough for it.
    wanted: VarId,
    ty: Type,
    /// The thread that ran last, and the flag for which the others wait.
    first: Option<(ThreadId, VarId)>,
    builds: HashSet<EdgeId>,
    /// The new entries of procedures that are called in order to build a stack.
    entries: Table<ProcId, Option<LocId>>,
}

/// The program that goes on where a walk has come to. `Err` if its stacks are too deep.
pub fn onward<'a>(walk: &'a Walk<'a>) -> Result<Onward<'a>, String> {
    let source = walk.program();
    let mut draft = Draft::with_threads(source);
    for (id, edge) in source.edges().pairs() {
        draft.keep(id, edge.from, edge.to);
    }
    let threads: Vec<Option<ThreadId>> =
        std::iter::once(None).chain(source.threads().ids().map(Some)).collect();
    let deepest = threads.iter().map(|thread| walk.stack(*thread).count()).max().unwrap_or(0);
    if deepest > DEEPEST {
        return Err(format!("the stack has {deepest} activations, and {DEEPEST} are the most"));
    }
    let ty = number(deepest as u32);
    let wanted = draft.out.global("%wanted", ty);
    let last = walk.running().flatten().filter(|_| !source.is_sequential());
    let first = last.map(|thread| (thread, draft.out.global("%ready", Type::Bool)));
    let entries = Table::filled(source.procs().len(), None);
    let mut added = Added { walk, draft, wanted, ty, first, builds: HashSet::new(), entries };
    if !source.is_sequential() && walk.has_ended(None) {
        added.prologue();
    }
    for thread in threads {
        added.thread(thread);
    }
    let Added { draft, builds, .. } = added;
    let (program, meanings) = draft.parts();
    Ok(Onward { walk, program, meanings, builds })
}

impl Added<'_> {
    /// Constants for variables.
    fn values(&self, vars: impl Iterator<Item = VarId>, values: &[Value]) -> (Vec<VarId>, Vec<Expr>) {
        let of = |(var, &value): (VarId, &Value)| (var, constant(self.draft.out.vars()[var].ty, value));
        vars.zip(values).map(of).unzip()
    }

    /// A prologue of our own, which gives the globals their values.
    fn prologue(&mut self) {
        let proc = self.draft.out.proc("%prologue", 0, Vec::new(), Span::default());
        let (entry, exit) = (self.draft.out.procs()[proc].entry, self.draft.out.procs()[proc].exit);
        let set = self.draft.loc(proc);
        let action = self.globals();
        self.draft.add(entry, set, action);
        self.draft.add(set, exit, Action::Return(Vec::new()));
        self.draft.out.set_prologue(Some(proc));
    }

    /// The globals get their values, and what was added begins.
    fn globals(&self) -> Action {
        let (mut targets, mut values) = self.values(self.walk.program().globals(), self.walk.globals());
        targets.push(self.wanted);
        values.push(constant(self.ty, Value::ZERO));
        if let Some((_, ready)) = self.first {
            targets.push(ready);
            values.push(Expr::bool(false));
        }
        assignment(targets, values)
    }

    /// Builds the stack of a thread, or of the prologue. One that has ended comes to its end at once.
    fn thread(&mut self, thread: Option<ThreadId>) {
        let program = self.walk.program();
        let first = match thread {
            Some(thread) => Some(program.threads()[thread].main),
            None => program.prologue().filter(|_| !self.walk.has_ended(None)),
        };
        let Some(first) = first else { return };
        let start = self.draft.loc(first);
        self.draft.out.set_entry(first, start);
        let mut from = self.begin(thread, first, start);
        if self.walk.has_ended(thread) {
            let set = self.inner(first);
            let (targets, values) = self.ready(thread);
            self.draft.add(from, set, assignment(targets, values));
            let data = &program.procs()[first];
            let results = data.results.iter().map(|ty| constant(*ty, Value::ZERO)).collect();
            self.draft.add(set, data.exit, Action::Return(results));
            return;
        }
        let mut stack: Vec<(Frame, Option<EdgeId>)> =
            self.walk.stack(thread).map(|(frame, call)| (frame.clone(), call)).collect();
        stack.reverse();
        for (level, (frame, _)) in stack.iter().enumerate() {
            let proc = program.locs()[frame.loc].proc;
            if level > 0 {
                from = self.enter(proc, level as u32);
            }
            let (mut targets, mut values) =
                self.values(program.procs()[proc].locals.iter().copied(), &frame.locals);
            let next = stack.get(level + 1);
            targets.push(self.wanted);
            values.push(constant(self.ty, next.map_or(0, |_| level as u32 + 1)));
            let Some((_, Some(call))) = next else {
                let (ready, is_set) = self.ready(thread);
                targets.extend(ready);
                values.extend(is_set);
                self.draft.add(from, frame.loc, assignment(targets, values));
                return;
            };
            let set = self.inner(proc);
            self.draft.add(from, set, assignment(targets, values));
            self.call(set, *call);
        }
    }

    /// What the thread that ran last sets when its stack is built: the flag for which the others wait.
    fn ready(&self, thread: Option<ThreadId>) -> (Vec<VarId>, Vec<Expr>) {
        let sets = self.first.filter(|(first, _)| thread == Some(*first));
        sets.map(|(_, ready)| (ready, Expr::bool(true))).into_iter().unzip()
    }

    fn inner(&mut self, proc: ProcId) -> LocId {
        self.draft.out.inner(proc, Span::default())
    }

    /// The first edge of a thread: the only thread and the prologue set the globals; of several, those that do not go first wait.
    fn begin(&mut self, thread: Option<ThreadId>, proc: ProcId, start: LocId) -> LocId {
        let begun = self.inner(proc);
        let action = match (thread, self.first) {
            (None, _) => self.globals(),
            _ if self.walk.program().is_sequential() => self.globals(),
            (Some(thread), Some((first, ready))) if thread != first => Action::Assume(Expr::var(ready)),
            _ => Action::skip(),
        };
        self.draft.add(start, begun, action);
        begun
    }

    /// Where a procedure is when its activation of this level is to be built.
    fn enter(&mut self, proc: ProcId, level: u32) -> LocId {
        let entry = match self.entries[proc] {
            Some(entry) => entry,
            None => {
                let (old, new) = (self.draft.out.procs()[proc].entry, self.inner(proc));
                self.draft.out.set_entry(proc, new);
                self.draft.add(new, old, Action::Assume(equals(self.wanted, self.ty, 0)));
                self.entries[proc] = Some(new);
                new
            }
        };
        let begun = self.inner(proc);
        self.draft.add(entry, begun, Action::Assume(equals(self.wanted, self.ty, level)));
        begun
    }

    /// Calls the procedure of the next activation. What it is called with does not matter.
    fn call(&mut self, from: LocId, call: EdgeId) {
        let edge = &self.walk.program().edges()[call];
        let Action::Call { callee, args, results } = &edge.action else { return };
        let params = self.walk.program().procs()[*callee].params();
        let zero = |var: &VarId| constant(self.walk.program().vars()[*var].ty, Value::ZERO);
        debug_assert_eq!(params.len(), args.len());
        let args = params.iter().map(zero).collect();
        let action = Action::Call { callee: *callee, args, results: results.clone() };
        let id = self.draft.add(from, edge.to, action);
        self.builds.insert(id);
    }
}

impl Onward<'_> {
    /// Whether a thread is where the question asks for already. Then there is nothing to ask: a run to there would have no step.
    pub fn is_there(&self, query: &Query) -> bool {
        let threads = self.walk.program().threads().ids().map(Some);
        let is_at = |(frame, _): (&Frame, Option<EdgeId>)| query.locs().contains(&frame.loc);
        std::iter::once(None).chain(threads).any(|thread| self.walk.stack(thread).next().is_some_and(is_at))
    }

    /// The same question from here on.
    pub fn query(&self, query: &Query) -> Query {
        Query { guard: Vec::new(), ..query.clone() }
    }

    /// A run of this program that reaches what was asked for, as a run of the program from its start: the walk, and what follows it.
    pub fn back(&self, trace: &Trace, ask: &Ask) -> Result<(Trace, Vec<Changes>), Why> {
        let bug = |what: String| Why::EngineBug(format!("a run from here is none of the program: {what}"));
        let mut whole = self.walk.trace();
        let (kept, segments) = self.segments(trace);
        whole.segments = segments;
        for Context { thread, steps } in &trace.contexts {
            let steps = self.steps(trace, steps, &kept);
            if steps.is_empty() {
                continue;
            }
            match whole.contexts.last_mut() {
                Some(last) if last.thread == *thread => last.steps.extend(steps),
                Some(last) if last.steps.is_empty() => *last = Context { thread: *thread, steps },
                _ => whole.contexts.push(Context { thread: *thread, steps }),
            }
        }
        let program = self.walk.program();
        let contexts = complete(program, &mut whole, ask, &mut || true);
        contexts.map(|contexts| (whole, contexts)).map_err(|rejected| bug(rejected.to_string()))
    }

    /// The completed calls that began at their entry, with their new numbers.
    fn segments(&self, trace: &Trace) -> (Table<SegmentId, Option<SegmentId>>, Table<SegmentId, Segment>) {
        let mut kept: Table<SegmentId, Option<SegmentId>> = Table::new();
        let mut segments = Table::new();
        let is_ours = |var: VarId| self.walk.program().vars().get(var).is_some();
        for segment in trace.segments.iter() {
            // Edges that were added are at the beginning: one, if it was an ordinary call, and else more.
            let built =
                segment.steps.iter().take(2).filter(|step| self.meanings[step.edge].is_none()).count();
            if built > 1 {
                kept.push(None);
                continue;
            }
            let entry = segment.entry.iter().copied().filter(|(var, _)| is_ours(*var)).collect();
            let steps = self.steps(trace, &segment.steps, &kept);
            kept.push(Some(segments.push(Segment::new(segment.proc, entry, steps))));
        }
        (kept, segments)
    }

    /// The steps of the program among those of a list, and of the calls that it completes and another began.
    fn steps(&self, trace: &Trace, steps: &[Step], kept: &Table<SegmentId, Option<SegmentId>>) -> Vec<Step> {
        let mut found = Vec::new();
        let mut open = vec![(steps, 0)];
        while let Some((steps, at)) = open.pop() {
            let Some(step) = steps.get(at) else { continue };
            open.push((steps, at + 1));
            match (self.meanings[step.edge], step.call) {
                (Some(edge), Some(call)) => {
                    let own = Step::new(edge, step.choices().to_vec());
                    found.extend(kept[call].map(|call| own.back(call)));
                }
                (Some(edge), None) => {
                    found.push(Step::new(edge, step.choices().to_vec()).entering(step.locals().to_vec()));
                }
                (None, Some(call)) if self.builds.contains(&step.edge) => {
                    open.push((&trace.segments[call].steps, 0));
                }
                (None, _) => {}
            }
        }
        found
    }
}
