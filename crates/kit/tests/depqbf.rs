//! Our quantified formulas against DepQBF, as a process, where it is installed: the same answers.

use postbop_kit::aig::{Aig, Lit};
use postbop_kit::qbf::{Counts, Formula, Truth};
use postbop_kit::sat::Interrupt;
use std::io::Write;
use std::process::{Command, Stdio};
use std::rc::Rc;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    fn pick(&mut self, all: &[Lit]) -> Lit {
        let lit = all[self.below(all.len())];
        if self.below(2) == 0 { !lit } else { lit }
    }
}

/// Whether the valuations of one random set of functions are among those of another one: about as often as not.
fn formula(seed: u64) -> Formula {
    let mut random = Random(seed);
    let mut aig = Aig::default();
    let forall: Vec<Lit> = (0..6).map(|_| aig.input()).collect();
    let exists: Vec<Lit> = (0..8).map(|_| aig.input()).collect();
    let mut grow = |inputs: &[Lit], count: usize| {
        let mut all = inputs.to_vec();
        for _ in 0..count {
            let (a, b, c) = (random.pick(&all), random.pick(&all), random.pick(&all));
            all.push(if random.below(3) == 0 { aig.xor(a, b) } else { aig.ite(c, a, b) });
        }
        let outputs: Vec<Lit> = (0..4).map(|_| random.pick(&all)).collect();
        (outputs, random.pick(&all))
    };
    let (ours, guard) = grow(&forall, 6);
    let (theirs, _) = grow(&exists, 3);
    let mut same = Lit::TRUE;
    for (&own, &their) in ours.iter().zip(&theirs) {
        let equal = aig.iff(own, their);
        same = aig.and(same, equal);
    }
    let phi = aig.or(!guard, same);
    Formula { view: forall.clone(), aig, forall, exists, phi }
}

/// DepQBF's exit status: 10 is true, 20 is false.
fn depqbf(text: &str) -> Option<i32> {
    let quiet = || Stdio::null();
    let mut command = Command::new("depqbf");
    let mut child = command.stdin(Stdio::piped()).stdout(quiet()).stderr(quiet()).spawn().ok()?;
    child.stdin.take()?.write_all(text.as_bytes()).ok()?;
    child.wait().ok()?.code()
}

#[test]
fn both_give_the_same_answers() {
    let is_here = depqbf("p cnf 1 1\ne 1 0\n1 0\n").is_some();
    let (mut right, mut wrong) = (0, 0);
    for seed in 0..2_000 {
        let formula = formula(seed * 7919 + 1);
        let theirs = if is_here { depqbf(&formula.qdimacs()) } else { None };
        let interrupt: Interrupt = Rc::new(|_| true);
        let ours = formula.decide(&interrupt, &mut Counts::default()) == Truth::True;
        *(if ours { &mut right } else { &mut wrong }) += 1;
        if is_here {
            assert_eq!(theirs, Some(if ours { 10 } else { 20 }), "seed {seed}");
        }
    }
    assert!(right > 600 && wrong > 600, "{right} true, {wrong} false");
    if !is_here {
        println!("not tried: there is no depqbf here; {right} formulas are true, {wrong} false");
    }
}
