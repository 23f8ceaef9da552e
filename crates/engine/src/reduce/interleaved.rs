//! Room `engine/reduce`: traces of the sequential program as interleavings.
//!
//! The sequential run is one thread after the other, each through its slots. Its steps are dealt out to slots and threads,
//! and read slot by slot they are the run of all threads. What it does after the target was reached is cut off.
//!
//! A call that begins and ends in one slot stays the segment that it is, so a run may be as long as it likes inside; the others
//! are unfolded.

use super::sequential::{Origin, Sequential};
use crate::verdict::Why;
use postbop_ir::trace::Known;
use postbop_ir::{Context, Frame, Interleaving, Program, Segment, SegmentId, Step, Table, ThreadId, Trace};
use std::collections::BTreeMap;

/// The longest interleaving that is written out.
const LONGEST: usize = 10_000_000;

/// Steps in the order of a run: by slot, then by thread.
struct Dealer<'a> {
    sequential: &'a Sequential,
    program: &'a Program,
    trace: &'a Trace,
    /// The segments of the trace that lie within a slot, under the numbers they have there.
    whole: Table<SegmentId, Option<Segment>>,
    contexts: BTreeMap<(u32, ThreadId), Vec<Step>>,
    /// The thread and the slot at hand; none in the prologue.
    now: Option<(u32, ThreadId)>,
    prologue: Vec<Step>,
    /// Where the target was reached.
    end: Option<Option<(u32, ThreadId)>>,
    initial: Known,
    count: usize,
}

