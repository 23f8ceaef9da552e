//! Room `kit`: automata against the meaning of the formulas they were made from.

use super::*;

fn next(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*seed >> 33) as usize
}

fn patient(formula: &Formula) -> Automaton {
    translate(formula, &mut |_| true).unwrap()
}

/// A random formula with so many nodes above its atoms. Operands are taken from what is there already, mostly from what
/// has not been used.
fn random_formula(seed: &mut u64, atoms: usize, operators: usize) -> Formula {
    let mut formula = Formula::default();
    let mut loose: Vec<NodeId> = Vec::new();
    for atom in 0..=atoms {
        let node =
            if atom < atoms { Node::Atom(atom as u32) } else { Node::Const(next(seed).is_multiple_of(2)) };
        loose.push(formula.push(node));
    }
    for _ in 0..operators {
        let mut take = || {
            let at = next(seed) % loose.len();
            // An atom may be used again.
            if loose[at] as usize > atoms && !next(seed).is_multiple_of(8) {
                loose.swap_remove(at)
            } else {
                loose[at]
            }
        };
        let a = take();
        let b = if loose.is_empty() { a } else { take_another(seed, &loose) };
        let node = match next(seed) % 16 {
            0 | 1 => Node::Not(a),
            2 | 3 => Node::And(a, b),
            4 | 5 => Node::Or(a, b),
            6 => Node::Implies(a, b),
            7 => Node::Iff(a, b),
            8 => Node::Next(a),
            9 | 10 => Node::Finally(a),
            11 | 12 => Node::Globally(a),
            13 => Node::Until(a, b),
            14 => [Node::Release(a, b), Node::Until(b, a)][next(seed) % 2],
            _ => [Node::WeakUntil(a, b), Node::StrongRelease(a, b)][next(seed) % 2],
        };
        loose.push(formula.push(node));
    }
    // What is still loose is put together, so that all of it counts.
    while loose.len() > 1 {
        let (a, b) = (loose.pop().unwrap(), loose.pop().unwrap());
        if a as usize > atoms && b as usize > atoms {
            let node =
                [Node::And(a, b), Node::Or(a, b), Node::Until(a, b), Node::Implies(a, b)][next(seed) % 4];
            loose.push(formula.push(node));
        } else {
            loose.push(a.max(b));
        }
    }
    let whole = loose[0];
    formula.push(Node::And(whole, whole));
    formula
}

fn take_another(seed: &mut u64, loose: &[NodeId]) -> NodeId {
    loose[next(seed) % loose.len()]
}

fn random_word(seed: &mut u64, atoms: usize) -> Word {
    let len = 1 + next(seed) % 7;
    let letters = (0..len).map(|_| (0..atoms).map(|_| next(seed).is_multiple_of(2)).collect()).collect();
    Word { letters, repeats_from: next(seed) % len }
}

#[test]
fn automata_accept_the_words_for_which_their_formulas_hold() {
    let (mut states, mut hold, mut asked) = (0, 0, 0);
    for start in 0..12_000u64 {
        let seed = &mut (start * 7919 + 1);
        let atoms = 1 + next(seed) % 3;
        let operators = 1 + next(seed) % 9;
        let formula = random_formula(seed, atoms, operators);
        let (yes, no) = (patient(&formula), patient(&formula.negated()));
        states += yes.accepting.len();
        for _ in 0..25 {
            let word = random_word(seed, atoms);
            let holds = formula.holds(&word);
            assert_eq!(yes.accepts(&word), holds, "{start}: {formula:?} {word:?} {yes:?}");
            assert_eq!(no.accepts(&word), !holds, "{start}: not {formula:?} {word:?} {no:?}");
            hold += holds as usize;
            asked += 1;
        }
    }
    assert!(states < 12_000 * 6, "{states} states");
    assert!(hold > asked / 10 && hold < asked - asked / 10, "{hold} of {asked}");
}

/// A formula in prefix notation: an operator, then its operands; letters are atoms.
fn prefix(text: &str) -> Formula {
    let mut formula = Formula::default();
    let mut stack: Vec<NodeId> = Vec::new();
    for c in text.chars().rev().filter(|c| *c != ' ') {
        let mut operand = || stack.pop().unwrap();
        let node = match c {
            '!' => Node::Not(operand()),
            'X' => Node::Next(operand()),
            'F' => Node::Finally(operand()),
            'G' => Node::Globally(operand()),
            '&' => Node::And(operand(), operand()),
            '|' => Node::Or(operand(), operand()),
            '>' => Node::Implies(operand(), operand()),
            '=' => Node::Iff(operand(), operand()),
            'U' => Node::Until(operand(), operand()),
            'R' => Node::Release(operand(), operand()),
            'W' => Node::WeakUntil(operand(), operand()),
            'M' => Node::StrongRelease(operand(), operand()),
            '1' | '0' => Node::Const(c == '1'),
            atom => Node::Atom(atom as u32 - 'a' as u32),
        };
        stack.push(formula.push(node));
    }
    assert_eq!(stack.len(), 1);
    formula
}

