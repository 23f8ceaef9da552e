//! Room `front`: expressions, by operator precedence.
//!
//! # Idea
//! Dijkstra's shunting yard: operands go straight to the pool, operators wait on a stack until one that binds
//! weaker, a closing bracket or the end sends them after their operands. The pool is in postfix order, so
//! nothing is ever moved. Wherever two operators meet, both dialects are asked which of them takes the operand
//! between; the first time they disagree is the first place where the two readings part, and is noted (`doubt`).
//!
//! # Cost
//! Linear. Brackets nest up to [`MAX_DEPTH`]; chains of operators, prefixed ones too, have no limit.

use super::dialect;
use super::doubt::Doubt;
use super::parser::{MAX_DEPTH, Parsed, Parser};
use super::token::{Kind, Sym};
use super::tree::{Binary, ExprRef, Ident, Node, Slice};
use crate::diagnostic::{Code, Diagnostic};
use postbop_ir::Span;
use smallvec::SmallVec;

/// What waits for its last operand.
#[derive(Clone, Copy)]
enum Open {
    Not(Span),
    Neg(Span),
    Binary(Binary, Span),
    Paren,
    Index(Sym, bool, Span),
    /// With how many commas were seen.
    Schoose(Span, u8),
    Ite(Span, u8),
}

/// What to do after an operand.
enum Next {
    Operand,
    Operator,
    Done,
}

/// One expression under way.
#[derive(Default)]
struct Yard {
    open: SmallVec<[Open; 8]>,
    brackets: usize,
    /// The first operators about which the dialects disagree, and where they stand.
    doubt: Option<((Binary, Binary), Span)>,
}

fn binary(kind: Kind) -> Option<Binary> {
    Some(match kind {
        Kind::Implies => Binary::Implies,
        Kind::Or => Binary::Or,
        Kind::Xor => Binary::Xor,
        Kind::And => Binary::And,
        Kind::Eq => Binary::Eq,
        Kind::Ne => Binary::Ne,
        Kind::Lt => Binary::Lt,
        Kind::Le => Binary::Le,
        Kind::Gt => Binary::Gt,
        Kind::Ge => Binary::Ge,
        Kind::Plus => Binary::Add,
        Kind::Minus => Binary::Sub,
        Kind::Star => Binary::Mul,
        _ => return None,
    })
}

