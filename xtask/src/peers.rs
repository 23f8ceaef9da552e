//! Room `xtask`: side by side with another solver.
//!
//! Z3's Spacer decides the same questions, from constrained Horn clauses ([`postbop_ir::horn`]). It is run as a process of its own, if it is
//! there: the binary `z3`, or the Python package `z3-solver`. Nothing of it is linked. Only verdicts and times are compared;
//! making the clauses is no part of its time, reading them is.

use postbop_ir::{LocId, Program, horn};
use std::path::Path;
use std::process::Command;

/// The name under which its runs are kept.
pub const NAME: &str = "z3:spacer";

/// The most memory it may take, in megabytes.
const MEMORY: u64 = 2_000;

/// How Z3 is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Z3 {
    /// The binary.
    Binary,
    /// The Python package.
    Package,
}

impl Z3 {
    /// The way that works here, if there is one, and which version it is.
    pub fn find() -> Option<(Z3, String)> {
        let version = |command: &mut Command| {
            let output = command.output().ok().filter(|output| output.status.success())?;
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let binary = version(Command::new("z3").arg("--version")).map(|version| (Z3::Binary, version));
        binary.or_else(|| {
            let ask = "import z3; print('Z3 version', z3.get_version_string())";
            version(Command::new("python3").args(["-c", ask])).map(|version| (Z3::Package, version))
        })
    }

    /// The command that decides the clauses of a file within so many seconds.
    pub fn command(self, clauses: &Path, timeout: u64) -> Command {
        match self {
            Z3::Binary => {
                let mut command = Command::new("z3");
                command.arg(format!("-T:{timeout}")).arg(format!("-memory:{MEMORY}")).arg(clauses);
                command
            }
            Z3::Package => {
                let decide = "import sys, z3\n\
                              z3.set_param('memory_max_size', int(sys.argv[3]))\n\
                              solver = z3.SolverFor('HORN')\n\
                              solver.set('timeout', 1000 * int(sys.argv[2]))\n\
                              solver.from_file(sys.argv[1])\n\
                              print(solver.check())";
                let mut command = Command::new("python3");
                command.args(["-c", decide]).arg(clauses);
                command.args([timeout.to_string(), MEMORY.to_string()]);
                command
            }
        }
    }
}

impl Z3 {
    /// The command that runs a script, with all its questions.
    pub fn script(self, file: &Path) -> Command {
        match self {
            Z3::Binary => {
                let mut command = Command::new("z3");
                command.arg(file);
                command
            }
            Z3::Package => {
                let run = "import sys, z3\n\
                           text = open(sys.argv[1]).read()\n\
                           print(z3.Z3_eval_smtlib2_string(z3.main_ctx().ref(), text))";
                let mut command = Command::new("python3");
                command.args(["-c", run]).arg(file);
                command
            }
        }
    }
}

/// The clauses of a program whose runs must not reach these locations.
pub fn clauses(program: &Program, targets: &[LocId]) -> String {
    let mut text = String::new();
    horn::write(program, targets, &mut text).expect("a string takes all text");
    text
}

/// The verdict that Z3's answer stands for: clauses that have a model are a property that holds.
pub fn verdict(answer: &str) -> &'static str {
    match answer.lines().find(|line| matches!(line.trim(), "sat" | "unsat")).map(str::trim) {
        Some("sat") => "holds",
        Some(_) => "violated",
        None => "unknown",
    }
}

/// One instance side by side: the fastest of our engines and Z3, in milliseconds, as far as they answered.
#[derive(Debug)]
pub struct Pairing {
    /// The instance.
    pub instance: String,
    /// The fastest of our engines that answered.
    pub ours: Option<(String, f64)>,
    /// What Z3 took, if it answered.
    pub theirs: Option<f64>,
    /// What each of them was given.
    pub limit: f64,
}

impl Pairing {
    /// How many times as long Z3 took: at least that, if it did not answer, and at most, if only it did.
    fn factor(&self) -> Option<f64> {
        match (&self.ours, self.theirs) {
            (None, None) => None,
            (ours, theirs) => {
                let ours = ours.as_ref().map_or(self.limit, |(_, milliseconds)| *milliseconds);
                Some(theirs.unwrap_or(self.limit) / ours)
            }
        }
    }

