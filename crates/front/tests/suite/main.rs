//! The tests of the front end, one program.

mod common;
mod diagnostics;
mod formatting;
mod limits;
mod lowering;
mod threads;