/// The interleaving of a trace of the sequential program.
pub fn interleaving(
    program: &Program,
    sequential: &Sequential,
    rounds: bool,
    trace: &Trace,
) -> Result<Interleaving, Why> {
    let mut dealer = Dealer {
        sequential,
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
    Ok(dealer.finish(rounds))
}

impl Dealer<'_> {
    /// A segment in terms of the program with threads, if no other thread runs in between and it ends by returning.
    fn within_a_slot(&self, segment: &Segment) -> Option<Segment> {
        let Frame { proc, ref entry, ref steps } = segment.frame;
        let last = steps.last().map(|step| self.sequential.origins[step.edge]);
        let Some(Origin::Step(_)) = last else { return None };
        let mut own = Vec::with_capacity(steps.len());
        for step in steps {
            match self.sequential.origins[step.edge] {
                Origin::Nothing => {}
                Origin::Step(edge) => {
                    if step.call.is_some_and(|call| self.whole[call].is_none()) {
                        return None;
                    }
                    own.push(Step { edge, ..step.clone() });
                }
                Origin::Begin(..) | Origin::Switch(_) | Origin::Slot(_) | Origin::Bad => return None,
            }
        }
        let is_ours = |(var, _): &&_| self.program.vars.get(*var).is_some();
        let frame = Frame { proc, entry: entry.iter().filter(is_ours).copied().collect(), steps: own };
        Some(Segment { frame, exit: Known::new(), results: Vec::new() })
    }

    fn deal(&mut self) -> Result<(), Why> {
        let frames = &self.trace.frames;
        for (var, value) in &frames[0].entry {
            if self.program.vars.get(*var).is_some() {
                self.initial.push((*var, *value));
            } else if let Some(&local) = self.sequential.firsts.get(var) {
                self.initial.push((local, *value));
            }
        }
        for (depth, frame) in frames.iter().enumerate() {
            // Segments under way, with the next step of each.
            let mut work: Vec<(&Frame, usize)> = vec![(frame, 0)];
            while let Some((here, at)) = work.last_mut() {
                let Some(step) = here.steps.get(*at) else {
                    work.pop();
                    continue;
                };
                *at += 1;
                let main = depth == 0 && work.len() == 1;
                let pending = work.len() == 1 && work[0].1 == frame.steps.len();
                let inside = match step.call {
                    Some(call) => Some(&self.trace.segments[call].frame),
                    None => frames.get(depth + 1).filter(|_| pending),
                };
                self.step(step, inside, main)?;
                if let Some(call) = step.call
                    && self.segment(step).is_none()
                {
                    work.push((&self.trace.segments[call].frame, 0));
                }
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, inside: Option<&Frame>, main: bool) -> Result<(), Why> {
        match self.sequential.origins[step.edge] {
            Origin::Begin(thread, slot) => self.now = Some((slot, thread)),
            Origin::Slot(slot) => self.now = self.now.map(|(_, thread)| (slot, thread)),
            Origin::Switch(thread) => self.now = Some((self.now.map_or(0, |(slot, _)| slot + 1), thread)),
            Origin::Bad => self.end = Some(self.now),
            Origin::Step(edge) => {
                self.count += 1;
                if self.count > LONGEST {
                    return Err(Why::Unsupported(format!("a trace of more than {LONGEST} steps")));
                }
                let mut choices = step.choices.clone();
                let call = self.segment(step);
                if let Some(frame) = inside.filter(|_| call.is_none()) {
                    self.locals(frame, &mut choices);
                }
                let step = Step { edge, choices, call };
                match self.now {
                    Some(now) => self.contexts.entry(now).or_default().push(step),
                    None => self.prologue.push(step),
                }
            }
            Origin::Nothing => {
                if let Some(frame) = inside.filter(|_| main) {
                    let locals = &self.program.procs[frame.proc].locals;
                    self.initial.extend(frame.entry.iter().filter(|(var, _)| locals.contains(var)));
                }
            }
        }
        Ok(())
    }

    /// The segment that a call stays. The first procedure of a thread was not called by anybody.
    fn segment(&self, step: &Step) -> Option<SegmentId> {
        match self.sequential.origins[step.edge] {
            Origin::Step(_) => step.call.filter(|&call| self.whole[call].is_some()),
            _ => None,
        }
    }

    /// What the locals of the procedure that a call enters hold at first, as choices of the call.
    fn locals(&self, frame: &Frame, choices: &mut Vec<Option<i64>>) {
        let proc = &self.program.procs[frame.proc];
        let value = |var| frame.entry.iter().find(|(known, _)| *known == var).map(|&(_, value)| value);
        let values: Vec<Option<i64>> = proc.locals[proc.params..].iter().map(|&var| value(var)).collect();
        if values.iter().any(Option::is_some) {
            choices.extend(values);
        }
    }

    fn finish(mut self, rounds: bool) -> Interleaving {
        // Where nothing says so the run is at a target when it is over.
        let end = self.end.unwrap_or(self.now);
        let mut contexts: Vec<Context> = Vec::new();
        let last = end.map(|(slot, thread)| if rounds { (slot, thread) } else { (slot, ThreadId(u32::MAX)) });
        let all = std::mem::take(&mut self.contexts);
        for ((slot, thread), steps) in all.into_iter().filter(|_| end.is_some()) {
            if last.is_some_and(|last| (slot, thread) > last) {
                break;
            }
            match contexts.last_mut() {
                Some(before) if before.thread == thread => before.steps.extend(steps),
                _ => contexts.push(Context { thread, steps }),
            }
        }
        // A target may be where a thread starts.
        if let Some((_, thread)) = end
            && contexts.last().is_none_or(|context| context.thread != thread)
        {
            contexts.push(Context { thread, steps: Vec::new() });
        }
        self.initial.sort_unstable();
        self.initial.dedup();
        let mut run =
            Interleaving { segments: Table::new(), initial: self.initial, prologue: self.prologue, contexts };
        add_segments(&mut run, self.whole);
        run
    }
}

/// Adds to a run the segments that it names, under new numbers.
fn add_segments(run: &mut Interleaving, mut segments: Table<SegmentId, Option<Segment>>) {
    let mut named = Table::filled(segments.len(), false);
    let contexts = run.contexts.iter_mut().map(|context| &mut context.steps);
    let mut stretches: Vec<&mut Vec<Step>> = contexts.chain([&mut run.prologue]).collect();
    let calls = |steps: &[Step]| steps.iter().filter_map(|step| step.call).collect::<Vec<_>>();
    stretches.iter().flat_map(|steps| calls(steps)).for_each(|call| named[call] = true);
    for id in segments.ids().rev() {
        if let Some(segment) = segments[id].as_ref().filter(|_| named[id]) {
            calls(&segment.frame.steps).into_iter().for_each(|call| named[call] = true);
        }
    }
    let mut number: Table<SegmentId, Option<SegmentId>> = Table::filled(segments.len(), None);
    let renumber = |steps: &mut [Step], number: &Table<SegmentId, Option<SegmentId>>| {
        steps.iter_mut().for_each(|step| step.call = step.call.and_then(|call| number[call]));
    };
    for id in segments.ids().filter(|&id| named[id]) {
        let mut segment = segments[id].take().expect("what is named lies within a slot");
        renumber(&mut segment.frame.steps, &number);
        number[id] = Some(run.segments.push(segment));
    }
    stretches.iter_mut().for_each(|steps| renumber(steps, &number));
}
