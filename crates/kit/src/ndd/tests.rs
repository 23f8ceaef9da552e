//! Room `kit/ndd`: sets of integers against enumeration of small boxes.

use super::*;

/// Random numbers, the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }

    fn between(&mut self, least: i64, most: i64) -> i64 {
        least + self.below((most - least + 1) as u64) as i64
    }
}

/// A formula over three numbers and a bit, in columns 0, 10, 20 and 5.
enum Formula {
    Linear([i64; 3], Compare),
    Bit,
    Not(Box<Formula>),
    And(Box<Formula>, Box<Formula>),
    Or(Box<Formula>, Box<Formula>),
}

const COLUMNS: [Column; 3] = [0, 10, 20];
const BIT: Column = 5;

fn random(random: &mut Random, depth: u32) -> Formula {
    let sub = |source: &mut Random| Box::new(self::random(source, depth - 1));
    match random.below(if depth == 0 { 4 } else { 7 }) {
        0 => Formula::Bit,
        1..4 => {
            let factors = [0; 3].map(|_: i64| random.between(-3, 3));
            let value = random.between(-9, 9);
            let compare = match random.below(3) {
                0 => Compare::AtMost(value),
                1 => Compare::Equal(value),
                _ => Compare::Congruent(value, random.between(1, 5)),
            };
            Formula::Linear(factors, compare)
        }
        4 => Formula::Not(sub(random)),
        5 => Formula::And(sub(random), sub(random)),
        _ => Formula::Or(sub(random), sub(random)),
    }
}

impl Formula {
    fn set(&self, store: &Ndds) -> Ndd {
        match self {
            Formula::Bit => store.bit(BIT),
            Formula::Linear(factors, compare) => {
                let terms: Vec<Term> = factors.iter().copied().zip(COLUMNS).collect();
                store.linear(&terms, *compare).unwrap()
            }
            Formula::Not(a) => store.not(&a.set(store)).unwrap(),
            Formula::And(a, b) => store.and(&a.set(store), &b.set(store)).unwrap(),
            Formula::Or(a, b) => store.or(&a.set(store), &b.set(store)).unwrap(),
        }
    }

    fn holds(&self, numbers: [i64; 3], bit: bool) -> bool {
        match self {
            Formula::Bit => bit,
            Formula::Linear(factors, compare) => {
                let sum: i64 = factors.iter().zip(numbers).map(|(factor, number)| factor * number).sum();
                match *compare {
                    Compare::AtMost(most) => sum <= most,
                    Compare::Equal(value) => sum == value,
                    Compare::Congruent(value, modulus) => (sum - value) % modulus == 0,
                }
            }
            Formula::Not(a) => !a.holds(numbers, bit),
            Formula::And(a, b) => a.holds(numbers, bit) && b.holds(numbers, bit),
            Formula::Or(a, b) => a.holds(numbers, bit) || b.holds(numbers, bit),
        }
    }
}

fn place(numbers: [i64; 3], bit: bool) -> impl Fn(Column) -> i64 {
    move |column| match column {
        BIT => -i64::from(bit),
        _ => numbers[column as usize / 10],
    }
}

fn boxed(most: i64) -> impl Iterator<Item = ([i64; 3], bool)> {
    let range = move || -most..=most;
    let vectors = range().flat_map(move |x| range().flat_map(move |y| range().map(move |z| [x, y, z])));
    vectors.flat_map(|vector| [(vector, false), (vector, true)])
}

#[test]
fn formulas_have_the_members_that_enumeration_finds() {
    for seed in 0..400 {
        let store = Ndds::new(&|_| true);
        let formula = random(&mut Random(seed), 3);
        let set = formula.set(&store);
        for (numbers, bit) in boxed(5) {
            assert_eq!(
                set.contains(place(numbers, bit)),
                formula.holds(numbers, bit),
                "seed {seed}: {numbers:?}"
            );
        }
    }
}

#[test]
fn a_projection_has_the_members_that_some_number_completes() {
    for seed in 0..250 {
        let store = Ndds::new(&|_| true);
        let formula = random(&mut Random(seed + 1000), 2);
        let set = formula.set(&store);
        let without = store.project(&set, |column| column == 10).unwrap();
        assert!(!without.support().contains(&10));
        for (numbers @ [x, _, z], bit) in boxed(4).filter(|([_, y, _], _)| *y == 0) {
            // Solutions are found among small numbers, if there are any: constants and factors are small.
            let some = (-120..=120).any(|y| formula.holds([x, y, z], bit));
            assert_eq!(without.contains(place(numbers, bit)), some, "seed {seed}: {numbers:?}");
        }
        let forgotten = store.project(&set, |column| column != BIT).unwrap();
        for bit in [false, true] {
            let some = boxed(20).step_by(2).any(|(numbers, _)| formula.holds(numbers, bit));
            assert!(!some || forgotten.contains(place([0; 3], bit)), "seed {seed}");
        }
    }
}

