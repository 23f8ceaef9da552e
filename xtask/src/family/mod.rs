//! Room `xtask`: families of benchmark programs.
//!
//! Each family is a function from parameters to source text, a target label and, where the construction says
//! it, the verdict. A family measures one thing; its function says which, and why the verdict is what it is.

mod classic;
mod integers;
mod random;
mod shape;

/// The families and their parameters, for help texts.
pub const USAGE: &str = "T N | Tsafe N | locks N | locks-bug N | open GLOBALS READ | deep DEPTH | deep-safe DEPTH | \
     quicksort BITS | driver SEED PROCS GLOBALS LOCALS | wide SEED VARS ROUNDS | term SEED VARS | \
     doubling N | asserts N | counter BITS | nested N | params N";

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
        ("doubling", &[n @ (1..)]) => (shape::doubling(n), "ERR", Some(true)),
        ("asserts", &[n @ (1..)]) => (shape::asserts(n), "ERR", Some(true)),
        ("counter", &[bits @ 1..=63]) => (shape::counter(bits), "ERR", Some(true)),
        ("nested", &[n @ (1..)]) => (shape::nested(n), "ERR", Some(true)),
        ("params", &[n @ (2..)]) => (shape::params(n), "ERR", Some(false)),
        _ => return Err(format!("no family `{family}` with parameters {parameters:?}; there are {USAGE}")),
    };
    let parameters: Vec<String> = parameters.iter().map(u64::to_string).collect();
    Ok(Instance { name: format!("{family}-{}", parameters.join("-")), source, target, expected })
}

/// Names `prefix0`, `prefix1` and so on.
fn names(prefix: &str, count: u64) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}{number}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ("doubling", &[4]),
        ("asserts", &[4]),
        ("counter", &[4]),
        ("nested", &[9]),
        ("params", &[4]),
    ];

    #[test]
    fn every_family_mentions_its_target_and_closes_its_blocks() {
        for &(family, parameters) in SMALL {
            let instance = instance(family, parameters).unwrap();
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
    fn random_families_depend_on_their_seed_alone() {
        for (family, rest) in [("driver", &[6, 4, 3][..]), ("wide", &[8, 3]), ("term", &[20])] {
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
        assert!(instance("nosuch", &[1]).unwrap_err().contains("nosuch"));
    }

    #[test]
    fn headers_are_those_of_test_cases() {
        let header = instance("Tsafe", &[2]).unwrap().header();
        assert_eq!(header, "// expect: never holds\n// Tsafe-2\n");
    }
}
