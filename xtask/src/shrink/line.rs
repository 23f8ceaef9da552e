//! Room `xtask`: what can be left out of a canonically formatted program.
//!
//! Ranges of lines that belong together, and simpler forms of a single line: a label less, a constraint less, one
//! variable of a parallel assignment less, an expression replaced by `*`, `0` or `1`, any range of tokens less.

use std::ops::Range;

/// The length of a line and its letters. What replaces a line costs less.
pub(super) fn cost(line: &str) -> (usize, usize) {
    (line.trim_start().len(), line.chars().filter(|c| c.is_alphabetic()).count())
}

/// What a line does to the nesting of blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Open,
    Middle,
    Close,
    Plain,
}

fn role(line: &str) -> Role {
    let line = line.trim().trim_end_matches(';');
    let last = line.rsplit(' ').next().unwrap_or("");
    match line.split(' ').next().unwrap_or("") {
        "fi" | "od" | "end" => Role::Close,
        "else" | "elsif" => Role::Middle,
        _ if matches!(last, "then" | "do" | "begin") => Role::Open,
        _ => Role::Plain,
    }
}

/// Walks from an opening line to where `stop` says so about a line of the same nesting.
fn find(lines: &[String], from: usize, stop: impl Fn(Role) -> bool) -> Option<usize> {
    let mut depth = 0usize;
    for (at, line) in lines.iter().enumerate().skip(from + 1) {
        match role(line) {
            found if depth == 0 && stop(found) => return Some(at),
            Role::Open => depth += 1,
            Role::Close => depth = depth.checked_sub(1)?,
            Role::Middle | Role::Plain => {}
        }
    }
    None
}

/// The block that opens at a line, with its contents, or the procedure whose heading stands there.
pub(super) fn whole(lines: &[String], at: usize) -> Option<Range<usize>> {
    let heads_procedure = lines.get(at + 1).is_some_and(|next| next.trim() == "begin");
    let open = if heads_procedure { at + 1 } else { at };
    if role(&lines[open]) != Role::Open {
        return None;
    }
    let close = find(lines, open, |role| role == Role::Close)?;
    Some(at..close + 1)
}

/// The `elsif` or `else` at a line, with its contents.
pub(super) fn branch(lines: &[String], at: usize) -> Option<Range<usize>> {
    if role(&lines[at]) != Role::Middle {
        return None;
    }
    let end = find(lines, at, |role| role != Role::Open && role != Role::Plain)?;
    Some(at..end)
}

/// All lines with the block that opens at a line replaced by its contents.
pub(super) fn unwrapped(lines: &[String], at: usize) -> Option<Vec<String>> {
    if role(&lines[at]) != Role::Open || lines[at].trim() == "begin" {
        return None;
    }
    let close = find(lines, at, |role| role == Role::Close)?;
    let mut frame = vec![at, close];
    let mut inner = at;
    while let Some(middle) = find(lines, inner, |role| role != Role::Open && role != Role::Plain)
        && middle < close
    {
        frame.push(middle);
        inner = middle;
    }
    let kept = lines.iter().enumerate().filter(|(number, _)| !frame.contains(number));
    Some(kept.map(|(_, line)| line.clone()).collect())
}

/// The lines indented as their nesting says.
pub(super) fn indented(lines: &[String]) -> Vec<String> {
    let mut depth = 0usize;
    let mut indented = Vec::new();
    for line in lines {
        let role = role(line);
        if matches!(role, Role::Close | Role::Middle) {
            depth = depth.saturating_sub(1);
        }
        indented.push(format!("{}{}", "  ".repeat(depth), line.trim_start()));
        if matches!(role, Role::Open | Role::Middle) {
            depth += 1;
        }
    }
    indented
}

/// Simpler forms of a line, boldest first.
pub(super) fn simpler(line: &str) -> Vec<String> {
    let indent = &line[..line.len() - line.trim_start().len()];
    let text = line.trim_start();
    let mut candidates = Vec::new();
    candidates.extend(without_constraint(text));
    candidates.extend(replaced_tails(text));
    candidates.extend(narrower_assignments(text));
    candidates.extend(replaced_groups(text));
    candidates.extend(without_tokens(text));
    candidates.retain(|candidate| !candidate.trim().is_empty() && cost(candidate) < cost(text));
    candidates.iter().map(|candidate| format!("{indent}{}", candidate.trim())).collect()
}

const VALUES: [&str; 3] = ["*", "0", "1"];

fn without_constraint(text: &str) -> Option<String> {
    let at = text.find(" constrain ")?;
    Some(format!("{};", &text[..at]))
}

/// What follows `:=` or a keyword, replaced by one value.
fn replaced_tails(text: &str) -> Vec<String> {
    const HEADS: [&str; 8] = [":=", "assume", "assert", "enforce", "return", "while", "elsif", "if"];
    let mut candidates = Vec::new();
    for head in HEADS {
        let Some(at) = text.find(head) else { continue };
        let end = at + head.len();
        let tail = match head {
            "while" => " do",
            "if" | "elsif" => " then",
            _ => ";",
        };
        candidates.extend(VALUES.map(|value| format!("{} {value}{tail}", &text[..end])));
    }
    candidates
}

