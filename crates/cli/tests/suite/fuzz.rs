//! Random changes of the cases, against the front end.
//!
//! Whatever the bytes, reading and formatting do not panic and reading twice gives the same. What happens to be a
//! program still must print back and keep its meaning when formatted. The seed is printed; `POSTBOP_FUZZ_SEED` and
//! `POSTBOP_FUZZ_SECONDS` repeat a run or make it longer.

use crate::cases::formats;
use crate::common::{bytes, cases, files_below, root, say, scratch};
use postbop_engine::Budget;
use postbop_engine::fixpoint::{library::LIBRARY, run::run};
use postbop_front::{Options, read};
use postbop_ir::text;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use xtask::rng::Rng;

/// Pieces of the language, and of what is not.
const PIECES: [&str; 48] = [
    "begin",
    "end",
    "if",
    "then",
    "elsif",
    "else",
    "fi",
    "while",
    "do",
    "od",
    "decl",
    "void",
    "bool",
    "uint<3>",
    "int<2>",
    "int",
    "ref ",
    "call ",
    "return ",
    "goto L;",
    "assert(",
    "assume(",
    "constrain",
    "enforce ",
    "dead ",
    "schoose[",
    "ite(",
    "thread ",
    "start_thread goto L;",
    "'x",
    "*",
    "?",
    ":=",
    "(",
    ")",
    ",",
    ";",
    "{a b}",
    "[1]",
    "=>",
    "//",
    "/*",
    "*/",
    "-",
    "99999999999999999999",
    "\0",
    "é",
    "\u{feff}",
];

/// Pieces of formulas.
const FORMULAS: [&str; 40] = [
    "mu ",
    "nu ",
    "query ",
    "type ",
    "paths ",
    "entries ",
    "exists x: ",
    "forall i: ",
    "State",
    "Pc",
    "Global",
    "bit",
    "0..3",
    "-2..1",
    "{ a: bit }",
    "[2]",
    "[i]",
    ".pc",
    ".Global.",
    "R(",
    "(",
    ")",
    "=",
    "!=",
    "<=>",
    "=>",
    "&",
    "|",
    "!",
    "+ 1",
    "- 9",
    ".",
    ",",
    ";",
    ":",
    "\"L\"",
    "\"",
    "//",
    "/*",
    "99999999999999999999",
];

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Changes a source in a few places.
fn mutate(rng: &mut Rng, sources: &[Vec<u8>], pieces: &[&str]) -> Vec<u8> {
    let mut bytes = rng.pick(sources).clone();
    for _ in 0..rng.range(1, 6) {
        let at = rng.below(bytes.len() + 1);
        let end = (at + rng.range(0, 12)).min(bytes.len());
        match rng.below(6) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..at, rng.pick(pieces).bytes())),
            2 => drop(bytes.splice(at..end, rng.pick(pieces).bytes())),
            3 => bytes.insert(at, rng.bits() as u8),
            4 => {
                let copy = bytes[at..end].to_vec();
                let to = rng.below(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            _ => {
                let other = rng.pick(sources);
                let from = rng.below(other.len());
                let piece = other[from..(from + rng.range(1, 40)).min(other.len())].to_vec();
                bytes.splice(at..end, piece);
            }
        }
    }
    bytes
}

/// What is wrong with how this was read as a graph; whether it was a program.
fn examine_graph(bytes: &[u8]) -> Result<bool, String> {
    let Ok(program) = text::parse(&String::from_utf8_lossy(bytes)) else { return Ok(false) };
    match text::parse(&text::print(&program)) {
        Ok(back) if back == program => Ok(true),
        _ => Err("is a graph that does not print back".into()),
    }
}

