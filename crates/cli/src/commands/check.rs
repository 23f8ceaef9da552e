//! Room `cli/commands`: `postbop check`.

use crate::args::{Check, Detail, Format, Question};
use crate::input::{self, Input};
use crate::report::{Subject, json, text};
use crate::stack::deep;
use crate::{ALLOCATOR, Said, Status, properties};
use indicatif::{ProgressBar, ProgressStyle};
use postbop_engine::fixpoint::library::algorithm;
use postbop_engine::{Budget, Choice, Observer, Progress, Report, Verdict, Why, verify, verify_threads};
use postbop_ir::interleave::Schedule;
use postbop_ir::program::THREAD_LIMIT;
use postbop_ir::{Expr, Program, Target, Task};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

/// Decides the properties of a program.
pub fn run(args: &Check, said: &mut Said) -> Status {
    let start = Instant::now();
    let budget = budget(&args.question);
    let input = match input::read(&args.source, said) {
        Ok(input) => input,
        Err(status) => return status,
    };
    super::unused::warn(args, &input, said);
    let read = start.elapsed();
    let program = &input.program;
    let targets = match properties::targets(&input, program, &args.question.target) {
        Ok(targets) => targets,
        Err(message) => {
            said.err.push_str(&format!("error: {}: {message}\n", input.name));
            return Status::BadInput;
        }
    };
    let task = Task { program, targets: &targets, shortest: args.shortest };
    let choice = match choice(args) {
        Ok(choice) => choice,
        Err(message) => {
            said.err.push_str(&format!("error: {message}\n"));
            return Status::BadInput;
        }
    };
    let mut report = answer(&task, choice, schedule(args), &budget);
    report.stats.push(("read_us".into(), read.as_micros() as u64));
    report.stats.push(("total_us".into(), start.elapsed().as_micros() as u64));
    report.stats.push(("peak_bytes".into(), peak()));
    let threads = thread_bound(&input, &report, choice, &budget);
    tell(&Subject { input: &input, program, targets: &targets, report: &report, threads }, args, said);
    let status = status(&report.verdicts);
    if status == Status::Bug {
        said.err.push_str(&keep(program, &std::env::current_dir().unwrap_or_default()));
    }
    if args.more.is_empty() {
        // The process ends here. Its memory goes back at once, not piece by piece.
        std::mem::forget((input, report));
    }
    status
}

/// Which engine is to answer.
fn choice(args: &Check) -> Result<Choice<'_>, String> {
    match (args.engine.as_str(), &args.algorithm) {
        ("auto", None) => Ok(Choice::Auto),
        (name, None) => Ok(Choice::Named(name)),
        ("auto" | "fixpoint", Some(name)) => {
            algorithm(name).map(Choice::Algorithm).ok_or(format!("there is no algorithm `{name}`"))
        }
        (name, Some(_)) => Err(format!("--algorithm is for --engine fixpoint, not for `{name}`")),
    }
}

/// Keeps the program that showed a bug of ours, so that it can be reported; says where.
fn keep(program: &Program, folder: &Path) -> String {
    let path = folder.join(format!("postbop-bug-{}.ir", json::fingerprint(program)));
    match std::fs::write(&path, postbop_ir::text::print(program)) {
        Ok(()) => format!("postbop: this is a bug in postbop; please report it with {}\n", path.display()),
        Err(error) => {
            format!("postbop: this is a bug in postbop; {} could not be written: {error}\n", path.display())
        }
    }
}

/// Decision diagrams are walked as deep as they have levels. Where these may be many, the work gets a deep stack; it
/// would cost the others time, since a thread's memory is managed apart.
fn answer(task: &Task, choice: Choice, schedule: Option<Schedule>, budget: &Budget) -> Report {
    let mut spinner = Spinner::new();
    on_deep_stack(task.program, move || match task.program.is_sequential() {
        true => verify(task, choice, budget, &mut spinner),
        false => verify_threads(task, schedule, choice, budget, &mut spinner),
    })
}

/// The schedule that threads are bound to.
fn schedule(args: &Check) -> Option<Schedule> {
    args.switches.map(Schedule::Switches).or(args.rounds.map(Schedule::Rounds))
}

