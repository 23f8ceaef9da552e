//! Room `engine/weighted`: what a procedure does, and for which inputs it returns.
//!
//! # Idea
//!
//! A pushdown system that starts with nothing but the symbol of a procedure, and with any valuation, pops this symbol with the relation
//! between inputs and outputs of the procedure: its *summary*. The inputs for which it can return are those to which the summary relates an output.
//!
//! Saturation takes turns with both call operators, since either may end where the other does not: with the unrestricted one a procedure is evaluated
//! for everything, of which there may be less than of the values that a recursion without end calls it with. If neither ends, guesses may: they give a
//! relation that contains the summary. If what was found exactly until then is all of it, it is the summary. What the budget ends is a part of the summary.
//!
//! # Paper
//!
//! \[ndd-moped\] section 4, on Fig. 2, and section 5.

use super::cases::{Constraint, Cover};
use super::formula::Refused;
use super::guess::{self, Guess, Guessing};
use super::registers::{Register, Registers, Time, column, from_bits, shown as slot_of};
use super::system::Model;
use super::weight::{Calls, Relations, Stop, Weight};
use super::{FIRST_TURN, GROWTH, MOST_SLOTS, Order, Share, order, rank, relations, start};
use crate::budget::{Budget, Meter};
use crate::verdict::Why;
use postbop_ir::{ProcId, Program, Type, VarId};
use postbop_kit::ndd::{Column, Compare, Interrupted, Ndd, Ndds};
use postbop_kit::pushdown::{Domain, Saturation, System, Transition, Watch};
use std::cell::Cell;
use std::rc::Rc;

/// How many members are shown of a set that is not described.
const MEMBERS: usize = 5;
/// More conjunctions than these nobody wants to read.
const MOST_CASES: usize = 16;
/// More numbers than these are not told by sums and differences.
const MOST_PAIRED: usize = 10;
/// So many turns more does exact saturation get when guesses have ended.
const TURNS_MORE: u32 = 2;
/// The most work that is spent on describing sets.
const TELLING: u64 = 40_000_000;

/// A summary.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The inputs: parameters, and the globals that the procedure can touch.
    pub inputs: Vec<String>,
    /// The outputs: results, and the globals that it writes, as `x'`.
    pub outputs: Vec<String>,
    /// Whether this is the summary.
    pub extent: Extent,
    /// The inputs for which the procedure can return.
    pub returns: Described,
    /// The inputs and outputs.
    pub relation: Described,
}

/// How a relation that was found compares with the summary of a procedure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Extent {
    /// It is the summary.
    Exact,
    /// It contains the summary, and perhaps more.
    AtMost,
    /// It is a part of the summary: the work ended before.
    AtLeast(Why),
}

/// A set of vectors of numbers, as far as it can be told.
#[derive(Clone, Debug)]
pub struct Described {
    /// Conjunctions that together describe the set; the columns of their terms are places in [`Described::names`].
    pub cases: Option<Vec<Vec<Constraint>>>,
    /// The names of the columns.
    pub names: Vec<String>,
    /// A few members, the smallest first: what each needs in the columns. One that is left out is arbitrary.
    pub members: Vec<Vec<(usize, i128)>>,
    /// The automaton as a graph in the language of Graphviz, of a summary.
    pub dot: String,
}

impl Described {
    /// Nothing is told but the names of columns.
    pub(super) fn unknown(shown: &[Shown]) -> Self {
        let names = shown.iter().map(|one| one.name.clone()).collect();
        Described { cases: None, names, members: Vec::new(), dot: String::new() }
    }
}

