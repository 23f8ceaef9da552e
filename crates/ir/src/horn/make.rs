//! Room `ir/horn`: the clauses of a program, one after the other. What they are is said in [`super`].
//!
//! Where not every location has a relation, a clause is about a run of edges from one *cut* location to the next. Entries, exits and targets are cut.

use super::Failure;
use super::clause::{Clause, Slot};
use super::interface::{Interfaces, Relation};
use super::term::term;
use crate::expr::Expr;
use crate::ids::{EdgeId, LocId, ProcId, VarId};
use crate::program::{Action, Program};
use crate::types::Type;
use std::collections::BTreeMap;

/// From one location, so many runs are followed.
const MOST_RUNS: usize = 10_000;

/// Who takes the clauses.
pub type Take<'t> = dyn FnMut(&Clause) -> Result<(), Failure> + 't;

/// Makes the clauses of a program.
pub struct Maker<'a> {
    pub program: &'a Program,
    pub interfaces: &'a Interfaces<'a>,
    pub targets: &'a [LocId],
    /// Whether a location has a relation.
    pub is_cut: &'a dyn Fn(LocId) -> bool,
}

/// A run of edges from a location.
#[derive(Clone)]
pub struct Run {
    pub clause: Clause,
    proc: ProcId,
    /// The variables that have changed since, and where their values are.
    now: BTreeMap<VarId, Slot>,
    /// How many new values each of them had.
    nexts: BTreeMap<VarId, u32>,
    choices: u32,
    calls: u32,
}

impl Run {
    fn slot(&self, var: VarId) -> Slot {
        self.now.get(&var).copied().unwrap_or(Slot::Now(var))
    }

    /// Where the next value of a variable goes.
    fn next(&mut self, var: VarId) -> Slot {
        let nth = self.nexts.entry(var).or_default();
        *nth += 1;
        Slot::Next(var, *nth - 1)
    }
}

/// A location on a run, and how far its edges were followed.
struct Stage {
    loc: LocId,
    next: usize,
    run: Run,
}

