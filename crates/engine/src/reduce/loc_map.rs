//! Room `engine/reduce`: proofs about the reduced program as proofs about the program as written.
//!
//! # Idea
//!
//! What is proved of the smaller program must be closed under the edges of the larger one. So each location as written gets a set, by what became of it:
//!
//! * Control cannot get there, at the first look: nothing.
//! * No target can be reached from there, at the first look: everything. From such a location control gets to others of this kind only, also by calls.
//! * Control cannot get there any more once conditions are decided by constants: nothing.
//! * No target can be reached from there any more: what is known of constants.
//! * It was kept: its set in the smaller program, and what is known of constants.
//! * It was passed over, when the edges that enter it and those that leave it became one: it has no set, and whoever checks the proof runs through it.
//!
//! What is known of constants at a location is the values of those that are live there. Edges that were dropped do not count: they lead to locations of the
//! second kind, where nothing has to be true.
//!
//! One thing is left. A global or a parameter that a procedure writes only along edges that were dropped is never written in the smaller program, and sets there
//! take it for granted that it has its entry value. In the program as written that has to be said.
//!
//! # Cost
//!
//! Linear in the program and in the proof, plus liveness if there are constants.

use super::constants::Numbers;
use super::draft::NIL;
use crate::encode::live::Live;
use crate::encode::scope::Scopes;
use postbop_ir::proof::{Maker, Place, Ref};
use postbop_ir::{Action, Id, LocId, ProcId, Program, Proof, Table, VarId};
use postbop_kit::bits;

/// What became of the locations of a program.
pub struct LocMap {
    /// For each location as written the one that it is now, or [`NIL`].
    pub places: Vec<LocId>,
    /// Locations to which control can get, at the first look and at the last one.
    pub reachable: [Option<Vec<bool>>; 2],
    /// Locations from which control can get to a target, likewise.
    pub relevant: [Option<Vec<bool>>; 2],
}

impl LocMap {
    /// A proof about the reduced program as one about the program as written.
    pub fn proof(&self, written: &Program, reduced: &Program, numbers: &Numbers, proof: Proof) -> Proof {
        let (mut maker, sets) = Maker::of(proof);
        let unchanged = unchanged(written, reduced, numbers, &mut maker);
        let constants = Constants::new(written, numbers);
        let is = |looks: &[Option<Vec<bool>>; 2], look: usize, loc: LocId| {
            looks[look].as_ref().is_none_or(|look| look[loc.index()])
        };
        let mut set_of = |loc: LocId, proc: ProcId| {
            if !is(&self.reachable, 0, loc) {
                return Some(Ref::FALSE);
            }
            if !is(&self.relevant, 0, loc) {
                return Some(Ref::TRUE);
            }
            if !is(&self.reachable, 1, loc) {
                return Some(Ref::FALSE);
            }
            let mut all = match self.places[loc.index()] {
                _ if !is(&self.relevant, 1, loc) => Vec::new(),
                LocId(NIL) => return None,
                place => vec![sets[place]?, unchanged[proc]],
            };
            all.extend(constants.at(written, loc, &mut maker));
            Some(maker.and(all))
        };
        let sets = written.locs().pairs().map(|(loc, data)| set_of(loc, data.proc)).collect();
        maker.finish(sets)
    }
}

/// For each procedure, that the variables have their entry values which it writes as written, but not any more.
fn unchanged(
    written: &Program,
    reduced: &Program,
    numbers: &Numbers,
    maker: &mut Maker,
) -> Table<ProcId, Ref> {
    let mut read = vec![false; written.vars().len()];
    let exprs = reduced.edges().iter().flat_map(|edge| edge.action.exprs());
    exprs.flat_map(|expr| expr.reads()).for_each(|var| read[var.index()] = true);
    let (before, after) = (assigned(written), assigned(reduced));
    let (globals_before, globals_after) = (Scopes::new(written), Scopes::new(reduced));
    let mut conjunct = |var: VarId, all: &mut Vec<Ref>| {
        if read[var.index()] && !numbers.vars.contains_key(&var) {
            all.push(maker.same(Place::Entry(var), Place::Now(var), written.vars()[var].ty));
        }
    };
    let mut lists: Vec<Vec<Ref>> = Vec::with_capacity(written.procs().len());
    for (id, proc) in written.procs().pairs() {
        let mut all = Vec::new();
        let still = globals_after.written(id);
        let globals = globals_before.written(id).iter().filter(|var| still.binary_search(var).is_err());
        globals.for_each(|&var| conjunct(var, &mut all));
        let params = proc.params().iter().filter(|var| before[var.index()] && !after[var.index()]);
        params.for_each(|&var| conjunct(var, &mut all));
        lists.push(all);
    }
    lists.into_iter().map(|all| maker.and(all)).collect()
}

/// Which variables edges give values.
fn assigned(program: &Program) -> Vec<bool> {
    let mut assigned = vec![false; program.vars().len()];
    let actions = program.edges().iter().map(|edge| &edge.action);
    actions.flat_map(Action::writes).for_each(|var| assigned[var.index()] = true);
    assigned
}

/// What is known of constants, and where they are live.
struct Constants<'k> {
    numbers: &'k Numbers,
    live: Option<(Scopes, Live)>,
}

impl<'k> Constants<'k> {
    fn new(program: &Program, numbers: &'k Numbers) -> Self {
        let live = (!numbers.vars.is_empty()).then(|| {
            let scopes = Scopes::new(program);
            let live = Live::new(program, &scopes);
            (scopes, live)
        });
        Constants { numbers, live }
    }

    /// The values of the constants that are live at a location.
    fn at(&self, program: &Program, loc: LocId, maker: &mut Maker) -> Vec<Ref> {
        let Some((scopes, live)) = &self.live else { return Vec::new() };
        let proc = program.locs()[loc].proc;
        let first = scopes.first_result(program, proc);
        let value = |field: usize| {
            let (place, ty, value) = match scopes.var(program, proc, field) {
                Some(var) => (Place::Now(var), program.vars()[var].ty, self.numbers.vars.get(&var)),
                None => {
                    let at = field - first;
                    let ty = program.procs()[proc].results[at];
                    (Place::Result(at as u32), ty, self.numbers.results.get(&(proc, at)))
                }
            };
            Some(maker.equals(place, ty, *value?))
        };
        bits::members(live.at(program, loc)).filter_map(value).collect()
    }
}
