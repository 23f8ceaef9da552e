//! Room `front/temporal`: monitors, automata that watch a run.
//!
//! # Idea
//!
//! A monitor is a finite automaton with named states. It reads a run position by position, and at each takes one of the
//! edges of its state whose guard is true there. If none is, it stays where it is: most of what a program does is no
//! business of a monitor. That is written down as an edge with the guard [`Guard::Otherwise`]; a state gets one that leads
//! back to it unless the text has another. The run violates the property if the monitor comes to a `target` state, or if it can be
//! in `repeat` states again and again.
//!
//! The language is in `docs/monitors.md`. Guards are formulas without temporal operators.

use super::Atom;
use super::atom::resolve;
use super::parse::{Parser, Reported};
use crate::bp::scope::did_you_mean;
use crate::diagnostic::{Code, Diagnostic, Sink};
use crate::read::too_large;
use postbop_ir::{Program, Span};
use postbop_kit::buchi::{Automaton, Edge, Formula, Interrupted, Node, cubes};

/// The largest file, in bytes.
const LARGEST: usize = 10_000_000;

/// An automaton that watches a run.
#[derive(Clone, Debug)]
pub struct Monitor {
    /// The states, in the order of the text.
    pub states: Vec<MonitorState>,
    /// The edges, in the order of the text; then those that were added.
    pub edges: Vec<MonitorEdge>,
    /// What the atoms of guards mean.
    pub atoms: Vec<Atom>,
    /// Whether it has `repeat` states, and so speaks about infinite runs; else it has `target` states.
    pub repeats: bool,
}

/// A state of a monitor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MonitorState {
    /// Its name.
    pub name: String,
    /// Whether the monitor can begin here.
    pub initial: bool,
    /// Whether it is marked `target` or `repeat`.
    pub marked: bool,
    /// Where it is declared.
    pub span: Span,
}

/// An edge of a monitor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MonitorEdge {
    /// The state where it begins.
    pub from: u32,
    /// The state where it ends.
    pub to: u32,
    /// When it can be taken.
    pub guard: Guard,
    /// Where it stands; for an edge that was added, its state.
    pub span: Span,
}

/// When an edge can be taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Guard {
    /// Where this is true, which has no temporal operators.
    When(Formula),
    /// Where no other edge of the state can be taken.
    Otherwise,
}

/// An edge with formulas that are not resolved.
struct Draft<'t> {
    from: (&'t str, Span),
    to: (&'t str, Span),
    guards: Vec<usize>,
    otherwise: bool,
    span: Span,
}

#[derive(Default)]
struct Text<'t> {
    states: Vec<MonitorState>,
    edges: Vec<Draft<'t>>,
    /// The first mark of either kind.
    target: Option<Span>,
    repeat: Option<Span>,
}

/// Reads a monitor of a program. Without errors there is a monitor.
pub fn monitor(text: &str, program: &Program) -> (Option<Monitor>, Vec<Diagnostic>) {
    if text.len() > LARGEST {
        return (None, vec![too_large(LARGEST)]);
    }
    let mut sink = Sink::default();
    let mut parser = Parser::new(text, program, &mut sink);
    if parser.sink.has_errors() {
        return (None, sink.finish());
    }
    let mut drafts = Text::default();
    while !parser.is_at_end() && !parser.sink.is_full() {
        if drafts.item(&mut parser).is_err() {
            while !parser.is_at_end() && !parser.sees(";") {
                parser.take(1);
            }
            parser.take(1);
        }
    }
    let parsed = parser.finish();
    let edges = drafts.check(&mut sink);
    let monitor = resolve(parsed, program, &mut sink).map(|(formulas, atoms)| {
        let repeats = drafts.repeat.is_some();
        let mut monitor = Monitor { states: drafts.states, edges: Vec::new(), atoms, repeats };
        monitor.add_edges(edges, &drafts.edges, &formulas);
        monitor
    });
    (monitor, sink.finish())
}

impl<'t> Text<'t> {
    fn item(&mut self, parser: &mut Parser<'t, '_>) -> Result<(), Reported> {
        if parser.sees("state") {
            parser.take(1);
            loop {
                self.state(parser)?;
                if parser.sees(",") {
                    parser.take(1);
                    continue;
                }
                return semicolon(parser, "`init`, `target`, `repeat`, `,` or `;`");
            }
        }
        let from = parser.name("`state`, or the name of a state")?;
        if !parser.sees_arrow() {
            return parser.expected("`->`");
        }
        parser.take(2);
        let to = parser.name("the name of a state")?;
        let mut edge = Draft { from, to, guards: Vec::new(), otherwise: false, span: from.1.to(to.1) };
        loop {
            if parser.sees(";") {
                break;
            } else if parser.sees("otherwise") {
                parser.take(1);
                edge.otherwise = true;
            } else if parser.sees("when") {
                parser.take(1);
                edge.guards.push(parser.formula(false)?);
            } else if ["at", "in", "call", "return"].iter().any(|word| parser.sees(word)) {
                edge.guards.push(parser.formula(false)?);
            } else {
                return parser.expected("`when`, `at`, `in`, `call`, `return`, `otherwise` or `;`");
            }
        }
        self.edges.push(edge);
        semicolon(parser, "`;`")
    }

