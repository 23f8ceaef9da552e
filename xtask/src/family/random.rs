//! Room `xtask`: families drawn at random, in the shapes that papers' tables describe.

mod driver;

pub(super) use driver::driver;

use super::names;
use crate::rng::Rng;

/// Many variables shuffled by several permutations and back.
///
/// Shallow, but no variable order suits all permutations at once: hard for decision diagrams, easy for a solver.
///
/// # Verdict
/// Every `undo` gets the same choice as its `do`, in reverse order, and applies the inverse permutation: the
/// variables are back where they were, and `ERR` is unreachable.
pub(super) fn wide(seed: u64, vars: u64, rounds: u64) -> String {
    let rng = &mut Rng::new(seed);
    let (xs, ys, cs) = (names("x", vars), names("y", vars), names("c", rounds));
    let mut source = format!("decl {};\n", xs.join(", "));
    for round in 0..rounds {
        let pair = [permutation(rng, vars), permutation(rng, vars)];
        source += &shuffler(&format!("do{round}"), &xs, &pair);
        source += &shuffler(&format!("undo{round}"), &xs, &[inverse(&pair[0]), inverse(&pair[1])]);
    }
    source += &format!("void main()\nbegin\n  decl {}, {};\n", ys.join(", "), cs.join(", "));
    source += &format!("  {} := {};\n", ys.join(", "), xs.join(", "));
    for round in 0..rounds {
        source += &format!("  do{round}(c{round});\n");
    }
    for round in (0..rounds).rev() {
        source += &format!("  undo{round}(c{round});\n");
    }
    let watched = permutation(rng, vars);
    let moved: Vec<String> = watched.iter().take(8).map(|at| format!("(x{at} != y{at})")).collect();
    source + &format!("  if ({}) then\n    ERR: skip;\n  fi\nend\n", moved.join(" | "))
}

fn permutation(rng: &mut Rng, len: u64) -> Vec<usize> {
    let mut items: Vec<usize> = (0..len as usize).collect();
    rng.shuffle(&mut items);
    items
}

fn inverse(permutation: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; permutation.len()];
    for (at, &image) in permutation.iter().enumerate() {
        inverse[image] = at;
    }
    inverse
}

fn shuffler(name: &str, xs: &[String], pair: &[Vec<usize>; 2]) -> String {
    let assign = |permutation: &[usize]| {
        let images: Vec<&str> = permutation.iter().map(|&at| xs[at].as_str()).collect();
        format!("    {} := {};\n", xs.join(", "), images.join(", "))
    };
    let (yes, no) = (assign(&pair[0]), assign(&pair[1]));
    format!("void {name}(c)\nbegin\n  if (c) then\n{yes}  else\n{no}  fi\nend\n")
}

/// How many locals of [`term`] count its rounds.
const COUNTERS: u64 = 6;

/// A termination question in the manner of Terminator: does a loop revisit a valuation?
///
/// Half the variables are live, half a snapshot of them taken at some round and compared at later ones. The
/// proof needs the relation between snapshot and now, over all of them at once.
///
/// # Verdict
/// Six of the variables count the rounds and an `assume` stops them before they wrap, so no valuation comes twice
/// and `ERR` is unreachable.
pub(super) fn term(seed: u64, vars: u64) -> String {
    let rng = &mut Rng::new(seed);
    let ks = names("k", COUNTERS);
    let xs = names("x", vars / 2 - COUNTERS);
    let mut now = [ks.clone(), xs.clone()].concat();
    rng.shuffle(&mut now);
    let old: Vec<String> = now.iter().map(|name| format!("s_{name}")).collect();
    let same: Vec<String> = now.iter().zip(&old).map(|(n, o)| format!("({n} = {o})")).collect();
    let (now, old) = (now.join(", "), old.join(", "));
    let zeros = vec!["0"; ks.len()].join(", ");
    let mut source = format!(
        "{MIX}void main()\nbegin\n  decl {now};\n  decl {old};\n  copied := 0;\n  {} := {zeros};\n  while (*) do\n    \
         if (!copied) then\n      if (*) then\n        copied, {old} := 1, {now};\n      fi\n    \
         elsif ({}) then\n      ERR: skip;\n    fi\n",
        ks.join(", "),
        same.join(" & ")
    );
    for _ in 0..vars / 2 {
        source += &churn(rng, &xs);
    }
    let carries: Vec<String> =
        (1..ks.len()).map(|at| format!("(k{at} != ({}))", ks[..at].join(" & "))).collect();
    source
        + &format!(
            "    assume(!({}));\n    {} := !k0, {};\n  od\nend\n",
            ks.join(" & "),
            ks.join(", "),
            carries.join(", ")
        )
}

const MIX: &str = "\
decl copied;
bool<2> mix(a, b)
begin
  if (a & !b) then
    return b, a;
  fi
  return a, schoose[a & b, !a];
end
";

/// One statement that moves values between the variables that do not count.
fn churn(rng: &mut Rng, xs: &[String]) -> String {
    let a = rng.pick(xs).clone();
    let pair = rng.sample(xs, 2);
    let (b, d) = (&pair[0], &pair[1]);
    match rng.weighted(&[45, 25, 30]) {
        0 => {
            let forms =
                [format!("{b} & {d}"), format!("{b} | !{d}"), format!("{b} = {d}"), format!("!{b} & {d}")];
            format!("    {a} := {};\n", rng.pick(&forms))
        }
        1 => format!(
            "    if ({b}) then\n      {b}, {d} := {d}, {b};\n    else\n      {a} := schoose[{b}, {d}];\n    fi\n"
        ),
        _ => format!("    {b}, {d} := mix({d}, {b});\n"),
    }
}
