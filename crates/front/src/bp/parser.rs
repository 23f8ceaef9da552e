//! Room `front`: tokens to the syntax tree; the cursor, and the top level.
//!
//! # Idea
//! No rule calls itself. The top level is a loop, a body is a loop over statements with a stack of open blocks
//! (`parse_stmt`), an expression is a loop with a stack of open operators (`parse_expr`).
//!
//! An error is reported where it is met, and reading goes on at the next place that can only be one thing: after a
//! `;`, at a word that begins a statement, at the end of a block, at the next declaration or procedure.

use super::lexer::Lexed;
use super::token::{Kind, Token};
use super::tree::*;
use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::types::MAX_WIDTH;
use postbop_ir::{Span, Type};

/// How deeply blocks and brackets may nest.
pub const MAX_DEPTH: usize = 100_000;

/// The longest array.
pub const MAX_LENGTH: u32 = 4096;

/// An error that was reported; whoever receives it finds a place to go on.
pub struct Reported;

/// The result of a rule.
pub type Parsed<T> = Result<T, Reported>;

/// Builds the tree of these tokens.
pub fn parse(text: &str, lexed: &Lexed<'_>, satabs: bool, sink: &mut Sink) -> Tree {
    let mut parser = Parser {
        text,
        tokens: &lexed.tokens,
        at: 0,
        satabs,
        sink,
        tree: Tree::default(),
        thread: 0,
        threads: 0,
        open_thread: None,
        gave_up: false,
    };
    while !parser.sees(Kind::EndOfFile) && !parser.sink.is_full() {
        parser.item();
    }
    if let Some(span) = parser.open_thread
        && !parser.gave_up
    {
        parser.error(Code::Unbalanced, span, "this `thread` block is never closed by `end`");
    }
    parser.tree
}

/// The cursor over the tokens, and what was built so far.
pub struct Parser<'s> {
    /// The source.
    pub text: &'s str,
    /// Its tokens.
    pub tokens: &'s [Token],
    /// The token that is looked at.
    pub at: usize,
    /// Whether expressions group as in SatAbs.
    pub satabs: bool,
    /// Where problems go.
    pub sink: &'s mut Sink,
    /// What was built so far.
    pub tree: Tree,
    thread: u32,
    threads: u32,
    open_thread: Option<Span>,
    /// Whether the rest of the source is not read, so that nothing is missing in it.
    pub gave_up: bool,
}

