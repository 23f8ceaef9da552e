//! Room `ir`: how long runs are.
//!
//! A recursive program of n procedures can have a shortest run of 2^n steps, so no machine word holds every length, and
//! a length that saturates would make two runs look equally long, or a run look like none. Lengths are exact: a word as
//! long as it suffices, then a big integer.

use num_bigint::BigUint;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

/// A number of steps.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Length(Digits);

/// `Big` only for numbers that do not fit into a word: so the derived order is that of the numbers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Digits {
    Small(u64),
    Big(Box<BigUint>),
}

impl Length {
    /// No step.
    pub const ZERO: Length = Length(Digits::Small(0));

    /// The number as a machine word, if it fits.
    pub fn small(&self) -> Option<u64> {
        match self.0 {
            Digits::Small(number) => Some(number),
            Digits::Big(_) => None,
        }
    }

    fn big(self) -> BigUint {
        match self.0 {
            Digits::Small(number) => BigUint::from(number),
            Digits::Big(number) => *number,
        }
    }
}

impl From<u64> for Length {
    fn from(number: u64) -> Self {
        Length(Digits::Small(number))
    }
}

impl From<BigUint> for Length {
    fn from(number: BigUint) -> Self {
        let small = u64::try_from(&number).map(Digits::Small);
        Length(small.unwrap_or_else(|_| Digits::Big(Box::new(number))))
    }
}

impl Add<&Length> for Length {
    type Output = Length;
    fn add(self, other: &Length) -> Length {
        if let (Some(a), Some(b)) = (self.small(), other.small())
            && let Some(sum) = a.checked_add(b)
        {
            return Length::from(sum);
        }
        match &other.0 {
            Digits::Small(number) => (self.big() + *number).into(),
            Digits::Big(number) => (self.big() + &**number).into(),
        }
    }
}

impl Add<u64> for Length {
    type Output = Length;
    fn add(self, other: u64) -> Length {
        self + &Length::from(other)
    }
}

impl AddAssign<&Length> for Length {
    fn add_assign(&mut self, other: &Length) {
        *self = std::mem::replace(self, Length::ZERO) + other;
    }
}

impl Sub<&Length> for Length {
    type Output = Length;
    /// The difference; the other must not be longer.
    fn sub(self, other: &Length) -> Length {
        match (self.small(), other.small()) {
            (Some(a), Some(b)) => Length::from(a - b),
            _ => (self.big() - other.clone().big()).into(),
        }
    }
}

impl<'a> Sum<&'a Length> for Length {
    fn sum<I: Iterator<Item = &'a Length>>(lengths: I) -> Length {
        lengths.fold(Length::ZERO, Add::add)
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Digits::Small(number) => number.fmt(f),
            Digits::Big(number) => number.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubled(times: u32) -> Length {
        (0..times).fold(Length::from(1), |length, _| length.clone() + &length)
    }

    #[test]
    fn sums_are_exact_on_both_sides_of_a_word() {
        assert_eq!(doubled(63).small(), Some(1 << 63));
        assert_eq!(doubled(64).small(), None);
        assert_eq!(doubled(64).to_string(), "18446744073709551616");
        assert_eq!(Length::from(u64::MAX) + 1, doubled(64));
        assert_eq!(doubled(64) - &Length::from(1), Length::from(u64::MAX), "small again");
        assert_eq!(doubled(200) - &doubled(199), doubled(199));
        assert_eq!([doubled(70), doubled(3)].iter().sum::<Length>(), doubled(70) + 8);
    }

    #[test]
    fn the_order_is_that_of_the_numbers() {
        let sorted = [Length::ZERO, Length::from(u64::MAX), doubled(64), doubled(64) + 1, doubled(200)];
        assert!(sorted.is_sorted() && sorted.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
