//! Room `cli/report`: what people and programs get to see.

use crate::input::Input;
use postbop_engine::Report;
use postbop_ir::{Program, Target};

/// What is to be reported.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The source.
    pub input: &'a Input,
    /// The program.
    pub program: &'a Program,
    /// The properties.
    pub targets: &'a [Target],
    /// What came out of the door.
    pub report: &'a Report,
    /// If the program may start more threads than there is room for: for how many there is room.
    pub threads: Option<usize>,
}

pub mod diagnostics;
pub mod json;
pub mod lanes;
pub mod story;
pub mod text;
