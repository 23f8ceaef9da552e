//! Room `front`: which declaration a name means.
//!
//! A procedure sees its own parameters and locals, wherever in its body they are declared, then the variables of its
//! thread block, then the shared ones. A nearer one hides a farther one. Labels belong to their procedure.
//!
//! # Cost
//! One hash table for all scopes, keyed by scope and name. Advice for a misspelt name looks at a bounded number of
//! candidates, for a bounded number of names.

use super::lexer::DISCARD;
use super::token::Sym;
use super::tree::*;
use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// No declaration.
pub const NONE: u32 = u32::MAX;

/// A scope of variables: the outer one, a thread block, or a procedure.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Space {
    Thread(u32),
    Proc(u32),
}

/// A label of a procedure.
#[derive(Clone, Copy)]
pub struct Place {
    /// The statement it labels.
    pub stmt: u32,
    /// The label itself.
    pub span: Span,
    /// The same label at another statement.
    pub again: Option<Span>,
}

/// All declarations of a source.
pub struct Scopes<'a> {
    tree: &'a Tree,
    names: &'a [&'a str],
    vars: FxHashMap<(Space, Sym), u32>,
    procs: FxHashMap<(u32, Sym), u32>,
    labels: FxHashMap<(u32, Sym), Place>,
    /// For each label the first procedure that has it.
    elsewhere: FxHashMap<Sym, u32>,
    unknown: FxHashSet<(u32, Sym)>,
    /// Labels that stand at two places and were jumped to.
    ambiguous: FxHashSet<(u32, Sym)>,
    advice: usize,
    /// The thread block that names outside of all procedures are looked up in.
    pub outside: u32,
}

/// How many misspelt names get advice, and how many candidates each looks at.
const ADVICE: (usize, usize) = (20, 5000);

impl<'a> Scopes<'a> {
    /// Collects all declarations and reports what is declared twice.
    pub fn new(tree: &'a Tree, names: &'a [&'a str], sink: &mut Sink) -> Self {
        let mut scopes = Scopes {
            tree,
            names,
            vars: FxHashMap::default(),
            procs: FxHashMap::default(),
            labels: FxHashMap::default(),
            elsewhere: FxHashMap::default(),
            unknown: FxHashSet::default(),
            ambiguous: FxHashSet::default(),
            advice: ADVICE.0,
            outside: 0,
        };
        for item in &tree.items {
            match *item {
                Item::Decl(vars, _, thread, _) => scopes.declare(Space::Thread(thread), vars, sink),
                Item::Proc(proc) => scopes.declare_proc(proc, sink),
                Item::ThreadBegin(..) | Item::ThreadEnd(_) => {}
            }
        }
        scopes
    }

    /// The spelling of a name.
    pub fn text(&self, sym: Sym) -> &'a str {
        self.names[sym as usize]
    }

    fn declare(&mut self, space: Space, vars: Slice, sink: &mut Sink) {
        for at in vars.range() {
            let name = self.tree.vars[at].name;
            if name.sym == DISCARD {
                sink.push(Diagnostic::new(Code::Discarded, name.span, "`_` cannot name a variable"));
                continue;
            }
            if let Some(first) = self.vars.insert((space, name.sym), at as u32) {
                let message = format!("`{}` is declared twice", self.text(name.sym));
                let first = self.tree.vars[first as usize].name.span;
                let twice = Diagnostic::new(Code::VariableTwice, name.span, message);
                sink.push(twice.note(first, "first declared here"));
            }
        }
    }

    fn declare_proc(&mut self, at: u32, sink: &mut Sink) {
        let proc = &self.tree.procs[at as usize];
        if let Some(first) = self.procs.insert((proc.thread, proc.name.sym), at) {
            let message = format!("procedure `{}` is defined twice", self.text(proc.name.sym));
            let first = self.tree.procs[first as usize].name.span;
            let twice = Diagnostic::new(Code::ProcedureTwice, proc.name.span, message);
            sink.push(twice.note(first, "first defined here"));
        }
        self.declare(Space::Proc(at), proc.vars, sink);
        for stmt in proc.body.range() {
            for label in &self.tree.idents[self.tree.stmts[stmt].labels.range()] {
                self.declare_label(at, stmt as u32, *label);
            }
        }
    }

