//! Programs with threads on the command line: bounds, statuses, lanes, trace files.

use crate::common::{all_good, engine_names, postbop, postbop_reading, say};
use crate::trace_files::replayed;
use serde_json::{Value, json};

const HANDSHAKE: &str = "tests/cases/threads/handshake.bp";
/// Each thread starts another one: there is no room for all.
const ENDLESS: &str =
    "decl a := F; void f() begin ASYNC_2: f(); end\nvoid main() begin ASYNC_1: f(); assert(!a); end\n";
/// One thread is started.
const ONCE: &str = "decl a := F; void f() begin skip; end\nvoid main() begin ASYNC_1: f(); assert(!a); end\n";

fn check(args: &[&str], source: &str, status: i32) -> String {
    postbop_reading(&[&["check", "-"], args].concat(), source.as_bytes()).with(status).out
}

fn last(text: &str) -> &str {
    text.lines().last().unwrap_or("")
}

#[test]
fn a_verdict_says_how_far_it_goes() {
    let ask = |bound: &[&str], status| {
        postbop(&[&["check", HANDSHAKE, "--target", "L"], bound].concat()).with(status).out
    };
    assert_eq!(
        last(&ask(&["--switches", "1", "--engine", "summary"], 0)),
        "VERDICT: holds up to 1 context switch"
    );
    assert_eq!(last(&ask(&["--switches", "0"], 0)), "VERDICT: holds up to 0 context switches");
    assert_eq!(last(&ask(&["--rounds", "1"], 0)), "VERDICT: holds up to 1 round");
    assert!(ask(&["--switches", "2"], 1).contains("violated by a run with 2 context switches"));
    assert_eq!(last(&ask(&["--rounds", "2"], 1)), "VERDICT: violated");
    assert_eq!(last(&ask(&[], 1)), "VERDICT: violated");
    let report = |bound: &[&str]| -> Value {
        serde_json::from_str(&ask(&[bound, &["--format", "json"]].concat(), 0)).expect("JSON")
    };
    let report = [report(&["--switches", "1"]), report(&["--rounds", "1"])]
        .map(|report| report["properties"][0].clone());
    assert_eq!(report[0]["bound"], json!({ "switches": 1 }));
    assert_eq!(report[1]["bound"], json!({ "rounds": 1 }));
}

#[test]
fn a_verdict_says_for_how_many_threads_it_is() {
    let endless = check(&["--switches", "3", "--threads", "3"], ENDLESS, 0);
    assert_eq!(last(&endless), "VERDICT: holds up to 3 threads");
    assert!(endless.contains("may start more than 3 threads"), "{endless}");
    let more = check(&["--switches", "3", "--threads", "4", "--format", "json"], ENDLESS, 0);
    let report: Value = serde_json::from_str(&more).expect("JSON");
    assert_eq!(report["properties"][0]["bound"], json!({ "threads": 4 }));
    assert_eq!(report["bound"], json!({ "threads": 4 }));
    assert_eq!(
        report["properties"].as_array().map(Vec::len),
        Some(1),
        "the question behind it is no property"
    );
    // Room grows by itself. Within three switches four threads run, each of which starts one: five are enough.
    assert_eq!(last(&check(&["--switches", "3"], ENDLESS, 0)), "VERDICT: holds up to 3 context switches");
    assert_eq!(last(&check(&["--switches", "3"], ONCE, 0)), "VERDICT: holds");
    let one = check(&["--switches", "0", "--threads", "1"], ONCE, 0);
    assert_eq!(last(&one), "VERDICT: holds up to 1 thread");
    // Without a bound there is no end to it, and what was not asked for is no proof.
    let unknown = check(&["--timeout", "300ms"], ENDLESS, 3);
    assert!(
        last(&unknown).starts_with("VERDICT: unknown (time limit of 0.3 s; no violation up to "),
        "{unknown}"
    );
    let graph = postbop_reading(&["emit", "-"], ENDLESS.as_bytes()).with(0).out;
    assert_eq!(last(&check(&["--switches", "3"], &graph, 0)), last(&endless));
}

/// The number of times that two recursive threads hand a number to each other.
const HANDED: u32 = 40;

