//! Room `kit`: rows of machine words, each stored once.
//!
//! # Idea
//!
//! A set that numbers its members 0, 1, 2, … in the order in which they came. The words of all rows stand one after
//! another in pages, and the hash tables hold numbers and hashes: a member costs its words and about a dozen bytes, and
//! growing does not look at rows.
//!
//! Growing happens in small steps, so that a search may come close to its limit of memory: rows stay on their page, a full
//! page is followed by another, and a large set has many tables, which double one at a time.

use crate::chunked::Chunked;
use hashbrown::HashTable;

const PAGE_BITS: u32 = 16;
/// How many words a page has; a longer row has a page of its own.
const PAGE: usize = 1 << PAGE_BITS;

/// How many rows share one table. If there are more, the hash says which of `TABLES` tables a row is in.
const ALONE: usize = 1 << 14;
const TABLE_BITS: u32 = 6;

/// A set of rows of words, of any lengths.
#[derive(Default)]
pub struct Rows {
    pages: Vec<Vec<u64>>,
    /// Where each row starts: its page, and the place on the page.
    starts: Chunked<u32>,
    /// Number and hash of each row.
    tables: Vec<HashTable<(u32, u32)>>,
}

/// There is no room for another row: ids and places are 32 bits wide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

impl Rows {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The first word of a row that is not empty.
    #[inline]
    pub fn head(&self, id: u32) -> u64 {
        let (page, start) = place(self.starts[id as usize]);
        self.pages[page][start]
    }

    /// The words of a row. It ends where the next one on its page starts.
    #[inline]
    pub fn row(&self, id: u32) -> &[u64] {
        let id = id as usize;
        let (page, start) = place(self.starts[id]);
        let words = &self.pages[page];
        match self.starts.get(id + 1).copied().map(place) {
            Some((next, end)) if next == page => &words[start..end],
            _ => &words[start..],
        }
    }

    /// The number of a row, and whether it is new.
    pub fn intern(&mut self, row: &[u64]) -> Result<(u32, bool), Full> {
        let hash = hash(row);
        let same = |&(id, other): &(u32, u32)| other == hash && self.row(id) == row;
        let table = self.tables.get(self.table_of(hash));
        if let Some(&(id, _)) = table.and_then(|table| table.find(spread(hash), same)) {
            return Ok((id, false));
        }
        let id = u32::try_from(self.len()).map_err(|_| Full)?;
        self.write(row)?;
        if self.tables.is_empty() || self.len() == ALONE {
            self.divide();
        }
        let table = self.table_of(hash);
        insert(&mut self.tables[table], (id, hash));
        Ok((id, true))
    }

    /// Writes a row on the last page, or on a new one if there is no place for it.
    fn write(&mut self, row: &[u64]) -> Result<(), Full> {
        let used = self.pages.last().map_or(PAGE, Vec::len);
        if used == PAGE || used + row.len() > PAGE {
            if self.pages.len() == 1 << (32 - PAGE_BITS) {
                return Err(Full);
            }
            let size = if self.pages.is_empty() { 0 } else { PAGE };
            self.pages.push(Vec::with_capacity(size.max(row.len())));
        }
        let page = self.pages.len() - 1;
        self.starts.push((page << PAGE_BITS | self.pages[page].len()) as u32);
        self.pages[page].extend_from_slice(row);
        Ok(())
    }

    /// Which table a row with this hash is in.
    fn table_of(&self, hash: u32) -> usize {
        if self.tables.len() <= 1 { 0 } else { (hash >> (32 - TABLE_BITS)) as usize }
    }

    /// From no table to one, or from one to many.
    fn divide(&mut self) {
        let Some(first) = self.tables.pop() else { return self.tables.push(HashTable::new()) };
        self.tables.resize_with(1 << TABLE_BITS, HashTable::new);
        for member in first {
            let table = self.table_of(member.1);
            insert(&mut self.tables[table], member);
        }
    }
}

/// The page of a row, and where it starts there.
fn place(start: u32) -> (usize, usize) {
    (start as usize >> PAGE_BITS, start as usize & (PAGE - 1))
}

fn insert(table: &mut HashTable<(u32, u32)>, member: (u32, u32)) {
    table.insert_unique(spread(member.1), member, |&(_, hash)| spread(hash));
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
                assert_eq!((rows.row(n as u32), rows.head(n as u32)), (&row[..], row[0]));
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
    fn rows_are_found_on_every_page_and_in_every_table() {
        let row = |n: u64| match n % 1000 {
            0 => vec![n; PAGE + 3],
            1 => vec![n; PAGE],
            2 => Vec::new(),
            k => vec![n; k as usize % 40],
        };
        let mut rows = Rows::default();
        let ids: Vec<u32> = (0..50_000).map(|n| rows.intern(&row(n)).unwrap().0).collect();
        assert_eq!(rows.tables.len(), 1 << TABLE_BITS);
        for n in 0..50_000 {
            assert_eq!(rows.intern(&row(n)), Ok((ids[n as usize], false)));
            assert_eq!(rows.row(ids[n as usize]), row(n));
        }
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
