//! Room `ir`: one frame of a trace, run step by step. The idea is in [`super`].

use super::TOO_LARGE;
use super::cells::Cells;
use crate::eval::{Cell, Env, eval};
use crate::expr::Expr;
use crate::ids::{EdgeId, LocId, ProcId, SegmentId, Table, VarId};
use crate::program::{Action, Edge, Program, Scope};
use crate::trace::{Known, Step};
use crate::types::Type;
use crate::value::Value;
use smallvec::SmallVec;

/// What a completed call does, in terms of what was at its entry.
pub(super) struct Effect<'a> {
    proc: ProcId,
    /// What the segment counts on at entry.
    entry: &'a [(VarId, Value)],
    /// The globals it knows something about at the end; all others are as they were.
    globals: Box<[(VarId, Cell)]>,
    results: Values,
}

/// The values of some expressions. Most actions have one or two, which need no memory of their own.
type Values = SmallVec<[Cell; 2]>;

/// A frame being run: that of a completed call, or the innermost one of a thread.
pub(super) struct Run<'a> {
    program: &'a Program,
    effects: &'a Table<SegmentId, Effect<'a>>,
    proc: ProcId,
    pub(super) loc: LocId,
    /// The globals that are not what they were at the start of the run, and the locals that are not what they were at entry.
    pub(super) globals: Cells,
    pub(super) locals: Cells,
    /// The procedure that the last step calls, with the arguments, if that call does not come back here.
    opened: Option<(ProcId, Values)>,
    pub(super) returned: Option<Values>,
    /// Whether to note changes.
    pub(super) notes: bool,
    /// The variables of which something else is known after the last step.
    pub(super) noted: Vec<(VarId, Option<Value>)>,
}

/// The valuations before and after an assignment.
struct Two<'a> {
    old: &'a Run<'a>,
    new: &'a [(VarId, Cell)],
}

impl Env for Two<'_> {
    fn current(&self, var: VarId) -> Cell {
        self.old.cell(var)
    }
    fn next(&self, var: VarId) -> Cell {
        let changed = self.new.iter().find(|(target, _)| *target == var);
        changed.map_or_else(|| self.old.cell(var), |(_, cell)| *cell)
    }
}

impl<'a> Run<'a> {
    /// Starts a frame. Globals and parameters that its entry does not name stand for whatever they will be.
    pub(super) fn enter(
        program: &'a Program,
        effects: &'a Table<SegmentId, Effect<'a>>,
        id: ProcId,
        entry: &[(VarId, Value)],
    ) -> Result<Self, String> {
        let proc = program.procs().get(id).ok_or("no such procedure")?;
        let mut run = Run {
            program,
            effects,
            proc: id,
            loc: proc.entry,
            globals: Cells::default(),
            locals: Cells::default(),
            opened: None,
            returned: None,
            notes: true,
            noted: Vec::new(),
        };
        run.start_with(entry, |_| false)?;
        Ok(run)
    }

