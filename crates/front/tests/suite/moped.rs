//! Room `front`: pushdown systems with variables, in Moped's format.

use crate::common::{assert_valid, folder};
use postbop_front::LineIndex;
use postbop_front::moped::{is_moped, read};
use postbop_ir::{Action, Program};

/// The codes that a text gets, with lines and columns.
fn codes(text: &str) -> Vec<(&'static str, usize, usize)> {
    let lines = LineIndex::new(text);
    let place = |diagnostic: &postbop_front::Diagnostic| {
        let (line, column) = lines.line_column(text, diagnostic.span.start);
        (diagnostic.code.text(), line, column)
    };
    read(text).1.iter().map(place).collect()
}

fn program(text: &str) -> Program {
    let (program, diagnostics) = read(text);
    let program = program.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    assert_valid(&program);
    program
}

/// Reads a text on a stack that would not bear recursion; how many procedures and edges there are, or the first code.
fn size(text: String) -> Result<(usize, usize), &'static str> {
    let run = move || {
        let (program, diagnostics) = read(&text);
        match program {
            Some(program) => Ok((program.procs().len(), program.edges().len())),
            None => Err(diagnostics[0].code.text()),
        }
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(run).expect("a thread");
    thread.join().expect("no panic")
}

#[test]
fn formats_are_told_apart() {
    assert!(
        is_moped("# x\n\n% y\n (q <a>)\n") && is_moped("define N 2\n(q <a>)") && is_moped("local(a) bool x;")
    );
    assert!(is_moped("2\nq <a> --> q <>\n"));
    assert!(!is_moped("") && !is_moped("3 # (q\nPDA 1 2\n0 1 -> 1 2\n") && !is_moped("PDA 0 1\n"));
}

#[test]
fn what_is_wrong_with_systems() {
    assert_eq!(codes("global bool x;\n"), [("E052", 2, 1)]);
    assert_eq!(codes("q <a> --> q <>\n"), [("E052", 1, 1)]);
    assert_eq!(codes("(q <a b>)\n"), [("E004", 1, 7)]);
    assert_eq!(
        codes("(q <a>)\nq <a> --> q <b c d>\nq <a> --> q <b> (x)\n"),
        [("E004", 2, 18), ("E011", 3, 18)]
    );
    assert_eq!(codes("(q <a>) q <a> --> q <@>"), [("E001", 1, 22)]);
    assert_eq!(codes("(q <a>) q <a> --> q <> \"x"), [("E004", 1, 24)]);
    assert_eq!(codes("define N 2 define N 3 (q <a>)"), [("E012", 1, 19)]);
    assert_eq!(codes("global int x(0), y(64); (q <a>)"), [("E010", 1, 14)]);
    assert_eq!(codes("global int x[2,1](3); (q <a>)"), [("E010", 1, 14)]);
    assert_eq!(codes("global int x[200000](3); (q <a>)"), [("E010", 1, 14)]);
    assert_eq!(codes("global int x[60000](3), y[60000](3); (q <a>)"), [("E008", 1, 25)]);
    assert_eq!(codes("global int x(M); (q <a>)"), [("E011", 1, 14)]);
    assert_eq!(codes("global int x(99999999999999999999); (q <a>)"), [("E009", 1, 14)]);
    assert_eq!(codes("global bool x; int x(2); (q <a>)"), [("E012", 1, 20)]);
    let rule = |formula: &str| {
        let before = "global bool x; int y(2), a[3](2); (q <a>)\nq <a> --> q <a> (";
        codes(&format!("{before}\n{formula})"))
    };
    assert_eq!(rule("x & y"), [("E021", 3, 5)]);
    assert_eq!(rule("x' = x"), [("E021", 3, 1), ("E021", 3, 6)]);
    assert_eq!(rule("y' == y"), [("E021", 3, 1), ("E021", 3, 7)]);
    assert_eq!(rule("y = 1 = 1"), [("E021", 3, 1)]);
    assert_eq!(rule("y"), [("E021", 3, 1)]);
    assert_eq!(rule("a = 1"), [("E025", 3, 1)]);
    assert_eq!(rule("y[1] = 1"), [("E026", 3, 1)]);
    assert_eq!(rule("a[x] = 1"), [("E021", 3, 3)]);
    assert_eq!(rule("z = 1"), [("E011", 3, 1)]);
    assert_eq!(rule("A i (0,1) A i (0,1) a[i] = 0"), [("E012", 3, 11)]);
    assert_eq!(rule("A i (0,y) x"), [("E011", 3, 8)]);
    assert_eq!(rule("(x & x"), [("E004", 3, 8)]);
    assert_eq!(rule("x &"), [("E004", 3, 4)]);
    assert_eq!(rule("a[7] = 1"), [("W005", 3, 1)]);
    assert_eq!(rule("y << 70 = 1"), [("E008", 3, 3)]);
}

