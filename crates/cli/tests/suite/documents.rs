//! What the documents show is what the binary prints and what the library does; the code map names every file.

use crate::common::{Ran, files_below, postbop, root, say};
use serde_json::Value;

/// The output of a command stands in the README, word for word.
fn shown(args: &[&str], status: i32) {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("there is a README");
    let ran = postbop(args).with(status);
    assert!(readme.contains(&ran.out), "the README does not show this output of {args:?}:\n{}", ran.out);
}

#[test]
fn the_readme_shows_real_output() {
    shown(&["check", "examples/bebop.bp", "--target", "R", "--shortest"], 1);
    shown(&["check", "examples/locks.bp", "--shortest"], 1);
    shown(&["check", "examples/seats.bp", "--switches", "3", "--shortest"], 1);
    let (toggle, equal) = ("examples/formulas/toggle.bp", "examples/formulas/equal.fix");
    shown(&["fixpoint", "run", toggle, "--formula", equal], 0);
}

#[test]
fn the_page_on_graphs_and_traces_shows_real_output() {
    let page = std::fs::read_to_string(root().join("docs/ir.md")).expect("there is a manual");
    let graph = postbop(&["emit", "examples/bebop.bp"]).with(0).out;
    assert!(page.contains(&graph), "the manual does not show\n{graph}");
    let json = page.split_once("```json\n").and_then(|(_, rest)| rest.split_once("```")).expect("a trace").0;
    let shown: Value = serde_json::from_str(json).expect("it is JSON");
    let args = ["check", "examples/bebop.bp", "--target", "R", "--format", "json"];
    let mut real: Value = serde_json::from_str(&postbop(&args).with(1).out).expect("it is JSON");
    real.as_object_mut().expect("an object").remove("stats");
    assert_eq!(shown, real);
}

/// A folder in which the commands of the documents run: what they name is there, and what they write hurts nobody.
#[cfg(unix)]
fn desk() -> std::path::PathBuf {
    let desk = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents");
    let _ = std::fs::remove_dir_all(&desk);
    std::fs::create_dir_all(&desk).expect("the scratch folder can be written to");
    let here = root().canonicalize().expect("the repository is there");
    for name in ["examples", "tests", "docs"] {
        std::os::unix::fs::symlink(here.join(name), desk.join(name)).expect("a link");
    }
    let binary = desk.join("bin");
    std::fs::create_dir(&binary).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_postbop"), binary.join("postbop")).expect("a link");
    desk
}

/// Whether text is what a document shows; a line `…` stands for any lines.
fn is_shown(text: &str, shown: &[&str]) -> bool {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let Some(gap) = shown.iter().position(|line| *line == "…") else { return lines == shown };
    let (before, after) = (&shown[..gap], &shown[gap + 1..]);
    assert!(!after.contains(&"…"), "one gap is enough");
    lines.len() >= before.len() + after.len() && lines.starts_with(before) && lines.ends_with(after)
}

/// In every document, a line that begins with `$ ` in a block is a command, and the lines below it are what it prints. All of them are run,
/// but for those of cargo, which take minutes, and those of Z3 where it is not installed.
#[cfg(unix)]
#[test]
fn commands_in_the_documents_print_what_they_show() {
    let desk = desk();
    let path = format!("{}:{}", desk.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    let mut pages: Vec<_> = files_below(&root().join("docs"), "md");
    pages.push(root().join("README.md"));
    let mut counts = std::collections::BTreeMap::new();
    for page in &pages {
        let text = std::fs::read_to_string(page).expect("a page");
        let name = page.file_stem().and_then(|name| name.to_str()).expect("plain names").to_owned();
        for block in text.split("\n```").skip(1).step_by(2).filter_map(|block| block.strip_prefix('\n')) {
            let lines: Vec<&str> = block.lines().collect();
            for (at, line) in lines.iter().enumerate() {
                let Some(command) = line.strip_prefix("$ ") else { continue };
                let command = command.replace("cargo run --release -- ", "postbop ");
                if command.starts_with("cargo ") {
                    continue;
                }
                if command.starts_with("z3 ")
                    && std::process::Command::new("z3").arg("-version").output().is_err()
                {
                    say(&format!("documents: `{command}` SKIPPED, Z3 is not installed"));
                    continue;
                }
                let shown = lines[at + 1..].split(|line| line.starts_with("$ ")).next().unwrap_or(&[]);
                let mut shell = std::process::Command::new("sh");
                shell.args(["-c", &command]).current_dir(&desk).env("PATH", &path);
                let ran = Ran::new(shell.stdin(std::process::Stdio::null()).output().expect("a shell"));
                assert!(matches!(ran.status, Some(0 | 1 | 3)), "{name}: {command}: {ran:?}");
                assert!(is_shown(&ran.out, shown), "{name}: `{command}` prints\n{}", ran.out);
                *counts.entry(name.clone()).or_insert(0) += 1;
            }
        }
    }
    let least =
        [("README", 5), ("tutorial", 7), ("traces", 2), ("threads", 2), ("verdicts", 2), ("engines", 2)];
    for (name, least) in least.into_iter().chain([("integers", 4), ("moped", 2), ("reports", 1)]) {
        assert!(counts.get(name).is_some_and(|count| *count >= least), "{name}.md: {counts:?}");
    }
    say(&format!("documents: {} commands print what is shown", counts.values().sum::<i32>()));
}

#[test]
fn a_gap_stands_for_any_lines() {
    assert!(is_shown("a\nb\nc\n", &["a", "…", "c"]) && is_shown("a\nc\n", &["a", "…", "c"]));
    assert!(!is_shown("a\nb\nc\n", &["a", "…", "b"]) && !is_shown("a\n", &["a", "…", "a"]));
    assert!(is_shown("a\n", &["a"]) && !is_shown("a\nb\n", &["a"]));
}

/// The picture of a terminal shows what the binary prints: `cargo xtask pictures` makes it anew.
#[test]
fn the_picture_of_a_terminal_is_real() {
    let picture =
        std::fs::read_to_string(root().join("docs/pictures/terminal.svg")).expect("there is a picture");
    let command = xtask::pictures::COMMAND;
    assert!(
        picture == xtask::pictures::terminal(&command, &postbop(&command).with(1).out),
        "`cargo xtask pictures`"
    );
    let readme = std::fs::read_to_string(root().join("README.md")).expect("there is a README");
    for name in ["terminal.svg", "report.png"] {
        assert!(readme.contains(&format!("(docs/pictures/{name})")), "the README does not show {name}");
    }
}

/// Every page of the manual is in its table of contents, and the other way round.
#[test]
fn the_book_has_every_page() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).expect("there is a summary");
    let overview = std::fs::read_to_string(root().join("docs/README.md")).expect("there is an overview");
    for page in files_below(&root().join("docs"), "md") {
        let name = page.file_name().and_then(|name| name.to_str()).expect("plain names");
        assert!(
            name == "SUMMARY.md" || summary.contains(&format!("({name})")),
            "{name} is not in the summary"
        );
        let known = ["SUMMARY.md", "README.md"].contains(&name) || overview.contains(&format!("({name})"));
        assert!(known, "{name} is not in the overview");
    }
    let links = summary.split('(').skip(1).filter_map(|rest| rest.split_once(')'));
    for (name, _) in links {
        assert!(root().join("docs").join(name).is_file(), "{name} is no page");
    }
}

