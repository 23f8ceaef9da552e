//! Room `engine`: from the edges of a run to its values.
//!
//! # Idea
//!
//! A trace has two parts: its *skeleton*, which is the edges that are taken and which calls are completed, and values for the
//! variables at the start and for the choices. Engines that pack valuations into rows find both on one walk back
//! ([`crate::encode::machine::retrace`]). Any other engine can hand over the skeleton alone, as [`crate::Finding::Along`],
//! and the values are found here.
//!
//! The skeleton becomes a program that can do nothing else: each segment, and each activation that the run enters, is a procedure of
//! its own whose locations stand in a row, one edge from each to the next. Its last location is the target, and whatever
//! engines find a run to it find values for the skeleton. So there is no second solver for conditions here, a segment that many
//! steps name is searched once for each valuation at its entry, and the trace is replayed like every other.
//!
//! # Cost
//!
//! A program as large as the skeleton, which has each segment once however often it is named; and the search.

use crate::budget::{Budget, Silent};
use crate::engine::for_summaries;
use crate::verdict::{Verdict, Why};
use crate::verify::{EngineChoice, verify};
use postbop_ir::trace::Known;
use postbop_ir::{
    Action, Builder, Edge, EdgeId, Expr, Id, LocId, Op, ProcId, Program, Query, Segment, SegmentId, Step,
    Table, Task, Trace, VarId,
};

/// A run of a sequential program without its values.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Skeleton {
    /// The completed calls, each as the steps from entry to return. A segment names only segments before it.
    pub segments: Table<SegmentId, Vec<Bone>>,
    /// The steps of the run.
    pub steps: Vec<Bone>,
}

/// A step without its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bone {
    /// The edge.
    pub edge: EdgeId,
    /// For a call that came back: its steps. A call without them enters its procedure, and the steps after it are
    /// inside until one returns.
    pub call: Option<SegmentId>,
}

impl Skeleton {
    /// What is left of a trace of a sequential program without its values.
    pub fn of(trace: &Trace) -> Self {
        let bones = |steps: &[Step]| -> Vec<Bone> {
            steps.iter().map(|step| Bone { edge: step.edge, call: step.call }).collect()
        };
        let segments = trace.segments.iter().map(|segment| bones(&segment.steps)).collect();
        Skeleton {
            segments,
            steps: trace.contexts.iter().flat_map(|context| bones(&context.steps)).collect(),
        }
    }

    /// A trace with these edges. Takes what the budget has of time and memory; that no run follows the edges is a bug of
    /// the engine that gave them.
    pub fn trace(&self, program: &Program, budget: &Budget) -> Result<Trace, Why> {
        let line = Line::new(program, self);
        match line.search(EngineChoice::Auto, &budget.alone()) {
            Some(Verdict::Violated(trace)) => Ok(line.back(&trace)),
            Some(Verdict::Unknown(why)) => Err(why),
            _ => Err(Why::EngineBug("no run follows the edges of a violation".to_owned())),
        }
    }

    /// Whether a run follows these edges, as far as that is seen within the budget.
    pub fn has_run(&self, program: &Program, budget: &Budget) -> bool {
        let found = Line::new(program, self).search(EngineChoice::Only(for_summaries()), budget);
        matches!(found, Some(Verdict::Violated(_)))
    }

    /// The locations at which control is when all edges are taken: where the last one leads, and if that ends an activation, where its call returns to.
    pub fn ends(&self, program: &Program) -> Vec<LocId> {
        let mut returns = Vec::new();
        let mut ends = vec![program.procs()[program.main()].entry];
        for bone in &self.steps {
            let edge = &program.edges()[bone.edge];
            ends = vec![edge.to];
            match edge.action {
                Action::Call { callee, .. } if bone.call.is_none() => {
                    returns.push(edge.to);
                    ends = vec![program.procs()[callee].entry];
                }
                Action::Return(_) => ends.extend(returns.pop()),
                _ => {}
            }
        }
        ends
    }
}

/// A program whose only run has the edges of a skeleton.
struct Line {
    program: Program,
    end: LocId,
    /// What its edges, procedures and variables stand for.
    edges: Table<EdgeId, EdgeId>,
    procs: Table<ProcId, ProcId>,
    vars: Table<VarId, VarId>,
}

/// An activation while its procedure is drawn.
struct Activation {
    proc: ProcId,
    /// The copy of its first local; the others follow.
    first: usize,
    /// Where the next edge starts.
    at: LocId,
    /// Where its return leads in the activation that called it, if the run comes back there.
    back: LocId,
}

struct Drawing<'a> {
    from: &'a Program,
    out: Builder,
    edges: Table<EdgeId, EdgeId>,
    procs: Table<ProcId, ProcId>,
    vars: Table<VarId, VarId>,
    /// For each variable: the copy of a global, and the place of a local among those of its procedure.
    place: Table<VarId, usize>,
    /// The procedures of segments.
    segments: Table<SegmentId, ProcId>,
}

