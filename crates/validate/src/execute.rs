//! Room `validate`: edges on symbolic values.
//!
//! A run of edges starts at a location of a procedure with arbitrary values: an input for each bit of each variable, at the entry of the activation and now. A
//! variable that the procedure cannot write has the same inputs for both. Along the run values become functions of these inputs, of choices, and
//! of what calls leave behind, which is arbitrary too; the [`Run`] keeps what is known about all of them.
//!
//! Runs that meet at a location become one ([`Executor::either`]), in which another input says which of them it is. So an edge is executed once, however
//! many runs pass it, and an edge tells its choices and its calls from all others.
//!
//! Inputs are made when they are first asked for.

use crate::affine::Affine;
use crate::gates::{Gates, Lit, Mix, constant};
use crate::modified::Modified;
use crate::numbers::{Numbers, Question};
use crate::sets::Nodes;
use crate::symbolic::Symbolic;
use postbop_ir::proof::{Node, Place, Proof};
use postbop_ir::{Action, EdgeId, Expr, Op, ProcId, Program, Scope, Table, Type, VarId};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::iter;

/// What an input stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// A value of a variable that a set speaks of, where the run starts.
    Start(Place),
    /// A result of the procedure in which the run is.
    Result(ProcId, u32),
    /// A choice of an edge, by its number.
    Choice(EdgeId, u32),
    /// A variable of the callee of a call that is arbitrary when it is entered: a local, or how a global ends.
    Inside(u32, Place),
    /// A variable when the callee of a call returns.
    Back(u32, Place),
    /// A result that the callee of an edge is going to have, where it is entered; and one that it has.
    Foretold(EdgeId, u32),
    Returned(EdgeId, u32),
}

/// A set that speaks of something that is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfScope(pub Place);

/// A run of edges from a location.
#[derive(Clone, Default)]
pub struct Run {
    /// The variables that have changed since, with their values, in order.
    changed: Vec<(VarId, Symbolic)>,
    /// What must be true for the run to be one.
    pub conditions: Vec<Lit>,
}

/// The call that an edge makes at the end of a run.
pub struct Call {
    edge: EdgeId,
    /// How many calls were made, with this one, since [`Executor::begin`]. Calls with the same number are never on one run, and share inputs: so sets of many procedures that
    /// say the same of the same globals become the same gates, wherever these are called.
    number: u32,
    callee: ProcId,
    args: Vec<Symbolic>,
}

/// What the places of a set mean.
pub enum Meaning<'r> {
    /// At the start of a program: nothing has changed since the entry.
    Begun,
    /// At the end of a run.
    Here(&'r Run),
    /// At the end of a run that has returned these results.
    Returned(&'r Run, &'r [Symbolic]),
    /// At the entry of a callee.
    Entering(&'r Run, &'r Call),
    /// At the exit of a callee.
    Leaving(&'r Run, &'r Call),
}

/// Where the bits of places are in a proof.
pub(crate) type Ranks = HashMap<(Place, u8), u32, BuildHasherDefault<Mix>>;

/// Gates, and what their inputs stand for.
pub struct Executor<'a> {
    pub(crate) program: &'a Program,
    modified: Modified,
    /// All gates.
    pub gates: Gates,
    /// The integers among them.
    pub numbers: Numbers,
    inputs: HashMap<Source, Symbolic, BuildHasherDefault<Mix>>,
    /// The variables of which some set says what they are at the exit.
    foretold: Vec<VarId>,
    /// How many calls were made since the start.
    calls: u32,
    /// The position of each local among its procedure's.
    position: Table<VarId, usize>,
    /// Where the bits of places are in the proof, and what was made of its nodes.
    pub(crate) ranks: Ranks,
    pub(crate) nodes: Nodes,
}

impl<'a> Executor<'a> {
    /// Nothing is executed yet.
    pub fn new(program: &'a Program, proof: &Proof) -> Self {
        let mut position = Table::filled(program.vars().len(), 0);
        for proc in program.procs().iter() {
            proc.locals.iter().enumerate().for_each(|(at, &var)| position[var] = at);
        }
        let bit = |(node, at): (&Node, u32)| match node {
            Node::Bit(place, bit) => Some(((*place, *bit), at)),
            _ => None,
        };
        let ranks = proof.nodes().iter().zip(1..).filter_map(bit).collect();
        Executor {
            nodes: Nodes::new(proof, &ranks),
            ranks,
            program,
            modified: Modified::new(program),
            gates: Gates::new(),
            numbers: Numbers::default(),
            inputs: HashMap::default(),
            foretold: Vec::new(),
            calls: 0,
            position,
        }
    }

