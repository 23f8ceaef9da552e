//! Room `front`: everything that must hold before a program has a meaning.
//!
//! One pass over the procedures and their statements. What names mean and what types expressions have is kept in
//! [`Meaning`], beside the tree, for the lowering to use.

use super::concurrent::Concurrent;
use super::flow;
use super::infer::{self, Infer, Site, Types};
use super::lexer::DISCARD;
use super::scope::{NONE, Scopes};
use super::tree::*;
use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::{Span, Type};
use rustc_hash::FxHashMap;

/// What the checker found out, by the indices of the tree.
#[derive(Debug)]
pub struct Meaning {
    /// The types and variables of the expression pool.
    pub exprs: Types,
    /// The variable of each target; [`NONE`] if it discards.
    pub targets: Vec<u32>,
    /// The procedure called by each statement.
    pub callees: Vec<u32>,
    /// The statement each name of a jump leads to.
    pub jumps: Vec<u32>,
    /// The statement each `start_thread goto` leads to.
    pub landings: FxHashMap<u32, u32>,
    /// The procedure `main` outside of all thread blocks.
    pub main: Option<u32>,
}

/// Checks a tree, and finds out what its names mean.
pub fn check(tree: &Tree, names: &[&str], concurrent: Option<&Concurrent>, sink: &mut Sink) -> Meaning {
    let scopes = Scopes::new(tree, names, sink);
    let main = scopes.proc_in(0, scopes.symbol("main"));
    let mut checker = Checker {
        tree,
        scopes,
        infer: Infer::new(tree),
        sink,
        targets: vec![NONE; tree.targets.len()],
        callees: vec![NONE; tree.stmts.len()],
        jumps: vec![NONE; tree.idents.len()],
        landings: FxHashMap::default(),
        proc: NONE,
    };
    checker.mains(concurrent, main);
    for item in &tree.items {
        match *item {
            Item::Decl(vars, _, thread, _) => {
                checker.scopes.outside = thread;
                checker.initials(vars);
            }
            Item::Proc(proc) => checker.procedure(proc),
            Item::ThreadBegin(..) | Item::ThreadEnd(_) => {}
        }
    }
    checker.doubtful_labels();
    let Checker { infer, targets, callees, jumps, landings, .. } = checker;
    Meaning { exprs: infer.out, targets, callees, jumps, landings, main }
}

struct Checker<'t, 's> {
    tree: &'t Tree,
    scopes: Scopes<'t>,
    infer: Infer<'t>,
    sink: &'s mut Sink,
    targets: Vec<u32>,
    callees: Vec<u32>,
    jumps: Vec<u32>,
    landings: FxHashMap<u32, u32>,
    /// The procedure under way.
    proc: u32,
}

impl Checker<'_, '_> {
    fn report(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.sink.push(Diagnostic::new(code, span, message));
    }

    fn expr(&mut self, expr: ExprRef, want: Option<Type>) {
        let site = Site { proc: self.proc, want, primes: false, index_of: None };
        self.infer.check(expr, site, &mut self.scopes, self.sink);
    }

    fn relation(&mut self, expr: ExprRef) {
        let site = Site { proc: self.proc, want: Some(Type::Bool), primes: true, index_of: None };
        self.infer.check(expr, site, &mut self.scopes, self.sink);
    }

    fn mains(&mut self, concurrent: Option<&Concurrent>, main: Option<u32>) {
        let threads = self.tree.items.iter().filter_map(|item| match item {
            Item::ThreadBegin(_, span) => Some(*span),
            _ => None,
        });
        if self.tree.lost_names {
            return;
        }
        let blocks = threads.clone().count();
        let starts = concurrent.map_or(main.is_some(), |concurrent| !concurrent.threads.is_empty());
        if !starts && blocks == 0 {
            let span = self.tree.procs.first().map_or(Span::default(), |proc| proc.span);
            let missing = Diagnostic::new(Code::NoMain, span, "there is no procedure `main` to start in");
            self.sink.push(missing.hint("add `void main() begin … end`"));
        }
        let symbol = self.scopes.symbol("main");
        for (at, span) in threads.enumerate() {
            if self.scopes.proc_in(at as u32 + 1, symbol).is_none() {
                self.report(Code::NoMain, span, "this thread has no procedure `main` to start in");
            }
        }
    }

    fn initials(&mut self, vars: Slice) {
        for at in vars.range() {
            let var = self.tree.vars[at];
            if let Some(init) = var.init {
                self.expr(init, Some(var.ty));
            }
        }
    }

