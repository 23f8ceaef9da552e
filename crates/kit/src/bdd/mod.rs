//! Room `kit`: binary decision diagrams.
//!
//! # Idea
//!
//! A set of bit vectors is a rooted graph: each *vertex* tests one level and has two successors, no vertex is there
//! twice, none tests in vain. Edges may be complemented, so negation is free. Levels are plain numbers, as many as one
//! likes: an operation costs what the diagrams it touches cost, whatever the number of levels.
//!
//! What a model checker does most is the *image*: conjoin a set with a relation, quantify the old values away, rename
//! the new values to old ones. [`Bdd::image`] does the three in one pass. A [`Plan`] says what happens at which level;
//! equal plans share results.
//!
//! # Paper
//!
//! \[bryant\] for the diagrams, \[brace\] for complemented edges and the computed table, \[burch\] for the relational
//! product. # Departures: renaming is fused into the product, after the observation of \[bebop\] section 4 that a
//! library's substitution costs time in the number of *all* variables.
//!
//! # Memory
//!
//! Vertices live until [`Bdd::collect`] is called with the roots that are still wanted; nothing is collected behind
//! the caller's back; nor are levels reordered ([`Bdd::reorder`]). Every operation that can grow a diagram may be interrupted by the caller's callback, and then
//! returns [`Interrupted`]; the diagrams made before stay valid.

mod ops;
mod reorder;
mod run;
mod table;
mod walk;

pub use ops::Plan;
pub use reorder::Reorder;
pub use table::Bdd;
pub use walk::Assignment;

/// A diagram: a vertex, perhaps complemented.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ref(u32);

impl Ref {
    /// Everything.
    pub const TRUE: Ref = Ref(0);
    /// Nothing.
    pub const FALSE: Ref = Ref(1);

    /// A number that tells it from all others.
    pub fn number(self) -> u32 {
        self.0
    }

    fn complemented(self) -> bool {
        self.0 & 1 != 0
    }

    fn vertex(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// The complement if `flip`.
    fn flip(self, flip: bool) -> Ref {
        Ref(self.0 ^ flip as u32)
    }

    /// Whether it is everything or nothing.
    pub fn is_constant(self) -> bool {
        self.vertex() == 0
    }
}

impl std::ops::Not for Ref {
    type Output = Ref;
    fn not(self) -> Ref {
        Ref(self.0 ^ 1)
    }
}

/// The caller interrupted the work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interrupted;

#[cfg(test)]
mod tests;
