//! Room `xtask`: families of benchmark programs.
//!
//! Each family is a function from parameters to source text, a target label and, where the construction says
//! it, the verdict. A family measures one thing; its function says which, and why the verdict is what it is.

mod choices;
mod classic;
mod flow;
mod integers;
mod noise;
mod random;
mod scope;
mod shape;
mod unbounded;

use postbop_ir::{LocId, Program};

/// The families and their parameters, for help texts.
pub const USAGE: &str = "T N | Tsafe N | locks N | locks-bug N | open GLOBALS READ | deep DEPTH | deep-safe DEPTH | \
     quicksort BITS | driver SEED PROCS GLOBALS LOCALS | wide SEED VARS ROUNDS | term SEED VARS | \
     ident K | swapret K | recpass K | getters K | pairs K | restore K | chain N K | faraway K OTHERS | reverse K | permute K | shuffle SEED K | havoc K | \
     choosy K | adder K | privates N | slam SEED VARS PROCS STATEMENTS | sparse SEED GLOBALS PROCS STATEMENTS | \
     mutual SEED GLOBALS PROCS STATEMENTS | scope SEED VARS PROCS, and each of these with -bug | counter BITS | counter-safe BITS | \
     doubling N | asserts N | nested N | params N | twos NUMBER | \
     qsort SIZE [BITS] | mccarthy BOUND | ackermann M N | parity LEAST | times FACTOR | carry K | relay N, and each of these with -bug";

/// One program of a family.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instance {
    /// The family and its parameters, such as `T-100`.
    pub name: String,
    /// The program.
    pub source: String,
    /// The label asked about.
    pub target: &'static str,
    /// Whether the label is reachable, where the construction tells.
    pub expected: Option<bool>,
}

impl Instance {
    /// Comment lines that say what the program is and what is expected, as test cases begin.
    pub fn header(&self) -> String {
        let verdict = match self.expected {
            Some(true) => format!("// expect: {} violated\n", self.target),
            Some(false) => format!("// expect: {} holds\n", self.target),
            None => format!("// target: {}\n", self.target),
        };
        format!("{verdict}// {}\n", self.name)
    }

    /// The program graph of the source, and the locations of the target.
    pub fn read(&self) -> (Program, Vec<LocId>) {
        let reading = postbop_front::read(self.source.as_bytes(), Default::default());
        let program = reading.program.unwrap_or_else(|| panic!("{}: no program", self.name));
        let labels = program.labels().iter().filter(|label| label.name == self.target);
        let locs = labels.map(|label| label.loc).collect();
        (program, locs)
    }
}

/// The program of a family with these parameters.
pub fn instance(family: &str, parameters: &[u64]) -> Result<Instance, String> {
    let (source, target, expected) = match (family, parameters) {
        ("T", &[n @ (1..)]) => (classic::t(n, false), "reach", Some(true)),
        ("Tsafe", &[n @ (1..)]) => (classic::t(n, true), "never", Some(false)),
        ("locks", &[n @ (1..)]) => (classic::locks(n, false), "SLIC_ERROR", Some(false)),
        ("locks-bug", &[n @ (1..)]) => (classic::locks(n, true), "SLIC_ERROR", Some(true)),
        ("open", &[globals, read]) if read <= globals && globals > 0 => {
            (classic::open(globals, read), "ERR", Some(false))
        }
        ("deep", &[depth @ 1..=0xffff_ffff]) => (integers::deep(depth, false), "BOTTOM", Some(true)),
        ("deep-safe", &[depth @ 1..=0xffff_ffff]) => (integers::deep(depth, true), "ERR", Some(false)),
        ("quicksort", &[bits @ 1..=63]) => (integers::quicksort(bits), "DONE", Some(true)),
        ("driver", &[seed, procs @ (1..), globals @ (3..), locals]) => {
            (random::driver(seed, procs, globals, locals), "SLIC_ERROR", None)
        }
        ("wide", &[seed, vars @ (1..), rounds @ (1..)]) => {
            (random::wide(seed, vars, rounds), "ERR", Some(false))
        }
        ("term", &[seed, vars @ (16..)]) => (random::term(seed, vars), "ERR", Some(false)),
        ("counter", &[k @ 1..=62]) => (choices::counter(k, false), "END", Some(true)),
        ("counter-safe", &[k @ 1..=62]) => (choices::counter(k, true), "ERR", Some(false)),
        ("doubling", &[n @ (1..)]) => (shape::doubling(n), "ERR", Some(true)),
        ("asserts", &[n @ (1..)]) => (shape::asserts(n), "ERR", Some(true)),
        ("nested", &[n @ (1..)]) => (shape::nested(n), "ERR", Some(true)),
        ("params", &[n @ (2..)]) => (shape::params(n), "ERR", Some(false)),
        ("twos", &[number @ 0..=0xffff_ffff]) => (unbounded::twos(number), "ERR", Some(number % 2 == 0)),
        _ => match spoilable(family, parameters) {
            Some((source, expected)) => (source, "ERR", expected),
            None => {
                let problem =
                    format!("no family `{family}` with parameters {parameters:?}; there are {USAGE}");
                return Err(problem);
            }
        },
    };
    let parameters: Vec<String> = parameters.iter().map(u64::to_string).collect();
    Ok(Instance { name: format!("{family}-{}", parameters.join("-")), source, target, expected })
}

