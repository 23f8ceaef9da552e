//! Room `front/fix`: tokens to trees.
//!
//! Recursive descent, at most [`DEEPEST`] formulas deep. After a mistake the parser goes on behind the next `;`, so that
//! one run reports one mistake per item.

use super::lexer::{Kind, Token, lex};
use super::tree::{Atom, Formula, Head, Item, Name, Order, Param, Role, Size, SortTree, Step, Term};
use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::Span;

/// How deep formulas may be nested.
const DEEPEST: usize = 200;

const KEYWORDS: &[&str] =
    &["mu", "nu", "query", "type", "paths", "entries", "exists", "forall", "true", "false"];

/// A mistake that has been reported.
struct Reported;

type Parsed<T> = Result<T, Reported>;

struct Parser<'t, 's> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    sink: &'s mut Sink,
}

/// Parses a file.
pub fn parse(text: &str, sink: &mut Sink) -> Vec<Item> {
    let tokens = lex(text, sink);
    let mut parser = Parser { text, tokens, at: 0, depth: 0, sink };
    let mut items = Vec::new();
    while parser.token().kind != Kind::End && !parser.sink.is_full() {
        parser.depth = 0;
        match parser.item() {
            Ok(item) => items.push(item),
            Err(Reported) => parser.recover(),
        }
    }
    items
}

impl Parser<'_, '_> {
    fn token(&self) -> Token {
        self.tokens[self.at]
    }

    fn spelling(&self) -> &str {
        let span = self.token().span;
        &self.text[span.start as usize..span.end as usize]
    }

    fn is(&self, spelling: &str) -> bool {
        self.spelling() == spelling && matches!(self.token().kind, Kind::Mark | Kind::Word)
    }

    fn advance(&mut self) -> Span {
        let span = self.token().span;
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        span
    }

    fn eat(&mut self, spelling: &str) -> bool {
        let found = self.is(spelling);
        if found {
            self.advance();
        }
        found
    }

