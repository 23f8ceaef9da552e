//! Room `engine/weighted`: a set as few conjunctions of constraints, for people to read and for proofs.
//!
//! # Idea
//!
//! The constraints that all members of a set satisfy ([`super::hull`]) describe it exactly if nothing else satisfies them. Otherwise the set is *split* in two by
//! a bound on a number, on a sum or on a difference, and each part is described by itself. Bounds are tried at zero and where what the constraints let in
//! beyond the set begins and ends; the bound is taken that leaves the smallest diagrams. A set that needs more than a few parts is not described.
//!
//! At the end parts are united that one conjunction describes, and every constraint is dropped that the others of its conjunction imply.

use super::hull::{congruence, equalities, forms, values};
use postbop_kit::ndd::{Column, Compare, Interrupted, Ndd, Ndds, Term};

/// What describes a set, or more than it.
struct Hull {
    constraints: Vec<Constraint>,
    /// The vectors that satisfy them.
    set: Ndd,
    /// The numbers that are not other ones and a constant.
    numbers: Vec<Column>,
}

/// A sum that compares with a constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constraint {
    /// The sum.
    pub terms: Vec<Term>,
    /// What it compares with.
    pub compare: Compare,
}

/// Constraints, and the set that they describe.
pub type Part = (Vec<Constraint>, Ndd);

/// Describes sets of vectors of numbers.
pub struct Cover<'c, 'a> {
    pub store: &'c Ndds<'a>,
    /// What is known of every vector: the ranges of bounded integers.
    pub universe: &'c Ndd,
    /// A column that no set mentions.
    pub free: Column,
    /// Where a number stands among all: one that is determined by others is told in terms of those that stand before it.
    pub rank: &'c dyn Fn(Column) -> usize,
    /// The most conjunctions.
    pub most: usize,
    /// More numbers than these, of which none is another one and a constant, have no constraints on sums and differences.
    pub most_paired: usize,
}

impl Cover<'_, '_> {
    /// Conjunctions that together describe a set, as few and as short as is easily found; none if they would be many.
    pub fn cases(&self, set: &Ndd) -> Result<Option<Vec<Vec<Constraint>>>, Interrupted> {
        let Some(mut parts) = self.parts(set)? else { return Ok(None) };
        // Where there is no work left for that, there are more cases than there might be.
        let _ = self.unite(&mut parts);
        let trimmed = parts.into_iter().map(|(constraints, set)| self.trimmed(constraints, &set));
        trimmed.collect::<Result<_, _>>().map(Some)
    }

    /// Parts that together are a set, each with constraints that describe it; none if they would be many.
    pub fn parts(&self, set: &Ndd) -> Result<Option<Vec<Part>>, Interrupted> {
        let mut done = Vec::new();
        let mut work = vec![self.store.and(set, self.universe)?];
        while let Some(set) = work.pop() {
            let hull = self.hull(&set)?;
            if hull.set == set {
                done.push((hull.constraints, set));
                continue;
            }
            let parts = if done.len() + work.len() + 2 > self.most { None } else { self.split(&set, &hull)? };
            let Some([one, other]) = parts else { return Ok(None) };
            // The first part is described first.
            work.extend([other, one]);
        }
        Ok(Some(done))
    }

    /// Makes one case of two as long as one conjunction describes both.
    fn unite(&self, cases: &mut Vec<Part>) -> Result<(), Interrupted> {
        let mut at = 0;
        while at < cases.len() {
            let mut found = None;
            for other in at + 1..cases.len() {
                let both = self.store.or(&cases[at].1, &cases[other].1)?;
                let hull = self.hull(&both)?;
                if hull.set == both {
                    found = Some((other, hull.constraints, both));
                    break;
                }
            }
            match found {
                Some((other, constraints, both)) => {
                    cases[at] = (constraints, both);
                    cases.remove(other);
                    at = 0;
                }
                None => at += 1,
            }
        }
        Ok(())
    }

    /// The numbers that a set mentions, by their rank.
    fn numbers(&self, set: &Ndd) -> Vec<Column> {
        let mut numbers = set.support();
        numbers.sort_unstable_by_key(|&column| (self.rank)(column));
        numbers
    }

    fn set_of(&self, constraint: &Constraint) -> Result<Ndd, Interrupted> {
        self.store.linear(&constraint.terms, constraint.compare)
    }

    /// Constraints that all members of a set satisfy, simple ones first, and the vectors that satisfy them. It ends when only the members do.
    fn hull(&self, set: &Ndd) -> Result<Hull, Interrupted> {
        let (mut list, mut hull) = (Vec::new(), self.universe.clone());
        let numbers = self.numbers(set);
        // Whether only members are left.
        let mut add = |constraint: Constraint| -> Result<bool, Interrupted> {
            let smaller = self.store.and(&hull, &self.set_of(&constraint)?)?;
            if smaller != hull {
                list.push(constraint);
                hull = smaller;
            }
            Ok(hull == *set)
        };
        if set.is_empty() {
            add(Constraint { terms: Vec::new(), compare: Compare::Equal(1) })?;
            return Ok(Hull { constraints: list, set: hull, numbers });
        }
        let mut copies = Vec::new();
        for (terms, value) in equalities(self.store, set, &numbers)? {
            let terms: Vec<Term> = terms.into_iter().filter(|(factor, _)| *factor != 0).collect();
            // What is another number and a constant has no bounds that the other one has not.
            if let [(-1 | 1, _), (-1 | 1, copy)] = terms[..] {
                copies.push(copy);
            }
            add(Constraint { terms, compare: Compare::Equal(value) })?;
        }
        let numbers: Vec<Column> = numbers.into_iter().filter(|number| !copies.contains(number)).collect();
        for forms in forms(&numbers, self.most_paired) {
            let shadow = forms.shadow(self.store, set)?;
            let mut is_done = false;
            for form in forms.sums {
                let all = values(self.store, &shadow, &form, self.free)?;
                let minus = form.iter().map(|&(factor, column)| (-factor, column)).collect();
                let (least, most) = all.extremes().unwrap_or((None, None));
                let most = most.map(|most| (form.clone(), Compare::AtMost(most)));
                let least = least.map(|least| (minus, Compare::AtMost(-least)));
                let rest = congruence(self.store, &all, self.free)?;
                let rest = rest.map(|(rest, modulus)| (form, Compare::Congruent(rest, modulus)));
                for (terms, compare) in [least, most, rest].into_iter().flatten() {
                    is_done = add(Constraint { terms, compare })?;
                }
            }
            if is_done {
                break;
            }
        }
        Ok(Hull { constraints: list, set: hull, numbers })
    }

