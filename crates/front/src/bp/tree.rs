//! Room `front`: the syntax tree, laid flat.
//!
//! # Idea
//! Nothing here points to anything by a box. Expressions lie in one pool in postfix order, operands before what
//! uses them; a statement is one entry of one list, and a block is what stands between its opening and its closing
//! entry. So parsing, checking, printing and dropping are loops however deeply the source nests, and a node costs
//! a few bytes.

use super::doubt::Doubt;
use super::token::Sym;
use postbop_ir::{Span, Type};
use std::ops::Range;

/// A range of indices into one of the pools.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Slice {
    /// The first index.
    pub start: u32,
    /// One past the last.
    pub end: u32,
}

impl Slice {
    /// From `start` to `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Slice { start: start as u32, end: end as u32 }
    }

    /// The indices.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// How many indices.
    pub fn len(self) -> usize {
        self.range().len()
    }

    /// Whether there is no index.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// A binary operator of the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // Each is the operator of its name.
#[rustfmt::skip]
pub enum Binary { Implies, Or, Xor, And, Eq, Ne, Lt, Le, Gt, Ge, Add, Sub, Mul }

impl Binary {
    /// How it is written.
    pub fn text(self) -> &'static str {
        match self {
            Binary::Implies => "=>",
            Binary::Or => "|",
            Binary::Xor => "^",
            Binary::And => "&",
            Binary::Eq => "=",
            Binary::Ne => "!=",
            Binary::Lt => "<",
            Binary::Le => "<=",
            Binary::Gt => ">",
            Binary::Ge => ">=",
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
        }
    }
}

/// A node of the expression pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    /// `T` or `F`.
    Truth(bool),
    /// A number.
    Number(i64),
    /// `*` or `?`.
    Choice,
    /// A variable, primed or not.
    Var(Sym, bool),
    /// An element of an array, primed or not; its index is the operand.
    Index(Sym, bool),
    /// Boolean negation.
    Not,
    /// Arithmetic negation.
    Neg,
    /// A binary operator.
    Binary(Binary),
    /// `schoose[p, n]`.
    Schoose,
    /// `ite(c, a, b)`.
    Ite,
}

impl Node {
    /// How many operands it has.
    pub fn arity(self) -> usize {
        match self {
            Node::Truth(_) | Node::Number(_) | Node::Choice | Node::Var(..) => 0,
            Node::Index(..) | Node::Not | Node::Neg => 1,
            Node::Binary(_) | Node::Schoose => 2,
            Node::Ite => 3,
        }
    }
}

/// An expression: a slice of the pool, never empty, whose last node is the root.
pub type ExprRef = Slice;

/// A name with its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ident {
    /// The name.
    pub sym: Sym,
    /// Its place.
    pub span: Span,
}

/// What is assigned to.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The variable, or [`super::lexer::DISCARD`].
    pub name: Ident,
    /// The index, if it is an element of an array.
    pub index: Option<ExprRef>,
}

/// A declared variable or parameter.
#[derive(Clone, Copy, Debug)]
pub struct VarDecl {
    /// Its name.
    pub name: Ident,
    /// Its type; of an array, that of its elements.
    pub ty: Type,
    /// The length, if it is an array.
    pub len: Option<u32>,
    /// Its initial value.
    pub init: Option<ExprRef>,
    /// Whether it is a `ref` parameter.
    pub by_ref: bool,
}

/// How the variables of a declaration are shared between threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// Not said.
    Plain,
    /// `shared decl`.
    Shared,
    /// `decl thread_local`.
    ThreadLocal,
}

