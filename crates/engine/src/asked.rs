//! Room `engine`: one engine's turn at a question, and what becomes of its findings.
//!
//! An engine searches a reduced program, or a translation of one with threads. The listener here brings each trace back to the program as
//! written before the board replays it, and has each proof checked.

use crate::budget::{Budget, Stopwatch, Tick};
use crate::encode::prepared::Prepared;
use crate::engine::{Engine, Finding, Listener};
use crate::evidence::{Evidence, Examined};
use crate::reduce::Reduced;
use crate::turns::{Counts, Question};
use crate::verdict::{Stats, Why};
use crate::verify::Board;
use postbop_ir::{Program, Proof, Query, Task, Trace};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard};

/// The board, which engines share.
pub type Shared<'b, 'a, 'o> = Mutex<&'b mut Board<'a, 'o>>;

/// The board, for a while.
pub fn lock<'l, 'b, 'a, 'o>(board: &'l Shared<'b, 'a, 'o>) -> MutexGuard<'l, &'b mut Board<'a, 'o>> {
    board.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// One engine's turn.
pub struct Asked<'q, 'p> {
    /// The question.
    pub question: &'q Question<'q>,
    /// The smaller program, if the engine is given that.
    pub reduced: Option<&'q Reduced>,
    /// What was prepared from the program that it is given.
    pub prepared: &'q Prepared<'p>,
    /// The engine.
    pub engine: &'q dyn Engine,
    /// How much it may use.
    pub budget: &'q Budget,
}

impl Asked<'_, '_> {
    /// Asks the open queries. Returns whether there is one left to ask.
    pub fn ask(&self, board: &Shared) -> bool {
        let Question { task, numbers, .. } = self.question;
        let all = self.reduced.map_or(*task, Reduced::task);
        let is_open = |at: &usize| self.is_open(*at, &lock(board));
        let open: Vec<usize> = (0..numbers.len()).filter(is_open).collect();
        if !open.iter().any(|&at| self.is_worth(at)) {
            return false;
        }
        let queries: Vec<Query> = open.iter().map(|&at| all.queries[at].clone()).collect();
        let asked = Task { queries: &queries, ..all };
        let said = vec![false; open.len()];
        let (replay, examined) = Default::default();
        let mut hearing = Hearing { asked: self, board, open: &open, said, replay, examined };
        let answer = catch_unwind(AssertUnwindSafe(|| {
            self.engine.check(&asked, self.prepared, self.budget, &mut hearing)
        }));
        let Hearing { said, replay, .. } = hearing;
        // Another engine is the one to tell, at least what was left open when it started.
        let silent = self.budget.is_raced() && said.contains(&false);
        match answer {
            Ok(_) if silent => {}
            Ok(mut stats) => {
                assert!(!said.contains(&false), "an engine answers every query");
                stats.extend(replay);
                stats.extend(self.reduced.map(|reduced| reduced.stats.clone()).unwrap_or_default());
                let mut board = lock(board);
                (board.engine, board.stats) = (self.name(), stats);
            }
            Err(panic) => {
                let message = panic.downcast_ref::<&str>().map(|text| text.to_string());
                let message = message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
                let unsaid = said.iter().zip(&open).filter(|(said, _)| !**said);
                unsaid.for_each(|(_, &at)| lock(board).unknown(numbers[at], Why::EngineBug(message.clone())));
            }
        }
        (0..numbers.len()).any(|at| self.is_worth(at) && is_open(&at))
    }

    /// Whether an engine is asked for the sake of a query: not if that is only about a guard.
    fn is_worth(&self, at: usize) -> bool {
        let query = &self.question.task.queries[at];
        query.has_target() || query.guard.is_empty()
    }

    /// Whether a query of the question is still to be asked.
    fn is_open(&self, at: usize, board: &Board) -> bool {
        let Question { numbers, within, counts, .. } = self.question;
        let explored = *counts == Counts::Explored && board.answer(numbers[at]).explored == Some(*within);
        !explored && board.is_open(numbers[at])
    }

    /// The engine that an answer is credited to.
    fn name(&self) -> &'static str {
        self.question.credit.unwrap_or(self.engine.name())
    }

    /// The program that the engine sees.
    fn program(&self) -> &Program {
        self.reduced.map_or(self.question.task.program, |reduced| reduced.task().program)
    }

    /// Puts a violation on the board, if there is a trace of the program that the engine saw. Returns how long that took.
    fn violated(&self, number: usize, found: Result<Trace, Why>, board: &mut Board) -> Stats {
        let mut stopwatch = Stopwatch::start();
        match found.and_then(|trace| self.back(trace)) {
            Ok(trace) => board.violated(number, trace, self.budget),
            Err(why) => board.unknown(number, why),
        }
        stopwatch.lap("replay_us");
        stopwatch.laps()
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

/// Hears an engine, and puts its findings on the board.
struct Hearing<'h, 'p, 'b, 'a, 'o> {
    asked: &'h Asked<'h, 'p>,
    board: &'h Shared<'b, 'a, 'o>,
    open: &'h [usize],
    said: Vec<bool>,
    /// What replaying traces and checking a proof took.
    replay: Stats,
    examined: Option<Examined>,
}

impl Hearing<'_, '_, '_, '_, '_> {
    /// Whether the question is about another program than the one as written.
    fn is_translated(&self) -> bool {
        self.asked.question.back.is_some()
    }

    /// What shows that a query of the question holds.
    fn evidence(&self, at: usize) -> Result<Evidence, Why> {
        let Task { program, queries, proofs, .. } = self.asked.question.task;
        match &self.examined {
            _ if !queries[at].has_target() => Ok(Evidence::of_nothing(program, proofs, self.is_translated())),
            Some(examined) => examined.of(program, &queries[at]),
            None => Ok(Evidence::default()),
        }
    }
}

