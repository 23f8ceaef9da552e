//! Room `xtask`: style rules for Rust files.

use super::{Breach, File};

/// The longest file and the longest function.
const FILE_LINES: usize = 500;
const FUNCTION_LINES: usize = 80;

pub(super) fn check(file: &File<'_>) -> Vec<Breach> {
    let mut breaches = Vec::from_iter(heading(file));
    breaches.extend(length(file));
    breaches.extend(functions(file));
    breaches.extend(leftovers(file));
    breaches.extend(printing(file));
    breaches.extend(neighbours(file));
    breaches
}

/// The first line says which room this is. Roots and tests may begin with any documentation.
fn heading(file: &File<'_>) -> Option<Breach> {
    let name = file.path.rsplit('/').next().unwrap_or(file.path);
    let loose = matches!(name, "lib.rs" | "main.rs" | "build.rs") || file.path.contains("tests/");
    let wanted = if loose { "//!" } else { "//! Room " };
    (!file.text.starts_with(wanted)).then(|| file.breach(1, format!("does not begin with `{wanted}`")))
}

fn length(file: &File<'_>) -> Option<Breach> {
    let lines = file.text.lines().count();
    (lines > FILE_LINES).then(|| file.breach(lines, format!("{lines} lines: more than {FILE_LINES}")))
}

/// A function ends where a brace closes at its own indentation: what rustfmt writes, nothing more.
fn functions(file: &File<'_>) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let lines: Vec<&str> = file.text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        if !begins_function(code) || line.trim_end().ends_with([';', '}']) {
            continue;
        }
        let close = format!("{}}}", &line[..line.len() - code.len()]);
        let Some(body) = lines[at..].iter().position(|line| *line == close) else { continue };
        if body + 1 > FUNCTION_LINES {
            let rule = format!("a function of {} lines: more than {FUNCTION_LINES}", body + 1);
            breaches.push(file.breach(at + 1, rule));
        }
    }
    breaches
}

fn begins_function(code: &str) -> bool {
    let mut words = code.split_whitespace();
    words.find(|word| !matches!(*word, "const" | "async" | "unsafe") && !word.starts_with("pub"))
        == Some("fn")
}

/// What is meant to go before others read it. The words are split here, for this file is checked as well.
fn leftovers(file: &File<'_>) -> Vec<Breach> {
    let words = [
        concat!("to", "do!"),
        concat!("unimple", "mented!"),
        concat!("db", "g!("),
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("#[ig", "nore"),
        concat!("allow(dead", "_code"),
    ];
    let found = words.iter().flat_map(|word| file.lines(&format!("`{word}`"), |line| line.contains(word)));
    found.collect()
}

/// Only the command line and the chores print.
fn printing(file: &File<'_>) -> Vec<Breach> {
    if ["crates/cli/", "xtask/"].iter().any(|room| file.path.starts_with(room))
        || file.path.contains("/tests/")
        || file.path.contains("/examples/")
    {
        return Vec::new();
    }
    let prints = |line: &str| {
        let code = line.trim_start();
        !code.starts_with("//")
            && ["println!", "eprintln!", "print!(", "eprint!("].iter().any(|name| {
                code.match_indices(name)
                    .any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
            })
    };
    file.lines("prints outside the command line", prints)
}

/// The trusted core knows nothing of the mathematics that engines use.
fn neighbours(file: &File<'_>) -> Vec<Breach> {
    if !["crates/ir/", "crates/validate/"].iter().any(|room| file.path.starts_with(room)) {
        return Vec::new();
    }
    file.lines("the trusted core mentions another room", |line| {
        ["postbop_kit", "postbop_engine", "postbop_front"].iter().any(|name| line.contains(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<'a>(path: &'a str, text: &'a str) -> File<'a> {
        File { path, text }
    }

    #[test]
    fn the_room_is_named_first() {
        assert!(heading(&at("crates/ir/src/a.rs", "//! Room `ir`: a.\n")).is_none());
        assert!(heading(&at("crates/ir/src/a.rs", "//! About a.\n")).is_some());
        assert!(heading(&at("crates/ir/src/lib.rs", "//! About a.\n")).is_none());
        assert!(heading(&at("crates/cli/tests/a.rs", "//! About a.\n")).is_none());
        assert!(heading(&at("crates/ir/src/lib.rs", "use a;\n")).is_some());
    }

    #[test]
    fn long_files_are_found() {
        assert!(length(&at("a.rs", &"x\n".repeat(FILE_LINES))).is_none());
        assert!(length(&at("a.rs", &"x\n".repeat(FILE_LINES + 1))).is_some());
    }

    #[test]
    fn long_functions_are_found() {
        let body =
            |lines: usize| format!("    pub(super) fn f()\n    {{\n{}    }}\n", "        x;\n".repeat(lines));
        assert!(functions(&at("a.rs", &body(FUNCTION_LINES - 3))).is_empty());
        let found = functions(&at("a.rs", &format!("fn g() {{\n}}\n{}", body(FUNCTION_LINES))));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 3);
        let signature = format!("fn g();\n{}}}\n", "\n".repeat(FUNCTION_LINES + 1));
        assert!(functions(&at("a.rs", &signature)).is_empty());
    }

    #[test]
    fn leftovers_are_found() {
        let text = format!("a\n// {}: later\n    {}(x)\n", concat!("TO", "DO"), concat!("db", "g!"));
        let found: Vec<usize> = leftovers(&at("a.rs", &text)).iter().map(|breach| breach.line).collect();
        assert_eq!(found, [3, 2]);
    }

    #[test]
    fn printing_is_found_where_it_is_not_wanted() {
        let text = "    println!(\"x\");\n    // println!(\"x\");\n    my_println!();\n";
        assert_eq!(printing(&at("crates/ir/src/a.rs", text)).len(), 1);
        assert!(printing(&at("crates/cli/src/a.rs", text)).is_empty());
    }

    #[test]
    fn the_trusted_core_stays_alone() {
        assert_eq!(neighbours(&at("crates/ir/src/a.rs", "use postbop_kit::x;\n")).len(), 1);
        assert_eq!(neighbours(&at("crates/validate/src/a.rs", "use postbop_engine::x;\n")).len(), 1);
        assert!(neighbours(&at("crates/engine/src/a.rs", "use postbop_kit::x;\n")).is_empty());
    }
}
