//! Room `xtask`: a tiny proof in a lot of noise.
//!
//! # Idea
//! Two globals, `a` and `b`, are kept apart, or kept equal, by every statement that changes them. The rest of the
//! program, tens of variables that are shuffled, combined and chosen anew, decides which of these statements run and never
//! whether the invariant holds. The proof is one relation over two variables. An engine that computes sets of
//! valuations, whether one by one or as diagrams, computes the noise as well; an engine that is led by the property need
//! not.
//!
//! The three families differ in where the noise is. In [`slam`] it is wide: statements assign half of all variables at
//! once, as an abstraction of C by predicates does. In [`sparse`] it is long: many procedures with three globals each, and
//! a few calls backwards. In [`mutual`] it is deep: every procedure may call every other, and the invariant is
//! carried through their results.
//!
//! # Verdict
//! Without the bug, `ERR` is unreachable, since each update of the pair keeps the invariant whatever the other
//! variables are.
//!
//! With the bug, every other update, in the order of the text, does not keep the invariant. Whether a run comes to
//! such an update with values that matter, and back to `main` afterwards, depends on the noise: nearly always so, but the
//! construction does not promise it. These instances have no expected verdict; `violated` is as sure as the
//! replay of its trace.

use super::{list, names};
use crate::rng::Rng;

/// The updates of the pair `a`, `b`, of which every other one breaks the invariant if there is a bug.
struct Pair {
    bug: bool,
    updates: usize,
}

impl Pair {
    fn new(bug: bool) -> Self {
        Pair { bug, updates: 0 }
    }

    /// The next update: one that keeps the invariant, or the one that does not.
    fn update(&mut self, good: &'static str, bad: &'static str) -> &'static str {
        self.updates += 1;
        if self.bug && self.updates.is_multiple_of(2) { bad } else { good }
    }

    /// Exchanges the two.
    fn swap(&mut self) -> &'static str {
        self.update("a, b := b, a;", "a, b := b, b;")
    }

    /// Flips both if `l` is 1.
    fn flip(&mut self) -> &'static str {
        self.update("a, b := (a != l), (b != l);", "a, b := (a != l), b;")
    }
}

/// An operator between two Booleans.
fn operator(rng: &mut Rng) -> &'static str {
    const OPERATORS: [&str; 4] = ["&", "|", "!=", "="];
    OPERATORS[rng.below(OPERATORS.len())]
}

/// A variable or its negation, each as probable as the other.
fn literal(rng: &mut Rng, scope: &[String]) -> String {
    let sign = if rng.chance(0.5) { "!" } else { "" };
    format!("{sign}{}", rng.pick(scope))
}

/// Procedures whose statements each assign half of `vars` predicates, in the shape of what C2bp writes; half of the
/// predicates are globals. Calls lead to later procedures only. `a` and `b` start different and are exchanged.
pub(super) fn slam(seed: u64, vars: u64, procs: u64, statements: u64, bug: bool) -> String {
    let (rng, pair) = (&mut Rng::new(seed), &mut Pair::new(bug));
    let (globals, locals) = (names("g", vars / 2), names("l", vars - vars / 2));
    let scope = [globals.clone(), locals.clone()].concat();
    let mut source = format!("decl a, b;\ndecl {};\n", list(&globals));
    for proc in 0..procs {
        source += &format!("void f{proc}()\nbegin\n  decl {};\n", list(&locals));
        for _ in 0..statements {
            source += &match rng.weighted(&[55, 20, 25]) {
                0 => parallel(rng, &scope),
                1 => format!(
                    "  if ({}) then\n    {}\n  else\n    assume({} | {});\n  fi\n",
                    rng.pick(&scope),
                    pair.swap(),
                    rng.pick(&scope),
                    rng.pick(&scope)
                ),
                _ if proc + 1 < procs => {
                    let callee = rng.range(proc as usize + 1, procs as usize - 1);
                    format!("  if (*) then\n    f{callee}();\n  fi\n")
                }
                _ => String::new(),
            };
        }
        source += "end\n";
    }
    source
        + "void main()\nbegin\n  a := 0;\n  b := 1;\n  while (*) do\n    f0();\n  od\n  if (a = b) then\n    \
           ERR: skip;\n  fi\nend\n"
}

/// Assigns half of the variables at once: what is known of each afterwards, if anything, depends on a few others.
fn parallel(rng: &mut Rng, scope: &[String]) -> String {
    let targets = rng.sample(scope, (scope.len() / 2).max(2));
    let mut value = || match rng.chance(0.6) {
        true => {
            let [p, q, r, s] = std::array::from_fn(|_| literal(rng, scope));
            format!("schoose[{p} & {q}, {r} & {s}]")
        }
        false => literal(rng, scope),
    };
    let values: Vec<String> = targets.iter().map(|_| value()).collect();
    format!("  {} := {};\n", list(&targets), list(&values))
}

