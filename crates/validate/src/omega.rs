//! Room `validate`: whether linear constraints on integers have a solution.
//!
//! # Idea
//!
//! Unknowns are eliminated one after the other until only numbers are left. An equation gives one of its unknowns in terms of the others: at once if its factor is 1 or −1. Otherwise
//! a new unknown takes the place of the one with the smallest factor, such that the other factors become smaller, as in Euclid's algorithm, until one is 1.
//!
//! Of inequalities, an unknown x has lower bounds a·x + L ≥ 0 and upper bounds U − b·x ≥ 0. Each pair implies a·U + b·L ≥ 0, and if a or b is 1 for every pair,
//! these are all that is left when x is gone. Otherwise they are too weak for integers. There is certainly room for an x where
//! a·U + b·L ≥ (a − 1)(b − 1); and where there is an x but no such room, x is so close to one of its lower bounds that a·x + L is one of a few numbers, which are tried as equations. So
//! one problem becomes several, of which one has a solution exactly if the first has.
//!
//! A solution is found the other way: what was eliminated last gets its value first.
//!
//! # Paper
//!
//! \[pugh-omega\], with Euclid's steps in place of its symmetric remainders.
//!
//! # Cost
//!
//! Exponential at worst. The constraints of proofs mostly have factors 1 and −1, and few unknowns each.

use crate::affine::{Affine, Terms, Unknown};
use std::collections::{BTreeMap, HashMap};

/// More inequalities than these, and more problems instead of one, are given up.
const MOST_ROWS: usize = 1 << 12;
const MOST_CASES: i128 = 1 << 8;

/// What is found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// A solution; an unknown that is not in it may be anything.
    Solution(HashMap<Unknown, i128>),
    /// There is none.
    Nothing,
    /// Numbers become too large, or there is too much to do.
    GivenUp,
}

/// Why a problem is not pursued.
enum Halt {
    Nothing,
    GivenUp,
}

/// An operation on numbers that are too large.
fn sized<T>(value: Option<T>) -> Result<T, Halt> {
    value.ok_or(Halt::GivenUp)
}

/// How an unknown was eliminated.
#[derive(Clone)]
enum Step {
    /// It has this value.
    Is(Unknown, Affine),
    /// These are not negative.
    Between(Unknown, Vec<Affine>),
}

/// Functions that must be zero, and functions that must not be negative.
#[derive(Clone, Default)]
pub struct Problem {
    zero: Vec<Affine>,
    least: Vec<Affine>,
    steps: Vec<Step>,
    /// The first unknown that is not in use.
    fresh: Unknown,
}

impl Problem {
    /// No constraints yet, on unknowns below this one.
    pub fn new(fresh: Unknown) -> Self {
        Problem { fresh, ..Problem::default() }
    }

    /// An unknown that nothing else mentions.
    pub fn fresh(&mut self) -> Affine {
        self.fresh += 1;
        Affine::unknown(self.fresh - 1)
    }

    /// Says that a function is zero.
    pub fn zero(&mut self, function: Affine) {
        self.zero.push(function);
    }

    /// Says that a function is not negative.
    pub fn least(&mut self, function: Affine) {
        self.least.push(function);
    }

    /// A solution. `goes_on` is asked again and again whether to go on, after so much more work.
    pub fn solve(self, goes_on: &mut dyn FnMut(u64) -> bool) -> Found {
        let mut work = vec![self];
        while let Some(mut problem) = work.pop() {
            match problem.eliminate(goes_on) {
                Ok(cases) if cases.is_empty() => match problem.solution() {
                    Some(solution) => return Found::Solution(solution),
                    None => return Found::GivenUp,
                },
                // The first case is tried first.
                Ok(cases) => work.extend(cases.into_iter().rev()),
                Err(Halt::Nothing) => {}
                Err(Halt::GivenUp) => return Found::GivenUp,
            }
        }
        Found::Nothing
    }

