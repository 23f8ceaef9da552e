//! Room `front/moped`: the tokens of Moped's pushdown systems.
//!
//! A comment begins with `#`, `%`, `{` or `}` and ends with its line. Moped's grammar also has braces around terms, which its own
//! lexer never lets through; inside a formula they are reported, since one of the two readings must have been meant.
//!
//! # Departures
//! Moped skips every character that it does not know. We report it.

use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::Span;
use rustc_hash::FxHashMap;

/// A name of the source, as an index into the table of names.
pub type Sym = u32;

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // Each is its own spelling, given by `text`.
#[rustfmt::skip]
pub enum Kind {
    Name, Number, Text,
    Global, Local, Bool, Int, Define, Atoms, Forall, Exists,
    Arrow, Prime, Semicolon, Comma, LeftParen, RightParen, LeftBracket, RightBracket,
    Or, And, Xor, Not, Same, Plus, Minus, Times, Over, Shift, Le, Eq, Ne, Ge, Lt, Gt,
    End,
}

/// The keywords.
#[rustfmt::skip]
const KEYWORDS: [(Kind, &str); 8] = [
    (Kind::Global, "global"), (Kind::Local, "local"), (Kind::Bool, "bool"), (Kind::Int, "int"),
    (Kind::Define, "define"), (Kind::Atoms, "atoms"), (Kind::Forall, "A"), (Kind::Exists, "E"),
];

/// The other tokens, longer ones first.
#[rustfmt::skip]
const MARKS: [(Kind, &str); 25] = [
    (Kind::Arrow, "-->"), (Kind::Same, "<=>"), (Kind::Same, "=="), (Kind::Shift, "<<"), (Kind::Le, "<="), (Kind::Ne, "!="),
    (Kind::Ge, ">="), (Kind::Prime, "'"), (Kind::Semicolon, ";"), (Kind::Comma, ","), (Kind::LeftParen, "("),
    (Kind::RightParen, ")"), (Kind::LeftBracket, "["), (Kind::RightBracket, "]"), (Kind::Or, "|"), (Kind::And, "&"),
    (Kind::Xor, "^"), (Kind::Not, "!"), (Kind::Plus, "+"), (Kind::Minus, "-"), (Kind::Times, "*"), (Kind::Over, "/"),
    (Kind::Eq, "="), (Kind::Lt, "<"), (Kind::Gt, ">"),
];

impl Kind {
    /// How the token is spelled, or what it is.
    pub fn text(self) -> String {
        let spelling = KEYWORDS.iter().chain(&MARKS).find(|(kind, _)| *kind == self);
        match (self, spelling) {
            (_, Some((_, spelling))) => format!("`{spelling}`"),
            (Kind::Name, _) => "a name".to_owned(),
            (Kind::Number, _) => "a number".to_owned(),
            (Kind::Text, _) => "a text in quotes".to_owned(),
            _ => "the end of the file".to_owned(),
        }
    }
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// Its kind.
    pub kind: Kind,
    /// The name, if it is one.
    pub sym: Sym,
    /// Where it stands.
    pub span: Span,
}

/// The tokens of a source, the last of which is the end of the file.
#[derive(Debug)]
pub struct Lexed<'t> {
    /// The tokens in order.
    pub tokens: Vec<Token>,
    /// The spelling of every name.
    pub names: Vec<&'t str>,
}

/// Splits a text into tokens.
pub fn lex<'t>(text: &'t str, sink: &mut Sink) -> Lexed<'t> {
    let mut symbols: FxHashMap<&str, Sym> = FxHashMap::default();
    let mut out = Lexed { tokens: Vec::with_capacity(text.len() / 3), names: Vec::new() };
    let mut depth = 0usize;
    let mut at = if text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
    while at < text.len() && !sink.is_full() {
        let rest = &text[at..];
        let first = rest.as_bytes()[0];
        let run = |keep: fn(u8) -> bool| rest.bytes().position(|byte| !keep(byte)).unwrap_or(rest.len());
        let (kind, length) = match first {
            b' ' | b'\t' | b'\r' | b'\n' | 0x0B | 0x0C => {
                at += run(|byte| byte.is_ascii_whitespace() || byte == 0x0B);
                continue;
            }
            b'#' | b'%' | b'{' | b'}' => {
                if depth > 0 && matches!(first, b'{' | b'}') {
                    braces(at, sink);
                }
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            b'"' => match rest[1..].find('"') {
                Some(length) => (Kind::Text, length + 2),
                None => {
                    let message = "the text that begins here has no closing quote";
                    sink.push(Diagnostic::new(Code::Syntax, Span::new(at, at + 1), message));
                    break;
                }
            },
            b'0'..=b'9' => (Kind::Number, run(|byte| byte.is_ascii_digit())),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let length = run(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
                let keyword = KEYWORDS.iter().find(|(_, word)| *word == &rest[..length]);
                (keyword.map_or(Kind::Name, |(kind, _)| *kind), length)
            }
            _ => match MARKS.iter().find(|(_, mark)| rest.starts_with(mark)) {
                Some((kind, mark)) => (*kind, mark.len()),
                None => {
                    let length = rest.chars().next().map_or(1, char::len_utf8);
                    let message = "no token begins with this character";
                    sink.push(Diagnostic::new(Code::BadCharacter, Span::new(at, at + length), message));
                    at += length;
                    continue;
                }
            },
        };
        match kind {
            Kind::LeftParen => depth += 1,
            Kind::RightParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        let mut sym = 0;
        if kind == Kind::Name {
            sym = *symbols.entry(&rest[..length]).or_insert_with(|| {
                out.names.push(&rest[..length]);
                out.names.len() as Sym - 1
            });
        }
        out.tokens.push(Token { kind, sym, span: Span::new(at, at + length) });
        at += length;
    }
    out.tokens.push(Token { kind: Kind::End, sym: 0, span: Span::new(text.len(), text.len()) });
    out
}

fn braces(at: usize, sink: &mut Sink) {
    let message = "Moped takes a brace for the beginning of a comment, even here";
    let hint = "group with parentheses; a comment within parentheses can begin with `#`";
    sink.push(Diagnostic::new(Code::Unsupported, Span::new(at, at + 1), message).hint(hint));
}
