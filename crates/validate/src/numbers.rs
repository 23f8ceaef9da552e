//! Room `validate`: unbounded integers among gates.
//!
//! An integer is an affine function of unknowns. A comparison of two is an *atom*: an input, of which it is noted which constraint it stands for. So gates, diagrams and the solver
//! need not know of integers: what they find impossible is impossible whatever the constraints are. What the solver finds possible makes some constraints true and others false, and if these have
//! no solution together ([`crate::omega`]), as few of them as still have none become a *lemma*: that they are not all so. Then the solver is asked again.
//!
//! An unknown may be *defined* by a condition, as what one function or another is: questions that mention it get the condition too.

use crate::affine::{Affine, Terms, Unknown};
use crate::gates::{Gates, Lit};
use crate::omega::{Found, Problem};
use postbop_ir::proof::Compare;
use std::collections::{HashMap, HashSet};

/// A constraint on a sum of unknowns.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Atom {
    /// It is at most this number. The first factor is positive, and no number but 1 divides all of them.
    AtMost(Terms, i128),
    /// This is the remainder when it is divided by the second number, which is greater than every factor.
    Rest(Terms, i128, i128),
}

impl Atom {
    fn terms(&self) -> &[(Unknown, i128)] {
        let (Atom::AtMost(terms, _) | Atom::Rest(terms, ..)) = self;
        terms
    }
}

/// The integers of some gates.
#[derive(Default)]
pub struct Numbers {
    unknowns: Unknown,
    known: HashMap<Atom, Lit>,
    /// The atoms by their gates.
    atoms: HashMap<usize, Atom>,
    /// The conditions that define unknowns.
    defined: HashMap<Unknown, Lit>,
    /// What is not true together, whatever the unknowns are.
    lemmas: Vec<Vec<Lit>>,
    /// Whether something was computed that is not affine, or too large.
    refused: bool,
}

/// A question about gates, with all that has to do with its integers.
pub struct Question {
    /// What has to be true together.
    pub all: Vec<Lit>,
    /// The atoms that these depend on.
    atoms: Vec<Lit>,
}

/// What is said of the atoms of a question as a solver has them.
pub enum Verdict {
    /// The unknowns may have these values.
    Values(HashMap<Unknown, i128>),
    /// They cannot be so; a lemma was added to the question.
    Impossible,
    /// It takes too much work, or numbers that are too large.
    Unknown,
}

impl Numbers {
    /// An integer of which nothing is known.
    pub fn fresh(&mut self) -> Affine {
        self.unknowns += 1;
        Affine::unknown(self.unknowns - 1)
    }

    /// An affine function; if there is none, an integer of which nothing is known. What is impossible with any integer there is impossible; what is possible may not be.
    pub fn affine(&mut self, value: Option<Affine>) -> Affine {
        value.unwrap_or_else(|| {
            self.refused = true;
            self.fresh()
        })
    }

    /// Whether some integer is not the one that the program computes.
    pub fn is_refused(&self) -> bool {
        self.refused
    }

    fn atom(&mut self, gates: &mut Gates, atom: Atom) -> Lit {
        if let Some(&known) = self.known.get(&atom) {
            return known;
        }
        let input = gates.input(0);
        self.atoms.insert(input.gate(), atom.clone());
        self.known.insert(atom, input);
        input
    }

    /// That a function is at most a number.
    pub fn at_most(&mut self, gates: &mut Gates, function: &Affine, most: i128) -> Lit {
        let Some(most) = most.checked_sub(function.rest()) else {
            self.refused = true;
            return gates.input(0);
        };
        let divisor = function.divisor();
        if divisor == 0 {
            return Lit::FALSE.flip(0 <= most);
        }
        let most = most.div_euclid(divisor);
        let flip = function.terms()[0].1 < 0;
        let divisor = if flip { -divisor } else { divisor };
        let terms = function.terms().iter().map(|&(at, factor)| (at, factor / divisor)).collect();
        // -s <= n, if not s <= -n - 1, which is the complement of n.
        self.atom(gates, Atom::AtMost(terms, if flip { !most } else { most })).flip(flip)
    }

    /// That a function is zero.
    pub fn zero(&mut self, gates: &mut Gates, function: &Affine) -> Lit {
        let divisor = function.divisor();
        if divisor > 1 && function.rest() % divisor != 0 {
            return Lit::FALSE;
        }
        let (low, high) = (self.at_most(gates, function, -1), self.at_most(gates, function, 0));
        gates.and(vec![!low, high])
    }

    /// That a function compares with numbers as said.
    pub fn compare(&mut self, gates: &mut Gates, function: &Affine, compare: Compare) -> Lit {
        match compare {
            Compare::AtMost(most) => self.at_most(gates, function, most.into()),
            Compare::Equal(value) => {
                let difference = function.more(-i128::from(value));
                let difference = self.affine(difference);
                self.zero(gates, &difference)
            }
            Compare::Congruent(rest, modulus) => {
                let modulus = i128::from(modulus);
                let terms = function.terms().iter().map(|&(at, factor)| (at, factor.rem_euclid(modulus)));
                let terms: Terms = terms.filter(|(_, factor)| *factor != 0).collect();
                let rest = (i128::from(rest) - function.rest() % modulus).rem_euclid(modulus);
                match terms[..] {
                    [] => Lit::FALSE.flip(rest == 0),
                    _ => self.atom(gates, Atom::Rest(terms, rest, modulus)),
                }
            }
        }
    }

