//! Room `engine/reduce`: constant propagation.
//!
//! # Idea
//!
//! A variable is a *constant* if every assignment to it left after [`super::prune`] stores the same number and its initial value is never needed. Every read of it is
//! replaced by the number. Conditions that this decides become `true` or `false`; a second `prune` then drops edges to and from locations that control can no longer get
//! to. Since no edge reads the variable any longer, it is live nowhere ([`crate::encode::live`]), and so engines do not store it.
//!
//! The analysis is flow-insensitive. For each variable, and for each result of a procedure, it keeps what
//! is ever stored there ([`Stored`]): nothing, always the same number, or various numbers. At first nothing is
//! stored anywhere. A pass looks at every edge that is left (the others are on no run to a target; in a draft, edges are called *arcs*), evaluates each assigned expression with what is known so far, and
//! joins the value to that of the assigned variable. Calls assign too: arguments to parameters, returned values to the
//! results of the procedure, and these to the variables that receive them. `havoc` stores various numbers. What is
//! known of a variable only ever goes from nothing to one number to various, so the passes come to an end.
//!
//! Variables also have an initial value: an arbitrary one. A read *matters* if the variable is live there: the value can still decide a condition. (Liveness is that of
//! the program as written.) Where the initial value can matter, the variable is live at the location where it comes into being: a local that is no parameter at the entry
//! of its procedure, a global or a parameter of `main` at the entry of `main` (only sequential programs are reduced). These variables begin with various numbers
//! ([`arbitrary`]). All other variables were assigned before any read that matters; and if all assignments store the same number, that is the number that is read.
//!
//! Some of the other variables stay without a number ([`Stored::Nothing`]): no edge that is left assigns them, or only values that are computed from such variables. No
//! run gets to a location where one of them is live (this is part of the argument below). So an assignment that reads one stores a value that no condition uses. The
//! analysis ignores such assignments.
//!
//! In the smaller program each read of a constant is its number, expressions are folded ([`super::fold`]), and constants
//! are no longer assigned. Two kinds of assignments stay, since a procedure has a fixed number of parameters and
//! results: arguments, and returned values.
//!
//! # The way back
//!
//! A trace of the smaller program does not mention constants. When it is replayed on the program as written,
//! conditions do read them, and replay must know their values. Inside a procedure an assignment tells the value.
//! But a constant may be live already at the entry of a procedure, because it was assigned before the call, or by it, and a segment
//! must list every value at its entry that it depends on. So for each procedure the constants that are live at its
//! entry are kept, with their numbers ([`Constants::entries`]), and [`super::edge_map`] adds them to the entry of each
//! of its segments. A proof is given the numbers of the constants that are live at each location ([`super::loc_map`]); for that, results are
//! kept too ([`Numbers`]).
//!
//! Claim: whenever a run along the edges that are left is at a location where a constant is live, the constant has its number. In particular, a constant that is
//! live at the entry of a procedure has its number there whichever call entered it, so one list serves all segments of the procedure. The proof is by induction on the length of the run. Some edge of the run assigned the
//! variable (a local: in this activation): otherwise it would be live where it comes into being, and no constant. Take the last such edge. The variable is live after it,
//! so the variables that the assigned expression reads are live before it. (If the variable receives a result of a call, the expression is that of the return.) By
//! induction, those of them that are constants have their numbers. So if the abstract value of the expression is not `Nothing`, it is the number of the constant, and the
//! edge stored this number.
//!
//! Otherwise the expression reads a variable `y` that is `Nothing`, and `y` is live before the edge. An earlier edge of the run assigned `y`: otherwise `y` would be live
//! where it comes into being, and `Various`. Take the last such edge. The abstract value of its expression is `Nothing` too, so it reads another such variable. The run
//! is finite, so this ends at a variable that is live and that no edge assigned before. It is live where it comes into being, so it is `Various`: a contradiction.
//!
//! Reads where a constant is not live are replaced too, and there the number may be wrong. But then only a variable that is not live receives it, and no condition can
//! tell. A constraint that reads the new value of a variable counts as a read just after the assignment, where [`Live`] takes the variable as live.
//!
//! # Paper
//!
//! Constant propagation is Kildall's, joined over all assignments instead of along control flow: docs/papers.md.
//!
//! # Cost
//!
//! The analysis runs twice at most. Each time it makes some passes over all edges. A chain of n constants, each computed from the next, takes up to n + 1 passes: the
//! last one changes nothing. After [`MOST_PASSES`] the analysis gives up. Liveness is computed only if the first analysis finds a read of a constant.

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
    /// Joins another value to this one. Returns whether that changed it.
    fn join(&mut self, more: Stored) -> bool {
        let joined = match (*self, more) {
            (Stored::Nothing, other) | (other, Stored::Nothing) => other,
            (Stored::Always(a), Stored::Always(b)) if a == b => *self,
            _ => Stored::Various,
        };
        std::mem::replace(self, joined) != joined
    }

    /// The number, if it is always the same.
    fn always(self) -> Option<Value> {
        match self {
            Stored::Always(value) => Some(value),
            _ => None,
        }
    }
}

