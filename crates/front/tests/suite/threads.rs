//! Room `front`: what threads become.

use crate::common::{assert_valid, edges, program, reading};
use postbop_front::{Options, read};
use postbop_ir::{Action, Program, Type};

fn threads(program: &Program) -> Vec<(&str, &str)> {
    let name = |proc| program.procs()[proc].name.as_str();
    program.threads().iter().map(|thread| (thread.name.as_str(), name(thread.main))).collect()
}

/// The edges of the procedure where a thread starts, as the lowering tests write them.
fn main_of(program: &Program, thread: usize) -> String {
    edges(program, program.threads().iter().nth(thread).expect("a thread").main)
}

fn count(program: &Program, name: &str) -> usize {
    program.procs().iter().filter(|proc| proc.name == name).count()
}

#[test]
fn blocks_are_threads_with_globals_of_their_own() {
    let source = "decl g := T, h;
        void f() begin h := g; end
        thread a begin decl own := F; void main() begin own := g; f(); L: skip; end end
        thread begin decl own; void main() begin f(); own := h; constrain(T); L: skip; end end";
    let program = program(source);
    assert_eq!(threads(&program), [("a", "main"), ("thread 2", "main")]);
    assert_eq!(program.globals().count(), 4, "g, h and two of the name own");
    assert_eq!(count(&program, "f"), 2, "each thread has its f");
    assert_eq!(program.labels().iter().filter(|label| label.name == "L").count(), 2);
    let prologue = program.prologue().expect("initial values");
    assert_eq!(edges(&program, prologue), "0 -> 1: g := 1\n1 -> 2: own := 0\n2 -> X: return\n");
    assert_eq!(
        main_of(&program, 0),
        "0 -> 1: own := g\n1 -> 2:  := f()\n2 -> 3: assume 1\n3 -> X: return\nL: 2\n"
    );
    // What is in scope of a relation is what is shared and the thread's own.
    let relates = "2 -> 3: g, h, own := *bool, *bool, *bool constrain 1";
    assert!(main_of(&program, 1).contains(relates), "{}", main_of(&program, 1));
    assert_eq!(program.atomic(), None);
}

#[test]
fn getafix_files_have_a_prologue_and_may_have_an_atomic_variable() {
    let source = "decl atomic, x;
        void init() begin decl l; l := F; atomic := l; x := F; end
        void f() begin x := T; end
        void thread1() begin atomic := T; f(); atomic := F; end
        void main() begin f(); SLIC_ERROR: skip; end
        void thread_helper() begin skip; end
        void thread2() begin thread_helper(); if (*) then thread2(); fi end";
    let program = program(source);
    assert_eq!(threads(&program), [("thread1", "thread1"), ("main", "main"), ("thread2", "thread2")]);
    let prologue = program.prologue().expect("init");
    assert_eq!(program.procs()[prologue].name, "init");
    assert_eq!(program.vars()[program.atomic().expect("its own")].name, "atomic");
    assert_eq!(count(&program, "f"), 2);
    assert_eq!(count(&program, "thread2"), 2, "one to start in and one to call");
    assert_eq!(
        edges(&program, prologue),
        "0 -> 1: l := 0\n1 -> 2: atomic := l\n2 -> 3: x := 0\n3 -> X: return\n"
    );
}

#[test]
fn a_switch_is_not_possible_within_a_statement() {
    let source = "decl a[3]; decl uint<2> i;
        thread begin void main() begin decl p := a[0], q := p; decl r := q; enforce r; a[i] := T; assert(p); end end
        thread begin void main() begin i := 0; end end";
    let program = program(source);
    let main = program.threads().iter().next().expect("a thread").main;
    let inner: Vec<bool> = program
        .edges()
        .iter()
        .filter(|edge| program.locs()[edge.from].proc == main)
        .map(|edge| program.locs()[edge.from].inner)
        .collect();
    // p := a[0]; then q within the same declaration; r; enforce within it; the bounds of a[i], twice; the store and
    // what is enforced after it, both within the statement; assert, twice; return.
    assert_eq!(
        inner,
        [false, true, false, true, false, false, true, true, false, false, false],
        "{}",
        main_of(&program, 0)
    );
    assert!(
        program.checks().iter().all(|check| program.locs()[check.loc].inner),
        "a failed check ends the run"
    );
}

