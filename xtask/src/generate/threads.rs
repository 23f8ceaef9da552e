//! Room `xtask`: random programs with threads, as source text.
//!
//! # Idea
//! Two or three threads over a few shared variables, each a handful of statements and a procedure that calls itself, or
//! two that call each other. These take a Boolean now and then and have up to two results, which go to shared variables
//! and to locals.
//!
//! The oracle of such programs tries all interleavings with all stacks, so everything is small: mostly the recursion is
//! bounded by a parameter, one local at most is arbitrary, at most one place of the program makes a choice, and
//! expressions are short. The label `ERR` stands behind a condition in one thread or several, and there may be assertions.
//!
//! All three styles occur: blocks, Getafix's names, and threads that are started, in each of the ways there are.

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

/// Where a thread that is started begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begin {
    /// In a procedure of its own.
    Own,
    /// In one that calls itself.
    Recursive,
    /// At a label of `main`.
    Label,
}

/// The program with threads of this seed.
pub fn threads(seed: u64) -> String {
    let rng = &mut Rng::new(seed);
    let style = *rng.pick(&[Style::Blocks, Style::Blocks, Style::Getafix, Style::Started]);
    let mut features = Features::none();
    (features.integers, features.size.depth) = (true, 2);
    let shared: Vec<Var> = (0..rng.range(1, 3))
        .map(|at| {
            let ty = if rng.chance(0.75) { Ty::Bool } else { Ty::Uint(2) };
            var(&format!("g{at}"), ty)
        })
        .collect();
    let count = if style == Style::Started { 2 } else { rng.range(2, 3) };
    let guarded = rng.below(count);
    let choice = rng.chance(0.3);
    let mut writer = Writer {
        rng,
        features,
        style,
        shared,
        lines: Vec::new(),
        procs: Vec::new(),
        inside: Vec::new(),
        calls: true,
        room: 0,
        choice,
    };
    writer.globals();
    if style == Style::Started {
        writer.started(guarded);
    } else {
        for thread in 0..count {
            writer.thread(thread, thread == guarded);
        }
    }
    writer.lines.push(String::new());
    writer.lines.join("\n")
}

fn var(name: &str, ty: Ty) -> Var {
    Var { name: name.to_owned(), ty, len: None }
}

/// A procedure that calls itself or is called by one that it calls. Its first parameter bounds that.
#[derive(Clone)]
struct Proc {
    name: String,
    /// Whether it has a Boolean parameter too.
    flag: bool,
    results: Vec<Ty>,
}

struct Writer<'a> {
    rng: &'a mut Rng,
    features: Features,
    style: Style,
    shared: Vec<Var>,
    lines: Vec<String>,
    /// The recursive procedures of the thread under way.
    procs: Vec<Proc>,
    /// The locals of the procedure under way.
    inside: Vec<Var>,
    /// Whether it may call the thread's recursive procedures as it likes.
    calls: bool,
    /// How many more statements the procedure may have.
    room: usize,
    /// Whether the program may still make a choice.
    choice: bool,
}

