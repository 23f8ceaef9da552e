//! Room `front`: expressions that mean two things in two dialects.
//!
//! The parser notes where the dialects would group an expression differently. Often one of the groupings makes no sense,
//! as in `n = 3 & b`, where no value is both a number and a Boolean; then there is no doubt. So the whole source is read
//! once more in the other dialect, and an expression is doubtful only if it has no errors there either. One warning for a
//! file is enough: a source with one such expression has many.

use super::lexer::Lexed;
use super::tree::Binary;
use super::{check, concurrent, dialect, parser};
use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::Span;

/// An expression that the dialects group differently.
#[derive(Clone, Copy, Debug)]
pub struct Doubt {
    /// The operators between which they disagree.
    pub ops: (Binary, Binary),
    /// These operators and what is between them.
    pub span: Span,
    /// The whole expression.
    pub whole: Span,
}

/// Warns of the first expression of a source without errors that makes sense in both dialects.
pub fn warn(text: &str, lexed: &Lexed<'_>, satabs: bool, doubts: &[Doubt], sink: &mut Sink) {
    if doubts.is_empty() {
        return;
    }
    let mut other = Sink::default();
    let tree = parser::parse(text, lexed, !satabs, &mut other);
    let threads = concurrent::concurrent(&tree, &lexed.names);
    check::check(&tree, &lexed.names, threads.as_ref(), &mut other);
    let full = other.is_full();
    let errors: Vec<u32> =
        other.finish().iter().filter(|found| found.is_error()).map(|found| found.span.start).collect();
    // Errors beyond the limit were not kept: of what follows the last one nothing is known.
    let known = if full { errors.iter().max().copied().unwrap_or(0) } else { u32::MAX };
    let clear = |doubt: &&Doubt| {
        let inside = doubt.whole.start..=doubt.whole.end;
        doubt.whole.end <= known && !errors.iter().any(|at| inside.contains(at))
    };
    let mut real = doubts.iter().filter(clear);
    if let Some(first) = real.next() {
        sink.push(two_meanings(first, satabs, real.count()));
    }
}

fn two_meanings(doubt: &Doubt, satabs: bool, more: usize) -> Diagnostic {
    let (left, right) = doubt.ops;
    let (l, r) = (left.text(), right.text());
    let first = format!("`(x {l} y) {r} z`");
    let second = format!("`x {l} (y {r} z)`");
    let left_first = dialect::left_first(left, right, satabs);
    let (here, there) = if left_first { (first, second) } else { (second, first) };
    let other = if satabs { "Bebop and Moped" } else { "SatAbs" };
    let message = format!("`x {l} y {r} z` is read as {here}, but {other} would read {there}");
    let places = match more {
        0 => String::new(),
        1 => ", here and in 1 other expression".to_owned(),
        more => format!(", here and in {more} other expressions"),
    };
    let hint =
        format!("add the parentheses that you mean{places}; or say whose file it is, with `--dialect`");
    Diagnostic::new(Code::TwoMeanings, doubt.span, message).hint(hint)
}
