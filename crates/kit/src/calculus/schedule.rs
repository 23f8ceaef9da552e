//! Room `kit`: the join order of a conjunction.
//!
//! # Idea
//!
//! Diagrams grow with the variables they mention. So a part that mentions only variables of another part, a filter,
//! is joined to that part first; then parts are joined one by one, always the one after which the fewest variables are left.
//! A variable is quantified in the very join after which no part mentions it.
//!
//! # Paper
//!
//! \[burch\] for quantifying early. The order is a greedy one.
//!
//! # Cost
//!
//! It is counted how many parts mention each variable, and parts that mention the same variables are looked at as one.
//! So a join costs as much as there are different sets of variables. Formulas can be as wide as files are long: the
//! caller is asked now and then whether to go on.

use super::VarId;
use rustc_hash::FxHashMap as HashMap;
use std::collections::{BTreeSet, VecDeque};

/// A part of a conjunction.
#[derive(Clone, Debug)]
pub struct Part<R> {
    /// How it is made.
    pub recipe: R,
    /// The variables it mentions.
    pub vars: BTreeSet<VarId>,
    /// Whether it depends on relations that are being computed.
    pub heavy: bool,
}

/// Asked now and then, says whether to go on.
pub type GoOn<'g> = &'g mut dyn FnMut() -> bool;

/// Joins parts, of which the first is where to begin. `join` makes one part of two while it quantifies variables. None if
/// it is told to stop.
pub fn join_all<R: Clone>(
    parts: Vec<Part<R>>,
    bound: &BTreeSet<VarId>,
    go_on: GoOn,
    mut join: impl FnMut(R, R, &[VarId]) -> R,
) -> Option<Part<R>> {
    let mut pool = Pool::new(parts);
    pool.join_filters(bound, go_on, &mut join)?;
    let first = pool.parts.iter().position(Option::is_some)?;
    let mut groups = pool.groups(first);
    while let Some(next) = pool.best(first, &groups, bound, go_on)? {
        let members = &mut groups[next].1;
        let at = members.pop_front().expect("no group is empty");
        if members.is_empty() {
            groups.swap_remove(next);
        }
        let whole = pool.parts[first].as_ref()?.vars.iter().copied().collect::<Vec<_>>();
        let own = pool.parts[at].as_ref()?.vars.iter().copied().collect::<Vec<_>>();
        let may_go = whole.iter().chain(&own).filter(|var| bound.contains(var)).copied().collect();
        pool.merge(first, at, &may_go, &mut join);
    }
    pool.parts[first].take()
}

/// Parts that mention the same variables, by their places in order.
type Group = (Vec<VarId>, VecDeque<usize>);

/// The parts that are not joined yet.
struct Pool<R> {
    parts: Vec<Option<Part<R>>>,
    /// How many parts mention a variable.
    mentioned: HashMap<VarId, usize>,
    heavy: Vec<usize>,
}

impl<R: Clone> Pool<R> {
    fn new(parts: Vec<Part<R>>) -> Self {
        let mut mentioned = HashMap::default();
        for var in parts.iter().flat_map(|part| &part.vars) {
            *mentioned.entry(*var).or_insert(0) += 1;
        }
        let heavy = (0..parts.len()).filter(|at| parts[*at].heavy).collect();
        Pool { parts: parts.into_iter().map(Some).collect(), mentioned, heavy }
    }

