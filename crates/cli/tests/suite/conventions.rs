//! What users of other tools expect: colours, several files, units, help of every kind, and errors that are told.

use crate::common::{command, postbop, postbop_reading, scratch};
use serde_json::Value;
use std::process::{Command, Stdio};

const HOLDS: &str = "tests/cases/basics/assume_blocks.bp";
const VIOLATED: &str = "tests/cases/traps/failed_assert_is_the_error.bp";
const BROKEN: &str = "void main() begin y := 1; end\n";

#[test]
fn colours_only_where_they_are_wanted() {
    let colored = |args: &[&str]| postbop_reading(args, BROKEN.as_bytes()).with(2).err.contains('\u{1b}');
    assert!(colored(&["check", "-", "--color", "always"]));
    assert!(!colored(&["check", "-", "--color", "never"]));
    // The standard error of a test is no terminal.
    assert!(!colored(&["check", "-"]));
}

/// What standard error is on a terminal, with a variable of the environment.
#[cfg(target_os = "linux")]
fn on_a_terminal(variable: (&str, &str)) -> Option<String> {
    let path = scratch(&format!("terminal_{}.bp", variable.0), BROKEN);
    let line = format!("{} check {}", env!("CARGO_BIN_EXE_postbop"), path.display());
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").env_remove("NO_COLOR");
    let ran = script.env(variable.0, variable.1).stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&ran.stdout).into_owned())
}

#[test]
#[cfg(target_os = "linux")]
fn a_terminal_gets_colours_unless_the_environment_says_no() {
    let Some(plain) = on_a_terminal(("ANY", "1")) else {
        return crate::common::say("conventions: colours on a terminal SKIPPED, there is no `script`");
    };
    assert!(plain.contains("E011") && plain.contains('\u{1b}'), "{plain:?}");
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let bare = on_a_terminal(variable).expect("it was there");
        assert!(bare.contains("E011") && !bare.contains('\u{1b}'), "{variable:?}: {bare:?}");
    }
}

#[test]
fn several_files_have_the_worst_status() {
    let broken = scratch("several_broken.bp", BROKEN);
    let broken = broken.to_str().expect("plain names");
    let unknown = scratch("several_unknown.bp", "decl int x; void main() begin assert(x = x); end\n");
    let unknown = unknown.to_str().expect("plain names");
    let ran = postbop(&["check", HOLDS, VIOLATED]).with(1);
    let verdicts: Vec<_> = ran.out.lines().filter(|line| line.starts_with("VERDICT")).collect();
    assert_eq!(verdicts, ["VERDICT: holds", "VERDICT: violated"]);
    assert!(ran.out.starts_with(&format!("{HOLDS}:\n")) && ran.out.contains(&format!("\n{VIOLATED}:\n")));
    postbop(&["check", "--engine", "summary", VIOLATED, unknown, HOLDS]).with(1);
    postbop(&["check", "--engine", "summary", HOLDS, unknown]).with(3);
    postbop(&["check", "--engine", "summary", VIOLATED, broken, unknown]).with(2);
    let lines = postbop(&["check", "--format", "json", VIOLATED, broken, HOLDS]).with(2).out;
    let verdicts: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["verdict"].clone())
        .collect();
    assert_eq!(verdicts, ["violated", "error", "holds"]);
}

#[test]
fn bad_input_is_json_too() {
    let ran = postbop_reading(&["check", "-", "--format", "json"], BROKEN.as_bytes()).with(2);
    let report: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((&report["schema"], &report["verdict"]), (&"postbop/1".into(), &"error".into()));
    let found = &report["diagnostics"][0];
    assert_eq!((&found["code"], &found["severity"]), (&"E011".into(), &"error".into()));
    assert_eq!((&found["line"], &found["column"], &found["file"]), (&1.into(), &19.into(), &"-".into()));
    assert_eq!(found["end"]["column"], 20);
    let ran = postbop(&["check", HOLDS, "--target", "NOSUCH", "--format", "json"]).with(2);
    let report: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert!(report["diagnostics"][0]["message"].as_str().is_some_and(|text| text.contains("NOSUCH")));
}

