//! Room `xtask`: random concurrent pushdown systems against the oracles.
//!
//! # Idea
//! A system is read as the command line would read its three files, and its program goes through the same questions as a
//! program with threads, or, with a single stack, as a sequential one. The targets are the bad configurations and, for
//! each thread and symbol, having that symbol on top.

use super::{Effort, Finding, examine_program, printed_flaw, threads};
use crate::generate::pushdown::{INIT, SPEC};
use postbop_front::{File, Options, Severity};
use postbop_ir::{LocId, Program, Query};
use std::collections::BTreeMap;
use std::time::Duration;

/// The files of a system by their endings.
pub fn files(source: &str) -> [(&'static str, Option<&str>); 3] {
    let (source, spec) = match source.split_once(&format!("{SPEC}\n")) {
        Some((before, spec)) => (before, Some(spec)),
        None => (source, None),
    };
    let (rules, init) = match source.split_once(&format!("{INIT}\n")) {
        Some((before, init)) => (before, Some(init)),
        None => (source, None),
    };
    [("pds", Some(rules)), ("init", init), ("spec", spec)]
}

/// Puts one system through everything. An engine may take so long for each question.
pub fn examine(source: &str, patience: Duration) -> Finding {
    let program = match read(source) {
        Ok(program) => program,
        Err(what) => return Finding::Wrong(what),
    };
    if let Some(what) = printed_flaw(&program) {
        return Finding::Wrong(what);
    }
    let queries = queries(&program);
    if program.threads().is_empty() {
        examine_program(&program, &queries, Effort { patience: Some(patience), ..Effort::default() })
    } else {
        threads::examine(&program, &queries, patience)
    }
}

fn read(source: &str) -> Result<Program, String> {
    let files = files(source);
    let names = files.map(|(ending, _)| format!("system.{ending}"));
    let present = names.iter().zip(&files);
    let present: Vec<File> =
        present.filter_map(|(name, (_, text))| Some(File { name, bytes: (*text)?.as_bytes() })).collect();
    let reading = postbop_front::read(&present[..], Options::default());
    let errors = &mut reading.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    match errors.next() {
        Some(error) => Err(format!("front end {}: {}", error.code, error.message)),
        None => reading.program.ok_or("front end: no program".into()),
    }
}

/// One query for each label; labels of one name are one.
fn queries(program: &Program) -> Vec<Query> {
    let mut labels: BTreeMap<&str, Vec<LocId>> = BTreeMap::new();
    for label in program.labels().iter() {
        labels.entry(&label.name).or_default().push(label.loc);
    }
    labels.into_iter().map(|(name, locs)| Query::reach(name, locs)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Once a script of a violation by formula had no run: the second thread was left between a return and what comes
    /// after it.
    const EMPTIED: &str =
        "2\nPDA 1 3\n0 1 -> 1 2\n0 2 -> 0 3\nPDA 1 1\n1 1 -> 0 -\n# init\n0|1,1\n# spec\n1|2,-\n";

    #[test]
    fn a_text_is_three_files() {
        let [(_, rules), (_, init), (_, spec)] = files(EMPTIED);
        assert!(rules.is_some_and(|rules| rules.ends_with("1 1 -> 0 -\n")));
        assert_eq!((init, spec), (Some("0|1,1\n"), Some("1|2,-\n")));
        assert_eq!(files("1\nPDA 1 1\n").map(|(_, text)| text.is_some()), [true, false, false]);
    }

    #[test]
    fn a_system_with_an_emptied_stack_is_agreed_on() {
        let score = match examine(EMPTIED, Duration::from_secs(2)) {
            Finding::Agreed(score) => score,
            Finding::Wrong(what) => panic!("they disagree: {what}"),
        };
        assert!(score.reachable > 10 && score.unreachable > 0, "{score:?}");
    }

    #[test]
    fn mistakes_of_the_front_end_are_findings() {
        let what = examine("1\nPDA 1 1\n0 1 -> 0\n# init\n0|1\n", Duration::from_secs(1));
        assert!(matches!(what, Finding::Wrong(what) if what.starts_with("front end")));
    }
}
