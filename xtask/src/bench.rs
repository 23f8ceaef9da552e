//! Room `xtask`: benchmark families measured, and kept.
//!
//! Each instance is given to the binary in a process of its own, once per engine, so that peak memory is that of the
//! run and a run that dies takes nothing with it. Each run is a JSON line in `bench/results/DATE.jsonl`, with the
//! commit it measured: the file only grows, and two dates can be compared. A verdict other than the one the family's
//! construction promises, or two engines that differ, is a failure: a fast wrong answer is no measurement.
//!
//! A busy machine makes a run slower, never faster. So with `--repeat` all runs on an instance take turns, several times, and
//! the least time of each counts. An older binary can take part (`--before`). At the end, `tables` say how `auto` compares with the engines
//! that it chooses from, and how the two binaries compare.

mod instances;
mod tables;

use crate::family::{self, Instance};
use crate::peers::{self, Pairing, Z3};
use instances::{INSTANCES, NOISY, UNBOUNDED};
use serde_json::{Value, json};
use std::io::Write;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long after its time limit a run may take to say so.
const GRACE: Duration = Duration::from_secs(10);

/// How long to wait between two looks at a run, at least and at most.
const SHORTEST_PAUSE: Duration = Duration::from_micros(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// The most seconds for a run of a noisy instance.
const NOISY_TIMEOUT: u64 = 5;

/// An instance, the engines that are asked about it, and the seconds for each.
struct Trial {
    instance: Instance,
    engines: Vec<String>,
    timeout: u64,
}

/// What to measure, and how.
#[derive(Debug)]
pub struct Plan {
    /// Only instances whose name contains this.
    pub filter: Option<String>,
    /// Only these engines, or one algorithm of an engine, as in `fixpoint:ef`; all if there is none.
    pub engines: Vec<String>,
    /// Seconds for each run.
    pub timeout: u64,
    /// Where the lines go, instead of the dated file.
    pub out: Option<PathBuf>,
    /// Whether Z3 is asked as well, if it is there.
    pub peers: bool,
    /// How often each run is made; the least time counts.
    pub repeat: usize,
    /// An older binary, to be measured beside this one.
    pub before: Option<PathBuf>,
    /// Whether each run is made once more with `--validate`, to see what checking a proof costs.
    pub validate: bool,
}

/// What the name of an engine is followed by if the older binary was asked.
const BEFORE: &str = ", before";

/// What it is followed by if proofs were checked.
const VALIDATED: &str = ", validated";

/// One measured run.
#[derive(Clone)]
struct Run {
    instance: String,
    engine: String,
    verdict: String,
    expected: Option<&'static str>,
    milliseconds: f64,
    peak_bytes: u64,
    counters: Value,
}

/// Measures what the plan says and appends it to the results; what came out wrong.
pub fn run(root: &Path, binary: &Path, plan: &Plan) -> Result<Vec<String>, String> {
    let date = date(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs()));
    let out = match &plan.out {
        Some(path) => path.clone(),
        None => root.join(format!("bench/results/{date}.jsonl")),
    };
    let folder = out.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|problem| format!("{}: {problem}", folder.display()))?;
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&out);
    let mut file = file.map_err(|problem| format!("{}: {problem}", out.display()))?;
    let commit = commit(root);
    let mut wrong = Vec::new();
    let z3 = if plan.peers { find_peer() } else { None };
    println!("{:<24} {:<17} {:<9} {:>10} {:>10} counters", "instance", "engine", "verdict", "ms", "MB");
    let (mut pairings, mut all) = (Vec::new(), Vec::new());
    for trial in trials(plan)? {
        let mut runs = least(&trial, binary, plan)?;
        runs.extend(z3.map(|z3| measure_peer(&trial, z3)).transpose()?);
        for run in &runs {
            println!("{}", run.row());
            // What an older binary does is no result of this commit.
            if !run.engine.ends_with(BEFORE) {
                let line = run.line(&date, commit.as_deref());
                writeln!(file, "{line}").map_err(|problem| format!("{}: {problem}", out.display()))?;
                wrong.extend(run.complaint());
            }
        }
        wrong.extend(difference(&runs));
        pairings.extend(z3.map(|_| pairing(&trial, &runs)));
        all.push(runs);
    }
    let peers = if pairings.is_empty() { Vec::new() } else { peers::table(&pairings) };
    let tables = [peers, tables::auto(&all), tables::before(&all), tables::validated(&all)].concat();
    tables.iter().for_each(|line| println!("{line}"));
    println!("kept in {}", out.display());
    Ok(wrong)
}

