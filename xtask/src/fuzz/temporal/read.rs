//! Room `xtask`: a second reader of formulas and monitors.
//!
//! It reads what `generate/temporal` writes, and no more. It shares no code with the front end, so that a formula which the two read
//! differently is found. Operators wait on a stack until one that binds less strongly comes (Dijkstra's shunting yard).

use postbop_ir::step::{Places, Valuation};
use postbop_ir::{Action, LocId, Program, Scope, Value, VarId};

/// A formula: operands stand before operators, and the last node is the whole.
pub type Formula = Vec<Node>;

/// A node of a formula; operands are positions in the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node {
    Const(bool),
    Atom(Atom),
    Unary(Op, usize),
    Binary(Op, usize, usize),
}

/// An operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    Not,
    Next,
    Finally,
    Globally,
    Until,
    Release,
    WeakUntil,
    StrongRelease,
    And,
    Or,
    Implies,
    Iff,
}

/// What is said about one position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Atom {
    /// At one of these locations.
    At(Vec<LocId>),
    /// At a location of the procedure of this name; about to call it; about to return from it.
    In(String),
    Call(String),
    Return(String),
    /// A variable has a value as compared with another one, or with a number.
    Compare(VarId, &'static str, Result<VarId, Value>),
}

/// A monitor: for each state whether it is initial and whether it is marked, and the edges, whose guard is missing for `otherwise`.
pub struct Monitor {
    pub states: Vec<(String, bool, bool)>,
    pub edges: Vec<(usize, usize, Option<Formula>)>,
    pub repeats: bool,
}

const COMPARISONS: [&str; 6] = ["!=", "<=", ">=", "=", "<", ">"];

/// How strongly an operator binds, and how many operands it has.
fn operator(token: &str) -> Option<(Op, usize, usize)> {
    Some(match token {
        "!" => (Op::Not, 5, 1),
        "X" => (Op::Next, 5, 1),
        "F" => (Op::Finally, 5, 1),
        "G" => (Op::Globally, 5, 1),
        "U" => (Op::Until, 4, 2),
        "R" => (Op::Release, 4, 2),
        "W" => (Op::WeakUntil, 4, 2),
        "M" => (Op::StrongRelease, 4, 2),
        "&" => (Op::And, 3, 2),
        "|" => (Op::Or, 2, 2),
        "->" => (Op::Implies, 1, 2),
        "<->" => (Op::Iff, 0, 2),
        _ => return None,
    })
}

/// The tokens of a formula; what is in braces is one.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '{' => rest.find('}').map_or(rest.len(), |end| end + 1),
            '(' | ')' => 1,
            _ => rest.find([' ', '(', ')', '{']).unwrap_or(rest.len()),
        };
        tokens.push(rest[..len].to_owned());
        rest = rest[len..].trim_start();
    }
    tokens
}

/// What waits on the stack for its operands.
enum Waits {
    Open,
    Operator(Op, usize, usize),
}

/// Reads a formula about a program, if it is of the form that is generated.
pub fn formula(text: &str, program: &Program) -> Option<Formula> {
    let mut nodes = Formula::new();
    let (mut operands, mut waiting) = (Vec::new(), Vec::new());
    let apply = |op: Op, count: usize, operands: &mut Vec<usize>, nodes: &mut Formula| {
        let last = operands.pop()?;
        nodes.push(match count {
            1 => Node::Unary(op, last),
            _ => Node::Binary(op, operands.pop()?, last),
        });
        operands.push(nodes.len() - 1);
        Some(())
    };
    let mut tokens = tokens(text).into_iter();
    while let Some(token) = tokens.next() {
        match (token.as_str(), operator(&token)) {
            ("(", _) => waiting.push(Waits::Open),
            (")", _) => loop {
                match waiting.pop()? {
                    Waits::Open => break,
                    Waits::Operator(op, _, count) => apply(op, count, &mut operands, &mut nodes)?,
                }
            },
            (_, Some((op, strength, count))) => {
                // All operators with two operands group to the right, or it makes no difference.
                while let Some(&Waits::Operator(before, stronger, of)) = waiting.last()
                    && count == 2
                    && stronger > strength
                {
                    waiting.pop();
                    apply(before, of, &mut operands, &mut nodes)?;
                }
                waiting.push(Waits::Operator(op, strength, count));
            }
            _ => {
                nodes.push(operand(&token, &mut tokens, program)?);
                operands.push(nodes.len() - 1);
            }
        }
    }
    while let Some(Waits::Operator(op, _, count)) = waiting.pop() {
        apply(op, count, &mut operands, &mut nodes)?;
    }
    (waiting.is_empty() && operands == [nodes.len().checked_sub(1)?]).then_some(nodes)
}

