//! Room `engine/weighted`: loops that add constants, taken any number of times at once.
//!
//! # Idea
//!
//! An edge that leads back to its own location, and adds a constant to each number it writes, moves every valuation in the same direction.
//! After k rounds it has moved k times as far, and the rounds were possible if the guard held at the start of each. If the guard is *convex in
//! this direction*, which can be checked, it is enough that it held at the start of the first and of the last. All of this is said by
//! linear constraints over the values before, the values afterwards, and k; with k projected away it is the exact relation of one or more rounds, and saturation is
//! done with the loop in one step.
//!
//! # Paper
//!
//! \[boigelot-acceleration\]. # Departures: for one edge at a time; whether it is such a loop is read off its diagram.

use super::registers::{Register, Registers, Time, column, shown};
use super::sets::Sets;
use super::weight::Weight;
use postbop_ir::Type;
use postbop_kit::ndd::{Column, Compare, Interrupted};

/// A loop that adds constants.
pub struct Rounds<T> {
    /// The relation of one or more rounds.
    pub weight: Weight<T>,
    /// What one round adds to which number.
    pub added: Vec<(Register, i64)>,
}

/// The constants that a relation adds to the numbers it writes; none if it does something else.
fn added<S: Sets>(
    store: &S,
    registers: &Registers,
    weight: &Weight<S::Set>,
) -> Result<Option<Vec<(Register, i64)>>, Interrupted> {
    let numbers = weight.writes.iter().all(|&register| registers.ty(register) == Type::Integer);
    if !numbers || weight.writes.is_empty() {
        return Ok(None);
    }
    let Some(member) = store.member(&weight.set) else { return Ok(None) };
    let mut all = Vec::new();
    for &register in weight.writes.iter() {
        let [old, new] = columns(registers, register);
        let difference = member.number(new).unwrap_or(0) - member.number(old).unwrap_or(0);
        let Ok(constant) = i64::try_from(difference) else { return Ok(None) };
        let adds = store.linear(&[(1, new), (-1, old)], Compare::Equal(constant))?;
        if constant.unsigned_abs() > 1 << 30 || !store.is_subset(&weight.set, &adds)? {
            return Ok(None);
        }
        all.push((register, constant));
    }
    Ok(all.iter().any(|&(_, constant)| constant != 0).then_some(all))
}

/// The relation of one or more rounds; none if the relation of one round adds something else than constants, or if its guard
/// is not convex in that direction.
pub fn rounds<S: Sets>(
    store: &S,
    registers: &Registers,
    weight: &Weight<S::Set>,
) -> Result<Option<Rounds<S::Set>>, Interrupted> {
    let Some(added) = added(store, registers, weight)? else { return Ok(None) };
    let count = column(registers.slots(), Time::Old);
    let written = |column: Column| {
        let (slot, time) = shown(column);
        column != count && time == Time::New && weight.writes(registers.owner(slot))
    };
    let guard = store.project(&weight.set, written)?;
    let mut ahead: Vec<(Column, Column)> = added
        .iter()
        .map(|&(register, _)| {
            let [old, new] = columns(registers, register);
            (old, new)
        })
        .collect();
    ahead.sort_unstable();
    let ahead = store.relabel(&guard, &ahead)?;
    // The new values, when so many rounds more than `count` were taken.
    let moved = |more: i64| -> Result<S::Set, Interrupted> {
        let mut all = store.constant(true);
        for &(register, constant) in &added {
            let [old, new] = columns(registers, register);
            let terms = [(1, new), (-1, old), (-constant, count)];
            all = store.and(&all, &store.linear(&terms, Compare::Equal(constant * more))?)?;
        }
        Ok(all)
    };
    let at_least = |least: i64| store.linear(&[(-1, count)], Compare::AtMost(-least));
    // Where the guard holds after so many rounds more than `count`.
    let later = |more: i64| -> Result<S::Set, Interrupted> {
        store.project(&store.and(&moved(more)?, &ahead)?, written)
    };
    let once = store.linear(&[(1, count)], Compare::Equal(1))?;
    let next = store.project(&store.and(&later(0)?, &once)?, |column| column == count)?;
    let again = store.project(&store.and(&later(0)?, &at_least(2)?)?, |column| column == count)?;
    let left = store.minus(&guard, &next)?;
    if !store.is_empty(&store.and(&left, &again)?) {
        return Ok(None);
    }
    let range = store.and(&later(-1)?, &at_least(1)?)?;
    let all = store.and(&store.and(&guard, &range)?, &moved(0)?)?;
    let set = store.project(&all, |column| column == count)?;
    Ok(Some(Rounds { weight: Weight { set, ..weight.clone() }, added }))
}

/// The columns of a number before and afterwards.
fn columns(registers: &Registers, register: Register) -> [Column; 2] {
    let slot = registers.slots_of(register)[0];
    [Time::Old, Time::New].map(|time| column(slot, time))
}
