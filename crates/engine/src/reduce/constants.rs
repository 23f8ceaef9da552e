//! Room `engine/reduce`: constant propagation.
//!
//! # Idea
//!
//! Many variables are assigned one value only, by all assignments together. Such a variable is a *constant*: every
//! read of it can be replaced by the value, conditions that this decides disappear, and the variable need not be
//! stored any more.
//!
//! The analysis does not follow control flow. For each variable, and for each result of a procedure, it keeps what
//! is ever stored there ([`Stored`]): nothing, always the same number, or various numbers. At first nothing is
//! stored anywhere. A pass looks at every edge, evaluates each assigned expression with what is known so far, and
//! joins the value to what its variable has. Calls assign too: arguments to parameters, returned values to the
//! results of the procedure, and these to the variables that receive them. `havoc` stores various numbers. What is
//! known of a variable only ever goes from nothing to one number to various, so after a few passes nothing changes.
//!
//! Variables also have a value before their first assignment: an arbitrary one. Where that value can matter, the
//! variable is live at the place where it comes into being: a local that is no parameter at the entry of its
//! procedure, a global at the entry of `main`. These variables begin with various numbers ([`arbitrary`]). For all
//! others, whenever a read matters, an assignment came before it; and if all assignments store the same number,
//! that is the number that is read.
//!
//! In the smaller program each read of a constant is its number, expressions are folded ([`super::fold`]), and
//! assignments to constants are left out.
//!
//! # The way back
//!
//! A trace of the smaller program does not mention constants. When it is replayed on the program as written,
//! conditions do read them, and replay must know their values. Inside a procedure an assignment tells the value.
//! But a constant may be live already at the entry of a procedure, because its caller assigned it, and a segment
//! must list every value at its entry that it depends on. So for each procedure the constants that are live at its
//! entry are kept, with their numbers ([`Constants::entries`]), and [`super::edge_map`] adds them to the entry of each
//! of its segments.
//!
//! # Paper
//!
//! Constant propagation is Kildall's, with sets of assignments in place of control flow: docs/papers.md.
//!
//! # Cost
//!
//! Some passes over all edges, more where constants depend on each other in a row; after [`MOST_LOOKS`] it gives
//! up. Liveness is computed only if there is a constant that is read.

use super::draft::{Draft, Made};
use super::fold::Folder;
use crate::encode::live::Live;
use crate::encode::scope::Scopes;
use postbop_ir::trace::Known;
use postbop_ir::{Action, Expr, Op, ProcId, Program, Table, Type, Value, VarId};
use postbop_kit::bits;
use rustc_hash::FxHashMap as HashMap;

/// What is stored in a variable, or returned as a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stored {
    Nothing,
    Always(Value),
    Various,
}

impl Stored {
    /// Adds to what is stored; whether that is something else.
    fn add(&mut self, more: Stored) -> bool {
        let joined = match (*self, more) {
            (Stored::Nothing, other) | (other, Stored::Nothing) => other,
            (Stored::Always(a), Stored::Always(b)) if a == b => *self,
            _ => Stored::Various,
        };
        std::mem::replace(self, joined) != joined
    }
}

/// After so many passes over all edges the analysis gives up.
const MOST_LOOKS: usize = 16;

/// The constants of a program.
#[derive(Default)]
pub struct Constants {
    /// How many there are.
    pub count: usize,
    /// For each procedure the constants that are live at its entry, with their values.
    pub entries: HashMap<ProcId, Known>,
}

/// Replaces constants by their values.
pub fn constants(draft: &mut Draft) -> Constants {
    let program = draft.task.program;
    let none = Table::filled(program.vars().len(), Stored::Nothing);
    if !look(draft, none).is_some_and(|stored| worth_it(draft, &stored)) {
        return Constants::default();
    }
    let scopes = Scopes::new(program);
    let live = Live::new(program, &scopes);
    let stored = look(draft, arbitrary(program, &scopes, &live));
    let Some(stored) = stored.filter(|stored| worth_it(draft, stored)) else { return Constants::default() };
    for arc in 0..draft.arcs.len() as u32 {
        if draft.arcs[arc as usize].live {
            rewrite(draft, arc, &stored);
        }
    }
    let count = stored.iter().filter(|stored| matches!(stored, Stored::Always(_))).count();
    Constants { count, entries: entries(program, &scopes, &live, &stored) }
}

/// What is stored at the start: something arbitrary in each variable whose first value can matter.
fn arbitrary(program: &Program, scopes: &Scopes, live: &Live) -> Table<VarId, Stored> {
    let mut stored = Table::filled(program.vars().len(), Stored::Nothing);
    for (id, proc) in program.procs().pairs() {
        let fields = bits::members(live.at(program, proc.entry));
        for var in fields.filter_map(|field| scopes.var(program, id, field)) {
            let passed = program.is_global(var) || proc.params().contains(&var);
            if !passed || id == program.main() {
                stored[var] = Stored::Various;
            }
        }
    }
    stored
}

