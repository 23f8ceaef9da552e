//! Room `cli/commands`: `postbop summary`.

use super::check::budget;
use crate::args::Summary as Args;
use crate::report::constraints::{case, member};
use crate::{Output, Status, input};
use postbop_engine::Why;
use postbop_engine::weighted::{Described, Extent, Summary, summary};
use postbop_ir::{ProcId, Program};
use std::fmt::Write;

/// Prints what a procedure does, and for which inputs it returns.
pub fn run(args: &Args, output: &mut Output) -> Status {
    let budget = budget(&args.cost);
    let input = match input::read(&args.source, output) {
        Ok(input) => input,
        Err(status) => return status,
    };
    let proc = match procedure(&input.program, args.proc.as_deref()) {
        Ok(proc) => proc,
        Err(message) => {
            output.error(&format!("{}: {message}", input.name()));
            return Status::BadInput;
        }
    };
    let found = match summary(&input.program, proc, &budget) {
        Ok(found) => found,
        Err(Why::Unsupported(what)) => {
            output.error(&format!("{}: unsupported: {what}", input.name()));
            return Status::BadInput;
        }
        Err(why) => {
            output.error(&format!("{why}"));
            return Status::Unknown;
        }
    };
    let text = match args.dot {
        true => format!("{}{}", found.returns.dot, found.relation.dot),
        false => told(&input.program.procs()[proc].name, &found),
    };
    output.out.push_str(&text);
    match found.extent {
        Extent::Exact | Extent::AtMost => Status::Good,
        Extent::AtLeast(_) => Status::Unknown,
    }
}

/// The procedure of a name, or the first.
pub fn procedure(program: &Program, name: Option<&str>) -> Result<ProcId, String> {
    let Some(name) = name else { return Ok(program.main()) };
    let found = program.procs().pairs().find(|(_, proc)| proc.name == name);
    found.map(|(id, _)| id).ok_or_else(|| {
        let names: Vec<&str> = program.procs().iter().map(|proc| proc.name.as_str()).take(20).collect();
        format!("there is no procedure `{name}`; there are {}", names.join(", "))
    })
}

fn told(name: &str, found: &Summary) -> String {
    let mut out = format!("summary of {name}\n");
    for (what, names) in [("input", &found.inputs), ("output", &found.outputs)] {
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let _ = writeln!(out, "  {what:8}{names}");
    }
    match &found.extent {
        Extent::Exact => {}
        Extent::AtMost => out.push_str(
            "not exact: it returns for no other input and with no other output, but perhaps not with all of these\n",
        ),
        Extent::AtLeast(why) => {
            let _ = writeln!(out, "not complete ({why}): perhaps it returns for other inputs and with other outputs");
        }
    }
    out += &set("returns for", "every input", "no input", &found.returns);
    if !found.outputs.is_empty() {
        out += &set("with", "any output", "no output", &found.relation);
    }
    out
}

/// A set in words: all of it, nothing, cases, or a few members.
fn set(heading: &str, all: &str, nothing: &str, set: &Described) -> String {
    let mut out = String::new();
    let _ = match &set.cases.as_deref() {
        Some([only]) if only.is_empty() => writeln!(out, "{heading} {all}"),
        _ if set.members.is_empty() && set.cases.is_some() => writeln!(out, "{heading} {nothing}"),
        Some(cases) => {
            let cases: Vec<String> = cases.iter().map(|list| case(list, &set.names)).collect();
            writeln!(out, "{heading}\n     {}", cases.join("\n  or "))
        }
        None => {
            let list: Vec<String> = set.members.iter().map(|one| member(one, &set.names)).collect();
            writeln!(out, "{heading} many numbers, for example\n     {}", list.join("\n     "))
        }
    };
    out
}
