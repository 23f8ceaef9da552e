//! Room `xtask`: invariants of ARCHITECTURE.md that can be seen in the text.
//!
//! # Recursion
//!
//! No recursion over anything a user can make large. Within a file, a function that can come back to itself by calls of
//! functions of the same file is a breach, unless the line above it says why the depth is bounded, after the words
//! `Bounded depth:`. Calls are seen by name: of functions by themselves, of methods behind `self.` and `Self::`. Recursion
//! through several files, or through methods of other values, is not seen.

use super::{Breach, File};
use std::collections::{BTreeMap, BTreeSet};

/// What a comment says above a function whose recursion is bounded.
const EXCUSE: &str = "Bounded depth:";

/// The one place that looks at the clock.
const CLOCK: &str = "crates/engine/src/budget.rs";

pub(super) fn check(file: &File<'_>) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let core = [
        "crates/ir/src/",
        "crates/kit/src/",
        "crates/front/src/",
        "crates/engine/src/",
        "crates/validate/src/",
    ];
    if core.iter().any(|room| file.path.starts_with(room)) && !file.path.ends_with("tests.rs") {
        breaches.extend(recursion(file));
        breaches.extend(clock(file));
    }
    breaches.extend(engines(file));
    if file.path == "ARCHITECTURE.md" {
        breaches.extend(words(file));
    }
    breaches
}

/// A function or a method, by its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Name<'a> {
    Function(&'a str),
    Method(&'a str),
}

/// A function: its name, the line where it begins, whether it is excused, and what it calls.
struct Function<'a> {
    name: Name<'a>,
    line: usize,
    excused: bool,
    calls: BTreeSet<Name<'a>>,
}

fn recursion(file: &File<'_>) -> Vec<Breach> {
    let functions = functions(file.text);
    let mut calls: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
    for function in &functions {
        calls.entry(function.name).or_default().extend(&function.calls);
    }
    let comes_back = |name: Name| {
        let mut seen: BTreeSet<Name> = BTreeSet::new();
        let mut work: Vec<Name> = calls[&name].iter().copied().collect();
        while let Some(next) = work.pop() {
            if next == name {
                return true;
            }
            if seen.insert(next) {
                work.extend(calls.get(&next).into_iter().flatten());
            }
        }
        false
    };
    let found = functions.iter().filter(|function| !function.excused && comes_back(function.name));
    found
        .map(|function| {
            let (Name::Function(name) | Name::Method(name)) = function.name;
            file.breach(function.line, format!("`{name}` calls itself"))
        })
        .collect()
}

/// The functions of a file, up to its tests. A function ends where a brace closes at its own indentation, as rustfmt
/// writes it.
fn functions(text: &str) -> Vec<Function<'_>> {
    let lines: Vec<&str> = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = defined(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let name = if indent.is_empty() { Name::Function(name) } else { Name::Method(name) };
        let close = format!("{indent}}}");
        let end = lines[at..].iter().position(|line| *line == close).map_or(at, |length| at + length);
        let above = lines[..at].iter().rev().take_while(|line| {
            let line = line.trim_start();
            line.starts_with("//") || line.starts_with("#[")
        });
        let excused = above.into_iter().any(|line| line.contains(EXCUSE));
        let body = lines[at + 1..=end.max(at + 1).min(lines.len() - 1)].iter().flat_map(|line| called(line));
        found.push(Function { name, line: at + 1, excused, calls: body.collect() });
    }
    let names: BTreeSet<Name> = found.iter().map(|function| function.name).collect();
    found.iter_mut().for_each(|function| function.calls.retain(|name| names.contains(name)));
    found
}

/// The name of the function that a line begins to define.
fn defined(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let rest = match code.strip_prefix("fn ") {
        Some(rest) => rest,
        None if code.starts_with("pub") => code.split_once(" fn ")?.1,
        None => return None,
    };
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    Some(&rest[..end])
}

/// What a line calls: plain functions, and methods and functions of `self` and `Self`.
fn called(line: &str) -> Vec<Name<'_>> {
    let code = line.split("//").next().unwrap_or("");
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (at, _) in code.match_indices('(') {
        let name = code[..at].rsplit(|c| !word(c)).next().unwrap_or("");
        let before = &code[..at - name.len()];
        let own = before.ends_with("self.") || before.ends_with("Self::");
        let plain = !before.ends_with(['.', ':']) && !before.ends_with("fn ");
        if !name.is_empty() && own {
            found.push(Name::Method(name));
        } else if !name.is_empty() && plain {
            found.push(Name::Function(name));
        }
    }
    found
}

