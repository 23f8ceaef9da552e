//! Room `ir`: tests of replay on small graphs.

use super::*;
use crate::ids::{EdgeId, LocId, ProcId, ThreadId, VarId};
use crate::text::parse;
use crate::trace::{Context, Known, Position, Repeat, Step};
use crate::value::Value;

/// Thread a calls f, which stores its parameter in x and gives back its local; then a needs y. Thread b sets y where x
/// is set, in two steps of one statement. `init` clears x, y and busy.
const TWO: &str = r#"postbop-ir 1
proc p0 "init" params 0 results ( ) entry l0 exit l1 at 0..0
proc p1 "a" params 0 results ( ) entry l2 exit l3 at 0..0
proc p2 "b" params 0 results ( ) entry l4 exit l5 at 0..0
proc p3 "f" params 1 results ( bool ) entry l6 exit l7 at 0..0
var v0 global bool "x"
var v1 global bool "y"
var v2 global bool "busy"
var v3 p1 bool "l"
var v4 p3 bool "n"
var v5 p3 bool "m"
loc l0 p0 at 0..0
loc l1 p0 at 0..0
loc l2 p1 at 0..0
loc l3 p1 at 0..0
loc l4 p2 at 0..0
loc l5 p2 at 0..0
loc l6 p3 at 0..0
loc l7 p3 at 0..0
loc l8 p0 at 0..0
loc l9 p1 at 0..0
loc l10 p1 at 0..0
loc l11 p2 at 0..0 inner
loc l12 p2 at 0..0
loc l13 p3 at 0..0
edge l0 l8 at 0..0 assign v0 v1 v2 := false false false
edge l8 l1 at 0..0 return
edge l2 l9 at 0..0 call p3 (or v3 *:bool) -> v3
edge l9 l10 at 0..0 assume (and v1 v3)
edge l10 l3 at 0..0 return
edge l4 l11 at 0..0 assume v0
edge l11 l12 at 0..0 assign v1 := true
edge l12 l5 at 0..0 return
edge l6 l13 at 0..0 assign v0 := v4
edge l13 l7 at 0..0 return v5
prologue p0
atomic v2
thread t0 "a" p1
thread t1 "b" p2
"#;

const ONE: Option<Value> = Some(Value::TRUE);

fn step(edge: u32, choices: &[Option<i64>]) -> Step {
    Step::new(EdgeId(edge), choices.iter().map(|choice| choice.map(Value::new)).collect())
}

fn known(var: u32, number: i64) -> (VarId, Value) {
    (VarId(var), Value::new(number))
}

fn context(thread: u32, steps: Vec<Step>) -> Context {
    Context { thread: Some(ThreadId(thread)), steps }
}

/// a is left inside f, b runs, a comes back from f and goes on.
fn trace() -> Trace {
    Trace {
        contexts: vec![
            Context { thread: None, steps: vec![step(0, &[]), step(1, &[])] },
            context(0, vec![step(2, &[Some(1)]).entering(vec![known(5, 1)]), step(8, &[])]),
            context(1, vec![step(5, &[]), step(6, &[])]),
            context(0, vec![step(9, &[]), step(3, &[])]),
        ],
        ..Trace::default()
    }
}

fn replays(text: &str, trace: &Trace) -> Result<(), String> {
    let program = parse(text).unwrap();
    replay(&program, trace, &Ask::Reach(vec![LocId(10)])).map_err(|rejected| rejected.reason)
}

fn rejected(change: impl FnOnce(&mut Trace)) -> String {
    let mut changed = trace();
    change(&mut changed);
    replays(TWO, &changed).unwrap_err()
}

#[test]
fn a_run_is_accepted() {
    assert_eq!(replays(TWO, &trace()), Ok(()));
    assert_eq!((trace().switches(), trace().rounds()), (2, 2));
    let (program, trace) = (parse(TWO).unwrap(), trace());
    let changes = changes(&program, &trace).unwrap();
    assert_eq!(changes.contexts[0].of(0).len(), 3);
    let in_a = &changes.contexts[1];
    assert_eq!(in_a.of(0), [(VarId(4), ONE), (VarId(5), ONE)], "n and m");
    assert_eq!(in_a.of(1), [(VarId(0), ONE)], "x");
    assert_eq!(changes.contexts[3].of(0), [(VarId(3), ONE)], "what f gives back");
}

