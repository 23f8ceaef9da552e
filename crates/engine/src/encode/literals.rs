//! Room `engine/encode`: valuations as truth values of levels, and back.

use super::machine::layout::{Layout, Row};
use postbop_kit::bdd::Assignment;
use smallvec::SmallVec;

/// A level with a truth value.
pub type Literal = (u32, bool);

/// Some levels with truth values, in order.
pub type Literals = SmallVec<[Literal; 4]>;

/// Decides the levels of the known fields of a row. `levels` gives those of a field, the least significant bit first, or
/// nothing.
pub fn decide<I: IntoIterator<Item = u32>>(
    assignment: &mut Assignment,
    layout: &Layout,
    row: &[u64],
    levels: impl Fn(usize) -> Option<I>,
) {
    for (at, field) in layout.fields.iter().enumerate() {
        let Some(value) = field.get(row) else { continue };
        for (bit, level) in levels(at).into_iter().flatten().enumerate() {
            assignment.decide(level, value >> bit & 1 != 0);
        }
    }
}

/// The row that literals, sorted by level, give to fields. A field of which some bits were picked gets all of them; those
/// are added to the literals.
pub fn row<I: IntoIterator<Item = u32>>(
    layout: &Layout,
    picked: &mut Vec<Literal>,
    levels: impl Fn(usize) -> Option<I>,
) -> Row {
    let mut row = layout.open.clone();
    for (at, field) in layout.fields.iter().enumerate() {
        let (mut value, mut width, mut known) = (0i64, 0, 0);
        for level in levels(at).into_iter().flatten() {
            if let Ok(found) = picked.binary_search_by_key(&level, |&(level, _)| level) {
                value |= (picked[found].1 as i64) << width;
                known += 1;
            }
            width += 1;
        }
        if known == 0 {
            continue;
        }
        if known < width {
            picked.extend(levels(at).into_iter().flatten().map(|level| (level, false)));
            // Of two literals of one level the first stays, and that is the one that was picked.
            picked.sort_by_key(|&(level, _)| level);
            picked.dedup_by_key(|&mut (level, _)| level);
        }
        // Bits are two's complement: of a signed number the first one spreads.
        let value = if field.range().0 < 0 { value << (64 - width) >> (64 - width) } else { value };
        field.set(&mut row, Some(value));
    }
    row
}
