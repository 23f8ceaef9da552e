//! Room `kit/pushdown`: runs behind the weights of a saturated automaton.

use super::{Cause, Saturation};

/// The rules of a run to which a transition that leaves a control owes its last increment, in their order, for domains in which the last increment
/// is the whole weight: of two weights, the sum is one of them.
///
/// The run starts at a transition that was there from the start, and goes on to the control and the symbol of the transition. It
/// is spelled out call by call, so it may be exponentially longer than the automaton is large; `most` limits it.
pub fn witness<W>(saturated: &Saturation<W>, transition: u32, most: usize) -> Option<Vec<u32>> {
    let mut rules = Vec::new();
    let count = saturated.increments[transition as usize].len() as u32;
    // Transitions that are still to be accounted for, the one that comes last in the run on top.
    let mut work = vec![(transition, count)];
    while let Some((transition, count)) = work.pop() {
        let increment = &saturated.increments[transition as usize][count as usize - 1];
        match increment.cause {
            // An activation starts with nothing: the run up to the call belongs to its frame.
            Cause::Initial | Cause::Entered { .. } => {}
            Cause::Rule { rule, source } => {
                rules.push(rule);
                work.push(source);
            }
            Cause::Returned { frame, popped } => work.extend([frame, popped]),
        }
        if rules.len() > most {
            return None;
        }
    }
    rules.reverse();
    Some(rules)
}
