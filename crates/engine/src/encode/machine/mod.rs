//! Room `engine/encode`: programs that run on packed valuations.
//!
//! Engines that look at single valuations search with it; engines that look at sets of valuations write their traces
//! with it. A valuation is a row of words in which a variable may be *open* ([`layout`]); edges are compiled to work on
//! such rows ([`code`]); [`expand`] makes the successors of a row along an edge, [`explain`] finds what must have gone in for a
//! given row to come out; [`retrace`] strings that together to a trace. Both decide on open variables and choices one after the other
//! ([`trail`]), or on all choices of an expression at once ([`independent`]).

pub mod classes;
pub mod code;
pub mod expand;
pub mod explain;
mod independent;
pub mod layout;
pub mod retrace;
mod trail;
pub mod value;
