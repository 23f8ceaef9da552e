//! Room `kit`: rows of machine words, each stored once.
//!
//! # Idea
//!
//! A set that numbers its members 0, 1, 2, … in the order in which they came. The words of all rows stand one after
//! another in a single vector, and the hash table holds numbers and hashes: a member costs its words and about a dozen
//! bytes, adding one allocates nothing but for the growth of the vectors, and growing does not look at rows.

use hashbrown::HashTable;

/// A set of rows of words, of any lengths.
#[derive(Default)]
pub struct Rows {
    words: Vec<u64>,
    /// Where each row ends.
    ends: Vec<u32>,
    /// Number and hash of each row.
    table: HashTable<(u32, u32)>,
}

/// There is no room for another row: ids and offsets are 32 bits wide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

impl Rows {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The words of a row.
    pub fn row(&self, id: u32) -> &[u64] {
        slice(&self.words, &self.ends, id)
    }

    /// The number of a row, and whether it is new.
    pub fn intern(&mut self, row: &[u64]) -> Result<(u32, bool), Full> {
        let Rows { words, ends, table } = self;
        let hash = hash(row);
        let same = |&(id, other): &(u32, u32)| other == hash && slice(words, ends, id) == row;
        if let Some(&(id, _)) = table.find(spread(hash), same) {
            return Ok((id, false));
        }
        let end = u32::try_from(words.len() + row.len()).map_err(|_| Full)?;
        let id = u32::try_from(ends.len()).map_err(|_| Full)?;
        words.extend_from_slice(row);
        ends.push(end);
        table.insert_unique(spread(hash), (id, hash), |&(_, hash)| spread(hash));
        Ok((id, true))
    }
}

fn slice<'a>(words: &'a [u64], ends: &[u32], id: u32) -> &'a [u64] {
    let start = match id {
        0 => 0,
        _ => ends[id as usize - 1] as usize,
    };
    &words[start..ends[id as usize] as usize]
}

/// Rows of a search are regular: one word grows as another shrinks, and a hash that is linear in the words would send
/// them to the same place. So both halves of the product are used.
fn hash(row: &[u64]) -> u32 {
    let mut hash = row.len() as u64;
    for &word in row {
        let product = u128::from(hash ^ word ^ 0x2545_f491_4f6c_dd1d) * 0x9e37_79b9_7f4a_7c15_u128;
        hash = product as u64 ^ (product >> 64) as u64;
    }
    (hash >> 32) as u32
}

/// The table looks at both ends of a hash, so the bits we keep must fill both.
fn spread(hash: u32) -> u64 {
    (hash as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_numbered_once() {
        let mut rows = Rows::default();
        assert!(rows.is_empty());
        for round in 0..2 {
            for n in 0..10_000u64 {
                let row: Vec<u64> = (0..n % 4).map(|k| n * 7 + k).chain([n]).collect();
                assert_eq!(rows.intern(&row), Ok((n as u32, round == 0)));
                assert_eq!(rows.row(n as u32), row);
            }
        }
        assert_eq!(rows.len(), 10_000);
    }

    #[test]
    fn regular_rows_do_not_collide() {
        let hashes: std::collections::HashSet<u32> =
            (0..100_000u64).map(|n| hash(&[n << 32 | 7, (100_000 - n) << 17])).collect();
        assert!(hashes.len() > 99_900, "{} of 100000", hashes.len());
    }

    #[test]
    fn length_tells_rows_apart() {
        let mut rows = Rows::default();
        assert_eq!(rows.intern(&[]), Ok((0, true)));
        assert_eq!(rows.intern(&[0]), Ok((1, true)));
        assert_eq!(rows.intern(&[0, 0]), Ok((2, true)));
        assert_eq!(rows.intern(&[]), Ok((0, false)));
    }
}
