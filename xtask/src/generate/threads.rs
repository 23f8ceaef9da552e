//! Room `xtask`: random programs with threads, as source text.
//!
//! # Idea
//! Two or three threads over a few shared variables, each a handful of statements and a procedure that calls itself.
//! The judge of such programs tries all interleavings with all stacks, so everything is small: mostly the recursion is
//! bounded by a parameter, one local at most is arbitrary, and expressions are short. The label `ERR` stands behind a condition on
//! shared variables in one thread or several, and there may be assertions.
//!
//! All three styles occur: blocks, Getafix's names, and procedures that `main` starts.

use super::Features;
use super::expr::Exprs;
use super::scope::{Ty, Var};
use crate::rng::Rng;

/// How the threads are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Blocks,
    Getafix,
    Started,
}

/// The program with threads of this seed.
pub fn threads(seed: u64) -> String {
    let rng = &mut Rng::new(seed);
    let style = *rng.pick(&[Style::Blocks, Style::Blocks, Style::Getafix, Style::Started]);
    let mut features = Features::none();
    (features.integers, features.choice, features.size.depth) = (true, rng.chance(0.2), 2);
    let shared: Vec<Var> = (0..rng.range(1, 3))
        .map(|at| {
            let ty = if rng.chance(0.75) { Ty::Bool } else { Ty::Uint(2) };
            Var { name: format!("g{at}"), ty, len: None }
        })
        .collect();
    let count = if style == Style::Started { 2 } else { rng.range(2, 3) };
    let guarded = rng.below(count);
    let mut writer = Writer {
        rng,
        features,
        shared,
        lines: Vec::new(),
        thread: 0,
        inside: Vec::new(),
        calls: true,
        room: 0,
    };
    writer.globals(style);
    for thread in 0..count {
        writer.thread = thread;
        writer.thread(style, thread == guarded);
    }
    if style == Style::Started {
        writer.lines.push("void main() begin ASYNC_1: thread0(); ASYNC_2: thread1(); end".to_owned());
    }
    writer.lines.push(String::new());
    writer.lines.join("\n")
}

struct Writer<'a> {
    rng: &'a mut Rng,
    features: Features,
    shared: Vec<Var>,
    lines: Vec<String>,
    /// The thread under way.
    thread: usize,
    /// The locals of the procedure under way.
    inside: Vec<Var>,
    /// Whether it may call the thread's other procedure.
    calls: bool,
    /// How many more statements the procedure may have.
    room: usize,
}

