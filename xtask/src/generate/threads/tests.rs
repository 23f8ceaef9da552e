//! Room `xtask`: random programs with threads are correct, varied, and mostly small enough for the oracle.

use super::*;
use postbop_ir::Schedule;
use postbop_ir::oracle_threads::{Answer, Limits, interleave};

#[test]
fn programs_are_correct_and_mostly_small_enough_to_judge() {
    let limits = Limits { configurations: 60_000, depth: 5 };
    let (mut reached, mut never, mut unknown) = (0, 0, 0);
    for seed in 0..60 {
        let source = threads(seed);
        assert_eq!(source, threads(seed));
        let reading = postbop_front::read(source.as_bytes(), Default::default());
        assert!(
            !reading.diagnostics.iter().any(|found| found.is_error()),
            "{:?}\n{source}",
            reading.diagnostics
        );
        let program = reading.program.expect("no errors");
        assert_eq!(postbop_ir::validate(&program), [], "{source}");
        assert!(program.threads().len() > 1, "{source}");
        let targets: Vec<_> =
            program.labels().iter().filter(|label| label.name == "ERR").map(|label| label.loc).collect();
        assert!(!targets.is_empty(), "{source}");
        match interleave(&program, Schedule::Switches(3), limits).at(&targets) {
            Answer::Reached(_) => reached += 1,
            Answer::Never => never += 1,
            Answer::Unknown => unknown += 1,
        }
    }
    assert!(reached > 10 && never > 10 && unknown < 20, "{reached} reached, {never} not, {unknown} unknown");
    println!("{reached} reached, {never} not, {unknown} unknown");
}
/// The calls of a program that store results: where to, and what is called.
fn stored(source: &str) -> Vec<(Vec<&str>, &str)> {
    let calls = |text: &str| {
        let name = text.split_once('(').map_or("", |(name, _)| name);
        name.len() == 2 && name.starts_with(['f', 'h'])
    };
    let assignments = source.lines().filter_map(|line| line.trim().split_once(" := "));
    let stores = assignments.filter(|(_, right)| calls(right));
    stores.map(|(left, right)| (left.split(", ").collect(), right)).collect()
}

/// Whether a result goes to a variable whose name begins with one of these.
fn stores_to(source: &str, names: &[char]) -> bool {
    stored(source).iter().any(|(targets, _)| targets.iter().any(|target| target.starts_with(names)))
}

/// The body of the procedure of a name.
fn body_of<'a>(source: &'a str, name: &str) -> &'a str {
    let body = source.split_once(&format!(" {name}(uint<2> n")).map_or("", |(_, rest)| rest);
    body.split_once("\nend").map_or("", |(body, _)| body)
}

fn mutual(source: &str) -> bool {
    let calls = |from: &str, to: &str| body_of(source, from).contains(&format!("{to}(n"));
    (0..3).any(|thread| {
        let (f, h) = (format!("f{thread}"), format!("h{thread}"));
        calls(&f, &h) && calls(&h, &f)
    })
}

/// How often a program makes a choice.
fn choices(source: &str) -> usize {
    let falls_off = |body: &str| !body.contains("return ");
    let with_results = ["bool f", "bool h", "bool<2> f", "bool<2> h", ") f", ") h"];
    let heads = source.lines().filter(|line| with_results.iter().any(|head| line.contains(head)));
    let names = heads.filter_map(|line| line.split_once("(uint<2> n")?.0.rsplit(' ').next());
    let written: usize = ["dead ", ":= *;", "if (*)"].map(|word| source.matches(word).count()).iter().sum();
    written + names.filter(|name| falls_off(body_of(source, name))).count()
}

#[test]
fn every_construct_occurs_and_choices_are_rare() {
    type Sign = (&'static str, fn(&str) -> bool);
    let signs: [Sign; 17] = [
        ("a result to a shared variable", |source| stores_to(source, &['g'])),
        ("a result to a local", |source| stores_to(source, &['l', 'a', 'b'])),
        ("a result to a variable of the thread", |source| stores_to(source, &['o'])),
        ("several results", |source| stored(source).iter().any(|(targets, _)| targets.len() > 1)),
        ("a discarded result", |source| stores_to(source, &['_'])),
        ("a Boolean parameter", |source| source.contains("(uint<2> n, bool b)")),
        ("procedures that call each other", mutual),
        ("variables of a thread", |source| source.contains("decl thread_local bool own")),
        ("a start at a label", |source| source.contains("start_thread goto L")),
        ("a started procedure", |source| source.contains("start_thread thread")),
        ("a started procedure with an argument", |source| source.contains("(bool a)")),
        ("a started recursive procedure", |source| source.contains("start_thread f")),
        ("a start by a label", |source| source.contains("ASYNC_")),
        ("an end of a thread", |source| source.contains("end_thread;")),
        ("dead", |source| source.contains("dead ")),
        ("a chosen value", |source| source.contains(":= *;")),
        ("a chosen branch", |source| source.contains("if (*)")),
    ];
    let sources: Vec<String> = (0..200).map(threads).collect();
    for (what, sign) in signs {
        let count = sources.iter().filter(|source| sign(source)).count();
        assert!(count >= 2, "{what}: {count} times");
    }
    let most = sources.iter().map(|source| choices(source)).max();
    assert_eq!(most, Some(1), "choices in one program");
}
