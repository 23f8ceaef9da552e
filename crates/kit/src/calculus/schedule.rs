//! Room `kit`: in which order the parts of a conjunction are joined.
//!
//! # Idea
//!
//! Diagrams grow with the variables they mention. So a part that mentions nothing but what another mentions, a filter,
//! is joined to that first; then parts are joined one by one, always the one after which the fewest variables are left.
//! A variable is quantified in the very join after which nobody mentions it.
//!
//! # Paper
//!
//! \[burch\] for quantifying early. The order is a greedy one.

use super::VarId;
use std::collections::BTreeSet;

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

/// Joins parts, of which the first is where to begin. `join` makes one part of two while it quantifies variables.
pub fn join_all<R: Clone>(
    mut parts: Vec<Part<R>>,
    bound: &BTreeSet<VarId>,
    mut join: impl FnMut(R, R, &[VarId]) -> R,
) -> Part<R> {
    while let Some((host, filter)) = filter(&parts) {
        // Of what a filter does not mention nothing is quantified yet: the filter may leave little to quantify.
        let own = bound.intersection(&parts[filter].vars).copied().collect();
        merge(&mut parts, host, filter, &own, &mut join);
    }
    while parts.len() > 1 {
        let left = |at: usize| {
            let union = parts[0].vars.union(&parts[at].vars);
            let mentioned =
                |var: &VarId| (1..parts.len()).any(|other| other != at && parts[other].vars.contains(var));
            let left = union.filter(|var| !bound.contains(var) || mentioned(var)).count();
            (parts[0].vars.is_disjoint(&parts[at].vars), left)
        };
        let next = (1..parts.len()).min_by_key(|&at| left(at)).expect("there is another part");
        merge(&mut parts, 0, next, bound, &mut join);
    }
    parts.remove(0)
}

/// Joins part `b` to part `a`, and quantifies what may go and nobody else mentions.
fn merge<R: Clone>(
    parts: &mut Vec<Part<R>>,
    a: usize,
    b: usize,
    may_go: &BTreeSet<VarId>,
    join: &mut impl FnMut(R, R, &[VarId]) -> R,
) {
    let other = parts.remove(b);
    let a = if b < a { a - 1 } else { a };
    let mut vars: BTreeSet<VarId> = parts[a].vars.union(&other.vars).copied().collect();
    let elsewhere =
        |var: &VarId| parts.iter().enumerate().any(|(at, part)| at != a && part.vars.contains(var));
    let gone: Vec<VarId> =
        vars.iter().filter(|var| may_go.contains(var) && !elsewhere(var)).copied().collect();
    vars.retain(|var| !gone.contains(var));
    let recipe = join(parts[a].recipe.clone(), other.recipe, &gone);
    parts[a] = Part { recipe, vars, heavy: parts[a].heavy || other.heavy };
}

/// A part, and one that only filters it.
fn filter<R>(parts: &[Part<R>]) -> Option<(usize, usize)> {
    let filters = |at: usize, host: usize| {
        let (filter, host) = (&parts[at], &parts[host]);
        host.heavy
            && filter.vars.is_subset(&host.vars)
            && (!filter.heavy || filter.vars.len() < host.vars.len())
    };
    let mut pairs = (0..parts.len()).flat_map(|at| (0..parts.len()).map(move |host| (host, at)));
    pairs.find(|&(host, at)| host != at && filters(at, host))
}
