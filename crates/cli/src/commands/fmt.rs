//! Room `cli/commands`: `postbop fmt`.

use crate::args::Fmt;
use crate::guard::Guard;
use crate::report::diagnostics::{Shown, render};
use crate::{Output, Status, input};
use postbop_front::{File, Format, LineIndex, source};
use similar::TextDiff;
use std::path::Path;

/// Prints a program in canonical form.
pub fn run(args: &Fmt, output: &mut Output) -> Status {
    let path = &args.source.file;
    let name = path.display().to_string();
    if args.write && path == Path::new("-") {
        output.error("`--write` needs a file: standard input cannot be rewritten");
        return Status::BadInput;
    }
    let _guard = Guard::new(output.limits);
    let bytes = match input::bytes(path, output) {
        Ok(bytes) => bytes,
        Err(status) => return status,
    };
    let format = Format::of(&File { name: &name, bytes: &bytes });
    if format != Format::Program {
        output.error(&format!("{name}: is {}; `fmt` is for Boolean programs", format.name()));
        return Status::BadInput;
    }
    let formatted = match postbop_front::format(&bytes, input::options(&args.source, None)) {
        Ok(formatted) => formatted,
        Err(diagnostics) => {
            let text =
                if source::not_text(&bytes).is_some() { String::new() } else { source::decode(&bytes) };
            let lines = LineIndex::new(&text);
            render(&[Shown { name: &name, text: &text, lines: &lines }], &diagnostics, output);
            return Status::BadInput;
        }
    };
    let same = formatted.as_bytes() == bytes;
    match (args.check, args.write) {
        (true, _) if same => Status::Good,
        (true, _) => {
            output.err.push_str(&format!("{name}: not in canonical form\n"));
            if !output.quiet {
                output.out.push_str(&difference(&name, &String::from_utf8_lossy(&bytes), &formatted));
            }
            Status::Violated
        }
        (_, true) if same => Status::Good,
        (_, true) => match std::fs::write(path, formatted) {
            Ok(()) => Status::Good,
            Err(error) => {
                output.error(&format!("{name}: {error}"));
                Status::BadInput
            }
        },
        _ => {
            output.out.push_str(&formatted);
            Status::Good
        }
    }
}

/// What would change, as `diff -u` writes it.
fn difference(name: &str, before: &str, after: &str) -> String {
    let diff = TextDiff::configure().timeout(std::time::Duration::from_secs(2)).diff_lines(before, after);
    let (from, to) = (name.to_owned(), format!("{name} (canonical)"));
    diff.unified_diff().header(&from, &to).to_string()
}
