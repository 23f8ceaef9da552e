//! Room `xtask`: changes of an input that a tool may choke on.
//!
//! Most changes are small and leave something that still looks like the format: a byte, a token, a line. A few are
//! large: a piece repeated thousands of times, with a name numbered in each copy so that the copies do not clash, and a
//! piece wrapped in thousands of brackets. These are what limits of time and memory, and stacks, are for.

use crate::rng::Rng;
use std::ops::Range;

/// Numbers at which something may tip over.
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "2",
    "7",
    "31",
    "63",
    "64",
    "65",
    "1000",
    "65536",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "99999999999999999999",
];

/// What pieces are wrapped in: before and after.
const WRAPS: [(&str, &str); 12] = [
    ("(", ")"),
    ("!", ""),
    ("- ", ""),
    ("[", "]"),
    ("{", "}"),
    ("if (*) then\n", "\nfi\n"),
    ("while (*) do\n", "\nod\n"),
    ("/*", "*/"),
    ("exists x: bit. ", ""),
    ("{\"a\":", "}"),
    ("1 + ", ""),
    ("(* & ", ")"),
];

/// The largest input that small copies grow to, and, now and then, the largest of all.
const LARGE: usize = 1_500_000;
const HUGE: usize = 15_000_000;

/// Changes the input in a few places. `others` are inputs to take pieces from.
pub fn mutate(rng: &mut Rng, input: &mut Vec<u8>, others: &[&[u8]]) {
    for _ in 0..*rng.pick(&[1, 1, 1, 2, 5]) {
        match rng.weighted(&[2, 2, 5, 4, 3, 6, 5, 2, 1]) {
            0 => byte(rng, input),
            1 => token(rng, input),
            2 => line(rng, input),
            3 => number(rng, input),
            4 => splice(rng, input, others),
            5 => replace(rng, input),
            6 => repeat(rng, input),
            7 => wrap(rng, input),
            _ => drop(input.drain(rng.below(input.len() + 1)..)),
        }
    }
}

fn byte(rng: &mut Rng, input: &mut Vec<u8>) {
    let at = rng.below(input.len() + 1);
    let new = if rng.chance(0.3) { rng.bits() as u8 } else { b" -!*();:=,.0\n\"#"[rng.below(15)] };
    match rng.below(3) {
        0 => input.insert(at, new),
        1 if at < input.len() => input[at] = new,
        _ if at < input.len() => drop(input.remove(at)),
        _ => {}
    }
}

/// The word, the number, the run of spaces or the single character at a place.
fn token_at(input: &[u8], at: usize) -> Range<usize> {
    let class = |byte: u8| match byte {
        b'_' | b'$' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => 1,
        byte if byte.is_ascii_whitespace() => 2,
        _ => 0,
    };
    let Some(&byte) = input.get(at) else { return input.len()..input.len() };
    let kind = class(byte);
    if kind == 0 {
        return at..at + 1;
    }
    let before = input[..at].iter().rev().take_while(|&&byte| class(byte) == kind).count();
    let after = input[at..].iter().take_while(|&&byte| class(byte) == kind).count();
    at - before..at + after
}

fn some_token(rng: &mut Rng, input: &[u8]) -> Range<usize> {
    token_at(input, rng.below(input.len() + 1))
}

/// A token left out, doubled, or in the place of another.
fn token(rng: &mut Rng, input: &mut Vec<u8>) {
    let (one, other) = (some_token(rng, input), some_token(rng, input));
    let copy = input[one.clone()].to_vec();
    match rng.below(3) {
        0 => drop(input.drain(one)),
        1 => drop(input.splice(one.end..one.end, copy)),
        _ => drop(input.splice(other, copy)),
    }
}

