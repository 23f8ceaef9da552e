//! Room `front`: trees to canonical source.
//!
//! # Idea
//! The tree is walked in the order of the source, one line for each statement. Before a line is written, the comments
//! that stood before it in the source are: one that followed code on its line is put behind the line just written,
//! others get a line of their own. A blank line before a line is kept, several become one. All of this depends only on
//! what the next reading will see again, so formatting twice changes nothing.
//!
//! SatAbs wants `;` after `fi` and `od`, Getafix and Moped do not allow it: each gets its own way.

use super::lexer::{Comment, Lexed};
use super::print_expr::ExprPrinter;
use super::token::{Kind, Sym};
use super::tree::*;
use postbop_ir::Type;

/// How many levels are shown by indentation. A source may nest so deeply that its indentation would be quadratic.
const MAX_INDENT: usize = 40;

/// The canonical source of a tree.
pub fn print(text: &str, lexed: &Lexed<'_>, tree: &Tree, satabs: bool) -> String {
    let mut printer = Printer {
        text,
        tree,
        names: &lexed.names,
        comments: &lexed.comments,
        exprs: ExprPrinter::new(tree, &lexed.names),
        out: String::with_capacity(text.len()),
        indent: 0,
        tight: true,
        apart: false,
        sealed: false,
        closing: if satabs { ";" } else { "" },
    };
    for item in &tree.items {
        printer.item(*item);
    }
    printer.comments_before(u32::MAX, u32::MAX);
    printer.out
}

struct Printer<'t> {
    text: &'t str,
    tree: &'t Tree,
    names: &'t [&'t str],
    /// The comments that are still to be written.
    comments: &'t [Comment],
    exprs: ExprPrinter<'t>,
    out: String,
    indent: usize,
    /// Whether a blank line would be out of place here.
    tight: bool,
    /// Whether a blank line must come next.
    apart: bool,
    /// Whether the last line is nothing but a comment, or ends in one that nothing can follow.
    sealed: bool,
    /// What follows the closing word of a block.
    closing: &'static str,
}

