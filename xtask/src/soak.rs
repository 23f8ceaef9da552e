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
//! # Shares
//! Nearly all of the time goes to the few runs that use up theirs: with the shares in `inputs`, about 13 runs in a thousand,
//! which take six sevenths of the time. They are threads without a bound, and engines that were named although the program does not suit them.
//! They are what limits are for, so no share is made smaller to avoid them; all forms but `Program` are cheap, and
//! each is one input in ten or so. `--shares` prints these figures.
//!
//! Failures are kept in `target/soak/`, each in a folder with its files and the command line. Equal seeds make equal
//! inputs: `--seed N --count 1` repeats the run of seed N.

mod child;
mod inputs;
mod mutate;
mod tally;
mod temporal;

pub use tally::Tally;

use crate::ci;
use crate::rng::Rng;
use child::Ran;
use inputs::{FORMS, Form, Input};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tally::About;

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
    /// How many runs there are at a time.
    pub jobs: usize,
    /// Whether to say at the end where the time went.
    pub shares: bool,
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
    let binary = ci::binary(root)?;
    println!("soak: seed {}", plan.seed);
    let inputs = inputs::collect(root, &binary)?;
    let soak = Soak { plan, inputs, binary, folder: root.join("target/soak"), start: Instant::now() };
    let (next, tally) = (AtomicU64::new(0), Mutex::default());
    std::thread::scope(|scope| {
        let (soak, next, tally) = (&soak, &next, &tally);
        let works = |worker| scope.spawn(move || soak.work(worker, next, tally));
        let workers: Vec<_> = (0..plan.jobs.max(1)).map(works).collect();
        let mut ends = workers.into_iter().map(|worker| worker.join());
        ends.try_for_each(|end| end.unwrap_or_else(|_| Err("a worker panicked".into())))
    })?;
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    let shares = if plan.shares { tally.shares() } else { Vec::new() };
    tally.lines().iter().chain(&shares).for_each(|line| println!("soak: {line}"));
    Ok(tally)
}

/// Where a worker writes the input at hand: several soaks may be at work at a time.
fn own_folder(worker: usize) -> String {
    format!("at-work-{}-{worker}", std::process::id())
}

/// After how many runs a soak says how far it is.
const SAYS: u64 = 1000;
/// How much of a failing command line is printed; it may hold a long formula.
const SHOWN: usize = 400;

struct Soak<'a> {
    plan: &'a Plan,
    inputs: Vec<Input>,
    binary: PathBuf,
    /// Where inputs are written, and failures are kept.
    folder: PathBuf,
    start: Instant,
}

impl Soak<'_> {
    /// Runs the binary on one input after the other, each with the seed that is next.
    fn work(&self, worker: usize, next: &AtomicU64, tally: &Mutex<Tally>) -> Result<(), String> {
        let own = own_folder(worker);
        while self.plan.seconds.is_none_or(|limit| self.start.elapsed() <= limit) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= self.plan.count {
                break;
            }
            self.try_one(self.plan.seed.wrapping_add(at), &own, tally)?;
        }
        let _ = std::fs::remove_dir_all(self.folder.join(own));
        Ok(())
    }

    /// The changed input of a seed.
    fn input(&self, rng: &mut Rng) -> Input {
        let wanted = FORMS[rng.weighted(&FORMS.map(|(_, weight)| weight))].0;
        let alike: Vec<&Input> = self.inputs.iter().filter(|input| input.form == wanted).collect();
        let mut input = if rng.chance(0.25) { inputs::random(rng) } else { (*rng.pick(&alike)).clone() };
        let last = input.files.len() - 1;
        // Mostly the file that the form is named after; no file at all now and then.
        let changed = match input.form {
            Form::Program | Form::Symbolic | Form::Clauses | Form::Graph => 0,
            Form::Pushdown => rng.below(last + 1),
            Form::Formulas | Form::Report | Form::Temporal => {
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

    fn try_one(&self, seed: u64, own: &str, tally: &Mutex<Tally>) -> Result<(), String> {
        let Plan { memory, timeout, .. } = *self.plan;
        let rng = &mut Rng::new(seed);
        let input = self.input(rng);
        let name = |ending: &str| format!("target/soak/{own}/input.{ending}");
        let paths: Vec<String> = input.files.iter().map(|(ending, _)| name(ending)).collect();
        let limits = [format!("--memory={memory}M"), format!("--timeout={}s", timeout.as_secs())];
        let arguments = inputs::arguments(rng, &input, &paths, &limits);
        let folder = self.folder.join(own);
        write(&folder, &input.files)?;
        let mut command = Command::new(&self.binary);
        command.args(&arguments).current_dir(self.folder.join("../.."));
        let ran = child::run(&mut command, &folder.join("stderr"), timeout * 6)?;
        let flaw = self.plan.flaw(&ran);
        if let Some(what) = &flaw {
            let line = arguments.join(" ").replace(own, &format!("seed-{seed}"));
            println!("soak: seed {seed}: {what}: postbop {}", &line[..line.floor_char_boundary(SHOWN)]);
            self.keep(seed, &folder, &format!("{what}\npostbop {line}\n\n{}", ran.err))?;
        }
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.add(seed, &About { form: input.form, arguments: &arguments, timeout }, &ran, flaw);
        if tally.runs().is_multiple_of(SAYS) {
            println!("soak: {}", tally.so_far(self.start.elapsed()));
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

    const PLAN: Plan = Plan {
        seed: 0,
        count: 1,
        seconds: None,
        memory: 500,
        timeout: Duration::from_secs(1),
        jobs: 1,
        shares: false,
    };

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
