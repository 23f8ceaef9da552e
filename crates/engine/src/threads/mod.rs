//! Room `engine/threads`: programs with threads.
//!
//! # Idea
//!
//! There are four ways to find out what threads can do together:
//!
//! * a search over whole configurations, stacks included ([`direct`]): if there are few of them it sees them all,
//!   and then its answer needs no bound;
//! * the product of all threads, as one procedure ([`product`]), with or without a bound. It is exact for threads
//!   without recursion; for recursive threads it has more runs than they have, so it can only show that a property
//!   holds;
//! * a formula within a bound on switches or rounds, by an engine that takes threads as they are. It takes
//!   recursion, and explores only what is reached. A violation is a *script*, and a run along it is found by the
//!   fourth way;
//! * a sequential program that guesses what the other threads do ([`sequential`]), which any engine takes.
//!
//! `auto` takes the first three in this order; an engine that the user names and that takes no threads is given the
//! fourth. Where a bound is needed, it grows from 0, so the first run that is found has few switches. A property
//! without a violation holds up to the bound that was asked for; if none was, it is `unknown`, with the bound up to
//! which it was explored.
//!
//! # Room for threads
//!
//! A program that starts threads as it runs has room for a fixed number of them. A property that holds then holds
//! without a bound on threads only if no run needs more room. That is one more question of the same kind: whether a
//! run reaches one of the locations [`postbop_ir::Program::no_room`].

mod back;
pub mod build;
mod configurations;
pub mod direct;
mod direct_trace;
mod persistent;
mod product;
pub mod resume_points;
pub mod script;
mod sequential;
mod translation;

use crate::budget::{Budget, Silent};
use crate::encode::prepared::Prepared;
use crate::engine::{Engine, Unsupported, for_threads, has_integers, takes};
use crate::turns::{self, Counts, Question};
use crate::verdict::{Verdict, Why};
use crate::verify::{Board, EngineChoice};
use postbop_ir::{Bound, Prefer, Proofs, Query, Schedule, Task, Trace};
use product::{Stacks, product};
use script::Script;
use sequential::sequentialise;
use std::time::Duration;
use translation::Translation;

/// How long the number of switches may grow where no limit is set.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much work the direct search may do before the others get their turn, in its own units.
const DIRECT: u64 = 6_000_000;

/// How much work engines may put into a product within a bound before the formula gets its turn.
const TRIAL: u64 = 3_000_000;

/// How much work engines may put into the product without a bound before one with a bound is tried.
const MOMENT: u64 = 300_000;

/// How many switches are tried before the product without a bound gets a larger share.
const FEW: u32 = 3;

/// How often a procedure is on a call path in the product of recursive threads: first this often, then that often.
const DEPTHS: [usize; 2] = [1, 2];

/// Answers a task about a program with threads.
pub fn answer(task: &Task, choice: EngineChoice, budget: &Budget, board: &mut Board) {
    if task.prefer == Prefer::FewestSteps {
        let what = "the fewest steps of programs with threads; ask for the fewest switches".to_owned();
        return (0..task.queries.len()).for_each(|at| board.unknown(at, Why::Unsupported(what.clone())));
    }
    let budget = match task.bound.schedule {
        Some(_) => budget.clone(),
        None => budget.clone().or_time(PATIENCE),
    };
    board.waits = !task.program.no_room().is_empty();
    let threads = Threads { task: *task, choice, budget: &budget, prepared: &Prepared::new(task.program) };
    threads.explore(board);
    board.out_of_means(&budget);
    if board.waits {
        board.waits = false;
        threads.room(board);
    }
}

/// Finds a run that follows a script which an engine gave for a query.
pub fn follow(script: &Script, number: usize, budget: &Budget, board: &mut Board) {
    let queries = std::slice::from_ref(&board.task.queries[number]);
    let task = Task { queries, ..board.task };
    let slots = Schedule::Switches(script.owners.len().saturating_sub(1) as u32);
    let script = (!script.owners.is_empty()).then_some(script);
    let translation = match sequentialise(&task, slots, script, budget) {
        Ok(translation) => translation,
        Err(why) => return board.unknown(number, why),
    };
    let back = |trace: &Trace| back::back(task.program, &translation, trace);
    let question = Question {
        task: translation.task(&task),
        numbers: vec![number],
        back: Some(&back),
        within: task.bound,
        counts: Counts::Violations,
        credit: Some(board.engine),
    };
    turns::answer(&question, EngineChoice::Auto, budget, board);
}

struct Threads<'a, 'p> {
    task: Task<'a>,
    choice: EngineChoice,
    budget: &'a Budget,
    prepared: &'a Prepared<'p>,
}

