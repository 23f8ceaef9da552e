//! Room `cli/commands`: `postbop fmt`.

use crate::args::Fmt;
use crate::input::Kind;
use crate::{Said, Status, input, report};
use postbop_front::{LineIndex, source};

/// Prints a program in canonical form.
pub fn run(args: &Fmt, said: &mut Said) -> Status {
    let path = &args.source.file;
    let bytes = match input::bytes(path, said) {
        Ok(bytes) => bytes,
        Err(status) => return status,
    };
    let other = match Kind::of(path, &bytes) {
        Kind::Program => None,
        Kind::Graph => Some("a program graph"),
        Kind::Pushdown => Some("a pushdown system"),
    };
    if let Some(what) = other {
        said.err.push_str(&format!("error: {}: is {what}; `fmt` is for Boolean programs\n", path.display()));
        return Status::BadInput;
    }
    let formatted = match postbop_front::format(&bytes, input::options(&args.source)) {
        Ok(formatted) => formatted,
        Err(diagnostics) => {
            let text = source::decode(&bytes);
            let lines = LineIndex::new(&text);
            report::diagnostics::render(
                &path.display().to_string(),
                &text,
                &lines,
                &diagnostics,
                &mut said.err,
            );
            return Status::BadInput;
        }
    };
    let same = formatted.as_bytes() == bytes;
    match (args.check, args.write) {
        (true, _) if same => Status::Good,
        (true, _) => {
            said.err.push_str(&format!("{}: not in canonical form\n", path.display()));
            Status::Violated
        }
        (_, true) if same => Status::Good,
        (_, true) => match std::fs::write(path, formatted) {
            Ok(()) => Status::Good,
            Err(error) => {
                said.err.push_str(&format!("error: {}: {error}\n", path.display()));
                Status::BadInput
            }
        },
        _ => {
            said.out.push_str(&formatted);
            Status::Good
        }
    }
}