/// What a family's name ends with if one value is spoilt, so that the target is reached.
const BUG: &str = "-bug";

/// The program of a family that exists with a bug and without, and whether the bug is reached, where that is sure.
fn spoilable(family: &str, parameters: &[u64]) -> Option<(String, Option<bool>)> {
    let (name, bug) = match family.strip_suffix(BUG) {
        Some(name) => (name, true),
        None => (family, false),
    };
    let source = match (name, parameters) {
        ("ident", &[k @ (1..)]) => flow::ident(k, false, bug),
        ("swapret", &[k @ (1..)]) => flow::ident(k, true, bug),
        ("recpass", &[k @ (1..)]) => flow::recpass(k, bug),
        ("getters", &[k @ (1..)]) => flow::getters(k, bug),
        ("pairs", &[k @ (1..)]) => flow::pairs(k, bug),
        ("restore", &[k @ (1..)]) => flow::restore(k, bug),
        ("chain", &[n @ (1..), k @ (1..)]) => flow::chain(n, k, bug),
        ("faraway", &[k @ (2..), m @ (1..)]) => flow::faraway(k, m, bug),
        ("reverse", &[k @ (2..)]) => flow::reverse(k, bug),
        ("permute", &[k @ (2..)]) => flow::permute(k, bug),
        ("shuffle", &[seed, k @ (1..)]) => flow::shuffle(seed, k, bug),
        ("havoc", &[k @ (1..)]) => choices::havoc(k, bug),
        ("choosy", &[k @ (1..)]) => choices::choosy(k, bug),
        ("adder", &[k @ (1..)]) => choices::adder(k, bug),
        ("privates", &[n @ (1..)]) => choices::privates(n, bug),
        ("scope", &[seed, vars @ (1..), procs @ (10..)]) => scope::scope(seed, vars, procs, bug),
        // Indices run from -1 to the size, and are as wide as the elements.
        ("qsort", &[size @ 2..=64, bits @ 3..=63]) if size < 1 << (bits - 1) => {
            unbounded::qsort(size, Some(bits), bug)
        }
        _ => match over_integers(name, parameters, bug) {
            Some(source) => source,
            None => {
                let source = noisy(name, parameters, bug)?;
                return Some((source, (!bug).then_some(false)));
            }
        },
    };
    Some((source, Some(bug)))
}

/// The program of a family over unbounded integers.
fn over_integers(name: &str, parameters: &[u64], bug: bool) -> Option<String> {
    match (name, parameters) {
        ("qsort", &[size @ 2..=64]) => Some(unbounded::qsort(size, None, bug)),
        ("mccarthy", &[bound @ 0..=0xffff_ffff]) => Some(unbounded::mccarthy(bound, bug)),
        ("ackermann", &[m @ 0..=3, n @ 0..=40]) => Some(unbounded::ackermann(m, n, bug)),
        ("parity", &[least @ 0..=0xffff_ffff]) => Some(unbounded::parity(least, bug)),
        ("times", &[factor @ 1..=0xffff_ffff]) => Some(unbounded::times(factor, bug)),
        ("carry", &[k @ 2..=300]) => Some(unbounded::carry(k, bug)),
        ("relay", &[n @ (1..)]) => Some(unbounded::relay(n, bug)),
        _ => None,
    }
}

