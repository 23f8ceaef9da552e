//! Room `front/temporal`: automata in the Hanoi omega-automata format, which Spot, Owl and others write.
//!
//! # Idea
//!
//! A header says how many states and atomic propositions there are, and when a run is accepted; the body lists states
//! and edges. What is read: Büchi and generalised Büchi acceptance, on states or on edges; labels of edges and of states, any
//! Boolean expression over propositions and aliases; edges without labels, one for each letter. What is not read, as alternation
//! and other conditions of acceptance, is a diagnostic that names it. A proposition is a condition in the language of
//! formulas, in quotes: `AP: 2 "call p" "x < 3"`.
//!
//! # Departures
//!
//! The crate `hoars` reads the format too. It calls `unwrap` on numbers of the file, recurses into labels, looks at the
//! clock and has no places for mistakes, so this is a parser of our own.
//!
//! # Paper
//!
//! \[hoa\].

use super::Atom;
use super::atom::resolve;
use super::hoa_token::{Kind, Token, tokens};
use super::parse::Parser;
use crate::diagnostic::{Code, Diagnostic, Sink};
use crate::read::too_large;
use postbop_ir::{Program, Span};
use postbop_kit::buchi::{
    Automaton, Formula, Generalised, GeneralisedEdge, Interrupted, Node, NodeId, cubes,
};
use rustc_hash::FxHashMap as HashMap;

/// The largest file, in bytes.
const LARGEST: usize = 10_000_000;
/// The most states, propositions and sets of an automaton; and the most propositions if edges have no labels.
pub(super) const MANY: (usize, usize) = (1_000_000, 12);

/// An automaton that was read, and what its atoms mean.
#[derive(Clone, Debug)]
pub struct Hoa {
    /// The automaton.
    pub automaton: Automaton,
    /// What the atoms mean.
    pub atoms: Vec<Atom>,
}

/// A mistake that was reported.
pub(super) struct Reported;
pub(super) type Parsed<T> = Result<T, Reported>;

/// An edge whose label is not expanded; sets are those it is in.
struct Draft {
    from: u32,
    to: u32,
    label: NodeId,
    sets: Vec<u32>,
}

pub(super) struct Reader<'t, 's> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
    sink: &'s mut Sink,
    states: usize,
    initial: Vec<u32>,
    /// Where the propositions stand, with their quotes.
    pub(super) propositions: Option<Vec<Span>>,
    pub(super) aliases: HashMap<&'t str, NodeId>,
    /// The sets that must be met again and again.
    sets: Option<Vec<u32>>,
    /// All labels, over propositions.
    pub(super) labels: Formula,
    edges: Vec<Draft>,
}

/// Reads an automaton about the runs of a program. Without errors, and if the work was not interrupted, there is one.
pub fn hoa(
    text: &str,
    program: &Program,
    goes_on: &mut dyn FnMut(usize) -> bool,
) -> Result<(Option<Hoa>, Vec<Diagnostic>), Interrupted> {
    if text.len() > LARGEST {
        return Ok((None, vec![too_large(LARGEST)]));
    }
    let mut sink = Sink::default();
    let tokens = tokens(text, &mut sink);
    let mut reader = Reader {
        text,
        tokens,
        at: 0,
        sink: &mut sink,
        states: 0,
        initial: Vec::new(),
        propositions: None,
        aliases: HashMap::default(),
        sets: None,
        labels: Formula::default(),
        edges: Vec::new(),
    };
    if reader.sink.has_errors() || reader.header().is_err() || reader.body().is_err() {
        return Ok((None, sink.finish()));
    }
    let Reader { propositions, labels, edges, initial, states, sets, .. } = reader;
    let found = meanings(text, &propositions.unwrap_or_default(), program, &mut sink);
    let Some((meanings, atoms)) = found else { return Ok((None, sink.finish())) };
    let sets = sets.unwrap_or_default();
    let mut general = Generalised { states, initial, edges: Vec::new() };
    for Draft { from, to, label, sets: met } in edges {
        let missing: Vec<u32> = sets.iter().copied().filter(|set| !met.contains(set)).collect();
        for guard in cubes(&substituted(&labels.part(label), &meanings), goes_on)? {
            general.edges.push(GeneralisedEdge { from, guard, to, missing: missing.clone() });
        }
    }
    let automaton = general.degeneralised(goes_on)?;
    Ok((Some(Hoa { automaton, atoms }), sink.finish()))
}

