//! Room `front/temporal`: formulas, from tokens to operators and raw atoms.
//!
//! # Idea
//!
//! The tokens are those of Boolean programs, with `.` allowed within names; `->`, `<->`, `[]` and `<>` are seen from two or
//! three of them side by side. Operators wait on a stack of their own, as in `bp/parse_expr`, so depth costs no stack.
//!
//! A condition on variables that stands alone reaches as far as arithmetic, comparisons and indices do; its tokens are given to the
//! parser of expressions. Parentheses and `&`, `|`, `!` belong to the formula. In braces everything belongs to the condition,
//! unless the braces with what is in them are the name of a variable. `U`, `R`, `V`, `W` and `M` are operators only where
//! one can stand, so that a label may be called `R`.
//!
//! | binds | operators | grouping |
//! |---|---|---|
//! | strongest | `!` `X` `F` `G` `[]` `<>` | |
//! | | `U` `R` `V` `W` `M` | to the right |
//! | | `&` `&&` | |
//! | | `\|` `\|\|` | |
//! | | `->` `=>` | to the right |
//! | weakest | `<->` `<=>` | |

use crate::bp::lexer::{Lexed, lex};
use crate::bp::parser::Parser as Expressions;
use crate::bp::token::{Kind, Sym, Token};
use crate::bp::tree::{ExprRef, Tree};
use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::{Program, Span};
use postbop_kit::buchi::{Formula, Node, NodeId};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// An atom as it was written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Raw<'t> {
    Const(bool),
    /// A name alone, and what it is if it is a variable.
    Name(&'t str, ExprRef, Span),
    Condition(ExprRef),
    Label(Option<(&'t str, Span)>, &'t str, Span),
    Call(&'t str, Span),
    Return(&'t str, Span),
    Inside(&'t str, Span),
}

/// What was parsed: formulas whose atoms are numbers of raw atoms.
pub(super) struct Parsed<'t> {
    /// The conditions on variables.
    pub tree: Tree,
    /// The spelling of every name.
    pub names: Vec<&'t str>,
    pub raws: Vec<Raw<'t>>,
    pub formulas: Vec<Formula>,
}

/// A mistake that was reported.
pub(super) struct Reported;

/// What waits for its last operand.
enum Open {
    Paren(Span),
    Unary(fn(NodeId) -> Node),
    Binary(Operator),
}

/// A binary operator: how strongly it binds, and whether it groups to the right.
#[derive(Clone, Copy)]
struct Operator {
    make: fn(NodeId, NodeId) -> Node,
    strength: u8,
    to_right: bool,
}

/// The cursor over the tokens of a text.
pub(super) struct Parser<'t, 's> {
    pub text: &'t str,
    tokens: Vec<Token>,
    /// The tokens within braces.
    inner: Vec<Token>,
    at: usize,
    /// Variables whose names are in braces.
    braced: HashSet<String>,
    pub sink: &'s mut Sink,
    parsed: Parsed<'t>,
}

impl<'t, 's> Parser<'t, 's> {
    /// A cursor at the beginning of a text.
    pub fn new(text: &'t str, program: &Program, sink: &'s mut Sink) -> Self {
        let braced = program.vars().iter().map(|var| &var.name).filter(|name| name.starts_with('{'));
        let Lexed { tokens, names, .. } = lex(text, Some(b'.'), sink);
        let parsed = Parsed { tree: Tree::default(), names, raws: Vec::new(), formulas: Vec::new() };
        let braced = braced.cloned().collect();
        let mut parser = Parser { text, tokens, inner: Vec::new(), at: 0, braced, sink, parsed };
        parser.look_into_braces();
        parser
    }

    /// What was parsed.
    pub fn finish(self) -> Parsed<'t> {
        self.parsed
    }

    /// Finds the tokens within braces: everything else is blanked out, so that they are where they stand.
    fn look_into_braces(&mut self) {
        let mut rest = self.text;
        let mut blank = String::with_capacity(self.text.len());
        let braces = self.tokens.iter().filter(|token| self.is_condition(**token));
        for token in braces {
            let start = token.start as usize - (self.text.len() - rest.len());
            blank.extend(std::iter::repeat_n(' ', start + 1));
            let inside = &self.text[token.start as usize + 1..token.end as usize - 1];
            blank.push_str(inside);
            rest = &self.text[token.end as usize - 1..];
        }
        if blank.is_empty() {
            return;
        }
        let mut symbols: HashMap<&str, Sym> =
            self.parsed.names.iter().enumerate().map(|(sym, name)| (*name, sym as Sym)).collect();
        self.inner = lex(&blank, Some(b'.'), self.sink).tokens;
        for token in &mut self.inner {
            let names = &mut self.parsed.names;
            let spelling = &self.text[token.start as usize..(token.end as usize).min(self.text.len())];
            token.sym = *symbols.entry(spelling).or_insert_with(|| {
                names.push(spelling);
                names.len() as Sym - 1
            });
        }
    }

    /// Whether it is a condition in braces, and not a name.
    fn is_condition(&self, token: Token) -> bool {
        let spelling = self.spelling(token);
        token.kind == Kind::Name
            && spelling.starts_with('{')
            && spelling.ends_with('}')
            && !self.braced.contains(spelling)
    }

    fn spelling(&self, token: Token) -> &'t str {
        &self.text[token.start as usize..token.end as usize]
    }

    pub fn here(&self) -> Token {
        self.tokens[self.at]
    }

    fn ahead(&self, by: usize) -> Token {
        self.tokens[(self.at + by).min(self.tokens.len() - 1)]
    }

    /// Takes so many tokens; where they stand.
    pub fn take(&mut self, count: usize) -> Span {
        let first = self.here().span();
        let last = self.ahead(count.saturating_sub(1)).span();
        self.at = (self.at + count).min(self.tokens.len() - 1);
        first.to(last)
    }

    pub fn is_at_end(&self) -> bool {
        self.here().kind == Kind::EndOfFile
    }

    /// Whether the next token is spelled like this.
    pub fn sees(&self, spelling: &str) -> bool {
        !self.is_at_end() && self.spelling(self.here()) == spelling
    }

    /// Whether the next tokens are of these kinds and stand side by side.
    fn sees_joined(&self, kinds: &[Kind]) -> bool {
        let each = |(by, kind): (usize, &Kind)| {
            let token = self.ahead(by);
            token.kind == *kind && (by == 0 || self.ahead(by - 1).end == token.start)
        };
        kinds.iter().enumerate().all(each)
    }

    /// Whether the next tokens are `->`.
    pub fn sees_arrow(&self) -> bool {
        self.sees_joined(&[Kind::Minus, Kind::Gt])
    }

    pub fn expected<T>(&mut self, what: &str) -> Result<T, Reported> {
        let token = self.here();
        let found = match token.kind {
            Kind::EndOfFile => "the end".to_owned(),
            _ => format!("`{}`", self.spelling(token)),
        };
        let span =
            if self.is_at_end() { self.tokens[self.at.saturating_sub(1)].span() } else { token.span() };
        self.sink.push(Diagnostic::new(Code::Syntax, span, format!("expected {what}, found {found}")));
        Err(Reported)
    }

    /// Takes a name.
    pub fn name(&mut self, what: &str) -> Result<(&'t str, Span), Reported> {
        let token = self.here();
        if !token.kind.is_name() && token.kind != Kind::Number {
            return self.expected(what);
        }
        self.take(1);
        Ok((self.spelling(token), token.span()))
    }

    /// A formula, up to the first token that cannot continue it. Its number among those that were parsed.
    pub fn formula(&mut self, temporal: bool) -> Result<usize, Reported> {
        let mut formula = Formula::default();
        let mut open: Vec<Open> = Vec::new();
        let mut operands: Vec<NodeId> = Vec::new();
        loop {
            while let Some(prefix) = self.prefix(temporal) {
                open.push(prefix);
            }
            let raw = self.atom()?;
            self.parsed.raws.push(raw);
            operands.push(formula.push(Node::Atom(self.parsed.raws.len() as u32 - 1)));
            loop {
                reduce(&mut formula, &mut open, &mut operands, u8::MAX, false);
                let closes = self.here().kind == Kind::RightParen;
                if let Some(operator) = self.infix(temporal) {
                    reduce(&mut formula, &mut open, &mut operands, operator.strength, operator.to_right);
                    open.push(Open::Binary(operator));
                    break;
                }
                reduce(&mut formula, &mut open, &mut operands, 0, false);
                match open.pop() {
                    None => {
                        self.parsed.formulas.push(formula);
                        return Ok(self.parsed.formulas.len() - 1);
                    }
                    Some(Open::Paren(_)) if closes => drop(self.take(1)),
                    Some(Open::Paren(span)) => {
                        let found = self.expected("an operator or `)`");
                        let message = "this parenthesis is never closed";
                        self.sink.push(Diagnostic::new(Code::Unbalanced, span, message));
                        return found;
                    }
                    Some(_) => return self.expected("an operator"),
                }
            }
        }
    }

    /// Takes a parenthesis or a prefix operator, if there is one.
    fn prefix(&mut self, temporal: bool) -> Option<Open> {
        let token = self.here();
        let spelling = if self.is_at_end() { "" } else { self.spelling(token) };
        let (make, tokens): (fn(NodeId) -> Node, usize) = match (token.kind, spelling) {
            (Kind::LeftParen, _) => {
                self.take(1);
                return Some(Open::Paren(token.span()));
            }
            (Kind::Not, _) => {
                self.take(1);
                return Some(Open::Unary(Node::Not));
            }
            (Kind::LeftBracket, _) if self.ahead(1).kind == Kind::RightBracket => (Node::Globally, 2),
            (_, "<>" | "F") => (Node::Finally, 1),
            (_, "G") => (Node::Globally, 1),
            (_, "X") => (Node::Next, 1),
            _ => return None,
        };
        let span = self.take(tokens);
        self.check_temporal(temporal, span);
        Some(Open::Unary(make))
    }

    /// Takes an operator between two formulas, if there is one.
    fn infix(&mut self, temporal: bool) -> Option<Operator> {
        let token = self.here();
        let spelling = if self.is_at_end() { "" } else { self.spelling(token) };
        let plain = |make, strength, to_right| Operator { make, strength, to_right };
        let (operator, tokens) = match token.kind {
            Kind::And => (plain(Node::And, 4, false), 1),
            Kind::Or => (plain(Node::Or, 3, false), 1),
            Kind::Implies => (plain(Node::Implies, 2, true), 1),
            Kind::Minus if self.sees_arrow() => (plain(Node::Implies, 2, true), 2),
            Kind::Lt if self.sees_joined(&[Kind::Lt, Kind::Minus, Kind::Gt]) => {
                (plain(Node::Iff, 1, false), 3)
            }
            Kind::Le if self.sees_joined(&[Kind::Le, Kind::Gt]) => (plain(Node::Iff, 1, false), 2),
            _ => {
                let make = match spelling {
                    "U" => Node::Until,
                    "R" | "V" => Node::Release,
                    "W" => Node::WeakUntil,
                    "M" => Node::StrongRelease,
                    _ => return None,
                };
                let span = self.take(1);
                self.check_temporal(temporal, span);
                return Some(plain(make, 5, true));
            }
        };
        self.take(tokens);
        Some(operator)
    }

    fn check_temporal(&mut self, temporal: bool, span: Span) {
        if !temporal {
            let message = "this condition is about one position of a run: it has no temporal operators";
            self.sink.push(Diagnostic::new(Code::NotTemporal, span, message));
        }
    }

    /// Takes an atom.
    pub fn atom(&mut self) -> Result<Raw<'t>, Reported> {
        let token = self.here();
        if self.is_at_end() {
            return self.expected("a formula");
        }
        if self.is_condition(token) {
            let first = self.inner.partition_point(|inner| inner.start < token.start);
            let inside = self.inner[first..].iter().take_while(|inner| inner.end < token.end);
            let tokens: Vec<Token> = inside.filter(|inner| inner.kind != Kind::EndOfFile).copied().collect();
            self.take(1);
            return Ok(Raw::Condition(self.condition(tokens)?));
        }
        let is_name = |token: Token| token.kind.is_name() || token.kind == Kind::Number;
        let (next, after) = (self.ahead(1), self.ahead(2));
        match (token.kind, self.spelling(token)) {
            (_, "at") if is_name(next) => {
                self.take(1);
                let (name, span) = self.name("a label")?;
                let dotted = name.split_once('.').filter(|_| self.here().kind != Kind::Colon);
                return match dotted {
                    Some((proc, label)) => Ok(Raw::Label(Some((proc, span)), label, span)),
                    None => self.label(name, span),
                };
            }
            (_, "in") if is_name(next) => {
                self.take(1);
                let (name, span) = self.name("a procedure")?;
                return Ok(Raw::Inside(name, span));
            }
            (Kind::Call | Kind::Return, spelling) if is_name(next) => {
                self.take(1);
                let (name, span) = self.name("a procedure")?;
                return Ok(if spelling == "call" { Raw::Call(name, span) } else { Raw::Return(name, span) });
            }
            _ if token.kind.is_name() && next.kind == Kind::Colon && is_name(after) => {
                let (name, span) = self.name("a procedure")?;
                return self.label(name, span);
            }
            _ => {}
        }
        let tokens = self.arithmetic();
        match tokens[..] {
            [] => self.expected("a formula"),
            [one] if one.kind == Kind::True || one.kind == Kind::False => {
                Ok(Raw::Const(one.kind == Kind::True))
            }
            [one] if one.kind.is_name() => {
                let expr = self.condition(tokens)?;
                Ok(Raw::Name(self.spelling(one), expr, one.span()))
            }
            _ => Ok(Raw::Condition(self.condition(tokens)?)),
        }
    }

    /// The rest of a label whose first name was taken.
    fn label(&mut self, name: &'t str, span: Span) -> Result<Raw<'t>, Reported> {
        if self.here().kind != Kind::Colon {
            return Ok(Raw::Label(None, name, span));
        }
        self.take(1);
        let (label, of_label) = self.name("a label")?;
        Ok(Raw::Label(Some((name, span)), label, of_label))
    }

    /// Takes the tokens of a condition that is not in braces.
    fn arithmetic(&mut self) -> Vec<Token> {
        let mut taken = Vec::new();
        let mut wants_operand = true;
        loop {
            let token = self.here();
            let spelling = if self.is_at_end() { "" } else { self.spelling(token) };
            let reserved = matches!(spelling, "F" | "G" | "X" | "<>");
            if reserved || self.is_condition(token) {
                return taken;
            }
            let goes_on = match token.kind {
                Kind::Minus if wants_operand => true,
                Kind::Number | Kind::True | Kind::False => wants_operand,
                kind if kind.is_name() => wants_operand,
                Kind::Minus => !self.sees_arrow(),
                Kind::Lt => !wants_operand && !self.sees_joined(&[Kind::Lt, Kind::Minus, Kind::Gt]),
                Kind::Le => !wants_operand && !self.sees_joined(&[Kind::Le, Kind::Gt]),
                Kind::Plus | Kind::Star | Kind::Eq | Kind::Ne | Kind::Gt | Kind::Ge => !wants_operand,
                Kind::LeftBracket => !wants_operand && self.ahead(1).kind != Kind::RightBracket,
                _ => false,
            };
            if !goes_on {
                return taken;
            }
            if token.kind == Kind::LeftBracket {
                let mut depth = 0usize;
                while !self.is_at_end() {
                    let token = self.here();
                    depth += (token.kind == Kind::LeftBracket) as usize;
                    depth -= (token.kind == Kind::RightBracket) as usize;
                    taken.push(token);
                    self.take(1);
                    if depth == 0 {
                        break;
                    }
                }
                continue;
            }
            wants_operand =
                !(token.kind.is_name() || matches!(token.kind, Kind::Number | Kind::True | Kind::False));
            taken.push(token);
            self.take(1);
        }
    }

    /// A condition on variables: all of these tokens, which were taken.
    fn condition(&mut self, mut tokens: Vec<Token>) -> Result<ExprRef, Reported> {
        // What follows belongs to the formula; to the expression it is something that does not continue it.
        let next = self.here();
        let kind = if next.kind == Kind::EndOfFile { Kind::EndOfFile } else { Kind::Semicolon };
        tokens.push(Token { kind, ..next });
        let mut expressions = Expressions::new(self.text, &tokens, false, self.sink);
        std::mem::swap(&mut expressions.tree, &mut self.parsed.tree);
        let parsed = expressions.expression();
        let all = expressions.at + 1 == tokens.len();
        if parsed.is_ok() && !all {
            expressions.expected("an operator");
        }
        std::mem::swap(&mut expressions.tree, &mut self.parsed.tree);
        if all { parsed.map_err(|_| Reported) } else { Err(Reported) }
    }
}

/// Applies the operators on top of the stack that bind more strongly than the next one, up to a parenthesis.
fn reduce(
    formula: &mut Formula,
    open: &mut Vec<Open>,
    operands: &mut Vec<NodeId>,
    strength: u8,
    to_right: bool,
) {
    loop {
        let node = match open.last() {
            Some(Open::Unary(make)) => operands.pop().map(make),
            Some(Open::Binary(left))
                if left.strength > strength || left.strength == strength && !to_right =>
            {
                let right = operands.pop();
                operands.pop().zip(right).map(|(a, b)| (left.make)(a, b))
            }
            _ => return,
        };
        open.pop();
        operands.extend(node.map(|node| formula.push(node)));
    }
}
