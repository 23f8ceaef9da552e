//! Room `engine`: a question about a sequential program, put to one engine or to several.
//!
//! # Idea
//!
//! Which engine is fastest cannot be told from the program. `explicit` finds short runs at once and decides small
//! sets of valuations one by one; `summary` decides large sets that have small diagrams; `sat` finds small proofs among
//! many variables. So `explicit` starts alone, and when it has done some work, the queries that it leaves open go to all: to `summary` soon and to `sat` later, while the others go on, if the
//! host allows several threads ([`crate::race`]); or else in turns, each with a larger share of work than the last and each from the beginning,
//! so that all turns together cost a small multiple of what the engine that answers would have needed alone. Shares
//! are counted in the engines' own units of work, not in seconds, so that the same task gets the same answer,
//! with the same trace, however fast the machine is. (A race and turns may have different winners.)

use crate::asked::{Asked, Shared, lock};
use crate::budget::Budget;
use crate::encode::prepared::Prepared;
use crate::engine::{Engine, Unsupported, has_integers, takes};
use crate::explicit::Explicit;
use crate::race::{Favoured, Race};
use crate::reduce::{live, reduce, room};
use crate::sat;
use crate::summary::Summary;
use crate::verdict::{Verdict, Why};
use crate::verify::{Board, EngineChoice};
use crate::weighted::Weighted;
use postbop_ir::{Bound, Program, Task, Trace};
use std::sync::{Arc, Mutex};

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

/// What the first engine may do before the others start, in its own units: so much, and so much per edge of the program. Where there are two cores the second
/// engine takes none of the first one's time, and starts earlier.
const TRIAL: (u64, u64) = (100_000, 75);
const HEAD_START: (u64, u64) = (30_000, 8);
/// A program of so few edges may be done after so much work of the first engine, before it is worth while to start threads for the others.
const GLANCE: (usize, u64) = (500, 4_000);
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
    per_edge(TRIAL, program)
}

/// So much, and so much for each edge of a program.
fn per_edge((all, each): (u64, u64), program: &Program) -> u64 {
    all + each * program.edges().len() as u64
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
        let is_small = question.task.program.edges().len() <= GLANCE.0;
        if is_small && (!ask(first, &budget.clone().with_effort(GLANCE.1)) || over()) {
            return;
        }
        race(question, &engines, trial, budget, board, ask);
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

/// Lets engines work at the same time, the first for a while alone.
fn race(
    question: &Question,
    engines: &[Candidate],
    trial: u64,
    budget: &Budget,
    board: &Shared,
    ask: impl Fn(&dyn Engine, &Budget) -> bool + Sync,
) {
    let head_start = per_edge(HEAD_START, question.task.program);
    let leads: Vec<u64> = (1..engines.len()).map(|at| if at == 1 { head_start } else { trial }).collect();
    let race = Arc::new(Race::new(&leads, crowd(question.task.program, engines.len())));
    let run = |runner: usize| {
        let Candidate { engine, weight, mut before } = engines[runner];
        // Work counts from when the second engine starts.
        before += leads.get(runner.wrapping_sub(1)).map_or(0, |lead| lead - head_start);
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
