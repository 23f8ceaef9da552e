//! Room `front/moped`: pushdown systems with variables to program graphs.
//!
//! # Idea
//! A head is a location, once in each procedure whose frame it is in (`frames`). A rule that overwrites is an edge, one that pushes a
//! call that comes back to the symbol below, one that removes a return. The formula of a rule is a parallel assignment
//! with a constraint (`solve`). Local variables of the symbols are locals of the procedures; those of the new top are parameters.
//!
//! Where runs can return in several control states, the state is left in a global, and where a call comes back to there is a
//! location at which it is asked for.
//!
//! Every configuration is one location that is not inner, so a run of the graph visits such locations as often as the run of the pushdown system has
//! configurations. That matters to temporal formulas. The first procedure calls the symbol of the initial
//! configuration; when that returns the stack is empty, and the run is stuck, as in Moped, where a run that ends is no run.

use super::check::Scopes;
use super::expand::{Elements, Expansion, Failure};
use super::formula::TRUE;
use super::frames::{Frames, HeadId};
use super::lexer::Sym;
use super::solve::{Effect, solve};
use super::tree::{Configuration, Rule, System};
use crate::diagnostic::{Code as Problem, Diagnostic, Sink};
use postbop_ir::{Action, Builder, Expr, LocId, Op, ProcId, Program, Span, Type, VarId};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The most operators in the expressions of a program, and how much may be done to write out its formulas.
pub(super) const MOST: usize = 5_000_000;

/// A program being made.
pub(super) struct Lowering<'a> {
    pub(super) system: &'a System,
    pub(super) scopes: &'a Scopes,
    pub(super) names: &'a [&'a str],
    pub(super) elements: &'a Elements,
    pub(super) frames: Frames,
    pub(super) out: Builder,
    /// The global variables by their elements.
    pub(super) globals: Vec<VarId>,
    /// In which control state something was removed, where it can be several.
    pub(super) control: Option<(VarId, Type)>,
    pub(super) procs: Vec<ProcId>,
    /// For each procedure the elements that are its parameters: those of the symbols with which it begins.
    params: Vec<Rc<[u32]>>,
    /// How many operators there may still be.
    pub(super) room: usize,
    /// The procedure at hand: its locations by heads, its locals by elements, where calls come back to by symbols, and
    /// variables for arguments.
    pub(super) proc: ProcId,
    pub(super) places: FxHashMap<HeadId, LocId>,
    pub(super) locals: FxHashMap<u32, VarId>,
    pub(super) landings: FxHashMap<Sym, LocId>,
    pub(super) arguments: FxHashMap<Type, Vec<VarId>>,
    stuck: Option<LocId>,
    /// The propositions of each symbol.
    atoms: FxHashMap<Sym, Vec<Sym>>,
    /// The formulas of the rules so far.
    effects: FxHashMap<u32, Rc<Effect>>,
}

/// Where a rule leads.
pub(super) enum Move {
    /// To a head of the same frame: its symbol, and its location.
    Go(Sym, LocId),
    /// To a head that is called, with a symbol below it, and back to a location.
    Call { head: HeadId, below: Option<Sym>, landing: LocId },
    /// Back, in this control state.
    Return(Sym),
}

