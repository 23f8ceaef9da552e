//! Room `front/fix`: formula files as trees. The parser limits their depth, so trees may be walked by recursion.

use postbop_ir::Span;

/// A name and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// A number, or the name of one.
#[derive(Clone, Debug)]
pub enum Size {
    /// A number.
    Number(i64, Span),
    /// A constant of the signature, and what is added to it.
    Named(Name, i64),
}

/// A type.
#[derive(Clone, Debug)]
pub enum SortTree {
    /// A named one.
    Name(Name),
    /// Numbers from one to another.
    Range(Size, Size),
    /// Named fields.
    Record(Vec<Param>),
    /// Several of one type.
    Array(Box<SortTree>, Size),
}

/// A name with its type.
#[derive(Clone, Debug)]
pub struct Param {
    /// The name.
    pub name: Name,
    /// Its type.
    pub sort: SortTree,
}

/// A step from a value into it.
#[derive(Clone, Debug)]
pub enum Step {
    /// To a field.
    Field(Name),
    /// To an element.
    Index(Term),
}

/// What a term begins with.
#[derive(Clone, Debug)]
pub enum Head {
    /// A variable, and the way into its value.
    Path(Name, Vec<Step>),
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

/// A term.
#[derive(Clone, Debug)]
pub struct Term {
    /// What it begins with.
    pub head: Head,
    /// What is added to it.
    pub plus: i64,
    /// Where it stands.
    pub span: Span,
}

/// How two terms are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// `=`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Order {
    /// Whether two numbers are in this order.
    pub fn holds(self, a: i64, b: i64) -> bool {
        match self {
            Order::Eq => a == b,
            Order::Ne => a != b,
            Order::Lt => a < b,
            Order::Le => a <= b,
            Order::Gt => a > b,
            Order::Ge => a >= b,
        }
    }
}

/// A formula without connectives.
#[derive(Clone, Debug)]
pub enum Atom {
    /// A relation and its arguments.
    Apply(Name, Vec<Term>),
    /// A comparison.
    Compare(Order, Term, Term),
    /// A bit that is 1.
    Truth(Term),
}

/// A formula.
#[derive(Clone, Debug)]
pub enum Formula {
    /// True or false.
    Const(bool),
    /// All of these.
    And(Vec<Formula>),
    /// One of these.
    Or(Vec<Formula>),
    /// Not this.
    Not(Box<Formula>),
    /// Both of these or neither; where the sign stands.
    Iff(Box<Formula>, Box<Formula>, Span),
    /// For some values of these, if `true`; for all, if `false`.
    Quantified(bool, Vec<Param>, Box<Formula>),
    /// No connective.
    Atom(Atom, Span),
}

/// What a relation says about the program, for writing traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Pairs of an entry and a state that is reached from it in the same call.
    Paths,
    /// Entries that are reached.
    Entries,
}

/// An item of a file.
#[derive(Clone, Debug)]
pub enum Item {
    /// A name for a type.
    Sort(Name, SortTree),
    /// An equation; `true` for a greatest fixed point.
    Equation(bool, Name, Vec<Param>, Formula),
    /// A question.
    Query(Name, Formula),
    /// What some relations mean.
    Role(Role, Vec<Name>),
}