/// Two such threads; they can also recurse for ever.
fn handing() -> String {
    let turn = |at: u32| format!("  spin(); assume(t = {at}); t := {};\n", at + 1);
    let of = |first: u32| (first..HANDED).step_by(2).map(turn).collect::<String>();
    format!(
        "decl uint<6> t := 0;\nvoid spin() begin if (*) then spin(); fi end\nvoid thread0() begin\n  if (*) then OTHER: skip; fi\n{}  \
         spin(); assume(t = {HANDED}); ERROR: skip;\nend\nvoid thread1() begin\n{}end\n",
        of(0),
        of(1)
    )
}

#[test]
fn a_bound_that_was_not_reached_is_unknown_and_what_was_found_is_kept() {
    let source = handing();
    let check = |args: &[&str], status| check(args, &source, status);
    let limits = ["--engine", "fixpoint", "--timeout", "500ms"];
    let asked = ["--target", "ERROR", "--target", "OTHER", "--switches", "40", "--trace", "none"];
    let out = check(&[&asked[..], &limits].concat(), 1);
    assert!(out.contains("OTHER  violated by a run with 0 context switches"), "{out}");
    assert!(out.contains("ERROR  unknown: time limit of 0.5 s; no violation up to "), "{out}");
    let alone = check(&[&["--switches", "40", "--format", "json"], &limits[..]].concat(), 3);
    let report: Value = serde_json::from_str(&alone).expect("JSON");
    assert_eq!(report["verdict"], "unknown");
    assert!(
        report["properties"][0]["explored"]["switches"].as_u64().is_some_and(|most| most < 40),
        "{report}"
    );
    assert!(report["properties"][0].get("bound").is_none() && report.get("bound").is_none(), "{report}");
    // The same without a bound: what was not asked for is no proof.
    let out = check(&limits, 3);
    assert!(last(&out).starts_with("VERDICT: unknown (time limit of 0.5 s; no violation up to "), "{out}");
    let held = check(&["--switches", "1", "--format", "json"], 0);
    let report: Value = serde_json::from_str(&held).expect("JSON");
    assert_eq!((&report["bound"], &report["verdict"]), (&json!({ "switches": 1 }), &"holds".into()));
}

/// Peterson's lock with the test the wrong way round.
const LOCK: &str = "decl f0 := 0; decl f1 := 0; decl turn := 0; decl c0 := 0; decl c1 := 0;
void thread0() begin
  while (1) do
    f0 := 1; turn := 1; while (f1 & !turn) do skip; od
    c0 := 1; assert(!c1); c0 := 0; f0 := 0;
  od
end
void thread1() begin
  while (1) do
    f1 := 1; turn := 0; while (f0 & turn) do skip; od
    c1 := 1; assert(!c0); c1 := 0; f1 := 0;
  od
end
";

#[test]
fn without_a_bound_runs_have_few_switches() {
    // One thread enters and is left there, the other walks in.
    for options in [&["--trace", "none"][..], &["--trace", "none", "--shortest"]] {
        let out = check(options, LOCK, 1);
        assert_eq!(out.matches("violated by a run with 1 context switch\n").count(), 2, "{out}");
    }
}

#[test]
fn bounds_have_ranges_and_exclude_each_other() {
    for wrong in [
        &["--switches", "1", "--rounds", "1"][..],
        &["--switches", "-1"],
        &["--switches", "101"],
        &["--rounds", "0"],
        &["--rounds", "101"],
        &["--threads", "0"],
        &["--threads", "65"],
    ] {
        let ran = postbop(&[&["check", HANDSHAKE], wrong].concat()).with(2);
        assert!(!ran.err.is_empty() && ran.out.is_empty(), "{wrong:?}: {}", ran.out);
    }
}

