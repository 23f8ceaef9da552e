//! Room `kit`: operations on diagrams.

use super::run::{AND, FIRST_PLAN, PRODUCT, XOR};
use super::table::hash;
use super::{Bdd, Interrupted, Ref};
use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

/// What an image does with levels: quantify some, rename others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Plan(u32);

/// What happens at a level that a plan leaves alone, and at one that it quantifies; otherwise it is the new level.
pub(super) const KEEP: u32 = u32::MAX;
pub(super) const QUANTIFY: u32 = u32::MAX - 1;

/// How far it is looked whether there is anything in common.
const MOST_STEPS: usize = 64;

#[derive(Default)]
pub(super) struct Plans {
    /// The number of the first plan that was not forgotten. The computed table knows plans by their numbers.
    first: u32,
    /// The levels a plan touches, in order, and what happens there.
    lists: Vec<Rc<[(u32, u32)]>>,
    numbers: HashMap<Rc<[(u32, u32)]>, u32>,
    /// Memory for a plan in the making.
    draft: Vec<(u32, u32)>,
    /// What the plan at hand does at each level.
    pub at_hand: Vec<u32>,
    /// Below this level it does nothing.
    pub last: u32,
}

impl Plans {
    /// Every level has become another one.
    pub fn relevel(&mut self, level: impl Fn(u32) -> u32) {
        let what = |what: u32| if what == KEEP || what == QUANTIFY { what } else { level(what) };
        self.numbers.clear();
        for (list, number) in self.lists.iter_mut().zip(self.first..) {
            let mut moved: Vec<(u32, u32)> = list.iter().map(|&(from, to)| (level(from), what(to))).collect();
            moved.sort_unstable();
            *list = moved.into();
            self.numbers.insert(Rc::clone(list), number);
        }
    }
}

impl Bdd<'_> {
    /// The diagram of a single level.
    pub fn var(&mut self, level: u32) -> Result<Ref, Interrupted> {
        self.vertex(level, Ref::TRUE, Ref::FALSE)
    }

    /// Both.
    #[inline]
    pub fn and(&mut self, f: Ref, g: Ref) -> Result<Ref, Interrupted> {
        if f == Ref::FALSE || g == Ref::FALSE {
            return Ok(Ref::FALSE);
        }
        if f == Ref::TRUE || g == Ref::TRUE {
            return Ok(if f == Ref::TRUE { g } else { f });
        }
        self.run::<AND>(f, g, AND)
    }

    /// At least one.
    pub fn or(&mut self, f: Ref, g: Ref) -> Result<Ref, Interrupted> {
        self.and(!f, !g).map(|neither| !neither)
    }

    /// Exactly one.
    pub fn xor(&mut self, f: Ref, g: Ref) -> Result<Ref, Interrupted> {
        self.run::<XOR>(f, g, XOR)
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

    /// A plan that quantifies and renames. Renamed levels should keep their order among those that stay: then an
    /// image is one pass.
    pub fn plan(
        &mut self,
        quantify: impl IntoIterator<Item = u32>,
        rename: impl IntoIterator<Item = (u32, u32)>,
    ) -> Plan {
        let quantified = quantify.into_iter().map(|level| (level, QUANTIFY));
        let renamed = rename.into_iter().filter(|(from, to)| from != to);
        let list = &mut self.plans.draft;
        list.clear();
        list.extend(quantified.chain(renamed));
        list.sort_unstable();
        list.dedup();
        if let Some(&number) = self.plans.numbers.get(&list[..]) {
            return Plan(number);
        }
        let number = self.plans.first + self.plans.lists.len() as u32;
        let list: Rc<[(u32, u32)]> = list[..].into();
        self.plans.numbers.insert(Rc::clone(&list), number);
        self.plans.lists.push(list);
        Plan(number)
    }

    /// The plans that were made will not be used any more: their memory is free for others.
    pub fn forget_plans(&mut self) {
        let first = self.plans.first + self.plans.lists.len() as u32;
        self.plans = Plans { first, ..Plans::default() };
    }

    /// The conjunction of two diagrams, quantified and renamed by a plan.
    pub fn image(&mut self, f: Ref, g: Ref, plan: Plan) -> Result<Ref, Interrupted> {
        let Some(&(last, _)) = self.plans.lists[(plan.0 - self.plans.first) as usize].last() else {
            return self.and(f, g);
        };
        // The very same image was made before, as a rule where procedures are alike.
        let (number, operands) = (FIRST_PLAN + plan.0, if f < g { [f, g] } else { [g, f] });
        if let Some(result) = self.recall(hash(number, operands), number, operands) {
            return Ok(result);
        }
        if self.apart(f, g) {
            return Ok(Ref::FALSE);
        }
        let list = Rc::clone(&self.plans.lists[(plan.0 - self.plans.first) as usize]);
        self.plans.last = last;
        if self.plans.at_hand.len() <= last as usize {
            self.plans.at_hand.resize(last as usize + 1, KEEP);
        }
        for &(level, what) in &list[..] {
            self.plans.at_hand[level as usize] = what;
        }
        let result = self.run::<PRODUCT>(f, g, FIRST_PLAN + plan.0);
        for &(level, _) in &list[..] {
            self.plans.at_hand[level as usize] = KEEP;
        }
        result
    }

    /// Whether two diagrams are seen to have nothing in common where only one way leads down. A valuation meets the guards
    /// of most edges like this, and no plan need be laid out to find nothing.
    fn apart(&self, mut f: Ref, mut g: Ref) -> bool {
        for _ in 0..MOST_STEPS {
            let (mut upper, mut lower) = (self.vertices[f.vertex()], self.vertices[g.vertex()]);
            if upper.level > lower.level {
                (f, g) = (g, f);
                (upper, lower) = (lower, upper);
            }
            if f.is_constant() {
                break;
            }
            let (high, low) = (upper.high.flip(f.complemented()), upper.low.flip(f.complemented()));
            let up = low == Ref::FALSE;
            if up == (high == Ref::FALSE) {
                return false;
            }
            if lower.level == upper.level {
                g = if up { lower.high } else { lower.low }.flip(g.complemented());
            }
            f = if up { high } else { low };
        }
        f == Ref::FALSE || g == Ref::FALSE
    }

    /// Goes to `high` where `level` is true and to `low` where not, wherever the level stands among theirs.
    pub(super) fn insert(&mut self, level: u32, high: Ref, low: Ref) -> Result<Ref, Interrupted> {
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
