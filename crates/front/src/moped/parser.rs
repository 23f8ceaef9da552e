//! Room `front/moped`: tokens to declarations, the initial configuration, and rules.
//!
//! A mistake in a declaration hides the rest of that declaration, and one in a rule the rest of that rule.

use super::lexer::{Kind, Lexed, Sym, Token};
use super::tree::{Block, Code, Configuration, Rule, System, Variable};
use crate::diagnostic::{Code as Problem, Diagnostic, Sink};
use postbop_ir::Span;
use postbop_ir::types::MAX_WIDTH;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The most variables, where each element of an array counts.
const MOST_VARIABLES: i64 = 100_000;

/// A mistake that was reported.
pub struct Reported;

/// The cursor over the tokens of a text.
pub struct Parser<'t, 's> {
    text: &'t str,
    lexed: &'t Lexed<'t>,
    at: usize,
    /// The variables that there is still room for.
    room: i64,
    pub(super) constants: FxHashMap<Sym, i64>,
    pub(super) system: System,
    pub(super) sink: &'s mut Sink,
}

/// The system of a text that was split into tokens. It is whole if there are no errors. From `given` on the text is configurations that are asked
/// about, each behind a semicolon.
pub fn parse(text: &str, given: usize, lexed: &Lexed<'_>, sink: &mut Sink) -> System {
    let (constants, system) = (FxHashMap::default(), System::default());
    let mut parser = Parser { text, lexed, at: 0, room: MOST_VARIABLES, constants, system, sink };
    parser.declarations();
    parser.start();
    while parser.here().kind != Kind::End && !parser.sink.is_full() {
        let parsed = match parser.here().kind {
            Kind::Atoms => parser.atoms(),
            Kind::Name => parser.rule(),
            Kind::Semicolon if parser.here().span.start as usize >= given => parser.given(),
            Kind::Define | Kind::Global | Kind::Local => {
                parser.expected("a rule: declarations stand before the initial configuration")
            }
            _ => parser.expected("a rule, such as `q <a> --> q <b c>`"),
        };
        if parsed.is_err() {
            parser.skip_to_rule();
        }
    }
    parser.system
}