/// A formula that is a conjunction of equations leaves nothing to test, and what is kept is not assigned.
#[test]
fn equations_are_assignments() {
    let text = "global int x(2), y(2); local (a,b) bool u; (q <a>)\n\
                q <a> --> q <b> (x' = x & y' = 3 & (u' == !u))\nq <b> --> q <b a> (x' = x & y' = y & u' & (u'' <=> u))";
    let program = program(text);
    let actions: Vec<&Action> = program.edges().iter().map(|edge| &edge.action).collect();
    let plain = |targets: usize| move |action: &&&Action| matches!(action, Action::Assign { targets: all, constraint: None, .. } if all.len() == targets);
    assert_eq!(actions.iter().filter(plain(2)).count(), 1, "{actions:?}");
    // The second rule changes nothing but what is passed, in both procedures that have it.
    assert_eq!(actions.len(), 4, "{actions:?}");
    assert!(actions.iter().all(|action| !matches!(action, Action::Assume(_) | Action::Havoc(_))));
}

#[test]
fn large_systems() {
    let rule =
        |at: usize| format!("q <s{at}> --> q <s{} s{}> (x' == !x)\nq <s{at}> --> q <>\n", at + 1, at + 2);
    let rules: String = (0..20_000).map(rule).collect();
    // Every symbol is called, and every other one is in its frame: they share a procedure.
    let (procs, edges) = size(format!("global bool x; (q <s0>)\n{rules}")).expect("it is read");
    assert!(procs < 10 && (80_000..200_000).contains(&edges), "{procs} procedures, {edges} edges");
    let chain: String = (0..20_000).map(|at| format!("q <s{at}> --> q <s{}>\n", at + 1)).collect();
    assert_eq!(size(format!("(q <s0>)\n{chain}")), Ok((2, 20_001)));
    let names: Vec<String> = (0..60).map(|at| format!("x{at}")).collect();
    let keep: Vec<String> = names.iter().map(|name| format!("{name}' = {name}+1")).collect();
    let wide =
        format!("global int {}(8); (q <a>) q <a> --> q <a> ({})", names.join("(8), "), keep.join(" & "));
    assert_eq!(size(wide), Ok((2, 2)));
}

#[test]
fn deep_and_long_formulas() {
    let rule =
        |formula: String| size(format!("global bool x; int y(4); (q <a>) q <a> --> q <a> ({formula})"));
    let many = 20_000;
    assert_eq!(rule(format!("{}x{}", "(".repeat(many), ")".repeat(many))), Ok((2, 2)));
    assert_eq!(rule(format!("{}x", "!".repeat(many))), Ok((2, 2)));
    assert_eq!(rule(format!("{}x'{}", "x == (".repeat(many), ")".repeat(many))), Ok((2, 2)));
    assert_eq!(rule(format!("x{}", " & x'".repeat(many))), Ok((2, 2)));
    assert_eq!(rule(format!("y = {}1", "1-1+".repeat(many))), Ok((2, 2)));
    let nested: String = (0..many).map(|at| format!("A i{at} (0,0) ")).collect();
    assert_eq!(rule(format!("{nested}x")), Ok((2, 2)));
    // 2^20000 parts.
    let nested: String = (0..many).map(|at| format!("A i{at} (0,1) ")).collect();
    assert_eq!(rule(format!("{nested}x")), Err("E008"));
    assert_eq!(rule("A i (0,99999999999) y != i*i".to_owned()), Err("E008"));
    assert_eq!(rule("y * y * y * y = y * y * y".to_owned()), Ok((2, 2)));
}

#[test]
fn wide_products_are_refused() {
    let system =
        |formula: &str| size(format!("global int x(63), y(63); (q <a>) q <a> --> q <a> ({formula})"));
    assert_eq!(system("x' = y & y' = x & x < y"), Ok((2, 2)));
    assert_eq!(system("x * y = 3"), Err("E008"));
    assert_eq!(system("x + y = 3"), Err("E008"));
    assert_eq!(system("x = 9223372036854775807"), Ok((2, 2)));
}

#[test]
fn systems_of_others() {
    for path in crate::common::files(&folder(), "pds") {
        let text = std::fs::read_to_string(&path).expect("a system");
        if is_moped(&text) {
            assert_eq!(codes(&text), [], "{}", path.display());
            program(&text);
        }
    }
}
