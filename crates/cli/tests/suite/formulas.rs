//! Formulas: the cases, the examples of the manual, and the library.
//!
//! A case is a file `tests/cases/formulas/NAME.fix`. Its header names a program, `// program: PATH`, and says what is
//! expected: `// expect: QUERY true|false` for every query of the file, or `// expect: error E012`, then those codes and
//! no others. Marks `//~ E012` say on which lines.

use crate::common::{Ran, all_good, files_below, postbop, root, say, scratch};
use std::collections::{BTreeMap, BTreeSet};

/// What the lines of a header say after these words.
fn said<'t>(text: &'t str, words: &str) -> Vec<&'t str> {
    text.lines().filter_map(|line| line.strip_prefix(words)).map(str::trim).collect()
}

/// The codes that must be reported, by line.
fn marks(text: &str) -> Vec<(usize, String)> {
    let lines = text.lines().enumerate().filter_map(|(at, line)| Some((at + 1, line.split_once("//~")?.1)));
    lines.flat_map(|(at, codes)| codes.split_whitespace().map(move |code| (at, code.to_owned()))).collect()
}

/// The codes that were reported, by line.
fn reported(err: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = err.lines().collect();
    let found = lines.windows(2).filter_map(|pair| {
        let code = pair[0].strip_prefix("error[")?.split(']').next()?;
        let line = pair[1].split_once("--> ")?.1.rsplit(':').nth(1)?;
        Some((line.parse().ok()?, code.to_owned()))
    });
    let mut found: Vec<_> = found.collect();
    found.sort();
    found
}

/// What is wrong with a case.
fn flaw(path: &str, text: &str) -> Option<String> {
    let [program] = said(text, "// program: ")[..] else { return Some("names no program".into()) };
    let expected = said(text, "// expect: ");
    let ran = postbop(&["fixpoint", "run", program, "--formula", path]);
    let codes: BTreeSet<&str> = expected.iter().filter_map(|line| line.strip_prefix("error ")).collect();
    if codes.is_empty() {
        let answers: BTreeMap<&str, &str> =
            ran.out.lines().filter_map(|line| line.split_once(": ")).collect();
        let wanted: BTreeMap<&str, &str> = expected.iter().filter_map(|line| line.split_once(' ')).collect();
        let good = ran.status == Some(0) && !wanted.is_empty() && answers == wanted;
        return (!good).then(|| format!("expected {wanted:?}\n{}{}", ran.out, ran.err));
    }
    let found = reported(&ran.err);
    let all: BTreeSet<&str> = found.iter().map(|(_, code)| code.as_str()).collect();
    let marked = marks(text);
    let good = ran.status == Some(2) && all == codes && (marked.is_empty() || found == marked);
    (!good).then(|| format!("expected {codes:?} at {marked:?}, not {found:?}\n{}{}", ran.out, ran.err))
}

