//! Room `engine/encode`: which level of a decision diagram stands for which bit.
//!
//! # Idea
//!
//! Procedures share levels. A global has a place of its own; the locals and results of every procedure share one row
//! of places, the *slots*, so a program with a thousand procedures needs no more levels than its largest one. Each
//! slot has four levels side by side: the value at entry, now, next, and one by which arguments and results pass
//! between caller and callee.
//!
//! What belongs together stands together: among globals, and among the locals of each procedure, the order is grown
//! from the variable that occurs most with others, always adding the one that occurs most with those placed last.
//! Integers are interleaved bit by bit behind the Booleans.
//!
//! # Paper
//!
//! \[bebop\] section 4 names the cost of having all variables; sharing levels between procedures is ours.

use super::scope::Scopes;
use postbop_ir::{Action, Expr, Id, Op, ProcId, Program, Table, Type, VarId};
use rustc_hash::FxHashMap as HashMap;
use std::cell::OnceCell;

/// The four levels of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Copy {
    /// The value when the procedure was entered.
    Entry = 0,
    /// The value now.
    Now = 1,
    /// The value after the edge.
    Next = 2,
    /// An argument or a result on its way.
    Pass = 3,
}

/// The level of a slot's copy.
pub fn level(slot: u32, copy: Copy) -> u32 {
    slot * 4 + copy as u32
}

/// For each field of a procedure the slots of its bits, least significant first.
pub type Slots = Vec<Box<[u32]>>;

/// The slots of all procedures.
pub struct Wiring {
    /// The position of each global among its kind: Booleans, or integers.
    global: HashMap<VarId, u32>,
    bools: [u32; 2],
    ints: [u32; 2],
    widest: u32,
    procs: Table<ProcId, OnceCell<Slots>>,
    affinities: Affinities,
}

impl Wiring {
    /// The wiring of a program.
    pub fn new(program: &Program, scopes: &Scopes) -> Self {
        let affinities = Affinities::new(program);
        let globals: Vec<VarId> = program.globals().collect();
        let ordered = affinities.order(&globals);
        let mut global = HashMap::default();
        let mut count = [0, 0];
        for var in ordered {
            let kind = program.vars[var].ty.is_integer() as usize;
            global.insert(var, count[kind]);
            count[kind] += 1;
        }
        let (mut bools, mut ints, mut widest) = ([count[0], 0], [count[1], 0], 0);
        for proc in program.procs.ids() {
            let first = scopes.globals(proc).len();
            let types = || scopes.types(program, proc).skip(first);
            bools[1] = bools[1].max(types().filter(|ty| !ty.is_integer()).count() as u32);
            ints[1] = ints[1].max(types().filter(|ty| ty.is_integer()).count() as u32);
            let width = |ty: Type| ty.bits().map_or(64, u32::from);
            widest = widest.max(scopes.types(program, proc).map(width).max().unwrap_or(0));
        }
        let procs = program.procs.ids().map(|_| OnceCell::new()).collect();
        Wiring { global, bools, ints, widest, procs, affinities }
    }

    /// One more than the greatest level.
    pub fn levels(&self) -> u32 {
        let ints = (self.ints[0] + self.ints[1]) * self.widest;
        level(self.bools[0] + self.bools[1] + ints, Copy::Entry)
    }

    /// The slots of a procedure's fields.
    pub fn slots(&self, program: &Program, scopes: &Scopes, proc: ProcId) -> &Slots {
        self.procs[proc].get_or_init(|| self.wire(program, scopes, proc))
    }

    fn wire(&self, program: &Program, scopes: &Scopes, proc: ProcId) -> Slots {
        let locals = &program.procs[proc].locals;
        let mut place = HashMap::default();
        let mut count = [0, 0];
        for var in self.affinities.order(locals) {
            let kind = program.vars[var].ty.is_integer() as usize;
            place.insert(var, count[kind]);
            count[kind] += 1;
        }
        let mut result = |ty: Type| {
            let kind = ty.is_integer() as usize;
            count[kind] += 1;
            count[kind] - 1
        };
        let of_globals =
            scopes.globals(proc).iter().map(|&var| self.bits(program.vars[var].ty, self.global[&var], 0));
        let of_locals = locals.iter().map(|var| self.bits(program.vars[*var].ty, place[var], 1));
        let fields: Slots = of_globals.chain(of_locals).collect();
        let results = program.procs[proc].results.iter().map(|&ty| self.bits(ty, result(ty), 1));
        fields.into_iter().chain(results).collect()
    }