impl<'t> Parser<'t, '_> {
    pub(super) fn here(&self) -> Token {
        self.lexed.tokens[self.at]
    }

    pub(super) fn next(&mut self) -> Token {
        let token = self.here();
        self.at = (self.at + 1).min(self.lexed.tokens.len() - 1);
        token
    }

    pub(super) fn spelling(&self, sym: Sym) -> &'t str {
        self.lexed.names[sym as usize]
    }

    fn written(&self, span: Span) -> &'t str {
        &self.text[span.start as usize..span.end as usize]
    }

    pub(super) fn expected<T>(&mut self, what: &str) -> Result<T, Reported> {
        let Token { kind, span, .. } = self.here();
        let found = match kind {
            Kind::End => "the file ends".to_owned(),
            _ => format!("found `{}`", self.written(span).chars().take(40).collect::<String>()),
        };
        let message = format!("expected {what}, but {found}");
        self.sink.push(Diagnostic::new(Problem::Syntax, span, message));
        Err(Reported)
    }

    fn take(&mut self, kind: Kind) -> bool {
        let found = self.here().kind == kind;
        if found {
            self.next();
        }
        found
    }

    pub(super) fn mark(&mut self, kind: Kind) -> Result<Span, Reported> {
        match self.here().kind == kind {
            true => Ok(self.next().span),
            false => self.expected(&kind.text()),
        }
    }

    pub(super) fn name(&mut self, what: &str) -> Result<(Sym, Span), Reported> {
        let token = self.here();
        match token.kind {
            Kind::Name => {
                self.next();
                Ok((token.sym, token.span))
            }
            Kind::Forall | Kind::Exists => {
                self.expected(&format!("{what}, which cannot be called `A` or `E`"))
            }
            _ => self.expected(what),
        }
    }

    pub(super) fn number(&mut self) -> Result<i64, Reported> {
        let span = self.mark(Kind::Number)?;
        self.written(span).parse().map_err(|_| {
            let message = "this number has more than 63 bits";
            self.sink.push(Diagnostic::new(Problem::HugeNumber, span, message));
            Reported
        })
    }

    /// Takes a term without variables: its value, and where it stands.
    fn constant_here(&mut self) -> Result<(i64, Span), Reported> {
        let first = self.here().span;
        let code = self.expression()?;
        let last = self.lexed.tokens[self.at - 1].span;
        Ok((self.constant(code)?, first.to(last)))
    }

    fn declarations(&mut self) {
        loop {
            let parsed = match self.here().kind {
                Kind::Define => self.define(),
                Kind::Global => self.globals(),
                Kind::Local => self.locals(),
                _ => return,
            };
            if parsed.is_err() {
                self.skip_declaration();
            }
        }
    }

    fn skip_declaration(&mut self) {
        loop {
            match self.here().kind {
                Kind::Semicolon => {
                    self.next();
                    return;
                }
                Kind::Define | Kind::Global | Kind::Local | Kind::Arrow | Kind::End => return,
                Kind::LeftParen if self.is_configuration() => return,
                _ => self.next(),
            };
        }
    }

    /// Whether an initial configuration may begin here.
    fn is_configuration(&self) -> bool {
        let kinds = self.lexed.tokens[self.at..].iter().map(|token| token.kind);
        kinds.take(3).eq([Kind::LeftParen, Kind::Name, Kind::Lt])
    }

    /// Goes to where the next rule begins, after the token at hand.
    fn skip_to_rule(&mut self) {
        const BEGIN: [Kind; 5] = [Kind::Name, Kind::Lt, Kind::Name, Kind::Gt, Kind::Arrow];
        let kinds = |at: usize| self.lexed.tokens[at..].iter().map(|token| token.kind);
        let mut at = (self.at + 1).min(self.lexed.tokens.len() - 1);
        while self.lexed.tokens[at].kind != Kind::End && !kinds(at).take(5).eq(BEGIN) {
            at += 1;
        }
        self.at = at;
    }

    fn define(&mut self) -> Result<(), Reported> {
        self.next();
        let (name, span) = self.name("the name of a constant")?;
        let code = self.expression()?;
        // A value that could not be calculated was reported, and nothing has to be skipped.
        let value = self.constant(code).unwrap_or(1);
        if self.constants.insert(name, value).is_some() {
            let message = format!("`{}` is defined twice", self.spelling(name));
            self.sink.push(Diagnostic::new(Problem::VariableTwice, span, message));
        }
        Ok(())
    }

    fn globals(&mut self) -> Result<(), Reported> {
        let keyword = self.next().span;
        if !self.system.globals.is_empty() {
            let message = "the global variables are declared in one list";
            let hint = "leave this `global` out: the types follow each other, `global bool x; int y(2);`";
            self.sink.push(Diagnostic::new(Problem::Syntax, keyword, message).hint(hint));
        }
        self.system.globals = self.variables()?;
        Ok(())
    }

    fn locals(&mut self) -> Result<(), Reported> {
        self.next();
        let name = if self.here().kind == Kind::Name { Some(self.next().sym) } else { None };
        self.mark(Kind::LeftParen)?;
        let mut symbols = Vec::new();
        loop {
            symbols.push(self.name("a stack symbol")?);
            if !self.take(Kind::Comma) {
                break;
            }
        }
        self.mark(Kind::RightParen)?;
        let vars = self.variables()?;
        self.system.blocks.push(Block { name, symbols, vars });
        Ok(())
    }

    /// Takes the declarations that follow each other.
    fn variables(&mut self) -> Result<Range<usize>, Reported> {
        let first = self.system.vars.len();
        if !matches!(self.here().kind, Kind::Bool | Kind::Int) {
            return self.expected("`bool` or `int`");
        }
        while matches!(self.here().kind, Kind::Bool | Kind::Int) {
            let is_int = self.next().kind == Kind::Int;
            loop {
                let (name, span) = self.name("the name of a variable")?;
                let dim = self.dimension()?;
                let bits = if is_int { Some(self.bits()?) } else { None };
                self.system.vars.push(Variable { name, bits, dim, span });
                self.room -= dim.map_or(1, |(low, high)| high - low + 1);
                if self.room < 0 {
                    let message = format!("more than {MOST_VARIABLES} variables and elements of arrays");
                    self.sink.push(Diagnostic::new(Problem::TooMany, span, message));
                    return Err(Reported);
                }
                if !self.take(Kind::Comma) {
                    break;
                }
            }
            self.mark(Kind::Semicolon)?;
        }
        Ok(first..self.system.vars.len())
    }

    /// The first and the last index of an array, if it is one.
    fn dimension(&mut self) -> Result<Option<(i64, i64)>, Reported> {
        if !self.take(Kind::LeftBracket) {
            return Ok(None);
        }
        let (first, from) = self.constant_here()?;
        let (low, high, to) = match self.take(Kind::Comma) {
            true => {
                let (second, to) = self.constant_here()?;
                (first, second, to)
            }
            false => (0, first.saturating_sub(1), from),
        };
        self.mark(Kind::RightBracket)?;
        if low < 0 || high < low || high - low >= MOST_VARIABLES {
            let message = match from == to {
                true => format!("an array has 1 to {MOST_VARIABLES} elements"),
                false => {
                    format!(
                        "an array has 1 to {MOST_VARIABLES} elements, and its first index is not negative"
                    )
                }
            };
            self.sink.push(Diagnostic::new(Problem::BadSize, from.to(to), message));
            return Err(Reported);
        }
        Ok(Some((low, high)))
    }

    fn bits(&mut self) -> Result<u8, Reported> {
        self.mark(Kind::LeftParen)?;
        let (bits, span) = self.constant_here()?;
        self.mark(Kind::RightParen)?;
        if !(1..=i64::from(MAX_WIDTH)).contains(&bits) {
            let message = format!("an integer has 1 to {MAX_WIDTH} bits");
            self.sink.push(Diagnostic::new(Problem::BadSize, span, message));
            return Err(Reported);
        }
        Ok(bits as u8)
    }

    fn start(&mut self) {
        if self.here().kind != Kind::LeftParen {
            let Token { span, .. } = self.here();
            let message = "expected the initial configuration, such as `(q <main0>)`, before the rules";
            self.sink.push(Diagnostic::new(Problem::NoStart, span, message));
            return;
        }
        match self.configuration() {
            Ok(start) => self.system.start = Some(start),
            Err(Reported) => self.skip_to_rule(),
        }
    }

    fn configuration(&mut self) -> Result<Configuration, Reported> {
        let first = self.next().span;
        let (state, _) = self.name("a control state")?;
        let globals = self.formula()?;
        self.mark(Kind::Lt)?;
        let (symbol, _) = self.name("a stack symbol")?;
        let stack = vec![(symbol, self.formula()?)];
        if self.here().kind == Kind::Name {
            return self.expected("`>`: one symbol is on the stack at the start");
        }
        self.mark(Kind::Gt)?;
        let last = self.mark(Kind::RightParen)?;
        Ok(Configuration { state, globals, stack, span: first.to(last) })
    }

    /// Takes a configuration that is asked about: a control state and any number of symbols, each perhaps with a condition.
    fn given(&mut self) -> Result<(), Reported> {
        let first = self.next().span;
        let (state, _) = self.name("a control state")?;
        let globals = self.formula()?;
        let mut stack = Vec::new();
        while !matches!(self.here().kind, Kind::Semicolon | Kind::End) {
            let (symbol, _) = self.name("a stack symbol")?;
            stack.push((symbol, self.formula()?));
        }
        let span = first.to(self.here().span);
        self.system.given.push(Configuration { state, globals, stack, span });
        Ok(())
    }

    /// Takes a formula in parentheses, if there is one.
    fn formula(&mut self) -> Result<Option<Code>, Reported> {
        if !self.take(Kind::LeftParen) {
            return Ok(None);
        }
        let code = self.expression()?;
        match self.take(Kind::RightParen) {
            true => Ok(Some(code)),
            false => self.expected("an operator or `)`"),
        }
    }

    fn atoms(&mut self) -> Result<(), Reported> {
        let keyword = self.next().span;
        if !self.system.rules.is_empty() {
            let message = "`atoms` stands before the rules";
            self.sink.push(Diagnostic::new(Problem::Syntax, keyword, message));
        }
        let (symbol, _) = self.name("a stack symbol")?;
        loop {
            let (atom, _) = self.name("the name of a proposition")?;
            self.system.atoms.push((symbol, atom));
            if !self.take(Kind::Comma) {
                return Ok(());
            }
        }
    }

    fn rule(&mut self) -> Result<(), Reported> {
        let (state, first) = self.name("a control state")?;
        self.mark(Kind::Lt)?;
        let (symbol, _) = self.name("a stack symbol")?;
        self.mark(Kind::Gt)?;
        self.mark(Kind::Arrow)?;
        let (to, _) = self.name("a control state")?;
        self.mark(Kind::Lt)?;
        let mut stack = Vec::new();
        while self.here().kind == Kind::Name && stack.len() < 2 {
            stack.push(self.next().sym);
        }
        if self.here().kind == Kind::Name {
            return self.expected("`>`: a rule pushes one symbol at most");
        }
        let mut last = self.mark(Kind::Gt)?;
        if self.here().kind == Kind::Text {
            last = self.next().span;
        }
        let formula = self.formula()?;
        let span = first.to(last);
        self.system.rules.push(Rule { from: (state, symbol), state: to, stack, formula, span });
        Ok(())
    }
}
