//! Room `front/pds`: from lines to rules and configurations.

use super::lexer::{Line, lines};
use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::{FileId, Span};
use rustc_hash::FxHashSet;
use std::ops::RangeInclusive;

/// A concurrent pushdown system.
pub struct System {
    /// The shared states that were declared.
    pub shared: RangeInclusive<i64>,
    /// The threads, at least one.
    pub threads: Vec<Pda>,
}

/// A thread.
pub struct Pda {
    /// The stack symbols that were declared.
    pub symbols: RangeInclusive<i64>,
    /// Its rules, in the order of the source.
    pub rules: Vec<Rule>,
    /// Its heading.
    pub span: Span,
}

/// A rule: in this shared state, with this symbol on top, both may be replaced.
pub struct Rule {
    /// The shared state before ...
    pub from: i64,
    /// ... the top ...
    pub top: i64,
    /// ... the shared state after ...
    pub to: i64,
    /// ... and what the top becomes.
    pub change: Change,
    /// The whole rule.
    pub span: Span,
}

/// What a rule does to the top of the stack.
#[derive(Clone, Copy)]
pub enum Change {
    /// Removes it.
    Pop,
    /// Replaces it by another symbol.
    Overwrite(i64),
    /// Replaces it by two symbols, of which the first is the new top.
    Push(i64, i64),
}

/// A shared state and the stack of each thread, the top last.
pub struct Configuration {
    /// The shared state.
    pub shared: i64,
    /// The stacks.
    pub stacks: Vec<Vec<i64>>,
    /// Where it is written.
    pub span: Span,
}

/// The system of a text; none if there is an error.
pub fn system(text: &str, sink: &mut Sink) -> Option<System> {
    let mut lines = lines(FileId(0), text, sink).into_iter();
    let Some(mut first) = lines.next() else {
        let message = "expected the number of shared states, but there is nothing";
        sink.push(Diagnostic::new(Code::Syntax, Span::default(), message));
        return None;
    };
    let count = first.number("the number of shared states", sink);
    if let Some((0, span)) = count {
        sink.push(Diagnostic::new(Code::BadSize, span, "there is at least one shared state"));
    }
    let end = first.span();
    let count = count.filter(|_| first.finish(sink).is_some()).map_or(i64::MAX, |(count, _)| count);
    let mut system = System { shared: 0..=count.saturating_sub(1), threads: Vec::new() };
    let mut doubts = Doubts::default();
    for mut line in lines {
        if sink.is_full() {
            break;
        }
        if line.peek() == "PDA" {
            system.threads.extend(heading(&mut line, sink));
            doubts.symbols.clear();
            continue;
        }
        let Some(pda) = system.threads.last_mut() else {
            line.expected("`PDA` and the first and the last stack symbol of a thread", sink);
            break;
        };
        let rule = rule(&mut line, &system.shared, &pda.symbols, &mut doubts, sink);
        pda.rules.extend(rule);
    }
    if system.threads.is_empty() && !sink.has_errors() {
        let message = "there is no thread: expected `PDA` and its first and last stack symbol";
        sink.push(Diagnostic::new(Code::Syntax, end, message));
    }
    (!sink.has_errors()).then_some(system)
}

/// The beginning of a thread. One that is wrong is still a thread, so that its rules have a place.
fn heading(line: &mut Line, sink: &mut Sink) -> Option<Pda> {
    let span = line.span();
    line.take("PDA");
    let range = line.number("the first stack symbol", sink).and_then(|(low, at)| {
        let (high, to) = line.number("the last stack symbol", sink)?;
        line.finish(sink)?;
        if low > high {
            let message = format!("there is no stack symbol from {low} to {high}");
            sink.push(Diagnostic::new(Code::BadSize, at.to(to), message));
        }
        Some(low..=high)
    });
    Some(Pda { symbols: range.unwrap_or(0..=i64::MAX), rules: Vec::new(), span })
}

