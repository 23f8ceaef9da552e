//! Room `engine/encode`: how much variables have to do with each other, and an order in which those that do are close.
//!
//! # Idea
//!
//! Two variables are *tied* if they are the operands of an operator, if one is assigned to the other, or if a call passes one as the
//! other. (Ties between neighbours in larger expressions were tried, and make most diagrams larger: it is chance who stands there.) An order is grown one member at a time. Each variable that is not in it yet has a *pull*: the sum of its ties to
//! members, in which the ties of the last member count in full, and those of each member by a quarter less with every member
//! that came after it. The variable with the greatest pull is next.
//!
//! Where no tie leads on, the next component begins (variables that are connected by chains of ties), and **the smallest component comes first**, counted in variables. Let a set relate `c` bits of one
//! component to the bits of another. If the `c` bits are tested first, then at most 2<sup>c</sup> different functions of the others are
//! left to be tested. If they are tested last, there may be as many as there are functions of `c` bits, 2 to the power of 2<sup>c</sup>.
//! Flags and counters are small components, and are often what the others depend on.
//!
//! The pull is raised by up to a third, by the share of its ties that go to members: such a variable opens few new ties.
//! So a copy that is compared with its original and nothing else stands right behind it, and is not left for later because
//! the original has other partners.
//!
//! Procedures of one placement ([`super::arrangement`]) are arranged alike, so ties are collected for the first of them. Of its
//! edges of one class only one is looked at, and its ties count as often as the placement has edges of that class.
//!
//! # Cost
//!
//! A priority queue: the number of ties, times its logarithm.

use super::columns::{Node, Nodes};
use super::machine::code::Machine;
use postbop_ir::{Action, EdgeId, Expr, Op, ProcId, Program, Table, VarId};
use postbop_kit::groups::Groups;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How strong a tie is between the two operands of an operator, and between a variable and the only variable that its
/// value is computed from. Of several such variables each has its share.
const STRONG: u32 = 16;

/// Two nodes that are tied, and how strongly. There may be several ties between the same two.
pub type Tie = (Node, Node, u32);

/// The ties of a program.
pub struct Affinities {
    /// The ties within procedures: between globals and the locals and results of the first procedure of each placement.
    within: Partners,
    /// The ties between callers and callees, of every call.
    pub calls: Vec<Tie>,
}

impl Affinities {
    /// The ties of a program, given the placement of each procedure and the first procedure of each placement.
    pub fn new(machine: &Machine, nodes: &Nodes, placement: &Table<ProcId, u32>, firsts: &[ProcId]) -> Self {
        let (program, classes) = (machine.program, &machine.classes);
        let edges = classes.edges.pairs().map(|(id, &class)| (class as usize, id.0));
        let by_class = Groups::new(classes.edge_classes, edges);
        let mut collector = Collector { nodes, ties: Vec::new() };
        // For each placement how many edges it has of the class at hand that no other edge has spoken for.
        let mut counts = vec![0u32; firsts.len()];
        for class in 0..classes.edge_classes {
            let edges = by_class.of(class).iter().map(|&edge| &program.edges()[EdgeId(edge)]);
            let edges = edges.map(|edge| (program.locs()[edge.from].proc, edge));
            edges.clone().for_each(|(proc, _)| counts[placement[proc] as usize] += 1);
            for (proc, edge) in edges {
                let count = std::mem::take(&mut counts[placement[proc] as usize]);
                if count > 0 {
                    let start = collector.ties.len();
                    collector.action(proc, &edge.action);
                    let first = firsts[placement[proc] as usize];
                    let twin = |node: Node| {
                        let place = nodes.place(machine, node);
                        place.map_or(node, |place| nodes.at(program, first, place))
                    };
                    for (a, b, strength) in &mut collector.ties[start..] {
                        (*a, *b, *strength) = (twin(*a), twin(*b), strength.saturating_mul(count));
                    }
                }
            }
        }
        Affinities { within: Partners::new(nodes.len(), &collector.ties), calls: of_calls(program, nodes) }
    }

    /// The partners of a global, or of a local or a result of the first procedure of a placement, in order, and how strongly
    /// each is tied to it.
    pub fn partners(&self, node: Node) -> &[(Node, u32)] {
        self.within.of(node)
    }
}

