//! Room `ir`: cells of variables, in the order of their ids. Most frames have a handful, which need no memory of their own.

use crate::eval::Cell;
use crate::ids::VarId;
use smallvec::SmallVec;

/// For some variables a cell.
#[derive(Clone, Default, Debug)]
pub(super) struct Cells(SmallVec<[(VarId, Cell); 6]>);

impl Cells {
    fn place(&self, var: VarId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&var, |(var, _)| *var)
    }

    /// The cell of a variable.
    pub(super) fn get(&self, var: VarId) -> Option<Cell> {
        self.place(var).ok().map(|at| self.0[at].1)
    }

    /// Gives a variable another cell.
    pub(super) fn insert(&mut self, var: VarId, cell: Cell) {
        match self.place(var) {
            Ok(at) => self.0[at].1 = cell,
            Err(at) => self.0.insert(at, (var, cell)),
        }
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (VarId, Cell)> + '_ {
        self.0.iter().copied()
    }
}

impl Extend<(VarId, Cell)> for Cells {
    fn extend<I: IntoIterator<Item = (VarId, Cell)>>(&mut self, cells: I) {
        cells.into_iter().for_each(|(var, cell)| self.insert(var, cell));
    }
}

impl FromIterator<(VarId, Cell)> for Cells {
    fn from_iter<I: IntoIterator<Item = (VarId, Cell)>>(cells: I) -> Self {
        let mut all = Cells::default();
        all.extend(cells);
        all
    }
}
