//! Room `front/horn`: s-expressions to terms.
//!
//! A loop with a stack of tasks: an operand is read before what is made of it, and the names that a binder brings are there as long as its
//! body is read.

use super::functions::{self, out_of_fragment};
use super::sexp::{Kind, NodeId, Tree};
use super::term::{RelId, TermId, Terms, VarNo};
use crate::diagnostic::{Code, Diagnostic};
use postbop_ir::types::MAX_WIDTH;
use postbop_ir::{Span, Type};
use rustc_hash::FxHashMap;

/// The most terms that a source may have, with all definitions written out.
const MOST: usize = 20_000_000;

/// What a name means that is not bound by a term.
#[derive(Clone, Debug)]
pub enum Meaning {
    /// A relation, with the types of its arguments.
    Relation(RelId, Vec<Type>),
    /// A definition: its parameters and its body.
    Definition(Vec<VarNo>, TermId),
    /// A variable of all rules.
    Variable(TermId),
    /// A constant without a value, which must not be used.
    Open,
}

/// Reads terms.
pub struct Parser<'a, 't> {
    pub tree: &'a Tree<'t>,
    pub terms: Terms,
    pub names: FxHashMap<&'t str, Meaning>,
    /// What binders mean by a name; the last one counts.
    bound: FxHashMap<&'t str, Vec<TermId>>,
}

