//! Room `engine/fixpoint`: an algorithm of the library on a task.

use super::history::{COPIES, Point, Recorded};
use super::library::Algorithm;
use super::template::{PC, TARGET, Template};
use crate::budget::{Budget, Course, Stopwatch, TURN, clock};
use crate::encode::machine::code::Machine;
use crate::encode::machine::retrace::Retracer;
use crate::encode::prepared::Prepared;
use crate::engine::{Finding, Listener};
use crate::evidence::is_wanted;
use crate::pulse::Pulse;
use crate::verdict::{Stats, Why};
use postbop_front::fix::{Formulas, read};
use postbop_ir::{Action, Task, Trace};
use postbop_kit::bdd::{Assignment, Bdd, Interrupted, Ref};
use postbop_kit::calculus::{DomainId, RelationId, Solver, Stop};
use rustc_hash::FxHashMap as HashMap;

/// A solver of formulas about a program.
pub(super) type ProgramSolver<'s, 'w, 'm, 'a> = Solver<'s, 'w, Template<'m, 'a>>;

/// Answers a task by an algorithm of the library.
pub fn check(
    algorithm: Algorithm,
    task: &Task,
    prepared: &Prepared,
    budget: &Budget,
    listener: &mut dyn Listener,
) -> Stats {
    let mut stopwatch = Stopwatch::start();
    let machine = prepared.machine();
    let targets = task.queries.iter().flat_map(|query| query.locs().iter().copied()).collect();
    let template = Template::new(machine, targets);
    let (_, formulas) = read(algorithm.text.as_bytes(), template.signature());
    let formulas = formulas.unwrap_or_else(|flaws| panic!("{}.fix: {flaws:?}", algorithm.name));
    let pulse = Pulse::new(listener);
    let beat = |work| pulse.beat(work);
    let bdd = Bdd::new(keep_to(budget, &beat));
    let watched = formulas.paths.iter().chain(&formulas.entries).copied().collect();
    let mut solver = Solver::new(&formulas.system, bdd, template, watched);
    solver.clock = clock;
    solver.reserve(COPIES);
    let query = solver.prepare(&[formulas.queries[0].1])[0];
    solver.supply.bottom = solver.depth();
    stopwatch.lap("prepare_us");
    let mut search = Search { task, budget, beat: &beat, machine, formulas: &formulas, solver, query };
    search.settle(&mut &pulse);
    stopwatch.lap("search_us");
    let mut stats = tallies(&mut search.solver, &formulas);
    stats.extend(stopwatch.laps());
    stats
}

/// A callback that interrupts the work of diagrams when the budget is used up, and tells of the work until then.
pub(super) fn keep_to<'w>(
    budget: &'w Budget,
    beat: &'w dyn Fn(Course),
) -> impl FnMut(usize) -> bool + use<'w> {
    let mut work = 0;
    move |bytes| {
        work += TURN;
        beat(Course { work, ..Course::default() });
        budget.allows(bytes as u64).is_ok()
    }
}

/// What the solver counted, equation by equation.
pub(super) fn tallies(solver: &mut ProgramSolver, formulas: &Formulas) -> Stats {
    solver.measure();
    let mut stats = Stats::from([("vertices", solver.bdd.peak() as u64)]);
    for (relation, tally) in formulas.system.relations.iter().zip(&solver.tallies) {
        if relation.equation.is_some() {
            let name = &relation.name;
            stats.add(format!("{name}.evaluations"), tally.evaluations);
            stats.add(format!("{name}.rounds"), tally.rounds);
            stats.add(format!("{name}.vertices"), tally.vertices);
            stats.add(format!("{name}.us"), tally.time.as_micros() as u64);
        }
    }
    stats
}

/// An algorithm at work.
pub(super) struct Search<'s, 'w, 'm, 'a, 't> {
    pub(super) task: &'t Task<'t>,
    pub(super) budget: &'w Budget,
    beat: &'w dyn Fn(Course),
    pub(super) machine: &'m Machine<'a>,
    pub(super) formulas: &'s Formulas,
    pub(super) solver: ProgramSolver<'s, 'w, 'm, 'a>,
    query: usize,
}