    /// Joins filters to what they filter, the first filter first.
    fn join_filters(
        &mut self,
        bound: &BTreeSet<VarId>,
        go_on: GoOn,
        join: &mut impl FnMut(R, R, &[VarId]) -> R,
    ) -> Option<()> {
        for start in 0..self.parts.len() {
            let mut at = start;
            // A part that lost variables to a join may be a filter from then on; others do not change.
            while let Some(host) = self.host(at, go_on)? {
                // Of what a filter does not mention nothing is quantified yet: the filter may leave little to quantify.
                let own = &self.parts[at].as_ref()?.vars;
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

    /// The first part that another one only filters.
    fn host(&self, at: usize, go_on: GoOn) -> Option<Option<usize>> {
        let Some(filter) = &self.parts[at] else { return Some(None) };
        for (count, &other) in self.heavy.iter().enumerate() {
            if count % 1024 == 0 && !go_on() {
                return None;
            }
            let Some(host) = self.parts[other].as_ref().filter(|_| other != at) else { continue };
            if filter.vars.is_subset(&host.vars) && (!filter.heavy || filter.vars.len() < host.vars.len()) {
                return Some(Some(other));
            }
        }
        Some(None)
    }

    /// The parts other than the first, by what they mention.
    fn groups(&self, first: usize) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let mut known: HashMap<Vec<VarId>, usize> = HashMap::default();
        for (at, part) in self.parts.iter().enumerate().skip(first + 1) {
            let Some(part) = part else { continue };
            let vars: Vec<VarId> = part.vars.iter().copied().collect();
            let group = *known.entry(vars.clone()).or_insert(groups.len());
            match groups.get_mut(group) {
                Some((_, members)) => members.push_back(at),
                None => groups.push((vars, VecDeque::from([at]))),
            }
        }
        groups
    }

    /// The group to join next: one that shares a variable with the first part, then one after which the fewest variables
    /// are left, then the one that comes first.
    fn best(
        &self,
        first: usize,
        groups: &[Group],
        bound: &BTreeSet<VarId>,
        go_on: GoOn,
    ) -> Option<Option<usize>> {
        let vars = &self.parts[first].as_ref()?.vars;
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

    /// Joins part `b` to part `a`, and quantifies the variables that no other part mentions, as far as they may go.
    fn merge(
        &mut self,
        a: usize,
        b: usize,
        may_go: &BTreeSet<VarId>,
        join: &mut impl FnMut(R, R, &[VarId]) -> R,
    ) {
        let (Some(other), Some(host)) = (self.parts[b].take(), self.parts[a].as_mut()) else { return };
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

    fn remove(parts: &mut Vec<Part<String>>, a: usize, b: usize, may_go: &BTreeSet<VarId>) {
        let other = parts.remove(b);
        let a = if b < a { a - 1 } else { a };
        let mut vars: BTreeSet<VarId> = parts[a].vars.union(&other.vars).copied().collect();
        let elsewhere =
            |var: &VarId| parts.iter().enumerate().any(|(at, part)| at != a && part.vars.contains(var));
        let gone: Vec<VarId> =
            vars.iter().filter(|var| may_go.contains(var) && !elsewhere(var)).copied().collect();
        vars.retain(|var| !gone.contains(var));
        let recipe = joined(parts[a].recipe.clone(), other.recipe, &gone);
        parts[a] = Part { recipe, vars, heavy: parts[a].heavy || other.heavy };
    }

    /// The order by its definition, without counting: every pair is looked at before every join.
    fn by_definition(mut parts: Vec<Part<String>>, bound: &BTreeSet<VarId>) -> String {
        let filters = |filter: &Part<String>, host: &Part<String>| {
            host.heavy
                && filter.vars.is_subset(&host.vars)
                && (!filter.heavy || filter.vars.len() < host.vars.len())
        };
        let pair = |parts: &[Part<String>]| {
            let pairs = (0..parts.len()).flat_map(|at| (0..parts.len()).map(move |host| (host, at)));
            pairs.into_iter().find(|&(host, at)| host != at && filters(&parts[at], &parts[host]))
        };
        while let Some((host, at)) = pair(&parts) {
            let own = bound.intersection(&parts[at].vars).copied().collect();
            remove(&mut parts, host, at, &own);
        }
        while parts.len() > 1 {
            let left = |at: &usize| {
                let mentioned = |var: &VarId| {
                    (1..parts.len()).any(|other| other != *at && parts[other].vars.contains(var))
                };
                let union = parts[0].vars.union(&parts[*at].vars);
                let left = union.filter(|var| !bound.contains(var) || mentioned(var)).count();
                (parts[0].vars.is_disjoint(&parts[*at].vars), left)
            };
            let next = (1..parts.len()).min_by_key(left).expect("there is another part");
            remove(&mut parts, 0, next, bound);
        }
        parts.remove(0).recipe
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
            let parts: Vec<Part<String>> = (0..count)
                .map(|at| Part {
                    recipe: at.to_string(),
                    vars: (0..random(4)).map(|_| VarId(random(vars) as u32)).collect(),
                    heavy: random(3) == 0,
                })
                .collect();
            let bound = (0..vars as u32).map(VarId).filter(|_| random(2) == 0).collect();
            let fast = join_all(parts.clone(), &bound, &mut || true, joined).map(|part| part.recipe);
            assert_eq!(fast, Some(by_definition(parts.clone(), &bound)), "{parts:?} {bound:?}");
        }
    }

    #[test]
    fn it_stops_when_it_is_told_to() {
        let part = |at: u32| Part { recipe: at.to_string(), vars: [VarId(at)].into(), heavy: false };
        let parts: Vec<Part<String>> = (0..100).map(part).collect();
        let mut left = 10;
        let mut go_on = || {
            left -= 1;
            left > 0
        };
        assert!(join_all(parts, &BTreeSet::new(), &mut go_on, joined).is_none());
    }
}
