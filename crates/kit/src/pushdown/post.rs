//! Room `kit/pushdown`: the configurations that can be reached.
//!
//! # Idea
//!
//! A transition `p —γ→ s` says that p with γ on top of a stack that s accepts was reached. A rule that pops γ leaves `p' —ε→ s`; one
//! that replaces it, `p' —γ'→ s`; one that pushes γ' on γ'' enters a state of its own for γ', the *activation* of (p', γ'), which has
//! the transition `activation —γ''→ s` for each place to return to: a *frame*. When something is popped down to an activation, every frame of it is
//! continued.
//!
//! Weights that increase are handed on by their differences. They wait at their transition until its turn comes, and are handed on
//! together. Each increase remembers its cause, and causes look back only: so runs can be found again.

use super::{Automaton, Domain, Grown, Origin, Push, Rule, Symbol, System, Transition};
use rustc_hash::FxHashMap as HashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Where an increase of a weight came from. A transition is given by its number, and by how many of its increments there were at that
/// time: some of them account for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// It was there from the start.
    Initial,
    /// A rule, applied to a transition.
    Rule {
        /// The rule.
        rule: u32,
        /// The transition, and how many increments it had.
        source: (u32, u32),
    },
    /// The start of an activation: a rule that pushes, applied to a transition.
    Entered {
        /// The rule.
        rule: u32,
        /// The transition, and how many increments it had.
        source: (u32, u32),
    },
    /// A frame that was continued after its activation was popped.
    Returned {
        /// The frame, and how many increments it had.
        frame: (u32, u32),
        /// What was popped, and how many increments it had.
        popped: (u32, u32),
    },
}

impl Cause {
    fn way(self) -> u32 {
        match self {
            Cause::Initial => u32::MAX,
            Cause::Rule { rule, .. } | Cause::Entered { rule, .. } => rule,
            Cause::Returned { frame, .. } => frame.0,
        }
    }
}

/// An increase of the weight of a transition.
#[derive(Clone, Debug)]
pub struct Increment<W> {
    /// What was new.
    pub difference: W,
    /// Where it came from.
    pub cause: Cause,
}

/// Decides in which order transitions have their turns, and sees them grow. It may stop saturation, which can be gone on with.
pub trait Watch<D: Domain> {
    /// The rank of a transition that has grown so many times. Transitions with a lower rank have their turns first, which changes
    /// the cost and not the result.
    fn rank(&self, transition: Transition, increments: usize) -> u64;
    /// A transition is about to have its turn. All weights there are stand in the system and in the saturation.
    fn turn(&mut self, transition: Transition) -> Result<(), D::Stop>;
    /// The weight of a transition has grown.
    fn grown(&mut self, transition: Transition) -> Result<(), D::Stop>;
}

/// In the order in which transitions were found.
struct Plain;

impl<D: Domain> Watch<D> for Plain {
    fn rank(&self, _: Transition, _: usize) -> u64 {
        0
    }
    fn turn(&mut self, _: Transition) -> Result<(), D::Stop> {
        Ok(())
    }
    fn grown(&mut self, _: Transition) -> Result<(), D::Stop> {
        Ok(())
    }
}

/// An automaton on its way to saturation, and how it came about.
#[derive(Clone, Debug)]
pub struct Saturation<W> {
    /// The automaton.
    pub automaton: Automaton<W>,
    /// For each transition its increments, in their order.
    pub increments: Vec<Vec<Increment<W>>>,
    activations: HashMap<(u32, Symbol), u32>,
    /// Transitions that have grown, by rank.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    /// For each transition how many of its increments were handed on.
    handed: Vec<u32>,
    /// Transitions by the empty word, by where they lead.
    popped: HashMap<u32, Vec<u32>>,
}

/// The configurations that can be reached from those that an automaton accepts, to whose controls no transition leads.
pub fn post_star<D: Domain>(
    domain: &mut D,
    system: &System<D::Weight>,
    start: Automaton<D::Weight>,
) -> Result<Saturation<D::Weight>, D::Stop> {
    let mut saturation = Saturation::new(start);
    saturation.run(domain, system, &mut Plain)?;
    Ok(saturation)
}

