//! Room `xtask`: what measured runs come to.
//!
//! Three comparisons are made of runs on the same instances: `auto` with the engines that it chooses from, a binary with
//! an older one, and answers with answers whose proofs were checked. They say which instances are worse than they should be; times that differ by less than a start of a process
//! does are the same.

use super::{BEFORE, Run, VALIDATED};

/// The engines that `auto` chooses from, for programs without unbounded integers.
const CHOSEN_FROM: [&str; 3] = ["explicit", "summary", "sat"];

/// `auto` may take this many times as long as the better of the first two engines, or this many milliseconds longer ...
const OF_TWO: (f64, f64) = (1.3, 20.0);
/// ... and so many times the best of all three, with this many milliseconds added.
const OF_ALL: (f64, f64) = (2.0, 50.0);

/// A binary may be this many times as slow as the one before, or this many milliseconds slower, before it counts as slower.
const SAME: (f64, f64) = (1.05, 2.0);

/// To check a proof may add so many times the time of an answer, and a little more, before it counts as dear.
const DEAR: f64 = 2.0;

/// The time of an engine that answered.
fn time(runs: &[Run], engine: &str) -> Option<f64> {
    runs.iter().find(|run| run.engine == engine && run.answers()).map(|run| run.milliseconds)
}

/// The least time of some engines.
fn best<'e>(runs: &[Run], engines: &[&'e str]) -> Option<(&'e str, f64)> {
    let times = engines.iter().filter_map(|&engine| Some((engine, time(runs, engine)?)));
    times.min_by(|one, other| one.1.total_cmp(&other.1))
}

/// What is too slow about `auto`, if something is.
fn complaint(runs: &[Run]) -> Option<String> {
    let instance = &runs.first()?.instance;
    let row = |(engine, best): (&str, f64), auto: Option<f64>| {
        let auto = auto.map_or("none".to_owned(), |auto| format!("{auto:.1}"));
        format!("{instance:<24} auto {auto:>10} {engine:<10} {best:>10.1}")
    };
    let (all, auto) = (best(runs, &CHOSEN_FROM)?, time(runs, "auto"));
    let Some(took) = auto else { return Some(row(all, None)) };
    let slow_of_two = |&(_, best): &(&str, f64)| took > OF_TWO.0 * best && took > best + OF_TWO.1;
    let two = best(runs, &CHOSEN_FROM[..2]).filter(slow_of_two);
    let three = Some(all).filter(|&(_, best)| took > OF_ALL.0 * best + OF_ALL.1);
    two.or(three).map(|than| row(than, auto))
}

/// Where `auto` is too slow, of all instances on which it and another engine were measured.
pub fn auto(all: &[Vec<Run>]) -> Vec<String> {
    let compared =
        |runs: &&Vec<Run>| runs.iter().any(|run| run.engine == "auto") && best(runs, &CHOSEN_FROM).is_some();
    let compared: Vec<&Vec<Run>> = all.iter().filter(compared).collect();
    if compared.is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<String> = compared.iter().filter_map(|runs| complaint(runs)).collect();
    lines.push(format!("auto is too slow on {} of {} instances", lines.len(), compared.len()));
    lines
}

/// Each run that an older binary made too: before, now, and how many times as fast.
pub fn before(all: &[Vec<Run>]) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut slower, mut factors) = (0, Vec::new());
    for (runs, run) in all.iter().flat_map(|runs| runs.iter().map(move |run| (runs, run))) {
        let Some(before) = time(runs, &format!("{}{BEFORE}", run.engine)).filter(|_| run.answers()) else {
            continue;
        };
        let (now, factor) = (run.milliseconds, before / run.milliseconds);
        let is_slower = now > SAME.0 * before && now > before + SAME.1;
        slower += usize::from(is_slower);
        factors.push(factor);
        let mark = if is_slower { "slower" } else { "" };
        let Run { instance, engine, .. } = run;
        lines.push(format!("{instance:<24} {engine:<17} {before:>10.1} {now:>10.1} {factor:>8.2} {mark}"));
    }
    factors.sort_by(f64::total_cmp);
    if let Some(median) = factors.get(factors.len() / 2) {
        let heading =
            format!("{:<24} {:<17} {:>10} {:>10} {:>8}", "instance", "engine", "before", "now", "times");
        lines.insert(0, heading);
        lines.push(format!(
            "{} runs, {slower} of them slower; in the median {median:.2} times as fast",
            factors.len()
        ));
    }
    lines
}

