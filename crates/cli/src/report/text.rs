//! Room `cli/report`: the report of a check for people.

use super::words::Words;
use super::{overall, status, story};
use crate::args::Detail;
use crate::input::Input;
use postbop_engine::{Answer, Blocked, Stats, Verdict, Why, has_integers};
use postbop_ir::replay::Waiting;
use postbop_ir::{Bound, Length, Program, Schedule, Trace};
use std::fmt::Write;

/// Runs longer than this come with a hint.
const LONG: u64 = 60;

/// How an answer is told.
pub struct Manner<'a> {
    /// The words for the program, if there is a trace to tell.
    pub words: Option<&'a Words<'a>>,
    /// How much of a trace to tell.
    pub detail: Detail,
    /// Whether traces are shortest ones.
    pub shortest: bool,
    /// How wide the names of properties are.
    pub width: usize,
    /// Whether to say which proofs were checked.
    pub validate: bool,
}

/// One answer: a line, and the trace of a violation.
pub fn answer(answer: &Answer, manner: &Manner) -> String {
    let Manner { words, detail, shortest, width, validate } = *manner;
    let name = &answer.query;
    let mut out = format!("{name:<width$}  ");
    let _ = match &answer.verdict {
        Verdict::Violated(trace) if words.is_some() => {
            writeln!(out, "violated by a run {}", words.map(|words| run(words, trace)).unwrap_or_default())
        }
        Verdict::Holds { .. } if validate => {
            let checked = match (answer.checked, answer.checked_translation) {
                (true, _) => "its proof was checked",
                (false, true) => "the proof of its translation was checked",
                (false, false) => "unchecked",
            };
            writeln!(out, "{}; {checked}", says(answer))
        }
        _ => writeln!(out, "{}", says(answer)),
    };
    let (Verdict::Violated(trace), Some(words)) = (&answer.verdict, words) else { return out };
    if detail == Detail::None {
        return out;
    }
    let story = story::tell(words, trace, &answer.changes, detail);
    let waiting = words.waiting(name, trace);
    if waiting.is_none() {
        let failing = words.failing(name, trace);
        let gap = if failing.is_empty() { "" } else { "\n" };
        let _ = write!(out, "{gap}{failing}");
    }
    let _ = match trace.repeats {
        Some(_) => writeln!(out, "\n{story}"),
        None => match waiting {
            Some(waiting) => writeln!(out, "\n{story}{}", stuck(words, &waiting)),
            None => writeln!(out, "\n{story}        {name} is reached\n"),
        },
    };
    if trace.repeats.is_none()
        && !shortest
        && words.program.is_sequential()
        && trace.length() > Length::from(LONG)
    {
        out.push_str("        There may be a shorter run: `--shortest` finds one of the least length.\n\n");
    }
    out
}

/// A verdict on one line, without the run that shows it.
pub fn says(answer: &Answer) -> String {
    match &answer.verdict {
        Verdict::Holds { within, .. } => {
            let vacuous = if answer.vacuous == Some(true) { VACUOUS } else { "" };
            format!("holds{}{vacuous}", up_to(*within))
        }
        Verdict::Unknown(why) => format!("unknown: {}", unknown(why, answer.explored)),
        Verdict::Violated(_) => "violated".into(),
    }
}

/// How far the work was when a limit ended it, as a line of its own; nothing if it was not ended by a limit.
pub fn far(answer: &Answer, far: &str) -> String {
    match &answer.verdict {
        Verdict::Unknown(Why::Time(_) | Why::Memory(_) | Why::Cancelled) if !far.is_empty() => {
            format!("        so far: {far}\n")
        }
        _ => String::new(),
    }
}

/// What to try where there is no answer, as a line of its own; nothing if there is one.
pub fn advice(answer: &Answer, engine: &str, program: &Program) -> String {
    let Verdict::Unknown(why) = &answer.verdict else { return String::new() };
    let other = match engine {
        "auto" if has_integers(program) => {
            "give the integers a width, as in `int<16>`: then other engines take the program"
        }
        "auto" => "name one engine with `--engine`, such as `summary` or `sat`",
        _ => "let `--engine auto` choose, or name another engine",
    };
    let fewer = if answer.explored.is_some() { "; `--switches K` asks about fewer runs" } else { "" };
    let text = match why {
        Why::Time(_) => format!("give it more time with `--timeout`, or {other}{fewer}"),
        Why::Memory(_) => format!("allow more with `--memory`, or {other}{fewer}"),
        Why::Cancelled => {
            format!("it was interrupted before it was done; `--timeout` sets a limit beforehand{fewer}")
        }
        Why::Effort => other.to_owned(),
        Why::First => "leave out `--first` to get an answer for every property".to_owned(),
        Why::Unsupported(_) if engine == "auto" => return String::new(),
        Why::Unsupported(_) => {
            "`--engine auto` chooses an engine that takes such a program, if there is one".to_owned()
        }
        Why::EngineBug(_) => "please report it, with the file that was kept".to_owned(),
    };
    format!("        try: {text}\n")
}

/// Which threads wait at the end of a run that gets stuck, and where.
fn stuck(words: &Words, waiting: &[Waiting]) -> String {
    let mut out = match words.program.is_sequential() {
        true => "        the run cannot go on\n".to_owned(),
        false => "        no thread can go on\n".to_owned(),
    };
    for at in waiting {
        let (line, text) = words.statement(at.loc);
        let line = line.map(|line| line.to_string()).unwrap_or_default();
        let _ = match words.name_of(at.thread).filter(|_| !words.program.is_sequential()) {
            Some(name) => writeln!(out, "{line:>6}    {name} waits: {text}"),
            None => writeln!(out, "{line:>6}    {text}"),
        };
    }
    out
}