/// Many procedures that touch three of `globals` globals each and call procedures a little further on; one statement in
/// thirty calls any procedure, so there is some recursion. `a` and `b` start different and are exchanged.
pub(super) fn sparse(seed: u64, globals: u64, procs: u64, statements: u64, bug: bool) -> String {
    let (rng, pair) = (&mut Rng::new(seed), &mut Pair::new(bug));
    let globals = names("g", globals);
    let procs = procs as usize;
    let mut source = format!("decl a, b;\ndecl {};\n", list(&globals));
    for proc in 0..procs {
        let own = rng.sample(&globals, 3);
        let scope = [own.clone(), names("l", 2)].concat();
        source += &format!("void f{proc}()\nbegin\n  decl l0, l1;\n");
        for _ in 0..statements {
            let (v, u, w) = (rng.pick(&scope), rng.pick(&scope), rng.pick(&own));
            source += &match rng.weighted(&[35, 20, 10, 27, 3, 5]) {
                0 => format!("  {v} := ({u} {} {w});\n", operator(rng)),
                1 => format!("  if ({w}) then\n    {}\n  else\n    {u} := !{u};\n  fi\n", pair.swap()),
                2 => format!("  if (*) then\n    {v} := schoose[0, 0];\n  fi\n"),
                3 if proc + 1 < procs => {
                    let callee = rng.range(proc + 1, (proc + 7).min(procs - 1));
                    format!("  if ({u}) then\n    f{callee}();\n  fi\n")
                }
                3 | 4 => format!("  if ({u} & {w}) then\n    f{}();\n  fi\n", rng.below(procs)),
                _ => format!("  while ({u}) do\n    {u} := schoose[0, 0];\n  od\n"),
            };
        }
        source += "end\n";
    }
    source
        + "void main()\nbegin\n  a := b;\n  b := !b;\n  f0();\n  if (a = b) then\n    ERR: skip;\n  fi\nend\n"
}

/// Procedures that all call each other over `globals` globals, with a parameter and a result. `a` and `b` start equal and
/// are flipped together, by the results of calls.
pub(super) fn mutual(seed: u64, globals: u64, procs: u64, statements: u64, bug: bool) -> String {
    let (rng, pair) = (&mut Rng::new(seed), &mut Pair::new(bug));
    let globals = names("g", globals);
    let mut source = format!("decl a, b;\ndecl {};\n", list(&globals));
    for proc in 0..procs {
        source += &format!("bool f{proc}(p)\nbegin\n  decl l;\n  if (*) then\n    return p;\n  fi\n");
        for _ in 0..statements {
            let drawn = rng.sample(&globals, 3);
            let [x, y, z] = [&drawn[0], &drawn[1], &drawn[2]];
            source += &match rng.weighted(&[40, 20, 40]) {
                0 => format!("  {x} := ({y} {} {z});\n", operator(rng)),
                1 => format!("  {x}, {y} := {y}, {x};\n"),
                _ => format!(
                    "  if ({x}) then\n    l := f{}({});\n    {}\n  else\n    {z} := !{z};\n  fi\n",
                    rng.below(procs as usize),
                    rng.pick(&["!p", y.as_str()]),
                    pair.flip()
                ),
            };
        }
        source += &format!("  return (p != {});\nend\n", rng.pick(&globals));
    }
    source
        + "void main()\nbegin\n  decl m;\n  a := b;\n  m := f0(m);\n  if (a != b) then\n    ERR: skip;\n  fi\nend\n"
}

#[cfg(test)]
mod tests {
    use super::super::instance;

    /// What the oracle says of the target, if the instance is small enough for it.
    fn decided(family: &str, parameters: &[u64]) -> Option<bool> {
        let instance = instance(family, parameters).unwrap();
        let (program, locs) = instance.read();
        let reached = postbop_ir::oracle::oracle(&program, &[&locs], 300_000).ok()?[0].is_some();
        assert!(instance.expected.is_none_or(|expected| expected == reached), "{}", instance.name);
        Some(reached)
    }

    #[test]
    fn the_pair_is_kept_and_with_the_bug_it_is_nearly_always_broken() {
        for (family, sizes) in [("slam", [4, 3, 6]), ("sparse", [3, 4, 7]), ("mutual", [3, 3, 5])] {
            let verdicts = |bug: &str| -> Vec<bool> {
                let of = |seed| decided(&format!("{family}{bug}"), &[&[seed], &sizes[..]].concat());
                (1..=12).filter_map(of).collect()
            };
            let (kept, broken) = (verdicts(""), verdicts("-bug"));
            assert!(kept.len() >= 8 && !kept.contains(&true), "{family}: {kept:?}");
            assert!(broken.iter().filter(|&&broken| broken).count() >= 6, "{family}: {broken:?}");
        }
    }
}
