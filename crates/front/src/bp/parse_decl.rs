//! Room `front`: declarations, types and parameters.
//!
//! A number in the source may stand for many variables: the length of an array, the results of a `bool<n>`. These are
//! counted, so that a short source cannot ask for all memory.

use super::parser::{Parsed, Parser};
use super::token::Kind;
use super::tree::*;
use crate::diagnostic::Code;
use postbop_ir::types::MAX_WIDTH;
use postbop_ir::{Span, Type};

/// The longest array.
pub const MAX_LENGTH: u32 = 4096;

/// How many elements of arrays and results of procedures a source may declare by writing down a number. Each costs
/// memory that the length of the source does not show.
const MAX_ELEMENTS: u32 = 4_000_000;

impl Parser<'_> {
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
        Ok(self.size(value, 1, "elements", "an array", span))
    }

    /// A number of elements or results; reports it if it is too small or too great.
    fn size(&mut self, value: i64, least: u32, what: &str, of: &str, span: Span) -> u32 {
        let size = u32::try_from(value).ok().filter(|size| (least..=MAX_LENGTH).contains(size));
        let Some(size) = size else {
            self.error(Code::BadSize, span, format!("{of} has {least} to {MAX_LENGTH} {what}"));
            return least;
        };
        self.elements += size;
        if self.elements > MAX_ELEMENTS {
            let message = format!("all in all, more than {MAX_ELEMENTS} elements and results");
            self.error(Code::BadSize, span, message);
            self.elements = 0;
            return least;
        }
        size
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

    /// The result types before the name of a procedure.
    pub fn results(&mut self) -> Parsed<Slice> {
        let first = self.tree.types.len();
        if self.accept(Kind::Void).is_some() {
        } else if self.sees(Kind::Bool) && self.ahead(1) == Kind::Lt {
            self.take();
            self.take();
            let (count, span) = self.number("how many results")?;
            self.expect(Kind::Gt)?;
            let count = self.size(count, 0, "results", "a procedure", span);
            self.tree.types.extend((0..count).map(|_| Type::Bool));
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

    /// The parameters of a procedure: they become variables.
    pub fn parameters(&mut self) -> Parsed<()> {
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