/// What is stored in each variable, and returned as each result of each procedure.
type Everything = (Table<VarId, Stored>, Table<ProcId, Vec<Stored>>);

/// After so many passes over all edges the analysis gives up. What is known by then may claim too much, so no variable at all is
/// taken for a constant.
const MOST_PASSES: usize = 16;

/// The constants of a program.
#[derive(Default)]
pub struct Constants {
    /// How many there are.
    pub count: usize,
    /// For each procedure the constants that are live at its entry, with their values.
    pub entries: HashMap<ProcId, Known>,
    /// Their numbers, for proofs.
    pub numbers: Numbers,
}

/// The number of each constant.
#[derive(Default)]
pub struct Numbers {
    /// Variables.
    pub vars: HashMap<VarId, Value>,
    /// Results of procedures, by their position.
    pub results: HashMap<(ProcId, usize), Value>,
}

/// Replaces constants by their values.
pub fn constants(draft: &mut Draft) -> Constants {
    let program = draft.task.program;
    // The first analysis takes every initial value as `Nothing`, so it needs no liveness. If no edge reads a constant in it, no edge does in the second analysis either.
    // A variable can turn from `Nothing` to a constant (`y := x & z` with `z` = 0 and `x` live where it comes into being), but only through an edge that reads a constant
    // (see `value_of`). Take the first variable that turns: the constant that its edge reads has not turned, so it is one in the first analysis too.
    let nothing = Table::filled(program.vars().len(), Stored::Nothing);
    if !fixpoint(draft, nothing).is_some_and(|(stored, _)| reads_constant(draft, &stored)) {
        return Constants::default();
    }
    let scopes = Scopes::new(program);
    let live = Live::new(program, &scopes);
    let stored = fixpoint(draft, arbitrary(program, &scopes, &live));
    let Some((stored, results)) = stored.filter(|(stored, _)| reads_constant(draft, stored)) else {
        return Constants::default();
    };
    for arc in 0..draft.arcs.len() as u32 {
        if draft.arcs[arc as usize].present {
            rewrite(draft, arc, &stored);
        }
    }
    let vars: HashMap<VarId, Value> =
        stored.pairs().filter_map(|(var, stored)| Some((var, stored.always()?))).collect();
    let of_procs =
        results.pairs().flat_map(|(proc, results)| results.iter().enumerate().map(move |at| (proc, at)));
    let results = of_procs.filter_map(|(proc, (at, stored))| Some(((proc, at), stored.always()?))).collect();
    let entries = entries(program, &scopes, &live, &stored);
    Constants { count: vars.len(), entries, numbers: Numbers { vars, results } }
}

/// What is stored before the first edge: various numbers in each variable whose initial value can matter.
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

/// What is stored in each variable by all edges together, beginning with what is given. None if that takes more than
/// [`MOST_PASSES`].
fn fixpoint(draft: &Draft, mut stored: Table<VarId, Stored>) -> Option<Everything> {
    let program = draft.task.program;
    let mut results: Table<ProcId, Vec<Stored>> =
        program.procs().iter().map(|proc| vec![Stored::Nothing; proc.results.len()]).collect();
    for _ in 0..MOST_PASSES {
        let mut changed = false;
        for (at, arc) in draft.arcs.iter().enumerate().filter(|(_, arc)| arc.present) {
            match draft.action(at as u32) {
                Action::Assume(_) => {}
                Action::Assign { targets, values, .. } => {
                    for (&target, value) in targets.iter().zip(values) {
                        let more = value_of(&stored, value);
                        changed |= stored[target].join(more);
                    }
                }
                Action::Havoc(vars) => {
                    vars.iter().for_each(|&var| changed |= stored[var].join(Stored::Various));
                }
                Action::Call { callee, args, results: wanted } => {
                    for (&param, arg) in program.procs()[*callee].params().iter().zip(args) {
                        let more = value_of(&stored, arg);
                        changed |= stored[param].join(more);
                    }
                    for (&var, &result) in wanted.iter().zip(&results[*callee]) {
                        changed |= var.is_some_and(|var| stored[var].join(result));
                    }
                }
                Action::Return(values) => {
                    let proc = program.locs()[arc.from].proc;
                    for (result, value) in results[proc].iter_mut().zip(values) {
                        changed |= result.join(value_of(&stored, value));
                    }
                }
            }
        }
        if !changed {
            return Some((stored, results));
        }
    }
    None
}

