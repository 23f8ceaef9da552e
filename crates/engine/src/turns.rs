//! Room `engine`: a question about a sequential program, put to one engine or to several.
//!
//! # Idea
//!
//! Which engine is fastest cannot be told from the program. `explicit` finds short runs at once and decides small
//! sets of valuations one by one; `summary` decides large sets that have small diagrams; `sat` finds small proofs among
//! many variables. So `explicit` starts alone, and when it has done some work, the queries that it leaves open go to all: at the same time, if the
//! host allows several threads ([`crate::race`]); or else in turns, each with a larger share of work than the last and each from the beginning,
//! so that all turns together cost a small multiple of what the engine that answers would have needed alone. Shares
//! are counted in the engines' own units of work, not in seconds, so that the same task gets the same answer,
//! with the same trace, however fast the machine is. (A race and turns may have different winners.)
//!
//! Engines search a reduced program, or a translation of one with threads. The listener here brings each trace back
//! to the program as written before the board replays it.

use crate::budget::{Budget, Stopwatch, Tick};
use crate::encode::prepared::Prepared;
use crate::engine::{Engine, Finding, Listener, Unsupported, has_integers, takes};
use crate::evidence::{Evidence, Examined};
use crate::explicit::Explicit;
use crate::race::{Favoured, Race};
use crate::reduce::{Reduced, live, reduce, room};
use crate::sat;
use crate::summary::Summary;
use crate::verdict::{Stats, Verdict, Why};
use crate::verify::{Board, EngineChoice};
use crate::weighted::Weighted;
use postbop_ir::{Bound, Program, Proof, Query, Task, Trace};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard};

/// A program to search, and what its answers mean for the program as written.
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
    /// The name that the answer goes under, if not that of the engine that searched.
    pub credit: Option<&'static str>,
}

/// From a trace of one program to a trace of another.
pub type Back<'a> = dyn Fn(&Trace) -> Result<Trace, Why> + Sync + 'a;

/// Which answers to a question count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counts {
    /// That a property holds, and that it is violated.
    Both,
    /// That it holds. Violations do not count: the program has more runs than the one as written, or a trace with fewer
    /// switches is wanted.
    Holds,
    /// That it is violated. That it holds would be a bug: a violation is known to exist.
    Violations,
    /// That it is violated. If it holds, that is noted as explored: a larger bound may come next.
    Explored,
}

impl<'a> Question<'a> {
    /// The task itself.
    pub fn plain(task: Task<'a>) -> Self {
        let numbers = (0..task.queries.len()).collect();
        Question { task, numbers, back: None, within: task.bound, counts: Counts::Both, credit: None }
    }
}

/// What the first engine may do before the others start, in its own units: so much, and so much per edge of the program.
const TRIAL: (u64, u64) = (100_000, 75);
/// How much a unit counts: of `explicit` an operator that was run, of `summary` a result of an operation on diagrams, of `sat`
/// a step of a solver. That is about what a unit takes; in a program with few variables, where there is little that a proof could leave out, a unit
/// of `sat` counts several times.
const EXPLICIT: u64 = 1;
const SUMMARY: u64 = 2;
const SAT: u64 = 40;
const SAT_AMONG_FEW: u64 = 8 * SAT;
/// What `sat` prepares before its first unit grows with the variables in scope, added up over all locations: a unit for so many bytes, with a bit for
/// each of them.
const IN_SCOPE: u64 = 48;
/// So many variables are few.
const FEW: usize = 16;
/// By which factor the shares grow when every engine had its turn.
const GROWTH: u64 = 4;

/// An engine that may be asked.
#[derive(Clone, Copy)]
struct Candidate<'e> {
    engine: &'e dyn Engine,
    /// How much a unit of its work counts, and what it prepares.
    weight: u64,
    before: u64,
}

impl<'e> Candidate<'e> {
    fn new(engine: &'e dyn Engine, weight: u64) -> Self {
        Candidate { engine, weight, before: 0 }
    }
}

