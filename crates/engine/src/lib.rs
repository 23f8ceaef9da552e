//! Room `engine`: from a question about a program to a verdict.
//!
//! [`verify`] is the only way to an answer, for programs with and without threads. It picks an engine, runs it within a
//! [`Budget`], and lets no violation out that has not been replayed on the program as written. An [`Engine`] answers a
//! [`postbop_ir::Task`] and nothing else: it does not print, read files, or start threads.
//!
//! ```
//! use postbop_engine::{Budget, EngineChoice, Silent, Verdict, verify};
//! use postbop_ir::{Query, Task, text};
//!
//! // main: if (g) then R: skip; fi
//! let program = text::parse(r#"postbop-ir 1
//! proc p0 "main" params 0 results ( ) entry l0 exit l1 at 0..0
//! var v0 global bool "g"
//! loc l0 p0 at 0..0
//! loc l1 p0 at 0..0
//! loc l2 p0 at 0..0
//! label l2 "R"
//! edge l0 l2 at 0..0 assume v0
//! edge l2 l1 at 0..0 return
//! main p0
//! "#)?;
//! let queries = [Query::reach("R", vec![program.labels[0].loc])];
//! let report = verify(&Task::new(&program, &queries), EngineChoice::Auto, &Budget::unlimited(), &mut Silent);
//! assert!(matches!(report.answers[0].verdict, Verdict::Violated(_)));
//! # Ok::<(), postbop_ir::text::ParseError>(())
//! ```

mod budget;
mod encode;
mod engine;
mod explicit;
pub mod fixpoint;
mod race;
mod reduce;
mod summary;
#[cfg(test)]
mod tests;
mod threads;
mod turns;
mod verdict;
mod verify;

pub use budget::{Budget, Observer, Progress, Silent, Tick};
pub use engine::{Engine, Finding, Listener, Unsupported, Wants, engine, engines, has_integers};
pub use summary::Reordered;
pub use threads::script::Script;
pub use verdict::{Answer, Proof, Report, Stats, Verdict, Why};
pub use verify::{EngineChoice, verify};
