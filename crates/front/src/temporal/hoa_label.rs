//! Room `front/temporal`: labels of edges in the HOA format, as nodes of one formula over propositions.

use super::hoa::{MANY, Parsed, Reader};
use super::hoa_token::Kind;
use postbop_ir::Span;
use postbop_kit::buchi::{Node, NodeId};

impl Reader<'_, '_> {
    /// The label of the edge of this number among those without labels.
    pub(super) fn letter(&mut self, number: usize, span: Span) -> Parsed<NodeId> {
        let count = self.propositions.as_ref().map_or(0, Vec::len);
        if count > MANY.1 {
            return self
                .refuse(span, format!("edges without labels are read for at most {} propositions", MANY.1));
        }
        if number >> count != 0 {
            return self
                .refuse(span, format!("this edge without label is more than the {} letters", 1 << count));
        }
        let mut all = self.labels.push(Node::Const(true));
        for at in 0..count {
            let mut literal = self.labels.push(Node::Atom(at as u32));
            if number >> at & 1 == 0 {
                literal = self.labels.push(Node::Not(literal));
            }
            all = self.labels.push(Node::And(all, literal));
        }
        Ok(all)
    }

    /// A label, up to `end`, which is taken; or, if that is nothing, up to what cannot continue one.
    pub(super) fn label(&mut self, end: &str) -> Parsed<NodeId> {
        // Negations, parentheses and operators that wait for their last operand.
        let mut open: Vec<&str> = Vec::new();
        let mut operands: Vec<NodeId> = Vec::new();
        loop {
            while matches!(self.spelling(), "!" | "(") {
                open.push(self.spelling());
                self.take();
            }
            operands.push(self.operand()?);
            loop {
                let next = self.spelling();
                let strength = |mark: &str| ["|", "&", "!"].iter().position(|other| *other == mark);
                let own = if matches!(next, "&" | "|") { strength(next) } else { Some(0) };
                while open.last().is_some_and(|mark| strength(mark) >= own && *mark != "(") {
                    let right = operands.pop().unwrap_or(0);
                    let node = match open.pop() {
                        Some("!") => Node::Not(right),
                        Some("&") => Node::And(operands.pop().unwrap_or(0), right),
                        _ => Node::Or(operands.pop().unwrap_or(0), right),
                    };
                    operands.push(self.labels.push(node));
                }
                if matches!(next, "&" | "|") {
                    open.push(next);
                    self.take();
                    break;
                }
                if next == ")" && open.pop().is_some() {
                    self.take();
                    continue;
                }
                if !open.is_empty() || !end.is_empty() && next != end {
                    return self.expected("`&`, `|` or the end of the label");
                }
                if !end.is_empty() {
                    self.take();
                }
                return Ok(operands.pop().unwrap_or(0));
            }
        }
    }

    fn operand(&mut self) -> Parsed<NodeId> {
        let token = self.here();
        match (token.kind, self.spelling()) {
            (Kind::Word, word @ ("t" | "f")) => {
                self.take();
                Ok(self.labels.push(Node::Const(word == "t")))
            }
            (Kind::Number, _) => {
                let count = self.propositions.as_ref().map_or(0, Vec::len);
                let at = self.number("a proposition", count)?;
                Ok(self.labels.push(Node::Atom(at as u32)))
            }
            (Kind::Alias, alias) => match self.aliases.get(alias) {
                Some(&label) => {
                    self.take();
                    Ok(label)
                }
                None => self.refuse(token.span(), format!("there is no alias `{alias}`")),
            },
            _ => self.expected("a proposition, an alias, `t`, `f`, `!` or `(`"),
        }
    }
}
