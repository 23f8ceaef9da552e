//! Room `engine/sat`: runs, by unfolding calls into one formula.
//!
//! # Idea
//!
//! A fact fixes values: it says what a callee does from some inputs. Where a run has to meet conditions on many variables in many
//! procedures, facts that were found one after the other seldom fit together. So beside the goals there is one formula for whole runs. It
//! begins as the functions of the region in which the program starts. A call is *open* at first, which means that it is
//! not made; it is *unfolded* when the functions of its region are copied into the formula, its inputs being what the call hands over.
//!
//! * If the formula can hold with no open call made, its model is a run, and every call in it becomes a fact.
//! * If it cannot, the solver's core has open calls without which no run fails. One of them is *released*: it may do whatever
//!   lemmas do not exclude. When released calls are enough for a path, those on the path are unfolded.
//! * If it cannot hold and no open call is to blame, no run fails.
//!
//! A call near the start is released before a deeper one, so no loop or recursion is followed for ever. Work is shared out between
//! goals and unfolding ([`super::pdr`]).
//!
//! # Paper
//!
//! \[corral\], stratified inlining. # Departures: calls are released one by one, along cores, instead of all at once; lemmas that goals have found
//! take the place of summaries.
//!
//! # Cost
//!
//! The size of the unfolded calls, for each question. A formula that becomes too large is not unfolded further.

use super::execute::{Execution, Site};
use super::knowledge::{ALL, Cube, Kind, Relation};
use super::pdr::{NODES, Search};
use super::prover::{at_site, does};
use crate::verdict::Why;
use postbop_ir::LocId;
use postbop_kit::aig::{Aig, Images, Lit, Values};
use postbop_kit::sat::{Answer, Cnf, Interrupt, Literal, Solver};
use rustc_hash::FxHashMap as HashMap;
use std::cell::Cell;
use std::rc::Rc;

/// So many nodes a formula has at most.
const MOST_NODES: usize = 1 << 24;

/// So many nodes are propagated with the work of one step of a solver.
const PROPAGATED: usize = 16;

/// A question may take so much work, or a share of all that was done.
const LEAST_RATION: u64 = 1 << 14;

/// Some calls as one formula.
pub struct Unfolding<'i> {
    aig: Aig,
    solver: Solver<'i>,
    cnf: Cnf,
    /// The calls that were unfolded, callers first; the start of the program is the first.
    unfolded: Vec<Unfolded>,
    open: Vec<Open>,
    ration: Rc<Cell<u64>>,
    /// How much work was done for it.
    pub work: u64,
}

/// A call that was unfolded.
struct Unfolded {
    region: u32,
    execution: Rc<Execution>,
    /// What stands for the functions of the region.
    images: Images,
    depth: u32,
    /// For each of its sites the call that was unfolded there.
    callees: HashMap<u32, u32>,
}

/// A call that was not unfolded.
struct Open {
    caller: u32,
    site: u32,
    /// That it returns, and that it fails.
    does: Vec<Literal>,
    released: bool,
}