#[test]
fn formatting_shows_what_would_change() {
    let path = scratch("shown.bp", "void main() begin skip;\nend\n");
    let path = path.to_str().expect("plain names");
    let ran = postbop(&["fmt", "--check", path, HOLDS]).with(1);
    assert!(ran.out.contains("-void main() begin skip;\n+void main()\n+begin\n+  skip;\n"), "{}", ran.out);
    assert!(postbop(&["fmt", "--check", "-q", path]).with(1).out.is_empty());
    assert!(postbop(&["fmt", "--write", "-"]).with(2).err.contains("standard input cannot be rewritten"));
    let both = postbop(&["fmt", path, path]).with(0).out;
    assert_eq!(both.matches("void main()").count(), 2);
}

#[test]
fn less_and_more() {
    let warned = b"decl a, b, c; void main() begin assert(a = b & c | !c); end";
    let loud = postbop_reading(&["check", "-"], warned);
    let quiet = postbop_reading(&["-q", "check", "-"], warned);
    assert!(loud.err.contains("W001") && quiet.err.is_empty(), "{}", quiet.err);
    assert!(loud.out.lines().count() > quiet.out.lines().count());
    let more = postbop(&["check", HOLDS, "-v"]).with(0);
    assert!(
        more.err.contains("read as a Boolean program") && more.out.contains("peak_bytes"),
        "{}",
        more.err
    );
}

#[test]
fn options_that_do_nothing_are_a_warning() {
    let idle = |args: &[&str]| postbop(&[&["check", "--trace", "none"], args].concat()).err;
    for (option, value) in [("--switches", "2"), ("--rounds", "2"), ("--threads", "5")] {
        let warned = idle(&[HOLDS, option, value]);
        assert!(warned.contains(&format!("warning: {HOLDS}: `{option}` does nothing here: ")), "{warned}");
        assert!(idle(&[HOLDS, option, value, "-q"]).is_empty());
    }
    assert!(idle(&["examples/seats.bp", "--switches", "1"]).is_empty());
    let system = scratch("idle.pds", "1\nPDA 0 0\n0 0 -> 0 -\n");
    std::fs::write(system.with_extension("init"), "0|0").expect("the scratch folder can be written to");
    let warned = idle(&[system.to_str().expect("plain names"), "--dialect", "slam"]);
    assert!(warned.contains("`--dialect` does nothing here: this is a pushdown system"), "{warned}");
}

#[test]
fn help_of_every_kind() {
    let hint = postbop(&[HOLDS]).with(2).err;
    assert!(hint.contains(&format!("write `postbop check {HOLDS}`")), "{hint}");
    assert!(!postbop(&["chekc"]).with(2).err.contains("to check a program"));
    let unit = postbop(&["check", HOLDS, "--memory", "100"]).with(2).err;
    assert!(unit.contains("which unit? write 100M"), "{unit}");
    assert_eq!(postbop(&["check", HOLDS, "--timeout", "1m30s"]).with(0).last(), "VERDICT: holds");
    let explained = postbop(&["explain", "e021"]).with(0).out;
    assert!(explained.starts_with("E021: a value of the wrong type\n") && explained.contains("x := n;"));
    assert!(postbop(&["explain"]).with(0).out.lines().count() > 40);
    assert!(postbop(&["explain", "E999"]).with(2).err.contains("no diagnostic `E999`"));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(postbop(&["completions", shell]).with(0).out.contains("shortest"), "{shell}");
    }
    assert!(postbop(&["man"]).with(0).out.contains("Exit status: 0 every property holds"));
    assert!(postbop(&["man", "check"]).with(0).out.contains("shortest"));
    postbop(&["man", "nosuch"]).with(2);
}

#[test]
fn a_printed_name_is_a_target() {
    let ran = postbop(&["check", "examples/locks.bp", "--target", "assert:9"]).with(1);
    assert!(ran.out.starts_with("assert:9  violated"), "{}", ran.out);
    let ran = postbop(&["check", "examples/locks.bp", "--target", "assert:10"]).with(2);
    assert!(ran.err.contains("no property `assert:10`"), "{}", ran.err);
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_is_lost_is_an_error() {
    let lost = |args: &[&str]| {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        command(args).stdout(full).output().expect("the binary runs")
    };
    for args in [&["check", HOLDS][..], &["fmt", HOLDS], &["--help"], &["emit", HOLDS]] {
        let ran = lost(args);
        assert_eq!(ran.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&ran.stderr).contains("standard output: "), "{args:?}");
    }
    // Nothing is lost where nothing is written.
    assert_eq!(lost(&["fmt", "--check", "examples/locks.bp"]).status.code(), Some(0));
}
