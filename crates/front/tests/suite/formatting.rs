//! Room `front`: formatting keeps the program and the comments, and formatting twice changes nothing.

use crate::common;
use postbop_front::bp::lexer::lex;
use postbop_front::bp::token::Kind;
use postbop_front::diagnostic::Sink;
use postbop_front::{Dialect, Options, format, read};

fn formatted(source: &str) -> String {
    format(source.as_bytes(), Options::default()).unwrap_or_else(|problems| panic!("{problems:?}\n{source}"))
}

/// Checks what formatting owes to a source that parses.
fn check(source: &[u8], what: &str) {
    for dialect in [Dialect::Auto, Dialect::Slam, Dialect::Satabs] {
        let Ok(once) = format(source, Options { dialect, ..Options::default() }) else { return };
        let twice = format(once.as_bytes(), Options { dialect, ..Options::default() })
            .expect("what was formatted parses");
        assert_eq!(once, twice, "{what}");
        let before = read(source, Options { dialect, ..Options::default() }).program.map(common::erased);
        before.iter().for_each(common::assert_valid);
        for reader in [dialect, Dialect::Slam, Dialect::Satabs] {
            let after = read(once.as_bytes(), Options { dialect: reader, ..Options::default() });
            assert_eq!(before, after.program.map(common::erased), "{what}\n{once}");
            assert!(after.diagnostics.iter().all(|d| d.code.text() != "W001"), "{what}\n{once}");
        }
    }
}

#[test]
fn all_files_keep_their_meaning() {
    for file in common::all_files() {
        check(&std::fs::read(&file).expect("a file"), &file.display().to_string());
    }
}

/// The tokens of a source but those that formatting may add or leave out.
fn tokens(source: &str) -> Vec<(Kind, String)> {
    let mut sink = Sink::default();
    let lexed = lex(source, Some(b'-'), &mut sink);
    let free = [Kind::LeftParen, Kind::RightParen, Kind::Semicolon];
    let kept = lexed.tokens.iter().filter(|token| !free.contains(&token.kind));
    kept.map(|token| (token.kind, lexed.names[token.sym as usize].to_owned())).collect()
}

#[test]
fn programs_of_others_keep_their_tokens() {
    for file in common::corpus() {
        let source = std::fs::read_to_string(&file).expect("a text");
        assert_eq!(tokens(&source), tokens(&formatted(&source)), "{}", file.display());
    }
}

#[test]
fn every_construct_keeps_its_meaning() {
    check(include_bytes!("every_construct.bp"), "every_construct.bp");
    assert!(common::codes(include_str!("every_construct.bp")).is_empty());
}

#[test]
fn operators_keep_their_grouping() {
    let ops = ["=>", "|", "^", "&", "=", "!="];
    for one in ops {
        for two in ops {
            for three in ops {
                for shape in ["a 1 b 2 c 3 d", "(a 1 b) 2 (c 3 d)", "a 1 (b 2 c) 3 d", "!(a 1 b) 2 !c 3 *"] {
                    let e = shape.replace('1', one).replace('2', two).replace('3', three);
                    check(format!("decl a,b,c,d; void main() begin a := {e}; end").as_bytes(), &e);
                }
            }
        }
    }
    for e in ["-(5) + -x", "--x - -3", "x - (x - x) * (x + 1)", "-(-5)", "x * (x * -1)", "(x + 2) * 3 - x"] {
        check(format!("decl int<9> x; void main() begin x := {e}; end").as_bytes(), e);
    }
}

#[test]
fn comments_stay() {
    let source = "// head\ndecl a, // one\n b // two\n;\n\n\n/* f */ void main() // m\nbegin // b\n  // inner\n
        L: // after label\n  a := T; // set\n if (a) // cond\n then skip; // yes\n /* last */ fi /* x */ /* y */\nend // done\n// tail";
    let once = formatted(source);
    let wanted = "\
// head
decl a, b; // one

// two

/* f */
void main() // m
begin // b
  // inner

  // after label
  L: a := T; // set
  if (a) then // cond
    skip; // yes
    /* last */
  fi /* x */ /* y */
end // done

// tail
";
    assert_eq!(once, wanted);
    check(source.as_bytes(), "comments");
}

#[test]
fn no_comment_is_lost_in_any_file() {
    for file in common::all_files() {
        let source = std::fs::read_to_string(&file).expect("a text");
        let Ok(once) = format(source.as_bytes(), Options::default()) else { continue };
        let count = |text: &str| text.matches("//").count();
        assert_eq!(count(&source), count(&once), "{}", file.display());
    }
}

#[test]
fn what_cannot_be_parsed_is_not_formatted() {
    let problems = format(b"void main() begin x := ; end", Options::default()).expect_err("no program");
    assert_eq!(problems.len(), 1);
}

#[test]
fn mutated_programs_keep_their_meaning_and_comments() {
    let source = include_str!("every_construct.bp");
    let words: Vec<&str> = source.lines().skip(1).flat_map(str::split_whitespace).collect();
    let mut parsed = 0;
    for seed in 0..1500 {
        let mut numbers = common::numbers(seed).map(|n| n as usize);
        let mut pick = |below: usize| numbers.next().unwrap_or_default() % below;
        let mut mutant = words.clone();
        for _ in 0..pick(4) {
            let (at, from) = (pick(mutant.len()), pick(words.len()));
            match pick(3) {
                0 => drop(mutant.remove(at)),
                1 => mutant[at] = words[from],
                _ => mutant.insert(at, words[from]),
            }
        }
        let mut text = String::new();
        for word in mutant {
            text.push_str(word);
            let gap = pick(40);
            let gap = [" ", "\n", "\n\n", " // c\n", " /* c */ ", "\n/* c\n */\n", "\n// c\n\n"]
                .get(gap)
                .unwrap_or(&" ");
            // Names in braces contain blanks; a comment there would be part of the name.
            text.push_str(if word.starts_with("{x") || word == "<" { " " } else { gap });
        }
        let comments = text.matches("// c").count() + text.matches("/* c").count();
        let Ok(once) = format(text.as_bytes(), Options::default()) else { continue };
        parsed += 1;
        assert_eq!(comments, once.matches("// c").count() + once.matches("/* c").count(), "{text}\n{once}");
        check(text.as_bytes(), &text);
    }
    assert!(parsed > 300, "{parsed}");
}