impl Line {
    fn new(from: &Program, skeleton: &Skeleton) -> Self {
        let mut drawing = Drawing::new(from);
        for steps in skeleton.segments.iter() {
            let first = from.edges()[steps[0].edge].from;
            let mut activation = drawing.activation(from.locs()[first].proc, LocId(0));
            drawing.segments.push(activation.proc);
            steps.iter().for_each(|step| drawing.step(&mut activation, *step));
        }
        let mut stack = vec![drawing.activation(from.main(), LocId(0))];
        let main = stack[0].proc;
        for step in &skeleton.steps {
            let top = stack.last_mut().expect("main is not left");
            match &from.edges()[step.edge].action {
                Action::Call { callee, .. } if step.call.is_none() => {
                    let entered = drawing.enter(top, step.edge, *callee);
                    stack.push(entered);
                }
                action => {
                    drawing.step(top, *step);
                    if matches!(action, Action::Return(_)) && stack.len() > 1 {
                        let back = stack.pop().expect("there are two").back;
                        stack.last_mut().expect("there is one").at = back;
                    }
                }
            }
        }
        let end = stack.last().expect("main is not left").at;
        let Drawing { out, edges, procs, vars, .. } = drawing;
        Line { program: out.finish(main), end, edges, procs, vars }
    }

    /// What becomes of the question whether there is such a run.
    fn search(&self, choice: EngineChoice, budget: &Budget) -> Option<Verdict> {
        let queries = [Query::reach("end", vec![self.end])];
        let task = Task::new(&self.program, &queries);
        let report = verify(&task, choice, budget, &mut Silent);
        report.answers.into_iter().next().map(|answer| answer.verdict)
    }

    /// A trace of the line as one of the program that the skeleton is of.
    fn back(&self, trace: &Trace) -> Trace {
        let known = |known: &[_]| {
            let mut known: Known = known.iter().map(|&(var, value)| (self.vars[var], value)).collect();
            known.sort_unstable();
            known
        };
        let step = |step: &Step| {
            let mut there = Step::new(self.edges[step.edge], step.choices().to_vec());
            there.call = step.call;
            there.entering(known(step.locals()))
        };
        let steps = |steps: &[Step]| steps.iter().map(step).collect();
        let segment = |segment: &Segment| {
            Segment::new(self.procs[segment.proc], known(&segment.entry), steps(&segment.steps))
        };
        let segments = trace.segments.iter().map(segment).collect();
        let all = trace.contexts.iter().flat_map(|context| &context.steps);
        Trace::sequential(segments, known(&trace.initial), all.map(step).collect())
    }
}

impl<'a> Drawing<'a> {
    fn new(from: &'a Program) -> Self {
        let mut out = Builder::default();
        let mut vars = Table::new();
        let mut place = Table::filled(from.vars().len(), 0);
        for var in from.globals() {
            let data = &from.vars()[var];
            place[var] = out.global(&data.name, data.ty).index();
            vars.push(var);
        }
        out.set_control(from.control().iter().map(|&var| VarId::new(place[var])).collect());
        for proc in from.procs().iter() {
            proc.locals.iter().enumerate().for_each(|(at, &local)| place[local] = at);
        }
        let (edges, procs, segments) = (Table::new(), Table::new(), Table::new());
        Drawing { from, out, edges, procs, vars, place, segments }
    }

    /// A copy of a procedure for one activation, without edges.
    fn activation(&mut self, of: ProcId, back: LocId) -> Activation {
        let data = &self.from.procs()[of];
        let proc = self.out.proc(&data.name, data.params, data.results.clone(), data.span);
        self.procs.push(of);
        let first = self.vars.len();
        for &local in &data.locals {
            let data = &self.from.vars()[local];
            self.out.local(proc, &data.name, data.ty);
            self.vars.push(local);
        }
        Activation { proc, first, at: self.out.procs()[proc].entry, back }
    }

    /// Draws a step that stays in its activation: a completed call, or anything but a call.
    fn step(&mut self, here: &mut Activation, step: Bone) {
        let edge = &self.from.edges()[step.edge];
        let to = match edge.action {
            Action::Return(_) => self.out.procs()[here.proc].exit,
            _ => self.out.loc(here.proc, edge.span),
        };
        let callee = step.call.map(|call| self.segments[call]);
        self.draw(here, edge, step.edge, callee, to);
        here.at = to;
    }

    /// Draws a call that enters its procedure.
    fn enter(&mut self, here: &Activation, id: EdgeId, callee: ProcId) -> Activation {
        let edge = &self.from.edges()[id];
        let back = self.out.loc(here.proc, edge.span);
        let entered = self.activation(callee, back);
        self.draw(here, edge, id, Some(entered.proc), back);
        entered
    }

    fn draw(&mut self, here: &Activation, edge: &Edge, id: EdgeId, callee: Option<ProcId>, to: LocId) {
        let action = self.action(here, &edge.action, callee);
        self.out.edge(here.at, to, action, edge.span);
        self.edges.push(id);
    }

