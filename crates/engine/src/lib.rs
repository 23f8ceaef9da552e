//! Room `engine`: from a question about a program to a verdict.
//!
//! [`verify`] is the only way to an answer, for programs with and without threads. It picks an engine, runs it within a
//! [`Budget`], and reports a violation only after its trace was replayed on the program as written. An [`Engine`] answers a
//! [`postbop_ir::Task`] and nothing else: it does not print, read files, or start threads.
//!
//! A source goes in, and each property gets a verdict:
//!
//! ```
//! use postbop_engine::{Budget, EngineChoice, Silent, Verdict, verify};
//! use postbop_ir::{Prefer, Task};
//! use std::time::Duration;
//!
//! // From bytes to a program graph. Mistakes in the source come back as data.
//! let source = b"decl x; void main() begin x := !x; assert(x); end";
//! let reading = postbop_front::read(source, Default::default());
//! for problem in &reading.diagnostics {
//!     eprintln!("{}: {}", problem.code, problem.message);
//! }
//! let program = reading.program.expect("the source has no errors");
//!
//! // The properties that `postbop check` asks about by default: here, one assertion.
//! let queries = postbop_front::properties(&program, &reading.text);
//! let task = Task { prefer: Prefer::FewestSteps, ..Task::new(&program, &queries) };
//!
//! let budget = Budget::unlimited().with_time(Duration::from_secs(10));
//! let report = verify(&task, EngineChoice::Auto, &budget, &mut Silent);
//! for answer in &report.answers {
//!     match &answer.verdict {
//!         Verdict::Holds { .. } => println!("{}: holds", answer.query),
//!         Verdict::Violated(trace) => println!("{}: violated in {} steps", answer.query, trace.length()),
//!         Verdict::Unknown(why) => println!("{}: unknown: {why}", answer.query),
//!     }
//! }
//! # let Verdict::Violated(trace) = &report.answers[0].verdict else { panic!("the assertion can fail") };
//! # assert_eq!((report.answers[0].query.as_str(), trace.length()), ("assert:1", 2.into()));
//! ```
//!
//! A program with threads goes through the same call. Its verdict says which runs it covers:
//!
//! ```
//! use postbop_engine::{Budget, EngineChoice, Silent, Verdict, verify};
//! use postbop_ir::{Bound, Task};
//!
//! let source = b"
//!     decl free := 1, sold := 0;
//!     void sell() begin if (free) then free := 0; assert(!sold); sold := 1; fi end
//!     thread alice begin void main() begin sell(); end end
//!     thread bob begin void main() begin sell(); end end";
//! let reading = postbop_front::read(source, Default::default());
//! let program = reading.program.expect("the source has no errors");
//! let queries = postbop_front::properties(&program, &reading.text);
//!
//! // At most one context switch, then any number of them.
//! for bound in [Bound::switches(1), Bound::NONE] {
//!     let task = Task { bound, ..Task::new(&program, &queries) };
//!     let report = verify(&task, EngineChoice::Auto, &Budget::unlimited(), &mut Silent);
//!     match &report.answers[0].verdict {
//!         Verdict::Holds { within, .. } => println!("holds within {within:?}"),
//!         Verdict::Violated(trace) => println!("violated with {} context switches", trace.switches()),
//!         Verdict::Unknown(why) => println!("unknown: {why}"),
//!     }
//! #   match &report.answers[0].verdict {
//! #       Verdict::Holds { within, .. } => assert_eq!((bound, *within), (Bound::switches(1), bound)),
//! #       Verdict::Violated(trace) => assert_eq!((bound, trace.switches()), (Bound::NONE, 2)),
//! #       Verdict::Unknown(why) => panic!("{why}"),
//! #   }
//! }
//! ```

mod asked;
mod assumptions;
mod budget;
pub mod configurations;
mod deadlock;
mod encode;
mod engine;
mod evidence;
mod explicit;
pub mod fixpoint;
pub mod onward;
mod pulse;
mod race;
mod reduce;
mod sat;
mod skeleton;
mod summary;
mod temporal;
#[cfg(test)]
mod tests;
mod threads;
mod turns;
mod verdict;
mod verify;
pub mod weighted;

pub use budget::{Budget, Course, Observer, Progress, Silent, Tick};
pub use deadlock::{DEADLOCK, deadlock};
pub use encode::prepared::Prepared;
pub use engine::{
    Cycles, Engine, Finding, Listener, PROVERS, Unsupported, Wants, engine, engines, has_integers,
};
pub use sat::COARSE;
pub use skeleton::{Bone, Skeleton};
pub use summary::Reordered;
pub use temporal::product::{Accepts, product};
pub use temporal::shows::shows;
pub use temporal::within::within;
pub use temporal::wrap::Wrapped;
pub use threads::script::Script;
pub use verdict::{Answer, Blocked, Report, Stats, Verdict, Why};
pub use verify::{EngineChoice, verify};