/// The summary of a procedure of a sequential program.
pub fn summary(program: &Program, proc: ProcId, budget: &Budget) -> Result<Summary, Why> {
    if !program.is_sequential() {
        return Err(Why::Unsupported("summaries of programs with threads".into()));
    }
    // Half of the time is left for telling what was found.
    let (searching, quiet) = (budget.share(2), |_| ());
    let meters = [&searching, budget].map(|budget| Meter::new(budget, &quiet));
    let shares = [0, 1].map(|at| Share { left: Cell::new(u64::MAX), meter: &meters[at] });
    let phase = Cell::new(0);
    let goes_on = |work| shares[phase.get()].goes_on(work);
    let store = Ndds::new(&goes_on);
    if Registers::needed(program) > MOST_SLOTS {
        return Err(Why::Unsupported(format!("more than {MOST_SLOTS} bits and integers in one procedure")));
    }
    let mut model = Model::new(program, &store);
    model.observe(proc);
    let system = model.rules().map_err(|refused| match refused {
        Refused::Interrupted => meters[0].why(),
        Refused::TooLarge => Why::Unsupported("constants that do not fit 64 bits".into()),
    })?;
    let mut search = Search::new(&model, &system, proc);
    let (found, extent) = search.run(&shares[0]);
    let writes = found.as_ref().map_or_else(|| [].into(), |weight| weight.writes.clone());
    let set = found.map_or_else(|| store.constant(false), |weight| weight.set);
    drop(search);
    phase.set(1);
    shares[1].left.set(TELLING);
    let inputs = inputs(&model, proc);
    let outputs = outputs(&model, proc, &writes);
    let named = |list: &[Shown]| list.iter().map(|one| one.name.clone()).collect();
    let all: Vec<Shown> = inputs.iter().chain(&outputs).cloned().collect();
    let told = |shown: &[Shown]| Described {
        dot: picture(&store, &model.registers, &set, shown),
        ..described(&store, &model.registers, &set, shown)
    };
    let (relation, returns) = (told(&all), told(&inputs));
    Ok(Summary { inputs: named(&inputs), outputs: named(&outputs), extent, returns, relation })
}

/// A register at some time, to be shown.
#[derive(Clone)]
pub(super) struct Shown {
    pub register: Register,
    pub time: Time,
    pub name: String,
}

/// The parameters of a procedure, and the globals that it can touch, when it is entered.
fn inputs(model: &Model<Ndds>, proc: ProcId) -> Vec<Shown> {
    let program = model.program;
    let params = program.procs()[proc].params().iter().zip(model.registers.args(proc));
    let params = params.map(|(&param, &register)| (register, param));
    let globals = model.scopes.globals(proc).iter().map(|&global| (global.0, global));
    let shown = |(register, var): (Register, VarId)| {
        let name = program.vars()[var].name.clone();
        Shown { register, time: Time::Old, name }
    };
    params.chain(globals).map(shown).collect()
}

fn outputs(model: &Model<Ndds>, proc: ProcId, writes: &[Register]) -> Vec<Shown> {
    let results = model.registers.results(proc);
    let named = |(at, &register): (usize, &Register)| {
        let name = if results.len() == 1 { "result".to_owned() } else { format!("result{}", at + 1) };
        Shown { register, time: Time::New, name }
    };
    let globals = model.scopes.globals(proc).iter().filter(|global| writes.contains(&global.0));
    let globals = globals.map(|&global| {
        let name = format!("{}'", model.program.vars()[global].name);
        Shown { register: global.0, time: Time::New, name }
    });
    results.iter().enumerate().map(named).chain(globals).collect()
}

/// Saturation from the start of a procedure, in turns.
struct Search<'s, 'a> {
    model: &'s Model<'s, Ndds<'a>>,
    system: &'s System<Weight<Ndd>>,
    proc: ProcId,
    scopes: Vec<Vec<Register>>,
    order: Rc<[u32]>,
    heads: Vec<bool>,
    thresholds: Vec<i64>,
    exact: [(Calls, Saturation<Weight<Ndd>>); 2],
}

impl<'s, 'a> Search<'s, 'a> {
    fn new(model: &'s Model<'s, Ndds<'a>>, system: &'s System<Weight<Ndd>>, proc: ProcId) -> Self {
        let Order { places, heads, .. } = order(model);
        Search {
            model,
            system,
            proc,
            scopes: model.entries(),
            order: places,
            heads,
            thresholds: guess::thresholds(model.program),
            exact: [Calls::Unrestricted, Calls::Restricted].map(|calls| (calls, start(model, proc))),
        }
    }

