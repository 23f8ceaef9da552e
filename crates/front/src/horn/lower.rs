//! Room `front/horn`: walks to procedures. What they are, and why they are right, is said in [`super::walk`].
//!
//! A clause is one edge where it can be: an assignment to the registers of the head, in which what is not determined is chosen, and the constraint tested. Before that come the calls for the other
//! premises, and what is computed once because it is used often.

use super::clause::{Atom, Clause};
use super::emit::{Bound, Scope};
use super::script::System;
use super::solve::solve;
use super::term::{Fun, RelId, Term, TermId, VarNo};
use super::walk::{Root, Walk, Walks};
use postbop_ir::{Action, Builder, Expr, LocId, Op, ProcId, Program, Span, Type, VarId};
use rustc_hash::FxHashMap;

/// The label that is reached if false can be derived.
pub const ERROR: &str = "ERROR";

/// The program of a system.
pub fn lower(system: &mut System, walks: &Walks) -> Program {
    let mut out = Builder::default();
    let mut procs = Vec::new();
    for walk in &walks.procs {
        procs.push(declare(&mut out, system, walk));
    }
    for (walk, &proc) in walks.procs.iter().zip(&procs) {
        let mut lowering = Lowering::new(&mut out, system, walks, walk, &procs, proc);
        lowering.locations();
        lowering.clauses();
    }
    out.finish(procs[0])
}

/// Adds the procedure of a walk, with its parameters.
fn declare(out: &mut Builder, system: &System, walk: &Walk) -> ProcId {
    let Root::Relation(root) = walk.root else { return out.proc("main", 0, Vec::new(), Span::default()) };
    let relation = &system.relations[root as usize];
    let rigid = rigid(walk, root);
    let results =
        relation.types.iter().enumerate().filter(|(at, _)| !rigid.contains_key(at)).map(|(_, ty)| *ty);
    let proc = out.proc(&relation.name, walk.rigid.len(), results.collect(), relation.span);
    for slot in &walk.rigid {
        let at = slot[&root];
        out.local(proc, &format!("p{at}"), relation.types[at]);
    }
    proc
}

/// The positions of a relation that have rigid arguments of the root, with the first that each has.
fn rigid(walk: &Walk, relation: RelId) -> FxHashMap<usize, usize> {
    let slots = walk.rigid.iter().enumerate().rev();
    slots.filter_map(|(slot, at)| Some((*at.get(&relation)?, slot))).collect()
}

/// One procedure under construction.
struct Lowering<'a> {
    out: &'a mut Builder,
    system: &'a mut System,
    walks: &'a Walks,
    walk: &'a Walk,
    procs: &'a [ProcId],
    proc: ProcId,
    /// The location of each relation.
    locs: FxHashMap<RelId, LocId>,
    /// Where its arguments are.
    registers: FxHashMap<RelId, Vec<VarId>>,
    error: Option<LocId>,
    /// Variables for what a clause needs besides, and how many of each type are taken.
    spare: FxHashMap<Type, Vec<VarId>>,
    taken: FxHashMap<Type, usize>,
}

impl<'a> Lowering<'a> {
    fn new(
        out: &'a mut Builder,
        system: &'a mut System,
        walks: &'a Walks,
        walk: &'a Walk,
        procs: &'a [ProcId],
        proc: ProcId,
    ) -> Self {
        let (locs, registers) = (FxHashMap::default(), FxHashMap::default());
        let (spare, taken) = (FxHashMap::default(), FxHashMap::default());
        Lowering { out, system, walks, walk, procs, proc, locs, registers, error: None, spare, taken }
    }

    /// Adds a location for each relation, with registers for its arguments, and a way out for the root.
    fn locations(&mut self) {
        let mut banks: FxHashMap<Type, Vec<VarId>> = FxHashMap::default();
        let params = self.out.procs()[self.proc].locals.clone();
        for &id in &self.walk.relations {
            let relation = &self.system.relations[id as usize];
            let loc = self.out.loc(self.proc, relation.span);
            let mut used: FxHashMap<Type, usize> = FxHashMap::default();
            let mut registers = Vec::new();
            let rigid = rigid(self.walk, id);
            for (at, &ty) in relation.types.iter().enumerate() {
                if let Some(&slot) = rigid.get(&at) {
                    registers.push(params[slot]);
                    continue;
                }
                let nth = used.entry(ty).or_default();
                let bank = banks.entry(ty).or_default();
                if bank.len() == *nth {
                    bank.push(self.out.local(self.proc, &register_name(ty, *nth), ty));
                }
                registers.push(bank[*nth]);
                *nth += 1;
            }
            self.locs.insert(id, loc);
            self.registers.insert(id, registers);
        }
        let exit = self.out.procs()[self.proc].exit;
        match self.walk.root {
            Root::Query => {
                let error = self.out.loc(self.proc, Span::default());
                self.out.label(ERROR, error);
                self.error = Some(error);
            }
            Root::Relation(root) => {
                let rigid = rigid(self.walk, root);
                let registers = self.registers[&root].iter().enumerate();
                let open = registers.filter(|(at, _)| !rigid.contains_key(at));
                let results = open.map(|(_, &var)| Expr::var(var)).collect();
                let span = self.system.relations[root as usize].span;
                self.out.edge(self.locs[&root], exit, Action::Return(results), span);
            }
        }
    }

