//! Room `kit`: the loop behind all operations on two diagrams.
//!
//! # Idea
//!
//! An operation on two diagrams is done on their cofactors (what is left of them where the first level is true, and where
//! it is false); the two results become a vertex. A recursive function would go as deep as there are levels, and
//! the number of levels is up to the user. So unfinished work is kept on a stack of our own: one entry for each level on the
//! way. Quantifying needs disjunctions on the way up; those have a second stack, and there is never more than one under way.

use super::ops::{KEEP, QUANTIFY};
use super::table::BOTTOM;
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
        let first = match self.begin::<OPERATION>([f, g], number)? {
            Ok(result) => return Ok(result),
            Err(first) => first,
        };
        // A product may have to wait for a disjunction, which has a stack of its own.
        let stack = (OPERATION == PRODUCT) as usize;
        let mut waiting = std::mem::take(&mut self.waiting[stack]);
        let result = self.turns::<OPERATION>(first, number, &mut waiting);
        waiting.clear();
        self.waiting[stack] = waiting;
        result
    }

    fn turns<const OPERATION: u32>(
        &mut self,
        mut current: Waiting,
        number: u32,
        waiting: &mut Vec<Waiting>,
    ) -> Result<Ref, Interrupted> {
        let mut operands = self.split(&mut current);
        loop {
            let mut result = match self.begin::<OPERATION>(operands, number)? {
                Ok(result) => result,
                Err(mut next) => {
                    operands = self.split(&mut next);
                    waiting.push(std::mem::replace(&mut current, next));
                    continue;
                }
            };
            loop {
                let Waiting { operands: both, rest, level, hash, high, flip } = current;
                if high == PENDING {
                    let what = if OPERATION == PRODUCT { self.plans.at_hand[level as usize] } else { KEEP };
                    if what != QUANTIFY || result != Ref::TRUE {
                        current.high = result;
                        operands = rest;
                        break;
                    }
                } else {
                    result = self.join::<OPERATION>(level, high, result)?;
                }
                result = self.remember(hash, number, both, result)?.flip(flip);
                match waiting.pop() {
                    Some(next) => current = next,
                    None => return Ok(result),
                }
            }
        }
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

    /// The result where it is known at once, or else what has to wait for others.
    #[inline(always)]
    fn begin<const OPERATION: u32>(
        &mut self,
        [mut f, mut g]: [Ref; 2],
        number: u32,
    ) -> Result<Result<Ref, Waiting>, Interrupted> {
        let mut flip = false;
        match OPERATION {
            AND => {
                if f == g || g == Ref::TRUE {
                    return Ok(Ok(f));
                }
                if f == Ref::TRUE {
                    return Ok(Ok(g));
                }
                if f == !g || f == Ref::FALSE || g == Ref::FALSE {
                    return Ok(Ok(Ref::FALSE));
                }
            }
            XOR => {
                flip = f.complemented() != g.complemented();
                (f, g) = (f.flip(f.complemented()), g.flip(g.complemented()));
                if f == g {
                    return Ok(Ok(Ref::FALSE.flip(flip)));
                }
                if f == Ref::TRUE {
                    return Ok(Ok((!g).flip(flip)));
                }
                if g == Ref::TRUE {
                    return Ok(Ok((!f).flip(flip)));
                }
            }
            _ => {
                if f == Ref::FALSE || g == Ref::FALSE || f == !g {
                    return Ok(Ok(Ref::FALSE));
                }
                // Equal operands need be looked at once; `TRUE` is the least.
                (f, g) = if f == g { (Ref::TRUE, g) } else { (f, g) };
            }
        }
        (f, g) = if f < g { (f, g) } else { (g, f) };
        let level = self.level(f).min(self.level(g));
        if OPERATION == PRODUCT && (level > self.plans.last || level == BOTTOM) {
            return self.and(f, g).map(Ok);
        }
        let hash = Self::hash(number, [f, g]);
        if let Some(result) = self.recall(hash, number, [f, g]) {
            return Ok(Ok(result.flip(flip)));
        }
        Ok(Err(Waiting { operands: [f, g], rest: [f, g], level, hash, high: PENDING, flip }))
    }

    /// What is left of the operands where the level is true; where it is not is noted.
    #[inline(always)]
    fn split(&self, waiting: &mut Waiting) -> [Ref; 2] {
        let part = |f: Ref| match self.level(f) == waiting.level {
            true => self.cofactors(f),
            false => (f, f),
        };
        let [f, g] = waiting.operands;
        let ((f1, f0), (g1, g0)) = (part(f), part(g));
        waiting.rest = [f0, g0];
        [f1, g1]
    }
}
