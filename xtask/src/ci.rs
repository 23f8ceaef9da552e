//! Room `xtask`: everything that must be well before a change is shared.
//!
//! One step after the other, cheapest first, each with its name and its time; the first that fails ends the run. This
//! is what `.ci/run` calls, and what people call before they commit: there is no other list of checks.

use crate::fuzz::{self, Kind};
use crate::generate::Features;
use crate::{browser, soak, tidy};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How many random programs to try, and for how long at most.
const PROGRAMS: usize = 400;
const PROGRAMS_OF_OTHER_KINDS: usize = 100;
const FUZZ_TIME: Duration = Duration::from_secs(20);
const FUZZ_TIME_WITH_THREADS: Duration = Duration::from_secs(8);
const FUZZ_TIME_OF_OTHER_KINDS: Duration = Duration::from_secs(5);
/// A fuzz step that takes so much longer than its time does not end.
const GRACE: Duration = Duration::from_secs(300);
const SOAK_TIME: Duration = Duration::from_secs(5);

/// A step: its name, and what it does.
type Step<'a> = (&'a str, Box<dyn Fn() -> Result<(), String> + 'a>);

/// Runs all steps in the repository at `root`; the name of the step that failed, and why.
pub fn run(root: &Path, seed: u64) -> Result<(), String> {
    const CLIPPY: &[&str] =
        &["clippy", "--workspace", "--all-targets", "--profile", "ci", "--", "--deny", "warnings"];
    let others = |kind| -> Box<dyn Fn() -> Result<(), String>> {
        Box::new(move || try_programs(seed, PROGRAMS_OF_OTHER_KINDS, kind))
    };
    steps(&[
        ("format", Box::new(|| cargo(root, &["fmt", "--all", "--check"]))),
        ("clippy", Box::new(|| cargo(root, CLIPPY))),
        ("tests", Box::new(|| cargo(root, &["test", "--workspace", "--profile", "ci"]))),
        ("documentation", Box::new(|| document(root))),
        ("tidy", Box::new(|| check_tidy(root))),
        ("browser", Box::new(|| open_reports(root))),
        ("fuzz", Box::new(|| try_programs(seed, PROGRAMS, Kind::Sequential(Features::parse("all")?)))),
        ("fuzz threads", others(Kind::Threads(fuzz::PATIENCE))),
        ("fuzz long", others(Kind::Long(fuzz::LONG_PATIENCE))),
        ("fuzz many", others(Kind::Many(fuzz::LONG_PATIENCE))),
        ("fuzz cycles", others(Kind::Cycles(Features::all()))),
        ("fuzz formulas", others(Kind::Temporal(Features::all()))),
        ("fuzz deadlock", others(Kind::Deadlock(Features::all(), fuzz::PATIENCE))),
        ("fuzz pushdown", others(Kind::Pushdown(fuzz::PATIENCE))),
        ("fuzz moped", others(Kind::Moped(fuzz::LONG_PATIENCE))),
        ("fuzz horn", others(Kind::Horn(fuzz::LONG_PATIENCE))),
        ("fuzz integers", others(Kind::Integers(fuzz::LONG_PATIENCE))),
        ("fuzz summaries", others(Kind::Summaries(fuzz::LONG_PATIENCE))),
        ("soak", Box::new(|| soak_briefly(root, seed))),
    ])
}

fn steps(all: &[Step]) -> Result<(), String> {
    let start = Instant::now();
    for (number, (name, step)) in all.iter().enumerate() {
        println!("ci: {}/{} {name}", number + 1, all.len());
        let begin = Instant::now();
        let outcome = step();
        println!("ci: {name} took {:.1} s", begin.elapsed().as_secs_f64());
        outcome.map_err(|problem| format!("{name}: {problem}"))?;
    }
    println!("ci: all is well after {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Runs cargo, its output going where ours goes.
pub fn cargo(root: &Path, args: &[&str]) -> Result<(), String> {
    cargo_with(root, args, &[])
}

fn cargo_with(root: &Path, args: &[&str], variables: &[(&str, &str)]) -> Result<(), String> {
    // Set by the cargo that runs us, so that the same toolchain is used.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let variables = variables.iter().copied();
    let status = Command::new(cargo).args(args).envs(variables).current_dir(root).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo {} ended with {status}", args.join(" "))),
        Err(problem) => Err(format!("cannot run cargo: {problem}")),
    }
}

/// Builds the binary with the profile that this one was built with; it then lies beside this one.
pub fn binary(root: &Path) -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|problem| problem.to_string())?;
    let folder = own.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or("");
    let profile = if folder == "debug" { "dev" } else { folder };
    cargo(root, &["build", "--quiet", "--profile", profile, "--package", "postbop"])?;
    Ok(own.with_file_name("postbop"))
}