/// What is said of a vacuous property.
const VACUOUS: &str = " (vacuously: no run comes here)";

/// The assumptions that no run gets past, of those that a run may come to: why properties are vacuous.
pub fn blocked(blocked: &[Blocked], input: &Input) -> String {
    let mut out = String::new();
    for Blocked { edge, .. } in blocked.iter().filter(|blocked| blocked.reached != Some(false)) {
        if out.is_empty() {
            out.push_str("\nNo run gets past\n");
        }
        let text = input.statement(&input.program, *edge);
        let line = match input.text().is_empty() {
            true => String::new(),
            false => input.position(input.program.edges()[*edge].span).0.to_string(),
        };
        let _ = writeln!(out, "{line:>6}    {text}");
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// How long a run is.
pub fn run(words: &Words, trace: &Trace) -> String {
    if !words.program.is_sequential() {
        return format!("with {}", switches(trace.switches()));
    }
    if trace.repeats.is_some() {
        return "that goes on for ever".into();
    }
    let length = trace.length();
    let s = if length == Length::from(1) { "" } else { "s" };
    format!("of {} step{s}", told(&length))
}

/// A number that people can read: exact if it is short.
pub fn told(length: &Length) -> String {
    const SHORT: usize = 24;
    let digits = length.to_string();
    match digits.len() {
        ..=SHORT => digits,
        len => format!("about {}.{} · 10^{}", &digits[..1], &digits[1..3], len - 1),
    }
}

/// Why there is no answer, and how far the search got.
fn unknown(why: &Why, explored: Option<Bound>) -> String {
    match explored {
        Some(bound) => format!("{why}; no violation{}", up_to(bound)),
        None => why.to_string(),
    }
}

/// How far a verdict goes.
fn up_to(Bound { schedule, threads }: Bound) -> String {
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

/// What a solver of Horn clauses says: they have a model if false cannot be derived.
pub fn satisfiable(answers: &[Answer]) -> &'static str {
    match overall(answers.iter().map(|answer| &answer.verdict)) {
        "holds" => "sat\n",
        "violated" => "unsat\n",
        _ => "unknown\n",
    }
}

/// What is said at the end: notes, and the verdict on all properties.
pub fn verdict(answers: &[Answer]) -> String {
    let mut out = String::new();
    if answers.is_empty() {
        out.push_str("There is nothing to check: no assertion, and no label ERROR or SLIC_ERROR.\n\n");
    }
    let room = answers.iter().find_map(|answer| match answer.verdict {
        Verdict::Holds { within, .. } => within.threads,
        _ => None,
    });
    if let Some(count) = room {
        let s = if count == 1 { "" } else { "s" };
        let _ = writeln!(
            out,
            "The program may start more than {count} thread{s}, and runs that do were left out: `--threads N` makes room for N.\n"
        );
    }
    let word = overall(answers.iter().map(|answer| &answer.verdict));
    let rest = match word {
        "unknown" => reason(answers).map(|why| format!(" ({why})")).unwrap_or_default(),
        "holds" => common_bound(answers).map(up_to).unwrap_or_default(),
        _ => String::new(),
    };
    let _ = writeln!(out, "VERDICT: {word}{rest}");
    out
}

/// The bound that all properties that hold have, if it is one: the tightest of those that differ.
pub fn common_bound(answers: &[Answer]) -> Option<Bound> {
    let bounds = answers.iter().filter_map(|answer| match answer.verdict {
        Verdict::Holds { within, .. } => Some(within),
        _ => None,
    });
    bounds.reduce(|one, other| Bound {
        schedule: tighter(one.schedule, other.schedule),
        threads: one.threads.into_iter().chain(other.threads).min(),
    })
}

fn tighter(one: Option<Schedule>, other: Option<Schedule>) -> Option<Schedule> {
    match (one, other) {
        (Some(Schedule::Switches(one)), Some(Schedule::Switches(other))) => {
            Some(Schedule::Switches(one.min(other)))
        }
        (Some(Schedule::Rounds(one)), Some(Schedule::Rounds(other))) => {
            Some(Schedule::Rounds(one.min(other)))
        }
        (one, other) => one.or(other),
    }
}

/// Why the verdict on all properties is unknown.
fn reason(answers: &[Answer]) -> Option<String> {
    let of = |answer: &Answer| match &answer.verdict {
        Verdict::Unknown(why) => Some(unknown(why, answer.explored)),
        _ => None,
    };
    let unknowns = answers.iter().filter(|answer| status(&answer.verdict) == "unknown").count();
    let first = answers.iter().find_map(of)?;
    // How far the search got may differ from one property to the next.
    let plain = || {
        answers.iter().find_map(|answer| match &answer.verdict {
            Verdict::Unknown(why) => Some(why.to_string()),
            _ => None,
        })
    };
    let same = answers.iter().filter_map(of).all(|other| other == first);
    if unknowns == 1 || same { Some(first) } else { plain() }
}

/// The counters of a run.
pub fn stats(engine: &str, stats: &Stats) -> String {
    let mut out = format!("engine        {engine}\n");
    for (name, value) in stats.iter() {
        let _ = writeln!(out, "{name:<12}  {value}");
    }
    out
}
