//! Room `validate`: the conditions under which sets are closed, one after the other. Why these are the right ones is said in [`crate`].

use crate::Flaw;
use crate::affine::Unknown;
use crate::diagrams::Diagrams;
use crate::execute::{Executor, Meaning, OutOfScope, Run, Source, in_scope};
use crate::gates::Lit;
use crate::numbers::Verdict;
use crate::solver::{GoesOn, Solver, Together};
use crate::symbolic::Symbolic;
use postbop_ir::proof::{Place, Proof, Ref};
use postbop_ir::{Action, EdgeId, Id, LocId, ProcId, Program, Value, VarId};
use std::cell::Cell;
use std::collections::HashMap;

/// Gates are forgotten between two locations when there are so many, and so many times as many as the proof has nodes.
const MANY: usize = 1 << 13;
const TIMES: usize = 4;

/// How many nodes are looked at between two questions whether the work may go on, and how much work one is.
const PATIENCE: u64 = 1 << 10;
const NODE: u64 = 4;
/// How much work a linear constraint is, each time that an unknown is eliminated.
const ROW: u64 = 16;
/// How many steps diagrams and the solver have at first, if the solver is favoured and if diagrams are; and how many times as many each time after.
const SOLVER_FIRST: (usize, u64) = (1 << 10, 1 << 10);
const DIAGRAMS_FIRST: (usize, u64) = (1 << 16, 1 << 8);
const GROWTH: usize = 4;
/// If there are more gates, it takes the solver long to hear of them; diagrams are asked all that they may be asked first.
const LARGE: usize = 1 << 14;

/// Why a check ends before its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The proof is wrong.
    Flaw(Box<Flaw>),
    /// It cannot be told.
    Unknown(String),
}

/// Checks one proof.
pub struct Checker<'a, 'g> {
    program: &'a Program,
    proof: &'a Proof,
    /// For each location its set; none where runs go on.
    sets: Vec<Option<Ref>>,
    executor: Executor<'a>,
    diagrams: Diagrams<'g>,
    solver: Solver<'g>,
    /// Whether the solver answered the last question.
    solves: bool,
    goes_on: GoesOn<'g>,
    ticks: Cell<u64>,
}

/// The runs from one location with a set to the next ones.
struct Runs {
    start: LocId,
    /// What has come to the locations without sets on the way.
    arrived: HashMap<LocId, Arrived>,
}

/// All runs to a location, as one.
struct Arrived {
    run: Run,
    /// The edges by which they come, each with an input that is false if the run comes by this edge and none of the later ones does.
    by: Vec<(EdgeId, Lit)>,
}

impl Runs {
    /// The edges of the run that a solver found, the last of which is this one.
    fn edges(&self, program: &Program, last: EdgeId, solver: &Solver) -> Vec<EdgeId> {
        let mut edges = vec![last];
        let mut at = program.edges()[last].from;
        while at != self.start {
            let by = &self.arrived[&at].by;
            let taken = by.iter().rev().find(|(_, others)| !solver.value(*others)).unwrap_or(&by[0]);
            edges.push(taken.0);
            at = program.edges()[taken.0].from;
        }
        edges.reverse();
        edges
    }
}

impl<'a, 'g> Checker<'a, 'g> {
    /// A checker of a proof, for these targets. `Err` says why it is not for this checker.
    pub fn new(
        program: &'a Program,
        proof: &'a Proof,
        targets: &[LocId],
        goes_on: GoesOn<'g>,
    ) -> Result<Self, String> {
        if !program.is_sequential() {
            return Err("the program has several threads".into());
        }
        if let Some(flaw) = proof.flaw(program) {
            return Err(flaw);
        }
        let mut sets: Vec<Option<Ref>> = proof.sets.iter().copied().collect();
        for &target in targets {
            sets[target.index()].get_or_insert(Ref::FALSE);
        }
        for proc in program.procs().iter() {
            sets[proc.entry.index()].get_or_insert(Ref::TRUE);
            sets[proc.exit.index()].get_or_insert(Ref::TRUE);
        }
        let (executor, solver) = (Executor::new(program, proof), Solver::new(goes_on));
        let diagrams = Diagrams::new(goes_on);
        Ok(Checker {
            program,
            proof,
            sets,
            executor,
            diagrams,
            solver,
            solves: false,
            goes_on,
            ticks: Cell::new(0),
        })
    }

