//! Room `cli`: the command line, each option defined once.

use crate::units::{bytes, duration};
use clap::{Parser, Subcommand, ValueEnum};
use postbop_engine::fixpoint::library::{LIBRARY, SWITCHES};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// A model checker for recursive programs.
///
/// Exit status: 0 every property holds, 1 at least one is violated, 2 bad input or usage, nothing to check, or output that
/// could not be written, 3 none is violated but some are unknown, 4 a bug in postbop. Of several files the worst counts:
/// 4, then 2, 1, 3 and 0.
#[derive(Parser)]
#[command(version, max_term_width = 110)]
pub struct Args {
    #[command(flatten)]
    pub manner: Manner,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

impl Args {
    /// The arguments with what `-q` and `-v` mean for the command.
    pub fn with_manner(mut self) -> Self {
        let Manner { quiet, verbose, .. } = self.manner;
        let question = match &mut self.command {
            Command::Check(check) => {
                if quiet {
                    check.trace = Detail::None;
                }
                Some(&mut check.question)
            }
            Command::Fixpoint { command: Fixpoint::Run(run) } => Some(&mut run.question),
            _ => None,
        };
        if let Some(question) = question {
            let counters = verbose.then_some(Stats::Counters);
            question.stats = question.stats.or(counters).filter(|stats| !quiet || *stats == Stats::Chart);
        }
        self
    }
}

/// How to say it.
#[derive(clap::Args)]
pub struct Manner {
    /// Whether diagnostics are in colour; `auto` means on a terminal, unless NO_COLOR is set or TERM is `dumb`
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
    /// Say less: no warnings, no traces, no counters
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more: what each file was read as, and `--stats`
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

/// When to use colours.
#[derive(Clone, Copy, ValueEnum, Default, PartialEq, Eq)]
pub enum Color {
    /// On a terminal
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// Decide whether a run of a program can fail an assertion or reach a label
    Check(Box<Check>),
    /// Run a trace that was written by `check --format json` on the program
    Replay(Replay),
    /// Check a proof that was written by `check --certificate`, without asking any engine
    Validate(Validate),
    /// List the procedures, labels and properties of a program
    List(Show),
    /// Print the program graph in its textual form, or as Horn clauses
    Emit(Emit),
    /// Print what a procedure does: its input-output relation, and the inputs for which it returns
    Summary(Summary),
    /// Print who calls whom, or the control flow of a procedure, as a picture
    Graph(Graph),
    /// Step a program by hand, in a browser: choose steps and values, undo, ask what can be reached from here
    Explore(Explore),
    /// Print the configurations that a pushdown system can reach, or from which it can, as an automaton
    Pds {
        /// What to do.
        #[command(subcommand)]
        command: Pds,
    },
    /// Print a program in canonical form
    Fmt(Fmt),
    /// Algorithms written as fixed-point formulas: list them, show them, run your own
    Fixpoint {
        /// What to do.
        #[command(subcommand)]
        command: Fixpoint,
    },
    /// Explain a diagnostic such as E021, as the manual does
    Explain {
        /// The code; without one all are listed
        code: Option<String>,
    },
    /// Print a script that completes arguments, for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, of postbop or of one command, for `man -l -`
    Man {
        /// The command
        command: Option<String>,
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
#[derive(clap::Args, Clone)]
pub struct Question {
    /// What must not be reached: a label as LABEL or PROCEDURE:LABEL, or a property as reports name it, such as assert:9;
    /// may be repeated. Without it: every assertion and array access, and the labels ERROR and SLIC_ERROR
    #[arg(long, value_name = "LABEL")]
    pub target: Vec<String>,
    #[command(flatten)]
    pub cost: Cost,
    /// Show what the engine counted, and how long it took; `--stats=chart` draws the course of the search in the page of `--report`
    #[arg(long, value_enum, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "counters")]
    pub stats: Option<Stats>,
}

/// What is shown of the work.
#[derive(Clone, Copy, ValueEnum, PartialEq, Eq)]
pub enum Stats {
    /// What was counted
    Counters,
    /// How much was held and how much waited, while the work went on
    Chart,
}

/// How much an answer may cost.
#[derive(clap::Args, Clone)]
pub struct Cost {
    /// Give up after this time, as in 500ms, 60s or 1m30s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// Give up beyond this much memory, as in 200M or 4G
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "4G")]
    pub memory: u64,
}

/// A program to read and to show.
#[derive(clap::Args)]
pub struct Show {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub cost: Cost,
}

/// Print a program in another form.
#[derive(clap::Args)]
pub struct Emit {
    #[command(flatten)]
    pub show: Show,
    /// As constrained Horn clauses in SMT-LIB, which have a model exactly if no run reaches what must not be reached
    #[arg(long)]
    pub chc: bool,
    /// With `--chc`, what must not be reached, as for `check`; may be repeated
    #[arg(long, value_name = "LABEL", requires = "chc")]
    pub target: Vec<String>,
}

/// Which configurations to print.
#[derive(Subcommand)]
pub enum Pds {
    /// Those that can be reached from some
    Post(Saturate),
    /// Those from which some can be reached
    Pre(Saturate),
}

/// Saturate a pushdown system.
#[derive(clap::Args)]
pub struct Saturate {
    /// The pushdown system, in the format of Moped or CUBA (`.pds`)
    pub file: PathBuf,
    /// A configuration, as in 'q:f g', with the top of the stack first, or with conditions on variables, as in 'q (x = 0): f (n = 1) g'; may be repeated.
    /// Without it: the initial configuration
    #[arg(long, value_name = "CONFIG")]
    pub from: Vec<String>,
    /// Print the automaton as a graph for Graphviz
    #[arg(long)]
    pub dot: bool,
    #[command(flatten)]
    pub cost: Cost,
}

/// Print what a procedure does.
#[derive(clap::Args)]
pub struct Summary {
    #[command(flatten)]
    pub source: Source,
    /// The procedure; without it: the one in which the program starts
    #[arg(long, value_name = "NAME")]
    pub proc: Option<String>,
    /// Print the automata of the inputs for which it returns, and of the relation, as graphs for Graphviz
    #[arg(long)]
    pub dot: bool,
    #[command(flatten)]
    pub cost: Cost,
}

/// Print a picture of a program.
#[derive(clap::Args)]
pub struct Graph {
    #[command(flatten)]
    pub source: Source,
    /// The locations and edges of this procedure
    #[arg(long, value_name = "NAME")]
    pub proc: Option<String>,
    /// Which procedures call which; so it is without `--proc` too
    #[arg(long, conflicts_with = "proc")]
    pub calls: bool,
    /// The form of the picture
    #[arg(long, value_enum, default_value_t)]
    pub format: Picture,
    #[command(flatten)]
    pub cost: Cost,
}

/// Step a program by hand.
#[derive(clap::Args)]
pub struct Explore {
    #[command(flatten)]
    pub source: Source,
    /// Where the page is served; port 0 means any that is free. An address that is not on loopback lets other machines in
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    #[command(flatten)]
    pub cost: Cost,
}

/// The form of a picture.
#[derive(Clone, Copy, ValueEnum, Default, PartialEq, Eq)]
pub enum Picture {
    /// For Graphviz
    #[default]
    Dot,
    /// For browsers
    Svg,
}

/// A program to read.
#[derive(clap::Args, Clone)]
pub struct Source {
    /// The program: a Boolean program, a pushdown system of CUBA or Moped (`.pds`), Horn clauses in SMT-LIB (`.smt2`), or a program graph
    /// as printed by `emit`; `-` reads standard input
    pub file: PathBuf,
    /// How operators bind where the families of tools disagree
    #[arg(long, value_enum, default_value_t)]
    pub dialect: Dialect,
    /// Programs that start threads as they run: room for this many threads, including those that are there from the
    /// beginning. Without it: 3, and with `check` more and more while there is time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: Option<u32>,
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

/// Decide whether a run of a program can fail an assertion or reach a label.
#[derive(clap::Args, Clone)]
pub struct Check {
    #[command(flatten)]
    pub source: Source,
    /// Further programs, each of which is checked by itself
    #[arg(value_name = "FILE")]
    pub more: Vec<PathBuf>,
    #[command(flatten)]
    pub question: Question,
    /// What must not be visited again and again by a run that goes on for ever: a label; may be repeated
    #[arg(long, value_name = "LABEL")]
    pub fair: Vec<String>,
    /// What all runs must satisfy: a formula of linear temporal logic, as in 'G (locked -> F unlocked)'; may be repeated
    #[arg(long, value_name = "FORMULA")]
    pub ltl: Vec<String>,
    /// An automaton that no run may bring to a target state, or to its repeat states again and again: a monitor, or a file in the Hanoi
    /// omega-automata format; may be repeated
    #[arg(long, value_name = "FILE")]
    pub monitor: Vec<PathBuf>,
    /// That every run comes to an end; with a procedure, that every activation of it does
    #[arg(long, value_name = "PROC", value_parser = procedure)]
    pub terminates: Option<Option<String>>,
    /// That no run gets stuck: of a program with threads, that some thread can always move until all have ended; of a sequential
    /// program, that every `assume` lets a run go on
    #[arg(long)]
    pub deadlock: bool,
    /// The engine: `explicit` looks at one valuation after another, `summary` at sets of them, `sat` at formulas, `weighted`
    /// takes unbounded integers, `fixpoint` runs an algorithm that is written as a formula; `auto` chooses
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
    /// The mode of `sat`: `pdr` looks for lemmas about procedures, `qbf` for all that they do, until nothing is new,
    /// `universal` for the same from any valuation, with loops unrolled
    #[arg(long, value_parser = ["pdr", "qbf", "universal"])]
    pub mode: Option<String>,
    /// Stop at the first violation. Without it every property gets an answer
    #[arg(long)]
    pub first: bool,
    /// A program without properties is not an error
    #[arg(long)]
    pub allow_empty: bool,
    /// Give a trace of the least number of steps; of a program with threads, of context switches or rounds
    #[arg(long)]
    pub shortest: bool,
    /// Check the proof of every property that holds, whatever that costs, and say which were checked. Without it: where it costs little
    #[arg(long)]
    pub validate: bool,
    /// Write the proof of the properties that hold to a file, for `validate`; to one that ends with .smt2 as a model of the program's
    /// Horn clauses, for SMT solvers, or the run to a property that is violated as a derivation
    #[arg(long, value_name = "FILE", conflicts_with = "more")]
    pub certificate: Option<PathBuf>,
    /// How much of a trace to print
    #[arg(long, value_enum, default_value_t)]
    pub trace: Detail,
    /// The form of the report
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Write the report to this file too, as a page for a browser in which traces can be stepped through
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
}

impl Check {
    /// The names of the properties that are asked for.
    pub fn named(&self) -> Vec<String> {
        let fair = self.fair.iter().map(|label| format!("fair:{label}"));
        let terminates = matches!(self.terminates, Some(None)).then(|| "terminates".to_owned());
        self.question.target.iter().cloned().chain(fair).chain(terminates).collect()
    }
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
    /// For code scanning: a log in the Static Analysis Results Interchange Format, SARIF 2.1.0
    Sarif,
    /// For build servers: JUnit XML, with a test case for each property
    Junit,
    /// For workflows of GitHub: annotations at the lines of violations
    Github,
}

/// Run a trace on the program.
#[derive(clap::Args)]
pub struct Replay {
    #[command(flatten)]
    pub source: Source,
    /// The report of `check --format json`, or one trace out of it
    pub trace: PathBuf,
    #[command(flatten)]
    pub cost: Cost,
}

/// Check a proof.
#[derive(clap::Args)]
pub struct Validate {
    #[command(flatten)]
    pub source: Source,
    /// The proof, as `check --certificate` writes it
    pub proof: PathBuf,
    #[command(flatten)]
    pub cost: Cost,
}

/// Print a program in canonical form.
#[derive(clap::Args, Clone)]
pub struct Fmt {
    #[command(flatten)]
    pub source: Source,
    /// Further programs
    #[arg(value_name = "FILE")]
    pub more: Vec<PathBuf>,
    #[command(flatten)]
    pub cost: Cost,
    /// Print only what would change; exit with 1 if a file is not in canonical form
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

/// The name of a procedure. A file in its place is the program, which was meant to stand elsewhere.
fn procedure(text: &str) -> Result<String, String> {
    match text == "-" || text.contains(['/', '.']) {
        true => {
            Err("that is not the name of a procedure; name the program first: `check FILE --terminates`"
                .into())
        }
        false => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