/// Core crates do not look at the clock, but for one place.
fn clock(file: &File<'_>) -> Vec<Breach> {
    if file.path == CLOCK {
        return Vec::new();
    }
    let looks = |line: &str| {
        let code = line.split("//").next().unwrap_or("");
        code.contains("Instant::now") || code.contains("SystemTime")
    };
    file.lines("looks at the clock", looks)
}

/// The rooms of engines. Each has the name of its engine; variants of one engine share a room.
fn rooms() -> BTreeSet<&'static str> {
    let names = postbop_engine::engines().iter().map(|engine| engine.name());
    names.map(|name| name.split(':').next().unwrap_or(name)).collect()
}

/// No engine imports another.
fn engines(file: &File<'_>) -> Vec<Breach> {
    let rooms = rooms();
    let Some(rest) = file.path.strip_prefix("crates/engine/src/") else { return Vec::new() };
    let Some(own) = rooms.iter().find(|engine| rest.starts_with(&format!("{engine}/"))) else {
        return Vec::new();
    };
    let others: Vec<String> =
        rooms.iter().filter(|other| *other != own).map(|other| format!("crate::{other}")).collect();
    file.lines("an engine imports another", |line| others.iter().any(|other| line.contains(other.as_str())))
}

/// Each word of the table has one row, and one meaning.
fn words(file: &File<'_>) -> Vec<Breach> {
    let mut seen = BTreeSet::new();
    let mut breaches = Vec::new();
    let start = file.text.lines().position(|line| line.starts_with("## Words")).unwrap_or(usize::MAX);
    for (at, line) in file.text.lines().enumerate().skip(start) {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let (Some(word), Some(meaning)) = (cells.next(), cells.next()) else { continue };
        if word.starts_with("---") || word == "word" {
            continue;
        }
        if !seen.insert(word.to_owned()) {
            breaches.push(file.breach(at + 1, format!("`{word}` has two rows")));
        }
        if [". Also ", ". In ", "; elsewhere"].iter().any(|second| meaning.contains(second)) {
            breaches.push(file.breach(at + 1, format!("`{word}` has two meanings")));
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<'a>(path: &'a str, text: &'a str) -> File<'a> {
        File { path, text }
    }

    #[test]
    fn recursion_is_found() {
        let direct = "fn f(n: u32) {\n    f(n - 1);\n}\n";
        assert_eq!(recursion(&at("a.rs", direct)).len(), 1);
        let mutual = "impl A {\n    pub fn f(&self) {\n        self.g();\n    }\n\n    fn g(&self) {\n        Self::f(self);\n    }\n}\n";
        assert_eq!(recursion(&at("a.rs", mutual)).len(), 2);
        let excused = format!("/// A.\n// {EXCUSE} the parser allows 200.\n{direct}");
        assert!(recursion(&at("a.rs", &excused)).is_empty());
        let none = "fn f() {\n    other.f();\n    g();\n}\n\nfn g() {\n    h::f();\n}\n";
        assert!(recursion(&at("a.rs", none)).is_empty());
        let tests = "fn f() {\n}\n#[cfg(test)]\nmod tests {\n    fn g() {\n        g();\n    }\n}\n";
        assert!(recursion(&at("a.rs", tests)).is_empty());
    }

    #[test]
    fn clocks_are_found() {
        let text = "    let now = Instant::now();\n    // Instant::now\n";
        assert_eq!(check(&at("crates/kit/src/a.rs", text)).len(), 1);
        assert!(check(&at(CLOCK, text)).is_empty() && check(&at("crates/cli/src/a.rs", text)).is_empty());
    }

    #[test]
    fn engines_stay_apart() {
        let text = "use crate::summary::x;\n";
        assert_eq!(engines(&at("crates/engine/src/explicit/a.rs", text)).len(), 1);
        assert!(engines(&at("crates/engine/src/summary/a.rs", text)).is_empty());
        assert!(engines(&at("crates/engine/src/turns.rs", text)).is_empty());
        assert_eq!(engines(&at("crates/engine/src/sat/a.rs", text)).len(), 1);
        let engine = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/engine/src");
        for room in rooms() {
            assert!(engine.join(room).is_dir(), "`{room}` is not in a folder of its name");
        }
    }

    #[test]
    fn a_word_has_one_row_and_one_meaning() {
        let text =
            "## Words\n| word | meaning |\n|---|---|\n| a | one |\n| b | one. Also another |\n| a | two |\n";
        assert_eq!(words(&at("ARCHITECTURE.md", text)).len(), 2);
    }
}
