//! Room `engine/weighted`: the configurations that a pushdown system with variables reaches, or from which others are reached, as automata whose transitions carry
//! relations.
//!
//! # Idea
//!
//! Forwards, a transition relates the values with which the activation on its right was entered to those at this point: of the
//! top, the present ones; below, those with which the activation on its left was entered, and the locals that are saved there. Backwards, it relates
//! the present values to the globals when the symbol that it reads was removed. A stack with its values is accepted if along its transitions these values fit
//! together.
//!
//! Every value is bounded, so relations are binary decision diagrams. To be told as constraints they become number
//! decision diagrams; a set for which that is too much work is told by some members.

use super::backwards::Backwards;
use super::registers::{Register, Time, width_of};
use super::sets::{Bdds, Sets};
use super::stack_rules::{Given, StackRules};
use super::summary::{Described, Shown, described};
use super::weight::{Relations, Stop, Weight};
use super::{MOST_SLOTS, PATIENCE, Share, TURN, TURNS};
use crate::budget::{Budget, Meter};
use crate::configurations::Direction;
use crate::verdict::Why;
use postbop_front::plain::Symbolic;
use postbop_kit::bdd::Ref;
use postbop_kit::ndd::{Interrupted, Ndds};
use postbop_kit::pushdown::{Automaton, BackwardSaturation, Saturation, Symbol, System, Transition, Watch};
use rustc_hash::FxHashMap as HashMap;
use std::cell::Cell;

/// The most work that is spent on describing one set.
const TELLING: u64 = 2_000_000;

/// A transition.
#[derive(Clone, Debug)]
pub struct Carried {
    /// The state on its left.
    pub from: String,
    /// What it reads, if it reads something.
    pub symbol: Option<String>,
    /// The state on its right.
    pub to: String,
    /// For which values it is there. Values with a prime are those at this point (forwards), or after the removal (backwards), of what changes;
    /// two primes have the locals that are saved below another activation.
    pub values: Described,
}

/// Configurations of a system with variables.
#[derive(Clone, Debug)]
pub struct Symbolics {
    /// The transitions, in order.
    pub transitions: Vec<Carried>,
    /// The states at which stacks may end, and for which values.
    pub accepting: Vec<(String, Option<Described>)>,
}

/// The configurations that can be reached from those that come with a system, or from which those can be reached.
pub fn symbolic(system: &Symbolic, direction: Direction, budget: &Budget) -> Result<Symbolics, Why> {
    let quiet = |_| ();
    let meter = Meter::new(budget, &quiet);
    let width =
        |vars: std::ops::Range<u32>| -> u64 { vars.map(|var| width_of(system.vars[var as usize].1)).sum() };
    let locals = system.symbols.iter().map(|symbol| width(symbol.locals.clone())).max().unwrap_or(0);
    if width(system.globals.clone()) + 2 * locals > MOST_SLOTS {
        return Err(Why::Unsupported(format!("more than {MOST_SLOTS} bits of variables at once")));
    }
    let store = Bdds::new(|bytes| meter.allows(bytes));
    let stacks = StackRules::new(system, &store);
    let rules = stacks.system(&|| meter.goes_on(TURN)).map_err(|_| meter.why())?;
    let given = stacks.given(direction == Direction::Forwards).map_err(|_| meter.why())?;
    let search = Search { stacks: &stacks, store: &store, rules: &rules, meter: &meter };
    let found = match direction {
        Direction::Forwards => search.forwards(given),
        Direction::Backwards => search.backwards(given),
    };
    let Some(found) = found else { return Err(meter.why()) };
    let told = Telling::new(&search, &found).told();
    meter.check()?;
    Ok(told)
}

/// A saturated automaton.
struct Found {
    direction: Direction,
    automaton: Automaton<Weight<Ref>>,
    end: u32,
    /// For each state that is not a control the symbol with whose locals it was entered, and the control if it was entered by a rule.
    entered: HashMap<u32, (Option<u32>, Symbol)>,
    empty: Vec<(u32, Ref)>,
}

struct Search<'s, 'w> {
    stacks: &'s StackRules<'s, Bdds<'w>>,
    store: &'s Bdds<'w>,
    rules: &'s System<Weight<Ref>>,
    meter: &'s Meter<'s>,
}

impl Search<'_, '_> {
    /// Whether saturation may go on with another turn.
    fn turn(&self, turns: &Cell<u64>) -> Result<(), Stop> {
        turns.set(turns.get() + 1);
        if turns.get().is_multiple_of(TURNS) && !self.meter.goes_on(TURNS * TURN) {
            return Err(Stop::Interrupted);
        }
        if self.store.is_full() { Err(Stop::Full) } else { Ok(()) }
    }

