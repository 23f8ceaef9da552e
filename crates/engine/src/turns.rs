//! Room `engine`: engines that take turns at a sequential program.
//!
//! # Idea
//!
//! Which engine is fastest cannot be told from the program. `explicit` finds short runs at once and decides small sets of
//! valuations one by one; `summary` decides large sets that have small diagrams. So they take turns, each time with a
//! larger share of work, and each from the beginning: all turns together cost a small multiple of what the engine that
//! answers would have needed alone. Shares are counted in the engines' own units, not in seconds, so that the same task gets
//! the same answer, by the same engine, with the same trace, on every machine.

use crate::budget::{Budget, Stopwatch, Tick};
use crate::engine::{Engine, Finding, Listener, Unsupported, takes};
use crate::explicit::Explicit;
use crate::reduce::{Reduced, reduce};
use crate::summary::Summary;
use crate::verdict::{Stats, Verdict, Why};
use crate::verify::{Board, EngineChoice};
use postbop_ir::{Bound, Query, Task, Trace};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A program to search, and how what is found there is read as an answer about the program as written.
pub struct Question<'a> {
    /// The queries about the program to search. Within a bound only if the engine takes threads.
    pub task: Task<'a>,
    /// For each of its queries its number on the board.
    pub numbers: Vec<usize>,
    /// From a trace of the program to search to one of the program as written; none if they are the same.
    pub back: Option<&'a Back<'a>>,
    /// Which runs of the program as written are covered.
    pub within: Bound,
    /// Which answers count.
    pub counts: Counts,
    /// Who is named for the answer, if not the engine that searched.
    pub credit: Option<&'static str>,
}

/// From a trace of one program to a trace of another.
pub type Back<'a> = dyn Fn(&Trace) -> Result<Trace, Why> + 'a;

/// Which answers to a question count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counts {
    /// That a property holds, and that it is violated.
    Both,
    /// That it holds: the program does more than the one as written, or a violation is not what is looked for.
    Holds,
    /// That it is violated; that it holds is impossible.
    Violations,
    /// That it is violated; that it holds is noted as explored only.
    Explored,
}

impl<'a> Question<'a> {
    /// The task itself.
    pub fn plain(task: Task<'a>) -> Self {
        let numbers = (0..task.queries.len()).collect();
        Question { task, numbers, back: None, within: task.bound, counts: Counts::Both, credit: None }
    }
}

/// The first share of an engine, in its own units: so many, and so many per edge of the program. Each turn's share is
/// larger than the last one's by a factor.
const EXPLICIT: (u64, u64) = (2_000_000, 50);
const SUMMARY: (u64, u64) = (2_000_000, 50);
const GROWTH: u64 = 4;

/// Answers a question by an engine, or by several in turn.
pub fn answer(question: &Question, choice: EngineChoice, budget: &Budget, board: &mut Board) {
    let engines: Vec<Candidate> = match choice {
        EngineChoice::Only(engine) => vec![(engine, (u64::MAX, 0))],
        EngineChoice::Auto => vec![(&Explicit, EXPLICIT), (&Summary, SUMMARY)],
    };
    let mut engines = willing(question, engines, board);
    let Some((first, _)) = engines.first() else { return };
    let reduced = first.wants().reduced.then(|| reduce(&question.task));
    let edges = question.task.program.edges.len() as u64;
    for turn in 0..u32::MAX {
        let alone = engines.len() == 1;
        let mut last = true;
        for (engine, (share, per_edge)) in std::mem::take(&mut engines) {
            let effort = (share.saturating_add(per_edge * edges)).saturating_mul(GROWTH.saturating_pow(turn));
            let share_of = if alone { budget.clone() } else { budget.clone().with_effort(effort) };
            last &= share_of.effort() == budget.effort();
            let asked = Asked { question, reduced: reduced.as_ref(), engine, budget: &share_of };
            if !asked.ask(board) || board.is_over() {
                return;
            }
            // An engine that has filled the memory would only do so again.
            if !asked.is_out_of_memory(board) {
                engines.push((engine, (share, per_edge)));
            }
        }
        if last || engines.is_empty() {
            return;
        }
    }
}

/// An engine, and its first share: so much work, and so much per edge.
type Candidate<'e> = (&'e dyn Engine, (u64, u64));

/// The engines that take the program; if there is none, every query gets their reasons.
fn willing<'e>(question: &Question, engines: Vec<Candidate<'e>>, board: &mut Board) -> Vec<Candidate<'e>> {
    let mut refusals = Vec::new();
    let mut willing = Vec::new();
    for (engine, share) in engines {
        match takes(engine, &question.task) {
            Ok(()) => willing.push((engine, share)),
            Err(Unsupported(what)) => refusals.push(what),
        }
    }
    refusals.dedup();
    if willing.is_empty() {
        let why = Why::Unsupported(refusals.join("; "));
        question.numbers.iter().for_each(|&number| board.unknown(number, why.clone()));
    }
    willing
}

