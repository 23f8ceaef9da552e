//! Room `engine/sat`: a region as Boolean functions.
//!
//! # Idea
//!
//! The region is executed symbolically, all its paths at once. At each location there is a *guard*, which says whether
//! control can be here, and for each bit of each variable a function; all of them over the region's inputs and over
//! *choices*: the nondeterminism of the program, and, where two paths meet, which of them was taken. So a valuation of all
//! inputs and choices is one path, or none.
//!
//! A call is a *site*: its outputs are inputs of the functions, and what is known of the callee restricts them elsewhere.
//!
//! # Paper
//!
//! \[sat-summaries\] section 3, Table 1 and path merging. # Departures: where paths meet, a choice selects one, instead of
//! a disjunction of equations; paths are merged at every location.
//!
//! # Cost
//!
//! Each edge costs the bits that are in scope, and the operators of its expressions; merging costs a multiplexer for each live
//! bit on which the paths differ.

use super::regions::Regions;
use crate::encode::gates::{apply, constant, width};
use postbop_ir::{Action, EdgeId, Expr, LocId, Op, ProcId, Program, Type, Value, VarId};
use postbop_kit::aig::{Aig, Lit, Values};
use postbop_kit::bits;
use rustc_hash::FxHashMap as HashMap;
use std::convert::Infallible;

/// How control got somewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// The region starts here.
    Start,
    /// Along an edge.
    Edge(EdgeId),
    /// By a call in tail position that came back.
    Tail(u32),
    /// By one of two ways.
    Merge(u32),
}

/// A call, in tail position or not.
pub struct Site {
    /// The region that is called.
    pub callee: u32,
    /// Along which edge; none in tail position.
    pub edge: Option<EdgeId>,
    /// How control gets there.
    pub way: Way,
    /// The callee's inputs.
    pub inputs: Vec<Lit>,
    /// Its outputs.
    pub outputs: Vec<Lit>,
    /// That it returns.
    pub returns: Lit,
    /// That it fails: a target is reached before it returns.
    pub fails: Lit,
    /// That control gets there, and that it fails.
    pub failed: Lit,
}

/// A target.
pub struct Target {
    /// The location.
    pub loc: LocId,
    /// That control gets there, and that it counts.
    pub failed: Lit,
    /// That it counts.
    pub counts: Lit,
}

/// A region as functions.
pub struct Execution {
    /// The functions.
    pub aig: Aig,
    /// The region's inputs.
    pub inputs: Vec<Lit>,
    /// What is arbitrary at its start.
    pub free: Vec<Lit>,
    /// Its calls.
    pub sites: Vec<Site>,
    /// That the procedure returns.
    pub returns: Lit,
    /// Its outputs then.
    pub outputs: Vec<Lit>,
    /// How it came to that.
    pub end: Way,
    /// The targets in the region.
    pub targets: Vec<Target>,
    /// That a target is reached, here or in a callee.
    pub fails: Lit,
    ways: HashMap<LocId, Way>,
    merges: Vec<(Lit, Way, Way)>,
    choices: HashMap<EdgeId, Vec<(Type, Vec<Lit>)>>,
    /// The sites of calls that are not in tail position.
    calls: HashMap<EdgeId, u32>,
    /// What nodes stand for, if they belong to sites or select paths.
    pub roles: HashMap<usize, Role>,
}

/// What a node of the functions stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// That a site returns, or fails. It has a smaller number than the site's outputs.
    Does(u32),
    /// An output of a site.
    Output(u32, u32),
    /// Which of two paths was taken.
    Select,
}

/// Control at a location.
#[derive(Clone)]
struct State {
    guard: Lit,
    bits: Vec<Lit>,
    way: Way,
}

/// Executes a region. `fails` says which regions can fail at all.
pub fn execute(
    regions: &Regions,
    region: u32,
    is_target: &dyn Fn(LocId) -> bool,
    fails: &[bool],
) -> Execution {
    let own = &regions.all[region as usize];
    let mut aig = Aig::default();
    let inputs: Vec<Lit> = own.inputs.iter().map(|_| aig.input()).collect();
    let free: Vec<Lit> = own.free.iter().map(|_| aig.input()).collect();
    let mut bits = vec![Lit::FALSE; regions.layouts[own.proc].len()];
    own.inputs.iter().zip(&inputs).for_each(|(&bit, &input)| bits[bit as usize] = input);
    own.free.iter().zip(&free).for_each(|(&bit, &input)| bits[bit as usize] = input);
    let out = Execution {
        aig,
        inputs,
        free,
        sites: Vec::new(),
        returns: Lit::FALSE,
        outputs: vec![Lit::FALSE; regions.outputs[own.proc].len()],
        end: Way::Start,
        targets: Vec::new(),
        fails: Lit::FALSE,
        ways: HashMap::default(),
        merges: Vec::new(),
        choices: HashMap::default(),
        calls: HashMap::default(),
        roles: HashMap::default(),
    };
    let mut executor =
        Executor { regions, proc: own.proc, fails, out, arrived: HashMap::default(), ends: Vec::new() };
    let start = State { guard: Lit::TRUE, bits, way: Way::Start };
    executor.run(&own.locs, start, is_target);
    executor.finish()
}