/// Answers a question by an engine, or by several. A question about runs that go on for ever may have to be translated.
pub fn answer(question: &Question, choice: EngineChoice, budget: &Budget, board: &mut Board) {
    match question.task.recurs() {
        true => crate::temporal::answer(question, choice, budget, board),
        false => put(question, choice, budget, board),
    }
}

/// The work that an engine may do on trial.
pub fn trial(program: &Program) -> u64 {
    TRIAL.0 + TRIAL.1 * program.edges().len() as u64
}

/// Puts a question as it is to an engine, or to several.
pub fn put(question: &Question, choice: EngineChoice, budget: &Budget, board: &mut Board) {
    let integers = has_integers(question.task.program);
    let engines: Vec<Candidate> = match choice {
        EngineChoice::Only(engine) => vec![Candidate::new(engine, 1)],
        EngineChoice::Auto if integers => vec![Candidate::new(&Weighted, 1)],
        EngineChoice::Auto => {
            let program = question.task.program;
            let weight = if has_few(program) { SAT_AMONG_FEW } else { SAT };
            let sat =
                Candidate { before: live(program) / IN_SCOPE * weight, ..Candidate::new(&sat::SAT, weight) };
            vec![Candidate::new(&Explicit, EXPLICIT), Candidate::new(&Summary, SUMMARY), sat]
        }
    };
    let engines = willing(question, engines, integers, board);
    let Some(&Candidate { engine: first, .. }) = engines.first() else { return };
    if let Err(why) = budget.allows(room(&question.task)) {
        question.numbers.iter().for_each(|&number| board.unknown(number, why.clone()));
        return;
    }
    // A reduction may leave out steps that go round in circles.
    let reduces = !question.task.recurs() && engines.iter().any(|candidate| candidate.engine.wants().reduced);
    let reduced = reduces.then(|| reduce(&question.task));
    let as_written = Prepared::new(question.task.program);
    let smaller = reduced.as_ref().map(|reduced| (reduced, Prepared::new(reduced.task().program)));
    let board = &Mutex::new(board);
    let ask = |engine: &dyn Engine, budget: &Budget| {
        let smaller = smaller.as_ref().filter(|_| engine.wants().reduced);
        let reduced = smaller.map(|(reduced, _)| *reduced);
        let prepared = smaller.map_or(&as_written, |(_, prepared)| prepared);
        Asked { question, reduced, prepared, engine, budget }.ask(board)
    };
    let over = || lock(board).is_over();
    if let [only] = engines[..] {
        ask(only.engine, budget);
        return;
    }
    let trial = trial(question.task.program);
    if budget.jobs() > 1 {
        let race = Arc::new(Race::new(engines.len(), trial, crowd(question.task.program, engines.len())));
        let run = |runner: usize| {
            let Candidate { engine, weight, before } = engines[runner];
            let share = budget.clone().with_effort(budget.effort() / weight);
            let budget = share.in_race(&race, runner, weight, before);
            ask(engine, &budget);
            budget.gives_up();
        };
        std::thread::scope(|scope| {
            for runner in 1..engines.len() {
                let (race, run) = (&race, &run);
                scope.spawn(move || {
                    if !race.starts(runner) {
                        return;
                    }
                    if are_alike(question, &lock(board)) {
                        race.are_alike();
                    }
                    run(runner);
                });
            }
            run(0);
        });
        // Where the memory was not enough for all it may be enough for one; what that one finds then stands.
        if !over() {
            ask(first, budget);
        }
        return;
    }
    if !ask(first, &budget.clone().with_effort(trial)) || over() || trial >= budget.effort() {
        return;
    }
    let is_full = || {
        let board = lock(board);
        let memory =
            |&number: &usize| matches!(board.answer(number).verdict, Verdict::Unknown(Why::Memory(_)));
        question.numbers.iter().any(memory)
    };
    take_turns(engines, trial, budget, ask, over, is_full);
}

