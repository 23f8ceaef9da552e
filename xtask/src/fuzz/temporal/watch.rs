//! Room `xtask`: what formulas and monitors make of a run, position by position.
//!
//! # Idea
//! A formula is watched by guessing, at each position, which of its temporal subformulas are true there. Such a guess says what must be
//! true at the next position: `F a` without `a` means `F a` there, and `X a` means `a`. What was promised for later must come at last: each
//! temporal subformula has positions that are visited again and again if its guesses are right, as those at which `F a` is false or `a` is
//! true. No formula is negated, rewritten or made smaller. A monitor is watched as `docs/monitors.md` says.
//!
//! [`holds`] is the meaning of a formula on a run that ends in a loop, with no automaton at all.
//!
//! # Paper
//! The tableau of Lichtenstein and Pnueli, in the form that every textbook has.
//!
//! # Cost
//! Exponential in the temporal operators of a formula.

use super::read::{Formula, Monitor, Node, Op, Position};
use std::collections::HashSet;

/// What is kept from one position to the next: of a formula, the nodes that must have a value there, and their values; of a monitor,
/// its state.
pub type Memory = (u64, u64);

/// Reads a run position by position.
pub enum Watcher {
    /// Looks for runs on which the formula has this value.
    Formula(Formula, bool),
    /// Looks for runs that the monitor marks.
    Monitor(Monitor),
}

/// One way to read a position: what is kept, and the promises that are kept there, or that the monitor comes to a mark.
pub struct Reading {
    pub memory: Memory,
    pub kept: u64,
}

impl Watcher {
    /// What is kept before the first position.
    pub fn starts(&self) -> Vec<Memory> {
        match self {
            Watcher::Formula(formula, value) => {
                let whole = 1 << (formula.len() - 1);
                vec![(whole, if *value { whole } else { 0 })]
            }
            Watcher::Monitor(monitor) => {
                let initial = (0..monitor.states.len()).filter(|&state| monitor.states[state].1);
                initial.map(|state| (state as u64, 0)).collect()
            }
        }
    }

    /// The promises that must be kept again and again.
    pub fn promises(&self) -> u64 {
        match self {
            Watcher::Formula(formula, _) => {
                (0..formula.len()).filter(|&node| is_temporal(&formula[node])).map(|node| 1 << node).sum()
            }
            Watcher::Monitor(_) => 1,
        }
    }

    /// Whether one mark is enough.
    pub fn is_finite(&self) -> bool {
        matches!(self, Watcher::Monitor(monitor) if !monitor.repeats)
    }

    /// Whether the monitor begins in a marked state.
    pub fn is_marked_at_first(&self) -> bool {
        matches!(self, Watcher::Monitor(monitor) if monitor.states.iter().any(|state| state.1 && state.2))
    }

