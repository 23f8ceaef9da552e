//! Room `xtask`: random programs with many properties.
//!
//! # Idea
//! 50 to 400 assertions and labels over a few Boolean variables. Three kinds are mixed: properties that hold for a
//! reason that has to be found, properties that fail, and vacuous ones, which no run comes to. An assertion stops the
//! runs that violate it, so a row of assertions would soon leave no run at all: globals get new arbitrary values every
//! few statements, and assertions that would stop every run are rare outside of branches.
//!
//! What can go wrong with many properties does not show with three: the bookkeeping of which are still open, properties
//! that share a location, answers given in the wrong order, and verdicts that an early end leaves undecided.

use crate::rng::Rng;

/// The program of this seed.
pub fn many(seed: u64) -> String {
    let rng = &mut Rng::new(seed);
    let globals = rng.range(1, 3);
    let procs = rng.range(1, 6);
    let most = if rng.chance(0.3) { 400 } else { 150 };
    let left = rng.range(50, most);
    let mut writer = Writer { globals, procs, left, labels: 0, rng, text: String::new() };
    for global in 0..globals {
        writer.text += &format!("decl g{global};\n");
    }
    let all = writer.left;
    for proc in 0..procs {
        writer.procedure(proc, all / (procs + 1));
    }
    let rest = writer.left;
    writer.procedure(procs, rest);
    writer.text
}

struct Writer<'a> {
    globals: usize,
    /// Procedures besides main. Each may call those before it, and not all are called.
    procs: usize,
    /// How many properties are still to be written.
    left: usize,
    labels: usize,
    rng: &'a mut Rng,
    text: String,
}

impl Writer<'_> {
    fn line(&mut self, depth: usize, line: &str) {
        self.text += &format!("{}{line}\n", "  ".repeat(depth));
    }

    /// The variable of this number, or its negation.
    fn atom(&mut self, at: usize) -> String {
        let name = if at == 0 { "x".to_owned() } else { format!("g{}", at - 1) };
        if self.rng.chance(0.4) { format!("!{name}") } else { name }
    }

    /// A condition over one variable or two different ones: never constant, so that an assertion of it leaves some runs.
    fn expr(&mut self) -> String {
        let at = self.rng.below(self.globals + 1);
        let one = self.atom(at);
        if self.rng.chance(0.3) {
            return one;
        }
        let op = *self.rng.pick(&["|", "&", "^", "=>", "="]);
        let further = self.rng.range(1, self.globals);
        let other = self.atom((at + further) % (self.globals + 1));
        format!("({one} {op} {other})")
    }

    /// The procedure of this number, main for the last, with so many properties.
    fn procedure(&mut self, number: usize, properties: usize) {
        let name = if number < self.procs { format!("p{number}") } else { "main".to_owned() };
        let rest = self.left - properties.min(self.left);
        self.line(0, &format!("void {name}()"));
        self.line(0, "begin");
        self.line(1, "decl x;");
        while self.left > rest {
            self.statement(1, number);
        }
        self.line(0, "end");
    }

    fn statement(&mut self, depth: usize, number: usize) {
        match self.rng.below(12) {
            0 | 1 => self.forget(depth),
            2 => {
                let value = self.expr();
                let global = self.rng.below(self.globals);
                self.line(depth, &format!("g{global} := {value};"));
            }
            3 if number > 0 => {
                let callee = self.rng.below(number);
                self.line(depth, &format!("p{callee}();"));
            }
            4..=6 if depth < 4 => {
                let condition = if self.rng.chance(0.2) { "*".to_owned() } else { self.expr() };
                self.line(depth, &format!("if ({condition}) then"));
                for _ in 0..self.rng.range(1, 3) {
                    self.statement(depth + 1, number);
                }
                if self.rng.chance(0.4) {
                    self.line(depth, "else");
                    self.statement(depth + 1, number);
                }
                self.line(depth, "fi");
            }
            7 => self.vacuous(depth),
            8 => {
                // True wherever it is looked at.
                let global = self.rng.below(self.globals);
                self.line(depth, &format!("x := !g{global};"));
                self.assertion(depth, &format!("x ^ g{global}"));
            }
            9 | 10 => self.label(depth),
            _ => {
                let condition = self.expr();
                self.assertion(depth, &condition);
                if self.rng.chance(0.7) {
                    self.forget(depth);
                }
            }
        }
    }

    /// New arbitrary values for everything.
    fn forget(&mut self, depth: usize) {
        let names: Vec<String> = (0..self.globals).map(|global| format!("g{global}")).collect();
        let values = vec!["*"; self.globals + 1].join(", ");
        self.line(depth, &format!("x, {} := {values};", names.join(", ")));
    }

    fn assertion(&mut self, depth: usize, condition: &str) {
        self.line(depth, &format!("assert({condition});"));
        self.left = self.left.saturating_sub(1);
    }

    fn label(&mut self, depth: usize) {
        let condition = self.expr();
        self.line(depth, &format!("if ({condition}) then"));
        let label = format!("ERR{}: skip;", self.labels);
        self.line(depth + 1, &label);
        self.line(depth, "fi");
        self.labels += 1;
        self.left = self.left.saturating_sub(1);
    }

    /// Properties where no run comes.
    fn vacuous(&mut self, depth: usize) {
        let (condition, other) = (self.expr(), self.expr());
        self.line(depth, &format!("if ({condition}) then"));
        match self.rng.below(3) {
            0 => self.line(depth + 1, "return;"),
            1 => self.line(depth + 1, &format!("assume(!{condition});")),
            _ => self.line(depth + 1, "assume(0);"),
        }
        self.assertion(depth + 1, &other);
        if self.rng.chance(0.3) {
            self.label(depth + 1);
        }
        self.line(depth, "fi");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_properties_as_were_asked_for() {
        for seed in 0..20 {
            let source = many(seed);
            assert_eq!(source, many(seed));
            let count = source.matches("assert(").count() + source.matches("ERR").count();
            assert!((50..=420).contains(&count), "{count}");
        }
    }
}