struct Executor<'r, 'a> {
    regions: &'r Regions<'a>,
    proc: ProcId,
    fails: &'r [bool],
    out: Execution,
    /// What has come to locations that were not passed yet.
    arrived: HashMap<LocId, Vec<State>>,
    /// The ways to the end of the procedure, each with the outputs.
    ends: Vec<State>,
}

impl Executor<'_, '_> {
    fn run(&mut self, locs: &[LocId], start: State, is_target: &dyn Fn(LocId) -> bool) {
        let entry = self.regions.program.procs()[self.proc].entry;
        self.arrived.insert(*locs.first().unwrap_or(&entry), vec![start]);
        for &loc in locs {
            let Some(state) = self.arrive(loc, is_target) else { continue };
            let mut state = Some(state);
            let leaving = self.regions.program.leaving(loc);
            for (nth, &edge) in leaving.iter().enumerate() {
                let last = nth + 1 == leaving.len();
                let state = if last { state.take() } else { state.clone() };
                self.take(edge, state.expect("taken for the last edge only"));
            }
        }
        let exit = self.regions.program.procs()[self.proc].exit;
        if let Some(state) = self.arrive(exit, is_target) {
            let bits = self.regions.outputs[self.proc].iter().map(|&bit| state.bits[bit as usize]).collect();
            self.ends.push(State { bits, ..state });
        }
        let mut rest: Vec<LocId> = self.arrived.keys().copied().collect();
        rest.sort_unstable();
        rest.into_iter().for_each(|loc| self.leave(loc));
    }

    /// All that has come to a location, as one.
    fn arrive(&mut self, loc: LocId, is_target: &dyn Fn(LocId) -> bool) -> Option<State> {
        let state = self.arrived.remove(&loc)?;
        let state = self.merge(state);
        self.out.ways.insert(loc, state.way);
        if is_target(loc) {
            let counts = self.out.aig.input();
            let failed = self.out.aig.and(state.guard, counts);
            self.out.targets.push(Target { loc, failed, counts });
            self.out.fails = self.out.aig.or(self.out.fails, failed);
        }
        Some(state)
    }

    /// Control leaves for the start of a region.
    fn leave(&mut self, loc: LocId) {
        let Some(state) = self.arrived.remove(&loc) else { return };
        let State { guard, bits, way } = self.merge(state);
        let callee = self.regions.starts(loc).expect("control leaves for the start of a region");
        let inputs = self.regions.all[callee as usize].inputs.iter().map(|&bit| bits[bit as usize]).collect();
        let number = self.site(callee, None, way, inputs, guard);
        let site = &self.out.sites[number as usize];
        let guard = self.out.aig.and(guard, site.returns);
        self.ends.push(State { guard, bits: site.outputs.clone(), way: Way::Tail(number) });
    }

    fn site(&mut self, callee: u32, edge: Option<EdgeId>, way: Way, inputs: Vec<Lit>, guard: Lit) -> u32 {
        let aig = &mut self.out.aig;
        let proc = self.regions.all[callee as usize].proc;
        let number = self.out.sites.len() as u32;
        let returns = aig.input();
        let fails = if self.fails[callee as usize] { aig.input() } else { Lit::FALSE };
        let outputs: Vec<Lit> = self.regions.outputs[proc].iter().map(|_| aig.input()).collect();
        let does = [returns, fails].into_iter().filter(|lit| !lit.is_constant());
        self.out.roles.extend(does.map(|lit| (lit.node(), Role::Does(number))));
        let each = outputs.iter().zip(0..);
        self.out.roles.extend(each.map(|(lit, at)| (lit.node(), Role::Output(number, at))));
        let failed = aig.and(guard, fails);
        self.out.fails = aig.or(self.out.fails, failed);
        self.out.sites.push(Site { callee, edge, way, inputs, outputs, returns, fails, failed });
        number
    }

    /// One state for several, two by two.
    fn merge(&mut self, mut states: Vec<State>) -> State {
        while states.len() > 1 {
            let mut merged = Vec::with_capacity(states.len().div_ceil(2));
            let mut rest = states.into_iter();
            while let Some(one) = rest.next() {
                merged.push(match rest.next() {
                    Some(other) => self.either(one, other),
                    None => one,
                });
            }
            states = merged;
        }
        states.pop().expect("something has come")
    }

