//! `postbop summary` and `postbop pds`, beyond what the manual shows.

use crate::common::{postbop, postbop_reading, scratch};

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
    for (from, message) in [
        ("q a", "`q a` is not a configuration"),
        ("q (x): a ; q <a> --> q <a>", "is not a configuration"),
        ("q (x = 1): a", "numbers are compared"),
        ("q (y): a", "variable `y` is not declared"),
        ("q (x'): a", "no primes"),
        ("q: a (x)", "not a variable of this stack symbol"),
        ("q: a (", "expected"),
        ("q: a <", "expected a stack symbol"),
        ("q: e", "no rule mentions the symbol `e`"),
        ("a: a", "no rule mentions the control state `a`"),
    ] {
        let ran = postbop(&["pds", "pre", "tests/cases/moped/control_states.pds", "--from", from]).with(2);
        assert!(ran.err.contains(message), "{from}: {}", ran.err);
    }
    let ran = postbop(&["pds", "post", INFINITY]).with(2);
    assert!(ran.err.contains("not a pushdown system"), "{}", ran.err);
}

#[test]
fn configurations_have_values() {
    // b is called with x = 0 or 1, and leaves it as it is; where c goes on depends on x.
    let file = "tests/cases/moped/control_states.pds";
    let ran = postbop(&["pds", "post", file]).with(0).out;
    let has = |parts: [&str; 4]| ran.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(has(["no ", " c ", " (end)", "x = 0"]) && has(["yes ", " c ", " (end)", "x = 1"]), "{ran}");
    assert!(!has(["no ", " c ", " (end)", "x = 1"]) && !has(["yes ", " c ", " (end)", "x = 0"]), "{ran}");
    let dot = postbop(&["pds", "post", file, "--dot"]).with(0).out;
    assert!(dot.contains("\"yes\" -> \"(end)\"") && dot.contains("doublecircle"), "{dot}");
    // Where c goes on in state yes, x was true from the start; b below something is not looked at.
    let ran = postbop(&["pds", "pre", file, "--from", "yes: c"]).with(0).out;
    let rows: Vec<Vec<&str>> = ran.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(rows.contains(&vec!["q", "a", "(end)", "x", "=", "1"]), "{ran}");
    assert!(rows.contains(&vec!["q", "b", "yes", "x", "=", "1"]), "{ran}");
    // Nothing goes on below, and each symbol keeps what was said of it.
    let given = "q: f1 (n = 1) f1 (n = 2) m1 (b)";
    let ran =
        postbop(&["pds", "post", "tests/cases/moped/adds_on_the_way_back.pds", "--from", given]).with(0).out;
    let rows: Vec<Vec<&str>> = ran.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(rows.contains(&vec!["(1)", "f1", "(2)", "n''", "=", "2"]), "{ran}");
    assert!(rows.contains(&vec!["(2)", "m1", "(end)", "b''", "=", "1"]), "{ran}");
    // An empty stack, with a condition on what is left.
    let ran = postbop(&["pds", "pre", file, "--from", "no (x):", "--from", "yes:"]).with(0).out;
    assert!(ran.contains("a stack may end at no where x = 1\na stack may end at yes\n"), "{ran}");
}

#[test]
fn limits_end_the_search_for_configurations() {
    // Two numbers are mixed again and again, at every height of the stack: the relations grow large.
    let source = "global int x(14); int y(14); (q <a>) q <a> --> q <a b> (x' = y & y' = 3*x) q <a> --> q <> (x' = y*3 & y' = x) \
         q <b> --> q <> (x' = x+y & y' = x) q <b> --> q <a b> (x' = 5*y & y' = x+1)";
    let path = scratch("mixes_numbers.pds", source);
    for direction in ["post", "pre"] {
        for limit in [["--timeout", "0ms"], ["--timeout", "30ms"], ["--memory", "12MB"]] {
            let ran = postbop(&["pds", direction, path.to_str().unwrap(), limit[0], limit[1]]).with(3);
            assert!(ran.err.contains("limit of"), "{direction} {limit:?}: {}", ran.err);
        }
    }
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
