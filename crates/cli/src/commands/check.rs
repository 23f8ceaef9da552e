//! Room `cli/commands`: `postbop check`.

use super::watched::{self, Translated};
use crate::args::{Check, Cost, Stats};
use crate::guard::Guard;
use crate::input::{Files, Input, options};
use crate::report::html::Page;
use crate::report::overall;
use crate::report::printer::{Printer, Sheet};
use crate::{ALLOCATOR, Output, Status, properties};
use postbop_engine::{Answer, Budget, EngineChoice, Report, Verdict, Why, Wrapped, verify};
use postbop_ir::text::fingerprint;
use postbop_ir::{Bound, Prefer, Program, Proofs, Query, Schedule, Task};
use signal_hook::consts::signal;
use signal_hook::flag::{register, register_conditional_shutdown};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// How long the room for threads may grow where no limit is set.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most threads that there is room for.
const MOST_THREADS: u32 = 64;

/// Decides the properties of a program.
pub fn run(args: &Check, output: &mut Output) -> Status {
    decide(args, output).unwrap_or_else(|status| status)
}

fn decide(args: &Check, output: &mut Output) -> Result<Status, Status> {
    let start = Instant::now();
    let budget = budget(&args.question.cost);
    let guard = Guard::new(output.limits);
    let files = Files::open(&args.source, output)?;
    let input = files.program(options(&args.source, args.source.threads), output)?;
    super::unused::warn(args, &input, output);
    let read = start.elapsed();
    let refuse = |output: &mut Output, message: String| {
        output.error(&format!("{}: {message}", input.name()));
        Status::BadInput
    };
    let products = watched::properties(args, &input, &budget, output)?;
    let named = args.named();
    let queries = match named.is_empty() && !products.is_empty() {
        true => Vec::new(),
        false => properties::queries(&input, &named).map_err(|message| refuse(output, message))?,
    };
    drop(guard);
    if args.question.stats == Some(Stats::Chart) && args.report.is_none() {
        return Err(refuse(
            output,
            "`--stats=chart` is drawn in the page that `--report FILE.html` names".into(),
        ));
    }
    if queries.is_empty() && products.is_empty() && !args.allow_empty {
        let message = "there is nothing to check: no assertion, and no label ERROR or SLIC_ERROR; \
            `--target LABEL` asks about a label, `--allow-empty` accepts this";
        return Err(refuse(output, message.into()));
    }
    let choice = choice(args).map_err(|message| refuse(output, message))?;
    let names = queries.iter().chain(products.iter().map(|product| &product.query));
    let page = page(args, output)?;
    let mut sheet = Sheet::new(names.map(|query| query.name.as_str()), args, page, output);
    let check = Checking { args, files: &files, choice, budget: &budget };
    let mut report = check.report(&input, &queries, &mut sheet);
    for product in &products {
        let next = check.watch(&input, product, &mut sheet);
        (report.engine, report.stats) = (next.engine, next.stats);
        report.answers.extend(next.answers);
    }
    report.stats.add("read_us", read.as_micros() as u64);
    report.stats.add("total_us", start.elapsed().as_micros() as u64);
    report.stats.add("peak_bytes", peak());
    let written = sheet.finish(&report, &input, &budget);
    let mut status = status(&report);
    if let (Err(error), Some(path)) = (written, &args.report) {
        status = status.worst(unwritable(path, &error, output));
    }
    if let Some(path) = &args.certificate {
        let answers = &report.answers[..queries.len()];
        let written = super::certificate::write(path, &input, &queries, answers, output);
        status = written.err().map_or(status, |failed| status.worst(failed));
    }
    if status == Status::Bug {
        output.err.push_str(&keep(&input.program, &std::env::current_dir().unwrap_or_default()));
    }
    if args.more.is_empty() {
        // The process ends here. Its memory goes back at once, not piece by piece.
        std::mem::forget((input, report));
    }
    Ok(status)
}

/// The page that the user asks for. It is begun before the work: that a file cannot be written should not come to light after
/// an hour.
fn page(args: &Check, output: &mut Output) -> Result<Option<Page>, Status> {
    let Some(path) = &args.report else { return Ok(None) };
    let real = |path: &Path| path.canonicalize().ok();
    if real(path).is_some_and(|page| Some(page) == real(&args.source.file)) {
        output.error(&format!("{}: this is the program, not a place for its report", path.display()));
        return Err(Status::BadInput);
    }
    Page::create(path).map(Some).map_err(|error| unwritable(path, &error, output))
}

