//! The command line, as scripts rely on it: statuses, last lines, JSON, and commands that fit together.

use crate::common::{bytes, cases, command, engine_names, postbop, postbop_reading, scratch};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;

const HOLDS: &str = "tests/cases/basics/assume_blocks.bp";
const VIOLATED: &str = "tests/cases/traps/failed_assert_is_the_error.bp";
const FIG1: &str = "tests/cases/basics/bebop_fig1.bp";
const CONCURRENT: &str = "decl g;\nthread begin\nvoid main() begin assert(g); end\nend\nthread begin\nvoid main() begin g := F; end\nend\n";
const UNBOUNDED: &str = "decl int x;\nvoid main() begin assert(x = x); end\n";

fn json(text: &str) -> Value {
    assert_eq!(text.lines().count(), 1, "one line: {text}");
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn status_and_last_line_say_the_verdict() {
    assert_eq!(postbop(&["check", HOLDS]).with(0).last(), "VERDICT: holds");
    assert_eq!(postbop(&["check", VIOLATED]).with(1).last(), "VERDICT: violated");
    let ran = postbop_reading(&["check", "-"], CONCURRENT.as_bytes()).with(1);
    assert_eq!(ran.last(), "VERDICT: violated");
    let ran = postbop_reading(&["check", "-", "--engine", "summary"], UNBOUNDED.as_bytes()).with(3);
    assert!(ran.last().starts_with("VERDICT: unknown (unsupported: "), "{}", ran.out);
}

#[test]
fn a_violation_outweighs_what_is_unknown_or_holds() {
    let case = "tests/cases/basics/one_label_two_procedures.bp";
    let ran = postbop(&["check", case, "--target", "f:L", "--target", "g:L"]).with(1);
    assert!(ran.out.lines().any(|line| line.starts_with("f:L") && line.ends_with("holds")), "{}", ran.out);
    assert!(ran.out.lines().any(|line| line.starts_with("g:L  violated")), "{}", ran.out);
    assert_eq!(ran.last(), "VERDICT: violated");
}

#[test]
fn bad_usage_is_status_2() {
    let wrong: &[&[&str]] = &[
        &[],
        &["nosuch"],
        &["check"],
        &["check", HOLDS, "--nosuch"],
        &["check", HOLDS, "--engine", "nosuch"],
        &["check", HOLDS, "--timeout", "soon"],
        &["check", HOLDS, "--memory", "lots"],
        &["check", HOLDS, "--trace", "some"],
        &["check", HOLDS, "--format", "xml"],
        &["check", HOLDS, "--target", "NOSUCH"],
        &["fmt", HOLDS, "--check", "--write"],
        &["replay", HOLDS, HOLDS],
        &["replay", HOLDS, "nosuch.json"],
    ];
    for args in wrong {
        let ran = postbop(args).with(2);
        assert!(!ran.err.is_empty() && ran.out.is_empty(), "{args:?}: {}", ran.out);
    }
    assert!(postbop(&["--help"]).with(0).out.contains("check"));
    assert!(postbop(&["check", "--help"]).with(0).out.contains("--shortest"));
    assert!(postbop(&["--version"]).with(0).out.starts_with("postbop "));
}

#[test]
fn an_unknown_label_gets_a_suggestion() {
    let ran = postbop(&["check", FIG1, "--target", "r"]).with(2);
    assert!(ran.err.contains("no label `r`; did you mean `R`?"), "{}", ran.err);
    let ran = postbop(&["check", FIG1, "--target", "nosuch"]).with(2);
    assert!(ran.err.contains("there are: R"), "{}", ran.err);
    let ran = postbop(&["check", FIG1, "--target", "nosuch:R"]).with(2);
    assert!(ran.err.contains("no procedure `nosuch`"), "{}", ran.err);
    let ran = postbop(&["check", FIG1, "--target", "A:R"]).with(2);
    assert!(ran.err.contains("no label `A:R`"), "{}", ran.err);
}

#[test]
fn json_is_one_object_of_the_schema() {
    let report = json(&postbop(&["check", FIG1, "--target", "R", "--format", "json"]).with(1).out);
    assert_eq!((&report["schema"], &report["verdict"]), (&"postbop/1".into(), &"violated".into()));
    let properties = report["properties"].as_array().expect("a list");
    assert_eq!(properties.len(), 1);
    assert_eq!(properties[0]["name"], "R");
    assert_eq!(properties[0]["status"], "violated");
    let engines: Vec<Value> = postbop_engine::engines().iter().map(|engine| engine.name().into()).collect();
    assert!(engines.contains(&properties[0]["engine"]), "{report}");
    assert!(properties[0]["trace"]["contexts"][0]["steps"].is_array());
    assert!(report["stats"]["peak_bytes"].as_u64().is_some_and(|bytes| bytes > 0));
    let report = json(&postbop(&["check", HOLDS, "--format", "json"]).with(0).out);
    assert_eq!(report["verdict"], "holds");
    assert!(report["properties"][0].get("trace").is_none());
    let args = ["check", "-", "--format", "json", "--engine", "summary"];
    let report = json(&postbop_reading(&args, UNBOUNDED.as_bytes()).with(3).out);
    assert_eq!(
        (&report["verdict"], &report["properties"][0]["status"]),
        (&"unknown".into(), &"unknown".into())
    );
}

#[test]
fn the_mode_of_sat_is_chosen_by_an_option() {
    for (mode, engine, counter) in [
        ("pdr", "sat", "lemmas"),
        ("qbf", "sat:qbf", "refinements"),
        ("universal", "sat:universal", "universal"),
    ] {
        for engine_option in [&["--engine", "sat"][..], &[]] {
            let args = [&["check", FIG1, "--target", "R", "--format", "json", "--mode", mode], engine_option];
            let report = json(&postbop(&args.concat()).with(1).out);
            assert_eq!(report["properties"][0]["engine"], engine);
            assert!(report["stats"][counter].is_u64(), "{report}");
        }
    }
    let ran = postbop(&["check", FIG1, "--target", "R", "--engine", "summary", "--mode", "qbf"]).with(2);
    assert!(ran.err.contains("--mode is for --engine sat"), "{}", ran.err);
    postbop(&["check", FIG1, "--target", "R", "--mode", "nosuch"]).with(2);
    postbop(&["check", FIG1, "--target", "R", "--mode", "qbf", "--algorithm", "ef"]).with(2);
}

#[test]
fn traces_have_three_levels_of_detail() {
    let lines = |detail: &[&str]| {
        let args = [&["check", FIG1, "--target", "R", "--shortest"], detail].concat();
        postbop(&args).with(1).out
    };
    let (none, diff, full) =
        (lines(&["--trace", "none"]), lines(&["--trace", "diff"]), lines(&["--trace", "full"]));
    assert_eq!(none, "R  violated by a run of 20 steps\nVERDICT: violated\n");
    assert_eq!(diff, lines(&[]), "diff is what one gets without asking");
    assert!(diff.contains("if (g)  [yes]") && !diff.contains("a1"), "{diff}");
    assert!(full.contains("a1=1, a2=0") && full.lines().count() > diff.lines().count(), "{full}");
    let report = json(&lines(&["--trace", "none", "--format", "json"]));
    assert_eq!(report["properties"][0]["status"], "violated");
    assert!(report["properties"][0].get("trace").is_none());
    let start = diff.lines().find(|line| line.contains("main()")).expect("the run starts in main");
    assert!(start.ends_with("g=1"), "{start}");
}

/// The lines of the trace of a program that is violated.
fn told(source: &str) -> String {
    postbop_reading(&["check", "-"], source.as_bytes()).with(1).out
}

#[test]
fn a_statement_is_told_once_with_what_matters() {
    let enforced = "decl a, b;\nvoid main() begin\n decl y;\n enforce (a | b);\n y := *;\n a := y;\n b := !y;\n \
        assert(b);\nend\n";
    let text = told(enforced);
    assert_eq!(text.matches("a := y").count(), 1, "{text}");
    let jumps = "decl uint<3> x[4];\nvoid main() begin\n decl uint<3> i;\n i := *;\n goto A, B;\n A: skip; return;\n \
        B: x[i] := 1;\nend\n";
    let text = told(jumps);
    assert!(text.contains("goto A, B  [B]"), "{text}");
    assert!(text.contains("[fails]") && text.contains("length 4") && text.contains("i := *"), "{text}");
    let index = text.lines().find(|line| line.contains("i := *")).expect("a line");
    assert!(index.contains("i=") && text.contains(&format!("index {}", &index[index.len() - 1..])), "{text}");
    let started = "decl g := 0;\nvoid w() begin g := 1; end\nvoid main() begin\n start_thread w();\n assert(!g);\nend\n";
    let text = told(started);
    assert_eq!(text.matches("start_thread w()").count(), 2, "once by each thread\n{text}");
    let text = told(&started.replace("w()", "w(1)").replace("void w(1)", "void w(v)"));
    assert_eq!(text.matches("start_thread w(1)").count(), 2, "once by each thread\n{text}");
    assert!(text.lines().all(|line| line.trim().parse::<u32>().is_err()), "no line without text\n{text}");
}

#[test]
fn an_index_out_of_range_is_told_whatever_it_is_computed_from() {
    for (index, value) in
        [("n + 1", "5"), ("ite(n <= 3, n, 7)", "7"), ("n", "4"), ("k", "-1"), ("k - 2", "-3")]
    {
        let source = format!(
            "decl a[4];\nvoid main() begin\n decl uint<3> n := 4;\n decl int<4> k := -1;\n a[{index}] := 1;\nend\n"
        );
        let text = told(&source);
        let line = text.lines().find(|line| line.contains("[fails]")).expect("it fails");
        assert!(line.ends_with(&format!("index {value}, length 4")), "{text}");
    }
}

#[test]
fn a_loop_is_told_once_and_the_end_of_a_trace_is_shown() {
    let text = told(
        "decl uint<12> c := 0;\nvoid main() begin\n while (c < 4000) do c := c + 1; od\n assert(c < 4000);\nend\n",
    );
    assert!(text.contains("… the 2 steps above 3998 times more …"), "{text}");
    assert!(text.contains("c=4000") && text.contains("assert(c < 4000)  [fails]"), "{text}");
    assert!(text.lines().count() < 24, "{text}");
}

#[test]
fn a_failing_statement_is_underlined_with_the_values_that_matter() {
    let text = told("decl a, b, c;\nvoid main() begin\n a, b, c := 1, 0, 1;\n assert(!a | b);\nend\n");
    let shown = ["error: this assertion fails", "4 |  assert(!a | b);", "^^^^^^^^^^^^^^ a=1, b=0"];
    assert!(shown.iter().all(|line| text.contains(line)), "{text}");
    let text = told("decl uint<3> x[4];\nvoid main() begin\n decl uint<3> i;\n i := 5;\n x[i] := 1;\nend\n");
    assert!(text.contains("error: this index is out of range") && text.contains("^^^^ i=5"), "{text}");
}

#[test]
fn lengths_are_exact_however_long() {
    let mut source = String::from("void main() begin p0(); assert(0); end\n");
    (0..100).for_each(|at| source.push_str(&format!("void p{at}() begin p{}(); p{0}(); end\n", at + 1)));
    source.push_str("void p100() begin skip; end\n");
    for engine in ["auto", "explicit", "summary"] {
        let args = ["check", "-", "--shortest", "--engine", engine, "--format", "json"];
        let report = json(&postbop_reading(&args, source.as_bytes()).with(1).out);
        // A call and a return for each of 2^101 - 1 activations, a skip in 2^100 of them, and the assertion.
        let steps = 5u128 * (1 << 100) - 1;
        assert_eq!(report["properties"][0]["trace"]["length"], steps.to_string(), "{engine}");
    }
}

const ENGINES: [&str; 4] = ["auto", "explicit", "summary", "sat"];

#[test]
fn what_is_never_put_to_the_test_holds_vacuously() {
    let source = "decl x;\nvoid main() begin\n assert(x | !x);\n assume(x & !x);\n assert(x);\nend\n";
    let out = postbop_reading(&["check", "-"], source.as_bytes()).with(0).out;
    assert!(out.contains("assert:5  holds (vacuously: no run comes here)"), "{out}");
    assert!(!out.contains("assert:3  holds ("), "{out}");
    let report = json(&postbop_reading(&["check", "-", "--format", "json"], source.as_bytes()).with(0).out);
    let vacuous = |at: usize| report["properties"][at]["vacuous"].as_bool();
    assert_eq!((vacuous(0), vacuous(1)), (Some(false), Some(true)), "{report}");
    // The assumption is named that stands in the way.
    assert!(out.contains("No run gets past\n     4    assume(x & !x)\n"), "{out}");
    let blocked = &report["blocked"];
    assert_eq!(
        (blocked[0]["line"].as_u64(), blocked[0]["reached"].as_bool()),
        (Some(4), Some(true)),
        "{report}"
    );
    assert_eq!(blocked.as_array().map(Vec::len), Some(1), "{report}");
    let after = "void main() begin\n return;\n assert(0);\nend\n";
    // Where control alone, or constants, show it, every engine that is given a reduced program says so.
    let constant =
        "decl x := 0;\nvoid main() begin\n f();\nend\nvoid f() begin\n assume(x);\n assert(0);\nend\n";
    for (source, engine) in [after, constant].iter().flat_map(|source| ENGINES.map(|engine| (source, engine)))
    {
        let args = ["check", "-", "--engine", engine];
        let out = postbop_reading(&args, source.as_bytes()).with(0).out;
        assert!(out.contains("vacuously"), "{engine}: {out}");
        assert_eq!(
            out.contains("No run gets past\n     6    assume(x)\n"),
            *source == constant,
            "{engine}: {out}"
        );
    }
}

#[test]
fn what_is_found_before_other_engines_start_is_told_by_the_one_that_found_it() {
    // `explicit` finds the first target at once. To enumerate half of all numbers takes it too long; that they are even is a short proof.
    let source = "decl uint<30> v;\nvoid main() begin\n EARLY: v := 0;\n while (*) do\n  v := v + 2;\n  \
        if (v = 7) then ODD: skip; fi\n od\nend\n";
    let args = ["check", "-", "--target", "EARLY", "--target", "ODD", "--format", "json"];
    let report = json(&postbop_reading(&args, source.as_bytes()).with(1).out);
    let told = [0, 1].map(|at| {
        let property = &report["properties"][at];
        (property["status"].as_str().unwrap(), property["engine"] == "explicit")
    });
    assert_eq!(told, [("violated", true), ("holds", false)], "{report}");
}

#[test]
fn every_property_gets_an_answer_unless_the_first_violation_is_enough() {
    let source = "decl x;\nvoid main() begin\n assert(x);\n assert(!x);\n assert(x);\nend\n";
    let out = postbop_reading(&["check", "-"], source.as_bytes()).with(1).out;
    assert_eq!((out.matches("violated by").count(), out.matches("  holds").count()), (2, 1), "{out}");
    let out = postbop_reading(&["check", "-", "--first"], source.as_bytes()).with(1).out;
    assert_eq!(out.matches("violated by").count(), 1, "{out}");
    assert!(out.contains("unknown: stopped at the first violation"), "{out}");
    let threads = "decl g := 0;\nthread a begin void main() begin A: g := 1; end end\n\
        thread b begin void main() begin assume(g); B: skip; end end\n";
    let args = ["check", "-", "--first", "--target", "A", "--target", "B", "--target", "A"];
    let out = postbop_reading(&args, threads.as_bytes()).with(1).out;
    assert!(out.contains("B  unknown: stopped at the first violation"), "{out}");
    assert_eq!(out.matches("A  violated").count(), 1, "asked twice, answered once\n{out}");
}

#[test]
fn a_trace_that_is_too_long_to_write_says_so() {
    let source = "decl uint<20> c := 0;\nvoid main() begin\n while (c < 1000000) do c := c + 1; od\n assert(c < 1000000);\nend\n";
    let args = ["check", "-", "--format", "json", "--memory", "800M", "--engine", "explicit"];
    let out = postbop_reading(&args, source.as_bytes()).with(1).out;
    let report = json(&out);
    let trace = &report["properties"][0]["trace"];
    assert_eq!(
        (&trace["shortened"], &trace["length"]),
        (&true.into(), &"2000003".into()),
        "{}",
        trace["length"]
    );
    assert!(out.len() < 1_000_000, "{}", out.len());
    let program = scratch("shortened.bp", source);
    let file = scratch("shortened.json", out);
    let names = [&program, &file].map(|path| path.to_str().expect("plain names").to_owned());
    let ran = postbop(&["replay", &names[0], &names[1]]).with(1);
    assert!(ran.out.contains("too long to be written in full"), "{}", ran.out);
}

#[test]
fn counters_are_shown_when_asked_for() {
    let ran = postbop(&["check", HOLDS, "--stats"]).with(0);
    for name in ["engine", "read_us", "total_us", "peak_bytes"] {
        assert!(ran.out.lines().any(|line| line.starts_with(name)), "{name}: {}", ran.out);
    }
    assert!(!postbop(&["check", HOLDS]).with(0).out.contains("total_us"));
}

#[test]
fn equal_runs_say_equal_things() {
    for case in [FIG1, VIOLATED, "tests/cases/recursion/reached_at_depth.bp"] {
        for engine in postbop_engine::engines() {
            let run = || postbop(&["check", case, "--trace", "full", "--engine", engine.name()]).out;
            assert_eq!(run(), run(), "{case}");
        }
    }
}

#[test]
fn standard_input_is_a_file_too() {
    let source = bytes(Path::new(VIOLATED));
    assert_eq!(postbop_reading(&["check", "-"], &source).with(1).last(), "VERDICT: violated");
    let ran = postbop_reading(&["check", "-"], b"decl x\nvoid main() begin skip; end").with(2);
    assert!(ran.err.contains("-:"), "{}", ran.err);
}

#[test]
fn a_list_names_procedures_labels_and_properties() {
    let ran = postbop(&["list", FIG1]).with(0);
    assert!(ran.out.contains("main: 0 parameters, 1 other local,"), "{}", ran.out);
    assert!(ran.out.contains("A: 2 parameters, 0 other locals"), "{}", ran.out);
    assert!(ran.out.contains("main:R"), "{}", ran.out);
    assert!(postbop(&["list", VIOLATED]).with(0).out.contains("assert:6"));
    postbop_reading(&["list", "-"], CONCURRENT.as_bytes()).with(0);
}

#[test]
fn the_emitted_graph_of_each_case_has_the_same_verdict() {
    for (number, case) in cases().iter().enumerate().filter(|(number, _)| number % 5 == 0) {
        let case = case.to_str().expect("plain names");
        let emitted = postbop(&["emit", case]);
        if emitted.status == Some(2) {
            // A case about diagnostics has no graph.
            continue;
        }
        let graph = scratch(&format!("graph_{number}.ir"), emitted.with(0).out);
        let graph = graph.to_str().expect("plain names");
        // Programs with threads need a bound to come to an end.
        let check = |file: &str| postbop(&["check", file, "--switches", "2"]);
        let (source, graph) = (check(case), check(graph));
        assert_eq!(source.status, graph.status, "{case}");
        assert_eq!(source.last(), graph.last(), "{case}");
    }
}

#[test]
fn formatting_prints_checks_and_writes() {
    let ugly = "void main()begin decl x;x:=1;assert(x);end";
    let path = scratch("ugly.bp", ugly);
    let path = path.to_str().expect("plain names");
    assert!(postbop(&["fmt", path, "--check"]).with(1).err.contains("not in canonical form"));
    let graph = scratch("graph_to_format.ir", postbop(&["emit", path]).with(0).out);
    let refused = postbop(&["fmt", graph.to_str().expect("plain names")]).with(2);
    assert!(refused.err.contains("is a program graph"), "{}", refused.err);
    let system = scratch("system_to_format.pds", "2\nPDA 1 2\n0 1 -> 0 2\n");
    let refused = postbop(&["fmt", system.to_str().expect("plain names")]).with(2);
    assert!(refused.err.contains("is a pushdown system"), "{}", refused.err);
    let canonical = postbop(&["fmt", path]).with(0).out;
    assert_ne!(canonical, ugly);
    assert_eq!(std::fs::read_to_string(path).expect("it is there"), ugly, "printing does not write");
    postbop(&["fmt", path, "--write"]).with(0);
    assert_eq!(std::fs::read_to_string(path).expect("it is there"), canonical);
    assert!(postbop(&["fmt", path, "--check"]).with(0).err.is_empty());
    assert_eq!(postbop(&["check", path]).with(0).last(), "VERDICT: holds");
    postbop_reading(&["fmt", "-"], b"void main( begin").with(2);
}

#[test]
fn what_check_wrote_is_what_replay_accepts() {
    for (number, case) in cases().iter().enumerate().filter(|(number, _)| number % 5 == 1) {
        let case = case.to_str().expect("plain names");
        let ran = postbop(&["check", case, "--format", "json", "--switches", "2"]);
        if ran.status != Some(1) {
            continue;
        }
        let trace = scratch(&format!("report_{number}.json"), &ran.out);
        let replayed = postbop(&["replay", case, trace.to_str().expect("plain names")]).with(0);
        let traces = ran.out.matches("\"trace\":").count();
        assert_eq!(replayed.out.matches("  accepted: ").count(), traces, "{case}: {}", replayed.out);
    }
    let holds = postbop(&["check", HOLDS, "--format", "json"]).with(0).out;
    let none = scratch("no_trace.json", holds);
    postbop(&["replay", HOLDS, none.to_str().expect("plain names")]).with(2);
}

#[test]
fn a_pushdown_system_is_read_with_what_stands_beside_it() {
    let system = "3\nPDA 1 2\n0 1 -> 1 2 1\n1 2 -> 2 -\n";
    let path = scratch("system.pds", system);
    // What an earlier run of this test left there.
    for kind in ["init", "spec"] {
        let _ = std::fs::remove_file(path.with_extension(kind));
    }
    let path = path.to_str().expect("plain names");
    assert!(postbop(&["check", path]).with(2).err.contains("system.pds:1:1"));
    scratch("system.init", "0|7,1\n");
    let ran = postbop(&["check", path]).with(2);
    assert!(ran.err.contains("system.init:1:3") && ran.err.contains("E053"), "{}", ran.err);
    scratch("system.init", "0|1\n");
    assert!(postbop(&["check", path]).with(2).err.contains("nothing to check"));
    assert!(postbop(&["check", path, "--allow-empty"]).with(0).out.contains("nothing to check"));
    postbop(&["check", path, "--target", "1.2"]).with(1);
    scratch("system.spec", "2|1\n");
    let told = postbop(&["check", path]).with(1).out;
    assert!(told.contains("0|1  (line 1 of .init)") && told.contains("0 1 -> 1 2 1"), "{told}");
    let report = postbop(&["check", path, "--format", "json"]).with(1).out;
    assert!(report.contains(r#""source":"0|1","file":"init""#), "{report}");
    postbop(&["replay", path, scratch("system.json", report).to_str().expect("plain names")]).with(0);
    scratch("system.spec", "2|2\n");
    postbop(&["check", path]).with(0);
    scratch("system.spec", "2|x\n");
    assert!(postbop(&["check", path]).with(2).err.contains("system.spec:1:3"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut command = command(&["emit", FIG1]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

/// A graph whose labels stand at exits: `L` at that of a procedure that is called, `M` at that of main.
const EXITS: &str = "postbop-ir 1
proc p0 \"main\" params 0 results ( ) entry l0 exit l1 at 0..0
proc p1 \"f\" params 0 results ( ) entry l2 exit l3 at 0..0
loc l0 p0 at 0..0
loc l1 p0 at 0..0
loc l2 p1 at 0..0
loc l3 p1 at 0..0
loc l4 p0 at 0..0
label l3 \"L\"
label l1 \"M\"
edge l0 l4 at 0..0 call p1 ->
edge l4 l1 at 0..0 return
edge l2 l3 at 0..0 return
main p0
";

#[test]
fn a_run_is_at_an_exit_only_where_it_ends() {
    let graph = scratch("exits.ir", EXITS);
    let graph = graph.to_str().expect("plain names");
    for engine in engine_names() {
        let check = |label: &str, status| {
            postbop(&["check", graph, "--target", label, "--engine", engine]).with(status)
        };
        assert_eq!(check("L", 0).last(), "VERDICT: holds", "{engine}");
        assert_eq!(check("M", 1).last(), "VERDICT: violated", "{engine}");
    }
}
