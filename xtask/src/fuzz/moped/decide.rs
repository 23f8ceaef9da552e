//! Room `xtask`: which heads a pushdown system with variables reaches, and what its runs do for ever, decided naively.
//!
//! # Idea
//! Values go into control states and stack symbols: what is left is a plain pushdown system of a few hundred heads, with its rules tried
//! on all values. For each head it is iterated which control states are reached when its symbol has been removed; with that, the heads
//! that are reached, and the heads from which a run goes on for ever without removing the symbol.

use super::read::{Rule, System, Tree, Values, Var, eval};
use std::collections::{BTreeMap, BTreeSet};

/// A control state with the values of the global variables, and a symbol with those of its local ones.
pub type State = (String, Values);
pub type Symbol = (String, Values);
type Head = (State, Symbol);

/// What a rule without variables makes of its head: a control state and what replaces the symbol, the new top first.
type Right = (State, Vec<Symbol>);

/// A plain pushdown system.
pub struct Plain {
    rules: BTreeMap<Head, BTreeSet<Right>>,
    starts: BTreeSet<Head>,
    names: BTreeMap<String, BTreeSet<String>>,
}

/// All values of the variables of a list.
pub fn all_values(vars: &[Var]) -> Vec<Values> {
    let mut all = vec![Vec::new()];
    for var in vars {
        for _ in var.low..=var.high {
            let longer = |values: &Values| {
                let values = values.clone();
                (0..var.count).map(move |value| [&values[..], &[value]].concat())
            };
            all = all.iter().flat_map(longer).collect();
        }
    }
    all
}

/// A list of variables and their values.
type Known<'a> = (&'a [Var], &'a Values);

