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

use super::guess::Piece;
use super::registers::{Register, Registers, Time, column, shown};
use super::sets::{Moves, Sets};
use postbop_kit::ndd::{Column, Compare, Interrupted};
use postbop_kit::pushdown::{Domain, Grown, Origin, Symbol};
use std::rc::Rc;

/// A relation between valuations.
#[derive(Clone, Debug)]
pub struct Weight<T> {
    /// Over old values, and over new values of what is written.
    pub set: T,
    /// The registers that are written, in order.
    pub writes: Rc<[Register]>,
    /// The registers that mean nothing afterwards, in order. Relations from the start of an activation have none: what an activation
    /// forgets, nothing outside it knows.
    pub forgets: Rc<[Register]>,
    /// While summaries are guessed: the set in pieces, by the ways they came.
    pub pieces: Rc<[Piece<T>]>,
}

impl<T> Weight<T> {
    /// A relation that writes some registers.
    pub fn new(set: T, writes: Rc<[Register]>) -> Self {
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
    /// There are many sets that are not needed any more.
    Full,
}

impl From<Interrupted> for Stop {
    fn from(_: Interrupted) -> Self {
        Stop::Interrupted
    }
}

/// Relations as a domain of weights.
pub struct Relations<'r, S: Sets> {
    pub store: &'r S,
    pub registers: &'r Registers,
    /// For each symbol with which a procedure starts, the registers that it can look at, in order.
    pub scopes: &'r [Vec<Register>],
    pub calls: Calls,
}

impl<S: Sets> Relations<'_, S> {
    /// The columns of a relation when it comes after another one.
    pub fn moved(&self, first: &Weight<S::Set>, then: &S::Set) -> Result<S::Set, Interrupted> {
        self.store.relabel(then, &self.shifts(&first.writes))
    }

    /// One point in time later, for some registers.
    fn shifts(&self, writes: &[Register]) -> Vec<(Column, Column)> {
        let slots = writes.iter().flat_map(|&register| self.registers.slots_of(register));
        let columns = slots.flat_map(|&slot| [Time::Old, Time::New].map(|time| column(slot, time)));
        let mut shifts: Vec<(Column, Column)> = columns.map(|at| (at, at + 1)).collect();
        shifts.sort_unstable();
        shifts
    }

    /// The columns of some registers at some time, in order.
    fn columns(&self, registers: impl Iterator<Item = Register>, time: Time) -> Vec<Column> {
        let slots = registers.flat_map(|register| self.registers.slots_of(register));
        let mut columns: Vec<Column> = slots.map(|&slot| column(slot, time)).collect();
        columns.sort_unstable();
        columns
    }

    /// The relation, told that it leaves some more registers as they are.
    pub fn padded(&self, weight: &Weight<S::Set>, writes: &Rc<[Register]>) -> Result<S::Set, Interrupted> {
        let mut set = weight.set.clone();
        if Rc::ptr_eq(&weight.writes, writes) {
            return Ok(set);
        }
        for &register in writes.iter().filter(|&&register| !weight.writes(register)) {
            set = self.store.and(&set, &self.keeps(register)?)?;
        }
        Ok(set)
    }

    /// That a register has the same value as before.
    pub fn keeps(&self, register: Register) -> Result<S::Set, Interrupted> {
        let mut all = self.store.constant(true);
        for &slot in self.registers.slots_of(register) {
            let [old, new] = [Time::Old, Time::New].map(|time| column(slot, time));
            let same = match self.registers.ty(register).bits() {
                None => self.store.linear(&[(1, old), (-1, new)], Compare::Equal(0))?,
                Some(_) => {
                    let differ = self.store.xor(&self.store.bit(old)?, &self.store.bit(new)?)?;
                    self.store.not(&differ)?
                }
            };
            all = self.store.and(&all, &same)?;
        }
        Ok(all)
    }

    /// The valuations that a relation leads to, as far as some registers go, as old values.
    pub fn image(&self, weight: &Weight<S::Set>, scope: &[Register]) -> Result<S::Set, Interrupted> {
        let kept = |at| {
            let (slot, time) = shown(at);
            let register = self.registers.owner(slot);
            scope.binary_search(&register).is_ok() && time == weight.present(register)
        };
        let image = self.store.project(&weight.set, |at| !kept(at))?;
        let new = self.columns(weight.writes.iter().copied(), Time::New);
        let back: Vec<(Column, Column)> = new.into_iter().map(|at| (at, at - 1)).collect();
        self.store.relabel(&image, &back)
    }

    /// The union of two lists of registers.
    pub fn union(one: &Rc<[Register]>, other: &Rc<[Register]>) -> Rc<[Register]> {
        if one == other || other.is_empty() {
            return Rc::clone(one);
        }
        if one.is_empty() {
            return Rc::clone(other);
        }
        let mut all = [&one[..], &other[..]].concat();
        all.sort_unstable();
        all.dedup();
        all.into()
    }
}

impl<S: Sets> Domain for Relations<'_, S> {
    type Weight = Weight<S::Set>;
    type Stop = Stop;

    fn one(&mut self) -> Self::Weight {
        Weight::new(self.store.constant(true), [].into())
    }

    fn extend(&mut self, first: &Self::Weight, then: &Self::Weight) -> Result<Option<Self::Weight>, Stop> {
        let second = self.moved(first, &then.set)?;
        // Of what the first has written, the second overwrites some, and forgets some.
        let written = || first.writes.iter().copied();
        let lost = |register: &Register| then.writes(*register) || then.forgets(*register);
        let between = self.columns(written().filter(lost), Time::New);
        let later = self.columns(written().filter(|&register| then.writes(register)), Time::Later);
        let latest: &Moves = &later.into_iter().map(|at| (at, at - 1)).collect::<Vec<_>>();
        let set = self.store.product(&first.set, &second, &between, latest)?;
        if self.store.is_empty(&set) {
            return Ok(None);
        }
        let writes = match then.forgets.is_empty() {
            true => Self::union(&first.writes, &then.writes),
            false => {
                let kept: Rc<[Register]> = written().filter(|&register| !then.forgets(register)).collect();
                Self::union(&kept, &then.writes)
            }
        };
        Ok(Some(Weight::new(set, writes)))
    }

    fn add(&mut self, one: &Self::Weight, other: &Self::Weight) -> Result<Self::Weight, Stop> {
        let writes = Self::union(&one.writes, &other.writes);
        let set = self.store.or(&self.padded(one, &writes)?, &self.padded(other, &writes)?)?;
        Ok(Weight::new(set, writes))
    }

    fn combine(
        &mut self,
        known: Option<&Self::Weight>,
        new: Self::Weight,
        _: Origin,
    ) -> Result<Option<Grown<Self::Weight>>, Stop> {
        let Some(known) = known else {
            let is_empty = self.store.is_empty(&new.set);
            return Ok((!is_empty).then(|| Grown { sum: new.clone(), difference: new }));
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

    fn enter(&mut self, caller: &Self::Weight, symbol: Symbol) -> Result<Self::Weight, Stop> {
        let set = match self.calls {
            Calls::Restricted => self.image(caller, &self.scopes[symbol as usize])?,
            Calls::Unrestricted => self.store.constant(true),
        };
        Ok(Weight::new(set, [].into()))
    }
}
