//! Programs that nobody here wrote, where they are at hand.
//!
//! `POSTBOP_CORPUS` names the folder; without it the folder beside the repository is used. Its `MANIFEST.tsv` says for
//! each file the dialect, the property and the expected verdict. Sequential programs are put to every engine;
//! concurrent ones must read without error, be seen to be concurrent, and get the verdict that is known, whatever engine
//! gives it. The driver of the paper on context bounds must need as many switches as the paper says.

use crate::cases::formats;
use crate::common::{all_good, root, say};
use crate::question;
use crate::runner::{PATIENCE, Tally, about};
use postbop_engine::{Accepts, Budget, EngineChoice, Silent, Verdict, product, verify};
use postbop_front::temporal::ltl;
use postbop_front::{File, Options, Reading, Severity, read};
use postbop_ir::{Bound, Prefer, Program, Query, Schedule, Task, text};
use std::path::PathBuf;

/// Takes more than a minute. The others take less than a fifth of a second each.
const SLOW: &str = "SafeStack_seqcst_forCSEQ_oneforloop.bp";

/// One line of the table.
struct Entry {
    file: String,
    dialect: String,
    property: String,
    expected: String,
}

fn folder() -> Option<PathBuf> {
    let folder = match std::env::var_os("POSTBOP_CORPUS") {
        // Somebody who names a corpus wants it used: a wrong name is no reason to skip.
        Some(folder) => return Some(folder.into()),
        None => root().join("../shared/corpus"),
    };
    folder.join("MANIFEST.tsv").exists().then_some(folder)
}

fn entries(folder: &std::path::Path) -> Vec<Entry> {
    let table = folder.join("MANIFEST.tsv");
    let table = std::fs::read_to_string(&table).unwrap_or_else(|e| panic!("{}: {e}", table.display()));
    let entry = |line: &str| {
        let mut columns = line.split('\t').map(str::to_owned);
        let mut column = || columns.next().unwrap_or_default();
        let (file, _origin) = (column(), column());
        Entry { file, dialect: column(), property: column(), expected: column() }
    };
    table.lines().skip(1).map(entry).collect()
}

#[test]
fn the_corpus_gets_its_verdicts() {
    let Some(folder) = folder() else {
        return say("corpus: SKIPPED, there is none; POSTBOP_CORPUS names one");
    };
    let mut tally = Tally::default();
    let (mut sequential, mut concurrent, mut other) = (0, 0, 0);
    for entry in entries(&folder) {
        if !entry.file.ends_with(".bp") {
            other += 1;
            continue;
        }
        let bytes = std::fs::read(folder.join(&entry.file)).expect("the table names files that are there");
        let reading = read(&bytes, Options::default());
        let outcome = if entry.dialect.starts_with("seq") {
            sequential += 1;
            ask(&entry, &bytes, &reading, &mut tally)
        } else {
            concurrent += 1;
            is_concurrent(&reading).and_then(|program| ask_threads(&entry, program, &mut tally))
        };
        if let Err(problem) = outcome {
            tally.failures.push(format!("{}: {problem}", entry.file));
        }
    }
    let files = format!("{sequential} sequential files, {concurrent} concurrent, {other} in other languages");
    say(&tally.line(&format!("corpus: {files}")));
    all_good(&tally.failures);
    assert!(sequential > 0 && concurrent > 0, "the corpus is empty");
}

fn ask(entry: &Entry, bytes: &[u8], reading: &Reading, tally: &mut Tally) -> Result<(), String> {
    let program = well_formed(reading)?;
    formats(bytes, program)?;
    let label = match (entry.property.as_str(), entry.file.as_str()) {
        ("assert", _) => None,
        // Its note says what was asked of Moped: `-br E`.
        ("", "moped1/examples/lock.bp") => Some("E"),
        ("", _) => return Err("the table does not say what is asked".into()),
        (label, _) => Some(label),
    };
    let violated = match entry.expected.as_str() {
        "holds" => false,
        "violated" => true,
        // Tools differ here. The files' own comments say what Boolean programs mean by it, and so does our language
        // reference: the locals of each call start arbitrary.
        "" if entry.file.starts_with("wali/BPTests/recursiveFlow") => true,
        expected => return Err(format!("cannot expect `{expected}`")),
    };
    tally.ask(&entry.file, program, &about(label, violated));
    Ok(())
}

/// Asks about a program with threads, without a bound.
fn ask_threads(entry: &Entry, program: &Program, tally: &mut Tally) -> Result<(), String> {
    if entry.expected.is_empty() || entry.file.ends_with(SLOW) {
        return Ok(());
    }
    tally.questions += 1;
    let label = (entry.property != "assert").then_some(entry.property.as_str());
    let queries = question::queries(program, label)?;
    let verdicts = answers(program, &queries, None, EngineChoice::Auto);
    let word = if verdicts.iter().any(|verdict| matches!(verdict, Verdict::Violated(_))) {
        "violated"
    } else if verdicts.iter().all(|verdict| matches!(verdict, Verdict::Holds { .. })) {
        "holds"
    } else {
        "unknown"
    };
    if word != entry.expected {
        return Err(format!("{word}, expected {}", entry.expected));
    }
    tally.answers += 1;
    Ok(())
}

