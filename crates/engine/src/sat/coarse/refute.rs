//! Room `engine/sat`: why a run of a coarse program is no run of the program.
//!
//! # Idea
//!
//! The edges of the run are executed symbolically, one after the other, with all variables of the program. Where a procedure is called and where it comes back
//! there is, for each bit of a global that it does not track, a new input: a *gap*. While the *bond* of that procedure and that global is assumed, the input is what was handed over.
//! With all bonds the conditions of the run say whether the program has it; with none they say whether the coarse program has it. So a core of
//! bonds is what else has to be tracked.
//!
//! A completed call is a section of a run that can be looked at by itself, from any valuation at its entry. Shorter sections come first, and a section with one in it that
//! cannot be is left out. If any section cannot be, the whole run need not be looked at.
//!
//! # Cost
//!
//! The bits that are handed over in all calls, of all sections; sections are unfolded, so there is a limit to their length.

use super::super::pdr::{NODES, Search};
use super::super::step::{Choices, Step as Execution};
use super::program::CoarseProgram;
use super::{Coarse, Tracked};
use crate::verdict::Why;
use postbop_ir::{Action, EdgeId, Id, ProcId, Segment, SegmentId, Step, Trace, VarId};
use postbop_kit::aig::{Aig, Lit, Node};
use postbop_kit::sat::{Answer, Cnf, Literal, Solver};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet, FxHasher};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// So many times as long as the longest run that is unfolded are all sections of a run together.
const TIMES: u64 = 4;

/// Of a section that cannot be passed so many reasons are sought which have nothing in common.
const REASONS: usize = 2;

/// So many bonds of a core are left out, to see whether others are enough.
const DROPPED: usize = 64;

/// A procedure, and a global that it does not track.
pub type Pair = (ProcId, VarId);

/// What came of a run of a coarse program.
pub enum Refuted {
    /// The program has a run along the same edges.
    Real,
    /// It does not, as is seen when procedures track these globals too.
    Needs(Vec<Pair>),
    /// It is too long to tell.
    TooLong,
}

/// Whether the program has a run along the edges of this one.
pub fn refute(
    search: &Search,
    coarse: &mut Coarse,
    narrow: &CoarseProgram,
    trace: &Trace,
) -> Result<Refuted, Why> {
    let Coarse { tracked, passed, longest, .. } = coarse;
    let hashes = hashes(narrow, trace);
    let mut lengths: Vec<u64> = Vec::new();
    for segment in trace.segments.iter() {
        lengths.push(length(&segment.steps, &lengths));
    }
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&at| lengths[at]);
    let mut formula = Formula::new(search, tracked, narrow, trace);
    let mut cannot = vec![false; lengths.len()];
    let mut needs: Vec<Pair> = Vec::new();
    let mut left = TIMES * *longest;
    for at in order {
        let segment = &trace.segments[SegmentId::new(at)];
        let mut named = segment.steps.iter().filter_map(|step| step.call);
        if named.any(|call| cannot[call.index()]) {
            cannot[at] = true;
        } else if !passed.contains(&hashes[at]) && lengths[at] <= left.min(*longest) {
            left -= lengths[at];
            if let Some(pairs) = formula.needs(Section::Segment(segment))? {
                cannot[at] = true;
                needs.extend(pairs);
            } else {
                passed.insert(hashes[at]);
            }
        }
    }
    if cannot.contains(&true) {
        return Ok(Refuted::Needs(needs));
    }
    if length(&trace.contexts[0].steps, &lengths) > *longest {
        return Ok(Refuted::TooLong);
    }
    Ok(formula.needs(Section::Whole)?.map_or(Refuted::Real, Refuted::Needs))
}

/// The number of steps when calls are unfolded.
fn length(steps: &[Step], lengths: &[u64]) -> u64 {
    let inside = steps.iter().filter_map(|step| lengths.get(step.call?.index()));
    inside.fold(steps.len() as u64, |sum, &more| sum.saturating_add(more))
}

/// For each segment a number that tells its edges in the program, and those of all calls in it.
fn hashes(narrow: &CoarseProgram, trace: &Trace) -> Vec<u64> {
    let mut hashes: Vec<u64> = Vec::new();
    for segment in trace.segments.iter() {
        let mut hasher = FxHasher::default();
        for step in &segment.steps {
            let Some(edge) = narrow.edges[step.edge] else { continue };
            (edge, step.call.map(|call| hashes[call.index()])).hash(&mut hasher);
        }
        hashes.push(hasher.finish());
    }
    hashes
}

/// A part of a run that is looked at by itself.
#[derive(Clone, Copy)]
enum Section<'t> {
    /// A completed call.
    Segment(&'t Segment),
    /// The whole run.
    Whole,
}

