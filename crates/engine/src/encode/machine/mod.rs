//! Room `engine/encode`: programs that run on packed valuations.
//!
//! Engines that look at single valuations search with it; engines that look at sets of valuations write their traces
//! with it. A valuation is a row of words in which a variable may be *open* ([`layout`]); edges are compiled to work on
//! such rows ([`code`]); [`expand`] makes the successors of a row along an edge, or finds what must have gone in for a
//! given row to come out; [`retrace`] strings that together to a trace.

pub mod classes;
pub mod code;
pub mod expand;
pub mod layout;
pub mod retrace;
pub mod value;
