//! Room `xtask`: what a soak starts from, and what is done with it.
//!
//! Inputs are the cases and examples of the project, a corpus beside the repository if there is one, and random programs
//! of every kind. Some of them are also there in another form: as program graphs, and, if they have a violation, with the
//! JSON report of it.

use super::temporal;
use crate::fuzz::Kind;
use crate::generate::Features;
use crate::rng::Rng;
use postbop_engine::engines;
use postbop_front::{File, Format};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What the last file of an input is, which is also the one that commands are about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Form {
    /// A Boolean program.
    Program,
    /// A pushdown system.
    Pushdown,
    /// A pushdown system with variables.
    Symbolic,
    /// Horn clauses.
    Clauses,
    /// A program graph.
    Graph,
    /// Formulas about a Boolean program.
    Formulas,
    /// A report about a Boolean program.
    Report,
    /// A temporal formula, a monitor or an automaton, and the Boolean program it is about.
    Temporal,
}

/// All forms, and how often each is tried.
pub const FORMS: [(Form, u32); 8] = [
    (Form::Program, 10),
    (Form::Pushdown, 3),
    (Form::Symbolic, 3),
    (Form::Clauses, 3),
    (Form::Graph, 3),
    (Form::Formulas, 3),
    (Form::Report, 2),
    (Form::Temporal, 2),
];

