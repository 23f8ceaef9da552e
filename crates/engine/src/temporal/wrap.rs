//! Room `engine/temporal`: a program around a program, and the way back.
//!
//! A translation keeps the variables, procedures and locations of a program with their ids, and adds some. It starts in a procedure of
//! its own, which prepares what was added and then calls the program. Every edge of the translation stands for an edge of the program, or for none; a run of the
//! translation without the steps that stand for none is a run of the program.

use crate::threads::build::assignment;
use crate::verdict::Why;
use postbop_ir::replay::{Changes, complete, deadlock};
use postbop_ir::trace::Known;
use postbop_ir::{
    Action, Ask, Builder, Context, EdgeId, Expr, Id, LocId, Position, ProcId, Program, Query, Rejected,
    Repeat, Segment, SegmentId, Span, Step, Table, Trace, VarId,
};

/// A translation under construction.
pub struct Draft<'a> {
    /// The program.
    pub source: &'a Program,
    /// The translation.
    pub out: Builder,
    /// For each edge of the translation the edge that it stands for.
    meanings: Table<EdgeId, Option<EdgeId>>,
}

/// How the translation runs the program, and what its runs show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A procedure of its own calls the program, which is sequential.
    Called,
    /// The threads of the program are its threads. It asks for a run that gets stuck.
    Stuck,
}

/// A finished translation, and the question about it that stands for one about the program.
pub struct Wrapped<'a> {
    /// The program.
    pub source: &'a Program,
    /// The translation.
    pub program: Program,
    /// What is asked about the translation.
    pub query: Query,
    kind: Kind,
    meanings: Table<EdgeId, Option<EdgeId>>,
}

impl<'a> Draft<'a> {
    /// The program without its edges.
    pub fn new(source: &'a Program) -> Self {
        Draft { source, out: Builder::without_edges(source), meanings: Table::new() }
    }

    /// The program without its edges, with its threads.
    pub fn with_threads(source: &'a Program) -> Self {
        Draft { source, out: Builder::with_threads(source), meanings: Table::new() }
    }

    /// A location that is added to a procedure.
    pub fn loc(&mut self, proc: ProcId) -> LocId {
        self.out.loc(proc, Span::default())
    }

    /// An edge that stands for none of the program.
    pub fn add(&mut self, from: LocId, to: LocId, action: Action) -> EdgeId {
        self.meanings.push(None);
        self.out.edge(from, to, action, Span::default())
    }

    /// An edge of the program, perhaps between other locations.
    pub fn keep(&mut self, id: EdgeId, from: LocId, to: LocId) {
        self.keep_as(id, from, to, self.source.edges()[id].action.clone());
    }

    /// An edge of the program that does something more, with the same choices.
    pub fn keep_as(&mut self, id: EdgeId, from: LocId, to: LocId, action: Action) {
        self.meanings.push(Some(id));
        self.out.edge(from, to, action, self.source.edges()[id].span);
    }

    /// Adds the procedure in which the translation starts: it sets variables in one of several ways, and calls the program.
    /// Returns it, and the location after the call.
    pub fn start(&mut self, ways: &[Vec<(VarId, Expr)>]) -> (ProcId, LocId) {
        let main = &self.source.procs()[self.source.main()];
        let start = self.out.proc("%start", main.params, Vec::new(), Span::default());
        let types = main.params().iter().map(|&var| self.source.vars()[var].ty);
        let params: Vec<VarId> = types.map(|ty| self.out.local(start, "%parameter", ty)).collect();
        let entry = self.out.procs()[start].entry;
        let (ready, over) = (self.loc(start), self.loc(start));
        for way in ways {
            let (targets, values) = way.iter().cloned().unzip();
            self.add(entry, ready, assignment(targets, values));
        }
        let results = vec![None; main.results.len()];
        let args = params.iter().map(|&var| Expr::var(var)).collect();
        self.add(ready, over, Action::Call { callee: self.source.main(), args, results });
        (start, over)
    }

    /// The finished translation with the threads of the program, and for each of its edges the edge that it stands for.
    pub fn parts(self) -> (Program, Table<EdgeId, Option<EdgeId>>) {
        (self.out.finish_threads(), self.meanings)
    }

    /// The finished translation, which starts in this procedure.
    pub fn finish(self, start: ProcId, query: Query) -> Wrapped<'a> {
        let Draft { source, out, meanings } = self;
        Wrapped { source, program: out.finish(start), query, kind: Kind::Called, meanings }
    }

    /// The finished translation with the threads of the program, which asks for a run that gets stuck.
    pub fn finish_threads(self, query: Query) -> Wrapped<'a> {
        let Draft { source, out, meanings } = self;
        Wrapped { source, program: out.finish_threads(), query, kind: Kind::Stuck, meanings }
    }
}

