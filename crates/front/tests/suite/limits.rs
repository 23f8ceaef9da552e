//! Room `front`: size and depth cost time and memory in proportion, and never the stack; garbage is no danger.

use crate::common::{self, codes, numbers, program, reading};
use postbop_front::{Options, format, read};

fn body(text: &str) -> String {
    format!("decl a; void main() begin {text} end")
}

/// Reads and formats a source that must be correct, on a stack that would not bear recursion.
fn check(source: String) {
    let run = move || {
        assert!(reading(&source).program.is_some(), "{:?}", reading(&source).diagnostics);
        let once = format(source.as_bytes(), Options::default()).expect("it parses");
        assert_eq!(format(once.as_bytes(), Options::default()).as_ref(), Ok(&once));
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).expect("a thread").join().expect("no panic");
}

#[test]
fn deep_and_long_expressions() {
    check(body(&format!("a := {}a{};", "(".repeat(100_000), ")".repeat(100_000))));
    check(body(&format!("a := {}a{};", "a => (".repeat(99_000), ")".repeat(99_000))));
    check(body(&format!("a := {}a;", "!".repeat(1_000_000))));
    check(body(&format!("a := a{};", " & a".repeat(1_000_000))));
    check(body(&format!("a := {}a{};", "ite(a, a, ".repeat(90_000), ")".repeat(90_000))));
}

#[test]
fn deep_and_long_statements() {
    check(body(&format!("{}skip;{}", "if (a) then ".repeat(100_000), " fi".repeat(100_000))));
    check(body(&format!("{}skip;{}", "while (a) do ".repeat(100_000), " od".repeat(100_000))));
    check(body(&format!("if (a) then skip; {}fi", "elsif (a) then a := !a; ".repeat(100_000))));
    check(body(&format!("{} skip;", (0..100_000).map(|i| format!("L{i}: ")).collect::<String>())));
    check(body(&"a := !a; ".repeat(300_000)));
}

#[test]
fn many_procedures_and_variables() {
    let proc =
        |i: usize| format!("bool p{i}(x) begin decl l := x; l := p{}(l); return l; end\n", (i + 1) % 50_000);
    check(format!("void main() begin skip; end {}", (0..50_000).map(proc).collect::<String>()));
    let names: Vec<String> = (0..100_000).map(|i| format!("g{i}")).collect();
    let names = names.join(", ");
    check(format!("decl {names}; void main() begin decl {names}; dead {names}; end"));
}

#[test]
fn beyond_the_limits() {
    assert_eq!(codes(&body(&format!("a := {}a{};", "(".repeat(100_001), ")".repeat(100_001)))), ["E006"]);
    assert_eq!(codes(&body(&format!("{}{}", "if a then ".repeat(100_001), "fi ".repeat(100_001)))), ["E006"]);
}

#[test]
fn a_short_source_cannot_ask_for_all_memory() {
    let arrays: String = (0..2000).map(|i| format!("decl a{i}[4096];\n")).collect();
    assert_eq!(codes(&format!("{arrays} void main() begin end")), ["E010"]);
    let procs: String =
        (0..2000).map(|i| format!("bool<4096> p{i}() begin goto L; L: goto L; end\n")).collect();
    assert_eq!(codes(&format!("{procs} void main() begin end")), ["E010"]);
}

#[test]
fn nested_indices_do_not_multiply() {
    let index = format!("{}i{}", "a[".repeat(1000), "]".repeat(1000));
    let source = format!("decl uint<3> a[8], i; void main() begin i := {index}; end");
    let ops: usize =
        program(&source).edges().iter().flat_map(|e| e.action.exprs()).map(|e| e.code.len()).sum();
    assert!(ops < 100_000, "{ops}");
}

#[test]
fn truncations_of_programs_do_not_panic() {
    let mut sources = vec![include_bytes!("every_construct.bp").to_vec()];
    let small = |path: &std::path::PathBuf| std::fs::metadata(path).is_ok_and(|m| m.len() < 1000);
    sources.extend(
        common::all_files().iter().filter(|path| small(path)).map(|p| std::fs::read(p).expect("a file")),
    );
    for source in sources {
        for end in 0..source.len() {
            read(&source[..end], Options::default());
            read(&source[end..], Options::default());
        }
    }
}