    /// Drops the sets that are not needed any more.
    fn drop_others<'k>(&self, weights: impl Iterator<Item = &'k Weight<Ref>>, empty: &[(u32, Ref)]) {
        let rules = self.rules.rules().iter().map(|rule| rule.weight.set);
        let sets = rules.chain(weights.map(|weight| weight.set)).chain(empty.iter().map(|&(_, set)| set));
        self.store.keep(sets.collect::<Vec<_>>().iter());
    }

    fn forwards(&self, given: Given<Ref>) -> Option<Found> {
        let Given { automaton, end, entered, empty } = given;
        let mut saturation = Saturation::new(automaton);
        let scopes = self.stacks.scopes();
        let mut watch = Patient { search: self, turns: Cell::new(0) };
        loop {
            match saturation.run(&mut self.stacks.relations(&scopes), self.rules, &mut watch) {
                Ok(()) => break,
                Err(Stop::Full) => self.drop_others(saturation.weights(), &empty),
                Err(_) => return None,
            }
        }
        let mut entered: HashMap<_, _> =
            entered.into_iter().map(|(state, symbol)| (state, (None, symbol))).collect();
        let activations = saturation.activations();
        entered.extend(activations.map(|(state, (control, symbol))| (state, (Some(control), symbol))));
        let automaton = saturation.automaton;
        Some(Found { direction: Direction::Forwards, automaton, end, entered, empty })
    }

    fn backwards(&self, given: Given<Ref>) -> Option<Found> {
        let Given { automaton, end, entered, empty } = given;
        let mut saturation = BackwardSaturation::new(automaton, self.rules);
        let (turns, forgets) = (Cell::new(0), self.stacks.forgets());
        let controls = self.rules.controls();
        loop {
            let relations = self.stacks.relations(&[]);
            let domain = &mut Backwards { relations, controls, forgets: &forgets };
            match saturation.run(domain, self.rules, &mut || self.turn(&turns)) {
                Ok(()) => break,
                Err(Stop::Full) => self.drop_others(saturation.weights(), &empty),
                Err(_) => return None,
            }
        }
        let entered = entered.into_iter().map(|(state, symbol)| (state, (None, symbol))).collect();
        let automaton = saturation.automaton;
        Some(Found { direction: Direction::Backwards, automaton, end, entered, empty })
    }
}

/// A transition that grows again and again has to wait for the others.
struct Patient<'p, 's, 'w> {
    search: &'p Search<'s, 'w>,
    turns: Cell<u64>,
}

impl<'r, 'w> Watch<Relations<'r, Bdds<'w>>> for Patient<'_, '_, '_> {
    fn rank(&self, _: Transition, increments: usize) -> u64 {
        (increments / PATIENCE) as u64
    }
    fn turn(&mut self, _: Transition) -> Result<(), Stop> {
        self.search.turn(&self.turns)
    }
    fn grown(&mut self, _: Transition) -> Result<(), Stop> {
        Ok(())
    }
}

/// An automaton that is being told.
struct Telling<'t, 's, 'w> {
    search: &'t Search<'s, 'w>,
    found: &'t Found,
}

impl<'t, 's, 'w> Telling<'t, 's, 'w> {
    fn new(search: &'t Search<'s, 'w>, found: &'t Found) -> Self {
        Telling { search, found }
    }

    /// What is told when a limit is reached is not complete.
    fn told(&self) -> Symbolics {
        let share = Share { left: Cell::new(u64::MAX), meter: self.search.meter };
        let goes_on = |work| share.goes_on(work);
        let numbers = Ndds::new(&goes_on);
        let values = |set: Ref, shown: &[Shown]| {
            share.left.set(TELLING);
            self.values(&numbers, set, shown)
        };
        let mut transitions = Vec::new();
        for (transition, weight) in self.found.automaton.transitions() {
            if self.search.meter.check().is_err() {
                break;
            }
            let Some((from, symbol, to, shown)) = self.row(transition, weight) else { continue };
            transitions.push(Carried { from, symbol, to, values: values(weight.set, &shown) });
        }
        transitions.sort_by(|one, other| {
            (&one.from, &one.symbol, &one.to).cmp(&(&other.from, &other.symbol, &other.to))
        });
        let mut accepting = Vec::new();
        for &(control, set) in &self.found.empty {
            let globals: Vec<Shown> = self.globals(Time::Old, "").collect();
            accepting.push((self.state(control), Some(values(set, &globals))));
        }
        if self.found.automaton.transitions().any(|(transition, _)| transition.to == self.found.end) {
            accepting.push((self.state(self.found.end), None));
        }
        accepting.sort_by(|(one, _), (other, _)| one.cmp(other));
        Symbolics { transitions, accepting }
    }

    fn values(&self, numbers: &Ndds, set: Ref, shown: &[Shown]) -> Described {
        let registers = &self.search.stacks.registers;
        let made = numbers.decided(set, |vertex| self.search.store.test(vertex));
        match made {
            Ok(set) => described(numbers, registers, &set, shown),
            Err(Interrupted) => Described::unknown(shown),
        }
    }