    /// The slots of a value: `kind` is 0 for globals, 1 for what procedures share.
    fn bits(&self, ty: Type, position: u32, kind: usize) -> Box<[u32]> {
        let before = |counts: [u32; 2]| if kind == 0 { 0 } else { counts[0] };
        match ty {
            Type::Bool => [before(self.bools) + position].into(),
            _ => {
                let row = self.ints[0] + self.ints[1];
                let first = self.bools[0] + self.bools[1] + before(self.ints) + position;
                let width = ty.bits().map_or(0, u32::from);
                (0..width).map(|bit| first + (self.widest - 1 - bit) * row).collect()
            }
        }
    }
}

/// How much variables have to do with each other.
struct Affinities {
    /// For each variable its partners and how strongly they are tied.
    ties: Vec<HashMap<VarId, u32>>,
}

/// More variables than this keep the order of the source: ordering takes quadratic time.
const MOST_ORDERED: usize = 3_000;

impl Affinities {
    fn new(program: &Program) -> Self {
        let mut all = Affinities { ties: vec![HashMap::default(); program.vars.len()] };
        for edge in program.edges.iter() {
            edge.action.exprs().for_each(|expr| all.within(expr));
            match &edge.action {
                Action::Assign { targets, values, .. } => {
                    for (&target, value) in targets.iter().zip(values) {
                        let reads: Vec<VarId> = value.reads().take(8).collect();
                        reads.iter().for_each(|&read| all.tie(target, read, 16 / reads.len() as u32));
                    }
                }
                Action::Call { args, results, .. } => {
                    let passed: Vec<VarId> = args.iter().flat_map(|arg| arg.reads().take(2)).collect();
                    let vars: Vec<VarId> =
                        passed.into_iter().chain(results.iter().flatten().copied()).collect();
                    vars.windows(2).for_each(|pair| all.tie(pair[0], pair[1], 2));
                }
                _ => {}
            }
        }
        all
    }

    fn tie(&mut self, a: VarId, b: VarId, strength: u32) {
        if a != b {
            *self.ties[a.index()].entry(b).or_default() += strength;
            *self.ties[b.index()].entry(a).or_default() += strength;
        }
    }

    /// Operands of one operator belong together, more so than neighbours in a long expression.
    fn within(&mut self, expr: &Expr) {
        let mut stack: Vec<(Option<VarId>, Option<VarId>)> = Vec::new();
        for &op in &expr.code {
            let operands = stack.split_off(stack.len() - op.arity());
            let variable = |var| (Some(var), Some(var));
            stack.push(match op {
                Op::Var(var) | Op::Next(var) => variable(var),
                Op::Const(..) | Op::Choice(_) => (None, None),
                Op::Not | Op::Neg(_) => operands[0],
                _ => {
                    for pair in operands.windows(2) {
                        let leaves = pair.iter().all(|(first, last)| first == last);
                        if let (Some(a), Some(b)) = (pair[0].1, pair[1].0) {
                            self.tie(a, b, if leaves { 16 } else { 2 });
                        }
                    }
                    let first = operands.iter().find_map(|operand| operand.0);
                    let last = operands.iter().rev().find_map(|operand| operand.1);
                    (first, last)
                }
            });
        }
    }

    /// The variables, all of one scope, in an order in which those that belong together are close.
    fn order(&self, vars: &[VarId]) -> Vec<VarId> {
        if vars.len() > MOST_ORDERED {
            return vars.to_vec();
        }
        let mut left: Vec<VarId> = vars.to_vec();
        let mut pull: HashMap<VarId, u64> = HashMap::default();
        let mut ordered = Vec::with_capacity(vars.len());
        while !left.is_empty() {
            // Among equals the one declared first.
            let best = (0..left.len())
                .rev()
                .max_by_key(|&at| pull.get(&left[at]).copied().unwrap_or(0))
                .unwrap_or(0);
            let var = left.remove(best);
            for value in pull.values_mut() {
                *value -= *value / 4;
            }
            for (&partner, &strength) in &self.ties[var.index()] {
                *pull.entry(partner).or_default() += (strength as u64) << 16;
            }
            ordered.push(var);
        }
        ordered
    }
}
