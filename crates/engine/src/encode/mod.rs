//! Room `engine/encode`: what engines compute from a program before they search, and share.
//!
//! * Which variables matter where: [`scope`], [`live`].
//! * Programs that run on packed valuations, to search with and to write traces: [`machine`], with [`memo`]; [`prepared`]
//!   keeps what was made for one program.
//! * Edges as decision diagrams: the order of variables ([`columns`], [`affinity`], [`arrangement`]) and their levels
//!   ([`wiring`]); expressions ([`gates`], [`blast`], [`chance`], [`mentions`]), edges and calls ([`relation`]), and single
//!   valuations ([`literals`]).
//! * Which targets were reached: [`targets`]. Diagrams as sets of a proof: [`written`].

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
mod transfer;
pub mod wiring;
pub mod written;