impl Parser<'_> {
    /// A list of at least one expression, as a slice of the list of expressions.
    pub fn expression_list(&mut self) -> Parsed<Slice> {
        let first = self.tree.exprs.len();
        loop {
            let expr = self.expression()?;
            self.tree.exprs.push(expr);
            if self.accept(Kind::Comma).is_none() {
                return Ok(Slice::new(first, self.tree.exprs.len()));
            }
        }
    }

    /// An expression: everything up to the first token that cannot continue one.
    pub fn expression(&mut self) -> Parsed<ExprRef> {
        let first = self.tree.nodes.len();
        let start = self.here().span();
        let mut yard = Yard::default();
        let parsed = self.yard(&mut yard);
        if let (Some((ops, span)), true) = (yard.doubt, parsed.is_ok()) {
            self.tree.doubts.push(Doubt { ops, span, whole: start.to(self.last_span()) });
        }
        if parsed.is_err() {
            self.tree.nodes.truncate(first);
            self.tree.spans.truncate(first);
        }
        parsed.map(|()| Slice::new(first, self.tree.nodes.len()))
    }

    /// An expression that stands for one that could not be read.
    pub fn missing_expression(&mut self) -> ExprRef {
        let first = self.tree.nodes.len();
        let span = self.last_span();
        self.node(Node::Truth(false), span);
        Slice::new(first, first + 1)
    }

    fn node(&mut self, node: Node, span: Span) {
        self.tree.nodes.push(node);
        self.tree.spans.push(span);
    }

    fn yard(&mut self, yard: &mut Yard) -> Parsed<()> {
        loop {
            while !self.operand(yard)? {}
            loop {
                self.reduce_prefixes(yard);
                match self.after_operand(yard)? {
                    Next::Operand => break,
                    Next::Operator => {}
                    Next::Done => return Ok(()),
                }
            }
        }
    }

    /// Reads an operand, or something that comes before one. Says whether an operand is complete.
    fn operand(&mut self, yard: &mut Yard) -> Parsed<bool> {
        let token = self.here();
        let span = token.span();
        let node = match token.kind {
            Kind::True => Node::Truth(true),
            Kind::False => Node::Truth(false),
            Kind::Star | Kind::Question => Node::Choice,
            Kind::Number => {
                let (value, span) = self.number("a number")?;
                self.node(Node::Number(value), span);
                return Ok(true);
            }
            Kind::Minus if self.ahead(1) == Kind::Number => {
                self.take();
                let (value, end) = self.number("a number")?;
                self.node(Node::Number(-value), span.to(end));
                return Ok(true);
            }
            Kind::Minus => return self.open(yard, Open::Neg(span), 1),
            Kind::Not => return self.open(yard, Open::Not(span), 1),
            Kind::LeftParen => return self.open(yard, Open::Paren, 1),
            Kind::Schoose if self.ahead(1) == Kind::LeftBracket => {
                return self.open(yard, Open::Schoose(span, 0), 2);
            }
            Kind::Ite if self.ahead(1) == Kind::LeftParen => return self.open(yard, Open::Ite(span, 0), 2),
            Kind::Tick => return self.primed(yard),
            kind if kind.is_name() => return self.variable(yard, false, span),
            _ => return Err(self.expected("an expression")),
        };
        self.take();
        self.node(node, span);
        Ok(true)
    }

    fn open(&mut self, yard: &mut Yard, open: Open, tokens: usize) -> Parsed<bool> {
        self.at += tokens;
        yard.open.push(open);
        if !matches!(open, Open::Not(_) | Open::Neg(_) | Open::Binary(..)) {
            yard.brackets += 1;
        }
        if yard.brackets > MAX_DEPTH {
            let message = format!("brackets nest more than {MAX_DEPTH} deep");
            return Err(self.error(Code::TooDeep, self.last_span(), message));
        }
        Ok(false)
    }

    /// `'x`, `'a[i]`, or `'(x)` as SatAbs allows.
    fn primed(&mut self, yard: &mut Yard) -> Parsed<bool> {
        let tick = self.take().span();
        if self.sees(Kind::LeftParen) && self.ahead(1).is_name() && self.ahead(2) == Kind::RightParen {
            self.take();
            let name = self.name("a variable")?;
            let span = tick.to(self.take().span());
            self.node(Node::Var(name.sym, true), span);
            return Ok(true);
        }
        if !self.here().kind.is_name() {
            return Err(self.expected("the name of a variable"));
        }
        self.variable(yard, true, tick)
    }

    fn variable(&mut self, yard: &mut Yard, primed: bool, start: Span) -> Parsed<bool> {
        let name = self.name("a variable")?;
        let span = start.to(name.span);
        match self.here().kind {
            Kind::LeftBracket => self.open(yard, Open::Index(name.sym, primed, span), 1),
            Kind::LeftParen => {
                self.call_in_expression(name);
                self.node(Node::Truth(false), span);
                Ok(true)
            }
            _ => {
                self.node(Node::Var(name.sym, primed), span);
                Ok(true)
            }
        }
    }

    /// Reports `f(…)` where a value is needed, and takes it.
    pub fn call_in_expression(&mut self, name: Ident) {
        let mut depth = 0usize;
        loop {
            match self.here().kind {
                Kind::LeftParen => depth += 1,
                Kind::RightParen => depth -= 1,
                Kind::Semicolon | Kind::EndOfFile => break,
                _ => {}
            }
            self.take();
            if depth == 0 {
                break;
            }
        }
        let message = "a call cannot be part of an expression";
        let hint = "assign the result to a variable first: `x := f(…);`";
        let span = name.span.to(self.last_span());
        self.sink.push(Diagnostic::new(Code::CallInExpression, span, message).hint(hint));
    }

    fn reduce_prefixes(&mut self, yard: &mut Yard) {
        while let Some(Open::Not(_) | Open::Neg(_)) = yard.open.last() {
            self.reduce_one(yard);
        }
    }

    /// Sends the last open operator to the pool.
    fn reduce_one(&mut self, yard: &mut Yard) {
        match yard.open.pop() {
            Some(Open::Not(span)) => self.node(Node::Not, span),
            Some(Open::Neg(span)) => self.node(Node::Neg, span),
            Some(Open::Binary(op, span)) => self.node(Node::Binary(op), span),
            _ => {}
        }
    }

    /// Sends all operators since the last open bracket to the pool.
    fn reduce_to_bracket(&mut self, yard: &mut Yard) {
        while let Some(Open::Not(_) | Open::Neg(_) | Open::Binary(..)) = yard.open.last() {
            self.reduce_one(yard);
        }
    }

    fn after_operand(&mut self, yard: &mut Yard) -> Parsed<Next> {
        let token = self.here();
        if let Some(op) = binary(token.kind) {
            self.take();
            self.meet(yard, op, token.span());
            yard.open.push(Open::Binary(op, token.span()));
            return Ok(Next::Operand);
        }
        self.reduce_to_bracket(yard);
        let Some(bracket) = yard.open.pop() else { return Ok(Next::Done) };
        let node = match (bracket, token.kind) {
            (Open::Paren, Kind::RightParen) => None,
            (Open::Index(sym, primed, span), Kind::RightBracket) => {
                Some((Node::Index(sym, primed), span.to(token.span())))
            }
            (Open::Schoose(span, 1), Kind::RightBracket) => Some((Node::Schoose, span)),
            (Open::Ite(span, 2), Kind::RightParen) => Some((Node::Ite, span)),
            (Open::Schoose(span, 0), Kind::Comma) => {
                self.take();
                yard.open.push(Open::Schoose(span, 1));
                return Ok(Next::Operand);
            }
            (Open::Ite(span, commas @ (0 | 1)), Kind::Comma) => {
                self.take();
                yard.open.push(Open::Ite(span, commas + 1));
                return Ok(Next::Operand);
            }
            (bracket, _) => return Err(self.unclosed(bracket)),
        };
        self.take();
        yard.brackets -= 1;
        if let Some((node, span)) = node {
            self.node(node, span);
        }
        Ok(Next::Operator)
    }

    fn unclosed(&mut self, bracket: Open) -> super::parser::Reported {
        match bracket {
            Open::Schoose(_, 0) | Open::Ite(_, 0 | 1) => self.expected("`,`"),
            Open::Schoose(..) | Open::Index(..) => self.expected("`]`"),
            _ => self.expected("`)`"),
        }
    }

    /// Closes the operators that take the operand before `op`.
    fn meet(&mut self, yard: &mut Yard, op: Binary, span: Span) {
        while let Some(Open::Binary(left, at)) = yard.open.last().copied() {
            if dialect::differs(left, op) && yard.doubt.is_none() {
                yard.doubt = Some(((left, op), at.to(span)));
            }
            if !dialect::left_first(left, op, self.satabs) {
                break;
            }
            self.reduce_one(yard);
        }
    }
}
