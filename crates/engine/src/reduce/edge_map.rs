//! Room `engine/reduce`: traces of the reduced program as traces of the program as written.
//!
//! Each edge stands for a run of edges as written, without a completed call inside except where the edge is itself a call; each
//! of its choices is one of the choices of that run. The other choices of the run decide nothing, and stay open.

use super::action::{blocks, is_skip};
use postbop_ir::trace::Known;
use postbop_ir::{Action, Edge, EdgeId, Expr, Id, ProcId, Segment, Step, Trace, Value};
use rustc_hash::FxHashMap as HashMap;

/// For each edge of a reduced program its run.
pub struct EdgeMap {
    /// The edges as written. A run is the number of one of them; or beyond, that of two runs after one another. Runs share
    /// sources, and would take quadratic room if each were written out.
    sources: Vec<SourceEdge>,
    joined: Vec<(u32, u32)>,
    /// For each edge its run.
    runs: Vec<u32>,
    /// For runs whose choices are not simply those of the edge: which of the run's each one is.
    origins: Vec<(u32, Box<[u32]>)>,
    /// For each procedure the constants that its segments must list at their entry: see [`super::constants`].
    pub entries: HashMap<ProcId, Known>,
}

/// An edge as written.
#[derive(Clone, Copy)]
pub struct SourceEdge {
    edge: EdgeId,
    /// How many choices it makes.
    pub choices: u32,
    /// The procedure that it calls.
    pub calls: Option<ProcId>,
    /// Whether it does nothing.
    pub skips: bool,
    /// Whether no run gets past it.
    pub blocks: bool,
}

impl SourceEdge {
    /// Notes what matters of an edge.
    pub fn new(id: EdgeId, edge: &Edge) -> Self {
        let choices = match &edge.action {
            Action::Havoc(vars) => vars.len(),
            action => action.exprs().flat_map(Expr::choices).count(),
        };
        SourceEdge {
            edge: id,
            choices: choices as u32,
            calls: edge.action.callee(),
            skips: is_skip(&edge.action),
            blocks: blocks(&edge.action),
        }
    }
}

/// Memory to be used again: runs still to be written out, and a run.
#[derive(Default)]
struct Memory {
    stack: Vec<u32>,
    run: Vec<SourceEdge>,
}

impl EdgeMap {
    /// Runs over these edges as written, none of which is an edge of the reduced program yet.
    pub fn new(sources: Vec<SourceEdge>, joined: Vec<(u32, u32)>) -> Self {
        EdgeMap { sources, joined, runs: Vec::new(), origins: Vec::new(), entries: HashMap::default() }
    }

    /// Adds the next edge with its run, and which of the run's choices its own are, if they are not simply the same.
    pub fn edge(&mut self, run: u32, origins: Option<&[u32]>) {
        if let Some(origins) = origins {
            self.origins.push((self.runs.len() as u32, origins.into()));
        }
        self.runs.push(run);
    }

    /// A trace of the reduced program as one of the program as written.
    pub fn trace(&self, mut trace: Trace) -> Trace {
        let mut memory = Memory::default();
        for id in trace.segments.ids() {
            self.segment(&mut trace.segments[id], &mut memory);
        }
        for context in &mut trace.contexts {
            context.steps = self.steps(&context.steps, &mut memory);
        }
        trace
    }

    fn segment(&self, segment: &mut Segment, memory: &mut Memory) {
        segment.steps = self.steps(&segment.steps, memory);
        if let Some(known) = self.entries.get(&segment.proc) {
            // Where both say something, it is the same.
            segment.entry.extend_from_slice(known);
            segment.entry.sort_unstable();
            segment.entry.dedup_by_key(|(var, _)| *var);
        }
    }

    /// Writes out the run of an edge.
    fn run<'m>(&self, edge: EdgeId, memory: &'m mut Memory) -> &'m [SourceEdge] {
        let Memory { stack, run } = memory;
        run.clear();
        let mut next = Some(self.runs[edge.index()]);
        while let Some(top) = next {
            next = match (top as usize).checked_sub(self.sources.len()) {
                Some(at) => {
                    let (first, second) = self.joined[at];
                    stack.push(second);
                    Some(first)
                }
                None => {
                    run.push(self.sources[top as usize]);
                    stack.pop()
                }
            };
        }
        run
    }

    fn steps(&self, steps: &[Step], memory: &mut Memory) -> Vec<Step> {
        let mut lifted = Vec::with_capacity(2 * steps.len());
        for step in steps {
            let run = self.run(step.edge, memory);
            let count: u32 = run.iter().map(|source| source.choices).sum();
            let outcomes = if count > 0 { self.outcomes(step, count as usize) } else { Vec::new() };
            let mut outcomes = outcomes.into_iter();
            for source in run {
                let choices = outcomes.by_ref().take(source.choices as usize).collect();
                let plain = Step::new(source.edge, choices);
                let enters = source.calls.is_some() && step.call.is_none();
                lifted.push(match step.call.filter(|_| source.calls.is_some()) {
                    Some(call) => plain.back(call),
                    None if enters => plain.entering(step.locals().to_vec()),
                    None => plain,
                });
                // The call is still open when the run ends: the edges behind it were not taken.
                if enters {
                    break;
                }
            }
        }
        lifted
    }

    /// The outcomes of all choices of a run.
    fn outcomes(&self, step: &Step, count: usize) -> Vec<Option<Value>> {
        match self.origins.binary_search_by_key(&step.edge.0, |(edge, _)| *edge) {
            Err(_) => step.choices().to_vec(),
            Ok(found) => {
                let mut outcomes = vec![None; count];
                for (&origin, &choice) in self.origins[found].1.iter().zip(step.choices()) {
                    outcomes[origin as usize] = choice;
                }
                outcomes
            }
        }
    }
}
