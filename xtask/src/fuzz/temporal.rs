//! Room `xtask`: random formulas and monitors about random programs, against an oracle of their own.
//!
//! # Idea
//! What is asked stands in comments of the program (see `generate/temporal`). The front end reads it, makes an automaton and a product, and
//! every engine is asked about that. The oracle shares nothing with this way: a second reader (`read`), a tableau instead of our automata
//! (`watch`), and a plain pushdown system instead of the product (`decide`). It must agree with each engine. A run that violates
//! a formula is written out position by position (`lasso`), where the formula must be false; and `replay` must see that it is.
//!
//! The oracle is compared with others too. `F G ! at L` is violated by the runs that visit L again and again, for which `ir` has an
//! oracle; `G ! at L` is violated if L is reached, unless runs get stuck; and of a program without choices a formula or its negation holds.

mod decide;
mod lasso;
mod read;
mod watch;

use super::cycles::compare;
use super::{Finding, Score, proving};
use decide::{Decided, Starts, decide};
use postbop_engine::{Accepts, Budget, EngineChoice, Wrapped, engines, product};
use postbop_front::temporal::{Automaton, ltl, monitor};
use postbop_ir::oracle::{oracle, recur, stuck};
use postbop_ir::step::Places;
use postbop_ir::{LocId, Program, Trace};
use read::{Atom, Formula, Node, Op, Position};
use watch::Watcher;

/// The most heads of the plain pushdown system, and facts of the oracles of `ir`.
const HEADS: usize = 12_000;
const FACTS: usize = 8_000;

/// Puts one program and what is asked about it through everything.
pub fn examine(source: &str, program: &Program, only: Option<&str>) -> Finding {
    let mut score = Score::default();
    let (mut all, mut traces) = (Vec::new(), Vec::new());
    for line in source.lines() {
        let asked = match line.split_once(": ") {
            Some(("// ltl", formula)) => of_formula(formula, program),
            Some(("// monitor", text)) => of_monitor(text, program),
            _ => continue,
        };
        let found = asked.and_then(|asked| {
            let more = question(program, &asked, only, &mut traces)?;
            all.push(asked);
            Ok(more)
        });
        match found {
            Ok(more) => score.add(more),
            Err(what) => return Finding::Wrong(format!("{what}, in {line}")),
        }
    }
    match labels(program).and_then(|()| others(program, &all, &traces)) {
        Ok(()) => Finding::Agreed(score),
        Err(what) => Finding::Wrong(what),
    }
}

/// What is asked, for the oracle and for the engines.
struct Asked<'p> {
    watcher: Watcher,
    automaton: Automaton,
    atoms: Vec<postbop_front::temporal::Atom>,
    accepts: Accepts,
    wrapped: Wrapped<'p>,
}

impl Asked<'_> {
    /// Whether `replay` says that a run violates it.
    fn is_shown(&self, program: &Program, trace: &Trace) -> Result<bool, String> {
        let shown = postbop_engine::shows(program, &self.automaton, &self.atoms, self.accepts, trace);
        shown.map_err(|rejected| format!("replay: {rejected}"))
    }
}

fn of_formula<'p>(text: &str, program: &'p Program) -> Result<Asked<'p>, String> {
    let formula = read::formula(text, program).ok_or("second reader: cannot read it")?;
    let (read, diagnostics) = ltl(text, program);
    let read = read.ok_or_else(|| format!("front end: {diagnostics:?}"))?;
    let automaton = read.violations(&mut |_| true).map_err(|_| "front end: interrupted")?;
    let accepts = Accepts::Always;
    let wrapped = product(program, &automaton, &read.atoms, accepts, "formula", &Budget::unlimited())
        .map_err(|why| why.to_string())?;
    Ok(Asked { watcher: Watcher::Formula(formula, false), automaton, atoms: read.atoms, accepts, wrapped })
}

fn of_monitor<'p>(text: &str, program: &'p Program) -> Result<Asked<'p>, String> {
    let second = read::monitor(text, program).ok_or("second reader: cannot read it")?;
    let (read, diagnostics) = monitor(text, program);
    let read = read.ok_or_else(|| format!("front end: {diagnostics:?}"))?;
    let automaton = read.automaton(&mut |_| true).map_err(|_| "front end: interrupted")?;
    let accepts = if read.repeats { Accepts::Always } else { Accepts::Once };
    let wrapped = product(program, &automaton, &read.atoms, accepts, "monitor", &Budget::unlimited())
        .map_err(|why| why.to_string())?;
    Ok(Asked { watcher: Watcher::Monitor(second), automaton, atoms: read.atoms, accepts, wrapped })
}

