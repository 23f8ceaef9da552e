//! Room `engine/sat`: which inputs a path depends on.
//!
//! # Idea
//!
//! A run from one valuation is a run from all valuations that agree with it on the variables that it depends on: those from
//! which the conditions on the path, the inputs that callees' runs ask for, and the outputs are computed. They are found
//! by walking the path backwards, as a dynamic slice. What an expression mentions counts, even where another
//! operand alone decides its value: replay evaluates expressions in the same way.
//!
//! An output that is only handed on, from variable to variable, does not depend on its value: the run hands on whatever is there.
//! Such an output is a *copy* of an input.
//!
//! # Paper
//!
//! \[slice\]. # Cost: the length of the path, with its expressions, times the outputs.

use super::knowledge::{Bit, Fact, Kind};
use super::regions::Regions;
use postbop_ir::{Action, EdgeId, Expr, Op, ProcId, Type, VarId};
use rustc_hash::FxHashSet as HashSet;

/// Where an output comes from, as far as the path was walked.
#[derive(Clone, Copy)]
enum Source {
    /// It is what a variable holds here.
    Var(VarId),
    /// It is a result of the procedure.
    Result(usize),
    /// It is computed later on the path.
    Computed,
}

/// Walks a path of a region backwards.
pub struct Slice<'s, 'a> {
    regions: &'s Regions<'a>,
    proc: ProcId,
    needed: HashSet<VarId>,
    /// The fields of the outputs, each with where it comes from.
    sources: Vec<(usize, Source)>,
}

impl<'s, 'a> Slice<'s, 'a> {
    /// At the end of a path in a procedure that returns, or fails at a target.
    pub fn new(regions: &'s Regions<'a>, proc: ProcId, kind: Kind) -> Self {
        let first = regions.scopes.first_result(regions.program, proc);
        let mut fields: Vec<usize> =
            regions.outputs[proc].iter().map(|&bit| regions.layouts[proc].field(bit).0).collect();
        fields.dedup();
        let source = |field: usize| match regions.var(proc, field) {
            Some(var) => Source::Var(var),
            None => Source::Result(field - first),
        };
        let fields = fields.into_iter().filter(|_| kind == Kind::Return);
        let sources = fields.map(|field| (field, source(field))).collect();
        Slice { regions, proc, needed: HashSet::default(), sources }
    }

