//! Bad input of every kind: a diagnostic and status 2, never a panic, a signal or a hang.

use crate::common::{Ran, all_good, bytes, cases, postbop, say, scratch};
use std::path::Path;
use std::time::{Duration, Instant};
use xtask::rng::Rng;

/// No input of this part may take longer, on however busy a machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Checks, lists and formats a file; what is wrong with how that went.
fn survives(path: &Path, statuses: &[i32]) -> Result<(), String> {
    let name = path.to_str().expect("plain names");
    for args in [&["check", name, "--timeout", "10s", "--trace", "none", "--allow-empty"][..], &["fmt", name]]
    {
        let start = Instant::now();
        let ran = postbop(args);
        let took = start.elapsed();
        let problem = match complaint(&ran, name) {
            None if took > PATIENCE => Some(format!("took {took:?}")),
            None if args[0] == "check" && !ran.status.is_some_and(|status| statuses.contains(&status)) => {
                Some(format!("exit status {:?}, not one of {statuses:?}", ran.status))
            }
            other => other,
        };
        if let Some(problem) = problem {
            let err: String = ran.err.chars().take(600).collect();
            return Err(format!("{} {name}: {problem}\n{err}", args[0]));
        }
    }
    Ok(())
}

/// What is wrong with a run whatever its input was.
fn complaint(ran: &Ran, name: &str) -> Option<String> {
    let Some(status) = ran.status else { return Some("ended by a signal".into()) };
    if status > 3 || ran.err.contains("panicked") || ran.err.contains("bug in postbop") {
        return Some(format!("broke down with status {status}"));
    }
    (status == 2 && !names_a_place(&ran.err, name)).then(|| "names no file:line:column".into())
}

/// Whether a diagnostic says `file:line:column`.
fn names_a_place(err: &str, name: &str) -> bool {
    let number = |text: Option<&str>| text.is_some_and(|text| text.parse::<u64>().is_ok_and(|n| n > 0));
    err.match_indices(&format!("{name}:")).any(|(at, found)| {
        let line = err[at + found.len()..].lines().next().unwrap_or("");
        let mut parts = line.split(|c: char| !c.is_ascii_digit());
        number(parts.next()) && number(parts.next())
    })
}

/// Writes each input to a file of its own and looks at what becomes of it.
fn all_survive(part: &str, inputs: Vec<(String, Vec<u8>, &[i32])>) {
    let mut failures = Vec::new();
    let count = inputs.len();
    for (name, contents, statuses) in inputs {
        let path = scratch(&format!("{name}.bp"), contents);
        failures.extend(survives(&path, statuses).err());
        std::fs::remove_file(path).expect("it was there");
    }
    say(&format!("bad input: {count} of {part}, {} failures", failures.len()));
    all_good(&failures);
}

#[test]
fn garbage() {
    let mut inputs: Vec<(String, Vec<u8>, &[i32])> = Vec::new();
    for seed in 0..24 {
        let mut rng = Rng::new(seed);
        let length = rng.range(1, 4000);
        let noise = (0..length).map(|_| rng.bits() as u8).collect();
        inputs.push((format!("noise_{seed}"), noise, &[2]));
    }
    inputs.push(("all_bytes".into(), (0..=255).collect(), &[2]));
    inputs.push(("empty".into(), Vec::new(), &[2]));
    inputs.push(("nul".into(), vec![0; 10_000], &[2]));
    inputs.push(("nul_inside".into(), b"decl x;\nvoid main() begin x := \0; end\n".to_vec(), &[2]));
    inputs.push(("not_utf8".into(), b"decl x;\nvoid m\xFFain() begin skip; end\n".to_vec(), &[2]));
    inputs.push(("not_utf8_comment".into(), b"// \xFF\xFE\0\nvoid main() begin skip; end\n".to_vec(), &[0]));
    inputs.push((
        "crlf".into(),
        b"decl x;\r\nvoid main()\r\nbegin\r\n  assert(x);\r\nend\r\n".to_vec(),
        &[1],
    ));
    inputs.push(("mark".into(), b"\xEF\xBB\xBFvoid main() begin skip; end\n".to_vec(), &[0, 2]));
    all_survive("binary garbage and odd text", inputs);
}

