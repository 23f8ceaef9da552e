//! Room `front`: statements to edges.
//!
//! Each statement begins at its own location. Bounds checks and hidden variables come before its own edge and
//! move the cursor on; writing a result to an element of an array, and `enforce`, are further edges behind it.

use super::lower::Lowering;
use super::lower_expr::Element;
use super::scope::NONE;
use super::tree::*;
use postbop_ir::{Action, CheckKind, Expr, LocId, Op, Type, Value, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The longest value that is worth copying for each element of an array.
const SHORT: usize = 8;

/// So many variables are looked through one by one.
const FEW: usize = 8;

/// What a parallel assignment stores, in order; a later value of one variable replaces an earlier one.
#[derive(Default)]
struct Stores {
    vars: Vec<VarId>,
    values: Vec<Vec<Op>>,
    /// Where the variables beyond the first few stand.
    beyond: FxHashMap<VarId, usize>,
}

impl Stores {
    fn position(&self, var: VarId) -> Option<usize> {
        let among_few = self.vars.iter().take(FEW).position(|stored| *stored == var);
        among_few.or_else(|| self.beyond.get(&var).copied())
    }

    fn set(&mut self, var: VarId, value: Vec<Op>) {
        if let Some(at) = self.position(var) {
            self.values[at] = value;
            return;
        }
        if self.vars.len() >= FEW {
            self.beyond.insert(var, self.vars.len());
        }
        self.vars.push(var);
        self.values.push(value);
    }

    /// Stores to the element that an index names: each element keeps its value where it is not the one.
    fn set_one_of(&mut self, (first, len): (VarId, u32), index: &[Op], ty: Type, value: &[Op]) {
        for element in (0..len).filter(|element| ty.contains(Value::from(*element))) {
            let var = VarId(first.0 + element);
            let mut code = index.to_vec();
            code.extend([Op::Const(ty, element.into()), Op::Eq]);
            code.extend(value);
            match self.position(var) {
                Some(at) => code.extend_from_slice(&self.values[at]),
                None => code.push(Op::Var(var)),
            }
            code.push(Op::Ite);
            self.set(var, code);
        }
    }

    fn action(self, constraint: Option<Expr>) -> Action {
        match (self.vars.is_empty(), constraint) {
            (true, Some(constraint)) => Action::Assume(constraint),
            (true, None) => Action::skip(),
            (false, constraint) => {
                let values = self.values.into_iter().map(Expr::new).collect();
                Action::Assign { targets: self.vars, values, constraint }
            }
        }
    }
}

impl Lowering<'_> {
    /// Adds the edges of a statement.
    pub fn statement(&mut self, here: usize) {
        let stmt = self.tree.stmts[here];
        match stmt.act {
            Act::Else | Act::Fi | Act::Od(_) => return,
            _ if !super::flow::has_location(self.tree, &stmt) => return,
            _ => self.begin(here, stmt.span),
        }
        match stmt.act {
            Act::If(e) | Act::Elsif(e) | Act::While(e) => self.branch(here, e),
            Act::Assert(e) => self.assertion(here, e, true),
            Act::AbortIf(e) => self.assertion(here, e, false),
            Act::Assume(e) => {
                let action = Action::Assume(self.expr(e));
                self.onward(here, action);
            }
            Act::Goto(labels) => {
                for label in labels.range() {
                    let to = self.place(self.meaning.jumps[label]);
                    self.edge(Action::skip(), to);
                }
            }
            Act::Return(values) => self.return_edge(&self.tree.exprs[values.range()]),
            Act::StartGoto(_) => self.start(here, Slice::default()),
            Act::StartCall(_, args) => self.start(here, args),
            Act::Call(_, _, args) if self.site(here).is_some() => self.start(here, args),
            Act::Call(targets, _, args) => self.call(here, targets, args),
            Act::Assign(targets, values, constraint) => self.assign(here, targets, values, constraint),
            Act::Constrain(e) => self.relate(here, e),
            Act::Dead(targets) => self.dead(here, targets),
            Act::Decl(vars, _) => self.declaration(here, vars),
            Act::EndThread => self.end_thread(),
            Act::AtomicBegin => self.bracket(here, true),
            Act::AtomicEnd => self.bracket(here, false),
            _ => self.onward(here, Action::skip()),
        }
    }

    /// Adds the edge to what follows.
    pub fn onward(&mut self, here: usize, action: Action) {
        let to = self.after(here);
        self.edge(action, to);
    }

    /// Adds the edge of an action that can change a variable, and assumes what is enforced after it.
    fn changing(&mut self, here: usize, action: Action) {
        let to = self.after(here);
        if self.enforces() {
            let middle = self.fresh();
            self.edge(action, middle);
            self.cursor = middle;
            self.assume_enforced(to);
        } else {
            self.edge(action, to);
        }
    }

    fn branch(&mut self, here: usize, condition: ExprRef) {
        let condition = self.expr(condition);
        let (to, other) = (self.after(here), self.otherwise(here));
        if condition.code[..] == [Op::Choice(Type::Bool)] {
            self.edge(Action::skip(), to);
            self.edge(Action::skip(), other);
        } else {
            self.edge(Action::Assume(condition.clone()), to);
            self.edge(Action::Assume(condition.negated()), other);
        }
    }

    fn assertion(&mut self, here: usize, condition: ExprRef, holds: bool) {
        let condition = self.expr(condition);
        let condition = if holds { condition } else { condition.negated() };
        let to = self.after(here);
        let failed = self.fresh();
        self.edge(Action::Assume(condition.clone()), to);
        self.edge(Action::Assume(condition.negated()), failed);
        self.out.check(CheckKind::Assert, failed, self.span);
    }

    /// Adds a return edge with these values, or arbitrary ones if there are none.
    pub fn return_edge(&mut self, values: &[ExprRef]) {
        let def = *self.definition();
        let mut results: Vec<Expr> = values.iter().map(|value| self.expr(*value)).collect();
        if values.is_empty() {
            results.extend(self.tree.types[def.results.range()].iter().map(|ty| Expr::choice(*ty)));
        }
        let references = def.vars.range().filter(|at| self.tree.vars[*at].by_ref);
        results.extend(references.map(|at| Expr::var(self.first[at])));
        let exit = self.out.procs()[self.proc].exit;
        self.edge(Action::Return(results), exit);
    }

    /// The element a target names, or `None` if it discards.
    fn target(&mut self, at: usize, keep: bool) -> Option<Element> {
        let target = self.tree.targets[at];
        let var = self.meaning.targets[at];
        if var == NONE {
            return None;
        }
        let Some(index) = target.index else { return Some(Element::Var(self.first[var as usize])) };
        let span = target.name.span.to(self.tree.span_of(index));
        let ty = self.meaning.exprs.types[index.end as usize - 1];
        let code = self.expr(index).code.into_vec();
        Some(self.element(var as usize, code, ty, span, keep))
    }

    fn assign(&mut self, here: usize, targets: Slice, values: Slice, constraint: Option<ExprRef>) {
        let places: Vec<_> = targets.range().map(|at| self.target(at, false)).collect();
        let values: Vec<_> =
            values.range().map(|at| self.expr(self.tree.exprs[at]).code.into_vec()).collect();
        let mut stores = Stores::default();
        for ((place, value), target) in places.into_iter().zip(values).zip(targets.range()) {
            match place {
                None => {}
                Some(Element::Var(var)) => stores.set(var, value),
                Some(Element::OneOf(first, len, index, ty)) => {
                    let of = self.tree.vars[self.meaning.targets[target] as usize].ty;
                    let value = self.copied(of, value);
                    stores.set_one_of((first, len), &index, ty, &value);
                }
            }
        }
        let assigned = || stores.vars.iter().copied().collect();
        let constraint = constraint.map(|constraint| self.constraint(constraint, &assigned()));
        self.changing(here, stores.action(constraint));
    }

    /// Code that may be copied: one that makes a choice, or is long, is kept in a hidden variable.
    fn copied(&mut self, ty: Type, value: Vec<Op>) -> Vec<Op> {
        if value.len() > SHORT || value.iter().any(|op| matches!(op, Op::Choice(_))) {
            vec![Op::Var(self.keep("value", ty, value))]
        } else {
            value
        }
    }

    /// The action that gives a variable its initial value, all elements of an array the same expression.
    pub fn initial(&mut self, at: usize) -> Action {
        let decl = self.tree.vars[at];
        let value = match decl.init {
            Some(init) => self.expr(init),
            None => Expr::choice(decl.ty),
        };
        let targets: Vec<_> = (0..decl.len.unwrap_or(1)).map(|k| VarId(self.first[at].0 + k)).collect();
        let values = vec![value; targets.len()];
        Action::Assign { targets, values, constraint: None }
    }

    fn declaration(&mut self, here: usize, vars: Slice) {
        let initials: Vec<usize> = vars.range().filter(|at| self.tree.vars[*at].init.is_some()).collect();
        let Some((last, others)) = initials.split_last() else {
            return self.onward(here, Action::skip());
        };
        for at in others {
            let action = self.initial(*at);
            let to = self.fresh();
            self.edge(action, to);
            self.cursor = to;
        }
        let action = self.initial(*last);
        self.changing(here, action);
    }

    /// `constrain e` on its own: every variable in scope gets an arbitrary new value, and e relates them to the old.
    fn relate(&mut self, here: usize, relation: ExprRef) {
        let globals = self.globals.iter().copied().filter(|at| self.is_visible(*at));
        let scope = globals.chain(self.definition().vars.range());
        let elements = |at: usize| {
            let first = self.first[at].0;
            (first..first + self.tree.vars[at].len.unwrap_or(1)).map(VarId)
        };
        let targets: Vec<VarId> = scope.flat_map(elements).collect();
        let values = targets.iter().map(|var| Expr::choice(self.out.vars()[*var].ty)).collect();
        let constraint = Some(self.constraint(relation, &targets.iter().copied().collect()));
        self.changing(here, Action::Assign { targets, values, constraint });
    }

    fn dead(&mut self, here: usize, targets: Slice) {
        let mut havoc = Vec::new();
        let mut seen = FxHashSet::default();
        for at in targets.range() {
            let var = self.meaning.targets[at];
            match self.target(at, true) {
                Some(Element::Var(first)) => {
                    let whole = self.tree.targets[at].index.is_none();
                    let len = if whole { self.tree.vars[var as usize].len.unwrap_or(1) } else { 1 };
                    havoc.extend((first.0..first.0 + len).map(VarId).filter(|var| seen.insert(*var)));
                }
                Some(Element::OneOf(first, len, index, ty)) => {
                    let of = self.tree.vars[var as usize].ty;
                    let any = vec![Op::Var(self.keep("value", of, vec![Op::Choice(of)]))];
                    let mut stores = Stores::default();
                    stores.set_one_of((first, len), &index, ty, &any);
                    let to = self.fresh();
                    self.edge(stores.action(None), to);
                    self.cursor = to;
                }
                None => {}
            }
        }
        self.changing(here, if havoc.is_empty() { Action::skip() } else { Action::Havoc(havoc) });
    }

    fn call(&mut self, here: usize, targets: Option<Slice>, args: Slice) {
        let callee = self.meaning.callees[here];
        let def = self.tree.procs[callee as usize];
        let mut places: Vec<Option<Element>> = match targets {
            Some(targets) => targets.range().map(|at| self.target(at, true)).collect(),
            None => def.results.range().map(|_| None).collect(),
        };
        let mut values = Vec::new();
        for (arg, param) in args.range().zip(def.vars.range()) {
            let arg = self.tree.exprs[arg];
            if self.tree.vars[param].by_ref {
                let (value, place) = self.reference(arg);
                values.push(value);
                places.push(Some(place));
            } else {
                values.push(self.expr(arg));
            }
        }
        let callee = self.callee(callee);
        let types = self.out.procs()[callee].results.clone();
        let (results, stores) = self.receive(places, &types);
        let action = Action::Call { callee, args: values, results };
        if !stores.vars.is_empty() {
            let middle: LocId = self.fresh();
            self.edge(action, middle);
            self.cursor = middle;
            self.changing(here, stores.action(None));
        } else {
            self.changing(here, action);
        }
    }

    /// The value of a `ref` argument, and where it is copied back.
    fn reference(&mut self, arg: ExprRef) -> (Expr, Element) {
        let root = arg.end as usize - 1;
        let var = self.meaning.exprs.vars[root] as usize;
        if arg.len() == 1 {
            return (Expr::var(self.first[var]), Element::Var(self.first[var]));
        }
        let index = Slice { start: arg.start, end: arg.end - 1 };
        let ty = self.meaning.exprs.types[root - 1];
        let code = self.expr(index).code.into_vec();
        let element = self.element(var, code, ty, self.tree.spans[root], true);
        let value = match &element {
            Element::Var(var) => Expr::var(*var),
            Element::OneOf(first, len, index, ty) => {
                let mut code = Vec::new();
                super::lower_expr::chain(&mut code, *first, *len, index, *ty, Op::Var);
                Expr::new(code)
            }
        };
        (value, element)
    }

    /// Where the results of a call go: to variables at once, to elements by the stores that must follow.
    fn receive(&mut self, places: Vec<Option<Element>>, types: &[Type]) -> (Vec<Option<VarId>>, Stores) {
        let mut stores = Stores::default();
        let mut results: Vec<Option<VarId>> = Vec::new();
        for (place, ty) in places.into_iter().zip(types) {
            results.push(match place {
                None => None,
                Some(Element::Var(var)) => Some(var),
                Some(Element::OneOf(first, len, index, index_type)) => {
                    let result = self.temp("result", *ty);
                    stores.set_one_of((first, len), &index, index_type, &[Op::Var(result)]);
                    Some(result)
                }
            });
        }
        let mut seen = FxHashSet::default();
        for result in results.iter_mut().rev() {
            *result = result.filter(|var| seen.insert(*var));
        }
        (results, stores)
    }
}
