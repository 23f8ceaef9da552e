//! Room `front/temporal`: what the names in formulas mean.
//!
//! A name alone is a label or a Boolean variable. If it could be both, that is a mistake: `at L` is the label, `{x}` the
//! variable. `p.L` is the label `L` of the procedure `p`, and `p.x` its local `x`; `p:L`, as on the command line, is
//! always a label. In a pushdown system with variables it is the stack symbol `L` in the control state `p`.

use super::Atom;
use super::condition::{Variables, conditions};
use super::parse::{Parsed, Raw};
use crate::bp::scope::did_you_mean;
use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::{LocId, ProcId, Program, Span};
use postbop_kit::buchi::{Formula, Node, NodeId};
use rustc_hash::FxHashMap as HashMap;

/// Atoms, each numbered once.
#[derive(Default)]
pub(super) struct Atoms {
    pub list: Vec<Atom>,
    numbers: HashMap<Atom, u32>,
}

impl Atoms {
    fn number(&mut self, atom: Atom) -> u32 {
        *self.numbers.entry(atom).or_insert_with_key(|atom| {
            self.list.push(atom.clone());
            self.list.len() as u32 - 1
        })
    }
}

/// Finds out what the names of a text mean. The result is, for each formula of the text, that formula over numbered atoms; with
/// mistakes there is nothing to be had.
pub(super) fn resolve(
    parsed: Parsed<'_>,
    program: &Program,
    sink: &mut Sink,
) -> Option<(Vec<Formula>, Vec<Atom>)> {
    let variables = Variables::of(program);
    let names = Names { program, variables: &variables };
    let Parsed { tree, names: spellings, raws, formulas } = parsed;
    let mut exprs = Vec::new();
    let mut meanings: Vec<Option<Meaning>> = Vec::new();
    for raw in raws {
        meanings.push(match names.meaning(raw, sink) {
            Some(Found::Atom(atom)) => Some(Meaning::Atoms(vec![atom])),
            Some(Found::Const(value)) => Some(Meaning::Const(value)),
            Some(Found::Condition(expr)) => {
                exprs.push(expr);
                Some(Meaning::Condition(exprs.len() - 1))
            }
            None => None,
        });
    }
    let checked = conditions(&variables, tree, &spellings, &exprs, sink);
    let mut atoms = Atoms::default();
    let mut all = Vec::new();
    for formula in formulas {
        let mut whole = Formula::default();
        let mut ids: Vec<NodeId> = Vec::new();
        for &node in formula.nodes() {
            let id = match node {
                Node::Atom(raw) => {
                    let either = match &meanings[raw as usize] {
                        Some(Meaning::Atoms(atoms)) => atoms.clone(),
                        Some(Meaning::Condition(at)) => checked[*at].clone()?,
                        Some(Meaning::Const(value)) => {
                            ids.push(whole.push(Node::Const(*value)));
                            continue;
                        }
                        None => return None,
                    };
                    let mut id = None;
                    for atom in either {
                        let next = whole.push(Node::Atom(atoms.number(atom)));
                        id = Some(id.map_or(next, |id| whole.push(Node::Or(id, next))));
                    }
                    id?
                }
                node => whole.push(node.map(|operand| ids[operand as usize])),
            };
            ids.push(id);
        }
        all.push(whole);
    }
    (!sink.has_errors()).then_some((all, atoms.list))
}

/// What was found, or where it will be.
enum Meaning {
    Atoms(Vec<Atom>),
    Condition(usize),
    Const(bool),
}

/// What a name means.
enum Found {
    Atom(Atom),
    Condition(crate::bp::tree::ExprRef),
    Const(bool),
}

struct Names<'a> {
    program: &'a Program,
    variables: &'a Variables<'a>,
}