    /// The name of a state.
    fn state(&self, state: u32) -> String {
        let symbolic = self.search.stacks.symbolic;
        if let Some(control) = symbolic.controls.get(state as usize) {
            return control.clone();
        }
        match self.found.entered.get(&state) {
            Some(&(Some(control), symbol)) => {
                let symbol = &symbolic.symbols[symbol as usize].name;
                format!("{}:{symbol}", symbolic.controls[control as usize])
            }
            _ if state == self.found.end => "(end)".to_owned(),
            _ => format!("({})", state - self.found.end),
        }
    }

    /// Names for a transition, and what is shown of its relation; none of those that stand for a part of a step.
    fn row(
        &self,
        transition: Transition,
        weight: &Weight<Ref>,
    ) -> Option<(String, Option<String>, String, Vec<Shown>)> {
        let Transition { from, symbol, to } = transition;
        let stacks = self.search.stacks;
        let is_control = |state: u32| (state as usize) < stacks.symbolic.controls.len();
        let name = |symbol: Symbol| stacks.symbolic.symbols[symbol as usize].name.clone();
        let shown = match (symbol, self.found.direction) {
            (None, _) if to != self.found.end => return None,
            (Some(symbol), _) if is_control(from) && stacks.shown(symbol).1 => return None,
            (_, Direction::Forwards) => self.forwards(transition, weight),
            (Some(symbol), Direction::Backwards) => {
                let mut shown: Vec<Shown> = match is_control(from) {
                    true => self.globals(Time::Old, "").collect(),
                    false => Vec::new(),
                };
                shown.extend(self.locals(symbol, Time::Old, ""));
                shown.extend(self.globals(Time::New, "'").filter(|one| weight.writes(one.register)));
                shown
            }
            (None, Direction::Backwards) => unreachable!("no transition reads the empty word"),
        };
        Some((self.state(from), symbol.map(|symbol| name(stacks.shown(symbol).0)), self.state(to), shown))
    }

    /// The values with which the activation on the right was entered, and those at this point.
    fn forwards(&self, transition: Transition, weight: &Weight<Ref>) -> Vec<Shown> {
        let Transition { from, symbol, to } = transition;
        let mut all: Vec<Shown> = self.globals(Time::Old, "").collect();
        match self.found.entered.get(&to) {
            Some(&(_, symbol)) => all.extend(self.locals(symbol, Time::Old, "")),
            None => all.extend(self.first_locals()),
        }
        let above = self.found.entered.get(&from).into_iter();
        let above = above.flat_map(|&(_, symbol)| self.locals(symbol, Time::New, "'"));
        let is_top = (from as usize) < self.search.stacks.symbolic.controls.len();
        let primes = if is_top { "'" } else { "''" };
        let own = symbol.into_iter().flat_map(|symbol| self.locals(symbol, Time::New, primes));
        for one in self.globals(Time::New, "'").chain(above).chain(own) {
            if weight.writes(one.register) {
                all.push(one);
            }
        }
        all
    }

    /// The locals with which runs start.
    fn first_locals(&self) -> Vec<Shown> {
        let from = &self.search.stacks.symbolic.from;
        let mut tops: Vec<Symbol> =
            from.iter().filter(|one| one.stack.len() == 1).map(|one| one.stack[0].0).collect();
        let symbols = &self.search.stacks.symbolic.symbols;
        // Symbols of one list have the same locals.
        tops.sort_by_key(|&symbol| symbols[symbol as usize].locals.start);
        tops.dedup_by_key(|symbol| symbols[*symbol as usize].locals.clone());
        tops.into_iter().flat_map(|symbol| self.locals(symbol, Time::Old, "")).collect()
    }

    fn globals(&self, time: Time, primes: &'static str) -> impl Iterator<Item = Shown> {
        let registers = self.search.stacks.symbolic.globals.clone();
        registers.map(move |register| Shown {
            register,
            time,
            name: format!("{}{primes}", self.name(register)),
        })
    }

    /// Locals that have the name of a global say of which symbol they are: of the first one that has them.
    fn locals(&self, symbol: Symbol, time: Time, primes: &'static str) -> impl Iterator<Item = Shown> {
        let stacks = self.search.stacks;
        let symbols = &stacks.symbolic.symbols;
        let locals = &symbols[stacks.shown(symbol).0 as usize].locals;
        let owner = symbols.iter().find(|symbol| symbol.locals == *locals).map_or("", |symbol| &symbol.name);
        stacks.locals(symbol).map(move |register| {
            let name = self.name(register);
            let name = match stacks.symbolic.globals.clone().any(|global| self.name(global) == name) {
                true => format!("{owner}.{name}{primes}"),
                false => format!("{name}{primes}"),
            };
            Shown { register, time, name }
        })
    }

    fn name(&self, register: Register) -> &str {
        let vars = &self.search.stacks.symbolic.vars;
        &vars[register as usize % vars.len()].0
    }
}
