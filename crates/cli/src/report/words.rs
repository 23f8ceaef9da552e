//! Room `cli/report`: how steps and values are put into words.

use crate::input::Input;
use postbop_engine::DEADLOCK;
use postbop_ir::eval::{Cell, Env, eval};
use postbop_ir::replay::{Waiting, deadlock, ending};
use postbop_ir::{Action, CheckKind, EdgeId, Expr, LocId, Op, Program, ThreadId, Trace, Value, VarId};
use std::collections::{BTreeMap, HashMap};

/// The longest run at whose end values are looked up.
const LONGEST: usize = 1_000_000;

/// The values known at some point.
pub type Values = BTreeMap<VarId, Value>;

/// How steps and values are put into words.
pub struct Words<'a> {
    /// The source.
    pub input: &'a Input,
    /// The program.
    pub program: &'a Program,
    checks: HashMap<LocId, CheckKind>,
    labels: HashMap<LocId, &'a str>,
}

impl<'a> Words<'a> {
    /// The words for a program.
    pub fn new(input: &'a Input) -> Self {
        let program = &input.program;
        let checks = program.checks().iter().map(|check| (check.loc, check.kind)).collect();
        let labels = program.labels().iter().rev().map(|label| (label.loc, label.name.as_str())).collect();
        Words { input, program, checks, labels }
    }

    /// The line and the statement of a step.
    pub fn step(&self, edge: EdgeId) -> (Option<usize>, String) {
        let span = self.program.edges()[edge].span;
        let (line, _) = self.input.position(span);
        let text = format!("{}{}", self.input.statement(self.program, edge), self.branch(edge));
        match self.input.beside(span) {
            Some(file) => (None, format!("{text}  (line {line} of .{file})")),
            None => ((!self.input.text().is_empty()).then_some(line), text),
        }
    }

    /// The line and the text of the statement that begins at a location.
    pub fn statement(&self, loc: LocId) -> (Option<usize>, String) {
        match self.program.leaving(loc).first() {
            Some(&edge) => {
                let span = self.program.edges()[edge].span;
                let line = (!self.input.text().is_empty()).then(|| self.input.position(span).0);
                (line, self.input.statement(self.program, edge))
            }
            None => (
                None,
                format!("at {}, from where nothing leads on", self.labels.get(&loc).unwrap_or(&"a place")),
            ),
        }
    }