fn unwritable(path: &Path, error: &io::Error, output: &mut Output) -> Status {
    output.error(&format!("{}: {error}", path.display()));
    Status::BadInput
}

/// Which engine is to answer.
fn choice(args: &Check) -> Result<EngineChoice, String> {
    let name = match (args.engine.as_str(), &args.algorithm, &args.mode) {
        (name, None, None) => name.to_owned(),
        ("auto" | "fixpoint", Some(algorithm), None) => format!("fixpoint:{algorithm}"),
        ("auto" | "sat", None, Some(mode)) => format!("sat:{mode}"),
        ("auto", Some(_), Some(_)) => return Err("--algorithm is for fixpoint, and --mode is for sat".into()),
        (name, None | Some(_), Some(_)) => {
            return Err(format!("--mode is for --engine sat, not for `{name}`"));
        }
        (name, Some(_), None) => {
            return Err(format!("--algorithm is for --engine fixpoint, not for `{name}`"));
        }
    };
    EngineChoice::named(&name).ok_or(format!("there is no engine `{name}`"))
}

/// What is checked, and how.
struct Checking<'a> {
    args: &'a Check,
    files: &'a Files,
    choice: EngineChoice,
    budget: &'a Budget,
}

impl<'a> Checking<'a> {
    /// The answers about a program. One that may start more threads than there is room for gets more room while there is
    /// time, unless the user says how much.
    fn report(&self, input: &Input, queries: &[Query], sheet: &mut Sheet<'a>) -> Report {
        // A program graph has the room that it has.
        let grows = self.args.source.threads.is_none()
            && !input.program.no_room().is_empty()
            && !input.text().is_empty();
        if !grows {
            return self.verify(input, queries, self.budget, false, sheet);
        }
        let budget = self.budget.clone().or_time(PATIENCE);
        let mut report = self.verify(input, queries, &budget, true, sheet);
        for room in input.program.threads().len() as u32 + 1..=MOST_THREADS {
            let open: Vec<usize> = (0..queries.len()).filter(|&at| is_cut_off(&report.answers[at])).collect();
            let wider = self.files.program(options(&self.args.source, Some(room)), &mut Output::default());
            let (false, Ok(()), Ok(wider)) = (open.is_empty(), budget.check(), wider) else { break };
            let names: Vec<String> = open.iter().map(|&at| queries[at].name.clone()).collect();
            let Ok(asked) = properties::queries(&wider, &names) else { break };
            let next = self.verify(&wider, &asked, &budget, true, sheet);
            (report.engine, report.stats) = (next.engine, next.stats);
            for (at, mut answer) in open.into_iter().zip(next.answers) {
                if !answer.verdict.is_known() {
                    answer.explored = within(&report.answers[at]);
                }
                report.answers[at] = answer;
            }
        }
        self.conclude(&mut report.answers, &budget, MOST_THREADS);
        report
    }

    /// What holds only for a number of threads that the user did not ask for is not known to hold.
    fn conclude(&self, answers: &mut [Answer], budget: &Budget, room: u32) {
        for answer in answers.iter_mut().filter(|answer| is_cut_off(answer)) {
            answer.explored = within(answer);
            let more = || Why::Unsupported(format!("more than {room} threads"));
            answer.verdict = Verdict::Unknown(budget.check().err().unwrap_or_else(more));
        }
    }

    /// The answer to a question about a translation of the program, told as one about the program. The room for threads does not grow.
    fn watch(&self, input: &Input, product: &Wrapped, sheet: &mut Sheet<'a>) -> Report {
        let (choice, budget) = (self.choice, self.budget);
        let queries = [product.query.clone()];
        let task = match product.program.is_sequential() {
            true => {
                let (first, proofs) = (self.args.first, self.proofs());
                Task { first, proofs, ..Task::new(&product.program, &queries) }
            }
            // Of all translations only the one that asks for deadlocks has threads.
            false => Task { stuck: true, ..self.task(&product.program, &queries) },
        };
        let mut printer = Printer::new(input, sheet);
        printer.waits = self.args.source.threads.is_none() && !input.program.no_room().is_empty();
        let waits = printer.waits;
        let mut observer = Translated { product, observer: printer };
        let mut report = verify(&task, choice, budget, &mut observer);
        if waits {
            self.conclude(&mut report.answers, budget, input.program.threads().len() as u32);
        }
        report
    }

    /// Whether proofs are wanted.
    fn proofs(&self) -> Proofs {
        match self.args.validate || self.args.certificate.is_some() {
            true => Proofs::Kept,
            false => Proofs::Cheap,
        }
    }

