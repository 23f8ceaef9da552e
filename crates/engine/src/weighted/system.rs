//! Room `engine/weighted`: a program as a weighted pushdown system.
//!
//! # Idea
//!
//! There is one control. The symbols are the locations, and for each procedure the symbol with which a call *enters* it, and for each call the
//! symbol with which its caller goes *back* to work. An edge is a rule with its relation. A call writes the arguments and pushes; the
//! callee moves them to its parameters and makes its other locals arbitrary; a return writes the results and pops; the caller moves them
//! to where it wants them. After each rule the locals and globals that are not live any more are forgotten.
//!
//! # Paper
//!
//! \[ndd-moped\] section 3. # Departures: locals of the caller are not saved on the stack by the rules: a frame of the automaton holds them, since what
//! a callee does mentions no local of its caller.

use super::formula::{Formulas, Refused};
use super::registers::{Register, Registers, Time, shown};
use super::rounds::{Rounds, rounds};
use super::sets::Sets;
use super::weight::Weight;
use crate::encode::live::Live;
use crate::encode::scope::Scopes;
use postbop_ir::{Action, EdgeId, Expr, Id, LocId, ProcId, Program, Type, VarId};
use postbop_kit::bits;
use postbop_kit::ndd::Column;
use postbop_kit::pushdown::{Push, Rule, Symbol, System};
use rustc_hash::FxHashMap as HashMap;

/// What a rule stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// A procedure starts.
    Enter(ProcId),
    /// An edge within a procedure; of a call, its first half.
    Edge(EdgeId),
    /// The second half of a call.
    Back(EdgeId),
    /// Any number of rounds of a loop of one edge.
    Rounds(EdgeId),
}

/// A relation from which new values that do not matter are not projected away.
pub struct Open<T> {
    pub weight: Weight<T>,
    /// The conjuncts with choices, from which the choices are not projected away. No two have a choice in common.
    pub parts: Vec<T>,
    /// The registers whose old values mean nothing.
    pub dead: Vec<Register>,
    /// The registers whose new values mean nothing, in order: they are arbitrary in what is saturated, but not here.
    pub arbitrary: Vec<Register>,
    /// The type and the first column of each choice, in their order.
    pub choices: Vec<(Type, Column)>,
}

/// The symbols and rules of a program.
pub struct Model<'m, S: Sets> {
    pub program: &'m Program,
    pub registers: Registers,
    pub scopes: Scopes,
    live: Live,
    store: &'m S,
    /// For each rule what it stands for.
    pub moves: Vec<Move>,
    /// The loops of one edge that are taken any number of times at once.
    pub rounds: HashMap<EdgeId, Rounds<S::Set>>,
}

impl<'m, S: Sets> Model<'m, S> {
    /// The symbols of a program; no rules yet.
    pub fn new(program: &'m Program, store: &'m S) -> Self {
        let scopes = Scopes::new(program);
        let live = Live::new(program, &scopes);
        Model {
            program,
            registers: Registers::new(program),
            live,
            scopes,
            store,
            moves: Vec::new(),
            rounds: HashMap::default(),
        }
    }

    /// Says that what a procedure leaves behind matters, and not only what the program goes on to read.
    pub fn observe(&mut self, proc: ProcId) {
        self.live = Live::observed(self.program, &self.scopes, proc);
    }

    /// The symbol with which a procedure is entered.
    pub fn entering(&self, proc: ProcId) -> Symbol {
        (self.program.locs().len() + proc.index()) as Symbol
    }

    /// The symbol with which the caller goes on after a call.
    pub fn back(&self, call: EdgeId) -> Symbol {
        (self.program.locs().len() + self.program.procs().len() + call.index()) as Symbol
    }

    /// The location that a symbol is.
    pub fn loc(&self, symbol: Symbol) -> Option<LocId> {
        let loc = LocId::new(symbol as usize);
        (loc.index() < self.program.locs().len()).then_some(loc)
    }

    /// For each symbol the registers that a procedure which is entered with it can look at, in order.
    pub fn entries(&self) -> Vec<Vec<Register>> {
        let mut all = vec![Vec::new(); self.back(EdgeId(0)) as usize];
        for (id, proc) in self.program.procs().pairs() {
            let globals = self.scopes.globals(id).iter().copied();
            let mut scope: Vec<Register> =
                globals.filter(|&var| self.is_live(var, proc.entry)).map(|var| var.0).collect();
            scope.extend(self.registers.args(id));
            scope.sort_unstable();
            all[self.entering(id) as usize] = scope;
        }
        all
    }

    /// Whether the value of a variable matters at a location.
    pub fn is_live(&self, var: VarId, loc: LocId) -> bool {
        let proc = self.program.locs()[loc].proc;
        let field = self.scopes.field(self.program, proc, var);
        field.is_some_and(|field| bits::contains(self.live.at(self.program, loc), field))
    }

