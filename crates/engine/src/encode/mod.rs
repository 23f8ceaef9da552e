//! Room `engine/encode`: what engines compute from a program before they search, and share.

pub mod affinity;
pub mod arrangement;
pub mod blast;
pub mod chance;
pub mod columns;
pub mod gates;
pub mod literals;
pub mod live;
pub mod machine;
pub mod memo;
pub mod mentions;
pub mod prepared;
pub mod relation;
pub mod scope;
pub mod targets;
pub mod wiring;
