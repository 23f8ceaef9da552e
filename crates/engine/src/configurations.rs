//! Room `engine`: the configurations of a pushdown system that can be reached, or from which others can, as automata.
//!
//! # Idea
//!
//! A configuration is a control and a stack. Those that can be reached from a few are a regular set in general, with infinitely many members; so are those from
//! which one of a few can be reached. [`postbop_kit::pushdown`] computes the automata; here they get names: a control is a state of its own name, the place where stacks end is `(end)`, the activation that
//! starts with control q and symbol f is `q:f`, and between the symbols of a stack that was given there are `(1)`, `(2)` and so on.

use postbop_front::plain::{Configuration, Plain};
use postbop_kit::pushdown::{Automaton, Push, Reachable, Rule, System, Transition, post_star, pre_star};
use rustc_hash::FxHashMap as HashMap;

/// In which direction configurations are sought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Those that can be reached.
    Forwards,
    /// Those from which they can be reached.
    Backwards,
}

/// An automaton that accepts a configuration if its stack, read from the top, leads from its control to a state that accepts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Configurations {
    /// From a state, by a symbol or by the empty word, to a state; in order.
    pub transitions: Vec<(String, Option<String>, String)>,
    /// The states at which stacks may end, in order.
    pub accepting: Vec<String>,
}

/// The configurations that can be reached from some, or from which some can be reached.
pub fn configurations(plain: &Plain, from: &[Configuration], direction: Direction) -> Configurations {
    let rule = |rule: &postbop_front::plain::PlainRule| {
        let push = match rule.stack[..] {
            [] => Push::None,
            [symbol] => Push::One(symbol),
            [top, below, ..] => Push::Two(top, below),
        };
        Rule { from: rule.from, to: (rule.control, push), weight: () }
    };
    let controls = plain.controls.len() as u32;
    let system = System::new(controls, plain.rules.iter().map(rule).collect());
    let (start, mut names) = spelled(plain, from);
    let automaton = match direction {
        Direction::Backwards => {
            pre_star(&mut Reachable, &system, start).unwrap_or_else(|never| match never {})
        }
        Direction::Forwards => {
            let found = post_star(&mut Reachable, &system, start).unwrap_or_else(|never| match never {});
            let activations = found.activations().map(|(state, (control, symbol))| {
                let name = format!("{}:{}", plain.controls[control as usize], plain.symbols[symbol as usize]);
                (state, name)
            });
            names.extend(activations);
            found.automaton
        }
    };
    let name = |state: u32| names[&state].clone();
    let row = |(Transition { from, symbol, to }, ()): (Transition, &())| {
        (name(from), symbol.map(|symbol| plain.symbols[symbol as usize].clone()), name(to))
    };
    let mut transitions: Vec<_> = automaton.transitions().map(row).collect();
    transitions.sort();
    let states = 0..automaton.states();
    let mut accepting: Vec<String> = states.filter(|&state| automaton.accepts(state)).map(name).collect();
    accepting.sort();
    Configurations { transitions, accepting }
}

/// An automaton that accepts some configurations, and the names of its states.
fn spelled(plain: &Plain, all: &[Configuration]) -> (Automaton<()>, HashMap<u32, String>) {
    let mut automaton = Automaton::new(plain.controls.len() as u32);
    let mut names: HashMap<u32, String> = (0..).zip(plain.controls.iter().cloned()).collect();
    let end = automaton.state();
    automaton.accept(end);
    names.insert(end, "(end)".to_owned());
    let mut all = all.to_vec();
    all.sort();
    all.dedup();
    for Configuration { control, stack } in all {
        let mut at = control;
        for (place, &symbol) in stack.iter().enumerate() {
            let next = if place + 1 == stack.len() { end } else { automaton.state() };
            names.entry(next).or_insert_with(|| format!("({})", next - end));
            automaton.transition(at, Some(symbol), next, ());
            at = next;
        }
        if stack.is_empty() {
            automaton.accept(control);
        }
    }
    (automaton, names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use postbop_front::read::File;

    #[test]
    fn a_recursion_has_stacks_of_any_height() {
        // f calls itself any number of times, and returns.
        let text =
            b"(q <main>) q <main> --> q <f back> q <f> --> q <f again> q <f> --> q <> q <again> --> q <>";
        let plain = postbop_front::plain::plain(&[File { name: "a.pds", bytes: text }]).unwrap();
        let found = configurations(&plain, std::slice::from_ref(&plain.start), Direction::Forwards);
        let has = |from: &str, symbol: Option<&str>, to: &str| {
            found.transitions.contains(&(from.into(), symbol.map(String::from), to.into()))
        };
        assert!(has("q", Some("f"), "q:f") && has("q:f", Some("again"), "q:f"));
        assert!(has("q:f", Some("back"), "(end)") && has("q", Some("back"), "(end)"));
        assert!(has("q", None, "q:f"));
        assert_eq!(found.accepting, ["(end)"]);
        // Nothing goes on after `back`.
        let back = plain.symbols.iter().position(|name| name == "back").unwrap() as u32;
        let wanted = Configuration { control: 0, stack: vec![back] };
        let found = configurations(&plain, &[wanted], Direction::Backwards);
        let from_start = found.transitions.iter().any(|(from, symbol, to)| {
            (from.as_str(), symbol.as_deref(), to.as_str()) == ("q", Some("main"), "(end)")
        });
        assert!(from_start, "{found:?}");
    }
}