#[test]
fn a_completed_call_may_be_a_segment() {
    let mut trace = trace();
    let steps = vec![step(8, &[]), step(9, &[])];
    trace.segments.push(Segment::new(ProcId(3), vec![known(5, 1)], steps));
    trace.contexts[1].steps = vec![step(2, &[Some(1)]).back(SegmentId(0))];
    trace.contexts[3].steps.remove(0);
    assert!(replays(TWO, &trace).unwrap_err().contains("does not end as the run does"));
    complete(&parse(TWO).unwrap(), &mut trace, &Ask::Reach(vec![LocId(10)]), &mut || true).unwrap();
    assert_eq!(trace.segments[SegmentId(0)].results, [ONE]);
    assert_eq!(replays(TWO, &trace), Ok(()));
}

/// A call of f with this choice and this value of its local.
fn call(choice: Option<i64>, local: Option<i64>) -> Step {
    step(2, &[choice]).entering(local.map(|number| known(5, number)).into_iter().collect())
}

#[test]
fn what_is_no_run_is_rejected() {
    assert!(rejected(|t| drop(t.contexts[0].steps.pop())).contains("before the prologue has ended"));
    assert!(rejected(|t| drop(t.contexts.remove(0))).contains("before the prologue"));
    assert!(rejected(|t| t.contexts.swap(0, 1)).contains("before the prologue"));
    assert!(rejected(|t| drop(t.contexts.remove(2))).contains("the same thread"));
    assert!(rejected(|t| drop(t.contexts.remove(1))).contains("condition is false"), "x is 0");
    assert!(rejected(|t| drop(t.contexts[2].steps.pop())).contains("within a statement"));
    assert!(rejected(|t| drop(t.contexts[3].steps.pop())).contains("not a target"));
    assert!(rejected(|t| t.contexts[1].steps[0] = call(Some(1), None)).contains("leaves open"), "m is l");
    assert!(rejected(|t| t.contexts[1].steps[0] = call(Some(1), Some(0))).contains("is false"));
    assert!(rejected(|t| t.contexts[1].steps[0] = call(None, Some(1))).contains("leaves open"));
    assert!(rejected(|t| t.contexts[1].steps[0] = call(Some(1), Some(2))).contains("not a value of bool"));
    assert!(rejected(|t| t.contexts[1].steps[0] = step(2, &[Some(1), Some(1)])).contains("1 choices"));
    let passed = |t: &mut Trace| t.contexts[1].steps[0] = call(Some(1), None).entering(vec![known(4, 1)]);
    assert!(rejected(passed).contains("passes"), "n is a parameter");
    let nowhere = |t: &mut Trace| t.contexts[2].steps[0] = step(5, &[]).entering(vec![known(5, 1)]);
    assert!(rejected(nowhere).contains("enters no procedure"));
    assert!(rejected(|t| t.contexts[2].thread = Some(ThreadId(7))).contains("no such thread"));
    assert!(rejected(|t| t.initial.push(known(4, 1))).contains("not there at the start"));
    assert!(rejected(|t| t.contexts.clear()).contains("no context"));
    assert!(rejected(|t| t.contexts[3].steps.push(step(3, &[]))).contains("leaves l9"));
    assert!(
        rejected(|t| t.repeats = Some(Repeat { from: Position { context: 1, step: 0 }, head: Known::new() }))
            .contains("for ever")
    );
    let ended = |t: &mut Trace| t.contexts[2].steps.extend([step(7, &[]), step(7, &[])]);
    assert!(rejected(ended).contains("ended"));
}

#[test]
fn a_replay_can_be_interrupted() {
    let mut long = trace();
    let around = std::iter::repeat_n(step(10, &[]), 10_000);
    long.contexts[3].steps.splice(0..0, around);
    let text = TWO.replace("prologue p0", "edge l13 l13 at 0..0 assume true\nprologue p0");
    let program = parse(&text).unwrap();
    assert!(complete(&program, &mut long, &Ask::Reach(vec![LocId(10)]), &mut || true).is_ok());
    assert!(complete(&program, &mut long, &Ask::Reach(vec![LocId(10)]), &mut || false).is_err());
}

#[test]
fn an_atomic_section_is_not_left_and_an_open_one_neither() {
    let busy = TWO.replace("v0 v1 v2 := false false false", "v0 v1 v2 := false false true");
    assert!(replays(&busy, &trace()).unwrap_err().contains("atomic section"));
    let open = TWO.replace("v0 v1 v2 := false false false", "v0 v1 := false false");
    assert!(replays(&open, &trace()).unwrap_err().contains("not known to be 0"));
    let mut settled = trace();
    settled.initial.push(known(2, 0));
    assert_eq!(replays(&open, &settled), Ok(()));
    // b may be left when it has ended, whatever else is true.
    let late = open.replace("edge l12 l5", "edge l12 l12 at 0..0 assign v2 := true\nedge l12 l5");
    let mut late_trace = settled.clone();
    late_trace.contexts[2].steps.extend([step(7, &[]), step(8, &[])]);
    late_trace.contexts[1].steps[1].edge = EdgeId(9);
    late_trace.contexts[3].steps[0].edge = EdgeId(10);
    assert_eq!(replays(&late, &late_trace), Ok(()));
    late_trace.contexts[2].steps.pop();
    assert!(replays(&late, &late_trace).unwrap_err().contains("atomic section"));
}

