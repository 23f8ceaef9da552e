//! Every case of the project, in every format × every engine × any and shortest traces.
//!
//! The case's author, the oracle and each engine are three opinions about the same question. Besides, the graph of each
//! case must be well formed and print back, and the canonical source of a Boolean program must be the same program and its
//! own canonical form.

use crate::common::{all_good, bytes, cases_in, root, say};
use crate::question::{Header, header};
use crate::runner::Tally;
use postbop_front::{File, Format, Options, Severity, format, read};
use postbop_ir::{Program, text};
use std::path::{Path, PathBuf};
use xtask::fuzz::spanless;

#[test]
fn every_case_has_its_verdict_from_every_engine() {
    let mut tally = Tally::default();
    let (mut files, mut diagnostics) = (0, 0);
    for case in Format::ALL.into_iter().flat_map(cases_in) {
        let place = case.display().to_string();
        // A format without comments has its header in a file beside it.
        let beside = case.with_extension("expect");
        let said = if root().join(&beside).exists() { bytes(&beside) } else { bytes(&case) };
        match header(&String::from_utf8_lossy(&said)) {
            Err(problem) => tally.failures.push(format!("{place}: {problem}")),
            Ok(Header::Diagnostics) => diagnostics += 1,
            Ok(Header::Verdicts(expected)) if expected.is_empty() => {
                tally.failures.push(format!("{place}: expects nothing"));
            }
            Ok(Header::Verdicts(expected)) => {
                files += 1;
                match program(&case) {
                    Err(problem) => tally.failures.push(format!("{place}: {problem}")),
                    Ok(program) => {
                        for expected in &expected {
                            tally.ask(&place, &program, expected);
                        }
                    }
                }
            }
        }
    }
    say(&tally.line(&format!("cases: {files} files, {diagnostics} left to the front end")));
    all_good(&tally.failures);
    assert!(tally.decided * 10 >= tally.questions * 9, "the oracle is hardly asked any more");
}

/// The program of a case, which reads without errors, prints back and, if it is a Boolean program, formats.
fn program(case: &Path) -> Result<Program, String> {
    let contents = bytes(case);
    let name = |path: &Path| path.display().to_string();
    let format = Format::of(&File { name: &name(case), bytes: &contents });
    let others = format.beside().iter().map(|ending| case.with_extension(ending));
    let others: Vec<PathBuf> = others.filter(|path| root().join(path).exists()).collect();
    let all: Vec<(String, Vec<u8>)> = [(name(case), contents)]
        .into_iter()
        .chain(others.iter().map(|path| (name(path), bytes(path))))
        .collect();
    let files: Vec<File> = all.iter().map(|(name, bytes)| File { name, bytes }).collect();
    let reading = read(&files[..], Options::default());
    if let Some(error) = reading.diagnostics.iter().find(|found| found.severity == Severity::Error) {
        return Err(format!("{}: {}", error.code, error.message));
    }
    let program = reading.program.ok_or("no program")?;
    let back = text::parse(&text::print(&program)).map_err(|error| format!("the textual graph: {error}"))?;
    if back != program {
        return Err("the textual graph reads back as another program".into());
    }
    if format == Format::Program {
        formats(files[0].bytes, &program)?;
    }
    Ok(program)
}

/// The canonical source is the same program and its own canonical form.
pub fn formats(bytes: &[u8], program: &Program) -> Result<(), String> {
    let refused = |_| "the formatter refuses it".to_owned();
    let canonical = format(bytes, Options::default()).map_err(refused)?;
    let again = read(canonical.as_bytes(), Options::default());
    if again.program.as_ref().map(spanless) != Some(spanless(program)) {
        return Err(format!("the canonical source is another program:\n{canonical}"));
    }
    let twice = format(canonical.as_bytes(), Options::default()).map_err(refused)?;
    match twice == canonical {
        true => Ok(()),
        false => Err(format!("the canonical source has another canonical form:\n{canonical}\nthen\n{twice}")),
    }
}