    /// The relation that was found, which is none if it is empty, and how it compares with the summary.
    fn run(&mut self, share: &Share) -> (Option<Weight<Ndd>>, Extent) {
        let mut turn = FIRST_TURN;
        let mut guessed: Option<(Weight<Ndd>, u32)> = None;
        for round in 0.. {
            let relations = relations(self.model, &self.scopes);
            let plain = &Ranked { order: &self.order };
            for at in 0..self.exact.len() {
                share.left.set(turn);
                let (calls, saturation) = &mut self.exact[at];
                let relations = &mut Relations { calls: *calls, ..relations };
                if saturation.run(relations, self.system, &mut &*plain) == Ok(()) {
                    return (self.end(&self.exact[at].1), Extent::Exact);
                }
                if !share.is_spent() {
                    return self.so_far(guessed, share);
                }
            }
            if self.guess(&mut guessed, round, turn, share) == Ok(true) {
                return (None, Extent::Exact);
            }
            share.left.set(turn);
            if let Some((weight, since)) = &guessed {
                if self.is_reached(weight) == Ok(true) {
                    return (Some(weight.clone()), Extent::Exact);
                }
                if round >= since + TURNS_MORE {
                    return (Some(weight.clone()), Extent::AtMost);
                }
            }
            if !share.meter.goes_on(0) {
                return self.so_far(guessed, share);
            }
            turn = turn.saturating_mul(GROWTH);
        }
        unreachable!("turns end with the budget")
    }

    /// Saturates with guesses, from the beginning. Each relation that is found contains the summary, and so does what they have in common, which is
    /// kept with the round in which the first was found. Whether the procedure does not return.
    fn guess(
        &self,
        known: &mut Option<(Weight<Ndd>, u32)>,
        round: u32,
        turn: u64,
        share: &Share,
    ) -> Result<bool, Interrupted> {
        for calls in [Calls::Restricted, Calls::Unrestricted] {
            share.left.set(turn);
            let guess = Guess { symbols: &self.heads, thresholds: &self.thresholds, delay: round + 2 };
            let relations = relations(self.model, &self.scopes);
            let domain = &mut Guessing { relations: Relations { calls, ..relations }, guess };
            let mut saturation = start(self.model, self.proc);
            if saturation.run(domain, self.system, &mut &Ranked { order: &self.order }) != Ok(()) {
                continue;
            }
            let Some(found) = self.end(&saturation) else { return Ok(true) };
            let (both, since) = match known.as_ref() {
                None => (Weight::new(found.set, found.writes), round),
                Some((weight, since)) => {
                    let writes = Relations::<Ndds>::union(&found.writes, &weight.writes);
                    let [one, other] = [&found, weight].map(|one| domain.relations.padded(one, &writes));
                    (Weight::new(self.model.store().and(&one?, &other?)?, writes), *since)
                }
            };
            *known = Some((both, since));
        }
        Ok(false)
    }

    /// The relation with which the procedure has returned so far.
    fn end(&self, saturation: &Saturation<Weight<Ndd>>) -> Option<Weight<Ndd>> {
        let main = self.proc == self.model.program.main();
        let exit = main.then(|| self.model.program.procs()[self.proc].exit.0);
        saturation.automaton.weight(0, exit, 1).cloned()
    }

