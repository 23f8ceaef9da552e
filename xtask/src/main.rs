//! Room `xtask`: the binary behind `cargo xtask`.

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use xtask::fuzz::Kind;
use xtask::generate::{self, Features};
use xtask::{bench, ci, family, fuzz, tidy};

/// The project's own chores.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Runs everything that must be well: format, clippy, tests, tidy, a short fuzz run
    Ci,
    /// Measures the benchmark families and keeps the results
    Bench {
        /// Only instances whose name contains this
        #[arg(long)]
        filter: Option<String>,
        /// Only this engine, or one of its algorithms, as in `fixpoint:ef`
        #[arg(long)]
        engine: Option<String>,
        /// Seconds for each run
        #[arg(long, default_value_t = 30)]
        timeout: u64,
        /// Append the lines to this file instead of the dated one
        #[arg(long)]
        out: Option<PathBuf>,
    },
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
        /// A program with threads instead; it has no features to choose
        #[arg(long)]
        threads: bool,
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
        /// Programs with threads, against the judge of all interleavings; they have no features to choose
        #[arg(long)]
        threads: bool,
        /// With threads: milliseconds that an engine may take for one question
        #[arg(long, value_name = "MS", requires = "threads", default_value_t = fuzz::PATIENCE.as_millis() as u64)]
        patience: u64,
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
        Chore::Ci => run_ci(),
        Chore::Bench { filter, engine, timeout, out } => {
            run_bench(&bench::Plan { filter, engine, timeout, out })
        }
        Chore::Tidy => run_tidy(),
        Chore::Gen { seed, features, threads } => {
            let source = if threads { generate::threads(seed) } else { generate::program(seed, features) };
            print!("{source}");
            ExitCode::SUCCESS
        }
        Chore::Fuzz { seed, count, seconds, features, threads, patience } => {
            let kind = if threads {
                Kind::Threads(Duration::from_millis(patience))
            } else {
                Kind::Sequential(features)
            };
            run_fuzz(seed, count, seconds, kind)
        }
        Chore::Family { name, parameters } => print_instance(&name, &parameters),
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn seed_by_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis() as u64)
}

fn run_ci() -> ExitCode {
    match ci::run(&root(), seed_by_time()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("ci: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Builds the binary, which then lies beside this one, and measures it.
fn run_bench(plan: &bench::Plan) -> ExitCode {
    let outcome = ci::cargo(&root(), &["build", "--release", "--package", "postbop"])
        .and_then(|()| std::env::current_exe().map_err(|problem| problem.to_string()))
        .and_then(|own| bench::run(&root(), &own.with_file_name("postbop"), plan));
    match outcome {
        Ok(wrong) => {
            wrong.iter().for_each(|complaint| println!("WRONG {complaint}"));
            if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(problem) => {
            eprintln!("bench: {problem}");
            ExitCode::from(2)
        }
    }
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

fn run_fuzz(seed: Option<u64>, count: usize, seconds: Option<u64>, kind: Kind) -> ExitCode {
    let seed = seed.unwrap_or_else(seed_by_time);
    println!("fuzz: seed {seed}");
    // A breakdown of an engine is a finding, told once at the end.
    std::panic::set_hook(Box::new(|_| {}));
    let tally = fuzz::fuzz(seed, count, kind, seconds.map(Duration::from_secs));
    tally.lines().iter().for_each(|line| println!("fuzz: {line}"));
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
