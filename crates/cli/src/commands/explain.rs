//! Room `cli/commands`: `postbop explain`, the manual's section on a diagnostic.

use crate::{Output, Status};
use postbop_front::diagnostic::ALL;

const MANUAL: &str = include_str!("../../../../docs/diagnostics.md");

/// Prints the section on a code, or a list of all codes.
pub fn run(code: &Option<String>, output: &mut Output) -> Status {
    let Some(code) = code else {
        for code in ALL {
            output.out.push_str(&format!("{code}  {}\n", code.title()));
        }
        return Status::Good;
    };
    let wanted = code.to_ascii_uppercase();
    let Some(code) = ALL.iter().find(|code| code.text() == wanted) else {
        output.error(&format!("there is no diagnostic `{code}`; `postbop explain` lists all"));
        return Status::BadInput;
    };
    output.out.push_str(&format!("{code}: {}\n\n", code.title()));
    output.out.push_str(&without_links(section(code.text())));
    output.out.push('\n');
    Status::Good
}

/// What the manual says under a heading, without the title in bold, with which it begins.
fn section(code: &str) -> &'static str {
    let after = MANUAL.split_once(&format!("\n### {code}\n")).map_or("", |(_, after)| after);
    let end = ["\n### ", "\n## "].iter().filter_map(|next| after.find(next)).min().unwrap_or(after.len());
    let section = after[..end].trim();
    section.split_once(".**").map_or(section, |(_, rest)| rest.trim())
}

/// The text with `[words](address)` as `words`: addresses within the manual lead nowhere from here.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        out.push_str(before);
        match link.split_once("](").and_then(|(words, after)| Some((words, after.split_once(')')?.1))) {
            Some((words, after)) if !words.contains(['\n', ']']) => {
                out.push_str(words);
                rest = after;
            }
            _ => {
                out.push('[');
                rest = link;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_section() {
        for code in ALL {
            assert!(section(code.text()).len() > 40, "{code}");
        }
        assert_eq!(without_links("a [b](c) d[1] [e"), "a b d[1] [e");
    }
}