/// The program of a system without errors; none if it would be too large.
pub fn lower(system: &System, scopes: &Scopes, names: &[&str], sink: &mut Sink) -> Option<Program> {
    let start = system.start.as_ref()?;
    let elements = Elements::of(system);
    let frames = Frames::of(system, (start.state, start.symbol()));
    let mut lowering = Lowering {
        system,
        scopes,
        names,
        elements: &elements,
        frames,
        out: Builder::default(),
        globals: Vec::new(),
        control: None,
        procs: Vec::new(),
        params: Vec::new(),
        room: MOST,
        proc: ProcId(0),
        places: FxHashMap::default(),
        locals: FxHashMap::default(),
        landings: FxHashMap::default(),
        arguments: FxHashMap::default(),
        stuck: None,
        atoms: FxHashMap::default(),
        effects: FxHashMap::default(),
    };
    for (symbol, atom) in &system.atoms {
        lowering.atoms.entry(*symbol).or_default().push(*atom);
    }
    let mut expansion = Expansion::new(system, &elements, MOST);
    lowering.declare(start);
    let done = lowering.build(start, &mut expansion);
    for span in std::mem::take(&mut expansion.outside) {
        let message = "there is no element with this index, so the comparison is false";
        sink.push(Diagnostic::new(Problem::IndexOutside, span, message));
    }
    let main = lowering.procs[0];
    let problem = match done {
        Ok(()) => return Some(lowering.out.finish(main)),
        Err(Failure::TooWide(span)) => {
            let message = "this is calculated with numbers of more than 60 bits";
            Diagnostic::new(Problem::TooMany, span, message)
        }
        Err(Failure::TooLarge(span)) => {
            let message = format!("the formulas would have more than {MOST} parts when they are written out");
            Diagnostic::new(Problem::TooMany, span, message)
        }
    };
    sink.push(problem);
    None
}

impl<'a> Lowering<'a> {
    /// Adds variables and procedures. The first procedure is where it starts.
    fn declare(&mut self, start: &Configuration) {
        for element in self.elements.range(self.system.globals.clone()) {
            let (name, ty) = self.element(element);
            self.globals.push(self.out.global(&name, ty));
        }
        if self.frames.returns.len() > 1 {
            let most = self.frames.returns.len() as u64 - 1;
            let ty = Type::Uint((u64::BITS - most.leading_zeros()) as u8);
            self.control = Some((self.out.global("%control", ty), ty));
        }
        self.procs.push(self.out.proc("%main", 0, Vec::new(), start.span));
        // A procedure has the name of its symbol, unless that is the name of another procedure or of a control state too.
        let states = self.frames.heads.iter().map(|(state, _)| (*state, 2));
        let mut entries_of: FxHashMap<Sym, usize> = states.collect();
        for head in self.frames.entry.keys() {
            *entries_of.entry(self.frames.heads[*head as usize].1).or_default() += 1;
        }
        for proc in 0..self.frames.procs.len() {
            let entries = &self.frames.procs[proc];
            let (state, symbol) = self.frames.heads[entries[0] as usize];
            let name = match entries_of[&symbol] {
                1 => self.names[symbol as usize].to_owned(),
                _ => format!("{}:{}", self.names[state as usize], self.names[symbol as usize]),
            };
            let rule = self.frames.rules[entries[0] as usize].first();
            let span = rule.map_or(start.span, |rule| self.system.rules[*rule as usize].span);
            self.params.push(self.params_of(proc));
            let params = self.params(proc);
            let several = (entries.len() > 1).then_some(entry_type(entries.len()));
            let id = self.out.proc(&name, params.len() + usize::from(several.is_some()), Vec::new(), span);
            if let Some(ty) = several {
                self.out.local(id, "%entry", ty);
            }
            for &element in params.iter() {
                let (name, ty) = self.element(element);
                self.out.local(id, &name, ty);
            }
            self.procs.push(id);
        }
    }

    /// The elements that are parameters of a procedure.
    pub(super) fn params(&self, proc: usize) -> Rc<[u32]> {
        Rc::clone(&self.params[proc])
    }

    fn params_of(&self, proc: usize) -> Rc<[u32]> {
        let entries = self.frames.procs[proc].iter();
        let blocks = entries.filter_map(|head| self.scopes.block(self.frames.heads[*head as usize].1));
        let mut blocks: Vec<usize> = blocks.collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks.into_iter().flat_map(|block| self.elements_of(Some(block))).collect()
    }

