//! Room `front`: what is wrong with a source, and where.
//!
//! A diagnostic is data. It says which of a fixed list of problems it is ([`Code`]), where, and what would help;
//! how it looks on a terminal is not decided here. Problems are collected in a [`Sink`], never thrown, so that one
//! run reports as many as it can.

use postbop_ir::{FileId, Span};
use std::fmt;

/// How bad a problem is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// The program has a meaning, but perhaps not the one that was meant.
    Warning,
    /// The program has no meaning.
    Error,
}

macro_rules! codes {
    ($($name:ident $severity:ident $text:literal $title:literal;)*) => {
        /// Which problem it is. Codes never change their meaning; retired ones are not used again.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Code {
            $(#[doc = $title] $name,)*
        }

        /// Every code there is, in the order of their texts.
        pub const ALL: &[Code] = &[$(Code::$name),*];

        impl Code {
            /// The code as users see it, such as `E012`.
            pub fn text(self) -> &'static str {
                match self { $(Code::$name => $text),* }
            }

            /// One line that says what the problem is in general.
            pub fn title(self) -> &'static str {
                match self { $(Code::$name => $title),* }
            }

            /// How bad it is.
            pub fn severity(self) -> Severity {
                match self { $(Code::$name => Severity::$severity),* }
            }
        }
    };
}

codes! {
    BadCharacter       Error "E001" "a character that no token begins with";
    OpenComment        Error "E002" "a comment without its end";
    OpenName           Error "E003" "a name in braces without its closing brace";
    Syntax             Error "E004" "something else was expected here";
    Unbalanced         Error "E005" "a block that is not closed, or a closing word without its block";
    TooDeep            Error "E006" "nested too deeply";
    CallInExpression   Error "E007" "a call inside an expression";
    TooMany            Error "E008" "more than we report or read";
    HugeNumber         Error "E009" "a number beyond 63 bits";
    BadSize            Error "E010" "a width or a length out of range";
    UnknownVariable    Error "E011" "a variable that is not declared";
    VariableTwice      Error "E012" "a variable declared twice";
    UnknownProcedure   Error "E013" "a procedure that is not defined";
    ProcedureTwice     Error "E014" "a procedure defined twice";
    UnknownLabel       Error "E015" "a label that is not in this procedure";
    AmbiguousLabel     Error "E016" "a jump to a label that stands at two places";
    WrongArguments     Error "E017" "the wrong number of arguments";
    WrongResults       Error "E018" "the wrong number of targets for the results of a call";
    WrongValues        Error "E019" "the wrong number of values in an assignment";
    WrongReturn        Error "E020" "the wrong number of returned values";
    TypeMismatch       Error "E021" "a value of the wrong type";
    OutOfRange         Error "E022" "a constant that its type does not hold";
    Primed             Error "E023" "a primed variable outside `constrain`";
    Nonlinear          Error "E024" "a product of two unbounded integers";
    WholeArray         Error "E025" "an array without an index";
    NotAnArray         Error "E026" "an index on a variable that is not an array";
    IndexOutOfRange    Error "E027" "a constant index out of range";
    TargetTwice        Error "E028" "a variable assigned twice at once";
    NoMain             Error "E029" "no procedure `main`";
    CallOfMain         Error "E030" "a call of `main`";
    BadReference       Error "E031" "a `ref` argument that is not a variable";
    EnforceTwice       Error "E032" "a second `enforce` in one procedure";
    Discarded          Error "E033" "`_` used as a value";
    PassiveVariable    Error "E034" "a passive variable";
    UnknownRelation    Error "E041" "a relation that is not defined";
    RelationTwice      Error "E042" "a relation or a type defined twice";
    UnknownSort        Error "E043" "a type that is not defined";
    UnknownField       Error "E044" "a field or a variable that a value does not have";
    NoQuery            Error "E045" "a formula file without a query";
    Unstable           Error "E046" "an iteration that does not settle";
    Unsupported        Error "E051" "a format, or a part of one, that is not read";
    NoStart            Error "E052" "a pushdown system without an initial configuration";
    WrongThreads       Error "E053" "a configuration of another number of threads";
    EmptyStack         Error "E054" "a rule for an empty stack";
    BadGraph           Error "E055" "a program graph with a mistake";
    SymbolTwice        Error "E056" "a stack symbol in two lists of local variables";
    BadPrime           Error "E057" "a primed variable that there is not";
    NoValue            Error "E058" "a constant without a value";
    AmbiguousName      Error "E061" "a name that is a label and a variable";
    TwoScopes          Error "E062" "a condition on variables that are not in scope together";
    ChoiceInAtom       Error "E063" "a choice in a condition on a run";
    NotTemporal        Error "E064" "a temporal operator where only the present counts";
    BadMonitor         Error "E065" "a monitor without a meaning";
    BadAutomaton       Error "E066" "an automaton that cannot be read";
    NotHorn            Error "E071" "a formula that is not a Horn clause";
    OutsideFragment    Error "E072" "a sort, a function or a command of SMT-LIB that is not read";
    TwoMeanings        Warning "W001" "an expression that means two things in two dialects";
    NoReturnValue      Warning "W002" "a procedure with results that ends without giving them";
    LabelTwice         Warning "W003" "a label that stands at two places";
    OutsideRange       Warning "W004" "a shared state or a stack symbol outside the declared range";
    IndexOutside       Warning "W005" "an index out of range, which makes a comparison false";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// One problem of a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Which problem it is.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// Where.
    pub span: Span,
    /// A few words to write beside the place.
    pub label: Option<String>,
    /// Other places that matter, and why.
    pub notes: Vec<(Span, String)>,
    /// What would help.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A problem at a place.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            severity: code.severity(),
            message: message.into(),
            span,
            label: None,
            notes: Vec::new(),
            hint: None,
        }
    }

    /// The same in this file.
    pub fn in_file(mut self, file: FileId) -> Self {
        self.span.file = file;
        self
    }

    /// The same with words beside the place.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// The same with one more place that matters.
    pub fn note(mut self, span: Span, note: impl Into<String>) -> Self {
        self.notes.push((span, note.into()));
        self
    }

    /// The same with advice.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether the program has no meaning because of this.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// How many errors, and how many warnings, are reported before we stop counting.