/// The library's examples are tested where they stand, at the head of the crate `engine`; the README quotes them.
#[test]
fn the_readme_shows_the_examples_of_the_library() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("there is a README");
    let source = std::fs::read_to_string(root().join("crates/engine/src/lib.rs")).expect("there is a crate");
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let text: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    let examples: Vec<String> = text
        .split(|line| line.starts_with("```"))
        .skip(1)
        .step_by(2)
        .map(|example| example.iter().filter(|line| !line.starts_with("# ")).copied())
        .map(|example| example.collect::<Vec<_>>().join("\n"))
        .collect();
    assert_eq!(examples.len(), 2, "one without threads, one with");
    for example in examples {
        assert!(readme.contains(&format!("```rust\n{example}\n```")), "the README does not show\n{example}");
    }
}

#[test]
fn every_example_is_in_canonical_form_and_has_a_command() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("there is a README");
    for path in files_below(&root().join("examples"), "bp") {
        let path = path.strip_prefix(root()).expect("it is below").to_str().expect("plain names").to_owned();
        assert!(postbop(&["fmt", "--check", &path]).with(0).out.is_empty());
        let command =
            readme.lines().filter_map(|line| Some(line.split_once("| `postbop ")?.1.split_once('`')?.0));
        let command = command.into_iter().find(|command| command.split(' ').any(|word| word == path));
        let command = command.unwrap_or_else(|| panic!("the README has no command for {path}"));
        let args: Vec<&str> = command.split(' ').collect();
        let ran = postbop(&args);
        assert!(matches!(ran.status, Some(0 | 1)), "{command}: {}", ran.err);
    }
}

#[test]
fn every_file_is_in_the_code_map() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("there is a page");
    for path in files_below(&root().join("crates"), "rs") {
        let path = path.strip_prefix(root()).expect("it is below").to_str().expect("plain names").to_owned();
        let Some((_, module)) = path.split_once("/src/") else { continue };
        let module = module.trim_end_matches(".rs").trim_end_matches("/mod");
        let elsewhere = module == "lib" || module.ends_with("tests") || module.starts_with("tests/");
        assert!(elsewhere || page.contains(&format!("`{module}`")), "the code map does not name {path}");
    }
}

#[test]
fn every_code_and_every_construct_is_in_the_manual() {
    let manual = std::fs::read_to_string(root().join("docs/diagnostics.md")).expect("there is a manual");
    for code in postbop_front::diagnostic::ALL {
        assert!(
            manual.contains(&format!("| [{code}](#{}) | {} |", code.text().to_lowercase(), code.title())),
            "{code}"
        );
    }
    let language = std::fs::read_to_string(root().join("docs/language.md")).expect("there is a manual");
    let grammar = language
        .split_once("## Grammar")
        .and_then(|(_, rest)| rest.split_once("\n## "))
        .expect("a grammar")
        .0;
    for word in ["start_thread", "sync", "thread_local", "dfs", "abortif", "atomic_begin", "schoose", "ite"] {
        assert!(grammar.contains(&format!("'{word}'")), "{word}");
    }
}