    fn before(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn fail<T>(&mut self, expected: &str) -> Parsed<T> {
        let found = match self.token().kind {
            Kind::End => "the end of the file".to_owned(),
            _ => format!("`{}`", self.spelling()),
        };
        let message = format!("expected {expected}, found {found}");
        self.sink.push(Diagnostic::new(Code::Syntax, self.token().span, message));
        Err(Reported)
    }

    fn expect(&mut self, spelling: &str) -> Parsed<Span> {
        match self.is(spelling) {
            true => Ok(self.advance()),
            false => self.fail(&format!("`{spelling}`")),
        }
    }

    /// Goes behind the next `;`.
    fn recover(&mut self) {
        while self.token().kind != Kind::End && !self.is(";") {
            self.advance();
        }
        self.eat(";");
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        if self.token().kind != Kind::Word || KEYWORDS.contains(&self.spelling()) {
            return self.fail(what);
        }
        let text = self.spelling().to_owned();
        Ok(Name { text, span: self.advance() })
    }

    fn number(&mut self) -> Parsed<i64> {
        match self.spelling().parse::<i64>() {
            Ok(number) if self.token().kind == Kind::Number && number <= i64::MAX / 4 => {
                self.advance();
                Ok(number)
            }
            Err(_) if self.token().kind != Kind::Number => self.fail("a number"),
            _ => {
                let message = "this number is too large";
                self.sink.push(Diagnostic::new(Code::HugeNumber, self.token().span, message));
                Err(Reported)
            }
        }
    }

    fn item(&mut self) -> Parsed<Item> {
        let item = if self.eat("type") {
            let name = self.name("a name for the type")?;
            self.expect("=")?;
            Item::Sort(name, self.sort()?)
        } else if self.is("mu") || self.is("nu") {
            let greatest = self.is("nu");
            self.advance();
            let name = self.name("a name for the relation")?;
            self.expect("(")?;
            let params = if self.is(")") { Vec::new() } else { self.params()? };
            self.expect(")")?;
            self.expect("=")?;
            Item::Equation(greatest, name, params, self.formula()?)
        } else if self.is("query") {
            let span = self.advance();
            let name = match self.token().kind == Kind::Word && self.next_is(":") {
                true => {
                    let name = self.name("a name for the query")?;
                    self.expect(":")?;
                    name
                }
                false => Name { text: "query".into(), span },
            };
            Item::Query(name, self.formula()?)
        } else if self.is("paths") || self.is("entries") {
            let role = if self.is("paths") { Role::Paths } else { Role::Entries };
            self.advance();
            let mut names = vec![self.name("a relation")?];
            while self.eat(",") {
                names.push(self.name("a relation")?);
            }
            Item::Role(role, names)
        } else {
            return self.fail("`mu`, `nu`, `query`, `type`, `paths` or `entries`");
        };
        self.expect(";")?;
        Ok(item)
    }

    /// Whether this mark comes after the present token.
    fn next_is(&self, mark: &str) -> bool {
        let next = self.tokens[(self.at + 1).min(self.tokens.len() - 1)].span;
        &self.text[next.start as usize..next.end as usize] == mark
    }

    /// `a, b: S, c: T`
    // Bounded depth: see `DEEPEST`.
    fn params(&mut self) -> Parsed<Vec<Param>> {
        let mut params = Vec::new();
        loop {
            let mut names = vec![self.name("a variable")?];
            while self.eat(",") {
                names.push(self.name("a variable")?);
            }
            self.expect(":")?;
            let sort = self.sort()?;
            params.extend(names.into_iter().map(|name| Param { name, sort: sort.clone() }));
            if !self.eat(",") {
                return Ok(params);
            }
        }
    }

    // Bounded depth: see `DEEPEST`.
    fn sort(&mut self) -> Parsed<SortTree> {
        let outside = self.depth;
        let mut sort = if self.eat("{") {
            self.deeper()?;
            let fields = self.params()?;
            self.expect("}")?;
            SortTree::Record(fields)
        } else if self.token().kind == Kind::Number || self.is("-") || self.next_is("..") {
            let low = self.size()?;
            self.expect("..")?;
            SortTree::Range(low, self.size()?)
        } else {
            SortTree::Name(self.name("a type")?)
        };
        while self.eat("[") {
            self.deeper()?;
            sort = SortTree::Array(Box::new(sort), self.size()?);
            self.expect("]")?;
        }
        self.depth = outside;
        Ok(sort)
    }

    fn size(&mut self) -> Parsed<Size> {
        if self.token().kind == Kind::Number || self.is("-") {
            let start = self.token().span;
            let number = self.signed()?;
            return Ok(Size::Number(number, start.to(self.before())));
        }
        let name = self.name("a number or a constant")?;
        Ok(Size::Named(name, self.offset()?))
    }

    /// `+ 1`, `- 1` or nothing.
    fn offset(&mut self) -> Parsed<i64> {
        if self.eat("+") {
            self.number()
        } else if self.is("-") {
            self.signed()
        } else {
            Ok(0)
        }
    }

    /// `1` or `-1`.
    fn signed(&mut self) -> Parsed<i64> {
        match self.eat("-") {
            true => Ok(-self.number()?),
            false => self.number(),
        }
    }

    fn deeper(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let message = format!("formulas may be nested {DEEPEST} deep");
            self.sink.push(Diagnostic::new(Code::TooDeep, self.token().span, message));
            return Err(Reported);
        }
        Ok(())
    }

    fn formula(&mut self) -> Parsed<Formula> {
        let outside = self.depth;
        self.deeper()?;
        let mut left = self.implication()?;
        while self.eat("<=>") {
            let sign = self.before();
            self.deeper()?;
            left = Formula::Iff(Box::new(left), Box::new(self.implication()?), sign);
        }
        self.depth = outside;
        Ok(left)
    }