    /// One function where a condition is true, another one where it is false.
    pub fn choose(&mut self, gates: &mut Gates, condition: Lit, a: &Affine, b: &Affine) -> Affine {
        if a == b || condition == Lit::TRUE {
            return a.clone();
        }
        if condition == Lit::FALSE {
            return b.clone();
        }
        let chosen = self.fresh();
        let [a, b] = [a, b].map(|function| {
            let difference = self.affine(chosen.plus(function, -1));
            self.zero(gates, &difference)
        });
        self.defined.insert(self.unknowns - 1, gates.ite(condition, a, b));
        chosen
    }

    /// A question whether some gates can be true together.
    pub fn question(&self, gates: &mut Gates, all: &[Lit]) -> Question {
        let mut question = Question { all: all.to_vec(), atoms: Vec::new() };
        if self.atoms.is_empty() {
            return question;
        }
        let (mut seen, mut defined) = (HashSet::new(), HashSet::new());
        let mut work: Vec<usize> = all.iter().map(|lit| lit.gate()).collect();
        while let Some(gate) = work.pop() {
            if !seen.insert(gate) {
                continue;
            }
            work.extend(gates.below(gate).iter().map(|lit| lit.gate()));
            let Some(atom) = self.atoms.get(&gate) else { continue };
            question.atoms.push(Lit::of(gate));
            for &(unknown, _) in atom.terms() {
                if let Some(&condition) = self.defined.get(&unknown).filter(|_| defined.insert(unknown)) {
                    question.all.push(condition);
                    work.push(condition.gate());
                }
            }
        }
        question.atoms.sort_unstable();
        question.all.extend(self.orders(gates, &question.atoms));
        let fits = |lemma: &&Vec<Lit>| lemma.iter().all(|lit| seen.contains(&lit.gate()));
        question.all.extend(self.lemmas.iter().filter(fits).map(|lemma| !gates.and(lemma.clone())));
        question
    }

    /// That what is at most a number is at most a greater one.
    fn orders(&self, gates: &mut Gates, atoms: &[Lit]) -> Vec<Lit> {
        let bound = |&lit: &Lit| match &self.atoms[&lit.gate()] {
            Atom::AtMost(terms, most) => Some((terms, *most, lit)),
            Atom::Rest(..) => None,
        };
        let mut bounds: Vec<(&Terms, i128, Lit)> = atoms.iter().filter_map(bound).collect();
        bounds.sort_unstable();
        let pairs = bounds.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        pairs.map(|pair| !gates.and(vec![pair[0].2, !pair[1].2])).collect()
    }

    /// Whether the unknowns can be such that the atoms of a question are true and false as they are `so`.
    pub fn judge(
        &mut self,
        gates: &mut Gates,
        question: &mut Question,
        so: &dyn Fn(Lit) -> bool,
        goes_on: &mut dyn FnMut(u64) -> bool,
    ) -> Verdict {
        let mut lits: Vec<Lit> = question.atoms.iter().map(|&lit| lit.flip(!so(lit))).collect();
        match self.solve(&lits, goes_on) {
            Found::Solution(values) => return Verdict::Values(values),
            Found::GivenUp => return Verdict::Unknown,
            Found::Nothing => {}
        }
        // What the others contradict already is not part of the lemma: half of it is tried, then halves of halves.
        let mut size = lits.len().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            while at < lits.len() {
                let fewer = [&lits[..at], &lits[(at + size).min(lits.len())..]].concat();
                match self.solve(&fewer, goes_on) {
                    Found::Nothing => lits = fewer,
                    Found::Solution(_) | Found::GivenUp => at += size,
                }
            }
            size /= 2;
        }
        question.all.push(!gates.and(lits.clone()));
        self.lemmas.push(lits);
        Verdict::Impossible
    }

    /// Values of unknowns for which all these atoms, or complements of atoms, are true.
    fn solve(&self, lits: &[Lit], goes_on: &mut dyn FnMut(u64) -> bool) -> Found {
        let mut problem = Problem::new(self.unknowns);
        for &lit in lits {
            if self.state(&mut problem, lit).is_none() {
                return Found::GivenUp;
            }
        }
        problem.solve(goes_on)
    }

    /// Adds what an atom or its complement says; none if numbers are too large.
    fn state(&self, problem: &mut Problem, lit: Lit) -> Option<()> {
        let sum = |terms: &[(Unknown, i128)]| Affine::new(terms.to_vec(), 0);
        match (&self.atoms[&lit.gate()], lit.is_negated()) {
            (Atom::AtMost(terms, most), false) => problem.least(sum(terms).times(-1)?.more(*most)?),
            (Atom::AtMost(terms, most), true) => {
                problem.least(sum(terms).more(most.checked_add(1)?.checked_neg()?)?);
            }
            (Atom::Rest(terms, rest, modulus), complement) => {
                let multiple = problem.fresh();
                let mut left = sum(terms).more(-rest)?.plus(&multiple, -modulus)?;
                if complement {
                    // Something else is left: 1 more, or 2, up to the modulus less 1.
                    let other = problem.fresh();
                    left = left.plus(&other, -1)?;
                    problem.least(other.more(-1)?);
                    problem.least(other.times(-1)?.more(modulus - 1)?);
                }
                problem.zero(left);
            }
        }
        Some(())
    }
}
