//! Automata of formulas against those that Spin makes, where it is installed: random words, accepted by both or by none.

use postbop_kit::buchi::{Automaton, Cube, Edge, Formula, Node, NodeId, Word, translate};
use std::collections::HashMap;
use std::process::Command;

const ATOMS: [&str; 3] = ["p", "q", "r"];

fn next(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*seed >> 33) as usize
}

/// A random formula, here and in Spin's language. Debian's Spin does not read `X`.
fn random_formula(seed: &mut u64, operators: usize) -> (Formula, String) {
    let mut formula = Formula::default();
    let mut all: Vec<(NodeId, String)> = Vec::new();
    for (atom, name) in ATOMS.iter().enumerate() {
        all.push((formula.push(Node::Atom(atom as u32)), name.to_string()));
    }
    for _ in 0..operators {
        let recent = all.len().saturating_sub(4);
        let (a, left) = all[recent + next(seed) % (all.len() - recent)].clone();
        let (b, right) = all[next(seed) % all.len()].clone();
        let (node, text) = match next(seed) % 9 {
            0 => (Node::Not(a), format!("!({left})")),
            1 => (Node::And(a, b), format!("({left}) && ({right})")),
            2 => (Node::Or(a, b), format!("({left}) || ({right})")),
            3 => (Node::Implies(a, b), format!("({left}) -> ({right})")),
            4 => (Node::Iff(a, b), format!("({left}) <-> ({right})")),
            5 => (Node::Finally(a), format!("<> ({left})")),
            6 => (Node::Globally(a), format!("[] ({left})")),
            7 => (Node::Until(a, b), format!("({left}) U ({right})")),
            _ => (Node::Release(a, b), format!("({left}) V ({right})")),
        };
        all.push((formula.push(node), text));
    }
    (formula, all.pop().unwrap().1)
}

/// The letters for which a condition of a never claim is true.
fn letters(condition: &str) -> Vec<Cube> {
    let spaced = ["(", ")", "!", "&&", "||"]
        .iter()
        .fold(condition.to_string(), |text, token| text.replace(token, &format!(" {token} ")));
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let cubes = (0..8u32).filter(|&row| {
        let mut at = 0;
        let value = either(&tokens, &mut at, row);
        assert_eq!(at, tokens.len(), "{condition}");
        value
    });
    cubes.map(|row| (0..3).map(|atom| (atom, row >> atom & 1 != 0)).collect()).collect()
}

fn either(tokens: &[&str], at: &mut usize, row: u32) -> bool {
    let mut value = both(tokens, at, row);
    while tokens.get(*at) == Some(&"||") {
        *at += 1;
        value |= both(tokens, at, row);
    }
    value
}

fn both(tokens: &[&str], at: &mut usize, row: u32) -> bool {
    let mut value = single(tokens, at, row);
    while tokens.get(*at) == Some(&"&&") {
        *at += 1;
        value &= single(tokens, at, row);
    }
    value
}

fn single(tokens: &[&str], at: &mut usize, row: u32) -> bool {
    let token = tokens[*at];
    *at += 1;
    match token {
        "!" => !single(tokens, at, row),
        "(" => {
            let value = either(tokens, at, row);
            assert_eq!(tokens[*at], ")");
            *at += 1;
            value
        }
        "1" | "true" => true,
        "0" | "false" => false,
        name => row >> ATOMS.iter().position(|atom| *atom == name).unwrap() & 1 != 0,
    }
}

/// The automaton of a never claim.
fn claim(text: &str) -> Automaton {
    let mut labels: HashMap<&str, u32> = HashMap::new();
    let mut automaton = Automaton::default();
    let mut goes: Vec<(u32, String, String)> = Vec::new();
    let mut inside = false;
    for line in text.lines().map(str::trim) {
        let state = automaton.accepting.len() as u32;
        if line.starts_with("never") || matches!(line, "do" | "od;" | "if" | "fi;" | "}" | "") {
        } else if let Some(label) = line.strip_suffix(':') {
            // Several labels may name one state.
            if inside || state == 0 {
                automaton.accepting.push(false);
                inside = false;
            }
            labels.insert(label, automaton.accepting.len() as u32 - 1);
            *automaton.accepting.last_mut().unwrap() |= label.starts_with("accept");
        } else if let Some((condition, label)) =
            line.strip_prefix(":: ").and_then(|rest| rest.split_once("-> goto "))
        {
            goes.push((state - 1, condition.to_string(), label.to_string()));
            inside = true;
        } else if let Some(rest) = line.strip_prefix(":: atomic {") {
            goes.push((state - 1, rest.split_once("->").unwrap().0.to_string(), "accept_all".to_string()));
            inside = true;
        } else if line == "skip" {
            goes.push((state - 1, "1".to_string(), "accept_all".to_string()));
            inside = true;
        } else {
            // A state that nothing leaves.
            assert_eq!(line, ":: false");
            inside = true;
        }
    }
    for (from, condition, label) in goes {
        let to = labels[label.as_str()];
        automaton.edges.extend(letters(&condition).into_iter().map(|guard| Edge { from, guard, to }));
    }
    automaton.edges.sort_unstable();
    automaton.initial = vec![0];
    automaton
}

#[test]
fn spin_accepts_the_same_words() {
    let (mut accepted, mut asked, mut ours, mut theirs) = (0, 0, 0, 0);
    for start in 0..300u64 {
        let seed = &mut (start * 7919 + 3);
        let operators = 1 + next(seed) % 6;
        let (formula, text) = random_formula(seed, operators);
        let Ok(output) = Command::new("spin").args(["-f", &text]).output() else {
            println!("not tried: there is no `spin` here");
            return;
        };
        let other = claim(&String::from_utf8_lossy(&output.stdout));
        let automaton = translate(&formula, &mut |_| true).unwrap();
        ours += automaton.accepting.len();
        theirs += other.accepting.len();
        for _ in 0..60 {
            let len = 1 + next(seed) % 6;
            let letters = (0..len).map(|_| (0..3).map(|_| next(seed).is_multiple_of(2)).collect()).collect();
            let word = Word { letters, repeats_from: next(seed) % len };
            let accepts = automaton.accepts(&word);
            assert_eq!(accepts, other.accepts(&word), "{text}: {word:?}\n{automaton:?}\n{other:?}");
            accepted += accepts as usize;
            asked += 1;
        }
    }
    println!("{accepted} of {asked} words accepted; {ours} states, Spin has {theirs}");
}