    /// One of two states, as a choice says, or as their guards say if they exclude each other.
    fn either(&mut self, one: State, other: State) -> State {
        let aig = &mut self.out.aig;
        if other.guard == Lit::FALSE {
            return one;
        }
        if one.guard == Lit::FALSE {
            return other;
        }
        let exclusive = aig.and(one.guard, other.guard) == Lit::FALSE;
        let select = if exclusive { one.guard } else { aig.input() };
        let guard = aig.ite(select, one.guard, other.guard);
        let mut bits = one.bits;
        for (bit, other) in bits.iter_mut().zip(other.bits) {
            *bit = aig.ite(select, *bit, other);
        }
        self.out.merges.push((select, one.way, other.way));
        self.out.roles.insert(select.node(), Role::Select);
        State { guard, bits, way: Way::Merge(self.out.merges.len() as u32 - 1) }
    }

    /// Control takes an edge.
    fn take(&mut self, id: EdgeId, mut state: State) {
        let edge = &self.regions.program.edges()[id];
        let before = state.way;
        match &edge.action {
            Action::Assume(condition) => {
                let holds = self.value(id, condition, &state.bits, &HashMap::default());
                state.guard = self.out.aig.and(state.guard, holds[0]);
            }
            Action::Assign { targets, values, constraint } => {
                let values: Vec<Vec<Lit>> = values
                    .iter()
                    .map(|value| self.value(id, value, &state.bits, &HashMap::default()))
                    .collect();
                let next: HashMap<VarId, Vec<Lit>> = targets.iter().copied().zip(values).collect();
                if let Some(constraint) = constraint {
                    let holds = self.value(id, constraint, &state.bits, &next);
                    state.guard = self.out.aig.and(state.guard, holds[0]);
                }
                next.iter().for_each(|(&var, value)| self.set(&mut state.bits, var, value));
            }
            Action::Havoc(vars) => {
                for &var in vars {
                    let value = self.choice(id, self.regions.program.vars()[var].ty);
                    self.set(&mut state.bits, var, &value);
                }
            }
            Action::Call { callee, args, results } => {
                let values: Vec<Vec<Lit>> =
                    args.iter().map(|arg| self.value(id, arg, &state.bits, &HashMap::default())).collect();
                self.call(id, *callee, &values, results, &mut state, before);
            }
            Action::Return(values) => {
                let first = self.regions.scopes.first_result(self.regions.program, self.proc);
                for (at, value) in values.iter().enumerate() {
                    let value = self.value(id, value, &state.bits, &HashMap::default());
                    let place = self.regions.layouts[self.proc].bits(first + at);
                    state.bits[place].copy_from_slice(&value);
                }
            }
        }
        if state.guard == Lit::FALSE {
            return;
        }
        self.forget(edge.to, &mut state.bits);
        self.arrived.entry(edge.to).or_default().push(State { way: Way::Edge(id), ..state });
    }

    fn call(
        &mut self,
        edge: EdgeId,
        callee: ProcId,
        args: &[Vec<Lit>],
        results: &[Option<VarId>],
        state: &mut State,
        way: Way,
    ) {
        let (regions, own) = (self.regions, self.proc);
        let region = regions.entry(callee);
        let (there, here) = (&regions.layouts[callee], &regions.layouts[own]);
        let globals = regions.scopes.globals(callee).len();
        // Where the callee's globals are in the caller.
        let shared: Vec<usize> = regions.scopes.shared(own, callee).map(|(here, _)| here).collect();
        let inputs = regions.all[region as usize].inputs.iter().map(|&bit| match there.field(bit) {
            (field, nth) if field < globals => state.bits[here.bits(shared[field]).start + nth],
            (field, nth) => args[field - globals][nth],
        });
        let inputs = inputs.collect();
        let number = self.site(region, Some(edge), way, inputs, state.guard);
        self.out.calls.insert(edge, number);
        let site = &self.out.sites[number as usize];
        state.guard = self.out.aig.and(state.guard, site.returns);
        for var in regions.scopes.written(callee) {
            let field = regions.scopes.field(regions.program, own, *var).expect("callers touch it too");
            state.bits[here.bits(field)].fill(Lit::FALSE);
        }
        let first = regions.scopes.first_result(regions.program, callee);
        let received: Vec<Option<usize>> = results
            .iter()
            .map(|result| {
                result.map(|var| regions.scopes.field(regions.program, own, var).expect("it is written here"))
            })
            .collect();
        // A global that a result overwrites does not come from the callee's global: results come last.
        for (&bit, &value) in regions.outputs[callee].iter().zip(&site.outputs) {
            let (field, nth) = there.field(bit);
            let place = if field < globals { Some(shared[field]) } else { received[field - first] };
            if let Some(place) = place {
                state.bits[here.bits(place).start + nth] = value;
            }
        }
    }