    fn state(&mut self, parser: &mut Parser<'t, '_>) -> Result<(), Reported> {
        let (name, span) = parser.name("the name of a state")?;
        if let Some(first) = self.states.iter().find(|state| state.name == name) {
            let twice = Diagnostic::new(Code::BadMonitor, span, format!("state `{name}` is declared twice"));
            parser.sink.push(twice.note(first.span, "first declared here"));
        }
        let mut state = MonitorState { name: name.to_owned(), initial: false, marked: false, span };
        loop {
            let mark = parser.here().span();
            if parser.sees("init") {
                state.initial = true;
            } else if parser.sees("target") {
                state.marked = true;
                self.target.get_or_insert(mark);
            } else if parser.sees("repeat") {
                state.marked = true;
                self.repeat.get_or_insert(mark);
            } else {
                self.states.push(state);
                return Ok(());
            }
            parser.take(1);
        }
    }

    /// Reports what is wrong with the whole, and says between which states the edges are.
    fn check(&self, sink: &mut Sink) -> Vec<(u32, u32)> {
        let whole = self.states.first().map_or(Span::default(), |state| state.span);
        let wrong = |span: Span, message: String| Diagnostic::new(Code::BadMonitor, span, message);
        if !self.states.iter().any(|state| state.initial) {
            let none = wrong(whole, "no state is marked `init`".to_owned());
            sink.push(none.hint("write `state NAME init;` for the state in which the monitor begins"));
        }
        match (self.target, self.repeat) {
            (None, None) => {
                let none = wrong(whole, "no state is marked `target` or `repeat`".to_owned());
                sink.push(none.hint("without a mark no run violates anything"));
            }
            (Some(target), Some(repeat)) => {
                let both =
                    wrong(repeat, "a monitor has `target` states or `repeat` states, not both".to_owned());
                sink.push(both.note(target, "`target` is here").hint("write two monitors"));
            }
            _ => {}
        }
        let number = |&(name, span): &(&str, Span), sink: &mut Sink| {
            let at = self.states.iter().position(|state| state.name == name);
            if at.is_none() {
                let message = format!("there is no state `{name}`");
                let mut unknown = Diagnostic::new(Code::BadMonitor, span, message);
                unknown.hint = did_you_mean(name, self.states.iter().map(|state| state.name.as_str()));
                sink.push(unknown);
            }
            at.unwrap_or(0) as u32
        };
        let mut ends = Vec::new();
        let mut has_otherwise = vec![None; self.states.len()];
        for edge in &self.edges {
            let (from, to) = (number(&edge.from, sink), number(&edge.to, sink));
            ends.push((from, to));
            if edge.otherwise && !edge.guards.is_empty() {
                let message = "an edge with `otherwise` has no other condition";
                sink.push(Diagnostic::new(Code::BadMonitor, edge.span, message));
            }
            let known = has_otherwise.get_mut(from as usize).filter(|_| edge.otherwise);
            if let Some(first) = known.and_then(|known| known.replace(edge.span)) {
                let message = format!("state `{}` has two edges with `otherwise`", edge.from.0);
                sink.push(Diagnostic::new(Code::BadMonitor, edge.span, message).note(first, "here is one"));
            }
        }
        ends
    }
}

fn semicolon(parser: &mut Parser<'_, '_>, expected: &str) -> Result<(), Reported> {
    if !parser.sees(";") {
        return parser.expected(expected);
    }
    parser.take(1);
    Ok(())
}

impl Monitor {
    fn add_edges(&mut self, ends: Vec<(u32, u32)>, drafts: &[Draft<'_>], formulas: &[Formula]) {
        let mut leaves = vec![true; self.states.len()];
        for ((from, to), draft) in ends.into_iter().zip(drafts) {
            let guard = if draft.otherwise {
                leaves[from as usize] = false;
                Guard::Otherwise
            } else {
                let mut all = Formula::default();
                let mut whole = None;
                for &at in &draft.guards {
                    let next = all.append(&formulas[at]);
                    whole = Some(whole.map_or(next, |whole| all.push(Node::And(whole, next))));
                }
                Guard::When(all)
            };
            self.edges.push(MonitorEdge { from, to, guard, span: draft.span });
        }
        for state in (0..leaves.len()).filter(|&state| leaves[state]) {
            let span = self.states[state].span;
            self.edges.push(MonitorEdge {
                from: state as u32,
                to: state as u32,
                guard: Guard::Otherwise,
                span,
            });
        }
    }

    /// The monitor as an automaton with the same states. Its accepting states are those that are marked.
    pub fn automaton(&self, goes_on: &mut dyn FnMut(usize) -> bool) -> Result<Automaton, Interrupted> {
        let initial = (0..self.states.len() as u32).filter(|&state| self.states[state as usize].initial);
        let mut automaton = Automaton {
            initial: initial.collect(),
            accepting: self.states.iter().map(|state| state.marked).collect(),
            edges: Vec::new(),
        };
        for edge in &self.edges {
            let guards = match &edge.guard {
                Guard::When(formula) => cubes(formula, goes_on)?,
                Guard::Otherwise => cubes(&self.nothing_else(edge.from), goes_on)?,
            };
            let MonitorEdge { from, to, .. } = *edge;
            automaton.edges.extend(guards.into_iter().map(|guard| Edge { from, guard, to }));
        }
        automaton.edges.sort_unstable();
        Ok(automaton)
    }

    /// That no edge of a state has a guard that is true.
    fn nothing_else(&self, state: u32) -> Formula {
        let mut formula = Formula::default();
        let mut any = formula.push(Node::Const(false));
        for edge in self.edges.iter().filter(|edge| edge.from == state) {
            if let Guard::When(guard) = &edge.guard {
                let next = formula.append(guard);
                any = formula.push(Node::Or(any, next));
            }
        }
        formula.push(Node::Not(any));
        formula
    }
}