/// Does the work on a stack as deep as the program's diagrams may need.
fn on_deep_stack<T: Send>(program: &Program, work: impl FnOnce() -> T + Send) -> T {
    const MANY: usize = 2_000;
    let choices = program.edges.iter().map(|edge| edge.action.exprs().flat_map(Expr::choices).count());
    let locals = program.procs.iter().map(|proc| proc.locals.len());
    let most = program.globals().count() + locals.max().unwrap_or(0) + choices.max().unwrap_or(0);
    let width = if program.vars.iter().any(|var| var.ty.is_integer()) { 64 } else { 1 };
    if most * width < MANY {
        return work();
    }
    deep(work)
}

/// For how many threads there is room, if what holds may not hold with more: a run within the same schedule that would
/// start one more comes to a label that is there for this question.
fn thread_bound(input: &Input, report: &Report, choice: Choice, budget: &Budget) -> Option<usize> {
    let bound = input.thread_bound?;
    if !report.verdicts.contains(&Verdict::Holds) {
        return None;
    }
    let program = &input.program;
    let limit = program.labels.iter().filter(|label| label.name == THREAD_LIMIT).map(|label| label.loc);
    let targets = [Target { name: THREAD_LIMIT.into(), locs: limit.collect() }];
    // Shortest, because few switches are enough as a rule.
    let task = Task { program, targets: &targets, shortest: true };
    let asked = answer(&task, choice, report.bound, budget);
    let never = asked.verdicts == [Verdict::Holds] && asked.bound == report.bound;
    (!never).then_some(bound)
}

fn tell(subject: &Subject, args: &Check, said: &mut Said) {
    match args.format {
        Format::Json => {
            let value = json::report(subject, args.trace != Detail::None);
            said.out.push_str(&format!("{value}\n"));
        }
        Format::Human => {
            if args.question.stats {
                said.out.push_str(&text::stats(subject.report.engine, &subject.report.stats));
                said.out.push('\n');
            }
            said.out.push_str(&text::report(subject, args.trace, args.shortest));
        }
    }
}

fn status(verdicts: &[Verdict]) -> Status {
    if verdicts.iter().any(|verdict| matches!(verdict, Verdict::Unknown(Why::EngineBug(_)))) {
        return Status::Bug;
    }
    match json::overall(verdicts) {
        "violated" => Status::Violated,
        "unknown" => Status::Unknown,
        _ => Status::Good,
    }
}

/// The budget that was asked for; Ctrl-C calls the work off.
pub fn budget(args: &Question) -> Budget {
    // One for all files that are checked: there is one handler, which outlives them.
    static CANCELLED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
    let cancelled = Arc::clone(&CANCELLED);
    let flag = Arc::clone(&cancelled);
    // The first Ctrl-C asks politely; the second is for a program that does not listen.
    let handler = move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    let _ = ctrlc::set_handler(handler);
    let budget = Budget::unlimited().with_cancel(cancelled);
    let budget = budget.with_memory(args.memory, used);
    match args.timeout {
        Some(limit) => budget.with_time(limit),
        None => budget,
    }
}

/// The most memory that was in use whenever somebody looked.
static PEAK: AtomicU64 = AtomicU64::new(0);

/// The memory in use.
fn used() -> u64 {
    let now = ALLOCATOR.allocated() as u64;
    PEAK.fetch_max(now, Ordering::Relaxed);
    now
}

fn peak() -> u64 {
    used();
    PEAK.load(Ordering::Relaxed)
}

/// Progress on a terminal, and nowhere else.
struct Spinner(Option<ProgressBar>);

impl Spinner {
    fn new() -> Self {
        let terminal = std::io::stderr().is_terminal();
        Spinner(terminal.then(|| {
            let style = ProgressStyle::with_template("{spinner} {elapsed} {msg}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
            ProgressBar::new_spinner().with_style(style)
        }))
    }
}

impl Observer for Spinner {
    fn progress(&mut self, progress: Progress) {
        if let Some(bar) = &self.0 {
            bar.set_message(format!("{} {}", progress.done, progress.unit));
            bar.tick();
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shows_a_bug_is_kept_as_a_graph() {
        let reading = postbop_front::read(b"decl x; void main() begin assert(x); end", Default::default());
        let program = reading.program.expect("it is correct");
        let said = keep(&program, &std::env::temp_dir());
        let path = said.split_whitespace().last().expect("it names the file");
        let kept = std::fs::read_to_string(path).expect("the file is there");
        assert_eq!(postbop_ir::text::parse(&kept), Ok(program));
        std::fs::remove_file(path).expect("it can be removed");
        assert!(
            keep(&postbop_ir::text::parse(&kept).unwrap(), Path::new("no such folder")).contains("could not")
        );
    }
}