/// A parallel assignment with one target and its value less.
fn narrower_assignments(text: &str) -> Vec<String> {
    let Some((left, right)) = text.trim_end_matches(';').split_once(" := ") else { return Vec::new() };
    let (targets, values) = (items(left), items(right));
    if targets.len() != values.len() || targets.len() < 2 {
        return Vec::new();
    }
    let rest = |list: &[String], drop: usize| {
        let kept = list.iter().enumerate().filter(|&(at, _)| at != drop);
        kept.map(|(_, item)| item.trim().to_owned()).collect::<Vec<_>>().join(", ")
    };
    (0..targets.len()).map(|drop| format!("{} := {};", rest(&targets, drop), rest(&values, drop))).collect()
}

/// The parts of a list between its outermost commas.
fn items(list: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0i32;
    for token in tokens(list).into_iter().scan(0, |from, token| {
        let piece = &list[*from..token.end];
        *from = token.end;
        Some(piece)
    }) {
        match token.trim() {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            "," if depth == 0 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        items.last_mut().expect("there is always an item").push_str(token);
    }
    items
}

/// Each parenthesised group replaced by one value.
fn replaced_groups(text: &str) -> Vec<String> {
    let mut candidates = Vec::new();
    let mut open = Vec::new();
    for token in tokens(text) {
        match &text[token.clone()] {
            "(" => open.push(token.start),
            ")" => {
                let Some(start) = open.pop() else { break };
                let whole = VALUES.map(|value| format!("{}{value}{}", &text[..start], &text[token.end..]));
                candidates.extend(whole);
            }
            _ => {}
        }
    }
    // Outer groups close last, and are the bolder replacements.
    candidates.reverse();
    candidates
}

/// Each range of tokens left out, long ones first; and each token replaced by one value.
fn without_tokens(text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let cut = |range: &[Range<usize>]| {
        let (start, end) = (range[0].start, range[range.len() - 1].end);
        let rest = if text[..start].ends_with(' ') { text[end..].trim_start() } else { &text[end..] };
        (&text[..start], rest)
    };
    let mut candidates = Vec::new();
    let mut length = tokens.len() / 2;
    while length > 0 {
        for range in tokens.windows(length) {
            let (before, after) = cut(range);
            candidates.push(format!("{before}{after}"));
        }
        length /= 2;
    }
    for token in &tokens {
        let (before, after) = (&text[..token.start], &text[token.end..]);
        candidates.extend(VALUES.map(|value| format!("{before}{value}{after}")));
    }
    candidates
}

/// The tokens of a line: names, with their prime or braces, numbers, operators.
fn tokens(text: &str) -> Vec<Range<usize>> {
    const LONG: [&str; 8] = [":=", "=>", "<=", ">=", "!=", "==", "&&", "||"];
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = match first {
            _ if first.is_whitespace() => {
                at += first.len_utf8();
                continue;
            }
            '{' => rest.find('}').map_or(rest.len(), |close| close + 1),
            _ if LONG.iter().any(|sign| rest.starts_with(sign)) => 2,
            _ if word(first) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        tokens.push(at..at + length);
        at += length;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn tokens_know_braces_and_long_operators() {
        let text = "{a == b} := 'x=>y1;";
        let found: Vec<&str> = tokens(text).into_iter().map(|token| &text[token]).collect();
        assert_eq!(found, ["{a == b}", ":=", "'", "x", "=>", "y1", ";"]);
    }

    #[test]
    fn blocks_and_branches_have_ranges() {
        let lines = lines("void f()\nbegin\n  if (a) then\n    skip;\n  else\n    skip;\n  fi;\nend");
        assert_eq!(whole(&lines, 0), Some(0..8));
        assert_eq!(whole(&lines, 2), Some(2..7));
        assert_eq!(whole(&lines, 3), None);
        assert_eq!(branch(&lines, 4), Some(4..6));
        assert_eq!(unwrapped(&lines, 2).unwrap().len(), 5);
    }

    #[test]
    fn a_target_goes_with_its_value() {
        let narrower = narrower_assignments("a, b[i] := f(x, y), 1;");
        assert_eq!(narrower, ["b[i] := 1;", "a := f(x, y);"]);
    }

    #[test]
    fn every_candidate_costs_less() {
        let line = "  L0: x, y := (a & b) | c, * constrain ('x = y);";
        let candidates = simpler(line);
        assert!(candidates.iter().all(|candidate| cost(candidate) < cost(line)));
        assert!(candidates.contains(&"  L0: x, y := (a & b) | c, *;".to_owned()));
        assert!(candidates.contains(&"  x, y := (a & b) | c, * constrain ('x = y);".to_owned()));
        assert!(candidates.contains(&"  L0: x, y := * | c, * constrain ('x = y);".to_owned()));
    }
}