/// An activation on the way.
struct Activation<'t> {
    proc: ProcId,
    bits: Vec<Lit>,
    /// The call that leads here, if it is not where the section starts.
    call: Option<EdgeId>,
    /// If the call is a completed one, the steps that are left of it.
    steps: Option<std::slice::Iter<'t, Step>>,
}

/// An input that stands for what is handed over.
struct Gap {
    node: usize,
    bond: Literal,
    is: Lit,
}

/// Sections of a run as functions of what they start from.
struct Formula<'f, 'i, 'a> {
    search: &'f Search<'i, 'a>,
    tracked: &'f Tracked,
    narrow: &'f CoarseProgram,
    trace: &'f Trace,
    aig: Aig,
    solver: Solver<'i>,
    cnf: Cnf,
    /// Whether there are gaps, or everything is handed over.
    has_gaps: bool,
    /// In the order of their nodes.
    gaps: Vec<Gap>,
    bonds: HashMap<Pair, Literal>,
    /// Which nodes were looked at for gaps.
    seen: Vec<bool>,
}

impl<'f, 'i, 'a> Formula<'f, 'i, 'a> {
    fn new(
        search: &'f Search<'i, 'a>,
        tracked: &'f Tracked,
        narrow: &'f CoarseProgram,
        trace: &'f Trace,
    ) -> Self {
        Formula {
            search,
            tracked,
            narrow,
            trace,
            aig: Aig::default(),
            solver: Solver::new(Rc::clone(&search.interrupt)),
            cnf: Cnf::default(),
            has_gaps: false,
            gaps: Vec::new(),
            bonds: HashMap::default(),
            seen: Vec::new(),
        }
    }

    /// The condition under which a section can be passed.
    fn section(&mut self, section: Section<'f>) -> Result<Lit, Why> {
        let program = self.search.regions.program;
        let before = self.aig.len();
        let trace = self.trace;
        let (proc, steps, mut rest) = match section {
            Section::Segment(segment) => (segment.proc, Some(segment.steps.iter()), [].iter()),
            Section::Whole => (program.main(), None, trace.contexts[0].steps.iter()),
        };
        let bits = self.entered(proc, None);
        let mut guard = Lit::TRUE;
        let mut stack = vec![Activation { proc, bits, call: None, steps }];
        while let Some(top) = stack.last_mut() {
            let next = top.steps.as_mut().unwrap_or(&mut rest).next();
            let Some(step) = next else {
                if top.steps.is_none() || stack.len() == 1 {
                    break;
                }
                self.back(&mut stack);
                continue;
            };
            let Some(id) = self.narrow.edges[step.edge] else { continue };
            let edge = &program.edges()[id];
            if let Action::Call { callee, args, .. } = &edge.action {
                let mut choices = Choices::new();
                let inputs = execution(self.search, &mut self.aig, top.proc, &mut choices)
                    .inputs(*callee, args, &top.bits);
                let bits = self.entered(*callee, Some(inputs));
                let steps = step.call.map(|call| trace.segments[call].steps.iter());
                stack.push(Activation { proc: *callee, bits, call: Some(id), steps });
                continue;
            }
            let mut choices = Choices::new();
            execution(self.search, &mut self.aig, top.proc, &mut choices).take(
                &edge.action,
                &mut guard,
                &mut top.bits,
            );
            if matches!(edge.action, Action::Return(_)) && top.steps.is_none() {
                if stack.len() == 1 {
                    break;
                }
                self.back(&mut stack);
            }
        }
        let bytes = (self.aig.len() - before) * size_of::<Node>() * 2;
        self.search.meter.spend((self.aig.len() - before) as u64 / NODES);
        self.search.meter.has_room(bytes)?;
        Ok(guard)
    }

    /// The bits of a procedure that is entered with these inputs, or with anything.
    fn entered(&mut self, proc: ProcId, inputs: Option<Vec<Lit>>) -> Vec<Lit> {
        let regions = self.search.regions;
        let region = &regions.all[regions.entry(proc) as usize];
        let mut bits = vec![Lit::FALSE; regions.layouts[proc].len()];
        for &bit in &region.free {
            bits[bit as usize] = self.aig.input();
        }
        for (at, &bit) in region.inputs.iter().enumerate() {
            bits[bit as usize] = match &inputs {
                Some(inputs) => self.handed(proc, bit, inputs[at]),
                None => self.aig.input(),
            };
        }
        bits
    }

    /// The topmost activation returns.
    fn back(&mut self, stack: &mut Vec<Activation>) {
        let regions = self.search.regions;
        let Activation { proc, bits, call, .. } = stack.pop().expect("one returns");
        let outputs: Vec<Lit> =
            regions.outputs[proc].iter().map(|&bit| self.handed(proc, bit, bits[bit as usize])).collect();
        let edge = &regions.program.edges()[call.expect("it was called")];
        let Action::Call { callee, results, .. } = &edge.action else { unreachable!("it was called") };
        let caller = stack.last_mut().expect("there is a caller");
        let mut choices = Choices::new();
        execution(self.search, &mut self.aig, caller.proc, &mut choices).receive(
            *callee,
            results,
            &outputs,
            &mut caller.bits,
        );
    }

