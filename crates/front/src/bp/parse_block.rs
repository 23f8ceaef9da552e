//! Room `front`: the blocks of a body.
//!
//! Blocks that are open lie on a stack. A closing word that does not fit the last one closes what was forgotten, if it
//! fits any; so a missing `fi` is reported at its `if`, once.
//!
//! Blocks in braces, as other languages have them, are reported where they begin and then read as they were meant.

use super::parser::{MAX_DEPTH, Parsed, Parser};
use super::token::Kind;
use super::tree::*;
use crate::diagnostic::{Code, Diagnostic};
use postbop_ir::Span;

/// An open block.
#[derive(Clone, Copy)]
pub struct Block {
    /// Whether it is an `if`, not a `while`.
    is_if: bool,
    /// Whether its `else` was seen.
    has_else: bool,
    /// Whether an `if` follows the `else` at once.
    else_if: bool,
    /// The index of its opening statement.
    stmt: u32,
}

/// A body under way.
#[derive(Default)]
pub struct Body {
    /// The open blocks, innermost last.
    pub blocks: Vec<Block>,
    /// How many of them are `if`.
    ifs: usize,
    /// What is enforced, and where the word stands.
    pub enforce: Option<(ExprRef, Span)>,
    /// The labels read for the next statement.
    pub labels: Slice,
}

