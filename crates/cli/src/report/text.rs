//! Room `cli/report`: the report of a check for people.

use super::json::{overall, status};
use super::story;
use crate::args::Detail;
use crate::input::Input;
use postbop_engine::{Report, Stats, Verdict, Why};
use postbop_ir::interleave::Schedule;
use postbop_ir::{Program, Target};
use std::fmt::Write;

/// Runs longer than this come with a hint.
const LONG: u128 = 60;

/// The report of a check. Its last line is the verdict.
pub fn report(
    input: &Input,
    program: &Program,
    targets: &[Target],
    report: &Report,
    detail: Detail,
    shortest: bool,
) -> String {
    let mut out = String::new();
    let width = targets.iter().map(|target| target.name.chars().count()).max().unwrap_or(0).min(40);
    for (target, verdict) in targets.iter().zip(&report.verdicts) {
        let name = &target.name;
        let _ = match verdict {
            Verdict::Violated(trace) => {
                let length = trace.length();
                let s = if length == 1 { "" } else { "s" };
                writeln!(out, "{name:<width$}  violated by a run of {length} step{s}")
            }
            Verdict::Interleaved(run) => {
                let switches = run.switches();
                let s = if switches == 1 { "" } else { "es" };
                writeln!(out, "{name:<width$}  violated by a run with {switches} context switch{s}")
            }
            Verdict::Unknown(why) => writeln!(out, "{name:<width$}  unknown: {why}"),
            Verdict::Holds => writeln!(out, "{name:<width$}  holds{}", bound(report.bound)),
        };
        if let (Verdict::Violated(trace), false) = (verdict, detail == Detail::None) {
            out.push('\n');
            out.push_str(&story::tell(input, program, trace, detail));
            let _ = writeln!(out, "        {name} is reached\n");
            if !shortest && trace.length() > LONG {
                out.push_str(
                    "        There may be a shorter run: `--shortest` finds one of the least length.\n\n",
                );
            }
        }
    }
    if targets.is_empty() {
        out.push_str("There is nothing to check: no assertion, and no label ERROR or SLIC_ERROR.\n");
        out.push_str(
            "`--target LABEL` asks whether a label can be reached; `postbop list` shows the labels.\n\n",
        );
    }
    let _ = match reason(&report.verdicts) {
        Some(why) => writeln!(out, "VERDICT: unknown ({why})"),
        None => {
            let verdict = overall(&report.verdicts);
            let bound = if verdict == "holds" { bound(report.bound) } else { String::new() };
            writeln!(out, "VERDICT: {verdict}{bound}")
        }
    };
    out
}

/// How far a verdict goes.
fn bound(schedule: Option<Schedule>) -> String {
    match schedule {
        None => String::new(),
        Some(Schedule::Switches(1)) => " up to 1 context switch".into(),
        Some(Schedule::Switches(count)) => format!(" up to {count} context switches"),
        Some(Schedule::Rounds(1)) => " up to 1 round".into(),
        Some(Schedule::Rounds(count)) => format!(" up to {count} rounds"),
    }
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
