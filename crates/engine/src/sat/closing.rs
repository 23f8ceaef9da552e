//! Room `engine/sat`: facts as a proof.
//!
//! # Idea
//!
//! Some procedures have few runs that return, or none, since whatever they are given they call each other for ever. Why a call is never
//! come back from is seldom a matter of few variables, so goals find no lemma. But gathering ([`super::gather`]) soon has all that such procedures can do.
//!
//! A fact has bits: inputs that it starts from, outputs that it ends with, and outputs that are copies of inputs. Most of them do not matter to
//! callers. So read a fact as a *loose* one, which has only those bits that *count* for its relation, and may have anything
//! in the others. Facts are *closed* if every region, with calls that are like loose facts of the callees, has only runs that are like a loose
//! fact of its own. Then every run of the program is like the facts, by induction over its length; and if the start of the program has no fact that fails, no run fails.
//!
//! At first no bit counts: a procedure returns, whatever it is given and whatever comes of it, or it never does. A region is asked for a run unlike its loose
//! facts, while its calls are like facts with all their bits:
//!
//! * *Yes*: that is a new fact.
//! * *No*: the core has those bits of callees' facts that are needed for this answer. From now on they count, so their relations are asked again. The next
//!   facts are those that make a difference to a caller.
//!
//! # Paper
//!
//! \[smash\] for facts (*must* summaries) and over-approximations (*not-may*) that are made from each other. # Departures: the over-approximation is the facts, loosened.
//!
//! # Cost
//!
//! Finite: there are finitely many facts and bits. Each round asks a region only if a callee has a new fact, or if another of its own bits counts.

use super::gather::Gathering;
use super::knowledge::{Fact, Relation};
use super::pdr::Search;
use super::prover::Prover;
use crate::verdict::Why;
use postbop_kit::sat::Literal;
use rustc_hash::FxHashSet as HashSet;

/// So many bits of a core are left out, to see whether others are enough.
const DROPPED: usize = 64;

/// Which bits count.
pub struct Closing {
    /// For each relation those of its interface.
    counting: Vec<HashSet<usize>>,
}

impl Closing {
    /// Of so many relations none.
    pub fn new(relations: usize) -> Self {
        Closing { counting: vec![HashSet::default(); relations] }
    }

    /// Whether a bit of a relation's interface counts.
    pub fn counts(&self, relation: Relation, bit: usize) -> bool {
        self.counting[relation.index()].contains(&bit)
    }

    /// From now on it does; whether that is news.
    pub fn count(&mut self, relation: Relation, bit: usize) -> bool {
        self.counting[relation.index()].insert(bit)
    }
}

impl Gathering {
    /// Excludes what is like a fact, if a literal is assumed. As long as no proof is tried that is what has the same inputs and values; a fact that fixes
    /// neither is told by what it copies.
    pub(super) fn exclude(&self, prover: &mut Prover, fact: &Fact, relation: Relation, assumed: Literal) {
        match &self.closing {
            Some(closing) => prover.exclude_fact(fact, assumed, |bit| closing.counts(relation, bit)),
            None => {
                let inputs = prover.execution.inputs.len();
                let fixed: HashSet<usize> = fact.fixed(inputs).iter().map(|bit| bit.number()).collect();
                prover.exclude_fact(fact, assumed, |bit| fixed.is_empty() || fixed.contains(&bit));
            }
        }
    }
}

impl<'i> Search<'i, '_> {
    /// Whether a region has a run unlike its loose facts, with calls that are like facts with all their bits. If it has none, the
    /// bits without which it would have one count.
    pub(super) fn is_open(
        &self,
        prover: &mut Prover<'i>,
        gathering: &mut Gathering,
        relation: Relation,
        fixed: &[Literal],
    ) -> Result<bool, Why> {
        let closing = gathering.closing.as_ref().expect("a proof is tried");
        let (counting, others): (Vec<_>, Vec<_>) =
            prover.bits().partition(|&(callee, bit, _)| closing.counts(callee, bit));
        let counting: Vec<Literal> = counting.into_iter().map(|(.., literal)| literal).collect();
        let mut needed: Vec<Literal> = others.iter().map(|(.., literal)| *literal).collect();
        let fixed = [fixed, &counting].concat();
        let has_run = |prover: &mut Prover<'i>, bits: &[Literal]| {
            self.ask_for_run(prover, relation.kind(), &[&fixed, bits].concat(), Vec::new())
        };
        if !has_run(prover, &[])? {
            return Ok(false);
        }
        if has_run(prover, &needed)? {
            return Ok(true);
        }
        needed.retain(|&literal| prover.in_core(literal));
        let mut asked = 0;
        let mut at = 0;
        while at < needed.len() && asked < DROPPED {
            let mut fewer = needed.clone();
            fewer.remove(at);
            asked += 1;
            match has_run(prover, &fewer)? {
                true => at += 1,
                false => {
                    fewer.retain(|&literal| prover.in_core(literal));
                    needed = fewer;
                }
            }
        }
        let needed: HashSet<Literal> = needed.into_iter().collect();
        for (callee, bit, _) in others.into_iter().filter(|(.., literal)| needed.contains(literal)) {
            gathering.count(callee, bit);
        }
        Ok(false)
    }
}
