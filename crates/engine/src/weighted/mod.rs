//! Room `engine/weighted`: programs as weighted pushdown systems, with unbounded integers and without.
//!
//! # Idea
//!
//! A program is a pushdown system whose rules carry relations between valuations (`system`, `weight`). Saturation finds all
//! configurations that can be reached, with their valuations, and causes from which runs are found again (`trace`, `outcomes`).
//!
//! Relations are diagrams of one of two kinds (`sets`). With number decision diagrams integers need no bound; what is bounded is bits of the same
//! diagrams (`registers`, `formula`). A program in which everything is bounded has binary decision diagrams.
//!
//! In a large program with unbounded integers a few runs are made at random first (`sample`): many mistakes show in almost every run.
//!
//! With unbounded integers saturation need not end. Loops that add constants are taken any number of times at once (`rounds`); and in turn with exact saturation, with
//! growing shares of work, it is tried with guesses that are inductive or grow (`guess`), which can show that a location is not
//! reached, and never that it is. What neither decides ends with the budget.
//!
//! The same saturation, started in any procedure with any valuation, finds what that procedure does ([`summary`](summary()), `cases`).
//!
//! # Paper
//!
//! \[ndd-moped\]; with binary decision diagrams this is the Moped that it starts from.
//!
//! # Cost
//!
//! Saturation hands every increase of a relation on along all rules that apply, so a loop whose rounds are all different costs a composition for each round. The order of
//! columns stays as it is from the beginning to the end.

mod backwards;
mod cases;
mod formula;
mod guess;
mod hull;
mod order;
mod outcomes;
mod proof;
mod registers;
mod rounds;
mod sample;
mod sets;
mod stack_rules;
mod summary;
mod symbolic;
mod system;
mod trace;
mod weight;

pub use cases::Constraint;
pub use postbop_kit::ndd::Compare;
pub use summary::{Described, Extent, Summary, summary};
pub use symbolic::{Carried, Symbolics, symbolic};

use crate::budget::{Budget, Meter, Stopwatch};
use crate::encode::prepared::Prepared;
use crate::encode::targets::TargetTracker;
use crate::engine::{Cycles, Engine, Finding, Listener, Unsupported, Wants, may_tell};
use crate::pulse::Pulse;
use crate::verdict::{Stats, Why};
use formula::Refused;
use guess::{Guess, Guessing};
use order::{Order, order};
use postbop_ir::{Expr, Op, ProcId, Program, Proof, Proofs, Task, Type};
use postbop_kit::ndd::Ndds;
use postbop_kit::pushdown::{Automaton, Domain, Saturation, System, Transition, Watch};
use registers::{Register, Registers};
use sets::{Bdds, Sets};
use std::cell::Cell;
use std::rc::Rc;
use system::Model;
use weight::{Calls, Relations, Stop, Weight};

/// Diagrams are walked to a depth of a few calls for each slot.
const MOST_SLOTS: u64 = 1000;

/// Unless proofs are asked for, one may take this much work, and one part in so many of what the search took.
const LITTLE: u64 = 5_000;
const PARTS: u64 = 32;

/// In programs with so many edges a few runs are made at random first.
const MANY_EDGES: usize = 1000;

/// The engine.
pub struct Weighted;

impl Engine for Weighted {
    fn name(&self) -> &'static str {
        "weighted"
    }

    fn wants(&self) -> Wants {
        Wants { reduced: true, threads: false, integers: true, cycles: Cycles::Translated }
    }

    fn supports(&self, task: &Task) -> Result<(), Unsupported> {
        if task.shortest() {
            return Err(Unsupported(
                "shortest traces with `weighted`; `summary` and `explicit` give them".into(),
            ));
        }
        match Registers::needed(task.program) {
            slots if slots > MOST_SLOTS && has_integers(task.program) => Err(Unsupported(format!(
                "{slots} bits and integers in one procedure with `weighted`, which takes {MOST_SLOTS}"
            ))),
            _ => Ok(()),
        }
    }

    fn check(&self, task: &Task, _: &Prepared, budget: &Budget, listener: &mut dyn Listener) -> Stats {
        let pulse = Pulse::new(listener);
        let beat = |work| pulse.beat(work);
        let meter = Meter::new(budget, &beat);
        let share = Share { left: Cell::new(u64::MAX), meter: &meter };
        let (writing, room) = (Cell::new(false), Cell::new(u64::MAX));
        let may_write = |work: u64| {
            room.set(room.get().saturating_sub(work));
            writing.get().then(|| room.get() > 0 && budget.check_writing().is_ok())
        };
        let spend = |work| may_write(work).unwrap_or_else(|| share.goes_on(work));
        let answer = Answer {
            task,
            budget,
            pulse: &pulse,
            meter: &meter,
            spend: &spend,
            writing: &writing,
            room: &room,
        };
        match has_integers(task.program) {
            true => {
                if let Some(stats) = answer.by_luck() {
                    return stats;
                }
                let run = |search: &mut Search<Ndds>| match search.may_go_on_for_ever {
                    true => search.in_turns(&share),
                    false => search.exhaust(&meter),
                };
                answer.with(&Ndds::new(&spend), run, |search| search.proof())
            }
            false => {
                let goes_on = |bytes| may_write(0).unwrap_or_else(|| meter.allows(bytes));
                let prove = |search: &Search<Bdds>| search.proof(budget);
                answer.with(&Bdds::new(goes_on), |search| search.exhaust(&meter), prove)
            }
        }
    }
}

