//! Room `cli`: the binary `postbop`.
//!
//! The only room that prints, reads files, or looks at the clock for display. A command computes what is to be said;
//! it is written in one go at the end, and a reader who has gone away is no error.

mod args;
mod commands;
mod input;
mod properties;
mod report;

use args::{Args, Command};
use clap::Parser;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

#[cfg(feature = "mimalloc")]
use mimalloc::MiMalloc as Memory;
#[cfg(not(feature = "mimalloc"))]
use std::alloc::System as Memory;

/// Counts what the process holds, for `--memory`.
#[global_allocator]
static ALLOCATOR: cap::Cap<Memory> = cap::Cap::new(Memory, usize::MAX);

/// The exit statuses, which scripts rely on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Every property holds, or the command did its work.
    Good = 0,
    /// At least one property is violated, or a trace was rejected.
    Violated = 1,
    /// Bad input or usage.
    BadInput = 2,
    /// No property is violated, some are unknown.
    Unknown = 3,
    /// A bug in postbop.
    Bug = 4,
}

/// What a command has to say.
#[derive(Default)]
pub struct Said {
    /// For standard output.
    pub out: String,
    /// For standard error.
    pub err: String,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let mut said = Said::default();
    let status = catch_unwind(AssertUnwindSafe(|| match &args.command {
        Command::Check(args) => commands::check::run(args, &mut said),
        Command::Replay(args) => commands::replay::run(args, &mut said),
        Command::List(args) => commands::show::list(args, &mut said),
        Command::Emit(args) => commands::show::emit(args, &mut said),
        Command::Fmt(args) => commands::fmt::run(args, &mut said),
        Command::Fixpoint { command } => commands::fixpoint::run(command, &mut said),
    }));
    let status = status.unwrap_or_else(|_| {
        said.err
            .push_str("postbop: this is a bug in postbop; please report it with the input that caused it\n");
        Status::Bug
    });
    write(&mut std::io::stderr(), &said.err);
    write(&mut std::io::stdout(), &said.out);
    ExitCode::from(status as u8)
}

/// A reader that went away, or a full disk, is nothing we could report anywhere.
fn write(to: &mut dyn Write, text: &str) {
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}
