//! Room `cli/report`: what people and programs get to see.

pub mod constraints;
pub mod course;
pub mod diagnostics;
pub mod html;
pub mod json;
pub mod junit;
pub mod page;
pub mod plain;
pub mod printer;
pub mod repeats;
pub mod sarif;
pub mod story;
pub mod summaries;
pub mod text;
pub mod trace_json;
pub mod words;

use postbop_engine::Verdict;

/// The verdict in one word.
pub fn status(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Holds { .. } => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown(_) => "unknown",
    }
}

/// The verdict on all properties in one word.
pub fn overall<'a>(verdicts: impl Iterator<Item = &'a Verdict> + Clone) -> &'static str {
    let any = |word| verdicts.clone().any(|verdict| status(verdict) == word);
    match (any("violated"), any("unknown")) {
        (true, _) => "violated",
        (_, true) => "unknown",
        _ => "holds",
    }
}
