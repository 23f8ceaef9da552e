//! Room `engine/explicit`: everything found so far.
//!
//! Three kinds of rows share one table and one numbering. A *context* is a location, the entry it belongs to, and a
//! valuation. An *entry* is a procedure and the values it was entered with. A *suspension* is a caller waiting for an
//! entry to return: the call, the caller's own entry, and what it keeps meanwhile. Each remembers how it was found.

use postbop_ir::{EdgeId, Length, LocId, ProcId};
use postbop_kit::chunked::Chunked;
use postbop_kit::rows::{Full, Rows};
use smallvec::SmallVec;

/// In place of the number of a row: there is none.
pub const NO_ROW: u32 = u32::MAX;

const ENTRY: u64 = 1 << 63;
const SUSPENSION: u64 = 1 << 62;
const MOST_ENTRIES: usize = 1 << 30;

/// Numbers of rows, which as a rule are few. Up to four take no more room than an empty list.
pub type Few = SmallVec<[u32; 4]>;

/// How a row was found.
#[derive(Clone, Copy, Debug)]
pub struct Parent {
    /// The context before, or for the return of a call the suspension; [`NO_ROW`] at an entry.
    pub from: u32,
    /// The edge taken.
    pub edge: EdgeId,
    /// For the return of a call: the context at the callee's exit.
    pub exit: u32,
}

/// A procedure entered with certain values.
#[derive(Debug)]
pub struct Entry {
    /// The procedure.
    pub proc: ProcId,
    /// The suspension that entered it first; [`NO_ROW`] for main.
    pub first: u32,
    /// All suspensions that wait for it.
    pub callers: Few,
    /// The contexts at its exit.
    pub exits: Few,
    /// The number of steps from the start of the run, if that is of interest.
    pub distance: Length,
}

/// The table.
#[derive(Default)]
pub struct Store {
    rows: Rows,
    parents: Chunked<Parent>,
    /// The entries, by number.
    pub entries: Vec<Entry>,
    /// The number of contexts.
    pub contexts: u64,
    scratch: Vec<u64>,
}

impl Store {
    /// The number of rows of all kinds.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    fn intern(&mut self, head: &[u64], row: &[u64], parent: Parent) -> Result<(u32, bool), Full> {
        self.scratch.clear();
        self.scratch.extend_from_slice(head);
        self.scratch.extend_from_slice(row);
        let (id, new) = self.rows.intern(&self.scratch)?;
        if new {
            self.parents.push(parent);
        }
        Ok((id, new))
    }

    /// Adds a context.
    pub fn context(
        &mut self,
        entry: u32,
        loc: LocId,
        row: &[u64],
        parent: Parent,
    ) -> Result<(u32, bool), Full> {
        let (id, new) = self.intern(&[(entry as u64) << 32 | loc.0 as u64], row, parent)?;
        self.contexts += new as u64;
        Ok((id, new))
    }

    /// Adds an entry. Returns its number, and whether it is new.
    pub fn entry(&mut self, proc: ProcId, row: &[u64]) -> Result<(u32, bool), Full> {
        let number = self.entries.len() as u32;
        // An entry's parent says which number it has.
        let parent = Parent { from: number, edge: EdgeId(0), exit: NO_ROW };
        let (id, new) = self.intern(&[ENTRY | proc.0 as u64], row, parent)?;
        if !new {
            return Ok((self.parents[id as usize].from, false));
        }
        if self.entries.len() >= MOST_ENTRIES {
            return Err(Full);
        }
        let (callers, exits) = Default::default();
        self.entries.push(Entry { proc, first: NO_ROW, callers, exits, distance: Length::ZERO });
        Ok((number, true))
    }

    /// Adds a suspension of a context at a call that enters `callee`.
    pub fn suspension(
        &mut self,
        entry: u32,
        callee: u32,
        row: &[u64],
        from: u32,
        edge: EdgeId,
    ) -> Result<(u32, bool), Full> {
        let head = [SUSPENSION | (entry as u64) << 32 | edge.0 as u64, callee as u64];
        self.intern(&head, row, Parent { from, edge, exit: NO_ROW })
    }

    /// The entry that a context or suspension belongs to.
    pub fn entry_of(&self, id: u32) -> u32 {
        (self.rows.head(id) >> 32) as u32 & (MOST_ENTRIES as u32 - 1)
    }

    /// The location of a context.
    pub fn loc(&self, context: u32) -> LocId {
        LocId(self.rows.head(context) as u32)
    }

    /// The location of a row, if it is a context.
    pub fn context_loc(&self, row: u32) -> Option<LocId> {
        let head = self.rows.head(row);
        (head & (ENTRY | SUSPENSION) == 0).then_some(LocId(head as u32))
    }

    /// If a row is an entry, its number, and the values that its procedure was entered with.
    pub fn entry_row(&self, row: u32) -> Option<(u32, &[u64])> {
        let found = self.rows.row(row);
        (found[0] & ENTRY != 0).then(|| (self.parents[row as usize].from, &found[1..]))
    }

    /// The valuation of a context.
    pub fn valuation(&self, context: u32) -> &[u64] {
        &self.rows.row(context)[1..]
    }

    /// What a suspension keeps.
    pub fn kept(&self, suspension: u32) -> &[u64] {
        &self.rows.row(suspension)[2..]
    }

    /// The entry that a suspension waits for.
    pub fn awaited(&self, suspension: u32) -> u32 {
        self.rows.row(suspension)[1] as u32
    }

    /// How a row was found.
    pub fn parent(&self, id: u32) -> Parent {
        self.parents[id as usize]
    }

    /// Notes a better way to a row.
    pub fn set_parent(&mut self, id: u32, parent: Parent) {
        self.parents[id as usize] = parent;
    }
}