    /// The elements of the variables of a list.
    pub(super) fn elements_of(&self, block: Option<usize>) -> std::ops::Range<u32> {
        block.map_or(0..0, |block| self.elements.range(self.system.blocks[block].vars.clone()))
    }

    /// The name and the type of a variable or an element of an array.
    pub(super) fn element(&self, element: u32) -> (String, Type) {
        self.elements.named(self.system, self.names, element)
    }

    fn build(&mut self, start: &Configuration, expansion: &mut Expansion<'a>) -> Result<(), Failure> {
        self.main(start, expansion)?;
        for proc in 0..self.frames.procs.len() {
            self.procedure(proc, expansion)?;
        }
        self.nowhere(start);
        Ok(())
    }

    fn begin(&mut self, proc: usize) {
        self.proc = self.procs[proc];
        self.places.clear();
        self.locals.clear();
        self.landings.clear();
        self.arguments.clear();
        self.stuck = None;
    }

    /// Lets the procedure at hand begin within a statement.
    fn inner_entry(&mut self, span: Span) -> LocId {
        let entry = self.out.inner(self.proc, span);
        self.out.set_entry(self.proc, entry);
        entry
    }

    /// Adds the procedure where it starts.
    fn main(&mut self, start: &Configuration, expansion: &mut Expansion<'a>) -> Result<(), Failure> {
        self.begin(0);
        let here = self.inner_entry(start.span);
        let mut formula = TRUE;
        for code in [&start.globals, &start.stack[0].1].into_iter().flatten() {
            let part = expansion.expand(code.clone())?;
            formula = expansion.formulas.and(formula, part);
        }
        let effect = solve(expansion, formula);
        let head = self.frames.head((start.state, start.symbol()));
        let landing = self.stuck(start.span);
        let to = Move::Call { head, below: None, landing };
        self.step(here, to, &effect, true, start.span, expansion)
    }

    /// Adds the locations and edges of a procedure.
    fn procedure(&mut self, proc: usize, expansion: &mut Expansion<'a>) -> Result<(), Failure> {
        self.begin(proc + 1);
        let params = self.out.procs()[self.proc].locals.clone();
        let entries = self.frames.procs[proc].clone();
        let several = usize::from(entries.len() > 1);
        self.locals = self.params(proc).iter().copied().zip(params.iter().skip(several).copied()).collect();
        for head in self.frames.frame(self.system, proc) {
            self.place(head, (several == 0 && head == entries[0]).then_some(proc));
        }
        if several > 0 {
            let span = self.out.procs()[self.proc].span;
            let (here, ty) = (self.inner_entry(span), entry_type(entries.len()));
            for (at, head) in entries.iter().enumerate() {
                let chosen = is_number(params[0], ty, at);
                self.out.edge(here, self.places[head], Action::Assume(chosen), span);
            }
        }
        for head in self.frames.frame(self.system, proc) {
            for rule in self.frames.rules[head as usize].clone() {
                self.rule(rule, self.places[&head], expansion)?;
            }
        }
        Ok(())
    }

    /// Adds the location of a head, with the locals of its symbol. The one with which a procedure begins is there already.
    fn place(&mut self, head: HeadId, entry: Option<usize>) {
        let (_, symbol) = self.frames.heads[head as usize];
        let rule = self.frames.rules[head as usize].first();
        let span = rule.map(|rule| self.system.rules[*rule as usize].span);
        let loc = match entry {
            Some(_) => self.out.procs()[self.proc].entry,
            None => self.out.loc(self.proc, span.unwrap_or_default()),
        };
        span.into_iter().for_each(|span| self.out.set_span(loc, span));
        self.places.insert(head, loc);
        self.add_locals(symbol);
        for name in self.labels(head) {
            self.out.label(name, loc);
        }
    }

    /// Gives the procedure at hand the locals of a symbol.
    fn add_locals(&mut self, symbol: Sym) {
        for element in self.elements_of(self.scopes.block(symbol)) {
            if !self.locals.contains_key(&element) {
                let (name, ty) = self.element(element);
                self.locals.insert(element, self.out.local(self.proc, &name, ty));
            }
        }
    }