    fn procedure(&mut self, at: u32) {
        self.proc = at;
        let proc = self.tree.procs[at as usize];
        if let Some((enforce, _)) = proc.enforce {
            self.expr(enforce, Some(Type::Bool));
        }
        for stmt in proc.body.range() {
            self.statement(stmt, &proc);
        }
        let flow = if proc.results.is_empty() { None } else { Some(flow::flow(self.tree, proc.body)) };
        if flow.is_some_and(|flow| flow.falls.is_some()) {
            self.no_value(proc.end, &proc);
        }
        self.proc = NONE;
    }

    fn no_value(&mut self, span: Span, proc: &ProcDef) {
        let name = self.scopes.text(proc.name.sym);
        let message = format!("`{name}` ends here without a result, so its result is arbitrary");
        let warning = Diagnostic::new(Code::NoReturnValue, span, message);
        self.sink
            .push(warning.note(proc.name.span, format!("it has {}", count(proc.results.len(), "result"))));
    }

    fn statement(&mut self, at: usize, proc: &ProcDef) {
        let stmt = self.tree.stmts[at];
        let bool = Some(Type::Bool);
        match stmt.act {
            Act::Decl(vars, _) => self.initials(vars),
            Act::Print(list) => {
                for expr in list.range() {
                    self.expr(self.tree.exprs[expr], None);
                }
            }
            Act::Goto(labels) => {
                for label in labels.range() {
                    self.jumps[label] = self.scopes.label(self.proc, self.tree.idents[label], self.sink);
                }
            }
            Act::StartGoto(label) => {
                let landing = self.scopes.label(self.proc, label, self.sink);
                self.landings.insert(at as u32, landing);
            }
            Act::Return(values) => self.return_values(values, stmt.span, proc),
            Act::Assign(targets, values, constraint) => {
                self.assign(targets, values, stmt.span);
                if let Some(constraint) = constraint {
                    self.relation(constraint);
                }
            }
            Act::Call(targets, name, args) => self.call(at, targets, name, args),
            Act::StartCall(name, args) => self.call(at, None, name, args),
            Act::Assert(e) | Act::Assume(e) | Act::AbortIf(e) => self.expr(e, bool),
            Act::If(e) | Act::Elsif(e) | Act::While(e) => self.expr(e, bool),
            Act::Constrain(e) => self.relation(e),
            Act::Dead(targets) => {
                for target in targets.range() {
                    self.target(target, true);
                }
                self.distinct(targets);
            }
            Act::Skip | Act::Else | Act::Fi | Act::Od(_) => {}
            Act::EndThread | Act::Sync(_) | Act::AtomicBegin | Act::AtomicEnd => {}
        }
    }

    fn return_values(&mut self, values: Slice, span: Span, proc: &ProcDef) {
        let (found, wanted) = (values.len(), proc.results.len());
        if found == 0 && wanted > 0 {
            return self.no_value(span, proc);
        }
        if found != wanted {
            let name = self.scopes.text(proc.name.sym);
            let message = format!("`{name}` has {}, not {found}", count(wanted, "result"));
            let wrong = Diagnostic::new(Code::WrongReturn, span, message);
            self.sink.push(wrong.note(proc.span, "declared here"));
        }
        for (at, value) in values.range().enumerate() {
            let want = self.tree.types[proc.results.range()].get(at).copied();
            self.expr(self.tree.exprs[value], want);
        }
    }

    fn assign(&mut self, targets: Slice, values: Slice, span: Span) {
        if targets.len() != values.len() {
            let (targets, values) = (count(targets.len(), "variable"), count(values.len(), "value"));
            self.report(Code::WrongValues, span, format!("{targets} but {values}"));
        }
        for (at, target) in targets.range().enumerate() {
            let want = self.target(target, false);
            if at < values.len() {
                self.expr(self.tree.exprs[values.start as usize + at], want);
            }
        }
        for value in values.range().skip(targets.len()) {
            self.expr(self.tree.exprs[value], None);
        }
        self.distinct(targets);
    }

    /// Finds out what a target is, and its type if it is good for one value. A whole array is good for `dead`.
    fn target(&mut self, at: usize, whole: bool) -> Option<Type> {
        let target = self.tree.targets[at];
        if target.name.sym == DISCARD && target.index.is_none() {
            return None;
        }
        let var = self.scopes.var(self.proc, target.name, self.sink);
        self.targets[at] = var;
        let decl = self.tree.vars.get(var as usize);
        if let Some(index) = target.index {
            let index_of = Some(decl.and_then(|decl| decl.len).unwrap_or(u32::MAX));
            let site = Site { proc: self.proc, want: None, primes: false, index_of };
            self.infer.check(index, site, &mut self.scopes, self.sink);
        }
        let decl = decl?;
        let indexed = target.index.is_some() || (whole && decl.len.is_some());
        infer::shape(decl, indexed, target.name, &self.scopes, self.sink)
    }

