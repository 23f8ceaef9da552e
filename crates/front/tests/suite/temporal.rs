//! Room `front`: formulas, monitors and automata about programs.

use crate::common;
use postbop_front::temporal::{Atom, Guard, Hoa, Ltl, hoa, ltl, monitor};
use postbop_front::{Code, Diagnostic};
use postbop_ir::{Expr, Op, Program, Type};
use postbop_kit::buchi::{Formula, Node, Word};

fn program() -> Program {
    let file = common::root().join("tests/cases/temporal/program.bp");
    let reading = common::reading(&std::fs::read_to_string(file).expect("a program"));
    reading.program.expect("a program without errors")
}

/// The diagnostics that a case gets, by the ending of its name.
pub fn diagnostics(ending: &str, text: &str) -> Vec<Diagnostic> {
    let program = program();
    match ending {
        "ltl" => ltl(text, &program).1,
        "monitor" => monitor(text, &program).1,
        _ => hoa(text, &program, &mut |_| true).expect("nothing interrupts it").1,
    }
}

fn fine(text: &str) -> Ltl {
    let (found, diagnostics) = ltl(text, &program());
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:#?}");
    found.expect("a formula")
}

/// A formula in prefix notation; atoms are letters in the order of their numbers.
fn prefix(formula: &Formula) -> String {
    let mut texts: Vec<String> = Vec::new();
    for &node in formula.nodes() {
        let name = match node {
            Node::Const(value) => (if value { "1" } else { "0" }).to_owned(),
            Node::Atom(atom) => ((b'a' + atom as u8) as char).to_string(),
            Node::Not(_) => "!".to_owned(),
            Node::And(..) => "&".to_owned(),
            Node::Or(..) => "|".to_owned(),
            Node::Implies(..) => ">".to_owned(),
            Node::Iff(..) => "=".to_owned(),
            Node::Next(_) => "X".to_owned(),
            Node::Finally(_) => "F".to_owned(),
            Node::Globally(_) => "G".to_owned(),
            Node::Until(..) => "U".to_owned(),
            Node::Release(..) => "R".to_owned(),
            Node::WeakUntil(..) => "W".to_owned(),
            Node::StrongRelease(..) => "M".to_owned(),
        };
        let operands: String = node.operands().map(|operand| texts[operand as usize].as_str()).collect();
        texts.push(name + &operands);
    }
    texts.pop().unwrap_or_default()
}

#[test]
fn operators_bind_as_the_manual_says() {
    let same = [
        ("x", "a"),
        ("G(x -> F M)", "G>aFb"),
        ("[] (x -> <> M)", "G>aFb"),
        ("G F x", "GFa"),
        ("!x && M || N", "|&!abc"),
        ("x | M & N", "|a&bc"),
        ("x -> M -> N", ">a>bc"),
        ("x => M <-> N", "=>abc"),
        ("x <=> M", "=ab"),
        ("x U M U N", "UaUbc"),
        ("x U M & N", "&Uabc"),
        ("! x U M", "U!ab"),
        ("x V M", "Rab"),
        ("x R M", "Rab"),
        ("x W M", "Wab"),
        ("x M M", "Mab"),
        ("X X ~x", "XX!a"),
        ("true U false", "U10"),
        ("T & x", "&1a"),
        ("((x))", "a"),
        ("x & x & N", "&&aab"),
        ("n < 3 && n<-n+2 <-> x", "=&abc"),
        ("n - 1 = 2 -> x", ">ab"),
        ("a[n] = 1 & a[2] != 2", "&ab"),
        ("F p.w & p.v", "&Fab"),
        ("call p | return q | in main", "||abc"),
        ("at L & p.L & p:L & at q:L & at q.L", "&&&&abbcc"),
        ("{both} | at both", "|ab"),
        ("{x & (n = 3 | !both)} | {F}", "|ab"),
        ("G // a comment\n x", "Ga"),
    ];
    for (text, wanted) in same {
        assert_eq!(prefix(&fine(text).formula), wanted, "{text}");
    }
}

