//! Room `kit/pushdown`: the configurations from which others can be reached.
//!
//! # Idea
//!
//! If a rule replaces γ by a word that leads from its control to a state s, then γ leads from the rule's own control to s. A rule that
//! pushes two symbols needs two transitions in a row; the second half of it waits, as a rule of its own, at the state where the first
//! half ends.

use super::{Automaton, Control, Domain, Grown, Origin, Push, Symbol, System, Transition};
use rustc_hash::FxHashMap as HashMap;

/// The configurations from which one that an automaton accepts can be reached, with the weights of the runs. No transition of the automaton leads to a
/// control, or reads the empty word.
pub fn pre_star<D: Domain>(
    domain: &mut D,
    system: &System<D::Weight>,
    end: Automaton<D::Weight>,
) -> Result<Automaton<D::Weight>, D::Stop> {
    let mut saturation = BackwardSaturation::new(end, system);
    saturation.run(domain, system, &mut || Ok(()))?;
    Ok(saturation.automaton)
}

/// The second half of a rule that pushes two symbols: the rule's own control and symbol, and the weight so far.
type Half<W> = ((Control, Symbol), W);

/// An automaton on its way to saturation, backwards.
#[derive(Clone, Debug)]
pub struct BackwardSaturation<W> {
    /// The automaton.
    pub automaton: Automaton<W>,
    /// How many rules were looked at for what they pop.
    looked_at: usize,
    /// Rules by the control and the first symbol that they lead to.
    by_result: HashMap<(Control, Symbol), Vec<u32>>,
    /// Transitions by where they start and what they read.
    reading: HashMap<(u32, Symbol), Vec<u32>>,
    /// For each transition what was not handed on yet.
    waiting: Vec<Option<W>>,
    work: Vec<u32>,
    /// Halves of rules, by the state and the symbol at which they wait.
    halves: HashMap<(u32, Symbol), Vec<Half<W>>>,
}

impl<W: Clone> BackwardSaturation<W> {
    /// Begins with the configurations that an automaton accepts. None of its transitions leads to a control, or reads the empty word.
    pub fn new(end: Automaton<W>, system: &System<W>) -> Self {
        let mut by_result: HashMap<(Control, Symbol), Vec<u32>> = HashMap::default();
        for (number, rule) in system.rules().iter().enumerate() {
            if let (control, Push::One(symbol) | Push::Two(symbol, _)) = rule.to {
                by_result.entry((control, symbol)).or_default().push(number as u32);
            }
        }
        let mut reading: HashMap<(u32, Symbol), Vec<u32>> = HashMap::default();
        for (number, (Transition { from, symbol, .. }, _)) in end.transitions().enumerate() {
            let symbol = symbol.expect("no transition reads the empty word");
            reading.entry((from, symbol)).or_default().push(number as u32);
        }
        let waiting: Vec<_> = end.transitions().map(|(_, weight)| Some(weight.clone())).collect();
        let work = (0..waiting.len() as u32).collect();
        let halves = HashMap::default();
        BackwardSaturation { automaton: end, looked_at: 0, by_result, reading, waiting, work, halves }
    }

    /// Goes on until nothing changes, or until the domain or `turn` stops it. When `turn` is asked, all weights there are stand in the system and in the
    /// saturation, which can be gone on with if it stops it; if the domain does, it cannot.
    pub fn run<D: Domain<Weight = W>>(
        &mut self,
        domain: &mut D,
        system: &System<W>,
        turn: &mut dyn FnMut() -> Result<(), D::Stop>,
    ) -> Result<(), D::Stop> {
        Pre { domain, system, saturated: self }.run(turn)
    }

    /// All weights that it holds.
    pub fn weights(&self) -> impl Iterator<Item = &W> {
        let sums = self.automaton.list.iter().map(|(_, weight)| weight);
        let halves = self.halves.values().flatten().map(|(_, weight)| weight);
        sums.chain(self.waiting.iter().flatten()).chain(halves)
    }
}

struct Pre<'p, D: Domain> {
    domain: &'p mut D,
    system: &'p System<D::Weight>,
    saturated: &'p mut BackwardSaturation<D::Weight>,
}

impl<D: Domain> Pre<'_, D> {
    fn run(&mut self, turn: &mut dyn FnMut() -> Result<(), D::Stop>) -> Result<(), D::Stop> {
        // Rules that pop a symbol lead to their control without reading anything.
        while let Some(rule) = self.system.rules().get(self.saturated.looked_at) {
            turn()?;
            if let (control, Push::None) = rule.to {
                self.grow(rule.from, control, rule.weight.clone())?;
            }
            self.saturated.looked_at += 1;
        }
        while let Some(&number) = self.saturated.work.last() {
            turn()?;
            self.saturated.work.pop();
            if let Some(weight) = self.saturated.waiting[number as usize].take() {
                self.hand_on(number, &weight)?;
            }
        }
        Ok(())
    }

    /// Hands on what waited at a transition.
    fn hand_on(&mut self, number: u32, weight: &D::Weight) -> Result<(), D::Stop> {
        let Transition { from, symbol, to } = self.saturated.automaton.list[number as usize].0;
        let symbol = symbol.expect("no transition reads the empty word");
        for rule in self.saturated.by_result.get(&(from, symbol)).cloned().unwrap_or_default() {
            let rule = &self.system.rules()[rule as usize];
            let Some(weight) = self.domain.extend(&rule.weight, weight)? else { continue };
            match rule.to.1 {
                Push::Two(_, back) => self.second_half((rule.from, weight), to, back)?,
                _ => self.grow(rule.from, to, weight)?,
            }
        }
        for (head, before) in self.saturated.halves.get(&(from, symbol)).cloned().unwrap_or_default() {
            if let Some(weight) = self.domain.extend(&before, weight)? {
                self.grow(head, to, weight)?;
            }
        }
        Ok(())
    }

    /// The first of two symbols leads to a state: the second may go on from there.
    fn second_half(&mut self, half: Half<D::Weight>, state: u32, back: Symbol) -> Result<(), D::Stop> {
        for number in self.saturated.reading.get(&(state, back)).cloned().unwrap_or_default() {
            let (transition, weight) = &self.saturated.automaton.list[number as usize];
            let to = transition.to;
            if let Some(weight) = self.domain.extend(&half.1, weight)? {
                self.grow(half.0, to, weight)?;
            }
        }
        self.saturated.halves.entry((state, back)).or_default().push(half);
        Ok(())
    }

    fn grow(&mut self, (from, symbol): (Control, Symbol), to: u32, weight: D::Weight) -> Result<(), D::Stop> {
        let saturated = &mut *self.saturated;
        let known = saturated.automaton.number(from, Some(symbol), to);
        let old = known.map(|number| &saturated.automaton.list[number as usize].1);
        let origin = Origin { transition: Transition { from, symbol: Some(symbol), to }, way: 0 };
        let Some(Grown { sum, difference }) = self.domain.combine(old, weight, origin)? else {
            return Ok(());
        };
        let number = match known {
            Some(number) => {
                saturated.automaton.list[number as usize].1 = sum;
                number
            }
            None => {
                saturated.waiting.push(None);
                let number = saturated.automaton.transition(from, Some(symbol), to, sum);
                saturated.reading.entry((from, symbol)).or_default().push(number);
                number
            }
        };
        let waiting = saturated.waiting[number as usize].take();
        saturated.waiting[number as usize] = Some(match waiting {
            Some(waiting) => self.domain.add(&waiting, &difference)?,
            None => difference,
        });
        saturated.work.push(number);
        Ok(())
    }
}
