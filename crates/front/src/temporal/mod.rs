//! Room `front`: what users say about the runs of a program.
//!
//! A run is read position by position. At each position the run is about to take a step: it is at a location, its variables
//! have values, and the step is perhaps a call or a return. An [`Atom`] is true or false of a position. Formulas (`ltl`),
//! monitors (`monitor`) and automata (`hoa`) are made from atoms; all of them become automata of `kit`, whose edges read one
//! position each.
//!
//! The language of atoms is the same in all three. Conditions on variables are parsed and checked by the rules of Boolean
//! programs (`bp`); names are looked up in the program graph, so that it does not matter in which language the program was
//! written.

mod atom;
mod condition;
mod hoa;
mod hoa_label;
mod hoa_token;
mod ltl;
mod monitor;
mod parse;

pub use hoa::{Hoa, hoa};
pub use ltl::{Ltl, ltl};
pub use monitor::{Guard, Monitor, MonitorEdge, MonitorState, monitor};

use postbop_ir::{Expr, LocId, ProcId};

/// What is true or false of a position of a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Atom {
    /// The run is at one of these locations.
    Label(Vec<LocId>),
    /// The next step calls one of these procedures: one, or its copies in several threads.
    Call(Vec<ProcId>),
    /// The next step returns from one of these procedures.
    Return(Vec<ProcId>),
    /// The run is at a location of one of these procedures; procedures that wait for a call to return do not count.
    Inside(Vec<ProcId>),
    /// A Boolean expression without choices is true. It mentions globals only, or also locals of one procedure: then it is
    /// false where the run is not inside it.
    Holds(Option<ProcId>, Expr),
}
