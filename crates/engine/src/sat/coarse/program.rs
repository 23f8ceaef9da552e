//! Room `engine/sat`: a program whose procedures hand over few globals.
//!
//! # Idea
//!
//! Every variable of the coarse program is local to a procedure. A procedure has its own locals, and a copy of each global that it mentions itself or that it,
//! or a procedure that it calls, tracks. What it tracks are parameters, and results as far as the procedure, or anything it calls, writes them. When a
//! call has come back, the caller's copies of what the callee may have written without handing it back get any value.
//!
//! Procedures and locations keep their ids; there are more locations behind them, and a procedure that calls `main` with anything.

use super::super::regions::Regions;
use super::Tracked;
use postbop_ir::proof::{Maker, Node, Place, Ref};
use postbop_ir::{
    Action, Builder, Edge, EdgeId, Expr, Id, Loc, Op, Proc, ProcId, Program, Proof, Scope, Table, Type, Var,
    VarId,
};
use rustc_hash::FxHashMap as HashMap;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A coarse program, and what its parts stand for.
pub struct CoarseProgram {
    /// The program.
    pub program: Program,
    /// For each of its edges the one that it stands for.
    pub edges: Table<EdgeId, Option<EdgeId>>,
    /// For each of its variables the one that it is a copy of.
    vars: Table<VarId, VarId>,
    /// What procedures hand back besides their results.
    back: Table<ProcId, Vec<VarId>>,
    /// The globals that each procedure mentions itself.
    pub mentioned: Table<ProcId, BTreeSet<VarId>>,
}

/// A procedure's variables in the coarse program.
struct Frame {
    /// Its copies of globals.
    globals: HashMap<VarId, VarId>,
}

struct Drawing<'d, 'a> {
    regions: &'d Regions<'a>,
    tracked: &'d Tracked,
    out: Builder,
    edges: Table<EdgeId, Option<EdgeId>>,
    vars: Table<VarId, VarId>,
    back: Table<ProcId, Vec<VarId>>,
    /// The copies of locals.
    locals: Table<VarId, VarId>,
    frames: Table<ProcId, Frame>,
}

impl CoarseProgram {
    /// The program in which procedures hand over what they track.
    pub fn new(regions: &Regions, tracked: &Tracked) -> Self {
        let program = regions.program;
        let back = |proc: ProcId| {
            let written = regions.scopes.written(proc);
            tracked[proc].iter().copied().filter(|var| written.binary_search(var).is_ok()).collect()
        };
        let mut drawing = Drawing {
            regions,
            tracked,
            out: Builder::default(),
            edges: Table::new(),
            vars: Table::new(),
            back: program.procs().ids().map(back).collect(),
            locals: Table::filled(program.vars().len(), VarId(0)),
            frames: Table::new(),
        };
        let mentioned = mentioned(program);
        for (proc, globals) in program.procs().ids().zip(copied(program, tracked, &mentioned)) {
            drawing.proc(proc, &globals);
        }
        for loc in program.locs().iter() {
            drawing.out.push_loc(Loc { inner: false, ..*loc });
        }
        for (id, edge) in program.edges().pairs() {
            drawing.edge(id, edge);
        }
        let start = drawing.start(program.main());
        let Drawing { out, edges, vars, back, .. } = drawing;
        CoarseProgram { program: out.finish(start), edges, vars, back, mentioned }
    }

    /// A proof about this program as one about the program that it was made from.
    pub fn prove(&self, program: &Program, proof: &Proof) -> Proof {
        let mut locs: Table<ProcId, Vec<_>> = Table::filled(program.procs().len(), Vec::new());
        program.locs().pairs().for_each(|(id, loc)| locs[loc.proc].push(id));
        let mut copy = Copy {
            coarse: self,
            program,
            nodes: proof.nodes(),
            maker: Maker::default(),
            from: HashMap::default(),
        };
        let mut sets = Table::filled(program.locs().len(), None);
        for proc in program.procs().ids() {
            // The same node may be about results of several procedures.
            let mut made = HashMap::default();
            locs[proc]
                .iter()
                .for_each(|&loc| sets[loc] = proof.sets[loc].map(|set| copy.set(proc, set, &mut made)));
        }
        let Copy { maker, from, .. } = copy;
        maker.finish(sets).with_bits_by(|place, bit| from.get(&(place, bit)).map(|&number| Reverse(number)))
    }

