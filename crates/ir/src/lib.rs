//! Room `ir`: what a recursive program means.
//!
//! A [`Program`] is a set of procedures drawn as control-flow graphs over dense ids. This crate says what such
//! a program is ([`program`], [`expr`], [`types`], [`value`]), when it is well formed ([`mod@validate`]), how it is written
//! down ([`text`], and as Horn clauses [`horn`]), what one step of it does ([`eval`]), what a counterexample is ([`trace`]) and when one is
//! believed ([`mod@replay`]), and what a proof is ([`proof`]). It also holds the [`oracle`]
//! and, for programs with threads, [`oracle_threads`]: slow and simple, they decide by brute force, and every engine is
//! compared with them.
//!
//! Nothing here knows a decision diagram, a solver or an engine, and no engine is called from here: this is the
//! trusted core, to be read in one sitting.

pub mod bfs;
pub mod blocked;
pub mod eval;
pub mod expr;
pub mod horn;
pub mod ids;
pub mod length;
pub mod oracle;
pub mod oracle_threads;
pub mod program;
pub mod proof;
pub mod replay;
pub mod step;
pub mod task;
pub mod text;
pub mod trace;
pub mod types;
pub mod validate;
pub mod value;
pub mod walk;

pub use expr::{Expr, Op, Visit};
pub use ids::{EdgeId, FileId, Id, LocId, ProcId, SegmentId, Table, ThreadId, VarId};
pub use length::Length;
pub use program::{
    Action, Builder, Check, CheckKind, Edge, Label, Loc, Proc, Program, Scope, Span, Thread, Var,
};
pub use proof::Proof;
pub use replay::{Rejected, replay};
pub use task::{Ask, Bound, Prefer, Proofs, Query, Schedule, Task};
pub use trace::{Context, Position, Repeat, Segment, Step, Trace};
pub use types::Type;
pub use validate::{Flaw, validate};
pub use value::Value;
pub use walk::Walk;
