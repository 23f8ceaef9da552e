//! Room `engine/weighted`: what the steps of a run chose, and how often loops were taken.
//!
//! The values before and after a step are known when its choices are sought. So the conjuncts of its relation have nothing more in
//! common, and each says by itself what its choices are.

use super::registers::{Time, column, from_bits, shown};
use super::sets::{Fixed, Sets};
use super::system::Open;
use super::trace::{Lost, Settled, Walker};
use super::weight::Weight;
use postbop_ir::{Action, EdgeId, Type, Value};
use postbop_kit::ndd::{Column, Member};
use std::collections::BTreeSet;

/// More rounds of a loop than these are not written down.
const MOST_ROUNDS: usize = 10_000_000;

impl<S: Sets> Walker<'_, S> {
    /// The outcomes of an edge's choices, given the relation before it and the member that leads over it.
    pub(super) fn choices(
        &self,
        edge: EdgeId,
        open: &Open<S::Set>,
        first: &Weight<S::Set>,
        member: &Member,
        after: &Settled,
    ) -> Result<Vec<Option<Value>>, Lost> {
        if let Action::Havoc(vars) = &self.model.program.edges()[edge].action {
            return Ok(vars.iter().map(|var| self.value(after, var.0)).collect());
        }
        if open.choices.is_empty() {
            return Ok(Vec::new());
        }
        let store = self.model.store();
        let registers = &self.model.registers;
        let parts = open.parts.iter().map(|part| self.relations.moved(first, part));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let mut fixed = Fixed::default();
        let mentioned: BTreeSet<Column> = parts.iter().flat_map(|part| store.support(part)).collect();
        for at in mentioned.into_iter().filter(|&at| shown(at).0 < registers.slots()) {
            let (slot, time) = shown(at);
            let register = registers.owner(slot);
            let old = if first.writes(register) { Time::New } else { Time::Old };
            if time != old || !open.dead.contains(&register) {
                let number = i64::try_from(member.number(at).unwrap_or(0)).map_err(|_| Lost::TooLarge)?;
                self.fix(&mut fixed, &Settled::from([(slot, number)]), |_| time);
            }
        }
        // Old values that mean nothing are not fixed, and parts may have them in common.
        let alone = parts.iter().map(|part| store.common(&[part], &fixed));
        let alone = alone.collect::<Result<Option<Vec<_>>, _>>()?;
        let shared = open.dead.is_empty().then_some(alone).flatten();
        let found = match shared {
            Some(found) => found,
            None => {
                let parts: Vec<&S::Set> = parts.iter().collect();
                vec![store.common(&parts, &fixed)?.ok_or(Lost::Nowhere)?]
            }
        };
        let found: Member = found.iter().flat_map(Member::numbers).collect();
        open.choices.iter().map(|&(ty, first)| choice(ty, first, &found).map(Some)).collect()
    }

    /// How often a loop was taken, given the relation before it and the member that shows it; none if that is too often.
    pub(super) fn rounds(&self, edge: EdgeId, first: &Weight<S::Set>, member: &Member) -> Option<usize> {
        let (register, constant) =
            *self.model.rounds[&edge].added.iter().find(|(_, constant)| *constant != 0)?;
        let slot = self.model.registers.slots_of(register)[0];
        let times = if first.writes(register) { [Time::New, Time::Later] } else { [Time::Old, Time::New] };
        let [old, new] = times.map(|time| member.number(column(slot, time)).unwrap_or(0));
        usize::try_from((new - old) / i128::from(constant)).ok().filter(|&count| count <= MOST_ROUNDS)
    }
}

/// The outcome of a choice whose columns begin here.
fn choice(ty: Type, first: Column, member: &Member) -> Result<Value, Lost> {
    match ty.bits() {
        None => {
            let number = member.number(first).unwrap_or(0);
            i64::try_from(number).map(Value::new).map_err(|_| Lost::TooLarge)
        }
        Some(count) => {
            let bits = first..first + Column::from(count);
            Ok(from_bits(ty, bits.map(|at| member.bit(at) == Some(true))))
        }
    }
}
