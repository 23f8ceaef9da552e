//! Room `engine/fixpoint`: the algorithms that come with the product, each a page of formulas.

/// An algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Algorithm {
    /// What users call it.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Its formulas.
    pub text: &'static str,
}

/// All of them.
pub const LIBRARY: &[Algorithm] = &[SUMMARY, EF, EF_SPLIT, DEFAULT];

/// All summaries.
pub const SUMMARY: Algorithm = Algorithm {
    name: "summary",
    about: "summaries of all procedures, reachable or not",
    text: include_str!("library/summary.fix"),
};

/// Entry-forward.
pub const EF: Algorithm = Algorithm {
    name: "ef",
    about: "entry-forward: summaries only for entries that are reached",
    text: include_str!("library/ef.fix"),
};

/// Entry-forward, in two parts.
pub const EF_SPLIT: Algorithm = Algorithm {
    name: "ef-split",
    about: "entry-forward, with caller and callee made small before they meet",
    text: include_str!("library/ef-split.fix"),
};

/// The algorithm used where none is named.
pub const DEFAULT: Algorithm = Algorithm {
    name: "ef-opt",
    about: "entry-forward, each round only where the last one found something new",
    text: include_str!("library/ef-opt.fix"),
};

/// The algorithm of this name.
pub fn algorithm(name: &str) -> Option<Algorithm> {
    LIBRARY.iter().chain([&SWITCHES]).find(|algorithm| algorithm.name == name).copied()
}

/// The algorithm for programs with threads, within a schedule. The others are for sequential programs.
pub const SWITCHES: Algorithm = Algorithm {
    name: "switches",
    about: "programs with threads, within so many context switches or rounds",
    text: include_str!("library/switches.fix"),
};
