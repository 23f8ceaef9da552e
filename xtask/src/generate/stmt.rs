//! Room `xtask`: random statements, line by line.
//!
//! One statement or one keyword of a block per line, indented, closed by `fi` or `od`: the form that
//! [`crate::shrink`] works on. Labels are scattered first and the targets of `goto` filled in at the end, so
//! that jumps lead forwards, backwards and into blocks alike.

use super::Features;
use super::expr::Exprs;
use super::scope::{Signature, Ty, Var};
use crate::rng::Rng;

/// Stands for the targets of a `goto` until all labels are known.
const TARGETS: &str = "@";

/// A procedure's body under construction.
pub(super) struct Body<'a> {
    pub(super) rng: &'a mut Rng,
    features: Features,
    /// All procedures, to call.
    procs: &'a [Signature],
    /// Which of them this is.
    current: usize,
    vars: Vec<Var>,
    lines: Vec<String>,
    labels: Vec<String>,
    indent: usize,
    /// How many statements may still be written.
    left: usize,
    /// Whether `ERR` stands somewhere already.
    trapped: bool,
}

impl<'a> Body<'a> {
    pub(super) fn new(
        rng: &'a mut Rng,
        features: Features,
        procs: &'a [Signature],
        current: usize,
        globals: &[Var],
    ) -> Self {
        let own = &procs[current];
        let params = own.params.iter().map(|param| &param.var);
        let vars = globals.iter().chain(params).chain(&own.locals).cloned().collect();
        let left = rng.range(3, features.size.statements);
        Body {
            rng,
            features,
            procs,
            current,
            vars,
            lines: Vec::new(),
            labels: Vec::new(),
            indent: 1,
            left,
            trapped: false,
        }
    }

    /// Writes the body and returns its lines.
    pub(super) fn write(mut self, needs_trap: bool) -> Vec<String> {
        if self.features.enforce && self.rng.chance(0.12) {
            let condition = self.exprs().condition();
            self.line(format!("enforce {condition};"));
        }
        // A trap at the very end is seldom reached: much can block or diverge on the way.
        let before = self.rng.below(self.left + 1);
        while self.left > 0 {
            if needs_trap && !self.trapped && self.left <= before {
                self.trap();
            }
            self.statement();
        }
        if needs_trap && !self.trapped {
            self.trap();
        }
        if !self.procs[self.current].results.is_empty() && (!self.features.arbitrary || self.rng.chance(0.8))
        {
            self.give_back();
        }
        self.drop_last_semicolon();
        self.aim_gotos();
        self.lines
    }

