//! Room `engine/weighted`: pushdown systems with variables, as weighted pushdown systems.
//!
//! # Idea
//!
//! Controls and symbols are those of the system. There are registers for the globals, for the locals of the symbol on *top*, and for
//! those of the symbol *below* a new top. The relation of a rule reads globals and locals of its symbol, and writes globals and the locals of
//! what takes its place. Registers of which the formula says that they stay as they are, and nothing else, are not written.
//!
//! What a rule leaves below the new top is another symbol than on top: the *saved* one. When it comes to the top, a rule that every control has in
//! which something can be removed moves the saved locals to the registers of the top. So a relation never speaks of the
//! locals of more than two symbols, and what happens above a saved symbol leaves its registers alone.
//!
//! # Paper
//!
//! \[schwoon\] section 3.3: rules and transitions carry relations between globals and locals.

use super::formula::{Formulas, Refused};
use super::registers::{Register, Registers, Time, column, shown};
use super::sets::Sets;
use super::weight::{Calls, Relations, Weight};
use postbop_front::plain::{Symbolic, SymbolicRule};
use postbop_ir::{Expr, Type};
use postbop_kit::ndd::{Column, Interrupted};
use postbop_kit::pushdown::{Automaton, Push, Rule, Symbol, System};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::ops::Range;
use std::rc::Rc;

/// A system whose rules are being made.
pub struct StackRules<'m, S: Sets> {
    pub symbolic: &'m Symbolic,
    pub registers: Registers,
    store: &'m S,
}

/// The configurations that were given, as an automaton.
pub struct Given<T> {
    pub automaton: Automaton<Weight<T>>,
    /// The state at which stacks end.
    pub end: u32,
    /// For each state that is not a control the symbol whose locals it was entered with, if it was entered with locals.
    pub entered: HashMap<u32, u32>,
    /// The controls of configurations with an empty stack, and for which globals.
    pub empty: Vec<(u32, T)>,
}

impl<'m, S: Sets> StackRules<'m, S> {
    /// The registers of a system.
    pub fn new(symbolic: &'m Symbolic, store: &'m S) -> Self {
        let count = symbolic.vars.len() as u32;
        let types: Vec<Type> = symbolic.vars.iter().chain(&symbolic.vars).map(|(_, ty)| *ty).collect();
        // A local of the top stands beside the same one below it.
        let order: Vec<Register> = (0..count).flat_map(|var| [var, count + var]).collect();
        StackRules { symbolic, registers: Registers::of(types, &order), store }
    }

    /// The symbol that stands for another one below the top.
    pub fn saved(&self, symbol: Symbol) -> Symbol {
        self.symbolic.symbols.len() as Symbol + symbol
    }

    /// The symbol that another one stands for, and whether that is below the top.
    pub fn shown(&self, symbol: Symbol) -> (Symbol, bool) {
        match symbol.checked_sub(self.symbolic.symbols.len() as Symbol) {
            Some(saved) => (saved, true),
            None => (symbol, false),
        }
    }

    pub fn relations<'r>(&'r self, scopes: &'r [Vec<Register>]) -> Relations<'r, S> {
        Relations { store: self.store, registers: &self.registers, scopes, calls: Calls::Restricted }
    }

    /// The registers of the locals of a symbol on top, or of a saved one.
    pub fn locals(&self, symbol: Symbol) -> Range<Register> {
        let (symbol, is_saved) = self.shown(symbol);
        let locals = &self.symbolic.symbols[symbol as usize].locals;
        let first = if is_saved { self.symbolic.vars.len() as Register } else { 0 };
        first + locals.start..first + locals.end
    }

    /// For each symbol the registers with which it can be entered, in order.
    pub fn scopes(&self) -> Vec<Vec<Register>> {
        let symbols = 0..self.symbolic.symbols.len() as Symbol;
        let scope = |symbol| {
            let mut all: Vec<Register> = self.symbolic.globals.clone().chain(self.locals(symbol)).collect();
            all.sort_unstable();
            all
        };
        symbols.map(scope).collect()
    }

    /// For each symbol the registers of its locals; and the same with those of globals.
    pub fn forgets(&self) -> Vec<[Rc<[Register]>; 2]> {
        let all = 0..2 * self.symbolic.symbols.len() as Symbol;
        let both = |symbol| {
            let mut with: Vec<Register> = self.symbolic.globals.clone().chain(self.locals(symbol)).collect();
            with.sort_unstable();
            [self.locals(symbol).collect(), with.into()]
        };
        all.map(both).collect()
    }

