//! Room `engine/weighted`: the configurations that a program reaches, as an automaton whose transitions carry relations.
//!
//! # Idea
//!
//! The saturated automaton accepts exactly the stacks that can be reached: a location on top leads to the activation it is in, and an activation by what is below it to that of its caller.
//! What a transition carries relates the values with which the activation that it leads to was entered to those at this point: of the
//! top, the present ones; below, those with which the next activation was entered, and the locals that wait there. A
//! stack with its values is reached if along its transitions these values fit together.
//!
//! For this every value matters, also those that the program does not look at again.

use super::registers::{Time, column};
use super::summary::{Described, Ranked, Shown, described, inputs};
use super::system::Model;
use super::weight::Weight;
use super::{MOST_SLOTS, Registers, order, relations, start};
use crate::budget::{Budget, Meter};
use crate::verdict::Why;
use postbop_ir::{EdgeId, LocId, ProcId, Program, VarId};
use postbop_kit::ndd::{Interrupted, Ndd, Ndds};
use postbop_kit::pushdown::Transition;
use rustc_hash::FxHashMap as HashMap;

/// What a transition reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Letter {
    /// The location on top.
    Top(LocId),
    /// Below an activation of a procedure: the call that waits for it.
    Below(ProcId, EdgeId),
}

/// A transition of the automaton.
#[derive(Clone, Debug)]
pub struct Reached {
    /// What it reads.
    pub letter: Letter,
    /// The procedure of the activation that it leads to.
    pub within: ProcId,
    /// The value of the variable by which values were told apart.
    pub value: Option<u64>,
    /// The values with which that activation was entered; those at this point have a prime, and the locals that wait below another activation
    /// two. A global without a prime has not changed.
    pub values: Described,
}

/// The configurations that a sequential program reaches. `locals` says which letters are wanted, and with which locals. At
/// one location a variable may tell several transitions apart, and is not shown itself there or elsewhere.
pub fn reached(
    program: &Program,
    locals: impl Fn(Letter) -> Option<Vec<VarId>>,
    apart: Option<(LocId, VarId)>,
    budget: &Budget,
) -> Result<Vec<Reached>, Why> {
    let quiet = |_| ();
    let meter = Meter::new(budget, &quiet);
    let goes_on = |work| meter.goes_on(work);
    let store = Ndds::new(&goes_on);
    if Registers::needed(program) > MOST_SLOTS {
        return Err(Why::Unsupported(format!("more than {MOST_SLOTS} bits and integers in one procedure")));
    }
    let mut model = Model::new(program, &store);
    model.observe_all();
    let system = model.rules().map_err(|_| meter.why())?;
    let (scopes, (order, _)) = (model.entries(), order(&model));
    let mut saturation = start(&model, program.main());
    let mut relations = relations(&model, &scopes);
    let ranked = &Ranked { order: &order };
    saturation.run(&mut relations, &system, &mut &*ranked).map_err(|_| meter.why())?;
    let mut procs: HashMap<u32, ProcId> = HashMap::from_iter([(1, program.main())]);
    let entering: HashMap<u32, ProcId> =
        program.procs().ids().map(|proc| (model.entering(proc), proc)).collect();
    procs.extend(saturation.activations().map(|(state, (_, symbol))| (state, entering[&symbol])));
    let calls: HashMap<u32, EdgeId> = program.edges().ids().map(|edge| (model.back(edge), edge)).collect();
    let mut found = Vec::new();
    for (Transition { from, symbol, to }, weight) in saturation.automaton.transitions() {
        let Some(symbol) = symbol else { continue };
        let letter = match procs.get(&from) {
            Some(&callee) => Letter::Below(callee, calls[&symbol]),
            None => match model.loc(symbol) {
                Some(loc) => Letter::Top(loc),
                None => continue,
            },
        };
        let Some(locals) = locals(letter) else { continue };
        let within = procs[&to];
        let mut shown = shown(&model, weight, letter, within, &locals);
        shown.retain(|one| apart.is_none_or(|(_, var)| one.register != var.0));
        let sets = match apart.filter(|&(loc, _)| letter == Letter::Top(loc)) {
            Some((_, var)) => by_value(&model, weight, var).map_err(|_| meter.why())?,
            None => vec![(None, weight.set.clone())],
        };
        for (value, set) in sets {
            found.push(Reached { letter, within, value, values: described(&model, &set, &shown) });
        }
    }
    meter.check()?;
    found.sort_by_key(|one| (one.letter, one.within, one.value));
    Ok(found)
}

/// A relation in parts, by the values of a variable afterwards.
fn by_value(
    model: &Model<Ndds>,
    weight: &Weight<Ndd>,
    var: VarId,
) -> Result<Vec<(Option<u64>, Ndd)>, Interrupted> {
    let (store, slots) = (model.store(), model.registers.slots_of(var.0));
    let mut parts = vec![(Some(0), weight.set.clone())];
    for (place, &slot) in slots.iter().enumerate() {
        let bit = store.bit(column(slot, weight.present(var.0)));
        let mut halves = Vec::new();
        for (value, set) in parts {
            halves.push((value, store.minus(&set, &bit)?));
            halves.push((value.map(|value: u64| value | 1 << place), store.and(&set, &bit)?));
        }
        halves.retain(|(_, set)| !set.is_empty());
        parts = halves;
    }
    Ok(parts)
}

/// What is shown of a relation: values with which the activation was entered, and values at this point.
fn shown(
    model: &Model<Ndds>,
    weight: &Weight<Ndd>,
    letter: Letter,
    within: ProcId,
    locals: &[VarId],
) -> Vec<Shown> {
    let program = model.program;
    let mut all: Vec<Shown> = match within == program.main() {
        true => Vec::new(),
        false => inputs(model, within),
    };
    let mut show = |register, name: &str, primes: &str| {
        let time = weight.present(register);
        let primes = if time == Time::Old { "" } else { primes };
        if all.iter().all(|one| (one.register, one.time) != (register, time)) {
            all.push(Shown { register, time, name: format!("{name}{primes}") });
        }
    };
    let name = |var: VarId| program.vars()[var].name.as_str();
    for &global in model.scopes.globals(within) {
        show(global.0, name(global), "'");
    }
    let primes = match letter {
        Letter::Top(_) => "'",
        Letter::Below(callee, _) => {
            let params = program.procs()[callee].params().iter();
            for (&param, &arg) in params.zip(model.registers.args(callee)) {
                show(arg, name(param), "'");
            }
            "''"
        }
    };
    locals.iter().for_each(|&local| show(local.0, name(local), primes));
    all
}
