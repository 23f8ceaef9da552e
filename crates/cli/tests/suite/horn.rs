//! Horn clauses: programs written as clauses and read back, what Z3 says of them and of certificates, and what `check` says.

use crate::common::{all_good, bytes, cases, postbop, postbop_reading, root, say, scratch};
use crate::proof_mutants::mutants;
use crate::proofs::{held, queries, with_integers};
use postbop_engine::{Budget, EngineChoice, Silent, Verdict, verify};
use postbop_front::{Options, properties, property, read};
use postbop_ir::horn::model;
use postbop_ir::{LocId, Program, Query, Task};
use postbop_validate::{Answer, validate};
use std::process::Output;
use std::sync::Arc;
use std::time::Duration;
use xtask::fuzz::Kind;
use xtask::generate::Features;
use xtask::peers::{self, Z3, clauses};

/// The sequential programs among the cases that have something to check.
fn programs() -> Vec<(String, Program, Vec<LocId>)> {
    let mut found = Vec::new();
    for case in cases() {
        let reading = read(&bytes(&case), Options::default());
        let Some(program) = reading.program.filter(Program::is_sequential) else { continue };
        let queries = properties(&program, &reading.text);
        let locs: Vec<LocId> = queries.iter().flat_map(|query| query.locs().iter().copied()).collect();
        if !locs.is_empty() {
            found.push((case.display().to_string(), program, locs));
        }
    }
    assert!(found.len() > 100, "only {} programs were found", found.len());
    found
}

/// Whether a location is reached, if that is found out soon.
fn reached(program: &Program, locs: &[LocId]) -> Option<bool> {
    let queries = [Query::reach("all", locs.to_vec())];
    let budget = Budget::unlimited().with_time(Duration::from_secs(2));
    let report = verify(&Task::new(program, &queries), EngineChoice::Auto, &budget, &mut Silent);
    match &report.answers[0].verdict {
        Verdict::Violated(_) => Some(true),
        Verdict::Holds { .. } => Some(false),
        Verdict::Unknown(_) => None,
    }
}

/// The same question about the clauses of a program, read back.
fn reached_in_clauses(program: &Program, locs: &[LocId]) -> Option<bool> {
    derives_false(&clauses(program, locs))
}

/// Whether false can be derived from clauses, if that is found out soon.
fn derives_false(clauses: &str) -> Option<bool> {
    let reading = read(clauses.as_bytes(), Options::default());
    let program = reading.program.unwrap_or_else(|| panic!("{:?}", reading.diagnostics));
    let query = property(&program, "", "ERROR").expect("clauses have a query");
    reached(&program, query.locs())
}

#[test]
fn clauses_of_programs_read_back_have_the_same_verdict() {
    let mut all = programs();
    for seed in 0..60 {
        let source = Kind::Sequential(Features::all()).program(seed);
        let program = read(source.as_bytes(), Options::default()).program.expect("it is correct");
        let labels = program.labels().iter().map(|label| label.loc);
        let locs = labels.chain(program.checks().iter().map(|check| check.loc)).collect();
        all.push((source, program, locs));
    }
    let (mut agreed, mut open, mut failures) = ([0, 0], 0, Vec::new());
    for (name, program, locs) in &all {
        match (reached(program, locs), reached_in_clauses(program, locs)) {
            (Some(one), Some(other)) if one == other => agreed[usize::from(one)] += 1,
            (Some(one), Some(other)) => failures.push(format!("{name}: {one}, but as clauses {other}")),
            _ => open += 1,
        }
    }
    say(&format!("horn: round trips of {} programs: {agreed:?} agree, {open} open", all.len()));
    all_good(&failures);
    assert!(agreed.iter().all(|&count| count >= 40) && open <= 10, "{agreed:?}, {open} open");
}

fn z3() -> Option<Z3> {
    let found = Z3::find();
    if found.is_none() {
        say("horn: Z3 SKIPPED, it is not installed; `pip install z3-solver` installs it");
    }
    found.map(|(z3, _)| z3)
}