    /// A bit that is handed over to a procedure, or back from it.
    fn handed(&mut self, proc: ProcId, bit: u32, is: Lit) -> Lit {
        if !self.has_gaps {
            return is;
        }
        let regions = self.search.regions;
        let (field, _) = regions.layouts[proc].field(bit);
        let var = regions.var(proc, field).filter(|&var| regions.program.is_global(var));
        let Some(var) = var.filter(|var| !self.tracked[proc].contains(var)) else { return is };
        let bond = *self.bonds.entry((proc, var)).or_insert_with(|| self.solver.fresh());
        let gap = self.aig.input();
        self.gaps.push(Gap { node: gap.node(), bond, is });
        gap
    }

    /// If a section cannot be passed, what has to be tracked to see that: for several reasons that have nothing in common, as far as there are.
    fn needs(&mut self, section: Section<'f>) -> Result<Option<Vec<Pair>>, Why> {
        // Most sections can be passed, which is soon seen where nothing stands between what is handed over and what it is.
        self.has_gaps = false;
        let guard = self.section(section)?;
        let root = self.cnf.literal(&self.aig, &mut self.solver, guard);
        if self.can(root, &[])? {
            return Ok(None);
        }
        self.has_gaps = true;
        let guard = self.section(section)?;
        self.tell(guard);
        let root = self.cnf.literal(&self.aig, &mut self.solver, guard);
        let mut bonds: Vec<Literal> = self.bonds.values().copied().collect();
        bonds.sort_unstable();
        let mut needed: HashSet<Literal> = HashSet::default();
        for _ in 0..REASONS {
            if self.can(root, &bonds)? {
                break;
            }
            let core = self.core(root, &bonds)?;
            bonds.retain(|literal| !core.contains(literal));
            if core.is_empty() {
                return Ok(Some(Vec::new()));
            }
            needed.extend(core);
        }
        let pairs = self.bonds.iter().filter(|(_, literal)| needed.contains(literal)).map(|(&pair, _)| pair);
        Ok(Some(pairs.collect()))
    }

    /// A core of the last answer, with as few bonds as may be.
    fn core(&mut self, root: Literal, bonds: &[Literal]) -> Result<Vec<Literal>, Why> {
        let mut core: Vec<Literal> =
            bonds.iter().copied().filter(|&literal| self.solver.in_core(literal)).collect();
        let (mut at, mut asked) = (0, 0);
        while at < core.len() && asked < DROPPED {
            let mut fewer = core.clone();
            fewer.remove(at);
            asked += 1;
            match self.can(root, &fewer)? {
                true => at += 1,
                false => {
                    fewer.retain(|&literal| self.solver.in_core(literal));
                    core = fewer;
                }
            }
        }
        Ok(core)
    }

    fn can(&mut self, root: Literal, bonds: &[Literal]) -> Result<bool, Why> {
        match self.solver.solve([root].into_iter().chain(bonds.iter().copied())) {
            Answer::Sat => Ok(true),
            Answer::Unsat => Ok(false),
            Answer::Stopped => Err(self.search.meter.why()),
        }
    }

    /// Tells the solver what the gaps stand for on which a function depends.
    fn tell(&mut self, root: Lit) {
        self.seen.resize(self.aig.len(), false);
        let mut stack = vec![root.node()];
        while let Some(at) = stack.pop() {
            if std::mem::replace(&mut self.seen[at], true) {
                continue;
            }
            match self.aig.node(at) {
                Node::And(a, b) => stack.extend([a.node(), b.node()]),
                Node::Input => {
                    let Ok(gap) = self.gaps.binary_search_by_key(&at, |gap| gap.node) else { continue };
                    let Gap { bond, is, .. } = self.gaps[gap];
                    let gap = self.cnf.literal(&self.aig, &mut self.solver, Lit::positive(at));
                    let is_literal = self.cnf.literal(&self.aig, &mut self.solver, is);
                    self.solver.clause([!bond, !gap, is_literal]);
                    self.solver.clause([!bond, gap, !is_literal]);
                    stack.push(is.node());
                }
                Node::False => {}
            }
        }
    }
}

fn execution<'s, 'i: 's, 'a>(
    search: &Search<'i, 'a>,
    aig: &'s mut Aig,
    proc: ProcId,
    choices: &'s mut Choices,
) -> Execution<'s, 'a> {
    Execution { regions: search.regions, proc, aig, choices }
}
