//! Room `xtask`: whether a run of a program is as a watcher looks for, decided naively.
//!
//! # Idea
//! The program becomes a plain pushdown system: globals and the memory of the watcher are in the control, a location with the values of the
//! locals is a stack symbol, and a symbol for each call waits for its return. What was called is removed from the stack at last, or not: for
//! each head it is iterated with which controls its symbol can be removed, and which promises can be kept meanwhile. Heads are then the
//! vertices of a graph: a rule leads to the head that is on top after it, or to the one after a call that returned. The run exists if a
//! component of this graph that is strongly connected keeps all promises.
//!
//! Nothing here is shared with the engines or with `kit`. Of `ir` it has the steps of single edges (`step`), and neither its oracle nor its facts.
//!
//! # Paper
//! Repeating heads: \[repeating-heads\].
//!
//! # Cost
//! Exponential in the variables in scope. It gives up beyond a number of heads.

use super::read::Position;
use super::watch::{Memory, Watcher};
use postbop_ir::step::{Places, Successor, Valuation, resume, successors};
use postbop_ir::{Action, EdgeId, LocId, Program, Value};
use std::collections::{BTreeMap, HashMap};

/// What is beside the stack: globals, results on their way to the caller, and what the watcher keeps.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Control {
    globals: Vec<Value>,
    results: Option<Vec<Value>>,
    memory: Memory,
}

/// What is on the stack.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Symbol {
    /// Below everything, before the program starts.
    Start,
    /// Below everything afterwards.
    Over,
    /// An activation that runs.
    At(LocId, Vec<Value>),
    /// An activation that waits for a call to return.
    Waits(EdgeId, Vec<Value>),
}

type Head = (Control, Symbol);

/// What a rule does with the symbol on top, and the promises it keeps.
struct Rule {
    control: Control,
    /// What replaces the symbol, the new top first.
    stack: Vec<Symbol>,
    kept: u64,
}

/// The program is too large.
pub struct TooLarge;

/// The heads that are found, by number.
struct System<'a> {
    program: &'a Program,
    places: Places,
    watcher: &'a Watcher,
    limit: usize,
    numbers: HashMap<Head, usize>,
    rules: Vec<Vec<Rule>>,
    /// For each head the controls with which its symbol is removed, and the promises that can be kept until then.
    removed: Vec<BTreeMap<Control, u64>>,
    /// The heads whose rules lead to a head.
    users: Vec<Vec<usize>>,
    /// From head to head, and the promises that can be kept on the way.
    arcs: HashMap<(usize, usize), u64>,
    fresh: Vec<usize>,
    /// Whether a mark was seen.
    marked: bool,
    starts: Starts,
    /// Whether a configuration was seen from which the program can go on in several ways.
    branches: bool,
}

/// What variables hold before they are set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Starts {
    /// Anything: that is what programs mean.
    All,
    /// The least value of their type.
    Least,
}

/// What was decided.
pub struct Decided {
    /// There is a run as the watcher looks for.
    pub exists: bool,
    /// The program has several runs.
    pub branches: bool,
}

/// Whether there is a run as the watcher looks for.
pub fn decide(
    program: &Program,
    watcher: &Watcher,
    starts: Starts,
    limit: usize,
) -> Result<Decided, TooLarge> {
    let places = Places::new(program);
    let mut system = System {
        program,
        places,
        watcher,
        limit,
        numbers: HashMap::new(),
        rules: Vec::new(),
        removed: Vec::new(),
        users: Vec::new(),
        arcs: HashMap::new(),
        fresh: Vec::new(),
        marked: watcher.is_marked_at_first(),
        starts,
        branches: false,
    };
    for memory in watcher.starts() {
        for globals in system.first(system.places.all_globals(program)) {
            system.number((Control { globals, results: None, memory }, Symbol::Start))?;
        }
    }
    system.saturate()?;
    let exists = if watcher.is_finite() { system.marked } else { system.has_fair_component() };
    Ok(Decided { exists, branches: system.branches })
}

