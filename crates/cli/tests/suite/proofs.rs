//! Proofs: those of engines are accepted, through a file as well; files that were changed are not; and the command line says so.

use crate::common::{all_good, bytes, cases, postbop, say, scratch};
use postbop_engine::{Budget, EngineChoice, PROVERS, Silent, Verdict, engine, has_integers, verify};
use postbop_front::Options;
use postbop_ir::proof::{Certificate, Proof, Ref, parse, print};
use postbop_ir::{LocId, Program, Proofs, Query, Task};
use postbop_validate::{Answer, validate};
use std::sync::Arc;
use std::time::Duration;

/// A property that holds, and its proof, if there is one.
pub struct Held {
    /// The property.
    pub query: Query,
    /// The proof.
    pub proof: Option<Arc<Proof>>,
    checked: bool,
}

/// What holds of a program, by an engine, with a limit of time.
pub fn held(program: &Program, queries: &[Query], name: &str) -> Vec<Held> {
    let choice = EngineChoice::Only(engine(name).expect("it is in the list"));
    let task = Task { proofs: Proofs::Kept, ..Task::new(program, queries) };
    let budget = Budget::unlimited().with_time(Duration::from_secs(20));
    let report = verify(&task, choice, &budget, &mut Silent);
    let pairs = queries.iter().zip(report.answers);
    pairs
        .filter_map(|(query, answer)| match answer.verdict {
            Verdict::Holds { proof, .. } => {
                Some(Held { query: query.clone(), proof, checked: answer.checked })
            }
            _ => None,
        })
        .collect()
}

/// Every check and every label.
pub fn queries(program: &Program) -> Vec<Query> {
    let checks = program.checks().iter().map(|check| check.loc);
    let labels = program.labels().iter().map(|label| label.loc);
    let exits = |loc: &LocId| !program.is_exit(*loc);
    checks.chain(labels).filter(exits).map(|loc| Query::reach(loc.to_string(), vec![loc])).collect()
}

/// The program of a source, if it has one thread and no unbounded integers.
pub fn sequential(source: &[u8]) -> Option<Program> {
    of_one_thread(source).filter(|program| !has_integers(program))
}

/// The program of a source, if it has one thread and unbounded integers.
pub fn with_integers(source: &[u8]) -> Option<Program> {
    of_one_thread(source).filter(has_integers)
}

fn of_one_thread(source: &[u8]) -> Option<Program> {
    postbop_front::read(source, Options::default()).program.filter(Program::is_sequential)
}

#[test]
fn every_case_that_holds_is_proved() {
    let (mut programs, mut proofs, mut nodes) = (0, 0, 0);
    let mut failures = Vec::new();
    for case in cases() {
        let Some(program) = sequential(&bytes(&case)) else { continue };
        programs += 1;
        let queries = queries(&program);
        for name in PROVERS {
            for Held { query, proof, checked } in held(&program, &queries, name) {
                let place = format!("{}, {name}, {}", case.display(), query.name);
                let Some(proof) = proof.filter(|_| checked) else {
                    failures.push(format!("{place}: unchecked"));
                    continue;
                };
                proofs += 1;
                nodes += proof.nodes().len();
                let certificate = Certificate { properties: Vec::new(), proof: Arc::unwrap_or_clone(proof) };
                let read = parse(&program, &print(&program, &certificate));
                if read.as_ref() != Ok(&certificate) {
                    failures.push(format!("{place}: reads back as another proof"));
                }
            }
        }
    }
    say(&format!("proofs: {programs} programs, {proofs} properties proved with {nodes} nodes"));
    all_good(&failures);
    assert!(proofs > 300, "only {proofs}");
}

#[test]
fn cases_with_unbounded_integers_are_proved() {
    let (mut proofs, mut failures) = (0, Vec::new());
    for case in cases() {
        let Some(program) = with_integers(&bytes(&case)) else { continue };
        let queries = queries(&program);
        for Held { query, proof, checked } in held(&program, &queries, "weighted") {
            let place = format!("{}, {}", case.display(), query.name);
            match proof.filter(|_| checked) {
                None => failures.push(format!("{place}: unchecked")),
                Some(proof) => {
                    proofs += 1;
                    let proof = Arc::unwrap_or_clone(proof);
                    let certificate = Certificate { properties: Vec::new(), proof };
                    if parse(&program, &print(&program, &certificate)).as_ref() != Ok(&certificate) {
                        failures.push(format!("{place}: reads back as another proof"));
                    }
                }
            }
        }
    }
    say(&format!("proofs: {proofs} properties of programs with unbounded integers"));
    all_good(&failures);
    assert!(proofs > 30, "only {proofs}");
}