/// The runs on one instance, each of them the fastest of several. They take turns, so that a busy moment of the machine does not hit all runs
/// of one engine. An engine that did not answer at first is not asked again.
fn least(trial: &Trial, binary: &Path, plan: &Plan) -> Result<Vec<Run>, String> {
    let mut runs: Vec<Run> = Vec::new();
    for turn in 0..plan.repeat.max(1) {
        let mut at = 0;
        for engine in &trial.engines {
            let before = plan.before.iter().map(|path| (&**path, BEFORE));
            let validated = plan.validate.then_some((binary, VALIDATED));
            for (binary, suffix) in iter::once((binary, "")).chain(before).chain(validated) {
                let validates = suffix == VALIDATED;
                if turn == 0 {
                    let run = measure(trial, engine, binary, validates)?;
                    runs.push(Run { engine: format!("{engine}{suffix}"), ..run });
                } else if runs[at].answers() {
                    let run = measure(trial, engine, binary, validates)?;
                    if run.milliseconds < runs[at].milliseconds {
                        runs[at] = Run { engine: format!("{engine}{suffix}"), ..run };
                    }
                }
                at += 1;
            }
        }
    }
    Ok(runs)
}

/// Z3, if it is there; otherwise the bench goes on without it.
fn find_peer() -> Option<Z3> {
    match Z3::find() {
        Some((z3, version)) => {
            println!("side by side with {version}");
            Some(z3)
        }
        None => {
            println!("no Z3 here: neither a binary `z3` nor the Python package `z3-solver`");
            None
        }
    }
}

/// What is wrong with the verdicts on one instance, beside each other.
fn difference(runs: &[Run]) -> Option<String> {
    let verdicts: Vec<String> = runs
        .iter()
        .filter(|run| run.answers())
        .map(|run| format!("{} {}", run.engine, run.verdict))
        .collect();
    let mut answers = runs.iter().filter(|run| run.answers()).map(|run| &run.verdict);
    let first = answers.next()?;
    answers
        .any(|verdict| verdict != first)
        .then(|| format!("{}: answers differ: {}", runs[0].instance, verdicts.join(", ")))
}

/// The fastest of our runs that answered, beside that of Z3.
fn pairing(trial: &Trial, runs: &[Run]) -> Pairing {
    let (theirs, ours): (Vec<&Run>, Vec<&Run>) = (runs.iter())
        .filter(|run| run.answers() && !run.engine.ends_with(BEFORE))
        .partition(|run| run.engine == peers::NAME);
    let fastest = ours.into_iter().min_by(|one, other| one.milliseconds.total_cmp(&other.milliseconds));
    Pairing {
        instance: trial.instance.name.clone(),
        ours: fastest.map(|run| (run.engine.clone(), run.milliseconds)),
        theirs: theirs.first().map(|run| run.milliseconds),
        limit: trial.timeout as f64 * 1e3,
    }
}

fn trials(plan: &Plan) -> Result<Vec<Trial>, String> {
    let engines = engines(plan)?;
    let trial = |&(family, parameters): &(&str, &[u64]), noisy: bool| {
        let mut engines = engines.clone();
        engines.retain(|engine| !noisy || !plan.engines.is_empty() || !engine.starts_with("fixpoint"));
        let timeout = if noisy { plan.timeout.min(NOISY_TIMEOUT) } else { plan.timeout };
        family::instance(family, parameters).map(|instance| Trial { instance, engines, timeout })
    };
    let all = INSTANCES.iter().map(|row| trial(row, false)).chain(NOISY.iter().map(|row| trial(row, true)));
    let unbounded = UNBOUNDED.iter().map(|row| {
        // Other engines do not take them.
        let mut trial = trial(row, false)?;
        trial.engines.retain(|engine| engine == "weighted" || engine == "auto");
        Ok(trial)
    });
    let mut all = all.chain(unbounded).collect::<Result<Vec<Trial>, String>>()?;
    all.retain(|trial| !trial.engines.is_empty());
    all.retain(|trial| plan.filter.as_ref().is_none_or(|part| trial.instance.name.contains(part)));
    if all.is_empty() { Err("no instance has such a name".into()) } else { Ok(all) }
}

