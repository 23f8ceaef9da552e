//! Room `kit`: random formulas against tables of all valuations.

use super::*;
use crate::aig::tests::{INPUTS, ROWS, graph, next, pick};

/// A random formula over six inputs, and whether it is true. Some compare sets of valuations, as engines do, some are anything.
fn random(seed: &mut u64) -> (Formula, Result<(), Vec<usize>>) {
    let (mut aig, inputs, all) = graph(seed);
    let split = next(seed) % 64;
    let is_forall = |at: usize| split >> at & 1 != 0;
    let mut root = pick(&all, seed);
    if !next(seed).is_multiple_of(3) {
        // guard => other guard, and pairs of functions are equal
        let mut equal = pick(&all, seed);
        for _ in 0..next(seed) % 4 {
            let ((a, x), (b, y)) = (pick(&all, seed), pick(&all, seed));
            let same = aig.iff(a, b);
            equal = (aig.and(equal.0, same), equal.1 & !(x ^ y));
        }
        root = (aig.or(root.0, equal.0), root.1 | equal.1);
    }
    let (phi, table) = root;
    let mask: usize = (0..INPUTS).filter(|&at| is_forall(at)).map(|at| 1 << at).sum();
    let unanswered = |&row: &usize| (0..ROWS).all(|other| other & mask != row || table >> other & 1 == 0);
    let bad: Vec<usize> = (0..ROWS).filter(|row| row & !mask == 0).filter(unanswered).collect();
    let (forall, exists): (Vec<usize>, Vec<usize>) = (0..INPUTS).partition(|&at| is_forall(at));
    let lits = |at: &[usize]| at.iter().map(|&at| inputs[at]).collect();
    let formula = Formula { aig, view: lits(&forall), forall: lits(&forall), exists: lits(&exists), phi };
    (formula, if bad.is_empty() { Ok(()) } else { Err(bad) })
}

/// The row in which X has these values, and Y is false.
fn row(formula: &Formula, candidate: &[bool]) -> usize {
    // The inputs are the first nodes after the constant.
    formula
        .forall
        .iter()
        .zip(candidate)
        .filter(|(_, value)| **value)
        .map(|(lit, _)| 1 << (lit.node() - 1))
        .sum()
}

fn patient<'i>() -> Interrupt<'i> {
    Rc::new(|_| true)
}

#[test]
fn answers_and_counterexamples_agree_with_enumeration() {
    let (mut right, mut wrong, mut counts) = (0, 0, Counts::default());
    for start in 0..6_000u64 {
        let seed = &mut (start * 7919 + 3);
        let (formula, expected) = random(seed);
        let again = random(&mut (start * 7919 + 3)).0;
        match (formula.decide(&patient(), &mut counts), expected) {
            (Truth::True, Ok(())) => right += 1,
            (Truth::False(candidate), Err(bad)) => {
                assert!(bad.contains(&row(&again, &candidate)), "seed {start}: {candidate:?} has an answer");
                wrong += 1;
            }
            (truth, expected) => panic!("seed {start}: {truth:?}, expected {expected:?}"),
        }
    }
    assert!(right > 2_000 && wrong > 2_000, "{right} true, {wrong} false");
    assert_eq!(counts.formulas, 6_000);
}

/// Whether the values of three functions of X are all among those of three functions of Y, of which there are one or two lots.
#[test]
fn no_more_rounds_than_there_is_to_see() {
    let (mut right, mut wrong) = (0, 0);
    for start in 0..4_000u64 {
        let seed = &mut (start * 6151 + 5);
        let (mut aig, forall, all) = graph(seed);
        let seen = [(); 3].map(|()| pick(&all, seed));
        let exists: Vec<Lit> = (0..3).map(|_| aig.input()).collect();
        let (mut phi, mut answered) = (Lit::FALSE, 0u8);
        for _ in 0..=next(seed) % 2 {
            // Each function of Y is an input, negated or not.
            let picked = [(); 3].map(|()| (next(seed) % 3, next(seed).is_multiple_of(2)));
            let mut same = Lit::TRUE;
            for ((lit, _), (at, positive)) in seen.into_iter().zip(picked) {
                let equal = aig.iff(lit, if positive { exists[at] } else { !exists[at] });
                same = aig.and(same, equal);
            }
            phi = aig.or(phi, same);
            for row in 0..8 {
                let values = picked.map(|(at, positive)| (row >> at & 1 == 1) == positive);
                answered |= 1 << values.iter().rev().fold(0, |all, &value| all * 2 + usize::from(value));
            }
        }
        let values = |row: usize| seen.iter().rev().fold(0, |all, (_, table)| all * 2 + (table >> row & 1));
        let expected = (0..ROWS).all(|row| answered >> values(row) & 1 == 1);
        let mut counts = Counts::default();
        let view = seen.iter().map(|(lit, _)| *lit).collect();
        let truth = Formula { aig, forall, exists, phi, view }.decide(&patient(), &mut counts);
        assert_eq!(truth == Truth::True, expected, "seed {start}: {truth:?}");
        assert!(counts.rounds <= 8, "seed {start}: {counts:?}");
        *(if expected { &mut right } else { &mut wrong }) += 1;
    }
    assert!(right > 500 && wrong > 500, "{right} true, {wrong} false");
}

