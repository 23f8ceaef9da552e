//! Room `front/horn`: the commands of a source.

use super::clause::{Clause, clauses};
use super::functions::out_of_fragment;
use super::parse::{Meaning, Parser, syntax};
use super::sexp::{NodeId, Tree};
use super::term::{RelId, Term, TermId, Terms};
use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::{Span, Type};

/// A relation.
pub struct Relation {
    /// Its name.
    pub name: String,
    /// The types of its arguments.
    pub types: Vec<Type>,
    /// Where it is declared.
    pub span: Span,
}

/// What a source says.
pub struct System {
    /// All terms.
    pub terms: Terms,
    /// The relations.
    pub relations: Vec<Relation>,
    /// The clauses in their order.
    pub clauses: Vec<Clause>,
}

struct Script<'a, 't> {
    parser: Parser<'a, 't>,
    relations: Vec<Relation>,
    clauses: Vec<Clause>,
}

type Read<T> = Result<T, Box<Diagnostic>>;

/// Reads all commands, up to `exit`.
pub fn read(tree: &Tree, sink: &mut Sink) -> System {
    let mut script = Script { parser: Parser::new(tree), relations: Vec::new(), clauses: Vec::new() };
    if tree.top.is_empty() {
        // That such a file has a model is true, and of no use to anybody.
        let message = "there is no command here";
        sink.push(Diagnostic::new(Code::Syntax, Span::default(), message));
    }
    for &command in &tree.top {
        match script.command(command) {
            Err(problem) => sink.push(*problem),
            Ok(true) => break,
            Ok(false) => {}
        }
        if sink.is_full() {
            break;
        }
    }
    System { terms: script.parser.terms, relations: script.relations, clauses: script.clauses }
}

