//! Room `cli/commands`: what each command does.

pub mod check;
pub mod fmt;
pub mod replay;
pub mod show;
