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
    let mut by_result: HashMap<(Control, Symbol), Vec<u32>> = HashMap::default();
    for (number, rule) in system.rules().iter().enumerate() {
        if let (control, Push::One(symbol) | Push::Two(symbol, _)) = rule.to {
            by_result.entry((control, symbol)).or_default().push(number as u32);
        }
    }
    let waiting = end.transitions().map(|(_, weight)| Some(weight.clone())).collect();
    let work = (0..end.transitions().len() as u32).collect();
    let mut pre =
        Pre { domain, system, by_result, automaton: end, waiting, work, halves: HashMap::default() };
    pre.pops()?;
    pre.run()?;
    Ok(pre.automaton)
}

/// The second half of a rule that pushes two symbols: the rule's own control and symbol, and the weight so far.
type Half<W> = ((Control, Symbol), W);

struct Pre<'p, D: Domain> {
    domain: &'p mut D,
    system: &'p System<D::Weight>,
    /// Rules by the control and the first symbol that they lead to.
    by_result: HashMap<(Control, Symbol), Vec<u32>>,
    automaton: Automaton<D::Weight>,
    /// For each transition what was not handed on yet.
    waiting: Vec<Option<D::Weight>>,
    work: Vec<u32>,
    /// Halves of rules, by the state and the symbol at which they wait.
    halves: HashMap<(u32, Symbol), Vec<Half<D::Weight>>>,
}

impl<D: Domain> Pre<'_, D> {
    /// Rules that pop a symbol lead to their control without reading anything.
    fn pops(&mut self) -> Result<(), D::Stop> {
        for rule in self.system.rules() {
            if let (control, Push::None) = rule.to {
                self.grow(rule.from, control, rule.weight.clone())?;
            }
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), D::Stop> {
        while let Some(number) = self.work.pop() {
            let Some(weight) = self.waiting[number as usize].take() else { continue };
            let Transition { from, symbol, to } = self.automaton.list[number as usize].0;
            let symbol = symbol.expect("no transition reads the empty word");
            for rule in self.by_result.get(&(from, symbol)).cloned().unwrap_or_default() {
                let rule = &self.system.rules()[rule as usize];
                let Some(weight) = self.domain.extend(&rule.weight, &weight)? else { continue };
                match rule.to.1 {
                    Push::Two(_, back) => self.second_half((rule.from, weight), to, back)?,
                    _ => self.grow(rule.from, to, weight)?,
                }
            }
            for (head, before) in self.halves.get(&(from, symbol)).cloned().unwrap_or_default() {
                if let Some(weight) = self.domain.extend(&before, &weight)? {
                    self.grow(head, to, weight)?;
                }
            }
        }
        Ok(())
    }

    /// The first of two symbols leads to a state: the second may go on from there.
    fn second_half(&mut self, half: Half<D::Weight>, state: u32, back: Symbol) -> Result<(), D::Stop> {
        for &number in &self.automaton.leaving(state).to_vec() {
            let (transition, weight) = &self.automaton.list[number as usize];
            if transition.symbol == Some(back) {
                let to = transition.to;
                if let Some(weight) = self.domain.extend(&half.1, weight)? {
                    self.grow(half.0, to, weight)?;
                }
            }
        }
        self.halves.entry((state, back)).or_default().push(half);
        Ok(())
    }

    fn grow(&mut self, (from, symbol): (Control, Symbol), to: u32, weight: D::Weight) -> Result<(), D::Stop> {
        let known = self.automaton.number(from, Some(symbol), to);
        let old = known.map(|number| &self.automaton.list[number as usize].1);
        let origin = Origin { transition: Transition { from, symbol: Some(symbol), to }, way: 0 };
        let Some(Grown { sum, difference }) = self.domain.combine(old, weight, origin)? else {
            return Ok(());
        };
        let number = match known {
            Some(number) => {
                self.automaton.list[number as usize].1 = sum;
                number
            }
            None => {
                self.waiting.push(None);
                self.automaton.transition(from, Some(symbol), to, sum)
            }
        };
        let waiting = self.waiting[number as usize].take();
        self.waiting[number as usize] = Some(match waiting {
            Some(waiting) => self.domain.add(&waiting, &difference)?,
            None => difference,
        });
        self.work.push(number);
        Ok(())
    }
}
