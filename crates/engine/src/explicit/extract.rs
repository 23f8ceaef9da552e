//! Room `engine/explicit`: from a context that reached a target to a trace.
//!
//! # Idea
//!
//! Walk back from the target by the origins of contexts. Valuations in the store are partly open, and an open value
//! may have been split by a later edge; so the walk carries a *goal*, a valuation with every value filled in that the
//! run needs from there on, and asks the expander at each edge what must have gone in for the goal to come out. A
//! completed call becomes a segment that ends in its part of the goal; the same exit with the same goal is the same
//! segment, whoever asks. Calls inside calls are walked on a stack of our own.
//!
//! # Cost
//!
//! At each edge the halvings that the search made there, at most. A procedure is walked once for each exit and goal.

use super::code::Machine;
use super::expand::{Expander, Goal, Site};
use super::store::{NOBODY, Store};
use postbop_ir::{EdgeId, Frame, Segment, SegmentId, Step, Table, Trace};
use std::collections::HashMap;

/// A walk back through one procedure.
struct Walk {
    context: u32,
    goal: Vec<u64>,
    /// Last step first.
    steps: Vec<Step>,
    /// For a segment: where it ends.
    end: Option<(u32, Vec<u64>)>,
}

/// Writes traces.
pub struct Extractor<'m, 'a, 's> {
    machine: &'m Machine<'a>,
    store: &'s Store,
    expander: Expander<'m, 'a>,
    segments: Table<SegmentId, Segment>,
    /// The segments by exit and goal, with the valuation each needs at its entry.
    known: HashMap<(u32, Vec<u64>), (SegmentId, Vec<u64>)>,
}

impl<'m, 'a, 's> Extractor<'m, 'a, 's> {
    /// An extractor for what a search found.
    pub fn new(machine: &'m Machine<'a>, store: &'s Store) -> Self {
        let expander = Expander::new(machine);
        Extractor { machine, store, expander, segments: Table::new(), known: HashMap::new() }
    }

    /// A trace to a context.
    pub fn trace(&mut self, context: u32) -> Trace {
        self.segments = Table::new();
        self.known.clear();
        let mut frames = Vec::new();
        let goal = self.store.valuation(context).to_vec();
        let mut walk = Walk { context, goal, steps: Vec::new(), end: None };
        loop {
            let entry = self.store.entry_of(walk.context);
            let (frame, goal) = self.finish(walk);
            frames.push(frame);
            let caller = self.store.entries[entry as usize].first;
            if caller == NOBODY {
                break;
            }
            walk = self.pending(caller, &goal);
        }
        frames.reverse();
        Trace { segments: std::mem::take(&mut self.segments), frames }
    }

    /// The walk of a caller whose call is still open when the run ends.
    fn pending(&mut self, suspension: u32, goal: &[u64]) -> Walk {
        let origin = self.store.origin(suspension);
        let proc = self.machine.program.locs[self.store.loc(origin.from)].proc;
        let nothing = self.machine.layout(proc).open.clone();
        let (choices, goal) = self.explain(origin.from, origin.edge, Goal::Call(goal, &nothing));
        let steps = vec![Step { edge: origin.edge, choices, call: None }];
        Walk { context: origin.from, goal, steps, end: None }
    }

    /// Walks back to the entry, through all segments that are not known yet.
    fn finish(&mut self, walk: Walk) -> (Frame, Vec<u64>) {
        let mut walks = vec![walk];
        loop {
            let walk = walks.last_mut().expect("the first walk returns from here");
            let origin = self.store.origin(walk.context);
            if origin.from == NOBODY {
                let walk = walks.pop().expect("there was a last one");
                let (frame, goal) = self.frame(walk.context, walk.goal, walk.steps);
                let Some(end) = walk.end else { return (frame, goal) };
                let segment = Segment { frame, exit: Vec::new(), results: Vec::new() };
                let id = self.segments.push(segment);
                self.known.insert(end, (id, goal));
                continue;
            }
            if origin.exit == NOBODY {
                let (choices, goal) = self.explain(origin.from, origin.edge, Goal::Row(&walk.goal));
                walk.steps.push(Step { edge: origin.edge, choices, call: None });
                (walk.context, walk.goal) = (origin.from, goal);
                continue;
            }
            let (kept, inside) = self.split_goal(origin.from, origin.exit, &walk.goal);
            let end = (origin.exit, inside);
            let Some((segment, entry)) = self.known.get(&end).cloned() else {
                walks.push(Walk { context: end.0, goal: end.1.clone(), steps: Vec::new(), end: Some(end) });
                continue;
            };
            let caller = self.store.origin(origin.from).from;
            let (choices, goal) = self.explain(caller, origin.edge, Goal::Call(&entry, &kept));
            walk.steps.push(Step { edge: origin.edge, choices, call: Some(segment) });
            (walk.context, walk.goal) = (caller, goal);
        }
    }

    /// What a goal after a call asks of the caller's own values, and what of the callee's exit.
    fn split_goal(&self, suspension: u32, exit: u32, goal: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let call = self.machine.call(self.store.origin(suspension).edge);
        let caller = self.machine.program.locs[self.store.loc(self.store.origin(suspension).from)].proc;
        let here = &self.machine.layout(caller).fields;
        let there = &self.machine.layout(call.callee).fields;
        let mut kept = self.store.kept(suspension).to_vec();
        for &field in &call.kept {
            here[field].set(&mut kept, here[field].get(goal));
        }
        let mut inside = self.store.valuation(exit).to_vec();
        for &(field, from) in &call.back {
            there[from].set(&mut inside, here[field].get(goal));
        }
        (kept, inside)
    }

    fn explain(&mut self, context: u32, edge: EdgeId, goal: Goal) -> (Vec<Option<i64>>, Vec<u64>) {
        let program = self.machine.program;
        let fields = &self.machine.layout(program.locs[self.store.loc(context)].proc).fields;
        let row = self.store.valuation(context);
        let site = Site { edge: self.machine.edge(edge), to: program.edges[edge].to, fields, row };
        self.expander.explain(site, goal).expect("what the search found can be explained")
    }

    /// The frame of a walk that arrived at its entry with this goal.
    fn frame(&self, context: u32, goal: Vec<u64>, mut steps: Vec<Step>) -> (Frame, Vec<u64>) {
        let program = self.machine.program;
        let proc = program.locs[self.store.loc(context)].proc;
        let fields = self.machine.layout(proc).fields.iter().enumerate();
        let known = fields.filter_map(|(at, field)| {
            let var = self.machine.scopes.var(program, proc, at)?;
            Some((var, field.get(&goal)?))
        });
        let mut entry: Vec<_> = known.collect();
        entry.sort_unstable();
        steps.reverse();
        (Frame { proc, entry, steps }, goal)
    }
}
