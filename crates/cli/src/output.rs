//! Room `cli`: what a command has to say, and in which manner.

use crate::Status;
use crate::args::{Args, Color, Command, Fixpoint, Format, Pds};
use crate::guard::{Limits, Telling};
use crate::report::{junit, sarif};
use crate::stdout::Stdout;
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};

/// What a command has to say.
#[derive(Default)]
pub struct Output {
    /// For standard output.
    pub out: Stdout,
    /// For standard error.
    pub err: String,
    /// Whether diagnostics are in colour.
    pub color: bool,
    /// Whether warnings are left out.
    pub quiet: bool,
    /// Whether to tell what a file was taken for.
    pub verbose: bool,
    /// What the command may cost, where no budget is asked.
    pub limits: Limits,
    /// If the report is for programs: the diagnostics so far, as JSON.
    pub diagnostics: Option<Vec<Value>>,
    /// The form of the report.
    format: Format,
}

impl Output {
    /// Nothing yet, to be said as the arguments ask.
    pub fn new(args: &Args) -> Self {
        let cost = match &args.command {
            Command::Check(check) => Some(&check.question.cost),
            Command::Fixpoint { command: Fixpoint::Run(run) } => Some(&run.question.cost),
            Command::Replay(replay) => Some(&replay.cost),
            Command::Validate(validate) => Some(&validate.cost),
            Command::List(show) => Some(&show.cost),
            Command::Emit(emit) => Some(&emit.show.cost),
            Command::Fmt(fmt) => Some(&fmt.cost),
            Command::Summary(summary) => Some(&summary.cost),
            Command::Graph(graph) => Some(&graph.cost),
            Command::Explore(explore) => Some(&explore.cost),
            Command::Pds { command: Pds::Post(saturate) | Pds::Pre(saturate) } => Some(&saturate.cost),
            _ => None,
        };
        let format = match &args.command {
            Command::Check(check) => check.format,
            _ => Format::Human,
        };
        let telling = match &args.command {
            Command::List(_)
            | Command::Emit(_)
            | Command::Fmt(_)
            | Command::Summary(_)
            | Command::Graph(_)
            | Command::Explore(_)
            | Command::Pds { .. } => Telling::Error,
            _ => match format {
                Format::Json => Telling::Json,
                Format::Human | Format::Github => Telling::Verdict,
                Format::Sarif | Format::Junit => Telling::Error,
            },
        };
        Output {
            color: in_color(args.manner.color),
            quiet: args.manner.quiet,
            verbose: args.manner.verbose,
            limits: cost.map_or_else(Limits::default, |cost| Limits::new(cost, telling)),
            diagnostics: (format != Format::Human).then(Vec::new),
            format,
            ..Output::default()
        }
    }

    /// Writes what is said on standard error so far, before a long report begins.
    pub fn speak(&mut self) {
        let err = std::mem::take(&mut self.err);
        let written = io::stderr().write_all(err.as_bytes());
        self.out.note(written.or_else(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(error),
        }));
    }

    /// Says that something went wrong that is no diagnostic of a source.
    pub fn error(&mut self, message: &str) {
        self.err.push_str(&format!("error: {message}\n"));
    }

    /// Writes what was said so far. The status is that of the command, unless its output is lost: a reader who has gone
    /// away is no error, a full disk is.
    pub fn write(&mut self, status: Status) -> Status {
        let err = write_all(&mut io::stderr(), &std::mem::take(&mut self.err));
        let out = self.out.finish();
        let mut status = status;
        for (to, written) in [("standard error", err), ("standard output", out)] {
            if let Err(error) = written
                && error.kind() != io::ErrorKind::BrokenPipe
            {
                let _ = writeln!(io::stderr(), "error: {to}: {error}");
                status = status.worst(Status::BadInput);
            }
        }
        status
    }

    /// After bad input to a command whose report is for programs: the report, which has diagnostics in place of properties. `from` is
    /// where the messages about this input begin.
    pub fn report_bad_input(&mut self, from: usize) {
        let Some(mut list) = self.diagnostics.take() else { return };
        let plain = self.err[from..].lines().filter_map(|line| line.strip_prefix("error: "));
        list.extend(plain.map(|message| json!({ "severity": "error", "message": message })));
        let report = match self.format {
            Format::Sarif => sarif::log(Vec::new(), list.iter().map(sarif::notification).collect(), false),
            Format::Junit => junit::document("", &junit::unreadable(&list)),
            Format::Github => list.iter().map(junit::complaint).collect(),
            Format::Human | Format::Json => {
                format!("{}\n", json!({ "schema": "postbop/1", "verdict": "error", "diagnostics": list }))
            }
        };
        self.out.push_str(&report);
        self.diagnostics = Some(Vec::new());
    }
}

fn write_all(to: &mut dyn Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes()).and_then(|()| to.flush())
}

/// Whether to use colours: by default on a terminal that has them, unless the user's environment says no.
fn in_color(wish: Color) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match wish {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let dumb = set("TERM").is_some_and(|terminal| terminal == "dumb");
            io::stderr().is_terminal() && set("NO_COLOR").is_none() && !dumb
        }
    }
}
