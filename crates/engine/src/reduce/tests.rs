//! Room `engine/reduce`: reductions on small graphs, with what is left worked out by hand.

use super::*;
use postbop_ir::{Action, EdgeId, LocId, replay, text, validate};

/// main sets k, calls f(k), and comes to l5 if f gives back what it was given; l6 and l7 are on no run to l5.
const GRAPH: &str = r#"postbop-ir 1
proc p0 "main" params 0 results ( ) entry l0 exit l1 at 0..0
proc p1 "f" params 1 results ( bool ) entry l2 exit l3 at 0..0
var v0 global bool "k"
var v1 global bool "x"
var v2 p1 bool "n"
loc l0 p0 at 0..0
loc l1 p0 at 0..0
loc l2 p1 at 0..0
loc l3 p1 at 0..0
loc l4 p0 at 0..0
loc l5 p0 at 0..0
loc l6 p0 at 0..0
loc l7 p0 at 0..0
loc l8 p0 at 0..0
loc l9 p0 at 0..0
edge l0 l4 at 0..0 assign v0 := true
edge l4 l8 at 0..0 call p1 v0 -> v1
edge l8 l9 at 0..0 assume v1
edge l9 l5 at 0..0 assume v0
edge l8 l6 at 0..0 assume (not v1)
edge l6 l7 at 0..0 assign v1 := true
edge l7 l1 at 0..0 return
edge l5 l1 at 0..0 return
edge l2 l3 at 0..0 return v2
main p0
"#;

fn reduced(text: &str, targets: &[u32], prefer: Prefer) -> (Program, Reduced) {
    let program = text::parse(text).unwrap();
    assert_eq!(validate(&program), []);
    let queries = [Query::reach("R", targets.iter().map(|&loc| LocId(loc)).collect())];
    let reduced = reduce(&Task { prefer, ..Task::new(&program, &queries) });
    (program, reduced)
}

fn actions(reduced: &Reduced) -> Vec<String> {
    reduced.program.edges().iter().map(|edge| text::print_action(&edge.action)).collect()
}

#[test]
fn what_is_on_no_run_to_a_target_is_left_out() {
    let (program, reduced) = reduced(GRAPH, &[5], Prefer::FewestSteps);
    assert_eq!((program.edges().len(), reduced.program.edges().len()), (9, 5), "{:?}", actions(&reduced));
    // Nothing is relevant where no target can be reached.
    let blocked = GRAPH.replace("edge l9 l5 at 0..0 assume v0", "edge l9 l5 at 0..0 assume false");
    let (_, reduced) = self::reduced(&blocked, &[5], Prefer::Any);
    assert_eq!(reduced.program.edges().len(), 0, "{:?}", actions(&reduced));
}

#[test]
fn variables_that_hold_one_value_become_constants() {
    let (_, reduced) = reduced(GRAPH, &[5], Prefer::FewestSteps);
    assert_eq!(reduced.stats.get("constants"), Some(3), "k, n, and what comes back");
    let reads =
        reduced.program.edges().iter().flat_map(|edge| edge.action.exprs()).flat_map(|expr| expr.reads());
    assert_eq!(reads.count(), 0, "{:?}", actions(&reduced));
    // A second value, and nothing is known.
    let two = GRAPH.replace(
        "edge l6 l7 at 0..0 assign v1 := true",
        "edge l8 l4 at 0..0 assign v0 := false\nedge l6 l7 at 0..0 assign v1 := true",
    );
    let (_, reduced) = self::reduced(&two, &[5], Prefer::FewestSteps);
    assert_eq!(reduced.stats.get("constants"), Some(0), "{:?}", actions(&reduced));
}

#[test]
fn edges_that_follow_each_other_are_composed_unless_steps_count() {
    let (_, short) = reduced(GRAPH, &[5], Prefer::FewestSteps);
    let (_, any) = reduced(GRAPH, &[5], Prefer::Any);
    assert!(any.program.edges().len() < short.program.edges().len(), "{:?}", actions(&any));
    let calls = |reduced: &Reduced| {
        let edges = reduced.program.edges().iter();
        edges.filter(|edge| matches!(edge.action, Action::Call { .. })).count()
    };
    assert_eq!((calls(&any), calls(&short)), (1, 1), "a call stays a call");
}

