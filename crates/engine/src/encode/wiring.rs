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
//! by always adding the variable that occurs most with those placed last; and a local stands behind the global it occurs
//! most with. Integers are interleaved bit by bit behind the Booleans. What says where a run is, if a translation knows that,
//! comes before everything else. Procedures that are alike are wired alike, and what is alike in them counts as often as it
//! is there.
//!
//! # Paper
//!
//! \[bebop\] section 4 names the cost of having all variables; sharing levels between procedures is ours.

use super::machine::code::Machine;
use postbop_ir::{Action, Expr, Id, Op, ProcId, Program, Type, VarId};
use postbop_kit::groups::Groups;
use rustc_hash::FxHashMap as HashMap;
use smallvec::SmallVec;
use std::cell::OnceCell;
use std::cmp::Reverse;

/// What the four levels of a slot stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The value when the procedure was entered.
    Entry = 0,
    /// The value now.
    Now = 1,
    /// The value after the edge.
    Next = 2,
    /// An argument or a result on its way.
    Pass = 3,
}

/// The level at which a slot plays a role.
pub fn level(slot: u32, role: Role) -> u32 {
    slot * 4 + role as u32
}

/// For each field of a procedure the slots of its bits, least significant first.
pub type Slots = Vec<Box<[u32]>>;

/// The slots of all procedures.
pub struct Wiring {
    /// The first slot of each global that comes before everything else.
    control: HashMap<VarId, u32>,
    /// The place of each global among its kind: Booleans, or integers.
    global: HashMap<VarId, u32>,
    /// For each Boolean global its slot, and one more: behind it stand the locals that belong to it.
    base: Vec<u32>,
    /// For each class of procedures where its locals and results stand: Booleans behind some global, integers in a row.
    spots: Vec<Box<[Spot]>>,
    /// The first slot of integers, how many globals and how many others there are, and their greatest width.
    ints: (u32, u32, u32),
    widest: u32,
    classes: Vec<OnceCell<Slots>>,
}

/// Where a local or a result stands: behind which Boolean global, or `INTEGER`, and at which place there.
type Spot = (u32, u32);

const INTEGER: u32 = u32::MAX;

impl Wiring {
    /// The wiring of a program.
    pub fn new(machine: &Machine) -> Self {
        let program = machine.program;
        let models = machine.kin.models();
        let affinities = Affinities::new(machine, &models);
        let width = |ty: Type| ty.bits().map_or(64, u32::from);
        let mut next = 0;
        let mut control = HashMap::default();
        for &var in &program.control {
            control.insert(var, next);
            next += width(program.vars[var].ty);
        }
        let globals: Vec<VarId> = program.globals().filter(|var| !control.contains_key(var)).collect();
        let mut global = HashMap::default();
        let mut count = [0, 0];
        for var in affinities.order(&globals) {
            let kind = program.vars[var].ty.is_integer() as usize;
            global.insert(var, count[kind]);
            count[kind] += 1;
        }
        let mut room = vec![0; count[0] as usize + 1];
        let mut ints = 0;
        let spots: Vec<Box<[Spot]>> = models
            .iter()
            .map(|&proc| spots(program, &affinities, &global, proc, &mut room, &mut ints))
            .collect();
        let mut base = Vec::with_capacity(room.len());
        for more in room {
            base.push(next);
            next += 1 + more;
        }
        let widths = models.iter().flat_map(|&proc| machine.scopes.types(program, proc).map(width));
        let widest = widths.max().unwrap_or(0);
        let classes = models.iter().map(|_| OnceCell::new()).collect();
        Wiring { control, global, base, spots, ints: (next, count[1], ints), widest, classes }
    }

    /// One more than the greatest level.
    pub fn levels(&self) -> u32 {
        let (first, globals, others) = self.ints;
        level(first + (globals + others) * self.widest, Role::Entry)
    }

    /// The slots of a procedure's fields.
    pub fn slots(&self, machine: &Machine, proc: ProcId) -> &Slots {
        let (program, scopes) = (machine.program, &machine.scopes);
        let class = machine.kin.procs[proc] as usize;
        self.classes[class].get_or_init(|| {
            let of_global = |var: &VarId| match (program.vars[*var].ty, self.control.get(var)) {
                (ty, Some(&first)) => {
                    (0..ty.bits().map_or(0, u32::from)).rev().map(|bit| first + bit).collect()
                }
                (Type::Bool, None) => [self.base[self.global[var] as usize]].into(),
                (ty, None) => self.integer(ty, self.global[var]),
            };
            let globals = scopes.globals(proc).iter().map(of_global);
            let types = scopes.types(program, proc).skip(scopes.globals(proc).len());
            let others = self.spots[class].iter().zip(types).map(|(&(behind, place), ty)| match behind {
                INTEGER => self.integer(ty, self.ints.1 + place),
                _ => [self.base[behind as usize] + 1 + place].into(),
            });
            globals.chain(others).collect()
        })
    }

    /// The slots of an integer: those of one bit stand together, the most significant first.
    fn integer(&self, ty: Type, place: u32) -> Box<[u32]> {
        let (first, globals, others) = self.ints;
        let width = ty.bits().map_or(0, u32::from);
        (0..width).map(|bit| first + (self.widest - 1 - bit) * (globals + others) + place).collect()
    }
}

