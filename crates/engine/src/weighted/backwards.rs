//! Room `engine/weighted`: relations as weights of runs that lead to given configurations.
//!
//! # Idea
//!
//! Backwards, a transition relates the values on its left, globals and the locals of the symbol that it reads, to the globals on
//! its right, when this symbol was removed. So it forgets the locals: which those are depends on its symbol alone. A transition to a state that is not a
//! control leads into what was given. There the globals do not matter any more, and are forgotten too.
//!
//! Forwards nothing of this is needed: what an activation forgets, nothing outside it knows.
//!
//! # Paper
//!
//! \[schwoon\] section 3.3, symbolic `pre*`.

use super::registers::Register;
use super::sets::Sets;
use super::weight::{Relations, Stop, Weight};
use postbop_kit::pushdown::{Domain, Grown, Origin, Symbol};
use std::rc::Rc;

/// Relations of runs to given configurations.
pub struct Backwards<'r, S: Sets> {
    pub relations: Relations<'r, S>,
    /// How many controls there are.
    pub controls: u32,
    /// For each symbol the registers of its locals; and the same with those of globals.
    pub forgets: &'r [[Rc<[Register]>; 2]],
}

impl<S: Sets> Domain for Backwards<'_, S> {
    type Weight = Weight<S::Set>;
    type Stop = Stop;

    fn one(&mut self) -> Self::Weight {
        self.relations.one()
    }

    fn extend(&mut self, first: &Self::Weight, then: &Self::Weight) -> Result<Option<Self::Weight>, Stop> {
        self.relations.extend(first, then)
    }

    fn add(&mut self, one: &Self::Weight, other: &Self::Weight) -> Result<Self::Weight, Stop> {
        Ok(Weight { forgets: Rc::clone(&one.forgets), ..self.relations.add(one, other)? })
    }

    fn combine(
        &mut self,
        known: Option<&Self::Weight>,
        new: Self::Weight,
        origin: Origin,
    ) -> Result<Option<Grown<Self::Weight>>, Stop> {
        let Some(Grown { sum, difference }) = self.relations.combine(known, new, origin)? else {
            return Ok(None);
        };
        let symbol = origin.transition.symbol.expect("no transition reads the empty word");
        let ends = usize::from(origin.transition.to >= self.controls);
        let forgets = &self.forgets[symbol as usize][ends];
        let forgetting = |weight| Weight { forgets: Rc::clone(forgets), ..weight };
        Ok(Some(Grown { sum: forgetting(sum), difference: forgetting(difference) }))
    }

    fn enter(&mut self, caller: &Self::Weight, symbol: Symbol) -> Result<Self::Weight, Stop> {
        self.relations.enter(caller, symbol)
    }
}