/// Asks the oracle and every engine, and collects the runs that they find.
fn question(
    program: &Program,
    asked: &Asked<'_>,
    only: Option<&str>,
    traces: &mut Vec<Trace>,
) -> Result<Score, String> {
    let Asked { watcher, wrapped, .. } = asked;
    let Ok(Decided { exists: violated, .. }) = decide(program, watcher, Starts::All, HEADS) else {
        return Ok(Score::default());
    };
    if let Watcher::Formula(formula, _) = watcher
        && both_ways(program, formula) == Some(true)
    {
        return Err("oracle: a formula and its negation are both violated by the only run".into());
    }
    let reachable = usize::from(violated);
    let mut score = Score { reachable, unreachable: 1 - reachable, ..Score::default() };
    let queries = [wrapped.query.clone()];
    let task = proving(&wrapped.program, &queries);
    let named = engines().iter().map(|&engine| (engine.name(), EngineChoice::Only(engine)));
    for (name, choice) in named.chain([("auto", EngineChoice::Auto)]) {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let late = compare(&task, &[violated], choice, &mut |trace| {
            let (own, _) = wrapped.back(trace).map_err(|why| why.to_string())?;
            shows(program, watcher, &own)?;
            if !asked.is_shown(program, &own)? {
                return Err("replay: the run does not violate it".into());
            }
            traces.push(own);
            Ok(())
        });
        match late {
            Ok(late) => score.note(name, 1 - late, late),
            Err(what) => return Err(format!("engine {name}: {what}")),
        }
    }
    Ok(score)
}

/// Whether a run violates what is watched, evaluated position by position.
fn shows(program: &Program, watcher: &Watcher, trace: &Trace) -> Result<(), String> {
    let Some(written) = lasso::write(program, trace)? else { return Ok(()) };
    let places = Places::new(program);
    let positions: Vec<Position<'_>> = written
        .positions
        .iter()
        .map(|(loc, valuation)| Position { program, places: &places, loc: *loc, valuation })
        .collect();
    let violates = match (watcher, written.repeats) {
        (Watcher::Formula(..), None) => return Err("trace: it neither ends nor goes on for ever".into()),
        (Watcher::Formula(formula, _), Some(repeats)) => !watch::holds(formula, &positions, repeats),
        (Watcher::Monitor(_), repeats) => watcher.marks(&positions, repeats),
    };
    if violates { Ok(()) } else { Err("trace: its positions do not violate it".into()) }
}

