//! Room `engine/temporal`: whether a run is one that an automaton accepts.
//!
//! # Idea
//!
//! `postbop replay` is given a run that is said to violate a formula or a monitor, and no word about the states of the automaton. So the automaton reads the
//! run once more. A completed call is read once, from every state: which states it can lead to, and whether it passes through an accepting one.
//! Where the run calls it, this relation is put in its place, however long the call is. The steps that a run repeats are such a relation too, and the run is
//! accepted if it has a cycle with an accepting state that can be reached.
//!
//! What the trace leaves open is not known, and an edge of the automaton whose guard depends on it cannot be taken. So what is accepted is
//! accepted for every way to fill the gaps. The first of the rounds that a run repeats knows what was known before it. The others know what is known at the
//! end of a round, which is the same for all: what follows from the values at the head. That may be more than the steps of the round count on, and the
//! automaton may need it.
//!
//! # Cost
//!
//! For each step of the trace as it is stored, the edges of the automaton, and the pairs of states between which there is a way.

use super::product::{Accepts, Letter, is_position, letter};
use postbop_front::temporal::Atom;
use postbop_ir::eval::{Cell, Env, eval};
use postbop_ir::replay::{Changes, changes};
use postbop_ir::trace::Known;
use postbop_ir::{
    Action, EdgeId, LocId, Program, Rejected, Scope, SegmentId, Step, Table, Trace, Value, VarId,
};
use postbop_kit::buchi::Automaton;
use std::collections::{BTreeMap, BTreeSet};

/// From which state to which, and whether an accepting one was come to on the way.
type Relation = BTreeSet<(u32, u32, bool)>;

/// The values that are known, and whether they are known to replay as well, which starts a round with the values at the head alone.
type Values = BTreeMap<VarId, (Value, bool)>;

struct Reader<'a> {
    program: &'a Program,
    automaton: &'a Automaton,
    atoms: &'a [Atom],
    /// What the automaton makes of each completed call.
    calls: Table<SegmentId, Relation>,
}

/// A run under way.
struct Run {
    known: Values,
    /// The calls that are open, and what is known of the locals of their callers.
    open: Vec<(EdgeId, Values)>,
    /// Where the run is; nowhere when the program has ended.
    loc: Option<LocId>,
    relation: Relation,
}

/// Known values as an environment.
struct Now<'v>(&'v Values);

impl Env for Now<'_> {
    fn current(&self, var: VarId) -> Cell {
        self.0.get(&var).map_or(Cell::Any, |&(value, _)| Cell::Known(value))
    }
    fn next(&self, var: VarId) -> Cell {
        self.current(var)
    }
}

/// Whether an automaton over atoms accepts a run of a sequential program; an error if it is no run.
pub fn shows(
    program: &Program,
    automaton: &Automaton,
    atoms: &[Atom],
    accepts: Accepts,
    trace: &Trace,
) -> Result<bool, Rejected> {
    let played = changes(program, trace)?;
    let mut reader = Reader { program, automaton, atoms, calls: Table::new() };
    for (id, segment) in trace.segments.pairs() {
        let loc = program.procs()[segment.proc].entry;
        let mut run = Run::new(&segment.entry, Some(loc), reader.everywhere());
        reader.steps(&mut run, &segment.steps, &played.segments.changes(id), 0);
        reader.calls.push(run.relation);
    }
    let entry = program.procs()[program.main()].entry;
    let initial = automaton.initial.iter();
    let starts =
        |&state: &u32| (state, state, accepts == Accepts::Once && automaton.accepting[state as usize]);
    let mut run = Run::new(&trace.initial, Some(entry), initial.map(starts).collect());
    let none = (Vec::new(), Changes::default());
    let steps = trace.contexts.first().map_or(&none.0, |context| &context.steps);
    let noted = played.contexts.first().unwrap_or(&none.1);
    let stem = trace.repeats.as_ref().map_or(steps.len(), |repeat| repeat.from.step as usize);
    reader.steps(&mut run, &steps[..stem], noted, 0);
    if accepts == Accepts::Once && run.relation.iter().any(|(.., accepted)| *accepted) {
        return Ok(true);
    }
    match (&trace.repeats, run.loc) {
        (Some(repeat), _) => {
            run.begin_round(&repeat.head);
            reader.steps(&mut run, &steps[stem..], noted, stem);
            run.known.retain(|_, (_, sure)| *sure);
            run.begin_round(&repeat.head);
        }
        // A run that only stops somewhere has come there, but does not stay.
        (None, Some(_)) => {
            reader.read(&mut run);
            return Ok(accepts == Accepts::Once && run.relation.iter().any(|(.., accepted)| *accepted));
        }
        // A program that has ended stays where it is for ever.
        (None, None) => {}
    }
    let reached = run.relation.iter().map(|&(_, state, _)| state).collect();
    run.relation = reader.everywhere();
    match trace.repeats {
        Some(_) => reader.steps(&mut run, &steps[stem..], noted, stem),
        None => reader.read(&mut run),
    }
    Ok(accepted(&run.relation, reached, accepts))
}

