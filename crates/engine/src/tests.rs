//! Room `engine`: engines on small graphs, asked as users ask and by themselves.

use crate::{
    Answer, Budget, Engine, EngineChoice, Finding, Listener, Prepared, Reordered, Report, Silent, Skeleton,
    Stats, Tick, Unsupported, Verdict, Wants, Why, engine, engines, verify,
};
use postbop_ir::{Ask, Bound, Length, LocId, Prefer, Program, Proof, Proofs, Query, Task, text};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// main calls f until g is 1, which f sets if its choice says so; l4 is behind the loop, l5 in front of a false condition.
const LOOP: &str = r#"postbop-ir 1
proc p0 "main" params 0 results ( ) entry l0 exit l1 at 0..0
proc p1 "f" params 0 results ( ) entry l2 exit l3 at 0..0
var v0 global bool "g"
loc l0 p0 at 0..0
loc l1 p0 at 0..0
loc l2 p1 at 0..0
loc l3 p1 at 0..0
loc l4 p0 at 0..0
loc l5 p0 at 0..0
loc l6 p0 at 0..0
loc l7 p1 at 0..0
edge l0 l6 at 0..0 assign v0 := false
edge l6 l6 at 0..0 call p1 ->
edge l6 l4 at 0..0 assume v0
edge l4 l5 at 0..0 assume (not v0)
edge l4 l1 at 0..0 return
edge l2 l7 at 0..0 assign v0 := (or v0 *:bool)
edge l7 l3 at 0..0 return
main p0
"#;

/// main goes on with products of two numbers until one of them is 77777, of which no engine sees the end soon.
const PRODUCTS: &str = r#"postbop-ir 1
proc p0 "main" params 0 results ( ) entry l0 exit l1 at 0..0
var v0 global uint<24> "a"
var v1 global uint<24> "b"
loc l0 p0 at 0..0
loc l1 p0 at 0..0
loc l2 p0 at 0..0
loc l3 p0 at 0..0
edge l0 l2 at 0..0 assign v0 v1 := 1:uint<24> 3:uint<24>
edge l2 l2 at 0..0 assign v0 v1 := (add:uint<24> (mul:uint<24> v0 v1) v1) (add:uint<24> v1 (mul:uint<24> v0 v0))
edge l2 l3 at 0..0 assume (eq v0 77777:uint<24>)
edge l3 l1 at 0..0 return
main p0
"#;

/// Each thread sets its own flag and is at l4, or l5, if the other one's is set already.
const TWO: &str = r#"postbop-ir 1
proc p0 "a" params 0 results ( ) entry l0 exit l1 at 0..0
proc p1 "b" params 0 results ( ) entry l2 exit l3 at 0..0
proc p2 "init" params 0 results ( ) entry l8 exit l9 at 0..0
var v0 global bool "x"
var v1 global bool "y"
loc l0 p0 at 0..0
loc l1 p0 at 0..0
loc l2 p1 at 0..0
loc l3 p1 at 0..0
loc l4 p0 at 0..0
loc l5 p1 at 0..0
loc l6 p0 at 0..0
loc l7 p1 at 0..0
loc l8 p2 at 0..0
loc l9 p2 at 0..0
loc l10 p2 at 0..0
edge l8 l10 at 0..0 assign v0 v1 := false false
edge l10 l9 at 0..0 return
edge l0 l6 at 0..0 assign v0 := true
edge l6 l4 at 0..0 assume v1
edge l4 l1 at 0..0 return
edge l2 l7 at 0..0 assign v1 := true
edge l7 l5 at 0..0 assume v0
edge l5 l3 at 0..0 return
prologue p2
thread t0 "a" p0
thread t1 "b" p1
"#;

fn ask(program: &Program, targets: &[u32], choice: EngineChoice, prefer: Prefer, bound: Bound) -> Report {
    let query = |&loc: &u32| Query::reach(format!("l{loc}"), vec![LocId(loc)]);
    let queries: Vec<Query> = targets.iter().map(query).collect();
    let task = Task { prefer, bound, ..Task::new(program, &queries) };
    verify(&task, choice, &Budget::unlimited(), &mut Silent)
}

fn choices() -> Vec<EngineChoice> {
    engines().iter().map(|&engine| EngineChoice::Only(engine)).chain([EngineChoice::Auto]).collect()
}

fn is_holds(answer: &Answer) -> bool {
    matches!(answer.verdict, Verdict::Holds { .. })
}