    /// Goes to another start. What was executed before is not executed together with what comes now.
    pub fn begin(&mut self) {
        self.calls = 0;
    }

    /// Forgets all gates.
    pub fn reset(&mut self) {
        self.gates = Gates::new();
        self.numbers = Numbers::default();
        self.inputs.clear();
        self.foretold.clear();
        self.nodes.reset();
    }

    /// A question whether some gates can be true together.
    pub fn question(&mut self, all: &[Lit]) -> Question {
        self.numbers.question(&mut self.gates, all)
    }

    /// The input of a source, if there is one.
    pub fn known(&self, source: Source) -> Option<&Symbolic> {
        self.inputs.get(&source)
    }

    fn input(&mut self, source: Source, ty: Type) -> Symbolic {
        if let Some(known) = self.inputs.get(&source) {
            return known.clone();
        }
        let near = self.near(source);
        let rank =
            |bit: u8| near.iter().find_map(|&place| self.ranks.get(&(place, bit))).map_or(0, |&rank| rank);
        let ranks: Vec<u32> = (0..ty.bits().unwrap_or(0)).map(rank).collect();
        let value = self.any(ty, |bit| ranks[bit as usize]);
        self.inputs.insert(source, value.clone());
        value
    }

    /// A value of which nothing is known, whose bits have these ranks.
    pub fn any(&mut self, ty: Type, rank: impl Fn(u8) -> u32) -> Symbolic {
        match ty.bits() {
            Some(width) => Symbolic::Bits((0..width).map(|bit| self.gates.input(rank(bit))).collect()),
            None => Symbolic::Number(self.numbers.fresh().into()),
        }
    }

    /// The places that a source has most to do with: its inputs get the rank of one of them.
    fn near(&self, source: Source) -> Vec<Place> {
        let var = match source {
            Source::Result(_, at) | Source::Foretold(_, at) | Source::Returned(_, at) => {
                return vec![Place::Result(at)];
            }
            Source::Start(place) | Source::Inside(_, place) | Source::Back(_, place) => match place {
                Place::Entry(var) | Place::Now(var) | Place::Exit(var) => Some(var),
                Place::Result(_) => return vec![place],
            },
            Source::Choice(edge, at) => match &self.program.edges()[edge].action {
                Action::Havoc(vars) => vars.get(at as usize).copied(),
                Action::Assign { targets, values, .. } => {
                    let is_choice = |op: &&Op| matches!(op, Op::Choice(_));
                    let count = |value: &Expr| value.code.iter().filter(is_choice).count();
                    let of = targets.iter().zip(values);
                    of.flat_map(|(&var, value)| iter::repeat_n(var, count(value))).nth(at as usize)
                }
                _ => None,
            },
        };
        var.map_or(Vec::new(), |var| vec![Place::Now(var), Place::Entry(var), Place::Exit(var)])
    }

    fn start(&mut self, proc: ProcId, var: VarId) -> Symbolic {
        let changes = self.modified.by(self.program, proc, var);
        let place = if changes { Place::Now(var) } else { Place::Entry(var) };
        self.input(Source::Start(place), self.program.vars()[var].ty)
    }

    /// The value of a variable at the end of a run in a procedure.
    fn value(&mut self, proc: ProcId, run: &Run, var: VarId) -> Symbolic {
        match run.changed.binary_search_by_key(&var, |(var, _)| *var) {
            Ok(at) => run.changed[at].1.clone(),
            Err(_) => self.start(proc, var),
        }
    }

