//! What the documents show is what the binary prints and what the library does; the code map names every file.

use crate::common::{files_below, postbop, root};
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

/// In these pages a block that begins with `$ postbop` shows a command and what it prints.
#[test]
fn commands_in_the_manual_print_what_it_shows() {
    for (name, least) in [("integers", 4), ("moped", 2), ("reports", 1)] {
        let page = std::fs::read_to_string(root().join(format!("docs/{name}.md"))).expect("there is a page");
        let blocks = page.split("\n```\n").filter_map(|block| block.strip_prefix("$ postbop "));
        let mut count = 0;
        for (command, shown) in blocks.filter_map(|block| block.split_once('\n')) {
            // Words in quotes are one argument.
            let parts = command.split('\'').enumerate();
            let args: Vec<&str> = parts
                .flat_map(|(at, part)| match at % 2 {
                    0 => part.split_whitespace().collect::<Vec<_>>(),
                    _ => vec![part],
                })
                .collect();
            assert_eq!(postbop(&args).with(0).out.trim_end(), shown, "docs/{name}.md: {command}");
            count += 1;
        }
        assert!(count >= least, "docs/{name}.md shows {count} commands");
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
        let elsewhere = module == "lib" || module.ends_with("tests");
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