#[test]
fn atoms_mean_what_they_name() {
    let program = program();
    let var = |name: &str| {
        let found = program.vars().pairs().find(|(_, var)| var.name == name);
        found.expect("a variable").0
    };
    let proc =
        |name: &str| program.procs().pairs().find(|(_, proc)| proc.name == name).expect("it is there").0;
    let labels = |name: &str| {
        let such = program.labels().iter().filter(|label| label.name == name);
        such.map(|label| label.loc).collect::<Vec<_>>()
    };
    let atoms = |text: &str| fine(text).atoms;
    assert_eq!(atoms("x"), [Atom::Holds(None, Expr::var(var("x")))]);
    assert_eq!(atoms("p.v"), [Atom::Holds(Some(proc("p")), Expr::var(var("v")))]);
    assert_eq!(atoms("call p & return q"), [Atom::Call(vec![proc("p")]), Atom::Return(vec![proc("q")])]);
    assert_eq!(atoms("in main & in main"), [Atom::Inside(vec![proc("main")])]);
    assert_eq!(atoms("M"), [Atom::Label(labels("M"))]);
    assert_eq!(atoms("L"), [Atom::Label(labels("L"))]);
    assert_eq!(labels("L").len(), 2);
    let Atom::Label(of_p) = &atoms("p:L")[0] else { panic!("a label") };
    assert_eq!(of_p, &[labels("L")[0]]);
    let three = [Op::Var(var("n")), Op::Const(Type::Uint(3), 3u32.into()), Op::Eq];
    assert_eq!(atoms("n = 3"), [Atom::Holds(None, Expr::new(three))]);
    assert_eq!(atoms("a[2] = 1 & {a[2] == 1}").len(), 1);
    let Atom::Holds(None, of_any) = &atoms("a[n] = 1")[0] else { panic!("a condition") };
    assert_eq!(of_any.reads().filter(|&read| read == var("a[0]")).count(), 1);
}

#[test]
fn names_in_braces_are_names_if_there_is_such_a_variable() {
    let reading = common::reading("decl {x = 1}, y; void main() begin {x = 1} := y; end");
    let program = reading.program.expect("a program");
    let (found, diagnostics) = ltl("G ({x = 1} -> {y}) & {x = 1} = y", &program);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(prefix(&found.expect("a formula").formula), "&G>abc");
}

#[test]
fn a_procedure_of_two_threads_is_there_twice() {
    let source = "decl x; void f() begin decl w; L: w := x; end\n\
                  thread one begin void main() begin f(); end end thread two begin void main() begin f(); end end";
    let program = common::reading(source).program.expect("a program");
    let (found, diagnostics) = ltl("G f.w & call f & L", &program);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let Ltl { formula, atoms } = found.expect("a formula");
    assert_eq!(prefix(&formula), "&&G|abcd");
    assert!(matches!(&atoms[2], Atom::Call(procs) if procs.len() == 2), "{atoms:?}");
    assert!(matches!(&atoms[3], Atom::Label(locs) if locs.len() == 2), "{atoms:?}");
    let Atom::Holds(Some(one), _) = &atoms[0] else { panic!("a condition") };
    let Atom::Holds(Some(two), _) = &atoms[1] else { panic!("a condition") };
    assert_ne!(one, two);
}

#[test]
fn mistakes_are_reported_where_they_are() {
    let found = |text: &str| {
        let (ltl, diagnostics) = ltl(text, &program());
        assert_eq!(ltl.is_none(), !diagnostics.is_empty(), "{text}");
        let place =
            |d: &Diagnostic| (d.code.text(), text[d.span.start as usize..d.span.end as usize].to_owned());
        diagnostics.iter().map(place).collect::<Vec<_>>()
    };
    let one = |code, place: &str| vec![(code, place.to_owned())];
    assert_eq!(found("G z"), one("E011", "z"));
    assert_eq!(found("G {z}"), one("E011", "z"));
    assert_eq!(found("G call r"), one("E013", "r"));
    assert_eq!(found("at K"), one("E015", "K"));
    assert_eq!(found("n"), one("E021", "n"));
    assert_eq!(found("n + 1 & x"), one("E021", "n + 1"));
    assert_eq!(found("n = 9"), one("E022", "9"));
    assert_eq!(found("a = 1"), one("E025", "a"));
    assert_eq!(found("x[1]"), one("E026", "x[1]"));
    assert_eq!(found("a[3] = 1"), one("E027", "3"));
    assert_eq!(found("both"), one("E061", "both"));
    assert_eq!(found("p.w = q.w"), one("E062", "q.w"));
    assert_eq!(found("{*}"), one("E063", "*"));
    assert_eq!(found("x x"), one("E004", "x"));
    assert_eq!(found("x &"), one("E004", "&"));
    assert_eq!(found("(x"), [("E005", "(".to_owned()), ("E004", "x".to_owned())]);
    assert_eq!(found("x)"), one("E004", ")"));
    assert_eq!(found("x + & y"), one("E004", "&"));
    assert_eq!(found("{x y}"), one("E004", "y"));
    assert_eq!(found("{x"), one("E003", "{"));
    assert_eq!(found("x @ y"), one("E001", "@"));
    assert_eq!(found("GF x"), [("E011", "GF".to_owned()), ("E004", "x".to_owned())]);
    for empty in ["", "{}", "()", "U", "!", "[]", "->", "{", "}", "{{", "p:", "at", "call", "a[", ".", "x U"]
    {
        assert!(!found(empty).is_empty(), "{empty}");
    }
}