fn text(output: Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn z3_has_the_same_verdict_on_clauses() {
    let Some(z3) = z3() else { return };
    let (mut agreed, mut failures) = ([0, 0], Vec::new());
    for (at, (name, program, locs)) in programs().iter().enumerate().step_by(3) {
        let Some(reached) = reached(program, locs) else { continue };
        let file = scratch(&format!("clauses_{at}.smt2"), clauses(program, locs));
        let said = text(z3.command(&file, 5).output().expect("Z3 runs"));
        match peers::verdict(&said) {
            "violated" if reached => agreed[1] += 1,
            "holds" if !reached => agreed[0] += 1,
            "unknown" => {}
            _ => failures.push(format!("{name}: {reached}, but Z3 says {said}")),
        }
    }
    say(&format!("horn: Z3 agrees on {agreed:?} programs"));
    all_good(&failures);
    assert!(agreed.iter().all(|&count| count >= 10), "{agreed:?}");
}

/// A certificate is confirmed if the answer to each of its questions is `unsat`.
fn confirmed(z3: Z3, file: &std::path::Path) -> Result<usize, String> {
    let said = text(z3.script(file).output().expect("Z3 runs"));
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    match !lines.is_empty() && lines.iter().all(|line| *line == "unsat") {
        true => Ok(lines.len()),
        false => Err(said),
    }
}

#[test]
fn z3_confirms_certificates() {
    let Some(z3) = z3() else { return };
    let (mut proofs, mut runs, mut questions, mut failures) = (0, 0, 0, Vec::new());
    for (at, case) in cases().iter().enumerate().step_by(3) {
        let path = case.to_str().expect("plain names");
        let file = scratch(&format!("certificate_{at}.smt2"), "");
        std::fs::remove_file(&file).expect("it can be removed");
        let certificate = file.to_str().expect("plain names");
        let ran =
            postbop(&["check", path, "--engine", "summary", "--timeout", "5s", "--certificate", certificate]);
        if !file.exists() {
            continue;
        }
        match confirmed(z3, &file) {
            Ok(count) => {
                *(if ran.status == Some(0) { &mut proofs } else { &mut runs }) += 1;
                questions += count;
            }
            Err(said) => failures.push(format!("{path}: {said}")),
        }
    }
    say(&format!("horn: Z3 confirms {proofs} proofs and {runs} runs by {questions} answers"));
    all_good(&failures);
    assert!(proofs >= 20 && runs >= 10, "{proofs} proofs, {runs} runs");
}

/// A certificate that is changed is not confirmed: a fact less, or a relation without its condition.
/// The sets of a changed proof may be closed for all values with which procedures are entered, and not for others: what the checker rejects, the clauses
/// may allow. What it accepts they must.
#[test]
fn z3_confirms_changed_proofs_about_integers_that_are_accepted() {
    let Some(z3) = z3() else { return };
    let (mut accepted, mut both_reject, mut rejected, mut failures) = (0, 0, 0, Vec::new());
    for case in cases() {
        let Some(program) = with_integers(&bytes(&case)) else { continue };
        let Some(first) = held(&program, &queries(&program), "weighted").into_iter().next() else { continue };
        let Some(proof) = first.proof else { continue };
        let mut all = mutants(&program, &proof);
        all.push(("no change", Arc::unwrap_or_clone(proof)));
        for (kind, proof) in all {
            let mut written = String::new();
            let answer = validate(&program, &proof, first.query.locs(), &|_| true, 2);
            if model::write(&program, &proof, first.query.locs(), &mut written).is_err() {
                continue;
            }
            let confirmed = confirmed(z3, &scratch("changed_integers.smt2", written));
            match (answer, confirmed) {
                (Answer::Valid, Ok(_)) => accepted += 1,
                (Answer::Valid, Err(said)) => {
                    failures.push(format!("{}: {kind} is accepted, and Z3 says {said}", case.display()));
                }
                (Answer::Invalid(_), Err(_)) => both_reject += 1,
                _ => rejected += 1,
            }
        }
    }
    say(&format!(
        "horn: changed proofs about integers: {accepted} accepted, {both_reject} rejected by Z3 too, {rejected} not"
    ));
    all_good(&failures);
    assert!(accepted >= 10 && both_reject > rejected, "{accepted}, {both_reject}, {rejected}");
}

#[test]
fn z3_rejects_wrong_certificates() {
    let Some(z3) = z3() else { return };
    let file = scratch("certificate_to_change.smt2", "");
    let certificate = file.to_str().expect("plain names");
    postbop(&["check", "examples/bebop.bp", "--target", "R", "--certificate", certificate]).with(1);
    let derivation = std::fs::read_to_string(&file).expect("it was written");
    assert_eq!(confirmed(z3, &file), Ok(1));
    let facts: Vec<&str> = derivation.lines().filter(|line| line.starts_with("(assert")).collect();
    assert!(facts.len() > 10);
    for fact in facts {
        let changed = scratch("certificate_changed.smt2", derivation.replacen(fact, "", 1));
        assert!(confirmed(z3, &changed).is_err(), "without {fact}");
    }
    postbop(&["check", "examples/locks-fixed.bp", "--engine", "summary", "--certificate", certificate])
        .with(0);
    let model = std::fs::read_to_string(&file).expect("it was written");
    assert!(confirmed(z3, &file).is_ok());
    let mut rejected = 0;
    for line in model.lines().filter(|line| line.starts_with("(define-fun") && line.contains("(=> ")) {
        // The relation is false, whatever its arguments are.
        let (before, _) = line.split_once(" Bool (=> ").expect("a definition");
        let changed =
            scratch("certificate_changed.smt2", model.replacen(line, &format!("{before} Bool false)"), 1));
        rejected += usize::from(confirmed(z3, &changed).is_err());
    }
    assert!(rejected > 3, "{rejected}");
}

#[test]
fn answers_are_those_of_solvers() {
    let ran = postbop(&["check", "tests/cases/horn/counter_stays_even.smt2"]).with(0);
    assert!(ran.out.lines().any(|line| line == "sat"), "{}", ran.out);
    assert_eq!(ran.last(), "VERDICT: holds");
    let ran = postbop(&["check", "tests/cases/horn/fibonacci.smt2", "--trace", "none"]).with(1);
    assert!(ran.out.lines().any(|line| line == "unsat"), "{}", ran.out);
    // A program that is no system of clauses has no such line.
    let ran = postbop(&["check", "examples/locks-fixed.bp"]).with(0);
    assert!(!ran.out.lines().any(|line| line == "sat"), "{}", ran.out);
    // What stands on standard input has no name: it is known by its first command.
    let source = std::fs::read(root().join("tests/cases/horn/rules.smt2")).expect("a case");
    postbop_reading(&["check", "-"], &source).with(1);
}

#[test]
fn clauses_are_about_what_is_asked() {
    let emit = |args: &[&str]| postbop(&[&["emit", "--chc", "examples/bebop.bp"], args].concat());
    let count = |text: &str| text.lines().filter(|line| line.contains("(main.fails.p0 ")).count();
    // Without a target nothing says that the program fails but the query.
    assert_eq!(count(&emit(&[]).with(0).out), 1);
    let clauses = emit(&["--target", "R"]).with(0).out;
    assert_eq!(count(&clauses), 2);
    assert!(clauses.starts_with("(set-logic HORN)\n") && clauses.ends_with("(check-sat)\n"));
    assert!(emit(&["--target", "nowhere"]).with(2).err.contains("there is no label"));
    let threads = postbop(&["emit", "--chc", "examples/seats.bp"]).with(2);
    assert!(threads.err.contains("threads"), "{}", threads.err);
    postbop(&["emit", "examples/bebop.bp", "--target", "R"]).with(2);
}

/// The function of SMT-LIB of this name, of two vectors of so many bits.
fn on_vectors(name: &str, bits: u32, x: i64, y: i64) -> i64 {
    let size = 1 << bits;
    let signed = |number: i64| if number >= size / 2 { number - size } else { number };
    let (s, t) = (signed(x), signed(y));
    let value = match name {
        "bvnand" => !(x & y),
        "bvnor" => !(x | y),
        "bvxnor" => !(x ^ y),
        "bvcomp" => return (x == y).into(),
        "bvudiv" if y == 0 => -1,
        "bvudiv" => x / y,
        "bvurem" if y == 0 => x,
        "bvurem" => x % y,
        "bvsdiv" if t == 0 => {
            if s >= 0 {
                -1
            } else {
                1
            }
        }
        "bvsdiv" => s / t,
        "bvsrem" | "bvsmod" if t == 0 => s,
        "bvsrem" => s % t,
        // The remainder that has the sign of the divisor.
        "bvsmod" => s - t * (s as f64 / t as f64).floor() as i64,
        "bvshl" => x << y,
        "bvlshr" => x >> y,
        "bvashr" => s >> y,
        "(_ rotate_left 2)" => (0..2).fold(x, |all, _| (all << 1 | all >> (bits - 1)) & (size - 1)),
        "(_ rotate_right 2)" => (0..2).fold(x, |all, _| all >> 1 | (all & 1) << (bits - 1)),
        _ => panic!("no function {name}"),
    };
    value.rem_euclid(size)
}

#[test]
fn functions_on_vectors_are_those_of_smt_lib() {
    let two = [
        "bvnand", "bvnor", "bvxnor", "bvcomp", "bvudiv", "bvurem", "bvsdiv", "bvsrem", "bvsmod", "bvshl",
        "bvlshr", "bvashr",
    ];
    for name in two.into_iter().chain(["(_ rotate_left 2)", "(_ rotate_right 2)"]) {
        for bits in [1, 2, 3, 5] {
            let call = if two.contains(&name) { format!("({name} x y)") } else { format!("({name} x)") };
            let sort = format!("(_ BitVec {bits})");
            let size = if name == "bvcomp" { 1 } else { bits };
            let pairs: Vec<(i64, i64)> =
                (0..1 << bits).flat_map(|x| (0..1 << bits).map(move |y| (x, y))).collect();
            // With a wrong value for one pair there is a pair that has another one.
            for wrong in [None, Some(pairs.len() - 1)] {
                let differs = |(at, &(x, y)): (usize, &(i64, i64))| {
                    let value = on_vectors(name, bits, x, y) ^ i64::from(wrong == Some(at));
                    format!(
                        "(and (= x (_ bv{x} {bits})) (= y (_ bv{y} {bits})) (not (= {call} (_ bv{value} {size}))))"
                    )
                };
                let all: Vec<String> = pairs.iter().enumerate().map(differs).collect();
                let text = format!(
                    "(set-logic HORN)\n(declare-fun p ({sort} {sort}) Bool)\n(assert (forall ((x {sort}) (y {sort})) (p x y)))\n\
                     (assert (forall ((x {sort}) (y {sort})) (=> (and (p x y) (or {})) false)))\n(check-sat)\n",
                    all.join(" ")
                );
                assert_eq!(derives_false(&text), Some(wrong.is_some()), "{name} of {bits} bits");
            }
        }
    }
}

#[test]
fn division_by_negative_constants_is_that_of_smt_lib() {
    // The remainder is at least 0, and the dividend is quotient times divisor and remainder.
    for (x, quotient, rest) in [(7, -2, 1), (6, -2, 0), (0, 0, 0), (-1, 1, 2), (-7, 3, 2)] {
        for (wrong, derived) in [(0, false), (1, true)] {
            let text = format!(
                "(set-logic HORN)\n(declare-fun p (Int) Bool)\n(declare-const unused (_ BitVec 8))\n(assert (p (+ 0 {})))\n(assert (forall ((x Int)) \
                 (=> (and (p x) (not (and (= (div x (- 3)) (+ {wrong} {})) (= (mod x (- 3)) {rest})))) false)))\n",
                signed(x),
                signed(quotient)
            );
            assert_eq!(derives_false(&text), Some(derived), "{x}: {text}");
        }
    }
    let used = "(set-logic HORN)\n(declare-const c Int)\n(assert (=> (= c 1) false))\n";
    let reading = read(used.as_bytes(), Options::default());
    assert!(reading.program.is_none() && reading.diagnostics.iter().any(|one| one.message.contains("`c`")));
}

/// An integer as SMT-LIB writes it.
fn signed(number: i64) -> String {
    if number < 0 { format!("(- {})", -number) } else { number.to_string() }
}
