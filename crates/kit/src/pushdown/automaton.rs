//! Room `kit/pushdown`: automata that accept configurations.

use super::{Control, Symbol};
use rustc_hash::FxHashMap as HashMap;

/// A transition: from a state, by a symbol or by the empty word, to a state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Transition {
    /// Where it starts.
    pub from: u32,
    /// What it reads; nothing, if that is `None`.
    pub symbol: Option<Symbol>,
    /// Where it leads.
    pub to: u32,
}

/// An automaton that accepts configurations, with weights. Its first states are the controls: a configuration is accepted if its
/// stack, read from the top, leads from its control to a state that accepts.
#[derive(Clone, Debug)]
pub struct Automaton<W> {
    states: u32,
    accepting: Vec<u32>,
    pub(super) list: Vec<(Transition, W)>,
    known: HashMap<Transition, u32>,
    leaving: HashMap<u32, Vec<u32>>,
}

impl<W> Automaton<W> {
    /// An automaton without transitions, for a system with so many controls.
    pub fn new(controls: u32) -> Self {
        Automaton {
            states: controls,
            accepting: Vec::new(),
            list: Vec::new(),
            known: HashMap::default(),
            leaving: HashMap::default(),
        }
    }

    /// A new state.
    pub fn state(&mut self) -> u32 {
        self.states += 1;
        self.states - 1
    }

    /// How many states there are.
    pub fn states(&self) -> u32 {
        self.states
    }

    /// Lets stacks end at a state.
    pub fn accept(&mut self, state: u32) {
        self.accepting.push(state);
    }

    /// Whether stacks may end at a state.
    pub fn accepts(&self, state: u32) -> bool {
        self.accepting.contains(&state)
    }

    /// Adds a transition, which is not there yet, and returns its number. No transition leads to a control.
    pub fn transition(&mut self, from: u32, symbol: Option<Symbol>, to: u32, weight: W) -> u32 {
        let transition = Transition { from, symbol, to };
        let number = self.list.len() as u32;
        let old = self.known.insert(transition, number);
        debug_assert!(old.is_none(), "a transition is added once");
        self.list.push((transition, weight));
        self.leaving.entry(from).or_default().push(number);
        number
    }

    /// The number of a transition.
    pub fn number(&self, from: u32, symbol: Option<Symbol>, to: u32) -> Option<u32> {
        self.known.get(&Transition { from, symbol, to }).copied()
    }

    /// The weight of a transition.
    pub fn weight(&self, from: u32, symbol: Option<Symbol>, to: u32) -> Option<&W> {
        self.number(from, symbol, to).map(|number| &self.list[number as usize].1)
    }

    /// All transitions with their weights, by their numbers.
    pub fn transitions(&self) -> impl ExactSizeIterator<Item = (Transition, &W)> {
        self.list.iter().map(|(transition, weight)| (*transition, weight))
    }

    /// The numbers of the transitions that leave a state.
    pub fn leaving(&self, state: u32) -> &[u32] {
        self.leaving.get(&state).map_or(&[], |list| list)
    }

    /// Whether it accepts a configuration, whatever the weight.
    pub fn has(&self, control: Control, stack: &[Symbol]) -> bool {
        let mut states = self.silently(vec![control]);
        for &symbol in stack {
            let next = states.iter().flat_map(|&state| self.leaving(state));
            let next = next.map(|&number| self.list[number as usize].0);
            let next = next.filter(|transition| transition.symbol == Some(symbol));
            states = self.silently(next.map(|transition| transition.to).collect());
        }
        states.iter().any(|&state| self.accepts(state))
    }

    /// States, and those that the empty word leads to from them.
    fn silently(&self, mut states: Vec<u32>) -> Vec<u32> {
        let mut next = 0;
        while let Some(&state) = states.get(next) {
            for &number in self.leaving(state) {
                let (transition, _) = &self.list[number as usize];
                if transition.symbol.is_none() && !states.contains(&transition.to) {
                    states.push(transition.to);
                }
            }
            next += 1;
        }
        states
    }
}
