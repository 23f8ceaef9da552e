//! Room `engine/sat`: facts, gathered from callees to callers.
//!
//! # Idea
//!
//! A goal asks a callee for a run from inputs that its caller happens to have. Where each procedure makes many calls, and conditions on
//! noise decide which, hardly any path has runs for all its calls, and looking for them one goal after the other takes
//! for ever. But a procedure that is hard to run from *these* inputs may be easy to run from others. So some runs of every region
//! are gathered beforehand, whatever they will be good for, callees first: a region is asked for a run on which
//! every call is one of the facts that were gathered, and on which few calls are made. Each new fact of a region starts from inputs, or
//! ends with values, that no earlier one has. Callers have a choice between them, and the solver makes it for all calls of a path at once.
//!
//! The start of the program comes last in a round. If it can fail with the facts that there are, that is a run. Otherwise there are
//! more facts of each region in the next round. Not all runs are found in this way: of two facts that differ in copied values alone there is one. When
//! there are no others, it is time to see whether the facts are a proof ([`super::closing`]).
//!
//! Gathered facts are for this purpose alone: goals do not see them, since a goal has to tell itself apart from each fact that is known.
//!
//! # Paper
//!
//! \[smash\] for facts as *must* summaries; there they follow what is asked for, as our goals do.
//!
//! # Cost
//!
//! A few questions about one region at a time for each fact. The number of facts of a region doubles from round to round.

use super::closing::Closing;
use super::execute::Site;
use super::knowledge::{ALL, Cube, Fact, Kind, Relation};
use super::pdr::{Goal, NODES, Search};
use super::prover::{KINDS, Prover, Question};
use crate::verdict::Why;
use postbop_ir::LocId;
use postbop_kit::sat::{Answer, Literal};
use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

/// So many facts of a relation are gathered in the first round.
const FIRST: usize = 2;

/// With so many facts of a relation, and after so much work, it is time to see which others are needed.
const ENOUGH: usize = 8;
pub(super) const LATE: u64 = 5 << 19;

/// What is assumed when a relation is looked at.
struct Look {
    /// Always: that calls are like facts, and that the run is not.
    fixed: Vec<Literal>,
    /// That facts of callees have their bits, if it is to be known which of these are needed.
    bits: Vec<Literal>,
    /// That calls are not made.
    shut: Vec<Literal>,
    /// That the run is new.
    new: Literal,
}

/// Facts that were gathered.
pub struct Gathering {
    /// The regions, callees first as far as that is possible.
    order: Vec<u32>,
    /// Which regions these are.
    reached: Vec<bool>,
    next: usize,
    /// So many facts a relation has when this round is over, unless there are no more.
    most: usize,
    /// For each relation its facts.
    facts: Vec<Vec<u32>>,
    /// For each relation how many facts its callees had when it turned out to have no other runs.
    exhausted: Vec<Option<usize>>,
    /// Whether a relation could have more facts in this round.
    asked: bool,
    /// What is needed to see that there are no other runs, once that is tried.
    pub closing: Option<Closing>,
    /// Whether there are none.
    pub over: bool,
    /// How much work was done for it.
    pub work: u64,
}

impl Gathering {
    fn new(order: Vec<u32>, relations: usize) -> Self {
        let (facts, exhausted) = (vec![Vec::new(); relations], vec![None; relations]);
        let mut reached = vec![false; relations / KINDS.len()];
        order.iter().for_each(|&region| reached[region as usize] = true);
        Gathering {
            order,
            reached,
            next: 0,
            most: FIRST,
            facts,
            exhausted,
            asked: false,
            closing: None,
            over: false,
            work: 0,
        }
    }

    /// How many facts there are.
    pub fn len(&self) -> usize {
        self.facts.iter().map(Vec::len).sum()
    }

