//! Room `engine/encode`: decisions on holes, in the order in which they were made.
//!
//! Several enumerations may be under way, one inside the other: they share one list, and each owns the decisions from its
//! *mark* on. An index says which decision on a hole is the latest one of the enumeration at hand, so that asking for
//! it takes no time, however many decisions there are.

/// No decision.
const NEVER: u32 = u32::MAX;

/// A hole narrowed to a range.
#[derive(Clone, Copy, Debug)]
pub struct Decision {
    /// The hole.
    pub hole: u32,
    /// The least value of the range.
    pub lo: i64,
    /// The greatest value of the range.
    pub hi: i64,
    /// The greatest value of the range that was halved.
    last: i64,
    /// The decision on the same hole that this one narrows further.
    before: u32,
}

/// All decisions.
#[derive(Default)]
pub struct Trail {
    list: Vec<Decision>,
    /// The mark of the enumeration at hand.
    base: usize,
    /// For each hole the place of its latest decision, which counts only if it was noted in the same turn.
    latest: Vec<(u64, u32)>,
    turn: u64,
}

impl Trail {
    /// How many decisions there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// From now on the enumeration with this mark is the one at hand.
    pub fn turn_to(&mut self, mark: usize) {
        if self.base == mark {
            return;
        }
        self.base = mark;
        self.turn += 1;
        for at in mark..self.list.len() {
            self.note(self.list[at].hole, at as u32);
        }
    }

    fn note(&mut self, hole: u32, at: u32) {
        let hole = hole as usize;
        if hole >= self.latest.len() {
            self.latest.resize(hole + 1, (0, NEVER));
        }
        self.latest[hole] = (self.turn, at);
    }

    fn place(&self, hole: u32) -> u32 {
        match self.latest.get(hole as usize) {
            Some(&(turn, at)) if turn == self.turn => at,
            _ => NEVER,
        }
    }

    /// The latest decision on a hole, if there is one.
    pub fn decided(&self, hole: u32) -> Option<&Decision> {
        self.list.get(self.place(hole) as usize)
    }

    /// The decisions of the enumeration at hand that no later one narrows further.
    pub fn latest(&self) -> impl Iterator<Item = &Decision> {
        let at_hand = self.list.iter().enumerate().skip(self.base);
        at_hand.filter(|(at, decision)| self.place(decision.hole) == *at as u32).map(|(_, decision)| decision)
    }

    /// Narrows a hole with the values from `lo` to `last` to those up to `hi`; the others come later.
    pub fn push(&mut self, hole: u32, lo: i64, hi: i64, last: i64) {
        let before = self.place(hole);
        self.note(hole, self.list.len() as u32);
        self.list.push(Decision { hole, lo, hi, last, before });
    }

    fn pop(&mut self) {
        if let Some(Decision { hole, before, .. }) = self.list.pop() {
            self.note(hole, before);
        }
    }

    /// Takes all decisions above a mark back.
    pub fn truncate(&mut self, mark: usize) {
        while self.list.len() > mark {
            self.pop();
        }
    }

    /// Moves the last decision above a mark that has another half on to that one; false if there is none.
    pub fn backtrack(&mut self, mark: usize) -> bool {
        while self.list.len() > mark {
            let decision = self.list.last_mut().expect("above the mark");
            if decision.hi < decision.last {
                (decision.lo, decision.hi) = (decision.hi + 1, decision.last);
                return true;
            }
            self.pop();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(trail: &Trail, hole: u32) -> Option<(i64, i64)> {
        trail.decided(hole).map(|decision| (decision.lo, decision.hi))
    }

    #[test]
    fn an_enumeration_sees_its_own_latest_decisions() {
        let mut trail = Trail::default();
        trail.push(3, 0, 3, 7);
        trail.push(3, 0, 1, 3);
        trail.push(5, 0, 0, 1);
        assert_eq!([3, 5, 4].map(|hole| range(&trail, hole)), [Some((0, 1)), Some((0, 0)), None]);
        assert_eq!(trail.latest().map(|decision| decision.hole).collect::<Vec<_>>(), [3, 5]);
        // Another one inside it decides on the same hole.
        let mark = trail.len();
        trail.turn_to(mark);
        assert_eq!(range(&trail, 3), None);
        trail.push(3, 4, 5, 6);
        assert_eq!(range(&trail, 3), Some((4, 5)));
        assert!(trail.backtrack(mark) && range(&trail, 3) == Some((6, 6)));
        assert!(!trail.backtrack(mark) && range(&trail, 3).is_none());
        trail.turn_to(0);
        assert_eq!([3, 5].map(|hole| range(&trail, hole)), [Some((0, 1)), Some((0, 0))]);
        assert!(trail.backtrack(0) && range(&trail, 5) == Some((1, 1)));
        assert!(trail.backtrack(0) && range(&trail, 5).is_none() && range(&trail, 3) == Some((2, 3)));
        trail.truncate(1);
        assert_eq!(range(&trail, 3), Some((0, 3)));
    }
}
