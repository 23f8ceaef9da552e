//! Room `kit`: another order of levels, for the diagrams as they are.
//!
//! # Idea
//!
//! Two levels that are neighbours can change places by rewriting the vertices of the upper one that lead to the lower one;
//! whatever leads to those vertices is not touched, so every diagram keeps its number. Whether the new order is
//! better can be seen at once: it is the number of vertices. *Sifting* takes a level through all places, down to one
//! end and up to the other, and leaves it where there were the fewest vertices, one level after the other, those with
//! many vertices first.
//!
//! Levels come in blocks of equal size that belong together, and a block moves as a whole. Where a block on its way
//! makes the diagrams a fifth larger than the best place so far, it does not go on in this direction.
//!
//! # Paper
//!
//! \[rudell\]; blocks as in \[panda\]. # Departures: blocks are given by the caller, and not found by affinity.
//!
//! # Cost
//!
//! A swap costs the vertices of the upper level; sifting, in the worst case, a few times the number of blocks times that of
//! vertices. It stops between two swaps when the caller interrupts it; what it has found by then counts.

use super::table::{BOTTOM, Vertex};
use super::{Bdd, Ref};
use rustc_hash::FxHashMap as HashMap;

/// How a block may make diagrams larger on its way: by a fifth.
const DETOUR: (usize, usize) = (6, 5);

/// So many blocks are moved at most, those with the most vertices.
const MOST_BLOCKS: usize = 200;

/// The way to another order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reorder {
    /// Each block goes where diagrams are smallest.
    Sift,
    /// The first block goes behind all others, whatever comes of it: to try what follows from another order.
    Rotate,
}

/// The diagrams while levels move. A vertex carries the level it had before; where that stands now is `place`.
struct Sifter<'b, 'w> {
    bdd: &'b mut Bdd<'w>,
    /// How many vertices and roots lead to each vertex.
    references: Vec<u32>,
    /// Of each vertex its place among those of its level.
    index: Vec<u32>,
    /// The vertices of each level.
    members: Vec<Vec<u32>>,
    unique: HashMap<(u32, Ref, Ref), u32>,
    /// The blocks that have vertices, in the order they stand in now; each is a number of consecutive levels.
    blocks: Vec<u32>,
    width: u32,
    size: usize,
    stopped: bool,
}

impl<'w> Bdd<'w> {
    /// Puts the levels below `levels` into another order, in blocks of `width`. Forgets every vertex that no root leads
    /// to; the roots mean the same as before, with each level read as the one it has become, and so do plans. Returns the
    /// new number of each block.
    pub fn reorder(
        &mut self,
        roots: impl IntoIterator<Item = Ref> + Clone,
        levels: u32,
        width: u32,
        way: Reorder,
    ) -> Vec<u32> {
        self.collect(roots.clone());
        let mut sifter = Sifter::new(self, roots, levels, width);
        let before = sifter.blocks.clone();
        match way {
            Reorder::Sift => sifter.sift(),
            Reorder::Rotate => sifter.rotate(),
        }
        let after = std::mem::take(&mut sifter.blocks);
        // The blocks that have vertices have changed places among each other.
        let mut moved: Vec<u32> = (0..levels / width).collect();
        before.iter().zip(&after).for_each(|(&place, &block)| moved[block as usize] = place);
        let level = |old: u32| match old < levels {
            true => moved[(old / width) as usize] * width + old % width,
            false => old,
        };
        for vertex in self.vertices.iter_mut().filter(|vertex| vertex.level != BOTTOM) {
            vertex.level = level(vertex.level);
        }
        self.plans.relevel(level);
        self.reindex();
        self.reorderings += 1;
        moved
    }
}

impl<'b, 'w> Sifter<'b, 'w> {
    fn new(bdd: &'b mut Bdd<'w>, roots: impl IntoIterator<Item = Ref>, levels: u32, width: u32) -> Self {
        let count = bdd.vertices.len();
        let mut sifter = Sifter {
            bdd,
            references: vec![0; count],
            index: vec![0; count],
            members: vec![Vec::new(); levels as usize],
            unique: HashMap::default(),
            blocks: Vec::new(),
            width,
            size: 0,
            stopped: false,
        };
        for id in 1..count as u32 {
            let Vertex { level, high, low, .. } = sifter.bdd.vertices[id as usize];
            if level == BOTTOM {
                continue;
            }
            sifter.references[high.vertex()] += 1;
            sifter.references[low.vertex()] += 1;
            if level < levels {
                sifter.enter(id);
            }
        }
        roots.into_iter().for_each(|root| sifter.references[root.vertex()] += 1);
        let levels_of = |block: &u32| block * width..(block + 1) * width;
        let used = |block: &u32| levels_of(block).any(|level| !sifter.members[level as usize].is_empty());
        sifter.blocks = (0..levels / width).filter(used).collect();
        sifter
    }

    /// Makes a vertex findable by what it is.
    fn enter(&mut self, id: u32) {
        let Vertex { level, high, low, .. } = self.bdd.vertices[id as usize];
        let members = &mut self.members[level as usize];
        self.index[id as usize] = members.len() as u32;
        members.push(id);
        self.unique.insert((level, high, low), id);
        self.size += 1;
    }