    /// Whether a result of a procedure matters to some caller.
    pub fn is_live_result(&self, proc: ProcId, at: usize) -> bool {
        let exit = self.program.procs()[proc].exit;
        let field = self.scopes.first_result(self.program, proc) + at;
        bits::contains(self.live.at(self.program, exit), field)
    }

    /// The rules of all procedures and edges.
    pub fn rules(&mut self) -> Result<System<Weight<S::Set>>, Refused> {
        let mut rules = Vec::new();
        let procs = self.program.procs().ids().map(Move::Enter);
        let edges = self.program.edges().ids().flat_map(|edge| {
            let call = matches!(self.program.edges()[edge].action, Action::Call { .. });
            [Some(Move::Edge(edge)), call.then_some(Move::Back(edge))].into_iter().flatten()
        });
        self.moves = procs.chain(edges).collect();
        for at in 0..self.moves.len() {
            let step = self.moves[at];
            let (from, to) = self.ends(step);
            let mut weight = self.closed(step)?;
            if let (Move::Edge(edge), true) = (step, to == Push::One(from)) {
                let choices = self.program.choices(&self.program.edges()[edge].action).next().is_some();
                if let Some(all) = if choices { None } else { rounds(self.store, &self.registers, &weight)? }
                {
                    weight = all.weight.clone();
                    self.rounds.insert(edge, all);
                    self.moves[at] = Move::Rounds(edge);
                }
            }
            rules.push(Rule { from: (0, from), to: (0, to), weight });
        }
        Ok(System::new(1, rules))
    }

    /// What a rule replaces, and by what.
    fn ends(&self, step: Move) -> (Symbol, Push) {
        let edge = |id: EdgeId| &self.program.edges()[id];
        match step {
            Move::Enter(proc) => (self.entering(proc), Push::One(self.program.procs()[proc].entry.0)),
            Move::Back(call) => (self.back(call), Push::One(edge(call).to.0)),
            Move::Rounds(id) => (edge(id).from.0, Push::One(edge(id).to.0)),
            Move::Edge(id) => {
                let proc = self.program.locs()[edge(id).from].proc;
                let to = match edge(id).action {
                    Action::Call { callee, .. } => Push::Two(self.entering(callee), self.back(id)),
                    Action::Return(_) if proc != self.program.main() => Push::None,
                    _ => Push::One(edge(id).to.0),
                };
                (edge(id).from.0, to)
            }
        }
    }

    /// The relation of a rule, whatever its choices are.
    fn closed(&self, step: Move) -> Result<Weight<S::Set>, Refused> {
        Ok(self.relation(step, true)?.weight)
    }

    /// The relation of a rule, with its choices in parts.
    pub fn open(&self, step: Move) -> Result<Open<S::Set>, Refused> {
        self.relation(step, false)
    }

    fn relation(&self, step: Move, closed: bool) -> Result<Open<S::Set>, Refused> {
        if let Move::Rounds(edge) = step {
            let weight = self.rounds[&edge].weight.clone();
            let (dead, arbitrary) = (Vec::new(), Vec::new());
            return Ok(Open { weight, parts: Vec::new(), dead, arbitrary, choices: Vec::new() });
        }
        let mut relation = Relation {
            formulas: Formulas::new(self.store, &self.registers),
            set: self.store.constant(true),
            parts: Vec::new(),
            writes: Vec::new(),
            forgets: Vec::new(),
            havocs: Vec::new(),
            dead: Vec::new(),
            closed,
        };
        let edge = |id: EdgeId| &self.program.edges()[id];
        match step {
            Move::Enter(proc) => {
                let data = &self.program.procs()[proc];
                for (&param, &arg) in data.params().iter().zip(self.registers.args(proc)) {
                    relation.copy(arg, param.0)?;
                    relation.forgets.push(arg);
                }
                relation.writes.extend(data.locals[data.params..].iter().map(|local| local.0));
                self.forget_dead(&mut relation, data.entry);
            }
            Move::Back(call) => {
                let Action::Call { callee, results, .. } = &edge(call).action else {
                    unreachable!("only calls come back")
                };
                for (target, &result) in results.iter().zip(self.registers.results(*callee)) {
                    target.map_or(Ok(()), |target| relation.copy(result, target.0))?;
                }
                relation.forgets.extend(self.registers.results(*callee));
                relation.forgets.extend(self.registers.args(*callee));
                self.forget_dead(&mut relation, edge(call).to);
            }
            Move::Edge(id) | Move::Rounds(id) => self.act(&mut relation, id)?,
        }
        relation.finish(&self.registers)
    }

