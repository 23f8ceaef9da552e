//! Room `front`: source text to tokens.
//!
//! Written by hand rather than generated, because what a name is depends on the dialect (`a-b` is one name in
//! SatAbs files), because comments are kept for the formatter, and because a token of ten megabytes must not cost
//! more than its length.
//!
//! # Departures
//! Bebop, Moped and Getafix skip every character they do not know. We report it: a run of such characters once.

use super::token::{Kind, Sym, Token};
use crate::diagnostic::{Code, Diagnostic, Sink};
use hashbrown::HashTable;
use postbop_ir::Span;

/// A comment, kept for the formatter.
#[derive(Clone, Copy, Debug)]
pub struct Comment {
    /// Where it stands, without the end of its line.
    pub span: Span,
    /// Whether only blanks stand before it on its line.
    pub own_line: bool,
}

/// The tokens of a source, the last of which is the end of the file, and what lies between them.
#[derive(Debug)]
pub struct Lexed<'t> {
    /// The tokens in order.
    pub tokens: Vec<Token>,
    /// The comments in order.
    pub comments: Vec<Comment>,
    /// The spelling of every name.
    pub names: Vec<&'t str>,
    /// How many runs of bad characters there are.
    pub bad: usize,
}

/// How many runs of bad characters a program may have before we do not believe that it is one.
pub const MAX_BAD: usize = 10;

/// The symbol of `_`, which discards a value.
pub const DISCARD: Sym = 0;

/// Splits a text into tokens. The byte `also` may continue a name: in some dialects a `-`.
pub fn lex<'t>(text: &'t str, also: Option<u8>, sink: &mut Sink) -> Lexed<'t> {
    let mut continues = CONTINUES_NAME;
    also.into_iter().for_each(|byte| continues[byte as usize] = true);
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        at: 0,
        continues,
        own_line: true,
        symbols: HashTable::new(),
        kinds: Vec::new(),
        out: Lexed {
            tokens: Vec::with_capacity(text.len() / 3),
            comments: Vec::new(),
            names: Vec::new(),
            bad: 0,
        },
        unclosed: 0,
        bad: None,
    };
    lexer.intern("_");
    if text.starts_with('\u{FEFF}') {
        lexer.at = '\u{FEFF}'.len_utf8();
    }
    while lexer.at < lexer.bytes.len() && lexer.out.bad <= MAX_BAD && !sink.is_full() {
        lexer.step(sink);
    }
    lexer.flush_bad(sink);
    let end = text.len() as u32;
    lexer.out.tokens.push(Token { kind: Kind::EndOfFile, sym: DISCARD, start: end, end });
    lexer.out
}

struct Lexer<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    /// Which bytes continue a name.
    continues: [bool; 256],
    /// Whether only blanks were seen since the last end of a line.
    own_line: bool,
    /// The names, to be found by their spelling.
    symbols: HashTable<Sym>,
    /// Which keyword each name is, if any: asked once for each name, not for each of its occurrences.
    kinds: Vec<Kind>,
    out: Lexed<'t>,
    /// How far no brace closes: up to the end of the line that was searched last, if it has none.
    unclosed: usize,
    /// A run of bad characters that is not reported yet.
    bad: Option<Span>,
}

/// Which bytes continue a name, in every dialect.
const CONTINUES_NAME: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'_' | b'$' | b'#');
        byte += 1;
    }
    table
};

/// Names are short: a multiplication for each byte is less than what a hash of long texts takes to begin.
fn hash(name: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash.rotate_left(5) ^ byte as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = name.bytes().fold(0, mix);
    hash ^ hash >> 32
}

