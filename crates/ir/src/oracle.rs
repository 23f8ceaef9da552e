//! Room `ir`: the oracle, which decides by brute force.
//!
//! # Idea
//!
//! Which locations can be reached, and in how many steps at least, by brute force on plain numbers. A *fact* says
//! that a procedure entered with some values of globals and parameters can be at a location with some valuation,
//! after so many steps inside it. Facts are derived from facts until none gets better:
//!
//! * an edge that moves derives the fact at its end;
//! * a call derives that the callee was entered, with every valuation of its other locals;
//! * a call and a return of what it entered derive the fact after the call.
//!
//! Then the entries are chained from main's inwards. Values are never shared, abstracted, packed or forgotten, and
//! the oracle shares no code with any engine.
//!
//! # Cost
//!
//! Exponential in the variables in scope. It gives up beyond a number of facts.

mod recur;

pub use recur::{endless, recur};

use crate::blocked::{can_move, ends};
use crate::ids::{EdgeId, LocId, ProcId};
use crate::length::Length;
use crate::program::{Action, Program};
use crate::step::{Places, Successor, Valuation, resume, successors};
use crate::value::Value;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// A procedure with the values of globals and parameters it was entered with.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Entry {
    proc: ProcId,
    globals: Vec<Value>,
    params: Vec<Value>,
}

/// Where an activation can be.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Fact {
    entry: Entry,
    loc: LocId,
    valuation: Valuation,
}

/// How a procedure ends: globals and results.
type End = (Vec<Value>, Vec<Value>);

/// The program was too large to be decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

struct Derivation<'a> {
    program: &'a Program,
    places: Places,
    limit: usize,
    /// The least number of steps from the entry to the fact.
    steps: HashMap<Fact, Length>,
    /// Facts to derive from.
    fresh: VecDeque<Fact>,
    /// The entry that called an entry, and by which edge.
    callers: HashMap<Entry, Vec<(Fact, EdgeId)>>,
    /// How an entry can return: globals and results, with the least number of steps.
    returns: HashMap<Entry, BTreeMap<End, Length>>,
}

/// For each set of locations the least number of steps of a run that reaches one of them; `None` if no run does.
/// Unbounded integers are beyond it.
pub fn oracle(
    program: &Program,
    targets: &[&[LocId]],
    limit: usize,
) -> Result<Vec<Option<Length>>, TooLarge> {
    let (derivation, starts) = derive_all(program, limit)?;
    let entered = derivation.chain(&starts);
    let best = |locs: &&[LocId]| {
        let here = derivation.steps.iter().filter(|(fact, _)| locs.contains(&fact.loc));
        here.filter_map(|(fact, steps)| Some(entered.get(&fact.entry)?.clone() + steps)).min()
    };
    Ok(targets.iter().map(best).collect())
}

