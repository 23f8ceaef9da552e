//! Room `kit/ndd`: Boolean operations, as products of automata.
//!
//! # Idea
//!
//! Both automata read the same word; a state of the product is a pair. Where one side accepts nothing, or everything, the
//! other often does not matter, and the product ends there.

use super::draft::{Draft, table};
use super::{ALL, Interrupted, Link, NOTHING, Ndd, Ndds, first_test};
use rustc_hash::FxHashMap as HashMap;

impl Ndds<'_> {
    /// The vectors that are in both sets.
    pub fn and(&self, a: &Ndd, b: &Ndd) -> Result<Ndd, Interrupted> {
        match () {
            () if a.is_all() || b.is_empty() || a == b => Ok(b.clone()),
            () if b.is_all() || a.is_empty() => Ok(a.clone()),
            () => self.apply(a, b, |a, b| a && b),
        }
    }

    /// The vectors that are in one of the sets.
    pub fn or(&self, a: &Ndd, b: &Ndd) -> Result<Ndd, Interrupted> {
        match () {
            () if a.is_empty() || b.is_all() || a == b => Ok(b.clone()),
            () if b.is_empty() || a.is_all() => Ok(a.clone()),
            () => self.apply(a, b, |a, b| a || b),
        }
    }

    /// The vectors that are in the first set and not in the second.
    pub fn minus(&self, a: &Ndd, b: &Ndd) -> Result<Ndd, Interrupted> {
        match () {
            () if a == b || a.is_empty() || b.is_all() => Ok(self.constant(false)),
            () if b.is_empty() => Ok(a.clone()),
            () => self.apply(a, b, |a, b| a && !b),
        }
    }

    /// The vectors that are in exactly one of the sets.
    pub fn xor(&self, a: &Ndd, b: &Ndd) -> Result<Ndd, Interrupted> {
        self.apply(a, b, |a, b| a != b)
    }

    /// The vectors that are not in the set.
    pub fn not(&self, a: &Ndd) -> Result<Ndd, Interrupted> {
        self.minus(&self.constant(true), a)
    }

    /// The conjunction of all sets.
    pub fn all<'s>(&self, sets: impl IntoIterator<Item = &'s Ndd>) -> Result<Ndd, Interrupted> {
        sets.into_iter().try_fold(self.constant(true), |all, set| self.and(&all, set))
    }

    /// Whether every vector of the first set is in the second.
    pub fn is_subset(&self, a: &Ndd, b: &Ndd) -> Result<bool, Interrupted> {
        if a == b || a.is_empty() || b.is_all() {
            return Ok(true);
        }
        let mut product = Product::new(self, [a, b], |a, b| a && !b);
        product.start()?;
        while !product.inhabited && product.step()? {}
        Ok(!product.inhabited)
    }

    fn apply(&self, a: &Ndd, b: &Ndd, op: fn(bool, bool) -> bool) -> Result<Ndd, Interrupted> {
        let mut product = Product::new(self, [a, b], op);
        product.start()?;
        while product.step()? {}
        self.finish(product.draft)
    }
}

struct Product<'p, 'a> {
    sides: [&'p Ndd; 2],
    op: fn(bool, bool) -> bool,
    store: &'p Ndds<'a>,
    draft: Draft,
    pairs: HashMap<[u32; 2], u32>,
    order: Vec<(u32, [u32; 2])>,
    /// How many states have their diagrams.
    next: usize,
    done: HashMap<[Link; 2], Link>,
    /// Whether a state was met at which a number may end: then the product has a member.
    inhabited: bool,
}

impl<'p, 'a> Product<'p, 'a> {
    fn new(store: &'p Ndds<'a>, sides: [&'p Ndd; 2], op: fn(bool, bool) -> bool) -> Self {
        let vertices = sides.iter().map(|side| side.0.vertices.len()).sum();
        let states = sides.iter().map(|side| side.0.states.len()).sum();
        Product {
            sides,
            op,
            store,
            draft: Draft::with_room(vertices),
            pairs: table(states),
            order: Vec::new(),
            next: 0,
            done: table(vertices),
            inhabited: false,
        }
    }

    /// Reads the first digit.
    fn start(&mut self) -> Result<(), Interrupted> {
        self.draft.first = self.both(self.sides.map(|side| side.0.first))?;
        Ok(())
    }

    /// Reads the next digit after one more state; whether there was one.
    fn step(&mut self) -> Result<bool, Interrupted> {
        let Some(&(state, pair)) = self.order.get(self.next) else { return Ok(false) };
        let roots = [0, 1].map(|side: usize| self.sides[side].0.states[pair[side] as usize].root);
        self.draft.states[state as usize].root = self.both(roots)?;
        self.next += 1;
        Ok(true)
    }

    /// The state of a pair.
    fn state(&mut self, pair: [u32; 2]) -> Link {
        let op = self.op;
        let decided = |state: u32| (state <= ALL).then_some(state == ALL);
        let [a, b] = pair.map(decided);
        let (mut may, mut must) = (false, true);
        for a in [false, true].into_iter().filter(|side| a.is_none_or(|a| a == *side)) {
            for b in [false, true].into_iter().filter(|side| b.is_none_or(|b| b == *side)) {
                (may, must) = (may || op(a, b), must && op(a, b));
            }
        }
        if !may || must {
            self.inhabited |= may;
            return Link::to_state(if may { ALL } else { NOTHING });
        }
        if let Some(&known) = self.pairs.get(&pair) {
            return Link::to_state(known);
        }
        let accepts = |side: usize| self.sides[side].0.states[pair[side] as usize].accepts;
        let accepts = op(accepts(0), accepts(1));
        self.inhabited |= accepts;
        let new = self.draft.state(accepts);
        self.pairs.insert(pair, new);
        self.order.push((new, pair));
        Link::to_state(new)
    }

    /// The diagram that follows both diagrams at once.
    // Bounded depth: one call for each column that the two sets mention.
    fn both(&mut self, links: [Link; 2]) -> Result<Link, Interrupted> {
        if let [Some(a), Some(b)] = links.map(Link::state) {
            return Ok(self.state([a, b]));
        }
        if let Some(&known) = self.done.get(&links) {
            return Ok(known);
        }
        self.store.spend(1)?;
        let tests = [0, 1].map(|side: usize| {
            links[side].state().is_none().then(|| self.sides[side].0.vertices[links[side].0 as usize])
        });
        let (column, [low, high]) = first_test(links, tests);
        let next = [self.both(low)?, self.both(high)?];
        let link = self.draft.vertices.test(column, next);
        self.done.insert(links, link);
        Ok(link)
    }
}