/// Whether rounds from one of these states come to an accepting one, once or again and again.
fn accepted(round: &Relation, reached: BTreeSet<u32>, accepts: Accepts) -> bool {
    let from = |state: u32| round.range((state, 0, false)..=(state, u32::MAX, true));
    let close = |mut states: BTreeSet<u32>| {
        let mut work: Vec<u32> = states.iter().copied().collect();
        while let Some(state) = work.pop() {
            work.extend(from(state).map(|&(_, to, _)| to).filter(|&to| states.insert(to)));
        }
        states
    };
    let mut passing = close(reached).into_iter().flat_map(from).filter(|(.., accepted)| *accepted);
    match accepts {
        Accepts::Once => passing.next().is_some(),
        Accepts::Always => passing.any(|&(start, to, _)| close(BTreeSet::from([to])).contains(&start)),
    }
}

impl Run {
    fn new(known: &Known, loc: Option<LocId>, relation: Relation) -> Self {
        let known = known.iter().map(|&(var, value)| (var, (value, true))).collect();
        Run { known, open: Vec::new(), loc, relation }
    }

    /// At the head, replay forgets all but these values.
    fn begin_round(&mut self, head: &Known) {
        self.known.values_mut().for_each(|(_, sure)| *sure = false);
        self.known.extend(head.iter().map(|&(var, value)| (var, (value, true))));
    }

    /// After a step wrote variables: replay notes what it knows of them, unless they are locals of which it knew nothing before and after.
    fn write(&mut self, program: &Program, written: impl Iterator<Item = VarId>) {
        for var in written {
            let Scope::Local(owner) = program.vars()[var].scope else { continue };
            let is_param = program.procs()[owner].params().contains(&var);
            if !is_param && self.known.get(&var).is_some_and(|(_, sure)| !sure) {
                self.known.remove(&var);
            }
        }
    }

    /// What is known of locals, taken away.
    fn take_locals(&mut self, program: &Program) -> Values {
        let locals = self.known.iter().filter(|(var, _)| !program.is_global(**var));
        let locals: Values = locals.map(|(&var, &known)| (var, known)).collect();
        self.known.retain(|var, _| program.is_global(*var));
        locals
    }
}

impl Reader<'_> {
    /// Nothing read yet, from every state.
    fn everywhere(&self) -> Relation {
        (0..self.automaton.accepting.len() as u32).map(|state| (state, state, false)).collect()
    }

    /// Takes steps, of which the first has this number in the list of changes.
    fn steps(&self, run: &mut Run, steps: &[Step], changes: &Changes, first: usize) {
        for (number, step) in steps.iter().enumerate() {
            self.read(run);
            self.step(run, step);
            for &(var, value) in changes.of(first + number) {
                match value {
                    Some(value) => run.known.insert(var, (value, true)),
                    None => run.known.remove(&var),
                };
            }
        }
    }

    fn step(&self, run: &mut Run, step: &Step) {
        let edge = &self.program.edges()[step.edge];
        run.loc = Some(edge.to);
        match (&edge.action, step.call) {
            (action @ Action::Call { .. }, Some(call)) => {
                run.relation = joined(&run.relation, &self.calls[call]);
                run.write(self.program, action.writes());
            }
            (Action::Call { callee, .. }, None) => {
                let locals = run.take_locals(self.program);
                run.open.push((step.edge, locals));
                run.loc = Some(self.program.procs()[*callee].entry);
            }
            (Action::Return(_), _) => {
                run.take_locals(self.program);
                let caller = run.open.pop();
                run.loc = caller.as_ref().map(|(call, _)| self.program.edges()[*call].to);
                if let Some((call, locals)) = caller {
                    run.known.extend(locals);
                    run.write(self.program, self.program.edges()[call].action.writes());
                }
            }
            (action, _) => run.write(self.program, action.writes()),
        }
    }

    /// Lets the automaton read where the run is.
    fn read(&self, run: &mut Run) {
        if run.loc.is_some_and(|loc| !is_position(self.program, loc)) {
            return;
        }
        let truth = |atom: &Atom| match letter(self.program, atom, run.loc) {
            Letter::Fixed(truth) => Some(truth),
            Letter::Where(condition) => {
                let cell = eval(&condition, &Now(&run.known), &mut std::iter::empty()).ok()?;
                cell.known().map(Value::is_true)
            }
        };
        let truths: Vec<Option<bool>> = self.atoms.iter().map(truth).collect();
        let holds = |&(atom, wanted): &(u32, bool)| truths[atom as usize] == Some(wanted);
        let edges = self.automaton.edges.iter().filter(|edge| edge.guard.iter().all(holds));
        let ways = edges.map(|edge| (edge.from, edge.to, self.automaton.accepting[edge.to as usize]));
        run.relation = joined(&run.relation, &ways.collect());
    }
}

/// First one relation, then the other.
fn joined(first: &Relation, second: &Relation) -> Relation {
    let mut all = Relation::new();
    for &(start, between, before) in first {
        for &(_, end, after) in second.range((between, 0, false)..=(between, u32::MAX, true)) {
            all.insert((start, end, before || after));
        }
    }
    all
}