impl Wrapped<'_> {
    /// A run of the translation as one of the program, and how the program plays it. A run that goes on for ever after the
    /// program has ended is told to its end.
    pub fn back(&self, trace: &Trace) -> Result<(Trace, Vec<Changes>), Why> {
        let bug = |what: &str| Why::EngineBug(format!("a run of the translation {what}"));
        let mut own = match self.kind {
            Kind::Called => self.called(trace)?,
            Kind::Stuck => self.threads(trace),
        };
        let all = self.source.locs().ids().collect();
        let ask = if own.repeats.is_some() { Ask::Recur(all) } else { Ask::Reach(all) };
        let told = |rejected: Rejected| bug(&format!("is none of the program: {rejected}"));
        let contexts = complete(self.source, &mut own, &ask, &mut || true).map_err(told)?;
        if self.kind == Kind::Stuck {
            deadlock(self.source, &own).map_err(told)?;
        }
        Ok((own, contexts))
    }

    /// A run of threads without what was added.
    fn threads(&self, trace: &Trace) -> Trace {
        let is_ours = |context: &&Context| context.thread.is_some() || self.source.prologue().is_some();
        let own = |context: &Context| Context { thread: context.thread, steps: self.steps(&context.steps) };
        let contexts = trace.contexts.iter().filter(is_ours).map(own).collect();
        Trace { segments: self.segments(trace), initial: self.own(&trace.initial), contexts, repeats: None }
    }

    /// The run of the program that a procedure of the translation calls.
    fn called(&self, trace: &Trace) -> Result<Trace, Why> {
        let bug = |what: &str| Why::EngineBug(format!("a run of the translation {what}"));
        let [context] = &trace.contexts[..] else { return Err(bug("has several contexts")) };
        // The first step of a run sets variables, the second calls main.
        let called = context.steps.get(1);
        let call = called.and_then(|called| called.call);
        let segments = self.segments(trace);
        let mut own = match call {
            // The program has ended: its run is that of the completed call.
            Some(call) => {
                let segment = &segments[call];
                let initial = self.initial(trace, &segment.entry);
                let steps = segment.steps.clone();
                Trace::sequential(segments, initial, steps)
            }
            None => {
                let initial = self.initial(trace, called.map_or(&[], |called| called.locals()));
                Trace::sequential(segments, initial, self.steps(&context.steps))
            }
        };
        if let (None, Some(Repeat { from, head })) = (call, &trace.repeats) {
            let before = self.steps(&context.steps[..from.step as usize]).len() as u32;
            let from = Position { step: before, ..*from };
            own.repeats = Some(Repeat { from, head: self.own(head) });
        }
        Ok(own)
    }

    /// The values of variables of the program.
    fn own(&self, known: &[(VarId, postbop_ir::Value)]) -> Known {
        known.iter().copied().filter(|(var, _)| var.index() < self.source.vars().len()).collect()
    }

    /// The steps of the program among those of the translation.
    pub fn steps(&self, steps: &[Step]) -> Vec<Step> {
        let own = |step: &Step| {
            let own = Step::new(self.meanings[step.edge]?, step.choices().to_vec());
            Some(match step.call {
                Some(call) => own.back(call),
                None => own.entering(self.own(step.locals())),
            })
        };
        steps.iter().filter_map(own).collect()
    }

    /// The completed calls, as calls of the program. How they end is left out.
    pub fn segments(&self, trace: &Trace) -> Table<SegmentId, Segment> {
        let own = |segment: &Segment| {
            Segment::new(segment.proc, self.own(&segment.entry), self.steps(&segment.steps))
        };
        trace.segments.iter().map(own).collect()
    }

    /// The values with which a run of the program starts: those of globals at the start of the translation, of what main is called
    /// with, and `locals` of main.
    pub fn initial(&self, trace: &Trace, locals: &[(VarId, postbop_ir::Value)]) -> Known {
        let main = &self.source.procs()[self.source.main()];
        let params = &self.program.procs()[self.program.main()].locals;
        let own = |var: VarId| match params.iter().position(|&param| param == var) {
            Some(at) => Some(main.params()[at]),
            None => (var.index() < self.source.vars().len()).then_some(var),
        };
        let all = trace.initial.iter().chain(locals);
        let mut initial: Known = all.filter_map(|&(var, value)| Some((own(var)?, value))).collect();
        initial.sort_unstable();
        initial.dedup();
        initial
    }
}