    /// Whether a relation that contains the summary was found exactly.
    fn is_reached(&self, weight: &Weight<Ndd>) -> Result<bool, Interrupted> {
        let relations = relations(self.model, &self.scopes);
        for (_, saturation) in &self.exact {
            let Some(found) = self.end(saturation) else { continue };
            let writes = Relations::<Ndds>::union(&found.writes, &weight.writes);
            let [found, all] = [&found, weight].map(|one| relations.padded(one, &writes));
            if relations.store.is_subset(&all?, &found?)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What the budget leaves: a relation that contains the summary, or the larger part of it.
    fn so_far(&self, guessed: Option<(Weight<Ndd>, u32)>, share: &Share) -> (Option<Weight<Ndd>>, Extent) {
        if let Some((weight, _)) = guessed {
            return (Some(weight), Extent::AtMost);
        }
        let found = self.exact.iter().filter_map(|(_, saturation)| self.end(saturation));
        let largest = found.max_by_key(|weight| weight.set.size());
        (largest, Extent::AtLeast(share.meter.why()))
    }
}

/// Transitions in the order of control flow.
struct Ranked<'r> {
    order: &'r [u32],
}

impl<D: Domain<Stop = Stop>> Watch<D> for &Ranked<'_> {
    fn rank(&self, transition: Transition, increments: usize) -> u64 {
        rank(self.order, transition, increments)
    }
    fn turn(&mut self, _: Transition) -> Result<(), Stop> {
        Ok(())
    }
    fn grown(&mut self, _: Transition) -> Result<(), Stop> {
        Ok(())
    }
}

/// What can be told of a set, as far as some registers go.
pub(super) fn described(store: &Ndds, registers: &Registers, set: &Ndd, shown: &[Shown]) -> Described {
    let mut told = Described::unknown(shown);
    // Whatever is not done in time is left out.
    let _ = describe(store, registers, set, shown, &mut told);
    told
}

/// The automaton of a set as a graph, as far as some registers go; nothing, if there is no time to make it.
fn picture(store: &Ndds, registers: &Registers, set: &Ndd, shown: &[Shown]) -> String {
    let Ok(set) = only(store, registers, set, shown) else { return String::new() };
    set.dot(|at| {
        let (slot, time) = slot_of(at);
        let register = registers.owner(slot);
        let one = shown.iter().find(|one| one.register == register && one.time == time);
        let name = one.map_or("", |one| &one.name);
        match registers.slots_of(register) {
            [_] => name.to_owned(),
            slots => format!("{name}.{}", slots.iter().take_while(|&&other| other != slot).count()),
        }
    })
}

/// A set, as far as some registers go.
fn only(store: &Ndds, registers: &Registers, set: &Ndd, shown: &[Shown]) -> Result<Ndd, Interrupted> {
    store.project(set, |at: Column| {
        let (slot, time) = slot_of(at);
        !shown.iter().any(|one| one.register == registers.owner(slot) && one.time == time)
    })
}

fn describe(
    store: &Ndds,
    registers: &Registers,
    set: &Ndd,
    shown: &[Shown],
    told: &mut Described,
) -> Result<(), Interrupted> {
    let set = only(store, registers, set, shown)?;
    told.members = members_in_bits(store, registers, &set, shown)?;
    let free = column(registers.slots(), Time::Old);
    let (mut set, mut universe) = (set, store.constant(true));
    let mut places: Vec<(Column, usize)> = Vec::new();
    let support = set.support();
    for (place, one) in shown.iter().enumerate() {
        let columns: Vec<Column> =
            registers.slots_of(one.register).iter().map(|&slot| column(slot, one.time)).collect();
        let ty = registers.ty(one.register);
        if ty == Type::Integer {
            places.push((columns[0], place));
        } else if support.iter().any(|at| columns.contains(at)) {
            let number = free + 1 + 2 * place as Column;
            set = as_number(store, &set, &columns, matches!(ty, Type::Int(_)), number)?;
            let above = store.linear(&[(-1, number)], Compare::AtMost(-ty.min().get()))?;
            let below = store.linear(&[(1, number)], Compare::AtMost(ty.max().get()))?;
            universe = store.all([&universe, &above, &below])?;
            places.push((number, place));
        }
    }
    let place = |at: Column| places.iter().find(|(column, _)| *column == at).map_or(0, |(_, place)| *place);
    told.members = members(store, &set, &places)?;
    let (most, most_paired) = (MOST_CASES, MOST_PAIRED);
    let cover = Cover { store, universe: &universe, free, rank: &place, most, most_paired };
    let cases = cover.cases(&set)?;
    told.cases = cases.map(|cases| {
        let renamed = |constraint: Constraint| {
            let terms = constraint.terms.iter().map(|&(factor, at)| (factor, place(at) as Column));
            Constraint { terms: terms.collect(), ..constraint }
        };
        cases.into_iter().map(|case| case.into_iter().map(renamed).collect()).collect()
    });
    Ok(())
}

