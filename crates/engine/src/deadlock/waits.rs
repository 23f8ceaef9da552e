//! Room `engine/deadlock`: under which condition a thread waits at a location.
//!
//! # Idea
//!
//! A thread that is between statements waits if it cannot get through the next one in any way ([`postbop_ir::blocked`]). Backwards from the end of
//! a statement: an edge can be taken if its condition holds for some choice, and what it leads to within the statement can be got through
//! with the values that it assigns. A location waits if none of its edges can be taken. Calls and returns can always be.
//!
//! Choices are quantified away. Each stands at one place of a condition; where only `&`, `|` and `!` are above it, it is best chosen
//! true, or false below an odd number of negations. All other choices are tried, one value after the other.
//!
//! # Cost
//!
//! A condition is written once for each way to make the choices that are tried; too many of them are refused.

use crate::engine::Unsupported;
use crate::reduce::fold::Folder;
use crate::threads::build::{both, either};
use postbop_ir::blocked::ends;
use postbop_ir::step::all_values;
use postbop_ir::{Action, Edge, Expr, LocId, Op, Program, Type, Value, VarId};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The most bits of choices that are tried, and the longest condition.
const MOST_BITS: u32 = 8;
const LONGEST: usize = 50_000;

/// The locations between statements at which a run may wait, each with the condition under which it does.
pub fn waits(program: &Program) -> Result<Vec<(LocId, Expr)>, Unsupported> {
    let ends = ends(program);
    let mut conditions = Conditions { program, inside: HashMap::default() };
    let mut waits = Vec::new();
    for (id, loc) in program.locs().pairs() {
        if loc.inner || ends[id] || program.is_exit(id) {
            continue;
        }
        let condition = conditions.at(id)?;
        if !is_constant(&condition, false) {
            waits.push((id, condition));
        }
    }
    Ok(waits)
}

struct Conditions<'a> {
    program: &'a Program,
    /// For locations within a statement the condition under which it cannot be got through from there.
    inside: HashMap<LocId, Expr>,
}

impl Conditions<'_> {
    /// The condition under which a run waits at a location.
    fn at(&mut self, loc: LocId) -> Result<Expr, Unsupported> {
        let mut path = vec![loc];
        while let Some(&here) = path.last() {
            let next = self.program.leaving(here).iter().map(|&edge| self.program.edges()[edge].to);
            let mut next = next.filter(|&to| self.is_within(to) && !self.inside.contains_key(&to));
            match next.next() {
                Some(to) if path.contains(&to) => {
                    return Err(Unsupported("deadlocks of statements with loops inside".into()));
                }
                Some(to) => path.push(to),
                None => {
                    let condition = self.none_can_be_taken(here)?;
                    path.pop();
                    if path.is_empty() {
                        return Ok(condition);
                    }
                    self.inside.insert(here, condition);
                }
            }
        }
        unreachable!("the path begins with the location")
    }

    /// Whether a statement goes on at a location.
    fn is_within(&self, loc: LocId) -> bool {
        self.program.locs()[loc].inner && !self.program.leaving(loc).is_empty()
    }

    /// That no edge that leaves a location can be taken.
    fn none_can_be_taken(&self, loc: LocId) -> Result<Expr, Unsupported> {
        let mut all = Expr::bool(true);
        let mut parts: HashSet<Expr> = HashSet::default();
        for &id in self.program.leaving(loc) {
            let not = fold(self.can_be_taken(&self.program.edges()[id])?.negated());
            // A condition and its negation.
            if is_constant(&not, false) || parts.contains(&not.clone().negated()) {
                return Ok(Expr::bool(false));
            }
            if parts.insert(not.clone()) {
                all = fold(both(all, not));
            }
        }
        Ok(all)
    }

    /// That an edge can be taken, and the rest of its statement be got through.
    fn can_be_taken(&self, edge: &Edge) -> Result<Expr, Unsupported> {
        let blocked_after = self.inside.get(&edge.to).filter(|_| self.is_within(edge.to));
        let (assigned, guard): (Vec<(VarId, Expr)>, Expr) = match &edge.action {
            Action::Call { .. } | Action::Return(_) => return Ok(Expr::bool(true)),
            Action::Havoc(vars) => {
                let any = |&var: &VarId| (var, Expr::choice(self.program.vars()[var].ty));
                (vars.iter().map(any).collect(), Expr::bool(true))
            }
            Action::Assume(condition) => (Vec::new(), condition.clone()),
            Action::Assign { targets, values, constraint } => {
                let guard = constraint.clone().unwrap_or_else(|| Expr::bool(true));
                (targets.iter().copied().zip(values.iter().cloned()).collect(), guard)
            }
        };
        let mentions_new = |var: VarId| guard.code.contains(&Op::Next(var));
        let mentions_after = |var: VarId| blocked_after.is_some_and(|after| after.reads().any(|v| v == var));
        let matters = |(var, _): &&(VarId, Expr)| mentions_new(*var) || mentions_after(*var);
        let relevant: Vec<&(VarId, Expr)> = assigned.iter().filter(matters).collect();
        let types: Vec<Type> = relevant.iter().flat_map(|(_, value)| value.choices()).collect();
        let mut can = Expr::bool(false);
        for choices in ways(&types)? {
            let mut choices = choices.into_iter();
            let values = relevant.iter().map(|(var, value)| (*var, filled(value, &mut choices)));
            let values: HashMap<VarId, Expr> = values.collect();
            let mut way = substituted(&guard, |op| match op {
                Op::Next(var) => Some(values.get(&var).cloned().unwrap_or_else(|| Expr::var(var))),
                _ => None,
            });
            if let Some(after) = blocked_after {
                let after = substituted(after, |op| match op {
                    Op::Var(var) => values.get(&var).cloned(),
                    _ => None,
                });
                way = both(way, after.negated());
            }
            can = fold(either(can, possible(&fold(way))?));
            if can.code.len() > LONGEST {
                return Err(Unsupported(format!("deadlocks of conditions of more than {LONGEST} operators")));
            }
        }
        Ok(can)
    }
}