pub const LIMIT: usize = 50;

/// The problems found so far. After [`LIMIT`] errors (or warnings) it keeps only the fact that there are more: a
/// file that is not a program at all has thousands, and nobody reads them.
#[derive(Default, Debug)]
pub struct Sink {
    list: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

impl Sink {
    /// Adds a problem.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let count = if diagnostic.is_error() { &mut self.errors } else { &mut self.warnings };
        *count += 1;
        if *count <= LIMIT {
            self.list.push(diagnostic);
        } else if *count == LIMIT + 1 && diagnostic.is_error() {
            let message = format!("more than {LIMIT} errors: the others are not reported");
            self.list.push(Diagnostic::new(Code::TooMany, diagnostic.span, message));
        }
    }

    /// Whether an error was added.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Whether it is no use to look for more errors.
    pub fn is_full(&self) -> bool {
        self.errors > LIMIT
    }

    /// The problems in the order of the source.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|d| (d.code == Code::TooMany, d.span.start));
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_order_and_say_how_bad_they_are() {
        assert!(ALL.windows(2).all(|two| two[0].text() < two[1].text()));
        for code in ALL {
            assert_eq!(code.text().starts_with('E'), code.severity() == Severity::Error);
        }
    }

    #[test]
    fn a_sink_stops_after_its_limit() {
        let mut sink = Sink::default();
        for at in (0..1000).rev() {
            sink.push(Diagnostic::new(Code::Syntax, Span::new(at, at), "x"));
            sink.push(Diagnostic::new(Code::LabelTwice, Span::new(at, at), "x"));
        }
        let list = sink.finish();
        assert_eq!(list.len(), 2 * LIMIT + 1);
        assert_eq!(list.last().map(|d| d.code), Some(Code::TooMany));
        assert!(list[..2 * LIMIT].windows(2).all(|two| two[0].span.start <= two[1].span.start));
    }
}