impl<W: Clone> Saturation<W> {
    /// Begins with the configurations that an automaton accepts, to whose controls no transition leads.
    pub fn new(start: Automaton<W>) -> Self {
        let first = |(_, weight): (Transition, &W)| {
            vec![Increment { difference: weight.clone(), cause: Cause::Initial }]
        };
        let increments: Vec<_> = start.transitions().map(first).collect();
        let count = increments.len();
        Saturation {
            automaton: start,
            increments,
            activations: HashMap::default(),
            queue: (0..count as u32).map(|number| Reverse((0, number))).collect(),
            handed: vec![0; count],
            popped: HashMap::default(),
        }
    }

    /// Goes on until nothing changes, or until the domain or the watch stops it; it can be gone on with afterwards.
    pub fn run<D: Domain<Weight = W>>(
        &mut self,
        domain: &mut D,
        system: &System<W>,
        watch: &mut dyn Watch<D>,
    ) -> Result<(), D::Stop> {
        Post { domain, system, watch, saturated: self }.run()
    }

    /// The weight of a transition.
    pub fn weight(&self, from: u32, symbol: Option<Symbol>, to: u32) -> Option<&W> {
        self.automaton.weight(from, symbol, to)
    }

    /// All weights that it holds.
    pub fn weights(&self) -> impl Iterator<Item = &W> {
        let differences = self.increments.iter().flatten().map(|increment| &increment.difference);
        self.automaton.list.iter().map(|(_, weight)| weight).chain(differences)
    }

    /// The activations: their states, each with the control and the symbol that it starts with.
    pub fn activations(&self) -> impl Iterator<Item = (u32, (u32, Symbol))> {
        self.activations.iter().map(|(&head, &state)| (state, head))
    }

    /// The state of the activation that starts with a control and a symbol.
    pub fn activation(&self, control: u32, symbol: Symbol) -> Option<u32> {
        self.activations.get(&(control, symbol)).copied()
    }
}

struct Post<'p, D: Domain> {
    domain: &'p mut D,
    system: &'p System<D::Weight>,
    watch: &'p mut dyn Watch<D>,
    saturated: &'p mut Saturation<D::Weight>,
}

