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
use postbop_ir::Span;

/// How deeply blocks and brackets may nest.
pub const MAX_DEPTH: usize = 100_000;

/// An error that was reported; the caller finds a place to go on.
pub struct Reported;

/// The result of a rule.
pub type Parsed<T> = Result<T, Reported>;

/// Builds the tree of these tokens.
pub fn parse(text: &str, lexed: &Lexed<'_>, satabs: bool, sink: &mut Sink) -> Tree {
    let mut parser = Parser::new(text, &lexed.tokens, satabs, sink);
    parser.tree = Tree::with_room(lexed.tokens.len());
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
    /// How many elements and results were declared.
    pub elements: u32,
}

impl<'s> Parser<'s> {
    /// A cursor at the first of some tokens, the last of which no rule takes.
    pub fn new(text: &'s str, tokens: &'s [Token], satabs: bool, sink: &'s mut Sink) -> Self {
        Parser {
            text,
            tokens,
            at: 0,
            satabs,
            sink,
            tree: Tree::default(),
            thread: 0,
            threads: 0,
            open_thread: None,
            gave_up: false,
            elements: 0,
        }
    }
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
        let mut wrong = Diagnostic::new(Code::Syntax, span, format!("expected {what}, found {found}"));
        if token.kind == Kind::Minus && !self.satabs {
            wrong = wrong.hint("`-` is part of a name only in SatAbs files: use `--dialect satabs`");
        }
        if self.text[token.start as usize..].starts_with(['{', '}']) {
            wrong = wrong.hint(
                "blocks have no braces: write `if … then … fi`, `while … do … od` and, for a procedure, `begin … end`",
            );
        }
        self.sink.push(wrong);
        Reported
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
            Kind::Decl => self.globals(at, Sharing::Plain),
            Kind::Shared | Kind::ThreadLocal if self.ahead(1) == Kind::Decl => {
                let kind = self.take().kind;
                self.globals(at, if kind == Kind::Shared { Sharing::Shared } else { Sharing::ThreadLocal })
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

    fn globals(&mut self, first: usize, sharing: Sharing) -> Parsed<()> {
        let (vars, sharing) = self.declaration(sharing)?;
        self.expect(Kind::Semicolon)?;
        let span = self.tokens[first].span().to(self.last_span());
        self.tree.items.push(Item::Decl(vars, sharing, self.thread, span));
        Ok(())
    }

    /// Where a body begins. A brace is reported, and taken for what was meant.
    fn begin(&mut self) -> Parsed<Span> {
        if self.sees(Kind::LeftBrace) {
            self.expected("`begin`");
            return Ok(self.take().span());
        }
        Ok(self.expect(Kind::Begin)?.span())
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
        let begin = self.begin()?;
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
}
