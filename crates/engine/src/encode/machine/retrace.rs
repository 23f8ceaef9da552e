//! Room `engine/encode`: from a point that was reached back to the start, as a trace.
//!
//! # Idea
//!
//! For every point that an engine reached, it knows by which edge from which earlier point: its [`History`]. The
//! values known there may be partly open, and an open value may have been fixed by a later edge. So the walk back
//! carries a *goal*, a valuation with every value filled in that the run needs from there on, and asks the expander
//! at each edge which values must have been there before for the goal to come out. A completed call becomes a
//! segment that ends in its part of the goal; the same exit with the same goal is the same segment, whichever call
//! needs it. Calls inside calls are walked on a stack of our own.
//!
//! # Cost
//!
//! At each edge what the engine needs to name the point before, and the halvings of the expander. A procedure is
//! walked once for each exit and goal.

use super::code::Machine;
use super::expand::{Expander, Goal, Site};
use super::explain::Explanation;
use super::layout::Row;
use crate::budget::Budget;
use crate::encode::memo::Memo;
use crate::verdict::Why;
use postbop_ir::trace::Known;
use postbop_ir::{EdgeId, LocId, Position, ProcId, Repeat, Segment, SegmentId, Step, Table, Trace};
use rustc_hash::FxHashMap as HashMap;
use std::hash::Hash;
use std::iter;

/// How a point was reached.
pub enum Predecessor<P> {
    /// It is the entry of its procedure.
    Entry,
    /// By an edge, from a point with this valuation.
    Step {
        /// The point before.
        from: P,
        /// The valuation there; open values may be filled in at will.
        row: Row,
        /// The edge.
        edge: EdgeId,
    },
    /// By edges that choose nothing, one after the other.
    Run {
        /// The point before all of them.
        from: P,
        /// The valuation there, with every value that the run needs.
        row: Row,
        /// The edges, the last one last.
        edges: Vec<EdgeId>,
    },
    /// By the return of a call.
    Return {
        /// The point that called.
        from: P,
        /// The valuation there; open values may be filled in at will.
        row: Row,
        /// The call.
        edge: EdgeId,
        /// The callee's exit.
        exit: P,
        /// The valuation there, with the goal's part of it filled in.
        inside: Row,
    },
}

/// The call that entered a procedure, and the valuation in front of it.
pub struct Caller<P> {
    /// The point that called.
    pub from: P,
    /// The valuation there.
    pub row: Row,
    /// The call.
    pub edge: EdgeId,
}

/// What an engine remembers.
pub trait History {
    /// A point of the search.
    type Point: Clone + Eq + Hash;

    /// The location of a point.
    fn loc(&self, point: &Self::Point) -> LocId;

    /// How a point was reached with these values, at least.
    fn predecessor(&mut self, point: &Self::Point, goal: &[u64]) -> Result<Predecessor<Self::Point>, Why>;

    /// The call that first entered the procedure of this entry with these values; `None` for main.
    fn caller(&mut self, entry: &Self::Point, goal: &[u64]) -> Result<Option<Caller<Self::Point>>, Why>;
}

/// How many steps are walked between two looks at the budget.
const PATIENCE: u64 = 1 << 10;

/// Where a segment ends, and with which values at least.
type End<P> = (P, Row);

/// A walk back through one procedure.
struct Walk<P> {
    point: P,
    goal: Row,
    /// Last step first.
    steps: Vec<Step>,
    /// For a segment: where it ends.
    end: Option<End<P>>,
}

/// Writes traces.
pub struct Retracer<'m, 'a, 'p, T: History> {
    machine: &'m Machine<'a>,
    history: &'p mut T,
    budget: &'p Budget,
    expander: Expander<'m, 'a>,
    segments: Table<SegmentId, Segment>,
    /// The segments by exit and goal, with the valuation each needs at its entry.
    known: HashMap<End<T::Point>, (SegmentId, Row)>,
    /// What was explained along edges of each class.
    memo: Memo<Explanation>,
    /// The steps walked for all traces, and why there are to be no more.
    walked: u64,
    stopped: Option<Why>,
}

