//! Room `cli/commands`: `postbop list` and `postbop emit`.

use crate::args::{Emit, Show};
use crate::guard::Guard;
use crate::input::{self, Input};
use crate::{Output, Status, properties};
use postbop_ir::program::Proc;
use postbop_ir::{LocId, ProcId, Program, Table, horn, text};
use std::fmt::Write;

/// Lists the procedures, labels and properties of a program.
pub fn list(args: &Show, output: &mut Output) -> Status {
    with_program(args, output, |input, program, out| {
        if !program.is_sequential() {
            let _ = writeln!(out, "threads");
            for thread in program.threads().iter() {
                let main = &program.procs()[thread.main];
                let (line, _) = input.position(main.span);
                let _ = match is_hidden(main) {
                    true => writeln!(out, "          {}, if it is started", thread.name),
                    false => writeln!(out, "  {line:>6}  {}, starts in {}", thread.name, main.name),
                };
            }
        }
        let mut sizes: Table<ProcId, usize> = Table::filled(program.procs().len(), 0);
        program.locs().iter().for_each(|loc| sizes[loc.proc] += 1);
        let _ = writeln!(out, "procedures");
        for (id, proc) in program.procs().pairs().filter(|(_, proc)| !is_hidden(proc)) {
            let (line, _) = input.position(proc.span);
            let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
            let params = count(proc.params, "parameter");
            let locals = count(proc.locals.len() - proc.params, "other local");
            let locs = count(sizes[id], "location");
            let name = &proc.name;
            let _ = writeln!(out, "  {line:>6}  {name}: {params}, {locals}, {locs}");
        }
        let _ = writeln!(out, "labels");
        let labels = program.labels().iter().map(|label| (label, program.locs()[label.loc]));
        for (label, loc) in labels.filter(|(_, loc)| !is_hidden(&program.procs()[loc.proc])) {
            let (line, _) = input.position(loc.span);
            let _ = writeln!(out, "  {line:>6}  {}:{}", program.procs()[loc.proc].name, label.name);
        }
        let _ = writeln!(out, "properties checked by default");
        for query in properties::queries(input, &[]).unwrap_or_default() {
            let (line, _) = input.position(program.locs()[query.locs()[0]].span);
            let _ = writeln!(out, "  {line:>6}  {}", query.name);
        }
    })
}

/// Whether a translation invented it.
fn is_hidden(proc: &Proc) -> bool {
    proc.name.starts_with('%')
}

/// Prints the program graph, or its Horn clauses.
pub fn emit(args: &Emit, output: &mut Output) -> Status {
    match args.chc {
        true => clauses(args, output).unwrap_or_else(|status| status),
        false => with_program(&args.show, output, |_, program, out| out.push_str(&text::print(program))),
    }
}

/// Prints the clauses of a program, as they are made.
fn clauses(args: &Emit, output: &mut Output) -> Result<Status, Status> {
    let input = input::read(&args.show.source, output)?;
    let _guard = Guard::new(output.limits);
    let targets = targets(&input, &args.target).map_err(|message| {
        output.error(&format!("{}: {message}", input.name()));
        Status::BadInput
    })?;
    // If standard output cannot be written, that is told at the end.
    let _ = horn::write(&input.program, &targets, &mut output.out);
    Ok(Status::Good)
}

/// The locations that clauses are about: those of all properties that are named, or of all that are checked by default.
fn targets(input: &Input, named: &[String]) -> Result<Vec<LocId>, String> {
    if !input.program.is_sequential() {
        return Err("the program has threads; clauses are made of sequential programs".into());
    }
    properties::targets(input, named)
}

fn with_program(
    args: &Show,
    output: &mut Output,
    show: impl FnOnce(&Input, &Program, &mut String),
) -> Status {
    match input::read(&args.source, output) {
        Err(status) => status,
        Ok(input) => {
            let _guard = Guard::new(output.limits);
            let mut out = String::new();
            show(&input, &input.program, &mut out);
            output.out.push_str(&out);
            Status::Good
        }
    }
}