    /// Begins another round; not if there are no other runs.
    fn is_next_round(&mut self, work: u64) -> bool {
        self.next = 0;
        let asked = std::mem::take(&mut self.asked);
        if self.closing.is_none() && (!asked || self.most >= ENOUGH && work > LATE) {
            self.closing = Some(Closing::new(self.facts.len()));
            self.exhausted.fill(None);
        } else {
            self.over = !asked;
            self.most = self.most.saturating_mul(2);
        }
        !self.over
    }

    /// A target counts no longer: neither do runs that reach it.
    pub fn ignore(&mut self, target: LocId, facts: &[Fact]) {
        for own in &mut self.facts {
            own.retain(|&fact| facts[fact as usize].target != Some(target));
        }
        *self = Gathering {
            facts: std::mem::take(&mut self.facts),
            work: self.work,
            ..Gathering::new(std::mem::take(&mut self.order), self.exhausted.len())
        };
    }

    /// The facts of a relation; none if its region is not one that the program gets to.
    pub fn of(&self, relation: Relation) -> Option<&[u32]> {
        self.reached[relation.region() as usize].then(|| &self.facts[relation.index()][..])
    }

    /// A bit of the facts of a relation counts: it is asked again.
    pub(super) fn count(&mut self, relation: Relation, bit: usize) {
        if self.closing.as_mut().is_some_and(|closing| closing.count(relation, bit)) {
            self.exhausted[relation.index()] = None;
        }
    }

    /// How many facts there are of what a region calls.
    fn of_callees(&self, successors: &[u32]) -> usize {
        let both = |&to: &u32| KINDS.map(|kind| self.facts[Relation::new(to, kind).index()].len());
        successors.iter().flat_map(both).sum()
    }
}