impl<D: Domain> Post<'_, D> {
    fn run(&mut self) -> Result<(), D::Stop> {
        while let Some(Reverse((_, number))) = self.saturated.queue.pop() {
            let (count, handed) = (self.count(number), self.saturated.handed[number as usize]);
            if handed == count {
                continue;
            }
            let turn = self.watch.turn(self.at(number));
            if let Err(stop) = turn.and_then(|()| self.hand_on(number, handed)) {
                self.wait(number);
                return Err(stop);
            }
            self.saturated.handed[number as usize] = count;
            // A transition may lead to itself, and have grown meanwhile.
            if self.count(number) > count {
                self.wait(number);
            }
        }
        Ok(())
    }

    /// Hands on what waits at a transition.
    fn hand_on(&mut self, number: u32, handed: u32) -> Result<(), D::Stop> {
        let weight = self.waiting(number, handed)?;
        let transition = self.at(number);
        match transition.symbol {
            None => self.continue_frames(number, &weight),
            // Only controls run; what else leads away by a symbol is a frame.
            Some(symbol) if transition.from < self.system.controls() => {
                let system = self.system;
                let mut rules = system.applying(transition.from, symbol).iter();
                rules.try_for_each(|&rule| {
                    self.apply(rule, &system.rules()[rule as usize], number, transition.to, &weight)
                })
            }
            Some(_) => self.continue_after(number, &weight),
        }
    }

    fn at(&self, number: u32) -> Transition {
        self.saturated.automaton.list[number as usize].0
    }

    fn count(&self, number: u32) -> u32 {
        self.saturated.increments[number as usize].len() as u32
    }

    fn now(&self, number: u32) -> (u32, u32) {
        (number, self.count(number))
    }

    fn wait(&mut self, number: u32) {
        let rank = self.watch.rank(self.at(number), self.count(number) as usize);
        self.saturated.queue.push(Reverse((rank, number)));
    }

    /// What waits at a transition: the sum of its last increments.
    fn waiting(&mut self, number: u32, handed: u32) -> Result<D::Weight, D::Stop> {
        let list = &self.saturated.increments[number as usize][handed as usize..];
        let mut sum = list[0].difference.clone();
        for increment in &list[1..] {
            sum = self.domain.add(&sum, &increment.difference)?;
        }
        Ok(sum)
    }

    fn apply(
        &mut self,
        number: u32,
        rule: &Rule<D::Weight>,
        source: u32,
        to: u32,
        weight: &D::Weight,
    ) -> Result<(), D::Stop> {
        let Some(weight) = self.domain.extend(weight, &rule.weight)? else { return Ok(()) };
        let control = rule.to.0;
        let cause = Cause::Rule { rule: number, source: self.now(source) };
        match rule.to.1 {
            Push::None => self.grow(Transition { from: control, symbol: None, to }, weight, cause),
            Push::One(symbol) => {
                self.grow(Transition { from: control, symbol: Some(symbol), to }, weight, cause)
            }
            Push::Two(symbol, back) => {
                let saturated = &mut *self.saturated;
                let automaton = &mut saturated.automaton;
                let activation =
                    *saturated.activations.entry((control, symbol)).or_insert_with(|| automaton.state());
                let start = self.domain.enter(&weight, symbol)?;
                self.grow(Transition { from: activation, symbol: Some(back), to }, weight, cause)?;
                let cause = Cause::Entered { rule: number, source: self.now(source) };
                self.grow(Transition { from: control, symbol: Some(symbol), to: activation }, start, cause)
            }
        }
    }

    /// Something new was popped: continues every frame of the activation.
    fn continue_frames(&mut self, popped: u32, weight: &D::Weight) -> Result<(), D::Stop> {
        let Transition { from, to, .. } = self.at(popped);
        let frames = self.saturated.automaton.leaving(to).to_vec();
        for frame in frames {
            let total = self.saturated.automaton.list[frame as usize].1.clone();
            if let Some(weight) = self.domain.extend(&total, weight)? {
                let Transition { symbol, to, .. } = self.at(frame);
                let cause = Cause::Returned { frame: self.now(frame), popped: self.now(popped) };
                self.grow(Transition { from, symbol, to }, weight, cause)?;
            }
        }
        Ok(())
    }

    /// There is something new about a frame: continues it after all that was popped down to it.
    fn continue_after(&mut self, frame: u32, weight: &D::Weight) -> Result<(), D::Stop> {
        let Transition { from: activation, symbol, to } = self.at(frame);
        for popped in self.saturated.popped.get(&activation).cloned().unwrap_or_default() {
            let total = self.saturated.automaton.list[popped as usize].1.clone();
            if let Some(weight) = self.domain.extend(weight, &total)? {
                let from = self.at(popped).from;
                let cause = Cause::Returned { frame: self.now(frame), popped: self.now(popped) };
                self.grow(Transition { from, symbol, to }, weight, cause)?;
            }
        }
        Ok(())
    }

    /// Adds to the weight of a transition.
    fn grow(&mut self, transition: Transition, weight: D::Weight, cause: Cause) -> Result<(), D::Stop> {
        let Transition { from, symbol, to } = transition;
        let known = self.saturated.automaton.number(from, symbol, to);
        let old = known.map(|number| &self.saturated.automaton.list[number as usize].1);
        let Some(Grown { sum, difference }) =
            self.domain.combine(old, weight, Origin { transition, way: cause.way() })?
        else {
            return Ok(());
        };
        let number = match known {
            Some(number) => {
                self.saturated.automaton.list[number as usize].1 = sum;
                number
            }
            None => {
                let number = self.saturated.automaton.transition(from, symbol, to, sum);
                self.saturated.increments.push(Vec::new());
                self.saturated.handed.push(0);
                if symbol.is_none() {
                    self.saturated.popped.entry(to).or_default().push(number);
                }
                number
            }
        };
        self.saturated.increments[number as usize].push(Increment { difference, cause });
        self.wait(number);
        self.watch.grown(transition)
    }
}
