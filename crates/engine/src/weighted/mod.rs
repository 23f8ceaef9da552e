//! Room `engine/weighted`: programs with unbounded integers, by weighted pushdown systems.
//!
//! # Idea
//!
//! A program is a pushdown system whose rules carry relations between valuations (`system`, `weight`). Relations are number decision
//! diagrams, so integers need no bound; what is bounded is bits of the same diagrams (`registers`, `formula`). Saturation finds all
//! configurations that can be reached, with their valuations, and causes from which runs are found again (`trace`).
//!
//! With unbounded integers saturation need not end. Loops that add constants are taken any number of times at once (`rounds`); and in turn with exact saturation, with
//! growing shares of work, it is tried with guesses that are inductive or grow (`guess`), which can show that a location is not
//! reached, and never that it is. What neither decides ends with the budget.
//!
//! The same saturation, started in any procedure with any valuation, finds what that procedure does ([`summary`](summary()), `cases`).
//!
//! # Paper
//!
//! \[ndd-moped\].

mod cases;
mod formula;
mod guess;
mod hull;
mod registers;
mod rounds;
mod summary;
mod system;
mod trace;
mod weight;

pub use cases::Constraint;
pub use postbop_kit::ndd::Compare;
pub use summary::{Described, Extent, Summary, summary};

use crate::budget::{Budget, Meter, Stopwatch};
use crate::encode::prepared::Prepared;
use crate::encode::targets::TargetTracker;
use crate::engine::{Cycles, Engine, Finding, Listener, Unsupported, Wants, may_tell};
use crate::pulse::Pulse;
use crate::verdict::{Stats, Why};
use formula::Refused;
use guess::Guess;
use postbop_ir::{EdgeId, LocId, ProcId, Task};
use postbop_kit::ndd::Ndds;
use postbop_kit::pushdown::{Automaton, Saturation, System, Transition, Watch};
use registers::{Register, Registers};
use rustc_hash::FxHashMap as HashMap;
use std::cell::Cell;
use system::Model;
use weight::{Calls, Relations, Stop, Weight};

