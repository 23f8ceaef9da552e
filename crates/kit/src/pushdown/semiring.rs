//! Room `kit/pushdown`: the simplest weights.

use super::{Domain, Grown, Origin, Symbol};
use std::convert::Infallible;

/// Weights that say only that there is a run.
pub struct Reachable;

impl Domain for Reachable {
    type Weight = ();
    type Stop = Infallible;

    fn one(&mut self) {}
    fn extend(&mut self, (): &(), (): &()) -> Result<Option<()>, Infallible> {
        Ok(Some(()))
    }
    fn add(&mut self, (): &(), (): &()) -> Result<(), Infallible> {
        Ok(())
    }
    fn combine(&mut self, known: Option<&()>, (): (), _: Origin) -> Result<Option<Grown<()>>, Infallible> {
        Ok(known.is_none().then_some(Grown { sum: (), difference: () }))
    }
    fn enter(&mut self, (): &(), _: Symbol) -> Result<(), Infallible> {
        Ok(())
    }
}

/// The length of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Length(pub u64);

/// Weights that say how long the shortest run is. Lengths that do not fit 64 bits stop the work.
pub struct Shortest;

/// A length did not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong;

impl Domain for Shortest {
    type Weight = Length;
    type Stop = TooLong;

    fn one(&mut self) -> Length {
        Length(0)
    }
    fn extend(&mut self, first: &Length, then: &Length) -> Result<Option<Length>, TooLong> {
        first.0.checked_add(then.0).map(|sum| Some(Length(sum))).ok_or(TooLong)
    }
    fn add(&mut self, one: &Length, other: &Length) -> Result<Length, TooLong> {
        Ok(*one.min(other))
    }
    fn combine(
        &mut self,
        known: Option<&Length>,
        new: Length,
        _: Origin,
    ) -> Result<Option<Grown<Length>>, TooLong> {
        let shorter = known.is_none_or(|known| new < *known);
        Ok(shorter.then_some(Grown { sum: new, difference: new }))
    }
    fn enter(&mut self, _: &Length, _: Symbol) -> Result<Length, TooLong> {
        Ok(Length(0))
    }
}
