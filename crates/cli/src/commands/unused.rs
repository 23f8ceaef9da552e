//! Room `cli/commands`: options of `check` that do nothing for the program at hand.

use crate::Output;
use crate::args::{Check, Dialect};
use crate::input::Input;
use postbop_front::Format;

/// Warns of options that make no difference for this program.
pub fn warn(args: &Check, input: &Input, output: &mut Output) {
    let sequential = input.program.is_sequential();
    let starts = !input.program.no_room().is_empty() || input.program.threads().len() > 1;
    let dialect = !matches!(args.source.dialect, Dialect::Auto);
    let threads = "the program has one thread";
    let checks = [
        ("--switches", args.switches.is_some() && sequential, threads.to_owned()),
        ("--rounds", args.rounds.is_some() && sequential, threads.to_owned()),
        ("--threads", args.source.threads.is_some() && !starts, "the program starts no threads".to_owned()),
        ("--dialect", dialect && input.format != Format::Program, format!("this is {}", input.format.name())),
    ];
    for (option, _, why) in checks.iter().filter(|(_, idle, _)| *idle && !output.quiet) {
        output.err.push_str(&format!("warning: {}: `{option}` does nothing here: {why}\n", input.name()));
    }
}
