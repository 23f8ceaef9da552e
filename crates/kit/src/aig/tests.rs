//! Room `kit`: random graphs against tables of all valuations.

use super::*;

/// A small generator of numbers, enough to make graphs and clauses.
pub(crate) fn next(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*seed >> 33) as usize
}

/// The number of inputs of a random graph.
pub(crate) const INPUTS: usize = 6;
/// The number of their valuations. In valuation `row`, input `at` is bit `at` of `row`.
pub(crate) const ROWS: usize = 1 << INPUTS;

/// A graph with its inputs, and literals, each beside the table of its values.
pub(crate) type Random = (Aig, Vec<Lit>, Vec<(Lit, u64)>);

/// A random graph.
pub(crate) fn graph(seed: &mut u64) -> Random {
    let mut aig = Aig::default();
    let inputs: Vec<Lit> = (0..INPUTS).map(|_| aig.input()).collect();
    let column = |at: usize| (0..ROWS).map(|row| (row as u64 >> at & 1) << row).sum();
    let mut all: Vec<(Lit, u64)> = vec![(Lit::FALSE, 0), (Lit::TRUE, !0)];
    all.extend(inputs.iter().copied().zip((0..INPUTS).map(column)));
    for _ in 0..60 {
        let ((a, x), (b, y), (c, z)) = (pick(&all, seed), pick(&all, seed), pick(&all, seed));
        all.push(match next(seed) % 4 {
            0 => (aig.and(a, b), x & y),
            1 => (aig.or(a, b), x | y),
            2 => (aig.xor(a, b), x ^ y),
            _ => (aig.ite(c, a, b), z & x | !z & y),
        });
    }
    (aig, inputs, all)
}

/// One of several literals, or its negation, with its table.
pub(crate) fn pick(all: &[(Lit, u64)], seed: &mut u64) -> (Lit, u64) {
    let (lit, table) = all[next(seed) % all.len()];
    if next(seed).is_multiple_of(2) { (!lit, !table) } else { (lit, table) }
}

fn input_at(inputs: &[Lit], node: usize) -> Option<usize> {
    inputs.iter().position(|input| input.node() == node)
}

#[test]
fn graphs_compute_what_tables_do() {
    for mut seed in 0..200 {
        let (aig, inputs, all) = graph(&mut seed);
        for row in 0..ROWS {
            let values = aig.evaluate(|at| input_at(&inputs, at).is_some_and(|bit| row >> bit & 1 != 0));
            all.iter().for_each(|&(lit, table)| assert_eq!(values.get(lit), table >> row & 1 != 0));
        }
    }
}

/// Each input is replaced by another literal, in the same graph and in another one.
#[test]
fn what_is_substituted_is_composed() {
    for mut seed in 0..200 {
        let (mut aig, inputs, all) = graph(&mut seed);
        let (root, table) = pick(&all, &mut seed);
        let others: Vec<(Lit, u64)> = inputs.iter().map(|_| pick(&all, &mut seed)).collect();
        let cone = aig.cone([root]);
        let mut map: Images =
            inputs.iter().zip(&others).map(|(input, other)| (input.node(), other.0)).collect();
        aig.substitute(&cone, &mut map);
        let composed = map.of(root);
        let mut copy = Aig::default();
        let there: Vec<Lit> = inputs.iter().map(|_| copy.input()).collect();
        let mut map: Images =
            inputs.iter().zip(&there).map(|(input, there)| (input.node(), *there)).collect();
        copy.import(&aig, &aig.cone([composed]), &mut map);
        let imported = map.of(composed);
        for row in 0..ROWS {
            let inner: usize =
                others.iter().enumerate().map(|(at, other)| ((other.1 >> row & 1) as usize) << at).sum();
            let expected = table >> inner & 1 != 0;
            let values = aig.evaluate(|at| input_at(&inputs, at).is_some_and(|bit| row >> bit & 1 != 0));
            assert_eq!(values.get(composed), expected);
            let values = copy.evaluate(|at| input_at(&there, at).is_some_and(|bit| row >> bit & 1 != 0));
            assert_eq!(values.get(imported), expected);
        }
    }
}

#[test]
fn a_reason_is_enough() {
    for start in 0..200 {
        let (aig, inputs, all) = graph(&mut { start });
        let (root, table) = all[all.len() - 1];
        for row in 0..ROWS {
            let bit = |at: usize| input_at(&inputs, at);
            let values = aig.evaluate(|at| bit(at).is_some_and(|bit| row >> bit & 1 != 0));
            let mut fixed = 0usize;
            aig.reason(
                &[root],
                &values,
                |_| Some(1),
                |at| {
                    fixed |= bit(at).map_or(0, |bit| 1 << bit);
                    Vec::new()
                },
            );
            for other in (0..ROWS).filter(|other| (other ^ row) & fixed == 0) {
                assert_eq!(table >> other & 1, table >> row & 1, "seed {start} row {row}");
            }
        }
    }
}
