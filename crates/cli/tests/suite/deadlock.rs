//! Runs that get stuck, as the command line tells them.

use crate::common::{postbop, scratch};
use serde_json::Value;

/// Dining philosophers: each takes a fork, then another, and gives them back. In the good version the last one takes them in the
/// other order.
fn philosophers(count: usize, good: bool) -> String {
    let forks: Vec<String> = (0..count).map(|fork| format!("f{fork}")).collect();
    let cleared: String = forks.iter().map(|fork| format!(" {fork} := 0;")).collect();
    let mut source = format!("decl {};\nvoid init() begin{cleared} end\n", forks.join(", "));
    for seat in 0..count {
        let (mut one, mut other) = (&forks[seat], &forks[(seat + 1) % count]);
        if good && seat + 1 == count {
            std::mem::swap(&mut one, &mut other);
        }
        source += &format!(
            "void thread{seat}() begin\n  while (*) do\n    {one} := 1 constrain !{one};\n    {other} := 1 constrain !{other};\n    {one} := 0;\n    {other} := 0;\n  od\nend\n"
        );
    }
    source
}

/// The exit status and the report for a program that is asked about deadlocks.
fn asked(name: &str, source: &str, options: &[&str]) -> (i32, String) {
    let file = scratch(name, source);
    let ran = postbop(&[&["check", file.to_str().unwrap(), "--deadlock"][..], options].concat());
    (ran.status.expect("no signal ended it"), ran.out)
}

#[test]
fn philosophers_starve_unless_one_is_left_handed() {
    for count in 3..=5 {
        let (bad, good) = (philosophers(count, false), philosophers(count, true));
        let name = format!("philosophers-{count}.bp");
        let (status, told) = asked(&name, &bad, &[]);
        assert_eq!(status, 1, "{told}");
        for seat in 0..count {
            assert!(told.contains(&format!("thread{seat} waits: f{} := 1", (seat + 1) % count)), "{told}");
        }
        assert_eq!(asked(&name, &good, &[]).0, 0);
        // Each philosopher has to take a fork, so the last one needs as many switches as there are others.
        let fewest = (count - 1).to_string();
        assert!(asked(&name, &bad, &["--shortest"]).1.contains(&format!("with {fewest} context switches")));
        assert_eq!(asked(&name, &bad, &["--switches", &fewest]).0, 1);
        assert_eq!(asked(&name, &bad, &["--switches", &(count - 2).to_string()]).0, 0);
    }
}

/// The first thread never gets past its assumption, and the others can end: `weighted` went back along values of a global that nobody
/// reads any more.
#[test]
fn values_that_mean_nothing_are_not_followed_back() {
    let source = "decl g2 ;
        main() begin assume 0 end
        thread begin
          main() begin f1(1) g2 := f1(2) end
          bool f1(uint<2> n) begin if (n != 0) then f1(1 - 1) fi end
        end
        thread begin main() begin end end";
    let (status, told) = asked("followed-back.bp", source, &["--engine", "weighted", "--rounds", "2"]);
    assert_eq!(status, 1, "{told}");
}

#[test]
fn what_counts_as_stuck() {
    let cases = [
        ("void main() begin decl x; x := *; assume(x); end", 1, "a false assumption"),
        ("void main() begin decl x; assume(x | *); end", 0, "a choice lets it go on"),
        ("void main() begin decl x; x := 1; assume(x & !(x & *)); end", 0, "a choice below a negation"),
        ("void main() begin decl x; assume(x != *); end", 0, "a choice that has to be tried"),
        ("void main() begin decl x; x := * constrain ('x & x) | !'x; end", 0, "a new value fits"),
        ("void main() begin decl x; x := x constrain x & !'x; end", 1, "no new value fits"),
        ("void main() begin assert(0); end", 0, "a failed assertion ends the run"),
        ("void main() begin while (1) do skip; od end", 0, "it goes on for ever"),
        (
            "decl g := 0, atomic := 0; void init() begin skip; end
            void thread1() begin atomic := 1; assume(g); atomic := 0; end
            void thread2() begin g := 1; end",
            1,
            "the thread cannot be left in its atomic section",
        ),
        (
            "decl g := 0; void init() begin skip; end void thread1() begin assume(g); end void thread2() begin g := 1; end",
            0,
            "the other thread helps",
        ),
        (
            "decl g := 0; void init() begin skip; end void thread1() begin assume(g); end void thread2() begin g := 0; end",
            1,
            "the other thread has ended",
        ),
        (
            "decl g := 0; void main() begin if (0) then start_thread f(); fi end void f() begin assume(g); end",
            0,
            "the thread was never started",
        ),
        (
            "decl g := 0; void main() begin start_thread f(); end void f() begin assume(g); end",
            1,
            "the thread was started",
        ),
    ];
    for (source, status, why) in cases {
        let (is, told) = asked("stuck.bp", source, &["--threads", "2"]);
        assert_eq!(is, status, "{why}\n{told}");
    }
}

#[test]
fn a_report_says_who_waits_and_is_replayed() {
    let file = scratch("waiting.bp", philosophers(3, false));
    let file = file.to_str().unwrap();
    let report = postbop(&["check", file, "--deadlock", "--format", "json"]).with(1).out;
    let json: Value = serde_json::from_str(&report).unwrap();
    let waiting = json["properties"][0]["trace"]["waiting"].as_array().expect("it says who waits");
    assert_eq!(waiting.len(), 3);
    assert_eq!(waiting[0]["name"], "thread0");
    assert_eq!(waiting[0]["source"], "f1 := 1 constrain !f1");
    let kept = scratch("waiting.json", &report);
    postbop(&["replay", file, kept.to_str().unwrap()]).with(0);
    // One philosopher who has not taken a fork yet can go on.
    let mut early = json.clone();
    let contexts = early["properties"][0]["trace"]["contexts"].as_array_mut().unwrap();
    let last = contexts.last_mut().unwrap()["steps"].as_array_mut().unwrap();
    last.pop();
    let kept = scratch("early.json", early.to_string());
    let ran = postbop(&["replay", file, kept.to_str().unwrap()]).with(1);
    assert!(ran.out.contains("may go on"), "{}", ran.out);
}
