//! Our decision diagrams against the field's library: the same operations, the same sets.

use oxidd::bcdd::{BCDDFunction, new_manager};
use oxidd::{BooleanFunction, BooleanFunctionQuant, BooleanOperator, Manager, ManagerRef};
use postbop_kit::bdd::{Bdd, Ref};

const LEVELS: u32 = 12;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

fn member(bdd: &Bdd, mut f: Ref, row: usize) -> bool {
    while !f.is_constant() {
        let (high, low) = bdd.cofactors(f);
        f = if row >> bdd.level(f) & 1 != 0 { high } else { low };
    }
    f == Ref::TRUE
}

fn same(bdd: &Bdd, f: Ref, g: &BCDDFunction) {
    for row in 0..1usize << LEVELS {
        let theirs = g.eval((0..LEVELS).map(|level| (level, row >> level & 1 != 0)));
        assert_eq!(member(bdd, f, row), theirs, "row {row:b}");
    }
}

#[test]
fn random_operations_give_the_same_sets() {
    let manager = new_manager(1 << 18, 1 << 14, 1);
    let vars: Vec<BCDDFunction> = manager.with_manager_exclusive(|manager| {
        manager.add_vars(LEVELS);
        (0..LEVELS).map(|level| BCDDFunction::var(manager, level).unwrap()).collect()
    });
    let mut bdd = Bdd::new(|_| true);
    let mut pool: Vec<(Ref, BCDDFunction)> = Vec::new();
    for (level, var) in (0..).zip(&vars) {
        pool.push((bdd.var(level).unwrap(), var.clone()));
    }
    let mut random = Random(3);
    for round in 0..1_500 {
        let (f, tf) = pool[random.below(pool.len())].clone();
        let (g, tg) = pool[random.below(pool.len())].clone();
        let (a, b) = (random.below(LEVELS as usize), random.below(LEVELS as usize));
        let result = match random.below(4) {
            0 => (bdd.and(f, !g).unwrap(), tf.and(&tg.not().unwrap()).unwrap()),
            1 => (bdd.or(f, g).unwrap(), tf.or(&tg).unwrap()),
            2 => (bdd.xor(f, g).unwrap(), tf.xor(&tg).unwrap()),
            _ => {
                let plan = bdd.plan([a as u32, b as u32], []);
                let levels = vars[a].and(&vars[b]).unwrap();
                let theirs = tf.apply_exists(BooleanOperator::And, &tg, &levels).unwrap();
                (bdd.image(f, g, plan).unwrap(), theirs)
            }
        };
        if round % 10 == 0 {
            same(&bdd, result.0, &result.1);
        }
        let at = random.below(pool.len());
        if pool.len() < 60 {
            pool.push(result)
        } else {
            pool[at] = result
        }
        if round % 300 == 0 {
            bdd.collect(pool.iter().map(|(f, _)| *f));
        }
    }
    // Equal for us is equal for them.
    for (f, tf) in &pool {
        for (g, tg) in &pool {
            assert_eq!(f == g, tf == tg);
        }
    }
}
