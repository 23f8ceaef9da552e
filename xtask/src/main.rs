//! Room `xtask`: the binary behind `cargo xtask`.

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use xtask::generate::{self, Features};
use xtask::{family, tidy};

/// The project's own chores.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Checks the style rules on every file that git tracks
    Tidy,
    /// Prints a random program
    Gen {
        /// What the program is made from; equal seeds give equal programs
        #[arg(long)]
        seed: u64,
        /// `all`, `boolean` or `none`, then single features to add or, after a `-`, to leave out
        #[arg(long, default_value = "all", allow_hyphen_values = true, value_parser = Features::parse)]
        features: Features,
    },
    /// Prints a program of a benchmark family, with its target and expected verdict
    Family {
        /// The family
        #[arg(help = family::USAGE)]
        name: String,
        /// Its parameters
        parameters: Vec<u64>,
    },
}

fn main() -> ExitCode {
    match Arguments::parse().chore {
        Chore::Tidy => run_tidy(),
        Chore::Gen { seed, features } => {
            print!("{}", generate::program(seed, features));
            ExitCode::SUCCESS
        }
        Chore::Family { name, parameters } => print_instance(&name, &parameters),
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn run_tidy() -> ExitCode {
    let breaches = match tidy::check_repository(&root()) {
        Ok(breaches) => breaches,
        Err(problem) => {
            eprintln!("tidy: {problem}");
            return ExitCode::from(2);
        }
    };
    for breach in &breaches {
        println!("{breach}");
    }
    if breaches.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print_instance(name: &str, parameters: &[u64]) -> ExitCode {
    match family::instance(name, parameters) {
        Ok(instance) => {
            print!("{}{}", instance.header(), instance.source);
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("family: {problem}");
            ExitCode::from(2)
        }
    }
}