impl<'i> Unfolding<'i> {
    /// The start of the program.
    fn new(search: &mut Search<'i, '_>, main: u32) -> Result<Self, Why> {
        let ration = Rc::new(Cell::new(0u64));
        let (left, meter) = (Rc::clone(&ration), search.meter);
        let interrupt: Interrupt<'i> = Rc::new(move |work| {
            left.set(left.get().saturating_sub(work));
            left.get() > 0 && meter.goes_on(work)
        });
        let mut unfolding = Unfolding {
            aig: Aig::default(),
            solver: Solver::for_hard_questions(interrupt),
            cnf: Cnf::default(),
            unfolded: Vec::new(),
            open: Vec::new(),
            ration,
            work: 0,
        };
        let execution = search.execution(main)?;
        let inputs: Vec<Lit> = execution.inputs.iter().map(|_| unfolding.aig.input()).collect();
        unfolding.add(search, main, execution, &inputs, 0);
        Ok(unfolding)
    }

    /// How many calls were unfolded.
    pub fn len(&self) -> usize {
        self.unfolded.len() - 1
    }

    fn literal(&mut self, lit: Lit) -> Literal {
        self.cnf.literal(&self.aig, &mut self.solver, lit)
    }

    /// Copies the functions of a region that is called with these inputs.
    fn add(
        &mut self,
        search: &Search<'i, '_>,
        region: u32,
        execution: Rc<Execution>,
        inputs: &[Lit],
        depth: u32,
    ) -> u32 {
        let mut images: Images =
            execution.inputs.iter().zip(inputs).map(|(own, &input)| (own.node(), input)).collect();
        let ignored = execution.targets.iter().filter(|target| search.is_ignored(target.loc));
        ignored.for_each(|target| images.insert(target.counts.node(), Lit::FALSE));
        let nodes: Vec<usize> = (1..execution.aig.len()).collect();
        self.aig.import(&execution.aig, &nodes, &mut images);
        search.meter.spend(nodes.len() as u64 / NODES);
        let number = self.unfolded.len() as u32;
        for (at, site) in execution.sites.iter().enumerate() {
            let lits = [site.returns, site.fails].into_iter().filter(|lit| !lit.is_constant());
            let lits: Vec<Lit> = lits.map(|lit| images.of(lit)).collect();
            let does = lits.into_iter().map(|lit| self.literal(lit)).collect();
            self.open.push(Open { caller: number, site: at as u32, does, released: false });
        }
        self.unfolded.push(Unfolded { region, execution, images, depth, callees: HashMap::default() });
        number
    }

    /// Unfolds an open call.
    fn unfold(&mut self, search: &mut Search<'i, '_>, at: usize) -> Result<(), Why> {
        let Open { caller: outer, site: number, .. } = self.open[at];
        let caller = &self.unfolded[outer as usize];
        let (execution, depth) = (Rc::clone(&caller.execution), caller.depth + 1);
        let site = &execution.sites[number as usize];
        let inner = search.execution(site.callee)?;
        self.open.swap_remove(at);
        let inputs: Vec<Lit> = site.inputs.iter().map(|&lit| caller.images.of(lit)).collect();
        let outputs: Vec<Lit> = site.outputs.iter().map(|&lit| caller.images.of(lit)).collect();
        let [returns, fails] = [site.returns, site.fails].map(|lit| caller.images.of(lit));
        let added = self.add(search, site.callee, Rc::clone(&inner), &inputs, depth);
        self.unfolded[outer as usize].callees.insert(number, added);
        let of = |unfolding: &Self, lit: Lit| unfolding.unfolded[added as usize].images.of(lit);
        let (returned, failed) = (of(self, inner.returns), of(self, inner.fails));
        let (returns, fails) = (self.literal(returns), self.literal(fails));
        let (returned, failed) = (self.literal(returned), self.literal(failed));
        self.solver.clause([!returns, returned]);
        self.solver.clause([!fails, failed]);
        for (&outer, &inner) in outputs.iter().zip(&inner.outputs) {
            let inner = of(self, inner);
            let (outer, inner) = (self.literal(outer), self.literal(inner));
            self.solver.clause([!returns, !outer, inner]);
            self.solver.clause([!returns, outer, !inner]);
        }
        Ok(())
    }

    /// A target counts no longer.
    pub fn ignore(&mut self, target: LocId) {
        let counts: Vec<Lit> = self
            .unfolded
            .iter()
            .flat_map(|own| own.execution.targets.iter().map(|there| (there, &own.images)))
            .filter(|(there, _)| there.loc == target)
            .map(|(there, images)| images.of(there.counts))
            .collect();
        for lit in counts {
            let literal = self.literal(lit);
            self.solver.clause([!literal]);
        }
    }

    /// Asks whether a run fails without the open calls that are not released.
    fn ask(&mut self, search: &Search<'i, '_>) -> Answer {
        // What a solver propagates is not counted as work; here it is the most of it.
        search.meter.spend((self.aig.len() / PROPAGATED + self.open.len()) as u64);
        let first = &self.unfolded[0];
        let fails = first.images.of(first.execution.fails);
        let mut assumed = vec![self.literal(fails)];
        let held = self.open.iter().filter(|open| !open.released);
        assumed.extend(held.flat_map(|open| &open.does).map(|&does| !does));
        self.ration.set(LEAST_RATION.max(search.meter.work() / 4));
        self.solver.solve(assumed)
    }

    /// The open call to release, after the answer no.
    fn blamed(&self) -> Option<usize> {
        let in_core =
            |open: &Open| !open.released && open.does.iter().any(|&does| self.solver.in_core(!does));
        let depth = |&at: &usize| self.unfolded[self.open[at].caller as usize].depth;
        (0..self.open.len()).filter(|&at| in_core(&self.open[at])).min_by_key(depth)
    }

    /// The values of all functions in the model that was found.
    fn model(&self) -> Values {
        let value = |at: usize| self.cnf.known(Lit::positive(at)).map(|literal| self.solver.value(literal));
        self.aig.evaluate(|at| value(at).unwrap_or(false))
    }

    /// The values of an unfolded call's own functions.
    fn values(&self, call: u32, model: &Values) -> Values {
        let own = &self.unfolded[call as usize];
        own.execution.aig.evaluate(|at| model.get(own.images.of(Lit::positive(at))))
    }

    /// Excludes what a lemma excludes at an open call; whether the model had it.
    fn exclude_by_lemma(
        &mut self,
        search: &Search<'i, '_>,
        call: (u32, u32),
        kind: Kind,
        model: &Values,
    ) -> bool {
        let own = &self.unfolded[call.0 as usize];
        let site: &Site = &own.execution.sites[call.1 as usize];
        let lits = |cube: &Cube| -> Vec<Lit> {
            let does = [does(site, kind)].into_iter();
            does.chain(cube.iter().map(|&bit| at_site(site, bit))).map(|lit| own.images.of(lit)).collect()
        };
        let lemmas = &search.known[Relation::new(site.callee, kind).index()].lemmas;
        let all = lemmas.iter().filter(|lemma| lemma.level == ALL).map(|lemma| lits(&lemma.cube));
        let Some(excluded) = all.into_iter().find(|lits| lits.iter().all(|&lit| model.get(lit))) else {
            return false;
        };
        let clause: Vec<Literal> = excluded.into_iter().map(|lit| !self.literal(lit)).collect();
        self.solver.clause(clause);
        true
    }
}

