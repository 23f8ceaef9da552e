//! Room `front`: the tokens of Boolean programs.
//!
//! The tools whose files we read reserve different words. Those that all of them reserve are *hard* keywords.
//! The others are *soft*: a variable may be called `thread` or `int`, and the parser tells by what follows.

use postbop_ir::Span;

/// A name of the source, as an index into the table of names.
pub type Sym = u32;

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // Each is its own spelling, given by `text`.
#[rustfmt::skip]
pub enum Kind {
    Name, Number, True, False,
    // Hard keywords.
    Begin, End, Decl, Void, Bool, Goto, While, Do, Od, If, Then, Else, Elsif, Fi, Skip, Return, Enforce,
    Constrain, Assert, Assume, Schoose, StartThread, EndThread, AtomicBegin, AtomicEnd,
    // Soft keywords.
    Shared, Thread, ThreadLocal, Ref, Call, Ite, Int, Uint, Sync, AbortIf, Dfs, Dead, Print,
    // Punctuation.
    Assign, Colon, Semicolon, Comma, LeftParen, RightParen, LeftBracket, RightBracket, Tick, Question,
    // Of other languages: there is nothing they are good for.
    LeftBrace, RightBrace,
    Star, Plus, Minus, Not, And, Or, Xor, Implies, Eq, Ne, Lt, Le, Gt, Ge,
    EndOfFile,
}

/// The keywords and their spelling.
#[rustfmt::skip]
const KEYWORDS: &[(Kind, &str)] = &[
    (Kind::True, "T"), (Kind::True, "true"), (Kind::False, "F"), (Kind::False, "false"),
    (Kind::Begin, "begin"), (Kind::End, "end"), (Kind::Decl, "decl"), (Kind::Void, "void"), (Kind::Bool, "bool"),
    (Kind::Goto, "goto"), (Kind::While, "while"), (Kind::Do, "do"), (Kind::Od, "od"), (Kind::If, "if"),
    (Kind::Then, "then"), (Kind::Else, "else"), (Kind::Elsif, "elsif"), (Kind::Fi, "fi"), (Kind::Skip, "skip"),
    (Kind::Return, "return"), (Kind::Enforce, "enforce"), (Kind::Constrain, "constrain"),
    (Kind::Assert, "assert"), (Kind::Assume, "assume"), (Kind::Schoose, "schoose"),
    (Kind::StartThread, "start_thread"), (Kind::EndThread, "end_thread"),
    (Kind::AtomicBegin, "atomic_begin"), (Kind::AtomicEnd, "atomic_end"),
    (Kind::Shared, "shared"), (Kind::Thread, "thread"), (Kind::ThreadLocal, "thread_local"), (Kind::Ref, "ref"),
    (Kind::Call, "call"), (Kind::Ite, "ite"), (Kind::Int, "int"), (Kind::Uint, "uint"), (Kind::Sync, "sync"),
    (Kind::AbortIf, "abortif"), (Kind::Dfs, "dfs"), (Kind::Dead, "dead"), (Kind::Print, "print"),
];

#[rustfmt::skip]
const PUNCTUATION: &[(Kind, &str)] = &[
    (Kind::Name, "a name"), (Kind::Number, "a number"), (Kind::EndOfFile, "the end of the file"),
    (Kind::Assign, ":="), (Kind::Colon, ":"), (Kind::Semicolon, ";"), (Kind::Comma, ","),
    (Kind::LeftParen, "("), (Kind::RightParen, ")"), (Kind::LeftBracket, "["), (Kind::RightBracket, "]"),
    (Kind::LeftBrace, "{"), (Kind::RightBrace, "}"), (Kind::Tick, "'"), (Kind::Question, "?"), (Kind::Star, "*"), (Kind::Plus, "+"), (Kind::Minus, "-"),
    (Kind::Not, "!"), (Kind::And, "&"), (Kind::Or, "|"), (Kind::Xor, "^"), (Kind::Implies, "=>"),
    (Kind::Eq, "="), (Kind::Ne, "!="), (Kind::Lt, "<"), (Kind::Le, "<="), (Kind::Gt, ">"), (Kind::Ge, ">="),
];

impl Kind {
    /// The keyword with this spelling.
    pub fn keyword(text: &str) -> Option<Kind> {
        // The longest keyword has twelve letters, and most names are told apart by their length alone.
        if text.len() > 12 {
            return None;
        }
        KEYWORDS.iter().find(|(_, spelling)| *spelling == text).map(|(kind, _)| *kind)
    }

    /// How the token is spelled, or what it is.
    pub fn text(self) -> &'static str {
        let all = KEYWORDS.iter().chain(PUNCTUATION);
        all.clone().find(|(kind, _)| *kind == self).map_or("?", |(_, text)| text)
    }

    /// Whether it can be used as a name.
    pub fn is_name(self) -> bool {
        use Kind::*;
        self == Name || self.is_soft() || matches!(self, Int | Uint)
    }

    fn is_soft(self) -> bool {
        use Kind::*;
        matches!(self, Shared | Thread | ThreadLocal | Ref | Call | Ite | Sync | AbortIf | Dfs | Dead | Print)
    }

    /// Whether a statement begins with it, and nothing else does: a place to go on after an error.
    pub fn begins_statement(self) -> bool {
        use Kind::*;
        matches!(
            self,
            Decl | Goto
                | While
                | If
                | Skip
                | Return
                | Enforce
                | Assert
                | Assume
                | StartThread
                | EndThread
                | AtomicBegin
                | AtomicEnd
        )
    }

    /// Whether it ends a block.
    pub fn ends_block(self) -> bool {
        use Kind::*;
        matches!(self, End | Fi | Od | Else | Elsif | RightBrace | EndOfFile)
    }
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// Its kind.
    pub kind: Kind,
    /// The name, if it can be used as one.
    pub sym: Sym,
    /// Its first byte.
    pub start: u32,
    /// One past its last byte.
    pub end: u32,
}

impl Token {
    /// Where it stands.
    pub fn span(self) -> Span {
        Span::new(self.start as usize, self.end as usize)
    }
}
