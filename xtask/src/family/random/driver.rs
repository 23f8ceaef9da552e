//! Room `xtask`: programs in the manner of SLAM's abstractions of device drivers.
//!
//! Many small procedures that mostly call later ones, a few predicates in each, `schoose` where the abstraction
//! knew one side only, and a lock that is taken and released far apart. The verdict is not known beforehand.

use super::super::names;
use crate::rng::Rng;

/// How many values a procedure takes and gives back.
#[derive(Clone, Copy)]
struct Arity {
    params: u64,
    results: u64,
}

/// A driver of `procs` procedures with `globals` globals and about `locals` locals each.
pub(in super::super) fn driver(seed: u64, procs: u64, globals: u64, locals: u64) -> String {
    let rng = &mut Rng::new(seed);
    let globals = names("g", globals);
    let arities: Vec<Arity> = (0..procs)
        .map(|_| Arity { params: rng.range(0, 3) as u64, results: rng.range(0, 2) as u64 })
        .collect();
    let mut source = format!("decl locked;\ndecl {};\n", globals.join(", "));
    for current in 0..arities.len() {
        Body::new(rng, &arities, current, &globals, locals).write(&mut source);
    }
    let first = arities[0];
    let results = names("m", first.results).join(", ");
    let assign = if first.results == 0 { String::new() } else { format!("{results} := ") };
    let zeros = vec!["0"; first.params as usize].join(", ");
    source + LOCK + &format!("  {assign}f0({zeros});\nend\n")
}

const LOCK: &str = "\
void acquire()
begin
  if (locked) then
    SLIC_ERROR: skip;
  fi
  locked := 1;
end
void release()
begin
  locked := 0;
end
void main()
begin
  decl m0, m1, m2;
  locked := 0;
";

struct Body<'a> {
    rng: &'a mut Rng,
    arities: &'a [Arity],
    current: usize,
    globals: &'a [String],
    params: Vec<String>,
    locals: Vec<String>,
    /// Parameters and locals, and three globals that this procedure mostly works on.
    scope: Vec<String>,
    lines: String,
}

impl<'a> Body<'a> {
    fn new(
        rng: &'a mut Rng,
        arities: &'a [Arity],
        current: usize,
        globals: &'a [String],
        locals: u64,
    ) -> Self {
        let Arity { params, results } = arities[current];
        let params = names("p", params);
        let locals = names("l", locals.saturating_sub(params.len() as u64).max(results));
        let favourites = rng.sample(globals, 3);
        let scope = [params.clone(), locals.clone(), favourites].concat();
        Body { rng, arities, current, globals, params, locals, scope, lines: String::new() }
    }

    fn write(mut self, source: &mut String) {
        let count = self.rng.range(6, 14);
        self.statements(count, 3, 1);
        let results = self.arities[self.current].results;
        let result = match results {
            0 => "void".to_owned(),
            1 => "bool".to_owned(),
            n => format!("bool<{n}>"),
        };
        *source += &format!("{result} f{}({})\nbegin\n", self.current, self.params.join(", "));
        if !self.locals.is_empty() {
            *source += &format!("  decl {};\n", self.locals.join(", "));
        }
        *source += &self.lines;
        if results > 0 {
            let values: Vec<String> = (0..results).map(|_| self.expr(0)).collect();
            *source += &format!("  return {};\n", values.join(", "));
        }
        *source += "end\n";
    }

    fn variable(&mut self) -> String {
        let list = if self.rng.chance(0.85) { &self.scope } else { self.globals };
        self.rng.pick(list).clone()
    }

    fn expr(&mut self, depth: usize) -> String {
        if depth == 0 || self.rng.chance(0.35) {
            let sign = if self.rng.chance(0.4) { "!" } else { "" };
            return format!("{sign}{}", self.variable());
        }
        let left = self.expr(depth - 1);
        let sign = self.rng.pick(&["&", "|", "&", "|", "=", "!="]);
        format!("({left} {sign} {})", self.expr(depth - 1))
    }

    fn statements(&mut self, count: usize, depth: usize, indent: usize) {
        for _ in 0..count {
            self.statement(depth, indent);
        }
    }

    fn line(&mut self, indent: usize, text: &str) {
        self.lines += &format!("{}{text}\n", "  ".repeat(indent));
    }

    fn statement(&mut self, depth: usize, indent: usize) {
        let text = match self.rng.weighted(&[30, 12, 6, 16, 6, 22, 8]) {
            0 => format!("{} := {};", self.variable(), self.expr(2)),
            1 => format!("{} := schoose[{}, {}];", self.variable(), self.expr(1), self.expr(1)),
            2 => {
                let pair = self.rng.sample(&self.scope, 2);
                format!("{}, {} := {}, {};", pair[0], pair[1], self.expr(1), self.expr(1))
            }
            3 => self.call(),
            4 if self.rng.chance(0.25) => self.rng.pick(&["acquire();", "release();"]).to_string(),
            5 if depth > 0 => return self.branch(depth - 1, indent),
            6 if depth > 0 => return self.repeat(depth - 1, indent),
            _ => "skip;".to_owned(),
        };
        self.line(indent, &text);
    }

    fn call(&mut self) -> String {
        let (next, all) = (self.current + 1, self.arities.len());
        let onward = next < all && self.rng.chance(0.93);
        let callee = if onward { self.rng.range(next, all - 1) } else { self.rng.below(all) };
        let Arity { params, results } = self.arities[callee];
        let own = [self.params.clone(), self.locals.clone()].concat();
        if own.len() < results as usize {
            return "skip;".to_owned();
        }
        let targets = self.rng.sample(&own, results as usize).join(", ");
        let assign = if results == 0 { String::new() } else { format!("{targets} := ") };
        let arguments: Vec<String> = (0..params).map(|_| self.expr(0)).collect();
        format!("{assign}f{callee}({});", arguments.join(", "))
    }

    fn condition(&mut self, arbitrary: f64) -> String {
        if self.rng.chance(arbitrary) { "*".to_owned() } else { self.expr(1) }
    }

    fn branch(&mut self, depth: usize, indent: usize) {
        let condition = self.condition(0.3);
        self.line(indent, &format!("if ({condition}) then"));
        let count = self.rng.range(1, 3);
        self.statements(count, depth, indent + 1);
        self.line(indent, "else");
        let count = self.rng.range(1, 2);
        self.statements(count, depth, indent + 1);
        self.line(indent, "fi");
    }

    fn repeat(&mut self, depth: usize, indent: usize) {
        let condition = self.condition(0.6);
        self.line(indent, &format!("while ({condition}) do"));
        let count = self.rng.range(1, 2);
        self.statements(count, depth, indent + 1);
        self.line(indent, "od");
    }
}
