//! Room `kit`: the join order of a conjunction.
//!
//! # Idea
//!
//! Diagrams grow with the variables they mention. So a conjunct that mentions only variables of another conjunct, a filter,
//! is joined to that conjunct first; then conjuncts are joined one by one, always the one after which the fewest variables are left.
//! A variable is quantified in the very join after which no conjunct mentions it.
//!
//! # Paper
//!
//! \[burch\] for quantifying early. The order is a greedy one.
//!
//! # Cost
//!
//! It is counted how many conjuncts mention each variable, and conjuncts that mention the same variables are looked at as one.
//! So a join costs as much as there are different sets of variables. Formulas can be as wide as files are long: the
//! caller is asked now and then whether to go on.

use super::VarId;
use rustc_hash::FxHashMap as HashMap;
use std::collections::{BTreeSet, VecDeque};

/// A conjunct of a conjunction.
#[derive(Clone, Debug)]
pub struct Conjunct<R> {
    /// How it is made.
    pub recipe: R,
    /// The variables it mentions.
    pub vars: BTreeSet<VarId>,
    /// Whether it depends on relations that are being computed.
    pub heavy: bool,
}

/// Asked now and then, says whether to go on.
pub type GoOn<'g> = &'g mut dyn FnMut() -> bool;

/// Joins conjuncts, of which the first is where to begin. `join` makes one conjunct of two while it quantifies variables. None if
/// it is told to stop.
pub fn join_all<R: Clone>(
    conjuncts: Vec<Conjunct<R>>,
    bound: &BTreeSet<VarId>,
    go_on: GoOn,
    mut join: impl FnMut(R, R, &[VarId]) -> R,
) -> Option<Conjunct<R>> {
    let mut pool = Pool::new(conjuncts);
    pool.join_filters(bound, go_on, &mut join)?;
    let first = pool.conjuncts.iter().position(Option::is_some)?;
    let mut groups = pool.groups(first);
    while let Some(next) = pool.best(first, &groups, bound, go_on)? {
        let members = &mut groups[next].1;
        let at = members.pop_front().expect("no group is empty");
        if members.is_empty() {
            groups.swap_remove(next);
        }
        let whole = pool.conjuncts[first].as_ref()?.vars.iter().copied().collect::<Vec<_>>();
        let own = pool.conjuncts[at].as_ref()?.vars.iter().copied().collect::<Vec<_>>();
        let may_go = whole.iter().chain(&own).filter(|var| bound.contains(var)).copied().collect();
        pool.merge(first, at, &may_go, &mut join);
    }
    pool.conjuncts[first].take()
}

/// Parts that mention the same variables, by their places in order.
type Group = (Vec<VarId>, VecDeque<usize>);

/// The conjuncts that are not joined yet.
struct Pool<R> {
    conjuncts: Vec<Option<Conjunct<R>>>,
    /// How many conjuncts mention a variable.
    mentioned: HashMap<VarId, usize>,
    heavy: Vec<usize>,
}

impl<R: Clone> Pool<R> {
    fn new(conjuncts: Vec<Conjunct<R>>) -> Self {
        let mut mentioned = HashMap::default();
        for var in conjuncts.iter().flat_map(|conjunct| &conjunct.vars) {
            *mentioned.entry(*var).or_insert(0) += 1;
        }
        let heavy = (0..conjuncts.len()).filter(|at| conjuncts[*at].heavy).collect();
        Pool { conjuncts: conjuncts.into_iter().map(Some).collect(), mentioned, heavy }
    }

    /// Joins filters to what they filter, the first filter first.
    fn join_filters(
        &mut self,
        bound: &BTreeSet<VarId>,
        go_on: GoOn,
        join: &mut impl FnMut(R, R, &[VarId]) -> R,
    ) -> Option<()> {
        for start in 0..self.conjuncts.len() {
            let mut at = start;
            // A conjunct that lost variables to a join may be a filter from then on; others do not change.
            while let Some(host) = self.host(at, go_on)? {
                // Of what a filter does not mention nothing is quantified yet: the filter may leave little to quantify.
                let own = &self.conjuncts[at].as_ref()?.vars;
                let own = bound.intersection(own).copied().collect();
                self.merge(host, at, &own, join);
                if host > start {
                    break;
                }
                at = host;
            }
        }
        Some(())
    }