    fn declare_label(&mut self, proc: u32, stmt: u32, label: Ident) {
        self.elsewhere.entry(label.sym).or_insert(proc);
        let place = Place { stmt, span: label.span, again: None };
        let first = self.labels.entry((proc, label.sym)).or_insert(place);
        // SatAbs's ancestors repeat a label before one statement; that is no ambiguity.
        if first.stmt != stmt && first.again.is_none() {
            first.again = Some(label.span);
        }
    }

    /// The variable that a name means in a procedure; reports it if there is none, once for each procedure.
    pub fn var(&mut self, proc: u32, name: Ident, sink: &mut Sink) -> u32 {
        match self.find_var(proc, name.sym) {
            Some(var) => var,
            None => {
                self.report_unknown(proc, name, sink);
                NONE
            }
        }
    }

    fn thread_of(&self, proc: u32) -> u32 {
        self.tree.procs.get(proc as usize).map_or(self.outside, |proc| proc.thread)
    }

    fn find_var(&self, proc: u32, sym: Sym) -> Option<u32> {
        let spaces = [Space::Proc(proc), Space::Thread(self.thread_of(proc)), Space::Thread(0)];
        spaces.iter().find_map(|space| self.vars.get(&(*space, sym)).copied())
    }

    fn report_unknown(&mut self, proc: u32, name: Ident, sink: &mut Sink) {
        if self.tree.lost_names || !self.unknown.insert((proc, name.sym)) {
            return;
        }
        let text = self.text(name.sym);
        if let Some(active) = self.passive(proc, text) {
            let message =
                format!("`{text}` is a passive variable: the value of `{active}` in the other threads");
            let hint = "postbop does not read passive variables; share the value through a global instead";
            return sink.push(Diagnostic::new(Code::PassiveVariable, name.span, message).hint(hint));
        }
        let (code, message) = if name.sym == DISCARD {
            (Code::Discarded, "`_` has no value: it only discards one".to_owned())
        } else {
            (Code::UnknownVariable, format!("variable `{text}` is not declared"))
        };
        let locals = self.tree.procs.get(proc as usize).map_or(0..0, |proc| proc.vars.range());
        let globals = self.tree.items.iter().filter_map(|item| match item {
            Item::Decl(vars, ..) => Some(vars.range()),
            _ => None,
        });
        let candidates = locals.chain(globals.flatten()).map(|at| self.tree.vars[at].name.sym);
        let hint = if name.sym == DISCARD { None } else { self.advise(text, candidates) };
        self.advice = self.advice.saturating_sub(1);
        let mut unknown = Diagnostic::new(code, name.span, message);
        unknown.hint = hint;
        sink.push(unknown);
    }

