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
    let ran = postbop(&["pds", "post", "tests/cases/moped/control_states.pds"]).with(2);
    assert!(ran.err.contains("has variables"), "{}", ran.err);
    let ran = postbop(&["pds", "post", INFINITY]).with(2);
    assert!(ran.err.contains("not a pushdown system"), "{}", ran.err);
}

#[test]
fn limits_end_a_summary() {
    let ran = postbop(&["summary", "tests/cases/integers/ackermann.bp", "--proc", "ack", "--timeout", "1ms"])
        .with(3);
    assert!(format!("{}{}", ran.out, ran.err).contains("time limit of 0.001 s"), "{}{}", ran.out, ran.err);
}