    // Bounded depth: see `DEEPEST`.
    fn implication(&mut self) -> Parsed<Formula> {
        let left =
            self.list("|", Formula::Or, |parser| parser.list("&", Formula::And, |parser| parser.literal()))?;
        if !self.eat("=>") {
            return Ok(left);
        }
        self.deeper()?;
        let right = self.implication()?;
        self.depth -= 1;
        Ok(Formula::Or(vec![Formula::Not(Box::new(left)), right]))
    }

    fn list(
        &mut self,
        mark: &str,
        join: fn(Vec<Formula>) -> Formula,
        part: fn(&mut Self) -> Parsed<Formula>,
    ) -> Parsed<Formula> {
        let mut parts = vec![part(self)?];
        while self.eat(mark) {
            parts.push(part(self)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { join(parts) })
    }

    // Bounded depth: see `DEEPEST`.
    fn literal(&mut self) -> Parsed<Formula> {
        if self.eat("!") {
            self.deeper()?;
            let inner = self.literal()?;
            self.depth -= 1;
            return Ok(Formula::Not(Box::new(inner)));
        }
        if self.is("exists") || self.is("forall") {
            let exists = self.is("exists");
            self.advance();
            let params = self.params()?;
            self.expect(".")?;
            return Ok(Formula::Quantified(exists, params, Box::new(self.formula()?)));
        }
        if self.eat("true") {
            return Ok(Formula::Const(true));
        }
        if self.eat("false") {
            return Ok(Formula::Const(false));
        }
        if self.eat("(") {
            let inner = self.formula()?;
            self.expect(")")?;
            return Ok(inner);
        }
        let start = self.token().span;
        let atom = self.atom()?;
        Ok(Formula::Atom(atom, start.to(self.before())))
    }

    fn atom(&mut self) -> Parsed<Atom> {
        if self.token().kind == Kind::Word && self.next_is("(") {
            let name = self.name("a relation")?;
            self.expect("(")?;
            let mut args = Vec::new();
            while !self.is(")") {
                args.push(self.term()?);
                if !self.eat(",") {
                    break;
                }
            }
            self.expect(")")?;
            return Ok(Atom::Apply(name, args));
        }
        let left = self.term()?;
        let orders = [
            ("=", Order::Eq),
            ("!=", Order::Ne),
            ("<=", Order::Le),
            ("<", Order::Lt),
            (">=", Order::Ge),
            (">", Order::Gt),
        ];
        for (mark, order) in orders {
            if self.eat(mark) {
                return Ok(Atom::Compare(order, left, self.term()?));
            }
        }
        Ok(Atom::Truth(left))
    }

    // Bounded depth: see `DEEPEST`.
    fn term(&mut self) -> Parsed<Term> {
        let start = self.token().span;
        let head = match self.token().kind {
            Kind::Number => Head::Number(self.number()?),
            Kind::Text => Head::Text(self.quoted().text),
            _ if self.is("-") => Head::Number(self.signed()?),
            _ => {
                let name = self.name("a formula")?;
                Head::Path(name, self.steps()?)
            }
        };
        let (head, plus) = match (head, self.offset()?) {
            (Head::Number(number), plus) => (Head::Number(number + plus), 0),
            other => other,
        };
        Ok(Term { head, plus, span: start.to(self.before()) })
    }

    /// What is in quotes.
    fn quoted(&mut self) -> Name {
        let text = self.spelling().trim_matches('"').to_owned();
        Name { text, span: self.advance() }
    }

    // Bounded depth: see `DEEPEST`.
    fn steps(&mut self) -> Parsed<Vec<Step>> {
        let mut steps = Vec::new();
        loop {
            if self.eat(".") {
                let is_quoted = self.token().kind == Kind::Text;
                steps.push(Step::Field(if is_quoted { self.quoted() } else { self.name("a field")? }));
            } else if self.eat("[") {
                self.deeper()?;
                steps.push(Step::Index(self.term()?));
                self.depth -= 1;
                self.expect("]")?;
            } else {
                return Ok(steps);
            }
        }
    }
}