#[test]
fn every_engine_decides_the_loop() {
    let program = text::parse(LOOP).unwrap();
    for choice in choices() {
        let report = ask(&program, &[4, 5], choice, Prefer::Any, Bound::NONE);
        assert!(matches!(report.answers[0].verdict, Verdict::Violated(_)), "{:?}", report.answers[0]);
        assert!(is_holds(&report.answers[1]), "{:?}", report.answers[1]);
    }
}

#[test]
fn shortest_runs_count_the_steps_inside_calls() {
    let program = text::parse(LOOP).unwrap();
    for name in ["explicit", "summary", "auto"] {
        let choice = EngineChoice::named(name).unwrap();
        let report = ask(&program, &[4], choice, Prefer::FewestSteps, Bound::NONE);
        let Verdict::Violated(trace) = &report.answers[0].verdict else { panic!("{report:?}") };
        assert_eq!(trace.length(), Length::from(5), "{name}: g := 0, call, g := 1, return, condition");
    }
}

#[test]
fn two_jobs_give_the_answer_of_one() {
    let program = text::parse(LOOP).unwrap();
    let queries = [Query::reach("R", vec![LocId(4)]), Query::reach("never", vec![LocId(5)])];
    let with = |jobs| {
        let budget = Budget::unlimited().with_jobs(jobs);
        verify(&Task::new(&program, &queries), EngineChoice::Auto, &budget, &mut Silent).answers
    };
    assert_eq!(with(1), with(2));
}

#[test]
fn threads_are_asked_in_the_same_way() {
    let program = text::parse(TWO).unwrap();
    for choice in choices() {
        let few = ask(&program, &[4], choice, Prefer::FewestSwitches, Bound::switches(3));
        let Verdict::Violated(trace) = &few.answers[0].verdict else { panic!("{few:?}") };
        assert_eq!(trace.switches(), 1, "b sets y, then a sees it");
        let none = ask(&program, &[4], choice, Prefer::Any, Bound::switches(0));
        assert!(is_holds(&none.answers[0]), "{none:?}");
        let Verdict::Holds { within, .. } = none.answers[0].verdict else { unreachable!("it holds") };
        assert_eq!(within, Bound::switches(0), "with one switch it does not hold");
    }
}

#[test]
fn room_that_is_not_enough_is_part_of_the_verdict() {
    let full = TWO.replace("edge l8 l10", "no-room l4\nedge l8 l10");
    let program = text::parse(&full).unwrap();
    // Nothing sets y behind l3, so that l3 twice over cannot be; a run may end for want of room, at l4.
    let never = full.replace("edge l7 l5 at 0..0 assume v0", "edge l7 l5 at 0..0 assume (and v0 (not v0))");
    let never = text::parse(&never).unwrap();
    let report = ask(&never, &[5], EngineChoice::Auto, Prefer::Any, Bound::NONE);
    let Verdict::Holds { within, .. } = report.answers[0].verdict else { panic!("{report:?}") };
    assert_eq!(within.threads, Some(2));
    let report = ask(&program, &[5], EngineChoice::Auto, Prefer::Any, Bound::NONE);
    assert!(matches!(report.answers[0].verdict, Verdict::Violated(_)), "{report:?}");
}

#[test]
fn what_no_engine_does_is_refused_in_words() {
    let recur = [Query { ask: Ask::Recur(vec![LocId(6)]), ..Query::reach("again", Vec::new()) }];
    let two = text::parse(TWO).unwrap();
    let report = verify(&Task::new(&two, &recur), EngineChoice::Auto, &Budget::unlimited(), &mut Silent);
    let Verdict::Unknown(Why::Unsupported(what)) = &report.answers[0].verdict else { panic!("{report:?}") };
    assert!(what.contains("several threads"), "{what}");
    let report = ask(&two, &[4], EngineChoice::Auto, Prefer::FewestSteps, Bound::NONE);
    assert!(matches!(report.answers[0].verdict, Verdict::Unknown(Why::Unsupported(_))), "{report:?}");
}

#[test]
fn no_time_and_no_work_are_unknown_with_every_engine() {
    let (program, two) = (text::parse(LOOP).unwrap(), text::parse(TWO).unwrap());
    let queries = [Query::reach("R", vec![LocId(4)])];
    for choice in choices() {
        for program in [&program, &two] {
            let budget = Budget::unlimited().with_time(Duration::ZERO);
            let report = verify(&Task::new(program, &queries), choice, &budget, &mut Silent);
            assert!(matches!(report.answers[0].verdict, Verdict::Unknown(Why::Time(_))), "{report:?}");
        }
    }
}

/// Hears what an engine finds out about the program as it is.
#[derive(Default)]
struct Heard(Vec<(usize, Finding)>);

