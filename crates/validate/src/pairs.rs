//! Room `validate`: what is known of pairs of diagrams during one walk through both.
//!
//! A table with one place for each pair, unless another pair with the same place came later; it grows with the walk. Walks are
//! numbered, so that nothing need be cleared between them.

use crate::diagrams::MOST_PLACES;
use crate::gates::Lit;

/// How many places there are at first.
const ROOM: usize = 1 << 10;

#[derive(Clone, Copy)]
struct Entry {
    pair: [Lit; 2],
    walk: u32,
    known: Lit,
}

const NONE: Entry = Entry { pair: [Lit::TRUE; 2], walk: 0, known: Lit::TRUE };

/// What is known of pairs of diagrams.
pub(crate) struct Pairs {
    entries: Vec<Entry>,
    walk: u32,
    /// How many were entered on this walk.
    count: usize,
}

impl Pairs {
    /// Nothing is known.
    pub fn new() -> Self {
        Pairs { entries: vec![NONE; ROOM], walk: 0, count: 0 }
    }

    /// Begins another walk, on which nothing is known.
    pub fn begin(&mut self) {
        self.count = 0;
        self.walk = self.walk.wrapping_add(1);
        if self.walk == 0 {
            self.entries.fill(NONE);
            self.walk = 1;
        }
    }

    /// What is known of a pair.
    pub fn get(&self, pair: [Lit; 2]) -> Option<Lit> {
        let entry = &self.entries[place(pair, self.entries.len())];
        (entry.walk == self.walk && entry.pair == pair).then_some(entry.known)
    }

    /// Enters what is known of a pair.
    pub fn insert(&mut self, pair: [Lit; 2], known: Lit) {
        self.count += 1;
        if self.count > self.entries.len() && self.entries.len() < MOST_PLACES {
            let size = 2 * self.entries.len();
            let old = std::mem::replace(&mut self.entries, vec![NONE; size]);
            for entry in old.into_iter().filter(|entry| entry.walk == self.walk) {
                self.entries[place(entry.pair, size)] = entry;
            }
        }
        let place = place(pair, self.entries.len());
        self.entries[place] = Entry { pair, walk: self.walk, known };
    }
}

/// Where a pair is looked for in a table of this size, a power of two.
fn place([f, g]: [Lit; 2], size: usize) -> usize {
    let pair = u64::from(f.number()) | u64::from(g.number()) << 32;
    // The upper half of the product depends on all bits.
    (pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (size - 1)
}