/// The ties of a program in which every procedure has an order of its own: those within procedures, and those between callers and callees.
pub fn ties(program: &Program, nodes: &Nodes) -> Vec<Tie> {
    let mut collector = Collector { nodes, ties: of_calls(program, nodes) };
    for edge in program.edges().iter() {
        collector.action(program.locs()[edge.from].proc, &edge.action);
    }
    collector.ties
}

/// The ties between callers and callees.
fn of_calls(program: &Program, nodes: &Nodes) -> Vec<Tie> {
    let mut calls = Collector { nodes, ties: Vec::new() };
    for edge in program.edges().iter() {
        let Action::Call { callee, args, results } = &edge.action else { continue };
        for (&param, arg) in program.procs()[*callee].params().iter().zip(args) {
            calls.stored(nodes.var(param), arg);
        }
        for (at, receiver) in results.iter().enumerate() {
            let result = nodes.result(*callee, at);
            receiver.iter().for_each(|&var| calls.tie(result, nodes.var(var), STRONG));
        }
    }
    calls.ties
}

/// For each node its partners, in order, and how strongly each is tied to it. All ties between the same two are one.
struct Partners {
    list: Vec<(Node, u32)>,
    /// For each node where its partners are in the list.
    ranges: Vec<(u32, u32)>,
}

impl Partners {
    /// The partners of nodes below `count`.
    fn new(count: usize, ties: &[Tie]) -> Self {
        // Number 2i is the first end of tie i, and 2i + 1 the second.
        let numbered = |(at, &(a, b, _)): (usize, &Tie)| {
            let at = 2 * at as u32;
            [(a as usize, at), (b as usize, at + 1)]
        };
        let ends = Groups::new(count, ties.iter().enumerate().flat_map(numbered));
        let mut list: Vec<(Node, u32)> = vec![(0, 0); 2 * ties.len()];
        let mut ranges: Vec<(u32, u32)> =
            (0..count).map(|node| ends.range(node).start as u32).map(|start| (start, start)).collect();
        // Partner by partner: so each list is in order, and ties between the same two meet.
        for partner in 0..count as u32 {
            for &end in ends.of(partner as usize) {
                let (a, b, strength) = ties[end as usize / 2];
                let node = if end.is_multiple_of(2) { b } else { a };
                let (start, end) = &mut ranges[node as usize];
                match list[*start as usize..*end as usize].last_mut() {
                    Some((last, sum)) if *last == partner => *sum = sum.saturating_add(strength),
                    _ => {
                        list[*end as usize] = (partner, strength);
                        *end += 1;
                    }
                }
            }
        }
        Partners { list, ranges }
    }

    /// For each node the size of its component: how many nodes a chain of ties leads to.
    fn component_sizes(&self) -> Vec<u32> {
        let mut sizes = vec![0; self.ranges.len()];
        let mut component = Vec::new();
        for start in 0..sizes.len() as u32 {
            if sizes[start as usize] > 0 {
                continue;
            }
            component.clear();
            component.push(start);
            sizes[start as usize] = 1;
            let mut done = 0;
            while let Some(&node) = component.get(done) {
                done += 1;
                for &(partner, _) in self.of(node) {
                    if std::mem::replace(&mut sizes[partner as usize], 1) == 0 {
                        component.push(partner);
                    }
                }
            }
            component.iter().for_each(|&node| sizes[node as usize] = done as u32);
        }
        sizes
    }

    fn of(&self, node: Node) -> &[(Node, u32)] {
        let (start, end) = self.ranges[node as usize];
        &self.list[start as usize..end as usize]
    }
}

struct Collector<'a> {
    nodes: &'a Nodes,
    ties: Vec<Tie>,
}