/// The engines to compare, and `auto`.
fn engines(plan: &Plan) -> Result<Vec<String>, String> {
    let names =
        postbop_engine::engines().iter().map(|engine| engine.name()).chain(["auto"]).map(str::to_owned);
    // The other modes of `sat` are compared with each other, not with all engines.
    let is_wanted = |name: &String| match &plan.engines[..] {
        [] => !name.starts_with("sat:"),
        [only] => name == only || name.split(':').next() == Some(only),
        several => several.contains(name),
    };
    let chosen: Vec<String> = names.filter(is_wanted).collect();
    if chosen.is_empty() { Err("there is no such engine".into()) } else { Ok(chosen) }
}

/// Runs the binary on an instance.
fn measure(trial: &Trial, engine: &str, binary: &Path, validates: bool) -> Result<Run, String> {
    let Trial { instance, timeout, .. } = trial;
    let Measured { ended, milliseconds, said } = timed("program.bp", &instance.source, *timeout, |source| {
        let mut command = Command::new(binary);
        command
            .arg("check")
            .arg(source)
            .args(["--target", instance.target, "--engine", engine, "--timeout", &format!("{timeout}s")])
            // Writing a long trace down is no part of finding it.
            .args(["--format", "json", "--trace", "none"])
            .args(validates.then_some("--validate"));
        command
    })?;
    let report: Value = serde_json::from_slice(&said).unwrap_or(Value::Null);
    let mut counters = report["stats"].clone();
    let peak = counters.as_object_mut().and_then(|counters| counters.remove("peak_bytes"));
    // A run that died said nothing, and one that did not end is not waited for: those are verdicts, too.
    let verdict = report["verdict"].as_str().unwrap_or(if ended { "died" } else { "overran" }).to_owned();
    let peak_bytes = peak.and_then(|peak| peak.as_u64()).unwrap_or(0);
    let (name, expected) = (instance.name.clone(), expected(instance));
    let engine = engine.to_owned();
    Ok(Run { instance: name, engine, verdict, expected, milliseconds, peak_bytes, counters })
}

/// Runs Z3 on the clauses of an instance. Its memory is not measured, and not to answer is all it can do wrong but to differ.
fn measure_peer(trial: &Trial, z3: Z3) -> Result<Run, String> {
    let (program, targets) = trial.instance.read();
    let clauses = peers::clauses(&program, &targets);
    let Measured { milliseconds, said, .. } =
        timed("clauses.smt2", &clauses, trial.timeout, |clauses| z3.command(clauses, trial.timeout))?;
    Ok(Run {
        instance: trial.instance.name.clone(),
        engine: peers::NAME.to_owned(),
        verdict: peers::verdict(&String::from_utf8_lossy(&said)).to_owned(),
        expected: expected(&trial.instance),
        milliseconds,
        peak_bytes: 0,
        counters: Value::Null,
    })
}

fn expected(instance: &Instance) -> Option<&'static str> {
    instance.expected.map(|reached| if reached { "violated" } else { "holds" })
}

/// How a process went.
struct Measured {
    /// Whether it ended by itself.
    ended: bool,
    milliseconds: f64,
    /// What it printed.
    said: Vec<u8>,
}

