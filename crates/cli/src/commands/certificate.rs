//! Room `cli/commands`: `check --certificate`: what shows an answer, in a file.
//!
//! A file whose name ends with `.smt2` is written for SMT solvers: a model of the program's clauses, or a derivation of false. Any other is a
//! proof for `postbop validate`.

use crate::input::Input;
use crate::{Output, Status};
use postbop_engine::{Answer, Verdict};
use postbop_ir::horn::{Failure, derivation, model};
use postbop_ir::proof::{Certificate, print};
use postbop_ir::{LocId, Proof, Query};
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// Whether a file is for SMT solvers.
pub fn is_smt(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "smt2")
}

/// Writes the proof of the properties that hold, all by the same proof, to a file; for solvers also the run to one that is violated.
pub fn write(
    path: &Path,
    input: &Input,
    queries: &[Query],
    answers: &[Answer],
    output: &mut Output,
) -> Result<(), Status> {
    let targets = |names: &[String]| -> Vec<LocId> {
        let own = queries.iter().filter(|query| names.contains(&query.name));
        own.flat_map(|query| query.locs().iter().copied()).collect()
    };
    // Of all traces the first that was told is still there.
    let run = answers.iter().find_map(|answer| match &answer.verdict {
        Verdict::Violated(trace) if !trace.contexts.is_empty() => Some((&answer.query, trace)),
        _ => None,
    });
    if let Some((name, trace)) = run.filter(|_| is_smt(path)) {
        if answers.len() > 1 {
            output.err.push_str(&format!("warning: {} is about {name} alone\n", path.display()));
        }
        let locs = targets(std::slice::from_ref(name));
        return to_file(path, output, |out| derivation::write(&input.program, trace, &locs, out));
    }
    let Some((proof, properties)) = shared(path, answers, output) else { return Ok(()) };
    if is_smt(path) {
        let locs = targets(&properties);
        return to_file(path, output, |out| model::write(&input.program, &proof, &locs, out));
    }
    let certificate = Certificate { properties, proof: Arc::unwrap_or_clone(proof) };
    std::fs::write(path, print(&input.program, &certificate))
        .map_err(|error| unwritable(path, &error, output))
}

fn unwritable(path: &Path, error: &io::Error, output: &mut Output) -> Status {
    output.error(&format!("{}: {error}", path.display()));
    Status::BadInput
}

/// The proof that properties that hold have in common, and their names.
fn shared(path: &Path, answers: &[Answer], output: &mut Output) -> Option<(Arc<Proof>, Vec<String>)> {
    let mut proof = None;
    let mut properties = Vec::new();
    for answer in answers {
        if let Verdict::Holds { proof: Some(shown), .. } = &answer.verdict {
            let shared = proof.get_or_insert_with(|| Arc::clone(shown));
            match Arc::ptr_eq(shared, shown) {
                true => properties.push(answer.query.clone()),
                false => output.err.push_str(&format!(
                    "warning: {} has a proof of its own; write it with `--target {0}`\n",
                    answer.query
                )),
            }
        }
    }
    if proof.is_none() {
        output.err.push_str(&format!(
            "warning: {} was not written: no property that holds has a proof; `--engine summary` writes proofs\n",
            path.display()
        ));
    }
    proof.map(|proof| (proof, properties))
}

/// A file that is given text, and what went wrong with it.
struct Text {
    file: BufWriter<File>,
    error: Option<io::Error>,
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.file.write_all(text.as_bytes()).map_err(|error| {
            self.error = Some(error);
            fmt::Error
        })
    }
}

/// Writes a file as its text is made. One that does not fit the form is taken back, and that is told.
fn to_file(
    path: &Path,
    output: &mut Output,
    write: impl FnOnce(&mut dyn fmt::Write) -> Result<(), Failure>,
) -> Result<(), Status> {
    let file = File::create(path).map_err(|error| unwritable(path, &error, output))?;
    let mut text = Text { file: BufWriter::new(file), error: None };
    match write(&mut text) {
        Err(Failure::Unfit(why)) => {
            let _ = std::fs::remove_file(path);
            output.err.push_str(&format!("warning: {} was not written: {why}\n", path.display()));
            Ok(())
        }
        written => {
            let lost = written.err().and_then(|_| text.error.take());
            match lost.or(text.file.flush().err()) {
                Some(error) => Err(unwritable(path, &error, output)),
                None => Ok(()),
            }
        }
    }
}