/// main calls f, which calls itself after it has cleared x; x must be set.
const ENDLESS: &str = r#"postbop-ir 1
proc p0 "main" params 0 results ( ) entry l0 exit l1 at 0..0
proc p1 "f" params 1 results ( ) entry l2 exit l3 at 0..0
var v0 global bool "x"
var v1 p1 bool "n"
loc l0 p0 at 0..0
loc l1 p0 at 0..0
loc l2 p1 at 0..0
loc l3 p1 at 0..0
loc l4 p0 at 0..0
loc l5 p1 at 0..0
loc l6 p1 at 0..0
loc l7 p1 at 0..0
edge l0 l4 at 0..0 call p1 true ->
edge l4 l1 at 0..0 return
edge l2 l5 at 0..0 assume v0
edge l5 l6 at 0..0 assign v0 := *:bool
edge l6 l7 at 0..0 call p1 (not v1) ->
edge l7 l3 at 0..0 return
thread t0 "main" p0
"#;

/// From f's entry to its entry in the next activation, after so many steps before.
fn endless(head: Known) -> Trace {
    let steps = vec![step(0, &[]), step(2, &[]), step(3, &[Some(1)]), step(4, &[])];
    let repeats = Some(Repeat { from: Position { context: 0, step: 1 }, head });
    Trace { repeats, ..Trace::sequential(Table::new(), vec![known(0, 1)], steps) }
}

#[test]
fn a_run_that_comes_back_to_its_head_is_accepted() {
    let program = parse(ENDLESS).unwrap();
    let again = |loc: u32, trace: &Trace| replay(&program, trace, &Ask::Recur(vec![LocId(loc)]));
    let reason = |loc, trace: &Trace| again(loc, trace).unwrap_err().reason;
    assert_eq!(again(6, &endless(vec![known(0, 1)])), Ok(()));
    assert!(reason(7, &endless(vec![known(0, 1)])).contains("visit none"), "f never comes back");
    assert!(reason(6, &endless(vec![])).contains("leaves open"), "x matters");
    let with_n = endless(vec![known(0, 1), known(1, 1)]);
    assert!(reason(6, &with_n).contains("v1 = 1"), "n is another one in the next activation");
    let mut other = endless(vec![known(0, 1)]);
    other.contexts[0].steps[2] = step(3, &[Some(0)]);
    assert!(reason(6, &other).contains("v0 = 1"), "x is cleared");
    let mut shorter = endless(vec![known(0, 1)]);
    shorter.contexts[0].steps.pop();
    assert!(reason(6, &shorter).contains("ends at l6"));
    let mut nothing = endless(vec![known(0, 1)]);
    nothing.contexts[0].steps.truncate(1);
    assert!(reason(6, &nothing).contains("repeats no step"));
    let finite = Trace { repeats: None, ..endless(vec![]) };
    assert!(reason(6, &finite).contains("does not go on for ever"));
    let reach = replay(&program, &endless(vec![known(0, 1)]), &Ask::Reach(vec![LocId(2)]));
    assert!(reach.unwrap_err().reason.contains("goes on for ever"));
}

#[test]
fn the_activation_that_repeats_itself_may_not_return() {
    let text = ENDLESS.replace("edge l7 l3", "edge l2 l6 at 0..0 assume true\nedge l5 l3 at 0..0 return\nedge l4 l0 at 0..0 assume true\nedge l7 l3");
    let program = parse(&text).unwrap();
    // From inside f back to main and into f again: the activation at the head is gone.
    let steps = vec![step(0, &[]), step(2, &[]), step(6, &[]), step(7, &[]), step(0, &[]), step(2, &[])];
    let repeats = Some(Repeat { from: Position { context: 0, step: 2 }, head: vec![known(0, 1)] });
    let trace = Trace { repeats, ..Trace::sequential(Table::new(), vec![known(0, 1)], steps) };
    let rejected = replay(&program, &trace, &Ask::Recur(vec![LocId(5)])).unwrap_err();
    assert!(rejected.reason.contains("returns from the activation"), "{rejected}");
}
