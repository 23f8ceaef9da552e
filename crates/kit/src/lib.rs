//! Room `kit`: mathematics that has never heard of programs.
//!
//! Data structures and algorithms that engines stand on: sets of bits, vectors in chunks, hash-consed rows of machine words, strongly
//! connected components, nested loops, decision diagrams, Büchi automata, a fixed-point calculus, and-inverter graphs, satisfiability,
//! quantified formulas. Nothing here depends on another crate of this project.

pub mod aig;
pub mod bdd;
pub mod bits;
pub mod buchi;
pub mod calculus;
pub mod chunked;
pub mod groups;
pub mod ndd;
pub mod nest;
pub mod pushdown;
pub mod qbf;
pub mod rows;
pub mod sat;
pub mod scc;