    /// In front of a run of a region that is called in tail position.
    pub fn tail(&mut self, fact: &Fact) {
        self.needed = vars(self.regions, fact).collect();
        for (field, source) in &mut self.sources {
            *source = handed_on(self.regions, self.proc, fact, *field).map_or(Source::Computed, Source::Var);
        }
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
        match &self.regions.program.edges()[id].action {
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
                // Last, since the values are computed from what variables held before.
                self.move_sources(|slice, source| match source {
                    Source::Var(var) => match targets.iter().position(|target| *target == var) {
                        Some(at) => slice.value(&values[at], slice.regions.program.vars()[var].ty),
                        None => source,
                    },
                    _ => source,
                });
            }
            Action::Havoc(vars) => {
                self.needed.retain(|var| !vars.contains(var));
                self.move_sources(|_, source| match source {
                    Source::Var(var) if vars.contains(&var) => Source::Computed,
                    _ => source,
                });
            }
            Action::Call { callee, args, results } => {
                self.come_back(id, *callee, args, results, fact.expect("a call on a path has a run"));
            }
            Action::Return(values) => self.move_sources(|slice, source| match source {
                Source::Result(at) => {
                    let ty = slice.regions.program.procs()[slice.proc].results[at];
                    slice.value(&values[at], ty)
                }
                _ => source,
            }),
        }
    }

    fn move_sources(&mut self, mut before: impl FnMut(&mut Self, Source) -> Source) {
        let mut sources = std::mem::take(&mut self.sources);
        sources.iter_mut().for_each(|(_, source)| *source = before(self, *source));
        self.sources = sources;
    }

    /// Where the value of an expression comes from.
    fn value(&mut self, expr: &Expr, ty: Type) -> Source {
        match expr.code[..] {
            [Op::Var(var)] if self.regions.program.vars()[var].ty == ty => Source::Var(var),
            _ => {
                self.reads(expr);
                Source::Computed
            }
        }
    }

    /// In front of a call that returns.
    fn come_back(
        &mut self,
        edge: EdgeId,
        callee: ProcId,
        args: &[Expr],
        results: &[Option<VarId>],
        fact: &Fact,
    ) {
        let (regions, program) = (self.regions, self.regions.program);
        let written = regions.scopes.written(callee);
        let first = regions.scopes.first_result(program, callee);
        // Where a variable's value after the call comes from; none if the call leaves the variable alone.
        let source = |slice: &mut Self, var: VarId| {
            let field = match results.iter().position(|result| *result == Some(var)) {
                Some(result) => first + result,
                None if written.binary_search(&var).is_err() => return None,
                None => regions.scopes.field(program, callee, var).expect("the callee writes it"),
            };
            Some(match handed_on(regions, callee, fact, field) {
                None => Source::Computed,
                Some(input) => {
                    match program.procs()[callee].params().iter().position(|&param| param == input) {
                        Some(at) => slice.value(&args[at], program.vars()[input].ty),
                        None => Source::Var(input),
                    }
                }
            })
        };
        for var in std::mem::take(&mut self.needed) {
            match source(self, var) {
                None => self.needed.extend([var]),
                Some(Source::Var(before)) => self.needed.extend([before]),
                Some(_) => {}
            }
        }
        self.move_sources(|slice, before| match before {
            Source::Var(var) => source(slice, var).unwrap_or(before),
            _ => before,
        });
        self.call(edge, fact);
    }

    /// What the run of a callee asks for.
    fn call(&mut self, edge: EdgeId, fact: &Fact) {
        let program = self.regions.program;
        let Action::Call { callee, args, .. } = &program.edges()[edge].action else { return };
        let asked: Vec<VarId> = vars(self.regions, fact).collect();
        for var in asked {
            match program.procs()[*callee].params().iter().position(|&param| param == var) {
                Some(at) => self.reads(&args[at]),
                None => self.needed.extend([var]),
            }
        }
    }

    /// At the start of the path. In a trace, a completed call tells its outputs as values; it can leave open only what it leaves
    /// alone. So where the procedure is entered, a copy of another variable needs that one's value.
    pub fn start(&mut self, region: u32) {
        if self.regions.entry(self.proc) != region {
            return;
        }
        let mut sources = std::mem::take(&mut self.sources);
        for (field, source) in &mut sources {
            if let Source::Var(var) = *source
                && self.regions.var(self.proc, *field) != Some(var)
            {
                self.needed.insert(var);
                *source = Source::Computed;
            }
        }
        self.sources = sources;
    }

    /// The inputs of a region that are needed at its start.
    pub fn inputs(&self, region: u32) -> Vec<usize> {
        let region = &self.regions.all[region as usize];
        let layout = &self.regions.layouts[region.proc];
        let needed = |&at: &usize| {
            let var = self.regions.var(region.proc, layout.field(region.inputs[at]).0);
            var.is_some_and(|var| self.needed.contains(&var))
        };
        (0..region.inputs.len()).filter(needed).collect()
    }

    /// For each output bit the input of which it is a copy.
    pub fn copies(&self, region: u32) -> Vec<Option<u32>> {
        let region = &self.regions.all[region as usize];
        let layout = &self.regions.layouts[self.proc];
        let mut copies = Vec::new();
        for (field, source) in &self.sources {
            for nth in 0..layout.bits(*field).len() {
                copies.push(match source {
                    Source::Var(var) => {
                        let field = self.regions.scopes.field(self.regions.program, self.proc, *var);
                        let place = field.map(|field| (layout.bits(field).start + nth) as u32);
                        place.and_then(|place| region.inputs.binary_search(&place).ok()).map(|at| at as u32)
                    }
                    _ => None,
                });
            }
        }
        copies
    }
}

/// The variable of which an output field is a copy in a run of a procedure's region.
fn handed_on(regions: &Regions, proc: ProcId, fact: &Fact, field: usize) -> Option<VarId> {
    let region = &regions.all[fact.region as usize];
    let layout = &regions.layouts[proc];
    let output = regions.outputs[proc].binary_search(&layout.first[field]).ok()?;
    let input = fact.copies[output]?;
    regions.var(proc, layout.field(region.inputs[input as usize]).0)
}

/// The variables of the inputs that a run asks for.
fn vars<'r>(regions: &'r Regions, fact: &'r Fact) -> impl Iterator<Item = VarId> + 'r {
    let region = &regions.all[fact.region as usize];
    let field = |bit: &Bit| regions.layouts[region.proc].field(region.inputs[bit.number()]).0;
    fact.inputs.iter().filter_map(move |bit| regions.var(region.proc, field(bit)))
}