/// Whatever `replay` says that a run violates, it must violate, also if it was found for something else.
fn others(program: &Program, all: &[Asked<'_>], traces: &[Trace]) -> Result<(), String> {
    for asked in all {
        for trace in traces {
            if asked.is_shown(program, trace)? {
                shows(program, &asked.watcher, trace).map_err(|what| format!("replay: {what}"))?;
            }
        }
    }
    Ok(())
}

/// Whether a formula and its negation are both violated from the least values; if the program has one run from there.
fn both_ways(program: &Program, formula: &Formula) -> Option<bool> {
    let found = |value| {
        let watcher = Watcher::Formula(formula.clone(), value);
        decide(program, &watcher, Starts::Least, HEADS).ok().filter(|decided| !decided.branches)
    };
    Some(found(false)?.exists && found(true)?.exists)
}

/// Compares the oracle with those of `ir`, for each label.
fn labels(program: &Program) -> Result<(), String> {
    let locs: Vec<[LocId; 1]> = program.labels().iter().map(|label| [label.loc]).collect();
    let sets: Vec<&[LocId]> = locs.iter().map(|loc| &loc[..]).collect();
    let (Ok(recurs), Ok(reached), Ok(stuck)) =
        (recur(program, &sets, FACTS), oracle(program, &sets, FACTS), stuck(program, FACTS))
    else {
        return Ok(());
    };
    let fails: Vec<LocId> = program.checks().iter().map(|check| check.loc).collect();
    let failing = oracle(program, &[&fails], FACTS).is_ok_and(|least| least[0].is_some());
    for ((loc, recurs), reached) in locs.iter().zip(recurs).zip(reached) {
        let at = Node::Atom(Atom::At(loc.to_vec()));
        let always = vec![at.clone(), Node::Unary(Op::Finally, 0), Node::Unary(Op::Globally, 1)];
        let once = vec![at, Node::Unary(Op::Finally, 0)];
        let found = |formula| {
            let decided = decide(program, &Watcher::Formula(formula, true), Starts::All, HEADS);
            decided.ok().map(|decided| decided.exists)
        };
        let (Some(always), Some(once)) = (found(always), found(once)) else { continue };
        if always != recurs {
            return Err(format!("oracle: {} visited again and again: {always}, {recurs}", loc[0]));
        }
        let goes_on = !stuck && !failing;
        if once && reached.is_none() || !once && reached.is_some() && goes_on {
            return Err(format!("oracle: {} visited: {once}, {reached:?}", loc[0]));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::read as program_of;

    fn examined(source: &str) -> Finding {
        examine(source, &program_of(source).unwrap(), Some("explicit"))
    }

    /// What the oracle says about a formula.
    fn violated(program: &str, formula: &str) -> bool {
        let program = program_of(program).unwrap();
        let watcher = Watcher::Formula(read::formula(formula, &program).unwrap(), false);
        decide(&program, &watcher, Starts::All, HEADS).ok().unwrap().exists
    }

    #[test]
    fn the_oracle_knows_what_formulas_mean() {
        let toggles = "decl g;\nvoid main()\nbegin\n  g := 0;\n  while (1) do\n    L: f();\n  od\nend\n\
                       void f()\nbegin\n  g := !g;\n  if (*) then\n    f();\n  fi\nend\n";
        // Each round may call f any number of times, or for ever.
        for (formula, expected) in [
            ("G F at L", true),
            ("G (F at L | F G in f)", false),
            ("F {g}", false),
            ("G F {g} & G F {! g}", false),
            ("F G {g} | F G {! g}", true),
            ("(F G in f) | G F return f", false),
            ("X X X X true", false),
            ("! call f U at L", false),
            ("G (call f -> X in f)", false),
            ("F return main", true),
        ] {
            assert_eq!(violated(toggles, formula), expected, "{formula}");
        }
        let ends = "void main()\nbegin\n  L: skip;\nend\n";
        for (formula, expected) in [("F at L", false), ("G F in main", false), ("F G ! return main", false)] {
            assert_eq!(violated(ends, formula), expected, "{formula}");
        }
    }

    #[test]
    fn programs_are_agreed_on() {
        let source = "// ltl: G ({g} -> F at L)\n// monitor: state a init; state b repeat; a -> b at L; b -> a otherwise;\n\
                      decl g;\nvoid main()\nbegin\n  while (*) do\n    L: g := *;\n  od\nend\n";
        let source = source.replace(" at L; b", " when at L; b");
        let Finding::Agreed(score) = examined(&source) else { panic!("they disagree") };
        assert_eq!((score.reachable, score.unreachable), (2, 0));
    }

    /// The run to the first position violates the second monitor. It stops there, so that it does not come to c of the first one.
    #[test]
    fn a_run_that_stops_is_read_once_where_it_stops() {
        let source = "// monitor: state a init; state b; state c target; a -> b; b -> c;\n\
                      // monitor: state a init; state c target; a -> c when in main;\nvoid main()\nbegin\n  skip;\nend\n";
        assert!(matches!(examined(source), Finding::Agreed(_)), "{:?}", examined(source));
    }

    /// The run that the monitor marks has g = 0 in its first round and g = -1 in all others, so it violates the formula too.
    #[test]
    fn rounds_may_begin_with_other_values_than_the_first() {
        let source = "// ltl: ! F {g < 0}\n// monitor: state a init; state b repeat; a -> a; a -> b;\n\
                      decl int<1> g;\nvoid main()\nbegin\n  if (g >= 0) then\n    skip;\n  fi\n  while (*) do\n    \
                      L: g := g;\n    g := -1;\n  od\nend\n";
        assert!(matches!(examined(source), Finding::Agreed(_)), "{:?}", examined(source));
    }

    #[test]
    fn the_oracle_finds_programs_with_one_run() {
        let read = |text: &str, program: &Program| read::formula(text, program).unwrap();
        let program = program_of("decl g;\nvoid main()\nbegin\n  g := 1;\nend\n").unwrap();
        assert_eq!(both_ways(&program, &read("F {g}", &program)), Some(false));
        let program = program_of("decl g;\nvoid main()\nbegin\n  g := *;\nend\n").unwrap();
        assert_eq!(both_ways(&program, &read("F {g}", &program)), None);
    }

    #[test]
    fn mistakes_are_findings() {
        let what = examined("// ltl: at NOWHERE\nvoid main()\nbegin\n  skip;\nend\n");
        assert!(matches!(what, Finding::Wrong(what) if what.starts_with("front end")));
    }

    #[test]
    fn a_trace_that_shows_nothing_is_seen() {
        let program = program_of("void main()\nbegin\n  L: skip;\nend\n").unwrap();
        let Asked { watcher, wrapped, .. } = of_formula("G ! at L", &program).unwrap();
        let queries = [wrapped.query.clone()];
        let task = proving(&wrapped.program, &queries);
        let other = Watcher::Formula(read::formula("F at L", &program).unwrap(), false);
        let mut looked = Vec::new();
        compare(&task, &[true], EngineChoice::Auto, &mut |trace| {
            let (own, _) = wrapped.back(trace).unwrap();
            looked.push((shows(&program, &watcher, &own).is_ok(), shows(&program, &other, &own).is_ok()));
            Ok(())
        })
        .unwrap();
        assert_eq!(looked, [(true, false)]);
    }
}