    /// Values that do not matter at a location are forgotten.
    fn forget(&self, loc: LocId, bits: &mut [Lit]) {
        let layout = &self.regions.layouts[self.proc];
        let live = self.regions.live.at(self.regions.program, loc);
        for field in (0..layout.types.len()).filter(|&field| !bits::contains(live, field)) {
            bits[layout.bits(field)].fill(Lit::FALSE);
        }
    }

    fn place(&self, var: VarId) -> std::ops::Range<usize> {
        let field = self.regions.scopes.field(self.regions.program, self.proc, var);
        self.regions.layouts[self.proc].bits(field.expect("a procedure touches what its edges mention"))
    }

    fn set(&self, bits: &mut [Lit], var: VarId, value: &[Lit]) {
        bits[self.place(var)].copy_from_slice(value);
    }

    fn choice(&mut self, edge: EdgeId, ty: Type) -> Vec<Lit> {
        let bits: Vec<Lit> = (0..width(ty)).map(|_| self.out.aig.input()).collect();
        self.out.choices.entry(edge).or_default().push((ty, bits.clone()));
        bits
    }

    /// The bits of an expression.
    fn value(
        &mut self,
        edge: EdgeId,
        expr: &Expr,
        bits: &[Lit],
        next: &HashMap<VarId, Vec<Lit>>,
    ) -> Vec<Lit> {
        let mut stack: Vec<(Type, Vec<Lit>)> = Vec::new();
        for &op in expr.code.iter() {
            let value = match op {
                Op::Const(ty, value) => (ty, constant::<Aig>(ty, value.get())),
                Op::Var(var) => (self.regions.program.vars()[var].ty, bits[self.place(var)].to_vec()),
                Op::Next(var) => {
                    let kept = || bits[self.place(var)].to_vec();
                    (self.regions.program.vars()[var].ty, next.get(&var).cloned().unwrap_or_else(kept))
                }
                Op::Choice(ty) => (ty, self.choice(edge, ty)),
                op => {
                    let operands = stack.split_off(stack.len() - op.arity());
                    let Ok(value): Result<_, Infallible> = apply(&mut self.out.aig, op, &operands);
                    value
                }
            };
            stack.push(value);
        }
        stack.pop().expect("an expression is not empty").1
    }

    fn finish(mut self) -> Execution {
        let ends = std::mem::take(&mut self.ends);
        if !ends.is_empty() {
            let end = self.merge(ends);
            (self.out.returns, self.out.outputs, self.out.end) = (end.guard, end.bits, end.way);
        }
        self.out
    }
}

/// What a path passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passed {
    /// An edge.
    Edge(EdgeId),
    /// A call in tail position.
    Tail(u32),
}

impl Execution {
    /// The path that values choose, from the start of the region to where this way leads.
    pub fn path(&self, program: &Program, mut way: Way, values: &Values) -> Vec<Passed> {
        let mut path = Vec::new();
        loop {
            way = match way {
                Way::Start => break,
                Way::Edge(edge) => {
                    path.push(Passed::Edge(edge));
                    self.ways[&program.edges()[edge].from]
                }
                Way::Tail(site) => {
                    path.push(Passed::Tail(site));
                    self.sites[site as usize].way
                }
                Way::Merge(at) => {
                    let (select, one, other) = self.merges[at as usize];
                    if values.get(select) { one } else { other }
                }
            };
        }
        path.reverse();
        path
    }

    /// The call that a path passes here.
    pub fn site(&self, passed: Passed) -> Option<u32> {
        match passed {
            Passed::Edge(edge) => self.calls.get(&edge).copied(),
            Passed::Tail(site) => Some(site),
        }
    }

    /// How control gets to a location.
    pub fn way(&self, loc: LocId) -> Way {
        self.ways[&loc]
    }

    /// The outcomes of an edge's choices.
    pub fn choices(&self, edge: EdgeId, values: &Values) -> Vec<Option<Value>> {
        let choices = self.choices.get(&edge).into_iter().flatten();
        choices.map(|(ty, bits)| Some(number(*ty, bits.iter().map(|&bit| values.get(bit))))).collect()
    }
}

/// The number of these bits.
pub fn number(ty: Type, bits: impl Iterator<Item = bool>) -> Value {
    let plain: i128 = bits.enumerate().map(|(at, bit)| i128::from(bit) << at).sum();
    ty.wrap(plain).expect("bounded types only")
}