    /// The rules of the system, and those that bring saved symbols to the top; `goes_on` is asked for each.
    pub fn system(&self, goes_on: &dyn Fn() -> bool) -> Result<System<Weight<S::Set>>, Refused> {
        let ask = || if goes_on() { Ok(()) } else { Err(Refused::Interrupted) };
        let mut rules = Vec::new();
        for rule in &self.symbolic.rules {
            ask()?;
            let push = match rule.stack[..] {
                [] => Push::None,
                [symbol] => Push::One(symbol),
                [top, below, ..] => Push::Two(top, self.saved(below)),
            };
            rules.push(Rule { from: rule.from, to: (rule.control, push), weight: self.relation(rule)? });
        }
        let returns = self.symbolic.rules.iter().filter(|rule| rule.stack.is_empty());
        let mut returns: Vec<u32> = returns.map(|rule| rule.control).collect();
        returns.sort_unstable();
        returns.dedup();
        for (symbol, tops) in self.covered() {
            let weight = self.uncovering(symbol, &tops)?;
            for &control in &returns {
                ask()?;
                let from = (control, self.saved(symbol));
                rules.push(Rule { from, to: (control, Push::One(symbol)), weight: weight.clone() });
            }
        }
        Ok(System::new(self.symbolic.controls.len() as u32, rules))
    }

    /// The symbols that can be below others, and the registers of those that can be pushed on top of each, in order.
    fn covered(&self) -> Vec<(Symbol, Vec<Register>)> {
        let of_rules = self.symbolic.rules.iter().filter_map(|rule| match rule.stack[..] {
            [top, below] => Some((below, top)),
            _ => None,
        });
        let given = self.symbolic.from.iter().flat_map(|one| one.stack.windows(2));
        let mut pairs: Vec<(Symbol, u32, Symbol)> = of_rules
            .chain(given.map(|two| (two[1].0, two[0].0)))
            .map(|(below, top)| (below, self.symbolic.symbols[top as usize].locals.start, top))
            .collect();
        pairs.sort_unstable();
        // Symbols of one list have the same locals.
        pairs.dedup_by_key(|(below, first, _)| (*below, *first));
        let mut all: Vec<(Symbol, Vec<Register>)> = Vec::new();
        for (below, _, top) in pairs {
            if all.last().is_none_or(|(last, _)| *last != below) {
                all.push((below, Vec::new()));
            }
            let (_, tops) = all.last_mut().expect("there is one now");
            tops.extend(self.locals(top));
        }
        all
    }

    /// What a formula says.
    fn holds(&self, formula: &Expr) -> Result<S::Set, Refused> {
        Formulas::new(self.store, &self.registers).condition(formula)
    }

    fn relation(&self, rule: &SymbolicRule) -> Result<Weight<S::Set>, Refused> {
        let mut set = self.holds(&rule.formula)?;
        let own = self.locals(rule.from.1);
        let top = rule.stack.first().map_or(0..0, |&top| self.locals(top));
        let below = rule.stack.get(1).map_or(0..0, |&below| self.locals(self.saved(below)));
        let mut writes: HashSet<Register> = self.symbolic.globals.clone().chain(top.clone()).collect();
        let support: HashSet<Column> = self.store.support(&set).into_iter().collect();
        let scopes = &[];
        let relations = self.relations(scopes);
        let before =
            self.symbolic.globals.clone().chain(own.clone().filter(|register| top.contains(register)));
        for register in before {
            let both = |&slot: &u32| {
                [Time::Old, Time::New].iter().all(|&time| support.contains(&column(slot, time)))
            };
            if self.registers.slots_of(register).iter().all(both)
                && self.store.is_subset(&set, &relations.keeps(register)?)?
            {
                writes.remove(&register);
            }
        }
        let kept = |at: Column| {
            let (slot, time) = shown(at);
            let register = self.registers.owner(slot);
            time == Time::New && !writes.contains(&register) && !below.contains(&register)
        };
        set = self.store.project(&set, kept)?;
        let mut writes: Vec<Register> = writes.into_iter().chain(below).collect();
        writes.sort_unstable();
        let forgets = own.filter(|register| !top.contains(register)).collect();
        Ok(Weight { forgets, ..Weight::new(set, writes.into()) })
    }