    /// Eliminates unknowns until none is left, or the problem becomes several.
    fn eliminate(&mut self, goes_on: &mut dyn FnMut(u64) -> bool) -> Result<Vec<Problem>, Halt> {
        loop {
            self.tidy()?;
            let rows = self.zero.len() + self.least.len();
            if rows > MOST_ROWS || !goes_on(1 + rows as u64) {
                return Err(Halt::GivenUp);
            }
            if let Some(equation) = self.zero.pop() {
                self.solve_for_one(equation)?;
                continue;
            }
            let Some((unknown, exact)) = self.cheapest() else { return Ok(Vec::new()) };
            match exact {
                true => *self = self.without(unknown)?,
                false => return self.cases(unknown),
            }
        }
    }

    /// Divides by what all factors have in common, drops what is true, and makes two opposite bounds that meet an equation.
    fn tidy(&mut self) -> Result<(), Halt> {
        for row in std::mem::take(&mut self.zero) {
            match row.divisor() {
                0 if row.rest() == 0 => {}
                divisor if divisor == 0 || row.rest() % divisor != 0 => return Err(Halt::Nothing),
                divisor => self.zero.push(divided(&row, divisor)),
            }
        }
        let mut bounds: BTreeMap<Terms, i128> = BTreeMap::new();
        for row in std::mem::take(&mut self.least) {
            match row.divisor() {
                0 if row.rest() >= 0 => {}
                0 => return Err(Halt::Nothing),
                divisor => {
                    let row = divided(&row, divisor);
                    let bound = bounds.entry(row.terms().to_vec()).or_insert(row.rest());
                    *bound = row.rest().min(*bound);
                }
            }
        }
        for (terms, &bound) in &bounds {
            let opposite: Terms = terms.iter().map(|&(at, factor)| (at, -factor)).collect();
            let Some(&other) = bounds.get(&opposite) else {
                self.least.push(Affine::new(terms.clone(), bound));
                continue;
            };
            match sized(bound.checked_add(other))? {
                ..0 => return Err(Halt::Nothing),
                0 if terms[0].1 > 0 => self.zero.push(Affine::new(terms.clone(), bound)),
                0 => {}
                _ => self.least.push(Affine::new(terms.clone(), bound)),
            }
        }
        Ok(())
    }

    /// Uses an equation, which has unknowns, for one of them.
    fn solve_for_one(&mut self, equation: Affine) -> Result<(), Halt> {
        let least = equation.terms().iter().min_by_key(|(_, factor)| factor.unsigned_abs());
        let &(unknown, factor) = least.ok_or(Halt::GivenUp)?;
        let others = sized(equation.plus(&Affine::unknown(unknown), -factor))?;
        let value = match factor {
            1 => sized(others.times(-1))?,
            -1 => others,
            _ => {
                // The new unknown is the old one and what the others add to it in whole numbers.
                let whole = others.terms().iter().map(|&(at, other)| (at, other.div_euclid(factor)));
                let whole: Terms = whole.filter(|(_, factor)| *factor != 0).collect();
                let whole = Affine::new(whole, others.rest().div_euclid(factor));
                let value = sized(self.fresh().plus(&whole, -1))?;
                self.zero.push(sized(equation.with(unknown, &value))?);
                value
            }
        };
        for row in self.zero.iter_mut().chain(&mut self.least) {
            *row = sized(row.with(unknown, &value))?;
        }
        self.steps.push(Step::Is(unknown, value));
        Ok(())
    }

    /// The unknown that leaves the fewest inequalities when it is gone, and whether these say all; those of which they do come first.
    fn cheapest(&self) -> Option<(Unknown, bool)> {
        // Lower and upper bounds, and the greatest factors of both.
        let mut bounds: BTreeMap<Unknown, [(usize, i128); 2]> = BTreeMap::new();
        for &(unknown, factor) in self.least.iter().flat_map(Affine::terms) {
            let side = &mut bounds.entry(unknown).or_default()[usize::from(factor < 0)];
            *side = (side.0 + 1, side.1.max(factor.abs()));
        }
        let price = |(&unknown, &[lower, upper]): (&Unknown, &[(usize, i128); 2])| {
            let exact = lower.1 <= 1 || upper.1 <= 1;
            (!exact, lower.0 * upper.0, unknown)
        };
        bounds.iter().map(price).min().map(|(inexact, _, unknown)| (unknown, !inexact))
    }

