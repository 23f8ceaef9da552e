//! Room `kit`: weighted pushdown systems.
//!
//! # Idea
//!
//! A pushdown system has finitely many *controls* and *symbols*. A configuration is a control and a stack of symbols; a
//! [`Rule`] replaces a control and the symbol on top by a control and at most two symbols. Rules carry *weights*: what happens along
//! a run is the product of the weights of its rules, and several runs between the same configurations are summed. What weights are is up to a
//! [`Domain`]: truth values for plain reachability, lengths for shortest runs, relations between valuations for
//! programs.
//!
//! Regular sets of configurations are accepted by automata whose states include the controls ([`Automaton`]). The
//! configurations that can be reached from a regular set are regular again, and so are those from which one can be reached.
//! [`post_star`] and [`pre_star`] compute them by *saturation*: transitions are added, and their weights grow, until nothing changes.
//!
//! # Example
//!
//! `f` calls itself any number of times before it returns. Is there a run to where `main` goes on, and how long is the shortest?
//!
//! ```
//! use postbop_kit::pushdown::{Automaton, Length, Push, Rule, Shortest, System, post_star};
//!
//! const MAIN: u32 = 0;
//! const BACK: u32 = 1; // in main, after the call
//! const F: u32 = 2;
//! const F_BACK: u32 = 3; // in f, after the call
//! let rule = |from, to| Rule { from: (0, from), to: (0, to), weight: Length(1) };
//! let system = System::new(1, vec![
//!     rule(MAIN, Push::Two(F, BACK)),
//!     rule(F, Push::Two(F, F_BACK)),
//!     rule(F, Push::None),
//!     rule(F_BACK, Push::None),
//! ]);
//! let mut start = Automaton::new(system.controls());
//! let end = start.state(); // a state of the automaton that stands for the empty stack
//! start.accept(end);
//! start.transition(0, Some(MAIN), end, Length(0));
//!
//! let reached = post_star(&mut Shortest, &system, start).unwrap();
//! assert_eq!(reached.weight(0, Some(BACK), end), Some(&Length(2)), "call, return");
//! assert_eq!(reached.weight(0, Some(MAIN), end), Some(&Length(0)));
//! ```
//!
//! # Paper
//!
//! \[reps-wpds\] for the algorithms on weights, \[schwoon\] for the treatment of the empty word, \[ndd-moped\] for the call
//! operator. # Departures: what is handed on is the difference to what was there (see [`Domain::combine`]), and all
//! that is waiting at one transition at once.
//!
//! # Cost
//!
//! Without weights, the number of rules times the square of the number of controls and calls; each increase of a weight costs the
//! rules that start there. Saturation ends if weights cannot increase for ever, or when the domain says stop.

mod automaton;
mod post;
mod pre;
mod semiring;
#[cfg(test)]
mod tests;
mod witness;

pub use automaton::{Automaton, Transition};
pub use post::{Cause, Increment, Saturation, Watch, post_star};
pub use pre::{BackwardSaturation, pre_star};
pub use semiring::{Length, Reachable, Shortest};
pub use witness::witness;

/// A control of a pushdown system.
pub type Control = u32;
/// A symbol on a stack.
pub type Symbol = u32;

/// What takes the place of the symbol on top.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Push {
    /// Nothing: the symbol is popped.
    None,
    /// Another symbol.
    One(Symbol),
    /// Two symbols, the first of them on top: a call, and where it goes on afterwards.
    Two(Symbol, Symbol),
}

/// A rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule<W> {
    /// Where it applies: the control, and the symbol on top.
    pub from: (Control, Symbol),
    /// What comes instead.
    pub to: (Control, Push),
    /// What happens on the way.
    pub weight: W,
}

/// What weights are. Products are taken in the order of the run.
pub trait Domain {
    /// A weight. A transition that is not there has the weight zero, which is no weight here.
    type Weight: Clone;
    /// Why the work was stopped.
    type Stop;
    /// The weight of doing nothing.
    fn one(&mut self) -> Self::Weight;
    /// One weight, then another; none if that is zero.
    fn extend(
        &mut self,
        first: &Self::Weight,
        then: &Self::Weight,
    ) -> Result<Option<Self::Weight>, Self::Stop>;
    /// The sum of two weights.
    fn add(&mut self, one: &Self::Weight, other: &Self::Weight) -> Result<Self::Weight, Self::Stop>;
    /// The sum of what is known of a transition and of a new weight, and the *difference*: a weight whose sum with the known one is that sum. It may be
    /// the new weight itself; less is better. None if the sum is what was known. The sum may be
    /// greater than it need be, if one may believe in more than can happen; then saturation ends with an over-approximation.
    fn combine(
        &mut self,
        known: Option<&Self::Weight>,
        new: Self::Weight,
        origin: Origin,
    ) -> Result<Option<Grown<Self::Weight>>, Self::Stop>;
    /// The call operator: the weight with which a called procedure starts, given the weight of the runs up to the call and
    /// the symbol it starts with. Any weight that changes nothing of what these runs arrive with is right: [`Domain::one`] evaluates the procedure for everything, a
    /// restriction of it evaluates it only for what it is called with.
    fn enter(&mut self, caller: &Self::Weight, symbol: Symbol) -> Result<Self::Weight, Self::Stop>;
}

/// Where a new weight goes, and by which way it came.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Origin {
    /// The transition that it is added to.
    pub transition: Transition,
    /// The number of the rule that was applied; where a frame is continued, the number of the frame's transition.
    pub way: u32,
}

/// A weight that has grown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grown<W> {
    /// The whole weight.
    pub sum: W,
    /// What is new about it.
    pub difference: W,
}

/// A pushdown system.
#[derive(Clone, Debug)]
pub struct System<W> {
    controls: u32,
    rules: Vec<Rule<W>>,
    /// The rules by where they apply.
    by_head: rustc_hash::FxHashMap<(Control, Symbol), Vec<u32>>,
}

impl<W> System<W> {
    /// The system with the controls `0..controls` and these rules.
    pub fn new(controls: u32, rules: Vec<Rule<W>>) -> Self {
        let mut by_head: rustc_hash::FxHashMap<_, Vec<u32>> = Default::default();
        for (number, rule) in rules.iter().enumerate() {
            debug_assert!(rule.from.0 < controls && rule.to.0 < controls, "a rule is between controls");
            by_head.entry(rule.from).or_default().push(number as u32);
        }
        System { controls, rules, by_head }
    }

    /// How many controls there are.
    pub fn controls(&self) -> u32 {
        self.controls
    }

    /// The rules, by their numbers.
    pub fn rules(&self) -> &[Rule<W>] {
        &self.rules
    }

    /// The numbers of the rules that apply to a control and a symbol.
    pub fn applying(&self, control: Control, symbol: Symbol) -> &[u32] {
        self.by_head.get(&(control, symbol)).map_or(&[], |rules| rules)
    }
}
