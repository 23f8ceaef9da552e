//! Room `front`: where control goes after each statement.
//!
//! # Idea
//! Reading a body backwards, what follows the current statement is always known: it is the one just seen, unless a
//! block ends or begins here. One pass with a stack of open blocks gives each statement its successor, with no
//! location for `fi`, `od` and `else`, and no edge that only joins.

use super::tree::*;

/// The successor of what falls off the end of the body.
pub const END: u32 = u32::MAX;

/// Successors of the statements of one body, by their index in it.
#[derive(Default, Debug)]
pub struct Flow {
    /// The next statement; for a condition, the one if it is true.
    pub next: Vec<u32>,
    /// For a condition, the next statement if it is false.
    pub other: Vec<u32>,
    /// Where the body starts.
    pub first: u32,
    /// The first statement that can fall off the end, or [`END`] if the body is empty; `None` if none can.
    pub falls: Option<u32>,
}

/// Whether control stands still at this statement, so that it needs a location. The words that close a block and
/// declarations without effect do not.
pub fn has_location(tree: &Tree, stmt: &Stmt) -> bool {
    match stmt.act {
        Act::Fi | Act::Od(_) | Act::Else => false,
        Act::Decl(vars, _) => {
            !stmt.labels.is_empty() || tree.vars[vars.range()].iter().any(|var| var.init.is_some())
        }
        _ => true,
    }
}

struct Block {
    after: u32,
    otherwise: u32,
}

/// The successors of the statements in `body`.
pub fn flow(tree: &Tree, body: Slice) -> Flow {
    let len = body.len();
    let mut flow = Flow { next: vec![END; len], other: vec![END; len], first: END, falls: None };
    let mut blocks: Vec<Block> = Vec::new();
    let mut next = END;
    for (at, here) in body.range().enumerate().rev() {
        let here = here as u32;
        let stmt = &tree.stmts[here as usize];
        match stmt.act {
            Act::Fi => blocks.push(Block { after: next, otherwise: next }),
            Act::Od(start) => {
                blocks.push(Block { after: next, otherwise: next });
                next = start;
            }
            Act::Else => {
                if let Some(block) = blocks.last_mut() {
                    block.otherwise = next;
                    next = block.after;
                }
            }
            Act::If(_) | Act::While(_) | Act::Elsif(_) => {
                flow.next[at] = next;
                if let Some(block) = blocks.last_mut() {
                    flow.other[at] = block.otherwise;
                    block.otherwise = here;
                    next = block.after;
                }
                if !matches!(stmt.act, Act::Elsif(_)) {
                    blocks.pop();
                    next = here;
                }
            }
            _ if has_location(tree, stmt) => {
                flow.next[at] = next;
                next = here;
            }
            _ => {}
        }
    }
    flow.first = next;
    flow.falls = falls(tree, body, &flow);
    flow
}

fn falls(tree: &Tree, body: Slice, flow: &Flow) -> Option<u32> {
    let off = |at: usize, stmt: &Stmt| match stmt.act {
        Act::Goto(_) | Act::Return(_) | Act::EndThread => false,
        Act::If(_) | Act::Elsif(_) | Act::While(_) => flow.next[at] == END || flow.other[at] == END,
        _ => has_location(tree, stmt) && flow.next[at] == END,
    };
    let first = body.range().enumerate().find(|(at, here)| off(*at, &tree.stmts[*here]));
    first.map(|(_, here)| here as u32).or((flow.first == END).then_some(END))
}
