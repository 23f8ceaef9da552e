//! Room `engine/sat`: questions about one region, put to a solver.
//!
//! # Idea
//!
//! The functions of a region stand in a solver of its own. At each site the callee's outputs are restricted by its lemmas, as
//! clauses; a lemma that is known up to a level only counts while the literal of that level is assumed. So the solver
//! answers whether the region can do something *as far as is known of its callees*: no is final, yes is a suspicion.
//! A site can also be held to the facts of its callee, while a literal for that is assumed: then yes is final.

use super::conjecture::Guesses;
use super::execute::{Execution, Site};
use super::knowledge::{ALL, Bit, Fact, Kind, Known, Relation};
use postbop_kit::aig::{Lit, Values};
use postbop_kit::sat::{Answer, Cnf, Interrupt, Literal, Solver};
use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

/// How far a site knows of one relation of its callee.
#[derive(Default, Clone)]
struct Seen {
    lemmas: usize,
    facts: usize,
    /// Holds the site to facts, if assumed; and that there are other facts than those that it knows.
    held: Option<(Literal, Literal)>,
    /// The literals of the facts.
    facts_here: Vec<(u32, Literal)>,
}

/// A region and its solver.
pub struct Prover<'i> {
    /// The region as functions.
    pub execution: Rc<Execution>,
    solver: Solver<'i>,
    cnf: Cnf,
    seen: Vec<[Seen; 2]>,
    /// The literals of levels, by component.
    levels: HashMap<(u32, u32), Literal>,
    /// The component of each relation of the region.
    components: [u32; 2],
    /// The guesses that were supposed last, the literals under which sites exclude them, and under which the region has one of its own, or a
    /// certain one.
    guesses: u64,
    guessed: HashMap<(Relation, Option<usize>), Literal>,
    own_guesses: Vec<(Relation, Literal)>,
}

/// A question to a prover.
pub struct Question<'q> {
    /// Whether the region returns or fails ...
    pub kind: Kind,
    /// ... with this in common with its interface, ...
    pub cube: &'q [Bit],
    /// ... with at most so many open calls in the component.
    pub level: u32,
    /// Literals to be assumed besides.
    pub also: &'q [Literal],
}

/// The kinds, in the order of their numbers.
pub const KINDS: [Kind; 2] = [Kind::Return, Kind::Fail];

impl<'i> Prover<'i> {
    /// A prover for a region, whose relations are in these components.
    pub fn new(execution: Rc<Execution>, components: [u32; 2], interrupt: Interrupt<'i>) -> Self {
        let seen = vec![Default::default(); execution.sites.len()];
        Prover {
            execution,
            solver: Solver::new(interrupt),
            cnf: Cnf::default(),
            seen,
            levels: HashMap::default(),
            components,
            guesses: 0,
            guessed: HashMap::default(),
            own_guesses: Vec::new(),
        }
    }

    /// The literal of the solver for a function.
    pub fn literal(&mut self, lit: Lit) -> Literal {
        self.cnf.literal(&self.execution.aig, &mut self.solver, lit)
    }

    /// How often the solver was asked.
    pub fn calls(&self) -> u64 {
        self.solver.calls
    }

    /// A bit of the region's own interface, as a function.
    fn own(&self, bit: Bit) -> Lit {
        let inputs = &self.execution.inputs;
        let lit = match bit.number().checked_sub(inputs.len()) {
            None => inputs[bit.number()],
            Some(output) => self.execution.outputs[output],
        };
        if bit.value() { lit } else { !lit }
    }

    /// A clause that says of a site, if it does this and the literals are assumed, that it has not all these bits.
    fn exclude(&mut self, site: usize, kind: Kind, cube: &[Bit], assumed: Option<Literal>) {
        let site = &self.execution.sites[site];
        let lits: Vec<Lit> = cube.iter().map(|&bit| at_site(site, bit)).collect();
        let does = does(site, kind);
        let mut clause: Vec<Literal> = lits.into_iter().map(|lit| !self.literal(lit)).collect();
        clause.push(!self.literal(does));
        clause.extend(assumed.map(|literal| !literal));
        self.solver.clause(clause);
    }

    fn level(&mut self, component: u32, level: u32) -> Literal {
        *self.levels.entry((component, level)).or_insert_with(|| self.solver.fresh())
    }

    /// Learns what has become known of callees. `component` tells that of a relation.
    pub fn update(&mut self, known: &[Known], component: impl Fn(Relation) -> u32) {
        for site in 0..self.seen.len() {
            let Site { callee, fails, .. } = self.execution.sites[site];
            for (nth, kind) in KINDS.into_iter().enumerate() {
                let relation = Relation::new(callee, kind);
                if kind == Kind::Fail && fails == Lit::FALSE {
                    continue;
                }
                let own = component(relation);
                let news = &known[relation.index()];
                for &(lemma, level) in &news.log[self.seen[site][nth].lemmas..] {
                    let assumed = match level {
                        ALL => None,
                        _ if self.components.contains(&own) => Some(self.level(own, level)),
                        _ => continue,
                    };
                    self.exclude(site, kind, &news.lemmas[lemma as usize].cube, assumed);
                }
                self.seen[site][nth].lemmas = news.log.len();
            }
        }
    }

