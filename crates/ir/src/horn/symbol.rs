//! Room `ir/horn`: names, sorts and constants of SMT-LIB.

use crate::types::Type;
use std::fmt::{self, Display, Formatter};

/// A type as a sort.
pub struct Sort(pub Type);

impl Display for Sort {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Type::Bool => write!(f, "Bool"),
            Type::Uint(bits) | Type::Int(bits) => write!(f, "(_ BitVec {bits})"),
            Type::Integer => write!(f, "Int"),
        }
    }
}

/// A number as a constant of a sort.
pub struct Constant(pub Type, pub i64);

impl Display for Constant {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Constant(ty, number) = *self;
        match ty {
            Type::Bool => write!(f, "{}", number != 0),
            Type::Uint(bits) | Type::Int(bits) => {
                write!(f, "(_ bv{} {bits})", i128::from(number).rem_euclid(1 << bits))
            }
            Type::Integer if number < 0 => write!(f, "(- {})", number.unsigned_abs()),
            Type::Integer => write!(f, "{number}"),
        }
    }
}

/// A name of the source with a suffix that tells it from all others. It is quoted where SMT-LIB wants that; characters that not even quotes allow
/// are replaced, which leaves it readable and, because of the suffix, unique.
pub struct Symbol<'a>(pub &'a str, pub fmt::Arguments<'a>);

impl Display for Symbol<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Symbol(name, suffix) = self;
        let plain = |c: char| c.is_ascii_alphanumeric() || "~!@$%^&*_-+=<>.?/".contains(c);
        if name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit()) {
            return write!(f, "{name}{suffix}");
        }
        let allowed = |c: char| if matches!(c, '|' | '\\') || c.is_control() { '?' } else { c };
        write!(f, "|{}{suffix}|", name.chars().map(allowed).collect::<String>())
    }
}