impl<'s, 'w, 'm, 'a, 't> Search<'s, 'w, 'm, 'a, 't> {
    /// The algorithm ends at the first target, so it runs again for those not reached until none is.
    fn settle(&mut self, listener: &mut dyn Listener) {
        let mut missing: Vec<usize> = (0..self.task.queries.len()).collect();
        let mut first = true;
        while !missing.is_empty() {
            if !first && self.task.first {
                let why = Why::First;
                return missing.iter().for_each(|&at| listener.settle(at, Finding::Unknown(why.clone())));
            }
            first = false;
            let locs = missing.iter().flat_map(|&at| self.task.queries[at].locs().iter().copied());
            self.solver.supply.targets = locs.collect();
            self.solver.replace(TARGET);
            let found = self.solver.decide(self.query).map_err(|stop| self.why(stop));
            let found = match found {
                Ok(true) => self.hits(&missing),
                Ok(false) => {
                    if is_wanted(self.task.proofs, self.task.program, self.solver.bdd.len())
                        && let Ok(proof) = self.proof()
                    {
                        listener.proof(proof);
                    }
                    Ok(missing.iter().map(|&at| (at, Finding::Holds { guarded: None })).collect())
                }
                Err(why) => Err(why),
            };
            let found = found.unwrap_or_else(|why| {
                missing.iter().map(|&at| (at, Finding::Unknown(why.clone()))).collect()
            });
            // Both are in the order of the queries.
            missing.retain(|at| found.binary_search_by_key(at, |(other, _)| *other).is_err());
            found.into_iter().for_each(|(at, finding)| listener.settle(at, finding));
        }
    }

    pub(super) fn why(&self, stop: Stop) -> Why {
        match stop {
            Stop::Interrupted => self.budget.allows(0).err().unwrap_or(Why::Memory(self.budget.memory())),
            Stop::Unstable { relation, .. } => Why::EngineBug(format!(
                "the equation for {} does not settle",
                self.formulas.system.relations[relation.0 as usize].name
            )),
        }
    }

    /// The targets that were reached, with traces.
    fn hits(&mut self, missing: &[usize]) -> Result<Vec<(usize, Finding)>, Why> {
        let budget = self.budget;
        self.solver.bdd.set_interrupt(move |_| budget.check_writing().is_ok());
        let mut hits = self.trace_all(missing).map_err(|_| self.why(Stop::Interrupted))?;
        self.solver.bdd.set_interrupt(keep_to(budget, self.beat));
        if hits.is_empty() {
            let bug = Why::EngineBug("a target is reached, but by no pair that was found".into());
            hits.push((missing[0], Finding::Unknown(bug)));
        }
        Ok(hits)
    }

    fn trace_all(&mut self, missing: &[usize]) -> Result<Vec<(usize, Finding)>, Interrupted> {
        let (task, machine, budget) = (self.task, self.machine, self.budget);
        let mut recall = self.recall()?;
        let mut reached: Vec<(usize, Point)> = Vec::new();
        for &at in missing {
            for &loc in task.queries[at].locs() {
                if let Some(point) = recall.reached(loc)? {
                    reached.push((at, point));
                    break;
                }
            }
        }
        let mut retracer = Retracer::new(machine, &mut recall, budget);
        let mut trace = |point: Point| -> Result<Trace, Why> {
            let open = machine.layout(machine.program.locs()[point.0].proc).open.clone();
            retracer.trace(point, open)
        };
        let verdict = |(at, point)| (at, trace(point).map_or_else(Finding::Unknown, Finding::Reached));
        Ok(reached.into_iter().map(verdict).collect())
    }

    /// The history of what was solved.
    fn recall(&mut self) -> Result<Recorded<'_, 'm, 'a, 'w>, Interrupted> {
        let domains = [PC, DomainId(1), DomainId(2)];
        let states: Vec<Vec<Vec<u32>>> = (0..COPIES)
            .map(|copy| domains.iter().map(|&domain| self.solver.levels(domain, copy)).collect())
            .collect();
        let all = self.solver.everything(self.formulas.paths[0])?;
        let paths = self.growth(&self.formulas.paths, Some(all))?;
        let entries = self.growth(&self.formulas.entries, None)?;
        let (mut leading, mut calling): (HashMap<_, Vec<_>>, HashMap<_, Vec<_>>) = Default::default();
        for (id, edge) in self.task.program.edges().pairs() {
            leading.entry(edge.to).or_default().push(id);
            if let Action::Call { callee, .. } = edge.action {
                calling.entry(callee).or_default().push(id);
            }
        }
        Ok(Recorded {
            bdd: &mut self.solver.bdd,
            template: &self.solver.supply,
            states,
            paths,
            entries,
            leading,
            calling,
            moved: HashMap::default(),
            steps: HashMap::default(),
            budget: self.budget,
            assignment: Assignment::default(),
        })
    }

    /// The union of some relations at each time. An algorithm that ends early by making a relation hold of
    /// everything found nothing by that.
    pub(super) fn growth(
        &mut self,
        relations: &[RelationId],
        all: Option<Ref>,
    ) -> Result<Vec<Ref>, Interrupted> {
        let mut sums = Vec::new();
        let mut sum = Ref::FALSE;
        for entry in &self.solver.journal {
            if relations.contains(&entry.relation) && Some(entry.value) != all {
                let next = self.solver.bdd.or(sum, entry.value)?;
                if next != sum {
                    sums.push(next);
                }
                sum = next;
            }
        }
        Ok(sums)
    }
}