    /// The locations from which runs must be followed.
    pub fn starts(&self) -> Vec<LocId> {
        let is_start = |&loc: &LocId| {
            !matches!(self.sets[loc.index()], None | Some(Ref::FALSE)) && !self.program.is_exit(loc)
        };
        self.program.locs().ids().filter(is_start).collect()
    }

    /// The set at the entry of `main` has every pair of a valuation with itself.
    pub fn begins(&mut self) -> Result<(), Stop> {
        let main = self.program.main();
        let entry = self.program.procs()[main].entry;
        let inside = self.set(self.sets[entry.index()].unwrap_or(Ref::TRUE), main, &Meaning::Begun)?;
        self.refute(&[!inside], None, entry)
    }

    /// Whether the set at a location is empty.
    pub fn excludes(&mut self, loc: LocId) -> Result<(), Stop> {
        let set = self.sets[loc.index()].unwrap_or(Ref::TRUE);
        if set == Ref::FALSE {
            return Ok(());
        }
        let proc = self.program.locs()[loc].proc;
        // At the exit results are arbitrary too.
        let types = &self.program.procs()[proc].results;
        let results: Vec<Symbolic> = types.iter().map(|ty| self.executor.any(*ty, |_| 0)).collect();
        let run = Run::default();
        let meaning = match self.program.is_exit(loc) {
            true => Meaning::Returned(&run, &results),
            false => Meaning::Here(&run),
        };
        let member = self.set(set, proc, &meaning)?;
        self.refute(&[member], None, loc)
    }

    /// Follows all runs from a location to the next ones with sets.
    pub fn follow(&mut self, start: LocId) -> Result<(), Stop> {
        let proc = self.program.locs()[start].proc;
        let mut run = Run::default();
        if self.program.leaving(start).iter().all(|&edge| self.is_trivial(edge)) {
            return Ok(());
        }
        if self.executor.gates.len() > MANY.max(TIMES * self.proof.nodes().len()) {
            self.executor.reset();
            self.diagrams = Diagrams::new(self.goes_on);
            self.solver.reset();
        }
        self.executor.begin();
        let set = self.sets[start.index()].expect("runs start at sets");
        run.conditions.push(self.set(set, proc, &Meaning::Here(&run))?);
        let mut runs = Runs { start, arrived: HashMap::new() };
        for loc in self.between(start)? {
            let here = match loc == start {
                true => run.clone(),
                false => match runs.arrived.get(&loc) {
                    Some(arrived) => arrived.run.clone(),
                    None => continue,
                },
            };
            for &edge in self.program.leaving(loc) {
                if !self.is_trivial(edge) {
                    self.along(edge, here.clone(), &mut runs)?;
                }
            }
        }
        Ok(())
    }

    /// Takes an edge at the end of a run: to a set, in which the run must end, or to a location where runs meet.
    fn along(&mut self, id: EdgeId, mut run: Run, runs: &mut Runs) -> Result<(), Stop> {
        let to = self.program.edges()[id].to;
        let proc = self.program.locs()[to].proc;
        let results = self.take(id, &mut run, runs)?;
        if run.conditions.contains(&Lit::FALSE) {
            return Ok(());
        }
        if let Some(set) = self.sets[to.index()] {
            let inside = match self.program.is_exit(to) {
                true => {
                    self.executor.end(proc, &mut run, &results);
                    self.set(set, proc, &Meaning::Returned(&run, &results))?
                }
                false => self.set(set, proc, &Meaning::Here(&run))?,
            };
            run.conditions.push(!inside);
            return self.refute(&run.conditions, Some((runs, id)), to);
        }
        let arrived = match runs.arrived.remove(&to) {
            None => Arrived { run, by: vec![(id, Lit::FALSE)] },
            Some(Arrived { run: others, mut by }) => {
                let (run, first) = self.executor.either(proc, others, run);
                by.push((id, first));
                Arrived { run, by }
            }
        };
        runs.arrived.insert(to, arrived);
        Ok(())
    }

