//! Room `cli`: the binary `postbop`.
//!
//! The only room that prints, reads files, or looks at the clock for display. A command computes what is to be said;
//! it is written in one go at the end. A reader who has gone away is no error, a full disk is.

mod args;
mod commands;
mod guard;
mod input;
mod properties;
mod report;
mod said;
mod stack;

use args::{Args, Command};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use said::Said;
use std::io::{self, Write};
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Every property holds, or the command did its work.
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
    let mut said = Said::new(&args);
    let status = catch_unwind(AssertUnwindSafe(|| match &args.command {
        Command::Check(args) => commands::several::check(args, &mut said),
        Command::Replay(args) => commands::replay::run(args, &mut said),
        Command::List(args) => commands::show::list(args, &mut said),
        Command::Emit(args) => commands::show::emit(args, &mut said),
        Command::Fmt(args) => commands::several::fmt(args, &mut said),
        Command::Fixpoint { command } => commands::fixpoint::run(command, &mut said),
        Command::Explain { code } => commands::explain::run(code, &mut said),
        Command::Completions { shell } => commands::generate::completions(*shell, &mut said),
        Command::Man { command } => commands::generate::man(command, &mut said),
    }));
    let status = status.unwrap_or_else(|_| {
        said.err
            .push_str("postbop: this is a bug in postbop; please report it with the input that caused it\n");
        Status::Bug
    });
    finish(status, &said)
}

/// Writes what was said. The status is that of the command, unless the output is lost.
fn finish(status: Status, said: &Said) -> ExitCode {
    let mut status = status;
    let mut failed = |to: &str, written: io::Result<()>| match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "error: {to}: {error}");
            status = status.worst(Status::BadInput);
        }
        _ => {}
    };
    failed("standard error", write(&mut io::stderr(), &said.err));
    failed("standard output", write(&mut io::stdout(), &said.out));
    ExitCode::from(status as u8)
}

fn write(to: &mut dyn Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes()).and_then(|()| to.flush())
}

/// Help, the version, or what is wrong with the command line.
fn usage(error: &clap::Error) -> ExitCode {
    let mut said = Said::default();
    let status = if error.exit_code() == 0 { Status::Good } else { Status::BadInput };
    if let Err(error) = error.print()
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        said.err = format!("error: standard output: {error}\n");
        return finish(Status::BadInput, &said);
    }
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && (word.contains(['.', '/']) || Path::new(word).exists())
    {
        said.err = format!("hint: to check a program, write `postbop check {word}`\n");
    }
    finish(status, &said)
}