/// Whether a run gets stuck: it comes to a statement that it cannot get through (see [`crate::blocked`]).
pub fn stuck(program: &Program, limit: usize) -> Result<bool, TooLarge> {
    let (derivation, _) = derive_all(program, limit)?;
    let ends = ends(program);
    let between =
        |fact: &&Fact| !ends[fact.loc] && !program.locs()[fact.loc].inner && !program.is_exit(fact.loc);
    for fact in derivation.steps.keys().filter(between) {
        if !can_move(program, &derivation.places, fact.loc, &fact.valuation).ok_or(TooLarge)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// All facts, and the entries with which the program starts.
fn derive_all(program: &Program, limit: usize) -> Result<(Derivation<'_>, Vec<Entry>), TooLarge> {
    if program.vars().iter().any(|var| var.ty.bits().is_none()) {
        return Err(TooLarge);
    }
    let mut derivation = Derivation {
        program,
        places: Places::new(program),
        limit,
        steps: HashMap::new(),
        fresh: VecDeque::new(),
        callers: HashMap::new(),
        returns: HashMap::new(),
    };
    let globals = program.globals().collect::<Vec<_>>();
    let main = &program.procs()[program.main()];
    derivation.fits(globals.iter().chain(main.params()).map(|&var| program.vars()[var].ty.bits()))?;
    let mut starts = Vec::new();
    for globals in derivation.places.all_globals(program) {
        let params = crate::step::all_values(
            &main.params().iter().map(|&var| program.vars()[var].ty).collect::<Vec<_>>(),
        );
        for params in params {
            starts.push(Entry { proc: program.main(), globals: globals.clone(), params });
        }
    }
    for start in &starts {
        derivation.enter(start)?;
    }
    derivation.saturate()?;
    Ok((derivation, starts))
}

impl Derivation<'_> {
    /// Refuses what has more valuations than facts are allowed.
    fn fits(&self, bits: impl Iterator<Item = Option<u8>>) -> Result<(), TooLarge> {
        let bits: u32 = bits.map(|bits| bits.map_or(64, u32::from)).sum();
        if bits < 40 && 1usize << bits <= self.limit { Ok(()) } else { Err(TooLarge) }
    }

    fn enter(&mut self, entry: &Entry) -> Result<(), TooLarge> {
        let proc = &self.program.procs()[entry.proc];
        self.fits(proc.locals[proc.params..].iter().map(|&var| self.program.vars()[var].ty.bits()))?;
        for locals in self.places.all_locals(self.program, entry.proc, &entry.params) {
            let valuation = Valuation { globals: entry.globals.clone(), locals };
            self.derive(Fact { entry: entry.clone(), loc: proc.entry, valuation }, Length::ZERO)?;
        }
        Ok(())
    }

    /// Notes that the fact can be reached in so many steps.
    fn derive(&mut self, fact: Fact, steps: Length) -> Result<(), TooLarge> {
        match self.steps.get_mut(&fact) {
            Some(known) if *known <= steps => return Ok(()),
            Some(known) => *known = steps,
            None => drop(self.steps.insert(fact.clone(), steps)),
        }
        if self.steps.len() > self.limit {
            return Err(TooLarge);
        }
        self.fresh.push_back(fact);
        Ok(())
    }

    fn saturate(&mut self) -> Result<(), TooLarge> {
        while let Some(fact) = self.fresh.pop_front() {
            let program = self.program;
            for &id in program.leaving(fact.loc) {
                let action = &program.edges()[id].action;
                let all = successors(program, &self.places, action, &fact.valuation).map_err(|_| TooLarge)?;
                for outcome in all {
                    self.follow(&fact, id, outcome)?;
                }
            }
        }
        Ok(())
    }

    fn follow(&mut self, fact: &Fact, id: EdgeId, outcome: Successor) -> Result<(), TooLarge> {
        let edge = &self.program.edges()[id];
        let steps = self.steps[fact].clone() + 1;
        match outcome {
            Successor::Move(valuation) => {
                self.derive(Fact { entry: fact.entry.clone(), loc: edge.to, valuation }, steps)
            }
            Successor::Call(params) => {
                let Action::Call { callee, .. } = edge.action else { unreachable!("outcome of a call") };
                let entry = Entry { proc: callee, globals: fact.valuation.globals.clone(), params };
                self.callers.entry(entry.clone()).or_default().push((fact.clone(), id));
                self.enter(&entry)?;
                for (end, inside) in self.returns.get(&entry).cloned().unwrap_or_default() {
                    self.come_back(fact, id, &end, &inside)?;
                }
                Ok(())
            }
            Successor::Return(results) => {
                if fact.entry.proc == self.program.main() {
                    return self.derive(Fact { loc: edge.to, ..fact.clone() }, steps);
                }
                let end = (fact.valuation.globals.clone(), results);
                let known = self.returns.entry(fact.entry.clone()).or_default();
                if known.get(&end).is_some_and(|least| *least <= steps) {
                    return Ok(());
                }
                known.insert(end.clone(), steps.clone());
                for (caller, id) in self.callers.get(&fact.entry).cloned().unwrap_or_default() {
                    self.come_back(&caller, id, &end, &steps)?;
                }
                Ok(())
            }
        }
    }

    fn come_back(
        &mut self,
        caller: &Fact,
        id: EdgeId,
        (globals, results): &End,
        inside: &Length,
    ) -> Result<(), TooLarge> {
        let edge = &self.program.edges()[id];
        let valuation = resume(self.program, &self.places, &edge.action, &caller.valuation, globals, results);
        let steps = self.steps[caller].clone() + 1 + inside;
        self.derive(Fact { entry: caller.entry.clone(), loc: edge.to, valuation }, steps)
    }

    /// The least number of steps from the start of the program to each entry.
    fn chain(&self, starts: &[Entry]) -> HashMap<Entry, Length> {
        let mut entered: HashMap<Entry, Length> =
            starts.iter().map(|entry| (entry.clone(), Length::ZERO)).collect();
        loop {
            let mut better = false;
            for (entry, callers) in &self.callers {
                let reach = |(fact, _): &(Fact, EdgeId)| {
                    Some(entered.get(&fact.entry)?.clone() + &self.steps[fact] + 1)
                };
                let Some(steps) = callers.iter().filter_map(reach).min() else { continue };
                if entered.get(entry).is_none_or(|known| steps < *known) {
                    entered.insert(entry.clone(), steps);
                    better = true;
                }
            }
            if !better {
                return entered;
            }
        }
    }
}
