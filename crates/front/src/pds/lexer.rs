//! Room `front/pds`: the tokens of pushdown systems, line by line.
//!
//! The format has a rule on each line, so a line is read at a time, and a line that cannot be read does not hurt the next.

use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::{FileId, Span};
use std::ops::Range;

/// The tokens that are not numbers or words, longer ones first.
const MARKS: [&str; 5] = ["->", "-", "|", ",", "."];

/// One line without its comment.
pub struct Line<'a> {
    text: &'a str,
    tokens: Vec<Span>,
    next: usize,
    /// Where it ends.
    end: Span,
}

/// The lines of a file on which there is something.
pub fn lines<'a>(file: FileId, text: &'a str, sink: &mut Sink) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let length = line.find('#').unwrap_or(line.trim_end().len());
        let tokens = tokens(file, text, start..start + length, sink);
        if let Some(last) = tokens.last() {
            let end = Span { start: last.end, ..*last };
            lines.push(Line { text, tokens, next: 0, end });
        }
        start += line.len();
    }
    lines
}

fn tokens(file: FileId, text: &str, range: Range<usize>, sink: &mut Sink) -> Vec<Span> {
    let mut tokens = Vec::new();
    let Range { start: mut at, end } = range;
    while let Some(first) = text[at..end].chars().next() {
        let run = |keep: fn(char) -> bool| text[at..end].find(|c| !keep(c)).map_or(end, |length| at + length);
        let mark = MARKS.iter().find(|mark| text[at..end].starts_with(**mark));
        let stop = match mark {
            Some(mark) => at + mark.len(),
            None if first.is_ascii_digit() => run(|c| c.is_ascii_digit()),
            None if first.is_ascii_alphabetic() => run(|c| c.is_ascii_alphanumeric()),
            None => at + first.len_utf8(),
        };
        let span = Span::of(file, at, stop);
        if mark.is_some() || first.is_ascii_alphanumeric() {
            tokens.push(span);
        } else if !first.is_whitespace() {
            sink.push(Diagnostic::new(Code::BadCharacter, span, "no token begins with this character"));
        }
        at = stop;
    }
    tokens
}

impl<'a> Line<'a> {
    /// The next token, or nothing at the end of the line.
    pub fn peek(&self) -> &'a str {
        self.tokens.get(self.next).map_or("", |span| &self.text[span.start as usize..span.end as usize])
    }

    /// Where the next token is, or where the line ends.
    pub fn here(&self) -> Span {
        self.tokens.get(self.next).copied().unwrap_or(self.end)
    }

    /// The whole line.
    pub fn span(&self) -> Span {
        self.tokens.first().map_or(self.end, |first| first.to(self.end))
    }

    /// Takes the next token if it is this one.
    pub fn take(&mut self, token: &str) -> bool {
        let found = self.peek() == token;
        self.next += found as usize;
        found
    }

    /// Whether the next token is a number.
    pub fn at_number(&self) -> bool {
        self.peek().starts_with(|first: char| first.is_ascii_digit())
    }

    /// Takes a number, or says that `what` was expected.
    pub fn number(&mut self, what: &str, sink: &mut Sink) -> Option<(i64, Span)> {
        if !self.at_number() {
            self.expected(what, sink);
            return None;
        }
        let span = self.here();
        let value = self.peek().parse().ok();
        self.next += 1;
        if value.is_none() {
            sink.push(Diagnostic::new(Code::HugeNumber, span, "this number has more than 63 bits"));
        }
        Some((value?, span))
    }

    /// Takes this token, or says that it was expected.
    pub fn mark(&mut self, mark: &str, sink: &mut Sink) -> Option<()> {
        let found = self.take(mark);
        if !found {
            self.expected(&format!("`{mark}`"), sink);
        }
        found.then_some(())
    }

    /// Says so if the line goes on.
    pub fn finish(&self, sink: &mut Sink) -> Option<()> {
        let done = self.peek().is_empty();
        if !done {
            self.expected("the end of the line", sink);
        }
        done.then_some(())
    }

    /// Says what was expected here.
    pub fn expected(&self, what: &str, sink: &mut Sink) {
        let found = match self.peek() {
            "" => "the line ends".to_owned(),
            token => format!("found `{}`", token.chars().take(40).collect::<String>()),
        };
        let message = format!("expected {what}, but {found}");
        sink.push(Diagnostic::new(Code::Syntax, self.here(), message));
    }
}