    /// What a place of a procedure stands for.
    fn place(&self, program: &Program, proc: ProcId, place: Place) -> Place {
        match place {
            Place::Entry(var) => Place::Entry(self.vars[var]),
            Place::Now(var) => Place::Now(self.vars[var]),
            Place::Exit(var) => Place::Exit(self.vars[var]),
            Place::Result(at) => match (at as usize).checked_sub(program.procs()[proc].results.len()) {
                None => Place::Result(at),
                Some(at) => Place::Exit(self.back[proc][at]),
            },
        }
    }
}

/// Copies the nodes of a proof.
struct Copy<'c> {
    coarse: &'c CoarseProgram,
    program: &'c Program,
    nodes: &'c [Node],
    maker: Maker,
    /// The node that each bit was made from.
    from: HashMap<(Place, u8), u32>,
}

impl Copy<'_> {
    /// A set of a procedure, given which of its nodes were made.
    fn set(&mut self, proc: ProcId, set: Ref, made: &mut HashMap<u32, Ref>) -> Ref {
        made.insert(0, Ref::TRUE);
        let mut stack = vec![set.number()];
        while let Some(&number) = stack.last() {
            let below: &[Ref] = match number.checked_sub(1).map(|at| &self.nodes[at as usize]) {
                Some(Node::Ite(three)) => three,
                Some(Node::And(all)) => all,
                _ => &[],
            };
            let before = stack.len();
            if !made.contains_key(&number) {
                stack.extend(below.iter().map(|to| to.number()).filter(|to| !made.contains_key(to)));
            }
            if stack.len() == before {
                stack.pop();
                if !made.contains_key(&number) {
                    let node = self.node(proc, number, made);
                    made.insert(number, node);
                }
            }
        }
        made[&set.number()].flip(set.is_complement())
    }

    fn node(&mut self, proc: ProcId, number: u32, made: &HashMap<u32, Ref>) -> Ref {
        let of = |to: &Ref| made[&to.number()].flip(to.is_complement());
        match &self.nodes[number as usize - 1] {
            Node::Bit(place, bit) => {
                let place = self.coarse.place(self.program, proc, *place);
                self.from.insert((place, *bit), number);
                self.maker.bit(place, *bit)
            }
            Node::Ite([test, then, other]) => self.maker.ite(of(test), of(then), of(other)),
            Node::And(all) => self.maker.and(all.iter().map(of).collect()),
            Node::Sum(..) => unreachable!("there are no unbounded integers"),
        }
    }
}

/// The globals that each procedure mentions itself.
fn mentioned(program: &Program) -> Table<ProcId, BTreeSet<VarId>> {
    let mut mentioned = Table::filled(program.procs().len(), BTreeSet::new());
    for edge in program.edges().iter() {
        let own = &mut mentioned[program.locs()[edge.from].proc];
        let is_global = |var: &VarId| program.is_global(*var);
        own.extend(edge.action.exprs().flat_map(Expr::reads).filter(is_global));
        match &edge.action {
            Action::Assign { targets: vars, .. } | Action::Havoc(vars) => {
                own.extend(vars.iter().copied().filter(is_global));
            }
            Action::Call { results, .. } => own.extend(results.iter().flatten().copied().filter(is_global)),
            Action::Assume(_) | Action::Return(_) => {}
        }
    }
    mentioned
}

/// The globals of which each procedure has a copy: those that it mentions, tracks, or hands over.
fn copied(
    program: &Program,
    tracked: &Tracked,
    mentioned: &Table<ProcId, BTreeSet<VarId>>,
) -> Vec<BTreeSet<VarId>> {
    let own = tracked.iter().zip(mentioned.iter()).map(|(tracked, mentioned)| tracked | mentioned);
    let mut copied: Vec<BTreeSet<VarId>> = own.collect();
    for edge in program.edges().iter() {
        if let Some(callee) = edge.action.callee() {
            copied[program.locs()[edge.from].proc.index()].extend(&tracked[callee]);
        }
    }
    copied
}

impl Drawing<'_, '_> {
    fn var(&mut self, owner: ProcId, of: VarId) -> VarId {
        let Var { name, ty, .. } = self.regions.program.vars()[of].clone();
        self.vars.push(of);
        self.out.push_var(Var { name, ty, scope: Scope::Local(owner) })
    }