    /// The relation of an edge; of a call, up to the call.
    fn act(&self, relation: &mut Relation<S>, id: EdgeId) -> Result<(), Refused> {
        let edge = &self.program.edges()[id];
        let proc = self.program.locs()[edge.from].proc;
        let dead =
            edge.action.exprs().flat_map(|expr| expr.reads()).filter(|&var| !self.is_live(var, edge.from));
        relation.dead = dead.map(|var| var.0).collect();
        match &edge.action {
            Action::Assume(condition) => relation.assume(condition)?,
            Action::Assign { targets, values, constraint } => {
                for (target, value) in targets.iter().zip(values) {
                    relation.assign(target.0, value)?;
                }
                if let Some(condition) = constraint {
                    relation.assume(condition)?;
                }
            }
            Action::Havoc(vars) => relation.writes.extend(vars.iter().map(|var| var.0)),
            Action::Call { callee, args, .. } => {
                for (&arg, value) in self.registers.args(*callee).iter().zip(args) {
                    relation.assign(arg, value)?;
                }
                return Ok(());
            }
            Action::Return(values) => {
                for (&result, value) in self.registers.results(proc).iter().zip(values) {
                    relation.assign(result, value)?;
                }
                relation.forgets.extend(self.program.procs()[proc].locals.iter().map(|local| local.0));
                return Ok(());
            }
        }
        self.forget_dead(relation, edge.to);
        Ok(())
    }

    /// Forgets the locals that are not live at a location, and makes such globals arbitrary.
    fn forget_dead(&self, relation: &mut Relation<S>, loc: LocId) {
        let proc = self.program.locs()[loc].proc;
        let dead = |var: &&VarId| !self.is_live(**var, loc);
        let locals = self.program.procs()[proc].locals.iter().filter(dead);
        relation.forgets.extend(locals.map(|var| var.0));
        relation.havocs.extend(self.scopes.written(proc).iter().filter(dead).map(|var| var.0));
    }

    /// Where sets are made.
    pub fn store(&self) -> &'m S {
        self.store
    }
}

/// A relation under construction.
struct Relation<'f, S: Sets> {
    formulas: Formulas<'f, S>,
    set: S::Set,
    /// The conjuncts with choices.
    parts: Vec<S::Set>,
    writes: Vec<Register>,
    forgets: Vec<Register>,
    /// Registers that become arbitrary afterwards.
    havocs: Vec<Register>,
    /// Registers that mean nothing before.
    dead: Vec<Register>,
    /// Whether values that are forgotten at once are projected away.
    closed: bool,
}

impl<S: Sets> Relation<'_, S> {
    fn assume(&mut self, condition: &Expr) -> Result<(), Refused> {
        let set = self.formulas.condition(condition)?;
        self.conjoin(set)
    }

    fn assign(&mut self, register: Register, value: &Expr) -> Result<(), Refused> {
        let value = self.formulas.value(value)?;
        let set = self.formulas.equals(register, Time::New, &value)?;
        self.writes.push(register);
        self.conjoin(set)
    }

    fn copy(&mut self, from: Register, to: Register) -> Result<(), Refused> {
        let value = self.formulas.register(from, Time::Old)?;
        let set = self.formulas.equals(to, Time::New, &value)?;
        self.writes.push(to);
        self.conjoin(set)
    }

    /// The choices of an expression are mentioned nowhere else, so they can go at once: many of them together have no place in the order
    /// in which diagrams are small.
    fn conjoin(&mut self, set: S::Set) -> Result<(), Refused> {
        let store = self.formulas.store;
        let free = self.formulas.choices.iter().map(|(_, first)| *first).min();
        let set = match free.filter(|&first| store.support(&set).last().is_some_and(|&last| last >= first)) {
            Some(first) => {
                let closed = store.project(&set, |column| column >= first)?;
                self.parts.push(set);
                closed
            }
            None => set,
        };
        self.set = store.and(&self.set, &set)?;
        Ok(())
    }

    fn finish(mut self, registers: &Registers) -> Result<Open<S::Set>, Refused> {
        let is_dead = |column| {
            let (slot, time) = shown(column);
            time == Time::Old && slot < registers.slots() && self.dead.contains(&registers.owner(slot))
        };
        self.set = self.formulas.store.project(&self.set, is_dead)?;
        if self.closed {
            let gone: Vec<Register> = [&self.forgets[..], &self.havocs].concat();
            let is_gone = |column| {
                let (slot, time) = shown(column);
                time == Time::New && gone.contains(&registers.owner(slot))
            };
            self.set = self.formulas.store.project(&self.set, is_gone)?;
            self.writes.retain(|register| !self.forgets.contains(register));
            self.writes.append(&mut self.havocs);
        }
        for list in [&mut self.writes, &mut self.forgets, &mut self.havocs] {
            list.sort_unstable();
            list.dedup();
        }
        let weight = Weight { forgets: self.forgets.into(), ..Weight::new(self.set, self.writes.into()) };
        let (arbitrary, choices) = (self.havocs, self.formulas.choices);
        Ok(Open { weight, parts: self.parts, dead: self.dead, arbitrary, choices })
    }
}