/// Runs a command on a file with this name and text, in a folder of its own.
fn timed(
    name: &str,
    text: &str,
    timeout: u64,
    command: impl FnOnce(&Path) -> Command,
) -> Result<Measured, String> {
    let folder = std::env::temp_dir().join(format!("postbop-bench-{}", std::process::id()));
    let problem = |problem: std::io::Error| format!("{}: {problem}", folder.display());
    std::fs::create_dir_all(&folder).map_err(problem)?;
    let (source, printed) = (folder.join(name), folder.join("printed"));
    std::fs::write(&source, text).map_err(problem)?;
    let mut command = command(&source);
    command.stdout(std::fs::File::create(&printed).map_err(problem)?).stderr(Stdio::null());
    let start = Instant::now();
    let ended = wait(&mut command, Duration::from_secs(timeout) + GRACE)?;
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    let said = std::fs::read(&printed).map_err(problem)?;
    std::fs::remove_dir_all(&folder).map_err(problem)?;
    Ok(Measured { ended, milliseconds, said })
}

/// Runs a command to its end, or ends it when it takes too long. Returns whether it ended by itself.
fn wait(command: &mut Command, limit: Duration) -> Result<bool, String> {
    let start = Instant::now();
    let problem = |problem: std::io::Error| problem.to_string();
    let mut child = command.spawn().map_err(problem)?;
    while child.try_wait().map_err(problem)?.is_none() {
        let so_far = start.elapsed();
        if so_far > limit {
            child.kill().and_then(|()| child.wait()).map_err(problem)?;
            return Ok(false);
        }
        // A run that ends while nobody looks is measured too long, by a hundredth at most.
        std::thread::sleep((so_far / 100).clamp(SHORTEST_PAUSE, LONGEST_PAUSE));
    }
    Ok(true)
}

impl Run {
    fn answers(&self) -> bool {
        matches!(self.verdict.as_str(), "holds" | "violated")
    }

    fn line(&self, date: &str, commit: Option<&str>) -> Value {
        json!({
            "date": date,
            "commit": commit,
            "instance": self.instance,
            "engine": self.engine,
            "verdict": self.verdict,
            "expected": self.expected,
            "milliseconds": (self.milliseconds * 10.0).round() / 10.0,
            "peak_bytes": self.peak_bytes,
            "counters": self.counters,
        })
    }

    fn row(&self) -> String {
        let counter =
            |(name, value): (&String, &Value)| (!name.ends_with("_us")).then(|| format!("{name} {value}"));
        let counters: Vec<String> =
            self.counters.as_object().into_iter().flatten().filter_map(counter).collect();
        format!(
            "{:<24} {:<17} {:<9} {:>10.1} {:>10.1} {}",
            self.instance,
            self.engine,
            self.verdict,
            self.milliseconds,
            self.peak_bytes as f64 / 1e6,
            counters.join(", ")
        )
    }

    /// What is wrong with the verdict. Not to know in time is no error.
    fn complaint(&self) -> Option<String> {
        let wrong = match (self.verdict.as_str(), self.expected) {
            ("unknown", _) => false,
            ("died" | "overran", _) => true,
            (verdict, Some(expected)) => verdict != expected,
            (_, None) => false,
        };
        let expected = self.expected.unwrap_or("anything but that");
        wrong
            .then(|| format!("{}: {} says {}, expected {expected}", self.instance, self.engine, self.verdict))
    }
}

/// The commit that is measured, if this is a clone.
fn commit(root: &Path) -> Option<String> {
    let output =
        Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root).output().ok()?;
    let name = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !name.is_empty()).then_some(name)
}

