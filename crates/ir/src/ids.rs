//! Room `ir`: dense typed ids, and tables indexed by them.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A dense index that knows what it indexes.
pub trait Id: Copy + Eq + Ord {
    /// The id with this index.
    fn new(index: usize) -> Self;
    /// The index of this id.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl Id for $name {
            fn new(index: usize) -> Self {
                $name(u32::try_from(index).expect("more than 2^32 ids of one kind"))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}

ids! {
    /// A variable of the program, global or local.
    VarId "v";
    /// A procedure.
    ProcId "p";
    /// A location: a control point of one procedure.
    LocId "l";
    /// An edge between two locations of one procedure.
    EdgeId "e";
    /// A completed call in a trace.
    SegmentId "s";
    /// A thread.
    ThreadId "t";
    /// A file of the source, by its place among those that were read together.
    FileId "f";
}

/// A vector indexed by one kind of id.
#[derive(Clone, PartialEq, Eq)]
pub struct Table<I, T> {
    rows: Vec<T>,
    key: PhantomData<fn(I) -> I>,
}

impl<I: Id, T> Table<I, T> {
    /// An empty table.
    pub fn new() -> Self {
        Table { rows: Vec::new(), key: PhantomData }
    }

    /// An empty table with room for so many rows.
    pub fn with_room(len: usize) -> Self {
        Table { rows: Vec::with_capacity(len), key: PhantomData }
    }

    /// A table of `len` copies of `row`.
    pub fn filled(len: usize, row: T) -> Self
    where
        T: Clone,
    {
        Table { rows: vec![row; len], key: PhantomData }
    }

    /// Adds a row and returns its id.
    pub fn push(&mut self, row: T) -> I {
        let id = I::new(self.rows.len());
        self.rows.push(row);
        id
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The row, if the id is in range.
    pub fn get(&self, id: I) -> Option<&T> {
        self.rows.get(id.index())
    }

    /// All ids in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + Clone + use<I, T> {
        (0..self.rows.len()).map(I::new)
    }

    /// All rows in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.rows.iter()
    }

    /// All ids with their rows.
    pub fn pairs(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + Clone {
        self.rows.iter().enumerate().map(|(i, row)| (I::new(i), row))
    }
}

impl<I: Id, T> Default for Table<I, T> {
    fn default() -> Self {
        Table::new()
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.rows[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.rows[id.index()]
    }
}

impl<I: Id, T> FromIterator<T> for Table<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(rows: It) -> Self {
        Table { rows: rows.into_iter().collect(), key: PhantomData }
    }
}

impl<I, T: fmt::Debug> fmt::Debug for Table<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.fmt(f)
    }
}
