//! Room `cli/report`: the report of a check for people.

use super::json::{overall, status};
use super::{Subject, lanes, story};
use crate::args::Detail;
use postbop_engine::{Stats, Verdict, Why};
use postbop_ir::interleave::Schedule;
use std::fmt::Write;

/// Runs longer than this come with a hint.
const LONG: u128 = 60;

/// The report of a check. Its last line is the verdict.
pub fn report(subject: &Subject, detail: Detail, shortest: bool) -> String {
    let Subject { input, program, targets, report, threads } = *subject;
    let bound = bound(report.bound, threads);
    let mut out = String::new();
    let width = targets.iter().map(|target| target.name.chars().count()).max().unwrap_or(0).min(40);
    for ((target, verdict), changes) in targets.iter().zip(&report.verdicts).zip(&report.changes) {
        let name = &target.name;
        let _ = match verdict {
            Verdict::Violated(trace) => {
                let length = trace.length();
                let s = if length == 1 { "" } else { "s" };
                writeln!(out, "{name:<width$}  violated by a run of {length} step{s}")
            }
            Verdict::Interleaved(run) => {
                writeln!(out, "{name:<width$}  violated by a run with {}", switches(run.switches()))
            }
            Verdict::Unknown(why) => writeln!(out, "{name:<width$}  unknown: {why}"),
            Verdict::Holds => writeln!(out, "{name:<width$}  holds{bound}"),
        };
        let (story, length) = match verdict {
            _ if detail == Detail::None => continue,
            Verdict::Violated(trace) => (story::tell(input, program, trace, changes, detail), trace.length()),
            Verdict::Interleaved(run) => (lanes::tell(input, program, run, detail), 0),
            Verdict::Holds | Verdict::Unknown(_) => continue,
        };
        let _ = writeln!(out, "\n{story}        {name} is reached\n");
        if !shortest && length > LONG {
            out.push_str(
                "        There may be a shorter run: `--shortest` finds one of the least length.\n\n",
            );
        }
    }
    if targets.is_empty() {
        out.push_str("There is nothing to check: no assertion, and no label ERROR or SLIC_ERROR.\n");
        out.push_str(
            "`--target LABEL` asks whether a label can be reached; `postbop list` shows the labels.\n\n",
        );
    }
    if let Some(count) = threads {
        let s = if count == 1 { "" } else { "s" };
        let _ = writeln!(
            out,
            "The program may start more than {count} thread{s}, and runs that do were left out: `--threads N` makes room for N.\n"
        );
    }
    let _ = match reason(&report.verdicts) {
        Some(why) => writeln!(out, "VERDICT: unknown ({why})"),
        None => {
            let verdict = overall(&report.verdicts);
            let bound = if verdict == "holds" { &bound } else { "" };
            writeln!(out, "VERDICT: {verdict}{bound}")
        }
    };
    out
}

/// How far a verdict goes.
fn bound(schedule: Option<Schedule>, threads: Option<usize>) -> String {
    let schedule = schedule.map(|schedule| match schedule {
        Schedule::Switches(count) => switches(count as usize),
        Schedule::Rounds(1) => "1 round".into(),
        Schedule::Rounds(count) => format!("{count} rounds"),
    });
    let threads = threads.map(|count| format!("{count} thread{}", if count == 1 { "" } else { "s" }));
    let bounds: Vec<String> = schedule.into_iter().chain(threads).collect();
    if bounds.is_empty() { String::new() } else { format!(" up to {}", bounds.join(" and ")) }
}

fn switches(count: usize) -> String {
    format!("{count} context switch{}", if count == 1 { "" } else { "es" })
}

/// Why the verdict on all properties is unknown, if it is.
fn reason(verdicts: &[Verdict]) -> Option<&Why> {
    if verdicts.iter().any(|verdict| status(verdict) == "violated") {
        return None;
    }
    verdicts.iter().find_map(|verdict| match verdict {
        Verdict::Unknown(why) => Some(why),
        _ => None,
    })
}

/// The counters of a run.
pub fn stats(engine: &str, stats: &Stats) -> String {
    let mut out = format!("engine        {engine}\n");
    for (name, value) in stats {
        let _ = writeln!(out, "{name:<12}  {value}");
    }
    out
}