/// The program of a family in which noise decides whether the bug is reached.
fn noisy(name: &str, parameters: &[u64], bug: bool) -> Option<String> {
    let &[seed, vars, procs @ (1..), statements] = parameters else { return None };
    match name {
        "slam" if vars >= 2 => Some(noise::slam(seed, vars, procs, statements, bug)),
        "sparse" if vars >= 3 => Some(noise::sparse(seed, vars, procs, statements, bug)),
        "mutual" if vars >= 3 => Some(noise::mutual(seed, vars, procs, statements, bug)),
        _ => None,
    }
}

/// Names with commas between them.
fn list(names: &[String]) -> String {
    names.join(", ")
}

/// Names `prefix0`, `prefix1` and so on.
fn names(prefix: &str, count: u64) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}{number}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use postbop_engine::{Budget, EngineChoice, Silent, Stats, Verdict, verify};
    use postbop_ir::{Query, Task};

    const SMALL: &[(&str, &[u64])] = &[
        ("T", &[3]),
        ("Tsafe", &[3]),
        ("locks", &[3]),
        ("locks-bug", &[3]),
        ("open", &[5, 2]),
        ("deep", &[4]),
        ("deep-safe", &[4]),
        ("quicksort", &[4]),
        ("driver", &[1, 6, 4, 3]),
        ("wide", &[1, 8, 3]),
        ("term", &[1, 20]),
        ("counter", &[3]),
        ("counter-safe", &[3]),
        ("doubling", &[4]),
        ("asserts", &[4]),
        ("nested", &[9]),
        ("params", &[4]),
        ("twos", &[1_000]),
        ("twos", &[1_001]),
    ];

    const SPOILABLE: &[(&str, &[u64])] = &[
        ("ident", &[3]),
        ("swapret", &[3]),
        ("recpass", &[3]),
        ("getters", &[3]),
        ("pairs", &[3]),
        ("restore", &[2]),
        ("chain", &[3, 3]),
        ("faraway", &[3, 2]),
        ("reverse", &[3]),
        ("permute", &[4]),
        ("shuffle", &[1, 3]),
        ("havoc", &[3]),
        ("choosy", &[2]),
        ("adder", &[3]),
        ("privates", &[3]),
    ];

    const OVER_INTEGERS: &[(&str, &[u64])] = &[
        ("qsort", &[3]),
        ("qsort", &[3, 4]),
        ("mccarthy", &[100]),
        ("ackermann", &[2, 2]),
        ("parity", &[0]),
        ("times", &[7]),
        ("carry", &[60]),
        ("relay", &[3]),
    ];

    fn small() -> Vec<Instance> {
        let with_bug = |&(family, parameters): &(&str, _)| {
            [(family.to_owned(), parameters), (format!("{family}{BUG}"), parameters)]
        };
        let spoilable = SPOILABLE.iter().chain(OVER_INTEGERS).flat_map(with_bug);
        let all = SMALL.iter().map(|&(family, parameters)| (family.to_owned(), parameters)).chain(spoilable);
        all.map(|(family, parameters)| instance(&family, parameters).unwrap()).collect()
    }

    #[test]
    fn every_family_mentions_its_target_and_closes_its_blocks() {
        for instance in small() {
            let source = &instance.source;
            assert!(source.contains(&format!("{}: ", instance.target)), "{source}");
            let count = |word: &str| source.split_whitespace().filter(|&found| found == word).count();
            assert_eq!(count("then"), count("fi") + count("elsif"), "{source}");
            assert_eq!(count("do"), count("od"), "{source}");
            assert_eq!(count("begin"), count("end"), "{source}");
            assert!(source.ends_with("end\n"), "{source}");
        }
    }

    #[test]
    fn the_judge_agrees_with_the_construction() {
        let mut decided = 0;
        for instance in small() {
            let (program, locs) = instance.read();
            let (Ok(least), Some(expected)) =
                (postbop_ir::oracle::oracle(&program, &[&locs], 200_000), instance.expected)
            else {
                continue;
            };
            assert_eq!(least[0].is_some(), expected, "{}", instance.name);
            decided += 1;
        }
        assert!(decided >= 2 * SPOILABLE.len(), "{decided} families are small enough for the oracle");
    }

    /// The counters of an engine, which must give the expected answer.
    fn answered(instance: &Instance, engine: &str) -> Stats {
        let (program, locs) = instance.read();
        let queries = [Query::reach(instance.target, locs)];
        let budget = Budget::unlimited().with_time(std::time::Duration::from_secs(20));
        let engine = EngineChoice::named(engine).unwrap();
        let report = verify(&Task::new(&program, &queries), engine, &budget, &mut Silent);
        let reached = match &report.answers[0].verdict {
            Verdict::Holds { .. } => false,
            Verdict::Violated(_) => true,
            other => panic!("{}: {other:?}", instance.name),
        };
        assert_eq!(Some(reached), instance.expected, "{}", instance.name);
        report.stats
    }

    #[test]
    fn long_loops_are_taken_many_rounds_at_a_time() {
        for (family, bits) in [("counter", 13), ("counter-safe", 30)] {
            let stats = answered(&instance(family, &[bits]).unwrap(), "summary");
            let arrivals = stats.get("arrivals").unwrap();
            assert!(arrivals < 1_000, "{family}: {arrivals} sets arrived somewhere");
        }
    }

    /// In a bad order of levels the diagrams of most of these are exponential in 40.
    #[test]
    fn summary_finds_an_order_for_every_shape() {
        let sizes = SPOILABLE.iter().map(|&(family, parameters)| match (family, parameters.len()) {
            ("chain", _) => (family, vec![20, 40]),
            (_, 2) => (family, vec![40, 40]),
            _ => (family, vec![40]),
        });
        for (family, parameters) in sizes {
            for name in [family.to_owned(), format!("{family}{BUG}")] {
                let instance = instance(&name, &parameters).unwrap();
                let stats = answered(&instance, "summary");
                let count = |what: &str| stats.get(what).unwrap();
                assert!(count("vertices") < 150_000, "{}: {} vertices", instance.name, count("vertices"));
                assert_eq!(count("reorderings"), 0, "{}", instance.name);
            }
        }
    }

    #[test]
    fn weighted_decides_programs_with_unbounded_integers() {
        for instance in small() {
            let (program, _) = instance.read();
            if program.vars().iter().any(|var| var.ty == postbop_ir::Type::Integer) {
                answered(&instance, "weighted");
            }
        }
    }

    #[test]
    fn the_bug_of_quicksort_is_found_at_any_width() {
        for bits in [4, 8, 16] {
            let instance = instance("qsort-bug", &[3, bits]).unwrap();
            for engine in ["explicit", "summary", "weighted"] {
                answered(&instance, engine);
            }
        }
    }

    #[test]
    fn random_families_depend_on_their_seed_alone() {
        let families = [
            ("driver", &[6, 4, 3][..]),
            ("wide", &[8, 3]),
            ("term", &[20]),
            ("slam", &[4, 2, 4]),
            ("sparse", &[4, 2, 4]),
            ("mutual-bug", &[4, 2, 4]),
            ("scope-bug", &[4, 10]),
        ];
        for (family, rest) in families {
            let of = |seed: u64| instance(family, &[&[seed], rest].concat()).unwrap().source;
            assert_eq!(of(1), of(1));
            assert_ne!(of(1), of(2));
        }
    }

    #[test]
    fn wrong_parameters_are_refused() {
        assert!(instance("T", &[]).is_err());
        assert!(instance("T", &[0]).is_err());
        assert!(instance("open", &[2, 3]).is_err());
        assert!(instance("scope", &[1, 600, 9]).is_err());
        assert!(instance("slam", &[1, 1, 2, 2]).is_err() && instance("mutual-bug", &[1, 2, 2, 2]).is_err());
        assert!(instance("nosuch", &[1]).unwrap_err().contains("nosuch"));
    }

    #[test]
    fn headers_are_those_of_test_cases() {
        let header = instance("Tsafe", &[2]).unwrap().header();
        assert_eq!(header, "// expect: never holds\n// Tsafe-2\n");
    }
}
