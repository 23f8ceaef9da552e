//! Room `cli/commands`: what each command does.

pub mod certificate;
pub mod check;
pub mod explain;
pub mod fixpoint;
pub mod fmt;
pub mod generate;
pub mod graph;
pub mod pds;
pub mod replay;
pub mod several;
pub mod show;
pub mod summary;
pub mod unused;
pub mod validate;
mod watched;