/// The abstract value of an expression, where `stored` is that of variables.
fn value_of(stored: &Table<VarId, Stored>, expr: &Expr) -> Stored {
    match *expr.code {
        [Op::Const(_, value)] => return Stored::Always(value),
        [Op::Var(var)] => return stored[var],
        [Op::Choice(_)] => return Stored::Various,
        _ => {}
    }
    // So far no value is known to be stored in some operand of the expression.
    if expr.reads().any(|var| stored[var] == Stored::Nothing) {
        return Stored::Nothing;
    }
    // Without a constant there is hardly anything to fold. (This misses `x & 0`.)
    if expr.reads().next().is_some() && expr.reads().all(|var| stored[var] == Stored::Various) {
        return Stored::Various;
    }
    // Any type will do: only the number of the result is used.
    let known = |var: VarId| match stored[var] {
        Stored::Always(value) => Some((Type::Bool, value)),
        _ => None,
    };
    match *Folder::new(&known).fold(expr).code {
        [Op::Const(_, value)] => Stored::Always(value),
        _ => Stored::Various,
    }
}

/// Whether some edge reads a constant.
fn reads_constant(draft: &Draft, stored: &Table<VarId, Stored>) -> bool {
    let known = |var: VarId| matches!(stored[var], Stored::Always(_));
    let arcs = draft.arcs.iter().enumerate().filter(|(_, arc)| arc.present);
    let mut exprs = arcs.flat_map(|(at, _)| draft.action(at as u32).exprs());
    stored.iter().any(|stored| matches!(stored, Stored::Always(_)))
        && exprs.any(|expr| expr.reads().any(known))
}

/// Rewrites an arc so that it neither reads nor receives constants.
fn rewrite(draft: &mut Draft, arc: u32, stored: &Table<VarId, Stored>) {
    let program = draft.task.program;
    let known = |var: VarId| match stored[var] {
        Stored::Always(value) => Some((program.vars()[var].ty, value)),
        _ => None,
    };
    let is_constant = |var: VarId| known(var).is_some();
    let action = draft.action(arc);
    let reads = action.exprs().flat_map(|expr| &expr.code).any(|op| match *op {
        Op::Var(var) | Op::Next(var) => is_constant(var),
        _ => false,
    });
    let writes = match action {
        Action::Assign { targets, .. } => targets.iter().any(|&var| is_constant(var)),
        Action::Call { results, .. } => results.iter().flatten().any(|&var| is_constant(var)),
        _ => false,
    };
    if !reads && !writes {
        return;
    }
    let mut folder = Folder::new(&known);
    let mut all = |exprs: &[Expr]| -> Vec<Expr> { exprs.iter().map(|expr| folder.fold(expr)).collect() };
    let action = match action {
        Action::Assume(condition) => Action::Assume(all(std::slice::from_ref(condition)).remove(0)),
        Action::Return(values) => Action::Return(all(values)),
        Action::Call { callee, args, results } => {
            let results = results.iter().map(|var| var.filter(|&var| !is_constant(var))).collect();
            Action::Call { callee: *callee, args: all(args), results }
        }
        Action::Assign { targets, values, constraint } => {
            let (mut kept, mut folded) = (Vec::new(), Vec::new());
            for (&target, value) in targets.iter().zip(values) {
                if is_constant(target) {
                    folder.pass_over(value);
                } else {
                    kept.push(target);
                    folded.push(folder.fold(value));
                }
            }
            let constraint = constraint.as_ref().map(|constraint| folder.fold(constraint));
            if kept.is_empty() {
                Action::Assume(constraint.unwrap_or_else(|| Expr::bool(true)))
            } else {
                Action::Assign { targets: kept, values: folded, constraint }
            }
        }
        Action::Havoc(_) => unreachable!("a variable that is havocked is no constant, and havoc reads none"),
    };
    let made = Made { action, origins: folder.choices_left.into(), choices: draft.choices(arc) };
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