impl Listener for Heard {
    fn guarded(&mut self, _: usize) {}
    fn proof(&mut self, _: Proof) {}
    fn progress(&mut self, _: Tick) {}
    fn settle(&mut self, query: usize, finding: Finding) {
        self.0.push((query, finding));
    }
}

#[test]
fn an_engine_settles_each_query_once() {
    let program = text::parse(LOOP).unwrap();
    let queries = [4, 5, 4].map(|loc| Query::reach("R", vec![LocId(loc)]));
    for engine in engines() {
        let mut heard = Heard::default();
        let stats = engine.check(
            &Task::new(&program, &queries),
            &Prepared::new(&program),
            &Budget::unlimited(),
            &mut heard,
        );
        let mut settled: Vec<usize> = heard.0.iter().map(|(query, _)| *query).collect();
        settled.sort_unstable();
        assert_eq!(settled, [0, 1, 2], "{}", engine.name());
        assert!(stats.iter().count() > 0, "{}", engine.name());
    }
}

/// Hears how far an engine is, and calls it off when it has been told three times.
#[derive(Default)]
struct Ticks(Vec<u64>, Arc<AtomicBool>);

impl Listener for Ticks {
    fn guarded(&mut self, _: usize) {}
    fn proof(&mut self, _: Proof) {}
    fn progress(&mut self, tick: Tick) {
        self.0.push(tick.done);
        self.1.store(self.0.len() >= 3, Ordering::Relaxed);
    }
    fn settle(&mut self, _: usize, _: Finding) {}
}

#[test]
fn the_count_of_every_engine_moves_within_one_question() {
    let program = text::parse(PRODUCTS).unwrap();
    let queries = [Query::reach("R", vec![LocId(3)])];
    for engine in engines() {
        let mut ticks = Ticks::default();
        let budget = Budget::unlimited().with_time(Duration::from_secs(60)).with_cancel(Arc::clone(&ticks.1));
        engine.check(&Task::new(&program, &queries), &Prepared::new(&program), &budget, &mut ticks);
        let moves = ticks.0.is_sorted() && ticks.0.first() < ticks.0.last();
        assert!(ticks.0.len() >= 3 && moves, "{}: {:?}", engine.name(), ticks.0);
    }
}

/// An engine that finds runs but does not say with which values.
struct EdgesOnly;

struct WithoutValues<'l>(&'l mut dyn Listener);

impl Listener for WithoutValues<'_> {
    fn guarded(&mut self, _: usize) {}
    fn proof(&mut self, _: Proof) {}
    fn progress(&mut self, tick: Tick) {
        self.0.progress(tick);
    }
    fn settle(&mut self, query: usize, finding: Finding) {
        let finding = match finding {
            Finding::Reached(trace) => Finding::Along(Skeleton::of(&trace)),
            finding => finding,
        };
        self.0.settle(query, finding);
    }
}

impl EdgesOnly {
    fn inner() -> &'static dyn Engine {
        engine("explicit").expect("it is in the list")
    }
}

impl Engine for EdgesOnly {
    fn name(&self) -> &'static str {
        "edges only"
    }
    fn wants(&self) -> Wants {
        EdgesOnly::inner().wants()
    }
    fn supports(&self, task: &Task) -> Result<(), Unsupported> {
        EdgesOnly::inner().supports(task)
    }
    fn check(&self, task: &Task, prepared: &Prepared, budget: &Budget, listener: &mut dyn Listener) -> Stats {
        EdgesOnly::inner().check(task, prepared, budget, &mut WithoutValues(listener))
    }
}

#[test]
fn an_engine_without_values_gets_a_trace() {
    let program = text::parse(LOOP).unwrap();
    let queries = [Query::reach("behind", vec![LocId(4)]), Query::reach("never", vec![LocId(5)])];
    let task = Task::new(&program, &queries);
    let report = verify(&task, EngineChoice::Only(&EdgesOnly), &Budget::unlimited(), &mut Silent);
    let [behind, never] = &report.answers[..] else { panic!("two queries") };
    assert!(matches!(behind.verdict, Verdict::Violated(_)), "{behind:?}");
    assert!(matches!(never.verdict, Verdict::Holds { .. }), "{never:?}");
    assert_eq!(behind.engine, "edges only");
}

