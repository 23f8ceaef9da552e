//! Room `xtask`: hundreds of variables in scope.
//!
//! # Idea
//! A driver abstracted with hundreds of predicates: nearly all of them global, a few to each routine. Routines stand in
//! four layers, dispatch routines first; each calls a few of the next layer. The property is about one of the variables and
//! about results: a request is completed once. A routine's result says whether the request was completed, and a caller
//! that hears of it must not complete it again. The proof is one relation, of `completed` and a result; what is hard is that
//! everything else is in scope.
//!
//! # Paper
//! [sat-summaries], Table 2: `adddevice` has 643 variables, `nulldevice` 856.
//!
//! # Verdict
//! Call a routine in order if, called while `completed` is 0, it returns 1 exactly if it completed the request, and
//! does so once. In a routine whose callees are in order, `done` equals `completed` all the time, and calls
//! and completions are guarded by `!done`. So all routines are in order, last layer first, and `ERR` is unreachable.
//!
//! With the bug, one routine of the last layer forgets to set `done`. It is the end of the chain that begins with the
//! first routine and follows each routine's first call. These calls, and all completions, depend on choices and on
//! `done` alone, and noise neither blocks a run nor keeps it for ever. So there is a run along the chain in which the
//! forgetful routine completes the request and no other does. All results are 0, and `main` completes it again.

use super::{list, names};
use crate::rng::Rng;
use std::ops::Range;

/// How many layers of routines there are.
const LAYERS: usize = 4;

/// How many globals a routine works on.
const OWN: usize = 12;

/// A driver of `procs` routines over `vars` globals.
pub(super) fn scope(seed: u64, vars: u64, procs: u64, bug: bool) -> String {
    let rng = &mut Rng::new(seed);
    let globals = names("v", vars);
    let layers = layers(procs as usize);
    let calls: Vec<Vec<usize>> = (0..procs as usize).map(|proc| callees(rng, &layers, proc)).collect();
    let mut forgetful = 0;
    while let Some(&next) = calls[forgetful].first() {
        forgetful = next;
    }
    let mut source = format!("decl completed;\ndecl {};\n{COMPLETE}", list(&globals));
    let mut undealt: Vec<String> = Vec::new();
    for (proc, calls) in calls.iter().enumerate() {
        let own = deal(rng, &globals, &mut undealt);
        let body = Routine { rng, own, remembers: !bug || proc != forgetful }.body(calls);
        source += &format!(
            "bool f{proc}(p)\nbegin\n  decl done, l0, l1;\n  done := 0;\n{body}  return done;\nend\n"
        );
    }
    source += "void main()\nbegin\n  decl m;\n  while (*) do\n    completed, m := 0, 0;\n";
    for (at, proc) in layers[0].clone().enumerate() {
        source += &format!("    {} (*) then\n      m := f{proc}(m);\n", if at == 0 { "if" } else { "elsif" });
    }
    source + "    fi\n    if (!m) then\n      complete();\n    fi\n  od\nend\n"
}

const COMPLETE: &str = "\
void complete()
begin
  if (completed) then
    ERR: skip;
  fi
  completed := 1;
end
";

/// The routines of each layer: one, two, three and four tenths of them. There are ten at least.
fn layers(procs: usize) -> [Range<usize>; LAYERS] {
    let end = |layer: usize| procs * ((layer + 1) * (layer + 2) / 2) / 10;
    std::array::from_fn(|layer| (if layer == 0 { 0 } else { end(layer - 1) })..end(layer))
}

/// Up to three routines of the next layer.
fn callees(rng: &mut Rng, layers: &[Range<usize>; LAYERS], proc: usize) -> Vec<usize> {
    let layer = layers.iter().position(|layer| layer.contains(&proc)).expect("every routine has a layer");
    let next: Vec<usize> = layers.get(layer + 1).cloned().into_iter().flatten().collect();
    let count = rng.range(1, 3);
    rng.sample(&next, count)
}

/// Some globals for a routine. Globals are dealt out like cards, so that as many as possible belong to some routine.
fn deal(rng: &mut Rng, globals: &[String], undealt: &mut Vec<String>) -> Vec<String> {
    if undealt.len() < OWN {
        *undealt = rng.sample(globals, globals.len());
    }
    undealt.split_off(undealt.len().saturating_sub(OWN))
}