#[test]
fn cases_get_the_answers_they_expect() {
    let cases = files_below(&root().join("tests/cases/formulas"), "fix");
    assert!(cases.len() > 40, "only {} cases", cases.len());
    let mut failures = Vec::new();
    for case in &cases {
        let text = std::fs::read_to_string(case).expect("a case can be read");
        let path = case.strip_prefix(root()).expect("it is below").to_str().expect("plain names");
        failures.extend(flaw(path, &text).map(|flaw| format!("{path}: {flaw}")));
    }
    say(&format!("formulas: {} cases, {} failures", cases.len(), failures.len()));
    all_good(&failures);
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The manual shows a command, and under it what it prints.
fn shown(manual: &str, args: &[&str], status: i32) {
    let ran = postbop(args).with(status);
    let both = format!("$ postbop {}\n{}", args.join(" "), ran.out);
    assert!(manual.contains(&both), "the manual does not show:\n{both}");
}

#[test]
fn the_manual_shows_real_files_and_answers() {
    let manual = read("docs/formulas.md");
    for path in
        ["examples/formulas/backward.fix", "examples/formulas/equal.fix", "examples/formulas/toggle.bp"]
    {
        assert!(manual.contains(&read(path)), "the manual does not show {path} as it is");
    }
    let formulas: String = read("crates/engine/src/fixpoint/library/ef.fix");
    assert!(manual.contains(&formulas), "the manual does not show `ef` as it is");
    let toggle = "examples/formulas/toggle.bp";
    let (backward, equal) = ("examples/formulas/backward.fix", "examples/formulas/equal.fix");
    shown(&manual, &["fixpoint", "run", toggle, "--formula", backward], 0);
    shown(&manual, &["fixpoint", "run", toggle, "--formula", backward, "--target", "flip:M"], 0);
    shown(&manual, &["fixpoint", "run", toggle, "--formula", equal], 0);
    shown(&manual, &["fixpoint", "list"], 0);
}

/// By construction of `toggle.bp`: it ends with the flags opposite, so there is no way to the error; they differ
/// at L, and between the two statements of `flip` they agree.
#[test]
fn the_examples_have_the_right_answers() {
    let run = |formula: &str, more: &[&str]| {
        let args = ["fixpoint", "run", "examples/formulas/toggle.bp", "--formula", formula];
        postbop(&[&args, more].concat()).with(0).out
    };
    assert_eq!(run("examples/formulas/backward.fix", &[]), "reachable: false\n");
    assert_eq!(run("examples/formulas/backward.fix", &["--target", "L"]), "reachable: true\n");
    assert_eq!(
        run("examples/formulas/equal.fix", &[]),
        "opposite_at_L: true\nopposite_at_M: false\nequal_at_M: true\nL_is_reached: true\n"
    );
}

#[test]
fn the_library_is_listed_shown_and_short() {
    let listed = postbop(&["fixpoint", "list"]).with(0).out;
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["summary", "ef", "ef-split", "ef-opt", "switches"]);
    for name in names {
        let text = postbop(&["fixpoint", "show", name]).with(0).out;
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
        let lines = text.lines().filter(is_code).count();
        let most = if name == "ef-opt" { 50 } else { 40 };
        assert!((5..=most).contains(&lines), "{name} has {lines} lines");
    }
    postbop(&["fixpoint", "show", "nosuch"]).with(2);
}

#[test]
fn formulas_on_the_command_line() {
    let (fig1, formula) = ("examples/bebop.bp", "examples/formulas/backward.fix");
    for algorithm in ["summary", "ef", "ef-split", "ef-opt"] {
        let args = ["check", fig1, "--target", "R", "--engine", "fixpoint", "--algorithm", algorithm];
        assert_eq!(postbop(&args).with(1).last(), "VERDICT: violated");
    }
    // Without an engine the algorithm chooses it.
    postbop(&["check", fig1, "--target", "R", "--algorithm", "ef"]).with(1);
    for engine in ["explicit", "summary"] {
        let ran = postbop(&["check", fig1, "--target", "R", "--engine", engine, "--algorithm", "ef"]).with(2);
        assert!(ran.err.contains("--algorithm is for --engine fixpoint"), "{}", ran.err);
    }
    let ran = postbop(&["check", fig1, "--target", "R", "--engine", "fixpoint", "--shortest"]).with(3);
    assert!(ran.last().starts_with("VERDICT: unknown (unsupported: shortest traces"), "{}", ran.out);
    let run = ["fixpoint", "run", fig1, "--formula", formula];
    assert!(postbop(&[&run[..], &["--stats"]].concat()).with(0).out.contains("Bad.rounds"));
    let stopped = postbop(&[&run[..], &["--timeout", "0s"]].concat()).with(3);
    assert!(stopped.out.starts_with("reachable: unknown ("), "{}", stopped.out);
    for wrong in [&["fixpoint", "run", fig1][..], &["fixpoint", "run", fig1, "--formula", "nosuch.fix"]] {
        assert!(!postbop(wrong).with(2).err.is_empty());
    }
    postbop(&[&run[..], &["--target", "NOSUCH"]].concat()).with(2);
    let other = postbop(&[&run[..], &["--target", "terminates"]].concat()).with(2);
    assert!(other.err.contains("terminates is not about what can be reached"), "{}", other.err);
}