    /// What a head is called: by its state and by its symbol, by the propositions of the symbol, and by the name of its
    /// list of variables.
    fn labels(&self, head: HeadId) -> BTreeSet<&'a str> {
        let (state, symbol) = self.frames.heads[head as usize];
        let block = self.scopes.block(symbol).and_then(|block| self.system.blocks[block].name);
        let atoms = self.atoms.get(&symbol).into_iter().flatten().copied();
        atoms.chain(block).chain([state, symbol]).map(|name| self.names[name as usize]).collect()
    }

    fn rule(&mut self, rule: u32, here: LocId, expansion: &mut Expansion<'a>) -> Result<(), Failure> {
        let effect = match self.effects.get(&rule) {
            Some(effect) => effect.clone(),
            None => {
                let code = self.system.rules[rule as usize].formula.clone();
                let formula = code.map_or(Ok(TRUE), |code| expansion.expand(code))?;
                let effect = Rc::new(solve(expansion, formula));
                self.effects.insert(rule, effect.clone());
                effect
            }
        };
        let system = self.system;
        let Rule { state, ref stack, span, .. } = system.rules[rule as usize];
        let to = match stack[..] {
            [] => Move::Return(state),
            [top] => Move::Go(top, self.places[&self.frames.head((state, top))]),
            [top, below, ..] => {
                let head = self.frames.head((state, top));
                // Where nothing is ever removed, the symbol below is in no frame; the rule speaks of its locals all the same.
                self.add_locals(below);
                Move::Call { head, below: Some(below), landing: self.landing(below, span) }
            }
        };
        self.step(here, to, &effect, false, span, expansion)
    }

    /// Where a call comes back to with this symbol on top.
    fn landing(&mut self, symbol: Sym, span: Span) -> LocId {
        let states = self.frames.returns.clone();
        match states[..] {
            [] => return self.stuck(span),
            [state] => return self.places[&self.frames.head((state, symbol))],
            _ => {}
        }
        if let Some(&landing) = self.landings.get(&symbol) {
            return landing;
        }
        let landing = self.out.inner(self.proc, span);
        self.landings.insert(symbol, landing);
        for (at, state) in states.into_iter().enumerate() {
            let place = self.places[&self.frames.head((state, symbol))];
            let asked = self.control.map(|(var, ty)| is_number(var, ty, at));
            self.out.edge(landing, place, asked.map_or_else(Action::skip, Action::Assume), span);
        }
        landing
    }

    /// A location of the procedure at hand where nothing goes on.
    fn stuck(&mut self, span: Span) -> LocId {
        *self.stuck.get_or_insert_with(|| self.out.inner(self.proc, span))
    }

    /// Gives all names to a location that is never reached, so that one can ask about heads that no run can have.
    fn nowhere(&mut self, start: &Configuration) {
        let mut names: BTreeSet<Sym> = self.system.atoms.iter().map(|(_, atom)| *atom).collect();
        names.extend(self.system.blocks.iter().filter_map(|block| block.name));
        for rule in &self.system.rules {
            names.extend([rule.from.0, rule.from.1, rule.state]);
            names.extend(&rule.stack);
        }
        let loc = self.out.inner(self.procs[0], start.span);
        for name in names.into_iter().chain([start.state, start.symbol()]) {
            self.out.label(self.names[name as usize], loc);
        }
    }
}

/// The type of the number of an entry.
fn entry_type(entries: usize) -> Type {
    let most = entries as u64 - 1;
    Type::Uint((u64::BITS - most.leading_zeros()).max(1) as u8)
}

fn is_number(var: VarId, ty: Type, number: usize) -> Expr {
    Expr::new([Op::Var(var), Op::Const(ty, (number as i64).into()), Op::Eq])
}
