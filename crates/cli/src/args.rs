//! Room `cli`: the command line, each option defined once.

use clap::{Parser, Subcommand, ValueEnum};
use postbop_engine::fixpoint::library::{LIBRARY, SWITCHES};
use postbop_front::Options;
use std::path::PathBuf;
use std::time::Duration;

/// A model checker for recursive programs.
///
/// Exit status: 0 every property holds, 1 at least one is violated, 2 bad input or usage, 3 none is violated but some
/// are unknown, 4 a bug in postbop.
#[derive(Parser)]
#[command(version, max_term_width = 110)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// Decide whether a program can do something bad
    Check(Check),
    /// Run a trace that was written by `check --format json` on the program
    Replay(Replay),
    /// List the procedures, labels and properties of a program
    List(Source),
    /// Print the program graph in its textual form
    Emit(Source),
    /// Print a program in canonical form
    Fmt(Fmt),
    /// Algorithms written as fixed-point formulas: list them, show them, run your own
    Fixpoint {
        /// What to do.
        #[command(subcommand)]
        command: Fixpoint,
    },
}

/// What to do with formulas.
#[derive(Subcommand)]
pub enum Fixpoint {
    /// List the algorithms of the library
    List,
    /// Print the formulas of an algorithm
    Show {
        /// The algorithm
        #[arg(value_parser = formula_names())]
        algorithm: String,
    },
    /// Run the formulas of a file on a program, and say which of its queries are true
    Run(RunFormulas),
}

/// Run formulas on a program.
#[derive(clap::Args)]
pub struct RunFormulas {
    #[command(flatten)]
    pub source: Source,
    /// The formulas
    #[arg(long, value_name = "FILE")]
    pub formula: PathBuf,
    #[command(flatten)]
    pub question: Question,
}

/// What is asked, and how much the answer may cost.
#[derive(clap::Args)]
pub struct Question {
    /// A label that must not be reached, as LABEL or PROCEDURE:LABEL; may be repeated. Without it: every assertion and
    /// array access, and the labels ERROR and SLIC_ERROR
    #[arg(long, value_name = "LABEL")]
    pub target: Vec<String>,
    /// Give up after this time, as in 500ms, 60s or 5m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// Give up beyond this much memory, as in 200M or 4G
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "4G")]
    pub memory: u64,
    /// Show what the engine counted, and how long it took
    #[arg(long)]
    pub stats: bool,
}

/// A program to read.
#[derive(clap::Args)]
pub struct Source {
    /// The program: a Boolean program, a pushdown system (`.pds`), or a program graph as printed by `emit`; `-`
    /// reads standard input
    pub file: PathBuf,
    /// How operators bind where the families of tools disagree
    #[arg(long, value_enum, default_value_t)]
    pub dialect: Dialect,
    /// Programs that start threads as they run: room for this many threads, those included that are there from the
    /// beginning
    #[arg(long, value_name = "N", default_value_t = Options::default().threads as u32, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: u32,
}

/// How operators bind.
#[derive(Clone, Copy, ValueEnum, Default)]
pub enum Dialect {
    /// As the file looks
    #[default]
    Auto,
    /// As in SLAM, Bebop, Moped and Getafix
    Slam,
    /// As in SatAbs, Boppo and Boom
    Satabs,
}

/// Decide whether a program can do something bad.
#[derive(clap::Args)]
pub struct Check {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub question: Question,
    /// The engine: `explicit` looks at one valuation after another, `summary` at sets of them, `fixpoint` runs an algorithm
    /// that is written as a formula; `auto` chooses
    #[arg(long, value_parser = engine_names(), default_value = "auto")]
    pub engine: String,
    /// Programs with threads: at most this many context switches. Without it and `--rounds`: more and more, until the time
    /// is up
    #[arg(long, value_name = "K", conflicts_with = "rounds", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub switches: Option<u32>,
    /// Programs with threads: this many rounds, in each of which each thread runs once, in turn
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: Option<u32>,
    /// The algorithm of `fixpoint`, as in `fixpoint list`
    #[arg(long, value_name = "NAME", value_parser = algorithm_names())]
    pub algorithm: Option<String>,
    /// Give a trace of the least number of steps
    #[arg(long)]
    pub shortest: bool,
    /// How much of a trace to print
    #[arg(long, value_enum, default_value_t)]
    pub trace: Detail,
    /// The form of the report
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// How much of a trace to print.
#[derive(Clone, Copy, ValueEnum, Default, PartialEq, Eq)]
pub enum Detail {
    /// Nothing
    None,
    /// Each step with the variables it changed; completed calls on one line
    #[default]
    Diff,
    /// Each step, also inside completed calls, with all variables whose values matter
    Full,
}

/// The form of the report.
#[derive(Clone, Copy, ValueEnum, Default, PartialEq, Eq)]
pub enum Format {
    /// For people
    #[default]
    Human,
    /// For programs: one JSON object
    Json,
}

/// Run a trace on the program.
#[derive(clap::Args)]
pub struct Replay {
    #[command(flatten)]
    pub source: Source,
    /// The report of `check --format json`, or one trace out of it
    pub trace: PathBuf,
}

/// Print a program in canonical form.
#[derive(clap::Args)]
pub struct Fmt {
    #[command(flatten)]
    pub source: Source,
    /// Print nothing; exit with 1 if the file is not in canonical form
    #[arg(long)]
    pub check: bool,
    /// Rewrite the file
    #[arg(long, conflicts_with = "check")]
    pub write: bool,
}

fn engine_names() -> clap::builder::PossibleValuesParser {
    let names = postbop_engine::engines().iter().map(|engine| engine.name());
    std::iter::once("auto").chain(names).collect::<Vec<_>>().into()
}

fn formula_names() -> clap::builder::PossibleValuesParser {
    LIBRARY.iter().chain([&SWITCHES]).map(|algorithm| algorithm.name).collect::<Vec<_>>().into()
}

fn algorithm_names() -> clap::builder::PossibleValuesParser {
    LIBRARY.iter().map(|algorithm| algorithm.name).collect::<Vec<_>>().into()
}

/// A number and its unit.
fn split_unit(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_unit(text);
    let scale = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{unit}` is no unit of time; use ms, s, m or h")),
    };
    let number: f64 = number.parse().map_err(|_| "expected a time such as 60s".to_owned())?;
    Duration::try_from_secs_f64(number * scale).map_err(|_| "that is too long".into())
}

fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split_unit(text);
    let scale = match unit.trim_end_matches(['B', 'b', 'i']) {
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        "g" | "G" => 1e9,
        "t" | "T" => 1e12,
        _ => return Err(format!("`{unit}` is no unit of memory; use K, M or G")),
    };
    let number: f64 = number.parse().map_err(|_| "expected a size such as 4G".to_owned())?;
    Ok((number * scale) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("7"), Ok(Duration::from_secs(7)));
        assert!(duration("soon").is_err() && duration("7w").is_err() && duration("1e999s").is_err());
        assert_eq!(bytes("200M"), Ok(200_000_000));
        assert_eq!(bytes("4GB"), Ok(4_000_000_000));
        assert!(bytes("lots").is_err());
    }
}