    /// The value of a place, under a meaning, in a set of this procedure.
    pub(crate) fn place(
        &mut self,
        proc: ProcId,
        meaning: &Meaning,
        place: Place,
    ) -> Result<Symbolic, OutOfScope> {
        let (Place::Entry(var) | Place::Now(var) | Place::Exit(var)) = place else {
            return self.result(proc, meaning, place);
        };
        let data = self.program.vars().get(var).ok_or(OutOfScope(place))?;
        if data.scope != Scope::Global && data.scope != Scope::Local(proc) {
            return Err(OutOfScope(place));
        }
        // What is not written is the same all the time.
        let place = if self.modified.by(self.program, proc, var) { place } else { Place::Entry(var) };
        Ok(match (meaning, place) {
            (Meaning::Here(run) | Meaning::Returned(run, _), Place::Now(_))
            | (Meaning::Returned(run, _), Place::Exit(_)) => self.value(proc, run, var),
            (Meaning::Here(_) | Meaning::Begun, Place::Exit(_)) => {
                if self.known(Source::Start(place)).is_none() {
                    self.foretold.push(var);
                }
                self.input(Source::Start(place), data.ty)
            }
            (Meaning::Here(_) | Meaning::Returned(..) | Meaning::Begun, _) => {
                self.input(Source::Start(Place::Entry(var)), data.ty)
            }
            (Meaning::Leaving(_, call), Place::Now(_) | Place::Exit(_)) => {
                self.input(Source::Back(call.number, Place::Now(var)), data.ty)
            }
            (Meaning::Entering(_, call), Place::Exit(_)) => {
                self.input(Source::Inside(call.number, place), data.ty)
            }
            (Meaning::Entering(run, call) | Meaning::Leaving(run, call), _) => match data.scope {
                Scope::Global => {
                    let caller = self.program.locs()[self.program.edges()[call.edge].from].proc;
                    self.value(caller, run, var)
                }
                Scope::Local(_) => match call.args.get(self.position[var]) {
                    Some(argument) => argument.clone(),
                    None => self.input(Source::Inside(call.number, Place::Entry(var)), data.ty),
                },
            },
        })
    }

    fn result(&mut self, proc: ProcId, meaning: &Meaning, place: Place) -> Result<Symbolic, OutOfScope> {
        let Place::Result(at) = place else { return Err(OutOfScope(place)) };
        let ty = *self.program.procs()[proc].results.get(at as usize).ok_or(OutOfScope(place))?;
        let source = match meaning {
            Meaning::Returned(_, results) => {
                return results.get(at as usize).cloned().ok_or(OutOfScope(place));
            }
            Meaning::Begun | Meaning::Here(_) => Source::Result(proc, at),
            Meaning::Entering(_, call) => Source::Foretold(call.edge, at),
            Meaning::Leaving(_, call) => Source::Returned(call.edge, at),
        };
        Ok(self.input(source, ty))
    }

    /// Takes an edge that does not call at the end of a run. Returns the results, if it returns.
    pub fn step(&mut self, id: EdgeId, run: &mut Run) -> Vec<Symbolic> {
        let mut choices = 0;
        match &self.program.edges()[id].action {
            Action::Assume(condition) => {
                let holds = self.expr(id, run, condition, &[], &mut choices);
                run.conditions.push(holds.truth());
            }
            Action::Assign { targets, values, constraint } => {
                let values: Vec<Symbolic> =
                    values.iter().map(|value| self.expr(id, run, value, &[], &mut choices)).collect();
                let new: Vec<(VarId, Symbolic)> = targets.iter().copied().zip(values).collect();
                if let Some(constraint) = constraint {
                    let holds = self.expr(id, run, constraint, &new, &mut choices);
                    run.conditions.push(holds.truth());
                }
                new.into_iter().for_each(|(var, value)| run.change(var, value));
            }
            Action::Havoc(vars) => {
                for (at, &var) in vars.iter().enumerate() {
                    let any = self.input(Source::Choice(id, at as u32), self.program.vars()[var].ty);
                    run.change(var, any);
                }
            }
            Action::Return(values) => {
                return values.iter().map(|value| self.expr(id, run, value, &[], &mut choices)).collect();
            }
            Action::Call { .. } => unreachable!("calls are no steps"),
        }
        Vec::new()
    }

    /// The call of an edge at the end of a run.
    pub fn call(&mut self, id: EdgeId, run: &Run) -> Call {
        let Action::Call { callee, args, .. } = &self.program.edges()[id].action else {
            unreachable!("only calls call")
        };
        let mut choices = 0;
        let args = args.iter().map(|arg| self.expr(id, run, arg, &[], &mut choices)).collect();
        self.calls += 1;
        Call { edge: id, number: self.calls, callee: *callee, args }
    }

