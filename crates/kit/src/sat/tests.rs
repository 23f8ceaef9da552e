//! Room `kit`: random questions to the solver against tables of all valuations.

use super::*;
use crate::aig::tests::next;
use crate::aig::{Aig, Lit};
use std::cell::Cell;

fn patient<'i>() -> Interrupt<'i> {
    Rc::new(|_| true)
}

/// Both kinds of solver; without the feature `cadical` they are one.
const KINDS: [fn(Interrupt<'static>) -> Solver<'static>; 2] = [Solver::new, Solver::for_hard_questions];

/// Random clauses over eight variables, asked with random assumptions, more clauses in between.
#[test]
fn answers_models_and_cores_agree_with_enumeration() {
    KINDS.into_iter().for_each(agree_with_enumeration);
}

fn agree_with_enumeration(kind: fn(Interrupt<'static>) -> Solver<'static>) {
    let (mut sat, mut unsat) = (0, 0);
    for start in 0..300 {
        let seed = &mut (start * 7919 + 1);
        let mut solver = kind(patient());
        let vars: Vec<Literal> = (0..8).map(|_| solver.fresh()).collect();
        let literal =
            |number: usize| if number.is_multiple_of(2) { vars[number / 2] } else { !vars[number / 2] };
        let holds = |number: usize, row: usize| (row >> (number / 2) & 1 != 0) == number.is_multiple_of(2);
        let mut clauses: Vec<Vec<usize>> = Vec::new();
        for _ in 0..12 {
            for _ in 0..3 {
                let clause: Vec<usize> = (0..3).map(|_| next(seed) % 16).collect();
                solver.clause(clause.iter().map(|&number| literal(number)));
                clauses.push(clause);
            }
            let assumed: Vec<usize> = (0..next(seed) % 5).map(|_| next(seed) % 16).collect();
            let allows = |row: usize, assumed: &[usize]| {
                clauses.iter().all(|clause| clause.iter().any(|&number| holds(number, row)))
                    && assumed.iter().all(|&number| holds(number, row))
            };
            match solver.solve(assumed.iter().map(|&number| literal(number))) {
                Answer::Sat => {
                    let row = (0..8).filter(|&at| solver.value(vars[at])).map(|at| 1 << at).sum();
                    assert!(allows(row, &assumed));
                    sat += 1;
                }
                Answer::Unsat => {
                    let in_core = |number: &&usize| solver.in_core(literal(**number));
                    let core: Vec<usize> = assumed.iter().filter(in_core).copied().collect();
                    assert!((0..256).all(|row| !allows(row, &core)), "the core is no core");
                    unsat += 1;
                }
                Answer::Stopped => panic!("nothing stopped it"),
            }
        }
    }
    assert!(sat > 100 && unsat > 100, "{sat} {unsat}");
}

#[test]
fn a_graph_in_a_solver_computes_what_it_does_outside() {
    let mut aig = Aig::default();
    let inputs: Vec<Lit> = (0..3).map(|_| aig.input()).collect();
    let sum = aig.xor(inputs[0], inputs[1]);
    let odd = aig.xor(sum, inputs[2]);
    for kind in KINDS {
        let mut solver = kind(patient());
        let mut cnf = Cnf::default();
        let odd_there = cnf.literal(&aig, &mut solver, odd);
        let there: Vec<Literal> = inputs.iter().map(|&input| cnf.literal(&aig, &mut solver, input)).collect();
        for row in 0..8usize {
            let fixed = (0..3).map(|at| if row >> at & 1 != 0 { there[at] } else { !there[at] });
            let answer = solver.solve(fixed.chain([odd_there]));
            assert_eq!(answer == Answer::Sat, row.count_ones() % 2 == 1);
        }
    }
}

#[test]
fn the_interrupt_is_asked() {
    for kind in KINDS {
        let mut solver = kind(Rc::new(|_| false));
        solver.fresh();
        assert_eq!(solver.solve([]), Answer::Stopped);
    }
}

/// Nine pigeons in eight holes take more work than is allowed here, and the question can be asked again.
#[test]
fn a_search_is_interrupted() {
    for kind in KINDS {
        let left = Rc::new(Cell::new(2000u64));
        let own = Rc::clone(&left);
        let mut solver = kind(Rc::new(move |work| {
            own.set(own.get().saturating_sub(work));
            own.get() > 0
        }));
        let holes: Vec<Vec<Literal>> = (0..9).map(|_| (0..8).map(|_| solver.fresh()).collect()).collect();
        holes.iter().for_each(|own| solver.clause(own.iter().copied()));
        for (one, other) in (0..9).flat_map(|one| (0..one).map(move |other| (one, other))) {
            (0..8).for_each(|hole| solver.clause([!holes[one][hole], !holes[other][hole]]));
        }
        assert_eq!(solver.solve([]), Answer::Stopped);
        left.set(u64::MAX);
        assert_eq!(solver.solve([]), Answer::Unsat);
    }
}

/// A model is read after more clauses and variables were added.
#[test]
fn a_model_stays() {
    for kind in KINDS {
        let mut solver = kind(patient());
        let (a, b) = (solver.fresh(), solver.fresh());
        solver.clause([a, b]);
        assert_eq!(solver.solve([!a]), Answer::Sat);
        let c = solver.fresh();
        solver.clause([c]);
        assert!(solver.value(b) && !solver.value(a) && solver.value(!a));
    }
}
