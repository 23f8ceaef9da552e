//! Room `ir`: reading program graphs. The grammar is in [`super`].

use crate::expr::{Expr, Op};
use crate::ids::{FileId, Id, LocId, ProcId, VarId};
use crate::program::{Action, Builder, CheckKind, Loc, Proc, Program, Scope, Span};
use crate::types::Type;
use crate::value::Value;
use std::fmt;

/// What is wrong with a text, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

/// Reads a program. One that is not well formed is refused at its first line.
pub fn parse(text: &str) -> Result<Program, ParseError> {
    builder(text)?
        .validated()
        .map_err(|flaws| ParseError { line: 1, message: format!("not well formed: {}", flaws[0]) })
}

/// Reads a program, well formed or not.
pub(crate) fn builder(text: &str) -> Result<Builder, ParseError> {
    let mut builder = Builder::default();
    let mut main = None;
    let mut last = 1;
    for (at, line) in text.lines().enumerate() {
        last = at + 1;
        let fail = |message| ParseError { line: at + 1, message };
        let mut words = Words { rest: line };
        if at == 0 {
            if line.trim() != "postbop-ir 1" {
                return Err(fail("expected `postbop-ir 1`".into()));
            }
            continue;
        }
        let Some(first) = words.next().map_err(fail)? else { continue };
        match first {
            Word::Plain("main") => main = Some(words.id("p").map_err(fail)?),
            Word::Plain(kind) => item(&mut builder, kind, &mut words).map_err(fail)?,
            _ => return Err(fail("expected an item".into())),
        }
        if words.next().map_err(fail)?.is_some() {
            return Err(fail("there is more on the line than belongs there".into()));
        }
    }
    let fail = |message: &str| Err(ParseError { line: last, message: message.into() });
    match (main, builder.threads().is_empty()) {
        (Some(_), false) => return fail("`main` is for programs without `thread`"),
        (Some(main), true) => {
            let name = builder.procs().get(main).map_or_else(String::new, |proc| proc.name.clone());
            builder.thread(name, main);
        }
        (None, false) => {}
        (None, true) => return fail("expected `postbop-ir 1` and, in the end, `main` or `thread`"),
    }
    Ok(builder)
}

fn item(builder: &mut Builder, kind: &str, words: &mut Words) -> Result<(), String> {
    match kind {
        "proc" => {
            let due = builder.procs().len();
            words.numbered("p", due)?;
            let name = words.string()?;
            let params = words.after("params")?.number()?;
            words.after("results")?.after("(")?;
            let results = words.types()?;
            let entry = words.after("entry")?.id("l")?;
            let exit = words.after("exit")?.id("l")?;
            let span = words.span()?;
            builder.push_proc(Proc { name, locals: Vec::new(), params, results, entry, exit, span });
        }
        "var" => {
            let due = builder.vars().len();
            words.numbered("v", due)?;
            let scope = match words.plain()? {
                "global" => Scope::Global,
                proc => Scope::Local(id(proc, "p")?),
            };
            let ty = ty(words.plain()?)?;
            let name = words.string()?;
            match scope {
                Scope::Global => builder.global(&name, ty),
                Scope::Local(proc) if proc.index() >= builder.procs().len() => {
                    return Err(format!("{proc} does not exist"));
                }
                Scope::Local(proc) => builder.local(proc, &name, ty),
            };
        }
        "loc" => {
            let due = builder.locs().len();
            words.numbered("l", due)?;
            let proc: ProcId = words.id("p")?;
            let span = words.span()?;
            let inner = words.peek().is_some();
            if inner {
                words.after("inner")?;
            }
            builder.push_loc(Loc { proc, span, inner });
        }
        "label" => {
            let loc = words.id("l")?;
            builder.label(words.string()?, loc);
        }
        "check" => {
            let loc = words.id("l")?;
            let kind = match words.plain()? {
                "assert" => CheckKind::Assert,
                "bounds" => CheckKind::Bounds,
                other => return Err(format!("`{other}` is not a kind of check")),
            };
            builder.check(kind, loc, words.span()?);
        }
        "edge" => {
            let (from, to): (LocId, LocId) = (words.id("l")?, words.id("l")?);
            let span = words.span()?;
            let action = action(words)?;
            builder.edge(from, to, action, span);
        }
        "no-room" => builder.no_room(words.id("l")?),
        "prologue" => builder.set_prologue(Some(words.id("p")?)),
        "atomic" => builder.set_atomic(Some(words.id("v")?)),
        "thread" => {
            let due = builder.threads().len();
            words.numbered("t", due)?;
            let thread = builder.thread(words.string()?, words.id("p")?);
            if words.peek().is_some() {
                words.after("later")?;
                builder.set_later(thread);
            }
        }
        other => return Err(format!("`{other}` is not an item")),
    }
    Ok(())
}