    /// Goes on after a call has returned. What is known of its exit is for the caller to add.
    pub fn come_back(&mut self, call: &Call, run: &mut Run) {
        let Action::Call { results, .. } = &self.program.edges()[call.edge].action else {
            unreachable!("only calls come back")
        };
        for var in self.modified.globals(call.callee) {
            let left = self.input(Source::Back(call.number, Place::Now(var)), self.program.vars()[var].ty);
            run.change(var, left);
        }
        let types = &self.program.procs()[call.callee].results;
        for (at, (result, &ty)) in results.iter().zip(types).enumerate() {
            if let Some(var) = *result {
                let value = self.input(Source::Returned(call.edge, at as u32), ty);
                run.change(var, value);
            }
        }
    }

    /// A run returns these results: the activation ends as sets at its start were told that it would.
    pub fn end(&mut self, proc: ProcId, run: &mut Run, results: &[Symbolic]) {
        let here = |var: &VarId| {
            let scope = self.program.vars()[*var].scope;
            scope == Scope::Global || scope == Scope::Local(proc)
        };
        let vars: Vec<VarId> = self.foretold.iter().copied().filter(here).collect();
        for var in vars {
            let ty = self.program.vars()[var].ty;
            let (foretold, left) =
                (self.input(Source::Start(Place::Exit(var)), ty), self.value(proc, run, var));
            run.conditions.push(self.same(&foretold, &left));
        }
        for (result, at) in results.iter().zip(0..) {
            if let Some(foretold) = self.known(Source::Result(proc, at)).cloned() {
                run.conditions.push(self.same(&foretold, result));
            }
        }
    }

    /// One run for two that end at the same location, and the input that says which of them it is: true for the first.
    pub fn either(&mut self, proc: ProcId, one: Run, other: Run) -> (Run, Lit) {
        let first = self.gates.input(u32::MAX);
        let pairs = one.conditions.iter().zip(&other.conditions);
        let common = pairs.take_while(|(one, other)| one == other).count();
        let mut conditions = one.conditions[..common].to_vec();
        let [a, b] = [&one, &other].map(|run| self.gates.and(run.conditions[common..].to_vec()));
        conditions.push(self.gates.ite(first, a, b));
        let mut vars: Vec<VarId> = one.changed.iter().chain(&other.changed).map(|(var, _)| *var).collect();
        vars.sort_unstable();
        vars.dedup();
        let mut changed = Vec::with_capacity(vars.len());
        for var in vars {
            let (a, b) = (self.value(proc, &one, var), self.value(proc, &other, var));
            changed.push((var, self.choose(first, &a, &b)));
        }
        (Run { changed, conditions }, first)
    }

    /// The value of an expression of an edge.
    fn expr(
        &mut self,
        id: EdgeId,
        run: &Run,
        expr: &Expr,
        new: &[(VarId, Symbolic)],
        choices: &mut u32,
    ) -> Symbolic {
        let proc = self.program.locs()[self.program.edges()[id].from].proc;
        let mut stack: Vec<(Type, Symbolic)> = Vec::new();
        for &op in &expr.code {
            let value = match op {
                Op::Const(ty, value) => match ty.bits() {
                    Some(width) => (ty, Symbolic::Bits(constant(width, value))),
                    None => (ty, Symbolic::Number(Affine::constant(value.get().into()).into())),
                },
                Op::Var(var) => (self.program.vars()[var].ty, self.value(proc, run, var)),
                Op::Next(var) => {
                    let next = new.iter().find(|(target, _)| *target == var);
                    (self.program.vars()[var].ty, next.expect("only targets have new values").1.clone())
                }
                Op::Choice(ty) => {
                    *choices += 1;
                    (ty, self.input(Source::Choice(id, *choices - 1), ty))
                }
                op => {
                    let operands = stack.split_off(stack.len() - op.arity());
                    self.apply(op, &operands)
                }
            };
            stack.push(value);
        }
        stack.pop().expect("an expression is not empty").1
    }
}

impl Run {
    /// The variables that have changed.
    pub fn changed(&self) -> impl Iterator<Item = VarId> + '_ {
        self.changed.iter().map(|(var, _)| *var)
    }

    fn change(&mut self, var: VarId, value: Symbolic) {
        match self.changed.binary_search_by_key(&var, |(var, _)| *var) {
            Ok(at) => self.changed[at].1 = value,
            Err(at) => self.changed.insert(at, (var, value)),
        }
    }
}

/// The variables in scope in a procedure.
pub fn in_scope(program: &Program, proc: ProcId) -> impl Iterator<Item = VarId> + '_ {
    program.globals().chain(program.procs()[proc].locals.iter().copied())
}
