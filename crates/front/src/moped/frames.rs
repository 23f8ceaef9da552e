//! Room `front/moped`: which heads of a pushdown system make a procedure.
//!
//! # Idea
//! A head is a control state and the symbol on top. A rule that pushes calls a procedure: the runs from the new top until it
//! is removed. Its *frame* is the heads that the run can have while the symbols below are untouched: overwriting leads from one to
//! another, and a push to the symbol below the new top, in each control state in which something is removed.
//!
//! Each head that can be pushed is the entry of a procedure of its own, with its own copy of its frame. Frames of programs do not
//! overlap, but for heads where a run gets stuck, so the copies cost little. Where frames overlap so much that the copies would be
//! many more than there are heads, all heads that are in one frame are put into one procedure with several entries, which is told by a
//! parameter where to begin. Then there is one copy of each head.

use super::lexer::Sym;
use super::tree::System;
use rustc_hash::{FxHashMap, FxHashSet};

/// A control state and the symbol on top, by number.
pub type HeadId = u32;

/// Heads, rules and procedures.
#[derive(Default, Debug)]
pub struct Frames {
    /// The heads that runs may have.
    pub heads: Vec<(Sym, Sym)>,
    numbers: FxHashMap<(Sym, Sym), HeadId>,
    /// The rules of each head.
    pub rules: Vec<Vec<u32>>,
    /// The control states after a removal.
    pub returns: Vec<Sym>,
    /// The procedures by their entries.
    pub procs: Vec<Vec<HeadId>>,
    /// The procedure of each entry, and which of its entries it is.
    pub entry: FxHashMap<HeadId, (usize, usize)>,
    /// The rules by their heads.
    by_head: FxHashMap<(Sym, Sym), Vec<u32>>,
}

/// What a rule leads to: heads of the same frame, and perhaps a head that is called.
struct Successors {
    same: Vec<HeadId>,
    called: Option<HeadId>,
}

impl Frames {
    /// The procedures of a system that starts with this head.
    pub fn of(system: &System, start: (Sym, Sym)) -> Self {
        let mut frames = Frames::default();
        let mut returns = FxHashSet::default();
        for (at, rule) in system.rules.iter().enumerate() {
            frames.by_head.entry(rule.from).or_default().push(at as u32);
            if rule.stack.is_empty() && returns.insert(rule.state) {
                frames.returns.push(rule.state);
            }
        }
        let first = frames.head(start);
        if !frames.apart(system, first) {
            frames.joined(system, first);
        }
        frames
    }

    /// The number of a head.
    pub fn head(&mut self, head: (Sym, Sym)) -> HeadId {
        *self.numbers.entry(head).or_insert_with(|| {
            self.heads.push(head);
            self.rules.push(self.by_head.remove(&head).unwrap_or_default());
            self.heads.len() as HeadId - 1
        })
    }

    fn successors(&mut self, system: &System, rule: u32) -> Successors {
        let rule = &system.rules[rule as usize];
        match rule.stack[..] {
            [] => Successors { same: Vec::new(), called: None },
            [top] => Successors { same: vec![self.head((rule.state, top))], called: None },
            [top, below, ..] => {
                let called = Some(self.head((rule.state, top)));
                let states = self.returns.clone();
                let same = states.into_iter().map(|state| self.head((state, below))).collect();
                Successors { same, called }
            }
        }
    }

    fn add_entry(&mut self, head: HeadId) {
        if !self.entry.contains_key(&head) {
            self.entry.insert(head, (self.procs.len(), 0));
            self.procs.push(vec![head]);
        }
    }

    /// Makes a procedure of each entry; gives up if there would be too many copies.
    fn apart(&mut self, system: &System, first: HeadId) -> bool {
        self.add_entry(first);
        let mut copies = 0;
        let mut next = 0;
        // Which procedure a head was seen in last.
        let mut seen: Vec<usize> = Vec::new();
        while next < self.procs.len() {
            let mut open = self.procs[next].clone();
            next += 1;
            while let Some(head) = open.pop() {
                seen.resize(self.heads.len(), 0);
                if std::mem::replace(&mut seen[head as usize], next) == next {
                    continue;
                }
                copies += 1 + self.rules[head as usize].len();
                if copies > 10_000 + 4 * (self.heads.len() + system.rules.len()) {
                    return false;
                }
                for rule in self.rules[head as usize].clone() {
                    let Successors { same, called } = self.successors(system, rule);
                    open.extend(same);
                    called.into_iter().for_each(|head| self.add_entry(head));
                }
            }
        }
        true
    }

    /// Makes procedures with several entries.
    fn joined(&mut self, system: &System, first: HeadId) {
        (self.procs, self.entry) = (Vec::new(), FxHashMap::default());
        let (mut entries, mut is_entry) = (vec![first], FxHashSet::from_iter([first]));
        let mut leader: Vec<HeadId> = Vec::new();
        let (mut open, mut seen) = (vec![first], FxHashSet::from_iter([first]));
        while let Some(head) = open.pop() {
            for rule in self.rules[head as usize].clone() {
                let Successors { same, called } = self.successors(system, rule);
                leader.extend(leader.len() as HeadId..self.heads.len() as HeadId);
                for other in same {
                    let (a, b) = (lead(&mut leader, head), lead(&mut leader, other));
                    leader[a as usize] = b;
                    open.extend(seen.insert(other).then_some(other));
                }
                if let Some(called) = called {
                    open.extend(seen.insert(called).then_some(called));
                    entries.extend(is_entry.insert(called).then_some(called));
                }
            }
        }
        leader.extend(leader.len() as HeadId..self.heads.len() as HeadId);
        let mut procs: FxHashMap<HeadId, usize> = FxHashMap::default();
        for head in entries {
            let proc = *procs.entry(lead(&mut leader, head)).or_insert_with(|| {
                self.procs.push(Vec::new());
                self.procs.len() - 1
            });
            self.entry.insert(head, (proc, self.procs[proc].len()));
            self.procs[proc].push(head);
        }
    }

    /// The heads of a procedure's frame, its entries first.
    pub fn frame(&mut self, system: &System, proc: usize) -> Vec<HeadId> {
        let mut frame = self.procs[proc].clone();
        let mut seen: FxHashSet<HeadId> = frame.iter().copied().collect();
        let mut next = 0;
        while next < frame.len() {
            for rule in self.rules[frame[next] as usize].clone() {
                let same = self.successors(system, rule).same;
                frame.extend(same.into_iter().filter(|head| seen.insert(*head)));
            }
            next += 1;
        }
        frame
    }
}

/// The leader of a head's class, with shorter ways for later.
fn lead(leader: &mut [HeadId], mut head: HeadId) -> HeadId {
    while leader[head as usize] != head {
        leader[head as usize] = leader[leader[head as usize] as usize];
        head = leader[head as usize];
    }
    head
}