/// What is stored in each variable, in the end.
fn look(draft: &Draft, mut stored: Table<VarId, Stored>) -> Option<Table<VarId, Stored>> {
    let program = draft.task.program;
    let mut results: Table<ProcId, Vec<Stored>> =
        program.procs().iter().map(|proc| vec![Stored::Nothing; proc.results.len()]).collect();
    for _ in 0..MOST_LOOKS {
        let mut changed = false;
        for (at, arc) in draft.arcs.iter().enumerate().filter(|(_, arc)| arc.live) {
            match draft.action(at as u32) {
                Action::Assume(_) => {}
                Action::Assign { targets, values, .. } => {
                    for (&target, value) in targets.iter().zip(values) {
                        let more = given(&stored, value);
                        changed |= stored[target].add(more);
                    }
                }
                Action::Havoc(vars) => {
                    vars.iter().for_each(|&var| changed |= stored[var].add(Stored::Various));
                }
                Action::Call { callee, args, results: wanted } => {
                    for (&param, arg) in program.procs()[*callee].params().iter().zip(args) {
                        let more = given(&stored, arg);
                        changed |= stored[param].add(more);
                    }
                    for (&var, &result) in wanted.iter().zip(&results[*callee]) {
                        changed |= var.is_some_and(|var| stored[var].add(result));
                    }
                }
                Action::Return(values) => {
                    let proc = program.locs()[arc.from].proc;
                    for (result, value) in results[proc].iter_mut().zip(values) {
                        changed |= result.add(given(&stored, value));
                    }
                }
            }
        }
        if !changed {
            return Some(stored);
        }
    }
    None
}

/// The value of an expression, as far as it is known by now.
fn given(stored: &Table<VarId, Stored>, expr: &Expr) -> Stored {
    match *expr.code {
        [Op::Const(_, value)] => return Stored::Always(value),
        [Op::Var(var)] => return stored[var],
        [Op::Choice(_)] => return Stored::Various,
        _ => {}
    }
    if expr.reads().any(|var| stored[var] == Stored::Nothing) {
        return Stored::Nothing;
    }
    if expr.reads().next().is_some() && expr.reads().all(|var| stored[var] == Stored::Various) {
        return Stored::Various;
    }
    // The type of a constant does not matter here.
    let known = |var: VarId| match stored[var] {
        Stored::Always(value) => Some((Type::Bool, value)),
        _ => None,
    };
    match *Folder::new(&known).fold(expr, true).expect("it is wanted").code {
        [Op::Const(_, value)] => Stored::Always(value),
        _ => Stored::Various,
    }
}

/// Whether an expression reads a constant.
fn worth_it(draft: &Draft, stored: &Table<VarId, Stored>) -> bool {
    let known = |var: VarId| matches!(stored[var], Stored::Always(_));
    let arcs = draft.arcs.iter().enumerate().filter(|(_, arc)| arc.live);
    let mut exprs = arcs.flat_map(|(at, _)| draft.action(at as u32).exprs());
    stored.iter().any(|stored| matches!(stored, Stored::Always(_)))
        && exprs.any(|expr| expr.reads().any(known))
}

/// Rewrites an arc without constants.
fn rewrite(draft: &mut Draft, arc: u32, stored: &Table<VarId, Stored>) {
    let program = draft.task.program;
    let known = |var: VarId| match stored[var] {
        Stored::Always(value) => Some((program.vars()[var].ty, value)),
        _ => None,
    };
    let is_open = |var: VarId| known(var).is_none();
    let action = draft.action(arc);
    let reads = action.exprs().flat_map(|expr| &expr.code).any(|op| match *op {
        Op::Var(var) | Op::Next(var) => !is_open(var),
        _ => false,
    });
    let writes = match action {
        Action::Assign { targets, .. } => targets.iter().any(|&var| !is_open(var)),
        Action::Call { results, .. } => results.iter().flatten().any(|&var| !is_open(var)),
        _ => false,
    };
    if !reads && !writes {
        return;
    }
    let mut folder = Folder::new(&known);
    let mut all = |exprs: &[Expr]| -> Vec<Expr> {
        exprs.iter().map(|expr| folder.fold(expr, true).expect("it is wanted")).collect()
    };
    let action = match action {
        Action::Assume(condition) => Action::Assume(all(std::slice::from_ref(condition)).remove(0)),
        Action::Return(values) => Action::Return(all(values)),
        Action::Call { callee, args, results } => {
            let results = results.iter().map(|var| var.filter(|&var| is_open(var))).collect();
            Action::Call { callee: *callee, args: all(args), results }
        }
        Action::Assign { targets, values, constraint } => {
            let open = targets.iter().copied().filter(|&var| is_open(var)).collect::<Vec<_>>();
            let pairs = targets.iter().zip(values);
            let values: Vec<Expr> =
                pairs.filter_map(|(&target, value)| folder.fold(value, is_open(target))).collect();
            let constraint = constraint.as_ref().and_then(|constraint| folder.fold(constraint, true));
            match (open.is_empty(), constraint) {
                (true, constraint) => Action::Assume(constraint.unwrap_or_else(|| Expr::bool(true))),
                (false, constraint) => Action::Assign { targets: open, values, constraint },
            }
        }
        Action::Havoc(_) => unreachable!("what becomes arbitrary is not known"),
    };
    let made = Made { action, origins: folder.left.into(), choices: draft.choices(arc) };
    draft.rewrite(arc, made);
}

/// For each procedure the constants that are live at its entry, with their values.
fn entries(
    program: &Program,
    scopes: &Scopes,
    live: &Live,
    stored: &Table<VarId, Stored>,
) -> HashMap<ProcId, Known> {
    let mut entries = HashMap::default();
    for (id, proc) in program.procs().pairs() {
        let fields = bits::members(live.at(program, proc.entry));
        let known = fields.filter_map(|field| {
            let var = scopes.var(program, id, field)?;
            match stored[var] {
                Stored::Always(value) => Some((var, value)),
                _ => None,
            }
        });
        let mut known: Known = known.collect();
        known.sort_unstable();
        if !known.is_empty() {
            entries.insert(id, known);
        }
    }
    entries
}