/// Whether a program has unbounded integers.
fn has_integers(program: &Program) -> bool {
    let results = program.procs().iter().flat_map(|proc| proc.results.iter().copied());
    program.vars().iter().map(|var| var.ty).chain(results).any(|ty| ty == Type::Integer)
        || program.edges().iter().any(|edge| edge.action.exprs().any(mentions_integers))
}

/// Whether an expression has a part that is an unbounded integer, though no variable is.
fn mentions_integers(expr: &Expr) -> bool {
    expr.code.iter().any(|op| matches!(op, Op::Const(Type::Integer, _) | Op::Choice(Type::Integer)))
}

/// A task that is being answered.
struct Answer<'e> {
    task: &'e Task<'e>,
    budget: &'e Budget,
    pulse: &'e Pulse<'e>,
    meter: &'e Meter<'e>,
    /// Counts work that diagrams do not ask about, and says whether it may go on.
    spend: &'e dyn Fn(u64) -> bool,
    /// Whether traces are being written, for which there is some more room.
    writing: &'e Cell<bool>,
    /// How much work there may still be while a proof is written.
    room: &'e Cell<u64>,
}

impl Answer<'_> {
    /// Answers all queries by runs at random, if these come to all targets. In a small program a search takes no longer, and leaves open what does
    /// not matter.
    fn by_luck(&self) -> Option<Stats> {
        if self.task.program.edges().len() < MANY_EDGES {
            return None;
        }
        let mut stopwatch = Stopwatch::start();
        let (tracker, traces) = sample::sample(self.task, self.spend)?;
        let mut pulse = self.pulse;
        if may_tell(None, true, self.meter.work(), self.budget) {
            tracker.tell(None, |at| Ok(traces[at].clone()), &mut pulse);
        }
        stopwatch.lap("sample_us");
        let mut stats = Stats::from([("work", self.meter.work())]);
        stats.extend(stopwatch.laps());
        Some(stats)
    }

    /// Answers with sets of some kind, after a search that says why it was stopped, if it was, with a proof if there is one.
    fn with<S: Sets>(
        &self,
        store: &S,
        run: impl FnOnce(&mut Search<S>) -> Option<Why>,
        prove: impl FnOnce(&Search<S>) -> Option<Proof>,
    ) -> Stats {
        let Answer { task, budget, meter, mut pulse, .. } = *self;
        let mut stopwatch = Stopwatch::start();
        let mut model = Model::new(task.program, store);
        let system = match model.rules() {
            Ok(system) => system,
            Err(refused) => {
                refuse(task, refused, meter, budget, &mut pulse);
                return Stats::default();
            }
        };
        stopwatch.lap("prepare_us");
        let mut search = Search::new(task, &model, &system, self.spend);
        let stopped = run(&mut search);
        stopwatch.lap("search_us");
        let tells = may_tell(stopped.as_ref(), search.tracker.found(), meter.work(), budget);
        self.writing.set(tells);
        if tells && search.tracker.has_seen_all(stopped.as_ref()) {
            if task.proofs != Proofs::Kept {
                self.room.set(LITTLE + meter.work() / PARTS);
            }
            if let Some(proof) = prove(&search) {
                pulse.proof(proof);
            }
            self.room.set(u64::MAX);
            stopwatch.lap("proof_us");
        }
        let Search { exact, tracker, scopes, guesses, grown, .. } = search;
        if tells {
            let relations = relations(&model, &scopes);
            let write = |reached: Transition| {
                let Transition { from, symbol, to } = reached;
                let number = exact.automaton.number(from, symbol, to).expect("it was reached");
                let why = || budget.check_writing().err().unwrap_or_else(|| meter.why());
                trace::trace(&model, &relations, &exact, number, budget, why)
            };
            tracker.tell(stopped, write, &mut pulse);
        }
        stopwatch.lap("trace_us");
        let largest = exact.automaton.transitions().map(|(_, weight)| store.size(&weight.set)).max();
        let mut stats = Stats::from([
            ("rules", system.rules().len() as u64),
            ("loops", model.rounds.len() as u64),
            ("transitions", exact.automaton.transitions().len() as u64),
            ("increments", grown),
            ("guesses", guesses),
            ("largest_diagram", largest.unwrap_or(0) as u64),
            ("work", meter.work()),
        ]);
        stats.extend(stopwatch.laps());
        stats
    }
}

