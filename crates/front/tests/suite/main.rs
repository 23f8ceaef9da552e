//! The tests of the front end, one program.

mod common;
mod diagnostics;
mod formatting;
mod interleaving;
mod limits;
mod lowering;
mod messages;
mod moped;
mod pds;
mod reading;
mod temporal;
mod threads;