/// Whether answers without a run are the same from every engine: one may still have to find out which guards are reached, which not every engine
/// does.
fn are_alike(question: &Question, board: &Board) -> bool {
    let Question { task, numbers, .. } = question;
    let pairs = task.queries.iter().zip(numbers);
    let mut open = pairs.filter(|(query, number)| query.has_target() && board.is_open(**number));
    open.all(|(_, &number)| board.is_guarded(number))
}

/// Whether a program has few variables.
fn has_few(program: &Program) -> bool {
    program.vars().len() <= FEW
}

/// Who is favoured in a race of so many engines, if there are fewer cores: with few variables the first, which enumerates valuations, and else the
/// last, which finds out which of them matter.
fn crowd(program: &Program, engines: usize) -> Option<Favoured> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let favoured = if has_few(program) { Favoured::First } else { Favoured::Last };
    (engines > cores).then_some(favoured)
}

/// Answers a question by one engine that wants the program as it is, with what was prepared for earlier questions about it.
pub fn answer_by(
    engine: &dyn Engine,
    question: &Question,
    prepared: &Prepared,
    budget: &Budget,
    board: &mut Board,
) {
    if let Err(why) = budget.allows(room(&question.task)) {
        question.numbers.iter().for_each(|&number| board.unknown(number, why.clone()));
    } else if !willing(question, vec![Candidate::new(engine, 1)], has_integers(question.task.program), board)
        .is_empty()
    {
        Asked { question, reduced: None, prepared, engine, budget }.ask(&Mutex::new(board));
    }
}

/// Lets engines work one after the other, round by round with larger shares, until there is nothing left to ask.
fn take_turns(
    mut engines: Vec<Candidate>,
    trial: u64,
    budget: &Budget,
    ask: impl Fn(&dyn Engine, &Budget) -> bool,
    over: impl Fn() -> bool,
    is_full: impl Fn() -> bool,
) {
    let mut share = trial;
    while !engines.is_empty() {
        share = share.saturating_mul(GROWTH);
        let alone = engines.len() == 1;
        let mut last = true;
        // The engine that was on trial has just had its turn.
        engines.rotate_left(1);
        for candidate in std::mem::take(&mut engines) {
            let effort = if alone { u64::MAX } else { share / candidate.weight };
            let budget_of = budget.clone().with_effort(effort);
            last &= budget_of.effort() == budget.effort();
            if !ask(candidate.engine, &budget_of) || over() {
                return;
            }
            // An engine that has filled the memory would only do so again.
            if !is_full() {
                engines.push(candidate);
            }
        }
        if last {
            return;
        }
    }
}

/// The board, which engines share.
type Shared<'b, 'a, 'o> = Mutex<&'b mut Board<'a, 'o>>;

fn lock<'l, 'b, 'a, 'o>(board: &'l Shared<'b, 'a, 'o>) -> MutexGuard<'l, &'b mut Board<'a, 'o>> {
    board.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The engines that take the program, given whether it has unbounded integers; if there is none, every query gets their reasons.
fn willing<'e>(
    question: &Question,
    engines: Vec<Candidate<'e>>,
    integers: bool,
    board: &mut Board,
) -> Vec<Candidate<'e>> {
    let mut refusals = Vec::new();
    let mut willing = Vec::new();
    for candidate in engines {
        match takes(candidate.engine, &question.task, integers) {
            Ok(()) => willing.push(candidate),
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
struct Asked<'q, 'p> {
    question: &'q Question<'q>,
    reduced: Option<&'q Reduced>,
    prepared: &'q Prepared<'p>,
    engine: &'q dyn Engine,
    budget: &'q Budget,
}

impl Asked<'_, '_> {
    /// Asks the open queries. Returns whether there is one left to ask.
    fn ask(&self, board: &Shared) -> bool {
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