    /// The variable whose value in the other threads `x$` stands for in files of SatAbs and Boom.
    fn passive<'n>(&self, proc: u32, text: &'n str) -> Option<&'n str> {
        let active = text.strip_suffix('$')?;
        self.find_var(proc, self.symbol(active)?).map(|_| active)
    }

    fn advise(&self, text: &str, candidates: impl Iterator<Item = Sym>) -> Option<String> {
        if self.advice == 0 {
            return None;
        }
        did_you_mean(text, candidates.map(|sym| self.text(sym)))
    }

    /// The procedure that a name means in a procedure; reports it if there is none.
    pub fn proc(&mut self, caller: u32, name: Ident, sink: &mut Sink) -> u32 {
        let thread = self.thread_of(caller);
        let found = self.procs.get(&(thread, name.sym)).or_else(|| self.procs.get(&(0, name.sym)));
        if let Some(proc) = found {
            return *proc;
        }
        if !self.tree.lost_names {
            let text = self.text(name.sym);
            let hint = self.advise(text, self.tree.procs.iter().map(|proc| proc.name.sym));
            self.advice = self.advice.saturating_sub(1);
            let message = format!("procedure `{text}` is not defined");
            let mut unknown = Diagnostic::new(Code::UnknownProcedure, name.span, message);
            unknown.hint = hint;
            sink.push(unknown);
        }
        NONE
    }

    /// The symbol of a spelling, if the source has it.
    pub fn symbol(&self, text: &str) -> Option<Sym> {
        self.names.iter().position(|name| *name == text).map(|sym| sym as Sym)
    }

    /// The procedure of this name in a thread block, or outside of all if that is 0.
    pub fn proc_in(&self, thread: u32, sym: Option<Sym>) -> Option<u32> {
        self.procs.get(&(thread, sym?)).copied()
    }

    /// The statement a label stands at; reports it if there is none or more than one.
    pub fn label(&mut self, proc: u32, name: Ident, sink: &mut Sink) -> u32 {
        let text = self.text(name.sym);
        match self.labels.get(&(proc, name.sym)) {
            Some(Place { stmt, again: None, .. }) => *stmt,
            Some(Place { stmt, span, again: Some(again) }) => {
                let message = format!("label `{text}` stands at two places of this procedure");
                let ambiguous = Diagnostic::new(Code::AmbiguousLabel, name.span, message);
                sink.push(ambiguous.note(*span, "here").note(*again, "and here"));
                self.ambiguous.insert((proc, name.sym));
                *stmt
            }
            None => {
                self.report_label(proc, name, sink);
                NONE
            }
        }
    }

    fn report_label(&mut self, proc: u32, name: Ident, sink: &mut Sink) {
        let text = self.text(name.sym);
        let mut unknown = Diagnostic::new(
            Code::UnknownLabel,
            name.span,
            format!("there is no label `{text}` in this procedure"),
        );
        if let Some(other) = self.elsewhere.get(&name.sym) {
            let callee = self.text(self.tree.procs[*other as usize].name.sym);
            let place = self.labels[&(*other, name.sym)].span;
            unknown = unknown.note(place, format!("procedure `{callee}` has one"));
            unknown = unknown.hint("a jump cannot leave its procedure");
        } else {
            let body = self.tree.procs[proc as usize].body.range();
            let labels = body.flat_map(|stmt| &self.tree.idents[self.tree.stmts[stmt].labels.range()]);
            unknown.hint = self.advise(text, labels.map(|label| label.sym));
            self.advice = self.advice.saturating_sub(1);
        }
        sink.push(unknown);
    }

    /// The labels that stand at more than one place of their procedure, but that no `goto` names.
    pub fn doubtful_labels(&self) -> Vec<(Sym, Place)> {
        let doubtful = |key, place: &Place| place.again.is_some() && !self.ambiguous.contains(key);
        let labels = self.labels.iter().filter(|(key, place)| doubtful(key, place));
        labels.map(|((_, sym), place)| (*sym, *place)).collect()
    }
}

/// Advice for a misspelt name.
pub fn did_you_mean<'n>(text: &str, candidates: impl Iterator<Item = &'n str>) -> Option<String> {
    let near = candidates.take(ADVICE.1).filter_map(|name| {
        let distance = distance(text, name);
        (distance <= text.len().min(9).div_ceil(3)).then_some((distance, name))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, best)| format!("did you mean `{best}`?"))
}

/// The edit distance of two names, as far as it matters: names of very different length are far apart.
fn distance(a: &str, b: &str) -> usize {
    if a.len().abs_diff(b.len()) > 3 || a.len() > 100 {
        return usize::MAX;
    }
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + (x != y) as usize;
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distances() {
        assert_eq!(distance("flag", "flag"), 0);
        assert_eq!(distance("flag", "flga"), 2);
        assert_eq!(distance("x", "xy"), 1);
        assert_eq!(distance("x", "abcdefgh"), usize::MAX);
    }
}