impl Writer<'_> {
    fn globals(&mut self) {
        let mut initial = Vec::new();
        for var in self.shared.clone() {
            let value = self.exprs(|exprs| exprs.constant(var.ty));
            let given = self.rng.chance(0.85);
            let set =
                if given && self.style != Style::Getafix { format!(" := {value}") } else { String::new() };
            self.lines.push(format!("decl {} {}{set};", var.ty.name(), var.name));
            initial.extend(given.then(|| format!("{} := {value};", var.name)));
        }
        if self.style == Style::Getafix {
            self.lines.push("decl atomic;".to_owned());
            self.lines.push(format!("void init() begin atomic := F; {} end", initial.join(" ")));
        }
        if self.rng.chance(0.2) {
            let value = self.rng.below(2);
            self.lines.insert(0, format!("decl thread_local bool own := {value};"));
            self.shared.push(var("own", Ty::Bool));
        }
    }

    /// A thread that is there from the beginning.
    fn thread(&mut self, thread: usize, guarded: bool) {
        self.sign(thread);
        let blocks = self.style == Style::Blocks;
        if blocks {
            self.lines.push(format!("thread t{thread} begin"));
        }
        self.main(if blocks { "main".to_owned() } else { format!("thread{thread}") }, None);
        self.body(guarded);
        self.lines.push("end".to_owned());
        self.recursive();
        if blocks {
            self.lines.push("end".to_owned());
        }
    }

    /// Two threads that are started: both by `main`, or the second by the first.
    fn started(&mut self, guarded: usize) {
        let nested = self.rng.chance(0.2);
        let begins = [0, 1].map(|thread| match self.rng.weighted(&[5, 2, 3]) {
            1 if thread != guarded && !(nested && thread == 0) => Begin::Recursive,
            2 if !nested => Begin::Label,
            _ => Begin::Own,
        });
        let mut starts = Vec::new();
        for thread in [1, 0] {
            self.sign(thread);
            let argument = self.rng.chance(0.4);
            if begins[thread] == Begin::Own {
                self.main(format!("thread{thread}"), argument.then(|| var("a", Ty::Bool)));
                if nested && thread == 0 {
                    self.lines.extend(starts.pop());
                }
                self.body(thread == guarded);
                self.lines.push("end".to_owned());
            }
            self.recursive();
            starts.push(self.start(thread, begins[thread], argument));
        }
        self.main("main".to_owned(), None);
        for start in starts {
            if self.rng.chance(0.3) {
                self.room = 1;
                self.block(1);
            }
            self.lines.push(start);
        }
        self.room = self.rng.below(2);
        self.block(1);
        for thread in [0, 1].into_iter().filter(|thread| begins[*thread] == Begin::Label) {
            let end = *self.rng.pick(&["return;", "end_thread;", "skip;"]);
            self.say(1, end.to_owned());
            self.say(1, format!("L{thread}: skip;"));
            self.body(thread == guarded);
        }
        self.lines.push("end".to_owned());
    }

    /// The statement that starts a thread.
    fn start(&mut self, thread: usize, begin: Begin, argument: bool) -> String {
        let what = match begin {
            Begin::Label => return format!("  start_thread goto L{thread};"),
            Begin::Recursive => {
                let (proc, bound) = (self.procs[0].clone(), self.rng.range(0, 2));
                self.inside.clear();
                self.arguments(&proc, &bound.to_string())
            }
            Begin::Own if argument => format!("thread{thread}({})", self.rng.pick(&self.shared_flags())),
            Begin::Own => format!("thread{thread}()"),
        };
        let word = if self.rng.chance(0.5) { "start_thread".to_owned() } else { format!("ASYNC_{thread}:") };
        format!("  {word} {what};")
    }

    /// What a Boolean argument may be where there are no locals.
    fn shared_flags(&self) -> Vec<String> {
        let flags = self.shared.iter().filter(|var| var.ty == Ty::Bool).map(|var| var.name.clone());
        flags.chain(["T".to_owned()]).collect()
    }

    /// The head of the procedure that a thread begins in.
    fn main(&mut self, name: String, param: Option<Var>) {
        let params =
            param.as_ref().map_or(String::new(), |param| format!("{} {}", param.ty.name(), param.name));
        self.lines.push(format!("void {name}({params}) begin"));
        self.inside = param.into_iter().collect();
        if self.rng.chance(0.5) {
            let init = if self.rng.chance(0.7) { " := F" } else { "" };
            self.lines.push(format!("  decl l{init};"));
            self.inside.push(var("l", Ty::Bool));
        }
        self.calls = true;
    }

    /// What a thread does.
    fn body(&mut self, guarded: bool) {
        self.room = self.rng.range(2, 5);
        self.block(1);
        if guarded || self.rng.chance(0.3) {
            let condition = self.exprs(|exprs| exprs.narrow_condition(2));
            self.lines.push(format!("  if ({condition}) then ERR: skip; fi"));
        }
    }

    /// Invents the recursive procedures of a thread.
    fn sign(&mut self, thread: usize) {
        let names = if self.rng.chance(0.25) { "fh" } else { "f" };
        let results: [&[Ty]; 5] = [&[], &[], &[Ty::Bool], &[Ty::Bool, Ty::Bool], &[Ty::Bool, Ty::Uint(2)]];
        let proc = |name| Proc {
            name: format!("{name}{thread}"),
            flag: self.rng.chance(0.3),
            results: self.rng.pick(&results).to_vec(),
        };
        self.procs = names.chars().map(proc).collect();
    }

    /// The recursive procedures, each of which calls the next.
    fn recursive(&mut self) {
        for at in 0..self.procs.len() {
            let next = (at + 1) % self.procs.len();
            let (own, next) = (self.procs[at].clone(), self.procs[next].clone());
            self.procedure(&own, &next);
        }
    }

    /// A procedure that calls another, as often as its parameter says or as often as it likes.
    fn procedure(&mut self, own: &Proc, next: &Proc) {
        let bounded = self.rng.chance(0.9);
        let results = match own.results[..] {
            [] => "void".to_owned(),
            [only] => only.name(),
            [Ty::Bool, Ty::Bool] => "bool<2>".to_owned(),
            _ => format!("({})", own.results.iter().map(|ty| ty.name()).collect::<Vec<_>>().join(", ")),
        };
        let flag = if own.flag { ", bool b" } else { "" };
        self.lines.push(format!("{results} {}(uint<2> n{flag}) begin", own.name));
        self.inside = own.flag.then(|| var("b", Ty::Bool)).into_iter().collect();
        self.calls = false;
        self.room = self.rng.range(1, 2);
        self.block(1);
        let (condition, bound) = match bounded {
            true => ("n != 0".to_owned(), "n - 1"),
            false => (self.exprs(|exprs| exprs.condition()), "n"),
        };
        self.lines.push(format!("  if ({condition}) then"));
        let call = self.call(next, bound);
        self.say(2, call);
        // From here on statements may read the parameter, but not change it: it must go down.
        let target = self.rng.pick(&self.shared).clone();
        self.inside.push(var("n", Ty::Uint(2)));
        if self.rng.chance(0.5) {
            let value = self.exprs(|exprs| exprs.expr(target.ty));
            self.say(2, format!("{} := {value};", target.name));
        }
        // The values of a caller's own variables after a call may lead to a target.
        if self.rng.chance(0.25) {
            let condition = self.exprs(|exprs| exprs.narrow_condition(2));
            self.say(2, format!("if ({condition}) then ERR: skip; fi"));
        }
        self.say(1, "fi".to_owned());
        // To fall off the end is to choose the results, if there are any.
        let falls = own.results.is_empty() || self.rng.chance(0.3) && std::mem::take(&mut self.choice);
        if !falls {
            let values: Vec<String> =
                own.results.iter().map(|ty| self.exprs(|exprs| exprs.expr(*ty))).collect();
            self.say(1, format!("return {};", values.join(", ")));
        }
        self.lines.push("end".to_owned());
    }

    fn vars(&self) -> Vec<Var> {
        [&self.shared[..], &self.inside[..]].concat()
    }

    fn exprs<T>(&mut self, make: impl FnOnce(&mut Exprs) -> T) -> T {
        let vars = self.vars();
        make(&mut Exprs { rng: self.rng, features: self.features, vars: &vars, primed: &[], choice_bits: 0 })
    }

    /// A procedure and its arguments.
    fn arguments(&mut self, callee: &Proc, bound: &str) -> String {
        let flag = match callee.flag {
            true => format!(", {}", self.exprs(|exprs| exprs.expr(Ty::Bool))),
            false => String::new(),
        };
        format!("{}({bound}{flag})", callee.name)
    }

    /// A call, its results stored wherever they fit.
    fn call(&mut self, callee: &Proc, bound: &str) -> String {
        let call = self.arguments(callee, bound);
        let mut vars = self.vars();
        self.rng.shuffle(&mut vars);
        let mut target = |ty: &Ty| match vars.iter().position(|var| var.ty == *ty) {
            Some(at) => vars.remove(at).name,
            None => "_".to_owned(),
        };
        let targets: Vec<String> = callee.results.iter().map(&mut target).collect();
        match targets.iter().all(|target| target == "_") || self.rng.chance(0.1) {
            true => format!("{call};"),
            false => format!("{} := {call};", targets.join(", ")),
        }
    }

    /// Statements as long as there is room.
    fn block(&mut self, depth: usize) {
        let count = self.rng.range(1, self.room.max(1));
        for _ in 0..count {
            let Some(room) = self.room.checked_sub(1) else { break };
            self.room = room;
            self.statement(depth);
        }
    }

    fn say(&mut self, depth: usize, text: String) {
        self.lines.push(format!("{}{text}", "  ".repeat(depth)));
    }

    fn assignment(&mut self) -> String {
        let target = self.rng.pick(&self.vars()).clone();
        let value = self.exprs(|exprs| exprs.expr(target.ty));
        format!("{} := {value};", target.name)
    }

    fn statement(&mut self, depth: usize) {
        let nested = if depth < 3 { 2 } else { 0 };
        let choice = if self.choice { 2 } else { 0 };
        let ends = if depth > 1 && self.style == Style::Started { 1 } else { 0 };
        let calls = if self.calls { 6 } else { 1 };
        match self.rng.weighted(&[6, 2, nested, calls, 2, 1, 1, choice, ends]) {
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
                self.conditional(depth, &condition);
            }
            3 if self.calls => {
                let (callee, bound) = (self.rng.pick(&self.procs).clone(), self.rng.range(0, 2));
                let text = self.call(&callee, &bound.to_string());
                self.say(depth, text);
            }
            // Calls inside the procedures themselves are those that their parameter bounds.
            3 => self.say(depth, "skip;".to_owned()),
            4 => self.section(depth),
            5 => {
                let condition = self.exprs(|exprs| exprs.condition());
                self.say(depth, format!("assert({condition});"));
            }
            6 => {
                let condition = self.exprs(|exprs| exprs.narrow_condition(1));
                let text = self.assignment();
                self.say(depth, format!("while ({condition}) do {text} od"));
            }
            7 => self.choose(depth),
            _ => self.say(depth, "end_thread;".to_owned()),
        }
    }

    fn conditional(&mut self, depth: usize, condition: &str) {
        self.say(depth, format!("if ({condition}) then"));
        self.room = self.room.max(1);
        self.block(depth + 1);
        self.say(depth, "fi".to_owned());
    }

    /// An atomic section.
    fn section(&mut self, depth: usize) {
        let own = self.style == Style::Getafix;
        let (begin, end) =
            if own { ("atomic := T;", "atomic := F;") } else { ("atomic_begin;", "atomic_end;") };
        self.say(depth, begin.to_owned());
        for _ in 0..self.rng.range(1, 2) {
            let text = self.assignment();
            self.say(depth + 1, text);
        }
        self.say(depth, end.to_owned());
    }

    /// The one choice of the program.
    fn choose(&mut self, depth: usize) {
        self.choice = false;
        let target = self.rng.pick(&self.vars()).name.clone();
        match self.rng.below(3) {
            0 => self.say(depth, format!("dead {target};")),
            1 => self.say(depth, format!("{target} := *;")),
            _ => self.conditional(depth, "*"),
        }
    }
}

#[cfg(test)]
mod tests;
