//! Room `validate`: whether functions have anything in common, by diagrams.
//!
//! # Idea
//!
//! The functions of a condition are conjoined one after the other. Where two large diagrams are conjoined, the inputs on which nothing depends that is still to be conjoined are
//! quantified at once: of the values before a call, say, nothing is left when what comes of them is compared with a set. So what is compared with a set is hardly larger than what comes to it. Of the last conjunction it only matters whether there is anything at all.
//!
//! # Paper
//!
//! \[burch\], for the conjunction with early quantification.

use crate::diagrams::{Diagrams, Stop, Vertex, number};
use crate::gates::{Gates, Lit};
use std::collections::HashSet;

/// Diagrams of so many vertices are small.
const SMALL: usize = 64;

impl Diagrams<'_> {
    /// Whether functions can be true together.
    pub(crate) fn possible(&mut self, gates: &Gates, all: &[Lit]) -> Result<bool, Stop> {
        let ends = self.note_uses(gates, all);
        let Some((&last, others)) = all.split_last() else { return Ok(true) };
        let mut so_far = Lit::TRUE;
        for (at, &lit) in others.iter().enumerate() {
            let next = self.of(gates, lit)?;
            // With a small diagram the conjunction is not much larger than without.
            so_far = match ends[at] && self.is_large(so_far) && self.is_large(next) {
                true => self.product([so_far, next], at as u32)?,
                false => self.choose(so_far, next, Lit::FALSE)?,
            };
            if so_far == Lit::FALSE {
                return Ok(false);
            }
        }
        let last = self.of(gates, last)?;
        self.meet(so_far, last)
    }

    /// Whether two diagrams are true together for some values: whether a walk through both comes to the constant true. No diagram is made.
    fn meet(&mut self, f: Lit, g: Lit) -> Result<bool, Stop> {
        self.pairs.begin();
        let mut work = vec![[f, g]];
        while let Some([f, g]) = work.pop() {
            if f == Lit::FALSE || g == Lit::FALSE || f == !g {
                continue;
            }
            if f == g || f == Lit::TRUE || g == Lit::TRUE {
                return Ok(true);
            }
            let both = [f.min(g), f.max(g)];
            if self.pairs.get(both).is_some() {
                continue;
            }
            self.step()?;
            self.pairs.insert(both, Lit::FALSE);
            let (_, low, high) = self.sides(both);
            work.extend([low, high]);
        }
        Ok(false)
    }

    /// Whether a diagram has more than [`SMALL`] vertices.
    fn is_large(&self, of: Lit) -> bool {
        let (mut seen, mut work) = (HashSet::new(), vec![of]);
        while let Some(lit) = work.pop() {
            if lit.gate() != 0 && seen.insert(lit.gate()) {
                let Vertex { low, high, .. } = self.vertices[lit.gate()];
                work.extend([low, high]);
            }
            if seen.len() > SMALL {
                return true;
            }
        }
        false
    }

    /// Notes for each input the last of some functions that depends on it. Returns for each function whether it is the last for some input.
    fn note_uses(&mut self, gates: &Gates, all: &[Lit]) -> Vec<bool> {
        self.questions += 1;
        self.uses.resize(gates.len().max(self.uses.len()), (0, 0));
        let mut ends = vec![false; all.len()];
        // From the last one back: what one of them depends on was seen before if a later one does too.
        for (at, lit) in all.iter().enumerate().rev() {
            let mut work = vec![lit.gate()];
            while let Some(gate) = work.pop() {
                if gate == 0 || self.uses[gate].0 == self.questions {
                    continue;
                }
                self.uses[gate] = (self.questions, at as u32);
                let below = gates.below(gate);
                ends[at] |= below.is_empty();
                work.extend(below.iter().map(|lit| lit.gate()));
            }
        }
        ends
    }

    /// Whether two diagrams are true together, with some values of the inputs on which nothing depends that comes later than at this place.
    fn product(&mut self, both: [Lit; 2], at: u32) -> Result<Lit, Stop> {
        enum Task {
            Visit([Lit; 2]),
            /// The second part of a vertex that is quantified: if the first is true, it does not matter.
            VisitUnlessTrue([Lit; 2]),
            Join([Lit; 2], u64),
        }
        self.pairs.begin();
        let (mut tasks, mut done) = (vec![Task::Visit(both)], Vec::new());
        while let Some(task) = tasks.pop() {
            match task {
                Task::VisitUnlessTrue(_) if done.last() == Some(&Lit::TRUE) => done.push(Lit::TRUE),
                Task::Visit([f, g]) | Task::VisitUnlessTrue([f, g]) => {
                    if f == Lit::FALSE || g == Lit::FALSE || f == !g {
                        done.push(Lit::FALSE);
                        continue;
                    }
                    // Equal ones need be looked at once.
                    let both = if f == g { [Lit::TRUE, g] } else { [f.min(g), f.max(g)] };
                    if both == [Lit::TRUE; 2] {
                        done.push(Lit::TRUE);
                        continue;
                    }
                    if let Some(known) = self.pairs.get(both) {
                        done.push(known);
                        continue;
                    }
                    self.step()?;
                    let (tests, low, high) = self.sides(both);
                    let second = match self.uses[number(tests)].1 > at {
                        true => Task::Visit(high),
                        false => Task::VisitUnlessTrue(high),
                    };
                    tasks.extend([Task::Join(both, tests), second, Task::Visit(low)]);
                }
                Task::Join(both, tests) => {
                    let (high, low) = (done.pop(), done.pop());
                    let (low, high) = low.zip(high).expect("both were computed before");
                    let made = match self.uses[number(tests)].1 > at {
                        true => self.vertex(tests, low, high),
                        false => self.choose(low, Lit::TRUE, high)?,
                    };
                    self.pairs.insert(both, made);
                    done.push(made);
                }
            }
        }
        Ok(done[0])
    }
}
