//! `postbop summary` and `postbop pds`, beyond what the manual shows.

use crate::common::{postbop, postbop_reading};

const INFINITY: &str = "tests/cases/integers/infinity_of_an_input.bp";
const CALLS_ITSELF: &str = "tests/cases/moped/calls_itself.pds";

#[test]
fn a_program_without_unbounded_integers_has_summaries_too() {
    let source =
        "decl b; uint<3> f(uint<3> x) begin b := !b; assume(x < 7); return x + 1; end void main() begin end";
    let ran = postbop_reading(&["summary", "-", "--proc", "f"], source.as_bytes()).with(0).out;
    let wanted = "summary of f\n  input   x, b\n  output  result, b'\nreturns for\n     x <= 6\n";
    assert!(ran.starts_with(wanted), "{ran}");
    assert!(ran.contains("result = x + 1") && ran.contains("b' = -b + 1"), "{ran}");
}

#[test]
fn what_never_returns_returns_for_no_input() {
    let source = "void f(int x) begin f(x + 1); end void main() begin end";
    let ran = postbop_reading(&["summary", "-", "--proc", "f"], source.as_bytes()).with(0).out;
    assert_eq!(ran, "summary of f\n  input   x\n  output  none\nreturns for no input\n");
}

#[test]
fn pictures_are_graphs() {
    let dot = postbop(&["summary", INFINITY, "--proc", "infinity", "--dot"]).with(0).out;
    assert!(dot.starts_with("digraph {") && dot.contains("label=\"i\""), "{dot}");
    let dot = postbop(&["pds", "post", CALLS_ITSELF, "--dot"]).with(0).out;
    assert!(dot.contains("\"q:f\" -> \"(end)\" [label=\"back\"];"), "{dot}");
}

#[test]
fn mistakes_are_told() {
    let ran = postbop(&["summary", INFINITY, "--proc", "nosuch"]).with(2);
    assert!(ran.err.contains("there is no procedure `nosuch`; there are infinity, main"), "{}", ran.err);
    let ran = postbop(&["pds", "post", CALLS_ITSELF, "--from", "q f"]).with(2);
    assert!(ran.err.contains("`q f` is not a configuration"), "{}", ran.err);
    let ran = postbop(&["pds", "pre", CALLS_ITSELF, "--from", "q:g"]).with(2);
    assert!(ran.err.contains("no rule mentions the symbol `g`"), "{}", ran.err);
    for args in [&["pre"][..], &["post", "--from", "q:a"]] {
        let ran = postbop(&[&["pds"], args, &["tests/cases/moped/control_states.pds"]].concat()).with(2);
        assert!(ran.err.contains("has variables"), "{}", ran.err);
    }
    let ran = postbop(&["pds", "post", INFINITY]).with(2);
    assert!(ran.err.contains("not a pushdown system"), "{}", ran.err);
}

#[test]
fn configurations_have_values() {
    // b is called with x = 0 or 1, and leaves it as it is; where c goes on depends on x.
    let ran = postbop(&["pds", "post", "tests/cases/moped/control_states.pds"]).with(0).out;
    let has = |parts: [&str; 4]| ran.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(has(["no ", " c ", " q:a", "x' = 0"]) && has(["yes ", " c ", " q:a", "x' = 1"]), "{ran}");
    assert!(!has(["no ", " c ", " q:a", "x' = 1"]) && !has(["yes ", " c ", " q:a", "x' = 0"]), "{ran}");
    let dot = postbop(&["pds", "post", "tests/cases/moped/control_states.pds", "--dot"]).with(0).out;
    assert!(dot.contains("\"yes\" -> \"q:a\"") && dot.contains("doublecircle"), "{dot}");
    let none = ["pds", "post", "tests/cases/moped/adds_on_the_way_back.pds", "--timeout", "0ms"];
    assert!(postbop(&none).with(3).err.contains("time limit"));
}

#[test]
fn many_procedures_are_no_obstacle() {
    // Each adds one, and there are more integers in all than one procedure may have.
    let count = 600;
    let mut source = String::new();
    for at in 0..count {
        source += &format!("int p{at}(int x) begin decl int r; r := p{}(x + 1); return r; end ", at + 1);
    }
    source += &format!("int p{count}(int x) begin return x; end ");
    source += &format!("void main() begin decl int r; r := p0(5); assert(r = {}); end", count + 5);
    let ran = postbop_reading(&["summary", "-", "--proc", "p0"], source.as_bytes()).with(0).out;
    assert!(ran.contains("returns for every input") && ran.contains("result = x + 600"), "{ran}");
    postbop_reading(&["check", "-", "--engine", "weighted"], source.as_bytes()).with(0);
}

#[test]
fn limits_end_a_summary() {
    let ran = postbop(&["summary", "tests/cases/integers/ackermann.bp", "--proc", "ack", "--timeout", "1ms"])
        .with(3);
    assert!(format!("{}{}", ran.out, ran.err).contains("time limit of 0.001 s"), "{}{}", ran.out, ran.err);
}
