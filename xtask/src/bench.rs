//! Room `xtask`: benchmark families measured, and kept.
//!
//! Each instance is given to the binary in a process of its own, once per engine, so that peak memory is that of the
//! run and a run that dies takes nothing with it. Each run is a JSON line in `bench/results/DATE.jsonl`, with the
//! commit it measured: the file only grows, and two dates can be compared. A verdict other than the one the family's
//! construction promises, or two engines that differ, is a failure: a fast wrong answer is no measurement.

use crate::family::{self, Instance};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long after its time limit a run may take to say so.
const GRACE: Duration = Duration::from_secs(10);

/// What is measured: families and parameters, easy ones first.
const INSTANCES: &[(&str, &[u64])] = &[
    ("T", &[800]),
    ("T", &[5_000]),
    ("T", &[20_000]),
    ("Tsafe", &[800]),
    ("Tsafe", &[5_000]),
    ("Tsafe", &[20_000]),
    ("locks", &[100]),
    ("locks-bug", &[100]),
    ("open", &[60, 3]),
    ("deep", &[1_000]),
    ("deep", &[100_000]),
    ("deep-safe", &[1_000]),
    ("deep-safe", &[100_000]),
    ("quicksort", &[4]),
    ("quicksort", &[8]),
    ("quicksort", &[16]),
    ("quicksort", &[32]),
    ("driver", &[2, 100, 10, 12]),
    ("driver", &[5, 600, 10, 12]),
    ("driver", &[4, 300, 16, 16]),
    ("wide", &[1, 8, 3]),
    ("wide", &[1, 16, 3]),
    ("term", &[2, 30]),
    ("term", &[2, 36]),
    ("term", &[4, 20]),
    ("term", &[4, 40]),
    ("ident", &[60]),
    ("ident-bug", &[60]),
    ("swapret", &[60]),
    ("swapret-bug", &[60]),
    ("recpass", &[60]),
    ("recpass-bug", &[60]),
    ("getters", &[60]),
    ("getters-bug", &[60]),
    ("pairs", &[60]),
    ("pairs-bug", &[60]),
    ("restore", &[60]),
    ("restore-bug", &[60]),
    ("chain", &[50, 60]),
    ("chain-bug", &[50, 60]),
    ("faraway", &[60, 60]),
    ("faraway-bug", &[60, 60]),
    ("reverse", &[60]),
    ("reverse-bug", &[60]),
    ("permute", &[60]),
    ("permute-bug", &[60]),
    ("havoc", &[60]),
    ("havoc-bug", &[60]),
    ("choosy", &[60]),
    ("choosy-bug", &[60]),
    ("adder", &[60]),
    ("adder-bug", &[60]),
    ("privates", &[1_000]),
    ("privates-bug", &[1_000]),
    ("counter", &[18]),
    ("counter-safe", &[18]),
];

/// What to measure, and how.
#[derive(Debug)]
pub struct Plan {
    /// Only instances whose name contains this.
    pub filter: Option<String>,
    /// Only this engine, or one algorithm of it, as in `fixpoint:ef`.
    pub engine: Option<String>,
    /// Seconds for each run.
    pub timeout: u64,
    /// Where the lines go, instead of the dated file.
    pub out: Option<PathBuf>,
}

/// One measured run.
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
    println!("{:<22} {:<17} {:<9} {:>10} {:>10} counters", "instance", "engine", "verdict", "ms", "MB");
    for instance in instances(plan)? {
        let mut verdicts: Vec<String> = Vec::new();
        for engine in engines(plan)? {
            let run = measure(&instance, &engine, binary, plan.timeout)?;
            println!("{}", run.row());
            let line = run.line(&date, commit.as_deref());
            writeln!(file, "{line}").map_err(|problem| format!("{}: {problem}", out.display()))?;
            wrong.extend(run.complaint());
            verdicts.extend(matches!(run.verdict.as_str(), "holds" | "violated").then_some(run.verdict));
        }
        if verdicts.windows(2).any(|pair| pair[0] != pair[1]) {
            wrong.push(format!("{}: engines differ: {}", instance.name, verdicts.join(", ")));
        }
    }
    println!("kept in {}", out.display());
    Ok(wrong)
}

fn instances(plan: &Plan) -> Result<Vec<Instance>, String> {
    let all: Result<Vec<Instance>, String> =
        INSTANCES.iter().map(|(name, parameters)| family::instance(name, parameters)).collect();
    let wanted = |instance: &Instance| plan.filter.as_ref().is_none_or(|part| instance.name.contains(part));
    let chosen: Vec<Instance> = all?.into_iter().filter(wanted).collect();
    if chosen.is_empty() { Err("no instance has such a name".into()) } else { Ok(chosen) }
}

