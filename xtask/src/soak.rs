//! Room `xtask`: the binary on changed inputs of all formats.
//!
//! # Idea
//! Whatever the input, the binary must answer, within the memory and the time that it was given, with one of the exit
//! statuses that are no bug. So inputs of every format are changed at random, some of them beyond recognition and some
//! to a great size; the binary is run on each with random options, and four things are looked at: how it ended, the
//! most memory that was resident, the time, and whether standard error tells of a panic.
//!
//! # What counts as too much
//! Memory may exceed `--memory` by a fifth: the limit is on what is allocated, and the process has pages beside that.
//! Time may exceed `--timeout` by two seconds. On a busy machine the clock says little; what is counted beyond the limit
//! is the share of that time which the process had on a processor, as far as its processor time over the whole run
//! tells. A run that is never done is ended after a while, and is a failure whatever it did meanwhile.
//!
//! Failures are kept in `target/soak/`, each in a folder with its files and the command line. Equal seeds make equal
//! inputs: `--seed N --count 1` repeats the run of seed N.

mod child;
mod inputs;
mod mutate;

use crate::ci;
use crate::rng::Rng;
use child::Ran;
use inputs::{FORMS, Form, Input};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The seed of the first input.
    pub seed: u64,
    /// How many inputs.
    pub count: u64,
    /// How long at most.
    pub seconds: Option<Duration>,
    /// The `--memory` of each run, in megabytes.
    pub memory: u64,
    /// The `--timeout` of each run.
    pub timeout: Duration,
}

/// What came of it.
#[derive(Default, Debug)]
pub struct Tally {
    /// How many runs ended with each status.
    statuses: BTreeMap<i32, u64>,
    /// How many inputs of each form there were.
    forms: BTreeMap<Form, u64>,
    /// Runs beyond the time by the clock, but not by the processor.
    delayed: u64,
    /// The most memory that a run used, in bytes, and the longest time that one took.
    memory: u64,
    wall: Duration,
    /// What went wrong, and the seeds of the inputs.
    failures: Vec<(u64, String)>,
}

impl Tally {
    /// Whether nothing went wrong.
    pub fn is_good(&self) -> bool {
        self.failures.is_empty()
    }

    /// The first failure.
    pub fn failure(&self) -> Option<String> {
        self.failures.first().map(|(seed, what)| format!("seed {seed}: {what}"))
    }

    fn print(&self) {
        let runs: u64 = self.forms.values().sum();
        let forms: Vec<String> = self.forms.iter().map(|(form, count)| format!("{form:?} {count}")).collect();
        let statuses: Vec<String> =
            self.statuses.iter().map(|(status, count)| format!("{status}: {count}")).collect();
        println!("soak: {runs} runs ({})", forms.join(", "));
        println!("soak: exit statuses {}", statuses.join(", "));
        println!(
            "soak: at most {} MB and {:.1} s; {} runs were late by the clock alone",
            self.memory / 1_000_000,
            self.wall.as_secs_f64(),
            self.delayed
        );
        println!("soak: {} failures", self.failures.len());
    }
}

/// A number of megabytes, such as `500M`.
pub fn megabytes(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix('M').and_then(|number| number.parse().ok());
    number.ok_or_else(|| "expected a number of megabytes such as 500M".into())
}

/// A number of seconds, such as `5s`.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix('s').and_then(|number| number.parse().ok());
    number.map(Duration::from_secs).ok_or_else(|| "expected a number of seconds such as 5s".into())
}

/// Builds the binary and runs it on changed inputs; failures are printed as they come.
pub fn run(root: &Path, plan: &Plan) -> Result<Tally, String> {
    let binary = build(root)?;
    println!("soak: seed {}", plan.seed);
    let inputs = inputs::collect(root, &binary)?;
    let soak = Soak { plan, inputs, binary, folder: root.join("target/soak") };
    let start = Instant::now();
    let mut tally = Tally::default();
    for seed in plan.seed..plan.seed.saturating_add(plan.count) {
        if plan.seconds.is_some_and(|limit| start.elapsed() > limit) {
            break;
        }
        soak.try_one(seed, &mut tally)?;
    }
    let _ = std::fs::remove_dir_all(soak.folder.join(own_folder()));
    tally.print();
    Ok(tally)
}

