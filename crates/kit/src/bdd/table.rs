//! Room `kit`: the vertices of all diagrams, each once, and what was computed of them.

use super::{Interrupted, Ref};

/// The level of a vertex that is not in use, and of the constants: below all others.
pub(super) const BOTTOM: u32 = u32::MAX;

/// How many results pass between two calls of the callback that may interrupt work.
const PATIENCE: u32 = 1 << 13;

/// Up to so many, there are as many places for results as vertices; beyond, half as many. With more there are a few per cent less to
/// compute, and more time is lost to memory.
const FEW_RESULTS: usize = 1 << 18;

/// Up to so many vertices, their table doubles.
const FEW_VERTICES: usize = 1 << 18;

/// Sixteen bytes, so that none lies across two lines of the cache.
#[derive(Clone, Copy)]
pub(super) struct Vertex {
    pub level: u32,
    /// Never complemented: of a diagram and its complement one has this form.
    pub high: Ref,
    pub low: Ref,
    /// The next vertex in the same bucket of the table of all vertices; 0 at the end.
    next: u32,
}

impl Vertex {
    /// A vertex that is in no bucket.
    pub fn new(level: u32, high: Ref, low: Ref) -> Self {
        Vertex { level, high, low, next: 0 }
    }

    /// What is left of a diagram with this first vertex where a level is true, and where it is not.
    #[inline(always)]
    pub fn below(self, f: Ref, level: u32) -> (Ref, Ref) {
        match self.level == level {
            true => (self.high.flip(f.complemented()), self.low.flip(f.complemented())),
            false => (f, f),
        }
    }
}

/// A result in the computed table: operands, operation, result.
#[derive(Clone, Copy)]
struct Computed {
    operands: [Ref; 2],
    operation: u32,
    result: Ref,
}

const NOTHING: Computed = Computed { operands: [Ref::TRUE; 2], operation: u32::MAX, result: Ref::TRUE };

/// All diagrams.
pub struct Bdd<'w> {
    pub(super) vertices: Vec<Vertex>,
    /// Vertices that may be used again.
    free: Vec<u32>,
    /// The table of all vertices: the first of each bucket, 0 if it is empty, since vertex 0 is never looked up. Vertices lie
    /// anywhere in memory, so what counts is how many of them a search looks at: in buckets hardly one that is another.
    unique: Vec<u32>,
    computed: Vec<Computed>,
    pub(super) plans: super::ops::Plans,
    /// Operations that wait for the results of smaller ones, and products that do.
    pub(super) waiting: [Vec<super::run::Waiting>; 2],
    /// Memory of walks, to be used again.
    pub(super) path: Vec<super::walk::Junction>,
    goes_on: Box<dyn FnMut(usize) -> bool + 'w>,
    patience: u32,
    /// How often the callback was asked whether to go on, and how often it may be asked before work is interrupted anyway.
    asked: u64,
    allowance: u64,
    /// How many vertices survived the last collection.
    survivors: usize,
    /// The most vertices that were in use at once.
    peak: usize,
    /// How often levels were reordered.
    pub(super) reorderings: u64,
}

impl<'w> Bdd<'w> {
    /// No diagrams but the constants. The callback is asked now and then whether work may go on, and before a table
    /// grows whether it may have so many bytes more.
    pub fn new(goes_on: impl FnMut(usize) -> bool + 'w) -> Self {
        Bdd {
            vertices: vec![Vertex::new(BOTTOM, Ref::TRUE, Ref::TRUE)],
            free: Vec::new(),
            unique: vec![0; 1 << 10],
            computed: vec![NOTHING; 1 << 10],
            plans: Default::default(),
            waiting: Default::default(),
            path: Vec::new(),
            goes_on: Box::new(goes_on),
            patience: PATIENCE,
            asked: 0,
            allowance: u64::MAX,
            survivors: 0,
            peak: 0,
            reorderings: 0,
        }
    }

    /// Asks the callback whether work may go on, for work that makes no diagrams.
    pub fn ask(&mut self) -> Result<(), Interrupted> {
        self.may(0)
    }

    /// Adds to a list that grows with the work. If the list is full, asks the callback first whether it may move to a place twice as large.
    pub fn push<T>(&mut self, list: &mut Vec<T>, item: T) -> Result<(), Interrupted> {
        if list.len() == list.capacity() {
            self.may(2 * list.capacity() * size_of::<T>())?;
        }
        list.push(item);
        Ok(())
    }