    /// What is asked of a program, within the bounds that the user gives.
    fn task<'t>(&self, program: &'t Program, queries: &'t [Query]) -> Task<'t> {
        let prefer = match (self.args.shortest, program.is_sequential()) {
            (false, _) => Prefer::Any,
            (true, true) => Prefer::FewestSteps,
            (true, false) => Prefer::FewestSwitches,
        };
        let schedule = match program.is_sequential() {
            true => None,
            false => self.args.switches.map(Schedule::Switches).or(self.args.rounds.map(Schedule::Rounds)),
        };
        let bound = Bound { schedule, threads: None };
        let first = self.args.first;
        Task { bound, prefer, first, proofs: self.proofs(), ..Task::new(program, queries) }
    }

    fn verify(
        &self,
        input: &Input,
        queries: &[Query],
        budget: &Budget,
        waits: bool,
        sheet: &mut Sheet<'a>,
    ) -> Report {
        let program = &input.program;
        let task = self.task(program, queries);
        let mut printer = Printer::new(input, sheet);
        printer.waits = waits;
        verify(&task, self.choice, budget, &mut printer)
    }
}

/// The bound of a property that holds, or was explored.
fn within(answer: &Answer) -> Option<Bound> {
    match answer.verdict {
        Verdict::Holds { within, .. } => Some(within),
        _ => answer.explored,
    }
}

/// Whether a property holds only as far as there is room for threads.
fn is_cut_off(answer: &Answer) -> bool {
    within(answer).is_some_and(|within| within.threads.is_some()) && answer.verdict.is_known()
}

/// Keeps the program that showed a bug of ours, so that it can be reported; says where.
fn keep(program: &Program, folder: &Path) -> String {
    let path = folder.join(format!("postbop-bug-{}.ir", fingerprint(program)));
    match std::fs::write(&path, postbop_ir::text::print(program)) {
        Ok(()) => format!("postbop: this is a bug in postbop; please report it with {}\n", path.display()),
        Err(error) => {
            format!("postbop: this is a bug in postbop; {} could not be written: {error}\n", path.display())
        }
    }
}

fn status(report: &Report) -> Status {
    if report.verdicts().any(|verdict| matches!(verdict, Verdict::Unknown(Why::EngineBug(_)))) {
        return Status::Bug;
    }
    let verdicts: Vec<&Verdict> = report.verdicts().collect();
    match overall(verdicts.into_iter()) {
        "violated" => Status::Violated,
        "unknown" => Status::Unknown,
        _ => Status::Good,
    }
}

/// What calls the work off.
#[cfg(unix)]
const SIGNALS: &[i32] = &[signal::SIGINT, signal::SIGTERM, signal::SIGHUP];
#[cfg(not(unix))]
const SIGNALS: &[i32] = &[signal::SIGINT, signal::SIGTERM];

/// The exit status of a process that was called off twice, as shells have it.
const INTERRUPTED: i32 = 130;

/// The budget that was asked for; Ctrl-C calls the work off.
pub fn budget(cost: &Cost) -> Budget {
    // One for all files that are checked: the handlers outlive them.
    static CANCELLED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
        let flag = Arc::default();
        for &signal in SIGNALS {
            // The first one asks politely; the second is for a program that does not listen. Without a handler the first one ends the process.
            let _ = register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&flag))
                .and_then(|_| register(signal, Arc::clone(&flag)));
        }
        flag
    });
    let cancelled = Arc::clone(&CANCELLED);
    let budget = Budget::unlimited().with_cancel(cancelled);
    let budget = budget.with_memory(cost.memory, used).with_jobs(JOBS);
    match cost.timeout {
        Some(limit) => budget.with_time(limit),
        None => budget,
    }
}

/// How many engines may work at once: the same number on every machine, since the engine that wins, and so the trace,
/// depends on it.
const JOBS: usize = 2;

/// The most memory that was in use at any call of [`used`].
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shows_a_bug_is_kept_as_a_graph() {
        let reading = postbop_front::read(b"decl x; void main() begin assert(x); end", Default::default());
        let program = reading.program.expect("it is correct");
        let output = keep(&program, &std::env::temp_dir());
        let path = output.split_whitespace().last().expect("it names the file");
        let kept = std::fs::read_to_string(path).expect("the file is there");
        assert_eq!(postbop_ir::text::parse(&kept), Ok(program));
        std::fs::remove_file(path).expect("it can be removed");
        assert!(
            keep(&postbop_ir::text::parse(&kept).unwrap(), Path::new("no such folder")).contains("could not")
        );
    }
}
