//! Room `kit`: operations on diagrams. Recursion goes as deep as there are levels in the operands.

use super::table::BOTTOM;
use super::{Bdd, Interrupted, Ref};
use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

const AND: u32 = 0;
const XOR: u32 = 1;
const FIRST_PLAN: u32 = 2;

/// What an image does with levels: quantify some, rename others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Plan(u32);

const KEEP: u32 = u32::MAX;
const QUANTIFY: u32 = u32::MAX - 1;

#[derive(Default)]
pub(super) struct Plans {
    /// The levels a plan touches, in order, and what happens there.
    lists: Vec<Rc<[(u32, u32)]>>,
    numbers: HashMap<Rc<[(u32, u32)]>, u32>,
    /// What the plan at hand does at each level.
    at_hand: Vec<u32>,
    /// Below this level it does nothing.
    last: u32,
}

impl Bdd<'_> {
    /// The diagram of a single level.
    pub fn var(&mut self, level: u32) -> Result<Ref, Interrupted> {
        self.vertex(level, Ref::TRUE, Ref::FALSE)
    }

    /// Both.
    pub fn and(&mut self, f: Ref, g: Ref) -> Result<Ref, Interrupted> {
        if f == g || g == Ref::TRUE {
            return Ok(f);
        }
        if f == Ref::TRUE {
            return Ok(g);
        }
        if f == !g || f == Ref::FALSE || g == Ref::FALSE {
            return Ok(Ref::FALSE);
        }
        let (f, g) = if f < g { (f, g) } else { (g, f) };
        if let Some(result) = self.recall(AND, [f, g]) {
            return Ok(result);
        }
        let (level, [f1, f0], [g1, g0]) = self.split(f, g);
        let high = self.and(f1, g1)?;
        let low = self.and(f0, g0)?;
        let result = self.vertex(level, high, low)?;
        self.remember(AND, [f, g], result)
    }

    /// At least one.
    pub fn or(&mut self, f: Ref, g: Ref) -> Result<Ref, Interrupted> {
        self.and(!f, !g).map(|neither| !neither)
    }

    /// Exactly one.
    pub fn xor(&mut self, f: Ref, g: Ref) -> Result<Ref, Interrupted> {
        let flip = f.complemented() != g.complemented();
        let (f, g) = (f.flip(f.complemented()), g.flip(g.complemented()));
        if f == g {
            return Ok(Ref::FALSE.flip(flip));
        }
        if f == Ref::TRUE {
            return Ok((!g).flip(flip));
        }
        if g == Ref::TRUE {
            return Ok((!f).flip(flip));
        }
        let (f, g) = if f < g { (f, g) } else { (g, f) };
        if let Some(result) = self.recall(XOR, [f, g]) {
            return Ok(result.flip(flip));
        }
        let (level, [f1, f0], [g1, g0]) = self.split(f, g);
        let high = self.xor(f1, g1)?;
        let low = self.xor(f0, g0)?;
        let result = self.vertex(level, high, low)?;
        self.remember(XOR, [f, g], result).map(|result| result.flip(flip))
    }

    /// Both or neither.
    pub fn iff(&mut self, f: Ref, g: Ref) -> Result<Ref, Interrupted> {
        self.xor(f, g).map(|differ| !differ)
    }

    /// The second where the first is true, the third where not.
    pub fn ite(&mut self, c: Ref, f: Ref, g: Ref) -> Result<Ref, Interrupted> {
        let (then, other) = (self.and(c, f)?, self.and(!c, g)?);
        self.or(then, other)
    }

    /// The first level of two diagrams, and what is left of both there, where it is true and where not.
    fn split(&self, f: Ref, g: Ref) -> (u32, [Ref; 2], [Ref; 2]) {
        let (at_f, at_g) = (self.level(f), self.level(g));
        let level = at_f.min(at_g);
        let parts = |f: Ref, at: u32| match at == level {
            true => self.cofactors(f).into(),
            false => [f, f],
        };
        (level, parts(f, at_f), parts(g, at_g))
    }

    /// A plan that quantifies and renames. Renamed levels should keep their order among those that stay: then an
    /// image is one pass.
    pub fn plan(
        &mut self,
        quantify: impl IntoIterator<Item = u32>,
        rename: impl IntoIterator<Item = (u32, u32)>,
    ) -> Plan {
        let quantified = quantify.into_iter().map(|level| (level, QUANTIFY));
        let renamed = rename.into_iter().filter(|(from, to)| from != to);
        let mut list: Vec<(u32, u32)> = quantified.chain(renamed).collect();
        list.sort_unstable();
        list.dedup();
        if let Some(&number) = self.plans.numbers.get(&list[..]) {
            return Plan(number);
        }
        let number = self.plans.lists.len() as u32;
        let list: Rc<[(u32, u32)]> = list.into();
        self.plans.numbers.insert(Rc::clone(&list), number);
        self.plans.lists.push(list);
        Plan(number)
    }

    /// The conjunction of two diagrams, quantified and renamed by a plan.
    pub fn image(&mut self, f: Ref, g: Ref, plan: Plan) -> Result<Ref, Interrupted> {
        let list = Rc::clone(&self.plans.lists[plan.0 as usize]);
        let Some(&(last, _)) = list.last() else {
            return self.and(f, g);
        };
        self.plans.last = last;
        if self.plans.at_hand.len() <= last as usize {
            self.plans.at_hand.resize(last as usize + 1, KEEP);
        }
        for &(level, what) in &list[..] {
            self.plans.at_hand[level as usize] = what;
        }
        let result = self.product(f, g, FIRST_PLAN + plan.0);
        for &(level, _) in &list[..] {
            self.plans.at_hand[level as usize] = KEEP;
        }
        result
    }

    fn product(&mut self, f: Ref, g: Ref, operation: u32) -> Result<Ref, Interrupted> {
        if f == Ref::FALSE || g == Ref::FALSE || f == !g {
            return Ok(Ref::FALSE);
        }
        let (f, g) = if f < g { (f, g) } else { (g, f) };
        // What is equal need be looked at once; `TRUE` is the least.
        let (f, g) = if f == g { (Ref::TRUE, g) } else { (f, g) };
        let level = self.level(f).min(self.level(g));
        if level > self.plans.last || level == BOTTOM {
            return self.and(f, g);
        }
        if let Some(result) = self.recall(operation, [f, g]) {
            return Ok(result);
        }
        let (level, [f1, f0], [g1, g0]) = self.split(f, g);
        let high = self.product(f1, g1, operation)?;
        let what = self.plans.at_hand[level as usize];
        let result = if what == QUANTIFY {
            if high == Ref::TRUE {
                high
            } else {
                let low = self.product(f0, g0, operation)?;
                self.or(high, low)?
            }
        } else {
            let low = self.product(f0, g0, operation)?;
            let to = if what == KEEP { level } else { what };
            self.insert(to, high, low)?
        };
        self.remember(operation, [f, g], result)
    }

    /// Goes to `high` where `level` is true and to `low` where not, wherever the level stands among theirs.
    fn insert(&mut self, level: u32, high: Ref, low: Ref) -> Result<Ref, Interrupted> {
        if level < self.level(high).min(self.level(low)) {
            return self.vertex(level, high, low);
        }
        let var = self.var(level)?;
        self.ite(var, high, low)
    }

    /// The diagram with levels quantified and renamed.
    pub fn project(&mut self, f: Ref, plan: Plan) -> Result<Ref, Interrupted> {
        self.image(f, Ref::TRUE, plan)
    }

    /// The number of vertices of a diagram; stops counting beyond `limit`.
    pub fn size(&self, f: Ref, limit: usize) -> usize {
        let mut seen = std::collections::HashSet::new();
        let mut work = vec![f.vertex()];
        while let Some(at) = work.pop() {
            if at != 0 && seen.len() <= limit && seen.insert(at) {
                work.extend([self.vertices[at].high.vertex(), self.vertices[at].low.vertex()]);
            }
        }
        seen.len()
    }

    /// Some levels with truth values under which a diagram is true, whatever the other levels are; `None` if it is
    /// never true. Prefers false.
    pub fn pick(&self, mut f: Ref) -> Option<Vec<(u32, bool)>> {
        if f == Ref::FALSE {
            return None;
        }
        let mut picked = Vec::new();
        while !f.is_constant() {
            let (high, low) = self.cofactors(f);
            let value = low == Ref::FALSE;
            picked.push((self.level(f), value));
            f = if value { high } else { low };
        }
        Some(picked)
    }

    /// The conjunction of literals.
    pub fn cube(&mut self, literals: &[(u32, bool)]) -> Result<Ref, Interrupted> {
        let mut sorted = literals.to_vec();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let mut cube = Ref::TRUE;
        for (level, value) in sorted {
            cube = match value {
                true => self.vertex(level, cube, Ref::FALSE)?,
                false => self.vertex(level, Ref::FALSE, cube)?,
            };
        }
        Ok(cube)
    }
}