impl System<'_> {
    /// The valuations to start with, of which the least one is the first.
    fn first(&self, mut all: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
        if self.starts == Starts::Least {
            all.truncate(1);
        }
        all
    }

    fn number(&mut self, head: Head) -> Result<usize, TooLarge> {
        if let Some(&number) = self.numbers.get(&head) {
            return Ok(number);
        }
        let number = self.numbers.len();
        if number == self.limit {
            return Err(TooLarge);
        }
        let rules = self.rules_of(&head)?;
        self.rules.push(rules);
        self.numbers.insert(head, number);
        self.removed.push(BTreeMap::new());
        self.users.push(Vec::new());
        self.fresh.push(number);
        Ok(number)
    }

    fn rules_of(&mut self, (control, symbol): &Head) -> Result<Vec<Rule>, TooLarge> {
        let Control { globals, results, memory } = control.clone();
        let program = self.program;
        let one = |control: Control, symbol: Symbol| vec![Rule { control, stack: vec![symbol], kept: 0 }];
        Ok(match (symbol, results) {
            (Symbol::Start, _) => {
                let main = program.main();
                let all = self.first(self.places.all_locals(program, main, &[])).into_iter();
                let entry = program.procs()[main].entry;
                let begin = |locals| Rule {
                    control: control.clone(),
                    stack: vec![Symbol::At(entry, locals), Symbol::Over],
                    kept: 0,
                };
                all.map(begin).collect()
            }
            (Symbol::Over, Some(_)) => one(Control { results: None, ..control.clone() }, Symbol::Over),
            (Symbol::Over, None) => {
                let valuation = Valuation { globals: globals.clone(), locals: Vec::new() };
                let readings = self.read(memory, None, &valuation);
                let stay = |(memory, kept)| Rule {
                    control: Control { memory, ..control.clone() },
                    stack: vec![Symbol::Over],
                    kept,
                };
                readings.into_iter().map(stay).collect()
            }
            (Symbol::Waits(edge, locals), Some(results)) => {
                let edge = &program.edges()[*edge];
                let before = Valuation { globals: globals.clone(), locals: locals.clone() };
                let after = resume(program, &self.places, &edge.action, &before, &globals, &results);
                let control = Control { globals: after.globals, results: None, memory };
                one(control, Symbol::At(edge.to, after.locals))
            }
            (Symbol::Waits(..), None) | (Symbol::At(..), Some(_)) => Vec::new(),
            (Symbol::At(loc, locals), None) => {
                let valuation = Valuation { globals, locals: locals.clone() };
                self.steps(*loc, &valuation, memory)?
            }
        })
    }

    /// The ways to read a position. An exit is none.
    fn read(&mut self, memory: Memory, loc: Option<LocId>, valuation: &Valuation) -> Vec<(Memory, u64)> {
        if loc.is_some_and(|loc| self.program.is_exit(loc)) {
            return vec![(memory, 0)];
        }
        let position = Position { program: self.program, places: &self.places, loc, valuation };
        let readings = self.watcher.read(memory, position);
        self.marked |= readings.iter().any(|reading| reading.kept != 0);
        readings.into_iter().map(|reading| (reading.memory, reading.kept)).collect()
    }

    /// The rules of an activation that runs.
    fn steps(&mut self, loc: LocId, valuation: &Valuation, memory: Memory) -> Result<Vec<Rule>, TooLarge> {
        let program = self.program;
        let mut rules = Vec::new();
        for (memory, kept) in self.read(memory, Some(loc), valuation) {
            let before = rules.len();
            let beside = |globals: &[Value]| Control { globals: globals.to_vec(), results: None, memory };
            for &id in program.leaving(loc) {
                let edge = &program.edges()[id];
                let all = successors(program, &self.places, &edge.action, valuation);
                for successor in all.map_err(|_| TooLarge)? {
                    match successor {
                        Successor::Move(after) => {
                            let stack = vec![Symbol::At(edge.to, after.locals)];
                            rules.push(Rule { control: beside(&after.globals), stack, kept });
                        }
                        Successor::Return(results) => {
                            let control = Control { results: Some(results), ..beside(&valuation.globals) };
                            rules.push(Rule { control, stack: Vec::new(), kept });
                        }
                        Successor::Call(params) => {
                            let Action::Call { callee, .. } = edge.action else { continue };
                            let entry = program.procs()[callee].entry;
                            for locals in self.first(self.places.all_locals(program, callee, &params)) {
                                let waits = Symbol::Waits(id, valuation.locals.clone());
                                let stack = vec![Symbol::At(entry, locals), waits];
                                rules.push(Rule { control: beside(&valuation.globals), stack, kept });
                            }
                        }
                    }
                }
            }
            self.branches |= rules.len() > before + 1;
        }
        Ok(rules)
    }

    /// Iterates until nothing new is found.
    fn saturate(&mut self) -> Result<(), TooLarge> {
        while let Some(head) = self.fresh.pop() {
            let rules = std::mem::take(&mut self.rules[head]);
            let mut removed = self.removed[head].clone();
            for Rule { control, stack, kept } in &rules {
                let Some(top) = stack.first() else {
                    *removed.entry(control.clone()).or_default() |= kept;
                    continue;
                };
                let mut to = vec![(self.number((control.clone(), top.clone()))?, *kept)];
                if let Some(below) = stack.get(1) {
                    let (called, _) = to[0];
                    self.arc(head, called, *kept);
                    to.clear();
                    for (control, during) in self.removed[called].clone() {
                        to.push((self.number((control, below.clone()))?, kept | during));
                    }
                }
                for (to, kept) in to {
                    self.arc(head, to, kept);
                    for (control, later) in &self.removed[to] {
                        *removed.entry(control.clone()).or_default() |= kept | later;
                    }
                }
            }
            self.rules[head] = rules;
            if self.removed[head] != removed {
                self.removed[head] = removed;
                self.fresh.extend(self.users[head].iter().copied());
            }
        }
        Ok(())
    }

    fn arc(&mut self, from: usize, to: usize, kept: u64) {
        *self.arcs.entry((from, to)).or_default() |= kept;
        if !self.users[to].contains(&from) {
            self.users[to].push(from);
        }
    }

    /// Whether all promises are kept within a strongly connected component that has an arc.
    fn has_fair_component(&self) -> bool {
        let components = self.components();
        let mut kept: HashMap<usize, u64> = HashMap::new();
        for (&(from, to), arc) in &self.arcs {
            if components[from] == components[to] {
                *kept.entry(components[from]).or_default() |= arc;
            }
        }
        let wanted = self.watcher.promises();
        kept.values().any(|kept| kept & wanted == wanted)
    }

    /// For each head a number that it has in common with those of its strongly connected component: in the order in which a first
    /// search leaves the heads, a second one goes backwards (Kosaraju and Sharir).
    fn components(&self) -> Vec<usize> {
        let count = self.numbers.len();
        let (mut after, mut before) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for &(from, to) in self.arcs.keys() {
            after[from].push(to);
            before[to].push(from);
        }
        let mut left: Vec<usize> = Vec::new();
        let mut seen = vec![false; count];
        for start in 0..count {
            let mut way = vec![(start, 0)];
            while let Some((at, next)) = way.last_mut() {
                if *next == 0 && std::mem::replace(&mut seen[*at], true) {
                    way.pop();
                    continue;
                }
                *next += 1;
                match after[*at].get(*next - 1) {
                    Some(&to) if !seen[to] => way.push((to, 0)),
                    Some(_) => {}
                    None => {
                        left.push(*at);
                        way.pop();
                    }
                }
            }
        }
        let mut components = vec![usize::MAX; count];
        for &root in left.iter().rev() {
            let mut work = vec![root];
            while let Some(at) = work.pop() {
                if components[at] == usize::MAX {
                    components[at] = root;
                    work.extend(&before[at]);
                }
            }
        }
        components
    }
}