/// The documentation of the crates, of which a warning is an error.
fn document(root: &Path) -> Result<(), String> {
    cargo_with(
        root,
        &["doc", "--no-deps", "--workspace", "--profile", "ci"],
        &[("RUSTDOCFLAGS", "--deny warnings")],
    )
}

fn check_tidy(root: &Path) -> Result<(), String> {
    let breaches = tidy::check_repository(root)?;
    for breach in &breaches {
        println!("{breach}");
    }
    if breaches.is_empty() { Ok(()) } else { Err(format!("{} breaches", breaches.len())) }
}

/// Opens reports in a browser. Where there is none it is installed if that can be done; if not, that is said, and is no failure.
fn open_reports(root: &Path) -> Result<(), String> {
    if browser::driver::installed().is_none() {
        println!("browser: chromium and chromedriver are not installed; trying apt-get");
        for args in
            [&["update", "--quiet"][..], &["install", "--yes", "--quiet", "chromium", "chromium-driver"]]
        {
            let apt = Command::new("apt-get").args(args).env("DEBIAN_FRONTEND", "noninteractive").status();
            if !apt.is_ok_and(|status| status.success()) {
                println!("browser: SKIPPED, NOTHING WAS TESTED: apt-get {} does not work here", args[0]);
                return Ok(());
            }
        }
    }
    let count = browser::run(root, &binary(root)?)?;
    println!("browser: {count} passed, 0 failed");
    Ok(())
}

fn try_programs(seed: u64, count: usize, kind: Kind) -> Result<(), String> {
    println!("fuzz: seed {seed}");
    let time = match kind {
        Kind::Sequential(_) => FUZZ_TIME,
        Kind::Threads(_) | Kind::Deadlock(..) => FUZZ_TIME_WITH_THREADS,
        Kind::Long(_)
        | Kind::Many(_)
        | Kind::Pushdown(_)
        | Kind::Moped(_)
        | Kind::Horn(_)
        | Kind::Integers(_)
        | Kind::Summaries(_)
        | Kind::Temporal(_)
        | Kind::Cycles(_) => FUZZ_TIME_OF_OTHER_KINDS,
    };
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(fuzz::fuzz(seed, count, kind, None, Some(time))).is_ok());
    let tally = receiver.recv_timeout(time + GRACE).map_err(|problem| match problem {
        RecvTimeoutError::Timeout => "a program takes for ever".to_owned(),
        RecvTimeoutError::Disconnected => "the fuzzer broke down".to_owned(),
    })?;
    tally.lines().iter().for_each(|line| println!("fuzz: {line}"));
    match tally.wrong {
        Some((seed, what, source)) => Err(format!("seed {seed} is wrong: {what}\n{source}")),
        None if tally.agreed == 0 => Err("no program was decided".into()),
        None => Ok(()),
    }
}

fn soak_briefly(root: &Path, seed: u64) -> Result<(), String> {
    let (seconds, timeout) = (Some(SOAK_TIME), Duration::from_secs(5));
    let (count, memory, jobs, shares) = (u64::MAX, 500, 2, false);
    let tally = soak::run(root, &soak::Plan { seed, count, seconds, memory, timeout, jobs, shares })?;
    tally.failure().map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_first_failure_ends_the_run() {
        let ran = Cell::new(0);
        let count = |outcome: Result<(), String>| {
            let ran = &ran;
            move || {
                ran.set(ran.get() + 1);
                outcome.clone()
            }
        };
        let (good, bad) = (|| Box::new(count(Ok(()))), || Box::new(count(Err("no".into()))));
        assert_eq!(steps(&[("a", good()), ("b", good())]), Ok(()));
        assert_eq!(steps(&[("a", good()), ("b", bad()), ("c", good())]), Err("b: no".into()));
        assert_eq!(ran.get(), 4);
    }
}
