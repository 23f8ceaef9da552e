//! Room `xtask`: the configurations that are printed of pushdown systems with variables, against runs of the naive system.
//!
//! # Idea
//! Some configurations with conditions are given, at random. What is printed of those that they reach, and of those from which they are reached, is an
//! automaton with constraints on values: it is read as the manual says, for configurations at random and for some that runs lead to. A
//! configuration must be accepted exactly if the naive system has such a run.

use super::decide::{Plain, Runs, State, Symbol, all_values};
use super::read::{System, Values, Var};
use crate::fuzz::score::Score;
use crate::rng::Rng;
use postbop_engine::Budget;
use postbop_engine::configurations::Direction;
use postbop_engine::weighted::{Carried, Compare, Constraint, Described, Symbolics, symbolic};
use postbop_front::File;
use postbop_front::plain::SymbolicSymbol;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// How many configurations are tried for each direction.
const TRIES: usize = 40;

/// A configuration with values.
type Stack = (State, Vec<Symbol>);

/// Compares both directions, as far as they are computed in time and told in full.
pub fn examine(source: &str, system: &System, plain: &Plain, patience: Duration) -> Result<Score, String> {
    let mut hasher = DefaultHasher::new();
    source.hash(&mut hasher);
    let mut chooser = Chooser { system, rng: Rng::new(hasher.finish()) };
    let mut score = Score::default();
    for direction in [Direction::Forwards, Direction::Backwards] {
        let given: Vec<(String, Vec<Stack>)> =
            (0..chooser.rng.range(1, 2)).map(|_| chooser.given()).collect();
        let texts: Vec<String> = given.iter().map(|(text, _)| text.clone()).collect();
        let file = File { name: "system.pds", bytes: source.as_bytes() };
        let read = match postbop_front::plain::symbolic(&[file], &texts) {
            Some(Ok(read)) => read,
            other => return Err(format!("front end: no system with {texts:?}: {other:?}")),
        };
        let Ok(found) = symbolic(&read, direction, &Budget::unlimited().with_time(patience)) else {
            score.note("stacks", 0, 1);
            continue;
        };
        if !is_told(&found) {
            score.note("stacks", 0, 1);
            continue;
        }
        let owner = |one: &SymbolicSymbol| {
            let first = read.symbols.iter().find(|other| other.locals == one.locals);
            (one.name.clone(), first.map_or_else(String::new, |first| first.name.clone()))
        };
        let owners = read.symbols.iter().map(owner).collect();
        let printed = Printed { system, found: &found, owners };
        let (runs, given) = (Runs::of(plain), given.into_iter().flat_map(|(_, all)| all).collect::<Vec<_>>());
        for _ in 0..TRIES {
            let tried = chooser.tried(&given, plain, direction);
            let leads = |one: &Stack| match direction {
                Direction::Forwards => runs.lead((&one.0, &one.1), (&tried.0, &tried.1)),
                Direction::Backwards => runs.lead((&tried.0, &tried.1), (&one.0, &one.1)),
            };
            let (wanted, said) = (given.iter().any(leads), printed.accepts(&tried, direction));
            if wanted != said {
                return Err(format!(
                    "stacks: {direction:?} from {texts:?}: {tried:?} is {said}, and should be {wanted}"
                ));
            }
            score.note(if wanted { "stacks" } else { "no stacks" }, 1, 0);
        }
    }
    Ok(score)
}

/// Whether all values are told.
fn is_told(found: &Symbolics) -> bool {
    let ends = found.accepting.iter().filter_map(|(_, values)| values.as_ref());
    found.transitions.iter().map(|one| &one.values).chain(ends).all(|values| values.cases.is_some())
}

/// Chooses configurations.
struct Chooser<'c> {
    system: &'c System,
    rng: Rng,
}

