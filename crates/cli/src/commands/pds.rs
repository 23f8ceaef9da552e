//! Room `cli/commands`: `postbop pds`.

use super::check::budget;
use crate::args::{Dialect, Pds, Saturate, Source};
use crate::guard::Guard;
use crate::input::{Files, options};
use crate::report::constraints::{case, member};
use crate::report::plain::dot;
use crate::{Output, Status};
use postbop_engine::Why;
use postbop_engine::configurations::{Configurations, Direction, configurations};
use postbop_engine::weighted::{Carried, Described, symbolic};
use postbop_front::plain::{Configuration, Plain, Symbolic};
use std::fmt::Write;

/// Prints the configurations that can be reached from some, or from which some can be reached.
pub fn run(command: &Pds, output: &mut Output) -> Status {
    let (args, direction) = match command {
        Pds::Post(args) => (args, Direction::Forwards),
        Pds::Pre(args) => (args, Direction::Backwards),
    };
    let guard = Guard::new(output.limits);
    let read = match read(args, output) {
        Ok(read) => read,
        Err(status) => return status,
    };
    let (plain, from) = match read {
        Read::Plain(plain, from) => (plain, from),
        Read::Symbolic(system) => {
            drop(guard);
            return told(&system, direction, args, output);
        }
    };
    let found = configurations(&plain, &from, direction);
    let text = if args.dot { picture(&found) } else { table(&found) };
    output.out.push_str(&text);
    Status::Good
}

/// What was read.
enum Read {
    /// A system without variables, and the configurations that were given.
    Plain(Plain, Vec<Configuration>),
    /// A system with variables, and the configurations that were given.
    Symbolic(Box<Symbolic>),
}

fn read(args: &Saturate, output: &mut Output) -> Result<Read, Status> {
    let source = Source { file: args.file.clone(), dialect: Dialect::Auto, threads: None };
    let files = Files::open(&source, output)?;
    let input = files.program(options(&source, None), output)?;
    let mut refuse = |message: &str| {
        output.error(&format!("{}: {message}", input.name()));
        Status::BadInput
    };
    let plain = match files.plain() {
        Ok(plain) => plain,
        Err(message) => {
            let read = files.symbolic(&args.from).ok_or_else(|| refuse(message))?;
            return read.map(|system| Read::Symbolic(Box::new(system))).map_err(|message| refuse(&message));
        }
    };
    let named = args.from.iter().map(|text| configuration(text, &plain));
    let named = named.collect::<Result<Vec<_>, _>>().map_err(|message| refuse(&message))?;
    let from = if named.is_empty() { vec![plain.start.clone()] } else { named };
    Ok(Read::Plain(plain, from))
}

/// A configuration such as `q:f g`.
fn configuration(text: &str, plain: &Plain) -> Result<Configuration, String> {
    let Some((control, stack)) = text.split_once(':') else {
        return Err(format!(
            "`{text}` is not a configuration; write a control, a colon and symbols, as in `q:f g`"
        ));
    };
    let find = |names: &[String], name: &str, what: &str| {
        let at = names.iter().position(|known| known == name);
        at.map(|at| at as u32).ok_or_else(|| format!("no rule mentions the {what} `{name}`"))
    };
    let control = find(&plain.controls, control.trim(), "control state")?;
    let stack = stack.split_whitespace().map(|symbol| find(&plain.symbols, symbol, "symbol"));
    Ok(Configuration { control, stack: stack.collect::<Result<_, _>>()? })
}

/// Prints configurations of a system with variables.
fn told(system: &Symbolic, direction: Direction, args: &Saturate, output: &mut Output) -> Status {
    let found = match symbolic(system, direction, &budget(&args.cost)) {
        Ok(found) => found,
        Err(Why::Unsupported(what)) => {
            output.error(&format!("unsupported: {what}"));
            return Status::BadInput;
        }
        Err(why) => {
            output.error(&format!("{why}"));
            return Status::Unknown;
        }
    };
    let row = |one: &Carried| {
        let reads = one.symbol.clone().unwrap_or_else(|| "-".to_owned());
        ([one.from.clone(), reads, one.to.clone()], cases(&one.values))
    };
    let mut rows: Vec<Row> = found.transitions.iter().map(row).collect();
    rows.sort();
    let end = |(state, values): &(String, Option<Described>)| {
        (state.clone(), values.as_ref().map_or_else(|| vec![String::new()], cases))
    };
    let ends: Vec<(String, Vec<String>)> = found.accepting.iter().map(end).collect();
    output.out.push_str(&if args.dot {
        symbolic_picture(&rows, &ends)
    } else {
        symbolic_table(&rows, &ends)
    });
    Status::Good
}

