//! Room `validate`: the conditions under which sets are closed, one after the other. Why these are the right ones is said in [`crate`].

use crate::Flaw;
use crate::execute::{Executor, Meaning, OutOfScope, Run, Source, in_scope};
use crate::gates::{Bits, Lit};
use crate::solver::{GoesOn, Solver, Together};
use postbop_ir::proof::{Place, Proof, Ref};
use postbop_ir::{Action, EdgeId, Id, LocId, Op, ProcId, Program, Type, Value, VarId};
use std::cell::Cell;

/// From one location, so many runs are followed.
const MOST_RUNS: usize = 10_000;

/// Gates are forgotten between two locations when there are so many.
const MANY: usize = 1 << 13;

/// How many nodes are looked at between two questions whether the work may go on, and how much work one is.
const PATIENCE: u64 = 1 << 10;
const NODE: u64 = 4;

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
    solver: Solver<'g>,
    goes_on: GoesOn<'g>,
    ticks: Cell<u64>,
}

/// A location on a run, and how far its edges were followed.
struct Stage {
    loc: LocId,
    next: usize,
    run: Run,
    edge: Option<EdgeId>,
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
        if has_integers(program) {
            return Err("the program has unbounded integers".into());
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
        Ok(Checker { program, proof, sets, executor, solver, goes_on, ticks: Cell::new(0) })
    }

    /// Whether the sets are closed.
    pub fn closed(&mut self) -> Result<(), Stop> {
        self.begins()?;
        for loc in self.program.locs().ids() {
            if matches!(self.sets[loc.index()], None | Some(Ref::FALSE)) || self.program.is_exit(loc) {
                continue;
            }
            if self.executor.gates.len() > MANY {
                self.executor.reset();
                self.solver.reset();
            }
            self.follow(loc)?;
        }
        Ok(())
    }

    /// The set at the entry of `main` has every pair of a valuation with itself.
    fn begins(&mut self) -> Result<(), Stop> {
        let main = self.program.main();
        let entry = self.program.procs()[main].entry;
        let inside = self.set(self.sets[entry.index()].unwrap_or(Ref::TRUE), main, &Meaning::Begun)?;
        self.refute(&[!inside], entry, &[], entry)
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
        let results: Vec<Bits> = types.iter().map(|ty| self.any(*ty)).collect();
        let member = self.set(set, proc, &Meaning::Here(&Run::default(), &results))?;
        self.refute(&[member], loc, &[], loc)
    }

    fn any(&mut self, ty: Type) -> Bits {
        (0..ty.bits().unwrap_or(0)).map(|_| self.executor.gates.input()).collect()
    }

    /// Follows all runs from a location to the next ones with sets.
    fn follow(&mut self, start: LocId) -> Result<(), Stop> {
        let proc = self.program.locs()[start].proc;
        let mut run = Run::default();
        if self.program.leaving(start).iter().all(|&edge| self.is_trivial(edge)) {
            return Ok(());
        }
        let set = self.sets[start.index()].expect("runs start at sets");
        let member = self.set(set, proc, &Meaning::Here(&run, &[]))?;
        run.conditions.push(member);
        let mut stages = vec![Stage { loc: start, next: 0, run, edge: None }];
        let mut runs = 0;
        while let Some(stage) = stages.last_mut() {
            let Some(&id) = self.program.leaving(stage.loc).get(stage.next) else {
                stages.pop();
                continue;
            };
            stage.next += 1;
            if self.is_trivial(id) {
                continue;
            }
            let mut run = stage.run.clone();
            let mut edges: Vec<EdgeId> = stages.iter().filter_map(|stage| stage.edge).collect();
            edges.push(id);
            let results = self.take(id, &mut run, start, &edges)?;
            if run.conditions.contains(&Lit::FALSE) {
                continue;
            }
            let to = self.program.edges()[id].to;
            if let Some(set) = self.sets[to.index()] {
                let inside = self.set(set, proc, &Meaning::Here(&run, &results))?;
                run.conditions.push(!inside);
                self.refute(&run.conditions, start, &edges, to)?;
                continue;
            }
            runs += 1;
            if runs > MOST_RUNS {
                return Err(Stop::Unknown(format!(
                    "more than {MOST_RUNS} runs from {start} to the next sets"
                )));
            }
            if stages.iter().any(|stage| stage.loc == to) {
                return Err(Stop::Unknown(format!("there is a loop through {to}, and no set on it")));
            }
            stages.push(Stage { loc: to, next: 0, run, edge: Some(id) });
        }
        Ok(())
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
    fn take(&mut self, id: EdgeId, run: &mut Run, start: LocId, edges: &[EdgeId]) -> Result<Vec<Bits>, Stop> {
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
        self.refute(&conditions, start, edges, data.entry)?;
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

    /// Shows that these cannot be true together; if they can, the run that they describe leads out of a set.
    fn refute(&mut self, all: &[Lit], from: LocId, edges: &[EdgeId], to: LocId) -> Result<(), Stop> {
        if self.executor.gates.and(all.to_vec()) == Lit::FALSE {
            return Ok(());
        }
        match self.solver.together(&self.executor.gates, all) {
            Together::Impossible => Ok(()),
            Together::Stopped => Err(called_off()),
            Together::Possible => {
                let proc = self.program.locs()[from].proc;
                let entry = self.values(proc, Place::Entry);
                let now = self.values(proc, Place::Now);
                Err(Stop::Flaw(Box::new(Flaw { from, edges: edges.to_vec(), to, entry, now })))
            }
        }
    }

    /// The values of variables where a run starts, in what the solver found.
    fn values(&self, proc: ProcId, place: fn(VarId) -> Place) -> Vec<(VarId, Value)> {
        let value = |var: VarId| {
            let bits = self.executor.known(Source::Start(place(var)))?;
            let number =
                bits.iter().enumerate().map(|(at, &bit)| i128::from(self.solver.value(bit)) << at).sum();
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

/// Whether a program computes with unbounded integers.
fn has_integers(program: &Program) -> bool {
    let in_code = |op: &Op| matches!(op, Op::Const(Type::Integer, _) | Op::Choice(Type::Integer));
    let code = program.edges().iter().flat_map(|edge| edge.action.exprs()).flat_map(|expr| expr.code.iter());
    let results = program.procs().iter().flat_map(|proc| proc.results.iter());
    program.vars().iter().map(|var| &var.ty).chain(results).any(|ty| *ty == Type::Integer)
        || code.into_iter().any(in_code)
}
