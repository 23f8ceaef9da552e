//! Reports for other programs and for browsers: each is held to its schema or its grammar, also with names that are meant to
//! break out of it. What a browser makes of the page is `cargo xtask browser`.

use crate::common::{bytes, cases, postbop, postbop_reading, root, say, scratch};
use serde_json::Value;

/// A name with everything that another language could take for its own.
const HOSTILE: &str = "{</script>]]>&amp;\"'[x](y)%0A::error::\u{202e}\u{1b}[31m}";

fn hostile() -> String {
    format!("decl {HOSTILE};\nvoid main() begin\n  {HOSTILE} := 1;\n  assert(!{HOSTILE});\nend\n")
}

fn validator(path: &str) -> jsonschema::Validator {
    let text = std::fs::read(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut schema: Value = serde_json::from_slice(&text).expect("a schema is JSON");
    // The schema of SARIF has two patterns with a bracket too many, which only lenient readers take.
    for place in ["run", "toolComponent"] {
        if let Some(language) = schema.pointer_mut(&format!("/definitions/{place}/properties/language")) {
            language.as_object_mut().map(|language| language.remove("pattern"));
        }
    }
    jsonschema::validator_for(&schema).expect("a schema")
}

#[track_caller]
fn valid(validator: &jsonschema::Validator, text: &str, what: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{what}: {error}"));
    if let Some(error) = validator.iter_errors(&value).next() {
        panic!("{what}: {error} at {}", error.instance_path());
    }
    value
}

/// Programs of every kind: threads, liveness, deadlock, vacuous properties, mistakes.
fn reports(format: &str) -> Vec<(String, String)> {
    let asked: [&[&str]; 7] = [
        &["examples/locks.bp"],
        &["examples/locks-fixed.bp"],
        &["examples/seats.bp", "--switches", "3"],
        &["examples/seats.bp", "--switches", "1"],
        &["examples/driver.bp", "--terminates", "--deadlock"],
        &["examples/queue.bp", "--shortest"],
        &["examples/sort.bp", "--engine", "explicit", "--timeout", "1ms"],
    ];
    let mut found = Vec::new();
    for args in asked {
        found.push((format!("{args:?}"), postbop(&[&["check", "--format", format], args].concat()).out));
    }
    let sources = [
        hostile(),
        "void main() begin y := 1; end\n".into(),
        "decl x;\nvoid main() begin\n assume(x & !x);\n assert(x);\nend\n".into(),
        "void main() begin L: goto L; end\n".into(),
    ];
    for source in sources {
        let args = ["check", "-", "--format", format];
        found.push((source.clone(), postbop_reading(&args, source.as_bytes()).out));
    }
    found
}

#[test]
fn json_reports_have_the_published_form() {
    let schema = validator("docs/schemas/postbop-1.schema.json");
    let mut count = 0;
    for (what, report) in reports("json") {
        valid(&schema, &report, &what);
        count += 1;
    }
    for case in cases().iter().step_by(7) {
        let case = case.to_str().expect("plain names");
        let ran = postbop(&["check", case, "--format", "json", "--timeout", "2s", "--allow-empty"]);
        valid(&schema, &ran.out, case);
        count += 1;
    }
    // The schema is strict: anything more than it says is noticed.
    assert!(!schema.is_valid(
        &serde_json::json!({ "schema": "postbop/1", "verdict": "error", "diagnostics": [], "more": 1 })
    ));
    say(&format!("reports: {count} JSON reports have the form of their schema"));
}

#[test]
fn sarif_is_valid_and_tells_the_run() {
    let schema = validator("tests/schemas/sarif-2.1.0.json");
    for (what, report) in reports("sarif") {
        valid(&schema, &report, &what);
    }
    let args = ["check", "examples/seats.bp", "--switches", "3", "--shortest", "--format", "sarif"];
    let log: Value = serde_json::from_str(&postbop(&args).with(1).out).expect("JSON");
    let result = &log["runs"][0]["results"][0];
    assert_eq!((&result["kind"], &result["level"]), (&"fail".into(), &"error".into()));
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 14);
    let flows = result["codeFlows"][0]["threadFlows"].as_array().expect("flows");
    let ids: Vec<&str> = flows.iter().filter_map(|flow| flow["id"].as_str()).collect();
    assert_eq!(ids, ["start", "alice", "bob"], "one flow for each thread");
    let of = |flow: &Value, key: &str| -> Vec<u64> {
        let steps = flow["locations"].as_array().expect("steps").iter();
        steps.filter_map(|step| step[key].as_u64()).collect()
    };
    // alice calls sell, looks, is interrupted, and goes on inside.
    assert_eq!(of(&flows[1], "nestingLevel"), [0, 1, 1, 1, 1]);
    assert_eq!(of(&flows[1], "executionOrder"), [4, 5, 10, 11, 12]);
    // Completed calls of a short run are told: acquire is entered from main, and ends at level 1.
    let log: Value = serde_json::from_str(
        &postbop(&["check", "examples/locks.bp", "--shortest", "--format", "sarif"]).with(1).out,
    )
    .expect("JSON");
    let flow = &log["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"][0];
    assert_eq!(of(flow, "nestingLevel").len(), 27, "all steps of the run");
    assert_eq!(of(flow, "nestingLevel")[..7], [0, 0, 0, 1, 1, 1, 0]);
}