fn operand(token: &str, rest: &mut impl Iterator<Item = String>, program: &Program) -> Option<Node> {
    Some(match token {
        "true" => Node::Const(true),
        "false" => Node::Const(false),
        "at" => Node::Atom(Atom::At(labelled(&rest.next()?, program))),
        "in" => Node::Atom(Atom::In(rest.next()?)),
        "call" => Node::Atom(Atom::Call(rest.next()?)),
        "return" => Node::Atom(Atom::Return(rest.next()?)),
        condition => Node::Atom(compare(condition.strip_prefix('{')?.strip_suffix('}')?, program)?),
    })
}

fn labelled(name: &str, program: &Program) -> Vec<LocId> {
    let (proc, label) = name.split_once(':').map_or((None, name), |(proc, label)| (Some(proc), label));
    let owner = |loc: LocId| program.procs()[program.locs()[loc].proc].name.as_str();
    let named = program.labels().iter().filter(|found| found.name == label);
    named.map(|found| found.loc).filter(|&loc| proc.is_none_or(|proc| owner(loc) == proc)).collect()
}

fn compare(text: &str, program: &Program) -> Option<Atom> {
    let variable = |name: &str| {
        let mut all = program.vars().pairs();
        let found = all.find(|(_, var)| match (name.split_once('.'), var.scope) {
            (None, Scope::Global) => var.name == name,
            (Some((proc, name)), Scope::Local(owner)) => {
                program.procs()[owner].name == proc && var.name == name
            }
            _ => false,
        });
        found.map(|(id, _)| id)
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        [name] => Some(Atom::Compare(variable(name)?, "=", Err(Value::TRUE))),
        ["!", name] => Some(Atom::Compare(variable(name)?, "=", Err(Value::FALSE))),
        [name, op, other] => {
            let op = COMPARISONS.into_iter().find(|known| *known == op)?;
            let other = match other.parse::<Value>() {
                Ok(number) => Err(number),
                Err(_) => Ok(variable(other)?),
            };
            Some(Atom::Compare(variable(name)?, op, other))
        }
        _ => None,
    }
}

/// Reads a monitor of a program, if it is of the form that is generated.
pub fn monitor(text: &str, program: &Program) -> Option<Monitor> {
    let mut monitor = Monitor { states: Vec::new(), edges: Vec::new(), repeats: false };
    for item in text.split(';').map(str::trim).filter(|item| !item.is_empty()) {
        if let Some(state) = item.strip_prefix("state ") {
            let words: Vec<&str> = state.split_whitespace().collect();
            let (name, marks) = words.split_first()?;
            let has = |word: &str| marks.contains(&word);
            monitor.repeats |= has("repeat");
            monitor.states.push((name.to_string(), has("init"), has("repeat") || has("target")));
            continue;
        }
        let (from, rest) = item.split_once(" -> ")?;
        let (to, guard) = rest.split_once(' ').unwrap_or((rest, ""));
        let state = |name: &str| monitor.states.iter().position(|state| state.0 == name);
        let guard = match guard.strip_prefix("when ") {
            Some(guard) => Some(formula(guard, program)?),
            None if guard == "otherwise" => None,
            None => Some(vec![Node::Const(true)]),
        };
        let (from, to) = (state(from)?, state(to)?);
        monitor.edges.push((from, to, guard));
    }
    Some(monitor)
}

/// A position of a run: a location and the values there; without a location, the program has ended.
#[derive(Clone, Copy)]
pub struct Position<'a> {
    pub program: &'a Program,
    pub places: &'a Places,
    pub loc: Option<LocId>,
    pub valuation: &'a Valuation,
}

impl Atom {
    /// Whether it is true of a position.
    pub fn is_true(&self, at: Position<'_>) -> bool {
        let Position { program, places, loc, valuation } = at;
        let proc = loc.map_or(program.main(), |loc| program.locs()[loc].proc);
        let is_named = |proc: postbop_ir::ProcId, name: &str| program.procs()[proc].name == name;
        let leaves = |wanted: &dyn Fn(&Action) -> bool| {
            loc.is_some_and(|loc| program.leaving(loc).iter().any(|&id| wanted(&program.edges()[id].action)))
        };
        match self {
            Atom::At(locs) => loc.is_some_and(|loc| locs.contains(&loc)),
            Atom::In(name) => is_named(proc, name),
            Atom::Call(name) => {
                leaves(&|action| matches!(action, Action::Call { callee, .. } if is_named(*callee, name)))
            }
            Atom::Return(name) => is_named(proc, name) && leaves(&|it| matches!(it, Action::Return(_))),
            Atom::Compare(var, op, other) => {
                let here = |var: VarId| match program.vars()[var].scope {
                    Scope::Global => true,
                    Scope::Local(owner) => loc.is_some() && owner == proc,
                };
                if !here(*var) || other.is_ok_and(|other| !here(other)) {
                    return false;
                }
                let read = |var: VarId| places.read(program, valuation, var);
                let (left, right) = (read(*var), other.map_or_else(|number| number, read));
                match *op {
                    "=" => left == right,
                    "!=" => left != right,
                    "<" => left < right,
                    "<=" => left <= right,
                    ">" => left > right,
                    _ => left >= right,
                }
            }
        }
    }
}
