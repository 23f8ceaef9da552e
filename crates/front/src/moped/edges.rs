//! Room `front/moped`: the edges of a rule.
//!
//! What a rule does to variables is one assignment, before the call or the return if it is one; there is no assignment if
//! nothing changes. A parameter of a call that the assignment does not change or test is passed as it is. The others get
//! their values from the assignment, in variables that are there for nothing else.

use super::emit::Emitter;
use super::expand::{Expansion, Failure};
use super::formula::{FALSE, Formula, Slot, TRUE};
use super::frames::HeadId;
use super::lower::{Lowering, Move};
use super::solve::{Effect, Term, Value};
use super::tree::Time;
use postbop_ir::{Action, Expr, LocId, Op, Span, Type, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The assignment of a rule: targets with their values, and where values after the rule are found.
#[derive(Default)]
struct Assignment {
    targets: Vec<VarId>,
    values: Vec<Expr>,
    places: FxHashMap<Slot, Op>,
}

impl Lowering<'_> {
    /// Adds the edges of a rule. `keeps`: globals of which the formula says nothing stay as they are.
    pub(super) fn step(
        &mut self,
        here: LocId,
        to: Move,
        effect: &Effect,
        keeps: bool,
        span: Span,
        expansion: &Expansion,
    ) -> Result<(), Failure> {
        if effect.rest == FALSE {
            return Ok(());
        }
        let mut assignment = self.assignment(&to, effect, keeps, expansion);
        let (to, jump) = match to {
            Move::Go(_, place) => (place, None),
            Move::Call { head, landing, .. } => {
                let (args, callee) = self.arguments(head, effect, &mut assignment, expansion);
                (landing, Some(Action::Call { callee, args, results: Vec::new() }))
            }
            Move::Return(state) => {
                let at = self.frames.returns.iter().position(|other| *other == state).unwrap_or(0);
                if let Some((var, ty)) = self.control {
                    assignment.targets.push(var);
                    assignment.values.push(Expr::new([Op::Const(ty, (at as i64).into())]));
                }
                (self.out.procs()[self.proc].exit, Some(Action::Return(Vec::new())))
            }
        };
        let action = self.action(assignment, effect, expansion);
        let size = |action: &Action| action.exprs().map(|expr| expr.code.len()).sum::<usize>() + 1;
        let sizes = jump.as_ref().map_or(0, size) + action.as_ref().map_or(0, size);
        self.room = self.room.checked_sub(sizes).ok_or(Failure::TooLarge(span))?;
        match (action, jump) {
            (action, None) => self.out.edge(here, to, action.unwrap_or_else(Action::skip), span),
            (None, Some(jump)) => self.out.edge(here, to, jump, span),
            (Some(action), Some(jump)) => {
                let between = self.out.inner(self.proc, span);
                self.out.edge(here, between, action, span);
                self.out.edge(between, to, jump, span)
            }
        };
        Ok(())
    }

    /// The variable of the procedure at hand, or the global, that has an element.
    fn variable(&self, element: u32) -> VarId {
        let globals = self.elements.range(self.system.globals.clone());
        match globals.contains(&element) {
            true => self.globals[(element - globals.start) as usize],
            false => self.locals[&element],
        }
    }

    /// The assignment to globals and to the locals of the procedure at hand.
    fn assignment(&mut self, to: &Move, effect: &Effect, keeps: bool, expansion: &Expansion) -> Assignment {
        let mut assignment = Assignment::default();
        let globals = self.elements.range(self.system.globals.clone());
        let mut slots: Vec<Slot> = globals.map(|element| Slot { time: Time::New, element }).collect();
        slots.retain(|slot| !keeps || effect.values.contains_key(slot));
        let (symbol, time) = match to {
            Move::Go(symbol, _) => (Some(*symbol), Time::New),
            Move::Call { below, .. } => (*below, Time::Below),
            Move::Return(_) => (None, Time::New),
        };
        let block = symbol.and_then(|symbol| self.scopes.block(symbol));
        slots.extend(self.elements_of(block).map(|element| Slot { time, element }));
        for slot in slots {
            let var = self.variable(slot.element);
            if is_same(effect.values.get(&slot), slot.element, expansion) {
                assignment.places.insert(slot, Op::Var(var));
                continue;
            }
            assignment.targets.push(var);
            assignment.values.push(self.value(effect, slot, expansion));
            assignment.places.insert(slot, Op::Next(var));
        }
        assignment
    }

    /// The value of a slot after a rule, over old ones.
    fn value(&self, effect: &Effect, slot: Slot, expansion: &Expansion) -> Expr {
        let place = |slot: Slot| Op::Var(self.variable(slot.element));
        let mut emitter = Emitter { expansion, place: &place, out: Vec::new() };
        emitter.value(effect.values.get(&slot), self.element(slot.element).1);
        Expr::new(emitter.out)
    }

    /// The arguments of a call of a head, and the procedure.
    fn arguments(
        &mut self,
        head: HeadId,
        effect: &Effect,
        assignment: &mut Assignment,
        expansion: &Expansion,
    ) -> (Vec<Expr>, postbop_ir::ProcId) {
        let (proc, at) = self.frames.entry[&head];
        let callee = self.procs[proc + 1];
        let params = self.out.procs()[callee].params().to_vec();
        let own = self.elements_of(self.scopes.block(self.frames.heads[head as usize].1));
        let changed: FxHashSet<VarId> = assignment.targets.iter().copied().collect();
        let mut used: FxHashMap<Type, usize> = FxHashMap::default();
        let mut args = Vec::new();
        let several = params.len() - self.params(proc).len();
        if several > 0 {
            let ty = self.out.vars()[params[0]].ty;
            args.push(Expr::new([Op::Const(ty, (at as i64).into())]));
        }
        for &element in self.params(proc).iter() {
            let ty = self.element(element).1;
            let slot = Slot { time: Time::New, element };
            if !own.contains(&element) {
                // Of another symbol with which the procedure can begin.
                args.push(Expr::new([Op::Const(ty, false.into())]));
                continue;
            }
            let value = self.value(effect, slot, expansion);
            let guarded = matches!(effect.values.get(&slot), Some(Value::Guarded(_)));
            if !guarded && !effect.tested.contains(&slot) && !value.reads().any(|var| changed.contains(&var))
            {
                args.push(value);
                continue;
            }
            let nth = used.entry(ty).or_default();
            let var = self.argument(ty, *nth);
            *nth += 1;
            assignment.targets.push(var);
            assignment.values.push(value);
            assignment.places.insert(slot, Op::Next(var));
            args.push(Expr::var(var));
        }
        (args, callee)
    }

    /// The n-th variable of the procedure at hand for arguments of a type.
    fn argument(&mut self, ty: Type, nth: usize) -> VarId {
        let (out, proc) = (&mut self.out, self.proc);
        let vars = self.arguments.entry(ty).or_default();
        while vars.len() <= nth {
            vars.push(out.local(proc, "%argument", ty));
        }
        vars[nth]
    }

    /// What an assignment and the test of the formula do; nothing, if they do nothing.
    fn action(&self, assignment: Assignment, effect: &Effect, expansion: &Expansion) -> Option<Action> {
        let Assignment { targets, values, places } = assignment;
        let place = |slot: Slot| match slot.time {
            Time::Old => Op::Var(self.variable(slot.element)),
            _ => places.get(&slot).copied().unwrap_or_else(|| Op::Var(self.variable(slot.element))),
        };
        let mut emitter = Emitter { expansion, place: &place, out: Vec::new() };
        if effect.rest != TRUE {
            emitter.formula(effect.rest);
        }
        let test = (effect.rest != TRUE).then(|| Expr::new(emitter.out));
        let chosen = |value: &Expr| matches!(value.code[..], [Op::Choice(_)]);
        match (targets.is_empty(), test) {
            (true, test) => test.map(Action::Assume),
            (false, None) if values.iter().all(chosen) => Some(Action::Havoc(targets)),
            (false, constraint) => Some(Action::Assign { targets, values, constraint }),
        }
    }
}

/// Whether a value after a rule is that of the same variable before.
fn is_same(value: Option<&Value>, element: u32, expansion: &Expansion) -> bool {
    let old = Slot { time: Time::Old, element };
    match value {
        Some(Value::Fixed(Term::Formula(id))) => {
            matches!(expansion.formulas.get(*id), Formula::Value(slot) if *slot == old)
        }
        Some(Value::Fixed(Term::Sum(id))) => {
            let sum = expansion.formulas.sum(*id);
            sum.terms[..] == [(1, old)] && sum.constant == 0
        }
        _ => false,
    }
}
