//! Formulas, monitors and automata about runs that go on for ever, as the command line takes them.

use crate::common::{engine_names, postbop, root, scratch};
use serde_json::Value;

/// A lock that is taken, perhaps kept for ever in a loop or in a recursion, and released.
const LOCK: &str = "decl locked;
void main() begin
  locked := 0;
  while (*) do
    acquire();
    if (*) then work(); fi
    release();
  od
end
void acquire() begin locked := 1; end
void work() begin
  while (*) do skip; od
  if (*) then work(); fi
end
void release() begin REL: locked := 0; end
";

/// One run: A, then L and M in turns, for ever.
const ONE_RUN: &str = "void main() begin
  A: skip;
  while (1) do
    L: skip;
    M: step();
  od
end
void step() begin S: skip; end
";

/// One run, which ends.
const ENDS: &str = "void main() begin A: skip; B: f(); end\nvoid f() begin C: skip; end\n";

/// Whether a formula holds, as every engine says.
fn holds(program: &str, formula: &str) -> bool {
    let name = format!("liveness-{}.bp", program.len());
    let file = scratch(&name, program);
    let file = file.to_str().unwrap();
    let verdict = |engine: &str| {
        let ran = postbop(&["check", file, "--ltl", formula, "--engine", engine]);
        match ran.last() {
            "VERDICT: holds" => true,
            "VERDICT: violated" => false,
            other => panic!("{engine}: {formula}: {other}\n{}", ran.err),
        }
    };
    let first = verdict("auto");
    for engine in engine_names() {
        assert_eq!(verdict(engine), first, "{engine} and auto differ on {formula}");
    }
    first
}

#[test]
fn formulas_hold_or_do_not() {
    for formula in [
        "G (call acquire -> X !call acquire)",
        "G (in release -> F !locked)",
        "!G F in work -> X G (locked -> F !locked)",
        "G (REL -> in release)",
        "G (return work -> in work)",
    ] {
        assert!(holds(LOCK, formula), "{formula}");
    }
    for formula in [
        "G (locked -> F !locked)",
        "X G !locked",
        "G (call acquire -> F call release)",
        "F REL",
        "G F locked -> G F REL",
    ] {
        assert!(!holds(LOCK, formula), "{formula}");
    }
}

#[test]
fn a_finished_run_stays_where_it_is() {
    for formula in ["F B", "F C", "F (B && X G !B)", "F G !C", "G (C -> in f)", "F G in main"] {
        assert!(holds(ENDS, formula), "{formula}");
    }
    for formula in ["G F B", "G F C", "F G in f", "F (call f && X G in f)"] {
        assert!(!holds(ENDS, formula), "{formula}");
    }
}

/// Of a program with one run a formula holds exactly if its negation does not.
#[test]
fn a_formula_or_its_negation_holds_of_one_run() {
    let formulas = [
        "F L",
        "G F L",
        "F G L",
        "G L",
        "A U L",
        "L U M",
        "X L",
        "X X L",
        "L R !M",
        "!M W L",
        "L M !M",
        "G (L -> X M)",
        "G (M -> F L)",
        "G F (in step) && F A",
        "F (L && X X X X L)",
        "A -> X (L && F S)",
    ];
    let mut held = 0;
    for formula in formulas {
        let positive = holds(ONE_RUN, formula);
        assert_ne!(positive, holds(ONE_RUN, &format!("!({formula})")), "{formula}");
        held += usize::from(positive);
    }
    assert!((4..formulas.len() - 2).contains(&held), "both answers are given: {held}");
    assert!(holds(ONE_RUN, "F (A && F S)") && !holds(ONE_RUN, "F G L"));
}