#[test]
fn advice_is_given() {
    let hint =
        |text: &str| ltl(text, &program()).1.into_iter().find_map(|found| found.hint).unwrap_or_default();
    assert_eq!(hint("G w"), "write `p.w` for the local variable of `p`");
    assert_eq!(hint("GF x"), "operators stand apart: write `G F`");
    assert_eq!(hint("G bth"), "did you mean `both`?");
    assert_eq!(hint("G q"), "write `in q`, `call q` or `return q` for the procedure");
    assert_eq!(hint("call mian"), "did you mean `main`?");
}

#[test]
fn deep_formulas_need_no_stack() {
    for (open, close) in [("(", ")"), ("!", ""), ("X ", ""), ("F (x U ", ")"), ("x -> ", ""), ("{x} & ", "")]
    {
        let text = open.repeat(20_000) + "x" + &close.repeat(20_000);
        assert!(fine(&text).formula.nodes().len() <= 80_001);
    }
    let text = "x ".repeat(50_000);
    assert_eq!(ltl(&text, &program()).1.len(), 1);
}

#[test]
fn monitors_stay_where_no_edge_can_be_taken() {
    let text = "// A lock that is taken twice.\nstate free init, held;\nstate broken target;\n\
                free -> held call p when n < 3 & !x; held -> free return p;\nheld -> broken at L in p;\n\
                broken -> broken otherwise;";
    let (found, diagnostics) = monitor(text, &program());
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
    let found = found.expect("a monitor");
    let names: Vec<&str> = found.states.iter().map(|state| state.name.as_str()).collect();
    assert_eq!(names, ["free", "held", "broken"]);
    assert!(found.states[0].initial && !found.states[1].initial && found.states[2].marked && !found.repeats);
    let ends: Vec<(u32, u32, bool)> =
        found.edges.iter().map(|edge| (edge.from, edge.to, edge.guard == Guard::Otherwise)).collect();
    let wanted = [(0, 1, false), (1, 0, false), (1, 2, false), (2, 2, true), (0, 0, true), (1, 1, true)];
    assert_eq!(ends, wanted);
    let automaton = found.automaton(&mut |_| true).expect("nothing interrupts it");
    assert_eq!(
        (automaton.initial.as_slice(), automaton.accepting.as_slice()),
        (&[0][..], &[false, false, true][..])
    );
    // Whatever the letter is, every state has an edge for it.
    for letter in 0..1 << found.atoms.len() {
        let letter: Vec<bool> = (0..found.atoms.len()).map(|atom| letter >> atom & 1 != 0).collect();
        for state in 0..3 {
            let allows =
                |guard: &[(u32, bool)]| guard.iter().all(|&(atom, value)| letter[atom as usize] == value);
            let can = automaton.edges.iter().filter(|edge| edge.from == state && allows(&edge.guard)).count();
            assert!(can >= 1, "{state} {letter:?}");
        }
    }
}

#[test]
fn monitors_with_mistakes_are_refused() {
    let found = |text: &str| {
        let (monitor, diagnostics) = monitor(text, &program());
        assert_eq!(monitor.is_none(), !diagnostics.is_empty(), "{text}");
        diagnostics.iter().map(|d| d.code).collect::<Vec<_>>()
    };
    assert!(found("state s init repeat; s -> s when x;").is_empty());
    assert_eq!(found("").len(), 2);
    assert_eq!(found("state s init;"), [Code::BadMonitor]);
    assert_eq!(found("state s target;"), [Code::BadMonitor]);
    assert_eq!(found("state s init target, s;"), [Code::BadMonitor]);
    assert_eq!(found("state s init target; s -> s otherwise when x;"), [Code::BadMonitor]);
    assert_eq!(found("state s init target; s -> s otherwise; s -> s otherwise;"), [Code::BadMonitor]);
    assert_eq!(found("state s init target; s -> r;"), [Code::BadMonitor]);
    assert_eq!(found("state s init target; s - s; s -> s when G x; s -> s when z;").len(), 3);
    assert_eq!(found("state s init target; s -> s"), [Code::Syntax]);
    assert_eq!(found("state"), [Code::Syntax, Code::BadMonitor, Code::BadMonitor]);
}