struct Routine<'a> {
    rng: &'a mut Rng,
    own: Vec<String>,
    /// Whether it sets `done` when it completes the request.
    remembers: bool,
}

impl Routine<'_> {
    /// Noise, with calls and a completion in between.
    fn body(mut self, calls: &[usize]) -> String {
        let mut body = self.noise(3);
        for (at, callee) in calls.iter().enumerate() {
            let argument = self.operand();
            // The first call is on the chain of the bug: only a choice may prevent it.
            let guard = if at == 0 { "*".to_owned() } else { self.operand() };
            body += &format!(
                "  if (!done) then\n    if ({guard}) then\n      done := f{callee}({argument});\n    fi\n  fi\n"
            );
            body += &self.noise(3);
        }
        let done = if self.remembers { "      done := 1;\n" } else { "" };
        body += &format!("  if (*) then\n    if (!done) then\n      complete();\n{done}    fi\n  fi\n");
        body + &self.noise(3)
    }

    fn operand(&mut self) -> String {
        match self.rng.below(self.own.len() + 3) {
            0 => "p".to_owned(),
            1 => "l0".to_owned(),
            2 => "l1".to_owned(),
            at => self.own[at - 3].clone(),
        }
    }

    /// Statements that neither look at `done` and `completed` nor can keep a run from going on.
    fn noise(&mut self, statements: usize) -> String {
        (0..statements).map(|_| self.statement()).collect()
    }

    fn statement(&mut self) -> String {
        let [x, y, z] = std::array::from_fn(|_| self.operand());
        match self.rng.weighted(&[30, 30, 15, 15, 10]) {
            0 => format!("  {x} := ({y} {} {z});\n", self.rng.pick(&["&", "|", "=", "!="])),
            1 => self.parallel(),
            2 => format!("  if ({x}) then\n    {y} := !{y};\n  else\n    {y} := {z};\n  fi\n"),
            3 => format!("  if (*) then\n    {x} := {y};\n  else\n    {z} := schoose[{x}, {y}];\n  fi\n"),
            _ => format!("  while (*) do\n    {x} := ({x} != {y});\n  od\n"),
        }
    }

    /// An assignment through a pointer, after which little is known of several predicates.
    fn parallel(&mut self) -> String {
        let count = self.rng.range(2, 5);
        let targets = self.rng.sample(&self.own, count);
        let mut value = || format!("schoose[{}, !{}]", self.operand(), self.operand());
        let values: Vec<String> = targets.iter().map(|_| value()).collect();
        format!("  {} := {};\n", list(&targets), list(&values))
    }
}

#[cfg(test)]
mod tests {
    use super::super::instance;
    use super::*;
    use postbop_engine::{Budget, EngineChoice, Silent, Verdict, verify};
    use postbop_ir::{Query, Task};

    #[test]
    fn the_oracle_agrees_with_the_construction() {
        for seed in 1..=6 {
            for family in ["scope", "scope-bug"] {
                let instance = instance(family, &[seed, 2, 10]).unwrap();
                let (program, locs) = instance.read();
                let least = postbop_ir::oracle::oracle(&program, &[&locs], 1_000_000).unwrap();
                assert_eq!(Some(least[0].is_some()), instance.expected, "{}", instance.name);
            }
        }
    }

    #[test]
    fn hundreds_of_variables_get_the_expected_verdict() {
        for family in ["scope", "scope-bug"] {
            let instance = instance(family, &[1, 643, 60]).unwrap();
            let (program, locs) = instance.read();
            let queries = [Query::reach(instance.target, locs)];
            let budget = Budget::unlimited().with_time(std::time::Duration::from_secs(60));
            let sat = EngineChoice::named("sat").unwrap();
            let report = verify(&Task::new(&program, &queries), sat, &budget, &mut Silent);
            let reached = match &report.answers[0].verdict {
                Verdict::Holds { .. } => false,
                Verdict::Violated(_) => true,
                other => panic!("{}: {other:?}", instance.name),
            };
            assert_eq!(Some(reached), instance.expected, "{}", instance.name);
        }
    }

    #[test]
    fn every_routine_has_a_layer() {
        for procs in [10, 11, 19, 60, 997] {
            let layers = layers(procs);
            assert!(layers.windows(2).all(|pair| pair[0].end == pair[1].start && !pair[0].is_empty()));
            assert_eq!((layers[0].start, layers[LAYERS - 1].end), (0, procs));
        }
    }
}
