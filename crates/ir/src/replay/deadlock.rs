//! Room `ir`: where a run gets stuck.
//!
//! What it means for a thread to wait is said in [`crate::blocked`]. Here it is decided on cells: every condition that could let a thread
//! go on must be known to be false, whatever the trace leaves open, and for every way to choose.

use super::player::Player;
use super::{Completed, Rejected, TOO_LARGE, at};
use crate::blocked::ends;
use crate::eval::{Cell, Env, eval};
use crate::expr::Expr;
use crate::ids::{LocId, Table, ThreadId, VarId};
use crate::program::{Action, Edge, Program};
use crate::step::all_values;
use crate::trace::Trace;
use crate::types::Type;
use crate::value::Value;

/// A thread that waits, or the prologue, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The thread; none for the prologue.
    pub thread: Option<ThreadId>,
    /// The statement that it cannot get through.
    pub loc: LocId,
}

/// The most ways to choose that are tried on one edge, and the most edges that are tried for one thread.
const MOST_CHOICES: u32 = 12;
const MOST_EDGES: usize = 100_000;

/// Runs a trace to its end, where no thread can move although one waits: the threads that wait.
pub fn deadlock(program: &Program, trace: &Trace) -> Result<Vec<Waiting>, Rejected> {
    let wrong = |reason: String| at("trace", 0)(reason);
    if trace.repeats.is_some() {
        return Err(wrong("goes on for ever".into()));
    }
    let mut segments = Completed { program, segments: &trace.segments, effects: Table::new() };
    let goes_on: &mut dyn FnMut() -> bool = &mut || true;
    segments.run_all(goes_on)?;
    let mut player = Player::new(program, &segments.effects, &trace.initial, None, goes_on)?;
    player.play(&trace.contexts)?;
    let last = trace.contexts.last().ok_or_else(|| wrong("has no context".into()))?.thread;
    let waiting = player.waiting(last).map_err(wrong)?;
    match waiting.is_empty() {
        true => Err(wrong("ends where every thread has ended".into())),
        false => Ok(waiting),
    }
}

impl Player<'_, '_> {
    /// The threads that wait, if none can move; `last` is the one that ran last.
    fn waiting(&self, last: Option<ThreadId>) -> Result<Vec<Waiting>, String> {
        let program = self.program;
        let ends = ends(program);
        let alone = !self.is_left(last)?;
        let threads = program.threads().pairs().map(|(id, thread)| (Some(id), Some(thread)));
        let mut waiting = Vec::new();
        for (id, thread) in [(None, None)].into_iter().chain(threads).filter(|(id, _)| *id == last || !alone)
        {
            let name = thread.map_or("the prologue", |thread| &thread.name);
            let Some(stack) = self.stack(id) else {
                if thread.is_none_or(|thread| thread.later) {
                    continue;
                }
                return Err(format!("ends where {name} can begin"));
            };
            let (loc, first) = stack;
            let is_there = !(first
                && thread.is_some_and(|thread| thread.later && program.procs()[thread.main].entry == loc));
            if first && program.is_exit(loc) || !is_there {
                continue;
            }
            if ends[loc] || program.locs()[loc].inner {
                return Err(format!("ends where {name} is not between statements"));
            }
            if self.can_move(id, loc)? {
                return Err(format!("ends where {name} may go on"));
            }
            waiting.push(Waiting { thread: id, loc });
        }
        Ok(waiting)
    }

    /// Whether a thread that is between statements may be able to get through the next one.
    fn can_move(&self, thread: Option<ThreadId>, loc: LocId) -> Result<bool, String> {
        let mut work: Vec<(LocId, Vec<(VarId, Cell)>)> = vec![(loc, Vec::new())];
        let mut tried = 0;
        while let Some((loc, changed)) = work.pop() {
            let here = Here { player: self, thread, changed: &changed, new: &[] };
            for &id in self.program.leaving(loc) {
                tried += 1;
                if tried > MOST_EDGES {
                    return Err("has a statement that is too large".into());
                }
                let edge = &self.program.edges()[id];
                let inside = self.program.locs()[edge.to].inner && !self.program.leaving(edge.to).is_empty();
                for new in here.outcomes(edge)? {
                    if !inside || matches!(edge.action, Action::Call { .. } | Action::Return(_)) {
                        return Ok(true);
                    }
                    let mut changed = changed.clone();
                    changed.retain(|(var, _)| new.iter().all(|(other, _)| other != var));
                    changed.extend(new);
                    work.push((edge.to, changed));
                }
            }
        }
        Ok(false)
    }
}

/// The valuation of a thread within a statement: what was changed since it began, and what an assignment is about to change.
struct Here<'p, 'a, 'g> {
    player: &'p Player<'a, 'g>,
    thread: Option<ThreadId>,
    changed: &'p [(VarId, Cell)],
    new: &'p [(VarId, Cell)],
}

impl Env for Here<'_, '_, '_> {
    fn current(&self, var: VarId) -> Cell {
        let changed = self.changed.iter().find(|(other, _)| *other == var);
        changed.map_or_else(|| self.player.cell_of(self.thread, var), |(_, cell)| *cell)
    }
    fn next(&self, var: VarId) -> Cell {
        let changed = self.new.iter().find(|(other, _)| *other == var);
        changed.map_or_else(|| self.current(var), |(_, cell)| *cell)
    }
}

impl Here<'_, '_, '_> {
    /// What an edge may change, for each way to choose in which it may be taken.
    fn outcomes(&self, edge: &Edge) -> Result<Vec<Vec<(VarId, Cell)>>, String> {
        let open = self.outcome(&edge.action, &[])?;
        let types: Vec<Type> = edge.action.exprs().flat_map(Expr::choices).collect();
        let decided = matches!(&edge.action, Action::Assume(_) | Action::Assign { .. });
        let Some(open) = open else { return Ok(Vec::new()) };
        if !decided || types.is_empty() {
            return Ok(vec![open]);
        }
        let bits: u32 = types.iter().map(|ty| ty.bits().map_or(64, u32::from)).sum();
        if bits > MOST_CHOICES {
            return Err(format!("has a condition with {bits} bits to choose"));
        }
        let mut found = Vec::new();
        for choices in all_values(&types) {
            found.extend(self.outcome(&edge.action, &choices)?);
        }
        Ok(found)
    }

    /// What an edge changes with these choices, or with any if there are none; `None` if it cannot be taken.
    fn outcome(&self, action: &Action, choices: &[Value]) -> Result<Option<Vec<(VarId, Cell)>>, String> {
        let mut choices = choices.iter().map(|&value| Cell::Known(value));
        let mut value =
            |expr: &Expr, env: &Here| eval(expr, env, &mut choices).map_err(|_| TOO_LARGE.to_owned());
        let (new, condition) = match action {
            Action::Assume(condition) => (Vec::new(), Some(condition)),
            Action::Assign { targets, values, constraint } => {
                let values: Result<Vec<Cell>, String> = values.iter().map(|expr| value(expr, self)).collect();
                (targets.iter().copied().zip(values?).collect(), constraint.as_ref())
            }
            Action::Havoc(vars) => (vars.iter().map(|&var| (var, Cell::Any)).collect(), None),
            Action::Call { .. } | Action::Return(_) => (Vec::new(), None),
        };
        let holds = match condition {
            Some(condition) => value(condition, &Here { new: &new, ..*self })?,
            None => Cell::Known(Value::TRUE),
        };
        Ok((holds != Cell::Known(Value::FALSE)).then_some(new))
    }
}
