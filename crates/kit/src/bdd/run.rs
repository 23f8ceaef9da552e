//! Room `kit`: the loop behind all operations on two diagrams.
//!
//! # Idea
//!
//! An operation on two diagrams is done on their cofactors (what is left of them where the first level is true, and where
//! it is false); the two results become a vertex. A recursive function would go as deep as there are levels, and
//! the number of levels is up to the user. So unfinished work is kept on a stack of our own: one entry for each level on the
//! way. Quantifying needs disjunctions on the way up; those have a second stack, and there is never more than one under way.

use super::ops::{KEEP, QUANTIFY};
use super::table::{BOTTOM, hash};
use super::{Bdd, Interrupted, Ref};

/// Operations, and their numbers in the computed table. Plans are numbered from `FIRST_PLAN` on.
pub(super) const AND: u32 = 0;
pub(super) const XOR: u32 = 1;
pub(super) const PRODUCT: u32 = 2;
pub(super) const FIRST_PLAN: u32 = 2;

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

impl Bdd<'_> {
    /// The result of an operation; `number` stands for it in the computed table.
    pub(super) fn run<const OPERATION: u32>(
        &mut self,
        f: Ref,
        g: Ref,
        number: u32,
    ) -> Result<Ref, Interrupted> {
        // A product may have to wait for a disjunction, which has a stack of its own.
        let stack = (OPERATION == PRODUCT) as usize;
        let mut waiting = std::mem::take(&mut self.waiting[stack]);
        let result = self.turns::<OPERATION>([f, g], number, &mut waiting);
        // If it was interrupted, some still wait.
        waiting.clear();
        self.waiting[stack] = waiting;
        result
    }

    #[inline(always)]
    fn turns<const OPERATION: u32>(
        &mut self,
        mut operands: [Ref; 2],
        number: u32,
        waiting: &mut Vec<Waiting>,
    ) -> Result<Ref, Interrupted> {
        loop {
            let Some(mut result) = self.begin::<OPERATION>(&mut operands, number, waiting)? else { continue };
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

    /// The result where it is known at once. Where it is not, the operation waits for others, and the first of these is
    /// what the operands become.
    #[inline(always)]
    fn begin<const OPERATION: u32>(
        &mut self,
        operands: &mut [Ref; 2],
        number: u32,
        waiting: &mut Vec<Waiting>,
    ) -> Result<Option<Ref>, Interrupted> {
        let [mut f, mut g] = *operands;
        let mut flip = false;
        if OPERATION == XOR {
            flip = f.complemented() != g.complemented();
            (f, g) = (f.flip(f.complemented()), g.flip(g.complemented()));
        }
        // The constants are the least of all.
        (f, g) = if f < g { (f, g) } else { (g, f) };
        let same = f.vertex() == g.vertex();
        match OPERATION {
            AND if same => return Ok(Some(if f == g { f } else { Ref::FALSE })),
            AND if f.is_constant() => return Ok(Some(if f == Ref::TRUE { g } else { Ref::FALSE })),
            XOR if same => return Ok(Some(Ref::FALSE.flip(flip))),
            XOR if f.is_constant() => return Ok(Some((!g).flip(flip))),
            PRODUCT if f == Ref::FALSE || g == Ref::FALSE || same && f != g => return Ok(Some(Ref::FALSE)),
            // Equal operands need be looked at once.
            PRODUCT if same => f = Ref::TRUE,
            _ => {}
        }
        let (upper, lower) = (self.vertices[f.vertex()], self.vertices[g.vertex()]);
        let level = upper.level.min(lower.level);
        if OPERATION == PRODUCT && (level > self.plans.last || level == BOTTOM) {
            return self.and(f, g).map(Some);
        }
        let hash = hash(number, [f, g]);
        if let Some(result) = self.recall(hash, number, [f, g]) {
            return Ok(Some(result.flip(flip)));
        }
        let (f1, f0) = upper.below(f, level);
        let (g1, g0) = lower.below(g, level);
        waiting.push(Waiting { operands: [f, g], rest: [f0, g0], level, hash, high: PENDING, flip });
        *operands = [f1, g1];
        Ok(None)
    }
}