impl Names<'_> {
    fn meaning(&self, raw: Raw<'_>, sink: &mut Sink) -> Option<Found> {
        Some(match raw {
            Raw::Const(value) => Found::Const(value),
            Raw::Condition(expr) => Found::Condition(expr),
            Raw::Call(name, span) => Found::Atom(Atom::Call(self.procs(name, span, sink)?)),
            Raw::Return(name, span) => Found::Atom(Atom::Return(self.procs(name, span, sink)?)),
            Raw::Inside(name, span) => Found::Atom(Atom::Inside(self.procs(name, span, sink)?)),
            Raw::Label(Some((state, _)), name, _) if !self.both(state, name).is_empty() => {
                Found::Atom(Atom::Label(self.both(state, name)))
            }
            Raw::Label(proc, name, span) => {
                let proc = match proc {
                    Some((proc, span)) => {
                        self.procs(proc, span, sink)?;
                        Some(proc)
                    }
                    None => None,
                };
                let locs = self.labels(proc, name);
                if locs.is_empty() {
                    self.no_label(name, span, sink);
                    return None;
                }
                Found::Atom(Atom::Label(locs))
            }
            Raw::Name(name, expr, span) => {
                let mut locs = self.labels(None, name);
                if let (true, Some((proc, label))) = (locs.is_empty(), name.split_once('.')) {
                    locs = self.labels(Some(proc), label);
                }
                match (locs.is_empty(), self.variables.has(name)) {
                    (false, false) => Found::Atom(Atom::Label(locs)),
                    (true, true) => Found::Condition(expr),
                    (false, true) => {
                        let message = format!("`{name}` is a label and a variable");
                        let hint = format!("write `at {name}` for the label, `{{{name}}}` for the variable");
                        sink.push(Diagnostic::new(Code::AmbiguousName, span, message).hint(hint));
                        return None;
                    }
                    (true, false) => {
                        self.unknown(name, span, sink);
                        return None;
                    }
                }
            }
        })
    }

    /// The locations that a label names.
    fn labels(&self, proc: Option<&str>, name: &str) -> Vec<LocId> {
        let owner = |loc: LocId| self.program.procs()[self.program.locs()[loc].proc].name.as_str();
        let such = self.program.labels().iter();
        let such =
            such.filter(|label| label.name == name && proc.is_none_or(|proc| owner(label.loc) == proc));
        let mut locs: Vec<LocId> = such.map(|label| label.loc).collect();
        locs.sort_unstable();
        locs.dedup();
        locs
    }

    /// The locations that two labels name, if the first is not a procedure as well: a control state and a stack symbol.
    fn both(&self, first: &str, second: &str) -> Vec<LocId> {
        if self.program.procs().iter().any(|proc| proc.name == first) {
            return Vec::new();
        }
        let (first, mut second) = (self.labels(None, first), self.labels(None, second));
        second.retain(|loc| first.binary_search(loc).is_ok());
        second
    }

    /// The procedure of a name: one, or its copies in several threads.
    fn procs(&self, name: &str, span: Span, sink: &mut Sink) -> Option<Vec<ProcId>> {
        let procs = self.program.procs();
        let found: Vec<ProcId> =
            procs.pairs().filter(|(_, proc)| proc.name == name).map(|(id, _)| id).collect();
        if found.is_empty() {
            let message = format!("procedure `{name}` is not defined");
            let mut unknown = Diagnostic::new(Code::UnknownProcedure, span, message);
            unknown.hint = did_you_mean(name, procs.iter().map(|proc| proc.name.as_str()));
            sink.push(unknown);
        }
        (!found.is_empty()).then_some(found)
    }

    fn no_label(&self, name: &str, span: Span, sink: &mut Sink) {
        let mut unknown = Diagnostic::new(Code::UnknownLabel, span, format!("there is no label `{name}`"));
        unknown.hint = did_you_mean(name, self.program.labels().iter().map(|label| label.name.as_str()));
        sink.push(unknown);
    }

    fn unknown(&self, name: &str, span: Span, sink: &mut Sink) {
        let message = format!("there is no label and no variable `{name}`");
        let mut unknown = Diagnostic::new(Code::UnknownVariable, span, message);
        let operators = name.len() > 1 && name.bytes().all(|byte| b"XFGURWM".contains(&byte));
        unknown.hint = match self.variables.owner(name) {
            Some(proc) => Some(format!("write `{proc}.{name}` for the local variable of `{proc}`")),
            None if operators => {
                let spaced: Vec<String> = name.chars().map(String::from).collect();
                Some(format!("operators stand apart: write `{}`", spaced.join(" ")))
            }
            None if self.program.procs().iter().any(|proc| proc.name == name) => {
                Some(format!("write `in {name}`, `call {name}` or `return {name}` for the procedure"))
            }
            None => {
                let labels = self.program.labels().iter().map(|label| label.name.as_str());
                did_you_mean(name, labels.chain(self.variables.names()))
            }
        };
        sink.push(unknown);
    }
}
