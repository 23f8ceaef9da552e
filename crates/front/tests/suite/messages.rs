//! Room `front`: what people write who come from other languages, and what they are told.

use crate::common::{codes, erased, program, reading};
use postbop_front::{Dialect, Options, format, read};

/// The messages and hints of a source.
fn told(source: &str) -> Vec<(String, String)> {
    let found = reading(source).diagnostics;
    found.into_iter().map(|found| (found.message, found.hint.unwrap_or_default())).collect()
}

#[test]
fn else_if_is_two_words() {
    let told = told("decl x; void main() begin if (x) then skip; else if (!x) then skip; fi end");
    let [(message, hint)] = &told[..] else { panic!("{told:?}") };
    assert!(message.contains("never closed by `fi`") && hint.contains("write `elsif`"), "{told:?}");
    let nested = "decl x; void main() begin if (x) then skip; else if (!x) then skip; fi fi end";
    assert!(reading(nested).diagnostics.is_empty());
}

#[test]
fn blocks_have_no_braces() {
    let sources = [
        ("if (x) {\n x := 0;\n}", 1),
        ("if (x) { x := 0; }", 1),
        ("if (x) { x := 0; } else { x := 1; }", 1),
        ("if (x) {\n x := 0;\n} else {\n x := 1;\n}", 2),
        ("while (x) {\n x := 0;\n}", 1),
        ("while (x) do\n x := 0;\n}", 1),
    ];
    for (body, count) in sources {
        let told = told(&format!("decl x; void main() begin {body} assert(1); end"));
        let hints = told.iter().filter(|(_, hint)| hint.contains("`if … then … fi`")).count();
        assert_eq!((told.len(), hints), (count, count), "{told:?}");
    }
    let whole = told("decl x;\nvoid f() {\n x := 1;\n}\nvoid main() {\n f();\n}\n");
    assert!(whole.len() == 2 && whole.iter().all(|(_, hint)| hint.contains("`begin … end`")), "{whole:?}");
    // A name is a name, whatever it looks like.
    let names =
        "decl {a; b}; void main() begin if (*) then skip; else {a; b} := 1; fi assume(T) {a; b} := 1; end";
    assert!(reading(names).diagnostics.is_empty());
}

/// What the manual says about missing semicolons is what the parser does.
#[test]
fn a_semicolon_may_be_missing_where_the_next_word_ends_the_statement() {
    let simple =
        ["skip", "goto L", "x := y", "f()", "x := g()", "assert x", "assume(y)", "dead x", "end_thread"];
    let next = [
        "skip",
        "goto L",
        "x := 0",
        "M: skip",
        "7: skip",
        "f()",
        "if (x) then skip fi",
        "assert y",
        "dead y",
    ];
    let around = |first: &str, middle: &str, then: &str| {
        let body = format!("L: {first}{middle} {then}");
        format!("decl x, y; void f() begin end bool g() begin return 1; end void main() begin {body} end")
    };
    let graph = |source: &str| erased(program(source));
    for first in simple {
        for then in next {
            assert_eq!(graph(&around(first, "", then)), graph(&around(first, ";", then)), "{first} {then}");
        }
        // Two tokens that cannot follow each other are an error, whatever was meant.
        let wrong = if first.ends_with("g()") { "E007" } else { "E004" };
        assert_eq!(codes(&around(first, "", "T;")), [wrong], "{first}");
    }
    let own = program(&around("x := *", "", "constrain('x)"));
    let apart = program(&around("x := *", ";", "constrain('x)"));
    assert!(own.edges().len() < apart.edges().len(), "`constrain` belongs to the assignment before it");
}

#[test]
fn what_does_not_exist_is_named() {
    let body = "n := n / 2;\n n := n % 2;\n for (n := 0; n < 3; n := n + 1) {\n skip;\n }";
    let told = told(&format!("decl uint<3> n; void main() begin {body} end"));
    let messages: Vec<_> = told.iter().map(|(message, _)| &message[..15]).collect();
    assert_eq!(messages, ["there is no div", "there is no rem", "there is no `fo"], "{told:?}");
    for body in ["for (x) do skip; od", "for x in y do skip; od", "for x := 1 do x := 0; od"] {
        let told = self::told(&format!("decl x, y; void main() begin {body} end"));
        assert_eq!(
            told.iter().map(|(message, _)| &message[..]).collect::<Vec<_>>(),
            ["there is no `for`"],
            "{body}"
        );
    }
    assert!(reading("void for(x) begin skip; end void main() begin for(1); end").diagnostics.is_empty());
    assert!(reading("decl for; void main() begin for := 1; for := !for; end").diagnostics.is_empty());
}

#[test]
fn what_is_no_text_gets_one_diagnostic() {
    let wide: Vec<u8> =
        "decl x; void main() begin skip; end".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked: Vec<u8> = [0xFE, 0xFF].into_iter().chain([0, b'd', 0, b'e', 0, b'c']).collect();
    let noise: Vec<u8> = (0..4000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for (bytes, is_wide) in [(wide, true), (marked, true), (noise, false), (vec![0; 100], false)] {
        let found = read(&bytes, Options::default()).diagnostics;
        let [only] = &found[..] else { panic!("{found:?}") };
        assert_eq!((only.code.text(), only.hint.is_some()), ("E008", is_wide));
        assert_eq!(format(&bytes, Options::default()).map_err(|found| found.len()), Err(1));
    }
    // Some bytes in a comment do no harm.
    assert!(read(b"// caf\xE9 \xFF\nvoid main() begin skip; end", Options::default()).diagnostics.is_empty());
}

#[test]
fn doubt_is_rare() {
    let source = |expr: &str| format!("decl a, b, c; decl uint<2> n; void main() begin assume({expr}); end");
    assert_eq!(codes(&source("a = b & c")), ["W001"]);
    assert!(codes(&source("n = 2 & c")).is_empty(), "no number is a Boolean");
    assert!(codes(&source("(a = b) & c")).is_empty());
    let twice = source("a = b & c); assume(a | b ^ c); assume(n = 2 & c");
    let found = reading(&twice).diagnostics;
    assert!(
        found.len() == 1 && found[0].hint.as_ref().is_some_and(|hint| hint.contains("1 other")),
        "{found:?}"
    );
    for dialect in [Dialect::Slam, Dialect::Satabs] {
        let options = Options { dialect, ..Options::default() };
        assert!(read(source("a = b & c").as_bytes(), options).diagnostics.is_empty());
    }
}