impl Collector<'_> {
    fn tie(&mut self, a: Node, b: Node, strength: u32) {
        if a != b {
            self.ties.push((a, b, strength));
        }
    }

    /// Ties the target of a value to the variables from which the value is computed.
    fn stored(&mut self, target: Node, value: &Expr) {
        let reads: SmallVec<[VarId; 8]> = value.reads().take(8).collect();
        reads.iter().for_each(|&read| self.tie(target, self.nodes.var(read), STRONG / reads.len() as u32));
    }

    fn action(&mut self, proc: ProcId, action: &Action) {
        action.exprs().for_each(|expr| self.within(expr));
        match action {
            Action::Assign { targets, values, .. } => {
                targets
                    .iter()
                    .zip(values)
                    .for_each(|(&target, value)| self.stored(self.nodes.var(target), value));
            }
            Action::Return(values) => {
                let results = values.iter().enumerate();
                results.for_each(|(at, value)| self.stored(self.nodes.result(proc, at), value));
            }
            _ => {}
        }
    }

    /// Ties the operands of operators to each other, where they mention one variable each.
    fn within(&mut self, expr: &Expr) {
        // For each operand the first and the last variable in it, which are the same if there is only one.
        let mut stack: SmallVec<[(Option<VarId>, Option<VarId>); 8]> = SmallVec::new();
        for &op in &expr.code {
            let operands = &stack[stack.len() - op.arity()..];
            let ends = match op {
                Op::Var(var) | Op::Next(var) => (Some(var), Some(var)),
                _ => {
                    for pair in operands.windows(2) {
                        let single = pair.iter().all(|(first, last)| first == last);
                        if let (true, Some(a), Some(b)) = (single, pair[0].1, pair[1].0) {
                            self.tie(self.nodes.var(a), self.nodes.var(b), STRONG);
                        }
                    }
                    let first = operands.iter().find_map(|operand| operand.0);
                    let last = operands.iter().rev().find_map(|operand| operand.1);
                    (first, last)
                }
            };
            stack.truncate(stack.len() - op.arity());
            stack.push(ends);
        }
    }
}

/// The numbers below `count`, in an order in which those that are tied are close. Among equals those in a smaller component are first,
/// and then the least.
pub fn order(count: usize, ties: &[Tie]) -> Vec<u32> {
    let partners = Partners::new(count, ties);
    let mut pull = vec![0f64; count];
    // For each node how strong its ties are in all, and how strong those to members.
    let (mut all, mut inner) = (vec![0f64; count], vec![0f64; count]);
    for &(a, b, strength) in ties {
        all[a as usize] += strength as f64;
        all[b as usize] += strength as f64;
    }
    let sizes = partners.component_sizes();
    // As bits, since floats that are not negative compare like their bits.
    let key = |at: u32, pull: &[f64], inner: &[f64]| {
        let place = at as usize;
        let pull = if all[place] > 0.0 { pull[place] * (3.0 + inner[place] / all[place]) } else { 0.0 };
        (pull.to_bits(), Reverse(sizes[place]), Reverse(at))
    };
    let mut queue: BinaryHeap<_> = (0..count as u32).map(|at| key(at, &pull, &inner)).collect();
    let mut placed = vec![false; count];
    let mut ordered = Vec::with_capacity(count);
    // Instead of lessening the pulls there are with each new member, its ties weigh more than those before.
    let mut weight = 1f64;
    while let Some(found) = queue.pop() {
        let (_, _, Reverse(at)) = found;
        // If its key has grown since, the node is in the queue once more.
        if placed[at as usize] || found != key(at, &pull, &inner) {
            continue;
        }
        placed[at as usize] = true;
        ordered.push(at);
        weight *= 4.0 / 3.0;
        if weight > 1e200 {
            pull.iter_mut().for_each(|pull| *pull /= weight);
            weight = 1.0;
            queue = (0..count as u32).map(|at| key(at, &pull, &inner)).collect();
        }
        for &(partner, strength) in partners.of(at) {
            if !placed[partner as usize] {
                pull[partner as usize] += strength as f64 * weight;
                inner[partner as usize] += strength as f64;
                queue.push(key(partner, &pull, &inner));
            }
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_component_comes_first() {
        // 0 to 3 are a chain, 4 and 5 a pair, and 6 is alone.
        let ties = [(0, 1, STRONG), (1, 2, STRONG), (2, 3, STRONG), (4, 5, STRONG)];
        assert_eq!(order(7, &ties), [6, 4, 5, 0, 1, 2, 3]);
    }

    #[test]
    fn a_copy_stands_behind_its_original() {
        // 3 is a copy of 0 and tied to nothing else; 1 is tied to 0 as strongly, and to 2 as well.
        let ties = [(0, 1, STRONG), (1, 2, STRONG), (0, 3, STRONG)];
        assert_eq!(order(4, &ties), [0, 3, 1, 2]);
    }
}