    /// The start, and the locations without sets to which runs from there come before they come to a set; each before those to which it leads.
    fn between(&self, start: LocId) -> Result<Vec<LocId>, Stop> {
        let mut order = Vec::new();
        // Whether a location was left for the last time.
        let mut left: HashMap<LocId, bool> = HashMap::from([(start, false)]);
        let mut stack = vec![(start, 0)];
        while let Some((loc, next)) = stack.last_mut() {
            let Some(&edge) = self.program.leaving(*loc).get(*next) else {
                left.insert(*loc, true);
                order.push(*loc);
                stack.pop();
                continue;
            };
            *next += 1;
            let to = self.program.edges()[edge].to;
            if self.sets[to.index()].is_some() {
                continue;
            }
            match left.get(&to) {
                Some(true) => {}
                Some(false) => {
                    return Err(Stop::Unknown(format!("there is a loop through {to}, and no set on it")));
                }
                None => {
                    left.insert(to, false);
                    stack.push((to, 0));
                }
            }
        }
        order.reverse();
        Ok(order)
    }

    /// Whether an edge leads to a set that has everything, and calls nothing else.
    fn is_trivial(&self, id: EdgeId) -> bool {
        let edge = &self.program.edges()[id];
        let whole = |loc: LocId| self.sets[loc.index()] == Some(Ref::TRUE);
        whole(edge.to)
            && match edge.action {
                Action::Call { callee, .. } => whole(self.program.procs()[callee].entry),
                _ => true,
            }
    }

    /// Takes an edge at the end of a run; a call must be let in, and its exit is passed. Returns the results, if it is a return.
    fn take(&mut self, id: EdgeId, run: &mut Run, runs: &Runs) -> Result<Vec<Symbolic>, Stop> {
        self.tick_or_stop()?;
        let Action::Call { callee, .. } = self.program.edges()[id].action else {
            return Ok(self.executor.step(id, run));
        };
        let call = self.executor.call(id, run);
        let data = &self.program.procs()[callee];
        let set = |loc: LocId| self.sets[loc.index()].unwrap_or(Ref::TRUE);
        let (at_entry, at_exit) = (set(data.entry), set(data.exit));
        let inside = self.set(at_entry, callee, &Meaning::Entering(run, &call))?;
        let mut conditions = run.conditions.clone();
        conditions.push(!inside);
        self.refute(&conditions, Some((runs, id)), data.entry)?;
        let leaves = self.set(at_exit, callee, &Meaning::Leaving(run, &call))?;
        run.conditions.push(leaves);
        self.executor.come_back(&call, run);
        Ok(Vec::new())
    }

    /// A set as a function.
    fn set(&mut self, set: Ref, proc: ProcId, meaning: &Meaning) -> Result<Lit, Stop> {
        let (ticks, goes_on) = (&self.ticks, self.goes_on);
        let mut tick = || goes_on_after(ticks, goes_on);
        match self.executor.set(self.proof, set, proc, meaning, &mut tick) {
            Ok(Some(lit)) => Ok(lit),
            Ok(None) => Err(called_off()),
            Err(OutOfScope(place)) => {
                let name = &self.program.procs()[proc].name;
                Err(Stop::Unknown(format!("a set of {name} speaks of {place:?}, which is not there")))
            }
        }
    }

    fn tick_or_stop(&self) -> Result<(), Stop> {
        if goes_on_after(&self.ticks, self.goes_on) { Ok(()) } else { Err(called_off()) }
    }

