//! Room `xtask`: random programs whose shortest runs are astronomically long.
//!
//! # Idea
//! A chain of procedures, each of which calls the next one two or three times: n procedures make runs of 2^n steps and
//! more, although the program is short and has few valuations. Whatever a body does between the calls, every way
//! through it makes at least one call, and nearly every way makes two. So an engine that counts steps in a machine word
//! is wrong about most of these programs.
//!
//! The values that calls pass on and return are Boolean, and conditions depend on them, so that different values take
//! different numbers of calls: the shortest run is not the one with the fewest procedures, and an engine has to add up
//! exact lengths to find it. Half of the chains have a middle in which the target is tested as well, so that some
//! targets are reached while many calls are pending.

use crate::rng::Rng;

/// The program of this seed.
pub fn long(seed: u64) -> String {
    let rng = &mut Rng::new(seed);
    let globals = rng.range(1, 3);
    let params = rng.below(if globals == 3 { 2 } else { 3 });
    let most = if rng.chance(0.3) { 300 } else { 120 };
    let length = rng.range(40, most);
    let results = rng.below(2);
    let mut chain = Chain { globals, params, results, length, rng, text: String::new() };
    chain.declare();
    chain.main();
    for level in 0..length {
        chain.procedure(level);
    }
    chain.text
}

struct Chain<'a> {
    globals: usize,
    /// How many parameters each procedure of the chain has ...
    params: usize,
    /// ... and how many results: one or none.
    results: usize,
    length: usize,
    rng: &'a mut Rng,
    text: String,
}

impl Chain<'_> {
    fn line(&mut self, depth: usize, line: &str) {
        self.text += &format!("{}{line}\n", "  ".repeat(depth));
    }

    fn declare(&mut self) {
        for global in 0..self.globals {
            let start = *self.rng.pick(&[" := 0", " := 1", " := 0", ""]);
            self.line(0, &format!("decl g{global}{start};"));
        }
    }

    /// A variable, or a constant now and then. `locals` says whether parameters and the local are in scope.
    fn atom(&mut self, locals: bool) -> String {
        let params = if locals { self.params + 1 } else { 0 };
        match self.rng.below(self.globals + params + 1) {
            at if at < self.globals => format!("g{at}"),
            at if at < self.globals + params => match at - self.globals {
                0 => "x".to_owned(),
                param => format!("a{}", param - 1),
            },
            _ => (*self.rng.pick(&["0", "1"])).to_owned(),
        }
    }

    fn expr(&mut self, locals: bool) -> String {
        let one = self.atom(locals);
        match self.rng.below(5) {
            0 => one,
            1 | 2 => format!("!{one}"),
            _ => {
                let op = *self.rng.pick(&["^", "&", "|", "^"]);
                let other = self.atom(locals);
                format!("{one} {op} {other}")
            }
        }
    }

    /// The call of the procedure at this level; its result goes to the local, or to a global.
    fn call(&mut self, level: usize, locals: bool) -> String {
        let arguments: Vec<String> = (0..self.params).map(|_| self.expr(locals)).collect();
        let call = format!("p{level}({});", arguments.join(", "));
        match self.results {
            0 => call,
            _ if locals && self.rng.chance(0.6) => format!("x := {call}"),
            _ => format!("g{} := {call}", self.rng.below(self.globals)),
        }
    }

    fn main(&mut self) {
        self.line(0, "void main()");
        self.line(0, "begin");
        for _ in 0..self.rng.range(1, 2) {
            let call = self.call(0, false);
            self.line(1, &call);
        }
        if self.rng.chance(0.5) {
            let condition = self.expr(false);
            self.line(1, &format!("assert({condition});"));
        }
        self.test(1, false);
        self.line(0, "end");
    }

    /// The label behind a condition.
    fn test(&mut self, depth: usize, locals: bool) {
        let condition = self.expr(locals);
        self.line(depth, &format!("if ({condition}) then"));
        self.line(depth + 1, "ERR: skip;");
        self.line(depth, "fi");
    }

    fn procedure(&mut self, level: usize) {
        let params: Vec<String> = (0..self.params).map(|param| format!("a{param}")).collect();
        let kind = if self.results == 0 { "void" } else { "bool" };
        self.line(0, &format!("{kind} p{level}({})", params.join(", ")));
        self.line(0, "begin");
        self.line(1, "decl x;");
        let start = self.expr(false);
        self.line(1, &format!("x := {start};"));
        if level + 1 < self.length {
            for _ in 0..*self.rng.pick(&[1, 2, 2, 2, 2, 2, 2, 3]) {
                self.calls(level + 1);
            }
        } else {
            let change = self.expr(true);
            self.line(1, &format!("g0 := {change};"));
        }
        if self.rng.chance(1.0 / self.length as f64) {
            self.test(1, true);
        }
        if self.results > 0 {
            let result = self.expr(true);
            self.line(1, &format!("return {result};"));
        }
        self.line(0, "end");
    }

    /// Statements of which every way through makes a call.
    fn calls(&mut self, next: usize) {
        match self.rng.below(10) {
            0 => {
                let global = self.rng.below(self.globals);
                let value = self.expr(true);
                self.line(1, &format!("g{global} := {value};"));
            }
            1 => {
                // Sometimes free to choose, so that several runs compete for being shortest.
                let condition = if self.rng.chance(0.2) { "*".to_owned() } else { self.expr(true) };
                self.line(1, &format!("if ({condition}) then"));
                let call = self.call(next, true);
                self.line(2, &call);
                self.line(1, "else");
                for _ in 0..self.rng.range(0, 1) {
                    let value = self.expr(true);
                    self.line(2, &format!("x := {value};"));
                }
                let call = self.call(next, true);
                self.line(2, &call);
                self.line(1, "fi");
                return;
            }
            2 if self.rng.chance(0.3) => {
                // A loop that may make any number of further calls, and shortest runs none.
                let call = self.call(next, true);
                self.text += &format!("  while (*) do\n    {call}\n  od\n");
            }
            _ => {}
        }
        let call = self.call(next, true);
        self.line(1, &call);
    }
}