#[test]
fn new_values_meet_the_guard_before_they_are_forgotten() {
    let source = include_bytes!("../../../tests/cases/constrain/new_values_of_no_later_use.bp");
    let program = postbop_front::read(source, Default::default()).program.expect("a program");
    let error = program.labels().iter().find(|label| label.name == "ERR").expect("it is there");
    let queries = [Query::reach("ERR", vec![error.loc])];
    // This engine takes every relation apart.
    let apart = EngineChoice::Only(&Reordered(3));
    let report = verify(&Task::new(&program, &queries), apart, &Budget::unlimited(), &mut Silent);
    assert!(matches!(report.answers[0].verdict, Verdict::Violated(_)), "{:?}", report.answers[0]);
}

/// Each of 40 procedures calls the next one twice and in between rotates some globals; the last one makes one of them arbitrary.
/// At the end main is at l2.
fn doubling() -> Program {
    const GLOBALS: u32 = 5;
    let count = 40;
    let mut lines = vec!["postbop-ir 1".to_string()];
    for proc in 0..count {
        let (name, first) = (if proc == 0 { "main".into() } else { format!("p{proc}") }, 5 * proc);
        lines.push(format!(
            "proc p{proc} \"{name}\" params 0 results ( ) entry l{first} exit l{} at 0..0",
            first + 1
        ));
    }
    lines.extend((0..GLOBALS).map(|var| format!("var v{var} global bool \"g{var}\"")));
    lines.extend((0..5 * count).map(|loc| format!("loc l{loc} p{} at 0..0", loc / 5)));
    for proc in 0..count {
        let [entry, exit, end, one, two] = [0, 1, 2, 3, 4].map(|place| 5 * proc + place);
        let next = proc + 1;
        if next < count {
            lines.push(format!("edge l{entry} l{one} at 0..0 call p{next} ->"));
            let moved: Vec<String> = (1..=GLOBALS).map(|var| format!("v{}", var % GLOBALS)).collect();
            let all: Vec<String> = (0..GLOBALS).map(|var| format!("v{var}")).collect();
            lines.push(format!("edge l{one} l{two} at 0..0 assign {} := {}", all.join(" "), moved.join(" ")));
            lines.push(format!("edge l{two} l{end} at 0..0 call p{next} ->"));
        } else {
            lines.push(format!("edge l{entry} l{end} at 0..0 assign v0 := (or v1 *:bool)"));
        }
        lines.push(format!("edge l{end} l{exit} at 0..0 return"));
    }
    lines.push("main p0\n".into());
    text::parse(&lines.join("\n")).unwrap()
}

thread_local! {
    /// How often a limit is asked about before it strikes.
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

/// Nothing is used until the limit was asked about often enough, and then too much.
fn used() -> u64 {
    let left = ASKED.get();
    ASKED.set(left.saturating_sub(1));
    if left == 0 { u64::MAX } else { 0 }
}

#[test]
fn memory_may_be_used_up_at_any_time() {
    let program = doubling();
    let queries = [Query::reach("end", vec![LocId(2)])];
    for &engine in engines() {
        let mut struck = 0;
        for at in (0..).map(|round: u64| round + round * round / 8) {
            ASKED.set(at);
            let budget = Budget::unlimited().with_memory(1 << 30, used);
            let task = Task::new(&program, &queries);
            let report = verify(&task, EngineChoice::Only(engine), &budget, &mut Silent);
            match &report.answers[0].verdict {
                Verdict::Violated(_) => break,
                Verdict::Unknown(Why::Memory(_)) => struck += 1,
                other => panic!("{}, struck when asked for the {at}th time: {other:?}", engine.name()),
            }
        }
        assert!(struck > 1, "{}: the limit struck {struck} times", engine.name());
    }
}

#[test]
fn functions_are_put_into_solvers_only_where_there_is_room() {
    // Little text, and so little room for the program; but each sum is some hundred nodes.
    let sums = "x := x + y; y := y - x;".repeat(25);
    let source = format!("decl uint<63> x, y; void main() begin {sums} assert(x = 0); end");
    let reading = postbop_front::read(source.as_bytes(), Default::default());
    let program = reading.program.expect("a program");
    let queries = postbop_front::properties(&program, &reading.text);
    // What is used is never too much: the limit can only strike where an engine asks for room before it takes it.
    let answer = |limit| {
        let budget = Budget::unlimited().with_memory(limit, || 0);
        let engine = engine("sat:qbf").expect("it is in the list");
        let report = verify(&Task::new(&program, &queries), EngineChoice::Only(engine), &budget, &mut Silent);
        report.answers.into_iter().next().expect("an answer").verdict
    };
    assert!(matches!(answer(1 << 30), Verdict::Violated(_)));
    let little = answer(1 << 21);
    assert!(matches!(little, Verdict::Unknown(Why::Memory(_))), "{little:?}");
}

/// An engine that says that everything holds, and makes a proof of it: sets of everything, but nothing at the targets.
struct Liar;

impl Engine for Liar {
    fn name(&self) -> &'static str {
        "liar"
    }
    fn wants(&self) -> Wants {
        engine("summary").expect("it is in the list").wants()
    }
    fn supports(&self, _: &Task) -> Result<(), Unsupported> {
        Ok(())
    }
    fn check(&self, task: &Task, _: &Prepared, _: &Budget, listener: &mut dyn Listener) -> Stats {
        if task.proofs != Proofs::Unwanted {
            let mut proof = Proof::trivial(task.program);
            let targets = task.queries.iter().flat_map(|query| query.locs());
            targets.for_each(|&loc| proof.sets[loc] = Some(postbop_ir::proof::Ref::FALSE));
            listener.proof(proof);
        }
        (0..task.queries.len()).for_each(|query| listener.settle(query, Finding::Holds { guarded: None }));
        Stats::default()
    }
}