impl Threads<'_, '_> {
    fn explore(&self, board: &mut Board) {
        match self.choice {
            EngineChoice::Auto => self.by_all(board),
            EngineChoice::Only(engine) => {
                self.within_bounds(Some(engine), 0, u32::MAX, board);
            }
        }
    }

    /// Whether a query is open, and the budget allows more work.
    fn goes_on(&self, board: &Board) -> bool {
        !board.is_over() && board.has_open() && self.budget.check().is_ok()
    }

    /// The queries that are open, and their numbers.
    fn open(&self, board: &Board) -> (Vec<usize>, Vec<Query>) {
        let open: Vec<usize> = (0..self.task.queries.len()).filter(|&at| board.is_open(at)).collect();
        let queries = open.iter().map(|&at| self.task.queries[at].clone()).collect();
        (open, queries)
    }

    /// Direct search, product and formula, one after the other.
    fn by_all(&self, board: &mut Board) {
        let moment = self.budget.clone().with_effort(MOMENT);
        if self.task.proofs == Proofs::Kept && !self.task.stuck {
            // There are proofs about the product, and none of what a direct search has seen.
            self.all_runs(Counts::Holds, &moment, board);
            if !self.goes_on(board) {
                return;
            }
        }
        let share = self.budget.clone().with_effort(DIRECT);
        if self.task.stuck && self.task.prefer == Prefer::Any {
            direct::search_stuck(&self.task, self.prepared, &share, board);
        }
        if !self.goes_on(board) {
            return;
        }
        // The direct search answers all queries, or none.
        let is_first = self.open(board).0.len() == self.task.queries.len();
        let explored = is_first.then(|| direct::search(&self.task, self.prepared, &share, board)).flatten();
        let most = self.most();
        let next = explored.map_or(0, |levels| levels + 1);
        self.conclude(next, board);
        if !self.goes_on(board) {
            return;
        }
        if self.task.stuck && self.task.bound.schedule.is_none() {
            // A deadlock of many threads takes many switches: bounds that grow come last.
            let any = self.task.prefer == Prefer::Any;
            self.all_runs(if any { Counts::Both } else { Counts::Holds }, &self.budget.share(2), board);
            if !self.goes_on(board) {
                return;
            }
        }
        self.all_runs(Counts::Holds, &moment, board);
        let few = most.min(next.max(FEW));
        let mut done = next;
        if self.goes_on(board) {
            done = self.within_bounds(None, next, few, board);
        }
        if self.goes_on(board) && done > few {
            // Fewest switches are found by bounds that grow; otherwise any run will do.
            let bounded = self.task.bound.schedule.is_some();
            let any = self.task.prefer == Prefer::Any && !bounded;
            let share = if bounded { self.budget.share(10) } else { self.budget.share(2) };
            self.all_runs(if any { Counts::Both } else { Counts::Holds }, &share, board);
        }
        if self.goes_on(board) && done > few {
            self.within_bounds(None, done, u32::MAX, board);
        }
    }

    /// The greatest bound that was asked for.
    fn most(&self) -> u32 {
        match self.task.bound.schedule {
            None => u32::MAX,
            Some(Schedule::Switches(most) | Schedule::Rounds(most)) => most,
        }
    }

    /// The schedule of this size.
    fn schedule(&self, size: u32) -> Schedule {
        match self.task.bound.schedule {
            Some(Schedule::Rounds(_)) => Schedule::Rounds(size),
            _ => Schedule::Switches(size),
        }
    }

    /// If everything up to the bound that was asked for is explored, the open queries hold up to it.
    fn conclude(&self, next: u32, board: &mut Board) {
        if next > self.most() && self.most() != u32::MAX {
            self.open(board).0.into_iter().for_each(|number| board.conclude(number, self.task.bound));
        }
    }

    /// Answers without a bound, by the product: exactly if the threads are not recursive; otherwise it can only show that a
    /// property holds whatever is below the tops of the stacks.
    fn all_runs(&self, counts: Counts, budget: &Budget, board: &mut Board) {
        let (numbers, queries) = self.open(board);
        let task = Task { queries: &queries, ..self.task };
        match product(&task, None, Stacks::Exact) {
            Ok(translation) => self.ask(&translation, numbers, Bound::NONE, counts, budget, board),
            Err(_) => {
                for depth in DEPTHS {
                    let Ok(loose) = product(&task, None, Stacks::Upto(depth)) else { return };
                    let budget = budget.share(2);
                    self.ask(&loose, numbers.clone(), Bound::NONE, Counts::Holds, &budget, board);
                    if !self.goes_on(board) {
                        return;
                    }
                }
            }
        }
    }

