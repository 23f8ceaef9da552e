//! Room `ir`: the types of variables: which values they have, and how arithmetic wraps.

use crate::value::Value;
use std::fmt;

/// The widest bounded integer, in bits.
pub const MAX_WIDTH: u8 = 63;

/// The type of a variable or of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// False or true, as 0 or 1.
    Bool,
    /// Unsigned, of 1 to [`MAX_WIDTH`] bits; arithmetic wraps.
    Uint(u8),
    /// Two's complement, of 1 to [`MAX_WIDTH`] bits; arithmetic wraps.
    Int(u8),
    /// Unbounded.
    Integer,
}

impl Type {
    /// The least value; for unbounded integers the least that we can represent.
    pub fn min(self) -> Value {
        Value::new(match self {
            Type::Bool | Type::Uint(_) => 0,
            Type::Int(k) => -(1 << (k - 1)),
            Type::Integer => i64::MIN,
        })
    }

    /// The greatest value; for unbounded integers the greatest that we can represent.
    pub fn max(self) -> Value {
        Value::new(match self {
            Type::Bool => 1,
            Type::Uint(k) => ((1u64 << k) - 1) as i64,
            Type::Int(k) => (1 << (k - 1)) - 1,
            Type::Integer => i64::MAX,
        })
    }

    /// All values, from the least to the greatest.
    pub fn values(self) -> impl Iterator<Item = Value> {
        (self.min().get()..=self.max().get()).map(Value::new)
    }

    /// Whether `value` is one of this type's values.
    pub fn contains(self, value: Value) -> bool {
        self.min() <= value && value <= self.max()
    }

    /// The number of bits that tell this type's values apart; `None` if it is unbounded.
    pub fn bits(self) -> Option<u8> {
        match self {
            Type::Bool => Some(1),
            Type::Uint(k) | Type::Int(k) => Some(k),
            Type::Integer => None,
        }
    }

    /// Whether this is one of the integer types.
    pub fn is_integer(self) -> bool {
        self != Type::Bool
    }

    /// The value of this type that `value` wraps to. `None` where an unbounded integer leaves the range that
    /// can be represented: that is a limit of ours, not of the program.
    pub fn wrap(self, value: i128) -> Option<Value> {
        let number = match self {
            Type::Integer => i64::try_from(value).ok()?,
            Type::Bool => (value & 1) as i64,
            Type::Uint(k) => (value & ((1i128 << k) - 1)) as i64,
            Type::Int(k) => (value << (128 - k as u32) >> (128 - k as u32)) as i64,
        };
        Some(Value::new(number))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Bool => write!(f, "bool"),
            Type::Uint(k) => write!(f, "uint<{k}>"),
            Type::Int(k) => write!(f, "int<{k}>"),
            Type::Integer => write!(f, "int"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_is_arithmetic_modulo_two_to_the_k() {
        assert_eq!(Type::Uint(4).wrap(16), Some(Value::new(0)));
        assert_eq!(Type::Uint(4).wrap(-1), Some(Value::new(15)));
        assert_eq!(Type::Int(4).wrap(8), Some(Value::new(-8)));
        assert_eq!(Type::Int(4).wrap(-9), Some(Value::new(7)));
        assert_eq!(Type::Int(1).wrap(1), Some(Value::new(-1)));
        assert_eq!(Type::Uint(63).wrap(1 << 63), Some(Value::new(0)));
        assert_eq!(Type::Integer.wrap(1 << 63), None);
    }

    #[test]
    fn ranges_of_the_extreme_widths() {
        let range = |ty: Type| (ty.min().get(), ty.max().get());
        assert_eq!(range(Type::Int(1)), (-1, 0));
        assert_eq!(range(Type::Uint(63)), (0, i64::MAX));
        assert_eq!(range(Type::Int(63)), (-(1 << 62), (1 << 62) - 1));
    }
}
