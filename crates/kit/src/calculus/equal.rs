//! Room `kit`: variables that are equal by a condition of the conjunction they are bound in.
//!
//! They share one place, which saves the condition. Two variables that one relation is applied to stay apart: a relation
//! keeps its arguments at different places.

use super::{Node, NodeId, Slice, System, VarId};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Variables and the one that stands for all that are equal.
#[derive(Default)]
pub struct EqualVars {
    first: HashMap<VarId, VarId>,
    /// For each variable that stands for others, those others.
    members: HashMap<VarId, Vec<VarId>>,
}

impl EqualVars {
    /// Takes from a conjunction the equations that say that a bound variable equals another one.
    pub fn find(system: &System, parts: &mut Vec<NodeId>, bound: &[VarId]) -> EqualVars {
        let mut equal = EqualVars::default();
        if !parts.iter().any(|part| matches!(system.get(*part), Node::Equal(..))) {
            return equal;
        }
        let bound: HashSet<VarId> = bound.iter().copied().collect();
        let applied = applied(system, parts);
        parts.retain(|&part| {
            let Node::Equal(a, b) = system.get(part) else { return true };
            let whole = |slice: &Slice| *slice == system.whole(slice.var);
            if !whole(a) || !whole(b) || system.vars[a.var.0 as usize] != system.vars[b.var.0 as usize] {
                return true;
            }
            let (a, b) = (equal.first(a.var), equal.first(b.var));
            let (from, to) = if bound.contains(&a) { (a, b) } else { (b, a) };
            if from == to || !bound.contains(&from) || equal.meet(from, to, &applied) {
                return true;
            }
            equal.join(from, to);
            false
        });
        equal
    }

    /// The variable that stands for all that are equal to this one.
    pub fn first(&self, var: VarId) -> VarId {
        self.first.get(&var).copied().unwrap_or(var)
    }

    /// Whether no two are equal.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Whether some relation is applied to a variable of either class.
    fn meet(&self, from: VarId, to: VarId, applied: &HashMap<VarId, Vec<&[VarId]>>) -> bool {
        let class = self.members.get(&from).into_iter().flatten().chain([&from]);
        let mut lists = class.filter_map(|var| applied.get(var)).flatten();
        lists.any(|args| args.iter().any(|arg| self.first(*arg) == to))
    }

    fn join(&mut self, from: VarId, to: VarId) {
        let mut moved = self.members.remove(&from).unwrap_or_default();
        moved.push(from);
        self.first.extend(moved.iter().map(|var| (*var, to)));
        self.members.entry(to).or_default().extend(moved);
    }
}

/// For each variable the arguments of the relations in these formulas that are applied to it.
fn applied<'s>(system: &'s System, parts: &[NodeId]) -> HashMap<VarId, Vec<&'s [VarId]>> {
    let mut found: HashMap<VarId, Vec<&[VarId]>> = HashMap::default();
    let mut work = parts.to_vec();
    while let Some(node) = work.pop() {
        match system.get(node) {
            Node::And(parts) | Node::Or(parts) => work.extend(parts),
            Node::Not(part) | Node::Exists(_, part) => work.push(*part),
            Node::Apply(_, args) => {
                args.iter().for_each(|arg| found.entry(*arg).or_default().push(args));
            }
            _ => {}
        }
    }
    found
}
