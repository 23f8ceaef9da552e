//! Room `cli`: the binary `postbop`.
//!
//! The only room that prints, reads files, or looks at the clock for display. A command computes what is to be said
//! (`output`); it is written in one go at the end, or after each of several files.

mod args;
mod commands;
mod explore;
mod guard;
mod input;
mod output;
mod properties;
mod report;
mod stdout;
mod units;

use args::{Args, Command};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use output::Output;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

#[cfg(feature = "mimalloc")]
use mimalloc::MiMalloc as Memory;
#[cfg(not(feature = "mimalloc"))]
use std::alloc::System as Memory;

/// Counts what the process holds, for `--memory`.
#[global_allocator]
static ALLOCATOR: cap::Cap<Memory> = cap::Cap::new(Memory, usize::MAX);

/// The exit statuses, which scripts rely on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Status {
    /// Every property holds, or the command did its work.
    #[default]
    Good = 0,
    /// At least one property is violated, or a trace was rejected.
    Violated = 1,
    /// Bad input or usage, or output that could not be written.
    BadInput = 2,
    /// No property is violated, some are unknown.
    Unknown = 3,
    /// A bug in postbop.
    Bug = 4,
}

impl Status {
    /// The status of two things done: 4 outweighs 2, then come 1, 3 and 0.
    pub fn worst(self, other: Status) -> Status {
        let rank = |status: Status| [0, 2, 3, 1, 4][status as usize];
        if rank(other) > rank(self) { other } else { self }
    }
}

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args.with_manner(),
        Err(error) => return usage(&error),
    };
    let mut output = Output::new(&args);
    let status = catch_unwind(AssertUnwindSafe(|| match &args.command {
        Command::Check(args) => commands::several::check(args, &mut output),
        Command::Replay(args) => commands::replay::run(args, &mut output),
        Command::Validate(args) => commands::validate::run(args, &mut output),
        Command::List(args) => commands::show::list(args, &mut output),
        Command::Emit(args) => commands::show::emit(args, &mut output),
        Command::Summary(args) => commands::summary::run(args, &mut output),
        Command::Graph(args) => commands::graph::run(args, &mut output),
        Command::Explore(args) => explore::run(args, &mut output),
        Command::Pds { command } => commands::pds::run(command, &mut output),
        Command::Fmt(args) => commands::several::fmt(args, &mut output),
        Command::Fixpoint { command } => commands::fixpoint::run(command, &mut output),
        Command::Explain { code } => commands::explain::run(code, &mut output),
        Command::Completions { shell } => commands::generate::completions(*shell, &mut output),
        Command::Man { command } => commands::generate::man(command, &mut output),
    }));
    let status = status.unwrap_or_else(|_| {
        output
            .err
            .push_str("postbop: this is a bug in postbop; please report it with the input that caused it\n");
        Status::Bug
    });
    ExitCode::from(output.write(status) as u8)
}

/// Help, the version, or what is wrong with the command line.
fn usage(error: &clap::Error) -> ExitCode {
    let mut output = Output::default();
    let mut status = if error.exit_code() == 0 { Status::Good } else { Status::BadInput };
    if let Err(error) = error.print()
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        output.error(&format!("standard output: {error}"));
        status = Status::BadInput;
    }
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && (word.contains(['.', '/']) || Path::new(word).exists())
    {
        output.err = format!("hint: to check a program, write `postbop check {word}`\n");
    }
    ExitCode::from(output.write(status) as u8)
}