/// What the propositions mean: everything else is blanked out, so that places are those of the file.
fn meanings(
    text: &str,
    propositions: &[Span],
    program: &Program,
    sink: &mut Sink,
) -> Option<(Vec<Formula>, Vec<Atom>)> {
    let mut blank = String::with_capacity(text.len());
    for span in propositions {
        let (start, end) = (span.start as usize, span.end as usize);
        blank.extend(std::iter::repeat_n(' ', start + 1 - blank.len()));
        blank.push_str(&text[start + 1..end - 1]);
        blank.push(';');
    }
    let mut parser = Parser::new(&blank, program, sink);
    for _ in propositions {
        if parser.formula(false).is_ok() && !parser.sees(";") {
            let _ = parser.expected::<()>("an operator");
        }
        while !parser.is_at_end() && !parser.sees(";") {
            parser.take(1);
        }
        parser.take(1);
    }
    resolve(parser.finish(), program, sink)
}

/// A label with the meaning of each proposition in its place.
fn substituted(label: &Formula, meanings: &[Formula]) -> Formula {
    let mut whole = Formula::default();
    let mut ids: Vec<NodeId> = Vec::new();
    for &node in label.nodes() {
        ids.push(match node {
            Node::Atom(at) => whole.append(&meanings[at as usize]),
            node => whole.push(node.map(|operand| ids[operand as usize])),
        });
    }
    whole
}

