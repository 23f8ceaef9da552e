//! Room `front`: whether a program has threads.
//!
//! Threads are written in three ways: `thread` blocks; SatAbs's `start_thread`, and its label `ASYNC_n` before a
//! call; and Getafix's files, where `init` runs first and each procedure whose name starts with `thread` is a thread.
//! In the last a name alone decides, so where there is a `main` we ask for more: a procedure `init`, and a thread
//! that nobody calls.

use super::tree::*;
use postbop_ir::Span;
use rustc_hash::FxHashSet;

/// The first construct that makes this a program of several threads.
pub fn concurrent(tree: &Tree, names: &[&str]) -> Option<Span> {
    let blocks = tree.items.iter().filter_map(|item| match item {
        Item::ThreadBegin(_, span) => Some(*span),
        _ => None,
    });
    let is_async = |stmt: &&Stmt| {
        let labels = &tree.idents[stmt.labels.range()];
        labels.iter().any(|label| names[label.sym as usize].starts_with("ASYNC_"))
    };
    let starts = tree.stmts.iter().filter_map(|stmt| match stmt.act {
        Act::StartGoto(_) | Act::StartCall(..) => Some(stmt.span),
        Act::Call(..) => Some(stmt).filter(is_async).map(|stmt| stmt.span),
        _ => None,
    });
    blocks.chain(starts).min_by_key(|span| span.start).or_else(|| getafix(tree, names))
}

fn getafix(tree: &Tree, names: &[&str]) -> Option<Span> {
    let name = |proc: &ProcDef| names[proc.name.sym as usize];
    let has = |text: &str| tree.procs.iter().any(|proc| name(proc) == text);
    let mut threads = tree.procs.iter().filter(|proc| name(proc).starts_with("thread"));
    if !has("main") {
        return threads.next().map(|proc| proc.span);
    }
    if !has("init") {
        return None;
    }
    let called: FxHashSet<_> = tree
        .stmts
        .iter()
        .filter_map(|stmt| match stmt.act {
            Act::Call(_, callee, _) => Some(callee.sym),
            _ => None,
        })
        .collect();
    threads.find(|proc| !called.contains(&proc.name.sym)).map(|proc| proc.span)
}