#[test]
fn each_thread_has_a_lane() {
    let tell = |detail: &str| {
        let args = ["check", HANDSHAKE, "--target", "L", "--switches", "2", "--shortest", "--trace", detail];
        postbop(&args).with(1).out
    };
    let diff = tell("diff");
    let place = |text: &str| {
        let line = diff.lines().find(|line| line.contains(text)).unwrap_or_else(|| panic!("{text}: {diff}"));
        line.chars().position(|c| c == '┃')
    };
    let (first, second) = (place("┃ first"), place("┃ second"));
    assert!(first < second, "{diff}");
    assert_eq!((place("x := T"), place("assume(x)")), (first, second), "{diff}");
    assert_eq!(place("first goes on"), first, "{diff}");
    assert!(diff.lines().all(|line| line.chars().count() <= 100), "{diff}");
    assert_eq!(tell("none").lines().count(), 2);
    let assume = |text: &str| text.lines().find(|line| line.contains("assume(x)")).map(str::to_owned);
    assert!(assume(&diff).is_some_and(|line| !line.contains("x=1")), "it changes nothing");
    assert!(assume(&tell("full")).is_some_and(|line| line.contains("x=1")));
}

#[test]
fn a_list_names_threads_and_no_label_that_nobody_wrote() {
    let list = postbop(&["list", HANDSHAKE]).with(0).out;
    assert!(list.contains("threads\n") && list.contains("second, starts in main"), "{list}");
    let list = postbop_reading(&["list", "-"], ENDLESS.as_bytes()).with(0).out;
    assert!(!list.contains('%'), "{list}");
}

#[test]
fn every_change_of_an_interleaved_trace_is_noticed() {
    let (mut rejected, mut accepted, mut failures) = (0, 0, Vec::new());
    for (case, label) in [
        ("handshake", "L"),
        ("recursion_goes_on", "DEEP"),
        ("interrupted_call", "SEEN"),
        ("getafix_names", "SLIC_ERROR"),
    ] {
        let path = format!("tests/cases/threads/{case}.bp");
        let report =
            postbop(&["check", &path, "--target", label, "--format", "json", "--switches", "3"]).with(1);
        for (place, _, line) in
            replayed(&path, &report.out, &format!("interleaved_{case}.json")).iter().skip(1)
        {
            match line.contains("  rejected: ") {
                true => rejected += 1,
                // What a variable happens to hold may turn out not to matter, and neither does a segment that nobody names.
                false
                    if ["/choices", "/initial", "/entry", "/segments with "]
                        .iter()
                        .any(|part| place.contains(part)) =>
                {
                    accepted += 1
                }
                false => failures.push(format!("{case}: {place}: {line}")),
            }
        }
    }
    say(&format!("interleaved trace files: mutants: {rejected} rejected, {accepted} accepted"));
    all_good(&failures);
    assert!(rejected > 500 && accepted * 20 < rejected, "the mutants hardly matter");
}

#[test]
fn where_a_thread_ends_is_a_place() {
    let source = "decl x := F;
thread one begin void main() begin assume(x); f(); end void f() begin skip; end end
thread two begin void main() begin x := T; end end";
    let graph = postbop_reading(&["emit", "-"], source.as_bytes()).with(0).out;
    let exit = |proc: &str| {
        let line = graph.lines().find(|line| line.starts_with("proc ") && line.contains(proc));
        let words: Vec<&str> = line.expect("it is there").split_whitespace().collect();
        words[words.iter().position(|word| *word == "exit").expect("it has one") + 1].to_owned()
    };
    let first = graph.lines().position(|line| line.starts_with("edge ")).expect("there are edges");
    let mut lines: Vec<String> = graph.lines().map(str::to_owned).collect();
    lines.insert(first, format!("label {} \"END\"", exit("\"main\"")));
    lines.insert(first, format!("label {} \"CALLEE\"", exit("\"f\"")));
    let labelled = lines.join("\n") + "\n";
    for engine in engine_names() {
        for schedule in [["--switches", "2"], ["--rounds", "2"]] {
            let args = [&["check", "-", "--engine", engine][..], &schedule].concat();
            let check = |label: &str, status| {
                postbop_reading(&[&args[..], &["--target", label]].concat(), labelled.as_bytes()).with(status)
            };
            assert!(check("END", 1).last().contains("violated"), "{engine} {schedule:?}");
            assert!(check("CALLEE", 0).last().contains("holds"), "{engine} {schedule:?}");
        }
    }
}
