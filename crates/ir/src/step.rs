//! Room `ir`: everything one edge can do, on plain numbers.
//!
//! This is the concrete semantics that the [`crate::oracle`] and the breadth-first search of [`crate::bfs`] run: all choices are
//! enumerated, nothing is left open, nothing is clever.

use crate::eval::{Cell, Env, Overflow, eval};
use crate::expr::Expr;
use crate::ids::{ProcId, Table, VarId};
use crate::program::{Action, Program, Scope};
use crate::types::Type;
use crate::value::Value;

/// The values of all globals, and of the locals of one activation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Valuation {
    /// One number per global, in the order of their ids.
    pub globals: Vec<Value>,
    /// One number per local, in the order of [`crate::Proc::locals`].
    pub locals: Vec<Value>,
}

/// What taking an edge leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Successor {
    /// The same activation goes on with this valuation.
    Move(Valuation),
    /// A procedure starts with these values of its parameters.
    Call(Vec<Value>),
    /// The activation ends with these results.
    Return(Vec<Value>),
}

/// Where each variable's value stands in a [`Valuation`].
#[derive(Debug)]
pub struct Places {
    place: Table<VarId, usize>,
    globals: Vec<VarId>,
}

impl Places {
    /// The places of a program's variables.
    pub fn new(program: &Program) -> Self {
        let globals: Vec<VarId> = program.globals().collect();
        let mut place = Table::filled(program.vars().len(), 0);
        let lists = program.procs().iter().map(|proc| &proc.locals).chain([&globals]);
        for list in lists {
            for (at, &var) in list.iter().enumerate() {
                place[var] = at;
            }
        }
        Places { place, globals }
    }

    /// The value of a variable.
    pub fn read(&self, program: &Program, valuation: &Valuation, var: VarId) -> Value {
        match program.vars()[var].scope {
            Scope::Global => valuation.globals[self.place[var]],
            Scope::Local(_) => valuation.locals[self.place[var]],
        }
    }

    /// Stores a value.
    pub fn write(&self, program: &Program, valuation: &mut Valuation, var: VarId, value: Value) {
        match program.vars()[var].scope {
            Scope::Global => valuation.globals[self.place[var]] = value,
            Scope::Local(_) => valuation.locals[self.place[var]] = value,
        }
    }

    /// All valuations of the globals.
    pub fn all_globals(&self, program: &Program) -> Vec<Vec<Value>> {
        all_values(&self.globals.iter().map(|&var| program.vars()[var].ty).collect::<Vec<_>>())
    }

    /// All valuations of a procedure's locals that start with these values of its parameters.
    pub fn all_locals(&self, program: &Program, proc: ProcId, params: &[Value]) -> Vec<Vec<Value>> {
        let rest = &program.procs()[proc].locals[params.len()..];
        let types: Vec<Type> = rest.iter().map(|&var| program.vars()[var].ty).collect();
        let all = all_values(&types).into_iter();
        all.map(|tail| params.iter().copied().chain(tail).collect()).collect()
    }
}

/// All tuples of values of these types.
pub fn all_values(types: &[Type]) -> Vec<Vec<Value>> {
    let mut all = vec![Vec::new()];
    for ty in types {
        let longer = |tuple: Vec<Value>| ty.values().map(move |v| [&tuple[..], &[v]].concat());
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

struct Values<'a> {
    program: &'a Program,
    places: &'a Places,
    old: &'a Valuation,
    new: &'a Valuation,
}

impl Env for Values<'_> {
    fn current(&self, var: VarId) -> Cell {
        Cell::Known(self.places.read(self.program, self.old, var))
    }
    fn next(&self, var: VarId) -> Cell {
        Cell::Known(self.places.read(self.program, self.new, var))
    }
}

/// All successors of an action, one for each way to make its choices.
pub fn successors(
    program: &Program,
    places: &Places,
    action: &Action,
    old: &Valuation,
) -> Result<Vec<Successor>, Overflow> {
    let types: Vec<Type> = match action {
        Action::Havoc(vars) => vars.iter().map(|&var| program.vars()[var].ty).collect(),
        _ => action.exprs().flat_map(Expr::choices).collect(),
    };
    let mut found = Vec::new();
    for choices in all_values(&types) {
        found.extend(outcome(program, places, action, old, &choices)?);
    }
    Ok(found)
}

/// The outcome of an action once its choices are made; none where it blocks.
pub(crate) fn outcome(
    program: &Program,
    places: &Places,
    action: &Action,
    old: &Valuation,
    choices: &[Value],
) -> Result<Option<Successor>, Overflow> {
    let mut choices = choices.iter().map(|&value| Cell::Known(value));
    let mut value = |expr: &Expr, new: &Valuation| -> Result<Value, Overflow> {
        let cell = eval(expr, &Values { program, places, old, new }, &mut choices)?;
        Ok(cell.known().expect("known values give known results"))
    };
    Ok(match action {
        Action::Assume(condition) => value(condition, old)?.is_true().then(|| Successor::Move(old.clone())),
        Action::Assign { targets, values, constraint } => {
            let mut new = old.clone();
            for (&target, expr) in targets.iter().zip(values) {
                places.write(program, &mut new, target, value(expr, old)?);
            }
            let allowed = match constraint {
                Some(constraint) => value(constraint, &new)?.is_true(),
                None => true,
            };
            allowed.then_some(Successor::Move(new))
        }
        Action::Havoc(vars) => {
            let mut new = old.clone();
            for (&var, cell) in vars.iter().zip(choices) {
                places.write(program, &mut new, var, cell.known().expect("choices are known"));
            }
            Some(Successor::Move(new))
        }
        Action::Call { args, .. } => {
            Some(Successor::Call(args.iter().map(|arg| value(arg, old)).collect::<Result<_, _>>()?))
        }
        Action::Return(results) => {
            Some(Successor::Return(results.iter().map(|expr| value(expr, old)).collect::<Result<_, _>>()?))
        }
    })
}

/// The valuation of a caller after its call came back with these globals and results.
pub fn resume(
    program: &Program,
    places: &Places,
    action: &Action,
    caller: &Valuation,
    globals: &[Value],
    returned: &[Value],
) -> Valuation {
    let Action::Call { results, .. } = action else { panic!("only calls are resumed") };
    let mut after = Valuation { globals: globals.to_vec(), locals: caller.locals.clone() };
    for (result, &value) in results.iter().zip(returned) {
        if let Some(var) = *result {
            places.write(program, &mut after, var, value);
        }
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_are_counted_once_each() {
        let all = all_values(&[Type::Bool, Type::Int(2)]);
        assert_eq!(all.len(), 8);
        assert_eq!(all[0], [0, -2].map(Value::new));
        assert_eq!(all[7], [1, 1].map(Value::new));
        assert_eq!(all_values(&[]), [Vec::<Value>::new()]);
    }
}