/// The day of a time in seconds since 1970, as YYYY-MM-DD.
///
/// # Paper
/// Richards, Mapping Time, Algorithm F, with eras of 400 years that begin in March: a leap day is the last of its year.
fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = 400 * era + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use postbop_engine::fixpoint::library::LIBRARY;

    #[test]
    fn days_have_their_names() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(951_868_800), "2000-03-01");
        assert_eq!(date(4_107_542_399), "2100-02-28");
        assert_eq!(date(4_107_542_400), "2100-03-01");
        assert_eq!(date(1_767_225_599), "2025-12-31");
    }

    fn plan(filter: Option<&str>, engine: Option<&str>) -> Plan {
        Plan {
            filter: filter.map(str::to_owned),
            engines: engine.into_iter().map(str::to_owned).collect(),
            timeout: 30,
            out: None,
            peers: false,
            repeat: 1,
            before: None,
            validate: false,
        }
    }

    #[test]
    fn every_instance_exists() {
        let count = INSTANCES.len() + NOISY.len() + UNBOUNDED.len();
        assert_eq!(trials(&plan(None, None)).unwrap().len(), count);
        assert!(trials(&plan(Some("nosuch"), None)).is_err());
        assert!(trials(&plan(Some("quicksort"), None)).unwrap().len() >= 4);
    }

    #[test]
    fn unbounded_integers_are_measured_where_they_are_understood() {
        let asked = |engine| trials(&plan(Some("mccarthy"), engine)).map(|trials| trials[0].engines.clone());
        assert_eq!(asked(None).unwrap(), ["weighted", "auto"]);
        assert!(asked(Some("summary")).is_err());
    }

    #[test]
    fn noise_is_measured_briefly() {
        for trial in trials(&plan(Some("scope"), None)).unwrap() {
            assert_eq!(trial.timeout, NOISY_TIMEOUT);
            assert!(trial.engines.iter().any(|engine| engine == "auto") && trial.engines.len() > 1);
            assert!(trial.engines.iter().all(|engine| !engine.starts_with("fixpoint")));
        }
        for trial in trials(&plan(Some("scope"), Some("fixpoint:ef"))).unwrap() {
            assert_eq!(trial.engines, ["fixpoint:ef"]);
        }
    }

    #[test]
    fn algorithms_stand_beside_engines() {
        let named = |engine: Option<&str>| engines(&plan(None, engine));
        let modes = named(Some("sat")).unwrap();
        assert_eq!(modes, ["sat", "sat:qbf", "sat:universal"]);
        // All engines and `auto`, with one mode of `sat`.
        assert_eq!(named(None).unwrap().len(), postbop_engine::engines().len() + 2 - modes.len());
        assert_eq!(named(Some("fixpoint")).unwrap().len(), LIBRARY.len());
        assert_eq!(named(Some("fixpoint:ef")).unwrap(), ["fixpoint:ef"]);
        assert!(named(Some("ef")).is_err() && named(Some("fixpoint:nosuch")).is_err());
    }

    fn run_of(engine: &str, verdict: &str, milliseconds: f64) -> Run {
        Run {
            instance: "T-1".into(),
            engine: engine.into(),
            verdict: verdict.into(),
            expected: None,
            milliseconds,
            peak_bytes: 0,
            counters: Value::Null,
        }
    }

    #[test]
    fn answers_that_differ_are_complained_of() {
        let with = |theirs| [run_of("sat", "holds", 1.0), run_of(peers::NAME, theirs, 2.0)];
        assert_eq!(difference(&with("holds")), None);
        assert_eq!(difference(&with("unknown")), None);
        let complaint = difference(&with("violated")).unwrap();
        assert_eq!(complaint, "T-1: answers differ: sat holds, z3:spacer violated");
    }

    #[test]
    fn the_fastest_answer_is_set_beside_that_of_the_peer() {
        let trial = &trials(&plan(Some("scope"), None)).unwrap()[0];
        let mut runs = vec![run_of("explicit", "unknown", 1.0), run_of("summary", "holds", 9.0)];
        runs.extend([run_of("sat", "holds", 3.0), run_of(peers::NAME, "holds", 2.0)]);
        let pairing = pairing(trial, &runs);
        assert_eq!((pairing.ours, pairing.theirs), (Some(("sat".to_owned(), 3.0)), Some(2.0)));
        assert_eq!(pairing.limit, 5_000.0);
    }

    #[test]
    fn only_wrong_verdicts_are_complained_of() {
        let run = |verdict: &str, expected| Run { expected, ..run_of("explicit", verdict, 0.0) };
        for (verdict, expected) in [("holds", Some("holds")), ("unknown", Some("holds")), ("holds", None)] {
            assert_eq!(run(verdict, expected).complaint(), None);
        }
        for (verdict, expected) in [("holds", Some("violated")), ("died", None), ("overran", Some("holds"))] {
            assert!(run(verdict, expected).complaint().is_some());
        }
    }
}