#[test]
fn equal_sets_are_one_object() {
    let store = Ndds::new(&|_| true);
    for seed in 0..200 {
        let source = &mut Random(seed + 5000);
        let (a, b) = (random(source, 2).set(&store), random(source, 2).set(&store));
        let both = store.and(&a, &b).unwrap();
        let neither = store.and(&store.not(&a).unwrap(), &store.not(&b).unwrap()).unwrap();
        assert_eq!(store.or(&a, &b).unwrap(), store.not(&neither).unwrap());
        assert_eq!(store.minus(&a, &b).unwrap(), store.minus(&a, &both).unwrap());
        assert_eq!(store.xor(&a, &b).unwrap(), store.minus(&store.or(&a, &b).unwrap(), &both).unwrap());
        assert!(store.is_subset(&both, &a).unwrap());
        assert_eq!(store.is_subset(&a, &b).unwrap(), store.minus(&a, &b).unwrap().is_empty(), "seed {seed}");
    }
}

#[test]
fn a_decision_diagram_over_bits_is_the_same_set() {
    let store = Ndds::new(&|_| true);
    // Vertex n tests column n of three, and leads to n + 1, or past it if the bit is set; which of them are the end is said by a mask.
    for mask in 0..64u32 {
        let test = |at: u32| match at {
            0..3 => Ok((at, [at + 1, at + 2])),
            _ => Err(mask >> (at - 3) & 1 == 1),
        };
        let set = store.decided(0, test).unwrap();
        for bits in 0..8u32 {
            let mut at = 0;
            while at < 3 {
                at += 1 + (bits >> at & 1);
            }
            let number = |column: Column| -i64::from(bits >> column & 1);
            assert_eq!(set.contains(number), mask >> (at - 3) & 1 == 1, "{mask} {bits}");
        }
    }
}

#[test]
fn states_that_never_accept_are_nothing() {
    // x <= 5 and x >= 6 part only at the last digit, and infinitely many numbers of digits lead there.
    let store = Ndds::new(&|_| true);
    let low = store.linear(&[(1, 0), (-1, 10)], Compare::AtMost(5)).unwrap();
    let high = store.linear(&[(-1, 0), (1, 10)], Compare::AtMost(-6)).unwrap();
    assert!(store.and(&low, &high).unwrap().is_empty());
    assert!(store.or(&low, &high).unwrap().is_all());
}

#[test]
fn many_numbers_are_forgotten_at_once() {
    // Sixty numbers equal sixty others, and those equal sixty more; there are too many combinations of signs to go through one by one.
    let store = Ndds::new(&|_| true);
    let equal = |one: Column, other: Column| {
        let pair =
            |at: Column| store.linear(&[(1, 3 * at + one), (-1, 3 * at + other)], Compare::Equal(0)).unwrap();
        store.all(&(0..60).map(pair).collect::<Vec<Ndd>>()).unwrap()
    };
    let both = store.and(&equal(0, 1), &equal(1, 2)).unwrap();
    assert_eq!(store.project(&both, |column| column % 3 == 1).unwrap(), equal(0, 2));
}

#[test]
fn what_sets_have_in_common_is_in_all_of_them() {
    let store = Ndds::new(&|_| true);
    let (mut some, mut none) = (0, 0);
    for seed in 0..1200 {
        let source = &mut Random(seed + 12_000);
        let sets: Vec<Ndd> = (0..3).map(|_| random(source, 2).set(&store)).collect();
        let sets: Vec<&Ndd> = sets.iter().take(1 + seed as usize % 3).collect();
        let most = [3, 1 << 10, 1 << 40][seed as usize % 3];
        let columns = COLUMNS.iter().take(source.below(4) as usize);
        let mut fixed: Vec<(Column, i64)> =
            columns.map(|&column| (column, source.between(-most, most))).collect();
        fixed.extend((source.below(2) == 0).then(|| (BIT, -i64::from(source.below(2) == 0))));
        let equal = |&(column, number): &(Column, i64)| match column {
            BIT if number == 0 => store.not(&store.bit(BIT)).unwrap(),
            BIT => store.bit(BIT),
            _ => store.linear(&[(1, column)], Compare::Equal(number)).unwrap(),
        };
        let points: Vec<Ndd> = fixed.iter().map(equal).collect();
        let both = store.all(sets.iter().copied().chain(&points)).unwrap();
        match store.common(&sets, &fixed).unwrap() {
            None => {
                assert!(both.is_empty(), "seed {seed}");
                none += 1;
            }
            Some(member) => {
                let number = |column: Column| member.number(column).unwrap_or(0) as i64;
                assert!(sets.iter().all(|set| set.contains(number)), "seed {seed}: {member:?}");
                assert!(
                    fixed.iter().all(|&(column, fixed)| number(column) == fixed),
                    "seed {seed}: {member:?}"
                );
                some += 1;
            }
        }
    }
    assert!(some > 200 && none > 200, "{some} {none}");
    let all = store.constant(true);
    assert_eq!(store.common(&[&all], &[(0, 4), (0, 5)]).unwrap(), None);
}

