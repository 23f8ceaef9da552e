//! Programs that nobody here wrote, where they are at hand.
//!
//! `POSTBOP_CORPUS` names the folder; without it the folder beside the repository is used. Its `MANIFEST.tsv` says for
//! each file the dialect, the property and the expected verdict. Sequential programs are put to every engine;
//! concurrent ones must read without error and be seen to be concurrent.

use crate::cases::formats;
use crate::common::{all_good, root, say};
use crate::runner::{Tally, about};
use postbop_front::{Options, Reading, Severity, read};
use postbop_ir::{Program, text, validate};
use std::path::PathBuf;

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
            is_concurrent(&reading)
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

/// The program, if nothing is wrong with it.
fn well_formed(reading: &Reading) -> Result<&Program, String> {
    no_errors(reading)?;
    let program = reading.program.as_ref().ok_or("no program")?;
    if let Some(flaw) = validate(program).first() {
        return Err(format!("the graph is not well formed: {flaw}"));
    }
    if text::parse(&text::print(program)).as_ref() != Ok(program) {
        return Err("the textual graph does not read back".into());
    }
    Ok(program)
}

fn no_errors(reading: &Reading) -> Result<(), String> {
    match reading.diagnostics.iter().find(|found| found.severity == Severity::Error) {
        Some(error) => Err(format!("{}: {}", error.code, error.message)),
        None => Ok(()),
    }
}

fn is_concurrent(reading: &Reading) -> Result<(), String> {
    let program = well_formed(reading)?;
    match reading.concurrent {
        Some(_) if program.threads.len() > 1 => Ok(()),
        _ => Err("is not seen to be concurrent".into()),
    }
}