    /// Answers within one bound after the other, from this one to that one at the most, until all is answered or the
    /// budget is used up: by an engine, or by whichever seems best. Returns the first bound that was not explored.
    fn within_bounds(
        &self,
        engine: Option<&'static dyn Engine>,
        from: u32,
        to: u32,
        board: &mut Board,
    ) -> u32 {
        let least = matches!(self.task.bound.schedule, Some(Schedule::Rounds(_))) as u32;
        let most = self.most();
        // A formula with few copies of the shared variables is so much faster than one with many that it pays to begin
        // small; a translation is made once for the bound that was asked for, unless the fewest switches are wanted.
        let grows = engine.is_none_or(|engine| engine.wants().threads)
            || self.task.prefer == Prefer::FewestSwitches
            || most == u32::MAX;
        let mut size = if grows { from.max(least) } else { most };
        while size <= most.min(to) {
            self.within(engine, size, board);
            // A query without an answer ran into a limit, and would again within a larger bound.
            if !self.is_explored(size, board) || board.is_over() {
                return size;
            }
            size += 1;
            self.conclude(size, board);
            if !board.has_open() {
                return size;
            }
        }
        size
    }

    /// Whether all queries that are open were found to hold within a bound of this size.
    fn is_explored(&self, size: u32, board: &Board) -> bool {
        let bound = Bound { schedule: Some(self.schedule(size)), threads: None };
        let open = (0..self.task.queries.len()).filter(|&at| !board.answer(at).verdict.is_known());
        open.into_iter().all(|at| board.answer(at).explored == Some(bound))
    }

    /// Looks at all runs within a bound.
    fn within(&self, engine: Option<&'static dyn Engine>, size: u32, board: &mut Board) {
        let schedule = self.schedule(size);
        let bound = Bound { schedule: Some(schedule), threads: None };
        if engine.is_none() {
            let (numbers, queries) = self.open(board);
            let task = Task { queries: &queries, ..self.task };
            if let Ok(translation) = product(&task, Some(schedule), Stacks::Exact) {
                let trial = self.budget.clone().with_effort(TRIAL);
                self.ask(&translation, numbers, bound, Counts::Explored, &trial, board);
                if self.is_explored(size, board) {
                    return;
                }
            }
        }
        let (mut numbers, _) = self.open(board);
        numbers.retain(|&number| board.answer(number).explored != Some(bound));
        let queries: Vec<Query> = numbers.iter().map(|&number| self.task.queries[number].clone()).collect();
        let task = Task { queries: &queries, bound, ..self.task };
        let by = engine.unwrap_or_else(for_threads);
        if !by.wants().threads {
            return match sequentialise(&task, schedule, None, self.budget) {
                Ok(translation) => {
                    self.ask(&translation, numbers, bound, Counts::Explored, self.budget, board)
                }
                Err(why) => numbers.iter().for_each(|&at| board.unknown(at, why.clone())),
            };
        }
        if let Err(Unsupported(what)) = takes(by, &task, has_integers(task.program)) {
            return numbers.iter().for_each(|&at| board.unknown(at, Why::Unsupported(what.clone())));
        }
        let question =
            Question { task, numbers, back: None, within: bound, counts: Counts::Explored, credit: None };
        turns::answer_by(by, &question, self.prepared, self.budget, board);
    }

    /// Asks engines about a translation.
    fn ask(
        &self,
        translation: &Translation,
        numbers: Vec<usize>,
        within: Bound,
        counts: Counts,
        budget: &Budget,
        board: &mut Board,
    ) {
        let back = |trace: &Trace| back::back(self.task.program, translation, trace);
        let task = translation.task(&self.task);
        let question = Question { task, numbers, back: Some(&back), within, counts, credit: None };
        turns::answer(&question, self.choice, budget, board);
    }

    /// Adds to properties that hold the bound on threads, if a run needs more room than there is.
    fn room(&self, board: &mut Board) {
        let mut known: Vec<(Bound, bool)> = Vec::new();
        for number in 0..self.task.queries.len() {
            let Verdict::Holds { within, .. } = board.answer(number).verdict else { continue };
            // A property that holds in all runs also holds within the bound that was asked for, and there the room may be enough.
            let bounds = [within, self.task.bound];
            let fits = bounds.into_iter().find(|&bound| {
                if !known.iter().any(|(other, _)| *other == bound) {
                    known.push((bound, self.fits(bound)));
                }
                known.contains(&(bound, true))
            });
            let most = self.task.program.threads().len() as u32;
            board.confirm(number, fits.unwrap_or(Bound { threads: Some(most), ..within }));
        }
    }

    /// Whether no run within a bound starts more threads than there is room for.
    fn fits(&self, bound: Bound) -> bool {
        let query = [Query::reach("no room", self.task.program.no_room().to_vec())];
        let task = Task { bound, ..Task::new(self.task.program, &query) };
        let mut silent = Silent;
        let mut alone = Board::new(task, &mut silent);
        Threads { task, ..*self }.explore(&mut alone);
        matches!(alone.answer(0).verdict, Verdict::Holds { .. })
    }
}