#[test]
fn other_ends_of_lines_and_marks_of_encodings() {
    let source = "\u{FEFF}decl a; // x\r\nvoid main()\r\n\x0Cbegin\r\n\ta := T;\r\nend\r\n";
    assert!(codes(source).is_empty());
    let once = format(source.as_bytes(), Options::default()).expect("it parses");
    assert_eq!(once, "decl a; // x\n\nvoid main()\nbegin\n  a := T;\nend\n");
}

#[test]
fn bytes_that_are_no_text_do_no_harm_in_comments() {
    let reading = read(b"// caf\xE9 \0\ndecl a; /* \xFF */ void main() begin end", Options::default());
    assert!(reading.diagnostics.is_empty() && reading.program.is_some());
}

#[test]
fn garbage_is_reported_in_a_few_words() {
    for seed in 0..200 {
        let bytes: Vec<u8> = numbers(seed).take(5000).map(|n| n as u8).collect();
        let reading = read(&bytes, Options::default());
        assert!(reading.program.is_none() && reading.diagnostics.len() == 1, "{:?}", reading.diagnostics);
    }
    let binary = read(&[0xFF; 1_000_000], Options::default());
    assert!(binary.diagnostics.len() < 3, "{:?}", binary.diagnostics);
}

#[test]
fn shuffled_tokens_do_not_panic() {
    let source = include_str!("every_construct.bp");
    let words: Vec<&str> = source.lines().skip(1).flat_map(str::split_whitespace).collect();
    for seed in 0..2000 {
        let picks = numbers(seed).take(60);
        let text: Vec<&str> = picks.map(|n| words[n as usize % words.len()]).collect();
        let text = format!("decl a; void main() begin {} end", text.join(" "));
        reading(&text);
        let _ = format(text.as_bytes(), Options::default());
    }
}

/// Reads clauses that must be correct, on a stack that would not bear recursion.
fn check_clauses(source: String) {
    let run = move || {
        let (program, diagnostics) = postbop_front::horn::read(&source);
        assert!(program.is_some(), "{diagnostics:?}");
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).expect("a thread").join().expect("no panic");
}

#[test]
fn deep_and_wide_clauses() {
    let with = |formula: String| format!("(set-logic HORN)(declare-fun p (Bool) Bool)(assert {formula})");
    let nested = |open: &str, close: &str, count: usize| {
        format!("(forall ((x Bool)) (=> {}x{} (p x)))", open.repeat(count), close.repeat(count))
    };
    check_clauses(with(nested("(not ", ")", 100_001)));
    check_clauses(with(nested("(and x ", ")", 100_000)));
    check_clauses(with(nested("(ite x x ", ")", 20_000)));
    check_clauses(with(nested("(let ((x (not x))) ", ")", 20_000)));
    check_clauses(with(nested("(! ", " :named a)", 20_000)));
    check_clauses(with(nested("(exists ((y Bool)) (and (p y) ", "))", 20_000)));
    // Each name stands for twice what the one before does: written out, that would not fit anywhere.
    let doubled = "(let ((x (bvadd x x))) ".repeat(500);
    let close = ")".repeat(500);
    let vector = "(set-logic HORN)(declare-fun p ((_ BitVec 8)) Bool)";
    check_clauses(format!("{vector}(assert (forall ((x (_ BitVec 8))) (p {doubled}(bvmul x x){close})))"));
    let chain: String = (0..5_000).map(|at| format!("(declare-fun p{at} (Bool) Bool)")).collect();
    let steps: String = (1..5_000)
        .map(|at| format!("(assert (forall ((x Bool)) (=> (p{} x) (p{at} (not x)))))", at - 1))
        .collect();
    check_clauses(format!(
        "(set-logic HORN){chain}(assert (p0 true)){steps}(assert (=> (p4999 true) false))"
    ));
    // Each relation is called by all that come later: walks would be quadratic.
    let calls: String = (1..2_000)
        .map(|at| {
            format!("(assert (forall ((x Bool)) (=> (and (p{} x) (p{} x)) (p{at} x))))", at - 1, at / 2)
        })
        .collect();
    let chain: String = (0..2_000).map(|at| format!("(declare-fun p{at} (Bool) Bool)")).collect();
    check_clauses(format!(
        "(set-logic HORN){chain}(assert (p0 true)){calls}(assert (=> (p1999 true) false))"
    ));
}

#[test]
fn clauses_that_are_not_closed() {
    for source in ["", "; nothing", "(assert ", &"(".repeat(100_000), "(assert))", "(assert |x)", "\"", ")"] {
        let (program, diagnostics) = postbop_front::horn::read(source);
        assert!(program.is_none() && !diagnostics.is_empty(), "{source:.20}");
    }
}
