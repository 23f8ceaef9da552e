//! Room `front/temporal`: conditions on variables, by the rules of Boolean programs.
//!
//! # Idea
//!
//! The parser and the type checker of `bp` work on a tree with declarations. So the variables of the program graph are
//! declared in a tree that has nothing else: globals by their names, the local `x` of the procedure `p` as `p.x`, elements
//! `a[0]`, `a[1]`, … of an array as that array. What `bp` says about an expression is then what it would say about it in
//! a program.
//!
//! Where a program has threads, a procedure is there once for each thread that uses it. A condition on its locals becomes
//! one condition for each copy.

use super::Atom;
use crate::bp::infer::{Infer, Site, Types};
use crate::bp::lower_expr::{chain, code};
use crate::bp::scope::{NONE, Scopes};
use crate::bp::token::Sym;
use crate::bp::tree::{ExprRef, Ident, Item, Node, Sharing, Slice, Tree, VarDecl};
use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::{Expr, Id, Op, ProcId, Program, Scope, Span, Type, VarId};
use rustc_hash::FxHashMap as HashMap;

/// A variable, or an array, under the name by which formulas know it.
struct Variable {
    ty: Type,
    len: Option<u32>,
    /// The procedure it belongs to, and its variable or first element: one, or one for each copy of the procedure.
    copies: Vec<(Option<ProcId>, VarId)>,
}

/// The variables of a program by name.
pub(super) struct Variables<'p> {
    program: &'p Program,
    list: Vec<(String, Variable)>,
    numbers: HashMap<String, usize>,
}

impl<'p> Variables<'p> {
    /// The variables of a program.
    pub fn of(program: &'p Program) -> Self {
        let mut all = Variables { program, list: Vec::new(), numbers: HashMap::default() };
        let vars = program.vars();
        let mut at = 0;
        while at < vars.len() {
            let first = VarId::new(at);
            let var = &vars[first];
            let base = var.name.strip_suffix("[0]").filter(|base| !base.is_empty());
            let follows = |base: &str, len: usize| {
                let next = at + len;
                next < vars.len() && vars[VarId::new(next)].name == format!("{base}[{len}]")
            };
            let len = base.map(|base| (1..).find(|len| !follows(base, *len)).unwrap_or(1));
            if !var.is_hidden() {
                all.add(first, base.unwrap_or(&var.name), len.map(|len| len as u32));
            }
            at += len.unwrap_or(1);
        }
        all
    }

    fn add(&mut self, first: VarId, name: &str, len: Option<u32>) {
        let var = &self.program.vars()[first];
        let (name, proc) = match var.scope {
            Scope::Global => (name.to_owned(), None),
            Scope::Local(proc) => (format!("{}.{name}", self.program.procs()[proc].name), Some(proc)),
        };
        let next = self.list.len();
        let number = *self.numbers.entry(name.clone()).or_insert(next);
        match self.list.get_mut(number) {
            Some((_, known)) => known.copies.push((proc, first)),
            None => self.list.push((name, Variable { ty: var.ty, len, copies: vec![(proc, first)] })),
        }
    }

    /// Whether there is a variable of this name.
    pub fn has(&self, name: &str) -> bool {
        self.numbers.contains_key(name)
    }

    /// The names of all.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|(name, _)| name.as_str())
    }

    /// A procedure that has a local of this name.
    pub fn owner(&self, local: &str) -> Option<&str> {
        let ends = |name: &&str| name.strip_suffix(local).is_some_and(|rest| rest.ends_with('.'));
        self.names().find(ends).and_then(|name| name.split_once('.')).map(|(proc, _)| proc)
    }
}

