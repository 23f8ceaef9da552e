//! Room `front/temporal`: the tokens of automata in the HOA format.

use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::Span;

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A word with a colon at its end.
    Header,
    Word,
    /// A word that begins with `@`.
    Alias,
    Number,
    /// A text in quotes.
    Text,
    /// A single character.
    Mark,
    /// `--BODY--`, `--END--` and `--ABORT--`.
    Line,
    End,
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

impl Token {
    pub fn span(self) -> Span {
        Span::new(self.start, self.end)
    }
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The tokens of a text, the last of which is its end.
pub(super) fn tokens(text: &str, sink: &mut Sink) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut all = Vec::new();
    let mut at = 0;
    while at < bytes.len() && !sink.is_full() {
        let run = |from: usize, goes_on: fn(u8) -> bool| {
            from + bytes[from..].iter().take_while(|byte| goes_on(**byte)).count()
        };
        let rest = &text[at..];
        let (kind, end) = match bytes[at] {
            b' ' | b'\t' | b'\r' | b'\n' => {
                at += 1;
                continue;
            }
            b'/' if rest.starts_with("/*") => {
                at = comment(text, at, sink);
                continue;
            }
            b'-' if rest.starts_with("--") => (Kind::Line, run(at, in_word)),
            b'"' => (Kind::Text, quoted(text, at, sink)),
            b'@' => (Kind::Alias, run(at + 1, in_word)),
            b'0'..=b'9' => (Kind::Number, run(at, |byte| byte.is_ascii_digit())),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let end = run(at, in_word);
                if bytes.get(end) == Some(&b':') { (Kind::Header, end + 1) } else { (Kind::Word, end) }
            }
            b'[' | b']' | b'(' | b')' | b'{' | b'}' | b'!' | b'&' | b'|' => (Kind::Mark, at + 1),
            _ => {
                let first = rest.chars().next().unwrap_or_default();
                let message = format!("no token begins with `{}`", first.escape_debug());
                let end = at + first.len_utf8();
                sink.push(Diagnostic::new(Code::BadCharacter, Span::new(at, end), message));
                at = end;
                continue;
            }
        };
        all.push(Token { kind, start: at, end });
        at = end;
    }
    all.push(Token { kind: Kind::End, start: text.len(), end: text.len() });
    all
}

/// Where a comment ends. Comments may be nested.
fn comment(text: &str, start: usize, sink: &mut Sink) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (start, 0usize);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    let message = "this comment is never closed";
    sink.push(Diagnostic::new(Code::OpenComment, Span::new(start, start + 2), message));
    bytes.len()
}

/// Where a text in quotes ends. A backslash stands before a quote that does not end it.
fn quoted(text: &str, start: usize, sink: &mut Sink) -> usize {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    let message = "this text in quotes is never closed";
    sink.push(Diagnostic::new(Code::Unbalanced, Span::new(start, start + 1), message));
    bytes.len()
}