/// What is left of an XML document when its elements close in order: nothing.
fn well_formed(document: &str) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for piece in document.split('<').skip(1) {
        let Some((tag, text)) = piece.split_once('>') else { return false };
        if text.split('&').skip(1).any(|entity| {
            !["amp;", "lt;", "gt;", "quot;", "apos;"].iter().any(|known| entity.starts_with(known))
        }) {
            return false;
        }
        let name = tag.split([' ', '/']).next().unwrap_or("");
        match tag.strip_prefix('/') {
            Some(name) => {
                if open.pop() != Some(name) {
                    return false;
                }
            }
            None if tag.starts_with('?') || tag.ends_with('/') => {}
            None => open.push(name),
        }
    }
    open.is_empty()
}

#[test]
fn junit_is_well_formed_and_counts() {
    for (what, report) in reports("junit") {
        assert!(well_formed(&report) && !report.contains(['\u{202e}', '\u{1b}']), "{what}: {report}");
    }
    let report = postbop(&["check", "examples/locks.bp", "--format", "junit"]).with(1).out;
    assert!(report.contains("tests=\"2\" failures=\"1\" errors=\"0\""), "{report}");
    assert!(report.contains("name=\"assert:15\"/>"), "{report}");
    assert!(!well_formed("<a><b></a></b>") && !well_formed("<a>&x;</a>"));
}

#[test]
fn annotations_are_one_command_for_each_violation() {
    let out = postbop_reading(&["check", "-", "--format", "github"], hostile().as_bytes()).with(1).out;
    assert_eq!(out.lines().filter(|line| line.starts_with("::")).count(), 1, "{out}");
    assert!(
        out.starts_with("::error file=-,line=4,col=3,title=assert%3A4::violated by a run of 2 steps\n"),
        "{out}"
    );
    let out = postbop_reading(&["check", "-", "--format", "github"], b"void main() begin y := 1; end\n")
        .with(2)
        .out;
    assert!(out.starts_with("::error file=-,line=1,col=19::"), "{out}");
}

#[test]
fn a_terminal_gets_no_commands_from_names() {
    let out = postbop_reading(&["check", "-"], hostile().as_bytes()).with(1).out;
    assert!(!out.contains(['\u{202e}', '\u{1b}']) && out.contains("⟨U+202E⟩⟨U+001B⟩[31m"), "{out}");
}

#[test]
fn what_is_unknown_says_what_to_try() {
    let ran = postbop(&["check", "examples/sort.bp", "--engine", "explicit", "--timeout", "1ms"]);
    assert!(ran.out.contains("try: ") && ran.last().starts_with("VERDICT: unknown"), "{}", ran.out);
    let source = "decl x;\nvoid main() begin\n assert(x);\n assert(!x);\nend\n";
    let out = postbop_reading(&["check", "-", "--first"], source.as_bytes()).with(1).out;
    assert!(out.contains("try: leave out `--first`"), "{out}");
}

#[test]
fn a_page_is_one_file_that_is_the_same_every_time() {
    let path = scratch("report.html", "");
    let page = || {
        let ran =
            postbop(&["check", "examples/locks.bp", "--shortest", "--report", path.to_str().expect("plain")])
                .with(1);
        (ran.out, std::fs::read_to_string(&path).expect("it is written"))
    };
    let (out, first) = page();
    assert_eq!(
        out,
        postbop(&["check", "examples/locks.bp", "--shortest"]).with(1).out,
        "the report is beside the output"
    );
    assert_eq!(first, page().1);
    assert!(first.starts_with("<!DOCTYPE html>") && first.ends_with("</html>\n"));
    // Nothing is fetched: no address, and a policy that allows none.
    assert!(
        !first.contains("http://") && !first.contains("https://") && !first.contains(" src="),
        "it names an address"
    );
    assert!(first.contains("default-src 'none'"));
    let program = scratch("report_hostile.bp", hostile());
    let args = ["check", program.to_str().expect("plain"), "--report", path.to_str().expect("plain")];
    postbop(&args).with(1);
    let text = std::fs::read_to_string(&path).expect("it is written");
    // The trace, the report and the script: three elements, whatever the names are.
    assert_eq!((text.matches("<script").count(), text.matches("</script").count()), (3, 3));
}

#[test]
fn a_page_that_cannot_be_written_is_an_error_before_the_work() {
    let ran = postbop(&["check", "examples/locks.bp", "--report", "no/such/folder/x.html"]).with(2);
    assert!(ran.err.contains("no/such/folder/x.html") && ran.out.is_empty(), "{}", ran.err);
    let program = scratch("report_itself.bp", "void main() begin assert(1); end\n");
    let path = program.to_str().expect("plain");
    postbop(&["check", path, "--report", path]).with(2);
    assert_eq!(bytes(&program), b"void main() begin assert(1); end\n", "the program is still there");
    for option in [&["--report", "x.html"][..], &["--format", "sarif"], &["--format", "junit"]] {
        postbop(&[&["check", path, path], option].concat()).with(2);
    }
}