/// An input: its files with their endings, the program first.
#[derive(Clone, Debug)]
pub struct Input {
    /// What it is.
    pub form: Form,
    /// Endings and contents.
    pub files: Vec<(&'static str, Vec<u8>)>,
}

/// All inputs to start from.
pub fn collect(root: &Path, binary: &Path) -> Result<Vec<Input>, String> {
    let folders = ["tests/cases", "examples", "../shared/corpus", "../../shared/corpus"]
        .map(|folder| root.join(folder));
    let files = |ending: &str| -> Vec<PathBuf> {
        let all = folders.iter().flat_map(|folder| files_below(folder, ending)).enumerate();
        // Most of what begins with a mistake ends with one: few of these will do.
        all.filter(|(at, path)| at % 4 == 0 || !has_error(path)).map(|(_, path)| path).collect()
    };
    let read = |path: &Path| std::fs::read(path).map_err(|problem| format!("{}: {problem}", path.display()));
    let mut inputs = Vec::new();
    for path in files("bp") {
        inputs.push(Input { form: Form::Program, files: vec![("bp", read(&path)?)] });
    }
    for path in files("pds") {
        let bytes = read(&path)?;
        let form = match Format::of(&File { name: "system.pds", bytes: &bytes }) {
            Format::Symbolic => Form::Symbolic,
            _ => Form::Pushdown,
        };
        let mut files = vec![("pds", bytes)];
        for ending in ["init", "spec"] {
            files.extend(read(&path.with_extension(ending)).ok().map(|bytes| (ending, bytes)));
        }
        inputs.push(Input { form, files });
    }
    for path in files("smt2") {
        inputs.push(Input { form: Form::Clauses, files: vec![("smt2", read(&path)?)] });
    }
    let about = read(&root.join("tests/cases/formulas/loop.bp"))?;
    for path in
        files("fix").into_iter().chain(files_below(&root.join("crates/engine/src/fixpoint/library"), "fix"))
    {
        inputs
            .push(Input { form: Form::Formulas, files: vec![("bp", about.clone()), ("fix", read(&path)?)] });
    }
    for path in files("bp").iter().step_by(5) {
        let output = |arguments: &[&str]| {
            let output = Command::new(binary).args(arguments).arg(path).output();
            output.map_err(|problem| format!("cannot run the binary: {problem}"))
        };
        let graph = output(&["emit"])?;
        if graph.status.success() {
            inputs.push(Input { form: Form::Graph, files: vec![("ir", graph.stdout)] });
        }
        let clauses = output(&["emit", "--chc"])?;
        if clauses.status.success() {
            inputs.push(Input { form: Form::Clauses, files: vec![("smt2", clauses.stdout)] });
        }
        let report = output(&["check", "--format", "json", "--timeout", "1s"])?;
        if report.status.code() == Some(1) && report.stdout.len() < 200_000 {
            inputs.push(Input {
                form: Form::Report,
                files: vec![("bp", read(path)?), ("json", report.stdout)],
            });
        }
    }
    inputs.extend(temporal::inputs(&read(&root.join("tests/cases/temporal/program.bp"))?));
    match FORMS.iter().find(|(form, _)| inputs.iter().all(|input| input.form != *form)) {
        Some((form, _)) => Err(format!("there is no input of the form {form:?} to start from")),
        None => Ok(inputs),
    }
}

/// Whether the name of a case is that of a diagnostic, such as `E012_of_something`.
fn has_error(path: &Path) -> bool {
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or("");
    name.starts_with("E0")
}

/// All files with an ending below a folder, in order; none if the folder is not there.
fn files_below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A random input that no file has.
pub fn random(rng: &mut Rng) -> Input {
    let (seed, time) = (rng.bits() >> 1, Duration::ZERO);
    let kind = match rng.below(7) {
        0 => Kind::Sequential(Features::all()),
        1 => Kind::Threads(time),
        2 => Kind::Long(time),
        3 => Kind::Many(time),
        4 => Kind::Moped(time),
        5 => Kind::Horn(time),
        _ => Kind::Pushdown(time),
    };
    let source = kind.program(seed);
    let files = kind.files(&source).into_iter().map(|(ending, text)| (ending, text.as_bytes().to_vec()));
    let form = match kind {
        Kind::Pushdown(_) => Form::Pushdown,
        Kind::Moped(_) => Form::Symbolic,
        Kind::Horn(_) => Form::Clauses,
        _ => Form::Program,
    };
    Input { form, files: files.collect() }
}

/// The arguments of a command about an input, whose files have these paths. `limits` are the options that limit memory
/// and time.
pub fn arguments(rng: &mut Rng, input: &Input, paths: &[String], limits: &[String]) -> Vec<String> {
    let first = paths[0].clone();
    let mut arguments = match input.form {
        Form::Report => return [&["replay".into(), first, paths[1].clone()], limits].concat(),
        Form::Formulas => {
            let formula = paths[1].clone();
            let mut all = vec!["fixpoint".into(), "run".into(), first, "--formula".into(), formula];
            all.extend_from_slice(limits);
            return all;
        }
        Form::Program if rng.chance(0.15) => {
            let mut all = vec!["fmt".into(), first];
            all.extend(rng.chance(0.3).then(|| "--check".into()));
            all.extend_from_slice(limits);
            return all;
        }
        Form::Temporal => {
            let mut all = vec!["check".to_owned(), first];
            all.extend(temporal::option(input, &paths[1]));
            all
        }
        _ if rng.chance(0.15) => {
            let mut all = vec![(*rng.pick(&["list", "emit", "emit"])).to_owned(), first];
            all.extend((all[0] == "emit" && rng.chance(0.5)).then(|| "--chc".to_owned()));
            return [all, limits.to_vec()].concat();
        }
        _ => vec!["check".to_owned(), first],
    };
    arguments.extend_from_slice(limits);
    options(rng, &mut arguments);
    arguments
}

/// Random options of `check`.
fn options(rng: &mut Rng, arguments: &mut Vec<String>) {
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|&word| word.to_owned()));
    const OTHERS: [&[&str]; 14] = [
        &["--shortest"],
        &["--shortest"],
        &["--format", "json"],
        &["--format", "json"],
        &["--format", "json"],
        &["--trace", "none"],
        &["--trace", "full"],
        &["--trace", "full"],
        &["--first"],
        &["--stats"],
        &["--color", "always"],
        &["--dialect", "satabs"],
        &["--dialect", "slam"],
        &["--threads", "4"],
    ];
    const FORMULAS: [&str; 7] = [
        "G F in main",
        "F return main",
        "G (call f -> F !in f)",
        "G !(in main U g)",
        "F G {x}",
        "[]<> at a",
        "<> q:b",
    ];
    const TARGETS: [&str; 10] =
        ["ERR", "ERROR", "R", "main:L", "assert:5", "1.1", "SLIC_ERROR", "bounds:3", "a", "q:b"];
    if rng.chance(0.5) {
        let names: Vec<&str> =
            iter::once("auto").chain(engines().iter().map(|engine| engine.name())).collect();
        add(&["--engine", *rng.pick(&names)]);
    }
    let mut chosen = rng.sample(&OTHERS, 3);
    chosen.truncate(rng.below(4));
    chosen.sort_unstable();
    chosen.dedup_by_key(|words| words[0]);
    chosen.iter().for_each(|words| add(words));
    match rng.below(12) {
        0 => add(&["--quiet"]),
        1 => add(&["--verbose"]),
        _ => {}
    }
    if rng.chance(0.06) {
        add(&["--target", TARGETS[rng.below(TARGETS.len())]]);
    }
    match rng.below(24) {
        0 => add(&["--terminates"]),
        1 => add(&["--fair", TARGETS[rng.below(TARGETS.len())]]),
        2 => add(&["--ltl", FORMULAS[rng.below(FORMULAS.len())]]),
        _ => {}
    }
    match rng.below(6) {
        0 => add(&["--switches", &rng.below(9).to_string()]),
        1 => add(&["--rounds", &rng.range(1, 5).to_string()]),
        _ => {}
    }
    if rng.chance(0.7) {
        add(&["--allow-empty"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_inputs_and_commands_are_of_every_kind() {
        let rng = &mut Rng::new(5);
        let inputs: Vec<Input> = (0..60).map(|_| random(rng)).collect();
        assert!(inputs.iter().any(|input| input.files.len() == 3 && input.form == Form::Pushdown));
        assert!(inputs.iter().any(|input| input.form == Form::Program));
        assert!(inputs.iter().any(|input| input.form == Form::Symbolic));
        assert!(inputs.iter().any(|input| input.form == Form::Clauses));
        let paths = ["a.bp".to_owned(), "b".to_owned()];
        let input = |at: usize| Input { form: FORMS[at % FORMS.len()].0, files: Vec::new() };
        let all = (0..2000).map(|at| arguments(rng, &input(at), &paths, &["--memory".into()]).join(" "));
        let all: Vec<String> = all.collect();
        for wanted in [
            "check a.bp --memory",
            "fmt a.bp",
            "list",
            "emit a.bp --memory",
            "emit a.bp --chc",
            "--shortest",
            "--switches 8",
            "replay a.bp b",
            "--formula b --memory",
            "--monitor b --memory",
        ] {
            assert!(all.iter().any(|line| line.contains(wanted)), "{wanted}");
        }
        assert!(all.iter().all(|line| !line.contains("--quiet --verbose")));
    }
}