    /// The first conjunct that another one only filters.
    fn host(&self, at: usize, go_on: GoOn) -> Option<Option<usize>> {
        let Some(filter) = &self.conjuncts[at] else { return Some(None) };
        for (count, &other) in self.heavy.iter().enumerate() {
            if count % 1024 == 0 && !go_on() {
                return None;
            }
            let Some(host) = self.conjuncts[other].as_ref().filter(|_| other != at) else { continue };
            if filter.vars.is_subset(&host.vars) && (!filter.heavy || filter.vars.len() < host.vars.len()) {
                return Some(Some(other));
            }
        }
        Some(None)
    }

    /// The conjuncts other than the first, by what they mention.
    fn groups(&self, first: usize) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let mut known: HashMap<Vec<VarId>, usize> = HashMap::default();
        for (at, conjunct) in self.conjuncts.iter().enumerate().skip(first + 1) {
            let Some(conjunct) = conjunct else { continue };
            let vars: Vec<VarId> = conjunct.vars.iter().copied().collect();
            let group = *known.entry(vars.clone()).or_insert(groups.len());
            match groups.get_mut(group) {
                Some((_, members)) => members.push_back(at),
                None => groups.push((vars, VecDeque::from([at]))),
            }
        }
        groups
    }

    /// The group to join next: one that shares a variable with the first conjunct, then one after which the fewest variables
    /// are left, then the one that comes first.
    fn best(
        &self,
        first: usize,
        groups: &[Group],
        bound: &BTreeSet<VarId>,
        go_on: GoOn,
    ) -> Option<Option<usize>> {
        let vars = &self.conjuncts[first].as_ref()?.vars;
        let stays = |var: &VarId, others: usize| !bound.contains(var) || others > 0;
        let before = vars.iter().filter(|var| stays(var, self.mentioned[var] - 1)).count();
        let mut best = None;
        for (at, (group, members)) in groups.iter().enumerate() {
            if at % 1024 == 0 && !go_on() {
                return None;
            }
            let mut left = before;
            let mut disjoint = true;
            for var in group {
                let count = self.mentioned[var];
                if vars.contains(var) {
                    disjoint = false;
                    left -= (stays(var, count - 1) && !stays(var, count - 2)) as usize;
                } else {
                    left += stays(var, count - 1) as usize;
                }
            }
            let key = (disjoint, left, members[0]);
            if best.is_none_or(|(known, _)| key < known) {
                best = Some((key, at));
            }
        }
        Some(best.map(|(_, at)| at))
    }

    /// Joins conjunct `b` to conjunct `a`, and quantifies the variables that no other conjunct mentions, as far as they may go.
    fn merge(
        &mut self,
        a: usize,
        b: usize,
        may_go: &BTreeSet<VarId>,
        join: &mut impl FnMut(R, R, &[VarId]) -> R,
    ) {
        let (Some(other), Some(host)) = (self.conjuncts[b].take(), self.conjuncts[a].as_mut()) else {
            return;
        };
        for var in other.vars {
            if !host.vars.insert(var) {
                self.mentioned.entry(var).and_modify(|count| *count -= 1);
            }
        }
        let gone: Vec<VarId> = may_go.iter().filter(|var| self.mentioned[var] == 1).copied().collect();
        for var in &gone {
            host.vars.remove(var);
            self.mentioned.remove(var);
        }
        host.recipe = join(host.recipe.clone(), other.recipe, &gone);
        host.heavy |= other.heavy;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recipe that can be read: what was joined, and what was quantified.
    fn joined(a: String, b: String, gone: &[VarId]) -> String {
        let gone: Vec<String> = gone.iter().map(|var| var.0.to_string()).collect();
        format!("({a} {b} [{}])", gone.join(","))
    }

    fn remove(conjuncts: &mut Vec<Conjunct<String>>, a: usize, b: usize, may_go: &BTreeSet<VarId>) {
        let other = conjuncts.remove(b);
        let a = if b < a { a - 1 } else { a };
        let mut vars: BTreeSet<VarId> = conjuncts[a].vars.union(&other.vars).copied().collect();
        let elsewhere = |var: &VarId| {
            conjuncts.iter().enumerate().any(|(at, conjunct)| at != a && conjunct.vars.contains(var))
        };
        let gone: Vec<VarId> =
            vars.iter().filter(|var| may_go.contains(var) && !elsewhere(var)).copied().collect();
        vars.retain(|var| !gone.contains(var));
        let recipe = joined(conjuncts[a].recipe.clone(), other.recipe, &gone);
        conjuncts[a] = Conjunct { recipe, vars, heavy: conjuncts[a].heavy || other.heavy };
    }

    /// The order by its definition, without counting: every pair is looked at before every join.
    fn by_definition(mut conjuncts: Vec<Conjunct<String>>, bound: &BTreeSet<VarId>) -> String {
        let filters = |filter: &Conjunct<String>, host: &Conjunct<String>| {
            host.heavy
                && filter.vars.is_subset(&host.vars)
                && (!filter.heavy || filter.vars.len() < host.vars.len())
        };
        let pair = |conjuncts: &[Conjunct<String>]| {
            let pairs = (0..conjuncts.len()).flat_map(|at| (0..conjuncts.len()).map(move |host| (host, at)));
            pairs.into_iter().find(|&(host, at)| host != at && filters(&conjuncts[at], &conjuncts[host]))
        };
        while let Some((host, at)) = pair(&conjuncts) {
            let own = bound.intersection(&conjuncts[at].vars).copied().collect();
            remove(&mut conjuncts, host, at, &own);
        }
        while conjuncts.len() > 1 {
            let left = |at: &usize| {
                let mentioned = |var: &VarId| {
                    (1..conjuncts.len()).any(|other| other != *at && conjuncts[other].vars.contains(var))
                };
                let union = conjuncts[0].vars.union(&conjuncts[*at].vars);
                let left = union.filter(|var| !bound.contains(var) || mentioned(var)).count();
                (conjuncts[0].vars.is_disjoint(&conjuncts[*at].vars), left)
            };
            let next = (1..conjuncts.len()).min_by_key(left).expect("there is another conjunct");
            remove(&mut conjuncts, 0, next, bound);
        }
        conjuncts.remove(0).recipe
    }

    #[test]
    fn the_order_is_that_of_the_definition() {
        let mut seed = 1u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..3_000 {
            let (count, vars) = (1 + random(9), 1 + random(7));
            let conjuncts: Vec<Conjunct<String>> = (0..count)
                .map(|at| Conjunct {
                    recipe: at.to_string(),
                    vars: (0..random(4)).map(|_| VarId(random(vars) as u32)).collect(),
                    heavy: random(3) == 0,
                })
                .collect();
            let bound = (0..vars as u32).map(VarId).filter(|_| random(2) == 0).collect();
            let fast =
                join_all(conjuncts.clone(), &bound, &mut || true, joined).map(|conjunct| conjunct.recipe);
            assert_eq!(fast, Some(by_definition(conjuncts.clone(), &bound)), "{conjuncts:?} {bound:?}");
        }
    }

    #[test]
    fn it_stops_when_it_is_told_to() {
        let conjunct = |at: u32| Conjunct { recipe: at.to_string(), vars: [VarId(at)].into(), heavy: false };
        let conjuncts: Vec<Conjunct<String>> = (0..100).map(conjunct).collect();
        let mut left = 10;
        let mut go_on = || {
            left -= 1;
            left > 0
        };
        assert!(join_all(conjuncts, &BTreeSet::new(), &mut go_on, joined).is_none());
    }
}
