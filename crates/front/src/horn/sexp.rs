//! Room `front/horn`: the s-expressions of SMT-LIB, laid flat.
//!
//! A list knows the range of its items in one table, so that no nesting is too deep for the stack.

use crate::diagnostic::{Code, Diagnostic, Sink};
use postbop_ir::Span;

/// The number of a node.
pub type NodeId = u32;

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A symbol, perhaps between bars.
    Symbol,
    /// Digits.
    Numeral,
    /// A number with a decimal point.
    Decimal,
    /// `#b…`
    Binary,
    /// `#x…`
    Hex,
    /// `:…`
    Keyword,
    /// A text in quotes.
    Text,
    /// A list, with the range of its items.
    List(u32, u32),
}

/// A node.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Where it stands.
    pub span: Span,
}

/// A source as s-expressions.
pub struct Tree<'t> {
    text: &'t str,
    nodes: Vec<Node>,
    items: Vec<NodeId>,
    /// The expressions that are in no list.
    pub top: Vec<NodeId>,
}

impl<'t> Tree<'t> {
    /// A node.
    pub fn node(&self, id: NodeId) -> Node {
        self.nodes[id as usize]
    }

    /// Where a node stands.
    pub fn span(&self, id: NodeId) -> Span {
        self.node(id).span
    }

    /// The items of a list; none, if it is no list.
    pub fn list(&self, id: NodeId) -> Option<&[NodeId]> {
        match self.node(id).kind {
            Kind::List(start, end) => Some(&self.items[start as usize..end as usize]),
            _ => None,
        }
    }

    /// The text of a node.
    pub fn text(&self, id: NodeId) -> &'t str {
        let span = self.span(id);
        &self.text[span.start as usize..span.end as usize]
    }

    /// The name that a symbol is, without bars.
    pub fn symbol(&self, id: NodeId) -> Option<&'t str> {
        let text = self.text(id);
        let bare = text.strip_prefix('|').and_then(|text| text.strip_suffix('|'));
        (self.node(id).kind == Kind::Symbol).then(|| bare.unwrap_or(text))
    }

    /// Whether a node is this symbol.
    pub fn is(&self, id: NodeId, name: &str) -> bool {
        self.symbol(id) == Some(name)
    }
}

/// Reads a text. Brackets that do not match end it.
pub fn read<'t>(text: &'t str, sink: &mut Sink) -> Tree<'t> {
    let mut tree = Tree { text, nodes: Vec::new(), items: Vec::new(), top: Vec::new() };
    // The lists that are open: where each begins, and its items so far.
    let mut open: Vec<(usize, Vec<NodeId>)> = Vec::new();
    let mut at = if text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
    while at < text.len() && !sink.is_full() {
        let rest = &text[at..];
        let (kind, length) = match rest.as_bytes()[0] {
            b' ' | b'\t'..=b'\r' => {
                at += 1;
                continue;
            }
            b';' => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            b'(' => {
                open.push((at, Vec::new()));
                at += 1;
                continue;
            }
            b')' => {
                let Some((start, own)) = open.pop() else {
                    let message = "this bracket closes nothing";
                    sink.push(Diagnostic::new(Code::Unbalanced, Span::new(at, at + 1), message));
                    return tree;
                };
                let first = tree.items.len() as u32;
                tree.items.extend(own);
                let kind = Kind::List(first, tree.items.len() as u32);
                at += 1;
                add(&mut tree, &mut open, Node { kind, span: Span::new(start, at) });
                continue;
            }
            _ => match atom(rest) {
                Ok(found) => found,
                Err((code, message, length)) => {
                    sink.push(Diagnostic::new(code, Span::new(at, at + length), message));
                    at += length;
                    continue;
                }
            },
        };
        add(&mut tree, &mut open, Node { kind, span: Span::new(at, at + length) });
        at += length;
    }
    if let Some((start, _)) = open.first()
        && !sink.has_errors()
    {
        let message = "the list that begins here is not closed";
        sink.push(Diagnostic::new(Code::Unbalanced, Span::new(*start, start + 1), message));
    }
    tree
}

fn add(tree: &mut Tree, open: &mut [(usize, Vec<NodeId>)], node: Node) {
    let id = tree.nodes.len() as NodeId;
    tree.nodes.push(node);
    match open.last_mut() {
        Some((_, items)) => items.push(id),
        None => tree.top.push(id),
    }
}

/// What stands at the beginning of a text, and its length.
fn atom(rest: &str) -> Result<(Kind, usize), (Code, &'static str, usize)> {
    let first = rest.as_bytes()[0];
    let run = |from: usize, keep: &dyn Fn(char) -> bool| {
        rest[from..].find(|c: char| !keep(c)).map_or(rest.len(), |length| from + length)
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "~!@$%^&*_-+=<>.?/".contains(c);
    match first {
        b'|' => match rest[1..].find('|') {
            Some(length) => Ok((Kind::Symbol, length + 2)),
            None => Err((Code::OpenName, "the symbol that begins here has no closing bar", rest.len())),
        },
        b'"' => match rest[1..].find('"') {
            Some(length) => Ok((Kind::Text, length + 2)),
            None => Err((Code::OpenName, "the text that begins here has no closing quote", rest.len())),
        },
        b':' => Ok((Kind::Keyword, run(1, &plain))),
        b'#' if rest.starts_with("#b") => Ok((Kind::Binary, run(2, &|c| matches!(c, '0' | '1')))),
        b'#' if rest.starts_with("#x") => Ok((Kind::Hex, run(2, &|c| c.is_ascii_hexdigit()))),
        b'0'..=b'9' => {
            let digits = run(0, &|c| c.is_ascii_digit());
            match rest[digits..].starts_with('.') {
                true => Ok((Kind::Decimal, run(digits + 1, &|c| c.is_ascii_digit()))),
                false => Ok((Kind::Numeral, digits)),
            }
        }
        _ => match run(0, &plain) {
            0 => {
                let length = rest.chars().next().map_or(1, char::len_utf8);
                Err((Code::BadCharacter, "no token begins with this character", length))
            }
            length => Ok((Kind::Symbol, length)),
        },
    }
}
