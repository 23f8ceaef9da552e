//! What must hold of the whole: cases, corpus, command line, bad input, traces.
//!
//! One binary, because linking it once is most of the time it takes. `cargo test --release --test suite cases` runs
//! one part. Each part prints a line with what it counted, past the test runner's capture: a test that looked at
//! nothing should be seen to have looked at nothing.

mod bad_input;
mod cases;
mod command_line;
mod common;
mod conventions;
mod corpus;
mod deadlock;
mod documents;
mod explore;
mod formulas;
mod fuzz;
mod horn;
mod interpreter;
mod limits;
mod liveness;
mod mutants;
mod proof_mutants;
mod proofs;
mod question;
mod reports;
mod runner;
mod schedules;
mod summaries;
mod threads;
mod trace_files;
mod traces;
