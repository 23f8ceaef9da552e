//! Room `xtask`: Moped's pushdown systems, read and evaluated naively.
//!
//! This is a second opinion on the front end: it shares no code with it, and does everything the obvious way. A formula is a tree that
//! is evaluated on values; nothing is written out, solved or made small. It reads what `generate/moped` writes and what is left of
//! that when it is made smaller, and nothing else: no mistakes are told.

use std::collections::HashMap;

/// Values of the variables of a list, the elements of arrays one after the other.
pub type Values = Vec<i64>;

/// A variable: its name, how many values it has, and its indices.
#[derive(Clone, Debug)]
pub struct Var {
    pub name: String,
    pub count: i64,
    pub low: i64,
    pub high: i64,
    pub is_array: bool,
}

/// A formula or a term: of a formula the value is 0 or 1.
#[derive(Clone, Debug)]
pub enum Tree {
    Number(i64),
    /// A variable with so many primes, and an index.
    Name(String, usize, Option<Box<Tree>>),
    Not(Box<Tree>),
    Binary(String, Box<Tree>, Box<Tree>),
    /// Whether it is for all, the variable, its bounds, and the body.
    Quantifier(bool, String, i64, i64, Box<Tree>),
}

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    pub from: String,
    pub top: String,
    pub to: String,
    pub stack: Vec<String>,
    pub formula: Option<Tree>,
}

/// A system.
#[derive(Clone, Default, Debug)]
pub struct System {
    pub globals: Vec<Var>,
    /// The local variables of each symbol.
    pub locals: HashMap<String, Vec<Var>>,
    /// The names that hold where a symbol is on top: propositions, and the name of its list of variables.
    pub atoms: Vec<(String, String)>,
    pub start: (String, String),
    pub start_globals: Option<Tree>,
    pub start_locals: Option<Tree>,
    pub rules: Vec<Rule>,
}

struct Reader {
    tokens: Vec<String>,
    at: usize,
    constants: HashMap<String, i64>,
}

/// The system of a text; none if it is not one.
pub fn read(text: &str) -> Option<System> {
    let mut reader = Reader { tokens: tokens(text), at: 0, constants: HashMap::new() };
    let mut system = System::default();
    loop {
        match reader.peek() {
            "define" => {
                reader.next()?;
                let name = reader.next()?;
                let value = reader.constant()?;
                reader.constants.insert(name, value);
            }
            "global" => {
                reader.next()?;
                system.globals = reader.variables()?;
            }
            "local" => {
                reader.next()?;
                let name = if reader.peek() == "(" { None } else { reader.next() };
                reader.take("(")?;
                let mut symbols = vec![reader.next()?];
                while reader.take(",").is_some() {
                    symbols.push(reader.next()?);
                }
                reader.take(")")?;
                let vars = reader.variables()?;
                for symbol in symbols {
                    system.atoms.extend(name.clone().map(|name| (symbol.clone(), name)));
                    system.locals.insert(symbol, vars.clone());
                }
            }
            _ => break,
        }
    }
    reader.take("(")?;
    system.start.0 = reader.next()?;
    system.start_globals = reader.condition()?;
    reader.take("<")?;
    system.start.1 = reader.next()?;
    system.start_locals = reader.condition()?;
    reader.take(">")?;
    reader.take(")")?;
    while reader.at < reader.tokens.len() {
        if reader.take("atoms").is_some() {
            let symbol = reader.next()?;
            system.atoms.push((symbol.clone(), reader.next()?));
            while reader.take(",").is_some() {
                system.atoms.push((symbol.clone(), reader.next()?));
            }
            continue;
        }
        system.rules.push(reader.rule()?);
    }
    Some(system)
}

/// The tokens of a text, without comments and texts in quotes.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    for line in text.lines() {
        let mut rest = line.split('#').next().unwrap_or("").trim_start();
        while let Some(first) = rest.chars().next() {
            let length = if first.is_alphanumeric() {
                rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len())
            } else if first == '"' {
                rest[1..].find('"').map_or(rest.len(), |end| end + 2)
            } else {
                let long = ["-->", "<=>", "==", "<<", "<=", "!=", ">="];
                long.iter().find(|mark| rest.starts_with(**mark)).map_or(first.len_utf8(), |mark| mark.len())
            };
            if first != '"' {
                tokens.push(rest[..length].to_owned());
            }
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

impl Reader {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn next(&mut self) -> Option<String> {
        let token = self.tokens.get(self.at).cloned()?;
        self.at += 1;
        Some(token)
    }

    fn take(&mut self, token: &str) -> Option<()> {
        (self.peek() == token).then(|| self.at += 1)
    }

    fn constant(&mut self) -> Option<i64> {
        let tree = self.tree(SUM)?;
        eval(&tree, &mut Vec::new(), &|_, _| None)
    }

    fn variables(&mut self) -> Option<Vec<Var>> {
        let mut all = Vec::new();
        while ["bool", "int"].contains(&self.peek()) {
            let is_int = self.next()? == "int";
            let name = self.next()?;
            let (mut low, mut high) = (0, 0);
            let is_array = self.take("[").is_some();
            if is_array {
                let first = self.constant()?;
                (low, high) = (0, first - 1);
                if self.take(",").is_some() {
                    (low, high) = (first, self.constant()?);
                }
                self.take("]")?;
            }
            let mut count = 2;
            if is_int {
                self.take("(")?;
                count = 1 << self.constant()?;
                self.take(")")?;
            }
            self.take(";")?;
            all.push(Var { name, count, low, high, is_array });
        }
        Some(all)
    }