/// The engines to compare, and `auto`.
fn engines(plan: &Plan) -> Result<Vec<String>, String> {
    let names =
        postbop_engine::engines().iter().map(|engine| engine.name()).chain(["auto"]).map(str::to_owned);
    let is_wanted = |name: &String| match &plan.engine {
        Some(wanted) => name == wanted || name.split(':').next() == Some(wanted),
        None => true,
    };
    let chosen: Vec<String> = names.filter(is_wanted).collect();
    if chosen.is_empty() { Err("there is no such engine".into()) } else { Ok(chosen) }
}

/// Runs the binary on an instance, in a folder of its own.
fn measure(instance: &Instance, engine: &str, binary: &Path, timeout: u64) -> Result<Run, String> {
    let folder = std::env::temp_dir().join(format!("postbop-bench-{}", std::process::id()));
    let problem = |problem: std::io::Error| format!("{}: {problem}", folder.display());
    std::fs::create_dir_all(&folder).map_err(problem)?;
    let (source, said) = (folder.join("program.bp"), folder.join("report.json"));
    std::fs::write(&source, &instance.source).map_err(problem)?;
    let mut command = Command::new(binary);
    command
        .arg("check")
        .arg(&source)
        .args(["--target", instance.target, "--engine", engine, "--timeout", &format!("{timeout}s")])
        // Writing a long trace down is no part of finding it.
        .args(["--format", "json", "--trace", "none"])
        .stdout(std::fs::File::create(&said).map_err(problem)?)
        .stderr(Stdio::null());
    let start = Instant::now();
    let ended = wait(&mut command, Duration::from_secs(timeout) + GRACE)?;
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    let report = std::fs::read(&said).map_err(problem)?;
    std::fs::remove_dir_all(&folder).map_err(problem)?;
    let report: Value = serde_json::from_slice(&report).unwrap_or(Value::Null);
    let mut counters = report["stats"].clone();
    let peak = counters.as_object_mut().and_then(|counters| counters.remove("peak_bytes"));
    let expected = instance.expected.map(|reached| if reached { "violated" } else { "holds" });
    // A run that died said nothing, and one that did not end is not waited for: those are verdicts, too.
    let verdict = report["verdict"].as_str().unwrap_or(if ended { "died" } else { "overran" }).to_owned();
    let peak_bytes = peak.and_then(|peak| peak.as_u64()).unwrap_or(0);
    let engine = engine.to_owned();
    Ok(Run { instance: instance.name.clone(), engine, verdict, expected, milliseconds, peak_bytes, counters })
}

/// Runs a command to its end, or ends it when it takes too long; whether it ended by itself.
fn wait(command: &mut Command, limit: Duration) -> Result<bool, String> {
    let start = Instant::now();
    let problem = |problem: std::io::Error| problem.to_string();
    let mut child = command.spawn().map_err(problem)?;
    while child.try_wait().map_err(problem)?.is_none() {
        if start.elapsed() > limit {
            child.kill().and_then(|()| child.wait()).map_err(problem)?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(true)
}

impl Run {
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
            "{:<22} {:<17} {:<9} {:>10.1} {:>10.1} {}",
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

    #[test]
    fn every_instance_exists() {
        let plan = |filter: Option<&str>| Plan {
            filter: filter.map(str::to_owned),
            engine: None,
            timeout: 1,
            out: None,
        };
        assert_eq!(instances(&plan(None)).unwrap().len(), INSTANCES.len());
        assert!(instances(&plan(Some("nosuch"))).is_err());
        assert!(instances(&plan(Some("quicksort"))).unwrap().len() >= 4);
    }

    #[test]
    fn algorithms_stand_beside_engines() {
        let named = |engine: Option<&str>| {
            engines(&Plan { filter: None, engine: engine.map(str::to_owned), timeout: 1, out: None })
        };
        assert!(named(None).unwrap().starts_with(&["explicit".into(), "summary".into()]));
        assert_eq!(named(Some("fixpoint")).unwrap().len(), LIBRARY.len());
        assert_eq!(named(Some("fixpoint:ef")).unwrap(), ["fixpoint:ef"]);
        assert!(named(Some("ef")).is_err() && named(Some("fixpoint:nosuch")).is_err());
    }

    #[test]
    fn only_wrong_verdicts_are_complained_of() {
        let run = |verdict: &str, expected| Run {
            instance: "T-1".into(),
            engine: "explicit".into(),
            verdict: verdict.into(),
            expected,
            milliseconds: 0.0,
            peak_bytes: 0,
            counters: Value::Null,
        };
        for (verdict, expected) in [("holds", Some("holds")), ("unknown", Some("holds")), ("holds", None)] {
            assert_eq!(run(verdict, expected).complaint(), None);
        }
        for (verdict, expected) in [("holds", Some("violated")), ("died", None), ("overran", Some("holds"))] {
            assert!(run(verdict, expected).complaint().is_some());
        }
    }
}