fn action(words: &mut Words) -> Result<Action, String> {
    Ok(match words.plain()? {
        "assume" => Action::Assume(words.expr()?.ok_or("expected a condition")?),
        "assign" => {
            let mut targets = Vec::new();
            loop {
                match words.plain()? {
                    ":=" => break,
                    word => targets.push(id(word, "v")?),
                }
            }
            let values = words.exprs()?;
            let constraint = match words.peek() {
                Some(';') => words.after(";")?.after("constrain")?.expr()?,
                _ => None,
            };
            Action::Assign { targets, values, constraint }
        }
        "havoc" => Action::Havoc(words.vars()?.into_iter().flatten().collect()),
        "call" => {
            let callee = words.id("p")?;
            let args = words.exprs()?;
            let results = words.after("->")?.vars()?;
            Action::Call { callee, args, results }
        }
        "return" => Action::Return(words.exprs()?),
        other => return Err(format!("`{other}` is not an action")),
    })
}

enum Word<'a> {
    Plain(&'a str),
    String(String),
}

/// What is left of a line.
pub(crate) struct Words<'a> {
    pub rest: &'a str,
}

impl<'a> Words<'a> {
    pub fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn next(&mut self) -> Result<Option<Word<'a>>, String> {
        let end = match self.peek() {
            None => return Ok(None),
            Some('"') => return self.quoted().map(Some),
            Some('(' | ')') => 1,
            Some(_) => {
                self.rest.find(|c: char| c.is_whitespace() || c == '(' || c == ')').unwrap_or(self.rest.len())
            }
        };
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(Some(Word::Plain(word)))
    }

    fn quoted(&mut self) -> Result<Word<'a>, String> {
        let mut name = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(Word::String(name));
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => name.push('\n'),
                    Some((_, 'r')) => name.push('\r'),
                    Some((_, c)) => name.push(c),
                    None => break,
                },
                c => name.push(c),
            }
        }
        Err("a string does not end".into())
    }

    pub fn plain(&mut self) -> Result<&'a str, String> {
        match self.next()? {
            Some(Word::Plain(word)) => Ok(word),
            _ => Err("expected a word".into()),
        }
    }

    pub fn string(&mut self) -> Result<String, String> {
        match self.next()? {
            Some(Word::String(string)) => Ok(string),
            _ => Err("expected a string".into()),
        }
    }

    pub fn after(&mut self, expected: &str) -> Result<&mut Self, String> {
        match self.plain()? {
            word if word == expected => Ok(self),
            word => Err(format!("expected `{expected}`, found `{word}`")),
        }
    }

    pub fn number(&mut self) -> Result<usize, String> {
        let word = self.plain()?;
        word.parse().map_err(|_| format!("`{word}` is not a number"))
    }

    pub fn id<I: Id>(&mut self, prefix: &str) -> Result<I, String> {
        id(self.plain()?, prefix)
    }

    /// Rows are numbered in order.
    fn numbered(&mut self, prefix: &str, due: usize) -> Result<(), String> {
        self.after(&format!("{prefix}{due}")).map(|_| ())
    }

    fn span(&mut self) -> Result<Span, String> {
        let word = self.after("at")?.plain()?;
        let (file, range) = match word.split_once(':') {
            Some((file, range)) => (id(file, "f")?, range),
            None => (FileId(0), word),
        };
        let ends = range.split_once("..").and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        let (start, end) = ends.ok_or_else(|| format!("`{word}` is not a span"))?;
        Ok(Span { file, start, end })
    }

    /// Types up to the closing parenthesis.
    fn types(&mut self) -> Result<Vec<Type>, String> {
        let mut types = Vec::new();
        loop {
            match self.plain()? {
                ")" => return Ok(types),
                word => types.push(ty(word)?),
            }
        }
    }

    /// Variables up to the end of the line.
    fn vars(&mut self) -> Result<Vec<Option<VarId>>, String> {
        let mut vars = Vec::new();
        while self.peek().is_some() {
            vars.push(match self.plain()? {
                "_" => None,
                word => Some(id(word, "v")?),
            });
        }
        Ok(vars)
    }

    /// Expressions as long as there are any.
    fn exprs(&mut self) -> Result<Vec<Expr>, String> {
        let mut exprs = Vec::new();
        while let Some(expr) = self.expr()? {
            exprs.push(expr);
        }
        Ok(exprs)
    }

    /// Prefix notation becomes postfix code by holding each operator back until its parenthesis closes.
    fn expr(&mut self) -> Result<Option<Expr>, String> {
        let mut code = Vec::new();
        let mut held = Vec::new();
        loop {
            match self.peek() {
                None if held.is_empty() => return Ok(None),
                None => return Err("a parenthesis does not close".into()),
                Some(';') if held.is_empty() => return Ok(None),
                Some('-') if held.is_empty() && self.rest.starts_with("->") => return Ok(None),
                _ => {}
            }
            match self.plain()? {
                "(" => held.push(operator(self.plain()?)?),
                ")" => code.push(held.pop().ok_or("a parenthesis closes that was not opened")?),
                word => code.push(operand(word)?),
            }
            if held.is_empty() {
                return Ok(Some(Expr::new(code)));
            }
        }
    }
}

