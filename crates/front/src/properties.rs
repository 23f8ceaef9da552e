//! Room `front`: the properties that are checked by default, and their names.
//!
//! The properties of a program are its assertions, its array accesses, and the labels that are errors by custom. An
//! assertion is called `assert:LINE`, or `assert:LINE:COLUMN` where several stand on one line; an access `bounds:LINE`.
//! [`property`] finds a property by such a name, or a label as `LABEL` or `PROCEDURE:LABEL`; of a pushdown system with
//! variables, a head as `STATE:SYMBOL`. That a label is not visited again
//! and again is called `fair:LABEL`, and that every run comes to an end `terminates`.

use crate::source::LineIndex;
use postbop_ir::{Check, CheckKind, Label, LocId, ProcId, Program, Query};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

/// The labels that are errors by custom.
const CUSTOMARY: [&str; 2] = ["ERROR", "SLIC_ERROR"];

/// The properties of a program: every assertion and array access, and the labels that are errors by custom. `text` is
/// the source that its spans point into, or nothing if there is none.
pub fn properties(program: &Program, text: &str) -> Vec<Query> {
    let mut all = checks(program, text);
    for name in CUSTOMARY {
        let labels = program.labels().iter().filter(|label| label.name == name);
        let locs: Vec<LocId> = labels.map(|label| label.loc).collect();
        if !locs.is_empty() {
            all.push(Query::reach(name, locs));
        }
    }
    all
}

/// The property of this name. `Err` says what is wrong with the name.
pub fn property(program: &Program, text: &str, name: &str) -> Result<Query, String> {
    Names::new(program, text).property(name)
}

/// The properties of a program by their names, for those who look for many.
pub struct Names<'a> {
    program: &'a Program,
    text: &'a str,
    /// The checks, as soon as one is asked for.
    checks: OnceCell<Checks>,
    /// The locations of each label, in all procedures and in one.
    labels: HashMap<&'a str, Vec<LocId>>,
    in_proc: HashMap<(&'a str, &'a str), Vec<LocId>>,
}

struct Checks {
    all: Vec<Query>,
    /// The checks of each name. On a line with several, `assert:9` means all of them.
    known: HashMap<String, Vec<usize>>,
}

impl<'a> Names<'a> {
    /// The names of a program. `text` is the source that its spans point into, or nothing if there is none.
    pub fn new(program: &'a Program, text: &'a str) -> Self {
        let mut labels: HashMap<&str, Vec<LocId>> = HashMap::new();
        let mut in_proc: HashMap<(&str, &str), Vec<LocId>> = HashMap::new();
        for Label { name, loc } in program.labels() {
            let proc = &program.procs()[program.locs()[*loc].proc].name;
            labels.entry(name).or_default().push(*loc);
            in_proc.entry((proc, name)).or_default().push(*loc);
        }
        Names { program, text, checks: OnceCell::new(), labels, in_proc }
    }

    fn checks(&self) -> &Checks {
        self.checks.get_or_init(|| {
            let all = checks(self.program, self.text);
            let mut known: HashMap<String, Vec<usize>> = HashMap::new();
            for (at, check) in all.iter().enumerate() {
                let parts = check.name.match_indices(':').map(|(end, _)| &check.name[..end]);
                for name in parts.filter(|name| is_check(name)).chain([check.name.as_str()]) {
                    known.entry(name.to_owned()).or_default().push(at);
                }
            }
            Checks { all, known }
        })
    }

    /// The property of this name. `Err` says what is wrong with the name.
    pub fn property(&self, name: &str) -> Result<Query, String> {
        if let Some(label) = name.strip_prefix("fair:") {
            return Ok(Query::recur(name, self.reached(label)?.locs().to_vec()));
        }
        match name {
            "terminates" => Ok(Query::recur(name, self.program.locs().ids().collect())),
            _ => self.reached(name),
        }
    }

    /// The procedures of this name: one, or its copies in several threads. `Err` says what is wrong with the name.
    pub fn procedures(&self, name: &str) -> Result<Vec<ProcId>, String> {
        let named =
            self.program.procs().pairs().filter(|(_, proc)| proc.name == name && !name.starts_with('%'));
        let named: Vec<ProcId> = named.map(|(id, _)| id).collect();
        match named.is_empty() {
            true => Err(format!("there is no procedure `{name}`")),
            false => Ok(named),
        }
    }

    /// The property of this name that something is never reached.
    fn reached(&self, name: &str) -> Result<Query, String> {
        let checks = is_check(name).then(|| self.checks());
        if let Some(Checks { all, known }) = checks
            && let Some(such) = known.get(name)
        {
            let all = || such.iter().map(|&at| &all[at]);
            let guard = all().flat_map(|check| check.guard.iter().copied()).collect();
            let locs = all().flat_map(|check| check.locs().iter().copied()).collect();
            return Ok(Query { guard, ..Query::reach(name, locs) });
        }
        let split = name.split_once(':');
        let here = || self.in_proc.get(&split?);
        if let Some(locs) = self.labels.get(name).or_else(here).cloned().or_else(|| self.both(split?)) {
            return Ok(Query::reach(name, locs));
        }
        match split {
            Some((proc, _)) if self.program.procs().iter().all(|other| other.name != proc) => {
                Err(match is_check(name) {
                    true => format!("there is no property `{name}`; `postbop list` shows those there are"),
                    false => format!("there is no procedure `{proc}`"),
                })
            }
            _ => Err(self.unknown(name)),
        }
    }

    /// The locations with two labels: a control state and a stack symbol.
    fn both(&self, (first, second): (&str, &str)) -> Option<Vec<LocId>> {
        let first: HashSet<LocId> = self.labels.get(first)?.iter().copied().collect();
        let both = self.labels.get(second)?.iter().copied().filter(|loc| first.contains(loc));
        let both: Vec<LocId> = both.collect();
        (!both.is_empty()).then_some(both)
    }

    fn unknown(&self, name: &str) -> String {
        let mut labels: Vec<&str> = self.labels.keys().copied().collect();
        labels.sort_unstable();
        let like = labels.iter().find(|label| label.eq_ignore_ascii_case(name));
        match (like, labels.len()) {
            (Some(like), _) => format!("there is no label `{name}`; did you mean `{like}`?"),
            (None, 0) => format!("there is no label `{name}`: the program has no labels"),
            (None, 1..=12) => format!("there is no label `{name}`; there are: {}", labels.join(", ")),
            (None, _) => format!("there is no label `{name}`; `postbop list` shows those there are"),
        }
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
