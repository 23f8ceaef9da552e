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
    let mut merge = |parts: &mut Vec<Part<R>>, a: usize, b: usize| {
        let other = parts.remove(b);
        let a = if b < a { a - 1 } else { a };
        let union: BTreeSet<VarId> = parts[a].vars.union(&other.vars).copied().collect();
        let needed = |var: &VarId| {
            !bound.contains(var) || parts.iter().enumerate().any(|(at, p)| at != a && p.vars.contains(var))
        };
        let (kept, gone): (BTreeSet<VarId>, Vec<VarId>) = {
            let (kept, gone): (Vec<VarId>, Vec<VarId>) = union.into_iter().partition(needed);
            (kept.into_iter().collect(), gone)
        };
        let recipe = join(parts[a].recipe.clone(), other.recipe, &gone);
        parts[a] = Part { recipe, vars: kept, heavy: parts[a].heavy || other.heavy };
    };
    while let Some((host, filter)) = filter(&parts) {
        merge(&mut parts, host, filter);
    }
    while parts.len() > 1 {
        let left = |at: usize| {
            let union = parts[0].vars.union(&parts[at].vars);
            let mentioned = |var: &VarId| {
                (1..parts.len()).any(|other| other != at && parts[other].vars.contains(var))
            };
            let left = union.filter(|var| !bound.contains(var) || mentioned(var)).count();
            (parts[0].vars.is_disjoint(&parts[at].vars), left)
        };
        let next = (1..parts.len()).min_by_key(|&at| left(at)).expect("there is another part");
        merge(&mut parts, 0, next);
    }
    parts.remove(0)
}

/// A part, and one that only filters it.
fn filter<R>(parts: &[Part<R>]) -> Option<(usize, usize)> {
    let light = (0..parts.len()).filter(|&at| !parts[at].heavy);
    for at in light {
        let host = |&other: &usize| {
            other != at && parts[other].heavy && parts[at].vars.is_subset(&parts[other].vars)
        };
        if let Some(host) = (0..parts.len()).find(host) {
            return Some((host, at));
        }
    }
    None
}
