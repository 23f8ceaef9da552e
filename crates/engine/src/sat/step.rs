//! Room `engine/sat`: one edge, executed symbolically.
//!
//! # Idea
//!
//! Control at a location is a *guard*, which says whether it can be there, and for each bit of each variable a function. An edge
//! conjoins its condition with the guard, and makes the functions of what it assigns from those that it reads. Whatever is picked
//! freely is a new input.
//!
//! # Paper
//!
//! \[sat-summaries\] section 3, Table 1; for calls equations 6 and 7. # Departures: the inputs of a callee's functions are
//! replaced by the functions of what it is called with, instead of being equated to them; values that cannot matter any
//! more are forgotten.

use super::regions::Regions;
use crate::encode::gates::{apply, constant, width};
use postbop_ir::{Action, Expr, LocId, Op, ProcId, Type, VarId};
use postbop_kit::aig::{Aig, Lit};
use postbop_kit::bits;
use rustc_hash::FxHashMap as HashMap;
use std::convert::Infallible;
use std::ops::Range;

/// The choices of an edge, in order: the type, and the bits.
pub type Choices = Vec<(Type, Vec<Lit>)>;

/// Executes an edge of a procedure.
pub struct Step<'s, 'a> {
    /// The program.
    pub regions: &'s Regions<'a>,
    /// The procedure.
    pub proc: ProcId,
    /// The functions.
    pub aig: &'s mut Aig,
    /// The choices that were made.
    pub choices: &'s mut Choices,
}

impl Step<'_, '_> {
    /// Does what an edge does that is no call.
    pub fn take(&mut self, action: &Action, guard: &mut Lit, bits: &mut [Lit]) {
        let nothing = HashMap::default();
        match action {
            Action::Assume(condition) => {
                let holds = self.value(condition, bits, &nothing);
                *guard = self.aig.and(*guard, holds[0]);
            }
            Action::Assign { targets, values, constraint } => {
                let values: Vec<Vec<Lit>> =
                    values.iter().map(|value| self.value(value, bits, &nothing)).collect();
                let next: HashMap<VarId, Vec<Lit>> = targets.iter().copied().zip(values).collect();
                if let Some(constraint) = constraint {
                    let holds = self.value(constraint, bits, &next);
                    *guard = self.aig.and(*guard, holds[0]);
                }
                next.iter().for_each(|(&var, value)| self.set(bits, var, value));
            }
            Action::Havoc(vars) => {
                for &var in vars {
                    let value = self.choice(self.regions.program.vars()[var].ty);
                    self.set(bits, var, &value);
                }
            }
            Action::Return(values) => {
                let first = self.regions.scopes.first_result(self.regions.program, self.proc);
                for (at, value) in values.iter().enumerate() {
                    let value = self.value(value, bits, &nothing);
                    let place = self.regions.layouts[self.proc].bits(first + at);
                    bits[place].copy_from_slice(&value);
                }
            }
            Action::Call { .. } => unreachable!("a call is no single step"),
        }
    }

    /// The inputs that a procedure is called with.
    pub fn inputs(&mut self, callee: ProcId, args: &[Expr], bits: &[Lit]) -> Vec<Lit> {
        let regions = self.regions;
        let args: Vec<Vec<Lit>> = args.iter().map(|arg| self.value(arg, bits, &HashMap::default())).collect();
        let (there, here) = (&regions.layouts[callee], &regions.layouts[self.proc]);
        let shared = self.shared(callee);
        let inputs = &regions.all[regions.entry(callee) as usize].inputs;
        let input = |&bit: &u32| match there.field(bit) {
            (field, nth) if field < shared.len() => bits[here.bits(shared[field]).start + nth],
            (field, nth) => args[field - shared.len()][nth],
        };
        inputs.iter().map(input).collect()
    }

    /// Where a callee's globals are in the caller.
    fn shared(&self, callee: ProcId) -> Vec<usize> {
        self.regions.scopes.shared(self.proc, callee).map(|(here, _)| here).collect()
    }

