//! Room `engine/temporal`: questions about runs that go on for ever.
//!
//! An engine that looks for cycles itself is given the question as it is. `summary` is given it too, and may prove that there is no such run; what it leaves
//! open, and every question for other engines, is translated, query by query, into a question about what is reached ([`repeat`]). `auto` lets
//! `explicit` at the question as it is, since it finds short cycles at once, then `summary`, and then all engines at the translation, in
//! turns with growing shares of work.

pub mod product;
mod repeat;
pub mod shows;
pub mod within;
pub mod wrap;

use crate::budget::Budget;
use crate::engine::Cycles;
use crate::explicit::Explicit;
use crate::reduce::room;
use crate::summary::Summary;
use crate::turns::{self, Question};
use crate::verdict::{Verdict, Why};
use crate::verify::{Board, EngineChoice};
use postbop_ir::{Task, Trace};

/// How many times the usual trial `explicit` has on the question as it is, and by how much each turn is longer than the last one.
const TRIALS: u64 = 8;
const GROWTH: u64 = 4;

/// Answers a question whose queries ask for locations that are visited again and again.
pub fn answer(question: &Question, choice: EngineChoice, budget: &Budget, board: &mut Board) {
    match choice {
        EngineChoice::Only(engine) => {
            let cycles = engine.wants().cycles;
            if cycles != Cycles::Translated {
                turns::put(question, choice, budget, board);
            }
            if cycles != Cycles::Found {
                translated(question, choice, budget, board);
            }
        }
        EngineChoice::Auto => {
            let mut share = TRIALS * turns::trial(question.task.program);
            while goes_on(question, budget, board) {
                let budget = budget.clone().with_effort(share);
                turns::put(question, EngineChoice::Only(&Explicit), &budget, board);
                turns::put(question, EngineChoice::Only(&Summary), &budget, board);
                translated(question, choice, &budget, board);
                share = share.saturating_mul(GROWTH);
            }
        }
    }
}

/// Whether a larger share of work may bring an answer.
fn goes_on(question: &Question, budget: &Budget, board: &Board) -> bool {
    let wants_more = |&number: &usize| matches!(board.answer(number).verdict, Verdict::Unknown(Why::Effort));
    !board.is_over() && budget.check().is_ok() && question.numbers.iter().any(wants_more)
}

/// Translates each query that is open.
fn translated(question: &Question, choice: EngineChoice, budget: &Budget, board: &mut Board) {
    for (query, &number) in question.task.queries.iter().zip(&question.numbers) {
        if !board.is_open(number) || budget.check().is_err() || board.is_over() {
            continue;
        }
        if let Err(why) = budget.allows(room(&question.task)) {
            board.unknown(number, why);
            continue;
        }
        let repeating = repeat::translate(&question.task, query);
        let back = |trace: &Trace| {
            let trace = repeating.back(trace)?;
            question.back.map_or_else(|| Ok(trace.clone()), |back| back(&trace))
        };
        let queries = [repeating.wrapped.query.clone()];
        let task = Task { program: &repeating.wrapped.program, queries: &queries, ..question.task };
        let translated = Question { task, numbers: vec![number], back: Some(&back), ..*question };
        turns::put(&translated, choice, budget, board);
    }
}
