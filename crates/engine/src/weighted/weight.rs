//! Room `engine/weighted`: relations between valuations, as weights.
//!
//! # Idea
//!
//! A weight relates the valuation before to the one afterwards. It *writes* some registers: their new values are in the columns for new values,
//! and every other register keeps its value without being mentioned. So a relation costs what it says, and a register that no rule on the way touches
//! costs nothing. It may also *forget* registers: locals that are dead, and what a call has handed over.
//!
//! One relation after another: what the first writes is old for the second. The columns of the second move on by one point in time where the first has
//! written, the two are conjoined, values in between that the second overwrites are projected away, and what is latest becomes new. That is the paper's four cases in one
//! rule, with one difference: a register that is read but not written needs no column for its new value.
//!
//! Two relations that write different registers are summed after each was told that it leaves the registers of the other as they are.
//!
//! # Call operator
//!
//! A procedure is started with the identity on the valuations it is called with, which here is a set over old values, and writes nothing. Only
//! globals that the procedure can touch and its arguments are kept of the caller's valuation. Unrestricted, it is started
//! with the identity on everything.
//!
//! # Paper
//!
//! \[ndd-moped\] section 4, extend operation and call operators.

use super::guess::{Guess, Piece};
use super::registers::{Register, Registers, Time, column, shown};
use postbop_kit::ndd::{Compare, Interrupted, Ndd, Ndds};
use postbop_kit::pushdown::{Domain, Grown, Origin, Symbol};
use std::rc::Rc;

/// A relation between valuations.
#[derive(Clone, Debug)]
pub struct Weight {
    /// Over old values, and over new values of what is written.
    pub set: Ndd,
    /// The registers that are written, in order.
    pub writes: Rc<[Register]>,
    /// The registers that mean nothing afterwards, in order. Relations from the start of an activation have none: what an activation
    /// forgets, nothing outside it knows.
    pub forgets: Rc<[Register]>,
    /// While summaries are guessed: the set in pieces, by the ways they came.
    pub pieces: Rc<[Piece]>,
}

impl Weight {
    /// A relation that writes some registers.
    pub fn new(set: Ndd, writes: Rc<[Register]>) -> Self {
        Weight { set, writes, forgets: [].into(), pieces: [].into() }
    }

    /// Whether a register is written.
    pub fn writes(&self, register: Register) -> bool {
        self.writes.binary_search(&register).is_ok()
    }

    /// Whether a register is forgotten.
    pub fn forgets(&self, register: Register) -> bool {
        self.forgets.binary_search(&register).is_ok()
    }

    /// The time at which a register shows its value after the relation.
    pub fn present(&self, register: Register) -> Time {
        if self.writes(register) { Time::New } else { Time::Old }
    }
}

/// For what a procedure is evaluated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Calls {
    /// For the valuations with which it is called.
    Restricted,
    /// For every valuation.
    Unrestricted,
}

/// Why saturation stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// A limit was reached.
    Interrupted,
    /// Every target was reached.
    Over,
}

impl From<Interrupted> for Stop {
    fn from(_: Interrupted) -> Self {
        Stop::Interrupted
    }
}

/// Relations as a domain of weights.
pub struct Relations<'r, 'a> {
    pub store: &'r Ndds<'a>,
    pub registers: &'r Registers,
    /// For each symbol with which a procedure starts, the registers that it can look at, in order.
    pub scopes: &'r [Vec<Register>],
    pub calls: Calls,
    /// If sums are extrapolated: where, and how.
    pub guess: Option<Guess<'r>>,
}

