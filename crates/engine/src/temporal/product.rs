//! Room `engine/temporal`: a program and an automaton that watches it.
//!
//! # Idea
//!
//! The automaton reads a run location by location: every location but an exit is a letter. (Of a pushdown system, which the front end drew as a program, those
//! within a rule are not: they belong to no configuration.) In the product the state of
//! the automaton is one more global variable. At each such location the automaton takes an edge whose guard holds there, and only
//! then the program goes on; where no edge can be taken the run is stuck. Of a guard, what depends on the location alone is decided when the product is built, so most edges of the
//! automaton are there at few locations. When the automaton comes to an accepting state, the run passes through a location
//! that was added for this: what the automaton accepts is now a question about these locations.
//!
//! A run of the program that has ended stays at the end of main for ever, and the automaton goes on reading that. Of conditions only those on
//! globals can hold there.
//!
//! # Cost
//!
//! At most one edge for each location and each edge of the automaton.

use super::wrap::{Draft, Wrapped};
use crate::budget::Budget;
use crate::threads::build::{both, constant, equals, number};
use crate::verdict::Why;
use postbop_front::temporal::Atom;
use postbop_ir::{Action, Expr, Id, LocId, Program, Query, Type, VarId};
use postbop_kit::buchi::{Automaton, Edge};

/// Whether an atom holds at a location.
pub(super) enum Letter {
    /// Always, or never.
    Fixed(bool),
    /// Where a condition on the values does.
    Where(Expr),
}

/// Which visits to accepting states are asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accepts {
    /// A first one: the accepted runs are finite.
    Once,
    /// Infinitely many.
    Always,
}

struct Watch<'a, 'l> {
    draft: Draft<'a>,
    automaton: &'l Automaton,
    atoms: &'l [Atom],
    state: VarId,
    state_type: Type,
    accepting: Vec<LocId>,
    budget: &'l Budget,
}

/// So many edges are made before the budget is asked.
const MANY: usize = 1 << 12;

/// The product of a sequential program and an automaton over atoms, which asks for a run that the automaton accepts; `name` is what
/// users call the property that it does not.
pub fn product<'a>(
    program: &'a Program,
    automaton: &Automaton,
    atoms: &[Atom],
    accepts: Accepts,
    name: &str,
    budget: &Budget,
) -> Result<Wrapped<'a>, Why> {
    let mut draft = Draft::new(program);
    let state_type = number(automaton.accepting.len().saturating_sub(1) as u32);
    let state = draft.out.global("%state", state_type);
    draft.out.set_control(vec![state]);
    let mut watch = Watch { draft, automaton, atoms, state, state_type, accepting: Vec::new(), budget };
    let after = program.locs().ids().map(|loc| watch.location(loc)).collect::<Result<Vec<LocId>, Why>>()?;
    for (id, edge) in program.edges().pairs() {
        watch.draft.keep(id, after[edge.from.index()], edge.to);
    }
    let ways = automaton.initial.iter().map(|&first| vec![(state, constant(state_type, first))]);
    let (start, over) = watch.draft.start(&ways.collect::<Vec<_>>());
    if accepts == Accepts::Once && automaton.initial.iter().any(|&first| automaton.accepting[first as usize])
    {
        // The automaton accepts before it has read anything.
        watch.accepting.push(watch.draft.out.procs()[start].entry);
    }
    let ended = watch.draft.loc(start);
    watch.moves(over, None, ended)?;
    watch.draft.add(ended, over, Action::skip());
    let Watch { draft, accepting, .. } = watch;
    let query = match accepts {
        Accepts::Once => Query::reach(name, accepting),
        Accepts::Always => Query::recur(name, accepting),
    };
    Ok(draft.finish(start, query))
}

impl Watch<'_, '_> {
    /// Lets the automaton read at a location; where the program goes on from.
    fn location(&mut self, loc: LocId) -> Result<LocId, Why> {
        let program = self.draft.source;
        if !is_position(program, loc) {
            return Ok(loc);
        }
        let after = self.draft.loc(program.locs()[loc].proc);
        self.moves(loc, Some(loc), after)?;
        Ok(after)
    }

    /// The edges that the automaton can take at a location of the program, or after its end.
    fn moves(&mut self, from: LocId, read: Option<LocId>, after: LocId) -> Result<(), Why> {
        let proc = self.draft.out.locs()[from].proc;
        let mut passes: Option<LocId> = None;
        for (nth, edge) in self.automaton.edges.iter().enumerate() {
            if nth.is_multiple_of(MANY) {
                self.budget.check()?;
            }
            let Some(condition) = self.condition(edge, read) else { continue };
            let to = match self.automaton.accepting[edge.to as usize] {
                false => after,
                true => *passes.get_or_insert_with(|| self.draft.loc(proc)),
            };
            let values = vec![constant(self.state_type, edge.to)];
            self.draft.add(
                from,
                to,
                Action::Assign { targets: vec![self.state], values, constraint: Some(condition) },
            );
        }
        if let Some(passes) = passes {
            self.draft.add(passes, after, Action::skip());
            self.accepting.push(passes);
        }
        Ok(())
    }

    /// Under which condition an edge of the automaton can be taken; `None` if it never can here.
    fn condition(&self, edge: &Edge, read: Option<LocId>) -> Option<Expr> {
        let mut condition = equals(self.state, self.state_type, edge.from);
        for &(atom, wanted) in edge.guard.iter() {
            match letter(self.draft.source, &self.atoms[atom as usize], read) {
                Letter::Fixed(value) if value == wanted => {}
                Letter::Fixed(_) => return None,
                Letter::Where(holds) => {
                    condition = both(condition, if wanted { holds } else { holds.negated() });
                }
            }
        }
        Some(condition)
    }
}

/// Whether an atom holds at a location of the program, or after its end.
pub(super) fn letter(program: &Program, atom: &Atom, read: Option<LocId>) -> Letter {
    let Some(loc) = read else {
        return match atom {
            Atom::Holds(None, condition) => Letter::Where(condition.clone()),
            Atom::Inside(procs) => Letter::Fixed(procs.contains(&program.main())),
            _ => Letter::Fixed(false),
        };
    };
    let proc = program.locs()[loc].proc;
    let mut leaving = program.leaving(loc).iter().map(|&edge| &program.edges()[edge].action);
    match atom {
        Atom::Label(locs) => Letter::Fixed(locs.contains(&loc)),
        Atom::Inside(procs) => Letter::Fixed(procs.contains(&proc)),
        Atom::Call(procs) => {
            let calls =
                |action: &Action| matches!(action, Action::Call { callee, .. } if procs.contains(callee));
            Letter::Fixed(leaving.any(calls))
        }
        Atom::Return(procs) => {
            let returns = leaving.any(|action| matches!(action, Action::Return(_)));
            Letter::Fixed(returns && procs.contains(&proc))
        }
        Atom::Holds(scope, _) if scope.is_some_and(|scope| scope != proc) => Letter::Fixed(false),
        Atom::Holds(_, condition) => Letter::Where(condition.clone()),
    }
}

/// Whether the automaton reads at a location.
pub(super) fn is_position(program: &Program, loc: LocId) -> bool {
    // A front end that invents the procedure to start in has rules, and locations within them.
    let has_rules = program.procs()[program.main()].name.starts_with('%');
    !(program.is_exit(loc) || has_rules && program.locs()[loc].inner)
}