    /// Sets another callback that may interrupt work.
    pub fn set_interrupt(&mut self, goes_on: impl FnMut(usize) -> bool + 'w) {
        self.goes_on = Box::new(goes_on);
    }

    /// About how many results were computed.
    pub fn results(&self) -> u64 {
        self.asked * PATIENCE as u64
    }

    /// From now on work is interrupted after about so many results.
    pub fn allow(&mut self, results: u64) {
        self.allowance = results / PATIENCE as u64 + 1;
    }

    /// From now on there may be any number of results. Returns whether there were more than allowed before.
    pub fn allow_all(&mut self) -> bool {
        std::mem::replace(&mut self.allowance, u64::MAX) == 0
    }

    /// The number of vertices in use.
    pub fn len(&self) -> usize {
        self.vertices.len() - self.free.len()
    }

    /// Whether there are only constants.
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }

    /// The most vertices that were in use at once.
    pub fn peak(&self) -> usize {
        self.peak.max(self.len())
    }

    /// How many vertices survived the last collection.
    pub fn survivors(&self) -> usize {
        self.survivors
    }

    /// How often levels were reordered.
    pub fn reorderings(&self) -> u64 {
        self.reorderings
    }

    /// The level that a diagram tests first; [`u32::MAX`] for the constants.
    pub fn level(&self, f: Ref) -> u32 {
        self.vertices[f.vertex()].level
    }

    /// What is left of a diagram where its first test succeeds, and where it fails.
    pub fn cofactors(&self, f: Ref) -> (Ref, Ref) {
        let vertex = self.vertices[f.vertex()];
        (vertex.high.flip(f.complemented()), vertex.low.flip(f.complemented()))
    }

    /// The diagram that goes to `high` where `level` is true and to `low` where not. Both test only levels below.
    #[inline]
    pub(super) fn vertex(&mut self, level: u32, high: Ref, low: Ref) -> Result<Ref, Interrupted> {
        debug_assert!(level < self.level(high).min(self.level(low)), "levels grow downwards");
        if high == low {
            return Ok(high);
        }
        let flip = high.complemented();
        let (high, low) = (high.flip(flip), low.flip(flip));
        let bucket = hash(level, [high, low]) as usize & (self.unique.len() - 1);
        let mut id = self.unique[bucket];
        while id != 0 {
            let vertex = &self.vertices[id as usize];
            if vertex.high == high && vertex.low == low && vertex.level == level {
                return Ok(Ref(id << 1).flip(flip));
            }
            id = vertex.next;
        }
        let id = self.add(Vertex { level, high, low, next: self.unique[bucket] }, bucket)?;
        Ok(Ref(id << 1).flip(flip))
    }

    /// Stores a new vertex, which becomes the first of its bucket.
    #[inline(never)]
    fn add(&mut self, vertex: Vertex, bucket: usize) -> Result<u32, Interrupted> {
        let id = self.store(vertex)?;
        self.unique[bucket] = id;
        let count = self.len();
        if count > self.unique.len() {
            self.grow_buckets()?;
        }
        let results = self.computed.len();
        let enough = if results < FEW_RESULTS { results } else { 2 * results };
        // Not for each vertex, since the answer may be no.
        if count > enough && count.is_multiple_of(1 << 10) {
            self.grow_results();
        }
        Ok(id)
    }

    fn store(&mut self, vertex: Vertex) -> Result<u32, Interrupted> {
        if let Some(id) = self.free.pop() {
            self.vertices[id as usize] = vertex;
            return Ok(id);
        }
        // A reference has one bit for the complement.
        if self.vertices.len() >= 1 << 31 {
            return Err(Interrupted);
        }
        if self.vertices.len() == self.vertices.capacity() {
            // If there are many, by a half, not by double: near the limit every byte counts. If there are few, it counts how often they move to memory that was never touched.
            let count = self.vertices.len();
            let more = if count < FEW_VERTICES { count + 1024 } else { count / 2 };
            self.may((self.vertices.len() + more) * size_of::<Vertex>())?;
            self.vertices.reserve_exact(more);
        }
        self.vertices.push(vertex);
        Ok(self.vertices.len() as u32 - 1)
    }

    fn may(&mut self, bytes: usize) -> Result<(), Interrupted> {
        if (self.goes_on)(bytes) { Ok(()) } else { Err(Interrupted) }
    }

    /// Whether the callback allows so many bytes more.
    pub(super) fn allows(&mut self, bytes: usize) -> bool {
        self.may(bytes).is_ok()
    }

    /// Stores a vertex that is not in the table of all vertices, and may not be there yet.
    pub(super) fn place_vertex(&mut self, vertex: Vertex) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.vertices[id as usize] = vertex;
                id
            }
            None => {
                self.vertices.push(vertex);
                self.vertices.len() as u32 - 1
            }
        }
    }

    /// The opposite.
    pub(super) fn give_up(&mut self, id: u32) {
        self.vertices[id as usize].level = BOTTOM;
        self.free.push(id);
    }

    /// Enters all vertices anew, and forgets all results.
    pub(super) fn reindex(&mut self) {
        self.peak = self.peak();
        self.survivors = self.len();
        self.index(self.len().next_power_of_two().max(self.unique.len()));
        self.computed.fill(NOTHING);
    }

    /// Twice as many buckets.
    fn grow_buckets(&mut self) -> Result<(), Interrupted> {
        let size = self.unique.len() * 2;
        self.may(size * size_of::<u32>())?;
        self.unique = Vec::new();
        self.index(size);
        Ok(())
    }

    /// Twice as many results are kept, if there is room for them.
    #[cold]
    fn grow_results(&mut self) {
        let size = self.computed.len() * 2;
        if !self.allows(size * size_of::<Computed>()) {
            return;
        }
        let old = std::mem::replace(&mut self.computed, vec![NOTHING; size]);
        for entry in old {
            if entry.operation != u32::MAX {
                let hash = hash(entry.operation, entry.operands);
                self.computed[hash as usize & (size - 1)] = entry;
            }
        }
    }

    /// Enters all vertices in use into a table of this size.
    fn index(&mut self, size: usize) {
        self.unique.clear();
        self.unique.resize(size, 0);
        for (id, vertex) in self.vertices.iter_mut().enumerate().skip(1) {
            if vertex.level == BOTTOM {
                continue;
            }
            let bucket = hash(vertex.level, [vertex.high, vertex.low]) as usize & (size - 1);
            vertex.next = std::mem::replace(&mut self.unique[bucket], id as u32);
        }
    }

    pub(super) fn recall(&self, hash: u32, operation: u32, operands: [Ref; 2]) -> Option<Ref> {
        let entry = &self.computed[hash as usize & (self.computed.len() - 1)];
        (entry.operation == operation && entry.operands == operands).then_some(entry.result)
    }

    /// Remembers a result, and returns it if work may go on.
    pub(super) fn remember(
        &mut self,
        hash: u32,
        operation: u32,
        operands: [Ref; 2],
        result: Ref,
    ) -> Result<Ref, Interrupted> {
        let place = hash as usize & (self.computed.len() - 1);
        self.computed[place] = Computed { operands, operation, result };
        self.patience -= 1;
        if self.patience == 0 {
            self.patience = PATIENCE;
            self.asked += 1;
            self.may(0)?;
            self.allowance -= 1;
            if self.allowance == 0 {
                return Err(Interrupted);
            }
        }
        Ok(result)
    }

    /// Whether so much was made since the last collection that another pays.
    pub fn wants_collection(&self) -> bool {
        self.len() > 2 * self.survivors + (1 << 20)
    }

    /// Forgets every vertex that no root leads to.
    pub fn collect(&mut self, roots: impl IntoIterator<Item = Ref>) {
        self.peak = self.peak();
        let mut marked = vec![0u64; crate::bits::words(self.vertices.len())];
        crate::bits::insert(&mut marked, 0);
        let mut work: Vec<usize> = Vec::new();
        for root in roots {
            work.push(root.vertex());
            while let Some(at) = work.pop() {
                if crate::bits::insert(&mut marked, at) {
                    let Vertex { high, low, .. } = self.vertices[at];
                    work.extend([high.vertex(), low.vertex()]);
                }
            }
        }
        self.free.clear();
        for at in (1..self.vertices.len()).rev() {
            if !crate::bits::contains(&marked, at) {
                self.vertices[at].level = BOTTOM;
                self.free.push(at as u32);
            }
        }
        self.reindex();
    }
}

/// Where a vertex, or the result of an operation, is looked for in its table, whatever the size of that: by a level and the
/// successors there, or by an operation and its operands. Both halves of the product count, so that every bit of it depends on
/// all that is given.
#[inline(always)]
pub(super) fn hash(number: u32, [f, g]: [Ref; 2]) -> u32 {
    let pair = f.0 as u64 | (g.0 as u64) << 32;
    let product = (pair ^ 0x9e37_79b9_7f4a_7c15) as u128 * (number as u64 ^ 0xd6e8_feb8_6659_fd93) as u128;
    (product as u64 ^ (product >> 64) as u64) as u32
}