    /// The lower bounds, the upper bounds, and the inequalities that do not mention an unknown.
    fn bounds(&self, unknown: Unknown) -> [Vec<&Affine>; 3] {
        let mut sides = [Vec::new(), Vec::new(), Vec::new()];
        for row in &self.least {
            let factor = row.factor(unknown);
            sides[if factor > 0 { 0 } else { 2 - usize::from(factor < 0) }].push(row);
        }
        sides
    }

    /// Where there is certainly room for an unknown: if one factor of every pair is 1, exactly where there is room.
    fn without(&self, unknown: Unknown) -> Result<Problem, Halt> {
        let [lower, upper, others] = self.bounds(unknown);
        if lower.len().saturating_mul(upper.len()) > MOST_ROWS {
            return Err(Halt::GivenUp);
        }
        let mut least: Vec<Affine> = others.into_iter().cloned().collect();
        for low in &lower {
            for high in &upper {
                let (a, b) = (low.factor(unknown), -high.factor(unknown));
                let room = sized((a - 1).checked_mul(b - 1))?;
                least.push(sized(high.times(a).and_then(|row| row.plus(low, b)?.more(-room)))?);
            }
        }
        let mut steps = self.steps.clone();
        steps.push(Step::Between(unknown, lower.into_iter().chain(upper).cloned().collect()));
        Ok(Problem { zero: Vec::new(), least, steps, fresh: self.fresh })
    }

    /// Problems of which one has a solution exactly if this has.
    fn cases(&self, unknown: Unknown) -> Result<Vec<Problem>, Halt> {
        let mut all = vec![self.without(unknown)?];
        let [lower, upper, _] = self.bounds(unknown);
        let b = upper.iter().map(|row| -row.factor(unknown)).max().unwrap_or(1);
        for low in lower {
            let a = low.factor(unknown);
            let last = sized(a.checked_mul(b))?.checked_sub(a + b).ok_or(Halt::GivenUp)?.div_euclid(b);
            if last.saturating_add(all.len() as i128) > MOST_CASES {
                return Err(Halt::GivenUp);
            }
            for close in 0..=last {
                let mut case = self.clone();
                case.zero.push(sized(low.more(-close))?);
                all.push(case);
            }
        }
        Ok(all)
    }

    /// The values of all unknowns that were eliminated; none if they are too large.
    fn solution(&self) -> Option<HashMap<Unknown, i128>> {
        let mut values: HashMap<Unknown, i128> = HashMap::new();
        for step in self.steps.iter().rev() {
            let of = |unknown: Unknown| values.get(&unknown).copied().unwrap_or(0);
            let (unknown, value) = match step {
                Step::Is(unknown, value) => (*unknown, value.value(of)?),
                Step::Between(unknown, rows) => {
                    let (mut low, mut high) = (i128::MIN, i128::MAX);
                    for row in rows {
                        let factor = row.factor(*unknown);
                        let rest = row.plus(&Affine::unknown(*unknown), -factor)?.value(of)?;
                        match factor > 0 {
                            true => low = low.max(-rest.div_euclid(factor)),
                            false => high = high.min(rest.div_euclid(-factor)),
                        }
                    }
                    (*unknown, 0.max(low).min(high))
                }
            };
            values.insert(unknown, value);
        }
        Some(values)
    }
}

