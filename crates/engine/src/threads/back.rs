//! Room `engine/threads`: traces of a translation as traces of the program with threads.
//!
//! Each edge of a translation says what it stands for ([`EdgeMeaning`]): a step of the program, a change of thread or of slot,
//! or nothing. So the steps are dealt out to slots and threads, and read slot by slot they are the run of all threads. The
//! sequentialisation runs one thread after the other, each through its slots; in the product every switch begins a slot.
//! Steps after the target was reached are cut off.
//!
//! A call that begins and ends in one slot stays a segment, so a run may be as long as it likes inside; all other
//! calls are unfolded.

use super::translation::{EdgeMeaning, Translation};
use crate::verdict::Why;
use postbop_ir::trace::Known;
use postbop_ir::{Action, Context, Expr, Program, Segment, SegmentId, Step, Table, ThreadId, Trace, VarId};
use std::collections::BTreeMap;

/// The longest interleaving that is written out.
const LONGEST: usize = 10_000_000;

/// Steps in the order of a run: by slot, then by thread.
struct Dealer<'a> {
    translation: &'a Translation,
    program: &'a Program,
    trace: &'a Trace,
    /// The segments of the trace that lie within a slot, under the numbers they have there.
    whole: Table<SegmentId, Option<Segment>>,
    contexts: BTreeMap<(u32, ThreadId), Vec<Step>>,
    /// The thread and the slot at hand; none in the prologue.
    now: Option<(u32, ThreadId)>,
    prologue: Vec<Step>,
    /// The slot and the thread in which the target was reached, when it was; none within for the prologue.
    end: Option<Option<(u32, ThreadId)>>,
    initial: Known,
    count: usize,
}

/// The trace of the program with threads that a trace of its translation stands for.
pub fn back(program: &Program, translation: &Translation, trace: &Trace) -> Result<Trace, Why> {
    let mut dealer = Dealer {
        translation,
        program,
        trace,
        whole: Table::new(),
        contexts: BTreeMap::new(),
        now: None,
        prologue: Vec::new(),
        end: None,
        initial: Known::new(),
        count: 0,
    };
    for segment in trace.segments.iter() {
        let whole = dealer.within_a_slot(segment);
        dealer.whole.push(whole);
    }
    dealer.deal()?;
    Ok(dealer.finish())
}