#[test]
fn graphs_name_what_is_there_and_nothing_breaks_out() {
    let dot = postbop(&["graph", "examples/locks.bp", "--calls"]).with(0).out;
    assert!(dot.starts_with("digraph {\n") && dot.contains("-> n0 [label=\"3 places\"];"), "{dot}");
    let source = hostile();
    let program = scratch("graph_hostile.bp", source);
    let path = program.to_str().expect("plain");
    let dot = postbop(&["graph", path, "--proc", "main"]).with(0).out;
    // Within quotes there is no bare quote: without escaped ones, each line has an even number.
    assert!(
        dot.lines().all(|line| line.replace("\\\\", "").replace("\\\"", "").matches('"').count() % 2 == 0),
        "{dot}"
    );
    let svg = postbop(&["graph", path, "--proc", "main", "--format", "svg"]).with(0).out;
    let body = svg.split_once("<svg").expect("a picture").1;
    assert!(
        well_formed(&format!("<svg{body}")) && !svg.contains("</script") && !svg.contains('\u{202e}'),
        "{svg}"
    );
    postbop(&["graph", path, "--proc", "nosuch"]).with(2);
    postbop(&["graph", path, "--proc", "main", "--calls"]).with(2);
    let many: String = (0..300).map(|at| format!("void f{at}() begin skip; end\n")).collect();
    let program = scratch("graph_many.bp", format!("void main() begin skip; end\n{many}"));
    let ran = postbop(&["graph", program.to_str().expect("plain"), "--format", "svg"]).with(2);
    assert!(ran.err.contains("--format dot"), "{}", ran.err);
}

/// The module has a test of its own, in Python, which needs BenchExec.
#[test]
fn the_tool_info_module_of_benchexec_reads_our_verdicts() {
    let python = |args: &[&str]| {
        let mut python = std::process::Command::new("python3");
        python.args(args).current_dir(root()).env("PYTHONDONTWRITEBYTECODE", "1");
        python.env("POSTBOP", env!("CARGO_BIN_EXE_postbop")).output()
    };
    if !python(&["-c", "import benchexec"]).is_ok_and(|ran| ran.status.success()) {
        say("reports: SKIPPED, NOTHING WAS TESTED of the module for BenchExec, which is not installed");
        return;
    }
    let ran = python(&["bench/benchexec/test_postbop.py"]).expect("it ran before");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn a_chart_is_drawn_on_request_and_is_the_same_every_time() {
    let path = scratch("chart.html", "");
    let name = path.to_str().expect("plain");
    let page = || {
        let args = ["check", "examples/sort.bp", "--engine", "summary", "--stats=chart", "--report", name];
        let ran = postbop(&args).with(0);
        assert!(!ran.out.contains("search_us"), "the counters were not asked for");
        std::fs::read_to_string(&path).expect("it is written")
    };
    let first = page();
    let data = first
        .split_once("id=\"report\">")
        .and_then(|(_, rest)| rest.split_once("</script>"))
        .expect("data")
        .0;
    let data: Value = serde_json::from_str(data).expect("JSON");
    let course = &data["courses"][0];
    assert_eq!(course["engine"], "summary");
    let moments = course["moments"].as_array().expect("a list");
    assert!(moments.len() > 2, "{course}");
    let at = |moment: &Value, column: usize| moment[column].as_u64().expect("a number");
    assert!(moments.windows(2).all(|pair| at(&pair[0], 0) <= at(&pair[1], 0)), "the work only grows");
    assert!(moments.iter().all(|moment| at(moment, 1) > 0), "there are diagrams");
    assert!(moments.iter().any(|moment| at(moment, 2) > 0), "something waits");
    assert_eq!(first, page());
    postbop(&["check", "examples/sort.bp", "--stats=chart"]).with(2);
    assert!(postbop(&["check", "examples/locks-fixed.bp", "--stats"]).with(0).out.contains("search_us"));
}

#[test]
fn a_page_of_a_proof_says_what_procedures_do() {
    let path = scratch("summaries.html", "");
    postbop(&["check", "examples/parity.bp", "--report", path.to_str().expect("plain")]).with(0);
    let page = std::fs::read_to_string(&path).expect("it is written");
    let data =
        page.split_once("id=\"report\">").and_then(|(_, rest)| rest.split_once("</script>")).expect("data").0;
    let data: Value = serde_json::from_str(data).expect("JSON");
    let even = data["summaries"].as_array().expect("tables").iter().find(|table| table["name"] == "even");
    let even = even.expect("there is a procedure even");
    // even(n) is 1 for even numbers and 0 for odd ones, and always returns: one case, in which nothing is said of n alone.
    assert_eq!(
        (&even["inputs"][0], &even["outputs"][0], &even["exact"]),
        (&"n".into(), &"result".into(), &true.into())
    );
    assert_eq!(even["rows"], serde_json::json!([["", "n + result = 1 (mod 2)"]]));
}