impl Parser<'_> {
    /// The token looked at.
    pub fn here(&self) -> Token {
        self.tokens[self.at]
    }

    /// The kind of the token some places ahead.
    pub fn ahead(&self, by: usize) -> Kind {
        self.tokens.get(self.at + by).map_or(Kind::EndOfFile, |token| token.kind)
    }

    /// Whether the token looked at is of this kind.
    pub fn sees(&self, kind: Kind) -> bool {
        self.here().kind == kind
    }

    /// Takes the token looked at; the end of the file stays.
    pub fn take(&mut self) -> Token {
        let token = self.here();
        if token.kind != Kind::EndOfFile {
            self.at += 1;
        }
        token
    }

    /// Takes a token of this kind, if it is there.
    pub fn accept(&mut self, kind: Kind) -> Option<Token> {
        self.sees(kind).then(|| self.take())
    }

    /// Where the last token taken ends.
    pub fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span()
    }

    /// Reports an error.
    pub fn error(&mut self, code: Code, span: Span, message: impl Into<String>) -> Reported {
        self.sink.push(Diagnostic::new(code, span, message));
        Reported
    }

    /// Reports that something else was expected at the token looked at.
    pub fn expected(&mut self, what: &str) -> Reported {
        let token = self.here();
        let found = match token.kind {
            Kind::EndOfFile => "the end of the file".to_owned(),
            _ => format!("`{}`", &self.text[token.start as usize..token.end as usize]),
        };
        // The end of the file is a poor place to point at; what it should have followed is a better one.
        let span = if token.kind == Kind::EndOfFile { self.last_span() } else { token.span() };
        self.error(Code::Syntax, span, format!("expected {what}, found {found}"))
    }

    /// Takes a token that must be there.
    pub fn expect(&mut self, kind: Kind) -> Parsed<Token> {
        match self.accept(kind) {
            Some(token) => Ok(token),
            None => Err(self.expected(&format!("`{}`", kind.text()))),
        }
    }

    /// Takes a name that must be there.
    pub fn name(&mut self, what: &str) -> Parsed<Ident> {
        match self.here() {
            token if token.kind.is_name() => {
                self.take();
                Ok(Ident { sym: token.sym, span: token.span() })
            }
            _ => Err(self.expected(what)),
        }
    }

    /// Takes a number that must be there.
    pub fn number(&mut self, what: &str) -> Parsed<(i64, Span)> {
        let Some(token) = self.accept(Kind::Number) else { return Err(self.expected(what)) };
        let digits = &self.text[token.start as usize..token.end as usize];
        match digits.parse::<i64>() {
            Ok(value) => Ok((value, token.span())),
            Err(_) => {
                let message = "this number does not fit in 63 bits";
                self.error(Code::HugeNumber, token.span(), message);
                Ok((0, token.span()))
            }
        }
    }

    /// One declaration, procedure, or bracket of a thread block.
    fn item(&mut self) {
        let at = self.at;
        let parsed = match self.here().kind {
            Kind::Semicolon => {
                self.take();
                Ok(())
            }
            Kind::Decl => self.globals(Sharing::Plain),
            Kind::Shared | Kind::ThreadLocal if self.ahead(1) == Kind::Decl => {
                let kind = self.take().kind;
                self.globals(if kind == Kind::Shared { Sharing::Shared } else { Sharing::ThreadLocal })
            }
            Kind::Thread
                if self.ahead(1) == Kind::Begin
                    || (self.ahead(1).is_name() && self.ahead(2) == Kind::Begin) =>
            {
                self.open_thread()
            }
            Kind::End if self.open_thread.is_some() => {
                let span = self.take().span();
                self.close_thread(span);
                Ok(())
            }
            _ => self.procedure(),
        };
        if parsed.is_err() {
            self.tree.lost_names = true;
            self.skip_to_item(at);
        }
    }

    /// Skips to where the next declaration or procedure may begin, and at least past the token at `start`.
    fn skip_to_item(&mut self, start: usize) {
        if self.at == start {
            self.take();
        }
        let mut in_body = false;
        loop {
            match self.here().kind {
                Kind::EndOfFile | Kind::Void => return,
                Kind::Decl | Kind::Bool if !in_body => return,
                Kind::Begin => {
                    in_body = true;
                    self.take();
                }
                Kind::End if in_body => {
                    self.take();
                    return;
                }
                Kind::End => {
                    if self.open_thread.is_none() {
                        self.take();
                    }
                    return;
                }
                _ => drop(self.take()),
            }
        }
    }

    fn open_thread(&mut self) -> Parsed<()> {
        let word = self.take().span();
        let name = if self.sees(Kind::Begin) { None } else { Some(self.name("a name")?) };
        let span = word.to(self.expect(Kind::Begin)?.span());
        if self.open_thread.is_some() {
            return Err(self.error(Code::Unbalanced, word, "a `thread` block inside a `thread` block"));
        }
        self.threads += 1;
        self.thread = self.threads;
        self.open_thread = Some(word);
        self.tree.items.push(Item::ThreadBegin(name, span));
        Ok(())
    }

    fn close_thread(&mut self, span: Span) {
        self.thread = 0;
        self.open_thread = None;
        self.tree.items.push(Item::ThreadEnd(span));
    }

    fn globals(&mut self, sharing: Sharing) -> Parsed<()> {
        let start = self.here().span();
        let (vars, sharing) = self.declaration(sharing)?;
        self.expect(Kind::Semicolon)?;
        let span = start.to(self.last_span());
        self.tree.items.push(Item::Decl(vars, sharing, self.thread, span));
        Ok(())
    }

    /// `decl …` without its `;`. What was read before an error stays declared.
    pub fn declaration(&mut self, mut sharing: Sharing) -> Parsed<(Slice, Sharing)> {
        self.expect(Kind::Decl)?;
        let word = |kind| matches!(kind, Kind::Shared | Kind::ThreadLocal);
        if word(self.here().kind) && !matches!(self.ahead(1), Kind::Comma | Kind::Semicolon) {
            let kind = self.take().kind;
            sharing = if kind == Kind::Shared { Sharing::Shared } else { Sharing::ThreadLocal };
        }
        let ty = self.type_opt()?.unwrap_or(Type::Bool);
        let first = self.tree.vars.len();
        loop {
            let name = self.name("the name of a variable")?;
            let len = match self.accept(Kind::LeftBracket) {
                Some(_) => Some(self.length()?),
                None => None,
            };
            let at = self.tree.vars.len();
            self.tree.vars.push(VarDecl { name, ty, len, init: None, by_ref: false });
            if self.accept(Kind::Assign).is_some() {
                self.tree.vars[at].init = Some(self.expression()?);
            }
            if self.accept(Kind::Comma).is_none() {
                break;
            }
        }
        Ok((Slice::new(first, self.tree.vars.len()), sharing))
    }

    fn length(&mut self) -> Parsed<u32> {
        let (value, span) = self.number("the length of the array")?;
        self.expect(Kind::RightBracket)?;
        match u32::try_from(value) {
            Ok(len @ 1..=MAX_LENGTH) => Ok(len),
            _ => {
                self.error(Code::BadSize, span, format!("an array has 1 to {MAX_LENGTH} elements"));
                Ok(1)
            }
        }
    }

    /// A type, if one stands here.
    fn type_opt(&mut self) -> Parsed<Option<Type>> {
        match (self.here().kind, self.ahead(1)) {
            (Kind::Bool, _) => {
                self.take();
                Ok(Some(Type::Bool))
            }
            (Kind::Uint, Kind::Lt) | (Kind::Int, Kind::Lt) => {
                let kind = self.take().kind;
                self.take();
                let (value, span) = self.number("a width in bits")?;
                self.expect(Kind::Gt)?;
                let width = u8::try_from(value).ok().filter(|width| (1..=MAX_WIDTH).contains(width));
                if width.is_none() {
                    self.error(Code::BadSize, span, format!("a width is 1 to {MAX_WIDTH} bits"));
                }
                let width = width.unwrap_or(MAX_WIDTH);
                Ok(Some(if kind == Kind::Uint { Type::Uint(width) } else { Type::Int(width) }))
            }
            (Kind::Int, next) if next.is_name() => {
                self.take();
                Ok(Some(Type::Integer))
            }
            _ => Ok(None),
        }
    }

    fn procedure(&mut self) -> Parsed<()> {
        let start = self.here().span();
        let dfs =
            self.sees(Kind::Dfs) && self.ahead(1) != Kind::LeftParen && self.accept(Kind::Dfs).is_some();
        let results = self.results()?;
        let name = self.name("a declaration or a procedure")?;
        let first = self.tree.vars.len();
        self.parameters()?;
        let params = (self.tree.vars.len() - first) as u32;
        let span = start.to(self.last_span());
        let begin = self.expect(Kind::Begin)?.span();
        let (body, enforce, end) = self.body(begin);
        let vars = Slice::new(first, self.tree.vars.len());
        let thread = self.thread;
        self.tree.items.push(Item::Proc(self.tree.procs.len() as u32));
        self.tree.procs.push(ProcDef {
            name,
            span,
            vars,
            params,
            results,
            enforce,
            body,
            begin,
            end,
            thread,
            dfs,
        });
        Ok(())
    }

    fn results(&mut self) -> Parsed<Slice> {
        let first = self.tree.types.len();
        if self.accept(Kind::Void).is_some() {
        } else if self.sees(Kind::Bool) && self.ahead(1) == Kind::Lt {
            self.take();
            self.take();
            let (count, span) = self.number("how many results")?;
            self.expect(Kind::Gt)?;
            if count > 1_000_000 {
                self.error(Code::BadSize, span, "a procedure has at most 1000000 results");
            } else {
                self.tree.types.extend((0..count).map(|_| Type::Bool));
            }
        } else if self.accept(Kind::LeftParen).is_some() {
            while !self.sees(Kind::RightParen) {
                let ty = match self.type_opt()? {
                    Some(ty) => ty,
                    None if self.accept(Kind::Int).is_some() => Type::Integer,
                    None => return Err(self.expected("a type")),
                };
                self.tree.types.push(ty);
                if self.accept(Kind::Comma).is_none() {
                    break;
                }
            }
            self.expect(Kind::RightParen)?;
        } else if let Some(ty) = self.type_opt()? {
            self.tree.types.push(ty);
        }
        Ok(Slice::new(first, self.tree.types.len()))
    }

    fn parameters(&mut self) -> Parsed<()> {
        self.expect(Kind::LeftParen)?;
        while !self.sees(Kind::RightParen) {
            let mut by_ref = self.reference();
            let ty = self.type_opt()?.unwrap_or(Type::Bool);
            by_ref |= self.reference();
            let name = self.name("a parameter")?;
            self.tree.vars.push(VarDecl { name, ty, len: None, init: None, by_ref });
            if self.accept(Kind::Comma).is_none() {
                break;
            }
        }
        self.expect(Kind::RightParen).map(drop)
    }

    fn reference(&mut self) -> bool {
        let name_follows = self.ahead(1).is_name() || self.ahead(1) == Kind::Bool;
        self.sees(Kind::Ref) && name_follows && self.accept(Kind::Ref).is_some()
    }
}