impl<'t> Reader<'t, '_> {
    pub(super) fn here(&self) -> Token {
        self.tokens[self.at]
    }

    pub(super) fn spelling(&self) -> &'t str {
        let Token { start, end, .. } = self.here();
        &self.text[start..end]
    }

    pub(super) fn take(&mut self) -> Token {
        let token = self.here();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn eat(&mut self, mark: &str) -> bool {
        let found = self.spelling() == mark;
        if found {
            self.take();
        }
        found
    }

    pub(super) fn expected<T>(&mut self, what: &str) -> Parsed<T> {
        let found = match self.here().kind {
            Kind::End => "the end of the file".to_owned(),
            _ => format!("`{}`", self.spelling()),
        };
        let message = format!("expected {what}, found {found}");
        self.sink.push(Diagnostic::new(Code::Syntax, self.here().span(), message));
        Err(Reported)
    }

    pub(super) fn refuse<T>(&mut self, span: Span, message: impl Into<String>) -> Parsed<T> {
        self.sink.push(Diagnostic::new(Code::BadAutomaton, span, message));
        Err(Reported)
    }

    pub(super) fn number(&mut self, what: &str, limit: usize) -> Parsed<usize> {
        if self.here().kind != Kind::Number {
            return self.expected(what);
        }
        match self.spelling().parse::<usize>() {
            Ok(number) if number < limit => {
                self.take();
                Ok(number)
            }
            _ => {
                let message = format!("{what} must be less than {limit}");
                self.refuse(self.here().span(), message)
            }
        }
    }

    fn header(&mut self) -> Parsed<()> {
        if self.spelling() != "HOA:" {
            return self.expected("`HOA:`");
        }
        loop {
            let token = self.here();
            match (token.kind, self.spelling()) {
                (Kind::Line, "--BODY--") => {
                    self.take();
                    break;
                }
                (Kind::Header, name) => {
                    self.take();
                    self.header_item(name, token.span())?;
                }
                _ => return self.expected("a header, or `--BODY--`"),
            }
        }
        if self.sets.is_none() {
            return self.refuse(self.here().span(), "the header has no `Acceptance:`");
        }
        Ok(())
    }

    fn header_item(&mut self, name: &'t str, span: Span) -> Parsed<()> {
        match name {
            "HOA:" if self.eat("v1") => {}
            "HOA:" => return self.refuse(self.here().span(), "only version `v1` of the format is read"),
            "States:" => self.states = self.number("the number of states", MANY.0)?,
            "Start:" => {
                let state = self.number("a state", MANY.0)?;
                if self.spelling() == "&" {
                    return self
                        .refuse(self.here().span(), "alternating automata are not read: `Start` has `&`");
                }
                self.initial.push(state as u32);
            }
            "AP:" => {
                let count = self.number("the number of propositions", MANY.0)?;
                let mut list = Vec::new();
                while self.here().kind == Kind::Text {
                    list.push(self.take().span());
                }
                if list.len() != count {
                    let message =
                        format!("`AP:` announces {count} propositions, but there are {}", list.len());
                    return self.refuse(span, message);
                }
                self.propositions = Some(list);
            }
            "Alias:" => {
                if self.here().kind != Kind::Alias {
                    return self.expected("a name that begins with `@`");
                }
                let alias = self.spelling();
                self.take();
                let label = self.label("")?;
                self.aliases.insert(alias, label);
            }
            "Acceptance:" => self.acceptance()?,
            // What begins with a small letter is for information only.
            name if name.starts_with(|c: char| c.is_ascii_lowercase()) => {
                while !matches!(self.here().kind, Kind::Header | Kind::Line | Kind::End) {
                    self.take();
                }
            }
            name => return self.refuse(span, format!("the header `{name}` is not known")),
        }
        Ok(())
    }

    /// `n Inf(a)&Inf(b)…`, or `n t`.
    fn acceptance(&mut self) -> Parsed<()> {
        let count = self.number("the number of sets", MANY.0)?;
        let mut sets = Vec::new();
        if self.eat("t") {
            self.sets = Some(sets);
            return Ok(());
        }
        let mut depth = 0usize;
        loop {
            while self.eat("(") {
                depth += 1;
            }
            let token = self.here();
            match self.spelling() {
                "Inf" => drop(self.take()),
                "Fin" => {
                    return self
                        .refuse(token.span(), "acceptance with `Fin` is not read, only Büchi acceptance");
                }
                "f" => return self.refuse(token.span(), "acceptance `f` accepts nothing"),
                _ => return self.expected("`Inf`"),
            }
            if !self.eat("(") {
                return self.expected("`(`");
            }
            if self.spelling() == "!" {
                return self
                    .refuse(self.here().span(), "acceptance with complemented sets, `Inf(!…)`, is not read");
            }
            sets.push(self.number("a set", count.max(1))? as u32);
            if !self.eat(")") {
                return self.expected("`)`");
            }
            while depth > 0 && self.eat(")") {
                depth -= 1;
            }
            match self.spelling() {
                "&" => drop(self.take()),
                "|" => {
                    return self.refuse(
                        self.here().span(),
                        "acceptance with `|` is not read, only Büchi acceptance",
                    );
                }
                _ => break,
            }
        }
        sets.sort_unstable();
        sets.dedup();
        self.sets = Some(sets);
        Ok(())
    }

    fn body(&mut self) -> Parsed<()> {
        loop {
            match self.spelling() {
                "State:" => drop(self.take()),
                "--END--" => return self.check(),
                "--ABORT--" => {
                    return self.refuse(self.here().span(), "the automaton was given up: `--ABORT--`");
                }
                _ => return self.expected("`State:` or `--END--`"),
            }
            let of_state = if self.eat("[") { Some(self.label("]")?) } else { None };
            let from = self.number("a state", MANY.0)? as u32;
            self.states = self.states.max(from as usize + 1);
            if self.here().kind == Kind::Text {
                self.take();
            }
            let sets = self.signature()?;
            self.edges_of(from, of_state, &sets)?;
        }
    }

    fn check(&mut self) -> Parsed<()> {
        let ends = self.edges.iter().map(|edge| edge.to).chain(self.initial.iter().copied());
        match ends.max() {
            Some(most) if most as usize >= self.states => {
                let message = format!("there is no state {most}: there are {}", self.states);
                self.refuse(self.here().span(), message)
            }
            _ => Ok(()),
        }
    }

    fn edges_of(&mut self, from: u32, of_state: Option<NodeId>, of_all: &[u32]) -> Parsed<()> {
        let mut implicit = 0usize;
        loop {
            let own = match (self.spelling(), of_state) {
                ("[", Some(_)) => {
                    return self.refuse(
                        self.here().span(),
                        "an edge of a state with a label has no label of its own",
                    );
                }
                ("[", None) => {
                    self.take();
                    Some(self.label("]")?)
                }
                _ => None,
            };
            if self.here().kind != Kind::Number && own.is_none() {
                return Ok(());
            }
            let span = self.here().span();
            let to = self.number("a state", MANY.0)? as u32;
            if self.spelling() == "&" {
                return self.refuse(self.here().span(), "alternating automata are not read: an edge has `&`");
            }
            let mut sets = self.signature()?;
            sets.extend(of_all);
            let label = match own.or(of_state) {
                Some(label) => label,
                None => {
                    implicit += 1;
                    self.letter(implicit - 1, span)?
                }
            };
            self.edges.push(Draft { from, to, label, sets });
        }
    }

    /// `{0 1}`, if there is one.
    fn signature(&mut self) -> Parsed<Vec<u32>> {
        let mut sets = Vec::new();
        if self.eat("{") {
            while !self.eat("}") {
                sets.push(self.number("a set", MANY.0)? as u32);
            }
        }
        Ok(sets)
    }
}
