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
//! \[sat-summaries\] section 3: path merging; for single edges see [`super::step`]. # Departures: where paths meet, a choice selects one, instead of
//! a disjunction of equations; paths are merged at every location.
//!
//! # Cost
//!
//! Each edge costs the bits that are in scope, and the operators of its expressions; merging costs a multiplexer for each live
//! bit on which the paths differ.

use super::pdr::NODES;
use super::regions::Regions;
use super::step::{Choices, Step, either, merge};
use postbop_ir::{Action, EdgeId, LocId, ProcId, Program, Type, Value};
use postbop_kit::aig::{Aig, Lit, Values};
use rustc_hash::FxHashMap as HashMap;

/// So many bits are copied from location to location before it is asked whether there is time for more.
const MANY: usize = 1 << 16;

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
    choices: HashMap<EdgeId, Choices>,
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

/// Executes a region. `fails` says which regions can fail at all. `goes_on` is told of the work at each location; none if it says no.
pub fn execute(
    regions: &Regions,
    region: u32,
    is_target: &dyn Fn(LocId) -> bool,
    fails: &[bool],
    goes_on: &dyn Fn(u64) -> bool,
) -> Option<Execution> {
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
    executor.run(&own.locs, start, is_target, goes_on).then(|| executor.finish())
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
    /// Executes the edges of these locations; whether there was time for all.
    fn run(
        &mut self,
        locs: &[LocId],
        start: State,
        is_target: &dyn Fn(LocId) -> bool,
        goes_on: &dyn Fn(u64) -> bool,
    ) -> bool {
        let (mut nodes, mut copied) = (self.out.aig.len(), 0);
        let entry = self.regions.program.procs()[self.proc].entry;
        self.arrived.insert(*locs.first().unwrap_or(&entry), vec![start]);
        for &loc in locs {
            let Some(state) = self.arrive(loc, is_target) else { continue };
            let mut state = Some(state);
            let leaving = self.regions.program.leaving(loc);
            for (nth, &edge) in leaving.iter().enumerate() {
                copied += self.regions.layouts[self.proc].len();
                if copied > MANY {
                    let work = (self.out.aig.len() - nodes) as u64 / NODES + (copied / MANY) as u64;
                    (nodes, copied) = (self.out.aig.len(), 0);
                    if !goes_on(work) {
                        return false;
                    }
                }
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
        goes_on((self.out.aig.len() - nodes) as u64 / NODES)
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

    /// One state for several.
    fn merge(&mut self, states: Vec<State>) -> State {
        merge(states, |one, other| self.either(one, other))
    }

    fn either(&mut self, mut one: State, other: State) -> State {
        if other.guard == Lit::FALSE {
            return one;
        }
        if one.guard == Lit::FALSE {
            return other;
        }
        let (select, guard) =
            either(&mut self.out.aig, (one.guard, &mut one.bits), (other.guard, &other.bits));
        self.out.merges.push((select, one.way, other.way));
        self.out.roles.insert(select.node(), Role::Select);
        State { guard, bits: one.bits, way: Way::Merge(self.out.merges.len() as u32 - 1) }
    }

    /// Executes an edge of the region.
    fn step(&mut self, edge: EdgeId) -> Step<'_, '_> {
        let choices = self.out.choices.entry(edge).or_default();
        Step { regions: self.regions, proc: self.proc, aig: &mut self.out.aig, choices }
    }

    /// Control takes an edge.
    fn take(&mut self, id: EdgeId, mut state: State) {
        let edge = &self.regions.program.edges()[id];
        match &edge.action {
            Action::Call { callee, args, results } => {
                let inputs = self.step(id).inputs(*callee, args, &state.bits);
                let number = self.site(self.regions.entry(*callee), Some(id), state.way, inputs, state.guard);
                self.out.calls.insert(id, number);
                let site = &self.out.sites[number as usize];
                state.guard = self.out.aig.and(state.guard, site.returns);
                let outputs = site.outputs.clone();
                self.step(id).receive(*callee, results, &outputs, &mut state.bits);
            }
            action => self.step(id).take(action, &mut state.guard, &mut state.bits),
        }
        if state.guard == Lit::FALSE {
            return;
        }
        self.step(id).forget(edge.to, &mut state.bits);
        self.arrived.entry(edge.to).or_default().push(State { way: Way::Edge(id), ..state });
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
        self.choices.get(&edge).map(|choices| outcomes(choices, values)).unwrap_or_default()
    }
}

/// The outcomes of choices.
pub fn outcomes(choices: &Choices, values: &Values) -> Vec<Option<Value>> {
    let outcome = |(ty, bits): &(Type, Vec<Lit>)| number(*ty, bits.iter().map(|&bit| values.get(bit)));
    choices.iter().map(|choice| Some(outcome(choice))).collect()
}

/// The number of these bits.
pub fn number(ty: Type, bits: impl Iterator<Item = bool>) -> Value {
    let plain: i128 = bits.enumerate().map(|(at, bit)| i128::from(bit) << at).sum();
    ty.wrap(plain).expect("bounded types only")
}
