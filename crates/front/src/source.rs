//! Room `front`: source text, and where an offset lies in it.
//!
//! Sources arrive as bytes. Spans are byte offsets into what the user gave us, so decoding may not move
//! anything: a byte that is not text becomes one byte that is, [`BAD`], which no token contains. Inside a comment
//! it does no harm; anywhere else the lexer complains.

use crate::diagnostic::{Code, Diagnostic};
use postbop_ir::Span;

/// What stands for a byte that is not text: the ASCII character "substitute", made for this.
pub const BAD: u8 = 0x1A;

/// The text of these bytes, with every byte that is NUL or no UTF-8 replaced by [`BAD`].
pub fn decode(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !bytes.contains(&0)
    {
        return text.to_owned();
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        if chunk.valid().contains('\0') {
            text.extend(chunk.valid().chars().map(|c| if c == '\0' { BAD as char } else { c }));
        } else {
            text.push_str(chunk.valid());
        }
        text.extend(chunk.invalid().iter().map(|_| BAD as char));
    }
    text
}

/// How many bytes are looked at to see whether they are text, and one in how many need not be.
const SAMPLE: usize = 8192;
const FEW: usize = 5;

/// What is wrong with bytes that are no text at all, such as an executable, or text in an encoding that we do not read.
pub fn not_text(bytes: &[u8]) -> Option<Diagnostic> {
    let head = &bytes[..bytes.len().min(SAMPLE)];
    let wide = head.starts_with(&[0xFF, 0xFE]) || head.starts_with(&[0xFE, 0xFF]);
    let zeros = head.iter().filter(|byte| **byte == 0).count();
    let invalid: usize = head.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    let blank = |byte: u8| matches!(byte, b'\t'..=b'\r');
    let control = head.iter().filter(|byte| **byte < b' ' && **byte != 0 && !blank(**byte)).count();
    if !wide && (zeros + invalid + control) * FEW <= head.len() {
        return None;
    }
    let message = "this is not text, and nothing of it is read";
    let flaw = Diagnostic::new(Code::TooMany, Span::default(), message);
    // Every other byte of plain text is zero in UTF-16.
    let zeros = |parity: usize| head.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count() * 2;
    let (few, many) = (zeros(0).min(zeros(1)), zeros(0).max(zeros(1)));
    let hint = "it looks like UTF-16; save it as UTF-8";
    let wide = wide || (few * FEW < head.len() && many * FEW > head.len() * (FEW - 1));
    Some(if wide { flaw.hint(hint) } else { flaw })
}

/// The lines of a text, to turn offsets into lines and columns without scanning it again.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// The lines of this text.
    pub fn new(text: &str) -> Self {
        let after = |(at, byte): (usize, u8)| (byte == b'\n').then_some(at as u32 + 1);
        LineIndex { starts: std::iter::once(0).chain(text.bytes().enumerate().filter_map(after)).collect() }
    }

    /// The line of an offset and its column in characters, both counted from 1. `text` must be the text this
    /// index was made from.
    pub fn line_column(&self, text: &str, offset: u32) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line - 1] as usize;
        let upto = text.as_bytes().get(start..(offset as usize).min(text.len())).unwrap_or_default();
        // Continuation bytes of UTF-8 begin with the bits 10: what remains are characters.
        let before = upto.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        (line, before + 1)
    }

    /// The text of a line, counted from 1, without its end; empty if there is no such line.
    pub fn line<'t>(&self, text: &'t str, line: usize) -> &'t str {
        let Some(start) = line.checked_sub(1).and_then(|at| self.starts.get(at)) else { return "" };
        let end = self.starts.get(line).map_or(text.len(), |next| *next as usize);
        text[*start as usize..end].trim_end_matches(['\n', '\r'])
    }

    /// The offset at which a line, counted from 1, begins; that of the last line for those behind it.
    pub fn start(&self, line: usize) -> usize {
        self.starts[line.clamp(1, self.starts.len()) - 1] as usize
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there is no line; there always is one.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// The line and column of one offset, both counted from 1. For many offsets make a [`LineIndex`].
pub fn line_column(text: &str, offset: u32) -> (usize, usize) {
    LineIndex::new(text).line_column(text, offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_keeps_every_offset() {
        let bytes = b"a\xFF\xC3\xA9\0\xE2\x82b";
        let text = decode(bytes);
        assert_eq!(text.len(), bytes.len());
        assert_eq!(text, "a\u{1A}é\u{1A}\u{1A}\u{1A}b");
    }

    #[test]
    fn columns_count_characters() {
        let text = "ab\n\u{e9}x\r\n\n";
        let index = LineIndex::new(text);
        assert_eq!(index.line_column(text, 0), (1, 1));
        assert_eq!(index.line_column(text, 2), (1, 3));
        assert_eq!(index.line_column(text, 5), (2, 2));
        assert_eq!(index.line_column(text, text.len() as u32), (4, 1));
        assert_eq!(index.line(text, 2), "éx");
        assert_eq!((index.line(text, 0), index.line(text, 9), index.len()), ("", "", 4));
    }
}
