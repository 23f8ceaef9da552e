//! What the README shows is what the binary prints.

use crate::common::{postbop, root};

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