impl<'a> Relations<'_, 'a> {
    /// The relation of one and then another one, with the values in between.
    pub fn joined(&self, first: &Ndd, writes: &Weight, then: &Ndd) -> Result<Ndd, Interrupted> {
        self.store.and(first, &self.moved(writes, then))
    }

    /// The columns of a relation when it comes after another one.
    pub fn moved(&self, first: &Weight, then: &Ndd) -> Ndd {
        let slots = 3 * self.registers.slots();
        self.store.relabel(then, |at| {
            // Choices stay where they are.
            if at >= slots || !first.writes(self.registers.owner(shown(at).0)) { at } else { at + 1 }
        })
    }

    /// The relation, told that it leaves some more registers as they are.
    pub fn padded(&self, weight: &Weight, writes: &Rc<[Register]>) -> Result<Ndd, Interrupted> {
        let mut set = weight.set.clone();
        for &register in writes.iter().filter(|&&register| !weight.writes(register)) {
            set = self.store.and(&set, &self.keeps(register)?)?;
        }
        Ok(set)
    }

    /// That a register has the same value as before.
    pub fn keeps(&self, register: Register) -> Result<Ndd, Interrupted> {
        let mut all = self.store.constant(true);
        for &slot in self.registers.slots_of(register) {
            let [old, new] = [Time::Old, Time::New].map(|time| column(slot, time));
            let same = match self.registers.ty(register).bits() {
                None => self.store.linear(&[(1, old), (-1, new)], Compare::Equal(0))?,
                Some(_) => {
                    let differ = self.store.xor(&self.store.bit(old), &self.store.bit(new))?;
                    self.store.not(&differ)?
                }
            };
            all = self.store.and(&all, &same)?;
        }
        Ok(all)
    }

    /// The valuations that a relation leads to, as far as some registers go, as old values.
    pub fn image(&self, weight: &Weight, scope: &[Register]) -> Result<Ndd, Interrupted> {
        let kept = |at| {
            let (slot, time) = shown(at);
            let register = self.registers.owner(slot);
            scope.binary_search(&register).is_ok() && time == weight.present(register)
        };
        let image = self.store.project(&weight.set, |at| !kept(at))?;
        Ok(self.store.relabel(&image, |at| column(shown(at).0, Time::Old)))
    }

    /// The union of two lists of registers.
    pub fn union(one: &Rc<[Register]>, other: &Rc<[Register]>) -> Rc<[Register]> {
        if one == other {
            return Rc::clone(one);
        }
        let mut all = [&one[..], &other[..]].concat();
        all.sort_unstable();
        all.dedup();
        all.into()
    }
}

impl Domain for Relations<'_, '_> {
    type Weight = Weight;
    type Stop = Stop;

    fn one(&mut self) -> Weight {
        Weight::new(self.store.constant(true), [].into())
    }

    fn extend(&mut self, first: &Weight, then: &Weight) -> Result<Option<Weight>, Stop> {
        let both = self.joined(&first.set, first, &then.set)?;
        if both.is_empty() {
            return Ok(None);
        }
        // Of what the first has written, the second overwrites some, and forgets some.
        let between = |at| {
            let (slot, time) = shown(at);
            let register = self.registers.owner(slot);
            time == Time::New && first.writes(register) && (then.writes(register) || then.forgets(register))
        };
        let set = self.store.project(&both, between)?;
        let set = self.store.relabel(&set, |at| {
            let (slot, time) = shown(at);
            if time == Time::Later { column(slot, Time::New) } else { at }
        });
        let kept: Rc<[Register]> =
            first.writes.iter().copied().filter(|&register| !then.forgets(register)).collect();
        let writes = Self::union(&kept, &then.writes);
        Ok(Some(Weight::new(set, writes)))
    }

    fn add(&mut self, one: &Weight, other: &Weight) -> Result<Weight, Stop> {
        let writes = Self::union(&one.writes, &other.writes);
        let set = self.store.or(&self.padded(one, &writes)?, &self.padded(other, &writes)?)?;
        Ok(Weight::new(set, writes))
    }

    fn combine(
        &mut self,
        known: Option<&Weight>,
        new: Weight,
        origin: Origin,
    ) -> Result<Option<Grown<Weight>>, Stop> {
        if let Some(guess) = self.guess.as_ref().filter(|guess| guess.extrapolates(origin.transition)) {
            return Ok(guess.combine(self, known, new, origin.way)?);
        }
        let Some(known) = known else {
            let grown = Grown { sum: new.clone(), difference: new.clone() };
            return Ok((!new.set.is_empty()).then_some(grown));
        };
        let writes = Self::union(&known.writes, &new.writes);
        let (old, more) = (self.padded(known, &writes)?, self.padded(&new, &writes)?);
        if self.store.is_subset(&more, &old)? {
            return Ok(None);
        }
        let difference = self.store.minus(&more, &old)?;
        let sum = self.store.or(&old, &more)?;
        let weight = |set| Weight::new(set, Rc::clone(&writes));
        Ok(Some(Grown { sum: weight(sum), difference: weight(difference) }))
    }

    fn enter(&mut self, caller: &Weight, symbol: Symbol) -> Result<Weight, Stop> {
        let set = match self.calls {
            Calls::Restricted => self.image(caller, &self.scopes[symbol as usize])?,
            Calls::Unrestricted => self.store.constant(true),
        };
        Ok(Weight::new(set, [].into()))
    }
}
