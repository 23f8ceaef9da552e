//! Room `engine/explicit`: many cubes as few decision diagrams.
//!
//! # Idea
//!
//! The contexts of a search differ in a regular way: one after the other counts, or copies. Of a hundred thousand contexts in which `n` is what it was at entry,
//! a diagram has three vertices for each bit of `n`. So cubes that know the same levels become one diagram. They are sorted: then those that begin
//! alike are neighbours, and the next level divides a range of them into two. A vertex is made for each range, from those of the two, and equal vertices
//! are made once. Cubes that know other levels become another diagram.
//!
//! # Cost
//!
//! For each range of cubes that begin alike the logarithm of its length; a cube that begins like no other takes a step for each level that is left.

use crate::budget::Budget;
use crate::encode::machine::layout::Row;
use crate::verdict::Why;
use postbop_ir::proof::{Maker, Ref};

/// How many ranges there are between two looks at the budget.
const PATIENCE: usize = 1 << 12;

/// Values of some levels. The first level is the most significant bit of the first word, so that words are in the order of levels.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cube {
    known: Row,
    values: Row,
}

impl Cube {
    /// Nothing is known of so many levels.
    pub fn new(levels: usize) -> Self {
        let words = Row::from_elem(0, postbop_kit::bits::words(levels));
        Cube { known: words.clone(), values: words }
    }

    /// A level has a value.
    pub fn set(&mut self, level: usize, value: bool) {
        self.known[level / 64] |= 1 << (63 - level % 64);
        self.values[level / 64] |= u64::from(value) << (63 - level % 64);
    }
}

fn is_set(words: &[u64], level: usize) -> bool {
    words[level / 64] >> (63 - level % 64) & 1 != 0
}

/// The union of cubes, as a set of a proof. Each level is a bit of it.
pub fn union(levels: &[Ref], mut cubes: Vec<Cube>, maker: &mut Maker, budget: &Budget) -> Result<Ref, Why> {
    cubes.sort_unstable();
    cubes.dedup();
    let mut diagrams = Vec::new();
    for alike in cubes.chunk_by(|a, b| a.known == b.known) {
        let known: Vec<usize> = (0..levels.len()).filter(|&level| is_set(&alike[0].known, level)).collect();
        diagrams.push(diagram(levels, &known, alike, maker, budget)?);
    }
    Ok(maker.or(diagrams))
}

/// What is to be made: the vertex of a range of cubes that agree before one of the known levels, or the vertex of the two made last.
enum Task {
    Range(usize, usize, usize),
    Join(usize),
}

/// The diagram of sorted cubes that know these levels.
fn diagram(
    levels: &[Ref],
    known: &[usize],
    cubes: &[Cube],
    maker: &mut Maker,
    budget: &Budget,
) -> Result<Ref, Why> {
    let (mut tasks, mut made) = (vec![Task::Range(0, cubes.len(), 0)], Vec::new());
    let mut ranges = 0;
    while let Some(task) = tasks.pop() {
        match task {
            Task::Range(from, to, _) if from == to => made.push(Ref::FALSE),
            Task::Range(from, to, at) if from + 1 == to => {
                made.push(chain(levels, &known[at..], &cubes[from], maker));
            }
            Task::Range(from, to, at) => {
                ranges += 1;
                if ranges % PATIENCE == 0 {
                    budget.check_writing()?;
                }
                // Several cubes differ somewhere, so there is a level left.
                let is_false = |cube: &Cube| !is_set(&cube.values, known[at]);
                let middle = from + cubes[from..to].partition_point(is_false);
                tasks.extend([
                    Task::Join(known[at]),
                    Task::Range(middle, to, at + 1),
                    Task::Range(from, middle, at + 1),
                ]);
            }
            Task::Join(level) => {
                let (high, low) = (made.pop(), made.pop());
                let (high, low) = high.zip(low).expect("both were made before");
                made.push(maker.ite(levels[level], high, low));
            }
        }
    }
    Ok(made[0])
}

/// The diagram of one cube from one of its levels on.
fn chain(levels: &[Ref], known: &[usize], cube: &Cube, maker: &mut Maker) -> Ref {
    known.iter().rev().fold(Ref::TRUE, |below, &level| match is_set(&cube.values, level) {
        true => maker.ite(levels[level], below, Ref::FALSE),
        false => maker.ite(levels[level], Ref::FALSE, below),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use postbop_ir::VarId;
    use postbop_ir::proof::{Node, Place};

    /// Whether a set has a member.
    fn has(nodes: &[Node], set: Ref, member: u32) -> bool {
        let mut values = vec![true];
        let of = |values: &[bool], to: &Ref| values[to.number() as usize] != to.is_complement();
        for node in nodes {
            values.push(match node {
                Node::Bit(_, bit) => member >> bit & 1 != 0,
                Node::Sum(..) => unreachable!("rows have no unbounded integers"),
                Node::Ite([c, a, b]) => of(&values, if of(&values, c) { a } else { b }),
                Node::And(all) => all.iter().all(|to| of(&values, to)),
            });
        }
        of(&values, &set)
    }

    fn made(cubes: &[(u32, u32)], width: u8) -> (Vec<Node>, Ref) {
        let mut maker = Maker::default();
        let levels: Vec<Ref> = (0..width).map(|bit| maker.bit(Place::Now(VarId(0)), bit)).collect();
        let cube = |&(known, values): &(u32, u32)| {
            let mut cube = Cube::new(width.into());
            let bits = (0..usize::from(width)).filter(|bit| known >> bit & 1 != 0);
            bits.for_each(|bit| cube.set(bit, values >> bit & 1 != 0));
            cube
        };
        let cubes = cubes.iter().map(cube).collect();
        let set = union(&levels, cubes, &mut maker, &Budget::unlimited()).unwrap();
        let proof = maker.finish([Some(set)].into_iter().collect());
        (proof.nodes().to_vec(), set)
    }

    #[test]
    fn a_union_has_the_members_of_its_cubes() {
        let mut random = 1_u64;
        let mut next = |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((random >> 33) % bound) as u32
        };
        for count in 0..40 {
            // Few kinds of masks, so that many cubes share a diagram.
            let masks = [31, 27, next(32)];
            let cubes: Vec<(u32, u32)> = (0..count).map(|_| (masks[next(3) as usize], next(32))).collect();
            let (nodes, set) = made(&cubes, 5);
            for member in 0..32 {
                let expected = cubes.iter().any(|(known, values)| (member ^ values) & known == 0);
                assert_eq!(has(&nodes, set, member), expected, "{cubes:?} {member}");
            }
        }
    }

    #[test]
    fn regular_cubes_have_a_small_diagram() {
        // Two numbers of ten bits that are the same, bit beside bit.
        let twice = |n: u32| (0..10).map(|bit| (n >> bit & 1) * (3 << (2 * bit))).sum();
        let cubes: Vec<(u32, u32)> = (0..1 << 10).map(|n| (u32::MAX, twice(n))).collect();
        assert!(made(&cubes, 20).0.len() < 20 + 3 * 10 + 1);
    }
}