impl Maker<'_> {
    /// Hands over all clauses.
    pub fn clauses(&self, take: &mut Take) -> Result<(), Failure> {
        for proc in self.program.procs().ids().filter(|&proc| self.interfaces.is_used(proc)) {
            take(&self.entry(proc))?;
            for &loc in self.interfaces.locs(proc) {
                if (self.is_cut)(loc) && !self.program.is_exit(loc) {
                    self.follow(loc, take)?;
                }
            }
        }
        for &target in self.targets {
            if let Some(clause) = self.target(target) {
                take(&clause)?;
            }
        }
        take(&self.query())
    }

    /// What holds where a procedure begins.
    pub fn entry(&self, proc: ProcId) -> Clause {
        let mut clause = Clause::default();
        let entry = self.program.procs()[proc].entry;
        let vars = self.interfaces.kept(proc).chain(self.interfaces.scope(proc)).map(Slot::Now);
        let head = self.atom(Relation::At(entry), vars, &mut clause);
        clause.implies(head)
    }

    /// That a target is reached, if a run can be there: it is at the exit of no procedure but `main`.
    pub fn target(&self, target: LocId) -> Option<Clause> {
        let proc = self.program.locs()[target].proc;
        let is_exit = self.program.is_exit(target);
        if !self.interfaces.is_used(proc) || is_exit && proc != self.program.main() {
            return None;
        }
        let relation = if is_exit { Relation::Returns(proc) } else { Relation::At(target) };
        let mut clause = Clause::default();
        let slots = self.interfaces.arguments(relation).into_iter().map(|(slot, _)| slot);
        let premise = self.atom(relation, slots, &mut clause);
        clause.premise(&premise);
        let head = self.fails(proc, &mut clause);
        Some(clause.implies(head))
    }

    /// That the program fails.
    pub fn query(&self) -> Clause {
        let (main, mut clause) = (self.program.main(), Clause::default());
        let premise =
            self.atom(Relation::Fails(main), self.interfaces.inputs(main).map(Slot::Now), &mut clause);
        clause.premise(&premise);
        clause.implies("false".to_owned())
    }

    /// A run that has just begun at a location.
    pub fn start(&self, loc: LocId) -> Run {
        let proc = self.program.locs()[loc].proc;
        let mut clause = Clause::default();
        let slots = self.interfaces.arguments(Relation::At(loc)).into_iter().map(|(slot, _)| slot);
        let premise = self.atom(Relation::At(loc), slots, &mut clause);
        clause.premise(&premise);
        Run { clause, proc, now: BTreeMap::new(), nexts: BTreeMap::new(), choices: 0, calls: 0 }
    }

    /// Follows all runs from a location to the next ones with relations.
    fn follow(&self, start: LocId, take: &mut Take) -> Result<(), Failure> {
        if self.program.leaving(start).is_empty() {
            return Ok(());
        }
        let mut stages = vec![Stage { loc: start, next: 0, run: self.start(start) }];
        let mut runs = 0;
        while let Some(stage) = stages.last_mut() {
            let Some(&edge) = self.program.leaving(stage.loc).get(stage.next) else {
                stages.pop();
                continue;
            };
            stage.next += 1;
            let run = stage.run.clone();
            let (run, to) = (self.take(edge, run, take)?, self.program.edges()[edge].to);
            let Some(run) = run else { continue };
            if (self.is_cut)(to) {
                let head = self.arrived(to, run);
                take(&head)?;
                continue;
            }
            runs += 1;
            if runs > MOST_RUNS || stages.iter().any(|stage| stage.loc == to) {
                return Err(Failure::Unfit(format!("there are too many runs from {start} to the next sets")));
            }
            stages.push(Stage { loc: to, next: 0, run });
        }
        Ok(())
    }

    /// That the location at the end of a run is reached.
    pub fn arrived(&self, to: LocId, mut run: Run) -> Clause {
        let kept = self.interfaces.kept(run.proc).map(Slot::Entry);
        let scope = self.interfaces.scope(run.proc).map(|var| run.slot(var));
        let slots: Vec<Slot> = kept.chain(scope).collect();
        let head = self.atom(Relation::At(to), slots.into_iter(), &mut run.clause);
        run.clause.implies(head)
    }

    /// Takes an edge at the end of a run. A call hands over the clause that it may fail; a return the one that ends the run, and is its end.
    pub fn take(&self, edge: EdgeId, mut run: Run, take: &mut Take) -> Result<Option<Run>, Failure> {
        match &self.program.edges()[edge].action {
            Action::Assume(condition) => {
                if *condition != Expr::bool(true) {
                    let condition = self.value(condition, &mut run);
                    run.clause.premise(&condition);
                }
            }
            Action::Assign { targets, values, constraint } => {
                self.assign(targets, values, constraint.as_ref(), &mut run);
            }
            Action::Havoc(targets) => {
                for &target in targets {
                    let next = run.next(target);
                    run.now.insert(target, next);
                }
            }
            Action::Call { callee, args, results } => self.call(*callee, args, results, &mut run, take)?,
            Action::Return(values) => {
                take(&self.give_back(values, run))?;
                return Ok(None);
            }
        }
        Ok(Some(run))
    }

    fn assign(&self, targets: &[VarId], values: &[Expr], constraint: Option<&Expr>, run: &mut Run) {
        let nexts: Vec<(VarId, Slot)> = targets.iter().map(|&target| (target, run.next(target))).collect();
        for (&(target, next), value) in nexts.iter().zip(values) {
            let mut text = "(= ".to_owned();
            run.clause.mention(self.program, next, self.program.vars()[target].ty, &mut text);
            text.push(' ');
            text.push_str(&self.value(value, run));
            text.push(')');
            run.clause.premise(&text);
        }
        let old = std::mem::take(&mut run.now);
        let mut new = old.clone();
        new.extend(nexts);
        if let Some(constraint) = constraint {
            let place = |var: VarId, next: bool| {
                let map = if next { &new } else { &old };
                map.get(&var).copied().unwrap_or(Slot::Now(var))
            };
            let mut text = String::new();
            term(self.program, constraint, &mut run.clause, &place, &mut run.choices, &mut text);
            run.clause.premise(&text);
        }
        run.now = new;
    }

    /// A call: it may fail, or it returns.
    fn call(
        &self,
        callee: ProcId,
        args: &[Expr],
        results: &[Option<VarId>],
        run: &mut Run,
        take: &mut Take,
    ) -> Result<(), Failure> {
        let nth = run.calls;
        run.calls += 1;
        let mut text = String::new();
        for var in self.interfaces.globals(callee) {
            text.push(' ');
            let slot = run.slot(var);
            run.clause.mention(self.program, slot, self.program.vars()[var].ty, &mut text);
        }
        for arg in args {
            text.push(' ');
            text.push_str(&self.value(arg, run));
        }
        for var in self.interfaces.remembered(callee) {
            text.push(' ');
            run.clause.mention(self.program, Slot::Inside(var, nth), self.program.vars()[var].ty, &mut text);
        }
        if self.interfaces.can_fail(callee) {
            let mut clause = run.clause.clone();
            clause.premise(&apply(&self.interfaces.name(Relation::Fails(callee)), &text));
            let head = self.fails(run.proc, &mut clause);
            take(&clause.implies(head))?;
        }
        let mut now = Vec::new();
        let mut output = |slot: Slot, ty: Type, clause: &mut Clause| {
            text.push(' ');
            clause.mention(self.program, slot, ty, &mut text);
        };
        for var in self.interfaces.outputs(callee) {
            let next = run.next(var);
            output(next, self.program.vars()[var].ty, &mut run.clause);
            now.push((var, next));
        }
        for var in self.interfaces.left(callee) {
            // Its value at the exit is another than at the entry.
            output(Slot::Inside(var, nth + (1 << 31)), self.program.vars()[var].ty, &mut run.clause);
        }
        for (at, (&ty, &result)) in self.program.procs()[callee].results.iter().zip(results).enumerate() {
            let slot = Slot::Result(at as u32, nth);
            output(slot, ty, &mut run.clause);
            // A result may go to a global that the callee changed: the result is stored last.
            now.extend(result.map(|var| (var, slot)));
        }
        run.clause.premise(&apply(&self.interfaces.name(Relation::Returns(callee)), &text));
        run.now.extend(now);
        Ok(())
    }

    /// A summary of the procedure.
    fn give_back(&self, values: &[Expr], mut run: Run) -> Clause {
        let mut text = String::new();
        let entered = self.interfaces.inputs(run.proc);
        let entered = entered.map(|var| (self.interfaces.entered(run.proc, var), var));
        let left = self.interfaces.outputs(run.proc).chain(self.interfaces.left(run.proc));
        let slots: Vec<(Slot, VarId)> = entered.chain(left.map(|var| (run.slot(var), var))).collect();
        for (slot, var) in slots {
            text.push(' ');
            run.clause.mention(self.program, slot, self.program.vars()[var].ty, &mut text);
        }
        for value in values {
            text.push(' ');
            text.push_str(&self.value(value, &mut run));
        }
        run.clause.implies(apply(&self.interfaces.name(Relation::Returns(run.proc)), &text))
    }

    /// That a procedure fails from the values with which it was entered.
    fn fails(&self, proc: ProcId, clause: &mut Clause) -> String {
        let entered = self.interfaces.inputs(proc).map(|var| self.interfaces.entered(proc, var));
        self.atom(Relation::Fails(proc), entered, clause)
    }

    /// A relation applied to these.
    fn atom(&self, relation: Relation, slots: impl Iterator<Item = Slot>, clause: &mut Clause) -> String {
        let mut text = String::new();
        let types = self.interfaces.arguments(relation);
        for (slot, (_, ty)) in slots.zip(types) {
            text.push(' ');
            clause.mention(self.program, slot, ty, &mut text);
        }
        apply(&self.interfaces.name(relation), &text)
    }

    /// An expression at the end of a run.
    fn value(&self, expr: &Expr, run: &mut Run) -> String {
        let mut text = String::new();
        let now = &run.now;
        let place = |var: VarId, _: bool| now.get(&var).copied().unwrap_or(Slot::Now(var));
        term(self.program, expr, &mut run.clause, &place, &mut run.choices, &mut text);
        text
    }
}

/// A relation applied to terms, each after a blank.
fn apply(name: &str, terms: &str) -> String {
    if terms.is_empty() { name.to_owned() } else { format!("({name}{terms})") }
}