/// A few whole lines.
fn some_lines(rng: &mut Rng, input: &[u8]) -> Range<usize> {
    let at = rng.below(input.len() + 1);
    let start = input[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let count = if rng.chance(0.7) { 1 } else { rng.range(2, 12) };
    let ends = input[start..].iter().enumerate().filter(|&(_, &byte)| byte == b'\n');
    let end = { ends }.nth(count - 1).map_or(input.len(), |(end, _)| start + end + 1);
    start..end
}

/// Lines left out, doubled, or moved.
fn line(rng: &mut Rng, input: &mut Vec<u8>) {
    let lines = some_lines(rng, input);
    let copy = input[lines.clone()].to_vec();
    if rng.chance(0.5) {
        drop(input.drain(lines));
    }
    if rng.chance(0.6) {
        let to = some_lines(rng, input).start;
        input.splice(to..to, copy);
    }
}

fn number(rng: &mut Rng, input: &mut Vec<u8>) {
    let digits: Vec<usize> = (0..input.len()).filter(|&at| input[at].is_ascii_digit()).collect();
    if !digits.is_empty() {
        let place = token_at(input, *rng.pick(&digits));
        input.splice(place, rng.pick(&NUMBERS).bytes());
    }
}

/// A piece of another input in place of a token, or beside a line.
fn splice(rng: &mut Rng, input: &mut Vec<u8>, others: &[&[u8]]) {
    let Some(other) = (!others.is_empty()).then(|| *rng.pick(others)) else { return };
    if rng.chance(0.5) {
        let (to, from) = (some_token(rng, input), some_token(rng, other));
        input.splice(to, other[from].to_vec());
    } else {
        let (to, from) = (some_lines(rng, input).end, some_lines(rng, other));
        input.splice(to..to, other[from].to_vec());
    }
}

/// A word in the place of another word, or an operator in the place of another one: often it is still a program, and
/// another one.
fn replace(rng: &mut Rng, input: &mut Vec<u8>) {
    let is_word =
        |token: &Range<usize>, input: &[u8]| input.get(token.start).is_some_and(u8::is_ascii_alphanumeric);
    let place = some_token(rng, input);
    let kind = is_word(&place, input);
    for _ in 0..20 {
        let other = some_token(rng, input);
        let blank = input.get(other.start).is_none_or(u8::is_ascii_whitespace);
        if !blank && is_word(&other, input) == kind && input[other.clone()] != input[place.clone()] {
            let copy = input[other].to_vec();
            input.splice(place, copy);
            return;
        }
    }
}

/// A number of copies, small numbers being as likely as great ones.
fn copies(rng: &mut Rng, size: usize) -> usize {
    let most = if rng.chance(0.03) { HUGE } else { LARGE };
    (2usize << rng.below(17)).min(most / size.max(1))
}

/// A piece many times. In half of the cases one of its names is another one in each copy.
fn repeat(rng: &mut Rng, input: &mut Vec<u8>) {
    let piece = if rng.chance(0.3) { some_token(rng, input) } else { some_lines(rng, input) };
    let text = input[piece.clone()].to_vec();
    let count = copies(rng, text.len());
    let name = some_token(rng, &text);
    let named = rng.chance(0.5) && text.get(name.start).is_some_and(u8::is_ascii_alphabetic);
    let mut all = Vec::new();
    for copy in 0..count {
        all.extend_from_slice(&text[..name.end]);
        if named {
            all.extend_from_slice(copy.to_string().as_bytes());
        }
        all.extend_from_slice(&text[name.end..]);
    }
    input.splice(piece, all);
}

/// A piece deep inside brackets, which are left open now and then.
fn wrap(rng: &mut Rng, input: &mut Vec<u8>) {
    let piece = if rng.chance(0.6) { some_token(rng, input) } else { some_lines(rng, input) };
    let (before, after) = *rng.pick(&WRAPS);
    let count = copies(rng, before.len() + after.len());
    let mut all = before.repeat(count).into_bytes();
    all.extend_from_slice(&input[piece.clone()]);
    if rng.chance(0.9) {
        all.extend(after.repeat(count).bytes());
    }
    input.splice(piece, all);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_can_be_changed_and_equal_seeds_change_equally() {
        let sources: [&[u8]; 4] = [b"", b"x", b"void main()\nbegin\n  assert(1);\nend\n", "é\n".as_bytes()];
        for seed in 0..2000 {
            let changed = || {
                let mut input = sources[seed as usize % 4].to_vec();
                mutate(&mut Rng::new(seed), &mut input, &sources);
                input
            };
            assert_eq!(changed(), changed());
        }
    }

    #[test]
    fn tokens_are_words_spaces_and_single_characters() {
        let text = b"ab  := c1;";
        assert_eq!(
            [0, 1, 3, 4, 8, 9, 10].map(|at| token_at(text, at)),
            [0..2, 0..2, 2..4, 4..5, 7..9, 9..10, 10..10]
        );
    }

    #[test]
    fn copies_have_names_of_their_own() {
        let grown = (0..200).map(|seed| {
            let mut input = b"decl a;\n".to_vec();
            repeat(&mut Rng::new(seed), &mut input);
            String::from_utf8(input).unwrap()
        });
        let grown: Vec<String> = grown.collect();
        assert!(grown.iter().any(|text| text.contains("decl a0;\ndecl a1;\n")));
        assert!(grown.iter().all(|text| text.len() <= HUGE + 100_000));
    }
}
