//! Room `kit/pushdown`: saturation against a search of configurations one by one.

use super::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % u64::from(bound)) as u32
    }
}

const CONTROLS: u32 = 2;
const SYMBOLS: u32 = 4;

fn random(seed: u64) -> System<Length> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
    let count = 6 + random.below(10);
    let rule = |_| {
        let push = match random.below(4) {
            0 => Push::None,
            1 => Push::One(random.below(SYMBOLS)),
            2 => Push::Two(random.below(SYMBOLS), random.below(SYMBOLS)),
            _ => Push::Two(random.below(SYMBOLS), 3),
        };
        Rule {
            from: (random.below(CONTROLS), random.below(SYMBOLS)),
            to: (random.below(CONTROLS), push),
            weight: Length(u64::from(1 + random.below(5))),
        }
    };
    System::new(CONTROLS, (0..count).map(rule).collect())
}

type Configuration = (u32, Vec<u32>);

fn successors<W: Clone>(system: &System<W>, (control, stack): &Configuration) -> Vec<(Configuration, W)> {
    let Some((&top, rest)) = stack.split_last() else { return Vec::new() };
    let after = |&rule: &u32| {
        let rule = &system.rules()[rule as usize];
        let pushed: &[u32] = match rule.to.1 {
            Push::None => &[],
            Push::One(symbol) => &[symbol],
            Push::Two(symbol, back) => &[back, symbol],
        };
        ((rule.to.0, [rest, pushed].concat()), rule.weight.clone())
    };
    system.applying(*control, top).iter().map(after).collect()
}

/// The shortest ways from (0, 0) to configurations, with stacks of at most so many symbols on the way. Stacks are written with the top
/// last.
fn search(system: &System<Length>, deepest: usize) -> BTreeMap<Configuration, u64> {
    let mut best: BTreeMap<Configuration, u64> = BTreeMap::from([((0, vec![0]), 0)]);
    let mut queue = VecDeque::from([(0, vec![0])]);
    while let Some(here) = queue.pop_front() {
        let length = best[&here];
        for (next, Length(weight)) in successors(system, &here) {
            let longer = best.get(&next).is_some_and(|&known| known <= length + weight);
            if next.1.len() <= deepest && !longer {
                best.insert(next.clone(), length + weight);
                queue.push_back(next);
            }
        }
    }
    best
}

fn start(system: &System<Length>) -> (Automaton<Length>, u32) {
    let mut start = Automaton::new(system.controls());
    let end = start.state();
    start.accept(end);
    start.transition(0, Some(0), end, Length(0));
    (start, end)
}

/// All configurations with short stacks.
fn short() -> impl Iterator<Item = Configuration> {
    let stacks = (0..4u32).flat_map(|length| {
        let count = SYMBOLS.pow(length);
        (0..count).map(move |number| (0..length).map(|at| number / SYMBOLS.pow(at) % SYMBOLS).collect())
    });
    stacks.flat_map(|stack: Vec<u32>| (0..CONTROLS).map(move |control| (control, stack.clone())))
}

#[test]
fn post_and_pre_agree_with_each_other_and_with_a_search() {
    for seed in 0..300 {
        let system = random(seed);
        let (first, end) = start(&system);
        let post = post_star(&mut Shortest, &system, first).ok().unwrap();
        // Configurations that are reached with stacks of ten symbols or less.
        let found = search(&system, 10);
        for (control, stack) in short() {
            let from_top: Vec<u32> = stack.iter().rev().copied().collect();
            let reached = post.automaton.has(control, &from_top);
            let searched = found.contains_key(&(control, stack.clone()));
            assert!(reached || !searched, "seed {seed}: ({control}, {stack:?}) is reached");
            if from_top.len() == 1 {
                // One configuration, backwards: the way back to the start has the same length.
                let mut last = Automaton::new(CONTROLS);
                let bottom = last.state();
                last.accept(bottom);
                last.transition(control, Some(from_top[0]), bottom, Length(0));
                let pre = pre_star(&mut Shortest, &system, last).ok().unwrap();
                let back = pre.weight(0, Some(0), bottom).copied();
                let there = post.weight(control, Some(from_top[0]), end).copied();
                assert_eq!(there, back, "seed {seed}: ({control}, {stack:?})");
                let shortest = found.get(&(control, stack.clone())).copied();
                // The search looks at few configurations, so it may miss a way, but not find a shorter one.
                assert!(there.is_some() || shortest.is_none(), "seed {seed}");
                if let (Some(there), Some(shortest)) = (there, shortest) {
                    assert!(there.0 <= shortest, "seed {seed}");
                }
            }
        }
    }
}