    /// The procedure that was called has returned with these outputs.
    pub fn receive(&mut self, callee: ProcId, results: &[Option<VarId>], outputs: &[Lit], bits: &mut [Lit]) {
        let (regions, own) = (self.regions, self.proc);
        let (there, here) = (&regions.layouts[callee], &regions.layouts[own]);
        let field =
            |var: VarId| regions.scopes.field(regions.program, own, var).expect("callers touch it too");
        for &var in regions.scopes.written(callee) {
            bits[here.bits(field(var))].fill(Lit::FALSE);
        }
        let shared = self.shared(callee);
        let first = regions.scopes.first_result(regions.program, callee);
        let received: Vec<Option<usize>> = results.iter().map(|result| result.map(field)).collect();
        // A global that a result overwrites does not come from the callee's global: results come last.
        for (&bit, &value) in regions.outputs[callee].iter().zip(outputs) {
            let (field, nth) = there.field(bit);
            let place = if field < shared.len() { Some(shared[field]) } else { received[field - first] };
            if let Some(place) = place {
                bits[here.bits(place).start + nth] = value;
            }
        }
    }

    /// Values that do not matter at a location are forgotten.
    pub fn forget(&self, loc: LocId, bits: &mut [Lit]) {
        let layout = &self.regions.layouts[self.proc];
        let live = self.regions.live.at(self.regions.program, loc);
        for field in (0..layout.types.len()).filter(|&field| !bits::contains(live, field)) {
            bits[layout.bits(field)].fill(Lit::FALSE);
        }
    }

    fn place(&self, var: VarId) -> Range<usize> {
        let field = self.regions.scopes.field(self.regions.program, self.proc, var);
        self.regions.layouts[self.proc].bits(field.expect("a procedure touches what its edges mention"))
    }

    fn set(&self, bits: &mut [Lit], var: VarId, value: &[Lit]) {
        bits[self.place(var)].copy_from_slice(value);
    }

    fn choice(&mut self, ty: Type) -> Vec<Lit> {
        let bits: Vec<Lit> = (0..width(ty)).map(|_| self.aig.input()).collect();
        self.choices.push((ty, bits.clone()));
        bits
    }

    /// The bits of an expression.
    fn value(&mut self, expr: &Expr, bits: &[Lit], next: &HashMap<VarId, Vec<Lit>>) -> Vec<Lit> {
        let mut stack: Vec<(Type, Vec<Lit>)> = Vec::new();
        for &op in expr.code.iter() {
            let value = match op {
                Op::Const(ty, value) => (ty, constant::<Aig>(ty, value.get())),
                Op::Var(var) => (self.regions.program.vars()[var].ty, bits[self.place(var)].to_vec()),
                Op::Next(var) => {
                    let kept = || bits[self.place(var)].to_vec();
                    (self.regions.program.vars()[var].ty, next.get(&var).cloned().unwrap_or_else(kept))
                }
                Op::Choice(ty) => (ty, self.choice(ty)),
                op => {
                    let operands = stack.split_off(stack.len() - op.arity());
                    let Ok(value): Result<_, Infallible> = apply(self.aig, op, &operands);
                    value
                }
            };
            stack.push(value);
        }
        stack.pop().expect("an expression is not empty").1
    }
}

/// One of two valuations with their guards, as a choice says, or as their guards say if they exclude each other; and that choice.
/// The first one gets the bits of both.
pub fn either(aig: &mut Aig, one: (Lit, &mut [Lit]), other: (Lit, &[Lit])) -> (Lit, Lit) {
    let exclusive = aig.and(one.0, other.0) == Lit::FALSE;
    let select = if exclusive { one.0 } else { aig.input() };
    for (bit, &other) in one.1.iter_mut().zip(other.1) {
        *bit = aig.ite(select, *bit, other);
    }
    (select, aig.ite(select, one.0, other.0))
}

/// One for several, two by two.
pub fn merge<T>(mut all: Vec<T>, mut either: impl FnMut(T, T) -> T) -> T {
    while all.len() > 1 {
        let mut merged = Vec::with_capacity(all.len().div_ceil(2));
        let mut rest = all.into_iter();
        while let Some(one) = rest.next() {
            merged.push(match rest.next() {
                Some(other) => either(one, other),
                None => one,
            });
        }
        all = merged;
    }
    all.pop().expect("something has come")
}