impl Printer<'_> {
    fn name(&mut self, sym: Sym) {
        self.out.push_str(self.names[sym as usize]);
    }

    /// Begins a line: writes the comments that stood before `start`, and keeps a blank line before `first`, where
    /// the labels of what stands at `start` begin.
    fn line(&mut self, first: u32, start: u32) {
        self.comments_before(start, first);
        self.begin_line(first);
        self.sealed = false;
    }

    fn begin_line(&mut self, at: u32) {
        let before = &self.text.as_bytes()[..at as usize];
        let blanks = before.iter().rev().take_while(|byte| byte.is_ascii_whitespace());
        let blank_line = blanks.filter(|byte| **byte == b'\n').count() > 1;
        if (blank_line || self.apart) && !self.tight {
            self.out.push('\n');
        }
        self.tight = false;
        self.apart = false;
        self.out.extend(std::iter::repeat_n("  ", self.indent.min(MAX_INDENT)));
    }

    fn end_line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn comments_before(&mut self, start: u32, first: u32) {
        while let Some((comment, rest)) = self.comments.split_first()
            && comment.span.start < start
        {
            self.comments = rest;
            let text = self.text[comment.span.start as usize..comment.span.end as usize].trim_end();
            let behind = !comment.own_line && comment.span.start < first && !self.sealed;
            let behind = behind && self.out.ends_with('\n');
            if behind {
                self.out.pop();
                self.out.push(' ');
            } else {
                // One between a label and its statement moves before the label, and takes its blank line.
                self.begin_line(comment.span.start.min(first));
                self.tight = comment.span.start > first;
            }
            self.end_line(text);
            self.sealed = !behind || text.starts_with("//");
        }
    }

    fn item(&mut self, item: Item) {
        match item {
            Item::Decl(vars, sharing, _, span) => {
                self.line(span.start, span.start);
                self.declaration(vars, sharing);
            }
            Item::Proc(proc) => self.procedure(&self.tree.procs[proc as usize]),
            Item::ThreadBegin(name, span) => {
                self.apart = true;
                self.line(span.start, span.start);
                self.out.push_str("thread ");
                if let Some(name) = name {
                    self.name(name.sym);
                    self.out.push(' ');
                }
                self.end_line("begin");
                self.indent += 1;
                self.tight = true;
            }
            Item::ThreadEnd(span) => self.close(span.start, "end"),
        }
    }

    /// Writes the word that closes a block.
    fn close(&mut self, start: u32, word: &str) {
        self.outdent(start);
        self.end_line(word);
    }

    /// Begins the line after a block. The comments before it belong to the block.
    fn outdent(&mut self, start: u32) {
        self.comments_before(start, start);
        self.indent -= 1;
        self.tight = true;
        self.line(start, start);
    }

    fn declaration(&mut self, vars: Slice, sharing: Sharing) {
        self.out.push_str(match sharing {
            Sharing::Plain => "decl ",
            Sharing::Shared => "shared decl ",
            Sharing::ThreadLocal => "decl thread_local ",
        });
        let decls = &self.tree.vars[vars.range()];
        if let Some(first) = decls.first() {
            self.type_prefix(first.ty);
        }
        for (at, decl) in decls.iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            self.name(decl.name.sym);
            if let Some(len) = decl.len {
                self.out.push_str(&format!("[{len}]"));
            }
            if let Some(init) = decl.init {
                self.out.push_str(" := ");
                self.exprs.print(init, &mut self.out);
            }
        }
        self.end_line(";");
    }

    fn type_prefix(&mut self, ty: Type) {
        if ty != Type::Bool {
            self.out.push_str(&format!("{ty} "));
        }
    }

    fn procedure(&mut self, proc: &ProcDef) {
        self.apart = true;
        self.line(proc.span.start, proc.span.start);
        self.heading(proc);
        self.line(proc.begin.start, proc.begin.start);
        self.end_line("begin");
        self.indent += 1;
        self.tight = true;
        let mut enforce = proc.enforce;
        for stmt in &self.tree.stmts[proc.body.range()] {
            let is_decl = matches!(stmt.act, Act::Decl(..)) && stmt.labels.is_empty();
            if !is_decl && let Some((expr, span)) = enforce.take() {
                self.enforce(expr, span.start.min(stmt.span.start));
            }
            self.statement(stmt);
        }
        if let Some((expr, span)) = enforce {
            self.enforce(expr, span.start);
        }
        self.close(proc.end.start, "end");
        self.apart = true;
    }

    fn heading(&mut self, proc: &ProcDef) {
        let results = &self.tree.types[proc.results.range()];
        let text = match results {
            [] => "void".to_owned(),
            [one] => one.to_string(),
            many if many.iter().all(|ty| *ty == Type::Bool) => format!("bool<{}>", many.len()),
            many => {
                let texts: Vec<String> = many.iter().map(Type::to_string).collect();
                format!("({})", texts.join(", "))
            }
        };
        self.out.push_str(if proc.dfs { "dfs " } else { "" });
        self.out.push_str(&text);
        self.out.push(' ');
        self.name(proc.name.sym);
        self.out.push('(');
        for (at, param) in self.tree.vars[proc.vars.range()][..proc.params as usize].iter().enumerate() {
            self.out.push_str(if at > 0 { ", " } else { "" });
            self.type_prefix(param.ty);
            self.out.push_str(if param.by_ref { "ref " } else { "" });
            self.name(param.name.sym);
        }
        self.end_line(")");
    }

    fn enforce(&mut self, expr: ExprRef, start: u32) {
        self.line(start, start);
        self.of_expression("enforce ", expr, ";");
    }

    fn of_expression(&mut self, before: &str, expr: ExprRef, after: &str) {
        self.out.push_str(before);
        self.exprs.print(expr, &mut self.out);
        self.end_line(after);
    }

    fn expressions(&mut self, list: Slice) {
        for at in list.range() {
            self.out.push_str(if at > list.start as usize { ", " } else { "" });
            self.exprs.print(self.tree.exprs[at], &mut self.out);
        }
    }

    fn targets(&mut self, list: Slice) {
        for at in list.range() {
            let target = self.tree.targets[at];
            self.out.push_str(if at > list.start as usize { ", " } else { "" });
            self.name(target.name.sym);
            if let Some(index) = target.index {
                self.out.push('[');
                self.exprs.print(index, &mut self.out);
                self.out.push(']');
            }
        }
    }

    fn idents(&mut self, list: Slice) {
        for at in list.range() {
            self.out.push_str(if at > list.start as usize { ", " } else { "" });
            self.name(self.tree.idents[at].sym);
        }
    }

    fn call(&mut self, name: Ident, args: Slice) {
        // A procedure may be called what begins a statement of ours.
        if Kind::keyword(self.names[name.sym as usize]).is_some() {
            self.out.push_str("call ");
        }
        self.name(name.sym);
        self.out.push('(');
        self.expressions(args);
        self.out.push(')');
    }

    fn statement(&mut self, stmt: &Stmt) {
        match stmt.act {
            Act::Fi => return self.close(stmt.span.start, &format!("fi{}", self.closing)),
            Act::Od(_) => return self.close(stmt.span.start, &format!("od{}", self.closing)),
            Act::Else => {
                self.close(stmt.span.start, "else");
                return self.open();
            }
            Act::Elsif(condition) => {
                self.outdent(stmt.span.start);
                self.of_expression("elsif (", condition, ") then");
                return self.open();
            }
            _ => {}
        }
        let labels = &self.tree.idents[stmt.labels.range()];
        let first = labels.first().map_or(stmt.span.start, |label| label.span.start);
        self.line(first, stmt.span.start);
        for label in labels {
            self.name(label.sym);
            self.out.push_str(": ");
        }
        self.act(stmt.act);
    }

    fn open(&mut self) {
        self.indent += 1;
        self.tight = true;
    }

    /// Writes a statement after its labels.
    fn act(&mut self, act: Act) {
        match act {
            Act::If(e) => {
                self.of_expression("if (", e, ") then");
                return self.open();
            }
            Act::While(e) => {
                self.of_expression("while (", e, ") do");
                return self.open();
            }
            Act::Decl(vars, sharing) => return self.declaration(vars, sharing),
            Act::Assert(e) => return self.of_expression("assert(", e, ");"),
            Act::Assume(e) => return self.of_expression("assume(", e, ");"),
            Act::Constrain(e) => return self.of_expression("constrain(", e, ");"),
            Act::AbortIf(e) => return self.of_expression("abortif ", e, ";"),
            _ => self.simple(act),
        }
        self.end_line(";");
    }

    fn simple(&mut self, act: Act) {
        match act {
            Act::Print(list) => {
                self.out.push_str("print(");
                self.expressions(list);
                self.out.push(')');
            }
            Act::Goto(labels) => {
                self.out.push_str("goto ");
                self.idents(labels);
            }
            Act::Return(values) => {
                self.out.push_str(if values.is_empty() { "return" } else { "return " });
                self.expressions(values);
            }
            Act::Assign(targets, values, constraint) => {
                self.targets(targets);
                self.out.push_str(" := ");
                self.expressions(values);
                if let Some(constraint) = constraint {
                    self.out.push_str(" constrain ");
                    self.exprs.print(constraint, &mut self.out);
                }
            }
            Act::Call(targets, name, args) => {
                if let Some(targets) = targets {
                    self.targets(targets);
                    self.out.push_str(" := ");
                }
                self.call(name, args);
            }
            Act::Dead(targets) => {
                self.out.push_str("dead ");
                self.targets(targets);
            }
            Act::StartGoto(label) => {
                self.out.push_str("start_thread goto ");
                self.name(label.sym);
            }
            Act::StartCall(name, args) => {
                self.out.push_str("start_thread ");
                self.call(name, args);
            }
            Act::Sync(event) => {
                self.out.push_str("sync ");
                self.name(event.sym);
            }
            Act::EndThread => self.out.push_str("end_thread"),
            Act::AtomicBegin => self.out.push_str("atomic_begin"),
            Act::AtomicEnd => self.out.push_str("atomic_end"),
            _ => self.out.push_str("skip"),
        }
    }
}