#[test]
fn monitors_and_automata_of_other_tools_watch_runs() {
    let twice = "decl a;\nvoid main() begin\n  acquire();\n  if (*) then release(); fi\n  acquire();\nend\nvoid acquire() begin skip; end\nvoid release() begin skip; end\n";
    let once = twice.replace("if (*) then release(); fi", "release();");
    let monitor = "state free init, held;\nstate broken target;\nfree -> held call acquire;\nheld -> free call release;\nheld -> broken call acquire;\n";
    let monitor = scratch("twice.monitor", monitor);
    let never = "HOA: v1\nStates: 2\nStart: 0\nAP: 1 \"call release\"\nAcceptance: 1 Inf(0)\n--BODY--\nState: 0 [t] 0  [!0] 1\nState: 1 {0} [!0] 1\n--END--\n";
    let never = scratch("never.hoa", never);
    for engine in engine_names() {
        for (program, status) in [(twice, 1), (once.as_str(), 0)] {
            let file = scratch("monitored.bp", program);
            let args =
                ["check", file.to_str().unwrap(), "--engine", engine, "--monitor", monitor.to_str().unwrap()];
            postbop(&args).with(status);
        }
    }
    // From some point on no release is called: of every run that ends.
    let file = scratch("ends.bp", &once);
    postbop(&["check", file.to_str().unwrap(), "--monitor", never.to_str().unwrap()]).with(1);
}

#[test]
fn lassos_replay_from_their_reports() {
    let file = scratch("lasso.bp", LOCK);
    let file = file.to_str().unwrap();
    for question in [["--fair", "REL"], ["--ltl", "G (locked -> F !locked)"], ["--ltl", "G !locked"]] {
        let ran = postbop(&["check", file, question[0], question[1], "--format", "json"]).with(1);
        let report = scratch("lasso.json", &ran.out);
        postbop(&["replay", file, report.to_str().unwrap()]).with(0);
        let bent = ran.out.replacen("\"step\":", "\"step\":1", 1);
        let report = scratch("bent.json", bent);
        postbop(&["replay", file, report.to_str().unwrap()]).with(1);
    }
}

/// A run is believed to violate what its report names only if it does, completed calls and all.
#[test]
fn replay_sees_whether_a_run_violates_a_formula_or_a_monitor() {
    let program = "decl g;\nvoid main() begin\n  g := 0;\n  while (1) do f(); od\nend\nvoid f() begin L: g := !g; if (*) then M: g := !g; fi end\n";
    let file = scratch("watched.bp", program);
    let file = file.to_str().unwrap();
    let twice =
        scratch("watched.monitor", "state a init, b, c repeat;\na -> b at L;\nb -> c at M;\nc -> b at L;\n");
    let twice = twice.to_str().unwrap();
    let once = scratch("once.monitor", "state a init, b target;\na -> b at M when g;\n");
    let once = once.to_str().unwrap();
    let claims =
        [("--ltl", "ltl:", "F G !M"), ("--monitor", "monitor:", twice), ("--monitor", "monitor:", once)];
    for (option, prefix, what) in claims {
        for engine in ["explicit", "summary"] {
            let args = ["check", file, option, what, "--format", "json", "--engine", engine];
            let ran = postbop(&args).with(1);
            let report = scratch("watched.json", &ran.out);
            postbop(&["replay", file, report.to_str().unwrap()]).with(0);
            let other = ran.out.replace(&format!("\"{prefix}{what}\""), "\"ltl:F call f\"");
            assert_ne!(other, ran.out);
            let report = scratch("other.json", other);
            let again = postbop(&["replay", file, report.to_str().unwrap()]).with(1);
            assert!(again.out.contains("does not violate ltl:F call f"), "{}", again.out);
        }
    }
}

#[test]
fn mistakes_in_formulas_are_shown() {
    let file = scratch("mistakes.bp", LOCK);
    let file = file.to_str().unwrap();
    for formula in ["G (", "F nowhere", "G (locked -> F)", "call nobody"] {
        let ran = postbop(&["check", file, "--ltl", formula]).with(2);
        assert!(ran.err.contains("error[E"), "{formula}: {}", ran.err);
    }
}