fn automaton(text: &str) -> Hoa {
    let (found, diagnostics) = hoa(text, &program(), &mut |_| true).expect("nothing interrupts it");
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:#?}");
    found.expect("an automaton")
}

/// Words over two atoms: all of up to three letters with all loops.
fn words() -> Vec<Word> {
    let mut all = Vec::new();
    for len in 1..=3u32 {
        for code in 0..4usize.pow(len) {
            let letter = |at: u32| vec![code >> (2 * at) & 1 != 0, code >> (2 * at + 1) & 1 != 0];
            for repeats_from in 0..len as usize {
                all.push(Word { letters: (0..len).map(letter).collect(), repeats_from });
            }
        }
    }
    all
}

#[test]
fn automata_of_other_tools_are_read() {
    let head =
        "HOA: v1 name: \"x\" /* a /* nested */ comment */ tool: \"hand\" \"1\" properties: trans-acc\n";
    // `G F x & G F both` with conditions on edges, on states, with aliases, and with edges without labels.
    let inputs = [
        "States: 1 Start: 0 AP: 2 \"x\" \"{both}\" acc-name: generalized-Buchi 2 Acceptance: 2 Inf(0)&Inf(1)\n\
         --BODY-- State: 0 [0&1] 0 {0 1} [0&!1] 0 {0} [!0&1] 0 {1} [!0&!1] 0 --END--",
        "Start: 0 AP: 2 \"x\" \"{both}\" Alias: @a 0 Alias: @n !(@a | 1) Acceptance: 2 (Inf(0) & Inf(1))\n\
         --BODY-- State: 0 \"only\" [@a & 1] 0 {0 1} [@a&!1] 0 {0} [!@a&1] 0 {1} [@n] 0 --END--",
        "Start: 0 AP: 2 \"x\" \"{both}\" Acceptance: 2 Inf(0)&Inf(1)\n\
         --BODY-- State: 0 0 0 {0} 0 {1} 0 {0 1} --END--",
        "States: 3 Start: 0 AP: 2 \"x\" \"{both}\" Acceptance: 1 Inf(0)\n--BODY--\n\
         State: 0 [!0] 0 [0&!1] 1 [0&1] 2 State: 1 [!1] 1 [1] 2 State: 2 {0} [!0] 0 [0&!1] 1 [0&1] 2 --END--",
    ];
    for input in inputs {
        let Hoa { automaton, atoms } = automaton(&format!("{head}{input}"));
        let formula = fine("G F x & G F {both}");
        assert_eq!(atoms, formula.atoms);
        for word in words() {
            assert_eq!(automaton.accepts(&word), formula.formula.holds(&word), "{input} {word:?}");
        }
    }
    let labelled = automaton(
        "HOA: v1 Start: 0 Start: 1 AP: 2 \"x\" \"!{both}\" Acceptance: 0 t\n\
         --BODY-- State: [0] 0 0 1 State: [t] 1 --END--",
    );
    assert_eq!(labelled.atoms.len(), 2);
    for word in words() {
        assert_eq!(labelled.automaton.accepts(&word), word.letters.iter().all(|letter| letter[0]));
    }
}

#[test]
fn automata_that_cannot_be_read_are_named() {
    let found = |text: &str| {
        let (automaton, diagnostics) = hoa(text, &program(), &mut |_| true).expect("nothing interrupts it");
        assert_eq!(automaton.is_none(), !diagnostics.is_empty(), "{text}");
        diagnostics.first().map(|d| d.message.clone()).unwrap_or_default()
    };
    let with = |acceptance: &str, body: &str| {
        found(&format!(
            "HOA: v1 States: 2 Start: 0 AP: 1 \"x\" Acceptance: {acceptance}\n--BODY-- {body} --END--"
        ))
    };
    assert_eq!(with("1 Inf(0)", "State: 0 [t] 0 {0}"), "");
    assert!(with("1 Fin(0)", "").contains("`Fin`"));
    assert!(with("2 Inf(0)|Inf(1)", "").contains("`|`"));
    assert!(with("1 Inf(!0)", "").contains("Inf(!"));
    assert!(with("0 f", "").contains("`f`"));
    assert!(with("0 t", "State: 0 [t] 0&1").contains("alternating"));
    assert!(with("0 t", "State: 0 [1] 0").contains("less than 1"));
    assert!(with("0 t", "State: 0 [@a] 0").contains("`@a`"));
    assert!(with("0 t", "State: 0 [t] 7").contains("no state 7"));
    assert!(with("0 t", "State: 0 0 0 0").contains("2 letters"));
    assert!(with("0 t", "State: [0] 0 [0] 0").contains("label of its own"));
    assert!(with("99999999999999999999 t", "").contains("less than"));
    assert!(with("0 t", "State: 0 --ABORT--").contains("ABORT"));
    assert!(found("HOA: v2 --BODY-- --END--").contains("v1"));
    assert!(found("HOA: v1 Frills: 1 --BODY-- --END--").contains("`Frills:`"));
    assert!(found("HOA: v1 --BODY-- --END--").contains("Acceptance"));
    assert!(found("HOA: v1 AP: 1 \"z\" Acceptance: 0 t --BODY-- --END--").contains("`z`"));
    assert!(found("HOA: v1 AP: 1 \"x Acceptance: 0 t --BODY-- --END--").contains("never closed"));
    assert!(found("HOA: v1 AP: 2 \"x\" \"F x\" Acceptance: 0 t --BODY-- --END--").contains("temporal"));
    let deep = "(".repeat(100_000) + "0" + &")".repeat(100_000);
    assert_eq!(with("0 t", &format!("State: 0 [{deep}] 0")), "");
    let not = "!".repeat(100_000);
    assert_eq!(with("0 t", &format!("State: 0 [{not}0] 0")), "");
    let text =
        "HOA: v1 States: 2 Start: 0 AP: 1 \"x\" Acceptance: 1 Inf(0) --BODY-- State: 0 [0] 1 {0} --END--";
    for end in 0..text.len() {
        found(&text[..end]);
        found(&(text[..end].to_owned() + &text[end + 1..]));
    }
}

