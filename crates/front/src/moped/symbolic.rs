//! Room `front/moped`: pushdown systems with variables, as they were written.
//!
//! [`super::read`] makes a program of a system, of which runs from the initial configuration are left. Commands that print configurations
//! need all rules, and controls and symbols as the source names them. Formulas are expressions here too, without quantifiers and indices.

use super::check::{Scopes, check};
use super::emit::Emitter;
use super::expand::{Elements, Expansion, Failure};
use super::formula::Slot;
use super::lexer::{Sym, lex};
use super::lower::MOST;
use super::parser::parse;
use super::tree::{Code, Configuration, System, Time};
use crate::diagnostic::{Severity, Sink};
use postbop_ir::{Expr, Op, Type, VarId};
use rustc_hash::FxHashMap as HashMap;
use std::ops::Range;

/// A pushdown system with variables.
///
/// In its formulas a variable is meant where it was before a rule, or, as [`Op::Next`], where it is afterwards: of globals, and of the
/// symbol on top. The variable [`Symbolic::below`] another one is that of the symbol below the new top.
#[derive(Clone, Default, Debug)]
pub struct Symbolic {
    /// The names of the control states.
    pub controls: Vec<String>,
    /// The stack symbols.
    pub symbols: Vec<SymbolicSymbol>,
    /// The names and types of the variables, in which each element of an array is one.
    pub vars: Vec<(String, Type)>,
    /// The global variables.
    pub globals: Range<u32>,
    /// The rules.
    pub rules: Vec<SymbolicRule>,
    /// The configurations that were given; without any, the initial one.
    pub from: Vec<SymbolicConfiguration>,
}

/// A stack symbol.
#[derive(Clone, Debug)]
pub struct SymbolicSymbol {
    /// Its name.
    pub name: String,
    /// Its local variables.
    pub locals: Range<u32>,
}

/// A rule: what takes the place of a control state and the symbol on top. Of two symbols the first is on top.
#[derive(Clone, Debug)]
pub struct SymbolicRule {
    /// The control state and the symbol.
    pub from: (u32, u32),
    /// The control state afterwards.
    pub control: u32,
    /// At most two symbols.
    pub stack: Vec<u32>,
    /// How variables change; what it says nothing about becomes arbitrary.
    pub formula: Expr,
}

/// The configurations with a control state and symbols whose variables fulfil conditions.
#[derive(Clone, Debug)]
pub struct SymbolicConfiguration {
    /// The control state.
    pub control: u32,
    /// A condition on the global variables.
    pub globals: Expr,
    /// The symbols, the top first, each with a condition on its local variables.
    pub stack: Vec<(u32, Expr)>,
}

impl Symbolic {
    /// A local variable of the symbol below a new top.
    pub fn below(&self, var: u32) -> VarId {
        VarId(self.vars.len() as u32 + var)
    }
}

/// Characters that begin a comment, a text or another configuration.
const FOREIGN: [char; 7] = ['#', '%', '{', '}', '"', ';', '\n'];

/// The system of a text without errors, with configurations such as `q (x = 0): f (n = 1) g`; or what is wrong with those.
pub fn symbolic(text: &str, given: &[String]) -> Result<Symbolic, String> {
    let mut whole = format!("{text}\n");
    let start = whole.len();
    for configuration in given {
        let shape = "write a control state, a colon and symbols, as in `q:f g` or `q (x = 0): f (n = 1) g`";
        let not_one = || format!("`{configuration}` is not a configuration; {shape}");
        let (control, stack) = configuration.split_once(':').ok_or_else(not_one)?;
        if configuration.contains(FOREIGN) {
            return Err(not_one());
        }
        whole.extend([";", control, " ", stack]);
    }
    let mut sink = Sink::default();
    let lexed = lex(&whole, &mut sink);
    let mut system = parse(&whole, start, &lexed, &mut sink);
    let scopes = check(&mut system, &lexed.names, &mut sink);
    if let Some(wrong) = sink.finish().into_iter().find(|found| found.severity == Severity::Error) {
        return Err(format!("`{}`: {}", given.join("`, `"), wrong.message));
    }
    let elements = Elements::of(&system);
    let mut expansion = Expansion::new(&system, &elements, MOST);
    let draft =
        Draft { system: &system, scopes: &scopes, names: &lexed.names, elements: &elements, room: MOST };
    draft.symbolic(&mut expansion)
}

struct Draft<'d> {
    system: &'d System,
    scopes: &'d Scopes,
    names: &'d [&'d str],
    elements: &'d Elements,
    /// How many operators there may still be.
    room: usize,
}