/// Builds the binary with the profile that this one was built with; it then lies beside this one.
fn build(root: &Path) -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|problem| problem.to_string())?;
    let folder = own.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or("");
    let profile = if folder == "debug" { "dev" } else { folder };
    ci::cargo(root, &["build", "--quiet", "--profile", profile, "--package", "postbop"])?;
    Ok(own.with_file_name("postbop"))
}

/// Where the input at hand is written: several soaks may be at work at a time.
fn own_folder() -> String {
    format!("at-work-{}", std::process::id())
}

struct Soak<'a> {
    plan: &'a Plan,
    inputs: Vec<Input>,
    binary: PathBuf,
    /// Where inputs are written, and failures are kept.
    folder: PathBuf,
}

impl Soak<'_> {
    /// The changed input of a seed.
    fn input(&self, rng: &mut Rng) -> Input {
        let wanted = FORMS[rng.weighted(&FORMS.map(|(_, weight)| weight))].0;
        let alike: Vec<&Input> = self.inputs.iter().filter(|input| input.form == wanted).collect();
        let mut input = if rng.chance(0.25) { inputs::random(rng) } else { (*rng.pick(&alike)).clone() };
        let last = input.files.len() - 1;
        // Mostly the file that the form is named after; no file at all now and then.
        let changed = match input.form {
            Form::Program | Form::Symbolic | Form::Graph => 0,
            Form::Pushdown => rng.below(last + 1),
            Form::Formulas | Form::Report => {
                if rng.chance(0.85) {
                    last
                } else {
                    0
                }
            }
        };
        if rng.chance(0.9) {
            let others: Vec<&[u8]> = (0..3)
                .filter_map(|_| rng.pick(&alike).files.get(changed))
                .map(|(_, bytes)| &bytes[..])
                .collect();
            mutate::mutate(rng, &mut input.files[changed].1, &others);
        }
        input
    }

    fn try_one(&self, seed: u64, tally: &mut Tally) -> Result<(), String> {
        let rng = &mut Rng::new(seed);
        let input = self.input(rng);
        let own = own_folder();
        let name = |ending: &str| format!("target/soak/{own}/input.{ending}");
        let paths: Vec<String> = input.files.iter().map(|(ending, _)| name(ending)).collect();
        let limits = ["--memory", &format!("{}M", self.plan.memory), "--timeout"].map(str::to_owned);
        let limits = [&limits[..], &[format!("{}s", self.plan.timeout.as_secs())]].concat();
        let arguments = inputs::arguments(rng, input.form, &paths, &limits);
        let folder = self.folder.join(&own);
        write(&folder, &input.files)?;
        let mut command = Command::new(&self.binary);
        command.args(&arguments).current_dir(self.folder.join("../.."));
        let ran = child::run(&mut command, &folder.join("stderr"), self.plan.timeout * 6)?;
        *tally.forms.entry(input.form).or_default() += 1;
        *tally.statuses.entry(ran.status.code().unwrap_or(-1)).or_default() += 1;
        tally.memory = tally.memory.max(ran.memory);
        tally.wall = tally.wall.max(ran.wall);
        let flaw = self.plan.flaw(&ran);
        tally.delayed += u64::from(flaw.is_none() && ran.wall > self.plan.timeout + SLACK);
        if let Some(what) = flaw {
            let line = arguments.join(" ").replace(&own, &format!("seed-{seed}"));
            println!("soak: seed {seed}: {what}: postbop {line}");
            self.keep(seed, &folder, &format!("{what}\npostbop {line}\n\n{}", ran.err))?;
            tally.failures.push((seed, what));
        }
        Ok(())
    }

    /// Moves the files of a failing run to a folder of their own.
    fn keep(&self, seed: u64, from: &Path, said: &str) -> Result<(), String> {
        let to = self.folder.join(format!("seed-{seed}"));
        let _ = std::fs::remove_dir_all(&to);
        std::fs::rename(from, &to).map_err(|problem| format!("{}: {problem}", to.display()))?;
        std::fs::write(to.join("what"), said).map_err(|problem| problem.to_string())
    }
}