#[test]
fn whatever_is_written_is_read_or_refused() {
    let words = "x both n a [ ] ( ) { } {x} {both {z} z p.w q.w p. . p : L at in call return p q main 3 -1 0 + - * = == != < \
                 <= > -> <-> <> ! ~ & && | U R W M V X F G T true false state init target repeat otherwise when ; , s t ' \
                 schoose ite HOA: v1 States: Start: AP: \"x\" \"z\" \" Acceptance: Inf Fin --BODY-- --END-- State: @a Alias: /* */ é";
    let words: Vec<&str> = words.split_whitespace().collect();
    let program = program();
    let mut seed = 1u64;
    let mut next = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize
    };
    let starts = [
        "",
        "G (",
        "state s init, t target; s -> t when ",
        "HOA: v1 States: 1 Start: 0 AP: 1 \"x\" Acceptance: 1 Inf(0) --BODY-- State: 0 ",
    ];
    let (mut formulas, mut all) = (0, 0);
    for _ in 0..60_000 {
        let mut text = starts[next() % starts.len()].to_owned();
        for _ in 0..next() % 12 {
            text += words[next() % words.len()];
            text += ["", " ", " "][next() % 3];
        }
        let (found, diagnostics) = ltl(&text, &program);
        assert_eq!(found.is_none(), diagnostics.iter().any(Diagnostic::is_error), "{text}");
        let (seen, diagnostics) = monitor(&text, &program);
        assert_eq!(seen.is_none(), diagnostics.iter().any(Diagnostic::is_error), "{text}");
        let (read, diagnostics) = hoa(&text, &program, &mut |_| true).expect("nothing interrupts it");
        assert_eq!(read.is_none(), diagnostics.iter().any(Diagnostic::is_error), "{text}");
        formulas += found.is_some() as usize;
        all += (found.is_some() || seen.is_some() || read.is_some()) as usize;
    }
    assert!(formulas > 100 && all > formulas, "{formulas} formulas, {all} in all");
}

/// The blocks of code of a page of the manual.
fn blocks(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(common::root().join("docs").join(page)).expect("a page");
    text.split("```\n").skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_examples_of_the_manual_are_fine() {
    let source = "decl locked; decl uint<3> n; void acquire() begin locked := 1; end\n\
                  void release() begin locked := 0; end void worker() begin skip; end\n\
                  void server() begin decl done; done := locked; end\n\
                  void main() begin acquire(); worker(); REQUEST: server(); release(); end";
    let program = common::reading(source).program.expect("a program");
    let formulas = blocks("liveness.md");
    for formula in formulas[0].lines() {
        let (found, diagnostics) = ltl(formula, &program);
        assert!(found.is_some(), "{formula}: {diagnostics:#?}");
    }
    let (found, diagnostics) = hoa(&formulas[1], &program, &mut |_| true).expect("nothing interrupts it");
    assert!(found.is_some(), "{diagnostics:#?}");
    for text in &blocks("monitors.md")[..2] {
        let (found, diagnostics) = monitor(text, &program);
        assert!(found.is_some(), "{text}: {diagnostics:#?}");
    }
}