impl<'i> Search<'i, '_> {
    /// Gathers facts of one more region; whether it is known now if the program fails.
    pub fn gather(&mut self, main: u32) -> Result<bool, Why> {
        let before = self.meter.work();
        let mut gathering = match self.gathering.take() {
            Some(gathering) => gathering,
            None => Box::new(Gathering::new(callees_first(&self.successors, main), self.known.len())),
        };
        let done = self.gather_next(&mut gathering, main);
        gathering.work += (self.meter.work() - before).max(1);
        self.gathering = Some(gathering);
        done
    }

    /// The next region for which there is something to do.
    fn gather_next(&mut self, gathering: &mut Gathering, main: u32) -> Result<bool, Why> {
        let failure = Relation::new(main, Kind::Fail);
        loop {
            let Some(&region) = gathering.order.get(gathering.next) else {
                if gathering.is_next_round(self.meter.work()) {
                    continue;
                }
                self.known[failure.index()].learn(Cube::new(), ALL);
                return Ok(true);
            };
            gathering.next += 1;
            let callees = gathering.of_callees(&self.successors[region as usize]);
            let relations = KINDS.map(|kind| Relation::new(region, kind)).into_iter();
            let matters =
                |relation: &Relation| relation.kind() == Kind::Return || self.fails[region as usize];
            let open = |relation: &Relation| gathering.exhausted[relation.index()] != Some(callees);
            let open: Vec<Relation> = relations.filter(matters).filter(open).collect();
            gathering.asked |= !open.is_empty();
            let most = gathering.most;
            let wanted = |relation: &Relation| gathering.facts[relation.index()].len() < most;
            let wanted: Vec<Relation> = open.into_iter().filter(wanted).collect();
            if wanted.is_empty() {
                continue;
            }
            let mut prover = self.build_for_facts(region, gathering.closing.is_some())?;
            for relation in wanted {
                let look = self.look(&mut prover, gathering, relation);
                gathering.exhausted[relation.index()] = Some(callees);
                if !self.gather_of(&mut prover, gathering, relation, &look)? {
                    gathering.exhausted[relation.index()] = None;
                }
            }
            let run = gathering.facts[failure.index()].first();
            self.known[failure.index()].facts.extend(run);
            return Ok(run.is_some());
        }
    }

    fn build_for_facts(&mut self, region: u32, loose: bool) -> Result<Prover<'i>, Why> {
        let execution = self.execution(region)?;
        self.meter.spend(execution.aig.len() as u64 / NODES);
        let interrupt = Rc::clone(&self.interrupt);
        Ok(match loose {
            true => Prover::with_loose_facts(execution, interrupt),
            false => Prover::new(execution, [u32::MAX; 2], interrupt),
        })
    }

    /// Holds a region to the facts of its callees, and asks for what no fact of its own is like.
    fn look(&self, prover: &mut Prover<'i>, gathering: &Gathering, relation: Relation) -> Look {
        let list = |relation: Relation| &gathering.facts[relation.index()][..];
        if gathering.closing.is_some() {
            let bits = |site: &Site| {
                let facts = KINDS.map(|kind| list(Relation::new(site.callee, kind)).len());
                facts.iter().sum::<usize>() * (site.inputs.len() + site.outputs.len())
            };
            let bits: usize = prover.execution.sites.iter().map(bits).sum();
            self.meter.spend(bits as u64 / NODES);
        }
        let goal = Goal { relation, cube: Cube::new(), level: ALL };
        let mut fixed = self.limits(prover, &goal);
        fixed.extend(prover.hold(list, &self.facts));
        let (shut, never) = prover.shut_all(|relation| !list(relation).is_empty());
        fixed.extend(never);
        let new = prover.fresh();
        fixed.push(new);
        for &fact in list(relation) {
            gathering.exclude(prover, &self.facts[fact as usize], relation, new);
        }
        let bits = prover.bits().map(|(_, _, literal)| literal).collect();
        Look { fixed, bits, shut, new }
    }

    /// Gathers facts of a relation until it has so many; whether there are no more.
    fn gather_of(
        &mut self,
        prover: &mut Prover<'i>,
        gathering: &mut Gathering,
        relation: Relation,
        look: &Look,
    ) -> Result<bool, Why> {
        let kind = relation.kind();
        let fixed = [&look.fixed[..], &look.bits].concat();
        while gathering.facts[relation.index()].len() < gathering.most {
            let is_open = match gathering.closing {
                Some(_) => self.is_open(prover, gathering, relation, &look.fixed)?,
                None => true,
            };
            if !is_open || !self.ask_for_run(prover, kind, &fixed, look.shut.clone())? {
                return Ok(true);
            }
            let fact = self.gathered(prover, gathering, relation);
            gathering.exclude(prover, &fact, relation, look.new);
            gathering.facts[relation.index()].push(self.facts.len() as u32);
            self.facts.push(fact);
        }
        Ok(false)
    }

    /// Asks for a run that makes few calls: those that the solver blames are allowed, one core after the other.
    pub(super) fn ask_for_run(
        &self,
        prover: &mut Prover<'i>,
        kind: Kind,
        fixed: &[Literal],
        mut shut: Vec<Literal>,
    ) -> Result<bool, Why> {
        loop {
            self.meter.spend(prover.execution.aig.len() as u64 / NODES);
            let also = [fixed, &shut].concat();
            match prover.ask(&Question { kind, cube: &[], level: ALL, also: &also }) {
                Answer::Stopped => return Err(self.meter.why()),
                Answer::Sat => return Ok(true),
                Answer::Unsat => {
                    let before = shut.len();
                    shut.retain(|&literal| !prover.in_core(literal));
                    if shut.len() == before {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// The run of the model that was found.
    fn gathered(&self, prover: &Prover<'i>, gathering: &Gathering, relation: Relation) -> Fact {
        let (execution, values) = (&prover.execution, prover.model());
        let passage = self.passage(execution, relation.kind(), &values);
        let explained: HashMap<u32, u32> = passage
            .calls
            .iter()
            .map(|&(site, kind)| {
                let callee = execution.sites[site as usize].callee;
                let facts = &gathering.facts[Relation::new(callee, kind).index()];
                let fact = self.explain(execution, &values, site, facts);
                (site, fact.expect("calls are held to facts"))
            })
            .collect();
        self.fact(execution, relation, &values, &passage, &explained)
    }
}

/// All regions that one calls, and those that these call, callees before callers where they do not call each other.
fn callees_first(successors: &[Vec<u32>], main: u32) -> Vec<u32> {
    let mut seen = vec![false; successors.len()];
    let mut order = Vec::new();
    let mut path = vec![(main, 0)];
    seen[main as usize] = true;
    while let Some((region, next)) = path.last_mut() {
        match successors[*region as usize].get(*next) {
            Some(&to) => {
                *next += 1;
                if !std::mem::replace(&mut seen[to as usize], true) {
                    path.push((to, 0));
                }
            }
            None => {
                order.push(*region);
                path.pop();
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::super::regions::Regions;
    use super::super::trace::trace;
    use super::*;
    use crate::budget::{Budget, Meter};
    use postbop_ir::{Ask, replay};

    /// Whether gathering alone finds a run that violates a property; it is replayed. If it finds none, the facts are a proof, which is checked.
    fn finds_a_run(source: &[u8]) -> bool {
        let reading = postbop_front::read(source, Default::default());
        let program = reading.program.expect("a program");
        let queries = postbop_front::properties(&program, &reading.text);
        let targets: Vec<LocId> = queries.iter().flat_map(|query| query.locs()).copied().collect();
        let (budget, regions) = (Budget::unlimited(), Regions::new(&program));
        let meter = Meter::new(&budget, &|_| {});
        let mut search = Search::new(&regions, targets.iter().copied().collect(), &meter);
        let main = regions.entry(program.main());
        while !search.gather(main).expect("there is no limit") {}
        if search.gathering.as_ref().is_some_and(|gathering| gathering.over) {
            let proof = search.proof().expect("the facts are closed");
            let answer = postbop_validate::validate(&program, &proof, &targets, &|_| true, 1);
            assert!(matches!(answer, postbop_validate::Answer::Valid), "{answer:?}");
            return false;
        }
        let run = search.known[Relation::new(main, Kind::Fail).index()].facts[0];
        let mut trace = trace(&regions, &search.facts, run);
        replay::complete(&program, &mut trace, &Ask::Reach(targets), &mut || true).expect("it is a run");
        true
    }

    #[test]
    fn runs_are_put_together_from_facts() {
        assert!(finds_a_run(include_bytes!("../../../../examples/locks.bp")));
        assert!(!finds_a_run(include_bytes!("../../../../examples/locks-fixed.bp")));
        // Main needs a run of f that none of the first ones is: f returns what it is given, or one less after a call of itself.
        let countdown = b"
            decl uint<3> n;
            void main() begin n := 7; f(); assert(n != 2); end
            void f() begin if (*) then n := n - 1; f(); fi end";
        assert!(finds_a_run(countdown));
    }

    #[test]
    fn facts_are_a_proof() {
        // Whatever f is given, it calls itself.
        assert!(!finds_a_run(b"decl x; void main() begin f(); assert(0); end void f() begin if (x) then x := 0; f(); else f(); fi end"));
        // Only of a it matters what comes of it, and that depends on a alone.
        let flips = b"
            decl a, b, noise;
            void main() begin a := b; flip(); flip(); assert(a = b); end
            void flip() begin a := !a; if (*) then noise := !noise; fi end";
        assert!(!finds_a_run(flips));
        // f returns after as many flips of a as of b, but never with both true where it got something else; g, which goes on while they are not, never returns.
        let apart = b"
            decl a, b, c;
            void main() begin a := 0; b := 1; c := 0; f(); g(); assert(0); end
            void f() begin if (*) then a := !a; b := !b; f(); c := !c; fi end
            void g() begin f(); if (a & b) then skip; else g(); fi end";
        assert!(!finds_a_run(apart));
        assert!(finds_a_run(
            &apart.iter().map(|&byte| if byte == b'&' { b'|' } else { byte }).collect::<Vec<_>>()
        ));
    }
}
