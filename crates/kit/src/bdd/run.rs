//! Room `kit`: the loop behind all operations on two diagrams.
//!
//! # Idea
//!
//! An operation on two diagrams is done on their cofactors (what is left of them where the first level is true, and where
//! it is false); the two results become a vertex. A recursive function is the fastest way to do so, but it would go as deep as
//! there are levels, and the number of levels is up to the user. So below some depth unfinished work is kept on a stack of our
//! own: one entry for each level on the way. Quantifying needs disjunctions on the way up; those have a second stack, and there
//! is never more than one under way.

use super::ops::{KEEP, QUANTIFY};
use super::table::{BOTTOM, hash};
use super::{Bdd, Interrupted, Ref};

/// Operations, and their numbers in the computed table. Plans are numbered from `FIRST_PLAN` on.
pub(super) const AND: u32 = 0;
pub(super) const XOR: u32 = 1;
pub(super) const PRODUCT: u32 = 2;
pub(super) const FIRST_PLAN: u32 = 2;

/// How deep an operation recurses before it goes on in a loop.
const DEPTH: u32 = 400;

/// A result that is not known yet: no vertex has this number.
const PENDING: Ref = Ref(u32::MAX);

/// An operation that waits for the result of a smaller one.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    operands: [Ref; 2],
    /// What is left of the operands where the level is false.
    rest: [Ref; 2],
    level: u32,
    /// Where the result goes in the computed table.
    hash: u32,
    /// The result where the level is true, once it is known.
    high: Ref,
    /// Whether the result is to be complemented.
    flip: bool,
}

/// What is known of an operation when it begins: its result, or what it waits for first.
enum Begun {
    Known(Ref),
    Waits(Waiting, [Ref; 2]),
}

impl Bdd<'_> {
    /// The result of an operation; `number` stands for it in the computed table.
    #[inline]
    pub(super) fn run<const OPERATION: u32>(
        &mut self,
        f: Ref,
        g: Ref,
        number: u32,
    ) -> Result<Ref, Interrupted> {
        self.descend::<OPERATION>([f, g], number, DEPTH)
    }

    /// The same by recursion, which goes so deep at the most.
    fn descend<const OPERATION: u32>(
        &mut self,
        operands: [Ref; 2],
        number: u32,
        depth: u32,
    ) -> Result<Ref, Interrupted> {
        let (open, first) = match self.begin::<OPERATION>(operands, number)? {
            Begun::Known(result) => return Ok(result),
            Begun::Waits(open, first) => (open, first),
        };
        if depth == 0 {
            return self.iterate::<OPERATION>(open, first, number);
        }
        let mut result = self.descend::<OPERATION>(first, number, depth - 1)?;
        if !self.suffices::<OPERATION>(open.level, result) {
            let low = self.descend::<OPERATION>(open.rest, number, depth - 1)?;
            result = self.join::<OPERATION>(open.level, result, low)?;
        }
        Ok(self.remember(open.hash, number, open.operands, result)?.flip(open.flip))
    }

    /// The same by a loop, however deep: the result of an operation that has begun.
    #[cold]
    fn iterate<const OPERATION: u32>(
        &mut self,
        open: Waiting,
        first: [Ref; 2],
        number: u32,
    ) -> Result<Ref, Interrupted> {
        // A product may have to wait for a disjunction, which has a stack of its own.
        let stack = (OPERATION == PRODUCT) as usize;
        let mut waiting = std::mem::take(&mut self.waiting[stack]);
        waiting.push(open);
        let result = self.turns::<OPERATION>(first, number, &mut waiting);
        // If it was interrupted, some still wait.
        waiting.clear();
        self.waiting[stack] = waiting;
        result
    }

    fn turns<const OPERATION: u32>(
        &mut self,
        mut operands: [Ref; 2],
        number: u32,
        waiting: &mut Vec<Waiting>,
    ) -> Result<Ref, Interrupted> {
        loop {
            let mut result = match self.begin::<OPERATION>(operands, number)? {
                Begun::Known(result) => result,
                Begun::Waits(open, first) => {
                    waiting.push(open);
                    operands = first;
                    continue;
                }
            };
            loop {
                let Some(top) = waiting.last_mut() else { return Ok(result) };
                if top.high == PENDING && !self.suffices::<OPERATION>(top.level, result) {
                    top.high = result;
                    operands = top.rest;
                    break;
                }
                let Waiting { operands: both, level, hash, high, flip, .. } = *top;
                waiting.pop();
                if high != PENDING {
                    result = self.join::<OPERATION>(level, high, result)?;
                }
                result = self.remember(hash, number, both, result)?.flip(flip);
            }
        }
    }

    /// Whether the result where a level is true is the result whatever the level is.
    #[inline(always)]
    fn suffices<const OPERATION: u32>(&self, level: u32, high: Ref) -> bool {
        OPERATION == PRODUCT && high == Ref::TRUE && self.plans.at_hand[level as usize] == QUANTIFY
    }

    /// What becomes of the results at a level.
    #[inline(always)]
    fn join<const OPERATION: u32>(&mut self, level: u32, high: Ref, low: Ref) -> Result<Ref, Interrupted> {
        if OPERATION != PRODUCT {
            return self.vertex(level, high, low);
        }
        match self.plans.at_hand[level as usize] {
            QUANTIFY => self.or(high, low),
            KEEP => self.insert(level, high, low),
            to => self.insert(to, high, low),
        }
    }

    /// The result where it is known at once. Where it is not, the operation waits for others.
    #[inline(always)]
    fn begin<const OPERATION: u32>(
        &mut self,
        [mut f, mut g]: [Ref; 2],
        number: u32,
    ) -> Result<Begun, Interrupted> {
        let mut flip = false;
        if OPERATION == XOR {
            flip = f.complemented() != g.complemented();
            (f, g) = (f.flip(f.complemented()), g.flip(g.complemented()));
        }
        // The constants are the least of all.
        (f, g) = if f < g { (f, g) } else { (g, f) };
        let same = f.vertex() == g.vertex();
        match OPERATION {
            AND if same => return Ok(Begun::Known(if f == g { f } else { Ref::FALSE })),
            AND if f.is_constant() => return Ok(Begun::Known(if f == Ref::TRUE { g } else { Ref::FALSE })),
            XOR if same => return Ok(Begun::Known(Ref::FALSE.flip(flip))),
            XOR if f.is_constant() => return Ok(Begun::Known((!g).flip(flip))),
            PRODUCT if f == Ref::FALSE || g == Ref::FALSE || same && f != g => {
                return Ok(Begun::Known(Ref::FALSE));
            }
            // Equal operands need be looked at once.
            PRODUCT if same => f = Ref::TRUE,
            _ => {}
        }
        let (upper, lower) = (self.vertices[f.vertex()], self.vertices[g.vertex()]);
        let level = upper.level.min(lower.level);
        if OPERATION == PRODUCT && (level > self.plans.last || level == BOTTOM) {
            return self.and(f, g).map(Begun::Known);
        }
        let hash = hash(number, [f, g]);
        if let Some(result) = self.recall(hash, number, [f, g]) {
            return Ok(Begun::Known(result.flip(flip)));
        }
        let (f1, f0) = upper.below(f, level);
        let (g1, g0) = lower.below(g, level);
        let open = Waiting { operands: [f, g], rest: [f0, g0], level, hash, high: PENDING, flip };
        Ok(Begun::Waits(open, [f1, g1]))
    }
}