#[test]
fn a_bug_that_was_planted_is_caught() {
    let program = text::parse(LOOP).unwrap();
    let queries = [Query::reach("R", vec![LocId(4)])];
    for (proofs, caught) in [(Proofs::Unwanted, false), (Proofs::Cheap, true), (Proofs::Kept, true)] {
        let task = Task { proofs, ..Task::new(&program, &queries) };
        let report = verify(&task, EngineChoice::Only(&Liar), &Budget::unlimited(), &mut Silent);
        let bug = matches!(&report.answers[0].verdict, Verdict::Unknown(Why::EngineBug(_)));
        assert_eq!(bug, caught, "{report:?}");
    }
    // The same about threads, by their translation: l4 is reached with one switch.
    let (program, queries) = (text::parse(TWO).unwrap(), [Query::reach("R", vec![LocId(4)])]);
    for (proofs, caught) in [(Proofs::Unwanted, false), (Proofs::Kept, true)] {
        let task = Task { proofs, bound: Bound::switches(1), ..Task::new(&program, &queries) };
        let report = verify(&task, EngineChoice::Only(&Liar), &Budget::unlimited(), &mut Silent);
        let bug = matches!(&report.answers[0].verdict, Verdict::Unknown(Why::EngineBug(_)));
        assert_eq!(bug, caught, "{report:?}");
    }
}

#[test]
fn of_threads_the_proof_of_the_translation_is_checked() {
    let program = text::parse(TWO).unwrap();
    let queries = [Query::reach("R", vec![LocId(4)])];
    // Without a switch neither thread sees what the other one did.
    let bound = Bound::switches(0);
    let task = Task { proofs: Proofs::Kept, bound, ..Task::new(&program, &queries) };
    for name in ["summary", "explicit", "sat"] {
        let choice = EngineChoice::Only(engine(name).expect("it is in the list"));
        let answer = verify(&task, choice, &Budget::unlimited(), &mut Silent).answers.remove(0);
        assert!(matches!(answer.verdict, Verdict::Holds { within, proof: None } if within == bound));
        assert!(answer.checked_translation && !answer.checked, "{name}: {answer:?}");
    }
    // A property of all runs, of which there is a product.
    let never = TWO.replace("assume v1", "assume (and v1 (not v1))");
    let program = text::parse(&never).unwrap();
    let task = Task { proofs: Proofs::Kept, ..Task::new(&program, &queries) };
    let answer = verify(&task, EngineChoice::Auto, &Budget::unlimited(), &mut Silent).answers.remove(0);
    assert!(is_holds(&answer) && answer.checked_translation && !answer.checked, "{answer:?}");
    // Beside one that is violated: the product shows the first, and what it leaves open is answered by other means.
    let queries = [LocId(4), LocId(5)].map(|loc| Query::reach(loc.to_string(), vec![loc]));
    let task = Task { proofs: Proofs::Kept, ..Task::new(&program, &queries) };
    let answers = verify(&task, EngineChoice::Auto, &Budget::unlimited(), &mut Silent).answers;
    assert!(is_holds(&answers[0]) && answers[0].checked_translation, "{answers:?}");
    assert!(matches!(answers[1].verdict, Verdict::Violated(_)), "{answers:?}");
}

#[test]
fn what_the_liar_says_is_wrong() {
    let program = text::parse(LOOP).unwrap();
    let queries = [Query::reach("R", vec![LocId(4)])];
    let report =
        verify(&Task::new(&program, &queries), EngineChoice::Auto, &Budget::unlimited(), &mut Silent);
    assert!(matches!(report.answers[0].verdict, Verdict::Violated(_)), "{report:?}");
}