    /// The constraints without those that the others imply; the simplest stay.
    fn trimmed(&self, mut list: Vec<Constraint>, set: &Ndd) -> Result<Vec<Constraint>, Interrupted> {
        for at in (0..list.len()).rev() {
            let mut rest = self.universe.clone();
            for constraint in list.iter().enumerate().filter(|(other, _)| *other != at) {
                rest = self.store.and(&rest, &self.set_of(constraint.1)?)?;
            }
            if rest == *set {
                list.remove(at);
            }
        }
        Ok(list)
    }

    /// Two parts of a set that is not described by its constraints, whose hull is larger.
    fn split(&self, set: &Ndd, hull: &Hull) -> Result<Option<[Ndd; 2]>, Interrupted> {
        let beyond = self.store.minus(&hull.set, set)?;
        let mut best: Option<(usize, [Ndd; 2])> = None;
        for forms in forms(&hull.numbers, self.most_paired) {
            let shadow = forms.shadow(self.store, &beyond)?;
            for form in forms.sums {
                let extremes = values(self.store, &shadow, &form, self.free)?.extremes();
                let (least, most) = extremes.unwrap_or((None, None));
                let mut bounds = vec![0, -1];
                bounds.extend(most.into_iter().chain(least.map(|least| least - 1)));
                bounds.sort_unstable();
                bounds.dedup();
                for bound in bounds {
                    let below = self.store.linear(&form, Compare::AtMost(bound))?;
                    let one = self.store.and(set, &below)?;
                    let is_worse = |cost: usize| best.as_ref().is_some_and(|(least, _)| cost >= *least);
                    if one.is_empty() || one == *set || is_worse(one.size()) {
                        continue;
                    }
                    let other = self.store.minus(set, &below)?;
                    let cost = one.size() + other.size();
                    if !is_worse(cost) {
                        best = Some((cost, [one, other]));
                    }
                }
            }
        }
        Ok(best.map(|(_, parts)| parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases of a set over the columns 0 and 1.
    fn cases(of: impl Fn(&Ndds) -> Ndd) -> Option<Vec<Vec<Constraint>>> {
        let store = &Ndds::new(&|_| true);
        let (set, universe) = (of(store), &store.constant(true));
        let cover =
            Cover { store, universe, free: 9, rank: &|column| column as usize, most: 16, most_paired: 10 };
        let found = cover.cases(&set).unwrap();
        // However it is split, the cases describe the set.
        if let Some(found) = &found {
            let mut any = store.constant(false);
            for case in found {
                let all = case.iter().map(|one| cover.set_of(one).unwrap()).collect::<Vec<Ndd>>();
                any = store.or(&any, &store.all(&all).unwrap()).unwrap();
            }
            assert!(any == set, "{found:?}");
        }
        found
    }

    fn at_most(store: &Ndds, terms: &[Term], most: i64) -> Ndd {
        store.linear(terms, Compare::AtMost(most)).unwrap()
    }

    #[test]
    fn simple_sets_are_one_case() {
        assert_eq!(cases(|store| store.constant(true)), Some(vec![vec![]]));
        assert_eq!(cases(|store| store.constant(false)).map(|list| list.len()), Some(1));
        let found = cases(|store| {
            let line = store.linear(&[(7, 0), (-1, 1)], Compare::Equal(0)).unwrap();
            store.and(&line, &at_most(store, &[(-1, 0)], -3)).unwrap()
        });
        let line = Constraint { terms: vec![(-7, 0), (1, 1)], compare: Compare::Equal(0) };
        let above = Constraint { terms: vec![(-1, 0)], compare: Compare::AtMost(-3) };
        assert_eq!(found, Some(vec![vec![line, above]]));
    }

    #[test]
    fn a_gap_and_an_absolute_value_are_two_cases() {
        let gap = cases(|store| store.not(&store.linear(&[(1, 0)], Compare::Equal(5)).unwrap()).unwrap());
        assert_eq!(gap.map(|list| list.len()), Some(2));
        let absolute = cases(|store| {
            let positive = store.linear(&[(1, 0), (-1, 1)], Compare::Equal(0)).unwrap();
            let negative = store.linear(&[(1, 0), (1, 1)], Compare::Equal(0)).unwrap();
            let above = at_most(store, &[(-1, 1)], 0);
            store.and(&above, &store.or(&positive, &negative).unwrap()).unwrap()
        });
        assert_eq!(absolute.map(|list| list.len()), Some(2));
    }

    #[test]
    fn scattered_numbers_are_not_described() {
        let found = cases(|store| {
            let point = |value| store.linear(&[(1, 0)], Compare::Equal(value)).unwrap();
            (0..20).fold(store.constant(false), |all, at| store.or(&all, &point(at * at)).unwrap())
        });
        assert_eq!(found, None);
    }
}