    /// Literals that hold the sites to the facts of their callees, where there are facts.
    pub fn hold<'k>(&mut self, known: impl Fn(Relation) -> &'k [u32], facts: &[Fact]) -> Vec<Literal> {
        let mut held = Vec::new();
        for site in 0..self.seen.len() {
            let callee = self.execution.sites[site].callee;
            for (nth, kind) in KINDS.into_iter().enumerate() {
                let all = known(Relation::new(callee, kind));
                if self.seen[site][nth].facts < all.len() {
                    self.extend(site, nth, &all[self.seen[site][nth].facts..], facts);
                    self.seen[site][nth].facts = all.len();
                }
                held.extend(self.seen[site][nth].held.filter(|_| !all.is_empty()).map(|(held, _)| held));
            }
        }
        held
    }

    /// Literals that say that sites have no facts beyond those that were told.
    fn complete(&self) -> impl Iterator<Item = Literal> + '_ {
        self.seen.iter().flatten().filter_map(|seen| seen.held).map(|(_, more)| !more)
    }

    /// Tells a site of more facts.
    fn extend(&mut self, site: usize, nth: usize, more: &[u32], facts: &[Fact]) {
        let does = does(&self.execution.sites[site], KINDS[nth]);
        let does = self.literal(does);
        let next = self.solver.fresh();
        let mut clause = match self.seen[site][nth].held {
            None => {
                let held = self.solver.fresh();
                self.seen[site][nth].held = Some((held, next));
                vec![!held, !does, next]
            }
            Some((held, before)) => {
                self.seen[site][nth].held = Some((held, next));
                vec![!before, next]
            }
        };
        for &number in more {
            let own = self.solver.fresh();
            let fact = &facts[number as usize];
            let here = &self.execution.sites[site];
            let inputs = fact.inputs.iter().map(|&bit| (at_site(here, bit), Lit::TRUE));
            let value = |own: Result<bool, usize>| own.map_or_else(|input| here.inputs[input], Lit::constant);
            let outputs = fact.each_output().zip(&here.outputs).map(|(own, &lit)| (lit, value(own)));
            for (one, other) in inputs.chain(outputs).collect::<Vec<_>>() {
                let (one, other) = (self.literal(one), self.literal(other));
                self.solver.clause([!own, !one, other]);
                self.solver.clause([!own, one, !other]);
            }
            self.seen[site][nth].facts_here.push((number, own));
            clause.push(own);
        }
        self.solver.clause(clause);
    }

    /// A fact is one no longer.
    pub fn retire(&mut self, fact: u32) {
        for seen in self.seen.iter().flatten() {
            for &(_, own) in seen.facts_here.iter().filter(|(number, _)| *number == fact) {
                self.solver.clause([!own]);
            }
        }
    }

    /// Asks whether the region can do something, as far as is known of its callees.
    pub fn ask(&mut self, question: &Question) -> Answer {
        let assumed = self.assumptions(question);
        self.solver.solve(assumed)
    }

    fn assumptions(&mut self, question: &Question) -> Vec<Literal> {
        let goal = match question.kind {
            Kind::Return => self.execution.returns,
            Kind::Fail => self.execution.fails,
        };
        let mut assumed = vec![self.literal(goal)];
        for &bit in question.cube {
            let own = self.own(bit);
            assumed.push(self.literal(own));
        }
        let component = self.components[question.kind as usize];
        if question.level != ALL {
            let active = |(&(own, level), &literal): (&(u32, u32), &Literal)| {
                (own == component && level + 1 >= question.level).then_some((level, literal))
            };
            let mut active: Vec<(u32, Literal)> = self.levels.iter().filter_map(active).collect();
            active.sort_unstable_by_key(|(level, _)| *level);
            assumed.extend(active.into_iter().map(|(_, literal)| literal));
        }
        assumed.extend(question.also);
        assumed.extend(self.complete());
        assumed
    }

    /// Literals that say that no call within the component is made: for the lowest level.
    pub fn shut(&mut self, kind: Kind, component: impl Fn(Relation) -> u32) -> Vec<Literal> {
        let own = self.components[kind as usize];
        let mut shut = Vec::new();
        for site in 0..self.execution.sites.len() {
            for kind in KINDS {
                let there = &self.execution.sites[site];
                let does = does(there, kind);
                if does != Lit::FALSE && component(Relation::new(there.callee, kind)) == own {
                    shut.push(!self.literal(does));
                }
            }
        }
        shut
    }

    /// Which bits of a cube are in the core of the last answer.
    pub fn core(&mut self, cube: &[Bit]) -> Vec<Bit> {
        let mut core = Vec::new();
        for &bit in cube {
            let own = self.own(bit);
            let literal = self.literal(own);
            core.extend(self.solver.in_core(literal).then_some(bit));
        }
        core
    }

    /// Whether a literal is in the core of the last answer.
    pub fn in_core(&self, literal: Literal) -> bool {
        self.solver.in_core(literal)
    }

    /// A literal under which the region's own sites exclude a cube of this kind; to be dropped soon.
    pub fn suppose(&mut self, relation: Relation, cube: &[Bit]) -> Option<Literal> {
        let same =
            |site: &Site| site.callee == relation.region() && does(site, relation.kind()) != Lit::FALSE;
        let sites: Vec<usize> =
            (0..self.execution.sites.len()).filter(|&at| same(&self.execution.sites[at])).collect();
        if sites.is_empty() {
            return None;
        }
        let supposed = self.solver.fresh();
        sites.into_iter().for_each(|site| self.exclude(site, relation.kind(), cube, Some(supposed)));
        Some(supposed)
    }

    /// Literals under which the sites exclude those cubes of their callees that are guessed and not refuted.
    pub fn suppose_guesses(&mut self, guesses: &Guesses) -> Vec<Literal> {
        self.forget_guesses(guesses.number);
        let relations = |site: &Site| {
            let kinds = KINDS.into_iter().filter(|&kind| does(site, kind) != Lit::FALSE);
            kinds.map(|kind| Relation::new(site.callee, kind)).collect::<Vec<_>>()
        };
        let mut relations: Vec<Relation> = self.execution.sites.iter().flat_map(relations).collect();
        relations.sort_unstable_by_key(|relation| relation.index());
        relations.dedup();
        let mut supposed = Vec::new();
        for relation in relations {
            for (nth, cube) in guesses.open(relation) {
                let literal = match self.guessed.get(&(relation, Some(nth))) {
                    Some(&literal) => literal,
                    None => {
                        let literal = self.suppose(relation, cube).expect("a site calls it");
                        self.guessed.insert((relation, Some(nth)), literal);
                        literal
                    }
                };
                supposed.push(literal);
            }
        }
        supposed
    }

    /// Literals under which the region has one of the cubes in its interface that are guessed of a relation of its own and not refuted.
    pub fn one_of_guesses(&mut self, relation: Relation, guesses: &Guesses) -> Vec<Literal> {
        let any = match self.guessed.get(&(relation, None)) {
            Some(&any) => any,
            None => self.solver.fresh(),
        };
        let is_new = self.guessed.insert((relation, None), any).is_none();
        if is_new {
            let mut clause = vec![!any];
            for cube in &guesses.of[&relation].cubes {
                let own = self.solver.fresh();
                for &bit in cube {
                    let bit = self.own(bit);
                    let bit = self.literal(bit);
                    self.solver.clause([!own, bit]);
                }
                clause.push(own);
                self.own_guesses.push((relation, own));
            }
            self.solver.clause(clause);
        }
        let own = self.own_guesses.iter().filter(|(other, _)| *other == relation);
        let refuted = own.zip(&guesses.of[&relation].open).filter(|(_, open)| !**open);
        [any].into_iter().chain(refuted.map(|((_, own), _)| !*own)).collect()
    }

    /// Drops what belongs to guesses of another number.
    fn forget_guesses(&mut self, number: u64) {
        if std::mem::replace(&mut self.guesses, number) == number {
            return;
        }
        let mut gone: Vec<Literal> = self.guessed.drain().map(|(_, literal)| literal).collect();
        gone.extend(self.own_guesses.drain(..).map(|(_, literal)| literal));
        gone.sort_unstable();
        gone.into_iter().for_each(|literal| self.solver.clause([!literal]));
    }

    /// Whether the model that was found has these bits in the region's interface.
    pub fn has(&mut self, cube: &[Bit]) -> bool {
        cube.iter().all(|&bit| {
            let own = self.own(bit);
            let literal = self.literal(own);
            self.solver.value(literal)
        })
    }

    /// Drops what was supposed.
    pub fn drop(&mut self, supposed: Option<Literal>) {
        if let Some(supposed) = supposed {
            self.solver.clause([!supposed]);
        }
    }

    /// The values of all functions in the model that was found.
    pub fn model(&self) -> Values {
        let value = |at: usize| {
            let known = self.cnf.known(Lit::positive(at));
            known.is_some_and(|literal| self.solver.value(literal))
        };
        self.execution.aig.evaluate(value)
    }
}

/// That a site does something.
pub fn does(site: &Site, kind: Kind) -> Lit {
    match kind {
        Kind::Return => site.returns,
        Kind::Fail => site.fails,
    }
}

/// A bit of the callee's interface at a site, as a function.
pub fn at_site(site: &Site, bit: Bit) -> Lit {
    let lit = match bit.number().checked_sub(site.inputs.len()) {
        None => site.inputs[bit.number()],
        Some(output) => site.outputs[output],
    };
    if bit.value() { lit } else { !lit }
}