/// Tells that no relations were made.
fn refuse(task: &Task, refused: Refused, meter: &Meter, budget: &Budget, listener: &mut dyn Listener) {
    let why = match refused {
        Refused::Interrupted => meter.why(),
        Refused::TooLarge => Why::Unsupported("constants that do not fit 64 bits".into()),
    };
    if may_tell(Some(&why), false, meter.work(), budget) {
        (0..task.queries.len()).for_each(|query| listener.settle(query, Finding::Unknown(why.clone())));
    }
}

/// A share of the work that is allowed.
struct Share<'s, 'b> {
    left: Cell<u64>,
    meter: &'s Meter<'b>,
}

impl Share<'_, '_> {
    fn goes_on(&self, work: u64) -> bool {
        let allowed = self.meter.goes_on(work);
        let left = self.left.get();
        self.left.set(left.saturating_sub(work));
        allowed && left > work
    }

    /// Whether only the share was used up.
    fn is_spent(&self) -> bool {
        self.left.get() == 0
    }
}

/// Relations without guesses, for what procedures are called with.
fn relations<'r, S: Sets>(model: &'r Model<'r, S>, scopes: &'r [Vec<Register>]) -> Relations<'r, S> {
    Relations { store: model.store(), registers: &model.registers, scopes, calls: Calls::Restricted }
}

/// Saturation: exact, and of unbounded integers in turn with that for every call, and with guesses.
struct Search<'s, S: Sets> {
    model: &'s Model<'s, S>,
    system: &'s System<Weight<S::Set>>,
    scopes: Vec<Vec<Register>>,
    order: Rc<[u32]>,
    /// For each symbol whether cycles of dependencies pass there.
    heads: Vec<bool>,
    /// Whether there are such cycles at all. Without them exact saturation ends, and guesses would be in its way.
    may_go_on_for_ever: bool,
    exact: Saturation<Weight<S::Set>>,
    /// Saturation with guesses, if that was the end.
    guessed: Option<Saturation<Weight<S::Set>>>,
    tracker: TargetTracker<Transition>,
    task: &'s Task<'s>,
    spend: &'s dyn Fn(u64) -> bool,
    guesses: u64,
    grown: u64,
}

/// The work of the first turn, and by which factor turns grow.
const FIRST_TURN: u64 = 200_000;
const GROWTH: u64 = 3;

impl<'s, S: Sets> Search<'s, S> {
    fn new(
        task: &'s Task<'s>,
        model: &'s Model<'s, S>,
        system: &'s System<Weight<S::Set>>,
        spend: &'s dyn Fn(u64) -> bool,
    ) -> Self {
        let Order { places, heads, cyclic } = order(model);
        Search {
            model,
            system,
            scopes: model.entries(),
            order: places,
            heads,
            may_go_on_for_ever: cyclic,
            exact: start(model, model.program.main()),
            guessed: None,
            tracker: TargetTracker::new(task),
            task,
            spend,
            guesses: 0,
            grown: 0,
        }
    }

    fn watcher(&self, tracker: TargetTracker<Transition>) -> Watcher<'s, S> {
        Watcher {
            model: self.model,
            order: Rc::clone(&self.order),
            tracker,
            spend: self.spend,
            grown: 0,
            turns: 0,
        }
    }

    /// Goes on with exact saturation.
    fn go_on(&mut self) -> Result<(), Stop> {
        loop {
            let tracker = std::mem::replace(&mut self.tracker, TargetTracker::new(self.task));
            let mut watcher = self.watcher(tracker);
            let relations = &mut relations(self.model, &self.scopes);
            let outcome = self.exact.run(relations, self.system, &mut watcher);
            self.tracker = watcher.tracker;
            self.grown += watcher.grown;
            if outcome != Err(Stop::Full) {
                return outcome;
            }
            let rules = self.system.rules().iter().map(|rule| &rule.weight);
            self.model.store().keep(rules.chain(self.exact.weights()).map(|weight| &weight.set));
        }
    }

    /// Goes on until every query is decided; or why it was stopped before.
    fn exhaust(&mut self, meter: &Meter) -> Option<Why> {
        match self.go_on() {
            Ok(()) | Err(Stop::Over) => None,
            Err(_) => Some(meter.why()),
        }
    }
}

