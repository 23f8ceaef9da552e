//! Room `ir/horn`: the clauses of a small program, letter by letter.

use super::write;
use crate::{Action, Builder, Expr, Op, Program, Span, Type};

/// `main` adds one to a global by a procedure, and fails if that makes it 3.
fn program(names: [&str; 3]) -> Program {
    let [main_name, callee_name, global] = names;
    let mut out = Builder::default();
    let span = Span::default();
    let main = out.proc(main_name, 0, vec![], span);
    let add = out.proc(callee_name, 1, vec![Type::Int(3)], span);
    let g = out.global(global, Type::Int(3));
    let h = out.global("untouched", Type::Bool);
    let by = out.local(add, "by", Type::Int(3));
    let (entry, exit) = (out.procs()[main].entry, out.procs()[main].exit);
    let (after, bad) = (out.loc(main, span), out.loc(main, span));
    let one = Op::Const(Type::Int(3), 1u32.into());
    let call = Action::Call { callee: add, args: vec![Expr::new([one])], results: vec![Some(g)] };
    out.edge(entry, after, call, span);
    let is_three = Expr::new([Op::Const(Type::Int(3), (-2i64).into()), Op::Var(g), Op::Lt]);
    out.edge(after, bad, Action::Assume(is_three), span);
    out.edge(after, exit, Action::Return(vec![]), span);
    out.label("ERROR", bad);
    let (entry, exit) = (out.procs()[add].entry, out.procs()[add].exit);
    let sum = Expr::new([Op::Var(g), Op::Var(by), Op::Add(Type::Int(3))]);
    out.edge(entry, exit, Action::Return(vec![sum]), span);
    let never = out.proc("never called", 0, vec![], span);
    let havoc = Action::Havoc(vec![h]);
    let ends = out.loc(never, span);
    out.edge(out.procs()[never].entry, ends, havoc, span);
    out.finish(main)
}

fn text(program: &Program) -> String {
    let mut out = String::new();
    let targets: Vec<_> = program.labels().iter().map(|label| label.loc).collect();
    write(program, &targets, &mut out).expect("a string takes all text");
    out
}

#[test]
fn clauses_are_those_of_the_essay() {
    let wanted = "\
(set-logic HORN)
(declare-fun main.l0 ((_ BitVec 3) (_ BitVec 3)) Bool)
(declare-fun main.l4 ((_ BitVec 3) (_ BitVec 3)) Bool)
(declare-fun main.l5 ((_ BitVec 3) (_ BitVec 3)) Bool)
(declare-fun main.returns.p0 ((_ BitVec 3) (_ BitVec 3)) Bool)
(declare-fun main.fails.p0 ((_ BitVec 3)) Bool)
(declare-fun add.l2 ((_ BitVec 3) (_ BitVec 3)) Bool)
(declare-fun add.returns.p1 ((_ BitVec 3) (_ BitVec 3) (_ BitVec 3)) Bool)
(assert (forall ((g.v0 (_ BitVec 3))) (main.l0 g.v0 g.v0)))
(assert (forall ((g.e0 (_ BitVec 3)) (g.v0 (_ BitVec 3)) (result.r0 (_ BitVec 3))) (=> (and (main.l0 g.e0 g.v0) (add.returns.p1 g.v0 (_ bv1 3) result.r0)) (main.l4 g.e0 result.r0))))
(assert (forall ((g.e0 (_ BitVec 3)) (g.v0 (_ BitVec 3))) (=> (and (main.l4 g.e0 g.v0) (bvslt (_ bv6 3) g.v0)) (main.l5 g.e0 g.v0))))
(assert (forall ((g.e0 (_ BitVec 3)) (g.v0 (_ BitVec 3))) (=> (main.l4 g.e0 g.v0) (main.returns.p0 g.e0 g.v0))))
(assert (forall ((g.v0 (_ BitVec 3)) (by.v2 (_ BitVec 3))) (add.l2 g.v0 by.v2)))
(assert (forall ((g.v0 (_ BitVec 3)) (by.v2 (_ BitVec 3))) (=> (add.l2 g.v0 by.v2) (add.returns.p1 g.v0 by.v2 (bvadd g.v0 by.v2)))))
(assert (forall ((g.e0 (_ BitVec 3)) (g.v0 (_ BitVec 3))) (=> (main.l5 g.e0 g.v0) (main.fails.p0 g.e0))))
(assert (forall ((g.v0 (_ BitVec 3))) (=> (main.fails.p0 g.v0) false)))
(check-sat)
";
    let found = text(&program(["main", "add", "g"]));
    for (wanted, found) in wanted.lines().zip(found.lines()) {
        assert_eq!(wanted, found);
    }
    assert_eq!(wanted.lines().count(), found.lines().count());
}

#[test]
fn names_are_quoted_where_they_must_be() {
    let found = text(&program(["main", "a b|c\\", "1"]));
    assert!(found.contains("(|a b?c?.l2| |1.v0| by.v2)"), "{found}");
    // Two names that look alike are told apart by what follows them.
    let found = text(&program(["a|", "a\\", "g"]));
    assert!(found.contains("|a?.returns.p0|") && found.contains("|a?.returns.p1|"), "{found}");
}
