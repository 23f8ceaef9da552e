//! Room `ir`: the values of variables.
//!
//! A value is the mathematical number it stands for: 0 and 1 for Booleans, -8 to 7 for `int<4>`. Two valuations are equal exactly
//! if their numbers are, and comparisons need no type. Programs, traces, replay and what engines hand over have [`Value`]s; the inner
//! loops of engines compute with machine words of their own. Numbers that do not fit 64 bits have one place to come in: here.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// The value of a variable or of an expression.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(i64);

impl Value {
    /// The number 0.
    pub const ZERO: Value = Value(0);
    /// False as a Boolean.
    pub const FALSE: Value = Value(0);
    /// True as a Boolean.
    pub const TRUE: Value = Value(1);

    /// The value that is this number.
    pub const fn new(number: i64) -> Self {
        Value(number)
    }

    /// The number.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Whether this is true, as a condition.
    pub const fn is_true(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Value(truth.into())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Value(number.into())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value(number)
    }
}

impl FromStr for Value {
    type Err = ParseIntError;
    fn from_str(digits: &str) -> Result<Self, ParseIntError> {
        digits.parse().map(Value)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