impl<'i> Search<'i, '_> {
    /// Goes one step further with runs of the whole program that fail; whether it is known now if there is one.
    pub fn unfold(&mut self, main: u32) -> Result<bool, Why> {
        let before = self.meter.work();
        let mut unfolding = match self.unfolding.take() {
            Some(unfolding) => unfolding,
            None => Box::new(Unfolding::new(self, main)?),
        };
        let done = self.step(&mut unfolding, main);
        unfolding.work = match unfolding.aig.len() < MOST_NODES {
            true => unfolding.work + (self.meter.work() - before).max(1),
            false => u64::MAX,
        };
        self.unfolding = Some(unfolding);
        done
    }

    fn step(&mut self, unfolding: &mut Unfolding<'i>, main: u32) -> Result<bool, Why> {
        match unfolding.ask(self) {
            Answer::Stopped if unfolding.ration.get() == 0 => Ok(false),
            Answer::Stopped => Err(self.meter.why()),
            Answer::Unsat => {
                let blamed = unfolding.blamed();
                match blamed {
                    Some(at) => unfolding.open[at].released = true,
                    None => {
                        self.shown = Some(self.meter.work());
                        if !self.lemmas_wanted {
                            self.known[Relation::new(main, Kind::Fail).index()].learn(Cube::new(), ALL);
                        }
                    }
                }
                Ok(blamed.is_none())
            }
            Answer::Sat => self.follow_calls(unfolding),
        }
    }

    /// The path of a model through all calls: a run, or open calls to unfold; whether it is a run.
    fn follow_calls(&mut self, unfolding: &mut Unfolding<'i>) -> Result<bool, Why> {
        let model = unfolding.model();
        // Each call on the path, callers first, with what it does.
        let mut calls: Vec<(u32, Kind)> = vec![(0, Kind::Fail)];
        let mut open: Vec<((u32, u32), Kind)> = Vec::new();
        let mut next = 0;
        while let Some(&(call, kind)) = calls.get(next) {
            next += 1;
            let own = &unfolding.unfolded[call as usize];
            let values = unfolding.values(call, &model);
            for (site, kind) in self.passage(&own.execution, kind, &values).calls {
                match own.callees.get(&site) {
                    Some(&inner) => calls.push((inner, kind)),
                    None => open.push(((call, site), kind)),
                }
            }
        }
        if open.is_empty() {
            self.note_run(unfolding, &model, &calls);
            return Ok(true);
        }
        let mut excluded = false;
        for &(call, kind) in &open {
            excluded |= unfolding.exclude_by_lemma(self, call, kind, &model);
        }
        if excluded {
            return Ok(false);
        }
        for (call, _) in open {
            let is_it = |open: &Open| (open.caller, open.site) == call;
            if let Some(at) = unfolding.open.iter().position(is_it) {
                unfolding.unfold(self, at)?;
            }
        }
        unfolding.open.iter_mut().for_each(|open| open.released = false);
        Ok(false)
    }

    /// Makes facts of all calls of a run.
    fn note_run(&mut self, unfolding: &Unfolding<'i>, model: &Values, calls: &[(u32, Kind)]) {
        let mut facts: HashMap<u32, u32> = HashMap::default();
        for &(call, kind) in calls.iter().rev() {
            let own = &unfolding.unfolded[call as usize];
            let values = unfolding.values(call, model);
            let passage = self.passage(&own.execution, kind, &values);
            let explained =
                passage.calls.iter().map(|(site, _)| (*site, facts[&own.callees[site]])).collect();
            let relation = Relation::new(own.region, kind);
            let fact = self.fact(&own.execution, relation, &values, &passage, &explained);
            facts.insert(call, self.note(relation, fact));
        }
    }
}