impl Parser<'_> {
    /// Reads `if e then` or `while e do`.
    pub fn open_block(&mut self, body: &mut Body) -> Parsed<()> {
        let word = self.take();
        let is_if = word.kind == Kind::If;
        let (cond, span, closed) = self.condition(word.span(), if is_if { Kind::Then } else { Kind::Do });
        if closed {
            return Ok(());
        }
        let stmt = self.tree.stmts.len() as u32;
        if let (true, Some(block), Some(Act::Else)) =
            (is_if, body.blocks.last_mut(), self.tree.stmts.last().map(|last| last.act))
        {
            block.else_if = true;
        }
        self.push(body, if is_if { Act::If(cond) } else { Act::While(cond) }, span);
        body.blocks.push(Block { is_if, has_else: false, else_if: false, stmt });
        body.ifs += is_if as usize;
        if body.blocks.len() > MAX_DEPTH {
            let message = format!("blocks nest more than {MAX_DEPTH} deep");
            self.error(Code::TooDeep, word.span(), message);
            // What follows cannot be told apart from what would close these blocks.
            self.at = self.tokens.len() - 1;
            self.gave_up = true;
            self.tree.lost_names = true;
            body.blocks.clear();
        }
        Ok(())
    }

    /// A condition and the word after it. The block is opened even if they cannot be read, or its end would be
    /// reported as well; unless, as the last value says, its end was read already.
    fn condition(&mut self, word: Span, close: Kind) -> (ExprRef, Span, bool) {
        let parsed = self.expression();
        let span = word.to(self.last_span());
        let complete = parsed.is_ok() && self.expect(close).is_ok();
        if !complete && self.line_in_braces() {
            return (parsed.unwrap_or_else(|_| self.missing_expression()), span, true);
        }
        if !complete {
            while !self.sees(close) && !self.sees(Kind::Semicolon) && !self.here().kind.begins_statement() {
                if self.here().kind.ends_block() || self.sees(Kind::LeftBrace) {
                    break;
                }
                self.take();
            }
            if self.accept(close).is_none() {
                self.accept(Kind::LeftBrace);
            }
        }
        (parsed.unwrap_or_else(|_| self.missing_expression()), span, false)
    }

    /// Takes a block in braces on one line, which looks like a name, and an `else` with another one.
    fn line_in_braces(&mut self) -> bool {
        let in_braces = |parser: &Self, by: usize| {
            let token = parser.tokens[(parser.at + by).min(parser.tokens.len() - 1)];
            token.kind == Kind::Name && parser.text[token.start as usize..].starts_with('{')
        };
        if !in_braces(self, 0) {
            return false;
        }
        self.take();
        if self.sees(Kind::Else) && in_braces(self, 1) {
            self.take();
            self.take();
        }
        true
    }

    /// Reads a word that closes a block, or begins its next branch.
    pub fn close(&mut self, body: &mut Body, kind: Kind) {
        let word = self.take();
        let wants_if = kind != Kind::Od;
        let open = if wants_if { body.ifs } else { body.blocks.len() - body.ifs };
        if open == 0 {
            let what = if wants_if { "if" } else { "while" };
            let message = format!("`{}` without its `{what}`", kind.text());
            self.error(Code::Unbalanced, word.span(), message);
            if kind == Kind::Elsif {
                self.condition(word.span(), Kind::Then);
            }
            return;
        }
        while let Some(block) = body.blocks.pop_if(|block| block.is_if != wants_if) {
            self.never_closed(block);
            body.ifs -= block.is_if as usize;
            self.push_closing(body, block, word.span());
        }
        match (kind, body.blocks.last().copied()) {
            (Kind::Fi | Kind::Od, Some(block)) => {
                body.blocks.pop();
                body.ifs -= block.is_if as usize;
                self.push_closing(body, block, word.span());
            }
            (_, Some(block)) => self.branch(body, block, word.span(), kind),
            (_, None) => {}
        }
    }

    fn branch(&mut self, body: &mut Body, block: Block, word: Span, kind: Kind) {
        if block.has_else {
            let first = self.tree.stmts[block.stmt as usize].span;
            let message = format!("`{}` after `else`", kind.text());
            self.sink.push(Diagnostic::new(Code::Unbalanced, word, message).note(first, "of this `if`"));
        }
        if kind == Kind::Elsif {
            let (cond, span, _) = self.condition(word, Kind::Then);
            self.push(body, Act::Elsif(cond), span);
        } else {
            if let Some(block) = body.blocks.last_mut() {
                block.has_else = true;
            }
            self.push(body, Act::Else, word);
        }
    }

    /// Reads `}`, which closes the block that was opened last, unless that goes on with `else`. Says whether it closes the
    /// body, since no block is open.
    pub fn close_brace(&mut self, body: &mut Body) -> bool {
        // One that closes what a brace has opened, which was an error, is none.
        let stray = !self.sink.has_errors();
        if stray {
            self.expected("a statement");
        }
        let Some(block) = body.blocks.last().copied() else {
            self.take();
            return !stray;
        };
        let word = self.take().span();
        if !matches!(self.here().kind, Kind::Else | Kind::Elsif) {
            body.blocks.pop();
            body.ifs -= block.is_if as usize;
            self.push_closing(body, block, word);
        }
        false
    }

    /// Reads `for (…)` or `for x …`, of which there is none, and opens a loop in its place if a block follows.
    pub fn no_for(&mut self, body: &mut Body) {
        let word = self.take();
        let mut depth = 0usize;
        loop {
            let ends = matches!(
                self.here().kind,
                Kind::Do | Kind::LeftBrace | Kind::Semicolon | Kind::End | Kind::EndOfFile
            );
            if depth == 0 && ends {
                break;
            }
            match self.take().kind {
                Kind::LeftParen => depth += 1,
                Kind::RightParen if depth == 1 => break,
                Kind::RightParen => depth -= 1,
                Kind::EndOfFile => break,
                _ => {}
            }
        }
        let span = word.span().to(self.last_span());
        let missing = Diagnostic::new(Code::Syntax, span, "there is no `for`");
        self.sink.push(missing.hint("write `i := 0; while i < n do … i := i + 1; od`"));
        if self.accept(Kind::LeftBrace).is_some() || self.accept(Kind::Do).is_some() {
            let cond = self.missing_expression();
            let stmt = self.tree.stmts.len() as u32;
            self.push(body, Act::While(cond), span);
            body.blocks.push(Block { is_if: false, has_else: false, else_if: false, stmt });
        }
    }

    fn push_closing(&mut self, body: &mut Body, block: Block, span: Span) {
        self.push(body, if block.is_if { Act::Fi } else { Act::Od(block.stmt) }, span);
    }

    /// Reports a block that nothing closes.
    pub fn never_closed(&mut self, block: Block) {
        let (open, close) = if block.is_if { ("if", "fi") } else { ("while", "od") };
        let span = self.tree.stmts[block.stmt as usize].span;
        let message = format!("this `{open}` is never closed by `{close}`");
        let mut unclosed = Diagnostic::new(Code::Unbalanced, span, message);
        if block.else_if {
            unclosed = unclosed.hint("`else if` opens one more `if`, with a `fi` of its own: write `elsif`");
        }
        self.sink.push(unclosed);
    }
}
