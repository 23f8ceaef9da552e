//! Room `cli/commands`: `postbop fixpoint`.

use super::check::budget;
use crate::args::{Fixpoint, RunFormulas};
use crate::guard::Guard;
use crate::report::diagnostics::{Shown, render};
use crate::report::text;
use crate::{Output, Status, input, properties};
use postbop_engine::fixpoint::library::{LIBRARY, SWITCHES, algorithm};
use postbop_engine::fixpoint::{representable, run::run as run_formulas};
use postbop_front::LineIndex;

/// Lists, shows or runs formulas.
pub fn run(command: &Fixpoint, output: &mut Output) -> Status {
    match command {
        Fixpoint::List => {
            let width = LIBRARY.iter().map(|algorithm| algorithm.name.len()).max().unwrap_or(0);
            for algorithm in LIBRARY.iter().chain([&SWITCHES]) {
                output.out.push_str(&format!("{:width$}  {}\n", algorithm.name, algorithm.about));
            }
            Status::Good
        }
        Fixpoint::Show { algorithm: name } => {
            output.out.push_str(algorithm(name).map_or("", |algorithm| algorithm.text));
            Status::Good
        }
        Fixpoint::Run(args) => on_program(args, output).unwrap_or_else(|status| status),
    }
}

fn on_program(args: &RunFormulas, output: &mut Output) -> Result<Status, Status> {
    let budget = budget(&args.question.cost);
    let input = input::read(&args.source, output)?;
    let guard = Guard::new(output.limits);
    let formulas = input::bytes(&args.formula, output)?;
    let refuse = |output: &mut Output, message: String| {
        output.err.push_str(&format!("error: {}: {message}\n", input.name()));
        Status::BadInput
    };
    let program = &input.program;
    representable(program).map_err(|refusal| refuse(output, refusal.0))?;
    let locs =
        properties::targets(&input, &args.question.target).map_err(|message| refuse(output, message))?;
    let (source, ran) = run_formulas(program, locs, &formulas, &budget, || drop(guard));
    let answers = ran.map_err(|flaws| {
        let name = args.formula.display().to_string();
        let lines = LineIndex::new(&source);
        render(&[Shown { name: &name, text: &source, lines: &lines }], &flaws, output);
        Status::BadInput
    })?;
    if args.question.stats.is_some() {
        output.out.push_str(&text::stats("fixpoint", &answers.stats));
        output.out.push('\n');
    }
    let mut status = Status::Good;
    for (name, answer) in &answers.queries {
        let answer = match answer {
            Ok(truth) => truth.to_string(),
            Err(why) => {
                status = Status::Unknown;
                format!("unknown ({why})")
            }
        };
        output.out.push_str(&format!("{name}: {answer}\n"));
    }
    Ok(status)
}