    /// The opposite.
    fn leave(&mut self, id: u32) {
        let Vertex { level, high, low, .. } = self.bdd.vertices[id as usize];
        let (members, at) = (&mut self.members[level as usize], self.index[id as usize] as usize);
        members.swap_remove(at);
        if let Some(&moved) = members.get(at) {
            self.index[moved as usize] = at as u32;
        }
        self.unique.remove(&(level, high, low));
        self.size -= 1;
    }

    /// The vertex with these successors, which are referred to once more.
    fn vertex(&mut self, level: u32, high: Ref, low: Ref) -> Ref {
        if high == low {
            self.references[high.vertex()] += 1;
            return high;
        }
        let flip = high.complemented();
        let (high, low) = (high.flip(flip), low.flip(flip));
        let id = match self.unique.get(&(level, high, low)) {
            Some(&id) => id,
            None => {
                let id = self.bdd.place_vertex(Vertex::new(level, high, low));
                if self.references.len() <= id as usize {
                    self.references.resize(id as usize + 1, 0);
                    self.index.resize(id as usize + 1, 0);
                }
                self.references[id as usize] = 0;
                self.references[high.vertex()] += 1;
                self.references[low.vertex()] += 1;
                self.enter(id);
                id
            }
        };
        self.references[id as usize] += 1;
        Ref(id << 1).flip(flip)
    }

    /// One reference less; vertices without a reference are given up.
    fn release(&mut self, f: Ref) {
        let mut work = vec![f.vertex()];
        while let Some(at) = work.pop() {
            self.references[at] -= 1;
            if at == 0 || self.references[at] > 0 {
                continue;
            }
            let Vertex { high, low, .. } = self.bdd.vertices[at];
            self.leave(at as u32);
            self.bdd.give_up(at as u32);
            work.extend([high.vertex(), low.vertex()]);
        }
    }

    /// Lets a level change places with the one that stands next below it.
    fn swap(&mut self, upper: u32, lower: u32) {
        let leads = |bdd: &Bdd, f: Ref| bdd.level(f) == lower;
        let mut ids = Vec::new();
        for &id in &self.members[upper as usize] {
            let Vertex { high, low, .. } = self.bdd.vertices[id as usize];
            if leads(self.bdd, high) || leads(self.bdd, low) {
                ids.push(id);
            }
        }
        for &id in &ids {
            self.leave(id);
        }
        for id in ids {
            let Vertex { high, low, .. } = self.bdd.vertices[id as usize];
            let part = |f: Ref| match leads(self.bdd, f) {
                true => self.bdd.cofactors(f),
                false => (f, f),
            };
            let ((high1, high0), (low1, low0)) = (part(high), part(low));
            let (new_high, new_low) = (self.vertex(upper, high1, low1), self.vertex(upper, high0, low0));
            debug_assert!(!new_high.complemented() && new_high != new_low, "it tests the lower level");
            self.bdd.vertices[id as usize] = Vertex::new(lower, new_high, new_low);
            self.enter(id);
            self.release(high);
            self.release(low);
        }
    }

    /// Lets the block at a place change places with the next. Returns whether it may go on.
    fn exchange(&mut self, place: usize) -> bool {
        let (upper, lower) = (self.blocks[place], self.blocks[place + 1]);
        let vertices: usize =
            (0..self.width).map(|at| self.members[(upper * self.width + at) as usize].len()).sum();
        // Each vertex of the upper block may become two more, once for every level that it sinks.
        let bytes = 2 * vertices * self.width as usize * 4 * size_of::<Vertex>();
        if !self.bdd.allows(bytes) {
            self.stopped = true;
            return false;
        }
        for above in (0..self.width).rev() {
            for below in 0..self.width {
                self.swap(upper * self.width + above, lower * self.width + below);
            }
        }
        self.blocks.swap(place, place + 1);
        true
    }

    fn rotate(&mut self) {
        let mut place = 0;
        while place + 1 < self.blocks.len() && self.exchange(place) {
            place += 1;
        }
    }

    fn sift(&mut self) {
        let weight = |block: u32| -> usize {
            (0..self.width).map(|at| self.members[(block * self.width + at) as usize].len()).sum()
        };
        let mut order: Vec<(usize, u32)> = self.blocks.iter().map(|&block| (weight(block), block)).collect();
        order.sort_unstable_by_key(|&(weight, block)| (std::cmp::Reverse(weight), block));
        for (_, block) in order.into_iter().take(MOST_BLOCKS) {
            self.settle(block);
            if self.stopped {
                break;
            }
        }
    }

    /// Takes a block through all places and leaves it at the best one.
    fn settle(&mut self, block: u32) {
        let start = self.blocks.iter().position(|&other| other == block).expect("it has vertices");
        let (mut best, mut at) = ((self.size, start), start);
        let last = self.blocks.len() - 1;
        let down_first = last - start <= start;
        for down in [down_first, !down_first] {
            while at != if down { last } else { 0 } {
                if !self.exchange(if down { at } else { at - 1 }) {
                    break;
                }
                at = if down { at + 1 } else { at - 1 };
                best = best.min((self.size, at));
                if self.size * DETOUR.1 > best.0 * DETOUR.0 {
                    break;
                }
            }
        }
        while at != best.1 && self.exchange(if at < best.1 { at } else { at - 1 }) {
            at = if at < best.1 { at + 1 } else { at - 1 };
        }
    }
}
