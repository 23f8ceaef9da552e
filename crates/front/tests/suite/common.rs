//! Room `front`: what several tests need.

use postbop_front::{Options, Reading, pds, read};
use postbop_ir::{Action, Builder, Expr, FileId, Id, Loc, Op, Proc, ProcId, Program, Span};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Reads a source with the default options.
pub fn reading(source: &str) -> Reading {
    read(source.as_bytes(), Options::default())
}

/// The program of a source that has no errors.
pub fn program(source: &str) -> Program {
    let reading = reading(source);
    let errors: Vec<_> = reading.diagnostics.iter().filter(|d| d.is_error()).collect();
    assert!(errors.is_empty(), "{errors:?}\n{source}");
    let program = reading.program.expect("a program");
    assert_valid(&program);
    program
}

/// The codes of all problems of a source, each once, in order.
pub fn codes(source: &str) -> Vec<&'static str> {
    let mut codes: Vec<_> = reading(source).diagnostics.iter().map(|d| d.code.text()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// Panics if a program breaks a promise of the lowering.
pub fn assert_valid(program: &Program) {
    assert_eq!(postbop_ir::validate(program), []);
}

/// The program without the places in its source.
pub fn erased(program: Program) -> Program {
    let span = Span::default();
    let mut out = Builder::default();
    for var in program.vars().iter() {
        out.push_var(var.clone());
    }
    for proc in program.procs().iter() {
        out.push_proc(Proc { span, ..proc.clone() });
    }
    for loc in program.locs().iter() {
        out.push_loc(Loc { span, ..*loc });
    }
    for edge in program.edges().iter() {
        out.edge(edge.from, edge.to, edge.action.clone(), span);
    }
    for thread in program.threads().iter() {
        out.thread(&thread.name, thread.main);
    }
    program.labels().iter().for_each(|label| out.label(&label.name, label.loc));
    program.checks().iter().for_each(|check| out.check(check.kind, check.loc, span));
    program.no_room().iter().for_each(|loc| out.no_room(*loc));
    out.set_prologue(program.prologue());
    out.set_atomic(program.atomic());
    out.finish_threads()
}

/// The source files with this ending under a folder, in order.
pub fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The project's own cases, and the programs that others wrote if they are at hand.
pub fn all_files() -> Vec<PathBuf> {
    let mut all = files(&root().join("tests/cases"), "bp");
    let corpus = corpus();
    all.extend(corpus);
    all
}

/// Reads a pushdown system with the files beside it.
pub fn system(path: &Path) -> pds::Reading {
    let beside = |ending: &str| std::fs::read(path.with_extension(ending)).ok();
    let rules = std::fs::read(path).expect("a file");
    let (init, spec) = (beside("init"), beside("spec"));
    let init = init.as_ref().map(|bytes| (FileId(1), &bytes[..]));
    pds::read(&rules, init, spec.as_ref().map(|bytes| (FileId(2), &bytes[..])))
}

/// Where the programs are that others wrote.
pub fn folder() -> PathBuf {
    std::env::var_os("POSTBOP_CORPUS").map_or(root().join("../shared/corpus"), PathBuf::from)
}

/// The Boolean programs that others wrote; says so if they are absent.
pub fn corpus() -> Vec<PathBuf> {
    let found = files(&folder(), "bp");
    if found.is_empty() {
        eprintln!("skipped: no corpus in {}", folder().display());
    }
    found
}

fn expr(program: &Program, expr: &Expr) -> String {
    let mut stack: Vec<String> = Vec::new();
    for op in &expr.code {
        let operands = stack.split_off(stack.len() - op.arity());
        let name = |var| program.vars()[var].name.clone();
        stack.push(match op {
            Op::Const(_, value) => value.to_string(),
            Op::Var(var) => name(*var),
            Op::Next(var) => format!("'{}", name(*var)),
            Op::Choice(ty) => format!("*{ty}"),
            op => {
                let word = format!("{op:?}").to_lowercase();
                let word = word.split('(').next().unwrap_or_default().to_owned();
                format!("{word}({})", operands.join(" "))
            }
        });
    }
    assert_eq!(stack.len(), 1, "{:?}", expr.code);
    stack.pop().unwrap_or_default()
}

fn action(program: &Program, action: &Action) -> String {
    let list = |exprs: &[Expr]| exprs.iter().map(|e| expr(program, e)).collect::<Vec<_>>().join(", ");
    let name = |var: &postbop_ir::VarId| program.vars()[*var].name.clone();
    let names = |vars: &[postbop_ir::VarId]| vars.iter().map(name).collect::<Vec<_>>().join(", ");
    match action {
        Action::Assume(e) => format!("assume {}", expr(program, e)),
        Action::Assign { targets, values, constraint } => {
            let suffix = constraint.as_ref().map(|c| format!(" constrain {}", expr(program, c)));
            format!("{} := {}{}", names(targets), list(values), suffix.unwrap_or_default())
        }
        Action::Havoc(vars) => format!("havoc {}", names(vars)),
        Action::Call { callee, args, results } => {
            let results: Vec<_> = results.iter().map(|r| r.as_ref().map_or("_".into(), name)).collect();
            format!("{} := {}({})", results.join(", "), program.procs()[*callee].name, list(args))
        }
        Action::Return(values) if values.is_empty() => "return".to_owned(),
        Action::Return(values) => format!("return {}", list(values)),
    }
}

/// The edges of a procedure, one on each line. Locations are numbered in the order they appear, the entry is 0,
/// the exit `X`, and one that must not be reached has a `!`.
pub fn graph(source: &str, name: &str) -> String {
    let program = program(source);
    let found = program.procs().pairs().find(|(_, proc)| proc.name == name);
    edges(&program, found.expect("the procedure").0)
}

/// The same of a procedure of a program.
pub fn edges(program: &Program, id: ProcId) -> String {
    let proc = &program.procs()[id];
    let mut numbers = vec![proc.entry];
    let mut out = String::new();
    let mut show = |loc| {
        if loc == proc.exit {
            return "X".to_owned();
        }
        let number = numbers.iter().position(|known| *known == loc).unwrap_or_else(|| {
            numbers.push(loc);
            numbers.len() - 1
        });
        let bad = program.checks().iter().any(|check| check.loc == loc);
        format!("{number}{}", if bad { "!" } else { "" })
    };
    for edge in program.edges().iter().filter(|edge| program.locs()[edge.from].proc == id) {
        assert_eq!(program.locs()[edge.to].proc, id);
        let (from, to) = (show(edge.from), show(edge.to));
        writeln!(out, "{from} -> {to}: {}", action(program, &edge.action)).expect("a string");
    }
    for label in program.labels().iter().filter(|label| program.locs()[label.loc].proc == id) {
        writeln!(out, "{}: {}", label.name, show(label.loc)).expect("a string");
    }
    assert!(program.vars().ids().all(|var| var.index() < program.vars().len()));
    out
}

/// Checks the graph of `main` of a source with these globals and this body. Both sides may be indented.
pub fn check(globals: &str, body: &str, wanted: &str) {
    let source = format!("{globals} void main() begin {body} end");
    let trimmed =
        |text: &str| text.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n");
    assert_eq!(trimmed(&graph(&source, "main")), trimmed(wanted), "{source}");
}

/// A small generator of numbers: tests must not depend on chance.
pub fn numbers(mut seed: u64) -> impl Iterator<Item = u64> {
    std::iter::repeat_with(move || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        seed >> 33
    })
}