fn answers(
    program: &Program,
    queries: &[Query],
    schedule: Option<Schedule>,
    choice: EngineChoice,
) -> Vec<Verdict> {
    let prefer = if schedule.is_some() { Prefer::FewestSwitches } else { Prefer::Any };
    let bound = Bound { schedule, threads: None };
    let task = Task { bound, prefer, ..Task::new(program, queries) };
    let report = verify(&task, choice, &Budget::unlimited().with_time(PATIENCE), &mut Silent);
    report.answers.into_iter().map(|answer| answer.verdict).collect()
}

/// Fig. 3 of [getafix]: with so many adders and stoppers of the Bluetooth driver, the least number of switches, of at most 6.
#[test]
fn the_driver_needs_as_many_switches_as_the_paper_says() {
    let Some(folder) = folder() else { return say("corpus: the driver SKIPPED, there is no corpus") };
    for (name, least) in [("1a1s", None), ("1a2s", Some(3)), ("2a1s", Some(4)), ("2a2s", Some(3))] {
        let file = folder.join(format!("basler-thesis/bluetooth_{name}.bp"));
        let reading = read(&std::fs::read(file).expect("the driver is in the corpus"), Options::default());
        let program = is_concurrent(&reading).expect("it is concurrent");
        let queries = question::queries(program, Some("SLIC_ERROR")).expect("the label");
        for engine in ["auto", "fixpoint"] {
            let choice = EngineChoice::named(engine).expect("it is in the list");
            let found = match &answers(program, &queries, Some(Schedule::Switches(6)), choice)[0] {
                Verdict::Violated(run) => Ok(Some(run.switches())),
                Verdict::Holds { .. } => Ok(None),
                other => Err(other.clone()),
            };
            assert_eq!(found, Ok(least), "{name} {engine}");
        }
    }
}

/// What Moped says of its own examples, by the notes of the table and the comments of the files. A run that goes on for ever counts, one
/// that ends does not.
#[test]
fn examples_of_moped_get_its_answers() {
    let Some(folder) = folder() else { return say("corpus: Moped's examples SKIPPED, there is no corpus") };
    let program = |name: &str| {
        let path = folder.join("moped1/examples").join(name);
        let bytes = std::fs::read(&path).expect("the table names files that are there");
        let file = File { name, bytes: &bytes };
        let reading = read([file], Options::default());
        well_formed(&reading).unwrap_or_else(|problem| panic!("{name}: {problem}")).clone()
    };
    let mut tally = Tally::default();
    let targets =
        [("lock.pds", "q:err", false), ("lock-error.pds", "q:err", true), ("plot.pds", "q:up0", true)];
    for (name, target, violated) in targets {
        tally.ask(name, &program(name), &about(Some(target), violated));
    }
    let formulas = [
        ("atoms.pds", "[]p", false),
        ("atoms.pds", "[]q", true),
        ("atoms.pds", "[]<>q", false),
        ("heapify.pds", "<>ok", false),
        ("quicksort1.pds", "<>main1", true),
        ("lock.pds", "[] !q:err", false),
    ];
    for (name, formula, violated) in formulas {
        let program = program(name);
        let (read, problems) = ltl(formula, &program);
        let read = read.unwrap_or_else(|| panic!("{name}: {problems:?}"));
        let automaton = read.violations(&mut |_| true).expect("there is no limit");
        let unlimited = Budget::unlimited();
        let product = product(&program, &automaton, &read.atoms, Accepts::Always, formula, &unlimited)
            .expect("there is room");
        let said =
            &answers(&product.program, std::slice::from_ref(&product.query), None, EngineChoice::Auto)[0];
        let good = if violated {
            matches!(said, Verdict::Violated(_))
        } else {
            matches!(said, Verdict::Holds { .. })
        };
        assert!(good, "{name}: {formula}: {said:?}");
        tally.questions += 1;
    }
    say(&tally.line("corpus: Moped's examples"));
    all_good(&tally.failures);
}

/// The program, if nothing is wrong with it.
fn well_formed(reading: &Reading) -> Result<&Program, String> {
    no_errors(reading)?;
    let program = reading.program.as_ref().ok_or("no program")?;
    match text::parse(&text::print(program)) {
        Ok(back) if back == *program => Ok(program),
        Ok(_) => Err("the textual graph reads back as another program".into()),
        Err(flaw) => Err(format!("the textual graph does not read back: {flaw}")),
    }
}

fn no_errors(reading: &Reading) -> Result<(), String> {
    match reading.diagnostics.iter().find(|found| found.severity == Severity::Error) {
        Some(error) => Err(format!("{}: {}", error.code, error.message)),
        None => Ok(()),
    }
}

fn is_concurrent(reading: &Reading) -> Result<&Program, String> {
    let program = well_formed(reading)?;
    match reading.concurrent {
        Some(_) if program.threads().len() > 1 => Ok(program),
        _ => Err("is not seen to be concurrent".into()),
    }
}
