//! Room `cli/commands`: `check` and `fmt` for several files, one after the other.
//!
//! Each file is a question of its own. The exit status is the worst of all.

use crate::args::{Check, Fmt, Format, Source};
use crate::{Said, Status};
use std::path::PathBuf;

/// Decides the properties of each program.
pub fn check(args: &Check, said: &mut Said) -> Status {
    let several = !args.more.is_empty();
    each(&args.source, &args.more, said, |source, rest, said| {
        if several && args.format == Format::Human {
            let gap = if rest.len() == args.more.len() { "" } else { "\n" };
            said.out.push_str(&format!("{gap}{}:\n", source.file.display()));
        }
        said.limits.restart();
        let (from, before) = (said.err.len(), said.out.len());
        let status = super::check::run(&Check { source, more: rest.to_vec(), ..args.clone() }, said);
        if status == Status::BadInput && said.out.len() == before {
            said.report_bad_input(from);
        }
        status
    })
}

/// Prints each program in canonical form.
pub fn fmt(args: &Fmt, said: &mut Said) -> Status {
    each(&args.source, &args.more, said, |source, rest, said| {
        super::fmt::run(&Fmt { source, more: rest.to_vec(), ..args.clone() }, said)
    })
}

/// Acts on each file, which it is given with those that are still to come; the worst status.
fn each(
    first: &Source,
    more: &[PathBuf],
    said: &mut Said,
    mut act: impl FnMut(Source, &[PathBuf], &mut Said) -> Status,
) -> Status {
    let mut worst = act(first.clone(), more, said);
    for (at, file) in more.iter().enumerate() {
        // What was found is written at once: the next file may take long, or take all memory.
        worst = said.write(worst);
        said.limits.so_far = worst;
        let source = Source { file: file.clone(), ..first.clone() };
        worst = worst.worst(act(source, &more[at + 1..], said));
    }
    worst
}
