//! Room `xtask`: what came of a soak, and where its time went.

use super::child::Ran;
use super::inputs::Form;
use std::collections::BTreeMap;
use std::time::Duration;

/// What came of the runs so far.
#[derive(Default, Debug)]
pub struct Tally {
    /// How many runs ended with each status.
    statuses: BTreeMap<i32, u64>,
    /// What the runs on inputs of each form took, and the runs with each word on their command lines.
    forms: BTreeMap<Form, Taken>,
    words: BTreeMap<String, Taken>,
    /// Runs beyond the time by the clock, but not by the processor.
    delayed: u64,
    /// The most memory that a run used, in bytes, and the longest time that one took.
    memory: u64,
    wall: Duration,
    /// What went wrong, and the seeds of the inputs.
    failures: Vec<(u64, String)>,
}

/// What some of the runs took.
#[derive(Clone, Copy, Default, Debug)]
struct Taken {
    runs: u64,
    /// How many of them used up their time.
    limited: u64,
    /// How many of them ended with an answer: the statuses 0 and 1.
    answered: u64,
    wall: Duration,
}

impl Taken {
    fn add(&mut self, ran: &Ran, timeout: Duration) {
        self.runs += 1;
        self.limited += u64::from(ran.wall >= timeout);
        self.answered += u64::from(matches!(ran.status.code(), Some(0 | 1)));
        self.wall += ran.wall;
    }
}

impl Tally {
    /// Counts a run, and what went wrong in it.
    pub fn add(&mut self, seed: u64, about: &About, ran: &Ran, flaw: Option<String>) {
        self.forms.entry(about.form).or_default().add(ran, about.timeout);
        // What follows the options that take free text is different in each run.
        let words = about.arguments.iter().filter(|word| word.len() < 20 && !word.contains([' ', '/']));
        words.for_each(|word| self.words.entry(word.clone()).or_default().add(ran, about.timeout));
        *self.statuses.entry(ran.status.code().unwrap_or(-1)).or_default() += 1;
        self.memory = self.memory.max(ran.memory);
        self.wall = self.wall.max(ran.wall);
        self.delayed += u64::from(flaw.is_none() && ran.wall > about.timeout + super::SLACK);
        self.failures.extend(flaw.map(|what| (seed, what)));
    }

    /// How many runs there were.
    pub fn runs(&self) -> u64 {
        self.forms.values().map(|taken| taken.runs).sum()
    }

    /// Whether nothing went wrong.
    pub fn is_good(&self) -> bool {
        self.failures.is_empty()
    }

    /// The first failure.
    pub fn failure(&self) -> Option<String> {
        self.failures.first().map(|(seed, what)| format!("seed {seed}: {what}"))
    }

    /// How far the soak is, after this time.
    pub fn so_far(&self, time: Duration) -> String {
        let (runs, limited) = (self.runs(), self.forms.values().map(|taken| taken.limited).sum::<u64>());
        format!(
            "{runs} runs, {:.1} in a second; {} used up their time; {} failures",
            runs as f64 / time.as_secs_f64().max(1e-9),
            limited,
            self.failures.len()
        )
    }

    /// The last lines of a soak.
    pub fn lines(&self) -> Vec<String> {
        let forms: Vec<String> =
            self.forms.iter().map(|(form, taken)| format!("{form:?} {}", taken.runs)).collect();
        let statuses: Vec<String> =
            self.statuses.iter().map(|(status, count)| format!("{status}: {count}")).collect();
        vec![
            format!("{} runs ({})", self.runs(), forms.join(", ")),
            format!("exit statuses {}", statuses.join(", ")),
            format!(
                "at most {} MB and {:.1} s; {} runs were late by the clock alone",
                self.memory / 1_000_000,
                self.wall.as_secs_f64(),
                self.delayed
            ),
            format!("{} failures", self.failures.len()),
        ]
    }

    /// Where the time went: a line for each form and for each word, those that took most of it first.
    pub fn shares(&self) -> Vec<String> {
        let forms = self.forms.iter().map(|(form, taken)| (format!("{form:?}"), *taken));
        let words = self.words.iter().map(|(word, taken)| (word.clone(), *taken));
        let mut all: Vec<(String, Taken)> = forms.chain(words).collect();
        all.sort_by_key(|(_, taken)| std::cmp::Reverse(taken.wall));
        let line = |(name, Taken { runs, limited, answered, wall }): &(String, Taken)| {
            let seconds = wall.as_secs_f64();
            format!(
                "{name:20} {runs:7} runs, {answered:7} answered, {limited:6} to the limit, {seconds:8.1} s"
            )
        };
        all.iter().map(line).collect()
    }
}

/// What a run was about.
pub struct About<'a> {
    /// The form of its input.
    pub form: Form,
    /// Its command line.
    pub arguments: &'a [String],
    /// The time that it had.
    pub timeout: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn runs_are_counted_by_what_they_were_about() {
        let status = Command::new("true").status().unwrap();
        let of = |wall| {
            let wall = Duration::from_millis(wall);
            Ran { status, killed: false, wall, cpu: wall, memory: 7_000_000, err: String::new() }
        };
        let (timeout, mut tally) = (Duration::from_secs(5), Tally::default());
        let arguments = ["check", "a/b.bp", "--engine", "sat"].map(str::to_owned);
        let about = About { form: Form::Program, arguments: &arguments, timeout };
        tally.add(1, &about, &of(5001), None);
        tally.add(2, &about, &of(100), Some("a panic".into()));
        tally.add(3, &About { form: Form::Graph, arguments: &arguments[..1], timeout }, &of(7001), None);
        assert_eq!(
            tally.so_far(Duration::from_secs(6)),
            "3 runs, 0.5 in a second; 2 used up their time; 1 failures"
        );
        assert_eq!(tally.lines()[0], "3 runs (Program 2, Graph 1)");
        assert_eq!(tally.lines()[2], "at most 7 MB and 7.0 s; 1 runs were late by the clock alone");
        assert_eq!(tally.failure(), Some("seed 2: a panic".into()));
        let shares = tally.shares();
        assert!(
            shares[0].starts_with("check") && shares[0].contains("3 runs") && shares[0].contains("12.1 s")
        );
        assert!(shares.iter().all(|line| !line.contains("a/b.bp")));
    }
}
