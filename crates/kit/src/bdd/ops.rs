//! Room `kit`: operations on diagrams.

use super::run::{AND, FIRST_PLAN, PRODUCT, XOR};
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
    /// The levels a plan touches, in order, and what happens there.
    lists: Vec<Rc<[(u32, u32)]>>,
    numbers: HashMap<Rc<[(u32, u32)]>, u32>,
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
        for (list, number) in self.lists.iter_mut().zip(0..) {
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
    pub fn and(&mut self, f: Ref, g: Ref) -> Result<Ref, Interrupted> {
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
        if self.apart(f, g) {
            return Ok(Ref::FALSE);
        }
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
            if self.level(f) > self.level(g) {
                (f, g) = (g, f);
            }
            if f.is_constant() {
                break;
            }
            let (high, low) = self.cofactors(f);
            let way = match (high == Ref::FALSE, low == Ref::FALSE) {
                (true, false) => low,
                (false, true) => high,
                _ => return false,
            };
            if self.level(g) == self.level(f) {
                let (high_g, low_g) = self.cofactors(g);
                g = if low == Ref::FALSE { high_g } else { low_g };
            }
            f = way;
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