#[test]
fn small_formulas_have_small_automata() {
    // The number of states, and whether the automaton is deterministic.
    let known = [
        ("1", 1, true),
        ("0", 0, true),
        ("& a !a", 0, true),
        ("G a", 1, true),
        ("F a", 2, true),
        ("X X a", 4, true),
        ("U a b", 2, true),
        ("W a b", 2, true),
        ("G F a", 2, true),
        ("F G a", 2, false),
        ("G > a F b", 2, true),
        ("! G > a F b", 2, false),
        ("G > a X b", 2, true),
        ("& G F a G F b", 3, true),
        ("> G F a G F b", 4, false),
        ("| F a F b", 2, true),
        ("F F G F G a", 2, false),
        ("G | a | X b !a", 1, true),
        ("U a U b c", 3, true),
        ("& F a F b", 4, true),
        ("= a F b", 4, true),
    ];
    let mut wrong = Vec::new();
    for (text, states, deterministic) in known {
        let automaton = patient(&prefix(text));
        let found = (automaton.accepting.len(), automaton.is_deterministic());
        if found != (states, deterministic) {
            wrong.push(format!("{text}: {found:?}, not {:?}\n{automaton:?}", (states, deterministic)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn fairness_costs_little() {
    // `G F a & G F b & … -> G F z`, as one asks it of programs with several threads, and its negation.
    for count in 1..=8 {
        let mut formula = Formula::default();
        let mut fair = formula.push(Node::Const(true));
        for atom in 0..count {
            let atom = formula.push(Node::Atom(atom));
            let later = formula.push(Node::Finally(atom));
            let again = formula.push(Node::Globally(later));
            fair = formula.push(Node::And(fair, again));
        }
        let last = formula.push(Node::Atom(count));
        let later = formula.push(Node::Finally(last));
        let again = formula.push(Node::Globally(later));
        formula.push(Node::Implies(fair, again));
        assert!(patient(&formula).accepting.len() <= 2 * count as usize + 3);
        assert!(patient(&formula.negated()).accepting.len() <= count as usize + 2);
    }
}

#[test]
fn formulas_may_be_deep() {
    let unary: [fn(NodeId) -> Node; 4] = [Node::Not, Node::Next, Node::Finally, Node::Globally];
    for make in unary {
        let mut formula = Formula::default();
        let mut id = formula.push(Node::Atom(0));
        for _ in 0..20_000 {
            id = formula.push(make(id));
        }
        let automaton = patient(&formula);
        assert!(automaton.accepting.len() <= 20_002);
        let word = Word { letters: vec![vec![true]], repeats_from: 0 };
        assert!(formula.holds(&word) && automaton.accepts(&word));
    }
    let binary: [fn(NodeId, NodeId) -> Node; 7] = [
        Node::And,
        Node::Or,
        Node::Implies,
        Node::Until,
        Node::Release,
        Node::WeakUntil,
        Node::StrongRelease,
    ];
    for make in binary {
        for left in [true, false] {
            let mut formula = Formula::default();
            let mut id = formula.push(Node::Atom(0));
            for atom in 0..20_000 {
                let other = formula.push(Node::Atom(atom % 40));
                id = formula.push(if left { make(id, other) } else { make(other, id) });
            }
            // It may be too much work, but it is no crash.
            let mut patience = 200;
            let _ = translate(&formula, &mut |_| {
                patience -= 1;
                patience > 0
            });
        }
    }
}

#[test]
fn the_callback_is_asked() {
    let mut formula = Formula::default();
    let mut all = formula.push(Node::Const(true));
    for atom in 0..30 {
        let a = formula.push(Node::Atom(2 * atom));
        let b = formula.push(Node::Atom(2 * atom + 1));
        let until = formula.push(Node::Until(a, b));
        let again = formula.push(Node::Globally(until));
        let or = formula.push(Node::Or(again, a));
        all = formula.push(Node::And(all, or));
    }
    let mut asked = 0;
    let mut most = 0;
    let result = translate(&formula, &mut |bytes| {
        asked += 1;
        most = bytes;
        asked < 100
    });
    assert_eq!(result, Err(Interrupted));
    assert!(most > 10_000, "{most}");
}

#[test]
fn formulas_without_temporal_operators_are_cubes() {
    for start in 0..2000u64 {
        let seed = &mut (start * 7919 + 5);
        let mut formula = Formula::default();
        let mut all: Vec<NodeId> = (0..3).map(|atom| formula.push(Node::Atom(atom))).collect();
        for _ in 0..1 + next(seed) % 8 {
            let (a, b) = (all[next(seed) % all.len()], take_another(seed, &all));
            let nodes = [Node::Not(a), Node::And(a, b), Node::Or(a, b), Node::Implies(a, b), Node::Iff(a, b)];
            all.push(formula.push(nodes[next(seed) % 5]));
        }
        let found = cubes(&formula, &mut |_| true).unwrap();
        for row in 0..8u32 {
            let letter: Vec<bool> = (0..3).map(|atom| row >> atom & 1 != 0).collect();
            let allows = |cube: &Cube| cube.iter().all(|&(atom, value)| letter[atom as usize] == value);
            let holds = formula.holds(&Word { letters: vec![letter.clone()], repeats_from: 0 });
            assert_eq!(found.iter().any(allows), holds, "{formula:?} {found:?}");
            let part = formula.part(formula.nodes().len() as NodeId - 1);
            assert_eq!(part.holds(&Word { letters: vec![letter.clone()], repeats_from: 0 }), holds);
        }
    }
}

#[test]
fn generalised_automata_are_degeneralised() {
    // One state; edges for a and for b, each in one of two sets.
    let edge =
        |atom, missing| GeneralisedEdge { from: 0, guard: vec![(atom, true)], to: 0, missing: vec![missing] };
    let general = Generalised { states: 1, initial: vec![0], edges: vec![edge(0, 1), edge(1, 0)] };
    let automaton = general.degeneralised(&mut |_| true).unwrap();
    let word = |letters: &[&[bool]]| Word {
        letters: letters.iter().map(|letter| letter.to_vec()).collect(),
        repeats_from: 0,
    };
    assert!(automaton.accepts(&word(&[&[true, false], &[false, true]])));
    assert!(automaton.accepts(&word(&[&[true, true]])));
    assert!(!automaton.accepts(&word(&[&[true, false]])));
    assert!(!automaton.accepts(&word(&[&[true, true], &[false, false]])));
}
