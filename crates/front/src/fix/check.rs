//! Room `front/fix`: trees to systems of equations.
//!
//! Records and arrays are taken apart: a variable of the calculus is one *leaf*, so `u: State` becomes three. An index that
//! is not a number is expanded to a choice over its values. A term that is not a variable but stands where one is needed,
//! such as the 1 of `R(1, u)`, gets a quantified variable of its own.

use super::Formulas;
use super::sort::{Signature, Sort};
use super::tree::{Formula, Item, Name, Param, Role, Size, SortTree};
use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::Span;
use postbop_kit::calculus::{Domain, DomainId, Equation, Node, NodeId, Relation, RelationId, System, VarId};
use rustc_hash::FxHashMap as HashMap;

/// The longest range of numbers.
const WIDEST: i64 = 256;

/// The most parts of a type.
const MOST_PARTS: usize = 400;

/// The most formulas after indices were expanded.
pub(super) const MOST_NODES: usize = 1 << 20;

/// The most bits of variables in scope at once: diagrams are walked as deep as they have levels.
const MOST_BITS: usize = 100_000;

/// The most variables in scope at once.
const MOST_VARS: usize = 4_000;

/// A variable in scope.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub name: String,
    pub sort: Sort,
    pub leaves: Vec<VarId>,
    /// How many bits it has, with those before it.
    bits: usize,
}

/// A relation and the types of its arguments.
pub(super) struct Declared {
    pub id: RelationId,
    pub sorts: Vec<Sort>,
    span: Option<Span>,
}

/// A mistake that has been reported.
pub(super) struct Reported;

pub(super) type Checked<T> = Result<T, Reported>;

pub(super) struct Checker<'a> {
    pub signature: &'a Signature,
    pub system: System,
    pub sink: &'a mut Sink,
    pub relations: HashMap<String, Declared>,
    pub scope: Vec<Bound>,
    sorts: HashMap<String, Sort>,
    ranges: HashMap<(i64, i64), DomainId>,
    /// How many positions the domains of ranges take.
    width: u32,
}

/// Checks a file.
pub fn check(items: &[Item], signature: &Signature, sink: &mut Sink) -> Option<Formulas> {
    let relation = |(name, sorts): &(String, Vec<Sort>)| (name.clone(), sorts.clone());
    let mut checker = Checker {
        signature,
        system: System { domains: signature.domains.clone(), ..System::default() },
        sink,
        relations: HashMap::default(),
        scope: Vec::new(),
        sorts: signature.sorts.iter().cloned().collect(),
        ranges: HashMap::default(),
        width: 0,
    };
    checker.sorts.insert("bit".into(), Sort::BIT);
    for (name, sorts) in signature.relations.iter().map(relation) {
        checker.declare(&name, sorts, None);
    }
    checker.items(items)
}