fn rule(
    line: &mut Line,
    shared: &RangeInclusive<i64>,
    symbols: &RangeInclusive<i64>,
    doubts: &mut Doubts,
    sink: &mut Sink,
) -> Option<Rule> {
    let from = line.number("a shared state, or `PDA`", sink)?;
    if line.peek() == "-" {
        let message = "a thread whose stack is empty has ended: no rule applies to it";
        sink.push(Diagnostic::new(Code::EmptyStack, line.here(), message));
        return None;
    }
    let top = line.number("a stack symbol", sink)?;
    line.mark("->", sink)?;
    let to = line.number("a shared state", sink)?;
    let mut named = vec![top];
    let change = if line.take("-") {
        Change::Pop
    } else {
        named.push(line.number("a stack symbol, or `-` to remove the top", sink)?);
        if line.at_number() {
            named.push(line.number("a stack symbol", sink)?);
            Change::Push(named[1].0, named[2].0)
        } else {
            Change::Overwrite(named[1].0)
        }
    };
    line.finish(sink)?;
    [from, to].into_iter().for_each(|at| doubts.shared(at, shared, sink));
    named.into_iter().for_each(|at| doubts.symbol(at, symbols, sink));
    Some(Rule { from: from.0, top: top.0, to: to.0, change, span: line.span() })
}

/// Numbers outside the declared ranges, each reported once. They do no harm: nothing depends on the ranges.
#[derive(Default)]
struct Doubts {
    shared: FxHashSet<i64>,
    symbols: FxHashSet<i64>,
}

impl Doubts {
    fn shared(&mut self, at: (i64, Span), range: &RangeInclusive<i64>, sink: &mut Sink) {
        if !range.contains(&at.0) && self.shared.insert(at.0) {
            outside("shared state", at, range, sink);
        }
    }

    fn symbol(&mut self, at: (i64, Span), range: &RangeInclusive<i64>, sink: &mut Sink) {
        if !range.contains(&at.0) && self.symbols.insert(at.0) {
            outside("stack symbol", at, range, sink);
        }
    }
}

fn outside(what: &str, (number, span): (i64, Span), range: &RangeInclusive<i64>, sink: &mut Sink) {
    let message = format!("{what} {number} is not one of {} to {}", range.start(), range.end());
    sink.push(Diagnostic::new(Code::OutsideRange, span, message));
}

/// The initial configuration of a text; none if there is an error.
pub fn start(file: FileId, text: &str, system: &System, sink: &mut Sink) -> Option<Configuration> {
    let mut lines = lines(file, text, sink);
    if let Some(second) = lines.get(1) {
        second.expected("no second configuration: there is one to start with", sink);
    }
    let Some(first) = lines.first_mut() else {
        let message = "expected a configuration such as `0|1,2`, but there is nothing";
        sink.push(Diagnostic::new(Code::NoStart, Span::of(file, 0, 0), message));
        return None;
    };
    configuration(first, system, true, sink)
}

/// The bad configurations of a text, one on each line.
pub fn bad(file: FileId, text: &str, system: &System, sink: &mut Sink) -> Vec<Configuration> {
    let lines = lines(file, text, sink);
    if lines.is_empty() && !sink.has_errors() {
        let message = "expected a bad configuration such as `0|1,-`, but there is nothing";
        sink.push(Diagnostic::new(Code::Syntax, Span::of(file, 0, 0), message));
    }
    lines.into_iter().filter_map(|mut line| configuration(&mut line, system, false, sink)).collect()
}

/// A shared state and stacks. Those of a bad configuration are a top alone.
fn configuration(line: &mut Line, system: &System, whole: bool, sink: &mut Sink) -> Option<Configuration> {
    let shared = line.number("a shared state", sink)?;
    Doubts::default().shared(shared, &system.shared, sink);
    line.mark("|", sink)?;
    let begin = line.here();
    let mut stacks = Vec::new();
    loop {
        let range = system.threads.get(stacks.len()).map_or(&(0..=i64::MAX), |pda| &pda.symbols);
        stacks.push(stack(line, range, whole, sink)?);
        if !line.take(",") {
            break;
        }
    }
    line.finish(sink)?;
    let (found, wanted) = (stacks.len(), system.threads.len());
    if found != wanted {
        let message = format!("the number of stacks here is {found}, but that of threads is {wanted}");
        sink.push(Diagnostic::new(Code::WrongThreads, begin.to(line.here()), message));
        return None;
    }
    Some(Configuration { shared: shared.0, stacks, span: line.span() })
}

fn stack(line: &mut Line, range: &RangeInclusive<i64>, whole: bool, sink: &mut Sink) -> Option<Vec<i64>> {
    let mut symbols = Vec::new();
    if line.take("-") {
        return Some(symbols);
    }
    loop {
        let symbol = line.number("a stack symbol, or `-` for an empty stack", sink)?;
        Doubts::default().symbol(symbol, range, sink);
        symbols.push(symbol.0);
        if !whole || !line.take(".") {
            return Some(symbols);
        }
    }
}