/// Whether a formula holds, where a variable with n primes is one of the n-th lists.
fn holds(formula: &Option<Tree>, lists: &[&[Known<'_>]]) -> bool {
    let Some(formula) = formula else { return true };
    let lookup = |(name, primes): (&str, usize), index: Option<i64>| {
        for (vars, values) in *lists.get(primes)? {
            let mut first = 0;
            for var in *vars {
                if var.name == name {
                    let at = index.unwrap_or(var.low);
                    return (var.low <= at && at <= var.high)
                        .then(|| values[first + (at - var.low) as usize]);
                }
                first += (var.high - var.low + 1) as usize;
            }
        }
        None
    };
    eval(formula, &mut Vec::new(), &lookup) == Some(1)
}

impl Plain {
    /// The system without variables.
    pub fn of(system: &System) -> Self {
        let none = Vec::new();
        let vars =
            |symbol: Option<&String>| symbol.and_then(|symbol| system.locals.get(symbol)).unwrap_or(&none);
        let globals = all_values(&system.globals);
        let mut plain = Plain { rules: BTreeMap::new(), starts: BTreeSet::new(), names: BTreeMap::new() };
        let start = vars(Some(&system.start.1));
        for values in &globals {
            for locals in all_values(start) {
                if holds(&system.start_globals, &[&[(&system.globals, values)]])
                    && holds(&system.start_locals, &[&[(start, &locals)]])
                {
                    let (state, symbol) = system.start.clone();
                    plain.starts.insert(((state, values.clone()), (symbol, locals)));
                }
            }
        }
        for rule in &system.rules {
            let lists = [Some(&rule.top), rule.stack.first(), rule.stack.get(1)].map(vars);
            plain.add(rule, &system.globals, &globals, lists);
        }
        for (symbol, name) in &system.atoms {
            plain.names.entry(symbol.clone()).or_default().insert(name.clone());
        }
        plain
    }

    /// Tries a rule on all values.
    fn add(&mut self, rule: &Rule, vars: &[Var], globals: &[Values], lists: [&Vec<Var>; 3]) {
        let [old, new, below] = lists.map(|list| all_values(list));
        for (before, old) in globals.iter().flat_map(|before| old.iter().map(move |old| (before, old))) {
            let head = ((rule.from.clone(), before.clone()), (rule.top.clone(), old.clone()));
            for (after, new) in globals.iter().flat_map(|after| new.iter().map(move |new| (after, new))) {
                for below in &below {
                    let scopes: [&[Known<'_>]; 3] = [
                        &[(lists[0], old), (vars, before)],
                        &[(lists[1], new), (vars, after)],
                        &[(lists[2], below)],
                    ];
                    if holds(&rule.formula, &scopes) {
                        let stack = rule.stack.iter().cloned().zip([new.clone(), below.clone()]).collect();
                        let right = ((rule.to.clone(), after.clone()), stack);
                        self.rules.entry(head.clone()).or_default().insert(right);
                    }
                }
            }
        }
    }

    /// For each head the control states that are reached when its symbol has been removed, by runs all of whose heads are
    /// allowed.
    fn removals(&self, allowed: &dyn Fn(&Head) -> bool) -> BTreeMap<Head, BTreeSet<State>> {
        let mut found: BTreeMap<Head, BTreeSet<State>> = BTreeMap::new();
        loop {
            let mut more = false;
            for (head, rights) in self.rules.iter().filter(|(head, _)| allowed(head)) {
                for (state, stack) in rights {
                    let mut states = BTreeSet::from([state.clone()]);
                    for symbol in stack {
                        let next =
                            states.iter().filter_map(|state| found.get(&(state.clone(), symbol.clone())));
                        states = next.flatten().cloned().collect();
                    }
                    let known = found.entry(head.clone()).or_default();
                    let before = known.len();
                    known.extend(states);
                    more |= known.len() > before;
                }
            }
            if !more {
                return found;
            }
        }
    }

    /// The heads that follow each allowed head while its symbol, or what replaced it, is there.
    fn graph(&self, allowed: &dyn Fn(&Head) -> bool) -> BTreeMap<Head, BTreeSet<Head>> {
        let removals = self.removals(allowed);
        let mut graph: BTreeMap<Head, BTreeSet<Head>> = BTreeMap::new();
        for (head, rights) in self.rules.iter().filter(|(head, _)| allowed(head)) {
            for (state, stack) in rights {
                let mut states = BTreeSet::from([state.clone()]);
                for symbol in stack {
                    let heads: Vec<Head> =
                        states.iter().map(|state| (state.clone(), symbol.clone())).collect();
                    graph
                        .entry(head.clone())
                        .or_default()
                        .extend(heads.iter().filter(|head| allowed(head)).cloned());
                    states = heads.iter().filter_map(|head| removals.get(head)).flatten().cloned().collect();
                }
            }
        }
        graph
    }

    /// The heads that runs have.
    pub fn reached(&self) -> BTreeSet<Head> {
        let graph = self.graph(&|_| true);
        closure(&graph, self.starts.iter().cloned().collect())
    }

    /// The configurations after one step.
    pub fn next(&self, (state, stack): &(State, Vec<Symbol>)) -> Vec<(State, Vec<Symbol>)> {
        let Some((top, below)) = stack.split_first() else { return Vec::new() };
        let rights = self.rules.get(&(state.clone(), top.clone())).into_iter().flatten();
        rights.map(|(state, top)| (state.clone(), [top, below].concat())).collect()
    }

    /// Whether something is called that at a head: the control state, the symbol, or a proposition of it.
    pub fn is_called(&self, head: &Head, name: &str) -> bool {
        let ((state, _), (symbol, _)) = head;
        state == name || symbol == name || self.names.get(symbol).is_some_and(|names| names.contains(name))
    }

    /// The names of heads.
    pub fn all_names(&self) -> BTreeSet<String> {
        let mut all: BTreeSet<String> = self.names.values().flatten().cloned().collect();
        for ((state, _), (symbol, _)) in self.rules.keys().cloned().chain(self.reached()) {
            all.extend([state, symbol]);
        }
        all
    }

    /// The control states of heads.
    pub fn states(&self) -> BTreeSet<String> {
        self.rules.keys().cloned().chain(self.reached()).map(|((state, _), _)| state).collect()
    }

    /// Whether a run visits heads of this name only finitely often, and goes on for ever.
    pub fn leaves_for_good(&self, name: &str) -> bool {
        let reached = self.reached();
        let graph = self.graph(&|head| !self.is_called(head, name));
        let mut heads = reached.iter().filter(|head| !self.is_called(head, name));
        heads.any(|head| is_on_cycle(&graph, head))
    }

    /// The heads from which a run goes on for ever without removing the symbol.
    fn diverging(&self) -> BTreeSet<Head> {
        let graph = self.graph(&|_| true);
        let cyclic: BTreeSet<Head> = graph.keys().filter(|head| is_on_cycle(&graph, head)).cloned().collect();
        let leads = |head: &&Head| !closure(&graph, vec![(*head).clone()]).is_disjoint(&cyclic);
        graph.keys().filter(leads).cloned().collect()
    }

    /// Whether a run that goes on for ever has a head of this name after so many steps.
    pub fn at_step(&self, steps: usize, name: &str) -> bool {
        let mut all: BTreeSet<(State, Vec<Symbol>)> =
            self.starts.iter().map(|(state, symbol)| (state.clone(), vec![symbol.clone()])).collect();
        for _ in 0..steps {
            let mut next = BTreeSet::new();
            for (state, stack) in &all {
                next.extend(self.next(&(state.clone(), stack.clone())));
            }
            all = next;
        }
        let (removals, diverging) = (self.removals(&|_| true), self.diverging());
        let goes_on = |(state, stack): &(State, Vec<Symbol>)| {
            let mut states = BTreeSet::from([state.clone()]);
            for symbol in stack {
                let heads: Vec<Head> = states.iter().map(|state| (state.clone(), symbol.clone())).collect();
                if heads.iter().any(|head| diverging.contains(head)) {
                    return true;
                }
                states = heads.iter().filter_map(|head| removals.get(head)).flatten().cloned().collect();
            }
            false
        };
        let is_there = |(state, stack): &(State, Vec<Symbol>)| {
            stack.first().is_some_and(|top| self.is_called(&(state.clone(), top.clone()), name))
        };
        all.iter().any(|all| is_there(all) && goes_on(all))
    }
}

/// Which configurations runs lead to.
pub struct Runs<'p> {
    plain: &'p Plain,
    removals: BTreeMap<Head, BTreeSet<State>>,
    /// For each head those that follow it at the same height of the stack, with it.
    level: BTreeMap<Head, BTreeSet<Head>>,
}

impl<'p> Runs<'p> {
    /// The runs of a system.
    pub fn of(plain: &'p Plain) -> Self {
        let removals = plain.removals(&|_| true);
        let mut next: BTreeMap<Head, BTreeSet<Head>> = BTreeMap::new();
        for (head, rights) in &plain.rules {
            for (state, stack) in rights {
                let states = match stack.len() {
                    2 => removals.get(&(state.clone(), stack[0].clone())).cloned().unwrap_or_default(),
                    _ => BTreeSet::from([state.clone()]),
                };
                let Some(symbol) = stack.last() else { continue };
                let heads = states.into_iter().map(|state| (state, symbol.clone()));
                next.entry(head.clone()).or_default().extend(heads);
            }
        }
        let level =
            plain.rules.keys().map(|head| (head.clone(), closure(&next, vec![head.clone()]))).collect();
        Runs { plain, removals, level }
    }

    /// Whether a run leads from one configuration to another. All heads at one height are followed together: one by one, their number
    /// would grow with every symbol of the stack.
    pub fn lead(&self, from: (&State, &[Symbol]), to: (&State, &[Symbol])) -> bool {
        let mut states = BTreeSet::from([from.0.clone()]);
        for (height, top) in from.1.iter().enumerate() {
            let heads: BTreeSet<Head> = states.into_iter().map(|state| (state, top.clone())).collect();
            if let Some(above) = to.1.strip_suffix(&from.1[height + 1..])
                && self.grow(&heads, to.0, above)
            {
                return true;
            }
            states = heads.iter().filter_map(|head| self.removals.get(head)).flatten().cloned().collect();
        }
        to.1.is_empty() && states.contains(to.0)
    }

    /// Whether a run replaces one of the heads by a control state and at least one symbol.
    fn grow(&self, heads: &BTreeSet<Head>, state: &State, stack: &[Symbol]) -> bool {
        let Some((top, below)) = stack.split_first() else { return false };
        let mut level = self.level(heads);
        for symbol in below.iter().rev() {
            let rights = level.iter().filter_map(|head| self.plain.rules.get(head)).flatten();
            let calls = rights.filter(|(_, stack)| stack.len() == 2 && stack[1] == *symbol);
            level = self.level(&calls.map(|(called, stack)| (called.clone(), stack[0].clone())).collect());
        }
        level.contains(&(state.clone(), top.clone()))
    }

    /// The heads that follow these at the same height of the stack, with them.
    fn level(&self, heads: &BTreeSet<Head>) -> BTreeSet<Head> {
        let following = heads.iter().filter_map(|head| self.level.get(head)).flatten();
        following.chain(heads).cloned().collect()
    }
}

/// What is reached in a graph from these heads, with them.
fn closure(graph: &BTreeMap<Head, BTreeSet<Head>>, mut open: Vec<Head>) -> BTreeSet<Head> {
    let mut seen: BTreeSet<Head> = open.iter().cloned().collect();
    while let Some(head) = open.pop() {
        for next in graph.get(&head).into_iter().flatten() {
            if seen.insert(next.clone()) {
                open.push(next.clone());
            }
        }
    }
    seen
}

fn is_on_cycle(graph: &BTreeMap<Head, BTreeSet<Head>>, head: &Head) -> bool {
    let next = graph.get(head).into_iter().flatten().cloned().collect();
    closure(graph, next).contains(head)
}