impl<'a> Search<'_, Ndds<'a>> {
    /// Goes on, in turn with guesses, until every query is decided; or why it was stopped before.
    fn in_turns(&mut self, share: &Share) -> Option<Why> {
        let thresholds = guess::thresholds(self.task.program);
        let mut turn = FIRST_TURN;
        for delay in 2.. {
            share.left.set(turn);
            match self.go_on() {
                Ok(()) | Err(Stop::Over) => return None,
                Err(_) if !share.is_spent() => return Some(share.meter.why()),
                Err(_) => {}
            }
            for calls in [Calls::Restricted, Calls::Unrestricted] {
                share.left.set(turn);
                if self.is_closed(calls, delay, &thresholds) {
                    return None;
                }
                if !share.meter.goes_on(0) {
                    return Some(share.meter.why());
                }
            }
            turn = turn.saturating_mul(GROWTH);
        }
        None
    }

    /// Saturates with guesses, from the beginning. Whether it ended without reaching a target that was not reached exactly: then
    /// no run reaches one.
    fn is_closed(&mut self, calls: Calls, delay: u32, thresholds: &[i64]) -> bool {
        self.guesses += 1;
        let guess = Guess { symbols: &self.heads, thresholds, delay };
        let relations = Relations { calls, ..relations(self.model, &self.scopes) };
        let mut saturation = start(self.model, self.model.program.main());
        let mut watcher = self.watcher(TargetTracker::new(self.task));
        let ended = saturation.run(&mut Guessing { relations, guess }, self.system, &mut watcher) == Ok(());
        let guessed = watcher.tracker;
        let closed = ended && self.tracker.open().all(|query| guessed.open().any(|other| other == query));
        if closed {
            self.tracker.doubt(&guessed);
            self.guessed = Some(saturation);
        }
        closed
    }
}

/// A procedure at its start, with nothing below it on the stack, which ends at state 1.
fn start<S: Sets>(model: &Model<S>, proc: ProcId) -> Saturation<Weight<S::Set>> {
    let mut start = Automaton::new(1);
    let end = start.state();
    start.accept(end);
    let nothing = Weight::new(model.store().constant(true), [].into());
    start.transition(0, Some(model.entering(proc)), end, nothing);
    Saturation::new(start)
}

/// Sees which locations are reached, and decides which transition is next.
struct Watcher<'w, S: Sets> {
    model: &'w Model<'w, S>,
    order: Rc<[u32]>,
    tracker: TargetTracker<Transition>,
    spend: &'w dyn Fn(u64) -> bool,
    grown: u64,
    turns: u64,
}

/// How much work a turn is, besides that of its diagrams, and how many turns there are between two questions whether to go on.
const TURN: u64 = 64;
const TURNS: u64 = 256;

/// So many increments of a transition count as one when transitions are ranked.
const PATIENCE: usize = 4;

/// Locations in the order of control flow, callees first; but a transition that grows again and again has to wait for the others.
fn rank(order: &[u32], transition: Transition, increments: usize) -> u64 {
    let place = transition.symbol.and_then(|symbol| order.get(symbol as usize)).copied();
    ((increments / PATIENCE) as u64) << 32 | u64::from(place.unwrap_or(0))
}

impl<S: Sets, D: Domain<Stop = Stop>> Watch<D> for Watcher<'_, S> {
    fn rank(&self, transition: Transition, increments: usize) -> u64 {
        rank(&self.order, transition, increments)
    }

    fn turn(&mut self, _: Transition) -> Result<(), Stop> {
        self.turns += 1;
        if self.turns.is_multiple_of(TURNS) && !(self.spend)(TURNS * TURN) {
            return Err(Stop::Interrupted);
        }
        if self.model.store().is_full() { Err(Stop::Full) } else { Ok(()) }
    }

    fn grown(&mut self, transition: Transition) -> Result<(), Stop> {
        self.grown += 1;
        let symbol = transition.symbol.filter(|_| transition.from == 0);
        if let Some(loc) = symbol.and_then(|symbol| self.model.loc(symbol)) {
            self.tracker.reach(loc, &transition);
            if self.tracker.is_over() {
                return Err(Stop::Over);
            }
        }
        Ok(())
    }
}