impl<'t> Lexer<'t> {
    fn intern(&mut self, name: &'t str) -> Sym {
        let names = &mut self.out.names;
        if let Some(&sym) = self.symbols.find(hash(name), |&sym| names[sym as usize] == name) {
            return sym;
        }
        let sym = names.len() as Sym;
        names.push(name);
        self.kinds.push(Kind::keyword(name).unwrap_or(Kind::Name));
        self.symbols.insert_unique(hash(name), sym, |&sym| hash(names[sym as usize]));
        sym
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, kind: Kind, sym: Sym, len: usize) {
        let start = self.at as u32;
        self.at += len;
        self.own_line = false;
        self.out.tokens.push(Token { kind, sym, start, end: self.at as u32 });
    }

    fn step(&mut self, sink: &mut Sink) {
        match self.bytes[self.at] {
            b'\n' => {
                self.own_line = true;
                self.at += 1;
            }
            // A DOS file ends in 0x1A; the decoder writes it for bytes that are not text, so it is not blank.
            b' ' => self.at += self.run(|byte| byte == b' '),
            b'\t' | b'\r' | 0x0B | 0x0C => self.at += 1,
            b'/' if self.peek(1) == b'/' => self.line_comment(),
            b'/' if self.peek(1) == b'*' => self.block_comment(sink),
            byte @ (b'/' | b'%') => self.no_operator(byte as char, sink),
            b'{' => self.braced_name(sink),
            b'0'..=b'9' => {
                // A number may be a label, so it is a name as well.
                let len = self.run(|byte| byte.is_ascii_digit());
                let sym = self.intern(&self.text[self.at..self.at + len]);
                self.push(Kind::Number, sym, len);
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => {
                let len = self.run(|byte| self.continues[byte as usize]);
                let sym = self.intern(&self.text[self.at..self.at + len]);
                self.push(self.kinds[sym as usize], sym, len);
            }
            _ => match self.punctuation() {
                Some((kind, len)) => self.push(kind, DISCARD, len),
                None => self.bad_character(sink),
            },
        }
    }

    fn run(&self, continues: impl Fn(u8) -> bool) -> usize {
        self.bytes[self.at..].iter().take_while(|byte| continues(**byte)).count()
    }

    fn punctuation(&self) -> Option<(Kind, usize)> {
        let two = match (self.bytes[self.at], self.peek(1)) {
            (b':', b'=') => Some(Kind::Assign),
            (b'=', b'>') => Some(Kind::Implies),
            (b'=', b'=') => Some(Kind::Eq),
            (b'!', b'=') | (b'~', b'=') | (b'<', b'>') => Some(Kind::Ne),
            (b'<', b'=') => Some(Kind::Le),
            (b'>', b'=') => Some(Kind::Ge),
            (b'&', b'&') => Some(Kind::And),
            (b'|', b'|') => Some(Kind::Or),
            _ => None,
        };
        if let Some(kind) = two {
            return Some((kind, 2));
        }
        let one = match self.bytes[self.at] {
            b':' => Kind::Colon,
            b';' => Kind::Semicolon,
            b',' => Kind::Comma,
            b'(' => Kind::LeftParen,
            b')' => Kind::RightParen,
            b'[' => Kind::LeftBracket,
            b']' => Kind::RightBracket,
            b'}' => Kind::RightBrace,
            b'\'' => Kind::Tick,
            b'?' => Kind::Question,
            b'*' => Kind::Star,
            b'+' => Kind::Plus,
            b'-' => Kind::Minus,
            b'!' | b'~' => Kind::Not,
            b'&' => Kind::And,
            b'|' => Kind::Or,
            b'^' => Kind::Xor,
            b'=' => Kind::Eq,
            b'<' => Kind::Lt,
            b'>' => Kind::Gt,
            _ => return None,
        };
        Some((one, 1))
    }

    fn comment(&mut self, len: usize) {
        let span = Span::new(self.at, self.at + len);
        self.out.comments.push(Comment { span, own_line: self.own_line });
        self.at += len;
    }

    fn line_comment(&mut self) {
        let len = self.run(|byte| byte != b'\n');
        self.comment(len);
    }

    fn block_comment(&mut self, sink: &mut Sink) {
        let len = match self.text[self.at + 2..].find("*/") {
            Some(found) => found + 4,
            None => {
                let span = Span::new(self.at, self.at + 2);
                let message = "this comment is never closed";
                sink.push(Diagnostic::new(Code::OpenComment, span, message).hint("close it with `*/`"));
                self.bytes.len() - self.at
            }
        };
        self.comment(len);
    }

    fn braced_name(&mut self, sink: &mut Sink) {
        let rest = &self.bytes[self.at..];
        // A name ends on its line: otherwise one stray brace would swallow the rest of the program.
        let end = match self.unclosed > self.at {
            true => Some(self.unclosed - self.at).filter(|end| *end < rest.len()),
            false => rest.iter().position(|byte| matches!(byte, b'}' | b'\n')),
        };
        if end.is_none_or(|end| rest[end] == b'\n') {
            self.unclosed = self.at + end.unwrap_or(rest.len());
        }
        let inside = &self.text[self.at + 1..self.at + end.unwrap_or(rest.len())];
        match end {
            Some(end) if rest[end] == b'}' => {
                // Boom's passive variables end in `$`, those in braces too.
                let len = end + 1 + (rest.get(end + 1) == Some(&b'$')) as usize;
                let sym = self.intern(&self.text[self.at..self.at + len]);
                self.push(Kind::Name, sym, len);
            }
            _ if inside.trim_start().is_empty() => self.push(Kind::LeftBrace, DISCARD, 1),
            end => {
                // It was meant to end before something that no name would contain.
                let line = &self.text[self.at..self.at + end.unwrap_or(rest.len())];
                let len = line.find(":=").or_else(|| line.find([';', ',', ')'])).unwrap_or(line.len());
                let span = Span::new(self.at, self.at + 1);
                let message = "this name in braces is never closed on its line";
                sink.push(Diagnostic::new(Code::OpenName, span, message).hint("close it with `}`"));
                self.push(Kind::Name, DISCARD, len);
            }
        }
    }

    /// Reports an operator of other languages, and takes it for one of ours: an operator was meant.
    fn no_operator(&mut self, operator: char, sink: &mut Sink) {
        let what = if operator == '/' { "division" } else { "remainder" };
        let message = format!("there is no {what}: no token begins with `{operator}`");
        let hint = "the arithmetic there is: `+`, `-` and `*`, which wrap";
        sink.push(Diagnostic::new(Code::BadCharacter, Span::new(self.at, self.at + 1), message).hint(hint));
        self.push(Kind::Plus, DISCARD, 1);
    }

    /// Takes one bad character; neighbours, also across blanks, are reported as one.
    fn bad_character(&mut self, sink: &mut Sink) {
        let len = self.text[self.at..].chars().next().map_or(1, char::len_utf8);
        let span = Span::new(self.at, self.at + len);
        let joins = |bad: Span| self.text[bad.end as usize..self.at].bytes().all(|b| b.is_ascii_whitespace());
        match self.bad {
            Some(bad) if joins(bad) => self.bad = Some(bad.to(span)),
            _ => {
                self.flush_bad(sink);
                self.bad = Some(span);
            }
        }
        self.at += len;
        self.own_line = false;
    }

    fn flush_bad(&mut self, sink: &mut Sink) {
        let Some(span) = self.bad.take() else { return };
        self.out.bad += 1;
        if self.out.bad > MAX_BAD + 1 {
            return;
        }
        if self.out.bad > MAX_BAD {
            let message = "this does not look like a Boolean program: the rest is not read";
            return sink.push(Diagnostic::new(Code::TooMany, span, message));
        }
        let first = self.text[span.start as usize..].chars().next().unwrap_or_default();
        let message = match first {
            '\u{1A}' => "bytes that are not text".to_owned(),
            _ => format!("no token begins with `{}`", first.escape_debug()),
        };
        sink.push(Diagnostic::new(Code::BadCharacter, span, message));
    }
}