#[test]
fn members_are_members_and_as_short_as_can_be() {
    let store = Ndds::new(&|_| true);
    for seed in 0..300 {
        let set = random(&mut Random(seed + 9000), 2).set(&store);
        match set.member() {
            None => assert!(set.is_empty(), "seed {seed}"),
            Some(member) => {
                let number = |column: Column| member.number(column).unwrap_or(0) as i64;
                assert!(set.contains(number), "seed {seed}: {member:?}");
                let fits = |bits: u32| {
                    let most = (1 << (bits - 1)) - 1;
                    let fits = |column| number(column) <= most && number(column) >= -most - 1;
                    COLUMNS.iter().all(|&column| fits(column))
                };
                let shorter = (1..4).find(|bits| {
                    boxed(8).any(|(vector, bit)| {
                        let most: i64 = (1 << (bits - 1)) - 1;
                        vector.iter().all(|&x| x <= most && x >= -most - 1)
                            && set.contains(place(vector, bit))
                    })
                });
                assert!(shorter.is_none_or(fits), "seed {seed}: {member:?}");
            }
        }
    }
}

#[test]
fn extremes_of_intervals() {
    let store = Ndds::new(&|_| true);
    let at_most = |value| store.linear(&[(1, 3)], Compare::AtMost(value)).unwrap();
    let at_least = |value: i64| store.linear(&[(-1, 3)], Compare::AtMost(-value)).unwrap();
    let interval = |least, most| store.and(&at_least(least), &at_most(most)).unwrap();
    for (least, most) in [(0, 0), (-5, 17), (79, 100), (-1000000, -3), (1 << 40, (1 << 41) + 5)] {
        assert_eq!(interval(least, most).extremes(), Some((Some(least), Some(most))));
    }
    assert_eq!(at_most(100).extremes(), Some((None, Some(100))));
    assert_eq!(at_least(-7).extremes(), Some((Some(-7), None)));
    assert_eq!(interval(3, 2).extremes(), None);
    let even = store.linear(&[(1, 3)], Compare::Congruent(0, 2)).unwrap();
    assert_eq!(store.and(&even, &interval(-7, 7)).unwrap().extremes(), Some((Some(-6), Some(6))));
}

#[test]
fn large_constants_are_no_larger_than_their_bits() {
    let store = Ndds::new(&|_| true);
    let set = store.linear(&[(1, 0), (-3, 1)], Compare::AtMost(1 << 60)).unwrap();
    assert!(set.states() < 400, "{} states", set.states());
    assert!(set.contains(|column| [i64::MIN / 8, 1][column as usize]));
}

#[test]
fn an_interruption_is_told() {
    let store = Ndds::new(&|_| false);
    let terms: Vec<Term> = (0..40).map(|column| (1 << (column % 20), column)).collect();
    assert_eq!(store.linear(&terms, Compare::AtMost(5)).err(), Some(Interrupted));
}

#[test]
fn a_picture_names_columns_and_leaves_out_what_accepts_nothing() {
    let store = Ndds::new(&|_| true);
    // x >= 0: after the sign everything is accepted, and the sign 1 leads nowhere.
    let set = store.linear(&[(-1, 0)], Compare::AtMost(0)).unwrap();
    let dot = set.dot(|column| format!("\"{column}\""));
    let wanted = "digraph {\n  start [shape=point];\n  s1 [shape=doublecircle, label=\"\"];\n  s1 -> s1;\n  \
        v0 [shape=box, label=\"\\\"0\\\"\"];\n  v0 -> s1 [style=dashed];\n  start -> v0;\n}\n";
    assert_eq!(dot, wanted);
    assert!(!store.constant(false).dot(|_| String::new()).contains("start ->"));
}