impl Writer<'_> {
    fn globals(&mut self, style: Style) {
        let mut initial = Vec::new();
        for var in self.shared.clone() {
            let value = self.exprs(|exprs| exprs.constant(var.ty));
            let given = self.rng.chance(0.85);
            let set = if given && style != Style::Getafix { format!(" := {value}") } else { String::new() };
            self.lines.push(format!("decl {} {}{set};", var.ty.name(), var.name));
            initial.extend(given.then(|| format!("{} := {value};", var.name)));
        }
        if style == Style::Getafix {
            self.lines.push("decl atomic;".to_owned());
            self.lines.push(format!("void init() begin atomic := F; {} end", initial.join(" ")));
        }
    }

    fn thread(&mut self, style: Style, guarded: bool) {
        let thread = self.thread;
        let name = if style == Style::Blocks { "main".to_owned() } else { format!("thread{thread}") };
        if style == Style::Blocks {
            self.lines.push(format!("thread t{thread} begin"));
        }
        self.lines.push(format!("void {name}() begin"));
        self.inside.clear();
        if self.rng.chance(0.4) {
            let init = if self.rng.chance(0.7) { " := F" } else { "" };
            self.lines.push(format!("  decl l{init};"));
            self.inside.push(Var { name: "l".to_owned(), ty: Ty::Bool, len: None });
        }
        self.calls = true;
        self.room = self.rng.range(2, 5);
        self.block(style, 1);
        if guarded || self.rng.chance(0.3) {
            let condition = self.exprs(|exprs| exprs.narrow_condition(2));
            self.lines.push(format!("  if ({condition}) then ERR: skip; fi"));
        }
        self.lines.push("end".to_owned());
        self.recursive(style);
        if style == Style::Blocks {
            self.lines.push("end".to_owned());
        }
    }

    /// The procedure that calls itself: as often as its parameter says, or as often as it likes.
    fn recursive(&mut self, style: Style) {
        let name = format!("f{}", self.thread);
        let bounded = self.rng.chance(0.9);
        self.inside.clear();
        let (condition, argument) = match bounded {
            true => ("n != 0".to_owned(), "n - 1"),
            false => (self.exprs(|exprs| exprs.condition()), "n"),
        };
        self.lines.push(format!("void {name}(uint<2> n) begin"));
        self.calls = false;
        self.room = self.rng.range(1, 2);
        self.block(style, 1);
        self.lines.push(format!("  if ({condition}) then"));
        self.lines.push(format!("    {name}({argument});"));
        if self.rng.chance(0.5) {
            // The statements may read the parameter but not change it: it must go down.
            let target = self.rng.pick(&self.shared).clone();
            self.inside.push(Var { name: "n".to_owned(), ty: Ty::Uint(2), len: None });
            let value = self.exprs(|exprs| exprs.expr(target.ty));
            self.lines.push(format!("    {} := {value};", target.name));
        }
        self.lines.push("  fi".to_owned());
        self.lines.push("end".to_owned());
    }

    fn exprs<T>(&mut self, make: impl FnOnce(&mut Exprs) -> T) -> T {
        let vars = [&self.shared[..], &self.inside[..]].concat();
        make(&mut Exprs { rng: self.rng, features: self.features, vars: &vars, primed: &[], choice_bits: 1 })
    }

    /// Statements as long as there is room.
    fn block(&mut self, style: Style, depth: usize) {
        let count = self.rng.range(1, self.room.max(1));
        for _ in 0..count {
            let Some(room) = self.room.checked_sub(1) else { break };
            self.room = room;
            self.statement(style, depth);
        }
    }

    fn say(&mut self, depth: usize, text: String) {
        self.lines.push(format!("{}{text}", "  ".repeat(depth)));
    }

    fn assignment(&mut self) -> String {
        let vars = [&self.shared[..], &self.inside[..]].concat();
        let target = self.rng.pick(&vars).clone();
        let value = self.exprs(|exprs| exprs.expr(target.ty));
        format!("{} := {value};", target.name)
    }

    fn statement(&mut self, style: Style, depth: usize) {
        let nested = if depth < 3 { 2 } else { 0 };
        match self.rng.weighted(&[6, 2, nested, 3, 2, 1, 1]) {
            0 => {
                let text = self.assignment();
                self.say(depth, text);
            }
            1 => {
                let condition = self.exprs(|exprs| exprs.narrow_condition(1));
                self.say(depth, format!("assume({condition});"));
            }
            2 => {
                let condition = self.exprs(|exprs| exprs.condition());
                self.say(depth, format!("if ({condition}) then"));
                self.room = self.room.max(1);
                self.block(style, depth + 1);
                self.say(depth, "fi".to_owned());
            }
            3 => {
                let depth_of = self.rng.range(0, 2);
                // Calls inside the procedure itself are those that its parameter bounds.
                let call =
                    if self.calls { format!("f{}({depth_of});", self.thread) } else { "skip;".to_owned() };
                self.say(depth, call);
            }
            4 => {
                let own = style == Style::Getafix;
                let (begin, end) =
                    if own { ("atomic := T;", "atomic := F;") } else { ("atomic_begin;", "atomic_end;") };
                self.say(depth, begin.to_owned());
                for _ in 0..self.rng.range(1, 2) {
                    let text = self.assignment();
                    self.say(depth + 1, text);
                }
                self.say(depth, end.to_owned());
            }
            5 => {
                let condition = self.exprs(|exprs| exprs.condition());
                self.say(depth, format!("assert({condition});"));
            }
            _ => {
                let condition = self.exprs(|exprs| exprs.narrow_condition(1));
                let text = self.assignment();
                self.say(depth, format!("while ({condition}) do {text} od"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postbop_ir::interleave::{Answer, Limits, Schedule, interleave};

    #[test]
    fn programs_are_correct_and_mostly_small_enough_to_judge() {
        let limits = Limits { configurations: 60_000, depth: 5 };
        let (mut reached, mut never, mut unknown) = (0, 0, 0);
        for seed in 0..60 {
            let source = threads(seed);
            assert_eq!(source, threads(seed));
            let reading = postbop_front::read(source.as_bytes(), Default::default());
            assert!(
                !reading.diagnostics.iter().any(|found| found.is_error()),
                "{:?}\n{source}",
                reading.diagnostics
            );
            let program = reading.program.expect("no errors");
            assert_eq!(postbop_ir::validate(&program), [], "{source}");
            assert!(program.threads.len() > 1, "{source}");
            let targets: Vec<_> =
                program.labels.iter().filter(|label| label.name == "ERR").map(|label| label.loc).collect();
            assert!(!targets.is_empty(), "{source}");
            match interleave(&program, Schedule::Switches(3), limits).at(&targets) {
                Answer::Reached(_) => reached += 1,
                Answer::Never => never += 1,
                Answer::Unknown => unknown += 1,
            }
        }
        assert!(
            reached > 10 && never > 10 && unknown < 20,
            "{reached} reached, {never} not, {unknown} unknown"
        );
        println!("{reached} reached, {never} not, {unknown} unknown");
    }
}