    fn clauses(&mut self) {
        for &number in &self.walk.clauses {
            let clause = self.system.clauses[number].clone();
            self.taken.clear();
            self.clause(clause, self.walks.along[number]);
        }
    }

    /// A variable that this clause has not taken yet.
    fn spare(&mut self, ty: Type) -> VarId {
        let nth = self.taken.entry(ty).or_default();
        let all = self.spare.entry(ty).or_default();
        if all.len() == *nth {
            all.push(self.out.local(self.proc, "%spare", ty));
        }
        *nth += 1;
        all[*nth - 1]
    }

    /// The edges of a clause.
    fn clause(&mut self, clause: Clause, along: Option<usize>) {
        let Clause { premises, constraint, head, span } = clause;
        let here = self.out.procs()[self.proc].entry;
        let mut work = Work { scope: Scope::default(), constraint, here, begun: false, span };
        if let Some(walked) = along {
            let Atom { relation, arguments } = &premises[walked];
            work.here = self.locs[relation];
            for (register, &argument) in self.registers[relation].clone().into_iter().zip(arguments) {
                self.meet(&mut work, argument, Op::Var(register));
            }
        } else if let Some(head) = &head {
            // The walk must begin with what the caller wants.
            for (slot, at) in self.walk.rigid.iter().enumerate() {
                let param = self.out.procs()[self.proc].locals[slot];
                self.meet(&mut work, head.arguments[at[&head.relation]], Op::Var(param));
            }
        }
        if !self.solve(&mut work) {
            return;
        }
        for (at, premise) in premises.iter().enumerate() {
            if along != Some(at) {
                self.call(&mut work, premise);
                if !self.solve(&mut work) {
                    return;
                }
            }
        }
        self.finish(work, head);
    }

    fn solve(&mut self, work: &mut Work) -> bool {
        solve(&mut self.system.terms, &mut work.scope, &mut work.constraint)
    }

    /// Says that a term has the value of a variable.
    fn meet(&mut self, work: &mut Work, term: TermId, op: Op) {
        let terms = &mut self.system.terms;
        if let Term::Var(var) = *terms.get(term)
            && !work.scope.vars.contains_key(&var)
        {
            work.scope.vars.insert(var, Bound::Op(op));
            return;
        }
        let ty = terms.ty(term);
        let value = terms.fresh("", ty);
        if let Term::Var(var) = *terms.get(value) {
            work.scope.vars.insert(var, Bound::Op(op));
        }
        work.constraint.push(terms.apply(Fun::Eq, vec![value, term], Type::Bool));
    }

    fn step(&mut self, work: &mut Work, action: Action) {
        let next = self.out.inner(self.proc, work.span);
        self.out.edge(work.here, next, action, work.span);
        (work.here, work.begun) = (next, true);
    }

    /// Gives the variables of these terms that have no value an arbitrary one, and computes what is used often.
    fn prepare(&mut self, work: &mut Work, roots: &[TermId]) {
        let unknown = work.scope.unknown(&self.system.terms, roots);
        let mut chosen = Vec::new();
        for var in unknown {
            let spare = self.spare(self.system.terms.vars[var as usize].1);
            work.scope.vars.insert(var, Bound::Op(Op::Var(spare)));
            chosen.push(spare);
        }
        if !chosen.is_empty() {
            self.step(work, Action::Havoc(chosen));
        }
        for part in work.scope.parts(&self.system.terms, roots) {
            let value = self.value(work, part);
            let spare = self.spare(self.system.terms.ty(part));
            self.step(work, Action::Assign { targets: vec![spare], values: vec![value], constraint: None });
            work.scope.made.insert(part, Op::Var(spare));
        }
    }

    fn value(&self, work: &Work, term: TermId) -> Expr {
        let mut code = Vec::new();
        work.scope.code(&self.system.terms, term, &mut code);
        Expr::new(code)
    }

