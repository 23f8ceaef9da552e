//! Room `xtask`: the binary behind `cargo xtask`.

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use xtask::generate::{self, Features};
use xtask::{family, fuzz, tidy};

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
    /// Tries random programs on the judge and every engine
    Fuzz {
        /// The first seed; by default one made from the time
        #[arg(long)]
        seed: Option<u64>,
        /// How many programs
        #[arg(long, default_value_t = 1000)]
        count: usize,
        /// Stop after this many seconds
        #[arg(long)]
        seconds: Option<u64>,
        /// What the programs may contain, as for `gen`
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
        Chore::Fuzz { seed, count, seconds, features } => run_fuzz(seed, count, seconds, features),
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

fn run_fuzz(seed: Option<u64>, count: usize, seconds: Option<u64>, features: Features) -> ExitCode {
    let by_time = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis() as u64);
    let seed = seed.unwrap_or_else(by_time);
    println!("fuzz: seed {seed}");
    // A breakdown of an engine is a finding, told once at the end.
    std::panic::set_hook(Box::new(|_| {}));
    let tally = fuzz::fuzz(seed, count, features, seconds.map(Duration::from_secs));
    println!(
        "fuzz: {} programs agreed on ({} targets reachable, {} not), {} too large to judge",
        tally.agreed, tally.reachable, tally.unreachable, tally.too_large
    );
    let Some((seed, what, source)) = tally.wrong else { return ExitCode::SUCCESS };
    let path = root().join(format!("tests/cases/found/seed_{seed}.bp"));
    let written = std::fs::create_dir_all(root().join("tests/cases/found"))
        .and_then(|()| std::fs::write(&path, &source));
    println!("fuzz: seed {seed} is wrong: {what}\n{source}");
    match written {
        Ok(()) => println!("fuzz: kept as {}; give it an `// expect:` line", path.display()),
        Err(error) => println!("fuzz: {}: {error}", path.display()),
    }
    ExitCode::FAILURE
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