    /// What users call a thread, or the prologue.
    pub fn name_of(&self, thread: Option<ThreadId>) -> Option<&'a str> {
        thread.map(|thread| self.program.threads()[thread].name.as_str())
    }

    /// The threads that wait at the end of a run that was found for a property of this name, if the property is that no run gets stuck.
    pub fn waiting(&self, name: &str, trace: &Trace) -> Option<Vec<Waiting>> {
        (name == DEADLOCK).then(|| deadlock(self.program, trace).ok()).flatten()
    }

    /// Values by name.
    pub fn list(&self, values: impl Iterator<Item = (VarId, Option<Value>)>) -> String {
        let shown = values.filter(|(var, _)| !self.program.vars()[*var].is_hidden());
        let item = |(var, value): (VarId, Option<Value>)| {
            Some(format!("{}={}", self.program.vars()[var].name, value?))
        };
        shown.filter_map(item).collect::<Vec<_>>().join(", ")
    }

    /// Which way was taken: of two assumptions for one piece of text, the first is where it is true; of several jumps, the
    /// label says it.
    pub fn branch(&self, edge: EdgeId) -> String {
        let data = &self.program.edges()[edge];
        let siblings = self.program.leaving(data.from);
        let alike = |&&other: &&EdgeId| {
            let other = &self.program.edges()[other];
            other.span == data.span && matches!(other.action, Action::Assume(_))
        };
        if siblings.len() < 2 || siblings.iter().filter(alike).count() < siblings.len() {
            return String::new();
        }
        if self.input.statement(self.program, edge).starts_with("goto") {
            return self.labels.get(&data.to).map(|label| format!("  [{label}]")).unwrap_or_default();
        }
        if siblings.len() > 2 {
            return String::new();
        }
        let checked = self.checks.contains_key(&self.program.edges()[siblings[1]].to);
        match (edge == siblings[0], checked) {
            (true, false) => "  [yes]",
            (false, false) => "  [no]",
            (true, true) => "  [holds]",
            (false, true) => "  [fails]",
        }
        .to_owned()
    }

    /// The statement with which a run violates a property, underlined, with the values that its condition depends on.
    pub fn failing(&self, name: &str, trace: &Trace) -> String {
        let steps = trace.contexts.iter().flat_map(|context| &context.steps);
        let (at, title) = match &trace.repeats {
            Some(repeat) => {
                let context = trace.contexts.get(repeat.from.context as usize);
                let head = context.and_then(|context| context.steps.get(repeat.from.step as usize));
                (head, "from here on the run repeats itself for ever".to_owned())
            }
            None => (steps.last(), format!("{name} is reached here")),
        };
        let Some(step) = at else { return String::new() };
        let edge = &self.program.edges()[step.edge];
        let title = match self.checks.get(&edge.to).filter(|_| trace.repeats.is_none()) {
            Some(CheckKind::Assert) => "this assertion fails".to_owned(),
            Some(CheckKind::Bounds) => "this index is out of range".to_owned(),
            None => title,
        };
        let stored: usize = trace.contexts.iter().map(|context| context.steps.len()).sum();
        let values = match trace.repeats.is_none() && stored <= LONGEST {
            true => self.read_by(&edge.action, trace),
            false => String::new(),
        };
        self.input.underlined(edge.span, &title, &values)
    }

    /// The values at the end of a run that an action reads.
    fn read_by(&self, action: &Action, trace: &Trace) -> String {
        let known: Values = ending(self.program, trace).unwrap_or_default().into_iter().collect();
        let mut read: Vec<VarId> = action.exprs().flat_map(Expr::reads).collect();
        read.sort_unstable();
        read.dedup();
        self.list(read.into_iter().map(|var| (var, known.get(&var).copied())))
    }

    /// Of a step to a failed check of an array access: the index, and the length of the array.
    pub fn out_of_range(&self, edge: EdgeId, values: impl FnOnce() -> Values) -> Option<String> {
        let data = &self.program.edges()[edge];
        let fails = self.checks.get(&data.to) == Some(&CheckKind::Bounds);
        let Action::Assume(condition) = &data.action else { return None };
        fails.then(|| bounds(condition, &values())).flatten().map(|(index, length)| match length {
            Some(length) => format!("index {index}, length {length}"),
            None => format!("index {index}"),
        })
    }
}

/// The index and the length in a condition that an index is out of range, as the front end writes it: the index is not at
/// most the last one, or is negative. Where it can only be negative, the length is not mentioned.
fn bounds(condition: &Expr, values: &Values) -> Option<(Value, Option<i64>)> {
    let code = &condition.code[..];
    let split = |at: usize| match &code[at..] {
        [Op::Const(_, last), Op::Le, rest @ ..] if is_rest(rest, &code[..at]) => {
            Some((&code[..at], Some(last.get() + 1)))
        }
        _ => None,
    };
    let (index, length) = match code {
        [Op::Const(_, Value::ZERO), index @ .., Op::Le, Op::Not] => (index, None),
        _ => (1..code.len()).find_map(split)?,
    };
    let index = eval(&Expr::new(index), &Seen(values), &mut std::iter::empty());
    Some((index.ok()?.known()?, length))
}

/// Whether this is all that such a condition says after it compared the index with the last one.
fn is_rest(rest: &[Op], index: &[Op]) -> bool {
    match rest {
        [Op::Not] => true,
        [Op::Const(_, Value::ZERO), again @ .., Op::Le, Op::And, Op::Not] => again == index,
        _ => false,
    }
}

/// Values for an expression to be evaluated with.
struct Seen<'a>(&'a Values);

impl Env for Seen<'_> {
    fn current(&self, var: VarId) -> Cell {
        self.0.get(&var).map_or(Cell::Any, |value| Cell::Known(*value))
    }
    fn next(&self, _: VarId) -> Cell {
        Cell::Any
    }
}
