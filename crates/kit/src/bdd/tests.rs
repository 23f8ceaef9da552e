//! Room `kit`: diagrams against truth tables.

use super::*;

/// Six variables: a set is a word of 64 bits, one per assignment.
const LEVELS: u32 = 6;

fn literal(level: u32) -> u64 {
    (0..64).filter(|row| row >> level & 1 != 0).map(|row| 1u64 << row).sum()
}

fn table(bdd: &Bdd, f: Ref) -> u64 {
    let holds = |row: u32| {
        let mut f = f;
        while !f.is_constant() {
            let (high, low) = bdd.cofactors(f);
            f = if row >> bdd.level(f) & 1 != 0 { high } else { low };
        }
        f == Ref::TRUE
    };
    (0..64).filter(|&row| holds(row)).map(|row| 1u64 << row).sum()
}

fn exists(set: u64, level: u32) -> u64 {
    let at = literal(level);
    let (high, low) = (set & at, set & !at);
    high | high >> (1 << level) | low | low << (1 << level)
}

/// The set with the values of `from` moved to `to`, which must be free.
fn moved(set: u64, from: u32, to: u32) -> u64 {
    let equal = !(literal(from) ^ literal(to));
    exists(set & equal, from)
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

#[test]
fn operations_agree_with_truth_tables() {
    let mut bdd = Bdd::new(|_| true);
    let mut random = Random(1);
    let mut pool: Vec<(Ref, u64)> = vec![(Ref::TRUE, !0), (Ref::FALSE, 0)];
    for level in 0..LEVELS {
        pool.push((bdd.var(level).unwrap(), literal(level)));
    }
    for round in 0..20_000 {
        let (f, tf) = pool[random.below(pool.len())];
        let (g, tg) = pool[random.below(pool.len())];
        let level = random.below(LEVELS as usize) as u32;
        let other = random.below(LEVELS as usize) as u32;
        let (result, expected) = match random.below(6) {
            0 => (bdd.and(f, g), tf & tg),
            1 => (bdd.or(f, g), tf | tg),
            2 => (bdd.xor(f, g), tf ^ tg),
            3 => (Ok(!f), !tf),
            4 => {
                let plan = bdd.plan([level], []);
                (bdd.image(f, g, plan), exists(tf & tg, level))
            }
            _ if level == other => continue,
            _ => {
                // Quantify one level and put another in its place, in either direction.
                let plan = bdd.plan([level], [(other, level)]);
                (bdd.image(f, g, plan), moved(exists(tf & tg, level), other, level))
            }
        };
        let result = result.unwrap();
        assert_eq!(table(&bdd, result), expected, "round {round}");
        if pool.len() < 300 {
            pool.push((result, expected));
        } else {
            let at = random.below(pool.len());
            pool[at] = (result, expected);
        }
        if round % 1000 == 0 {
            bdd.collect(pool.iter().map(|(f, _)| *f));
            assert!(pool.iter().all(|&(f, expected)| table(&bdd, f) == expected));
        }
    }
    // Equal sets are equal references.
    for &(f, tf) in &pool {
        for &(g, tg) in &pool {
            assert_eq!(f == g, tf == tg);
        }
    }
}

#[test]
fn picking_finds_a_member() {
    let mut bdd = Bdd::new(|_| true);
    let (a, b, c) = (bdd.var(0).unwrap(), bdd.var(3).unwrap(), bdd.var(5).unwrap());
    let differ = bdd.xor(a, b).unwrap();
    let f = bdd.and(differ, !c).unwrap();
    assert_eq!(bdd.pick(Ref::FALSE), None);
    assert_eq!(bdd.pick(Ref::TRUE), Some(vec![]));
    let picked = bdd.pick(f).unwrap();
    assert_eq!(picked, [(0, false), (3, true), (5, false)]);
    let cube = bdd.cube(&picked).unwrap();
    assert_eq!(bdd.and(cube, f).unwrap(), cube);
    assert_eq!(bdd.size(f, 100), 4);
}

#[test]
fn picking_under_an_assignment_agrees_with_conjunction() {
    let mut bdd = Bdd::new(|_| true);
    let mut random = Random(5);
    let mut pool: Vec<Ref> = (0..LEVELS).map(|level| bdd.var(level).unwrap()).collect();
    for round in 0..5_000 {
        let (f, g) = (pool[random.below(pool.len())], pool[random.below(pool.len())]);
        let made = if random.below(2) == 0 { bdd.and(f, !g) } else { bdd.xor(f, g) }.unwrap();
        if round < 200 {
            pool.push(made);
        }
        let mut assignment = Assignment::default();
        let mut literals = Vec::new();
        for level in 0..LEVELS {
            if random.below(3) == 0 {
                let value = random.below(2) == 0;
                assert!(assignment.decide(level, value));
                literals.push((level, value));
            }
        }
        let cube = bdd.cube(&literals).unwrap();
        let both = bdd.and(f, g).unwrap();
        let all = bdd.and(both, cube).unwrap();
        match bdd.pick_all(&[f, g], &assignment).unwrap() {
            None => assert_eq!(all, Ref::FALSE),
            Some(picked) => {
                let implicant = bdd.cube(&picked).unwrap();
                assert_eq!(bdd.and(implicant, cube).unwrap(), implicant);
                assert_eq!(bdd.and(implicant, both).unwrap(), implicant);
            }
        }
    }
}

#[test]
fn an_interrupt_stops_work() {
    let mut bdd = Bdd::new(|_| false);
    let mut f = Ref::TRUE;
    let result = (0..100_000).try_for_each(|level| {
        let var = bdd.var(level)?;
        f = bdd.xor(f, var)?;
        Ok::<(), Interrupted>(())
    });
    assert_eq!(result, Err(Interrupted));
}

#[test]
fn operations_need_no_stack_for_their_levels() {
    const MANY: u32 = 100_000;
    let work = || {
        let mut bdd = Bdd::new(|_| true);
        // From below, so that each step is short: pairs of levels that are equal.
        let mut equal = Ref::TRUE;
        for pair in (0..MANY / 2).rev() {
            let (a, b) = (bdd.var(2 * pair).unwrap(), bdd.var(2 * pair + 1).unwrap());
            let same = bdd.iff(a, b).unwrap();
            equal = bdd.and(same, equal).unwrap();
        }
        let literals: Vec<(u32, bool)> = (0..MANY / 2).map(|pair| (2 * pair, pair % 3 == 0)).collect();
        let cube = bdd.cube(&literals).unwrap();
        let both = bdd.and(equal, cube).unwrap();
        assert_eq!(bdd.size(both, usize::MAX), MANY as usize);
        let moved =
            bdd.plan((0..MANY / 2).map(|pair| 2 * pair), (0..MANY / 2).map(|pair| (2 * pair + 1, 2 * pair)));
        assert_eq!(bdd.image(equal, cube, moved).unwrap(), cube);
        let differ = bdd.xor(equal, cube).unwrap();
        assert_eq!(bdd.xor(differ, cube).unwrap(), equal);
    };
    std::thread::Builder::new().stack_size(1 << 17).spawn(work).unwrap().join().unwrap();
}

/// Random diagrams over twelve levels, and what they are: a word of truth values for each assignment.
fn random_diagrams(bdd: &mut Bdd, random: &mut Random, levels: u32) -> Vec<Ref> {
    let mut pool: Vec<Ref> = (0..levels).map(|level| bdd.var(level).unwrap()).collect();
    for _ in 0..60 {
        let (f, g) = (pool[random.below(pool.len())], pool[random.below(pool.len())]);
        pool.push(if random.below(2) == 0 { bdd.and(f, !g) } else { bdd.xor(f, g) }.unwrap());
    }
    pool
}

fn holds(bdd: &Bdd, mut f: Ref, row: u32, level: impl Fn(u32) -> u32) -> bool {
    while !f.is_constant() {
        let (high, low) = bdd.cofactors(f);
        f = if row >> level(bdd.level(f)) & 1 != 0 { high } else { low };
    }
    f == Ref::TRUE
}

#[test]
fn reordered_diagrams_mean_the_same() {
    const BITS: u32 = 12;
    for seed in 0..40 {
        let mut random = Random(seed);
        let mut bdd = Bdd::new(|_| true);
        let pool = random_diagrams(&mut bdd, &mut random, BITS);
        let roots: Vec<Ref> = pool.iter().copied().filter(|_| random.below(3) > 0).collect();
        let tables = |bdd: &Bdd, level: &dyn Fn(u32) -> u32| -> Vec<Vec<bool>> {
            roots.iter().map(|&f| (0..1 << BITS).map(|row| holds(bdd, f, row, level)).collect()).collect()
        };
        let before = tables(&bdd, &|level| level);
        let (f, g) = (roots[0], roots[roots.len() - 1]);
        let plan = bdd.plan([0, 5], [(3, 2), (7, 6)]);
        let image = bdd.image(f, g, plan).unwrap();
        let width = [1, 2, 4][random.below(3)];
        let way = if seed % 2 == 0 { Reorder::Sift } else { Reorder::Rotate };
        let all: Vec<Ref> = roots.iter().copied().chain([image]).collect();
        bdd.collect(all.iter().copied());
        let size = bdd.len();
        let moved = bdd.reorder(all.iter().copied(), BITS, width, way);
        let new = |old: u32| moved[(old / width) as usize] * width + old % width;
        let old = |level: u32| (0..BITS).find(|&old| new(old) == level).unwrap();
        assert_eq!(before, tables(&bdd, &old), "seed {seed}");
        assert!(way == Reorder::Rotate || bdd.len() <= size, "sifting makes nothing larger");
        // Vertices are still unique, and plans speak of the new levels.
        assert_eq!(bdd.image(f, g, plan).unwrap(), image, "seed {seed}");
        for &a in &roots {
            let double = bdd.xor(a, f).unwrap();
            assert_eq!(bdd.xor(double, f).unwrap(), a);
        }
    }
}

#[test]
fn sifting_finds_partners() {
    const PAIRS: u32 = 9;
    let mut bdd = Bdd::new(|_| true);
    let mut equal = Ref::TRUE;
    for at in 0..PAIRS {
        let (a, b) = (bdd.var(at).unwrap(), bdd.var(PAIRS + at).unwrap());
        let same = bdd.iff(a, b).unwrap();
        equal = bdd.and(equal, same).unwrap();
    }
    assert!(bdd.size(equal, usize::MAX) > 1 << PAIRS);
    bdd.reorder([equal], 2 * PAIRS, 1, Reorder::Sift);
    assert!(bdd.size(equal, usize::MAX) <= 3 * PAIRS as usize);
    assert_eq!(bdd.reorderings(), 1);
}

#[test]
fn work_is_interrupted_when_it_is_more_than_allowed() {
    let mut bdd = Bdd::new(|_| true);
    let pairs = |bdd: &mut Bdd, count: u32| {
        let mut all = Ref::TRUE;
        for at in 0..count {
            let (a, b) = (bdd.var(at)?, bdd.var(count + at)?);
            let same = bdd.iff(a, b)?;
            all = bdd.and(all, same)?;
        }
        Ok::<Ref, Interrupted>(all)
    };
    bdd.allow(1 << 13);
    assert_eq!(pairs(&mut bdd, 16), Err(Interrupted));
    assert!(bdd.allow_all(), "it was more than allowed");
    let all = pairs(&mut bdd, 16).unwrap();
    assert!(!bdd.allow_all() && bdd.results() >= 1 << 13);
    let plan = bdd.plan([0], [(16, 0)]);
    let image = bdd.project(all, plan).unwrap();
    bdd.forget_plans();
    let other = bdd.plan([1], [(17, 1)]);
    assert_ne!(bdd.project(all, other).unwrap(), image, "another plan has another number");
}

#[test]
fn a_list_moves_only_where_there_is_room() {
    let mut bdd = Bdd::new(|bytes| bytes <= 1000);
    let mut list: Vec<u64> = Vec::new();
    while bdd.push(&mut list, 7).is_ok() {}
    // The next place would have had 128 members of eight bytes.
    assert_eq!((list.len(), list.capacity()), (64, 64));
}