/// Two equal sets of 2^40 valuations, written with other inputs: enumeration would not end.
#[test]
fn an_answer_is_a_function() {
    let mut aig = Aig::default();
    let forall: Vec<Lit> = (0..40).map(|_| aig.input()).collect();
    let exists: Vec<Lit> = (0..41).map(|_| aig.input()).collect();
    let mut phi = Lit::TRUE;
    for at in 0..40 {
        // The first input of Y says whether the others are taken as they are, or shifted.
        let there = aig.ite(exists[0], exists[at + 1], exists[(at + 1) % 40 + 1]);
        let same = aig.iff(forall[at], there);
        phi = aig.and(phi, same);
    }
    let mut counts = Counts::default();
    assert_eq!(
        Formula { view: forall.clone(), aig, forall, exists, phi }.decide(&patient(), &mut counts),
        Truth::True
    );
    assert!(counts.rounds <= 4, "{counts:?}");
}

#[test]
fn the_interrupt_is_heard() {
    for start in 0..50u64 {
        let (formula, _) = random(&mut { start });
        assert_eq!(
            formula.decide(&(Rc::new(|_| false) as Interrupt), &mut Counts::default()),
            Truth::Stopped
        );
    }
}

/// Decides what QDIMACS says, by trying everything: variables that are left get their values from the quantifiers.
fn evaluate(text: &str) -> bool {
    let numbers = |line: &str| -> Vec<i64> {
        line.split_whitespace().filter_map(|word| word.parse().ok()).filter(|&number| number != 0).collect()
    };
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let block = |letter: char| {
        lines.iter().find_map(|line| line.strip_prefix(letter)).map(numbers).unwrap_or_default()
    };
    let (forall, exists) = (block('a'), block('e'));
    let clauses: Vec<Vec<i64>> =
        lines.iter().filter(|line| !line.starts_with(['a', 'e'])).map(|line| numbers(line)).collect();
    (0..1usize << forall.len()).all(|row| {
        let mut solver = Solver::new(patient());
        let vars: Vec<_> = (0..forall.len() + exists.len()).map(|_| solver.fresh()).collect();
        let literal = |number: i64| {
            let var = vars[number.unsigned_abs() as usize - 1];
            if number > 0 { var } else { !var }
        };
        clauses.iter().for_each(|clause| solver.clause(clause.iter().map(|&number| literal(number))));
        let fixed =
            forall.iter().enumerate().map(|(at, &var)| literal(if row >> at & 1 != 0 { var } else { -var }));
        solver.solve(fixed.collect::<Vec<_>>()) == Answer::Sat
    })
}

#[test]
fn what_is_exported_is_the_formula() {
    let (mut right, mut wrong) = (0, 0);
    for start in 0..1_000u64 {
        let (formula, expected) = random(&mut (start * 31 + 7));
        let text = formula.qdimacs();
        let header: Vec<usize> =
            text.lines().next().unwrap()[6..].split(' ').map(|word| word.parse().unwrap()).collect();
        let clauses = text.lines().skip(1).filter(|line| !line.starts_with(['a', 'e'])).count();
        assert_eq!(header[1], clauses);
        assert_eq!(evaluate(&text), expected.is_ok(), "seed {start}\n{text}");
        *(if expected.is_ok() { &mut right } else { &mut wrong }) += 1;
    }
    assert!(right > 300 && wrong > 300, "{right} true, {wrong} false");
}
