//! Room `ir`: writing program graphs down. The grammar is in [`super`].

use crate::expr::{Expr, Op, Visit};
use crate::ids::FileId;
use crate::program::{Action, CheckKind, Program, Scope, Span};
use crate::types::Type;
use std::fmt::Write;

/// The textual form of a program.
pub fn print(program: &Program) -> String {
    let mut out = String::from("postbop-ir 1\n");
    // Writing to a string cannot fail.
    let _ = items(program, &mut out);
    out
}

/// A number that tells programs apart: no protection against malice, only against the wrong file.
pub fn fingerprint(program: &Program) -> String {
    // FNV-1a.
    let hash = print(program)
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ byte as u64).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}

/// The textual form of an action.
pub fn print_action(of: &Action) -> String {
    let mut out = String::new();
    let _ = action(of, &mut out);
    out
}

fn items(program: &Program, out: &mut String) -> std::fmt::Result {
    for (id, proc) in program.procs().pairs() {
        write!(out, "proc {id} {} params {} results (", quoted(&proc.name), proc.params)?;
        proc.results.iter().try_for_each(|ty| write!(out, " {ty}"))?;
        writeln!(out, " ) entry {} exit {} at {}", proc.entry, proc.exit, range(proc.span))?;
    }
    for (id, var) in program.vars().pairs() {
        let scope = match var.scope {
            Scope::Global => "global".to_owned(),
            Scope::Local(proc) => proc.to_string(),
        };
        writeln!(out, "var {id} {scope} {} {}", var.ty, quoted(&var.name))?;
    }
    for (id, loc) in program.locs().pairs() {
        let inner = if loc.inner { " inner" } else { "" };
        writeln!(out, "loc {id} {} at {}{inner}", loc.proc, range(loc.span))?;
    }
    for label in program.labels() {
        writeln!(out, "label {} {}", label.loc, quoted(&label.name))?;
    }
    for loc in program.no_room() {
        writeln!(out, "no-room {loc}")?;
    }
    for check in program.checks() {
        let kind = match check.kind {
            CheckKind::Assert => "assert",
            CheckKind::Bounds => "bounds",
        };
        writeln!(out, "check {} {kind} at {}", check.loc, range(check.span))?;
    }
    for edge in program.edges().iter() {
        write!(out, "edge {} {} at {} ", edge.from, edge.to, range(edge.span))?;
        action(&edge.action, out)?;
        out.push('\n');
    }
    starts(program, out)
}

/// Where a run starts: one line for a sequential program.
fn starts(program: &Program, out: &mut String) -> std::fmt::Result {
    let named = |main| program.procs().get(main).map_or("", |proc| proc.name.as_str());
    let sequential = program.is_sequential() && program.atomic().is_none();
    if sequential && program.threads().iter().all(|thread| thread.name == named(thread.main)) {
        return writeln!(out, "main {}", program.main());
    }
    if let Some(prologue) = program.prologue() {
        writeln!(out, "prologue {prologue}")?;
    }
    if let Some(atomic) = program.atomic() {
        writeln!(out, "atomic {atomic}")?;
    }
    let mut threads = program.threads().pairs();
    threads.try_for_each(|(id, thread)| {
        let later = if thread.later { " later" } else { "" };
        writeln!(out, "thread {id} {} {}{later}", quoted(&thread.name), thread.main)
    })
}

fn range(span: Span) -> String {
    match span.file {
        FileId(0) => format!("{}..{}", span.start, span.end),
        file => format!("{file}:{}..{}", span.start, span.end),
    }
}

pub(crate) fn quoted(name: &str) -> String {
    let mut out = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn action(action: &Action, out: &mut String) -> std::fmt::Result {
    match action {
        Action::Assume(condition) => {
            out.push_str("assume");
            expr(condition, out)
        }
        Action::Assign { targets, values, constraint } => {
            out.push_str("assign");
            targets.iter().try_for_each(|target| write!(out, " {target}"))?;
            out.push_str(" :=");
            values.iter().try_for_each(|value| expr(value, out))?;
            constraint.as_ref().map_or(Ok(()), |constraint| {
                out.push_str(" ; constrain");
                expr(constraint, out)
            })
        }
        Action::Havoc(vars) => {
            out.push_str("havoc");
            vars.iter().try_for_each(|var| write!(out, " {var}"))
        }
        Action::Call { callee, args, results } => {
            write!(out, "call {callee}")?;
            args.iter().try_for_each(|arg| expr(arg, out))?;
            out.push_str(" ->");
            results.iter().try_for_each(|result| match result {
                Some(var) => write!(out, " {var}"),
                None => write!(out, " _"),
            })
        }
        Action::Return(values) => {
            out.push_str("return");
            values.iter().try_for_each(|value| expr(value, out))
        }
    }
}

/// Prints ` (op operand …)`.
fn expr(expr: &Expr, out: &mut String) -> std::fmt::Result {
    expr.prefix(|visit| {
        let Visit::Begin(at) = visit else {
            out.push(')');
            return Ok(());
        };
        let op = expr.code[at];
        out.push_str(if op.arity() > 0 { " (" } else { " " });
        operator(op, out)
    })
}

fn operator(op: Op, out: &mut String) -> std::fmt::Result {
    match op {
        Op::Const(Type::Bool, value) => write!(out, "{}", value.is_true()),
        Op::Const(ty, value) => write!(out, "{value}:{ty}"),
        Op::Var(var) => write!(out, "{var}"),
        Op::Next(var) => write!(out, "'{var}"),
        Op::Choice(ty) => write!(out, "*:{ty}"),
        Op::Not => write!(out, "not"),
        Op::And => write!(out, "and"),
        Op::Or => write!(out, "or"),
        Op::Xor => write!(out, "xor"),
        Op::Eq => write!(out, "eq"),
        Op::Lt => write!(out, "lt"),
        Op::Le => write!(out, "le"),
        Op::Neg(ty) => write!(out, "neg:{ty}"),
        Op::Add(ty) => write!(out, "add:{ty}"),
        Op::Sub(ty) => write!(out, "sub:{ty}"),
        Op::Mul(ty) => write!(out, "mul:{ty}"),
        Op::Ite => write!(out, "ite"),
    }
}