/// One engine's turn.
struct Asked<'q> {
    question: &'q Question<'q>,
    reduced: Option<&'q Reduced>,
    engine: &'q dyn Engine,
    budget: &'q Budget,
}

impl Asked<'_> {
    /// Asks about what is open; whether there is something left to ask.
    fn ask(&self, board: &mut Board) -> bool {
        let Question { task, numbers, .. } = self.question;
        let all = self.reduced.map_or(*task, Reduced::task);
        let open: Vec<usize> = (0..numbers.len()).filter(|&at| self.is_open(at, board)).collect();
        if open.is_empty() {
            return false;
        }
        let queries: Vec<Query> = open.iter().map(|&at| all.queries[at].clone()).collect();
        let asked = Task { queries: &queries, ..all };
        board.engine = self.question.credit.unwrap_or(self.engine.name());
        let said = vec![false; open.len()];
        let mut hearing = Hearing { asked: self, board, open: &open, said, replay: Stats::default() };
        let answer = catch_unwind(AssertUnwindSafe(|| self.engine.check(&asked, self.budget, &mut hearing)));
        let Hearing { said, replay, .. } = hearing;
        match answer {
            Ok(mut stats) => {
                assert!(said.iter().all(|said| *said), "an engine answers every query");
                stats.extend(replay);
                stats.extend(self.reduced.map(|reduced| reduced.stats.clone()).unwrap_or_default());
                board.stats = stats;
            }
            Err(panic) => {
                let message = panic.downcast_ref::<&str>().map(|text| text.to_string());
                let message = message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
                let unsaid = said.iter().zip(&open).filter(|(said, _)| !**said);
                unsaid.for_each(|(_, &at)| board.unknown(numbers[at], Why::EngineBug(message.clone())));
            }
        }
        (0..numbers.len()).any(|at| self.is_open(at, board))
    }

    /// Whether a query of the question is still to be asked.
    fn is_open(&self, at: usize, board: &Board) -> bool {
        let Question { numbers, within, counts, .. } = self.question;
        let explored = *counts == Counts::Explored && board.answer(numbers[at]).explored == Some(*within);
        !explored && board.is_open(numbers[at])
    }

    fn is_out_of_memory(&self, board: &Board) -> bool {
        let memory =
            |number: &usize| matches!(board.answer(*number).verdict, Verdict::Unknown(Why::Memory(_)));
        self.question.numbers.iter().any(memory)
    }

    /// A trace of the program that the engine saw as one of the program as written.
    fn back(&self, trace: Trace) -> Result<Trace, Why> {
        let trace = match self.reduced {
            Some(reduced) => reduced.lift(trace),
            None => trace,
        };
        match self.question.back {
            Some(back) => back(&trace),
            None => Ok(trace),
        }
    }
}

/// Hears an engine, and puts what stands on the board.
struct Hearing<'h, 'a, 'o> {
    asked: &'h Asked<'h>,
    board: &'h mut Board<'a, 'o>,
    open: &'h [usize],
    said: Vec<bool>,
    replay: Stats,
}

impl Listener for Hearing<'_, '_, '_> {
    fn progress(&mut self, tick: Tick) {
        self.board.progress(self.asked.question.within, tick);
    }

    fn settle(&mut self, query: usize, finding: Finding) {
        assert!(!std::mem::replace(&mut self.said[query], true), "an engine answers a query once");
        let Question { numbers, within, counts, .. } = self.asked.question;
        let number = numbers[self.open[query]];
        match (finding, counts) {
            (Finding::Holds { guarded }, Counts::Both) => self.board.holds(number, *within, guarded),
            (Finding::Holds { .. }, Counts::Holds) => self.board.holds(number, *within, None),
            (Finding::Holds { .. }, Counts::Explored) => self.board.explored(number, *within),
            (Finding::Holds { .. }, Counts::Violations) => {
                let bug = "no run follows the script of a violation".to_owned();
                self.board.unknown(number, Why::EngineBug(bug));
            }
            (Finding::Reached(_) | Finding::Scripted(_), Counts::Holds) => {
                self.board.unknown(number, Why::Effort);
            }
            (Finding::Reached(trace), _) => {
                let mut stopwatch = Stopwatch::start();
                match self.asked.back(trace) {
                    Ok(trace) => self.board.violated(number, trace, self.asked.budget),
                    Err(why) => self.board.unknown(number, why),
                }
                stopwatch.lap("replay_us");
                self.replay.extend(stopwatch.laps());
            }
            (Finding::Scripted(script), _) => {
                crate::threads::follow(&script, number, self.asked.budget, self.board);
            }
            (Finding::Unknown(why), _) => self.board.unknown(number, why),
        }
    }
}