impl Checker<'_> {
    pub fn complain<T>(&mut self, code: Code, span: Span, message: impl Into<String>) -> Checked<T> {
        self.sink.push(Diagnostic::new(code, span, message));
        Err(Reported)
    }

    fn items(mut self, items: &[Item]) -> Option<Formulas> {
        let mut equations = Vec::new();
        for item in items {
            // Mistakes have been reported; the other items are worth a look.
            let _ = match item {
                _ if self.sink.is_full() => break,
                Item::Sort(name, tree) => self.name_sort(name, tree),
                Item::Equation(greatest, name, params, body) => {
                    self.head(name, params).map(|id| equations.push((id, *greatest, name, params, body)))
                }
                _ => Ok(()),
            };
        }
        let mut spans = HashMap::default();
        for (id, greatest, name, params, body) in equations {
            if self.sink.is_full() {
                break;
            }
            spans.insert(id, name.span);
            let _ = self.equation(id, greatest, params, body);
        }
        let (mut queries, mut paths, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        for item in items {
            match item {
                _ if self.sink.is_full() => break,
                Item::Query(name, body) => {
                    let _ = self.formula(body).map(|node| queries.push((name.text.clone(), node)));
                }
                Item::Role(role, names) => {
                    let list = if *role == Role::Paths { &mut paths } else { &mut entries };
                    for name in names {
                        let _ = self.defined(name).map(|id| list.push(id));
                    }
                }
                _ => {}
            }
        }
        let has_query = items.iter().any(|item| matches!(item, Item::Query(..)));
        if !has_query && !self.sink.has_errors() {
            let message = "nothing is asked: there is no `query`";
            let hint = "write, for example, `query exists v: State. Reach(v) & Target(v.pc);`";
            self.sink.push(Diagnostic::new(Code::NoQuery, Span::new(0, 0), message).hint(hint));
        }
        if self.sink.has_errors() {
            return None;
        }
        let own = self.signature.domains.len();
        self.system.domains[..own]
            .iter_mut()
            .flat_map(|domain| &mut domain.positions)
            .for_each(|at| *at += self.width);
        Some(Formulas { system: self.system, queries, paths, entries, spans })
    }

    fn name_sort(&mut self, name: &Name, tree: &SortTree) -> Checked<()> {
        let sort = self.sort(tree)?;
        match self.sorts.insert(name.text.clone(), sort) {
            None => Ok(()),
            Some(_) => self.complain(
                Code::RelationTwice,
                name.span,
                format!("there is a type `{}` already", name.text),
            ),
        }
    }

    fn declare(&mut self, name: &str, sorts: Vec<Sort>, span: Option<Span>) -> RelationId {
        let domains = sorts.iter().flat_map(|sort| self.domains(sort)).collect();
        let id = RelationId(self.system.relations.len() as u32);
        self.system.relations.push(Relation { name: name.to_owned(), domains, equation: None });
        self.relations.insert(name.to_owned(), Declared { id, sorts, span });
        id
    }

    /// Notes a relation's name and the types of its arguments.
    fn head(&mut self, name: &Name, params: &[Param]) -> Checked<RelationId> {
        let mut sorts = Vec::new();
        for param in params {
            sorts.push(self.sort(&param.sort)?);
        }
        match self.relations.get(&name.text) {
            None => Ok(self.declare(&name.text, sorts, Some(name.span))),
            Some(known) => {
                let message = format!("there is a relation `{}` already", name.text);
                let diagnostic = Diagnostic::new(Code::RelationTwice, name.span, message);
                self.sink.push(match known.span {
                    Some(span) => diagnostic.note(span, "here"),
                    None => diagnostic.hint("the program supplies this one"),
                });
                Err(Reported)
            }
        }
    }

    fn equation(&mut self, id: RelationId, greatest: bool, params: &[Param], body: &Formula) -> Checked<()> {
        let bound = self.bind(params);
        if bound.is_err() {
            self.scope.clear();
        }
        bound?;
        let leaves = self.scope.iter().flat_map(|bound| bound.leaves.clone()).collect();
        let body = self.formula(body);
        self.scope.clear();
        let equation = Equation { params: leaves, body: body?, greatest };
        self.system.relations[id.0 as usize].equation = Some(equation);
        Ok(())
    }

    /// Names of one list must differ.
    fn differ(&mut self, params: &[Param]) -> Checked<()> {
        let mut known: HashMap<&str, Span> = HashMap::default();
        for param in params {
            if let Some(first) = known.insert(&param.name.text, param.name.span) {
                let message = format!("`{}` is in this list already", param.name.text);
                let diagnostic = Diagnostic::new(Code::VariableTwice, param.name.span, message);
                self.sink.push(diagnostic.note(first, "here"));
                return Err(Reported);
            }
        }
        Ok(())
    }

    /// Opens a scope with these variables.
    fn bind(&mut self, params: &[Param]) -> Checked<()> {
        self.differ(params)?;
        for param in params {
            let sort = self.sort(&param.sort)?;
            let domains = self.domains(&sort);
            let bits = |domain: &DomainId| self.system.domains[domain.0 as usize].positions.len();
            let own: usize = domains.iter().map(bits).sum();
            let before = self.scope.last().map_or(0, |bound| bound.bits);
            if before + own > MOST_BITS || self.scope.len() >= MOST_VARS {
                let message = format!("more than {MOST_VARS} variables or {MOST_BITS} bits in scope at once");
                return self.complain(Code::BadSize, param.name.span, message);
            }
            let leaves = domains.into_iter().map(|domain| self.system.var(domain)).collect();
            self.scope.push(Bound { name: param.name.text.clone(), sort, leaves, bits: before + own });
        }
        Ok(())
    }

    /// A relation that is defined in this file.
    fn defined(&mut self, name: &Name) -> Checked<RelationId> {
        match self.relations.get(&name.text) {
            Some(known) if known.span.is_some() => Ok(known.id),
            _ => self.complain(
                Code::UnknownRelation,
                name.span,
                format!("no relation `{}` is defined here", name.text),
            ),
        }
    }

    fn size(&mut self, size: &Size) -> Checked<(i64, Span)> {
        match size {
            Size::Number(number, span) => Ok((*number, *span)),
            Size::Named(name, plus) => {
                let constant = self.signature.constants.iter().find(|(known, _)| *known == name.text);
                match constant {
                    Some((_, value)) => Ok((value + plus, name.span)),
                    None => self.complain(
                        Code::UnknownVariable,
                        name.span,
                        format!("there is no constant `{}`", name.text),
                    ),
                }
            }
        }
    }

    // Bounded depth: the parser allows 200 formulas and types inside each other.
    fn sort(&mut self, tree: &SortTree) -> Checked<Sort> {
        let sort = match tree {
            SortTree::Name(name) => match self.sorts.get(&name.text) {
                Some(sort) => sort.clone(),
                None => {
                    let mut known: Vec<&str> = self.sorts.keys().map(String::as_str).collect();
                    known.sort_unstable();
                    let hint = format!("there are: {}, and ranges such as 0..3", known.join(", "));
                    let message = format!("there is no type `{}`", name.text);
                    self.sink.push(Diagnostic::new(Code::UnknownSort, name.span, message).hint(hint));
                    return Err(Reported);
                }
            },
            SortTree::Range(low, high) => {
                let ((low, from), (high, to)) = (self.size(low)?, self.size(high)?);
                if high < low || high - low >= WIDEST {
                    let message = format!("a range has from 1 to {WIDEST} values");
                    return self.complain(Code::BadSize, from.to(to), message);
                }
                Sort::Range(low, high)
            }
            SortTree::Record(fields) => {
                let mut list = Vec::new();
                self.differ(fields)?;
                for field in fields {
                    list.push((field.name.text.clone(), self.sort(&field.sort)?));
                }
                let (record, last) = (Sort::Record(list), &fields[fields.len() - 1].name);
                if record.parts() > MOST_PARTS {
                    let message = format!("this record has more than {MOST_PARTS} parts");
                    return self.complain(Code::BadSize, last.span, message);
                }
                record
            }
            SortTree::Array(element, length) => {
                let element = self.sort(element)?;
                let (length, span) = self.size(length)?;
                let most = (MOST_PARTS / element.parts()) as i64;
                if !(0..=most).contains(&length) {
                    let s = if most == 1 { "" } else { "s" };
                    let message = format!("an array of this type has up to {most} element{s}");
                    return self.complain(Code::BadSize, span, message);
                }
                Sort::Array(Box::new(element), length as usize)
            }
        };
        Ok(sort)
    }

    /// The domains of a type's leaves.
    // Bounded depth: the parser allows 200 formulas and types inside each other.
    pub fn domains(&mut self, sort: &Sort) -> Vec<DomainId> {
        match sort {
            Sort::Domain(domain) => vec![*domain],
            Sort::Range(low, high) => vec![self.range(*low, *high)],
            Sort::Record(fields) => fields.iter().flat_map(|(_, sort)| self.domains(sort)).collect(),
            Sort::Array(element, length) => (0..*length).flat_map(|_| self.domains(element)).collect(),
        }
    }

    fn range(&mut self, low: i64, high: i64) -> DomainId {
        if let Some(&domain) = self.ranges.get(&(low, high)) {
            return domain;
        }
        let size = (high - low) as u64 + 1;
        let bits = size.next_power_of_two().trailing_zeros();
        let positions = (self.width..self.width + bits).collect();
        self.width += bits;
        let id = DomainId(self.system.domains.len() as u32);
        self.system.domains.push(Domain { positions, size: (!size.is_power_of_two()).then_some(size) });
        self.ranges.insert((low, high), id);
        id
    }

    pub fn node(&mut self, node: Node) -> NodeId {
        self.system.node(node)
    }

    // Bounded depth: the parser allows 200 formulas and types inside each other.
    pub fn formula(&mut self, formula: &Formula) -> Checked<NodeId> {
        if self.sink.is_full() {
            return Err(Reported);
        }
        if let Formula::Iff(_, _, sign) = formula
            && self.system.nodes.len() > MOST_NODES
        {
            return self.too_many(*sign);
        }
        let list = |checker: &mut Self, parts: &[Formula]| -> Checked<Vec<NodeId>> {
            // All parts are looked at, so that each reports its mistakes.
            let parts: Vec<Checked<NodeId>> = parts.iter().map(|part| checker.formula(part)).collect();
            parts.into_iter().collect()
        };
        let node = match formula {
            Formula::Const(truth) => Node::Const(*truth),
            Formula::And(parts) => Node::And(list(self, parts)?),
            Formula::Or(parts) => Node::Or(list(self, parts)?),
            Formula::Not(part) => Node::Not(self.formula(part)?),
            Formula::Iff(left, right, _) => {
                // No variable is bound twice, so each side is made twice.
                let (a, b) = (self.implies(left, right)?, self.implies(right, left)?);
                Node::And(vec![a, b])
            }
            Formula::Quantified(exists, params, body) => return self.quantified(*exists, params, body),
            Formula::Atom(atom, span) => return self.atom(atom, *span),
        };
        Ok(self.node(node))
    }

    /// Complains that the formulas grow beyond all bounds.
    pub fn too_many<T>(&mut self, span: Span) -> Checked<T> {
        let message = "too many cases: indices are expanded to their values, and `<=>` to two implications";
        self.complain(Code::TooMany, span, message)
    }

    // Bounded depth: the parser allows 200 formulas and types inside each other.
    fn implies(&mut self, left: &Formula, right: &Formula) -> Checked<NodeId> {
        let left = self.formula(left)?;
        let (left, right) = (self.node(Node::Not(left)), self.formula(right)?);
        Ok(self.node(Node::Or(vec![left, right])))
    }

    // Bounded depth: the parser allows 200 formulas and types inside each other.
    fn quantified(&mut self, exists: bool, params: &[Param], body: &Formula) -> Checked<NodeId> {
        let outside = self.scope.len();
        let bound = self.bind(params);
        let leaves: Vec<VarId> =
            self.scope[outside..].iter().flat_map(|bound| bound.leaves.clone()).collect();
        let body = bound.and_then(|()| self.formula(body));
        self.scope.truncate(outside);
        let body = body?;
        if exists {
            return Ok(self.node(Node::Exists(leaves, body)));
        }
        let body = self.node(Node::Not(body));
        let some = self.node(Node::Exists(leaves, body));
        Ok(self.node(Node::Not(some)))
    }
}