    /// Gives variables values that the trace names, in order, unless they are passed.
    fn start_with(
        &mut self,
        entry: &[(VarId, Value)],
        is_passed: impl Fn(VarId) -> bool,
    ) -> Result<(), String> {
        if entry.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err("its entry is not in order".into());
        }
        for &(var, value) in entry {
            self.in_scope(var)?;
            in_type(self.program.vars()[var].ty, value)?;
            if is_passed(var) {
                return Err(format!("chooses {}, which the call passes", self.program.vars()[var].name));
            }
            self.store(var, Cell::Known(value));
        }
        Ok(())
    }

    /// If the last step calls a procedure and does not come back here: leaves the locals of the caller on top of a stack, and
    /// starts the callee, whose locals that are no parameters start with these values. Returns whether it did.
    pub(super) fn follow(
        &mut self,
        entry: &[(VarId, Value)],
        stack: &mut Vec<(VarId, Cell)>,
    ) -> Result<bool, String> {
        let Some((callee, args)) = self.opened.take() else { return Ok(false) };
        let program = self.program;
        stack.extend(std::mem::take(&mut self.locals).iter());
        let proc = &program.procs()[callee];
        (self.proc, self.loc) = (callee, proc.entry);
        self.locals.extend(proc.params().iter().copied().zip(args));
        self.start_with(entry, |var| program.is_global(var) || proc.params().contains(&var))?;
        Ok(true)
    }

    /// Goes on behind the call of this edge, which has returned these results, with the caller's locals.
    pub(super) fn resume(
        &mut self,
        call: EdgeId,
        locals: impl IntoIterator<Item = (VarId, Cell)>,
        returned: &[Cell],
    ) {
        let program = self.program;
        let edge = &program.edges()[call];
        (self.proc, self.loc) = (program.locs()[edge.to].proc, edge.to);
        self.locals = locals.into_iter().collect();
        self.noted.clear();
        if let Action::Call { results, .. } = &edge.action {
            let received = results.iter().zip(returned).filter_map(|(var, cell)| var.map(|var| (var, *cell)));
            self.set(received);
        }
    }

    /// Whether a variable can be read here.
    pub(super) fn in_scope(&self, var: VarId) -> Result<(), String> {
        match self.program.vars().get(var).map(|var| var.scope) {
            Some(Scope::Global) => Ok(()),
            Some(Scope::Local(proc)) if proc == self.proc => Ok(()),
            _ => Err(format!("{var} is not in scope")),
        }
    }

    fn cell(&self, var: VarId) -> Cell {
        if self.program.is_global(var) {
            return self.globals.get(var).unwrap_or(Cell::Entry(var));
        }
        let is_param = || self.program.procs()[self.proc].params().contains(&var);
        self.locals.get(var).unwrap_or_else(|| if is_param() { Cell::Entry(var) } else { Cell::Any })
    }

    fn store(&mut self, var: VarId, cell: Cell) {
        let cells = if self.program.is_global(var) { &mut self.globals } else { &mut self.locals };
        cells.insert(var, cell);
    }

    /// Takes one step; [`Run::noted`] says what it changed.
    pub(super) fn step(&mut self, step: &Step) -> Result<(), String> {
        self.noted.clear();
        if self.opened.is_some() || self.returned.is_some() {
            return Err("goes on after the frame was left".into());
        }
        let edge: &'a Edge = self.program.edges().get(step.edge).ok_or("no such edge")?;
        if edge.from != self.loc {
            return Err(format!("{} leaves {}, but the run is at {}", step.edge, edge.from, self.loc));
        }
        let is_call = matches!(edge.action, Action::Call { .. });
        if step.call.is_some() && !is_call {
            return Err("is not a call".into());
        }
        if !step.locals().is_empty() && (!is_call || step.call.is_some()) {
            return Err("chooses locals, but enters no procedure".into());
        }
        let mut choices = self.choices(&edge.action, step.choices())?.into_iter();
        self.act(&edge.action, &mut choices, step.call)?;
        self.loc = edge.to;
        Ok(())
    }

    fn act(
        &mut self,
        action: &'a Action,
        choices: &mut std::vec::IntoIter<Cell>,
        call: Option<SegmentId>,
    ) -> Result<(), String> {
        match action {
            Action::Assume(condition) => self.must_hold(condition, &[], choices)?,
            Action::Assign { targets, values, constraint } => {
                let values = self.values(values, choices)?;
                let new: SmallVec<[_; 2]> = targets.iter().copied().zip(values).collect();
                if let Some(constraint) = constraint {
                    self.must_hold(constraint, &new, choices)?;
                }
                self.set(new);
            }
            Action::Havoc(vars) => self.set(vars.iter().copied().zip(choices)),
            Action::Return(values) => self.returned = Some(self.values(values, choices)?),
            Action::Call { callee, args, results } => {
                let args = self.values(args, choices)?;
                match call {
                    Some(call) => self.come_back(*callee, &args, results, call)?,
                    None => self.opened = Some((*callee, args)),
                }
            }
        }
        Ok(())
    }

    fn choices(&self, action: &Action, given: &[Option<Value>]) -> Result<Vec<Cell>, String> {
        let types: Vec<Type> = self.program.choices(action).collect();
        if types.len() != given.len() {
            return Err(format!("makes {} choices, not {}", types.len(), given.len()));
        }
        let cell = |(ty, choice): (Type, &Option<Value>)| match *choice {
            None => Ok(Cell::Any),
            Some(value) => in_type(ty, value).map(|()| Cell::Known(value)),
        };
        types.into_iter().zip(given).map(cell).collect()
    }

    fn values(&self, exprs: &[Expr], choices: &mut std::vec::IntoIter<Cell>) -> Result<Values, String> {
        let value = |expr| eval(expr, &Two { old: self, new: &[] }, choices);
        let values: Result<Values, _> = exprs.iter().map(value).collect();
        values.map_err(|_| TOO_LARGE.into())
    }

    fn must_hold(
        &self,
        condition: &Expr,
        new: &[(VarId, Cell)],
        choices: &mut std::vec::IntoIter<Cell>,
    ) -> Result<(), String> {
        match eval(condition, &Two { old: self, new }, choices) {
            Ok(Cell::Known(Value::FALSE)) => Err("its condition is false".into()),
            Ok(Cell::Known(_)) => Ok(()),
            Ok(_) => Err("its condition depends on a value that the trace leaves open".into()),
            Err(_) => Err(TOO_LARGE.into()),
        }
    }

    fn come_back(
        &mut self,
        callee: ProcId,
        args: &[Cell],
        results: &[Option<VarId>],
        call: SegmentId,
    ) -> Result<(), String> {
        let effect = self.effects.get(call).ok_or_else(|| format!("{call} is not a segment before this"))?;
        if effect.proc != callee {
            return Err(format!("{call} is a run of another procedure"));
        }
        let params = self.program.procs()[callee].params();
        let passed = |var: VarId| match params.iter().position(|&param| param == var) {
            Some(at) => args[at],
            None => self.cell(var),
        };
        for &(var, value) in effect.entry {
            let arrives = self.program.is_global(var) || params.contains(&var);
            if arrives && passed(var) != Cell::Known(value) {
                let name = &self.program.vars()[var].name;
                return Err(format!("{call} counts on {name} = {value}, which is not passed"));
            }
        }
        let here = |cell: &Cell| match *cell {
            Cell::Entry(var) => passed(var),
            cell => cell,
        };
        let received = results.iter().zip(&effect.results);
        let mut changed: Cells = effect.globals.iter().map(|(var, cell)| (*var, here(cell))).collect();
        changed.extend(received.filter_map(|(var, cell)| Some(((*var)?, here(cell)))));
        self.set(changed.iter());
        Ok(())
    }

    /// Stores cells, and notes those of which something else is known now.
    fn set(&mut self, cells: impl IntoIterator<Item = (VarId, Cell)>) {
        for (var, cell) in cells {
            let before = if self.notes { self.cell(var) } else { cell };
            self.store(var, cell);
            // The reader of the changes may know more than we do of the values at entry.
            let open = matches!(before, Cell::Entry(_)) && before != cell;
            if self.notes && (open || before.known() != cell.known()) {
                self.noted.push((var, cell.known()));
            }
        }
    }

    /// Forgets every value but these, as if the run started here.
    pub(super) fn forget_all_but(&mut self, kept: &[(VarId, Value)]) {
        (self.globals, self.locals) = Default::default();
        kept.iter().for_each(|&(var, value)| self.store(var, Cell::Known(value)));
    }

    /// The locals whose values are known.
    pub(super) fn known_locals(&self) -> impl Iterator<Item = (VarId, Option<Value>)> + '_ {
        self.locals.iter().filter_map(|(var, cell)| Some((var, Some(cell.known()?))))
    }

    /// What is known of a variable.
    pub(super) fn known(&self, var: VarId) -> Option<Value> {
        self.cell(var).known()
    }

    /// Ends a segment with this entry, which must have returned.
    pub(super) fn leave(self, entry: &[(VarId, Value)]) -> Result<Effect<'_>, String> {
        let results = self.returned.ok_or("a segment ends in a return")?;
        Ok(Effect { proc: self.proc, entry, globals: self.globals.iter().collect(), results })
    }
}

impl Effect<'_> {
    /// The globals whose value is known at the end.
    pub(super) fn exit(&self) -> Known {
        self.globals.iter().filter_map(|(var, cell)| Some((*var, cell.known()?))).collect()
    }

    /// The results, where known.
    pub(super) fn results(&self) -> Vec<Option<Value>> {
        self.results.iter().map(|cell| cell.known()).collect()
    }
}

fn in_type(ty: Type, value: Value) -> Result<(), String> {
    if ty.contains(value) { Ok(()) } else { Err(format!("{value} is not a value of {ty}")) }
}