/// The set with a number in place of the bits of a bounded integer, the least significant first. The column behind that of the number is
/// free.
fn as_number(
    store: &Ndds,
    set: &Ndd,
    bits: &[Column],
    is_signed: bool,
    number: Column,
) -> Result<Ndd, Interrupted> {
    let mut set = store.and(set, &store.linear(&[(1, number)], Compare::Equal(0))?)?;
    for (place, &bit) in bits.iter().enumerate() {
        let value = 1i64 << place;
        let value = if is_signed && place + 1 == bits.len() { -value } else { value };
        let plus = |value| store.linear(&[(1, number + 1), (-1, number)], Compare::Equal(value));
        let one = store.all([&set, &store.bit(bit), &plus(value)?])?;
        let zero = store.and(&store.minus(&set, &store.bit(bit))?, &plus(0)?)?;
        let sum = store.project(&store.or(&one, &zero)?, |at| at == bit || at == number)?;
        set = store.relabel(&sum, |at| if at == number + 1 { number } else { at });
    }
    Ok(set)
}

/// A few members of a set, none if it has unbounded integers: for sets of which numbers are too much work.
fn members_in_bits(
    store: &Ndds,
    registers: &Registers,
    set: &Ndd,
    shown: &[Shown],
) -> Result<Vec<Vec<(usize, i128)>>, Interrupted> {
    let (mut left, mut found) = (set.clone(), Vec::new());
    if shown.iter().any(|one| registers.ty(one.register) == Type::Integer) {
        return Ok(found);
    }
    while found.len() < MEMBERS
        && let Some(member) = left.member()
    {
        let (mut point, mut values) = (store.constant(true), Vec::new());
        for (place, one) in shown.iter().enumerate() {
            let slots = registers.slots_of(one.register);
            let bits: Vec<Option<i128>> =
                slots.iter().map(|&slot| member.number(column(slot, one.time))).collect();
            if bits.iter().all(Option::is_none) {
                continue;
            }
            let bits: Vec<bool> = bits.into_iter().map(|bit| bit.is_some_and(|bit| bit != 0)).collect();
            for (&slot, &bit) in slots.iter().zip(&bits) {
                let set = store.bit(column(slot, one.time));
                point = store.and(&point, &if bit { set } else { store.not(&set)? })?;
            }
            let value = from_bits(registers.ty(one.register), bits.into_iter());
            values.push((place, i128::from(value.get())));
        }
        left = store.minus(&left, &point)?;
        found.push(values);
    }
    Ok(found)
}

/// A few members of a set, the smallest first.
fn members(
    store: &Ndds,
    set: &Ndd,
    places: &[(Column, usize)],
) -> Result<Vec<Vec<(usize, i128)>>, Interrupted> {
    let (mut left, mut found) = (set.clone(), Vec::new());
    while found.len() < MEMBERS
        && let Some(member) = left.member()
    {
        let known = places.iter().filter_map(|&(at, place)| Some((at, place, member.number(at)?)));
        let known: Vec<(Column, usize, i128)> = known.collect();
        let mut point = store.constant(true);
        for &(at, _, value) in &known {
            let Ok(value) = i64::try_from(value) else { return Ok(found) };
            point = store.and(&point, &store.linear(&[(1, at)], Compare::Equal(value))?)?;
        }
        left = store.minus(&left, &point)?;
        found.push(known.into_iter().map(|(_, place, value)| (place, value)).collect());
    }
    Ok(found)
}
