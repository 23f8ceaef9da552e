//! Room `kit`: which copy of a domain's levels stands for which variable.
//!
//! The levels of all copies of one bit stand side by side, so a relation between two variables of one domain has a
//! small diagram, and to rename one copy to another keeps the order. A relation's value is kept with its first argument
//! of each domain in copy 0, the second in copy 1, and so on.

use super::{DomainId, System, VarId};
use rustc_hash::FxHashMap as HashMap;

/// Copies for some variables.
#[derive(Clone, Default, Debug)]
pub struct Places {
    copies: HashMap<VarId, u32>,
    taken: HashMap<DomainId, Taken>,
    /// One more than the greatest copy.
    most: u32,
}

/// Which copies of a domain are taken, and the first that is not.
#[derive(Clone, Default, Debug)]
struct Taken {
    which: Vec<bool>,
    free: u32,
}

impl Taken {
    fn is_free(&self, copy: u32) -> bool {
        !self.which.get(copy as usize).is_some_and(|&taken| taken)
    }

    fn take(&mut self, copy: u32) {
        if self.which.len() <= copy as usize {
            self.which.resize(copy as usize + 1, false);
        }
        self.which[copy as usize] = true;
        while !self.is_free(self.free) {
            self.free += 1;
        }
    }
}

impl Places {
    /// Places variables in the order in which a relation keeps its arguments.
    pub fn of_params(system: &System, params: &[VarId]) -> Self {
        let mut places = Places::default();
        params.iter().for_each(|&var| places.settle(system, var, None));
        places
    }

    /// The copy of a variable.
    pub fn copy(&self, var: VarId) -> u32 {
        self.copies[&var]
    }

    /// Whether a variable has its place.
    pub fn knows(&self, var: VarId) -> bool {
        self.copies.contains_key(&var)
    }

    /// Gives a variable that has none a place: the wish if it is free, or else the first free one.
    pub fn settle(&mut self, system: &System, var: VarId, wish: Option<u32>) {
        if self.knows(var) {
            return;
        }
        let taken = self.taken.entry(system.vars[var.0 as usize]).or_default();
        let copy = wish.filter(|&wish| taken.is_free(wish)).unwrap_or(taken.free);
        taken.take(copy);
        self.most = self.most.max(copy + 1);
        self.copies.insert(var, copy);
    }

    /// Puts a variable where another one is, which is equal to it.
    pub fn join(&mut self, var: VarId, other: VarId) {
        self.copies.insert(var, self.copies[&other]);
    }

    /// One more than the greatest copy.
    pub fn most(&self) -> u32 {
        self.most
    }
}
