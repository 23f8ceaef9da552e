//! Room `kit`: how fast our decision diagrams are, beside the field's library, on the two things a model checker
//! does with them.
//!
//! `cargo run --release -p postbop-kit --example images`

use oxidd::bcdd::{BCDDFunction, new_manager};
use oxidd::{
    BooleanFunction, BooleanFunctionQuant, BooleanOperator, FunctionSubst, Manager, ManagerRef, Subst,
};
use postbop_kit::bdd::{Bdd, Ref};
use std::time::Instant;

/// Many small images among many levels: `rounds` times a bit is flipped and renamed, somewhere.
const LEVELS: u32 = 6_000;
const ROUNDS: u32 = 20_000;

/// A large fixpoint: all values of a counter that steps by an odd number, over so many bits.
const BITS: u32 = 17;
const STEP: u32 = 40_503;

fn main() {
    println!("many small images:  ours {:>8.1} ms, theirs {:>8.1} ms", small_ours(), small_theirs());
    println!("one large fixpoint: ours {:>8.1} ms, theirs {:>8.1} ms", large_ours(), large_theirs());
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn small_ours() -> f64 {
    let mut bdd = Bdd::new(|_| true);
    let start = Instant::now();
    for round in 0..ROUNDS {
        let at = round * 7 % (LEVELS / 3) * 3;
        let (a, x, y) = (bdd.var(at).unwrap(), bdd.var(at + 1).unwrap(), bdd.var(at + 2).unwrap());
        let set = bdd.or(a, x).unwrap();
        let relation = bdd.xor(x, y).unwrap();
        let plan = bdd.plan([at + 1], [(at + 2, at + 1)]);
        let image = bdd.image(set, relation, plan).unwrap();
        assert_ne!(image, Ref::FALSE);
    }
    milliseconds(start)
}

fn small_theirs() -> f64 {
    let manager = new_manager(1 << 20, 1 << 18, 1);
    let vars = levels(&manager, LEVELS);
    let start = Instant::now();
    for round in 0..ROUNDS {
        let at = (round * 7 % (LEVELS / 3) * 3) as usize;
        let (a, x, y) = (&vars[at], &vars[at + 1], &vars[at + 2]);
        let set = a.or(x).unwrap();
        let relation = x.xor(y).unwrap();
        let product = set.apply_exists(BooleanOperator::And, &relation, x).unwrap();
        let image = product.substitute(&Subst::new([at as u32 + 2], [x.clone()])).unwrap();
        assert!(image.satisfiable());
    }
    milliseconds(start)
}

fn levels(manager: &oxidd::bcdd::BCDDManagerRef, count: u32) -> Vec<BCDDFunction> {
    manager.with_manager_exclusive(|manager| {
        manager.add_vars(count);
        (0..count).map(|level| BCDDFunction::var(manager, level).unwrap()).collect()
    })
}

/// Now at even levels, next at odd ones, the least significant bit at the bottom.
fn place(bit: u32) -> u32 {
    2 * (BITS - 1 - bit)
}

fn large_ours() -> f64 {
    let start = Instant::now();
    let mut bdd = Bdd::new(|_| true);
    let (mut relation, mut zero, mut carry) = (Ref::TRUE, Ref::TRUE, Ref::FALSE);
    for bit in 0..BITS {
        let (now, next) = (bdd.var(place(bit)).unwrap(), bdd.var(place(bit) + 1).unwrap());
        zero = bdd.and(zero, !now).unwrap();
        let constant = if STEP >> bit & 1 != 0 { Ref::TRUE } else { Ref::FALSE };
        let half = bdd.xor(now, constant).unwrap();
        let sum = bdd.xor(half, carry).unwrap();
        carry = bdd.ite(half, carry, now).unwrap();
        let same = bdd.iff(next, sum).unwrap();
        relation = bdd.and(relation, same).unwrap();
    }
    let plan = bdd.plan((0..BITS).map(place), (0..BITS).map(|bit| (place(bit) + 1, place(bit))));
    let (mut reach, mut fresh) = (zero, zero);
    for _ in 0..20_000 {
        let image = bdd.image(fresh, relation, plan).unwrap();
        fresh = bdd.and(image, !reach).unwrap();
        reach = bdd.or(reach, fresh).unwrap();
    }
    assert_ne!(fresh, Ref::FALSE);
    milliseconds(start)
}

fn large_theirs() -> f64 {
    let start = Instant::now();
    let manager = new_manager(1 << 24, 1 << 20, 1);
    let vars = levels(&manager, 2 * BITS);
    let (yes, no) =
        manager.with_manager_shared(|manager| (BCDDFunction::t(manager), BCDDFunction::f(manager)));
    let (mut relation, mut zero, mut carry) = (yes.clone(), yes.clone(), no.clone());
    for bit in 0..BITS {
        let (now, next) = (&vars[place(bit) as usize], &vars[place(bit) as usize + 1]);
        zero = zero.and(&now.not().unwrap()).unwrap();
        let constant = if STEP >> bit & 1 != 0 { &yes } else { &no };
        let half = now.xor(constant).unwrap();
        let sum = half.xor(&carry).unwrap();
        carry = half.ite(&carry, now).unwrap();
        relation = relation.and(&next.equiv(&sum).unwrap()).unwrap();
    }
    let mut quantified = yes;
    for bit in 0..BITS {
        quantified = quantified.and(&vars[place(bit) as usize]).unwrap();
    }
    let from: Vec<u32> = (0..BITS).map(|bit| place(bit) + 1).collect();
    let to: Vec<BCDDFunction> = (0..BITS).map(|bit| vars[place(bit) as usize].clone()).collect();
    let renaming = Subst::new(&from, &to);
    let (mut reach, mut fresh) = (zero.clone(), zero);
    for _ in 0..20_000 {
        let product = fresh.apply_exists(BooleanOperator::And, &relation, &quantified).unwrap();
        let image = product.substitute(&renaming).unwrap();
        fresh = image.and(&reach.not().unwrap()).unwrap();
        reach = reach.or(&fresh).unwrap();
    }
    assert!(fresh.satisfiable());
    milliseconds(start)
}
