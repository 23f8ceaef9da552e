//! Room `cli/commands`: properties whose questions are about a translation of the program: `check --ltl`, `--monitor`,
//! `--terminates PROC` and `--deadlock`.
//!
//! A formula is negated and becomes an automaton; a monitor is one, and so is a file in the Hanoi omega-automata format. What is
//! checked is that no run of the program is accepted. The engines are asked about the product of program and automaton, and
//! what they find is told as a run of the program.

use crate::args::Check;
use crate::input::{Input, bytes};
use crate::report::diagnostics::{Shown, render};
use crate::{Output, Status};
use postbop_engine::{
    Accepts, Answer, Budget, Observer, Progress, Unsupported, Verdict, Wrapped, deadlock, product, shows,
    within,
};
use postbop_front::temporal::{Atom, Automaton, hoa, ltl, monitor};
use postbop_front::{Diagnostic, LineIndex, Names};
use postbop_ir::{Rejected, Trace};
use std::path::Path;

/// What is watched for: the runs that must not be.
pub struct Watched {
    automaton: Automaton,
    atoms: Vec<Atom>,
    accepts: Accepts,
    name: String,
}

/// What the user asks about runs as a whole, if anything.
pub fn properties<'i>(
    args: &Check,
    input: &'i Input,
    budget: &Budget,
    output: &mut Output,
) -> Result<Vec<Wrapped<'i>>, Status> {
    let mut all = Vec::new();
    for formula in &args.ltl {
        all.push(of_formula(formula, input, budget, output)?);
    }
    for file in &args.monitor {
        all.push(of_file(file, input, budget, output)?);
    }
    if !all.is_empty() && !input.program.is_sequential() {
        output.error("formulas and monitors about programs with threads are not supported yet");
        return Err(Status::BadInput);
    }
    let mut wrapped: Vec<Wrapped> = Vec::with_capacity(all.len());
    for Watched { automaton, atoms, accepts, name } in &all {
        let product = product(&input.program, automaton, atoms, *accepts, name, budget);
        wrapped.push(product.map_err(|_| too_large(name, output))?);
    }
    if let Some(Some(proc)) = &args.terminates {
        wrapped.push(of_activations(proc, input, output)?);
    }
    if args.deadlock {
        wrapped.push(deadlock(&input.program).map_err(|Unsupported(what)| {
            output.error(&format!("{}: not supported: {what}", input.name()));
            Status::Unknown
        })?);
    }
    Ok(wrapped)
}

/// The formula or the monitor that a report names, if it names one.
pub fn named(name: &str, input: &Input, output: &mut Output) -> Option<Result<Watched, Status>> {
    let budget = Budget::unlimited();
    match name.split_once(':')? {
        ("ltl", formula) => Some(of_formula(formula, input, &budget, output)),
        ("monitor", file) => Some(of_file(Path::new(file), input, &budget, output)),
        _ => None,
    }
}

impl Watched {
    /// Whether a run is one that must not be.
    pub fn is_shown(&self, input: &Input, trace: &Trace) -> Result<bool, Rejected> {
        shows(&input.program, &self.automaton, &self.atoms, self.accepts, trace)
    }
}

/// That every activation of a procedure ends.
fn of_activations<'i>(proc: &str, input: &'i Input, output: &mut Output) -> Result<Wrapped<'i>, Status> {
    let procs = Names::new(&input.program, input.text()).procedures(proc);
    let procs = procs.map_err(|message| {
        output.error(&format!("{}: {message}", input.name()));
        Status::BadInput
    })?;
    if !input.program.is_sequential() {
        output.error("whether a procedure of a program with threads terminates is not supported yet");
        return Err(Status::BadInput);
    }
    Ok(within(&input.program, &procs, &format!("terminates:{proc}")))
}

fn of_formula(formula: &str, input: &Input, budget: &Budget, output: &mut Output) -> Result<Watched, Status> {
    let (read, diagnostics) = ltl(formula, &input.program);
    show("formula", formula, &diagnostics, output);
    let read = read.ok_or(Status::BadInput)?;
    let automaton = read.violations(&mut |bytes| budget.allows(bytes as u64).is_ok());
    let automaton = automaton.map_err(|_| too_large(formula, output))?;
    Ok(Watched { automaton, atoms: read.atoms, accepts: Accepts::Always, name: format!("ltl:{formula}") })
}

fn of_file(file: &Path, input: &Input, budget: &Budget, output: &mut Output) -> Result<Watched, Status> {
    let text = String::from_utf8_lossy(&bytes(file, output)?).into_owned();
    let path = file.display().to_string();
    let name = format!("monitor:{path}");
    let goes_on = &mut |bytes: usize| budget.allows(bytes as u64).is_ok();
    if text.trim_start().starts_with("HOA:") {
        let (read, diagnostics) =
            hoa(&text, &input.program, goes_on).map_err(|_| too_large(&path, output))?;
        show(&path, &text, &diagnostics, output);
        let read = read.ok_or(Status::BadInput)?;
        return Ok(Watched { automaton: read.automaton, atoms: read.atoms, accepts: Accepts::Always, name });
    }
    let (read, diagnostics) = monitor(&text, &input.program);
    show(&path, &text, &diagnostics, output);
    let read = read.ok_or(Status::BadInput)?;
    let automaton = read.automaton(goes_on).map_err(|_| too_large(&path, output))?;
    let accepts = if read.repeats { Accepts::Always } else { Accepts::Once };
    Ok(Watched { automaton, atoms: read.atoms, accepts, name })
}

fn show(name: &str, text: &str, diagnostics: &[Diagnostic], output: &mut Output) {
    let lines = LineIndex::new(text);
    render(&[Shown { name, text, lines: &lines }], diagnostics, output);
}

fn too_large(what: &str, output: &mut Output) -> Status {
    output.error(&format!("{what}: its automaton does not fit in the limits of time and memory"));
    Status::Unknown
}

/// Tells what was found about the product as something about the program.
pub struct Translated<'p, 'i, O> {
    /// The product.
    pub product: &'p Wrapped<'i>,
    /// Who is told.
    pub observer: O,
}

impl<O: Observer> Observer for Translated<'_, '_, O> {
    fn progress(&mut self, progress: &Progress) {
        self.observer.progress(progress);
    }

    fn answer(&mut self, query: usize, answer: &mut Answer) {
        if let Verdict::Violated(trace) = &answer.verdict {
            match self.product.back(trace) {
                Ok((trace, changes)) => {
                    (answer.verdict, answer.changes) = (Verdict::Violated(trace), changes)
                }
                // What is not known is told at the end.
                Err(why) => {
                    answer.verdict = Verdict::Unknown(why);
                    return;
                }
            }
        }
        self.observer.answer(query, answer);
    }
}
