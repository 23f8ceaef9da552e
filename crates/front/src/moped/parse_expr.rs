//! Room `front/moped`: tokens to formulas and terms.
//!
//! # Idea
//! Operators wait on a stack of their own until their last operand is there; what is complete goes to the code of the
//! tree. Formulas and terms are parsed by one table; that integers are not compared with `==` is seen when types are
//! checked. A constant, such as a bound of a quantifier, is a term that is evaluated and taken from the code again.
//!
//! | binds | operators |
//! |---|---|
//! | strongest | `<<` |
//! | | `*` `/` |
//! | | `+` `-` |
//! | | `=` `!=` `<` `<=` `>` `>=` |
//! | | `!` |
//! | | `&` |
//! | | `\|` |
//! | | `^` |
//! | | `==` `<=>` |
//! | weakest | `A i (low, high)` `E i (low, high)`: as far to the right as there is something |
//!
//! All binary operators group to the left.
//!
//! # Departures
//! Moped has no parentheses around terms. Here they mean what they mean everywhere.

use super::lexer::{Kind, Sym, Token};
use super::parser::{Parser, Reported};
use super::tree::{Arithmetic, Code, Compare, Connective, Node, Op, Quantifier};
use crate::diagnostic::{Code as Problem, Diagnostic};
use postbop_ir::Span;

/// How strongly `!` binds.
const NOT: u8 = 5;

/// What waits for its last operand.
enum Open {
    Paren,
    Index(Sym, u8, Span),
    Not(Span),
    Binary(Op, u8, Span),
    Quantifier(u32, Span),
    /// A bound of a quantifier, whose code begins there.
    Low(u32, usize, Span),
    High(u32, usize, Span),
}

fn binary(kind: Kind) -> Option<(Op, u8)> {
    Some(match kind {
        Kind::Same => (Op::Connective(Connective::Same), 1),
        Kind::Xor => (Op::Connective(Connective::Xor), 2),
        Kind::Or => (Op::Connective(Connective::Or), 3),
        Kind::And => (Op::Connective(Connective::And), 4),
        Kind::Lt => (Op::Compare(Compare::Lt), 6),
        Kind::Le => (Op::Compare(Compare::Le), 6),
        Kind::Eq => (Op::Compare(Compare::Eq), 6),
        Kind::Ne => (Op::Compare(Compare::Ne), 6),
        Kind::Ge => (Op::Compare(Compare::Ge), 6),
        Kind::Gt => (Op::Compare(Compare::Gt), 6),
        Kind::Plus => (Op::Arithmetic(Arithmetic::Add), 7),
        Kind::Minus => (Op::Arithmetic(Arithmetic::Sub), 7),
        Kind::Times => (Op::Arithmetic(Arithmetic::Mul), 8),
        Kind::Over => (Op::Arithmetic(Arithmetic::Div), 8),
        Kind::Shift => (Op::Arithmetic(Arithmetic::Shl), 9),
        _ => return None,
    })
}

impl Parser<'_, '_> {
    /// Takes a formula or a term, as far as it reaches.
    pub fn expression(&mut self) -> Result<Code, Reported> {
        let start = self.system.code.len();
        let mut open: Vec<Open> = Vec::new();
        loop {
            self.operand(&mut open)?;
            if !self.after_operand(&mut open)? {
                return Ok(start..self.system.code.len());
            }
        }
    }

    fn emit(&mut self, op: Op, span: Span) {
        self.system.code.push(Node { op, unit: 0, span });
    }

    /// Takes everything up to and including the next operand that is complete in itself.
    fn operand(&mut self, open: &mut Vec<Open>) -> Result<(), Reported> {
        loop {
            let Token { kind, sym, span } = self.here();
            match kind {
                Kind::LeftParen => open.push(Open::Paren),
                Kind::Not => open.push(Open::Not(span)),
                Kind::Forall | Kind::Exists => {
                    self.quantifier(open)?;
                    continue;
                }
                Kind::Number => {
                    let value = self.number()?;
                    self.emit(Op::Number(value), span);
                    return Ok(());
                }
                Kind::Name => {
                    self.next();
                    if let Some(&value) = self.constants.get(&sym) {
                        self.emit(Op::Number(value), span);
                        return Ok(());
                    }
                    let mut primes = 0;
                    let mut last = span;
                    while self.here().kind == Kind::Prime && primes < 3 {
                        last = self.next().span;
                        primes += 1;
                    }
                    if self.here().kind != Kind::LeftBracket {
                        self.emit(Op::Name(sym, primes), span.to(last));
                        return Ok(());
                    }
                    open.push(Open::Index(sym, primes, span.to(last)));
                }
                _ => return self.expected("a variable, a number, `(`, `!`, `A` or `E`"),
            }
            self.next();
        }
    }