#[test]
fn families_that_hold_are_proved() {
    // With those engines that are quick on it. Of `deep-safe` engine `sat` sees that it holds by unfolding it, which leaves no lemmas.
    let most = ["summary", "sat", "fixpoint"];
    let families: [(&str, &[u64], &[&str]); 13] = [
        ("Tsafe", &[800], &most),
        ("locks", &[8], &most),
        ("ident", &[60], &most),
        ("swapret", &[60], &most),
        ("recpass", &[60], &most),
        ("chain", &[10, 20], &most),
        ("term", &[4, 20], &most[..1]),
        ("deep-safe", &[200], &["summary", "fixpoint"]),
        ("counter-safe", &[18], &most[..2]),
        ("relay", &[200], &["weighted"]),
        ("mccarthy", &[100], &["weighted"]),
        ("times", &[7], &["weighted"]),
        ("carry", &[20], &["weighted"]),
    ];
    for (name, parameters, engines) in families {
        let (program, locs) = xtask::family::instance(name, parameters).unwrap().read();
        let queries = [Query::reach("target", locs)];
        for engine in engines {
            let found = held(&program, &queries, engine);
            assert!(found.len() == 1 && found[0].checked, "{name} {parameters:?} by {engine}");
        }
    }
}

/// The proof of a property by an engine, as a file, and what is to be shown.
fn sample() -> (Program, String, Vec<LocId>) {
    let (program, locs) = xtask::family::instance("Tsafe", &[3]).unwrap().read();
    let found = held(&program, &[Query::reach("never", locs.clone())], "summary").remove(0);
    let proof = Arc::unwrap_or_clone(found.proof.expect("summary writes proofs"));
    let text = print(&program, &Certificate { properties: vec!["never".into()], proof });
    (program, text, locs)
}

#[test]
fn a_file_that_was_changed_is_no_proof_of_something_else() {
    let (program, text, locs) = sample();
    let read = |text: &str| parse(&program, text).map(|certificate| certificate.proof);
    let asked = |proof: &Proof| validate(&program, proof, &locs, &|_| true, 2);
    let proof = read(&text).expect("it reads back");
    assert_eq!(asked(&proof), Answer::Valid);
    // Whatever is in a file, reading and checking it comes to an end, and what is accepted has empty sets at the targets.
    let (mut refused, mut rejected, mut accepted) = (0, 0, 0);
    for at in 0..text.len() {
        for byte in [b'0', b'!', b' ', b'\n', b'9'] {
            let mut changed = text.clone().into_bytes();
            changed[at] = byte;
            match read(&String::from_utf8(changed).expect("it is ASCII")) {
                Err(_) => refused += 1,
                Ok(proof) => match asked(&proof) {
                    Answer::Valid => {
                        accepted += 1;
                        let empty = |loc: &LocId| matches!(proof.sets[*loc], None | Some(Ref::FALSE));
                        assert!(locs.iter().all(empty), "byte {at}");
                    }
                    _ => rejected += 1,
                },
            }
        }
    }
    say(&format!("changed proofs: {refused} refused, {rejected} rejected, {accepted} are proofs too"));
    assert!(refused > 100 && rejected > 20, "{refused} {rejected}");
    // The target is reachable as far as a proof of something else is concerned.
    let reached = program.labels().iter().find(|label| label.name == "reach").expect("it is there").loc;
    assert!(matches!(validate(&program, &proof, &[reached], &|_| true, 2), Answer::Invalid(_)));
}

#[test]
fn certificates_are_written_and_validated() {
    let source = "decl g;\nvoid main()\nbegin\n  g := 0;\n  f();\n  assert(g);\n  assert(!g);\nend\nvoid f()\nbegin\n  g := !g;\nend\n";
    let program = scratch("proved.bp", source);
    let other = scratch("other.bp", source.replace("!g;", "1;"));
    let proof = program.with_extension("proof");
    let [program, other, proof] = [&program, &other, &proof].map(|path| path.to_str().expect("it is UTF-8"));
    let checked =
        postbop(&["check", program, "--validate", "--certificate", proof, "--trace", "none"]).with(1);
    assert!(checked.out.contains("assert:6  holds; its proof was checked"), "{}", checked.out);
    let valid = postbop(&["validate", program, proof]).with(0);
    assert_eq!(valid.out, "assert:6  valid\n");
    let text = std::fs::read_to_string(proof).expect("it was written");
    let wrong = scratch("wrong.proof", text.replace("\"assert:6\"", "\"assert:7\""));
    let invalid = postbop(&["validate", program, wrong.to_str().expect("it is UTF-8")]).with(1);
    assert!(invalid.out.starts_with("assert:7  invalid"), "{}", invalid.out);
    let refused = postbop(&["validate", other, proof]).with(2);
    assert!(refused.err.contains("another program"), "{}", refused.err);
    let threads =
        "thread a begin void main() begin skip; end end thread b begin void main() begin R: skip; end end";
    let threads = scratch("threads.bp", threads);
    let threads = threads.to_str().expect("it is UTF-8");
    let none = postbop(&["check", threads, "--target", "R", "--switches", "0", "--certificate", proof]);
    assert!(none.err.contains("was not written"), "{}", none.err);
}