#[test]
fn every_algorithm_finds_a_trace_from_an_entry_that_is_called() {
    for algorithm in ["summary", "ef", "ef-split", "ef-opt"] {
        let case = "tests/cases/calls/entry_that_is_called.bp";
        let ran = postbop(&["check", case, "--engine", "fixpoint", "--algorithm", algorithm]).with(1);
        assert!(ran.out.contains("x=1"), "{algorithm}: {}", ran.out);
    }
}

/// Runs formulas on a small program, with a limit on time.
fn on_toggle(name: &str, formulas: String, timeout: &str) -> Ran {
    let path = scratch(&format!("{name}.fix"), formulas);
    let path = path.to_str().expect("plain names");
    let program = "examples/formulas/toggle.bp";
    postbop(&["fixpoint", "run", program, "--formula", path, "--timeout", timeout])
}

#[test]
fn formulas_may_be_long_and_wide() {
    let chain: String = (1..60_000).map(|at| format!("mu R{at}(x: bit) = R{}(x);\n", at - 1)).collect();
    let chain = format!("mu R0(x: bit) = x;\n{chain}query R59999(1);\n");
    let start = std::time::Instant::now();
    assert_eq!(on_toggle("chain", chain, "30s").with(0).out, "query: true\n");
    assert!(start.elapsed().as_secs() < 30, "counting takes its time: {:?}", start.elapsed());
    let circle: String =
        (0..1_000).map(|at| format!("mu R{at}(x: bit) = x | R{}(x);\n", (at + 1) % 1_000)).collect();
    assert_eq!(on_toggle("circle", circle + "query R0(1);\n", "60s").with(0).out, "query: true\n");
    for (part, mark, answer) in [("true", "&", "true"), ("false", "|", "false"), ("R(1)", "|", "true")] {
        let wide = vec![part; 200_000].join(&format!(" {mark} "));
        let wide = format!("mu R(x: bit) = x;\nquery {wide};\n");
        let ran = on_toggle(&format!("wide_{answer}_{}", part.len()), wide, "60s").with(0);
        assert_eq!(ran.out, format!("query: {answer}\n"));
    }
}

#[test]
fn compiling_formulas_has_its_limits() {
    // Conjuncts that all mention other variables are worth a choice of order, which takes its time.
    let names: Vec<String> = (0..400).map(|at| format!("x{at}")).collect();
    let pairs: Vec<String> = (0..400).flat_map(|a| (0..a).map(move |b| format!("R(x{a}, x{b})"))).collect();
    let source =
        format!("mu R(x, y: bit) = x = y;\nquery exists {}: bit. {};\n", names.join(", "), pairs.join(" & "));
    let start = std::time::Instant::now();
    let ran = on_toggle("pairs", source, "300ms").with(3);
    // On a slow machine the time is up before everything is read; then there is no query yet.
    assert!(ran.out.ends_with(": unknown (time limit of 0.3 s)\n"), "{}", ran.out);
    assert!(start.elapsed() < std::time::Duration::from_secs(10), "{:?}", start.elapsed());
    let doubled = format!("query {};\n", ["true"; 60].join(" <=> "));
    assert!(on_toggle("doubled", doubled, "60s").with(2).err.contains("E008"));
    let many: Vec<String> = (0..5_000).map(|at| format!("x{at}")).collect();
    let many = format!("query exists {}: bit. !({});\n", many.join(", "), many.join(" & "));
    assert!(on_toggle("many_variables", many, "60s").with(2).err.contains("E010"));
}

#[test]
fn formulas_about_unbounded_integers_are_refused() {
    let program = scratch("unbounded_formulas.bp", "decl int x;\nvoid main() begin x := x + 1; end\n");
    let program = program.to_str().expect("plain names");
    let ran = postbop(&["fixpoint", "run", program, "--formula", "examples/formulas/equal.fix"]).with(2);
    assert!(ran.err.contains("unbounded integers; give them a width"), "{}", ran.err);
}