    /// Whether there is a way to read these positions, after the last of which the run goes on with that of a number or ends, that
    /// comes to a mark; if marks must come again and again, one that comes to the same state at the same position with a mark in between.
    pub fn marks(&self, positions: &[Position<'_>], repeats: Option<usize>) -> bool {
        let next = |at: usize| if at + 1 < positions.len() { Some(at + 1) } else { repeats };
        let after = |(at, memory): (usize, Memory)| -> Vec<((usize, Memory), bool)> {
            let Some(at_next) = next(at) else { return Vec::new() };
            let readings = self.read(memory, positions[at]).into_iter();
            readings.map(|reading| ((at_next, reading.memory), reading.kept != 0)).collect()
        };
        let reached = |starts: Vec<(usize, Memory)>| {
            let mut seen: HashSet<(usize, Memory)> = starts.iter().copied().collect();
            let mut work = starts;
            while let Some(at) = work.pop() {
                work.extend(after(at).into_iter().map(|(to, _)| to).filter(|to| seen.insert(*to)));
            }
            seen
        };
        let all = reached(self.starts().into_iter().map(|memory| (0, memory)).collect());
        if self.is_finite() {
            let marks = |&(at, memory): &(usize, Memory)| {
                self.read(memory, positions[at]).iter().any(|reading| reading.kept != 0)
            };
            return self.is_marked_at_first() || all.iter().any(marks);
        }
        let closes = |from: (usize, Memory)| {
            after(from).into_iter().any(|(to, marked)| marked && reached(vec![to]).contains(&from))
        };
        all.into_iter().any(closes)
    }

    /// All ways to read a position.
    pub fn read(&self, memory: Memory, at: Position<'_>) -> Vec<Reading> {
        match self {
            Watcher::Formula(formula, _) => guesses(formula, memory, at),
            Watcher::Monitor(monitor) => monitor.moves(memory.0 as usize, at),
        }
    }
}

fn is_temporal(node: &Node) -> bool {
    match node {
        Node::Const(_) | Node::Atom(_) => false,
        Node::Unary(op, _) => *op != Op::Not,
        Node::Binary(op, ..) => matches!(op, Op::Until | Op::Release | Op::WeakUntil | Op::StrongRelease),
    }
}

/// The value of a node without temporal operators, given the values of the nodes before it.
fn logical(op: Op, a: bool, b: bool) -> bool {
    match op {
        Op::Not => !a,
        Op::And => a && b,
        Op::Or => a || b,
        Op::Implies => !a || b,
        Op::Iff => a == b,
        _ => unreachable!("a temporal operator"),
    }
}

fn guesses(formula: &Formula, (required, wanted): Memory, at: Position<'_>) -> Vec<Reading> {
    let temporal: Vec<usize> = (0..formula.len()).filter(|&node| is_temporal(&formula[node])).collect();
    let mut readings = Vec::new();
    for guess in 0..1u64 << temporal.len() {
        let mut values = 0u64;
        for (number, node) in formula.iter().enumerate() {
            let value = |node: usize| values >> node & 1 == 1;
            let truth = match node {
                _ if is_temporal(node) => {
                    let place = temporal.iter().position(|&other| other == number).unwrap_or(0);
                    guess >> place & 1 == 1
                }
                Node::Const(truth) => *truth,
                Node::Atom(atom) => atom.is_true(at),
                Node::Unary(op, a) => logical(*op, value(*a), false),
                Node::Binary(op, a, b) => logical(*op, value(*a), value(*b)),
            };
            values |= u64::from(truth) << number;
        }
        if values & required == wanted
            && let Some(reading) = consequences(formula, values)
        {
            readings.push(reading);
        }
    }
    readings
}

/// What follows from the values of all nodes at a position; `None` if they contradict each other.
fn consequences(formula: &Formula, values: u64) -> Option<Reading> {
    let value = |node: usize| values >> node & 1 == 1;
    let (mut required, mut wanted, mut kept) = (0u64, 0u64, 0u64);
    // `F a` and `X F a` may both say something about `F a`.
    let mut require = |node: usize, value: bool| {
        let agrees = required >> node & 1 == 0 || (wanted >> node & 1 == 1) == value;
        required |= 1 << node;
        wanted |= u64::from(value) << node;
        agrees
    };
    for (number, node) in formula.iter().enumerate().filter(|(_, node)| is_temporal(node)) {
        let own = value(number);
        // Whether the node is decided here, and how; and whether its promise is kept here.
        let (decided, is_kept) = match *node {
            Node::Unary(Op::Next, a) => {
                if !require(a, own) {
                    return None;
                }
                kept |= 1 << number;
                continue;
            }
            Node::Unary(Op::Finally, a) => (value(a).then_some(true), !own || value(a)),
            Node::Unary(_, a) => ((!value(a)).then_some(false), own || !value(a)),
            Node::Binary(Op::Until, a, b) => {
                (if value(b) { Some(true) } else { (!value(a)).then_some(false) }, !own || value(b))
            }
            Node::Binary(Op::WeakUntil, a, b) => {
                let decided = if value(b) { Some(true) } else { (!value(a)).then_some(false) };
                (decided, own || !value(a) && !value(b))
            }
            Node::Binary(Op::Release, a, b) => {
                (if !value(b) { Some(false) } else { value(a).then_some(true) }, own || !value(b))
            }
            Node::Binary(_, a, b) => {
                let decided = if !value(b) { Some(false) } else { value(a).then_some(true) };
                (decided, !own || value(a) && value(b))
            }
            _ => unreachable!("only temporal nodes"),
        };
        match decided {
            Some(decided) if decided != own => return None,
            None if !require(number, own) => return None,
            _ => {}
        }
        kept |= u64::from(is_kept) << number;
    }
    Some(Reading { memory: (required, wanted), kept })
}

impl Monitor {
    fn moves(&self, state: usize, at: Position<'_>) -> Vec<Reading> {
        let is_true = |guard: &Formula| {
            let mut values: Vec<bool> = Vec::new();
            for node in guard {
                values.push(match node {
                    Node::Const(truth) => *truth,
                    Node::Atom(atom) => atom.is_true(at),
                    Node::Unary(op, a) => logical(*op, values[*a], false),
                    Node::Binary(op, a, b) => logical(*op, values[*a], values[*b]),
                });
            }
            values.last() == Some(&true)
        };
        let own = || self.edges.iter().filter(|edge| edge.0 == state);
        let mut to: Vec<usize> =
            own().filter(|edge| edge.2.as_ref().is_some_and(is_true)).map(|edge| edge.1).collect();
        if to.is_empty() {
            to.push(own().find(|edge| edge.2.is_none()).map_or(state, |edge| edge.1));
        }
        let reading = |to: usize| Reading { memory: (to as u64, 0), kept: u64::from(self.states[to].2) };
        to.into_iter().map(reading).collect()
    }
}

/// Whether a formula holds at the first of some positions, after the last of which the run goes on with that of a number.
pub fn holds(formula: &Formula, positions: &[Position<'_>], repeats: usize) -> bool {
    let next = |at: usize| if at + 1 < positions.len() { at + 1 } else { repeats };
    let mut rows: Vec<Vec<bool>> = Vec::new();
    for node in formula {
        let now = |at: usize, later: bool| match node {
            Node::Const(truth) => *truth,
            Node::Atom(atom) => atom.is_true(positions[at]),
            Node::Unary(Op::Next, a) => rows[*a][next(at)],
            Node::Unary(Op::Finally, a) => rows[*a][at] || later,
            Node::Unary(Op::Globally, a) => rows[*a][at] && later,
            Node::Unary(op, a) => logical(*op, rows[*a][at], false),
            Node::Binary(Op::Until | Op::WeakUntil, a, b) => rows[*b][at] || rows[*a][at] && later,
            Node::Binary(Op::Release | Op::StrongRelease, a, b) => rows[*b][at] && (rows[*a][at] || later),
            Node::Binary(op, a, b) => logical(*op, rows[*a][at], rows[*b][at]),
        };
        let greatest =
            matches!(node, Node::Unary(Op::Globally, _) | Node::Binary(Op::Release | Op::WeakUntil, ..));
        let mut row = vec![greatest; positions.len()];
        // From the back to the front, until nothing changes.
        loop {
            let before = row.clone();
            for at in (0..row.len()).rev() {
                row[at] = now(at, row[next(at)]);
            }
            if row == before {
                break;
            }
        }
        rows.push(row);
    }
    rows.last().is_none_or(|row| row[0])
}
