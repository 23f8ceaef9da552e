//! Room `cli/commands`: `check` and `fmt` for several files, one after the other.
//!
//! Each file is a question of its own. The exit status is the worst of all.

use crate::args::{Check, Fmt, Format, Source};
use crate::{Output, Status};
use std::path::PathBuf;

/// Decides the properties of each program.
pub fn check(args: &Check, output: &mut Output) -> Status {
    let several = !args.more.is_empty();
    let whole = match args.format {
        _ if args.report.is_some() => Some("--report"),
        Format::Sarif => Some("--format sarif"),
        Format::Junit => Some("--format junit"),
        Format::Human | Format::Json | Format::Github => None,
    };
    if let Some(option) = whole.filter(|_| several) {
        output.error(&format!("`{option}` is for one program; check the others by themselves"));
        return Status::BadInput;
    }
    each(&args.source, &args.more, output, |source, rest, output| {
        if several && args.format == Format::Human {
            let gap = if rest.len() == args.more.len() { "" } else { "\n" };
            output.out.push_str(&format!("{gap}{}:\n", source.file.display()));
        }
        output.limits.restart();
        let (from, before) = (output.err.len(), output.out.len());
        let status = super::check::run(&Check { source, more: rest.to_vec(), ..args.clone() }, output);
        if status == Status::BadInput && output.out.len() == before {
            output.report_bad_input(from);
        }
        status
    })
}

/// Prints each program in canonical form.
pub fn fmt(args: &Fmt, output: &mut Output) -> Status {
    each(&args.source, &args.more, output, |source, rest, output| {
        output.limits.restart();
        super::fmt::run(&Fmt { source, more: rest.to_vec(), ..args.clone() }, output)
    })
}

/// Acts on each file, which it is given with those that are still to come; the worst status.
fn each(
    first: &Source,
    more: &[PathBuf],
    output: &mut Output,
    mut act: impl FnMut(Source, &[PathBuf], &mut Output) -> Status,
) -> Status {
    let mut worst = act(first.clone(), more, output);
    for (at, file) in more.iter().enumerate() {
        // What was found is written at once: the next file may take long, or take all memory.
        worst = output.write(worst);
        output.limits.so_far = worst;
        let source = Source { file: file.clone(), ..first.clone() };
        worst = worst.worst(act(source, &more[at + 1..], output));
    }
    worst
}