impl<'m, 'a, 'p, T: History> Retracer<'m, 'a, 'p, T> {
    /// A writer for what an engine remembers.
    pub fn new(machine: &'m Machine<'a>, history: &'p mut T, budget: &'p Budget) -> Self {
        let expander = Expander::new(machine);
        Retracer {
            machine,
            history,
            budget,
            expander,
            segments: Table::new(),
            known: HashMap::default(),
            memo: Memo::default(),
            walked: 0,
            stopped: None,
        }
    }

    /// A trace to a point that was reached with these values.
    pub fn trace(&mut self, point: T::Point, goal: Row) -> Result<Trace, Why> {
        if let Some(why) = &self.stopped {
            return Err(why.clone());
        }
        self.segments = Table::new();
        self.known.clear();
        let (goal, steps) = self.back_to(None, point, goal)?;
        let (_, initial) = self.entry(self.machine.program.procs()[self.machine.program.main()].entry, &goal);
        let segments = std::mem::take(&mut self.segments);
        Ok(Trace::sequential(segments, initial, steps.into_iter().rev().collect()))
    }

    /// A run that goes on for ever: to the first of three points with this valuation, and from there on again and again
    /// from the second to the third. All three stand for the same point.
    ///
    /// A round may need more at its beginning than the valuation says, where values are open, and then the round before
    /// must end with that. So rounds are walked back until one begins with values that a later round ends with.
    pub fn lasso(&mut self, [head, first, last]: [T::Point; 3], row: Row) -> Result<Trace, Why> {
        let mut goals = vec![row];
        let mut rounds: Vec<Vec<Step>> = Vec::new();
        let from = loop {
            let goal = goals[goals.len() - 1].clone();
            let (goal, steps) = self.back_to(Some(&first), last.clone(), goal)?;
            rounds.push(steps);
            if let Some(from) = goals.iter().position(|known| *known == goal) {
                break from;
            }
            goals.push(goal);
        };
        let (_, known) = self.entry(self.history.loc(&head), &goals[from]);
        let (goal, stem) = self.back_to(None, head, goals[from].clone())?;
        let (_, initial) = self.entry(self.machine.program.procs()[self.machine.program.main()].entry, &goal);
        let position = Position { context: 0, step: stem.len() as u32 };
        let rounds = rounds.drain(from..).rev().flat_map(|round| round.into_iter().rev());
        let steps = stem.into_iter().rev().chain(rounds).collect();
        let segments = std::mem::take(&mut self.segments);
        let repeats = Some(Repeat { from: position, head: known });
        Ok(Trace { repeats, ..Trace::sequential(segments, initial, steps) })
    }

    /// Walks back from a point to another, or to the start of the run: what is needed there, and the steps, last step first.
    fn back_to(
        &mut self,
        stop: Option<&T::Point>,
        point: T::Point,
        goal: Row,
    ) -> Result<(Row, Vec<Step>), Why> {
        // The steps of all pending frames, last step first.
        let mut walk = Walk { point, goal, steps: Vec::new(), end: None };
        loop {
            let Walk { point: entry, goal, steps, .. } = self.finish(walk, stop)?;
            if stop == Some(&entry) {
                return Ok((goal, steps));
            }
            let (proc, known) = self.entry(self.history.loc(&entry), &goal);
            let Some(Caller { from, row, edge }) = self.history.caller(&entry, &goal)? else {
                return Ok((goal, steps));
            };
            let caller = self.machine.program.locs()[self.history.loc(&from)].proc;
            let nothing = self.machine.layout(caller).open.clone();
            let (choices, goal) = self.explain(&row, edge, Goal::Call(&goal, &nothing))?;
            let proc = &self.machine.program.procs()[proc];
            let own = |(var, _): &(_, _)| proc.locals[proc.params..].contains(var);
            let step = Step::new(edge, choices).entering(known.into_iter().filter(own).collect());
            walk = Walk { point: from, goal, steps, end: None };
            walk.steps.push(step);
        }
    }

