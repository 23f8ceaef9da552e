//! Room `front`: whether a program has threads, and which.
//!
//! Threads are written in three ways, which may be mixed:
//!
//! - `thread` blocks: each has a `main`; a `main` outside of all blocks is one more thread, the first.
//! - Getafix's files: each procedure whose name starts with `thread`, in any letter case, is a thread, and so is
//!   `main`. A name alone decides, so where there is a `main` we ask for more: a procedure `init`, and a thread that no
//!   other procedure calls. One that another calls is a procedure like any other, unless all are.
//! - SatAbs's `start_thread`, and its label `ASYNC_n` before a call: `main` is a thread, and each start is one more.
//!
//! Whatever the style, and also without threads, a procedure `init` runs before everything else ([`init`]).

use super::token::Sym;
use super::tree::*;
use postbop_ir::Span;
use rustc_hash::FxHashSet;

/// The threads of a program.
#[derive(Debug)]
pub struct Concurrent {
    /// The first construct that makes this a program of several threads.
    pub span: Span,
    /// The threads that are there from the start: their names, and the procedures they start in.
    pub threads: Vec<(String, u32)>,
    /// The procedure that runs before all of them.
    pub init: Option<u32>,
    /// The global that brackets atomic sections.
    pub atomic: Option<u32>,
    /// The statements that start a thread.
    pub sites: Vec<u32>,
}

/// The threads of a program; none if it is sequential.
pub fn concurrent(tree: &Tree, names: &[&str]) -> Option<Concurrent> {
    let blocks = blocks(tree, names);
    let sites: Vec<u32> = (0..tree.stmts.len() as u32).filter(|at| is_start(tree, names, *at)).collect();
    let starts = sites.iter().map(|at| tree.stmts[*at as usize].span);
    let first = blocks.iter().map(|block| block.0).chain(starts).min_by_key(|span| span.start);
    let main = find(tree, names, 0, "main");
    let mut threads: Vec<(String, u32)> = main.map(|main| ("main".to_owned(), main)).into_iter().collect();
    if let Some(span) = first {
        threads.extend(blocks.into_iter().filter_map(|(_, name, main)| Some((name, main?))));
        return Some(Concurrent { span, threads, init: init(tree, names), atomic: None, sites });
    }
    let span = getafix(tree, names)?;
    let uncalled = thread_procs(tree, names, true);
    let procs = if uncalled.is_empty() { thread_procs(tree, names, false) } else { uncalled };
    let mut procs: Vec<u32> = procs.into_iter().chain(main).collect();
    procs.sort_unstable();
    let name = |at: u32| names[tree.procs[at as usize].name.sym as usize].to_owned();
    let threads = procs.into_iter().map(|at| (name(at), at)).collect();
    Some(Concurrent { span, threads, init: init(tree, names), atomic: atomic(tree, names), sites })
}

/// The procedure that runs before everything else: `init`, if it stands outside of all thread blocks, takes no parameters,
/// and no other procedure calls or starts it.
pub fn init(tree: &Tree, names: &[&str]) -> Option<u32> {
    let init = find(tree, names, 0, "init")?;
    let proc = &tree.procs[init as usize];
    (proc.params == 0 && !called(tree).contains(&proc.name.sym)).then_some(init)
}

/// The names of the procedures that another procedure calls or starts.
fn called(tree: &Tree) -> FxHashSet<Sym> {
    let callees = |proc: &ProcDef| {
        let own = proc.name.sym;
        tree.stmts[proc.body.range()].iter().filter_map(move |stmt| match stmt.act {
            Act::Call(_, callee, _) | Act::StartCall(callee, _) => (callee.sym != own).then_some(callee.sym),
            _ => None,
        })
    };
    tree.procs.iter().flat_map(callees).collect()
}

/// Whether a statement starts a thread.
fn is_start(tree: &Tree, names: &[&str], at: u32) -> bool {
    let stmt = &tree.stmts[at as usize];
    let is_async = |label: &Ident| names[label.sym as usize].starts_with("ASYNC_");
    match stmt.act {
        Act::StartGoto(_) | Act::StartCall(..) => true,
        Act::Call(..) => tree.idents[stmt.labels.range()].iter().any(is_async),
        _ => false,
    }
}

/// Where each thread block stands, its name, and its `main`.
fn blocks(tree: &Tree, names: &[&str]) -> Vec<(Span, String, Option<u32>)> {
    let begins = tree.items.iter().filter_map(|item| match item {
        Item::ThreadBegin(name, span) => Some((name, *span)),
        _ => None,
    });
    let block = |(at, (name, span)): (usize, (&Option<Ident>, Span))| {
        let unnamed = || format!("thread {}", at + 1);
        let name = name.map_or_else(unnamed, |name| names[name.sym as usize].to_owned());
        (span, name, find(tree, names, at as u32 + 1, "main"))
    };
    begins.enumerate().map(block).collect()
}

fn find(tree: &Tree, names: &[&str], thread: u32, name: &str) -> Option<u32> {
    let is_it = |proc: &ProcDef| proc.thread == thread && names[proc.name.sym as usize] == name;
    tree.procs.iter().position(is_it).map(|at| at as u32)
}

fn getafix(tree: &Tree, names: &[&str]) -> Option<Span> {
    let with_main = find(tree, names, 0, "main").is_some();
    if with_main && find(tree, names, 0, "init").is_none() {
        return None;
    }
    let first = thread_procs(tree, names, with_main).into_iter().next();
    first.map(|at| tree.procs[at as usize].span)
}

/// The procedures named like threads, or only those that no other procedure calls.
fn thread_procs(tree: &Tree, names: &[&str], uncalled: bool) -> Vec<u32> {
    let called = if uncalled { called(tree) } else { FxHashSet::default() };
    let is_thread = |proc: &ProcDef| {
        let start = names[proc.name.sym as usize].get(.."thread".len());
        start.is_some_and(|start| start.eq_ignore_ascii_case("thread")) && !called.contains(&proc.name.sym)
    };
    (0..tree.procs.len() as u32).filter(|at| is_thread(&tree.procs[*at as usize])).collect()
}

/// The global Boolean named `atomic`.
fn atomic(tree: &Tree, names: &[&str]) -> Option<u32> {
    let globals = tree.items.iter().filter_map(|item| match item {
        Item::Decl(vars, Sharing::Plain | Sharing::Shared, 0, _) => Some(vars.range()),
        _ => None,
    });
    let is_it = |at: &usize| {
        let var = &tree.vars[*at];
        names[var.name.sym as usize] == "atomic" && var.ty == postbop_ir::Type::Bool && var.len.is_none()
    };
    globals.flatten().find(is_it).map(|at| at as u32)
}