/// In the spirit of VERA's experiment with a driver: the second acquisition is found after a few dozen contexts, and that every
/// lock is released is proved, however wide the integers.
#[test]
fn the_driver_takes_its_lock_twice_and_always_releases_it() {
    let source = std::fs::read_to_string(root().join("examples/driver.bp")).expect("there is an example");
    for bits in [2, 8, 16] {
        let file =
            scratch(&format!("driver-{bits}.bp"), source.replace("uint<16>", &format!("uint<{bits}>")));
        let file = file.to_str().unwrap();
        let monitor = ["--monitor", "examples/double_lock.monitor"];
        let args =
            ["check", file, monitor[0], monitor[1], "--engine", "explicit", "--format", "json", "--stats"];
        let ran = postbop(&args).with(1);
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        let contexts = report["stats"]["contexts"].as_u64().expect("it is counted");
        assert!(contexts < 60, "{contexts} contexts");
        for engine in ["sat", "summary"] {
            postbop(&["check", file, "--ltl", "G (call take -> F call give)", "--engine", engine]).with(0);
        }
    }
}

/// VERA's Fig. 6: the number of visited states does not depend on the width.
#[test]
fn the_faulty_quicksort_loops_for_ever() {
    let source = "void qs(uint<4> left, uint<4> right) begin
  decl uint<4> lo, hi;
  if (left >= right) then return; fi
  lo, hi := left, right;
  while (lo <= hi) do
    if (*) then
      assume(hi != right | lo != left);
      hi := hi - 1;
    else
      lo := lo + 1;
    fi
  od
  qs(left, hi);
  qs(lo, right);
end
void main() begin decl uint<4> left, right; qs(left, right); end
";
    let contexts = |bits: u32| {
        let file =
            scratch(&format!("quicksort-{bits}.bp"), source.replace("uint<4>", &format!("uint<{bits}>")));
        let args = [
            "check",
            file.to_str().unwrap(),
            "--terminates",
            "--engine",
            "explicit",
            "--format",
            "json",
            "--stats",
        ];
        let report: Value = serde_json::from_str(&postbop(&args).with(1).out).unwrap();
        report["stats"]["contexts"].as_u64().expect("it is counted")
    };
    let visited: Vec<u64> = [4, 8, 10, 32].map(contexts).into();
    assert!(visited.iter().all(|&count| count == visited[0] && count < 100), "{visited:?}");
}

/// Calls inside a statement of a thread are read too, and a monitor may begin in a target state.
#[test]
fn every_location_is_read_and_so_is_the_first_state() {
    let inner = "thread t begin\n  decl b[3];\n  decl uint<2> i;\n  void main() begin f(b[i]); end\n  void f(y) begin skip; end\nend\n";
    let file = scratch("inner.bp", inner);
    postbop(&["check", file.to_str().unwrap(), "--ltl", "G !call f"]).with(1);
    let file = scratch("plain.bp", "void main() begin skip; end\n");
    let monitor = scratch("first.monitor", "state s init target, t;\ns -> t;\n");
    postbop(&["check", file.to_str().unwrap(), "--monitor", monitor.to_str().unwrap()]).with(1);
}

/// An activation goes on for ever if the loop is inside it, or inside what it calls; not if it has returned before.
#[test]
fn activations_that_never_return() {
    let source = "decl g;
void main() begin
  before();
  f(g);
  while (1) do skip; od
end
void before() begin skip; end
void f(x) begin if (x) then h(); fi end
void h() begin decl y; if (y) then h(); fi end
void uncalled() begin while (1) do skip; od end
";
    let file = scratch("activations.bp", source);
    let file = file.to_str().unwrap();
    for engine in engine_names() {
        for (proc, status) in [("main", 1), ("before", 0), ("f", 1), ("h", 1), ("uncalled", 0)] {
            postbop(&["check", file, "--terminates", proc, "--engine", engine]).with(status);
        }
    }
    let ends = scratch("activations-end.bp", source.replace("if (y)", "if (0)"));
    let ran = postbop(&["check", ends.to_str().unwrap(), "--terminates=f", "--terminates"]);
    ran.with(2);
    postbop(&["check", ends.to_str().unwrap(), "--terminates", "f"]).with(0);
    let ran = postbop(&["check", file, "--terminates", "nowhere"]).with(2);
    assert!(ran.err.contains("there is no procedure `nowhere`"), "{}", ran.err);
    let ran = postbop(&["check", "--terminates", file]).with(2);
    assert!(ran.err.contains("name the program first"), "{}", ran.err);
}
