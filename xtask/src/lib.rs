//! Room `xtask`: the project's own chores, as a library so that tests and the binary share them.

pub mod bench;
pub mod browser;
pub mod ci;
pub mod family;
pub mod fuzz;
pub mod generate;
pub mod peers;
pub mod pictures;
pub mod rng;
pub mod shrink;
pub mod soak;
pub mod tidy;
