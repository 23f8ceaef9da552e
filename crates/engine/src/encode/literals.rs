//! Room `engine/encode`: valuations as truth values of levels, and back.

use super::machine::layout::Layout;
use postbop_kit::bdd::Assignment;

/// A level with a truth value.
pub type Literal = (u32, bool);

/// Decides the levels of the known fields of a row. `levels` gives those of a field, the least significant bit first, or
/// nothing.
pub fn decide(
    assignment: &mut Assignment,
    layout: &Layout,
    row: &[u64],
    levels: impl Fn(usize) -> Option<Vec<u32>>,
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
pub fn row(
    layout: &Layout,
    picked: &mut Vec<Literal>,
    levels: impl Fn(usize) -> Option<Vec<u32>>,
) -> Vec<u64> {
    let mut row = layout.open.clone();
    for (at, field) in layout.fields.iter().enumerate() {
        let Some(levels) = levels(at) else { continue };
        let truth = |level: &u32| {
            picked.binary_search_by_key(level, |&(level, _)| level).ok().map(|found| picked[found].1)
        };
        let bits: Vec<Option<bool>> = levels.iter().map(truth).collect();
        if bits.iter().all(Option::is_none) {
            continue;
        }
        let value = bits.iter().rev().fold(0i64, |value, bit| value << 1 | bit.unwrap_or(false) as i64);
        if bits.contains(&None) {
            picked.extend(levels.iter().map(|&level| (level, false)));
            // Of two literals of one level the first stays, and that is the one that was picked.
            picked.sort_by_key(|&(level, _)| level);
            picked.dedup_by_key(|&mut (level, _)| level);
        }
        // Bits are two's complement: of a signed number the first one spreads.
        let spare = 64 - levels.len();
        let value = if field.range().0 < 0 { value << spare >> spare } else { value };
        field.set(&mut row, Some(value));
    }
    row
}
