//! Room `front`: programs with threads mean what they should, by the oracle that tries all interleavings.

use crate::common::{corpus, program};
use postbop_front::{Options, read};
use postbop_ir::Schedule;
use postbop_ir::oracle_threads::{Answer, Limits, interleave};
use postbop_ir::{LocId, Program};

const LIMITS: Limits = Limits { configurations: 2_000_000, depth: 6 };

fn labelled(program: &Program, name: &str) -> Vec<LocId> {
    program.labels().iter().filter(|label| label.name == name).map(|label| label.loc).collect()
}

fn checks(program: &Program) -> Vec<LocId> {
    program.checks().iter().map(|check| check.loc).collect()
}

/// The least number of switches, of at most 4, to a label.
fn least(source: &str, label: &str) -> Answer {
    let program = program(source);
    interleave(&program, Schedule::Switches(4), LIMITS).at(&labelled(&program, label))
}

#[test]
fn blocks() {
    let handshake = "decl x := F, y := F;
        thread begin void main() begin x := T; assume(y); L: y := F; assume(y); M: skip; end end
        thread begin void main() begin assume(x); y := T; assume(!y); y := T; end end";
    assert_eq!(least(handshake, "L"), Answer::Reached(2));
    assert_eq!(least(handshake, "M"), Answer::Reached(4));
    let never = handshake.replace("assume(!y); y := T;", "");
    assert_eq!(least(&never, "M"), Answer::Never);
}

#[test]
fn calls_can_be_interrupted_and_atomic_sections_cannot() {
    let source = "decl x := F;
        thread begin void main() begin f(); end void f() begin atomic_begin; x := T; x := F; atomic_end; end end
        thread begin void main() begin assume(x); L: skip; end end";
    assert_eq!(least(source, "L"), Answer::Never);
    let open = source.replace("atomic_begin;", "skip;").replace("atomic_end;", "skip;");
    assert_eq!(least(&open, "L"), Answer::Reached(1));
}

#[test]
fn a_started_thread_has_the_values_of_its_starter() {
    // l is 1 when the thread starts, whatever the starter does to it later.
    let source =
        "decl g := F; void main() begin decl l; l := T; start_thread goto L; l := F; g := T; end_thread;
        L: assume(g); if (l) then YES: skip; else NO: skip; fi end_thread; end";
    assert_eq!(least(source, "YES"), Answer::Reached(1));
    assert_eq!(least(source, "NO"), Answer::Never);
    let local = source.replace(
        "decl g := F; void main() begin decl l;",
        "decl g := F; decl thread_local l; void main() begin",
    );
    assert_eq!(least(&local, "YES"), Answer::Reached(1));
    assert_eq!(least(&local, "NO"), Answer::Never);
    let shared =
        source.replace("decl g := F; void main() begin decl l;", "decl g := F; decl l; void main() begin");
    assert_eq!(least(&shared, "NO"), Answer::Reached(1));
    let argument = "decl g := F; void f(x) begin assume(g); if (x) then YES: skip; else NO: skip; fi end
        void main() begin decl l; l := T; ASYNC_1: f(l); l := F; g := T; end";
    assert_eq!(least(argument, "YES"), Answer::Reached(1));
    assert_eq!(least(argument, "NO"), Answer::Never);
}

/// Where there is no room for another thread.
const NO_ROOM: &str = "no room";

#[test]
fn the_limit_of_threads_can_be_asked_about() {
    let source = "decl a := F; void f() begin a := T; end
        void main() begin ASYNC_1: f(); ASYNC_2: f(); OVER: skip; end";
    let ask = |threads: usize, label: &str| {
        let program =
            read(source.as_bytes(), Options { threads, ..Options::default() }).program.expect("no errors");
        let locs = if label == NO_ROOM { program.no_room().to_vec() } else { labelled(&program, label) };
        interleave(&program, Schedule::Switches(2), LIMITS).at(&locs)
    };
    assert_eq!(ask(3, NO_ROOM), Answer::Never);
    assert_eq!(ask(3, "OVER"), Answer::Reached(0));
    assert_eq!(ask(2, NO_ROOM), Answer::Reached(0));
    assert_eq!(ask(2, "OVER"), Answer::Never);
    assert_eq!(ask(1, NO_ROOM), Answer::Reached(0));
}

#[test]
fn a_failed_assertion_ends_the_run() {
    let source = "decl x := F;
        thread begin void main() begin x := T; assert(F); end end
        thread begin void main() begin assume(x); L: skip; end end";
    assert_eq!(least(source, "L"), Answer::Reached(1), "left before the assertion");
    let source = source.replace("x := T; assert(F);", "atomic_begin; x := T; assert(F); atomic_end;");
    assert_eq!(least(&source, "L"), Answer::Never);
}

/// Small programs of others, with the verdicts that others found. Of those that are violated we know the least number
/// of switches by looking at them.
#[test]
fn programs_of_others() {
    let expected = [
        ("Threads1/main.bp", Answer::Reached(1)),
        ("Threads2/main.bp", Answer::Reached(2)),
        ("Threads3/main.bp", Answer::Reached(2)),
        ("Threads4/main.bp", Answer::Never),
        ("n-conc/n-conc.bp", Answer::Reached(3)),
        ("p-peterson/p-peterson.bp", Answer::Never),
        ("testFunctionCall.bp", Answer::Reached(0)),
        ("regression/testGetafixAtomic.bp", Answer::Never),
        ("bluetooth_1a1s.bp", Answer::Never),
    ];
    for file in corpus() {
        let Some((_, answer)) = expected.iter().find(|(name, _)| file.ends_with(name)) else { continue };
        let reading = read(&std::fs::read(&file).expect("a file"), Options::default());
        let program = reading.program.expect("no errors");
        let targets = [labelled(&program, "SLIC_ERROR"), checks(&program)].concat();
        let found = interleave(&program, Schedule::Switches(3), LIMITS).at(&targets);
        assert_eq!(found, *answer, "{}", file.display());
    }
}
