//! Room `engine/sat`: which inputs a path depends on.
//!
//! # Idea
//!
//! A run from one valuation is a run from all valuations that agree with it on the variables that it depends on: those from
//! which the conditions on the path are computed, the inputs that callees' runs ask for, and the outputs. They are found
//! by walking the path backwards, as a dynamic slice. What an expression mentions counts, even where another
//! operand alone decides its value: replay evaluates expressions in the same way.
//!
//! # Paper
//!
//! \[slice\]. # Cost: the length of the path, with its expressions.

use super::knowledge::{Bit, Fact, Kind, Relation};
use super::regions::Regions;
use postbop_ir::{Action, EdgeId, Expr, Op, ProcId, VarId};
use rustc_hash::FxHashSet as HashSet;

/// Walks a path of a region backwards.
pub struct Slice<'s, 'a> {
    regions: &'s Regions<'a>,
    proc: ProcId,
    needed: HashSet<VarId>,
}

impl<'s, 'a> Slice<'s, 'a> {
    /// At the end of a path in a procedure that returns, or fails at a target.
    pub fn new(regions: &'s Regions<'a>, proc: ProcId, kind: Kind) -> Self {
        let mut slice = Slice { regions, proc, needed: HashSet::default() };
        if kind == Kind::Return {
            let fields = regions.outputs[proc].iter().map(|&bit| regions.layouts[proc].field(bit).0);
            slice.needed = fields.filter_map(|field| regions.var(proc, field)).collect();
        }
        slice
    }

    /// In front of a run of a region that is called in tail position, or of one that fails.
    pub fn tail(&mut self, region: u32, fact: &Fact) {
        let vars = vars(self.regions, region, &fact.inputs);
        self.needed = vars.collect();
    }

    /// In front of a procedure that is entered and does not return.
    pub fn enter(&mut self, edge: EdgeId, fact: &Fact) {
        self.needed.clear();
        self.call(edge, fact);
    }

    fn reads(&mut self, expr: &Expr) {
        self.needed.extend(expr.reads());
    }

    /// In front of an edge; `fact` is the run of a call.
    pub fn edge(&mut self, id: EdgeId, fact: Option<&Fact>) {
        let regions = self.regions;
        match &regions.program.edges[id].action {
            Action::Assume(condition) => self.reads(condition),
            Action::Assign { targets, values, constraint } => {
                let constraint = constraint.iter().flat_map(|constraint| constraint.code.iter());
                let mut old = Vec::new();
                for op in constraint {
                    match op {
                        Op::Next(var) => self.needed.extend([*var]),
                        Op::Var(var) => old.push(*var),
                        _ => {}
                    }
                }
                let set: Vec<bool> = targets.iter().map(|target| self.needed.remove(target)).collect();
                values.iter().zip(set).filter(|(_, needed)| *needed).for_each(|(value, _)| self.reads(value));
                self.needed.extend(old);
            }
            Action::Havoc(vars) => self.needed.retain(|var| !vars.contains(var)),
            Action::Call { callee, results, .. } => {
                let written = regions.scopes.written(*callee);
                self.needed
                    .retain(|var| written.binary_search(var).is_err() && !results.contains(&Some(*var)));
                self.call(id, fact.expect("a call on a path has a run"));
            }
            Action::Return(values) => {
                let first = regions.scopes.first_result(regions.program, self.proc);
                for &bit in &regions.outputs[self.proc] {
                    let field = regions.layouts[self.proc].field(bit).0;
                    if let Some(result) = field.checked_sub(first) {
                        self.reads(&values[result]);
                    }
                }
            }
        }
    }

    /// What the run of a callee asks for.
    fn call(&mut self, edge: EdgeId, fact: &Fact) {
        let program = self.regions.program;
        let Action::Call { callee, args, .. } = &program.edges[edge].action else { return };
        let region = self.regions.entry(*callee);
        let asked: Vec<VarId> = vars(self.regions, region, &fact.inputs).collect();
        for var in asked {
            match program.procs[*callee].params().iter().position(|&param| param == var) {
                Some(at) => self.reads(&args[at]),
                None => self.needed.extend([var]),
            }
        }
    }

    /// The inputs of a region that are needed at its start.
    pub fn inputs(&self, relation: Relation) -> Vec<usize> {
        let region = &self.regions.all[relation.region() as usize];
        let layout = &self.regions.layouts[region.proc];
        let needed = |&at: &usize| {
            let var = self.regions.var(region.proc, layout.field(region.inputs[at]).0);
            var.is_some_and(|var| self.needed.contains(&var))
        };
        (0..region.inputs.len()).filter(needed).collect()
    }
}

/// The variables of a region's inputs.
fn vars<'r>(regions: &'r Regions, region: u32, inputs: &'r [Bit]) -> impl Iterator<Item = VarId> + 'r {
    let region = &regions.all[region as usize];
    let field = |bit: &Bit| regions.layouts[region.proc].field(region.inputs[bit.number()]).0;
    inputs.iter().filter_map(move |bit| regions.var(region.proc, field(bit)))
}