/// Each property that holds, of which a proof was checked too: how long it took without and with that, and what it adds, in times.
pub fn validated(all: &[Vec<Run>]) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut count, mut dear) = (0, 0);
    for (runs, run) in all.iter().flat_map(|runs| runs.iter().map(move |run| (runs, run))) {
        let name = format!("{}{VALIDATED}", run.engine);
        let validated = runs.iter().find(|other| other.engine == name && other.verdict == "holds");
        let Some(with) = validated.filter(|_| run.verdict == "holds") else { continue };
        let was = with.counters["validate_us"].as_u64().map(|micros| micros as f64 / 1e3);
        let (without, adds) = (run.milliseconds, with.milliseconds - run.milliseconds);
        let is_dear = adds > DEAR * without + SAME.1;
        count += 1;
        dear += usize::from(is_dear);
        let mark = match was {
            None => "no proof",
            Some(_) if is_dear => "dear",
            Some(_) => "",
        };
        let (Run { instance, engine, .. }, factor) = (run, adds / without);
        let check = was.unwrap_or(0.0);
        lines.push(format!(
            "{instance:<24} {engine:<17} {without:>10.1} {:>10.1} {check:>10.1} {factor:>8.2} {mark}",
            with.milliseconds
        ));
    }
    if count > 0 {
        let heading = ["without", "with", "checking"].map(|word| format!("{word:>10}")).join(" ");
        lines.insert(0, format!("{:<24} {:<17} {heading} {:>8}", "instance", "engine", "adds"));
        lines.push(format!("{count} proofs, {dear} of them dear: they add more than {DEAR} times the time"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn runs(times: &[(&str, f64)]) -> Vec<Run> {
        let run = |&(engine, milliseconds): &(&str, f64)| Run {
            instance: "T-1".into(),
            engine: engine.into(),
            verdict: if milliseconds > 0.0 { "holds" } else { "unknown" }.into(),
            expected: None,
            milliseconds,
            peak_bytes: 0,
            counters: Value::Null,
        };
        times.iter().map(run).collect()
    }

    #[test]
    fn auto_is_held_to_the_better_engines() {
        for (times, slow) in [
            ([("explicit", 100.0), ("summary", 200.0), ("auto", 129.0)], false),
            ([("explicit", 100.0), ("summary", 200.0), ("auto", 131.0)], true),
            ([("explicit", 1.0), ("summary", 200.0), ("auto", 20.0)], false),
            ([("explicit", 1.0), ("summary", 0.0), ("auto", 22.0)], true),
            ([("explicit", 0.0), ("sat", 100.0), ("auto", 249.0)], false),
            ([("explicit", 0.0), ("sat", 100.0), ("auto", 251.0)], true),
            ([("explicit", 1000.0), ("sat", 10.0), ("auto", 71.0)], true),
            ([("explicit", 5.0), ("sat", 0.0), ("auto", 0.0)], true),
        ] {
            let lines = auto(&[runs(&times)]);
            assert_eq!(lines.len(), 1 + usize::from(slow), "{times:?}: {lines:?}");
        }
        assert!(auto(&[runs(&[("explicit", 1.0)]), runs(&[("auto", 1.0)])]).is_empty());
    }

    #[test]
    fn binaries_are_compared_run_by_run() {
        let all = [
            runs(&[("summary", 50.0), ("summary, before", 100.0), ("sat", 1.0)]),
            runs(&[("summary", 106.0), ("summary, before", 100.0), ("sat", 0.0), ("sat, before", 9.0)]),
            runs(&[("summary", 3.0), ("summary, before", 2.0)]),
        ];
        let lines = before(&all);
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert!(lines[1].ends_with("2.00 ") && lines[2].ends_with("slower") && lines[3].ends_with("0.67 "));
        assert_eq!(lines[4], "3 runs, 1 of them slower; in the median 0.94 times as fast");
        assert!(before(&all[..0]).is_empty());
    }

    #[test]
    fn what_checking_proofs_adds_is_said_where_there_is_a_proof() {
        let mut all = runs(&[("summary", 10.0), ("summary, validated", 15.0), ("sat", 0.0)]);
        all[1].counters = serde_json::json!({ "validate_us": 4_000 });
        let dear = runs(&[("explicit", 10.0), ("explicit, validated", 40.0)]);
        let lines = validated(&[all, dear]);
        assert!(lines[1].contains("0.50") && !lines[1].contains("no proof"), "{lines:?}");
        assert!(lines[2].contains("3.00") && lines[2].ends_with("no proof"), "{lines:?}");
        assert!(lines[3].starts_with("2 proofs, 1 of them dear"), "{lines:?}");
    }
}
