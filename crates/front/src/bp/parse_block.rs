//! Room `front`: the blocks of a body.
//!
//! Blocks that are open lie on a stack. A closing word that does not fit the last one closes what was forgotten, if it
//! fits any; so a missing `fi` is reported at its `if`, once.

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
        let (cond, span) = self.condition(word.span(), if is_if { Kind::Then } else { Kind::Do });
        let stmt = self.tree.stmts.len() as u32;
        self.push(body, if is_if { Act::If(cond) } else { Act::While(cond) }, span);
        body.blocks.push(Block { is_if, has_else: false, stmt });
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
    /// reported as well.
    fn condition(&mut self, word: Span, close: Kind) -> (ExprRef, Span) {
        let parsed = self.expression();
        let span = word.to(self.last_span());
        let complete = parsed.is_ok() && self.expect(close).is_ok();
        if !complete {
            while !self.sees(close) && !self.sees(Kind::Semicolon) && !self.here().kind.begins_statement() {
                if self.here().kind.ends_block() {
                    break;
                }
                self.take();
            }
            self.accept(close);
        }
        (parsed.unwrap_or_else(|_| self.missing_expression()), span)
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
            let (cond, span) = self.condition(word, Kind::Then);
            self.push(body, Act::Elsif(cond), span);
        } else {
            if let Some(block) = body.blocks.last_mut() {
                block.has_else = true;
            }
            self.push(body, Act::Else, word);
        }
    }

    fn push_closing(&mut self, body: &mut Body, block: Block, span: Span) {
        self.push(body, if block.is_if { Act::Fi } else { Act::Od(block.stmt) }, span);
    }

    /// Reports a block that nothing closes.
    pub fn never_closed(&mut self, block: Block) {
        let (open, close) = if block.is_if { ("if", "fi") } else { ("while", "od") };
        let span = self.tree.stmts[block.stmt as usize].span;
        self.error(Code::Unbalanced, span, format!("this `{open}` is never closed by `{close}`"));
    }
}