    fn number(&self, expr: ExprRef) -> Option<i64> {
        match self.tree.nodes[expr.range()] {
            [Node::Number(value)] => Some(value),
            _ => None,
        }
    }

    /// Reports targets that are certainly the same.
    fn distinct(&mut self, targets: Slice) {
        let key = |at: usize| {
            let target = self.tree.targets[at];
            let index = target.index.map(|index| self.number(index));
            // An index that is not constant may or may not be another one: the last assignment wins.
            let known = self.targets[at] != NONE && index != Some(None);
            known.then_some((self.targets[at], index, at))
        };
        let mut keys: Vec<_> = targets.range().filter_map(key).collect();
        keys.sort_unstable();
        for two in keys.windows(2) {
            if (two[0].0, two[0].1) == (two[1].0, two[1].1) {
                let [first, again] = [two[0].2, two[1].2].map(|at| self.tree.targets[at].name);
                let message = format!("`{}` is assigned twice at once", self.scopes.text(again.sym));
                let twice = Diagnostic::new(Code::TargetTwice, again.span, message);
                self.sink.push(twice.note(first.span, "first assigned here"));
            }
        }
    }

    fn call(&mut self, at: usize, targets: Option<Slice>, name: Ident, args: Slice) {
        let callee = self.scopes.proc(self.proc, name, self.sink);
        self.callees[at] = callee;
        let def = self.tree.procs.get(callee as usize).copied();
        let text = self.scopes.text(name.sym);
        if def.is_some() && text == "main" {
            let message = "`main` cannot be called: it is where the program starts";
            self.report(Code::CallOfMain, name.span, message);
        }
        if let Some(def) = def {
            let (found, wanted) = (args.len(), def.params as usize);
            if found != wanted {
                let message = format!("`{text}` takes {}, not {found}", count(wanted, "argument"));
                let wrong = Diagnostic::new(Code::WrongArguments, name.span, message);
                self.sink.push(wrong.note(def.span, "defined here"));
            }
            let (found, wanted) = (targets.map_or(0, Slice::len), def.results.len());
            if targets.is_some() && found != wanted {
                let message = format!("`{text}` has {}, not {found}", count(wanted, "result"));
                let wrong = Diagnostic::new(Code::WrongResults, name.span, message);
                self.sink.push(wrong.note(def.span, "defined here"));
            }
        }
        for (at, arg) in args.range().enumerate() {
            let params =
                def.map_or(0..0, |def| def.vars.range().start..def.vars.range().start + def.params as usize);
            let param = self.tree.vars[params].get(at);
            self.argument(self.tree.exprs[arg], param.copied());
        }
        if let Some(targets) = targets {
            self.results(targets, def);
        }
    }

    fn argument(&mut self, arg: ExprRef, param: Option<VarDecl>) {
        self.expr(arg, param.map(|param| param.ty));
        let root = self.tree.nodes[arg.end as usize - 1];
        if param.is_some_and(|param| param.by_ref) && !matches!(root, Node::Var(..) | Node::Index(..)) {
            let span = self.tree.span_of(arg);
            let message = "an argument passed by `ref` must be a variable or an element of an array";
            self.report(Code::BadReference, span, message);
        }
    }

    fn results(&mut self, targets: Slice, def: Option<ProcDef>) {
        for (at, target) in targets.range().enumerate() {
            let found = self.target(target, false);
            let given = def.and_then(|def| self.tree.types[def.results.range()].get(at).copied());
            if let (Some(want), Some(given)) = (found, given)
                && want != given
            {
                let name = self.tree.targets[target].name;
                let text = self.scopes.text(name.sym);
                let message = format!("a result of type `{given}` does not fit `{text}` of type `{want}`");
                self.report(Code::TypeMismatch, name.span, message);
            }
        }
        self.distinct(targets);
    }

    /// Labels that stand at two places but that no `goto` names: fine for a query, which means both.
    fn doubtful_labels(&mut self) {
        let mut doubtful = self.scopes.doubtful_labels();
        doubtful.sort_unstable_by_key(|(_, place)| place.span.start);
        for (sym, place) in doubtful {
            let text = self.scopes.text(sym);
            let again = place.again.unwrap_or(place.span);
            let message = format!("label `{text}` stands at two places of this procedure");
            self.sink.push(Diagnostic::new(Code::LabelTwice, again, message).note(place.span, "first here"));
        }
    }
}

/// `1 result`, `2 results`.
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