/// What is wrong with how this was read; whether it was a program.
fn examine(bytes: &[u8]) -> Result<bool, String> {
    let (first, second) = (read(bytes, Options::default()), read(bytes, Options::default()));
    let told = |reading: &postbop_front::Reading| format!("{:?}", reading.diagnostics);
    if first.program != second.program || told(&first) != told(&second) {
        return Err("is read in two ways".into());
    }
    let _ = postbop_front::format(bytes, Options::default());
    let Some(program) = first.program else { return Ok(false) };
    match text::parse(&text::print(&program)) {
        Ok(back) if back == program => {}
        Ok(_) => return Err("makes a graph that does not print back".into()),
        Err(flaw) => return Err(format!("makes a graph that does not read back: {flaw}")),
    }
    formats(bytes, &program).map(|()| true)
}

/// What is wrong with how this was read as formulas, and run if it is short work; whether it was formulas.
fn examine_formulas(bytes: &[u8]) -> Result<bool, String> {
    let source = b"decl L, n; void f(x) begin L: n := x; end void main() begin f(n); L: skip; end";
    let program = read(source, Options::default()).program.expect("it has no errors");
    let budget = Budget::unlimited().with_time(Duration::from_millis(20));
    let (text, ran) = run(&program, Vec::new(), bytes, &budget, || ());
    let flaws = ran.as_ref().err().into_iter().flatten();
    match flaws
        .into_iter()
        .find(|flaw| flaw.span.end as usize > text.len() || flaw.span.start > flaw.span.end)
    {
        Some(flaw) => Err(format!("has a mistake nowhere: {flaw:?}")),
        None => Ok(ran.is_ok()),
    }
}

/// Examines changed sources until the time is up.
fn fuzz(
    part: &str,
    sources: &[Vec<u8>],
    pieces: &[&str],
    seconds: u64,
    examine: fn(&[u8]) -> Result<bool, String>,
) {
    let by_time = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_micros() as u64);
    let seed = number("POSTBOP_FUZZ_SEED").unwrap_or_else(by_time);
    let limit = Duration::from_secs(number("POSTBOP_FUZZ_SECONDS").unwrap_or(seconds));
    say(&format!("{part} fuzz: seed {seed}"));
    let (start, mut tried, mut programs) = (Instant::now(), 0u64, 0u64);
    while start.elapsed() < limit {
        let seed = seed.wrapping_add(tried);
        let input = mutate(&mut Rng::new(seed), sources, pieces);
        let examined = catch_unwind(AssertUnwindSafe(|| examine(&input)));
        match examined.unwrap_or_else(|_| Err("causes a panic".into())) {
            Ok(was_program) => programs += u64::from(was_program),
            Err(problem) => {
                let kept = scratch(&format!("{part}_fuzz_found"), &input);
                let shown = String::from_utf8_lossy(&input);
                panic!("seed {seed} {problem}\nkept as {}\n{shown}", kept.display());
            }
        }
        tried += 1;
    }
    say(&format!("{part} fuzz: {tried} inputs, {programs} of them programs"));
    assert!(tried > 100 && programs > 10, "{tried} inputs, {programs} programs: hardly a test");
}

#[test]
fn changed_cases_are_read_without_panic() {
    let sources: Vec<Vec<u8>> = cases().iter().map(|case| bytes(case)).collect();
    fuzz("parser", &sources, &PIECES, 5, examine);
}

#[test]
fn changed_graphs_are_read_without_panic() {
    let read =
        |case: &PathBuf| Some(text::print(&read(&bytes(case), Options::default()).program?).into_bytes());
    let sources: Vec<Vec<u8>> = cases().iter().filter_map(read).collect();
    fuzz("graph", &sources, &PIECES, 2, examine_graph);
}

#[test]
fn changed_formulas_are_read_without_panic() {
    let mut sources: Vec<Vec<u8>> =
        LIBRARY.iter().map(|algorithm| algorithm.text.as_bytes().to_vec()).collect();
    for folder in ["examples/formulas", "tests/cases/formulas"] {
        let files = files_below(&root().join(folder), "fix").into_iter();
        sources.extend(files.map(|path| std::fs::read(path).expect("it can be read")));
    }
    // What takes long on purpose is no place to start from.
    sources.retain(|source| !String::from_utf8_lossy(source).contains("expect: error E008"));
    fuzz("formula", &sources, &FORMULAS, 3, examine_formulas);
}