    fn exprs(&mut self) -> Exprs<'_> {
        Exprs {
            rng: self.rng,
            features: self.features,
            vars: &self.vars,
            primed: &[],
            choice_bits: self.features.size.choice_bits,
        }
    }

    fn line(&mut self, text: String) {
        self.lines.push(format!("{}{text}", "  ".repeat(self.indent)));
    }

    /// The labels to stand before the next statement.
    fn labels(&mut self) -> String {
        let mut text = String::new();
        while self.rng.chance(0.1) {
            let label = format!("L{}", self.labels.len());
            text += &format!("{label}: ");
            self.labels.push(label);
        }
        text
    }

    fn simple(&mut self, text: String) {
        let labels = self.labels();
        self.line(format!("{labels}{text};"));
    }

    fn statement(&mut self) {
        self.left -= 1;
        let on = |flag: bool, weight: u32| if flag { weight } else { 0 };
        let features = self.features;
        let nested = on(self.indent < 4 && self.left > 0, 10);
        let weights = [
            26,
            on(features.constrain, 5),
            on(self.procs.len() > 1, 16),
            nested,
            on(features.loops, nested / 2),
            on(features.gotos, if self.indent > 1 { 6 } else { 2 }),
            on(features.assumes, 5),
            on(features.asserts, 3),
            on(features.dead, 3),
            on(features.constrain, 1),
            2,
            2,
            on(self.indent > 1, 2),
            on(self.indent > 1 && !self.trapped, 2),
        ];
        match self.rng.weighted(&weights) {
            0 => self.assign(false),
            1 => self.assign(true),
            2 => self.call(),
            3 => self.branch(),
            4 => self.repeat(),
            5 => self.simple(format!("goto {TARGETS}")),
            6 => self.check("assume"),
            7 => self.check("assert"),
            8 => self.dead(),
            9 => self.relation(),
            10 => self.simple("skip".to_owned()),
            11 => self.print(),
            12 => self.give_back(),
            _ => self.trap(),
        }
    }

    /// Parallel assignment, with a constraint on old and new values if asked for.
    fn assign(&mut self, constrained: bool) {
        let count = self.rng.weighted(&[0, 6, 3, 1]);
        let chosen = self.rng.sample(&self.vars, count);
        let mut exprs = self.exprs();
        let mut targets: Vec<String> = chosen.iter().map(|var| exprs.target(var)).collect();
        let mut values: Vec<String> = chosen.iter().map(|var| exprs.expr(var.ty)).collect();
        if !chosen.is_empty() && exprs.rng.chance(0.06) {
            let ty = chosen[0].ty;
            if let Some(value) = exprs.anchored(ty) {
                targets.push("_".to_owned());
                values.push(value);
            }
        }
        if targets.is_empty() {
            return self.simple("skip".to_owned());
        }
        let mut text = format!("{} := {}", targets.join(", "), values.join(", "));
        if constrained {
            // The new value of what is not assigned is the old one: worth mentioning now and then.
            exprs.primed = if exprs.rng.chance(0.15) { exprs.vars } else { &chosen };
            text += &format!(" constrain {}", exprs.condition());
        }
        self.simple(text);
    }

    /// A standalone constraint is a relation between all old and all new values.
    fn relation(&mut self) {
        let mut exprs = self.exprs();
        exprs.primed = exprs.vars;
        exprs.choice_bits = 0;
        let parts: Vec<String> = (0..3).map(|_| format!("({})", exprs.expr(Ty::Bool))).collect();
        self.simple(format!("constrain({})", parts.join(" & ")));
    }

    fn call(&mut self) {
        let Some(callee) = self.callee() else {
            return self.simple("skip".to_owned());
        };
        let callee = &self.procs[callee];
        let mut free: Vec<Var> = self.vars.clone();
        self.rng.shuffle(&mut free);
        let mut exprs = self.exprs();
        let mut arguments = Vec::new();
        for param in &callee.params {
            if !param.by_ref {
                arguments.push(exprs.expr(param.var.ty));
            } else if let Some(at) = free.iter().position(|var| var.ty == param.var.ty && var.len.is_none()) {
                arguments.push(free.remove(at).name);
            } else {
                return self.simple("skip".to_owned());
            }
        }
        let mut targets = Vec::new();
        for &ty in &callee.results {
            let target = free.iter().position(|var| var.ty == ty).map(|at| free.remove(at));
            targets.push(match target {
                Some(var) if exprs.rng.chance(0.9) => exprs.target(&var),
                _ => "_".to_owned(),
            });
        }
        let bare = targets.iter().all(|target| target == "_") && self.rng.chance(0.5);
        let left =
            if targets.is_empty() || bare { String::new() } else { format!("{} := ", targets.join(", ")) };
        let keyword = if self.features.spelling && self.rng.chance(0.15) { "call " } else { "" };
        self.simple(format!("{left}{keyword}{}({})", callee.name, arguments.join(", ")));
    }

    /// Main is procedure 0 and is not called. Without recursion only later procedures are.
    fn callee(&mut self) -> Option<usize> {
        let first = if self.features.recursion { 1 } else { self.current + 1 };
        (first < self.procs.len()).then(|| self.rng.range(first, self.procs.len() - 1))
    }

    fn branch(&mut self) {
        let labels = self.labels();
        let condition = self.exprs().condition();
        self.line(format!("{labels}if {condition} then"));
        self.block();
        while self.rng.chance(0.2) {
            let condition = self.exprs().condition();
            self.line(format!("elsif {condition} then"));
            self.block();
        }
        if self.rng.chance(0.5) {
            self.line("else".to_owned());
            self.block();
        }
        self.close("fi");
    }

    fn repeat(&mut self) {
        let labels = self.labels();
        let condition = self.exprs().condition();
        self.line(format!("{labels}while {condition} do"));
        self.block();
        self.close("od");
    }

    /// Statements one step further in; sometimes none.
    fn block(&mut self) {
        self.indent += 1;
        let count = self.rng.weighted(&[1, 6, 5, 3]);
        for _ in 0..count.min(self.left) {
            if self.left > 0 {
                self.statement();
            }
        }
        if count > 0 {
            self.drop_last_semicolon();
        }
        self.indent -= 1;
    }

    fn close(&mut self, keyword: &str) {
        let semicolon = if self.features.spelling && self.rng.chance(0.3) { ";" } else { "" };
        self.line(format!("{keyword}{semicolon}"));
    }

    /// The last statement before a closing keyword needs no semicolon.
    fn drop_last_semicolon(&mut self) {
        if self.features.spelling
            && self.rng.chance(0.1)
            && let Some(last) = self.lines.last_mut()
            && !last.trim_start().starts_with("enforce")
            && last.ends_with(';')
        {
            last.pop();
        }
    }

    fn check(&mut self, keyword: &str) {
        let condition = self.exprs().condition();
        self.simple(format!("{keyword} {condition}"));
    }

    fn dead(&mut self) {
        let count = self.rng.range(1, 2);
        let names: Vec<String> = self.rng.sample(&self.vars, count).into_iter().map(|var| var.name).collect();
        let text = if names.is_empty() { "skip".to_owned() } else { format!("dead {}", names.join(", ")) };
        self.simple(text);
    }

    fn print(&mut self) {
        let shown: Vec<Ty> = self.rng.sample(&self.vars, 2).into_iter().map(|var| var.ty).collect();
        let mut exprs = self.exprs();
        let values: Vec<String> = shown.into_iter().filter_map(|ty| exprs.anchored(ty)).collect();
        self.simple(format!("print({})", values.join(", ")));
    }

    fn give_back(&mut self) {
        let results = &self.procs[self.current].results;
        if self.features.arbitrary && self.rng.chance(0.04) {
            return self.simple("return".to_owned());
        }
        let mut exprs = self.exprs();
        let values: Vec<String> = results.iter().map(|&ty| exprs.expr(ty)).collect();
        let text =
            if values.is_empty() { "return".to_owned() } else { format!("return {}", values.join(", ")) };
        self.simple(text);
    }

    /// The label that the program is asked about, behind a condition.
    fn trap(&mut self) {
        self.trapped = true;
        let conjuncts = self.rng.weighted(&[0, 6, 3, 1]);
        let condition = self.exprs().narrow_condition(conjuncts);
        if self.rng.chance(0.7) {
            self.line(format!("if {condition} then"));
            self.line("  ERR: skip;".to_owned());
            self.close("fi");
        } else {
            self.line(format!("assume {condition};"));
            let labels = self.labels();
            self.line(format!("{labels}ERR: skip;"));
        }
    }

    /// A `goto` in a procedure without labels becomes a `skip`.
    fn aim_gotos(&mut self) {
        let pending = format!("goto {TARGETS}");
        for line in &mut self.lines {
            if line.contains(&pending) {
                let count = self.rng.range(1, 3);
                let targets = self.rng.sample(&self.labels, count).join(", ");
                let text = if targets.is_empty() { "skip".to_owned() } else { format!("goto {targets}") };
                *line = line.replacen(&pending, &text, 1);
            }
        }
    }
}
