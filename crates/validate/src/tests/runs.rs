//! Room `validate`: runs between sets: many that meet, and such with several calls.

use crate::{Answer, validate};
use postbop_ir::proof::Proof;
use postbop_ir::{Action, LocId, Table, text};

/// `main` passes so many forks one after the other: one branch is for g, the other makes g what `last` says at the last fork, true before. The target is for not g.
fn forks(count: usize, last: bool) -> String {
    let mut text = String::from(
        "postbop-ir 1\nproc p0 \"main\" params 0 results ( ) entry l0 exit l1 at 0..0\nvar v0 global bool \"g\"\n",
    );
    // l0, then l3 and so on; l1 is the exit and l2 the target.
    let loc = |at: usize| if at == 0 { 0 } else { at + 2 };
    (0..count + 3).for_each(|at| text += &format!("loc l{at} p0 at 0..0\n"));
    for at in 0..count {
        let (from, to, made) = (loc(at), loc(at + 1), at + 1 < count || last);
        text += &format!(
            "edge l{from} l{to} at 0..0 assume v0\nedge l{from} l{to} at 0..0 assign v0 := {made}\n"
        );
    }
    let end = loc(count);
    text + &format!(
        "edge l{end} l2 at 0..0 assume (not v0)\nedge l{end} l1 at 0..0 return\nedge l2 l1 at 0..0 return\nmain p0\n"
    )
}

#[test]
fn runs_that_meet_go_on_as_one() {
    const FORKS: usize = 60;
    let target = LocId(2);
    for (last, holds) in [(true, true), (false, false)] {
        let program = text::parse(&forks(FORKS, last)).unwrap();
        // There are 2^60 runs between the sets.
        let none = Proof::new(Vec::new(), Table::filled(program.locs().len(), None));
        match validate(&program, &none, &[target], &|_| true, 1) {
            Answer::Valid => assert!(holds),
            Answer::Invalid(flaw) => {
                assert!(!holds && flaw.to == target && flaw.edges.len() == FORKS + 1, "{flaw}");
                let joined = |pair: &[postbop_ir::EdgeId]| {
                    program.edges()[pair[0]].to == program.edges()[pair[1]].from
                };
                assert!(flaw.edges.windows(2).all(joined), "{flaw}");
                // At the last fork the run takes the branch that makes g false.
                let forked = &program.edges()[flaw.edges[FORKS - 1]].action;
                assert!(matches!(forked, Action::Assign { .. }), "{flaw}");
            }
            Answer::CannotTell(why) => panic!("{why}"),
        }
    }
}

/// `main` calls two procedures one after the other, keeps what the first leaves in g in h, and goes to the target where the second leaves something else. Both make g arbitrary, and
/// have a local and a result.
const TWICE: &str = r#"postbop-ir 1
proc p0 "main" params 0 results ( ) entry l0 exit l1 at 0..0
proc p1 "f" params 0 results ( bool ) entry l2 exit l3 at 0..0
proc p2 "f2" params 0 results ( uint<2> ) entry l7 exit l8 at 0..0
var v0 global bool "g"
var v1 p0 bool "h"
var v2 p1 bool "a"
var v3 p0 bool "r"
var v4 p0 uint<2> "s"
loc l0 p0 at 0..0
loc l1 p0 at 0..0
loc l2 p1 at 0..0
loc l3 p1 at 0..0
loc l4 p0 at 0..0
loc l5 p0 at 0..0
loc l6 p0 at 0..0
loc l7 p2 at 0..0
loc l8 p2 at 0..0
loc l9 p0 at 0..0
loc l10 p0 at 0..0
loc l11 p1 at 0..0
loc l12 p2 at 0..0
edge l0 l4 at 0..0 call p1 -> v3
edge l4 l5 at 0..0 assign v1 := v0
edge l5 l6 at 0..0 call CALLEE
edge l6 l9 at 0..0 assume (xor v1 v0)
edge l6 l10 at 0..0 assume (not (xor v1 v0))
edge l10 l1 at 0..0 return
edge l9 l1 at 0..0 return
edge l2 l11 at 0..0 havoc v0 v2
edge l11 l3 at 0..0 return v2
edge l7 l12 at 0..0 havoc v0
edge l12 l8 at 0..0 return 3:uint<2>
main p0
"#;

#[test]
fn two_calls_on_one_run_need_not_leave_the_same() {
    for callee in ["p1 -> v3", "p2 -> v4"] {
        let program = text::parse(&TWICE.replace("CALLEE", callee)).unwrap();
        let none = Proof::new(Vec::new(), Table::filled(program.locs().len(), None));
        // No set is between the calls. They may differ, and they may agree.
        for target in [LocId(9), LocId(10)] {
            let answer = validate(&program, &none, &[target], &|_| true, 1);
            assert!(matches!(answer, Answer::Invalid(ref flaw) if flaw.to == target), "{answer:?}");
        }
    }
}