    /// Calls the procedure of a premise.
    fn call(&mut self, work: &mut Work, premise: &Atom) {
        let number = self.walks.number[&premise.relation];
        let rigid: Vec<usize> =
            self.walks.procs[number].rigid.iter().map(|slot| slot[&premise.relation]).collect();
        let passed: Vec<TermId> = rigid.iter().map(|&at| premise.arguments[at]).collect();
        self.prepare(work, &passed);
        if !work.begun {
            // Not every engine takes two calls that begin at one location.
            self.step(work, Action::skip());
        }
        let args = passed.iter().map(|&term| self.value(work, term)).collect();
        let mut is_rigid = vec![false; premise.arguments.len()];
        rigid.iter().for_each(|&at| is_rigid[at] = true);
        let open = premise.arguments.iter().zip(&is_rigid).filter(|(_, rigid)| !**rigid);
        let open: Vec<TermId> = open.map(|(&term, _)| term).collect();
        let results: Vec<VarId> = open.iter().map(|&term| self.spare(self.system.terms.ty(term))).collect();
        let action = Action::Call {
            callee: self.procs[number],
            args,
            results: results.iter().map(|&var| Some(var)).collect(),
        };
        self.step(work, action);
        for (&term, var) in open.iter().zip(results) {
            self.meet(work, term, Op::Var(var));
        }
    }

    /// The last edge of a clause.
    fn finish(&mut self, mut work: Work, head: Option<Atom>) {
        let to = head.as_ref().map_or(self.error, |head| self.locs.get(&head.relation).copied());
        let to = to.expect("a clause is in the procedures that have its head");
        let mut stores: Vec<(VarId, TermId)> = Vec::new();
        if let Some(Atom { relation, arguments }) = head {
            let rigid = rigid(self.walk, relation);
            let pairs = self.registers[&relation].iter().copied().zip(arguments).enumerate();
            // A rigid argument stays where it is.
            stores = pairs.filter(|(at, _)| !rigid.contains_key(at)).map(|(_, pair)| pair).collect();
        }
        let roots: Vec<TermId> =
            work.constraint.iter().copied().chain(stores.iter().map(|(_, term)| *term)).collect();
        if !work.scope.parts(&self.system.terms, &roots).is_empty() {
            self.prepare(&mut work, &roots);
        }
        let (targets, values) = self.stores(&mut work, stores);
        let mut code = Vec::new();
        for (at, &formula) in work.constraint.iter().enumerate() {
            work.scope.code(&self.system.terms, formula, &mut code);
            if at > 0 {
                code.push(Op::And);
            }
        }
        let constraint = (!code.is_empty()).then(|| Expr::new(code));
        let chosen = |value: &Expr| matches!(value.code[..], [Op::Choice(_)]);
        let action = match (targets.is_empty(), constraint) {
            (true, constraint) => Action::Assume(constraint.unwrap_or_else(|| Expr::bool(true))),
            (false, None) if values.iter().all(chosen) => Action::Havoc(targets),
            (false, constraint) => Action::Assign { targets, values, constraint },
        };
        self.out.edge(work.here, to, action, work.span);
    }

    /// The assignment to registers. What is not determined is chosen, and tested by its new value.
    fn stores(&mut self, work: &mut Work, stores: Vec<(VarId, TermId)>) -> (Vec<VarId>, Vec<Expr>) {
        let (mut targets, mut values) = (Vec::new(), Vec::new());
        let mut open = Vec::new();
        for (register, term) in stores {
            if work.scope.unknown(&self.system.terms, &[term]).is_empty() {
                let value = self.value(work, term);
                if value != Expr::var(register) {
                    targets.push(register);
                    values.push(value);
                }
            } else {
                open.push((register, term));
            }
        }
        for (register, term) in open {
            targets.push(register);
            values.push(Expr::choice(self.system.terms.ty(term)));
            self.meet(work, term, Op::Next(register));
        }
        let left: Vec<VarNo> = work.scope.unknown(&self.system.terms, &work.constraint);
        for var in left {
            let ty = self.system.terms.vars[var as usize].1;
            let spare = self.spare(ty);
            targets.push(spare);
            values.push(Expr::choice(ty));
            work.scope.vars.insert(var, Bound::Op(Op::Next(spare)));
        }
        (targets, values)
    }
}

/// A clause while its edges are added: what is known of its variables, what is left to test, and the location so far.
struct Work {
    scope: Scope,
    constraint: Vec<TermId>,
    here: LocId,
    /// Whether that is a location of this clause alone.
    begun: bool,
    span: Span,
}

fn register_name(ty: Type, nth: usize) -> String {
    match ty {
        Type::Bool => format!("b{nth}"),
        Type::Integer => format!("i{nth}"),
        Type::Uint(bits) | Type::Int(bits) => format!("w{bits}_{nth}"),
    }
}