fn id<I: Id>(word: &str, prefix: &str) -> Result<I, String> {
    let number = word.strip_prefix(prefix).and_then(|digits| digits.parse::<u32>().ok());
    number.map(|number| I::new(number as usize)).ok_or_else(|| format!("`{word}` is not an id {prefix}N"))
}

fn ty(word: &str) -> Result<Type, String> {
    let width = |digits: &str| digits.strip_suffix('>').and_then(|digits| digits.parse().ok());
    match word {
        "bool" => Some(Type::Bool),
        "int" => Some(Type::Integer),
        _ => match (word.strip_prefix("uint<"), word.strip_prefix("int<")) {
            (Some(k), _) => width(k).map(Type::Uint),
            (_, Some(k)) => width(k).map(Type::Int),
            _ => None,
        },
    }
    .ok_or_else(|| format!("`{word}` is not a type"))
}

fn operand(word: &str) -> Result<Op, String> {
    match word {
        "true" => return Ok(Op::Const(Type::Bool, Value::TRUE)),
        "false" => return Ok(Op::Const(Type::Bool, Value::FALSE)),
        _ => {}
    }
    if let Some((value, of)) = word.split_once(':') {
        return match value {
            "*" => Ok(Op::Choice(ty(of)?)),
            _ => Ok(Op::Const(ty(of)?, value.parse().map_err(|_| format!("`{value}` is not a number"))?)),
        };
    }
    match word.strip_prefix('\'') {
        Some(var) => id(var, "v").map(Op::Next),
        None => id(word, "v").map(Op::Var),
    }
}

fn operator(word: &str) -> Result<Op, String> {
    let (name, of) = word.split_once(':').unwrap_or((word, "bool"));
    let of = ty(of)?;
    Ok(match name {
        "not" => Op::Not,
        "and" => Op::And,
        "or" => Op::Or,
        "xor" => Op::Xor,
        "eq" => Op::Eq,
        "lt" => Op::Lt,
        "le" => Op::Le,
        "ite" => Op::Ite,
        "neg" => Op::Neg(of),
        "add" => Op::Add(of),
        "sub" => Op::Sub(of),
        "mul" => Op::Mul(of),
        _ => return Err(format!("`{word}` is not an operator")),
    })
}
