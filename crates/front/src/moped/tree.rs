//! Room `front/moped`: what a pushdown system of Moped's says, laid flat.
//!
//! Formulas are postfix code in one list, operands before their operator, so depth costs no stack. A quantifier stands
//! around its body: `Begin`, the body, `End`.

use super::lexer::Sym;
use postbop_ir::Span;
use std::ops::Range;

/// A pushdown system as it was written.
#[derive(Default, Debug)]
pub struct System {
    /// The variables, those of a list side by side: the global ones first.
    pub vars: Vec<Variable>,
    /// The global variables.
    pub globals: Range<usize>,
    /// The lists of local variables.
    pub blocks: Vec<Block>,
    /// Where it starts: with one symbol on the stack.
    pub start: Option<Configuration>,
    /// Configurations that are asked about.
    pub given: Vec<Configuration>,
    /// Stack symbols, and the propositions that hold where they are on top.
    pub atoms: Vec<(Sym, Sym)>,
    /// The rules, in the order of the source.
    pub rules: Vec<Rule>,
    /// The formulas.
    pub code: Vec<Node>,
    /// The quantifiers of the formulas.
    pub quantifiers: Vec<Quantifier>,
}

/// A variable, or an array.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Sym,
    /// Its bits if it is an integer.
    pub bits: Option<u8>,
    /// The first and the last index if it is an array.
    pub dim: Option<(i64, i64)>,
    /// Where it is declared.
    pub span: Span,
}

/// Local variables, and the stack symbols that have them.
#[derive(Debug)]
pub struct Block {
    /// What the symbols are called together.
    pub name: Option<Sym>,
    /// The stack symbols.
    pub symbols: Vec<(Sym, Span)>,
    /// The variables.
    pub vars: Range<usize>,
}

/// A configuration, or all that fulfil its conditions.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The control state.
    pub state: Sym,
    /// A condition on the global variables.
    pub globals: Option<Code>,
    /// The symbols on the stack, the top first, each with a condition on its local variables.
    pub stack: Vec<(Sym, Option<Code>)>,
    /// All of it.
    pub span: Span,
}

impl Configuration {
    /// The symbol on top of a stack that is not empty.
    pub fn symbol(&self) -> Sym {
        self.stack[0].0
    }
}

/// A part of the code that is one formula or one term.
pub type Code = Range<usize>;

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The control state and the top of the stack before.
    pub from: (Sym, Sym),
    /// The control state after.
    pub state: Sym,
    /// What takes the place of the top: nothing, a symbol, or a new top and a symbol below it.
    pub stack: Vec<Sym>,
    /// How variables change; without it they become arbitrary.
    pub formula: Option<Code>,
    /// The rule without its formula.
    pub span: Span,
}

/// Which value of a variable is meant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Time {
    /// `x`: before the rule.
    Old,
    /// `x'`: after it, of a global or of the symbol that is on top then.
    New,
    /// `x''`: of the symbol below the new top.
    Below,
}

/// A comparison of terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // Each is what it is called.
pub enum Compare {
    Lt,
    Le,
    Eq,
    Ne,
    Ge,
    Gt,
}

/// An operation on two integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // Each is what it is called.
pub enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
    Shl,
}

/// A connective of two formulas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // Each is what it is called.
pub enum Connective {
    And,
    Or,
    Xor,
    Same,
}

/// What a node of the code does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Op {
    /// A number.
    Number(i64),
    /// A name with so many primes, as it was written.
    Name(Sym, u8),
    /// The same with an index, which is the operand.
    Indexed(Sym, u8),
    /// What a name turned out to be: a variable, ...
    Variable(Time, u32),
    /// ... an element of an array, whose index is the operand, ...
    Element(Time, u32),
    /// ... or the variable of a quantifier.
    Bound(u32),
    /// Arithmetic.
    Arithmetic(Arithmetic),
    /// A comparison.
    Compare(Compare),
    /// Negation.
    Not,
    /// A connective.
    Connective(Connective),
    /// Before the body of a quantifier.
    Begin(u32),
    /// After the body of a quantifier.
    End(u32),
}

/// A node of the code.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// What it does.
    pub op: Op,
    /// Of a node at which a comparison, or an element of an array of Booleans, begins with its first operand: where that
    /// ends. Otherwise 0.
    pub unit: u32,
    /// Where it is written.
    pub span: Span,
}

/// A quantifier.
#[derive(Clone, Copy, Debug)]
pub struct Quantifier {
    /// Its variable.
    pub name: Sym,
    /// Whether it is `A`, for all.
    pub forall: bool,
    /// The first value of its variable.
    pub low: i64,
    /// The last value of its variable.
    pub high: i64,
    /// Where its `End` is.
    pub end: u32,
}
