//! Room `front/moped`: which variable a name means, and whether formulas and terms are what they should be.
//!
//! In the formula of a rule, `x` is a local variable of the symbol that is on top before the rule, or else a global one; `x'` a
//! local of the symbol that is on top afterwards, or else a global one; `x''` a local of the symbol below that. A configuration has
//! a condition on the global variables, and one on the locals of each of its symbols; there are no primes in them.

use super::lexer::Sym;
use super::tree::{Code, Compare, Configuration, Connective, Op, Rule, System, Time};
use crate::bp::scope::did_you_mean;
use crate::diagnostic::{Code as Problem, Diagnostic, Sink};
use postbop_ir::Span;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Which variables are where.
#[derive(Default, Debug)]
pub struct Scopes {
    /// For each stack symbol that has local variables, their list.
    blocks: FxHashMap<Sym, usize>,
    /// The variables of each list, and without a list the global ones, by their names.
    vars: FxHashMap<(Option<usize>, Sym), u32>,
}

impl Scopes {
    /// The list of local variables that a symbol has.
    pub fn block(&self, symbol: Sym) -> Option<usize> {
        self.blocks.get(&symbol).copied()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Type {
    Bool,
    Int,
    /// Of what was reported already.
    Unknown,
}

/// An operand: its type, the first node of its code, and where it is written.
type Operand = (Type, usize, Span);

/// Where a name is looked up: for each number of primes lists of variables in turn.
struct Place {
    lists: [(Time, Vec<Option<usize>>); 3],
    /// Why there are no names with so many primes.
    without: [&'static str; 3],
}

struct Checker<'a, 's> {
    names: &'a [&'a str],
    system: &'a mut System,
    scopes: &'a Scopes,
    /// The quantifiers around the node at hand by the names of their variables.
    bound: FxHashMap<Sym, u32>,
    sink: &'s mut Sink,
}

/// Finds out what the names of a system mean.
pub fn check(system: &mut System, names: &[&str], sink: &mut Sink) -> Scopes {
    let scopes = declare(system, names, sink);
    let (rules, start) = (std::mem::take(&mut system.rules), system.start.take());
    let given = std::mem::take(&mut system.given);
    let bound = FxHashMap::default();
    let mut checker = Checker { names, system, scopes: &scopes, bound, sink };
    start.iter().chain(&given).for_each(|configuration| checker.configuration(configuration));
    for rule in &rules {
        if checker.sink.is_full() {
            break;
        }
        checker.rule(rule);
    }
    (system.rules, system.start, system.given) = (rules, start, given);
    scopes
}

/// The scopes of the declarations.
fn declare(system: &System, names: &[&str], sink: &mut Sink) -> Scopes {
    let mut scopes = Scopes::default();
    let locals = system.blocks.iter().enumerate().map(|(at, block)| (Some(at), block.vars.clone()));
    for (list, vars) in [(None, system.globals.clone())].into_iter().chain(locals) {
        for var in vars {
            let variable = &system.vars[var];
            if let Some(other) = scopes.vars.insert((list, variable.name), var as u32) {
                let message = format!("`{}` is declared twice", names[variable.name as usize]);
                let first = system.vars[other as usize].span;
                let twice = Diagnostic::new(Problem::VariableTwice, variable.span, message);
                sink.push(twice.note(first, "the first time is here"));
            }
        }
    }
    for (at, block) in system.blocks.iter().enumerate() {
        for &(symbol, span) in &block.symbols {
            if scopes.blocks.insert(symbol, at).is_some() {
                let message = format!("`{}` has local variables already", names[symbol as usize]);
                let hint = "a stack symbol is in one list: declare all its variables there";
                sink.push(Diagnostic::new(Problem::SymbolTwice, span, message).hint(hint));
            }
        }
    }
    scopes
}

impl Checker<'_, '_> {
    fn configuration(&mut self, configuration: &Configuration) {
        let none = || (Time::New, Vec::new());
        let primed = "there are no primes in a configuration";
        let without = ["", primed, primed];
        if let Some(code) = &configuration.globals {
            let lists = [(Time::Old, vec![None]), none(), none()];
            self.formula(code.clone(), &Place { lists, without });
        }
        for (symbol, code) in &configuration.stack {
            let Some(code) = code else { continue };
            let list = self.scopes.block(*symbol).map(Some).into_iter().collect();
            self.formula(code.clone(), &Place { lists: [(Time::New, list), none(), none()], without });
        }
    }

    fn rule(&mut self, rule: &Rule) {
        let Some(code) = &rule.formula else { return };
        let block = |symbol: Option<&Sym>| self.scopes.block(*symbol?);
        let local = |symbol: Option<&Sym>| block(symbol).map(Some).into_iter();
        let lists = [
            (Time::Old, local(Some(&rule.from.1)).chain([None]).collect()),
            (Time::New, local(rule.stack.first()).chain([None]).collect()),
            (Time::Below, local(rule.stack.get(1)).collect()),
        ];
        let below = match rule.stack.len() {
            2 => "the symbol below the new top has no such local variable",
            _ => "two primes are for the symbol below a new top, and this rule pushes none",
        };
        self.formula(code.clone(), &Place { lists, without: ["", "", below] });
    }

    /// Resolves and checks a formula.
    fn formula(&mut self, code: Code, place: &Place) {
        self.bound.clear();
        let mut stack: Vec<Operand> = Vec::new();
        for at in code {
            self.node(at, place, &mut stack);
            if self.sink.is_full() {
                return;
            }
        }
        if let Some((Type::Int, _, span)) = stack.pop() {
            self.mismatch(span, "expected a formula, but this is a number", None);
        }
    }

    fn mismatch(&mut self, span: Span, message: &str, hint: Option<&str>) {
        let mut mismatch = Diagnostic::new(Problem::TypeMismatch, span, message);
        mismatch.hint = hint.map(str::to_owned);
        self.sink.push(mismatch);
    }

    /// Checks a node, which takes its operands from a stack.
    fn node(&mut self, at: usize, place: &Place, stack: &mut Vec<Operand>) {
        let node = self.system.code[at];
        let mut pop = || stack.pop().unwrap_or((Type::Unknown, at, node.span));
        let result = match node.op {
            Op::Number(_) => (Type::Int, at, node.span),
            Op::Name(sym, primes) => (self.name(at, sym, primes, place), at, node.span),
            Op::Indexed(sym, primes) => {
                let (index, start, span) = pop();
                if index == Type::Bool {
                    self.mismatch(span, "an index is a number, but this is a formula", None);
                }
                (self.element(at, start, sym, primes, place), start, node.span.to(span))
            }
            Op::Arithmetic(_) => {
                let (right, left) = (pop(), pop());
                for (ty, _, span) in [left, right] {
                    if ty == Type::Bool {
                        self.mismatch(span, "this is calculated with, but it is a formula", None);
                    }
                }
                (Type::Int, left.1, left.2.to(right.2))
            }
            Op::Compare(compare) => {
                let (right, left) = (pop(), pop());
                self.compared(compare, left, right);
                self.system.code[left.1].unit = at as u32;
                (Type::Bool, left.1, left.2.to(right.2))
            }
            Op::Not | Op::End(_) => {
                let (ty, start, span) = pop();
                if ty == Type::Int {
                    self.mismatch(span, "expected a formula, but this is a number", None);
                }
                if let Op::End(id) = node.op {
                    self.bound.remove(&self.system.quantifiers[id as usize].name);
                }
                (Type::Bool, start, node.span.to(span))
            }
            Op::Connective(connective) => {
                let (right, left) = (pop(), pop());
                for (ty, _, span) in [left, right] {
                    let hint = (connective == Connective::Same).then_some("numbers are compared with `=`");
                    if ty == Type::Int {
                        self.mismatch(span, "expected a formula, but this is a number", hint);
                    }
                }
                (Type::Bool, left.1, left.2.to(right.2))
            }
            Op::Begin(id) => {
                self.begin(id, node.span);
                return;
            }
            Op::Variable(..) | Op::Element(..) | Op::Bound(_) => return,
        };
        stack.push(result);
    }

    fn begin(&mut self, id: u32, span: Span) {
        let name = self.system.quantifiers[id as usize].name;
        if self.bound.insert(name, id).is_some() {
            let message =
                format!("a quantifier around this one has the variable `{}` too", self.spelling(name));
            self.sink.push(Diagnostic::new(Problem::VariableTwice, span, message));
        }
    }

    fn compared(&mut self, compare: Compare, left: Operand, right: Operand) {
        let hint = (compare == Compare::Eq).then_some("Booleans are compared with `==`");
        for (ty, _, span) in [left, right] {
            if ty == Type::Bool {
                self.mismatch(span, "numbers are compared, but this is a formula", hint);
            }
        }
    }

    fn spelling(&self, sym: Sym) -> &str {
        self.names[sym as usize]
    }

    fn name(&mut self, at: usize, sym: Sym, primes: u8, place: &Place) -> Type {
        if let (0, Some(&id)) = (primes, self.bound.get(&sym)) {
            self.system.code[at].op = Op::Bound(id);
            return Type::Int;
        }
        let Some((time, var)) = self.lookup(at, sym, primes, place) else { return Type::Unknown };
        let variable = &self.system.vars[var as usize];
        let ty = if variable.bits.is_some() { Type::Int } else { Type::Bool };
        if let Some((low, high)) = variable.dim {
            let message = format!("`{}` is an array with the indices {low} to {high}", self.spelling(sym));
            let span = self.system.code[at].span;
            self.sink.push(Diagnostic::new(Problem::WholeArray, span, message));
        }
        self.system.code[at].op = Op::Variable(time, var);
        ty
    }

    fn element(&mut self, at: usize, start: usize, sym: Sym, primes: u8, place: &Place) -> Type {
        let Some((time, var)) = self.lookup(at, sym, primes, place) else { return Type::Unknown };
        let variable = &self.system.vars[var as usize];
        if variable.dim.is_none() {
            let message = format!("`{}` is not an array", self.spelling(sym));
            let span = self.system.code[at].span;
            self.sink.push(Diagnostic::new(Problem::NotAnArray, span, message));
        }
        self.system.code[at].op = Op::Element(time, var);
        match self.system.vars[var as usize].bits {
            Some(_) => Type::Int,
            None => {
                self.system.code[start].unit = at as u32;
                Type::Bool
            }
        }
    }

    /// The variable that a name means.
    fn lookup(&mut self, at: usize, sym: Sym, primes: u8, place: &Place) -> Option<(Time, u32)> {
        let span = self.system.code[at].span;
        let Some((time, lists)) = place.lists.get(usize::from(primes)) else {
            let message = "a variable has two primes at most";
            self.sink.push(Diagnostic::new(Problem::BadPrime, span, message));
            return None;
        };
        if let Some(var) = lists.iter().find_map(|list| self.scopes.vars.get(&(*list, sym))) {
            return Some((*time, *var));
        }
        let spelling = self.spelling(sym);
        let without = place.without[usize::from(primes)];
        let declared = self.system.vars.iter().any(|var| var.name == sym);
        if !without.is_empty() && declared {
            self.sink.push(Diagnostic::new(Problem::BadPrime, span, without));
            return None;
        }
        let message = match declared {
            true => format!("`{spelling}` is not a variable of this stack symbol"),
            false => format!("variable `{spelling}` is not declared"),
        };
        let mut unknown = Diagnostic::new(Problem::UnknownVariable, span, message);
        let vars_of = |list: &Option<usize>| -> Range<usize> {
            list.map_or(self.system.globals.clone(), |at| self.system.blocks[at].vars.clone())
        };
        let near = lists.iter().flat_map(vars_of).map(|var| self.names[self.system.vars[var].name as usize]);
        unknown.hint = did_you_mean(spelling, near);
        self.sink.push(unknown);
        None
    }
}