impl<'t> Script<'_, 't> {
    /// Carries out a command; whether it is the last one.
    fn command(&mut self, id: NodeId) -> Read<bool> {
        let (tree, span) = (self.parser.tree, self.parser.tree.span(id));
        let items = tree.list(id).unwrap_or_default();
        let Some(word) = items.first().and_then(|&head| tree.symbol(head)) else {
            return syntax(span, "a command was expected, such as `(assert …)`");
        };
        match (word, &items[1..]) {
            (
                "set-info" | "set-option" | "echo" | "check-sat" | "get-model" | "get-info" | "get-proof",
                _,
            ) => {}
            ("exit", _) => return Ok(true),
            ("set-logic", &[logic]) if tree.is(logic, "HORN") => {}
            ("set-logic", &[logic]) => {
                let what = format!("the logic `{}`", tree.text(logic));
                return Err(out_of_fragment(span, what));
            }
            ("declare-fun", &[name, sorts, result]) => {
                if self.parser.sort(result)? != Type::Bool {
                    let what = format!("`{}`, a function that is not a relation,", tree.text(name));
                    return Err(out_of_fragment(span, what));
                }
                self.declare(name, sorts)?;
            }
            ("declare-rel", &[name, sorts]) => self.declare(name, sorts)?,
            ("declare-const", &[name, sort]) => {
                if self.parser.sort(sort)? == Type::Bool {
                    self.relation(name, Vec::new())?;
                } else {
                    let text = self.new_name(name)?;
                    self.parser.names.insert(text, Meaning::Open);
                }
            }
            ("declare-var", &[name, sort]) => {
                let (ty, text) = (self.parser.sort(sort)?, self.new_name(name)?);
                let fresh = self.parser.terms.fresh(text, ty);
                self.parser.names.insert(text, Meaning::Variable(fresh));
            }
            ("define-fun", &[name, params, sort, body]) => self.define(name, Some(params), sort, body)?,
            ("define-const", &[name, sort, body]) => self.define(name, None, sort, body)?,
            ("assert", &[formula]) | ("rule", &[formula, ..]) => self.assert(formula, span)?,
            ("query", &[formula, ..]) => self.query(formula, span)?,
            (
                "assert" | "rule" | "query" | "declare-fun" | "declare-rel" | "declare-const" | "declare-var"
                | "define-fun" | "define-const" | "set-logic",
                _,
            ) => return syntax(span, format!("`{word}` has too few or too many parts")),
            _ => return Err(out_of_fragment(span, format!("the command `{word}`"))),
        }
        Ok(false)
    }

    /// A name that means nothing yet.
    fn new_name(&self, id: NodeId) -> Read<&'t str> {
        let span = self.parser.tree.span(id);
        let Some(name) = self.parser.tree.symbol(id) else { return syntax(span, "a name was expected") };
        match self.parser.names.contains_key(name) {
            false => Ok(name),
            true => {
                let message = format!("`{name}` is declared twice");
                Err(Box::new(Diagnostic::new(Code::RelationTwice, span, message)))
            }
        }
    }

    fn declare(&mut self, name: NodeId, sorts: NodeId) -> Read<()> {
        let Some(sorts) = self.parser.tree.list(sorts) else {
            return syntax(self.parser.tree.span(sorts), "a list of sorts was expected");
        };
        let types = sorts.iter().map(|&sort| self.parser.sort(sort)).collect::<Read<Vec<Type>>>()?;
        self.relation(name, types)
    }

    fn relation(&mut self, name: NodeId, types: Vec<Type>) -> Read<()> {
        let text = self.new_name(name)?;
        let id = self.relations.len() as RelId;
        let span = self.parser.tree.span(name);
        self.relations.push(Relation { name: text.to_owned(), types: types.clone(), span });
        self.parser.names.insert(text, Meaning::Relation(id, types));
        Ok(())
    }

    fn define(&mut self, name: NodeId, params: Option<NodeId>, sort: NodeId, body: NodeId) -> Read<()> {
        let text = self.new_name(name)?;
        let params = params.map_or(Ok(Vec::new()), |params| self.parser.sorted_names(params))?;
        let names: Vec<&str> = params.iter().map(|(name, _)| *name).collect();
        let first = self.parser.terms.vars.len() as u32;
        for &(name, ty) in &params {
            let fresh = self.parser.terms.fresh(name, ty);
            self.parser.bind(name, fresh);
        }
        let made = self.parser.term(body);
        self.parser.unbind(&names);
        let (made, span) = (made?, self.parser.tree.span(body));
        if self.parser.terms.ty(made) != self.parser.sort(sort)? {
            let message = format!("the body of `{text}` has another sort");
            return Err(Box::new(Diagnostic::new(Code::TypeMismatch, span, message)));
        }
        if has_quantifier(&self.parser.terms, made) {
            return Err(out_of_fragment(span, "a quantifier in a definition"));
        }
        let params = (first..first + params.len() as u32).collect();
        self.parser.names.insert(text, Meaning::Definition(params, made));
        Ok(())
    }

    fn assert(&mut self, formula: NodeId, span: Span) -> Read<()> {
        let made = self.formula(formula)?;
        clauses(&mut self.parser.terms, made, span, &mut self.clauses)
    }

    fn formula(&mut self, id: NodeId) -> Read<TermId> {
        let made = self.parser.term(id)?;
        match self.parser.terms.ty(made) == Type::Bool {
            true => Ok(made),
            false => {
                let message = "a formula was expected, not a number";
                Err(Box::new(Diagnostic::new(Code::TypeMismatch, self.parser.tree.span(id), message)))
            }
        }
    }

    /// That something cannot be: a relation by its name, or a formula.
    fn query(&mut self, id: NodeId, span: Span) -> Read<()> {
        let named = self.parser.tree.symbol(id).and_then(|name| self.parser.names.get(name)).cloned();
        let formula = match named {
            Some(Meaning::Relation(relation, types)) => {
                let arguments = types.iter().map(|&ty| self.parser.terms.fresh("", ty)).collect();
                self.parser.terms.relation(relation, arguments)
            }
            _ => self.formula(id)?,
        };
        let negated = self.parser.terms.not(formula);
        clauses(&mut self.parser.terms, negated, span, &mut self.clauses)
    }
}

fn has_quantifier(terms: &Terms, root: TermId) -> bool {
    let mut seen = rustc_hash::FxHashSet::default();
    let mut work = vec![root];
    while let Some(id) = work.pop() {
        if terms.is_logical(id) && seen.insert(id) {
            if matches!(terms.get(id), Term::Quantified(..)) {
                return true;
            }
            work.extend(terms.operands(id));
        }
    }
    false
}