#[test]
fn atomic_sections_assign_to_a_hidden_variable() {
    let source = "decl g; void main() begin
        start_thread goto L; atomic_begin; g := T; atomic_end; L: sync e; end_thread; end";
    let program = program(source);
    let atomic = program.atomic().expect("atomic sections");
    assert_eq!((program.vars()[atomic].name.as_str(), program.vars()[atomic].ty), ("%atomic", Type::Bool));
    let main = main_of(&program, 0);
    assert_eq!(main.matches("%atomic := 1").count(), 1, "{main}");
    assert_eq!(main.matches("%atomic := 0").count(), 2, "at its end, and at the end of the thread\n{main}");
    let prologue = edges(&program, program.prologue().expect("hidden variables"));
    assert!(prologue.starts_with("0 -> 1: %atomic, %start 1, %start 2 := 0, 0, 0\n"), "{prologue}");
}

#[test]
fn a_thread_starts_with_the_locals_it_needs() {
    let source = "decl g; void main() begin decl a, b, c;
        start_thread goto L; start_thread goto M; c := T; return;
        L: g := a; b := c; M: g := b; end_thread; end";
    let reading = read(source.as_bytes(), Options { threads: 2, ..Options::default() });
    assert_eq!(reading.thread_bound, Some(2));
    let program = reading.program.expect("no errors");
    assert_valid(&program);
    assert_eq!(threads(&program), [("main", "main"), ("thread 1", "main")]);
    let main = main_of(&program, 0);
    let starts = [
        "0 -> 7: %start 1, %a 1, %c 1 := 1, a, c constrain eq(%start 1 0)\n",
        "7 -> 1: %start 1, %b 1 := 2, b constrain eq(%start 1 0)\n",
    ];
    assert!(starts.iter().all(|start| main.contains(start)), "{main}");
    assert_eq!(main.matches("assume not(eq(%start 1 0))").count(), 2, "none is left\n{main}");
    assert_eq!(program.no_room().len(), 4);
    let started = main_of(&program, 1);
    let begins = [
        "a, %a 1, c, %c 1 := %a 1, 0, %c 1, 0 constrain eq(%start 1 1)\n",
        "b, %b 1 := %b 1, 0 constrain eq(%start 1 2)\n",
    ];
    assert!(begins.iter().all(|begin| started.contains(begin)), "{started}");
    let from_entry = started.lines().filter(|line| line.starts_with("0 -> ")).count();
    assert_eq!(from_entry, 2, "nothing else leaves the entry\n{started}");
}

#[test]
fn procedures_are_started_with_their_arguments() {
    let source = "decl g; void f(x) begin g := x; end bool h() begin return g; end
        void main() begin decl l; ASYNC_1: f(l & g); start_thread h(); f(T); end";
    let program = program(source);
    assert_eq!(threads(&program), [("main", "main"), ("thread 1", "%thread"), ("thread 2", "%thread")]);
    assert_eq!((count(&program, "f"), count(&program, "h")), (3, 2));
    let main = main_of(&program, 0);
    let first = "%start 1, %x 1 := 1, and(l g) constrain eq(%start 1 0)";
    let second = "%start 2, %x 2 := 1, and(l g) constrain and(eq(%start 2 0) not(eq(%start 1 0)))";
    assert!(main.contains(first) && main.contains(second), "{main}");
    assert_eq!(
        main_of(&program, 1),
        "0 -> 1: assume eq(%start 1 1)
1 -> 2:  := f(%x 1)
2 -> X: return
0 -> 3: assume eq(%start 1 2)
3 -> 4: _ := h()
4 -> X: return
"
    );
    let calls = |edge: &&postbop_ir::Edge| matches!(edge.action, Action::Call { .. });
    assert_eq!(program.edges().iter().filter(calls).count(), 5, "one by main, two by each thread");
}

#[test]
fn thread_local_variables_are_copied_to_a_new_thread() {
    let source = "decl thread_local t := T; decl g; void main() begin
        start_thread goto L; t := F; L: g := t; end";
    let program = program(source);
    assert_eq!(program.vars().iter().filter(|var| var.name == "t").count(), 3);
    let prologue = edges(&program, program.prologue().expect("initial values"));
    assert_eq!(prologue.matches("t := 1").count(), 3, "{prologue}");
    assert!(main_of(&program, 0).contains("%start 1, t := 1, t constrain"), "{}", main_of(&program, 0));
}

#[test]
fn what_no_thread_calls_is_there_once() {
    let program = program(
        "decl g; void f() begin g := T; end void unused() begin f(); U: skip; end
        thread begin void main() begin f(); end end thread begin void main() begin skip; end end",
    );
    assert_eq!((count(&program, "unused"), count(&program, "f")), (1, 2));
    assert_eq!(program.labels().iter().filter(|label| label.name == "U").count(), 1);
}

#[test]
fn a_program_must_start_somewhere() {
    let codes: Vec<_> = reading("void f() begin L: start_thread goto L; end")
        .diagnostics
        .iter()
        .map(|found| found.code.text())
        .collect();
    assert_eq!(codes, ["E029"]);
}
