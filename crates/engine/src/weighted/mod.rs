//! Room `engine/weighted`: programs with unbounded integers, by weighted pushdown systems.
//!
//! # Idea
//!
//! A program is a pushdown system whose rules carry relations between valuations ([`system`], [`weight`]). Relations are number decision
//! diagrams, so integers need no bound; what is bounded is bits of the same diagrams ([`registers`], [`formula`]). Saturation finds all
//! configurations that can be reached, with their valuations. With unbounded integers it need not end; then the budget ends it.
//!
//! # Paper
//!
//! \[ndd-moped\].

mod formula;
mod registers;
mod system;
mod trace;
mod weight;

use crate::budget::{Budget, Meter, Stopwatch, Tick};
use crate::encode::prepared::Prepared;
use crate::encode::targets::TargetTracker;
use crate::engine::{Engine, Finding, Listener, Unsupported, Wants, may_tell};
use crate::verdict::{Stats, Why};
use formula::Refused;
use postbop_ir::{Program, Task};
use postbop_kit::ndd::Ndds;
use postbop_kit::pushdown::{Automaton, Domain, Saturation, Transition, Watch};
use registers::Registers;
use system::Model;
use weight::{Calls, Relations, Stop};

/// Diagrams are walked to a depth of a few calls for each slot.
const MOST_SLOTS: u32 = 4000;

/// The engine.
pub struct Weighted;

impl Engine for Weighted {
    fn name(&self) -> &'static str {
        "weighted"
    }

    fn wants(&self) -> Wants {
        Wants { reduced: true, threads: false, integers: true, cycles: false }
    }

    fn supports(&self, task: &Task) -> Result<(), Unsupported> {
        if task.shortest() {
            return Err(Unsupported(
                "shortest traces with `weighted`; `summary` and `explicit` give them".into(),
            ));
        }
        match Registers::new(task.program).slots() {
            slots if slots > MOST_SLOTS => Err(Unsupported(format!(
                "{slots} bits and integers with `weighted`, which takes {MOST_SLOTS}"
            ))),
            _ => Ok(()),
        }
    }

    fn check(&self, task: &Task, _: &Prepared, budget: &Budget, listener: &mut dyn Listener) -> Stats {
        let mut stopwatch = Stopwatch::start();
        let meter = Meter::new(budget);
        let goes_on = |work| meter.goes_on(work);
        let store = Ndds::new(&goes_on);
        let mut model = Model::new(task.program, &store);
        let system = match model.rules() {
            Ok(system) => system,
            Err(refused) => {
                let why = match refused {
                    Refused::Interrupted => meter.why(),
                    Refused::TooLarge => Why::Unsupported("constants that do not fit 64 bits".into()),
                };
                let tell = may_tell(Some(&why), meter.work(), budget);
                (0..task.queries.len())
                    .filter(|_| tell)
                    .for_each(|query| listener.settle(query, Finding::Unknown(why.clone())));
                return Stats::default();
            }
        };
        stopwatch.lap("prepare_us");
        let scopes = model.entries();
        let mut relations = Relations {
            store: &store,
            registers: &model.registers,
            scopes: &scopes,
            calls: Calls::Restricted,
        };
        let mut start = Automaton::new(1);
        let end = start.state();
        start.accept(end);
        let one = relations.one();
        start.transition(0, Some(model.entering(task.program.main())), end, one);
        let mut saturation = Saturation::new(start);
        let order = order(task.program);
        let mut watcher =
            Watcher { model: &model, order: &order, tracker: TargetTracker::new(task), listener, grown: 0 };
        let outcome = saturation.run(&mut relations, &system, &mut watcher);
        let Watcher { tracker, grown, .. } = watcher;
        let stopped = match outcome {
            Ok(()) | Err(Stop::Over) => None,
            Err(Stop::Interrupted) => Some(meter.why()),
        };
        stopwatch.lap("search_us");
        if may_tell(stopped.as_ref(), meter.work(), budget) {
            let write = |reached: Transition| {
                let Transition { from, symbol, to } = reached;
                let number = saturation.automaton.number(from, symbol, to).expect("it was reached");
                trace::trace(&model, &relations, &saturation, number, budget, || meter.why())
            };
            tracker.tell(stopped, write, listener);
        }
        stopwatch.lap("trace_us");
        let largest = saturation.automaton.transitions().map(|(_, weight)| weight.set.size()).max();
        let mut stats = Stats::from([
            ("rules", system.rules().len() as u64),
            ("transitions", saturation.automaton.transitions().len() as u64),
            ("increments", grown),
            ("largest_diagram", largest.unwrap_or(0) as u64),
            ("work", meter.work()),
        ]);
        stats.extend(stopwatch.laps());
        stats
    }
}

/// Sees which locations are reached, and decides which transition is next.
struct Watcher<'w, 'a> {
    model: &'w Model<'w, 'a>,
    order: &'w [u32],
    tracker: TargetTracker<Transition>,
    listener: &'w mut dyn Listener,
    grown: u64,
}

/// So many increments of a transition count as one when transitions are ranked.
const PATIENCE: usize = 4;

impl<'r, 'a> Watch<Relations<'r, 'a>> for Watcher<'_, '_> {
    /// Locations in the order of control flow, callees first; but a transition that grows again and again has to wait for the others.
    fn rank(&self, transition: Transition, increments: usize) -> u64 {
        let place = transition.symbol.and_then(|symbol| self.order.get(symbol as usize)).copied();
        ((increments / PATIENCE) as u64) << 32 | u64::from(place.unwrap_or(0))
    }

    fn grown(&mut self, transition: Transition) -> Result<(), Stop> {
        self.grown += 1;
        if self.grown % 64 == 0 {
            self.listener.progress(Tick { unit: "increments", done: self.grown });
        }
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
/// loops.
fn order(program: &Program) -> Vec<u32> {
    let mut place = vec![0; program.locs().len()];
    let callees = program.callees();
    let calls: Vec<Vec<u32>> = callees.iter().map(|list| list.iter().map(|proc| proc.0).collect()).collect();
    let mut next = 0;
    for component in postbop_kit::scc::components(calls.len(), |proc| &calls[proc]) {
        for proc in component {
            let mut finished = Vec::new();
            let mut seen = std::collections::HashSet::new();
            let entry = program.procs()[postbop_ir::ProcId(proc)].entry;
            let mut stack = vec![(entry, 0)];
            seen.insert(entry);
            while let Some((loc, at)) = stack.last_mut() {
                match program.leaving(*loc).get(*at) {
                    Some(&edge) => {
                        *at += 1;
                        let to = program.edges()[edge].to;
                        if seen.insert(to) {
                            stack.push((to, 0));
                        }
                    }
                    None => {
                        finished.push(*loc);
                        stack.pop();
                    }
                }
            }
            for loc in finished.into_iter().rev() {
                place[loc.0 as usize] = next;
                next += 1;
            }
        }
    }
    place
}
