//! Room `validate`: proofs about unbounded integers, by hand.

use crate::{Answer, validate};
use postbop_ir::proof::{Compare, Maker, Place, Proof, Ref, parse};
use postbop_ir::{LocId, VarId, text};

/// f returns twice its parameter, if that is not negative, by calling itself; `main` counts up x and, twice as fast, y, and calls f with x. l6 is for y that is not what f returns.
const INTEGERS: &str = r#"postbop-ir 1
proc p0 "main" params 0 results ( ) entry l0 exit l1 at 0..0
proc p1 "f" params 1 results ( int ) entry l2 exit l3 at 0..0
var v0 global int "x"
var v1 global int "y"
var v2 p0 int "r"
var v3 p1 int "n"
var v4 p1 int "s"
loc l0 p0 at 0..0
loc l1 p0 at 0..0
loc l2 p1 at 0..0
loc l3 p1 at 0..0
loc l4 p0 at 0..0
loc l5 p0 at 0..0
loc l6 p0 at 0..0
loc l7 p1 at 0..0
loc l8 p1 at 0..0
edge l0 l4 at 0..0 assign v0 v1 := 0:int 0:int
edge l4 l4 at 0..0 assign v0 v1 := (add:int v0 1:int) (add:int v1 2:int)
edge l4 l5 at 0..0 call p1 v0 -> v2
edge l5 l6 at 0..0 assume (not (eq v1 v2))
edge l5 l1 at 0..0 return
edge l6 l1 at 0..0 return
edge l2 l7 at 0..0 assume (lt 0:int v3)
edge l2 l3 at 0..0 return (ite (lt 0:int v3) v3 0:int)
edge l7 l8 at 0..0 call p1 (sub:int v3 1:int) -> v4
edge l8 l3 at 0..0 return (add:int v4 2:int)
main p0
"#;

/// The sets of a proof about it: at the head of the loop, after the call, and where f begins, ends and has called itself.
fn integer_proof() -> String {
    let program = text::parse(INTEGERS).unwrap();
    format!(
        "postbop-proof 1\nprogram {}\nsum -1 now v0 <= 0\nsum 1 now v1 -2 now v0 = 0\nand 1 2\nsum -1 entry v3 <= 0\n\
         sum 1 result 0 -2 entry v3 = 0\nand 4 5\nsum 1 now v2 -2 now v0 = 0\nand 3 7\nsum 1 now v4 -2 now v3 = -2\nand 4 9\n\
         sum 1 entry v3 = 0\nsum 1 result 0 = 0\nand 11 12\nset l0 true\nset l2 4\nset l3 6\nset l4 3\nset l5 8\nset l6 false\nset l8 10\n",
        text::fingerprint(&program)
    )
}

#[test]
fn linear_constraints_on_integers_are_decided() {
    // With a choice in f that may return at once, f may return less than twice n; without it, it may not.
    let strict = INTEGERS.replace("return (ite (lt 0:int v3) v3 0:int)", "assume (le v3 0:int)");
    let strict = strict
        .replace("edge l2 l3", "edge l2 l9")
        .replace("edge l7 l8", "edge l9 l3 at 0..0 return 0:int\nedge l7 l8");
    let strict = strict.replace("loc l8 p1 at 0..0\n", "loc l8 p1 at 0..0\nloc l9 p1 at 0..0\n");
    for (source, holds) in [(strict.as_str(), true), (INTEGERS, false)] {
        let program = text::parse(source).unwrap();
        let own = text::fingerprint(&program);
        let other = text::fingerprint(&text::parse(INTEGERS).unwrap());
        let read = |text: &str| parse(&program, text).unwrap().proof;
        let written = integer_proof().replace(&other, &own);
        match validate(&program, &read(&written), &[LocId(6)], &|_| true, 1) {
            Answer::Valid => assert!(holds),
            Answer::Invalid(flaw) => {
                // n is positive, and is returned.
                assert!(!holds && flaw.to == LocId(3), "{flaw}");
                let n = flaw.entry.iter().find(|(var, _)| var.0 == 3).expect("it matters").1;
                assert!(n.get() > 0, "{flaw}");
            }
            Answer::CannotTell(why) => panic!("{why}"),
        }
        // Whatever is changed, it is no proof any more: bounds, factors, places, and what is said at all.
        let changes = [
            ("-1 now v0 <= 0", "-1 now v0 <= -1"),
            ("-2 now v0 = 0", "-3 now v0 = 0"),
            ("-2 now v0 = 0", "-2 now v0 = 1"),
            ("-2 now v0 = 0", "-2 now v0 = 1 mod 2"),
            ("-1 entry v3 <= 0", "1 entry v3 <= 0"),
            ("1 now v4 -2 now v3 = -2", "1 now v4 -2 now v3 = -1"),
            ("1 now v4 -2 now v3 = -2", "1 now v4 = 1 mod 2"),
            ("set l3 6", "set l3 4"),
            ("set l3 6", "set l3 13"),
            ("set l4 3", "set l4 1"),
            ("set l2 4", "set l2 11"),
        ];
        for (from, to) in changes {
            assert!(written.contains(from), "{from}");
            let answer = validate(&program, &read(&written.replacen(from, to, 1)), &[LocId(6)], &|_| true, 1);
            assert!(matches!(answer, Answer::Invalid(_)), "{from} as {to}: {answer:?}");
        }
    }
}

#[test]
fn sums_are_of_integers_without_bounds() {
    let naive = super::Naive::new();
    let mut maker = Maker::default();
    let sum = maker.sum([(1, Place::Now(VarId(0)))], Compare::Equal(0));
    let sets = naive.program.locs().ids().map(|_| Some(sum)).collect();
    let answer = validate(&naive.program, &maker.finish(sets), &[], &|_| true, 1);
    assert!(matches!(answer, Answer::CannotTell(ref why) if why.contains("not there")), "{answer:?}");
}

/// A product of two integers has no affine function: nothing may be concluded from what stands in its place.
#[test]
fn products_of_integers_are_not_decided() {
    for condition in
        ["(eq (mul:int v0 v1) 6:int)", "(not (eq (mul:int v0 v1) 0:int))", "(lt (mul:int v0 v0) 0:int)"]
    {
        let assumed = format!("edge l0 l6 at 0..0 assume {condition}\nedge l0 l4");
        let source = INTEGERS.replace("edge l0 l4", &assumed).replace("(not (eq v1 v2))", "false");
        let program = text::parse(&source).unwrap();
        // Everything is said to be reached but the target of the product.
        let sets = program.locs().ids().map(|loc| Some(if loc == LocId(6) { Ref::FALSE } else { Ref::TRUE }));
        let proof = Proof::new(Vec::new(), sets.collect());
        let answer = validate(&program, &proof, &[LocId(6)], &|_| true, 1);
        assert!(matches!(answer, Answer::CannotTell(_)), "{condition}: {answer:?}");
    }
}