/// Where the locals and results of a procedure stand. `room` and `ints` grow to what any procedure needs.
fn spots(
    program: &Program,
    affinities: &Affinities,
    global: &HashMap<VarId, u32>,
    proc: ProcId,
    room: &mut [u32],
    ints: &mut u32,
) -> Box<[Spot]> {
    let data = &program.procs[proc];
    let last = room.len() as u32 - 1;
    let mut taken: HashMap<u32, u32> = HashMap::default();
    let mut take = |behind: u32| {
        let place = taken.entry(behind).or_default();
        *place += 1;
        let room = if behind == INTEGER { &mut *ints } else { &mut room[behind as usize] };
        *room = (*room).max(*place);
        (behind, *place - 1)
    };
    let mut spot: HashMap<VarId, Spot> = HashMap::default();
    for var in affinities.order(&data.locals) {
        let behind = match program.vars[var].ty {
            Type::Bool => affinities.anchor(program, global, &spot, var).unwrap_or(last),
            _ => INTEGER,
        };
        spot.insert(var, take(behind));
    }
    let locals: Vec<Spot> = data.locals.iter().map(|var| spot[var]).collect();
    let results = data.results.iter().map(|ty| take(if ty.is_integer() { INTEGER } else { last }));
    locals.into_iter().chain(results).collect()
}

/// How much variables have to do with each other.
struct Affinities {
    /// Which two variables are tied how strongly; two may be tied several times.
    ties: Vec<(VarId, VarId, u32)>,
    /// For each variable where its ties are; twice the number, and one more where it is the second.
    of: Groups,
}

/// More variables than this keep the order of the source: ordering takes quadratic time.
const MOST_ORDERED: usize = 3_000;

impl Affinities {
    /// Those of the globals, and of the locals of each model.
    fn new(machine: &Machine, models: &[ProcId]) -> Self {
        let (program, kin) = (machine.program, &machine.kin);
        let mut all = Affinities { ties: Vec::new(), of: Groups::default() };
        let mut counts = vec![0u32; kin.edge_classes];
        kin.edges.iter().for_each(|&class| counts[class as usize] += 1);
        for (id, edge) in program.edges.pairs() {
            // The first of a class speaks for all of them.
            let count = std::mem::take(&mut counts[kin.edges[id] as usize]);
            if count == 0 {
                continue;
            }
            let first = all.ties.len();
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
            let model = &program.procs[models[kin.procs[program.locs[edge.from].proc] as usize]];
            let of_model = |var: VarId| match program.is_global(var) {
                true => var,
                false => model.locals[machine.scopes.place(var) as usize],
            };
            for (a, b, strength) in &mut all.ties[first..] {
                (*a, *b, *strength) = (of_model(*a), of_model(*b), strength.saturating_mul(count));
            }
        }
        let ends = |(at, &(a, b, _)): (usize, &(VarId, VarId, u32))| {
            [(a.index(), 2 * at as u32), (b.index(), 2 * at as u32 + 1)]
        };
        all.of = Groups::new(program.vars.len(), all.ties.iter().enumerate().flat_map(ends));
        all
    }

    /// The partners of a variable, in order, and how strongly each is tied to it.
    fn partners(&self, var: VarId) -> SmallVec<[(VarId, u32); 16]> {
        let partner = |&end: &u32| {
            let (a, b, strength) = self.ties[end as usize / 2];
            (if end.is_multiple_of(2) { b } else { a }, strength)
        };
        let mut partners: SmallVec<[(VarId, u32); 16]> =
            self.of.of(var.index()).iter().map(partner).collect();
        partners.sort_unstable();
        partners.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 = kept.1.saturating_add(if same { next.1 } else { 0 });
            same
        });
        partners
    }

    /// The Boolean global behind which a local is to stand: the one it is tied to most, or else the one of the local it
    /// is tied to most, of those that have a place.
    fn anchor(
        &self,
        program: &Program,
        global: &HashMap<VarId, u32>,
        spot: &HashMap<VarId, Spot>,
        var: VarId,
    ) -> Option<u32> {
        let partners = self.partners(var);
        let is_bool = |var: &VarId| program.vars[*var].ty == Type::Bool;
        let best = |place: &dyn Fn(&VarId) -> Option<u32>| {
            let placed = partners.iter().filter(|(other, _)| is_bool(other));
            let placed =
                placed.filter_map(|(other, strength)| Some((*strength, Reverse(*other), place(other)?)));
            placed.max().map(|(_, _, behind)| behind)
        };
        best(&|other| global.get(other).copied())
            .or_else(|| best(&|other| spot.get(other).map(|spot| spot.0)))
    }

    fn tie(&mut self, a: VarId, b: VarId, strength: u32) {
        if a != b {
            self.ties.push((a, b, strength));
        }
    }

    /// Operands of one operator belong together, more so than neighbours in a long expression.
    fn within(&mut self, expr: &Expr) {
        let mut stack: SmallVec<[(Option<VarId>, Option<VarId>); 8]> = SmallVec::new();
        for &op in &expr.code {
            let operands = &stack[stack.len() - op.arity()..];
            let variable = |var| (Some(var), Some(var));
            let ends = match op {
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
            };
            stack.truncate(stack.len() - op.arity());
            stack.push(ends);
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
            for (partner, strength) in self.partners(var) {
                *pull.entry(partner).or_default() += (strength as u64) << 16;
            }
            ordered.push(var);
        }
        ordered
    }
}
