//! Room `front/fix`: the tokens of formula files.

use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::Span;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A name or a keyword.
    Word,
    /// A number.
    Number,
    /// A text in double quotes.
    Text,
    /// A mark such as `=>`.
    Mark,
    /// The end of the file.
    End,
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where.
    pub span: Span,
}

/// The marks, longer ones first.
const MARKS: &[&str] = &[
    "<=>", "=>", "<=", ">=", "!=", "..", "(", ")", "[", "]", "{", "}", ",", ";", ":", ".", "=", "<", ">",
    "&", "|", "!", "+", "-",
];

/// Splits a text into tokens; the last is the end of the file.
pub fn lex(text: &str, sink: &mut Sink) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let run = |from: usize, keep: &dyn Fn(u8) -> bool| {
            bytes[from..].iter().position(|&byte| !keep(byte)).map_or(bytes.len(), |length| from + length)
        };
        let kind = match byte {
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'/' if text[at..].starts_with("//") => {
                at = run(at, &|byte| byte != b'\n');
                continue;
            }
            b'/' if text[at..].starts_with("/*") => {
                match text[at..].find("*/") {
                    Some(length) => at += length + 2,
                    None => {
                        let span = Span::new(at, at + 2);
                        sink.push(Diagnostic::new(Code::OpenComment, span, "this comment has no end"));
                        at = bytes.len();
                    }
                }
                continue;
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                at = run(at, &|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'\'');
                Kind::Word
            }
            byte if byte.is_ascii_digit() => {
                at = run(at, &|byte| byte.is_ascii_digit());
                Kind::Number
            }
            b'"' => {
                let end = run(at + 1, &|byte| byte != b'"' && byte != b'\n');
                if bytes.get(end) != Some(&b'"') {
                    let message = "this text has no closing quote";
                    sink.push(Diagnostic::new(Code::OpenName, Span::new(at, end), message));
                }
                at = (end + 1).min(bytes.len());
                Kind::Text
            }
            _ => match MARKS.iter().find(|mark| text[at..].starts_with(**mark)) {
                Some(mark) => {
                    at += mark.len();
                    Kind::Mark
                }
                None => {
                    at += text[at..].chars().next().map_or(1, char::len_utf8);
                    let message = "no token begins with this character";
                    sink.push(Diagnostic::new(Code::BadCharacter, Span::new(start, at), message));
                    continue;
                }
            },
        };
        tokens.push(Token { kind, span: Span::new(start, at) });
    }
    tokens.push(Token { kind: Kind::End, span: Span::new(bytes.len(), bytes.len()) });
    tokens
}