/// A transition of a system with variables, and in which cases it is there.
type Row = ([String; 3], Vec<String>);

/// The cases of a set, or some of its members.
fn cases(values: &Described) -> Vec<String> {
    match &values.cases {
        Some(cases) => cases.iter().map(|list| case(list, &values.names)).collect(),
        None => {
            let members = values.members.iter().map(|one| member(one, &values.names));
            members.chain(["others".to_owned()]).collect()
        }
    }
}

/// One transition and one case on each line.
fn symbolic_table(rows: &[Row], ends: &[(String, Vec<String>)]) -> String {
    let lines = rows.iter().flat_map(|(row, cases)| {
        let row = [row[0].as_str(), row[1].as_str(), row[2].as_str()];
        cases.iter().map(move |case| [row[0], row[1], row[2], case.as_str()])
    });
    let mut out = aligned(&["from", "reads", "to", "where"], &lines.collect::<Vec<_>>());
    for (state, case) in ends.iter().flat_map(|(state, cases)| cases.iter().map(move |case| (state, case))) {
        let so = if case.is_empty() { "" } else { " where " };
        let _ = writeln!(out, "a stack may end at {state}{so}{case}");
    }
    out
}

/// The same as a graph in the language of Graphviz.
fn symbolic_picture(rows: &[Row], ends: &[(String, Vec<String>)]) -> String {
    let mut out = "digraph {\n  rankdir=LR;\n".to_owned();
    for (state, cases) in ends {
        let label = dot(&lines(state, cases));
        let _ = writeln!(out, "  {} [shape=doublecircle, label={label}];", dot(state));
    }
    for ([from, symbol, to], cases) in rows {
        let label = dot(&lines(symbol, cases));
        let _ = writeln!(out, "  {} -> {} [label={label}];", dot(from), dot(to));
    }
    out + "}\n"
}

fn lines(first: &str, others: &[String]) -> String {
    let others = others.iter().map(String::as_str).filter(|line| !line.is_empty());
    std::iter::once(first).chain(others).collect::<Vec<_>>().join("\n")
}

/// Lines with their parts below each other.
fn aligned<const N: usize>(heading: &[&str; N], rows: &[[&str; N]]) -> String {
    let mut out = String::new();
    let all = || [heading].into_iter().chain(rows);
    let width = |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in all() {
        let parts = row.iter().zip(&widths).map(|(part, &width)| format!("{part:width$}"));
        let _ = writeln!(out, "{}", parts.collect::<Vec<_>>().join("  ").trim_end());
    }
    out
}

/// One transition on each line. What reads nothing has a `-` for its symbol.
fn table(found: &Configurations) -> String {
    let rows = found.transitions.iter();
    let rows: Vec<[&str; 3]> =
        rows.map(|(from, symbol, to)| [from, symbol.as_deref().unwrap_or("-"), to]).collect();
    let mut out = aligned(&["from", "reads", "to"], &rows);
    let _ = writeln!(out, "a stack may end at {}", found.accepting.join(", "));
    out
}

/// The automaton as a graph in the language of Graphviz.
fn picture(found: &Configurations) -> String {
    let mut out = "digraph {\n  rankdir=LR;\n".to_owned();
    for state in &found.accepting {
        let _ = writeln!(out, "  {} [shape=doublecircle];", dot(state));
    }
    for (from, symbol, to) in &found.transitions {
        let label = dot(symbol.as_deref().unwrap_or(""));
        let _ = writeln!(out, "  {} -> {} [label={label}];", dot(from), dot(to));
    }
    out + "}\n"
}