#[test]
fn a_trace_of_the_smaller_program_is_lifted_to_one_as_written() {
    for prefer in [Prefer::Any, Prefer::FewestSteps] {
        let (program, reduced) = reduced(GRAPH, &[5], prefer);
        // The only run: each edge of the smaller program once, the call with a segment.
        let mut trace = Trace::default();
        let of = |from: LocId| reduced.program.leaving(from)[0];
        let inside = of(reduced.program.procs()[postbop_ir::ProcId(1)].entry);
        let proc = postbop_ir::ProcId(1);
        let segment =
            postbop_ir::Segment::new(proc, Vec::new(), vec![postbop_ir::Step::new(inside, Vec::new())]);
        let segment = trace.segments.push(segment);
        let (mut at, mut steps) = (reduced.program.procs()[reduced.program.main()].entry, Vec::new());
        while at != reduced.queries[0].locs()[0] {
            let edge: EdgeId = of(at);
            let step = postbop_ir::Step::new(edge, Vec::new());
            let call = matches!(reduced.program.edges()[edge].action, Action::Call { .. });
            steps.push(if call { step.back(segment) } else { step });
            at = reduced.program.edges()[edge].to;
        }
        let trace = Trace::sequential(trace.segments, Vec::new(), steps);
        let mut lifted = reduced.lift(trace);
        replay::complete(&program, &mut lifted, &postbop_ir::Ask::Reach(vec![LocId(5)]), &mut || true)
            .unwrap();
        assert_eq!(lifted.length(), postbop_ir::Length::from(5), "k := 1, call, return, two conditions");
    }
}

#[test]
fn a_guard_stays_as_long_as_its_condition_is_open() {
    let program = text::parse(GRAPH).unwrap();
    let guarded = |loc: u32| Query { guard: vec![LocId(loc)], ..Query::reach("R", vec![LocId(5)]) };
    let queries = [guarded(9)];
    let reduced = reduce(&Task::new(&program, &queries));
    assert_eq!(reduced.queries[0].guard.len(), 1, "a run to it can still be found");
    let blocked = GRAPH.replace("edge l9 l5 at 0..0 assume v0", "edge l9 l5 at 0..0 assume (not v0)");
    let program = text::parse(&blocked).unwrap();
    let reduced = reduce(&Task::new(&program, &queries));
    assert!(reduced.queries[0].guard.is_empty(), "what was decided beforehand says nothing about runs");
    // Another query keeps the callee but not its return: control can get to the guard all the same.
    let queries = [guarded(9), Query::reach("inside", vec![LocId(2)])];
    let reduced = reduce(&Task::new(&program, &queries));
    assert!(reduced.queries[0].guard.is_empty(), "{:?}", actions(&reduced));
}

#[test]
fn a_guard_behind_a_condition_that_constants_decide_is_not_reachable() {
    // k is true where it is compared, so that no run comes to l9.
    let blocked = GRAPH.replace("edge l8 l9 at 0..0 assume v1", "edge l8 l9 at 0..0 assume (not v0)");
    let program = text::parse(&blocked).unwrap();
    let queries = [Query { guard: vec![LocId(9)], ..Query::reach("R", vec![LocId(5)]) }];
    for prefer in [Prefer::Any, Prefer::FewestSteps] {
        let reduced = reduce(&Task { prefer, ..Task::new(&program, &queries) });
        assert_eq!(reduced.unreachable, [true], "{:?}", actions(&reduced));
        assert_eq!(reduced.queries[0].guard.len(), 1, "engines see it, and find no run to it");
    }
    let program = text::parse(GRAPH).unwrap();
    assert_eq!(reduce(&Task::new(&program, &queries)).unreachable, [false]);
}

#[test]
fn room_counts_the_variables_that_may_be_live() {
    let names: Vec<String> = (0..20_000).map(|at| format!("x{at}")).collect();
    let steps: Vec<String> = names.iter().map(|name| format!("{name} := 1;")).collect();
    let source = format!("void main() begin decl {}; {} assert(x0); end", names.join(", "), steps.join(" "));
    let program = postbop_front::read(source.as_bytes(), Default::default()).program.expect("a program");
    // A bit for each variable at each location is 50 million bytes, and two such tables are made.
    assert!(super::room(&Task::new(&program, &[])) > 100_000_000);
}