impl Listener for Hearing<'_, '_, '_, '_, '_> {
    fn progress(&mut self, tick: Tick) {
        let mut board = lock(self.board);
        // Another engine may have answered already.
        let credited = std::mem::replace(&mut board.engine, self.asked.name());
        board.progress(self.asked.question.within, tick);
        board.engine = credited;
    }

    fn proof(&mut self, proof: Proof) {
        let Asked { question, reduced, budget, .. } = self.asked;
        if question.counts == Counts::Violations {
            return;
        }
        let mut stopwatch = Stopwatch::start();
        let program = question.task.program;
        let proof = match reduced {
            Some(reduced) => reduced.prove(program, proof),
            None => proof,
        };
        let examined = Examined::new(program, proof, question.task.proofs, self.is_translated(), budget);
        stopwatch.lap("validate_us");
        self.replay.extend(stopwatch.laps());
        self.replay.add("proof_nodes", examined.size() as u64);
        self.examined = Some(examined);
    }

    fn guarded(&mut self, query: usize) {
        lock(self.board).guarded(self.asked.question.numbers[self.open[query]]);
    }

    fn settle(&mut self, query: usize, finding: Finding) {
        assert!(!std::mem::replace(&mut self.said[query], true), "an engine answers a query once");
        let Question { numbers, within, counts, .. } = self.asked.question;
        let number = numbers[self.open[query]];
        let board = &mut **lock(self.board);
        board.engine = self.asked.name();
        match (finding, counts) {
            (Finding::Holds { guarded }, Counts::Both) => {
                // An engine that does not look for guards need not, where control cannot get to one.
                let at = self.open[query];
                let dead = self.asked.reduced.is_some_and(|reduced| reduced.unreachable[at]);
                let guarded = guarded.or(dead.then_some(false));
                match self.evidence(at) {
                    Ok(evidence) => board.shown(number, *within, guarded, evidence),
                    Err(why) => board.unknown(number, why),
                }
            }
            (Finding::Holds { .. }, Counts::Holds) => match self.evidence(self.open[query]) {
                Ok(evidence) => board.shown(number, *within, None, evidence),
                Err(why) => board.unknown(number, why),
            },
            (Finding::Holds { .. }, Counts::Explored) => match self.evidence(self.open[query]) {
                Ok(evidence) => board.explored(number, *within, evidence),
                Err(why) => board.unknown(number, why),
            },
            (Finding::Holds { .. }, Counts::Violations) => {
                let bug = "no run follows the script of a violation".to_owned();
                board.unknown(number, Why::EngineBug(bug));
            }
            (Finding::Reached(_) | Finding::Along(_) | Finding::Scripted(_), Counts::Holds) => {
                board.unknown(number, Why::Effort);
            }
            (Finding::Reached(trace), _) => {
                self.replay.extend(self.asked.violated(number, Ok(trace), board));
            }
            (Finding::Along(skeleton), _) => {
                let trace = skeleton.trace(self.asked.program(), self.asked.budget);
                self.replay.extend(self.asked.violated(number, trace, board));
            }
            (Finding::Scripted(script), _) => {
                crate::threads::follow(&script, number, self.asked.budget, board);
            }
            (Finding::Unknown(why), _) => board.unknown(number, why),
        }
    }
}
