//! Room `kit`: from several sets of accepting edges to one set of accepting states.
//!
//! # Idea
//!
//! A run waits for an edge of the first set, then for one of the second, and so on; when it has seen all it is at the
//! top, in an accepting state, and begins anew. Copies of states count how far it got. That is only needed within a strongly
//! connected component in which runs are accepted, and only for the sets that some edge of the component misses: other
//! states have one copy, and a run that enters a component begins to count there.
//!
//! # Paper
//!
//! \[ltl2ba\], its last step.
//!
//! # Departures
//!
//! There the whole automaton is copied as often as there are sets.

use super::Meter;
use super::general::Generalised;
use super::{Automaton, Edge};
use crate::bdd::Interrupted;
use crate::groups::Groups;
use rustc_hash::FxHashMap as HashMap;

/// An automaton with accepting states for the same words.
pub(super) fn degeneralised(from: &Generalised, meter: &mut Meter<'_>) -> Result<Automaton, Interrupted> {
    let parts = from.parts();
    let edges_of = Groups::new(
        from.states,
        from.edges.iter().enumerate().map(|(at, edge)| (edge.from as usize, at as u32)),
    );
    let sets_of = |state: u32| parts.sets[parts.of[state as usize] as usize].as_deref();
    let mut numbers: HashMap<(u32, u32), u32> = HashMap::default();
    let mut copies: Vec<(u32, u32)> = Vec::new();
    let mut number = |copy: (u32, u32), copies: &mut Vec<(u32, u32)>| {
        *numbers.entry(copy).or_insert_with(|| {
            copies.push(copy);
            copies.len() as u32 - 1
        })
    };
    let mut automaton = Automaton::default();
    for &state in &from.initial {
        automaton.initial.push(number((state, 0), &mut copies));
    }
    let mut at = 0;
    while at < copies.len() {
        let (state, level) = copies[at];
        let sets = sets_of(state);
        let top = sets.map_or(0, |sets| sets.len() as u32);
        automaton.accepting.push(sets.is_some() && level == top);
        for &edge in edges_of.of(state as usize) {
            let edge = &from.edges[edge as usize];
            meter.work(1)?;
            meter.grow(8 * (edge.guard.len() + 8));
            let mut to_level = 0;
            if let Some(sets) = sets
                && parts.of[edge.to as usize] == parts.of[state as usize]
            {
                to_level = if level == top { 0 } else { level };
                while to_level < top && edge.missing.binary_search(&sets[to_level as usize]).is_err() {
                    to_level += 1;
                }
            }
            let to = number((edge.to, to_level), &mut copies);
            automaton.edges.push(Edge { from: at as u32, guard: edge.guard.clone(), to });
        }
        at += 1;
    }
    Ok(automaton)
}