#[test]
fn witnesses_are_runs_of_the_length_they_claim() {
    let mut long = 0;
    for seed in 0..300 {
        let system = random(seed + 10_000);
        let (first, end) = start(&system);
        let post = post_star(&mut Shortest, &system, first).ok().unwrap();
        for number in 0..post.automaton.transitions().len() as u32 {
            let (transition, weight) = post.automaton.transitions().nth(number as usize).unwrap();
            if transition.from >= CONTROLS || transition.to != end {
                continue;
            }
            let rules = witness(&post, number, 10_000).expect("runs of small systems are short");
            let mut here: Configuration = (0, vec![0]);
            let mut length = 0;
            for &rule in &rules {
                let rule = &system.rules()[rule as usize];
                let top = here.1.pop();
                assert_eq!((here.0, top), (rule.from.0, Some(rule.from.1)), "seed {seed}");
                here.0 = rule.to.0;
                match rule.to.1 {
                    Push::None => {}
                    Push::One(symbol) => here.1.push(symbol),
                    Push::Two(symbol, back) => here.1.extend([back, symbol]),
                }
                length += rule.weight.0;
            }
            assert_eq!(here, (transition.from, transition.symbol.into_iter().collect()), "seed {seed}");
            assert_eq!(Length(length), *weight, "seed {seed}");
            long += usize::from(rules.len() > 5);
        }
    }
    assert!(long > 20, "some runs have many rules");
}

#[test]
fn weights_that_only_say_that_there_is_a_run() {
    for seed in 0..500 {
        let lengths = random(seed + 20_000);
        let plain = lengths.rules().iter().map(|rule| Rule { from: rule.from, to: rule.to, weight: () });
        let plain = System::new(CONTROLS, plain.collect());
        let mut first = Automaton::new(CONTROLS);
        let end = first.state();
        first.accept(end);
        first.transition(0, Some(0), end, ());
        let one = post_star(&mut Reachable, &plain, first).unwrap_or_else(|never| match never {});
        let other = post_star(&mut Shortest, &lengths, start(&lengths).0).ok().unwrap();
        for (control, stack) in short() {
            assert_eq!(
                one.automaton.has(control, &stack),
                other.automaton.has(control, &stack),
                "seed {seed}"
            );
        }
    }
}

/// An automaton that accepts one configuration, whose stack has its top last.
fn only((control, stack): &Configuration) -> Automaton<()> {
    let mut only = Automaton::new(CONTROLS);
    let mut at = *control;
    for &symbol in stack.iter().rev() {
        let next = only.state();
        only.transition(at, Some(symbol), next, ());
        at = next;
    }
    only.accept(at);
    only
}

/// The configurations that are reached from one with stacks of at most so many symbols on the way.
fn reachable(system: &System<()>, from: &Configuration, deepest: usize) -> BTreeSet<Configuration> {
    let mut found = BTreeSet::from([from.clone()]);
    let mut work = vec![from.clone()];
    while let Some(here) = work.pop() {
        for (next, ()) in successors(system, &here) {
            if next.1.len() <= deepest && found.insert(next.clone()) {
                work.push(next);
            }
        }
    }
    found
}

#[test]
fn one_configuration_reaches_another_forwards_if_it_does_backwards() {
    let (mut reached, mut unreached) = (0, 0);
    for seed in 0..20_000 {
        let lengths = random(seed + 30_000);
        let plain = lengths.rules().iter().map(|rule| Rule { from: rule.from, to: rule.to, weight: () });
        let system = System::new(CONTROLS, plain.collect());
        let mut random = Random(seed);
        let mut any = || -> Configuration {
            let control = random.below(CONTROLS);
            let height = random.below(4);
            (control, (0..height).map(|_| random.below(SYMBOLS)).collect())
        };
        let first = any();
        let from_top = |stack: &[u32]| stack.iter().rev().copied().collect::<Vec<u32>>();
        let post = post_star(&mut Reachable, &system, only(&first)).unwrap_or_else(|never| match never {});
        let searched = reachable(&system, &first, 7);
        // Some configurations that a search reaches, and some whatever they are.
        let near = searched.iter().filter(|(_, stack)| stack.len() < 5).step_by(7).take(4).cloned();
        for other in near.chain((0..3).map(|_| any())).collect::<Vec<_>>() {
            let there = post.automaton.has(other.0, &from_top(&other.1));
            let pre = pre_star(&mut Reachable, &system, only(&other)).unwrap_or_else(|never| match never {});
            let back = pre.has(first.0, &from_top(&first.1));
            assert_eq!(there, back, "seed {seed}: from {first:?} to {other:?}");
            assert!(there || !searched.contains(&other), "seed {seed}: from {first:?} to {other:?}");
            // A search that met no stack of the greatest height has seen everything.
            let complete = searched.iter().all(|(_, stack)| stack.len() < 7);
            assert!(!(there && complete) || searched.contains(&other), "seed {seed}: {first:?}, {other:?}");
            *(if there { &mut reached } else { &mut unreached }) += 1;
        }
    }
    assert!(reached > 5000 && unreached > 5000, "{reached} and {unreached}");
}