    /// A formula in parentheses, if there is one.
    fn condition(&mut self) -> Option<Option<Tree>> {
        if self.take("(").is_none() {
            return Some(None);
        }
        let tree = self.tree(0)?;
        self.take(")")?;
        Some(Some(tree))
    }

    fn rule(&mut self) -> Option<Rule> {
        let from = self.next()?;
        self.take("<")?;
        let top = self.next()?;
        self.take(">")?;
        self.take("-->")?;
        let to = self.next()?;
        self.take("<")?;
        let mut stack = Vec::new();
        while self.take(">").is_none() {
            stack.push(self.next()?);
        }
        Some(Rule { from, top, to, stack, formula: self.condition()? })
    }

    /// A formula or a term of operators that bind at least as strongly as that. It calls itself as deeply as a generated formula
    /// nests, which is a few levels.
    fn tree(&mut self, level: usize) -> Option<Tree> {
        if level == NOT && self.take("!").is_some() {
            return Some(Tree::Not(Box::new(self.tree(NOT)?)));
        }
        let Some(operators) = LEVELS.get(level) else { return self.leaf() };
        let mut left = self.tree(level + 1)?;
        while operators.contains(&self.peek()) && !self.peek().is_empty() {
            let operator = self.next()?;
            let right = self.tree(level + 1)?;
            left = Tree::Binary(operator, Box::new(left), Box::new(right));
        }
        Some(left)
    }

    /// What is complete in itself. Its parentheses nest as `tree` says.
    fn leaf(&mut self) -> Option<Tree> {
        let token = self.next()?;
        match token.as_str() {
            "(" => {
                let tree = self.tree(0)?;
                self.take(")")?;
                Some(tree)
            }
            "A" | "E" => {
                let name = self.next()?;
                self.take("(")?;
                let low = self.constant()?;
                self.take(",")?;
                let high = self.constant()?;
                self.take(")")?;
                Some(Tree::Quantifier(token == "A", name, low, high, Box::new(self.tree(0)?)))
            }
            _ if token.starts_with(|c: char| c.is_ascii_digit()) => Some(Tree::Number(token.parse().ok()?)),
            _ if self.constants.contains_key(&token) => Some(Tree::Number(self.constants[&token])),
            _ if !token.starts_with(char::is_alphabetic) => None,
            _ => {
                let mut primes = 0;
                while self.take("'").is_some() {
                    primes += 1;
                }
                let mut index = None;
                if self.take("[").is_some() {
                    index = Some(Box::new(self.tree(SUM)?));
                    self.take("]")?;
                }
                Some(Tree::Name(token, primes, index))
            }
        }
    }
}

/// The binary operators, from the weakest to the strongest.
const LEVELS: [&[&str]; 9] = [
    &["==", "<=>"],
    &["^"],
    &["|"],
    &["&"],
    &[], // What `!` is applied to.
    &["=", "!=", "<", "<=", ">", ">="],
    &["+", "-"],
    &["*", "/"],
    &["<<"],
];
const NOT: usize = 4;
const SUM: usize = 6;

/// The value of a variable with so many primes and perhaps an index.
pub type Lookup<'a> = dyn Fn((&str, usize), Option<i64>) -> Option<i64> + 'a;

/// The value of a formula or a term; none of a term that has none. It calls itself as deeply as the tree nests.
pub fn eval(tree: &Tree, bound: &mut Vec<(String, i64)>, lookup: &Lookup<'_>) -> Option<i64> {
    match tree {
        Tree::Number(value) => Some(*value),
        Tree::Name(name, primes, None) => match bound.iter().rev().find(|(other, _)| other == name) {
            Some((_, value)) if *primes == 0 => Some(*value),
            _ => lookup((name, *primes), None),
        },
        Tree::Name(name, primes, Some(index)) => {
            let index = eval(index, bound, lookup)?;
            lookup((name, *primes), Some(index))
        }
        Tree::Not(operand) => Some(1 - eval(operand, bound, lookup).unwrap_or(0)),
        Tree::Quantifier(forall, name, low, high, body) => {
            let mut holds = *forall;
            for value in *low..=*high {
                bound.push((name.clone(), value));
                let here = eval(body, bound, lookup).unwrap_or(0) == 1;
                bound.pop();
                holds = if *forall { holds && here } else { holds || here };
            }
            Some(holds.into())
        }
        Tree::Binary(operator, left, right) => {
            let (left, right) = (eval(left, bound, lookup), eval(right, bound, lookup));
            // A comparison of what has no value is false, and so is an element that there is not.
            let (a, b) = (left.unwrap_or(0), right.unwrap_or(0));
            let compare = |holds: bool| Some((holds && left.is_some() && right.is_some()).into());
            let term = |value: i64| if left.is_some() && right.is_some() { Some(value) } else { None };
            match operator.as_str() {
                "==" | "<=>" => Some((a == b).into()),
                "^" => Some(a ^ b),
                "|" => Some(a | b),
                "&" => Some(a & b),
                "=" => compare(a == b),
                "!=" => compare(a != b),
                "<" => compare(a < b),
                "<=" => compare(a <= b),
                ">" => compare(a > b),
                ">=" => compare(a >= b),
                "+" => term(a.wrapping_add(b)),
                "-" => term(a.wrapping_sub(b)),
                "*" => term(a.wrapping_mul(b)),
                "/" => a.checked_div(b).and_then(term),
                _ => u32::try_from(b).ok().and_then(|b| a.checked_shl(b)).and_then(term),
            }
        }
    }
}