impl Chooser<'_> {
    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.rng.below(list.len())]
    }

    /// The control states and symbols that rules mention.
    fn names(&self) -> [Vec<&str>; 2] {
        let (start, rules) = (&self.system.start, &self.system.rules);
        let mut states = vec![start.0.as_str()];
        let mut symbols = vec![start.1.as_str()];
        for rule in rules {
            states.extend([rule.from.as_str(), &rule.to]);
            symbols.push(&rule.top);
            symbols.extend(rule.stack.iter().map(String::as_str));
        }
        [states, symbols]
    }

    /// A condition on one variable of a list, as text, and the values that fulfil it.
    fn condition(&mut self, vars: &[Var]) -> (String, Vec<Values>) {
        let all = all_values(vars);
        let Some(var) = vars.first().filter(|_| self.rng.chance(0.5)) else { return (String::new(), all) };
        // A Boolean has two values as an integer of one bit has, but is written without a comparison: so only integers are compared.
        if var.count <= 2 || var.low != 0 || var.high != 0 {
            return (String::new(), all);
        }
        let value = self.rng.below(var.count as usize) as i64;
        let text = format!(" ({} <= {value})", var.name);
        (text, all.into_iter().filter(|values| values[0] <= value).collect())
    }

    /// A configuration with conditions, as text, and all its members.
    fn given(&mut self) -> (String, Vec<Stack>) {
        let [states, symbols] =
            self.names().map(|names| names.into_iter().map(str::to_owned).collect::<Vec<_>>());
        let (state, none) = (self.pick(&states).clone(), Vec::new());
        let (condition, values) = self.condition(&self.system.globals);
        let mut text = format!("{state}{condition}:");
        let mut all: Vec<Stack> =
            values.into_iter().map(|values| ((state.clone(), values), Vec::new())).collect();
        let height = *self.pick(&[1, 1, 1, 1, 0, 2, 2, 3]);
        for _ in 0..height {
            let symbol = self.pick(&symbols).clone();
            let (condition, values) = self.condition(self.system.locals.get(&symbol).unwrap_or(&none));
            text += &format!(" {symbol}{condition}");
            let longer = |(state, stack): Stack| {
                let with = |values: &Values| {
                    let symbol = (symbol.clone(), values.clone());
                    (state.clone(), [&stack[..], &[symbol]].concat())
                };
                values.iter().map(with).collect::<Vec<Stack>>()
            };
            all = all.into_iter().flat_map(longer).collect();
        }
        (text, all)
    }

    /// A configuration to try: at random, or forwards one that a run leads to.
    fn tried(&mut self, given: &[Stack], plain: &Plain, direction: Direction) -> Stack {
        if direction == Direction::Forwards && !given.is_empty() && self.rng.chance(0.6) {
            let mut at = self.pick(given).clone();
            for _ in 0..self.rng.below(8) {
                let next = plain.next(&at);
                if next.is_empty() {
                    break;
                }
                at = self.pick(&next).clone();
            }
            return at;
        }
        let [states, symbols] =
            self.names().map(|names| names.into_iter().map(str::to_owned).collect::<Vec<_>>());
        let state = (self.pick(&states).clone(), self.pick(&all_values(&self.system.globals)).clone());
        let height = *self.pick(&[0, 1, 1, 1, 2, 2, 3]);
        let none = Vec::new();
        let symbol = |chooser: &mut Self| {
            let symbol = chooser.pick(&symbols).clone();
            let values = all_values(chooser.system.locals.get(&symbol).unwrap_or(&none));
            (symbol, chooser.pick(&values).clone())
        };
        (state, (0..height).map(|_| symbol(self)).collect())
    }
}

/// What is printed.
struct Printed<'p> {
    system: &'p System,
    found: &'p Symbolics,
    /// For each symbol the first one that has the same list of locals.
    owners: BTreeMap<String, String>,
}

/// The names of the elements of variables with their values.
fn named(vars: &[Var], values: &Values) -> BTreeMap<String, i64> {
    names(vars).into_iter().map(|(name, _)| name).zip(values.iter().copied()).collect()
}