/// Makes a folder with these files, and no others.
fn write(folder: &Path, files: &[(&'static str, Vec<u8>)]) -> Result<(), String> {
    let _ = std::fs::remove_dir_all(folder);
    let problem = |what: std::io::Error| format!("{}: {what}", folder.display());
    std::fs::create_dir_all(folder).map_err(problem)?;
    let all = files.iter().map(|(ending, bytes)| (folder.join(format!("input.{ending}")), bytes));
    { all }.try_for_each(|(path, bytes)| std::fs::write(path, bytes)).map_err(problem)
}

/// How much longer than its limit a run may take.
const SLACK: Duration = Duration::from_secs(2);

impl Plan {
    /// What is wrong with a run.
    fn flaw(&self, ran: &Ran) -> Option<String> {
        let seconds = ran.wall.as_secs_f64();
        let share = (ran.cpu.as_secs_f64() / seconds.max(1e-9)).min(1.0);
        let beyond = ran.wall.saturating_sub(self.timeout).mul_f64(share);
        match ran.status.code() {
            _ if ran.killed => Some(format!("not done after {seconds:.0} s")),
            None => Some(format!("ended by {}", ran.status)),
            Some(status) if !(0..=3).contains(&status) => Some(format!("exit status {status}")),
            _ if ran.err.contains("panicked at") => Some("a panic".into()),
            _ if ran.memory > self.memory * 1_200_000 => Some(format!("{} MB", ran.memory / 1_000_000)),
            _ if beyond > SLACK => {
                Some(format!("{seconds:.1} s, on a processor for {:.1} s", ran.cpu.as_secs_f64()))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan =
        Plan { seed: 0, count: 1, seconds: None, memory: 500, timeout: Duration::from_secs(1) };

    fn flaw(script: &str) -> Option<String> {
        let err = std::env::temp_dir().join(format!("postbop-soak-{}-{}", std::process::id(), script.len()));
        let ran = child::run(Command::new("sh").args(["-c", script]), &err, Duration::from_secs(5)).unwrap();
        std::fs::remove_file(err).unwrap();
        PLAN.flaw(&ran)
    }

    #[test]
    fn every_kind_of_failure_is_seen() {
        assert_eq!(flaw("exit 3"), None);
        assert_eq!(flaw("exit 4"), Some("exit status 4".into()));
        assert!(flaw("kill -s ABRT $$").is_some_and(|what| what.contains("signal")));
        assert_eq!(flaw("echo thread main panicked at x >&2"), Some("a panic".into()));
        assert!(flaw("exec sleep 6").is_some_and(|what| what.starts_with("not done")));
    }

    #[test]
    fn memory_and_time_are_measured() {
        let status = Command::new("true").status().unwrap();
        let of = |wall, cpu, memory| {
            let (wall, cpu) = (Duration::from_millis(wall), Duration::from_millis(cpu));
            PLAN.flaw(&Ran { status, killed: false, wall, cpu, memory, err: String::new() })
        };
        assert_eq!(of(900, 900, 590_000_000), None);
        assert_eq!(of(10, 10, 601_000_000), Some("601 MB".into()));
        assert!(of(3100, 3100, 0).is_some_and(|what| what.contains("3.1 s")));
        // Half of the time it had to wait for others.
        assert_eq!(of(4000, 2000, 0), None);
        assert!(of(8000, 4000, 0).is_some());
    }

    #[test]
    fn limits_are_read() {
        assert_eq!((megabytes("500M"), seconds("5s")), (Ok(500), Ok(Duration::from_secs(5))));
        assert!(megabytes("500").is_err() && seconds("5").is_err());
    }
}
