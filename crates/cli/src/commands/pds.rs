//! Room `cli/commands`: `postbop pds`.

use crate::args::{Dialect, Pds, Saturate, Source};
use crate::guard::Guard;
use crate::input::{Files, options};
use crate::report::plain::dot;
use crate::{Output, Status};
use postbop_engine::configurations::{Configurations, Direction, configurations};
use postbop_front::plain::{Configuration, Plain};
use std::fmt::Write;

/// Prints the configurations that can be reached from some, or from which some can be reached.
pub fn run(command: &Pds, output: &mut Output) -> Status {
    let (args, direction) = match command {
        Pds::Post(args) => (args, Direction::Forwards),
        Pds::Pre(args) => (args, Direction::Backwards),
    };
    let _guard = Guard::new(output.limits);
    let (plain, from) = match read(args, output) {
        Ok(read) => read,
        Err(status) => return status,
    };
    let found = configurations(&plain, &from, direction);
    let text = if args.dot { picture(&found) } else { table(&found) };
    output.out.push_str(&text);
    Status::Good
}

/// The system, and the configurations that were given.
fn read(args: &Saturate, output: &mut Output) -> Result<(Plain, Vec<Configuration>), Status> {
    let source = Source { file: args.file.clone(), dialect: Dialect::Auto, threads: None };
    let files = Files::open(&source, output)?;
    let input = files.program(options(&source, None), output)?;
    let mut refuse = |message: &str| {
        output.error(&format!("{}: {message}", input.name()));
        Status::BadInput
    };
    let plain = files.plain().map_err(&mut refuse)?;
    let named = args.from.iter().map(|text| configuration(text, &plain));
    let named = named.collect::<Result<Vec<_>, _>>().map_err(|message| refuse(&message))?;
    let from = if named.is_empty() { vec![plain.start.clone()] } else { named };
    Ok((plain, from))
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

/// One transition on each line. What reads nothing has a `-` for its symbol.
fn table(found: &Configurations) -> String {
    let mut out = String::new();
    let rows = found.transitions.iter();
    let rows: Vec<[&str; 3]> =
        rows.map(|(from, symbol, to)| [from, symbol.as_deref().unwrap_or("-"), to]).collect();
    let heading = ["from", "reads", "to"];
    let all = || rows.iter().chain([&heading]);
    let widths = [0, 1, 2].map(|column| all().map(|row| row[column].chars().count()).max().unwrap_or(0));
    for row in [&heading].into_iter().chain(&rows) {
        let line = format!("{:a$}  {:b$}  {}", row[0], row[1], row[2], a = widths[0], b = widths[1]);
        let _ = writeln!(out, "{}", line.trim_end());
    }
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
