//! Room `ir`: a question about a program.

use crate::ids::LocId;
use crate::program::Program;

/// A property of the program: that none of these locations is ever reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// What users call it.
    pub name: String,
    /// Reaching any of these violates the property.
    pub locs: Vec<LocId>,
}

/// A program and what is asked of it.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The program.
    pub program: &'a Program,
    /// The properties, each with a verdict of its own.
    pub targets: &'a [Target],
    /// Whether each trace must be one of the least number of steps.
    pub shortest: bool,
}