/// Names of one kind, numbered in the order in which they are met.
#[derive(Default)]
struct Numbers {
    list: Vec<Sym>,
    known: HashMap<Sym, u32>,
}

impl Numbers {
    fn of(&mut self, sym: Sym) -> u32 {
        *self.known.entry(sym).or_insert_with(|| {
            self.list.push(sym);
            self.list.len() as u32 - 1
        })
    }
}

impl Draft<'_> {
    fn symbolic(mut self, expansion: &mut Expansion) -> Result<Symbolic, String> {
        let mut out =
            Symbolic { globals: self.elements.range(self.system.globals.clone()), ..Symbolic::default() };
        out.vars = (0..self.elements.variable.len() as u32)
            .map(|at| self.elements.named(self.system, self.names, at))
            .collect();
        let (mut controls, mut symbols) = (Numbers::default(), Numbers::default());
        let system = self.system;
        for rule in &system.rules {
            let formula = self.formula(rule.formula.as_ref(), expansion, |time| time)?;
            let from = (controls.of(rule.from.0), symbols.of(rule.from.1));
            let control = controls.of(rule.state);
            let stack = rule.stack.iter().map(|&symbol| symbols.of(symbol)).collect();
            out.rules.push(SymbolicRule { from, control, stack, formula });
        }
        if let Some(start) = &system.start {
            controls.of(start.state);
            symbols.of(start.symbol());
        }
        let asked = if system.given.is_empty() { system.start.as_slice() } else { &system.given };
        for configuration in asked {
            let configuration = self.configuration(configuration, expansion, &controls, &symbols)?;
            out.from.push(configuration);
        }
        let name = |sym: Sym| self.names[sym as usize].to_owned();
        out.controls = controls.list.iter().map(|&state| name(state)).collect();
        let locals = |symbol| {
            self.scopes
                .block(symbol)
                .map_or(0..0, |block| self.elements.range(system.blocks[block].vars.clone()))
        };
        out.symbols = symbols
            .list
            .iter()
            .map(|&symbol| SymbolicSymbol { name: name(symbol), locals: locals(symbol) })
            .collect();
        Ok(out)
    }

    fn configuration(
        &mut self,
        from: &Configuration,
        expansion: &mut Expansion,
        controls: &Numbers,
        symbols: &Numbers,
    ) -> Result<SymbolicConfiguration, String> {
        let find = |numbers: &Numbers, sym: Sym, what: &str| {
            let unknown = || format!("no rule mentions the {what} `{}`", self.names[sym as usize]);
            numbers.known.get(&sym).copied().ok_or_else(unknown)
        };
        let control = find(controls, from.state, "control state")?;
        let known: Result<Vec<u32>, String> =
            from.stack.iter().map(|&(symbol, _)| find(symbols, symbol, "symbol")).collect();
        let now = |_| Time::Old;
        let globals = self.formula(from.globals.as_ref(), expansion, now)?;
        let mut stack = Vec::new();
        for (symbol, (_, condition)) in known?.into_iter().zip(&from.stack) {
            stack.push((symbol, self.formula(condition.as_ref(), expansion, now)?));
        }
        Ok(SymbolicConfiguration { control, globals, stack })
    }

    /// A formula as an expression. Values are meant at the times that `when` says instead of their own.
    fn formula(
        &mut self,
        code: Option<&Code>,
        expansion: &mut Expansion,
        when: fn(Time) -> Time,
    ) -> Result<Expr, String> {
        let Some(code) = code else { return Ok(Expr::bool(true)) };
        let too_large = || "the formulas are too large when they are written out".to_owned();
        let formula = expansion.expand(code.clone()).map_err(|failure| match failure {
            Failure::TooWide(_) => "a formula is calculated with numbers of more than 60 bits".to_owned(),
            Failure::TooLarge(_) => too_large(),
        })?;
        let count = self.elements.variable.len() as u32;
        let place = |slot: Slot| match when(slot.time) {
            Time::Old => Op::Var(VarId(slot.element)),
            Time::New => Op::Next(VarId(slot.element)),
            Time::Below => Op::Next(VarId(count + slot.element)),
        };
        let mut emitter = Emitter { expansion, place: &place, out: Vec::new() };
        emitter.formula(formula);
        let code = emitter.out;
        self.room = self.room.checked_sub(code.len()).ok_or_else(too_large)?;
        Ok(Expr::new(code))
    }
}