    /// Walks back to the entry, or to where to stop, through all segments that are not known yet.
    fn finish(&mut self, walk: Walk<T::Point>, stop: Option<&T::Point>) -> Result<Walk<T::Point>, Why> {
        let mut walks = vec![walk];
        loop {
            self.walked += 1;
            if self.walked.is_multiple_of(PATIENCE) {
                self.stopped = self.budget.check_writing().err();
                self.stopped.clone().map_or(Ok(()), Err)?;
            }
            let walk = walks.last_mut().expect("the first walk returns from here");
            if walk.end.is_none() && stop == Some(&walk.point) {
                return Ok(walks.swap_remove(0));
            }
            match self.history.predecessor(&walk.point, &walk.goal)? {
                Predecessor::Entry => {
                    let mut walk = walks.pop().expect("there was a last one");
                    let Some(end) = walk.end.take() else { return Ok(walk) };
                    let (proc, entry) = self.entry(self.history.loc(&walk.point), &walk.goal);
                    walk.steps.reverse();
                    let id = self.segments.push(Segment::new(proc, entry, walk.steps));
                    self.known.insert(end, (id, walk.goal));
                }
                Predecessor::Step { from, row, edge } => {
                    let (choices, goal) = self.explain(&row, edge, Goal::Row(&walk.goal))?;
                    walk.steps.push(Step::new(edge, choices));
                    (walk.point, walk.goal) = (from, goal);
                }
                Predecessor::Run { from, row, edges } => {
                    walk.steps.extend(edges.into_iter().rev().map(|edge| Step::new(edge, Vec::new())));
                    (walk.point, walk.goal) = (from, row);
                }
                Predecessor::Return { from, row, edge, exit, inside } => {
                    let end = (exit, inside);
                    let Some((segment, entry)) = self.known.get(&end).cloned() else {
                        let (point, goal) = end.clone();
                        walks.push(Walk { point, goal, steps: Vec::new(), end: Some(end) });
                        continue;
                    };
                    let (choices, goal) = self.explain(&row, edge, Goal::Call(&entry, &walk.goal))?;
                    walk.steps.push(Step::new(edge, choices).back(segment));
                    (walk.point, walk.goal) = (from, goal);
                }
            }
        }
    }

    fn explain(&mut self, row: &[u64], edge: EdgeId, goal: Goal) -> Result<Explanation, Why> {
        let program = self.machine.program;
        let fields = &self.machine.layout(program.locs()[program.edges()[edge].from].proc).fields;
        let site = Site { edge: self.machine.edge(edge), to: program.edges()[edge].to, fields, row };
        let mut explain = || {
            let found = self.expander.explain(site, goal, self.budget)?;
            Ok(found.expect("what an engine found can be explained"))
        };
        if !self.machine.classes.is_repetitive() {
            return explain();
        }
        let class = self.machine.classes.edges[edge] as u64;
        let (first, second): (&[u64], &[u64]) = match goal {
            Goal::Any => (&[], &[]),
            Goal::Row(after) => (after, &[]),
            Goal::Call(entry, kept) => (entry, kept),
        };
        let key = iter::once(&class).chain(first).chain(second).chain(row);
        self.memo.get(key.copied(), explain)
    }

    /// The procedure of an entry, and what a goal asks of its values.
    fn entry(&self, loc: LocId, goal: &[u64]) -> (ProcId, Known) {
        let program = self.machine.program;
        let proc = program.locs()[loc].proc;
        let fields = self.machine.layout(proc).fields.iter().enumerate();
        let known = fields.filter_map(|(at, field)| {
            let var = self.machine.scopes.var(program, proc, at)?;
            Some((var, field.value(goal)?))
        });
        let mut entry: Known = known.collect();
        entry.sort_unstable();
        (proc, entry)
    }
}
