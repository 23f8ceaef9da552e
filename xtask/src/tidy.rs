//! Room `xtask`: the style rules of the house, executed.
//!
//! A rule that nobody runs is a rule that nobody keeps. Each rule here is a function from text to breaches, so that
//! it can be tested on a few lines; [`check_repository`] applies all of them to what git tracks. A breach is
//! `path:line: rule`, as editors understand it.

mod invariants;
mod manifest;
mod source;

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// A rule broken at a line of a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Breach {
    /// The file, relative to the repository.
    pub path: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub rule: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.rule)
    }
}

/// A file of the repository.
struct File<'a> {
    path: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn breach(&self, line: usize, rule: impl Into<String>) -> Breach {
        Breach { path: self.path.to_owned(), line, rule: rule.into() }
    }

    /// The numbers of the lines for which `broken` holds, each a breach of one rule.
    fn lines(&self, rule: &str, broken: impl Fn(&str) -> bool) -> Vec<Breach> {
        let numbered = self.text.lines().enumerate();
        numbered.filter(|(_, line)| broken(line)).map(|(at, _)| self.breach(at + 1, rule)).collect()
    }
}

/// All breaches in the files that git tracks under `root`, in the order of paths and lines.
pub fn check_repository(root: &Path) -> Result<Vec<Breach>, String> {
    let mut breaches = Vec::new();
    for path in tracked_files(root)? {
        let Ok(bytes) = std::fs::read(root.join(&path)) else {
            // Deleted but not yet committed.
            continue;
        };
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let file = File { path: &path, text: &text };
        breaches.extend(check_file(&file));
        if path.ends_with(".md") {
            breaches.extend(dead_links(&file, |link| root.join(link).exists()));
        }
    }
    breaches.sort();
    Ok(breaches)
}

fn tracked_files(root: &Path) -> Result<Vec<String>, String> {
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root)
        .output()
        .map_err(|problem| format!("cannot run git: {problem}"))?;
    if !output.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

fn check_file(file: &File<'_>) -> Vec<Breach> {
    let mut breaches = Vec::new();
    if matches!(
        extension(file.path),
        "rs" | "md" | "toml" | "bp" | "pds" | "smt2" | "ir" | "yml" | "sh" | "js" | "css" | "html"
    ) {
        breaches.extend(whitespace(file));
    }
    if matches!(extension(file.path), "rs" | "md" | "toml") {
        breaches.extend(absolute_paths(file));
    }
    if extension(file.path) == "rs" {
        breaches.extend(source::check(file));
    }
    breaches.extend(invariants::check(file));
    if file.path.ends_with("Cargo.toml") {
        breaches.extend(manifest::check(file));
    }
    breaches
}

fn extension(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, extension)| extension)
}

fn whitespace(file: &File<'_>) -> Vec<Breach> {
    let mut breaches = file.lines("trailing whitespace", |line| line.ends_with([' ', '\t', '\r']));
    let last = file.text.lines().count();
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        breaches.push(file.breach(last, "no newline at the end"));
    }
    if file.text.ends_with("\n\n") {
        breaches.push(file.breach(last, "blank lines at the end"));
    }
    breaches
}

/// Directories of one machine have no place in a repository.
fn absolute_paths(file: &File<'_>) -> Vec<Breach> {
    // Spelled in two halves, for this file is checked as well.
    let roots = ["home", "root", "work", "tmp", "Users"].map(|name| format!("/{name}"));
    let stands_alone = |line: &str, root: &String| {
        line.match_indices(root.as_str()).any(|(at, _)| {
            let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '>' | '<');
            let after = line[at + root.len()..].chars().next();
            let inside = line[..at].chars().next_back().is_some_and(word);
            !inside && !after.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
        })
    };
    file.lines("absolute path", |line| roots.iter().any(|root| stands_alone(line, root)))
}

/// Links of a document to files that are not there.
fn dead_links(file: &File<'_>, exists: impl Fn(&Path) -> bool) -> Vec<Breach> {
    let folder = Path::new(file.path).parent().unwrap_or(Path::new(""));
    let mut breaches = Vec::new();
    let mut fenced = false;
    for (at, line) in file.text.lines().enumerate() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            continue;
        }
        for link in links(line) {
            let path = link.split('#').next().unwrap_or("");
            let elsewhere = path.contains(':') || path.is_empty();
            if !elsewhere && !exists(&normal(&folder.join(path))) {
                breaches.push(file.breach(at + 1, format!("dead link `{link}`")));
            }
        }
    }
    breaches
}

/// The targets of the links on a line: `[text](target)`.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1);
    targets.filter_map(|rest| rest.split_once(')').map(|(target, _)| target.trim()))
}

fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        // A source archive has no history; there is nothing to check then.
        let Ok(breaches) = check_repository(&root) else { return };
        let report: Vec<String> = breaches.iter().map(Breach::to_string).collect();
        assert!(breaches.is_empty(), "{} breaches\n{}", breaches.len(), report.join("\n"));
    }

    #[test]
    fn whitespace_is_found() {
        let found = whitespace(&File { path: "a", text: "fine\nnot \nnot\t\nlast" });
        assert_eq!(found.iter().map(|breach| breach.line).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(whitespace(&File { path: "a", text: "x\n\n" }).len(), 1);
        assert!(whitespace(&File { path: "a", text: "x\n\ny\n" }).is_empty());
    }

    #[test]
    fn directories_of_one_machine_are_found() {
        let slash = '/';
        let text = format!("see {slash}home/me/x\nin `{slash}tmp`\n");
        assert_eq!(absolute_paths(&File { path: "a", text: &text }).len(), 2);
        let text = format!("a{slash}home\n{slash}homestead\nhttp:{slash}{slash}x.org{slash}work\n");
        assert!(absolute_paths(&File { path: "a", text: &text }).is_empty());
    }

    #[test]
    fn dead_links_are_found() {
        let text = "[a](b.md) and [c](../d.md#part)\n[e](https://x.org) [f](#g)\n```\n[h](i)\n```\n";
        let file = File { path: "docs/a.md", text };
        assert!(
            dead_links(&file, |path| path == Path::new("docs/b.md") || path == Path::new("d.md")).is_empty()
        );
        let found = dead_links(&file, |path| path == Path::new("d.md"));
        assert_eq!(found[0].to_string(), "docs/a.md:1: dead link `b.md`");
    }
}