    /// A procedure with its variables, parameters first.
    fn proc(&mut self, id: ProcId, mentioned: &BTreeSet<VarId>) {
        let program = self.regions.program;
        let data = &program.procs()[id];
        let tracked = &self.tracked[id];
        let (params, others) = data.locals.split_at(data.params);
        let (mut locals, mut globals) = (Vec::new(), HashMap::default());
        for &local in params {
            self.locals[local] = self.var(id, local);
            locals.push(self.locals[local]);
        }
        for &global in tracked.iter().chain(mentioned.difference(tracked)) {
            globals.insert(global, self.var(id, global));
        }
        locals.extend(tracked.iter().map(|global| globals[global]));
        for &local in others {
            self.locals[local] = self.var(id, local);
            locals.push(self.locals[local]);
        }
        locals.extend(mentioned.difference(tracked).map(|global| globals[global]));
        let handed = self.back[id].iter().map(|&var| program.vars()[var].ty);
        let results: Vec<Type> = data.results.iter().copied().chain(handed).collect();
        let params = data.params + tracked.len();
        self.out.push_proc(Proc { locals, params, results, ..data.clone() });
        self.frames.push(Frame { globals });
    }

    /// A variable as a procedure has it.
    fn here(&self, proc: ProcId, var: VarId) -> VarId {
        match self.regions.program.is_global(var) {
            true => self.frames[proc].globals[&var],
            false => self.locals[var],
        }
    }

    fn edge(&mut self, id: EdgeId, edge: &Edge) {
        let proc = self.regions.program.locs()[edge.from].proc;
        let lost = match &edge.action {
            Action::Call { callee, results, .. } => self.lost(proc, *callee, results),
            _ => Vec::new(),
        };
        let action = self.action(proc, &edge.action);
        self.edges.push(Some(id));
        if lost.is_empty() {
            self.out.edge(edge.from, edge.to, action, edge.span);
            return;
        }
        let behind = self.out.loc(proc, edge.span);
        self.out.edge(edge.from, behind, action, edge.span);
        self.edges.push(None);
        self.out.edge(behind, edge.to, Action::Havoc(lost), edge.span);
    }

    /// The copies of a caller whose values are lost in a call.
    fn lost(&self, caller: ProcId, callee: ProcId, results: &[Option<VarId>]) -> Vec<VarId> {
        let written = self.regions.scopes.written(callee).iter();
        let lost =
            written.filter(|var| !self.tracked[callee].contains(var) && !results.contains(&Some(**var)));
        lost.filter_map(|var| self.frames[caller].globals.get(var).copied()).collect()
    }

    fn action(&self, proc: ProcId, action: &Action) -> Action {
        let var = |var: VarId| self.here(proc, var);
        let op = |op: &Op| match *op {
            Op::Var(old) => Op::Var(var(old)),
            Op::Next(old) => Op::Next(var(old)),
            op => op,
        };
        let expr = |expr: &Expr| Expr::new(expr.code.iter().map(op).collect::<Box<[Op]>>());
        let values = |vars: &[VarId]| -> Vec<Expr> { vars.iter().map(|&old| Expr::var(var(old))).collect() };
        match action {
            Action::Assume(condition) => Action::Assume(expr(condition)),
            Action::Assign { targets, values, constraint } => Action::Assign {
                targets: targets.iter().map(|&old| var(old)).collect(),
                values: values.iter().map(expr).collect(),
                constraint: constraint.as_ref().map(expr),
            },
            Action::Havoc(vars) => Action::Havoc(vars.iter().map(|&old| var(old)).collect()),
            Action::Call { callee, args, results } => {
                let handed: Vec<VarId> = self.tracked[*callee].iter().copied().collect();
                // A result overwrites what the callee leaves in the same global.
                let kept = |old: &VarId| (!results.contains(&Some(*old))).then(|| var(*old));
                let back = self.back[*callee].iter().map(kept);
                Action::Call {
                    callee: *callee,
                    args: args.iter().map(expr).chain(values(&handed)).collect(),
                    results: results.iter().map(|result| result.map(var)).chain(back).collect(),
                }
            }
            Action::Return(results) => {
                Action::Return(results.iter().map(expr).chain(values(&self.back[proc])).collect())
            }
        }
    }

    /// A procedure that calls `main`, whatever it is given.
    fn start(&mut self, main: ProcId) -> ProcId {
        let data = self.out.procs()[main].clone();
        let start = self.out.proc(&data.name, 0, Vec::new(), data.span);
        let given = data.params().iter().map(|&param| {
            let ty = self.out.vars()[param].ty;
            self.vars.push(self.vars[param]);
            Expr::var(self.out.local(start, "", ty))
        });
        let args: Vec<Expr> = given.collect();
        let (entry, exit) = (self.out.procs()[start].entry, self.out.procs()[start].exit);
        let behind = self.out.loc(start, data.span);
        let results = vec![None; data.results.len()];
        self.out.edge(entry, behind, Action::Call { callee: main, args, results }, data.span);
        self.out.edge(behind, exit, Action::Return(Vec::new()), data.span);
        self.edges.push(None);
        self.edges.push(None);
        start
    }
}
