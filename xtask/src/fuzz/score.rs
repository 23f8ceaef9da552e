//! Room `xtask`: what the oracle and the engines said about random programs, in numbers.

use postbop_ir::Length;
use std::collections::BTreeMap;

/// What was said.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Score {
    /// Targets that can be reached, and targets that cannot, as the oracle says.
    pub reachable: usize,
    /// See `reachable`.
    pub unreachable: usize,
    /// Those of the latter that are checked where no run comes.
    pub vacuous: usize,
    /// Targets that the oracle left open.
    pub open: usize,
    /// Those of them on which a formula and a sequential program were compared with each other.
    pub compared: usize,
    /// For each engine, the answers that it gave, and those that would have taken too long.
    pub answers: BTreeMap<String, (usize, usize)>,
    /// The longest of the shortest runs to a target.
    pub longest: Option<Length>,
    /// Proofs that were checked.
    pub proofs: usize,
}

impl Score {
    /// Whether the oracle said anything.
    pub fn is_judged(&self) -> bool {
        self.reachable + self.unreachable > 0
    }

    /// Whether an engine was not awaited.
    pub fn has_gaps(&self) -> bool {
        self.answers.values().any(|(_, late)| *late > 0)
    }

    /// Notes how many answers an engine gave, and how many were not awaited.
    pub fn note(&mut self, engine: &str, given: usize, late: usize) {
        let counts = self.answers.entry(engine.to_owned()).or_default();
        *counts = (counts.0 + given, counts.1 + late);
    }

    /// Adds what was said about other programs.
    pub fn add(&mut self, other: Score) {
        self.reachable += other.reachable;
        self.unreachable += other.unreachable;
        self.vacuous += other.vacuous;
        self.open += other.open;
        self.compared += other.compared;
        self.proofs += other.proofs;
        for (engine, (given, late)) in other.answers {
            self.note(&engine, given, late);
        }
        self.longest = self.longest.take().max(other.longest);
    }

    /// A line for the targets that the oracle left open, one for very long runs, one for proofs, and one for each engine whose answers
    /// were counted.
    pub fn lines(&self) -> Vec<String> {
        let Score { open, compared, answers, longest, proofs, .. } = self;
        let digits = longest.as_ref().map_or(0, |longest| longest.to_string().len());
        let long =
            (digits > 18).then(|| format!("the longest of the shortest runs has {digits} decimal digits"));
        let first = (*open > 0)
            .then(|| format!("{open} targets left open by the oracle, on {compared} of them formula and sequential program were compared"));
        let of_engine = answers
            .iter()
            .map(|(engine, (given, late))| format!("{engine}: {given} answers given, {late} not awaited"));
        let proved = (*proofs > 0).then(|| format!("{proofs} properties hold by a proof that was checked"));
        first.into_iter().chain(long).chain(proved).chain(of_engine).collect()
    }
}