    fn row(&self) -> String {
        let time = |time: Option<f64>| time.map_or("-".to_owned(), |time| format!("{time:.1}"));
        let (engine, ours) = match &self.ours {
            Some((engine, milliseconds)) => (engine.as_str(), Some(*milliseconds)),
            None => ("none", None),
        };
        let bound = if ours.is_some() && self.theirs.is_some() { "" } else { "more than " };
        let outcome = match self.factor() {
            None => "neither answers".to_owned(),
            Some(factor) if factor >= 1.0 => format!("{engine} is {bound}{factor:.1} times faster"),
            Some(factor) => format!("{NAME} is {bound}{:.1} times faster", 1.0 / factor),
        };
        format!("{:<24} {engine:<10} {:>10} {:>10} {outcome}", self.instance, time(ours), time(self.theirs))
    }
}

/// The table of all pairings, and what it comes to.
pub fn table(pairings: &[Pairing]) -> Vec<String> {
    let mut lines = vec![format!("{:<24} {:<10} {:>10} {:>10}", "instance", "fastest", "ms", "z3 ms")];
    lines.extend(pairings.iter().map(Pairing::row));
    let mut factors: Vec<f64> = pairings.iter().filter_map(Pairing::factor).collect();
    factors.sort_by(f64::total_cmp);
    if let Some(median) = factors.get(factors.len() / 2) {
        let slower = factors.iter().filter(|&&factor| factor < 1.0).count();
        lines.push(format!(
            "{} instances: faster than {NAME} on {}, slower on {slower}, in the median {median:.1} times faster",
            pairings.len(),
            factors.len() - slower,
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::Kind;
    use crate::generate::Features;
    use postbop_ir::oracle::oracle;

    fn pairing(ours: Option<f64>, theirs: Option<f64>) -> Pairing {
        let ours = ours.map(|milliseconds| ("sat".to_owned(), milliseconds));
        Pairing { instance: "T-1".into(), ours, theirs, limit: 5_000.0 }
    }

    #[test]
    fn a_model_is_a_proof() {
        assert_eq!(verdict("sat\n"), "holds");
        assert_eq!(verdict("unsat\n"), "violated");
        for answer in ["", "unknown\n", "timeout\n", "(error \"out of memory\")\n"] {
            assert_eq!(verdict(answer), "unknown");
        }
    }

    /// Tried only where there is a Z3, and says so: the translation is part of no verdict of ours.
    #[test]
    fn random_programs_have_the_oracles_verdict() {
        let Some((z3, _)) = Z3::find() else {
            eprintln!("not tried: Z3 is not installed");
            return;
        };
        let file = std::env::temp_dir().join(format!("postbop-peers-{}.smt2", std::process::id()));
        let mut decided = [0, 0];
        for seed in 0..20 {
            let source = Kind::Sequential(Features::all()).program(seed);
            let program = postbop_front::read(source.as_bytes(), Default::default()).program.unwrap();
            let labels = program.labels().iter().map(|label| label.loc);
            for target in labels.chain(program.checks().iter().map(|check| check.loc)) {
                let Ok(least) = oracle(&program, &[&[target]], 100_000) else { continue };
                std::fs::write(&file, clauses(&program, &[target])).unwrap();
                let output = z3.command(&file, 10).output().unwrap();
                let said = verdict(&String::from_utf8_lossy(&output.stdout));
                let expected = if least[0].is_some() { "violated" } else { "holds" };
                assert!(said == expected || said == "unknown", "seed {seed}, {target}: {said}\n{source}");
                decided[usize::from(least[0].is_some())] += usize::from(said == expected);
            }
        }
        std::fs::remove_file(&file).unwrap();
        assert!(decided.iter().all(|&count| count >= 8), "{decided:?}");
    }

    #[test]
    fn the_table_says_who_is_faster() {
        let row = |ours, theirs| pairing(ours, theirs).row();
        assert!(row(Some(10.0), Some(1_000.0)).ends_with("sat is 100.0 times faster"));
        assert!(row(Some(10.0), Some(5.0)).ends_with("z3:spacer is 2.0 times faster"));
        assert!(row(Some(10.0), None).ends_with("sat is more than 500.0 times faster"));
        assert!(row(None, Some(50.0)).ends_with("z3:spacer is more than 100.0 times faster"));
        assert!(row(None, None).ends_with("neither answers"));
        let all = [pairing(Some(1.0), Some(3.0)), pairing(Some(2.0), Some(1.0)), pairing(Some(1.0), None)];
        let last = table(&all).pop().unwrap();
        assert!(last.starts_with("3 instances: faster than z3:spacer on 2, slower on 1, in the median 3.0"));
    }
}