/// Checks the conditions of a tree, and says for each the atoms one of which must be true; nothing where it has a mistake.
pub(super) fn conditions(
    variables: &Variables<'_>,
    mut tree: Tree,
    names: &[&str],
    conditions: &[ExprRef],
    sink: &mut Sink,
) -> Vec<Option<Vec<Atom>>> {
    let mut names: Vec<&str> = names.to_vec();
    let mut symbols: HashMap<&str, Sym> =
        names.iter().enumerate().map(|(sym, name)| (*name, sym as Sym)).collect();
    for (name, variable) in &variables.list {
        let sym = *symbols.entry(name).or_insert_with(|| {
            names.push(name);
            names.len() as Sym - 1
        });
        let name = Ident { sym, span: Span::default() };
        tree.vars.push(VarDecl { name, ty: variable.ty, len: variable.len, init: None, by_ref: false });
    }
    tree.items.push(Item::Decl(Slice::new(0, tree.vars.len()), Sharing::Plain, 0, Span::default()));
    let mut own = Sink::default();
    let mut scopes = Scopes::new(&tree, &names, &mut own);
    let mut infer = Infer::new(&tree);
    let mut fine = Vec::new();
    for &expr in conditions {
        let mut found = Sink::default();
        let site = Site { proc: NONE, want: Some(Type::Bool), primes: false, index_of: None };
        infer.check(expr, site, &mut scopes, &mut found);
        choices(&tree, expr, &mut found);
        fine.push(!found.has_errors());
        // The declarations are not in the text: there is no place to point at.
        let found = found.finish().into_iter().map(|found| Diagnostic { notes: Vec::new(), ..found });
        found.for_each(|found| sink.push(found));
    }
    let lower = |(&expr, fine): (&ExprRef, bool)| match fine {
        true => atoms(variables, &tree, &infer.out, expr, sink),
        false => None,
    };
    conditions.iter().zip(fine).map(lower).collect()
}

/// Reports choices: what is true or false of a position must not be different the next time.
fn choices(tree: &Tree, expr: ExprRef, sink: &mut Sink) {
    for at in expr.range() {
        if matches!(tree.nodes[at], Node::Choice | Node::Schoose) {
            let message = "a condition on a run makes no choices: it is true or false";
            sink.push(Diagnostic::new(Code::ChoiceInAtom, tree.spans[at], message));
        }
    }
}

/// The atoms of a condition without mistakes.
fn atoms(
    variables: &Variables<'_>,
    tree: &Tree,
    types: &Types,
    expr: ExprRef,
    sink: &mut Sink,
) -> Option<Vec<Atom>> {
    let named = expr.range().filter(|&at| matches!(tree.nodes[at], Node::Var(..) | Node::Index(..)));
    let mut copies: &[(Option<ProcId>, VarId)] = &[];
    for at in named {
        // A variable that is not declared was reported once, and may be there again.
        let (name, variable) = variables.list.get(types.vars[at] as usize)?;
        let owner = |copies: &[(Option<ProcId>, VarId)]| copies.first().and_then(|copy| copy.0);
        let (here, before) = (owner(&variable.copies), owner(copies));
        let span = tree.spans[at];
        if here.is_none() && variable.copies.len() > 1 {
            let message = format!("every thread has a variable `{name}` of its own");
            sink.push(Diagnostic::new(Code::TwoScopes, span, message));
            return None;
        }
        if here.is_some() && before.is_some() && here != before {
            let message = "one condition cannot speak about locals of two procedures";
            let hint = "a run is inside one procedure at a time: write two conditions";
            sink.push(Diagnostic::new(Code::TwoScopes, span, message).hint(hint));
            return None;
        }
        if here.is_some() {
            copies = &variable.copies;
        }
    }
    let scopes: Vec<Option<ProcId>> = match copies {
        [] => vec![None],
        copies => copies.iter().map(|copy| copy.0).collect(),
    };
    let holds = |(copy, &scope): (usize, &Option<ProcId>)| {
        let code = code(tree, types, expr, |code, at, index| {
            let variable = &variables.list[types.vars[at] as usize].1;
            // A procedure and its locals are copied together.
            let first = variable.copies.get(copy).unwrap_or(&variable.copies[0]).1;
            let len = variable.len.unwrap_or(1);
            match index[..] {
                [] => code.push(Op::Var(first)),
                [Op::Const(_, value)] => code.push(Op::Var(VarId(first.0 + value.get() as u32))),
                _ => chain(code, first, len, &index, types.types[at - 1], Op::Var),
            }
        });
        Atom::Holds(scope, Expr::new(code))
    };
    Some(scopes.iter().enumerate().map(holds).collect())
}
