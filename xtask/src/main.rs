//! Room `xtask`: the binary behind `cargo xtask`.

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use xtask::fuzz::Kind;
use xtask::generate::Features;
use xtask::{bench, browser, ci, family, fuzz, pictures, soak, tidy};

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
        /// Only this engine, or one of its algorithms, as in `fixpoint:ef`; several with commas
        #[arg(long, value_delimiter = ',')]
        engine: Vec<String>,
        /// Seconds for each run
        #[arg(long, default_value_t = 30)]
        timeout: u64,
        /// Append the lines to this file instead of the dated one
        #[arg(long)]
        out: Option<PathBuf>,
        /// Side by side with Z3, if it is installed
        #[arg(long)]
        peers: bool,
        /// Make each run so often, in turns, and keep the fastest
        #[arg(long, default_value_t = 1)]
        repeat: usize,
        /// Side by side with this older binary
        #[arg(long)]
        before: Option<PathBuf>,
        /// Each run once more with `--validate`: what it adds to check the proofs
        #[arg(long)]
        validate: bool,
    },
    /// Opens reports in a browser (Debian's packages chromium and chromium-driver), and keeps pictures of them
    Browser,
    /// Makes the pictures of the documents from the current build (needs the browser too)
    Pictures,
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
        #[command(flatten)]
        other: Other,
    },
    /// Tries random programs on the oracle and every engine
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
        #[command(flatten)]
        other: Other,
        /// Ask this engine only, for sequential programs; `reordered` is `summary` with levels reordered after every few images,
        /// and `coarse` is `sat` with coarse programs first
        #[arg(long, value_parser = fuzz::engine_name)]
        engine: Option<String>,
        /// With one of these kinds: milliseconds that an engine may take for one question
        #[arg(long, value_name = "MS", requires = "kind")]
        patience: Option<u64>,
    },
    /// Runs the binary on changed inputs of all formats, within limits that it has to keep
    Soak {
        /// The first seed; by default one made from the time
        #[arg(long)]
        seed: Option<u64>,
        /// How many inputs
        #[arg(long, default_value_t = 1000)]
        count: u64,
        /// Stop after this many seconds
        #[arg(long)]
        seconds: Option<u64>,
        /// What each run gets as `--memory`: a number of megabytes with an M; it may use a fifth more
        #[arg(long, default_value = "500M", value_parser = soak::megabytes)]
        memory: u64,
        /// What each run gets as `--timeout`: a number of seconds with an s; it may take two more
        #[arg(long, default_value = "5s", value_parser = soak::seconds)]
        timeout: Duration,
        /// How many runs there are at a time
        #[arg(long, default_value_t = 2)]
        jobs: usize,
        /// Say at the end where the time went
        #[arg(long)]
        shares: bool,
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

/// Programs of another kind, which have no features to choose.
#[derive(clap::Args)]
#[group(id = "kind", multiple = false)]
struct Other {
    /// Programs with threads, against the oracle of all interleavings
    #[arg(long)]
    threads: bool,
    /// Programs whose shortest runs are astronomically long
    #[arg(long)]
    long: bool,
    /// Programs with many properties
    #[arg(long)]
    many: bool,
    /// Runs that go on for ever
    #[arg(long)]
    cycles: bool,
    /// Formulas and monitors, against a tableau on a plain pushdown system
    #[arg(long)]
    ltl: bool,
    /// Runs that get stuck, with and without threads
    #[arg(long)]
    deadlock: bool,
    /// Concurrent pushdown systems
    #[arg(long)]
    pushdown: bool,
    /// Pushdown systems with variables, against a naive evaluation of their rules
    #[arg(long)]
    moped: bool,
    /// Systems of Horn clauses, against a naive evaluation of them
    #[arg(long)]
    horn: bool,
    /// Programs with unbounded integers, against the oracle on small values
    #[arg(long)]
    integers: bool,
    /// What procedures do, against the oracle
    #[arg(long)]
    summaries: bool,
}

impl Other {
    /// Which programs to make, and how patiently to ask about them.
    fn kind(&self, features: Features, patience: Option<u64>) -> Kind {
        let or = |usual| patience.map_or(usual, Duration::from_millis);
        match self {
            Other { threads: true, .. } => Kind::Threads(or(fuzz::PATIENCE)),
            Other { long: true, .. } => Kind::Long(or(fuzz::LONG_PATIENCE)),
            Other { many: true, .. } => Kind::Many(or(fuzz::LONG_PATIENCE)),
            Other { cycles: true, .. } => Kind::Cycles(features),
            Other { ltl: true, .. } => Kind::Temporal(features),
            Other { deadlock: true, .. } => Kind::Deadlock(features, or(fuzz::PATIENCE)),
            Other { pushdown: true, .. } => Kind::Pushdown(or(fuzz::PATIENCE)),
            Other { moped: true, .. } => Kind::Moped(or(fuzz::LONG_PATIENCE)),
            Other { horn: true, .. } => Kind::Horn(or(fuzz::LONG_PATIENCE)),
            Other { integers: true, .. } => Kind::Integers(or(fuzz::LONG_PATIENCE)),
            Other { summaries: true, .. } => Kind::Summaries(or(fuzz::LONG_PATIENCE)),
            _ => Kind::Sequential(features),
        }
    }
}

fn main() -> ExitCode {
    match Arguments::parse().chore {
        Chore::Ci => run_ci(),
        Chore::Bench { filter, engine: engines, timeout, out, peers, repeat, before, validate } => {
            run_bench(&bench::Plan { filter, engines, timeout, out, peers, repeat, before, validate })
        }
        Chore::Browser => run_browser(),
        Chore::Pictures => run_pictures(),
        Chore::Tidy => run_tidy(),
        Chore::Gen { seed, features, other } => {
            print!("{}", other.kind(features, None).program(seed));
            ExitCode::SUCCESS
        }
        Chore::Fuzz { seed, count, seconds, features, other, engine, patience } => {
            run_fuzz(seed, count, seconds, other.kind(features, patience), engine.as_deref())
        }
        Chore::Soak { seed, count, seconds, memory, timeout, jobs, shares } => {
            let seed = seed.unwrap_or_else(seed_by_time);
            let seconds = seconds.map(Duration::from_secs);
            run_soak(&soak::Plan { seed, count, seconds, memory, timeout, jobs, shares })
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

/// The same for every run on one commit, and another one for the next: what passes before a change is shared passes afterwards.
fn seed_by_commit() -> Option<u64> {
    let head = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root()).output().ok()?;
    u64::from_str_radix(str::from_utf8(&head.stdout).ok()?.get(..10)?, 16).ok()
}

fn run_ci() -> ExitCode {
    match ci::run(&root(), seed_by_commit().unwrap_or_else(seed_by_time)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("ci: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Builds the binary and measures it. This one is of another profile, in a folder beside that of releases.
fn run_bench(plan: &bench::Plan) -> ExitCode {
    let outcome = ci::cargo(&root(), &["build", "--release", "--package", "postbop"])
        .and_then(|()| std::env::current_exe().map_err(|problem| problem.to_string()))
        .and_then(|own| bench::run(&root(), &own.with_file_name("../release/postbop"), plan));
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

/// Builds the binary and opens its reports.
fn run_browser() -> ExitCode {
    match ci::binary(&root()).and_then(|binary| browser::run(&root(), &binary)) {
        Ok(count) => {
            println!("browser: {count} passed, 0 failed; pictures are in target/browser");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("browser: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Builds the binary and makes pictures of it.
fn run_pictures() -> ExitCode {
    match ci::binary(&root()).and_then(|binary| pictures::run(&root(), &binary)) {
        Ok(paths) => {
            println!("pictures: {}", paths.join(", "));
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("pictures: {problem}");
            ExitCode::FAILURE
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

fn run_fuzz(
    seed: Option<u64>,
    count: usize,
    seconds: Option<u64>,
    kind: Kind,
    only: Option<&str>,
) -> ExitCode {
    let seed = seed.unwrap_or_else(seed_by_time);
    println!("fuzz: seed {seed}");
    // A breakdown of an engine is a finding, told once at the end; one of the fuzzer is not.
    static BROKE_DOWN: Mutex<String> = Mutex::new(String::new());
    std::panic::set_hook(Box::new(|what| *BROKE_DOWN.lock().expect("no panic here") = what.to_string()));
    let fuzz = || fuzz::fuzz(seed, count, kind, only, seconds.map(Duration::from_secs));
    let Ok(tally) = std::panic::catch_unwind(fuzz) else {
        println!("fuzz: the fuzzer broke down: {}", BROKE_DOWN.lock().expect("no panic here"));
        return ExitCode::from(2);
    };
    tally.lines().iter().for_each(|line| println!("fuzz: {line}"));
    let Some((seed, what, source)) = tally.wrong else { return ExitCode::SUCCESS };
    println!("fuzz: seed {seed} is wrong: {what}\n{source}");
    let folder = root().join("tests/cases/found");
    for (ending, text) in kind.files(&source) {
        let path = folder.join(format!("seed_{seed}.{ending}"));
        match std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, text)) {
            Ok(()) => println!("fuzz: kept as {}; give it an `expect:` line", path.display()),
            Err(error) => println!("fuzz: {}: {error}", path.display()),
        }
    }
    ExitCode::FAILURE
}

fn run_soak(plan: &soak::Plan) -> ExitCode {
    match soak::run(&root(), plan) {
        Ok(tally) if tally.is_good() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("soak: {problem}");
            ExitCode::from(2)
        }
    }
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