impl Dealer<'_> {
    /// A segment in terms of the program with threads, if no other thread runs in between and it ends by returning.
    fn within_a_slot(&self, segment: &Segment) -> Option<Segment> {
        let last = segment.steps.last().map(|step| self.translation.meaning[step.edge]);
        let Some(EdgeMeaning::Step(_)) = last else { return None };
        let mut own = Vec::with_capacity(segment.steps.len());
        for step in &segment.steps {
            match self.translation.meaning[step.edge] {
                EdgeMeaning::Nothing => {}
                EdgeMeaning::Step(edge) => {
                    if step.call.is_some_and(|call| self.whole[call].is_none()) {
                        return None;
                    }
                    own.push(step.along(edge));
                }
                _ => return None,
            }
        }
        let is_ours = |(var, _): &&_| self.program.vars().get(*var).is_some();
        let entry = segment.entry.iter().filter(is_ours).copied().collect();
        Some(Segment::new(segment.proc, entry, own))
    }

    fn deal(&mut self) -> Result<(), Why> {
        for (var, value) in &self.trace.initial {
            if self.program.vars().get(*var).is_some() {
                self.initial.push((*var, *value));
            } else if let Some(&local) = self.translation.firsts.get(var) {
                self.initial.push((local, *value));
            }
        }
        let trace = self.trace;
        // Steps under way: of the run itself, then of the segments that it is inside of; and the next one of each.
        let mut work: Vec<(&[Step], usize)> =
            trace.contexts.iter().rev().map(|context| (&*context.steps, 0)).collect();
        while let Some((steps, at)) = work.last_mut() {
            let Some(step) = steps.get(*at) else {
                work.pop();
                continue;
            };
            *at += 1;
            let inside = step.call.map(|call| &trace.segments[call]);
            self.step(step, inside)?;
            if let Some(segment) = inside
                && self.segment(step).is_none()
            {
                work.push((&segment.steps, 0));
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, inside: Option<&Segment>) -> Result<(), Why> {
        match self.translation.meaning[step.edge] {
            EdgeMeaning::Begin(thread, slot) => self.now = Some((slot, thread)),
            EdgeMeaning::Slot(slot) => self.now = self.now.map(|(_, thread)| (slot, thread)),
            EdgeMeaning::Switch(thread) => {
                self.now = Some((self.now.map_or(0, |(slot, _)| slot + 1), thread));
            }
            EdgeMeaning::Bad => self.end = Some(self.now),
            EdgeMeaning::Step(edge) => {
                self.count += 1;
                if self.count > LONGEST {
                    return Err(Why::Unsupported(format!("a trace of more than {LONGEST} steps")));
                }
                let step = match self.segment(step) {
                    Some(call) => step.along(edge).back(call),
                    None => self.entering(step.along(edge), inside),
                };
                match self.now {
                    Some(now) => self.contexts.entry(now).or_default().push(step),
                    None => self.prologue.push(step),
                }
            }
            // A thread's first procedure was not called by any step: its locals are there from the start.
            EdgeMeaning::Nothing => {
                let entry = inside.map_or(step.locals(), |segment| &segment.entry);
                let first = entry.iter().copied().filter(|(var, _)| self.is_first(*var));
                let first: Known = first.collect();
                self.initial.extend(first);
                self.passed(step);
            }
        }
        Ok(())
    }

    /// Whether a variable is a local of a procedure in which a thread or the prologue starts.
    fn is_first(&self, var: VarId) -> bool {
        let starts = self.program.threads().iter().map(|thread| thread.main).chain(self.program.prologue());
        starts.into_iter().any(|start| self.program.procs()[start].locals.contains(&var))
    }

    /// The call of a thread's first procedure chooses its parameters.
    fn passed(&mut self, step: &Step) {
        if let Action::Call { callee, .. } = self.translation.program.edges()[step.edge].action {
            let params = self.program.procs().get(callee).map_or(&[][..], |proc| proc.params());
            let known = params.iter().zip(step.choices()).filter_map(|(&var, value)| Some((var, (*value)?)));
            self.initial.extend(known);
        }
    }

    /// The segment that a call stays. The first procedure of a thread was not called by any step.
    fn segment(&self, step: &Step) -> Option<SegmentId> {
        match self.translation.meaning[step.edge] {
            EdgeMeaning::Step(_) => step.call.filter(|&call| self.whole[call].is_some()),
            _ => None,
        }
    }

    /// A call that enters its procedure says what the locals there start with: what they are in the segment that it
    /// was; or, where calls were written out, what was chosen after the arguments.
    fn entering(&self, mut step: Step, inside: Option<&Segment>) -> Step {
        step.call = None;
        let Action::Call { callee, .. } = self.program.edges()[step.edge].action else { return step };
        let proc = &self.program.procs()[callee];
        let locals = &proc.locals[proc.params..];
        if let Some(segment) = inside {
            let known = segment.entry.iter().filter(|(var, _)| locals.contains(var));
            return step.entering(known.copied().collect());
        }
        let own = self.program.edges()[step.edge].action.exprs().flat_map(Expr::choices).count();
        if step.choices().len() == own {
            return step;
        }
        let (choices, chosen) = step.choices().split_at(own);
        let known = locals.iter().zip(chosen).filter_map(|(&var, value)| Some((var, (*value)?)));
        let mut known: Known = known.collect();
        known.sort_unstable();
        Step::new(step.edge, choices.to_vec()).entering(known)
    }

    fn finish(mut self) -> Trace {
        // Where nothing says so the run is at a target when it is over.
        let end = self.end.unwrap_or(self.now);
        let rounds = self.translation.rounds;
        let mut contexts: Vec<Context> = Vec::new();
        let last = end.map(|(slot, thread)| if rounds { (slot, thread) } else { (slot, ThreadId(u32::MAX)) });
        let all = std::mem::take(&mut self.contexts);
        for ((slot, thread), steps) in all.into_iter().filter(|_| end.is_some()) {
            if last.is_some_and(|last| (slot, thread) > last) {
                break;
            }
            match contexts.last_mut() {
                Some(before) if before.thread == Some(thread) => before.steps.extend(steps),
                _ => contexts.push(Context { thread: Some(thread), steps }),
            }
        }
        // A target may be where a thread starts.
        if let Some((_, thread)) = end
            && contexts.last().is_none_or(|context| context.thread != Some(thread))
        {
            contexts.push(Context { thread: Some(thread), steps: Vec::new() });
        }
        if self.program.prologue().is_some() {
            contexts.insert(0, Context { thread: None, steps: self.prologue });
        }
        self.initial.sort_unstable();
        self.initial.dedup();
        let mut run = Trace { initial: self.initial, contexts, ..Trace::default() };
        add_segments(&mut run, self.whole);
        run
    }
}

/// Adds to a run the segments that it names, under new numbers.
fn add_segments(run: &mut Trace, mut segments: Table<SegmentId, Option<Segment>>) {
    let mut named = Table::filled(segments.len(), false);
    let calls = |steps: &[Step]| steps.iter().filter_map(|step| step.call).collect::<Vec<_>>();
    for context in &run.contexts {
        calls(&context.steps).into_iter().for_each(|call| named[call] = true);
    }
    for id in segments.ids().rev() {
        if let Some(segment) = segments[id].as_ref().filter(|_| named[id]) {
            calls(&segment.steps).into_iter().for_each(|call| named[call] = true);
        }
    }
    let mut number: Table<SegmentId, Option<SegmentId>> = Table::filled(segments.len(), None);
    let renumber = |steps: &mut [Step], number: &Table<SegmentId, Option<SegmentId>>| {
        steps.iter_mut().for_each(|step| step.call = step.call.and_then(|call| number[call]));
    };
    for id in segments.ids().filter(|&id| named[id]) {
        let mut segment = segments[id].take().expect("what is named lies within a slot");
        renumber(&mut segment.steps, &number);
        number[id] = Some(run.segments.push(segment));
    }
    run.contexts.iter_mut().for_each(|context| renumber(&mut context.steps, &number));
}
