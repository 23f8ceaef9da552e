//! Room `engine/encode`: valuations packed into machine words.
//!
//! Each field of a procedure gets the bits of its type and one more that says *open*; a field never straddles two
//! words. An open field's other bits are zero, so equal valuations are equal words.

use postbop_ir::{Type, Value};
use smallvec::SmallVec;

/// A valuation. Most take one word or two.
pub type Row = SmallVec<[u64; 2]>;

/// Where a field stands in a row.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    word: u32,
    shift: u8,
    width: u8,
    min: i64,
    max: i64,
}

impl Field {
    fn open_bit(self) -> u64 {
        1 << (self.shift + self.width)
    }

    /// The number, or nothing if it is open.
    pub fn get(self, row: &[u64]) -> Option<i64> {
        let word = row[self.word as usize];
        if word & self.open_bit() != 0 {
            return None;
        }
        Some((word >> self.shift & ((1 << self.width) - 1)) as i64 + self.min)
    }

    /// The number as the value of a variable.
    pub fn value(self, row: &[u64]) -> Option<Value> {
        self.get(row).map(Value::new)
    }

    /// Stores a number, or opens the field.
    pub fn set(self, row: &mut [u64], value: Option<i64>) {
        let (_, mask) = self.bits();
        let bits = match value {
            None => self.open_bit(),
            Some(value) => ((value - self.min) as u64) << self.shift,
        };
        let word = &mut row[self.word as usize];
        *word = *word & !mask | bits;
    }

    /// The bits that it takes of its word, and the number of the word.
    pub fn bits(self) -> (usize, u64) {
        (self.word as usize, self.open_bit() | (self.open_bit() - (1 << self.shift)))
    }

    /// The least and the greatest value of its type.
    pub fn range(self) -> (i64, i64) {
        (self.min, self.max)
    }
}

/// How a procedure's valuations are packed.
#[derive(Debug)]
pub struct Layout {
    /// In the order of the procedure's fields.
    pub fields: Vec<Field>,
    /// The row in which everything is open.
    pub open: Row,
}

impl Layout {
    /// Packs fields of these types.
    pub fn new(types: impl Iterator<Item = Type>) -> Self {
        let (mut word, mut used) = (0, 0);
        let mut place = |ty: Type| {
            let width = ty.bits().expect("bounded types only");
            if used + width + 1 > 64 {
                (word, used) = (word + 1, 0);
            }
            let field = Field { word, shift: used, width, min: ty.min().get(), max: ty.max().get() };
            used += width + 1;
            field
        };
        let mut fields: Vec<Field> = types.map(&mut place).collect();
        // There may be thousands of procedures, each with thousands of globals.
        fields.shrink_to_fit();
        let mut open = Row::from_elem(0, fields.last().map_or(0, |field| field.word as usize + 1));
        fields.iter().for_each(|field| field.set(&mut open, None));
        Layout { fields, open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_disturb_each_other() {
        let types = [Type::Bool, Type::Int(63), Type::Uint(63), Type::Int(4), Type::Bool];
        let layout = Layout::new(types.into_iter());
        let mut row = layout.open.clone();
        assert!(layout.fields.iter().all(|field| field.get(&row).is_none()));
        let values = [1, -(1 << 62), i64::MAX, -8, 0];
        for (field, value) in layout.fields.iter().zip(values) {
            field.set(&mut row, Some(value));
        }
        for (field, value) in layout.fields.iter().zip(values) {
            assert_eq!(field.get(&row), Some(value));
        }
        layout.fields[3].set(&mut row, Some(7));
        assert_eq!(layout.fields[3].get(&row), Some(7));
        layout.fields.iter().for_each(|field| field.set(&mut row, None));
        assert_eq!(row, layout.open);
    }
}