/// Whether an expression is this truth value.
fn is_constant(expr: &Expr, value: bool) -> bool {
    *expr == Expr::bool(value)
}

/// An expression with its constant parts computed.
fn fold(expr: Expr) -> Expr {
    Folder::new(&|_| None).fold(&expr)
}

/// All ways to choose values of these types.
fn ways(types: &[Type]) -> Result<Vec<Vec<Value>>, Unsupported> {
    let bits: u32 = types.iter().map(|ty| ty.bits().map_or(64, u32::from)).sum();
    match bits <= MOST_BITS {
        true => Ok(all_values(types)),
        false => Err(Unsupported(format!(
            "deadlocks of conditions on more than {MOST_BITS} bits that are chosen freely"
        ))),
    }
}

/// An expression in which each choice has the next value.
fn filled(expr: &Expr, choices: &mut impl Iterator<Item = Value>) -> Expr {
    substituted(expr, |op| match op {
        Op::Choice(ty) => Some(Expr::new([Op::Const(ty, choices.next().expect("one for each choice"))])),
        _ => None,
    })
}

/// An expression with other expressions in the place of some operands.
pub fn substituted(expr: &Expr, mut by: impl FnMut(Op) -> Option<Expr>) -> Expr {
    let mut code = Vec::with_capacity(expr.code.len());
    for &op in &expr.code {
        match by(op) {
            Some(other) => code.extend_from_slice(&other.code),
            None => code.push(op),
        }
    }
    Expr::new(code)
}

/// That a condition is true for some choices.
fn possible(condition: &Expr) -> Result<Expr, Unsupported> {
    let condition = fold(well_chosen(condition));
    let types: Vec<Type> = condition.choices().collect();
    let mut possible = Expr::bool(false);
    for choices in ways(&types)? {
        possible = fold(either(possible, filled(&condition, &mut choices.into_iter())));
    }
    Ok(possible)
}

/// A condition in which each Boolean choice that can only help to make it true, or only help to make it false, is made.
fn well_chosen(condition: &Expr) -> Expr {
    let mut code = condition.code.to_vec();
    // For the operands that are still to be met, from the last to the first: what is wanted of each, if that is known.
    let mut wanted = vec![Some(true)];
    for op in code.iter_mut().rev() {
        let want = wanted.pop().expect("an operand for each operator");
        match *op {
            Op::Choice(Type::Bool) => {
                if let Some(want) = want {
                    *op = Op::Const(Type::Bool, want.into());
                }
            }
            Op::Not => wanted.push(want.map(|want| !want)),
            Op::And | Op::Or => wanted.extend([want, want]),
            Op::Ite => wanted.extend([None, want, want]),
            other => wanted.extend(std::iter::repeat_n(None, other.arity())),
        }
    }
    Expr::new(code)
}
