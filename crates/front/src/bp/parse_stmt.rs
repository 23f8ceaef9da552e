//! Room `front`: the statements of a body.
//!
//! A body is read by one loop; the blocks that are open lie on a stack (`parse_block`).

use super::parse_block::Body;
use super::parser::{Parsed, Parser};
use super::token::Kind;
use super::tree::*;
use crate::diagnostic::{Code, Diagnostic};
use postbop_ir::Span;

impl Parser<'_> {
    /// The statements after `begin` up to and with `end`: a slice of them, what is enforced, and where `end` is.
    pub fn body(&mut self, begin: Span) -> (Slice, Option<(ExprRef, Span)>, Span) {
        let first = self.tree.stmts.len();
        let mut body = Body::default();
        loop {
            self.labels(&mut body);
            let kind = self.here().kind;
            if kind.ends_block() || kind == Kind::Semicolon {
                self.label_alone(&mut body);
            }
            match kind {
                Kind::End => {
                    self.take();
                    break;
                }
                Kind::EndOfFile if self.gave_up => break,
                Kind::EndOfFile | Kind::Void | Kind::Bool => {
                    self.error(Code::Unbalanced, begin, "this procedure is never closed by `end`");
                    body.blocks.clear();
                    break;
                }
                _ if self.sink.is_full() => break,
                Kind::RightBrace => {
                    if self.close_brace(&mut body) {
                        break;
                    }
                }
                Kind::Semicolon => drop(self.take()),
                Kind::Fi | Kind::Od | Kind::Else | Kind::Elsif => self.close(&mut body, kind),
                _ => self.statement(&mut body),
            }
        }
        let end = self.last_span();
        if let Some(block) = body.blocks.last() {
            self.never_closed(*block);
        }
        (Slice::new(first, self.tree.stmts.len()), body.enforce, end)
    }

    fn labels(&mut self, body: &mut Body) {
        let first = self.tree.idents.len();
        while self.sees_label() {
            let token = self.take();
            self.take();
            self.tree.idents.push(Ident { sym: token.sym, span: token.span() });
        }
        body.labels = Slice::new(first, self.tree.idents.len());
    }

    /// Whether a label stands here. Some tools number their statements.
    fn sees_label(&self) -> bool {
        self.can_be_label() && self.ahead(1) == Kind::Colon
    }

    fn can_be_label(&self) -> bool {
        self.here().kind.is_name() || self.sees(Kind::Number)
    }

    /// The label a jump leads to.
    fn label(&mut self) -> Parsed<Ident> {
        if !self.can_be_label() {
            return Err(self.expected("a label"));
        }
        let token = self.take();
        Ok(Ident { sym: token.sym, span: token.span() })
    }

    /// A label with nothing to label stands before an invisible `skip`.
    fn label_alone(&mut self, body: &mut Body) {
        if !body.labels.is_empty() {
            let span = self.tree.idents[body.labels.start as usize].span.to(self.last_span());
            self.push(body, Act::Skip, span);
        }
    }

    /// Adds a statement with the labels read before it.
    pub fn push(&mut self, body: &mut Body, act: Act, span: Span) {
        let labels = std::mem::take(&mut body.labels);
        self.tree.stmts.push(Stmt { act, span, labels });
    }

    fn statement(&mut self, body: &mut Body) {
        let at = self.at;
        if self.any_statement(body).is_ok() && self.ends_well() {
            return;
        }
        if self.at == at {
            self.take();
        }
        loop {
            match self.here().kind {
                Kind::Semicolon => {
                    self.take();
                    return;
                }
                Kind::Void | Kind::Bool => return,
                kind if kind.begins_statement() || kind.ends_block() => return,
                _ => drop(self.take()),
            }
        }
    }

    /// Takes the `;` after a statement. It may be missing where the next token shows that a new one begins.
    fn ends_well(&mut self) -> bool {
        let opened = matches!(self.tree.stmts.last(), Some(Stmt { act: Act::If(_) | Act::While(_), .. }));
        let opened = opened && matches!(self.last_kind(), Kind::Then | Kind::Do | Kind::LeftBrace);
        if self.is_over() || opened {
            self.accept(Kind::Semicolon);
            return true;
        }
        self.expected("`;`");
        false
    }

    /// Whether the token looked at shows that a statement is over.
    fn is_over(&self) -> bool {
        let next = self.here().kind;
        let begins =
            next.begins_statement() || next == Kind::Constrain || next.is_name() || self.sees_label();
        next == Kind::Semicolon || next.ends_block() || begins
    }

    fn last_kind(&self) -> Kind {
        self.tokens[self.at.saturating_sub(1)].kind
    }

    fn any_statement(&mut self, body: &mut Body) -> Parsed<()> {
        let start = self.here().span();
        let next = self.ahead(1);
        let is_target = matches!(next, Kind::Assign | Kind::Comma | Kind::LeftBracket);
        let act = match self.here().kind {
            Kind::If | Kind::While => return self.open_block(body),
            Kind::Name if self.sees_for() => {
                self.no_for(body);
                return Ok(());
            }
            Kind::Enforce => return self.enforce(body),
            Kind::Decl => self.local_decl(Sharing::Plain)?,
            Kind::Shared | Kind::ThreadLocal if next == Kind::Decl => {
                let shared = self.take().kind == Kind::Shared;
                self.local_decl(if shared { Sharing::Shared } else { Sharing::ThreadLocal })?
            }
            Kind::Skip => self.word(Act::Skip),
            Kind::EndThread => self.word(Act::EndThread),
            Kind::AtomicBegin => self.word(Act::AtomicBegin),
            Kind::AtomicEnd => self.word(Act::AtomicEnd),
            Kind::Goto => self.goto()?,
            Kind::Return => self.return_values()?,
            Kind::Assert => self.of_expression(Act::Assert)?,
            Kind::Assume => self.of_expression(Act::Assume)?,
            Kind::Constrain => self.of_expression(Act::Constrain)?,
            Kind::StartThread => self.start_thread()?,
            Kind::AbortIf if !is_target && next != Kind::LeftParen => self.of_expression(Act::AbortIf)?,
            Kind::AbortIf if next == Kind::LeftParen => self.of_expression(Act::AbortIf)?,
            Kind::Dead if next.is_name() => self.dead()?,
            Kind::Sync if next.is_name() => {
                self.take();
                Act::Sync(self.name("an event")?)
            }
            Kind::Print if next == Kind::LeftParen => {
                self.take();
                Act::Print(self.arguments()?)
            }
            Kind::Call if next.is_name() => {
                self.take();
                self.call(None)?
            }
            kind if kind.is_name() && next == Kind::LeftParen => self.call(None)?,
            kind if kind.is_name() => self.assignment()?,
            _ => return Err(self.expected("a statement")),
        };
        let span = start.to(self.last_span());
        self.push(body, act, span);
        Ok(())
    }

    /// Whether `for x …`, `for (…; …)` or `for (…) do` stands here: a procedure of this name is called without a `;` in the
    /// parentheses, and no block follows.
    fn sees_for(&self) -> bool {
        let word = self.here();
        let is_for = &self.text[word.start as usize..word.end as usize] == "for";
        if !is_for || self.ahead(1) != Kind::LeftParen {
            return is_for && self.ahead(1).is_name();
        }
        let mut rest = self.tokens[self.at + 1..].iter().map(|token| token.kind);
        let stops = |kind: &Kind| matches!(kind, Kind::Semicolon | Kind::RightParen | Kind::EndOfFile);
        match rest.find(stops) {
            Some(Kind::RightParen) => matches!(rest.next(), Some(Kind::Do | Kind::LeftBrace)),
            stop => stop == Some(Kind::Semicolon),
        }
    }

    fn word(&mut self, act: Act) -> Act {
        self.take();
        act
    }

    fn of_expression(&mut self, act: fn(ExprRef) -> Act) -> Parsed<Act> {
        self.take();
        Ok(act(self.expression()?))
    }

    fn local_decl(&mut self, sharing: Sharing) -> Parsed<Act> {
        match self.declaration(sharing) {
            Ok((vars, sharing)) => Ok(Act::Decl(vars, sharing)),
            Err(reported) => {
                self.tree.lost_names = true;
                Err(reported)
            }
        }
    }

    fn goto(&mut self) -> Parsed<Act> {
        self.take();
        let first = self.tree.idents.len();
        loop {
            let label = self.label()?;
            self.tree.idents.push(label);
            if self.accept(Kind::Comma).is_none() {
                return Ok(Act::Goto(Slice::new(first, self.tree.idents.len())));
            }
        }
    }

    fn return_values(&mut self) -> Parsed<Act> {
        self.take();
        let none = Slice::new(self.tree.exprs.len(), self.tree.exprs.len());
        let next = self.here().kind;
        let nothing =
            next == Kind::Semicolon || next.ends_block() || next.begins_statement() || self.sees_label();
        Ok(Act::Return(if nothing { none } else { self.expression_list()? }))
    }

    fn start_thread(&mut self) -> Parsed<Act> {
        self.take();
        if self.accept(Kind::Goto).is_some() {
            return Ok(Act::StartGoto(self.label()?));
        }
        if self.sees(Kind::Call) && self.ahead(1).is_name() {
            self.take();
        }
        let name = self.name("`goto` or a call")?;
        Ok(Act::StartCall(name, self.arguments()?))
    }

    fn dead(&mut self) -> Parsed<Act> {
        self.take();
        Ok(Act::Dead(self.target_list()?))
    }

    fn target_list(&mut self) -> Parsed<Slice> {
        let first = self.tree.targets.len();
        loop {
            let name = self.name("a variable")?;
            let index = match self.accept(Kind::LeftBracket) {
                Some(_) => {
                    let index = self.expression()?;
                    self.expect(Kind::RightBracket)?;
                    Some(index)
                }
                None => None,
            };
            self.tree.targets.push(Target { name, index });
            if self.accept(Kind::Comma).is_none() {
                return Ok(Slice::new(first, self.tree.targets.len()));
            }
        }
    }

    fn arguments(&mut self) -> Parsed<Slice> {
        self.expect(Kind::LeftParen)?;
        let none = Slice::new(self.tree.exprs.len(), self.tree.exprs.len());
        let list = if self.sees(Kind::RightParen) { none } else { self.expression_list()? };
        self.expect(Kind::RightParen)?;
        Ok(list)
    }

    fn call(&mut self, targets: Option<Slice>) -> Parsed<Act> {
        let name = self.name("a procedure")?;
        Ok(Act::Call(targets, name, self.arguments()?))
    }

    fn assignment(&mut self) -> Parsed<Act> {
        let targets = self.target_list()?;
        if self.sees(Kind::Eq) {
            let message = "`=` compares; an assignment is written `:=`";
            let fix = Diagnostic::new(Code::Syntax, self.here().span(), message).hint("write `:=`");
            self.sink.push(fix);
            self.take();
        } else {
            self.expect(Kind::Assign)?;
        }
        let is_call =
            |parser: &Self, at| parser.ahead(at).is_name() && parser.ahead(at + 1) == Kind::LeftParen;
        if self.sees(Kind::Call) && is_call(self, 1) {
            self.take();
            return self.call(Some(targets));
        }
        if is_call(self, 0) && !self.sees(Kind::Ite) {
            let call = self.call(Some(targets))?;
            if !self.is_over() {
                let message = "a call cannot be part of an expression or of a list of values";
                return Err(self.error(Code::CallInExpression, self.here().span(), message));
            }
            return Ok(call);
        }
        let values = self.expression_list()?;
        let constraint = match self.accept(Kind::Constrain) {
            Some(_) => Some(self.expression()?),
            None => None,
        };
        Ok(Act::Assign(targets, values, constraint))
    }

    fn enforce(&mut self, body: &mut Body) -> Parsed<()> {
        self.label_alone(body);
        let word = self.take().span();
        let expr = self.expression()?;
        match body.enforce {
            None => body.enforce = Some((expr, word)),
            Some((_, first)) => {
                let message = "a procedure has one `enforce`";
                let twice = Diagnostic::new(Code::EnforceTwice, word, message).note(first, "the first one");
                self.sink.push(twice.hint("join the conditions with `&`"));
            }
        }
        Ok(())
    }
}