    /// Moves the locals of a saved symbol to the top, and forgets those of what was there.
    fn uncovering(&self, symbol: Symbol, tops: &[Register]) -> Result<Weight<S::Set>, Interrupted> {
        let (own, saved) = (self.locals(symbol), self.locals(self.saved(symbol)));
        let mut set = self.store.constant(true);
        for (to, from) in own.clone().zip(saved.clone()) {
            for (&to, &from) in self.registers.slots_of(to).iter().zip(self.registers.slots_of(from)) {
                let [to, from] =
                    [self.store.bit(column(to, Time::New))?, self.store.bit(column(from, Time::Old))?];
                let same = self.store.not(&self.store.xor(&to, &from)?)?;
                set = self.store.and(&set, &same)?;
            }
        }
        let mut forgets: Vec<Register> =
            tops.iter().copied().filter(|register| !own.contains(register)).chain(saved).collect();
        forgets.sort_unstable();
        Ok(Weight { forgets: forgets.into(), ..Weight::new(set, own.collect()) })
    }

    /// The configurations that were given, as those that runs start from, or else as those that they lead to. From there a run keeps the values it
    /// starts with; the state below a top stands for an activation that was entered with the top's locals.
    pub fn given(&self, starts: bool) -> Result<Given<S::Set>, Refused> {
        let mut automaton = Automaton::new(self.symbolic.controls.len() as u32);
        let end = automaton.state();
        automaton.accept(end);
        let mut given = Given { automaton, end, entered: HashMap::default(), empty: Vec::new() };
        let mut single: HashMap<(u32, Symbol), S::Set> = HashMap::default();
        let forgets = self.forgets();
        for configuration in &self.symbolic.from {
            let globals = self.holds(&configuration.globals)?;
            let Some((top, condition)) = configuration.stack.first() else {
                given.empty.push((configuration.control, globals));
                continue;
            };
            let set = self.store.and(&globals, &self.holds(condition)?)?;
            if let [_] = configuration.stack[..] {
                let known =
                    single.entry((configuration.control, *top)).or_insert_with(|| self.store.constant(false));
                *known = self.store.or(known, &set)?;
                continue;
            }
            let forgetting = |weight: Weight<S::Set>, symbol: Symbol| match starts {
                true => weight,
                false => Weight { forgets: Rc::clone(&forgets[symbol as usize][1]), ..weight },
            };
            let mut at = given.automaton.state();
            given.entered.insert(at, *top);
            let first = forgetting(Weight::new(set, [].into()), *top);
            given.automaton.transition(configuration.control, Some(*top), at, first);
            for (place, (symbol, condition)) in configuration.stack.iter().enumerate().skip(1) {
                let saved = self.saved(*symbol);
                let last = place + 1 == configuration.stack.len();
                let next = if last { end } else { given.automaton.state() };
                let weight = self.waiting(configuration.stack[place - 1].0, *symbol, condition, starts)?;
                given.automaton.transition(at, Some(saved), next, forgetting(weight, saved));
                at = next;
            }
        }
        let mut single: Vec<((u32, Symbol), S::Set)> = single.into_iter().collect();
        single.sort_unstable_by_key(|(head, _)| *head);
        for ((control, symbol), set) in single {
            let forgets = if starts { [].into() } else { Rc::clone(&forgets[symbol as usize][1]) };
            let weight = Weight { forgets, ..Weight::new(set, [].into()) };
            given.automaton.transition(control, Some(symbol), end, weight);
        }
        Ok(given)
    }

    /// What is known of a saved symbol below another one. Of the activation above, it is not known here with which values it was entered.
    fn waiting(
        &self,
        above: Symbol,
        symbol: Symbol,
        condition: &Expr,
        starts: bool,
    ) -> Result<Weight<S::Set>, Refused> {
        let set = self.holds(condition)?;
        let (time, writes) = match starts {
            true => {
                let passed = self.symbolic.globals.clone().chain(self.locals(above));
                let mut writes: Vec<Register> = passed.chain(self.locals(self.saved(symbol))).collect();
                writes.sort_unstable();
                (Time::New, writes)
            }
            false => (Time::Old, Vec::new()),
        };
        let (own, saved) = (self.locals(symbol), self.locals(self.saved(symbol)));
        let mut moves: Vec<(Column, Column)> = Vec::new();
        for (from, to) in own.zip(saved) {
            let slots = self.registers.slots_of(from).iter().zip(self.registers.slots_of(to));
            moves.extend(slots.map(|(&from, &to)| (column(from, Time::Old), column(to, time))));
        }
        moves.sort_unstable();
        Ok(Weight::new(self.store.relabel(&set, &moves)?, writes.into()))
    }
}