/// What a statement does.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Declares variables.
    Decl(Slice, Sharing),
    /// `skip`
    Skip,
    /// `print(…)`
    Print(Slice),
    /// `goto …`: a slice of the identifiers.
    Goto(Slice),
    /// `return …`: a slice of the expression list.
    Return(Slice),
    /// Targets, values, and a constraint.
    Assign(Slice, Slice, Option<ExprRef>),
    /// Targets, if there is a `:=`; the procedure; the arguments.
    Call(Option<Slice>, Ident, Slice),
    /// `assert e`
    Assert(ExprRef),
    /// `assume e`
    Assume(ExprRef),
    /// `abortif e`
    AbortIf(ExprRef),
    /// `constrain e` on its own.
    Constrain(ExprRef),
    /// `dead …`: targets.
    Dead(Slice),
    /// `if e then`; its span covers `if e`.
    If(ExprRef),
    /// `elsif e then`
    Elsif(ExprRef),
    /// `else`
    Else,
    /// `fi`
    Fi,
    /// `while e do`
    While(ExprRef),
    /// `od`, with the index of its `while`.
    Od(u32),
    /// `start_thread goto L`
    StartGoto(Ident),
    /// `start_thread f(…)`
    StartCall(Ident, Slice),
    /// `end_thread`
    EndThread,
    /// `sync event`
    Sync(Ident),
    /// `atomic_begin`
    AtomicBegin,
    /// `atomic_end`
    AtomicEnd,
}

/// A statement, or the opening, middle or closing word of a block.
#[derive(Clone, Copy, Debug)]
pub struct Stmt {
    /// What it does.
    pub act: Act,
    /// Where it stands, without its labels.
    pub span: Span,
    /// Its labels: a slice of the identifiers.
    pub labels: Slice,
}

/// A procedure.
#[derive(Clone, Copy, Debug)]
pub struct ProcDef {
    /// Its name.
    pub name: Ident,
    /// Its heading, without the body.
    pub span: Span,
    /// Its parameters and then its locals: a slice of the variables.
    pub vars: Slice,
    /// How many of these are parameters.
    pub params: u32,
    /// Its result types: a slice of the types.
    pub results: Slice,
    /// What is assumed throughout, and where the word stands.
    pub enforce: Option<(ExprRef, Span)>,
    /// Its body: a slice of the statements.
    pub body: Slice,
    /// Its `begin`.
    pub begin: Span,
    /// Its `end`.
    pub end: Span,
    /// The thread block it stands in, counted from 1; 0 if in none.
    pub thread: u32,
    /// Whether `dfs` stands before it: advice to another tool, kept for the formatter.
    pub dfs: bool,
}

/// What stands at the top level, in order.
#[derive(Clone, Copy, Debug)]
pub enum Item {
    /// Declared variables, how they are shared, the thread block, and where.
    Decl(Slice, Sharing, u32, Span),
    /// A procedure.
    Proc(u32),
    /// `thread … begin`
    ThreadBegin(Option<Ident>, Span),
    /// Its `end`
    ThreadEnd(Span),
}

/// A whole source.
#[derive(Default, Debug)]
pub struct Tree {
    /// The pool of expressions.
    pub nodes: Vec<Node>,
    /// Where each node's operator or operand stands.
    pub spans: Vec<Span>,
    /// Lists of expressions.
    pub exprs: Vec<ExprRef>,
    /// Lists of names: labels, jumps.
    pub idents: Vec<Ident>,
    /// Lists of targets.
    pub targets: Vec<Target>,
    /// Lists of result types.
    pub types: Vec<Type>,
    /// All variables.
    pub vars: Vec<VarDecl>,
    /// All statements.
    pub stmts: Vec<Stmt>,
    /// All procedures.
    pub procs: Vec<ProcDef>,
    /// The top level.
    pub items: Vec<Item>,
    /// Whether some declaration or heading could not be read, so that an unknown name proves nothing.
    pub lost_names: bool,
    /// Expressions that the dialects group differently.
    pub doubts: Vec<Doubt>,
}

impl Tree {
    /// A tree with room for what so many tokens make, as a rule: lists that grow are copied again and again.
    pub fn with_room(tokens: usize) -> Self {
        let (nodes, stmts) = (tokens / 2, tokens / 5);
        Tree {
            nodes: Vec::with_capacity(nodes),
            spans: Vec::with_capacity(nodes),
            stmts: Vec::with_capacity(stmts),
            ..Tree::default()
        }
    }

    /// Where an expression stands.
    pub fn span_of(&self, expr: ExprRef) -> Span {
        let spans = &self.spans[expr.range()];
        spans.iter().copied().reduce(Span::to).unwrap_or_default()
    }
}