    /// An action over the variables of an activation.
    fn action(&self, here: &Activation, action: &Action, copy: Option<ProcId>) -> Action {
        let var = |var: VarId| match self.from.is_global(var) {
            true => VarId::new(self.place[var]),
            false => VarId::new(here.first + self.place[var]),
        };
        let op = |op: &Op| match *op {
            Op::Var(old) => Op::Var(var(old)),
            Op::Next(old) => Op::Next(var(old)),
            op => op,
        };
        let expr = |expr: &Expr| Expr::new(expr.code.iter().map(op).collect::<Box<[Op]>>());
        let exprs = |list: &[Expr]| list.iter().map(expr).collect();
        match action {
            Action::Assume(condition) => Action::Assume(expr(condition)),
            Action::Assign { targets, values, constraint } => Action::Assign {
                targets: targets.iter().map(|&target| var(target)).collect(),
                values: exprs(values),
                constraint: constraint.as_ref().map(expr),
            },
            Action::Havoc(vars) => Action::Havoc(vars.iter().map(|&old| var(old)).collect()),
            Action::Call { callee, args, results } => Action::Call {
                callee: copy.unwrap_or(*callee),
                args: exprs(args),
                results: results.iter().map(|result| result.map(var)).collect(),
            },
            Action::Return(values) => Action::Return(exprs(values)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postbop_ir::replay::complete;
    use postbop_ir::{Length, text};

    /// f(n) gives back whether its local and n are both set, and enters itself if n is not; l4 needs f(m) for the m that main
    /// chose, l9 is inside the second activation of f.
    const NESTED: &str = r#"postbop-ir 1
proc p0 "main" params 0 results ( ) entry l0 exit l1 at 0..0
proc p1 "f" params 1 results ( bool ) entry l2 exit l3 at 0..0
var v0 global uint<2> "g"
var v1 p0 bool "m"
var v2 p1 bool "n"
var v3 p1 bool "k"
loc l0 p0 at 0..0
loc l1 p0 at 0..0
loc l2 p1 at 0..0
loc l3 p1 at 0..0
loc l4 p0 at 0..0
loc l5 p0 at 0..0
loc l6 p0 at 0..0
loc l7 p1 at 0..0
loc l8 p1 at 0..0
loc l9 p1 at 0..0
edge l0 l5 at 0..0 havoc v1
edge l5 l6 at 0..0 call p1 v1 -> v1
edge l6 l4 at 0..0 assume (and v1 (eq v0 3:uint<2>))
edge l2 l7 at 0..0 assume v2
edge l2 l8 at 0..0 assume (not v2)
edge l8 l9 at 0..0 call p1 (not v2) -> v3
edge l9 l3 at 0..0 return v3
edge l7 l9 at 0..0 assume v3
edge l4 l1 at 0..0 return
main p0
"#;

    fn found(
        steps: &[(u32, Option<u32>)],
        segments: &[&[(u32, Option<u32>)]],
        end: u32,
    ) -> Result<Trace, Why> {
        let bones = |steps: &[(u32, Option<u32>)]| -> Vec<Bone> {
            steps.iter().map(|&(edge, call)| Bone { edge: EdgeId(edge), call: call.map(SegmentId) }).collect()
        };
        let segments = segments.iter().map(|steps| bones(steps)).collect();
        let program = text::parse(NESTED).unwrap();
        let skeleton = Skeleton { segments, steps: bones(steps) };
        let mut trace = skeleton.trace(&program, &Budget::unlimited())?;
        complete(&program, &mut trace, &postbop_ir::Ask::Reach(vec![LocId(end)]), &mut || true)
            .expect("it replays");
        Ok(trace)
    }

    #[test]
    fn values_are_found_for_completed_calls() {
        // f(0) completes by way of f(1), whose local must be 1.
        let (inner, outer) = ([(3, None), (7, None), (6, None)], [(4, None), (5, Some(0)), (6, None)]);
        let trace = found(&[(0, None), (1, Some(1)), (2, None)], &[&inner, &outer], 4).unwrap();
        assert_eq!((trace.segments.len(), trace.length()), (2, Length::from(9)));
        assert_eq!(trace.initial.len(), 1, "g is 3 from the start");
    }

    #[test]
    fn values_are_found_for_calls_that_are_entered() {
        let entered = [(0, None), (1, None), (4, None), (5, None), (3, None), (7, None)];
        assert_eq!(found(&entered, &[], 9).unwrap().length(), Length::from(6));
        let returned = [&entered[..], &[(6, None), (6, None), (2, None)]].concat();
        assert_eq!(found(&returned, &[], 4).unwrap().length(), Length::from(9));
    }

    #[test]
    fn edges_that_no_run_takes_are_a_bug() {
        // m would have to be 1 for the first call and 0 for the second.
        let twice = [(0, None), (1, None), (4, None), (5, None), (4, None)];
        assert!(matches!(found(&twice, &[], 8), Err(Why::EngineBug(_))));
    }
}