#[test]
fn a_graph_that_is_none() {
    let main = "proc p0 \"main\" params 0 results ( ) entry l0 exit l1 at 0..0\n";
    let wrong = [
        ("postbop-ir", 1),
        ("postbop-ir 2\n", 1),
        ("postbop-ir 1\nproc p0\n", 2),
        ("postbop-ir 1\n\0\n", 2),
        (&format!("postbop-ir 1\n{main}loc l4294967295 p0 at 0..0\nmain p0\n"), 3),
        (&format!("postbop-ir 1\n{main}main p0\nmain"), 4),
    ];
    for (number, (text, line)) in wrong.iter().enumerate() {
        let path = scratch(&format!("graph_{number}_bad.ir"), text);
        let ran = postbop(&["check".as_ref(), path.as_os_str()]).with(2);
        assert!(ran.err.contains(&format!("_bad.ir:{line}:1\n")), "{}", ran.err);
    }
    let open = scratch("graph_without_ends.ir", format!("postbop-ir 1\n{main}main p0\n"));
    let ran = postbop(&["check".as_ref(), open.as_os_str()]).with(2);
    assert!(ran.err.contains("not well formed"), "{}", ran.err);
}

#[test]
fn every_prefix_of_a_program() {
    let mut failures = Vec::new();
    let mut count = 0;
    for case in ["tests/cases/basics/bebop_fig1.bp", "tests/cases/traps/assert_then_known.bp"] {
        let whole = bytes(Path::new(case));
        for end in 0..whole.len() {
            count += 1;
            let name = case.rsplit('/').next().unwrap_or(case);
            let path = scratch(&format!("prefix_of_{name}"), &whole[..end]);
            failures.extend(survives(&path, &[0, 1, 2]).err());
        }
    }
    say(&format!("bad input: {count} prefixes of programs, {} failures", failures.len()));
    all_good(&failures);
}

#[test]
fn every_prefix_of_every_case_is_read_without_panic() {
    let mut count = 0;
    let sources = cases().into_iter().map(|case| (bytes(&case), case));
    // The work is quadratic in the size of a file; a few are large for reasons of their own.
    for (whole, case) in sources.filter(|(whole, _)| whole.len() < 2000) {
        for end in 0..whole.len() {
            count += 1;
            let read = std::panic::catch_unwind(|| {
                postbop_front::read(&whole[..end], Default::default());
                let _ = postbop_front::format(&whole[..end], Default::default());
            });
            assert!(read.is_ok(), "{}: the first {end} bytes", case.display());
        }
    }
    say(&format!("bad input: {count} prefixes read and formatted"));
}

#[test]
fn files_that_are_none() {
    let folder = postbop(&["check", "tests/cases"]).with(2);
    assert!(folder.err.contains("tests/cases: is a directory"), "{}", folder.err);
    let missing = postbop(&["check", "tests/cases/nosuch.bp"]).with(2);
    assert!(missing.err.contains("tests/cases/nosuch.bp: "), "{}", missing.err);
    for command in ["list", "emit", "fmt"] {
        postbop(&[command, "tests/cases"]).with(2);
        postbop(&[command, "tests/cases/nosuch.bp"]).with(2);
    }
    postbop(&["replay", "tests/cases/basics/bebop_fig1.bp", "tests/cases"]).with(2);
}

#[test]
#[cfg(unix)]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let path = scratch("unreadable.bp", "void main() begin skip; end\n");
    let allow = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("it is ours");
    allow(0o000);
    let readable = std::fs::read(&path).is_ok();
    let ran = postbop(&["check".as_ref(), path.as_os_str()]);
    allow(0o644);
    if readable {
        say("bad input: an unreadable file SKIPPED, this user may read everything");
    } else {
        assert!(ran.with(2).err.contains("unreadable.bp: "));
    }
}

