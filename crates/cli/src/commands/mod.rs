//! Room `cli/commands`: what each command does.

pub mod check;
pub mod fixpoint;
pub mod fmt;
pub mod replay;
pub mod show;
