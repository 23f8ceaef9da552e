//! Room `cli/commands`: `postbop validate`, which reads what `check --certificate` writes.

use crate::args::Validate;
use crate::guard::Guard;
use crate::input::{self, Input};
use crate::{Output, Status, properties};
use postbop_ir::proof::parse;
use postbop_validate::{Answer, validate};

/// Checks a proof against a program. No engine is asked.
pub fn run(args: &Validate, output: &mut Output) -> Status {
    let input = match input::read(&args.source, output) {
        Ok(input) => input,
        Err(status) => return status,
    };
    let _guard = Guard::new(output.limits);
    let bytes = match input::bytes(&args.proof, output) {
        Ok(bytes) => bytes,
        Err(status) => return status,
    };
    match answer(&input, &String::from_utf8_lossy(&bytes)) {
        Err(message) => {
            output.error(&format!("{}: {message}", args.proof.display()));
            Status::BadInput
        }
        Ok((names, answer)) => {
            let (word, status) = match answer {
                Answer::Valid => ("valid".to_owned(), Status::Good),
                Answer::Invalid(flaw) => (format!("invalid {flaw}"), Status::Violated),
                Answer::CannotTell(why) => (format!("cannot tell: {why}"), Status::Unknown),
            };
            names.iter().for_each(|name| output.out.push_str(&format!("{name}  {word}\n")));
            status
        }
    }
}

/// The names of the properties that a certificate is about, and whether it proves them. `Err` says why it is none.
fn answer(input: &Input, text: &str) -> Result<(Vec<String>, Answer), String> {
    let certificate = parse(&input.program, text).map_err(|error| error.to_string())?;
    if certificate.properties.is_empty() {
        return Err("it names no property".into());
    }
    let mut targets = properties::targets(input, &certificate.properties)?;
    // No run is ever at the exit of a procedure that was called: a return leads on at once.
    let main = input.program.procs()[input.program.main()].exit;
    targets.retain(|&loc| !input.program.is_exit(loc) || loc == main);
    let answer = validate(&input.program, &certificate.proof, &targets, &|_| true, usize::MAX);
    Ok((certificate.properties, answer))
}
