//! Room `cli`: which locations must not be reached.

use crate::input::Input;
use postbop_ir::program::{Label, THREAD_LIMIT};
use postbop_ir::{Check, CheckKind, LocId, Program, Target};
use std::collections::{HashMap, HashSet};

/// The labels that are errors by custom.
const CUSTOMARY: [&str; 2] = ["ERROR", "SLIC_ERROR"];

/// The targets that the user names, or else the customary ones. `Err` says what is wrong with a name.
pub fn targets(input: &Input, program: &Program, named: &[String]) -> Result<Vec<Target>, String> {
    if named.is_empty() {
        return Ok(customary(input, program));
    }
    named.iter().map(|name| by_name(program, name)).collect()
}

/// Every check, and the labels that are errors by custom.
fn customary(input: &Input, program: &Program) -> Vec<Target> {
    let name = |check: &Check, full: bool| {
        let (line, column) = input.position(check.span);
        let kind = match check.kind {
            CheckKind::Assert => "assert",
            CheckKind::Bounds => "bounds",
        };
        if input.text.is_empty() {
            // A graph has no lines.
            format!("{kind}:{}", check.loc)
        } else if full {
            format!("{kind}:{line}:{column}")
        } else {
            format!("{kind}:{line}")
        }
    };
    // A procedure that two threads use is there twice: what stands at one place is one property.
    let mut places: HashMap<String, HashSet<String>> = HashMap::new();
    for check in &program.checks {
        places.entry(name(check, false)).or_default().insert(name(check, true));
    }
    let of_check = |check: &Check| {
        let short = name(check, false);
        let name = if places[&short].len() > 1 { name(check, true) } else { short };
        Target { name, locs: vec![check.loc] }
    };
    let mut targets: Vec<Target> = program.checks.iter().map(of_check).collect();
    // Two accesses at one place, such as a[i] in an expression that was copied, are one property.
    let mut merged: Vec<Target> = Vec::new();
    let mut place: HashMap<String, usize> = HashMap::new();
    for target in targets.drain(..) {
        match place.get(&target.name) {
            Some(&at) => merged[at].locs.extend(target.locs),
            None => {
                place.insert(target.name.clone(), merged.len());
                merged.push(target);
            }
        }
    }
    for label in CUSTOMARY {
        let locs = labelled(program, label, None);
        if !locs.is_empty() {
            merged.push(Target { name: label.to_owned(), locs });
        }
    }
    merged
}

/// The labels that the source has, without those that a translation added.
pub fn shown(program: &Program) -> impl Iterator<Item = &Label> {
    program.labels.iter().filter(|label| label.name != THREAD_LIMIT)
}

fn labelled(program: &Program, label: &str, proc: Option<&str>) -> Vec<LocId> {
    let here = |loc: LocId| proc.is_none_or(|proc| program.procs[program.locs[loc].proc].name == proc);
    program
        .labels
        .iter()
        .filter(|other| other.name == label && here(other.loc))
        .map(|label| label.loc)
        .collect()
}

fn by_name(program: &Program, name: &str) -> Result<Target, String> {
    let mut locs = labelled(program, name, None);
    if locs.is_empty()
        && let Some((proc, label)) = name.split_once(':')
    {
        locs = labelled(program, label, Some(proc));
        if locs.is_empty() && program.procs.iter().all(|other| other.name != proc) {
            return Err(format!("there is no procedure `{proc}`"));
        }
    }
    match locs.is_empty() {
        false => Ok(Target { name: name.to_owned(), locs }),
        true => Err(unknown(program, name)),
    }
}

fn unknown(program: &Program, name: &str) -> String {
    let mut labels: Vec<&str> = shown(program).map(|label| label.name.as_str()).collect();
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
