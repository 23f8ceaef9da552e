//! Room `engine/encode`: what engines know of a program before they start.

pub mod affinity;
pub mod blast;
pub mod chance;
pub mod columns;
pub mod literals;
pub mod live;
pub mod machine;
pub mod scope;
pub mod targets;
pub mod wiring;