fn main_with(body: &str) -> Vec<u8> {
    format!("decl x;\nvoid main()\nbegin\n{body}\nend\n").into_bytes()
}

/// Beyond a depth that nobody writes we say so; below it, depth is no reason to refuse.
#[test]
fn depth() {
    const TOO_DEEP: usize = 1_000_000;
    const TOO_MANY: usize = 200_000;
    const FINE: usize = 90_000;
    let parens = |n: usize| format!("x := {}x{};", "(".repeat(n), ")".repeat(n));
    let ifs = |n: usize| format!("{}skip;\n{}", "if (*) then\n".repeat(n), "fi\n".repeat(n));
    let whiles = |n: usize| format!("{}skip;\n{}", "while (*) do\n".repeat(n), "od\n".repeat(n));
    let elses = |n: usize| format!("{}skip;\n{}", "if (x) then skip; else\n".repeat(n), "fi\n".repeat(n));
    let many = |operator: &str| main_with(&format!("x := {};", vec!["x"; TOO_DEEP].join(operator)));
    all_survive(
        "deep nesting",
        vec![
            ("parentheses".into(), main_with(&parens(TOO_DEEP)), &[2]),
            ("parentheses_fine".into(), main_with(&parens(FINE)), &[0]),
            ("parentheses_open".into(), main_with(&format!("x := {}x;", "(".repeat(TOO_DEEP))), &[2]),
            ("parentheses_only".into(), "(".repeat(TOO_DEEP).into_bytes(), &[2]),
            ("negations".into(), main_with(&format!("x := {}x;", "!".repeat(TOO_DEEP))), &[0]),
            ("implications".into(), many(" => "), &[0]),
            ("conjunctions".into(), many(" & "), &[0]),
            ("ifs".into(), main_with(&ifs(TOO_MANY)), &[2]),
            ("ifs_fine".into(), main_with(&ifs(FINE)), &[0]),
            ("ifs_open".into(), main_with(&"if (*) then\n".repeat(TOO_MANY)), &[2]),
            ("whiles".into(), main_with(&whiles(TOO_MANY)), &[2]),
            ("whiles_fine".into(), main_with(&whiles(FINE)), &[0]),
            ("elses".into(), main_with(&elses(TOO_MANY)), &[2]),
            ("elses_fine".into(), main_with(&elses(FINE)), &[0]),
            ("begins".into(), "begin ".repeat(TOO_MANY).into_bytes(), &[2]),
            ("ends".into(), "end ".repeat(TOO_MANY).into_bytes(), &[2]),
        ],
    );
}

#[test]
fn size() {
    let line = "x := !x; ".repeat(10_000_000 / 9);
    let procs: String = (0..100_000).map(|n| format!("void p{n}() begin skip; end\n")).collect();
    let chain: String =
        (1..100_000).map(|n| format!("void p{n}() begin p{}(); end\n", n - 1)).collect::<String>()
            + "void p0() begin skip; end\n";
    let calls = |last: &str| format!("{procs}void main() begin {last}(); end\n").into_bytes();
    let chained = format!("{chain}void main() begin p99999(); assert(0); end\n").into_bytes();
    let start = Instant::now();
    all_survive(
        "great size",
        vec![
            (
                "line".into(),
                main_with(&line).iter().map(|&b| if b == b'\n' { b' ' } else { b }).collect(),
                &[0],
            ),
            ("line_error".into(), main_with(&format!("{line} nosuch := 1;")), &[2]),
            ("procedures".into(), calls("p99999"), &[0]),
            ("procedures_wrong".into(), calls("nosuch"), &[2]),
            ("chain".into(), chained, &[1]),
            ("million_lines".into(), main_with(&"  x := !x;\n".repeat(1_000_000)), &[0, 3]),
            ("million_errors".into(), main_with(&"  nosuch := !x;\n".repeat(1_000_000)), &[2]),
        ],
    );
    assert!(start.elapsed() < 7 * PATIENCE, "{:?}", start.elapsed());
}