enum Task<'t> {
    Read(NodeId),
    /// Applies what stands at the head of a list to the last values.
    Apply(NodeId, usize),
    /// Binds names to the last values, and reads the body.
    Let(Vec<&'t str>, NodeId),
    Unbind(Vec<&'t str>),
    Quantify(bool),
}

type Read<T> = Result<T, Box<Diagnostic>>;

/// A mistake of the form.
pub fn syntax<T>(span: Span, message: impl Into<String>) -> Read<T> {
    Err(Box::new(Diagnostic::new(Code::Syntax, span, message)))
}

impl<'a, 't> Parser<'a, 't> {
    /// A parser that knows no names.
    pub fn new(tree: &'a Tree<'t>) -> Self {
        Parser { tree, terms: Terms::default(), names: FxHashMap::default(), bound: FxHashMap::default() }
    }

    /// Binds a name to a term until it is unbound.
    pub fn bind(&mut self, name: &'t str, term: TermId) {
        self.bound.entry(name).or_default().push(term);
    }

    /// Takes bindings back.
    pub fn unbind(&mut self, names: &[&'t str]) {
        for name in names {
            self.bound.get_mut(name).map(Vec::pop);
        }
    }

    /// A sort.
    pub fn sort(&self, id: NodeId) -> Read<Type> {
        let span = self.tree.span(id);
        match self.tree.symbol(id) {
            Some("Bool") => return Ok(Type::Bool),
            Some("Int") => return Ok(Type::Integer),
            _ => {}
        }
        if let Some(&[head, kind, width]) = self.tree.list(id)
            && self.tree.is(head, "_")
            && self.tree.is(kind, "BitVec")
        {
            let bits = self.tree.text(width).parse::<u64>().ok();
            return match bits.filter(|bits| (1..=u64::from(MAX_WIDTH)).contains(bits)) {
                Some(bits) => Ok(Type::Uint(bits as u8)),
                None => {
                    let message = format!("a bit-vector has 1 to {MAX_WIDTH} bits here");
                    Err(Box::new(Diagnostic::new(Code::BadSize, span, message)))
                }
            };
        }
        Err(out_of_fragment(span, format!("the sort `{}`", self.tree.text(id))))
    }

    /// The names and sorts of a list such as `((x Int) (y Bool))`.
    pub fn sorted_names(&self, id: NodeId) -> Read<Vec<(&'t str, Type)>> {
        let Some(items) = self.tree.list(id) else {
            return syntax(self.tree.span(id), "a list of variables with their sorts was expected");
        };
        let pair = |&item: &NodeId| match self.tree.list(item) {
            Some(&[name, sort]) if self.tree.symbol(name).is_some() => {
                Ok((self.tree.symbol(name).unwrap_or_default(), self.sort(sort)?))
            }
            _ => syntax(self.tree.span(item), "a variable with its sort was expected, such as `(x Int)`"),
        };
        items.iter().map(pair).collect()
    }

    /// A term.
    pub fn term(&mut self, root: NodeId) -> Read<TermId> {
        let mut tasks = vec![Task::Read(root)];
        let mut values: Vec<TermId> = Vec::new();
        while let Some(task) = tasks.pop() {
            match task {
                Task::Read(id) => match self.tree.list(id) {
                    None => values.push(self.atom(id)?),
                    Some(items) => {
                        if let Some(value) = self.begin(id, items, &mut tasks)? {
                            values.push(value);
                        }
                    }
                },
                Task::Apply(id, count) => {
                    let operands = values.split_off(values.len() - count);
                    values.push(self.apply(id, operands)?);
                    if self.terms.len() > MOST {
                        let message = format!("more than {MOST} terms, with definitions written out");
                        return Err(Box::new(Diagnostic::new(Code::TooMany, self.tree.span(id), message)));
                    }
                }
                Task::Let(names, body) => {
                    let terms = values.split_off(values.len() - names.len());
                    names.iter().zip(terms).for_each(|(&name, term)| self.bind(name, term));
                    tasks.push(Task::Unbind(names));
                    tasks.push(Task::Read(body));
                }
                Task::Unbind(names) => self.unbind(&names),
                Task::Quantify(universal) => {
                    let body = values.pop().expect("a quantifier has a body");
                    if self.terms.ty(body) != Type::Bool {
                        return syntax(self.tree.span(root), "a quantifier stands before a formula");
                    }
                    values.push(self.terms.quantified(universal, body));
                }
            }
        }
        Ok(values.pop().expect("a term has a value"))
    }

    /// Begins to read a list; a constant is read at once.
    fn begin(&mut self, id: NodeId, items: &[NodeId], tasks: &mut Vec<Task<'t>>) -> Read<Option<TermId>> {
        let span = self.tree.span(id);
        let Some(&head) = items.first() else { return syntax(span, "a term was expected, not `()`") };
        match (self.tree.symbol(head), items) {
            (Some("let"), &[_, bindings, body]) => {
                let Some(pairs) = self.tree.list(bindings) else {
                    return syntax(span, "`let` has a list of names with their terms");
                };
                let mut names = Vec::new();
                let mut terms = Vec::new();
                for &pair in pairs {
                    match self.tree.list(pair) {
                        Some(&[name, term]) if self.tree.symbol(name).is_some() => {
                            names.push(self.tree.symbol(name).unwrap_or_default());
                            terms.push(term);
                        }
                        _ => return syntax(self.tree.span(pair), "a name and a term were expected"),
                    }
                }
                tasks.push(Task::Let(names, body));
                tasks.extend(terms.into_iter().rev().map(Task::Read));
            }
            (Some(word @ ("forall" | "exists")), &[_, vars, body]) => {
                let vars = self.sorted_names(vars)?;
                let names: Vec<&str> = vars.iter().map(|(name, _)| *name).collect();
                for (name, ty) in vars {
                    let fresh = self.terms.fresh(name, ty);
                    self.bind(name, fresh);
                }
                tasks.push(Task::Quantify(word == "forall"));
                tasks.push(Task::Unbind(names));
                tasks.push(Task::Read(body));
            }
            // Attributes mean nothing to us.
            (Some("!"), &[_, body, ..]) => tasks.push(Task::Read(body)),
            (Some("_"), _) => return functions::indexed_constant(self, id, items).map(Some),
            (Some("let" | "forall" | "exists" | "!"), _) => {
                return syntax(span, format!("`{}` has too few or too many parts", self.tree.text(head)));
            }
            _ => {
                tasks.push(Task::Apply(id, items.len() - 1));
                tasks.extend(items[1..].iter().rev().map(|&item| Task::Read(item)));
            }
        }
        Ok(None)
    }

    fn atom(&mut self, id: NodeId) -> Read<TermId> {
        let (text, span) = (self.tree.text(id), self.tree.span(id));
        let digits = |digits: &str, radix: u32, bits: usize| -> Read<(Type, i64)> {
            match i64::from_str_radix(digits, radix) {
                Ok(number) if (1..=usize::from(MAX_WIDTH)).contains(&bits) => {
                    Ok((Type::Uint(bits as u8), number))
                }
                _ => {
                    let message = format!("a bit-vector has 1 to {MAX_WIDTH} bits here");
                    Err(Box::new(Diagnostic::new(Code::BadSize, span, message)))
                }
            }
        };
        let (ty, number) = match self.tree.node(id).kind {
            Kind::Numeral => match text.parse() {
                Ok(number) => (Type::Integer, number),
                Err(_) => {
                    let message = format!("{text} does not fit 63 bits");
                    return Err(Box::new(Diagnostic::new(Code::HugeNumber, span, message)));
                }
            },
            Kind::Binary => digits(&text[2..], 2, text.len() - 2)?,
            Kind::Hex => digits(&text[2..], 16, 4 * (text.len() - 2))?,
            Kind::Symbol => return self.name(id, Vec::new()),
            Kind::Decimal => return Err(out_of_fragment(span, format!("the real number `{text}`"))),
            Kind::Keyword | Kind::Text | Kind::List(..) => {
                return syntax(span, format!("a term was expected, not `{text}`"));
            }
        };
        Ok(self.terms.number(ty, number))
    }

    fn apply(&mut self, id: NodeId, operands: Vec<TermId>) -> Read<TermId> {
        let items = self.tree.list(id).unwrap_or_default();
        match self.tree.list(items[0]) {
            Some(index) => functions::indexed(self, id, index, operands),
            None => self.name(items[0], operands),
        }
    }

    /// A name applied to operands.
    fn name(&mut self, id: NodeId, operands: Vec<TermId>) -> Read<TermId> {
        let span = self.tree.span(id);
        let Some(name) = self.tree.symbol(id) else {
            return syntax(span, format!("a function was expected, not `{}`", self.tree.text(id)));
        };
        if let Some(&bound) = self.bound.get(name).and_then(|all| all.last()) {
            return match operands.is_empty() {
                true => Ok(bound),
                false => syntax(span, format!("`{name}` is a variable, not a function")),
            };
        }
        match self.names.get(name).cloned() {
            None => functions::named(self, id, name, operands),
            Some(Meaning::Open) => {
                Err(functions::out_of_fragment(span, format!("`{name}`, a constant without a value,")))
            }
            Some(Meaning::Variable(term)) => match operands.is_empty() {
                true => Ok(term),
                false => syntax(span, format!("`{name}` is a variable, not a function")),
            },
            Some(Meaning::Relation(relation, types)) => {
                self.arguments(span, name, &types, &operands)?;
                Ok(self.terms.relation(relation, operands))
            }
            Some(Meaning::Definition(params, body)) => {
                let types: Vec<Type> =
                    params.iter().map(|&param| self.terms.vars[param as usize].1).collect();
                self.arguments(span, name, &types, &operands)?;
                let values = params.into_iter().zip(operands).collect();
                Ok(self.terms.substitute(body, &values))
            }
        }
    }

    fn arguments(&self, span: Span, name: &str, types: &[Type], operands: &[TermId]) -> Read<()> {
        if types.len() != operands.len() {
            let message = format!("`{name}` takes {} arguments, not {}", types.len(), operands.len());
            return Err(Box::new(Diagnostic::new(Code::WrongArguments, span, message)));
        }
        let wrong = types.iter().zip(operands).position(|(ty, &operand)| *ty != self.terms.ty(operand));
        match wrong {
            None => Ok(()),
            Some(at) => {
                let message = format!("argument {} of `{name}` has another sort", at + 1);
                Err(Box::new(Diagnostic::new(Code::TypeMismatch, span, message)))
            }
        }
    }
}