/// A row divided by what all its factors have in common. Of an inequality the constant is rounded down: no integers are lost.
fn divided(row: &Affine, divisor: i128) -> Affine {
    let terms = row.terms().iter().map(|&(unknown, factor)| (unknown, factor / divisor));
    Affine::new(terms.collect(), row.rest().div_euclid(divisor))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small numbers that look random.
    struct Numbers(u64);
    impl Numbers {
        fn within(&mut self, bound: i128) -> i128 {
            self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            i128::from(self.0 >> 33) % (2 * bound + 1) - bound
        }
        fn function(&mut self, unknowns: u32) -> Affine {
            let terms = (0..unknowns).map(|at| (at, self.within(5))).filter(|(_, factor)| *factor != 0);
            Affine::new(terms.collect::<Vec<_>>(), 0).more(self.within(12)).unwrap()
        }
    }

    const BOX: i128 = 4;

    #[test]
    fn solutions_are_those_of_brute_force() {
        let mut numbers = Numbers(7);
        let (mut solved, mut unsolved, mut given_up) = (0, 0, 0);
        for _ in 0..4_000 {
            let mut problem = Problem::new(3);
            let zero: Vec<Affine> = (0..numbers.within(1).max(0)).map(|_| numbers.function(3)).collect();
            let least: Vec<Affine> = (0..3 + numbers.within(1)).map(|_| numbers.function(3)).collect();
            zero.iter().for_each(|row| problem.zero(row.clone()));
            least.iter().for_each(|row| problem.least(row.clone()));
            // Within a box, so that all values can be tried.
            for unknown in (0..3).map(Affine::unknown) {
                problem.least(unknown.more(BOX).unwrap());
                problem.least(unknown.times(-1).unwrap().more(BOX).unwrap());
            }
            let fits = |values: [i128; 3]| {
                let of = |row: &Affine| row.value(|unknown| values[unknown as usize]).unwrap();
                zero.iter().all(|row| of(row) == 0) && least.iter().all(|row| of(row) >= 0)
            };
            let side = || -BOX..=BOX;
            let exists = side().any(|x| side().any(|y| side().any(|z| fits([x, y, z]))));
            match problem.solve(&mut |_| true) {
                Found::Solution(values) => {
                    let values = [0, 1, 2].map(|unknown| values.get(&unknown).copied().unwrap_or(0));
                    assert!(fits(values), "{values:?} for {zero:?} and {least:?}");
                    assert!(values.iter().all(|value| value.abs() <= BOX));
                    solved += 1;
                }
                Found::Nothing => {
                    assert!(!exists, "{zero:?} and {least:?}");
                    unsolved += 1;
                }
                Found::GivenUp => given_up += 1,
            }
        }
        assert!(solved > 500 && unsolved > 500 && given_up < 40, "{solved} {unsolved} {given_up}");
    }

    #[test]
    fn what_rational_numbers_would_solve() {
        let [x, y] = [0, 1].map(Affine::unknown);
        // 27 <= 11x + 13y <= 45 and -10 <= 7x - 9y <= 4: the example of the paper.
        let sum = x.times(11).unwrap().plus(&y, 13).unwrap();
        let difference = x.times(7).unwrap().plus(&y, -9).unwrap();
        let mut problem = Problem::new(2);
        for (row, least, most) in [(&sum, 27, 45), (&difference, -10, 4)] {
            problem.least(row.more(-least).unwrap());
            problem.least(row.times(-1).unwrap().more(most).unwrap());
        }
        assert_eq!(problem.solve(&mut |_| true), Found::Nothing);
        // 6x + 10y + 15z = 1 has solutions, 6x + 10y = 1 has none.
        let even = x.times(6).unwrap().plus(&y, 10).unwrap();
        for (row, solvable) in [(even.plus(&Affine::unknown(2), 15).unwrap(), true), (even, false)] {
            let mut problem = Problem::new(3);
            problem.zero(row.more(-1).unwrap());
            assert_eq!(matches!(problem.solve(&mut |_| true), Found::Solution(_)), solvable);
        }
    }

    #[test]
    fn work_can_be_called_off() {
        let mut problem = Problem::new(1);
        problem.least(Affine::unknown(0));
        assert_eq!(problem.solve(&mut |_| false), Found::GivenUp);
    }
}
