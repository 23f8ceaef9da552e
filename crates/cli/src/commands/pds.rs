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
use postbop_engine::weighted::{Described, Letter, reached};
use postbop_front::moped::Heads;
use postbop_front::plain::{Configuration, Plain};
use postbop_ir::{ProcId, Program};
use std::fmt::Write;

/// Prints the configurations that can be reached from some, or from which some can be reached.
pub fn run(command: &Pds, output: &mut Output) -> Status {
    let (args, direction) = match command {
        Pds::Post(args) => (args, Direction::Forwards),
        Pds::Pre(args) => (args, Direction::Backwards),
    };
    let guard = Guard::new(output.limits);
    let read = match read(args, direction, output) {
        Ok(read) => read,
        Err(status) => return status,
    };
    let (plain, from) = match read {
        Read::Plain(plain, from) => (plain, from),
        Read::Heads(read) => {
            drop(guard);
            return told(&read.0, &read.1, args, output);
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
    /// A system with variables, as a program.
    Heads(Box<(Program, Heads)>),
}

fn read(args: &Saturate, direction: Direction, output: &mut Output) -> Result<Read, Status> {
    let source = Source { file: args.file.clone(), dialect: Dialect::Auto, threads: None };
    let files = Files::open(&source, output)?;
    let input = files.program(options(&source, None), output)?;
    let mut refuse = |message: &str| {
        output.error(&format!("{}: {message}", input.name()));
        Status::BadInput
    };
    let plain = match (files.plain(), direction) {
        (Ok(plain), _) => plain,
        (Err(message), Direction::Forwards) if args.from.is_empty() => {
            let read = files.heads().ok_or_else(|| refuse(message))?;
            return Ok(Read::Heads(Box::new(read)));
        }
        (Err(message), _) => return Err(refuse(message)),
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

/// Prints the configurations that a system with variables reaches.
fn told(program: &Program, heads: &Heads, args: &Saturate, output: &mut Output) -> Status {
    let symbol = |letter| match letter {
        Letter::Top(loc) => heads.places.get(&loc).map(|(_, symbol)| Some(symbol)),
        Letter::Below(_, call) => heads.below.get(&call).map(Option::as_ref),
    };
    let is_empty = |letter| heads.empty.is_some_and(|loc| letter == Letter::Top(loc));
    let locals = |letter| match is_empty(letter) {
        true => Some(Vec::new()),
        false => symbol(letter).map(|symbol| symbol.map_or_else(Vec::new, |symbol| symbol.locals.clone())),
    };
    let (states, control) = &heads.returns;
    let found = match reached(program, locals, heads.empty.zip(*control), &budget(&args.cost)) {
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
    let name = |proc: ProcId| heads.entries.get(&proc).map_or("(end)", String::as_str).to_owned();
    let (mut rows, mut ends) = (Vec::new(), Vec::new());
    for one in &found {
        let values = cases(&one.values);
        if is_empty(one.letter) {
            let state = states[one.value.unwrap_or(0) as usize].clone();
            rows.push(([state, "-".to_owned(), name(one.within)], values));
            continue;
        }
        let from = match one.letter {
            Letter::Top(loc) => heads.places[&loc].0.clone(),
            Letter::Below(callee, _) => name(callee),
        };
        match symbol(one.letter).flatten() {
            Some(read) => rows.push(([from, read.symbol.clone(), name(one.within)], values)),
            None => ends.push((from, values)),
        }
    }
    if rows.iter().any(|([_, reads, _], _)| reads == "-") {
        ends.push((name(program.main()), vec![String::new()]));
    }
    rows.sort();
    ends.sort();
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
