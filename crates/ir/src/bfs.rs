//! Room `ir`: breadth-first search, a check on the oracle.
//!
//! Runs the program breadth first with its whole call stack, as a machine would. It cannot show that something is
//! unreachable where recursion is unbounded, but what it finds is found by the definition of the language itself,
//! in the least number of steps: no summaries, no facts, nothing to be wrong about.

use crate::ids::{EdgeId, LocId};
use crate::program::{Action, Program};
use crate::step::{Places, Successor, Valuation, resume, successors};
use crate::value::Value;
use std::collections::HashSet;

/// A pending activation: the call that is open, and the caller's locals.
pub(crate) type Pending = (EdgeId, Vec<Value>);

/// All there is at one moment of a run of one stack.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Configuration {
    pub(crate) stack: Vec<Pending>,
    pub(crate) loc: LocId,
    pub(crate) valuation: Valuation,
}

/// How a bfs ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// A target is reached in this many steps, and not in fewer.
    Reached(u64),
    /// Every run was followed to its end and none reaches a target.
    Never,
    /// No run of this many steps reaches a target; longer ones were not tried.
    NotWithin(u64),
}

/// Searches until a target is reached, nothing is left, or more than `limit` configurations were seen.
pub fn bfs(program: &Program, targets: &[LocId], limit: usize) -> Found {
    let places = Places::new(program);
    let mut layer = initial(program, &places);
    let mut seen: HashSet<Configuration> = layer.iter().cloned().collect();
    let mut steps = 0;
    loop {
        if layer.iter().any(|configuration| targets.contains(&configuration.loc)) {
            return Found::Reached(steps);
        }
        if layer.is_empty() {
            return Found::Never;
        }
        let mut next = Vec::new();
        for configuration in &layer {
            let Some(found) = next_configurations(program, &places, configuration) else {
                return Found::NotWithin(steps);
            };
            next.extend(found.into_iter().filter(|successor| seen.insert(successor.clone())));
            if seen.len() > limit {
                return Found::NotWithin(steps);
            }
        }
        layer = next;
        steps += 1;
    }
}

fn initial(program: &Program, places: &Places) -> Vec<Configuration> {
    let loc = program.procs()[program.main()].entry;
    let mut all = Vec::new();
    for globals in places.all_globals(program) {
        for locals in places.all_locals(program, program.main(), &[]) {
            let valuation = Valuation { globals: globals.clone(), locals };
            all.push(Configuration { stack: Vec::new(), loc, valuation });
        }
    }
    all
}

/// Everything one step leads to; none if an integer is too large for us.
pub(crate) fn next_configurations(
    program: &Program,
    places: &Places,
    from: &Configuration,
) -> Option<Vec<Configuration>> {
    let mut all = Vec::new();
    for &id in program.leaving(from.loc) {
        let edge = &program.edges()[id];
        for successor in successors(program, places, &edge.action, &from.valuation).ok()? {
            let mut stack = from.stack.clone();
            match successor {
                Successor::Move(valuation) => all.push(Configuration { stack, loc: edge.to, valuation }),
                Successor::Call(params) => {
                    let Action::Call { callee, .. } = edge.action else { unreachable!("outcome of a call") };
                    stack.push((id, from.valuation.locals.clone()));
                    for locals in places.all_locals(program, callee, &params) {
                        let valuation = Valuation { globals: from.valuation.globals.clone(), locals };
                        let loc = program.procs()[callee].entry;
                        all.push(Configuration { stack: stack.clone(), loc, valuation });
                    }
                }
                Successor::Return(results) => all.push(match stack.pop() {
                    None => Configuration { stack, loc: edge.to, valuation: from.valuation.clone() },
                    Some((call, locals)) => {
                        let caller = Valuation { globals: Vec::new(), locals };
                        let globals = &from.valuation.globals;
                        let action = &program.edges()[call].action;
                        let valuation = resume(program, places, action, &caller, globals, &results);
                        Configuration { stack, loc: program.edges()[call].to, valuation }
                    }
                }),
            }
        }
    }
    Some(all)
}
