//! Room `engine/weighted`: in which order saturation hands increases on.
//!
//! Callees come before callers, and locations after those that lead to them, but for loops: then most increases are complete before they are handed on.

use super::sets::Sets;
use super::system::Model;
use postbop_ir::{EdgeId, LocId, ProcId};
use rustc_hash::FxHashMap as HashMap;
use std::rc::Rc;

/// How locations and procedures depend on each other.
pub struct Order {
    /// For each location its place in an order in which callees come before callers, and locations after those that lead to them, but for loops.
    pub places: Rc<[u32]>,
    /// For each symbol whether it is the head of a loop, or starts a procedure.
    pub heads: Vec<bool>,
    /// Whether there is a loop or a recursion.
    pub cyclic: bool,
}

/// The order in a program, as a model of some kind has it.
pub fn order<S: Sets>(model: &Model<S>) -> Order {
    let program = model.program;
    let mut place = vec![0; program.locs().len()];
    let mut heads = vec![false; model.back(EdgeId(0)) as usize];
    let callees = program.callees();
    let calls: Vec<Vec<u32>> = callees.iter().map(|list| list.iter().map(|proc| proc.0).collect()).collect();
    let mut next = 0;
    let components = postbop_kit::scc::components(calls.len(), |proc| &calls[proc]);
    let mut cyclic = components.len() < calls.len()
        || calls.iter().enumerate().any(|(proc, list)| list.contains(&(proc as u32)));
    for proc in components.concat() {
        heads[model.entering(ProcId(proc)) as usize] = true;
        let entry = program.procs()[ProcId(proc)].entry;
        let mut finished = Vec::new();
        // Whether a location is on the way from the entry to where the walk is, or finished.
        let mut on_way: HashMap<LocId, bool> = HashMap::from_iter([(entry, true)]);
        let mut stack = vec![(entry, 0)];
        while let Some((loc, at)) = stack.last_mut() {
            let loc = *loc;
            match program.leaving(loc).get(*at) {
                Some(&edge) => {
                    *at += 1;
                    let to = program.edges()[edge].to;
                    match on_way.get(&to) {
                        Some(on_way) => {
                            heads[to.0 as usize] |= on_way;
                            cyclic |= on_way;
                        }
                        None => {
                            on_way.insert(to, true);
                            stack.push((to, 0));
                        }
                    }
                }
                None => {
                    on_way.insert(loc, false);
                    finished.push(loc);
                    stack.pop();
                }
            }
        }
        for loc in finished.into_iter().rev() {
            place[loc.0 as usize] = next;
            next += 1;
        }
    }
    Order { places: place.into(), heads, cyclic }
}