/// Diagrams are walked to a depth of a few calls for each slot.
const MOST_SLOTS: u64 = 1000;

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
            slots if slots > MOST_SLOTS => Err(Unsupported(format!(
                "{slots} bits and integers with `weighted`, which takes {MOST_SLOTS}"
            ))),
            _ => Ok(()),
        }
    }

    fn check(&self, task: &Task, _: &Prepared, budget: &Budget, listener: &mut dyn Listener) -> Stats {
        let mut stopwatch = Stopwatch::start();
        let pulse = Pulse::new(listener);
        let beat = |work| pulse.beat(work);
        let meter = Meter::new(budget, &beat);
        let share = Share { left: Cell::new(u64::MAX), meter: &meter };
        let goes_on = |work| share.goes_on(work);
        let store = Ndds::new(&goes_on);
        let mut model = Model::new(task.program, &store);
        let system = match model.rules() {
            Ok(system) => system,
            Err(refused) => {
                refuse(task, refused, &meter, budget, &mut &pulse);
                return Stats::default();
            }
        };
        stopwatch.lap("prepare_us");
        let mut search = Search::new(task, &model, &system);
        let stopped = search.run(&share);
        stopwatch.lap("search_us");
        let Search { exact, tracker, scopes, guesses, grown, .. } = search;
        if may_tell(stopped.as_ref(), tracker.found(), meter.work(), budget) {
            share.left.set(u64::MAX);
            let relations = relations(&model, &scopes);
            let write = |reached: Transition| {
                let Transition { from, symbol, to } = reached;
                let number = exact.automaton.number(from, symbol, to).expect("it was reached");
                let why = || budget.check_writing().err().unwrap_or_else(|| meter.why());
                trace::trace(&model, &relations, &exact, number, budget, why)
            };
            tracker.tell(stopped, write, &mut &pulse);
        }
        stopwatch.lap("trace_us");
        let largest = exact.automaton.transitions().map(|(_, weight)| weight.set.size()).max();
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
fn relations<'r, 'a>(model: &'r Model<'r, 'a>, scopes: &'r [Vec<Register>]) -> Relations<'r, 'a> {
    let (store, registers) = (model.store(), &model.registers);
    Relations { store, registers, scopes, calls: Calls::Restricted, guess: None }
}

/// Saturation: exact, and in turn with that for every call, and with guesses.
struct Search<'s, 'a> {
    model: &'s Model<'s, 'a>,
    system: &'s System<Weight>,
    scopes: Vec<Vec<Register>>,
    order: Vec<u32>,
    /// For each symbol whether cycles of dependencies pass there.
    heads: Vec<bool>,
    thresholds: Vec<i64>,
    exact: Saturation<Weight>,
    tracker: TargetTracker<Transition>,
    task: &'s Task<'s>,
    guesses: u64,
    grown: u64,
}

/// The work of the first turn, and by which factor turns grow.
const FIRST_TURN: u64 = 200_000;
const GROWTH: u64 = 3;

impl<'s, 'a> Search<'s, 'a> {
    fn new(task: &'s Task<'s>, model: &'s Model<'s, 'a>, system: &'s System<Weight>) -> Self {
        let (order, heads) = order(model);
        Search {
            model,
            system,
            scopes: model.entries(),
            order,
            heads,
            thresholds: guess::thresholds(task.program),
            exact: start(model, model.program.main()),
            tracker: TargetTracker::new(task),
            task,
            guesses: 0,
            grown: 0,
        }
    }

    /// Goes on until every query is decided; or why it was stopped before.
    fn run(&mut self, share: &Share) -> Option<Why> {
        let mut turn = FIRST_TURN;
        for delay in 2.. {
            share.left.set(turn);
            let relations = &mut relations(self.model, &self.scopes);
            let tracker = std::mem::replace(&mut self.tracker, TargetTracker::new(self.task));
            let mut watcher = Watcher { model: self.model, order: &self.order, tracker, grown: self.grown };
            let outcome = self.exact.run(relations, self.system, &mut watcher);
            (self.tracker, self.grown) = (watcher.tracker, watcher.grown);
            match outcome {
                Ok(()) | Err(Stop::Over) => return None,
                Err(Stop::Interrupted) if !share.is_spent() => return Some(share.meter.why()),
                Err(Stop::Interrupted) => {}
            }
            for calls in [Calls::Restricted, Calls::Unrestricted] {
                share.left.set(turn);
                if self.is_closed(calls, delay) {
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
    fn is_closed(&mut self, calls: Calls, delay: u32) -> bool {
        self.guesses += 1;
        let guess = Guess { symbols: &self.heads, thresholds: &self.thresholds, delay };
        let relations = &mut Relations { calls, guess: Some(guess), ..relations(self.model, &self.scopes) };
        let mut saturation = start(self.model, self.model.program.main());
        let tracker = TargetTracker::new(self.task);
        let mut watcher = Watcher { model: self.model, order: &self.order, tracker, grown: 0 };
        let ended = saturation.run(relations, self.system, &mut watcher) == Ok(());
        let guessed = watcher.tracker;
        let closed = ended && self.tracker.open().all(|query| guessed.open().any(|other| other == query));
        if closed {
            self.tracker.doubt(&guessed);
        }
        closed
    }
}

/// A procedure at its start, with nothing below it on the stack, which ends at state 1.
fn start(model: &Model, proc: ProcId) -> Saturation<Weight> {
    let mut start = Automaton::new(1);
    let end = start.state();
    start.accept(end);
    let nothing = Weight::new(model.store().constant(true), [].into());
    start.transition(0, Some(model.entering(proc)), end, nothing);
    Saturation::new(start)
}

/// Sees which locations are reached, and decides which transition is next.
struct Watcher<'w, 'a> {
    model: &'w Model<'w, 'a>,
    order: &'w [u32],
    tracker: TargetTracker<Transition>,
    grown: u64,
}

/// So many increments of a transition count as one when transitions are ranked.
const PATIENCE: usize = 4;

/// Locations in the order of control flow, callees first; but a transition that grows again and again has to wait for the others.
fn rank(order: &[u32], transition: Transition, increments: usize) -> u64 {
    let place = transition.symbol.and_then(|symbol| order.get(symbol as usize)).copied();
    ((increments / PATIENCE) as u64) << 32 | u64::from(place.unwrap_or(0))
}

impl<'r, 'a> Watch<Relations<'r, 'a>> for Watcher<'_, '_> {
    fn rank(&self, transition: Transition, increments: usize) -> u64 {
        rank(self.order, transition, increments)
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

/// For each location its place in an order in which callees come before callers, and locations after those that lead to them, but for
/// loops; and for each symbol whether it is the head of a loop, or starts a procedure.
fn order(model: &Model) -> (Vec<u32>, Vec<bool>) {
    let program = model.program;
    let mut place = vec![0; program.locs().len()];
    let mut heads = vec![false; model.back(EdgeId(0)) as usize];
    let callees = program.callees();
    let calls: Vec<Vec<u32>> = callees.iter().map(|list| list.iter().map(|proc| proc.0).collect()).collect();
    let mut next = 0;
    for proc in postbop_kit::scc::components(calls.len(), |proc| &calls[proc]).concat() {
        heads[model.entering(ProcId(proc)) as usize] = true;
        let entry = program.procs()[ProcId(proc)].entry;
        let mut finished = Vec::new();
        // Whether a location is on the way from the entry to where the walk is, or finished.
        let mut on_way: HashMap<LocId, bool> = HashMap::from_iter([(entry, true)]);
        let mut stack = vec![(entry, 0)];
        while let Some((loc, at)) = stack.last_mut() {
            let loc = *loc;
            match program.leaving(loc).get(*at) {
                Some(&edge) => {
                    *at += 1;
                    let to = program.edges()[edge].to;
                    match on_way.get(&to) {
                        Some(on_way) => heads[to.0 as usize] |= on_way,
                        None => {
                            on_way.insert(to, true);
                            stack.push((to, 0));
                        }
                    }
                }
                None => {
                    on_way.insert(loc, false);
                    finished.push(loc);
                    stack.pop();
                }
            }
        }
        for loc in finished.into_iter().rev() {
            place[loc.0 as usize] = next;
            next += 1;
        }
    }
    (place, heads)
}