    /// Takes the beginning of a quantifier, up to its first bound.
    fn quantifier(&mut self, open: &mut Vec<Open>) -> Result<(), Reported> {
        let first = self.next();
        let (name, span) = self.name("the variable of the quantifier")?;
        if self.constants.contains_key(&name) {
            let message = format!("`{}` is a constant", self.spelling(name));
            self.sink.push(Diagnostic::new(Problem::VariableTwice, span, message));
        }
        self.mark(Kind::LeftParen)?;
        let forall = first.kind == Kind::Forall;
        self.system.quantifiers.push(Quantifier { name, forall, low: 0, high: 0, end: 0 });
        let id = self.system.quantifiers.len() as u32 - 1;
        open.push(Open::Low(id, self.system.code.len(), first.span.to(span)));
        Ok(())
    }

    /// Takes what follows an operand; whether another operand follows that.
    fn after_operand(&mut self, open: &mut Vec<Open>) -> Result<bool, Reported> {
        loop {
            let Token { kind, span, .. } = self.here();
            if let Some((op, strength)) = binary(kind) {
                self.close(open, strength);
                open.push(Open::Binary(op, strength, span));
                self.next();
                return Ok(true);
            }
            self.close(open, 0);
            match (open.pop(), kind) {
                (Some(Open::Paren), Kind::RightParen) => {}
                (Some(Open::Index(sym, primes, from)), Kind::RightBracket) => {
                    self.emit(Op::Indexed(sym, primes), from.to(span));
                }
                (Some(Open::Low(id, start, from)), Kind::Comma) => {
                    self.system.quantifiers[id as usize].low =
                        self.constant(start..self.system.code.len())?;
                    open.push(Open::High(id, start, from));
                    self.next();
                    return Ok(true);
                }
                (Some(Open::High(id, start, from)), Kind::RightParen) => {
                    self.system.quantifiers[id as usize].high =
                        self.constant(start..self.system.code.len())?;
                    self.emit(Op::Begin(id), from.to(span));
                    open.push(Open::Quantifier(id, from.to(span)));
                    self.next();
                    return Ok(true);
                }
                (Some(waiting), _) => return self.unclosed(&waiting),
                (None, _) => return Ok(false),
            }
            self.next();
        }
    }

    fn unclosed<T>(&mut self, waiting: &Open) -> Result<T, Reported> {
        match waiting {
            Open::Index(..) => self.expected("an operator or `]`"),
            Open::Low(..) => self.expected("an operator or `,`"),
            _ => self.expected("an operator or `)`"),
        }
    }

    /// Completes the operators that bind at least as strongly as that.
    fn close(&mut self, open: &mut Vec<Open>, strength: u8) {
        while let Some(top) = open.last() {
            let (op, span) = match *top {
                Open::Binary(op, other, span) if other >= strength => (op, span),
                Open::Not(span) if NOT >= strength => (Op::Not, span),
                Open::Quantifier(id, span) if strength == 0 => {
                    self.system.quantifiers[id as usize].end = self.system.code.len() as u32;
                    (Op::End(id), span)
                }
                _ => return,
            };
            open.pop();
            self.emit(op, span);
        }
    }

    /// The value of a term without variables, which is taken from the code.
    pub fn constant(&mut self, code: Code) -> Result<i64, Reported> {
        let nodes: Vec<Node> = self.system.code.drain(code).collect();
        let mut stack: Vec<i64> = Vec::new();
        for Node { op, span, .. } in nodes {
            let value = match op {
                Op::Number(value) => value,
                Op::Arithmetic(operation) => {
                    let (right, left) = (stack.pop().unwrap_or(0), stack.pop().unwrap_or(0));
                    let Some(value) = calculate(operation, left, right) else {
                        let message = format!("{left} {} {right} has no value of 64 bits", sign(operation));
                        self.sink.push(Diagnostic::new(Problem::NoValue, span, message));
                        return Err(Reported);
                    };
                    value
                }
                Op::Name(sym, _) | Op::Indexed(sym, _) => {
                    let message = format!("`{}` is not a constant", self.spelling(sym));
                    let hint = "a constant is defined before it is used: `define NAME 3`";
                    self.sink.push(Diagnostic::new(Problem::UnknownVariable, span, message).hint(hint));
                    return Err(Reported);
                }
                _ => {
                    let message = "expected a number, but this is a formula";
                    self.sink.push(Diagnostic::new(Problem::TypeMismatch, span, message));
                    return Err(Reported);
                }
            };
            stack.push(value);
        }
        Ok(stack.pop().unwrap_or(0))
    }
}

fn sign(operation: Arithmetic) -> &'static str {
    match operation {
        Arithmetic::Add => "+",
        Arithmetic::Sub => "-",
        Arithmetic::Mul => "*",
        Arithmetic::Div => "/",
        Arithmetic::Shl => "<<",
    }
}

/// The result of an operation on numbers. There is none where a divisor is zero or a shift negative, and where it has more
/// than 64 bits.
pub fn calculate(operation: Arithmetic, left: i64, right: i64) -> Option<i64> {
    match operation {
        Arithmetic::Add => left.checked_add(right),
        Arithmetic::Sub => left.checked_sub(right),
        Arithmetic::Mul => left.checked_mul(right),
        Arithmetic::Div => left.checked_div(right),
        Arithmetic::Shl if left == 0 && right >= 0 => Some(0),
        Arithmetic::Shl if (0..63).contains(&right) => left.checked_mul(1 << right),
        Arithmetic::Shl => None,
    }
}