    /// Shows that these cannot be true together. If they can, they describe a run that leads out of a set: one of several runs, with its last edge. Or, if
    /// there is no run, the set itself is wrong.
    fn refute(&mut self, all: &[Lit], run: Option<(&Runs, EdgeId)>, to: LocId) -> Result<(), Stop> {
        if self.executor.gates.and(all.to_vec()) == Lit::FALSE {
            return Ok(());
        }
        if self.executor.numbers.is_refused() {
            return Err(Stop::Unknown(
                "the program multiplies two unbounded integers, or a number does not fit 128 bits".into(),
            ));
        }
        let mut question = self.executor.question(all);
        let values = loop {
            match self.together(&question.all)? {
                Together::Impossible => return Ok(()),
                Together::Unknown | Together::Stopped => return Err(called_off()),
                Together::Possible => {}
            }
            let Executor { gates, numbers, .. } = &mut self.executor;
            let mut goes_on = |rows: u64| (self.goes_on)(ROW * rows);
            match numbers.judge(gates, &mut question, &|lit| self.solver.value(lit), &mut goes_on) {
                Verdict::Values(values) => break values,
                Verdict::Impossible => {}
                Verdict::Unknown => {
                    return Err(Stop::Unknown("linear constraints on integers take too much work".into()));
                }
            }
        };
        let from = run.map_or(to, |(runs, _)| runs.start);
        let edges = run.map(|(runs, last)| runs.edges(self.program, last, &self.solver)).unwrap_or_default();
        let proc = self.program.locs()[from].proc;
        let [entry, now] = [Place::Entry, Place::Now].map(|place| self.values(proc, place, &values));
        Err(Stop::Flaw(Box::new(Flaw { from, edges, to, entry, now })))
    }

    /// Asks diagrams and the solver in turns, each with more steps than the time before: what is hard for the one is often easy for the other. Who
    /// answered a question is favoured at the next one. In the end the solver is left alone with it.
    fn together(&mut self, all: &[Lit]) -> Result<Together, Stop> {
        let gates = &self.executor.gates;
        let (mut steps, mut choices) = if self.solves { SOLVER_FIRST } else { DIAGRAMS_FIRST };
        loop {
            let last = steps >= Diagrams::most(gates);
            match self.diagrams.exclude(gates, all, steps) {
                Some(true) => {
                    self.solves = false;
                    return Ok(Together::Impossible);
                }
                Some(false) => {}
                None => return Err(called_off()),
            }
            let found = match last {
                true => self.solver.together(gates, all, u64::MAX),
                false if gates.len() > LARGE => Together::Unknown,
                false => self.solver.together(gates, all, choices),
            };
            match found {
                Together::Unknown => (steps, choices) = (GROWTH * steps, GROWTH as u64 * choices),
                found => {
                    self.solves = true;
                    return Ok(found);
                }
            }
        }
    }

    /// The values of variables where a run starts, in what the solver found, and where the integers that are not known have these values.
    fn values(
        &self,
        proc: ProcId,
        place: fn(VarId) -> Place,
        unknowns: &HashMap<Unknown, i128>,
    ) -> Vec<(VarId, Value)> {
        let value = |var: VarId| {
            let number = match self.executor.known(Source::Start(place(var)))? {
                Symbolic::Bits(bits) => {
                    bits.iter().enumerate().map(|(at, &bit)| i128::from(self.solver.value(bit)) << at).sum()
                }
                Symbolic::Number(number) => {
                    number.value(|unknown| unknowns.get(&unknown).copied().unwrap_or(0))?
                }
            };
            Some((var, self.program.vars()[var].ty.wrap(number)?))
        };
        in_scope(self.program, proc).filter_map(value).collect()
    }
}

fn called_off() -> Stop {
    Stop::Unknown("the work was called off".into())
}

/// Counts a piece of work, and asks now and then whether to go on.
fn goes_on_after(ticks: &Cell<u64>, goes_on: GoesOn) -> bool {
    ticks.set(ticks.get() + 1);
    !ticks.get().is_multiple_of(PATIENCE) || goes_on(PATIENCE * NODE)
}
