//! Room `front`: the properties that are checked by default, and their names.
//!
//! The properties of a program are its assertions, its array accesses, and the labels that are errors by custom. An
//! assertion is called `assert:LINE`, or `assert:LINE:COLUMN` where several stand on one line; an access `bounds:LINE`.
//! [`property`] finds a property by such a name, or a label as `LABEL` or `PROCEDURE:LABEL`. That a label is not visited again
//! and again is called `fair:LABEL`, and that every run comes to an end `terminates`.

use crate::source::LineIndex;
use postbop_ir::{Check, CheckKind, LocId, Program, Query};
use std::collections::{HashMap, HashSet};

/// The labels that are errors by custom.
const CUSTOMARY: [&str; 2] = ["ERROR", "SLIC_ERROR"];

/// The properties of a program: every assertion and array access, and the labels that are errors by custom. `text` is
/// the source that its spans point into, or nothing if there is none.
pub fn properties(program: &Program, text: &str) -> Vec<Query> {
    let mut all = checks(program, text);
    for label in CUSTOMARY {
        let locs = labelled(program, label, None);
        if !locs.is_empty() {
            all.push(Query::reach(label, locs));
        }
    }
    all
}

/// The property of this name. `Err` says what is wrong with the name.
pub fn property(program: &Program, text: &str, name: &str) -> Result<Query, String> {
    if let Some(label) = name.strip_prefix("fair:") {
        let reached = reached(program, text, label)?;
        return Ok(Query::recur(name, reached.locs().to_vec()));
    }
    if name == "terminates" {
        return Ok(Query::recur(name, program.locs().ids().collect()));
    }
    reached(program, text, name)
}

/// The property of this name that something is never reached.
fn reached(program: &Program, text: &str, name: &str) -> Result<Query, String> {
    if is_check(name) {
        // On a line with several, `assert:9` means all of them.
        let mut all = checks(program, text);
        all.retain(|check| {
            let rest = check.name.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        });
        if !all.is_empty() {
            let locs = all.iter().flat_map(|check| check.locs().to_vec()).collect();
            let guard = all.iter().flat_map(|check| check.guard.clone()).collect();
            return Ok(Query { guard, ..Query::reach(name, locs) });
        }
    }
    let mut locs = labelled(program, name, None);
    if locs.is_empty()
        && let Some((proc, label)) = name.split_once(':')
    {
        locs = labelled(program, label, Some(proc));
        if locs.is_empty() && program.procs().iter().all(|other| other.name != proc) {
            return Err(match is_check(name) {
                true => format!("there is no property `{name}`; `postbop list` shows those there are"),
                false => format!("there is no procedure `{proc}`"),
            });
        }
    }
    match locs.is_empty() {
        false => Ok(Query::reach(name, locs)),
        true => Err(unknown(program, name)),
    }
}

fn kind(check: &Check) -> &'static str {
    match check.kind {
        CheckKind::Assert => "assert",
        CheckKind::Bounds => "bounds",
    }
}

/// Whether a name looks like that of an assertion or an access.
fn is_check(name: &str) -> bool {
    name.starts_with("assert:") || name.starts_with("bounds:")
}

/// The assertions and array accesses. A procedure that two threads use is there twice, and `a[i]` in an expression that
/// was copied as well: what stands at one place of the source is one property.
fn checks(program: &Program, text: &str) -> Vec<Query> {
    let lines = LineIndex::new(text);
    let name = |check: &Check, full: bool| {
        let kind = kind(check);
        if text.is_empty() {
            // A graph has no lines.
            return format!("{kind}:{}", check.loc);
        }
        let (line, column) = lines.line_column(text, check.span.start);
        if full { format!("{kind}:{line}:{column}") } else { format!("{kind}:{line}") }
    };
    let mut places: HashMap<String, HashSet<String>> = HashMap::new();
    for check in program.checks() {
        places.entry(name(check, false)).or_default().insert(name(check, true));
    }
    let mut guards: HashMap<LocId, Vec<LocId>> =
        program.checks().iter().map(|check| (check.loc, Vec::new())).collect();
    for edge in program.edges().iter() {
        guards.entry(edge.to).and_modify(|guard| guard.push(edge.from));
    }
    let mut merged: Vec<(String, Vec<LocId>)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for check in program.checks() {
        let short = name(check, false);
        let name = if places[&short].len() > 1 { name(check, true) } else { short };
        let at = *known.entry(name.clone()).or_insert(merged.len());
        match merged.get_mut(at) {
            Some((_, locs)) => locs.push(check.loc),
            None => merged.push((name, vec![check.loc])),
        }
    }
    guards.values_mut().for_each(distinct);
    let query = |(name, mut locs): (String, Vec<LocId>)| {
        distinct(&mut locs);
        let mut guard = locs.iter().flat_map(|loc| guards[loc].iter().copied()).collect();
        distinct(&mut guard);
        Query { guard, ..Query::reach(name, locs) }
    };
    merged.into_iter().map(query).collect()
}

fn distinct(locs: &mut Vec<LocId>) {
    locs.sort_unstable();
    locs.dedup();
}

fn labelled(program: &Program, label: &str, proc: Option<&str>) -> Vec<LocId> {
    let here = |loc: LocId| proc.is_none_or(|proc| program.procs()[program.locs()[loc].proc].name == proc);
    let such = program.labels().iter().filter(|other| other.name == label && here(other.loc));
    such.map(|label| label.loc).collect()
}

fn unknown(program: &Program, name: &str) -> String {
    let mut labels: Vec<&str> = program.labels().iter().map(|label| label.name.as_str()).collect();
    labels.sort_unstable();
    labels.dedup();
    let like = labels.iter().find(|label| label.eq_ignore_ascii_case(name));
    match (like, labels.len()) {
        (Some(like), _) => format!("there is no label `{name}`; did you mean `{like}`?"),
        (None, 0) => format!("there is no label `{name}`: the program has no labels"),
        (None, 1..=12) => format!("there is no label `{name}`; there are: {}", labels.join(", ")),
        (None, _) => format!("there is no label `{name}`; `postbop list` shows those there are"),
    }
}