/// The program with procedures of its chain left out, as long as it is `still_bad`. The caller of one that is left out
/// calls the next one instead, which has the same signature. Dropping lines alone never gets a chain shorter.
pub fn shorter_chain(source: &str, still_bad: &mut dyn FnMut(&str) -> bool) -> String {
    let mut source = source.to_owned();
    let has = |text: &str, level: usize| text.contains(&format!(" p{level}("));
    let last = (0..1000).rfind(|&level| has(&source, level)).unwrap_or(0);
    let mut left_out = 16;
    while left_out > 0 {
        for level in (0..last).step_by(left_out) {
            let levels = level..(level + left_out).min(last);
            let candidate = levels.fold(source.clone(), |text, level| {
                let next = (level + 1..=last).find(|&next| has(&text, next));
                next.map_or(text.clone(), |next| without(&text, level, next))
            });
            if candidate != source && still_bad(&candidate) {
                source = candidate;
            }
        }
        left_out /= 2;
    }
    source
}

/// The program without the procedure of one level, if it has one; its callers call that of another.
fn without(source: &str, level: usize, next: usize) -> String {
    let (own, next) = (format!(" p{level}("), format!(" p{next}("));
    let is_heading =
        |line: &str| (line.starts_with("void ") || line.starts_with("bool ")) && line.contains(&own);
    let mut inside = false;
    let mut text = String::new();
    for line in source.lines() {
        inside |= is_heading(line);
        if !inside {
            text += &line.replace(&own, &next);
            text.push('\n');
        }
        inside &= line != "end";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_long_and_each_procedure_calls_the_next() {
        for seed in 0..20 {
            let source = long(seed);
            assert_eq!(source, long(seed));
            let length = source.matches("\nvoid p").count() + source.matches("\nbool p").count();
            assert!((40..=300).contains(&length), "{length}");
            // Once where it is defined, and in all but a few bodies at least twice where it is called.
            let twice =
                (1..length).filter(|level| source.matches(&format!(" p{level}(")).count() > 2).count();
            assert!(twice * 10 > length * 7, "{source}");
        }
    }

    #[test]
    fn chains_are_shortened_without_gaps() {
        let source = long(3);
        let count = |text: &str| text.matches("\nvoid p").count() + text.matches("\nbool p").count();
        let small = shorter_chain(&source, &mut |text| count(text) >= 7);
        assert_eq!(count(&small), 7);
        let last = (0..300).rfind(|level| source.contains(&format!(" p{level}("))).unwrap();
        assert!(small.contains(&format!(" p{last}(")), "{small}");
    }
}
