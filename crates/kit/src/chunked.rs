//! Room `kit`: vectors that grow a chunk at a time.
//!
//! # Idea
//!
//! A `Vec` that is full moves to a place twice as large: for a moment its members are there twice, and afterwards half of the
//! place is empty. A search that keeps several vectors of millions of members, all equally long, would need three times its
//! memory at the moment when all of them grow. Here members stay where they are: a chunk that is full is followed by another
//! of the same size.
//!
//! # Cost
//!
//! An access goes through the list of chunks, which is short enough to be in the cache. The first chunk grows as a `Vec` does, so a small
//! vector stays small.

use std::ops::{Index, IndexMut};

const BITS: u32 = 14;
/// How many members a chunk holds.
pub const CHUNK: usize = 1 << BITS;

/// A vector in chunks. Chunks that became empty are kept, as a `Vec` keeps its place.
pub struct Chunked<T> {
    chunks: Vec<Vec<T>>,
    len: usize,
}

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Chunked { chunks: Vec::new(), len: 0 }
    }
}

impl<T> Chunked<T> {
    /// The number of members.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A member, if there are so many.
    pub fn get(&self, at: usize) -> Option<&T> {
        self.chunks.get(at >> BITS)?.get(at & (CHUNK - 1))
    }

    /// Adds a member at the end.
    pub fn push(&mut self, member: T) {
        let chunk = self.len >> BITS;
        if chunk == self.chunks.len() {
            self.chunks.push(Vec::with_capacity(if chunk == 0 { 0 } else { CHUNK }));
        }
        self.chunks[chunk].push(member);
        self.len += 1;
    }

    /// Takes the last member away.
    pub fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        self.chunks[self.len >> BITS].pop()
    }

    /// The last member.
    pub fn last_mut(&mut self) -> Option<&mut T> {
        let last = self.len.checked_sub(1)?;
        Some(&mut self[last])
    }
}

impl<T: Clone> Chunked<T> {
    /// Adds copies of a member until there are so many members.
    pub fn extend_to(&mut self, len: usize, member: &T) {
        for _ in self.len()..len {
            self.push(member.clone());
        }
    }
}

impl<T> Index<usize> for Chunked<T> {
    type Output = T;
    fn index(&self, at: usize) -> &T {
        &self.chunks[at >> BITS][at & (CHUNK - 1)]
    }
}

impl<T> IndexMut<usize> for Chunked<T> {
    fn index_mut(&mut self, at: usize) -> &mut T {
        &mut self.chunks[at >> BITS][at & (CHUNK - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn does_as_a_vector_does() {
        let (mut chunked, mut vector) = (Chunked::default(), Vec::new());
        for number in 0..3 * CHUNK + 5 {
            chunked.push(number);
            vector.push(number);
            assert_eq!((chunked.len(), chunked.get(number)), (vector.len(), Some(&number)));
        }
        chunked[CHUNK] = 7;
        vector[CHUNK] = 7;
        assert!((0..vector.len()).all(|at| chunked[at] == vector[at]));
        assert_eq!(chunked.get(vector.len()), None);
        while let Some(member) = vector.pop() {
            assert_eq!(chunked.last_mut().copied(), Some(member));
            assert_eq!(chunked.pop(), Some(member));
            assert_eq!((chunked.len(), chunked.is_empty()), (vector.len(), vector.is_empty()));
        }
        assert_eq!((chunked.pop(), chunked.last_mut()), (None, None));
    }

    #[test]
    fn members_stay_where_they_are() {
        let mut chunked = Chunked::default();
        chunked.extend_to(CHUNK, &1u64);
        let first: *const u64 = &chunked[0];
        chunked.extend_to(50 * CHUNK, &2);
        assert_eq!((first, chunked[CHUNK - 1], chunked[CHUNK]), (&raw const chunked[0], 1, 2));
        let places: usize = chunked.chunks.iter().map(Vec::capacity).sum();
        assert_eq!(places, chunked.len());
    }
}