/// The names of the elements of variables, and how many values each has.
fn names(vars: &[Var]) -> Vec<(String, i64)> {
    let elements = |var: &Var| {
        let (name, count) = (var.name.clone(), var.count);
        let array = var.is_array;
        (var.low..=var.high)
            .map(move |at| (if array { format!("{name}[{at}]") } else { name.clone() }, count))
            .collect::<Vec<_>>()
    };
    vars.iter().flat_map(elements).collect()
}

impl Printed<'_> {
    fn accepts(&self, (state, stack): &Stack, direction: Direction) -> bool {
        match direction {
            Direction::Backwards => self.backwards(&state.0, &state.1, stack),
            Direction::Forwards => self.forwards(state, stack),
        }
    }

    fn locals(&self, symbol: &str) -> &[Var] {
        self.system.locals.get(symbol).map_or(&[], |vars| vars)
    }

    /// What a local of a symbol is called where constraints are printed.
    fn locals_of(&self, (symbol, values): &Symbol, primes: &str) -> Vec<(String, i64)> {
        let globals = names(&self.system.globals);
        let own = named(self.locals(symbol), values);
        own.into_iter()
            .map(|(name, value)| (called(&globals, &self.owners[symbol], &name, primes), value))
            .collect()
    }

    fn is_control(&self, state: &str) -> bool {
        !state.contains(['(', ':'])
    }

    fn from(&self, state: &str, symbol: Option<&str>) -> impl Iterator<Item = &Carried> {
        let state = state.to_owned();
        let symbol = symbol.map(str::to_owned);
        self.found.transitions.iter().filter(move |one| one.from == state && one.symbol == symbol)
    }

    /// Whether a stack may end at a control, with these globals, or at a state that is not one.
    fn ends(&self, state: &str, globals: &Values) -> bool {
        let known = named(&self.system.globals, globals);
        let mut ends = self.found.accepting.iter().filter(|(end, _)| end == state);
        ends.any(|(_, values)| {
            values.as_ref().is_none_or(|values| holds(values, &|name| known.get(name).copied()))
        })
    }

    /// It calls itself as deeply as the stack is high.
    fn backwards(&self, at: &str, globals: &Values, stack: &[Symbol]) -> bool {
        let Some((top, below)) = stack.split_first() else { return self.ends(at, globals) };
        let mut known = named(&self.system.globals, globals);
        known.extend(self.locals_of(top, ""));
        self.from(at, Some(&top.0)).any(|one| {
            let mut after = all_values(&self.system.globals);
            if !self.is_control(&one.to) {
                after.truncate(1);
            }
            after.iter().any(|after| {
                let later = named(&self.system.globals, after);
                let primed = |name: &str| one.values.names.iter().any(|other| *other == format!("{name}'"));
                // What has no prime does not change.
                let stays = |(name, value): (&String, &i64)| {
                    primed(name) || !self.is_control(&one.to) || known[name] == *value
                };
                later.iter().all(stays)
                    && holds(&one.values, &|name| match name.strip_suffix('\'') {
                        Some(name) => later.get(name).copied(),
                        None => known.get(name).copied(),
                    })
                    && self.backwards(&one.to, after, below)
            })
        })
    }

    fn forwards(&self, state: &State, stack: &[Symbol]) -> bool {
        let present = named(&self.system.globals, &state.1);
        let Some((top, below)) = stack.split_first() else {
            let empty = |one: &Carried| !self.entries(one, &present, &[], &[]).is_empty();
            return self.ends(&state.0, &state.1) || self.from(&state.0, None).any(empty);
        };
        let own = self.locals_of(top, "");
        let own: Vec<(&str, i64)> = own.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        self.from(&state.0, Some(&top.0)).any(|one| {
            self.entries(one, &present, &own, &[]).into_iter().any(|entry| self.under(&one.to, &entry, below))
        })
    }

    /// Whether a stack is accepted below an activation that was entered with these values. It calls itself as deeply as the stack is high.
    fn under(&self, at: &str, entry: &BTreeMap<String, i64>, stack: &[Symbol]) -> bool {
        let Some((top, below)) = stack.split_first() else {
            return self.found.accepting.iter().any(|(end, _)| end == at);
        };
        let saved = self.locals_of(top, "''");
        self.from(at, Some(&top.0)).any(|one| {
            self.entries(one, entry, &[], &saved).into_iter().any(|entry| self.under(&one.to, &entry, below))
        })
    }

    /// The values with which the activation on the right of a transition was entered: all that fit the values at this point, of which some have names of
    /// their own.
    fn entries(
        &self,
        one: &Carried,
        present: &BTreeMap<String, i64>,
        own: &[(&str, i64)],
        saved: &[(String, i64)],
    ) -> Vec<BTreeMap<String, i64>> {
        let mut fixed: BTreeMap<String, i64> = saved.iter().cloned().collect();
        let all = present.iter().map(|(name, value)| (name.as_str(), *value)).chain(own.iter().copied());
        for (name, value) in all {
            let primed = format!("{name}'");
            let known = if one.values.names.contains(&primed) { primed } else { name.to_owned() };
            fixed.insert(known, value);
        }
        let is_open = |name: &&String| !fixed.contains_key(*name) && !name.ends_with('\'');
        let open: Vec<&String> = one.values.names.iter().filter(is_open).collect();
        let mut entries = vec![fixed];
        for name in open {
            let count = self.count(name);
            let longer = |entry: &BTreeMap<String, i64>| {
                let entry = entry.clone();
                (0..count).map(move |value| {
                    entry
                        .iter()
                        .map(|(name, value)| (name.clone(), *value))
                        .chain([(name.clone(), value)])
                        .collect()
                })
            };
            entries = entries.iter().flat_map(longer).collect();
        }
        entries.retain(|entry| holds(&one.values, &|name| entry.get(name).copied()));
        entries
            .into_iter()
            .map(|entry| entry.into_iter().filter(|(name, _)| !name.ends_with('\'')).collect())
            .collect()
    }

    /// How many values a variable has that constraints call so.
    fn count(&self, name: &str) -> i64 {
        let globals = names(&self.system.globals);
        if let Some((_, count)) = globals.iter().find(|(other, _)| other == name) {
            return *count;
        }
        let symbols = self.system.locals.iter();
        let of = |(symbol, vars): (&String, &Vec<Var>)| {
            let found = names(vars).into_iter().find(|(own, _)| {
                called(&globals, self.owners.get(symbol).unwrap_or(symbol), own, "") == name
            });
            found.map(|(_, count)| count)
        };
        symbols.filter_map(of).max().unwrap_or(1)
    }
}

/// What a local is called in constraints.
fn called(globals: &[(String, i64)], symbol: &str, name: &str, primes: &str) -> String {
    match globals.iter().any(|(global, _)| global == name) {
        true => format!("{symbol}.{name}{primes}"),
        false => format!("{name}{primes}"),
    }
}

/// Whether values fulfil constraints; those that are not known do not.
fn holds(values: &Described, known: &dyn Fn(&str) -> Option<i64>) -> bool {
    let fulfilled = |constraint: &Constraint| {
        let mut sum = 0;
        for &(factor, at) in &constraint.terms {
            let Some(value) = known(&values.names[at as usize]) else { return false };
            sum += factor * value;
        }
        match constraint.compare {
            Compare::AtMost(most) => sum <= most,
            Compare::Equal(value) => sum == value,
            Compare::Congruent(value, modulus) => (sum - value) % modulus == 0,
        }
    };
    values.cases.iter().flatten().any(|case| case.iter().all(fulfilled))
}
