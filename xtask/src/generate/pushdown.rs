//! Room `xtask`: random concurrent pushdown systems in CUBA's format.
//!
//! # Idea
//! One to three stacks, mostly two, with few symbols and few shared states, and rules that push, remove and replace in
//! equal parts. All that is special about stacks in this format comes up often: stacks that are empty at the start or in
//! a bad configuration, tall stacks at the start, a thread without rules, a bad configuration that is the initial one,
//! several bad configurations and none.
//!
//! The three files of a system are one text here, so that it can be made small line by line: the rules, then a line
//! [`INIT`], the initial configuration, a line [`SPEC`] and the bad configurations. Both are comments of the format.

use crate::rng::Rng;

/// The line before the initial configuration.
pub const INIT: &str = "# init";
/// The line before the bad configurations.
pub const SPEC: &str = "# spec";

/// The system of this seed.
pub fn pushdown(seed: u64) -> String {
    let rng = &mut Rng::new(seed);
    let threads = *rng.pick(&[1, 2, 2, 2, 2, 2, 3]);
    let shared = rng.range(1, 3);
    let symbols: Vec<usize> = (0..threads).map(|_| rng.range(1, 4 - threads / 3)).collect();
    let mut text = format!("{shared}\n");
    for &symbols in &symbols {
        text += &format!("PDA 1 {symbols}\n");
        let most = if threads == 3 { 4 } else { 7 };
        for _ in 0..rng.range(0, most) {
            text += &rule(rng, shared, symbols);
        }
    }
    let start = match rng.chance(0.8) {
        true => 0,
        false => rng.below(shared),
    };
    let stacks: Vec<String> = symbols.iter().map(|&symbols| stack(rng, symbols, [3, 14, 3, 1])).collect();
    text += &format!("{INIT}\n{start}|{}\n", stacks.join(","));
    let bad = rng.weighted(&[1, 6, 2]);
    if bad > 0 {
        text += &format!("{SPEC}\n");
    }
    for _ in 0..bad {
        let tops: Vec<String> = symbols.iter().map(|&symbols| stack(rng, symbols, [4, 10, 0, 0])).collect();
        text += &format!("{}|{}\n", rng.below(shared), tops.join(","));
    }
    text
}

fn rule(rng: &mut Rng, shared: usize, symbols: usize) -> String {
    let (from, to) = (rng.below(shared), rng.below(shared));
    let mut symbol = || rng.range(1, symbols);
    let (top, one, two) = (symbol(), symbol(), symbol());
    match rng.below(4) {
        0 => format!("{from} {top} -> {to} -\n"),
        1 => format!("{from} {top} -> {to} {one} {two}\n"),
        _ => format!("{from} {top} -> {to} {one}\n"),
    }
}

/// A stack as tall as one of these weights says.
fn stack(rng: &mut Rng, symbols: usize, weights: [u32; 4]) -> String {
    let symbols: Vec<String> =
        (0..rng.weighted(&weights)).map(|_| rng.range(1, symbols).to_string()).collect();
    if symbols.is_empty() { "-".to_owned() } else { symbols.join(".") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_read_and_have_all_there_is() {
        let all: String = (0..200).map(pushdown).collect();
        for wanted in ["-> 0 -", "-> 0 1\n", "-> 1 1 2", "|-", ",-", "2.1", "# spec", "|1,2\n"] {
            assert!(all.contains(wanted), "{wanted}");
        }
        assert!((0..200).any(|seed| !pushdown(seed).contains(SPEC)));
        assert_eq!(pushdown(7), pushdown(7));
    }
}
